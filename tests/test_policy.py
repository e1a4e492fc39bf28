"""The search, against values of the real carver (TileLang 0.1.15). test_recordings.py compares whole searches."""

import logging
import math

import pytest
from carver.arch import CUDA, Target, get_arch
from carver.arch.errors import CarverError
from carver.policy import DefaultPolicy, TensorCorePolicy
from carver.roller import Edge, OutputNode, PrimFuncNode, utils
from carver.roller.hint import TileDict
from carver.roller.matmul_analysis import get_tensorized_func_and_tags
from carver.roller.template import ElementwiseTemplate, GeneralReductionTemplate, MatmulTemplate
from carver.roller.tir import te
from carver.roller.tir.schedule import IRModule


@pytest.fixture
def arch():
    return CUDA("a100")


def product(extent=256):
    return MatmulTemplate(M=extent, N=extent, K=extent).equivalent_function()


def tensorcore_policy(arch, **tags):
    func, found = get_tensorized_func_and_tags(product(), arch.target)
    return TensorCorePolicy.from_prim_func(func, arch, tags={**found, **tags})


def figures(td):
    names = ("output_tile", "traffic", "smem_cost", "block_per_SM", "num_wave", "grid_size", "valid")
    return [getattr(td, name) for name in names]


def test_price_of_a_tile(arch):
    policy = DefaultPolicy.from_prim_func(product(), arch)
    rstep = {node: {"v2": 32} for node in policy.ordered_nodes}
    assert figures(policy.compute_tile_dict([16, 32], rstep)) == [[16, 32], 25600.0, 3072, 4, 1, 128, True]
    rstep = {node: {"v2": 64} for node in policy.ordered_nodes}
    assert figures(policy.compute_tile_dict([128, 128], rstep)) == [[128, 128], 163840.0, 32768, 3, 1, 4, True]
    assert figures(policy.compute_tile_dict([256, 256], rstep)) == [[256, 256], 393216.0, 65536, -1, -1, -1, False]
    (node,) = policy.ordered_nodes
    td = policy.compute_tile_dict([16, 32], {node: {"v2": 32}})
    assert (td.tile_map[node], td.cached_tensors_map[node]) == ([16, 32], ["A", "B"])
    assert [td.tile_map[edge.src_node] for edge in node.inputs] == [[16, 256], [32, 256]]


def test_steps_of_the_default_policy(arch):
    policy = DefaultPolicy.from_prim_func(product(), arch)
    assert policy.get_base_tile() == [1, 1]
    assert [policy._assign_reduce_step(node) for node in policy.ordered_nodes] == [{"v2": 64}]
    assert policy.score_block_size(100) == (1.0, 0.28)
    assert (policy.get_block_size(96), policy.get_block_size(5040)) == (96, 126)
    assert policy.compute_workload_per_item([4, 4]) == 1.0
    assert policy._tile_steps([1, 4])[1][:6] == [4, 8, 16, 32, 64, 128]


def test_steps_of_a_large_prime(arch):
    """Powers of 2 below it, in place of the factors 1 and itself; small primes keep theirs."""
    for extent, steps in ((67, [1, 2, 4, 8, 16, 32, 64]), (61, [1, 61]), (64, [1, 2, 4, 8, 16, 32, 64])):
        func = GeneralReductionTemplate(structure="SR", shape=[64, extent]).equivalent_function()
        policy = DefaultPolicy.from_prim_func(func, arch)
        (node,) = policy.ordered_nodes
        assert policy.get_node_reduce_step_candidates(node) == {"v1": steps}
    # Axes with few factors are tried at small powers of 2 as well.
    func = ElementwiseTemplate(shape=[67, 1024]).equivalent_function()
    assert DefaultPolicy.from_prim_func(func, arch)._tile_steps([1, 1])[0] == [1, 2, 4, 8, 16, 32, 67]


def test_what_tensor_cores_take(arch):
    policy = tensorcore_policy(arch)
    assert (policy.pipeline_stage, policy.use_async_copy, policy.block_reduction_depth) == (2, True, None)
    assert policy.get_base_tile() == [1, 1]
    (node,) = policy.ordered_nodes
    assert policy._assign_reduce_step(node) == {"v2": 32}
    assert policy.get_node_reduce_step_candidates(node) == {"v2": [16, 32, 64, 128, 256]}
    overridden = tensorcore_policy(arch, pipeline_stage=3, use_async_copy=False)
    assert (overridden.pipeline_stage, overridden.use_async_copy) == (3, False)


def test_number_of_hints(arch):
    for topk, count in ((0, 1), (1, 1), (-1, 1), (3, 3)):
        assert len(DefaultPolicy.from_prim_func(product(), arch).emit_config(topk)) == count
    assert len(utils.get_roller_hints_from_func(IRModule({"main": product()}), arch, topk=3)) == 3


class Recorder:
    """Takes down every event of a search."""

    def __init__(self):
        self.events = []

    def __getattr__(self, name):
        return lambda *details: self.events.append((name, details))


@pytest.mark.parametrize("make", [lambda arch: DefaultPolicy.from_prim_func(product(), arch), tensorcore_policy])
def test_events_tell_the_whole_search(arch, make):
    quiet, told = make(arch), make(arch)
    told.trace = Recorder()
    hints = told.emit_config(10)
    assert [str(hint) for hint in hints] == [str(hint) for hint in quiet.emit_config(10)]

    events = told.trace.events
    names = [name for name, _ in events]
    assert (names[0], names[1], names.count("stop"), names.count("ranked")) == ("start", "visit", 1, 1)
    assert [hint for name, details in events if name == "hint" for hint in details[1:]] == hints
    visits = [details for name, details in events if name == "visit"]
    pushed = [details for name, details in events if name == "push"]
    popped = [details for name, details in events if name == "pop"]
    rejected = [details for name, details in events if name == "reject"]
    assert visits[0][1:] == (None, None)
    for td, parent, axis in visits[1:]:
        assert [a == b for a, b in zip(td.output_tile, parent)].count(False) == 1
        assert td.output_tile[axis] > parent[axis]
    assert {id(td) for td, *_ in visits if not td.valid} == {id(td) for td, *_ in rejected}
    assert all(demand > limit for _, _, demand, limit in rejected)
    assert {reason for _, reason, *_ in rejected} <= {"shared memory", "registers"}
    valid = [td for td, *_ in visits if td.valid]
    assert pushed == [((td.traffic + 1) * td.num_wave, td.output_tile) for td in valid]
    assert sorted(popped) == sorted(pushed)
    (reason, count), (ranked,) = (details for name, details in events if name in ("stop", "ranked"))
    assert (reason, count) == ("exhausted", len(visits))
    assert ranked == sorted(valid, key=lambda td: (td.traffic + 1) * td.num_wave)


def test_a_search_ends_by_its_cap(arch):
    """5040 has 60 factors: the search stops with the first tile grown after more than 2000 are known."""
    policy = DefaultPolicy.from_prim_func(ElementwiseTemplate(shape=[5040, 5040, 5040]).equivalent_function(), arch)
    policy.trace = Recorder()
    policy.emit_config(1)
    (stop,) = [details for name, details in policy.trace.events if name == "stop"]
    assert stop == ("cap", 2002)


def graph(twice):
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[i, j] + 1, name="B")
    X, Y = (te.placeholder((64, 64), name=name) for name in "XY")
    Z = te.compute((64, 64), lambda i, j: X[i, j] + Y[i, j], name="Z")
    first = PrimFuncNode(te.create_prim_func([A, B]), name="first")
    second = PrimFuncNode(te.create_prim_func([X, Y, Z]), name="second")
    for i in (0, 1) if twice else (0,):
        edge = Edge(first, second, 0, i)
        first._out_edges.append(edge)
        second.set_inputs(i, edge)
    return [OutputNode(second)], [first, second]


def test_hints_of_a_graph(arch):
    outputs, nodes = graph(twice=False)
    policy = DefaultPolicy.from_output_nodes(outputs, arch)
    assert (policy.ordered_nodes, policy.output_nodes) == (nodes, nodes[1:])
    (hints,) = policy.emit_config(1)
    assert list(hints) == nodes
    assert [str(hint) for hint in hints.values()] == ["{'block': [1, 16], 'thread': [1, 16], 'rstep': []}"] * 2


def test_one_output_taken_twice(arch):
    """Carver frees it twice: a KeyError, in both policies."""
    outputs, _ = graph(twice=True)
    with pytest.raises(KeyError, match="takes output 0 of <Node, first> twice"):
        DefaultPolicy.from_output_nodes(outputs, arch).emit_config(1)
    with pytest.raises(KeyError) as caught:
        utils.get_roller_hints_from_output_nodes(outputs, arch)
    assert isinstance(caught.value, CarverError)


def test_what_is_handed_on_must_be_used(arch):
    outputs, (first, _) = graph(twice=False)
    stray = PrimFuncNode(ElementwiseTemplate(shape=[64, 64]).equivalent_function(), name="stray")
    first._out_edges.append(Edge(first, stray, 0, 0))
    with pytest.raises(AssertionError, match="what first hand on is never used up"):
        DefaultPolicy.from_output_nodes(outputs, arch).emit_config(1)


def test_refusals(arch):
    with pytest.raises(NotImplementedError, match="made for a PrimFunc"):
        DefaultPolicy.from_prim_func(3, arch)
    with pytest.raises(IndexError, match="the graph has no output"):
        DefaultPolicy.from_output_nodes([], arch).emit_config(1)
    with pytest.raises(TypeError, match="block_reduction_depth=2 cannot be used"):
        tensorcore_policy(arch, block_reduction_depth=2).emit_config(1)
    arch.sm_partition = 0
    with pytest.raises(ZeroDivisionError) as caught:
        DefaultPolicy.from_prim_func(product(), arch).emit_config(1)
    assert isinstance(caught.value, CarverError)


def test_entry_points_refuse(arch):
    with pytest.raises(ValueError, match="Not supported type: int"):
        utils.get_roller_hints_from_func(3, arch)
    with pytest.raises(AssertionError):
        utils.get_roller_hints_from_output_nodes(3, arch)
    with pytest.raises(TypeError, match="tensorcore_only=True fails"):
        utils.get_roller_hints_from_func(product(), arch, tensorcore_only=True)
    other = ElementwiseTemplate(shape=[64, 64]).equivalent_function()
    assert utils.get_roller_hints_from_func(other, arch, tensorcore_only=True) is None
    with pytest.raises(AssertionError, match="it holds 2"):
        utils.retrieve_func_from_module(IRModule({"a": other, "b": other}))
    with pytest.raises(ValueError):
        utils.retrieve_func_from_module(other)


def test_a_device_newer_than_hopper_gets_cuda_core_hints(arch):
    arch.target, arch.sm_version = Target({"kind": "cuda", "arch": "sm_100"}), 100
    (hint,) = utils.get_roller_hints_from_func(product(), arch, topk=1)
    assert hint.use_tc is None and hint.thread


def test_only_refusals_are_swallowed_quietly(arch, monkeypatch, caplog):
    def fault(*args, **kwargs):
        raise RuntimeError("a fault of the port")

    monkeypatch.setattr(utils, "get_tensorized_func_and_tags", fault)
    monkeypatch.setenv(utils.STRICT_VARIABLE, "1")
    with pytest.raises(RuntimeError, match="a fault of the port"):
        utils.get_roller_hints_from_func(product(), arch, topk=1)
    monkeypatch.setenv(utils.STRICT_VARIABLE, "0")
    with caplog.at_level(logging.WARNING, logger=utils.logger.name):
        (hint,) = utils.get_roller_hints_from_func(product(), arch, topk=1)
    assert hint.use_tc is None
    assert "unforeseen RuntimeError" in caplog.text


def test_no_tile_fits_tensor_cores():
    """No falling back: an empty answer (facts of the real carver for these extents)."""
    arch = CUDA("a100")
    hints = MatmulTemplate(M=1009, N=1021, K=1013).with_arch(arch).recommend_hints(10)
    assert hints == []


def test_regression_value_of_others():
    """sm_80 with 32 KiB, one multiprocessor and no L2: a published value of TileLang's own tests."""
    arch = CUDA("a100")
    arch.smem_cap, arch.max_smem_usage, arch.compute_max_core, arch.l2_cache_size_bytes = 32768, 65536, 1, 0
    template = GeneralReductionTemplate(structure="SR", shape=[1024, 1024], dtype="float32")
    (hint,) = template.with_arch(arch).recommend_hints(1)
    assert (hint.block, hint.thread, hint.rstep, hint.reduce_thread) == ([128], [128], [32], [1])


def test_ties_are_broken_by_the_tiles(arch):
    """The queue compares [price, tile]: of equal prices the lesser list comes out first."""
    policy = DefaultPolicy.from_prim_func(product(64), arch)
    policy.trace = Recorder()

    def flat(tile, rstep_map):
        td = TileDict(tile)
        td.traffic, td.num_wave, td.valid = 0.0, 1, math.prod(tile) <= 16
        return td

    policy.compute_tile_dict = flat
    policy.dfs_smem_tile([1, 1], {})
    popped = [details[1] for name, details in policy.trace.events if name == "pop"]
    assert popped[:6] == [[1, 1], [1, 2], [1, 4], [1, 8], [1, 16], [2, 1]]


# ---------------------------------------------------------------------------------------------------------------------
# Tags that do not suit the function: each ends as it does in carver, and by an error of the port's own


def product_node(inputs: int, tags: dict) -> PrimFuncNode:
    """Sums of rows of one matrix, or a product of two, as a node with these tags."""
    A = te.placeholder((64, 64), name="A", dtype="float16")
    B = te.placeholder((64, 64), name="B", dtype="float16")
    k = te.reduce_axis((0, 64), name="k")
    operands = [A, B][:inputs]
    if inputs == 0:
        C = te.compute((64, 64), lambda i, j: A[i, j] + B[i, j], name="C")
    else:
        C = te.compute((64, 64), lambda i, j: te.sum(math.prod(X[x, k] for X, x in zip(operands, (i, j))), k), name="C")
    return PrimFuncNode(te.create_prim_func([*(operands or [A, B]), C]), tags=tags)


@pytest.mark.parametrize(
    "inputs, config, message",
    [
        (0, [0, 1], "a block or loop is looked up by its name, got None"),
        (1, [0, 1], r"a reduction for tensor cores has two inputs"),
        (2, [0], r"tensorcore_config is two axes of the output, got \[0\]"),
        (2, [0, 1, 2], r"tensorcore_config is two axes of the output, got \[0, 1, 2\]"),
        (2, [0, 5], r"tensorcore_config is \[0, 5\], 'PrimFuncNode' has 2 axes"),
        (2, [0, -3], r"tensorcore_config is \[0, -3\], 'PrimFuncNode' has 2 axes"),
        (2, ["0", "1"], r"tensorcore_config is two axes of the output, one is '0'"),
    ],
)
def test_a_tag_for_tensor_cores_that_does_not_fit(inputs, config, message, monkeypatch):
    monkeypatch.setenv("CARVER_STRICT", "1")  # a fault of the port would be raised instead of passed over
    arch = CUDA("a100")
    node = product_node(inputs, {"tensorcore_config": config})
    policy = TensorCorePolicy.from_output_nodes([OutputNode(node)], arch=arch)
    with pytest.raises(CarverError, match=message):
        policy.emit_config(1)
    # As in carver, the axes of extent 1 are noted only where the search for the axes came so far.
    assert node.get_tag("num_nvalid_regions") == (0 if message.endswith(("2 axes", "'0'")) else None)
    (hint,) = utils.get_roller_hints_from_output_nodes([OutputNode(node)], arch, topk=1)
    assert not hint.use_tc


def test_a_device_without_tensor_instructions(monkeypatch):
    monkeypatch.setenv("CARVER_STRICT", "1")
    node = product_node(2, {"tensorcore_config": [0, 1]})
    policy = TensorCorePolicy.from_output_nodes([OutputNode(node)], arch=get_arch("mi300x"))
    with pytest.raises(NotImplementedError, match="no tensor instructions of CDNA devices"):
        policy.emit_config(1)


def test_a_lone_reduction_axis_is_scored_before_it_grows(arch):
    """An input read at one place has no extent to coalesce. Only growing the steps asks: found by fuzzing (7403)."""
    G = te.placeholder((1,), name="G", dtype="float16")
    Q = te.compute((), lambda: G[1], name="Q")
    k = te.reduce_axis((0, 2), name="k")
    B = te.compute((1,), lambda i: te.sum(Q(), k), name="B")
    policy = TensorCorePolicy.from_prim_func(te.create_prim_func([G, B]), arch=arch, tags={})
    with pytest.raises(IndexError, match="no extent to coalesce"):
        policy.emit_config(1)


def test_a_tile_without_elements_is_refused():
    """Tiles of other outputs are scaled by the ratio of their extents, down to 0: found by fuzzing (seed 7706)."""
    output = OutputNode(product_node(2, {"tensorcore_config": [0, 1]}))
    policy = TensorCorePolicy.from_output_nodes([output], arch=CUDA("a100"))
    [node] = policy.ordered_nodes
    td = policy.compute_tile_dict([64, 64], {node: {"k": 16}})
    td.tile_map[node], node._space_dim = [16, 16, 0], [64, 64, 3]  # as with a third axis
    with pytest.raises(CarverError, match="has no elements"):
        policy.check_tile_shape_isvalid(td)
