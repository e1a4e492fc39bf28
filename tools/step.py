"""Walk a search in the terminal, event by event: each tile taken, visited, rejected, ranked.

Commands are read from standard input, so a walk can be scripted: printf '%s\\n' r u e | carver step ...
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from ..arch.errors import CarverError
from .display import Column, add_width, by, check_tile, number, plural, table, tile_text, width_of, wrapped
from .options import add_computation, device_of, size, template_of
from .trace import (
    Duplicate,
    Event,
    Lines,
    NoHint,
    Pop,
    Push,
    SearchTrace,
    Tile,
    Visit,
    notes_of,
    summarize,
    summary_lines,
)

HELP = (
    ("Enter, n [N]", "the next event, or the next N"),
    ("r", "run to the next rejection: of a tile, or of a ranked tile that becomes no hint"),
    ("t TILE", "go to the visit of a tile, for example: t 64 128"),
    ("b [N]", "back one event, or N"),
    ("u", "the queue as it is now, cheapest first"),
    ("e [TILE]", "explain the present tile, or any other"),
    ("s", "statistics so far"),
    ("g", "go on to the end"),
    ("q", "quit"),
    ("h, ?", "this list"),
)
LONGER = {
    "": "n",
    "next": "n",
    "reject": "r",
    "tile": "t",
    "back": "b",
    "queue": "u",
    "explain": "e",
    "stats": "s",
    "statistics": "s",
    "end": "g",
    "quit": "q",
    "exit": "q",
    "help": "h",
    "?": "h",
}
QUEUE_SHOWN = 20


class NotUnderstood(Exception):
    """A command that cannot be carried out; the text says why, in one line."""


class Walk:
    """A place in the events of a search.

    ``places`` are the positions in ``trace.events`` of those events that are shown: rejections and pushes are told with
    the visit they belong to. ``at`` is the place shown last, -1 before the first.
    """

    def __init__(self, trace: SearchTrace, columns: int) -> None:
        self.trace = trace
        self.columns = columns
        self.lines = Lines(trace, columns, labelled=True)
        self.places = [i for i, event in enumerate(trace.events) if self.lines.of(event)]
        self.at = -1

    @property
    def event(self) -> Event | None:
        """The event shown last."""
        return self.trace.events[self.places[self.at]] if self.at >= 0 else None

    @property
    def past(self) -> list[Event]:
        """All events so far, with the silent ones that belong to the last."""
        if self.at < 0:
            return []
        end = self.places[self.at + 1] if self.at + 1 < len(self.places) else len(self.trace.events)
        return self.trace.events[:end]

    @property
    def tile(self) -> Tile | None:
        """The tile of the last event that has one."""
        return next((event.tile for event in reversed(self.past) if hasattr(event, "tile")), None)

    def queue(self) -> list[tuple[float, Tile]]:
        """The queue now: priority and tile, cheapest first, as carver would take them."""
        waiting: dict[Tile, float] = {}
        for event in self.past:
            if type(event) is Push:
                waiting[event.tile] = event.priority
            elif type(event) is Pop:
                del waiting[event.tile]
        return sorted((price, tile) for tile, price in waiting.items())

    # -- Commands: each gives the lines to print -------------------------------------------------------------------

    def do(self, command: str) -> Iterator[str]:
        """Carry out a command line. Raises NotUnderstood."""
        words = command.split()
        name = words[0].lower() if words else ""
        name = LONGER.get(name, name)
        if name not in _COMMANDS:
            raise NotUnderstood(f"unknown command {name[:40]!r}; h lists them")
        yield from _COMMANDS[name](self, words[1:])

    def next(self, words: list[str]) -> Iterator[str]:
        count = _count(words)
        if self.at + 1 == len(self.places):
            yield "at the end"
            return
        for _ in range(min(count, len(self.places) - 1 - self.at)):
            self.at += 1
            yield from self.show()

    def back(self, words: list[str]) -> Iterator[str]:
        count = _count(words)
        if self.at <= 0:
            yield "at the beginning"
            return
        self.at = max(self.at - count, 0)
        yield from self.show()

    def run_to_rejection(self, words: list[str]) -> Iterator[str]:
        _none(words)

        def is_rejection(event: Event) -> bool:
            return type(event) is NoHint or type(event) is Visit and not event.valid

        yield from self._run_to(is_rejection, "no more rejections")

    def run_to_tile(self, words: list[str]) -> Iterator[str]:
        tile = self._tile(words)
        place = next((i for i, at in enumerate(self.places) if self._visits(self.trace.events[at], tile)), None)
        if place is None:
            from .explain import explain_tile

            yield from self._wrap(f"{by(tile)} was not visited: {self._explained(explain_tile, tile).standing.why}")
            return
        if place < self.at:
            yield f"back {plural(self.at - place, 'event')}"
        self._jump(place)
        yield from self._show_with_parent()

    @staticmethod
    def _visits(event: Event, tile: Tile) -> bool:
        return type(event) is Visit and event.tile == tile

    def to_end(self, words: list[str]) -> Iterator[str]:
        _none(words)
        if self.at + 1 == len(self.places):
            yield "at the end"
            return
        yield from self._run_to(lambda event: event is self.trace.events[self.places[-1]], "")

    def show_queue(self, words: list[str]) -> Iterator[str]:
        _none(words)
        queue = self.queue()
        if not queue:
            yield "the queue is empty"
            return
        yield f"{plural(len(queue), 'tile')} waiting, cheapest first"
        rows = []
        for price, tile in queue[:QUEUE_SHOWN]:
            td = self.trace.tiles[self.trace.index_of[tile]]
            rows.append((by(tile), number(price), number(td.traffic), number(td.num_wave)))
        titles = [Column("tile"), Column("priority", ">"), Column("traffic", ">", 1), Column("waves", ">", 2)]
        yield from table(titles, rows, self.columns, 2)
        if len(queue) > QUEUE_SHOWN:
            yield f"  and {len(queue) - QUEUE_SHOWN} more"

    def explain(self, words: list[str]) -> Iterator[str]:
        from .explain import explain_tile
        from .explain_text import explanation_lines

        tile = self._tile(words) if words else self.tile
        if tile is None:
            raise NotUnderstood("no tile yet: go on with n, or name one")
        yield from explanation_lines(self._explained(explain_tile, tile), self.columns)

    def statistics(self, words: list[str]) -> Iterator[str]:
        _none(words)
        yield f"event {self.at + 1} of {len(self.places)}"
        yield from summary_lines(summarize(self.past), self.columns)

    def help(self, words: list[str]) -> Iterator[str]:
        for keys, text in HELP:
            yield from wrapped(f"{keys:<13} {text}", self.columns, 0, 14)

    # -- Helpers ---------------------------------------------------------------------------------------------------

    def show(self) -> list[str]:
        """The lines of the present event."""
        return [] if self.event is None else self.lines.of(self.event)

    def _show_with_parent(self) -> Iterator[str]:
        """The present event, under the line of the tile that it was grown from."""
        for at in range(self.at - 1, -1, -1):
            event = self.trace.events[self.places[at]]
            if type(event) is Pop and type(self.event) is Visit:
                yield from self.lines.of(event)
                break
            if type(event) not in (Visit, Duplicate):
                break
        yield from self.show()

    def _run_to(self, wanted: Callable[[Event], bool], otherwise: str) -> Iterator[str]:
        for place in range(self.at + 1, len(self.places)):
            if wanted(self.trace.events[self.places[place]]):
                skipped = place - self.at - 1
                if skipped:
                    yield f"... {plural(skipped, 'event')}"
                self._jump(place)
                yield from self._show_with_parent()
                return
        yield otherwise

    def _jump(self, place: int) -> None:
        self.at = place

    def _tile(self, words: list[str]) -> Tile:
        if not words:
            raise NotUnderstood("which tile? for example: 64 128")
        try:
            tile = tuple(extent for word in words for extent in tile_text(word))
            check_tile(tile, self.trace.begin.shape, self.trace.begin.axes)
        except (argparse.ArgumentTypeError, CarverError) as error:
            raise NotUnderstood(str(error)) from None
        return tile

    def _explained(self, explain_tile: Callable, tile: Tile) -> Any:
        try:
            return explain_tile(self.trace.policy, tile, self.trace)
        except CarverError as error:
            raise NotUnderstood(str(error)) from None

    def _wrap(self, text: str) -> list[str]:
        return wrapped(text, self.columns, 0, 2)


_COMMANDS: dict[str, Callable[[Walk, list[str]], Iterator[str]]] = {
    "n": Walk.next,
    "r": Walk.run_to_rejection,
    "t": Walk.run_to_tile,
    "b": Walk.back,
    "u": Walk.show_queue,
    "e": Walk.explain,
    "s": Walk.statistics,
    "g": Walk.to_end,
    "h": Walk.help,
}


def _count(words: list[str]) -> int:
    if not words:
        return 1
    if len(words) > 1 or not words[0].isdecimal() or int(words[0]) < 1:
        raise NotUnderstood(f"{' '.join(words)[:40]!r} is no number of events")
    return int(words[0])


def _none(words: list[str]) -> None:
    if words:
        raise NotUnderstood(f"nothing is expected after it: {' '.join(words)[:40]!r}")


# ---------------------------------------------------------------------------------------------------------------------
# The command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_computation(parser, _add_own)


def _add_own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topk", type=size, default=10, metavar="N", help="at most so many hints (default: 10)")
    add_width(parser)


def run(args: argparse.Namespace) -> int:
    from .search import search_template

    device = device_of(args)
    search = search_template(template_of(args, device), device, args.topk)
    if search.trace.begin is None:
        raise CarverError("there is no search to walk: the outputs have different numbers of space axes")
    columns = width_of(args)
    for note in notes_of(search):
        print("\n".join(wrapped(note, columns, 0, 2)))
    walk = Walk(search.trace, columns)
    return converse(walk, sys.stdin, sys.stdout)


def converse(walk: Walk, source: TextIO, out: TextIO) -> int:
    """Read commands and answer them until q, or until there are no more. 2 if one was wrong and nobody saw it."""
    is_terminal = source.isatty()
    if is_terminal:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  # makes input() remember lines
    name, tiles = type(walk.trace.policy).__name__, plural(len(walk.trace.tiles), "tile")
    print(f"{name}, {tiles}, {plural(len(walk.places), 'event')}; h for help, q to quit", file=out)
    code = 0
    while True:
        try:
            command = input(f"({walk.at + 1}/{len(walk.places)}) ") if is_terminal else _line(source)
        except EOFError:
            return code
        if not is_terminal:
            print(f"> {command}".rstrip(), file=out)
        words = command.split()
        if words and LONGER.get(words[0].lower(), words[0].lower()) == "q":
            return code
        try:
            for line in walk.do(command):
                print(line, file=out)
        except NotUnderstood as error:
            print(str(error), file=out)
            code = 0 if is_terminal else 2


def _line(source: TextIO) -> str:
    line = source.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")
