"""The rewrite rules for comparisons and conditions, in the order of ``src/arith/rewrite_simplify.cc``.

The tables of comparisons start after `RewriteSimplifierImpl.try_compare` has not settled the matter. The rules for
vectors are left out: every expression here has one lane.
"""

from __future__ import annotations

from .. import expr as tir
from ..expr import Add, FloorDiv, IntImm, PrimExpr, Sub, children, equal, less, less_equal, make_zero
from . import int_operator
from .int_operator import wrap_int32, wrap_int64, zero_aware_gcd
from .ir_mutator_with_analyzer import READ_STATE, side_effect
from .pattern_match import (
    RuleTable,
    c1,
    c2,
    c3,
    code,
    false,
    floordiv,
    floormod,
    max_,
    min_,
    recursive_rewrite,
    recursive_rewrite_if,
    rewrite,
    rewrite_if,
    true,
    truncdiv,
    truncmod,
    x,
    y,
    z,
    zero,
)

# --------------------------------------------------------------------------------------------------------------------
# EQ and Not. NE and LE are written with them.
# --------------------------------------------------------------------------------------------------------------------

# tvm: src/arith/rewrite_simplify.cc (ApplyRewriteRules of EQ)
EQ_INDEX = RuleTable(
    rewrite(c1 == x, x == c1),
    rewrite(x - c1 == c2, x == c2 + c1),
    rewrite(c1 - x == c2, x == c1 - c2),
    rewrite(x + c1 == c2, x == c2 - c1),
    recursive_rewrite(x * y == 0, (x == 0) | (y == 0)),
    rewrite(x == x, true),
)

# As for differences of floats: NaN == NaN is taken to hold.
EQ_OTHER = RuleTable(
    rewrite_if(x == x, true, lambda x: side_effect(x) <= READ_STATE),
)

# tvm: src/arith/rewrite_simplify.cc (ApplyRewriteRules of Not)
NOT = RuleTable(
    rewrite(~~x, x),
    rewrite(~(x <= y), y < x),
    rewrite(~(x >= y), x < y),
    rewrite(~(x < y), y <= x),
    rewrite(~(x > y), x <= y),
    rewrite(~(x == y), x != y),
    rewrite(~(x != y), x == y),
    recursive_rewrite(~(x | y), ~x & ~y),
    recursive_rewrite(~(x & y), ~x | ~y),
)


# --------------------------------------------------------------------------------------------------------------------
# LT
# --------------------------------------------------------------------------------------------------------------------


def _is_multiple_of(s, expr: PrimExpr, expr_gcd: int, factor: int) -> bool:
    if factor <= 1:
        return False
    if expr_gcd % factor == 0:
        return True
    condition = equal(tir.floormod(expr, IntImm(expr.dtype, factor)), make_zero(expr.dtype))
    known = s.try_match_literal_constraint(condition)
    if known is not None:
        return known.value != 0
    return s.analyzer.can_prove(condition)


def _modular_gcd(s, expr: PrimExpr) -> int:
    """The largest number that the modular set of the expression says divides it."""
    coeff, base = s.analyzer.modular_set.visit(expr)
    return zero_aware_gcd(base, coeff)


def _aligned_below(s, offset: PrimExpr, base: PrimExpr, other: PrimExpr) -> tuple[int, int] | None:
    """The bounds of `offset`, if 0 <= offset < k for a k that divides `base` and `other`; otherwise None."""
    bounds = low, high = s.analyzer.const_int_bound.visit(offset)
    if low < 0:
        return None
    base_gcd = _modular_gcd(s, base)
    if base_gcd == 1:
        return None
    other_gcd = _modular_gcd(s, other)
    # Constraints within an And do not reach the modular set: with nothing known of `other`, try the factor of `base`.
    common_factor = zero_aware_gcd(base_gcd, other_gcd)
    factor = common_factor if common_factor > 1 else base_gcd
    if factor <= 1 or high >= factor or not _is_multiple_of(s, other, other_gcd, factor):
        return None
    return bounds


# tvm: src/arith/rewrite_simplify.cc (eliminate_bounded_offset)
def _drop_offset_on_the_left(s, a, b) -> PrimExpr | None:
    """tx * 4 + i < N is tx * 4 < N if 0 <= i < 4 and 4 divides N."""
    for base, offset in ((a.a, a.b), (a.b, a.a)):
        if _aligned_below(s, offset, base, b) is not None:
            return s.recursive_rewrite(less(base, b))
    return None


# tvm: src/arith/rewrite_simplify.cc (eliminate_bounded_offset_rhs)
def _drop_offset_on_the_right(s, a, b) -> PrimExpr | None:
    """z < x * 4 + y is z <= x * 4 if 1 <= y < 4 and 4 divides z."""
    for base, offset in ((b.a, b.b), (b.b, b.a)):
        bounds = _aligned_below(s, offset, base, a)
        if bounds is not None:
            low, high = bounds
            if low > 0:
                return s.recursive_rewrite(less_equal(a, base))
            if high == 0:
                return s.recursive_rewrite(less(a, base))
    return None


# tvm: src/arith/rewrite_simplify.cc (ExtractConstantOffset)
def _extract_constant_offset(expr: PrimExpr) -> tuple[PrimExpr, int]:
    """What is left of a sum or difference without its constant, and the constant. (c1 + x is always x + c1 by then.)"""
    if type(expr) is Add and type(expr.b) is IntImm:
        return expr.a, expr.b.value
    if type(expr) is Sub:
        if type(expr.b) is IntImm:
            return expr.a, wrap_int64(-expr.b.value)
        if type(expr.a) is IntImm:
            return expr.b, expr.a.value
    return expr, 0


def _merge_constants(s, a, b) -> PrimExpr | None:
    lhs, lhs_offset = _extract_constant_offset(a)
    rhs, rhs_offset = _extract_constant_offset(b)
    if lhs_offset == 0 and rhs_offset == 0:
        return None
    # 64 bit arithmetic, as in the original.
    difference = wrap_int64(rhs_offset - lhs_offset)
    if difference == 0:
        return s.recursive_rewrite(less(lhs, rhs))
    if difference == 1:
        return s.recursive_rewrite(less_equal(lhs, rhs))
    if difference < 0 and rhs_offset != 0:
        return s.recursive_rewrite(less(tir.add(lhs, IntImm(lhs.dtype, wrap_int64(-difference))), rhs))
    if difference > 0 and lhs_offset != 0:
        return s.recursive_rewrite(less(lhs, tir.add(rhs, IntImm(rhs.dtype, difference))))
    return None


def _contains_floordiv(expr: PrimExpr) -> bool:
    return type(expr) is FloorDiv or any(_contains_floordiv(child) for child in children(expr))


def _divide_by_common_factor(s, a, b) -> PrimExpr | None:
    factor = _modular_gcd(s, a)
    if factor != 1:
        factor = zero_aware_gcd(factor, _modular_gcd(s, b))
    if factor <= 1:
        return None
    lhs = s.visit(tir.floordiv(a, IntImm(a.dtype, wrap_int32(factor))))
    rhs = s.visit(tir.floordiv(b, IntImm(b.dtype, wrap_int32(factor))))
    # Only if the division goes away: x * k < N is better than x < N // k.
    if _contains_floordiv(lhs) or _contains_floordiv(rhs):
        return None
    return s.recursive_rewrite(less(lhs, rhs))


def _positive(c1: int) -> bool:
    return c1 > 0


# tvm: src/arith/rewrite_simplify.cc (ApplyRewriteRules of LT)
LT_INDEX = RuleTable(
    rewrite(x + y < x + z, y < z),
    rewrite(x + y < z + x, y < z),
    rewrite(y + x < x + z, y < z),
    rewrite(y + x < z + x, y < z),
    rewrite(y - x < z - x, y < z),
    rewrite(x - y < x - z, z < y),
    rewrite(x < x + z, zero < z),
    rewrite(x < z + x, zero < z),
    rewrite(x < x - z, z < 0),
    rewrite_if(x * c1 < y * c1, x < y, lambda c1: c1 > 0),
    rewrite_if(x * c1 < y * c1, y < x, lambda c1: c1 < 0),
    # constants: the division has to truncate
    rewrite_if(x * c2 < c1, x < truncdiv(c1 - 1, c2) + 1, lambda c1, c2: c1 > 0 and c2 > 0),
    rewrite_if(x * c2 < c1, x < truncdiv(c1, c2), lambda c1, c2: c1 <= 0 and c2 > 0),
    rewrite_if(x * c2 < c1, truncdiv(c1 - 1, c2) - 1 < x, lambda c1, c2: c1 > 0 and c2 < 0),
    rewrite_if(x * c2 < c1, truncdiv(c1, c2) < x, lambda c1, c2: c1 <= 0 and c2 < 0),
    rewrite_if(c1 < x * c2, truncdiv(c1 + 1, c2) - 1 < x, lambda c1, c2: c1 < 0 and c2 > 0),
    rewrite_if(c1 < x * c2, truncdiv(c1, c2) < x, lambda c1, c2: c1 >= 0 and c2 > 0),
    rewrite_if(c1 < x * c2, x < truncdiv(c1 + 1, c2) + 1, lambda c1, c2: c1 < 0 and c2 < 0),
    rewrite_if(c1 < x * c2, x < truncdiv(c1, c2), lambda c1, c2: c1 >= 0 and c2 < 0),
    # truncating division
    rewrite_if(truncdiv(x, c1) < c2, x < c1 * c2, lambda c1, c2: c1 > 0 and c2 > 0),
    rewrite_if(truncdiv(x, c1) < c2, x < c1 * (c2 - 1) + 1, lambda c1, c2: c1 > 0 and c2 <= 0),
    rewrite_if(c1 < truncdiv(x, c2), (c1 + 1) * c2 - 1 < x, lambda c1, c2: c1 >= 0 and c2 > 0),
    rewrite_if(c1 < truncdiv(x, c2), c1 * c2 < x, lambda c1, c2: c1 < 0 and c2 > 0),
    # x - (x / c1) * c1 is x % c1 whichever way division rounds
    rewrite_if(truncdiv(x, c1) * c1 < x, zero < truncmod(x, c1), _positive),
    rewrite_if(truncdiv(x, c1) * c1 < x + y, zero < truncmod(x, c1) + y, _positive),
    rewrite_if(truncdiv(x, c1) * c1 < x - y, y < truncmod(x, c1), _positive),
    rewrite_if(truncdiv(x + c2, c1) * c1 < x, c2 < truncmod(x + c2, c1), _positive),
    rewrite_if(truncdiv(x + c2, c1) * c1 < x + y, c2 < truncmod(x + c2, c1) + y, _positive),
    rewrite_if(truncdiv(x + c2, c1) * c1 < x - y, y < truncmod(x + c2, c1) + (0 - c2), _positive),
    # flooring division
    rewrite_if(floordiv(x, c1) < c2, x < c1 * c2, _positive),
    rewrite_if(c1 < floordiv(x, c2), (c1 + 1) * c2 - 1 < x, lambda c2: c2 > 0),
    rewrite_if(floordiv(x, c1) * c1 < x, zero < floormod(x, c1), _positive),
    rewrite_if(floordiv(x, c1) * c1 < x + y, zero < floormod(x, c1) + y, _positive),
    rewrite_if(floordiv(x, c1) * c1 < x - y, y < floormod(x, c1), _positive),
    rewrite_if(floordiv(x + c2, c1) * c1 < x, c2 < floormod(x + c2, c1), _positive),
    rewrite_if(floordiv(x + c2, c1) * c1 < x + y, c2 < floormod(x + c2, c1) + y, _positive),
    rewrite_if(floordiv(x + c2, c1) * c1 < x - y, y < floormod(x + c2, c1) + (0 - c2), _positive),
    # canonicalization
    recursive_rewrite(min_(x, y) < z, (x < z) | (y < z)),
    recursive_rewrite(max_(x, y) < z, (x < z) & (y < z)),
    recursive_rewrite(z < min_(x, y), (z < x) & (z < y)),
    recursive_rewrite(z < max_(x, y), (z < x) | (z < y)),
    recursive_rewrite((c1 < x + c2, c1 - x < c2), c1 - c2 < x),
    recursive_rewrite((c1 < c2 - x, x + c1 < c2), x < c2 - c1),
    recursive_rewrite(c1 < x - c2, c1 + c2 < x),
    recursive_rewrite(x - c2 < c1, x < c1 + c2),
    recursive_rewrite(x < c1 - y, x + y < c1),
    recursive_rewrite(c1 - y < x, c1 < x + y),
    recursive_rewrite(x < c1 + y, x - y < c1),
    recursive_rewrite(c1 + y < x, c1 < x - y),
    code(x + y < z, _drop_offset_on_the_left),
    code(z < x + y, _drop_offset_on_the_right),
    code(x < y, _merge_constants),
    code(x < y, _divide_by_common_factor),
)


# --------------------------------------------------------------------------------------------------------------------
# And
# --------------------------------------------------------------------------------------------------------------------


def _remainder_exceeds(c1: int, c2: int, c3: int) -> bool:
    return int_operator.truncmod(int_operator.truncmod(c1, c2) + c2, c2) > c3


# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of And)
AND = RuleTable(
    rewrite((x == y) & (x != y), false),
    rewrite((x != y) & (x == y), false),
    rewrite(x & ~x, false),
    rewrite((x <= y) & (y < x), false),
    rewrite((y < x) & (x <= y), false),
    rewrite_if((x < c1) & (c2 < x), false, lambda c1, c2: c2 + 1 >= c1),
    rewrite_if((c2 < x) & (x < c1), false, lambda c1, c2: c2 + 1 >= c1),
    rewrite_if(
        ((x < c1) & (c2 <= x), (c2 <= x) & (x < c1), (x <= c1) & (c2 < x), (c2 < x) & (x <= c1)),
        false,
        lambda c1, c2: c2 >= c1,
    ),
    rewrite_if(((x <= c1) & (c2 <= x), (c2 <= x) & (x <= c1)), false, lambda c1, c2: c2 > c1),
    rewrite((x == c1) & (x == c2), (x == c1) & (c1 == c2)),
    rewrite(((x == c1) & (x != c2), (x != c2) & (x == c1)), (x == c1) & (c1 != c2)),
    recursive_rewrite(
        ((floordiv(x, c2) == c1) & (floormod(x, c2) == c3), (floormod(x, c2) == c3) & (floordiv(x, c2) == c1)),
        x == c1 * c2 + c3,
    ),
    recursive_rewrite_if(
        ((zero <= x - y * c1) & (x - y * c1 < c1), (x - y * c1 < c1) & (zero <= x - y * c1)),
        y == floordiv(x, c1),
        _positive,
    ),
    recursive_rewrite(
        ((c1 < x - y * c1) & (x - y * c1 <= 0), (x - y * c1 < c1) & (zero <= x - y * c1)), y == floordiv(x, c1)
    ),
    recursive_rewrite_if(
        ((zero <= x + y * c2) & (x + y * c2 < c1), (x + y * c2 < c1) & (zero <= x + y * c2)),
        y == floordiv(x, c1),
        lambda c1, c2: c2 == -c1,
    ),
    recursive_rewrite_if(
        (x < c1) & (floormod(x, c2) < c3),
        (x < c1 - c2 + c3) & (floormod(x, c2) < c3),
        lambda c1, c2: c1 % c2 == 0,
    ),
    recursive_rewrite_if(
        (x < c1) & (floormod(x, c2) < c3),
        (x < c1 - floormod(c1, c2) + c3) & (floormod(x, c2) < c3),
        _remainder_exceeds,
    ),
    recursive_rewrite_if(
        (x <= c1) & (floormod(x, c2) < c3),
        (x < c1 + 1 - c2 + c3) & (floormod(x, c2) < c3),
        lambda c1, c2: (c1 + 1) % c2 == 0,
    ),
    recursive_rewrite_if(
        (x <= c1) & (floormod(x, c2) < c3),
        (x < c1 + 1 - floormod(c1, c2) + c3) & (floormod(x, c2) < c3),
        lambda c1, c2, c3: _remainder_exceeds(c1 + 1, c2, c3),
    ),
    recursive_rewrite(
        ((floordiv(x, c2) == c1) & (floormod(x, c2) < c3), (floormod(x, c2) < c3) & (floordiv(x, c2) == c1)),
        (c1 * c2 <= x) & (x < c1 * c2 + c3),
    ),
    recursive_rewrite(
        ((floordiv(x, c2) == c1) & (floormod(x, c2) <= c3), (floormod(x, c2) <= c3) & (floordiv(x, c2) == c1)),
        (c1 * c2 <= x) & (x <= c1 * c2 + c3),
    ),
    recursive_rewrite(
        ((floordiv(x, c2) == c1) & (c3 <= floormod(x, c2)), (c3 <= floormod(x, c2)) & (floordiv(x, c2) == c1)),
        (c1 * c2 + c3 <= x) & (x < (c1 + 1) * c2),
    ),
    recursive_rewrite(
        ((floordiv(x, c2) == c1) & (c3 < floormod(x, c2)), (c3 < floormod(x, c2)) & (floordiv(x, c2) == c1)),
        (c1 * c2 + c3 < x) & (x < (c1 + 1) * c2),
    ),
    recursive_rewrite(x & (y & z), (x & y) & z),
)


# --------------------------------------------------------------------------------------------------------------------
# Or
# --------------------------------------------------------------------------------------------------------------------

# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of Or)
OR = RuleTable(
    rewrite((x == y) | (x != y), true),
    rewrite((x != y) | (x == y), true),
    rewrite(x | ~x, true),
    rewrite((x <= y) | (y < x), true),
    rewrite((y < x) | (x <= y), true),
    rewrite((x < y) | (y < x), x != y),
    rewrite_if((x < c1) | (c2 < x), true, lambda c1, c2: c2 < c1),
    rewrite_if((c2 < x) | (x < c1), true, lambda c1, c2: c2 < c1),
    rewrite_if((x <= c1) | (c2 < x), true, lambda c1, c2: c2 <= c1),
    rewrite_if((c2 < x) | (x <= c1), true, lambda c1, c2: c2 <= c1),
    rewrite_if((x < c1) | (c2 <= x), true, lambda c1, c2: c2 <= c1),
    rewrite_if((c2 <= x) | (x < c1), true, lambda c1, c2: c2 <= c1),
    rewrite_if((x <= c1) | (c2 <= x), true, lambda c1, c2: c2 <= c1 + 1),
    rewrite_if((c2 <= x) | (x <= c1), true, lambda c1, c2: c2 <= c1 + 1),
    rewrite((x != c1) | (x != c2), (x != c1) | (c1 != c2)),
    rewrite((x != c1) | (x == c2), (x != c1) | (c1 == c2)),
    rewrite((x == c2) | (x != c1), (x != c1) | (c1 == c2)),
    recursive_rewrite((x < y) | (x == y), x <= y),
    recursive_rewrite((x < y) | (y == x), x <= y),
    recursive_rewrite((x == y) | (x < y), x <= y),
    recursive_rewrite((y == x) | (x < y), x <= y),
    recursive_rewrite(x | (y | z), (x | y) | z),
)
