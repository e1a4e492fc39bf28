"""The last resort of ``Analyzer.can_prove`` (stands in for TVM's ``src/target/z3/z3_prover_on.cc``).

This build of TVM hands what its own analysis cannot prove to the SMT solver Z3. Here the translation of expressions and
the bookkeeping of what is known follow the original, and :mod:`.solver` stands in for Z3. Both decide linear arithmetic
with quotients, choices and truth values. Z3 works under a fixed budget (``rlimit``), so that its "not proved" may also
mean "gave up": for products of variables and for operations on bits the answers can differ where the budget decides.

Numbers are unbounded integers, as in the original: arithmetic does not wrap around. A free variable has the range of
its dtype. ``/`` and truncating ``%`` are translated as if they left a remainder >= 0, which for a negative dividend is
not what they mean; the original does so, too.

Left out: the SMT-LIB text, statistics, models, the counting of solutions and the settings of the budget, which serve
debugging and TileLang's lowering passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import dtypes
from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BufferLoad,
    Call,
    Cast,
    Div,
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
    Range,
    Reduce,
    Select,
    SizeVar,
    Sub,
    Var,
    add,
    as_const_int,
    less,
    less_equal,
    logical_and,
    logical_or,
    make_zero,
    max_value,
    min_value,
)
from .int_operator import InternalError
from .ir_mutator_with_analyzer import PURE, READ_STATE, side_effect
from .solver import Term, bits_value, implies, is_boolean
from .transitive_comparisons import structural_key

if TYPE_CHECKING:
    from .analyzer import Analyzer

_BITS_OF_CALL = {
    "tirx.bitwise_and": "and",
    "tirx.bitwise_or": "or",
    "tirx.bitwise_xor": "xor",
    "tirx.shift_left": "shl",
    "tirx.shift_right": "ashr",
}


def is_valid_dtype(dtype: str) -> bool:
    """Whether expressions of this dtype are translated: integers and truth values."""
    return dtypes.is_bool(dtype) or dtypes.is_int(dtype) or dtypes.is_uint(dtype)


# tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl)
class Prover:
    """Proves conditions by a decision procedure.

    Until the first question, what is bound and assumed is only written down (most analyzers are never asked). Then it
    is translated, and from there on translated at once.

    Attributes:
        scopes: what was bound or assumed, per constraint scope: functions that translate it.
    """

    __slots__ = (
        "_answers",
        "_frames",
        "_is_assume",
        "_memo",
        "_next_var",
        "_scope_side_effects",
        "_side_effect_exprs",
        "parent",
        "scopes",
    )

    def __init__(self, parent: Analyzer) -> None:
        self.parent = parent
        self.scopes: list[list[Callable[[Prover, int], None]]] = [[]]
        self._scope_side_effects: list[list[PrimExpr]] = [[]]
        # Assertions of the solver, one frame per constraint scope; None as long as nothing was asked.
        self._frames: list[list[Term]] | None = None
        # Translated expressions by structural key; the expression is kept since the key has ids of variables.
        self._memo: dict[object, tuple[PrimExpr, Term]] = {}
        self._side_effect_exprs: list[PrimExpr] = []
        self._is_assume = False
        self._next_var = 0
        self._answers: dict[object, bool] = {}

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::CopyFrom)
    def copy_from(self, other: Prover) -> None:
        """Take over what another prover knows."""
        self.scopes = [list(scope) for scope in other.scopes]
        self._scope_side_effects = [list(side_effects) for side_effects in other._scope_side_effects]
        # The original puts all assertions of a solver that is in use into one frame.
        self._frames = None if other._frames is None else [[term for frame in other._frames for term in frame]]
        self._memo = dict(other._memo)
        self._next_var = other._next_var
        self._answers = {}

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::CanProve)
    def can_prove(self, expr: PrimExpr) -> bool:
        """Whether a condition is certainly true."""
        if not is_valid_dtype(expr.dtype):
            return False
        self._materialize()
        if self._is_trivially_open(expr):
            return False
        key = structural_key(expr)
        answer = self._answers.get(key)
        if answer is None:
            goal = self._convert_bool(expr)  # may add assertions, which drops the answers
            assert self._frames is not None
            assertions = [term for frame in self._frames for term in frame]
            answer = self._answers[key] = implies(assertions, goal)
        return answer

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::Bind)
    def bind(self, var: Var, value: PrimExpr | Range, allow_override: bool = False) -> None:
        """A variable is an expression, or lies in a range. What was translated of a variable before stays in use."""
        if not is_valid_dtype(var.dtype):
            return

        def apply(prover: Prover, scope_index: int) -> None:
            if isinstance(value, Range):
                prover._apply_bind_range(var, value.min, value.extent)
            else:
                prover._apply_bind_value(var, value)

        self.scopes[-1].append(apply)
        if self._frames is not None:
            apply(self, len(self.scopes) - 1)

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::EnterConstraint)
    def enter_constraint(self, constraint: PrimExpr, is_assume: bool = False) -> Callable[[], None] | None:
        """Assume a condition until the returned function is called."""
        if not is_valid_dtype(constraint.dtype):
            return None

        def apply(prover: Prover, scope_index: int) -> None:
            prover._apply_constraint(constraint, is_assume, scope_index)

        self.scopes.append([apply])
        self._scope_side_effects.append([])
        if self._frames is not None:
            apply(self, len(self.scopes) - 1)

        def recover() -> None:
            if self._frames is not None:
                self._frames.pop()
                self._answers = {}
            for expr in self._scope_side_effects.pop():
                self._memo_erase(expr)
            self.scopes.pop()

        return recover

    # -- Assertions -----------------------------------------------------------------------------------------------

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::Materialize)
    def _materialize(self) -> None:
        """Translate what was written down."""
        if self._frames is not None:
            return
        self._frames = [[]]
        for scope_index, scope in enumerate(self.scopes):
            for apply in scope:
                apply(self, scope_index)

    def _assert(self, term: Term) -> None:
        assert self._frames is not None
        self._frames[-1].append(term)
        self._answers = {}

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::ApplyConstraint)
    def _apply_constraint(self, constraint: PrimExpr, is_assume: bool, scope_index: int) -> None:
        assert self._frames is not None
        self._frames.append([])
        self._is_assume = is_assume
        self._assert(self._visit_bool(constraint))
        self._is_assume = False
        side_effects, self._side_effect_exprs = self._side_effect_exprs, []
        if is_assume:
            self._scope_side_effects[scope_index].extend(side_effects)
        else:
            for expr in side_effects:
                self._memo_erase(expr)

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::ApplyBindValue)
    def _apply_bind_value(self, var: Var, value: PrimExpr) -> None:
        self._memo_put(var, self._convert_int(value))

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::ApplyBindRange)
    def _apply_bind_range(self, var: Var, low: PrimExpr, extent: PrimExpr) -> None:
        placeholder = self._create(var)
        self._memo_put(var, placeholder)
        end = add(low, extent)
        first, limit = as_const_int(low), as_const_int(end)
        if first is not None and limit is not None:
            # An empty range would contradict everything; it is left out.
            if first < limit:
                self._assert(("le", ("const", first), placeholder))
                self._assert(("lt", placeholder, ("const", limit)))
            return
        empty = less_equal(extent, make_zero(extent.dtype))
        inside = logical_and(less_equal(low, var), less(var, end))
        self._assert(self._convert_bool(logical_or(empty, inside)))

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::Create)
    def _create(self, op: PrimExpr) -> Term:
        """A new variable for an expression nothing is known of, but its dtype."""
        number = self._next_var
        self._next_var += 1
        if dtypes.is_bool(op.dtype):
            return ("bvar", number)
        variable: Term = ("var", number)
        if op.dtype == "uint64":
            low, high = 0, 2**64 - 1
        elif is_valid_dtype(op.dtype):
            low, high = min_value(op.dtype).value, max_value(op.dtype).value
        else:
            raise InternalError(f"the prover only supports integers, but got {op} of dtype {op.dtype}")
        self._assert(("le", ("const", low), variable))
        self._assert(("le", variable, ("const", high)))
        return variable

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::CheckTrivilBadCases)
    def _is_trivially_open(self, expr: PrimExpr) -> bool:
        """Whether a condition is about something unknown only: such questions are not passed on."""
        if self._is_free_node(expr):
            return True
        if type(expr) not in (EQ, NE):
            return False
        lhs, rhs = expr.a, expr.b
        lhs_is_free, rhs_is_free = self._is_free_node(lhs), self._is_free_node(rhs)
        if lhs_is_free and (type(rhs) is IntImm or rhs_is_free):
            return True
        if rhs_is_free and type(lhs) is IntImm:
            return True
        if type(lhs) is Cast and type(rhs) is IntImm and self._is_free_node(lhs.value):
            return True
        return type(rhs) is Cast and type(lhs) is IntImm and self._is_free_node(rhs.value)

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::IsFreeNode)
    def _is_free_node(self, expr: PrimExpr) -> bool:
        kind = type(expr)
        if kind not in (Call, BufferLoad, ProducerLoad, Reduce):
            if kind is not Cast or is_valid_dtype(expr.value.dtype):
                return False
        return structural_key(expr) not in self._memo

    # -- Translation ----------------------------------------------------------------------------------------------

    def _memo_put(self, expr: PrimExpr, term: Term) -> None:
        # What is there already stays.
        self._memo.setdefault(structural_key(expr), (expr, term))

    def _memo_erase(self, expr: PrimExpr) -> None:
        self._memo.pop(structural_key(expr), None)

    def _convert_bool(self, expr: PrimExpr) -> Term:
        term = self._visit_bool(expr)
        self._forget_side_effects()
        return term

    def _convert_int(self, expr: PrimExpr) -> Term:
        term = self._visit_int(expr)
        self._forget_side_effects()
        return term

    def _forget_side_effects(self) -> None:
        for expr in self._side_effect_exprs:
            self._memo_erase(expr)
        self._side_effect_exprs = []

    # tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::VisitExpr)
    def _visit(self, expr: PrimExpr) -> Term:
        """The term of an expression; what reads memory is only the same within one translation."""
        known = self._memo.get(structural_key(expr))
        if known is not None:
            return known[1]
        term = self._translate(expr)
        effect = side_effect(expr)
        if effect <= READ_STATE or self._is_assume:
            self._memo_put(expr, term)
        if effect > PURE:
            self._side_effect_exprs.append(expr)
        return term

    def _visit_int(self, expr: PrimExpr) -> Term:
        term = self._visit(expr)
        return ("ite", term, ("const", 1), ("const", 0)) if is_boolean(term) else term

    def _visit_bool(self, expr: PrimExpr) -> Term:
        term = self._visit(expr)
        return term if is_boolean(term) else _not(("eq", term, ("const", 0)))

    def _translate(self, expr: PrimExpr) -> Term:
        kind = type(expr)
        binary = _BINARY.get(kind)
        if binary is not None:
            if is_valid_dtype(expr.a.dtype) and is_valid_dtype(expr.b.dtype):
                return binary(self._visit_int(expr.a), self._visit_int(expr.b))
            return self._create(expr)
        if kind is IntImm:
            return ("const", expr.value)
        if kind is Min or kind is Max:
            a, b = self._visit_int(expr.a), self._visit_int(expr.b)
            return ("ite", ("lt", a, b) if kind is Min else ("lt", b, a), a, b)
        if kind is And:
            return ("and", self._visit_bool(expr.a), self._visit_bool(expr.b))
        if kind is Or:
            return ("or", self._visit_bool(expr.a), self._visit_bool(expr.b))
        if kind is Not:
            return _not(self._visit_bool(expr.a))
        if kind is Select:
            condition = self._visit_bool(expr.condition)
            return ("ite", condition, self._visit_int(expr.true_value), self._visit_int(expr.false_value))
        if kind is Cast:
            if is_valid_dtype(expr.value.dtype) and is_valid_dtype(expr.dtype):
                return self._visit_int(expr.value)
            return self._create(expr)
        if kind is Let:
            if is_valid_dtype(expr.var.dtype):
                self._memo_put(expr.var, self._visit_int(expr.value))
            return self._visit(expr.body)
        if kind is Call:
            return self._translate_call(expr)
        if kind in (Var, SizeVar, BufferLoad, ProducerLoad, Reduce):
            return self._create(expr)
        raise InternalError(f"the prover only supports integers, but got a {kind.__name__}")

    def _translate_call(self, expr: Call) -> Term:
        if expr.op == "tirx.bitwise_not" and is_valid_dtype(expr.args[0].dtype):
            return _bits("not", self._visit_int(expr.args[0]), ("const", 0), dtypes.bits(expr.args[0].dtype))
        name = _BITS_OF_CALL.get(expr.op)
        if name is None or not all(is_valid_dtype(arg.dtype) for arg in expr.args):
            return self._create(expr)
        a, b = self._visit_int(expr.args[0]), self._visit_int(expr.args[1])
        if name in ("shl", "ashr"):
            # The original takes every shift that it sees for one by 0 to 63, from then on.
            self._assert(("le", ("const", 0), b))
            self._assert(("lt", b, ("const", 64)))
        return _bits(name, a, b, max(dtypes.bits(arg.dtype) for arg in expr.args))


def _not(term: Term) -> Term:
    return term[1] if term[0] == "not" else ("not", term)


def _bits(name: str, a: Term, b: Term, width: int) -> Term:
    if a[0] == "const" and b[0] == "const":
        return ("const", bits_value(name, a[1], b[1], width))
    if name == "xor" and a == b:
        return ("const", 0)
    return ("bits", name, a, b, width)


_ZERO: Term = ("const", 0)


# tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::floordiv)
def _floordiv(a: Term, b: Term) -> Term:
    """Rounding downwards in terms of division with a remainder >= 0."""
    if b[0] == "const" and b[1] > 0:
        return ("div", a, b)
    negative_divisor = ("sub", _ZERO, ("div", ("sub", _ZERO, a), b))
    if b[0] == "const":
        return negative_divisor
    return ("ite", ("lt", _ZERO, b), ("div", a, b), negative_divisor)


# tvm: src/target/z3/z3_prover_on.cc (Z3Prover::Impl::floormod)
def _floormod(a: Term, b: Term) -> Term:
    if b[0] == "const" and b[1] > 0:
        return ("mod", a, b)
    negative_divisor = ("sub", _ZERO, ("mod", ("sub", _ZERO, a), b))
    if b[0] == "const":
        return negative_divisor
    return ("ite", ("lt", _ZERO, b), ("mod", a, b), negative_divisor)


_BINARY: dict[type, Callable[[Term, Term], Term]] = {
    Add: lambda a, b: ("add", a, b),
    Sub: lambda a, b: ("sub", a, b),
    Mul: lambda a, b: ("mul", a, b),
    Div: lambda a, b: ("div", a, b),
    Mod: lambda a, b: ("mod", a, b),
    FloorDiv: _floordiv,
    FloorMod: _floormod,
    EQ: lambda a, b: ("eq", a, b),
    NE: lambda a, b: ("not", ("eq", a, b)),
    LT: lambda a, b: ("lt", a, b),
    LE: lambda a, b: ("le", a, b),
    GT: lambda a, b: ("lt", b, a),
    GE: lambda a, b: ("le", b, a),
}
