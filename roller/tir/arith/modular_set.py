"""Residues of integer expressions (stands in for TVM's ``src/arith/modular_set.cc``).

A modular set is a pair ``(coeff, base)``: all ``coeff * k + base``. ``(1, 0)`` is every integer, ``(0, c)`` only c.
Numbers wrap around like ``int64_t``, as they do in the original.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..expr import (
    EQ,
    Add,
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
    PrimExpr,
    Select,
    SizeVar,
    Sub,
    Var,
    convert,
)
from .int_operator import (
    InternalError,
    extended_euclidean,
    truncdiv,
    truncmod,
    wrap_int32,
    wrap_int64,
    zero_aware_gcd,
)

if TYPE_CHECKING:
    from .analyzer import Analyzer

Entry = tuple[int, int]

EVERYTHING: Entry = (1, 0)
NOTHING: Entry = (0, 1)


# tvm: include/tvm/arith/analyzer.h (ModularSet)
class ModularSet:
    """All integers ``coeff * k + base``."""

    __slots__ = ("base", "coeff")

    def __init__(self, coeff: int, base: int) -> None:
        self.coeff = coeff
        self.base = base

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ModularSet):
            return NotImplemented
        return self.coeff == other.coeff and self.base == other.base

    def __hash__(self) -> int:
        return hash((self.coeff, self.base))

    def __repr__(self) -> str:
        return f"arith.ModularSet(coeff={self.coeff}, base={self.base})"


# tvm: src/arith/modular_set.cc (ModularSetAnalyzer::Entry)
def make_entry(coeff: int, base: int) -> Entry:
    """The pair in normal form: coeff >= 0, and 0 <= base < coeff unless coeff is 0."""
    coeff = wrap_int64(coeff)
    base = wrap_int64(base)
    if coeff < 0:
        coeff = wrap_int64(-coeff)
        base = wrap_int64(-base)
    if coeff != 0:
        base = truncmod(base, coeff)
        if base < 0:
            base = wrap_int64(base + coeff)
    return (coeff, base)


# tvm: src/arith/modular_set.cc (ModularSetAnalyzer::Impl::Union)
def union(a: Entry, b: Entry) -> Entry:
    """A modular set with both in it."""
    coeff = zero_aware_gcd(a[0], b[0])
    if coeff == 0:
        return a if a[1] == b[1] else EVERYTHING
    base0 = truncmod(a[1], coeff)
    base1 = truncmod(b[1], coeff)
    if base0 == base1:
        return make_entry(coeff, base0)
    return make_entry(zero_aware_gcd(zero_aware_gcd(base0, base1), coeff), base0)


# tvm: src/arith/modular_set.cc (ModularSetAnalyzer::Impl::Intersect)
def intersect(a: Entry, b: Entry) -> Entry:
    """What is in both: solve ``c1 * p + b1 == c2 * q + b2``; NOTHING, which is (0, 1), if there is no solution."""
    c1, b1 = a
    c2, b2 = b
    gcd, x, _ = extended_euclidean(c1, c2)
    v = wrap_int64(b2 - b1)
    if truncmod(v, gcd) != 0:
        return NOTHING
    p = wrap_int64(truncdiv(v, gcd) * x)
    return make_entry(wrap_int64(truncdiv(c1, gcd) * c2), wrap_int64(wrap_int64(p * c1) + b1))


# tvm: src/arith/modular_set.cc (ModularSetAnalyzer::Impl)
class ModularSetAnalyzer:
    """Modular sets, given what is known about variables.

    Attributes:
        parent: the analyzer this is a part of, asked for signs of truncating divisions.
        var_map: the modular set of each variable that has one.
    """

    __slots__ = ("parent", "var_map")

    def __init__(self, parent: Analyzer) -> None:
        self.parent = parent
        self.var_map: dict[Var, Entry] = {}

    def __call__(self, expr: PrimExpr) -> ModularSet:
        return ModularSet(*self.visit(convert(expr)))

    def copy_from(self, other: ModularSetAnalyzer) -> None:
        """Take over what another analyzer knows."""
        self.parent.epoch += 1
        self.var_map = dict(other.var_map)

    def update(self, var: Var, info: ModularSet, allow_override: bool = False) -> None:
        """Give a variable a modular set. Raises InternalError if it has another one and may not be overridden."""
        if not allow_override:
            known = self.var_map.get(var)
            if known is not None and known != (info.coeff, info.base):
                raise InternalError(
                    f"Trying to update var '{var}' with a different const bound: "
                    f"original={ModularSet(*known)}, new={info}"
                )
        self.parent.epoch += 1
        self.var_map[var] = make_entry(info.coeff, info.base)

    # tvm: src/arith/modular_set.cc (ModularSetAnalyzer::Impl::EnterConstraint)
    def enter_constraint(self, constraint: PrimExpr) -> Callable[[], None] | None:
        """Use ``var % coeff == base`` until the returned function is called; None for other conditions.

        ``var == base`` is recognised too, but its pair is (1, base), which is every integer: it teaches nothing.
        """
        if type(constraint) is not EQ:
            return None
        a, b = constraint.a, constraint.b
        if type(b) is IntImm and type(a) in (Mod, FloorMod) and isinstance(a.a, Var) and type(a.b) is IntImm:
            return self._update_by_intersect(a.a, make_entry(a.b.value, b.value))
        if isinstance(a, Var) and type(b) is IntImm:
            return self._update_by_intersect(a, make_entry(1, b.value))
        if type(a) is IntImm and isinstance(b, Var):
            return self._update_by_intersect(b, make_entry(1, a.value))
        return None

    # tvm: src/arith/modular_set.cc (ModularSetAnalyzer::Impl::UpdateByIntersect)
    def _update_by_intersect(self, var: Var, entry: Entry) -> Callable[[], None]:
        old = self.var_map.get(var, EVERYTHING)
        self.var_map[var] = intersect(old, entry)
        self.parent.epoch += 1

        def recover() -> None:
            self.parent.epoch += 1
            # As in the original, a variable that was unknown is known as EVERYTHING from now on.
            self.var_map[var] = old

        return recover

    def visit(self, expr: PrimExpr) -> Entry:
        """The modular set of ``expr`` as a pair."""
        visitor = _VISITORS.get(type(expr))
        return EVERYTHING if visitor is None else visitor(self, expr)

    def visit_let(self, op: Let) -> Entry:
        if op.var in self.var_map:
            return self.visit(op.body)
        self.var_map[op.var] = self.visit(op.value)
        self.parent.epoch += 1
        res = self.visit(op.body)
        self.var_map.pop(op.var, None)
        self.parent.epoch += 1
        return res

    def visit_cast(self, op: Cast) -> Entry:
        return self.visit(op.value)

    def visit_int_imm(self, op: IntImm) -> Entry:
        return (0, op.value)

    def visit_add(self, op: Add) -> Entry:
        a = self.visit(op.a)
        b = self.visit(op.b)
        return make_entry(zero_aware_gcd(a[0], b[0]), a[1] + b[1])

    def visit_sub(self, op: Sub) -> Entry:
        a = self.visit(op.a)
        b = self.visit(op.b)
        return make_entry(zero_aware_gcd(a[0], b[0]), a[1] - b[1])

    def visit_mul(self, op: Mul) -> Entry:
        # (p x + n) (q y + m) = pq xy + pm x + qn y + nm
        p, n = self.visit(op.a)
        q, m = self.visit(op.b)
        pq = wrap_int64(p * q)
        pm = wrap_int64(p * m)
        qn = wrap_int64(n * q)
        return make_entry(zero_aware_gcd(pq, zero_aware_gcd(pm, qn)), n * m)

    # tvm: src/arith/modular_set.cc (ModularSetAnalyzer::Impl::DivByConst)
    def div_by_const(self, lhs: PrimExpr, val: int, round_down: bool) -> Entry:
        """The modular set of ``lhs / val``."""
        coeff, base = self.visit(lhs)
        if val == 0:
            raise InternalError("Check failed: val != 0 (0 vs. 0) : ")
        if coeff % val == 0:
            if base == 0:
                return make_entry(abs(truncdiv(coeff, val)), 0)
            # Rounding is only clear where it is known to be downwards.
            if base > 0 and val > 0 and (round_down or self.parent.can_prove_greater_equal(lhs, 0)):
                return make_entry(coeff // val, base // val)
        return EVERYTHING

    def visit_div(self, op: Div) -> Entry:
        coeff, base = self.visit(op.b)
        return self.div_by_const(op.a, base, False) if coeff == 0 else EVERYTHING

    def visit_floordiv(self, op: FloorDiv) -> Entry:
        coeff, base = self.visit(op.b)
        return self.div_by_const(op.a, base, True) if coeff == 0 else EVERYTHING

    def visit_min_max(self, op: Min | Max) -> Entry:
        a = self.visit(op.a)
        b = self.visit(op.b)
        return union(a, b)

    def visit_select(self, op: Select) -> Entry:
        a = self.visit(op.true_value)
        b = self.visit(op.false_value)
        return union(a, b)

    # tvm: src/arith/modular_set.cc (ModularSetAnalyzer::Impl::ModByConst)
    def mod_by_const(self, lhs: PrimExpr, val: int, round_down: bool) -> Entry:
        """The modular set of ``lhs % val``."""
        a_coeff, base = self.visit(lhs)
        if val == 0:
            raise InternalError("Check failed: val != 0 (0 vs. 0) : ")
        coeff = zero_aware_gcd(a_coeff, val)
        if base % coeff == 0 or (base > 0 and (round_down or self.parent.can_prove_greater_equal(lhs, 0))):
            return make_entry(coeff, base % coeff)
        return EVERYTHING

    def visit_floormod(self, op: FloorMod) -> Entry:
        coeff, base = self.visit(op.b)
        return self.mod_by_const(op.a, base, True) if coeff == 0 else EVERYTHING

    def visit_mod(self, op: Mod) -> Entry:
        coeff, base = self.visit(op.b)
        return self.mod_by_const(op.a, base, False) if coeff == 0 else EVERYTHING

    def visit_call(self, op: Call) -> Entry:
        if op.op == "tirx.shift_right":
            coeff, base = self.visit(op.args[1])
            # The processor shifts by the low six bits of the amount.
            return self.div_by_const(op.args[0], wrap_int64(1 << (base & 63)), True) if coeff == 0 else EVERYTHING
        if op.op == "tirx.bitwise_and":
            coeff, base = self.visit(op.args[1])
            if coeff == 0:
                # The original passes base + 1 through a 32 bit int.
                limit = wrap_int32(base + 1)
                if limit > 0 and limit & (limit - 1) == 0:
                    return self.mod_by_const(op.args[0], limit, True)
        return EVERYTHING

    def visit_var(self, op: Var) -> Entry:
        return self.var_map.get(op, EVERYTHING)


_VISITORS: dict[type, Callable[..., Entry]] = {
    Let: ModularSetAnalyzer.visit_let,
    Cast: ModularSetAnalyzer.visit_cast,
    IntImm: ModularSetAnalyzer.visit_int_imm,
    Add: ModularSetAnalyzer.visit_add,
    Sub: ModularSetAnalyzer.visit_sub,
    Mul: ModularSetAnalyzer.visit_mul,
    Div: ModularSetAnalyzer.visit_div,
    FloorDiv: ModularSetAnalyzer.visit_floordiv,
    Min: ModularSetAnalyzer.visit_min_max,
    Max: ModularSetAnalyzer.visit_min_max,
    Select: ModularSetAnalyzer.visit_select,
    FloorMod: ModularSetAnalyzer.visit_floormod,
    Mod: ModularSetAnalyzer.visit_mod,
    Call: ModularSetAnalyzer.visit_call,
    Var: ModularSetAnalyzer.visit_var,
    SizeVar: ModularSetAnalyzer.visit_var,
}
