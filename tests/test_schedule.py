"""Schedules: queries, the normal form, and the rewrite to a matrix product, held against the real library's text.

tests/data/schedules.json was written by record_schedules.py on tilelang 0.1.15.
"""

import json
from pathlib import Path

import matmul_programs
import pytest
import te_programs
from carver.arch import CUDA
from carver.roller import tir
from carver.roller.matmul_analysis import get_tensorized_func_and_tags
from carver.roller.tir import te
from carver.roller.tir.expr import TirError
from carver.roller.tir.layout import normalize_prim_func_blocks
from carver.roller.tir.schedule import Schedule, ScheduleError

RECORD = json.loads((Path(__file__).parent / "data" / "schedules.json").read_text())
TARGET = CUDA("a100").target


@pytest.mark.parametrize("name", sorted(RECORD["normal_form"]))
def test_normal_form(name):
    expected = RECORD["normal_form"][name]
    func = te_programs.make(te_programs.programs()[name], te, tir)
    if expected is not None and "error" in expected:
        with pytest.raises(TirError):
            normalize_prim_func_blocks(Schedule(func))
        return
    sch = Schedule(func)
    found = normalize_prim_func_blocks(sch)
    if expected is None:
        assert found is None
        return
    kinds = ["".join("SxR"[i.iter_type] for i in iters) for iters in found[2]]
    assert {"kinds": kinds, "reductions": found[3], "script": sch.mod["main"].script()} == expected


@pytest.mark.parametrize("name", sorted(RECORD["tensorized"]))
@pytest.mark.parametrize("number", range(len(matmul_programs.LAYOUTS)))
def test_matrix_product(name, number):
    expected = RECORD["tensorized"][name][number]
    func = te.create_prim_func(matmul_programs.programs()[name](te, tir))
    layout = matmul_programs.LAYOUTS[number]
    if "error" in expected:
        with pytest.raises((TirError, ValueError)):
            get_tensorized_func_and_tags(func, TARGET, layout=layout)
        return
    new, tags = get_tensorized_func_and_tags(func, TARGET, layout=layout)
    assert new.script() == expected["script"]
    assert tags == expected["tags"]


def two_stages():
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((8,), lambda i: te.sum(B[i, k], axis=k), name="C")
    return Schedule(te.create_prim_func([A, C]))


def test_queries():
    sch = two_stages()
    root = sch.get_sblock("root")
    b, c = sch.get_child_blocks(root)
    assert [sch.get(rv).name_hint for rv in (b, c)] == ["B", "C"]
    assert [sch.get(rv).name_hint for rv in sch.get_producers(c)] == ["B"]
    assert [sch.get(rv).name_hint for rv in sch.get_consumers(b)] == ["C"]
    assert sch.get_producers(b) == [] and sch.get_consumers(c) == []
    assert [sch.get(rv).name_hint for rv in sch.get_output_blocks(root)] == ["C"]
    assert [int(sch.get(loop).extent) for loop in sch.get_loops(c)] == [8, 16]


def test_names_of_blocks_are_new_each_time():
    sch = two_stages()
    assert sch.get_sblock("B") is not sch.get_sblock("B")
    assert sch.get_sblock("B") != sch.get_sblock("B")
    assert sch.get(sch.get_sblock("B")) is sch.get(sch.get_sblock("B"))


def test_names_follow_a_rewrite():
    sch = two_stages()
    c = sch.get_sblock("C")
    stage = sch.reindex(c, ("read", 0))
    assert sch.get(stage).name_hint == "B_reindex_reindex"
    assert repr(sch.get(c).reads[0]) == "B_reindex[v_i, v_k]"
    assert [sch.get(rv).name_hint for rv in sch.get_producers(c)] == ["B_reindex_reindex"]


def test_reindex_refuses_two_ways_of_reading():
    A = te.placeholder((8,), name="A")
    B = te.compute((7,), lambda i: A[i] + A[i + 1], name="B")
    sch = Schedule(te.create_prim_func([A, B]))
    with pytest.raises(ScheduleError, match=r"accesses A at several indices: \[v_i\] and \[v_i \+ 1\]"):
        sch.reindex(sch.get_sblock("B"), ("read", 0))


def test_unknown_names_and_places():
    sch = two_stages()
    with pytest.raises(ScheduleError, match="no block is called 'D'"):
        sch.get_sblock("D")
    with pytest.raises(ScheduleError, match="has 1 read regions, there is no 1"):
        sch.reindex(sch.get_sblock("C"), ("read", 1))
    with pytest.raises(ScheduleError, match="'C' is a reduction, which cannot be inlined"):
        sch.compute_inline(sch.get_sblock("C"))
    inlined = sch.get_sblock("B")
    sch.compute_inline(inlined)
    with pytest.raises(ScheduleError, match="not in the function any more"):
        sch.get(inlined)


def test_two_blocks_of_one_name():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="B")
    sch = Schedule(te.create_prim_func([A, C]))
    names = [sch.get(rv).name_hint for rv in sch.get_child_blocks(sch.get_sblock("root"))]
    assert names == ["B", "B_1"]


def test_an_undefined_extent_is_refused():
    n = te.var("n")
    A = te.placeholder((n * 2 + 1, 4), name="A")
    B = te.compute((n * 2 + 1, 4), lambda i, j: A[i, j] + 1.0, name="B")
    with pytest.raises(TirError, match="the variable n is used in the shape of A and defined nowhere around it"):
        Schedule(te.create_prim_func([A, B]))


def test_specialize():
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    B = te.compute((n, 4), lambda i, j: A[n - 1 - i, j] + 1.0, name="B")
    func = te.create_prim_func([A, B, n])
    fixed = func.specialize({n: 16})
    assert [str(buffer.shape[0]) for buffer in fixed.buffer_map.values()] == ["16", "16"]
    block = fixed.body.block.body.body.body.block
    assert repr(block.reads[0]) == "A[16 - v_i - 1, v_j]"
    assert [param.name for param in fixed.params] == ["var_A", "var_B"]
    with pytest.raises(TirError, match="cannot give m a value: it is not a parameter"):
        func.specialize({te.var("m"): 3})


@pytest.mark.parametrize(
    "index, extent",
    [
        (lambda i: te.floormod(0 - i, 2), 1),  # becomes i % -2 * -1
        (lambda i: te.floormod(1 - i, 2), 2),
        (lambda i: te.floordiv(0 - i, 2), 4),
        (lambda i: te.floordiv(i * -1 + 1, 2), 2),
    ],
)
def test_what_falls_within_a_division_is_taken_for_a_read_outside(index, extent):
    """Its interval in TVM is empty, so that no schedule can be made, though the first place read is inside."""
    W = te.compute((extent,), lambda j: te.const(1.0, "float32"), name="W")
    G = te.compute((2,), lambda i: W[index(i)], name="G")
    with pytest.raises(TirError, match="the stage 'G' reads W"):
        Schedule(te.create_prim_func([G]))


A = te.placeholder((8, 8), name="A")
ROWS = te.placeholder((8,), name="I", dtype="int32")


def named(value, body):
    variable = tir.Var("q", value.dtype)
    return tir.Let(variable, value, body(variable))


def twice(i, j):
    square = named(A[i, j], lambda q: q * q)
    return square + square


def outside(i, j):
    variable = tir.Var("q", "float32")
    return tir.Let(variable, A[i, j], variable) + variable


def in_its_own_value(i, j):
    variable = tir.Var("q", "float32")
    return tir.Let(variable, variable + A[i, j], variable)


def test_a_parameter_is_given_once():
    """The real library: TIR is ill-formed, due to multiple nested definitions of variable n."""
    n = te.var("n")
    func = te.create_prim_func([A, n, n, te.compute((8,), lambda i: A[i, 0] + n, name="B")])
    with pytest.raises(tir.TirError, match="the variable n is given twice as a parameter"):
        Schedule(func)


@pytest.mark.parametrize(
    "value, message",
    [
        (twice, "the variable q is defined twice in the stage 'B', by a Let that is used twice"),
        (outside, "the variable q is used in the stage 'B' and defined nowhere around it"),
        (in_its_own_value, "the variable q is used in the stage 'B' and defined nowhere around it"),
        # A Select of it and of minus it.
        (lambda i, j: te.abs(named(ROWS[i], lambda q: q)).astype("float32"), "defined twice in the stage 'B'"),
        # The region read has it.
        (lambda i, j: named(i + 1, lambda q: A[q - 1, j] + A[q, j]), "the variable q is used in the stage 'B'"),
        (lambda i, j: A[named(i, lambda q: q), j], None),
        (lambda i, j: named(A[i, j], lambda q: q * q), None),
        (lambda i, j: named(i, lambda q: A[q, j]), None),
        (lambda i, j: te.if_then_else(named(i, lambda q: q < 3), A[i, j], 0.0), None),
    ],
)
def test_a_let_is_used_once_and_defines_its_body_alone(value, message):
    """Each as the real library answers."""
    func = te.create_prim_func([A, ROWS, te.compute((8, 8), value, name="B")])
    if message is None:
        assert Schedule(func).func is func
        return
    with pytest.raises(TirError, match=message):
        Schedule(func)
