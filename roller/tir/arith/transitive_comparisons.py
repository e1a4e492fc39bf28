"""Comparisons that follow from known ones (stands in for TVM's ``src/arith/transitive_comparison_analyzer.cc``).

From ``a <= b`` and ``b < c + 2`` follows ``a < c + 2``. Each known comparison is an edge between two expressions, and a
search over the edges combines them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from .. import dtypes
from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    BinaryOpExpr,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    IntImm,
    Not,
    PrimExpr,
    ProducerLoad,
    Range,
    Select,
    StringImm,
    Sub,
    Var,
    add,
    deep_equal,
    equal,
    greater_equal,
    is_const_int,
    less,
)
from .compare_result import CompareResult
from .constraint_extract import extract_constraints
from .int_operator import InternalError, wrap_int64
from .ir_mutator_with_analyzer import PURE, side_effect

_ZERO = IntImm("int32", 0)

_RESULT_OF_NODE = {
    LE: CompareResult.LE,
    GE: CompareResult.GE,
    LT: CompareResult.LT,
    GT: CompareResult.GT,
    EQ: CompareResult.EQ,
    NE: CompareResult.NE,
}

# tvm: src/arith/transitive_comparison_analyzer.cc (Reverse): the result with the sides swapped
_REVERSED = {
    CompareResult.INCONSISTENT: CompareResult.INCONSISTENT,
    CompareResult.EQ: CompareResult.EQ,
    CompareResult.LT: CompareResult.GT,
    CompareResult.LE: CompareResult.GE,
    CompareResult.GT: CompareResult.LT,
    CompareResult.GE: CompareResult.LE,
    CompareResult.NE: CompareResult.NE,
    CompareResult.UNKNOWN: CompareResult.UNKNOWN,
}


# tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::Comparison)
class Comparison(NamedTuple):
    """``lhs OP rhs + offset``. The sides are keys of expressions; OP is never < or >, see :func:`make_comparison`."""

    lhs: int
    rhs: int
    offset: int
    result: int

    def with_lhs(self, new_lhs: int) -> Comparison | None:
        """The same comparison with ``new_lhs`` on the left; None if that is neither side."""
        if new_lhs == self.lhs:
            return self
        if new_lhs == self.rhs:
            return make_comparison(self.rhs, self.lhs, -self.offset, _REVERSED[self.result])
        return None

    def implies(self, other: Comparison) -> bool:
        """Whether ``other``, a comparison of the same sides, holds whenever this one does."""
        if self.result == other.result and self.offset == other.offset:
            return True
        if other.result == CompareResult.LE and self.offset <= other.offset:
            if self.result in (CompareResult.EQ, CompareResult.LE):
                return True
        if other.result == CompareResult.GE and self.offset >= other.offset:
            if self.result in (CompareResult.EQ, CompareResult.GE):
                return True
        if other.result == CompareResult.NE:
            if self.result == CompareResult.EQ and self.offset != other.offset:
                return True
            if self.result == CompareResult.LE and self.offset < other.offset:
                return True
            if self.result == CompareResult.GE and self.offset > other.offset:
                return True
        return False


def make_comparison(lhs: int, rhs: int, offset: int, result: int) -> Comparison:
    """A comparison of integers without < and >: ``x < y + c`` is ``x <= y + c - 1``, which makes chains simple."""
    if result == CompareResult.LT:
        result = CompareResult.LE
        offset -= 1
    elif result == CompareResult.GT:
        result = CompareResult.GE
        offset += 1
    return Comparison(lhs, rhs, wrap_int64(offset), result)


def structural_key(expr: PrimExpr):
    """A value that is equal for structurally equal expressions; free variables count as themselves."""
    kind = type(expr)
    if isinstance(expr, Var):
        return id(expr)
    if kind is IntImm:
        return (expr.dtype, expr.value)
    if isinstance(expr, BinaryOpExpr):
        return (kind, structural_key(expr.a), structural_key(expr.b))
    if kind is Cast:
        return (kind, expr.dtype, structural_key(expr.value))
    if kind is Not:
        return (kind, structural_key(expr.a))
    if kind is Select:
        return (kind, *map(structural_key, (expr.condition, expr.true_value, expr.false_value)))
    if kind is Call:
        return (kind, expr.dtype, expr.op, *map(structural_key, expr.args))
    if kind is BufferLoad:
        return (kind, id(expr.buffer), *map(structural_key, expr.indices))
    if kind is ProducerLoad:
        return (kind, id(expr.producer), *map(structural_key, expr.indices))
    if kind is FloatImm or kind is StringImm:
        return (kind, expr.dtype, expr.value)
    # Let and Reduce bind variables of their own; comparing those with each other has no use here.
    return id(expr)


# tvm: src/arith/transitive_comparison_analyzer.cc (ExtractOffsets)
def extract_offsets(lhs: PrimExpr, rhs: PrimExpr) -> tuple[PrimExpr, PrimExpr, int]:
    """``(x, y, c)`` with ``lhs OP rhs`` the same as ``x OP y + c``: the constant ends of the two sides in one place."""
    lhs_inner, lhs_offset = _split_offset(lhs)
    rhs_inner, rhs_offset = _split_offset(rhs)
    return lhs_inner, rhs_inner, rhs_offset - lhs_offset


def _split_offset(expr: PrimExpr) -> tuple[PrimExpr, int]:
    kind = type(expr)
    if kind is Add and type(expr.b) is IntImm:
        return expr.a, expr.b.value
    if kind is Sub and type(expr.b) is IntImm:
        return expr.a, -expr.b.value
    if kind is IntImm:
        return _ZERO, expr.value
    return expr, 0


# tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl)
class TransitiveComparisonAnalyzer:
    """Comparisons, given known ones.

    Attributes:
        knowns: what the definitions of variables say, such as the range of an iterator.
        scoped_knowns: what the constraints in effect say.
        prev_bindings: the range each variable was bound to, to notice contradictions.
    """

    __slots__ = ("_expr_to_key", "_key_owners", "_pending", "knowns", "parent", "prev_bindings", "scoped_knowns")

    def __init__(self, parent=None) -> None:
        self.parent = parent
        self._expr_to_key: dict[object, int] = {}
        # Keys hold ids of variables and buffers, so the expressions must stay alive.
        self._key_owners: list[PrimExpr] = []
        self.prev_bindings: dict[Var, Range] = {}
        self.knowns: list[Comparison] = []
        self.scoped_knowns: list[Comparison] = []
        # Bindings that are not in `knowns` yet: most analyzers are never asked to compare.
        self._pending: list[tuple[Var, Range]] = []

    def copy_from(self, other: TransitiveComparisonAnalyzer) -> None:
        """Take over what another analyzer knows."""
        self._changed()
        other._settle()
        self._pending = []
        self._expr_to_key = dict(other._expr_to_key)
        self._key_owners = list(other._key_owners)
        self.prev_bindings = dict(other.prev_bindings)
        self.knowns = list(other.knowns)
        self.scoped_knowns = list(other.scoped_knowns)

    def _changed(self) -> None:
        if self.parent is not None:
            self.parent.epoch += 1

    # tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::TryCompare)
    def try_compare(self, lhs_expr: PrimExpr, rhs_expr: PrimExpr, propagate_inequalities: bool = True) -> int:
        """What is known of ``lhs_expr`` against ``rhs_expr``, as a :class:`CompareResult`.

        Without ``propagate_inequalities`` only comparisons of exactly these two (up to constants) are used.
        """
        if not dtypes.is_int(lhs_expr.dtype) or not dtypes.is_int(rhs_expr.dtype):
            return CompareResult.UNKNOWN
        if type(lhs_expr) is IntImm and type(rhs_expr) is IntImm:
            if lhs_expr.value < rhs_expr.value:
                return CompareResult.LT
            return CompareResult.GT if lhs_expr.value > rhs_expr.value else CompareResult.EQ
        if self._pending:
            self._settle()
        if not self.knowns and not self.scoped_knowns:
            return CompareResult.UNKNOWN

        lhs, rhs, offset = extract_offsets(lhs_expr, rhs_expr)
        lhs_key = self._expr_to_key.get(structural_key(lhs))
        if lhs_key is None:
            return CompareResult.UNKNOWN
        rhs_key = self._expr_to_key.get(structural_key(rhs))
        if rhs_key is None:
            return CompareResult.UNKNOWN
        if propagate_inequalities:
            lhs_to_rhs = self._collect_indirect_comparisons(lhs_key, rhs_key)
        else:
            lhs_to_rhs = self._collect_direct_comparisons(lhs_key, rhs_key)
        return merge_comparisons(lhs_to_rhs, wrap_int64(offset))

    # tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::Bind)
    def bind(self, var: Var, value: Range | PrimExpr, allow_override: bool = False) -> None:
        """A variable lies in a range, or is an expression.

        Raises InternalError if it was bound to something else and may not be overridden.
        """
        dom = value if isinstance(value, Range) else Range.from_min_extent(value, IntImm("int32", 1))
        previous = self.prev_bindings.get(var)
        if previous is not None:
            same = deep_equal(dom.min, previous.min) and deep_equal(dom.extent, previous.extent)
            if not same:
                if not allow_override:
                    raise InternalError(
                        f"Binding of variable {var} as {dom} conflicts with previous binding as {previous}"
                    )
                self._settle()
                key = self._expr_to_key.get(structural_key(var))
                self.knowns = [known for known in self.knowns if known.lhs != key]
        self._changed()
        self.prev_bindings[var] = dom
        self._pending.append((var, dom))

    def _settle(self) -> None:
        """Put the pending bindings into `knowns`, in the order in which they came."""
        for var, dom in self._pending:
            if is_const_int(dom.extent, 1):
                self._add_known(equal(var, dom.min), self.knowns)
            else:
                self._add_known(greater_equal(var, dom.min), self.knowns)
                self._add_known(less(var, add(dom.min, dom.extent)), self.knowns)
        self._pending = []

    # tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::EnterConstraint)
    def enter_constraint(self, constraint: PrimExpr) -> Callable[[], None]:
        """Use a condition until the returned function is called."""
        self._settle()
        old_size = len(self.scoped_knowns)
        self._add_known(constraint, self.scoped_knowns)
        new_size = len(self.scoped_knowns)
        self._changed()

        def recover() -> None:
            if len(self.scoped_knowns) != new_size:
                raise InternalError("Check failed: constraints must end in reverse order of their start")
            self._changed()
            del self.scoped_knowns[old_size:]

        return recover

    # tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::AddKnown)
    def _add_known(self, expr: PrimExpr, known: list[Comparison]) -> None:
        if side_effect(expr) > PURE:
            return
        for subexpr in extract_constraints(expr, False):
            comparison = self._from_expr(subexpr)
            if comparison is not None:
                known.append(comparison)

    # tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::FromExpr)
    def _from_expr(self, expr: PrimExpr) -> Comparison | None:
        result = _RESULT_OF_NODE.get(type(expr))
        if result is None:
            return None
        if type(expr.a) is IntImm and type(expr.b) is IntImm:
            return None
        lhs, rhs, offset = extract_offsets(expr.a, expr.b)
        lhs_key = self._expr_to_new_key(lhs)
        rhs_key = self._expr_to_new_key(rhs)
        return make_comparison(lhs_key, rhs_key, offset, result)

    # tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::ExprToKey)
    def _expr_to_new_key(self, expr: PrimExpr) -> int:
        key = structural_key(expr)
        number = self._expr_to_key.get(key)
        if number is None:
            number = self._expr_to_key[key] = len(self._expr_to_key)
            self._key_owners.append(expr)
        return number

    def _all_knowns(self) -> Iterator[Comparison]:
        yield from self.knowns
        yield from self.scoped_knowns

    # tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::CollectDirectComparisons)
    def _collect_direct_comparisons(self, lhs_key: int, rhs_key: int) -> list[Comparison]:
        output = []
        for known in self._all_knowns():
            normalized = known.with_lhs(lhs_key)
            if normalized is not None and normalized.rhs == rhs_key:
                output.append(normalized)
        return output

    # tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::CollectIndirectComparisons)
    def _collect_indirect_comparisons(self, lhs_key: int, rhs_key: int) -> list[Comparison]:
        output = self._dfs_from_lhs(lhs_key, rhs_key)
        for comparison in self._dfs_from_lhs(rhs_key, lhs_key):
            normalized = comparison.with_lhs(lhs_key)
            assert normalized is not None
            output.append(normalized)
        return output

    # tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::DFSFromLHS)
    def _dfs_from_lhs(self, lhs_key: int, rhs_key: int) -> list[Comparison]:
        """Comparisons of the two found by walking from the left one over known comparisons."""
        seen: set[int] = set()
        to_visit = _VisitSet()
        compared_to_lhs: dict[int, list[Comparison]] = {}

        def declare_known(comparison: Comparison) -> None:
            knowns = compared_to_lhs.setdefault(comparison.rhs, [])
            for prev_known in knowns:
                if prev_known.implies(comparison):
                    return
            if comparison.rhs != rhs_key and comparison.rhs not in seen:
                to_visit.insert(comparison.rhs)
                seen.add(comparison.rhs)
            for i, prev_known in enumerate(knowns):
                if comparison.implies(prev_known):
                    knowns[i] = comparison
                    return
            knowns.append(comparison)

        for known in self._all_knowns():
            normalized = known.with_lhs(lhs_key)
            if normalized is not None:
                declare_known(normalized)

        while to_visit:
            middle_key = to_visit.pop_first()
            lhs_to_middle = compared_to_lhs[middle_key]
            new_knowns = []
            for known in self._all_knowns():
                middle_to_right = known.with_lhs(middle_key)
                if middle_to_right is None or middle_to_right.rhs == lhs_key:
                    continue
                for prev in lhs_to_middle:
                    result = _chained_result(prev.result, middle_to_right.result)
                    if result != CompareResult.UNKNOWN:
                        offset = prev.offset + middle_to_right.offset
                        new_knowns.append(make_comparison(lhs_key, middle_to_right.rhs, offset, result))
            for comparison in new_knowns:
                declare_known(comparison)

        return compared_to_lhs.get(rhs_key, [])


def _chained_result(first: int, second: int) -> int:
    """OP3 with ``x OP1 y`` and ``y OP2 z`` implying ``x OP3 z``."""
    if first == CompareResult.EQ:
        return second
    if second == CompareResult.EQ:
        return first
    if first == second and first in (CompareResult.LE, CompareResult.GE):
        return first
    return CompareResult.UNKNOWN


# tvm: src/arith/transitive_comparison_analyzer.cc (TransitiveComparisonAnalyzer::Impl::MergeComparisons)
def merge_comparisons(lhs_to_rhs: list[Comparison], offset: int) -> int:
    """What all the comparisons together say about ``lhs OP rhs + offset``."""
    result = CompareResult.UNKNOWN
    for comparison in lhs_to_rhs:
        known = comparison.result
        if known == CompareResult.INCONSISTENT:
            result = CompareResult.INCONSISTENT
        elif known == CompareResult.EQ:
            result &= CompareResult.EQ if offset == comparison.offset else CompareResult.NE
        elif known == CompareResult.LE:
            if comparison.offset < offset:
                result &= CompareResult.LT
            elif comparison.offset == offset:
                result &= CompareResult.LE
        elif known == CompareResult.GE:
            if comparison.offset > offset:
                result &= CompareResult.GT
            elif comparison.offset == offset:
                result &= CompareResult.GE
        elif known == CompareResult.NE:
            if offset == comparison.offset:
                result &= CompareResult.NE
    return result


class _VisitSet:
    """A set of small numbers that is emptied in the order of GNU's ``std::unordered_set``.

    The search depends on that order: an expression is visited once, with what is known about it by then. A number goes
    in front of those that share its bucket (its remainder by the number of buckets), or to the very front if there are
    none.
    """

    __slots__ = ("_bucket_count", "_order")

    # The numbers of buckets a growing set goes through; it grows when each bucket has one element on average.
    _BUCKET_COUNTS = (13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043)

    def __init__(self) -> None:
        self._order: list[int] = []
        self._bucket_count = self._BUCKET_COUNTS[0]

    def __bool__(self) -> bool:
        return bool(self._order)

    def insert(self, key: int) -> None:
        if len(self._order) == self._bucket_count:
            self._bucket_count = next(count for count in self._BUCKET_COUNTS if count > self._bucket_count)
            elements, self._order = self._order, []
            for element in elements:
                self._place(element)
        self._place(key)

    def _place(self, key: int) -> None:
        bucket = key % self._bucket_count
        position = 0
        for i, element in enumerate(self._order):
            if element % self._bucket_count == bucket:
                position = i
                break
        self._order.insert(position, key)

    def pop_first(self) -> int:
        return self._order.pop(0)
