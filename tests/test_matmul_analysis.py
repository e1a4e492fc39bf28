"""Recognising matrix products, against values of the real carver (TileLang 0.1.15)."""

import hashlib
import json

import pytest
from carver.arch import Target
from carver.arch.errors import CarverError
from carver.roller import analysis, common_schedules
from carver.roller.matmul_analysis import (
    _collect_consumers,
    _collect_producers,
    detect_iter_traits,
    find_arg_idx_from_buffer_chain,
    find_first_similar_buffer,
    find_last_producer_from_buffer,
    get_dequantize_block,
    get_in_out_dtypes,
    get_index_map,
    get_ladder_stage3_map,
    get_propagate_map,
    get_tensorized_func_and_tags,
    is_identity_block,
    is_transpose_block,
    layout_propagate_chain,
)
from carver.roller.tir import te
from carver.roller.tir.index_map import IndexMap
from carver.roller.tir.schedule import Schedule


class Product:
    """A product whose right side is transposed and dequantised on the way: BT, W, C, and a copy D."""

    def __init__(self):
        A = te.placeholder((64, 32), name="A", dtype="float16")
        B = te.placeholder((32, 48), name="B", dtype="uint8")
        scale = te.placeholder((48,), name="S", dtype="float16")
        BT = te.compute((48, 32), lambda i, j: B[j, i], name="BT")
        W = te.compute((48, 32), lambda i, j: BT[i, j].astype("float16") * scale[i], name="W")
        k = te.reduce_axis((0, 32), name="k")
        C = te.compute((64, 48), lambda i, j: te.sum(A[i, k] * W[j, k], axis=k), name="C")
        D = te.compute((64, 48), lambda i, j: C[i, j], name="D")
        self.func = te.create_prim_func([A, B, scale, D])
        self.sch = Schedule(self.func)
        self.blocks = self.sch.get_child_blocks(analysis.get_root_block(self.sch))
        self.main = self.blocks[2]
        self.stmt = self.sch.get(self.main)

    def name(self, block):
        return self.sch.get(block).name_hint


@pytest.fixture
def product():
    return Product()


def finals(maps):
    return [[str(index) for index in index_map.final_indices] for index_map in maps]


def test_blocks_around_a_product(product):
    stmts = [product.sch.get(block) for block in product.blocks]
    assert [is_transpose_block(stmt) for stmt in stmts] == [True, False, False, False]
    assert [is_identity_block(stmt) for stmt in stmts] == [False, False, False, True]
    assert product.name(get_dequantize_block(product.sch, product.blocks)) == "W"
    assert [product.name(b) for b in _collect_producers(product.sch, product.main)] == ["W", "BT"]
    assert [product.name(b) for b in _collect_consumers(product.sch, product.blocks[0])] == ["W", "C", "D"]
    assert get_in_out_dtypes(product.stmt) == ("float16", "float16")
    assert [analysis.get_coalesced_veclen(stmt) for stmt in stmts] == [16, 8, 8, 8]


def test_where_a_buffer_comes_from(product):
    A, W = (access.buffer for access in product.stmt.reads)
    first = product.sch.get(product.blocks[0]).reads[0].buffer
    assert product.name(find_last_producer_from_buffer(product.sch, product.main, W)) == "BT"
    assert find_arg_idx_from_buffer_chain(product.sch, product.main, A) == 0
    assert find_arg_idx_from_buffer_chain(product.sch, product.main, W) is None
    assert find_arg_idx_from_buffer_chain(product.sch, product.blocks[0], first) == 1
    assert find_first_similar_buffer(product.stmt.reads, W) is A
    assert find_first_similar_buffer([], W) is None


def test_maps_to_a_plain_product(product):
    assert [trait.kind.name for trait in detect_iter_traits(product.stmt)[3]] == ["kIter_I", "kIter_J", "kIter_K"]
    plain = [["0", "i0", "i1", "i2"], ["0", "i0", "i1"], ["0", "i0", "i1"], ["0", "i0", "i1"]]
    turned = [["0", "i0", "i1", "i2"], ["0", "i1", "i0"], ["0", "i1", "i0"], ["0", "i1", "i0"]]
    assert finals(get_index_map(product.stmt)) == plain
    assert finals(get_index_map(product.stmt, ["a", "a", "a"])) == plain
    assert finals(get_index_map(product.stmt, ["t", "n", "t"])) == turned
    with pytest.raises(ValueError, match="Unknown layout x"):
        get_index_map(product.stmt, ["x", "n", "t"])
    assert detect_iter_traits(product.sch.get(product.blocks[0])) is None
    assert get_index_map(product.sch.get(product.blocks[0])) is None


def test_a_layout_goes_back_to_the_input(product):
    tiles = IndexMap.from_func(lambda i, j: [i // 16, j // 16, i % 16, j % 16], index_dtype="int32")
    found = layout_propagate_chain(product.sch, product.main, product.stmt.reads[1].buffer, product.blocks[0], tiles)
    assert finals([found]) == [["v_i // 16", "v_j // 16", "v_i % 16", "v_j % 16"]]


def test_analysis_of_a_function(product):
    sch = Schedule(product.func)
    infos = analysis.normalize_prim_func(sch)
    kinds = [(info.name, info.dom_kind(), info.is_injective(), info.is_reduction()) for info in infos]
    assert kinds == [
        ("BT", "SS", True, False),
        ("W", "SS", True, False),
        ("C", "SSR", False, True),
        ("D", "SS", True, False),
    ]
    assert repr(infos[2]) == 'BlockInfo("C", "SSR", [I.Range(0, 64), I.Range(0, 48), I.Range(0, 32)])'
    assert repr(infos[2].iters[2]) == 'Iter("R", I.Range(0, 32))'
    with pytest.raises(AttributeError):
        infos[0].is_elementwise(sch)
    assert infos[1].is_elementwise(sch) is False
    with pytest.raises(NotImplementedError):
        infos[2].is_gemm()
    assert common_schedules.get_block(sch, infos, "W") is infos[1].block_rv
    assert common_schedules.get_block(sch, infos, "Q") is None
    assert common_schedules.get_output_blocks(sch, infos) == [infos[3].block_rv]
    assert str(analysis.detect_dominant_read(product.stmt)) == "v_i * 32 + v_k"
    assert analysis.is_broadcast_epilogue(product.sch, product.main, product.blocks[3]) is False
    assert analysis.find_var_from_func(product.func, "n") is None
    assert analysis.check_func_with_dynamic(product.func) is False


def test_limits_of_a_target():
    cuda, cpu = Target({"kind": "cuda", "arch": "sm_80"}), Target("llvm")
    assert analysis.get_max_threads_per_block(cuda) == 1024
    with pytest.raises(ValueError, match="Expect a GPU target"):
        analysis.get_max_threads_per_block(cpu)
    with pytest.raises(ValueError, match="Cannot find `max_shared_memory_per_block`"):
        analysis.get_max_shared_memory_per_block(cuda)
    sized = Target({"kind": "cuda", "arch": "sm_80", "max_shared_memory_per_block": 49152})
    assert analysis.get_max_shared_memory_per_block(sized) == 49152


def tags_of(dtype, arch):
    accumulator = "int32" if dtype == "int8" else dtype
    X, Y = (te.placeholder((64, 64), name=name, dtype=dtype) for name in "XY")
    k = te.reduce_axis((0, 64), name="k")
    Z = te.compute(
        (64, 64), lambda i, j: te.sum(X[i, k].astype(accumulator) * Y[j, k].astype(accumulator), axis=k), name="Z"
    )
    _, tags = get_tensorized_func_and_tags(te.create_prim_func([X, Y, Z]), Target({"kind": "cuda", "arch": arch}))
    return tags


@pytest.mark.parametrize(
    ("dtype", "arch", "stage"),
    [
        ("float16", "sm_75", 1),
        ("int8", "sm_75", None),
        ("int8", "sm_80", 2),
        ("float32", "sm_80", None),
        ("float16", "sm_60", None),
        ("float16", "sm_90a", 2),
    ],
)
def test_tags(dtype, arch, stage):
    tags = tags_of(dtype, arch)
    if stage is None:
        assert tags is None
        return
    assert tags == {
        "tensorcore_config": [1, 2],
        "pipeline_stage": stage,
        "use_async_copy": stage == 2,
        "intrin_info": {"in_dtype": dtype, "out_dtype": "int32" if dtype == "int8" else dtype, "trans_b": True},
    }


def test_newer_than_hopper():
    with pytest.raises(ValueError, match="Unsupported architecture"):
        tags_of("float16", "sm_100")


@pytest.mark.parametrize(
    ("dtype", "columns", "forward", "back"),
    [
        (
            "float16",
            16,
            "257d9a49d6603aae32405a7772bd754e0549a9ef4554547575fc90a766d1876d",
            "3b6f09aa47c223f551cd39832830c8ef21c25c0d494c6ff8b1d332036dc680df",
        ),
        (
            "int8",
            32,
            "29b766cde086fd67a8842ec22370683612eccabf150e3a30dbf08c48c6b572f0",
            "0ed085c35ecc46c3310cc1bb260b39256fb75e3952c4ad1a6580ae51d5dc8da8",
        ),
    ],
)
def test_third_stage_of_ladder(dtype, columns, forward, back):
    """All elements of a tile and back: digests of what the real maps give."""
    for index_map, digest in zip(get_ladder_stage3_map(dtype), (forward, back)):
        images = [[int(i) for i in index_map.map_indices([i, j])] for i in range(16) for j in range(columns)]
        assert hashlib.sha256(json.dumps(images).encode()).hexdigest() == digest
    with pytest.raises(AssertionError, match="not float64"):
        get_ladder_stage3_map("float64")


def test_layouts_of_bitblas():
    with pytest.raises(ModuleNotFoundError, match="takes its layouts from BitBLAS") as caught:
        get_propagate_map()
    assert isinstance(caught.value, CarverError)
