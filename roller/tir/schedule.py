"""Schedules: a function whose blocks can be looked at and rewritten.

Stands in for the slice of ``tvm.s_tir.Schedule`` that carver calls (src/s_tir/schedule). Blocks are named through
:class:`SBlockRV`: every query gives new ones, and two are equal only when they are one object, as in TVM. A block keeps
its name through rewrites; what stands behind it is asked with :meth:`Schedule.get`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...arch.errors import shown
from .expr import IterVar, TirError, undefined_vars
from .stmt import Buffer, BufferStore, For, IfThenElse, PrimFunc, SBlock, SBlockRealize, SeqStmt, Stmt
from .well_formed import verify_well_formed


class ScheduleError(TirError):
    """A schedule step that TVM refuses too."""


class GlobalVar(str):
    """The name of a function of a module."""

    __slots__ = ()

    @property
    def name_hint(self) -> str:
        return str(self)


class IRModule:
    """Functions by name. Carver's modules hold one, called "main"."""

    def __init__(self, functions: Mapping[str, PrimFunc] | None = None):
        self.functions = {GlobalVar(name): func for name, func in (functions or {}).items()}

    @classmethod
    def from_expr(cls, expr: PrimFunc) -> IRModule:
        """The module of one function, under its ``global_symbol`` or as "main"."""
        return cls({expr.attrs.get("global_symbol", "main"): expr})

    def __getitem__(self, name: str) -> PrimFunc:
        return self.functions[name]

    def __setitem__(self, name: str, func: PrimFunc) -> None:
        self.functions[GlobalVar(name)] = func

    def __contains__(self, name: str) -> bool:
        return name in self.functions

    def get_global_var(self, name: str) -> GlobalVar:
        """The name of a function. ScheduleError where there is none of that name."""
        if name not in self.functions:
            raise ScheduleError(f"the module has no function {name!r}, it has {', '.join(self.functions) or 'none'}")
        return GlobalVar(name)

    def get_global_vars(self) -> list[GlobalVar]:
        return list(self.functions)


class _BlockRef:
    """What a block's names point to, and are moved along with when the block is rewritten."""

    __slots__ = ("block",)

    def __init__(self, block: SBlock):
        # None once the block has been inlined away.
        self.block: SBlock | None = block


class SBlockRV:
    """A name for a block of a schedule."""

    __slots__ = ("ref",)

    def __init__(self, ref: _BlockRef):
        self.ref = ref

    def __repr__(self) -> str:
        return f"<SBlockRV {self.ref.block.name_hint if self.ref.block else 'of a removed block'}>"


class LoopRV:
    """A name for a loop of a schedule."""

    __slots__ = ("loop",)

    def __init__(self, loop: For):
        self.loop = loop

    def __repr__(self) -> str:
        return f"<LoopRV {self.loop.loop_var.name} {self.loop.extent}>"


@dataclass
class Place:
    """Where a block stands: its realize, its loops from the outside in, and the block that holds them all."""

    realize: SBlockRealize
    loops: list[For]
    scope: SBlock | None


@dataclass
class Dependency:
    """One block needs another to have run: read after write, write after write, or write after read."""

    src: SBlock
    dst: SBlock
    kind: str


class Schedule:
    """The blocks of one function, and the rewrites that carver uses. Errors are ScheduleError."""

    def __init__(self, mod: PrimFunc | IRModule):
        func = mod["main"] if isinstance(mod, IRModule) else mod
        if not func.is_known_well_formed:
            verify_well_formed(func)
            func.is_known_well_formed = True
        self.mod = IRModule({"main": func})
        self._refs: dict[SBlock, _BlockRef] = {}
        # The places of the blocks, and the function's body that they were found in.
        self._known_places: dict[SBlock, Place] = {}
        self._placed_body: SBlockRealize | None = None
        # Judged on the function as it came; the rewrites below keep it, as in TVM.
        self._stage_pipeline: bool | None = None
        if len(child_realizes(func.body.block.body)) > 1:
            from .region_cover import may_read_outside

            if may_read_outside(self):
                self.is_stage_pipeline()

    @property
    def func(self) -> PrimFunc:
        return self.mod["main"]

    def show(self) -> None:
        """Print the function."""
        self.func.show()

    def __repr__(self) -> str:
        names = [realize.block.name_hint for realize in child_realizes(self.func.body.block.body)]
        return f"<Schedule, blocks {', '.join(names)}>"

    # -- queries ------------------------------------------------------------------------------------------------------

    def get(self, rand_var_or_sref: SBlockRV | LoopRV) -> SBlock | For:
        """The block or loop behind a name. ScheduleError for a block that was inlined away, and for no name at all."""
        if not isinstance(rand_var_or_sref, SBlockRV):
            if not isinstance(rand_var_or_sref, LoopRV):
                raise ScheduleError(f"a block or loop is looked up by its name, got {shown(rand_var_or_sref)}")
            return rand_var_or_sref.loop
        block = rand_var_or_sref.ref.block
        if block is None:
            raise ScheduleError("the block of this name is not in the function any more")
        return block

    def get_sblock(self, name: str, func_name: str | None = None) -> SBlockRV:
        """The one block of that name."""
        found = [place.realize.block for place in self._places() if place.realize.block.name_hint == name]
        if not found:
            raise ScheduleError(f"no block is called {name!r}")
        if len(found) > 1:
            raise ScheduleError(f"{len(found)} blocks are called {name!r}: give each stage a name of its own")
        return self._name(found[0])

    def block_of(self, block: SBlockRV | str) -> SBlock:
        """The block behind a name of either kind: all that take a block take the text of its name too."""
        return self.get(self.get_sblock(block) if isinstance(block, str) else block)

    # tvm: src/s_tir/schedule/primitive/get_block_loop.cc (GetChildBlocks)
    def get_child_blocks(self, block_or_loop: SBlockRV | LoopRV) -> list[SBlockRV]:
        """The blocks directly inside a block or loop, in program order."""
        return [self._name(realize.block) for realize in child_realizes(self.get(block_or_loop).body)]

    # tvm: src/s_tir/schedule/primitive/get_block_loop.cc (GetLoops)
    def get_loops(self, block: SBlockRV) -> list[LoopRV]:
        """The loops around a block, from the outside in."""
        return [LoopRV(loop) for loop in self.place(self.block_of(block)).loops]

    # tvm: src/s_tir/schedule/analysis/analysis.cc (GetProducers)
    def get_producers(self, block: SBlockRV) -> list[SBlockRV]:
        """The blocks of the same scope that write what this one reads or writes, each once."""
        this = self.block_of(block)
        edges = [edge for edge in self.dependencies(self._scope_of(this)) if edge.dst is this]
        return [self._name(other) for other in _once(edge.src for edge in edges if edge.kind in ("RAW", "WAW"))]

    # tvm: src/s_tir/schedule/analysis/analysis.cc (GetConsumers)
    def get_consumers(self, block: SBlockRV) -> list[SBlockRV]:
        """The blocks of the same scope that read or write what this one writes, each once."""
        this = self.block_of(block)
        edges = [edge for edge in self.dependencies(self._scope_of(this)) if edge.src is this]
        return [self._name(other) for other in _once(edge.dst for edge in edges if edge.kind in ("RAW", "WAW"))]

    # tvm: src/s_tir/schedule/analysis/analysis.cc (GetOutputBlocks)
    def get_output_blocks(self, scope_block: SBlockRV) -> list[SBlockRV]:
        """The blocks inside a scope that write a buffer the scope does not allocate."""
        scope = self.block_of(scope_block)
        allocated = set(scope.alloc_buffers)
        blocks = [realize.block for realize in child_realizes(scope.body)]
        return [self._name(block) for block in blocks if any(w.buffer not in allocated for w in block.writes)]

    # -- rewrites -----------------------------------------------------------------------------------------------------

    def reindex(self, block: SBlockRV, buffer: tuple[str, int], skip_simplify: bool = False) -> SBlockRV:
        """Put a copy stage between a block and one of its buffers; see :mod:`.layout`.

        ``skip_simplify`` does nothing: TVM's Python does not hand it on either.
        """
        from .layout import reindex

        return self._name(reindex(self, self.block_of(block), buffer))

    def transform_layout(self, block: SBlockRV, buffer: tuple[str, int], index_map) -> None:
        """Change the layout of one of a block's buffers; see :mod:`.layout`."""
        from .layout import transform_layout

        transform_layout(self, self.block_of(block), buffer, index_map)

    def transform_block_layout(self, block: SBlockRV, index_map) -> None:
        """Change a block's iterators and loops; see :mod:`.layout`."""
        from .layout import transform_block_layout

        transform_block_layout(self, self.block_of(block), index_map)

    def compute_inline(self, block: SBlockRV) -> None:
        """Put a block into the blocks that read it; see :mod:`.compute_inline`."""
        from .compute_inline import compute_inline

        compute_inline(self, self.block_of(block))

    def reverse_compute_inline(self, block: SBlockRV) -> None:
        """Put a block into the block that it reads; see :mod:`.compute_inline`."""
        from .compute_inline import reverse_compute_inline

        reverse_compute_inline(self, self.block_of(block))

    # -- structure ----------------------------------------------------------------------------------------------------

    def root(self) -> SBlock:
        return self.func.body.block

    def place(self, block: SBlock) -> Place:
        """Where a block stands in the function."""
        body = self.func.body
        if self._placed_body is not body:
            self._placed_body = body
            self._known_places = {place.realize.block: place for place in self._places()}
        found = self._known_places.get(block)
        if found is None:
            raise ScheduleError(f"the block {block.name_hint!r} is not in the function any more")
        return found

    def _places(self) -> Iterator[Place]:
        return walk_places(self.func.body, [], None)

    def _scope_of(self, block: SBlock) -> SBlock:
        scope = self.place(block).scope
        if scope is None:
            raise ScheduleError("the root block has no producers and no consumers")
        return scope

    # tvm: src/s_tir/sblock_scope.cc (SBlockScope)
    def dependencies(self, scope: SBlock) -> list[Dependency]:
        """The dependencies among the blocks of a scope, in the order in which TVM records them."""
        readers: dict[Buffer, list[SBlock]] = {}
        writers: dict[Buffer, list[SBlock]] = {}
        found: list[Dependency] = []
        for realize in child_realizes(scope.body):
            block = realize.block
            for access in block.reads:
                readers.setdefault(access.buffer, []).append(block)
            for access in block.writes:
                writers.setdefault(access.buffer, []).append(block)
            for accesses, earlier, kind in (
                (block.reads, writers, "RAW"),
                (block.writes, writers, "WAW"),
                (block.writes, readers, "WAR"),
            ):
                for access in accesses:
                    for source in earlier.get(access.buffer, ()):
                        if source is not block:
                            found.append(Dependency(source, block, kind))
        return found

    def buffer_writers(self, scope: SBlock, buffer: Buffer) -> list[SBlock]:
        """The blocks of a scope that write a buffer."""
        realizes = child_realizes(scope.body)
        return [r.block for r in realizes for access in r.block.writes if access.buffer is buffer]

    def is_stage_pipeline(self) -> bool:
        """Whether every block of the root reads only what was written before; TVM asks this of a schedule's root."""
        if self._stage_pipeline is None:
            from .region_cover import is_stage_pipeline

            self._stage_pipeline = is_stage_pipeline(self)
        return self._stage_pipeline

    # tvm: src/s_tir/schedule/analysis/analysis.cc (IsReductionBlock)
    def is_reduction_block(self, block: SBlock, scope: SBlock) -> bool:
        """Whether a block initialises its output, is its only writer and does not index it by a reduction iterator.

        TVM also asks for affine bindings. Here they are loop variables, each once, or there is no loop at all, and
        such bindings always are.
        """
        if block.init is None:
            return False
        if any(iter_var.iter_type not in (0, 2) for iter_var in block.iter_vars):
            return False
        for access in block.writes:
            if len(self.buffer_writers(scope, access.buffer)) != 1:
                return False
        return not _indexes_output_by_reduction(block)

    def replace(self, old: Stmt, new: Stmt, blocks: dict[SBlock, SBlock]) -> None:
        """Put a statement in another's place; ``blocks`` tells which new block each rewritten one has become."""
        old_root = self.root()
        func = self.func.with_body(replace_stmt(self.func.body, old, new))
        func.is_known_well_formed = True
        self.mod["main"] = func
        for before, after in {**blocks, old_root: self.root()}.items():
            ref = self._refs.pop(before, None)
            if ref is not None:
                ref.block = after
                self._refs[after] = ref

    def forget(self, block: SBlock) -> None:
        """Let the names of a removed block point nowhere."""
        ref = self._refs.pop(block, None)
        if ref is not None:
            ref.block = None

    def _name(self, block: SBlock) -> SBlockRV:
        ref = self._refs.get(block)
        if ref is None:
            ref = self._refs[block] = _BlockRef(block)
        return SBlockRV(ref)


def walk_places(stmt: Stmt, loops: list[For], scope: SBlock | None) -> Iterator[Place]:
    """The blocks of a statement in program order, each with the loops around it and the block that holds it."""
    while isinstance(stmt, For):
        loops = [*loops, stmt]
        stmt = stmt.body
    if isinstance(stmt, SBlockRealize):
        yield Place(stmt, loops, scope)
        if not isinstance(stmt.block.body, BufferStore):
            yield from walk_places(stmt.block.body, [], stmt.block)
    elif isinstance(stmt, SeqStmt):
        for part in stmt.seq:
            yield from walk_places(part, loops, scope)
    elif isinstance(stmt, IfThenElse):
        yield from walk_places(stmt.then_case, loops, scope)
        if stmt.else_case is not None:
            yield from walk_places(stmt.else_case, loops, scope)


def child_realizes(stmt: Stmt) -> list[SBlockRealize]:
    """The outermost blocks of a statement, in program order."""
    return [place.realize for place in walk_places(stmt, [], None) if place.scope is None]


def _once(blocks: Iterable[SBlock]) -> list[SBlock]:
    return list(dict.fromkeys(blocks))


# tvm: src/s_tir/schedule/analysis/reducer.cc (ReductionIterNotIndexOutputBuffer)
def _indexes_output_by_reduction(block: SBlock) -> bool:
    reduction_vars = {i.var for i in block.iter_vars if i.iter_type == IterVar.CommReduce}
    for store in stores(block.body):
        for index in store.indices:
            if any(var in reduction_vars for var in undefined_vars(index)):
                return True
    return False


def stores(stmt: Stmt) -> list[BufferStore]:
    """The stores of a statement, in program order."""
    if isinstance(stmt, BufferStore):
        return [stmt]
    if isinstance(stmt, SeqStmt):
        return [store for part in stmt.seq for store in stores(part)]
    if isinstance(stmt, For):
        return stores(stmt.body)
    if isinstance(stmt, IfThenElse):
        return stores(stmt.then_case) + ([] if stmt.else_case is None else stores(stmt.else_case))
    return []


def replace_stmt(stmt: Stmt, old: Stmt, new: Stmt):
    """The statement with ``old`` replaced by ``new``; parts without it stay the same objects."""
    if stmt is old:
        return new
    if isinstance(stmt, SBlockRealize):
        block = replace_stmt(stmt.block, old, new)
        return stmt if block is stmt.block else SBlockRealize(stmt.iter_values, stmt.predicate, block)
    if isinstance(stmt, SBlock):
        body = replace_stmt(stmt.body, old, new)
        return stmt if body is stmt.body else stmt.replace(body=body)
    if isinstance(stmt, For):
        body = replace_stmt(stmt.body, old, new)
        return stmt if body is stmt.body else For(stmt.loop_var, stmt.min, stmt.extent, body, stmt.kind)
    if isinstance(stmt, SeqStmt):
        for i, part in enumerate(stmt.seq):
            if part is old:
                return SeqStmt([*stmt.seq[:i], new, *stmt.seq[i + 1 :]])
        seq = [replace_stmt(part, old, new) for part in stmt.seq]
        return stmt if all(a is b for a, b in zip(seq, stmt.seq)) else SeqStmt(seq)
    return stmt
