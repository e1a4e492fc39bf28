"""From tensor expressions to a PrimFunc: one block per operation, in topological order, in a root block.

Stands in for ``src/te/operation/create_primfunc.cc``, ``src/te/operation/graph.cc`` and
``src/tirx/ir/script/script_complete.cc``.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import dtypes
from .access_region import get_sblock_access_region
from .data_type_rewriter import normalize_index_dtype
from .expr import (
    TRUE,
    BufferLoad,
    IntImm,
    IterVar,
    PrimExpr,
    ProducerLoad,
    Range,
    Reduce,
    TirError,
    Var,
    map_children,
    substitute,
    undefined_vars,
)
from .stmt import (
    Bind,
    Buffer,
    BufferStore,
    For,
    PrimFunc,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    root_realize,
)
from .te import ComputeOp, Operation, PlaceholderOp, Tensor

# The annotation of a block that is a list of buffers whose layout may be changed, and the function's counterpart.
_LAYOUT_FREE = "layout_free_placeholders"
_LAYOUT_FREE_BUFFERS = "layout_free_buffers"
# Annotations of te that no block keeps.
_DROPPED_ANNOTATIONS = ("const_matrix", "auto_scheduler_simplify_const_tensor_indices", "workload")


# tvm: src/ir/name_supply.cc (NameSupply)
class NameSupply:
    """Names that are given out once: B, then B_1, B_2. Dots become underscores."""

    def __init__(self):
        self._counters: dict[str, int] = {}

    def fresh_name(self, name: str) -> str:
        name = (name or "v").replace(".", "_")
        unique = name
        while unique in self._counters:
            self._counters[name] += 1
            unique = f"{name}_{self._counters[name]}"
        self._counters[unique] = 0
        return unique


# tvm: src/te/operation/create_primfunc.cc (CreateFuncInfo)
class _FuncInfo:
    """What the steps share: the arguments, each tensor's buffer, the buffers of the root block, the block names."""

    def __init__(self, arg_list: Sequence[Tensor]):
        self.arg_list = arg_list
        self.tensor2buffers: dict[tuple[int, int], Buffer] = {}
        self.root_alloc: list[Buffer] = []
        self.name_supply = NameSupply()
        self._analyzer = None

    # A tensor is its operation and its place among the outputs; Tensor.__eq__ refuses tensors of rank 0.
    def buffer_of(self, tensor: Tensor) -> Buffer | None:
        return self.tensor2buffers.get((id(tensor.op), tensor.value_index))

    def set_buffer(self, tensor: Tensor, buffer: Buffer) -> None:
        self.tensor2buffers[(id(tensor.op), tensor.value_index)] = buffer

    def is_arg(self, tensor: Tensor) -> bool:
        return any(arg.is_output_of(tensor.op, tensor.value_index) for arg in self.arg_list)

    def simplify(self, expr: PrimExpr) -> PrimExpr:
        # Constants and variables are simple, and most extents are constants: no analyzer for those.
        if type(expr) is IntImm or isinstance(expr, Var):
            return expr
        if self._analyzer is None:
            from .arith import Analyzer

            self._analyzer = Analyzer()
        return self._analyzer.simplify(expr)

    # tvm: src/te/operation/create_primfunc.cc (ProducerToBufferTransformer), then Substitute
    def transform(self, expr: PrimExpr, axes_remap: dict[Var, PrimExpr]) -> PrimExpr:
        """The expression with reads of tensors as reads of buffers, and te's axes replaced by the block's iterators."""
        if isinstance(expr, Var):
            return axes_remap.get(expr, expr)
        if type(expr) is ProducerLoad:
            buffer = self.buffer_of(expr.producer)
            if buffer is None:
                raise TirError(f"tensor {expr.producer.name} is read before it is made")
            return BufferLoad(buffer, [self.transform(index, axes_remap) for index in expr.indices])
        return map_children(expr, lambda part: self.transform(part, axes_remap))


# --------------------------------------------------------------------------------------------------------------------
# The operations in order (src/te/operation/graph.cc)
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/te/operation/create_primfunc.cc (CollectOrderedOps), src/te/operation/graph.cc (PostDFSOrder)
def collect_ordered_ops(arg_list: Sequence[Tensor]) -> list[Operation]:
    """The operations that the arguments depend on, each after what it reads."""
    order: list[Operation] = []
    visited: set[int] = set()
    for arg in arg_list:
        # Depth first, on an own stack: a chain of operations may be longer than Python's recursion limit.
        stack = [(arg.op, False)]
        while stack:
            op, inputs_done = stack.pop()
            if inputs_done:
                order.append(op)
                continue
            if id(op) in visited:
                continue
            visited.add(id(op))
            stack.append((op, True))
            stack.extend((tensor.op, False) for tensor in reversed(op.input_tensors))
    for op in order:
        if not isinstance(op, (PlaceholderOp, ComputeOp)):
            raise TirError(f"{op} is neither a te.placeholder nor a te.compute")
    return order


# --------------------------------------------------------------------------------------------------------------------
# A compute's loops and iterators
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/te/operation/create_primfunc.cc (GenerateNestedIterLevels)
def _nested_iter_levels(axes: Sequence[IterVar], info: _FuncInfo) -> list[list[IterVar]]:
    """The axes by level: an axis whose domain uses other axes is a level below them. Nearly always one level."""
    var2iter = {axis.var: axis for axis in axes}
    depth: dict[Var, int] = {}
    deepest = max((_level(axis, var2iter, depth, info) for axis in axes), default=0)
    levels: list[list[IterVar]] = [[] for _ in range(deepest + 1)]
    for axis in axes:
        levels[depth[axis.var]].append(axis)
    return levels


def _level(axis: IterVar, var2iter: dict[Var, IterVar], depth: dict[Var, int], info: _FuncInfo) -> int:
    """The level of an axis, which goes into ``depth``."""
    if axis.var in depth:
        return depth[axis.var]
    level = 0
    for end in (axis.dom.min, axis.dom.extent):
        for variable in undefined_vars(info.simplify(end)):
            # A variable that is no axis is a symbolic extent.
            if variable in var2iter:
                level = max(level, _level(var2iter[variable], var2iter, depth, info) + 1)
    depth[axis.var] = level
    return level


# tvm: src/te/operation/create_primfunc.cc (NestedScopeInfo)
class _NestedScope:
    """The loops of one level, and the iterators of its block with their bindings."""

    def __init__(self):
        self.loop_vars: list[tuple[Var, Range]] = []
        self.block_iters: list[IterVar] = []
        self.bindings: list[PrimExpr] = []
        self.store_indices: list[PrimExpr] = []
        # te's axis -> the block's iterator
        self.axes_remap: dict[Var, PrimExpr] = {}

    def add_block_iter(self, origin_axis: IterVar | None, iter_var: IterVar, value: PrimExpr) -> None:
        self.block_iters.append(iter_var)
        self.bindings.append(value)
        if origin_axis is not None:
            if iter_var.iter_type != IterVar.CommReduce:
                self.store_indices.append(iter_var.var)
            self.axes_remap[origin_axis.var] = iter_var.var

    def renew(self, origin_axes: Sequence[IterVar]) -> None:
        """Give the block new iterators: each of several blocks under the same loops has its own."""
        self.block_iters = [
            IterVar(old.dom, Var(old.var.name, old.var.dtype), old.iter_type, old.thread_tag)
            for old in self.block_iters
        ]
        for i, axis in enumerate(origin_axes):
            block_var = self.block_iters[i].var
            if axis.iter_type != IterVar.CommReduce:
                self.store_indices[i] = block_var
            self.axes_remap[axis.var] = block_var


def _nested_scopes(name: str, axes: Sequence[IterVar], info: _FuncInfo) -> list[_NestedScope]:
    """The loops and iterators of a compute, outermost level first.

    An axis gets its loop at its own level; the blocks below see it as an iterator of extent 1 bound to the one above.
    """
    levels = _nested_iter_levels(axes, info)
    scopes: list[_NestedScope] = []
    defined: set[Var] = set()
    for level, own_axes in enumerate(levels):
        scope = _NestedScope()
        for axis in axes:
            width = max(dtypes.bits(axis.dom.min.dtype), dtypes.bits(axis.dom.extent.dtype))
            index_type = f"int{width}"
            if any(own is axis for own in own_axes):
                loop_var = Var(axis.var.name, index_type)
                block_var = Var("v_" + axis.var.name, index_type)
                low, extent = axis.dom.min, axis.dom.extent
                if level > 0:
                    low = substitute(low, scopes[level - 1].axes_remap)
                    extent = substitute(extent, scopes[level - 1].axes_remap)
                dom = Range.from_min_extent(info.simplify(low), info.simplify(extent))
                _check_iter_dtype(name, axis, dom, index_type)
                scope.loop_vars.append((loop_var, dom))
                scope.add_block_iter(axis, IterVar(dom, block_var, axis.iter_type, axis.thread_tag), loop_var)
                defined.add(axis.var)
            elif axis.var in defined:
                previous = scopes[level - 1].axes_remap[axis.var]
                block_var = Var("v_" + axis.var.name, index_type)
                dom = Range.from_min_extent(previous, IntImm(index_type, 1))
                scope.add_block_iter(axis, IterVar(dom, block_var, axis.iter_type, axis.thread_tag), previous)
        if level == len(levels) - 1 and not scope.block_iters:
            # An output without dimensions: the block still gets an iterator.
            dummy = IterVar(Range.from_min_extent(0, 1), Var("vi"), IterVar.DataPar)
            scope.add_block_iter(None, dummy, IntImm("int32", 0))
        scopes.append(scope)
    return scopes


def _check_iter_dtype(name: str, axis: IterVar, dom: Range, index_type: str) -> None:
    if dom.extent.dtype != index_type:
        raise TirError(
            f"{name}: axis {axis.var.name} starts at an {axis.dom.min.dtype} and has an {dom.extent.dtype} extent; "
            "give both one dtype"
        )


# --------------------------------------------------------------------------------------------------------------------
# A compute's block
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/te/operation/create_primfunc.cc (GenerateOutputBuffers)
def _output_buffers(compute_op: ComputeOp, info: _FuncInfo) -> list[Buffer]:
    """A buffer per output; those that are not arguments are allocated in the root block."""
    buffers = []
    for i in range(compute_op.num_outputs):
        tensor = compute_op.output(i)
        buffer = Buffer(tensor.name, tensor.shape, tensor.dtype)
        info.set_buffer(tensor, buffer)
        buffers.append(buffer)
        if not info.is_arg(tensor):
            info.root_alloc.append(buffer)
    return buffers


# tvm: src/te/operation/create_primfunc.cc (GenerateBlockAnnotations)
def _block_annotations(compute_op: ComputeOp, info: _FuncInfo) -> dict:
    """The compute's attributes, with tensors as buffers."""

    def mutate(value):
        if not isinstance(value, Tensor):
            return value
        buffer = info.buffer_of(value)
        if buffer is None:
            raise TirError(f"an attribute of {compute_op.name} names tensor {value.name}, which is not made before it")
        return buffer

    annotations = {}
    for key, value in compute_op.attrs.items():
        annotations[key] = [mutate(part) for part in value] if isinstance(value, (list, tuple)) else mutate(value)
    return annotations


def _store(buffer: Buffer, value: PrimExpr, indices: Sequence[PrimExpr]) -> BufferStore:
    if len(indices) != len(buffer.shape):
        raise TirError(f"buffer {buffer.name} has {len(buffer.shape)} dimensions, and is written with {len(indices)}")
    _check_dtype(buffer, value)
    return BufferStore(buffer, value, indices)


def _check_dtype(buffer: Buffer, value: PrimExpr) -> None:
    if value.dtype != buffer.dtype:
        raise TirError(f"buffer {buffer.name} has dtype {buffer.dtype}, and is written with {value} of {value.dtype}")


def _flatten(stmts: Sequence[Stmt]) -> Stmt:
    """One statement of several, without sequences inside sequences (SeqStmt::Flatten)."""
    parts: list[Stmt] = []
    for stmt in stmts:
        parts.extend(stmt.seq if isinstance(stmt, SeqStmt) else (stmt,))
    return parts[0] if len(parts) == 1 else SeqStmt(parts)


# tvm: src/te/operation/create_primfunc.cc (GenerateInitStmt)
def _init_stmt(indices, buffers: Sequence[Buffer], reduce: Reduce, axes_remap, info: _FuncInfo) -> Stmt:
    """Stores of the reduction's identities. As in TVM, the reduction's ``init`` and ``condition`` play no part."""
    identities = reduce.combiner.identity_element
    return _flatten(
        [_store(buffer, info.transform(identities[i], axes_remap), indices) for i, buffer in enumerate(buffers)]
    )


# tvm: src/te/operation/create_primfunc.cc (GenerateBodyStmt)
def _body_stmt(indices, buffers: Sequence[Buffer], axes_remap, value: PrimExpr, info: _FuncInfo) -> Stmt:
    """The block's statement: the store of the value, or of what the reduction combines."""
    if type(value) is not Reduce:
        return _store(buffers[0], info.simplify(info.transform(value, axes_remap)), indices)
    if len(value.source) != len(buffers):
        raise TirError(
            f"{buffers[0].name} has {len(buffers)} of the {len(value.source)} components of a reduction: "
            "a compute gives all that one call of a reducer made"
        )
    lhs = [BufferLoad(buffer, indices) for buffer in buffers]
    rhs = [info.simplify(info.transform(value.source[i], axes_remap)) for i in range(len(buffers))]
    combined = [info.transform(result, axes_remap) for result in value.combiner(lhs, rhs)]
    if len(buffers) == 1:
        return _store(buffers[0], combined[0], indices)
    # All values are computed before the first is stored: each may depend on the others.
    temp_vars = [Var("v_" + buffer.name, load.dtype) for buffer, load in zip(buffers, lhs)]
    stores = [_store(buffer, temp_var, indices) for buffer, temp_var in zip(buffers, temp_vars)]
    for buffer, result in zip(buffers, combined):
        _check_dtype(buffer, result)
    binds = [Bind(temp_var, result) for temp_var, result in zip(temp_vars, combined)]
    return SeqStmt([*binds, *stores])


# tvm: src/te/operation/create_primfunc.cc (GenerateStmtFromCompute)
def _stmt_from_compute(compute_op: ComputeOp, info: _FuncInfo) -> Stmt:
    """The loop nest of a compute, with its block or blocks inside."""
    axes = (*compute_op.axis, *compute_op.reduce_axis)
    scopes = _nested_scopes(compute_op.name, axes, info)
    buffers = _output_buffers(compute_op, info)
    annotations = _block_annotations(compute_op, info)
    reduce = compute_op.body[0] if type(compute_op.body[0]) is Reduce else None

    leaf = scopes[-1]
    stmts: list[Stmt] = []
    if reduce is not None:
        init = _init_stmt(leaf.store_indices, buffers, reduce, leaf.axes_remap, info)
        body = _body_stmt(leaf.store_indices, buffers, leaf.axes_remap, reduce, info)
        block_name = info.name_supply.fresh_name(compute_op.name)
        block = SBlock(leaf.block_iters, (), (), block_name, body, init, (), annotations)
        stmts.append(SBlockRealize(leaf.bindings, TRUE, block))
    else:
        # The outer blocks keep the iterators that they have: only the leaf's are renewed.
        for i in range(compute_op.num_outputs):
            if i > 0:
                leaf.renew(axes)
            body = _body_stmt(leaf.store_indices, [buffers[i]], leaf.axes_remap, compute_op.body[i], info)
            block_name = info.name_supply.fresh_name(buffers[i].name)
            block = SBlock(leaf.block_iters, (), (), block_name, body, None, (), annotations)
            stmts.append(SBlockRealize(leaf.bindings, TRUE, block))
    stmt = _flatten(stmts)

    for level in range(len(scopes), 0, -1):
        scope = scopes[level - 1]
        if level < len(scopes):
            stmt = _outer_block(compute_op, scope, level, buffers, reduce, annotations, stmt, info)
        for loop_var, dom in reversed(scope.loop_vars):
            stmt = _loop(loop_var, dom, stmt)
    return stmt


# tvm: src/tirx/ir/stmt.cc (For::For)
def _loop(loop_var: Var, dom: Range, body: Stmt) -> For:
    """A serial loop; a constant bound of a narrower dtype gets the variable's."""
    bounds = []
    for bound in (dom.min, dom.extent):
        if type(bound) is IntImm and dtypes.bits(bound.dtype) < dtypes.bits(loop_var.dtype):
            bound = IntImm(loop_var.dtype, bound.value)
        if bound.dtype != loop_var.dtype:
            raise TirError(f"loop {loop_var.name} has dtype {loop_var.dtype}, its bound {bound} {bound.dtype}")
        bounds.append(bound)
    return For(loop_var, bounds[0], bounds[1], body)


def _outer_block(compute_op, scope: _NestedScope, level: int, buffers, reduce, annotations, body: Stmt, info) -> Stmt:
    """The block of a level that has others below it; it initialises too when it reduces."""
    block_name = info.name_supply.fresh_name(f"{compute_op.name}_l{level}")
    init = None
    if reduce is not None and any(iter_var.iter_type == IterVar.CommReduce for iter_var in scope.block_iters):
        init = _init_stmt(scope.store_indices, buffers, reduce, scope.axes_remap, info)
    block = SBlock(scope.block_iters, (), (), block_name, body, init, (), annotations)
    return SBlockRealize(scope.bindings, TRUE, block)


# --------------------------------------------------------------------------------------------------------------------
# The function
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/te/operation/create_primfunc.cc (RewriteStageToBlock)
def _rewrite_stage_to_block(op: Operation, info: _FuncInfo, root_stmts: list[Stmt]) -> None:
    if isinstance(op, ComputeOp):
        root_stmts.append(_stmt_from_compute(op, info))
        return
    tensor = op.output(0)
    if not info.is_arg(tensor):
        given = ", ".join(arg.name for arg in info.arg_list)
        raise TirError(f"the placeholder {tensor.name} is read, but is not among the function's arguments ({given})")
    if info.buffer_of(tensor) is None:
        info.set_buffer(tensor, Buffer(op.name, op.shape, op.dtype))


# tvm: src/tirx/ir/script/script_complete.cc (ScriptCompleter)
def _complete(stmt: Stmt) -> Stmt:
    """The statement with the regions that each block reads and writes, found from the inside out."""
    if isinstance(stmt, SeqStmt):
        return SeqStmt([_complete(part) for part in stmt.seq])
    if isinstance(stmt, For):
        return For(stmt.loop_var, stmt.min, stmt.extent, _complete(stmt.body), stmt.kind)
    if isinstance(stmt, SBlockRealize):
        for value in stmt.iter_values:
            if dtypes.parse(value.dtype)[0] != "int":
                raise TirError(f"an iterator of {stmt.block.name_hint} is bound to {value} of dtype {value.dtype}")
        block = stmt.block.replace(body=_complete(stmt.block.body))
        reads, writes = get_sblock_access_region(block)
        return SBlockRealize(stmt.iter_values, stmt.predicate, block.replace(reads=reads, writes=writes))
    return stmt


# tvm: src/te/operation/create_primfunc.cc (GenerateAndCompletePrimFunc)
def _generate_and_complete(arg_list: Sequence[Tensor | Var], root_stmts: list[Stmt], info: _FuncInfo) -> PrimFunc:
    params: list[Var] = []
    buffer_map: dict[Var, Buffer] = {}
    for arg in arg_list:
        if isinstance(arg, Tensor):
            param = Var("var_" + arg.name, "handle")
            buffer_map[param] = info.buffer_of(arg)
            params.append(param)
        else:
            params.append(arg)
    root = SBlock((), (), (), "root", _complete(_flatten(root_stmts)), None, info.root_alloc)
    return PrimFunc(params, buffer_map, root_realize(root), {"global_symbol": "main", "tirx.noalias": True})


# tvm: src/te/operation/create_primfunc.cc (LayoutFreePlaceholdersNormalizer)
def _normalize_layout_free_placeholders(func: PrimFunc) -> PrimFunc:
    """Move the blocks' lists of layout-free arguments to the function, and drop the annotations no block keeps."""
    buffer2index = {func.buffer_map[param]: i for i, param in enumerate(func.params) if param in func.buffer_map}
    indices: set[int] = set()

    def visit(stmt: Stmt) -> Stmt:
        if isinstance(stmt, SeqStmt):
            return SeqStmt([visit(part) for part in stmt.seq])
        if isinstance(stmt, For):
            return For(stmt.loop_var, stmt.min, stmt.extent, visit(stmt.body), stmt.kind)
        if isinstance(stmt, SBlockRealize):
            return SBlockRealize(stmt.iter_values, stmt.predicate, visit(stmt.block))
        if isinstance(stmt, SBlock):
            return stmt.replace(body=visit(stmt.body), annotations=normalize(stmt.annotations))
        return stmt

    def normalize(annotations: dict) -> dict:
        kept = {key: value for key, value in annotations.items() if key not in _DROPPED_ANNOTATIONS}
        if _LAYOUT_FREE in kept:
            buffers = kept.pop(_LAYOUT_FREE)
            if not isinstance(buffers, list) or not all(isinstance(buffer, Buffer) for buffer in buffers):
                raise TirError(f"the attribute {_LAYOUT_FREE} must be a list of tensors")
            indices.update(buffer2index[buffer] for buffer in buffers if buffer in buffer2index)
            others = [buffer for buffer in buffers if buffer not in buffer2index]
            if others:
                kept[_LAYOUT_FREE] = others
        return kept

    body = visit(func.body)
    attrs = func.attrs | ({_LAYOUT_FREE_BUFFERS: sorted(indices)} if indices else {})
    return PrimFunc(func.params, func.buffer_map, body, attrs)


# tvm: src/te/operation/create_primfunc.cc (CreatePrimFunc)
def create_prim_func(arg_list: Sequence[Tensor | Var], index_dtype_override: str | None = None) -> PrimFunc:
    """The function of a computation; see :func:`carver.roller.tir.te.create_prim_func`."""
    for arg in arg_list:
        if not isinstance(arg, (Tensor, PrimExpr, IterVar)) and arg is not None:
            raise TirError(f"an argument of a function is a tensor or a variable, got {arg!r}")
    # Other expressions (a constant extent in place of a variable), axes and None are dropped, as in TVM.
    arguments = [arg for arg in arg_list if isinstance(arg, (Tensor, Var))]
    tensors = [arg for arg in arguments if isinstance(arg, Tensor)]
    info = _FuncInfo(tensors)
    root_stmts: list[Stmt] = []
    order = collect_ordered_ops(tensors)
    for op in order:
        _rewrite_stage_to_block(op, info, root_stmts)
    if not root_stmts:
        raise TirError("the arguments of create_prim_func contain no te.compute: there is nothing to compute")
    func = _generate_and_complete(arguments, root_stmts, info)
    if index_dtype_override is not None:
        func = normalize_index_dtype(func, index_dtype_override)
    if any(op.attrs for op in order):
        func = _normalize_layout_free_placeholders(func)
    return func
