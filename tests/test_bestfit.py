"""The best-fit allocator, step by step against the real carver's (TileLang 0.1.15)."""

import hashlib
import json
import random

import pytest
from carver.arch.errors import CarverError
from carver.bestfit import BestFit, Block


def spans(allocator):
    return [(block.start, block.end, block.is_free) for block in allocator.list]


def test_smallest_hole_that_fits():
    allocator = BestFit()
    large, kept, small, last = (allocator.malloc(size) for size in (256, 32, 96, 1))
    assert [block.start for block in (large, kept, small, last)] == [0, 256, 288, 384]
    assert allocator.limit == 416
    allocator.free(large)
    allocator.free(small)
    taken = allocator.malloc(65)
    assert (taken.start, taken.size()) == (288, 96)
    taken = allocator.malloc(33)
    assert (taken.start, taken.size()) == (0, 64)
    assert spans(allocator) == [
        (0, 64, False),
        (64, 256, True),
        (256, 288, False),
        (288, 384, False),
        (384, 416, False),
    ]
    assert allocator.limit == 416


def test_the_last_block_is_stretched():
    allocator = BestFit()
    allocator.free(allocator.malloc(100))
    taken = allocator.malloc(1000)
    assert (taken.start, taken.end, allocator.limit) == (0, 1024, 1024)


def test_neighbours_are_joined():
    allocator = BestFit(align=16)
    blocks = [allocator.malloc(16) for _ in range(4)]
    for i in (0, 2, 1):
        allocator.free(blocks[i])
    assert spans(allocator) == [(0, 48, True), (48, 64, False)]
    allocator.free(blocks[3])
    assert spans(allocator) == [(0, 64, True)]
    assert allocator.limit == 64


def test_nothing_takes_nothing():
    allocator = BestFit()
    block = allocator.malloc(0)
    assert (block.start, block.end, allocator.limit) == (0, 0, 0)
    allocator.free(block)
    assert allocator.malloc(40).size() == 64


def test_freed_twice():
    allocator = BestFit()
    block = allocator.malloc(32)
    block.is_free = True
    with pytest.raises(AssertionError, match="is free already"):
        allocator.free(block)
    with pytest.raises(AssertionError, match="one is free"):
        Block(0, 32, True).merge(Block(32, 64, False))


def test_what_is_no_memory():
    """ValueError, AttributeError, TypeError, ZeroDivisionError in the real carver."""
    allocator = BestFit()
    block = allocator.malloc(32)
    allocator.free(block)
    # A new block has taken its place, so this one is not free, and not here.
    for other in (block, Block(0, 32, False), "x", None):
        with pytest.raises(CarverError, match="is none that is taken here"):
            allocator.free(other)
    for size in (None, "x", []):
        with pytest.raises(TypeError, match="no memory of .* bytes in units of 32 bytes") as caught:
            allocator.malloc(size)
        assert isinstance(caught.value, CarverError)
    with pytest.raises(ZeroDivisionError, match="no memory of 5 bytes in units of 0 bytes"):
        BestFit(0).malloc(5)


def test_repr():
    assert repr(Block(32, 96, True)) == "<Block offset=32 size=64>"


# The digest of all states of 60 random steps in the real carver.
@pytest.mark.parametrize(
    ("align", "digest"),
    [
        (32, "b4dda90e478f11ae28faa529629c91716d4ba9480a86e7a780ac2af3c660bf0d"),
        (16, "c348079ee05b9106b38823a1e456f5d1fc12a65dd947db46e7a78532321fb4a0"),
    ],
)
def test_random_steps(align, digest):
    generator = random.Random(align)
    allocator, live, states = BestFit(align), [], []
    for _ in range(60):
        if live and generator.random() < 0.45:
            at = generator.randrange(len(live))
            allocator.free(live.pop(at))
            step = ["free", at]
        else:
            size = generator.choice([0, 1, 31, 32, 33, 64, 100, 256, 1000])
            live.append(allocator.malloc(size))
            step = ["malloc", size]
        states.append([*step, allocator.limit, [list(span) for span in spans(allocator)]])
    assert hashlib.sha256(json.dumps(states).encode()).hexdigest() == digest
