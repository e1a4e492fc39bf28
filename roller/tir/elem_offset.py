"""Where an element lies in a buffer: the row-major offset of an index, simplified.

Stands in for ``BufferNode::ElemOffset`` and what it needs (src/tirx/ir/buffer.cc), for buffers without strides, axis
separators and an offset of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from .arith import Analyzer
from .expr import (
    Add,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    PrimExpr,
    TirError,
    add,
    convert,
    deep_equal,
    floormod,
    mul,
    sub,
)


# tvm: src/tirx/ir/buffer.cc (BufferNode::ElemOffset)
def elem_offset(name: str, shape: Sequence[PrimExpr], indices: Sequence) -> PrimExpr:
    """The offset, in elements, of an index into the buffer ``name``. TirError unless there is one index per axis."""
    if len(shape) != len(indices):
        raise TirError(f"the buffer {name} has {len(shape)} axes, it cannot be indexed with {len(indices)}")
    analyzer = Analyzer()
    offset: PrimExpr = IntImm("int32", 0)
    for axis, (extent, index) in enumerate(zip(shape, indices)):
        offset = add(mul(offset, extent), convert(index))
        if axis > 0:
            offset = _merge_mul_mod(analyzer, offset)
    return analyzer.simplify(offset)


class _Terms:
    """The terms of a sum, by kind: products, remainders as (dividend, divisor), and the sum of all others."""

    def __init__(self) -> None:
        self.products: list[PrimExpr] = []
        self.remainders: list[tuple[PrimExpr, PrimExpr]] = []
        self.rest: PrimExpr | None = None

    # tvm: src/tirx/ir/buffer.cc (MergeMulModInsertElements)
    def insert(self, terms: Sequence[PrimExpr]) -> tuple[bool, bool]:
        """Take in further terms. Tells whether there were products, and remainders, among them."""
        for term in terms:
            if type(term) is FloorMod:
                self.remainders.append((term.a, term.b))
            elif type(term) is Mul:
                self.products.append(term)
            else:
                self.add_rest(term)
        kinds = {type(term) for term in terms}
        return Mul in kinds, FloorMod in kinds

    def add_rest(self, term: PrimExpr) -> None:
        self.rest = term if self.rest is None else add(self.rest, term)


# tvm: src/tirx/ir/buffer.cc (MergeMulMod)
def _merge_mul_mod(analyzer: Analyzer, base: PrimExpr) -> PrimExpr:
    """The sum with every ``(a + c // m * k) * t + c % m`` in it, where ``m == k * t``, made ``a * t + c``."""
    base = analyzer.simplify(_undo_split(base))
    terms = _Terms()
    terms.insert(_split_addition(base))
    found = False
    position = 0
    while position < len(terms.remainders):
        merged = None
        for at, product in enumerate(terms.products):
            merged = _merge_into(analyzer, product, *terms.remainders[position])
            if merged is not None:
                break
        if merged is None:
            position += 1
            continue
        found = True
        del terms.remainders[position], terms.products[at]
        was_last = position == len(terms.remainders)
        has_products, has_remainders = terms.insert(_split_addition(merged))
        if has_products:
            position = 0
        elif was_last:
            # TVM goes on with the last of the new remainders, if there are any.
            position = len(terms.remainders) - (1 if has_remainders else 0)
    if not found:
        return base
    for product in terms.products:
        terms.add_rest(product)
    for dividend, divisor in terms.remainders:
        terms.add_rest(floormod(dividend, divisor))
    return terms.rest


def _undo_split(base: PrimExpr) -> PrimExpr:
    """``x`` for ``x // y * y + x % y``."""
    if type(base) is not Add or type(base.a) is not Mul or type(base.b) is not FloorMod:
        return base
    quotient, divisor, remainder = base.a.a, base.a.b, base.b
    if type(quotient) is not FloorDiv or not deep_equal(quotient.b, divisor) or not deep_equal(remainder.b, divisor):
        return base
    return quotient.a if deep_equal(quotient.a, remainder.a) else base


# tvm: src/tirx/ir/buffer.cc (ExprSplitAddition)
def _split_addition(expr: PrimExpr) -> list[PrimExpr]:
    """The terms of a sum from left to right."""
    if type(expr) is not Add:
        return [expr]
    return _split_addition(expr.a) + _split_addition(expr.b)


# tvm: src/tirx/ir/buffer.cc (MergeMulModInner)
def _merge_into(
    analyzer: Analyzer, product: PrimExpr, dividend: PrimExpr, divisor: PrimExpr
) -> PrimExpr | None:
    """``(a + c // m * k) * t + dividend % divisor`` as ``a * t + c``; None where they do not belong together."""
    outer = product.b
    inner = product.a
    while type(inner) is Mul:
        outer = mul(inner.b, outer)
        inner = inner.a

    factor: PrimExpr | None = None
    others: PrimExpr | None = None
    while True:
        if type(inner) is FloorDiv:
            overall = outer if factor is None else mul(factor, outer)
            fits = deep_equal(overall, inner.b) and deep_equal(overall, divisor)
            if not fits or not analyzer.can_prove_equal(floormod(sub(inner.a, dividend), divisor), 0):
                return None
            return inner.a if others is None else add(mul(others, outer), inner.a)
        if type(inner) is Mul:
            factor = inner.b if factor is None else mul(inner.b, factor)
            inner = inner.a
        elif type(inner) is Add:
            if factor is not None:
                return None
            others = inner.a if others is None else add(others, inner.a)
            inner = inner.b
        else:
            return None
