"""Where each definition comes from: the marks in the port, and the pinned facts of the vendored sources.

A mark is the comment line right above a ported definition, above its decorators::

    # vendored: carver/roller/node.py:52-77

the path below ``tilelang/`` and the first and last line in 0.1.15, decorators included. What is left out has a mark of
its own where it would stand, in the vendored order::

    # not ported: carver/common_schedules.py:92-127 try_inline: needs compute_inline, has no caller

``# NOTE:`` comments, under the mark or inside the definition, tell a deliberate difference. Definitions that nothing
vendored stands behind come under a heading that begins ``# ---- Additions``, at the end of a file or of a class, or
have a NOTE that says so.

Sources are only ever parsed, never imported. Marks are needed on module-level classes and functions and on methods;
nested functions belong to the function around them.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..arch.errors import CarverError
from .record import NO_FIXTURES
from .vendored import EXTRA_FILES, PINNED_VERSION, Tree, printable

ROOT = Path(__file__).resolve().parent.parent
FACTS_FILE = ROOT / "fixtures" / "vendored_facts.json"
FACTS_FORMAT = 1

# Kinds of definitions. Only the first three have marks in the port.
CLASS, FUNCTION, METHOD, CONSTANT, STATEMENTS = "class", "function", "method", "constant", "statements"
MARKED_KINDS = (CLASS, FUNCTION, METHOD)
# The name of all the module-level statements that define nothing by name, together.
OTHER_STATEMENTS = "(module level)"


@dataclass(frozen=True, slots=True)
class Definition:
    """A class, function, method or module-level constant of one file."""

    name: str  # "PrimFuncNode.footprint"
    kind: str
    first: int  # lines, decorators included
    last: int
    line: int  # of its `def`, `class` or name
    parameters: tuple[str, ...] = ()  # with their stars: ("self", "*args")
    defaults: tuple[tuple[str, str], ...] = ()  # parameter -> its default, as text
    digest: str = ""  # of the syntax tree without docstrings; a class's is without its methods
    plain: str = ""  # the same without annotations either
    tvm: tuple[str, ...] = ()  # what it uses of TVM by name, annotations aside

    @property
    def marked(self) -> bool:
        return self.kind in MARKED_KINDS

    @property
    def depth(self) -> int:
        return self.name.count(".")


@dataclass(slots=True)
class Mark:
    """A ``# vendored:`` or ``# not ported:`` comment."""

    path: str  # below tilelang/
    first: int
    last: int
    line: int  # in the port
    name: str = ""  # of what is left out
    reason: str = ""  # why it is

    @property
    def left_out(self) -> bool:
        return bool(self.reason)


@dataclass(slots=True)
class Ported:
    """A definition of the port."""

    file: str  # "policy/default.py"
    definition: Definition
    mark: Mark | None
    notes: list[str]
    addition: bool  # under a heading that says that nothing is vendored there


@dataclass
class PortFile:
    """One file of the port: its definitions, what it leaves out, and what is wrong with its marks."""

    path: str
    definitions: list[Ported] = field(default_factory=list)
    left_out: list[Mark] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)
    constants: list[Definition] = field(default_factory=list)
    text: str = ""


@dataclass
class Facts:
    """What is known of the vendored sources of one version."""

    version: str
    wheel: str | None
    files: dict[str, list[Definition]]  # path below tilelang/ -> definitions in order

    def find(self, path: str, name: str) -> Definition | None:
        return next((entry for entry in self.files.get(path, ()) if entry.name == name), None)

    def starting_at(self, path: str, line: int) -> Definition | None:
        return next((entry for entry in self.files.get(path, ()) if entry.marked and entry.first == line), None)


# ---------------------------------------------------------------------------------------------------------------------
# Files that belong together


def port_path(path: str) -> str | None:
    """The port's file for a vendored one: ``carver/roller/policy/default.py`` -> ``policy/default.py``.

    None for the two ``__init__.py`` that only import.
    """
    if path in EXTRA_FILES:
        return "arch/target.py"
    inside = path.removeprefix("carver/")
    if inside in ("__init__.py", "roller/__init__.py"):
        return None
    if inside.startswith("arch/"):
        return inside
    if inside == "roller/bestfit.py":
        return "bestfit/__init__.py"
    if inside.startswith("roller/policy/"):
        return inside.removeprefix("roller/")
    if inside.startswith("roller/"):
        return inside
    # The loose files of carver/ and its templates live under roller/.
    return f"roller/{inside}"


def is_port_of_carver(path: str, facts: Facts) -> bool:
    """Whether a file of the port stands beside a file of carver/, and so may hold nothing else above its additions."""
    return any(port_path(vendored) == path for vendored in facts.files if vendored.startswith("carver/"))


def port_files(root: Path = ROOT) -> list[str]:
    """The files of the port that have marks or could have: all but tests, tools and the stand-in for TVM."""
    found = []
    for folder in ("arch", "bestfit", "policy", "roller"):
        for path in sorted((root / folder).rglob("*.py")):
            relative = path.relative_to(root).as_posix()
            if not relative.startswith("roller/tir/"):
                found.append(relative)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Definitions of a source text


def parse(text: str, where: str) -> ast.Module:
    """The syntax tree. CarverError, one line, for what is no Python."""
    try:
        return ast.parse(text)
    except SyntaxError as error:
        message = f"{where}:{error.lineno or 0}: not Python that can be read here: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        message = f"{where}: not Python that can be read here: {type(error).__name__} {error}"
    raise CarverError(printable(message))


def read_definitions(text: str, where: str) -> list[Definition]:
    """The definitions of a source text in the order of their lines."""
    try:
        return list(_definitions(parse(text, where)))
    except RecursionError:
        raise CarverError(f"{printable(where)}: nested too deeply to be read") from None


def _definitions(module: ast.Module) -> Iterator[Definition]:
    found: list[Definition] = []
    others: list[ast.stmt] = []
    _collect(_without_docstring(module.body), found, others, _tvm_imports(module))
    if others:
        first, last = others[0].lineno, others[-1].end_lineno or others[-1].lineno
        plain = digest(others, annotations=False)
        found.append(Definition(OTHER_STATEMENTS, STATEMENTS, first, last, first, digest=digest(others), plain=plain))
    found.sort(key=lambda entry: (entry.first, -entry.last))
    seen: dict[str, int] = {}
    for entry in found:
        # A name that is bound again (the setter of a property, the branches of an `if`) is counted.
        times = seen[entry.name] = seen.get(entry.name, 0) + 1
        yield entry if times == 1 else _renamed(entry, f"{entry.name}#{times}")


def _renamed(entry: Definition, name: str) -> Definition:
    values = {slot: getattr(entry, slot) for slot in Definition.__slots__}
    return Definition(**{**values, "name": name})


def _collect(body: list[ast.stmt], found: list[Definition], others: list[ast.stmt], imports: dict[str, str]) -> None:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not _is_overload(statement):
                found.append(_function(statement, statement.name, FUNCTION, imports))
        elif isinstance(statement, ast.ClassDef):
            _collect_class(statement, "", found, imports)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue  # where a name comes from; what is made of it is compared
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and (names := _targets(statement)):
            first, last = statement.lineno, statement.end_lineno or statement.lineno
            whole, plain = digest(statement), digest(statement, annotations=False)
            found.append(Definition(", ".join(names), CONSTANT, first, last, first, digest=whole, plain=plain))
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            _collect(_inner_definitions(statement), found, others, imports)
            others.append(statement)
        else:
            others.append(statement)


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function only declares one of several signatures."""
    return any(ast.unparse(decorator) in ("overload", "typing.overload") for decorator in node.decorator_list)


def _inner_definitions(statement: ast.stmt) -> list[ast.stmt]:
    """Classes and functions that are defined under a condition of the module."""
    bodies = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    bodies += [handler.body for handler in getattr(statement, "handlers", [])]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [entry for body in bodies for entry in body if isinstance(entry, kinds)]


def _collect_class(node: ast.ClassDef, prefix: str, found: list[Definition], imports: dict[str, str]) -> None:
    name = prefix + node.name
    methods = [entry for entry in node.body if isinstance(entry, (ast.FunctionDef, ast.AsyncFunctionDef))]
    classes = [entry for entry in node.body if isinstance(entry, ast.ClassDef)]
    rest = [entry for entry in _without_docstring(node.body) if entry not in methods and entry not in classes]
    # The name is the definition's; what else makes a class is its decorators, bases and fields.
    own = [*node.decorator_list, *node.bases, *node.keywords, *rest]
    first, last = _first_line(node), node.end_lineno or node.lineno
    whole, plain = digest(own), digest(own, annotations=False)
    tvm = _tvm_names(own, imports)
    found.append(Definition(name, CLASS, first, last, node.lineno, digest=whole, plain=plain, tvm=tvm))
    for method in methods:
        if not _is_overload(method):
            found.append(_function(method, f"{name}.{method.name}", METHOD, imports))
    for inner in classes:
        _collect_class(inner, f"{name}.", found, imports)


def _function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, kind: str, imports: dict[str, str]
) -> Definition:
    parameters, defaults = _parameters(node.args)
    first, last = _first_line(node), node.end_lineno or node.lineno
    whole, plain = digest(node), digest(node, annotations=False)
    tvm = _tvm_names([node], imports)
    return Definition(name, kind, first, last, node.lineno, parameters, defaults, whole, plain, tvm)


def _parameters(arguments: ast.arguments) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    names = list(positional)
    defaults = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    if arguments.vararg:
        names.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs:
        names.append("*")
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        names.append(argument.arg)
        if default is not None:
            defaults.append((argument.arg, default))
    if arguments.kwarg:
        names.append("**" + arguments.kwarg.arg)
    return tuple(names), tuple((name, ast.unparse(default)) for name, default in defaults)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _tvm_imports(module: ast.Module) -> dict[str, str]:
    """The names that a source binds to TVM or to a part of it, and which part: ``{"tirx": "tvm.tirx"}``."""
    names: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "tvm":
                    names[alias.asname or "tvm"] = alias.name if alias.asname else "tvm"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tvm" and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _tvm_names(nodes: list[ast.AST], imports: dict[str, str]) -> tuple[str, ...]:
    """What some nodes use of TVM, in the order of its first use: ``("tvm.arith.ConstIntBound", ...)``."""
    if not imports:
        return ()
    found: dict[str, None] = {}
    _find_tvm_names(nodes, imports, found)
    return tuple(found)


def _find_tvm_names(node: Any, imports: dict[str, str], found: dict[str, None]) -> None:
    if isinstance(node, list):
        for entry in node:
            _find_tvm_names(entry, imports, found)
    elif isinstance(node, ast.AST):
        chain: list[str] = []
        root = node
        while isinstance(root, ast.Attribute):
            chain.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name) and root.id in imports:
            found[".".join([imports[root.id], *reversed(chain)])] = None
            return
        for name in node._fields:
            if name not in _ANNOTATION_FIELDS:
                _find_tvm_names(getattr(node, name, None), imports, found)


# ---------------------------------------------------------------------------------------------------------------------
# Digests


def digest(node: Any, annotations: bool = True) -> str:
    """A digest of a syntax tree: the same for two texts that differ in docstrings, comments and formatting only.

    Python's own `ast.dump` differs between its versions, so the tree is written out here, without empty fields (which
    later versions add) and without what does not change the meaning.
    """
    parts: list[str] = []
    _write(node, parts, annotations)
    return hashlib.sha256("".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_ANNOTATION_FIELDS = frozenset({"annotation", "returns", "simple", "type_params"})


def _write(node: Any, parts: list[str], annotations: bool) -> None:
    if isinstance(node, ast.AnnAssign) and not annotations:
        if node.value is not None:  # else a declaration that does nothing
            _write(ast.Assign([node.target], node.value), parts, annotations)
    elif isinstance(node, ast.AST):
        parts.append(type(node).__name__ + "(")
        for name in node._fields:
            value = getattr(node, name, None)
            if name in _IGNORED_FIELDS or (not annotations and name in _ANNOTATION_FIELDS):
                continue
            if name == "body" and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                value = _without_docstring(value)
            if name == "values" and isinstance(node, ast.JoinedStr):  # 3.12.0 and some later ones add empty texts
                value = [part for part in value if not (isinstance(part, ast.Constant) and part.value == "")]
            if value is None and not isinstance(node, ast.Constant):
                continue
            if isinstance(value, list) and not value:
                continue
            parts.append(name + "=")
            _write(value, parts, annotations)
        parts.append(")")
    elif isinstance(node, list):
        parts.append("[")
        for entry in node:
            _write(entry, parts, annotations)
            parts.append(",")
        parts.append("]")
    else:
        parts.append(f"{type(node).__name__}:{node!r}")


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """A body less its docstring, and less a lone `pass`, which a docstring can stand for."""
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        if isinstance(body[0].value.value, str):
            body = body[1:]
    if len(body) == 1 and isinstance(body[0], ast.Pass):
        return []
    return body


# ---------------------------------------------------------------------------------------------------------------------
# Marks in the port

_VENDORED = re.compile(r"# vendored: ([\w/.-]+\.py):(\d+)-(\d+)")
_NOT_PORTED = re.compile(r"# not ported: ([\w/.-]+\.py):(\d+)-(\d+) ([\w.#]+): (\S.*)")
_LIKE_A_MARK = re.compile(r"#+\s*(vendored|not ported)\b\s*:?\s*\S*\.py|#+\s*(vendored|not ported)\s*:", re.IGNORECASE)
_NOTE = re.compile(r"# NOTE: *(.*)")
_ADDITIONS = re.compile(r"# --+ Additions?\b")


def own_line_comments(text: str) -> dict[int, tuple[int, str]]:
    """Line -> (column, text) of the comments that have a line to themselves."""
    found: dict[int, tuple[int, str]] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
                found[token.start[0]] = (token.start[1], token.string.rstrip())
    except (tokenize.TokenError, IndentationError):
        pass  # the parser has said so already
    return found


def read_port_text(text: str, path: str) -> PortFile:
    """The definitions and the marks of one file of the port."""
    port = PortFile(path, text=text)
    entries = read_definitions(text, path)
    port.constants = [entry for entry in entries if not entry.marked]
    entries = [entry for entry in entries if entry.marked]
    comments = own_line_comments(text)
    additions = _addition_ranges(entries, comments, text.count("\n") + 1)
    used: set[int] = set()
    for entry in entries:
        above = _comments_above(entry.first, comments)
        mark = None
        for line in above:
            found = _VENDORED.fullmatch(comments[line][1])
            if found and mark is None:
                mark = Mark(found.group(1), int(found.group(2)), int(found.group(3)), line)
                used.add(line)
        children = [other for other in entries if entry.first < other.first and other.last <= entry.last]
        inside = [
            line
            for line in comments
            if entry.first <= line <= entry.last
            and not any(_with_comments(child, comments) <= line <= child.last for child in children)
        ]
        notes = _notes(above, comments) + _notes(inside, comments)
        addition = any(first <= entry.first <= last for first, last in additions)
        port.definitions.append(Ported(path, entry, mark, notes, addition))
    _read_other_marks(port, comments, used)
    return port


def _read_other_marks(port: PortFile, comments: dict[int, tuple[int, str]], used: set[int]) -> None:
    for line, (_, comment) in comments.items():
        if line in used:
            continue
        left_out = _NOT_PORTED.fullmatch(comment)
        if left_out:
            path, first, last, name, reason = left_out.groups()
            port.left_out.append(Mark(path, int(first), int(last), line, name, reason))
        elif _VENDORED.fullmatch(comment):
            port.problems.append((line, "this mark stands above no class or function"))
        elif _LIKE_A_MARK.match(comment):
            port.problems.append((line, f"not the form of a mark: {comment}"))


def _comments_above(first: int, comments: dict[int, tuple[int, str]]) -> list[int]:
    """The lines of the comment right above a line, in order."""
    above = []
    line = first - 1
    while line in comments:
        above.append(line)
        line -= 1
    return above[::-1]


def _with_comments(entry: Definition, comments: dict[int, tuple[int, str]]) -> int:
    """The first line of a definition, the comment above it included."""
    above = _comments_above(entry.first, comments)
    return above[0] if above else entry.first


def _notes(lines: list[int], comments: dict[int, tuple[int, str]]) -> list[str]:
    """The NOTEs on some comment lines; a note goes on over the comment lines that follow it."""
    notes: list[str] = []
    previous = None
    for line in lines:
        text = comments[line][1]
        found = _NOTE.match(text)
        if found:
            notes.append(found.group(1))
            previous = line
        elif previous == line - 1 and not re.match(r"# (vendored|not ported|tvm):|# --", text):
            notes[-1] += " " + text.lstrip("# ")
            previous = line
    return notes


def _addition_ranges(
    entries: list[Definition], comments: dict[int, tuple[int, str]], last_line: int
) -> list[tuple[int, int]]:
    """Where nothing is vendored: from such a heading to the end of the class it stands in, or of the file."""
    ranges = []
    for line, (column, text) in comments.items():
        if not _ADDITIONS.match(text):
            continue
        around = [entry for entry in entries if entry.kind == CLASS and entry.first <= line <= entry.last]
        ranges.append((line, max(around, key=lambda entry: entry.first).last if around and column else last_line))
    return ranges


def read_port(root: Path = ROOT) -> list[PortFile]:
    """All files of the port."""
    return [read_port_text((root / path).read_text(encoding="utf-8"), path) for path in port_files(root)]


# ---------------------------------------------------------------------------------------------------------------------
# Facts


def facts_of(tree: Tree) -> Facts:
    """The definitions of a tree's sources."""
    files = {path: read_definitions(text, f"{tree.where}/{path}") for path, text in sorted(tree.files.items())}
    return Facts(tree.version or "unknown", tree.wheel, files)


def facts_to_text(facts: Facts) -> str:
    """JSON with one definition a line, so that a change of the facts reads well as a diff."""
    lines = ["{", f'"format": {FACTS_FORMAT},', f'"tilelang": {json.dumps(facts.version)},']
    lines.append(f'"wheel": {json.dumps(facts.wheel)},')
    lines.append('"files": {')
    files = []
    for path, entries in facts.files.items():
        rows = [f"  {json.dumps(_entry_to_json(entry))}" for entry in entries]
        body = ",\n".join(rows)
        files.append(f"{json.dumps(path)}: [\n{body}\n]" if rows else f"{json.dumps(path)}: []")
    lines.append(",\n".join(files))
    lines.append("}}")
    return "\n".join(lines) + "\n"


def _entry_to_json(entry: Definition) -> dict[str, Any]:
    row: dict[str, Any] = {"name": entry.name, "kind": entry.kind, "lines": [entry.first, entry.last]}
    row["line"] = entry.line
    if entry.kind in (FUNCTION, METHOD):
        row["parameters"] = list(entry.parameters)
        row["defaults"] = dict(entry.defaults)
    if entry.tvm:
        row["tvm"] = list(entry.tvm)
    row["digest"] = entry.digest
    row["plain"] = entry.plain
    return row


def read_facts(path: Path = FACTS_FILE) -> Facts:
    """The pinned facts. CarverError where the file is missing or is not what ``carver porting --pin`` writes."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise CarverError(NO_FIXTURES) from None
    except (ValueError, RecursionError) as error:
        raise CarverError(f"{path}: not JSON: {error}") from None
    try:
        if data["format"] != FACTS_FORMAT:
            raise CarverError(f"{path}: format {data['format']}, this version reads {FACTS_FORMAT}")
        files = {name: [_entry_from_json(row) for row in rows] for name, rows in data["files"].items()}
        return Facts(data["tilelang"], data["wheel"], files)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, CarverError):
            raise
        raise CarverError(f"{path}: not a file of pinned facts ({type(error).__name__}: {error})") from None


def _entry_from_json(row: dict[str, Any]) -> Definition:
    first, last = row["lines"]
    return Definition(
        row["name"],
        row["kind"],
        first,
        last,
        row["line"],
        tuple(row.get("parameters", ())),
        tuple(row.get("defaults", {}).items()),
        row["digest"],
        row["plain"],
        tuple(row.get("tvm", ())),
    )


def expected_version(facts: Facts) -> bool:
    """Whether facts are those of the version that the port follows."""
    return facts.version == PINNED_VERSION


# ---------------------------------------------------------------------------------------------------------------------
# The table: every vendored definition and where it went

# "adapted" are those that use TVM by name, and in the port its stand-in, roller/tir or arch/target.py.
PORTED, ADAPTED, NOT_PORTED, MISSING = "ported", "adapted", "not ported", "missing"


@dataclass(frozen=True, slots=True)
class Row:
    """A vendored definition beside its port."""

    path: str  # vendored, below tilelang/
    vendored: Definition
    status: str
    port: Ported | None = None
    why: str = ""  # its notes on deliberate differences, or why it is left out

    @property
    def port_place(self) -> str:
        return f"{self.port.file}:{self.port.definition.line}" if self.port else ""


def table(facts: Facts, files: list[PortFile]) -> list[Row]:
    """A row for every definition of carver/ in the vendored order, then for those marked in other vendored files."""
    ported: dict[tuple[str, str], Ported] = {}
    left_out: dict[tuple[str, str], Mark] = {}
    for file in files:
        for entry in file.definitions:
            if entry.mark:
                vendored = facts.starting_at(entry.mark.path, entry.mark.first)
                name = vendored.name if vendored else entry.definition.name
                ported.setdefault((entry.mark.path, name), entry)
        for mark in file.left_out:
            left_out[mark.path, mark.name] = mark
    rows = []
    for path, entries in facts.files.items():
        for vendored in entries:
            if not vendored.marked:
                continue
            port = ported.get((path, vendored.name))
            mark = left_out.get((path, vendored.name))
            if port:
                status = ADAPTED if vendored.tvm else PORTED
                rows.append(Row(path, vendored, status, port, " ".join(port.notes)))
            elif mark or _inside_left_out(path, vendored, left_out):
                reason = mark.reason if mark else "as the class around it"
                rows.append(Row(path, vendored, NOT_PORTED, None, reason))
            elif path.startswith("carver/"):
                rows.append(Row(path, vendored, MISSING))
    return rows


def _inside_left_out(path: str, vendored: Definition, left_out: dict[tuple[str, str], Mark]) -> bool:
    parts = vendored.name.split(".")
    return any((path, ".".join(parts[:count])) in left_out for count in range(1, len(parts)))
