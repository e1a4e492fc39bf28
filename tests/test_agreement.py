"""Two orders held against each other: the counts against all pairs one by one, and Kendall's tau-b."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from carver.tools.agreement import Agreement, agreement
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.tuples(st.integers(0, 6), st.integers(0, 6)), st.integers(1, 3), max_size=25))
def test_agreement_is_that_of_all_pairs(counts):
    items = [pair for pair, count in counts.items() for _ in range(count)]
    want = dict.fromkeys(("same", "opposite", "first_ties", "second_ties", "both_tie"), 0)
    for (x1, y1), (x2, y2) in itertools.combinations(items, 2):
        tie = "both_tie" if (x1, y1) == (x2, y2) else "first_ties" if x1 == x2 else "second_ties" if y1 == y2 else None
        want[tie or ("same" if (x1 < x2) == (y1 < y2) else "opposite")] += 1
    assert agreement(counts) == Agreement(pairs=len(items) * (len(items) - 1) // 2, **want)
    # The same things one by one.
    assert agreement(Counter(items)) == agreement(counts)


@pytest.mark.parametrize(
    "counts, tau",
    [
        ({(1, 1): 1, (2, 2): 1, (3, 3): 1}, 1.0),
        ({(1, 3): 1, (2, 2): 1, (3, 1): 1}, -1.0),
        ({(1, 1): 2, (2, 2): 2}, 1.0),
        # Four pairs told apart by either, two by both, which agree on one: as with Kendall (1945), ties in both.
        ({(1, 1): 1, (1, 2): 1, (2, 1): 1, (2, 2): 1}, 0.0),
        ({(1, 2): 1, (2, 1): 1, (3, 3): 1, (4, 4): 1}, 4 / 6),
        ({(1, 1): 1, (1, 2): 1}, None),
        ({(1, 1): 5}, None),
        ({}, None),
    ],
)
def test_tau(counts, tau):
    found = agreement(counts).tau
    assert found == (None if tau is None else pytest.approx(tau, abs=1e-15))


def test_for_json():
    assert agreement({(1, 2): 2, (2, 1): 1, (2, 3): 1}).as_dict() == {
        "pairs": 6,
        "same": 2,
        "opposite": 2,
        "first_ties": 1,
        "second_ties": 0,
        "both_tie": 1,
        "tau": 0.0,
    }
