"""A plain GEMM priced in closed form: every block size that divides it, ranked, and where carver prices otherwise.

C[M, N] = A[M, K] x B[K, N], float16, sums of 32 bits. Candidates are all (block_M, block_N, block_K) of factors of M, N
and K from 16 on. smem is one tile of A and one of B, registers are twice the largest of the three tiles at 32 bits,
traffic is that of the whole grid. Ranked by priority = (traffic + 1) x waves, less is better; where it is equal, the
smaller block_M comes first, then block_N, then block_K. MB are 10^6 bytes, KB 1024.

Exit code 1 where no candidate is valid (with --against-port: in both), and where --self-test finds a difference.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ..arch.errors import CarverError, one_line, shown
from ..bestfit import BestFit
from ..policy.common import get_all_factors
from .display import Column, add_width, by, number, plural, table, width_of, wrapped
from .options import size, smem_cap

LEAST_BLOCK = 16
ELEMENT_BYTES = 2  # float16: A, B, and C as it is written
REGISTERS = 65536  # of 32 bits, of a block and of a multiprocessor
ACCUMULATOR_BITS = 32
PARTITIONS = 4
LIMIT = 250_000
# The device without --arch: what an H100 has if a kernel opts in.
DEFAULT_ARCH, DEFAULT_SMEM_CAP, DEFAULT_CORES = "h100", 232448, 132


@dataclass(frozen=True, slots=True)
class Gemm:
    """The problem and the device, as far as the model knows them."""

    m: int
    n: int
    k: int
    smem_cap: int
    """Bytes of shared memory that a block can have; a multiprocessor has twice that."""
    cores: int
    """Multiprocessors."""

    @property
    def extents(self) -> dict[str, int]:
        """The extents by name."""
        return {"M": self.m, "N": self.n, "K": self.k}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A block size with its figures. What an invalid one does not get to is None."""

    block: tuple[int, int, int]
    """(block_M, block_N, block_K), in elements."""
    traffic: int
    """Bytes that the whole grid moves: b M N K (1 / block_N + 1 / block_M) + b M N."""
    smem: int
    """Bytes of shared memory of one block."""
    registers: int
    grid: int
    """Thread blocks."""
    rejected: str | None
    """"shared memory" or "registers", the first that is exceeded; None for a valid candidate."""
    blocks_per_sm: int | None = None
    waves: int | None = None
    priority: int | None = None
    """(traffic + 1) x waves, less is better."""
    binding: tuple[str, ...] = ()
    """What keeps more blocks from a multiprocessor: "smem", "regs", "partitions"; several where they are equal."""


def factors(extent: int) -> list[int]:
    """The factors of an extent that a block can have, ascending: none where the extent is below 16."""
    return [factor for factor in get_all_factors(extent) if factor >= LEAST_BLOCK]


def count_candidates(gemm: Gemm) -> int:
    """How many candidates there are."""
    return math.prod(len(factors(extent)) for extent in gemm.extents.values())


def candidates(gemm: Gemm) -> Iterator[Candidate]:
    """All candidates, one after the other, with their figures; block_K grows fastest, block_M slowest."""
    for block in itertools.product(*map(factors, gemm.extents.values())):
        yield price(gemm, block)


def price(gemm: Gemm, block: tuple[int, int, int]) -> Candidate:
    """A block size's figures. Each of its extents must divide the problem's."""
    block_m, block_n, block_k = block
    traffic, smem, registers = closed_traffic(gemm, block), shared_memory(block), registers_of(block)
    grid = (gemm.m // block_m) * (gemm.n // block_n)
    if smem > gemm.smem_cap:
        return Candidate(block, traffic, smem, registers, grid, "shared memory")
    if registers > REGISTERS:
        return Candidate(block, traffic, smem, registers, grid, "registers")
    allowed = {"smem": 2 * gemm.smem_cap // smem, "regs": REGISTERS // registers, "partitions": PARTITIONS}
    blocks_per_sm = min(allowed.values())
    binding = tuple(name for name, blocks in allowed.items() if blocks == blocks_per_sm)
    waves = -(-grid // (blocks_per_sm * gemm.cores))
    return Candidate(block, traffic, smem, registers, grid, None, blocks_per_sm, waves, (traffic + 1) * waves, binding)


def closed_traffic(gemm: Gemm, block: tuple[int, int, int]) -> int:
    """b M N K (1 / block_N + 1 / block_M) + b M N, in bytes: A once per column of blocks, B once per row, C once.

    In whole numbers, since a block's extents divide the problem's: nothing is rounded, whatever the size.
    """
    block_m, block_n, _ = block
    read = gemm.m * gemm.k * (gemm.n // block_n) + gemm.k * gemm.n * (gemm.m // block_m)
    return ELEMENT_BYTES * (read + gemm.m * gemm.n)


def shared_memory(block: tuple[int, int, int]) -> int:
    """Bytes of the A tile and the B tile side by side, each rounded up to 32, as carver's allocator places them."""
    block_m, block_n, block_k = block
    allocator = BestFit(align=32)
    allocator.malloc(block_m * block_k * ELEMENT_BYTES)
    allocator.malloc(block_k * block_n * ELEMENT_BYTES)
    return allocator.limit


def registers_of(block: tuple[int, int, int]) -> int:
    """Registers of 32 bits: twice the elements of the largest of the three tiles."""
    block_m, block_n, block_k = block
    return 2 * max(block_m * block_n, block_m * block_k, block_n * block_k) * ACCUMULATOR_BITS // 32


# ---------------------------------------------------------------------------------------------------------------------
# The ranking


@dataclass(frozen=True, slots=True)
class Ranking:
    """All candidates of a problem, counted, and the valid ones in order."""

    count: int
    rejected: dict[str, int]
    """Invalid candidates by the limit that is exceeded."""
    valid: list[Candidate]
    """Best first; where priorities tie, in the order of `candidates`."""

    @property
    def priorities(self) -> int:
        """Different priorities."""
        return len({candidate.priority for candidate in self.valid})

    @property
    def tied_at_the_top(self) -> int:
        """How many candidates share the best priority."""
        return sum(candidate.priority == self.valid[0].priority for candidate in self.valid)


def rank(gemm: Gemm) -> Ranking:
    """Price all candidates. Only valid ones are kept, and the limit on registers makes them few."""
    count = count_candidates(gemm)
    rejected = {"shared memory": 0, "registers": 0}
    valid = []
    for candidate in watched(candidates(gemm), count):
        if candidate.rejected is None:
            valid.append(candidate)
        else:
            rejected[candidate.rejected] += 1
    valid.sort(key=lambda candidate: candidate.priority)
    return Ranking(count, rejected, valid)


def watched(stream: Iterator[Any], count: int) -> Iterator[Any]:
    """The same, and how far it is on stderr where that is a terminal."""
    from .record import progress

    with progress(count, "candidates") as show:
        for done, item in enumerate(stream, 1):
            if done % 5000 == 0:
                show(done)
            yield item


# ---------------------------------------------------------------------------------------------------------------------
# The self-test


def gemm_template(gemm: Gemm) -> Any:
    """The same GEMM as carver's template: B is [K, N], sums in float32, C in float16."""
    from ..roller.template import MatmulTemplate

    return MatmulTemplate(
        M=gemm.m, N=gemm.n, K=gemm.k, trans_B=False, in_dtype="float16", accum_dtype="float32", out_dtype="float16"
    )


def propagated_traffic(gemm: Gemm) -> Iterator[tuple[Candidate, int]]:
    """Each candidate, and the bytes of its grid by the regions that the port's propagation gives for one block.

    The inputs' regions are those of one step of block_K, times the steps; the output's is written once. They are
    taken unclipped: carver clips what is written by the shape of an input.
    """
    from ..roller.node import PrimFuncNode

    node = PrimFuncNode(gemm_template(gemm).equivalent_function(), name="gemm")
    [reduction] = node.raxis
    nbytes = {buffer.name: node.get_buffer_dtype(buffer).bits // 8 for buffer in node.buffers}
    read = [buffer.name for buffer in node.input_buffers]
    written = [buffer.name for buffer in node.output_buffers]
    for candidate in candidates(gemm):
        block_m, block_n, block_k = candidate.block
        regions, _ = node.propagate([block_m, block_n], {reduction.var.name: block_k})
        per_step = sum(math.prod(regions[name]) * nbytes[name] for name in read)
        once = sum(math.prod(regions[name]) * nbytes[name] for name in written)
        yield candidate, int(candidate.grid * (per_step * (gemm.k // block_k) + once))


def relative_error(found: int, expected: int) -> float:
    """|found - expected| / expected, 0.0 only where they are equal."""
    return abs(found - expected) / expected


# ---------------------------------------------------------------------------------------------------------------------
# The command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n  carver cost-model\n  carver cost-model --m 8192 --n 8192 --k 22016 --arch a100 --smem-cap optin\n"
        "  carver cost-model --against-port"
    )
    for name, text in (("m", "rows of A and C"), ("n", "columns of B and C"), ("k", "length of the sums")):
        parser.add_argument(f"--{name}", type=size, default=4096, metavar="N", help=f"{text} (default: 4096)")
    parser.add_argument(
        "--arch",
        metavar="NAME",
        help="shared memory (static limit) and cores of a device (see carver devices); "
        f"default: an H100's {DEFAULT_CORES} cores and its opt-in limit of {DEFAULT_SMEM_CAP} B",
    )
    parser.add_argument(
        "--smem-cap",
        type=smem_cap,
        metavar="N",
        help="shared memory per block in bytes, or 'optin' for the device's opt-in limit",
    )
    parser.add_argument("--cores", type=size, metavar="N", help="streaming multiprocessors, or compute units")
    parser.add_argument("--topk", type=size, default=8, metavar="N", help="rows of the ranking (default: 8)")
    parser.add_argument(
        "--limit", type=size, default=LIMIT, metavar="N", help=f"refuse more candidates than that (default: {LIMIT})"
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--self-test", action="store_true", help="hold the traffic against the port's region propagation"
    )
    modes.add_argument(
        "--against-port", action="store_true", help="set all candidates against the figures of carver's own policy"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    add_width(parser)


def run(args: argparse.Namespace) -> int:
    device = device_of(args)
    gemm = Gemm(args.m, args.n, args.k, device.smem_cap, device.compute_max_core)
    check_count(gemm, args.limit)
    if count_candidates(gemm) == 0:
        return _none_at_all(gemm, args)
    if args.self_test:
        return _self_test(gemm, args)
    if args.against_port:
        from .cost_model_port import run as against_port

        return against_port(gemm, device, args)
    return _ranking(gemm, args)


def device_of(args: argparse.Namespace) -> Any:
    """The device that the arguments name. CarverError where its shared memory or its cores are not known."""
    from ..arch import get_arch

    given = {"smem_cap": args.smem_cap, "compute_max_core": args.cores}
    if args.arch is None:
        given = {"smem_cap": args.smem_cap or DEFAULT_SMEM_CAP, "compute_max_core": args.cores or DEFAULT_CORES}
    figures = {name: value for name, value in given.items() if value is not None}
    device = get_arch(DEFAULT_ARCH if args.arch is None else args.arch, **figures)
    if not hasattr(device, "smem_cap"):
        raise CarverError(f"carver models CUDA and AMD devices, and {shown(args.arch)} is neither")
    if not hasattr(device, "compute_max_core"):
        raise CarverError(f"{shown(args.arch)} names no particular device: give --cores N")
    return device


def check_count(gemm: Gemm, limit: int) -> None:
    """CarverError for more candidates than the limit."""
    count = count_candidates(gemm)
    if count > limit:
        counts = by(len(factors(extent)) for extent in gemm.extents.values())
        raise CarverError(
            f"{counts} factors of M, N and K are at least {LEAST_BLOCK}, which makes {number(count)} candidates, "
            f"more than the limit of {number(limit)}; --limit {count} allows them"
        )


def head_of(gemm: Gemm, args: argparse.Namespace) -> dict[str, Any]:
    """The problem and the device, for JSON."""
    return {**asdict(gemm), "arch": args.arch, "smem_limit": _which_limit(args)}


def head_lines(gemm: Gemm, args: argparse.Namespace) -> list[str]:
    """The same as text."""
    name = f"{one_line(args.arch)}, " if args.arch else ""
    problem = f"C[{gemm.m}, {gemm.n}] = A[{gemm.m}, {gemm.k}] x B[{gemm.k}, {gemm.n}], float16, sums of 32 bits"
    device = f"{name}{gemm.cores} cores, {gemm.smem_cap} B shared memory per block ({_which_limit(args)})"
    return wrapped(f"{problem}; {device}", width_of(args))


def _which_limit(args: argparse.Namespace) -> str:
    if isinstance(args.smem_cap, int):
        return "as given"
    return "static limit" if args.arch and args.smem_cap is None else "opt-in limit"


def _none_at_all(gemm: Gemm, args: argparse.Namespace) -> int:
    small = ", ".join(f"{name} = {extent}" for name, extent in gemm.extents.items() if extent < LEAST_BLOCK)
    why = f"no candidate: a block is a factor of at least {LEAST_BLOCK}, and there is none of {small}"
    print(json.dumps({**head_of(gemm, args), "candidates": 0, "why": why}, indent=1) if args.json else why)
    return 1


def _ranking(gemm: Gemm, args: argparse.Namespace) -> int:
    ranking = rank(gemm)
    if args.json:
        counts = {"candidates": ranking.count, "valid": len(ranking.valid), "rejected": ranking.rejected}
        counts.update(priorities=ranking.priorities, tied_at_the_top=ranking.tied_at_the_top)
        best = [asdict(candidate) for candidate in ranking.valid[: args.topk]]
        print(json.dumps({**head_of(gemm, args), **counts, "best": best}, indent=1))
    else:
        print(*head_lines(gemm, args), sep="\n")
        for line in ranking_lines(gemm, ranking, args.topk, width_of(args)):
            print(line)
    return 0 if ranking.valid else 1


def ranking_lines(gemm: Gemm, ranking: Ranking, topk: int, columns: int) -> Iterator[str]:
    """The counts, and a table of the best ``topk``. MB are 10^6 bytes, KB 1024."""
    rejected = ", ".join(f"{number(count)} rejected on {reason}" for reason, count in ranking.rejected.items())
    valid = f"{number(len(ranking.valid))} valid"
    yield from wrapped(f"{plural(ranking.count, 'candidate')}: {valid}, {rejected}", columns)
    if not ranking.valid:
        yield from wrapped(f"no valid candidate: {_why_none_valid(gemm)}", columns)
        return
    yield f"{plural(ranking.priorities, 'distinct priority')}, {number(ranking.tied_at_the_top)} tied at the top"
    figures = ("block_M", "block_N", "block_K", "traffic MB", "smem KB", "blk/SM", "waves", "priority")
    titles = [Column("#", ">", 1), *(Column(figure, ">") for figure in figures), Column("binding")]
    rows = [(str(place), *_cells(candidate)) for place, candidate in enumerate(ranking.valid[:topk], 1)]
    yield from table(titles, rows, columns)


def _cells(candidate: Candidate) -> tuple[str, ...]:
    return (
        *map(str, candidate.block),
        megabytes(candidate.traffic),
        f"{candidate.smem / 1024:.1f}",
        str(candidate.blocks_per_sm),
        str(candidate.waves),
        f"{candidate.priority:.2e}",
        "+".join(candidate.binding),
    )


def megabytes(nbytes: int) -> str:
    """In units of 10^6 bytes, to one decimal; the largest in powers of ten."""
    value = nbytes / 1e6
    return f"{value:.1f}" if value < 1e8 else f"{value:.3e}"


def _why_none_valid(gemm: Gemm) -> str:
    # All figures grow with a block's extents, so the first candidate needs the least.
    least = next(candidates(gemm))
    demand, unit, limit = least.smem, "bytes of shared memory", gemm.smem_cap
    if least.rejected == "registers":
        demand, unit, limit = least.registers, "registers", REGISTERS
    return f"the smallest, {by(least.block)}, needs {number(demand)} {unit}, the limit is {number(limit)}"


def _self_test(gemm: Gemm, args: argparse.Namespace) -> int:
    if args.json:
        rows = []
        for candidate, found in watched(propagated_traffic(gemm), count_candidates(gemm)):
            error = relative_error(found, candidate.traffic)
            rows.append({"block": candidate.block, "closed": candidate.traffic, "propagated": found, "error": error})
        worst = max(row["error"] for row in rows)
        answer = {**head_of(gemm, args), "candidates": len(rows), "largest_error": worst, "rows": rows}
        print(json.dumps(answer, indent=1))
        return 0 if worst == 0 else 1
    return _print_self_test(gemm)


def _print_self_test(gemm: Gemm) -> int:
    """A line per candidate, as it is found; gives the exit code."""
    wide = [max(7, len(str(extent))) for extent in gemm.extents.values()]
    titles = (f"{title:>{w}}" for title, w in zip(("block_M", "block_N", "block_K"), wide))
    print(*titles, " closed MB", "   port MB", "rel. error", sep="  ")
    worst, different, count = 0.0, 0, 0
    pairs = propagated_traffic(gemm)
    if not sys.stdout.isatty():  # where the lines are seen, they are progress enough
        pairs = watched(pairs, count_candidates(gemm))
    for candidate, found in pairs:
        error = relative_error(found, candidate.traffic)
        worst, different, count = max(worst, error), different + (error != 0), count + 1
        block = (f"{extent:>{w}}" for extent, w in zip(candidate.block, wide))
        print(*block, f"{megabytes(candidate.traffic):>10}", f"{megabytes(found):>10}", f"{error:10.2e}", sep="  ")
    verdict = f"{number(different)} differ" if different else "all equal"
    print(f"{plural(count, 'candidate')}: {verdict}, largest relative error {worst:.2e}")
    return 1 if different else 0
