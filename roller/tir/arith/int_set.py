"""Symbolic intervals (stands in for TVM's ``src/arith/int_set.cc`` and ``interval_set.h``).

An interval has both ends inclusive, each an expression or one of the opaque variables ``POS_INF`` and ``NEG_INF``. The
empty set starts at ``POS_INF`` or ends at ``NEG_INF``. Whether an interval is a single point is decided by identity:
both ends are the same object. That is cheap, and since the original decides so, it decides what follows, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from .. import dtypes
from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    NEG_INF,
    POS_INF,
    Add,
    And,
    BinaryOpExpr,
    BufferLoad,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    PrimExpr,
    Range,
    Select,
    SizeVar,
    Sub,
    Var,
    abs_,
    add,
    cast,
    convert,
    deep_equal,
    div,
    equal,
    floordiv,
    floormod,
    greater_equal,
    is_one,
    is_zero,
    less,
    less_equal,
    make_const,
    make_zero,
    max_,
    min_,
    mul,
    neg,
    post_order_visit,
    sub,
    truncmod,
    try_const_fold,
)
from .constraint_extract import extract_constraints
from .int_operator import InternalError, zero_aware_gcd
from .int_operator import truncmod as truncmod_int

if TYPE_CHECKING:
    from .analyzer import Analyzer


# tvm: include/tvm/arith/int_set.h (SignType)
class SignType(IntEnum):
    """What :meth:`IntSet.get_sign_type` found out."""

    POSITIVE = 0
    NEGATIVE = 1
    ZERO = 2
    UNKNOWN = 3


def _analyzer() -> Analyzer:
    from .analyzer import Analyzer

    return Analyzer()


# tvm: include/tvm/arith/int_set.h (IntSet)
class IntSet:
    """A set of integers. The only kind here is :class:`IntervalSet`; the static methods make one."""

    __slots__ = ("max_value", "min_value")

    min_value: PrimExpr
    max_value: PrimExpr

    @staticmethod
    def nothing() -> IntervalSet:
        """The empty set."""
        return IntervalSet(POS_INF, NEG_INF)

    @staticmethod
    def everything() -> IntervalSet:
        """All integers."""
        return IntervalSet(NEG_INF, POS_INF)

    @staticmethod
    def single_point(point: PrimExpr) -> IntervalSet:
        """Just one value."""
        point = convert(point)
        return IntervalSet(point, point)

    @staticmethod
    def vector(vec: PrimExpr) -> IntervalSet:
        """The elements of a vector; vectors do not occur, so it is one value."""
        return IntervalSet(vec, vec)

    @staticmethod
    def from_min_extent(min_expr: PrimExpr, extent: PrimExpr) -> IntervalSet:
        """``extent`` values starting at ``min_expr``."""
        if is_one(extent):
            return IntervalSet(min_expr, min_expr)
        return IntervalSet(min_expr, _minus(add(extent, min_expr), 1))

    @staticmethod
    def from_range(dom: Range) -> IntervalSet:
        """The elements of a range."""
        return IntSet.from_min_extent(dom.min, dom.extent)

    @staticmethod
    def interval(min_expr: PrimExpr, max_expr: PrimExpr) -> IntervalSet:
        """Everything between two values, which belong to it."""
        return IntervalSet(min_expr, max_expr)

    def min(self) -> PrimExpr:
        return self.min_value

    def max(self) -> PrimExpr:
        return self.max_value

    def is_nothing(self) -> bool:
        """Whether this is known to be empty."""
        return self.min_value is POS_INF or self.max_value is NEG_INF

    def is_everything(self) -> bool:
        return self.min_value is NEG_INF and self.max_value is POS_INF

    def is_single_point(self) -> bool:
        """Whether both ends are the same object."""
        return self.min_value is self.max_value

    def has_upper_bound(self) -> bool:
        return self.max_value is not POS_INF and not self.is_nothing()

    def has_lower_bound(self) -> bool:
        return self.min_value is not NEG_INF and not self.is_nothing()

    def point_value(self) -> PrimExpr:
        """The only element. Raises InternalError if there may be more."""
        if not self.is_single_point():
            raise InternalError(f"Check failed: {self} is not a single point")
        return self.min_value

    def can_prove_single_point(self, analyzer: Analyzer) -> bool:
        return self.is_single_point() or analyzer.can_prove_equal(self.min_value, self.max_value)

    def can_prove_positive(self) -> bool:
        low = _analyzer().simplify(self.min_value)
        return type(low) is IntImm and low.value > 0

    def can_prove_negative(self) -> bool:
        high = _analyzer().simplify(self.max_value)
        return type(high) is IntImm and high.value < 0

    def can_prove_non_positive(self) -> bool:
        high = _analyzer().simplify(self.max_value)
        return type(high) is IntImm and high.value <= 0

    def can_prove_non_negative(self) -> bool:
        low = _analyzer().simplify(self.min_value)
        return type(low) is IntImm and low.value >= 0

    def get_sign_type(self) -> SignType:
        if self.can_prove_positive():
            return SignType.POSITIVE
        if self.can_prove_negative():
            return SignType.NEGATIVE
        if self.is_single_point() and is_zero(self.point_value()):
            return SignType.ZERO
        return SignType.UNKNOWN

    # tvm: src/arith/int_set.cc (IntSet::CoverRange)
    def cover_range(self, max_range: Range) -> Range:
        """The set as a range; ``max_range`` if it has no end on one side."""
        if not self.has_upper_bound() or not self.has_lower_bound():
            return max_range
        analyzer = _analyzer()
        extent = sub(_plus(self.max_value, 1), self.min_value)
        return Range.from_min_extent(analyzer.simplify(self.min_value), analyzer.simplify(extent))

    # tvm: src/arith/int_set.cc (IntSet::MatchRange)
    def match_range(self, dom: Range) -> bool:
        """Whether the set is certainly the elements of the range."""
        if not self.has_upper_bound() or not self.has_lower_bound():
            return False
        analyzer = _analyzer()
        last = _minus(add(dom.extent, dom.min), 1)
        return is_zero(analyzer.simplify(sub(self.min_value, dom.min))) and is_zero(
            analyzer.simplify(sub(self.max_value, last))
        )


# tvm: src/arith/interval_set.h (IntervalSet)
class IntervalSet(IntSet):
    """All integers from ``min_value`` to ``max_value``, both inclusive."""

    __slots__ = ()

    def __init__(self, min_value: PrimExpr, max_value: PrimExpr) -> None:
        self.min_value = min_value if isinstance(min_value, PrimExpr) else convert(min_value)
        self.max_value = max_value if isinstance(max_value, PrimExpr) else convert(max_value)

    def __repr__(self) -> str:
        return f"arith.IntervalSet(min_value={self.min_value}, max_value={self.max_value})"


def pos_inf() -> PrimExpr:
    """The end of a set that has none above."""
    return POS_INF


def neg_inf() -> PrimExpr:
    """The end of a set that has none below."""
    return NEG_INF


DomMap = Mapping[Var, IntSet]


def _plus(expr: PrimExpr, number: int) -> PrimExpr:
    """``expr + number`` in the dtype of ``expr``, the way C++ mixes expressions and numbers."""
    return add(expr, make_const(expr.dtype, number))


def _minus(expr: PrimExpr, number: int) -> PrimExpr:
    return sub(expr, make_const(expr.dtype, number))


def _is_int_or_uint(expr: PrimExpr) -> bool:
    return dtypes.is_int(expr.dtype) or dtypes.is_uint(expr.dtype)


# tvm: src/arith/int_set.cc (Intersect of two)
def _intersect_pair(analyzer: Analyzer, a: IntSet, b: IntSet) -> IntervalSet:
    max_value = min_(a.max_value, b.max_value)
    min_value = max_(a.min_value, b.min_value)
    if _is_int_or_uint(max_value) and _is_int_or_uint(min_value) and analyzer.can_prove(less(max_value, min_value)):
        return IntSet.nothing()
    return IntervalSet(min_value, max_value)


# tvm: src/arith/int_set.cc (Union of two)
def _union_pair(a: IntSet, b: IntSet) -> IntSet:
    if a.is_nothing():
        return b
    if b.is_nothing():
        return a
    max_value = max_(a.max_value, b.max_value)
    min_value = min_(a.min_value, b.min_value)
    return IntervalSet(min_value, max_value)


# ---------------------------------------------------------------------------------------------------------------------
# Operations on intervals
# ---------------------------------------------------------------------------------------------------------------------


def _combine_add(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    if a.is_single_point() and b.is_single_point():
        return IntSet.single_point(add(a.min_value, b.min_value))
    if a.is_nothing():
        return a
    if b.is_nothing():
        return b
    min_value = add(a.min_value, b.min_value) if a.has_lower_bound() and b.has_lower_bound() else NEG_INF
    max_value = add(a.max_value, b.max_value) if a.has_upper_bound() and b.has_upper_bound() else POS_INF
    return IntervalSet(min_value, max_value)


def _combine_sub(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    if a.is_single_point() and b.is_single_point():
        return IntSet.single_point(sub(a.min_value, b.min_value))
    if a.is_nothing():
        return a
    if b.is_nothing():
        return b
    min_value = sub(a.min_value, b.max_value) if a.has_lower_bound() and b.has_upper_bound() else NEG_INF
    max_value = sub(a.max_value, b.min_value) if a.has_upper_bound() and b.has_lower_bound() else POS_INF
    return IntervalSet(min_value, max_value)


def _scale_interval(
    analyzer: Analyzer, a: IntSet, factor: PrimExpr, operation: Callable[[PrimExpr, PrimExpr], PrimExpr]
) -> IntSet:
    """``operation(x, factor)`` for x in a, where the operation keeps or reverses the order, as factor's sign has it."""
    if analyzer.can_prove_greater_equal(factor, 0):
        min_value = operation(a.min_value, factor) if a.has_lower_bound() else NEG_INF
        max_value = operation(a.max_value, factor) if a.has_upper_bound() else POS_INF
        return IntervalSet(min_value, max_value)
    if analyzer.can_prove_greater_equal(neg(factor), 1):
        min_value = operation(a.max_value, factor) if a.has_upper_bound() else NEG_INF
        max_value = operation(a.min_value, factor) if a.has_lower_bound() else POS_INF
        return IntervalSet(min_value, max_value)
    if a.has_upper_bound() and a.has_lower_bound():
        sign = greater_equal(factor, make_zero(factor.dtype))
        e1 = operation(a.min_value, factor)
        e2 = operation(a.max_value, factor)
        return IntervalSet(Select(sign, e1, e2), Select(sign, e2, e1))
    return IntSet.everything()


def _combine_mul(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    if a.is_single_point() and b.is_single_point():
        return IntSet.single_point(mul(a.min_value, b.min_value))
    if a.is_nothing():
        return a
    if b.is_nothing():
        return b
    if a.is_single_point():
        a, b = b, a
    if not b.is_single_point():
        return IntSet.everything()
    if is_zero(b.min_value):
        return b
    if is_one(b.min_value):
        return a
    return _scale_interval(analyzer, a, b.min_value, mul)


def _combine_division(
    analyzer: Analyzer, a: IntSet, b: IntSet, operation: Callable[[PrimExpr, PrimExpr], PrimExpr]
) -> IntSet:
    if a.is_single_point() and b.is_single_point():
        return IntSet.single_point(operation(a.min_value, b.min_value))
    if a.is_nothing():
        return a
    if b.is_nothing():
        return b
    if not b.is_single_point():
        return IntSet.everything()
    if is_zero(b.min_value):
        raise InternalError("Divide by zero in CombineInterval Div")
    if is_one(b.min_value):
        return a
    return _scale_interval(analyzer, a, b.min_value, operation)


def _combine_div(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    return _combine_division(analyzer, a, b, div)


def _combine_floordiv(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    return _combine_division(analyzer, a, b, floordiv)


def _symmetric_remainders(divisor: PrimExpr) -> IntSet:
    """Remainders by a divisor of unknown sign."""
    bound = _minus(abs_(divisor), 1)
    return IntervalSet(neg(bound), bound)


def _combine_mod(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    if a.is_single_point() and b.is_single_point():
        return IntSet.single_point(truncmod(a.min_value, b.min_value))
    if a.is_nothing():
        return a
    if b.is_nothing():
        return b
    if not b.is_single_point():
        return IntSet.everything()
    divisor = b.min_value
    if is_zero(divisor):
        raise InternalError("Modular by zero in CombineInterval Mod")
    # As in the original, this takes a for non-negative.
    if analyzer.can_prove_greater_equal(divisor, 0):
        return IntervalSet(make_zero(divisor.dtype), _minus(divisor, 1))
    return _symmetric_remainders(divisor)


def _combine_floormod(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    if a.is_single_point() and b.is_single_point():
        return IntSet.single_point(floormod(a.min_value, b.min_value))
    if a.is_nothing():
        return a
    if b.is_nothing():
        return b
    if not b.is_single_point():
        return IntSet.everything()
    divisor = b.min_value
    if is_zero(divisor):
        raise InternalError("Modular by zero in CombineInterval Mod")
    if not analyzer.can_prove_greater_equal(divisor, 0):
        return _symmetric_remainders(divisor)
    if type(divisor) is IntImm:
        within_period = _floormod_within_one_period(analyzer, a, divisor)
        if within_period is not None:
            return within_period
        max_residue = _largest_residue(analyzer, op.a, divisor.value)
        if max_residue is not None:
            return IntervalSet(make_zero(op.dtype), make_const(op.dtype, max_residue))
    return IntervalSet(make_zero(divisor.dtype), _minus(divisor, 1))


def _floormod_within_one_period(analyzer: Analyzer, a: IntSet, divisor: PrimExpr) -> IntSet | None:
    """``a mod b = a - (a / b) * b`` where the quotient is the same over all of a."""
    qmax = floordiv(a.max_value, divisor) if a.has_upper_bound() else POS_INF
    qmin = floordiv(a.min_value, divisor) if a.has_lower_bound() else NEG_INF
    # An infinity can be compared with the other one, but not with a number.
    if (qmin.dtype == "handle") != (qmax.dtype == "handle"):
        return None
    if not analyzer.can_prove(equal(qmax, qmin)):
        return None
    tmax = sub(a.max_value, mul(divisor, qmin))
    tmin = sub(a.min_value, mul(divisor, qmin))
    return IntervalSet(tmin, tmax)


def _largest_residue(analyzer: Analyzer, dividend: PrimExpr, divisor: int) -> int | None:
    """The largest remainder if dividend and divisor are known to share a factor."""
    dividend_mod = analyzer.modular_set(dividend)
    if dividend_mod.coeff <= 0:
        return None
    gcd = zero_aware_gcd(dividend_mod.coeff, divisor)
    if gcd <= 1:
        return None
    max_residue = (divisor // gcd - 1) * gcd + truncmod_int(dividend_mod.base, gcd)
    return max_residue if 0 <= max_residue < divisor else None


def _combine_max(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    if a.is_single_point() and b.is_single_point():
        return IntSet.single_point(max_(a.min_value, b.min_value))
    if a.is_nothing():
        return a
    if b.is_nothing():
        return b
    return IntervalSet(max_(a.min_value, b.min_value), max_(a.max_value, b.max_value))


def _combine_min(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    if a.is_single_point() and b.is_single_point():
        return IntSet.single_point(min_(a.min_value, b.min_value))
    if a.is_nothing():
        return a
    if b.is_nothing():
        return b
    return IntervalSet(min_(a.min_value, b.min_value), min_(a.max_value, b.max_value))


def _combine_logical(analyzer: Analyzer, a: IntSet, b: IntSet, op: BinaryOpExpr) -> IntSet:
    """Comparisons, and, or: either truth value unless both sides are points."""
    if a.is_single_point() and b.is_single_point():
        folded = try_const_fold(type(op), a.min_value, b.min_value)
        return IntSet.single_point(type(op)(a.min_value, b.min_value) if folded is None else folded)
    return IntervalSet(make_const(op.dtype, 0), make_const(op.dtype, 1))


# tvm: src/arith/int_set.cc (Combine)
_COMBINE: dict[type, Callable[[Analyzer, IntSet, IntSet, BinaryOpExpr], IntSet]] = {
    Add: _combine_add,
    Sub: _combine_sub,
    Mul: _combine_mul,
    Div: _combine_div,
    Mod: _combine_mod,
    FloorDiv: _combine_floordiv,
    FloorMod: _combine_floormod,
    Min: _combine_min,
    Max: _combine_max,
    EQ: _combine_logical,
    NE: _combine_logical,
    LT: _combine_logical,
    LE: _combine_logical,
    GT: _combine_logical,
    GE: _combine_logical,
    And: _combine_logical,
    Or: _combine_logical,
}


# ---------------------------------------------------------------------------------------------------------------------
# Evaluation
# ---------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/int_set.cc (IntervalSetEvaluator)
class IntervalSetEvaluator:
    """Intervals of expressions, given intervals of variables; those may contain variables of the map in turn.

    Attributes:
        dom_map: the interval of each variable to relax.
        dom_constraints: further intervals, one variable may have several.
    """

    def __init__(
        self, analyzer: Analyzer, dom_map: DomMap, dom_constraints: Sequence[tuple[Var, IntSet]] | None = None
    ) -> None:
        self.analyzer = analyzer
        self.dom_map = dom_map
        self.dom_constraints = dom_constraints
        self._recur_depth = 0
        self._visiting_vars: set[Var] = set()

    def eval(self, val: PrimExpr | IntSet) -> IntSet:
        """The interval of an expression; of an interval, the one its ends span when they are relaxed."""
        if isinstance(val, IntSet):
            return self._eval_interval(val)
        return self.visit(val)

    def _eval_interval(self, val: IntSet) -> IntSet:
        # Each variable of the map can be replaced once in a chain, which stops endless replacement.
        if self._recur_depth >= len(self.dom_map):
            return val
        self._recur_depth += 1
        min_set = self.visit(val.min_value)
        max_set = self.visit(val.max_value)
        self._recur_depth -= 1
        return IntervalSet(min_set.min_value, max_set.max_value)

    def visit(self, expr: PrimExpr) -> IntSet:
        kind = type(expr)
        if kind in _COMBINE:
            return self._visit_binary(expr)
        if kind is IntImm:
            return IntervalSet(expr, expr)
        if kind is Var or kind is SizeVar:
            return self._visit_var(expr)
        if kind is Select:
            true_set = self.visit(expr.true_value)
            false_set = self.visit(expr.false_value)
            return _union_pair(false_set, true_set)
        if kind is Cast:
            return self._visit_cast(expr)
        if kind is BufferLoad:
            return self._visit_buffer_load(expr)
        # Calls, not, let, reductions, loads of tensors, floats: nothing is known. Ramp and Broadcast do not occur.
        return IntSet.everything()

    def _visit_binary(self, op: BinaryOpExpr) -> IntSet:
        a = self.visit(op.a)
        b = self.visit(op.b)
        if a.min_value is op.a and a.max_value is op.a and b.min_value is op.b and b.max_value is op.b:
            return IntSet.single_point(op)
        return _COMBINE[type(op)](self.analyzer, a, b, op)

    def _visit_var(self, var: Var) -> IntSet:
        if var in self._visiting_vars:
            return IntSet.single_point(var)  # its own interval depends on it
        values: list[IntSet] = []
        if self.dom_constraints is not None:
            values.extend(int_set for constrained, int_set in self.dom_constraints if constrained is var)
        if var in self.dom_map:
            values.append(self.dom_map[var])
        if not values:
            return IntSet.single_point(var)
        res = values[0] if len(values) == 1 else intersect(values)
        if res.min_value is var and res.max_value is var:
            return res
        self._visiting_vars.add(var)
        result = self._eval_interval(res)
        self._visiting_vars.discard(var)
        return result

    def _visit_cast(self, op: Cast) -> IntSet:
        value_set = self.visit(op.value)
        if value_set.is_single_point():
            if value_set.is_nothing():
                return value_set
            return IntSet.single_point(cast(op.dtype, value_set.min_value))
        min_value = cast(op.dtype, value_set.min_value) if value_set.has_lower_bound() else NEG_INF
        max_value = cast(op.dtype, value_set.max_value) if value_set.has_upper_bound() else POS_INF
        return IntervalSet(min_value, max_value)

    def _visit_buffer_load(self, op: BufferLoad) -> IntSet:
        """The load itself, if its address is fixed; what a buffer contains is unknown."""
        if not _is_int_or_uint(op):
            return IntSet.everything()
        for index in op.indices:
            if self._uses_relaxed_var(index):
                return IntSet.everything()
        return IntSet.single_point(op)

    def _uses_relaxed_var(self, expr: PrimExpr) -> bool:
        found = False

        def visit(node) -> None:
            nonlocal found
            if isinstance(node, Var) and node in self.dom_map:
                found = True

        post_order_visit(expr, visit)
        return found


# tvm: src/arith/int_set.cc (IntSetAnalyzer::Impl)
class IntSetAnalyzer:
    """Intervals of expressions, given what is known about variables.

    Attributes:
        dom_map: the interval of each bound variable.
        dom_constraints: the intervals that the constraints in effect imply.
    """

    __slots__ = ("dom_constraints", "dom_map", "parent")

    def __init__(self, parent: Analyzer) -> None:
        self.parent = parent
        self.dom_map: dict[Var, IntSet] = {}
        self.dom_constraints: list[tuple[Var, IntSet]] = []

    def __call__(self, expr: PrimExpr, dom_map: DomMap | None = None) -> IntSet:
        """An interval that covers ``expr`` for all values of the variables in ``dom_map``.

        Without a map the bound variables and the constraints in effect are used; with one, only the map.
        """
        if not isinstance(expr, PrimExpr):
            expr = convert(expr)
        if dom_map is not None:
            return IntervalSetEvaluator(self.parent, dom_map).visit(expr)
        return IntervalSetEvaluator(self.parent, self.dom_map, self.dom_constraints).visit(expr)

    def copy_from(self, other: IntSetAnalyzer) -> None:
        """Take over what another analyzer knows."""
        self.parent.epoch += 1
        self.dom_map = dict(other.dom_map)
        self.dom_constraints = list(other.dom_constraints)

    def bind(self, var: Var, dom: Range, allow_override: bool = False) -> None:
        """A variable lies in a range."""
        self.update(var, IntSet.from_range(dom), allow_override)

    def update(self, var: Var, info: IntSet, allow_override: bool = False) -> None:
        """A variable lies in a set. Raises InternalError if it has another one and may not be overridden."""
        if not allow_override and var in self.dom_map:
            old_info = self.dom_map[var]
            if not deep_equal(old_info.min_value, info.min_value):
                raise InternalError(
                    f"Trying to update var '{var}' with a different minimum value: "
                    f"original={old_info.min_value}, new={info.min_value}"
                )
            if not deep_equal(old_info.max_value, info.max_value):
                raise InternalError(
                    f"Trying to update var '{var}' with a different maximum value: "
                    f"original={old_info.max_value}, new={info.max_value}"
                )
        self.parent.epoch += 1
        self.dom_map[var] = info

    # tvm: src/arith/int_set.cc (IntSetAnalyzer::Impl::EnterConstraint)
    def enter_constraint(self, constraint: PrimExpr) -> Callable[[], None] | None:
        """Use a condition until the returned function is called; None if it bounds no variable."""
        bounds = detect_bound_info(constraint)
        if not bounds:
            return None
        old_size = len(self.dom_constraints)
        self.dom_constraints.extend(bounds)
        new_size = len(self.dom_constraints)
        self.parent.epoch += 1

        def recover() -> None:
            if len(self.dom_constraints) != new_size:
                raise InternalError("Check failed: constraints must end in reverse order of their start")
            self.parent.epoch += 1
            del self.dom_constraints[old_size:]

        return recover


# tvm: src/arith/int_set.cc (IntSetAnalyzer::Impl::DetectBoundInfo)
def detect_bound_info(constraint: PrimExpr) -> list[tuple[Var, IntSet]]:
    """Intervals of variables that a condition implies: one for each side of a comparison that is a variable."""
    bounds: list[tuple[Var, IntSet]] = []
    for part in extract_constraints(constraint):
        kind = type(part)
        if kind not in (LE, LT, GE, GT, EQ):
            continue
        if isinstance(part.a, Var):
            bounds.append((part.a, _interval_of_comparison(kind, part.b)))
        if isinstance(part.b, Var):
            bounds.append((part.b, _interval_of_comparison(_MIRRORED[kind], part.a)))
    return bounds


_MIRRORED = {LE: GE, LT: GT, GE: LE, GT: LT, EQ: EQ}


def _interval_of_comparison(kind: type, limit: PrimExpr) -> IntSet:
    """All x with ``x <kind> limit``."""
    if kind is LE:
        return IntSet.interval(NEG_INF, limit)
    if kind is LT:
        return IntSet.interval(NEG_INF, _minus(limit, 1))
    if kind is GE:
        return IntSet.interval(limit, POS_INF)
    if kind is GT:
        return IntSet.interval(_plus(limit, 1), POS_INF)
    return IntSet.single_point(limit)


# ---------------------------------------------------------------------------------------------------------------------
# Sets of sets
# ---------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/int_set.cc (Union)
def union(sets: Sequence[IntSet]) -> IntSet:
    """The smallest interval around all of them, simplified; one set alone is returned as it is."""
    if not sets:
        return IntSet.nothing()
    if len(sets) == 1:
        return sets[0]
    analyzer = _analyzer()
    x = sets[0]
    for int_set in sets[1:]:
        x = _union_pair(x, int_set)
    return IntervalSet(analyzer.simplify(x.min_value), analyzer.simplify(x.max_value))


# tvm: src/arith/int_set.cc (UnionRegion)
def union_region(nd_int_sets: Sequence[Sequence[IntSet]]) -> list[IntSet]:
    """:func:`union`, per dimension of regions of the same rank."""
    if not nd_int_sets:
        return []
    return [union([region[i] for region in nd_int_sets]) for i in range(len(nd_int_sets[0]))]


# tvm: src/arith/int_set.cc (UnionLowerBound)
def union_lower_bound(sets: Sequence[IntSet]) -> IntSet:
    """An interval inside the union: sets that are not known to touch what is there already are left out."""
    if not sets:
        return IntSet.nothing()
    if len(sets) == 1:
        return sets[0]
    analyzer = _analyzer()
    min_inclusive: PrimExpr | None = None
    max_inclusive: PrimExpr | None = None
    for int_set in sets:
        if int_set.is_nothing():
            continue
        new_min, new_max = int_set.min_value, int_set.max_value
        if min_inclusive is None or max_inclusive is None:
            min_inclusive, max_inclusive = new_min, new_max
            continue
        starts_in_time = (
            new_min is NEG_INF
            or max_inclusive is POS_INF
            or analyzer.can_prove(less_equal(new_min, _plus(max_inclusive, 1)))
        )
        ends_late_enough = (
            min_inclusive is NEG_INF
            or new_max is POS_INF
            or analyzer.can_prove(less_equal(min_inclusive, _plus(new_max, 1)))
        )
        if starts_in_time and ends_late_enough:
            min_inclusive = min_(min_inclusive, new_min)
            max_inclusive = max_(max_inclusive, new_max)
    if min_inclusive is None or max_inclusive is None:
        return IntSet.nothing()
    return IntSet.interval(min_inclusive, max_inclusive)


# tvm: src/arith/int_set.cc (UnionRegionLowerBound)
def union_region_lower_bound(nd_int_sets: Sequence[Sequence[IntSet]]) -> list[IntSet]:
    """:func:`union_lower_bound`, per dimension of regions of the same rank."""
    if not nd_int_sets:
        return []
    return [union_lower_bound([region[i] for region in nd_int_sets]) for i in range(len(nd_int_sets[0]))]


# tvm: src/arith/int_set.cc (Intersect)
def intersect(sets: Sequence[IntSet]) -> IntSet:
    """What is in all of them, simplified; one set alone is returned as it is."""
    if not sets:
        return IntSet.nothing()
    if len(sets) == 1:
        return sets[0]
    analyzer = _analyzer()
    x = sets[0]
    for int_set in sets[1:]:
        x = _intersect_pair(analyzer, x, int_set)
    return IntervalSet(analyzer.simplify(x.min_value), analyzer.simplify(x.max_value))


# tvm: src/arith/int_set.cc (ConvertDomMap)
def _by_var(dom_map: Mapping[Var, IntSet] | Mapping[IterVar, IntSet]) -> DomMap:
    return {(key.var if isinstance(key, IterVar) else key): value for key, value in dom_map.items()}


# tvm: src/arith/int_set.cc (EvalSet of an expression, of a range and of a set)
def eval_set(e: PrimExpr | Range | IntSet, dom_map: Mapping[Var, IntSet] | Mapping[IterVar, IntSet]) -> IntSet:
    """An interval around everything ``e`` can be, for all values of the variables in ``dom_map``."""
    by_var = _by_var(dom_map)
    analyzer = _analyzer()
    evaluator = IntervalSetEvaluator(analyzer, by_var)
    if isinstance(e, Range):
        if _is_int_or_uint(e.min) and analyzer.can_prove_equal(e.extent, 1):
            return eval_set(e.min, by_var)
        # Simplified first, since minimum and extent may share variables.
        last = analyzer.simplify(_minus(add(e.min, e.extent), 1))
        return evaluator.eval(IntervalSet(e.min, last))
    if isinstance(e, IntSet):
        max_value = evaluator.visit(e.max_value).max() if e.has_upper_bound() else e.max_value
        min_value = evaluator.visit(e.min_value).min() if e.has_lower_bound() else e.min_value
        return IntervalSet(min_value, max_value)
    return evaluator.visit(e)


# tvm: src/arith/int_set.cc (EvalSet of a region)
def eval_set_region(region: Iterable[Range], dom_map: DomMap) -> list[IntSet]:
    """:func:`eval_set` of each range of a region, with the differences the original has for regions."""
    analyzer = _analyzer()
    evaluator = IntervalSetEvaluator(analyzer, dom_map)
    result = []
    for dom in region:
        last = add(dom.min, _minus(dom.extent, 1))
        result.append(evaluator.eval(IntervalSet(dom.min, analyzer.simplify(last))))
    return result


# tvm: src/arith/int_set.cc (SubExprIntervalSetEvaluator)
class _SubExprIntervalSetEvaluator(IntervalSetEvaluator):
    def __init__(self, analyzer: Analyzer, dom_map: DomMap) -> None:
        super().__init__(analyzer, dom_map)
        self.expr_map: dict[int, IntSet] = {}

    def visit(self, expr: PrimExpr) -> IntSet:
        ret = super().visit(expr)
        self.expr_map[id(expr)] = ret
        return ret


# tvm: src/arith/int_set.cc (EvalSetForEachSubExpr)
def eval_set_for_each_sub_expr(e: PrimExpr, dom_map: DomMap) -> dict[int, IntSet]:
    """The interval of every sub-expression, under the object's ``id``."""
    evaluator = _SubExprIntervalSetEvaluator(_analyzer(), dom_map)
    evaluator.visit(e)
    return evaluator.expr_map


# tvm: src/arith/int_set.cc (AsIntSet)
def as_int_set(var_dom: Mapping[Var, Range]) -> dict[Var, IntSet]:
    """The ranges of variables as sets."""
    return {var: IntSet.from_range(dom) for var, dom in var_dom.items()}


# ---------------------------------------------------------------------------------------------------------------------
# Regions
# ---------------------------------------------------------------------------------------------------------------------


def _is_const_number(expr: PrimExpr) -> bool:
    return type(expr) is IntImm or type(expr) is FloatImm


# tvm: src/arith/int_set.cc (EvalIterSum)
def _eval_iter_sum(iter_min, extent: PrimExpr, analyzer: Analyzer) -> IntSet | None:
    """What ``extent`` values from each value of a fused iterator sum cover; None if there may be gaps."""
    if analyzer.can_prove(equal(extent, make_zero(extent.dtype))):
        return IntSet.nothing()
    if not iter_min.args:
        return IntSet.from_min_extent(iter_min.base, extent)
    if len(iter_min.args) != 1:
        raise InternalError("The `EvalIterSum` expects fused iter sum expr")
    split = iter_min.args[0]
    if analyzer.can_prove(equal(split.extent, make_zero(split.extent.dtype))):
        return IntSet.nothing()
    if not analyzer.can_prove(greater_equal(extent, split.scale)):
        return None
    base = iter_min.base
    if analyzer.can_prove(less(split.scale, make_zero(split.scale.dtype))):
        # The iterator runs from (extent - 1) * scale up to 0.
        var_extent = mul(_minus(split.extent, 1), split.scale)
        return IntSet.from_min_extent(add(base, var_extent), sub(extent, var_extent))
    return IntSet.from_min_extent(base, add(extent, mul(_minus(split.extent, 1), split.scale)))


# tvm: src/arith/int_set.cc (EstimateRegionStrictBound)
def estimate_region_strict_bound(
    region: Sequence[Range], var_dom: Mapping[Var, Range], predicate: PrimExpr, analyzer: Analyzer | None = None
) -> list[IntSet] | None:
    """The region that is touched while the variables run through their ranges: exactly, or None if that is not clear.

    Args:
        region: one range per dimension; extents must be constant.
        var_dom: the ranges of the variables.
        predicate: the condition under which the access happens.
    """
    from .iter_affine_map import IterMapLevel, detect_iter_map

    if analyzer is None:
        analyzer = _analyzer()
    if not all(_is_const_number(dom.extent) for dom in region):
        return None
    affine_indices = [dom.min for dom in region]
    res = detect_iter_map(affine_indices, var_dom, predicate, IterMapLevel.Surjective, analyzer=analyzer)
    if not res.indices:
        return None
    result = []
    for sum_expr, dom in zip(res.indices, region):
        int_set = _eval_iter_sum(sum_expr, dom.extent, analyzer)
        if int_set is None:
            return None
        result.append(int_set)
    return result


# tvm: src/arith/int_set.cc (EstimateRegionLowerBound)
def estimate_region_lower_bound(
    region: Sequence[Range], var_dom: Mapping[Var, Range], predicate: PrimExpr, analyzer: Analyzer | None = None
) -> list[IntSet] | None:
    """A region that is certainly touched: :func:`estimate_region_strict_bound`."""
    return estimate_region_strict_bound(region, var_dom, predicate, analyzer)


# tvm: src/arith/int_set.cc (EstimateRegionUpperBound)
def estimate_region_upper_bound(
    region: Sequence[Range], var_dom: Mapping[Var, Range], predicate: PrimExpr, analyzer: Analyzer | None = None
) -> list[IntSet]:
    """A region that covers all that is touched: the strict one, else per dimension, else by intervals."""
    from .iter_affine_map import IterMapLevel, detect_iter_map

    if analyzer is None:
        analyzer = _analyzer()
    strict = estimate_region_strict_bound(region, var_dom, predicate, analyzer)
    if strict is not None:
        return strict
    result = []
    for dom in region:
        res = detect_iter_map([dom.min], var_dom, predicate, IterMapLevel.Surjective, analyzer=analyzer)
        if res.indices:
            if not _is_const_number(dom.extent):
                # The original relaxes the extent here and then goes on with the extent itself; only the check remains.
                if not eval_set(dom.extent, as_int_set(var_dom)).has_upper_bound():
                    raise InternalError("Check failed: relaxed.HasUpperBound()")
            int_set = _eval_iter_sum(res.indices[0], dom.extent, analyzer)
            if int_set is not None:
                result.append(int_set)
                continue
        result.append(eval_set(dom, as_int_set(var_dom)))
    return result
