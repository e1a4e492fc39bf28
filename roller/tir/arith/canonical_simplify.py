"""Simplification by canonical form: sums of scaled pieces ``((index % upper) // lower) * scale`` plus a constant.

Stands in for TVM's ``src/arith/canonical_simplify.cc`` and ``product_normal_form.h``. While an expression is being
visited, integer sums, products, quotients and remainders are kept as `SumExpr` and `SplitExpr`; everything else, and
whatever leaves the simplifier, is an ordinary expression (`normalize`).

The rules for vectors and scalable vectors are left out: every expression here has one lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import expr as tir
from ..dtypes import bits
from ..expr import (
    FOLD,
    LT,
    Add,
    BinaryOpExpr,
    Cast,
    CommReducer,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Mod,
    Mul,
    PrimExpr,
    Reduce,
    Select,
    Sub,
    Var,
    cast,
    deep_equal,
)
from .analyzer import unpack_reduction
from .compare_result import CompareResult
from .const_int_bound import POS_INF
from .int_operator import truncdiv, truncmod, wrap_int32, wrap_int64, zero_aware_gcd
from .ir_mutator_with_analyzer import READ_STATE, side_effect
from .rewrite_simplify import RewriteSimplifierImpl

if TYPE_CHECKING:
    from .analyzer import Analyzer

# How a quotient rounds (tvm: include/tvm/arith/analyzer.h, DivMode). The sort of a sum's pieces compares them.
TRUNC_DIV = 0
FLOOR_DIV = 1

INDEX_BITS = {"int32": 32, "int64": 64}


def combine(op: type[BinaryOpExpr], a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """``op(a, b)`` with constants folded: the operators of `expr`, for operands known to be integers of one dtype."""
    folded = FOLD[op](a, b)
    return op(a, b) if folded is None else folded


# tvm: src/arith/canonical_simplify.cc (ModImpl)
def mod_impl(a: PrimExpr, b: PrimExpr, mode: int) -> PrimExpr:
    return combine(Mod if mode == TRUNC_DIV else FloorMod, a, b)


# tvm: src/arith/canonical_simplify.cc (DivImpl)
def div_impl(a: PrimExpr, b: PrimExpr, mode: int) -> PrimExpr:
    return combine(Div if mode == TRUNC_DIV else FloorDiv, a, b)


# tvm: src/arith/canonical_simplify.cc (CastIsSafe)
def cast_is_safe(dtype: str, value: PrimExpr, analyzer: Analyzer) -> bool:
    """Whether every value that `value` can take fits in `dtype`."""
    if dtype not in INDEX_BITS:
        return False
    if bits(value.dtype) <= INDEX_BITS[dtype]:
        return True
    min_value, max_value = analyzer.const_int_bound.visit(value)
    limit = 1 << (INDEX_BITS[dtype] - 1)
    return max_value < limit and min_value >= -limit


# tvm: src/arith/canonical_simplify.cc (SplitExprNode)
class SplitExpr:
    """One piece of a sum: ``((index % upper_factor) / lower_factor) * scale``.

    `div_mode` says which ``/`` and ``%``. Never changed once made (TVM copies on write): the methods give new pieces.
    ``upper_factor`` is POS_INF for no remainder, otherwise a multiple of ``lower_factor``.
    """

    __slots__ = ("div_mode", "dtype", "index", "lower_factor", "scale", "upper_factor")

    def __init__(
        self,
        dtype: str,
        index: PrimExpr,
        lower_factor: int = 1,
        upper_factor: int = POS_INF,
        scale: int = 1,
        div_mode: int = TRUNC_DIV,
    ) -> None:
        self.dtype = dtype
        self.index = index
        self.lower_factor = lower_factor
        self.upper_factor = upper_factor
        self.scale = scale
        self.div_mode = div_mode

    def __repr__(self) -> str:
        return f"(({self.index} % {self.upper_factor}) / {self.lower_factor}) * {self.scale}"

    def with_scale(self, scale: int) -> SplitExpr:
        return SplitExpr(self.dtype, self.index, self.lower_factor, self.upper_factor, scale, self.div_mode)

    def with_upper_factor(self, upper_factor: int) -> SplitExpr:
        return SplitExpr(self.dtype, self.index, self.lower_factor, upper_factor, self.scale, self.div_mode)

    def with_div_mode(self, div_mode: int) -> SplitExpr:
        return SplitExpr(self.dtype, self.index, self.lower_factor, self.upper_factor, self.scale, div_mode)

    def normalize_with_scale(self, extra_scale: int) -> PrimExpr:
        """The ordinary expression for this piece times `extra_scale`."""
        if self.scale == 0:
            return IntImm(self.dtype, 0)
        result = self.index
        if self.upper_factor != POS_INF:
            result = mod_impl(result, IntImm(self.dtype, self.upper_factor), self.div_mode)
        if self.lower_factor != 1:
            result = div_impl(result, IntImm(self.dtype, self.lower_factor), self.div_mode)
        scale = wrap_int64(extra_scale * self.scale)
        if scale != 1:
            result = combine(Mul, result, IntImm(self.dtype, scale))
        return result

    def normalize(self) -> PrimExpr:
        return self.normalize_with_scale(1)

    def multiplied(self, scale: int) -> SplitExpr:
        return self.with_scale(wrap_int64(self.scale * scale))

    def can_push_cast_to_children(self, dtype: str, analyzer: Analyzer) -> bool:
        """Whether the cast of the piece is the piece of the cast index: a widening, or no intermediate overflows."""
        if INDEX_BITS[dtype] >= INDEX_BITS[self.dtype]:
            return True
        if self.scale == 0:
            return True
        result = self.index
        if not cast_is_safe(dtype, result, analyzer):
            return False
        if self.upper_factor != POS_INF:
            result = mod_impl(result, IntImm(self.dtype, self.upper_factor), self.div_mode)
            if not cast_is_safe(dtype, result, analyzer):
                return False
        if self.lower_factor != 1:
            result = div_impl(result, IntImm(self.dtype, self.lower_factor), self.div_mode)
            if not cast_is_safe(dtype, result, analyzer):
                return False
        if self.scale != 1:
            result = combine(Mul, result, IntImm(self.dtype, self.scale))
            if not cast_is_safe(dtype, result, analyzer):
                return False
        return True

    def push_cast_to_children(self, dtype: str) -> SplitExpr:
        index = cast(dtype, self.index)
        return SplitExpr(dtype, index, self.lower_factor, self.upper_factor, self.scale, self.div_mode)

    def index_equal(self, other: SplitExpr) -> bool:
        a, b = self.index, other.index
        return a is b or (type(a) is not Var and type(a) is type(b) and deep_equal(a, b))

    def div_mode_compatible_to(self, mode: int) -> bool:
        """Whether the piece means the same in `mode`: it has it already, or divides nothing."""
        return self.div_mode == mode or (self.lower_factor == 1 and self.upper_factor == POS_INF)


# tvm: src/arith/canonical_simplify.cc (SumExprNode)
class SumExpr:
    """A sum of pieces and a constant: ``sum(args) + base``.

    Pieces with the same index stand next to each other, the larger `lower_factor` first. Changed in place by whoever
    made it; nothing keeps a sum after handing it on.
    """

    __slots__ = ("args", "base", "dtype")

    def __init__(self, dtype: str, args: list[SplitExpr], base: int = 0) -> None:
        self.dtype = dtype
        self.args = args
        self.base = base

    def __repr__(self) -> str:
        return " + ".join([*map(repr, self.args), str(self.base)])

    def is_zero(self) -> bool:
        return self.base == 0 and not self.args

    def normalize(self) -> PrimExpr:
        """The ordinary expression for the sum: pieces merged, positive ones first, by descending scale."""
        if not self.args:
            return IntImm(self.dtype, self.base)
        return normalize_sum(self.dtype, simplify_split_exprs(self.args), self.base)

    def multiply(self, scale: int) -> None:
        self.base = wrap_int64(self.base * scale)
        self.args = [arg.multiplied(scale) for arg in self.args]

    def divide_by(self, scale: int) -> None:
        """Divide exactly: the caller has seen to it that everything is a multiple of `scale`."""
        self.base = truncdiv(self.base, scale)
        self.args = [arg.with_scale(truncdiv(arg.scale, scale)) for arg in self.args]

    def add_constant(self, value: int) -> None:
        self.base = wrap_int64(self.base + value)

    def add_split(self, other: SplitExpr, scale: int) -> None:
        """Add ``other * scale``, next to the pieces of the same index."""
        if other.scale == 0:
            return
        args = self.args
        count = len(args)
        start = 0
        while start < count and not args[start].index_equal(other):
            start += 1
        position = start
        while position < count:
            arg = args[position]
            if not arg.index_equal(other) or other.lower_factor > arg.lower_factor:
                break
            if (
                other.lower_factor == arg.lower_factor
                and other.upper_factor == arg.upper_factor
                and other.div_mode_compatible_to(arg.div_mode)
            ):
                args[position] = arg.with_scale(wrap_int64(arg.scale + other.scale * scale))
                return
            position += 1
        args.insert(position, other.multiplied(scale))

    def add_sum(self, other: SumExpr, scale: int) -> None:
        """Add ``other * scale``."""
        for arg in other.args:
            self.add_split(arg, scale)
        self.add_constant(other.base * scale)

    def can_push_cast_to_children(self, dtype: str, analyzer: Analyzer) -> bool:
        """Whether the cast of the sum is the sum of the cast pieces: a widening, or no partial sum overflows."""
        if INDEX_BITS[dtype] >= INDEX_BITS[self.dtype]:
            return True
        # The order of the partial sums is the order in which normalize_sum adds them up.
        is_min_value = self.base == -(1 << (INDEX_BITS[dtype] - 1))
        result: PrimExpr = IntImm(dtype, 0)
        for arg in self.args:
            if arg.scale > 0:
                result = tir.add(result, arg.normalize())
                if not cast_is_safe(dtype, result, analyzer):
                    return False
        if self.base > 0 or is_min_value:
            result = tir.add(result, IntImm(dtype, self.base))
            if not cast_is_safe(dtype, result, analyzer):
                return False
        for arg in self.args:
            if arg.scale < 0:
                result = tir.sub(result, arg.normalize_with_scale(-1))
                if not cast_is_safe(dtype, result, analyzer):
                    return False
        if self.base < 0 and not is_min_value:
            result = tir.sub(result, IntImm(dtype, -self.base))
            if not cast_is_safe(dtype, result, analyzer):
                return False
        return all(arg.can_push_cast_to_children(dtype, analyzer) for arg in self.args)

    def push_cast_to_children(self, dtype: str) -> None:
        self.args = [arg.push_cast_to_children(dtype) for arg in self.args]
        self.dtype = dtype


CanonicalExpr = PrimExpr | SumExpr | SplitExpr


def piece_order(arg: SplitExpr) -> tuple[int, int, int, int]:
    """Sort key of the pieces: descending scale, lower factor, upper factor, division mode."""
    return (-arg.scale, -arg.lower_factor, -arg.upper_factor, -arg.div_mode)


# tvm: src/arith/canonical_simplify.cc (SumExprNode::SimplifySplitExprs)
def simplify_split_exprs(pieces: list[SplitExpr]) -> list[SplitExpr]:
    """Merge the pieces that belong to one index and sort them. Relies on the order that `SumExpr` keeps.

    The merge is ``(x / (c*s)) * s + (x % (c*s)) / c = x / c``, where x may itself be a remainder: for instance
    ``(z / 6) * 6 + ((z % 6) / 3) * 3`` becomes ``(z / 3) * 3``.
    """
    if len(pieces) == 1:
        return pieces
    args = list(pieces)
    count = len(args)
    for i in range(count):
        if args[i].scale == 0:
            continue
        for j in range(i + 1, count):
            left, right = args[i], args[j]
            if not left.index_equal(right):
                break
            if left.upper_factor < right.lower_factor:
                break
            if (
                left.upper_factor == right.upper_factor
                and left.lower_factor == right.lower_factor
                and left.div_mode_compatible_to(right.div_mode)
            ):
                args[j] = right.with_scale(wrap_int64(right.scale + left.scale))
                args[i] = left.with_scale(0)
            elif (
                left.lower_factor == right.upper_factor
                and right.scale != 0
                and left.scale % right.scale == 0
                and left.lower_factor == (left.scale // right.scale) * right.lower_factor
                and left.div_mode_compatible_to(right.div_mode)
            ):
                args[j] = right.with_upper_factor(left.upper_factor)
                args[i] = left.with_scale(0)
                break
    # Equal keys keep their order, as in std::stable_sort: indices are not compared.
    args.sort(key=piece_order)
    return args


# tvm: src/arith/canonical_simplify.cc (SumExprNode::Normalize_)
def normalize_sum(dtype: str, args: list[SplitExpr], base: int) -> PrimExpr:
    """Write the sum out: positive pieces, positive constant, then the negative ones by subtraction."""
    is_min_value = base == -(1 << (INDEX_BITS[dtype] - 1))
    result: PrimExpr | None = None
    for arg in args:
        if arg.scale > 0:
            term = arg.normalize()
            result = term if result is None else combine(Add, result, term)
    if base > 0 or is_min_value:
        constant = IntImm(dtype, base)
        result = constant if result is None else combine(Add, result, constant)
    if result is None:
        result = IntImm(dtype, 0)
    for arg in args:
        if arg.scale < 0:
            result = combine(Sub, result, arg.normalize_with_scale(-1))
    if base < 0 and not is_min_value:
        result = combine(Sub, result, IntImm(dtype, -base))
    return result


# tvm: src/arith/product_normal_form.h (MulAndNormalize)
def mul_and_normalize(left: PrimExpr, right: PrimExpr) -> PrimExpr:
    """The product as ``(x * y) * constant``: factors in their order, constants gathered at the end."""
    constant = 1
    result: PrimExpr = tir.make_const(left.dtype, 1)
    for factor in unpack_reduction(Mul, left) + unpack_reduction(Mul, right):
        if type(factor) is IntImm:
            constant = wrap_int64(constant * factor.value)
        else:
            result = tir.mul(result, factor)
    if constant != 1:
        result = tir.mul(result, tir.make_const(result.dtype, constant))
    return result


# tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl::Normalize)
def normalize(value: CanonicalExpr) -> PrimExpr:
    """The ordinary expression for whatever a visit gave."""
    kind = type(value)
    return value.normalize() if kind is SumExpr or kind is SplitExpr else value


# tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl::ToSplitExpr)
def to_split_expr(value: CanonicalExpr) -> SplitExpr:
    """The value as one piece: a sum of several becomes the index of a new one."""
    kind = type(value)
    if kind is SplitExpr:
        return value
    if kind is SumExpr:
        if value.base == 0 and len(value.args) == 1:
            return value.args[0]
        value = value.normalize()
    return SplitExpr(value.dtype, value)


# tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl::ToSumExpr)
def to_sum_expr(value: CanonicalExpr) -> SumExpr:
    """The value as a sum; a sum is handed through, not copied."""
    kind = type(value)
    if kind is SumExpr:
        return value
    if kind is IntImm:
        return SumExpr(value.dtype, [], value.value)
    return SumExpr(value.dtype, [to_split_expr(value)])


# tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl::ConvertDivMode)
def convert_div_mode(piece: SplitExpr, div_mode: int) -> SplitExpr:
    """An equal piece in `div_mode`: a piece that divides in the other mode becomes the index of a new one."""
    if piece.div_mode == div_mode:
        return piece
    if not piece.div_mode_compatible_to(div_mode):
        piece = to_split_expr(piece.normalize())
    return piece.with_div_mode(div_mode)


def add_to_sum(total: SumExpr, value: CanonicalExpr, sign: int) -> SumExpr:
    """``total + sign * value``, in place."""
    kind = type(value)
    if kind is IntImm:
        total.add_constant(sign * value.value)
    elif kind is SumExpr:
        total.add_sum(value, sign)
    else:
        total.add_split(to_split_expr(value), sign)
    return total


# tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl::SeparateDivisibleParts)
def separate_divisible_parts(total: SumExpr, coefficient: int) -> tuple[SumExpr, SumExpr]:
    """The terms of a sum that are multiples of `coefficient`, and the others."""
    divisible = SumExpr(total.dtype, [arg for arg in total.args if arg.scale % coefficient == 0])
    rest = SumExpr(total.dtype, [arg for arg in total.args if arg.scale % coefficient != 0])
    if total.base % coefficient == 0:
        divisible.base = total.base
    else:
        rest.base = total.base
    return divisible, rest


# tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl::SplitDivConst)
def split_div_const(piece: SplitExpr, divisor: int, div_mode: int) -> SplitExpr:
    """``piece / divisor`` for a positive constant; the rules hold for both ways of rounding."""
    piece = convert_div_mode(piece, div_mode)
    if piece.scale % divisor == 0:
        return piece.with_scale(truncdiv(piece.scale, divisor))
    if divisor % piece.scale == 0:
        factor = truncdiv(divisor, piece.scale)
        lower_factor = wrap_int64(piece.lower_factor * factor)
        if piece.upper_factor == POS_INF or piece.upper_factor % lower_factor == 0:
            return SplitExpr(piece.dtype, piece.index, lower_factor, piece.upper_factor, 1, div_mode)
        if piece.upper_factor <= lower_factor:
            # (x % c1) / c2 is 0 when c2 >= c1.
            return to_split_expr(IntImm(piece.dtype, 0))
        # The factors do not divide one another, so the remainder moves into the index.
        index = mod_impl(piece.index, IntImm(piece.dtype, piece.upper_factor), div_mode)
        return SplitExpr(piece.dtype, index, lower_factor, POS_INF, 1, div_mode)
    piece = to_split_expr(piece.normalize())
    return SplitExpr(piece.dtype, piece.index, divisor, piece.upper_factor, piece.scale, div_mode)


# tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl::ProdDivSimplify)
def prod_div_simplify(left: PrimExpr, right: PrimExpr) -> tuple[PrimExpr, PrimExpr, PrimExpr] | None:
    """Cancel the factors that a dividend and a symbolic divisor share.

    Gives the two without them, and the product of what was cancelled; None when there is nothing to cancel. With
    either rounding ``(a*c) / (b*c) = a / b`` and ``(a*c) % (b*c) = (a % b) * c``.
    """
    if type(right) is IntImm:  # constants are covered by the other rules
        return None
    left_constant = right_constant = 1
    left_factors: list[PrimExpr | None] = []
    for factor in unpack_reduction(Mul, left):
        if type(factor) is IntImm:
            left_constant = wrap_int64(left_constant * factor.value)
        else:
            left_factors.append(factor)

    common: PrimExpr = tir.make_const(right.dtype, 1)
    new_right: PrimExpr = tir.make_const(right.dtype, 1)
    cancelled = 0
    for factor in unpack_reduction(Mul, right):
        if type(factor) is IntImm:
            right_constant = wrap_int64(right_constant * factor.value)
            continue
        for i, candidate in enumerate(left_factors):
            if candidate is not None and deep_equal(factor, candidate):
                left_factors[i] = None
                cancelled += 1
                common = tir.mul(common, factor)
                break
        else:
            new_right = tir.mul(new_right, factor)

    constant = zero_aware_gcd(left_constant, right_constant)
    left_constant = truncdiv(left_constant, constant)
    right_constant = truncdiv(right_constant, constant)
    if cancelled == 0 and constant == 1:
        return None

    new_left: PrimExpr = tir.make_const(left.dtype, 1)
    for factor in left_factors:
        if factor is not None:
            new_left = tir.mul(new_left, factor)
    new_left = tir.mul(new_left, tir.make_const(left.dtype, left_constant))
    new_right = tir.mul(new_right, tir.make_const(right.dtype, right_constant))
    return new_left, new_right, tir.mul(common, tir.make_const(new_right.dtype, constant))


def uses_any(expr: PrimExpr, *variables: Var) -> bool:
    """Whether one of the variables occurs in the expression."""
    found = False

    def visit(node) -> None:
        nonlocal found
        if any(node is var for var in variables):
            found = True

    tir.post_order_visit(expr, visit)
    return found


# tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl)
class CanonicalSimplifierImpl(RewriteSimplifierImpl):
    """The visitor: integer arithmetic in canonical form, the rewrite rules for everything else.

    Two ways to visit: `visit` gives ordinary expressions, and is what the inherited methods call on their operands;
    `canonical_mutate` leaves sums and pieces as they are for the arithmetic above them.
    """

    def visit(self, expr: PrimExpr) -> PrimExpr:
        result = RewriteSimplifierImpl.visit(self, expr)
        kind = type(result)
        return result.normalize() if kind is SumExpr or kind is SplitExpr else result

    def canonical_mutate(self, expr: PrimExpr) -> CanonicalExpr:
        return RewriteSimplifierImpl.visit(self, expr)

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const AddNode*))
    def visit_add(self, op: Add) -> CanonicalExpr:
        if op.dtype not in INDEX_BITS:
            return RewriteSimplifierImpl.visit_add(self, op)
        a = self.canonical_mutate(op.a)
        b = self.canonical_mutate(op.b)
        folded = FOLD[Add](a, b)
        if folded is not None:
            return folded
        return add_to_sum(to_sum_expr(a), b, 1)

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const SubNode*))
    def visit_sub(self, op: Sub) -> CanonicalExpr:
        if op.dtype not in INDEX_BITS:
            return RewriteSimplifierImpl.visit_sub(self, op)
        a = self.canonical_mutate(op.a)
        b = self.canonical_mutate(op.b)
        folded = FOLD[Sub](a, b)
        if folded is not None:
            return folded
        return add_to_sum(to_sum_expr(a), b, -1)

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const MulNode*))
    def visit_mul(self, op: Mul) -> CanonicalExpr:
        if op.dtype not in INDEX_BITS:
            return RewriteSimplifierImpl.visit_mul(self, op)
        a = self.canonical_mutate(op.a)
        b = self.canonical_mutate(op.b)
        folded = FOLD[Mul](a, b)
        if folded is not None:
            return folded
        if type(a) is IntImm:
            a, b = b, a
        if type(b) is IntImm:
            if type(a) is SumExpr:
                a.multiply(b.value)
                return a
            return to_split_expr(a).multiplied(b.value)

        a = normalize(a)
        b = normalize(b)
        product = mul_and_normalize(a, b)
        if type(product) is Mul and product.a is op.a and product.b is op.b:
            return op
        return product

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const DivNode*))
    def visit_div(self, op: Div) -> CanonicalExpr:
        if op.dtype not in INDEX_BITS:
            return RewriteSimplifierImpl.visit_div(self, op)
        a = self.canonical_mutate(op.a)
        b = self.canonical_mutate(op.b)
        folded = FOLD[Div](a, b)
        if folded is not None:
            return folded
        if type(b) is IntImm and b.value > 0:
            return self.div_by_constant(a, b.value)

        a = normalize(a)
        b = normalize(b)
        cancelled = prod_div_simplify(a, b)
        if cancelled is not None:
            return tir.truncdiv(cancelled[0], cancelled[1])
        return op if a is op.a and b is op.b else Div(a, b)

    def div_by_constant(self, a: CanonicalExpr, divisor: int) -> CanonicalExpr:
        """``truncdiv(a, divisor)`` for a positive constant other than 1."""
        analyzer = self.analyzer
        if type(a) is not SumExpr:
            if self.is_within(a, divisor):
                return IntImm(a.dtype, 0)
            return split_div_const(to_split_expr(a), divisor, TRUNC_DIV)

        divisible, rest = separate_divisible_parts(a, divisor)
        if rest.is_zero():
            divisible.divide_by(divisor)
            return divisible
        # Only of two terms that are not negative can the quotients be taken apart.
        if analyzer.can_prove_greater_equal(divisible.normalize(), 0) and analyzer.can_prove_greater_equal(
            rest.normalize(), 0
        ):
            divisible.divide_by(divisor)
            extra = rest.normalize()
            if type(extra) is IntImm:
                divisible.add_constant(truncdiv(extra.value, divisor))
            elif self.try_compare(extra, divisor) != CompareResult.kLT:
                divisible.add_split(split_div_const(to_split_expr(extra), divisor, TRUNC_DIV), 1)
            return divisible
        return split_div_const(to_split_expr(a), divisor, TRUNC_DIV)

    def is_within(self, value: CanonicalExpr, limit: int) -> bool:
        """Whether constant bounds put the value into ``[0, limit)``."""
        min_value, max_value = self.analyzer.const_int_bound.visit(normalize(value))
        return min_value >= 0 and max_value < limit

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const FloorDivNode*))
    def visit_floordiv(self, op: FloorDiv) -> CanonicalExpr:
        if op.dtype not in INDEX_BITS:
            return RewriteSimplifierImpl.visit_floordiv(self, op)
        a = self.canonical_mutate(op.a)
        b = self.canonical_mutate(op.b)
        folded = FOLD[FloorDiv](a, b)
        if folded is not None:
            return folded
        if type(b) is IntImm and b.value > 0:
            return self.floordiv_by_constant(a, b.value)

        a = normalize(a)
        b = normalize(b)
        cancelled = prod_div_simplify(a, b)
        if cancelled is not None:
            return tir.floordiv(cancelled[0], cancelled[1])
        return op if a is op.a and b is op.b else FloorDiv(a, b)

    def floordiv_by_constant(self, a: CanonicalExpr, divisor: int) -> CanonicalExpr:
        """``floordiv(a, divisor)`` for a positive constant other than 1."""
        if type(a) is not SumExpr:
            if self.is_within(a, divisor):
                return IntImm(a.dtype, 0)
            return split_div_const(to_split_expr(a), divisor, FLOOR_DIV)

        divisible, rest = separate_divisible_parts(a, divisor)
        divisible.divide_by(divisor)
        if rest.is_zero():
            return divisible
        extra = rest.normalize()
        if type(extra) is IntImm:
            divisible.add_constant(extra.value // divisor)
        elif not self.is_below(extra, divisor):
            divisible.add_split(split_div_const(to_split_expr(extra), divisor, FLOOR_DIV), 1)
        return divisible

    def is_below(self, value: PrimExpr, limit: int) -> bool:
        """Whether the simplifier can prove that the value lies in ``[0, limit)``."""
        if self.try_compare(value, limit) != CompareResult.kLT:
            return False
        return self.analyzer.can_prove_greater_equal(value, 0)

    # tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl::SplitModConst)
    def split_mod_const(self, piece: SplitExpr, divisor: int, div_mode: int) -> SplitExpr:
        """``piece % divisor`` for a positive constant; the rules hold for both ways of rounding.

        With ``divisor = c * scale``, the piece ``((index % upper) / lower) * scale`` has the remainder
        ``((index % upper) % (lower * c) / lower) * scale``.
        """
        piece = convert_div_mode(piece, div_mode)
        if piece.scale % divisor == 0:
            return piece.with_scale(0)
        if divisor % piece.scale == 0:
            new_upper = wrap_int64(piece.lower_factor * truncdiv(divisor, piece.scale))
            if piece.upper_factor == POS_INF:
                return piece.with_upper_factor(new_upper)
            if piece.upper_factor % new_upper == 0:
                if new_upper >= piece.upper_factor:
                    return piece.with_upper_factor(new_upper)
                # The smaller remainder may simplify the index further.
                index = self.visit(mod_impl(piece.index, IntImm(piece.dtype, new_upper), div_mode))
                updated = to_split_expr(index)
                if piece.lower_factor != 1:
                    updated = split_div_const(updated, piece.lower_factor, div_mode)
                return updated.multiplied(piece.scale)
            if new_upper % piece.upper_factor == 0:
                # (x % 2) % 4 is x % 2.
                return piece
        piece = to_split_expr(piece.normalize())
        return SplitExpr(piece.dtype, piece.index, 1, divisor, 1, div_mode)

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const ModNode*))
    def visit_mod(self, op: Mod) -> CanonicalExpr:
        if op.dtype not in INDEX_BITS:
            return RewriteSimplifierImpl.visit_mod(self, op)
        a = self.canonical_mutate(op.a)
        b = self.canonical_mutate(op.b)
        folded = FOLD[Mod](a, b)
        if folded is not None:
            return folded
        if type(b) is IntImm and b.value > 0:
            return self.mod_by_constant(a, b)

        a = normalize(a)
        b = normalize(b)
        cancelled = prod_div_simplify(a, b)
        if cancelled is not None:
            return tir.mul(tir.truncmod(cancelled[0], cancelled[1]), cancelled[2])
        return op if a is op.a and b is op.b else Mod(a, b)

    def mod_by_constant(self, a: CanonicalExpr, b: IntImm) -> CanonicalExpr:
        """``truncmod(a, b)`` for a positive constant other than 1."""
        divisor = b.value
        analyzer = self.analyzer
        if type(a) is not SumExpr:
            if self.is_within(a, divisor):
                return a
            return self.split_mod_const(to_split_expr(a), divisor, TRUNC_DIV)

        divisible, rest = separate_divisible_parts(a, divisor)
        if rest.is_zero():
            return IntImm(a.dtype, 0)
        # Only of two terms that are not negative can the remainders be taken apart.
        if analyzer.can_prove_greater_equal(divisible.normalize(), 0) and analyzer.can_prove_greater_equal(
            rest.normalize(), 0
        ):
            extra = rest.normalize()
            if type(extra) is IntImm:
                return combine(Mod, extra, b)
            if self.try_compare(extra, divisor) == CompareResult.kLT:
                return extra
            a = rest
        # (x - 5) % 3 becomes (x - 2) % 3, if x - 5 is not negative and stays so.
        min_value = analyzer.const_int_bound.visit(a.normalize())[0]
        new_base = truncmod(a.base, divisor)
        if min_value >= 0 and min_value - a.base + new_base >= 0:
            a = SumExpr(a.dtype, a.args, new_base)
        return self.split_mod_const(to_split_expr(a), divisor, TRUNC_DIV)

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const FloorModNode*))
    def visit_floormod(self, op: FloorMod) -> CanonicalExpr:
        if op.dtype not in INDEX_BITS:
            return RewriteSimplifierImpl.visit_floormod(self, op)
        a = self.canonical_mutate(op.a)
        b = self.canonical_mutate(op.b)
        folded = FOLD[FloorMod](a, b)
        if folded is not None:
            return folded
        if type(b) is IntImm and b.value > 0:
            return self.floormod_by_constant(a, b)

        a = normalize(a)
        b = normalize(b)
        cancelled = prod_div_simplify(a, b)
        if cancelled is not None:
            return tir.mul(tir.floormod(cancelled[0], cancelled[1]), cancelled[2])
        return op if a is op.a and b is op.b else FloorMod(a, b)

    def floormod_by_constant(self, a: CanonicalExpr, b: IntImm) -> CanonicalExpr:
        """``floormod(a, b)`` for a positive constant other than 1."""
        divisor = b.value
        if type(a) is not SumExpr:
            if self.is_within(a, divisor):
                return a
            return self.split_mod_const(to_split_expr(a), divisor, FLOOR_DIV)

        _, rest = separate_divisible_parts(a, divisor)
        extra = rest.normalize()
        if type(extra) is IntImm:
            return combine(FloorMod, extra, b)
        if self.is_below(extra, divisor):
            return extra
        # (x - 5) % 3 becomes (x + 1) % 3.
        total = SumExpr(rest.dtype, rest.args, rest.base % divisor)
        return self.split_mod_const(to_split_expr(total), divisor, FLOOR_DIV)

    # tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::Impl::SimplifyReduceCombiner)
    def simplify_reduce_combiner(self, op: Reduce) -> Reduce:
        """Simplify the combiner's results and drop the components that the chosen one does not depend on.

        Components are also kept for their side effects. Source and initial values stay as they are.
        """
        combiner = op.combiner
        simplified = [self.visit(result) for result in combiner.result]
        count = len(simplified)
        used = [False] * count

        def mark_used(index: int) -> None:
            if used[index]:
                return
            used[index] = True
            for i in range(count):
                if not used[i] and uses_any(simplified[index], combiner.lhs[i], combiner.rhs[i]):
                    mark_used(i)

        mark_used(op.value_index)
        for i in range(count):
            parts = [op.source[i], combiner.identity_element[i], combiner.result[i], *op.init[i : i + 1]]
            if any(side_effect(part) > READ_STATE for part in parts):
                mark_used(i)

        kept = [i for i in range(count) if used[i]]
        # The identities are simplified as well, each in its turn.
        new_combiner = CommReducer(
            [combiner.lhs[i] for i in kept],
            [combiner.rhs[i] for i in kept],
            [simplified[i] for i in kept],
            [self.visit(combiner.identity_element[i]) for i in kept],
        )
        source = [op.source[i] for i in kept]
        init = [op.init[i] for i in kept] if op.init else []
        return Reduce(new_combiner, source, op.axis, op.condition, kept.index(op.value_index), init)

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const ReduceNode*))
    def visit_reduce(self, op: Reduce) -> PrimExpr:
        reduce = RewriteSimplifierImpl.visit_reduce(self, op)
        if type(reduce) is not Reduce:
            return reduce
        if reduce.axis:
            return self.simplify_reduce_combiner(reduce)
        chosen = reduce.value_index
        if reduce.init:
            combined = reduce.combiner(reduce.init, reduce.source)[chosen]
            return self.visit(Select(reduce.condition, combined, reduce.init[chosen]))
        # The identity element is taken at its word: combining with it changes nothing.
        identity = reduce.combiner.identity_element[chosen]
        return self.visit(Select(reduce.condition, reduce.source[chosen], identity))

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const CastNode*))
    def visit_cast(self, op: Cast) -> CanonicalExpr:
        if op.dtype not in INDEX_BITS:
            return RewriteSimplifierImpl.visit_cast(self, op)
        value = self.canonical_mutate(op.value)
        kind = type(value)
        if kind is SumExpr and value.can_push_cast_to_children(op.dtype, self.analyzer):
            value.push_cast_to_children(op.dtype)
            return value
        if kind is SplitExpr and value.can_push_cast_to_children(op.dtype, self.analyzer):
            return value.push_cast_to_children(op.dtype)
        return RewriteSimplifierImpl.visit_cast(self, op)

    # tvm: src/arith/canonical_simplify.cc (VisitExpr_(const LTNode*))
    def visit_lt(self, op: LT) -> PrimExpr:
        """``a < b`` through ``a - b < 0``, divided by the gcd d of the scales and the constant.

        When what d does not divide lies in ``[0, d)`` it goes: with y in 0..7, ``x * 8 + y < 16`` is ``x < 2``. When it
        is one piece ``(y % m) / l`` with ``m % (d*l) == 0``, its quotient by d stays:
        ``x1 * 64 + (x2 * 8 + x3) % 64 < 120`` is ``x1 * 8 + (x2 * 8 + x3) // 8 % 8 < 15``.
        """
        difference = self.canonical_mutate(tir.sub(op.a, op.b))
        if type(difference) is not SumExpr:
            return RewriteSimplifierImpl.visit_lt(self, op)
        gcd = difference.base
        has_non_one_scale = False
        for arg in difference.args:
            if arg.scale > 1 or arg.scale < -1:
                has_non_one_scale = True
                gcd = zero_aware_gcd(gcd, arg.scale)
        if not has_non_one_scale or gcd <= 1:
            return RewriteSimplifierImpl.visit_lt(self, op)

        divisible, rest = separate_divisible_parts(difference, gcd)
        dtype = divisible.dtype
        zero = IntImm(dtype, 0)
        extra = rest.normalize()
        analyzer = self.analyzer
        if analyzer.can_prove(tir.less(extra, IntImm(dtype, gcd))) and analyzer.can_prove(
            tir.greater_equal(extra, zero)
        ):
            divisible.divide_by(gcd)
            return RewriteSimplifierImpl.visit(self, tir.less(divisible.normalize(), zero))

        # The scale has to be +1: with -1 the quotient would turn < into <=.
        if len(rest.args) == 1 and rest.args[0].scale == 1:
            piece = rest.args[0]
            lower_factor = wrap_int64(gcd * piece.lower_factor)
            if piece.upper_factor != POS_INF and piece.upper_factor % lower_factor == 0:
                divisible.divide_by(gcd)
                # TVM hands both constants on as C++ ints.
                quotient = tir.floordiv(piece.index, IntImm(dtype, wrap_int32(lower_factor)))
                modulus = IntImm(dtype, wrap_int32(piece.upper_factor // lower_factor))
                extra = tir.floormod(quotient, modulus)
                return RewriteSimplifierImpl.visit(self, tir.less(tir.add(divisible.normalize(), extra), zero))
        return RewriteSimplifierImpl.visit_lt(self, op)


# tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier)
class CanonicalSimplifier:
    """Simplifies by canonical form: ``(x * 4 + y) // 4`` with y in 0..3 becomes ``x``."""

    __slots__ = ("impl",)

    def __init__(self, parent: Analyzer) -> None:
        self.impl = CanonicalSimplifierImpl(parent)

    def __call__(self, expr: PrimExpr) -> PrimExpr:
        """The simplified expression: one pass over it."""
        return self.impl.visit(expr if isinstance(expr, PrimExpr) else tir.convert(expr))

    def update(self, var: Var, info: PrimExpr, allow_override: bool = False) -> None:
        """Let `info` stand for the variable from now on."""
        self.impl.update(var, info, allow_override)

    # tvm: src/arith/canonical_simplify.cc (CanonicalSimplifier::CopyFrom)
    def copy_from(self, other: CanonicalSimplifier) -> None:
        """Take over what another simplifier knows of variables and constraints."""
        self.impl.copy_from(other.impl)
