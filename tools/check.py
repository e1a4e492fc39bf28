"""Replay recordings on the port and report every difference. Needs no tilelang.

Without PATH all recordings in fixtures/ are replayed, and must fit the case lists they came from. A report says per
case what moved (rank a -> b), changed (field old -> new), appeared or went, starting at the first visited tile that
differs. Exit code 0: no difference, 1: drift, 2: a file is no recording.

    carver check
    carver check mine.jsonl --case matmul
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..arch.errors import CarverError
from . import cases as case_module
from . import recording
from .cases import Backend
from .record import case_lists, fixtures_folder, progress


@dataclass(frozen=True)
class Drift:
    """One difference between a recorded case and its replay."""

    kind: str  # moved, changed, appeared or went
    what: str  # where: a visited tile, a rank, a hint, ...
    old: Any = None
    new: Any = None

    def __str__(self) -> str:
        if self.kind == "moved":
            return f"moved     {self.what}: rank {self.old} -> {self.new}"
        if self.kind == "changed":
            return f"changed   {self.what}: {brief(self.old)} -> {brief(self.new)}"
        value = self.new if self.kind == "appeared" else self.old
        return f"{self.kind:<9} {self.what}" + ("" if value is None else f": {brief(value)}")


def brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:117] + "..."


# ---------------------------------------------------------------------------------------------------------------------
# Comparing


def carver_errors() -> set[str]:
    """Names of the port's own error classes: what it may raise where the real carver raises anything."""
    names = set()
    todo: list[type] = [CarverError]
    while todo:
        cls = todo.pop()
        names.add(cls.__name__)
        todo.extend(cls.__subclasses__())
    return names


def same_error(old: dict | None, new: dict | None) -> bool:
    """The port raises where the real carver does: an error of its own, or one of the same type."""
    if old is None or new is None:
        return old is new
    return new["type"] == old["type"] or new["type"] in carver_errors()


def steady(order: list[int]) -> set[int]:
    """Positions of a longest increasing subsequence of `order`: the entries that kept their order."""
    tails: list[int] = []  # last value of the best subsequence of each length
    tail_positions: list[int] = []
    previous: list[int] = []
    for position, value in enumerate(order):
        length = bisect_left(tails, value)
        previous.append(tail_positions[length - 1] if length else -1)
        if length == len(tails):
            tails.append(value)
            tail_positions.append(position)
        else:
            tails[length] = value
            tail_positions[length] = position
    kept: set[int] = set()
    position = tail_positions[-1] if tail_positions else -1
    while position >= 0:
        kept.add(position)
        position = previous[position]
    return kept


def compare_order(old: list, new: list, what: str) -> Iterator[Drift]:
    """Two rankings of hashable names, best first; ranks count from 1. One that moved past others is named once."""
    old_rank = {name: rank for rank, name in enumerate(old)}
    new_rank = {name: rank for rank, name in enumerate(new)}
    common = [name for name in new if name in old_rank]
    kept = steady([old_rank[name] for name in common])
    for position, name in enumerate(common):
        if position not in kept:
            yield Drift("moved", f"{what} {list(name)}", old_rank[name] + 1, new_rank[name] + 1)
    for name in old:
        if name not in new_rank:
            yield Drift("went", f"{what} {list(name)}", f"rank {old_rank[name] + 1}")
    for name in new:
        if name not in old_rank:
            yield Drift("appeared", f"{what} {list(name)}", None, f"rank {new_rank[name] + 1}")


def compare_fields(old: dict, new: dict, what: str, skip: Iterable[str] = ()) -> Iterator[Drift]:
    for name in (*old, *(name for name in new if name not in old)):
        if name in skip:
            continue
        if name not in new:
            yield Drift("went", f"{what} {name}", old[name])
        elif name not in old:
            yield Drift("appeared", f"{what} {name}", None, new[name])
        elif canonical(old[name]) != canonical(new[name]):
            yield Drift("changed", f"{what} {name}", old[name], new[name])


def canonical(value: Any) -> Any:
    """With the order of an object's keys made part of the value: dictionaries are equal in any order otherwise."""
    if isinstance(value, dict):
        return [(key, canonical(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return value


def compare_visited(old: list, new: list, what: str) -> Iterator[Drift]:
    """The first visit that differs comes first; then tiles whose figures changed, appeared and went."""
    old_at = {tuple(row[0]): (index, row) for index, row in enumerate(old)}
    new_at = {tuple(row[0]): (index, row) for index, row in enumerate(new)}
    for index, (old_row, new_row) in enumerate(zip(old, new)):
        if old_row[0] != new_row[0]:
            yield Drift("changed", f"{what} visit {index} tile", old_row[0], new_row[0])
            break
        if old_row != new_row:
            break  # the same tile with other figures; it is the first of those below
    for tile, (index, row) in old_at.items():
        if tile not in new_at:
            continue
        other = new_at[tile][1]
        for name, before, after in zip(recording.VISITED_FIELDS[1:], row[1:], other[1:]):
            if before != after:
                yield Drift("changed", f"{what} visit {index} {list(tile)} {name}", before, after)
    for tile, (index, _) in old_at.items():
        if tile not in new_at:
            yield Drift("went", f"{what} visit {index} {list(tile)}")
    for tile, (index, _) in new_at.items():
        if tile not in old_at:
            yield Drift("appeared", f"{what} visit {index} {list(tile)}")


def ranked_tiles(search: dict) -> list[tuple]:
    return [tuple(search["visited"][index][0]) for index in search["ranked"]]


def compare_search(old: dict, new: dict, what: str) -> Iterator[Drift]:
    for name in ("policy", "base_tile", "rstep"):
        if canonical(old[name]) != canonical(new[name]):
            yield Drift("changed", f"{what} {name}", old[name], new[name])
    if not same_error(old.get("error"), new.get("error")):
        yield Drift("changed", f"{what} error", old.get("error"), new.get("error"))
    if len(old["nodes"]) != len(new["nodes"]):
        yield Drift("changed", f"{what} number of nodes", len(old["nodes"]), len(new["nodes"]))
    for old_node, new_node in zip(old["nodes"], new["nodes"]):
        yield from compare_fields(old_node, new_node, f"{what} node {old_node['name']}")
    if old["visited"] != new["visited"]:
        yield from compare_visited(old["visited"], new["visited"], what)
    yield from compare_order(ranked_tiles(old), ranked_tiles(new), f"{what} tile")

    def expanded(search: dict) -> dict:
        return {str(search["visited"][index][0]): [smem, rsteps] for index, smem, rsteps in search["expanded"]}

    yield from compare_fields(expanded(old), expanded(new), f"{what} after growing the steps")


def hint_names(hints: list) -> list[tuple]:
    """What to call each hint: the blocks of its nodes, and a number from the second of a name on."""
    names: list[tuple] = []
    for parts in hints:
        name: tuple = tuple(tuple(part["block"]) for part in parts)
        if len(name) == 1:
            name = name[0]
        again = sum(1 for other in names if other[: len(name)] == name)
        names.append((*name, f"#{again + 1}") if again else name)
    return names


def compare_hints(old: list | None, new: list | None) -> Iterator[Drift]:
    if old is None or new is None:
        if old is not new:
            yield Drift("changed", "hints", old, new)
        return
    old_names, new_names = hint_names(old), hint_names(new)
    yield from compare_order(old_names, new_names, "hint")
    after = dict(zip(new_names, new))
    for name, parts in zip(old_names, old):
        others = after.get(name)
        if others is None:
            continue
        if len(parts) != len(others):
            yield Drift("changed", f"hint {list(name)} number of nodes", len(parts), len(others))
        for position, (part, other) in enumerate(zip(parts, others)):
            what = f"hint {list(name)}" + (f" node {position}" if len(parts) > 1 else "")
            yield from compare_fields(part, other, what)


def compare_records(old: dict, new: dict) -> list[Drift]:
    """All differences between two records of one case; none when the replay is exact."""
    drifts: list[Drift] = []
    if len(old["searches"]) != len(new["searches"]):
        before = [search["policy"] for search in old["searches"]]
        after = [search["policy"] for search in new["searches"]]
        drifts.append(Drift("changed", "searches", before, after))
    for position, (old_search, new_search) in enumerate(zip(old["searches"], new["searches"])):
        what = f"search {position + 1}" if len(old["searches"]) > 1 else "search"
        drifts.extend(compare_search(old_search, new_search, what))
    if "error" in old or "error" in new:
        if not same_error(old.get("error"), new.get("error")):
            old_end = old.get("error", "hints")
            drifts.append(Drift("changed", "outcome", old_end, new.get("error", "hints")))
    else:
        drifts.extend(compare_hints(old["hints"], new["hints"]))
    return drifts


# ---------------------------------------------------------------------------------------------------------------------
# Replaying


def replay(backend: Backend, case: dict, record: dict) -> list[Drift]:
    """The differences between a recorded case and the port's answer to it."""
    try:
        new, _ = case_module.record_case(backend, case)
    except KeyError as error:
        raise CarverError(f"case {case['id']} names {error}, which fixtures/workloads.py has not") from None
    return compare_records(record, new)


def known_workload(backend: Backend, case: dict, path: str) -> None:
    computation = case["computation"]
    for kind, table in (("workload", backend.workloads.WORKLOADS), ("graph", backend.workloads.GRAPHS)):
        if kind not in computation:
            continue
        if computation[kind] not in table:
            raise CarverError(f"{path}: case {case['id']} names {kind} {computation[kind]!r}, which is not known")
        try:
            inspect.signature(table[computation[kind]]).bind(None, **computation["params"])
        except TypeError as error:
            raise CarverError(f"{path}: case {case['id']}: {kind} {computation[kind]!r}: {error}") from None


def own_recordings() -> list[Path]:
    """The recordings in fixtures/, in the order of the case lists; a list without one is an error."""
    folder = fixtures_folder()
    paths = []
    for name in case_lists().LISTS:
        found = [folder / f"{name}.jsonl", folder / f"{name}_large.jsonl.gz"]
        found = [path for path in found if path.exists()]
        if not found:
            raise CarverError(f"{folder / name}.jsonl is missing; `carver record --cases {name}` makes it")
        paths += found
    return paths


def stale(recordings: list[recording.Recording]) -> list[str]:
    """Where recordings and case lists do not fit: cases not recorded, recorded but not listed, or defined otherwise."""
    recorded = {}
    for item in recordings:
        listed = Path(item.path).name.split(".")[0].removesuffix("_large")
        for case, _ in item.entries:
            recorded[listed, case["id"]] = case
    complaints = []
    for name, make in case_lists().LISTS.items():
        cases = {case["id"]: case for case in make()}
        missing = [key for key in cases if (name, key) not in recorded]
        extra = [key for listed, key in recorded if listed == name and key not in cases]
        other = [key for key, case in cases.items() if recorded.get((name, key), case) != case]
        for keys, text in ((missing, "not recorded"), (extra, "not in the list"), (other, "recorded otherwise")):
            if keys:
                complaints.append(f"list {name}: {len(keys)} cases {text}, the first is {keys[0]}")
    return complaints


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="recordings (default: all in fixtures/)")
    parser.add_argument("--case", metavar="TEXT", help="only cases whose id contains TEXT")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="differences to print per case (10)")
    parser.add_argument("--json", action="store_true", help="the report as JSON")


def run(args: argparse.Namespace) -> int:
    if args.show < 1:
        raise CarverError(f"--show {args.show}: must be positive")
    fixtures_folder()  # cases may name its functions
    recordings = [recording.read(path) for path in (args.paths or own_recordings())]
    complaints = [] if args.paths else stale(recordings)
    backend = case_module.port_backend()
    chosen = []
    for item in recordings:
        entries = [entry for entry in item.entries if args.case is None or args.case in entry[0]["id"]]
        for case, _ in entries:
            known_workload(backend, case, item.path)
        chosen.append((item.path, entries))
    total = sum(len(entries) for _, entries in chosen)
    if args.case is not None and total == 0:
        raise CarverError(f"no recorded case has {args.case!r} in its id")

    report = []
    done = 0
    with progress(total, "checking") as show:
        for path, entries in chosen:
            drifted = {}
            for case, record in entries:
                show(done)
                done += 1
                drifts = replay(backend, case, record)
                if drifts:
                    drifted[case["id"]] = drifts
            report.append((path, len(entries), drifted))
    print_report(report, complaints, args)
    return 1 if complaints or any(drifted for _, _, drifted in report) else 0


def print_report(report: list, complaints: list[str], args: argparse.Namespace) -> None:
    if args.json:
        files = [
            {
                "path": path,
                "cases": count,
                "drifted": {name: [asdict(drift) for drift in drifts] for name, drifts in drifted.items()},
            }
            for path, count, drifted in report
        ]
        json.dump({"files": files, "stale": complaints}, sys.stdout, indent=1, ensure_ascii=False)
        print()
        return
    for path, count, drifted in report:
        print(f"{path}: {count} cases, {len(drifted)} drifted")
        for name, drifts in drifted.items():
            print(f"  {name}")
            for drift in drifts[: args.show]:
                print(f"    {drift}")
            if len(drifts) > args.show:
                print(f"    ... and {len(drifts) - args.show} more")
    for complaint in complaints:
        print(f"stale     {complaint}; `carver record --update` records again")
