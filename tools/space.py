"""Whether a tuning space is worth searching: what the hardware accepts of it, and how a model ranks the rest.

The space is all combinations of the values of block_M, block_N, block_K, num_stages and threads, for the product
C[M, N] = A[M, K] B[K, N]. A configuration is legal when num_stages is at least 1; threads a positive multiple of 32, at
most 1024; each block positive, a multiple of 16, a divisor of its extent; and num_stages x (block_M x block_K +
block_K x block_N) elements fit the shared memory. The first reason that applies, in this order, is counted. The legal
ones are ranked by a surrogate for the time, in arbitrary units (from the cost-model notes that this project began
with); with a device also by carver's model, which takes block_K as its step and num_stages as its pipeline. What
neither model looks at (threads) is always tied.

The shared memory is 228 KiB; of a device it is the opt-in limit, because T.alloc_shared is dynamic shared memory.
Carver itself works with the static limit, 48 KiB on CUDA devices, and its model refuses what is above:
--smem-cap optin gives it the whole. --smem-cap N sets both, --smem-budget N what is legal alone.

Exit code 1 where there is nothing to search: nothing legal, or one configuration. --mode all shows the three spaces
of the notes, two of which are such on purpose, and ends with 0.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..arch.errors import CarverError, shown
from . import recording, space_files
from .agreement import Agreement, agreement
from .display import Column, add_width, number, plural, status_line, table, width_of, wrapped
from .options import DEVICE_FIGURES, DTYPE_HELP, LARGEST, add_device, device_of, dtype, size
from .space_rules import (
    GRANULE,
    MOST_DISTINCT,
    PARAMETERS,
    WARP,
    Group,
    LegalListed,
    LegalProduct,
    Listed,
    Order,
    Problem,
    Product,
    Show,
    reasons_in_order,
    surrogate_cost,
)

if TYPE_CHECKING:
    from .space_carver import Pricing, Wanted

LIMIT = 10**8
# Groups that carver's model prices, at some 30 us each.
CARVER_LIMIT = 200_000
# Configurations written to a file when it is not said how many.
OUT_LIMIT = 100_000
# The most that --topk and --keep take: so many rows, and so many groups, are held in memory.
MOST_ROWS, MOST_KEPT = 100_000, 1_000_000

_SIZES = (64, 128, 256)
# The spaces of the notes: the values of `PARAMETERS` in order, and the bytes of shared memory.
MODES: dict[str, tuple[tuple[tuple[int, ...], ...], int]] = {
    "well-formed": ((_SIZES, _SIZES, (16, 32, 64), (1, 2, 3, 4), (128, 256)), 228 * 1024),
    "all-infeasible": (((256, 512), (256, 512), (64, 128), (2, 3, 4), (128, 256)), 16 * 1024),
    "degenerate": (((128,), (128,), (64,), (2,), (128,)), 228 * 1024),
}
DEFAULTS, DEFAULT_BUDGET = dict(zip(PARAMETERS, MODES["well-formed"][0])), MODES["well-formed"][1]

# A whole number of sane length, of any sign.
_NUMBER = re.compile(r"[+-]?[0-9]{1,39}")

WASTED, ONE, TIED, RANKED = "wasted", "teaches nothing", "cannot be ranked", "can be ranked"


# ---------------------------------------------------------------------------------------------------------------------
# The answer


@dataclass(frozen=True, slots=True)
class Standing:
    """The legal configurations as one model sees them."""

    ranked: int
    """Configurations that the model has a value for."""
    refused: dict[str, int]
    """Those that it has none for, by reason."""
    distinct: int
    """Different values; more than 1,000,000 are not counted further."""
    best: float | None
    """The best value; None if there is none."""
    tied: int
    """Configurations that have it."""
    tied_values: dict[str, list[int]]
    """The values of each parameter among those."""


@dataclass(frozen=True, slots=True)
class Row:
    """A legal group with its threads: configurations that no model tells apart."""

    block_M: int
    block_N: int
    block_K: int
    num_stages: int
    threads: list[int]
    configurations: int
    cost: float
    """Of the surrogate."""
    priority: float | None
    """Of carver's model; None where it refuses the configuration, or was not asked."""
    refused: str | None
    """Why carver's model refuses it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is said about a space."""

    name: str | None
    """The mode that it comes from."""
    problem: Problem
    budget_from: str
    requested: int
    legal: int
    reasons: dict[str, int]
    """Refused configurations by the first reason that applies, in the order in which reasons are asked for."""
    carried: list[str]
    """Keys of the configurations that no model looks at, beside the threads."""
    rank_by: str
    surrogate: Standing
    device: str | None
    """None, as all about carver's model, where no device is named."""
    policy: str | None
    carver: Standing | None
    agreement: Agreement | None
    """Of the surrogate's order and carver's, of the configurations that both price."""
    coverage: list[Wanted] | None
    """Carver's hints, best first."""
    best: list[Row]
    notes: list[str]

    @property
    def standing(self) -> Standing:
        """That of the model that ranks."""
        return self.carver if self.rank_by == "carver" else self.surrogate

    @property
    def verdict(self) -> str:
        if self.legal < 2:
            return ONE if self.legal else WASTED
        return RANKED if self.standing.tied == 1 else TIED

    @property
    def is_worth_searching(self) -> bool:
        return self.legal > 1


class Survey:
    """One walk over the legal groups of a space: both orders, and how they agree."""

    def __init__(self, legal: LegalProduct | LegalListed, pricing: Pricing | None, keep: int) -> None:
        self.legal, self.problem, self.pricing = legal, legal.problem, pricing
        self.surrogate, self.carver = Order(keep), Order(keep)
        self.refused: Counter[str] = Counter()
        """Configurations that carver's model refuses, by reason."""
        self.pairs: Counter[tuple[float, float]] = Counter()
        """Configurations that both models price, by cost and priority."""

    def walk(self, show: Show) -> None:
        """Look at every group; ``show`` is told now and then how many were."""
        for group in self.legal.groups(show):
            count, threads = self.legal.size(group), self.legal.threads(group)
            cost = surrogate_cost(self.problem, group)
            self.surrogate.add(cost, group, count, threads)
            if self.pricing is not None:
                price, why = self.pricing.price(group)
                self.carver.add(price, group, count, threads)
                if why is None:
                    self.pairs[cost, price] += count
                else:
                    self.refused[why] += count

    def order(self, rank_by: str) -> Order:
        return self.carver if rank_by == "carver" else self.surrogate

    def row(self, group: Group) -> Row:
        price, why = (math.inf, None) if self.pricing is None else self.pricing.price(group)
        return Row(
            *group,
            threads=list(self.legal.threads(group)),
            configurations=self.legal.size(group),
            cost=surrogate_cost(self.problem, group),
            priority=price if math.isfinite(price) else None,
            refused=why,
        )


def _standing(order: Order, refused: dict[str, int]) -> Standing:
    values = {name: sorted(values) for name, values in order.tied_values.items()}
    best = order.best if order.ranked else None
    return Standing(order.ranked, refused, order.distinct, best, order.tied, values)


# ---------------------------------------------------------------------------------------------------------------------
# As text


def report_lines(report: Report, columns: int) -> Iterator[str]:
    """The report as text."""
    p = report.problem
    name = f"{report.name}: " if report.name else ""
    memory = f"{number(p.smem_budget)} B of shared memory ({report.budget_from})"
    yield from wrapped(f"{name}C[{p.M}, {p.N}] = A[{p.M}, {p.K}] B[{p.K}, {p.N}], {p.dtype}; {memory}", columns, 0, 2)
    counts = f"{number(report.legal)} legal, {_distinct(report.surrogate, 'cost')}"
    yield from wrapped(f"{plural(report.requested, 'configuration')}, {counts}", columns, 0, 2)
    width = max((len(number(count)) for count in report.reasons.values()), default=0)
    for reason, count in report.reasons.items():
        yield f"  {number(count):>{width}}  {reason}"
    yield from _best_lines(report, columns)
    if report.carver is not None and report.legal:
        yield from _carver_lines(report, report.carver, columns)
    if report.coverage and report.legal:
        yield from _coverage_lines(report.coverage, columns)
    for note in report.notes:
        yield from wrapped(f"note: {note}", columns, 0, 2)
    yield from wrapped(f"{report.verdict}: {_why(report)}", columns, 0, 2)


def _distinct(standing: Standing, what: str) -> str:
    is_counted = standing.distinct <= MOST_DISTINCT
    return ("" if is_counted else "more than ") + plural(min(standing.distinct, MOST_DISTINCT), f"distinct {what}")


def _best_lines(report: Report, columns: int) -> Iterator[str]:
    if not report.best:
        return
    yield ""
    titles = [Column(name, ">") for name in ("#", *PARAMETERS[:-1])] + [Column("threads"), Column("cost", ">")]
    titles += [Column("priority", ">")] if report.carver is not None else []
    rows = []
    for place, row in enumerate(report.best, 1):
        cells = [str(place), *(str(getattr(row, name)) for name in PARAMETERS[:-1])]
        cells += [_values(row.threads), number(row.cost)]
        if report.carver is not None:
            cells.append(number(row.priority) if row.priority is not None else row.refused or "-")
        rows.append(cells)
    yield from table(titles, rows, columns)
    yield ""


def _values(values: list[int]) -> str:
    more = f" and {len(values) - 6} more" if len(values) > 6 else ""
    return ",".join(map(str, values[:6])) + more


def _carver_lines(report: Report, standing: Standing, columns: int) -> Iterator[str]:
    text = f"carver: {report.policy} on {report.device}; {number(standing.ranked)} priced"
    if standing.ranked:
        whose = f"is shared by {number(standing.tied)}" if standing.tied > 1 else "is of one alone"
        text += f", {_distinct(standing, 'priority')}; the best, {number(standing.best)}, {whose}"
    for reason, count in standing.refused.items():
        text += f"; {number(count)} refused for {reason}"
    yield from wrapped(text, columns, 0, 2)
    a = report.agreement
    if a is None or not a.pairs:
        return
    tau = "none: a model calls all equal" if a.tau is None else f"{a.tau:.3f}"
    text = (
        f"agreement: of {plural(a.pairs, 'pair')} the two orders put {number(a.same)} the same way round and "
        f"{number(a.opposite)} the other; tied for the surrogate alone {number(a.first_ties)}, for carver alone "
        f"{number(a.second_ties)}, for both {number(a.both_tie)}; Kendall's tau-b {tau}"
    )
    yield from wrapped(text, columns, 0, 2)


def _coverage_lines(wanted: list[Wanted], columns: int) -> Iterator[str]:
    missing = [(place, one) for place, one in enumerate(wanted, 1) if one.missing is not None]
    yield f"coverage: of carver's hints the space has {len(wanted) - len(missing)} of {len(wanted)}"
    for place, one in missing:
        yield from wrapped(f"hint {place}, {one.block_M}x{one.block_N}x{one.block_K}: {one.missing}", columns, 2, 4)


def _why(report: Report) -> str:
    """The verdict's reason in words."""
    if report.verdict == WASTED:
        extents = [(axis, getattr(report.problem, axis)) for axis in "MNK"]
        odd = [f"{axis} = {extent}" for axis, extent in extents if extent % GRANULE]
        multiple = "is no multiple" if len(odd) == 1 else "are no multiples"
        never = f"; no block can be, for {' and '.join(odd)} {multiple} of {GRANULE}" if odd else ""
        return f"nothing is legal, so there is nothing to search{never}"
    if report.verdict == ONE:
        return "one configuration is legal, and there is nothing to compare it with"
    standing, what = report.standing, "priority" if report.rank_by == "carver" else "cost"
    if not standing.ranked:
        return f"carver's model refuses all {number(report.legal)} legal configurations"
    if report.verdict == RANKED:
        return f"one configuration has the best {what}, {number(standing.best)}"
    among = "; ".join(f"{name} {_values(values)}" for name, values in standing.tied_values.items())
    unseen = "".join(f"; any {name}" for name in report.carried)
    return (
        f"{number(standing.tied)} of {number(standing.ranked)} share the best {what}, {number(standing.best)} "
        f"({among}{unseen}); only measuring tells them apart"
    )


# ---------------------------------------------------------------------------------------------------------------------
# The command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"examples:\n  {parser.prog} --block-m 64,128 --block-n 64,128,256 --n 6144 --arch h100\n  " + (
        f"{parser.prog} --file space.json --arch a100 --rank-by carver --out configs.json"
    )
    space = parser.add_argument_group("space")
    text = f"{', '.join(MODES)}, or all three (exit code 0)"
    space.add_argument("--mode", choices=[*MODES, "all"], metavar="MODE", help=text)
    for name, default in DEFAULTS.items():
        flag = "--" + name.lower().replace("_", "-")
        text = f"values of {name}, with commas between (default: {','.join(map(str, default))})"
        space.add_argument(flag, dest=name, type=values, metavar="N,...", help=text)
    keys = ", ".join(space_files.CARRIED)
    text = f"JSON: an object of lists, or a list of TileLang's configurations; {keys} are carried along"
    space.add_argument("--file", metavar="SPACE.json", help=text)
    text = f"refuse spaces with more combinations of blocks and stages to look at (default: {LIMIT})"
    space.add_argument("--limit", type=size, default=LIMIT, metavar="N", help=text)
    problem = parser.add_argument_group("matrix product")
    for axis in "MNK":
        problem.add_argument(f"--{axis.lower()}", type=size, default=4096, metavar=axis, help=f"{axis} (default: 4096)")
    problem.add_argument("--dtype", type=dtype, default="float16", help=f"of A and B ({DTYPE_HELP}; default: float16)")
    problem.add_argument("--accum-dtype", type=dtype, metavar="DTYPE", help="of the sums (default: float32 or int32)")
    problem.add_argument("--out-dtype", type=dtype, metavar="DTYPE", help="of C (default: as A and B, or int32)")
    text = f"bytes of shared memory of one block (default: the device's opt-in limit, or {DEFAULT_BUDGET})"
    problem.add_argument("--smem-budget", type=size, metavar="N", help=text)
    add_device(parser)
    answer = parser.add_argument_group("answer")
    text = "the model that ranks (default: surrogate; carver needs a device)"
    answer.add_argument("--rank-by", choices=["surrogate", "carver"], default="surrogate", metavar="MODEL", help=text)
    text = "at most so many rows, and so many of carver's hints (default: 10)"
    answer.add_argument("--topk", type=size, default=10, metavar="N", help=text)
    answer.add_argument("--json", action="store_true", help="one JSON object on stdout")
    add_width(answer)
    out = parser.add_argument_group("file of the legal configurations, best first")
    out.add_argument("--out", metavar="FILE", help="where to write them, as a JSON list")
    text = "for tilelang's autotune, or for triton.Config (default: tilelang)"
    out.add_argument("--out-format", choices=["tilelang", "triton"], default="tilelang", metavar="FORMAT", help=text)
    text = f"only the best N (default: all; needed for more than {OUT_LIMIT})"
    out.add_argument("--keep", type=size, metavar="N", help=text)
    out.add_argument("--update", action="store_true", help="replace the file if it exists")


def values(text: str) -> tuple[int, ...]:
    """``64,128`` as an argument type: whole numbers, legal or not."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty list")
    return tuple(map(_value, text.split(",")))


def _value(text: str) -> int:
    if _NUMBER.fullmatch(text.strip()) is None:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number")
    value = int(text)
    if abs(value) > LARGEST:
        raise argparse.ArgumentTypeError(f"{value} is too large: at most {LARGEST} (2**40)")
    return value


def run(args: argparse.Namespace) -> int:
    _check(args)
    device = _device(args)
    reports, written = [], None
    for mode in MODES if args.mode == "all" else [args.mode]:
        report, survey = survey_space(args, mode, device)
        reports.append(report)
        if args.out is not None:
            written = _write(args, survey, device)
        if not args.json:
            if len(reports) > 1:
                print()
            for line in report_lines(report, width_of(args)):
                print(line)
    if args.json:
        plain = [_as_dict(report, written) for report in reports]
        print(json.dumps({"spaces": plain} if args.mode == "all" else plain[0], indent=1, allow_nan=False))
    elif written is not None:
        print(written)
    # The three spaces of the notes are an exhibit: two of them are not worth searching by design.
    return 0 if args.mode == "all" or reports[0].is_worth_searching else 1


def _as_dict(report: Report, written: str | None) -> dict:
    plain = {**asdict(report), "verdict": report.verdict, "is_worth_searching": report.is_worth_searching}
    plain["written"] = written
    if report.agreement is not None:
        plain["agreement"] = report.agreement.as_dict()
    return plain


def _given(args: argparse.Namespace) -> dict[str, tuple[int, ...]]:
    return {name: getattr(args, name) for name in PARAMETERS if getattr(args, name) is not None}


def _check(args: argparse.Namespace) -> None:
    """CarverError for arguments that are too large or do not go together, and for a file that cannot be written.

    It is asked before any work.
    """
    for flag, value, most in (("--topk", args.topk, MOST_ROWS), ("--keep", args.keep, MOST_KEPT)):
        if value is not None and value > most:
            raise CarverError(f"{flag} {value} is too large: at most {most}")
    if args.mode is not None and (_given(args) or args.file is not None):
        raise CarverError(f"--mode {args.mode} is a space of its own: no lists and no --file go with it")
    if args.out is None:
        if args.keep is not None or args.update:
            raise CarverError("--keep and --update go with --out FILE")
        return
    if args.mode == "all":
        raise CarverError("--out takes one space: give one --mode")
    recording.check_place(args.out)
    if os.path.exists(args.out) and not args.update:
        raise CarverError(f"{args.out} exists; give --update to replace it")


def _device(args: argparse.Namespace) -> Any:
    """The device, if one is named or needed."""
    figures = [flag for flag, (attribute, _) in DEVICE_FIGURES.items() if getattr(args, attribute) is not None]
    is_memory = figures == ["--smem-cap"] and args.smem_cap != "optin"
    is_needed = args.rank_by == "carver" or (figures and not is_memory)
    if args.arch == "":  # a variable that is not set, say
        raise CarverError("--arch '' names no device (carver devices lists those known)")
    if args.arch or os.environ.get("CARVER_ARCH") or is_needed:
        return device_of(args)
    return None


def _budget(args: argparse.Namespace, mode: str | None, device: Any) -> tuple[int, str]:
    """Bytes of shared memory that are legal for one block, and where the figure is from."""
    if args.smem_budget is not None:
        return args.smem_budget, "--smem-budget"
    if args.smem_cap is not None:
        return (args.smem_cap if device is None else device.smem_cap), "--smem-cap"
    if mode is not None:
        return MODES[mode][1], "the mode's"
    if device is None:
        return DEFAULT_BUDGET, "228 KiB, no device is named"
    optin = device.device.max_shared_memory_per_block_optin
    # Where it is not known it is negative; AMD's devices have one limit.
    is_more = optin > device.smem_cap
    return (optin, "the device's opt-in limit") if is_more else (device.smem_cap, "the device's limit")


def _dtypes(args: argparse.Namespace) -> tuple[int, str, str]:
    """Bytes of an element of A and B, and the dtypes of the sums and of C. CarverError for what tiles cannot hold."""
    from ..roller.tir.dtypes import parse

    kind, bits = parse(args.dtype)
    if kind == "bool" or bits % 8:
        raise CarverError(f"--dtype {shown(args.dtype)}: not supported, elements are numbers of whole bytes")
    is_whole = kind in ("int", "uint")
    accum = args.accum_dtype or ("int32" if is_whole else "float64" if bits == 64 else "float32")
    return bits // 8, accum, args.out_dtype or ("int32" if is_whole else args.dtype)


def _space(args: argparse.Namespace, mode: str | None) -> tuple[Product | Listed, list[str]]:
    """The space, and notes on what was left out of it."""
    if mode is not None:
        return Product(dict(zip(PARAMETERS, MODES[mode][0]))), []
    notes: list[str] = []
    given = {name: space_files.once(name, values, notes) for name, values in _given(args).items()}
    if args.file is None:
        return Product({**DEFAULTS, **given}), notes
    space, more = space_files.read_space(args.file, given, DEFAULTS)
    return space, [*notes, *more]


def survey_space(args: argparse.Namespace, mode: str | None, device: Any) -> tuple[Report, Survey]:
    """The report on the space that the arguments name, and the walk behind it."""
    element_bytes, accum_dtype, out_dtype = _dtypes(args)
    budget, budget_from = _budget(args, mode, device)
    space, notes = _space(args, mode)
    legal = space.prune(Problem(args.m, args.n, args.k, args.dtype, element_bytes, budget))
    if legal.walk > args.limit:
        raise CarverError(
            f"{number(legal.walk)} combinations of blocks and stages are to be looked at, more than the limit of "
            f"{number(args.limit)}; --limit {legal.walk} allows them"
        )
    pricing = None if device is None else _pricing(args, legal.problem, device, (accum_dtype, out_dtype), notes)
    is_too_much = pricing is not None and legal.walk > CARVER_LIMIT
    if is_too_much:
        text = f"carver's model takes at most {number(CARVER_LIMIT)} combinations of blocks and stages"
        if args.rank_by == "carver":
            raise CarverError(f"{text}, these are {number(legal.walk)}: narrow the space")
        notes.append(f"{text}: it was not asked for these {number(legal.walk)}")
    keep = max(args.topk, 0 if args.out is None else args.keep or OUT_LIMIT)
    survey = Survey(legal, None if is_too_much else pricing, keep)
    with progress(legal.walk) as show:
        survey.walk(show)
    if survey.refused["shared memory"] and args.smem_cap is None and device.smem_cap < budget:
        static = f"{number(device.smem_cap)} B"
        notes.append(f"carver's model works with the static limit, {static}; --smem-cap optin raises it")
    surrogate = _standing(survey.surrogate, {})
    report = Report(
        name=mode,
        problem=legal.problem,
        budget_from=budget_from,
        requested=space.requested,
        legal=surrogate.ranked,
        reasons={why: legal.reasons[why] for why in reasons_in_order() if legal.reasons[why]},
        carried=sorted(space.carried),
        rank_by=args.rank_by,
        surrogate=surrogate,
        **_carver_part(survey, device, pricing, notes),
        best=[survey.row(group) for _, group in survey.order(args.rank_by).kept()[: args.topk]],
        notes=notes,
    )
    return report, survey


def _pricing(
    args: argparse.Namespace, problem: Problem, device: Any, more: tuple[str, str], notes: list[str]
) -> Pricing | None:
    """Carver's model for the problem; None, with a note, where it has no answer and is not to rank."""
    from .space_carver import Pricing

    try:
        return Pricing(problem, device, *more, args.topk)
    except CarverError as error:
        if args.rank_by == "carver":
            raise
        notes.append(f"no answer from carver's model: {error}")
        return None


def _carver_part(survey: Survey, device: Any, pricing: Pricing | None, notes: list[str]) -> dict[str, Any]:
    """The fields of a report that are about a device and carver's model."""
    from .recommend import device_line

    part: dict[str, Any] = dict.fromkeys(("device", "policy", "carver", "agreement", "coverage"))
    if device is not None:
        part["device"] = device_line(device)
    if pricing is not None:
        from .space_carver import coverage

        part["policy"] = type(pricing.policy).__name__
        part["coverage"], why_none = coverage(pricing, survey.problem, survey.legal)
        if why_none is not None:
            notes.append(f"carver has no hint: {why_none}")
        if survey.pricing is not None:
            part["carver"] = _standing(survey.carver, dict(survey.refused))
            part["agreement"] = agreement(survey.pairs)
    return part


def _write(args: argparse.Namespace, survey: Survey, device: Any) -> str:
    """Write the legal configurations, best first; says how many were written, and what not."""
    order, legal = survey.order(args.rank_by), survey.legal
    if args.keep is None and survey.surrogate.ranked > OUT_LIMIT:
        count = number(survey.surrogate.ranked)
        raise CarverError(f"{count} configurations are legal, too many for a file: --keep N writes the best N")
    ranked = (config for _, group in order.kept() for config in legal.members(group))
    configs, left = list(itertools.islice(ranked, args.keep)), ""
    if args.out_format == "triton":
        warp_size = WARP if device is None else device.warp_size
        configs, left_out = space_files.triton_configs(configs, legal.space.threads_key, warp_size)
        left = f"; {left_out} left out: Triton takes powers of two" if left_out else ""
    if not configs:
        return f"{args.out}: not written, nothing to write{left}"
    space_files.write_configs(args.out, configs, args.update)
    return f"{args.out}: {plural(len(configs), 'configuration')}{left}"


@contextlib.contextmanager
def progress(total: int) -> Iterator[Show]:
    """Calls of the given function show how far we are: on a terminal, after two seconds, a few times a second."""
    due = time.monotonic() + 2
    with status_line() as put:

        def show(looked_at: int) -> None:
            nonlocal due
            if time.monotonic() > due:
                due = time.monotonic() + 0.2
                put(f"{number(looked_at)} of {number(total)} looked at")

        yield show
