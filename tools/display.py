"""Text for terminals: numbers, tables that give way where it is narrow, bars. Plain characters, no terminal codes."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from ..arch.errors import CarverError, shown

NARROWEST = 40
WIDEST = 1000


def add_width(parser: argparse.ArgumentParser) -> None:
    """Add ``--width``."""
    parser.add_argument(
        "--width", type=width, metavar="N", help="columns to print in (default: COLUMNS, or the terminal's, or 100)"
    )


def width(text: str) -> int:
    """A number of columns, as an argument type."""
    # Python refuses to read numbers of thousands of digits.
    if not text.isdecimal() or len(text) > 9 or not NARROWEST <= int(text) <= WIDEST:
        raise argparse.ArgumentTypeError(f"{shown(text)} is no number of columns from {NARROWEST} to {WIDEST}")
    return int(text)


def width_of(args: argparse.Namespace) -> int:
    """The columns to print in."""
    if args.width is not None:
        return args.width
    columns = shutil.get_terminal_size((100, 24)).columns
    return min(max(columns, NARROWEST), WIDEST)


@contextlib.contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Calls of the given function show a line on stderr, on a terminal and nowhere else; at the end it is wiped out."""
    is_shown = False

    def put(text: str) -> None:
        nonlocal is_shown
        if sys.stderr.isatty():
            is_shown = True
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    try:
        yield put
    finally:
        if is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def can_draw(stream: TextIO | None = None) -> bool:
    """Whether a stream takes block characters."""
    encoding = getattr(sys.stdout if stream is None else stream, "encoding", None) or "ascii"
    try:
        "█·".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def number(value: Any) -> str:
    """A figure: thousands apart; three decimals at most; - for None."""
    if value is None:
        return "-"
    if isinstance(value, float) and not value.is_integer():
        text = f"{value:,.3f}".rstrip("0")
        # Small scores would all read 0.000.
        return text if abs(value) >= 0.1 else f"{value:.3g}"
    return f"{int(value):,}"


def by(extents: Iterable[Any]) -> str:
    """``128x256``."""
    return "x".join(map(str, extents))


def plural(count: int, noun: str) -> str:
    """``1 tile``, ``2 tiles``, ``2 priorities``."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def some(tiles: Sequence[Iterable[Any]], shown: int = 8) -> str:
    """The first few tiles, and how many more there are."""
    more = f" and {len(tiles) - shown:,} more" if len(tiles) > shown else ""
    return ", ".join(map(by, tiles[:shown])) + more


@dataclass(frozen=True)
class Column:
    """A table's column. Where the table is too wide, the columns with the highest ``gives_way`` are left out first."""

    title: str
    align: str = "<"
    gives_way: int = 0


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], columns_wide: int, indent: int = 0) -> list[str]:
    """The lines of a table with its titles. Columns in which nothing stands are left out.

    Where it is still too wide, the last column is wrapped if it holds texts, else texts are cut. Figures stay whole.
    """
    used = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    if not used:
        return []
    widths = {i: max(len(columns[i].title), *(len(row[i]) for row in rows)) for i in used}
    space = columns_wide - indent

    def excess() -> int:
        return sum(widths[i] for i in used) + 2 * (len(used) - 1) - space

    while excess() > 0:
        droppable = [i for i in used if columns[i].gives_way]
        if not droppable:
            break
        used.remove(max(droppable, key=lambda i: columns[i].gives_way))
    last = used[-1]
    if excess() > 0 and columns[last].align == "<":
        widths[last] = max(widths[last] - excess(), 16, len(columns[last].title))
    texts = [i for i in used if columns[i].align == "<" and i != last]
    while excess() > 0 and texts and max(widths[i] for i in texts) > 8:
        widths[max(texts, key=lambda i: widths[i])] -= 1
    lines = []
    for row in [[column.title for column in columns], *rows]:
        wrapped_last = textwrap.wrap(row[last], widths[last], break_on_hyphens=False) or [""]
        cells = [f"{_cut(row[i], widths[i]):{columns[i].align}{widths[i]}}" for i in used[:-1]]
        lead = " " * indent + "".join(cell + "  " for cell in cells)
        for part in wrapped_last:
            lines.append(f"{lead}{part:{columns[last].align}{widths[last]}}".rstrip())
            lead = " " * len(lead)
    return lines


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 2] + ".."


def wrapped(text: str, columns_wide: int, indent: int = 0, hanging: int | None = None) -> list[str]:
    """A text in lines, all but the first indented by ``hanging`` (as the first by default)."""
    first = " " * indent
    rest = first if hanging is None else " " * hanging
    return textwrap.wrap(
        text, max(columns_wide, 20), initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    ) or [""]


def memory_bar(spans: Sequence[tuple[int, int, str]], whole: int, cells: int, free: str = ".") -> str:
    """Spans ``(start, end, letter)`` of ``whole`` bytes in that many cells. A span that is not empty shows."""
    bar = [free] * cells
    if whole <= 0:
        return "".join(bar)
    for start, end, letter in spans:
        if end <= start:
            continue
        first = min(start * cells // whole, cells - 1)
        last = max(first + 1, -(-end * cells // whole))
        bar[first:last] = letter * (min(last, cells) - first)
    return "".join(bar)


def length_bar(value: float, greatest: float, cells: int, glyph: str) -> str:
    """A bar for a value; anything above 0 shows."""
    if greatest <= 0 or value <= 0:
        return ""
    return glyph * max(1, round(cells * value / greatest))


# ---------------------------------------------------------------------------------------------------------------------
# Tiles on the command line


def extent(text: str) -> int:
    """One extent of a tile, as an argument type: a whole number from 1."""
    if len(text) > 40:
        raise argparse.ArgumentTypeError(f"{text[:20]}... is no extent: {len(text)} characters")
    try:
        value = int(text.replace("_", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is too small: the extents of a tile are at least 1")
    return value


def tile_text(text: str) -> list[int]:
    """``128``, or a whole tile ``128x256`` or ``128,256``, as an argument type."""
    return [extent(part) for part in text.replace(",", "x").split("x")]


def check_tile(tile: Sequence[int], shape: Sequence[int], axes: Sequence[str]) -> None:
    """CarverError where a tile does not fit the output's space axes."""
    whole = ", ".join(f"{name}={extent}" for name, extent in zip(axes, shape))
    if len(tile) != len(shape):
        raise CarverError(f"a tile has {plural(len(shape), 'extent')} here ({whole}), {by(tile)} has {len(tile)}")
    for name, part, extent in zip(axes, tile, shape):
        if part < 1:
            raise CarverError(f"the tile {by(tile)} has {part} along {name}: extents are at least 1")
        if part > extent:
            raise CarverError(f"the tile {by(tile)} is larger than the output along {name}: {part} > {extent}")
