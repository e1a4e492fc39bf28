"""Patterns over expressions, and rewrite rules that are compiled from them.

Stands in for TVM's ``src/arith/pattern_match.h``. A rule is written as there, with Python's operators::

    rewrite((x + c1) + c2, x + (c1 + c2))
    rewrite_if(floordiv(x, c1) * c1 < x, zero < floormod(x, c1), lambda c1: c1 > 0)

C++ makes such a pattern into code at compile time, by templates. Here `Rule.compile` writes the same code as a small
Python function, once, when the rule is first needed::

    def rewrite(s, a, b):                    # (x + c1) + c2  =>  x + (c1 + c2)
        v0 = a.a
        v1 = a.b
        if type(v1) is not IntImm: return None
        t0 = fold_Add(v1, b)
        if t0 is None: t0 = Add(v1, b)
        ...

A debugger that steps into a rule shows this text. `RuleTable` keeps the rules of one class of node in order and gives
those that the classes of the node's operands leave possible.
"""

from __future__ import annotations

import inspect
import linecache
from typing import Any, Callable, Iterable

from ..expr import (
    EQ,
    FALSE,
    FOLD,
    GE,
    GT,
    LE,
    LT,
    NE,
    TRUE,
    Add,
    And,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    Select,
    Sub,
    deep_equal,
    make_const,
)

# A rule as it runs: the simplifier and the operands of the node in, the new expression or None out.
RuleFunction = Callable[..., "PrimExpr | None"]


# tvm: src/arith/pattern_match.h (Pattern)
class Pattern:
    """The operators that build patterns. ``&``, ``|`` and ``~`` stand for ``&&``, ``||`` and ``!``."""

    __slots__ = ()

    def __add__(self, other):
        return PNode(Add, self, other)

    def __sub__(self, other):
        return PNode(Sub, self, other)

    def __rsub__(self, other):
        return PNode(Sub, other, self)

    def __mul__(self, other):
        return PNode(Mul, self, other)

    def __lt__(self, other):
        return PNode(LT, self, other)

    def __le__(self, other):
        return PNode(LE, self, other)

    def __gt__(self, other):
        return PNode(GT, self, other)

    def __ge__(self, other):
        return PNode(GE, self, other)

    def __eq__(self, other):
        return PNode(EQ, self, other)

    def __ne__(self, other):
        return PNode(NE, self, other)

    def __and__(self, other):
        return PNode(And, self, other)

    def __or__(self, other):
        return PNode(Or, self, other)

    def __invert__(self):
        return PNode(Not, self)

    __hash__ = object.__hash__


# tvm: src/arith/pattern_match.h (PVar)
class PVar(Pattern):
    """A hole: any expression, or (`is_constant`) any IntImm. Where it occurs again, the same must occur again."""

    __slots__ = ("name", "is_constant")

    def __init__(self, name: str, is_constant: bool = False):
        self.name = name
        self.is_constant = is_constant

    def __repr__(self) -> str:
        return self.name


# tvm: src/arith/pattern_match.h (PConstWithTypeLike)
class PLiteral(Pattern):
    """An IntImm of that value. In a result it is a constant that has the dtype of `like`, or of the other operand."""

    __slots__ = ("value", "like")

    def __init__(self, value: int, like: PVar | None = None):
        self.value = value
        self.like = like

    def __repr__(self) -> str:
        return str(self.value)


# tvm: src/arith/pattern_match.h (PConst)
class PConst(Pattern):
    """A fixed expression, in results only."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


_SYMBOLS = {Add: "+", Sub: "-", Mul: "*", EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">=", And: "&", Or: "|"}


# tvm: src/arith/pattern_match.h (PBinaryExpr, PNotExpr, PSelectExpr)
class PNode(Pattern):
    """A node of one class with a pattern for each operand."""

    __slots__ = ("kind", "operands")

    def __init__(self, kind: type, *operands: Pattern | int):
        self.kind = kind
        self.operands = tuple(PLiteral(part) if isinstance(part, int) else part for part in operands)

    def __repr__(self) -> str:
        if self.kind not in _SYMBOLS:
            return f"{self.kind.__name__}({', '.join(map(str, self.operands))})"
        infix = [isinstance(part, PNode) and part.kind in _SYMBOLS for part in self.operands]
        left, right = (f"({part})" if nested else str(part) for part, nested in zip(self.operands, infix))
        return f"{left} {_SYMBOLS[self.kind]} {right}"


def truncdiv(a, b) -> PNode:
    return PNode(Div, a, b)


def truncmod(a, b) -> PNode:
    return PNode(Mod, a, b)


def floordiv(a, b) -> PNode:
    return PNode(FloorDiv, a, b)


def floormod(a, b) -> PNode:
    return PNode(FloorMod, a, b)


def min_(a, b) -> PNode:
    return PNode(Min, a, b)


def max_(a, b) -> PNode:
    return PNode(Max, a, b)


def select(condition, true_value, false_value) -> PNode:
    return PNode(Select, condition, true_value, false_value)


def zero_like(like: PVar) -> PLiteral:
    """0 in the dtype of a matched expression (tvm: ZeroWithTypeLike)."""
    return PLiteral(0, like)


def one_like(like: PVar) -> PLiteral:
    """1 in the dtype of a matched expression (tvm: OneWithTypeLike)."""
    return PLiteral(1, like)


x, y, z = PVar("x"), PVar("y"), PVar("z")
b1, b2, s1, s2 = PVar("b1"), PVar("b2"), PVar("s1"), PVar("s2")
c1, c2, c3 = PVar("c1", True), PVar("c2", True), PVar("c3", True)
# On the left of a comparison a plain 0 would not do: Python turns ``0 < x`` round.
zero = PLiteral(0)
true, false = PConst("TRUE"), PConst("FALSE")

_FIELDS = {Not: ("a",), Select: ("condition", "true_value", "false_value")}
_BINARY_FIELDS = ("a", "b")


def _literal(dtype: str, value: int) -> PrimExpr:
    return IntImm(dtype, value) if dtype == "int32" or dtype == "int64" else make_const(dtype, value)


# What the generated functions refer to.
_NAMESPACE: dict[str, Any] = {"IntImm": IntImm, "deep_equal": deep_equal, "literal": _literal}
_NAMESPACE |= {"TRUE": TRUE, "FALSE": FALSE}
_NAMESPACE |= {"Not": Not, "Select": Select}
_NAMESPACE |= {kind.__name__: kind for kind in FOLD} | {f"fold_{kind.__name__}": fold for kind, fold in FOLD.items()}


def _required_kind(part: Pattern) -> type | None:
    """The class that an operand must have to match; None for any."""
    if isinstance(part, PNode):
        return part.kind
    return None if isinstance(part, PVar) and not part.is_constant else IntImm


class Rule:
    """Rewrite what matches `source` to `result`, if `condition` holds; with `recursive`, rewrite the result again.

    The parameters of `condition` are named after what they are given: ``s`` is the simplifier, ``c1`` the value of the
    constant that matched c1 (an int), ``x`` the expression that matched x.
    """

    __slots__ = ("source", "result", "condition", "recursive")

    def __init__(self, source: PNode, result: Pattern, condition: Callable[..., bool] | None, recursive: bool):
        self.source = source
        self.result = result
        self.condition = condition
        self.recursive = recursive

    def __repr__(self) -> str:
        return f"{self.source}  =>  {self.result}"

    def accepts(self, kinds: tuple[type, ...]) -> bool:
        """Whether operands of these classes can match at all."""
        operands = self.source.operands
        if operands[0] is operands[-1] and kinds[0] is not kinds[-1]:  # x + x
            return False
        return all(_required_kind(part) in (None, kind) for part, kind in zip(operands, kinds))

    def compile(self) -> RuleFunction:
        """The rule as a function of the simplifier and the node's operands, whose classes `accepts` has checked."""
        return _RuleCompiler(self).compile()


class CodeRule:
    """A rule written by hand: ``function(s, a, b)`` for nodes that have the operands `source` asks for."""

    __slots__ = ("source", "function")

    def __init__(self, source: PNode, function: RuleFunction):
        self.source = source
        self.function = function

    def __repr__(self) -> str:
        return f"{self.source}  =>  {self.function.__name__}"

    accepts = Rule.accepts

    def compile(self) -> RuleFunction:
        return self.function


class _RuleCompiler:
    """Writes the function of one rule: first every check of a class, then what costs more."""

    def __init__(self, rule: Rule):
        self.rule = rule
        self.lines: list[str] = []
        self.holes: dict[PVar, str] = {}
        self.equalities: list[str] = []
        self.count = 0

    def compile(self) -> RuleFunction:
        arguments = _FIELDS.get(self.rule.source.kind, _BINARY_FIELDS)
        self.match_operands(self.rule.source, arguments)
        self.lines += self.equalities
        namespace = dict(_NAMESPACE)
        if self.rule.condition is not None:
            namespace["condition"] = self.rule.condition
            self.lines.append(f"if not condition({self.condition_arguments()}): return None")
        result = self.build(self.rule.result)
        self.lines.append(f"return s.recursive_rewrite({result})" if self.rule.recursive else f"return {result}")
        head = f"def rewrite(s, {', '.join(arguments)}):  # {self.rule}\n"
        text = head + "".join(f"    {line}\n" for line in self.lines)
        filename = f"<rewrite rule {id(self.rule):x}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        exec(compile(text, filename, "exec"), namespace)
        return namespace["rewrite"]

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def match_operands(self, node: PNode, names: Iterable[str]) -> None:
        """Checks for the operands of a node, which the local variables `names` hold: level by level."""
        below = []
        for part, name in zip(node.operands, names):
            known = node is self.rule.source
            if isinstance(part, PNode):
                if not known:
                    self.lines.append(f"if type({name}) is not {part.kind.__name__}: return None")
                below.append((part, name))
            else:
                self.match_leaf(part, name, known)
        for part, name in below:
            fields = _FIELDS.get(part.kind, _BINARY_FIELDS)
            locals_ = [self.fresh("v") for _ in fields]
            self.lines += [f"{local} = {name}.{field}" for local, field in zip(locals_, fields)]
            self.match_operands(part, locals_)

    def match_leaf(self, part: Pattern, name: str, known: bool) -> None:
        if isinstance(part, PLiteral):
            check = f"{name}.value != {part.value}"
            self.lines.append(f"if {check if known else f'type({name}) is not IntImm or {check}'}: return None")
            return
        if part.is_constant and not known:
            self.lines.append(f"if type({name}) is not IntImm: return None")
        first = self.holes.setdefault(part, name)
        if first != name:
            if part.is_constant:
                self.equalities.append(f"if {first}.value != {name}.value: return None")
            else:
                self.equalities.append(f"if {first} is not {name} and not deep_equal({first}, {name}): return None")

    def condition_arguments(self) -> str:
        """The arguments of the condition, found by the names of its parameters."""
        holes = {hole.name: f"{local}.value" if hole.is_constant else local for hole, local in self.holes.items()}
        holes["s"] = "s"
        return ", ".join(holes[name] for name in inspect.signature(self.rule.condition).parameters)

    def build(self, part: Pattern, like: str | None = None) -> str:
        """Lines that make the expression (tvm: Eval), and the name that then holds it."""
        if isinstance(part, PVar):
            return self.holes[part]
        if isinstance(part, PConst):
            return part.name
        local = self.fresh("t")
        if isinstance(part, PLiteral):
            like = self.holes[part.like] if part.like is not None else like
            self.lines.append(f"{local} = literal({like}.dtype, {part.value})")
            return local
        kind = part.kind.__name__
        if part.kind in _FIELDS:
            # Select and Not are made as they are: only binary nodes fold.
            operands = [self.build(operand) for operand in part.operands]
            self.lines.append(f"{local} = {kind}({', '.join(operands)})")
            return local
        left, right = part.operands
        if isinstance(left, PLiteral) and left.like is None:
            b = self.build(right)
            a = self.build(left, b)
        else:
            a = self.build(left)
            b = self.build(right, a)
        self.lines.append(f"{local} = fold_{kind}({a}, {b})")
        self.lines.append(f"if {local} is None: {local} = {kind}({a}, {b})")
        return local


def _sources(source: PNode | tuple[PNode, ...]) -> tuple[PNode, ...]:
    return source if isinstance(source, tuple) else (source,)


# tvm: src/arith/rewrite_simplify.cc (TVM_TRY_REWRITE)
def rewrite(source, result: Pattern) -> list[Rule]:
    """One rule, or one for each pattern of a tuple (tvm: matches_one_of)."""
    return [Rule(pattern, result, None, False) for pattern in _sources(source)]


# tvm: src/arith/rewrite_simplify.cc (TVM_TRY_REWRITE_IF)
def rewrite_if(source, result: Pattern, condition: Callable[..., bool]) -> list[Rule]:
    return [Rule(pattern, result, condition, False) for pattern in _sources(source)]


# tvm: src/arith/rewrite_simplify.cc (TVM_TRY_RECURSIVE_REWRITE)
def recursive_rewrite(source, result: Pattern) -> list[Rule]:
    return [Rule(pattern, result, None, True) for pattern in _sources(source)]


# tvm: src/arith/rewrite_simplify.cc (TVM_TRY_RECURSIVE_REWRITE_IF)
def recursive_rewrite_if(source, result: Pattern, condition: Callable[..., bool]) -> list[Rule]:
    return [Rule(pattern, result, condition, True) for pattern in _sources(source)]


def code(source: PNode, function: RuleFunction) -> list[CodeRule]:
    """A step of the original that is no single rule."""
    return [CodeRule(source, function)]


class RuleTable(dict[tuple[type, ...], tuple[RuleFunction, ...]]):
    """The rules of one class of node, in order. ``table[type(a), type(b)]`` are the functions of those to try."""

    def __init__(self, *rules: list[Rule] | list[CodeRule]):
        super().__init__()
        self.rules = [rule for group in rules for rule in group]
        self._functions: dict[Rule | CodeRule, RuleFunction] = {}

    def __add__(self, other: RuleTable) -> RuleTable:
        return RuleTable(self.rules, other.rules)

    def __missing__(self, kinds: tuple[type, ...]) -> tuple[RuleFunction, ...]:
        """Find the rules for operands of these classes when such operands are met for the first time."""
        self[kinds] = found = tuple(self._function(rule) for rule in self.rules if rule.accepts(kinds))
        return found

    def _function(self, rule: Rule | CodeRule) -> RuleFunction:
        if rule not in self._functions:
            self._functions[rule] = rule.compile()
        return self._functions[rule]
