"""How far two orders of the same things agree: all pairs counted, and Kendall's tau-b."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two orders of the same things, pair by pair."""

    pairs: int
    same: int
    """Both orders put the same one first."""
    opposite: int
    """Each puts another one first."""
    first_ties: int
    """Equal in the first order alone."""
    second_ties: int
    """Equal in the second order alone."""
    both_tie: int

    @property
    def tau(self) -> float | None:
        """Kendall's tau-b, from -1 (opposite orders) to 1 (the same); None where an order has all equal."""
        told_by_first = self.pairs - self.first_ties - self.both_tie
        told_by_second = self.pairs - self.second_ties - self.both_tie
        if not told_by_first or not told_by_second:
            return None
        return (self.same - self.opposite) / math.sqrt(told_by_first) / math.sqrt(told_by_second)

    def as_dict(self) -> dict[str, Any]:
        """The figures with tau, for JSON."""
        return {**asdict(self), "tau": self.tau}


def agreement(counts: Mapping[tuple[Any, Any], int]) -> Agreement:
    """Agreement of two orders, from how many things have each pair of values (in the first, in the second).

    In O(n log n) for n different pairs of values, as Knight (1966) counts: from one value of the first order to the
    next, a Fenwick tree (Fenwick, 1994) tells how many before have a lesser, and how many a greater, second value.
    """
    ranks = {value: rank for rank, value in enumerate(sorted({second for _, second in counts}), 1)}
    tree = [0] * (len(ranks) + 1)

    def add(rank: int, weight: int) -> None:
        while rank < len(tree):
            tree[rank] += weight
            rank += rank & -rank

    def up_to(rank: int) -> int:
        total = 0
        while rank:
            total += tree[rank]
            rank -= rank & -rank
        return total

    same = opposite = before = 0
    for _, equal_in_first in groupby(sorted(counts.items()), key=lambda item: item[0][0]):
        equals = [(ranks[second], weight) for (_, second), weight in equal_in_first]
        for rank, weight in equals:
            same += weight * up_to(rank - 1)
            opposite += weight * (before - up_to(rank))
        for rank, weight in equals:
            add(rank, weight)
            before += weight
    firsts, seconds = Counter(), Counter()
    for (first, second), weight in counts.items():
        firsts[first] += weight
        seconds[second] += weight
    both = _pairs_within(counts)
    return Agreement(
        pairs=before * (before - 1) // 2,
        same=same,
        opposite=opposite,
        first_ties=_pairs_within(firsts) - both,
        second_ties=_pairs_within(seconds) - both,
        both_tie=both,
    )


def _pairs_within(counts: Mapping[Any, int]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.values())
