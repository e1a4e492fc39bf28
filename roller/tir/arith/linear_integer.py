"""Whether linear constraints have an integer solution: the Omega test (W. Pugh, "The Omega test", 1991).

Nothing in TVM corresponds to this file; it is what :mod:`.prover` has in the place of Z3's linear arithmetic. The test
is exact: "no solution" is a proof, and "a solution" means that there is one. It may be expensive, so it has a budget.

A constraint is a pair ``(coefs, const)``: ``sum(coefs[v] * v) + const`` is 0 (an equality) or at least 0 (an
inequality). Variables are numbers; negative ones are reserved for variables that the test introduces.
"""

from __future__ import annotations

from math import gcd

Linear = tuple[dict[int, int], int]


class OutOfBudget(Exception):
    """The test was given up."""


class Budget:
    """Elementary steps that may still be taken, shared by all that goes into one question."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise OutOfBudget


def add_scaled(a: Linear, factor: int, b: Linear) -> Linear:
    """``a + factor * b``"""
    coefs = dict(a[0])
    for var, coef in b[0].items():
        total = coefs.get(var, 0) + factor * coef
        if total:
            coefs[var] = total
        else:
            coefs.pop(var, None)
    return coefs, a[1] + factor * b[1]


def has_integer_solution(equalities: list[Linear], inequalities: list[Linear], budget: Budget) -> bool:
    """Whether some integers satisfy all constraints. Raises OutOfBudget when that takes too long to find out."""
    budget.spend(1 + len(equalities) + len(inequalities))
    equalities = list(equalities)
    while True:
        reduced = _eliminate_equalities(equalities, inequalities, budget)
        if reduced is None:
            return False
        tightened = _tighten(reduced)
        if tightened is None:
            return False
        inequalities, equalities = tightened
        if equalities:
            continue
        inequalities = _drop_one_sided(inequalities)
        if not inequalities:
            return True
        return _eliminate_variable(inequalities, budget)


def _eliminate_equalities(equalities: list[Linear], inequalities: list[Linear], budget: Budget) -> list[Linear] | None:
    """The inequalities with the equalities solved and put in; None if an equality has no solution."""
    pending = list(equalities)
    introduced = min((var for coefs, _ in equalities + inequalities for var in coefs), default=0)
    introduced = min(introduced, 0)
    while pending:
        coefs, const = pending.pop()
        if not coefs:
            if const != 0:
                return None
            continue
        divisor = gcd(*coefs.values())
        if const % divisor:
            return None
        if divisor > 1:
            coefs = {var: coef // divisor for var, coef in coefs.items()}
            const //= divisor
        var = min(coefs, key=lambda v: (abs(coefs[v]), v))
        coef = coefs[var]
        if abs(coef) == 1:
            solution = ({v: -c * coef for v, c in coefs.items() if v != var}, -const * coef)
        else:
            # Write the variable by a new one and symmetric remainders, which makes the coefficients smaller.
            introduced -= 1
            modulus = abs(coef) + 1
            sign = 1 if coef > 0 else -1
            remainders = {v: sign * _symmetric_mod(c, modulus) for v, c in coefs.items() if v != var}
            solution = ({v: c for v, c in remainders.items() if c}, sign * _symmetric_mod(const, modulus))
            solution[0][introduced] = -sign * modulus
            pending.append(_substitute((coefs, const), var, solution))
        budget.spend(len(pending) + len(inequalities))
        pending = [_substitute(linear, var, solution) for linear in pending]
        inequalities = [_substitute(linear, var, solution) for linear in inequalities]
    return inequalities


def _symmetric_mod(a: int, b: int) -> int:
    """The remainder of a by b nearest to 0."""
    return a - b * ((2 * a + b) // (2 * b))


def _substitute(linear: Linear, var: int, solution: Linear) -> Linear:
    coef = linear[0].get(var)
    if coef is None:
        return linear
    rest = {v: c for v, c in linear[0].items() if v != var}
    return add_scaled((rest, linear[1]), coef, solution)


def _tighten(inequalities: list[Linear]) -> tuple[list[Linear], list[Linear]] | None:
    """Divide by common factors, keep the strictest of parallel constraints, and find the equalities among them.

    Returns the inequalities and the equalities that replace opposite pairs; None for a contradiction.
    """
    strictest: dict[tuple, int] = {}
    for coefs, const in inequalities:
        if not coefs:
            if const < 0:
                return None
            continue
        divisor = gcd(*coefs.values())
        key = tuple(sorted((var, coef // divisor) for var, coef in coefs.items()))
        const //= divisor
        known = strictest.get(key)
        if known is None or const < known:
            strictest[key] = const
    remaining: list[Linear] = []
    equalities: list[Linear] = []
    for key, const in strictest.items():
        opposite = tuple((var, -coef) for var, coef in key)
        other = strictest.get(opposite)
        if other is not None:
            if const + other < 0:
                return None
            if const + other == 0:
                if key > opposite:
                    equalities.append((dict(key), const))
                continue
        remaining.append((dict(key), const))
    return remaining, equalities


def _drop_one_sided(inequalities: list[Linear]) -> list[Linear]:
    """Without the constraints on variables that are free in one direction: those can always be met."""
    while True:
        signs: dict[int, set[bool]] = {}
        for coefs, _ in inequalities:
            for var, coef in coefs.items():
                signs.setdefault(var, set()).add(coef > 0)
        free = {var for var, directions in signs.items() if len(directions) == 1}
        if not free:
            return inequalities
        inequalities = [linear for linear in inequalities if free.isdisjoint(linear[0])]


def _eliminate_variable(inequalities: list[Linear], budget: Budget) -> bool:
    """Eliminate one variable, the cheapest, and go on with the others."""
    var, exact = _choose_variable(inequalities)
    lowers = [linear for linear in inequalities if linear[0].get(var, 0) > 0]
    uppers = [linear for linear in inequalities if linear[0].get(var, 0) < 0]
    rest = [linear for linear in inequalities if var not in linear[0]]
    budget.spend(len(lowers) * len(uppers))

    # a * var + L >= 0 and -b * var + U >= 0 have a rational solution for var if and only if b * L + a * U >= 0 ...
    real_shadow = list(rest)
    # ... and an integer one at least if the gap is (a - 1) * (b - 1).
    dark_shadow = list(rest)
    for lower in lowers:
        for upper in uppers:
            a, b = lower[0][var], -upper[0][var]
            coefs, const = add_scaled(({v: b * c for v, c in lower[0].items()}, b * lower[1]), a, upper)
            real_shadow.append((coefs, const))
            dark_shadow.append((coefs, const - (a - 1) * (b - 1)))
    if exact:
        return has_integer_solution([], real_shadow, budget)
    if not has_integer_solution([], real_shadow, budget):
        return False
    if has_integer_solution([], dark_shadow, budget):
        return True
    # A solution outside the dark shadow lies close above a lower bound.
    b_max = max(-upper[0][var] for upper in uppers)
    for coefs, const in lowers:
        a = coefs[var]
        for distance in range((a * b_max - a - b_max) // b_max + 1):
            if has_integer_solution([(coefs, const - distance)], inequalities, budget):
                return True
    return False


def _choose_variable(inequalities: list[Linear]) -> tuple[int, bool]:
    """The variable whose elimination is exact and adds the fewest constraints, and whether it is exact."""
    lowers: dict[int, list[int]] = {}
    uppers: dict[int, list[int]] = {}
    for coefs, _ in inequalities:
        for var, coef in coefs.items():
            side = lowers if coef > 0 else uppers
            side.setdefault(var, []).append(abs(coef))
    best = None
    for var, a in lowers.items():
        b = uppers[var]
        exact = max(a) == 1 or max(b) == 1
        cost = (not exact, len(a) * len(b) - len(a) - len(b), var)
        if best is None or cost < best:
            best = cost
    assert best is not None
    return best[2], not best[0]
