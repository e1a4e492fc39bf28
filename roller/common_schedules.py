"""Looking for blocks. The port of what can be ported of ``carver/common_schedules.py``, after TVM's dlight."""

from __future__ import annotations

from collections.abc import Sequence

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


# not ported: carver/common_schedules.py:92-127 try_inline: needs compute_inline, has no caller
# not ported: carver/common_schedules.py:130-165 try_inline_contiguous_spatial: needs compute_inline, has no caller
