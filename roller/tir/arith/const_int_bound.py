"""Constant lower and upper bounds of integer expressions (stands in for TVM's ``src/arith/const_int_bound.cc``).

A bound is a pair ``(min, max)``, both ends inclusive, in the range of ``int64_t``. ``POS_INF`` and ``NEG_INF`` mean
"no bound". A pair may be the wrong way round (min > max) where constraints or a narrowing cast contradict each other;
nothing here straightens it, as the original does not.

Two ways to compute a bound, with the same answers:

* :class:`ConstIntBoundAnalyzer`, the port of the visitor, which knows bound variables, constraints and ``Let``;
* :func:`compile_bound`, which turns an expression into closures once and then evaluates them for many bounds of its
  variables. Shape inference does that for the tiles of a search. It has no counterpart in TVM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from .. import dtypes
from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
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
    PrimExpr,
    Range,
    Select,
    SizeVar,
    Sub,
    TirError,
    Var,
    as_const_int,
    convert,
    deep_equal,
)
from .constraint_extract import extract_constraints
from .int_operator import InternalError, truncdiv, wrap_int64, zero_aware_gcd
from .ir_mutator_with_analyzer import PURE, side_effect

if TYPE_CHECKING:
    from .analyzer import Analyzer

POS_INF = 2**63 - 1
NEG_INF = -POS_INF

Entry = tuple[int, int]


# tvm: include/tvm/arith/analyzer.h (ConstIntBound)
class ConstIntBound:
    """Constant bound of an integer: every value v has ``min_value <= v <= max_value``."""

    __slots__ = ("max_value", "min_value")

    POS_INF = POS_INF
    NEG_INF = NEG_INF

    def __init__(self, min_value: int, max_value: int) -> None:
        self.min_value = _int64(min_value)
        self.max_value = _int64(max_value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstIntBound):
            return NotImplemented
        return self.min_value == other.min_value and self.max_value == other.max_value

    def __hash__(self) -> int:
        return hash((self.min_value, self.max_value))

    def __repr__(self) -> str:
        return f"arith.ConstIntBound(min_value={self.min_value}, max_value={self.max_value})"


def _int64(value: int) -> int:
    """The end of a bound as an int. TirError for a float, an expression, or what 64 bits do not hold."""
    if type(value) is not int:
        # The values of numpy count; those of IntImm do not, in TVM either.
        if isinstance(value, PrimExpr) or not hasattr(value, "__index__"):
            raise TirError(f"a bound is an integer, not {value!r}")
        value = value.__index__()
    if not -(2**63) <= value < 2**63:
        raise TirError(f"the bound {value} does not fit int64")
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic on bounds
# ---------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/const_int_bound.cc (InfAwareAdd)
def inf_aware_add(x: int, y: int) -> int:
    """``x + y``, saturating. Infinities of opposite sign are an error."""
    if x == POS_INF:
        if y == NEG_INF:
            raise InternalError("Check failed: y != kNegInf")
        return POS_INF
    if x == NEG_INF:
        if y == POS_INF:
            raise InternalError("Check failed: y != kPosInf")
        return NEG_INF
    if y == POS_INF or y == NEG_INF:
        return y
    total = x + y
    if y > 0 and total > POS_INF:
        return POS_INF if x > 0 else NEG_INF
    if y < 0 and total < NEG_INF:
        return POS_INF if x > 0 else NEG_INF
    return total


# tvm: src/arith/const_int_bound.cc (InfAwareMul)
def inf_aware_mul(x: int, y: int) -> int:
    """``x * y``, saturating. Infinities are large numbers here: 0 times one of them is 0."""
    product = x * y
    if NEG_INF <= product <= POS_INF:
        return product
    return POS_INF if product > 0 else NEG_INF


# tvm: src/arith/const_int_bound.cc (InfAwareDiv)
def inf_aware_div(x: int, y: int) -> int:
    """``x / y`` rounded towards zero; an infinity stays one."""
    if y == 0:
        raise InternalError("Check failed: y != 0")
    if x == POS_INF or x == NEG_INF:
        return x if y > 0 else -x
    return truncdiv(x, y)


# tvm: src/arith/const_int_bound.cc (InfAwareFloorDiv)
def inf_aware_floordiv(x: int, y: int) -> int:
    """``x / y`` rounded towards minus infinity; an infinity stays one."""
    if y == 0:
        raise InternalError("Check failed: y != 0")
    if x == POS_INF or x == NEG_INF:
        return x if y > 0 else -x
    return x // y


# tvm: src/arith/const_int_bound.cc (InfAwareLeftShift)
def inf_aware_left_shift(x: int, y: int) -> int:
    """``x << y``, saturating upwards. Only reached for x >= 0 and y >= 0.

    The number of bits of the result wraps around for an infinite y, which then counts as 63.
    """
    if x == POS_INF or x == NEG_INF:
        return x
    if wrap_int64(x.bit_length() + y) < 64:
        return wrap_int64(x << (y & 63))
    return POS_INF


# tvm: src/arith/const_int_bound.cc (InfAwareRightShift)
def inf_aware_right_shift(x: int, y: int) -> int:
    """``x >> y``; the processor looks at the low six bits of y only, which decides the cases C++ leaves open."""
    if x == POS_INF or x == NEG_INF:
        return x
    return x >> (y & 63)


# tvm: src/arith/const_int_bound.cc (MakeBound)
def make_bound(min_value: int, max_value: int) -> Entry:
    """The pair, with "at least plus infinity" and "at most minus infinity" moved to the nearest number."""
    return (
        min_value - 1 if min_value == POS_INF else min_value,
        max_value + 1 if max_value == NEG_INF else max_value,
    )


# tvm: src/arith/const_int_bound.cc (Union)
def union(a: Entry, b: Entry) -> Entry:
    return (a[0] if a[0] <= b[0] else b[0], a[1] if a[1] >= b[1] else b[1])


# tvm: src/arith/const_int_bound.cc (Intersect)
def intersect(a: Entry, b: Entry) -> Entry:
    return (a[0] if a[0] >= b[0] else b[0], a[1] if a[1] <= b[1] else b[1])


_everything_of: dict[str, Entry] = {}


# tvm: src/arith/const_int_bound.cc (Everything)
def everything(dtype: str) -> Entry:
    """All values of a dtype: infinities for 64 bits and for what is not an integer, 0..1 for bool."""
    entry = _everything_of.get(dtype)
    if entry is None:
        entry = _everything_of[dtype] = _compute_everything(dtype)
    return entry


def _compute_everything(dtype: str) -> Entry:
    if dtypes.is_bool(dtype):
        return (0, 1)
    signed = dtypes.is_int(dtype)
    if not signed and not dtypes.is_uint(dtype):
        return (NEG_INF, POS_INF)
    value_bits = dtypes.bits(dtype) - signed
    max_value = POS_INF if value_bits >= 63 else (1 << value_bits) - 1
    if not signed:
        return (0, max_value)
    return (NEG_INF if value_bits >= 63 else -(1 << value_bits), max_value)


# tvm: src/arith/const_int_bound.cc (BinaryOpBoundary)
def binary_op_boundary(a: Entry, b: Entry, op: Callable[[int, int], int]) -> Entry:
    """Bound of an operation that is monotonic in each argument: its extremes are at the corners."""
    v1 = op(a[0], b[0])
    v2 = op(a[1], b[1])
    v3 = op(a[0], b[1])
    v4 = op(a[1], b[0])
    return (min(v1, v2, v3, v4), max(v1, v2, v3, v4))


# tvm: src/arith/const_int_bound.cc (HandleDivision)
def handle_division(a: Entry, b: Entry, dtype: str, op: Callable[[int, int], int]) -> Entry:
    """Bound of a quotient. A divisor whose range holds 0 counts as its negative and its positive part."""
    if b[0] <= 0 <= b[1] and dtypes.is_int(dtype):
        b_neg = make_bound(b[0], -1) if b[0] < 0 else everything(dtype)
        b_pos = make_bound(1, b[1]) if b[1] > 0 else everything(dtype)
        e_neg = binary_op_boundary(a, b_neg, op)
        e_pos = binary_op_boundary(a, b_pos, op)
        return make_bound(min(e_neg[0], e_pos[0]), max(e_neg[1], e_pos[1]))
    if b[0] == 0 and dtypes.is_uint(dtype):
        return binary_op_boundary(a, make_bound(1, b[1]), op)
    return binary_op_boundary(a, b, op)


# tvm: src/arith/const_int_bound.cc (AssumeNoZeroDivisor)
def assume_no_zero_divisor(divisor: Entry) -> Entry | None:
    """The divisor's bound without 0 at its lower end: a valid program does not divide by zero.

    That is what makes ``n >= 0`` enough to bound a division by a symbolic extent n. None if the divisor can only be 0.
    """
    if divisor == (0, 0):
        return None
    if divisor[0] == 0:
        if divisor[1] < 1:
            raise InternalError("Check failed: divisor.max_value >= 1")
        return (1, divisor[1])
    return divisor


# tvm: src/arith/const_int_bound.cc (ConstIntBoundAnalyzer::Impl::VisitExpr_(const FloorModNode*), the residues)
def _residue_bound(coeff: int, base: int, modulus: int) -> Entry | None:
    """Bound of ``x % modulus`` for x = coeff * k + base, if the two share a factor; it forgets the bound of x."""
    gcd = zero_aware_gcd(coeff, modulus)
    if gcd <= 1:
        return None
    residue = base % gcd
    return make_bound(residue, modulus - gcd + residue)


def _truncmod_bound(a: Entry, b: Entry) -> Entry:
    """``a % b`` rounded towards zero, for b > 0 and nothing known about residues."""
    b_max_cap = inf_aware_add(b[1], -1)
    if a[0] >= 0:
        if a[1] < b[0]:
            return a
        return make_bound(0, min(a[1], b_max_cap))
    return make_bound(max(a[0], -b_max_cap), min(max(a[1], 0), b_max_cap))


def _floormod_bound(a: Entry, b: Entry) -> Entry:
    """``a % b`` rounded towards minus infinity, for b > 0 and nothing known about residues."""
    b_max_cap = inf_aware_add(b[1], -1)
    if a[0] >= 0:
        if a[1] < b[0]:
            return a
        return make_bound(0, min(a[1], b_max_cap))
    return make_bound(0, b_max_cap)


def _floormod_bound_any_divisor(b: Entry, dtype: str) -> Entry:
    """``a % b`` rounded towards minus infinity, for a divisor that may be negative: the result has its sign."""
    b_min_cap = inf_aware_add(b[0], 1)
    b_max_cap = inf_aware_add(b[1], -1)
    return intersect(make_bound(min(0, b_min_cap), max(0, b_max_cap)), everything(dtype))


def _left_shift_bound(a: Entry, b: Entry, dtype: str) -> Entry:
    if a[0] < 0 or b[0] < 0:
        return everything(dtype)  # undefined on some devices
    return binary_op_boundary(a, b, inf_aware_left_shift)


def _bitwise_and_bound(a: Entry, b: Entry, dtype: str) -> Entry:
    if a[0] >= 0 and b[0] >= 0:
        return make_bound(0, min(a[1], b[1]))
    if b[0] >= 0:
        return make_bound(0, b[1])
    if a[0] >= 0:
        return make_bound(0, a[1])
    return everything(dtype)


def _bitwise_or_bound(a: Entry, b: Entry, dtype: str) -> Entry:
    """Or and exclusive or of numbers >= 0 need no more bits than the wider one."""
    if a[0] < 0 or b[0] < 0:
        return everything(dtype)
    bit_width = max(max(a[1], 0).bit_length(), max(b[1], 0).bit_length())
    if bit_width >= 63:
        return everything(dtype)
    return make_bound(0, (1 << bit_width) - 1)


# ---------------------------------------------------------------------------------------------------------------------
# The visitor
# ---------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/const_int_bound.cc (ConstIntBoundAnalyzer::Impl)
class ConstIntBoundAnalyzer:
    """Constant bounds, given what is known about variables.

    Attributes:
        parent: the analyzer this is a part of; its modular sets sharpen remainders.
        var_map: the bound of each bound variable.
        additional_info: bounds of whole expressions, from the constraints in effect.
    """

    __slots__ = ("_bound", "additional_info", "parent", "var_map")

    def __init__(self, parent: Analyzer) -> None:
        self.parent = parent
        self.var_map: dict[Var, Entry] = {}
        self.additional_info: list[tuple[PrimExpr, Entry]] = []
        self._bound: dict[int, ConstIntBound] | None = None

    def __call__(self, expr: PrimExpr, bound: dict[int, ConstIntBound] | None = None) -> ConstIntBound:
        """The bound of ``expr``. A given map receives the bound of every sub-expression, under the object's ``id``."""
        self._bound = bound
        try:
            return ConstIntBound(*self.visit(convert(expr)))
        finally:
            self._bound = None

    def copy_from(self, other: ConstIntBoundAnalyzer) -> None:
        """Take over what another analyzer knows."""
        self.parent.epoch += 1
        self.var_map = dict(other.var_map)
        self.additional_info = list(other.additional_info)
        self._bound = None

    def is_bound(self, var: Var) -> bool:
        return var in self.var_map

    def bind(self, var: Var, dom: Range, allow_override: bool = False) -> None:
        """Bound a variable by a range: from the range's least minimum to its greatest last element."""
        low = self.visit(dom.min)
        extent = self.visit(dom.extent)
        last = inf_aware_add(low[1], inf_aware_add(extent[1], -1))
        self._update(var, (low[0], last), allow_override)

    def update(self, var: Var, info: ConstIntBound, allow_override: bool = False) -> None:
        """Bound a variable. Raises InternalError if it has another bound and may not be overridden."""
        self._update(var, make_bound(info.min_value, info.max_value), allow_override)

    def _update(self, var: Var, info: Entry, allow_override: bool) -> None:
        if not allow_override:
            known = self.var_map.get(var)
            if known is not None and known != info:
                raise InternalError(
                    f"Trying to update var '{var}' with a different const bound: "
                    f"original={ConstIntBound(*known)}, new={ConstIntBound(*info)}"
                )
        self.parent.epoch += 1
        self.var_map[var] = info

    # tvm: src/arith/const_int_bound.cc (ConstIntBoundAnalyzer::Impl::EnterConstraint)
    def enter_constraint(self, constraint: PrimExpr) -> Callable[[], None] | None:
        """Use a condition until the returned function is called; None if it says nothing about constant bounds."""
        info = detect_bound_info(constraint)
        if not info:
            return None
        old_size = len(self.additional_info)
        self.additional_info.extend(info)
        self.parent.epoch += 1

        def recover() -> None:
            self.parent.epoch += 1
            del self.additional_info[old_size:]

        return recover

    def visit(self, expr: PrimExpr) -> Entry:
        """The bound of ``expr`` as a pair."""
        visitor = _VISITORS.get(type(expr))
        # What has no visitor (comparisons, loads, reductions, floats, ...) is only known by its type.
        res = everything(expr.dtype) if visitor is None else visitor(self, expr)
        for known_expr, known_bound in self.additional_info:
            if deep_equal(expr, known_expr):
                res = intersect(res, known_bound)
        if self._bound is not None:
            self._memorize(expr, res)
        return res

    def _memorize(self, expr: PrimExpr, res: Entry) -> None:
        assert self._bound is not None
        known = self._bound.get(id(expr))
        if known is not None:
            pair = (known.min_value, known.max_value)
            if pair != res and pair != everything(expr.dtype):
                raise InternalError(f"Detected bound for {expr}conflicts with memorization")
        self._bound[id(expr)] = ConstIntBound(*res)

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
        log2_arg = find_ceil_log2_arg(op)
        a = self.visit(op.value) if log2_arg is None else self.ceil_log2_bounds(log2_arg)
        return intersect(a, everything(op.dtype))

    def visit_int_imm(self, op: IntImm) -> Entry:
        return make_bound(op.value, op.value)

    def visit_add(self, op: Add) -> Entry:
        a = self.visit(op.a)
        b = self.visit(op.b)
        return (inf_aware_add(a[0], b[0]), inf_aware_add(a[1], b[1]))

    def visit_sub(self, op: Sub) -> Entry:
        a = self.visit(op.a)
        b = self.visit(op.b)
        return (inf_aware_add(a[0], wrap_int64(-b[1])), inf_aware_add(a[1], wrap_int64(-b[0])))

    def visit_mul(self, op: Mul) -> Entry:
        return binary_op_boundary(self.visit(op.a), self.visit(op.b), inf_aware_mul)

    def visit_div(self, op: Div) -> Entry:
        a = self.visit(op.a)
        b = assume_no_zero_divisor(self.visit(op.b))
        if b is None:
            return everything(op.dtype)
        return handle_division(a, b, op.dtype, inf_aware_div)

    def visit_mod(self, op: Mod) -> Entry:
        a = self.visit(op.a)
        b = assume_no_zero_divisor(self.visit(op.b))
        if b is None or b[0] <= 0:
            return everything(op.dtype)
        # A remainder that rounds towards zero can be negative; the residues below are not.
        if a[0] >= 0 and b[0] == b[1]:
            mod_a = self.parent.modular_set(op.a)
            residues = _residue_bound(mod_a.coeff, mod_a.base, b[0])
            if residues is not None:
                return residues
        return _truncmod_bound(a, b)

    def visit_floordiv(self, op: FloorDiv) -> Entry:
        a = self.visit(op.a)
        b = assume_no_zero_divisor(self.visit(op.b))
        if b is None:
            return everything(op.dtype)
        return handle_division(a, b, op.dtype, inf_aware_floordiv)

    def visit_floormod(self, op: FloorMod) -> Entry:
        a = self.visit(op.a)
        b = assume_no_zero_divisor(self.visit(op.b))
        if b is None:
            return everything(op.dtype)
        if b[0] <= 0:
            return _floormod_bound_any_divisor(b, op.dtype)
        if b[0] == b[1]:
            mod_a = self.parent.modular_set(op.a)
            residues = _residue_bound(mod_a.coeff, mod_a.base, b[0])
            if residues is not None:
                return residues
        return _floormod_bound(a, b)

    def visit_min(self, op: Min) -> Entry:
        a = self.visit(op.a)
        b = self.visit(op.b)
        return (min(a[0], b[0]), min(a[1], b[1]))

    def visit_max(self, op: Max) -> Entry:
        a = self.visit(op.a)
        b = self.visit(op.b)
        return (max(a[0], b[0]), max(a[1], b[1]))

    def visit_select(self, op: Select) -> Entry:
        a = self.visit(op.true_value)
        b = self.visit(op.false_value)
        return union(a, b)

    def visit_call(self, op: Call) -> Entry:
        # Only the operations that occur in index arithmetic; vscale belongs to vectors, which do not occur.
        if op.op == "tirx.shift_right":
            return binary_op_boundary(self.visit(op.args[0]), self.visit(op.args[1]), inf_aware_right_shift)
        bound_of_call = _BITWISE_BOUNDS.get(op.op)
        if bound_of_call is None:
            return everything(op.dtype)
        a = self.visit(op.args[0])
        b = self.visit(op.args[1])
        return bound_of_call(a, b, op.dtype)

    def visit_var(self, op: Var) -> Entry:
        entry = self.var_map.get(op)
        return everything(op.dtype) if entry is None else entry

    def visit_size_var(self, op: SizeVar) -> Entry:
        entry = self.var_map.get(op)
        return (0, POS_INF) if entry is None else entry

    # tvm: src/arith/const_int_bound.cc (ConstIntBoundAnalyzer::Impl::CeilLog2Bounds)
    def ceil_log2_bounds(self, arg: PrimExpr) -> Entry:
        """Bound of ``ceil(log2(arg))``, the way topi writes the number of bits."""
        if type(arg) is FloatImm:
            value = _ceil_log2(arg.value)
            return make_bound(value, value)
        low, high = self.visit(arg)
        return make_bound(_ceil_log2(low), _ceil_log2(high))


_BITWISE_BOUNDS: dict[str, Callable[[Entry, Entry, str], Entry]] = {
    "tirx.shift_left": _left_shift_bound,
    "tirx.bitwise_and": _bitwise_and_bound,
    "tirx.bitwise_or": _bitwise_or_bound,
    "tirx.bitwise_xor": _bitwise_or_bound,
}

# Ramp, Broadcast and Shuffle are vectors and do not occur.
_VISITORS: dict[type, Callable[..., Entry]] = {
    Let: ConstIntBoundAnalyzer.visit_let,
    Cast: ConstIntBoundAnalyzer.visit_cast,
    IntImm: ConstIntBoundAnalyzer.visit_int_imm,
    Add: ConstIntBoundAnalyzer.visit_add,
    Sub: ConstIntBoundAnalyzer.visit_sub,
    Mul: ConstIntBoundAnalyzer.visit_mul,
    Div: ConstIntBoundAnalyzer.visit_div,
    Mod: ConstIntBoundAnalyzer.visit_mod,
    FloorDiv: ConstIntBoundAnalyzer.visit_floordiv,
    FloorMod: ConstIntBoundAnalyzer.visit_floormod,
    Min: ConstIntBoundAnalyzer.visit_min,
    Max: ConstIntBoundAnalyzer.visit_max,
    Select: ConstIntBoundAnalyzer.visit_select,
    Call: ConstIntBoundAnalyzer.visit_call,
    Var: ConstIntBoundAnalyzer.visit_var,
    SizeVar: ConstIntBoundAnalyzer.visit_size_var,
}


def _ceil_log2(value: float) -> int:
    """``int64_t(ceil(log2(double(value))))``; what is not a number becomes the smallest integer, as on x86."""
    as_double = float(value)
    if not as_double > 0 or math.isinf(as_double):
        return -(2**63)
    return math.ceil(math.log2(as_double))


# tvm: src/arith/const_int_bound.cc (ConstIntBoundAnalyzer::Impl::FindCeilLog2Arg)
def find_ceil_log2_arg(op: Cast) -> PrimExpr | None:
    """x of ``int(ceil(log2(x)))``, None for any other cast."""
    if not dtypes.is_int(op.dtype):
        return None
    ceil = op.value
    if type(ceil) is not Call or ceil.op != "tirx.ceil":
        return None
    log2 = ceil.args[0]
    if type(log2) is not Call or log2.op != "tirx.log2":
        return None
    return log2.args[0]


# tvm: src/arith/const_int_bound.cc (ConstIntBoundAnalyzer::Impl::DetectBoundInfo)
def detect_bound_info(cond: PrimExpr) -> list[tuple[PrimExpr, Entry]]:
    """Bounds of expressions that a condition implies: one for each comparison with a constant among its conjuncts."""
    info: list[tuple[PrimExpr, Entry]] = []
    for part in extract_constraints(cond):
        if side_effect(part) > PURE:
            continue
        negated = type(part) is Not
        comparison = part.a if negated else part
        bound = _bound_of_comparison(comparison, negated)
        # Nothing is learnt from a comparison of two constants.
        if bound is not None and type(bound[0]) is not IntImm:
            info.append(bound)
    return info


def _bound_of_comparison(op: PrimExpr, negated: bool) -> tuple[PrimExpr, Entry] | None:
    """The side that is not constant with the bound the comparison (or its negation) puts on it.

    A constant on both sides counts as the left one, the order in which the original tries its patterns; only ``x >= c``
    is tried before ``c >= x``, and ``c >= x`` not at all.
    """
    kind = type(op)
    if kind is LE:
        if type(op.a) is IntImm:
            return op.b, (_at_most(op.a.value - 1) if negated else _at_least(op.a.value))
        if type(op.b) is IntImm:
            return op.a, (_at_least(op.b.value + 1) if negated else _at_most(op.b.value))
    elif kind is GE:
        if type(op.b) is IntImm:
            return op.a, (_at_most(op.b.value - 1) if negated else _at_least(op.b.value))
    elif kind is LT:
        if type(op.a) is IntImm:
            return op.b, (_at_most(op.a.value) if negated else _at_least(op.a.value + 1))
        if type(op.b) is IntImm:
            return op.a, (_at_least(op.b.value) if negated else _at_most(op.b.value - 1))
    elif kind is GT:
        if type(op.b) is IntImm:
            return op.a, (_at_most(op.b.value) if negated else _at_least(op.b.value + 1))
        if type(op.a) is IntImm:
            return op.b, (_at_least(op.a.value) if negated else _at_most(op.a.value - 1))
    elif kind is EQ and not negated:
        if type(op.b) is IntImm:
            return op.a, make_bound(op.b.value, op.b.value)
        if type(op.a) is IntImm:
            return op.b, make_bound(op.a.value, op.a.value)
    return None


def _at_least(value: int) -> Entry:
    return make_bound(wrap_int64(value), POS_INF)


def _at_most(value: int) -> Entry:
    return make_bound(NEG_INF, wrap_int64(value))


# ---------------------------------------------------------------------------------------------------------------------
# Compiled bounds
# ---------------------------------------------------------------------------------------------------------------------

# Compiled bounds are for variables up to this magnitude, and only as long as nothing on the way leaves the range of
# int64: then nothing saturates, and every interval is the right way round.
_LARGEST_VARIABLE = 2**24
_LARGEST_VALUE = 2**62

Bounds = Sequence  # of pairs, or None for a variable of which nothing is told
_Compiled = tuple[Callable[[Bounds], Entry], int]


def compile_bound(expr: PrimExpr, variables: Sequence[Var]) -> Callable[[Bounds], Entry]:
    """A function that gives the bound of ``expr`` for given bounds of the variables, in their order.

    It answers as a new analyzer does that was told these bounds (None: not told), for index arithmetic much faster.
    """

    def visit(bounds: Bounds) -> Entry:
        from .analyzer import Analyzer

        analyzer = Analyzer()
        for var, bound in zip(variables, bounds):
            if bound is not None:
                analyzer.const_int_bound.update(var, ConstIntBound(*bound), True)
        return analyzer.const_int_bound.visit(expr)

    compiled = _Compiler(variables).compile(expr)
    if compiled is None:
        return visit
    evaluate = compiled[0]

    def evaluate_or_visit(bounds: Bounds) -> Entry:
        for bound in bounds:
            if bound is None or not -_LARGEST_VARIABLE <= bound[0] <= bound[1] <= _LARGEST_VARIABLE:
                return visit(bounds)
        return evaluate(bounds)

    return evaluate_or_visit


class _Compiler:
    """Makes closures of the common nodes of indices.

    Each method returns the closure, and the largest magnitude of a value; None if the node needs the visitor.
    """

    def __init__(self, variables: Sequence[Var]) -> None:
        from .analyzer import Analyzer

        self.position = {var: i for i, var in enumerate(variables)}
        # No bound changes a modular set, as long as there is no truncating division, which is left to the visitor.
        self.modular_set = Analyzer().modular_set

    def compile(self, expr: PrimExpr) -> _Compiled | None:
        kind = type(expr)
        if kind is IntImm:
            return self._constant(make_bound(expr.value, expr.value))
        if kind is Var or kind is SizeVar:
            if expr in self.position:
                return itemgetter(self.position[expr]), _LARGEST_VARIABLE
            return self._constant(everything(expr.dtype)) if kind is Var else None
        if kind is Cast:
            return self._compile_cast(expr)
        maker = _MAKERS.get(kind)
        if maker is None:
            return None
        a, b = self.compile(expr.a), self.compile(expr.b)
        if a is None or b is None:
            return None
        compiled = maker(self, expr, a, b)
        return compiled if compiled is not None and compiled[1] <= _LARGEST_VALUE else None

    def _constant(self, entry: Entry) -> _Compiled | None:
        magnitude = max(abs(entry[0]), abs(entry[1]))
        return (lambda bounds: entry), magnitude

    def _compile_cast(self, op: Cast) -> _Compiled | None:
        """Casts that change nothing; a narrowing one may turn an interval around."""
        value = self.compile(op.value)
        if value is None or not dtypes.is_int(op.dtype) or value[1] > everything(op.dtype)[1]:
            return None
        return value

    def make_add(self, op: Add, a: _Compiled, b: _Compiled) -> _Compiled:
        f, g = a[0], b[0]

        def bound_sum(bounds: Bounds) -> Entry:
            (a_low, a_high), (b_low, b_high) = f(bounds), g(bounds)
            return (a_low + b_low, a_high + b_high)

        return bound_sum, a[1] + b[1]

    def make_sub(self, op: Sub, a: _Compiled, b: _Compiled) -> _Compiled:
        f, g = a[0], b[0]

        def bound_difference(bounds: Bounds) -> Entry:
            (a_low, a_high), (b_low, b_high) = f(bounds), g(bounds)
            return (a_low - b_high, a_high - b_low)

        return bound_difference, a[1] + b[1]

    def make_mul(self, op: Mul, a: _Compiled, b: _Compiled) -> _Compiled | None:
        f, factor = a[0], as_const_int(op.b)
        if factor is None or factor < 0:
            return None

        def bound_multiple(bounds: Bounds) -> Entry:
            low, high = f(bounds)
            return (low * factor, high * factor)

        return bound_multiple, a[1] * factor

    def make_floordiv(self, op: FloorDiv, a: _Compiled, b: _Compiled) -> _Compiled | None:
        f, divisor = a[0], as_const_int(op.b)
        if divisor is None or divisor <= 0:
            return None

        def bound_quotient(bounds: Bounds) -> Entry:
            low, high = f(bounds)
            return (low // divisor, high // divisor)

        return bound_quotient, a[1]

    def make_floormod(self, op: FloorMod, a: _Compiled, b: _Compiled) -> _Compiled | None:
        f, divisor = a[0], as_const_int(op.b)
        if divisor is None or divisor <= 0:
            return None
        residues = _residue_bound(*self.modular_set.visit(op.a), divisor)
        if residues is not None:
            return self._constant(residues)
        last = divisor - 1

        def bound_remainder(bounds: Bounds) -> Entry:
            low, high = f(bounds)
            if low < 0:
                return (0, last)
            if high < divisor:
                return (low, high)
            return (0, last)

        return bound_remainder, divisor

    def make_min(self, op: Min, a: _Compiled, b: _Compiled) -> _Compiled:
        f, g = a[0], b[0]

        def bound_min(bounds: Bounds) -> Entry:
            (a_low, a_high), (b_low, b_high) = f(bounds), g(bounds)
            return (min(a_low, b_low), min(a_high, b_high))

        return bound_min, max(a[1], b[1])

    def make_max(self, op: Max, a: _Compiled, b: _Compiled) -> _Compiled:
        f, g = a[0], b[0]

        def bound_max(bounds: Bounds) -> Entry:
            (a_low, a_high), (b_low, b_high) = f(bounds), g(bounds)
            return (max(a_low, b_low), max(a_high, b_high))

        return bound_max, max(a[1], b[1])


_MAKERS: dict[type, Callable[..., _Compiled | None]] = {
    Add: _Compiler.make_add,
    Sub: _Compiler.make_sub,
    Mul: _Compiler.make_mul,
    FloorDiv: _Compiler.make_floordiv,
    FloorMod: _Compiler.make_floormod,
    Min: _Compiler.make_min,
    Max: _Compiler.make_max,
}
