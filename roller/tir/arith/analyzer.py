"""The analyzer that ties the sub-analyzers together (stands in for TVM's ``src/arith/analyzer.cc``).

The names are those of ``tvm.arith.Analyzer``; what only C++ offers has its C++ name in Python spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from enum import IntEnum
from importlib import import_module
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
    Call,
    IntImm,
    Mul,
    Not,
    Or,
    PrimExpr,
    Range,
    Sub,
    TirError,
    Var,
    add,
    as_const_int,
    convert,
    equal,
    is_const_int,
    is_one,
    less_equal,
    make_const,
    mul,
    sub,
)
from .const_int_bound import ConstIntBound, ConstIntBoundAnalyzer
from .modular_set import ModularSetAnalyzer

if TYPE_CHECKING:
    from .canonical_simplify import CanonicalSimplifier
    from .int_set import IntSetAnalyzer
    from .prover import Prover
    from .rewrite_simplify import RewriteSimplifier
    from .transitive_comparisons import TransitiveComparisonAnalyzer


# tvm: include/tvm/arith/analyzer.h (ProofStrength)
class ProofStrength(IntEnum):
    """How hard :meth:`Analyzer.can_prove` tries. SYMBOLIC_BOUND is for callers outside the analysis only."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


# Sub-analyzers made at their first use, so that a scratch analyzer costs next to nothing, with the module of each
# class. The modules import this one, which is another reason to load them late.
_LATE_SUB_ANALYZERS = {
    "rewrite_simplify": ("rewrite_simplify", "RewriteSimplifier"),
    "canonical_simplify": ("canonical_simplify", "CanonicalSimplifier"),
    "int_set": ("int_set", "IntSetAnalyzer"),
    "transitive_comparisons": ("transitive_comparisons", "TransitiveComparisonAnalyzer"),
    "prover": ("prover", "Prover"),
}
_late_classes: dict[str, type] = {}
# Those of them that a range says something to; the rest has constant bounds from const_int_bound. The prover alone is
# told of values too: the others take what the simplifiers and each other make of them.
_TOLD_OF_RANGES = ("int_set", "transitive_comparisons", "prover")


# tvm: src/arith/analyzer.cc (Analyzer)
class Analyzer:
    """Integer analysis that remembers what it is told about variables.

    Attributes:
        const_int_bound, modular_set, rewrite_simplify, canonical_simplify, int_set, transitive_comparisons, prover: the
            sub-analyzers; those that analyze an expression are called like methods (``analyzer.modular_set(expr)``).
        epoch: a number that grows whenever a sub-analyzer learns or forgets something. Results may be kept while it
            stays the same.
    """

    __slots__ = (
        "_bindings",
        "_told_of_ranges",
        "_told_of_values",
        "canonical_simplify",
        "const_int_bound",
        "epoch",
        "int_set",
        "modular_set",
        "prover",
        "rewrite_simplify",
        "transitive_comparisons",
    )

    rewrite_simplify: RewriteSimplifier
    canonical_simplify: CanonicalSimplifier
    int_set: IntSetAnalyzer
    transitive_comparisons: TransitiveComparisonAnalyzer
    prover: Prover

    def __init__(self) -> None:
        self.epoch = 0
        # What variables were bound to, for sub-analyzers that are made later; and those made already, by what they
        # have to be told from then on.
        self._bindings: list[tuple[Var, Range | PrimExpr, bool]] = []
        self._told_of_ranges: list = []
        self._told_of_values: list = []
        self.const_int_bound = ConstIntBoundAnalyzer(self)
        self.modular_set = ModularSetAnalyzer(self)

    def __getattr__(self, name: str):
        """Make a sub-analyzer that has not been used yet (Python asks here only for an attribute that is not set)."""
        if name not in _LATE_SUB_ANALYZERS:
            raise AttributeError(f"'Analyzer' object has no attribute {name!r}")
        late_class = _late_classes.get(name)
        if late_class is None:
            module_name, class_name = _LATE_SUB_ANALYZERS[name]
            module = import_module("." + module_name, __package__)
            late_class = _late_classes[name] = getattr(module, class_name)
        sub_analyzer = late_class(self)
        setattr(self, name, sub_analyzer)
        if name in _TOLD_OF_RANGES:
            for var, value, allow_override in self._bindings:
                if isinstance(value, Range) or name == "prover":
                    sub_analyzer.bind(var, value, allow_override)
            self._told_of_ranges.append(sub_analyzer)
            if name == "prover":
                self._told_of_values.append(sub_analyzer)
        return sub_analyzer

    # tvm: src/arith/analyzer.cc (Analyzer::Clone)
    def clone(self) -> Analyzer:
        """Another analyzer that knows the same."""
        cloned = Analyzer()
        cloned.const_int_bound.copy_from(self.const_int_bound)
        cloned.modular_set.copy_from(self.modular_set)
        cloned.rewrite_simplify.copy_from(self.rewrite_simplify)
        cloned.canonical_simplify.copy_from(self.canonical_simplify)
        cloned.int_set.copy_from(self.int_set)
        cloned.transitive_comparisons.copy_from(self.transitive_comparisons)
        cloned.prover.copy_from(self.prover)
        return cloned

    # tvm: src/arith/analyzer.cc (Analyzer::Bind)
    def bind(self, var: Var, expr: PrimExpr | Range | int, allow_override: bool = False) -> None:
        """Tell all sub-analyzers that a variable is an expression, or lies in a range.

        A range of one element is an expression; other ranges say nothing to the modular sets and the simplifiers.
        Raises InternalError if the variable is bound to something else already and ``allow_override`` is not set.
        """
        if not isinstance(var, Var):
            raise TirError(f"only a variable can be bound, not {var!r}")
        if not isinstance(expr, Range):
            self._bind_expr(var, convert(expr), allow_override)
        elif is_one(expr.extent):
            self._bind_expr(var, expr.min, allow_override)
        else:
            self.const_int_bound.bind(var, expr, allow_override)
            is_known = not allow_override and any(known is var for known, _, _ in self._bindings)
            if is_known or dtypes.is_uint(var.dtype):
                # These two raise for another range of the same constant bound, and for an empty one without a sign.
                self.int_set, self.transitive_comparisons
            self._bindings.append((var, expr, allow_override))
            for sub_analyzer in self._told_of_ranges:
                sub_analyzer.bind(var, expr, allow_override)

    def _bind_expr(self, var: Var, expr: PrimExpr, allow_override: bool) -> None:
        new_expr = self.rewrite_simplify(self.canonical_simplify(expr))
        self.const_int_bound.update(var, self.const_int_bound(new_expr), allow_override)
        self.modular_set.update(var, self.modular_set(new_expr), allow_override)
        self.rewrite_simplify.update(var, new_expr, allow_override)
        self.canonical_simplify.update(var, new_expr, allow_override)
        self.int_set.update(var, self.int_set(new_expr), allow_override)
        self.transitive_comparisons.bind(var, expr, allow_override)
        self._bindings.append((var, expr, allow_override))
        for sub_analyzer in self._told_of_values:
            sub_analyzer.bind(var, expr, allow_override)

    def bind_all(self, variables: Mapping[Var, Range], allow_override: bool = False) -> None:
        """:meth:`bind` for every item of a mapping, in its order."""
        for var, dom in variables.items():
            self.bind(var, dom, allow_override)

    def update(self, var: Var, info: ConstIntBound, override: bool = False) -> None:
        """Give a variable a constant bound, as ``tvm.arith.Analyzer.update`` does."""
        if not isinstance(info, ConstIntBound):
            raise TypeError(f"Do not know how to handle type {type(info)}")
        self.const_int_bound.update(var, info, override)

    def const_int_bound_is_bound(self, var: Var) -> bool:
        """Whether the variable has a constant bound of its own."""
        return self.const_int_bound.is_bound(var)

    # tvm: src/arith/analyzer.cc (Analyzer::MarkGlobalNonNegValue)
    def mark_global_non_neg_value(self, value: PrimExpr) -> None:
        """Use that ``value`` is never negative, everywhere.

        Only a value ``var * c + d`` with c > 0 says something: ``var >= -d``.
        """
        offset = 0
        symbol_scale: PrimExpr = make_const(value.dtype, 0)
        for term, sign in unpack_sum(value):
            if type(term) is IntImm:
                offset += term.value * sign
            else:
                symbol_scale = add(symbol_scale, term) if sign > 0 else sub(symbol_scale, term)

        scale = 1
        symbol: PrimExpr = make_const(value.dtype, 1)
        for factor in unpack_reduction(Mul, symbol_scale):
            if type(factor) is IntImm:
                scale *= factor.value
            else:
                symbol = mul(symbol, factor)
        if scale <= 0:
            return
        # Other dtypes stand for dimensions that have no value.
        if isinstance(symbol, Var) and dtypes.is_index_type(symbol.dtype):
            # Not for the interval sets: that would relax the variable wherever a bound is proved.
            self.const_int_bound.update(symbol, ConstIntBound(-offset, ConstIntBound.POS_INF), True)

    # tvm: src/arith/analyzer.cc (ConstraintContext)
    def enter_constraint(self, constraint: PrimExpr, is_assume: bool = False) -> Callable[[], None]:
        """Assume a condition until the returned function is called. Constraints end in reverse order of their start."""
        recovery_functions = [
            self.const_int_bound.enter_constraint(constraint),
            self.modular_set.enter_constraint(constraint),
            self.rewrite_simplify.enter_constraint(constraint, is_assume),
            self.int_set.enter_constraint(constraint),
            self.transitive_comparisons.enter_constraint(constraint),
            self.prover.enter_constraint(constraint, is_assume),
        ]

        def leave() -> None:
            while recovery_functions:
                recover = recovery_functions.pop()
                if recover is not None:
                    recover()

        return leave

    @contextmanager
    def constraint_scope(self, constraint: PrimExpr, is_assume: bool = False):
        """``with analyzer.constraint_scope(condition):`` assumes a condition in the block."""
        leave = self.enter_constraint(convert(constraint), is_assume)
        try:
            yield
        finally:
            leave()

    # tvm: src/arith/analyzer.cc (Analyzer::CanProveGreaterEqual)
    def can_prove_greater_equal(self, expr: PrimExpr, lower_bound: int) -> bool:
        """Whether ``expr >= lower_bound`` follows from the constant bound of the rewritten expression."""
        if type(expr) is IntImm:
            return expr.value >= lower_bound
        return self.const_int_bound.visit(self.rewrite_simplify(expr))[0] >= lower_bound

    # tvm: src/arith/analyzer.cc (Analyzer::CanProveLess)
    def can_prove_less(self, expr: PrimExpr, upper_bound: int) -> bool:
        """Whether ``expr < upper_bound`` follows from the constant bound of the rewritten expression."""
        if type(expr) is IntImm:
            return expr.value < upper_bound
        return self.const_int_bound.visit(self.rewrite_simplify(expr))[1] < upper_bound

    # tvm: src/arith/analyzer.cc (Analyzer::CanProveEqual)
    def can_prove_equal(self, lhs: PrimExpr, rhs: PrimExpr) -> bool:
        """Whether both are certainly the same number."""
        lhs, rhs = convert(lhs), convert(rhs)
        if type(lhs) is IntImm and type(rhs) is IntImm:
            return lhs.value == rhs.value
        if lhs.dtype == "handle" or rhs.dtype == "handle":
            return lhs is rhs
        difference = sub(lhs, rhs)
        return self.can_prove(equal(difference, make_const(difference.dtype, 0)))

    # tvm: src/arith/analyzer.cc (Analyzer::CanProveLessEqualThanSymbolicShapeValue)
    def can_prove_less_equal_than_symbolic_shape_value(self, lhs: PrimExpr, shape: PrimExpr) -> bool:
        """Whether ``lhs <= shape``, given that a shape is positive: ``32 <= 32 * n`` holds."""
        if self.can_prove(less_equal(lhs, shape), ProofStrength.SYMBOLIC_BOUND):
            return True
        if is_const_int(shape):
            return False
        scale = 1
        for factor in unpack_reduction(Mul, shape):
            if type(factor) is IntImm:
                scale *= factor.value
        bound = IntImm(shape.dtype, abs(scale))
        return self.can_prove(less_equal(lhs, bound), ProofStrength.SYMBOLIC_BOUND)

    # tvm: src/arith/analyzer.cc (Analyzer::CanProve)
    def can_prove(self, expr: PrimExpr, strength: int = ProofStrength.DEFAULT) -> bool:
        """Whether a condition certainly holds. False means "not proved", not "wrong"."""
        expr = convert(expr)
        if type(expr) is IntImm:
            return expr.value != 0
        simplified = self.simplify(expr)
        if as_const_int(simplified):
            return True

        if type(simplified) is Not:
            rephrased = _push_not_inwards(simplified.a)
            if rephrased is not None:
                return self.can_prove(rephrased, strength)
            if is_const_int(self.simplify(simplified.a), 0):
                return True
        if type(simplified) is Or:
            if self.can_prove(simplified.a, strength) or self.can_prove(simplified.b, strength):
                return True
        if type(simplified) is And:
            if self.can_prove(simplified.a, strength) and self.can_prove(simplified.b, strength):
                return True
        if type(simplified) is Call and simplified.dtype == "bool":
            if simplified.op == "tirx.bitwise_or":
                if self.can_prove(simplified.args[0], strength) or self.can_prove(simplified.args[1], strength):
                    return True
            if simplified.op == "tirx.bitwise_and":
                if self.can_prove(simplified.args[0], strength) and self.can_prove(simplified.args[1], strength):
                    return True
            if simplified.op == "tirx.bitwise_not":
                return self.can_prove(Not(simplified.args[0]), strength)

        if strength >= ProofStrength.SYMBOLIC_BOUND:
            by_bound = self._prove_by_symbolic_bound(expr)
            if by_bound is not None:
                return by_bound
        # Conditions on vscale, which the original tries for its known values, belong to vectors and do not occur.
        return self.prover.can_prove(simplified)

    def _prove_by_symbolic_bound(self, expr: PrimExpr) -> bool | None:
        """Decide a comparison by the sign of the difference of its sides, relaxed over the sets of its variables."""
        kind = type(expr)
        if kind is LT or kind is LE:
            pos_diff = sub(expr.b, expr.a)
        elif kind is GT or kind is GE:
            pos_diff = sub(expr.a, expr.b)
        else:
            return None
        lower_bound = 1 if kind is LT or kind is GT else 0
        iset = self.int_set(self.simplify(pos_diff))
        if iset.has_lower_bound():
            if self.const_int_bound.visit(self.simplify(iset.min()))[0] >= lower_bound:
                return True
        if iset.has_upper_bound():
            if self.const_int_bound.visit(self.simplify(iset.max()))[1] < lower_bound:
                return False
        return None

    # tvm: src/arith/analyzer.cc (Analyzer::Simplify)
    def simplify(self, expr: PrimExpr, steps: int = 2) -> PrimExpr:
        """Simplify: canonical first, then ``steps`` of rewriting and canonical in turn, until a constant remains."""
        res = self.canonical_simplify(convert(expr))
        for step in range(steps):
            if type(res) is IntImm:
                return res
            res = self.rewrite_simplify(res) if step % 2 == 0 else self.canonical_simplify(res)
        return res


_NEGATED_COMPARISONS = {LT: GE, LE: GT, GT: LE, GE: LT, EQ: NE, NE: EQ}


def _push_not_inwards(a: PrimExpr) -> PrimExpr | None:
    """``not a`` without the outer negation; None where there is no such form."""
    kind = type(a)
    negated = _NEGATED_COMPARISONS.get(kind)
    if negated is not None:
        return negated(a.a, a.b)
    if kind is Or:
        return And(Not(a.a), Not(a.b))
    if kind is And:
        return Or(Not(a.a), Not(a.b))
    if kind is Call and a.dtype == "bool":
        if a.op == "tirx.bitwise_or":
            return And(Not(a.args[0]), Not(a.args[1]))
        if a.op == "tirx.bitwise_and":
            return Or(Not(a.args[0]), Not(a.args[1]))
    if kind is Not:
        return a.a
    return None


# tvm: src/arith/product_normal_form.h (UnpackReduction)
def unpack_reduction(node_type: type, value: PrimExpr) -> list[PrimExpr]:
    """The operands of a chain of one binary operator, from left to right."""
    if type(value) is not node_type:
        return [value]
    return unpack_reduction(node_type, value.a) + unpack_reduction(node_type, value.b)


# tvm: src/arith/product_normal_form.h (UnpackSum)
def unpack_sum(value: PrimExpr, sign: int = 1) -> list[tuple[PrimExpr, int]]:
    """The terms of a chain of + and -, from left to right, each with its sign (1 or -1)."""
    if type(value) is Add:
        return unpack_sum(value.a, sign) + unpack_sum(value.b, sign)
    if type(value) is Sub:
        return unpack_sum(value.a, sign) + unpack_sum(value.b, -sign)
    return [(value, sign)]
