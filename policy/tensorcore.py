"""The policy for tensor cores. The port of ``carver/roller/policy/tensorcore.py``.

What differs from :class:`DefaultPolicy`: reduction steps suit whole instructions and transactions, tiles must divide
the output, and a tile is split into warps of whole instructions instead of threads. Nodes without the tag
``tensorcore_config`` are treated as on CUDA cores.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

from ..arch import is_cuda_arch, is_rdna_arch
from ..arch.errors import CarverError, shown
from ..roller.hint import Hint, IntrinInfo, Stride, TileDict
from ..roller.node import PrimFuncNode, shape_product
from ..roller.rasterization import NoRasterization, Rasterization, Rasterization2DColumn
from ..roller.tir.dtypes import DataType
from .common import NoTransaction, coalesced_factor, factorize, get_all_factors
from .default import DefaultPolicy, NoExtent, _positions_of, _steps_at, _time_to_read

if TYPE_CHECKING:
    from ..roller.tir.stmt import PrimFunc

logger = logging.getLogger(__name__)


# vendored: carver/roller/policy/tensorcore.py:17-362
class TensorCorePolicy(DefaultPolicy):
    """Tiles for tensor cores (wmma and mma), or RDNA's matrix units.

    ``wmma_k`` is the reduction extent of an instruction: 16, although int8 takes 32. ``pipeline_stage``,
    ``use_async_copy`` and ``block_reduction_depth`` are set from the function's tags and the device when the policy
    is made for a function; for a graph they stay as here.
    """

    wmma_k: int = 16
    pipeline_stage: int = 1
    use_async_copy: bool = False
    block_reduction_depth: int | None = None

    # vendored: carver/roller/policy/tensorcore.py:25-28
    def _init_with_prim_func(self, func: PrimFunc, name: str | None = None) -> TensorCorePolicy:
        super()._init_with_prim_func(func, name)
        self._legalize_info()
        return self

    # vendored: carver/roller/policy/tensorcore.py:30-53
    def _legalize_info(self) -> None:
        """Set the stages of the pipeline, asynchronous copies and block reduction: by tag, else by device."""
        node, arch = self.prim_func_node, self.arch
        has_async_copy = is_cuda_arch(arch) and arch.sm_version in {80, 90}

        stage = node.get_tag("pipeline_stage")
        if not stage:
            if is_rdna_arch(arch):
                stage = arch.tuning.pipeline_stage
            else:
                stage = 2 if has_async_copy else 1
        self.pipeline_stage = stage

        use_async_copy = node.get_tag("use_async_copy")
        self.use_async_copy = has_async_copy if use_async_copy is None else use_async_copy

        depth = node.get_tag("block_reduction_depth")
        if depth:
            self.block_reduction_depth = depth

    # vendored: carver/roller/policy/tensorcore.py:55-79
    def _compute_tc_strides(
        self, node: PrimFuncNode, tile: list[int], rstep: dict[str, int] | None = None
    ) -> tuple[Stride, Stride, Stride]:
        """Paddings of A, B and C in shared memory that avoid bank conflicts where no layout does: 8 elements."""
        shapes = node.propagate_reduction_inputs(tile, rstep)
        if len(shapes) != 2:
            raise CarverError(f"a reduction for tensor cores has two inputs, that of {node!r} has {list(shapes)}")
        a_shape, b_shape = shapes.values()
        a_m, a_k, b_k, b_n, c_m, c_n = node.infer_tensorcore_axis()

        offset = 8
        outer_axes = ((a_shape, min(a_m, a_k)), (b_shape, min(b_n, b_k)), (tile, min(c_m, c_n)))
        a_stride, b_stride, c_stride = (
            Stride(stride=shape_product(shape[axis + 1 :]) + offset, ax=axis) for shape, axis in outer_axes
        )
        return a_stride, b_stride, c_stride

    # vendored: carver/roller/policy/tensorcore.py:81-84
    def infer_node_smem_usage(self, td: TileDict, node: PrimFuncNode) -> tuple[int, list[str]]:
        """Bytes of shared memory that a node caches for a tile, in all stages of the pipeline, and what it caches."""
        size, cached_tensors = super().infer_node_smem_usage(td, node)
        return size * self.pipeline_stage, cached_tensors

    # vendored: carver/roller/policy/tensorcore.py:86-109
    def _assign_reduce_step(self, node: PrimFuncNode) -> dict[str, int]:
        """The step of each reduction axis: two transactions of the first input's elements, where that divides."""
        if not node.get_tag("tensorcore_config"):
            return super()._assign_reduce_step(node)
        transaction_bytes = self.arch.transaction_size[0] * 2
        first_input = node.block_analyzer.get_input_buffers(node.reduction_block)[0]
        bits = node.get_buffer_dtype(first_input).bits
        basic = transaction_bytes * 8 // bits
        if is_rdna_arch(self.arch):
            rdna_basic = self.arch.tuning.reduction_step_for_dtype_bits(bits)
            basic = basic if rdna_basic is None else rdna_basic

        rstep = {}
        for axis in node.raxis:
            extent = int(axis.dom.extent)
            if extent % 16 > 0:
                # Such an axis is padded.
                rstep[axis.var.name] = 16 if extent < basic else basic
            elif basic == 0:
                raise NoTransaction("the device's transaction_size is smaller than half an element")
            elif not hasattr(basic, "__index__"):
                # Carver divides an expression by it, which takes integers.
                size = shown(self.arch.transaction_size)
                raise CarverError(f"transaction_size must be integers for tensor cores, got {size}")
            elif extent % basic == 0:
                rstep[axis.var.name] = basic
            else:
                return super()._assign_reduce_step(node)
        return rstep

    # vendored: carver/roller/policy/tensorcore.py:111-204
    def _expand_reduce_axis(self, td: TileDict) -> None:
        """Grow the reduction steps of a small tile, to have enough work between synchronisations, in place.

        Small is a tile with an extent of 32 or less. The pipeline's stages are not counted while growing, and what
        comes out is not checked against the shared memory again.
        """
        if is_rdna_arch(self.arch):
            # Wide tiles fit only with small steps there: these start small and grow while there is room.
            return super()._expand_reduce_axis(td)

        is_small = any(extent <= 32 for node in self.ordered_nodes for extent in td.get_tile(node))
        if is_small:
            smem_limit = min(self.arch.max_smem_usage // td.block_per_SM, self.arch.smem_cap)
            rstep_map = td.rstep_map.copy()

            def optimize(node: PrimFuncNode, rstep: dict[str, int]) -> dict[str, int]:
                all_steps = self._multiples_of_rstep(node, rstep)
                if any(steps == [] for steps in all_steps.values()):
                    return rstep

                def score(rstep: dict[str, int]) -> int:
                    regions = node.propagate_inputs_on_reduction(td.get_tile(node), rstep=rstep)
                    buffers = node._reduction_inputs()
                    return sum(coalesced_factor(r, node.extents_of(buffer)) for r, buffer in zip(regions, buffers))

                positions = _positions_of(node, rstep, all_steps)
                while True:
                    grown = self._enlarge(positions, all_steps, score)
                    if grown is None:
                        break
                    trial = _steps_at(all_steps, grown)
                    # Of the whole output's tile, whichever node this is, as in carver.
                    smem_usage, _ = node.footprint(td.output_tile, trial, td.tensor_strides_map[node])
                    if smem_usage > smem_limit:
                        break
                    positions = grown
                return _steps_at(all_steps, positions)

            for node in self.ordered_nodes:
                if node.raxis:
                    rstep_map[node] = optimize(node, rstep_map[node])
            td.rstep_map = rstep_map
            td.smem_cost, td.cached_tensors_map = self._compute_shared_memory_usage(td)

        if self.block_reduction_depth is not None and any(node.raxis for node in self.ordered_nodes):
            raise DepthTimesMap(
                f"block_reduction_depth={self.block_reduction_depth} cannot be used: carver multiplies by it the steps "
                "of all nodes, which are dicts; leave the tag out"
            )

    # vendored: carver/roller/policy/tensorcore.py:206-211
    def get_node_reduce_step_candidates(self, node: PrimFuncNode) -> dict[str, list[int]]:
        """The steps to try for each reduction axis: those that make whole instructions."""
        if not node.get_tag("tensorcore_config"):
            return super().get_node_reduce_step_candidates(node)
        candidates = {}
        for axis in node.raxis:
            instructions = int(axis.dom.extent) // self.wmma_k
            candidates[axis.var.name] = [self.wmma_k * count for count in get_all_factors(instructions)]
        return candidates

    # vendored: carver/roller/policy/tensorcore.py:213-227
    def check_tile_shape_isvalid(self, td: TileDict) -> bool:
        """Besides: whether a tile holds an instruction and divides the node's extents."""
        for node in self.ordered_nodes:
            config = node.get_tag("tensorcore_config")
            if not config:
                continue
            tile = td.tile_map[node]
            block_m, block_n = tile[config[0]], tile[config[1]]
            instructions = self.arch.get_avaliable_tensorintrin_shapes()
            if not any(block_m >= m and block_n >= n for m, n in instructions):
                return False
            space = node.get_space_dim()
            if 0 in tile[: len(space)]:
                raise NoExtent(f"the tile {tile} of {node.name!r} has no elements: another output is much smaller")
            if any(extent % step for step, extent in zip(tile, space)):
                return False
        return super().check_tile_shape_isvalid(td)

    # vendored: carver/roller/policy/tensorcore.py:229-235
    def score_block_size(self, n: int) -> tuple[float, ...]:
        """How bad ``n`` threads per block are, less is better; on RDNA first of all other than the preferred warps."""
        base_score = super().score_block_size(n)
        if not is_rdna_arch(self.arch):
            return base_score
        warps = (n + self.arch.warp_size - 1) // self.arch.warp_size
        distance = abs(warps - self.arch.tuning.preferred_warps_per_block)
        return (int(distance != 0), distance, *base_score)

    # vendored: carver/roller/policy/tensorcore.py:237-241
    def _can_implement_layout(self, node: PrimFuncNode, td: TileDict) -> bool:
        """Whether a swizzled layout is possible for the tile. Carver does not know yet: never."""
        return False

    # vendored: carver/roller/policy/tensorcore.py:243-260
    def compute_node_stride_map(
        self, node: PrimFuncNode, td: TileDict
    ) -> tuple[dict[int, Stride], dict[str, Stride]]:
        """Paddings of a node's outputs and of what it caches: none, but the node is looked at as if there were."""
        if not node.get_tag("tensorcore_config"):
            return super().compute_node_stride_map(node, td)
        self._can_implement_layout(node, td)
        # Carver works the paddings out each time and drops them. What stays is that the axes are looked for, which
        # rewrites the node's tags the first time, if the reduction has two inputs. A subclass is asked each time.
        if self._has_own_strides or not node.knows_tensorcore_axis():
            self._compute_tc_strides(node, td.get_tile(node), td.get_rstep(node))
            self._compute_tc_strides(node, td.get_tile(node))
        return self._no_padding(node), {}

    # vendored: carver/roller/policy/tensorcore.py:262-340
    def _assign_block_size(self, node: PrimFuncNode, td: TileDict, block_size: int) -> Hint | None:
        """The hint of a node for a number of threads per block: its warps share the tile, in whole instructions.

        None where the warps do not come out even. What is over per warp goes to the axes by prime factors, the
        largest first, each to the axis where a warp then reads least.
        """
        config = node.get_tag("tensorcore_config")
        if not config:
            return super()._assign_block_size(node, td, block_size)
        ax_m, ax_n = config
        warps, threads_over = divmod(block_size, self.arch.warp_size)
        if threads_over != 0:
            return None
        tile, rsteps = td.get_tile(node), td.get_rstep(node)
        ndim = len(tile)

        wmma_tile = [1] * ndim
        wmma_tile[ax_m], wmma_tile[ax_n] = self.arch.get_avaliable_tensorintrin_shapes()[-1]
        if tile[ax_m] < wmma_tile[ax_m] or tile[ax_n] < wmma_tile[ax_n]:
            return None
        # Rounded down: a tile need not be a multiple of the instruction's.
        instructions = int(shape_product([extent // step for extent, step in zip(tile, wmma_tile)]))
        if instructions < warps or instructions % warps != 0:
            return None

        def score(warp_tile: list[int]) -> float:
            # Time for a warp to read its operands from shared memory; less is better.
            return _time_to_read(node.propagate_inputs_on_reduction(warp_tile), self.arch.bandwidth[1])

        warp_tile = wmma_tile.copy()
        for factor in reversed(factorize(instructions // warps)):
            best: tuple[float, int] | None = None
            for i in range(ndim):
                more = warp_tile[i] * factor
                if tile[i] % more != 0:
                    continue
                candidate = (score([*warp_tile[:i], more, *warp_tile[i + 1 :]]), i)
                if best is None or candidate < best:
                    best = candidate
            if best is None:
                return None
            warp_tile[best[1]] *= factor

        hint = Hint()
        hint.block = tile
        hint.warp = warp_tile
        hint.use_tc = True
        hint.pipeline_stage = self.pipeline_stage
        hint.block_reduction_depth = self.block_reduction_depth
        hint.use_async = self.use_async_copy
        hint.rstep = [int(rsteps[axis.var.name]) for axis in node.raxis]
        hint.cached_tensors = td.cached_tensors_map[node]
        hint.rasterization_plan = self.plan_rasterization(td)

        intrin_info = node.get_tag("intrin_info")
        if intrin_info:
            hint.intrin_info = self._instruction(intrin_info)
        # Carver thinks about static shared memory first, but always ends here.
        hint.shared_scope = "shared.dyn"
        hint.complete_config(node)
        hint.vectorize = self._plan_vectorize(node, td, block_size)
        hint.arch = self.arch
        hint.opt_shapes = node.get_tag("opt_shapes")
        return hint.tensorcore_legalization()

    # vendored: carver/roller/policy/tensorcore.py:342-362
    def plan_rasterization(self, td: TileDict) -> Rasterization:
        """The order of the thread blocks: in columns of panels, except where that cannot help.

        As they come for graphs of several nodes, on CUDA devices before sm_80, and where all inputs fit in L2.
        """
        is_graph = len(self.ordered_nodes) > 1
        is_old = is_cuda_arch(self.arch) and self.arch.sm_version < 80
        # Read in any case, as in carver: a device that does not say its L2 is refused.
        l2_bytes = self.arch.l2_cache_size_bytes
        if is_graph or is_old or self._input_bytes() < l2_bytes:
            return NoRasterization()
        return Rasterization2DColumn(int(self.arch.compute_max_core**0.5))

    # -- Additions to the class ----------------------------------------------------------------------------------------

    # Whether a subclass has a `_compute_tc_strides` of its own.
    _has_own_strides = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._has_own_strides = cls._compute_tc_strides is not TensorCorePolicy._compute_tc_strides

    def _check_graph(self) -> None:
        super()._check_graph()
        if not _is_number(self.pipeline_stage):
            raise NoStages(f"pipeline_stage is a number of stages, got {shown(self.pipeline_stage)}")

    def _instruction(self, intrin_info: dict) -> IntrinInfo:
        try:
            return IntrinInfo(**intrin_info)
        except TypeError:
            fields = "in_dtype, out_dtype, trans_b, input_transform_kind and weight_transform_kind"
            raise NoInstruction(f"the tag intrin_info is a dictionary of {fields}, got {shown(intrin_info)}") from None

    def _input_bytes(self) -> int:
        total = 0
        for node in self.ordered_nodes:
            for buffer in node.input_buffers:
                total += node.elements_of(buffer) * DataType(buffer.dtype).bits // 8
        return total


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    """Whether memory can be multiplied by it: an int or a float, numpy's or a constant expression."""
    try:
        return not isinstance(value, str) and math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


class NoStages(CarverError, TypeError):
    """Stages of a pipeline that are no number."""


class NoInstruction(CarverError, TypeError):
    """The tag of an instruction does not describe one."""


class DepthTimesMap(CarverError, TypeError):
    """A multiplication that carver cannot do."""
