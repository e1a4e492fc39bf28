"""The block sizes that carver tries for a tile, and how each is shared out to warps or threads.

Carver keeps none of the scores by which it decides. They are computed here from the same parts (regions, coalescing,
bandwidths), and what they lead to is held against the policy's own hint.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..policy import DefaultPolicy, TensorCorePolicy
from ..policy.common import coalesced_tensor_shape, factorize
from ..roller.hint import Hint, TileDict
from ..roller.node import PrimFuncNode, shape_product
from .cases import plain
from .display import by, plural
from .reasons import Refusal, refusal

VECTOR_WIDTHS = (16, 8, 4, 2)
VECTOR_BITS = 128


@dataclass(frozen=True, slots=True)
class FactorStep:
    """One prime factor of the block size (threads), or of the work per warp (warps), and the axis it goes to."""

    factor: int
    scores: tuple[tuple[int, float], ...]
    """``(axis, score)`` of every space axis that can take the factor. Less is better; ties go to the first axis."""
    axis: int | None
    """The space axis that takes it; None where none can."""
    reduce_axis: str | None
    """The reduction axis that takes it instead (CUDA cores only)."""


@dataclass(frozen=True, slots=True)
class VectorWidth:
    """One width of vector loads that was thought of."""

    width: int
    """Elements."""
    is_even: bool
    """The region's elements are a multiple of threads times width."""
    is_contiguous: bool
    """The innermost extent that is not 1 is a multiple of the width."""
    bits: int
    """Of one load; more than 128 are too many."""

    @property
    def is_possible(self) -> bool:
        return self.is_even and self.is_contiguous and self.bits <= VECTOR_BITS


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector loads of one input of the reduction."""

    tensor: str
    dtype: str
    region: tuple[int, ...]
    """Extents of what a block reads per reduction step."""
    widths: tuple[VectorWidth, ...]
    """The widths tried, widest first, up to the one chosen."""
    width: int | None
    """The width chosen, in elements; None for no vectors."""


@dataclass(frozen=True, slots=True)
class NodeSplit:
    """How a node's tile is shared out for one block size."""

    node: str
    unit: str
    """"warp" or "thread"."""
    parts: tuple[int, ...]
    """Per space axis the tile of a warp, or the number of threads. Where it failed: as far as it got."""
    reduce_thread: tuple[tuple[str, int], ...]
    """Threads along each reduction axis (CUDA cores only)."""
    steps: tuple[FactorStep, ...]
    vectors: tuple[Vector, ...]
    refusal: Refusal | None
    """Why this block size cannot be used; None where it can."""


@dataclass(frozen=True, slots=True)
class BlockSize:
    """A number of threads per block that suits the tile."""

    threads: int
    score: tuple[float, ...]
    """How bad it is, in carver's order of questions; sizes are tried best first."""
    splits: tuple[NodeSplit, ...]
    """One per node up to the first that refuses; none where the size was not tried."""
    is_tried: bool
    """Carver stops at the first size that every node can use."""
    is_used: bool


def block_sizes(policy: DefaultPolicy, td: TileDict) -> tuple[BlockSize, ...]:
    """The block sizes of a ranked tile whose reduction steps have been grown, in the order in which they are tried.

    Raises what the policy raises where threads cannot be dealt out at all.
    """
    sizes: list[BlockSize] = []
    is_done = False
    for threads in policy.recommend_block_size(td):
        score = tuple(float(part) for part in policy.score_block_size(threads))
        if is_done:
            sizes.append(BlockSize(threads, score, (), False, False))
            continue
        splits: list[NodeSplit] = []
        for node in policy.ordered_nodes:
            splits.append(split_of(policy, node, td, threads))
            if splits[-1].refusal is not None:
                break
        else:
            is_done = True
        sizes.append(BlockSize(threads, score, tuple(splits), True, is_done))
    return tuple(sizes)


def no_block_size(policy: DefaultPolicy, td: TileDict) -> Refusal:
    """Why ``policy.assign_block_size(td)`` gives nothing."""
    tried = [size for size in block_sizes(policy, td) if size.is_tried]
    if not tried:
        return refusal("block size", None, 0, 1, "no number of threads up to 1024 suits the tiles of all nodes")
    if any(size.is_used for size in tried):
        raise AssertionError(f"a block size can be used for {td!r}, the policy says none")
    refusals = [size.splits[-1].refusal for size in tried]
    counts = ", ".join(f"{count} for {reason}" for reason, count in Counter(r.reason for r in refusals).items())
    # That threads are no whole warps goes without saying: the other reasons tell about the tile.
    telling = next((r for r in refusals if r.reason != "warp"), refusals[0])
    text = f"none of {len(tried)} block sizes can be used ({counts}): {telling.text}"
    return refusal("block size", telling.node, len(tried), 0, text)


def split_of(policy: DefaultPolicy, node: PrimFuncNode, td: TileDict, threads: int) -> NodeSplit:
    """How a node's tile is shared out, or why it cannot be."""
    # First the policy itself: it may raise.
    hint = policy._assign_block_size(node, td, threads)
    if isinstance(policy, TensorCorePolicy) and node.get_tag("tensorcore_config"):
        split = _warps(policy, node, td, threads)
        agrees = hint is None if split.refusal else hint is not None and hint.warp == list(split.parts[-2:])
    else:
        split = _threads(policy, node, td, threads)
        ours = (list(split.parts), _reduce_threads(node, split))
        agrees = hint is not None and ours == (hint.thread, hint.reduce_thread)
    if not agrees or (hint is not None and hint.vectorize != {v.tensor: v.width for v in split.vectors if v.width}):
        raise AssertionError(f"the split {split} is not that of the policy's hint {hint}")
    return split


def _reduce_threads(node: PrimFuncNode, split: NodeSplit) -> list[int]:
    counts = dict(split.reduce_thread)
    return [counts[axis.var.name] for axis in node.raxis]


def _warps(policy: TensorCorePolicy, node: PrimFuncNode, td: TileDict, threads: int) -> NodeSplit:
    """Whole instructions per warp: what is over goes to the axes by prime factors, the largest first."""
    tile, config = td.get_tile(node), node.get_tag("tensorcore_config")
    wmma_tile = [1] * len(tile)
    wmma_tile[config[0]], wmma_tile[config[1]] = policy.arch.get_avaliable_tensorintrin_shapes()[-1]
    instructions = int(shape_product([extent // step for extent, step in zip(tile, wmma_tile)]))
    found = _warp_refusal(policy, node, tile, wmma_tile, threads, instructions)
    if found is not None:
        return NodeSplit(node.name, "warp", tuple(wmma_tile), (), (), (), found)

    def score(warp_tile: list[int]) -> float:
        total = 0
        for region in node.propagate_inputs_on_reduction(warp_tile):
            total += shape_product(region) / policy.arch.bandwidth[1]
        return float(total)

    warp_tile, steps = wmma_tile, []
    for factor in reversed(factorize(instructions // (threads // policy.arch.warp_size))):
        grown = {axis: _times(warp_tile, axis, factor) for axis in range(len(tile))}
        scores = tuple((axis, score(grown[axis])) for axis in grown if tile[axis] % grown[axis][axis] == 0)
        axis = _best_axis(scores)
        steps.append(FactorStep(factor, scores, axis, None))
        if axis is None:
            text = f"no axis of {by(tile)} takes a factor of {factor} more than {by(warp_tile)} per warp"
            found = refusal("split", node.name, factor, max(warp_tile), text)
            return NodeSplit(node.name, "warp", tuple(warp_tile), (), tuple(steps), (), found)
        warp_tile = grown[axis]
    vectors = _vectors(policy, node, td, threads)
    return NodeSplit(node.name, "warp", tuple(warp_tile), (), tuple(steps), vectors, None)


def _warp_refusal(
    policy: TensorCorePolicy, node: PrimFuncNode, tile: list[int], wmma_tile: list[int], threads: int, instructions: int
) -> Refusal | None:
    warp_size = policy.arch.warp_size
    if threads % warp_size:
        return refusal("warp", node.name, threads, warp_size, f"{threads} threads are no whole warps of {warp_size}")
    for axis in node.get_tag("tensorcore_config"):
        if tile[axis] < wmma_tile[axis]:
            text = f"{by(tile)} does not hold one instruction of {by(wmma_tile)}: {tile[axis]} < {wmma_tile[axis]}"
            return refusal("instruction of the block", node.name, tile[axis], wmma_tile[axis], text)
    warps = threads // warp_size
    if instructions < warps or instructions % warps:
        text = f"{plural(instructions, 'instruction')} cannot be shared evenly by {plural(warps, 'warp')}"
        return refusal("warps", node.name, warps, instructions, text)
    return None


def _threads(policy: DefaultPolicy, node: PrimFuncNode, td: TileDict, threads: int) -> NodeSplit:
    """Threads are dealt out by prime factors of the block size, the largest first."""
    tile, rsteps = td.get_tile(node), td.get_rstep(node)

    def score(thread: list[int]) -> float:
        per_thread = [math.ceil(extent / count) for extent, count in zip(tile, thread)]
        regions = node.propagate_inputs(per_thread)
        total = 0
        for i in range(len(node.input_buffers)):
            total += shape_product(regions[i]) / policy.arch.bandwidth[1]
        for buffer in node.output_buffers:
            total += coalesced_tensor_shape(thread, node.extents_of(buffer), 8) / policy.arch.bandwidth[0]
        return float(total)

    counts, reduce_thread, steps = [1] * len(tile), dict.fromkeys(rsteps, 1), []
    for factor in reversed(factorize(threads)):
        grown = {axis: _times(counts, axis, factor) for axis in range(len(tile)) if counts[axis] < tile[axis]}
        scores = tuple((axis, score(grown[axis])) for axis in grown if tile[axis] % grown[axis][axis] == 0)
        axis, reduce_axis = _best_axis(scores), None
        if axis is not None:
            counts = grown[axis]
        else:
            fitting = [name for name, extent in rsteps.items() if extent % (reduce_thread[name] * factor) == 0]
            reduce_axis = fitting[-1]
            reduce_thread[reduce_axis] *= factor
        steps.append(FactorStep(factor, scores, axis, reduce_axis))
    vectors = _vectors(policy, node, td, threads)
    return NodeSplit(node.name, "thread", tuple(counts), tuple(reduce_thread.items()), tuple(steps), vectors, None)


def _times(extents: list[int], axis: int, factor: int) -> list[int]:
    return [*extents[:axis], extents[axis] * factor, *extents[axis + 1 :]]


def _best_axis(scores: tuple[tuple[int, float], ...]) -> int | None:
    return min(scores, key=lambda pair: (pair[1], pair[0]))[0] if scores else None


def _vectors(policy: DefaultPolicy, node: PrimFuncNode, td: TileDict, threads: int) -> tuple[Vector, ...]:
    dtypes = node.get_reduce_inputs_dtype()
    regions = node.propagate_reduction_inputs(td.get_tile(node), td.get_rstep(node))
    found = []
    for tensor, region in regions.items():
        elements = int(shape_product(region))
        inner = next((extent for extent in reversed(region) if extent != 1), 1)
        tried: list[VectorWidth] = []
        for width in VECTOR_WIDTHS:
            is_even = elements % (threads * width) == 0
            tried.append(VectorWidth(width, is_even, inner % width == 0, dtypes[tensor].bits * width))
            if tried[-1].is_possible:
                break
        chosen = tried[-1].width if tried[-1].is_possible else None
        found.append(Vector(tensor, str(dtypes[tensor]), tuple(region), tuple(tried), chosen))
    return tuple(found)


def hint_fields(hint: Hint) -> dict[str, Any]:
    """What a hint says, as plain values."""
    said = plain(hint.to_dict())
    said["rasterization"] = repr(hint.rasterization_plan)
    said["cached_tensors"] = list(hint.cached_tensors)
    return said
