"""Tuning spaces of a matrix product: what is in one, what the hardware accepts of it, and a surrogate for its time.

A configuration has a block size along M, N and K, a number of pipeline stages and a number of threads. Neither the
surrogate nor carver's model looks at the threads: what both see is a `Group`, and the legal configurations of a product
come group by group, never all at once. There the reasons against single values are counted by arithmetic, and only what
they leave is walked.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

PARAMETERS = ("block_M", "block_N", "block_K", "num_stages", "threads")
# Each block and the extent that it divides.
BLOCKS = {"block_M": "M", "block_N": "N", "block_K": "K"}
# The order in which a configuration's values are tested: the first reason that applies is the one counted.
TESTED = ("num_stages", "threads", "block_M", "block_N", "block_K")

GRANULE = 16  # every block is a multiple of it
WARP = 32
MOST_THREADS = 1024
SHARED_MEMORY = "over the shared memory"
# More distinct costs than this are not told apart one by one: they are kept in memory.
MOST_DISTINCT = 1_000_000
# Progress is told once in so many groups.
EVERY = 4096

Group = tuple[int, int, int, int]
"""block_M, block_N, block_K, num_stages: all that either model sees of a configuration."""

Show = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Problem:
    """C[M, N] = A[M, K] B[K, N] and the memory there is for it."""

    M: int
    N: int
    K: int
    dtype: str
    """Of A and B."""
    element_bytes: int
    smem_budget: int
    """Bytes of shared memory that one thread block may have."""


# ---------------------------------------------------------------------------------------------------------------------
# The rules


def reasons_in_order() -> list[str]:
    """Every reason against a configuration, in the order in which they are asked for."""
    reasons = ["num_stages below 1", f"threads not a positive multiple of {WARP}", f"threads above {MOST_THREADS}"]
    for name, extent in BLOCKS.items():
        reasons += [f"{name} not positive", f"{name} not a multiple of {GRANULE}", f"{name} does not divide {extent}"]
    return [*reasons, SHARED_MEMORY]


def value_reason(problem: Problem, name: str, value: int) -> str | None:
    """The reason against one value of a parameter, whatever the others are; None if there is none."""
    if name == "num_stages":
        return "num_stages below 1" if value < 1 else None
    if name == "threads":
        if value <= 0 or value % WARP:
            return f"threads not a positive multiple of {WARP}"
        return f"threads above {MOST_THREADS}" if value > MOST_THREADS else None
    extent = BLOCKS[name]
    if value <= 0:
        return f"{name} not positive"
    if value % GRANULE:
        return f"{name} not a multiple of {GRANULE}"
    return f"{name} does not divide {extent}" if getattr(problem, extent) % value else None


def smem_bytes(problem: Problem, group: Group) -> int:
    """Bytes of shared memory: a tile of A and one of B for every stage."""
    block_m, block_n, block_k, num_stages = group
    return num_stages * (block_m * block_k + block_k * block_n) * problem.element_bytes


def reason_against(problem: Problem, group: Group, threads: int) -> str | None:
    """Why the hardware does not accept a configuration; None if it does."""
    values = dict(zip(PARAMETERS, (*group, threads)))
    for name in TESTED:
        why = value_reason(problem, name, values[name])
        if why is not None:
            return why
    return SHARED_MEMORY if smem_bytes(problem, group) > problem.smem_budget else None


def surrogate_cost(problem: Problem, group: Group) -> float:
    """The surrogate for the time of a legal configuration, in arbitrary units; less is better.

    Every tile of C takes 200 and its steps along K. A step takes as long as the slowest of three: copying the tiles of
    A and B, the latency of memory, 400, which the stages share, and the multiplication. That gets slower per element
    for tiles of C above 4096, to stand for the registers.
    """
    block_m, block_n, block_k, num_stages = group
    steps = problem.K // block_k
    tiles = (problem.M // block_m) * (problem.N // block_n)
    # In parts of a unit, 2**26 x num_stages of them, all is whole. Rounded once, at the end, equal costs stay equal.
    unit = num_stages << 26
    copy = ((block_m + block_n) * block_k * problem.element_bytes * num_stages) << 21
    pressure = 32768 + max(0, block_m * block_n - 4096)  # in 2**15 parts, as block_M x block_N / 2**14 is halved
    compute = block_m * block_n * block_k * num_stages * pressure
    return tiles * (200 * unit + steps * max(copy, 400 << 26, compute)) / unit


# ---------------------------------------------------------------------------------------------------------------------
# Spaces


def _show_nothing(looked_at: int) -> None:
    pass


@dataclass(frozen=True)
class Product:
    """All combinations of some lists of values. The lists are not empty and hold no value twice."""

    lists: dict[str, tuple[int, ...]]
    """The values of each of `PARAMETERS`."""
    carried: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """The values of other keys, which no rule looks at: part of the product, and carried along."""
    threads_key: str = "threads"
    """What TileLang's kernel calls the threads."""

    @property
    def requested(self) -> int:
        """How many configurations there are."""
        return math.prod(map(len, [*self.lists.values(), *self.carried.values()]))

    def offers(self, name: str, value: int) -> bool:
        """Whether a parameter is ever given a value."""
        return value in self.lists[name]

    def prune(self, problem: Problem) -> LegalProduct:
        return LegalProduct(self, problem)


class LegalProduct:
    """What the hardware accepts of a product."""

    def __init__(self, space: Product, problem: Problem) -> None:
        self.space, self.problem = space, problem
        self.reasons: Counter[str] = Counter()
        """Refused configurations by reason; those over the shared memory once `groups` has run to its end."""
        self.good: dict[str, list[int]] = {}
        """The values of each parameter that nothing speaks against."""
        left = space.requested
        for name in TESTED:
            each = left // len(space.lists[name])  # configurations not refused so far that have one value
            reasons = {value: value_reason(problem, name, value) for value in space.lists[name]}
            self.good[name] = [value for value, why in reasons.items() if why is None]
            for why in reasons.values():
                if why is not None and each:
                    self.reasons[why] += each
            left = each * len(self.good[name])
        self.group_size = left // max(self.walk, 1)

    @property
    def walk(self) -> int:
        """How many groups `groups` looks at: none where all numbers of threads are refused."""
        return math.prod(len(values) for name, values in self.good.items() if name != "threads" or not values)

    def groups(self, show: Show = _show_nothing) -> Iterator[Group]:
        """The legal groups, in the order of the lists; what is over the shared memory is counted on the way.

        ``show`` is told now and then how many were looked at.
        """
        budget, each = self.problem.smem_budget, self.group_size
        if not each:
            return
        least = min(self.good["num_stages"], default=0) * min(self.good["block_K"], default=0)
        behind = len(self.good["num_stages"]) * len(self.good["block_K"])
        shown = 0
        for row, (block_m, block_n) in enumerate(itertools.product(self.good["block_M"], self.good["block_N"])):
            if row * behind >= shown:
                show(row * behind)
                shown = row * behind + EVERY
            row_bytes = (block_m + block_n) * self.problem.element_bytes
            if row_bytes * least > budget:
                self.reasons[SHARED_MEMORY] += behind * each
                continue
            for block_k, num_stages in itertools.product(self.good["block_K"], self.good["num_stages"]):
                if num_stages * row_bytes * block_k > budget:
                    self.reasons[SHARED_MEMORY] += each
                else:
                    yield block_m, block_n, block_k, num_stages

    def size(self, group: Group) -> int:
        """How many legal configurations a group stands for."""
        return self.group_size

    def threads(self, group: Group) -> list[int]:
        """The legal numbers of threads that go with a group."""
        return self.good["threads"]

    def members(self, group: Group) -> Iterator[dict]:
        """The configurations of a legal group, as TileLang takes them."""
        for threads in self.good["threads"]:
            for values in itertools.product(*self.space.carried.values()):
                yield {
                    **dict(zip(PARAMETERS, group)),
                    self.space.threads_key: threads,
                    **dict(zip(self.space.carried, values)),
                }

    def why_missing(self, blocks: tuple[int, int, int]) -> str | None:
        """Why no legal configuration has these blocks, which the lists do offer; None if one has."""
        stages, threads = self.good["num_stages"], self.good["threads"]
        if not stages or not threads:
            return "offered with no legal num_stages and threads"
        return reason_against(self.problem, (*blocks, min(stages)), threads[0])


@dataclass(frozen=True)
class Listed:
    """Configurations one by one, none of them twice."""

    configs: list[dict]
    """As TileLang takes them."""
    threads_key: str = "threads"

    @property
    def requested(self) -> int:
        return len(self.configs)

    @property
    def carried(self) -> list[str]:
        """The keys that no rule looks at."""
        return sorted({key for config in self.configs for key in config} - {*PARAMETERS, self.threads_key})

    def offers(self, name: str, value: int) -> bool:
        key = self.threads_key if name == "threads" else name
        return any(config[key] == value for config in self.configs)

    def prune(self, problem: Problem) -> LegalListed:
        return LegalListed(self, problem)


class LegalListed:
    """What the hardware accepts of a list; the same methods as `LegalProduct`."""

    def __init__(self, space: Listed, problem: Problem) -> None:
        self.space, self.problem = space, problem
        self.reasons: Counter[str] = Counter()
        self._why: dict[tuple[int, int, int], str] = {}
        self._groups: dict[Group, list[dict]] = {}
        for config in space.configs:
            group = tuple(config[name] for name in PARAMETERS[:-1])
            why = reason_against(problem, group, config[space.threads_key])
            if why is None:
                self._groups.setdefault(group, []).append(config)
            else:
                self.reasons[why] += 1
                self._why.setdefault(group[:3], why)
        self._blocks = {group[:3] for group in self._groups}

    @property
    def walk(self) -> int:
        return len(self._groups)

    def groups(self, show: Show = _show_nothing) -> Iterator[Group]:
        for looked_at, group in enumerate(self._groups):
            if looked_at % EVERY == 0:
                show(looked_at)
            yield group

    def size(self, group: Group) -> int:
        return len(self._groups[group])

    def threads(self, group: Group) -> list[int]:
        return list(dict.fromkeys(config[self.space.threads_key] for config in self._groups[group]))

    def members(self, group: Group) -> Iterator[dict]:
        return iter(self._groups[group])

    def why_missing(self, blocks: tuple[int, int, int]) -> str | None:
        if blocks in self._blocks:
            return None
        return self._why.get(blocks, "not offered together")


# ---------------------------------------------------------------------------------------------------------------------
# Orders


class Order:
    """Puts groups in order as they come, in bounded memory. Equal ones stay in the order in which they came."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.ranked = 0
        """Configurations that have a value."""
        self.unranked = 0
        """Configurations that the model refuses."""
        self.best = math.inf
        self.tied = 0
        """Configurations that share the best value."""
        self.tied_values: dict[str, set[int]] = {}
        """The values of each parameter among them."""
        self._values: set[float] = set()
        self._heap: list[tuple[float, int, Group]] = []
        self._seen = 0

    def add(self, value: float, group: Group, size: int, threads: Sequence[int]) -> None:
        """A group of ``size`` configurations; less is better, and infinite is a group that the model refuses."""
        entry = (-value, -self._seen, group)
        self._seen += 1
        if len(self._heap) < self.keep:
            heapq.heappush(self._heap, entry)
        elif entry > self._heap[0]:
            heapq.heapreplace(self._heap, entry)
        if value == math.inf:
            self.unranked += size
            return
        self.ranked += size
        if len(self._values) <= MOST_DISTINCT:
            self._values.add(value)
        if value < self.best:
            self.best, self.tied = value, 0
            self.tied_values = {name: set() for name in PARAMETERS}
        if value == self.best:
            self.tied += size
            for name, one in zip(PARAMETERS, group):
                self.tied_values[name].add(one)
            self.tied_values["threads"].update(threads)

    @property
    def distinct(self) -> int:
        """How many values there are; above `MOST_DISTINCT` they are no longer counted."""
        return len(self._values)

    def kept(self) -> list[tuple[float, Group]]:
        """The best groups, at most ``keep`` of them, best first."""
        return [(-negative, group) for negative, _, group in sorted(self._heap, reverse=True)]
