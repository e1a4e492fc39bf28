"""`carver space`: the note's figures, the rules against plain enumeration, carver's own prices, files, bad input."""

from __future__ import annotations

import itertools
import json
import math
import re
import shlex
import tracemalloc
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from carver.arch import CUDA, get_arch
from carver.roller.template import MatmulTemplate
from carver.tools import space as space_command
from carver.tools import space_files
from carver.tools.explain import explain_tile
from carver.tools.search import search_template
from carver.tools.space_carver import Pricing
from carver.tools.space_rules import (
    PARAMETERS,
    SHARED_MEMORY,
    Listed,
    Order,
    Problem,
    Product,
    reason_against,
    reasons_in_order,
    smem_bytes,
    surrogate_cost,
)
from command_line import command
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parent.parent
SQUARE = Problem(4096, 4096, 4096, "float16", 2, 228 * 1024)
CONFIG = {"block_M": 64, "block_N": 64, "block_K": 32, "num_stages": 2, "threads": 128}


@pytest.fixture(autouse=True)
def no_device(monkeypatch):
    monkeypatch.delenv("CARVER_ARCH", raising=False)
    monkeypatch.setenv("COLUMNS", "100")


def run(capsys, *arguments):
    return command(capsys, "space", *arguments)


def answer(capsys, *arguments, code=0):
    got, out, err = run(capsys, *arguments, "--json")
    assert (got, err) == (code, "")
    return json.loads(out)


# ---------------------------------------------------------------------------------------------------------------------
# The note's figures


@pytest.mark.parametrize(
    "mode, code, counts, reasons, verdict",
    [
        ("well-formed", 0, (216, 214, 12), {SHARED_MEMORY: 2}, "cannot be ranked"),
        ("all-infeasible", 1, (48, 0, 0), {SHARED_MEMORY: 48}, "wasted"),
        ("degenerate", 1, (1, 1, 1), {}, "teaches nothing"),
    ],
)
def test_the_three_spaces_of_the_note(capsys, mode, code, counts, reasons, verdict):
    found = answer(capsys, "--mode", mode, code=code)
    assert (found["requested"], found["legal"], found["surrogate"]["distinct"]) == counts
    assert found["reasons"] == reasons
    assert found["verdict"] == verdict
    assert found["is_worth_searching"] == (code == 0)


def test_the_best_of_the_first_space_and_of_the_third(capsys):
    first = answer(capsys, "--mode", "well-formed")
    best = first["best"][0]
    assert [best[name] for name in PARAMETERS[:3]] == [128, 256, 16]
    assert best["cost"] == first["surrogate"]["best"] == 63016960.0
    # Which ties: both ways round, any step, stage and number of threads.
    assert first["surrogate"]["tied"] == 48
    assert first["surrogate"]["tied_values"] == {
        "block_M": [128, 256],
        "block_N": [128, 256],
        "block_K": [16, 32, 64],
        "num_stages": [1, 2, 3, 4],
        "threads": [128, 256],
    }
    third = answer(capsys, "--mode", "degenerate", code=1)
    assert third["best"] == [
        {**CONFIG, "block_M": 128, "block_N": 128, "block_K": 64, "threads": [128], "configurations": 1}
        | {"cost": 67313664.0, "priority": None, "refused": None}
    ]


def test_the_budgets_are_those_of_the_note(capsys):
    budgets = [space["problem"]["smem_budget"] for space in answer(capsys, "--mode", "all")["spaces"]]
    assert budgets == [228 * 1024, 16 * 1024, 228 * 1024] == [233472, 16384, 233472]


def test_all_three_as_text(capsys):
    """Two of them are bad on purpose, which is no failure; on its own each is (see above)."""
    code, out, err = run(capsys, "--mode", "all")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "216 configurations, 214 legal, 12 distinct costs" in lines
    assert "48 configurations, 0 legal, 0 distinct costs" in lines
    assert "1 configuration, 1 legal, 1 distinct cost" in lines
    assert "wasted: nothing is legal, so there is nothing to search" in lines
    assert "teaches nothing: one configuration is legal, and there is nothing to compare it with" in lines
    assert [line for line in lines if line.startswith("cannot be ranked: 48 of 214 share the best cost, 63,016,960")]


def test_a_space_without_anything_legal_says_nothing_of_carvers_hints(capsys):
    code, out, _ = run(capsys, "--mode", "all-infeasible", "--arch", "h100")
    assert code == 1 and "coverage" not in out
    assert out.splitlines()[-1] == "wasted: nothing is legal, so there is nothing to search"


def test_no_argument_is_the_well_formed_space(capsys):
    bare, named = answer(capsys), answer(capsys, "--mode", "well-formed")
    for key in ("problem", "requested", "legal", "reasons", "surrogate", "best"):
        assert bare[key] == named[key]


@pytest.mark.parametrize(
    "group, cost",
    [
        ((128, 256, 16, 1), 512 * (200 + 256 * 480.0)),  # the product is slowest, and slowed down by its size
        ((64, 64, 16, 1), 4096 * (200 + 256 * 400.0)),  # the latency, with nothing to hide it
        ((64, 64, 64, 4), 4096 * (200 + 64 * 512.0)),  # copying
        ((128, 128, 64, 3), 67313664.0),
    ],
)
def test_surrogate_cost(group, cost):
    assert surrogate_cost(SQUARE, group) == cost


def test_equal_costs_are_equal_whatever_the_stages():
    """36864 tiles, 105 steps of 400 / 3 or 35 of 400: added up in floating point they differ in the last digit."""
    problem = Problem(12288, 192, 5040, "float16", 2, 228 * 1024)
    assert surrogate_cost(problem, (16, 16, 48, 3)) == surrogate_cost(problem, (16, 16, 144, 1)) == 130867200.0


@settings(max_examples=200, deadline=None)
@given(
    blocks=st.tuples(*[st.sampled_from([16, 48, 80, 128, 144, 256, 1008])] * 3),
    counts=st.tuples(*[st.integers(1, 2**30)] * 3),
    num_stages=st.integers(1, 12),
    element_bytes=st.sampled_from([1, 2, 4, 8]),
)
def test_the_surrogate_is_rounded_once(blocks, counts, num_stages, element_bytes):
    m, n, k = blocks
    extents = [block * count for block, count in zip(blocks, counts)]
    pressure = 1 + max(Fraction(0), Fraction(m * n, 16384) - Fraction(1, 4)) / 2
    copy, compute = Fraction((m + n) * k * element_bytes, 32), Fraction(m * n * k, 2048) * pressure
    exact = counts[0] * counts[1] * (200 + counts[2] * max(copy, Fraction(400, num_stages), compute))
    assert surrogate_cost(Problem(*extents, "any", element_bytes, 1), (*blocks, num_stages)) == float(exact)


# ---------------------------------------------------------------------------------------------------------------------
# The rules


@pytest.mark.parametrize(
    "group, threads, reason",
    [
        ((64, 64, 32, 1), 32, None),
        ((64, 64, 32, 2), 1024, None),
        ((0, 64, 32, 0), 33, "num_stages below 1"),
        ((0, 64, 32, 1), 33, "threads not a positive multiple of 32"),
        ((0, 64, 32, 1), 0, "threads not a positive multiple of 32"),
        ((0, 64, 32, 1), 1056, "threads above 1024"),
        ((0, 8, 32, 1), 128, "block_M not positive"),
        ((-64, 8, 32, 1), 128, "block_M not positive"),
        ((24, 0, 32, 1), 128, "block_M not a multiple of 16"),
        ((48, 0, 32, 1), 128, "block_M does not divide M"),
        ((64, 8192, 8, 1), 128, "block_N does not divide N"),
        ((64, 64, 8, 1), 128, "block_K not a multiple of 16"),
        ((64, 64, 0, 1), 128, "block_K not positive"),
        ((4096, 4096, 4096, 1), 128, "over the shared memory"),
    ],
)
def test_the_first_reason_that_applies(group, threads, reason):
    assert reason_against(SQUARE, group, threads) == reason
    assert reason is None or reason in reasons_in_order()


def test_the_shared_memory_may_be_full():
    group = (128, 128, 32, 3)
    assert smem_bytes(SQUARE, group) == 3 * (128 * 32 + 32 * 128) * 2 == 49152
    exact = Problem(4096, 4096, 4096, "float16", 2, 49152)
    assert reason_against(exact, group, 128) is None
    assert reason_against(Problem(4096, 4096, 4096, "float16", 2, 49151), group, 128) == SHARED_MEMORY


_BLOCKS = st.lists(st.sampled_from([-16, 0, 8, 16, 32, 48, 64, 96, 128]), min_size=1, max_size=5, unique=True)


@settings(max_examples=200, deadline=None)
@given(
    blocks=st.tuples(_BLOCKS, _BLOCKS, _BLOCKS),
    stages=st.lists(st.integers(-1, 4), min_size=1, max_size=4, unique=True),
    threads=st.lists(st.sampled_from([-32, 0, 32, 33, 128, 1024, 1056]), min_size=1, max_size=4, unique=True),
    extents=st.tuples(*[st.sampled_from([16, 48, 96, 192, 1009])] * 3),
    budget=st.integers(1, 100_000),
    carried=st.sampled_from([{}, {"policy": (0, 1)}, {"policy": (0, 1), "k_pack": (1, 2, 4)}]),
)
def test_counting_by_arithmetic_is_plain_enumeration(blocks, stages, threads, extents, budget, carried):
    problem = Problem(*extents, "float16", 2, budget)
    space = Product(dict(zip(PARAMETERS, map(tuple, (*blocks, stages, threads)))), carried)
    every = [
        dict(zip((*PARAMETERS, *carried), values))
        for values in itertools.product(*space.lists.values(), *carried.values())
    ]
    reasons = [reason_against(problem, tuple(c[name] for name in PARAMETERS[:4]), c["threads"]) for c in every]
    legal = space.prune(problem)
    members = [config for group in legal.groups() for config in legal.members(group)]
    assert space.requested == len(every)
    assert members == [config for config, why in zip(every, reasons) if why is None]
    assert +legal.reasons == Counter(why for why in reasons if why is not None)
    # The same configurations one by one.
    listed = Listed(every).prune(problem)
    assert [config for group in listed.groups() for config in listed.members(group)] == members
    assert listed.reasons == +legal.reasons


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.tuples(st.sampled_from([1.0, 2.0, 3.0, math.inf]), st.integers(1, 4)), max_size=30),
    keep=st.integers(1, 8),
)
def test_an_order_is_a_stable_sort(values, keep):
    order = Order(keep)
    groups = [(place, place, place, 1) for place in range(len(values))]
    for (value, size), group in zip(values, groups):
        order.add(value, group, size, [32])
    ranked = sorted(zip([value for value, _ in values], groups), key=lambda pair: pair[0])
    assert order.kept() == ranked[:keep]
    finite = [(value, size) for value, size in values if value < math.inf]
    best = min((value for value, _ in finite), default=math.inf)
    assert order.distinct == len({value for value, _ in finite})
    assert (order.best, order.tied) == (best, sum(size for value, size in finite if value == best))
    assert (order.ranked, order.unranked) == (
        sum(size for _, size in finite),
        sum(size for value, size in values if value == math.inf),
    )


def test_reasons_come_in_their_order(capsys):
    lists = ["--block-m=0,8,48,64", "--block-n", "64", "--block-k", "24,64", "--num-stages", "0,1,9"]
    found = answer(capsys, *lists, "--threads", "1056", code=1)
    assert list(found["reasons"].items()) == [("num_stages below 1", 8), ("threads above 1024", 16)]
    found = answer(capsys, *lists, "--threads", "48,128", "--smem-budget", "100000", code=1)
    assert list(found["reasons"].items()) == [
        ("num_stages below 1", 16),
        ("threads not a positive multiple of 32", 16),
        ("block_M not positive", 4),
        ("block_M not a multiple of 16", 4),
        ("block_M does not divide M", 4),
        ("block_K not a multiple of 16", 2),
        ("over the shared memory", 1),
    ]
    assert (found["requested"], found["legal"], found["verdict"]) == (48, 1, "teaches nothing")


def test_extents_that_no_block_divides(capsys):
    code, out, err = run(capsys, "--m", "1009", "--n", "1021", "--k", "4096", "--width", "200")
    assert (code, err) == (1, "")
    assert out.splitlines()[1:] == [
        "216 configurations, 0 legal, 0 distinct costs",
        "  216  block_M does not divide M",
        "wasted: nothing is legal, so there is nothing to search; no block can be, for M = 1009 and N = 1021 "
        "are no multiples of 16",
    ]


@pytest.mark.parametrize(
    "extents, odd",
    [((8, 4096, 4096), "M = 8 is no multiple"), ((4096, 13, 15), "N = 13 and K = 15 are no multiples")],
)
def test_extents_below_the_least_block(capsys, extents, odd):
    problem = [text for axis, extent in zip("mnk", extents) for text in (f"--{axis}", str(extent))]
    code, out, err = run(capsys, *problem, "--width", "200")
    assert (code, err) == (1, "")
    assert out.splitlines()[-1].endswith(f"; no block can be, for {odd} of 16")


def test_a_space_that_can_be_ranked(capsys):
    lists = ["--block-m", "64,128", "--block-n", "64", "--block-k", "32", "--num-stages", "2", "--threads", "128"]
    code, out, _ = run(capsys, *lists)
    assert code == 0
    assert out.splitlines()[-1] == "can be ranked: one configuration has the best cost, 101,072,896"


@pytest.mark.parametrize(
    "name, element_bytes", [("bfloat16", 2), ("float8_e4m3", 1), ("float8_e5m2", 1), ("float32", 4)]
)
def test_bytes_of_an_element(capsys, name, element_bytes):
    problem = answer(capsys, "--dtype", name)["problem"]
    assert (problem["dtype"], problem["element_bytes"]) == (name, element_bytes)


# ---------------------------------------------------------------------------------------------------------------------
# A million combinations

_BLOCKS_OF_720720 = [block for block in range(16, 720721, 16) if 720720 % block == 0]
_LARGE = Problem(720720, 720720, 720720, "float16", 2, 10**9)


def walked(blocks, num_stages):
    lists = (blocks, blocks, blocks, num_stages, (128, 256, 512))
    survey = space_command.Survey(Product(dict(zip(PARAMETERS, lists))).prune(_LARGE), None, 10)
    survey.walk(lambda looked_at: None)
    return survey


def test_a_million_combinations():
    survey = walked(_BLOCKS_OF_720720, (1, 2, 3, 4))
    assert survey.legal.space.requested == 48**3 * 4 * 3 == 1327104
    assert (survey.surrogate.ranked, survey.legal.reasons) == (903789, {SHARED_MEMORY: 423315})
    assert survey.surrogate.kept()[0] == (301334018256755.9, (144, 176, 16, 2))


def test_a_million_combinations_on_the_command_line(capsys):
    blocks = ",".join(map(str, _BLOCKS_OF_720720))
    lists = [f"--block-{axis}={blocks}" for axis in "mnk"] + [f"--{axis}=720720" for axis in "mnk"]
    found = answer(capsys, *lists, "--threads", "128,256,512", "--smem-budget", str(10**9), "--topk", "1")
    assert (found["requested"], found["legal"], found["surrogate"]["tied"]) == (1327104, 903789, 1134)
    assert found["best"][0] == {**dict(zip(PARAMETERS, (144, 176, 16, 2))), "threads": [128, 256, 512]} | {
        "configurations": 3,
        "cost": 301334018256755.9,
        "priority": None,
        "refused": None,
    }


def test_a_walk_holds_no_groups():
    """A group takes over 100 bytes in memory: all 41,472 would take more than 4 MB."""
    tracemalloc.start()
    try:
        survey = walked(_BLOCKS_OF_720720[::2], (1, 2, 3))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert survey.legal.walk == 24**3 * 3 == 41472
    assert peak < 200_000


def test_a_space_too_large_to_walk_is_refused(capsys):
    blocks = ",".join(map(str, _BLOCKS_OF_720720))
    lists = [f"--block-{axis}={blocks}" for axis in "mnk"] + [f"--{axis}=720720" for axis in "mnk"]
    stages = ",".join(map(str, range(1, 1001)))
    code, out, err = run(capsys, *lists, "--num-stages", stages)
    assert (code, out) == (2, "")
    assert err == (
        "carver: 110,592,000 combinations of blocks and stages are to be looked at, more than the limit of "
        "100,000,000; --limit 110592000 allows them\n"
    )
    # What single values refuse is not looked at: 10**8 combinations and more are counted at once.
    found = answer(capsys, *lists, "--num-stages", stages, "--threads", "33", code=1)
    assert found["reasons"] == {"threads not a positive multiple of 32": 110592000}


def test_carver_is_not_asked_about_too_many(capsys, monkeypatch):
    monkeypatch.setattr(space_command, "CARVER_LIMIT", 107)
    found = answer(capsys, "--arch", "a100")
    assert (found["carver"], found["agreement"]) == (None, None)
    text = "carver's model takes at most 107 combinations of blocks and stages"
    assert found["notes"] == [f"{text}: it was not asked for these 108"]
    code, out, err = run(capsys, "--arch", "a100", "--rank-by", "carver")
    assert (code, out, err) == (2, "", f"carver: {text}, these are 108: narrow the space\n")


def test_progress_on_a_terminal_after_two_seconds(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(space_command.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = []
    with space_command.progress(20000) as show:
        for clock[0], looked_at in [(1.0, 4096), (2.5, 8192), (2.6, 12288), (2.8, 16384)]:
            show(looked_at)
            said.append(capsys.readouterr().err)
    assert said == ["", "\r8,192 of 20,000 looked at\x1b[K", "", "\r16,384 of 20,000 looked at\x1b[K"]
    assert capsys.readouterr().err == "\r\x1b[K"


@pytest.mark.parametrize("budget", [10**9, 1])
def test_progress_is_told_whatever_is_legal(budget):
    blocks = tuple(_BLOCKS_OF_720720[:24])
    space = Product(dict(zip(PARAMETERS, (blocks, blocks, blocks, (1, 2), (32,)))))
    looked_at: list[int] = []
    legal = len(list(space.prune(Problem(720720, 720720, 720720, "float16", 2, budget)).groups(looked_at.append)))
    # A row has 24 x 2 groups: 86 rows are the first with more than 4096.
    assert looked_at == [0, 86 * 48, 172 * 48, 258 * 48, 344 * 48, 430 * 48, 516 * 48]
    assert legal == (24**3 * 2 if budget > 1 else 0)


def test_no_progress_elsewhere(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(space_command.time, "monotonic", lambda: clock[0])
    with space_command.progress(20000) as show:
        clock[0] = 10.0
        show(4096)
    assert capsys.readouterr().err == ""


def test_more_distinct_costs_than_are_counted(monkeypatch):
    monkeypatch.setattr("carver.tools.space_rules.MOST_DISTINCT", 3)
    monkeypatch.setattr(space_command, "MOST_DISTINCT", 3)
    order = Order(2)
    for value in (5.0, 4.0, 3.0, 2.0, 1.0):
        order.add(value, (16, 16, 16, 1), 1, [32])
    assert (order.distinct, order.best, order.tied) == (4, 1.0, 1)
    standing = space_command._standing(order, {})
    assert space_command._distinct(standing, "cost") == "more than 3 distinct costs"


# ---------------------------------------------------------------------------------------------------------------------
# Devices


@pytest.mark.parametrize(
    "arguments, budget, budget_from",
    [
        ([], 233472, "228 KiB, no device is named"),
        (["--arch", "h100"], 232448, "the device's opt-in limit"),
        (["--arch", "a100"], 166912, "the device's opt-in limit"),
        (["--arch", "mi300x"], 65536, "the device's limit"),
        (["--arch", "a100", "--smem-cap", "optin"], 166912, "--smem-cap"),
        (["--arch", "a100", "--smem-cap", "101376"], 101376, "--smem-cap"),
        (["--smem-cap", "101376"], 101376, "--smem-cap"),
        (["--arch", "a100", "--smem-budget", "49152"], 49152, "--smem-budget"),
        (["--arch", "a100", "--mode", "well-formed"], 233472, "the mode's"),
        (["--arch", "sm_90", "--cores", "132", "--l2", "0"], 232448, "the device's opt-in limit"),
    ],
)
def test_where_the_budget_is_from(capsys, arguments, budget, budget_from):
    found = answer(capsys, *arguments, "--topk", "1")
    assert (found["problem"]["smem_budget"], found["budget_from"]) == (budget, budget_from)


def test_the_device_of_the_environment(capsys, monkeypatch):
    monkeypatch.setenv("CARVER_ARCH", "a100")
    assert answer(capsys) == answer(capsys, "--arch", "a100")


def pricing(device, problem=SQUARE, topk=3):
    return Pricing(problem, device, "float32", "float16", topk)


@pytest.mark.parametrize("arch", ["h100", "a100", "v100", "mi300x", "rx7900xtx", "b200"])
def test_carver_prices_as_carver_explain_does(arch):
    """With the reduction step and the stages that carver itself takes, for tiles that its search may never visit."""
    device = get_arch(arch)
    template = MatmulTemplate(M=4096, N=4096, K=4096, accum_dtype="float32").with_arch(device)
    search = search_template(template, device, 1)
    stages = getattr(search.policy, "pipeline_stage", 1)
    ours = pricing(device)
    compared = Counter()
    for tile in itertools.product((16, 64, 128, 256, 512), repeat=2):
        explained = explain_tile(search.policy, tile, search.trace)
        ((_, rstep),) = explained.memory.rstep
        price, why = ours.price((*tile, *rstep.values(), stages))
        if explained.valid:
            assert (price, why) == (explained.priority, None), tile
        else:
            assert (price, why) == (math.inf, explained.refusal.reason), tile
        compared[why] += 1
    assert compared[None] >= 13


def test_stages_and_steps_are_the_configurations_own():
    """128 x 64 x 2 B twice are 32768 B a stage: of 98304 B three blocks can have them, of 49152 B none two stages."""
    ours = pricing(CUDA("a100"))
    assert ours.price((128, 128, 64, 1)) == (2129921.0 * math.ceil(1024 / (3 * 108)), None)
    assert ours.price((128, 128, 64, 2)) == (math.inf, "shared memory")
    assert ours.price((128, 128, 32, 2)) == ours.price((128, 128, 64, 1))
    assert ours.price((128, 128, 16, 1)) == (2129921.0 * math.ceil(1024 / (4 * 108)), None)


def test_another_device_shape_and_dtype(capsys):
    """No pipeline there for carver, so neither the stages nor, in this much memory, the steps make a difference."""
    shape = ["--m", "512", "--n", "1024", "--k", "768", "--dtype", "float8_e4m3"]
    found = answer(capsys, *shape, "--block-m", "64,128", "--block-n", "128", "--arch", "mi300x", "--rank-by", "carver")
    assert (found["requested"], found["legal"], found["surrogate"]["distinct"]) == (48, 48, 8)
    assert (found["policy"], found["carver"]["ranked"], found["carver"]["distinct"]) == ("DefaultPolicy", 48, 2)
    assert (found["carver"]["best"], found["carver"]["tied"]) == (155649.0, 24)
    assert (found["best"][0]["block_M"], found["best"][0]["cost"]) == (64, 1241600.0)
    counts = {"same": 76, "opposite": 500, "first_ties": 0, "second_ties": 324, "both_tie": 228}
    tau = (76 - 500) / math.sqrt(1128 - 228) / math.sqrt(1128 - 324 - 228)
    assert found["agreement"] == {"pairs": 1128, **counts, "tau": tau}


def test_rank_by_carver(capsys):
    found = answer(capsys, "--arch", "h100", "--rank-by", "carver")
    assert found["policy"] == "TensorCorePolicy"
    carver = found["carver"]
    assert (carver["ranked"], carver["refused"]) == (142, {"shared memory": 72})
    assert (carver["distinct"], carver["best"], carver["tied"]) == (13, 4259842.0, 8)
    assert found["verdict"] == "cannot be ranked"
    best = found["best"][0]
    assert (best["block_M"], best["block_N"], best["priority"]) == (128, 128, 4259842.0)
    assert [row["priority"] for row in found["best"]] == sorted(row["priority"] for row in found["best"])
    assert found["notes"] == ["carver's model works with the static limit, 49,152 B; --smem-cap optin raises it"]
    # The surrogate says what it says without carver.
    assert found["surrogate"] == answer(capsys, "--smem-budget", "232448")["surrogate"]


def test_what_carver_refuses_comes_last(capsys, tmp_path):
    lists = ["--block-m", "64,128", "--block-n", "128", "--block-k", "64", "--num-stages", "1,3", "--threads", "128"]
    out = tmp_path / "configs.json"
    found = answer(capsys, *lists, "--arch", "a100", "--rank-by", "carver", "--out", str(out))
    assert [(row["block_M"], row["num_stages"], row["refused"]) for row in found["best"]] == [
        (64, 1, None),
        (128, 1, None),
        (64, 3, "shared memory"),
        (128, 3, "shared memory"),
    ]
    written = [(config["block_M"], config["num_stages"]) for config in json.loads(out.read_text())]
    assert written == [(64, 1), (128, 1), (64, 3), (128, 3)]


def test_carver_may_refuse_all(capsys):
    lists = ["--block-m", "512", "--block-n", "512,1024", "--block-k", "16", "--num-stages", "1", "--threads", "128"]
    code, out, _ = run(capsys, *lists, "--arch", "a100", "--rank-by", "carver", "--width", "200")
    assert code == 0
    assert "0 priced; 2 refused for registers" in out
    assert out.splitlines()[-1] == "cannot be ranked: carver's model refuses all 2 legal configurations"


def test_no_carver_without_a_device(capsys):
    found = answer(capsys)
    assert [found[key] for key in ("device", "policy", "carver", "agreement", "coverage")] == [None] * 5
    code, out, err = run(capsys, "--rank-by", "carver")
    assert (code, out) == (2, "")
    assert err == "carver: no device: give --arch NAME, or set CARVER_ARCH (carver devices lists the names)\n"


def test_a_product_that_carver_has_no_answer_for(capsys):
    found = answer(capsys, "--m", "1", "--n", "1", "--arch", "h100", code=1)
    assert (found["verdict"], found["carver"]) == ("wasted", None)
    assert found["notes"][0].startswith("no answer from carver's model: ")


def test_a_multiprocessor_with_less_memory_than_a_block(capsys):
    """64 x 256 x 64 with 2 stages takes 81,920 bytes, and no tile that carver's search visits 60,000 of them."""
    arguments = ["--m", "64", "--n", "256", "--k", "256", "--num-stages", "1,2", "--arch", "v100"]
    arguments += ["--smem-cap", "90000", "--max-smem-usage", "60000"]
    carver = answer(capsys, *arguments)["carver"]
    assert (carver["ranked"], carver["refused"]) == (34, {"shared memory of an SM": 2})
    assert answer(capsys, *arguments, "--rank-by", "carver")["carver"] == carver


def test_more_tiles_than_carver_can_count(capsys):
    """Carver's own count of them would wrap around to none, and every priority be 0."""
    extents = ["--m", str(2**40), "--n", str(2**23), "--arch", "h100"]
    found = answer(capsys, *extents)
    why = f"carver counts tiles in 64 bits: M x N must be below 2**63, and is {2**63}"
    assert (found["carver"], found["notes"]) == (None, [f"no answer from carver's model: {why}"])
    assert run(capsys, *extents, "--rank-by", "carver") == (2, "", f"carver: {why}\n")
    found = answer(capsys, "--m", str(2**40), "--n", str(2**22), "--arch", "h100")
    assert found["carver"]["best"] > 2**40


# ---------------------------------------------------------------------------------------------------------------------
# Agreement and coverage


def test_agreement_of_a_space(capsys):
    found = answer(capsys, "--arch", "h100", "--smem-cap", "optin")["agreement"]
    tau = found.pop("tau")
    assert found == {
        "pairs": 214 * 213 // 2,
        "same": 10404,
        "opposite": 8248,
        "first_ties": 352,
        "second_ties": 796,
        "both_tie": 2991,
    }
    assert tau == (10404 - 8248) / math.sqrt(22791 - 352 - 2991) / math.sqrt(22791 - 796 - 2991)


COVERED = ["--n", "11008", "--block-m", "128,256", "--block-n", "128,256", "--num-stages", "2,3", "--threads", "128"]


def test_coverage_names_what_is_missing(capsys):
    found = answer(capsys, *COVERED, "--block-k", "32", "--arch", "a100", "--smem-cap", "optin", "--topk", "5")
    device = CUDA("a100", smem_cap="optin")
    template = MatmulTemplate(M=4096, N=11008, K=4096, accum_dtype="float32").with_arch(device)
    hints = template.recommend_hints(5)
    assert [[w["block_M"], w["block_N"], w["block_K"], w["num_stages"]] for w in found["coverage"]] == [
        [*hint.block, *hint.rstep, hint.pipeline_stage] for hint in hints
    ]
    assert [w["threads"] for w in found["coverage"]] == [128] * 5
    assert [w["missing"] for w in found["coverage"]] == [
        None,
        "block_N 64 not offered",
        "block_M 64 not offered",
        "block_N 64 not offered",
        "block_M 64 not offered",
    ]


@pytest.mark.parametrize(
    "arguments, missing",
    [
        (["--block-k", "64"], "block_K 32 not offered"),
        (["--block-k", "32", "--smem-budget", "30000"], "over the shared memory"),
        (["--block-k", "32", "--num-stages", "0"], "offered with no legal num_stages and threads"),
        (["--block-k", "32", "--num-stages", "9,1"], None),
    ],
)
def test_coverage_of_what_is_offered_and_not_legal(capsys, arguments, missing):
    _, out, _ = run(capsys, *COVERED, *arguments, "--arch", "a100", "--topk", "1", "--json")
    (first,) = json.loads(out)["coverage"]
    assert [first[name] for name in PARAMETERS[:3]] == [128, 128, 32]
    assert first["missing"] == missing


def test_hints_that_no_space_can_offer(capsys):
    found = answer(capsys, *["--m", "5040", "--n", "5040", "--k", "5040", "--arch", "a100", "--topk", "1"], code=1)
    assert [one["missing"] for one in found["coverage"]] == [
        "block_M 72, block_N 80, block_K 80 not offered (illegal: block_M not a multiple of 16)"
    ]


def test_threads_of_a_hint_on_cuda_cores(capsys):
    (one,) = answer(capsys, "--m", "1", "--arch", "h100", "--topk", "1", code=1)["coverage"]
    device = get_arch("h100")
    (hint,) = MatmulTemplate(M=1, N=4096, K=4096, accum_dtype="float32").with_arch(device).recommend_hints(1)
    assert (one["block_M"], one["block_N"], one["block_K"]) == (1, *hint.block, *hint.rstep)
    assert one["threads"] == math.prod(hint.thread) * math.prod(hint.reduce_thread)


def test_listed_blocks_that_do_not_come_together(capsys, tmp_path):
    blocks = [(128, 256, 32), (256, 128, 32), (128, 128, 64)]
    configs = [{**CONFIG, "block_M": m, "block_N": n, "block_K": k} for m, n, k in blocks]
    path = tmp_path / "space.json"
    path.write_text(json.dumps(configs))
    found = answer(capsys, "--n", "11008", "--file", str(path), "--arch", "a100", "--topk", "1")
    assert [one["missing"] for one in found["coverage"]] == ["not offered together"]


# ---------------------------------------------------------------------------------------------------------------------
# Files


def write(tmp_path, content):
    path = tmp_path / "space.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_a_file_of_lists(capsys, tmp_path):
    lists = {"block_M": [64, 128], "block_N": [128], "thread_num": [128, 256], "enable_rasteration": [True, False]}
    out = tmp_path / "configs.json"
    path = write(tmp_path, lists)
    found = answer(capsys, "--file", path, "--num-stages", "2", "--out", str(out))
    # block_K has its default, of three values.
    assert (found["requested"], found["legal"], found["carried"]) == (24, 24, ["enable_rasteration"])
    configs = json.loads(out.read_text())
    assert len(configs) == 24
    assert configs[0] == {"block_M": 128, "block_N": 128, "block_K": 16, "num_stages": 2} | {
        "thread_num": 128,
        "enable_rasteration": True,
    }
    assert {config["num_stages"] for config in configs} == {2}


def test_what_was_written_is_a_space_again(capsys, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    run(capsys, "--out", str(first))
    found = answer(capsys, "--file", str(first), "--out", str(second))
    assert (found["requested"], found["legal"], found["reasons"]) == (214, 214, {})
    assert second.read_text() == first.read_text()


def test_a_list_of_configurations(capsys, tmp_path):
    first = {"pass_configs": {"tl.disable_warp_specialized": True}, **CONFIG, "policy": 1, "k_pack": 2}
    better = {**CONFIG, "block_M": 128}
    illegal = {**CONFIG, "threads": 100}
    out = tmp_path / "configs.json"
    path = write(tmp_path, [first, illegal, better, {**first, "policy": 0}])
    found = answer(capsys, "--file", path, "--out", str(out))
    assert (found["requested"], found["legal"], found["surrogate"]["distinct"]) == (4, 3, 2)
    assert found["carried"] == ["k_pack", "pass_configs", "policy"]
    assert json.loads(out.read_text()) == [better, first, {**first, "policy": 0}]


def test_what_repeats_counts_once(capsys, tmp_path):
    found = answer(capsys, "--block-m", "64,128,64", "--num-stages", "1,1")
    assert found["requested"] == 2 * 3 * 3 * 1 * 2
    assert found["notes"] == [
        "block_M repeats values: 1 of 3 left out",
        "num_stages repeats values: 1 of 2 left out",
    ]
    found = answer(capsys, "--file", write(tmp_path, {"block_M": [64, 64], "policy": [1, True]}), "--block-n", "64")
    assert (found["requested"], found["notes"]) == (3 * 4 * 2 * 2, ["block_M repeats values: 1 of 2 left out"])
    configs = [CONFIG, dict(reversed(CONFIG.items())), {**CONFIG, "block_M": 128}]
    found = answer(capsys, "--file", write(tmp_path, configs))
    assert (found["requested"], found["notes"]) == (2, ["the file repeats values: 1 of 3 left out"])


def test_configurations_for_triton(capsys, tmp_path):
    out = tmp_path / "triton.json"
    lists = {"block_M": [96, 64], "block_N": [64], "block_K": [32], "num_stages": [2], "policy": [0, 1]}
    path = write(tmp_path, {**lists, "threads": [32, 96, 128]})
    arguments = ["--m", "6144", "--file", path, "--out", str(out), "--out-format", "triton"]
    code, text, _ = run(capsys, *arguments)
    assert code == 0
    assert text.splitlines()[-1] == f"{out}: 2 configurations; 8 left out: Triton takes powers of two"
    blocks = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    assert json.loads(out.read_text()) == [
        {"kwargs": blocks, "num_stages": 2, "num_warps": 1},
        {"kwargs": blocks, "num_stages": 2, "num_warps": 4},
    ]
    # A wavefront of this device has 64 threads: 32 of them make no warp.
    code, text, _ = run(capsys, *arguments, "--arch", "mi300x", "--update")
    assert [config["num_warps"] for config in json.loads(out.read_text())] == [2]


def test_nothing_to_write(capsys, tmp_path):
    out = tmp_path / "configs.json"
    code, text, _ = run(capsys, "--m", "1009", "--out", str(out))
    assert (code, text.splitlines()[-1], out.exists()) == (1, f"{out}: not written, nothing to write", False)


def test_only_the_best_are_kept(capsys, tmp_path, monkeypatch):
    every, few = tmp_path / "every.json", tmp_path / "few.json"
    run(capsys, "--out", str(every))
    run(capsys, "--out", str(few), "--keep", "7", "--topk", "1")
    assert len(json.loads(every.read_text())) == 214
    assert json.loads(few.read_text()) == json.loads(every.read_text())[:7]
    assert every.read_text().count("\n") == 216  # a line each, and the brackets
    monkeypatch.setattr(space_command, "OUT_LIMIT", 213)
    code, _, err = run(capsys, "--out", str(tmp_path / "more.json"))
    assert (code, err) == (
        2,
        "carver: 214 configurations are legal, too many for a file: --keep N writes the best N\n",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["every.json", "few.json"]


def test_costs_do_not_fall_in_the_file(capsys, tmp_path):
    out = tmp_path / "configs.json"
    run(capsys, "--out", str(out))
    costs = [surrogate_cost(SQUARE, tuple(c[name] for name in PARAMETERS[:4])) for c in json.loads(out.read_text())]
    assert costs == sorted(costs) and costs[0] == 63016960.0


def test_a_file_that_exists_is_kept(capsys, tmp_path):
    out = tmp_path / "configs.json"
    out.write_text("mine")
    code, text, err = run(capsys, "--out", str(out))
    assert (code, text, err) == (2, "", f"carver: {out} exists; give --update to replace it\n")
    assert out.read_text() == "mine"
    assert run(capsys, "--out", str(out), "--update")[0] == 0
    assert len(json.loads(out.read_text())) == 214


# ---------------------------------------------------------------------------------------------------------------------
# Bad input


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--block-m", ""], "argument --block-m: an empty list"),
        (["--block-m", "64,,128"], "argument --block-m: '' is not a whole number"),
        (["--block-m", "64,many"], "argument --block-m: 'many' is not a whole number"),
        (["--block-k", "32.5"], "argument --block-k: '32.5' is not a whole number"),
        (["--threads", "True"], "argument --threads: 'True' is not a whole number"),
        (["--threads", "\u0661\u0662\u0668"], "is not a whole number"),
        (["--block-m", str(10**18)], f"argument --block-m: {10**18} is too large: at most 1099511627776 (2**40)"),
        (["--block-m", "9" * 5000], "is not a whole number"),
        (["--m", "0"], "argument --m: 0 is too small: at least 1"),
        (["--n", "-4096"], "argument --n: -4096 is too small: at least 1"),
        (["--k", "4096.0"], "argument --k: '4096.0' is not a whole number"),
        (["--k", str(10**18)], "argument --k: 1000000000000000000 is too large"),
        (["--topk", "0"], "argument --topk: 0 is too small: at least 1"),
        (["--topk", "100001"], "--topk 100001 is too large: at most 100000"),
        (["--out", "x", "--keep", "1000001"], "--keep 1000001 is too large: at most 1000000"),
        (["--smem-budget", "0"], "argument --smem-budget: 0 is too small"),
        (["--dtype", "flot16"], "unknown dtype 'flot16': did you mean float16"),
        (["--dtype", "float8_e4m4"], "unknown dtype 'float8_e4m4': did you mean float8_e4m3"),
        (["--dtype", "int4"], "--dtype 'int4': not supported, elements are numbers of whole bytes"),
        (["--dtype", "bool"], "--dtype 'bool': not supported"),
        (["--arch", "h10"], "unknown device 'h10': did you mean 'h100'"),
        (["--arch", ""], "--arch '' names no device (carver devices lists those known)"),
        (["--mode", "wellformed"], "unknown mode 'wellformed'; did you mean well-formed?"),
        (["--mode", "all", "--block-m", "64"], "--mode all is a space of its own: no lists and no --file go with it"),
        (["--mode", "degenerate", "--file", "x"], "--mode degenerate is a space of its own"),
        (["--rank-by", "carv"], "unknown model 'carv'; did you mean carver?"),
        (["--smem-cap", "optin"], "no device: give --arch NAME"),
        (["--mode", "all", "--out", "x"], "--out takes one space: give one --mode"),
        (["--keep", "3"], "--keep and --update go with --out FILE"),
        (["--update"], "--keep and --update go with --out FILE"),
        (["--out", "/no/such/folder/x"], "/no/such/folder/x: cannot be written (/no/such/folder is no folder)"),
        (["--out", "."], ".: is a folder, a file is needed"),
        (["--file", "."], ".: cannot be read (Is a directory)"),
        (["--file", "no/such/file"], "no/such/file: cannot be read (No such file or directory)"),
        (["--file", "a\0b"], "cannot be read (embedded null byte)"),
    ],
)
def test_bad_arguments_are_one_line(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1 and len(err) < 400


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "not JSON (Expecting value at column 1)"),
        ('{"block_M":\n  oops}', "not JSON (Expecting value at line 2, column 3)"),
        ("[" * 100000, "nested too deeply"),
        ("null", "neither an object of lists nor a list of configurations"),
        ("{}", "an object without a parameter"),
        ("[]", "an empty list of configurations"),
        ('{"block_M": [NaN]}', "NaN is not a number here"),
        ('{"block_M": [Infinity]}', "Infinity is not a number here"),
        ('{"block_M": [1' + "0" * 5000 + "]}", "a number of 40 digits or more"),
        ('{"block_M": [64], "block_M": [128]}', "key 'block_M' twice in one object"),
        ({"block_M": []}, "block_M is an empty list"),
        ({"block_M": 64}, "block_M is not a list"),
        ({"block_M": ["64"]}, "block_M: '64' is not a whole number"),
        ({"block_M": [64.0]}, "block_M: 64.0 is not a whole number"),
        ({"block_M": [True]}, "block_M: True is not a whole number"),
        ({"block_M": [None]}, "block_M: None is not a whole number"),
        ({"block_M": [[64]]}, "block_M: [64] is not a whole number"),
        ({"block_M": [10**18]}, "block_M: 1000000000000000000 is too large: at most 1099511627776 (2**40)"),
        ({"block_X": [64]}, "unknown key 'block_X'; allowed are block_M, block_N, block_K, num_stages, threads, thre"),
        ({"threads": [128], "thread_num": [128]}, "both threads and thread_num"),
        ({"policy": ["\ud800"]}, "policy holds a value of no sane size"),
        ([1], "configuration 1 is not an object"),
        ([CONFIG, [CONFIG]], "configuration 2 is not an object"),
        ([{}], "configuration 1 lacks block_M"),
        ([CONFIG, {**CONFIG, "speed": 1}], "configuration 2: unknown key 'speed'"),
        ([{**CONFIG, "threads": "128"}], "configuration 1: threads: '128' is not a whole number"),
        ([{**CONFIG, "num_stages": 1.5}], "configuration 1: num_stages: 1.5 is not a whole number"),
        ([{**CONFIG, "thread_num": 128}], "configuration 1: both threads and thread_num"),
        ([CONFIG, {"thread_num": 128, **CONFIG} | {"threads": 128}], "configuration 2: both threads and thread_num"),
        (
            [CONFIG, {name: value for name, value in CONFIG.items() if name != "threads"} | {"thread_num": 128}],
            "configuration 2 lacks threads",
        ),
    ],
)
def test_bad_files_are_one_line(capsys, tmp_path, content, message):
    path = write(tmp_path, content)
    code, out, err = run(capsys, "--file", path)
    assert (code, out) == (2, "")
    assert f"carver: {path}: {message}" in err
    assert err.count("\n") == 1 and len(err) < 500


def test_other_bad_files(capsys, tmp_path, monkeypatch):
    path = tmp_path / "space.json"
    path.write_bytes(b'{"block_M": [64], "policy": ["\xff"]}')
    assert run(capsys, "--file", str(path)) == (2, "", f"carver: {path}: not UTF-8 text\n")
    monkeypatch.setattr(space_files, "MAX_BYTES", 1 << 20)
    path.write_bytes(b" " * ((1 << 20) + 1))
    message = f"carver: {path}: more than 1 MB, too much for a space: give it as lists\n"
    assert run(capsys, "--file", str(path)) == (2, "", message)


def test_a_parameter_twice(capsys, tmp_path):
    path = write(tmp_path, {"block_M": [64]})
    code, _, err = run(capsys, "--file", path, "--block-m", "64", "--block-n", "64")
    assert (code, err) == (2, f"carver: {path}: has block_M: leave --block-m out\n")
    path = write(tmp_path, [CONFIG])
    code, _, err = run(capsys, "--file", path, "--num-stages", "2")
    assert (code, err) == (2, f"carver: {path}: has whole configurations: --num-stages cannot be added\n")


# ---------------------------------------------------------------------------------------------------------------------
# The documents


def test_the_example_of_the_readme(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ((command, shown),) = re.findall(r"```console\n\$ carver space ([^\n]*)\n(.*?)```", text, re.DOTALL)
    code, out, err = run(capsys, *shlex.split(command))
    assert (code, out, err) == (0, shown, "")


def test_help_has_an_example(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "carver space --block-m 64,128 --block-n 64,128,256 --n 6144 --arch h100" in out
    assert all(key in out for key in space_files.CARRIED)
