"""Putting a stage into the stages that read it, or into the one that it reads.

Stands in for ``src/s_tir/schedule/primitive/compute_inline.cc`` and what it needs of ``analysis.cc`` and
``transform.cc``. Only carver's helpers that inline call it (``try_inline`` and its like); its search does not.

Left out: buffers that are accessed through their pointer or matched into blocks, and blocks with the annotation
``auto_copy``, which te does not make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .access_region import get_sblock_read_write_region
from .arith import Analyzer, IntSet, IterMapLevel, detect_iter_map, inverse_affine_iter_map
from .arith.int_set import eval_set
from .expr import (
    TRUE,
    BufferLoad,
    IntImm,
    IterVar,
    PrimExpr,
    Range,
    Var,
    add,
    children,
    deep_equal,
    greater,
    greater_equal,
    is_one,
    less,
    logical_and,
    map_children,
    structural_equal,
    sub,
    substitute,
)
from .schedule import Place, Schedule, ScheduleError, replace_stmt, walk_places
from .stmt import (
    Bind,
    Buffer,
    BufferRegion,
    BufferStore,
    For,
    IfThenElse,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
)


# tvm: src/s_tir/schedule/primitive/compute_inline.cc (ComputeInlineImpl)
def compute_inline(sch: Schedule, block: SBlock) -> None:
    """Compute in every reader of a block what the block would have computed for it, and remove the block.

    ScheduleError unless the block stores one value per element of one buffer that the scope allocates, at indices that
    are its iterators or map onto them one to one.
    """
    _check_no_init(block)
    if len(block.writes) != 1:
        raise ScheduleError(f"the block {block.name_hint!r} must write one buffer to be inlined")
    place = _place_in_pipeline(sch, block)
    _check_not_output(block, place.scope)
    _check_complete(sch, block, place.scope)
    store = block.body
    if not isinstance(store, BufferStore):
        raise ScheduleError(f"the body of the block {block.name_hint!r} is not the store of one value")
    inliner = _ComputeInliner(block, store)
    _rewrite_scope(sch, block, place, inliner)


# tvm: src/s_tir/schedule/primitive/compute_inline.cc (ReverseComputeInlineImpl)
def reverse_compute_inline(sch: Schedule, block: SBlock) -> None:
    """Let the block that makes a block's input store the block's result instead, and remove the block.

    ScheduleError unless the block reads one buffer of the scope, at one place, has no other way of being reached, and
    its producer makes all that it reads.
    """
    _check_no_init(block)
    place = _place_in_pipeline(sch, block)
    inlined = _only_scope_buffer(sch, block, place.scope)
    _check_complete(sch, block, place.scope)
    producer = _only_producer(sch, block, place.scope, inlined)
    _check_not_output(producer, place.scope)
    inliner = _ReverseComputeInliner(inlined, producer, place.realize)
    _rewrite_scope(sch, block, place, inliner)


# --------------------------------------------------------------------------------------------------------------------
# What must hold of a block (analysis.cc)
# --------------------------------------------------------------------------------------------------------------------


def _check_no_init(block: SBlock) -> None:
    if block.init is not None:
        raise ScheduleError(f"the block {block.name_hint!r} is a reduction, which cannot be inlined")


# tvm: src/s_tir/schedule/analysis/analysis.cc (GetScopeRoot)
def _place_in_pipeline(sch: Schedule, block: SBlock) -> Place:
    place = sch.place(block)
    if place.scope is None:
        raise ScheduleError("the root block cannot be inlined")
    if not sch.is_stage_pipeline():
        raise ScheduleError(f"the blocks of {place.scope.name_hint!r} are no stage pipeline")
    return place


# tvm: src/s_tir/schedule/analysis/analysis.cc (CheckNotOutputBlock)
def _check_not_output(block: SBlock, scope: SBlock) -> None:
    if any(access.buffer not in scope.alloc_buffers for access in block.writes):
        raise ScheduleError(f"the block {block.name_hint!r} writes an output, it cannot be inlined away")


# tvm: src/s_tir/schedule/analysis/analysis.cc (CheckCompleteBlockErrorCode)
def _is_complete(sch: Schedule, block: SBlock, scope: SBlock) -> bool:
    """Whether a block has space axes only, is the only writer of its outputs, and does not read them."""
    if any(iter_var.iter_type != IterVar.DataPar for iter_var in block.iter_vars):
        return False
    written = [access.buffer for access in block.writes]
    if any(len(sch.buffer_writers(scope, buffer)) > 1 for buffer in written):
        return False
    return all(access.buffer not in written for access in block.reads)


def _check_complete(sch: Schedule, block: SBlock, scope: SBlock) -> None:
    if not _is_complete(sch, block, scope):
        raise ScheduleError(
            f"the block {block.name_hint!r} is not complete: it has reduction axes, shares its output with another "
            "writer, or reads its own output"
        )


# tvm: src/s_tir/schedule/primitive/compute_inline.cc (NotSingleReadWriteBuffer::GetSingleRead)
def _only_scope_buffer(sch: Schedule, block: SBlock, scope: SBlock) -> Buffer:
    """The one buffer that a block reads and that blocks of the scope write."""
    made_here = [access.buffer for access in block.reads if sch.buffer_writers(scope, access.buffer)]
    if len(set(made_here)) != 1:
        raise ScheduleError(f"the block {block.name_hint!r} must read one buffer that other blocks write")
    return made_here[0]


# tvm: src/s_tir/schedule/primitive/compute_inline.cc (NonSingleProducerError::Check)
def _only_producer(sch: Schedule, block: SBlock, scope: SBlock, buffer: Buffer) -> SBlock:
    """The one block under the scope, with no blocks inside, that writes the buffer; it must be complete."""
    places = list(walk_places(scope.body, [], scope))
    outer = [place.scope for place in places]
    producers = []
    for place in places:
        candidate = place.realize.block
        if candidate in outer or all(access.buffer is not buffer for access in candidate.writes):
            continue
        if not _is_complete(sch, candidate, scope):
            raise ScheduleError(f"the block {candidate.name_hint!r} is not complete, nothing can be inlined into it")
        producers.append(candidate)
    if len(producers) != 1:
        raise ScheduleError(f"the block {block.name_hint!r} must have one producer, it has {len(producers)}")
    return producers[0]


# --------------------------------------------------------------------------------------------------------------------
# Removing the block (transform.cc) and rewriting its scope
# --------------------------------------------------------------------------------------------------------------------


def _rewrite_scope(sch: Schedule, block: SBlock, place: Place, inliner: _Inliner) -> None:
    old, new = _removal(block, place)
    pruned = replace_stmt(place.scope, old, new)
    new_scope = inliner.scope(pruned)
    sch.replace(place.scope, new_scope, {**inliner.rewritten, place.scope: new_scope})
    sch.forget(block)


# tvm: src/s_tir/schedule/transform.cc (LeafBlockRemovalPlan)
def _removal(block: SBlock, place: Place) -> tuple[Stmt, Stmt]:
    """Which statement has to become which, so that a block and the loops that hold nothing else go."""
    leaf: Stmt = place.realize
    for loop in reversed(place.loops):
        if isinstance(loop.body, SeqStmt) and len(loop.body.seq) > 1:
            return loop, For(loop.loop_var, loop.min, loop.extent, _without(loop.body, leaf), loop.kind)
        leaf = loop
    if isinstance(place.scope.body, SeqStmt):
        return place.scope, place.scope.replace(body=_without(place.scope.body, leaf))
    raise ScheduleError(f"the block {block.name_hint!r} is the only one in its scope")


def _without(seq: SeqStmt, stmt: Stmt) -> Stmt:
    rest = [part for part in seq.seq if part is not stmt]
    return rest[0] if len(rest) == 1 else SeqStmt(rest)


# tvm: src/s_tir/schedule/primitive/compute_inline.cc (BaseInliner)
class _Inliner:
    """Rewrites the scope. ``rewritten`` tells which block each changed one has become."""

    def __init__(self, inlined: Buffer):
        self.inlined = inlined
        self.rewritten: dict[SBlock, SBlock] = {}

    def scope(self, scope: SBlock) -> SBlock:
        """The scope without the inlined buffer."""
        new = self.parts_of(scope)
        return new.replace(alloc_buffers=[buffer for buffer in new.alloc_buffers if buffer is not self.inlined])

    def block(self, block: SBlock) -> SBlock:
        new = self.parts_of(block)
        if any(access.buffer is self.inlined for access in (*new.reads, *new.writes)):
            reads, writes = get_sblock_read_write_region(new)
            new = new.replace(reads=reads, writes=writes)
        if new is not block:
            self.rewritten[block] = new
        return new

    def parts_of(self, block: SBlock) -> SBlock:
        changes = {
            "iter_vars": _mapped(self.iter_var, block.iter_vars),
            "reads": _mapped(self.region, block.reads),
            "writes": _mapped(self.region, block.writes),
            "init": None if block.init is None else self.stmt(block.init),
            "body": self.stmt(block.body),
        }
        changed = {name: value for name, value in changes.items() if value is not getattr(block, name)}
        return block.replace(**changed) if changed else block

    def iter_var(self, iter_var: IterVar) -> IterVar:
        dom = self.range(iter_var.dom)
        return iter_var if dom is iter_var.dom else IterVar(dom, iter_var.var, iter_var.iter_type, iter_var.thread_tag)

    def region(self, access: BufferRegion) -> BufferRegion:
        region = _mapped(self.range, access.region)
        return access if region is access.region else BufferRegion(access.buffer, region)

    def range(self, r: Range) -> Range:
        low, extent = self.expr(r.min), self.expr(r.extent)
        return r if low is r.min and extent is r.extent else Range.from_min_extent(low, extent)

    def realize(self, realize: SBlockRealize) -> SBlockRealize:
        values = _mapped(self.expr, realize.iter_values)
        predicate, block = self.expr(realize.predicate), self.block(realize.block)
        unchanged = values is realize.iter_values and predicate is realize.predicate and block is realize.block
        return realize if unchanged else SBlockRealize(values, predicate, block)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, SBlockRealize):
            return self.realize(stmt)
        if isinstance(stmt, BufferStore):
            return self.store(stmt)
        if isinstance(stmt, For):
            low, extent, body = self.expr(stmt.min), self.expr(stmt.extent), self.stmt(stmt.body)
            if low is stmt.min and extent is stmt.extent and body is stmt.body:
                return stmt
            return For(stmt.loop_var, low, extent, body, stmt.kind)
        if isinstance(stmt, SeqStmt):
            seq = _mapped(self.stmt, stmt.seq)
            return stmt if seq is stmt.seq else SeqStmt(seq)
        if isinstance(stmt, Bind):
            value = self.expr(stmt.value)
            return stmt if value is stmt.value else Bind(stmt.var, value)
        if isinstance(stmt, IfThenElse):
            condition, then_case = self.expr(stmt.condition), self.stmt(stmt.then_case)
            else_case = None if stmt.else_case is None else self.stmt(stmt.else_case)
            if condition is stmt.condition and then_case is stmt.then_case and else_case is stmt.else_case:
                return stmt
            return IfThenElse(condition, then_case, else_case)
        raise ScheduleError(f"cannot inline into {type(stmt).__name__}")

    def store(self, store: BufferStore) -> BufferStore:
        value, indices = self.expr(store.value), _mapped(self.expr, store.indices)
        unchanged = value is store.value and indices is store.indices
        return store if unchanged else BufferStore(store.buffer, value, indices)

    def expr(self, expr: PrimExpr) -> PrimExpr:
        return map_children(expr, self.expr)


def _mapped(function: Callable, values: tuple) -> tuple:
    """The values with a function applied; the same object where none changed."""
    new = tuple([function(value) for value in values])
    return values if all(a is b for a, b in zip(new, values)) else new


# --------------------------------------------------------------------------------------------------------------------
# Into the readers
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/s_tir/schedule/primitive/compute_inline.cc (ComputeInliner)
class _ComputeInliner(_Inliner):
    """Puts a block's value in place of every read of its buffer."""

    def __init__(self, producer: SBlock, store: BufferStore):
        super().__init__(producer.writes[0].buffer)
        # The value in terms of `index_vars`, one for each axis of the buffer.
        self.index_vars, self.value = _value_by_index(producer, store)
        self.known: dict[Var, PrimExpr] = {}

    def expr(self, expr: PrimExpr) -> PrimExpr:
        new = map_children(expr, self.expr)
        if type(new) is not BufferLoad or new.buffer is not self.inlined:
            return new
        self.known.update(zip(self.index_vars, new.indices))
        return substitute(self.value, self.known)


# tvm: src/s_tir/schedule/primitive/compute_inline.cc (ComputeInliner::BodyPatternAllowInline)
def _value_by_index(producer: SBlock, store: BufferStore) -> tuple[list[Var], PrimExpr]:
    """Variables for the indices of the store, and the value that is stored in terms of them."""
    analyzer = Analyzer()
    if len(producer.iter_vars) == len(store.indices):
        pairs = zip(producer.iter_vars, store.indices)
        if all(index is iter_var.var or _is_unit_at_zero(iter_var, index, analyzer) for iter_var, index in pairs):
            return [iter_var.var for iter_var in producer.iter_vars], store.value

    found = detect_iter_map(
        store.indices,
        {iter_var.var: iter_var.dom for iter_var in producer.iter_vars},
        True,
        IterMapLevel.Bijective,
        simplify_trivial_iterators=False,
        analyzer=analyzer,
    )
    if found.errors:
        raise ScheduleError(f"the indices of the store of {producer.name_hint!r} do not map its iterators one to one")
    index_vars = [Var(f"ph_{i}", index.dtype) for i, index in enumerate(store.indices)]
    inverse = dict(inverse_affine_iter_map(found.indices, index_vars))
    for iter_var in producer.iter_vars:
        if type(iter_var.dom.min) is IntImm and analyzer.can_prove_equal(iter_var.dom.extent, 1):
            inverse[iter_var.var] = iter_var.dom.min
    return index_vars, substitute(store.value, inverse)


def _is_unit_at_zero(iter_var: IterVar, index: PrimExpr, analyzer: Analyzer) -> bool:
    proves = analyzer.can_prove_equal
    return proves(index, 0) and proves(iter_var.dom.min, 0) and proves(iter_var.dom.extent, 1)


# --------------------------------------------------------------------------------------------------------------------
# Into the producer
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/s_tir/schedule/primitive/compute_inline.cc (ReverseComputeInliner)
class _ReverseComputeInliner(_Inliner):
    """Lets the producer store what its only reader would have made of its value."""

    def __init__(self, inlined: Buffer, producer: SBlock, consumer: SBlockRealize):
        super().__init__(inlined)
        self.producer = producer
        self.consumer_store = consumer.block.body
        self.analyzer = Analyzer()
        # The consumer's iterators in terms of the producer's.
        self.known: dict[Var, PrimExpr] = {}
        self._match(consumer)
        self.in_bound: PrimExpr = TRUE
        for iter_var in consumer.block.iter_vars:
            var, dom = iter_var.var, iter_var.dom
            inside = logical_and(greater_equal(var, dom.min), less(var, add(dom.min, dom.extent)))
            self.in_bound = logical_and(self.in_bound, inside)

    # tvm: src/s_tir/schedule/primitive/compute_inline.cc (ReverseComputeInliner::BodyPatternAllowInline)
    def _match(self, consumer: SBlockRealize) -> None:
        name, store = consumer.block.name_hint, consumer.block.body
        if not is_one(consumer.predicate) or not isinstance(store, BufferStore):
            raise ScheduleError(f"the block {name!r} is not the store of one value, without a condition")
        loads = [load for expr in (*store.indices, store.value) for load in _loads_of(self.inlined, expr)]
        if not loads:
            raise ScheduleError(f"the block {name!r} does not read {self.inlined.name} after all")
        for iter_var in consumer.block.iter_vars:
            if is_one(iter_var.dom.extent) and type(iter_var.dom.min) is IntImm:
                self.known[iter_var.var] = iter_var.dom.min
        indices = loads[0].indices
        for load in loads[1:]:
            if indices and not all(map(deep_equal, indices, load.indices)):
                raise ScheduleError(f"the block {name!r} reads {self.inlined.name} at several places")

        domains = {iter_var.var: iter_var.dom for iter_var in consumer.block.iter_vars}
        found = detect_iter_map(
            indices, domains, True, IterMapLevel.NoCheck, simplify_trivial_iterators=False, analyzer=self.analyzer
        )
        if not found.indices:
            raise ScheduleError(f"the block {name!r} reads {self.inlined.name} at a place that is no iterator map")
        producer_store = self._producer_store()
        self.known.update(inverse_affine_iter_map(found.indices, producer_store.indices))
        if not self._is_covered(consumer.block):
            raise ScheduleError(f"the block {self.producer.name_hint!r} does not make all that {name!r} needs")

    def _producer_store(self) -> BufferStore:
        store = self.producer.body
        if isinstance(store, IfThenElse) and store.else_case is None:
            store = store.then_case
        if not isinstance(store, BufferStore):
            raise ScheduleError(f"the body of the block {self.producer.name_hint!r} is not the store of one value")
        return store

    # tvm: src/s_tir/schedule/primitive/compute_inline.cc (ReverseComputeInliner::CheckConsumerCovered)
    def _is_covered(self, consumer: SBlock) -> bool:
        """Whether the producer's iterators reach every place of the consumer."""
        domains = {iter_var.var: IntSet.from_range(iter_var.dom) for iter_var in self.producer.iter_vars}
        for iter_var in consumer.iter_vars:
            value = self.known.get(iter_var.var)
            if value is None:
                return False
            reached = eval_set(value, domains)
            last = sub(add(iter_var.dom.min, iter_var.dom.extent), 1)
            if self.analyzer.can_prove(greater(reached.min(), iter_var.dom.min)):
                return False
            if self.analyzer.can_prove(less(reached.max(), last)):
                return False
        return True

    # tvm: src/s_tir/schedule/primitive/compute_inline.cc (ReverseComputeInliner::BuildInlinedConsumerPredicate)
    def realize(self, realize: SBlockRealize) -> SBlockRealize:
        source = realize.block
        realize = super().realize(realize)
        if source is not self.producer:
            return realize
        new = self._with_predicate(realize)
        self.rewritten[source] = new.block
        return new

    def _with_predicate(self, realize: SBlockRealize) -> SBlockRealize:
        """The producer under the condition that the consumer's iterators are in their domains."""
        block = realize.block
        for iter_var in block.iter_vars:
            self.analyzer.bind(iter_var.var, iter_var.dom)
        predicate = self.analyzer.simplify(self._substituted(self.in_bound, None))
        if is_one(predicate):
            return realize
        body = block.body
        if isinstance(body, IfThenElse) and body.else_case is None:
            if not structural_equal(predicate, self.analyzer.simplify(body.condition)):
                predicate = self.analyzer.simplify(logical_and(predicate, body.condition))
                block = block.replace(body=body.then_case)
        values = dict(zip((iter_var.var for iter_var in block.iter_vars), realize.iter_values))
        predicate = self.analyzer.simplify(substitute(predicate, values))
        return SBlockRealize(realize.iter_values, predicate, block)

    def store(self, store: BufferStore) -> BufferStore:
        store = super().store(store)
        if store.buffer is not self.inlined:
            return store
        # The value may read the inlined buffer itself: that is now the consumer's.
        own = BufferLoad(self.consumer_store.buffer, self.consumer_store.indices)
        value = self._substituted(store.value, map_children(own, lambda e: self._substituted(e, None)))
        target = self.consumer_store
        indices = [self._substituted(index, value) for index in target.indices]
        return BufferStore(target.buffer, self._substituted(target.value, value), indices)

    # tvm: src/s_tir/schedule/primitive/compute_inline.cc (Substituter, RecursionResolver)
    def _substituted(self, expr: PrimExpr, read: PrimExpr | None) -> PrimExpr:
        """The expression with the consumer's iterators replaced, and reads of the inlined buffer by ``read``."""
        if isinstance(expr, Var):
            return self.known.get(expr, expr)
        new = map_children(expr, lambda part: self._substituted(part, read))
        is_read = type(new) is BufferLoad and new.buffer is self.inlined and read is not None
        return read if is_read else new


# tvm: src/s_tir/schedule/primitive/compute_inline.cc (ReverseComputeInliner::ExtractBufferLoad)
def _loads_of(buffer: Buffer, expr: PrimExpr) -> Sequence[BufferLoad]:
    """The reads of a buffer in an expression, outer ones first."""
    own = [expr] if type(expr) is BufferLoad and expr.buffer is buffer else []
    return own + [load for part in children(expr) for load in _loads_of(buffer, part)]
