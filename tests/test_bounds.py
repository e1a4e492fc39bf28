"""Constant bounds and modular sets. Every expected value was obtained from the real library (tilelang 0.1.15)."""

import random

import pytest
from carver.roller.tir import expr
from carver.roller.tir.arith import Analyzer, ConstIntBound, ModularSet
from carver.roller.tir.arith.const_int_bound import compile_bound
from carver.roller.tir.arith.int_operator import (
    InternalError,
    extended_euclidean,
    least_common_multiple,
    truncdiv,
    truncmod,
    wrap_int32,
    wrap_int64,
    zero_aware_gcd,
)

INF = ConstIntBound.POS_INF


def call(name, a, b):
    """A bit operation as a node: the operators would fold it."""
    return expr.Call(a.dtype, f"tirx.{name}", [a, expr.IntImm(a.dtype, b) if isinstance(b, int) else b])


def ceil_log2(x):
    log2 = expr.Call("float64", "tirx.log2", [expr.Cast("float64", x)])
    return expr.Cast("int32", expr.Call("float64", "tirx.ceil", [log2]))


def bounded(dtype, x_bound, y_bound):
    """An analyzer and two variables with the given bounds."""
    analyzer = Analyzer()
    x, y = expr.Var("x", dtype), expr.Var("y", dtype)
    for var, bound in ((x, x_bound), (y, y_bound)):
        if bound is not None:
            analyzer.update(var, ConstIntBound(*bound))
    return analyzer, x, y


# The dtype, the bounds of x and y, the expression, its bound.
BOUNDS = [
    ("int32", None, None, lambda x, y: x + 1, (-2147483647, 2147483648)),
    ("int32", None, None, lambda x, y: x - y, (-4294967295, 4294967295)),
    ("int32", None, None, lambda x, y: x * 2147483647, (-4611686016279904256, 4611686014132420609)),
    ("int64", None, None, lambda x, y: x + 1, (-INF, INF)),
    ("int64", None, None, lambda x, y: x * -1, (-INF, INF)),
    ("int64", None, None, lambda x, y: x - 5, (-INF, INF)),
    ("int64", (0, INF), None, lambda x, y: x + 1, (1, INF)),
    ("int64", (0, INF), None, lambda x, y: x * 0, (0, 0)),
    ("int64", (0, INF), (2, 3), lambda x, y: x * y, (0, INF)),
    ("int64", (2**62, 2**62 + 1), (2**62, 2**62 + 1), lambda x, y: x + y, (INF, INF)),
    ("int64", (2**62, 2**62 + 1), (2**62, 2**62 + 1), lambda x, y: 0 - x - y, (-INF, -INF)),
    ("int64", (-(2**40), 2**40), (-(2**40), 2**41), lambda x, y: x * y, (-INF, INF)),
    ("int64", (0, INF), None, lambda x, y: x // 8, (0, INF)),
    ("int64", (0, INF), None, lambda x, y: x // -8, (-INF, 0)),
    ("int64", (0, INF), None, lambda x, y: x % 8, (0, 7)),
    ("int32", (0, 9), None, lambda x, y: (x * 4) % 8, (0, 4)),
    ("int32", (5, 6), None, lambda x, y: x % 4, (0, 3)),
    ("int32", (0, 9), None, lambda x, y: (x * 4 + 2) % 8, (2, 6)),
    ("int32", (0, 9), None, lambda x, y: (x * 6 - 3) % 9, (0, 6)),
    ("int32", (-9, 9), None, lambda x, y: x % 4, (0, 3)),
    ("int32", (0, 2), None, lambda x, y: x % 4, (0, 2)),
    ("int32", (0, 9), (1, 4), lambda x, y: x % y, (0, 3)),
    ("int32", (0, 9), (0, 4), lambda x, y: x % y, (0, 3)),
    ("int32", (0, 9), (-3, 4), lambda x, y: x % y, (-2, 3)),
    ("int32", (0, 9), (-3, -1), lambda x, y: x % y, (-2, 0)),
    ("int32", (-9, 9), None, lambda x, y: x % -4, (-3, 0)),
    ("int32", (0, 9), (4, 4), lambda x, y: (x * 8) % y, (0, 0)),
    ("int32", (-9, 9), None, lambda x, y: expr.truncmod(x, 4), (-3, 3)),
    ("int32", (0, 9), None, lambda x, y: expr.truncmod(x * 4, 8), (0, 4)),
    ("int32", (-3, 9), None, lambda x, y: expr.truncmod(x * 4, 8), (-7, 7)),
    ("int32", (0, 9), (-3, 4), lambda x, y: expr.truncmod(x, y), (-2147483648, 2147483647)),
    ("int32", (-9, 9), None, lambda x, y: x // 4, (-3, 2)),
    ("int32", (-9, 9), None, lambda x, y: x // -4, (-3, 2)),
    ("int32", (-9, 9), (-2, 5), lambda x, y: x // y, (-9, 9)),
    ("int32", (-9, 9), (0, 5), lambda x, y: x // y, (-9, 9)),
    ("int32", (-9, 9), (-5, 0), lambda x, y: x // y, (-9, 9)),
    ("int32", (-9, 9), None, lambda x, y: expr.truncdiv(x, 4), (-2, 2)),
    ("int32", (-9, 9), (-2, 5), lambda x, y: expr.truncdiv(x, y), (-9, 9)),
    ("int32", (1, 9), (0, 5), lambda x, y: expr.truncdiv(x, y), (0, 9)),
    ("int32", (0, 9), (3, 5), lambda x, y: expr.min_(x, y), (0, 5)),
    ("int32", (0, 9), (3, 5), lambda x, y: expr.max_(x, y), (3, 9)),
    ("int32", (0, 9), (3, 15), lambda x, y: expr.Select(x < 3, x, y), (0, 15)),
    ("int32", (0, 9), (3, 15), lambda x, y: expr.if_then_else(x < 3, x, y), (-2147483648, 2147483647)),
    ("int32", None, None, lambda x, y: x < y, (0, 1)),
    ("int32", (0, 9), None, lambda x, y: expr.Cast("int8", x * 100), (0, 127)),
    ("int32", (1000, 2000), None, lambda x, y: expr.Cast("int8", x), (1000, 127)),
    ("int32", None, None, lambda x, y: expr.Cast("int64", x) * 4, (-8589934592, 8589934588)),
    ("int64", None, None, lambda x, y: expr.Cast("int32", x), (-2147483648, 2147483647)),
    ("int32", (-3, 3), None, lambda x, y: expr.Cast("uint8", x), (0, 3)),
    ("int32", (0, 9), (0, 2), lambda x, y: call("shift_left", x, y), (0, 36)),
    ("int32", (-1, 9), (0, 2), lambda x, y: call("shift_left", x, y), (-2147483648, 2147483647)),
    ("int64", (1, 3), (0, 62), lambda x, y: call("shift_left", x, y), (1, INF)),
    ("int64", (1, 3), (0, INF), lambda x, y: call("shift_left", x, y), (-(2**63), 3)),
    ("int32", (0, 100), (0, 2), lambda x, y: call("shift_right", x, y), (0, 100)),
    ("int32", (-100, 100), (1, 2), lambda x, y: call("shift_right", x, y), (-50, 50)),
    ("int32", (0, 100), (0, 20), lambda x, y: call("bitwise_and", x, y), (0, 20)),
    ("int32", (-100, 100), (0, 20), lambda x, y: call("bitwise_and", x, y), (0, 20)),
    ("int32", (0, 100), (-5, 20), lambda x, y: call("bitwise_and", x, y), (0, 100)),
    ("int32", (-1, 100), (-5, 20), lambda x, y: call("bitwise_and", x, y), (-2147483648, 2147483647)),
    ("int32", (0, 100), (0, 20), lambda x, y: call("bitwise_or", x, y), (0, 127)),
    ("int32", (-1, 100), (0, 20), lambda x, y: call("bitwise_or", x, y), (-2147483648, 2147483647)),
    ("int32", (0, 100), (0, 300), lambda x, y: call("bitwise_xor", x, y), (0, 511)),
    ("int64", (0, INF), (0, 1), lambda x, y: call("bitwise_xor", x, y), (-INF, INF)),
    ("int32", (1, 1000), None, lambda x, y: ceil_log2(x), (0, 10)),
    ("int32", (0, 1000), None, lambda x, y: ceil_log2(x), (-2147483648, 10)),
    ("int32", (5, 2), None, lambda x, y: x + 1, (6, 3)),
    ("int32", (5, 2), None, lambda x, y: x * -1, (-5, -2)),
]


@pytest.mark.parametrize("dtype, x_bound, y_bound, make, expected", BOUNDS)
def test_bound(dtype, x_bound, y_bound, make, expected):
    analyzer, x, y = bounded(dtype, x_bound, y_bound)
    found = analyzer.const_int_bound(make(x, y))
    assert (found.min_value, found.max_value) == expected


@pytest.mark.parametrize("dtype, x_bound, y_bound, make, expected", BOUNDS)
def test_compiled_bound(dtype, x_bound, y_bound, make, expected):
    _, x, y = bounded(dtype, None, None)
    evaluate = compile_bound(make(x, y), [x, y])
    assert evaluate([x_bound, y_bound]) == expected


# An expression of two int32 variables of which nothing is known, and its modular set.
MODULAR_SETS = [
    (lambda x, y: x * 4 + 3, (4, 3)),
    (lambda x, y: x * 4 - 1, (4, 3)),
    (lambda x, y: x * 4 + y * 6 + 1, (2, 1)),
    (lambda x, y: (x * 4 + 2) * (y * 6 + 3), (12, 6)),
    (lambda x, y: (x * 8 + 4) // 4, (2, 1)),
    (lambda x, y: (x * 8 + 6) // 4, (2, 1)),
    (lambda x, y: (x * 8) // 3, (1, 0)),
    (lambda x, y: (x * 8 + 5) % 4, (4, 1)),
    (lambda x, y: (x * 6 + 4) % 9, (3, 1)),
    (lambda x, y: (x * 6) % -9, (3, 0)),
    (lambda x, y: expr.truncdiv(x * 8, 4), (2, 0)),
    (lambda x, y: expr.truncdiv(x * 8 + 4, 4), (1, 0)),
    (lambda x, y: expr.truncmod(x * 8 + 5, 4), (1, 0)),
    (lambda x, y: expr.truncmod(x * 8 - 8, 4), (4, 0)),
    (lambda x, y: expr.min_(x * 4, y * 6 + 2), (2, 0)),
    (lambda x, y: expr.max_(x * 4 + 1, y * 4 + 1), (4, 1)),
    (lambda x, y: expr.Select(x < y, x * 6 + 1, y * 4 + 3), (2, 1)),
    (lambda x, y: expr.Select(x < y, x * 0 + 7, x * 0 - 3), (1, 0)),
    (lambda x, y: call("shift_right", x * 16 + 8, 3), (2, 1)),
    (lambda x, y: call("bitwise_and", x * 8 + 5, 3), (4, 1)),
    (lambda x, y: call("bitwise_and", x * 8 + 5, 6), (1, 0)),
    (lambda x, y: call("shift_left", x, 3), (1, 0)),
    (lambda x, y: expr.Cast("int64", x * 4 + 1), (4, 1)),
    (lambda x, y: x % y, (1, 0)),
    (lambda x, y: 7 - x * 14, (14, 7)),
    (lambda x, y: x < y, (1, 0)),
]


@pytest.mark.parametrize("make, expected", MODULAR_SETS)
def test_modular_set(make, expected):
    found = Analyzer().modular_set(make(expr.Var("x"), expr.Var("y")))
    assert (found.coeff, found.base) == expected


@pytest.mark.parametrize(
    "dtype, expected",
    [
        ("bool", (0, 1)),
        ("int8", (-128, 127)),
        ("uint8", (0, 255)),
        ("int32", (-(2**31), 2**31 - 1)),
        ("uint32", (0, 2**32 - 1)),
        ("int64", (-INF, INF)),
        ("uint64", (0, INF)),
        ("float16", (-INF, INF)),
    ],
)
def test_unknown_variable_has_the_range_of_its_dtype(dtype, expected):
    found = Analyzer().const_int_bound(expr.Var("v", dtype))
    assert (found.min_value, found.max_value) == expected


def test_unknown_index_is_bounded_by_the_axis():
    """Region propagation writes an unknown index as an int8 variable modulo the extent of the axis."""
    found = Analyzer().const_int_bound(expr.Var("undefined", "int8") % 7)
    assert (found.min_value, found.max_value) == (0, 6)
    found = Analyzer().const_int_bound(expr.Var("undefined", "int8") % 1024)
    assert (found.min_value, found.max_value) == (0, 1023)


def test_size_var_is_not_negative():
    n = expr.SizeVar("n")
    assert Analyzer().const_int_bound(n * 4 - 1) == ConstIntBound(-1, INF)
    analyzer = Analyzer()
    analyzer.update(n, ConstIntBound(-5, 3))
    assert analyzer.const_int_bound(n) == ConstIntBound(-5, 3)


def test_range_binds_the_last_element():
    analyzer = Analyzer()
    x, y = expr.Var("x"), expr.Var("y")
    analyzer.update(y, ConstIntBound(2, 7))
    analyzer.const_int_bound.bind(x, expr.Range.from_min_extent(y, y * 2))
    assert analyzer.const_int_bound(x) == ConstIntBound(2, 20)
    assert analyzer.const_int_bound_is_bound(x)
    assert not analyzer.const_int_bound_is_bound(expr.Var("x"))


def test_another_bound_is_refused_unless_overridden():
    analyzer = Analyzer()
    x = expr.Var("x")
    analyzer.update(x, ConstIntBound(0, 7))
    analyzer.update(x, ConstIntBound(0, 7))
    with pytest.raises(InternalError, match="different const bound"):
        analyzer.update(x, ConstIntBound(0, 8))
    assert analyzer.const_int_bound(x) == ConstIntBound(0, 7)
    analyzer.update(x, ConstIntBound(0, 8), True)
    assert analyzer.const_int_bound(x) == ConstIntBound(0, 8)
    with pytest.raises(TypeError):
        analyzer.update(x, ModularSet(2, 0))


def test_opposite_infinities_are_an_error():
    analyzer, x, y = bounded("int64", (3, INF), (-INF, 5))
    assert analyzer.const_int_bound(x + y) == ConstIntBound(-INF, INF)
    analyzer = Analyzer()
    # An end that no number can have moves to the nearest number, so only a computed one is left to clash.
    analyzer.update(x, ConstIntBound(INF, INF))
    assert analyzer.const_int_bound(x) == ConstIntBound(INF - 1, INF)
    analyzer.const_int_bound.var_map[x] = (INF, INF)
    analyzer.const_int_bound.var_map[y] = (-INF, -INF)
    with pytest.raises(InternalError, match="kNegInf"):
        analyzer.const_int_bound(x + y)


def test_division_by_zero():
    analyzer, x, y = bounded("int32", (0, 9), (0, 0))
    for quotient in (expr.FloorDiv(x, y), expr.Div(x, y), expr.FloorMod(x, y), expr.Mod(x, y)):
        assert analyzer.const_int_bound(quotient) == ConstIntBound(-(2**31), 2**31 - 1)
    with pytest.raises(InternalError, match="val != 0"):
        analyzer.modular_set(expr.FloorMod(x, expr.IntImm("int32", 0)))


def test_let_binds_its_variable_in_the_body_only():
    analyzer, x, y = bounded("int32", (0, 9), None)
    let = expr.Let(y, x * 4, y % 8 + y)
    # The modular set of y in y % 8 is asked of the other analyzer, which does not see this Let.
    assert analyzer.const_int_bound(let) == ConstIntBound(0, 43)
    assert analyzer.modular_set(let) == ModularSet(4, 0)
    assert analyzer.const_int_bound(y) == ConstIntBound(-(2**31), 2**31 - 1)
    analyzer.update(y, ConstIntBound(1, 2))
    assert analyzer.const_int_bound(let) == ConstIntBound(2, 4)


# A condition, and the bound of x while it holds; x is in -50..50.
CONSTRAINTS = [
    (lambda x, y: x < 7, (-50, 6)),
    (lambda x, y: x <= 7, (-50, 7)),
    (lambda x, y: x > 7, (8, 50)),
    (lambda x, y: x >= 7, (7, 50)),
    (lambda x, y: expr.LT(expr.IntImm("int32", 7), x), (8, 50)),
    (lambda x, y: expr.LE(expr.IntImm("int32", 7), x), (7, 50)),
    (lambda x, y: expr.GT(expr.IntImm("int32", 7), x), (-50, 6)),
    (lambda x, y: expr.GE(expr.IntImm("int32", 7), x), (-50, 50)),
    (lambda x, y: expr.EQ(x, expr.IntImm("int32", 7)), (7, 7)),
    (lambda x, y: expr.NE(x, expr.IntImm("int32", 50)), (-50, 50)),
    (lambda x, y: expr.Not(x < 7), (7, 50)),
    (lambda x, y: expr.Not(x >= 7), (-50, 6)),
    (lambda x, y: expr.Not(x > 7), (-50, 7)),
    (lambda x, y: expr.Not(expr.LT(expr.IntImm("int32", 7), x)), (-50, 7)),
    (lambda x, y: expr.And(x < 7, x > 3), (4, 6)),
    (lambda x, y: expr.Or(x < 7, x < 3), (-50, 50)),
    (lambda x, y: x + y < 7, (-50, 50)),
    (lambda x, y: expr.And(x < 7, x > 30), (31, 6)),
]


@pytest.mark.parametrize("make, expected", CONSTRAINTS)
def test_constraint(make, expected):
    analyzer, x, y = bounded("int32", (-50, 50), (0, 9))
    leave = analyzer.const_int_bound.enter_constraint(make(x, y))
    assert analyzer.const_int_bound(x) == ConstIntBound(*expected)
    if leave is not None:
        leave()
    assert analyzer.const_int_bound(x) == ConstIntBound(-50, 50)


def test_constraint_on_a_whole_expression():
    analyzer, x, y = bounded("int32", (0, 99), (0, 9))
    with analyzer.constraint_scope(x * 2 + y < 11):
        assert analyzer.const_int_bound(x * 2 + y) == ConstIntBound(0, 10)
        assert analyzer.const_int_bound((x * 2 + y) * 3) == ConstIntBound(0, 30)
        assert analyzer.const_int_bound(y + x * 2) == ConstIntBound(0, 207)


def test_residues_that_a_condition_gives():
    analyzer = Analyzer()
    x = expr.Var("x")
    with analyzer.constraint_scope((x % 6).equal(2)):
        assert analyzer.modular_set(x) == ModularSet(6, 2)
        with analyzer.constraint_scope((x % 4).equal(0)):
            assert analyzer.modular_set(x) == ModularSet(12, 8)
        with analyzer.constraint_scope((x % 4).equal(1)):
            assert analyzer.modular_set(x) == ModularSet(0, 1)  # there is no such x
    assert analyzer.modular_set(x) == ModularSet(1, 0)


def test_memorized_bounds():
    analyzer, x, y = bounded("int32", (0, 9), (0, 3))
    product = x * 4
    total = product + y
    bounds = {}
    assert analyzer.const_int_bound(total, bounds) == ConstIntBound(0, 39)
    assert bounds[id(product)] == ConstIntBound(0, 36)
    assert bounds[id(total)] == ConstIntBound(0, 39)
    analyzer.update(x, ConstIntBound(0, 5), True)
    with pytest.raises(InternalError, match="conflicts with memorization"):
        analyzer.const_int_bound(total, bounds)


def test_wrong_way_round_bounds_stay_so():
    analyzer, x, _ = bounded("int32", (5, 2), None)
    assert analyzer.const_int_bound(x + 1) == ConstIntBound(6, 3)


def _random_index(rng, variables, depth):
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(variables) if rng.random() < 0.8 else expr.IntImm("int32", rng.randrange(-4, 20))
    a, b = _random_index(rng, variables, depth - 1), _random_index(rng, variables, depth - 1)
    constant = expr.IntImm("int32", rng.choice([1, 2, 3, 4, 7, 8, 16, -2]))
    kind = rng.choice([expr.Add, expr.Sub, expr.Mul, expr.FloorDiv, expr.FloorMod, expr.Min, expr.Max, expr.Cast])
    if kind is expr.Cast:
        return expr.Cast("int32", expr.Cast("int64", a))
    if kind in (expr.Mul, expr.FloorDiv, expr.FloorMod):
        return kind(a, constant)
    return kind(a, b)


def test_compiled_bounds_are_those_of_the_visitor():
    rng = random.Random(7)
    x, y, unknown = expr.Var("x"), expr.Var("y"), expr.Var("unknown", "int8")
    choices = [(0, 0), (0, 6), (3, 20), (-9, 4), (0, 2**25), (7, 2), None]
    compared = 0
    for _ in range(1500):
        index = _random_index(rng, [x, y, expr.Cast("int32", unknown)], rng.randrange(1, 5))
        evaluate = compile_bound(index, [x, y])
        for _ in range(3):
            bounds = [rng.choice(choices), rng.choice(choices)]
            analyzer = Analyzer()
            for var, bound in zip((x, y), bounds):
                if bound is not None:
                    analyzer.update(var, ConstIntBound(*bound))
            assert evaluate(bounds) == analyzer.const_int_bound.visit(index), (index, bounds)
            compared += 1
    assert compared == 4500


@pytest.mark.parametrize(
    "x, y, quotient, remainder", [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1), (0, 5, 0, 0)]
)
def test_truncating_division(x, y, quotient, remainder):
    assert (truncdiv(x, y), truncmod(x, y)) == (quotient, remainder)


@pytest.mark.parametrize("a, b", [(12, 18), (-12, 18), (7, 0), (0, 7), (1, 1), (240, 46), (17, 5)])
def test_extended_euclidean(a, b):
    g, x, y = extended_euclidean(a, b)
    assert a * x + b * y == g == zero_aware_gcd(a, b)


def test_integers_wrap_like_cpp():
    assert wrap_int64(2**63) == -(2**63)
    assert wrap_int64(-(2**63) - 1) == 2**63 - 1
    assert wrap_int32(2**31) == -(2**31)
    assert least_common_multiple(4, 6) == 12
    huge = expr.IntImm("int64", 2**62)
    assert Analyzer().modular_set(expr.Mul(huge, expr.IntImm("int64", 2))) == ModularSet(0, -(2**63))
