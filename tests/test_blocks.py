"""The making of blocks: order, names, iterators, regions, dtypes. All values come from the real TVM."""

import pytest
import te_programs
from carver.roller import tir
from carver.roller.tir import te
from carver.roller.tir.access_region import get_sblock_read_write_region
from carver.roller.tir.create_prim_func import NameSupply, collect_ordered_ops
from carver.roller.tir.expr import TirError, substitute
from te_programs import make


def realizes(func):
    """Every block below the root, outer before inner, in the order of the program."""
    found = []

    def visit(stmt):
        if isinstance(stmt, tir.SeqStmt):
            for part in stmt.seq:
                visit(part)
        elif isinstance(stmt, tir.For):
            visit(stmt.body)
        elif isinstance(stmt, tir.SBlockRealize):
            found.append(stmt)
            visit(stmt.block.body)

    visit(func.body.block.body)
    return found


def blocks(func):
    return [realize.block for realize in realizes(func)]


def names(func):
    return [block.name_hint for block in blocks(func)]


def regions(accesses):
    return [repr(access) for access in accesses]


def vector(name="A", dtype="float32"):
    return te.placeholder((32,), name=name, dtype=dtype)


# -- the function ------------------------------------------------------------------------------------------------------


def test_parameters_buffers_and_attributes():
    n = te.var("n")
    A = te.placeholder((n, 8), name="A", dtype="float16")
    B = te.compute((n, 8), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((n, 8), lambda i, j: B[i, j] + 1, name="C")
    func = te.create_prim_func([A, n, C])
    assert [(p.name, p.dtype) for p in func.params] == [("var_A", "handle"), ("n", "int32"), ("var_C", "handle")]
    assert func.params[1] is n
    assert [b.name for b in func.buffer_map.values()] == ["A", "C"]
    assert func.attrs == {"global_symbol": "main", "tirx.noalias": True}
    root = func.body.block
    assert (root.name_hint, root.iter_vars, root.reads, root.writes) == ("root", (), (), ())
    assert [b.name for b in root.alloc_buffers] == ["B"]
    assert [b.shape[0] for b in root.alloc_buffers] == [n]


def test_order_of_operations_is_depth_first_by_argument():
    A, B = vector("A"), vector("B")
    x = te.compute((32,), lambda i: B[i] + 1, name="x")
    y = te.compute((32,), lambda i: A[i] + 1, name="y")
    z = te.compute((32,), lambda i: y[i] * x[i] + x[31 - i], name="z")
    w = te.compute((32,), lambda i: x[i] * z[i], name="w")
    assert [op.name for op in collect_ordered_ops([A, B, w, z])] == ["A", "B", "x", "y", "z", "w"]
    # What is an argument first is made first.
    assert names(te.create_prim_func([A, B, y, w])) == ["y", "x", "z", "w"]
    assert names(te.create_prim_func([A, B, w, y])) == ["x", "y", "z", "w"]


def test_a_long_chain_of_operations():
    tensor = first = vector()
    for _ in range(1200):
        tensor = successor(tensor)
    assert len(blocks(te.create_prim_func([first, tensor]))) == 1200


def successor(tensor):
    return te.compute((32,), lambda i: tensor[i] + 1.0, name="s")


def test_arguments():
    A = vector()
    B = te.compute((32,), lambda i: A[i] + 1, name="B")
    with pytest.raises(TirError, match="placeholder A is read.*arguments \\(B\\)"):
        te.create_prim_func([B])
    with pytest.raises(TirError, match="nothing to compute"):
        te.create_prim_func([A])
    with pytest.raises(TirError, match="a tensor or a variable, got 3"):
        te.create_prim_func([A, B, 3])
    # An unread input stays; constants and None are dropped; one tensor may be two arguments.
    X = te.placeholder((3,), name="X")
    func = te.create_prim_func([A, X, tir.IntImm("int32", 3), None, B, B])
    assert [p.name for p in func.params] == ["var_A", "var_X", "var_B", "var_B"]
    assert func.buffer_map[func.params[2]] is func.buffer_map[func.params[3]]
    # One tensor need not be in a list.
    assert len(te.create_prim_func(te.compute((4,), lambda i: i, name="T")).params) == 1


# -- names -------------------------------------------------------------------------------------------------------------


def test_name_supply():
    supply = NameSupply()
    given = ["B", "B", "B_1", "B", "a.b", "a_b", "", "v"]
    assert [supply.fresh_name(name) for name in given] == ["B", "B_1", "B_1_1", "B_2", "a_b", "a_b_1", "v", "v_1"]


def test_block_names_are_unique_and_buffer_names_are_not():
    A = te.placeholder((32,), name="A")
    B = te.compute((32,), lambda i: A[i] + 1, name="A")
    C = te.compute((32,), lambda i: B[i] + 1, name="A")
    func = te.create_prim_func([A, C])
    # The input has no block, so the first block is A.
    assert names(func) == ["A", "A_1"]
    assert [b.name for b in func.buffer_map.values()] + [b.name for b in func.body.block.alloc_buffers] == ["A"] * 3


def test_a_bias_may_share_its_name_with_the_stage_that_adds_it():
    # The real create_prim_func accepts this; it is carver's graph of tensors, keyed by name, that does not.
    func = make(te_programs.p_matmul_biasclash, te, tir)
    assert [b.name for b in func.buffer_map.values()] == ["A", "B", "Bias", "D"]
    assert names(func) == ["C", "Bias", "D"]


# -- iterators ---------------------------------------------------------------------------------------------------------


def test_iterators_and_loops():
    A = te.placeholder((16, 1, 24), name="A")
    k = te.reduce_axis((2, 10), name="k")
    C = te.compute((16, 1), lambda i, j: te.max(A[i, j, k], axis=k), name="C")
    (realize,) = realizes(te.create_prim_func([A, C]))
    iter_vars = realize.block.iter_vars
    assert [v.var.name for v in iter_vars] == ["v_i", "v_j", "v_k"]
    assert [v.iter_type for v in iter_vars] == [0, 0, 2]
    assert [(int(v.dom.min), int(v.dom.extent)) for v in iter_vars] == [(0, 16), (0, 1), (2, 8)]
    assert [value.name for value in realize.iter_values] == ["i", "j", "k"]
    assert realize.block.init.value.value == -3.4028234663852886e38


def test_an_output_without_dimensions_gets_an_iterator():
    (realize,) = realizes(make(te_programs.p_rank0b, te, tir))
    (vi,) = realize.block.iter_vars
    assert (vi.var.name, int(vi.dom.extent), int(realize.iter_values[0])) == ("vi", 1, 0)
    assert realize.block.body.indices == () and regions(realize.block.writes) == ["C[()]"]
    # A reduction has iterators of its own.
    (realize,) = realizes(make(te_programs.p_rank0, te, tir))
    assert [v.var.name for v in realize.block.iter_vars] == ["v_k"]


def test_several_outputs_have_iterators_of_their_own():
    func = make(te_programs.p_tuple, te, tir)
    first, second = realizes(func)
    assert names(func) == ["T_v0", "T_v1"]
    assert [b.name for b in func.buffer_map.values()] == ["A", "B", "T.v0", "T.v1"]
    assert first.iter_values[0] is second.iter_values[0]
    assert first.block.iter_vars[0].var is not second.block.iter_vars[0].var
    assert second.block.body.indices[0] is second.block.iter_vars[0].var


def test_tuple_reduction_binds_all_values_before_it_stores():
    (block,) = blocks(make(te_programs.p_argmax, te, tir))
    bind0, bind1, store0, store1 = block.body.seq
    assert [type(s) for s in block.body.seq] == [tir.Bind, tir.Bind, tir.BufferStore, tir.BufferStore]
    assert (bind0.var.name, bind1.var.name) == ("v_T.v0", "v_T.v1")
    assert store0.value is bind0.var and store1.value is bind1.var
    assert regions(block.reads) == ["A[v_i, v_k]", "I_1[v_i, v_k]"]
    assert regions(block.writes) == ["T_v0[v_i]", "T_v1[v_i]"]


def test_a_domain_that_uses_an_axis_makes_a_nested_block():
    func = make(te_programs.p_nested, te, tir)
    outer, inner = realizes(func)
    assert names(func) == ["C_l1", "C"]
    assert [v.var.name for v in inner.block.iter_vars] == ["v_i", "v_k"]
    assert inner.iter_values[0] is outer.block.iter_vars[0].var
    assert str(inner.block.iter_vars[1].dom.extent) == "v_i + 1"
    assert outer.block.init is None and inner.block.init is not None
    # TVM visits the inner body again: the regions are united with the inner block's own iterators.
    assert [access.buffer.name for access in outer.block.reads] == ["A", "C"]
    assert regions(outer.block.reads)[1] == "C[v_i]"


# -- regions -----------------------------------------------------------------------------------------------------------


def reads_of(value, *inputs, shape=(32, 64)):
    T = te.compute(shape, value, name="T")
    (block,) = blocks(te.create_prim_func([*inputs, T]))
    return regions(block.reads)


def test_a_reductions_own_output_is_not_read():
    A = te.placeholder((32, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    assert reads_of(lambda i: te.sum(A[i, k], axis=k), A, shape=(32,)) == ["A[v_i, v_k]"]


def test_regions_of_index_expressions():
    A = te.placeholder((2048, 64), name="A")
    assert reads_of(lambda i, j: A[i * 4 + j // 2, 63 - j], A) == ["A[v_i * 4 + v_j // 2, 63 - v_j]"]
    assert reads_of(lambda i, j: A[i, j] + A[i + 2, j], A) == ["A[v_i:v_i + 3, v_j]"]
    union = "A[T.min(v_i, v_j):T.min(v_i, v_j) + (T.max(v_i, v_j) + 1 - T.min(v_i, v_j)), 0]"
    assert reads_of(lambda i, j: A[i, 0] + A[j, 0], A) == [union]


def test_both_branches_of_a_choice_count():
    A, B = te.placeholder((32, 64), name="A"), te.placeholder((16, 64), name="B")
    both = ["A[v_i, v_j]", "B[v_i - 32, v_j]"]
    concat = lambda i, j: te.if_then_else(i < 32, A[i, j], B[i - 32, j])  # noqa: E731
    assert reads_of(concat, A, B, shape=(48, 64)) == both
    assert reads_of(lambda i, j: tir.Select(i < 32, A[i, j], B[i - 32, j]), A, B, shape=(48, 64)) == both
    # An index that is a call is unknown: the whole dimension. The condition's own reads come first.
    M = te.placeholder((32, 64), name="M", dtype="bool")
    assert reads_of(lambda i, j: A[te.if_then_else(M[i, j], i, j), j], A, M) == ["A[0:32, v_j]", "M[v_i, v_j]"]
    assert reads_of(lambda i, j: te.if_then_else(M[i, j], A[i, j], 0.0), A, M) == ["M[v_i, v_j]", "A[v_i, v_j]"]


def test_an_index_read_from_a_buffer():
    A, index = te.placeholder((100, 64), name="A"), te.placeholder((32,), name="I", dtype="int64")
    # The buffer I is printed so because I stands for TVM's module ir.
    assert reads_of(lambda i, j: A[index[i], j], A, index) == ["A[I_1[v_i], v_j]", "I_1[v_i]"]
    spread = reads_of(lambda i, j: A[index[i], j] + A[index[i] + 1, j], A, index)
    assert spread == ["A[I_1[v_i]:I_1[v_i] + T.int64(2), v_j]", "I_1[v_i]"]


def test_detector_can_be_limited_to_some_buffers():
    (block,) = blocks(make(te_programs.p_concat, te, tir))
    a, b = (access.buffer for access in block.reads)
    reads, writes = get_sblock_read_write_region(block, [b])
    assert [access.buffer for access in reads] == [b] and writes == []
    reads, writes = get_sblock_read_write_region(block)
    assert regions(reads) == regions(block.reads) and regions(writes) == regions(block.writes)


# -- values ------------------------------------------------------------------------------------------------------------


def test_values_are_simplified():
    A = te.placeholder((64,), name="A")
    T = te.compute((32,), lambda i: A[i + 0] * 1 + 0 + A[(i * 4) // 4] + A[(i * 2 + i * 3) % 5 + i], name="T")
    (block,) = blocks(te.create_prim_func([A, T]))
    assert str(block.body.value) == "A[v_i] + A[v_i] + A[v_i]"


def test_where_and_init_of_a_reduction_are_ignored():
    plain, where = make(te_programs.p_red_offset, te, tir), make(te_programs.p_red_where, te, tir)
    assert str(blocks(where)[0].body.value) == "T_1[v_i] + A[v_i, v_k]" == str(blocks(plain)[0].body.value)
    (block,) = blocks(make(te_programs.p_red_init, te, tir))
    assert block.init.value.value == 0.0 and regions(block.reads) == ["A[v_i, v_k]"]


def test_annotations_and_layout_free_arguments():
    (block,) = blocks(make(te_programs.p_attrs, te, tir))
    assert block.annotations == {"a": 1, "b": "x", "c": 2.5, "t": True}  # "workload" is dropped
    func = make(te_programs.p_attrs_tensor, te, tir)
    assert func.attrs["layout_free_buffers"] == [0]
    assert blocks(func)[0].annotations == {"z": func.buffer_map[func.params[0]]}
    A = vector()
    B = te.compute((32,), lambda i: A[i] + 1, name="B", attrs={"layout_free_placeholders": A})
    with pytest.raises(TirError, match="must be a list of tensors"):
        te.create_prim_func([A, B])


# -- index dtypes ------------------------------------------------------------------------------------------------------


def test_int64_extents():
    (realize,) = realizes(make(te_programs.p_int64_mix, te, tir))
    v_i, v_j = realize.block.iter_vars
    assert (v_i.var.dtype, v_i.dom.min.dtype, v_i.dom.extent.dtype, v_j.var.dtype) == (
        "int64",
        "int32",
        "int64",
        "int32",
    )
    loop = make(te_programs.p_int64_mix, te, tir).body.block.body
    assert (loop.loop_var.dtype, loop.min.dtype, loop.extent.dtype) == ("int64", "int64", "int64")
    with pytest.raises(TirError, match="starts at an int64 and has an int32 extent"):
        make(te_programs.p_axis_dtypes_refused, te, tir)


def index_dtypes(func):
    found = set()
    for realize in realizes(func):
        for iter_var in realize.block.iter_vars:
            found |= {iter_var.var.dtype, iter_var.dom.min.dtype, iter_var.dom.extent.dtype}
        found |= {value.dtype for value in realize.iter_values}
        for access in realize.block.reads + realize.block.writes:
            found |= {end.dtype for r in access.region for end in (r.min, r.extent)}
    return found


def test_index_dtype_override():
    assert index_dtypes(make(te_programs.p_override64_conv, te, tir)) == {"int64"}
    assert index_dtypes(make(te_programs.p_override32, te, tir)) == {"int32"}
    func = make(te_programs.p_override64_symparam, te, tir)
    n = func.params[-1]
    assert n.dtype == "int64" and func.buffer_map[func.params[0]].shape[0] is n
    assert func.body.block.alloc_buffers[0].shape[0] is n
    # An index that is data keeps its dtype.
    (block,) = blocks(make(te_programs.p_override64_gather, te, tir))
    assert block.reads[0].region[0].min.dtype == "int32" and block.reads[0].region[0].extent.dtype == "int64"


def test_override_keeps_tvms_faults():
    # An iterator that starts at 2 loses its first two values ...
    (realize,) = realizes(make(te_programs.p_offset_axis_override, te, tir))
    assert [(int(v.dom.min), int(v.dom.extent)) for v in realize.block.iter_vars] == [(0, 8), (2, 4)]
    loop = make(te_programs.p_offset_axis_override, te, tir).body.block.body.body
    assert (int(loop.min), int(loop.extent)) == (2, 6)
    # ... and a block of which only the iterators would change keeps its iterators.
    S = te.placeholder((), name="S")
    k = te.reduce_axis((0, 32), name="k")
    T = te.compute((), lambda: te.sum(S(), axis=k), name="T")
    (realize,) = realizes(te.create_prim_func([S, T], index_dtype_override="int64"))
    assert (realize.iter_values[0].dtype, realize.block.iter_vars[0].var.dtype) == ("int64", "int32")


def test_substitute_does_not_capture_te_axes():
    # Two functions of the same te program share nothing that could be confused.
    A = te.placeholder((32,), name="A")
    B = te.compute((32,), lambda i: A[i] + 1, name="B")
    one, two = blocks(te.create_prim_func([A, B])) + blocks(te.create_prim_func([A, B]))
    v_one, v_two = one.iter_vars[0].var, two.iter_vars[0].var
    assert v_one is not v_two and v_one is not B.op.axis[0].var
    assert substitute(one.body.value, {v_two: tir.IntImm("int32", 0)}) is one.body.value


def test_a_long_sum():
    # 400 nodes deep; Python's default recursion limit would end at about 150.
    A = te.placeholder((4096,), name="A")

    def value(i):
        total = A[i]
        for distance in range(1, 400):
            total = total + A[i + distance] * float(distance)
        return total

    func = te.create_prim_func([A, te.compute((32,), value, name="T")])
    (block,) = blocks(func)
    assert regions(block.reads) == ["A[v_i:v_i + 400]"]
    assert "A[v_i + 399] * T.float32(399.0)" in func.script()
