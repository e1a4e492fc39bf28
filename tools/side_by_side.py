"""A vendored source and its port laid side by side: pairs of definitions, and in each pair which line faces which.

The port is written afresh, so few lines are equal. Lines are paired by what they have in common (names count most), in
order; what faces nothing stands alone, or beside other such lines. Nothing is printed here: `compare` shows the result
in a terminal, `html` as a page.
"""

from __future__ import annotations

import ast
import difflib
import functools
import io
import keyword
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from . import provenance
from .provenance import CLASS, Definition, Facts, Ported, PortFile
from .vendored import Tree

# What a pair of definitions is, besides the statuses of `provenance`.
MODULE_LEVEL, ADDITION = "module level", "addition"

# Kinds of rows.
EQUAL, CHANGED, LEFT, RIGHT, BESIDE = "equal", "changed", "left", "right", "beside"

# Lines that have less than this in common do not face each other (1: the same tokens).
LEAST_SIMILARITY = 0.34
# What it counts that lines assign to the same name, or are the same kind of statement.
SAME_BEGINNING = 0.15
# Equal stretches longer than this are folded, but for the context at each end.
LONGEST_EQUAL = 8
CONTEXT = 2
# Lines of a docstring that face nothing are folded when there are more than this.
LONGEST_DOCSTRING = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a source: its number, its text, and what it is part of."""

    number: int
    text: str
    part: str = "code"  # "head" (decorators and signature), "docstring", "code"
    margin: int = 0  # white space cut off its beginning

    @property
    def blank(self) -> bool:
        return not self.text.strip()


@dataclass(frozen=True, slots=True)
class Row:
    """Two lines that face each other; None where nothing does. Spans of text that differ are (start, end)."""

    kind: str
    left: Line | None
    right: Line | None
    left_marks: tuple[tuple[int, int], ...] = ()
    right_marks: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class Stretch:
    """Rows that are shown, or that are folded into one line that says what they are."""

    rows: list[Row]
    folded: str = ""


@dataclass
class Pair:
    """A vendored definition and its port."""

    name: str
    status: str  # ported, adapted, not ported, missing, module level, addition
    path: str | None  # vendored, below tilelang/
    port_file: str
    vendored: Definition | None
    port: Ported | None
    notes: list[str]
    reason: str = ""  # why it is not ported
    left: list[Line] = field(default_factory=list)
    right: list[Line] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)  # names of the additions that the port calls here

    @property
    def depth(self) -> int:
        return self.name.count(".")

    @functools.cached_property
    def stretches(self) -> list[Stretch]:
        return fold(align(self.left, self.right))

    def left_place(self) -> str:
        """``carver/roller/node.py:52-77``."""
        return _place(self.path or "", self.vendored)

    def right_place(self) -> str:
        return _place(self.port_file, self.port.definition if self.port else None)


def _place(path: str, definition: Definition | None) -> str:
    return f"{path}:{definition.first}-{definition.last}" if definition else path


@dataclass
class Page:
    """All pairs of one file of the port, in the vendored order, additions last."""

    port_file: str
    paths: list[str]  # the vendored files beside it
    pairs: list[Pair]
    port_text: str = ""
    whole: bool = True  # not cut down to some pairs


# ---------------------------------------------------------------------------------------------------------------------
# Pairs


class Source:
    """A source text by lines, with what each definition owns of it."""

    def __init__(self, text: str, where: str) -> None:
        self.lines = text.split("\n")
        self.definitions = [entry for entry in provenance.read_definitions(text, where) if entry.marked]
        self.comments = provenance.own_line_comments(text)
        module = provenance.parse(text, where)
        self.docstrings, self.heads = _docstrings_and_heads(module, {entry.line for entry in self.definitions})
        self.import_lines = _import_lines(module)
        self.names = _names_used(module)

    def begin(self, entry: Definition) -> int:
        """The first line of a definition, the comment right above it included."""
        line = entry.first
        while line - 1 in self.comments:
            line -= 1
        return line

    def own_lines(self, entry: Definition) -> list[Line]:
        """The lines of a definition, without those of methods and without the notes and marks above it."""
        numbers = list(range(self.begin(entry), entry.last + 1))
        if entry.kind == CLASS:
            taken = set()
            for inner in self.definitions:
                if inner.name.startswith(f"{entry.name}.") and inner.first > entry.first:
                    taken.update(range(self.begin(inner), inner.last + 1))
            numbers = [number for number in numbers if number not in taken]
        kept = [number for number in numbers if not self._is_bookkeeping(number, entry.first)]
        return self._lines(kept, entry.first)

    def module_lines(self) -> list[Line]:
        """What stands outside all definitions, imports and the comments above definitions aside."""
        taken = set(self.import_lines)
        for entry in self.definitions:
            taken.update(range(self.begin(entry), entry.last + 1))
        kept = [number for number in range(1, len(self.lines) + 1) if number not in taken]
        return self._lines([number for number in kept if number not in self.comments])

    def _is_bookkeeping(self, number: int, first: int) -> bool:
        """Whether a line is a mark, a note above a definition, or the heading of the additions of a class."""
        text = self.comments.get(number, (0, ""))[1]
        above_a_definition = number < first and text.startswith("# ")
        is_mark = re.match(r"# (vendored|not ported|tvm):", text) is not None
        is_heading = re.match(r"# --+ Additions?\b", text) is not None
        return is_mark or is_heading or (above_a_definition and self._in_note(number))

    def _in_note(self, number: int) -> bool:
        while number in self.comments:
            if self.comments[number][1].startswith("# NOTE:"):
                return True
            number -= 1
        return False

    def _lines(self, numbers: Sequence[int], first: int = 0) -> list[Line]:
        lines: list[Line] = []
        for number in numbers:
            text = self.lines[number - 1].rstrip()
            if not text.strip() and (not lines or lines[-1].blank):
                continue
            is_head = number in self.heads or number < first  # the comment above it, too
            part = "docstring" if number in self.docstrings else "head" if is_head else "code"
            lines.append(Line(number, text, part))
        while lines and lines[-1].blank:
            lines.pop()
        return _dedented(lines)


def _dedented(lines: list[Line]) -> list[Line]:
    margins = [len(line.text) - len(line.text.lstrip()) for line in lines if not line.blank]
    margin = min(margins, default=0)
    return [Line(line.number, line.text[margin:], line.part, margin) for line in lines]


def _docstrings_and_heads(module: ast.Module, definitions: set[int]) -> tuple[set[int], set[int]]:
    """The lines of docstrings, and those of decorators and signatures. Nested functions are code of the outer one."""
    docstrings: set[int] = set()
    heads: set[int] = set()
    for node in ast.walk(module):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or not node.body:
            continue
        if not isinstance(node, ast.Module) and node.lineno not in definitions:
            continue
        first = node.body[0]
        is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if is_docstring and isinstance(first.value.value, str):
            docstrings.update(range(first.lineno, first.end_lineno + 1))
        if not isinstance(node, ast.Module):
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            heads.update(range(start, max(first.lineno, node.lineno + 1)))
    return docstrings, heads


def _import_lines(module: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in module.body:
        inside = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if isinstance(node, (ast.Import, ast.ImportFrom)) or inside:
            lines.update(range(node.lineno, node.end_lineno + 1))
    return lines


def _names_used(module: ast.Module) -> dict[int, set[str]]:
    """Line of a `def` or `class` -> the names and attributes that stand anywhere inside."""
    used: dict[int, set[str]] = {}
    for node in ast.walk(module):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            used[node.lineno] = names | {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
    return used


def pages(facts: Facts, tree: Tree, files: list[PortFile]) -> list[Page]:
    """Every file of the port that has a vendored one beside it."""
    by_port: dict[str, list[str]] = {}
    for path in facts.files:
        port = provenance.port_path(path)
        if port and path in tree.files:
            by_port.setdefault(port, []).append(path)
    rows = {(row.path, row.vendored.name): row for row in provenance.table(facts, files)}
    found = []
    for file in files:
        paths = by_port.get(file.path, [])
        page = _page(file, paths, tree, rows)
        if any(pair.status != ADDITION for pair in page.pairs):
            found.append(page)
    return found


def _page(file: PortFile, paths: list[str], tree: Tree, rows: dict[tuple[str, str], provenance.Row]) -> Page:
    port_source = Source(file.text, file.path)
    pairs: list[Pair] = []
    for path in paths:
        source = Source(tree.files[path], f"{tree.where}/{path}")
        whole = path.startswith("carver/")
        if whole:
            left, right = source.module_lines(), port_source.module_lines()
            if any(not line.blank for line in left if line.part != "docstring"):
                name = f"({MODULE_LEVEL})"
                pairs.append(Pair(name, MODULE_LEVEL, path, file.path, None, None, [], left=left, right=right))
        for entry in source.definitions:
            row = rows.get((path, entry.name))
            if row is None and not whole:
                continue  # of the files outside carver/ only what the port has
            port = row.port if row else None
            status = row.status if row else provenance.MISSING
            reason = row.why if row and not port else ""
            left = source.own_lines(entry)
            right = port_source.own_lines(port.definition) if port else []
            notes = list(port.notes) if port else []
            pairs.append(Pair(entry.name, status, path, file.path, entry, port, notes, reason, left, right))
    for ported in file.definitions:
        if ported.mark is None and paths:
            lines = port_source.own_lines(ported.definition)
            notes = list(ported.notes)
            pairs.append(
                Pair(ported.definition.name, ADDITION, None, file.path, None, ported, notes, left=[], right=lines)
            )
    _find_uses(pairs, port_source)
    return Page(file.path, paths, pairs, file.text)


def _find_uses(pairs: list[Pair], source: Source) -> None:
    """Which additions each pair uses: a step of the vendored function that the port has put into a function."""
    additions = {pair.name.rpartition(".")[2]: pair.name for pair in pairs if pair.status == ADDITION}
    for pair in pairs:
        definition = pair.port.definition if pair.port else None
        if definition and definition.kind != CLASS:
            names = source.names.get(definition.line, set())
            pair.uses = [full for last, full in additions.items() if last in names and full != pair.name]


# ---------------------------------------------------------------------------------------------------------------------
# Which line faces which


def align(left: list[Line], right: list[Line]) -> list[Row]:
    """Rows of facing lines: heads with heads, docstrings with docstrings, code with code."""
    rows: list[Row] = []
    for part in ("head", "docstring", "code"):
        ours = [line for line in left if line.part == part]
        theirs = [line for line in right if line.part == part]
        if part == "code":
            ours = _skip_blanks_first(ours)
            theirs = _skip_blanks_first(theirs)
        if part == "docstring":
            rows += [_facing(a, b) for a, b in zip_longest(ours, theirs)]
        else:
            rows += _align_part(ours, theirs)
    return rows


def _skip_blanks_first(lines: list[Line]) -> list[Line]:
    count = 0
    while count < len(lines) and lines[count].blank:
        count += 1
    return lines[count:]


def _align_part(left: list[Line], right: list[Line]) -> list[Row]:
    rows: list[Row] = []
    gap_left: list[Line] = []
    gap_right: list[Line] = []
    i = j = 0
    for pair in [*_best_pairs(left, right), (len(left), len(right))]:
        gap_left, gap_right = left[i : pair[0]], right[j : pair[1]]
        rows += _beside(gap_left, gap_right)
        if pair[0] < len(left):
            rows.append(_facing(left[pair[0]], right[pair[1]]))
        i, j = pair[0] + 1, pair[1] + 1
    return rows


def _beside(left: list[Line], right: list[Line]) -> list[Row]:
    """Lines that have nothing in common. A blank line that faces nothing is left out."""
    left = [line for line in left if not line.blank]
    right = [line for line in right if not line.blank]
    rows = []
    for a, b in zip_longest(left, right):
        kind = BESIDE if a and b else LEFT if a else RIGHT
        rows.append(Row(kind, a, b))
    return rows


def _facing(left: Line | None, right: Line | None) -> Row:
    if left is None or right is None:
        return Row(LEFT if left else RIGHT, left, right)
    if left.text.split() == right.text.split():
        return Row(EQUAL, left, right)
    if left.part == "docstring":
        return Row(BESIDE, left, right)  # prose of two authors: what differs within says nothing
    return Row(CHANGED, left, right, *differing_spans(left.text, right.text))


def _best_pairs(left: list[Line], right: list[Line]) -> list[tuple[int, int]]:
    """Indices of lines that face each other, rising on both sides, with as much in common as possible in all."""
    ours = [_bag(line.text) for line in left]
    theirs = [_bag(line.text) for line in right]
    rows, columns = len(left), len(right)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    common = [[0.0] * columns for _ in range(rows)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            score = common[i][j] = _similarity(ours[i], theirs[j])
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + score if score else 0.0)
    pairs = []
    i = j = 0
    while i < rows and j < columns:
        score = common[i][j]
        if score and best[i][j] == best[i + 1][j + 1] + score:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_COMMON_WORDS = frozenset(keyword.kwlist) | {"self", "int", "list", "dict", "str", "len", "range", "tuple", "set"}


@dataclass(frozen=True, slots=True)
class _Bag:
    """The tokens of a line, how often each comes, and what they weigh together."""

    tokens: Counter
    weight: float
    blank: bool
    comment: bool
    beginning: str  # the name that is assigned to, or the keyword of the statement


@functools.lru_cache(maxsize=20_000)
def _bag(text: str) -> _Bag:
    stripped = text.strip()
    tokens = Counter(token for token in _TOKEN.findall(stripped) if not token.isspace())
    weight = sum(_weight(token) * count for token, count in tokens.items())
    return _Bag(tokens, weight, not stripped, stripped.startswith("#"), _beginning(stripped))


_ASSIGNMENT = re.compile(r"([\w.]+)(?:\[[^]]*\]|: [\w\[\], .|]+)? [-+*/%]{0,2}= ")


def _beginning(text: str) -> str:
    assigned = _ASSIGNMENT.match(text)
    if assigned:
        return assigned.group(1).removeprefix("self.")
    word = re.match(r"\w+", text)
    return word.group() if word and word.group() in _STATEMENTS else ""


_STATEMENTS = frozenset({"def", "class", "return", "for", "while", "yield", "raise", "assert", "with", "try", "else"})


@functools.lru_cache(maxsize=20_000)
def _weight(token: str) -> float:
    if not (token[0].isalnum() or token[0] == "_"):
        return 0.15
    if token in ("def", "class", "return", "for", "while", "if", "yield", "raise", "assert"):
        return 0.6  # what a line does
    return 0.4 if token in _COMMON_WORDS else 1.0


def _similarity(one: _Bag, other: _Bag) -> float:
    """0 for lines that may not face each other, up to 1 for the same tokens."""
    if one.blank or other.blank:
        return 0.01 if one.blank and other.blank else 0.0
    if one.comment != other.comment:
        return 0.0
    small, large = (one.tokens, other.tokens) if len(one.tokens) < len(other.tokens) else (other.tokens, one.tokens)
    shared = 0.0
    for token, count in small.items():
        if token in large:
            shared += _weight(token) * min(count, large[token])
    similarity = 2 * shared / (one.weight + other.weight)
    if one.beginning and one.beginning == other.beginning:
        similarity += SAME_BEGINNING
    return similarity if similarity >= LEAST_SIMILARITY else 0.0


def differing_spans(left: str, right: str) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """The spans of two lines that differ, token by token."""
    ours, theirs = _TOKEN.findall(left), _TOKEN.findall(right)
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    left_spans: list[tuple[int, int]] = []
    right_spans: list[tuple[int, int]] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            left_spans += _span(ours, a, b)
            right_spans += _span(theirs, c, d)
    return tuple(_joined(left_spans, left)), tuple(_joined(right_spans, right))


def _span(tokens: list[str], first: int, end: int) -> list[tuple[int, int]]:
    start = sum(map(len, tokens[:first]))
    stop = start + sum(map(len, tokens[first:end]))
    return [(start, stop)] if any(not token.isspace() for token in tokens[first:end]) else []


def _joined(spans: Iterable[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Spans with white space between them as one, and without white space at their ends."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    trimmed = []
    for start, end in joined:
        part = text[start:end]
        trimmed.append((start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())))
    return trimmed


# ---------------------------------------------------------------------------------------------------------------------
# Folding


def fold(rows: list[Row]) -> list[Stretch]:
    """Rows as stretches: long equal ones, and what a docstring has more than the other, are folded."""
    stretches: list[Stretch] = []

    def show(more: list[Row]) -> None:
        if not more:
            return
        if stretches and not stretches[-1].folded:
            stretches[-1].rows += more
        else:
            stretches.append(Stretch(list(more)))

    at = 0
    while at < len(rows):
        end = at
        while end < len(rows) and rows[end].kind == EQUAL:
            end += 1
        if end - at > LONGEST_EQUAL:
            show(rows[at : at + CONTEXT])
            count = end - at - 2 * CONTEXT
            stretches.append(Stretch(rows[at + CONTEXT : end - CONTEXT], f"{count} equal lines"))
            show(rows[end - CONTEXT : end])
            at = end
            continue
        end = at
        while end < len(rows) and _docstring_alone(rows[end]) == _docstring_alone(rows[at]) != "":
            end += 1
        if end - at > LONGEST_DOCSTRING:
            if at == 0 or _part(rows[at - 1]) != "docstring":
                show(rows[at : at + 1])  # what it says in one line
                at += 1
            side = "vendored" if _docstring_alone(rows[at]) == LEFT else "port's"
            stretches.append(Stretch(rows[at:end], f"{end - at} more lines of the {side} docstring"))
            at = end
            continue
        end = max(end, at + 1)
        show(rows[at:end])
        at = end
    return stretches


def _part(row: Row) -> str:
    line = row.left or row.right
    return line.part if line else ""


def _docstring_alone(row: Row) -> str:
    """The side on which a line of a docstring stands alone, "" if it does not or is none."""
    return row.kind if row.kind in (LEFT, RIGHT) and _part(row) == "docstring" else ""


# ---------------------------------------------------------------------------------------------------------------------
# Colours of the text


def syntax(text: str) -> dict[int, list[tuple[int, int, str]]]:
    """Line number -> spans (start, end, class) of its keywords, strings, numbers, comments and defined names."""
    spans: dict[int, list[tuple[int, int, str]]] = {}
    lines = text.split("\n")
    previous = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = _token_class(token, previous)
            if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                previous = token.string
            if not name:
                continue
            (first, start), (last, end) = token.start, token.end
            for number in range(first, last + 1):
                length = len(lines[number - 1]) if number <= len(lines) else 0
                span = (start if number == first else 0, end if number == last else length, name)
                spans.setdefault(number, []).append(span)
    except (tokenize.TokenError, IndentationError):
        pass
    return spans


_FSTRING_PARTS = ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")  # since Python 3.12
_STRINGS = {tokenize.STRING} | {getattr(tokenize, name, -1) for name in _FSTRING_PARTS}


def _token_class(token: tokenize.TokenInfo, previous: str) -> str:
    if token.type == tokenize.COMMENT:
        return "c"
    if token.type in _STRINGS:
        return "s"
    if token.type == tokenize.NUMBER:
        return "n"
    if token.type == tokenize.NAME:
        if previous in ("def", "class"):
            return "d"
        if keyword.iskeyword(token.string):
            return "k"
        if token.string == "self":
            return "e"
    return ""
