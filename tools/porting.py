"""Which vendored definition is ported where: the table of PORTING.md, and the check that it is true.

    carver porting                  the table
    carver porting --check          every mark against the pinned facts of 0.1.15; exit code 1 if anything is wrong
    carver porting --write          renew the table in PORTING.md
    carver porting --pin TILELANG   renew the pinned facts from the sources of 0.1.15

A mark is the comment line right above a definition: `# vendored: carver/roller/node.py:52-77`. The check fails when one
is missing, when its range does not start and end at the definition, when definitions stand in another order than the
vendored ones, when parameters differ and no `# NOTE:` says why, when a vendored definition is neither ported nor listed
as left out, and when the table is out of date. It needs no TileLang; where one is found the pinned facts themselves are
checked against it too.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import tempfile
from pathlib import Path

from ..arch.errors import CarverError
from . import provenance, vendored
from .provenance import ADAPTED, MISSING, NOT_PORTED, PORTED, Facts, Mark, Ported, PortFile, Row
from .record import NO_FIXTURES, fixtures_folder

DOCUMENT = provenance.ROOT / "PORTING.md"
# What of PORTING.md is written by this command: each part stands between two such lines.
PARTS = ("modules", "table")


def marker(part: str) -> tuple[str, str]:
    """The lines that a part of PORTING.md stands between."""
    return f"<!-- {part}: written by `carver porting --write`, not by hand -->", f"<!-- end of {part} -->"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    doing = parser.add_mutually_exclusive_group()
    doing.add_argument("--check", action="store_true", help="check the marks; exit code 1 if anything is wrong")
    doing.add_argument("--write", action="store_true", help="renew the table in PORTING.md")
    doing.add_argument("--pin", metavar="TILELANG", help="renew the pinned facts from this folder or wheel of 0.1.15")
    doing.add_argument("--json", action="store_true", help="the table as JSON")
    vendored.add_vendor_argument(parser)


def run(args: argparse.Namespace) -> int:
    if args.pin is not None:
        return pin(args.pin)
    facts = provenance.read_facts()
    files = provenance.read_port()
    rows = provenance.table(facts, files)
    if args.write:
        return write(rows, files)
    if args.check:
        return check_all(facts, files, rows, args.vendor)
    if args.json:
        print(json.dumps([row_to_json(row) for row in rows], indent=1))
    else:
        print_table(rows)
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# The check


def check_all(facts: Facts, files: list[PortFile], rows: list[Row], vendor: str | None) -> int:
    """Everything there is to check; prints a line per problem and one at the end."""
    problems = check_port(facts, files)
    if DOCUMENT.is_file():
        problems += check_document(DOCUMENT.read_text(encoding="utf-8"), rows, files)
    tree = vendored.find_tree(vendor)
    against = "against the pinned facts only, with no TileLang sources at hand"
    if tree is not None and tree.version in (vendored.PINNED_VERSION, None):
        problems += check_facts(facts, tree)
        against = f"against the pinned facts, and these against {tree.label()}"
    elif tree is not None:
        against = f"against the pinned facts only, since {tree.label()} is not {vendored.PINNED_VERSION}"
    for problem in problems:
        print(problem)
    counts = _count(rows)
    if problems:
        print(f"{len(problems)} problem{'s' if len(problems) > 1 else ''} in the marks of {len(files)} files")
        return 1
    print(f"marks of {len(files)} files hold: {counts}; checked {against}")
    return 0


def _count(rows: list[Row]) -> str:
    statuses = [row.status for row in rows]
    texts = {PORTED: "ported", ADAPTED: "adapted to our tir", NOT_PORTED: "not ported", MISSING: "missing"}
    counts = [f"{statuses.count(status)} {text}" for status, text in texts.items() if status in statuses]
    noted = sum(1 for row in rows if row.port and row.why)
    return f"{', '.join(counts)}; {noted} with a noted difference"


def check_port(facts: Facts, files: list[PortFile]) -> list[str]:
    """What is wrong with the marks, one line each, ``file:line: what``."""
    problems: list[tuple[str, int, str]] = []
    for file in files:
        problems += [(file.path, line, text) for line, text in file.problems]
        for entry in file.definitions:
            problems += [(file.path, line, text) for line, text in check_definition(facts, file.path, entry)]
        for mark in file.left_out:
            problems += [(file.path, mark.line, text) for text in check_left_out(facts, mark)]
        problems += [(file.path, line, text) for line, text in check_order(facts, file)]
    problems += check_complete(facts, files)
    return [f"{path}:{line}: {text}" for path, line, text in sorted(problems)]


def check_definition(facts: Facts, path: str, entry: Ported) -> list[tuple[int, str]]:
    """A definition of the port against the vendored one its mark names."""
    name, line, mark = entry.definition.name, entry.definition.line, entry.mark
    counterpart = _counterpart(facts, path, name)
    if mark is None:
        if entry.addition or entry.notes:
            return []
        if counterpart:
            where, vendored_entry = counterpart
            return [(line, f"{name}: mark missing, `# vendored: {where}:{vendored_entry.first}-{vendored_entry.last}`")]
        if not provenance.is_port_of_carver(path, facts):
            return []
        return [(line, f"{name}: nothing vendored has this name: needs a NOTE or a place under `Additions`")]

    if mark.path not in facts.files:
        return [(mark.line, f"{name}: no pinned facts of {mark.path}")]
    problems = []
    if provenance.port_path(mark.path) != path:
        problems.append((mark.line, f"{name}: the port of {mark.path} is {provenance.port_path(mark.path)}, not here"))
    there = facts.find(mark.path, name)
    if there is None:
        other = facts.starting_at(mark.path, mark.first)
        also = f"; what starts at line {mark.first} is {other.name}" if other else ""
        return [*problems, (mark.line, f"{name}: {mark.path} has no definition of this name{also}")]
    if (mark.first, mark.last) != (there.first, there.last):
        problems.append(
            (mark.line, f"{name}: the mark says lines {mark.first}-{mark.last}, it is {there.first}-{there.last}")
        )
    difference = parameter_difference(there, entry.definition)
    if difference and not entry.notes:
        problems.append((line, f"{name}: {difference}, and no NOTE says why"))
    return problems


def _counterpart(facts: Facts, path: str, name: str) -> tuple[str, provenance.Definition] | None:
    """The vendored definition of that name in a file whose port is `path`."""
    for vendored_path in facts.files:
        if provenance.port_path(vendored_path) == path:
            found = facts.find(vendored_path, name)
            if found and found.marked:
                return vendored_path, found
    return None


def parameter_difference(there: provenance.Definition, here: provenance.Definition) -> str:
    """How parameters differ, in words; "" if they do not. Names and their order count, and so do defaults."""
    if there.parameters != here.parameters:
        return f"parameters ({', '.join(there.parameters)}) became ({', '.join(here.parameters)})"
    changed = []
    old, new = dict(there.defaults), dict(here.defaults)
    for name in there.parameters:
        if old.get(name) != new.get(name):
            changed.append(f"{name}={old.get(name, 'nothing')} became {name}={new.get(name, 'nothing')}")
    return f"the default {'; '.join(changed)}" if changed else ""


def check_left_out(facts: Facts, mark: Mark) -> list[str]:
    """A `# not ported` mark against the vendored definition it names."""
    if mark.path not in facts.files:
        return [f"{mark.name}: no pinned facts of {mark.path}"]
    there = facts.find(mark.path, mark.name)
    if there is None:
        return [f"{mark.name}: {mark.path} has no definition of this name"]
    if (mark.first, mark.last) != (there.first, there.last):
        return [f"{mark.name}: the mark says lines {mark.first}-{mark.last}, it is {there.first}-{there.last}"]
    return []


def check_order(facts: Facts, file: PortFile) -> list[tuple[int, str]]:
    """Definitions that stand before one that comes first in the vendored file.

    Each marked file has an order of its own; marks of what is left out take part.
    """
    marks = [(entry.definition.first, entry.definition.name, entry.mark) for entry in file.definitions if entry.mark]
    marks += [(mark.line, mark.name, mark) for mark in file.left_out]
    problems = []
    furthest: dict[str, tuple[int, str]] = {}
    for line, name, mark in sorted(marks, key=lambda entry: entry[0]):
        there = facts.find(mark.path, name)
        if there is None:
            continue  # said elsewhere
        before = furthest.get(mark.path)
        if before and there.first < before[0]:
            problems.append((line, f"{name}: stands after {before[1]}, in {mark.path} it comes before"))
        elif before and there.first == before[0]:
            problems.append((line, f"{name}: is here twice"))
        else:
            furthest[mark.path] = (there.first, name)
    return problems


def check_complete(facts: Facts, files: list[PortFile]) -> list[tuple[str, int, str]]:
    """Vendored definitions that are neither ported nor listed as left out."""
    problems = []
    known = {file.path: file for file in files}
    unmarked = {
        (file.path, entry.definition.name) for file in files for entry in file.definitions if entry.mark is None
    }
    for row in provenance.table(facts, files):
        if row.status != MISSING:
            continue
        port = provenance.port_path(row.path) or row.path
        if (port, row.vendored.name) in unmarked:
            continue  # it is there, and its missing mark has been told
        line = known[port].text.count("\n") if port in known else 0
        where = f"{row.path}:{row.vendored.first}-{row.vendored.last}"
        text = f"{row.vendored.name}: vendored at {where}, neither ported nor listed as left out"
        problems.append((port, line, text))
    return problems


def check_facts(facts: Facts, tree: vendored.Tree) -> list[str]:
    """The pinned facts against the sources they were taken from."""
    found = provenance.facts_of(tree)
    problems = []
    for path in sorted(set(facts.files) | set(found.files)):
        pinned = {entry.name: entry for entry in facts.files.get(path, ())}
        real = {entry.name: entry for entry in found.files.get(path, ())}
        for name in [*pinned, *(name for name in real if name not in pinned)]:
            old, new = pinned.get(name), real.get(name)
            if old != new:
                problems.append(f"{path}:{(new or old).first}: {name}: {_facts_difference(old, new)}")
    return problems


def _facts_difference(old: provenance.Definition | None, new: provenance.Definition | None) -> str:
    if new is None:
        return "is pinned, and not in the sources"
    if old is None:
        return "is in the sources, and not pinned"
    if old.digest == new.digest:
        return f"is pinned at lines {old.first}-{old.last}, the sources have it at {new.first}-{new.last}"
    return "is not what was pinned"


# ---------------------------------------------------------------------------------------------------------------------
# Pinning


def pin(path: str) -> int:
    """Write the facts of the sources at `path`, which must be those of the version that the port follows."""
    fixtures_folder()  # where they go
    tree = vendored.open_tree(path, "--pin")
    if tree.version != vendored.PINNED_VERSION:
        raise CarverError(f"--pin: {tree.label()} is not {vendored.PINNED_VERSION}, which this port follows")
    if tree.wheel is None:
        raise CarverError(f"--pin: {tree.where} has no list of files (RECORD) beside it, which tells the wheel")
    facts = provenance.facts_of(tree)
    replace_file(provenance.FACTS_FILE, provenance.facts_to_text(facts))
    count = sum(len(entries) for entries in facts.files.values())
    print(f"pinned {count} definitions of {len(facts.files)} files of TileLang {facts.version}")
    return 0


def replace_file(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise CarverError(f"{path}: cannot be written: {error.strerror}") from None


# ---------------------------------------------------------------------------------------------------------------------
# The table


def row_to_json(row: Row) -> dict:
    """A row for other programs."""
    return {
        "vendored": row.path,
        "lines": [row.vendored.first, row.vendored.last],
        "name": row.vendored.name,
        "kind": row.vendored.kind,
        "status": row.status,
        "tvm": list(row.vendored.tvm),
        "port": row.port.file if row.port else None,
        "line": row.port.definition.line if row.port else None,
        "why": row.why or None,
    }


def print_table(rows: list[Row]) -> None:
    """The table as plain columns, a heading for every vendored file."""
    name_width = max(len(_indented(row)) for row in rows)
    place_width = max(len(row.port_place) for row in rows)
    path = None
    for row in rows:
        if row.path != path:
            path = row.path
            print(f"{path}")
        lines = f"{row.vendored.first}-{row.vendored.last}"
        why = f": {row.why}" if row.why else ""
        line = f"  {lines:>9}  {_indented(row):<{name_width}}  {row.port_place:<{place_width}}  {row.status}{why}"
        print(line.rstrip())
    print(f"{len(rows)} definitions: {_count(rows)}")


def _indented(row: Row) -> str:
    return "  " * row.vendored.depth + row.vendored.name.rpartition(".")[2]


def markdown_table(rows: list[Row]) -> str:
    """The table for PORTING.md: a section for every vendored file."""
    lines = [f"{len(rows)} vendored classes, functions and methods: {_count(rows)}.", ""]
    for path in dict.fromkeys(row.path for row in rows):
        entries = [row for row in rows if row.path == path]
        lines += [f"#### `{path}`", ""]
        lines += ["| lines | name | port | status |", "| --- | --- | --- | --- |"]
        for row in entries:
            place = f"[{row.port_place}]({row.port.file}#L{row.port.definition.line})" if row.port else ""
            why = f": {row.why}" if row.why else ""
            why = why.replace("|", "\\|")
            lines.append(
                f"| {row.vendored.first}-{row.vendored.last} | `{row.vendored.name}` | {place} | {row.status}{why} |"
            )
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def markdown_modules(rows: list[Row], files: list[PortFile]) -> str:
    """The tables of modules for PORTING.md: the port's beside the vendored ones, then the stand-in for TVM."""
    lines = ["| vendored | port | what it is | ported | adapted | left out |", "| --- | --- | --- | --- | --- | --- |"]
    ports = {file.path: file for file in files}
    for path in dict.fromkeys(row.path for row in rows):
        statuses = [row.status for row in rows if row.path == path]
        port = provenance.port_path(path) or ""
        what = _summary(ports[port].text) if port in ports else ""
        counts = " | ".join(str(statuses.count(status) or "") for status in (PORTED, ADAPTED, NOT_PORTED))
        lines.append(f"| `{path}` | [{port}]({port}) | {what} | {counts} |")
    lines += ["", "| our tir | what it is | TVM sources named in it |", "| --- | --- | --- |"]
    for file in sorted((provenance.ROOT / "roller" / "tir").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        path = file.relative_to(provenance.ROOT).as_posix()
        sources = dict.fromkeys(_TVM_SOURCE.findall(text))
        lines.append(f"| [{path}]({path}) | {_summary(text)} | {', '.join(f'`{source}`' for source in sources)} |")
    return "\n".join(lines) + "\n"


_TVM_SOURCE = re.compile(r"# tvm: ((?:src|include|python)/[\w./]+)")


def _summary(text: str) -> str:
    """The first sentence of a file's docstring, in Markdown."""
    docstring = ast.get_docstring(ast.parse(text)) or ""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[^A-Z][.])\s+(?=[A-Z:])", paragraph)[0]
    plain = re.sub(r":\w+:`\.?([^`]*)`", r"`\1`", sentence).replace("``", "`")
    return plain.replace("|", "\\|")


def split_document(text: str, part: str) -> tuple[str, str, str]:
    """PORTING.md before, inside and after one of its written parts. CarverError where it has no place for it."""
    begin, end = marker(part)
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise CarverError(f"PORTING.md needs one line `{begin}` and, after it, one line `{end}`")
    before, _, rest = text.partition(begin)
    inside, _, after = rest.partition(end)
    return before, inside, after


def render(part: str, rows: list[Row], files: list[PortFile]) -> str:
    """What a part should hold now."""
    return markdown_modules(rows, files) if part == "modules" else markdown_table(rows)


def check_document(text: str, rows: list[Row], files: list[PortFile]) -> list[str]:
    """Whether the written parts of PORTING.md are the present ones."""
    problems = []
    for part in PARTS:
        before, inside, _ = split_document(text, part)
        old_lines = inside.strip().split("\n")
        new_lines = render(part, rows, files).strip().split("\n")
        if old_lines == new_lines:
            continue
        same = 0
        while same < min(len(old_lines), len(new_lines)) and old_lines[same] == new_lines[same]:
            same += 1
        # Above the part's lines are the marker's own and an empty one.
        line = before.count("\n") + 3 + same
        problems.append(f"PORTING.md:{line}: {part} out of date; carver porting --write renews it")
    return problems


def write(rows: list[Row], files: list[PortFile]) -> int:
    """Renew the written parts of PORTING.md."""
    try:
        text = DOCUMENT.read_text(encoding="utf-8")
    except OSError:
        raise CarverError(NO_FIXTURES.replace("fixtures", DOCUMENT.name)) from None
    for part in PARTS:
        before, _, after = split_document(text, part)
        begin, end = marker(part)
        text = f"{before}{begin}\n\n{render(part, rows, files)}\n{end}{after}"
    replace_file(DOCUMENT, text)
    print(f"wrote the table of {len(rows)} definitions: {_count(rows)}")
    return 0
