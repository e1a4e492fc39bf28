"""The policy for CUDA cores, and the search that both policies share. The port of ``carver/roller/policy/default.py``.

The search starts from the smallest tile of the output that does nothing twice, grows it along one axis at a time, the
cheapest tile so far first, and prices each tile: bytes moved to and from memory, shared memory, registers, and how
many waves of thread blocks the device needs. Tiles that pass are ranked by price and turned into hints.

Tiles are lists of extents in elements, one per space axis.
"""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..arch.arch_base import TileDevice
from ..arch.errors import CarverError, NotADevice, shown
from ..bestfit import BestFit
from ..roller.hint import Hint, Stride, TileDict
from ..roller.node import Edge, MissingPart, Node, NodeError, OutputNode, PrimFuncNode, find_topo_sort, shape_product
from ..roller.rasterization import NoRasterization, Rasterization
from ..roller.tir.stmt import PrimFunc
from .common import coalesced_factor, coalesced_tensor_shape, factorize, get_all_factors

if TYPE_CHECKING:
    # Number of the input or output, shape of the tensor, elements per transaction, bytes per element.
    Transfer = tuple[int, list[int], int, int]


# vendored: carver/roller/policy/default.py:20-816
class DefaultPolicy:
    """Tiles that keep memory traffic small and all multiprocessors busy.

    ``trace`` may be given an object that is told what the search does, event by event; see ``_TRACE_EVENTS`` at the end
    of this file for its methods. None, as it is to begin with, costs nothing.
    """

    func: PrimFunc
    nodes: list[PrimFuncNode] = []
    arch: TileDevice
    tags: dict
    trace: Any = None

    # vendored: carver/roller/policy/default.py:31-37
    def __init__(self, arch: TileDevice, tags: dict | None = None) -> None:
        self.arch = arch
        self.tags = {} if tags is None else tags
        self.rasterization = NoRasterization()
        # What is the same for all tiles, by node; see `_no_padding`, `_read_time`.
        self._known_read_times: dict[tuple, float] = {}
        self._unpadded: dict[PrimFuncNode, dict[int, Stride]] = {}
        # Only while a search runs, in which the graph stands still; before and after it may change. See `_transfers`.
        self._search_transfers: dict[PrimFuncNode, tuple[list[Transfer], list[Transfer]]] = {}

    # vendored: carver/roller/policy/default.py:39-41
    @classmethod
    def from_prim_func(
        cls, func: PrimFunc, arch: TileDevice, tags: dict | None = None, name: str = "PrimFuncNode"
    ) -> DefaultPolicy:
        """The policy for one function."""
        policy = cls(arch, tags)
        return policy._init_with_prim_func(func, name)

    # vendored: carver/roller/policy/default.py:43-45
    @classmethod
    def from_output_nodes(cls, nodes: list[OutputNode], arch: TileDevice, tags: dict | None = None) -> DefaultPolicy:
        """The policy for the graph behind some outputs."""
        policy = cls(arch, tags)
        return policy._init_with_output_nodes(nodes)

    # vendored: carver/roller/policy/default.py:47-55
    def _init_with_prim_func(self, func: PrimFunc, name: str = "PrimFuncNode") -> DefaultPolicy:
        if not isinstance(func, PrimFunc):
            raise NotAFunction(f"a policy is made for a PrimFunc, not for {func!r}")
        self.func = func
        self.prim_func_node = PrimFuncNode(func, tags=self.tags, name=name)
        self._init_with_output_nodes([OutputNode(self.prim_func_node)])
        return self

    # vendored: carver/roller/policy/default.py:57-70
    def _init_with_output_nodes(self, output_nodes: list[OutputNode]) -> DefaultPolicy:
        """Put the nodes in order. ``output_nodes`` become those whose every use is an output of the graph."""
        if not isinstance(output_nodes, Iterable):
            raise NoNodes(f"the output nodes come in a list, got {shown(output_nodes)}")
        nodes = find_topo_sort(output_nodes)
        self.ordered_nodes: list[PrimFuncNode] = [n for n in nodes if not n.is_placeholder() and not n.is_output()]
        self.output_nodes: list[PrimFuncNode] = []
        for node in self.ordered_nodes:
            node.update_tags(self.tags)
            for edge in node.outputs:
                if not hasattr(getattr(edge, "dst_node", None), "is_output"):
                    raise NodeError(f"among the outputs of {node!r} is {shown(edge)}, which is no Edge to a node")
            if all(edge.dst_node.is_output() for edge in node.outputs):
                self.output_nodes.append(node)
        return self

    # vendored: carver/roller/policy/default.py:72-94
    def emit_config(self, topk: int) -> list[Hint]:
        """The best ``topk`` hints, best first; for a graph of several nodes each is a dict of hints by node.

        Fewer where the search finds fewer tiles that can be built, [] where it finds none.
        """
        self._check_graph()
        trace = self.trace
        base_tile = self.get_base_tile()
        if base_tile is None:
            return []

        rstep_map: dict[Node, dict[str, int]] = {}
        for node in self.ordered_nodes:
            rstep_map[node] = self._assign_reduce_step(node)
        results: list[Any] = []
        for td in self.dfs_smem_tile(base_tile, rstep_map):
            if not self.check_tile_shape_isvalid(td):
                if trace is not None:
                    trace.no_hint(td, "tile shape")
                continue
            self._expand_reduce_axis(td)
            count_before = len(results)
            for hints in self.assign_block_size(td):
                is_single = isinstance(hints, dict) and len(hints) == 1
                hint = next(iter(hints.values())) if is_single else hints
                results.append(hint)
                if trace is not None:
                    trace.hint(td, hint)
                if _are_enough(results, topk):
                    break
            if trace is not None and len(results) == count_before:
                trace.no_hint(td, "block size")
            if _are_enough(results, topk):
                break
        return results

    # vendored: carver/roller/policy/default.py:96-134
    def dfs_smem_tile(self, init_tile: list[int], rstep_map: dict[Node, dict[str, int]]) -> list[TileDict]:
        """The valid tiles found, cheapest first, from ``init_tile`` on, with the given reduction steps per node.

        Best first: the cheapest tile in the queue is taken out and grown to the next step along each axis, last axis
        first. Ends when the queue is empty, or with the first tile taken after more than 2000 have been seen.
        """
        trace = self.trace
        steps = self._tile_steps(init_tile)
        if trace is not None:
            trace.start(init_tile, steps, rstep_map)

        visited_tiles: dict[tuple[int, ...], TileDict] = {}
        # [price, tile]: where prices tie the tiles decide, compared as lists.
        queue: list[list] = []

        def prio(td: TileDict) -> float:
            return (td.traffic + 1) * td.num_wave

        def add_to_queue(tile: list[int], parent: list[int] | None, axis: int | None) -> None:
            key = tuple(tile)
            if key in visited_tiles:
                if trace is not None:
                    trace.duplicate(tile, parent, axis)
                return
            td = self.compute_tile_dict(tile, rstep_map)
            visited_tiles[key] = td
            if trace is not None:
                trace.visit(td, parent, axis)
            if td.valid:
                price = prio(td)
                heapq.heappush(queue, [price, tile])
                if trace is not None:
                    trace.push(price, tile)

        add_to_queue(init_tile, None, None)
        self._search_transfers = {node: self._transfers(node) for node in self.ordered_nodes}
        try:
            while queue and len(visited_tiles) <= MAX_VISITED_TILES:
                price, tile = heapq.heappop(queue)
                if trace is not None:
                    trace.pop(price, tile)
                for axis in reversed(range(len(tile))):
                    position = steps[axis].index(tile[axis])
                    if position + 1 < len(steps[axis]):
                        new_tile = tile.copy()
                        new_tile[axis] = steps[axis][position + 1]
                        add_to_queue(new_tile, tile, axis)
        finally:
            self._search_transfers = {}
        if trace is not None:
            trace.stop("cap" if queue else "exhausted", len(visited_tiles))

        valid_tiles = [td for td in visited_tiles.values() if td.valid]
        # A stable sort: equally cheap tiles stay in the order in which they were seen.
        sorted_tiles = sorted(valid_tiles, key=prio)
        if trace is not None:
            trace.ranked(sorted_tiles)
        return sorted_tiles

    # vendored: carver/roller/policy/default.py:136-167
    def get_base_tile(self) -> list[int] | None:
        """The smallest tile that computes nothing twice: 1 along each axis, or the whole axis where that saves work.

        None where the outputs have different numbers of space axes.
        """
        if len({len(node.get_space_dim()) for node in self.output_nodes}) > 1:
            return None

        if not self.output_nodes:
            raise NoOutput("the graph has no output: connect an OutputNode to its last node")
        shape = self.output_nodes[0].get_space_dim()
        if 0 in shape:
            raise NoExtent(f"every extent must be at least 1, and the space axes of the output have {shape}")
        base_tile = [1] * len(shape)
        workload = self.compute_workload_per_item(base_tile)
        for dim, extent in enumerate(shape):
            if extent == base_tile[dim]:
                continue
            tile = base_tile.copy()
            tile[dim] = extent
            new_workload = self.compute_workload_per_item(tile)
            if new_workload < workload:
                workload, base_tile = new_workload, tile
        return base_tile

    # vendored: carver/roller/policy/default.py:170-188
    def _get_output_tile_map(self, tile: list[int]) -> dict[Node, list[int]]:
        """The tile of each output: the first one's, scaled by the ratio of their extents."""
        tile_map: dict[Node, list[int]] = {}
        first_shape = self.output_nodes[0].get_space_dim() if self.output_nodes else []
        for node in self.output_nodes:
            shape = node.get_space_dim()
            if len(tile) > min(len(shape), len(first_shape)):
                raise MissingPart(f"the tile {tile} has more axes than the output {node.name!r} has: {shape}")
            if shape is first_shape:
                tile_map[node] = [*tile]
                continue
            tile_map[node] = [extent * shape[axis] // first_shape[axis] for axis, extent in enumerate(tile)]
        return tile_map

    # vendored: carver/roller/policy/default.py:190-200
    def compute_workload_per_item(self, output_tile: list[int]) -> float:
        """The elements that all nodes compute for a tile of the output, over the elements of that tile."""
        op_tile_map = self._get_output_tile_map(output_tile)
        computed = 0
        items = int(shape_product(output_tile))
        for node in reversed(self.ordered_nodes):
            if node not in op_tile_map:
                raise NoTile(f"{node!r} hands on to nodes that do not have it among their inputs: set_inputs there too")
            tile = op_tile_map[node]
            needed = node.propagate_inputs(tile)
            if len(node.inputs) > len(needed):
                raise MissingPart(f"{node!r} has {len(node.inputs)} input edges, and its function {len(needed)} inputs")
            computed += int(shape_product(tile))
            for i, edge in enumerate(node.inputs):
                op_tile_map[edge.src_node] = needed[i]
        return float(computed / items)

    # vendored: carver/roller/policy/default.py:202-219
    def score_block_size(self, n: int) -> tuple[float, ...]:
        """How bad ``n`` threads per block are, less is better: warps that do not match the multiprocessor's
        partitions, then idle threads in the last warp."""
        warp_size, partitions = self.arch.warp_size, self.arch.sm_partition
        warps = (n + warp_size - 1) // warp_size
        mismatch = max(warps / partitions, partitions / warps)
        idle = (warps * warp_size - n) / n
        return (mismatch, idle)

    # vendored: carver/roller/policy/default.py:221-239
    def get_block_size(self, n: int) -> int:
        """The best number of threads per block among the factors of ``n`` up to 1024."""
        candidates = [factor for factor in get_all_factors(n) if factor <= MAX_BLOCK_SIZE]
        return min(candidates, key=self.score_block_size)

    # vendored: carver/roller/policy/default.py:241-267
    def get_node_reduce_step_candidates(self, node: PrimFuncNode) -> dict[str, list[int]]:
        """The steps to try for each reduction axis, by name of variable.

        The factors of the extent, which need no check at the end; for a prime above 64 the powers of 2 below it.
        """
        candidates = {}
        for axis in node.raxis:
            extent = int(axis.dom.extent)
            steps = get_all_factors(extent)
            is_large_prime = len(steps) == 2 and extent > 64
            if is_large_prime:
                steps = [1]
                while 2 * steps[-1] < extent:
                    steps.append(2 * steps[-1])
            candidates[axis.var.name] = steps
        return candidates

    # vendored: carver/roller/policy/default.py:269-329
    def _assign_reduce_step(self, node: PrimFuncNode) -> dict[str, int]:
        """The step of each reduction axis, by name of variable: grown from 1 as long as reads coalesce better."""
        if node.reduction_block is None:
            return {}

        tile = [1] * len(node.get_space_dim())
        all_steps = self.get_node_reduce_step_candidates(node)

        def sim(a: int, b: int) -> float:
            # 1 where a equals b, less the more they differ.
            return (2 * a * b) / (a * a + b * b)

        def score(positions: dict[str, int]) -> float:
            rstep = {name: all_steps[name][position] for name, position in positions.items()}
            regions = node.propagate_inputs(tile, rstep=rstep)
            total = 0
            for region, buffer in zip(regions, node.input_buffers):
                element_bytes = (node.get_buffer_dtype(buffer).bits + 7) // 8
                transaction = self.arch.transaction_size[1] // element_bytes
                run = int(coalesced_factor(region, node.extents_of(buffer)))
                total += sim(run, transaction)
            return total

        positions = {axis.var.name: 0 for axis in node.raxis}
        best_score = score(positions)
        while best_score != 0:
            # Staying is a candidate too, and wins ties: growth must pay.
            best, best_of_round = positions, best_score
            for name in positions:
                if positions[name] + 1 == len(all_steps[name]):
                    continue
                grown = {**positions, name: positions[name] + 1}
                grown_score = score(grown)
                if grown_score > best_of_round:
                    best, best_of_round = grown, grown_score
            if best_of_round <= best_score:
                break
            positions, best_score = best, best_of_round
        return {name: all_steps[name][position] for name, position in positions.items()}

    # vendored: carver/roller/policy/default.py:331-396
    def _expand_reduce_axis(self, td: TileDict) -> None:
        """Grow the reduction steps of a tile while its shared memory stays within what its blocks can have, in place.

        The axis whose growth makes reads longest grows first.
        """
        smem_limit = min(self.arch.max_smem_usage // td.block_per_SM, self.arch.smem_cap)
        rstep_map = td.rstep_map.copy()

        def optimize(node: PrimFuncNode, rstep: dict[str, int]) -> dict[str, int]:
            all_steps = self._multiples_of_rstep(node, rstep)

            def score(rstep: dict[str, int]) -> int:
                regions = node.propagate_inputs(td.get_tile(node), rstep=rstep)
                buffers = node.input_buffers
                return sum(coalesced_factor(r, node.extents_of(buffer)) for r, buffer in zip(regions, buffers))

            positions = _positions_of(node, rstep, all_steps)
            trial_map = rstep_map.copy()
            while True:
                grown = self._enlarge(positions, all_steps, score)
                if grown is None:
                    break
                trial_map[node] = _steps_at(all_steps, grown)
                old_rstep_map = td.rstep_map
                td.rstep_map = trial_map
                smem_usage, _ = self._compute_shared_memory_usage(td)
                td.rstep_map = old_rstep_map
                if smem_usage > smem_limit:
                    break
                positions = grown
            return _steps_at(all_steps, positions)

        for node in self.ordered_nodes:
            if node.raxis:
                rstep_map[node] = optimize(node, rstep_map[node])
        td.rstep_map = rstep_map
        td.smem_cost, td.cached_tensors_map = self._compute_shared_memory_usage(td)

    # vendored: carver/roller/policy/default.py:398-432
    def _compute_memory_traffic(self, output_tile: list[int]) -> tuple[float, dict[Node, list[int]]]:
        """The bytes that a tile moves from and to global memory, and the tile of every node.

        Reductions run over their whole extent. Transactions that are not full count as full.
        """
        op_tile_map = self._get_output_tile_map(output_tile)
        traffic = 0
        for node in reversed(self.ordered_nodes):
            node_tile = op_tile_map[node]
            read, written = node.propagate_inputs(node_tile), node.propagate_outputs(node_tile)
            for i, edge in enumerate(node.inputs):
                op_tile_map[edge.src_node] = read[i]
            from_memory, to_memory = self._search_transfers.get(node) or self._transfers(node)
            for i, shape, elements, nbytes in from_memory:
                traffic += coalesced_tensor_shape(read[i], shape, elements) * nbytes
            for i, shape, elements, nbytes in to_memory:
                traffic += coalesced_tensor_shape(written[i], shape, elements) * nbytes
        return traffic, op_tile_map

    # vendored: carver/roller/policy/default.py:434-450
    def infer_node_smem_usage(self, td: TileDict, node: PrimFuncNode) -> tuple[int, list[str]]:
        """Bytes of shared memory that a node caches for a tile, and the names of what it caches."""
        return node.footprint(td.get_tile(node), td.get_rstep(node), td.tensor_strides_map[node])

    # vendored: carver/roller/policy/default.py:452-495
    def _compute_shared_memory_usage(self, td: TileDict) -> tuple[int, dict[Node, list[str]]]:
        """Bytes of shared memory that a tile needs, and the names of what each node caches.

        Node by node: what it caches is there while it runs, what it hands on until the last consumer has run.
        """
        self._compute_stride_map(td)
        allocator = BestFit()
        block_map: dict[tuple[Node, int], Any] = {}
        processed: set[Node] = set()
        cached_tensors_map: dict[Node, list[str]] = {}

        def can_free(node: Node, out_id: int) -> bool:
            return all(edge.dst_node in processed for edge in node.outputs if edge.src_id == out_id)

        for node in self.ordered_nodes:
            internal_bytes, cached_tensors_map[node] = self.infer_node_smem_usage(td, node)
            allocator.free(allocator.malloc(internal_bytes))
            processed.add(node)
            for edge in node.inputs:
                source, source_id = edge.src_node, edge.src_id
                if not source.is_placeholder() and can_free(source, source_id):
                    if (source, source_id) not in block_map:
                        # Freed before, or never put there.
                        raise UsedTwice(_why_not_there(edge))
                    allocator.free(block_map.pop((source, source_id)))
            for edge in node.outputs:
                if edge.dst_node.is_output():
                    continue
                handed_on = (node, edge.src_id)
                if handed_on not in block_map:
                    element_bytes = (node.get_dtype(edge.src_id).bits + 7) // 8
                    strides, number = td.output_strides_map[node], len(node.inputs) + edge.src_id
                    if number not in strides:
                        raise NoTile(f"{node!r} hands on its output {edge.src_id}, which it does not have")
                    elements = strides[number].compute_elements_from_shape(td.get_tile(node))
                    block_map[handed_on] = allocator.malloc(elements * element_bytes)

        if block_map:
            names = ", ".join(node.name for node, _ in block_map)
            raise PolicyError(f"what {names} hand on is never used up: no output leads to some of their consumers")
        return allocator.limit, cached_tensors_map

    # vendored: carver/roller/policy/default.py:497-515
    def compute_node_stride_map(
        self, node: PrimFuncNode, td: TileDict
    ) -> tuple[dict[int, Stride], dict[str, Stride]]:
        """Paddings of a node's outputs, by number after its inputs, and of what it caches, by name: none."""
        return self._no_padding(node), {}

    # vendored: carver/roller/policy/default.py:517-535
    def _compute_stride_map(self, td: TileDict) -> None:
        """Set the tile's paddings for all nodes."""
        output_strides_map, tensor_strides_map = {}, {}
        for node in self.ordered_nodes:
            outputs, tensors = self.compute_node_stride_map(node, td)
            output_strides_map[node], tensor_strides_map[node] = outputs, tensors
        td.output_strides_map = output_strides_map
        td.tensor_strides_map = tensor_strides_map

    # vendored: carver/roller/policy/default.py:537-574
    def compute_tile_dict(self, output_tile: list[int], rstep_map: dict[Node, dict[str, int]]) -> TileDict:
        """Price a tile. ``valid`` is False where its shared memory or its registers exceed the device's."""
        trace = self.trace
        arch = self.arch
        td = TileDict(output_tile)
        td.rstep_map = rstep_map
        td.traffic, td.tile_map = self._compute_memory_traffic(output_tile)
        smem_cost, cached = self._compute_shared_memory_usage(td)
        td.smem_cost, td.cached_tensors_map = smem_cost, cached
        if smem_cost > arch.smem_cap:
            td.valid = False
            if trace is not None:
                trace.reject(td, "shared memory", smem_cost, arch.smem_cap)
            return td
        output_shape = self.output_nodes[0].get_space_dim()
        td.grid_size = _count_tiles(output_tile, output_shape)
        # Registers hold the tile's elements, by the width of the function's output, twice.
        registers = [shape_product(td.tile_map[node]) * node.get_dtype().bits / 32 for node in self.ordered_nodes]
        reg_usage = int(2 * max(registers))
        if reg_usage > arch.reg_cap:
            td.valid = False
            if trace is not None:
                trace.reject(td, "registers", reg_usage, arch.reg_cap)
            return td
        by_smem = arch.max_smem_usage // max(smem_cost, 1)
        by_registers = arch.reg_cap // max(reg_usage, 1)
        td.block_per_SM = min(by_smem, by_registers, arch.sm_partition)
        blocks_at_once = int(td.block_per_SM * arch.compute_max_core)
        if blocks_at_once == 0:
            raise NoCapacity(
                f"the device runs no thread block: {td.block_per_SM} per multiprocessor "
                f"on {arch.compute_max_core} multiprocessors"
            )
        td.num_wave = math.ceil(td.grid_size / blocks_at_once)
        return td

    # vendored: carver/roller/policy/default.py:576-597
    def check_tile_shape_isvalid(self, td: TileDict) -> bool:
        """Whether every node has work in every block, and all nodes need as many blocks as the output."""
        for node in self.ordered_nodes:
            tile = td.get_tile(node)
            if shape_product(tile) == 0:
                return False
            if _count_tiles(tile, node.get_space_dim()) != td.grid_size:
                return False
            reduce_op = getattr(node, "reduce_op", None)
            if reduce_op is not None and len(reduce_op.axis) == len(td.output_tile):
                for axis, extent in zip(reduce_op.axis, td.output_tile):
                    if axis.dom.extent % extent:
                        return False
        return True

    # vendored: carver/roller/policy/default.py:599-638
    def recommend_block_size(self, td: TileDict) -> list[int]:
        """Numbers of threads per block to try, best first: factors of what all nodes' tiles have in common.

        Where that is too small to fill a multiprocessor, threads may share reductions as well.
        """
        space_sizes = [int(shape_product(td.get_tile(node))) for node in self.ordered_nodes]
        common = functools.reduce(math.gcd, space_sizes)

        if common < self.arch.warp_size * self.arch.sm_partition and common == min(space_sizes):
            reduce_sizes = [int(shape_product([*td.get_rstep(node).values()])) for node in self.ordered_nodes]
            total_sizes = [space * reduce for space, reduce in zip(space_sizes, reduce_sizes)]
            candidates = get_all_factors(functools.reduce(math.gcd, total_sizes))
            candidates = [size for size in candidates if size % common == 0]
            # Threads split a node's tile evenly, or cover it evenly several times over.
            candidates = [size for size in candidates if all(size % s == 0 or s % size == 0 for s in space_sizes)]
        else:
            candidates = get_all_factors(common)
        candidates = [size for size in candidates if size <= MAX_BLOCK_SIZE]
        return sorted(candidates, key=self.score_block_size)

    # vendored: carver/roller/policy/default.py:640-671
    def assign_block_size(self, td: TileDict, topk: int = 1) -> Iterator[dict[PrimFuncNode, Hint]]:
        """The hints of all nodes, by node, for the first ``topk`` block sizes that suit every node."""
        given = 0
        for block_size in self.recommend_block_size(td):
            result: dict[PrimFuncNode, Hint] = {}
            for node in self.ordered_nodes:
                hint = self._assign_block_size(node, td, block_size)
                if hint is None:
                    break
                result[node] = hint
            else:
                yield result
                given += 1
                if given == topk:
                    return

    # vendored: carver/roller/policy/default.py:673-755
    def _assign_block_size(self, node: PrimFuncNode, td: TileDict, block_size: int) -> Hint | None:
        """The hint of a node for a number of threads per block: these are dealt out to the axes.

        The largest prime factors first, each to the space axis where it makes memory accesses cheapest; to the last
        reduction axis that it divides where it fits no space axis.
        """
        tile, rsteps = td.get_tile(node), td.get_rstep(node)
        ndim = len(tile)
        cur_threads = [1] * ndim
        reduce_thread = dict.fromkeys(rsteps, 1)

        bandwidth = self.arch.bandwidth
        output_shapes = [node.extents_of(buffer) for buffer in node.output_buffers]

        def score(thread: list[int]) -> float:
            # Time to read a thread's share from shared memory and to write the block's results; less is better.
            per_thread = [math.ceil(extent / count) for extent, count in zip(tile, thread)]
            total = self._read_time(node, per_thread, bandwidth[1])
            try:
                for shape in output_shapes:
                    total += coalesced_tensor_shape(thread, shape, 8) / bandwidth[0]
            except ZeroDivisionError:
                raise NoBandwidth(f"a device without bandwidth of global memory writes nothing: {bandwidth}") from None
            return total

        for factor in reversed(factorize(block_size)):
            best: tuple[float, int] | None = None
            for i in range(ndim):
                more = cur_threads[i] * factor
                if cur_threads[i] >= tile[i] or tile[i] % more != 0:
                    continue
                candidate = (score([*cur_threads[:i], more, *cur_threads[i + 1 :]]), i)
                if best is None or candidate < best:
                    best = candidate
            if best is not None:
                cur_threads[best[1]] *= factor
                continue
            fitting = [ax for ax, steps in rsteps.items() if steps % (reduce_thread[ax] * factor) == 0]
            if not fitting:
                raise PolicyError(f"no axis of the tile {tile} with steps {rsteps} takes a factor of {factor} threads")
            reduce_thread[fitting[-1]] *= factor

        hint = Hint()
        hint.block = tile
        hint.thread = cur_threads
        hint.rstep = [rsteps[axis.var.name] for axis in node.raxis]
        hint.reduce_thread = [reduce_thread[axis.var.name] for axis in node.raxis]
        hint.cached_tensors = td.cached_tensors_map[node]
        hint.rasterization_plan = self.plan_rasterization(td)

        # Narrow elements are taken several at a time, so that accesses stay coalesced.
        at_once = {16: 2, 8: 4}.get(node.get_dtype().bits)
        if at_once is not None:
            hint._step = [1] * ndim
            for i in reversed(range(ndim)):
                if tile[i] // cur_threads[i] % at_once == 0:
                    hint._step[i] = at_once
                    break
        hint.vectorize = self._plan_vectorize(node, td, block_size)
        hint.arch = self.arch
        hint.opt_shapes = node.get_tag("opt_shapes")
        return hint

    # vendored: carver/roller/policy/default.py:757-800
    def _plan_vectorize(self, node: PrimFuncNode, td: TileDict, block_size: int) -> dict[str, int]:
        """The widest vector loads for the inputs of a node's reduction, in elements, by name of buffer.

        As wide as the block's threads share the region evenly, its innermost axis divides, and 128 bits hold.
        """

        def is_cont(shape: list[int], width: int) -> bool:
            for extent in reversed(shape):
                if extent != 1:
                    return extent % width == 0
            return width == 1

        vectorize_result: dict[str, int] = {}
        dtypes = node.get_reduce_inputs_dtype()
        regions = node.propagate_reduction_inputs(td.get_tile(node), td.get_rstep(node))
        for tensor, region in regions.items():
            elements = int(shape_product(region))
            for width in (16, 8, 4, 2):
                is_aligned = elements % (block_size * width) == 0
                if is_aligned and is_cont(region, width) and dtypes[tensor].bits * width <= 128:
                    vectorize_result[tensor] = width
                    break
        return vectorize_result

    # vendored: carver/roller/policy/default.py:802-816
    def plan_rasterization(self, td: TileDict) -> Rasterization:
        """The order of the thread blocks: as they come."""
        return NoRasterization()

    # -- Additions to the class: steps that both policies take -------------------------------------------------------

    def _check_graph(self) -> None:
        """Refuse what the search would fail at with an error that does not say why."""
        if not isinstance(self.arch, TileDevice) and not hasattr(self.arch, "transaction_size"):
            raise NotADevice(self.arch)
        for node in self.ordered_nodes:
            if not hasattr(node, "propagate_inputs"):
                raise NotAFunctionNode(f"among the nodes of the graph is {node!r}, which computes nothing")
            for edge in node.outputs:
                if not hasattr(edge.src_id, "__index__"):
                    raise MissingPart(f"{node!r} hands on its output {shown(edge.src_id)}: outputs have numbers")

    def _tile_steps(self, init_tile: list[int]) -> list[list[int]]:
        """The extents to try along each axis: factors of the whole from the first tile's on, and small powers of 2."""
        all_steps = []
        for extent, first in zip(self.output_nodes[0].get_space_dim(), init_tile):
            factors = get_all_factors(extent)
            if first not in factors:
                raise CarverError(f"the first tile has {shown(first)} along an axis of {extent}, and must divide it")
            steps = factors[factors.index(first) :]
            added = [s for s in (2, 4, 8, 16, 32) if steps[0] < s < steps[-1] and s not in steps]
            all_steps.append(sorted(steps + added))
        return all_steps

    def _transfers(self, node: PrimFuncNode) -> tuple[list[Transfer], list[Transfer]]:
        """What a node moves from global memory (placeholders) and to it (outputs of the graph), whatever the tile."""
        transaction_size = self.arch.transaction_size
        from_memory: list[Transfer] = []
        to_memory: list[Transfer] = []
        for i, edge in enumerate(node.inputs):
            source = edge.src_node
            if source.is_placeholder():
                nbytes = (source.get_dtype().bits + 7) // 8
                from_memory.append((i, source.get_shape(), transaction_size[1] // nbytes, nbytes))
        for edge in node.outputs:
            if edge.dst_node.is_output():
                # The dtype is that of output 0, whichever output this is, as in carver.
                nbytes = (edge.src_node.get_dtype().bits + 7) // 8
                shape = node.get_shape(edge.src_id)
                to_memory.append((edge.src_id, shape, transaction_size[0] // nbytes, nbytes))
        return from_memory, to_memory

    def _no_padding(self, node: PrimFuncNode) -> dict[int, Stride]:
        """No padding for any of a node's outputs: one dict for all tiles."""
        strides = self._unpadded.get(node)
        if strides is None:
            count = len(node.input_buffers)
            strides = self._unpadded[node] = {count + i: Stride() for i in range(len(node.output_buffers))}
        return strides

    def _multiples_of_rstep(self, node: PrimFuncNode, rstep: dict[str, int]) -> dict[str, list[int]]:
        """The node's reduction steps that are multiples of those it has."""
        candidates = self.get_node_reduce_step_candidates(node)
        if 0 in rstep.values():
            raise NoExtent(f"every extent must be at least 1, and {node!r} has reduction steps {rstep}")
        return {name: [s for s in steps if s % rstep[name] == 0] for name, steps in candidates.items()}

    def _enlarge(self, positions: dict[str, int], all_steps: dict[str, list[int]], score: Any) -> dict[str, int] | None:
        """The positions with the axis one step on whose growth scores highest, the first if several do; None if
        every axis has its last step."""
        can_grow = [name for name in positions if positions[name] + 1 < len(all_steps[name])]
        grown = [{**positions, name: positions[name] + 1} for name in can_grow]
        # A lone axis is scored too: that fails where an input is read at one place, as in carver.
        return max(grown, key=lambda candidate: score(_steps_at(all_steps, candidate)), default=None)

    def _read_time(self, node: PrimFuncNode, tile: list[int], bandwidth: int) -> float:
        """Elements that a node reads for a tile, over the bandwidth: kept, for threads' shares come up again."""
        key = (node, bandwidth, *tile)
        time = self._known_read_times.get(key)
        if time is None:
            time = self._known_read_times[key] = _time_to_read(node.propagate_inputs(tile), bandwidth)
        return time

    def __repr__(self) -> str:
        nodes = ", ".join(node.name for node in getattr(self, "ordered_nodes", []))
        return f"<{type(self).__name__}, {nodes or 'no nodes'}, {type(self.arch).__name__}>"


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------

# The search takes no more tiles from its queue once it has seen more than this many.
MAX_VISITED_TILES = 2000
# Threads per block that CUDA allows.
MAX_BLOCK_SIZE = 1024

# The methods that an object in ``DefaultPolicy.trace`` must have, and when they are called.
_TRACE_EVENTS = {
    "start(init_tile, steps, rstep_map)": "before the first tile; steps are the extents to try along each axis",
    "reject(td, reason, demand, limit)": "a tile is found invalid; its visit follows",
    "visit(td, parent, axis)": "a tile has been priced; parent grew along axis to make it, both None for the first",
    "duplicate(tile, parent, axis)": "a tile has come up that was seen before",
    "push(price, tile)": "a valid tile goes into the queue",
    "pop(price, tile)": "the cheapest tile is taken out, to be grown",
    "stop(reason, count)": 'the search ends, "exhausted" or by its "cap", with so many tiles seen',
    "ranked(tiles)": "the valid tiles, cheapest first",
    "hint(td, hint)": "a tile has become a hint",
    "no_hint(td, reason)": 'a ranked tile has become none for its "tile shape" or for want of a "block size"',
}


class PolicyError(CarverError, AssertionError):
    """A state of the search that carver's assertions refuse."""


class NotAFunction(CarverError, NotImplementedError):
    """A policy was asked for something else than a PrimFunc."""


class NotAFunctionNode(CarverError, AttributeError):
    """A node without a function stands where one is needed."""


class NoNodes(CarverError, TypeError):
    """Something else than nodes was given as the outputs of a graph."""


class NoTile(CarverError, KeyError):
    """A node that no tile is known for, or one that hands on what it does not have."""


class NoCount(CarverError, TypeError):
    """A topk that is no number."""


class NoOutput(CarverError, IndexError):
    """A graph without an output."""


class UsedTwice(CarverError, KeyError):
    """A node that takes the same output of another as two of its inputs."""


class NoExtent(CarverError, ZeroDivisionError):
    """An output without elements."""


class NoBandwidth(CarverError, ZeroDivisionError):
    """A device that cannot write to global memory."""


class NoCapacity(CarverError, ZeroDivisionError):
    """A device that cannot run a single thread block."""


def _are_enough(results: list, topk: int) -> bool:
    try:
        return len(results) >= topk
    except TypeError:
        raise NoCount(f"topk is a number of hints, got {shown(topk)}") from None


def _why_not_there(edge: Edge) -> str:
    """Why what an edge hands on is not in shared memory when it is freed."""
    source, node = edge.src_node, edge.dst_node
    if not any(other.dst_node is node and other.src_id == edge.src_id for other in source.outputs):
        return f"{edge!r} is among the inputs of {node!r} and not among the outputs of {source!r}: append it there too"
    return f"{node!r} takes output {edge.src_id} of {source!r} twice, and carver frees it so"


def _count_tiles(tile: list[int], shape: list[int]) -> int:
    """How many tiles cover a shape, over the shorter of the two ranks."""
    return int(shape_product([(extent + step - 1) // step for step, extent in zip(tile, shape)]))


def _steps_at(all_steps: dict[str, list[int]], positions: dict[str, int]) -> dict[str, int]:
    return {name: all_steps[name][position] for name, position in positions.items()}


def _time_to_read(regions: list[list[int]], bandwidth: int) -> float:
    """The elements of some regions over the bandwidth; infinity without any, as carver divides numpy's numbers."""
    time = 0
    try:
        for region in regions:  # not by sum, which rounds otherwise from Python 3.12 on
            time += shape_product(region) / bandwidth
    except ZeroDivisionError:
        return math.inf
    return time


def _positions_of(node: PrimFuncNode, rstep: dict[str, int], all_steps: dict[str, list[int]]) -> dict[str, int]:
    """Where a node's reduction steps stand among the candidates."""
    positions = {}
    for axis in node.raxis:
        name = axis.var.name
        if rstep[name] not in all_steps[name]:
            raise CarverError(
                f"the reduction step {rstep[name]} of {name} is not among the candidates {all_steps[name]} of {node!r}"
            )
        positions[name] = all_steps[name].index(rstep[name])
    return positions
