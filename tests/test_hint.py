"""Hints, tiles, strides and rasterization plans, against values of the real carver (TileLang 0.1.15)."""

import hashlib

import pytest
from carver.arch.errors import CarverError
from carver.roller import Hint, NoRasterization, Rasterization2DColumn, Rasterization2DRow
from carver.roller.hint import IntrinInfo, Stride, TensorCoreExtraConfig, TileDict
from carver.roller.rasterization import Rasterization
from carver.roller.utils import get_rasterization_code


def test_a_hint_says_what_differs():
    assert repr(Hint()) == "{'block': [], 'thread': [], 'rstep': []}"
    hint = Hint()
    hint.block, hint.thread, hint.rstep, hint.reduce_thread, hint._step = [4], [2], [8], [4], [2]
    hint.vectorize, hint.pipeline_stage, hint.block_reduction_depth = {"A": 8}, 2, 2
    hint.output_strides, hint._raxis_order = {2: Stride(), 3: Stride(8, 0)}, [0]
    rest = (
        "'rstep': [8], 'reduce_thread': [4], {tc}'strides': {{3: <Stride, 0, 8>}}, 'step': [2], 'raxis_order': [0], "
        "'vectorize': {{'A': 8}}, 'pipeline_stage': 2, 'block_reduction_depth': 2}}"
    )
    assert repr(hint) == "{'block': [4], 'thread': [2], " + rest.format(tc="")
    hint.use_tc, hint.warp = True, [2]
    assert repr(hint) == "{'block': [4], 'warp': [2], " + rest.format(tc="'use_tc': True, ")
    hint.output_strides, hint._step, hint.reduce_thread = {2: Stride()}, [1], [1]
    assert not {"strides", "step", "reduce_thread"} & hint.to_dict().keys()


def test_defaults_of_orders_and_steps():
    hint = Hint()
    hint.block, hint.rstep = [4, 8], [2, 2, 2]
    assert (hint.raxis_order, hint.step) == ([0, 1, 2], [1, 1])
    hint._raxis_order, hint._step = [1, 0, 2], [2, 1]
    assert (hint.raxis_order, hint.step) == ([1, 0, 2], [2, 1])


def test_from_dict():
    hint = Hint.from_dict({"block": [16, 16], "warp": [8, 8], "use_tc": True, "rstep": [32], "pipeline_stage": 2})
    assert hint.to_dict() == {"block": [16, 16], "warp": [8, 8], "rstep": [32], "use_tc": True, "pipeline_stage": 2}
    with pytest.raises(AttributeError):
        Hint.from_dict({"step": [1]})


def test_what_the_build_needs():
    hint = Hint()
    assert hint.complete_config(None) is hint
    assert hint.pass_context == {"tirx.merge_static_smem": False}
    hint.intrin_info.out_dtype = "int32"
    assert hint.complete_config(None).pass_context == {"tirx.merge_static_smem": False}
    hint.use_tc = True
    assert hint.complete_config(None).pass_context == {"tirx.merge_static_smem": True}
    hint.intrin_info.out_dtype, hint.shared_scope = "float16", "shared.dyn"
    assert hint.complete_config(None).pass_context == {"tirx.merge_static_smem": True}
    hint.block, hint.warp = [1, 2, 3], [4, 5, 6]
    assert hint.tensorcore_legalization() is hint
    assert (hint.block, hint.warp) == ([2, 3], [5, 6])


def test_instructions():
    info = IntrinInfo("int8", "int32", True, 1, 2)
    assert repr(info) == (
        "<IntrinInfo, in_dtype=int8, out_dtype=int32, trans_b=True, input_transform_kind=1, weight_transform_kind=2>"
    )
    assert (info.is_input_8bit(), info.trans_a) == (True, False)
    assert (info.inter_transform_a, info.smooth_a, info.inter_transform_b, info.smooth_b) == (True, False, True, True)
    config = TensorCoreExtraConfig((1,), (2,), (3,), (4,), (5,))
    assert (config.AS_shape, config.BF_shape, config.tc_axis) == ((1,), (4,), (5,))


@pytest.mark.parametrize(
    ("stride", "axis", "shape", "strides", "elements"),
    [
        (1, -1, [4, 5, 6], [30, 6, 1], 120),
        (40, 0, [4, 5, 6], [40, 6, 1], 160),
        (8, 1, [4, 5, 6], [40, 8, 1], 160),
        (72, 0, [16, 64], [72, 1], 1152),
    ],
)
def test_strides(stride, axis, shape, strides, elements):
    padding = Stride(stride, axis)
    assert padding.compute_strides_from_shape(shape) == strides
    assert padding.compute_elements_from_shape(shape) == elements
    assert padding.is_valid() == (axis >= 0)
    assert repr(padding) == f"<Stride, {axis}, {stride}>"


def test_strides_that_do_not_fit():
    with pytest.raises(AssertionError, match="a stride on axis 2 does not fit the shape"):
        Stride(8, 2).compute_elements_from_shape([4, 4])
    with pytest.raises(AssertionError, match="is too small for the shape"):
        Stride(2, 0).compute_elements_from_shape([4, 4])


def test_tiles_show_their_figures():
    td = TileDict([16, 32])
    td.traffic, td.smem_cost, td.grid_size, td.block_per_SM, td.num_wave = 25600.0, 3072, 128, 4, 1
    assert repr(td) == "<TileDict tile=[16, 32] traffic=25600.0 smem=3072 blocks/SM=4 waves=1 prio=25601.0>"
    assert hash(td) == hash((16, 32))
    td.valid = False
    assert "invalid: too much of registers" in repr(td)
    td.grid_size = -1
    assert "invalid: too much of shared memory" in repr(td)


@pytest.mark.parametrize(
    ("width", "digest"),
    [
        (4, "74f8b3b4647769c964d6422e19bece5c34f88a8d92b50a43c1ef7e43780dbc5a"),
        (10, "56a17ae917a2c12dff93b600f74e1d6f01a607e411f063c77fd6df00cec77aaa"),
    ],
)
def test_column_panels(width, digest):
    plan = Rasterization2DColumn(width)
    assert hashlib.sha256("".join(plan.get_code()).encode()).hexdigest() == digest
    assert plan.get_code(7)[1] == "const dim3 blockIdx = rasterization2DColumn(7);\n"
    assert (plan.panel_width, repr(plan)) == (width, f"<Rasterization2DColumn({width})>")


@pytest.mark.parametrize(
    ("width", "digest"),
    [
        (8, "4fa8eecef7a58686bcc0cd2a1e15ccb900c51a09c17b7aeabaf1455c4b3a93c7"),
        (16, "7920bffcf55fe8e25b9a4f79e55869eb5ea41d70066f17bcac8ae3640053f0bf"),
    ],
)
def test_panels_as_text(width, digest):
    assert hashlib.sha256(get_rasterization_code(width).encode()).hexdigest() == digest


def test_other_plans():
    assert (NoRasterization().get_code(), repr(NoRasterization())) == ([], "<NoRasterization>")
    assert repr(Rasterization2DRow()) == "<Rasterization2DRow(4)>"
    with pytest.raises(NotImplementedError):
        Rasterization2DRow().get_code()
    with pytest.raises(NotImplementedError):
        Rasterization().get_code()
    with pytest.raises(AssertionError, match="NoRasterization has no panel width") as caught:
        NoRasterization().panel_width
    assert caught.type is AssertionError or isinstance(caught.value, CarverError)


def test_plans_without_panels():
    """AssertionError in the real carver."""
    for plan in (NoRasterization(), Rasterization2DRow(None), Rasterization()):
        with pytest.raises(AssertionError, match=f"{type(plan).__name__} has no panel width") as caught:
            plan.panel_width  # noqa: B018
        assert isinstance(caught.value, CarverError)
