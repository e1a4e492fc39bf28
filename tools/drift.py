"""What another version of TileLang changed in carver since 0.1.15, and which port it concerns.

    carver drift TREE      a folder tilelang/, a checkout around it, or carver/ itself
    carver drift WHEEL     a wheel file, read where it lies; nothing of it is unpacked, imported or run
    carver drift ../tilelang/tilelang

Definitions are compared by their syntax, so comments, docstrings and formatting do not count; imports do not either.
Against the pinned facts of 0.1.15 a definition is
  changed    with what of it: parameters, annotations only, body, fields
  moved      to another file or class, or to another place among its neighbours
  appeared   in TREE, and is not in 0.1.15
  gone       from TREE, and is in 0.1.15
A change within a method is told for the method, not for its class. Exit code 1 when anything is told, else 0.
"""

from __future__ import annotations

import argparse
import bisect
import json
from dataclasses import dataclass
from typing import Any

from . import provenance, vendored
from .provenance import CLASS, CONSTANT, STATEMENTS, Definition, Facts, PortFile

CHANGED, MOVED, APPEARED, GONE = "changed", "moved", "appeared", "gone"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the port something is, or would have to go."""

    file: str
    name: str | None  # None where only the file is known
    line: int | None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference from the pinned facts. ``path`` and ``name`` are those of 0.1.15 except for what appeared."""

    kind: str
    path: str
    name: str
    old: Definition | None
    new: Definition | None
    new_path: str | None
    what: tuple[str, ...]
    port: Place | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tree", metavar="TREE_OR_WHEEL", help="the other TileLang")
    parser.add_argument("--json", action="store_true", help="print the drift as JSON")


def run(args: argparse.Namespace) -> int:
    facts = provenance.read_facts()
    tree = vendored.open_tree(args.tree)
    files = provenance.read_port()
    drift = find_drift(facts, provenance.facts_of(tree), files)
    if args.json:
        print(json.dumps(to_json(facts, tree, drift), indent=1))
    else:
        print_drift(facts, tree, drift)
    return 1 if drift else 0


# ---------------------------------------------------------------------------------------------------------------------
# Comparing


def find_drift(pinned: Facts, found: Facts, files: list[PortFile]) -> list[Drift]:
    """All differences, in the order of the pinned files and lines; what appeared comes at the end of its file."""
    port = _PortIndex(pinned, files)
    old = _concerned(pinned, port)
    new = _concerned(found, port)
    gone = {key: entry for key, entry in old.items() if key not in new}
    appeared = {key: entry for key, entry in new.items() if key not in old}
    moved = _moved_elsewhere(gone, appeared)

    drift = []
    for key, entry in old.items():
        path, name = key
        if key in new:
            what = difference(entry, new[key])
            if what:
                drift.append(Drift(CHANGED, path, name, entry, new[key], path, what, port.place(path, name)))
        elif key in moved:
            target = moved[key]
            what = (f"to {target[0]} {target[1]}", *difference(entry, new[target]))
            drift.append(Drift(MOVED, path, name, entry, new[target], target[0], what, port.place(path, name)))
        elif not _class_has_gone(key, gone, moved):
            drift.append(Drift(GONE, path, name, entry, None, None, _with_methods(key, gone), port.place(path, name)))
    targets = set(moved.values())
    for key, entry in appeared.items():
        path, name = key
        if key not in targets and not _class_has_gone(key, appeared, {}):
            what = _with_methods(key, appeared)
            drift.append(Drift(APPEARED, path, name, None, entry, path, what, port.place_for(path, name)))
    drift += _moved_within(old, new, port)
    order = {path: index for index, path in enumerate(dict.fromkeys([*pinned.files, *found.files]))}
    return sorted(drift, key=lambda entry: (order[entry.path], entry.old is None, (entry.old or entry.new).first))


def _concerned(facts: Facts, port: _PortIndex) -> dict[tuple[str, str], Definition]:
    """What takes part: all of carver/, and of the files outside it only what the port has."""
    found = {}
    for path, entries in facts.files.items():
        for entry in entries:
            if path.startswith("carver/") or port.place(path, entry.name):
                found[path, entry.name] = entry
    return found


def difference(old: Definition, new: Definition) -> tuple[str, ...]:
    """What of a definition differs; () if nothing that counts does."""
    if old.digest == new.digest and old.kind == new.kind:
        return ()
    if old.kind != new.kind:
        return (f"{old.kind} became {new.kind}",)
    if old.kind in (CONSTANT, STATEMENTS):
        return ("value",) if old.kind == CONSTANT else ("statements",)
    what = []
    if (old.parameters, old.defaults) != (new.parameters, new.defaults):
        what.append(f"parameters ({_signature(old)}) became ({_signature(new)})")
    if old.plain == new.plain:
        what.append("annotations only")
    elif old.kind == CLASS:
        what.append("decorators, bases or fields")
    else:
        what.append("body")
    return tuple(what)


def _signature(entry: Definition) -> str:
    defaults = dict(entry.defaults)
    return ", ".join(f"{name}={defaults[name]}" if name in defaults else name for name in entry.parameters)


def _moved_elsewhere(
    gone: dict[tuple[str, str], Definition], appeared: dict[tuple[str, str], Definition]
) -> dict[tuple[str, str], tuple[str, str]]:
    """Gone definitions that are found again: unchanged under the same last name, or else under the same full name."""
    moved: dict[tuple[str, str], tuple[str, str]] = {}
    free = dict(appeared)
    for same in (_unchanged, _same_name):
        for key, entry in gone.items():
            if key in moved or entry.kind == STATEMENTS:
                continue
            targets = [target for target, candidate in free.items() if same(key, entry, target, candidate)]
            if len(targets) == 1:  # of several nobody knows which it is
                moved[key] = targets[0]
                del free[targets[0]]
    return moved


def _unchanged(key: tuple[str, str], entry: Definition, target: tuple[str, str], candidate: Definition) -> bool:
    same_last_name = key[1].rpartition(".")[2] == target[1].rpartition(".")[2]
    return same_last_name and entry.kind == candidate.kind and entry.digest == candidate.digest


def _same_name(key: tuple[str, str], entry: Definition, target: tuple[str, str], candidate: Definition) -> bool:
    return key[1] == target[1] and entry.kind == candidate.kind


def _class_has_gone(key: tuple[str, str], gone: dict, moved: dict) -> bool:
    """Whether the class around a definition is told of as a whole, so that its methods need not be."""
    path, name = key
    around = name.rpartition(".")[0]
    return bool(around) and (path, around) in gone and (path, around) not in moved


def _with_methods(key: tuple[str, str], entries: dict) -> tuple[str, ...]:
    path, name = key
    if entries[key].kind != CLASS:
        return ()
    count = sum(1 for other_path, other in entries if other_path == path and other.startswith(name + "."))
    return (f"with {count} method{'s' if count != 1 else ''}",) if count else ()


def _moved_within(old: dict, new: dict, port: _PortIndex) -> list[Drift]:
    """Definitions that stand at another place among their neighbours of the same file and class."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path, name in old:
        if (path, name) in new and old[path, name].marked:
            groups.setdefault((path, name.rpartition(".")[0]), []).append(name)
    drift = []
    for (path, _), names in groups.items():
        positions = [new[path, name].first for name in names]
        staying = _longest_rising(positions)
        for index, name in enumerate(names):
            if index in staying:
                continue
            before = [other for other in names if new[path, other].first < new[path, name].first]
            after = max(before, key=lambda other: new[path, other].first, default=None)
            what = (f"within the file, after {after}" if after else "within the file, to its beginning",)
            place = port.place(path, name)
            drift.append(Drift(MOVED, path, name, old[path, name], new[path, name], path, what, place))
    return drift


def _longest_rising(numbers: list[int]) -> set[int]:
    """The indices of a longest rising subsequence."""
    ends: list[int] = []  # the least last number of a rising sequence of each length
    ends_at: list[int] = []
    before: list[int | None] = []
    for index, number in enumerate(numbers):
        length = bisect.bisect_left(ends, number)
        if length == len(ends):
            ends.append(number)
            ends_at.append(index)
        else:
            ends[length] = number
            ends_at[length] = index
        before.append(ends_at[length - 1] if length else None)
    chosen: set[int] = set()
    at = ends_at[-1] if ends_at else None
    while at is not None:
        chosen.add(at)
        at = before[at]
    return chosen


class _PortIndex:
    """Which definition of the port goes with a vendored one."""

    def __init__(self, pinned: Facts, files: list[PortFile]) -> None:
        self.places: dict[tuple[str, str], Place] = {}
        self.constants: dict[tuple[str, str], Place] = {}
        self.files = {file.path for file in files}
        for row in provenance.table(pinned, files):
            if row.port:
                entry = row.port.definition
                self.places[row.path, row.vendored.name] = Place(row.port.file, entry.name, entry.line)
            elif row.status == provenance.NOT_PORTED:
                self.places[row.path, row.vendored.name] = Place("not ported", None, None)
        for file in files:
            for entry in file.constants:
                self.constants[file.path, entry.name] = Place(file.path, entry.name, entry.line)

    def place(self, path: str, name: str) -> Place | None:
        """Where a pinned definition is in the port."""
        if (path, name) in self.places:
            return self.places[path, name]
        if not path.startswith("carver/"):
            return None
        file = provenance.port_path(path) or ""
        return self.constants.get((file, name)) or (Place(file, None, None) if file in self.files else None)

    def place_for(self, path: str, name: str) -> Place | None:
        """Where one that appeared would go: to the port of its class, else to the port of its file."""
        around = name.rpartition(".")[0]
        if around and (path, around) in self.places:
            return self.places[path, around]
        file = provenance.port_path(path)
        return Place(file, None, None) if file in self.files else None


# ---------------------------------------------------------------------------------------------------------------------
# Showing


def print_drift(facts: Facts, tree: vendored.Tree, drift: list[Drift]) -> None:
    """The drift as plain columns, a heading for every vendored file."""
    print(f"{tree.label()} against the pinned {facts.version}")
    if not drift:
        print(f"nothing has changed in {sum(map(len, facts.files.values()))} definitions")
        return
    name_width = max(len(entry.name) for entry in drift)
    lines_width = max(len(_lines(entry)) for entry in drift)
    path = None
    for entry in drift:
        if entry.path != path:
            path = entry.path
            print(vendored.printable(path))
        what = ", ".join(entry.what)
        port = f"port {entry.port}" if entry.port else "no port"
        columns = f"  {entry.kind:<8}  {entry.name:<{name_width}}  {_lines(entry):<{lines_width}}  {port}"
        print(vendored.printable(f"{columns}: {what}" if what else columns))
    print(f"{counts_text(drift)}; {concerned_ports(drift)} definitions of the port concerned")


def _lines(entry: Drift) -> str:
    old = f"{entry.old.first}-{entry.old.last}" if entry.old else ""
    new = f"{entry.new.first}-{entry.new.last}" if entry.new else ""
    return f"{old} -> {new}" if old and new else old or new


def counts(drift: list[Drift]) -> dict[str, int]:
    return {kind: sum(entry.kind == kind for entry in drift) for kind in (CHANGED, MOVED, APPEARED, GONE)}


def counts_text(drift: list[Drift]) -> str:
    text = ", ".join(f"{count} {kind}" for kind, count in counts(drift).items())
    annotations = sum(entry.kind == CHANGED and entry.what == ("annotations only",) for entry in drift)
    return text.replace("changed", f"changed ({annotations} in annotations only)", 1) if annotations else text


def concerned_ports(drift: list[Drift]) -> int:
    """How many definitions of the port stand beside something that changed, moved or went."""
    return len({(entry.port.file, entry.port.name) for entry in drift if entry.old and entry.port and entry.port.line})


def to_json(facts: Facts, tree: vendored.Tree, drift: list[Drift]) -> dict[str, Any]:
    """The drift for other programs."""
    return {
        "pinned": facts.version,
        "tilelang": tree.version,
        "where": tree.where,
        "wheel": tree.wheel,
        "counts": counts(drift),
        "drift": [_entry_to_json(entry) for entry in drift],
    }


def _entry_to_json(entry: Drift) -> dict[str, Any]:
    port = entry.port
    return {
        "kind": entry.kind,
        "path": entry.path,
        "name": entry.name,
        "definition": (entry.old or entry.new).kind,
        "lines": [entry.old.first, entry.old.last] if entry.old else None,
        "there": {"path": entry.new_path, "lines": [entry.new.first, entry.new.last]} if entry.new else None,
        "what": list(entry.what),
        "port": {"file": port.file, "name": port.name, "line": port.line} if port else None,
    }
