"""The whole arithmetic behind one tile, visited by the search or not: why it is valid, what it costs, where it ranks.

Give the tile as in --tile 128 256 (or 128x256), an extent per space axis of the output. Extents are in elements.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..arch.errors import CarverError
from ..bestfit import BestFit
from ..policy import DefaultPolicy, TensorCorePolicy
from ..policy.common import coalesced_factor, coalesced_tensor_shape
from ..roller.hint import TileDict
from ..roller.node import Node, PrimFuncNode, shape_product
from .blocksizes import BlockSize, block_sizes, hint_fields, no_block_size
from .cases import plain
from .display import add_width, by, check_tile, tile_text, width_of
from .options import add_computation, device_of, parameters_of, size, template_of
from .reasons import Refusal, memory_refusal, shape_refusal
from .trace import SearchTrace, Start, Tile, Visit, priority, trace_search

# ---------------------------------------------------------------------------------------------------------------------
# What an explanation holds


@dataclass(frozen=True, slots=True)
class Access:
    """What a tile reads from, or writes to, global memory in one buffer."""

    node: str
    buffer: str
    access: str
    """"read" or "write"."""
    region: Tile
    """Extents of the region that the tile touches, with reductions over their whole extent."""
    unclipped: Tile
    """The same before it is clipped. A write is clipped by the shape of the *input* of the same number, in carver."""
    shape: Tile
    """The buffer's shape."""
    element_bytes: int
    elements: int
    """In the region."""
    coalesced: int
    """Elements that lie side by side in the buffer (the coalesced factor)."""
    transaction: int
    """Elements of one memory transaction."""
    transaction_bytes: int
    moved: float
    """Elements moved: ``transaction * elements / min(transaction, coalesced)``."""
    nbytes: float
    """Bytes moved: ``moved * element_bytes``."""


@dataclass(frozen=True, slots=True)
class Cached:
    """A buffer that a node keeps in shared memory."""

    node: str
    buffer: str
    region: Tile
    """Extents that are kept, with the tile's reduction steps."""
    element_bytes: int
    nbytes: int
    """Of the region."""
    aligned: int
    """The same rounded up to 32 bytes: what counts."""
    counts: bool
    """False for what is cached after the reduction: carver takes it to reuse the reduction's memory."""
    why: str
    """"reduction" (an input of a reduction) or "broadcast" (read several times by the tile)."""


@dataclass(frozen=True, slots=True)
class Span:
    """A block of the best-fit allocator."""

    step: int
    """When it is taken, in the order of the allocator's calls."""
    until: int
    """When it is given back."""
    node: str
    what: str
    """"cached" (all that the node caches) or "output N" (handed on to other nodes)."""
    nbytes: int
    """Asked for."""
    start: int
    end: int
    """The block, in bytes; its end is not included. It may be larger than asked for by up to 31 bytes."""


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The shared memory of a tile."""

    rstep: tuple[tuple[str, dict[str, int]], ...]
    """For each node, by name, the steps of its reduction axes."""
    cached: tuple[Cached, ...]
    stages: int
    """Stages of the pipeline, by which what each node caches is multiplied."""
    spans: tuple[Span, ...]
    demand: int
    """The highest byte ever taken, which is what the tile costs."""
    limit: int
    """Bytes that the device has per block."""


@dataclass(frozen=True, slots=True)
class NodeRegisters:
    """The registers of one node."""

    node: str
    tile: Tile
    elements: int
    bits: int
    """Of the function's output, whatever the reduction's own dtype."""
    registers: float
    """``elements * bits / 32``."""


@dataclass(frozen=True, slots=True)
class Registers:
    """The registers of a tile."""

    nodes: tuple[NodeRegisters, ...]
    demand: int
    """Twice the most that a node needs."""
    limit: int
    """What the device has per block."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many blocks run at once on a multiprocessor, and what keeps them from being more."""

    by_shared_memory: int
    by_registers: int
    by_partitions: int
    blocks: int
    """The least of the three."""
    binding: tuple[str, ...]
    """The limits that are the least: "shared memory", "registers", "partitions"."""
    smem_per_sm: int
    """Bytes of shared memory of a multiprocessor, as carver counts them."""
    registers_per_sm: int


@dataclass(frozen=True, slots=True)
class Grid:
    """How the tiles cover the output, and the time they take, in waves."""

    counts: Tile
    """Tiles along each axis."""
    blocks: int
    """Thread blocks in all."""
    at_once: int
    """Thread blocks that the device runs at once."""
    waves: int
    last_wave: int
    """Thread blocks in the last wave."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The tile among those that the search visited."""

    visit: int | None
    """The number of its visit; None if it was not visited."""
    parent: Tile | None
    axis: int | None
    """The tile that it was grown from, and the axis."""
    on_lattice: bool
    """Whether each extent is a step of the search."""
    rank: int | None
    """Its place in the ranking, from 1; where it would be, if it is valid and was not visited."""
    of: int
    """Valid tiles that were visited."""
    ties: int
    """Other visited tiles of the same priority."""
    hint: int | None
    """The number of the hint that it became, from 1."""
    why: str
    """Why it was not visited, or how it was."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The reduction steps, which grow for a ranked tile before its block size is chosen."""

    limit: int
    """The bytes that growing is held against: what each of the tile's blocks can have."""
    memory: SharedMemory
    """Shared memory with the steps as grown. More than the device has is possible: carver does not check again."""
    is_changed: bool


@dataclass(frozen=True, slots=True)
class TileExplanation:
    """All that carver computes about a tile. What was not computed is None."""

    policy: str
    axes: tuple[str, ...]
    """Names of the output's space axes."""
    shape: Tile
    """Their extents."""
    tile: Tile
    nodes: tuple[tuple[str, Tile, Tile], ...]
    """For each node its name, its space axes' extents and its own tile."""
    accesses: tuple[Access, ...]
    traffic: float
    """Bytes moved to and from global memory: the sum over ``accesses``."""
    memory: SharedMemory
    registers: Registers
    valid: bool
    occupancy: Occupancy | None
    grid: Grid | None
    priority: float | None
    """(traffic + 1) x waves, less is better."""
    refusal: Refusal | None
    """Why it is invalid, or can be no hint."""
    standing: Standing
    growth: Growth | None
    """None for a tile that is invalid, or whose shape is refused."""
    block_sizes: tuple[BlockSize, ...]
    rasterization: str | None
    hints: tuple[tuple[str, dict[str, Any]], ...]
    """For each node, by name, what its hint says."""
    error: str | None
    """What the policy raises on the way to a hint, if it does."""


# ---------------------------------------------------------------------------------------------------------------------
# Explaining


def explain_tile(policy: DefaultPolicy, tile: Sequence[int], trace: SearchTrace | None = None) -> TileExplanation:
    """All that a policy computes about a tile of its output, one extent per space axis, visited by its search or not.

    ``trace`` is that of the policy's search; without it the search is run. Every sum is held against the policy's own
    figure: an explanation that does not add up is an AssertionError. CarverError for a tile that does not fit the
    output, and where the policy does not search at all.
    """
    if trace is None:
        trace = trace_search(policy)
    if trace.begin is None:
        raise CarverError("there is no search to explain: the outputs have different numbers of space axes")
    begin: Start = trace.begin
    check_tile(tile, begin.shape, begin.axes)
    before, policy.trace = policy.trace, None
    try:
        return _explain(policy, [int(extent) for extent in tile], begin, trace)
    finally:
        policy.trace = before


def _explain(policy: DefaultPolicy, tile: list[int], begin: Start, trace: SearchTrace) -> TileExplanation:
    rstep_map = {node: policy._assign_reduce_step(node) for node in policy.ordered_nodes}
    td = policy.compute_tile_dict(tile, rstep_map)
    accesses = tuple(_accesses(policy, tile))
    traffic = 0
    for access in accesses:
        traffic += access.nbytes
    _agree("traffic", traffic, td.traffic)
    memory = _shared_memory(policy, td)
    registers = count_registers(policy, td)
    found = _memory_verdict(td, memory, registers)
    occupancy = grid = price = None
    if td.valid:
        occupancy = _occupancy(policy, td, registers)
        grid = _grid(policy, td, tile)
        price = priority(td)
        found = shape_refusal(policy, td)
    growth, sizes, hints, rasterization, error = None, (), (), None, None
    if td.valid and found is None:
        try:
            growth = _grow(policy, td)
            sizes = block_sizes(policy, td)
            hints = tuple((node.name, hint_fields(hint)) for node, hint in _first_hint(policy, td).items())
            rasterization = repr(policy.plan_rasterization(td))
            if not hints:
                found = no_block_size(policy, td)
        except CarverError as raised:
            error = str(raised)
    return TileExplanation(
        policy=begin.policy,
        axes=begin.axes,
        shape=begin.shape,
        tile=tuple(tile),
        nodes=tuple((n.name, tuple(n.get_space_dim()), _extents(td.get_tile(n))) for n in policy.ordered_nodes),
        accesses=accesses,
        traffic=plain(td.traffic),
        memory=memory,
        registers=registers,
        valid=td.valid,
        occupancy=occupancy,
        grid=grid,
        priority=plain(price),
        refusal=found,
        standing=_standing(trace, tuple(tile), price),
        growth=growth,
        block_sizes=sizes,
        rasterization=rasterization,
        hints=hints,
        error=error,
    )


def _extents(shape: Sequence[Any]) -> Tile:
    """A shape as plain integers: where extents are clipped by a buffer's they may be expressions."""
    return tuple(map(plain, shape))


def _agree(what: str, ours: Any, theirs: Any) -> None:
    if ours != theirs:
        raise AssertionError(f"{what}: the explanation adds up to {ours}, the policy has {theirs}")


def _accesses(policy: DefaultPolicy, output_tile: list[int]) -> Iterator[Access]:
    """The parts of ``policy._compute_memory_traffic``, in its order."""
    tiles = policy._get_output_tile_map(output_tile)
    read_bytes, write_bytes = policy.arch.transaction_size[1], policy.arch.transaction_size[0]
    for node in reversed(policy.ordered_nodes):
        tile = tiles[node]
        input_shapes = node.propagate_inputs(tile)
        output_shapes = node.propagate_outputs(tile)
        unclipped, _ = node.propagate(tile)
        for i, edge in enumerate(node.inputs):
            source = edge.src_node
            tiles[source] = input_shapes[i]
            if source.is_placeholder():
                name = node.input_buffers[i].name
                nbytes = (source.get_dtype().bits + 7) // 8
                region, shape = input_shapes[i], source.get_shape()
                yield _access(node, name, "read", region, unclipped[name], shape, nbytes, read_bytes)
        for edge in node.outputs:
            if edge.dst_node.is_output():
                name = node.output_buffers[edge.src_id].name
                nbytes = (node.get_dtype().bits + 7) // 8
                region, shape = output_shapes[edge.src_id], node.get_shape(edge.src_id)
                yield _access(node, name, "write", region, unclipped[name], shape, nbytes, write_bytes)


def _access(
    node: Node, name: str, access: str, region: list, unclipped: list, shape: list[int], nbytes: int, whole: int
) -> Access:
    elements = int(shape_product(region))
    transaction = whole // nbytes
    moved = coalesced_tensor_shape(region, shape, transaction)
    return Access(
        node=node.name,
        buffer=name,
        access=access,
        region=_extents(region),
        unclipped=_extents(unclipped),
        shape=tuple(shape),
        element_bytes=nbytes,
        elements=elements,
        coalesced=int(coalesced_factor(region, shape)) if elements else 0,
        transaction=transaction,
        transaction_bytes=whole,
        moved=plain(moved),
        nbytes=plain(moved * nbytes),
    )


def _shared_memory(policy: DefaultPolicy, td: TileDict) -> SharedMemory:
    """The parts of ``policy._compute_shared_memory_usage``, in its order, with the tile's present reduction steps."""
    stages = policy.pipeline_stage if isinstance(policy, TensorCorePolicy) else 1
    cached: list[Cached] = []
    spans: list[Span] = []
    allocator, step = BestFit(), 0
    # What is handed on: (node, number of the output) -> (block, where its span stands).
    handed_on: dict[tuple[Node, int], tuple[Any, int]] = {}
    processed: set[Node] = set()

    def take(node: Node, what: str, nbytes: int) -> Any:
        block = allocator.malloc(nbytes)
        spans.append(Span(step, -1, node.name, what, nbytes, block.start, block.end))
        return block

    def give_back(block: Any, index: int) -> None:
        allocator.free(block)
        taken = spans[index]
        spans[index] = Span(taken.step, step, taken.node, taken.what, taken.nbytes, taken.start, taken.end)

    for node in policy.ordered_nodes:
        own = list(_cached(node, td))
        cached += own
        internal_bytes = sum(item.aligned for item in own) * stages
        _agree(f"shared memory of {node.name}", internal_bytes, policy.infer_node_smem_usage(td, node)[0])
        block = take(node, "cached", internal_bytes)
        give_back(block, len(spans) - 1)
        processed.add(node)
        step += 1
        for edge in node.inputs:
            key = (edge.src_node, edge.src_id)
            users = [e.dst_node for e in edge.src_node.outputs if e.src_id == edge.src_id]
            if not edge.src_node.is_placeholder() and all(user in processed for user in users):
                give_back(*handed_on.pop(key))
        for edge in node.outputs:
            key = (node, edge.src_id)
            if not edge.dst_node.is_output() and key not in handed_on:
                stride = td.output_strides_map[node][len(node.inputs) + edge.src_id]
                elements = stride.compute_elements_from_shape(td.get_tile(node))
                nbytes = elements * ((node.get_dtype(edge.src_id).bits + 7) // 8)
                handed_on[key] = (take(node, f"output {edge.src_id}", nbytes), len(spans) - 1)
    _agree("shared memory", allocator.limit, policy._compute_shared_memory_usage(td)[0])
    rstep = tuple((node.name, dict(td.get_rstep(node))) for node in policy.ordered_nodes)
    return SharedMemory(rstep, tuple(cached), stages, tuple(spans), int(allocator.limit), policy.arch.smem_cap)


class _Nothing:
    """In place of a padding: a buffer that takes no elements."""

    @staticmethod
    def compute_elements_from_shape(shape: Sequence[int]) -> int:
        return 0


def _cached(node: PrimFuncNode, td: TileDict) -> Iterator[Cached]:
    """The parts of ``node.footprint``: each buffer's is what the sum loses when the buffer takes nothing."""
    tile, rstep, strides = td.get_tile(node), td.get_rstep(node), td.tensor_strides_map[node]
    total, names = node.footprint(tile, rstep, strides)
    shapes, _ = node.propagate(tile, rstep)
    readers = _readers(node)
    for name in names:
        without, _ = node.footprint(tile, rstep, {**strides, name: _Nothing()})
        element_bytes, reduces = readers[name]
        padding = strides.get(name)
        elements = shape_product(shapes[name]) if padding is None else padding.compute_elements_from_shape(shapes[name])
        yield Cached(
            node=node.name,
            buffer=name,
            region=_extents(shapes[name]),
            element_bytes=element_bytes,
            nbytes=int(elements * element_bytes),
            aligned=int(total - without),
            counts=total > without,
            why="reduction" if reduces else "broadcast",
        )


def _readers(node: PrimFuncNode) -> dict[str, tuple[int, bool]]:
    """By name of each buffer that a block reads: the bytes of an element, and whether a reduction reads it."""
    found: dict[str, tuple[int, bool]] = {}
    for block in node.blocks:
        reduces = bool(node.block_analyzer.get_reduce_axis(block))
        for buffer in node.block_analyzer.get_input_buffers(block):
            nbytes = (node.get_buffer_dtype(buffer).bits + 7) // 8
            known_bytes, known = found.get(buffer.name, (nbytes, False))
            found[buffer.name] = (known_bytes, known or reduces)
    return found


def count_registers(policy: DefaultPolicy, td: TileDict) -> Registers:
    """The registers of a tile, node by node, as the policy counts them."""
    nodes = []
    for node in policy.ordered_nodes:
        tile, bits = td.get_tile(node), node.get_dtype().bits
        elements = shape_product(tile)
        count = plain(elements * bits / 32)
        nodes.append(NodeRegisters(node.name, _extents(tile), int(elements), bits, count))
    return Registers(tuple(nodes), int(2 * max(node.registers for node in nodes)), policy.arch.reg_cap)


def _memory_verdict(td: TileDict, memory: SharedMemory, registers: Registers) -> Refusal | None:
    """What the device has too little of, in the policy's order of questions."""
    _agree("shared memory", memory.demand, td.smem_cost)
    found = None
    if memory.demand > memory.limit:
        found = memory_refusal("shared memory", memory.demand, memory.limit)
    elif registers.demand > registers.limit:
        found = memory_refusal("registers", registers.demand, registers.limit)
    _agree("validity", found is None, td.valid)
    return found


def _occupancy(policy: DefaultPolicy, td: TileDict, registers: Registers) -> Occupancy:
    arch = policy.arch
    limits = {
        "shared memory": int(arch.max_smem_usage // max(td.smem_cost, 1)),
        "registers": int(arch.reg_cap // max(registers.demand, 1)),
        "partitions": int(arch.sm_partition),
    }
    least = min(limits.values())
    _agree("blocks per multiprocessor", least, td.block_per_SM)
    binding = tuple(name for name, limit in limits.items() if limit == least)
    return Occupancy(*limits.values(), least, binding, arch.max_smem_usage, arch.reg_cap)


def _grid(policy: DefaultPolicy, td: TileDict, tile: list[int]) -> Grid:
    shape = policy.output_nodes[0].get_space_dim()
    counts = tuple((extent + step - 1) // step for step, extent in zip(tile, shape))
    blocks = int(shape_product(counts))
    _agree("grid", blocks, td.grid_size)
    at_once = int(td.block_per_SM * policy.arch.compute_max_core)
    waves = math.ceil(blocks / at_once)
    _agree("waves", waves, td.num_wave)
    return Grid(counts, blocks, at_once, waves, blocks - (waves - 1) * at_once if waves else 0)


def _grow(policy: DefaultPolicy, td: TileDict) -> Growth:
    """Grow the reduction steps as for a hint. This changes the tile."""
    limit = min(policy.arch.max_smem_usage // td.block_per_SM, policy.arch.smem_cap)
    before = {node: dict(td.get_rstep(node)) for node in policy.ordered_nodes}
    policy._expand_reduce_axis(td)
    memory = _shared_memory(policy, td)
    _agree("shared memory with the grown steps", memory.demand, td.smem_cost)
    is_changed = any(td.get_rstep(node) != before[node] for node in policy.ordered_nodes)
    return Growth(int(limit), memory, is_changed)


def _first_hint(policy: DefaultPolicy, td: TileDict) -> dict[PrimFuncNode, Any]:
    return next(policy.assign_block_size(td), {})


def _standing(trace: SearchTrace, tile: Tile, price: float | None) -> Standing:
    begin = trace.begin
    index = trace.index_of.get(tile)
    visits: list[Visit] = trace.of(Visit)
    visit = None if index is None else visits[index]
    on_lattice = all(extent in steps for extent, steps in zip(tile, begin.steps))
    ranking = [trace.index_of[tuple(td.output_tile)] for td in trace.ranking]
    prices = [visits[i].priority for i in ranking]
    rank = None
    if visit is not None and visit.valid:
        rank = ranking.index(index) + 1
    elif price is not None:
        # Ties go to the tile that was visited first.
        rank = sum(other <= price for other in prices) + 1
    ties = sum(other == price for other in prices) - (visit is not None and visit.valid)
    hint = next((i for i, (_, td, _) in enumerate(trace.found, 1) if tuple(td.output_tile) == tile), None)
    parent, axis = (None, None) if visit is None else (visit.parent, visit.axis)
    why = _how_visited(begin, visit) if visit is not None else _why_not_visited(trace, tile, on_lattice)
    return Standing(index, parent, axis, on_lattice, rank, len(ranking), ties if price is not None else 0, hint, why)


def _how_visited(begin: Start, visit: Visit) -> str:
    if visit.parent is None:
        return "the first tile of the search"
    return f"grown from {by(visit.parent)} along {begin.axes[visit.axis]}"


def _why_not_visited(trace: SearchTrace, tile: Tile, on_lattice: bool) -> str:
    begin = trace.begin
    for name, extent, steps in zip(begin.axes, tile, begin.steps):
        if extent not in steps:
            near = sorted(steps, key=lambda step: abs(step - extent))[:2]
            return f"{extent} is no step of {name}; the nearest are {' and '.join(map(str, sorted(near)))}"
    reasons = []
    for name, position, steps, axis in _predecessors(begin, tile):
        before = (*tile[:axis], steps[position - 1], *tile[axis + 1 :])
        index = trace.index_of.get(before)
        if index is None:
            reasons.append(f"{by(before)} was not visited")
        elif not trace.tiles[index].valid:
            reasons.append(f"{by(before)} is invalid")
        else:
            reasons.append(f"{by(before)} was still in the queue at the end")
    return f"none of the tiles that grow into it was taken: {', '.join(reasons)}"


def _predecessors(begin: Start, tile: Tile) -> Iterator[tuple[str, int, Tile, int]]:
    for axis, (name, steps) in enumerate(zip(begin.axes, begin.steps)):
        position = steps.index(tile[axis])
        if position > 0:
            yield name, position, steps, axis


# ---------------------------------------------------------------------------------------------------------------------
# The command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_computation(parser, _add_own)
    parser.epilog = f"{parser.epilog} --tile {_EXAMPLES['matmul']}"


# A tile for the example of each template.
_EXAMPLES = {
    "matmul": "128 256",
    "gemv": "64",
    "conv": "64 128",
    "elementwise": "8 256",
    "reduce": "32",
    "attention": "1 16 64",
}


def _add_own(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{parser.epilog} --tile {_EXAMPLES[parser.get_default('template').name]}"
    parser.add_argument(
        "--tile", type=tile_text, nargs="+", required=True, metavar="N", help="extents of the tile, one per space axis"
    )
    parser.add_argument("--topk", type=size, default=10, metavar="N", help="hints to ask for (default: 10)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    add_width(parser)


def run(args: argparse.Namespace) -> int:
    from .explain_text import explanation_lines
    from .recommend import device_line
    from .search import search_template

    device = device_of(args)
    search = search_template(template_of(args, device), device, args.topk)
    tile = [extent for part in args.tile for extent in part]
    explanation = explain_tile(search.policy, tile, search.trace)
    if args.json:
        head = {"template": args.template.name, "parameters": parameters_of(args), "device": device_line(device)}
        print(json.dumps({**head, **as_dict(explanation)}, indent=1, allow_nan=False))
        return 0
    print(f"{args.template.name} on {device_line(device)}")
    for line in explanation_lines(explanation, width_of(args)):
        print(line)
    if search.why_no_tensor_core is not None:
        print(f"no tensor cores: {search.why_no_tensor_core}")
    return 0


def as_dict(explanation: TileExplanation) -> dict[str, Any]:
    """An explanation as plain values."""
    return plain(asdict(explanation))
