"""Give every extent and index of a function one integer dtype: ``index_dtype_override`` of create_prim_func.

Stands in for ``src/tirx/ir/data_type_rewriter.cc`` (DataTypeLegalizer, IndexDataTypeRewriter,
IndexDataTypeNormalizer).
"""

from __future__ import annotations

from . import dtypes
from .expr import (
    EQ,
    FOLD,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    BufferLoad,
    Call,
    Cast,
    IntImm,
    IterVar,
    Let,
    Or,
    PrimExpr,
    Range,
    Select,
    SizeVar,
    TirError,
    Var,
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    cast,
    floordiv,
    floormod,
    if_then_else,
    left_shift,
    map_children,
    match_types,
    max_value,
    right_shift,
    sub,
)
from .op import pow
from .stmt import (
    Bind,
    Buffer,
    BufferRegion,
    BufferStore,
    For,
    IfThenElse,
    PrimFunc,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
)
from .te import make_range

_COMPARISONS = (EQ, NE, LT, LE, GT, GE)
_REBUILT_CALLS = {
    "tirx.shift_right": right_shift,
    "tirx.shift_left": left_shift,
    "tirx.bitwise_and": bitwise_and,
    "tirx.bitwise_or": bitwise_or,
    "tirx.bitwise_xor": bitwise_xor,
    "tirx.pow": pow,
}


def _all_same(new, old) -> bool:
    return all(a is b for a, b in zip(new, old))


def _matched(op: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
    a, b = match_types(a, b)
    folded = FOLD[op](a, b)
    return folded if folded is not None else op(a, b)


# tvm: src/tirx/ir/data_type_rewriter.cc (IndexDataTypeNormalizer)
class IndexDataTypeNormalizer:
    """Rewrites index expressions; ``is_enabled`` tells whether the walk is in one, ``is_condition`` in a condition."""

    def __init__(self, target_dtype: str):
        self.target = str(dtypes.DataType(target_dtype))
        if dtypes.parse(self.target)[0] not in ("int", "uint"):
            raise TirError(f"the dtype of indices is an integer's, got {self.target}")
        self.is_enabled = False
        self.is_condition = False
        self.var_remap: dict[Var, Var] = {}
        self.buffer_remap: dict[Buffer, Buffer] = {}

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        # A first walk finds the variables that are indices somewhere; the second one replaces them everywhere.
        self.visit_stmt(func.body)
        self.buffer_remap.clear()
        buffer_map = {param: self._buffer_def(buffer) for param, buffer in func.buffer_map.items()}
        params = [self._enabled(param) if dtypes.is_int(param.dtype) else param for param in func.params]
        return PrimFunc(params, buffer_map, self.visit_stmt(func.body), func.attrs)

    def _can_rewrite(self, dtype: str) -> bool:
        kind, width = dtypes.parse(dtype)
        return kind == "int" and width >= 32

    def _enabled(self, expr: PrimExpr) -> PrimExpr:
        """The expression rewritten as an index."""
        outer, self.is_enabled = self.is_enabled, True
        result = self.visit(expr)
        self.is_enabled = outer
        return result

    def _as_condition(self, expr: PrimExpr) -> PrimExpr:
        outer, self.is_condition = self.is_condition, True
        result = self.visit(expr)
        self.is_condition = outer
        return result

    # -- expressions ---------------------------------------------------------------------------------------------

    def visit(self, expr: PrimExpr) -> PrimExpr:
        kind = type(expr)
        if kind is IntImm:
            return self._visit_int_imm(expr)
        if isinstance(expr, Var):
            return self._visit_var(expr)
        if kind is Cast:
            return self._visit_cast(expr)
        if kind in _COMPARISONS:
            outer = self.is_enabled
            self.is_enabled = self.is_condition and dtypes.is_int(expr.a.dtype) and dtypes.is_int(expr.b.dtype)
            result = self._visit_binary(expr)
            self.is_enabled = outer
            return result
        if kind in FOLD and kind is not And and kind is not Or:
            return self._visit_binary(expr)
        if kind is Call:
            return self._visit_call(expr)
        if kind is Select:
            return self._visit_select(expr)
        if kind is BufferLoad:
            buffer = self.buffer_remap.get(expr.buffer, expr.buffer)
            indices = [self._enabled(index) for index in expr.indices]
            return expr if buffer is expr.buffer and _all_same(indices, expr.indices) else BufferLoad(buffer, indices)
        if kind is Let:
            return self._visit_let(expr)
        return map_children(expr, self.visit)

    def _visit_int_imm(self, expr: IntImm) -> PrimExpr:
        if not self.is_enabled or not self._can_rewrite(expr.dtype):
            return expr
        if expr.value > max_value(self.target).value:
            raise TirError(f"the index constant {expr.value} does not fit {self.target}")
        return cast(self.target, expr)

    def _visit_var(self, var: Var) -> PrimExpr:
        if self.is_enabled and var not in self.var_remap and var.dtype != self.target and self._can_rewrite(var.dtype):
            self.var_remap[var] = _copy_with_dtype(var, self.target)
        return self.var_remap.get(var, var)

    def _visit_cast(self, expr: Cast) -> PrimExpr:
        if not self.is_enabled or not self._can_rewrite(expr.dtype):
            return map_children(expr, self.visit)
        value = self.visit(expr.value)
        return value if value.dtype == self.target else Cast(self.target, value)

    def _visit_binary(self, expr: PrimExpr) -> PrimExpr:
        a, b = self.visit(expr.a), self.visit(expr.b)
        if a is expr.a and b is expr.b:
            return expr
        kind = type(expr)
        if kind.__name__ == "FloorDiv":
            return floordiv(a, b)
        return floormod(a, b) if kind.__name__ == "FloorMod" else _matched(kind, a, b)

    def _visit_call(self, expr: Call) -> PrimExpr:
        if expr.op == "tirx.if_then_else":
            condition = self._as_condition(expr.args[0])
            return if_then_else(condition, self.visit(expr.args[1]), self.visit(expr.args[2]))
        new = map_children(expr, self.visit)
        if new.op in _REBUILT_CALLS:
            return _REBUILT_CALLS[new.op](*new.args)
        if new.op == "tirx.clz":
            # The count of leading zeros of the wider value, less the bits that it has more.
            before, after = dtypes.bits(expr.args[0].dtype), dtypes.bits(new.args[0].dtype)
            return add(sub(new, after), before)
        return new

    def _visit_select(self, expr: Select) -> PrimExpr:
        condition = self._as_condition(expr.condition)
        true_value, false_value = self.visit(expr.true_value), self.visit(expr.false_value)
        if condition is expr.condition and true_value is expr.true_value and false_value is expr.false_value:
            return expr
        width = max(dtypes.bits(true_value.dtype), dtypes.bits(false_value.dtype))
        # The values differ in width only: one of them was an index.
        dtype = true_value.dtype if dtypes.bits(true_value.dtype) == width else false_value.dtype
        return Select(condition, cast(dtype, true_value), cast(dtype, false_value))

    def _visit_let(self, expr: Let) -> PrimExpr:
        value = self.visit(expr.value)
        var = expr.var
        if value.dtype != var.dtype:
            var = self.var_remap[expr.var] = _copy_with_dtype(var, value.dtype)
        body = self.visit(expr.body)
        return expr if value is expr.value and body is expr.body else Let(var, value, body)

    # -- statements ----------------------------------------------------------------------------------------------

    # A statement that does not change stays the same object: whether a block changed matters, below.

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, SeqStmt):
            seq = [self.visit_stmt(part) for part in stmt.seq]
            return stmt if _all_same(seq, stmt.seq) else SeqStmt(seq)
        if isinstance(stmt, For):
            loop_var = self._enabled(stmt.loop_var)
            low, extent = self._enabled(stmt.min), self._enabled(stmt.extent)
            body = self.visit_stmt(stmt.body)
            if _all_same((loop_var, low, extent, body), (stmt.loop_var, stmt.min, stmt.extent, stmt.body)):
                return stmt
            return For(loop_var, cast(loop_var.dtype, low), cast(loop_var.dtype, extent), body, stmt.kind)
        if isinstance(stmt, SBlockRealize):
            predicate = self._as_condition(stmt.predicate)
            values = [self._enabled(value) for value in stmt.iter_values]
            block = self._visit_block(stmt.block)
            unchanged = predicate is stmt.predicate and block is stmt.block and _all_same(values, stmt.iter_values)
            return stmt if unchanged else SBlockRealize(values, predicate, block)
        if isinstance(stmt, BufferStore):
            buffer = self.buffer_remap.get(stmt.buffer, stmt.buffer)
            value = cast(buffer.dtype, self.visit(stmt.value))
            indices = [self._enabled(index) for index in stmt.indices]
            if buffer is stmt.buffer and value is stmt.value and _all_same(indices, stmt.indices):
                return stmt
            return BufferStore(buffer, value, indices)
        if isinstance(stmt, Bind):
            return self._visit_bind(stmt)
        if isinstance(stmt, IfThenElse):
            condition = self._as_condition(stmt.condition)
            then_case = self.visit_stmt(stmt.then_case)
            else_case = None if stmt.else_case is None else self.visit_stmt(stmt.else_case)
            if condition is stmt.condition and then_case is stmt.then_case and else_case is stmt.else_case:
                return stmt
            return IfThenElse(condition, then_case, else_case)
        raise TirError(f"cannot rewrite the indices of {type(stmt).__name__}")

    def _visit_bind(self, stmt: Bind) -> Bind:
        if stmt.var in self.var_remap:
            return Bind(self.var_remap[stmt.var], self._enabled(stmt.value))
        value = self.visit(stmt.value)
        if value.dtype != stmt.var.dtype:
            self.var_remap[stmt.var] = _copy_with_dtype(stmt.var, value.dtype)
        var = self.var_remap.get(stmt.var, stmt.var)
        return stmt if var is stmt.var and value is stmt.value else Bind(var, value)

    def _visit_block(self, block: SBlock) -> SBlock:
        alloc_buffers = [self._buffer_def(buffer) for buffer in block.alloc_buffers]
        reads = [self._region(access) for access in block.reads]
        writes = [self._region(access) for access in block.writes]
        iter_vars = [self._iter_var(iter_var) for iter_var in block.iter_vars]
        init = None if block.init is None else self.visit_stmt(block.init)
        annotations = {key: self._annotation(value) for key, value in block.annotations.items()}
        body = self.visit_stmt(block.body)
        unchanged = (
            init is block.init
            and body is block.body
            and _all_same(alloc_buffers, block.alloc_buffers)
            and _all_same(reads, block.reads)
            and _all_same(writes, block.writes)
            and all(annotations[key] is block.annotations[key] for key in annotations)
        )
        if unchanged:
            # TVM's test is inverted for the iterators: a block of which only the iterators change keeps the old ones.
            # That happens to a reduction of values that have no dimensions, or of constants.
            return block
        return block.replace(
            alloc_buffers=alloc_buffers,
            reads=reads,
            writes=writes,
            iter_vars=iter_vars,
            init=init,
            annotations=annotations,
            body=body,
        )

    def _annotation(self, value):
        if isinstance(value, list):
            new = [self._annotation(part) for part in value]
            return value if _all_same(new, value) else new
        return self.buffer_remap.get(value, value) if isinstance(value, Buffer) else value

    def _buffer_def(self, buffer: Buffer) -> Buffer:
        if buffer in self.buffer_remap:
            return self.buffer_remap[buffer]
        shape = [self._enabled(extent) for extent in buffer.shape]
        # TVM's buffers also have an offset, 0, of the first extent's dtype, or int64 when there is none.
        same_offset = bool(shape) or self.target == "int64"
        if same_offset and _all_same(shape, buffer.shape):
            return buffer
        new = self.buffer_remap[buffer] = Buffer(buffer.name, shape, buffer.dtype, buffer.scope())
        return new

    def _region(self, access: BufferRegion) -> BufferRegion:
        buffer = self.buffer_remap.get(access.buffer, access.buffer)
        # The ranges are made anew, so only a region without dimensions can stay what it is.
        region = [Range.from_min_extent(self._enabled(r.min), self._enabled(r.extent)) for r in access.region]
        return access if not region and buffer is access.buffer else BufferRegion(buffer, region)

    def _iter_var(self, iter_var: IterVar) -> IterVar:
        var = self._enabled(iter_var.var)
        low, extent = self._enabled(iter_var.dom.min), self._enabled(iter_var.dom.extent)
        if var is iter_var.var and low is iter_var.dom.min and extent is iter_var.dom.extent:
            return iter_var
        # TVM makes Range(min, extent) here, which reads as from min *up to* extent: an iterator that does not start
        # at 0 loses its first min values.
        return IterVar(make_range(low, extent), var, iter_var.iter_type, iter_var.thread_tag)


def _copy_with_dtype(var: Var, dtype: str) -> Var:
    return (SizeVar if isinstance(var, SizeVar) else Var)(var.name, dtype)


def normalize_index_dtype(func: PrimFunc, dtype: str) -> PrimFunc:
    """The function with every extent, index and loop variable of 32 bits or more in ``dtype``."""
    return IndexDataTypeNormalizer(dtype).rewrite(func)
