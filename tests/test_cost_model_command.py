"""``carver cost-model``: the figures of the note it comes from, exactly, and its place beside carver's own model."""

from __future__ import annotations

import itertools
import json
import math
import re
import shlex
from fractions import Fraction
from pathlib import Path

import pytest
from carver.arch import CUDA, CarverError, get_arch
from carver.roller.template import MatmulTemplate
from carver.tools import cost_model
from carver.tools.agreement import Agreement
from carver.tools.cost_model import Gemm, closed_traffic, price, propagated_traffic, rank, shared_memory
from carver.tools.cost_model_port import compare
from carver.tools.search import search_template
from carver.tools.trace import Visit
from command_line import command

ROOT = Path(__file__).resolve().parent.parent
NOTE = Gemm(4096, 4096, 4096, 232448, 132)


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    return command(capsys, "cost-model", *arguments)


# ---------------------------------------------------------------------------------------------------------------------
# The note's figures


def test_the_counts_of_the_note() -> None:
    ranking = rank(NOTE)
    assert (ranking.count, len(ranking.valid)) == (729, 154)
    assert ranking.rejected == {"shared memory": 453, "registers": 122}
    assert (ranking.priorities, ranking.tied_at_the_top) == (48, 8)


def test_the_first_row_of_the_note() -> None:
    first = rank(NOTE).valid[0]
    assert first == cost_model.Candidate(
        block=(128, 256, 16),
        traffic=1_644_167_168,
        smem=12288,
        registers=65536,
        grid=512,
        rejected=None,
        blocks_per_sm=1,
        waves=4,
        priority=6_576_668_676,
        binding=("regs",),
    )


def test_ties_come_in_the_order_of_the_candidates() -> None:
    valid = rank(NOTE).valid
    tied = [(128, 256), (256, 128)]
    assert [c.block for c in valid[:8]] == [(*tile, k) for tile in tied for k in (16, 32, 64, 128)]
    assert [(c.priority, c.block) for c in valid] == sorted((c.priority, c.block) for c in valid)


def test_the_command_prints_the_note(capsys) -> None:
    code, out, err = run(capsys, "--width", "100")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[2] == "729 candidates: 154 valid, 453 rejected on shared memory, 122 rejected on registers"
    assert lines[3] == "48 distinct priorities, 8 tied at the top"
    assert lines[5].split() == "1 128 256 16 1644.2 12.0 1 4 6.58e+09 regs".split()
    assert len(lines) == 5 + 8
    assert run(capsys, "--topk", "1000", "--width", "100")[1].count("\n") == 5 + 154


def test_it_fits_a_terminal_of_80_columns(capsys) -> None:
    for mode in ([], ["--self-test"], ["--against-port"]):
        _, out, _ = run(capsys, *mode, "--width", "80")
        assert max(map(len, out.splitlines())) <= 80


def test_a_row_of_pairs_adds_up_at_80_columns(capsys) -> None:
    """What is opposite in parts of all may be left out there, a kind of tie may not."""
    _, out, _ = run(capsys, "--against-port", "--width", "80")
    assert all(len(line) <= 80 for line in out.splitlines())
    rows = out.partition("model, with")[2].partition("\n\n")[0].splitlines()[1:]
    counts = [[int(cell.replace(",", "")) for cell in re.findall(r"(?<= )[0-9,]+(?= |$)", row[15:])] for row in rows]
    assert len(counts) == 4 and all(pairs == sum(kinds) for pairs, *kinds in counts)


def test_shared_memory_is_tested_before_registers() -> None:
    """Both limits are exceeded: the first one counts."""
    both = price(NOTE, (512, 512, 512))
    assert (both.smem, both.registers, both.rejected) == (1048576, 524288, "shared memory")
    registers = price(NOTE, (256, 256, 16))
    assert (registers.smem, registers.registers, registers.rejected) == (16384, 131072, "registers")
    assert (registers.blocks_per_sm, registers.waves, registers.priority, registers.binding) == (None, None, None, ())
    # The largest tile counts, be it C's, A's or B's.
    assert [cost_model.registers_of(b) for b in ((32, 64, 16), (32, 16, 64), (16, 32, 64))] == [4096] * 3
    # Exactly at the limit is valid.
    assert price(Gemm(4096, 4096, 4096, 12288, 132), (128, 256, 16)).rejected is None
    assert price(Gemm(4096, 4096, 4096, 12287, 132), (128, 256, 16)).rejected == "shared memory"


@pytest.mark.parametrize(
    ("block", "smem_cap", "blocks_per_sm", "binding"),
    [
        ((128, 256, 16), 232448, 1, ("regs",)),
        ((64, 64, 64), 232448, 4, ("partitions",)),
        ((64, 64, 64), 16384, 2, ("smem",)),
        ((128, 64, 16), 232448, 4, ("regs", "partitions")),
        ((128, 256, 16), 12288, 1, ("regs",)),
        ((128, 64, 16), 12288, 4, ("smem", "regs", "partitions")),
    ],
)
def test_what_binds(block, smem_cap, blocks_per_sm, binding) -> None:
    found = price(Gemm(4096, 4096, 4096, smem_cap, 132), block)
    assert (found.blocks_per_sm, found.binding) == (blocks_per_sm, binding)


def test_shared_memory_is_aligned() -> None:
    assert shared_memory((21, 21, 21)) == 896 + 896  # 882 bytes each
    assert shared_memory((16, 17, 17)) == 544 + 608  # 544 and 578
    assert shared_memory((16, 16, 16)) == 1024


def test_traffic_is_exact() -> None:
    """In whole numbers what the formula says of fractions, where floating point would round too."""
    for m, n, k in ((4095, 5040, 693), (2**40, 3**25, 7**14), (16, 4099, 17)):
        gemm = Gemm(m, n, k, 1, 1)
        for bm, bn in itertools.product(cost_model.factors(m)[:5], cost_model.factors(n)[:5]):
            formula = 2 * m * n * k * (Fraction(1, bn) + Fraction(1, bm)) + 2 * m * n
            assert closed_traffic(gemm, (bm, bn, 16)) == formula


def test_waves_are_rounded_up() -> None:
    assert [price(Gemm(4096, 4096, 4096, 232448, c), (128, 256, 16)).waves for c in (511, 512, 513)] == [2, 1, 1]


# ---------------------------------------------------------------------------------------------------------------------
# The self-test


def test_self_test_on_the_note(capsys) -> None:
    code, out, err = run(capsys, "--self-test")
    assert (code, err) == (0, "")
    header, *rows, verdict = out.splitlines()
    assert header.split() == "block_M block_N block_K closed MB port MB rel. error".split()
    assert len(rows) == 729
    cells = [row.split() for row in rows]
    for block, megabytes in (("64 64 64", "4328.5"), ("128 128 32", "2181.0"), ("128 256 64", "1644.2")):
        [found] = [row[3:] for row in cells if row[:3] == block.split()]
        assert found == [megabytes, megabytes, "0.00e+00"]
    assert {row[5] for row in cells} == {"0.00e+00"}
    assert verdict == "729 candidates: all equal, largest relative error 0.00e+00"


@pytest.mark.parametrize(
    "extents",
    [(1024, 1024, 1024), (16, 4096, 4096), (4096, 4096, 64), (4099, 4099, 4099), (4095, 693, 1155), (2**40, 2**40, 16)],
)
def test_propagation_agrees_on_other_shapes(extents) -> None:
    gemm = Gemm(*extents, 49152, 108)
    found = list(propagated_traffic(gemm))
    assert len(found) == math.prod(len(cost_model.factors(extent)) for extent in extents)
    for candidate, nbytes in found:
        assert type(nbytes) is int and nbytes == candidate.traffic


@pytest.mark.parametrize("wrong", [1, -1])
def test_self_test_finds_a_wrong_byte(capsys, monkeypatch, wrong) -> None:
    """One byte of one candidate, which no column shows."""
    true = closed_traffic
    monkeypatch.setattr(cost_model, "closed_traffic", lambda gemm, b: true(gemm, b) + wrong * (b == (64, 64, 64)))
    code, out, _ = run(capsys, "--self-test")
    assert code == 1
    assert out.splitlines()[-1] == "729 candidates: 1 differ, largest relative error 2.31e-10"
    code, out, _ = run(capsys, "--self-test", "--json")
    assert code == 1
    answer = json.loads(out)
    [row] = [row for row in answer["rows"] if row["error"] != 0]
    assert row == {
        "block": [64, 64, 64],
        "closed": 4_328_521_728 + wrong,
        "propagated": 4_328_521_728,
        "error": answer["largest_error"],
    }


# ---------------------------------------------------------------------------------------------------------------------
# Devices


@pytest.mark.parametrize(
    ("arguments", "device", "valid"),
    [
        ("", "132 cores, 232448 B shared memory per block (opt-in limit)", 154),
        ("--arch h100 --smem-cap optin", "h100, 132 cores, 232448 B shared memory per block (opt-in limit)", 154),
        ("--arch h100", "h100, 132 cores, 49152 B shared memory per block (static limit)", 114),
        ("--arch a100", "a100, 108 cores, 49152 B shared memory per block (static limit)", 114),
        ("--arch v100", "v100, 80 cores, 49152 B shared memory per block (static limit)", 114),
        ("--arch mi300x", "mi300x, 304 cores, 65536 B shared memory per block (static limit)", 118),
        ("--arch sm_90 --cores 7", "sm_90, 7 cores, 49152 B shared memory per block (static limit)", 114),
        ("--arch a100 --smem-cap 65536 --cores 7", "a100, 7 cores, 65536 B shared memory per block (as given)", 118),
        ("--cores 7", "7 cores, 232448 B shared memory per block (opt-in limit)", 154),
        ("--smem-cap 65536", "132 cores, 65536 B shared memory per block (as given)", 118),
        ("--smem-cap optin", "132 cores, 232448 B shared memory per block (opt-in limit)", 154),
    ],
)
def test_devices(capsys, arguments, device, valid) -> None:
    code, out, _ = run(capsys, *arguments.split(), "--width", "1000")
    head, counts, *_ = out.splitlines()
    assert code == 0
    assert head == f"C[4096, 4096] = A[4096, 4096] x B[4096, 4096], float16, sums of 32 bits; {device}"
    assert counts.startswith(f"729 candidates: {valid} valid, ")


def test_the_default_device_is_an_h100_that_opts_in() -> None:
    device = CUDA("h100", smem_cap="optin")
    assert (device.smem_cap, device.compute_max_core) == (cost_model.DEFAULT_SMEM_CAP, cost_model.DEFAULT_CORES)


@pytest.mark.parametrize(
    ("arguments", "counts", "priorities", "first"),
    [
        ("--m 16 --arch a100", "81 candidates: 27 valid, 54 rejected on shared memory, 0 rejected on registers",
         "7 distinct priorities, 1 tied at the top", "1 16 1024 16 34.2 32.5 2 1 3.42e+07 smem+regs"),
        ("--m 5040 --n 5040 --k 5040",
         "103,823 candidates: 39,626 valid, 35,144 rejected on shared memory, 29,053 rejected on registers",
         # In floating point there would be 1915 priorities, equal ones apart by rounding.
         "1,873 distinct priorities, 29 tied at the top", "1 180 180 16 2895.8 11.2 1 6 1.74e+10 regs"),
        ("--m 16 --n 16 --k 16", "1 candidate: 1 valid, 0 rejected on shared memory, 0 rejected on registers",
         "1 distinct priority, 1 tied at the top", "1 16 16 16 0.0 1.0 4 1 1.54e+03 partitions"),
    ],
)  # fmt: skip
def test_other_shapes(capsys, arguments, counts, priorities, first) -> None:
    code, out, _ = run(capsys, *arguments.split(), "--width", "1000")
    lines = out.splitlines()
    assert code == 0
    assert (lines[1], lines[2], lines[4].split()) == (counts, priorities, first.split())


def test_json(capsys) -> None:
    code, out, _ = run(capsys, "--json", "--topk", "2", "--m", str(2**40), "--n", str(2**40), "--k", str(2**40))
    answer = json.loads(out)
    assert code == 0
    assert (answer["m"], answer["smem_cap"], answer["cores"], answer["arch"]) == (2**40, 232448, 132, None)
    assert (answer["candidates"], answer["valid"]) == (50653, 154)
    assert answer["rejected"] == {"shared memory": 50377, "registers": 122}
    assert (answer["priorities"], answer["tied_at_the_top"]) == (48, 8)
    assert [row["block"] for row in answer["best"]] == [[128, 256, 16], [128, 256, 32]]
    # Exact, far beyond what a double holds.
    traffic, waves = 2**121 // 256 + 2**121 // 128 + 2**81, -(-(2**65) // 132)
    assert (answer["best"][0]["traffic"], answer["best"][0]["waves"]) == (traffic, waves)
    assert answer["best"][0]["priority"] == (traffic + 1) * waves


# ---------------------------------------------------------------------------------------------------------------------
# No answer, and bad input


@pytest.mark.parametrize("mode", ["", "--self-test", "--against-port"])
def test_extents_without_a_factor(capsys, mode) -> None:
    code, out, err = run(capsys, "--m", "13", "--k", "15", *mode.split())
    assert (code, err) == (1, "")
    assert out == "no candidate: a block is a factor of at least 16, and there is none of M = 13, K = 15\n"
    code, out, _ = run(capsys, "--m", "13", "--json", *mode.split())
    assert code == 1
    assert json.loads(out)["why"] == "no candidate: a block is a factor of at least 16, and there is none of M = 13"


def test_a_large_prime_is_its_own_factor(capsys) -> None:
    code, out, err = run(capsys, *"--m 4099 --n 4099 --k 4099 --width 1000".split())
    assert (code, err) == (1, "")
    assert out.splitlines()[1:] == [
        "1 candidate: 0 valid, 1 rejected on shared memory, 0 rejected on registers",
        "no valid candidate: the smallest, 4099x4099x4099, needs 67,207,232 bytes of shared memory, "
        "the limit is 232,448",
    ]
    code, out, _ = run(capsys, *"--m 523 --n 521 --k 17 --width 1000".split())
    assert code == 1
    assert out.splitlines()[2] == (
        "no valid candidate: the smallest, 523x521x17, needs 544,966 registers, the limit is 65,536"
    )
    code, out, _ = run(capsys, *"--m 4099 --n 4099 --k 4099 --against-port".split())
    assert code == 1
    assert out.splitlines()[-1] == "no candidate to compare"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--m 0", "argument --m: 0 is too small: at least 1"),
        ("--n -16", "argument --n: -16 is too small: at least 1"),
        ("--k 1.5", "argument --k: '1.5' is not a whole number"),
        ("--k many", "argument --k: 'many' is not a whole number"),
        ("--m 1000000000000000000", "argument --m: 1000000000000000000 is too large: at most 1099511627776"),
        ("--topk 0", "argument --topk: 0 is too small: at least 1"),
        ("--cores 0", "argument --cores: 0 is too small: at least 1"),
        ("--smem-cap 0", "argument --smem-cap: 0 is too small: at least 1"),
        ("--smem-cap lots", "argument --smem-cap: 'lots' is not a whole number"),
        ("--arch h10", "unknown device 'h10': did you mean 'h100'"),
        ("--arch sm_90", "'sm_90' names no particular device: give --cores N"),
        ("--arch sm_90 --cores 132 --against-port", "'sm_90' names no particular device, and carver's policy reads "
         "more of it than its cores: name one (carver devices lists them)"),
        ("--arch llvm", "carver models CUDA and AMD devices, and 'llvm' is neither"),
        ("--arch ''", "unknown target kind ''"),
        ("--self-test --against-port", "argument --against-port: not allowed with argument --self-test"),
        ("--limit 728", "9x9x9 factors of M, N and K are at least 16, which makes 729 candidates, "
         "more than the limit of 728; --limit 729 allows them"),
        ("--m 963761198400 --n 963761198400 --k 963761198400", "301,436,852,625 candidates, more than the limit"),
        (f"--m {2**40} --n {2**40} --against-port", f"M x N must be below 2**63, and is {2**80}"),
        ("extra", "unrecognized arguments: extra"),
    ],
)  # fmt: skip
def test_bad_input_is_answered_in_one_line(capsys, arguments, message) -> None:
    code, out, err = run(capsys, *shlex.split(arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_progress_goes_to_a_terminal_only(capsys, monkeypatch) -> None:
    arguments = "--m 5040 --n 5040 --k 5040".split()
    assert run(capsys, *arguments)[2] == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _, out, err = run(capsys, *arguments)
    assert "candidates 5000/103823 " in err and "candidates 100000/103823 " in err
    assert "\x1b" not in out
    # Short ones say nothing of it.
    assert "729" not in run(capsys)[2]


# ---------------------------------------------------------------------------------------------------------------------
# Against carver's own policy


def test_carver_ranks_by_the_traffic_of_one_tile() -> None:
    device = CUDA("a100")
    found = compare(Gemm(8192, 8192, 22016, device.smem_cap, device.compute_max_core), device)
    [row, *_] = [row for row in found.rows if row.model.block[:2] == (128, 128)]
    assert row.carver.traffic == 11_304_960
    assert row.model.traffic == row.carver.grid_traffic == 11_304_960 * 64 * 64


@pytest.mark.parametrize("name", ["a100", "v100", "mi300x", "rx7900xtx"])
def test_carvers_figures_are_those_of_its_search(name) -> None:
    """Each tile that the search visited has the search's own figures in the comparison."""
    device = get_arch(name)
    found = compare(Gemm(1024, 2048, 4096, device.smem_cap, device.compute_max_core), device)
    template = MatmulTemplate(M=1024, N=2048, K=4096, trans_B=False, accum_dtype="float32").with_arch(device)
    search = search_template(template, device, 1)
    assert found.policy == type(search.policy).__name__
    assert found.first_hint == tuple(search.hints[0].tile.output_tile)
    prices = {row.carver.tile: row.carver for row in found.rows}
    compared = 0
    for visit in search.trace.of(Visit):
        ours = prices.get(visit.tile)
        if ours is None:
            continue
        assert (ours.rejected is None, ours.traffic, ours.smem) == (visit.valid, visit.traffic, visit.smem_cost)
        if visit.valid:
            figures = ours.blocks_per_sm, ours.waves, ours.priority
            assert figures == (visit.block_per_SM, visit.num_wave, visit.priority)
        compared += 1
    assert compared >= 20


def test_where_the_models_part_company() -> None:
    found = compare(NOTE, CUDA("h100", smem_cap="optin"))
    assert (found.policy, found.rstep, found.stages, found.first_hint) == ("TensorCorePolicy", 32, 2, (128, 128))
    assert found.validity == {"both": 152, "model": 2, "carver": 199, "neither": 376}
    figures = {figure.name: (figure.differ, figure.least, figure.most) for figure in found.figures}
    assert figures["blk/SM"] == (83, 1, 4)
    assert figures["waves"] == (83, 0.25, 1)
    assert figures["registers"] == (152, 1 / 256, 0.5)
    assert figures["smem"] == (122, 1 / 32, 4)
    differ, least, most = figures["traffic, grid"]
    assert (differ, least, round(most, 3)) == (69, 1, 2.497)
    assert found.orders["model"] == Agreement(11476, 9398, 1595, 111, 195, 177)
    assert found.orders["at_rstep"] == Agreement(561, 463, 83, 11, 0, 4)
    assert found.orders["carver_traffic"] == Agreement(11476, 8855, 2249, 0, 195, 177)
    assert found.orders["carver_waves"] == Agreement(11476, 9523, 1352, 229, 0, 372)


def test_the_output_counts_at_its_own_width_in_carver() -> None:
    """128x128 of float16: 16384 registers, as PORTING.md has it, where the model has 32 bits for it."""
    found = compare(NOTE, CUDA("h100", smem_cap="optin"))
    rows = {row.model.block: row for row in found.rows}
    assert (rows[128, 128, 32].model.registers, rows[128, 128, 32].carver.registers) == (32768, 16384)
    # Two stages of the search's own step, whatever block_K is.
    assert [rows[128, 128, k].model.smem for k in (16, 32, 64)] == [8192, 16384, 32768]
    assert [rows[128, 128, k].carver.smem for k in (16, 32, 64)] == [32768] * 3
    rejected = rows[256, 256, 16]
    assert (rejected.model.rejected, rejected.model.registers) == ("registers", 131072)
    assert (rejected.carver.rejected, rejected.carver.registers) == (None, 65536)


def test_a_wide_tile_is_written_in_part_only_where_k_is_short() -> None:
    """Carver clips C's tile by A's shape: of 128 columns 64 are written where K is 64."""
    found = compare(Gemm(4096, 4096, 64, 49152, 108), CUDA("a100"))
    rows = {row.model.block: row for row in found.rows}
    assert rows[128, 128, 64].carver.traffic == 2 * (128 * 64 + 64 * 128 + 128 * 64)
    assert rows[128, 64, 64].carver.traffic == 2 * (128 * 64 + 64 * 64 + 128 * 64)
    assert found.figures[0].carver.endswith("; C's tile cut to K columns")


def test_a_skinny_product_is_ranked_the_other_way_round() -> None:
    """One wave takes all of it: the grid's traffic wants wide tiles, one tile's narrow ones."""
    found = compare(Gemm(16, 4096, 4096, 49152, 108), CUDA("a100"))
    assert found.orders["model"] == Agreement(276, 0, 227, 0, 0, 49)
    assert found.orders["carver_traffic"] == Agreement(276, 227, 0, 0, 0, 49)


def test_json_against_port_has_everything(capsys) -> None:
    code, out, _ = run(capsys, "--against-port", "--json")
    answer = json.loads(out)
    assert code == 0
    assert len(answer["rows"]) == 729
    assert answer["validity"] == {"both": 152, "model": 2, "carver": 199, "neither": 376}
    assert answer["orders"]["model"] == {
        "pairs": 11476,
        "same": 9398,
        "opposite": 1595,
        "first_ties": 111,
        "second_ties": 195,
        "both_tie": 177,
        "tau": (9398 - 1595) / math.sqrt(11476 - 111 - 177) / math.sqrt(11476 - 195 - 177),
    }
    [row] = [row for row in answer["rows"] if row["model"]["block"] == [128, 256, 16]]
    assert row["carver"] == {
        "tile": [128, 256],
        "traffic": 3211264.0,
        "grid_traffic": 1644167168.0,
        "smem": 49152,
        "registers": 32768,
        "rejected": None,
        "blocks_per_sm": 2,
        "waves": 2,
        "priority": 6422530.0,
    }


def test_more_tiles_than_carver_can_count() -> None:
    with pytest.raises(CarverError, match=r"carver counts tiles in 64 bits"):
        compare(Gemm(2**40, 2**23, 16, 49152, 108), CUDA("a100"))
    found = compare(Gemm(2**40, 2**22, 16, 49152, 108), CUDA("a100"))
    assert min(row.carver.waves for row in found.rows if row.is_valid_in_both) > 0


# ---------------------------------------------------------------------------------------------------------------------
# The README


def test_the_readme_shows_what_comes_out(capsys) -> None:
    """Where the README leaves lines out, it has an ellipsis."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    sessions = re.findall(r"```console\n\$ carver cost-model(.*?)\n(.*?)```", text, re.DOTALL)
    assert [arguments.strip() for arguments, _ in sessions] == ["--topk 3", "--self-test", "--against-port"]
    for arguments, shown in sessions:
        _, out, _ = run(capsys, *arguments.split(), "--width", "100")
        pattern = "(?:.*\n)+".join(map(re.escape, shown.split("…\n")))
        assert re.fullmatch(pattern, out), arguments
