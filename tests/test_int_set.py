"""Interval sets. Every expected value is the real library's (tilelang 0.1.15), or a comment says why not."""

import pytest
from carver.roller.tir import expr
from carver.roller.tir.arith import (
    Analyzer,
    ConstIntBound,
    IntervalSet,
    IntSet,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from carver.roller.tir.arith.int_operator import InternalError
from carver.roller.tir.arith.int_set import (
    SignType,
    eval_set,
    eval_set_for_each_sub_expr,
    eval_set_region,
    intersect,
    union,
    union_lower_bound,
    union_region,
    union_region_lower_bound,
)
from carver.roller.tir.expr import NEG_INF, POS_INF
from carver.roller.tir.stmt import Buffer


def interval(low, high):
    return IntervalSet(expr.convert(low), expr.convert(high))


def ends(int_set):
    return str(int_set.min_value), str(int_set.max_value)


# The intervals of x and y (None: not relaxed), an expression, its interval.
INTERVALS = [
    (lambda x, y, y0: ((0, 7), None, x + y), ("y", "7 + y")),
    (lambda x, y, y0: ((0, 7), (y0, y0 + 3), x + y), ("y0", "7 + (y0 + 3)")),
    (lambda x, y, y0: ((0, 7), None, x - 3), ("-3", "4")),
    (lambda x, y, y0: ((0, 7), (0, 3), x - y), ("-3", "7")),
    (lambda x, y, y0: ((0, 7), None, x * 4), ("0", "28")),
    (lambda x, y, y0: ((0, 7), None, x * -4), ("-28", "0")),
    (lambda x, y, y0: ((0, 7), None, x * y), ("T.Select(y >= 0, 0, 7 * y)", "T.Select(y >= 0, 7 * y, 0)")),
    (lambda x, y, y0: ((0, 7), (0, 3), x * y), ("neg_inf", "pos_inf")),
    (lambda x, y, y0: ((0, 7), None, x // 4), ("0", "1")),
    (lambda x, y, y0: ((0, 7), None, x // -2), ("-4", "0")),
    (lambda x, y, y0: ((0, 7), None, x // y), ("T.Select(y >= 0, 0, 7 // y)", "T.Select(y >= 0, 7 // y, 0)")),
    (lambda x, y, y0: ((0, 7), None, expr.truncdiv(x, 4)), ("0", "1")),
    (lambda x, y, y0: ((8, 11), None, x % 4), ("0", "3")),
    (lambda x, y, y0: ((0, 7), None, x % 4), ("0", "3")),
    (lambda x, y, y0: ((0, 7), None, (x * 6) % 8), ("0", "6")),
    (lambda x, y, y0: ((y, y + 3), None, x % 4), ("0", "3")),
    (
        lambda x, y, y0: ((0, 7), None, x % y),
        ("0 - (T.Select(y >= 0, y, 0 - y) - 1)", "T.Select(y >= 0, y, 0 - y) - 1"),
    ),
    (lambda x, y, y0: ((0, 7), None, expr.truncmod(x, 4)), ("0", "3")),
    (lambda x, y, y0: ((0, 7), None, expr.min_(x, y)), ("T.min(0, y)", "T.min(7, y)")),
    (lambda x, y, y0: ((0, 7), None, expr.max_(x, 3)), ("3", "7")),
    (lambda x, y, y0: ((0, 7), (2, 20), expr.Select(x < 3, x, y)), ("0", "20")),
    (lambda x, y, y0: ((0, 7), None, expr.if_then_else(x < 3, x, y)), ("neg_inf", "pos_inf")),
    (lambda x, y, y0: ((0, 7), None, expr.Cast("int64", x)), ("T.int64(0)", "T.int64(7)")),
    (lambda x, y, y0: (None, None, expr.Cast("int64", x)), ('T.Cast("int64", x)', 'T.Cast("int64", x)')),
    (lambda x, y, y0: ((0, 7), None, x < y), ("T.bool(False)", "T.bool(True)")),
    (lambda x, y, y0: (None, None, x < y), ("x < y", "x < y")),
    (lambda x, y, y0: ((NEG_INF, 5), None, x + 1), ("neg_inf", "6")),
    (lambda x, y, y0: ((3, POS_INF), None, x * 2), ("6", "pos_inf")),
    (lambda x, y, y0: ((POS_INF, NEG_INF), None, x + 1), ("pos_inf", "neg_inf")),
    (lambda x, y, y0: ((0, y - 1), (1, 9), x), ("0", "8")),
    (lambda x, y, y0: ((0, y - 1), (1, x + 1), x + y), ("1", "x + 1 - 1 + (y - 1 + 1)")),
]


@pytest.mark.parametrize("make, expected", INTERVALS)
def test_int_set(make, expected):
    x, y, y0 = (expr.Var(name) for name in ("x", "y", "y0"))
    x_ends, y_ends, e = make(x, y, y0)
    dom_map = {var: interval(*pair) for var, pair in ((x, x_ends), (y, y_ends)) if pair is not None}
    assert ends(Analyzer().int_set(e, dom_map)) == expected


# Minima and extents of a region, extents of i and j, a predicate; the strict and the upper bound.
REGIONS = [
    (
        lambda i, j: [i * 4, j],
        [4, 8],
        (8, 16),
        lambda i, j: True,
        [("0", "31"), ("0", "22")],
        [("0", "31"), ("0", "22")],
    ),
    (lambda i, j: [i * 4 + j], [1], (8, 4), lambda i, j: True, [("0", "31")], [("0", "31")]),
    (lambda i, j: [i * 8 + j], [1], (8, 4), lambda i, j: True, None, [("0", "59")]),
    (lambda i, j: [i * 2], [1], (8,), lambda i, j: True, None, [("0", "14")]),
    (lambda i, j: [i * 2], [3], (8,), lambda i, j: True, [("0", "16")], [("0", "16")]),
    (lambda i, j: [i, i], [1, 1], (8,), lambda i, j: True, None, [("0", "7"), ("0", "7")]),
    (lambda i, j: [i + j], [1], (8, 8), lambda i, j: True, [("0", "14")], [("0", "14")]),
    (lambda i, j: [i + j, j], [1, 1], (8, 8), lambda i, j: True, None, [("0", "14"), ("0", "7")]),
    (
        lambda i, j: [i % 4, i // 4],
        [1, 1],
        (16,),
        lambda i, j: True,
        [("0", "3"), ("0", "3")],
        [("0", "3"), ("0", "3")],
    ),
    (lambda i, j: [i], [1], (16,), lambda i, j: i < 10, [("0", "9")], [("0", "9")]),
    (lambda i, j: [5], [3], (16,), lambda i, j: True, [("5", "7")], [("5", "7")]),
    (lambda i, j: [i * -4], [4], (8,), lambda i, j: True, [("-28", "3")], [("-28", "3")]),
    (lambda i, j: [i // 3], [2], (9,), lambda i, j: True, [("0", "3")], [("0", "3")]),
    (lambda i, j: [i * j], [1], (9, 4), lambda i, j: True, None, [("neg_inf", "pos_inf")]),
    (lambda i, j: [i], [0], (9,), lambda i, j: True, [("pos_inf", "neg_inf")], [("pos_inf", "neg_inf")]),
]


@pytest.mark.parametrize("minima, extents, domains, predicate, strict, upper", REGIONS)
def test_regions(minima, extents, domains, predicate, strict, upper):
    i, j = expr.Var("i"), expr.Var("j")
    region = [expr.Range.from_min_extent(low, extent) for low, extent in zip(minima(i, j), extents)]
    var_dom = {var: expr.Range.from_min_extent(0, extent) for var, extent in zip((i, j), domains)}
    condition = expr.convert(predicate(i, j))
    found = estimate_region_strict_bound(region, var_dom, condition)
    assert (found if found is None else [ends(int_set) for int_set in found]) == strict
    found = estimate_region_lower_bound(region, var_dom, condition)
    assert (found if found is None else [ends(int_set) for int_set in found]) == strict
    assert [ends(int_set) for int_set in estimate_region_upper_bound(region, var_dom, condition)] == upper


UNIONS = [
    (lambda y: [(0, 3), (4, 7)], ("0", "7")),
    (lambda y: [(0, 3), (5, 7)], ("0", "3")),
    (lambda y: [(0, 3), (y, y + 3)], ("0", "3")),
    (lambda y: [(NEG_INF, 3), (1, POS_INF)], ("neg_inf", "pos_inf")),
    (lambda y: [(POS_INF, NEG_INF), (1, 2)], ("1", "2")),
    (lambda y: [], ("pos_inf", "neg_inf")),
]


@pytest.mark.parametrize("make, expected", UNIONS)
def test_union_lower_bound(make, expected):
    sets = [interval(*pair) for pair in make(expr.Var("y"))]
    assert ends(union_lower_bound(sets)) == expected
    if sets:
        assert [ends(int_set) for int_set in union_region_lower_bound([[int_set] for int_set in sets])] == [expected]


def test_division_by_zero():
    x = expr.Var("x")
    zero = expr.IntImm("int32", 0)
    for quotient in (expr.FloorDiv(x, zero), expr.FloorMod(x, zero), expr.Div(x, zero), expr.Mod(x, zero)):
        with pytest.raises(InternalError, match="by zero"):
            Analyzer().int_set(quotient, {x: interval(0, 7)})


def test_loads():
    x, i = expr.Var("x"), expr.Var("i")
    index = expr.BufferLoad(Buffer("A", (16,), "int32"), [i])
    value = expr.BufferLoad(Buffer("B", (16,), "float32"), [i])
    assert Analyzer().int_set(index, {x: interval(0, 7)}).point_value() is index
    assert Analyzer().int_set(index, {i: interval(0, 7)}).is_everything()
    assert Analyzer().int_set(value, {x: interval(0, 7)}).is_everything()


# The tests below are of functions that TVM offers in C++ only: the expected values follow from its source.


def test_constraints_bound_the_variable_on_either_side():
    analyzer = Analyzer()
    x, y = expr.Var("x"), expr.Var("y")
    analyzer.bind(x, expr.Range.from_min_extent(0, 100))
    with analyzer.constraint_scope(expr.And(x < 7, expr.LE(y, x))):
        assert ends(analyzer.int_set(x)) == ("0", "6")
        assert ends(analyzer.int_set(x * 2 + 1)) == ("1", "13")
    assert ends(analyzer.int_set(x)) == ("0", "99")


def test_another_interval_is_refused_unless_overridden():
    analyzer = Analyzer()
    x = expr.Var("x")
    analyzer.int_set.update(x, interval(0, 7))
    with pytest.raises(InternalError, match="different maximum"):
        analyzer.int_set.update(x, interval(0, 8))
    with pytest.raises(InternalError, match="different minimum"):
        analyzer.int_set.update(x, interval(1, 7))
    analyzer.int_set.update(x, interval(1, 8), True)
    assert ends(analyzer.int_set(x)) == ("1", "8")


def test_ranges_and_sets():
    x = expr.Var("x")
    seven = IntSet.from_range(expr.Range.from_min_extent(x, 7))
    assert ends(seven) == ("x", "7 + x - 1")
    assert seven.match_range(expr.Range.from_min_extent(x, 7))
    assert not seven.match_range(expr.Range.from_min_extent(x, 8))
    covered = seven.cover_range(expr.Range.from_min_extent(0, 1))
    assert (str(covered.min), str(covered.extent)) == ("x", "7")
    whole = expr.Range.from_min_extent(0, 16)
    assert IntSet.everything().cover_range(whole) is whole
    assert not IntSet.everything().match_range(whole)
    assert IntSet.from_range(expr.Range.from_min_extent(x, 1)).point_value() is x
    assert ends(IntSet.vector(x)) == ("x", "x")


def test_questions_about_sets():
    assert IntSet.nothing().is_nothing()
    assert not IntSet.nothing().has_lower_bound()
    assert IntSet.everything().is_everything()
    assert not IntSet.everything().has_upper_bound()
    assert IntSet.interval(NEG_INF, expr.convert(3)).has_upper_bound()
    assert interval(1, 3).get_sign_type() is SignType.POSITIVE
    assert interval(-3, -1).get_sign_type() is SignType.NEGATIVE
    assert interval(0, 3).get_sign_type() is SignType.UNKNOWN
    assert IntSet.single_point(expr.convert(0)).get_sign_type() is SignType.ZERO
    assert interval(0, 3).can_prove_non_negative()
    assert interval(-3, 0).can_prove_non_positive()
    x = expr.Var("x")
    point = IntervalSet(x + 1, expr.Add(expr.convert(1), x))
    assert not point.is_single_point()
    assert point.can_prove_single_point(Analyzer())
    with pytest.raises(InternalError):
        point.point_value()


def test_unions_and_intersections():
    x = expr.Var("x")
    assert ends(union([interval(0, 3), interval(8, 9)])) == ("0", "9")
    assert ends(union([IntSet.nothing(), interval(8, 9)])) == ("8", "9")
    assert ends(union([interval(x, x + 3), interval(x + 1, x + 5)])) == ("x", "x + 5")
    assert union([]).is_nothing()
    assert [ends(s) for s in union_region([[interval(0, 3)], [interval(2, 5)]])] == [("0", "5")]
    assert union_region([]) == []
    assert union_region_lower_bound([]) == []
    assert ends(intersect([interval(0, 5), interval(3, 9)])) == ("3", "5")
    assert intersect([interval(0, 3), interval(5, 9)]).is_nothing()
    assert ends(intersect([interval(0, x), interval(3, POS_INF)])) == ("3", "x")
    assert intersect([]).is_nothing()


def test_eval_set():
    x, y = expr.Var("x"), expr.Var("y")
    dom_map = {x: interval(0, 7)}
    assert ends(eval_set(x * 2 + y, dom_map)) == ("y", "14 + y")
    assert ends(eval_set(expr.Range.from_min_extent(x, 4), dom_map)) == ("0", "10")
    assert ends(eval_set(expr.Range.from_min_extent(x * 2, 1), dom_map)) == ("0", "14")
    assert ends(eval_set(interval(x, x + 2), dom_map)) == ("0", "9")
    assert ends(eval_set(IntSet.everything(), dom_map)) == ("neg_inf", "pos_inf")
    iter_var = expr.IterVar(expr.Range.from_min_extent(0, 8), x, expr.IterVar.DataPar)
    assert ends(eval_set(x + 1, {iter_var: interval(0, 7)})) == ("1", "8")
    region = [expr.Range.from_min_extent(x, 4), expr.Range.from_min_extent(y, 2)]
    assert [ends(s) for s in eval_set_region(region, dom_map)] == [("0", "10"), ("y", "y + 1")]
    product = x * 2
    sets = eval_set_for_each_sub_expr(product + y, dom_map)
    assert ends(sets[id(product)]) == ("0", "14")
    assert ends(sets[id(y)]) == ("y", "y")


def test_relaxed_bounds_agree_with_constant_bounds():
    analyzer = Analyzer()
    x, y = expr.Var("x"), expr.Var("y")
    analyzer.bind(x, expr.Range.from_min_extent(0, 8))
    analyzer.bind(y, expr.Range.from_min_extent(2, 3))
    for e in (x * 3 + y, (x + y) // 2, expr.min_(x, y), x % 3 - y):
        found = analyzer.int_set(e)
        bound = analyzer.const_int_bound(e)
        assert ConstIntBound(int(found.min_value), int(found.max_value)) == bound
