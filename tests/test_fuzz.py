"""The fuzzer: programs as data, drawing, shrinking, counting. A stand-in plays the real carver."""

from __future__ import annotations

import copy
import ctypes
import json
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from carver.arch.errors import CarverError
from carver.roller.tir import te
from carver.tools import (
    cases,
    cli,
    fuzz,
    fuzz_draw,
    fuzz_expressions,
    fuzz_kernels,
    fuzz_programs,
    fuzz_shrink,
    recording,
    z3_budget,
)
from carver.tools.fuzz_programs import SpecError

EXPRESSIONS = Path(__file__).parent / "data" / "fuzz_expressions.jsonl"

# relu(A B + bias) with B transposed.
PRODUCT = {
    "inputs": [["A", [64, 32], "float16"], ["B", [48, 32], "float16"], ["Bias", [48], "float32"]],
    "stages": [
        {
            "name": "C",
            "axes": [["i", 64], ["j", 48]],
            "op": "sum",
            "reduce": [["k", 0, 32]],
            "values": [
                ["mul", ["cast", "float32", ["read", "A", ["i", "k"]]], ["cast", "float32", ["read", "B", ["j", "k"]]]]
            ],
        },
        {
            "name": "D",
            "axes": [["i", 64], ["j", 48]],
            "values": [["max", ["add", ["read", "C", ["i", "j"]], ["read", "Bias", ["j"]]], ["const", 0, "float32"]]],
        },
    ],
    "outputs": ["D"],
}


def by_hand():
    """The same program, written with te."""
    A = te.placeholder((64, 32), name="A", dtype="float16")
    B = te.placeholder((48, 32), name="B", dtype="float16")
    Bias = te.placeholder((48,), name="Bias", dtype="float32")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute(
        (64, 48), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C"
    )
    D = te.compute((64, 48), lambda i, j: te.max(C[i, j] + Bias[j], te.const(0, "float32")), name="D")
    return te.create_prim_func([A, B, Bias, D])


@pytest.fixture(scope="module")
def port():
    return cases.port_backend()


@pytest.fixture(scope="module")
def devices():
    return fuzz.load_devices()


def case_of(spec: dict, devices, **changes) -> dict:
    computation = {"workload": "random_program", "params": {"spec": spec}}
    return {"id": "case", "computation": computation, "device": devices.device("a100"), "topk": 2, **changes}


# ---------------------------------------------------------------------------------------------------------------------
# Programs as data


def test_a_program_as_data_is_the_program():
    assert str(fuzz_programs.build_program(te, PRODUCT)) == str(by_hand())


def test_every_operation_builds():
    """Each is used once; what they mean is te's business."""
    i, x = "i", ["read", "A", ["i"]]
    integers = [
        ["floordiv", i, 2],
        ["floormod", i, 2],
        ["truncdiv", i, 2],
        ["truncmod", i, 2],
        ["max", i, 3],
        ["min", i, 3],
    ]
    integers += [
        ["shl", i, 1],
        ["shr", i, 1],
        ["band", i, 1],
        ["bor", i, 1],
        ["bxor", i, 1],
        ["add", 1, 2],
        ["sub", 2, i],
    ]
    conditions = [[op, i, 3] for op in ("eq", "ne", "lt", "le", "gt", "ge")]
    conditions += [["and", conditions[0], conditions[1]], ["or", conditions[0], conditions[1]], ["not", conditions[0]]]
    value = ["div", ["mul", x, ["const", 2, "float32"]], ["const", 0.5, "float32"]]
    for integer in integers:
        value = ["add", value, ["cast", "float32", integer]]
    calls: object = ["reinterpret", "float32", ["let", "word", ["limit", "max_value", "int32"], "word"]]
    for name in fuzz_programs.CALLS:
        argument = {"popcount": ["cast", "int32", x], "likely": conditions[0]}.get(name, x)
        arguments = [x, ["const", 2, "float32"]] if name in fuzz_programs.BINARY_CALLS else [argument]
        calls = ["add", ["cast", "float32", ["call", name, *arguments]], calls]
    values = [value, calls, *(["if", c, x, ["select", c, x, ["const", 1, "float32"]]] for c in conditions)]
    used = {name for name in fuzz_programs.OPERATIONS if f"'{name}'" in repr(values)}
    assert used == set(fuzz_programs.OPERATIONS)
    stage = {"name": "B", "axes": [["i", 8]], "values": values}
    spec = {"inputs": [["A", [8], "float32"]], "stages": [stage], "outputs": ["B.0"]}
    assert fuzz_programs.build_program(te, spec).params[0].name == "var_A"
    assert "A[i]" in fuzz_programs.show_program(spec)[1]


@pytest.mark.parametrize("op", fuzz_programs.REDUCTIONS)
def test_reductions(op):
    dtype = "bool" if op == "any" else "float32"
    values = [["read", "A", ["i", "k"]]] * fuzz_programs.REDUCED_VALUES.get(op, 1)
    stage = {"name": "B", "axes": [["i", 8]], "op": op, "reduce": [["k", 0, 4]], "values": values}
    output = "B" if len(values) == 1 else "B.1"
    spec = {"inputs": [["A", [8, 4], dtype]], "stages": [stage], "outputs": [output]}
    assert "T.init" in str(fuzz_programs.build_program(te, spec))


def test_several_values_symbolic_extents_and_attributes():
    pair = {"name": "P", "axes": [["i", "N"]], "op": "argmax", "reduce": [["k", 1, ["sub", 9, 1]]]}
    pair.update(values=["k", ["read", "A", ["i", "k"]]], where=["lt", "k", 5])
    both = {"name": "Q", "axes": [["i", "N"]], "values": [["read", "P.0", ["i"]], ["read", "P.1", ["i"]]]}
    spec = {
        "variables": [["N", "int32"]],
        "inputs": [["A", ["N", ["int64", 9]], "float32"]],
        "stages": [pair, both],
        "outputs": ["Q.0", "Q.1"],
        "attrs": {"opt_shapes": {"N": 16}, "input_transform_kind": 0},
    }
    func, attrs = fuzz_programs.build_program(te, spec)
    assert [param.name for param in func.params] == ["N", "var_A", "var_Q.v0", "var_Q.v1"]
    assert attrs["opt_shapes"]["N"].value == 16 and attrs["input_transform_kind"] == 0


def changed(path: tuple, value) -> dict:
    spec = copy.deepcopy(PRODUCT)
    place = spec
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return spec


def deep(depth: int) -> list:
    e: object = 1
    for _ in range(depth):
        e = ["add", e, 1]
    return e


VALUE = ("stages", 0, "values", 0)


@pytest.mark.parametrize(
    "spec, message",
    [
        ([], "a program is an object"),
        ({"inputs": []}, "a program has"),
        ({**PRODUCT, "code": "import os"}, "a program has"),
        (changed(("inputs", 0, 2), "float17"), "an input is name, shape, dtype"),
        (changed(("inputs", 1, 0), "A"), "tensor A twice"),
        (changed(("inputs", 0, 0), "A; import os"), "an input is name, shape, dtype"),
        (changed(("outputs",), []), "a program has an output"),
        (changed(("outputs",), ["E"]), "output 'E' is no tensor"),
        (changed(("stages", 0, "op"), "__import__"), "unknown reduction"),
        (changed(("stages", 0, "reduce"), []), "reduces over nothing"),
        (changed(("stages", 0, "axes", 1), ["i", 48]), "an axis name twice"),
        (changed(("stages", 0, "other"), 1), "unknown keys"),
        (changed(("stages", 0, "op"), "moments"), "wrong number of values"),
        (changed(VALUE, ["let", "i", 1, "i"]), "let takes a new name"),
        (changed(VALUE, ["let", "word", "word", "i"]), "unknown name 'word'"),
        (changed(VALUE, ["limit", "__class__", "int8"]), "malformed limit"),
        (changed(VALUE, ["reinterpret", "float17", "i"]), "reinterpret takes a dtype"),
        ({**PRODUCT, "index_dtype": "float32"}, "index_dtype is int32 or int64"),
        ({**PRODUCT, "attrs": {"tensorcore_config": "code"}}, "tensorcore_config is a short list"),
        ({**PRODUCT, "attrs": {"intrin_info": {"code": 1}}}, "intrin_info has"),
        (changed(VALUE, "__class__"), "unknown name '__class__'"),
        (changed(VALUE, ["__class__", 1]), "unknown operation"),
        (changed(VALUE, ["call", "eval", "i"]), "malformed call"),
        (changed(VALUE, ["call", ["exp"], "i"]), "malformed call"),
        (changed(VALUE, ["read", "D", ["i", "j"]]), "read of an unknown tensor"),
        (changed(VALUE, ["read", "A", ["i"]]), "A takes 2 indices"),
        (changed(VALUE, ["add", "i"]), "add takes 2 operands"),
        (changed(VALUE, ["const", 1e99, "float32"]), "const takes a number"),
        (changed(VALUE, ["const", True, "bool"]), "const takes a number"),
        (changed(VALUE, 1 << 70), "number out of range"),
        (changed(VALUE, 1.5), "malformed expression"),
        (changed(VALUE, []), "malformed expression"),
        (changed(VALUE, deep(60)), "expressions too large"),
        (changed(("stages", 0, "axes"), [[f"i{n}", 2] for n in range(50)]), "lacks axes"),
        (changed(("inputs", 0, 1), ["k", 32]), "unknown name 'k'"),
        ({**PRODUCT, "attrs": {"opt_shapes": {"N": "1"}}}, "opt_shapes is names with numbers"),
        ({**PRODUCT, "attrs": {"layout": "code"}}, "attribute layout is a number"),
    ],
)
def test_what_is_no_program_is_refused(spec, message):
    with pytest.raises(SpecError, match=message):
        fuzz_programs.build_program(te, spec)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"edges": [[1, 0, 0, 0]]}, "from a node to a later one"),
        ({"edges": [[0, 1, 0]]}, "an edge is four numbers"),
        ({"outputs": [2]}, "outputs is nodes"),
        ({"nodes": []}, "short lists"),
        ({"nodes": [{"name": "a", "program": PRODUCT}]}, "a node has"),
        ({"nodes": [{"name": "a", "program": PRODUCT, "tensor_cores": False, "tags": {"a": "code"}}]}, "is a number"),
    ],
)
def test_what_is_no_graph_is_refused(change, message):
    node = {"name": "a", "program": PRODUCT, "tensor_cores": False}
    with pytest.raises(SpecError, match=message):
        fuzz_programs.check_graph({"nodes": [node, node], "edges": [], "outputs": [0], **change})


# ---------------------------------------------------------------------------------------------------------------------
# Drawing


@pytest.mark.parametrize("kind", ["program", "graph"])
def test_drawn_cases_are_cases_and_the_same_again(kind, devices, port):
    refused = 0
    for index in range(60):
        case = fuzz_draw.draw_case(7, index, kind, devices)
        assert case == fuzz_draw.draw_case(7, index, kind, devices)
        case = recording.check_case(json.loads(json.dumps(case)))
        spec = case["computation"]["params"]["spec"]
        (fuzz_programs.check_program if kind == "program" else fuzz_programs.check_graph)(spec)
        for program in [spec] if kind == "program" else [node["program"] for node in spec["nodes"]]:
            try:
                fuzz_programs.build_program(te, program)
            except CarverError:
                refused += 1
    assert refused <= 10
    assert fuzz_draw.draw_case(7, 0, kind, devices) != fuzz_draw.draw_case(8, 0, kind, devices)


def test_what_is_drawn_covers_the_language(devices):
    text = json.dumps([fuzz_draw.draw_case(3, index, "program", devices) for index in range(600)])
    words = ("floordiv", "floormod", "truncdiv", "if", "select", "argmax", "where", "int64", "opt_shapes", "shr")
    words += ("let", "limit", "reinterpret", "not", "argmin", "moments", "index_dtype", "tensorcore_config")
    for word in words:
        assert f'"{word}"' in text, word
    for dtype in ("float16", "float64", "bfloat16", "int8", "float8_e4m3fn", "int4"):
        assert f'"{dtype}"' in text, dtype
    for name in ("sm_70", "sm_90", "gfx942", "gfx1100", "tensorcore_only"):
        assert f'"{name}"' in text, name


@pytest.mark.parametrize("kernel", sorted({kernel.__name__ for kernel in fuzz_kernels.KERNELS}))
def test_programs_of_known_kinds_build(kernel):
    for seed in range(20):
        drawing = fuzz_draw.Drawing(Random(seed), "mixed")
        drawing.wild = False
        getattr(fuzz_kernels, kernel)(drawing)
        assert fuzz_programs.show_program(drawing.spec())
        fuzz_programs.build_program(te, drawing.spec())


def test_drawn_expressions_are_the_same_again():
    drawn = [fuzz_expressions.draw_case(7, index) for index in range(200)]
    assert drawn == [fuzz_expressions.draw_case(7, index) for index in range(200)]
    for case in drawn:
        assert len(fuzz_expressions.port_answers(case)) == len(case["queries"])
    assert {"iters" in case for case in drawn} == {True, False}


# ---------------------------------------------------------------------------------------------------------------------
# Recorded expressions: each is a kind of difference that was found


def recorded_expressions() -> list:
    return [json.loads(line) for line in EXPRESSIONS.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("entry", recorded_expressions(), ids=lambda entry: entry["case"]["id"])
def test_expressions_that_differed_once(entry):
    """`answers` are the real library's."""
    case = entry["case"]
    ours = json.loads(json.dumps(fuzz_expressions.port_answers(case)))
    assert fuzz_expressions.compare(case, ours, {"answers": [entry["answers"]]})[0] in ("equal", "refused")


# ---------------------------------------------------------------------------------------------------------------------
# Comparing, with a stand-in for the real carver


class StandIn(fuzz.BothSides):
    """The port on both sides; `alter` changes what the real one says."""

    def __init__(self, alter=lambda answer: answer, limit: float = 20.0) -> None:
        self.limit = limit
        self.devices = fuzz.load_devices()
        self.port = cases.port_backend()
        self.alter = alter

    def ask(self, question: dict):
        if "expressions" in question:
            answers = [fuzz_expressions.port_answers(case) for case in question["expressions"]]
            reply = {"id": question["id"], "answers": json.loads(json.dumps(answers)), "seconds": 0.0}
        else:
            record, seconds = cases.record_case(self.port, question)
            reply = {"id": question["id"], "record": json.loads(json.dumps(record)), "seconds": seconds}
        answer = self.alter(reply)

        class Done:
            def result(self):
                return answer

        return Done()

    def ask_patiently(self, question: dict) -> dict:
        return self.ask(question).result()


def outcome(sides: fuzz.BothSides, case: dict) -> str:
    return sides.compare(case)[0]


def test_agreement_is_counted_by_what_came_out(devices):
    sides = StandIn()
    assert outcome(sides, case_of(PRODUCT, devices)) == "hints"
    gather = changed(("stages", 1, "values", 0), ["read", "Bias", [["cast", "int32", ["read", "C", ["i", "j"]]]]])
    assert outcome(sides, case_of(gather, devices)) == "refused"
    assert outcome(sides, case_of([], devices)) == "refused"


def test_failures_are_told_apart(devices, monkeypatch):
    case = case_of(PRODUCT, devices)

    def traffic(answer):
        answer["record"]["searches"][0]["visited"][0][2] += 1
        return answer

    assert outcome(StandIn(traffic), case) == "differ"
    assert outcome(StandIn(lambda answer: {"failed": "the process died"}), case) == "real died"
    assert outcome(StandIn(lambda answer: {"failed": "time limit of 20 s"}), case) == "real time"

    def broken(*_):
        raise KeyError("a fault of the port")

    sides = StandIn()
    pending = sides.ask(case)
    monkeypatch.setattr(sides, "ask", lambda question: pending)
    monkeypatch.setattr(cases, "run_case", broken)
    assert outcome(sides, case) == "fault"

    def refused(answer):
        return {**answer, "record": {"searches": [], "error": {"type": "ValueError", "message": "no hints"}}}

    refusing = StandIn(refused)
    pending = refusing.ask(case)  # refused by the real carver, and then by an error of Python's on the port's side
    monkeypatch.setattr(refusing, "ask", lambda question: pending)
    for error in (ValueError("x not in list"), AttributeError("no attribute"), RecursionError("too deep")):

        def unforeseen(*_, error=error):
            raise error

        monkeypatch.setattr(cases, "run_case", unforeseen)
        assert outcome(refusing, case) == "fault"

    def slow(*_):
        while True:
            pass

    monkeypatch.setattr(cases, "run_case", slow)
    sides.limit = 0.1
    assert outcome(sides, case) == "port time"


def test_a_failing_program_is_shrunk_to_its_core(devices, capsys):
    """The stand-in differs wherever a program divides an index."""

    def alter(answer):
        return answer

    class Differs(StandIn):
        def compare(self, case):
            divides = "floordiv" in json.dumps(case["computation"])
            return ("differ", ["a difference"], (0, 0.0, 0.0)) if divides else ("hints", [], (0, 0.0, 0.0))

    sides = Differs(alter)
    drawn = next(
        index
        for index in range(1000)
        if "floordiv" in json.dumps(fuzz_draw.draw_case(1, index, "program", sides.devices)["computation"])
    )
    result = fuzz.run_task(sides, fuzz.Task("program", 1, drawn), shrinking=20.0)
    assert result.counts == {"differ": 1}
    failure = result.failures[0]
    assert failure.name == f"program-1-{drawn}" and failure.shrunk["id"] == f"fuzz-program-1-{drawn}"
    spec = failure.shrunk["computation"]["params"]["spec"]
    assert fuzz_shrink.size(spec)[0] <= 22, spec
    assert failure.shrunk["device"] == sides.plain_device() and failure.shrunk["topk"] == 1
    recording.check_case(failure.shrunk)
    parser = cli.Parser()
    fuzz.add_arguments(parser)
    fuzz.print_failure(failure, parser.parse_args([]))
    printed = capsys.readouterr().out
    assert "a difference" in printed and json.loads(printed.splitlines()[-1]) == failure.shrunk


def test_shrinking_a_graph_keeps_it_a_graph(devices):
    case = next(
        case
        for case in (fuzz_draw.draw_case(2, index, "graph", devices) for index in range(100))
        if len(case["computation"]["params"]["spec"]["nodes"]) >= 3
    )

    def fails(candidate: dict) -> bool:
        spec = candidate["computation"]["params"]["spec"]
        try:
            fuzz_programs.check_graph(spec)
        except SpecError:
            return False
        return len(spec["edges"]) >= 1

    smaller, tried = fuzz_shrink.shrink(case, fails, devices.device("a100"), attempts=3000, seconds=20.0)
    spec = smaller["computation"]["params"]["spec"]
    assert len(spec["nodes"]) == 2 and len(spec["edges"]) == 1 and tried > 5


def test_expressions_are_compared_and_shrunk():
    def alter(reply):
        for answers in reply["answers"]:
            for position, answer in enumerate(answers):
                if answer == ["i", "int32", 0]:
                    answers[position] = ["i", "int32", 1]
        return reply

    agree = fuzz.run_expressions(StandIn(), fuzz.Task("expression", 5, 0, 50))
    assert sum(agree.counts.values()) == 50 and set(agree.counts) <= {"equal", "refused"}
    differ = fuzz.run_expressions(StandIn(alter), fuzz.Task("expression", 5, 0, 300))
    assert 0 < differ.counts["differ"] == len(differ.failures)
    for failure in differ.failures:
        assert fuzz_expressions.measure(failure.shrunk) <= fuzz_expressions.measure(failure.case)
        assert failure.shrunk_drifts


def test_one_expression_that_crashes_the_real_side_is_found():
    class Crashes(StandIn):
        def ask(self, question):
            if any(case["id"] == "expression-5-3" for case in question["expressions"]):
                self.alter = lambda reply: {"failed": "the process died"}
            else:
                self.alter = lambda reply: reply
            return super().ask(question)

    result = fuzz.run_expressions(Crashes(), fuzz.Task("expression", 5, 0, 8))
    assert result.counts["real died"] == 1 and sum(result.counts.values()) == 8


def test_what_the_real_solver_proves_given_time_is_no_failure(devices):
    """The real carver is asked again with a larger budget for its solver; it may say what the port says, or not."""

    def alter(reply):
        if "answers" in reply:
            return {**reply, "answers": [["none"] * len(answers) for answers in reply["answers"]]}
        return {**reply, "record": {**reply["record"], "hints": []}}

    class Patient(StandIn):
        def ask_patiently(self, question):
            return StandIn.ask(self.given, question).result()

    program = json.loads(json.dumps(fuzz_draw.draw_case(3, 1, "program", devices)))
    sides = Patient(alter)
    for given, expected in ((StandIn(), "gave up"), (StandIn(alter), "differ")):
        sides.given = given
        result = fuzz.run_expressions(sides, fuzz.Task("expression", 5, 0, 2), 0.0)
        assert result.counts == {expected: 2} and len(result.failures) == (2 if expected == "differ" else 0)
        assert outcome(sides, program) == expected
    sides.ask_patiently = lambda question: {"id": question["id"], "failed": "it cannot be started"}
    assert fuzz.run_expressions(sides, fuzz.Task("expression", 5, 0, 2), 0.0).counts == {"differ": 2}
    assert outcome(sides, program) == "differ"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads 64-bit ELF files")
def test_imported_functions_of_a_library_are_found():
    library = ctypes.CDLL(np.random.mtrand.__file__)
    places = dict(z3_budget.imported_functions(library))
    assert places[b"PyErr_Occurred"] and len(places) > 20


# ---------------------------------------------------------------------------------------------------------------------
# The command


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--n", "-1"], "--n -1: a count cannot be negative"),
        (["--n", "0"], "nothing to do"),
        (["--jobs", "0"], "--jobs 0: must be positive"),
        (["--limit", "nan"], "--limit nan: must be"),
        (["--only", "matmul-3"], "--only matmul-3: give program-I"),
        (["--save", "/no/such/folder"], "--save /no/such/folder: no such directory"),
        (["--cases", "/no/such/file"], "/no/such/file: no such"),
    ],
)
def test_wrong_arguments_end_in_one_line(arguments, message, capsys):
    assert cli.main(["fuzz", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_huge_counts_cost_nothing_before_they_are_reached():
    parser = cli.Parser()
    fuzz.add_arguments(parser)
    total, tasks = fuzz.tasks_of(parser.parse_args(["--n", str(10**15)]))
    assert total == 10**15 and next(iter(tasks)) == fuzz.Task("program", 0, 0)


def test_the_summary_counts_and_the_failures_are_saved(tmp_path, monkeypatch, capsys):
    def wrong(answer):
        if "record" in answer and answer["record"]["searches"]:
            answer["record"]["searches"][0]["base_tile"] = [99]
        return answer

    monkeypatch.setattr(fuzz, "BothSides", lambda python, limit: StandIn(wrong, limit))
    monkeypatch.setattr(StandIn, "close", lambda self: None, raising=False)
    command = ["fuzz", "--n", "3", "--expressions", "20", "--seed", "9", "--python", "python", "--shrink", "0.2"]
    assert cli.main([*command, "--save", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "3 programs of seed 9" in printed and "differ" in printed and "20 expressions of seed 9" in printed
    saved = recording.read_cases(tmp_path / "programs.jsonl")
    assert 1 <= len(saved) <= 3
    monkeypatch.setattr(fuzz, "BothSides", lambda python, limit: StandIn(limit=limit))
    assert cli.main(["fuzz", "--cases", str(tmp_path / "programs.jsonl"), "--python", "python"]) == 0


def test_numbers_are_drawn_alike_whatever_was_drawn_before(devices):
    Random(1).random()
    first = fuzz_draw.draw_case(1, 5, "program", devices)
    fuzz_draw.draw_case(1, 4, "program", devices)
    assert fuzz_draw.draw_case(1, 5, "program", devices) == first
