"""The devices known by name, with the figures that carver's model reads."""

from __future__ import annotations

import argparse
import json
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  carver devices\n  carver devices h100 rtx4090 --json"
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these devices, with the sources of each")
    parser.add_argument("--json", action="store_true", help="one JSON array on stdout")


def run(args: argparse.Namespace) -> int:
    from ..arch import catalogue

    rows = [catalogue.lookup(name) for name in args.names] if args.names else list(catalogue.DEVICES)
    if args.json:
        print(json.dumps([catalogue.as_dict(row) for row in rows], indent=1))
        return 0
    print_table(rows)
    if args.names:
        for row in rows:
            print(f"\n{row.name}: {row.source}")
    return 0


def print_table(rows: list[Any]) -> None:
    """One line per device; bytes in KiB and MiB."""
    header = ("name", "target", "cores", "smem KiB", "opt-in KiB", "L2 MiB", "warp", "also")
    lines = [header]
    for row in rows:
        lines.append(
            (
                row.name,
                row.arch,
                str(row.compute_max_core),
                _number(row.smem_cap / 1024),
                _number(row.smem_optin / 1024) if row.smem_optin else "-",
                _number(row.l2_cache_size_bytes / 2**20),
                str(row.warp_size),
                ", ".join(row.aliases),
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        cells = [cell.rjust(w) if 2 <= i <= 6 else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.1f}"
