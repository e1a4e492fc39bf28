"""The rewrite rules for Min and Max, in the order of ``src/arith/rewrite_simplify.cc``.

The tables start after the comparison of the operands' bounds, which `RewriteSimplifierImpl` does itself. The rules for
vectors and scalable vectors are left out: every expression here has one lane.
"""

from __future__ import annotations

from .pattern_match import (
    RuleTable,
    c1,
    c2,
    floordiv,
    max_,
    min_,
    recursive_rewrite,
    recursive_rewrite_if,
    rewrite,
    rewrite_if,
    s1,
    s2,
    select,
    truncdiv,
    x,
    y,
    z,
)


def _rounds_up(c1: int, c2: int) -> bool:
    return c2 > 0 and c1 + 1 == c2


def _positive(c1: int) -> bool:
    return c1 > 0


# Condition rules: for every dtype.
MIN_OTHER = RuleTable(
    rewrite(min_(select(x, y, z), select(x, s1, s2)), select(x, min_(y, s1), min_(z, s2))),
)

# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of Min)
MIN_INDEX = (
    RuleTable(
        # comparison of constants
        rewrite_if(min_(x + c1, x + c2), x + c1, lambda c1, c2: c1 < c2),
        rewrite(min_(x + c1, x + c2), x + c2),
        rewrite_if((min_(x + c1, x), min_(x, x + c1)), x + c1, lambda c1: c1 < 0),
        rewrite((min_(x + c1, x), min_(x, x + c1)), x),
        rewrite_if(min_(c1 - x, c2 - x), c1 - x, lambda c1, c2: c1 < c2),
        rewrite(min_(c1 - x, c2 - x), c2 - x),
        # division: truncdiv(x, y) >= floordiv(x, y)
        rewrite_if(
            (
                min_(truncdiv(x + c1, c2) * c2, x),
                min_(x, truncdiv(x + c1, c2) * c2),
                min_(floordiv(x + c1, c2) * c2, x),
                min_(x, floordiv(x + c1, c2) * c2),
            ),
            x,
            _rounds_up,
        ),
        rewrite_if(
            (
                min_(truncdiv(x + c1, c2) * c2, max_(x, c2)),
                min_(max_(x, c2), truncdiv(x + c1, c2) * c2),
                min_(floordiv(x + c1, c2) * c2, max_(x, c2)),
                min_(max_(x, c2), floordiv(x + c1, c2) * c2),
            ),
            max_(x, c2),
            lambda s, x, c1, c2: _rounds_up(c1, c2) and s.can_prove_greater_equal(x, 1),
        ),
        rewrite_if(
            (min_(x, floordiv(x, c2) * c2), min_(floordiv(x, c2) * c2, x)), floordiv(x, c2) * c2, lambda c2: c2 > 0
        ),
        rewrite(
            (
                min_(max_(x, y), min_(x, y)),
                min_(max_(x, y), min_(y, x)),
                min_(min_(x, y), max_(x, y)),
                min_(min_(x, y), max_(y, x)),
                min_(min_(x, y), x),
                min_(min_(x, y), y),
                min_(x, min_(x, y)),
                min_(y, min_(x, y)),
            ),
            min_(x, y),
        ),
        rewrite((min_(max_(x, y), x), min_(max_(y, x), x), min_(x, max_(x, y)), min_(x, max_(y, x))), x),
        rewrite(min_(min_(min_(x, y), z), y), min_(min_(x, y), z)),
        rewrite(min_(min_(min_(min_(x, y), z), s1), y), min_(min_(min_(x, y), z), s1)),
        rewrite(min_(min_(min_(min_(min_(x, y), z), s1), s2), y), min_(min_(min_(min_(x, y), z), s1), s2)),
        rewrite(
            (
                min_(max_(x, y), max_(x, z)),
                min_(max_(x, y), max_(z, x)),
                min_(max_(y, x), max_(x, z)),
                min_(max_(y, x), max_(z, x)),
            ),
            max_(min_(y, z), x),
        ),
        rewrite(
            (
                min_(min_(x, y), min_(x, z)),
                min_(min_(x, y), min_(z, x)),
                min_(min_(y, x), min_(x, z)),
                min_(min_(y, x), min_(z, x)),
            ),
            min_(min_(y, z), x),
        ),
        rewrite((min_(y + x, z + x), min_(y + x, x + z), min_(x + y, x + z), min_(x + y, z + x)), min_(y, z) + x),
        # distribution over differences
        rewrite(min_(y - x, z - x), min_(y, z) - x),
        rewrite(min_(x - y, x - z), x - max_(y, z)),
        # constant folding
        rewrite(min_(min_(x, c1), c2), min_(x, min_(c1, c2))),
        # scaling
        rewrite_if(min_(truncdiv(x, c1), truncdiv(y, c1)), truncdiv(min_(x, y), c1), _positive),
        rewrite(min_(truncdiv(x, c1), truncdiv(y, c1)), truncdiv(max_(x, y), c1)),
        rewrite_if(min_(floordiv(x, c1), floordiv(y, c1)), floordiv(min_(x, y), c1), _positive),
        rewrite(min_(floordiv(x, c1), floordiv(y, c1)), floordiv(max_(x, y), c1)),
        rewrite_if(min_(x * c1, y * c1), min_(x, y) * c1, _positive),
        rewrite(min_(x * c1, y * c1), max_(x, y) * c1),
        rewrite_if(min_(x * c1, c2), c2, lambda c1, c2: c1 == 0 and c2 < 0),
        rewrite_if(min_(x * c1, c2), c1, lambda c1: c1 == 0),
        rewrite_if(min_(x * c1, c2), min_(x, truncdiv(c2, c1)) * c1, lambda c1, c2: c2 % c1 == 0 and c1 > 0),
        rewrite_if(min_(x * c1, c2), max_(x, truncdiv(c2, c1)) * c1, lambda c1, c2: c2 % c1 == 0),
        # canonicalization
        recursive_rewrite(min_(min_(x, c1), y), min_(min_(x, y), c1)),
        recursive_rewrite_if(min_(c1 - x, c2), c1 - max_(x, c1 - c2), lambda c2: c2 != 0),
    )
    + MIN_OTHER
)


# Condition rules: for every dtype.
MAX_OTHER = RuleTable(
    rewrite(max_(select(x, y, z), select(x, s1, s2)), select(x, max_(y, s1), max_(z, s2))),
)

# tvm: src/arith/rewrite_simplify.cc (VisitExpr_ of Max)
MAX_INDEX = (
    RuleTable(
        # comparison of constants
        rewrite_if(max_(x + c1, x + c2), x + c1, lambda c1, c2: c1 > c2),
        rewrite(max_(x + c1, x + c2), x + c2),
        rewrite_if((max_(x + c1, x), max_(x, x + c1)), x + c1, lambda c1: c1 > 0),
        rewrite((max_(x + c1, x), max_(x, x + c1)), x),
        rewrite_if(max_(c1 - x, c2 - x), c1 - x, lambda c1, c2: c1 > c2),
        rewrite(max_(c1 - x, c2 - x), c2 - x),
        # rounding up, with division that truncates, then floors
        rewrite_if(
            (max_(truncdiv(x + c1, c2) * c2, x), max_(x, truncdiv(x + c1, c2) * c2)),
            truncdiv(x + c1, c2) * c2,
            _rounds_up,
        ),
        rewrite_if(
            (max_(floordiv(x + c1, c2) * c2, x), max_(x, floordiv(x + c1, c2) * c2)),
            floordiv(x + c1, c2) * c2,
            _rounds_up,
        ),
        rewrite_if((max_(floordiv(x, c2) * c2, x), max_(x, floordiv(x, c2) * c2)), x, lambda c2: c2 > 0),
        rewrite((max_(min_(x, y), x), max_(min_(y, x), x), max_(x, min_(x, y)), max_(x, min_(y, x))), x),
        rewrite(
            (
                max_(min_(x, y), max_(x, y)),
                max_(min_(x, y), max_(y, x)),
                max_(max_(x, y), min_(x, y)),
                max_(max_(x, y), min_(y, x)),
                max_(max_(x, y), x),
                max_(max_(x, y), y),
                max_(x, max_(x, y)),
                max_(y, max_(x, y)),
            ),
            max_(x, y),
        ),
        rewrite(max_(max_(max_(x, y), z), y), max_(max_(x, y), z)),
        rewrite(max_(max_(max_(max_(x, y), z), s1), y), max_(max_(max_(x, y), z), s1)),
        rewrite(max_(max_(max_(max_(max_(x, y), z), s1), s2), y), max_(max_(max_(max_(x, y), z), s1), s2)),
        # cancelation
        rewrite(
            (
                max_(max_(x, y), max_(x, z)),
                max_(max_(x, y), max_(z, x)),
                max_(max_(y, x), max_(x, z)),
                max_(max_(y, x), max_(z, x)),
            ),
            max_(max_(y, z), x),
        ),
        # distribution over minima
        rewrite(
            (
                max_(min_(x, y), min_(x, z)),
                max_(min_(x, y), min_(z, x)),
                max_(min_(y, x), min_(x, z)),
                max_(min_(y, x), min_(z, x)),
            ),
            min_(max_(y, z), x),
        ),
        # distribution over sums
        rewrite((max_(y + x, z + x), max_(y + x, x + z), max_(x + y, x + z), max_(x + y, z + x)), max_(y, z) + x),
        # distribution over differences
        rewrite(max_(y - x, z - x), max_(y, z) - x),
        rewrite(max_(x - y, x - z), x - min_(y, z)),
        # constant folding
        rewrite(max_(max_(x, c1), c2), max_(x, max_(c1, c2))),
        # scaling
        rewrite_if(max_(truncdiv(x, c1), truncdiv(y, c1)), truncdiv(max_(x, y), c1), _positive),
        rewrite(max_(truncdiv(x, c1), truncdiv(y, c1)), truncdiv(min_(x, y), c1)),
        rewrite_if(max_(floordiv(x, c1), floordiv(y, c1)), floordiv(max_(x, y), c1), _positive),
        rewrite(max_(floordiv(x, c1), floordiv(y, c1)), floordiv(min_(x, y), c1)),
        rewrite_if(max_(x * c1, y * c1), max_(x, y) * c1, _positive),
        rewrite(max_(x * c1, y * c1), min_(x, y) * c1),
        rewrite_if(max_(x * c1, c2), c2, lambda c1, c2: c1 == 0 and c2 > 0),
        rewrite_if(max_(x * c1, c2), c1, lambda c1: c1 == 0),
        rewrite_if(max_(x * c1, c2), max_(x, truncdiv(c2, c1)) * c1, lambda c1, c2: c2 % c1 == 0 and c1 > 0),
        rewrite_if(max_(x * c1, c2), min_(x, truncdiv(c2, c1)) * c1, lambda c1, c2: c2 % c1 == 0),
        # canonicalization
        recursive_rewrite(max_(max_(x, c1), y), max_(max_(x, y), c1)),
        recursive_rewrite_if(max_(c1 - x, c2), c1 - min_(x, c1 - c2), lambda c2: c2 != 0),
    )
    + MAX_OTHER
)
