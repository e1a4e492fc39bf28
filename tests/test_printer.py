"""print(func): the text of every program of te_programs.py is what the real TVM prints (tests/data/te_scripts.json)."""

import json
from pathlib import Path

import pytest
import te_programs
from carver.roller import tir
from carver.roller.tir import te
from carver.roller.tir.expr import TirError
from carver.roller.tir.stmt import IfThenElse
from te_programs import make, programs

RECORD = json.loads((Path(__file__).parent / "data" / "te_scripts.json").read_text())
SCRIPTS = RECORD["scripts"]


def test_the_recording_covers_the_programs():
    assert RECORD["tilelang"] == "0.1.15"
    assert set(SCRIPTS) == set(programs())
    assert sum(isinstance(script, dict) for script in SCRIPTS.values()) == 24


@pytest.mark.parametrize("name", sorted(name for name, script in SCRIPTS.items() if isinstance(script, str)))
def test_script_is_tvms(name):
    assert make(programs()[name], te, tir).script() == SCRIPTS[name]


@pytest.mark.parametrize("name", sorted(name for name, script in SCRIPTS.items() if isinstance(script, dict)))
def test_what_tvm_refuses_is_refused(name):
    # TVM raises InternalError, TypeError, ValueError or RuntimeError; the port has one kind of error for wrong input.
    with pytest.raises(TirError):
        make(programs()[name], te, tir)


def test_print_and_repr_are_the_script():
    func = make(te_programs.p_matmul, te, tir)
    assert str(func) == repr(func) == func.script()


def test_names_are_free_again_after_their_scope():
    # Both loop nests have i, j and v_i, v_j; the two buffers called B do not.
    A = te.placeholder((4, 4), name="B")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 4), lambda i, j: B[i, j] + 1.0, name="C")
    text = te.create_prim_func([A, C]).script()
    assert text.count("for i, j in T.grid(4, 4):") == 2
    assert text.count('v_i, v_j = T.axis.remap("SS", [i, j])') == 2
    assert "B_1 = T.sblock_alloc_buffer((4, 4))" in text
    assert "B_1[v_i, v_j] = B[v_i, v_j] + T.float32(1.0)" in text


def test_branch_statement():
    func = make(te_programs.p_fewer_args, te, tir)
    loop = func.body.block.body
    realize = loop.body
    store = realize.block.body
    branch = IfThenElse(realize.block.iter_vars[0].var < 3, store, store)
    block = realize.block.replace(body=branch)
    changed = type(loop)(loop.loop_var, loop.min, loop.extent, tir.SBlockRealize(realize.iter_values, True, block))
    text = func.with_body(tir.SBlockRealize((), True, func.body.block.replace(body=changed))).script()
    assert "            if v_i < 3:\n                T_1[v_i] =" in text
    assert "            else:\n                T_1[v_i] =" in text
