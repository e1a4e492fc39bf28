"""What carver asks of blocks, loops and functions. The port of ``carver/analysis.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..arch.errors import CarverError
from .tir.dtypes import DataType
from .tir.expr import IntImm, IterVar, PrimExpr, Range, Var, is_one, post_order_visit
from .tir.layout import normalize_prim_func_blocks
from .tir.schedule import LoopRV, SBlockRV, Schedule
from .tir.stmt import Buffer, BufferRegion, PrimFunc, SBlock

if TYPE_CHECKING:
    from ..arch import Target


# vendored: carver/analysis.py:14-44
class IterInfo:
    """An iterator of a block: its kind, its variable, its domain and the loop that drives it.

    ``kind`` is "S" for a space axis, "R" for a reduction axis, "O" for any other. In a function read from a schedule
    ``dom`` is a Range of expressions.
    """

    kind: Literal["S", "R", "O"]
    var: Var
    _dom: Range | PrimExpr
    loop_rv: LoopRV

    # vendored: carver/analysis.py:22-33
    def __init__(self, kind: Literal["S", "R", "O"], var: Var, dom: Range | PrimExpr, loop_rv: LoopRV) -> None:
        self.kind, self.var, self._dom, self.loop_rv = kind, var, dom, loop_rv

    # vendored: carver/analysis.py:35-38
    @property
    def dom(self) -> int | Range | PrimExpr:
        """The domain; an int where it was given as a constant extent."""
        if isinstance(self._dom, IntImm):
            return int(self._dom)
        return self._dom

    # vendored: carver/analysis.py:40-41
    def __str__(self) -> str:
        return f'Iter("{self.kind}", {self.dom})'

    # vendored: carver/analysis.py:43-44
    def __repr__(self) -> str:
        return str(self)


# vendored: carver/analysis.py:47-117
class BlockInfo:
    """A block: its name, its iterators in order, its name in the schedule and whether it reduces."""

    name: str
    iters: list[IterInfo]
    block_rv: SBlockRV
    _reduction_block: bool

    # vendored: carver/analysis.py:55-66
    def __init__(self, name: str, iters: list[IterInfo], block_rv: SBlockRV, reduction_block: bool = False) -> None:
        self.name, self.block_rv, self.iters = name, block_rv, iters
        self._reduction_block = reduction_block

    # vendored: carver/analysis.py:68-70
    def dom(self) -> list[int | Range | PrimExpr]:
        """The domain of each iterator."""
        return [iter_info.dom for iter_info in self.iters]

    # vendored: carver/analysis.py:72-74
    def dom_kind(self) -> str:
        """The kinds of the iterators in one word, such as "SSR"."""
        kinds = [iter_info.kind for iter_info in self.iters]
        return "".join(kinds)

    # vendored: carver/analysis.py:76-78
    def is_injective(self) -> bool:
        """Whether all iterators are space axes."""
        return set(self.dom_kind()) <= {"S"}

    # vendored: carver/analysis.py:80-98
    def is_elementwise(self, sch: Schedule) -> bool:
        """Whether the block reads one tensor at just the place it writes.

        For a block with one input, one output and equally many axes on both sides this raises AttributeError, as in
        carver, which takes the iterator for the range and the range for the iterator.
        """
        if not self.is_injective():
            return False
        stmt = sch.get(self.block_rv)
        if len(stmt.reads) != 1 or len(stmt.writes) != 1:
            return False
        read, written = stmt.reads[0].region, stmt.writes[0].region
        if len(read) != len(written):
            return False
        if len(stmt.iter_vars) > 0 and len(read) > 0:
            raise SwappedArguments(
                f"is_elementwise cannot answer for the block {self.name!r}: carver compares its iterators and ranges "
                "the wrong way round (an IterVar has no attribute 'min')"
            )
        return True

    # vendored: carver/analysis.py:100-103
    def is_reduction(self) -> bool:
        """Whether the block reduces."""
        return self._reduction_block

    # vendored: carver/analysis.py:105-107
    def is_gemv(self) -> bool:
        """Not there in carver either: raises NotImplementedError."""
        raise NotThere("carver does not tell a GEMV block from other reductions")

    # vendored: carver/analysis.py:109-111
    def is_gemm(self) -> bool:
        """Not there in carver either: raises NotImplementedError."""
        raise NotThere("carver does not tell a GEMM block from other reductions")

    # vendored: carver/analysis.py:113-114
    def __str__(self) -> str:
        return f'BlockInfo("{self.name}", "{self.dom_kind()}", {self.dom()})'

    # vendored: carver/analysis.py:116-117
    def __repr__(self) -> str:
        return str(self)


# vendored: carver/analysis.py:125-158
# NOTE: swallows what TVM refuses, not every exception: a fault of the port must show.
def normalize_prim_func(sch: Schedule) -> list[BlockInfo] | None:
    """Bring a schedule's function to normal form, in place, and describe its blocks in program order.

    None for a function that has no normal form.
    """
    try:
        normal_form = normalize_prim_func_blocks(sch)
    except CarverError:
        return None
    if normal_form is None:
        return None

    kind_of = {IterVar.DataPar: "S", IterVar.CommReduce: "R"}
    infos: list[BlockInfo] = []
    for block_rv, loops, iter_vars, is_reduction in zip(*normal_form):
        iters = [
            IterInfo(kind=kind_of.get(iter_var.iter_type, "O"), var=iter_var.var, dom=iter_var.dom, loop_rv=loop)
            for loop, iter_var in zip(loops, iter_vars)
        ]
        name = sch.get(block_rv).name_hint
        infos.append(BlockInfo(name, iters, block_rv, reduction_block=bool(is_reduction)))
    return infos


# vendored: carver/analysis.py:161-166
def find_var_from_func(func: PrimFunc, var: str) -> Var | None:
    """The first variable of that name among the extents of the parameters' buffers."""
    for extent in _parameter_extents(func):
        if isinstance(extent, Var) and extent.name == var:
            return extent
    return None


# vendored: carver/analysis.py:169-174
def check_func_with_dynamic(func: PrimFunc) -> bool:
    """Whether any parameter's buffer has a variable extent."""
    return any(isinstance(extent, Var) for extent in _parameter_extents(func))


# vendored: carver/analysis.py:177-179
def _assert_gpu_target(target: Target) -> None:
    """CarverError, a ValueError, unless the target is a GPU."""
    if "gpu" in target.keys:
        return
    raise CarverError(f"Expect a GPU target, but got {target}")


# vendored: carver/analysis.py:182-190
def get_max_threads_per_block(target: Target) -> int:
    """The most threads a block may have: the target's own figure, 64 where it has none."""
    _assert_gpu_target(target)
    limits = [target.attrs.get(name, None) for name in ("max_threads_per_block", "max_num_threads")]
    known = [int(limit) for limit in limits if limit is not None]
    return known[0] if known else 64


# vendored: carver/analysis.py:193-198
def get_max_shared_memory_per_block(target: Target) -> int:
    """Bytes of shared memory a block may have. CarverError, a ValueError, where the target does not say."""
    _assert_gpu_target(target)
    limit = target.attrs.get("max_shared_memory_per_block", None)
    if limit is not None:
        return int(limit)
    raise CarverError(f"Cannot find `max_shared_memory_per_block` in {target}, please specify it manually")


# vendored: carver/analysis.py:201-206
def get_root_block(sch: Schedule, func_name: str = "main") -> SBlockRV:
    """The block that holds all others. CarverError, a ValueError, where the function's body is not such a block."""
    body = sch.mod[func_name].body
    root = getattr(body, "block", None)
    if root is None:
        raise CarverError(f"The function body is expected to be the root block, but got:\n{body}")
    return sch.get_sblock(root.name_hint)


# vendored: carver/analysis.py:209-217
def collect_block_iter_vars_used_in_access_region(block: SBlock, region: Sequence[Range]) -> set[Var]:
    """The block's iterators that a region is placed with, of those axes where it is one element wide."""
    used: set[Var] = set()
    for axis in region:
        if is_one(axis.extent):
            used.update(collect_vars_used_in_prim_expr(axis.min))
    own = {iter_var.var for iter_var in block.iter_vars}
    return used & own


# vendored: carver/analysis.py:220-229
def collect_vars_used_in_prim_expr(expr: PrimExpr) -> set[Var]:
    """The variables of an expression."""
    found: set[Var] = set()

    def note(node) -> None:
        if isinstance(node, Var):
            found.add(node)

    post_order_visit(expr, note)
    return found


# vendored: carver/analysis.py:232-243
def detect_dominant_read(block: SBlock) -> PrimExpr:
    """The element offset of the read that uses most of the block's iterators, the first if several do."""
    dominant: BufferRegion | None = None
    most = -1
    for access in block.reads:
        count = len(collect_block_iter_vars_used_in_access_region(block, access.region))
        if count > most:
            dominant, most = access, count
    assert dominant is not None, f"the block {block.name_hint!r} reads nothing"
    starts = [axis.min for axis in dominant.region]
    (offset,) = dominant.buffer.offset_of(starts)
    return offset


# vendored: carver/analysis.py:246-260
def is_broadcast_epilogue(sch: Schedule, block: SBlockRV, epilogue: SBlockRV) -> bool:
    """Whether a later block reads this one's output with fewer iterators than it has, so several times over."""
    written = {access.buffer for access in sch.get(block).writes}
    # Every iterator counts: carver means to leave out those of extent 1, but compares a Range with 1.
    later = sch.get(epilogue)
    axes = {iter_var.var for iter_var in later.iter_vars}
    for access in later.reads:
        if access.buffer in written:
            used = collect_block_iter_vars_used_in_access_region(later, access.region)
            if len(used) < len(axes):
                return True
    return False


# vendored: carver/analysis.py:263-284
def get_reduction_blocks(sch: Schedule, blocks: Sequence[SBlockRV]) -> list[SBlockRV] | None:
    """The blocks with both space and reduction axes.

    None where there are none, and where any block is neither that nor space axes only: without axes, or with
    reduction axes only.
    """
    space, mixed = {IterVar.DataPar}, {IterVar.DataPar, IterVar.CommReduce}
    reductions = []
    for block in blocks:
        iter_types = {iter_var.iter_type for iter_var in sch.get(block).iter_vars}
        if iter_types == mixed:
            reductions.append(block)
        elif iter_types != space:
            return None
    return reductions or None


# vendored: carver/analysis.py:287-299
def get_coalesced_veclen(block_stmt: SBlock, target_bits: int = 128) -> int:
    """How many elements of the block's widest dtype one access of ``target_bits`` bits holds."""
    # NVIDIA's memory is read best in 128 bits at a time, four banks.
    accesses = [*block_stmt.reads, *block_stmt.writes]
    widest = max((DataType(access.buffer.dtype).bits for access in accesses), default=0)
    return target_bits // widest


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


class SwappedArguments(CarverError, AttributeError):
    """A question that carver answers with an AttributeError, whatever is asked."""


class NotThere(CarverError, NotImplementedError):
    """A question that carver names but does not answer."""


def _parameter_extents(func: PrimFunc) -> list[PrimExpr]:
    buffers: list[Buffer] = list(func.buffer_map.values())
    return [extent for buffer in buffers for extent in buffer.shape]
