"""The rewrite rules for sums, products, quotients and remainders, in the order of ``src/arith/rewrite_simplify.cc``.

One table per class of node and kind of dtype: ``..._INDEX`` for int32 and int64, ``..._OTHER`` for what else there is.
The rules for vectors (ramp, broadcast) and for scalable vectors (vscale) are left out: every expression here has one
lane.
"""

from __future__ import annotations

from .. import expr as tir
from ..expr import Add, IntImm, Mul, PrimExpr
from . import int_operator
from .int_operator import wrap_int32, wrap_int64
from .ir_mutator_with_analyzer import READ_STATE, side_effect
from .pattern_match import (
    RuleTable,
    b1,
    b2,
    c1,
    c2,
    c3,
    code,
    floordiv,
    floormod,
    max_,
    min_,
    one_like,
    recursive_rewrite,
    recursive_rewrite_if,
    rewrite,
    rewrite_if,
    s1,
    s2,
    select,
    truncdiv,
    truncmod,
    x,
    y,
    z,
    zero_like,
)


def _divides(c1: int, c2: int) -> bool:
    return c2 > 0 and c1 % c2 == 0


# --------------------------------------------------------------------------------------------------------------------
# Add
# --------------------------------------------------------------------------------------------------------------------

# Condition rules: for every dtype.
ADD_OTHER = RuleTable(
    rewrite(select(x, b1, b2) + select(x, s1, s2), select(x, b1 + s1, b2 + s2)),
)

# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of Add)
ADD_INDEX = (
    RuleTable(
        # cancelation
        rewrite((x - y) + y, x),
        rewrite(x + (y - x), y),
        rewrite((x - y) + (y - z), x - z),
        rewrite((x - y) + (z - x), z - y),
        rewrite(min_(x, y - z) + z, min_(x + z, y)),
        rewrite(min_(x - z, y) + z, min_(x, y + z)),
        rewrite(max_(x, y - z) + z, max_(x + z, y)),
        rewrite(max_(x - z, y) + z, max_(x, y + z)),
        rewrite_if(min_(x, y + z * c1) + z * c2, min_(x + z * c2, y), lambda c1, c2: c1 == -c2),
        rewrite_if(max_(x, y + z * c1) + z * c2, max_(x + z * c2, y), lambda c1, c2: c1 == -c2),
        rewrite_if(min_(y + z * c1, x) + z * c2, min_(x + z * c2, y), lambda c1, c2: c1 == -c2),
        rewrite_if(max_(y + z * c1, x) + z * c2, max_(x + z * c2, y), lambda c1, c2: c1 == -c2),
        rewrite(
            (
                max_(x, y) + min_(x, y),
                min_(x, y) + max_(x, y),
                max_(x, y) + min_(y, x),
                min_(x, y) + max_(y, x),
            ),
            x + y,
        ),
        rewrite_if(min_(x, y + c1) + c2, min_(x + c2, y), lambda c1, c2: c1 == -c2),
        rewrite_if(min_(x + c1, y) + c2, min_(x, y + c2), lambda c1, c2: c1 == -c2),
        rewrite_if(max_(x, y + c1) + c2, max_(x + c2, y), lambda c1, c2: c1 == -c2),
        rewrite_if(max_(x + c1, y) + c2, max_(x, y + c2), lambda c1, c2: c1 == -c2),
        # constant folding
        rewrite((x + c1) + c2, x + (c1 + c2)),
        # coefficients of products
        rewrite(x + x, x * 2),
        rewrite((x * y + x, y * x + x, x + y * x, x + x * y), (y + 1) * x),
        rewrite((x * y + x * z, y * x + x * z, x * y + z * x, y * x + z * x), (y + z) * x),
        # truncating division
        rewrite(truncdiv(x, c1) * c1 + truncmod(x, c1), x),
        # flooring division
        rewrite(
            (
                floordiv(x, y) * y + floormod(x, y),
                y * floordiv(x, y) + floormod(x, y),
                floormod(x, y) + floordiv(x, y) * y,
                floormod(x, y) + y * floordiv(x, y),
            ),
            x,
        ),
        rewrite_if(floordiv(floormod(x, c2) + c1, c2) + floordiv(x, c2), floordiv(x + c1, c2), lambda c2: c2 > 0),
        recursive_rewrite(floordiv(x, 2) + floormod(x, 2), floordiv(x + 1, 2)),
        # (x + 1) % 2 + x % 2 is 1. (x + 1) % 2 alone stays: 1 - x % 2 has a negative coefficient.
        rewrite_if(floormod(x + c1, 2) + floormod(x, 2), one_like(x), lambda c1: c1 % 2 == 1),
        rewrite_if(floormod(x, 2) + floormod(x + c1, 2), one_like(x), lambda c1: c1 % 2 == 1),
        # canonicalization
        recursive_rewrite((x + (c1 - y), (c1 - y) + x), (x - y) + c1),
        recursive_rewrite(((x + c1) + y, x + (c1 + y), x + (y + c1)), (x + y) + c1),
        recursive_rewrite(x + max_(y, z), max_(y, z) + x),
        recursive_rewrite(x + min_(y, z), min_(y, z) + x),
        recursive_rewrite(truncmod(y, c1) + x * c1, x * c1 + truncmod(y, c1)),
        recursive_rewrite(floormod(y, c1) + x * c1, x * c1 + floormod(y, c1)),
    )
    + ADD_OTHER
)


# --------------------------------------------------------------------------------------------------------------------
# Sub
# --------------------------------------------------------------------------------------------------------------------


def _nonzero(c1: int) -> bool:
    return c1 != 0


def _c3_is_c1_times_c2(c1: int, c2: int, c3: int) -> bool:
    return c1 != 0 and c3 == c1 * c2


def _same_difference(s, b1, b2, s1, s2) -> bool:
    return s.can_prove_equal(tir.sub(tir.sub(b1, s1), tir.sub(b2, s2)), 0)


_SUB_CONDITION = RuleTable(
    rewrite(select(x, b1, b2) - select(x, s1, s2), select(x, b1 - s1, b2 - s2)),
    rewrite(select(x, y, z) - z, select(x, y - z, zero_like(z))),
    rewrite(select(x, y, z) - y, select(x, zero_like(y), z - y)),
)

# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of Sub)
SUB_INDEX = (
    RuleTable(
        # cancelation
        rewrite(((x + y) - y, (y + x) - y), x),
        rewrite((x - (y + x), x - (x + y)), 0 - y),
        rewrite((min_(x, y) - y, x - max_(y, x)), min_(x - y, 0)),
        rewrite((x - max_(x, y), min_(y, x) - y), min_(0, x - y)),
        rewrite((max_(x, y) - y, x - min_(y, x)), max_(x - y, 0)),
        rewrite((x - min_(x, y), max_(y, x) - y), max_(0, x - y)),
        # coefficients of products, which stay on the right
        rewrite(x - x, zero_like(x)),
        rewrite((x * y - x, y * x - x), (y - 1) * x),
        rewrite((x - y * x, x - x * y), (1 - y) * x),
        rewrite((x * y - x * z, y * x - x * z, x * y - z * x, y * x - z * x), (y - z) * x),
        # cancelation of constants
        rewrite((x + c1) - c2, x + (c1 - c2)),
        rewrite((c1 - x) - (c2 - y), (y - x) + (c1 - c2)),
        # cancelation with four operands
        rewrite(((x + y) - (x + z), (x + y) - (z + x), (y + x) - (z + x), (y + x) - (x + z)), y - z),
        rewrite((min_(x + y, z) - x, min_(y + x, z) - x), min_(y, z - x)),
        rewrite((min_(z, x + y) - x, min_(z, y + x) - x), min_(z - x, y)),
        rewrite((max_(x + y, z) - x, max_(y + x, z) - x), max_(y, z - x)),
        rewrite((max_(z, x + y) - x, max_(z, y + x) - x), max_(z - x, y)),
        rewrite((x - min_(x + y, z), x - min_(y + x, z)), max_(0 - y, x - z)),
        rewrite((x - min_(z, x + y), x - min_(z, y + x)), max_(x - z, 0 - y)),
        rewrite((x - max_(x + y, z), x - max_(y + x, z)), min_(0 - y, x - z)),
        rewrite((x - max_(z, x + y), x - max_(z, y + x)), min_(x - z, 0 - y)),
        rewrite(min_(x, y) - min_(y, x), zero_like(x)),
        rewrite(max_(x, y) - max_(y, x), zero_like(x)),
        rewrite_if((min_(b1, b2) - min_(s1, s2), min_(b1, b2) - min_(s2, s1)), b1 - s1, _same_difference),
        rewrite_if((max_(b1, b2) - max_(s1, s2), max_(b1, b2) - max_(s2, s1)), b1 - s1, _same_difference),
        # truncating division: c * (x / c) + x % c is x whichever way division rounds
        rewrite_if(x - truncdiv(x, c1) * c1, truncmod(x, c1), _nonzero),
        rewrite_if(truncdiv(x, c1) * c1 - x, 0 - truncmod(x, c1), _nonzero),
        rewrite_if(x - truncdiv(x + y, c1) * c1, truncmod(x + y, c1) - y, _nonzero),
        rewrite_if(truncdiv(x + y, c1) * c1 - x, y - truncmod(x + y, c1), _nonzero),
        rewrite_if(x - truncdiv(x - y, c1) * c1, truncmod(x - y, c1) + y, _nonzero),
        rewrite_if(truncdiv(x - y, c1) * c1 - x, 0 - truncmod(x - y, c1) - y, _nonzero),
        rewrite_if(x * c2 - truncdiv(x, c1) * c3, truncmod(x, c1) * c2, _c3_is_c1_times_c2),
        rewrite_if(truncdiv(x, c1) * c3 - x * c2, 0 - truncmod(x, c1) * c2, _c3_is_c1_times_c2),
        rewrite_if(x * c2 - truncdiv(x + y, c1) * c3, (truncmod(x + y, c1) - y) * c2, _c3_is_c1_times_c2),
        rewrite_if(truncdiv(x + y, c1) * c3 - x * c2, (y - truncmod(x + y, c1)) * c2, _c3_is_c1_times_c2),
        rewrite_if(x * c2 - truncdiv(x - y, c1) * c3, (truncmod(x - y, c1) + y) * c2, _c3_is_c1_times_c2),
        rewrite_if(truncdiv(x - y, c1) * c3 - x * c2, (0 - truncmod(x - y, c1) - y) * c2, _c3_is_c1_times_c2),
        # With x = a * c3 + r: (x + c1) / c3 - x / c3 is (r + c1) / c3. floormod(c2, c3) only folds a constant.
        rewrite_if(
            truncdiv(x + c1, c3) - truncdiv(x + c2, c3),
            truncdiv(truncmod(x + floormod(c2, c3), c3) + (c1 - c2), c3),
            lambda s, x, c1, c2, c3: s.can_prove_greater_equal(x, -c2) and c1 >= c2 and c3 > 0,
        ),
        rewrite_if(
            truncdiv(x + c1, c3) - truncdiv(x, c3),
            truncdiv(truncmod(x, c3) + c1, c3),
            lambda s, x, c1, c3: s.can_prove_greater_equal(x, 0) and c1 >= 0 and c3 > 0,
        ),
        # flooring division
        rewrite_if(x - floordiv(x, c1) * c1, floormod(x, c1), _nonzero),
        rewrite_if(floordiv(x, c1) * c1 - x, 0 - floormod(x, c1), _nonzero),
        rewrite_if(x - floordiv(x + y, c1) * c1, floormod(x + y, c1) - y, _nonzero),
        rewrite_if(floordiv(x + y, c1) * c1 - x, y - floormod(x + y, c1), _nonzero),
        rewrite_if(x - floordiv(x - y, c1) * c1, floormod(x - y, c1) + y, _nonzero),
        rewrite_if(floordiv(x - y, c1) * c1 - x, 0 - floormod(x - y, c1) - y, _nonzero),
        recursive_rewrite(
            floordiv(x + c1, 2) - floordiv(x + c2, 2),
            floormod(x, 2) * (floormod(c1, 2) - floormod(c2, 2)) + (floordiv(c1, 2) - floordiv(c2, 2)),
        ),
        recursive_rewrite(
            floordiv(x, 2) - floordiv(x + c2, 2), floormod(x, 2) * (0 - floormod(c2, 2)) - floordiv(c2, 2)
        ),
        recursive_rewrite(floordiv(x + c1, 2) - floordiv(x, 2), floormod(x, 2) * floormod(c1, 2) + floordiv(c1, 2)),
        rewrite_if(x * c2 - floordiv(x, c1) * c3, floormod(x, c1) * c2, _c3_is_c1_times_c2),
        rewrite_if(floordiv(x, c1) * c3 - x * c2, 0 - floormod(x, c1) * c2, _c3_is_c1_times_c2),
        rewrite_if(x * c2 - floordiv(x + y, c1) * c3, (floormod(x + y, c1) - y) * c2, _c3_is_c1_times_c2),
        rewrite_if(floordiv(x + y, c1) * c3 - x * c2, (y - floormod(x + y, c1)) * c2, _c3_is_c1_times_c2),
        rewrite_if(x * c2 - floordiv(x - y, c1) * c3, (floormod(x - y, c1) + y) * c2, _c3_is_c1_times_c2),
        rewrite_if(floordiv(x - y, c1) * c3 - x * c2, (0 - floormod(x - y, c1) - y) * c2, _c3_is_c1_times_c2),
        recursive_rewrite(floordiv(x + 1, 2) - floormod(x, 2), floordiv(x, 2)),
        rewrite_if(
            floordiv(x + c1, c3) - floordiv(x + c2, c3),
            floordiv(floormod(x + floormod(c2, c3), c3) + (c1 - c2), c3),
            lambda c3: c3 > 0,
        ),
        rewrite_if(floordiv(x + c1, c3) - floordiv(x, c3), floordiv(floormod(x, c3) + c1, c3), lambda c3: c3 > 0),
        # canonicalization
        rewrite(x - c1, x + (0 - c1)),
        recursive_rewrite((x + c1) - y, (x - y) + c1),
        recursive_rewrite(x - (y + c1), (x - y) + (0 - c1)),
        recursive_rewrite(x - (y - z), (x + z) - y),
        recursive_rewrite(x - y * c1, x + y * (0 - c1)),
    )
    + _SUB_CONDITION
)

# On floats, cancelation loses NaN and infinity: models have neither. It needs operands without side effects.
SUB_OTHER = (
    RuleTable(
        rewrite_if(x - x, zero_like(x), lambda x: side_effect(x) <= READ_STATE),
        rewrite_if((x + y) - y, x, lambda y: side_effect(y) <= READ_STATE),
        rewrite_if((x + y) - x, y, lambda x: side_effect(x) <= READ_STATE),
        rewrite_if(x - (y + x), 0 - y, lambda x: side_effect(x) <= READ_STATE),
        rewrite_if(x - (x + y), 0 - y, lambda x: side_effect(x) <= READ_STATE),
    )
    + _SUB_CONDITION
)


# --------------------------------------------------------------------------------------------------------------------
# Mul
# --------------------------------------------------------------------------------------------------------------------

# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of Mul)
MUL_INDEX = RuleTable(
    rewrite((x + c1) * c2, x * c2 + c1 * c2),
    rewrite((x * c1) * c2, x * (c1 * c2)),
    rewrite((min_(x, y) * max_(x, y), max_(x, y) * min_(x, y)), x * y),
    # two ways to write c * ceildiv(x, c1)
    rewrite_if(floordiv(x - floormod(x, c2), c1) * c1, x - floormod(x, c2), lambda c1, c2: c1 == -c2),
    # canonicalization
    recursive_rewrite(x * (c1 * y), (x * y) * c1),
    recursive_rewrite(c1 * x, x * c1),
    recursive_rewrite_if((x - y) * c1, (y - x) * (0 - c1), lambda c1: c1 < 0),
)


# --------------------------------------------------------------------------------------------------------------------
# Div and Mod, which truncate: most rules need operands that are not negative
# --------------------------------------------------------------------------------------------------------------------


def _divides_and_not_negative(s, c1, c2, x, y) -> bool:
    return c1 >= 0 and _divides(c1, c2) and s.can_prove_greater_equal(x, 0) and s.can_prove_greater_equal(y, 0)


def _not_negative_2(s, x, y) -> bool:
    return s.can_prove_greater_equal(x, 0) and s.can_prove_greater_equal(y, 0)


def _not_negative_3(s, x, y, z) -> bool:
    return _not_negative_2(s, x, y) and s.can_prove_greater_equal(z, 0)


# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of Div)
DIV_INDEX = RuleTable(
    # The original folds two constants again here: the folding before it, ours too, has already truncated.
    # x % c1 / c2 is 0 if 0 < c1 < c2 and x >= 0
    rewrite_if(
        truncdiv(truncmod(x, c1), c2),
        zero_like(x),
        lambda s, x, c1, c2: c1 > 0 and c2 > c1 and s.can_prove_greater_equal(x, 0),
    ),
    rewrite_if(truncdiv(truncdiv(x, c1), c2), truncdiv(x, c1 * c2), lambda c1, c2: c1 > 0 and c2 > 0),
    rewrite_if(
        truncdiv(truncdiv(x, c1) + c2, c3),
        truncdiv(x + c1 * c2, c1 * c3),
        lambda s, x, c1, c2, c3: c1 > 0 and c2 >= 0 and c3 > 0 and s.can_prove_greater_equal(x, 0),
    ),
    rewrite_if(truncdiv(x * c1, c2), x * truncdiv(c1, c2), lambda c1, c2: c1 > 0 and _divides(c1, c2)),
    rewrite_if(truncdiv(x * c1, c2), truncdiv(x, truncdiv(c2, c1)), lambda c1, c2: c2 > 0 and _divides(c2, c1)),
    rewrite(truncdiv(x, x), one_like(x)),
    rewrite((truncdiv(x * c1, x), truncdiv(c1 * x, x)), c1),
    # two operands
    rewrite_if(truncdiv(x * c1 + y, c2), x * truncdiv(c1, c2) + truncdiv(y, c2), _divides_and_not_negative),
    rewrite_if(truncdiv(min_(x * c1, y), c2), min_(x * truncdiv(c1, c2), truncdiv(y, c2)), _divides_and_not_negative),
    rewrite_if(truncdiv(max_(x * c1, y), c2), max_(x * truncdiv(c1, c2), truncdiv(y, c2)), _divides_and_not_negative),
    rewrite_if(truncdiv(y + x * c1, c2), truncdiv(y, c2) + x * truncdiv(c1, c2), _divides_and_not_negative),
    rewrite_if(truncdiv(min_(y, x * c1), c2), min_(truncdiv(y, c2), x * truncdiv(c1, c2)), _divides_and_not_negative),
    rewrite_if(truncdiv(max_(y, x * c1), c2), max_(truncdiv(y, c2), x * truncdiv(c1, c2)), _divides_and_not_negative),
    # three operands
    rewrite_if(
        truncdiv(x * c1 + y + z, c2),
        x * truncdiv(c1, c2) + truncdiv(y + z, c2),
        lambda s, c1, c2, x, y, z: _divides_and_not_negative(s, c1, c2, x, tir.add(y, z)),
    ),
    rewrite_if(
        truncdiv(x * c1 - y + z, c2),
        x * truncdiv(c1, c2) + truncdiv(z - y, c2),
        lambda s, c1, c2, x, y, z: _divides_and_not_negative(s, c1, c2, x, tir.sub(z, y)),
    ),
    rewrite_if(
        truncdiv(x * c1 + y - z, c2),
        x * truncdiv(c1, c2) + truncdiv(y - z, c2),
        lambda s, c1, c2, x, y, z: _divides_and_not_negative(s, c1, c2, x, tir.sub(y, z)),
    ),
    rewrite_if(
        truncdiv(y + x * c1 + z, c2),
        x * truncdiv(c1, c2) + truncdiv(y + z, c2),
        lambda s, c1, c2, x, y, z: c1 > 0 and _divides_and_not_negative(s, c1, c2, x, tir.add(y, z)),
    ),
    rewrite_if(
        truncdiv(x + c1, c2),
        truncdiv(x, c2) + truncdiv(c1, c2),
        lambda s, x, c1, c2: c1 > 0 and _divides(c1, c2) and s.can_prove_greater_equal(x, 0),
    ),
    rewrite_if((truncdiv(x + y, x), truncdiv(y + x, x)), truncdiv(y, x) + 1, _not_negative_2),
    rewrite_if(
        (
            truncdiv((x + y) + z, x),
            truncdiv((y + x) + z, x),
            truncdiv(y + (z + x), x),
            truncdiv(y + (x + z), x),
        ),
        truncdiv(y + z, x) + 1,
        lambda s, x, y, z: _not_negative_2(s, x, tir.add(y, z)),
    ),
    rewrite_if((truncdiv(x * y, y), truncdiv(y * x, y)), x, _not_negative_2),
    rewrite_if((truncdiv(x * z + y, z), truncdiv(z * x + y, z)), x + truncdiv(y, z), _not_negative_3),
    rewrite_if((truncdiv(y + x * z, z), truncdiv(y + z * x, z)), truncdiv(y, z) + x, _not_negative_3),
)


def _truncmod_by_negative(s, a, b) -> PrimExpr | None:
    """x % c1 is x % -c1 when division truncates. Raises TirError if -c1 does not fit int32."""
    return s.recursive_rewrite(tir.truncmod(a, IntImm(b.dtype, wrap_int64(-b.value)))) if b.value < 0 else None


def _truncmod_of_modular_set(s, a, b) -> PrimExpr | None:
    """x % c1 for an x whose remainder the modular set gives."""
    coeff, base = s.analyzer.modular_set.visit(a)
    if coeff % b.value == 0 and b.value > 0 and s.can_prove_greater_equal(a, 0):
        return IntImm(b.dtype, int_operator.truncmod(base, b.value))
    return None


# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of Mod)
MOD_INDEX = RuleTable(
    rewrite_if(truncmod(x * c1, c2), zero_like(x), lambda c1, c2: c2 != 0 and c1 % c2 == 0),
    rewrite_if(
        truncmod(x * c1 + y, c2),
        truncmod(y, c2),
        lambda s, x, y, c1, c2: _divides(c1, c2) and _not_negative_2(s, tir.mul(x, IntImm(x.dtype, c1)), y),
    ),
    rewrite_if(
        truncmod(x + c1, c2),
        truncmod(x, c2),
        lambda s, x, c1, c2: c1 >= 0 and _divides(c1, c2) and s.can_prove_greater_equal(x, 0),
    ),
    rewrite_if(
        truncmod(x + y * c1, c2),
        truncmod(x, c2),
        lambda s, x, y, c1, c2: _divides(c1, c2) and _not_negative_2(s, x, tir.mul(y, IntImm(y.dtype, c1))),
    ),
    code(truncmod(x, c1), _truncmod_by_negative),
    code(truncmod(x, c1), _truncmod_of_modular_set),
)


# --------------------------------------------------------------------------------------------------------------------
# FloorDiv
# --------------------------------------------------------------------------------------------------------------------


def _scaled_summand(a: PrimExpr) -> tuple[PrimExpr, IntImm, PrimExpr | None] | None:
    """x, c1 and y (None for 0) of the first of ``x * c1 + y``, ``x * c1``, ``y + x * c1`` that the expression is."""
    kind = type(a)
    if kind is Add:
        if type(a.a) is Mul and type(a.a.b) is IntImm:
            return a.a.a, a.a.b, a.b
        if type(a.b) is Mul and type(a.b.b) is IntImm:
            return a.b.a, a.b.b, a.a
    elif kind is Mul and type(a.b) is IntImm:
        return a.a, a.b, None
    return None


def _int32_like(value: int, like: PrimExpr) -> IntImm:
    # C++ passes these constants through a parameter of type int.
    return IntImm(like.dtype, wrap_int32(value))


def _floordiv_of_scaled_sum(s, a, b) -> PrimExpr | None:
    """floordiv(x * c1 + y, c2) where the remainders do not matter."""
    found = _scaled_summand(a)
    if found is None:
        return None
    x, c1, y = found
    c1_value, c2_value = c1.value, b.value
    if y is None:
        y = IntImm("int32", 0)

    # Take out whole multiples of c2 if what is left has one value.
    remainder = tir.floormod(y, _int32_like(c2_value, y))
    scaled = tir.mul(x, tir.floormod(c1, _int32_like(c2_value, c1)))
    total = tir.add(scaled, remainder)
    residue = tir.floordiv(total, _int32_like(c2_value, total))
    y_quotient = tir.floordiv(y, _int32_like(c2_value, y))
    if s.can_prove_equal(y_quotient, 0):
        y_quotient = IntImm("int32", 0)
    low, high = s.analyzer.const_int_bound.visit(residue)
    if low == high:
        whole = tir.mul(x, tir.floordiv(_int32_like(c1_value, b), b))
        return tir.add(whole, tir.add(y_quotient, IntImm("int32", wrap_int32(high))))

    # With c2 = a * c1, x = a * x' + b, y = d * c2 + e, where 0 <= b * c1 <= (a - 1) * c1 and 0 <= e < c1:
    # (x * c1 + y) // c2 is x' + d, that is x // (c2 // c1) + y // c2.
    if c1_value > 0 and c2_value > 0 and c2_value % c1_value == 0 and s.can_prove_less(remainder, c1_value):
        return tir.add(tir.floordiv(x, _int32_like(c2_value // c1_value, x)), y_quotient)
    return None


def _not_negative_x(s, x) -> bool:
    return s.can_prove_greater_equal(x, 0)


def _not_negative_y(s, y) -> bool:
    return s.can_prove_greater_equal(y, 0)


def _not_negative_z(s, z) -> bool:
    return s.can_prove_greater_equal(z, 0)


# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of FloorDiv)
FLOORDIV_INDEX = RuleTable(
    rewrite_if(floordiv(floordiv(x, c1), c2), floordiv(x, c1 * c2), lambda c1, c2: c1 > 0 and c2 > 0),
    rewrite_if(floordiv(floordiv(x, c1) + c2, c3), floordiv(x + c1 * c2, c1 * c3), lambda c1, c3: c1 > 0 and c3 > 0),
    code(floordiv(x, c2), _floordiv_of_scaled_sum),
    rewrite(floordiv(x, x), one_like(x)),
    rewrite((floordiv(x * c1, x), floordiv(c1 * x, x)), c1),
    rewrite(floordiv(floormod(x, 2) + 1, 2), floormod(x, 2)),
    # two operands
    rewrite_if(floordiv(min_(x * c1, y), c2), min_(x * floordiv(c1, c2), floordiv(y, c2)), _divides),
    rewrite_if(floordiv(max_(x * c1, y), c2), max_(x * floordiv(c1, c2), floordiv(y, c2)), _divides),
    rewrite_if(floordiv(min_(y, x * c1), c2), min_(floordiv(y, c2), x * floordiv(c1, c2)), _divides),
    rewrite_if(floordiv(max_(y, x * c1), c2), max_(floordiv(y, c2), x * floordiv(c1, c2)), _divides),
    # three operands
    rewrite_if(floordiv(x * c1 + y + z, c2), x * floordiv(c1, c2) + floordiv(y + z, c2), _divides),
    rewrite_if(
        floordiv(x * c1 + y + z, c2),
        floordiv(x, floordiv(c2, c1)),
        lambda s, y, z, c1, c2: (
            c2 > 0 and _divides(c2, c1) and s.can_prove_equal(tir.floordiv(tir.add(y, z), IntImm(y.dtype, c1)), 0)
        ),
    ),
    rewrite_if(
        (floordiv(x * c1 - y + z, c2), floordiv(x * c1 + z - y, c2)),
        x * floordiv(c1, c2) + floordiv(z - y, c2),
        _divides,
    ),
    rewrite_if(floordiv(y + x * c1 + z, c2), x * floordiv(c1, c2) + floordiv(y + z, c2), _divides),
    rewrite_if(floordiv(x + c1, c2), floordiv(x, c2) + floordiv(c1, c2), _divides),
    rewrite_if(floordiv(x * c1, x * c2), floordiv(c1, c2), lambda c2: c2 > 0),
    rewrite_if((floordiv(x + y, x), floordiv(y + x, x)), floordiv(y, x) + 1, _not_negative_x),
    rewrite_if(
        (
            floordiv((x + y) + z, x),
            floordiv((y + x) + z, x),
            floordiv(y + (z + x), x),
            floordiv(y + (x + z), x),
        ),
        floordiv(y + z, x) + 1,
        _not_negative_x,
    ),
    rewrite_if((floordiv(x * y, y), floordiv(y * x, y)), x, _not_negative_y),
    rewrite_if((floordiv(x * z + y, z), floordiv(z * x + y, z)), x + floordiv(y, z), _not_negative_z),
    rewrite_if((floordiv(y + x * z, z), floordiv(y + z * x, z)), floordiv(y, z) + x, _not_negative_z),
    rewrite_if(
        floordiv(x * z * c1 + y, z * c1),
        x + floordiv(y, z * c1),
        lambda s, z, c1: s.can_prove_greater_equal(tir.mul(z, IntImm(z.dtype, c1)), 0),
    ),
    rewrite_if(floordiv(x - floormod(x, c1), c1), floordiv(x, c1), _nonzero),
)


# --------------------------------------------------------------------------------------------------------------------
# FloorMod
# --------------------------------------------------------------------------------------------------------------------


def _floormod_of_known(s, a, b) -> PrimExpr | None:
    """floormod(x, c1) for an x whose remainder or range is known."""
    divisor = b.value
    if divisor <= 0:
        return None
    coeff, base = s.analyzer.modular_set.visit(a)
    if coeff % divisor == 0:
        return IntImm(b.dtype, base % divisor)
    low, high = s.analyzer.const_int_bound.visit(a)
    return a if low >= 0 and high < divisor else None


# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of FloorMod)
FLOORMOD_INDEX = RuleTable(
    rewrite_if(floormod(x * c1, c2), floormod(x * floormod(c1, c2), c2), lambda c2: c2 != 0),
    rewrite_if(
        floormod(x * c1 + y, c2),
        floormod(x, floordiv(c2, c1)) * c1 + y,
        lambda s, y, c1, c2: c2 > 0 and _divides(c2, c1) and s.can_prove_equal(tir.floordiv(y, IntImm(y.dtype, c1)), 0),
    ),
    rewrite_if(
        floormod(x * c1 + y * c2 + z, c3),
        floormod(x * floordiv(c1, c2) + y, floordiv(c3, c2)) * c2 + z,
        lambda s, z, c1, c2, c3: (
            c3 > 0 and _divides(c3, c2) and c1 % c2 == 0 and s.can_prove_equal(tir.floordiv(z, IntImm(z.dtype, c2)), 0)
        ),
    ),
    rewrite_if(floormod(x * c1 + y, c2), floormod(x * floormod(c1, c2) + y, c2), _divides),
    # (x + 5) % 2 is (x + 1) % 2, (x + 3) % 3 is x % 3
    rewrite_if(
        floormod(x + c1, c2), floormod(x + floormod(c1, c2), c2), lambda c1, c2: c2 > 0 and (c1 >= c2 or c1 < 0)
    ),
    rewrite_if(floormod(x + y * c1, c2), floormod(x + y * floormod(c1, c2), c2), lambda c2: c2 > 0),
    rewrite_if(floormod(x * c1, x * c2), x * floormod(c1, c2), lambda c2: c2 != 0),
    rewrite((floormod(x * y, y), floormod(y * x, y)), zero_like(y)),
    # With x = ay + b: (ay + b + (ny - ay - b) % y) % y is (b + (-b) % y) % y, which is 0.
    rewrite_if(
        (floormod(x + floormod(z, y), y), floormod(floormod(z, y) + x, y)),
        zero_like(x),
        lambda s, x, y, z: s.can_prove_equal(tir.floormod(tir.add(x, z), y), 0),
    ),
    # With x = ay + b: (ay + b - (ay + b) % +-y) % y is (b - b % +-y) % y, which is 0.
    rewrite_if(
        (floormod(x - floormod(x, z), y), floormod(floormod(x, z) - x, y)),
        zero_like(x),
        lambda s, y, z: s.can_prove_equal(tir.sub(y, z), 0) or s.can_prove_equal(tir.add(y, z), 0),
    ),
    rewrite_if(
        floormod(x * z * c1 + y, z * c1),
        floormod(y, z * c1),
        lambda s, z, c1: s.can_prove_greater_equal(tir.mul(z, IntImm(z.dtype, c1)), 0),
    ),
    code(floormod(x, c1), _floormod_of_known),
)
