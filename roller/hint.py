"""Hints, what carver recommends, and tiles, what it knows on the way there. The port of ``carver/roller/hint.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..arch.errors import CarverError, shown
from .node import NodeError, PrimFuncNode, shape_product
from .rasterization import (  # noqa: F401  (all are the vendored module's names too)
    NoRasterization,
    Rasterization,
    Rasterization2DColumn,
    Rasterization2DRow,
)
from .tir.dtypes import DataType

if TYPE_CHECKING:
    from ..arch import TileDevice


# vendored: carver/roller/hint.py:9-26
class TensorCoreExtraConfig:
    """Shapes of A and B in shared memory (S) and in fragments (F), and the axes of m, n and k."""

    # vendored: carver/roller/hint.py:14-26
    def __init__(
        self,
        AS_shape: tuple[int, ...],
        BS_shape: tuple[int, ...],
        AF_shape: tuple[int, ...],
        BF_shape: tuple[int, ...],
        tc_axis: tuple[int, ...],
    ) -> None:
        self.AS_shape, self.BS_shape = AS_shape, BS_shape
        self.AF_shape, self.BF_shape = AF_shape, BF_shape
        self.tc_axis = tc_axis


# vendored: carver/roller/hint.py:29-72
class Stride:
    """Padding of a tensor in shared memory: axis ``ax`` has the given stride, in elements. No padding if ``ax`` < 0."""

    # vendored: carver/roller/hint.py:34-38
    def __init__(self, stride: int = 1, ax: int = -1) -> None:
        self._ax = int(ax)
        self._stride = int(stride)

    # vendored: carver/roller/hint.py:40-42
    @property
    def ax(self) -> int:
        return self._ax

    # vendored: carver/roller/hint.py:44-46
    @property
    def stride(self) -> int:
        return self._stride

    # vendored: carver/roller/hint.py:48-56
    def compute_strides_from_shape(self, shape: Sequence[int]) -> list[int]:
        """The stride of each axis in row-major order, in elements, with the padded one put in."""
        strides = [1] * len(shape)
        for axis in reversed(range(len(shape) - 1)):
            packed = int(strides[axis + 1] * shape[axis + 1])
            strides[axis] = self.stride if axis == self.ax else packed
        return strides

    # vendored: carver/roller/hint.py:58-66
    def compute_elements_from_shape(self, shape: Sequence[int]) -> int:
        """The elements that a tensor takes up, padding included."""
        packed = shape_product(shape)
        if not self.is_valid():
            return int(packed)
        if self.ax >= len(shape):
            raise NodeError(f"a stride on axis {self.ax} does not fit the shape {list(shape)}")
        padded = shape_product(shape[: self.ax + 1]) * self.stride
        if padded < packed:
            raise NodeError(f"the stride {self.stride} on axis {self.ax} is too small for the shape {list(shape)}")
        return int(padded)

    # vendored: carver/roller/hint.py:68-69
    def is_valid(self) -> bool:
        """Whether there is any padding."""
        return self.ax >= 0

    # vendored: carver/roller/hint.py:71-72
    def __repr__(self) -> str:
        return f"<Stride, {self._ax}, {self._stride}>"


# vendored: carver/roller/hint.py:75-104
class TileDict:
    """A tile of the output and all that its cost is made of.

    ``output_tile`` is in elements per space axis. By node: ``tile_map`` its tile, ``rstep_map`` the steps of its
    reduction axes, ``cached_tensors_map`` the names of what it caches, ``output_strides_map`` and
    ``tensor_strides_map`` paddings. ``traffic`` and ``smem_cost`` are bytes; ``grid_size`` thread blocks;
    ``block_per_SM`` of them run at once on a multiprocessor, so all are done in ``num_wave`` waves. -1 is unknown:
    a tile with ``valid`` False was given up before.
    """

    # vendored: carver/roller/hint.py:80-95
    def __init__(self, output_tile: list[int]) -> None:
        self.output_tile = output_tile
        self.tile_map: dict[Any, list[int]] = {}
        self.rstep_map: dict[Any, dict[str, int]] = {}
        self.cached_tensors_map: dict[Any, list[str]] = {}
        self.output_strides_map: dict[Any, dict[int, Stride]] = {}
        self.tensor_strides_map: dict[Any, dict[str, Stride]] = {}

        self.traffic: float = -1
        self.smem_cost: int = -1
        self.block_per_SM: int = -1
        self.num_wave: int = -1
        self.grid_size: int = -1
        self.valid = True

    # vendored: carver/roller/hint.py:97-98
    def get_tile(self, func: Any) -> list[int]:
        """The tile of a node."""
        return self.tile_map[func]

    # vendored: carver/roller/hint.py:100-101
    def get_rstep(self, node: Any) -> dict[str, int]:
        """The steps of a node's reduction axes, by name of variable."""
        return self.rstep_map[node]

    # vendored: carver/roller/hint.py:103-104
    def __hash__(self) -> int:
        return hash(tuple(self.output_tile))

    # -- Addition to the class -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        figures = f"tile={list(self.output_tile)} traffic={self.traffic} smem={self.smem_cost}"
        if not self.valid:
            # The grid is only counted once the shared memory has passed.
            reason = "shared memory" if self.grid_size == -1 else "registers"
            return f"<TileDict {figures} invalid: too much of {reason}>"
        if self.num_wave == -1:
            return f"<TileDict {figures} not priced yet>"
        prio = (self.traffic + 1) * self.num_wave
        return f"<TileDict {figures} blocks/SM={self.block_per_SM} waves={self.num_wave} prio={prio}>"


# vendored: carver/roller/hint.py:107-151
class IntrinInfo:
    """The matrix instruction to use: its dtypes, whether B is transposed, and how the operands are laid out.

    A transform kind of 1 or more lays the operand out within a warp's tile, 2 or more also outside of it.
    """

    # vendored: carver/roller/hint.py:112-125
    def __init__(
        self,
        in_dtype: str,
        out_dtype: str,
        trans_b: bool,
        input_transform_kind: int = 0,
        weight_transform_kind: int = 0,
    ) -> None:
        self.in_dtype, self.out_dtype = in_dtype, out_dtype
        # A is never transposed: its reduction axis comes last in all that reaches here.
        self.trans_a, self.trans_b = False, trans_b
        self.input_transform_kind = input_transform_kind
        self.weight_transform_kind = weight_transform_kind

    # vendored: carver/roller/hint.py:127-132
    def __repr__(self) -> str:
        names = ("in_dtype", "out_dtype", "trans_b", "input_transform_kind", "weight_transform_kind")
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in names)
        return f"<IntrinInfo, {fields}>"

    # vendored: carver/roller/hint.py:134-135
    def is_input_8bit(self) -> bool:
        return DataType(self.in_dtype).bits == 8

    # vendored: carver/roller/hint.py:137-139
    @property
    def smooth_a(self) -> bool:
        return self.input_transform_kind >= 2

    # vendored: carver/roller/hint.py:141-143
    @property
    def smooth_b(self) -> bool:
        return self.weight_transform_kind >= 2

    # vendored: carver/roller/hint.py:145-147
    @property
    def inter_transform_a(self) -> bool:
        return self.input_transform_kind >= 1

    # vendored: carver/roller/hint.py:149-151
    @property
    def inter_transform_b(self) -> bool:
        return self.weight_transform_kind >= 1


# vendored: carver/roller/hint.py:154-262
class Hint:
    """A recommendation for one function.

    ``block`` is the tile of a thread block; on CUDA cores ``thread`` is the number of threads along each axis, on
    tensor cores (``use_tc``) ``warp`` the tile of a warp. ``rstep`` and ``reduce_thread`` go with the reduction axes.
    ``vectorize`` gives the width of vector loads by tensor, in elements; ``cached_tensors`` what to put into shared
    memory; ``rasterization_plan`` the order of the blocks.
    """

    # vendored: carver/roller/hint.py:159-191
    def __init__(self) -> None:
        self.arch: TileDevice | None = None
        self.use_tc: bool | None = None

        # Tiles of the space axes, then of the reduction axes.
        self.block: list[int] = []
        self.thread: list[int] = []
        self.warp: list[int] = []
        self.rstep: list[int] = []
        self.reduce_thread: list[int] = []

        self.rasterization_plan: Rasterization = NoRasterization()
        self.cached_tensors: list[str] = []
        self.output_strides: dict[int, Stride] = {}
        self.schedule_stages: list | None = None
        self.block_reduction_depth: int | None = None
        # TileLang's own: several blocks share one reduction when there are more multiprocessors than tiles.
        self.split_k_factor: int = 1

        self._raxis_order: list[int] = []
        self._step: list[int] = []
        self.vectorize: dict[str, int] = {}
        self.pipeline_stage = 1
        self.use_async = False
        self.opt_shapes: dict[str, int] | None = {}
        self.intrin_info = IntrinInfo("float16", "float16", True)
        self.shared_scope: str = "shared"
        self.pass_context: dict[str, Any] = {}

    # vendored: carver/roller/hint.py:193-222
    def to_dict(self) -> dict[str, Any]:
        """What differs from a hint that says nothing, and always the tile and the reduction steps."""
        strides = {axis: stride for axis, stride in (self.output_strides or {}).items() if stride.is_valid()}
        on_tensor_cores = bool(self.use_tc)
        entries = [
            ("block", self.block, True),
            ("warp", self.warp, on_tensor_cores),
            ("thread", self.thread, not on_tensor_cores),
            ("rstep", self.rstep, True),
            ("reduce_thread", self.reduce_thread, _are_several(self.reduce_thread)),
            ("use_tc", self.use_tc, on_tensor_cores),
            ("strides", strides, len(strides) > 0),
            ("step", self._step, _are_several(self._step)),
            ("raxis_order", self._raxis_order, self._raxis_order != []),
            ("vectorize", self.vectorize, self.vectorize != {}),
            ("pipeline_stage", self.pipeline_stage, self.pipeline_stage != 1),
            ("block_reduction_depth", self.block_reduction_depth, self.block_reduction_depth is not None),
        ]
        return {name: value for name, value, is_said in entries if is_said}

    # vendored: carver/roller/hint.py:224-229
    @classmethod
    def from_dict(cls, dic: dict[str, Any]) -> Hint:
        """A hint with the given attributes set. AttributeError for "step" and "raxis_order", which are read only."""
        hint = cls()
        for name, value in dic.items():
            setattr(hint, name, value)
        return hint

    # vendored: carver/roller/hint.py:231-235
    def tensorcore_legalization(self) -> Hint:
        """Keep the last two axes, the matrix's; batch axes have tiles of 1."""
        self.warp, self.block = self.warp[-2:], self.block[-2:]
        return self

    # vendored: carver/roller/hint.py:237-241
    @property
    def raxis_order(self) -> list[int]:
        """The reduction axes from the outside in; as they come where nothing was said."""
        return self._raxis_order if self._raxis_order != [] else [*range(len(self.rstep))]

    # vendored: carver/roller/hint.py:243-247
    @property
    def step(self) -> list[int]:
        """Neighbouring elements per thread along each axis; 1 where nothing was said."""
        return self._step if self._step != [] else [1] * len(self.block)

    # vendored: carver/roller/hint.py:249-250
    def __repr__(self) -> str:
        return str(self.to_dict())

    # vendored: carver/roller/hint.py:252-262
    def complete_config(self, node: PrimFuncNode) -> Hint:
        """Set the options of the build that follow from the rest."""
        # Accumulators of 32 bits take much shared memory, so its buffers should share; in dynamic shared memory
        # they always do.
        merges = bool(self.use_tc) and self.intrin_info.out_dtype in ("float32", "int32")
        if self.shared_scope == "shared.dyn":
            merges = True
        self.pass_context = {"tirx.merge_static_smem": merges}
        return self


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


class NotNumbers(CarverError, TypeError):
    """Threads or steps of a hint are no numbers."""


def _are_several(counts: Any) -> bool:
    """Whether there is more than 1 in all: of whatever numbers, lists of them, or a lone one, as numpy multiplies."""
    if type(counts) is list and all(type(count) is int for count in counts):
        return shape_product(counts) > 1
    import numpy

    try:
        return bool(numpy.prod(counts) > 1)
    except (TypeError, ValueError):
        raise NotNumbers(f"threads and steps of a hint are numbers, one for each axis, got {shown(counts)}") from None
