"""The layout rewrites of schedules: reindex, transform_layout, transform_block_layout, and the normal form.

Stands in for src/s_tir/schedule/primitive/layout_transformation.cc, the ReIndex part of cache_read_write.cc, and
NormalizePrimFunc of src/s_tir/schedule/transform.cc.
"""

from __future__ import annotations

from collections.abc import Sequence

from .access_region import get_sblock_read_write_region
from .arith import Analyzer, IterMapLevel
from .arith.ir_mutator_with_analyzer import PURE, IRMutatorWithAnalyzer, side_effect
from .arith.iter_affine_map import iter_map_simplify
from .expr import (
    TRUE,
    BufferLoad,
    Call,
    FloatImm,
    IntImm,
    IterVar,
    Not,
    PrimExpr,
    Range,
    TirError,
    Var,
    add,
    cast,
    deep_equal,
    is_one,
    is_zero,
    logical_and,
    make_const,
    make_zero,
    map_children,
    post_order_visit,
    substitute,
    undefined_vars,
)
from .index_map import IndexMap, substitute_with_data_type_legalization
from .schedule import LoopRV, Place, SBlockRV, Schedule, ScheduleError, child_realizes, replace_stmt, walk_places
from .stmt import Bind, Buffer, BufferRegion, BufferStore, For, SBlock, SBlockRealize, SeqStmt, Stmt


def _nth_access(block: SBlock, buffer: tuple[str, int]) -> Buffer:
    kind, index = buffer
    accesses = block.reads if kind == "read" else block.writes
    if not 0 <= index < len(accesses):
        raise ScheduleError(f"the block {block.name_hint!r} has {len(accesses)} {kind} regions, there is no {index}")
    return accesses[index].buffer


# --------------------------------------------------------------------------------------------------------------------
# reindex
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/s_tir/schedule/primitive/cache_read_write.cc (ReIndex)
def reindex(sch: Schedule, block: SBlock, buffer: tuple[str, int]) -> SBlock:
    """Put a stage between a block and one buffer, so that the block's iterators index the stage's buffer directly.

    ``buffer`` is ("read", i) or ("write", i). Gives the new stage's block.
    """
    kind, _ = buffer
    target = _nth_access(block, buffer)
    place = sch.place(block)
    scope = place.scope
    if scope is None:
        raise ScheduleError("reindex does not work on the root block")
    if not sch.is_stage_pipeline():
        raise ScheduleError(
            f"the blocks of {scope.name_hint!r} are no stage pipeline: some block reads what none before it writes"
        )

    # Step 1. The one way in which the block indexes the buffer.
    analyzer = Analyzer()
    for iter_var in block.iter_vars:
        analyzer.bind(iter_var.var, iter_var.dom)
    indices = [_simplify_non_trivial(index, analyzer) for index in _only_indices(block, target)]
    covered = {var for index in indices for var in undefined_vars(index)}

    # Step 2. The stage's buffer has one dimension per iterator that the indices use.
    used = [iter_var for iter_var in block.iter_vars if iter_var.var in covered]
    shape = [add(iter_var.dom.min, iter_var.dom.extent) for iter_var in used]
    stage_buffer = Buffer(target.name + "_reindex", shape, target.dtype, target.scope())

    # Step 3. Where the stage goes: before the nest that reads, after the nest that writes.
    outermost = place.loops[0] if place.loops else place.realize
    body = scope.body
    nests = list(body.seq) if isinstance(body, SeqStmt) else [body]
    position = next(i for i, nest in enumerate(nests) if nest is outermost)
    if kind == "write":
        position += 1

    # Step 4. The stage, and the block that uses it.
    stage, nest = _reindex_stage(used, indices, target, stage_buffer, kind)
    new_block = _use_stage(block, target, stage_buffer, used)
    nests = [replace_stmt(one, block, new_block) for one in nests]
    nests.insert(position, nest)
    new_scope = scope.replace(body=SeqStmt(nests), alloc_buffers=[*scope.alloc_buffers, stage_buffer])
    sch.replace(scope, new_scope, {block: new_block})
    return stage


# tvm: src/s_tir/schedule/primitive/cache_read_write.cc (ReIndexCollector)
def _only_indices(block: SBlock, buffer: Buffer) -> tuple[PrimExpr, ...]:
    """The indices at which a block accesses a buffer; all its accesses must be at the same ones."""
    found: list[tuple[PrimExpr, ...]] = []

    def visit(node) -> None:
        if type(node) in (BufferLoad, BufferStore) and node.buffer is buffer:
            found.append(node.indices)

    post_order_visit(block.body, visit)
    if not found:
        raise ScheduleError(f"the block {block.name_hint!r} does not access {buffer.name}")
    for indices in found[1:]:
        if not all(deep_equal(a, b) for a, b in zip(indices, found[0])):
            raise ScheduleError(
                f"the block {block.name_hint!r} accesses {buffer.name} at several indices: "
                f"{_show(found[0])} and {_show(indices)}"
            )
    return found[0]


def _show(indices: Sequence[PrimExpr]) -> str:
    return f"[{', '.join(map(str, indices))}]"


# tvm: src/s_tir/schedule/analysis/analysis.cc (SimplifyNonTrivialExpr)
def _simplify_non_trivial(expr: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    """What comes out as a constant stays as it was: an iterator of extent 1 is not lost."""
    simplified = analyzer.simplify(expr)
    return expr if type(simplified) is IntImm else simplified


# tvm: src/s_tir/schedule/primitive/cache_read_write.cc (MakeReIndexStage)
def _reindex_stage(
    used: Sequence[IterVar], indices: Sequence[PrimExpr], target: Buffer, stage_buffer: Buffer, kind: str
) -> tuple[SBlock, Stmt]:
    """The block that copies between the buffer and the stage's buffer, and its loops."""
    new_iters = [IterVar(old.dom, Var(f"v{i}", old.var.dtype), IterVar.DataPar) for i, old in enumerate(used)]
    renamed = {old.var: new.var for old, new in zip(used, new_iters)}
    target_indices = [substitute(index, renamed) for index in indices]
    stage_indices = [iter_var.var for iter_var in new_iters]
    if kind == "write":
        source, source_indices, dest, dest_indices = stage_buffer, stage_indices, target, target_indices
    else:
        source, source_indices, dest, dest_indices = target, target_indices, stage_buffer, stage_indices
    stage = SBlock(
        iter_vars=new_iters,
        reads=[_point(source, source_indices)],
        writes=[_point(dest, dest_indices)],
        name_hint=dest.name + "_reindex",
        body=BufferStore(dest, BufferLoad(source, source_indices), dest_indices),
    )
    loop_vars = [Var(f"ax{i}", iter_var.var.dtype) for i, iter_var in enumerate(new_iters)]
    nest: Stmt = SBlockRealize(loop_vars, TRUE, stage)
    for loop_var, iter_var in reversed(list(zip(loop_vars, new_iters))):
        nest = For(loop_var, iter_var.dom.min, iter_var.dom.extent, nest)
    return stage, nest


def _point(buffer: Buffer, indices: Sequence[PrimExpr]) -> BufferRegion:
    """The region of one element."""
    return BufferRegion(buffer, [Range.from_min_extent(index, make_const(index.dtype, 1)) for index in indices])


def _use_stage(block: SBlock, target: Buffer, stage_buffer: Buffer, used: Sequence[IterVar]) -> SBlock:
    """The block with its accesses of the buffer turned to the stage's buffer."""
    rewriter = _ReIndexRewriter(block.name_hint, target, stage_buffer, tuple(iter_var.var for iter_var in used))
    new_region = _point(stage_buffer, rewriter.new_indices)

    def turn(accesses: Sequence[BufferRegion]) -> list[BufferRegion]:
        return [new_region if access.buffer is target else access for access in accesses]

    reads, writes = turn(block.reads), turn(block.writes)
    body, init = rewriter.stmt(block.body), None if block.init is None else rewriter.stmt(block.init)
    return block.replace(reads=reads, writes=writes, body=body, init=init)


# tvm: src/s_tir/schedule/primitive/cache_read_write.cc (ReIndexRewriter)
class _ReIndexRewriter:
    """Turns a block's accesses of a buffer to those of its stage's buffer at the new indices."""

    def __init__(self, name: str, target: Buffer, stage_buffer: Buffer, new_indices: tuple[PrimExpr, ...]):
        self.name = name
        self.target = target
        self.stage_buffer = stage_buffer
        self.new_indices = new_indices

    def expr(self, node: PrimExpr) -> PrimExpr:
        node = map_children(node, self.expr)
        if type(node) is BufferLoad and node.buffer is self.target:
            return BufferLoad(self.stage_buffer, self.new_indices)
        return node

    def stmt(self, node: Stmt) -> Stmt:
        if isinstance(node, SeqStmt):
            return SeqStmt([self.stmt(part) for part in node.seq])
        if isinstance(node, Bind):
            return Bind(node.var, self.expr(node.value))
        if not isinstance(node, BufferStore):
            raise ScheduleError(f"the block {self.name!r} is no leaf: reindex works on blocks of stores")
        value, indices = self.expr(node.value), [self.expr(index) for index in node.indices]
        if node.buffer is self.target:
            return BufferStore(self.stage_buffer, value, self.new_indices)
        return BufferStore(node.buffer, value, indices)


# --------------------------------------------------------------------------------------------------------------------
# Simplifying accesses
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/ir_mutator_with_analyzer.cc (IRMutatorWithAnalyzer, its statement visitors)
class _AccessMutator(IRMutatorWithAnalyzer):
    """Rewrites the accesses of blocks, knowing the iterators around them and the conditions they stand under."""

    def __init__(self, analyzer: Analyzer):
        super().__init__(analyzer)
        self.iter_vars: dict[Var, Range] = {}
        self.iter_predicates: list[PrimExpr] = []

    def bind(self, var: Var, dom: Range) -> None:
        self.analyzer.bind(var, dom, True)
        self.iter_vars[var] = dom

    def simplify_indices(self, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        """The indices as simple sums of iterators; a lone variable stays, even if its extent is 1."""
        predicate: PrimExpr = TRUE
        for condition in self.iter_predicates:
            predicate = logical_and(predicate, condition)
        simplified = iter_map_simplify(
            indices, self.iter_vars, predicate, IterMapLevel.Surjective, analyzer=self.analyzer
        )
        return [
            old if type(new) is IntImm and isinstance(old, Var) else new for old, new in zip(indices, simplified)
        ]

    def _visit_recorded(self, condition: PrimExpr, expr: PrimExpr) -> PrimExpr:
        """Visit under a condition; it counts as a predicate of the iterators when it speaks of one."""
        if type(expr) in (IntImm, FloatImm):
            # Nothing to rewrite, so nothing to know: the value of padding, mostly.
            return expr
        speaks_of_iterators = any(var in self.iter_vars for var in undefined_vars(condition))
        if speaks_of_iterators:
            self.iter_predicates.append(condition)
        try:
            return self._visit_under(condition, expr)
        finally:
            if speaks_of_iterators:
                self.iter_predicates.pop()

    def visit_call(self, op: Call) -> PrimExpr:
        if op.op != "tirx.if_then_else":
            return map_children(op, self.visit)
        condition = self.visit(op.args[0])
        true_value = self._visit_recorded(condition, op.args[1])
        false_value = self._visit_recorded(Not(condition), op.args[2])
        if is_zero(condition):
            return false_value
        if is_one(condition):
            return true_value
        return Call(op.dtype, op.op, (condition, true_value, false_value))

    def visit_stmt(self, stmt: Stmt | None) -> Stmt | None:
        if stmt is None:
            return None
        if isinstance(stmt, BufferStore):
            return self.visit_store(stmt)
        if isinstance(stmt, SeqStmt):
            return SeqStmt([self.visit_stmt(part) for part in stmt.seq])
        if isinstance(stmt, Bind):
            value = self.visit(stmt.value)
            if side_effect(value) <= PURE:
                self.analyzer.bind(stmt.var, value)
            return Bind(stmt.var, value)
        if isinstance(stmt, For):
            self.bind(stmt.loop_var, Range.from_min_extent(stmt.min, stmt.extent))
            return For(stmt.loop_var, stmt.min, stmt.extent, self.visit_stmt(stmt.body), stmt.kind)
        if isinstance(stmt, SBlockRealize):
            return SBlockRealize(stmt.iter_values, stmt.predicate, self.visit_block(stmt.block))
        raise ScheduleError(f"a layout rewrite cannot enter {type(stmt).__name__}")

    def visit_store(self, store: BufferStore) -> BufferStore:
        return BufferStore(store.buffer, self.visit(store.value), [self.visit(index) for index in store.indices])

    def visit_block(self, block: SBlock) -> SBlock:
        for iter_var in block.iter_vars:
            self.bind(iter_var.var, iter_var.dom)
        init = self.visit_stmt(block.init)
        return block.replace(init=init, body=self.visit_stmt(block.body))


# tvm: src/s_tir/schedule/transform.cc (BlockBufferAccessSimplifier)
class _BlockBufferAccessSimplifier(_AccessMutator):
    """Simplifies the indices of every access of a block, and its regions."""

    def visit_block(self, block: SBlock) -> SBlock:
        block = super().visit_block(block)
        return block.replace(
            reads=[self._simplify_region(access) for access in block.reads],
            writes=[self._simplify_region(access) for access in block.writes],
        )

    def _simplify_region(self, access: BufferRegion) -> BufferRegion:
        starts = self.simplify_indices([r.min for r in access.region])
        extents = [r.extent if type(r.extent) is IntImm else self.analyzer.simplify(r.extent) for r in access.region]
        return BufferRegion(access.buffer, [*map(Range.from_min_extent, starts, extents)])

    def visit_store(self, store: BufferStore) -> BufferStore:
        store = super().visit_store(store)
        return BufferStore(store.buffer, store.value, self.simplify_indices(store.indices))

    def visit_buffer_load(self, load: BufferLoad) -> PrimExpr:
        indices = [self.visit(index) for index in load.indices]
        return BufferLoad(load.buffer, self.simplify_indices(indices))


# --------------------------------------------------------------------------------------------------------------------
# transform_layout
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/s_tir/schedule/primitive/layout_transformation.cc (TransformLayout)
def transform_layout(sch: Schedule, block: SBlock, buffer: tuple[str, int], index_map: IndexMap) -> None:
    """Give one of a block's buffers the layout of the index map, in every block that accesses it.

    The buffer must be one that the scope allocates, and the map must not leave gaps: carver asks for no other.
    """
    analyzer = Analyzer()
    _add_shape_var_bounds(sch, analyzer)
    old_buffer = _nth_access(block, buffer)
    index_map = _legalize_index_map_dtype(index_map, old_buffer.shape)
    scope = sch.place(block).scope
    if scope is None or old_buffer not in scope.alloc_buffers:
        raise ScheduleError(f"transform_layout takes a buffer that the function allocates; {old_buffer.name} is not")

    selected = _selected_iterators(index_map, old_buffer.shape)
    if selected is None:
        full = [Range.from_min_extent(make_zero(extent.dtype), extent) for extent in old_buffer.shape]
        _, padding_predicate = index_map.non_surjective_inverse(full, analyzer)
        if not is_zero(padding_predicate):
            raise ScheduleError(f"the layout {index_map} leaves gaps in {old_buffer.name}: {padding_predicate}")
        new_shape = index_map.map_shape(old_buffer.shape, analyzer)
    else:
        one = make_const(old_buffer.shape[0].dtype, 1)
        new_shape = [one if at is None else old_buffer.shape[at] for at in selected]
    new_buffer = Buffer(old_buffer.name, new_shape, old_buffer.dtype, old_buffer.scope())
    rewriter = _TransformLayoutRewriter(old_buffer, new_buffer, index_map, selected)
    new_scope = rewriter.visit_block(scope)
    sch.replace(scope, new_scope, rewriter.rewritten)


# tvm: src/s_tir/schedule/primitive/layout_transformation.cc (TransformLayoutRewriter)
class _TransformLayoutRewriter(_AccessMutator):
    """Turns the accesses of one buffer to its new layout."""

    def __init__(
        self, old_buffer: Buffer, new_buffer: Buffer, index_map: IndexMap, selected: list[int | None] | None
    ):
        super().__init__(Analyzer())
        self.old_buffer = old_buffer
        self.new_buffer = new_buffer
        self.index_map = index_map
        self.selected = selected
        self.index_simplifier = Analyzer()
        self.rewritten: dict[SBlock, SBlock] = {}

    def _new_indices(self, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        dtype = self.old_buffer.shape[0].dtype if indices else ""
        if self.selected is not None and all(type(index) is Var and index.dtype == dtype for index in indices):
            zeros = self.index_map.final_indices
            mapped = [zeros[i] if at is None else indices[at] for i, at in enumerate(self.selected)]
        else:
            mapped = self.index_map.map_indices(indices, self.index_simplifier)
        return self.simplify_indices(mapped)

    def visit_buffer_load(self, load: BufferLoad) -> PrimExpr:
        load = map_children(load, self.visit)
        if load.buffer is not self.old_buffer:
            return load
        return BufferLoad(self.new_buffer, self._new_indices(load.indices))

    def visit_store(self, store: BufferStore) -> BufferStore:
        store = super().visit_store(store)
        if store.buffer is not self.old_buffer:
            return store
        return BufferStore(self.new_buffer, store.value, self._new_indices(store.indices))

    def _visit_recorded(self, condition: PrimExpr, expr: PrimExpr) -> PrimExpr:
        return super()._visit_recorded(condition, expr) if self._has_work(expr) else expr

    def _has_work(self, expr: PrimExpr) -> bool:
        """Whether an expression loads from the buffer, or has a condition of its own."""
        found = False

        def visit(node) -> None:
            nonlocal found
            if type(node) is BufferLoad and node.buffer is self.old_buffer or type(node) is Call:
                found = True

        post_order_visit(expr, visit)
        return found

    def visit_stmt(self, stmt: Stmt | None) -> Stmt | None:
        if isinstance(stmt, SeqStmt):
            return SeqStmt([self.visit_stmt(part) if self._concerns(part) else part for part in stmt.seq])
        return super().visit_stmt(stmt)

    def _concerns(self, stmt: Stmt) -> bool:
        """Whether there is anything to rewrite: an access of the buffer, or a condition that is constant."""
        blocks = [place.realize.block for place in walk_places(stmt, [], None)]
        if not blocks:
            return True
        for block in blocks:
            if any(access.buffer is self.old_buffer for access in block.reads + block.writes):
                return True
        return any(_has_constant_condition(block) for block in blocks)

    def visit_block(self, block: SBlock) -> SBlock:
        new = super().visit_block(block)
        touched = any(access.buffer is self.old_buffer for access in block.reads + block.writes)
        if touched:
            reads, writes = get_sblock_read_write_region(new, [self.new_buffer])
            new = new.replace(reads=self._turn(new.reads, reads), writes=self._turn(new.writes, writes))
        allocated = [self.new_buffer if b is self.old_buffer else b for b in new.alloc_buffers]
        new = new.replace(alloc_buffers=allocated)
        self.rewritten[block] = new
        return new

    def _turn(self, accesses: Sequence[BufferRegion], inferred: Sequence[BufferRegion]) -> list[BufferRegion]:
        return [inferred[0] if access.buffer is self.old_buffer else access for access in accesses]


def _has_constant_condition(block: SBlock) -> bool:
    conditions: list[PrimExpr] = []

    def visit(node) -> None:
        if type(node) is Call and node.op == "tirx.if_then_else":
            conditions.append(node.args[0])

    post_order_visit(block, visit)
    return any(type(condition) is IntImm for condition in conditions)


# tvm: src/s_tir/schedule/primitive/layout_transformation.cc (LegalizeIndexMapDType)
def _legalize_index_map_dtype(index_map: IndexMap, shape: Sequence[PrimExpr]) -> IndexMap:
    """The index map in the dtype of the buffer's extents."""
    if len(shape) != len(index_map.initial_indices):
        raise ScheduleError(f"the layout takes {len(index_map.initial_indices)} indices, the buffer has {len(shape)}")
    if len({extent.dtype for extent in shape}) > 1:
        widths = "from 2**31 on they are int64, else int32"
        raise ScheduleError(f"the extents {_show(shape)} are of several dtypes: {widths}")
    var_map: dict[Var, PrimExpr] = {}
    initial = []
    for var, extent in zip(index_map.initial_indices, shape):
        if var.dtype != extent.dtype:
            var_map[var] = Var(var.name, extent.dtype)
        initial.append(var_map.get(var, var))
    if not var_map:
        return index_map
    dtype = shape[0].dtype
    final: list[PrimExpr] = []
    for index in index_map.final_indices:
        if type(index) is IntImm:
            final.append(make_const(dtype, index.value))
        else:
            final.append(substitute_with_data_type_legalization(index, var_map))
    return IndexMap(initial, final)


def _add_shape_var_bounds(sch: Schedule, analyzer: Analyzer) -> None:
    for buffer in sch.func.buffer_map.values():
        for extent in buffer.shape:
            if type(extent) is not IntImm:
                analyzer.mark_global_non_neg_value(extent)


# --------------------------------------------------------------------------------------------------------------------
# transform_block_layout
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/s_tir/schedule/primitive/layout_transformation.cc (TransformBlockLayout)
def transform_block_layout(sch: Schedule, block: SBlock, index_map: IndexMap) -> None:
    """Give a block the iterators that the index map makes of its own, and loops to match."""
    analyzer = Analyzer()
    _add_shape_var_bounds(sch, analyzer)
    place = sch.place(block)
    if place.loops and len(child_realizes(place.loops[0])) != 1:
        raise ScheduleError(f"the loops of {block.name_hint!r} hold other blocks too")
    if not has_trivial_binding(place.realize, place.loops):
        raise ScheduleError(f"the iterators of {block.name_hint!r} are not bound to its loops one by one")
    if len(index_map.initial_indices) != len(block.iter_vars):
        raise ScheduleError(
            f"the index map takes {len(index_map.initial_indices)} indices, "
            f"{block.name_hint!r} has {len(block.iter_vars)} iterators"
        )

    old_vars = [iter_var.var for iter_var in block.iter_vars]
    old_extents = [iter_var.dom.extent for iter_var in block.iter_vars]
    selected = _selected_iterators(index_map, old_extents)
    if selected is None:
        transformed = index_map.map_indices(old_vars, analyzer)
        new_extents = index_map.map_shape(old_extents, analyzer)
    else:
        dtype = old_extents[0].dtype
        transformed = [final if at is None else old_vars[at] for at, final in zip(selected, index_map.final_indices)]
        new_extents = [make_const(dtype, 1) if at is None else old_extents[at] for at in selected]

    new_iters = []
    for i, (value, extent) in enumerate(zip(transformed, new_extents)):
        kind = IterVar.DataPar if is_one(extent) else _detect_iter_type(value, block)
        if kind == IterVar.Opaque:
            raise ScheduleError(f"the new iterator {value} of {block.name_hint!r} mixes kinds of iterators")
        var = Var(f"v{i}", value.dtype)
        new_iters.append(IterVar(Range.from_min_extent(make_zero(var.dtype), cast(var.dtype, extent)), var, kind))

    # The old iterators in terms of the new ones.
    new_vars = [iter_var.var for iter_var in new_iters]
    if selected is None:
        ranges = [Range.from_min_extent(make_const(extent.dtype, 0), extent) for extent in old_extents]
        try:
            inverse = index_map.inverse(ranges, analyzer)
        except TirError as error:
            raise ScheduleError(f"the index map {index_map} of {block.name_hint!r} has no inverse: {error}") from error
        old_values = inverse.map_indices(new_vars, analyzer)
    else:
        old_values = [make_const(extent.dtype, 0) for extent in old_extents]
        for at, var in zip(selected, new_vars):
            if at is not None:
                old_values[at] = var
    new_block = substitute(block, dict(zip(old_vars, old_values))).replace(iter_vars=new_iters)
    new_block = _BlockBufferAccessSimplifier(analyzer).visit_block(new_block)

    loop_vars = [Var(f"ax{i}", iter_var.var.dtype) for i, iter_var in enumerate(new_iters)]
    nest: Stmt = SBlockRealize(loop_vars, place.realize.predicate, new_block)
    for loop_var, extent in reversed(list(zip(loop_vars, new_extents))):
        nest = For(loop_var, 0, extent, nest)
    if not place.loops and loop_vars:
        raise ScheduleError(f"{block.name_hint!r} has no loops to turn into {len(loop_vars)}")
    sch.replace(place.loops[0] if place.loops else place.realize, nest, {block: new_block})


def _selected_iterators(index_map: IndexMap, extents: Sequence[PrimExpr]) -> list[int | None] | None:
    """Which iterator each index of a map is, None for the index 0; None for a map that is more than a selection.

    A selection takes iterators of constant extents above 1, each once, and leaves out only those of extent 1. Nothing
    has to be analyzed then, and most maps are selections.
    """
    if not extents or any(type(e) is not IntImm or e.dtype != extents[0].dtype for e in extents):
        return None
    position = {var: i for i, var in enumerate(index_map.initial_indices)}
    selected: list[int | None] = []
    for index in index_map.final_indices:
        at = position.pop(index, None) if isinstance(index, Var) else None
        if at is None and not is_zero(index):
            return None
        if at is not None and extents[at].value <= 1:
            return None
        selected.append(at)
    left_out = (extents[at].value for at in position.values())
    return selected if all(extent == 1 for extent in left_out) else None


def has_trivial_binding(realize: SBlockRealize, loops: Sequence[For]) -> bool:
    """Whether the iterators are the loop variables, in order."""
    if len(realize.iter_values) != len(loops):
        return False
    return all(value is loop.loop_var for value, loop in zip(realize.iter_values, loops))


# tvm: src/s_tir/schedule/primitive/layout_transformation.cc (DetectNewBlockIterType)
def _detect_iter_type(expr: PrimExpr, block: SBlock) -> int:
    """The kind of the block's iterators in an expression; Opaque when there is none, or several kinds."""
    kinds = {iter_var.var: iter_var.iter_type for iter_var in block.iter_vars}
    found = {kinds[var] for var in undefined_vars(expr) if var in kinds}
    return found.pop() if len(found) == 1 else IterVar.Opaque


# --------------------------------------------------------------------------------------------------------------------
# The normal form
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/s_tir/schedule/transform.cc (NormalizePrimFunc)
def normalize_prim_func_blocks(
    sch: Schedule,
) -> tuple[list[SBlockRV], list[list[LoopRV]], list[tuple[IterVar, ...]], list[bool]] | None:
    """Drop the unit iterators of every leaf block.

    Gives, per leaf block: its name, loops, iterators, and whether it is a reduction; None when some block's iterators
    are not its loops one by one.
    """
    root = sch.get_sblock("root")
    leaves = _leaf_blocks(sch, root)
    for leaf in leaves:
        place = sch.place(sch.get(leaf))
        if not place.loops:
            continue
        if not has_trivial_binding(place.realize, place.loops) or not all(is_zero(loop.min) for loop in place.loops):
            return None

    loops, iters, is_reduction = [], [], []
    for leaf in leaves:
        if not _is_normal(sch.place(sch.get(leaf))):
            try:
                sch.transform_block_layout(leaf, _drop_unit_iterators(sch.get(leaf)))
            except TirError:
                pass  # as it is, then
        loops.append(sch.get_loops(leaf))
        iters.append(sch.get(leaf).iter_vars)
        is_reduction.append(sch.is_reduction_block(sch.get(leaf), sch.root()))
    return leaves, loops, iters, is_reduction


def _is_normal(place: Place) -> bool:
    """Whether normalising a block would make it again, object for object: a stage that reindexing has put in.

    Its iterators are v0, v1, ... over more than one value, under loops ax0, ax1, ..., and index every buffer as they
    are.
    """
    block = place.realize.block
    if len(block.iter_vars) != len(place.loops) or not isinstance(block.body, BufferStore) or block.init is not None:
        return False
    own = set()
    for i, (iter_var, loop) in enumerate(zip(block.iter_vars, place.loops)):
        var, dom = iter_var.var, iter_var.dom
        if var.name != f"v{i}" or loop.loop_var.name != f"ax{i}" or loop.loop_var.dtype != var.dtype:
            return False
        if iter_var.iter_type != IterVar.DataPar or not is_zero(dom.min) or not is_zero(loop.min):
            return False
        if type(dom.extent) is not IntImm or dom.extent.value <= 1 or dom.extent.dtype != var.dtype:
            return False
        if type(loop.extent) is not IntImm or loop.extent.value != dom.extent.value:
            return False
        own.add(var)
    store = block.body
    if not own or type(store.value) is not BufferLoad:
        return False
    starts = [r.min for access in (*block.reads, *block.writes) for r in access.region]
    extents = [r.extent for access in (*block.reads, *block.writes) for r in access.region]
    indices = [*store.indices, *store.value.indices, *starts]
    return all(index in own if type(index) is Var else is_zero(index) for index in indices) and all(
        is_one(extent) for extent in extents
    )


def _leaf_blocks(sch: Schedule, block: SBlockRV) -> list[SBlockRV]:
    inside = sch.get_child_blocks(block)
    if not inside:
        return [block]
    return [leaf for child in inside for leaf in _leaf_blocks(sch, child)]


def _drop_unit_iterators(block: SBlock) -> IndexMap:
    """The index map that keeps the iterators with an extent other than 1; with no spatial one, a 0 leads."""
    inputs = [Var(iter_var.var.name, iter_var.var.dtype) for iter_var in block.iter_vars]
    kept = [(var, old) for var, old in zip(inputs, block.iter_vars) if not is_one(old.dom.extent)]
    outputs: list[PrimExpr] = [var for var, _ in kept]
    if not any(old.iter_type == IterVar.DataPar for _, old in kept):
        outputs.insert(0, make_const("int64", 0))
    return IndexMap(inputs, outputs)
