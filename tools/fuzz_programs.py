"""Programs as data: a small language for tensor computations, its checks, and the function that builds them.

`build_program(te, spec)` makes the PrimFunc of a program and `build_graph(ns, spec)` the output nodes of a graph, on
TVM and on the port alike, so that one and the same spec runs on both sides and can be recorded as a case (workload
``random_program``, graph ``random_graph``). A spec is plain JSON::

    {"variables": [["n", "int32"]],                       symbolic extents, parameters of the function
     "inputs": [["A", [64, 32], "float16"]],              name, shape, dtype
     "stages": [{"name": "C",
                 "axes": [["i", 64]],                     name and extent; the stage's shape
                 "reduce": [["k", 0, 32]],                name, begin, extent; only with "op"
                 "op": "sum",                             or another of `REDUCTIONS`
                 "where": EXPRESSION,                     condition of the reduction, optional
                 "values": [EXPRESSION]}],                one output each; two for argmax, three for moments
     "outputs": ["C"],                                    arguments of the function after the inputs
     "index_dtype": "int64",                              the dtype that all indices are given, optional
     "attrs": {"opt_shapes": {"n": 128}}}                 attributes of the function, optional

    {"nodes": [{"name": "top", "program": {...}, "tensor_cores": false,
                "tags": {"pipeline_stage": 2}}],          more tags of the node, optional
     "edges": [[0, 1, 0, 0]],                             source, target, source's output, target's input
     "outputs": [1]}                                      nodes that get an output node

An extent is a whole number, ``["int64", number]``, or an expression of the variables. An expression is a whole number,
the name of an axis or variable, or a list that begins with an operation (`OPERATIONS`, and const, cast, reinterpret,
limit, let, read, call). The outputs of a stage with several values are read as "C.0", "C.1".

Nothing in a spec is executed: operations are looked up in fixed tables, and all of a spec is checked before it is used.
This file is loaded on both sides and imports nothing but the standard library.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable
from typing import Any

# Limits of a spec, far above what is drawn: they keep a hostile one from taking the machine.
MAX_ITEMS = 32  # stages, inputs, axes, nodes ...
MAX_EXPRESSIONS = 3000  # expression nodes of one program
MAX_DEPTH = 40
MAX_NUMBER = 1 << 62

DTYPES = (
    *("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float4_e2m1fn", "int1", "int2", "int4", "int8", "int16", "int32", "int64"),
    *("uint1", "uint2", "uint4", "uint8", "uint16", "uint32", "uint64", "bool"),
)
REDUCTIONS = ("sum", "max", "min", "prod", "any", "argmax", "argmin", "moments")
# The values of reductions of several.
REDUCED_VALUES = {"argmax": 2, "argmin": 2, "moments": 3}
UNARY_CALLS = (
    *("exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "abs", "floor", "ceil", "round", "trunc"),
    *("sin", "cos", "popcount", "log2", "log1p", "tan", "atan", "cosh", "isnan", "isfinite", "nearbyint", "likely"),
)
BINARY_CALLS = ("power", "fmod", "atan2", "hypot", "copysign")
CALLS = UNARY_CALLS + BINARY_CALLS

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,30}")


class SpecError(ValueError):
    """A spec that is none; the message says where."""


# ---------------------------------------------------------------------------------------------------------------------
# Operations


def tir_of(te: Any) -> Any:
    """The module with Select and Not, which a te module does not export: tvm.tirx, or the port's tir."""
    return sys.modules["tvm.tirx" if te.__name__ == "tvm.te" else te.__name__.rsplit(".", 1)[0]]


def _operator(apply: Callable) -> Callable:
    """An operator of Python's on expressions. Of two plain numbers one becomes a constant, else Python would fold."""

    def make(te: Any, a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            a = te.const(a, "int32")
        return apply(a, b)

    return make


def _function(name: str) -> Callable:
    return lambda te, *args: getattr(te, name)(*args)


# operation -> (number of operands, function of the te module and the operands)
OPERATIONS: dict[str, tuple[int, Callable]] = {
    "add": (2, _operator(operator.add)),
    "sub": (2, _operator(operator.sub)),
    "mul": (2, _operator(operator.mul)),
    "div": (2, _operator(operator.truediv)),
    "floordiv": (2, _function("floordiv")),
    "floormod": (2, _function("floormod")),
    "truncdiv": (2, _function("truncdiv")),
    "truncmod": (2, _function("truncmod")),
    "max": (2, _function("max")),
    "min": (2, _function("min")),
    "eq": (2, _operator(operator.eq)),
    "ne": (2, _operator(operator.ne)),
    "lt": (2, _operator(operator.lt)),
    "le": (2, _operator(operator.le)),
    "gt": (2, _operator(operator.gt)),
    "ge": (2, _operator(operator.ge)),
    "and": (2, _function("all")),
    "or": (2, _function("any")),
    "not": (1, lambda te, a: tir_of(te).Not(a)),
    "shl": (2, _operator(operator.lshift)),
    "shr": (2, _operator(operator.rshift)),
    "band": (2, _operator(operator.and_)),
    "bor": (2, _operator(operator.or_)),
    "bxor": (2, _operator(operator.xor)),
    "if": (3, _function("if_then_else")),
    "select": (3, lambda te, c, a, b: tir_of(te).Select(c, a, b)),
}


# ---------------------------------------------------------------------------------------------------------------------
# Checks


def need(condition: bool, message: str) -> None:
    if not condition:
        raise SpecError(message)


def is_number(value: Any) -> bool:
    return type(value) is int and -MAX_NUMBER < value < MAX_NUMBER


def is_name(value: Any) -> bool:
    return type(value) is str and _NAME.fullmatch(value) is not None


def is_list(value: Any, length: int | None = None) -> bool:
    return type(value) is list and (len(value) <= MAX_ITEMS if length is None else len(value) == length)


class Checker:
    """Checks one program: forms, counts, and that names stand for something."""

    def __init__(self, spec: dict) -> None:
        self.spec = spec
        self.budget = MAX_EXPRESSIONS
        self.ranks: dict[str, int] = {}  # of the tensors that can be read so far

    def check(self) -> None:
        spec = self.spec
        need(type(spec) is dict, "a program is an object")
        lists = {"variables", "inputs", "stages", "outputs"}
        known = lists | {"attrs", "index_dtype"}
        need(set(spec) <= known and {"inputs", "stages", "outputs"} <= set(spec), f"a program has {sorted(known)}")
        need(all(is_list(spec.get(part, [])) for part in lists), "the parts of a program are short lists")
        variables: set[str] = set()
        for item in spec.get("variables", []):
            need(is_list(item, 2) and is_name(item[0]) and item[1] in ("int32", "int64"), "a variable is name, dtype")
            need(item[0] not in variables, f"variable {item[0]} twice")
            variables.add(item[0])
        for item in spec["inputs"]:
            need(is_list(item, 3) and is_name(item[0]) and item[2] in DTYPES, "an input is name, shape, dtype")
            self.extents(item[1], variables, f"input {item[0]}")
            self.tensor(item[0], len(item[1]))
        for stage in spec["stages"]:
            self.stage(stage, variables)
        need(len(spec["outputs"]) > 0, "a program has an output")
        for name in spec["outputs"]:
            need(type(name) is str and name in self.ranks, f"output {str(name)[:40]!r} is no tensor")
        need(spec.get("index_dtype") in (None, "int32", "int64"), "index_dtype is int32 or int64")
        check_attrs(spec.get("attrs", {}))

    def tensor(self, name: str, rank: int) -> None:
        need(name not in self.ranks, f"tensor {name} twice")
        self.ranks[name] = rank

    def extents(self, shape: Any, variables: set[str], where: str) -> None:
        need(is_list(shape), f"the shape of {where} is not a short list")
        for extent in shape:
            self.extent(extent, variables, where)

    def extent(self, extent: Any, variables: set[str], where: str) -> None:
        if is_list(extent, 2) and extent[0] == "int64":
            need(is_number(extent[1]), f"{where}: a 64-bit extent is a number")
        else:
            self.expression(extent, variables, where)

    def stage(self, stage: Any, variables: set[str]) -> None:
        need(type(stage) is dict and is_name(stage.get("name")), "a stage is an object with a name")
        where = f"stage {stage['name']}"
        need(set(stage) <= {"name", "axes", "reduce", "op", "where", "values"}, f"{where} has unknown keys")
        need(is_list(stage.get("axes")) and is_list(stage.get("values")), f"{where} lacks axes or values")
        op = stage.get("op")
        need(op is None or op in REDUCTIONS, f"{where}: unknown reduction {str(op)[:40]!r}")
        need(op is not None or ("reduce" not in stage and "where" not in stage), f"{where} reduces without an op")
        need(len(stage["values"]) > 0, f"{where} has no value")
        scope = set(variables)
        for axis in stage["axes"]:
            need(is_list(axis, 2) and is_name(axis[0]), f"{where}: an axis is name, extent")
            self.extent(axis[1], variables, where)
        if op is not None:
            need(is_list(stage.get("reduce")) and len(stage["reduce"]) > 0, f"{where} reduces over nothing")
            need(len(stage["values"]) == REDUCED_VALUES.get(op, 1), f"{where} has a wrong number of values")
            for axis in stage["reduce"]:
                need(is_list(axis, 3) and is_name(axis[0]), f"{where}: a reduction axis is name, begin, extent")
                self.extent(axis[1], variables, where)
                self.extent(axis[2], variables, where)
        names = [axis[0] for axis in (*stage["axes"], *stage.get("reduce", []))]
        need(len(set(names)) == len(names) and not variables & set(names), f"{where}: an axis name twice")
        scope.update(names)
        for value in (*stage["values"], *([stage["where"]] if "where" in stage else [])):
            self.expression(value, scope, where)
        if len(stage["values"]) == 1:
            self.tensor(stage["name"], len(stage["axes"]))
        else:
            for position in range(len(stage["values"])):
                self.tensor(f"{stage['name']}.{position}", len(stage["axes"]))

    def expression(self, e: Any, scope: set[str], where: str, depth: int = MAX_DEPTH) -> None:
        self.budget -= 1
        need(self.budget > 0 and depth > 0, f"{where}: expressions too large")
        if type(e) is int:
            need(is_number(e), f"{where}: number out of range")
        elif type(e) is str:
            need(e in scope, f"{where}: unknown name {e[:40]!r}")
        else:
            need(type(e) is list and len(e) >= 2 and type(e[0]) is str, f"{where}: malformed expression")
            if e[0] == "let":
                need(len(e) == 4 and is_name(e[1]) and e[1] not in scope, f"{where}: let takes a new name and two more")
                self.expression(e[2], scope, where, depth - 1)
                self.expression(e[3], scope | {e[1]}, where, depth - 1)
                return
            for operand in self.operands(e, where):
                self.expression(operand, scope, where, depth - 1)

    def operands(self, e: list, where: str) -> list:
        """The expressions that an operation is made of."""
        kind = e[0]
        if kind in OPERATIONS:
            need(len(e) == 1 + OPERATIONS[kind][0], f"{where}: {kind} takes {OPERATIONS[kind][0]} operands")
            return e[1:]
        if kind == "const":
            need(len(e) == 3 and e[2] in DTYPES, f"{where}: const takes a number and a dtype")
            need(is_number(e[1]) or (type(e[1]) is float and abs(e[1]) < 1e30), f"{where}: const takes a number")
            return []
        if kind in ("cast", "reinterpret"):
            need(len(e) == 3 and e[1] in DTYPES, f"{where}: {kind} takes a dtype and an expression")
            return [e[2]]
        if kind == "limit":
            need(len(e) == 3 and e[1] in ("min_value", "max_value") and e[2] in DTYPES, f"{where}: malformed limit")
            return []
        if kind == "call":
            need(e[1] in CALLS and len(e) == (4 if e[1] in BINARY_CALLS else 3), f"{where}: malformed call")
            return e[2:]
        need(kind == "read", f"{where}: unknown operation {kind[:40]!r}")
        need(len(e) == 3 and type(e[1]) is str and e[1] in self.ranks, f"{where}: read of an unknown tensor")
        need(is_list(e[2], self.ranks[e[1]]), f"{where}: {e[1]} takes {self.ranks[e[1]]} indices")
        return e[2]


# Attributes and tags that are a list of numbers, and one that is a description of its instruction.
LISTS = ("tensorcore_config",)
FLAGS = {"intrin_info": ("in_dtype", "out_dtype", "trans_b")}


def check_attrs(attrs: Any) -> None:
    """The attributes of a function, or the tags of a node."""
    need(type(attrs) is dict and len(attrs) <= MAX_ITEMS and all(map(is_name, attrs)), "attrs is an object")
    for name, value in attrs.items():
        if name in ("opt_shapes", "dequantize_info"):
            need(type(value) is dict and len(value) <= MAX_ITEMS and all(map(is_name, value)), f"{name} has names")
            values = value.values()
            if name == "opt_shapes":
                need(all(is_number(v) and v < 1 << 31 for v in values), "opt_shapes is names with numbers")
            else:
                need(all(type(v) is dict and set(v) == {"source_bits"} for v in values), "source_bits is missing")
                need(all(is_number(v["source_bits"]) for v in values), "source_bits is a number")
        elif name in LISTS:
            need(is_list(value) and all(map(is_number, value)), f"{name} is a short list of numbers")
        elif name in FLAGS:
            need(type(value) is dict and set(value) <= set(FLAGS[name]), f"{name} has {FLAGS[name]}")
            need(all(type(v) is bool or v in DTYPES for v in value.values()), f"{name} has dtypes and booleans")
        else:
            need(is_number(value) or type(value) is bool, f"attribute {name} is a number")


def check_program(spec: Any) -> None:
    """Raise SpecError unless `spec` is a program."""
    need(type(spec) is dict, "a program is an object")
    Checker(spec).check()


def check_graph(spec: Any) -> None:
    """Raise SpecError unless `spec` is a graph. Whether an edge fits the functions is carver's to say."""
    need(type(spec) is dict and set(spec) == {"nodes", "edges", "outputs"}, "a graph has nodes, edges, outputs")
    need(all(map(is_list, spec.values())) and len(spec["nodes"]) > 0, "the parts of a graph are short lists")
    for node in spec["nodes"]:
        needed = {"name", "program", "tensor_cores"}
        need(type(node) is dict and needed <= set(node) <= needed | {"tags"}, "a node has name, program")
        check_attrs(node.get("tags", {}))
        need(is_name(node["name"]) and type(node["tensor_cores"]) is bool, "a node has a name")
        check_program(node["program"])
    count = len(spec["nodes"])
    for edge in spec["edges"]:
        need(is_list(edge, 4) and all(is_number(v) and 0 <= v < MAX_ITEMS for v in edge), "an edge is four numbers")
        need(edge[0] < edge[1] < count, "an edge goes from a node to a later one")
    need(all(is_number(v) and 0 <= v < count for v in spec["outputs"]), "outputs is nodes")


# ---------------------------------------------------------------------------------------------------------------------
# Building


class Builder:
    """Builds one checked program on a te module."""

    def __init__(self, te: Any, spec: dict) -> None:
        self.te = te
        self.spec = spec
        self.variables: dict[str, Any] = {}
        self.tensors: dict[str, Any] = {}

    def build(self) -> Any:
        te, spec = self.te, self.spec
        for name, dtype in spec.get("variables", []):
            self.variables[name] = te.var(name, dtype)
        for name, shape, dtype in spec["inputs"]:
            self.tensors[name] = te.placeholder([self.extent(extent) for extent in shape], name=name, dtype=dtype)
        for stage in spec["stages"]:
            self.stage(stage)
        arguments = [*self.variables.values(), *(self.tensors[name] for name, _, _ in spec["inputs"])]
        override = {"index_dtype_override": spec["index_dtype"]} if spec.get("index_dtype") else {}
        func = te.create_prim_func([*arguments, *(self.tensors[name] for name in spec["outputs"])], **override)
        attrs = dict(spec.get("attrs", {}))
        if "opt_shapes" in attrs:
            attrs["opt_shapes"] = {name: te.const(value, "int32") for name, value in attrs["opt_shapes"].items()}
        return (func, attrs) if attrs else func

    def extent(self, extent: Any) -> Any:
        if isinstance(extent, list) and extent[0] == "int64":
            return self.te.const(extent[1], "int64")
        return self.expression(extent, self.variables)

    def stage(self, stage: dict) -> None:
        te = self.te
        shape = [self.extent(extent) for _, extent in stage["axes"]]
        names = [name for name, _ in stage["axes"]]
        loops = {
            name: te.reduce_axis((self.extent(begin), self.extent(begin) + self.extent(extent)), name=name)
            for name, begin, extent in stage.get("reduce", [])
        }

        def at(*indices: Any) -> Any:
            scope = {**self.variables, **dict(zip(names, indices)), **{name: loop.var for name, loop in loops.items()}}
            values = [self.expression(value, scope) for value in stage["values"]]
            values = [te.const(value, "int32") if isinstance(value, int) else value for value in values]
            if "op" not in stage:
                return values[0] if len(values) == 1 else tuple(values)
            where = self.expression(stage["where"], scope) if "where" in stage else None
            return self.reduction(stage["op"])(*values, axis=list(loops.values()), where=where)

        made = te.compute(shape, at, name=stage["name"], varargs_names=names)
        if len(stage["values"]) == 1:
            self.tensors[stage["name"]] = made
        else:
            self.tensors.update({f"{stage['name']}.{position}": tensor for position, tensor in enumerate(made)})

    def reduction(self, op: str) -> Callable:
        te = self.te
        if op in ("sum", "max", "min"):
            return getattr(te, op)
        if op == "prod":
            return te.comm_reducer(lambda x, y: x * y, lambda dtype: te.const(1, dtype), name="prod")
        if op == "any":
            return te.comm_reducer(lambda x, y: te.any(x, y), lambda dtype: te.const(0, dtype), name="any")
        combine, identity = self.moments() if op == "moments" else self.argument(op)
        reducer = te.comm_reducer(combine, identity, name=op)
        return lambda *values, axis, where: reducer(values, axis=axis, where=where)

    def argument(self, op: str) -> tuple[Callable, Callable]:
        """The greatest or least value with its place."""
        te, select = self.te, tir_of(self.te).Select

        def combine(x: Any, y: Any) -> tuple:
            first = x[1] >= y[1] if op == "argmax" else x[1] <= y[1]
            return select(first, x[0], y[0]), select(first, x[1], y[1])

        def identity(first: str, second: str) -> tuple:
            return te.const(-1, first), te.min_value(second) if op == "argmax" else te.max_value(second)

        return combine, identity

    def moments(self) -> tuple[Callable, Callable]:
        """A count, a sum, and a sum of another kind, each its own way."""
        te = self.te

        def combine(x: Any, y: Any) -> tuple:
            return x[0] + y[0], x[1] + y[1], x[2] + y[2] * y[2]

        def identity(*dtypes: str) -> tuple:
            return tuple(te.const(0, dtype) for dtype in dtypes)

        return combine, identity

    def expression(self, e: Any, scope: dict) -> Any:
        te = self.te
        if isinstance(e, int):
            return e
        if isinstance(e, str):
            return scope[e]
        kind = e[0]
        if kind == "const":
            return te.const(e[1], e[2])
        if kind == "read":
            indices = tuple(self.expression(index, scope) for index in e[2])
            tensor = self.tensors[e[1]]
            return tensor[indices] if indices else tensor()
        if kind in ("cast", "reinterpret"):
            value = self.node(e[2], scope)
            return value.astype(e[1]) if kind == "cast" else tir_of(te).reinterpret(e[1], value)
        if kind == "limit":
            return getattr(te, e[1])(e[2])
        if kind == "let":
            value = self.node(e[2], scope)
            variable = tir_of(te).Var(e[1], value.dtype)
            return tir_of(te).Let(variable, value, self.node(e[3], {**scope, e[1]: variable}))
        if kind == "call":
            return getattr(tir_of(te), e[1])(*(self.expression(argument, scope) for argument in e[2:]))
        return OPERATIONS[kind][1](te, *(self.expression(operand, scope) for operand in e[1:]))

    def node(self, e: Any, scope: dict) -> Any:
        """An expression where a plain number will not do."""
        value = self.expression(e, scope)
        return self.te.const(value, "int32") if isinstance(value, int) else value


def build_program(te: Any, spec: dict) -> Any:
    """The PrimFunc of a program, or the PrimFunc and its attributes. Raises SpecError for what is no program."""
    check_program(spec)
    return Builder(te, spec).build()


def build_graph(ns: Any, spec: dict) -> list:
    """The output nodes of a graph; `ns` is what `tools/cases.py` gives a graph of `fixtures/workloads.py`."""
    check_graph(spec)
    nodes = []
    for item in spec["nodes"]:
        func, tags = Builder(ns.te, {**item["program"], "attrs": {}}).build(), None
        if item["tensor_cores"]:
            func, tags = ns.get_tensorized_func_and_tags(func, ns.arch.target)
        tags = {**(tags or {}), **item.get("tags", {})}
        nodes.append(ns.PrimFuncNode(func, name=item["name"], tags=tags or None))
    for source, target, source_id, target_id in spec["edges"]:
        edge = ns.Edge(nodes[source], nodes[target], source_id, target_id)
        nodes[source]._out_edges.append(edge)
        nodes[target].set_inputs(target_id, edge)
    return [ns.OutputNode(nodes[index]) for index in spec["outputs"]]


def random_program(te: Any, spec: dict) -> Any:
    """Workload `random_program`."""
    return build_program(te, spec)


def random_graph(ns: Any, spec: dict) -> list:
    """Graph `random_graph`."""
    return build_graph(ns, spec)


# ---------------------------------------------------------------------------------------------------------------------
# Reading a spec

_SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "floormod": "%", "eq": "==", "ne": "!="},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "and", "or": "or", "shl": "<<", "shr": ">>"},
    **{"band": "&", "bor": "|", "bxor": "^"},
}


def show_expression(e: Any) -> str:
    if not isinstance(e, list):
        return str(e)
    kind = e[0]
    if kind in _SYMBOLS:
        return f"({show_expression(e[1])} {_SYMBOLS[kind]} {show_expression(e[2])})"
    if kind == "read":
        return f"{e[1]}[{', '.join(map(show_expression, e[2]))}]"
    if kind in ("const", "int64"):
        return f"{e[-1]}({e[1]})" if kind == "const" else f"int64({e[1]})"
    if kind in ("cast", "call", "reinterpret", "limit"):
        prefix = "as " if kind == "reinterpret" else ""
        return f"{prefix}{e[1]}({', '.join(map(show_expression, e[2:]))})"
    return f"{kind}({', '.join(map(show_expression, e[1:]))})"


def show_program(spec: dict) -> list[str]:
    """A program as lines a person can read."""
    lines = []
    for name, shape, dtype in spec["inputs"]:
        lines.append(f"{name}: {dtype}[{', '.join(map(show_expression, shape))}]")
    for stage in spec["stages"]:
        axes = ", ".join(f"{name}<{show_expression(extent)}" for name, extent in stage["axes"])
        value = ", ".join(map(show_expression, stage["values"]))
        if "op" in stage:
            loops = ", ".join(
                f"{name}<{show_expression(extent)}" if begin == 0 else f"{show_expression(begin)}<={name}<+{extent}"
                for name, begin, extent in stage["reduce"]
            )
            where = f" where {show_expression(stage['where'])}" if "where" in stage else ""
            value = f"{stage['op']}({value} over {loops}{where})"
        mark = " (output)" if any(name.split(".")[0] == stage["name"] for name in spec["outputs"]) else ""
        lines.append(f"{stage['name']}[{axes}] = {value}{mark}")
    if spec.get("attrs"):
        lines.append(f"attributes {spec['attrs']}")
    return lines


def show_graph(spec: dict) -> list[str]:
    lines = []
    for index, node in enumerate(spec["nodes"]):
        tags = f", tags {node['tags']}" if node.get("tags") else ""
        lines.append(f"node {index} {node['name']}" + (" on tensor cores" if node["tensor_cores"] else "") + tags)
        lines += ["  " + line for line in show_program(node["program"])]
    lines += [f"edge {a}.{i} -> {b}.{j}" for a, b, i, j in spec["edges"]]
    lines.append(f"outputs {spec['outputs']}")
    return lines
