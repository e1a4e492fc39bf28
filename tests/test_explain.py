"""Explanations of tiles: their sums are the figures that the real carver was recorded with."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
from carver.arch import get_arch
from carver.arch.errors import CarverError
from carver.policy import DefaultPolicy
from carver.roller.hint import TileDict
from carver.roller.template import ConvTemplate, GEMVTemplate, MatmulTemplate
from carver.tools import explain as explain_module
from carver.tools.blocksizes import no_block_size
from carver.tools.cli import main
from carver.tools.explain import TileExplanation, as_dict, explain_tile
from carver.tools.explain_text import explanation_lines
from carver.tools.options import TEMPLATES
from carver.tools.reasons import shape_refusal
from carver.tools.search import search_template
from carver.tools.trace import Hinted, NoHint
from command_line import command
from landed import landed

A100 = get_arch("a100")


def matmul(**sizes):
    return MatmulTemplate(**{"M": 1024, "N": 1024, "K": 1024, **sizes}).with_arch(A100)


def explain(template, *tile: int, device=A100) -> TileExplanation:
    search = search_template(template, device, 10)
    return explain_tile(search.policy, tile, search.trace)


# ---------------------------------------------------------------------------------------------------------------------
# Against the recordings of the real carver


def chosen(rows: list, trace) -> list[int]:
    """A few visits of a search: first, middle, last, the first invalid one, the first hint, the first that is none."""
    picked = {0, len(rows) // 2, len(rows) - 1}
    picked.update([i for i, row in enumerate(rows) if not row[1]][:1])
    picked.update(trace.index_of[event.tile] for kind in (Hinted, NoHint) for event in trace.of(kind)[:1])
    return sorted(picked)


def test_explanations_add_up_to_the_recorded_figures() -> None:
    explained, cases_explained = 0, set()
    outcomes: Counter = Counter()
    for item in landed():
        device = item.case["device"]
        for trace, search in item.pairs:
            for index in chosen(search["visited"], trace):
                tile, valid, traffic, smem, grid, blocks, waves = search["visited"][index]
                e = explain_tile(trace.policy, tile, trace)
                where = (item.case["id"], tile)
                assert (e.valid, e.traffic, e.memory.demand) == (valid, traffic, smem), where
                assert sum(access.nbytes for access in e.accesses) == traffic, where
                assert max(span.end for span in e.memory.spans) == smem, where
                assert e.memory.limit == device["smem_cap"]
                assert e.registers.demand == int(2 * max(node.registers for node in e.registers.nodes))
                assert e.standing.visit == index and e.standing.on_lattice, where
                if valid:
                    assert e.occupancy.blocks == blocks, where
                    limits = (e.occupancy.by_shared_memory, e.occupancy.by_registers, e.occupancy.by_partitions)
                    assert min(limits) == blocks and e.occupancy.by_partitions == device["sm_partition"]
                    assert (math.prod(e.grid.counts), e.grid.blocks, e.grid.waves) == (grid, grid, waves), where
                    assert e.grid.at_once == blocks * device["compute_max_core"]
                    assert e.priority == (traffic + 1) * waves, where
                    assert search["ranked"][e.standing.rank - 1] == index, where
                else:
                    assert e.refusal.demand > e.refusal.limit and e.occupancy is None and e.priority is None
                    assert (e.refusal.reason == "shared memory") == (grid == -1), where
                outcomes[e.refusal.reason if e.refusal else "hint" if e.hints else e.error] += 1
                explained += 1
                cases_explained.add(item.case["id"])
    assert len(cases_explained) >= 200 and explained >= 800
    assert outcomes["hint"] >= 300 and outcomes["shared memory"] >= 100 and outcomes["registers"] >= 10
    assert outcomes["instruction"] >= 50 and outcomes["divisibility"] >= 3


def test_explained_hints_are_the_recorded_ones() -> None:
    compared = 0
    for item in landed():
        if not item.record.get("hints"):
            continue
        trace, search = item.pairs[-1]
        grown = {index: smem for index, smem, _ in search["expanded"]}
        for number in (0, len(trace.of(Hinted)) - 1):
            event = trace.of(Hinted)[number]
            e = explain_tile(trace.policy, event.tile, trace)
            assert e.standing.hint == number + 1 and e.refusal is None, (item.case["id"], event.tile)
            index = trace.index_of[event.tile]
            assert e.growth.memory.demand == grown.get(index, search["visited"][index][3])
            parts = item.record["hints"][number]
            used = next(size for size in e.block_sizes if size.is_used)
            for (_, said), part, split in zip(e.hints, parts, used.splits):
                assert said["block"] == part["block"] and said["rstep"] == part["rstep"]
                assert said.get("vectorize", {}) == part["vectorize"]
                assert {v.tensor: v.width for v in split.vectors if v.width} == part["vectorize"]
                assert list(split.parts[-2:]) == part["warp"] if part["use_tc"] else list(split.parts) == part["thread"]
                assert e.rasterization == part["rasterization_plan"]
                compared += 1
    assert compared >= 300


def test_a_tile_off_the_search_is_explained_like_any_other() -> None:
    """Tiles that are no step of the search, on every fifth case: the sums are held against the policy inside."""
    explained = 0
    for item in landed()[::5]:
        for trace, _ in item.pairs:
            tile = [max(1, extent * 2 // 7) for extent in trace.begin.shape]
            e = explain_tile(trace.policy, tile, trace)
            assert e.tile == tuple(tile)
            assert (e.standing.visit is None) == (tuple(tile) not in trace.index_of)
            explained += 1
    assert explained >= 40


# ---------------------------------------------------------------------------------------------------------------------
# One tile in full


def test_the_arithmetic_of_one_tile() -> None:
    """64x128 of a float16 matmul of 1024 cubed on an A100; traffic, memory, waves, rank as the real carver's."""
    e = explain(matmul(), 64, 128)
    assert [(a.buffer, a.access, a.region, a.elements, a.coalesced, a.transaction, a.nbytes) for a in e.accesses] == [
        ("A", "read", (64, 1024), 65536, 65536, 64, 131072.0),
        ("B", "read", (128, 1024), 131072, 131072, 64, 262144.0),
        ("C", "write", (64, 128), 8192, 128, 16, 16384.0),
    ]
    assert [(c.buffer, c.region, c.nbytes, c.aligned, c.counts, c.why) for c in e.memory.cached] == [
        ("A_reindex", (64, 32), 4096, 4096, True, "reduction"),
        ("B_reindex", (128, 32), 8192, 8192, True, "reduction"),
    ]
    assert e.memory.stages == 2
    assert [(s.what, s.nbytes, s.start, s.end) for s in e.memory.spans] == [("cached", 24576, 0, 24576)]
    assert (e.registers.demand, e.registers.limit) == (8192, 65536)
    assert (e.occupancy.by_shared_memory, e.occupancy.by_registers, e.occupancy.by_partitions) == (4, 8, 4)
    assert e.occupancy.binding == ("shared memory", "partitions")
    assert (e.grid.counts, e.grid.waves, e.grid.last_wave) == ((16, 8), 1, 128)
    assert e.priority == 409601.0
    assert (e.standing.visit, e.standing.rank, e.standing.of, e.standing.ties, e.standing.hint) == (25, 7, 80, 1, 7)
    assert (e.standing.parent, e.standing.axis) == ((64, 64), 1)
    sizes = [(size.threads, size.score, size.is_tried) for size in e.block_sizes[:3]]
    assert sizes == [(128, (1.0, 0.0), True), (64, (2.0, 0.0), False), (256, (2.0, 0.0), False)]
    [split] = e.block_sizes[0].splits
    assert (split.unit, split.parts) == ("warp", (64, 32))
    assert [(step.factor, step.axis) for step in split.steps] == [(2, 0), (2, 1), (2, 0)]
    assert split.steps[1].scores == ((0, 6.781456953642384), (1, 5.425165562913907))
    assert [(v.tensor, v.width, [w.width for w in v.widths]) for v in split.vectors] == [
        ("A_reindex", 8, [16, 8]),
        ("B_reindex", 8, [16, 8]),
    ]


def test_a_rejected_tile_says_by_what_and_where() -> None:
    e = explain(matmul(), 512, 128)
    assert (e.refusal.reason, e.refusal.demand, e.refusal.limit) == ("shared memory", 81920, 49152)
    assert e.refusal.text == "needs 81,920 bytes of shared memory per block, the limit is 49,152"
    assert e.refusal.vendored == "carver/roller/policy/default.py:558"
    assert e.growth is None and e.block_sizes == () and e.hints == ()
    # Registers, on a device that has memory enough.
    device = get_arch("a100", smem_cap=10**6)
    e = explain(matmul(), 512, 256, device=device)
    assert (e.refusal.reason, e.refusal.demand, e.refusal.limit) == ("registers", 131072, 65536)
    assert e.refusal.vendored == "carver/roller/policy/default.py:565"


def test_an_unvisited_tile_says_why() -> None:
    e = explain(matmul(), 96, 96)
    assert not e.standing.on_lattice and e.standing.visit is None
    assert e.standing.why == "96 is no step of v0; the nearest are 64 and 128"
    assert (e.refusal.reason, e.refusal.demand, e.refusal.limit) == ("divisibility", 96, 1024)
    e = explain(matmul(), 1024, 1024)
    assert e.standing.on_lattice
    assert e.standing.why.endswith("512x1024 was not visited, 1024x512 was not visited")
    e = explain(matmul(), 512, 64)
    assert e.standing.visit is not None
    e = explain(matmul(), 1024, 64)
    assert "512x64 is invalid" in e.standing.why


def test_a_write_is_clipped_by_an_input_as_in_carver() -> None:
    """(M, N, K) = (1024, 4096, 64): 128x256 is priced as if it wrote 128x64."""
    write = explain(matmul(N=4096, K=64), 128, 256).accesses[-1]
    assert (write.region, write.unclipped, write.nbytes) == ((128, 64), (128, 256), 16384.0)


def test_short_runs_are_paid_in_full() -> None:
    e = explain(GEMVTemplate(N=1024, K=1024).with_arch(A100), 4)
    a, _, c = e.accesses
    assert (a.coalesced, a.transaction, a.nbytes, c.nbytes) == (1, 64, 128.0, 32.0)
    text = "\n".join(explanation_lines(e, 140))
    assert "  A: only 1 element lies side by side, a transaction has 64: 64 times as much\n" in text
    assert "  A: carver clips 1024 by the first axes of 1x1024\n" in text


def test_blocks_of_a_graph_share_memory() -> None:
    """Attention: the first matmul's output takes the place of what it cached, and stays while the second runs."""
    from carver.roller.template import FlashAttentionTemplate

    device = get_arch("a100", smem_cap=166912)
    sizes = {"batch_size": 1, "num_heads": 16, "head_dim": 64, "seq_length": 2048, "seq_kv_length": 2048}
    from carver.arch import current_arch

    with current_arch(device):
        template = FlashAttentionTemplate(**sizes).with_arch(device)
    e = explain(template, 1, 16, 64, device=device)
    assert [(s.node, s.what, s.start, s.end, s.step, s.until) for s in e.memory.spans] == [
        ("MMA0", "cached", 0, 132096, 0, 0),
        ("MMA0", "output 0", 0, 65536, 1, 2),
        ("MMA1", "cached", 65536, 70656, 1, 1),
    ]
    assert e.memory.demand == 132096 and e.growth.memory.demand == 264192 > e.growth.memory.limit
    text = "\n".join(explanation_lines(e, 80))
    assert "that is over the device's 166,912 B" in text
    # Drawn to scale, in a line per node.
    rows = [line for line in text.splitlines() if line.startswith("  MMA") and "[" in line]
    assert [set(row[row.index("[") + 1 : -1]) for row in rows[:2]] == [{"a", "·"}, {"b", "c", "·"}] or "." in rows[0]
    assert rows[1].count("b") > 4 * rows[1].count("c") > 0


def test_block_sizes_that_fit_nowhere() -> None:
    """A strided convolution: 49x32 holds 3 by 2 instructions, and no axis of it takes a factor of 3."""
    template = ConvTemplate(N=1, C=32, H=28, W=28, F=64, K=3, S=2, D=1, P=1).with_arch(A100)
    search = search_template(template, A100, 10)

    def tried(*tile: int) -> dict[int, str | None]:
        sizes = [size for size in explain_tile(search.policy, tile, search.trace).block_sizes if size.is_tried]
        return {size.threads: None if size.is_used else size.splits[-1].refusal.reason for size in sizes}

    assert explain_tile(search.policy, (49, 16), search.trace).refusal.reason == "block size"
    assert set(tried(49, 16).values()) == {"warp"} and len(tried(49, 16)) == 15
    assert tried(28, 16)[224] == "warps" and tried(28, 16)[112] == "warp"
    assert tried(49, 32)[32] == "split"
    e = explain_tile(search.policy, (49, 32), search.trace)
    [split] = next(size for size in e.block_sizes if size.threads == 32).splits
    assert split.refusal.text == "no axis of 49x32 takes a factor of 3 more than 16x16 per warp"
    assert split.refusal.vendored == "carver/roller/policy/tensorcore.py:304"


def test_reasons_that_recordings_do_not_hold() -> None:
    search = search_template(matmul(), A100, 1)
    policy, [node] = search.policy, search.policy.ordered_nodes
    td = TileDict([0, 16])
    td.tile_map, td.grid_size = {node: [0, 16]}, 1
    # On tensor cores the instruction is asked for first.
    assert shape_refusal(policy, td).reason == "instruction"
    policy = DefaultPolicy.from_prim_func(matmul().equivalent_function(), A100)
    td.tile_map = {policy.ordered_nodes[0]: [0, 16]}
    assert shape_refusal(policy, td).reason == "empty"
    td.tile_map = {policy.ordered_nodes[0]: [16, 16]}
    found = shape_refusal(policy, td)
    assert (found.reason, found.demand, found.limit) == ("grid", 4096, 1)


def test_no_block_size_is_checked_against_the_policy() -> None:
    search = search_template(matmul(), A100, 1)
    with pytest.raises(AssertionError, match="the policy says none"):
        no_block_size(search.policy, search.hints[0].tile)


def test_an_explanation_that_does_not_add_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_module, "coalesced_tensor_shape", lambda *args: 1.0)
    with pytest.raises(AssertionError, match="traffic: the explanation adds up to 6.0, the policy has 409600"):
        explain(matmul(), 64, 128)


# ---------------------------------------------------------------------------------------------------------------------
# The command

SMALL = ["explain", "matmul", "--M", "1024", "--N", "1024", "--K", "1024", "--arch", "a100"]


def test_the_command_shows_every_part(capsys: pytest.CaptureFixture) -> None:
    assert main([*SMALL, "--tile", "64", "128", "--width", "80"]) == 0
    out = capsys.readouterr().out
    for line in (
        "tile 64x128 by TensorCorePolicy (v0=64 of 1024, v1=128 of 1024): valid",
        "traffic  409,600 B moved from and to global memory",
        "  C       write   64x128       8,192        128    16 (32 B)    8,192   16,384",
        "  A_reindex  64x32   4,096    4,096  input of the reduction",
        "  in 2 stages of the pipeline: 12,288 x 2 = 24,576 B",
        "  a  all that is cached       0  24,576  24,576",
        "registers  8,192 of 65,536 per block",
        "blocks per multiprocessor  4, bound by shared memory and partitions",
        "  shared memory  98,304 // 24,576       4  <",
        "grid  16 x 8 = 128 blocks",
        "waves  1: 432 blocks at once, 128 in the last wave",
        "priority  (409,600 + 1) x 1 = 409,601, less is better",
        "visited  as number 25: grown from 64x64 along v1",
        "rank  7 of 80, the same priority as 1 other tile; hint number 7",
        "      128  1 0    used",
        "         2  v1       v0 6.781, v1 5.425",
        "    A_reindex  64x32       8  16: 256 bits, 8: fits",
    ):
        assert f"{line}\n" in out, line


def test_a_hint_that_carver_does_not_give_is_called_so(capsys: pytest.CaptureFixture) -> None:
    for tile, topk, kind in ("64x64", "1", "hint"), ("128x32", "10", "hint"), ("128x32", "1", "hint it would be"):
        assert main([*SMALL, "--tile", tile, "--topk", topk]) == 0
        out = capsys.readouterr().out
        assert f"\n{kind}  block {tile}, " in out
        assert "vectorize A_reindex:8,B_reindex:8, pipeline_stage 2" in " ".join(out.split())


def test_bars_are_ascii_where_the_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main([*SMALL, "--tile", "64x128", "--width", "80"]) == 0
    sys.stdout.flush()
    assert b"  [" + b"a" * 38 + b"." * 38 + b"]\n" in raw.getvalue()


@pytest.mark.parametrize("columns", [80, 140])
def test_lines_fit(columns: int) -> None:
    for item in landed()[::8]:
        for trace, search in item.pairs:
            for index in chosen(search["visited"], trace):
                e = explain_tile(trace.policy, search["visited"][index][0], trace)
                for line in explanation_lines(e, columns):
                    assert len(line) <= columns, line


def test_json_holds_the_same(capsys: pytest.CaptureFixture) -> None:
    assert main([*SMALL, "--tile", "512x128", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["parameters"]["K"] == 1024 and found["tile"] == [512, 128]
    plain = as_dict(explain(matmul(), 512, 128))
    assert {key: found[key] for key in plain} == plain
    assert plain["refusal"]["demand"] == 81920 and plain["memory"]["cached"][0]["region"] == [512, 32]


@pytest.mark.parametrize(
    ("tile", "message"),
    [
        (["64"], "a tile has 2 extents here (v0=1024, v1=1024), 64 has 1"),
        (["64", "64", "64"], "a tile has 2 extents here (v0=1024, v1=1024), 64x64x64 has 3"),
        (["64", "2048"], "the tile 64x2048 is larger than the output along v1: 2048 > 1024"),
        (["0", "64"], "0 is too small: the extents of a tile are at least 1"),
        (["-3", "64"], "-3 is too small"),
        (["64", "x"], "is not a whole number"),
        (["6.5", "64"], "'6.5' is not a whole number"),
        (["1" * 5000], "11111111111111111111... is no extent: 5000 characters"),
    ],
)
def test_a_bad_tile_is_one_line(tile: list[str], message: str, capsys: pytest.CaptureFixture) -> None:
    code, out, err = command(capsys, *SMALL, "--tile", *tile)
    assert code == 2 and out == ""
    assert message in err and err.count("\n") == 1 and len(err) < 500


def test_the_examples_of_the_help_work(capsys: pytest.CaptureFixture) -> None:
    for template in TEMPLATES:
        with pytest.raises(SystemExit) as stopped:
            main(["explain", template.name, "--help"])
        assert stopped.value.code == 0
        [example] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  carver explain")]
        assert main(example.split()[1:]) == 0
        assert f"tile {'x'.join(example.split('--tile ')[1].split())} by " in capsys.readouterr().out


def test_the_api_checks_tiles_too() -> None:
    search = search_template(matmul(), A100, 1)
    for tile in ((64,), (0, 64), (64, 2048)):
        with pytest.raises(CarverError):
            explain_tile(search.policy, tile)
    assert search.policy.trace is None
