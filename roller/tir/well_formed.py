"""What TVM asks of a function before it schedules it: variables and buffers are defined where they are used.

Stands in for src/tirx/analysis/verify_well_formed.cc, as far as functions made by te can fail it.
"""

from __future__ import annotations

from .expr import BufferLoad, Let, PrimExpr, TirError, Var, children
from .stmt import Bind, Buffer, BufferStore, For, PrimFunc, SBlock, Stmt


# tvm: src/tirx/analysis/verify_well_formed.cc (VerifyWellFormed)
def verify_well_formed(func: PrimFunc) -> None:
    """Raise TirError for a variable or a buffer that is used where it is not defined."""
    _Verifier(func).verify()


class _Verifier:
    """Walks a function with the variables and buffers defined so far."""

    def __init__(self, func: PrimFunc):
        self.func = func
        self.defined: set[Var] = set(func.params)
        self.buffers: set[Buffer] = set()
        self.let: set[Var] = set()  # the variables of all Let so far

    def verify(self) -> None:
        for place, param in enumerate(self.func.params):
            if param in self.func.params[:place]:
                raise TirError(f"the variable {param.name} is given twice as a parameter")
        parameters = list(self.func.buffer_map.values())
        # A symbolic extent is defined by the first buffer that has it, alone, as a dimension.
        for buffer in parameters:
            self.defined.update(extent for extent in buffer.shape if isinstance(extent, Var))
        for buffer in parameters:
            self.declare(buffer)
        self.stmt(self.func.body)

    def declare(self, buffer: Buffer) -> None:
        for extent in buffer.shape:
            self.expr(extent, f"the shape of {buffer.name}")
        self.buffers.add(buffer)

    def expr(self, expr: PrimExpr, where: str) -> None:
        if isinstance(expr, Var):
            if expr not in self.defined:
                raise TirError(f"the variable {expr.name} is used in {where} and defined nowhere around it")
            return
        if type(expr) is BufferLoad:
            self.buffer(expr.buffer, where)
        if type(expr) is Let:
            self.scope(expr, where)
            return
        for child in children(expr):
            self.expr(child, where)

    def scope(self, expr: Let, where: str) -> None:
        """A variable has one Let: an expression with one must not be used twice."""
        self.expr(expr.value, where)
        if expr.var in self.defined or expr.var in self.let:
            raise TirError(f"the variable {expr.var.name} is defined twice in {where}, by a Let that is used twice")
        self.let.add(expr.var)
        self.defined.add(expr.var)
        self.expr(expr.body, where)
        self.defined.discard(expr.var)

    def buffer(self, buffer: Buffer, where: str) -> None:
        if buffer not in self.buffers:
            raise TirError(f"the tensor {buffer.name} is used in {where} and is neither an argument nor computed")

    def stmt(self, stmt: Stmt, where: str = "the function") -> None:
        if isinstance(stmt, SBlock):
            self.block(stmt)
        elif isinstance(stmt, For):
            self.expr(stmt.min, where)
            self.expr(stmt.extent, where)
            self.defined.add(stmt.loop_var)
            self.stmt(stmt.body, where)
        elif isinstance(stmt, BufferStore):
            self.buffer(stmt.buffer, where)
            self.parts(stmt, where)
        elif isinstance(stmt, Bind):
            self.expr(stmt.value, where)
            self.defined.add(stmt.var)
        else:
            self.parts(stmt, where)

    def parts(self, stmt: Stmt, where: str) -> None:
        for child in stmt.children():
            if isinstance(child, Stmt):
                self.stmt(child, where)
            else:
                self.expr(child, where)

    def block(self, block: SBlock) -> None:
        where = f"the stage {block.name_hint!r}"
        for iter_var in block.iter_vars:
            self.expr(iter_var.dom.min, where)
            self.expr(iter_var.dom.extent, where)
            self.defined.add(iter_var.var)
        for buffer in block.alloc_buffers:
            self.declare(buffer)
        for access in block.reads + block.writes:
            self.buffer(access.buffer, where)
            for r in access.region:
                self.expr(r.min, where)
                self.expr(r.extent, where)
        if block.init is not None:
            self.stmt(block.init, where)
        self.stmt(block.body, where)
