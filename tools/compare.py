"""The vendored source and the port side by side, function by function.

    carver compare policy/default.py            a file of the port, or a vendored one (carver/roller/policy/default.py)
    carver compare dfs_smem_tile                a function, method or class, by name or as Class.method
    carver compare policy/default.py --html default.html
    carver compare --all --html carver.html     every ported file on one page that stands alone

Vendored on the left, port on the right, each with its own line numbers. The port is written afresh: lines face each
other by what they have in common, and what differs within facing lines is marked. Long equal stretches and the longer
docstring are folded (--unfold shows them). Notes on deliberate differences stand above the pair. Between the columns:

    ~ differs   < vendored only   > port only   | lines with little in common   (nothing) equal
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..arch.errors import CarverError
from . import provenance, side_by_side, vendored
from .provenance import NOT_PORTED
from .side_by_side import ADDITION, BESIDE, CHANGED, EQUAL, LEFT, MODULE_LEVEL, RIGHT, Line, Page, Pair, Row

NARROWEST, WIDEST, USUAL = 60, 400, 120
LEGEND = ("~ differs", "< vendored only", "> port only", "| lines with little in common", "(nothing) equal")
SIGNS = {EQUAL: " ", CHANGED: "~", LEFT: "<", RIGHT: ">", BESIDE: "|"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", metavar="FILE_OR_FUNCTION", help="what to show")
    parser.add_argument("--all", action="store_true", help="every ported file")
    parser.add_argument(
        "--html", metavar="FILE", help="write a page that stands alone instead ('-': to standard output)"
    )
    text = f"columns to use, {NARROWEST} or more (default: COLUMNS, or the terminal's, or {USUAL})"
    parser.add_argument("--width", type=int, metavar="N", help=text)
    parser.add_argument("--unfold", action="store_true", help="fold nothing")
    parser.add_argument("--carets", action="store_true", help="mark what differs by ^ below it, for want of colours")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(default: auto)")
    vendored.add_vendor_argument(parser)


def run(args: argparse.Namespace) -> int:
    if bool(args.what) == args.all:
        raise CarverError("name a file or a function, or --all" if not args.what else "--all takes no name")
    if args.width is not None and args.width < NARROWEST:
        raise CarverError(f"--width {args.width} is too narrow for two columns, {NARROWEST} is the least")
    tree = vendored.need_tree(args.vendor)
    vendored.warn_if_another_version(tree)
    pages = side_by_side.pages(provenance.facts_of(tree), tree, provenance.read_port())
    chosen = pages if args.all else select(pages, args.what)
    if args.html:
        write_html(args.html, chosen, tree, args.what or "")
        return 0
    colors = args.color == "always" or (args.color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    width = args.width or shutil.get_terminal_size((USUAL, 40)).columns
    width = min(max(width, NARROWEST), WIDEST)
    terminal = Terminal(width, colors, args.unfold, args.carets, _encodes_lines(sys.stdout))
    for line in terminal.show(chosen, tree):
        print(line)
    return 0


def _encodes_lines(stream) -> bool:
    """Whether a stream can carry the characters that lines are drawn with."""
    try:
        "─│⋯".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def write_html(path: str, pages: list[Page], tree: vendored.Tree, what: str) -> None:
    """The page of some pairs, as a file."""
    from . import html, recording  # only when asked for

    if path != "-":
        recording.check_place(path)
    text = html.page(pages, tree, what)
    if path == "-":
        sys.stdout.write(text)
        return
    recording.write_atomically(Path(path), text.encode("utf-8"))
    pairs = sum(len(page.pairs) for page in pages)
    print(f"wrote {path}: {pairs} pairs of {len(pages)} file{'s' if len(pages) > 1 else ''}, {len(text) // 1024} KiB")


# ---------------------------------------------------------------------------------------------------------------------
# Choosing


def select(pages: list[Page], what: str) -> list[Page]:
    """The pairs that a name stands for. CarverError with the nearest names if there are none."""
    file, _, name = what.partition("::") if "::" in what else (what, "", "")
    page = _page_of_file(pages, file)
    if page is not None and not name:
        return [page]
    chosen = _named(pages, what) if page is None else _named([page], name)
    if chosen:
        return chosen
    from .cli import unknown

    if page is not None:
        what, pages = name, [page]
    elif what.endswith(".py") or "/" in what:
        if _inside_port(what).startswith("roller/tir/"):
            raise CarverError(f"{what} is part of the stand-in for TVM: nothing of carver stands beside it")
        if _inside_port(what) in provenance.port_files():
            raise CarverError(f"{what} has no vendored counterpart")
        known = [page.port_file for page in pages] + [path for page in pages for path in page.paths]
        raise CarverError(unknown("file", what, known))
    names = {pair.name for page in pages for pair in page.pairs if pair.status != MODULE_LEVEL}
    names |= {name.rpartition(".")[2] for name in names}
    message = unknown("function", what, sorted(names))
    raise CarverError(message if "did you mean" in message else f"unknown function {what!r}; carver porting lists all")


def _page_of_file(pages: list[Page], what: str) -> Page | None:
    inside = _inside_port(what)
    for page in pages:
        paths = {page.port_file, *page.paths, *(f"tilelang/{path}" for path in page.paths)}
        # A path of a vendored tree ends like this; the port's own files have been looked up as they are.
        if inside in paths or any(what.endswith(f"/tilelang/{path}") for path in page.paths):
            return page
    if "/" not in what:  # the name of a file, where only one has it
        named = [page for page in pages if any(path.endswith(f"/{what}") for path in (page.port_file, *page.paths))]
        return named[0] if len(named) == 1 else None
    return None


def _inside_port(what: str) -> str:
    """A path below the port's folder, for a path from here, an absolute one, or one that is below it already."""
    for candidate in (Path.cwd() / what, Path(what)):
        try:
            if candidate.is_file():
                return candidate.resolve().relative_to(provenance.ROOT).as_posix()
        except (OSError, ValueError):
            continue
    return what.removeprefix("./")


def _named(pages: list[Page], name: str) -> list[Page]:
    """Pages cut down to the pairs of a name (itself, what is inside it, any method of that last name), and to the
    additions that these use: what the vendored function does itself may be in one of them."""
    found = []
    for page in pages:
        pairs = [
            pair
            for pair in page.pairs
            if pair.name == name or pair.name.startswith(f"{name}.") or pair.name.rpartition(".")[2] == name
        ]
        used = {full for pair in pairs for full in pair.uses}
        pairs += [pair for pair in page.pairs if pair.name in used and pair.status == ADDITION and pair not in pairs]
        if pairs:
            found.append(Page(page.port_file, page.paths, pairs, page.port_text, whole=False))
    return found


# ---------------------------------------------------------------------------------------------------------------------
# In a terminal

RESET, BOLD, DIM, RED, GREEN, CYAN, YELLOW = (f"\033[{code}m" for code in (0, 1, 2, 31, 32, 36, 33))


class Terminal:
    """Lines of two columns for a width, with colours or without."""

    def __init__(
        self, width: int, colors: bool = False, unfold: bool = False, carets: bool = False, lines: bool = True
    ) -> None:
        self.width = width
        self.colors = colors
        self.unfold = unfold
        self.carets = carets
        self.rule, self.dots = ("─", "⋯") if lines else ("-", "...")
        # number, blank, text, blank, sign, blank, number, blank, text
        self.text_width = (width - 13) // 2

    def show(self, pages: list[Page], tree: vendored.Tree) -> Iterator[str]:
        yield from _items([f"left: {tree.label()}", "right: the port"], self.width)
        yield from _items(LEGEND, self.width)
        for page in pages:
            for pair in page.pairs:
                if pair.status != ADDITION:
                    yield from self.show_pair(pair, fold_left_out=page.whole)
            additions = [pair for pair in page.pairs if pair.status == ADDITION]
            if additions and not page.whole:
                for pair in additions:
                    yield from self.show_pair(pair)
            elif additions:
                yield ""
                yield self._heading(f"only in {page.port_file}: nothing vendored beside these")
                yield from _filled([f"{pair.name} ({pair.port.definition.line})" for pair in additions], self.width)

    def show_pair(self, pair: Pair, fold_left_out: bool = False) -> Iterator[str]:
        yield ""
        yield self._heading(pair.name)
        status = "" if pair.status == MODULE_LEVEL else pair.status
        left = _shortened(pair.left_place() if pair.path else "", self.text_width + 5)
        right = pair.right_place() if pair.port or pair.status == MODULE_LEVEL else ""
        right = f"{right}  {status}" if right else status
        if pair.reason:
            right += f": {pair.reason}"
        yield self._dim(f"{left:<{self.text_width + 5}}   {right}".rstrip()[: self.width])
        if pair.uses:
            yield from _wrapped_words(f"uses {', '.join(pair.uses)}: nothing vendored beside them", self.width)
        for note in pair.notes:
            for line in _wrapped_words(f"NOTE: {note}", self.width):
                yield self._paint(line, YELLOW)
        if pair.status == NOT_PORTED and fold_left_out and not self.unfold:
            yield self._fold_line(f"{len(pair.left)} vendored lines")
            return
        alone = not (pair.left and pair.right)
        for stretch in pair.stretches:
            if stretch.folded and not self.unfold:
                yield self._fold_line(stretch.folded)
            else:
                for row in stretch.rows:
                    yield from self.show_row(row, alone)

    def show_row(self, row: Row, alone: bool = False) -> Iterator[str]:
        """A row, which takes several lines of the terminal where a text is too long for its column."""
        if alone:
            yield from self._show_alone(row)
            return
        left = self._pieces(row.left, row.left_marks)
        right = self._pieces(row.right, row.right_marks)
        for index in range(max(len(left), len(right))):
            first = index == 0
            ours = left[index] if index < len(left) else Piece("", [])
            theirs = right[index] if index < len(right) else Piece("", [])
            yield self._joined(
                self._number(row.left if first else None),
                ours.painted(self, RED, row.kind == LEFT) + " " * (self.text_width - len(ours.text)),
                SIGNS[row.kind] if first else " ",
                self._number(row.right if first else None),
                theirs.painted(self, GREEN, row.kind == RIGHT),
            )
            if self.carets and (ours.marks or theirs.marks):
                below = f"{ours.carets():<{self.text_width}}"
                yield self._joined("    ", below, " ", "    ", theirs.carets())

    def _show_alone(self, row: Row) -> Iterator[str]:
        """A line of a definition that nothing stands beside, over the whole width."""
        line = row.left or row.right
        color = RED if row.left else GREEN
        for index, piece in enumerate(cut(vendored.printable(line.text.expandtabs(4)), (), self.width - 8)):
            number, sign = (self._number(line), SIGNS[row.kind]) if index == 0 else ("    ", " ")
            yield f"{self._dim(number)} {sign} {piece.painted(self, color, True)}".rstrip()

    def _joined(self, left_number: str, left: str, sign: str, right_number: str, right: str) -> str:
        sign = self._paint(sign, BOLD) if sign in "~<>" else self._dim(sign)
        return f"{self._dim(left_number)} {left} {sign} {self._dim(right_number)} {right}".rstrip()

    def _number(self, line: Line | None) -> str:
        return f"{line.number:>4}" if line else "    "

    def _pieces(self, line: Line | None, marks: tuple[tuple[int, int], ...]) -> list[Piece]:
        if line is None:
            return []
        return cut(vendored.printable(line.text.expandtabs(4)), marks, self.text_width)

    def _heading(self, text: str) -> str:
        return self._paint(f"{self.rule * 2} {text} ".ljust(self.width, self.rule)[: self.width], BOLD)

    def _fold_line(self, text: str) -> str:
        return self._paint(f"     {self.dots} {text}", CYAN)

    def _dim(self, text: str) -> str:
        return self._paint(text, DIM)

    def _paint(self, text: str, color: str) -> str:
        return f"{color}{text}{RESET}" if self.colors and text.strip() else text


class Piece:
    """What of a line fits into its column, and what of that is marked."""

    __slots__ = ("text", "marks")

    def __init__(self, text: str, marks: list[tuple[int, int]]) -> None:
        self.text = text
        self.marks = marks

    def carets(self) -> str:
        """Carets below what is marked."""
        signs = [" "] * len(self.text)
        for start, end in self.marks:
            signs[start:end] = "^" * (end - start)
        return "".join(signs).rstrip()

    def painted(self, terminal: Terminal, color: str, whole: bool) -> str:
        if not terminal.colors:
            return self.text
        if whole:
            return terminal._paint(self.text, color)
        parts = []
        at = 0
        for start, end in self.marks:
            parts += [self.text[at:start], terminal._paint(self.text[start:end], color)]
            at = end
        return "".join(parts) + self.text[at:]


def cut(text: str, marks: Iterable[tuple[int, int]], width: int) -> list[Piece]:
    """A line in pieces no wider than `width`, cut between tokens where possible; later ones are indented further."""
    indent = len(text) - len(text.lstrip())
    hanging = min(indent + 6, width // 2)
    pieces = []
    start = 0
    while True:
        prefix = 0 if start == 0 else hanging
        room = width - prefix
        end = len(text) if len(text) - start <= room else _cut_at(text, start, start + room)
        inside = [
            (max(a, start) - start + prefix, min(b, end) - start + prefix) for a, b in marks if a < end and b > start
        ]
        pieces.append(Piece(" " * prefix + text[start:end], inside))
        if end >= len(text):
            return pieces
        start = end
        while start < len(text) and text[start] == " ":
            start += 1
        if start >= len(text):
            return pieces


def _cut_at(text: str, start: int, limit: int) -> int:
    """Where to cut: behind a blank, else at a bracket or dot, of the second half; else in the middle of a word."""
    half = start + (limit - start) // 2
    for at in range(limit, half, -1):
        if text[at - 1] == " ":
            return at
    for at in range(limit, half, -1):
        if text[at - 1] in ",([{" or text[at] == ".":
            return at
    return limit


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else "..." + text[len(text) - width + 3 :]


def _wrapped_words(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent="      ")


def _items(texts: Iterable[str], width: int) -> Iterator[str]:
    """Texts side by side on as few lines as they take, each whole where it fits at all."""
    line = ""
    for text in texts:
        joined = f"{line}   {text}" if line else text
        if len(joined) > width and line:
            yield from _wrapped_words(line, width)
            joined = text
        line = joined
    yield from _wrapped_words(line, width)


def _filled(names: Iterable[str], width: int) -> Iterator[str]:
    """Names one after the other, on as few lines as they take."""
    line = ""
    for name in names:
        joined = f"{line}, {name}" if line else f"  {name}"
        if len(joined) > width - 1 and line:
            yield line + ","
            joined = f"  {name}"
        line = joined
    if line:
        yield line
