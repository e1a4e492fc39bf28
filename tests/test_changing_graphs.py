"""Graphs that change after their first use, subclasses that say otherwise, odd devices and hints.

Every value here was asked of the real carver (TileLang 0.1.15), with the same program and the same device.
"""

from __future__ import annotations

import api_probes
import numpy as np
import pytest
from carver.arch.errors import CarverError
from carver.policy import DefaultPolicy, TensorCorePolicy
from carver.roller import Edge, Hint, OutputNode, PrimFuncNode
from carver.roller.matmul_analysis import get_tensorized_func_and_tags
from carver.roller.tir import te
from carver.roller.tir.dtypes import DataType
from carver.roller.tir.expr import IntImm
from carver.roller.utils import get_roller_hints_from_func

SIDE = api_probes.Side(real=False)
POLICIES = (DefaultPolicy, TensorCorePolicy)


def policy_of(node, cls=DefaultPolicy, **figures):
    return cls.from_output_nodes([OutputNode(node)], SIDE.cuda_device(**figures))


def connect(source, target, src_id=0):
    edge = Edge(source, target, src_id, 0)
    source._out_edges.append(edge)
    target.set_inputs(0, edge)


# ---------------------------------------------------------------------------------------------------------------------
# Graphs that change


@pytest.mark.parametrize("cls", POLICIES)
def test_edges_and_dtypes_are_looked_at_each_time(cls):
    node = PrimFuncNode(SIDE.elementwise((64, 96)))
    policy = policy_of(node, cls)

    def traffic():
        return policy._compute_memory_traffic([8, 96])[0]

    assert traffic() == 6528.0
    placeholder = node.inputs[1].src_node
    placeholder._dtypes[0] = None
    placeholder.set_dtype(DataType("int8"))
    assert traffic() == 6272.0
    OutputNode(node)  # of another policy, say
    assert traffic() == 9344.0


@pytest.mark.parametrize("cls", POLICIES)
def test_a_consumer_added_later(cls):
    first, second = (PrimFuncNode(SIDE.elementwise((64, 96)), name=name) for name in "ab")
    policy = policy_of(first, cls)
    assert [hint.block for hint in policy.emit_config(1)] == [[1, 16]]
    connect(first, second)
    with pytest.raises(AssertionError) as caught:
        policy.emit_config(1)
    assert isinstance(caught.value, CarverError)


# ---------------------------------------------------------------------------------------------------------------------
# Subclasses


class Doubling(PrimFuncNode):
    def propagate(self, tile, rstep=None, targets=None):
        extents, between = super().propagate(tile, rstep, targets)
        return {name: [2 * extent for extent in region] for name, region in extents.items()}, between


def test_regions_come_from_a_subclass():
    node = Doubling(SIDE.matmul(256, 256, 128))
    assert node.propagate_inputs([8, 8]) == [[16, 128], [16, 128]]
    assert node.propagate_outputs([8, 8]) == [[16, 16]]
    assert node.propagate_inputs_on_reduction([8, 8], {"v2": 16}) == [[16, 32], [16, 32]]
    assert node.propagate_reduction_inputs([8, 8]) == {"A": [16, 256], "B": [16, 256]}
    assert node.footprint([8, 8], {"v2": 16}) == (2048, ["A", "B"])
    node = Doubling(SIDE.elementwise((64, 96)))
    assert node.propagate_inputs([8, 8]) == [[16, 16], [16]]
    assert node.propagate_outputs([8, 8]) == [[16, 16]]
    assert node.footprint([8, 8], {}) == (64, ["B"])
    # A's region is that of a stage between, and so is not clipped to 32.
    node = Doubling(SIDE.chain())
    assert node.propagate_inputs([8, 8]) == [[16, 64], [16, 32], [16]]
    assert node.footprint([8, 8], {}) == (4096, ["S", "B", "D"])


def test_hints_follow_a_subclass_of_the_node():
    def node():
        return Doubling(SIDE.matmul(256, 256, 128), tags={"tensorcore_config": [0, 1], "pipeline_stage": 2})

    assert [hint.rstep for hint in policy_of(node()).emit_config(5)] == [[64], [64], [64], [128], [128]]
    with pytest.raises(CarverError, match="has the extent 16"):  # "16 is not in list"
        policy_of(node(), TensorCorePolicy).emit_config(5)
    (hint,) = policy_of(Doubling(SIDE.row_sum())).emit_config(1)
    assert hint.vectorize == {"A": 4}


def test_a_method_put_into_a_node_is_not_seen():
    """[[4, 8], [4, 8]] in the real one: see "Deliberate differences" in PORTING.md."""
    node = PrimFuncNode(SIDE.matmul(256, 256, 128))
    node.propagate = lambda tile, rstep=None, targets=None: (dict.fromkeys(targets, [4, 8]), {})
    assert node.propagate_inputs([16, 16]) == [[16, 128], [16, 128]]


def test_strides_of_a_subclass_are_asked_for_each_tile():
    tiles = []

    class Refusing(TensorCorePolicy):
        def _compute_tc_strides(self, node, tile, rstep=None):
            tiles.append(rstep is None)
            if tile[0] > 32:
                raise RuntimeError("too many rows")
            return super()._compute_tc_strides(node, tile, rstep)

    policy = Refusing.from_prim_func(SIDE.matmul(256, 256, 128), SIDE.cuda_device(), tags={"tensorcore_config": [0, 1]})
    with pytest.raises(RuntimeError, match="too many rows"):
        policy.emit_config(5)
    assert tiles[:4] == [False, True, False, True]  # twice for each tile


# ---------------------------------------------------------------------------------------------------------------------
# Devices


def test_a_device_must_say_its_l2():
    device = SIDE.cuda_device(70)
    del device.l2_cache_size_bytes
    with pytest.raises(AttributeError) as caught:
        get_roller_hints_from_func(SIDE.matmul(256, 256, 128), arch=device)
    assert isinstance(caught.value, CarverError)


def test_transactions_of_three_sizes_are_those_of_two():
    figures = [
        [hint.to_dict() for hint in DefaultPolicy.from_prim_func(SIDE.matmul(), device).emit_config(3)]
        for device in (SIDE.cuda_device(transaction_size=[32, 128, 1]), SIDE.cuda_device())
    ]
    assert len(figures[0]) == 3 and figures[0] == figures[1]


def test_transactions_of_fractions():
    device = SIDE.cuda_device(transaction_size=[32.0, 128.0])
    assert len(DefaultPolicy.from_prim_func(SIDE.row_sum(), device).emit_config(3)) == 3
    with pytest.raises(CarverError, match=r"must be integers for tensor cores, got \[32.0, 128.0\]"):
        TensorCorePolicy.from_prim_func(SIDE.chain(), device, tags={"tensorcore_config": [0, 1]}).emit_config(3)


def test_shared_memory_without_bandwidth_takes_forever():
    device = SIDE.cuda_device(bandwidth=[750, 0])
    hints = DefaultPolicy.from_prim_func(SIDE.row_sum(), device).emit_config(2)
    assert [(h.block, h.thread, h.reduce_thread) for h in hints] == [([1], [1], [128]), ([2], [2], [64])]
    hints = DefaultPolicy.from_prim_func(SIDE.elementwise((64, 96)), device).emit_config(3)
    assert [(h.block, h.thread) for h in hints] == [([1, 16],) * 2, ([1, 24],) * 2, ([1, 32],) * 2]
    hints = TensorCorePolicy.from_prim_func(SIDE.matmul(), device, tags={"tensorcore_config": [0, 1]}).emit_config(2)
    assert [(h.block, h.warp) for h in hints] == [([16, 16], [16, 16]), ([16, 32], [16, 16])]


@pytest.mark.parametrize("bandwidth", [[0, 0], [0, 12080]])
def test_global_memory_must_have_bandwidth(bandwidth):
    policy = DefaultPolicy.from_prim_func(SIDE.row_sum(), SIDE.cuda_device(bandwidth=bandwidth))
    with pytest.raises(ZeroDivisionError, match="without bandwidth of global memory") as caught:
        policy.emit_config(2)
    assert isinstance(caught.value, CarverError)


# ---------------------------------------------------------------------------------------------------------------------
# Attributes, hints, arguments


def test_numpy_numbers_in_attributes_become_plain():
    attrs = {"n": np.int64(64), "x": np.float32(1.5), "t": np.str_("x"), "l": [np.uint8(3)], "d": {"k": (np.int32(1),)}}
    kept = SIDE.matmul().with_attr(attrs).attrs
    assert {name: kept[name] for name in attrs} == {"n": 64, "x": 1.5, "t": "x", "l": [3], "d": {"k": (1,)}}
    assert [type(value) for value in (kept["n"], kept["x"], kept["t"], kept["l"][0], kept["d"]["k"][0])] == [
        int, float, str, int, int,
    ]  # fmt: skip
    assert isinstance(SIDE.matmul().with_attr("flag", np.bool_(True)).attrs["flag"], np.bool_)

    m = te.var("m")
    A = te.placeholder((m, 64), name="A")
    func = te.create_prim_func([m, A, te.compute((m, 64), lambda i, j: A[i, j] + te.const(1.0, "float32"), name="B")])
    with pytest.raises(AttributeError, match=r"opt_shapes\['m'\] must be an integer constant \(IntImm\), not 64"):
        PrimFuncNode(func.with_attr("opt_shapes", {"m": np.int64(64)}))
    assert PrimFuncNode(func, tags={"opt_shapes": {"m": np.int64(64)}}).get_space_dim() == [64, 64]


@pytest.mark.parametrize(
    ("threads", "is_shown"),
    [(2, True), (0, False), (1, False), (True, False), (1.5, True), (np.int64(4), True), ([[1, 2], [3, 4]], True)],
)
def test_odd_threads_of_a_hint(threads, is_shown):
    hint = Hint.from_dict({"reduce_thread": threads, "_step": threads, "block": [4]})
    expected = {"reduce_thread": threads, "step": threads} if is_shown else {}
    assert hint.to_dict() == {"block": [4], "thread": [], "rstep": []} | expected


@pytest.mark.parametrize("threads", [{"A": 8}, "x", [None], None])
def test_threads_that_are_no_numbers(threads):
    with pytest.raises(CarverError, match="threads and steps of a hint are numbers, one for each axis, got"):
        Hint.from_dict({"reduce_thread": threads}).to_dict()


def test_odd_scopes_of_shared_memory():
    hint = Hint()
    hint.shared_scope = np.str_("shared.dyn")
    assert hint.complete_config(None).pass_context["tirx.merge_static_smem"] is True
    hint.shared_scope = np.array(["a", "b"])
    with pytest.raises(ValueError, match="ambiguous"):
        hint.complete_config(None)


def test_odd_arguments_of_a_node():
    node = PrimFuncNode(SIDE.matmul())
    for ask in (
        node.propagate_inputs,
        node.propagate_outputs,
        node.propagate_inputs_on_reduction,
        node.propagate_reduction_inputs,
    ):
        with pytest.raises(TypeError, match="the extents of a tile are integers, not"):
            ask([IntImm("int32", 2)] * 2)
    # Names of axes are looked up in whatever is given.
    for steps in ("x", [1], {"other"}):
        assert node.footprint([16, 16], steps) == (4096, ["A", "B"])
        assert node.propagate_inputs([16, 16], steps) == [[16, 64], [16, 64]]
    for _ in range(2):  # a refusal leaves nothing behind
        for steps in ("v2", ["v2"], {"v2": "x"}, {"v2": 2.5}, 5):
            with pytest.raises(TypeError) as caught:
                node.footprint([16, 16], steps)
            assert isinstance(caught.value, CarverError)
    assert node.propagate_inputs([16, 16], {"v2": 100.5}) == [[16, 64], [16, 64]]


def test_odd_tags():
    node = PrimFuncNode(SIDE.matmul())
    node.update_tags([True, True])
    assert node.get_tag(True) is True
    for tags in (["ab"], 5, None, "ab", [("a", 1)]):
        with pytest.raises(CarverError, match="the tags of 'PrimFuncNode' are a dictionary, got"):
            node.update_tags(tags)


def test_an_extent_of_true_stays_true():
    """The real one gives 1: see "Deliberate differences" in PORTING.md. The two are equal."""
    (region, _) = PrimFuncNode(SIDE.matmul()).propagate_inputs([True, True])
    assert region == [1, 64] and region[0] is True


def test_a_module_can_be_brought_to_tensor_cores():
    _, tags = get_tensorized_func_and_tags(SIDE.IRModule({"main": SIDE.matmul()}), SIDE.cuda_device().target)
    assert tags["tensorcore_config"] == [1, 2] and tags["intrin_info"]["trans_b"] is True
    # A target is asked for only where there is a reduction.
    elementwise = SIDE.elementwise()
    assert get_tensorized_func_and_tags(elementwise, None) == (elementwise, None)


@pytest.mark.parametrize("stage", [2.0, True, np.int64(2), IntImm("int32", 2), np.array(2)])
def test_stages_that_memory_can_be_multiplied_by(stage):
    tags = {"tensorcore_config": [0, 1], "pipeline_stage": stage}
    assert len(TensorCorePolicy.from_prim_func(SIDE.matmul(), SIDE.cuda_device(), tags=tags).emit_config(2)) == 2
