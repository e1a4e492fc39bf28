"""A decision procedure for integer formulas, which :mod:`.prover` has in the place of Z3 (nothing in TVM is like it).

A question is: do the assertions imply the goal? The steps, cheapest first:

1. Sampling: an assignment that satisfies the assertions and not the goal answers "no".
2. Exhaustion: if the variables have few values, all of them are tried at once with numpy.
3. Refutation: the assertions and the negated goal become linear constraints. Quotients, choices (min, max, select) and
   products get variables of their own with constraints that define them (for products: that bound them). Disjunctions
   are split, and each case goes through bound propagation and the Omega test. If all cases are impossible, the answer
   is "yes".

Every "yes" is a proof. A "no" means a counterexample, or that the effort was limited, as Z3's is.

Terms are tuples. Integers: ("const", c) ("var", i) ("add"|"sub"|"mul"|"div"|"mod", a, b) ("ite", condition, a, b)
("bits", name, a, b, width). Truth values: ("bool", b) ("bvar", i) ("le"|"lt"|"eq"|"and"|"or", a, b) ("not", a).
Division leaves a remainder >= 0, as SMT-LIB defines it; division by zero may give anything.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np

from .linear_integer import Budget, Linear, OutOfBudget, has_integer_solution

Term = tuple[Any, ...]
Interval = tuple[int | None, int | None]

# Up to how many assignments are tried exhaustively: as the first choice, and where refutation is not conclusive.
_FEW_POINTS = 4096
_MANY_POINTS = 2_000_000
# Z3 decides operations on bits within its budget only if they are 32 bit ones of operands with a handful of values.
_POINTS_WITH_BITS = 8
# Up to how many values of a factor are tried one by one.
_FEW_VALUES = 8
# Elementary steps of refutation per question, and how large the ends of intervals may become on the way.
_REFUTATION_BUDGET = 20_000
_LARGEST_END = 2**256
# Parts of a question. A min in a min in a min ... has its innermost operands in many places.
_LARGEST_QUESTION = 200_000

TRUE: Term = ("bool", True)
FALSE: Term = ("bool", False)
_BOOLEAN_TAGS = frozenset(("bool", "bvar", "le", "lt", "eq", "and", "or", "not"))


class DivisionByZero(Exception):
    """An evaluation met a divisor 0, whose quotient may be anything."""


def is_boolean(term: Term) -> bool:
    return term[0] in _BOOLEAN_TAGS


def variables_of(term: Term) -> frozenset[int]:
    """The variables in a term."""
    tag = term[0]
    if tag in ("var", "bvar"):
        return frozenset((term[1],))
    if tag in ("const", "bool"):
        return frozenset()
    found: frozenset[int] = frozenset()
    for part in term[1:]:
        if type(part) is tuple:
            found |= variables_of(part)
    return found


def has_bits(term: Term) -> bool:
    """Whether there is an operation on the bits of variables in a term."""
    if term[0] == "bits" and variables_of(term):
        return True
    return any(type(part) is tuple and has_bits(part) for part in term[1:])


# ---------------------------------------------------------------------------------------------------------------------
# Evaluation
# ---------------------------------------------------------------------------------------------------------------------


def bits_value(name: str, a: int, b: int, width: int) -> int:
    """An operation on two's complement numbers of ``width`` bits, read as a signed number."""
    mask = (1 << width) - 1
    a &= mask
    b &= mask
    if name == "and":
        value = a & b
    elif name == "or":
        value = a | b
    elif name == "xor":
        value = a ^ b
    elif name == "not":
        value = ~a & mask
    elif name == "shl":
        value = (a << b) & mask if b < width else 0
    else:
        value = (_signed(a, width) >> min(b, width - 1)) & mask
    return _signed(value, width)


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def evaluate(term: Term, env: dict[int, int]) -> int:
    """The value of a term (truth values as 0 and 1). Raises DivisionByZero."""
    tag = term[0]
    if tag == "const" or tag == "bool":
        return term[1]
    if tag == "var" or tag == "bvar":
        return env[term[1]]
    if tag == "ite":
        return evaluate(term[2], env) if evaluate(term[1], env) else evaluate(term[3], env)
    if tag == "not":
        return not evaluate(term[1], env)
    if tag == "and":
        return evaluate(term[1], env) and evaluate(term[2], env)
    if tag == "or":
        return evaluate(term[1], env) or evaluate(term[2], env)
    if tag == "bits":
        return bits_value(term[1], evaluate(term[2], env), evaluate(term[3], env), term[4])
    a = evaluate(term[1], env)
    b = evaluate(term[2], env)
    if tag == "add":
        return a + b
    if tag == "sub":
        return a - b
    if tag == "mul":
        return a * b
    if tag == "le":
        return a <= b
    if tag == "lt":
        return a < b
    if tag == "eq":
        return a == b
    if b == 0:
        raise DivisionByZero
    remainder = a % abs(b)
    return remainder if tag == "mod" else (a - remainder) // b


def _evaluate_arrays(term: Term, env: dict[int, np.ndarray]) -> Any:
    """:func:`evaluate` for arrays of values; both sides of a choice are evaluated."""
    tag = term[0]
    if tag == "const":
        return np.int64(term[1])
    if tag == "bool":
        return np.bool_(term[1])
    if tag == "var":
        return env[term[1]]
    if tag == "bvar":
        return env[term[1]] != 0
    if tag == "not":
        return np.logical_not(_evaluate_arrays(term[1], env))
    if tag == "bits":
        a = np.asarray(_evaluate_arrays(term[2], env))
        b = np.asarray(_evaluate_arrays(term[3], env))
        name, width = term[1], term[4]
        return np.vectorize(lambda x, y: bits_value(name, int(x), int(y), width), otypes=[np.int64])(a, b)
    parts = [_evaluate_arrays(part, env) for part in term[1:]]
    if tag == "ite":
        return np.where(parts[0], parts[1], parts[2])
    a, b = parts
    if tag in _ARRAY_OPERATIONS:
        return _ARRAY_OPERATIONS[tag](a, b)
    if np.any(b == 0):
        raise DivisionByZero
    remainder = np.mod(a, np.abs(b))
    return remainder if tag == "mod" else (a - remainder) // b


_ARRAY_OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "le": np.less_equal,
    "lt": np.less,
    "eq": np.equal,
    "and": np.logical_and,
    "or": np.logical_or,
}


def _magnitude(term: Term, largest: dict[int, int]) -> int:
    """No value on the way to a term's value is larger in magnitude, given the largest magnitudes of variables."""
    tag = term[0]
    if tag == "const":
        return abs(term[1])
    if tag == "var":
        return largest[term[1]]
    if tag in ("bool", "bvar"):
        return 1
    if tag == "bits":
        return max(2 ** term[4], _magnitude(term[2], largest), _magnitude(term[3], largest))
    parts = [_magnitude(part, largest) for part in term[1:]]
    if tag == "mul":
        return max(1, parts[0]) * max(1, parts[1])
    if tag in ("add", "sub", "div", "mod"):
        return parts[0] + parts[1]
    return max(parts)


# ---------------------------------------------------------------------------------------------------------------------
# Bounds that assertions put on single variables
# ---------------------------------------------------------------------------------------------------------------------


def _bound_of_assertion(term: Term) -> tuple[int, int | None, int | None] | None:
    """``(variable, low, high)`` of an assertion that compares one variable with a constant."""
    if term[0] not in ("le", "lt", "eq"):
        return None
    tag, a, b = term
    strict = 1 if tag == "lt" else 0
    if a[0] == "const" and b[0] == "var":
        return (b[1], a[1] + strict, a[1] if tag == "eq" else None)
    if a[0] == "var" and b[0] == "const":
        return (a[1], b[1] if tag == "eq" else None, b[1] - strict)
    return None


def _meet(a: Interval, low: int | None, high: int | None) -> Interval:
    return (
        low if a[0] is None else a[0] if low is None else max(a[0], low),
        high if a[1] is None else a[1] if high is None else min(a[1], high),
    )


def _is_empty(interval: Interval) -> bool:
    return interval[0] is not None and interval[1] is not None and interval[0] > interval[1]


def _split_conjunctions(terms: Iterable[Term]) -> list[Term]:
    result: list[Term] = []
    for term in terms:
        if term[0] == "and":
            result.extend(_split_conjunctions(term[1:]))
        else:
            result.append(term)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# The question
# ---------------------------------------------------------------------------------------------------------------------


def implies(assertions: list[Term], goal: Term) -> bool:
    """Whether the goal certainly holds where all assertions hold."""
    sizes: dict[int, int] = {}
    if sum(_size(term, sizes) for term in (goal, *assertions)) > _LARGEST_QUESTION:
        return False
    parts = _split_conjunctions(assertions)
    related, unrelated = _cone(parts, variables_of(goal))
    if _Question(related, goal).holds():
        return True
    # Contradictory assertions imply everything, also those about other variables.
    while unrelated:
        group, unrelated = _cone(unrelated[1:], variables_of(unrelated[0]), unrelated[:1])
        if _Question(group, FALSE).holds():
            return True
    return False


def _size(term: Term, known: dict[int, int]) -> int:
    """How many parts a term has, those that it has several times counted so: all walks below go through each."""
    size = known.get(id(term))
    if size is None:
        size = known[id(term)] = 1 + sum(_size(part, known) for part in term[1:] if type(part) is tuple)
    return size


def _cone(parts: list[Term], variables: frozenset[int], start: list[Term] = ()) -> tuple[list[Term], list[Term]]:
    """The assertions that have to do with some variables, directly or through other assertions, and the others."""
    related = list(start)
    pending = [(part, variables_of(part)) for part in parts]
    while True:
        touched = [item for item in pending if not item[1] or not variables.isdisjoint(item[1])]
        if not touched:
            return related, [part for part, _ in pending]
        pending = [item for item in pending if item[1] and variables.isdisjoint(item[1])]
        for part, used in touched:
            related.append(part)
            variables |= used


class _Question:
    """Assertions that hang together, and a goal."""

    def __init__(self, assertions: list[Term], goal: Term) -> None:
        self.goal = goal
        self.variables: set[int] = set(variables_of(goal))
        self.intervals: dict[int, Interval] = {}
        self.conditions: list[Term] = []  # the assertions that are more than a bound of one variable
        for assertion in assertions:
            self.variables |= variables_of(assertion)
            bound = _bound_of_assertion(assertion)
            if bound is None:
                self.conditions.append(assertion)
            else:
                var, low, high = bound
                self.intervals[var] = _meet(self.intervals.get(var, (None, None)), low, high)
        for var in _boolean_variables([goal, *self.conditions]):
            self.intervals[var] = (0, 1)

    def holds(self) -> bool:
        if any(_is_empty(interval) for interval in self.intervals.values()):
            return True
        if self.goal == FALSE and not self.conditions:
            return False
        if self._has_counterexample():
            return False
        by_exhaustion = self._exhaust(_FEW_POINTS)
        if by_exhaustion is not None:
            return by_exhaustion
        refutation = _Refutation(self.intervals, Budget(_REFUTATION_BUDGET))
        try:
            if refutation.is_impossible([*self.conditions, ("not", self.goal)]):
                return True
            if refutation.is_exact:
                return False
        except OutOfBudget:
            pass
        # Where a counterexample can be is known more narrowly by now.
        narrowed = refutation.narrowed or {}
        self.intervals = {var: narrowed.get(var, ends) for var, ends in self.intervals.items()}
        return self._exhaust(_MANY_POINTS) is True

    def _has_counterexample(self) -> bool:
        for env in self._samples():
            try:
                if not evaluate(self.goal, env) and all(evaluate(term, env) for term in self.conditions):
                    return True
            except DivisionByZero:
                continue
        return False

    def _samples(self) -> Iterable[dict[int, int]]:
        """Some assignments within the bounds: corners, then a fixed choice of random ones."""
        order = sorted(self.variables)
        ends = {var: self._sample_interval(var) for var in order}
        yield {var: ends[var][0] for var in order}
        yield {var: ends[var][1] for var in order}
        yield {var: (ends[var][0] + ends[var][1]) // 2 for var in order}
        rng = random.Random(len(order))
        for _ in range(20):
            yield {var: _random_value(rng, *ends[var]) for var in order}

    def _sample_interval(self, var: int) -> tuple[int, int]:
        low, high = self.intervals.get(var, (None, None))
        if low is None:
            low = -1000 if high is None else high - 1000
        if high is None:
            high = low + 1000
        return low, high

    def _number_of_points(self) -> int | None:
        points = 1
        for var in self.variables:
            low, high = self.intervals.get(var, (None, None))
            if low is None or high is None:
                return None
            points *= high - low + 1
        return points

    def _exhaust(self, limit: int) -> bool | None:
        """Try all assignments, unless there are more than the limit; None if that decides nothing."""
        points = self._number_of_points()
        if points is None or points > limit:
            return None
        terms = [self.goal, *self.conditions]
        if any(map(has_bits, terms)):
            return None  # left to refutation, which knows when Z3 would give up
        order = sorted(self.variables)
        if len(order) > 32:
            return None
        largest = {var: max(map(abs, self.intervals[var])) for var in order}
        if max(_magnitude(term, largest) for term in terms) >= 2**62:
            return None
        env = {}
        for axis, var in enumerate(order):
            low, high = self.intervals[var]
            shape = [1] * len(order)
            shape[axis] = high - low + 1
            env[var] = np.arange(low, high + 1, dtype=np.int64).reshape(shape)
        try:
            counterexamples = np.logical_not(_evaluate_arrays(self.goal, env))
            for condition in self.conditions:
                counterexamples = np.logical_and(counterexamples, _evaluate_arrays(condition, env))
        except DivisionByZero:
            return None
        return not np.any(counterexamples)


def _random_value(rng: random.Random, low: int, high: int) -> int:
    """A value of an interval, near its ends or near 0 more often than elsewhere."""
    choice = rng.randrange(4)
    if choice == 0:
        return min(high, low + rng.randrange(9))
    if choice == 1:
        return max(low, high - rng.randrange(9))
    if choice == 2:
        return min(max(rng.randrange(-8, 9), low), high)
    return rng.randint(low, high)


def _boolean_variables(terms: list[Term]) -> set[int]:
    found: set[int] = set()
    stack = list(terms)
    while stack:
        term = stack.pop()
        if term[0] == "bvar":
            found.add(term[1])
        else:
            stack.extend(part for part in term[1:] if type(part) is tuple)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Refutation
# ---------------------------------------------------------------------------------------------------------------------

# A polynomial: coefficients by monomial, a monomial being the sorted variables; () is the constant.
Polynomial = dict[tuple[int, ...], int]
# A formula: True, False, ("ge", linear) for "at least 0", ("eq", linear), ("and", [...]), ("or", [...]).
Formula = Any


class _Refutation:
    """Shows that formulas cannot hold together.

    Attributes:
        is_exact: whether the linear constraints say all that the terms say, so that "possible" is certain, too.
        narrowed: the intervals of variables after the first bound propagation, None before.
    """

    def __init__(self, intervals: dict[int, Interval], budget: Budget) -> None:
        self.intervals = dict(intervals)
        self.budget = budget
        self.is_exact = True
        self._next_var = 1 + max(intervals, default=0)
        self._definitions: list[Formula] = []
        self._polynomials: dict[Term, Polynomial] = {}
        self._divisions: dict[Any, tuple[Polynomial, Polynomial]] = {}
        self._monomials: dict[tuple[int, ...], int] = {}
        self._products: list[tuple[int, int, int]] = []  # (z, x, y) for z = x * y
        self.narrowed: dict[int, Interval] | None = None

    def is_impossible(self, terms: list[Term]) -> bool:
        """Whether the terms, truth values, exclude each other."""
        for term in terms:
            for var in variables_of(term):
                self._next_var = max(self._next_var, var + 1)
        plain = [term for term in terms if not has_bits(term)]
        with_bits = [term for term in terms if has_bits(term)]
        formulas = [self._formula(term, True) for term in plain]
        if with_bits:
            # The table of an operation on bits depends on how few values its variables are left with.
            self._narrow_intervals(formulas)
            formulas += [self._formula(term, True) for term in with_bits]
        formulas.extend(self._definitions)
        return self._refute([], [], formulas, dict(self.intervals))

    def _narrow_intervals(self, formulas: list[Formula]) -> None:
        """Take what the formulas say of single variables into the intervals."""
        equalities: list[Linear] = []
        inequalities: list[Linear] = []
        intervals = dict(self.intervals)
        if not _take_in([*formulas, *self._definitions], equalities, inequalities, []):
            return  # a contradiction, which the search finds as well
        if _propagate(equalities, inequalities, self._products, intervals):
            self.intervals = intervals

    # -- From terms to formulas -----------------------------------------------------------------------------------

    def _new_var(self) -> int:
        var = self._next_var
        self._next_var += 1
        return var

    def _formula(self, term: Term, positive: bool) -> Formula:
        """The term, or its negation."""
        tag = term[0]
        if tag == "bool":
            return term[1] == positive
        if tag == "bvar":
            linear: Linear = ({term[1]: 1}, -1) if positive else ({term[1]: -1}, 0)
            return ("ge", linear)
        if tag == "not":
            return self._formula(term[1], not positive)
        if tag in ("and", "or"):
            parts = [self._formula(term[1], positive), self._formula(term[2], positive)]
            return _conjunction(parts) if (tag == "and") == positive else _disjunction(parts)
        a, b = self._polynomial(term[1]), self._polynomial(term[2])
        if tag == "eq":
            if positive:
                return self._equal(a, b)
            return _disjunction([self._less(a, b), self._less(b, a)])
        if tag == "le":
            return self._less_equal(a, b) if positive else self._less(b, a)
        return self._less(a, b) if positive else self._less_equal(b, a)

    def _less_equal(self, a: Polynomial, b: Polynomial, slack: int = 0) -> Formula:
        coefs, const = self._linear(_add_polynomials(b, a, -1))
        return ("ge", (coefs, const - slack)) if coefs else const - slack >= 0

    def _less(self, a: Polynomial, b: Polynomial) -> Formula:
        return self._less_equal(a, b, 1)

    def _equal(self, a: Polynomial, b: Polynomial) -> Formula:
        coefs, const = self._linear(_add_polynomials(a, b, -1))
        return ("eq", (coefs, const)) if coefs else const == 0

    def _polynomial(self, term: Term) -> Polynomial:
        known = self._polynomials.get(term)
        if known is None:
            known = self._polynomials[term] = self._compute_polynomial(term)
        return known

    def _compute_polynomial(self, term: Term) -> Polynomial:
        tag = term[0]
        if tag == "const":
            return {(): term[1]} if term[1] else {}
        if tag == "var":
            return {(term[1],): 1}
        if tag == "add":
            return _add_polynomials(self._polynomial(term[1]), self._polynomial(term[2]), 1)
        if tag == "sub":
            return _add_polynomials(self._polynomial(term[1]), self._polynomial(term[2]), -1)
        if tag == "mul":
            return _multiply_polynomials(self._polynomial(term[1]), self._polynomial(term[2]))
        if tag == "ite":
            return self._choice(term)
        if tag == "bits":
            return self._bits(term)
        quotient, remainder = self._division(self._polynomial(term[1]), self._polynomial(term[2]))
        return quotient if tag == "div" else remainder

    def _choice(self, term: Term) -> Polynomial:
        """A variable that is one or the other value, as the condition has it."""
        yes, no = self._polynomial(term[2]), self._polynomial(term[3])
        if yes == no:
            return yes
        condition = self._formula(term[1], True)
        if condition is True:
            return yes
        if condition is False:
            return no
        var = self._new_var()
        (yes_low, yes_high), (no_low, no_high) = self._range(yes), self._range(no)
        self.intervals[var] = (
            None if yes_low is None or no_low is None else min(yes_low, no_low),
            None if yes_high is None or no_high is None else max(yes_high, no_high),
        )
        result: Polynomial = {(var,): 1}
        is_yes = _conjunction([condition, self._equal(result, yes)])
        is_no = _conjunction([self._formula(term[1], False), self._equal(result, no)])
        self._definitions.append(_disjunction([is_yes, is_no]))
        return result

    def _bits(self, term: Term) -> Polynomial:
        """A variable; if the operation has few different operands, with a table of its values."""
        _, name, a, b, width = term
        mask = b[1] if b[0] == "const" else a[1] if a[0] == "const" else 0
        var = self._new_var()
        self.intervals[var] = (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
        result: Polynomial = {(var,): 1}
        a, b = self._polynomial(a), self._polynomial(b)
        pairs = self._few_pairs(a, b) if width <= 32 else None
        if pairs is not None:
            rows = []
            for x, y in pairs:
                value = bits_value(name, x, y, width)
                operands = [self._equal(a, {(): x}), self._equal(b, {(): y})]
                rows.append(_conjunction([*operands, self._equal(result, {(): value})]))
            self._definitions.append(_disjunction(rows))
            return result
        self.is_exact = False
        if name == "and" and width <= 32 and mask > 0 and (mask & (mask - 1) == 0 or mask & 3 == 2):
            # Z3 sees that one bit, or a number without its last bit, is a multiple, and that one bit is no more than
            # what it is taken of.
            lowest = mask & -mask
            self.intervals[var] = (0, mask // lowest)
            result = {(var,): lowest}
            operand = b if a == {(): mask} else a
            low, _ = self._range(operand)
            if mask == lowest and low is not None and low >= 0:
                self._definitions.append(self._less_equal(result, operand))
        return result

    def _few_pairs(self, a: Polynomial, b: Polynomial) -> list[tuple[int, int]] | None:
        """All values of two operands by their bounds, if these are few."""
        (a_low, a_high), (b_low, b_high) = self._range(a), self._range(b)
        if a_low is None or a_high is None or b_low is None or b_high is None:
            return None
        if (a_high - a_low + 1) * (b_high - b_low + 1) > _POINTS_WITH_BITS:
            return None
        return [(x, y) for x in range(a_low, a_high + 1) for y in range(b_low, b_high + 1)]

    def _division(self, dividend: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Quotient and remainder."""
        key = (frozenset(dividend.items()), frozenset(divisor.items()))
        known = self._divisions.get(key)
        if known is None:
            if not set(divisor) - {()}:
                known = self._division_by_constant(dividend, divisor.get((), 0))
            else:
                known = self._division_by_variable(dividend, divisor)
            self._divisions[key] = known
        return known

    def _division_by_constant(self, dividend: Polynomial, divisor: int) -> tuple[Polynomial, Polynomial]:
        var = self._new_var()
        quotient: Polynomial = {(var,): 1}
        if divisor == 0:  # both are anything
            return quotient, {(self._new_var(),): 1}
        ends = [None if end is None else (end - end % abs(divisor)) // divisor for end in self._range(dividend)]
        self.intervals[var] = (ends[0], ends[1]) if divisor > 0 else (ends[1], ends[0])
        rest = self._new_var()
        self.intervals[rest] = (0, abs(divisor) - 1)
        remainder: Polynomial = {(rest,): 1}
        self._definitions.append(self._equal(_add_polynomials(remainder, quotient, divisor), dividend))
        return quotient, remainder

    def _division_by_variable(self, dividend: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
        quotient: Polynomial = {(self._new_var(),): 1}
        remainder: Polynomial = {(self._new_var(),): 1}
        product = _multiply_polynomials(divisor, quotient)
        definition = self._equal(_add_polynomials(product, remainder, 1), dividend)
        if len(divisor) > 1:
            # Multiplied out, a product with a sum does not show what the sign of the sum says of it.
            whole = self._named(divisor)
            again = self._equal(_add_polynomials(_multiply_polynomials(whole, quotient), remainder, 1), dividend)
            definition = _conjunction([definition, again])
        not_negative = self._less_equal({}, remainder)
        below_divisor = _conjunction([self._less({}, divisor), self._less(remainder, divisor)])
        minus_divisor = _add_polynomials({}, divisor, -1)
        below_minus_divisor = _conjunction([self._less(divisor, {}), self._less(remainder, minus_divisor)])
        defined = _conjunction([definition, not_negative, _disjunction([below_divisor, below_minus_divisor])])
        self._definitions.append(_disjunction([defined, self._equal(divisor, {})]))
        return quotient, remainder

    def _named(self, polynomial: Polynomial) -> Polynomial:
        """A variable that equals the polynomial."""
        var = self._new_var()
        self.intervals[var] = self._range(polynomial)
        self._definitions.append(self._equal({(var,): 1}, polynomial))
        return {(var,): 1}

    def _range(self, polynomial: Polynomial) -> Interval:
        return _range_of(self._linear(polynomial), self.intervals)

    def _linear(self, polynomial: Polynomial) -> Linear:
        """The polynomial with a variable for each product."""
        coefs: dict[int, int] = {}
        for monomial, coef in polynomial.items():
            if monomial:
                coefs[self._monomial(monomial)] = coef
        return coefs, polynomial.get((), 0)

    def _monomial(self, monomial: tuple[int, ...]) -> int:
        if len(monomial) == 1:
            return monomial[0]
        var = self._monomials.get(monomial)
        if var is None:
            self.is_exact = False
            var = self._monomials[monomial] = self._new_var()
            self._products.append((var, self._monomial(monomial[:-1]), monomial[-1]))
            self._define_product(*self._products[-1])
            if len(monomial) % 2 == 0 and monomial[::2] == monomial[1::2]:
                self.intervals[var] = _meet(self.intervals.get(var, (None, None)), 0, None)
        return var

    def _define_product(self, product: int, x: int, y: int) -> None:
        """What can be said about a product beforehand; more follows from the bounds of its factors, see _planes."""
        ends = _range_of_product(self.intervals.get(x, (None, None)), self.intervals.get(y, (None, None)))
        self.intervals[product] = _meet(self.intervals.get(product, (None, None)), *ends)
        if x == y:
            for sign in (1, -1):  # x * x >= |x|
                self._definitions.append(("ge", ({product: 1, x: sign}, 0)))
            half = self._new_var()  # x * x + x is even
            self._definitions.append(("eq", ({product: 1, x: 1, half: -2}, 0)))
        for factor in {x, y}:
            is_negative, is_not_negative = ("ge", ({factor: -1}, -1)), ("ge", ({factor: 1}, 0))
            self._definitions.append(("or", [is_negative, is_not_negative]))

    # -- The search -----------------------------------------------------------------------------------------------

    def _refute(
        self,
        equalities: list[Linear],
        inequalities: list[Linear],
        formulas: list[Formula],
        intervals: dict[int, Interval],
    ) -> bool:
        """Whether the constraints and the formulas are impossible together."""
        equalities, inequalities = list(equalities), list(inequalities)
        clauses: list[list[Formula]] = []
        solved: set[int] = set()  # products that have become linear
        pending = list(formulas)
        while pending:
            if not _take_in(pending, equalities, inequalities, clauses):
                return True
            self.budget.spend(len(equalities) + len(inequalities) + len(clauses))
            if not _propagate(equalities, inequalities, self._products, intervals):
                return True
            pending, remaining = self._solved_products(intervals, solved), []
            for clause in clauses:
                open_parts = _open_alternatives(clause, intervals)
                if open_parts is None:
                    continue
                if not open_parts:
                    return True
                if len(open_parts) == 1:
                    pending.append(open_parts[0])
                else:
                    remaining.append(open_parts)
            clauses = remaining
        if self.narrowed is None:
            self.narrowed = dict(intervals)
        facts = inequalities + self._planes(intervals)
        facts += _as_constraints(intervals, equalities, facts)
        if not has_integer_solution(equalities, facts, self.budget):
            return True
        if not clauses:
            return self._refute_values(equalities, inequalities, intervals, solved)
        clause = min(clauses, key=len)
        others = [("or", other) for other in clauses if other is not clause]
        for alternative in clause:
            if not self._refute(equalities, inequalities, [alternative, *others], dict(intervals)):
                return False
        return True

    def _refute_values(
        self, equalities: list[Linear], inequalities: list[Linear], intervals: dict[int, Interval], solved: set[int]
    ) -> bool:
        """Whether the constraints are impossible for each value of a factor with few of them."""
        for product, x, y in self._products:
            for factor in (x, y):
                low, high = intervals.get(factor, (None, None))
                if product in solved or low is None or high is None or high - low >= _FEW_VALUES:
                    continue
                values = [("eq", ({factor: 1}, -value)) for value in range(low, high + 1)]
                return all(self._refute(equalities, inequalities, [value], dict(intervals)) for value in values)
        return False

    def _planes(self, intervals: dict[int, Interval]) -> list[Linear]:
        """Linear bounds of products by the bounds of their factors."""
        planes: list[Linear] = []
        for product, x, y in self._products:
            x_low, x_high = intervals.get(x, (None, None))
            y_low, y_high = intervals.get(y, (None, None))
            for a, sign_x in ((x_low, 1), (x_high, -1)):
                for b, sign_y in ((y_low, 1), (y_high, -1)):
                    if a is None or b is None:
                        continue
                    # (x - a) * (y - b), each factor or its negation, is at least 0.
                    sign = sign_x * sign_y
                    plane: Linear = ({product: sign}, sign * a * b)
                    plane = _add_scaled_var(plane, -sign * b, x)
                    planes.append(_add_scaled_var(plane, -sign * a, y))
        return planes

    def _solved_products(self, intervals: dict[int, Interval], solved: set[int]) -> list[Formula]:
        """Equations for products one factor of which has become a constant."""
        equations: list[Formula] = []
        for product, x, y in self._products:
            if product in solved:
                continue
            for constant, factor in ((x, y), (y, x)):
                low, high = intervals.get(constant, (None, None))
                if low is not None and low == high:
                    solved.add(product)
                    equations.append(("eq", _add_scaled_var(({product: 1}, 0), -low, factor)))
                    break
        return equations


def _add_polynomials(a: Polynomial, b: Polynomial, factor: int) -> Polynomial:
    """``a + factor * b``"""
    result = dict(a)
    for monomial, coef in b.items():
        total = result.get(monomial, 0) + factor * coef
        if total:
            result[monomial] = total
        else:
            result.pop(monomial, None)
    return result


def _multiply_polynomials(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for left, left_coef in a.items():
        for right, right_coef in b.items():
            monomial = tuple(sorted(left + right))
            total = result.get(monomial, 0) + left_coef * right_coef
            if total:
                result[monomial] = total
            else:
                result.pop(monomial, None)
    return result


def _add_scaled_var(linear: Linear, factor: int, var: int) -> Linear:
    coefs = dict(linear[0])
    total = coefs.get(var, 0) + factor
    if total:
        coefs[var] = total
    else:
        coefs.pop(var, None)
    return coefs, linear[1]


def _conjunction(parts: list[Formula]) -> Formula:
    if any(part is False for part in parts):
        return False
    parts = [part for part in parts if part is not True]
    if not parts:
        return True
    return parts[0] if len(parts) == 1 else ("and", parts)


def _disjunction(parts: list[Formula]) -> Formula:
    if any(part is True for part in parts):
        return True
    parts = [part for part in parts if part is not False]
    if not parts:
        return False
    return parts[0] if len(parts) == 1 else ("or", parts)


def _take_in(
    pending: list[Formula], equalities: list[Linear], inequalities: list[Linear], clauses: list[list[Formula]]
) -> bool:
    """Sort formulas into constraints and disjunctions; False if one of them is False."""
    stack = list(reversed(pending))
    while stack:
        formula = stack.pop()
        if formula is True:
            continue
        if formula is False:
            return False
        kind, content = formula
        if kind == "ge":
            inequalities.append(content)
        elif kind == "eq":
            equalities.append(content)
        elif kind == "and":
            stack.extend(reversed(content))
        else:
            clauses.append(content)
    return True


def _range_of(linear: Linear, intervals: dict[int, Interval]) -> Interval:
    """Bounds of a linear form."""
    low: int | None = linear[1]
    high: int | None = linear[1]
    for var, coef in linear[0].items():
        var_low, var_high = intervals.get(var, (None, None))
        if coef < 0:
            var_low, var_high = var_high, var_low
        low = None if low is None or var_low is None else low + coef * var_low
        high = None if high is None or var_high is None else high + coef * var_high
    return low, high


def _truth(formula: Formula, intervals: dict[int, Interval]) -> bool | None:
    """Whether a formula holds for all or for no values within the intervals; None if that is not clear."""
    if formula is True or formula is False:
        return formula
    kind, content = formula
    if kind == "ge" or kind == "eq":
        low, high = _range_of(content, intervals)
        if kind == "ge":
            if low is not None and low >= 0:
                return True
            return False if high is not None and high < 0 else None
        if low == 0 and high == 0:
            return True
        outside = (low is not None and low > 0) or (high is not None and high < 0)
        return False if outside else None
    truths = [_truth(part, intervals) for part in content]
    if kind == "and":
        return False if False in truths else (None if None in truths else True)
    return True if True in truths else (None if None in truths else False)


def _open_alternatives(clause: list[Formula], intervals: dict[int, Interval]) -> list[Formula] | None:
    """The parts of a disjunction that may hold; None if one holds for sure."""
    result = []
    for part in clause:
        truth = _truth(part, intervals)
        if truth is True:
            return None
        if truth is None:
            result.append(part)
    return result


def _propagate(
    equalities: list[Linear],
    inequalities: list[Linear],
    products: list[tuple[int, int, int]],
    intervals: dict[int, Interval],
) -> bool:
    """Narrow the intervals by the constraints, a few times; False if one becomes empty."""
    constraints = list(inequalities)
    for coefs, const in equalities:
        constraints.append((coefs, const))
        constraints.append(({var: -coef for var, coef in coefs.items()}, -const))
    for _ in range(8):
        changed = False
        for coefs, const in constraints:
            narrowed = _narrow(coefs, const, intervals)
            if narrowed is None:
                return False
            changed |= narrowed
        for product, x, y in products:
            ends = _range_of_product(intervals.get(x, (None, None)), intervals.get(y, (None, None)))
            known = intervals.get(product, (None, None))
            intervals[product] = _meet(known, *ends)
            changed |= intervals[product] != known
            if _is_empty(intervals[product]):
                return False
            if _excludes_zero(intervals[product]):
                for factor in (x, y):
                    known = intervals.get(factor, (None, None))
                    intervals[factor] = _without_zero_ends(known)
                    changed |= intervals[factor] != known
                    if _is_empty(intervals[factor]):
                        return False
        if not changed:
            return True
        if any(end is not None and abs(end) > _LARGEST_END for ends in intervals.values() for end in ends):
            raise OutOfBudget  # products of ends that drive each other up
    return True


def _excludes_zero(interval: Interval) -> bool:
    low, high = interval
    return (low is not None and low > 0) or (high is not None and high < 0)


def _without_zero_ends(interval: Interval) -> Interval:
    low, high = interval
    return 1 if low == 0 else low, -1 if high == 0 else high


def _range_of_product(x: Interval, y: Interval) -> Interval:
    """The interval of a product, an end of which may be open if an end of a factor is."""
    if None not in x and None not in y:
        corners = [a * b for a in x for b in y]
        return min(corners), max(corners)
    for a, b in ((x, y), (y, x)):
        if a == (0, 0):
            return (0, 0)
        if a[0] is not None and a[0] >= 0:  # a >= 0: the product is on the side of 0 where b is
            if b[0] is not None and b[0] >= 0:
                return (a[0] * b[0], None)
            if b[1] is not None and b[1] <= 0:
                return (None, a[0] * b[1])
        if a[1] is not None and a[1] <= 0 and b[1] is not None and b[1] <= 0:
            return (a[1] * b[1], None)
    return (None, None)


def _narrow(coefs: dict[int, int], const: int, intervals: dict[int, Interval]) -> bool | None:
    """Use ``sum >= 0`` for each of its variables. Returns whether that changed anything; None for a contradiction."""
    highest = const  # the largest value of the sum, without the terms that have none
    unbounded = 0
    for var, coef in coefs.items():
        end = intervals.get(var, (None, None))[1 if coef > 0 else 0]
        if end is None:
            unbounded += 1
        else:
            highest += coef * end
    if unbounded == 0 and highest < 0:
        return None
    if unbounded > 1:
        return False
    changed = False
    for var, coef in coefs.items():
        low, high = intervals.get(var, (None, None))
        end = high if coef > 0 else low
        if unbounded and end is not None:
            continue
        others = highest if end is None else highest - coef * end
        # coef * var >= -others
        if coef > 0:
            new_low = -(others // coef)
            if low is None or new_low > low:
                low, changed = new_low, True
        else:
            new_high = others // -coef
            if high is None or new_high < high:
                high, changed = new_high, True
        intervals[var] = (low, high)
        if _is_empty((low, high)):
            return None
    return changed


def _as_constraints(
    intervals: dict[int, Interval], equalities: list[Linear], inequalities: list[Linear]
) -> list[Linear]:
    """The intervals of the variables in some constraints, as constraints."""
    used = {var for coefs, _ in equalities + inequalities for var in coefs}
    result: list[Linear] = []
    for var in sorted(used):
        low, high = intervals.get(var, (None, None))
        if low is not None:
            result.append(({var: 1}, -low))
        if high is not None:
            result.append(({var: -1}, high))
    return result
