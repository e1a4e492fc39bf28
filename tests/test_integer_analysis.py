"""The integer analysis is true: what it says of an expression holds at every point tried. Needs no TVM.

Which expressions TVM gives is tested elsewhere, by its own answers; here only that answers are right. Properties of the
rewriting and the canonical simplifier alone, and of bijections, are in their own files.
"""

from __future__ import annotations

import itertools

from carver.roller.tir import expr as tir
from carver.roller.tir.arith import (
    Analyzer,
    IntervalSet,
    IterMapLevel,
    detect_iter_map,
    estimate_region_lower_bound,
    estimate_region_upper_bound,
    inverse_affine_iter_map,
)
from carver.roller.tir.arith.const_int_bound import compile_bound
from carver.roller.tir.arith.iter_affine_map import normalize_iter_map_to_expr
from carver.roller.tir.index_map import IndexMap
from hypothesis import assume, given, settings
from hypothesis import strategies as st

X, Y, Z = tir.Var("x"), tir.Var("y"), tir.Var("z")
RANGES = {X: (0, 12), Y: (0, 5), Z: (-4, 9)}  # begin, extent
POINTS = {X: (0, 1, 6, 7, 11), Y: (0, 3, 4), Z: (-4, -1, 0, 4)}


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


BINARY = {
    tir.Add: lambda a, b: a + b,
    tir.Sub: lambda a, b: a - b,
    tir.Mul: lambda a, b: a * b,
    tir.FloorDiv: lambda a, b: a // b,
    tir.FloorMod: lambda a, b: a % b,
    tir.Div: truncated,
    tir.Mod: lambda a, b: a - b * truncated(a, b),
    tir.Min: min,
    tir.Max: max,
    tir.EQ: lambda a, b: a == b,
    tir.NE: lambda a, b: a != b,
    tir.LT: lambda a, b: a < b,
    tir.LE: lambda a, b: a <= b,
    tir.GT: lambda a, b: a > b,
    tir.GE: lambda a, b: a >= b,
    tir.And: lambda a, b: a and b,
    tir.Or: lambda a, b: a or b,
}
CALLS = {
    "tirx.shift_right": lambda a, b: a >> b,
    "tirx.shift_left": lambda a, b: a << b,
    "tirx.bitwise_and": lambda a, b: a & b,
}


def value_of(e: tir.PrimExpr, point: dict) -> int:
    """The value of an expression at a point, by Python's integers."""
    kind = type(e)
    if isinstance(e, tir.Var):
        return point[e]
    if kind is tir.IntImm:
        return e.value
    if kind is tir.Cast:
        return value_of(e.value, point)
    if kind is tir.Not:
        return not value_of(e.a, point)
    if kind is tir.Select:
        return value_of(e.true_value if value_of(e.condition, point) else e.false_value, point)
    if kind is tir.Call and e.op == "tirx.if_then_else":
        return value_of(e.args[1] if value_of(e.args[0], point) else e.args[2], point)
    if kind is tir.Call:
        return CALLS[e.op](*(value_of(argument, point) for argument in e.args))
    return BINARY[kind](value_of(e.a, point), value_of(e.b, point))


def all_points() -> list[dict]:
    return [dict(zip(POINTS, values)) for values in itertools.product(*POINTS.values())]


ALL_POINTS = all_points()


def analyzer_of_ranges() -> Analyzer:
    analyzer = Analyzer()
    for var, (begin, extent) in RANGES.items():
        analyzer.bind(var, tir.Range.from_min_extent(begin, extent))
    return analyzer


# ---------------------------------------------------------------------------------------------------------------------
# Expressions


def constants(low: int, high: int):
    return st.integers(low, high).map(lambda value: tir.IntImm("int32", value))


def call(op: str, *args: tir.PrimExpr) -> tir.Call:
    return tir.Call(args[-1].dtype, op, args)


def comparisons(operands):
    ops = st.sampled_from([tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE])
    return st.builds(lambda op, a, b: op(a, b), ops, operands, operands)


def compounds(children):
    sums = st.builds(lambda op, a, b: op(a, b), st.sampled_from([tir.Add, tir.Sub]), children, children)
    extremes = st.builds(lambda op, a, b: op(a, b), st.sampled_from([tir.Min, tir.Max]), children, children)
    scaled = st.builds(tir.Mul, children, constants(-4, 9))
    divisions = st.sampled_from([tir.FloorDiv, tir.FloorMod, tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod])
    divided = st.builds(lambda op, a, b: op(a, b), divisions, children, constants(1, 12))
    chosen = st.builds(tir.Select, comparisons(children), children, children)
    decided = st.builds(lambda c, a, b: call("tirx.if_then_else", c, a, b), comparisons(children), children, children)
    widened = st.builds(lambda a: tir.Cast("int32", tir.Cast("int64", a)), children)
    shifted = st.builds(lambda a, b: call("tirx.shift_right", a, b), children, constants(0, 3))
    return st.one_of(sums, scaled, divided, divided, extremes, chosen, decided, widened, shifted)


LEAVES = st.one_of(st.sampled_from([X, Y, Z]), constants(-7, 13))
INTEGERS = st.recursive(LEAVES, compounds, max_leaves=7)


def conditions(operands):
    def joined(inner):
        both = st.builds(tir.And, inner, inner)
        return st.one_of(both, st.builds(tir.Or, inner, inner), st.builds(tir.Not, inner))

    return st.recursive(comparisons(operands), joined, max_leaves=3)


CONDITIONS = conditions(INTEGERS)
# Affine with divisions: what indices are made of.
INDICES = st.recursive(
    LEAVES,
    lambda children: st.one_of(
        st.builds(tir.Add, children, children),
        st.builds(tir.Sub, children, children),
        st.builds(tir.Mul, children, constants(-3, 8)),
        st.builds(lambda op, a, b: op(a, b), st.sampled_from([tir.FloorDiv, tir.FloorMod]), children, constants(1, 9)),
    ),
    max_leaves=6,
)

several = settings(max_examples=60, deadline=None, derandomize=True)


# ---------------------------------------------------------------------------------------------------------------------
# Bounds and residues


@several
@given(INTEGERS)
def test_constant_bounds_hold(e):
    bound = analyzer_of_ranges().const_int_bound(e)
    for point in ALL_POINTS:
        assert bound.min_value <= value_of(e, point) <= bound.max_value, (e, point)


@several
@given(INDICES)
def test_compiled_bounds_hold(e):
    bounds = [(begin, begin + extent - 1) for begin, extent in RANGES.values()]
    low, high = compile_bound(e, list(RANGES))(bounds)
    for point in ALL_POINTS:
        assert low <= value_of(e, point) <= high, (e, point)


@several
@given(INTEGERS)
def test_residues_hold(e):
    modular = analyzer_of_ranges().modular_set(e)
    for point in ALL_POINTS:
        value = value_of(e, point)
        if modular.coeff == 0:
            assert value == modular.base, (e, point)
        else:
            assert value % modular.coeff == modular.base % modular.coeff, (e, point)


@several
@given(INTEGERS, CONDITIONS)
def test_bounds_and_residues_hold_under_a_condition(e, condition):
    points = [point for point in ALL_POINTS if value_of(condition, point)]
    assume(points)
    analyzer = analyzer_of_ranges()
    with analyzer.constraint_scope(condition):
        bound, modular = analyzer.const_int_bound(e), analyzer.modular_set(e)
    after = analyzer.const_int_bound(e), analyzer.modular_set(e)
    for point in points:
        value = value_of(e, point)
        assert bound.min_value <= value <= bound.max_value, (e, condition, point)
        if modular.coeff == 0:
            assert value == modular.base, (e, condition, point)
        else:
            assert value % modular.coeff == modular.base % modular.coeff, (e, condition, point)
    fresh = analyzer_of_ranges()
    before = fresh.const_int_bound(e), fresh.modular_set(e)
    assert [vars_of(answer) for answer in after] == [vars_of(answer) for answer in before]


def vars_of(answer) -> tuple:
    return tuple(getattr(answer, name) for name in ("min_value", "max_value", "coeff", "base") if hasattr(answer, name))


@several
@given(INDICES, st.sets(st.sampled_from([X, Y, Z])))
def test_interval_sets_hold(e, relaxed):
    """Some variables are relaxed to their ranges; the ends may depend on the others."""
    domains = {}
    for var in relaxed:
        begin, extent = RANGES[var]
        domains[var] = IntervalSet(tir.convert(begin), tir.convert(begin + extent - 1))
    found = analyzer_of_ranges().int_set(e, domains)
    if not found.is_everything():
        for point in ALL_POINTS:
            value = value_of(e, point)
            assert not found.has_lower_bound() or value_of(found.min_value, point) <= value, (e, relaxed, point)
            assert not found.has_upper_bound() or value <= value_of(found.max_value, point), (e, relaxed, point)


# ---------------------------------------------------------------------------------------------------------------------
# Simplification and proofs


@several
@given(st.one_of(INTEGERS, CONDITIONS), CONDITIONS)
def test_simplification_under_a_condition_keeps_the_values_there(e, condition):
    points = [point for point in ALL_POINTS if value_of(condition, point)]
    assume(points)
    analyzer = analyzer_of_ranges()
    with analyzer.constraint_scope(condition):
        simplified = analyzer.simplify(e)
    assert simplified.dtype == e.dtype
    for point in points:
        assert value_of(simplified, point) == value_of(e, point), (e, condition, point)


@several
@given(INTEGERS, st.one_of(INTEGERS, CONDITIONS))
def test_a_bound_variable_stands_for_its_value(value, e):
    bound = tir.Var("b")
    analyzer = analyzer_of_ranges()
    analyzer.bind(bound, value)
    simplified = analyzer.simplify(tir.substitute(e, {X: bound}))
    for point in ALL_POINTS:
        there = value_of(value, point)
        assert value_of(simplified, {**point, bound: there}) == value_of(e, {**point, X: there}), (value, e, point)


def rounds_down(e) -> bool:
    """Without C's division, which TVM's solver takes for the one with a remainder >= 0, and so does ours."""
    return type(e) not in (tir.Div, tir.Mod) and all(map(rounds_down, tir.children(e)))


@several
@given(conditions(INTEGERS.filter(rounds_down)))
def test_what_is_proved_is_true(condition):
    if analyzer_of_ranges().can_prove(condition):
        for point in ALL_POINTS:
            assert value_of(condition, point), (condition, point)


@several
@given(INTEGERS.filter(rounds_down), INTEGERS.filter(rounds_down), st.integers(-20, 40))
def test_proved_comparisons_are_true(a, b, limit):
    analyzer = analyzer_of_ranges()
    equal, at_least = analyzer.can_prove_equal(a, b), analyzer.can_prove_greater_equal(a, limit)
    less = analyzer.can_prove_less(a, limit)
    assert not (at_least and less)
    for point in ALL_POINTS:
        value = value_of(a, point)
        assert not equal or value == value_of(b, point), (a, b, point)
        assert not at_least or value >= limit, (a, limit, point)
        assert not less or value < limit, (a, limit, point)


# ---------------------------------------------------------------------------------------------------------------------
# Iterator maps

EXTENTS = st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12])


@st.composite
def maps(draw, actions=("fuse", "split", "permute", "drop"), shifts=False):
    """Iterators, and indices made of them by fusing, splitting at any place, dropping; and some shifted in the end.

    Shifted before they are split, TVM takes (x + 1) // 3, (x + 1) % 3 for 0, x where x < 3, when asked for a bijection,
    and errs in a few cases more. So do we.
    """
    extents = draw(st.lists(EXTENTS, min_size=1, max_size=3))
    iters = {tir.Var(f"v{i}"): extent for i, extent in enumerate(extents)}
    parts = [(var, extent) for var, extent in iters.items()]
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(parts) - 1))
        e, extent = parts[at]
        action = draw(st.sampled_from(actions))
        if action == "fuse" and at + 1 < len(parts):
            other, size = parts[at + 1]
            parts[at : at + 2] = [(e * size + other, extent * size)]
        elif action == "split" and extent > 1:  # a split of extent 1 can stand in the way of others, in TVM too
            factor = draw(st.integers(2, 6))
            parts[at : at + 1] = [(e // factor, -(-extent // factor)), (e % factor, factor)]
        elif action == "permute":
            parts = list(draw(st.permutations(parts)))
        elif action == "drop" and len(parts) > 1:
            parts.pop(at)
    indices = [tir.convert(e) for e, _ in parts]
    if shifts:
        indices = [index + draw(st.integers(-2, 6)) for index in indices]
    return iters, indices


@st.composite
def guarded_maps(draw):
    """A map, a level, and a predicate."""
    level = draw(st.sampled_from(list(IterMapLevel)))
    iters, indices = draw(maps(shifts=True))
    predicate: tir.PrimExpr = tir.TRUE
    for _ in range(draw(st.integers(0, 2))):
        var = draw(st.sampled_from(list(iters)))
        limit = draw(st.integers(1, 12))
        predicate = tir.logical_and(predicate, tir.less(var, limit))
    return iters, indices, level, predicate


def points_of(iters: dict) -> list[dict]:
    return [dict(zip(iters, values)) for values in itertools.product(*map(range, iters.values()))]


def ranges_of(iters: dict) -> dict:
    return {var: tir.Range.from_min_extent(0, extent) for var, extent in iters.items()}


@several
@given(guarded_maps(), st.booleans())
def test_a_detected_map_has_the_values_of_its_indices(case, trivial):
    iters, indices, level, predicate = case
    found = detect_iter_map(indices, ranges_of(iters), predicate, level, trivial)
    if not found.indices:
        assert found.errors
        return
    again = [normalize_iter_map_to_expr(e) for e in found.indices]
    images = set()
    count = 0
    for point in points_of(iters):
        if not value_of(predicate, point):
            continue
        values = tuple(value_of(index, point) for index in indices)
        assert tuple(value_of(e, point) for e in again) == values, (indices, predicate, point)
        images.add(values)
        count += 1
    if level == IterMapLevel.Bijective:
        assert len(images) == count
    if count and level in (IterMapLevel.Bijective, IterMapLevel.Surjective):
        # What is promised: the indices take every value of a box.
        box = 1
        for e in found.indices:
            box *= extent_of(e)
        assert len(images) == box, (indices, predicate)


def extent_of(e) -> int:
    """How many values a detected index takes when nothing is left out."""
    count = 1
    for split in e.args:
        count *= value_of(split.extent, {})
    return count


@several
@given(maps())
def test_the_inverse_of_a_detected_map_undoes_it(case):
    iters, indices = case
    found = detect_iter_map(indices, ranges_of(iters), True, IterMapLevel.Bijective)
    if not found.indices:
        return
    outputs = [tir.Var(f"o{i}") for i in range(len(indices))]
    inverse = inverse_affine_iter_map(found.indices, outputs)
    for point in points_of(iters):
        image = {output: value_of(index, point) for output, index in zip(outputs, indices)}
        for var, back in inverse.items():
            assert value_of(back, image) == point[var], (indices, point)


@st.composite
def layouts(draw):
    """Extents, and an index map that fuses, splits and permutes them, evenly or not."""
    extents = draw(st.lists(EXTENTS, min_size=1, max_size=3))
    variables = [tir.Var(f"i{number}") for number in range(len(extents))]
    parts = list(zip(variables, extents))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(parts) - 1))
        e, extent = parts[at]
        action = draw(st.sampled_from(["fuse", "split", "permute"]))
        if action == "fuse" and at + 1 < len(parts):
            other, size = parts[at + 1]
            parts[at : at + 2] = [(e * size + other, extent * size)]
        elif action == "split" and extent > 1:
            factor = draw(st.integers(2, extent))
            parts[at : at + 1] = [(e // factor, -(-extent // factor)), (e % factor, factor)]
        elif action == "permute":
            parts = list(draw(st.permutations(parts)))
    return variables, extents, [tir.convert(e) for e, _ in parts]


@several
@given(layouts())
def test_the_inverse_of_an_index_map_undoes_it(layout):
    """Where the map leaves no gap both inverses do; where it leaves gaps the predicate tells them."""
    variables, extents, indices = layout
    index_map = IndexMap(variables, indices)
    ranges = [tir.Range.from_min_extent(0, extent) for extent in extents]
    try:
        inverse, outside = index_map.non_surjective_inverse(ranges)
    except tir.TirError:
        return  # not affine: a split that does not divide what was fused before
    images = {}
    for values in itertools.product(*map(range, extents)):
        point = dict(zip(variables, values))
        images[tuple(value_of(index, point) for index in indices)] = values
    shape = [extent.value for extent in index_map.map_shape([r.extent for r in ranges])]
    for image in itertools.product(*map(range, shape)):
        there = dict(zip(inverse.initial_indices, image))
        assert bool(value_of(outside, there)) == (image not in images), (indices, image)
        if image in images:
            back = tuple(value_of(e, there) for e in inverse.final_indices)
            assert back == images[image], (indices, image)


# ---------------------------------------------------------------------------------------------------------------------
# Regions


@several
@given(maps(("fuse", "permute", "drop"), shifts=True))
def test_regions_hold_what_is_read(case):
    """The upper bound holds every element read; the lower bound, which may be strided, begins and ends at read ones.

    Of padded or backward iterators, and with some predicates, TVM gives bounds that do not hold, and so do we.
    """
    iters, indices = case
    region = [tir.Range.from_min_extent(index, 1) for index in indices]
    read = {tuple(value_of(index, point) for index in indices) for point in points_of(iters)}
    upper = estimate_region_upper_bound(region, ranges_of(iters), tir.TRUE, Analyzer())
    for place in read:
        for value, part in zip(place, upper):
            assert value_of(part.min_value, {}) <= value <= value_of(part.max_value, {}), indices
    lower = estimate_region_lower_bound(region, ranges_of(iters), tir.TRUE, Analyzer())
    if lower is not None:
        ends = [{value_of(part.min_value, {}), value_of(part.max_value, {})} for part in lower]
        assert all(corner in read for corner in itertools.product(*ends)), indices
