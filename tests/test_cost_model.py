"""The answers of PORTING.md to the questions about the cost model, and the defects it lists, as measured cases.

Every number here was obtained from the real carver (tilelang 0.1.15) for the same computation and device.
"""

from __future__ import annotations

import itertools

import pytest
from carver.arch import CUDA, RDNA, CarverError, get_arch, is_tensorcore_supported_precision
from carver.arch.cdna import CDNA
from carver.policy import DefaultPolicy, TensorCorePolicy
from carver.roller.matmul_analysis import get_tensorized_func_and_tags
from carver.roller.node import OutputNode, PrimFuncNode
from carver.roller.template import ConvTemplate, GEMVTemplate, GeneralReductionTemplate, MatmulTemplate
from carver.roller.tir import te
from carver.roller.utils import get_roller_hints_from_func, get_roller_hints_from_output_nodes


@pytest.fixture(scope="module")
def a100():
    figures = {"compute_max_core": 108, "smem_cap": 49152, "l2_cache_size_bytes": 41943040}
    return CUDA("sm_80", **figures)


def matmul(M, N, K, epilogue=None, parts=None):
    """A[M, K] x B[N, K], float16 to float32, with what comes after it."""
    A = te.placeholder((M, K), name="A", dtype="float16")
    B = te.placeholder((N, K), name="B", dtype="float16")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
    if epilogue is None:
        return te.create_prim_func([A, B, C])
    if epilogue == "bias":
        more = [te.placeholder((N,), name="b", dtype="float32")]
        D = te.compute((M, N), lambda i, j: C[i, j] + more[0][j], name="D")
    elif epilogue == "residual":
        more = [te.placeholder((M, N), name="R", dtype="float32")]
        D = te.compute((M, N), lambda i, j: C[i, j] + more[0][i, j], name="D")
    elif epilogue == "cast":
        more = []
        D = te.compute((M, N), lambda i, j: C[i, j].astype("float16"), name="D")
    elif epilogue == "second output":
        more = [C]
        D = te.compute((M, N), lambda i, j: C[i, j] * te.const(2, "float32"), name="D")
    else:
        raise ValueError(epilogue)
    return te.create_prim_func([A, B, *more, D])


def split_k(M, N, K, splits, summed):
    """Products over slices of K as an axis of the output, and their sum."""
    part = K // splits
    A = te.placeholder((M, K), name="A", dtype="float16")
    B = te.placeholder((N, K), name="B", dtype="float16")
    k = te.reduce_axis((0, part), name="k")
    s = te.reduce_axis((0, splits), name="s")

    def product(z, i, j):
        a, b = A[i, z * part + k], B[j, z * part + k]
        return te.sum(a.astype("float32") * b.astype("float32"), axis=k)

    P = te.compute((splits, M, N), product, name="P")
    if not summed:
        return te.create_prim_func([A, B, P])
    C = te.compute((M, N), lambda i, j: te.sum(P[s, i, j], axis=s), name="C")
    return te.create_prim_func([A, B, C])


def grouped(G, M, N, K):
    """The group of an output column picks its slice of A's columns."""
    A = te.placeholder((M, G * K), name="A", dtype="float16")
    B = te.placeholder((G * N, K), name="B", dtype="float16")
    k = te.reduce_axis((0, K), name="k")

    def product(i, j):
        a, b = A[i, te.floordiv(j, N) * K + k], B[j, k]
        return te.sum(a.astype("float32") * b.astype("float32"), axis=k)

    return te.create_prim_func([A, B, te.compute((M, G * N), product, name="C")])


def relu(*shape):
    A = te.placeholder(shape, name="A", dtype="float32")
    B = te.compute(shape, lambda *i: te.max(A(*i), te.const(0, "float32")), name="B")
    return te.create_prim_func([A, B])


def priced(func, tile, arch, rstep=None):
    """A tile's figures; of a TileDict what the questions are about."""
    policy = DefaultPolicy.from_prim_func(func, arch)
    node = policy.prim_func_node
    steps = policy._assign_reduce_step(node) if rstep is None else rstep
    return policy.compute_tile_dict(tile, {node: steps})


def priority(td):
    return (td.traffic + 1) * td.num_wave


def search(policy):
    """The ranking, and every tile visited by its extents."""
    visited = {}
    compute = policy.compute_tile_dict

    def watch(tile, rstep_map):
        td = visited[tuple(tile)] = compute(tile, rstep_map)
        return td

    policy.compute_tile_dict = watch
    rsteps = {node: policy._assign_reduce_step(node) for node in policy.ordered_nodes}
    return policy.dfs_smem_tile(policy.get_base_tile(), rsteps), visited, lambda tile: compute(list(tile), rsteps)


def tensorcore_policy(M, N, K, arch):
    template = MatmulTemplate(M=M, N=N, K=K, accum_dtype="float32").with_arch(arch)
    func, tags = get_tensorized_func_and_tags(template.equivalent_function(), arch.target)
    return TensorCorePolicy.from_prim_func(func, arch, tags=tags)


# ---------------------------------------------------------------------------------------------------------------------
# Does propagation return the whole K extent, or one rstep slice?


def test_propagation_returns_the_whole_extent_unless_it_is_given_a_step():
    node = PrimFuncNode(matmul(1024, 1024, 1024), name="n")
    assert node.propagate_inputs([64, 64]) == [[64, 1024], [64, 1024]]
    assert node.propagate_inputs([64, 64], {"v2": 32}) == [[64, 32], [64, 32]]
    # Axes go by the names of the normal form; a step for any other name is ignored.
    assert node.propagate_inputs([64, 64], {"k": 32}) == [[64, 1024], [64, 1024]]


def test_traffic_is_of_the_whole_extent_and_shared_memory_of_one_step(a100):
    func = matmul(1024, 1024, 1024)
    figures = [priced(func, [64, 64], a100, {"v2": step}) for step in (8, 32, 128)]
    assert [td.traffic for td in figures] == [278528.0] * 3
    assert [td.smem_cost for td in figures] == [2048, 8192, 32768]
    # 64 rows of 1024 halves, twice, and 64 x 64 floats written.
    assert 278528 == 2 * 64 * 1024 * 2 + 64 * 64 * 4


# ---------------------------------------------------------------------------------------------------------------------
# Which bit width enters reg_usage?


@pytest.mark.parametrize(
    "accum, out, blocks_per_sm, valid",
    [
        ("float16", "float16", [4, 2, 1], [True, True, True]),
        ("float32", "float16", [4, 2, 1], [True, True, True]),  # as if it summed in float16
        ("float32", "float32", [2, 1, -1], [True, True, False]),
    ],
)
def test_registers_are_counted_in_the_dtype_of_the_output(a100, accum, out, blocks_per_sm, valid):
    template = MatmulTemplate(M=1024, N=1024, K=1024, accum_dtype=accum, out_dtype=out).with_arch(a100)
    policy = DefaultPolicy.from_prim_func(template.equivalent_function(), a100)
    node = policy.prim_func_node
    steps = {node: {axis.var.name: 8 for axis in node.raxis}}
    figures = [policy.compute_tile_dict(tile, steps) for tile in ([128, 128], [256, 128], [256, 256])]
    assert node.get_dtype() == out
    assert [td.block_per_SM for td in figures] == blocks_per_sm
    assert [td.valid for td in figures] == valid


def test_a_boolean_output_counts_eight_bits():
    A = te.placeholder((64,), name="A", dtype="float32")
    B = te.compute((64,), lambda i: A[i] > te.const(0, "float32"), name="B")
    assert PrimFuncNode(te.create_prim_func([A, B]), name="n").get_dtype() == "int8"


# ---------------------------------------------------------------------------------------------------------------------
# Is the ranked traffic one tile's or the grid's?


def test_the_ranked_traffic_is_one_tiles(a100):
    ranked, _, _ = search(tensorcore_policy(4096, 4096, 4096, a100))
    assert [(td.output_tile, td.traffic, td.num_wave, td.grid_size) for td in ranked[:4]] == [
        ([64, 128], 1589248.0, 5, 2048),
        ([128, 64], 1589248.0, 5, 2048),
        ([128, 128], 2129920.0, 4, 1024),
        ([128, 256], 3211264.0, 3, 512),
    ]
    # By the traffic of the whole grid the fourth moves half of what the first does.
    by_grid = sorted(ranked, key=lambda td: td.traffic * td.grid_size)
    assert [td.output_tile for td in by_grid[:3]] == [[128, 256], [256, 128], [128, 128]]
    assert ranked[0].traffic * ranked[0].grid_size == 3254779904.0
    assert by_grid[0].traffic * by_grid[0].grid_size == 1644167168.0


# ---------------------------------------------------------------------------------------------------------------------
# Does the order of the search differ from enumerating, and does the cap ever lose the best tile?


def enumerated(policy, price):
    """All valid tiles of the lattice in its own order, ranked."""
    lattice = itertools.product(*policy._tile_steps(policy.get_base_tile()))
    return sorted((td for td in map(price, lattice) if td.valid), key=priority)


def test_a_search_that_runs_out_ranks_what_an_enumeration_ranks(a100):
    policy = tensorcore_policy(1024, 1024, 1024, a100)
    ranked, visited, price = search(policy)
    assert (len(visited), len(ranked)) == (97, 80)
    assert list(visited)[:6] == [(1, 1), (1, 2), (2, 1), (1, 4), (2, 2), (2, 4)]  # not the order of the lattice
    assert [td.output_tile for td in ranked] == [list(td.output_tile) for td in enumerated(policy, price)]


def test_equal_priorities_come_in_the_order_of_the_visits(a100):
    policy = tensorcore_policy(8192, 28672, 8192, a100)
    ranked, visited, price = search(policy)
    assert len(visited) == 156
    tiles = [td.output_tile for td in ranked]
    others = [td.output_tile for td in enumerated(policy, price)]
    assert sorted(tiles) == sorted(others)
    assert tiles[2:6] == [[128, 64], [64, 128], [256, 128], [128, 256]]
    assert others[2:6] == [[64, 128], [128, 64], [128, 256], [256, 128]]


def test_the_cap_loses_tiles_behind_the_ranking(a100):
    func = MatmulTemplate(M=5040, N=5040, K=5040, accum_dtype="float32").with_arch(a100).equivalent_function()
    policy = DefaultPolicy.from_prim_func(func, a100)
    ranked, visited, price = search(policy)
    everything = enumerated(policy, price)
    assert (len(visited), len(ranked), len(everything)) == (2001, 1924, 2323)
    same = itertools.takewhile(lambda pair: priority(pair[0]) == priority(pair[1]), zip(ranked, everything))
    assert sum(1 for _ in same) >= 1751  # none of the first is missing


@pytest.mark.parametrize(
    "shape, visits, found, best, cheaper",
    [
        ((1260, 2520, 120), 2001, ([7, 35, 30], 7291320.0), (5, 35, 40), 7056126.0),
        ((2520, 55440, 36), 2002, ([15, 44, 12], 170756670.0), (1, 220, 36), 93140670.0),
    ],
)
def test_the_cap_can_lose_the_best_tile(a100, shape, visits, found, best, cheaper):
    policy = DefaultPolicy.from_prim_func(relu(*shape), a100)
    ranked, visited, price = search(policy)
    assert len(visited) == visits
    assert (ranked[0].output_tile, priority(ranked[0])) == found
    lost = price(best)
    assert best not in visited and lost.valid and policy.check_tile_shape_isvalid(lost)
    assert priority(lost) == cheaper < found[1]


def test_the_cap_can_lose_the_best_tile_of_a_convolution(a100):
    template = ConvTemplate(N=48, C=16, H=12, W=48, F=180, K=5, S=1, D=1, P=1).with_arch(a100)
    policy = DefaultPolicy.from_prim_func(template.equivalent_function(), a100)
    ranked, visited, price = search(policy)
    assert len(visited) == 2002
    assert (ranked[0].output_tile, priority(ranked[0])) == ([2, 5, 16, 60], 67841.0)
    lost = price((1, 10, 16, 60))
    assert (1, 10, 16, 60) not in visited and priority(lost) == 64001.0


# ---------------------------------------------------------------------------------------------------------------------
# Which of split-K, grouped and epilogue computations does the model cover?


def figures(func, tile, arch):
    td = priced(func, tile, arch)
    (node,) = td.tile_map.keys() & td.rstep_map.keys()
    return td.traffic, td.smem_cost, td.grid_size, td.num_wave


def first_hint(func, arch):
    return get_roller_hints_from_func(func, arch, topk=1)[0]


def test_no_block_of_a_hint_splits_a_reduction(a100):
    # 64 blocks for 108 multiprocessors, each over the whole of K = 8192.
    assert figures(matmul(512, 512, 8192), [64, 64], a100) == (2113536.0, 16384, 64, 1)
    assert first_hint(matmul(512, 512, 8192), a100).split_k_factor == 1


def test_split_k_as_an_axis_of_the_output_is_covered(a100):
    func = split_k(512, 512, 8192, 8, summed=False)
    assert PrimFuncNode(func, name="n").propagate_inputs([1, 64, 64]) == [[64, 1024], [64, 1024]]
    assert figures(func, [1, 64, 64], a100) == (262400.0, 16384, 512, 2)
    hint = first_hint(func, a100)
    assert (hint.use_tc, hint.block, hint.warp, hint.rstep) == (True, [64, 128], [64, 32], [64])


def test_split_k_with_its_sum_in_one_function_is_not(a100):
    func = split_k(512, 512, 8192, 8, summed=True)
    policy = DefaultPolicy.from_prim_func(func, a100)
    node = policy.prim_func_node
    # The last reduction alone counts: the one over the 8 parts.
    assert [int(axis.dom.extent) for axis in node.raxis] == [8]
    assert node.propagate_inputs([64, 64]) == [[64, 8192], [64, 8192]]
    # P[1, 64, 64] is all there is in shared memory: the inputs of the product cost nothing.
    assert figures(func, [64, 64], a100) == (2113536.0, 16384, 64, 1)
    hint = first_hint(func, a100)
    assert (hint.use_tc, hint.block, hint.rstep) == (None, [32, 32], [4])


def test_block_reduction_depth_fails(a100):
    policy = tensorcore_policy(64, 64, 64, a100)
    policy.block_reduction_depth = 2
    with pytest.raises(TypeError):
        policy.emit_config(1)


def test_groups_are_covered_where_the_index_is_affine(a100):
    func = grouped(4, 512, 512, 512)
    assert PrimFuncNode(func, name="n").propagate_inputs([64, 64]) == [[64, 512], [64, 512]]
    assert figures(func, [64, 64], a100) == (147456.0, 16384, 256, 1)
    # ... but such a product is not recognised as one, so it gets no tensor cores.
    hint = first_hint(func, a100)
    assert (hint.use_tc, hint.block, hint.thread) == (None, [64, 64], [16, 8])


def test_groups_by_an_index_in_memory_fail(a100):
    A = te.placeholder((4, 64, 64), name="A", dtype="float16")
    group = te.placeholder((64,), name="group", dtype="int32")
    B = te.compute((64, 64), lambda i, j: A[group[i], i, j], name="B")
    with pytest.raises(CarverError, match=r"Unhandled node type in walk_indice\(\)"):
        get_roller_hints_from_func(te.create_prim_func([A, group, B]), a100, 1)


@pytest.mark.parametrize(
    "epilogue, traffic, reads",
    [
        (None, 147456.0, [[64, 512], [64, 512]]),
        ("cast", 139264.0, [[64, 512], [64, 512]]),  # what is written, in the dtype it is written in
        ("bias", 147712.0, [[64, 512], [64, 512], [64]]),
        ("residual", 163840.0, [[64, 512], [64, 512], [64, 64]]),
        ("second output", 147456.0, [[64, 512], [64, 512]]),  # of several outputs the first alone
    ],
)
def test_epilogues_count_in_traffic_and_not_in_shared_memory(a100, epilogue, traffic, reads):
    func = matmul(512, 512, 512, epilogue)
    assert PrimFuncNode(func, name="n").propagate_inputs([64, 64]) == reads
    assert figures(func, [64, 64], a100) == (traffic, 16384, 64, 1)
    assert first_hint(func, a100).use_tc


def test_a_bias_is_cached_and_costs_nothing(a100):
    td = priced(matmul(512, 512, 512, "bias"), [64, 64], a100)
    (cached,) = td.cached_tensors_map.values()
    assert cached == ["A", "B", "b"]
    assert td.smem_cost == 64 * 64 * 2 * 2


# ---------------------------------------------------------------------------------------------------------------------
# Defects of the real carver that are kept


def test_outputs_are_clipped_by_the_shape_of_an_input():
    assert PrimFuncNode(matmul(1024, 4096, 64), name="n").propagate_outputs([128, 256]) == [[128, 64]]
    assert PrimFuncNode(matmul(512, 512, 16), name="n").propagate_outputs([64, 64]) == [[64, 16]]


def hints(M, N, K, arch, topk=20):
    return MatmulTemplate(M=M, N=N, K=K, accum_dtype="float32").with_arch(arch).recommend_hints(topk)


def test_tiles_need_not_be_multiples_of_their_warps(a100):
    def uneven(*shape):
        found = hints(*shape, a100)
        return [(h.block, h.warp) for h in found if any(b % w for b, w in zip(h.block, h.warp))]

    assert uneven(48, 80, 64)[:2] == [([16, 20], [16, 16]), ([24, 16], [16, 16])]
    assert uneven(5040, 5040, 5040)[0] == ([72, 80], [16, 80])


def test_a_hint_can_need_more_shared_memory_than_there_is(a100):
    hint = next(h for h in hints(16, 1024, 1024, a100) if h.block == [16, 256])
    (step,) = hint.rstep
    assert (step, hint.pipeline_stage) == (64, 2)
    assert (16 + 256) * step * 2 * hint.pipeline_stage == 69632 > a100.smem_cap


def test_no_tile_no_hint(a100):
    assert hints(16, 17, 16, a100) == []
    assert hints(1009, 1021, 1013, a100) == []


def test_graphs_have_one_pipeline_stage(a100):
    func, tags = get_tensorized_func_and_tags(matmul(1024, 1024, 1024), a100.target)
    graph = get_roller_hints_from_output_nodes([OutputNode(PrimFuncNode(func, tags=tags, name="m"))], a100, 2)
    assert [hint.pipeline_stage for hint in graph] == [1, 1]
    alone = get_roller_hints_from_func(matmul(1024, 1024, 1024), a100, 2)
    assert [hint.pipeline_stage for hint in alone] == [2, 2]


def test_blackwell_gets_no_tensor_cores():
    b200 = CUDA("b200")
    with pytest.raises(ValueError, match="Unsupported architecture"):
        is_tensorcore_supported_precision("float16", "float32", b200)
    assert hints(1024, 1024, 1024, b200, 1)[0].use_tc is None


def test_templates_with_a_bias(a100):
    with pytest.raises(CarverError, match="Bias"):
        MatmulTemplate(M=64, N=64, K=64, with_bias=True).with_arch(a100).recommend_hints(2)
    with pytest.raises(CarverError, match="Bias"):
        conv = ConvTemplate(N=1, C=16, H=8, W=8, F=16, K=3, S=1, D=1, P=1, with_bias=True)
        conv.with_arch(a100).recommend_hints(2)
    assert len(GEMVTemplate(N=64, K=64, with_bias=True).with_arch(a100).recommend_hints(2)) == 2


def test_refusals_of_the_real_carver(a100):
    with pytest.raises(AssertionError):
        ConvTemplate(N=1, C=16, H=8, W=8, F=16, K=3, S=1, D=1, P=0).with_arch(a100)
    with pytest.raises(TypeError):
        get_roller_hints_from_func(matmul(64, 64, 64), a100, 2, tensorcore_only=True)
    with pytest.raises(IndexError):
        GeneralReductionTemplate(structure="R", shape=[1024], dtype="float32").with_arch(a100).recommend_hints(2)
    A = te.placeholder((8, 8), name="A", dtype="float32")
    B = te.compute((8, 8), lambda i, j: A[i, j] + te.const(1, "float32"), name="B")
    C = te.compute((8, 8), lambda i, j: A[i, j] + te.const(2, "float32"), name="C")
    with pytest.raises(TypeError):
        get_roller_hints_from_func(te.create_prim_func([A, B, C]), a100, 2)


def test_devices_of_the_real_carver():
    assert RDNA("rx7900xtx").l2_cache_size_bytes == 0
    assert isinstance(get_arch({"kind": "hip", "mcpu": "gfx1030"}, **cdna_figures()), CDNA)


def cdna_figures():
    model = get_arch("mi300x")
    return {name: getattr(model, name) for name in ("compute_max_core", "smem_cap", "l2_cache_size_bytes")}
