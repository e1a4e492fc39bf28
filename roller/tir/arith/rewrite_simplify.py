"""Simplification by rewrite rules.

Stands in for TVM's ``src/arith/rewrite_simplify.cc``. The rules themselves are tables in ``rewrite_rules_arith.py``,
``rewrite_rules_minmax.py`` and ``rewrite_rules_logic.py``, in the order of the original; here is what visits the nodes,
folds constants, tries the rules, and compares expressions.

Left out, with the rules for vectors: the optional extensions (``RewriteSimplifier::Extension`` and with them
``conjunctive_normal_form.cc``). All are off by default, and only TVM's lowering passes turn them on.
Left out as well: the counters of visited nodes and rewrites, which tests of TVM itself look at.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Callable

from .. import dtypes
from ..expr import (
    EQ,
    FALSE,
    FOLD,
    GE,
    GT,
    LE,
    LT,
    NE,
    TRUE,
    Add,
    And,
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
    Select,
    Sub,
    TirError,
    Var,
    cast,
    convert,
    deep_equal,
    equal,
    if_then_else,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    make_zero,
    not_equal,
    right_shift,
    sub,
)
from .compare_result import CompareResult
from .constraint_extract import extract_constraints
from .ir_mutator_with_analyzer import PURE, IRMutatorWithAnalyzer, side_effect
from .pattern_match import RuleTable
from .rewrite_rules_arith import (
    ADD_INDEX,
    ADD_OTHER,
    DIV_INDEX,
    FLOORDIV_INDEX,
    FLOORMOD_INDEX,
    MOD_INDEX,
    MUL_INDEX,
    SUB_INDEX,
    SUB_OTHER,
)
from .rewrite_rules_logic import AND, EQ_INDEX, EQ_OTHER, LT_INDEX, NOT, OR
from .rewrite_rules_minmax import MAX_INDEX, MAX_OTHER, MIN_INDEX, MIN_OTHER

if TYPE_CHECKING:
    from . import Analyzer

__all__ = ["CompareResult", "RewriteSimplifier", "RewriteSimplifierImpl", "normalize_boolean_operators"]

# Expressions of these dtypes are simplified as indices.
_INDEX_TYPES = ("int32", "int64")

# How deep results of rules are rewritten again within one visit (tvm: kMaxRecurDepth).
_MAX_RECUR_DEPTH = 5

_kEQ, _kLT, _kLE, _kGT, _kGE, _kNE = (
    CompareResult.EQ,
    CompareResult.LT,
    CompareResult.LE,
    CompareResult.GT,
    CompareResult.GE,
    CompareResult.NE,
)
_kUNKNOWN = CompareResult.UNKNOWN


# tvm: src/arith/rewrite_simplify.cc (NormalizeBooleanOperators)
def normalize_boolean_operators(expr: PrimExpr) -> PrimExpr:
    """A simplified condition without Not, as far as there is another way to write it; comparisons are < and <=."""
    kind = type(expr)
    if kind is GE:
        return less_equal(expr.b, expr.a)
    if kind is GT:
        return less(expr.b, expr.a)
    if kind is not Not:
        return expr
    inner = expr.a
    kind = type(inner)
    if kind is Not:
        return normalize_boolean_operators(inner.a)
    if kind is Or:
        return logical_and(_negated(inner.a), _negated(inner.b))
    if kind is And:
        return logical_or(_negated(inner.a), _negated(inner.b))
    if kind is LT:
        return less_equal(inner.b, inner.a)
    if kind is GT:
        return less_equal(inner.a, inner.b)
    if kind is LE:
        return less(inner.b, inner.a)
    if kind is GE:
        return less(inner.a, inner.b)
    if kind is EQ:
        return not_equal(inner.a, inner.b)
    if kind is NE:
        return equal(inner.a, inner.b)
    return expr


def _negated(expr: PrimExpr) -> PrimExpr:
    return normalize_boolean_operators(logical_not(expr))


# tvm: src/arith/rewrite_simplify.cc (RewriteSimplifier::Impl)
class RewriteSimplifierImpl(IRMutatorWithAnalyzer):
    """One pass of rewriting, children first. The canonical simplifier inherits what it does not override."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__(analyzer)
        self.var_map: dict[Var, PrimExpr] = {}
        self.literal_constraints: list[PrimExpr] = []
        self.recur_depth = 0

    def copy_from(self, other: RewriteSimplifierImpl) -> None:
        """Take over what another simplifier knows."""
        self.var_map = dict(other.var_map)
        self.literal_constraints = list(other.literal_constraints)
        self.recur_depth = 0
        self.analyzer.epoch += 1

    def update(self, var: Var, info: PrimExpr, allow_override: bool = False) -> None:
        """Put `info` for the variable from now on. Raises TirError if something else was put for it before."""
        if not allow_override and var in self.var_map and not deep_equal(self.var_map[var], info):
            raise TirError(f"{var.name} stands for {self.var_map[var]}, it cannot be updated to {info}")
        self.var_map[var] = info
        self.analyzer.epoch += 1

    def enter_constraint(self, constraint: PrimExpr, is_assume: bool = False) -> Callable[[], None]:
        """Know the constraint until the returned function is called."""
        old_size = len(self.literal_constraints)
        # What is compared with constraints has been simplified.
        for part in extract_constraints(self.visit(constraint), False):
            if is_assume or side_effect(part) <= PURE:
                self.literal_constraints.append(part)
                if part.dtype == "bool":
                    negation = normalize_boolean_operators(Not(part))
                else:
                    negation = equal(part, make_zero(part.dtype))
                self.literal_constraints.append(Not(negation))
        new_size = len(self.literal_constraints)
        self.analyzer.epoch += 1

        def recover() -> None:
            self.analyzer.epoch += 1
            if len(self.literal_constraints) != new_size:
                raise TirError("constraints have to be left in the opposite order of entering them")
            del self.literal_constraints[old_size:]

        return recover

    # ---- proofs -----------------------------------------------------------------------------------------------------

    def try_compare(self, x: PrimExpr, y: PrimExpr | int) -> int:
        """What is known of x compared with y, as a CompareResult."""
        if type(y) is int:
            return self._try_compare_constant(x, y)
        output = self._try_compare_constant(sub(x, y), 0)
        if output == _kEQ or output == _kLT or output == _kGT:
            return output
        return output & self.analyzer.transitive_comparisons.try_compare(x, y, False)

    def _try_compare_constant(self, x: PrimExpr, value: int) -> int:
        # Called very often: constant bounds only.
        difference = self.visit(x)
        if type(difference) is IntImm:
            if difference.value == value:
                return _kEQ
            return _kGT if difference.value > value else _kLT
        low, high = self.analyzer.const_int_bound.visit(difference)
        if low == value and high == value:
            return _kEQ
        if low > value:
            return _kGT
        if high < value:
            return _kLT
        if low >= value:
            return _kGE
        if high <= value:
            return _kLE
        if value == 0 and self.analyzer.modular_set.visit(difference)[1] != 0:
            return _kNE
        return _kUNKNOWN

    def can_prove_greater_equal(self, x: PrimExpr, value: int) -> bool:
        return self.analyzer.can_prove_greater_equal(x, value)

    def can_prove_less(self, x: PrimExpr, value: int) -> bool:
        return self.analyzer.can_prove_less(x, value)

    def can_prove_equal(self, x: PrimExpr, value: int) -> bool:
        return self._try_compare_constant(x, value) == _kEQ

    # tvm: src/arith/rewrite_simplify.cc (TryMatchLiteralConstraint)
    def try_match_literal_constraint(self, expr: PrimExpr) -> IntImm | None:
        """True or False if the expression or its negation is among the constraints, otherwise None."""
        for constraint in self.literal_constraints:
            if deep_equal(constraint, expr):
                return TRUE
            if type(constraint) is Not and deep_equal(constraint.a, expr):
                return FALSE
        return None

    # ---- rules ------------------------------------------------------------------------------------------------------

    def recursive_rewrite(self, expr: PrimExpr) -> PrimExpr:
        """The result of a rule, rewritten in turn, unless that has gone too deep: rules may undo each other."""
        if self.recur_depth >= _MAX_RECUR_DEPTH:
            return expr
        self.recur_depth += 1
        try:
            return self.visit(expr)
        finally:
            self.recur_depth -= 1

    def _try_rules(self, rules: RuleTable, ret: PrimExpr) -> PrimExpr:
        a, b = ret.a, ret.b
        for rule in rules[type(a), type(b)]:
            result = rule(self, a, b)
            if result is not None:
                return result
        return ret

    def _visit_arithmetic(self, op: PrimExpr, index_rules: RuleTable, other_rules: RuleTable) -> PrimExpr:
        """The operands first, then constants, then the rules for the dtype. (Most visits come here: one call each.)"""
        a, b = op.a, op.b
        new_a = a if type(a) is IntImm else self.visit(a)
        new_b = b if type(b) is IntImm else self.visit(b)
        kind = type(op)
        folded = FOLD[kind](new_a, new_b)
        if folded is not None:
            return folded
        rules = index_rules if op.dtype in _INDEX_TYPES else other_rules
        for rule in rules[type(new_a), type(new_b)]:
            result = rule(self, new_a, new_b)
            if result is not None:
                return result
        return op if new_a is a and new_b is b else kind(new_a, new_b)

    # ---- arithmetic -------------------------------------------------------------------------------------------------

    def visit_add(self, op: Add) -> PrimExpr:
        return self._visit_arithmetic(op, ADD_INDEX, ADD_OTHER)

    def visit_sub(self, op: Sub) -> PrimExpr:
        return self._visit_arithmetic(op, SUB_INDEX, SUB_OTHER)

    def visit_mul(self, op: Mul) -> PrimExpr:
        return self._visit_arithmetic(op, MUL_INDEX, _NO_RULES)

    def visit_div(self, op: Div) -> PrimExpr:
        return self._visit_arithmetic(op, DIV_INDEX, _NO_RULES)

    def visit_mod(self, op: Mod) -> PrimExpr:
        return self._visit_arithmetic(op, MOD_INDEX, _NO_RULES)

    def visit_floordiv(self, op: FloorDiv) -> PrimExpr:
        return self._visit_arithmetic(op, FLOORDIV_INDEX, _NO_RULES)

    def visit_floormod(self, op: FloorMod) -> PrimExpr:
        return self._visit_arithmetic(op, FLOORMOD_INDEX, _NO_RULES)

    def visit_min(self, op: Min) -> PrimExpr:
        ret = self._visit_binary(op)
        folded = FOLD[Min](ret.a, ret.b)
        if folded is not None:
            return folded
        if ret.dtype not in _INDEX_TYPES:
            return self._try_rules(MIN_OTHER, ret)
        if deep_equal(ret.a, ret.b):
            return ret.a
        a_low, a_high = self.analyzer.const_int_bound.visit(ret.a)
        b_low, b_high = self.analyzer.const_int_bound.visit(ret.b)
        if a_high <= b_low:
            return ret.a
        if b_high <= a_low:
            return ret.b
        return self._try_rules(MIN_INDEX, ret)

    def visit_max(self, op: Max) -> PrimExpr:
        ret = self._visit_binary(op)
        folded = FOLD[Max](ret.a, ret.b)
        if folded is not None:
            return folded
        if ret.dtype not in _INDEX_TYPES:
            return self._try_rules(MAX_OTHER, ret)
        if deep_equal(ret.a, ret.b):
            return ret.a
        a_low, a_high = self.analyzer.const_int_bound.visit(ret.a)
        b_low, b_high = self.analyzer.const_int_bound.visit(ret.b)
        if a_low >= b_high:
            return ret.a
        if b_low >= a_high:
            return ret.b
        return self._try_rules(MAX_INDEX, ret)

    # ---- comparisons ------------------------------------------------------------------------------------------------

    def _fold_or_match(self, ret: PrimExpr) -> PrimExpr | None:
        """A condition's value, if its operands are constants or it is among the constraints."""
        folded = FOLD[type(ret)](ret.a, ret.b)
        if folded is not None:
            return folded
        return self.try_match_literal_constraint(ret) if self.literal_constraints else None

    def visit_eq(self, op: EQ) -> PrimExpr:
        ret = self._visit_binary(op)
        known = self._fold_or_match(ret)
        return known if known is not None else self._rewrite_eq(ret)

    def _rewrite_eq(self, ret: EQ) -> PrimExpr:
        if ret.a.dtype not in _INDEX_TYPES:
            return self._try_rules(EQ_OTHER, ret)
        result = self.try_compare(ret.a, ret.b)
        if result == _kEQ:
            return TRUE
        if result == _kNE or result == _kGT or result == _kLT:
            return FALSE
        return self._try_rules(EQ_INDEX, ret)

    def visit_ne(self, op: NE) -> PrimExpr:
        ret = self._visit_binary(op)
        known = self._fold_or_match(ret)
        if known is not None:
            return known
        a, b = ret.a, ret.b
        if a.dtype in _INDEX_TYPES:
            result = self.try_compare(a, b)
            if result == _kNE or result == _kGT or result == _kLT:
                return TRUE
            if result == _kEQ:
                return FALSE
            if result == _kGE:
                return self._rewrite_lt(LT(b, a))
            if result == _kLE:
                return self._rewrite_lt(LT(a, b))
        return self._rewrite_not(Not(self._rewrite_eq(EQ(a, b))))

    def visit_le(self, op: LE) -> PrimExpr:
        ret = self._visit_binary(op)
        known = self._fold_or_match(ret)
        if known is not None:
            return known
        # Rules first, comparison after: A <= B * x is ceildiv(A, B) <= x, where a proof would leave floordiv(A, B) < x.
        ret = self._rewrite_not(Not(self._rewrite_lt(LT(ret.b, ret.a))))
        if type(ret) is not LE or ret.a.dtype not in _INDEX_TYPES:
            return ret
        a, b = ret.a, ret.b
        result = self.try_compare(a, b)
        if result == _kLE or result == _kLT or result == _kEQ:
            return TRUE
        if result == _kGT:
            return FALSE
        if result == _kNE:
            return self._rewrite_lt(LT(a, b))
        if result == _kGE:
            return self._rewrite_eq(EQ(a, b))
        return ret

    def visit_gt(self, op: GT) -> PrimExpr:
        return self.visit(less(op.b, op.a))

    def visit_ge(self, op: GE) -> PrimExpr:
        return self.visit(less_equal(op.b, op.a))

    def visit_lt(self, op: LT) -> PrimExpr:
        ret = self._visit_binary(op)
        known = self._fold_or_match(ret)
        return known if known is not None else self._rewrite_lt(ret)

    def _rewrite_lt(self, ret: LT) -> PrimExpr:
        if ret.a.dtype not in _INDEX_TYPES:
            return ret
        result = self.try_compare(ret.a, ret.b)
        if result == _kLT:
            return TRUE
        if result == _kEQ or result == _kGT or result == _kGE:
            return FALSE
        return self._try_rules(LT_INDEX, ret)

    # ---- conditions -------------------------------------------------------------------------------------------------

    def visit_not(self, op: Not) -> PrimExpr:
        a = self.visit(op.a)
        ret = op if a is op.a else Not(a)
        if type(a) is IntImm:
            return FALSE if a.value else TRUE
        if self.literal_constraints:
            known = self.try_match_literal_constraint(ret)
            if known is not None:
                return known
        return self._rewrite_not(ret)

    def _rewrite_not(self, ret: Not) -> PrimExpr:
        a = ret.a
        for rule in NOT[(type(a),)]:
            result = rule(self, a)
            if result is not None:
                return result
        return ret

    def visit_and(self, op: And) -> PrimExpr:
        ret = self._visit_binary(op)
        known = self._fold_or_match(ret)
        return known if known is not None else self._try_rules(AND, ret)

    def visit_or(self, op: Or) -> PrimExpr:
        ret = self._visit_binary(op)
        known = self._fold_or_match(ret)
        return known if known is not None else self._try_rules(OR, ret)

    def visit_select(self, op: Select) -> PrimExpr:
        ret = super().visit_select(op)
        if type(ret) is Select and deep_equal(ret.true_value, ret.false_value):
            return ret.true_value
        return ret

    # ---- the rest ---------------------------------------------------------------------------------------------------

    def visit_call(self, op: Call) -> PrimExpr:
        ret = super().visit_call(op)
        if type(ret) is not Call:
            return ret
        simplify = _CALLS.get(ret.op)
        return simplify(self, ret) if simplify is not None else ret

    def _likely(self, op: Call) -> PrimExpr:
        condition = op.args[0]
        if type(condition) is IntImm:
            return condition
        if condition.dtype != "bool":
            raise TirError(f"likely takes a condition, got {condition} of dtype {condition.dtype}")
        # for (i, 0, bound) { if (likely(i < bound)) ... }
        known = self.try_match_literal_constraint(condition)
        return known if known is not None else op

    def _shift(self, op: Call) -> PrimExpr:
        a, b = op.args
        if type(a) is not IntImm or type(b) is not IntImm:
            return op
        return right_shift(a, b) if op.op == "tirx.shift_right" else left_shift(a, b)

    def _ceil(self, op: Call) -> PrimExpr:
        arg = op.args[0]
        if type(arg) is IntImm:
            return cast(op.dtype, arg)
        if type(arg) is FloatImm:
            return cast(op.dtype, FloatImm(arg.dtype, math.ceil(arg.value)))
        # topi's ceil_log2 is ceil(log2(n)) with a float64 n: the answer does not depend on the target's rounding.
        if type(arg) is Call and arg.op == "tirx.log2" and type(arg.args[0]) is FloatImm:
            return FloatImm(op.dtype, math.ceil(math.log2(arg.args[0].value)))
        return op

    def _clz(self, op: Call) -> PrimExpr:
        arg = op.args[0]
        if type(arg) is not IntImm:
            return op
        width = dtypes.bits(arg.dtype)
        return IntImm(op.dtype, width - (arg.value & ((1 << width) - 1)).bit_length())

    def _if_then_else(self, op: Call) -> PrimExpr:
        """if (c) { if (d) { x } else { y } } else { z } is if (c && d) { x } else { z } for equal constants y and z."""
        condition, then_expr, else_expr = op.args
        if type(then_expr) is not Call or then_expr.op != "tirx.if_then_else":
            return op
        inner_condition, inner_then, inner_else = then_expr.args
        # Other values are not compared, which would lead back here.
        constants = (IntImm, FloatImm)
        if type(inner_else) in constants and type(else_expr) in constants:
            if self.analyzer.can_prove(equal(inner_else, else_expr)):
                return if_then_else(logical_and(condition, inner_condition), inner_then, else_expr)
        return op

    def visit_var(self, op: Var) -> PrimExpr:
        if op.dtype == "bool" and self.literal_constraints:
            known = self.try_match_literal_constraint(op)
            if known is not None:
                return known
        return self.var_map.get(op, op)

    def visit_cast(self, op: Cast) -> PrimExpr:
        return cast(op.dtype, self.visit(op.value))

    def visit_let(self, op: Let) -> PrimExpr:
        value = self.visit(op.value)
        if type(op.value) in (IntImm, FloatImm) or isinstance(op.value, Var):
            # Only trivial values take the place of the variable: an expression might grow without end.
            self.analyzer.bind(op.var, value)
            return self.visit(op.body)
        body = self.visit(op.body)
        return op if value is op.value and body is op.body else Let(op.var, value, body)


_NO_RULES = RuleTable()

_CALLS = {
    "tirx.likely": RewriteSimplifierImpl._likely,
    "tirx.shift_right": RewriteSimplifierImpl._shift,
    "tirx.shift_left": RewriteSimplifierImpl._shift,
    "tirx.ceil": RewriteSimplifierImpl._ceil,
    "tirx.clz": RewriteSimplifierImpl._clz,
    "tirx.if_then_else": RewriteSimplifierImpl._if_then_else,
}


# tvm: src/arith/rewrite_simplify.cc (RewriteSimplifier)
class RewriteSimplifier:
    """The rewriting simplifier of an analyzer."""

    def __init__(self, parent: Analyzer) -> None:
        self.impl = RewriteSimplifierImpl(parent)

    def __call__(self, expr: PrimExpr) -> PrimExpr:
        """The simplified expression: at most two passes; the same object if the first changes nothing."""
        if not isinstance(expr, PrimExpr):
            expr = convert(expr)
        first = self.impl.visit(expr)
        return first if first is expr else self.impl.visit(first)

    def update(self, var: Var, info: PrimExpr, allow_override: bool = False) -> None:
        self.impl.update(var, info, allow_override)

    def enter_constraint(self, constraint: PrimExpr, is_assume: bool = False) -> Callable[[], None]:
        return self.impl.enter_constraint(constraint, is_assume)

    def copy_from(self, other: RewriteSimplifier) -> None:
        self.impl.copy_from(other.impl)
