"""The regions of buffers that a block reads and writes.

Stands in for ``src/s_tir/analysis/sblock_access_region_detector.cc``. A region is a box: one Range per dimension. Reads
of one buffer at several places are united into one box, and what cannot be bounded becomes the whole dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...arch.errors import CarverError
from . import dtypes
from .arith.analyzer import Analyzer
from .arith.int_operator import InternalError
from .arith.int_set import IntervalSet, IntSet, eval_set, union
from .expr import BinaryOpExpr, BufferLoad, IntImm, PrimExpr, Range, TirError, Var, children, make_const, substitute
from .stmt import Bind, Buffer, BufferRegion, BufferStore, For, IfThenElse, SBlock, SBlockRealize, SeqStmt, Stmt

# What the analysis raises where TVM throws.
_FAILURES = (CarverError, InternalError)


Regions = tuple[list[BufferRegion], list[BufferRegion]]


# tvm: src/s_tir/analysis/sblock_access_region_detector.cc (BlockReadWriteDetector)
class BlockReadWriteDetector:
    """Collects what a block reads and writes, in the order of appearance.

    TVM's detector also narrows the domains of loops *inside* the block by the conditions under which an access happens.
    A te block has no loops below it but those of its inner blocks, whose conditions are about the inner blocks' own
    iterators, so conditions never move a region here: both branches of a choice count in full.
    """

    def __init__(self, buffers: Iterable[Buffer] | None = None):
        # Only these buffers count; None: all.
        self.buffers = None if buffers is None else set(buffers)
        # The domain of every loop inside the block around the current statement.
        self.dom_map: dict[Var, IntSet] = {}
        # What a Bind statement gave a name to.
        self.let_bindings: dict[Var, PrimExpr] = {}
        self.reads: dict[Buffer, list[IntSet]] = {}
        self.writes: dict[Buffer, list[IntSet]] = {}

    # -- the walk ------------------------------------------------------------------------------------------------

    def visit_block(self, block: SBlock) -> None:
        # In the order of StmtVisitor: domains, the regions already known, the initial statement, the body.
        for iter_var in block.iter_vars:
            self.visit_expr(iter_var.dom.min)
            self.visit_expr(iter_var.dom.extent)
        for buffer in block.alloc_buffers:
            for extent in buffer.shape:
                self.visit_expr(extent)
        for access in (*block.reads, *block.writes):
            for r in access.region:
                self.visit_expr(r.min)
                self.visit_expr(r.extent)
        if block.init is not None:
            self.visit_stmt(block.init)
        self.visit_stmt(block.body)

    def visit_stmt(self, stmt: Stmt) -> None:
        if isinstance(stmt, BufferStore):
            self._update(self.writes, stmt.buffer, [self._relax(index) for index in stmt.indices])
            self.visit_expr(stmt.value)
            for index in stmt.indices:
                self.visit_expr(index)
        elif isinstance(stmt, SeqStmt):
            for part in stmt.seq:
                self.visit_stmt(part)
        elif isinstance(stmt, Bind):
            self.let_bindings[stmt.var] = stmt.value
            self.visit_expr(stmt.value)
        elif isinstance(stmt, For):
            self.dom_map[stmt.loop_var] = IntSet.from_range(Range.from_min_extent(stmt.min, stmt.extent))
            self.visit_expr(stmt.min)
            self.visit_expr(stmt.extent)
            self.visit_stmt(stmt.body)
            del self.dom_map[stmt.loop_var]
        elif isinstance(stmt, IfThenElse):
            self.visit_expr(stmt.condition)
            self.visit_stmt(stmt.then_case)
            if stmt.else_case is not None:
                self.visit_stmt(stmt.else_case)
        elif isinstance(stmt, SBlockRealize):
            self.visit_block_realize(stmt)
        else:
            raise TirError(f"cannot find the accesses of {type(stmt).__name__}")

    def visit_block_realize(self, realize: SBlockRealize) -> None:
        """An inner block: its regions in terms of the loops, and then once more what its body says."""
        vmap = dict(zip((iter_var.var for iter_var in realize.block.iter_vars), realize.iter_values))
        for found, accesses in ((self.reads, realize.block.reads), (self.writes, realize.block.writes)):
            for access in accesses:
                relaxed = []
                for r in access.region:
                    inner = Range.from_min_extent(substitute(r.min, vmap), substitute(r.extent, vmap))
                    relaxed.append(eval_set(IntSet.from_range(inner), self.dom_map))
                self._update(found, access.buffer, relaxed)
        for value in realize.iter_values:
            self.visit_expr(value)
        self.visit_expr(realize.predicate)
        # TVM says that it stops here, and goes on: the inner body's accesses are united with the regions above.
        self.visit_block(realize.block)

    def visit_expr(self, expr: PrimExpr) -> None:
        if type(expr) is BufferLoad:
            self._update(self.reads, expr.buffer, [self._relax(index) for index in expr.indices])
        for child in children(expr):
            self.visit_expr(child)

    # -- regions -------------------------------------------------------------------------------------------------

    def _relax(self, index: PrimExpr) -> IntSet:
        """The values that an index takes, in terms of what is defined outside the block's loops."""
        while self.let_bindings:
            remapped = substitute(index, self.let_bindings)
            if remapped is index:
                break
            index = remapped
        point = IntervalSet(index, index)
        # Without loops the evaluation finds such an index to be itself: the usual case, and no analysis.
        return point if not self.dom_map and _is_own_point(index) else eval_set(point, self.dom_map)

    def _update(self, found: dict[Buffer, list[IntSet]], buffer: Buffer, region: list[IntSet]) -> None:
        if self.buffers is not None and buffer not in self.buffers:
            return
        known = found.get(buffer)
        if known is None:
            found[buffer] = region
            return
        if len(known) != len(region):
            raise TirError(f"buffer {buffer.name} is accessed with {len(known)} and with {len(region)} indices")
        for i, int_set in enumerate(region):
            known[i] = _unite(known[i], int_set, buffer.shape[i])

    # tvm: src/s_tir/analysis/sblock_access_region_detector.cc (BlockReadWriteDetector::CollectRegions)
    def collect(self, found: Mapping[Buffer, Sequence[IntSet]], excluded: Iterable[Buffer] = ()) -> list[BufferRegion]:
        """The regions as ranges, without those of some buffers."""
        excluded = set(excluded)
        regions = []
        for buffer, int_sets in found.items():
            if buffer in excluded:
                continue
            if len(int_sets) != len(buffer.shape):
                raise TirError(f"buffer {buffer.name} has {len(buffer.shape)} dimensions, not {len(int_sets)}")
            ranges = [_range_of(int_set, extent) for int_set, extent in zip(int_sets, buffer.shape)]
            regions.append(BufferRegion(buffer, ranges))
        return regions


def _is_own_point(index: PrimExpr) -> bool:
    """Whether the set evaluator gives this very expression back when no variable is relaxed."""
    if type(index) is IntImm or isinstance(index, Var):
        return True
    if isinstance(index, BinaryOpExpr):
        return _is_own_point(index.a) and _is_own_point(index.b)
    # The index read from a buffer: a point, whatever its value.
    return type(index) is BufferLoad and dtypes.parse(index.dtype)[0] in ("int", "uint")


def _unite(known: IntSet, new: IntSet, extent: PrimExpr) -> IntSet:
    """One interval around both; the whole dimension where the analysis fails."""
    point = known.min_value
    if known.max_value is point and new.min_value is point and new.max_value is point and isinstance(point, Var):
        return known
    try:
        return union([known, new])
    except _FAILURES:
        return IntSet.from_range(Range.from_min_extent(0, extent))


def _range_of(int_set: IntSet, extent: PrimExpr) -> Range:
    """The set as a range; the whole dimension where it has no bounds or the analysis fails."""
    try:
        if int_set.min_value is int_set.max_value or int_set.can_prove_single_point(Analyzer()):
            return Range.from_min_extent(int_set.min_value, make_const(int_set.min_value.dtype, 1))
        return int_set.cover_range(Range.from_min_extent(0, extent))
    except _FAILURES:
        return Range.from_min_extent(0, extent)


# tvm: src/s_tir/analysis/sblock_access_region_detector.cc (GetSBlockAccessRegion, GetSBlockReadWriteRegion)
def get_sblock_read_write_region(block: SBlock, buffers: Iterable[Buffer] | None = None) -> Regions:
    """What a block reads and what it writes, as lists of regions in the order of first access.

    ``buffers``: the buffers that count, all when not given. A reduction's own output is not among its reads.
    Opaque accesses (a buffer's pointer) do not exist here, so TVM's two functions give the same.
    """
    detector = BlockReadWriteDetector(buffers)
    detector.visit_block(block)
    writes = detector.collect(detector.writes)
    excluded = [access.buffer for access in writes] if block.init is not None else []
    return detector.collect(detector.reads, excluded), writes


get_sblock_access_region = get_sblock_read_write_region
