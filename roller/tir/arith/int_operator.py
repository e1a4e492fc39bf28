"""Integer helpers with the semantics of C++ ``int64_t`` (stands in for TVM's ``src/arith/int_operator.h``).

Python's ``//`` and ``%`` already round towards minus infinity, so ``floordiv`` and ``floormod`` are plain operators;
only the truncating pair needs a function.
"""

from __future__ import annotations

import math

from ..expr import TirError


class InternalError(TirError):
    """A check inside the analysis failed: what it was told contradicts itself. TVM raises an error of this name too."""


INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1


def wrap_int64(value: int) -> int:
    """The value an ``int64_t`` holds after ``value`` has wrapped around."""
    if INT64_MIN <= value <= INT64_MAX:
        return value
    return (value + 2**63) % 2**64 - 2**63


def wrap_int32(value: int) -> int:
    """The value an ``int32_t`` holds after ``value`` has wrapped around."""
    return (value + 2**31) % 2**32 - 2**31


# tvm: src/arith/int_operator.h (truncdiv)
def truncdiv(x: int, y: int) -> int:
    """Quotient rounded towards zero, as C++'s ``/``."""
    quotient = abs(x) // abs(y)
    return quotient if (x >= 0) == (y >= 0) else -quotient


# tvm: src/arith/int_operator.h (truncmod)
def truncmod(x: int, y: int) -> int:
    """Remainder with the sign of the dividend, as C++'s ``%``."""
    remainder = abs(x) % abs(y)
    return remainder if x >= 0 else -remainder


# tvm: src/arith/int_operator.h (floordiv)
def floordiv(x: int, y: int) -> int:
    """Quotient rounded towards minus infinity."""
    return x // y


# tvm: src/arith/int_operator.h (floormod)
def floormod(x: int, y: int) -> int:
    """Remainder with the sign of the divisor."""
    return x % y


# tvm: src/arith/int_operator.h (ExtendedEuclidean)
def extended_euclidean(a: int, b: int) -> tuple[int, int, int]:
    """``(g, x, y)`` with ``a * x + b * y == g``, g the greatest common divisor of ``|a|`` and ``b``.

    The particular solution matters to callers, so the iteration is the one of the original, including ``y == 1`` for
    ``b == 0`` and the sign of g following the truncating division when b is negative.
    """
    s, old_s = 0, 1
    r, old_r = b, abs(a)
    while r != 0:
        q = truncdiv(old_r, r)
        old_r, r = r, old_r - q * r
        old_s, s = s, old_s - q * s
    x = old_s if a >= 0 else -old_s
    y = truncdiv(old_r - x * a, b) if b != 0 else 1
    return old_r, x, y


# tvm: src/arith/int_operator.h (ZeroAwareGCD)
def zero_aware_gcd(a: int, b: int) -> int:
    """Greatest common divisor of the magnitudes; 0 stands for "no constraint", so the other one is the answer."""
    if a != INT64_MIN and b != INT64_MIN:
        return math.gcd(a, b)
    # The smallest number has no magnitude in 64 bits: it stays negative, and so may the answer.
    a, b = wrap_int64(abs(a)), wrap_int64(abs(b))
    if a < b:
        a, b = b, a
    if b == 0:
        return a
    while truncmod(a, b):
        a, b = b, truncmod(a, b)
    return b


# tvm: src/arith/int_operator.h (LeastCommonMultiple)
def least_common_multiple(a: int, b: int) -> int:
    """Least common multiple, with the sign the original's quotient has."""
    gcd, _, _ = extended_euclidean(a, b)
    return truncdiv(a * b, gcd)
