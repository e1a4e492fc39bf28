"""Whether a function is a matrix product in disguise, and what a tensor core would need to know about it.

The port of ``carver/matmul_analysis.py``. ``get_tensorized_func_and_tags`` recognises C[S, I, J] += A[S, I, K] *
B[S, J, K] behind a function, rewrites it to that form and says, in tags, how to treat it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..arch import is_tensorcore_supported_precision
from ..arch.cuda import CUDA, check_sm_version
from ..arch.errors import CarverError, shown
from ..arch.rdna import _get_rdna_tuning_config
from ..arch.target import target_get_mcpu, target_is_rdna
from .analysis import get_reduction_blocks, get_root_block
from .tir.expr import BufferLoad, IntImm, IterVar, PrimExpr, Range, Var, is_one, pre_order_visit, undefined_vars
from .tir.index_map import IndexMap
from .tir.schedule import IRModule, SBlockRV, Schedule
from .tir.stmt import Buffer, BufferRegion, BufferStore, PrimFunc, SBlock

if TYPE_CHECKING:
    from ..arch import Target

logger = logging.getLogger(__name__)


# vendored: carver/matmul_analysis.py:29-39
def collect_vars_from_expr(prim_expr: PrimExpr) -> list[Var]:
    """The variables of an expression in the order of a walk from the top, as often as they occur."""
    found: list[Var] = []

    def visit(node: Any) -> bool:
        if isinstance(node, Var):
            found.append(node)
        return True

    pre_order_visit(prim_expr, visit)
    return found


# vendored: carver/matmul_analysis.py:42-43
def _is_one(x: PrimExpr) -> bool:
    return is_one(x)


# vendored: carver/matmul_analysis.py:46-51
def _collect_producers(sch: Schedule, block: SBlockRV) -> list[SBlockRV]:
    """The blocks that a block depends on, depth first; one that is reached twice stands there twice."""
    result: list[SBlockRV] = []
    for producer in sch.get_producers(block):
        result += [producer, *_collect_producers(sch, producer)]
    return result


# vendored: carver/matmul_analysis.py:54-59
def _collect_consumers(sch: Schedule, block: SBlockRV) -> list[SBlockRV]:
    """The blocks that depend on a block, depth first; one that is reached twice stands there twice."""
    result: list[SBlockRV] = []
    for consumer in sch.get_consumers(block):
        result += [consumer, *_collect_consumers(sch, consumer)]
    return result


# vendored: carver/matmul_analysis.py:62-80
def auto_inline_producers(sch: Schedule, block: SBlockRV, skip_blocks: list[SBlockRV] | None = None) -> None:
    """Inline all that a block depends on, except ``skip_blocks``, as far as it can be."""
    while True:
        inlined = 0
        for producer in _collect_producers(sch, block):
            if not any(sch.get(producer) is sch.get(skipped) for skipped in skip_blocks or []):
                inlined += _attempt(sch.compute_inline, producer)
        if inlined == 0:
            return


# vendored: carver/matmul_analysis.py:83-103
def auto_inline_consumers(sch: Schedule, block: SBlockRV) -> None:
    """Inline all that depends on a block, into what follows or else into what comes before, as far as it can be."""
    while True:
        consumers = _collect_consumers(sch, block)
        inlined = sum(_attempt(sch.compute_inline, consumer) for consumer in consumers)
        inlined += sum(_attempt(sch.reverse_compute_inline, consumer) for consumer in consumers)
        if inlined == 0:
            return


# vendored: carver/matmul_analysis.py:106-122
def auto_inline_consumer_chain(sch: Schedule, block: SBlockRV) -> None:
    """The same, and where a consumer with further producers is left, these are inlined before another attempt.

    ScheduleError where one of them cannot be.
    """
    auto_inline_consumers(sch, block)
    remaining = sch.get_consumers(block)
    if not remaining:
        return
    for consumer in remaining:
        for producer in sch.get_producers(consumer):
            if sch.get(producer) is not sch.get(block):
                sch.compute_inline(producer)
    auto_inline_consumers(sch, block)


# vendored: carver/matmul_analysis.py:126-130
def find_first_similar_region(regions: Sequence[BufferRegion], buffer: Buffer) -> BufferRegion | None:
    """The first region of a buffer with as many axes as ``buffer``: past a dequantisation, its own input."""
    rank = len(buffer.shape)
    return next((region for region in regions if len(region.buffer.shape) == rank), None)


# vendored: carver/matmul_analysis.py:134-138
def find_first_similar_buffer(regions: Sequence[BufferRegion], buffer: Buffer) -> Buffer | None:
    """The first buffer among the regions with as many axes as ``buffer``."""
    region = find_first_similar_region(regions, buffer)
    return None if region is None else region.buffer


# vendored: carver/matmul_analysis.py:142-162
def find_last_producer_from_buffer(sch: Schedule, main_block: SBlockRV, buffer: Buffer) -> SBlockRV | None:
    """The block nearest to the function's arguments on the way that ``buffer`` comes from."""
    block = main_block
    while True:
        start = buffer
        producers = sch.get_producers(block)
        if not producers:
            # Nothing before it: this is the first block.
            return block
        for producer in producers:
            stmt = sch.get(producer)
            for access in stmt.writes:
                if access.buffer is buffer:
                    block = producer
                    buffer = find_first_similar_buffer(stmt.reads, start)
        if buffer is start:
            return block


# vendored: carver/matmul_analysis.py:165-187
def find_arg_idx_from_buffer_chain(sch: Schedule, main_block: SBlockRV, buffer: Buffer) -> int | None:
    """The number of the parameter that ``buffer`` comes from, through blocks of one input and one output."""

    def find_args_index() -> int | None:
        func = sch.mod["main"]
        for i, param in enumerate(func.params):
            if param not in func.buffer_map:
                raise NotABuffer(f"the parameter {param.name} is not a buffer")
            if func.buffer_map[param] is buffer:
                return i
        return None

    for block in sch.get_producers(main_block):
        stmt = sch.get(block)
        if len(stmt.reads) != 1 or len(stmt.writes) != 1:
            continue
        if stmt.writes[0].buffer is buffer:
            # Carver goes on to the producer but looks for the same buffer there, which it does not read.
            return find_arg_idx_from_buffer_chain(sch, block, buffer)
    return find_args_index()


# vendored: carver/matmul_analysis.py:190-206
class IterKind(Enum):
    """What an iterator is in C[S, I, J] += A[S, I, K] * B[S, J, K]; T is for those of extent 1."""

    kIter_S = 0
    kIter_I = 1
    kIter_J = 2
    kIter_K = 3
    kIter_T = 4


# vendored: carver/matmul_analysis.py:209-212
@dataclass
class IterTrait:
    """An iterator's kind and extent."""

    kind: IterKind
    extent: PrimExpr


# vendored: carver/matmul_analysis.py:215-235
def make_iter_fusion_index_map(traits: Sequence[IterTrait], kind_order: Sequence[IterKind]) -> IndexMap:
    """The map that fuses iterators of one kind into one index, in the order of kinds; kinds that do not occur are 0.

    CarverError, a ValueError, for an iterator whose kind is not in ``kind_order``.
    """
    input_iters: list[Var] = []
    fused: dict[IterKind, PrimExpr] = {}
    for i, trait in enumerate(traits):
        index = Var(f"i{i}", trait.extent.dtype)
        input_iters.append(index)
        kind = trait.kind
        if kind is IterKind.kIter_T:
            continue
        if kind not in kind_order:
            raise CarverError(f"Unknown iter kind {kind}")
        fused[kind] = fused[kind] * trait.extent + index if kind in fused else index
    absent = IntImm(traits[0].extent.dtype, 0)
    return IndexMap(input_iters, [fused.get(kind, absent) for kind in kind_order], None)


# vendored: carver/matmul_analysis.py:238-309
def detect_iter_traits(block: SBlock) -> tuple[list[IterTrait], ...] | None:
    """What the iterators of A, of B, of C and of the block are in C[S, I, J] += A[S, I, K] * B[S, J, K].

    None where the block does not fit that pattern: two inputs and one output, each accessed element by element, and
    at least one iterator each of I, J and K.
    """
    if len(block.reads) != 2 or len(block.writes) != 1:
        return None
    accesses = [block.reads[0], block.reads[1], block.writes[0]]
    if any(not _is_one(axis.extent) for access in accesses for axis in access.region):
        return None
    a_axes, b_axes, c_axes = ({v for axis in a.region for v in undefined_vars(axis.min)} for a in accesses)

    traits: dict[Var, IterTrait] = {}
    for iter_var in block.iter_vars:
        var, extent = iter_var.var, iter_var.dom.extent
        is_reduction = iter_var.iter_type == IterVar.CommReduce
        kind: IterKind | None = None
        if _is_one(extent):
            # A convolution with a 1x1 kernel still needs its K.
            kind = IterKind.kIter_K if is_reduction else IterKind.kIter_T
        elif is_reduction or iter_var.iter_type == IterVar.DataPar:
            kind = _KIND_BY_ACCESS.get((is_reduction, var in a_axes, var in b_axes, var in c_axes))
        if kind is None:
            return None
        traits[var] = IterTrait(kind, extent)

    if not {IterKind.kIter_I, IterKind.kIter_J, IterKind.kIter_K} <= {trait.kind for trait in traits.values()}:
        return None
    variables = [iter_var.var for iter_var in block.iter_vars]
    a_traits, b_traits, c_traits = ([traits[v] for v in variables if v in axes] for axes in (a_axes, b_axes, c_axes))
    return a_traits, b_traits, c_traits, [traits[v] for v in variables]


# vendored: carver/matmul_analysis.py:312-407
def get_index_map(block: SBlock, layout: list[str] | None = None) -> tuple[IndexMap, ...] | None:
    """The maps that turn the block's iterators, A, B and C into those of a plain matrix product.

    ``layout`` says for A, B and C which index comes last: "n" and "t" are [I, K] and [K, I] for A and so on, "a" puts
    the reduction last where the function has it last, else first. None where the block is no matrix product.
    """
    layout = ["n", "t", "n"] if layout is None else layout
    traits = detect_iter_traits(block)
    if traits is None:
        return None
    a_traits, b_traits, c_traits, block_traits = traits
    try:
        a_layout, b_layout, c_layout = layout[0], layout[1], layout[2]
    except (TypeError, LookupError):
        raise CarverError(f"layout has 'n', 't' or 'a' for each of A, B and C, got {shown(layout)}") from None

    def infer_layout(layout: str, region: Sequence[Range], kind: str) -> list[IterKind]:
        rows, columns = {
            "A": (IterKind.kIter_I, IterKind.kIter_K),
            "B": (IterKind.kIter_K, IterKind.kIter_J),
            "C": (IterKind.kIter_I, IterKind.kIter_J),
        }[kind]
        if layout == "n" or (layout == "a" and kind == "C"):
            return [IterKind.kIter_S, rows, columns]
        if layout == "t":
            return [IterKind.kIter_S, columns, rows]
        if layout == "a":
            space = IterKind.kIter_I if kind == "A" else IterKind.kIter_J
            if _last_axis_reduces(block, region):
                return [IterKind.kIter_S, space, IterKind.kIter_K]
            return [IterKind.kIter_S, IterKind.kIter_K, space]
        raise CarverError(f"Unknown layout {layout}")

    a_map = make_iter_fusion_index_map(a_traits, infer_layout(a_layout, block.reads[0].region, "A"))
    b_map = make_iter_fusion_index_map(b_traits, infer_layout(b_layout, block.reads[1].region, "B"))
    c_map = make_iter_fusion_index_map(c_traits, infer_layout(c_layout, block.writes[0].region, "C"))
    block_order = [IterKind.kIter_S, IterKind.kIter_I, IterKind.kIter_J, IterKind.kIter_K]
    return make_iter_fusion_index_map(block_traits, block_order), a_map, b_map, c_map


# vendored: carver/matmul_analysis.py:410-417
def get_in_out_dtypes(block: SBlock) -> tuple[str, str]:
    """The dtypes of the block's first input and first output."""
    if not block.reads or not block.writes:
        raise NoAccess(f"the block {block.name_hint!r} has no input or no output")
    return block.reads[0].buffer.dtype, block.writes[0].buffer.dtype


# vendored: carver/matmul_analysis.py:420-433
def get_dequantize_block(sch: Schedule, blocks: Sequence[SBlockRV]) -> SBlockRV | None:
    """The one block that makes floats from unsigned integers and at least one more input; None if not just one."""

    def is_dequantize(block: SBlockRV) -> bool:
        stmt = sch.get(block)
        has_uint_input = any("uint" in str(access.buffer.dtype) for access in stmt.reads)
        if len(stmt.reads) < 2 or not has_uint_input or len(stmt.writes) != 1:
            return False
        return "float" in str(stmt.writes[0].buffer.dtype)

    found = [block for block in blocks if is_dequantize(block)]
    return found[0] if len(found) == 1 else None


# vendored: carver/matmul_analysis.py:436-462
def is_identity_or_transpose_block(block_stmt: SBlock) -> tuple[bool, bool]:
    """Whether the block copies its input as it is, and whether with its last two axes swapped."""
    if {iter_var.iter_type for iter_var in block_stmt.iter_vars} != {IterVar.DataPar}:
        return False, False
    store = block_stmt.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, BufferLoad):
        return False, False
    trivial = {iter_var.var for iter_var in block_stmt.iter_vars if _is_one(iter_var.dom.extent)}

    def last_two(region: Sequence[Range]) -> list[Var]:
        if any(not _is_one(axis.extent) for axis in region):
            raise NotElementwise(f"the block {block_stmt.name_hint!r} does not access single elements")
        axes = [var for axis in region for var in undefined_vars(axis.min) if var not in trivial]
        return [var for i, var in enumerate(axes) if i == 0 or var is not axes[i - 1]][-2:]

    read, written = last_two(block_stmt.reads[0].region), last_two(block_stmt.writes[0].region)
    is_identity = len(read) == len(written) and all(a is b for a, b in zip(read, written))
    return is_identity, not is_identity and set(read) == set(written)


# vendored: carver/matmul_analysis.py:465-466
def is_identity_block(block_stmt: SBlock) -> bool:
    """Whether the block copies its input as it is."""
    is_identity, _ = is_identity_or_transpose_block(block_stmt)
    return is_identity


# vendored: carver/matmul_analysis.py:469-470
def is_transpose_block(block_stmt: SBlock) -> bool:
    """Whether the block copies its input with the last two axes swapped."""
    _, is_transpose = is_identity_or_transpose_block(block_stmt)
    return is_transpose


# vendored: carver/matmul_analysis.py:473-486
def inline_transpose_block(sch: Schedule, blocks: Sequence[SBlockRV]) -> list[SBlockRV]:
    """Inline the blocks that swap the last two axes, where they can be. Returns the others."""
    remaining = []
    for block in blocks:
        is_inlined = is_transpose_block(sch.get(block)) and (
            _attempt(sch.compute_inline, block) or _attempt(sch.reverse_compute_inline, block)
        )
        if not is_inlined:
            remaining.append(block)
    return remaining


# vendored: carver/matmul_analysis.py:489-511
def normalize_to_matmul(sch: Schedule, main_block: SBlockRV, layout: list[str] | None = None) -> Schedule | None:
    """Rewrite a schedule's function, in place, so that ``main_block`` is a plain matrix product; see ``get_index_map``.

    Copies of A, B and C come before and after the block. None where it is no matrix product.
    """
    index_maps = get_index_map(sch.get(main_block), layout=["n", "t", "n"] if layout is None else layout)
    if index_maps is None:
        logger.debug("Cannot find the appropriate index map for tensorcore")
        return None
    block_map, a_map, b_map, c_map = index_maps

    # Indices stay unsimplified, or the copies for a 1x1 convolution would lose iterators that the maps expect.
    for buffer, copy_side, index_map in (
        (("read", 0), ("write", 0), a_map),
        (("read", 1), ("write", 0), b_map),
        (("write", 0), ("read", 0), c_map),
    ):
        copy = sch.reindex(main_block, buffer, skip_simplify=True)
        sch.transform_layout(copy, copy_side, index_map)
    sch.transform_block_layout(main_block, block_map)
    # The attribute is spelt so in carver.
    sch.mod["main"] = sch.mod["main"].with_attr("dlight.tensorcore_prenormlized", True)
    return sch


# vendored: carver/matmul_analysis.py:514-678
def get_tensorized_func_and_tags(
    func: PrimFunc,
    target: Target,
    layout: list[str] | None = None,
    skip_normalize: bool = False,
    allow_gemv: bool = False,
) -> tuple[PrimFunc, dict[str, Any] | None]:
    """The function as a matrix product for tensor cores, such as a convolution by im2col, and tags for the policy.

    The function itself and None where it is no matrix product, is too small for an instruction, or the target has
    none for its dtypes; (function, False) for int32 accumulators on sm_7x. Tags: ``tensorcore_config`` the axes of
    the output that are m and n, ``pipeline_stage``, ``use_async_copy``, ``intrin_info``. ``allow_gemv`` is not looked
    at.

    Raises CarverError where a rewrite is refused, ValueError for NVIDIA devices newer than Hopper.
    """
    if layout is None:
        layout = ["a", "a", "a"]
    if not isinstance(func, (PrimFunc, IRModule)):
        raise NotForATarget(f"a PrimFunc can be brought to tensor cores, not {shown(func)}")
    sch = Schedule(func)
    blocks = sch.get_child_blocks(get_root_block(sch))
    reduction_blocks = get_reduction_blocks(sch, blocks)
    if not reduction_blocks or len(reduction_blocks) != 1:
        return func, None
    # From here on carver also asks whether _can_be_tensorized "is None"; the answer is a bool, so nothing comes of it.
    main_block = reduction_blocks[0]

    if not hasattr(target, "kind"):
        raise NotForATarget(f"target must be a Target, such as CUDA(...).target, not {shown(target)}")
    is_cuda = target.kind.name == "cuda"
    sm_version = check_sm_version(target.attrs.get("arch", "")) if is_cuda else -1
    is_cuda_tensorcore = is_cuda and sm_version >= 70
    is_rdna_wmma = target.kind.name == "hip" and target_is_rdna(target)
    if not is_cuda_tensorcore and not is_rdna_wmma:
        return func, None

    in_dtype, out_dtype = get_in_out_dtypes(sch.get(main_block))
    if is_cuda_tensorcore:
        if not is_tensorcore_supported_precision(in_dtype, out_dtype, arch=_precision_model(sm_version, target)):
            logger.debug("the dtypes (%s, %s) are not supported by tensorcore", in_dtype, out_dtype)
            return func, None
    elif (str(in_dtype), str(out_dtype)) != ("float16", "float32"):
        logger.debug("the dtypes (%s, %s) are not supported by RDNA WMMA", in_dtype, out_dtype)
        return func, None

    if not skip_normalize and normalize_to_matmul(sch, main_block, layout) is None:
        return func, None

    # One instruction takes 16 elements along a space axis, and 16 or, of 8 bits, 32 along the reduction.
    block_stmt = sch.get(main_block)
    least_reduction = 16 if in_dtype in ("bfloat16", "float16") else 32
    for iter_var in block_stmt.iter_vars[1:]:
        if iter_var.iter_type == IterVar.DataPar:
            least = 16
        elif iter_var.iter_type == IterVar.CommReduce:
            least = least_reduction
        else:
            raise CarverError(f"Unknown IterVar type {iter_var.iter_type}")
        extent = iter_var.dom.extent
        if isinstance(extent, IntImm) and extent.value < least:
            return func, None

    tags = _analyze_tensorcore_tags(func, block_stmt, target, is_cuda, sm_version)
    return sch.mod["main"], tags


# vendored: carver/matmul_analysis.py:681-734
def get_propagate_map(
    trans: bool = True, dtype: str = "float16", matrix_name: str = "A", index_dtype: str = "int32"
) -> tuple[IndexMap, IndexMap]:
    """The layout that makes ldmatrix's loads contiguous, and its inverse.

    The layouts come from BitBLAS, which neither the port nor carver brings along: an ImportError (MissingBitblas)
    without it.
    """
    layouts = _bitblas_layouts()
    _check_map_dtype(dtype)
    if dtype in ("bfloat16", "float16"):
        name = "ldmatrix_trans_32x8_to_shared_16x16_layout" if trans else "ldmatrix_32x8_to_shared_16x16_layout"
        columns = 16
    elif (matrix_name, trans) in (("A", False), ("B", True)):
        # Integers of 8 bits know only the way from 32x16 to 16x32.
        name = f"ldmatrix_32x16_to_shared_16x32_layout_{matrix_name.lower()}"
        columns = 32
    else:
        raise CarverError(f"Unknown matrix name {matrix_name} (for 8 bits: A not transposed, or B transposed)")
    ldmatrix_layout = getattr(layouts, name)

    def ldmatrix_permutation(kernel_i, kernel_j):
        return ldmatrix_layout(*_thread_and_local(kernel_i, kernel_j, columns))

    index_map = IndexMap.from_func(ldmatrix_permutation, index_dtype=index_dtype)
    return index_map, index_map.inverse([16, columns])


# vendored: carver/matmul_analysis.py:740-791
def get_ladder_stage3_map(dtype: str = "float16", index_dtype: str = "int32") -> tuple[IndexMap, IndexMap]:
    """The layout of weights, in a warp's tile, that spares ldmatrix altogether, and its inverse.

    The third stage of Ladder's propagation of weight layouts. The tile has 16x16 elements, 16x32 of 8 bits.
    """
    _check_map_dtype(dtype)
    columns = 16 if dtype in ("bfloat16", "float16") else 32
    # Elements of a row that one thread of an mma holds next to each other, and twice that: its run in shared memory.
    pair = columns // 8
    run = columns // 2

    def ladder_stage3_permutation(kernel_i, kernel_j):
        thread_id, local_id = _thread_and_local(kernel_i, kernel_j, columns)
        mma_thread = (thread_id % 8) * 4 + (local_id // pair)
        mma_local = (thread_id // 8) * pair + (local_id % pair)
        offset = mma_thread * run + mma_local
        return offset // columns, offset % columns

    index_map = IndexMap.from_func(ladder_stage3_permutation, index_dtype=index_dtype)
    return index_map, index_map.inverse([16, columns])


# vendored: carver/matmul_analysis.py:794-842
def layout_propagate_chain(
    sch: Schedule, start_block: SBlockRV, start_buffer: Buffer, end_block: SBlockRV, index_map: IndexMap
) -> IndexMap:
    """The layout for the tensor that ``start_buffer`` is made from, so that it has the layout ``index_map``.

    Goes back from producer to producer as far as ``end_block``, or a block of several outputs, or the first block.
    """
    block, buffer = start_block, start_buffer
    while True:
        start = buffer
        producers = sch.get_producers(block)
        if not producers:
            return index_map
        for producer in producers:
            stmt = sch.get(producer)
            if len(stmt.writes) != 1 or stmt is sch.get(end_block):
                return index_map
            (write,) = stmt.writes
            read = find_first_similar_region(stmt.reads, start)
            if write.buffer is buffer:
                if read is None:
                    raise NoSimilarRegion(f"the block {stmt.name_hint!r} reads no buffer of as many axes as it writes")
                block, buffer = producer, read.buffer
                index_map = _through_copy(index_map, write, read)
        if buffer is start:
            return index_map


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


class NotABuffer(CarverError, KeyError):
    """A parameter of the function is a variable."""

    def __str__(self) -> str:
        # A KeyError would show its text in quotes.
        return str(self.args[0])


class NotForATarget(CarverError, AttributeError):
    """Something else than a function, or than a target."""


class NoSecondInput(CarverError, IndexError):
    """A block with fewer inputs than a matrix product."""


class NoAccess(CarverError, AssertionError):
    """A block without inputs or without outputs."""


class UnsupportedDtype(CarverError, AssertionError):
    """A dtype without a layout of this kind."""


class NotElementwise(CarverError, TypeError):
    """A block accesses more than single elements."""


class NoSimilarRegion(CarverError, AttributeError):
    """A layout cannot be taken on to a block's input."""


class MissingBitblas(CarverError, ModuleNotFoundError):
    """BitBLAS is not installed."""


def _attempt(inline: Callable[[SBlockRV], None], block: SBlockRV) -> bool:
    """Whether a block could be inlined."""
    try:
        inline(block)
    except CarverError:
        return False
    return True


# (is a reduction, in A, in B, in C) -> kind.
_KIND_BY_ACCESS = {
    (False, True, True, True): IterKind.kIter_S,
    (False, True, False, True): IterKind.kIter_I,
    (False, False, True, True): IterKind.kIter_J,
    (True, True, True, False): IterKind.kIter_K,
}


def _last_axis_reduces(block: SBlock, region: Sequence[Range]) -> bool:
    """Whether the last index of a region has a reduction iterator in it."""
    for axis in region:
        if not _is_one(axis.extent):
            raise CarverError(f"Expect elemwise block access, not {axis}")
    reductions = {iter_var.var for iter_var in block.iter_vars if iter_var.iter_type == IterVar.CommReduce}
    return any(var in reductions for var in collect_vars_from_expr(region[-1].min))


def _precision_model(sm_version: int, target: Target) -> CUDA:
    """A stand-in for the device that carver builds from the target, of which only the compute capability is asked."""
    model = CUDA.__new__(CUDA)
    model.target, model.sm_version = target, sm_version
    return model


def _analyze_tensorcore_tags(
    func: PrimFunc, block_stmt: SBlock, target: Target, is_cuda: bool, sm_version: int
) -> dict[str, Any] | bool:
    """The tags of a matrix product, False where the device has no instruction for it after all."""
    if len(block_stmt.writes) != 1:
        raise CarverError(f"the block {block_stmt.name_hint!r} must have one output, it has {len(block_stmt.writes)}")
    tags: dict[str, Any] = {}
    rank = len(block_stmt.writes[0].buffer.shape)
    tags["tensorcore_config"] = [rank - 2, rank - 1]

    has_async_copy = is_cuda and sm_version in {80, 90}
    tags["pipeline_stage"] = 2 if has_async_copy else 1
    if not is_cuda:
        tags["pipeline_stage"] = _get_rdna_tuning_config(target_get_mcpu(target)).pipeline_stage
    tags["use_async_copy"] = has_async_copy

    in_dtype, out_dtype = get_in_out_dtypes(block_stmt)
    if is_cuda and 70 <= sm_version < 80 and out_dtype == "int32":
        return False
    intrin_info: dict[str, Any] = {"in_dtype": in_dtype, "out_dtype": out_dtype}
    if len(block_stmt.reads) < 2:
        raise NoSecondInput(f"the block {block_stmt.name_hint!r} is no matrix product: it has fewer than two inputs")
    # With the reduction last, B is transposed.
    intrin_info["trans_b"] = _last_axis_reduces(block_stmt, block_stmt.reads[1].region)
    attrs = func.attrs if isinstance(func, PrimFunc) else {}
    for kind in ("input_transform_kind", "weight_transform_kind"):
        if kind in attrs:
            intrin_info[kind] = attrs[kind]
    tags["intrin_info"] = intrin_info

    # Warps share a reduction, in a product with few rows of a dequantised matrix.
    require_block_reduce = False
    if "dequantize_info" in attrs and in_dtype in ("bfloat16", "float16") and func.params:
        rows = func.buffer_map[func.params[0]].shape[0]
        require_block_reduce = isinstance(rows, IntImm) and rows.value <= 128
    if require_block_reduce and is_cuda and sm_version == 80:
        tags["block_reduction_depth"] = 2
    return tags


def _bitblas_layouts() -> Any:
    try:
        from bitblas.tl import mma_layout
    except ImportError as err:
        raise MissingBitblas(f"get_propagate_map takes its layouts from BitBLAS: {err}") from err
    return mma_layout


def _check_map_dtype(dtype: str) -> None:
    known = ("bfloat16", "float16", "int8", "float8_e4m3", "float8_e5m2")
    if dtype not in known:
        raise UnsupportedDtype(f"Only support {', '.join(known)}, not {dtype}")


def _thread_and_local(kernel_i: Any, kernel_j: Any, columns: int) -> tuple[Any, Any]:
    """The thread that ldmatrix gives an element of a tile to, and its place there: two threads share a row."""
    half = columns // 2
    return kernel_i * 2 + kernel_j // half, kernel_j % half


def _through_copy(index_map: IndexMap, write: BufferRegion, read: BufferRegion) -> IndexMap:
    """The layout of what a block reads that gives what it writes the layout ``index_map``."""
    write_indices = [axis.min for axis in write.region]
    read_indices = [axis.min for axis in read.region]
    # From [vi // x] to [vi * x].
    back, _ = IndexMap(write_indices, read_indices, None).non_surjective_inverse(write.buffer.shape)
    # One element read may make several elements written, as when it is dequantised.
    scale = 1
    for written, extent in zip(write.buffer.shape, read.buffer.shape):
        scale = scale * (written // extent)
    final_indices = [*index_map.map_indices(back.map_indices(write_indices))]
    final_indices[-1] = final_indices[-1] // scale
    return IndexMap(write_indices, final_indices, None)
