"""Looking for blocks and inlining them. The port of ``carver/common_schedules.py``, after TVM's dlight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..arch.errors import CarverError
from .analysis import BlockInfo
from .tir.schedule import SBlockRV, Schedule
from .utils import retrieve_func_from_module


# vendored: carver/common_schedules.py:31-56
def get_block(sch: Schedule, blocks: Sequence[BlockInfo], name: str) -> SBlockRV | None:
    """The block of that name, the last if there are several, None if there is none."""
    for info in reversed(blocks):
        if sch.get(info.block_rv).name_hint == name:
            return info.block_rv
    return None


# vendored: carver/common_schedules.py:59-89
def get_output_blocks(sch: Schedule, blocks: Sequence[BlockInfo]) -> list[SBlockRV]:
    """The blocks that write a parameter of the function, once for each parameter that they write."""
    parameters = set(retrieve_func_from_module(sch.mod).buffer_map.values())
    writes = [(info.block_rv, access.buffer) for info in blocks for access in sch.get(info.block_rv).writes]
    return [block for block, buffer in writes if buffer in parameters]


# vendored: carver/common_schedules.py:92-127
def try_inline(sch: Schedule, blocks: list[BlockInfo]) -> list[BlockInfo]:
    """Inline block after block, the first that can be at each turn, and take it out of the list, in place.

    Into the readers if any block can be put there, else into what a block reads. Returns the same list.
    """

    def inline_first(inline: Callable[[SBlockRV], None]) -> int | None:
        for i, info in enumerate(blocks):
            try:
                inline(info.block_rv)
            except CarverError:
                continue
            return i
        return None

    while True:
        inlined = inline_first(sch.compute_inline)
        if inlined is None:
            inlined = inline_first(sch.reverse_compute_inline)
        if inlined is None:
            return blocks
        blocks.pop(inlined)


# vendored: carver/common_schedules.py:130-165
def try_inline_contiguous_spatial(sch: Schedule, block_infos: list[BlockInfo] | None) -> list[BlockInfo] | None:
    """``try_inline`` for every run of blocks without reduction axes. Returns what remains; None for None."""
    if block_infos is None:
        return None
    results: list[BlockInfo] = []
    run: list[BlockInfo] = []
    for info in block_infos:
        if info.is_injective():
            run.append(info)
            continue
        if run:
            results += try_inline(sch, run)
            run = []
        results.append(info)
    if run:
        results += try_inline(sch, run)
    return results
