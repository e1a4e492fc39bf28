"""A rebuilding walk over expressions that tells an analyzer what is known where it walks.

Stands in for TVM's ``src/arith/ir_mutator_with_analyzer.cc`` and the ``ExprMutator`` below it
(``src/tirx/ir/expr_functor.cc``), and for ``src/tirx/analysis/side_effect.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOpExpr,
    BufferLoad,
    Call,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    ProducerLoad,
    Reduce,
    Select,
    SizeVar,
    StringImm,
    Sub,
    Var,
    children,
    map_children,
)

if TYPE_CHECKING:
    from . import Analyzer

# The method that visits each class of node, as VisitExpr_ is overloaded in C++.
VISITORS: dict[type, str] = {
    Var: "visit_var",
    SizeVar: "visit_var",
    IntImm: "visit_int_imm",
    FloatImm: "visit_float_imm",
    StringImm: "visit_string_imm",
    Add: "visit_add",
    Sub: "visit_sub",
    Mul: "visit_mul",
    Div: "visit_div",
    Mod: "visit_mod",
    FloorDiv: "visit_floordiv",
    FloorMod: "visit_floormod",
    Min: "visit_min",
    Max: "visit_max",
    EQ: "visit_eq",
    NE: "visit_ne",
    LT: "visit_lt",
    LE: "visit_le",
    GT: "visit_gt",
    GE: "visit_ge",
    And: "visit_and",
    Or: "visit_or",
    Not: "visit_not",
    Select: "visit_select",
    Cast: "visit_cast",
    Call: "visit_call",
    Let: "visit_let",
    Reduce: "visit_reduce",
    ProducerLoad: "visit_producer_load",
    BufferLoad: "visit_buffer_load",
}

# How much evaluating an expression may touch (tvm: include/tvm/tirx/op_attr_types.h, CallEffectKind). Beyond
# UPDATE_STATE the kinds differ only in what they may be an argument of, and SideEffect caps them there.
EXPR_ANNOTATION = 0
PURE = 1
READ_STATE = 2
UPDATE_STATE = 3

_READ_STATE_OPS = frozenset(
    f"tirx.{name}" for name in ("anylist_getitem", "tvm_context_id", "tvm_load_matrix_sync", "tvm_struct_get", "undef")
)
# Every other operator that TVM registers and that is not pure.
_UPDATE_STATE_OPS = frozenset(
    f"tirx.{name}"
    for name in """
    TVMBackendAllocWorkspace TVMBackendAnyListMoveFromPackedReturn TVMBackendAnyListSetPackedArg TVMBackendFreeWorkspace
    anylist_resetitem anylist_setitem_call_cpacked anylist_setitem_call_packed assume atomic_add break_loop call_extern
    call_llvm_intrin continue_loop create_barriers cuda.__shfl_down_sync cuda.__shfl_sync cuda.__shfl_up_sync dma_copy
    dma_end_group dma_start_group dma_wait hip.__shfl_down_sync hip.__shfl_sync hip.__shfl_up_sync lookup_param
    make_filled_simdgroup_matrix metal.simd_shuffle metal.simd_shuffle_down metal.simd_shuffle_up mma_fill mma_store
    nd_mem_alloc_with_scope prefetch ptx_arrive_barrier ptx_arrive_barrier_expect_tx ptx_commit_group ptx_cp_async
    ptx_cp_async_barrier ptx_cp_async_bulk ptx_init_barrier_thread_count ptx_ldmatrix ptx_mma ptx_mma_sp
    ptx_wait_barrier ptx_wait_group ret simdgroup_load simdgroup_multiply_accumulate simdgroup_store texture2d_load
    texture2d_store thread_return tvm_access_ptr tvm_bmma_sync tvm_call_cpacked tvm_call_cpacked_lowered
    tvm_call_packed tvm_call_packed_lowered tvm_call_trace_packed tvm_call_trace_packed_lowered tvm_fill_fragment
    tvm_mma_sync tvm_stack_alloca tvm_stack_make_array tvm_stack_make_shape tvm_static_handle tvm_storage_sync
    tvm_store_matrix_sync tvm_struct_set tvm_thread_allreduce tvm_throw_last_error tvm_tuple tvm_warp_activemask
    tvm_warp_shuffle tvm_warp_shuffle_down tvm_warp_shuffle_up webgpu.subgroup_shuffle webgpu.subgroup_shuffle_down
    webgpu.subgroup_shuffle_up
    """.split()
)


# tvm: src/tirx/analysis/side_effect.cc (SideEffect)
def side_effect(expr: PrimExpr) -> int:
    """The worst that evaluating the expression does: PURE, READ_STATE or UPDATE_STATE."""
    effect = PURE
    pending = [expr]
    while pending:
        node = pending.pop()
        if isinstance(node, BinaryOpExpr):
            pending.append(node.a)
            pending.append(node.b)
            continue
        kind = type(node)
        if kind is Var or kind is IntImm:
            continue
        if kind is BufferLoad:
            effect = max(effect, READ_STATE)
        elif kind is Call:
            if node.op in _UPDATE_STATE_OPS:
                return UPDATE_STATE
            if node.op in _READ_STATE_OPS:
                effect = max(effect, READ_STATE)
        pending.extend(children(node))
    return effect


# tvm: src/arith/ir_mutator_with_analyzer.cc (IRMutatorWithAnalyzer)
class IRMutatorWithAnalyzer:
    """Rebuilds an expression from its visited children; a node none of whose children changed stays the same object.

    The values of Select and if_then_else are visited with the condition, or its negation, entered in the analyzer.

    The statement visitors of the original, and the iterators and predicates it records for them, are left out: the
    simplifiers see expressions only.
    """

    _table: dict[type, Callable] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._table = {kind: getattr(cls, name) for kind, name in VISITORS.items()}

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def visit(self, expr: PrimExpr) -> PrimExpr:
        """What becomes of the expression (tvm: VisitExpr)."""
        return self._table[type(expr)](self, expr)

    def _visit_leaf(self, op: PrimExpr) -> PrimExpr:
        return op

    visit_var = visit_int_imm = visit_float_imm = visit_string_imm = _visit_leaf

    def _visit_binary(self, op: BinaryOpExpr) -> PrimExpr:
        visit = self.visit
        a = visit(op.a)
        b = visit(op.b)
        return op if a is op.a and b is op.b else type(op)(a, b)

    visit_add = visit_sub = visit_mul = visit_div = visit_mod = visit_floordiv = visit_floormod = _visit_binary
    visit_min = visit_max = visit_eq = visit_ne = visit_lt = visit_le = visit_gt = visit_ge = _visit_binary
    visit_and = visit_or = _visit_binary

    def _visit_children(self, op: PrimExpr) -> PrimExpr:
        return map_children(op, self.visit)

    visit_not = visit_cast = visit_producer_load = visit_buffer_load = _visit_children

    def _visit_under(self, constraint: PrimExpr, expr: PrimExpr) -> PrimExpr:
        """The visited expression, where the constraint is known to hold."""
        # Before a constant, too, which no constraint changes: entering one may fail, and leaves traces.
        leave = self.analyzer.enter_constraint(constraint)
        try:
            return self.visit(expr)
        finally:
            leave()

    def visit_call(self, op: Call) -> PrimExpr:
        if op.op != "tirx.if_then_else":
            return map_children(op, self.visit)
        condition = self.visit(op.args[0])
        true_value = self._visit_under(condition, op.args[1])
        false_value = self._visit_under(Not(condition), op.args[2])
        if type(condition) is IntImm and condition.value in (0, 1):
            return true_value if condition.value else false_value
        if condition is op.args[0] and true_value is op.args[1] and false_value is op.args[2]:
            return op
        return Call(op.dtype, op.op, (condition, true_value, false_value))

    def visit_let(self, op: Let) -> PrimExpr:
        value = self.visit(op.value)
        if side_effect(value) <= PURE:
            self.analyzer.bind(op.var, value)
        # The binding stays: subclasses may replace it.
        body = self.visit(op.body)
        return op if value is op.value and body is op.body else Let(op.var, value, body)

    def visit_select(self, op: Select) -> PrimExpr:
        condition = self.visit(op.condition)
        true_value = self._visit_under(condition, op.true_value)
        negated = self.analyzer.rewrite_simplify(Not(condition))
        false_value = self._visit_under(negated, op.false_value)
        if type(condition) is IntImm and condition.value in (0, 1):
            return true_value if condition.value else false_value
        if condition is op.condition and true_value is op.true_value and false_value is op.false_value:
            return op
        return Select(condition, true_value, false_value)

    def visit_reduce(self, op: Reduce) -> PrimExpr:
        for axis in op.axis:
            self.analyzer.bind(axis.var, axis.dom)
        return map_children(op, self.visit)
