"""The audit of a search: every tile of its lattice, priced as the real carver was recorded to price them."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import pytest
from carver.arch import get_arch
from carver.arch.errors import CarverError
from carver.roller.template import ElementwiseTemplate, MatmulTemplate
from carver.tools.audit import Findings, audit_lines, audit_search, price_lattice
from carver.tools.cli import main
from carver.tools.search import search_template
from carver.tools.trace import NoHint, Start, trace_search
from landed import landed

A100 = get_arch("a100")
SMALL = ["audit", "matmul", "--M", "1024", "--N", "1024", "--K", "1024", "--arch", "a100"]


def audit(template, device=A100, **more):
    search = search_template(template, device, 1)
    return audit_search(search.policy, search.trace, **more)


def matmul(**sizes):
    return MatmulTemplate(**{"M": 1024, "N": 1024, "K": 1024, **sizes}).with_arch(A100)


def test_the_lattice_agrees_with_the_recordings() -> None:
    """Each recorded tile has the recorded priority there, each invalid one is rejected; the rest is never visited."""
    compared = set()
    for item in landed():
        for trace, search in item.pairs:
            begin: Start = trace.begin
            if math.prod(map(len, begin.steps)) > 300:
                continue
            lattice = price_lattice(trace.policy, begin)
            for tile, valid, traffic, _, _, _, waves in search["visited"]:
                where = (item.case["id"], tile)
                assert lattice.valid.get(tuple(tile)) == ((traffic + 1) * waves if valid else None), where
            assert sum(lattice.rejected.values()) + len(lattice.valid) == lattice.tiles, item.case["id"]
            for event in trace.of(NoHint):
                if event.reason != "block size":
                    assert lattice.refused[event.tile].reason == event.reason, (item.case["id"], event.tile)

            found = audit_search(trace.policy, trace)
            visited_valid = [row for row in search["visited"] if row[1]]
            assert found.visited == len(search["visited"])
            assert found.valid.tiles - found.valid.never_visited == len(visited_valid), item.case["id"]
            if search["ranked"]:
                first = search["visited"][search["ranked"][0]]
                assert list(found.valid.search_best) == first[0], item.case["id"]
                assert found.valid.search_priority == (first[2] + 1) * first[6], item.case["id"]
                assert found.valid.best_priority <= found.valid.search_priority
            else:
                assert found.valid.search_best is None
            compared.add(item.case["id"])
    assert len(compared) >= 200


def test_audit_of_a_square_matmul() -> None:
    """The search's part of it is recorded: 97 visited, 80 valid, best 64x64."""
    found = audit(matmul())
    assert (found.lattice, found.visited, found.stopped) == (121, 97, "exhausted")
    assert found.rejected == {"shared memory": 41} and found.refused == {"instruction": 56}
    assert (found.valid.tiles, found.valid.never_visited, found.valid.priorities) == (80, 0, 70)
    assert (found.valid.best, found.valid.best_priority, found.valid.best_visited) == (((64, 64),), 270337.0, 1)
    assert found.usable.tiles == 24 and found.usable.is_found
    # With at least 16 along either axis rows and columns cost the same.
    [exchange] = found.usable.exchanges
    assert (exchange.axes, exchange.pairs, exchange.equal) == (("v0", "v1"), 10, 10)
    assert [(axis.steps, axis.equal) for axis in found.usable.axes] == [(19, 0), (19, 0)]


def test_no_tile_left_for_the_tensor_cores() -> None:
    found = audit(matmul(M=2048, N=7133, K=2048))
    assert found.valid.is_found and not found.usable.is_found
    assert found.usable == Findings(0, 0, 0, None, (), 0, None, None, found.usable.axes, found.usable.exchanges)
    assert sum(found.refused.values()) == found.valid.tiles == 63


def test_ties_at_the_top() -> None:
    found = audit(ElementwiseTemplate(shape=(1024, 1024), dtype="float16").with_arch(A100))
    assert found.valid.best == ((1, 128), (2, 64)) and found.valid.best_visited == 2
    assert found.valid.search_best == (1, 128)
    assert "ties  2 tiles share the top priority" in "\n".join(audit_lines(found, 80))


class _Flat:
    """Stands in for a policy whose prices do not depend on the second axis."""

    trace = None
    ordered_nodes: list = []

    def __init__(self) -> None:
        from carver.tools.trace import SearchTrace

        self.seen = SearchTrace(self)
        steps = ((1, 2, 4), (1, 2, 4))
        self.seen.events.append(Start("DefaultPolicy", ("i", "j"), (4, 4), (1, 1), steps, ()))
        self.seen.stopped = "cap"

    def compute_tile_dict(self, tile, rstep_map):
        from carver.roller.hint import TileDict

        td = TileDict(tile)
        td.traffic, td.num_wave, td.grid_size = 16 // tile[0], 1, 1
        return td

    def check_tile_shape_isvalid(self, td) -> bool:
        return True


def test_an_axis_that_cannot_be_told_apart_and_a_best_never_visited() -> None:
    policy = _Flat()
    for tile in ([1, 1], [1, 2], [2, 1]):
        policy.seen.tiles.append(policy.compute_tile_dict(tile, {}))
        policy.seen.index_of[tuple(tile)] = len(policy.seen.tiles) - 1
    policy.seen.ranking = [policy.seen.tiles[2], policy.seen.tiles[0], policy.seen.tiles[1]]
    found = audit_search(policy, policy.seen)
    assert found.valid.best == ((4, 1), (4, 2), (4, 4)) and found.valid.best_visited == 0
    assert not found.valid.is_found and found.valid.never_visited == 6
    assert (found.valid.search_best, found.valid.search_priority, found.valid.best_priority) == ((2, 1), 9, 5)
    i, j = found.valid.axes
    assert i.is_told_apart and not j.is_told_apart
    assert j.tied_alone and not i.tied_alone
    text = "\n".join(audit_lines(found, 80))
    assert "found  no, its best is 2x1, priority 9, 1.8 times the best" in text
    [row] = [line.split() for line in text.splitlines() if line.startswith("  j ")]
    assert row[:3] == ["j", "6", "6"] and " ".join(row[3:]) == "the model cannot tell it apart; top ties differ"
    assert "6 never visited" in text and "more than 2000 were seen" in text


def test_a_search_cut_short_is_caught() -> None:
    """A search that stops at the cap leaves valid tiles of its lattice unvisited."""
    template = ElementwiseTemplate(shape=(5040, 720), dtype="float16").with_arch(A100)
    search = search_template(template, A100, 1)
    full = audit_search(search.policy, search.trace)
    assert full.valid.never_visited == 0
    from carver.policy import default

    limit, default.MAX_VISITED_TILES = default.MAX_VISITED_TILES, 20
    try:
        short = audit_search(search.policy, trace_search(search.policy, 1))
    finally:
        default.MAX_VISITED_TILES = limit
    assert short.stopped == "cap" and short.visited in (21, 22, 23)
    assert short.valid.tiles == full.valid.tiles and short.valid.best == full.valid.best
    assert short.valid.never_visited == full.valid.tiles - short.visited


def test_the_limit_is_polite(capsys: pytest.CaptureFixture) -> None:
    assert main([*SMALL, "--limit", "120"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == (
        "carver: the lattice has 121 tiles (11 x 11 steps), more than the limit of 120; --limit 121 allows them\n"
    )
    assert main([*SMALL, "--limit", "121"]) == 0
    # By default 20,000, and that without pricing one of them.
    template = ElementwiseTemplate(shape=(5040, 5040, 720), dtype="float16").with_arch(A100)
    search = search_template(template, A100, 1)
    search.policy.compute_tile_dict = None
    with pytest.raises(CarverError, match="115,351 tiles"):
        audit_search(search.policy, search.trace)


def test_progress_goes_to_a_terminal_only(capsys: pytest.CaptureFixture) -> None:
    assert main(SMALL) == 0
    assert capsys.readouterr().err == ""
    told: list = []
    audit(matmul(), progress=lambda done, count: told.append((done, count)))
    assert told == [(0, 121), (100, 121), (121, 121)]


def test_the_command(capsys: pytest.CaptureFixture) -> None:
    assert main([*SMALL, "--width", "80"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line in (
        "lattice  121 tiles (11 x 11); the search visited 97, until the queue was empty",
        "invalid  41 for shared memory",
        "valid  80 tiles of the lattice, 0 never visited",
        "  found  yes, it visited the best; first in its ranking is 64x64",
        "  ties  one tile alone has the top priority; 70 different priorities in all",
        "tensor-core filter  refuses 56 for instruction",
        "  v0 <-> v1     10             10  interchangeable",
    ):
        assert line in lines, line
    assert max(map(len, lines)) <= 80


def test_json(capsys: pytest.CaptureFixture) -> None:
    code = main(["audit", "matmul", "--M", "2048", "--N", "7133", "--K", "2048", "--arch", "a100", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 1 and found["usable"]["best_priority"] is None
    assert found["refused"] == {"instruction": 53, "divisibility": 10}
    assert found["valid"]["best"] == [[128, 32]]


def test_lattices_hold_what_the_search_visits() -> None:
    sizes: Counter = Counter()
    for item in landed():
        for trace, _ in item.pairs:
            begin = trace.begin
            assert all(set(tile) for tile in trace.index_of), item.case["id"]
            for tile in itertools.islice(trace.index_of, 50):
                assert all(extent in steps for extent, steps in zip(tile, begin.steps)), (item.case["id"], tile)
            sizes[len(begin.steps)] += 1
    assert sizes[2] > 50 and sizes[3] > 3
