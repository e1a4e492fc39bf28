"""Factors and coalescing, against values of the real carver (TileLang 0.1.15)."""

import time

import numpy as np
import pytest
from carver.arch.errors import CarverError
from carver.policy import common
from carver.policy.common import coalesced_factor, coalesced_tensor_shape, factorize, get_all_factors
from carver.roller.node import EXACT_PRODUCT, shape_product
from carver.roller.tir.expr import IntImm


@pytest.mark.parametrize(
    ("number", "factors"),
    [
        (0, [0]),
        (1, [1]),
        (2, [1, 2]),
        (97, [1, 97]),
        (36, [1, 2, 3, 4, 6, 9, 12, 18, 36]),
        (1024, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]),
        (999983, [1, 999983]),
        (2147483647, [1, 2147483647]),
    ],
)
def test_factors(number, factors):
    assert get_all_factors(number) == factors
    assert all(type(factor) is int for factor in get_all_factors(number))


def vendored_way(n):
    """What carver computes, for numbers whose root is small enough for an array."""
    root = int(np.ceil(np.sqrt(n)))
    below = [d for d in range(1, root) if n % d == 0]
    middle = [root] if root * root == n else []
    return below + middle + [n // d for d in reversed(below)]


@pytest.mark.parametrize(
    "numbers", [range(1, 700), range(65521, 65560), range(10**6, 10**6 + 20), [999999**2, 1000003]]
)
def test_factors_as_the_root_gives_them(numbers):
    for n in numbers:
        assert get_all_factors(n) == vendored_way(n)


def test_factors_are_the_callers():
    get_all_factors(12).append(5)
    assert get_all_factors(12) == [1, 2, 3, 4, 6, 12]


def test_large_numbers_are_factored_or_refused_at_once():
    started = time.perf_counter()
    assert len(get_all_factors(2**53)) == 54
    with pytest.raises(CarverError, match="from 0 to 10000000000000000, not for 1000000000000000000"):
        get_all_factors(10**18)
    with pytest.raises(ValueError, match="every extent must be at least 1, and one is -1"):
        get_all_factors(-1)
    assert time.perf_counter() - started < 1
    assert common.FACTOR_LIMIT == 10**16


@pytest.mark.parametrize(
    ("number", "primes"),
    [(0, []), (1, []), (2, [2]), (97, [97]), (360, [2, 2, 2, 3, 3, 5]), (1001, [7, 11, 13]), (1024, [2] * 10)],
)
def test_prime_factors(number, primes):
    assert factorize(number) == primes


@pytest.mark.parametrize(
    ("subtensor", "tensor", "factor"),
    [
        ([4, 8], [16, 8], 32),
        ([4, 4], [16, 8], 4),
        ([16, 8], [16, 8], 128),
        ([2, 16, 8], [2, 16, 8], 256),
        ([3, 1, 8], [9, 1, 8], 24),
        ([5], [7], 5),
        # The ranks may differ: the last axes are compared.
        ([8], [3, 8], 8),
    ],
)
def test_coalesced_factor(subtensor, tensor, factor):
    assert coalesced_factor(subtensor, tensor) == factor
    assert coalesced_factor(subtensor, [IntImm("int32", extent) for extent in tensor]) == factor


@pytest.mark.parametrize(("subtensor", "tensor"), [([], [4]), ([4], []), ([8, 8], [8])])
def test_nothing_to_coalesce(subtensor, tensor):
    with pytest.raises(IndexError, match="no extent to coalesce") as caught:
        coalesced_factor(subtensor, tensor)
    assert isinstance(caught.value, CarverError)


@pytest.mark.parametrize(
    ("subtensor", "tensor", "transaction", "moved"),
    [
        ([64, 64], [1024, 64], 64, 4096.0),
        ([64, 3], [1024, 64], 64, 4096.0),
        ([0, 3], [1024, 64], 64, 0),
        ([7, 5, 3], [7, 5, 3], 8, 105.0),
        ([1, 1], [9, 9], 16, 16.0),
        ([3, 10], [30, 10], 64, 64.0),
    ],
)
def test_coalesced_tensor_shape(subtensor, tensor, transaction, moved):
    result = coalesced_tensor_shape(subtensor, tensor, transaction)
    assert (result, type(result)) == (moved, type(moved))


def test_products_are_numpys():
    """Where a product may leave 64 bits, or is one of expressions, the answer is what numpy makes of it."""
    cases = [[], [3, 4], [0, 5], [-3, 5], [2**39], [2**40]]
    cases += [[2**40, 2**30], [2**62, 2, 3], [2**33, 2**33], [2**64 - 1, 4]]
    for shape in cases:
        ours, theirs = shape_product(shape), np.prod(shape)
        assert (float(ours), isinstance(ours, float)) == (float(theirs), isinstance(theirs, float)), shape
    assert type(shape_product([2**39])) is int and EXACT_PRODUCT == 2**40
    assert shape_product([2**40, 2**30]) == 0
    extent = IntImm("int32", 65536)
    assert int(shape_product([extent, extent])) == 0
    assert int(shape_product([extent, 40000])) == -1673527296
    assert int(shape_product([2**33, extent])) == 2**49
