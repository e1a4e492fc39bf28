"""The nodes of a computation graph, and what each reads for a tile of its output.

The port of ``carver/roller/node.py``. A :class:`PrimFuncNode` wraps one function: it finds the function's blocks and
its reduction, and tells which region of each input a tile of the output needs (``propagate_inputs`` and its sisters).
Nodes are connected by :class:`Edge`. Tiles and shapes are lists of extents in elements.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arch.errors import CarverError, shown
from . import analysis
from .analysis import BlockInfo, IterInfo, get_reduction_blocks, normalize_prim_func
from .shape_inference import get_analyzer_by_tir
from .shape_inference.tir import Places, Regions
from .tir.arith import ConstIntBound
from .tir.dtypes import DataType
from .tir.expr import IntImm, PrimExpr, Var
from .tir.schedule import SBlockRV, Schedule
from .tir.stmt import Buffer, PrimFunc

if TYPE_CHECKING:
    import networkx

    from .hint import Stride


# vendored: carver/roller/node.py:20-32
def pre_order_traverse(
    block_analyzer: BlockAnalyzer, blocks: Iterable[SBlockRV], func: Callable[[SBlockRV], Any]
) -> None:
    """Call ``func`` on every block that depends on one of ``blocks``, consumers first, then on the block itself.

    Names of blocks are new at each query and equal only to themselves, so a block reached twice is called twice.
    """
    visited: set[SBlockRV] = set()

    def visit(block: SBlockRV) -> None:
        if block not in visited:
            visited.add(block)
            for consumer in block_analyzer.get_consumer_blocks(block):
                visit(consumer)
            func(block)

    for start in blocks:
        visit(start)


# vendored: carver/roller/node.py:35-84
class BlockAnalyzer:
    """The blocks of a schedule. Making one brings the schedule's function to normal form."""

    # vendored: carver/roller/node.py:36-38
    def __init__(self, sch: Schedule) -> None:
        self.sch = sch
        self.block_infos: list[BlockInfo] | None = normalize_prim_func(sch)

    # vendored: carver/roller/node.py:40-41
    def get_block_name(self, block: SBlockRV) -> str:
        return self.sch.get(block).name_hint

    # vendored: carver/roller/node.py:43-47
    def get_block_info(self, block: SBlockRV) -> BlockInfo | None:
        """The first block of this one's name. TypeError (NoNormalForm) where the function has no normal form."""
        if self.block_infos is None:
            raise NoNormalForm(
                "the function has no normal form: every block must stand under loops of its own, "
                "each iterator bound to one of them"
            )
        name = self.get_block_name(block)
        for info in self.block_infos:
            if info.name == name:
                return info
        return None

    # vendored: carver/roller/node.py:49-55
    def get_spatial_axis(self, block: SBlockRV) -> list[IterInfo]:
        return [iter_info for iter_info in self.get_block_info(block).iters if iter_info.kind == "S"]

    # vendored: carver/roller/node.py:57-63
    def get_reduce_axis(self, block: SBlockRV) -> list[IterInfo]:
        return [iter_info for iter_info in self.get_block_info(block).iters if iter_info.kind == "R"]

    # vendored: carver/roller/node.py:65-69
    def get_input_buffers(self, block: SBlockRV) -> list[Buffer]:
        return [access.buffer for access in self.sch.get(block).reads]

    # vendored: carver/roller/node.py:71-75
    def get_output_buffers(self, block: SBlockRV) -> list[Buffer]:
        return [access.buffer for access in self.sch.get(block).writes]

    # vendored: carver/roller/node.py:77-78
    def get_buffers(self, block: SBlockRV) -> list[Buffer]:
        """What the block reads, then what it writes."""
        return [*self.get_input_buffers(block), *self.get_output_buffers(block)]

    # vendored: carver/roller/node.py:80-81
    def get_producer_blocks(self, block: SBlockRV) -> list[SBlockRV]:
        return self.sch.get_producers(block)

    # vendored: carver/roller/node.py:83-84
    def get_consumer_blocks(self, block: SBlockRV) -> list[SBlockRV]:
        return self.sch.get_consumers(block)

    # -- Addition to the class -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<BlockAnalyzer, {self.block_infos or 'no normal form'}>"


# vendored: carver/roller/node.py:87-92
@dataclass
class Edge:
    """Output ``src_id`` of one node is input ``dst_id`` of another."""

    src_node: Node
    dst_node: Node
    src_id: int
    dst_id: int


# vendored: carver/roller/node.py:95-176
class Node:
    """A node: its edges, the shape and dtype of each of its outputs, and its tags."""

    # vendored: carver/roller/node.py:96-105
    def __init__(self, tags: dict | None = None, name: str = "Node") -> None:
        self.name = name
        self._out_edges: list[Edge] = []
        self._in_edges: list[Edge] = []
        self._shapes: list[list[int] | None] = []
        self._dtypes: list[DataType | None] = []
        self._tag: dict[str, Any] = {}
        self.update_tags({} if tags is None else tags)

    # vendored: carver/roller/node.py:107-109
    def update_tags(self, tags: dict) -> None:
        try:
            for name in tags:
                self.add_tag(name, tags[name])
        except (TypeError, LookupError):
            raise NotAFunction(f"the tags of {self.name!r} are a dictionary, got {shown(tags)}") from None

    # vendored: carver/roller/node.py:111-112
    def set_tag(self, k: str, v: Any = True) -> None:
        self.add_tag(k, v)

    # vendored: carver/roller/node.py:114-115
    def add_tag(self, k: str, v: Any = True) -> None:
        self._tag[k] = v

    # vendored: carver/roller/node.py:117-120
    def get_tag(self, k: str) -> Any:
        """The tag's value, None where there is no such tag."""
        return self._tag.get(k)

    # vendored: carver/roller/node.py:122-123
    def is_placeholder(self) -> bool:
        return False

    # vendored: carver/roller/node.py:125-126
    def is_output(self) -> bool:
        return False

    # vendored: carver/roller/node.py:128-130
    @property
    def inputs(self) -> list[Edge]:
        return self._in_edges

    # vendored: carver/roller/node.py:132-134
    @property
    def outputs(self) -> list[Edge]:
        return self._out_edges

    # vendored: carver/roller/node.py:136-138
    def set_inputs(self, i: int, edge: Edge) -> None:
        """Replace input ``i``, which must be there already."""
        _check_edge_id(self, "input", i, self._in_edges)
        self._in_edges[i] = edge

    # vendored: carver/roller/node.py:140-142
    def set_outputs(self, i: int, edge: Edge) -> None:
        """Replace output edge ``i``, which must be there already."""
        _check_edge_id(self, "output", i, self._out_edges)
        self._out_edges[i] = edge

    # vendored: carver/roller/node.py:144-145
    def get_dtype(self, id: int = 0) -> DataType:
        try:
            return self._dtypes[id]
        except (IndexError, TypeError):
            raise _no_output(self, self._dtypes, id) from None

    # vendored: carver/roller/node.py:147-155
    def set_dtype(self, dtype: DataType, id: int = 0) -> None:
        """Say the dtype of an output; bool counts as int8. AssertionError if it was said otherwise before."""
        _set_dtype(self, dtype, id)

    # vendored: carver/roller/node.py:157-158
    def get_shape(self, id: int = 0) -> list[int]:
        try:
            return self._shapes[id]
        except (IndexError, TypeError):
            raise _no_output(self, self._shapes, id) from None

    # vendored: carver/roller/node.py:160-165
    def set_shape(self, shape: Iterable, id: int = 0, overwrite: bool = False) -> None:
        """Say the shape of an output, in elements; the last word counts. ``overwrite`` is not looked at."""
        _grow(self._shapes, id)
        self._shapes[id] = [_constant(extent, self) for extent in shape]

    # vendored: carver/roller/node.py:167-170
    def num_outputs(self) -> int:
        """One more than the highest output that is used."""
        used = [edge.src_id for edge in self.outputs]
        return max(used, default=-1) + 1

    # vendored: carver/roller/node.py:172-173
    def get_ir(self) -> str:
        """Raises NotImplementedError for nodes without a text."""
        raise NoText(f"the node {self.name!r} has no text")

    # vendored: carver/roller/node.py:175-176
    def __repr__(self) -> str:
        return f"<Node, {self.name}>"


# vendored: carver/roller/node.py:179-187
class PlaceHolderNode(Node):
    """An input of the graph."""

    # vendored: carver/roller/node.py:180-181
    def __init__(self, name: str = "") -> None:
        super().__init__(name="PlaceHolder_" + name)

    # vendored: carver/roller/node.py:183-184
    def is_placeholder(self) -> bool:
        return True

    # vendored: carver/roller/node.py:186-187
    def get_ir(self) -> str:
        return "placeholder"


# vendored: carver/roller/node.py:190-498
class PrimFuncNode(Node):
    """A node that computes one function.

    ``prim_func`` must have constant extents once ``opt_shapes`` (a tag or an attribute of the function, a dict of
    integer constants by variable name) is put in. Attributes of the function become tags.

    Attributes: ``sch`` the schedule, in normal form; ``blocks`` its blocks in program order; ``output_blocks``;
    ``reduction_block`` the last of them that reduces, or None, and ``raxis`` its reduction axes; ``schedule_stages``
    the block whose output is tiled; ``input_buffers`` and ``output_buffers``, together ``args``; ``ana`` the region
    inference.
    """

    # vendored: carver/roller/node.py:191-215
    def __init__(self, prim_func: PrimFunc, tags: dict | None = None, name: str = "PrimFuncNode") -> None:
        super().__init__(tags, name=name)
        self.prim_func = self._specialize_func(prim_func)
        self.sch = Schedule(self.prim_func)
        self.block_analyzer = BlockAnalyzer(self.sch)
        self.schedule_stages: list[SBlockRV] = []
        self.blocks: list[SBlockRV] = []
        self.output_blocks: list[SBlockRV] | None = None
        self.reduction_block: SBlockRV | None = None
        self.raxis: list[IterInfo] = []
        self.input_buffers: list[Buffer] = []
        self.output_buffers: list[Buffer] = []
        self.buffers: list[Buffer] = []
        self.args: list[Buffer] = []
        self._analysis_funcinfo()
        self._assign_placeholder_node()
        self.ana = get_analyzer_by_tir(self.block_analyzer, self.blocks)
        self._space_dim: list[int] | None = None
        self._tensorcore_axis: tuple[int, ...] | None = None
        self._stage_names: tuple[str, ...] | None = None
        self._known_regions: dict[tuple, Regions] = {}
        self._plain_reads: PlainReads | None = None
        self._reduction_buffers: list[Buffer] | None = None
        self._reduction_names: list[str] | None = None
        self._footprint_candidates: tuple[list[CacheCandidate], bool] | None = None
        self._limits: dict[Buffer, tuple[int, ...] | None] = {}

        for edge, buffer in zip(self.inputs, self.input_buffers):
            source = edge.src_node
            source.set_shape(buffer.shape, edge.src_id)
            source.set_dtype(DataType(buffer.dtype), edge.src_id)
        for output_id, buffer in enumerate(self.output_buffers):
            self.set_shape(buffer.shape, output_id)
            self.set_dtype(DataType(buffer.dtype), output_id)

    # vendored: carver/roller/node.py:217-229
    def _assign_placeholder_node(self) -> None:
        """Give every input a placeholder; the graph's author replaces those that another node computes."""
        for dst_id, buffer in enumerate(self.input_buffers):
            placeholder = PlaceHolderNode(buffer.name)
            edge = Edge(placeholder, self, 0, dst_id)
            self._in_edges.append(edge)
            placeholder._out_edges.append(edge)

    # vendored: carver/roller/node.py:231-244
    def _specialize_func(self, func: PrimFunc) -> PrimFunc:
        """Take the function's attributes as tags and put ``opt_shapes`` into its variable extents."""
        if not isinstance(func, PrimFunc):
            raise NotAFunction(f"a PrimFuncNode computes a PrimFunc, got {shown(func)}")
        self.update_tags(func.attrs)
        # The tag is spelt so in carver.
        if self.get_tag("is_speclized"):
            return func
        opt_shapes = self.get_tag("opt_shapes") or {}
        if not hasattr(opt_shapes, "items"):
            raise NotAConstant(f"opt_shapes is a dictionary of integer constants by name, got {shown(opt_shapes)}")
        for name, extent in opt_shapes.items():
            var = analysis.find_var_from_func(func, name)
            if var is None:
                continue
            if not hasattr(extent, "astype"):
                raise NotAConstant(f"opt_shapes[{name!r}] must be an integer constant (IntImm), not {shown(extent)}")
            func = func.specialize({var: extent.astype(var.dtype)})
        return func

    # vendored: carver/roller/node.py:246-284
    def _analysis_funcinfo(self) -> None:
        """Find the blocks, the reduction and the buffers."""
        root = analysis.get_root_block(self.sch)
        self.blocks = self.sch.get_child_blocks(root)
        self.output_blocks = self.sch.get_output_blocks(root)

        reductions = get_reduction_blocks(self.sch, self.blocks)
        if reductions is None:
            if len(self.output_blocks) != 1:
                names = ", ".join(map(self.block_analyzer.get_block_name, self.output_blocks))
                raise NotOneOutput(
                    "a function without a reduction must have one output block, "
                    f"this one has {len(self.output_blocks)}: {names}"
                )
            self.schedule_stages.append(self.output_blocks[0])
        else:
            self.reduction_block = reductions[-1]
            self.raxis += self.block_analyzer.get_reduce_axis(self.reduction_block)
            self.schedule_stages.append(self.reduction_block)

        # A buffer that several output blocks write stands here once for each, as in carver.
        for block in self.output_blocks:
            self.output_buffers += self.block_analyzer.get_output_buffers(block)

        buffer_map = self.prim_func.buffer_map
        for param in self.prim_func.params:
            # A parameter without a buffer is a variable extent.
            buffer = buffer_map.get(param)
            if buffer is not None and buffer not in self.output_buffers:
                self.input_buffers.append(buffer)

        self.args = self.input_buffers + self.output_buffers
        self.buffers = list(buffer_map.values())
        if not self.output_buffers:
            raise MissingPart("the function has no output block")
        self.set_dtype(DataType(self.output_buffers[0].dtype))

    # vendored: carver/roller/node.py:286-290
    def get_opt_shape(self, name: str) -> Any:
        """The extent that ``opt_shapes`` gives a variable, None without ``opt_shapes``."""
        opt_shapes = self.get_tag("opt_shapes")
        return None if opt_shapes is None else opt_shapes[name]

    # vendored: carver/roller/node.py:292-298
    def extent_wrapper(self, value: Any) -> Any:
        """An extent as an int: constants as they are, variables from ``opt_shapes``, anything else untouched."""
        if isinstance(value, Var):
            return self.get_opt_shape(value.name)
        return int(value) if isinstance(value, IntImm) else value

    # vendored: carver/roller/node.py:300-317
    # NOTE: kept per node rather than in a cache that all nodes share, so that nodes can be collected.
    def get_space_dim(self) -> list[int]:
        """The extents of the space axes: of the reduction, or of the loops around the output block."""
        if self._space_dim is None:
            self._space_dim = self._find_space_dim()
        return self._space_dim

    # vendored: carver/roller/node.py:319-327
    def set_dtype(self, dtype: DataType, id: int = 0) -> None:
        """Say the dtype of an output; bool counts as int8. AssertionError if it was said otherwise before."""
        _set_dtype(self, dtype, id)

    # vendored: carver/roller/node.py:329-330
    def get_buffer_dtype(self, buffer: Buffer) -> DataType:
        return DataType(buffer.dtype)

    # vendored: carver/roller/node.py:332-339
    def propagate(
        self, tile: Sequence[int], rstep: dict[str, int] | None = None, targets: Sequence[str] | None = None
    ) -> tuple[dict[str, list[int]], dict[str, str]]:
        """The extents of the region of each buffer in ``targets`` (all if None) that a tile of the output touches.

        ``rstep`` cuts reduction axes, named by variable, to that many steps. Extents are not clipped by the buffers'.
        The second dict names the buffers whose region was taken from a stage in between.
        """
        bounds = [ConstIntBound(0, extent - 1) for extent in tile]
        return self.ana.infer(dict.fromkeys(self._tiled_buffers(), bounds), rstep or {}, targets)

    # vendored: carver/roller/node.py:341-355
    def propagate_inputs(self, tile: Sequence[int], rstep: dict[str, int] | None = None) -> list[list[int]]:
        """The extents of each input's region for a tile of the output, clipped by the input's shape."""
        reads = self._plain_reads or self._plainly_read()
        return self._clipped(reads.inputs, tile, rstep)

    # vendored: carver/roller/node.py:358-377
    def propagate_inputs_on_reduction(
        self, tile: Sequence[int], rstep: dict[str, int] | None = None
    ) -> list[list[int]]:
        """The same for the inputs of the reduction block, clipped by their shapes, aligned at the last axis.

        MissingPart, an IndexError, for a function that does not reduce.
        """
        if self.reduction_block is None:
            raise MissingPart(f"{self.name!r} has no reduction")
        reads = self._plain_reads or self._plainly_read()
        return self._clipped(reads.reduction_inputs, tile, rstep)

    # vendored: carver/roller/node.py:379-390
    def propagate_outputs(self, tile: Sequence[int], rstep: dict[str, int] | None = None) -> list[list[int]]:
        """The extents of each output's region for a tile, clipped by the shape of the *input* of the same index.

        That is what carver does; the shorter of the two ranks counts. IndexError where there are fewer inputs.
        """
        reads = self._plain_reads or self._plainly_read()
        results = self._clipped(reads.outputs, tile, rstep)
        if reads.are_outputs_small:
            return results
        for i, region in enumerate(results):
            elements = math.prod(region)
            if type(elements) is int and abs(elements) >= 2**31:
                # Carver leaves a clipped extent as the buffer's expression. That matters where the product is taken,
                # as expressions wrap around at 32 bits.
                whole = _region_of(self._regions(tile, rstep), self.output_buffers[i])
                results[i] = [min(pair) for pair in zip(whole, self.input_buffers[i].shape)]
        return results

    # vendored: carver/roller/node.py:392-399
    def propagate_reduction_inputs(
        self, shape: Sequence[int], rstep: dict[str, int] | None = None
    ) -> dict[str, list[int]]:
        """The extents of the region of each input of the reduction block, by name, not clipped."""
        if self.reduction_block is None:
            return {}
        if self._has_own_propagate:
            results, _ = self.propagate(shape, rstep or {}, [buffer.name for buffer in self._reduction_inputs()])
            return results
        regions = self._regions(shape, rstep)
        if self._reduction_names is None:
            # In the order in which they are found going back from the output, as `propagate` has them.
            names = {buffer.name for buffer in self._reduction_inputs()}
            self._reduction_names = [name for name in regions.places.mapping if name in names]
        return {name: regions[name].copy() for name in self._reduction_names if regions.places.of(name)}

    # vendored: carver/roller/node.py:401-404
    def get_reduce_inputs_dtype(self) -> dict[str, DataType]:
        """The dtypes of the inputs of the reduction block, by name."""
        if self.reduction_block is None:
            return {}
        return {buffer.name: DataType(buffer.dtype) for buffer in self._reduction_inputs()}

    # vendored: carver/roller/node.py:406-445
    # NOTE: kept per node rather than in a cache that all nodes share, so that nodes can be collected.
    def infer_tensorcore_axis(self) -> tuple[int, ...]:
        """Which axes of A, B and C are m, n and k: (A_m, A_k, B_k, B_n, C_m, C_n).

        Needs the tag ``tensorcore_config`` = [C_m, C_n]. The first call rewrites that tag: axes of extent 1 of the
        output are no space axes, so both numbers go down by their count, which goes into ``num_nvalid_regions``.
        """
        if self._tensorcore_axis is None:
            self._tensorcore_axis = self._find_tensorcore_axis()
        return self._tensorcore_axis

    # vendored: carver/roller/node.py:447-495
    def footprint(
        self, shape: Sequence[int], rstep: dict[str, int], stride_map: dict[str, Stride] | None = None
    ) -> tuple[int, list[str]]:
        """Bytes of shared memory that a tile needs, and the names of the buffers that are cached.

        Cached are the inputs of reductions and those the tile broadcasts. Each takes its region, rounded up to
        32 bytes; a buffer first cached for another block than the reduction takes nothing.
        """
        stride_map = {} if stride_map is None else stride_map
        total = 0
        cached: list[str] = []
        candidates, need_regions = self._footprint_candidates or self._cache_candidates()
        if not candidates:
            return total, cached
        extents = self._plain_extents(shape, rstep)
        regions = self._regions(shape, rstep) if extents is None or need_regions else None
        for candidate in candidates:
            name, positions = candidate.buffer, candidate.positions
            if name in cached:
                continue
            if not candidate.reduces and not candidate.is_broadcast(regions):
                continue
            cached.append(name)
            if candidate.is_after_reduction:
                # Memory that the reduction's inputs no longer need will do.
                continue
            if extents is not None and positions is not None:
                region = [extents[position] for position in positions]
            else:
                region = regions[name]
            if name in stride_map:
                elements = stride_map[name].compute_elements_from_shape(region)
            else:
                elements = shape_product(region)
            size = elements * candidate.element_bytes
            total += (size + 31) // 32 * 32
        return total, cached

    # vendored: carver/roller/node.py:497-498
    def get_input_buffers(self) -> list[Buffer]:
        """Raises AttributeError, as in carver, which asks the block analyzer for what it does not have."""
        raise NoInputBuffers("BlockAnalyzer has no attribute 'input_buffers'; take the node's own `input_buffers`")

    # -- Additions to the class: what the methods above keep, or do step by step -----------------------------------

    # Whether a subclass has a `propagate` of its own, or any method that the axes of tensor cores follow from: the
    # short ways below take them for those of this class. (A node has just as many attributes as Python keeps fast.)
    _has_own_propagate = False
    _has_own_axes = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._has_own_propagate = cls.propagate is not PrimFuncNode.propagate
        names = ("propagate", "propagate_reduction_inputs", "infer_tensorcore_axis")
        cls._has_own_axes = any(getattr(cls, name) is not getattr(PrimFuncNode, name) for name in names)

    def _find_space_dim(self) -> list[int]:
        dims = []
        if self.reduction_block:
            for axis in self.block_analyzer.get_spatial_axis(self.reduction_block):
                extent = axis.dom.extent
                if not isinstance(extent, (IntImm, Var)):
                    raise NodeError(f"the axis {axis.var.name} has an extent that is an expression: {extent}")
                dims.append(self.extent_wrapper(extent))
        else:
            # The loops of the one stage there is; any stage before it is taken to have the same shape.
            for loop in self.sch.get_loops(self.schedule_stages[0]):
                dims.append(self.sch.get(loop).extent)
        return [_constant(dim, self) for dim in dims]

    def _find_tensorcore_axis(self) -> tuple[int, ...]:
        config = self.get_tag("tensorcore_config")
        if not config:
            raise NodeError(f"the node {self.name!r} has no tag tensorcore_config")
        try:
            c_m, c_n = config
        except (TypeError, ValueError):
            raise CarverError(f"the tag tensorcore_config is two axes of the output, got {shown(config)}") from None
        # Any number does that is not an extent by chance: the axes are found by looking where it comes out again.
        probe = 16

        out_shape = self.sch.get(self.reduction_block).writes[0].buffer.shape
        used = [extent for extent in out_shape if _constant(extent, self) != 1]
        unused = len(out_shape) - len(used)
        self.set_tag("num_nvalid_regions", unused)

        space = self.get_space_dim()
        if len(used) != len(space):
            raise NodeError(f"the output's extents {used} do not match the space axes {space} of {self.name!r}")
        tile = [1] * len(space)
        for axis in (_axis_number(c_m) - unused, _axis_number(c_n) - unused):
            if not -len(space) <= axis < len(space):
                raise MissingPart(f"the tag tensorcore_config is {shown(config)}, {self.name!r} has {len(space)} axes")
            tile[axis] = probe
        self.set_tag("tensorcore_config", [c_m - unused, c_n - unused])
        a_region, b_region = self._two_reduction_inputs(tile, rstep=1)
        a_m = _first_axis(a_region, probe)
        b_n = _first_axis(b_region, probe)

        a_region, b_region = self._two_reduction_inputs([1] * len(space), rstep=probe)
        a_k = len(a_region) - 1 - _first_axis(a_region[::-1], probe)
        b_k = len(b_region) - 1 - _first_axis(b_region[::-1], probe)
        return (a_m, a_k, b_k, b_n, c_m, c_n)

    def _two_reduction_inputs(self, tile: list[int], rstep: int) -> tuple[list[int], list[int]]:
        regions = self.propagate_reduction_inputs(tile, {axis.var.name: rstep for axis in self.raxis})
        if len(regions) != 2:
            raise CarverError(f"the reduction of {self.name!r} must have two inputs, it has {list(regions)}")
        a_region, b_region = regions.values()
        return a_region, b_region

    def knows_tensorcore_axis(self) -> bool:
        """Whether `infer_tensorcore_axis` has its answer already, and no subclass would say otherwise."""
        return self._tensorcore_axis is not None and not self._has_own_axes

    def extents_of(self, buffer: Buffer) -> Sequence:
        """The buffer's shape, as ints where all of it is constant: these compare much faster than expressions."""
        return self._limits_of(buffer) or buffer.shape

    def elements_of(self, buffer: Buffer) -> int:
        """The elements of a buffer, as carver multiplies them: with the width of its extents, mostly 32 bits."""
        limits = self._limits_of(buffer)
        if limits is not None:
            elements = math.prod(limits)
            if elements < 2**31:
                return elements
        return int(shape_product(buffer.shape))

    def _limits_of(self, buffer: Buffer) -> tuple[int, ...] | None:
        try:
            return self._limits[buffer]
        except KeyError:
            limits = self._limits[buffer] = _constant_shape(buffer)
            return limits

    def _tiled_buffers(self) -> tuple[str, ...]:
        """The names of the buffers whose axes a tile bounds: what the tiled stages write."""
        if self._stage_names is None:
            outputs = [self.block_analyzer.get_output_buffers(stage)[0] for stage in self.schedule_stages]
            self._stage_names = tuple(dict.fromkeys(buffer.name for buffer in outputs))
        return self._stage_names

    def _regions(
        self, tile: Sequence[int], rstep: dict[str, int] | None, clips: list[Clip] | None = None
    ) -> Regions | OwnRegions:
        """``propagate`` for whatever is asked of the result; kept, where it takes time to work out."""
        if self._has_own_propagate:
            targets = None if clips is None else [clip.buffer.name for clip in clips]
            return OwnRegions(*self.propagate(tile, rstep or {}, targets))
        places = self._plainly_read().places
        if places.are_all_plain:
            extents = self._plain_extents(tile, rstep)
            if extents is not None:
                return Regions(places, extents, places.starts)
        if rstep and not hasattr(rstep, "items"):
            rstep = self.ana.steps_in(rstep)
        key = (*tile, None, *rstep.items()) if rstep else tuple(tile)
        regions = self._known_regions.get(key)
        if regions is None:
            if len(self._known_regions) >= KEPT_REGIONS:
                self._known_regions.clear()
            names, tile = self._tiled_buffers(), whole_extents(tile)
            regions = self._known_regions[key] = self.ana.regions(names, [tile] * len(names), rstep or {})
        return regions

    def _plain_extents(self, tile: Sequence[int], rstep: dict[str, int] | None) -> list[int] | None:
        """The extents of all variables: the tile's, then the reduction axes'. None for a tile that needs a closer look:
        of another rank than the output, not of ints, or with an extent that is 0, negative or huge."""
        reads = self._plain_reads or self._plainly_read()
        elements = math.prod(tile)
        if type(elements) is not int or not 0 < elements <= LARGEST_CONSTANT or len(tile) != reads.rank:
            return None
        return [*tile, *(self.ana.reduce_extents(rstep) if rstep else reads.reduce_extents)]

    def _reduction_inputs(self) -> list[Buffer]:
        """The buffers that the reduction block reads."""
        if self._reduction_buffers is None:
            self._reduction_buffers = self.block_analyzer.get_input_buffers(self.reduction_block)
        return self._reduction_buffers

    def _plainly_read(self) -> PlainReads:
        """What of clipping is the same for every tile."""
        if self._plain_reads is None:
            names = self._tiled_buffers()
            places = self.ana.places(names)
            # -1: there is no short way.
            rank = len(places.input_vars[0]) if len(names) == 1 and not self._has_own_propagate else -1
            inputs = [self._plain_read(places, buffer, buffer) for buffer in self.input_buffers]
            reduction_inputs, outputs = [], []
            if self.reduction_block:
                reduction_inputs = [self._plain_read(places, b, b, align_last=True) for b in self._reduction_inputs()]
            for i, buffer in enumerate(self.output_buffers):
                limit = self.input_buffers[i] if i < len(self.input_buffers) else None
                outputs.append(self._plain_read(places, buffer, limit))
            whole_reductions = self.ana.reduce_extents(None)
            are_small = all(clip.limits is not None and math.prod(clip.limits) < 2**31 for clip in outputs)
            self._plain_reads = PlainReads(
                places, rank, whole_reductions, inputs, reduction_inputs, outputs, are_small
            )
        return self._plain_reads

    def _plain_read(self, places: Places, buffer: Buffer, limit: Buffer | None, align_last: bool = False) -> Clip:
        """How to clip a buffer's region by the shape of another."""
        clip = Clip(buffer, limit, align_last)
        known = places.mapping.get(buffer.name)
        if limit is None or not known or None in known or self._has_own_propagate:
            # To be refused, or found out, when it is asked for.
            return clip
        rank, positions, limits = places.rank(buffer.name), places.plain(buffer.name), self._limits_of(limit)
        if limit is buffer and places.is_taken_from_between(buffer.name):
            # That of a stage in between stays as it is, however large.
            limits = (math.inf,) * rank
        if limits is None:
            return clip
        clip.limits = limits[len(limits) - rank :] if align_last and len(limits) > rank else limits
        if positions is not None:
            clip.pairs = list(zip(positions, clip.limits))
        return clip

    def _clipped(self, clips: list[Clip], tile: Sequence[int], rstep: dict[str, int] | None) -> list[list[Any]]:
        """Regions, no longer than some shape along each axis."""
        extents = self._plain_extents(tile, rstep)
        regions: Regions | OwnRegions | None = None
        results = []
        for clip in clips:
            pairs = clip.pairs
            if extents is not None and pairs is not None:
                results.append([extents[at] if extents[at] <= limit else limit for at, limit in pairs])
                continue
            if regions is None:
                regions = self._regions(tile, rstep, clips)
            results.append(self._clip(clip, regions))
        return results

    def _clip(self, clip: Clip, regions: Regions | OwnRegions) -> list[Any]:
        """A buffer's region, no longer than a shape along each axis, from the first axis on or up to the last."""
        region = _region_of(regions, clip.buffer)
        limit = clip.limit
        if limit is None:
            raise MissingPart(
                f"output {clip.buffer.name} of {self.name!r} has no input of the same index, "
                "whose shape carver would clip it by"
            )
        if clip.limits is not None:
            if region and max(region) > LARGEST_CONSTANT:
                if limit is not clip.buffer or not regions.is_taken_from_between(limit.name):
                    _check_constants(region, limit)
            return [extent if extent <= most else most for extent, most in zip(region, clip.limits)]
        if limit is clip.buffer and regions.is_taken_from_between(limit.name):
            return region
        # Variable extents: TVM's own comparison decides, and raises where it cannot.
        skipped = max(len(limit.shape) - len(region), 0) if clip.align_last else 0
        clipped = [min(pair) for pair in zip(region, limit.shape[skipped:])]
        return [self.extent_wrapper(extent) for extent in clipped] if limit is clip.buffer else clipped

    def _cache_candidates(self) -> tuple[list[CacheCandidate], bool]:
        """What of ``footprint`` is the same for every tile: each block with each of its inputs that may be cached, and
        whether any needs more of the regions than the extents of variables."""
        if self._footprint_candidates is None:
            # Names of blocks are new at each query, so of the traversal's set only the reduction itself, whose name
            # is kept, can ever be found again: all other blocks count as coming after it, its consumers too.
            self.reduce_dependent_blocks: set[SBlockRV] = set()
            if self.reduction_block:
                pre_order_traverse(self.block_analyzer, [self.reduction_block], self.reduce_dependent_blocks.add)
            candidates: list[CacheCandidate] = []
            places = self._plainly_read().places
            for block in self.blocks:
                is_after = bool(self.reduction_block) and block not in self.reduce_dependent_blocks
                output = self.block_analyzer.get_output_buffers(block)[0]
                reduces = self.block_analyzer.get_block_info(block).is_reduction()
                for buffer in self.block_analyzer.get_input_buffers(block):
                    may_broadcast = buffer in self.args and (
                        self._has_own_propagate or places.rank(output.name) > places.rank(buffer.name)
                    )
                    if reduces or may_broadcast:
                        size = (DataType(buffer.dtype).bits + 7) // 8
                        places.of(buffer.name)
                        positions = places.plain(buffer.name)
                        candidates.append(
                            CacheCandidate(
                                buffer.name, output.name, size, may_broadcast, reduces, is_after, positions
                            )
                        )
            need_regions = any(not c.reduces or c.positions is None for c in candidates)
            self._footprint_candidates = candidates, need_regions
        return self._footprint_candidates


# vendored: carver/roller/node.py:501-520
class OutputNode(Node):
    """An output of the graph: output ``id`` of a PrimFuncNode."""

    # vendored: carver/roller/node.py:502-514
    def __init__(self, node: PrimFuncNode, id: int = 0) -> None:
        super().__init__(name="OutputNode")
        if not isinstance(node, PrimFuncNode):
            raise NodeError(f"an OutputNode is connected to a PrimFuncNode, not to {shown(node)}")
        edge = Edge(node, self, id, 0)
        self._in_edges.append(edge)
        node._out_edges.append(edge)
        self.set_shape(node.get_shape(id))
        self.set_dtype(node.get_dtype(id))

    # vendored: carver/roller/node.py:516-517
    def is_output(self) -> bool:
        return True

    # vendored: carver/roller/node.py:519-520
    def get_ir(self) -> str:
        return "output"


# vendored: carver/roller/node.py:523-540
def topo_order(list_of_nodes: list[Node]) -> list[Node]:
    """The nodes and all that follow them, each after its inputs, breadth first.

    ``list_of_nodes`` holds the placeholders to start from and is extended by what is found. AssertionError where some
    node never becomes ready: an input is missing from the list, or there is a cycle.
    """
    missing = {node: len(node.inputs) for node in list_of_nodes}
    ready = [node for node in list_of_nodes if missing[node] == 0]
    ordered: list[Node] = []
    # Nodes become ready at the end of the list while it is walked.
    for node in ready:
        ordered.append(node)
        for edge in node.outputs:
            consumer = edge.dst_node
            if consumer not in missing:
                missing[consumer] = len(consumer.inputs)
                list_of_nodes.append(consumer)
            missing[consumer] -= 1
            if missing[consumer] < 0:
                raise NodeError(f"{consumer!r} is fed by more edges than it has inputs")
            if missing[consumer] == 0:
                ready.append(consumer)
    if len(ordered) != len(list_of_nodes):
        waiting = [node for node in list_of_nodes if missing[node] > 0]
        raise NodeError(f"never ready, for want of an input or for a cycle: {waiting}")
    return ordered


# vendored: carver/roller/node.py:543-573
# NOTE: does not raise Python's recursion limit for the whole process, as the vendored one does.
def find_topo_sort_priority(output_node_list: Iterable[Node]) -> list[Node]:
    """The nodes behind the outputs, each after its inputs, the inputs with the longest way to a placeholder first."""
    layer: dict[Node, int] = {}

    def find_layer(node: Node) -> None:
        if node in layer:
            return
        layer[node] = 0
        for edge in node.inputs:
            find_layer(edge.src_node)
            layer[node] = max(layer[node], layer[edge.src_node] + 1)

    for output in output_node_list:
        find_layer(output)

    ordered: list[Node] = []
    visited: set[Node] = set()

    def visit(node: Node) -> None:
        if node in visited:
            return
        visited.add(node)
        sources = [edge.src_node for edge in node.inputs]
        for source in sorted(sources, key=layer.__getitem__, reverse=True):
            visit(source)
        ordered.append(node)

    for output in output_node_list:
        visit(output)
    return ordered


# vendored: carver/roller/node.py:576-589
# NOTE: a cycle raises a CarverError that shows it; the vendored one returns an order in which inputs come later.
def find_topo_sort(output_node_list: Iterable[Node]) -> list[Node]:
    """The nodes behind the outputs, each after its inputs, depth first."""
    ordered: list[Node] = []
    done: dict[Node, bool] = {}

    def visit(node: Node) -> None:
        if not hasattr(node, "inputs"):
            raise NodeError(f"among the nodes of the graph is {shown(node)}, which is none")
        if node in done:
            if not done[node]:
                raise CarverError(_describe_cycle(output_node_list))
            return
        done[node] = False
        for edge in node.inputs:
            if not hasattr(edge, "src_node"):
                raise NodeError(f"among the inputs of {node!r} is {shown(edge)}, which is no Edge")
            visit(edge.src_node)
        done[node] = True
        ordered.append(node)

    for output in output_node_list:
        visit(output)
    return ordered


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


class NodeError(CarverError, AssertionError):
    """A graph or a function that carver's assertions refuse."""


class NotAFunction(CarverError, AttributeError):
    """A node of something else than a function, or with something else than tags."""


class MissingPart(CarverError, IndexError):
    """A shape has fewer axes, or a function fewer buffers, than carver takes for granted."""


class NotAConstant(CarverError, AttributeError, TypeError):
    """An extent is not an integer constant."""


class NoNormalForm(CarverError, TypeError):
    """The function cannot be brought to the form that the analysis needs."""


class NotOneOutput(CarverError, TypeError):
    """A function without a reduction has no output block, or several."""


class NoInputBuffers(CarverError, AttributeError):
    """What carver asks the block analyzer for is not there."""


class TooLarge(CarverError, OverflowError):
    """An extent beyond 64 bits."""


class NoText(CarverError, NotImplementedError):
    """A node has no text."""


class NoRegion(CarverError, KeyError):
    """The region inference has no answer for a buffer."""


@dataclass
class Clip:
    """A buffer whose region is clipped by the shape of ``limit``, None if there is no such buffer.

    ``limits`` are the greatest extents, where they are constant. ``pairs`` has them with the positions of variables,
    where every index is a variable.
    """

    buffer: Buffer
    limit: Buffer | None
    align_last: bool = False
    limits: Sequence[float] | None = None
    pairs: list[tuple[int, float]] | None = None


@dataclass
class PlainReads:
    """What of a node's regions is the same for all tiles.

    ``rank`` is that of the tiled output, -1 for several; ``reduce_extents`` those of whole reductions;
    ``are_outputs_small`` whether no clipped output has as many elements as a 32 bit product cannot hold.
    """

    places: Places
    rank: int
    reduce_extents: list[int]
    inputs: list[Clip]
    reduction_inputs: list[Clip]
    outputs: list[Clip]
    are_outputs_small: bool


@dataclass(frozen=True)
class CacheCandidate:
    """A block's input that ``footprint`` may cache. ``element_bytes`` is the size of one element.

    ``may_broadcast`` is for arguments that are read along fewer axes than the block writes. ``positions`` are those of
    the variables that the buffer is indexed by, None where an index is anything else.
    """

    buffer: str
    output: str
    element_bytes: int
    may_broadcast: bool
    reduces: bool
    is_after_reduction: bool
    positions: list[int] | None

    def is_broadcast(self, shapes: dict[str, list[int]]) -> bool:
        """Whether the block reads fewer elements of an argument than it writes, along fewer axes."""
        if not self.may_broadcast:
            return False
        written, read = shapes[self.output], shapes[self.buffer]
        return len(written) > len(read) and bool(shape_product(written) > shape_product(read))


class OwnRegions(dict):
    """What a subclass's ``propagate`` answers: extents by buffer, and which buffers it says are taken from between."""

    def __init__(self, extents: dict[str, list[int]], taken_from_between: Container[str]) -> None:
        super().__init__(extents)
        self._taken_from_between = taken_from_between

    def is_taken_from_between(self, name: str) -> bool:
        return name in self._taken_from_between


# How many tiles' regions a node keeps. The search does not come back to a tile, and filling memory takes longer than
# working regions out again.
KEPT_REGIONS = 256

# No constant of TVM is larger, and carver compares extents as constants.
LARGEST_CONSTANT = 2**63 - 1

# Below this, a product of extents times bytes or bits stays far from 2**63.
EXACT_PRODUCT = 2**40


def shape_product(shape: Sequence) -> Any:
    """The product of extents, as ``numpy.prod`` gives it.

    Small positive products are plain ints, which behave alike and are faster; no extents give 1.0. For the rest numpy
    itself is asked, as its results differ from Python's: products wrap around at 64 bits, those of expressions
    (IntImm) at their own width.
    """
    product = math.prod(shape)
    if type(product) is int and 0 < product < EXACT_PRODUCT:
        return product if product != 1 or len(shape) else 1.0
    import numpy

    return numpy.prod(shape)


def whole_extents(extents: Iterable[int]) -> list[int]:
    """Extents, which may be numpy's, as ints. NotAConstant, a TypeError, for a float, an expression or the like."""
    try:
        if any(isinstance(extent, PrimExpr) for extent in extents):
            raise TypeError
        return [extent if type(extent) is int else operator.index(extent) for extent in extents]
    except TypeError:
        raise NotAConstant(f"the extents of a tile are integers, not {shown(extents)}") from None


def node_graph(output_nodes: Iterable[Node]) -> networkx.MultiDiGraph:
    """The graph behind the outputs: Nodes, and an edge with ``src_id`` and ``dst_id`` for every Edge.

    Nodes and edges are in the order of a depth-first walk from the outputs.
    """
    import networkx

    graph = networkx.MultiDiGraph()
    visited: set[Node] = set()

    def visit(node: Node) -> None:
        if node in visited:
            return
        visited.add(node)
        for edge in node.inputs:
            visit(edge.src_node)
        graph.add_node(node)

    outputs = list(output_nodes)
    for output in outputs:
        visit(output)
    for node in list(graph):
        for edge in node.inputs:
            graph.add_edge(edge.src_node, node, src_id=edge.src_id, dst_id=edge.dst_id)
    return graph


def _describe_cycle(output_nodes: Iterable[Node]) -> str:
    import networkx

    cycle = networkx.find_cycle(node_graph(output_nodes))
    names = [edge[0].name for edge in cycle]
    return f"the graph has a cycle: {' -> '.join([*names, names[0]])}"


def _check_edge_id(node: Node, kind: str, i: int, edges: Sequence[Edge]) -> None:
    if i >= len(edges):
        raise NodeError(f"{node!r} has {len(edges)} {kind} edges, so none with index {i} to replace")


def _grow(values: list, id: int) -> None:
    values.extend([None] * (id + 1 - len(values)))


def _set_dtype(node: Node, dtype: DataType, id: int) -> None:
    if not isinstance(dtype, DataType):
        raise NodeError(f"a node's dtype is a DataType, not a {type(dtype).__name__}")
    if dtype == "bool":
        dtype = DataType("int8")
    _grow(node._dtypes, id)
    said = node._dtypes[id]
    if said is not None and said != dtype:
        raise NodeError(f"output {id} of {node!r} is {said}, it cannot be {dtype} too")
    node._dtypes[id] = dtype


def _constant(extent: Any, node: Node) -> int:
    if isinstance(extent, PrimExpr) and not isinstance(extent, IntImm):
        raise NotAConstant(
            f"{node!r} has the extent {extent}, which is not a constant: give its value in opt_shapes "
            "and make the variable a parameter of the function"
        )
    return int(extent)


def _check_constants(region: list[int], buffer: Buffer) -> None:
    """CarverError where an extent that is compared with the buffer's is larger than any constant."""
    for extent, _ in zip(region, buffer.shape):
        if extent > LARGEST_CONSTANT:
            raise TooLarge(f"the region of {buffer.name!r} has an extent of {extent}, and the largest is 2**63 - 1")


def _no_output(node: Node, values: list, id: Any) -> MissingPart:
    return MissingPart(f"{node!r} has {len(values)} outputs, so none with index {shown(id)}")


def _axis_number(axis: Any) -> int:
    try:
        return operator.index(axis)
    except TypeError:
        raise CarverError(f"the tag tensorcore_config is two axes of the output, one is {shown(axis)}") from None


def _constant_shape(buffer: Buffer) -> tuple[int, ...] | None:
    """The buffer's extents, None if any is not constant."""
    if all(isinstance(extent, IntImm) for extent in buffer.shape):
        return tuple(extent.value for extent in buffer.shape)
    return None


def _region_of(regions: Regions, buffer: Buffer) -> list[int]:
    try:
        return regions[buffer.name]
    except KeyError:
        raise NoRegion(f"no stage reads or writes the parameter {buffer.name!r}, so no tile touches it") from None


def _first_axis(region: list[int], extent: int) -> int:
    if extent not in region:
        raise CarverError(f"no axis of the region {region} has the extent {extent}, so it cannot be a matrix's axis")
    return region.index(extent)
