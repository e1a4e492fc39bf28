"""Whether the search found the best tile: every tile on the lattice of its steps is priced and set against it.

The lattice holds all combinations of the extents that the search tries along each axis. The search looks at a part of
it, and carver's model gives many tiles the same priority: both are counted, for all valid tiles, and for those that
also pass the shape check by which ranked tiles become hints (on tensor cores: whole instructions, and no remainder).
Exit code 1 where a better tile was never visited, or where no tile is left.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from ..arch.errors import CarverError
from ..policy import DefaultPolicy, TensorCorePolicy
from .cases import plain
from .display import Column, add_width, by, number, plural, some, table, width_of, wrapped
from .options import add_computation, device_of, parameters_of, size, template_of
from .reasons import Refusal, shape_refusal
from .trace import SearchTrace, Start, Tile, priority, trace_search

LIMIT = 20_000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Axis:
    """How far priorities depend on one axis."""

    name: str
    steps: int
    """Pairs of tiles that differ by one step along this axis alone."""
    equal: int
    """Those of them with one and the same priority."""
    tied_alone: bool
    """Whether two of the tiles that share the best priority differ along this axis alone."""

    @property
    def is_told_apart(self) -> bool:
        """Whether any step along the axis changes a priority."""
        return self.equal < self.steps


@dataclass(frozen=True, slots=True)
class Exchange:
    """Two axes exchanged: how often the model sees no difference."""

    axes: tuple[str, str]
    pairs: int
    """Pairs of different tiles that become each other."""
    equal: int
    """Those of them with one and the same priority."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the search found among some tiles of the lattice."""

    tiles: int
    """How many tiles of the lattice there are of this kind."""
    never_visited: int
    priorities: int
    """Different priorities among them."""
    best_priority: float | None
    """The best there is; None if there is no tile. (traffic + 1) x waves, less is better."""
    best: tuple[Tile, ...]
    """All tiles that have it, in the order of the lattice."""
    best_visited: int
    """How many of those the search visited."""
    search_best: Tile | None
    """The best that the search visited, the first in its ranking."""
    search_priority: float | None
    axes: tuple[Axis, ...]
    exchanges: tuple[Exchange, ...]

    @property
    def is_found(self) -> bool:
        """Whether the search visited a tile of the best priority."""
        return self.best_visited > 0


@dataclass(frozen=True, slots=True)
class Audit:
    """A search set against the whole lattice of its steps."""

    policy: str
    axes: tuple[str, ...]
    shape: Tile
    steps: tuple[Tile, ...]
    lattice: int
    """Tiles on the lattice."""
    visited: int
    stopped: str
    rejected: dict[str, int]
    """Invalid tiles of the lattice by reason."""
    refused: dict[str, int]
    """Valid tiles that the shape check refuses, by reason."""
    valid: Findings
    """Among all valid tiles."""
    usable: Findings
    """Among those that pass the shape check too."""


def audit_search(
    policy: DefaultPolicy, trace: SearchTrace | None = None, limit: int = LIMIT, progress: Progress | None = None
) -> Audit:
    """Price every tile of the lattice and compare with the search, whose ``trace`` is made if it is not given.

    ``progress`` is called now and then with the number of tiles done and of all. CarverError for more tiles than
    ``limit``, and where the policy does not search at all.
    """
    if trace is None:
        trace = trace_search(policy)
    begin = trace.begin
    if begin is None:
        raise CarverError("there is no search to audit: the outputs have different numbers of space axes")
    lattice = price_lattice(policy, begin, limit, progress)
    return Audit(
        policy=begin.policy,
        axes=begin.axes,
        shape=begin.shape,
        steps=begin.steps,
        lattice=lattice.tiles,
        visited=len(trace.tiles),
        stopped=trace.stopped or "",
        rejected=dict(lattice.rejected),
        refused=dict(Counter(why.reason for why in lattice.refused.values())),
        valid=_findings(trace, begin, lattice.valid),
        usable=_findings(trace, begin, lattice.usable),
    )


@dataclass(frozen=True, slots=True)
class Lattice:
    """All combinations of the search's steps, priced."""

    tiles: int
    """How many there are."""
    rejected: Counter[str]
    """Invalid ones by reason."""
    valid: dict[Tile, float]
    """The priority of each valid tile."""
    refused: dict[Tile, Refusal]
    """Why the shape check refuses a valid tile."""

    @property
    def usable(self) -> dict[Tile, float]:
        """The valid tiles that pass the shape check."""
        return {tile: price for tile, price in self.valid.items() if tile not in self.refused}


def price_lattice(policy: DefaultPolicy, begin: Start, limit: int = LIMIT, progress: Progress | None = None) -> Lattice:
    """Price every tile whose extents are steps of the search. CarverError for more than ``limit``."""
    count = math.prod(map(len, begin.steps))
    if count > limit:
        raise CarverError(
            f"the lattice has {number(count)} tiles ({' x '.join(str(len(steps)) for steps in begin.steps)} steps), "
            f"more than the limit of {number(limit)}; --limit {count} allows them"
        )
    valid: dict[Tile, float] = {}
    refused: dict[Tile, Refusal] = {}
    rstep_map = {node: policy._assign_reduce_step(node) for node in policy.ordered_nodes}
    watcher, before = SearchTrace(policy), policy.trace
    policy.trace = watcher
    try:
        for done, tile in enumerate(itertools.product(*begin.steps)):
            if progress is not None and done % 100 == 0:
                progress(done, count)
            td = policy.compute_tile_dict(list(tile), rstep_map)
            if td.valid:
                valid[tile] = priority(td)
                why = shape_refusal(policy, td)
                if why is not None:
                    refused[tile] = why
    finally:
        policy.trace = before
    if progress is not None:
        progress(count, count)
    return Lattice(count, Counter(reason for _, reason, _, _ in watcher.rejected), valid, refused)


def _findings(trace: SearchTrace, begin: Start, prices: dict[Tile, float]) -> Findings:
    visited = [tile for tile in prices if tile in trace.index_of]
    ranking = [tuple(td.output_tile) for td in trace.ranking]
    search_best = next((tile for tile in ranking if tile in prices), None)
    best_priority = min(prices.values(), default=None)
    best = tuple(tile for tile, price in prices.items() if price == best_priority)
    return Findings(
        tiles=len(prices),
        never_visited=len(prices) - len(visited),
        priorities=len(set(prices.values())),
        best_priority=plain(best_priority),
        best=best,
        best_visited=sum(tile in trace.index_of for tile in best),
        search_best=search_best,
        search_priority=None if search_best is None else plain(prices[search_best]),
        axes=tuple(_axis(begin, i, prices, best) for i in range(len(begin.axes))),
        exchanges=tuple(_exchanges(begin, prices)),
    )


def _axis(begin: Start, i: int, prices: dict[Tile, float], best: Sequence[Tile]) -> Axis:
    steps = equal = 0
    following = dict(zip(begin.steps[i], begin.steps[i][1:]))
    for tile, price in prices.items():
        if tile[i] in following:
            other = prices.get((*tile[:i], following[tile[i]], *tile[i + 1 :]))
            if other is not None:
                steps += 1
                equal += other == price
    # Tiles that are equal but for this axis have the same rest.
    rests = Counter((*tile[:i], *tile[i + 1 :]) for tile in best)
    return Axis(begin.axes[i], steps, equal, any(count > 1 for count in rests.values()))


def _exchanges(begin: Start, prices: dict[Tile, float]) -> Iterator[Exchange]:
    for i, j in itertools.combinations(range(len(begin.axes)), 2):
        pairs = equal = 0
        for tile, price in prices.items():
            if tile[i] < tile[j]:
                exchanged = (*tile[:i], tile[j], *tile[i + 1 : j], tile[i], *tile[j + 1 :])
                other = prices.get(exchanged)
                if other is not None:
                    pairs += 1
                    equal += other == price
        yield Exchange((begin.axes[i], begin.axes[j]), pairs, equal)


# ---------------------------------------------------------------------------------------------------------------------
# As text


def audit_lines(audit: Audit, columns: int) -> Iterator[str]:
    """The audit as text."""
    steps = " x ".join(str(len(steps)) for steps in audit.steps)
    extents = ", ".join(f"{name}={extent}" for name, extent in zip(audit.axes, audit.shape))
    yield from wrapped(f"{audit.policy}, output {extents}", columns, 0, 2)
    ended = "the queue was empty" if audit.stopped == "exhausted" else "more than 2000 were seen"
    visited = f"the search visited {number(audit.visited)}, until {ended}"
    text = f"lattice  {plural(audit.lattice, 'tile')} ({steps}); {visited}"
    yield from wrapped(text, columns, 0, 2)
    if audit.rejected:
        yield from wrapped(f"invalid  {_counts(audit.rejected)}", columns, 0, 2)
    yield ""
    yield from _findings_lines("valid", "valid tile", audit.valid, columns)
    yield ""
    name = "tensor-core filter" if audit.policy == TensorCorePolicy.__name__ else "shape check"
    if audit.refused:
        yield from wrapped(f"{name}  refuses {_counts(audit.refused)}", columns, 0, 2)
        yield from _findings_lines("pass", "valid tile that passes", audit.usable, columns)
    else:
        yield f"{name}  refuses none"


def _counts(reasons: dict[str, int]) -> str:
    return ", ".join(f"{number(count)} for {reason}" for reason, count in reasons.items())


def _findings_lines(title: str, what: str, f: Findings, columns: int) -> Iterator[str]:
    if f.best_priority is None:
        yield from wrapped(f"{title}  no tile of the lattice is left: there is no best", columns, 0, 2)
        return
    never = f"{number(f.never_visited)} never visited"
    yield from wrapped(f"{title}  {plural(f.tiles, 'tile')} of the lattice, {never}", columns, 0, 2)
    yield from wrapped(f"best  priority {number(f.best_priority)}: {some(f.best)}", columns, 2, 4)
    if f.is_found:
        seen = "" if f.best_visited == len(f.best) else f", {f.best_visited} of them"
        text = f"yes, it visited the best{seen}; first in its ranking is {by(f.search_best)}"
    elif f.search_best is None:
        text = f"no, it visited no {what}"
    else:
        ratio = f"{f.search_priority / f.best_priority:.4g} times the best" if f.best_priority > 0 else "not the best"
        text = f"no, its best is {by(f.search_best)}, priority {number(f.search_priority)}, {ratio}"
    yield from wrapped(f"found  {text}", columns, 2, 4)
    sharing = "one tile alone has" if len(f.best) == 1 else f"{len(f.best)} tiles share"
    text = f"{sharing} the top priority; {plural(f.priorities, 'different priority')} in all"
    yield from wrapped(f"ties  {text}", columns, 2, 4)
    yield from _axis_lines(f, columns)


def _axis_lines(f: Findings, columns: int) -> Iterator[str]:
    rows = []
    for axis in f.axes:
        if not axis.steps:
            continue
        notes = []
        if not axis.is_told_apart:
            notes.append("the model cannot tell it apart")
        if axis.tied_alone:
            notes.append("top ties differ along it alone")
        rows.append((axis.name, number(axis.steps), number(axis.equal), "; ".join(notes)))
    for exchange in f.exchanges:
        if not exchange.pairs:
            continue
        note = "interchangeable" if exchange.equal == exchange.pairs else ""
        rows.append((" <-> ".join(exchange.axes), number(exchange.pairs), number(exchange.equal), note))
    titles = [Column("axis"), Column("pairs", ">"), Column("same priority", ">"), Column("")]
    yield from table(titles, rows, columns, 2)


# ---------------------------------------------------------------------------------------------------------------------
# The command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_computation(parser, _add_own)


def _add_own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=size, default=LIMIT, metavar="N", help=f"refuse lattices of more tiles (default: {LIMIT})"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    add_width(parser)


def run(args: argparse.Namespace) -> int:
    from .recommend import device_line
    from .search import search_template

    device = device_of(args)
    search = search_template(template_of(args, device), device, 1)
    audit = audit_search(search.policy, search.trace, args.limit, _show_progress if sys.stderr.isatty() else None)
    if args.json:
        head = {"template": args.template.name, "parameters": parameters_of(args), "device": device_line(device)}
        print(json.dumps({**head, **plain(asdict(audit))}, indent=1, allow_nan=False))
    else:
        print(f"{args.template.name} on {device_line(device)}")
        for line in audit_lines(audit, width_of(args)):
            print(line)
    return 0 if audit.valid.is_found and audit.usable.is_found else 1


def _show_progress(done: int, total: int) -> None:
    end = "\n" if done == total else "\r"
    print(f"{number(done)} of {number(total)} tiles", end=end, file=sys.stderr, flush=True)
