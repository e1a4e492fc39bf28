"""Making a failing case smaller: `shrink(case, fails)` tries simpler cases as long as they still fail.

Greedy: of the simpler cases that `candidates` proposes, the boldest first, the first one that still fails is taken, and
all starts over from it. Every step makes `measure` smaller, so that it ends. What is no program any more is refused by
both sides, hence does not fail, hence is not taken.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

from .fuzz_draw import read_names, without_unread

Path = tuple


def measure(case: dict) -> tuple[int, int]:
    """How large a case is: its parts, then the size of its numbers."""
    computation = case["computation"]
    parts, numbers = size(computation["params"])
    parts += ("entry" in computation) + (case["topk"] != 1) + 3 * (case["device"].get("name") != "a100")
    return parts + sum(case["device"].get(name) != value for name, value in PLAIN_FIGURES.items()), numbers


def size(value: Any) -> tuple[int, int]:
    if isinstance(value, list):
        pairs = [size(item) for item in value]
        return 1 + sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    if isinstance(value, dict):
        pairs = [size(item) for item in value.values()]
        return 1 + sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    if isinstance(value, bool):
        return 1, int(value)
    if isinstance(value, int):
        return 1, abs(value) if value < 1 << 20 else (1 << 20) + value.bit_length()
    if isinstance(value, str) and "float" in value or value in ("bool",):
        return 1, {"float16": 0, "float32": 1}.get(value, 2)
    return 1, 0


# The figures of the device a shrunk case is tried on.
PLAIN_FIGURES = {
    "smem_cap": 49152,
    "compute_max_core": 108,
    "l2_cache_size_bytes": 40 << 20,
    "reg_cap": 65536,
    "sm_partition": 4,
    "transaction_size": [32, 128],
    "bandwidth": [750, 12080],
}


def shrink(
    case: dict, fails: Callable[[dict], bool], plain_device: dict, attempts: int = 600, seconds: float = 90.0
) -> tuple[dict, int]:
    """The smallest failing case found, and the number of cases tried."""
    tried = 0
    seen = set()
    until = time.monotonic() + seconds
    improved = True
    while improved:
        improved = False
        for candidate in candidates(case, plain_device):
            if tried >= attempts or time.monotonic() > until:
                return case, tried
            key = repr(candidate)
            if key in seen or measure(candidate) >= measure(case):
                continue
            seen.add(key)
            tried += 1
            if fails(candidate):
                case = candidate
                improved = True
                break
    return case, tried


def candidates(case: dict, plain_device: dict) -> Iterator[dict]:
    """Simpler cases, the boldest first."""
    computation = case["computation"]
    kind = "graph" if "graph" in computation else "workload"

    def with_spec(spec: dict) -> dict:
        return {**case, "computation": {**computation, "params": {"spec": spec}}}

    yield {**case, "device": plain_device}
    if "entry" in computation:
        yield {**case, "computation": {key: value for key, value in computation.items() if key != "entry"}}
    spec = computation["params"]["spec"]
    if kind == "graph":
        for smaller in graphs(spec):
            yield with_spec(smaller)
    else:
        for smaller in programs(spec):
            yield with_spec(smaller)
    for name, value in PLAIN_FIGURES.items():
        if case["device"].get(name, value) != value:
            yield {**case, "device": {**case["device"], name: value}}
    yield {**case, "topk": 1}


# ---------------------------------------------------------------------------------------------------------------------
# Graphs


def graphs(spec: dict) -> Iterator[dict]:
    for index in reversed(range(len(spec["nodes"]))):
        yield without_node(spec, index)
    for index in range(len(spec["edges"])):
        yield {**spec, "edges": spec["edges"][:index] + spec["edges"][index + 1 :]}
    if len(spec["outputs"]) > 1:
        for index in range(len(spec["outputs"])):
            yield {**spec, "outputs": spec["outputs"][:index] + spec["outputs"][index + 1 :]}
    for index, node in enumerate(spec["nodes"]):
        if node["tensor_cores"]:
            yield with_node(spec, index, {**node, "tensor_cores": False})
        for name in node.get("tags", {}):
            tags = {key: value for key, value in node["tags"].items() if key != name}
            yield with_node(spec, index, {**node, "tags": tags})
    for smaller in numbers_everywhere(spec):
        yield smaller
    for index, node in enumerate(spec["nodes"]):
        for program in programs(node["program"]):
            yield with_node(spec, index, {**node, "program": program})


def with_node(spec: dict, index: int, node: dict) -> dict:
    nodes = list(spec["nodes"])
    nodes[index] = node
    return {**spec, "nodes": nodes}


def without_node(spec: dict, index: int) -> dict:
    """Its consumers read an input instead; nodes that fed only it become outputs."""

    def renumbered(position: int) -> int:
        return position - (position > index)

    edges = [edge for edge in spec["edges"] if index not in edge[:2]]
    sources = {edge[0] for edge in edges}
    outputs = [position for position in spec["outputs"] if position != index]
    for edge in spec["edges"]:
        if edge[1] == index and edge[0] not in sources and edge[0] not in outputs:
            outputs.append(edge[0])
    return {
        "nodes": spec["nodes"][:index] + spec["nodes"][index + 1 :],
        "edges": [[renumbered(edge[0]), renumbered(edge[1]), *edge[2:]] for edge in edges],
        "outputs": [renumbered(position) for position in outputs],
    }


# ---------------------------------------------------------------------------------------------------------------------
# Programs


def programs(spec: dict) -> Iterator[dict]:
    yield from fewer_outputs(spec)
    yield from fewer_stages(spec)
    if "index_dtype" in spec:
        yield {key: value for key, value in spec.items() if key != "index_dtype"}
    for name in spec.get("attrs", {}):
        yield {**spec, "attrs": {key: value for key, value in spec["attrs"].items() if key != name}}
    yield from plain_extents(spec)
    yield from fewer_axes(spec)
    yield from fewer_dimensions(spec)
    yield from simpler_expressions(spec)
    yield from numbers_everywhere(spec)
    yield from one_dtype(spec)
    yield from single_numbers(spec)


def fewer_outputs(spec: dict) -> Iterator[dict]:
    for stage in spec["stages"]:
        names = [stage["name"]] if len(stage["values"]) == 1 else [f"{stage['name']}.0"]
        if spec["outputs"] != names:
            yield without_unread({**spec, "outputs": names})
    if len(spec["outputs"]) > 1:
        for index in range(len(spec["outputs"])):
            yield without_unread({**spec, "outputs": spec["outputs"][:index] + spec["outputs"][index + 1 :]})
    yield without_unread(spec)


def fewer_stages(spec: dict) -> Iterator[dict]:
    """A stage becomes an input of its shape."""
    for index, stage in enumerate(spec["stages"]):
        if stage["name"] in spec["outputs"] or len(stage["values"]) > 1:
            continue
        for dtype in ("float16", "float32", "int32"):
            added = [stage["name"], [extent for _, extent in stage["axes"]], dtype]
            stages = spec["stages"][:index] + spec["stages"][index + 1 :]
            yield without_unread({**spec, "stages": stages, "inputs": [*spec["inputs"], added]})


def plain_extents(spec: dict) -> Iterator[dict]:
    """64-bit extents as plain ones, symbolic ones as numbers."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return value[1] if value[:1] == ["int64"] and len(value) == 2 else [plain(item) for item in value]
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return value

    if "int64" in repr(spec):
        yield plain(spec)
    for name, _ in spec.get("variables", []):
        without = {**spec, "variables": [item for item in spec["variables"] if item[0] != name]}
        without = {key: value for key, value in without.items() if key != "attrs" and value != []}
        yield {"inputs": [], **renamed(without, name, 64)}


def renamed(value: Any, name: str, other: Any) -> Any:
    """`value` with the name replaced wherever it stands in an expression or an extent."""
    if isinstance(value, list):
        if value[:1] == ["read"] and len(value) == 3:
            return ["read", value[1], renamed(value[2], name, other)]
        return [renamed(item, name, other) for item in value]
    if isinstance(value, dict):
        return {key: item if key in ("name", "op") else renamed(item, name, other) for key, item in value.items()}
    return other if value == name else value


def fewer_axes(spec: dict) -> Iterator[dict]:
    for position, stage in enumerate(spec["stages"]):
        for index, (name, _) in enumerate(stage["axes"]):
            changed = dict(stage)
            changed["axes"] = stage["axes"][:index] + stage["axes"][index + 1 :]
            changed["values"] = renamed(stage["values"], name, 0)
            names = {stage["name"], *(f"{stage['name']}.{number}" for number in range(len(stage["values"])))}
            yield with_stage(without_dimension(spec, names, index), position, changed)
        for index, (name, begin, _) in enumerate(stage.get("reduce", [])):
            changed = dict(stage)
            changed["reduce"] = stage["reduce"][:index] + stage["reduce"][index + 1 :]
            changed["values"] = renamed(stage["values"], name, begin)
            changed.pop("where", None)
            if not changed["reduce"]:
                changed.pop("reduce")
                changed.pop("op")
                changed["values"] = changed["values"][-1:]
            yield with_stage(spec, position, changed)


def with_stage(spec: dict, index: int, stage: dict) -> dict:
    stages = list(spec["stages"])
    stages[index] = stage
    return {**spec, "stages": stages}


def without_dimension(spec: dict, names: set[str], dimension: int) -> dict:
    """Reads of these tensors lose an index."""

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            if value[:1] == ["read"] and len(value) == 3 and value[1] in names:
                indices = value[2][:dimension] + value[2][dimension + 1 :]
                return ["read", value[1], [changed(item) for item in indices]]
            return [changed(item) for item in value]
        if isinstance(value, dict):
            return {key: changed(item) for key, item in value.items()}
        return value

    return {**spec, "stages": changed(spec["stages"])}


def fewer_dimensions(spec: dict) -> Iterator[dict]:
    for position, (name, shape, dtype) in enumerate(spec["inputs"]):
        for dimension in range(len(shape)):
            inputs = list(spec["inputs"])
            inputs[position] = [name, shape[:dimension] + shape[dimension + 1 :], dtype]
            yield {**without_dimension(spec, {name}, dimension), "inputs": inputs}


def simpler_expressions(spec: dict) -> Iterator[dict]:
    """One expression replaced by one of its operands, or by 0; guards dropped."""
    for position, stage in enumerate(spec["stages"]):
        if "where" in stage:
            yield with_stage(spec, position, {key: value for key, value in stage.items() if key != "where"})
        if stage.get("op", "sum") != "sum":
            yield with_stage(spec, position, {**stage, "op": "sum", "values": stage["values"][-1:]})
        for path, e in expressions(stage["values"]):
            for simpler in operands(e):
                values = replaced(stage["values"], path, simpler)
                yield without_unread(with_stage(spec, position, {**stage, "values": values}))


def expressions(values: list, path: Path = ()) -> Iterator[tuple[Path, list]]:
    """Every operation in a list of expressions, outer ones first, with the way to it."""
    for index, e in enumerate(values):
        if not isinstance(e, list):
            continue
        here = (*path, index)
        if e and isinstance(e[0], str):
            yield here, e
        yield from expressions(e, here)


def operands(e: list) -> list:
    kind = e[0]
    if kind == "const":
        return [] if e[1] == 0 else [["const", 0, e[2]]]
    if kind == "read":
        return [["const", 0, "float16"]] if read_names(e[2]) else []
    if kind in ("cast", "call", "reinterpret"):
        return e[2:3]
    if kind == "limit":
        return [["const", 0, e[2]]]
    if kind == "let":
        return [e[2], renamed(e[3], e[1], e[2])]
    if kind in ("if", "select"):
        return [e[2], e[3], *([["if", *e[1:]]] if kind == "select" else [])]
    if kind in ("and", "or"):
        return e[1:]
    if kind in ("lt", "le", "gt", "ge", "eq", "ne", "not"):
        return []
    if kind == "sub" and isinstance(e[1], int):
        return [e[2], 0]
    if isinstance(e[-1], int):
        return [e[1], 0]
    return [*e[1:], 0]


def replaced(values: list, path: Path, new: Any) -> list:
    changed = copy.copy(values)
    changed[path[0]] = new if len(path) == 1 else replaced(values[path[0]], path[1:], new)
    return changed


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


def lower(value: int) -> list[int]:
    """Simpler numbers to try instead."""
    if value <= 1:
        return []
    tries = [1, 2, value // 2, 1 << (value.bit_length() - 1), value - 1]
    return [number for position, number in enumerate(tries) if number < value and number not in tries[:position]]


def numbers(value: Any, path: Path = ()) -> Iterator[tuple[Path, int]]:
    if type(value) is int:
        yield path, value
    elif isinstance(value, (list, dict)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(item, (*path, key))


def numbers_everywhere(spec: dict) -> Iterator[dict]:
    """All occurrences of a number, extents and bounds alike, become a smaller one."""
    body = {key: value for key, value in spec.items() if key not in ("edges", "outputs")}
    for value in sorted({number for _, number in numbers(body)}, reverse=True):
        for number in lower(value):
            yield {**spec, **exchanged(body, value, number)}


def exchanged(value: Any, old: Any, new: Any) -> Any:
    if isinstance(value, list):
        return [exchanged(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: exchanged(item, old, new) for key, item in value.items()}
    return new if type(value) is type(old) and value == old else value


def single_numbers(spec: dict) -> Iterator[dict]:
    """One number of a stage becomes a smaller one; extents stay positive."""
    for key in ("inputs", "stages"):
        for path, value in numbers(spec[key]):
            for number in [0, *lower(value)] if value and "values" in path else lower(value):
                yield {**spec, key: exchanged_at(spec[key], path, number)}


def exchanged_at(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = exchanged_at(value[path[0]], path[1:], new)
    return changed


def one_dtype(spec: dict) -> Iterator[dict]:
    """All of the inputs, constants and casts in one dtype."""
    for dtype in ("float16", "float32"):
        changed: Any = spec
        for other in sorted({item[2] for item in spec["inputs"]}):
            changed = exchanged(changed, other, dtype)
        yield changed
