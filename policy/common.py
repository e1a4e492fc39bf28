"""Arithmetic that the policies share: factors, coalescing. The port of ``carver/roller/policy/common.py``."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from ..arch.errors import CarverError
from ..roller.node import EXACT_PRODUCT, MissingPart, shape_product


# vendored: carver/roller/policy/common.py:4-15
# NOTE: refuses above FACTOR_LIMIT; the vendored one tries every number up to the root, in an array that long.
def get_all_factors(n: int) -> list[int]:
    """All divisors of ``n`` in ascending order; [0] for 0, [] for a fraction.

    CarverError for a negative number or one above the limit.
    """
    if n < 0:
        raise CarverError(f"every extent must be at least 1, and one is {n}")
    if n > FACTOR_LIMIT:
        raise CarverError(f"factors are found for numbers from 0 to {FACTOR_LIMIT}, not for {n}")
    if n != int(n):
        return []
    return list(_divisors(int(n)))


# vendored: carver/roller/policy/common.py:18-29
def factorize(n: int) -> list[int]:
    """The prime factors of ``n`` in ascending order, as often as they divide it; [] for 1 and less."""
    primes = []
    divisor = 2
    while divisor * divisor <= n:
        quotient, remainder = divmod(n, divisor)
        if remainder:
            divisor += 1
        else:
            primes.append(divisor)
            n = quotient
    # What is left has no divisor up to its root: a prime, or 1.
    if n > 1:
        if n != int(n):
            raise CarverError(f"a fraction has no prime factors: {n} is left after {primes}")
        primes.append(int(n))
    return primes


# vendored: carver/roller/policy/common.py:32-38
def coalesced_factor(subtensor: Sequence[int], tensor: Sequence[int]) -> int:
    """How many elements of ``subtensor`` lie side by side in ``tensor``.

    Both are shapes in elements. The innermost extents count up to and including the first that does not span its axis.
    Raises an IndexError (MissingPart) for an empty shape, and where the axes of ``tensor`` run out.
    """
    ndim = len(subtensor)
    if ndim == 0 or len(tensor) == 0:
        raise _nothing_to_coalesce(subtensor, tensor)
    innermost = subtensor[-1]
    if ndim == 1 or innermost != tensor[-1]:
        return innermost
    axes = 2
    while axes <= len(tensor) and axes < ndim and not subtensor[-axes] != tensor[-axes]:
        axes += 1
    if axes > len(tensor):
        raise _nothing_to_coalesce(subtensor, tensor)
    # From the outermost axis on, as in carver's recursion: for expressions, which wrap around, the order counts.
    factor = subtensor[-axes]
    for axis in range(axes - 1, 0, -1):
        factor = subtensor[-axis] * factor
    return factor


# vendored: carver/roller/policy/common.py:41-52
def coalesced_tensor_shape(subtensor: Sequence[int], tensor: Sequence[int], transaction_size: int) -> float:
    """The elements moved when ``subtensor`` of ``tensor`` is read or written in transactions of that many elements.

    Runs shorter than a transaction cost a whole one: the count of elements times transaction over run length.
    """
    elements = math.prod(subtensor)
    if type(elements) is not int or not 0 < elements < EXACT_PRODUCT or not subtensor:
        elements = int(shape_product(subtensor))
        if not elements:
            return 0
    run = int(coalesced_factor(subtensor, tensor))
    if transaction_size == 0:
        raise NoTransaction("the device's transaction_size is smaller than one element")
    return transaction_size * elements / min(transaction_size, run)


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


def _nothing_to_coalesce(subtensor: Sequence[int], tensor: Sequence[int]) -> MissingPart:
    return MissingPart(
        f"no extent to coalesce: a region of shape {list(subtensor)} in a tensor of shape {list(tensor)} "
        "(carver needs at least one space axis, longer than 1, per tensor)"
    )


class NoTransaction(CarverError, ZeroDivisionError):
    """Nothing can be moved in transactions of no element."""


# Trial division takes up to half the root in steps, 50 million here: seconds, where the vendored array takes gigabytes.
FACTOR_LIMIT = 10**16


@functools.lru_cache(maxsize=4096)
def _divisors(n: int) -> tuple[int, ...]:
    """The divisors of ``n`` in ascending order, put together from its prime factors.

    Equal to the vendored result, which pairs the divisors below the rounded root with n over them: for the numbers
    allowed, the rounded double root is never below an integer root, and where it meets one above, none is lost.
    """
    if n == 0:
        return (0,)
    divisors = [1]
    rest = n
    prime = 2
    while prime * prime <= rest:
        multiples = divisors
        while rest % prime == 0:
            rest //= prime
            multiples = [d * prime for d in multiples]
            divisors = divisors + multiples
        prime += 1 if prime == 2 else 2
    if rest > 1:
        divisors = divisors + [d * rest for d in divisors]
    return tuple(sorted(divisors))
