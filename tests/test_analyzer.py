"""The analyzer as a whole, and its last resort, the prover.

Every expected value was obtained from the real library (tilelang 0.1.15), except where a test says otherwise.
"""

import itertools
import random

import pytest
from carver.roller.tir import expr
from carver.roller.tir.arith import Analyzer, ConstIntBound, ModularSet, ProofStrength
from carver.roller.tir.arith.compare_result import CompareResult
from carver.roller.tir.arith.int_operator import InternalError
from carver.roller.tir.arith.linear_integer import Budget, OutOfBudget, has_integer_solution
from carver.roller.tir.arith.transitive_comparisons import TransitiveComparisonAnalyzer
from carver.roller.tir.stmt import Buffer

SYMBOLIC_BOUND = ProofStrength.SYMBOLIC_BOUND


def variables():
    """An analyzer with x in 0..9 and y in 0..63, and a symbolic extent n."""
    analyzer = Analyzer()
    x, y, n = expr.Var("x"), expr.Var("y"), expr.SizeVar("n")
    analyzer.bind(x, expr.Range.from_min_extent(0, 10))
    analyzer.bind(y, expr.Range.from_min_extent(0, 64))
    return analyzer, x, y, n


# Conditions in effect, a question, and whether it is proved.
PROOFS = [
    ([], lambda x, y, n: x < 10, True),
    ([], lambda x, y, n: x < 9, False),
    ([], lambda x, y, n: x * 64 + y < 640, True),
    ([], lambda x, y, n: (x * 64 + y) // 64 == x, True),
    ([], lambda x, y, n: x // 4 * 4 + x % 4 == x, True),
    ([], lambda x, y, n: x * x >= 0, True),
    ([], lambda x, y, n: x * x <= 81, True),
    ([], lambda x, y, n: x * y <= 566, False),
    ([], lambda x, y, n: x * y <= 567, True),
    ([], lambda x, y, n: expr.min_(x, y) <= expr.max_(x, y), True),
    ([], lambda x, y, n: x // 3 <= y // 3, False),
    ([lambda x, y, n: x <= y], lambda x, y, n: x // 3 <= y // 3, True),
    ([lambda x, y, n: x < y, lambda x, y, n: y < x], lambda x, y, n: x == 77, True),
    ([lambda x, y, n: x == 20], lambda x, y, n: y == 77, True),
    ([], lambda x, y, n: n * 4 >= n, True),
    ([], lambda x, y, n: n * 4 >= n * 2, True),
    ([], lambda x, y, n: (n * 4) % 4 == 0, True),
    ([lambda x, y, n: n >= 3], lambda x, y, n: n * n >= 9, True),
    ([], lambda x, y, n: x % 2 + y % 2 <= 2, True),
    ([], lambda x, y, n: x % 2 + x // 2 <= 5, True),
    ([], lambda x, y, n: x % 2 + x // 2 <= 4, False),
    ([], lambda x, y, n: expr.Select(x < 5, x, 9 - x) <= 4, True),
    ([], lambda x, y, n: expr.Select(x < 5, x, 9 - x) <= 3, False),
    ([], lambda x, y, n: expr.Not(x >= 10), True),
    ([], lambda x, y, n: expr.Or(x < 3, x >= 3), True),
    ([], lambda x, y, n: expr.Or(x < 3, x > 3), False),
    ([], lambda x, y, n: expr.And(x >= 0, y < 64), True),
    ([lambda x, y, n: x % 3 == 1], lambda x, y, n: (x + 2) % 3 == 0, True),
    ([lambda x, y, n: x + y == 12, lambda x, y, n: x - y == 2], lambda x, y, n: x == 7, True),
    ([lambda x, y, n: x * 2 == y], lambda x, y, n: y % 2 == 0, True),
    ([lambda x, y, n: x * 3 + y * 5 == 7], lambda x, y, n: x == y, True),
    ([], lambda x, y, n: expr.bitwise_and(x, 1) == 0, False),
    ([], lambda x, y, n: expr.bitwise_and(x, 1) <= 1, True),
    ([], lambda x, y, n: (n * n + n) % 2 == 0, True),
    ([], lambda x, y, n: (n * (n + 3) + 1) % 4 != 2, True),
    ([], lambda x, y, n: n * n % 4 < 2, False),
    ([], lambda x, y, n: expr.bitwise_and(y, 6) % 2 == 0, True),
    ([], lambda x, y, n: expr.bitwise_and(y, 4) <= y, True),
    ([], lambda x, y, n: expr.bitwise_and(y, 12) % 4 == 0, False),
    ([], lambda x, y, n: (x + y * 3) % 7 < 7, True),
    ([], lambda x, y, n: 7 * ((x + 3) // 7) <= x + 3, True),
]


@pytest.mark.parametrize("constraints, question, expected", PROOFS)
def test_can_prove(constraints, question, expected):
    analyzer, *symbols = variables()
    scopes = [analyzer.enter_constraint(expr.convert(make(*symbols))) for make in constraints]
    assert analyzer.can_prove(question(*symbols)) is expected
    for leave in reversed(scopes):
        leave()


EQUALITIES = [
    (lambda x, y: x * 4 // 4, lambda x, y: x, True),
    (lambda x, y: (x + y) * 2, lambda x, y: y * 2 + x + x, True),
    (lambda x, y: x // 2 * 2, lambda x, y: x, False),
    (lambda x, y: expr.min_(x, y) + expr.max_(x, y), lambda x, y: x + y, True),
    (lambda x, y: x, lambda x, y: y, False),
    (lambda x, y: (x * 64 + y) % 64, lambda x, y: y, True),
    (lambda x, y: x * y, lambda x, y: y * x, True),
]


@pytest.mark.parametrize("lhs, rhs, expected", EQUALITIES)
def test_can_prove_equal(lhs, rhs, expected):
    analyzer, x, y, _ = variables()
    assert analyzer.can_prove_equal(lhs(x, y), rhs(x, y)) is expected


def test_casts_back_and_forth_are_equal_to_the_prover_only():
    v = expr.Var("v")
    there_and_back = expr.Cast("int32", expr.Cast("int64", v))
    lesser, greater = expr.Min(there_and_back, v), expr.Max(there_and_back, v)
    assert Analyzer().can_prove_equal(lesser, greater)


def test_constraints_end_with_their_scope():
    analyzer, x, y, _ = variables()
    question = x < 7
    assert not analyzer.can_prove(question)
    with analyzer.constraint_scope(x < y):
        with analyzer.constraint_scope(y < 7):
            assert analyzer.can_prove(question)
            assert analyzer.can_prove(x < 6)
            assert not analyzer.can_prove(x < 5)
            assert analyzer.simplify(expr.Select(x < y, x, y)) is x
        assert not analyzer.can_prove(question)
        assert not analyzer.can_prove(x < 9)
        assert analyzer.can_prove(x < 63)
    assert not analyzer.can_prove(x < 9)


def test_contradictory_constraints_prove_everything():
    analyzer, x, y, _ = variables()
    with analyzer.constraint_scope(x > 20):
        assert analyzer.can_prove((x + y).equal(1000))
    assert not analyzer.can_prove((x + y).equal(1000))


def test_binding_a_variable_to_an_expression():
    analyzer = Analyzer()
    x, y = expr.Var("x"), expr.Var("y")
    analyzer.bind(y, expr.Range.from_min_extent(0, 8))
    analyzer.bind(x, y * 4 + 1)
    assert analyzer.modular_set(x) == ModularSet(4, 1)
    assert analyzer.const_int_bound(x) == ConstIntBound(1, 29)
    assert str(analyzer.simplify(x)) == "y * 4 + 1"
    assert str(analyzer.simplify(x % 4)) == "1"
    assert analyzer.can_prove(x <= 29)
    assert analyzer.can_prove((x % 2).equal(1))


def test_a_range_of_one_element_is_an_expression():
    analyzer = Analyzer()
    x = expr.Var("x")
    analyzer.bind(x, expr.Range.from_min_extent(0, 1))
    assert str(analyzer.simplify(x + 1)) == "1"


def test_binding_twice():
    analyzer = Analyzer()
    x = expr.Var("x")
    analyzer.bind(x, expr.Range.from_min_extent(0, 8))
    analyzer.bind(x, expr.Range.from_min_extent(0, 8))
    with pytest.raises(InternalError, match="different const bound"):
        analyzer.bind(x, expr.Range.from_min_extent(0, 9))
    analyzer.bind(x, expr.Range.from_min_extent(0, 100), True)
    assert analyzer.const_int_bound(x) == ConstIntBound(0, 99)
    # The prover keeps the range it has translated first.
    assert analyzer.can_prove(x * x <= 49)


def test_a_clone_is_independent():
    analyzer, x, _, _ = variables()
    z = expr.Var("z")
    leave = analyzer.enter_constraint(x < 5)
    cloned = analyzer.clone()
    cloned.bind(z, expr.Range.from_min_extent(0, 3))
    leave()
    assert cloned.can_prove(z + x < 7)
    assert not analyzer.can_prove(z < 3)
    assert not analyzer.can_prove(x < 5)


def test_simplify_takes_a_number_of_steps():
    x, y = expr.Var("x"), expr.Var("y")
    for steps in (0, 1, 2):
        assert str(Analyzer().simplify((x * 4 + y * 4) // 4, steps)) == "x + y"


def test_symbolic_bounds():
    analyzer = Analyzer()
    x, n = expr.Var("x"), expr.SizeVar("n")
    analyzer.bind(x, expr.Range.from_min_extent(0, n))
    assert analyzer.can_prove(x < n)
    assert analyzer.can_prove(x < n, SYMBOLIC_BOUND)
    assert analyzer.can_prove(x * 4 + 3 < n * 4, SYMBOLIC_BOUND)
    assert not analyzer.can_prove(x * 4 + 4 < n * 4, SYMBOLIC_BOUND)
    assert analyzer.can_prove(x <= n - 1, SYMBOLIC_BOUND)
    assert analyzer.can_prove(x >= 0, SYMBOLIC_BOUND)


def test_signs_by_constant_bounds():
    """No counterpart in TVM's Python interface: these two follow from the bound of the rewritten expression."""
    analyzer, x, y, _ = variables()
    assert analyzer.can_prove_greater_equal(x - 1, -1)
    assert not analyzer.can_prove_greater_equal(x - 1, 0)
    assert analyzer.can_prove_less(x * 4 + y, 100)
    assert not analyzer.can_prove_less(x * 4 + y, 99)
    assert analyzer.can_prove_greater_equal(expr.IntImm("int32", 3), 3)
    assert not analyzer.can_prove_less(expr.IntImm("int32", 3), 3)


def test_global_facts():
    """No counterpart in TVM's Python interface."""
    analyzer = Analyzer()
    n, m = expr.Var("n"), expr.Var("m")
    analyzer.mark_global_non_neg_value(n * 4 + 8)
    assert analyzer.const_int_bound(n) == ConstIntBound(-8, ConstIntBound.POS_INF)
    analyzer.mark_global_non_neg_value(m * -2)
    analyzer.mark_global_non_neg_value(n * m)
    assert not analyzer.const_int_bound_is_bound(m)
    positive = Analyzer()
    thirty_two = expr.IntImm("int32", 32)
    assert positive.can_prove_less_equal_than_symbolic_shape_value(thirty_two, m * 32)
    assert not positive.can_prove_less_equal_than_symbolic_shape_value(thirty_two, m * 16)
    assert not positive.can_prove_less_equal_than_symbolic_shape_value(thirty_two, expr.IntImm("int32", 31))


def test_truth_values():
    b = expr.Var("b", "bool")
    assert Analyzer().can_prove(expr.Or(b, expr.Not(b)))
    assert not Analyzer().can_prove(b)
    assert Analyzer().can_prove(expr.TRUE)
    assert not Analyzer().can_prove(expr.FALSE)


def test_loads_are_unknown_but_the_same_within_a_question():
    x = expr.Var("x")
    load = expr.BufferLoad(Buffer("A", (16,), "int32"), [x])
    analyzer = Analyzer()
    assert not analyzer.can_prove(load.equal(3))
    assert analyzer.can_prove(expr.Min(load, expr.IntImm("int32", 3)) <= load)
    with analyzer.constraint_scope(load.equal(5)):
        # Every question has a load of its own: nothing is known of it.
        assert not analyzer.can_prove(load >= 3)


def test_truncating_division_in_the_prover():
    """The translation takes remainders for non-negative, which proves what is wrong for x = -1."""
    x = expr.Var("x")
    two = expr.IntImm("int32", 2)
    assert Analyzer().can_prove(expr.Mod(x, two) >= 0)
    assert Analyzer().can_prove(expr.Div(x, two) * 2 <= x)


@pytest.mark.parametrize("divisor, is_one_signed", [(2, True), (-1, True), (-116, True), (4, False)])
def test_a_remainder_by_a_divisor_that_is_a_sum_of_products(divisor, is_one_signed):
    """c - y * y, unless it may be 0: found by fuzzing (seed 7104)."""
    x, y = expr.Var("x"), expr.Var("y")
    remainder = expr.Mod(expr.IntImm("int32", 1), divisor - y * y)
    analyzer = Analyzer()
    assert analyzer.can_prove(remainder < 2) is is_one_signed
    assert analyzer.can_prove(remainder > -1) is is_one_signed
    assert not analyzer.can_prove(remainder < 1)
    simplified = str(analyzer.canonical_simplify(x * 2 > remainder))
    assert simplified == ("0 < x" if is_one_signed else "T.truncmod(1, 4 - y * y) < x * 2")


def test_a_shift_bounds_its_amount_from_then_on():
    x, y = expr.Var("x"), expr.Var("y")
    analyzer = Analyzer()
    assert not analyzer.can_prove(y * y <= 4000)
    assert not analyzer.can_prove(expr.Call("int32", "tirx.shift_left", [x, y]) + x >= -1000000)
    assert analyzer.can_prove(y * y <= 4000)
    assert analyzer.can_prove(y < 64)


def test_a_question_that_is_very_large_is_given_up():
    """A min within a max within a min ... has its innermost operands in 4**30 places."""
    x, y = expr.Var("x"), expr.Var("y")
    clamped = x
    for step in range(30):
        clamped = expr.max_(expr.min_(clamped + y, 100 + step), -step)
    assert not Analyzer().can_prove(clamped < 7)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64", "int8"])
def test_an_empty_range_without_a_sign_is_refused(dtype):
    """As the real library does: the last element of the range would be -1."""
    bind = (expr.Var("x", dtype), expr.Range.from_min_extent(expr.IntImm(dtype, 0), expr.IntImm(dtype, 0)))
    if dtype == "int8":
        Analyzer().bind(*bind)
        return
    with pytest.raises(expr.TirError):
        Analyzer().bind(*bind)


def test_bits_of_a_variable_that_a_shift_has_narrowed():
    """A shift by -y is taken for one by 0 to 63, which leaves 0 of y's sixteen values: found by fuzzing (seed 7312)."""
    x, y = expr.Var("x"), expr.Var("y")
    analyzer = Analyzer()
    analyzer.bind(y, expr.Range.from_min_extent(0, 16))
    shifted = expr.Call("int32", "tirx.shift_left", [y, y * -1])
    assert analyzer.can_prove(shifted < 2)
    assert analyzer.can_prove(shifted >= 0)
    assert str(analyzer.simplify(expr.LT(x * 2, shifted), 2)) == "x < 0"


def test_floats_are_not_for_the_prover():
    f = expr.Var("f", "float32")
    assert not Analyzer().can_prove(expr.LT(f, f))


def test_epoch_grows_with_what_is_known():
    analyzer, x, y, _ = variables()
    analyzer.can_prove(x < 3)  # makes the sub-analyzers that are made late
    epoch = analyzer.epoch
    analyzer.simplify(x + y)
    analyzer.can_prove(x < 3)
    assert analyzer.epoch == epoch
    with analyzer.constraint_scope(x < 3):
        assert analyzer.epoch > epoch
        inside = analyzer.epoch
    assert analyzer.epoch > inside


def test_chains_of_comparisons():
    """Compared with the real library with its extension TransitivelyProveInequalities."""
    a, b, c, d = (expr.Var(name) for name in "abcd")
    known = TransitiveComparisonAnalyzer()
    leave = known.enter_constraint(expr.And(a <= b, b < c + 2))
    assert known.try_compare(a, c + 1) == CompareResult.LE
    assert known.try_compare(a, c + 2) == CompareResult.LT
    assert known.try_compare(a, c) == CompareResult.UNKNOWN
    assert known.try_compare(c + 1, a) == CompareResult.GE
    assert known.try_compare(a, c + 1, False) == CompareResult.UNKNOWN
    assert known.try_compare(a, b, False) == CompareResult.LE
    assert known.try_compare(a, d) == CompareResult.UNKNOWN
    leave()
    assert known.try_compare(a, b) == CompareResult.UNKNOWN
    known.bind(d, expr.Range.from_min_extent(a, 4))
    assert known.try_compare(d, a) == CompareResult.GE
    assert known.try_compare(d, a + 4) == CompareResult.LT
    with pytest.raises(InternalError, match="conflicts"):
        known.bind(d, expr.Range.from_min_extent(a, 5))
    known.bind(d, expr.Range.from_min_extent(b, 1), True)
    assert known.try_compare(d, b) == CompareResult.EQ
    assert known.try_compare(d, a) == CompareResult.UNKNOWN


def _random_linear(rng, count):
    coefs = {v: rng.randint(-7, 7) for v in range(count)}
    return {v: c for v, c in coefs.items() if c}, rng.randint(-12, 12)


def test_integer_solutions_exist_when_trying_finds_one():
    """The Omega test against trying all points of a box (nothing of this is in TVM)."""
    rng = random.Random(3)
    solvable = 0
    for _ in range(600):
        count = rng.choice([1, 2, 3])
        box = [(low, low + rng.randint(0, 5)) for low in (rng.randint(-4, 2) for _ in range(count))]
        inequalities = [_random_linear(rng, count) for _ in range(rng.choice([1, 2, 3]))]
        for v, (low, high) in enumerate(box):
            inequalities += [({v: 1}, -low), ({v: -1}, high)]
        equalities = [_random_linear(rng, count) for _ in range(rng.choice([0, 0, 1]))]

        def value(linear, point):
            return sum(coef * point[v] for v, coef in linear[0].items()) + linear[1]

        points = itertools.product(*[range(low, high + 1) for low, high in box])
        expected = any(
            all(value(e, p) == 0 for e in equalities) and all(value(i, p) >= 0 for i in inequalities) for p in points
        )
        assert has_integer_solution(equalities, inequalities, Budget(20_000)) is expected
        solvable += expected
    assert 200 < solvable < 500
    with pytest.raises(OutOfBudget):
        has_integer_solution([], [({0: 3, 1: 2}, -1), ({0: -3, 1: -2}, 1)], Budget(1))


def _value(e, env):
    """The value of an expression as Python computes it."""
    if isinstance(e, expr.Var):
        return env[e]
    if isinstance(e, expr.IntImm):
        return e.value
    if isinstance(e, expr.Select):
        return _value(e.true_value if _value(e.condition, env) else e.false_value, env)
    a, b = _value(e.a, env), _value(e.b, env)
    return {
        expr.Add: lambda: a + b,
        expr.Sub: lambda: a - b,
        expr.Mul: lambda: a * b,
        expr.FloorDiv: lambda: a // b,
        expr.FloorMod: lambda: a % b,
        expr.Min: lambda: min(a, b),
        expr.Max: lambda: max(a, b),
        expr.LT: lambda: a < b,
        expr.LE: lambda: a <= b,
    }[type(e)]()


def _random_expr(rng, symbols, depth):
    if depth == 0:
        return rng.choice(symbols) if rng.random() < 0.75 else expr.IntImm("int32", rng.randint(-3, 9))
    kind = rng.choice([expr.Add, expr.Sub, expr.Mul, expr.FloorDiv, expr.FloorMod, expr.Min, expr.Max, expr.Select])
    a, b = _random_expr(rng, symbols, depth - 1), _random_expr(rng, symbols, depth - 1)
    if kind in (expr.FloorDiv, expr.FloorMod):
        b = expr.IntImm("int32", rng.choice([2, 3, 4, 5, 8, -3]))
    if kind is expr.Select:
        return expr.Select(expr.LT(a, b), b, _random_expr(rng, symbols, depth - 1))
    return kind(a, b)


def test_tight_bounds_are_proved_and_tighter_ones_are_not():
    """What is true of small ranges is proved, what is not is not; Z3 answers so, too, within its budget."""
    rng = random.Random(5)
    for _ in range(150):
        symbols = [expr.Var("x"), expr.Var("y")]
        ranges = [(low, low + rng.choice([1, 3, 7, 12])) for low in (rng.choice([0, 0, 1, -3]) for _ in symbols)]
        e = _random_expr(rng, symbols, rng.choice([1, 2, 2, 3]))
        points = itertools.product(*[range(low, high + 1) for low, high in ranges])
        highest = max(_value(e, dict(zip(symbols, point))) for point in points)
        analyzer = Analyzer()
        for var, (low, high) in zip(symbols, ranges):
            analyzer.bind(var, expr.Range.from_min_extent(low, high - low + 1))
        assert analyzer.can_prove(expr.LE(e, expr.IntImm("int32", highest))), (e, ranges, highest)
        assert not analyzer.can_prove(expr.LT(e, expr.IntImm("int32", highest))), (e, ranges, highest)
