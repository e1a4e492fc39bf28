"""What the search did, event by event: each tile visited, why, with its figures; each rejected, with both numbers.

A line that begins with "take" is the cheapest tile leaving the queue; below it are the tiles it grows into, one per
axis, last axis first. priority = (traffic + 1) x waves decides, less is better. carver step walks the same events one
by one, carver explain shows the arithmetic behind one tile.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..arch.errors import one_line
from ..policy import DefaultPolicy
from ..roller.hint import TileDict
from ..roller.node import Node
from .cases import plain
from .display import Column, add_width, by, can_draw, length_bar, number, plural, some, table, width_of, wrapped
from .options import add_computation, device_of, parameters_of, size, template_of
from .reasons import VENDORED, Refusal, shape_refusal

Tile = tuple[int, ...]

# ---------------------------------------------------------------------------------------------------------------------
# Events, in the order in which a search tells them


@dataclass(frozen=True, slots=True)
class Start:
    """The search begins."""

    policy: str
    """``DefaultPolicy`` or ``TensorCorePolicy``."""
    axes: tuple[str, ...]
    """Names of the output's space axes."""
    shape: Tile
    """Their extents, in elements."""
    base_tile: Tile
    """The first tile."""
    steps: tuple[Tile, ...]
    """The extents to try along each axis, ascending."""
    rstep: tuple[tuple[str, dict[str, int]], ...]
    """For each node, by name, the steps of its reduction axes with which tiles are priced."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A tile is found invalid. Its ``Visit`` follows."""

    tile: Tile
    reason: str
    """"shared memory" or "registers"."""
    demand: float
    """Bytes, or registers, of one thread block."""
    limit: float
    """What the device has of them."""
    vendored: str
    """The vendored test that rejects, a path below ``tilelang/`` and a line."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A tile has been priced. A figure of -1 was not computed: the tile was rejected before."""

    index: int
    """The number of the visit, from 0."""
    tile: Tile
    parent: Tile | None
    """The tile that grew into this one; None for the first."""
    axis: int | None
    """The axis along which it grew."""
    valid: bool
    traffic: float
    """Bytes moved to and from global memory."""
    smem_cost: int
    """Bytes of shared memory per block."""
    grid_size: int
    """Thread blocks."""
    block_per_SM: int
    """Thread blocks that run at once on a multiprocessor."""
    num_wave: int
    """Waves of thread blocks."""
    priority: float | None
    """(traffic + 1) x num_wave, less is better; None for an invalid tile."""


@dataclass(frozen=True, slots=True)
class Push:
    """A valid tile goes into the queue."""

    tile: Tile
    priority: float
    queued: int
    """Tiles in the queue afterwards."""


@dataclass(frozen=True, slots=True)
class Pop:
    """The cheapest tile leaves the queue, to be grown; where priorities tie, the lesser tile."""

    tile: Tile
    priority: float
    queued: int
    """Tiles left in the queue."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A tile has come up that was visited before."""

    tile: Tile
    parent: Tile
    axis: int
    """The axis along which the parent grew."""
    index: int
    """The number of the first visit."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The search ends."""

    reason: str
    """"exhausted" (the queue is empty) or "cap" (more than 2000 tiles were seen)."""
    visited: int
    """Tiles visited."""
    queued: int
    """Tiles left in the queue."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The valid tiles have been put in order."""

    order: tuple[int, ...]
    """The numbers of their visits, best first."""


@dataclass(frozen=True, slots=True)
class Hinted:
    """A ranked tile has become a hint."""

    tile: Tile
    rank: int
    """Its place in the ranking, from 1."""
    smem_cost: int
    """Bytes of shared memory once the reduction steps have been grown."""
    rstep: tuple[tuple[str, dict[str, int]], ...]
    """The grown steps, by node."""
    hints: tuple[tuple[str, dict[str, Any]], ...]
    """For each node, by name, what its hint says."""


@dataclass(frozen=True, slots=True)
class NoHint:
    """A ranked tile has become no hint."""

    tile: Tile
    rank: int
    """Its place in the ranking, from 1."""
    reason: str
    """"instruction", "divisibility", "empty", "grid", or "block size"."""
    node: str | None
    """The node that it is about."""
    demand: float
    limit: float
    """The two numbers that do not go together; ``text`` says what they are."""
    text: str
    vendored: str
    """The vendored test that rejects, a path below ``tilelang/`` and a line."""


Event = Start | Reject | Visit | Push | Pop | Duplicate | Stop | Ranked | Hinted | NoHint

# Names of the events in files.
KINDS: dict[type, str] = {
    Start: "start",
    Reject: "reject",
    Visit: "visit",
    Push: "push",
    Pop: "pop",
    Duplicate: "duplicate",
    Stop: "stop",
    Ranked: "ranked",
    Hinted: "hint",
    NoHint: "no hint",
}

# ---------------------------------------------------------------------------------------------------------------------
# The collector

Sink = Callable[[Event], None]


def discard(event: Event) -> None:
    """The default sink: events are collected and go nowhere else."""


class SearchTrace:
    """Collects the events of one search: set it as ``policy.trace`` before ``policy.emit_config``.

    ``events`` holds them in order, and each goes to ``sink`` as it happens. The objects behind them are kept as well:
    ``tiles`` by number of visit, ``ranking``, ``found`` (rank from 0, tile, hint), ``refused`` (tile, reason) and
    ``rejected`` (tile, reason, demand, limit). Growing the reduction steps for a hint changes a tile's ``rstep_map``
    and ``smem_cost``; the events keep the figures by which it was ranked.
    """

    def __init__(self, policy: DefaultPolicy, sink: Sink = discard) -> None:
        self.policy = policy
        self.sink = sink
        self.events: list[Event] = []
        self.tiles: list[TileDict] = []
        self.index_of: dict[Tile, int] = {}
        self.ranking: list[TileDict] = []
        self.found: list[tuple[int, TileDict, Any]] = []
        self.refused: list[tuple[TileDict, str]] = []
        self.rejected: list[tuple[TileDict, str, float, float]] = []
        self.stopped: str | None = None
        self._rank_of: dict[int, int] = {}
        self._queued = 0

    def _tell(self, event: Event) -> None:
        self.events.append(event)
        self.sink(event)

    # -- What the policy calls; see _TRACE_EVENTS in policy/default.py ---------------------------------------------

    def start(self, init_tile: list[int], steps: list[list[int]], rstep_map: dict[Node, dict[str, int]]) -> None:
        node = self.policy.output_nodes[0]
        name = type(self.policy).__name__
        shape, all_steps = tuple(node.get_space_dim()), tuple(map(tuple, steps))
        self._tell(Start(name, axis_names(node), shape, tuple(init_tile), all_steps, self._by_node(rstep_map)))

    def reject(self, td: TileDict, reason: str, demand: float, limit: float) -> None:
        self.rejected.append((td, reason, demand, limit))
        self._tell(Reject(tuple(td.output_tile), reason, plain(demand), plain(limit), VENDORED[reason]))

    def visit(self, td: TileDict, parent: list[int] | None, axis: int | None) -> None:
        tile, index = tuple(td.output_tile), len(self.tiles)
        self.tiles.append(td)
        self.index_of[tile] = index
        figures = (td.traffic, td.smem_cost, td.grid_size, td.block_per_SM, td.num_wave)
        price = priority(td) if td.valid else None
        self._tell(Visit(index, tile, None if parent is None else tuple(parent), axis, td.valid, *figures, price))

    def duplicate(self, tile: list[int], parent: list[int], axis: int) -> None:
        key = tuple(tile)
        self._tell(Duplicate(key, tuple(parent), axis, self.index_of[key]))

    def push(self, price: float, tile: list[int]) -> None:
        self._queued += 1
        self._tell(Push(tuple(tile), price, self._queued))

    def pop(self, price: float, tile: list[int]) -> None:
        self._queued -= 1
        self._tell(Pop(tuple(tile), price, self._queued))

    def stop(self, reason: str, count: int) -> None:
        self.stopped = reason
        self._tell(Stop(reason, count, self._queued))

    def ranked(self, tiles: list[TileDict]) -> None:
        self.ranking = tiles
        self._rank_of = {id(td): rank for rank, td in enumerate(tiles)}
        self._tell(Ranked(tuple(self.index_of[tuple(td.output_tile)] for td in tiles)))

    def hint(self, td: TileDict, hint: Any) -> None:
        from .blocksizes import hint_fields

        rank = self._rank_of[id(td)]
        self.found.append((rank, td, hint))
        parts = hint if isinstance(hint, dict) else {self.policy.ordered_nodes[0]: hint}
        hints = tuple((node.name, hint_fields(part)) for node, part in parts.items())
        self._tell(Hinted(tuple(td.output_tile), rank + 1, plain(td.smem_cost), self._by_node(td.rstep_map), hints))

    def no_hint(self, td: TileDict, reason: str) -> None:
        self.refused.append((td, reason))
        rank = self._rank_of[id(td)] + 1
        why = shape_refusal(self.policy, td) if reason == "tile shape" else _no_block_size(self.policy, td)
        tile = tuple(td.output_tile)
        self._tell(NoHint(tile, rank, why.reason, why.node, why.demand, why.limit, why.text, why.vendored))

    # -- Reading it ------------------------------------------------------------------------------------------------

    def _by_node(self, rstep_map: dict[Node, dict[str, int]]) -> tuple[tuple[str, dict[str, int]], ...]:
        return tuple((node.name, dict(rstep_map[node])) for node in self.policy.ordered_nodes if node in rstep_map)

    def of(self, kind: type) -> list[Any]:
        """The events of one class."""
        return [event for event in self.events if type(event) is kind]

    @property
    def begin(self) -> Start | None:
        """The first event; None where there was no search."""
        return self.events[0] if self.events else None

    def __repr__(self) -> str:
        stopped = self.stopped or "not stopped"
        return f"<SearchTrace of {type(self.policy).__name__}: {len(self.tiles)} tiles, {stopped}>"


def _no_block_size(policy: DefaultPolicy, td: TileDict) -> Refusal:
    from .blocksizes import no_block_size

    return no_block_size(policy, td)


def priority(td: TileDict) -> float:
    """What tiles are ranked by, less is better: (bytes moved per tile + 1) times waves."""
    return (td.traffic + 1) * td.num_wave


def axis_names(node: Any) -> tuple[str, ...]:
    """The names of a node's space axes: of the reduction's iterators, or of the loops; numbers if these do not fit."""
    count = len(node.get_space_dim())
    block = node.reduction_block or node.schedule_stages[0]
    names = tuple(axis.var.name for axis in node.block_analyzer.get_spatial_axis(block))
    return names if len(names) == count else tuple(f"axis{i}" for i in range(count))


def trace_search(policy: DefaultPolicy, topk: int = 10, sink: Sink = discard) -> SearchTrace:
    """The trace of ``policy.emit_config(topk)``. The policy's own ``trace`` is put back."""
    trace, before = SearchTrace(policy, sink), policy.trace
    policy.trace = trace
    try:
        policy.emit_config(topk)
    finally:
        policy.trace = before
    return trace


# ---------------------------------------------------------------------------------------------------------------------
# Counting


@dataclass(frozen=True, slots=True)
class Summary:
    """What a search came to, or has come to so far, counted."""

    visited: int
    valid: int
    rejected: dict[str, int]
    """Invalid tiles by reason."""
    duplicates: int
    """Times a tile came up that had been visited before."""
    taken: int
    """Tiles taken from the queue."""
    queued: int
    """Tiles in the queue in the end."""
    longest_queue: int
    stopped: str | None
    """"exhausted" or "cap"; None while the search goes on."""
    improvements: tuple[tuple[int, Tile, float], ...]
    """The best priority over time: ``(number of the visit, tile, priority)`` of each tile better than all before it."""
    ties: tuple[Tile, ...]
    """The valid tiles that share the best priority, in the order of the visits."""
    priorities: int
    """Different priorities among the valid tiles."""
    hints: int
    no_hint: dict[str, int]
    """Ranked tiles that became no hint, by reason, as far as carver went down the ranking."""


def summarize(events: Iterable[Event]) -> Summary:
    """Count the events of a search, or the first of them."""
    of: dict[type, list[Any]] = {kind: [] for kind in KINDS}
    for event in events:
        of[type(event)].append(event)
    improvements: list[tuple[int, Tile, float]] = []
    valid = [visit for visit in of[Visit] if visit.valid]
    for visit in valid:
        if not improvements or visit.priority < improvements[-1][2]:
            improvements.append((visit.index, visit.tile, visit.priority))
    return Summary(
        visited=len(of[Visit]),
        valid=len(valid),
        rejected=dict(Counter(event.reason for event in of[Reject])),
        duplicates=len(of[Duplicate]),
        taken=len(of[Pop]),
        queued=len(of[Push]) - len(of[Pop]),
        longest_queue=max((event.queued for event in of[Push]), default=0),
        stopped=of[Stop][0].reason if of[Stop] else None,
        improvements=tuple(improvements),
        ties=tuple(visit.tile for visit in valid if visit.priority == improvements[-1][2]),
        priorities=len({visit.priority for visit in valid}),
        hints=len(of[Hinted]),
        no_hint=dict(Counter(event.reason for event in of[NoHint])),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Writers: as lines of JSON, as text, as a summary


def as_dict(event: Event) -> dict[str, Any]:
    """An event as plain values, its kind under "event"."""
    values = {field.name: plain(getattr(event, field.name)) for field in fields(event)}
    return {"event": KINDS[type(event)], **values}


def to_jsonl(head: dict[str, Any], traces: Iterable[SearchTrace]) -> Iterator[str]:
    """One JSON object a line: first ``head`` as the event "computation", then the events of each search."""
    for item in [{"event": "computation", **head}, *(as_dict(event) for trace in traces for event in trace.events)]:
        yield json.dumps(item, separators=(",", ":"), allow_nan=False)


class Lines:
    """Events as text, in columns that fit all of a trace. ``labelled``: each line names its figures."""

    def __init__(self, trace: SearchTrace, columns: int, labelled: bool = False) -> None:
        self.trace = trace
        self.columns = columns
        self.labelled = labelled
        begin, visits = trace.begin, trace.of(Visit)
        self.axes = begin.axes if begin else ()
        self.rejects = {event.tile: event for event in trace.of(Reject)}
        rows = [self._figures(visit) for visit in visits if visit.valid]
        self.titles = [name for name, _ in _FIGURES]
        least = [1 if labelled else len(title) for title in self.titles]
        self.widths = [max([least[i], *(len(row[i]) for row in rows)]) for i in range(len(least))]
        self.number_width = max(len(str(len(visits))), 2)
        self.axis_width = max((len(name) for name in self.axes), default=1)
        self.tile_width = max((len(by(visit.tile)) for visit in visits), default=1)
        self.shown = list(range(len(least)))
        # Blocks per multiprocessor and shared memory follow from the rest, as far as ranking goes: they give way first.
        for given_up in (2, 1, 3, 0):
            if self._wide() <= columns:
                break
            self.shown.remove(given_up)

    def _wide(self) -> int:
        lead = len(self._lead("", None, ()))
        labels = sum(len(self.titles[i]) + 1 for i in self.shown) if self.labelled else 0
        return lead + labels + sum(2 + self.widths[i] for i in self.shown)

    @staticmethod
    def _figures(visit: Visit) -> list[str]:
        return [number(None if value == -1 else value) for value in (getattr(visit, field) for _, field in _FIGURES)]

    def of(self, event: Event) -> list[str]:
        """The event's lines; none for what the line before it says already."""
        return _WRITERS[type(event)](self, event)

    def start(self, event: Start) -> list[str]:
        extents = ", ".join(f"{name}={extent}" for name, extent in zip(event.axes, event.shape))
        text = f"start  {event.policy}, output {extents}, first tile {by(event.base_tile)}"
        lines = wrapped(text, self.columns, 0, 7)
        for name, steps in zip(event.axes, event.steps):
            lines += wrapped(f"steps of {name}: {' '.join(map(str, steps))}", self.columns, 7, 9)
        for node, rstep in event.rstep:
            if rstep:
                whose = f" of {node}" if len(event.rstep) > 1 else ""
                lines += wrapped(f"reduction steps{whose}: {_steps(rstep)}", self.columns, 7, 9)
        if not self.labelled:
            titles = "  ".join(f"{self.titles[i]:>{self.widths[i]}}" for i in self.shown)
            lines.append(f"{'':{len(self._lead('', None, ()))}}  {titles}")
        return lines

    def _lead(self, index: str, axis: int | None, tile: Tile) -> str:
        name = "" if axis is None else self.axes[axis]
        return f"  {index:>{self.number_width}}  {name:<{self.axis_width}} {by(tile):<{self.tile_width}}"

    def visit(self, event: Visit) -> list[str]:
        figures = self._figures(event)
        lead = self._lead(str(event.index), event.axis, event.tile)
        if not event.valid:
            found = self.rejects[event.tile]
            what = "smem" if found.reason == "shared memory" else found.reason
            line = f"{lead}  rejected: {what} {number(found.demand)} > {number(found.limit)}"
            places = (f"  {found.vendored}", f"  {found.vendored.rsplit('/')[-1]}", "")
            return [next(line + place for place in places if len(line + place) <= self.columns or not place)]
        labels = [f"{title} " if self.labelled else "" for title in self.titles]
        cells = [f"{labels[i]}{figures[i]:>{self.widths[i]}}" for i in self.shown]
        return [f"{lead}  {'  '.join(cells)}"]

    def pop(self, event: Pop) -> list[str]:
        return [f"take {by(event.tile)}, priority {number(event.priority)}; {event.queued} left in the queue"]

    def duplicate(self, event: Duplicate) -> list[str]:
        return [f"{self._lead('', event.axis, event.tile)}  seen as {event.index}"]

    def stop(self, event: Stop) -> list[str]:
        if event.reason == "exhausted":
            return [f"stop after {plural(event.visited, 'tile')}: the queue is empty"]
        return [f"stop after {plural(event.visited, 'tile')}: more than 2000, {event.queued} left in the queue"]

    def ranked(self, event: Ranked) -> list[str]:
        if not event.order:
            return ["ranked: no tile is valid"]
        tiles = [self.trace.tiles[index].output_tile for index in event.order]
        return wrapped(f"ranked {len(tiles)}: {some(tiles)}", self.columns, 0, 2)

    def hinted(self, event: Hinted) -> list[str]:
        parts = []
        for node, fields_of in event.hints:
            name = f"{node}: " if len(event.hints) > 1 else ""
            told = [f"{key} {_short(value)}" for key, value in fields_of.items() if _is_told(key, value)]
            parts.append(name + ", ".join(told))
        cap = self.trace.policy.arch.smem_cap
        # Growing the reduction steps may do that: carver does not check again.
        over = f", over the device's {number(cap)}" if event.smem_cost > cap else ""
        parts.append(f"{number(event.smem_cost)} B shared{over}")
        text = f"hint   rank {event.rank}, {by(event.tile)}: {'; '.join(parts)}"
        return wrapped(text, self.columns, 0, 7)

    def no_hint(self, event: NoHint) -> list[str]:
        text = f"none   rank {event.rank}, {by(event.tile)}: {event.text} ({event.vendored})"
        return wrapped(text, self.columns, 0, 7)

    def nothing(self, event: Event) -> list[str]:
        return []


_FIGURES = (
    ("traffic", "traffic"),
    ("smem", "smem_cost"),
    ("blk/SM", "block_per_SM"),
    ("waves", "num_wave"),
    ("priority", "priority"),
)

_WRITERS: dict[type, Callable[[Lines, Any], list[str]]] = {
    Start: Lines.start,
    Reject: Lines.nothing,
    Visit: Lines.visit,
    Push: Lines.nothing,
    Pop: Lines.pop,
    Duplicate: Lines.duplicate,
    Stop: Lines.stop,
    Ranked: Lines.ranked,
    Hinted: Lines.hinted,
    NoHint: Lines.no_hint,
}


def _steps(rstep: dict[str, int]) -> str:
    return ", ".join(f"{name}={extent}" for name, extent in rstep.items())


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}:{item}" for key, item in value.items())
    return by(value) if isinstance(value, list) else str(value)


def _is_told(key: str, value: Any) -> bool:
    # A hint's line leaves out what goes without saying.
    return value not in ([], {}, None) and key not in ("use_tc", "cached_tensors", "rasterization")


def summary_lines(summary: Summary, columns: int) -> list[str]:
    """A summary as text."""
    rejected = ", ".join(f"{count} for {reason}" for reason, count in summary.rejected.items())
    ended = {
        "exhausted": "ended with an empty queue",
        "cap": "ended because more than 2000 were seen",
        None: "the search goes on",
    }[summary.stopped]
    no_hint = "".join(f", {plural(count, 'tile')} none for {why}" for why, count in summary.no_hint.items())
    queue = f"{summary.taken} taken, {summary.queued} waiting, {summary.longest_queue} at most"
    best = "none"
    if summary.ties:
        shared = "alone" if len(summary.ties) == 1 else f"shared by {len(summary.ties)} tiles"
        best = f"{number(summary.improvements[-1][2])}, {shared}: {some(summary.ties)}"
    lines = []
    for title, text in (
        ("visited", f"{plural(summary.visited, 'tile')}, {summary.valid} valid; {ended}"),
        ("rejected", rejected or "none"),
        ("queue", f"{queue}; {summary.duplicates} times a tile came up again"),
        ("ranking", plural(summary.priorities, "different priority")),
        ("best", best),
        ("hints", f"{summary.hints}{no_hint}"),
    ):
        lines += wrapped(f"{title:<9} {text}", columns, 0, 10)
    return lines + _improvement_lines(summary, columns)


def _improvement_lines(summary: Summary, columns: int) -> list[str]:
    """The best priority over time, with bars of how far it was above the last one, on a logarithmic scale."""
    if not summary.improvements:
        return []
    glyph = "█" if can_draw() else "#"
    # Products of enormous extents wrap around, in carver too, and priorities may then be 0 or less.
    last = summary.improvements[-1][2]
    rows = [
        (number(index), by(tile), number(price), f"{price / last:,.4g}" if last > 0 else "-")
        for index, tile, price in summary.improvements
    ]
    columns_of = [Column("visit", ">"), Column("tile"), Column("best priority", ">"), Column("x last", ">")]
    lines = table(columns_of, rows, columns, 2)
    widest = max(map(len, lines))
    room = min(columns - widest - 2, 40)
    if room >= 10:
        greatest = _magnitude(summary.improvements[0][2], last)
        for i, (_, _, price) in enumerate(summary.improvements, 1):
            lines[i] = f"{lines[i]:<{widest}}  {length_bar(_magnitude(price, last), greatest, room, glyph)}".rstrip()
    return ["best priority over time", *lines]


def _magnitude(price: float, last: float) -> float:
    return math.log10(price / last) if last > 0 and price > 0 else 0.0


# ---------------------------------------------------------------------------------------------------------------------
# The command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_computation(parser, _add_own)


def _add_own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topk", type=size, default=10, metavar="N", help="at most so many hints (default: 10)")
    parser.add_argument("--jsonl", metavar="FILE", help="write the events, one JSON object a line (- for stdout)")
    parser.add_argument("--summary", action="store_true", help="counts instead of events")
    add_width(parser)


def run(args: argparse.Namespace) -> int:
    from .search import search_template

    device = device_of(args)
    search = search_template(template_of(args, device), device, args.topk)
    searches = search.searches()
    traces = [item.trace for item in searches]
    if args.jsonl is not None:
        write_jsonl(args.jsonl, _head(args, device), traces)
        if not args.summary:
            return 0
    out = sys.stderr if args.jsonl == "-" else sys.stdout
    columns = width_of(args)
    for item in searches:
        if not item.trace.events:
            print("no search: the outputs have different numbers of space axes", file=out)
        elif args.summary:
            print(type(item.policy).__name__, *summary_lines(summarize(item.trace.events), columns), sep="\n", file=out)
        else:
            lines = Lines(item.trace, columns)
            for event in item.trace.events:
                for line in lines.of(event):
                    print(line, file=out)
    for note in notes_of(search):
        print("\n".join(wrapped(note, columns, 0, 2)), file=out)
    return 0


def notes_of(search: Any) -> Iterator[str]:
    """What a reader should know beside the events."""
    from .search import why_no_hint

    if search.why_no_tensor_core is not None:
        yield f"no tensor cores: {search.why_no_tensor_core}"
    if not search.hints:
        yield f"no hint: {why_no_hint(search)}"


def _head(args: argparse.Namespace, device: Any) -> dict[str, Any]:
    from .recommend import device_line

    parameters = {name: plain(value) for name, value in parameters_of(args).items()}
    return {"template": args.template.name, "parameters": parameters, "device": device_line(device), "topk": args.topk}


def write_jsonl(path: str, head: dict[str, Any], traces: Sequence[SearchTrace]) -> None:
    """Write the events whole or not at all; "-" writes them to stdout."""
    from .recording import write_atomically

    text = "".join(line + "\n" for line in to_jsonl(head, traces))
    if path == "-":
        sys.stdout.write(text)
        return
    write_atomically(Path(path), text.encode())
    print(f"{one_line(path)}: {plural(text.count(chr(10)) - 1, 'event')}", file=sys.stderr)
