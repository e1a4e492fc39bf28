"""Random expressions for the integer analysis, and what each side says about them.

A case is plain JSON. A scalar one has variables, what is known of them, an expression and the questions asked about it;
a map has iterators, index expressions and a predicate. Both sides build the expressions from the same nested lists and
answer with nested lists, so that answers compare with ``==``.

An expression is ``["v", name]``, ``["i", dtype, number]``, ``["f", dtype, number]``, or an operation with its operands:
those of `BINARY` and `BITS`, ``not``, ``sel`` (Select), ``ite`` (if_then_else), ``likely``, ``bnot``,
``["cast", dtype, a]``, ``["let", name, value, body]``, ``["call", dtype, op, ...]``. With ``raw`` the nodes are made as
they are, without it by the functions that fold constants.

This file is loaded by `real_carver.py` on the real side too, and imports what it needs of a side when asked for it.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

BINARY = {
    **{"add": "Add", "sub": "Sub", "mul": "Mul", "tdiv": "Div", "tmod": "Mod", "fdiv": "FloorDiv", "fmod": "FloorMod"},
    **{"min": "Min", "max": "Max", "eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"},
    **{"and": "And", "or": "Or"},
}
NAMES = {node: op for op, node in BINARY.items()}
BITS = {
    **{"shl": "tirx.shift_left", "shr": "tirx.shift_right", "band": "tirx.bitwise_and", "bor": "tirx.bitwise_or"},
    "bxor": "tirx.bitwise_xor",
}

# Questions about a scalar expression, and about an iterator map.
SCALAR = ("bounds", "modular", "rewrite", "canonical", "simplify")


# ---------------------------------------------------------------------------------------------------------------------
# One side


class Side:
    """Builds expressions of one side, asks its analysis, and reads the answers."""

    def __init__(self, real: bool) -> None:
        self.real = real
        if real:
            self._load_real()
        else:
            self._load_port()

    def _load_real(self) -> None:
        import tvm
        from tvm import arith, tirx
        from tvm.arith import iter_affine_map

        ffi = tirx._ffi_api
        self.t: Any = tirx
        self.arith: Any = arith
        self.maps: Any = iter_affine_map
        self.make_range: Callable = tvm.ir.Range.from_min_extent
        self.index_map: Any = tirx.IndexMap
        self.op: Callable = tvm.ir.Op.get
        self.fold: dict[str, Callable] = {
            **{"add": tirx.add, "sub": tirx.subtract, "mul": tirx.multiply, "tdiv": tirx.truncdiv},
            **{"tmod": tirx.truncmod, "fdiv": tirx.floordiv, "fmod": tirx.floormod, "min": tirx.min, "max": tirx.max},
            # Not with Python's operators: these turn a comparison of a Var with a SizeVar around.
            "eq": lambda a, b: ffi._OpEQ(a, b, None),
            "ne": lambda a, b: ffi._OpNE(a, b, None),
            "lt": lambda a, b: ffi._OpLT(a, b, None),
            "le": lambda a, b: ffi._OpLE(a, b, None),
            "gt": lambda a, b: ffi._OpGT(a, b, None),
            "ge": lambda a, b: ffi._OpGE(a, b, None),
            "and": lambda a, b: ffi._OpAnd(a, b, None),
            "or": lambda a, b: ffi._OpOr(a, b, None),
            "not": lambda a: tirx.IntImm("bool", int(not a.value)) if isinstance(a, tirx.IntImm) else tirx.Not(a),
            "cast": lambda dtype, a: ffi._cast(dtype, a, None, None),
        }

    def _load_port(self) -> None:
        from carver.arch.errors import CarverError
        from carver.roller.tir import arith, expr
        from carver.roller.tir.arith import iter_affine_map
        from carver.roller.tir.index_map import IndexMap

        self.refusal = CarverError  # any other error is a fault of the port
        self.t = expr
        self.arith = arith
        self.maps = iter_affine_map
        self.make_range = expr.Range.from_min_extent
        self.index_map = IndexMap
        self.op = str
        self.fold = {
            **{"add": expr.add, "sub": expr.sub, "mul": expr.mul, "tdiv": expr.truncdiv, "tmod": expr.truncmod},
            **{"fdiv": expr.floordiv, "fmod": expr.floormod, "min": expr.min_, "max": expr.max_, "eq": expr.equal},
            **{"ne": expr.not_equal, "lt": expr.less, "le": expr.less_equal, "gt": expr.greater},
            **{"ge": expr.greater_equal, "and": expr.logical_and, "or": expr.logical_or, "not": expr.logical_not},
            "cast": expr.cast,
        }

    # ----- expressions

    def build(self, n: list, env: dict, raw: bool) -> Any:
        t, kind = self.t, n[0]
        if kind == "v":
            return env[n[1]]
        if kind == "i":
            return t.IntImm(n[1], n[2])
        if kind == "f":
            return t.FloatImm(n[1], n[2])
        if kind == "let":
            value = self.build(n[2], env, raw)
            return t.Let(env[n[1]], value, self.build(n[3], env, raw))
        if kind == "cast":
            a = self.build(n[2], env, raw)
            return t.Cast(n[1], a) if raw else self.fold["cast"](n[1], a)
        if kind == "call":
            return t.Call(n[1], self.op(n[2]), [self.build(a, env, raw) for a in n[3:]])
        args = [self.build(a, env, raw) for a in n[1:]]
        if kind in BINARY:
            return getattr(t, BINARY[kind])(*args) if raw else self.fold[kind](*args)
        if kind == "not":
            return t.Not(*args) if raw else self.fold["not"](*args)
        if kind == "sel":
            return t.Select(*args)
        calls = {"ite": "tirx.if_then_else", "likely": "tirx.likely", "bnot": "tirx.bitwise_not", **BITS}
        return t.Call(args[1 if kind == "ite" else 0].dtype, self.op(calls[kind]), args)

    def read(self, e: Any) -> list:
        """The nested list of an expression."""
        name = type(e).__name__
        if name in ("Var", "SizeVar"):
            return ["v", e.name]
        if name in ("IntImm", "BoolImm"):
            return ["i", str(e.dtype), int(e.value)]
        if name == "FloatImm":
            return ["f", str(e.dtype), float(e.value)]
        if name in NAMES:
            return [NAMES[name], self.read(e.a), self.read(e.b)]
        if name == "Not":
            return ["not", self.read(e.a)]
        if name == "Select":
            return ["sel", self.read(e.condition), self.read(e.true_value), self.read(e.false_value)]
        if name == "Cast":
            return ["cast", str(e.dtype), self.read(e.value)]
        if name == "Let":
            return ["let", e.var.name, self.read(e.value), self.read(e.body)]
        if name == "Call":
            return ["call", str(e.dtype), e.op.name if self.real else e.op, *map(self.read, e.args)]
        raise TypeError(f"no form for a {name}")

    def read_iterators(self, e: Any, marks: dict) -> list:
        """The nested list of an expression with iterator nodes; marks are numbered where they first occur."""
        name = type(e).__name__
        if name == "IterMark":
            key = e.__chandle__() if self.real else id(e)
            if key in marks:
                return ["mark", marks[key]]
            number = marks[key] = len(marks)
            return ["mark", number, self.read_iterators(e.source, marks), self.read_iterators(e.extent, marks)]
        if name == "IterSplitExpr":
            factors = [self.read(e.lower_factor), self.read(e.extent), self.read(e.scale)]
            return ["split", str(e.dtype), self.read_iterators(e.source, marks), *factors]
        if name == "IterSumExpr":
            terms = [self.read_iterators(term, marks) for term in e.args]
            return ["sum", str(e.dtype), terms, self.read_iterators(e.base, marks)]
        if name in NAMES:
            return [name, self.read_iterators(e.a, marks), self.read_iterators(e.b, marks)]
        if name == "Cast":
            return ["cast", str(e.dtype), self.read_iterators(e.value, marks)]
        return self.read(e)

    # ----- cases

    def variables(self, case: dict) -> dict:
        """Variables by name; those called n... are sizes, hence not negative."""
        make = {True: self.t.SizeVar, False: self.t.Var}
        return {name: make[name.startswith("n")](name, dtype) for name, dtype in case["vars"]}

    def answers(self, case: dict) -> list:
        """One answer per question; an error is an answer."""
        env = self.variables(case)
        prepare = self.prepare_map if "iters" in case else self.prepare_scalar
        try:
            ask = prepare(case, env)
        except Exception as error:
            return [self.failure(error)] * len(case["queries"])
        found = []
        for query in case["queries"]:
            try:
                found.append(ask(query))
            except Exception as error:
                found.append(self.failure(error))
                ask = prepare(case, env)  # TVM leaves an analyzer that has thrown halfway through
        return found

    def failure(self, error: Exception) -> list:
        if not self.real and not isinstance(error, self.refusal):
            return ["fault", f"{type(error).__name__}: {error}"]
        return ["error"]

    def prepare_scalar(self, case: dict, env: dict) -> Callable:
        raw = case["raw"]
        analyzer = self.arith.Analyzer()
        for step in case["setup"]:
            self.learn(step, env, raw, analyzer)
        e = self.build(case["e"], env, raw)

        def ask(query: list) -> Any:
            kind = query[0]
            if kind == "bounds":
                bound = analyzer.const_int_bound(e)
                return [int(bound.min_value), int(bound.max_value)]
            if kind == "modular":
                modular = analyzer.modular_set(e)
                return [int(modular.coeff), int(modular.base)]
            if kind == "simplify":
                return self.read(analyzer.simplify(e, query[1]))
            if kind == "rewrite":
                return self.read(analyzer.rewrite_simplify(e))
            if kind == "canonical":
                return self.read(analyzer.canonical_simplify(e))
            if kind == "prove_equal":
                return bool(analyzer.can_prove_equal(e, self.build(query[1], env, raw)))
            assert kind == "prove"
            return bool(analyzer.can_prove(e))

        return ask

    def learn(self, step: list, env: dict, raw: bool, analyzer: Any) -> None:
        kind = step[0]
        if kind == "update":
            analyzer.update(env[step[1]], self.arith.ConstIntBound(step[2], step[3]), True)
        elif kind == "range":
            low, extent = (self.build(n, env, raw) for n in step[2:])
            analyzer.bind(env[step[1]], self.make_range(low, extent))
        elif kind == "bind":
            analyzer.bind(env[step[1]], self.build(step[2], env, raw))
        else:
            # Entered and never left: the analyzer lives as long as the case.
            analyzer.constraint_scope(self.build(step[1], env, raw)).__enter__()

    def prepare_map(self, case: dict, env: dict) -> Callable:
        raw, maps = case["raw"], self.maps
        indices = [self.build(n, env, raw) for n in case["indices"]]
        domains = [(self.build(low, env, raw), self.build(extent, env, raw)) for _, low, extent in case["iters"]]
        ranges = [self.make_range(low, extent) for low, extent in domains]
        iters = {env[item[0]]: r for item, r in zip(case["iters"], ranges)}
        predicate = self.build(case["predicate"], env, raw) if case["predicate"] is not None else True

        def ask(query: list) -> Any:
            kind = query[0]
            if kind == "detect":
                found = maps.detect_iter_map(indices, iters, predicate, maps.IterMapLevel(query[1]), query[2])
                return self.read_detected(found, indices)
            if kind == "simplify":
                level = maps.IterMapLevel(query[1])
                return [self.read(e) for e in maps.iter_map_simplify(indices, iters, predicate, level, query[2])]
            if kind == "sums":
                return [self.read_iterators(maps.normalize_to_iter_sum(e, iters), {}) for e in indices]
            if kind == "divide":
                marks: dict = {}
                inner = [env[name] for name in query[3]]
                level = maps.IterMapLevel(query[1])
                rows = maps.subspace_divide(indices, iters, inner, predicate, level, query[2])
                return [[self.read_iterators(e, marks) for e in row] for row in rows]
            index_map = self.index_map(list(iters), indices, None)
            if kind == "inverse":
                return self.read_map(index_map.inverse(ranges))
            if kind == "inverse of a part":
                inverse, outside = index_map.non_surjective_inverse(ranges)
                return [self.read_map(inverse), self.read(outside)]
            if kind == "shape":
                return [self.read(e) for e in index_map.map_shape([r.extent for r in ranges])]
            assert kind == "indices"
            return [self.read(e) for e in index_map.map_indices([self.build(n, env, False) for n in query[1]])]

        return ask

    def read_detected(self, found: Any, indices: list) -> list:
        marks: dict = {}
        sums = [self.read_iterators(e, marks) for e in found.indices]
        padding = None if found.padding_predicate is None else self.read_iterators(found.padding_predicate, marks)
        answer = [sums, len(list(found.errors)), padding]
        if len(sums):
            outputs = [self.t.Var(f"o{k}", str(e.dtype)) for k, e in enumerate(indices)]
            try:
                inverse = self.maps.inverse_affine_iter_map(found.indices, outputs)
                answer.append([[v.name, self.read(e)] for v, e in inverse.items()])
            except Exception as error:
                answer.append(self.failure(error))
        return answer

    def read_map(self, m: Any) -> list:
        return [[[v.name, str(v.dtype)] for v in m.initial_indices], [self.read(e) for e in m.final_indices]]


_port: Side | None = None


def port_answers(case: dict) -> list:
    global _port
    if _port is None:
        _port = Side(real=False)
    return _port.answers(case)


# ---------------------------------------------------------------------------------------------------------------------
# Comparing


def compare(case: dict, ours: Any, reply: dict) -> tuple[str, list[str]]:
    """The outcome of a case and the differences as lines; `reply` is the real side's, with this case's answer alone."""
    if "failed" in reply:
        return ("real time" if "time limit" in reply["failed"] else "real died"), [reply["failed"]]
    real = reply["answers"][0]
    if ours == "time limit":
        return "port time", [ours]
    faults = [answer[1] for answer in ours if isinstance(answer, list) and answer[:1] == ["fault"]]
    if faults:
        return "fault", faults
    lines = []
    for place in differing(case, ours, real):
        query = case["queries"][place]
        lines.append(f"{query[0]} {', '.join(map(show, query[1:]))}: {show(real[place])} -> {show(ours[place])}")
    if lines:
        return "differ", lines
    return ("refused" if all(answer == ["error"] for answer in real) else "equal"), []


def differing(case: dict, ours: list, real: list) -> list[int]:
    """The places of the questions that the sides answer differently."""
    return [place for place, query in enumerate(case["queries"]) if not same(query, real[place], ours[place])]


def same(query: list, real: Any, ours: Any) -> bool:
    if real == ours:
        return True
    if query[0] == "detect" and real[:1] == ours[:1] == [[]]:
        # TVM checks the marks in the order of their addresses and stops at the first bad one: how many errors that
        # one has varies from run to run.
        return real[1] > 0 and ours[1] > 0 and real[2:] == ours[2:]
    return False


# ---------------------------------------------------------------------------------------------------------------------
# Drawing

SMALL = (0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 12, 13, 14, 16, 16, 32, 64, 100, 128)
NEGATIVE = (-1, -1, -2, -3, -4, -5, -7, -8, -16)
PRIMES = (11, 17, 31, 61, 97, 127, 257, 1009, 1021)
BIG = (255, 256, 1000, 1024, 4096, 65535, 65536, 2**20, 2**30, 2**31 - 1, -(2**31))
HUGE = (2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, -(2**62), -(2**63) + 1, 3 * 2**40)
DIVISORS = (2, 3, 4, 5, 6, 8, 9, 12, 16, 24, 32, 49, 64, 96, 128, 256, 784, 1024)
CLAMPS = {"add": (1, 2, 3, 8, -1, -2), "mul": (2, 3, 4, 8, 16), "min": (7, 15, 63, 255), "max": (0, 1, 2)}
EXTENTS = (1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 12, 14, 16, 16, 18, 24, 28, 32, 56, 64, 100, 128, 224, 1024)

PROFILES = ("shape", "index", "all", "condition", "wide", "float", "map")
WEIGHTS = (26, 18, 16, 12, 6, 4, 18)


def draw_case(seed: int, index: int) -> dict:
    """Case `index` of the run with this seed."""
    r = Random(f"expression/{seed}/{index}")
    profile = r.choices(PROFILES, WEIGHTS)[0]
    case = MapDrawing(r).case() if profile == "map" else ScalarDrawing(r, profile).case()
    return {"id": f"expression-{seed}-{index}", **case}


class ScalarDrawing:
    """Draws an expression, its variables and what is known of them."""

    def __init__(self, r: Random, profile: str) -> None:
        self.r = r
        self.profile = profile
        self.dtype = "int64" if profile == "wide" or r.random() < 0.08 else "int32"
        self.other = "int32" if self.dtype == "int64" else "int64"
        self.vars: list[list[str]] = []
        self.extents: dict[str, int] = {}

    def case(self) -> dict:
        r = self.r
        self.vars = [[name, self.dtype] for name in "xyzwuv"[: r.choice((1, 2, 2, 3, 3, 4, 5))]]
        if self.profile in ("all", "condition", "wide"):
            for name, dtype, chance in (("n", self.dtype, 0.2), ("q", self.other, 0.15), ("p", "bool", 0.12)):
                if r.random() < chance:
                    self.vars.append([name, dtype])
        if self.profile == "float":
            names = {"f": "float32", "h": "float16", "p": "bool", "c": "int8", "d": "uint8", "s": "int16"}
            self.vars += [[name, dtype] for name, dtype in names.items()]
        setup = [step for name, dtype in self.vars for step in self.known(name, dtype)]
        if self.profile not in ("index", "float") and r.random() < 0.25:
            setup.append(["constraint", self.condition(r.choice((0, 1, 2)))])
        if self.profile in ("all", "shape") and r.random() < 0.06:
            setup.append(["bind", "b", self.number(2)])
            self.vars.append(["b", self.dtype])
        e = self.top()
        queries: list[list] = [["bounds"], ["modular"], ["rewrite"], ["canonical"]]
        queries.append(["simplify", r.choice((2, 2, 2, 1, 3))])
        if self.profile == "float":
            queries = queries[2:]
        return {"vars": self.vars, "raw": r.random() < 0.5, "setup": setup, "e": e, "queries": queries}

    def top(self) -> list:
        r = self.r
        if self.profile == "float":
            dtypes = ("float32", "int32", "int8", "uint8", "int16", "float16", "bool", "int32")
            return self.mixed(r.choice((1, 2, 3)), r.choice(dtypes))
        if self.profile == "shape":
            roll = r.random()
            if roll < 0.68:
                return self.chain(r.choice((0, 1, 1, 2)))
            if roll < 0.85:
                return self.guard(1)
            if roll < 0.95:
                return [r.choice(("ite", "sel")), self.guard(0), self.chain(1), self.chain(0)]
            return ["cast", self.other, self.chain(1)]
        depth = r.choice((1, 2, 3, 3, 4, 4, 5))
        if r.random() < (0.7 if self.profile == "condition" else 0.12):
            return self.condition(min(depth, 3))
        return self.number(depth)

    # ----- variables and constants

    def known(self, name: str, dtype: str) -> list:
        """What is known of a variable."""
        r = self.r
        if dtype not in ("int32", "int64") or self.profile == "float" and r.random() < 0.5:
            return []
        if self.profile == "shape":
            extent = r.choice(EXTENTS)
            self.extents[name] = extent
            low = 0 if r.random() < 0.92 else r.choice((1, 2, -1, -3, 4))
            return [] if r.random() < 0.05 else [["range", name, ["i", dtype, low], ["i", dtype, extent]]]
        roll = r.random()
        if roll < 0.60:
            low, high = 0, r.choice((0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 31, 63, 99, 127, 255, 1023, 5))
        elif roll < 0.75:
            low = r.choice((1, 2, 3, 5, 8, 16))
            high = low + r.choice((0, 1, 3, 7, 15, 16, 100))
        elif roll < 0.85:
            low = r.choice((-1, -2, -5, -8, -16, -100))
            high = low + r.choice((1, 4, 8, 16, 200))
        elif roll < 0.88:
            low, high = 0, 2**63 - 1
        else:
            return []
        if high < 2**31 and r.random() < 0.5:
            return [["range", name, ["i", dtype, low], ["i", dtype, high - low + 1]]]
        return [["update", name, low, high]]

    def constant(self, dtype: str, nonzero: bool = False, positive: bool = False) -> list:
        r = self.r
        pool: tuple = SMALL
        roll = r.random()
        if roll < 0.12:
            pool = PRIMES
        elif roll < 0.20 and self.profile != "index":
            pool = BIG
        elif roll < (0.36 if self.profile == "index" else 0.33) and not positive:
            pool = NEGATIVE
        elif roll < 0.45 and dtype == "int64" and self.profile == "wide":
            pool = HUGE
        value = r.choice(pool)
        value = abs(value) if positive else value
        if (nonzero and value == 0) or (dtype == "int32" and not -(2**31) <= value < 2**31):
            value = 4
        return ["i", dtype, value]

    def leaf(self, dtype: str) -> list:
        names = [name for name, d in self.vars if d == dtype]
        if names and self.r.random() < 0.75:
            return ["v", self.r.choice(names)]
        if dtype != self.dtype and self.r.random() < 0.5:
            return ["cast", dtype, self.leaf(self.dtype)]
        return self.constant(dtype)

    def divisor(self, depth: int, dtype: str) -> list:
        if self.r.random() < 0.9:
            return self.constant(dtype, nonzero=True, positive=self.profile == "index")
        return self.number(depth - 1, dtype)

    # ----- free expressions

    def number(self, depth: int, dtype: str | None = None) -> list:
        r = self.r
        dtype = dtype or self.dtype
        if depth <= 0 or r.random() < 0.08:
            return self.leaf(dtype)
        a = self.number(depth - 1, dtype)
        roll = r.random()
        if self.profile == "index":
            return self.index_like(a, depth, dtype, roll)
        if roll < 0.32:
            return ["add" if roll < 0.2 else "sub", a, self.number(depth - 1, dtype)]
        if roll < 0.46:
            b = self.constant(dtype) if r.random() < 0.8 else self.number(depth - 1, dtype)
            return ["mul", a, b] if r.random() < 0.8 else ["mul", b, a]
        if roll < 0.66:
            return [r.choice(("fdiv", "fmod", "fdiv", "fmod", "tdiv", "tmod")), a, self.divisor(depth, dtype)]
        if roll < 0.80:
            return [r.choice(("min", "max")), a, self.number(depth - 1, dtype)]
        if roll < 0.86:
            return [r.choice(("sel", "sel", "ite")), self.condition(depth - 2), a, self.number(depth - 1, dtype)]
        if roll < 0.90:
            if r.random() < 0.3:
                return ["cast", dtype, self.condition(depth - 2)]
            return ["cast", dtype, self.number(depth - 1, self.other if dtype == self.dtype else self.dtype)]
        if roll < 0.955 and self.profile in ("all", "wide"):
            return self.bits(a, depth, dtype)
        if roll < 0.965 and self.profile == "all":
            return self.let(depth, dtype)
        return a

    def index_like(self, a: list, depth: int, dtype: str, roll: float) -> list:
        r = self.r
        if roll < 0.36:
            return ["add" if roll < 0.3 else "sub", a, self.number(depth - 1, dtype)]
        if roll < 0.60:
            b = self.constant(dtype)
            return ["mul", a, b] if r.random() < 0.9 else ["mul", b, a]
        if roll < 0.92:
            return ["fdiv" if roll < 0.76 else "fmod", a, self.divisor(depth, dtype)]
        if roll < 0.97:
            return [r.choice(("min", "max")), a, self.number(depth - 1, dtype)]
        return ["sel", self.condition(depth - 2), a, self.number(depth - 1, dtype)]

    def bits(self, a: list, depth: int, dtype: str) -> list:
        r = self.r
        op = r.choice(("shl", "shr", "shr", "band", "band", "bor", "bxor", "bnot", "likely"))
        if op == "bnot":
            return ["bnot", a]
        if op == "likely":
            return ["sel", ["likely", self.condition(depth - 1)], a, self.number(depth - 1, dtype)]
        if r.random() < 0.1:
            return [op, a, self.number(depth - 1, dtype)]
        values = (0, 1, 2, 3, 4, 5, 8) if op in ("shl", "shr") else (1, 3, 7, 15, 6, 12, 255)
        return [op, a, ["i", dtype, r.choice(values)]]

    def let(self, depth: int, dtype: str) -> list:
        name = f"l{len(self.vars)}"
        value = self.number(depth - 1, dtype)
        self.vars.append([name, dtype])
        return ["let", name, value, self.number(depth - 1, dtype)]

    def condition(self, depth: int) -> list:
        r = self.r
        roll = r.random()
        if depth > 0 and roll < 0.32:
            return ["and" if roll < 0.18 else "or", self.condition(depth - 1), self.condition(depth - 1)]
        if depth > 0 and roll < 0.42:
            return ["not", self.condition(depth - 1)]
        if roll < 0.44:
            return ["i", "bool", r.randint(0, 1)]
        if roll < 0.47 and any(d == "bool" for _, d in self.vars):
            return ["v", "p"]
        op = r.choice(("eq", "ne", "lt", "le", "gt", "ge", "lt", "eq"))
        a = self.number(max(depth, 0))
        b = self.constant(self.dtype) if r.random() < 0.6 else self.number(max(depth, 0))
        return [op, a, b] if r.random() < 0.85 else [op, b, a]

    # ----- indices as region propagation meets them

    def k(self, value: int) -> list:
        return ["i", self.dtype, value]

    def affine(self) -> list:
        """Axes fused, strided, shifted, reversed."""
        r = self.r
        names = [name for name, d in self.vars if d == self.dtype]
        chosen = r.sample(names, r.randint(1, len(names))) if r.random() < 0.7 else r.choices(names, k=r.randint(1, 3))
        roll = r.random()
        e: list = ["v", chosen[0]]
        if roll < 0.55:
            for name in chosen[1:]:
                e = ["add", ["mul", e, self.k(self.extents.get(name, 4))], ["v", name]]
        elif roll < 0.92:
            terms = [["v", name] for name in chosen]
            for position, term in enumerate(terms):
                if r.random() < 0.6:
                    terms[position] = ["mul", term, self.k(r.choice((1, 2, 2, 3, 4, 8, 16, -1)))]
            e = terms[0]
            for term in terms[1:]:
                e = [r.choice(("add", "add", "add", "sub")), e, term]
        else:
            e = self.k(r.choice((0, 1, 7, 15, 100)))
        roll = r.random()
        if roll < 0.15:
            return ["sub", e, self.k(r.choice((1, 2, 3)))]
        if roll < 0.3:
            return ["add", e, self.k(r.choice((1, 2, 3, 4, 7, 8, 16, -1)))]
        return ["sub", self.k(r.choice((3, 7, 15, 31, 127))), e] if roll < 0.38 else e

    def width(self) -> list:
        """What such an index is divided by: the product of some extents, or any number."""
        r = self.r
        product = 1
        for extent in r.sample(sorted(self.extents.values()), r.randint(1, len(self.extents))) if self.extents else ():
            product *= extent
        return self.k(max(2, product) if product < 2**24 and r.random() < 0.5 else r.choice(DIVISORS))

    def chain(self, depth: int) -> list:
        """Divisions, remainders and clamps of an affine index, added to others."""
        r = self.r
        e = self.affine() if depth <= 0 or r.random() < 0.35 else self.chain(depth - 1)
        for _ in range(r.choice((0, 1, 1, 2, 2, 3))):
            op = r.choices(("fdiv", "fmod", "add", "mul", "min", "max", "tdiv", "tmod"), (40, 40, 6, 6, 3, 3, 1, 1))[0]
            if op in CLAMPS:
                e = [op, e, self.k(r.choice(CLAMPS[op]))]
            else:
                e = [op, e, self.width()]
        if r.random() < 0.35:
            other = self.chain(depth - 1) if depth > 0 and r.random() < 0.5 else self.affine()
            if r.random() < 0.5:
                other = ["mul", other, self.k(r.choice((1, 2, 4, 8, 16, 32)))]
            e = ["add" if r.random() < 0.8 else "sub", e, other]
        return e

    def guard(self, depth: int) -> list:
        r = self.r
        bound = self.k(r.choice((0, 1, 2, 3, 8, 16, 56, 64, 128, 1024)))
        e = [r.choice(("lt", "lt", "le", "ge", "gt", "eq", "ne")), self.chain(depth), bound]
        if r.random() < 0.15:
            e[2] = self.chain(0)
        if r.random() < 0.35 and depth > 0:
            return ["and" if r.random() < 0.8 else "or", e, self.guard(depth - 1)]
        return ["not", e] if r.random() < 0.05 else e

    # ----- floats and small integers

    def mixed(self, depth: int, dtype: str) -> list:
        r = self.r
        kinds = ("float32", "int32", "int8", "uint8", "int16", "float16", "bool", "int64")
        if depth <= 0:
            names = [name for name, d in self.vars if d == dtype]
            if names and r.random() < 0.6:
                return ["v", r.choice(names)]
            if dtype.startswith("float"):
                return ["f", dtype, r.choice((0.0, 1.0, 2.0, 0.5, -1.0, 3.25))]
            return ["i", dtype, r.choice((0, 1)) if dtype == "bool" else r.choice((0, 1, 2, 3, 4, 5))]
        roll = r.random()
        if dtype == "bool":
            if roll < 0.4:
                return [r.choice(("and", "or")), self.mixed(depth - 1, dtype), self.mixed(depth - 1, dtype)]
            if roll < 0.5:
                return ["not", self.mixed(depth - 1, dtype)]
            kind = r.choice([kind for kind in kinds if kind != "bool"])
            op = r.choice(("lt", "le", "gt", "ge", "eq", "ne"))
            return [op, self.mixed(depth - 1, kind), self.mixed(depth - 1, kind)]
        if roll < 0.6:
            ops = ("tdiv",) if dtype.startswith("float") else ("fdiv", "fmod", "tdiv", "tmod")
            op = r.choice(("add", "sub", "mul", "min", "max", *ops))
            return [op, self.mixed(depth - 1, dtype), self.mixed(depth - 1, dtype)]
        if roll < 0.75:
            branches = [self.mixed(depth - 1, dtype), self.mixed(depth - 1, dtype)]
            return [r.choice(("sel", "ite")), self.mixed(depth - 1, "bool"), *branches]
        return ["cast", dtype, self.mixed(depth - 1, r.choice(kinds))] if roll < 0.9 else self.mixed(0, dtype)


class MapDrawing:
    """Draws index expressions over iterators: fused, split and permuted ones, disturbed now and then."""

    def __init__(self, r: Random) -> None:
        self.r = r
        self.profile = r.choices(("structured", "random", "symbolic", "predicate", "wide"), (40, 20, 10, 22, 8))[0]
        self.dtype = "int64" if self.profile == "wide" or r.random() < 0.1 else "int32"
        self.symbolic = self.profile == "symbolic"

    def k(self, value: int) -> list:
        return ["i", self.dtype, value]

    def extent(self) -> list:
        r = self.r
        if self.symbolic and r.random() < 0.5:
            n = ["v", r.choice(("n", "n1"))]
            scaled = ["mul", n, self.k(r.choice((2, 4, 8, 16)))]
            ceiled = ["fdiv", ["add", n, self.k(15)], self.k(16)]
            return r.choice((n, n, scaled, ["add", n, self.k(r.choice((1, 4, 15)))], ceiled, ["mul", self.k(4), n]))
        return self.k(r.choice(EXTENTS))

    def case(self) -> dict:
        r = self.r
        names = list("xyzwu"[: r.choice((1, 1, 2, 2, 3, 3, 4, 5))])
        variables = [[name, self.dtype] for name in names]
        if self.symbolic:
            variables += [["n", self.dtype], ["n1", self.dtype], ["k", self.dtype]]
        iters = []
        for name in names:
            low = 0 if r.random() < 0.92 else r.choice((1, 2, 3, 4, 8, -1, -3))
            iters.append([name, self.k(low), self.extent()])
        if self.profile != "random" and r.random() < 0.85:
            indices = self.structured(iters)
        else:
            indices = [self.free(names, r.choice((1, 2, 3, 4))) for _ in range(r.choice((1, 1, 2, 2, 3)))]
        predicate = None
        if self.profile == "predicate" or r.random() < 0.05:
            predicate = self.predicate(names, iters, indices)
        queries = self.queries(names, predicate is not None)
        case = {"vars": variables, "raw": r.random() < 0.5, "iters": iters, "indices": indices}
        return {**case, "predicate": predicate, "queries": queries}

    def queries(self, names: list[str], guarded: bool) -> list[list]:
        r = self.r
        queries: list[list] = [["detect", r.choice((0, 1, 1, 1, 3, 3)), r.random() < 0.4]]
        queries.append(["detect", r.choice((0, 1, 3)), r.random() < 0.5])
        if r.random() < 0.5:
            queries.append(["simplify", r.choice((0, 1, 1, 3)), r.random() < 0.5])
        if r.random() < 0.3:
            queries.append(["sums"])
        if r.random() < 0.4:
            inner = [name for name in names if r.random() < 0.5]
            queries.append(["divide", r.choice((0, 1, 1, 3)), r.random() < 0.5, inner])
        if not guarded:
            queries += [[kind] for kind in ("inverse", "inverse of a part", "shape") if r.random() < 0.4]
            if r.random() < 0.2:
                queries.append(["indices", [self.free(names, r.choice((0, 1, 2))) for _ in names]])
        return queries

    def structured(self, iters: list) -> list:
        r = self.r
        parts: list[tuple] = []
        for name, _, extent in iters:
            e: list = ["v", name]
            if r.random() < 0.06:
                e = ["add", e, self.k(r.choice((-1, 1, 2, 4, 3)))]
            parts.append((e, extent))
        # Splits of splits of symbolic extents are what Z3 gives up on; see `SOLVER_STEPS` of fuzz.py.
        for _ in range(r.choice((0, 1, 1, 2) if self.symbolic else (0, 1, 2, 2, 3, 4, 5))):
            self.disturb(parts)
        if self.symbolic and r.random() < 0.1:
            at = r.randrange(len(parts))
            parts[at] = (["add", parts[at][0], ["v", "k"]], parts[at][1])
        if r.random() < 0.06:
            parts.append((self.k(r.choice((0, 1, 5))), self.k(1)))
        if r.random() < 0.04:
            other = "int64" if self.dtype == "int32" else "int32"
            parts.append((["cast", other, parts[0][0]], parts[0][1]))
        return [e for e, _ in parts]

    def disturb(self, parts: list[tuple]) -> None:
        """Fuse two parts, split one, shuffle, drop one, or change one."""
        r = self.r
        roll = r.random()
        at = r.randrange(len(parts))
        e, extent = parts[at]
        if roll < 0.35 and at + 1 < len(parts):
            other, size = parts[at + 1]
            scale = size if r.random() < 0.92 else self.k(r.choice((1, 2, 3, 4, 8, 9, 16)))
            fused = ["add", ["mul", e, scale], other] if r.random() < 0.8 else ["add", other, ["mul", e, scale]]
            parts[at : at + 2] = [(fused, self.times(extent, size))]
        elif roll < 0.75:
            factor = self.factor(extent)
            high, low = ["fdiv", e, factor], ["fmod", e, factor]
            rest = self.per(extent, factor)
            if r.random() < 0.05:
                parts[at : at + 1] = [(high, rest)]
            elif r.random() < 0.1:
                again = self.factor(rest)
                upper = [(["fdiv", high, again], self.per(rest, again)), (["fmod", high, again], again)]
                parts[at : at + 1] = [*upper, (low, factor)]
            else:
                parts[at : at + 1] = [(high, rest), (low, factor)]
        elif roll < 0.92:
            r.shuffle(parts)
        elif roll < 0.95 and len(parts) > 1:
            parts.pop(at)
        else:
            op = r.choice(("add", "sub", "mul", "fdiv", "fmod"))
            value = r.choice((1, 2, 3, 4, 8, -1))
            parts[at] = ([op, e, self.k(abs(value) + 1 if op in ("fdiv", "fmod") else value)], extent)

    def factor(self, extent: list) -> list:
        r = self.r
        if extent[0] == "i" and extent[2] > 1 and r.random() < 0.75:
            return self.k(r.choice([d for d in range(1, min(extent[2], 200) + 1) if extent[2] % d == 0]))
        if self.symbolic and r.random() < 0.3:
            return ["v", r.choice(("n", "n1"))]
        return self.k(r.choice((2, 3, 4, 4, 5, 8, 16, 6, 12)))

    def times(self, a: list, b: list) -> list:
        if a[0] == b[0] == "i" and a[2] * b[2] < 2**31:
            return self.k(a[2] * b[2])
        return ["mul", a, b] if self.symbolic else self.k(64)

    def per(self, a: list, b: list) -> list:
        if a[0] == b[0] == "i":
            return self.k(max(1, -(-a[2] // b[2])))
        return ["fdiv", a, b] if self.symbolic else self.k(4)

    def free(self, names: list[str], depth: int) -> list:
        r = self.r
        if depth <= 0 or r.random() < 0.08:
            return ["v", r.choice(names)] if r.random() < 0.85 else self.k(r.choice((0, 1, 2, 3, 4, 8, 16, -1)))
        a = self.free(names, depth - 1)
        c = self.k(r.choice((1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 9, 12, 16, 16, 32, 64, 100)))
        roll = r.random()
        if roll < 0.36:
            return ["add" if roll < 0.30 else "sub", a, self.free(names, depth - 1)]
        if roll < 0.58:
            return ["mul", a, c] if r.random() < 0.9 else ["mul", c, a]
        if roll < 0.92:
            return ["fdiv" if roll < 0.75 else "fmod", a, c]
        if roll < 0.95:
            return [r.choice(("min", "max", "tdiv", "tmod")), a, c]
        if roll < 0.96:
            return [r.choice(("sel", "ite")), ["lt", self.free(names, 1), c], a, self.free(names, depth - 1)]
        if roll < 0.97:
            return [r.choice(("shr", "shl", "band", "bor", "bxor")), a, self.k(r.choice((1, 2, 3)))]
        return ["mul", a, self.free(names, depth - 1)]

    def predicate(self, names: list[str], iters: list, indices: list) -> list:
        r = self.r
        terms = [self.term(names, iters, indices) for _ in range(r.choice((1, 1, 2, 2, 3)))]
        joined = terms[0]
        for term in terms[1:]:
            joined = ["and", joined, term] if r.random() < 0.8 else ["and", term, joined]
        return joined

    def term(self, names: list[str], iters: list, indices: list) -> list:
        """A bound of an iterator, of some fused ones, or of an index."""
        r = self.r
        roll = r.random()
        if roll < 0.75:
            count = 1 if roll < 0.3 else r.randrange(1, min(len(iters), 3) + 1)
            start = r.randrange(0, len(iters) - count + 1)
            chosen = iters[start : start + count]
            left: list = ["v", chosen[0][0]]
            bound = chosen[0][2][2] if chosen[0][2][0] == "i" else 8
            for name, _, extent in chosen[1:]:
                size = extent if extent[0] == "i" else self.k(4)
                left = ["add", ["mul", left, size], ["v", name]]
                bound *= size[2]
        else:
            left, bound = r.choice(indices), 32
        bound = max(1, min(bound, 2**20))
        if self.symbolic and r.random() < 0.3:
            right: list = ["mul", ["v", "n"], self.k(r.choice((1, 4, 16)))]
        else:
            right = self.k(r.choice((bound, max(1, bound - 1), max(1, bound // 2), r.randrange(0, bound + 2), 1, 0, 5)))
        if r.random() < 0.08:
            right = ["add", right, ["v", r.choice(names)]]
        if r.random() < 0.02:
            return ["eq", left, right]
        op = r.choice(("lt", "lt", "lt", "le", "gt", "ge", "ge"))
        turned = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
        return [op, left, right] if r.random() < 0.8 else [turned[op], right, left]


# ---------------------------------------------------------------------------------------------------------------------
# Shrinking


def shrink(case: dict, fails: Callable[[dict], bool], attempts: int = 400, seconds: float = 60.0) -> tuple[dict, int]:
    """The smallest failing case found in that time, greedily, and the number of cases tried."""
    tried = 0
    deadline = time.monotonic() + seconds
    improved = True
    while improved:
        improved = False
        for candidate in candidates(case):
            if tried >= attempts or time.monotonic() >= deadline:
                return case, tried
            if measure(candidate) >= measure(case):
                continue
            tried += 1
            if fails(candidate):
                case = candidate
                improved = True
                break
    return case, tried


def measure(value: Any) -> tuple[int, int]:
    if isinstance(value, (list, dict)):
        pairs = [measure(item) for item in (value.values() if isinstance(value, dict) else value)]
        return 1 + sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    return 1, abs(value).bit_length() * 2 + (value < 0) if type(value) is int else 0


def candidates(case: dict) -> Iterator[dict]:
    if len(case["queries"]) > 1:
        for query in case["queries"]:
            yield {**case, "queries": [query]}
    for key in ("setup", "iters", "indices"):
        for index in range(len(case.get(key, []))):
            yield {**case, key: case[key][:index] + case[key][index + 1 :]}
    if case.get("predicate") is not None:
        yield {**case, "predicate": None}
    for key in ("e", "indices", "predicate", "setup", "iters", "queries"):
        if case.get(key) is not None:
            for path, e in nodes(case[key]):
                for simpler in simpler_than(e):
                    yield {**case, key: exchanged(case[key], path, simpler)}


def nodes(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, list]]:
    """Every expression in nested lists, with the way to it."""
    if not isinstance(value, list):
        return
    known = value and isinstance(value[0], str) and (value[0] in BINARY or value[0] in BITS or value[0] in OTHERS)
    if known:
        yield path, value
    for index, item in enumerate(value):
        yield from nodes(item, (*path, index))


OTHERS = ("i", "not", "sel", "ite", "likely", "bnot", "cast", "let", "call")


def simpler_than(e: list) -> list:
    kind = e[0]
    if kind == "i":
        value = e[2]
        tries = (0, 1, 2, value // 2, -value)
        return [["i", e[1], number] for number in tries if abs(number) < abs(value) or number == -value > 0]
    if kind in ("cast", "call"):
        return [item for item in e[2:] if isinstance(item, list)]
    if kind == "let":
        return [e[3], e[2]]
    operands = [item for item in e[1:] if isinstance(item, list)]
    if kind in ("sel", "ite"):
        return operands[1:]
    if kind in ("lt", "le", "gt", "ge", "eq", "ne"):
        return [["i", "bool", 1], ["i", "bool", 0]]
    return operands


def exchanged(value: Any, path: tuple, new: Any) -> Any:
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = exchanged(value[path[0]], path[1:], new)
    return changed


# ---------------------------------------------------------------------------------------------------------------------
# Reading a case

_SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "fdiv": "//", "fmod": "%", "eq": "==", "ne": "!=", "lt": "<", "le": "<="},
    **{"gt": ">", "ge": ">=", "and": "and", "or": "or", "shl": "<<", "shr": ">>", "band": "&", "bor": "|", "bxor": "^"},
}


def show(n: Any) -> str:
    """Nested lists as text."""
    if not isinstance(n, list):
        return str(n)
    if not n or not isinstance(n[0], str):
        return "[" + ", ".join(map(show, n)) + "]"
    if n[0] == "v":
        return n[1]
    if n[0] in ("i", "f"):
        return str(n[2]) if n[1] == "int32" else f"{n[1]}({n[2]})"
    if n[0] in _SYMBOLS and len(n) == 3:
        return f"({show(n[1])} {_SYMBOLS[n[0]]} {show(n[2])})"
    return f"{n[0]}({', '.join(map(show, n[1:]))})"


def show_case(case: dict) -> list[str]:
    lines = [f"{', '.join(f'{name}: {dtype}' for name, dtype in case['vars'])}; {'raw' if case['raw'] else 'folded'}"]
    for step in case.get("setup", []):
        lines.append(f"{step[0]} {', '.join(map(show, step[1:]))}")
    for name, low, extent in case.get("iters", []):
        lines.append(f"{name} from {show(low)}, {show(extent)} of them")
    if "e" in case:
        lines.append(show(case["e"]))
    else:
        lines.append(", ".join(map(show, case["indices"])))
        if case["predicate"] is not None:
            lines.append(f"where {show(case['predicate'])}")
    return lines
