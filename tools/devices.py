"""The devices known by name, with the figures that carver's model reads."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from .display import Column, add_width, table, width_of, wrapped

# Targets whose L2 carver reads from an attribute that none of them has.
RDNA = ("gfx11", "gfx12")
# Columns for a device's other names, where they stand in its line.
LEAST_ALSO = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  carver devices\n  carver devices h100 rtx4090 --json"
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these devices, with the sources of each")
    parser.add_argument("--json", action="store_true", help="one JSON array on stdout")
    add_width(parser)


def run(args: argparse.Namespace) -> int:
    from ..arch import catalogue

    rows = [catalogue.lookup(name) for name in args.names] if args.names else list(catalogue.DEVICES)
    if args.json:
        print(json.dumps([catalogue.as_dict(row) for row in rows], indent=1))
        return 0
    columns = width_of(args)
    print(*table_lines(rows, columns), sep="\n")
    if args.names:
        for row in rows:
            print("", *wrapped(f"{row.name}: {row.source}", columns, 0, 2), sep="\n")
    return 0


def table_lines(rows: list[Any], columns: int) -> Iterator[str]:
    """One line per device, bytes in KiB and MiB; its other names behind that, or below it where it is narrow."""
    titles = [Column(title) for title in ("name", "target")]
    titles += [Column(title, ">") for title in ("cores", "smem KiB", "opt-in KiB", "L2 MiB", "warp")]
    also = [", ".join(row.aliases) for row in rows]
    # Names and figures stay whole, however narrow it is.
    lines = table(titles, [_cells(row) for row in rows], max(columns, 80))
    if columns >= max(map(len, lines)) + 2 + LEAST_ALSO:
        yield from table([*titles, Column("also")], [(*_cells(row), names) for row, names in zip(rows, also)], columns)
    else:
        yield lines[0]
        for line, names in zip(lines[1:], also):
            yield line
            if names:
                yield from wrapped(f"also {names}", columns, 2, 4)
    if any(row.arch.startswith(RDNA) for row in rows):
        yield ""
        yield from wrapped(f"RDNA ({', '.join(RDNA)}): carver's model takes the L2 as 0 (PORTING.md)", columns, 0, 2)


def _cells(row: Any) -> tuple[str, ...]:
    optin = _number(row.smem_optin / 1024) if row.smem_optin else "-"
    sizes = (_number(row.smem_cap / 1024), optin, _number(row.l2_cache_size_bytes / 2**20))
    return (row.name, row.arch, str(row.compute_max_core), *sizes, str(row.warp_size))


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.1f}"
