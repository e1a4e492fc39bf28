"""The trace of a search: its figures are the recorded ones of the real carver, its events account for everything."""

from __future__ import annotations

import ast
import heapq
import inspect
import json
import time
from collections import Counter
from dataclasses import FrozenInstanceError, fields

import pytest
from carver.arch import get_arch
from carver.arch.errors import CarverError
from carver.policy import DefaultPolicy, TensorCorePolicy, default
from carver.roller.template import ElementwiseTemplate, MatmulTemplate
from carver.tools import cases, provenance, vendored
from carver.tools.cli import main
from carver.tools.reasons import VENDORED
from carver.tools.search import search_template
from carver.tools.trace import (
    Duplicate,
    Hinted,
    Lines,
    NoHint,
    Pop,
    Push,
    Ranked,
    Reject,
    SearchTrace,
    Start,
    Stop,
    Visit,
    discard,
    summarize,
    to_jsonl,
    trace_search,
)
from landed import landed

A100 = get_arch("a100")
PAIRS = [(item.case["id"], trace, search) for item in landed() for trace, search in item.pairs]


def matmul(device=A100, **sizes):
    return MatmulTemplate(**{"M": 1024, "N": 1024, "K": 1024, **sizes}).with_arch(device)


# ---------------------------------------------------------------------------------------------------------------------
# Against the recordings of the real carver


def test_enough_cases_are_compared() -> None:
    assert sum(bool(item.pairs) for item in landed()) >= 200
    policies = Counter(search["policy"] for _, _, search in PAIRS)
    assert policies["TensorCorePolicy"] >= 80 and policies["DefaultPolicy"] >= 80


def test_every_search_is_traced() -> None:
    for item in landed():
        assert len(item.traces) == len(item.record["searches"]), item.case["id"]


def test_visits_are_the_recorded_ones() -> None:
    for name, trace, search in PAIRS:
        visits = trace.of(Visit)
        rows = [
            [list(v.tile), v.valid, v.traffic, v.smem_cost, v.grid_size, v.block_per_SM, v.num_wave] for v in visits
        ]
        assert rows == search["visited"], name
        assert [visit.index for visit in visits] == list(range(len(visits))), name


def test_start_ranking_and_stop_are_the_recorded_ones() -> None:
    for name, trace, search in PAIRS:
        [start] = trace.of(Start)
        assert list(start.base_tile) == search["base_tile"], name
        assert [rstep for _, rstep in start.rstep] == search["rstep"], name
        assert list(start.shape) == search["nodes"][-1]["space"] or len(search["nodes"]) > 1, name
        [ranked] = trace.of(Ranked)
        assert list(ranked.order) == search["ranked"], name
        [stop] = trace.of(Stop)
        assert stop.visited == len(search["visited"]), name
        assert (stop.reason == "exhausted") == (stop.queued == 0), name


def test_hints_are_the_recorded_ones() -> None:
    compared = 0
    for item in landed():
        hints = item.record.get("hints")
        if not hints:
            continue
        trace, search = item.pairs[-1]
        found = trace.of(Hinted)
        assert len(found) == len(hints), item.case["id"]
        grown = {index: (smem, rsteps) for index, smem, rsteps in search["expanded"]}
        for event, parts, (_, _, hint) in zip(found, hints, trace.found):
            assert cases.plain_hints([hint]) == [parts], item.case["id"]
            index = search["ranked"][event.rank - 1]
            assert list(event.tile) == search["visited"][index][0]
            smem, rsteps = grown.get(index, (search["visited"][index][3], search["rstep"]))
            assert (event.smem_cost, [rstep for _, rstep in event.rstep]) == (smem, rsteps), item.case["id"]
            for (_, said), part in zip(event.hints, parts):
                assert said["block"] == part["block"] and said["rstep"] == part["rstep"]
            compared += 1
    assert compared >= 800


def test_every_invalid_tile_has_a_reason_with_both_numbers() -> None:
    reasons: Counter[str] = Counter()
    for item in landed():
        device = item.case["device"]
        for trace, search in item.pairs:
            rejects = {event.tile: event for event in trace.of(Reject)}
            invalid = [row for row in search["visited"] if not row[1]]
            assert [list(tile) for tile in rejects] == [row[0] for row in invalid], item.case["id"]
            for row in invalid:
                event = rejects[tuple(row[0])]
                assert event.demand > event.limit
                if event.reason == "shared memory":
                    assert (event.demand, event.limit) == (row[3], device["smem_cap"])
                    assert row[4] == -1
                else:
                    assert (event.reason, event.limit) == ("registers", device["reg_cap"])
                    assert row[4] > 0
                reasons[event.reason] += 1
    assert reasons["shared memory"] >= 500 and reasons["registers"] >= 30


def test_every_ranked_tile_is_a_hint_or_has_a_reason() -> None:
    reasons: Counter[str] = Counter()
    for name, trace, search in PAIRS:
        outcomes = [event for event in trace.events if type(event) in (Hinted, NoHint)]
        assert [event.rank for event in outcomes] == list(range(1, len(outcomes) + 1)), name
        assert [list(e.tile) for e in outcomes] == [search["visited"][i][0] for i in search["ranked"][: len(outcomes)]]
        reasons.update(event.reason for event in outcomes if type(event) is NoHint)
    assert reasons["instruction"] >= 500 and reasons["divisibility"] >= 30
    assert reasons["block size"] >= 1 and reasons["grid"] >= 1


def test_the_queue_is_told_exactly() -> None:
    for name, trace, _ in PAIRS:
        queue: list = []
        taken: set = set()
        for event in trace.events:
            if type(event) is Push:
                heapq.heappush(queue, (event.priority, event.tile))
                assert event.queued == len(queue), name
            elif type(event) is Pop:
                assert heapq.heappop(queue) == (event.priority, event.tile), name
                assert event.queued == len(queue), name
                taken.add(event.tile)
            elif type(event) is Visit and event.parent is not None:
                assert event.parent in taken, name
                changed = [i for i, (a, b) in enumerate(zip(event.parent, event.tile)) if a != b]
                assert changed == [event.axis], name
            elif type(event) is Duplicate:
                assert trace.tiles[event.index].output_tile == list(event.tile), name


# ---------------------------------------------------------------------------------------------------------------------
# Off and on


def test_no_trace_by_default_and_none_left_behind() -> None:
    assert DefaultPolicy.trace is None
    search = search_template(matmul(), A100, 3)
    assert search.policy.trace is None
    device = get_arch("a100", compute_max_core=1)
    device.compute_max_core = 0
    policy = DefaultPolicy.from_prim_func(matmul(device).equivalent_function(), device)
    with pytest.raises(CarverError, match="runs no thread block"):
        trace_search(policy)
    assert policy.trace is None


class _WithoutHooks(ast.NodeTransformer):
    """Takes ``if trace is not None: ...`` out of a program."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        names = [part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)]
        return None if "trace" in names else self.generic_visit(node)


def policy_without_hooks() -> type:
    tree = ast.fix_missing_locations(_WithoutHooks().visit(ast.parse(inspect.getsource(default))))
    namespace = {"__name__": "carver.policy.without_hooks", "__package__": "carver.policy"}
    exec(compile(tree, "without_hooks", "exec"), namespace)
    stripped = namespace["DefaultPolicy"]
    methods = {name: stripped.__dict__[name] for name in ("emit_config", "dfs_smem_tile", "compute_tile_dict")}
    return type("WithoutHooks", (DefaultPolicy,), methods)


def test_hooks_cost_nothing_when_off() -> None:
    func = matmul(M=360, N=2520, K=64).equivalent_function()
    kinds = (DefaultPolicy, policy_without_hooks())
    policies = [kind.from_prim_func(func, A100) for kind in kinds]
    starts = [(p.get_base_tile(), {node: p._assign_reduce_step(node) for node in p.ordered_nodes}) for p in policies]
    ranked = [p.dfs_smem_tile(*start) for p, start in zip(policies, starts)]
    assert [td.output_tile for td in ranked[0]] == [td.output_tile for td in ranked[1]]
    assert len(ranked[0]) > 300
    seconds: list[list[float]] = [[], []]
    for _ in range(12):
        for i in (0, 1):
            began = time.process_time()
            policies[i].dfs_smem_tile(*starts[i])
            seconds[i].append(time.process_time() - began)
    # About 1.00 to 1.04 on a quiet machine; the spread of either one is larger.
    assert min(seconds[0]) / min(seconds[1]) < 1.15


def test_the_sink_is_told_as_it_happens() -> None:
    policy = DefaultPolicy.from_prim_func(matmul(M=64, N=64).equivalent_function(), A100)
    seen: list = []
    trace = trace_search(policy, 3, seen.append)
    assert seen == trace.events and len(seen) > 50
    assert SearchTrace(policy).sink is discard
    assert discard(seen[0]) is None


def test_events_are_frozen_and_small() -> None:
    trace = search_template(matmul(M=64, N=64), A100, 1).trace
    for event in trace.events:
        assert not hasattr(event, "__dict__")
        with pytest.raises(FrozenInstanceError):
            setattr(event, fields(event)[0].name, None)


def test_every_field_of_every_event_is_told() -> None:
    """Each class says when it happens, and each field that is not plain from its name says what it is."""
    for kind in (Start, Reject, Visit, Push, Pop, Duplicate, Stop, Ranked, Hinted, NoHint):
        assert kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(")


# ---------------------------------------------------------------------------------------------------------------------
# Counting and writing


def test_summary_of_a_square_matmul() -> None:
    """Of the recorded search of the real carver (1024 cubed, float16, A100)."""
    summary = summarize(search_template(matmul(), A100, 10).trace.events)
    assert (summary.visited, summary.valid, summary.taken, summary.queued) == (97, 80, 80, 0)
    assert summary.rejected == {"shared memory": 17}
    assert (summary.duplicates, summary.longest_queue, summary.priorities) == (64, 16, 70)
    assert summary.improvements[0] == (0, (1, 1), 10025212.0)
    assert summary.improvements[-1] == (24, (64, 64), 270337.0)
    assert summary.ties == ((64, 64),)
    assert (summary.hints, summary.no_hint, summary.stopped) == (10, {}, "exhausted")


def test_reasons_why_none_becomes_a_hint() -> None:
    search = search_template(matmul(M=2048, N=7133, K=2048), A100, 10)
    assert summarize(search.trace.events).no_hint == {"instruction": 53, "divisibility": 10}
    first = search.trace.of(NoHint)[0]
    assert (first.rank, first.demand, first.limit) == (1, 32, 7133)
    assert first.text == "32 does not divide the extent 7133: 29 would be left over"


def test_jsonl_holds_every_event() -> None:
    trace = search_template(matmul(M=2048, N=7133, K=2048), A100, 10).trace
    lines = [json.loads(line) for line in to_jsonl({"template": "matmul"}, [trace])]
    assert lines[0] == {"event": "computation", "template": "matmul"}
    assert len(lines) == len(trace.events) + 1
    kinds = Counter(line["event"] for line in lines)
    assert kinds["visit"] == 79 and kinds["reject"] == 16 and kinds["no hint"] == 63 and kinds["ranked"] == 1
    visit = next(line for line in lines if line["event"] == "visit" and line["tile"] == [1, 2])
    assert visit["parent"] == [1, 1] and visit["axis"] == 1 and visit["priority"] == 208360431.0
    reject = next(line for line in lines if line["event"] == "reject")
    assert reject["demand"] > reject["limit"] == 49152
    assert reject["vendored"] == "carver/roller/policy/default.py:558"


def test_vendored_lines_lie_in_the_functions_that_reject() -> None:
    facts = provenance.read_facts()
    functions = {
        "shared memory": "compute_tile_dict",
        "registers": "compute_tile_dict",
        "instruction": "check_tile_shape_isvalid",
        "divisibility": "check_tile_shape_isvalid",
        "empty": "check_tile_shape_isvalid",
        "grid": "check_tile_shape_isvalid",
        "warp": "_assign_block_size",
        "instruction of the block": "_assign_block_size",
        "warps": "_assign_block_size",
        "split": "_assign_block_size",
        "block size": "assign_block_size",
    }
    assert set(functions) == set(VENDORED)
    for reason, function in functions.items():
        path, line = VENDORED[reason].rsplit(":", 1)
        [entry] = [e for e in facts.files[path] if e.name.endswith(f".{function}")]
        assert entry.first <= int(line) <= entry.last, reason


def test_vendored_lines_are_the_tests_themselves() -> None:
    tree = vendored.find_tree()
    if tree is None or tree.version != vendored.PINNED_VERSION:
        pytest.skip("needs TileLang's sources")
    texts = {
        "shared memory": "td.smem_cost > self.arch.smem_cap",
        "registers": "reg_usage > self.arch.reg_cap",
        "instruction": "all(wmma_invalid)",
        "divisibility": "y % x",
        "empty": "== 0",
        "grid": "node_grid_size != td.grid_size",
        "warp": "block_size % self.arch.warp_size != 0",
        "instruction of the block": "tile[ax_m] < wmma_tile[ax_m]",
        "warps": "space_prod % warps != 0",
        "split": "len(score_map) == 0",
        "block size": "result[node] is None",
    }
    for reason, text in texts.items():
        path, line = VENDORED[reason].rsplit(":", 1)
        assert text in tree.files[path].splitlines()[int(line) - 1], reason


# ---------------------------------------------------------------------------------------------------------------------
# The command

SMALL = ["matmul", "--M", "1024", "--N", "1024", "--K", "1024", "--arch", "a100"]


def test_the_command_prints_each_event(capsys: pytest.CaptureFixture) -> None:
    assert main(["trace", *SMALL, "--width", "80"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "start  TensorCorePolicy, output v0=1024, v1=1024, first tile 1x1"
    assert lines[4] == "                  traffic    smem  blk/SM  waves    priority"
    assert lines[5] == "   0     1x1        4,128     256       4  2,428  10,025,212"
    assert lines[6] == "take 1x1, priority 10,025,212; 0 left in the queue"
    assert lines[7] == "   1  v1 1x2        6,176     384       4  1,214   7,498,878"
    assert "      v1 64x64    seen as 24" in lines
    assert "  40  v1 32x512   rejected: smem 69,632 > 49,152  default.py:558" in lines
    assert "stop after 97 tiles: the queue is empty" in lines
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_lines_fit(columns: int) -> None:
    for item in landed()[::10]:
        for trace, _ in item.pairs:
            for labelled in (False, True):
                lines = Lines(trace, columns, labelled)
                for event in trace.events[:200]:
                    for line in lines.of(event):
                        assert len(line) <= columns or columns == 60, line


def test_the_command_summarizes(capsys: pytest.CaptureFixture) -> None:
    assert main(["trace", *SMALL, "--summary", "--width", "80"]) == 0
    out = capsys.readouterr().out
    assert "visited   97 tiles, 80 valid; ended with an empty queue\n" in out
    assert "rejected  17 for shared memory\n" in out
    assert "best      270,337, alone: 64x64\n" in out
    assert "     24  64x64         270,337       1" in out


def test_the_command_writes_whole_files(tmp_path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "trace.jsonl"
    assert main(["trace", *SMALL, "--jsonl", str(path)]) == 0
    lines = path.read_text().splitlines()
    assert json.loads(lines[0])["parameters"]["M"] == 1024
    assert len(lines) == len(search_template(matmul(), A100, 10).trace.events) + 1
    assert [p.name for p in tmp_path.iterdir()] == ["trace.jsonl"]
    assert capsys.readouterr().out == ""
    assert main(["trace", *SMALL, "--jsonl", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
    assert main(["trace", *SMALL, "--jsonl", str(tmp_path / "none" / "x")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert main(["trace", *SMALL, "--jsonl", "-"]) == 0
    assert capsys.readouterr().out.splitlines() == lines


def test_a_graph_that_falls_back_shows_both_searches(capsys: pytest.CaptureFixture) -> None:
    attention = ["attention", "--num-heads", "16", "--seq-length", "2048", "--head-dim", "64", "--arch", "a100"]
    assert main(["trace", *attention]) == 0
    out = capsys.readouterr().out
    assert out.count("start  TensorCorePolicy") == 1 and out.count("start  DefaultPolicy") == 1
    assert "no tensor cores:" in out and "no hint:" in out


def test_ascii_where_the_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["trace", *SMALL, "--summary", "--width", "80"]) == 0
    sys.stdout.flush()
    assert b"####" in raw.getvalue()


@pytest.mark.parametrize("width", ["0", "-5", "12", "wide", "99999"])
def test_bad_widths_are_one_line(width: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["trace", *SMALL, "--width", width])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_search_that_stops_at_the_cap() -> None:
    template = ElementwiseTemplate(shape=(5040, 5040, 720), dtype="float16").with_arch(A100)
    trace = search_template(template, A100, 1).trace
    [stop] = trace.of(Stop)
    assert stop.reason == "cap" and 2001 <= stop.visited < 2010 and stop.queued > 0
    text = f"stop after {stop.visited:,} tiles: more than 2000, {stop.queued} left in the queue"
    assert Lines(trace, 100).of(stop) == [text]


def test_priorities_that_wrap_around(capsys: pytest.CaptureFixture) -> None:
    """The grid of 2**40 by 2**40 tiles of 1 is 0 in 64 bits, in carver as well: no priority to divide by."""
    sizes = ["--M", str(2**40), "--N", str(2**40), "--K", "64"]
    assert main(["trace", "matmul", *sizes, "--arch", "a100", "--summary", "--width", "80"]) == 0
    assert "      0  1x1               0       -\n" in capsys.readouterr().out
    assert main(["explain", "matmul", *sizes, "--arch", "a100", "--tile", "1", "1", "--width", "200"]) == 0
    assert "= 0 blocks, as the product wraps around at 64 bits\n" in capsys.readouterr().out


def test_no_search_no_events() -> None:
    assert TensorCorePolicy.trace is None
    trace = SearchTrace(DefaultPolicy.from_prim_func(matmul().equivalent_function(), A100))
    assert trace.begin is None and "not stopped" in repr(trace)
