"""Whether the blocks of a function form a stage pipeline: each reads only what was written before it.

Stands in for SBlockInfoCollector of src/s_tir/schedule/state.cc. Reindexing asks for it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from .arith import Analyzer, IntSet, estimate_region_lower_bound, estimate_region_upper_bound
from .arith.int_set import intersect, union_region_lower_bound
from .expr import (
    Add,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    PrimExpr,
    Range,
    Sub,
    TirError,
    Var,
    less_equal,
    logical_and,
    sub,
    substitute,
)
from .schedule import Place, Schedule, child_realizes
from .stmt import BufferRegion, For, SBlock, SBlockRealize, map_region


class ReadOutside(TirError):
    """A stage that reads nothing of what the stages before it make. TVM fails on it too, by an internal error."""


# tvm: src/s_tir/schedule/state.cc (SBlockInfoCollector::CheckRegionCoverAndStagePipeline)
def is_stage_pipeline(sch: Schedule) -> bool:
    """Whether no block of the root overwrites what an earlier one reads, and writers cover what readers read."""
    root = sch.root()
    places = {realize.block: sch.place(realize.block) for realize in child_realizes(root.body)}
    analyzer = Analyzer()
    for place in places.values():
        for loop in place.loops:
            analyzer.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent), True)
    edges = sch.dependencies(root)
    stage_pipeline = all(edge.kind != "WAR" for edge in edges)
    # All consumers are looked at, also when the answer is known: judging one of them may fail.
    for consumer, place in places.items():
        producers = [places[edge.src] for edge in edges if edge.dst is consumer and edge.kind == "RAW"]
        if not _covered(place, producers, analyzer):
            stage_pipeline = False
    return stage_pipeline


def may_read_outside(sch: Schedule) -> bool:
    """Whether a block might read nothing but what lies outside a buffer that other blocks write.

    TVM judges the stage pipeline of every schedule it makes, and fails on such a read. Here it is judged when asked
    for, and at once where this quick look does not rule the failure out: one place inside the buffer does.
    """
    realizes = child_realizes(sch.root().body)
    written = {access.buffer for realize in realizes for access in realize.block.writes}
    for realize in realizes:
        for access in realize.block.reads:
            if access.buffer not in written:
                continue
            first = _first_place(realize)
            for extent, part in zip(access.buffer.shape, access.region):
                if type(part.min) is Var and first.get(part.min) == 0 and _may_hold(extent):
                    continue
                start = _value_at(part.min, first)
                if start is None or type(extent) is not IntImm or not 0 <= start < extent.value:
                    return True
    return False


def _may_hold(extent: PrimExpr) -> bool:
    """Whether an axis may have a place at all. One of a negative extent has none, and TVM fails on reading it."""
    return type(extent) is not IntImm or extent.value > 0


def _first_place(realize: SBlockRealize) -> dict[Var, int]:
    """The block's iterators where all of its loops begin; loops begin at constants, those of dynamic extent too."""
    first = {}
    for iter_var in realize.block.iter_vars:
        if type(iter_var.dom.min) is IntImm:
            first[iter_var.var] = iter_var.dom.min.value
    return first


def _value_at(index: PrimExpr, place: dict[Var, int]) -> int | None:
    """The value of an index at a place, or None when it is not made of additions and constants.

    Nor of a quotient or remainder by what is not positive, or of what falls where an iterator rises: TVM's interval of
    such a one need not hold its values.
    """
    kind = type(index)
    if kind is Var:
        return place.get(index)
    if kind is IntImm:
        return index.value
    operate = _PLAIN.get(kind)
    if operate is None:
        return None
    a, b = _value_at(index.a, place), _value_at(index.b, place)
    if a is None or b is None or (kind in (FloorDiv, FloorMod) and (b <= 0 or not _rises(index.a))):
        return None
    return operate(a, b)


def _rises(index: PrimExpr) -> bool:
    """Whether nothing in a sum takes an iterator away."""
    kind = type(index)
    if kind in (Var, IntImm):
        return True
    if kind is Sub:
        return type(index.b) is IntImm and _rises(index.a)
    if kind is Mul and type(index.b) is IntImm and index.b.value < 0:
        return False
    return _rises(index.a) and _rises(index.b)


_PLAIN = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    FloorDiv: operator.floordiv,
    FloorMod: operator.mod,
    Min: min,
    Max: max,
}


def _covered(consumer: Place, producers: Sequence[Place], analyzer: Analyzer) -> bool:
    """Whether the producers write all that the consumer reads of their buffers.

    Producers are judged together when they share the same innermost loop with the consumer.
    """
    for shared in _shared_depths(consumer, producers):
        together = [producer for producer in producers if _shared_depth(consumer, producer) == shared]
        for access in _unbound(consumer, consumer.realize.block.reads):
            touched = []
            for producer in together:
                for written in _unbound(producer, producer.realize.block.writes):
                    if written.buffer is access.buffer:
                        touched.append(_lower_bound(written, producer, shared, analyzer))
            if not touched:
                continue
            produced = union_region_lower_bound(touched)
            loops = _domains(consumer.loops[shared:])
            consumed = estimate_region_upper_bound(access.region, loops, consumer.realize.predicate, analyzer)
            try:
                covered = _covers(access.buffer.shape, produced, consumed, analyzer)
            except ReadOutside:
                for extent in access.buffer.shape:
                    if not _may_hold(extent):
                        raise ReadOutside(f"every extent must be at least 1, and one is {extent}") from None
                name = consumer.realize.block.name_hint
                raise ReadOutside(f"the stage {name!r} reads {access}, which lies outside of the tensor") from None
            if not covered:
                return False
    return True


def _shared_depth(a: Place, b: Place) -> int:
    """How many loops two blocks share, from the outside."""
    depth = 0
    for loop_a, loop_b in zip(a.loops, b.loops):
        if loop_a is not loop_b:
            break
        depth += 1
    return depth


def _shared_depths(consumer: Place, producers: Sequence[Place]) -> list[int]:
    """The depths at which producers join the consumer, innermost first."""
    return sorted({_shared_depth(consumer, producer) for producer in producers}, reverse=True)


def _domains(loops: Sequence[For]) -> dict[Var, Range]:
    """The ranges of loop variables, from the inside out."""
    return {loop.loop_var: Range.from_min_extent(loop.min, loop.extent) for loop in reversed(loops)}


def _unbound(place: Place, accesses: Sequence[BufferRegion]) -> list[BufferRegion]:
    """Regions in terms of the loops around the block."""
    block: SBlock = place.realize.block
    values = {iter_var.var: value for iter_var, value in zip(block.iter_vars, place.realize.iter_values)}
    return [map_region(access, lambda expr: substitute(expr, values)) for access in accesses]


# tvm: src/s_tir/schedule/state.cc (AnalyzeRegionLowerBound)
def _lower_bound(access: BufferRegion, producer: Place, shared: int, analyzer: Analyzer) -> list[IntSet]:
    loops = _domains(producer.loops[shared:])
    found = estimate_region_lower_bound(access.region, loops, producer.realize.predicate, analyzer)
    return found if found is not None else [IntSet.nothing() for _ in access.buffer.shape]


# tvm: src/s_tir/schedule/state.cc (ProducerCoversConsumer)
def _covers(
    shape: Sequence[PrimExpr], produced: Sequence[IntSet], consumed: Sequence[IntSet], analyzer: Analyzer
) -> bool:
    for extent, made, read in zip(shape, produced, consumed):
        whole = IntSet.from_min_extent(0, extent)
        if made.is_nothing():
            return False
        if read.is_nothing():
            continue
        made = _within(made, whole, analyzer)
        read = _within(read, whole, analyzer)
        if read.is_nothing():
            # TVM goes on to subtract its two infinities, whose dtype is none of a number's.
            raise ReadOutside
        starts_before = less_equal(analyzer.canonical_simplify(sub(made.min(), read.min())), 0)
        ends_after = less_equal(analyzer.canonical_simplify(sub(read.max(), made.max())), 0)
        if not analyzer.can_prove(logical_and(starts_before, ends_after)):
            return False
    return True


def _within(region: IntSet, whole: IntSet, analyzer: Analyzer) -> IntSet:
    """The part of an interval inside the buffer, simplified."""
    canonical = analyzer.canonical_simplify
    cut = intersect([IntSet.interval(canonical(region.min()), canonical(region.max())), whole])
    return IntSet.interval(analyzer.simplify(cut.min()), analyzer.simplify(cut.max()))
