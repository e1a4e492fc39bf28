"""Statements and functions: buffers, blocks, loops, PrimFunc.

Stands in for ``tvm.tirx`` statements (include/tvm/tirx/stmt.h, buffer.h, function.h). A block (SBlock) has iterators,
the regions it reads and writes, and a body; loops around it bind the iterators through an SBlockRealize.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .dtypes import DataType
from .expr import (
    TRUE,
    BufferLoad,
    IntImm,
    IterVar,
    PrimExpr,
    Range,
    TirError,
    Var,
    convert,
    map_children,
    to_string,
)


class Buffer:
    """A tensor in memory: a name, a shape (expressions, in elements) and a dtype. Two buffers are never equal."""

    __slots__ = ("name", "shape", "dtype", "storage_scope")

    def __init__(self, name: str, shape: Sequence, dtype: str, scope: str = "global"):
        self.name = name
        self.shape = tuple(convert(extent) for extent in shape)
        self.dtype = DataType(dtype)
        self.storage_scope = scope

    def scope(self) -> str:
        """Where the buffer lies: "global", "shared", ..."""
        return self.storage_scope

    def same_as(self, other) -> bool:
        return self is other

    def offset_of(self, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        """The element offset of an index in row-major order, as a list of one expression (as TVM gives it)."""
        from .elem_offset import elem_offset

        return [elem_offset(self.name, self.shape, indices)]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Buffer {self.name}[{', '.join(map(str, self.shape))}] {self.dtype}>"


def decl_buffer(shape, dtype: str | None = None, name: str = "buffer", scope: str = "global") -> Buffer:
    """A buffer as ``tvm.tirx.decl_buffer`` makes one: float32 when no dtype is given; one extent needs no tuple."""
    extents = (shape,) if isinstance(shape, (PrimExpr, int)) else shape
    return Buffer(name, extents, "float32" if dtype is None else dtype, scope)


class BufferRegion:
    """A box of a buffer: one Range per dimension."""

    __slots__ = ("buffer", "region")

    def __init__(self, buffer: Buffer, region: Sequence[Range]):
        self.buffer = buffer
        self.region = tuple(region)

    def __repr__(self) -> str:
        return to_string(self)


class Stmt:
    """A statement. ``children`` gives what a walk visits, ``map_exprs`` rebuilds it with its expressions replaced."""

    __slots__ = ()

    def children(self) -> tuple:
        raise NotImplementedError

    def map_exprs(self, f: Callable[[PrimExpr], PrimExpr]) -> Stmt:
        raise NotImplementedError


class BufferStore(Stmt):
    """``buffer[indices] = value``"""

    __slots__ = ("buffer", "value", "indices")

    def __init__(self, buffer: Buffer, value, indices: Sequence):
        self.buffer = buffer
        self.value = convert(value)
        self.indices = tuple(convert(index) for index in indices)

    def children(self) -> tuple:
        return (self.value, *self.indices)

    def map_exprs(self, f) -> BufferStore:
        return BufferStore(self.buffer, f(self.value), [f(index) for index in self.indices])

    def __repr__(self) -> str:
        return f"{self.buffer.name}[{', '.join(map(str, self.indices))}] = {self.value}"


class SeqStmt(Stmt):
    """Statements one after the other."""

    __slots__ = ("seq",)

    def __init__(self, seq: Sequence[Stmt]):
        self.seq = tuple(seq)

    def children(self) -> tuple:
        return self.seq

    def map_exprs(self, f) -> SeqStmt:
        return SeqStmt([stmt.map_exprs(f) for stmt in self.seq])


class Bind(Stmt):
    """A name for a value, for the statements that follow in the same sequence."""

    __slots__ = ("var", "value")

    def __init__(self, var: Var, value):
        self.var = var
        self.value = convert(value)

    def children(self) -> tuple:
        return (self.value,)

    def map_exprs(self, f) -> Bind:
        return Bind(self.var, f(self.value))

    def __repr__(self) -> str:
        return f"{self.var.name}: {self.var.dtype} = {self.value}"


class IfThenElse(Stmt):
    """A branch."""

    __slots__ = ("condition", "then_case", "else_case")

    def __init__(self, condition, then_case: Stmt, else_case: Stmt | None = None):
        self.condition = convert(condition)
        self.then_case = then_case
        self.else_case = else_case

    def children(self) -> tuple:
        cases = (self.then_case,) if self.else_case is None else (self.then_case, self.else_case)
        return (self.condition, *cases)

    def map_exprs(self, f) -> IfThenElse:
        otherwise = None if self.else_case is None else self.else_case.map_exprs(f)
        return IfThenElse(f(self.condition), self.then_case.map_exprs(f), otherwise)


class For(Stmt):
    """A loop: ``loop_var`` runs over ``extent`` values from ``min``."""

    __slots__ = ("loop_var", "min", "extent", "kind", "body")

    def __init__(self, loop_var: Var, min, extent, body: Stmt, kind: str = "serial"):
        self.loop_var = loop_var
        self.min = self._in_loop_dtype(convert(min))
        self.extent = self._in_loop_dtype(convert(extent))
        self.body = body
        self.kind = kind

    def _in_loop_dtype(self, end: PrimExpr) -> PrimExpr:
        """A bound of the loop; a constant of a narrower dtype is widened, any other must have the loop's dtype."""
        dtype = self.loop_var.dtype
        if isinstance(end, IntImm) and end.dtype == "int32" and dtype == "int64":
            return IntImm(dtype, end.value)
        if end.dtype != dtype:
            raise TirError(f"the loop variable {self.loop_var.name} is {dtype}, its bound {end} is {end.dtype}")
        return end

    def children(self) -> tuple:
        return (self.min, self.extent, self.body)

    def map_exprs(self, f) -> For:
        return For(self.loop_var, f(self.min), f(self.extent), self.body.map_exprs(f), self.kind)

    def __repr__(self) -> str:
        return f"<For {self.loop_var.name} {self.extent}>"


class SBlock(Stmt):
    """A block: iterators, the regions read and written, an initial statement for reductions, a body."""

    __slots__ = ("iter_vars", "reads", "writes", "name_hint", "body", "init", "alloc_buffers", "annotations")

    def __init__(
        self,
        iter_vars: Sequence[IterVar],
        reads: Sequence[BufferRegion],
        writes: Sequence[BufferRegion],
        name_hint: str,
        body: Stmt,
        init: Stmt | None = None,
        alloc_buffers: Sequence[Buffer] = (),
        annotations: Mapping | None = None,
    ):
        self.iter_vars = tuple(iter_vars)
        self.reads = tuple(reads)
        self.writes = tuple(writes)
        self.name_hint = name_hint
        self.body = body
        self.init = init
        self.alloc_buffers = tuple(alloc_buffers)
        self.annotations = dict(annotations or {})

    def children(self) -> tuple:
        # In the order of StmtVisitor: domains, allocated buffers' shapes, reads, writes, init, body.
        parts = [end for iter_var in self.iter_vars for end in (iter_var.dom.min, iter_var.dom.extent)]
        parts += [extent for buffer in self.alloc_buffers for extent in buffer.shape]
        for access in self.reads + self.writes:
            parts += [end for r in access.region for end in (r.min, r.extent)]
        if self.init is not None:
            parts.append(self.init)
        parts.append(self.body)
        return tuple(parts)

    def map_exprs(self, f) -> SBlock:
        iter_vars = [IterVar(_map_range(i.dom, f), i.var, i.iter_type, i.thread_tag) for i in self.iter_vars]
        reads = [map_region(access, f) for access in self.reads]
        writes = [map_region(access, f) for access in self.writes]
        init = None if self.init is None else self.init.map_exprs(f)
        body = self.body.map_exprs(f)
        return SBlock(iter_vars, reads, writes, self.name_hint, body, init, self.alloc_buffers, self.annotations)

    def replace(self, **changes) -> SBlock:
        """A copy with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return SBlock(**(fields | changes))

    def __repr__(self) -> str:
        kinds = "".join({IterVar.DataPar: "S", IterVar.CommReduce: "R"}.get(i.iter_type, "O") for i in self.iter_vars)
        return f"<SBlock {self.name_hint} {kinds}>"


class SBlockRealize(Stmt):
    """A block under its loops: the value of each iterator, and when the block runs."""

    __slots__ = ("iter_values", "predicate", "block")

    def __init__(self, iter_values: Sequence, predicate, block: SBlock):
        self.iter_values = tuple(convert(value) for value in iter_values)
        self.predicate = convert(predicate)
        self.block = block

    def children(self) -> tuple:
        return (*self.iter_values, self.predicate, self.block)

    def map_exprs(self, f) -> SBlockRealize:
        return SBlockRealize([f(v) for v in self.iter_values], f(self.predicate), self.block.map_exprs(f))


def _map_range(r: Range, f) -> Range:
    return Range.from_min_extent(f(r.min), f(r.extent))


def map_region(access: BufferRegion, f, buffers: Mapping[Buffer, Buffer] | None = None) -> BufferRegion:
    """The region with its expressions replaced, and its buffer where ``buffers`` has another one for it."""
    buffer = (buffers or {}).get(access.buffer, access.buffer)
    return BufferRegion(buffer, [_map_range(r, f) for r in access.region])


def root_realize(block: SBlock) -> SBlockRealize:
    """The root block as a function's body: no iterators, always run."""
    return SBlockRealize((), TRUE, block)


class PrimFunc:
    """A function: parameters (one variable per argument), the buffer of each, and the root block as body."""

    def __init__(self, params: Sequence[Var], buffer_map: Mapping[Var, Buffer], body: SBlockRealize, attrs=None):
        self.params = tuple(params)
        self.buffer_map = dict(buffer_map)
        self.body = body
        self.attrs = dict(attrs or {})
        # Whether a schedule has found the body well-formed, or made it of one that was.
        self.is_known_well_formed = False

    def with_attr(self, attr_key_or_dict: str | Mapping, attr_value=None) -> PrimFunc:
        """The function with an attribute more, or all those of a dict."""
        more = attr_key_or_dict if isinstance(attr_key_or_dict, Mapping) else {attr_key_or_dict: attr_value}
        return self.with_attrs(more)

    def with_attrs(self, attr_map: Mapping) -> PrimFunc:
        """The function with the attributes of a dict too."""
        return self._with(self.attrs | _as_stored(dict(attr_map)))

    def without_attr(self, attr_key: str) -> PrimFunc:
        """The function without an attribute, whether it has it or not."""
        return self._with({key: value for key, value in self.attrs.items() if key != attr_key})

    def _with(self, attrs: dict) -> PrimFunc:
        func = PrimFunc(self.params, self.buffer_map, self.body, attrs)
        func.is_known_well_formed = self.is_known_well_formed
        return func

    def with_body(self, new_body: SBlockRealize) -> PrimFunc:
        return PrimFunc(self.params, self.buffer_map, new_body, self.attrs)

    def specialize(self, param_map: Mapping[Var, object]) -> PrimFunc:
        """The function with values put for symbolic extents (src/tirx/ir/specialize.cc).

        Raises TirError for a variable that is neither a parameter nor an extent of a parameter's buffer.
        """
        from .specialize import specialize

        return specialize(self, param_map)

    def script(self) -> str:
        """The function in TVMScript's style."""
        from .printer import script

        return script(self)

    def show(self) -> None:
        """Print the function."""
        print(self.script())

    def same_as(self, other) -> bool:
        return self is other

    def __repr__(self) -> str:
        return self.script()


def rebuild(node, expr_of: Callable[[PrimExpr], PrimExpr | None], buffers: Mapping[Buffer, Buffer]):
    """A statement or expression with expressions and buffers replaced.

    ``expr_of`` gives the replacement of an expression, or None to look at its parts. ``buffers`` maps each buffer to
    the one to put in its place.
    """

    def expr(current: PrimExpr) -> PrimExpr:
        new = expr_of(current)
        if new is not None:
            return new
        mapped = map_children(current, expr)
        if type(mapped) is BufferLoad and mapped.buffer in buffers:
            return BufferLoad(buffers[mapped.buffer], mapped.indices)
        return mapped

    def stmt(current: Stmt) -> Stmt:
        if isinstance(current, BufferStore):
            buffer = buffers.get(current.buffer, current.buffer)
            return BufferStore(buffer, expr(current.value), [expr(index) for index in current.indices])
        if isinstance(current, SeqStmt):
            return SeqStmt([stmt(part) for part in current.seq])
        if isinstance(current, Bind):
            return Bind(current.var, expr(current.value))
        if isinstance(current, For):
            return For(current.loop_var, expr(current.min), expr(current.extent), stmt(current.body), current.kind)
        if isinstance(current, SBlockRealize):
            values = [expr(value) for value in current.iter_values]
            return SBlockRealize(values, expr(current.predicate), stmt(current.block))
        if isinstance(current, IfThenElse):
            otherwise = None if current.else_case is None else stmt(current.else_case)
            return IfThenElse(expr(current.condition), stmt(current.then_case), otherwise)
        if isinstance(current, SBlock):
            return current.replace(
                iter_vars=[IterVar(_map_range(i.dom, expr), i.var, i.iter_type) for i in current.iter_vars],
                reads=[map_region(access, expr, buffers) for access in current.reads],
                writes=[map_region(access, expr, buffers) for access in current.writes],
                body=stmt(current.body),
                init=None if current.init is None else stmt(current.init),
                alloc_buffers=[buffers.get(buffer, buffer) for buffer in current.alloc_buffers],
            )
        raise TirError(f"cannot rebuild {type(current).__name__}")

    return stmt(node) if isinstance(node, Stmt) else expr(node)


def _as_stored(value: Any) -> Any:
    """An attribute's value as TVM keeps it: numpy's numbers become Python's, in dicts and lists too."""
    if isinstance(value, dict):
        return {key: _as_stored(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_as_stored, value))
    if type(value).__module__ != "numpy":
        return value
    kinds = ((numbers.Integral, int), (numbers.Real, float), (str, str))
    return next((plain(value) for kind, plain in kinds if isinstance(value, kind)), value)
