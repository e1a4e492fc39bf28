"""Why a tile is rejected: the reason with its two numbers, and the vendored line that rejects.

The questions are the policy's, in its own order. What is found is held against the policy's verdict, so a reason can
neither be missing nor be made up. Block sizes and their reasons are in ``blocksizes.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..policy import DefaultPolicy, TensorCorePolicy
from ..roller.hint import TileDict
from ..roller.node import shape_product
from .display import by, number

# reason -> the vendored test that rejects, below tilelang/ (0.1.15).
VENDORED = {
    "shared memory": "carver/roller/policy/default.py:558",
    "registers": "carver/roller/policy/default.py:565",
    "instruction": "carver/roller/policy/tensorcore.py:223",
    "divisibility": "carver/roller/policy/tensorcore.py:225",
    "empty": "carver/roller/policy/default.py:587",
    "grid": "carver/roller/policy/default.py:590",
    "warp": "carver/roller/policy/tensorcore.py:266",
    "instruction of the block": "carver/roller/policy/tensorcore.py:278",
    "warps": "carver/roller/policy/tensorcore.py:282",
    "split": "carver/roller/policy/tensorcore.py:304",
    "block size": "carver/roller/policy/default.py:662",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, with the two numbers that do not go together."""

    reason: str
    """A key of ``VENDORED``."""
    node: str | None
    """The node of the graph that it is about; None for the whole tile."""
    demand: float
    """What the tile or the block size has or asks for."""
    limit: float
    """What it is held against."""
    text: str
    """The reason in words, with both numbers."""
    vendored: str
    """Where the vendored carver tests it, a path below ``tilelang/`` and a line."""


def refusal(reason: str, node: str | None, demand: float, limit: float, text: str) -> Refusal:
    """A Refusal with its vendored line."""
    return Refusal(reason, node, demand, limit, text, VENDORED[reason])


def memory_refusal(reason: str, demand: float, limit: float) -> Refusal:
    """What the hook ``reject`` of a policy tells, as a Refusal."""
    what = {"shared memory": "bytes of shared memory per block", "registers": "registers per block"}[reason]
    return refusal(reason, None, demand, limit, f"needs {number(demand)} {what}, the limit is {number(limit)}")


def shape_refusal(policy: DefaultPolicy, td: TileDict) -> Refusal | None:
    """Why ``policy.check_tile_shape_isvalid(td)`` is False; None where it is True."""
    found = _tensor_core_refusal(policy, td) if isinstance(policy, TensorCorePolicy) else None
    found = found or _grid_refusal(policy, td)
    if (found is None) != policy.check_tile_shape_isvalid(td):
        raise AssertionError(f"the reason {found} does not fit the policy's verdict on {td!r}")
    return found


def _tensor_core_refusal(policy: TensorCorePolicy, td: TileDict) -> Refusal | None:
    for node in policy.ordered_nodes:
        config = node.get_tag("tensorcore_config")
        if not config:
            continue
        tile = td.get_tile(node)
        block_m, block_n = tile[config[0]], tile[config[1]]
        instructions = policy.arch.get_avaliable_tensorintrin_shapes()
        if not any(block_m >= m and block_n >= n for m, n in instructions):
            m, n = instructions[-1]
            have, least = (block_m, m) if block_m < m else (block_n, n)
            text = f"{by((block_m, block_n))} does not hold one {m}x{n} instruction: {have} < {least}"
            return refusal("instruction", node.name, have, least, text)
        for step, extent in zip(tile, node.get_space_dim()):
            if extent % step:
                text = f"{step} does not divide the extent {extent}: {extent % step} would be left over"
                return refusal("divisibility", node.name, step, extent, text)
    return None


def _grid_refusal(policy: DefaultPolicy, td: TileDict) -> Refusal | None:
    # Carver's third question here, about a node's `reduce_op`, is never asked: no node has one.
    for node in policy.ordered_nodes:
        tile = td.get_tile(node)
        elements = int(shape_product(tile))
        if elements == 0:
            text = f"the node {node.name} has nothing to do for it: its own tile is {by(tile)}"
            return refusal("empty", node.name, elements, 1, text)
        counts = [-(-extent // step) for step, extent in zip(tile, node.get_space_dim())]
        blocks = int(shape_product(counts))
        if blocks != td.grid_size:
            text = f"the node {node.name} needs {number(blocks)} blocks, the output {number(td.grid_size)}"
            return refusal("grid", node.name, blocks, td.grid_size, text)
    return None


def describe(found: Refusal) -> str:
    """A refusal with its vendored line in one text."""
    return f"{found.text} ({found.vendored})"
