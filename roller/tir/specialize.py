"""Putting values for symbolic extents.

Stands in for ``PrimFunc.specialize`` (src/tirx/ir/specialize.cc).
"""

from __future__ import annotations

from collections.abc import Mapping

from .expr import BinaryOpExpr, Not, PrimExpr, TirError, Var, convert, logical_not, map_children, try_const_fold
from .stmt import Buffer, For, IfThenElse, PrimFunc, SBlock, SBlockRealize, SeqStmt, rebuild


# tvm: src/tirx/ir/specialize.cc (PrimFuncSpecializer)
def specialize(func: PrimFunc, param_map: Mapping[Var, object]) -> PrimFunc:
    """The function with the parameters of ``param_map`` replaced by values and taken off the parameter list.

    Raises TirError for a variable that is no parameter, or that stands for a buffer.
    """
    var_map: dict[Var, PrimExpr] = {}
    for var, value in param_map.items():
        if not any(var is param for param in func.params):
            raise TirError(
                f"cannot give {var.name} a value: it is not a parameter of the function "
                f"(pass the variable itself to create_prim_func, next to the tensors)"
            )
        if var in func.buffer_map:
            raise TirError(f"cannot give {var.name} a value: it stands for a buffer")
        var_map[var] = convert(value)

    buffers: dict[Buffer, Buffer] = {}
    for buffer in (*func.buffer_map.values(), *_allocated(func.body)):
        shape = [_fold(extent, var_map) for extent in buffer.shape]
        if any(new is not old for new, old in zip(shape, buffer.shape)):
            buffers[buffer] = Buffer(buffer.name, shape, buffer.dtype, buffer.scope())

    buffer_map = {var: buffers.get(buffer, buffer) for var, buffer in func.buffer_map.items()}
    params = [param for param in func.params if param not in var_map]
    body = rebuild(func.body, lambda expr: _fold_if_changed(expr, var_map), buffers)
    return PrimFunc(params, buffer_map, body, func.attrs)


def _allocated(stmt) -> list[Buffer]:
    """The buffers that the blocks of a statement allocate."""
    if isinstance(stmt, SBlockRealize):
        return _allocated(stmt.block)
    if isinstance(stmt, SBlock):
        return [*stmt.alloc_buffers, *_allocated(stmt.body)]
    if isinstance(stmt, For):
        return _allocated(stmt.body)
    if isinstance(stmt, SeqStmt):
        return [buffer for part in stmt.seq for buffer in _allocated(part)]
    if isinstance(stmt, IfThenElse):
        return _allocated(stmt.then_case) + ([] if stmt.else_case is None else _allocated(stmt.else_case))
    return []


def _fold(expr: PrimExpr, var_map: Mapping[Var, PrimExpr]) -> PrimExpr:
    """The expression with the values put in; nodes whose operands changed are folded."""
    if isinstance(expr, Var):
        return var_map.get(expr, expr)
    if isinstance(expr, BinaryOpExpr):
        a, b = _fold(expr.a, var_map), _fold(expr.b, var_map)
        if a is expr.a and b is expr.b:
            return expr
        folded = try_const_fold(type(expr), a, b)
        return folded if folded is not None else type(expr)(a, b)
    if type(expr) is Not:
        a = _fold(expr.a, var_map)
        return expr if a is expr.a else logical_not(a)
    return map_children(expr, lambda child: _fold(child, var_map))


def _fold_if_changed(expr: PrimExpr, var_map: Mapping[Var, PrimExpr]) -> PrimExpr | None:
    """For :func:`rebuild`: the folded expression, or None to look inside (a load inside may need another buffer)."""
    if isinstance(expr, Var):
        return var_map.get(expr)
    if isinstance(expr, (BinaryOpExpr, Not)) and not _has_load(expr):
        return _fold(expr, var_map)
    return None


def _has_load(expr: PrimExpr) -> bool:
    from .expr import BufferLoad, post_order_visit

    found = []
    post_order_visit(expr, lambda node: found.append(node) if type(node) is BufferLoad else None)
    return bool(found)
