"""Tile configurations for a computation on a device, best first, with the figures that ranked them.

traffic is the bytes one tile moves to and from global memory, smem the bytes of shared memory of one block,
and priority = (traffic + 1) x waves is what tiles are ranked by: less is better. step is how many elements of a narrow
dtype a thread takes at once, and a cell A + B has one part for each function of a graph, such as attention.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

from .options import add_computation, device_of, parameters_of, size, template_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_computation(parser, _add_own)


def _add_own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topk", type=size, default=10, metavar="N", help="at most so many hints (default: 10)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(args: argparse.Namespace) -> int:
    from .search import search_template

    device = device_of(args)
    search = search_template(template_of(args, device), device, args.topk)
    notes = list(_notes(args, device, search))
    if args.json:
        print(json.dumps(as_dict(args, device, search, notes), indent=1))
    else:
        print_search(device, search, notes)
    return 0 if search.hints else 1


def _notes(args: argparse.Namespace, device: Any, search: Any) -> Iterable[str]:
    """What a reader should know beside the table, one line each."""
    from .search import why_no_hint

    if search.why_no_tensor_core is not None:
        yield f"no tensor cores: {search.why_no_tensor_core}"
    if not search.hints:
        why = why_no_hint(search)
        advice = padding_advice(args, device) if "tensor-core path" in why else ""
        yield f"no hint: {why}{advice}"


def padding_advice(args: argparse.Namespace, device: Any) -> str:
    """Sizes of M, N and K that do give a hint, found by trying: "; pad N to 7136 or 7168"."""
    from .search import padded_sizes, search_template

    values = parameters_of(args)
    names = [name for name in ("M", "N", "K") if isinstance(values.get(name), int) and values[name] % 16]
    if args.template.name not in ("matmul", "gemv"):
        return ""

    def gives_hint(sizes: dict[str, int]) -> bool:
        tried = argparse.Namespace(**{**vars(args), **sizes})
        return bool(search_template(template_of(tried, device), device, 1).hints)

    # One size padded if that is enough, else all that are no multiple of 16.
    for name in reversed(names):
        found = [padded for padded in padded_sizes(values[name]) if gives_hint({name: padded})]
        if found:
            return f"; pad {name} to {' or '.join(map(str, found[:2]))}"
    all_padded = {name: padded_sizes(values[name])[0] for name in names}
    if all_padded and gives_hint(all_padded):
        return "; pad " + ", ".join(f"{name} to {padded}" for name, padded in all_padded.items())
    return ""


def hint_parts(hint: Any) -> list[tuple[str | None, Any]]:
    """A hint's parts with the names of their nodes: one unnamed part, or one per node of a graph."""
    if isinstance(hint, dict):
        return [(node.name, part) for node, part in hint.items()]
    return [(None, hint)]


def as_dict(args: argparse.Namespace, device: Any, search: Any, notes: list[str]) -> dict:
    """The search as plain values."""
    from .search import priority

    hints = []
    for found in search.hints:
        td = found.tile
        hints.append(
            {
                "tile": list(td.output_tile),
                "rank": found.rank + 1,
                "traffic": float(td.traffic),
                "smem_bytes": int(td.smem_cost),
                "grid_size": int(td.grid_size),
                "blocks_per_sm": int(td.block_per_SM),
                "waves": int(td.num_wave),
                "priority": float(priority(td)),
                "hint": [{"node": name, **_plain_hint(part)} for name, part in hint_parts(found.hint)],
            }
        )
    return {
        "template": args.template.name,
        "parameters": parameters_of(args),
        "device": device_line(device),
        "policy": type(search.policy).__name__,
        "visited": search.visited,
        "stopped": search.stopped,
        "notes": notes,
        "hints": hints,
    }


def _plain_hint(hint: Any) -> dict:
    plain = hint.to_dict()
    plain["rasterization"] = repr(hint.rasterization_plan)
    return plain


def device_line(device: Any) -> str:
    """A device's architecture and figures, for the head of an answer."""
    target = device.target
    name = target.attrs.get("arch") or target.mcpu or target.kind.name
    return (
        f"{name}, {device.compute_max_core} cores, {device.smem_cap} B shared memory per block, "
        f"{device.l2_cache_size_bytes} B L2"
    )


def print_search(device: Any, search: Any, notes: list[str]) -> None:
    """A line per hint under a line that says who answered."""
    stopped = " (stopped at the cap of 2000)" if search.stopped == "cap" else ""
    print(f"{type(search.policy).__name__} on {device_line(device)}; {_tiles(search.visited)} visited{stopped}")
    if search.hints:
        _print_table(search)
    for note in notes:
        print(note)
    sys.stdout.flush()


def _print_table(search: Any) -> None:
    from .search import priority

    rows = [("#", "tile", *_HINT_COLUMNS, "traffic", "smem", "blk/SM", "waves", "priority")]
    for number, found in enumerate(search.hints, 1):
        td = found.tile
        parts = [part for _, part in hint_parts(found.hint)]
        figures = (td.traffic, td.smem_cost, td.block_per_SM, td.num_wave, priority(td))
        rows.append((str(number), _by(td.output_tile), *_hint_cells(parts), *(f"{value:.0f}" for value in figures)))
    # A column in which no hint has anything is left out.
    used = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
    widths = {i: max(len(row[i]) for row in rows) for i in used}
    first_figure = len(rows[0]) - 5
    for row in rows:
        cells = [row[i].rjust(widths[i]) if i >= first_figure or i == 0 else row[i].ljust(widths[i]) for i in used]
        print("  ".join(cells).rstrip())


_HINT_COLUMNS = ("block", "warp", "thread", "rstep", "reduce", "step", "stage", "vectorize", "raster")


def _hint_cells(parts: list[Any]) -> tuple[str, ...]:
    """One cell per column of ``_HINT_COLUMNS``; the nodes of a graph are joined by +."""

    def joined(texts: Iterable[str]) -> str:
        texts = list(texts)
        return " + ".join(texts) if any(texts) else ""

    return (
        joined(_by(part.block) for part in parts),
        joined(_by(part.warp) if part.use_tc else "" for part in parts),
        joined("" if part.use_tc else _by(part.thread) for part in parts),
        joined(_by(part.rstep) for part in parts),
        joined(_by(part.reduce_thread) if any(n > 1 for n in part.reduce_thread) else "" for part in parts),
        joined(_by(part.step) if any(n > 1 for n in part.step) else "" for part in parts),
        joined(str(part.pipeline_stage) if part.use_tc else "" for part in parts),
        joined(",".join(f"{name}:{width}" for name, width in part.vectorize.items()) for part in parts),
        joined(str(getattr(part.rasterization_plan, "panel_width_", None) or "") for part in parts),
    )


def _tiles(count: int) -> str:
    return "1 tile" if count == 1 else f"{count} tiles"


def _by(extents: Iterable[int]) -> str:
    return "x".join(map(str, extents))
