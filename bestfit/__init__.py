"""Best-fit allocation of shared memory.

The port of ``carver/roller/bestfit.py``: while one thread block runs through the nodes of a graph, every cached tensor
takes a span of shared memory for as long as it is needed, and ``BestFit.limit`` ends up as the high-water mark, which
is the shared memory the tile costs. Sizes and offsets are in bytes.
"""

from __future__ import annotations

from ..arch.errors import CarverError, shown


# vendored: carver/roller/bestfit.py:4-19
class Block:
    """A span of memory, from ``start`` to ``end`` (exclusive), in bytes."""

    # vendored: carver/roller/bestfit.py:5-8
    def __init__(self, start: int, end: int, is_free: bool) -> None:
        self.start = start
        self.end = end
        self.is_free = is_free

    # vendored: carver/roller/bestfit.py:10-11
    def size(self) -> int:
        """Bytes in the span."""
        return self.end - self.start

    # vendored: carver/roller/bestfit.py:13-16
    def merge(self, other: Block) -> None:
        """Grow over a neighbour that is free, or taken, as this one is."""
        if self.is_free != other.is_free:
            raise NotTaken(f"cannot merge {self!r} with {other!r}: one is free, the other is taken")
        if other.start < self.start:
            self.start = other.start
        if other.end > self.end:
            self.end = other.end

    # vendored: carver/roller/bestfit.py:18-19
    def __repr__(self) -> str:
        return f"<Block offset={self.start} size={self.size()}>"


# vendored: carver/roller/bestfit.py:22-62
class BestFit:
    """The allocator: blocks side by side from offset 0 on, in ``list``, in the order of their offsets.

    ``limit`` is the end of the highest byte ever handed out; it never shrinks. Sizes are rounded up to ``align`` bytes.
    """

    # vendored: carver/roller/bestfit.py:23-26
    def __init__(self, align: int = 32) -> None:
        self.limit = 0
        self.list: list[Block] = []
        self.align = align

    # vendored: carver/roller/bestfit.py:28-51
    def malloc(self, size: int) -> Block:
        """Take ``size`` bytes, rounded up to the alignment: of the smallest free blocks they fit in, the lowest."""
        try:
            units = (size + self.align - 1) // self.align
        except (TypeError, ZeroDivisionError):
            raise NotASize(f"no memory of {shown(size)} bytes in units of {shown(self.align)} bytes") from None
        size = units * self.align
        best: Block | None = None
        for candidate in self.list:
            fits = candidate.is_free and candidate.size() >= size
            if fits and (best is None or candidate.size() < best.size()):
                best = candidate

        if best is not None:
            best.is_free = False
            rest = best.size() - size
            if rest != 0:
                best.end -= rest
                behind = self.list.index(best) + 1
                self.list.insert(behind, Block(best.end, best.end + rest, True))
            return best

        last = self.list[-1] if self.list else None
        if last is not None and last.is_free:
            # Nothing is behind the last block, so a free one that is too small can be stretched.
            last.end += size - last.size()
            last.is_free = False
            self.limit = last.end
            return last

        fresh = Block(self.limit, self.limit + size, False)
        self.list.append(fresh)
        self.limit = fresh.end
        return fresh

    # vendored: carver/roller/bestfit.py:53-62
    def free(self, block: Block) -> None:
        """Give a block back, and join it with the free blocks next to it."""
        try:
            is_free, at = block.is_free, self.list.index(block)
        except (AttributeError, ValueError):
            raise NotTaken(f"{shown(block)} is none that is taken here") from None
        if is_free:
            raise NotTaken(f"{block!r} is free already")
        # A new block takes the place: whoever still holds the old one sees its span unchanged.
        joined = Block(block.start, block.end, True)
        self.list[at] = joined
        if at + 1 < len(self.list) and self.list[at + 1].is_free:
            joined.merge(self.list.pop(at + 1))
        if at >= 1 and self.list[at - 1].is_free:
            joined.merge(self.list.pop(at - 1))

    # -- Addition to the class -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        blocks = ", ".join(f"{block.start}..{block.end}{' free' if block.is_free else ''}" for block in self.list)
        return f"<BestFit limit={self.limit} [{blocks}]>"


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


class NotTaken(CarverError, AssertionError):
    """A block was given back that was not taken, or joined with one that is not free as well."""


class NotASize(CarverError, TypeError, ZeroDivisionError):
    """Memory was asked for by something that is no number of bytes, or an allocator has units of none."""
