"""Compute one *case* on a backend: the real carver or the port.

A case is a plain JSON object: the computation (a template with parameters, a workload or a graph of
``fixtures/workloads.py``), the device figures in full, and ``topk``. Computing it gives a *record*: every search that
ran (policy, nodes, base tile, reduction steps, each visited tile in the order of the visits, the ranking) and the hints
with all that a hint carries, or the error.

This file is loaded twice: as ``carver.tools.cases`` on the port, and by path in an interpreter that has tilelang
(`real_carver.py`). It therefore imports nothing but the standard library; what differs between the two sides is a
`Backend`. Nothing is executed from a case: names are looked up in fixed tables.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

# What a hint carries, in the order of the recordings. `arch` is left out: it is the device of the case.
HINT_FIELDS = (
    "block",
    "thread",
    "warp",
    "rstep",
    "reduce_thread",
    "use_tc",
    "vectorize",
    "step",
    "raxis_order",
    "pipeline_stage",
    "use_async",
    "rasterization_plan",
    "cached_tensors",
    "output_strides",
    "schedule_stages",
    "block_reduction_depth",
    "split_k_factor",
    "opt_shapes",
    "intrin_info",
    "shared_scope",
    "pass_context",
)

# Attributes of a device, by class; a case gives every one of them. CPU and METAL have no figures.
DEVICE_FIGURES = {
    "CUDA": (
        "sm_version",
        "name",
        "platform",
        "smem_cap",
        "compute_max_core",
        "warp_size",
        "compute_capability",
        "reg_cap",
        "max_smem_usage",
        "sm_partition",
        "l2_cache_size_bytes",
        "transaction_size",
        "bandwidth",
    ),
    "CDNA": (
        "platform",
        "smem_cap",
        "compute_max_core",
        "warp_size",
        "compute_capability",
        "reg_cap",
        "max_smem_usage",
        "sm_partition",
        "l2_cache_size_bytes",
        "transaction_size",
        "bandwidth",
    ),
    "RDNA": (
        "mcpu",
        "rdna_generation",
        "platform",
        "smem_cap",
        "compute_max_core",
        "warp_size",
        "compute_capability",
        "reg_cap",
        "max_smem_usage",
        "sm_partition",
        "l2_cache_size_bytes",
        "transaction_size",
        "bandwidth",
    ),
    "CPU": (),
    "METAL": (),
}

TEMPLATES = ("matmul", "gemv", "conv", "elementwise", "reduce", "attention")

# How a workload or a graph is given to carver; the first of each is the usual way.
WORKLOAD_ENTRIES = ("func", "tensorcore_only", "default", "tensorcore")
GRAPH_ENTRIES = ("output_nodes", "default", "tensorcore")


@dataclass
class Backend:
    """One side of the comparison: the names of carver that a case needs, all with the vendored signatures."""

    name: str
    te: Any
    templates: dict[str, Callable]
    default_policy: type
    tensorcore_policy: type
    get_roller_hints_from_func: Callable
    get_roller_hints_from_output_nodes: Callable
    get_tensorized_func_and_tags: Callable
    prim_func_node: type
    output_node: type
    edge: type
    make_device: Callable[[dict], Any]
    current_arch: Callable[[Any], contextlib.AbstractContextManager]
    with_attrs: Callable[[Any, dict], Any]
    workloads: ModuleType


def load_workloads(path: Path | None = None) -> ModuleType:
    """The module `fixtures/workloads.py`, loaded by path (it belongs to the source tree, not to the package)."""
    if path is None:
        path = Path(__file__).resolve().parent.parent / "fixtures" / "workloads.py"
    name = "carver_workloads"
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"no workloads at {path}: cases name functions of fixtures/workloads.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    programs = _load_programs()
    module.WORKLOADS["random_program"] = programs.random_program
    module.GRAPHS["random_graph"] = programs.random_graph
    return module


def _load_programs() -> ModuleType:
    """`fuzz_programs.py`, which lies beside this file: programs given as data. By path, as this file itself may be."""
    name = "carver_fuzz_programs"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).resolve().parent / "fuzz_programs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------------------------------------------------------------
# Building the computation


def check_params(function: Callable, params: dict, skip: int) -> None:
    """Raise TypeError unless `params` are keyword parameters of `function` (its first `skip` are ours to give)."""
    names = list(inspect.signature(function).parameters)[skip:]
    unknown = [key for key in params if key not in names]
    if unknown:
        raise TypeError(f"{function.__name__} has no parameter {unknown[0]!r}; it takes {', '.join(names)}")


def build_template(backend: Backend, computation: dict, device: Any) -> Any:
    template = backend.templates[computation["template"]]
    with backend.current_arch(device):
        return template(**computation["params"]).with_arch(device)


def build_workload(backend: Backend, computation: dict) -> Any:
    """The PrimFunc of a workload. A workload returns the function, or the function and its attributes."""
    function = backend.workloads.WORKLOADS[computation["workload"]]
    check_params(function, computation["params"], skip=1)
    built = function(backend.te, **computation["params"])
    if isinstance(built, tuple):
        built = backend.with_attrs(*built)
    return built


def build_graph(backend: Backend, computation: dict, device: Any) -> list:
    function = backend.workloads.GRAPHS[computation["graph"]]
    check_params(function, computation["params"], skip=1)
    namespace = SimpleNamespace(
        te=backend.te,
        PrimFuncNode=backend.prim_func_node,
        OutputNode=backend.output_node,
        Edge=backend.edge,
        get_tensorized_func_and_tags=backend.get_tensorized_func_and_tags,
        arch=device,
    )
    return function(namespace, **computation["params"])


def hints_of_workload(backend: Backend, computation: dict, device: Any, topk: int) -> Any:
    func = build_workload(backend, computation)
    entry = computation.get("entry", "func")
    if entry == "func":
        return backend.get_roller_hints_from_func(func, arch=device, topk=topk)
    if entry == "tensorcore_only":
        return backend.get_roller_hints_from_func(func, arch=device, topk=topk, tensorcore_only=True)
    opt_shapes = computation.get("opt_shapes")
    tags = None
    if opt_shapes is not None:
        tags = {"opt_shapes": {name: backend.te.const(extent, "int32") for name, extent in opt_shapes.items()}}
    policy = {"default": backend.default_policy, "tensorcore": backend.tensorcore_policy}[entry]
    if entry == "tensorcore":
        func, found = backend.get_tensorized_func_and_tags(func, device.target)
        tags = {**(tags or {}), **(found or {})}
    return policy.from_prim_func(func=func, arch=device, tags=tags).emit_config(topk)


def hints_of_graph(backend: Backend, computation: dict, device: Any, topk: int) -> Any:
    nodes = build_graph(backend, computation, device)
    entry = computation.get("entry", "output_nodes")
    if entry == "output_nodes":
        return backend.get_roller_hints_from_output_nodes(nodes, arch=device, topk=topk)
    policy = {"default": backend.default_policy, "tensorcore": backend.tensorcore_policy}[entry]
    return policy.from_output_nodes(nodes, arch=device).emit_config(topk)


def run_case(backend: Backend, case: dict, device: Any) -> Any:
    """Build the computation of `case` and return carver's hints, as a user's program would get them."""
    computation = case["computation"]
    topk = case["topk"]
    if "template" in computation:
        return build_template(backend, computation, device).recommend_hints(topk=topk)
    with backend.current_arch(device):
        if "workload" in computation:
            return hints_of_workload(backend, computation, device, topk)
        return hints_of_graph(backend, computation, device, topk)


# ---------------------------------------------------------------------------------------------------------------------
# Recording


def plain(value: Any) -> Any:
    """`value` as JSON has it: numpy scalars, TVM's or the port's containers and immediates become Python's own.

    Integers stay integers and floats stay floats, both exact.
    """
    if value is None or isinstance(value, (bool, str)):
        # A str subclass (TVM's String, the port's DataType) is a plain str in JSON.
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key): plain(item) for key, item in value.items()}
    kind = type(value).__name__
    if kind == "IntImm":
        return int(value.value)
    if kind == "FloatImm":
        return float(value.value)
    if kind == "StringImm":
        return str(value.value)
    if kind == "Stride":
        return [value.ax, value.stride]
    if hasattr(value, "dtype") and hasattr(value, "item") and not hasattr(value, "__len__"):
        return plain(value.item())  # a numpy scalar
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if hasattr(value, "__iter__"):
        return [plain(item) for item in value]
    if kind == "IntrinInfo":
        return {key: plain(item) for key, item in sorted(vars(value).items())}
    return " ".join(repr(value).split())


def plain_hint(hint: Any) -> dict:
    fields = {name: plain(getattr(hint, name)) for name in HINT_FIELDS}
    known = {*HINT_FIELDS, "arch", "_step", "_raxis_order"}
    for name in vars(hint):
        if name not in known:
            raise AssertionError(f"a hint carries {name!r}, which recordings do not know")
    return fields


def plain_node(node: Any) -> dict:
    """What identifies a node of a graph, all of it the outcome of carver's analysis."""
    return {
        "name": node.name,
        "tags": {key: plain(node._tag[key]) for key in sorted(node._tag)},
        "space": plain(node.get_space_dim()),
        "raxis": [[axis.var.name, plain(axis.dom.extent)] for axis in node.raxis],
        "inputs": [[buffer.name, plain_shape(buffer.shape), str(buffer.dtype)] for buffer in node.input_buffers],
        "outputs": [[buffer.name, plain_shape(buffer.shape), str(buffer.dtype)] for buffer in node.output_buffers],
    }


def plain_shape(shape: Any) -> list:
    """Extents as integers; one that is not constant, by its text."""
    return [str(extent) if isinstance(plain(extent), str) else plain(extent) for extent in shape]


def plain_tile(td: Any) -> list:
    """One visited tile: tile, valid, traffic, smem_cost, grid_size, block_per_SM, num_wave."""
    return [
        plain(td.output_tile),
        bool(td.valid),
        plain(td.traffic),
        plain(td.smem_cost),
        plain(td.grid_size),
        plain(td.block_per_SM),
        plain(td.num_wave),
    ]


_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\\/][\w.+@~-]+){2,}")


def plain_error(error: BaseException) -> dict:
    """Type and first line of the message, without what depends on the machine (paths, addresses)."""
    text = str(error).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    message = " ".join(lines[0].split()) if lines else ""
    message = _ADDRESS.sub("<address>", _PATH.sub("<path>", message))
    return {"type": type(error).__name__, "message": message[:200]}


class Searches:
    """Watches the policies while a case runs: one entry per call of `emit_config`.

    The methods are wrapped on the classes and put back afterwards; a policy's own answer is untouched.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.entries: list[dict] = []
        self._tiles: dict[int, int] = {}  # id of a TileDict -> index of its visit
        self._kept: list = []  # keeps the TileDicts alive, so that the ids stay theirs
        self._ranked: list = []

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        undo = []
        for policy in (self.backend.default_policy, self.backend.tensorcore_policy):
            for name in ("emit_config", "get_base_tile", "compute_tile_dict", "dfs_smem_tile"):
                original = policy.__dict__.get(name)
                if original is not None:
                    setattr(policy, name, getattr(self, "_" + name)(original))
                    undo.append((policy, name, original))
        try:
            yield
        finally:
            for policy, name, original in undo:
                setattr(policy, name, original)

    def _emit_config(self, original: Callable) -> Callable:
        def emit_config(policy: Any, topk: int) -> Any:
            entry: dict = {"policy": type(policy).__name__, "base_tile": None, "rstep": [], "nodes": []}
            entry.update(visited=[], ranked=[], expanded=[])
            self.entries.append(entry)
            self._tiles, self._kept, self._ranked = {}, [], []
            try:
                return original(policy, topk)
            except Exception as error:
                entry["error"] = plain_error(error)
                raise
            finally:
                with contextlib.suppress(Exception):  # a node that could not be analysed has no shape to show
                    entry["nodes"] = [plain_node(node) for node in policy.ordered_nodes]
                entry["expanded"] = self._expanded(policy)

        return emit_config

    def _get_base_tile(self, original: Callable) -> Callable:
        def get_base_tile(policy: Any) -> Any:
            tile = original(policy)
            self.entries[-1]["base_tile"] = plain(tile)
            return tile

        return get_base_tile

    def _compute_tile_dict(self, original: Callable) -> Callable:
        def compute_tile_dict(policy: Any, output_tile: list, rstep_map: dict) -> Any:
            td = original(policy, output_tile, rstep_map)
            visited = self.entries[-1]["visited"]
            self._tiles[id(td)] = len(visited)
            self._kept.append(td)
            visited.append(plain_tile(td))
            return td

        return compute_tile_dict

    def _dfs_smem_tile(self, original: Callable) -> Callable:
        def dfs_smem_tile(policy: Any, init_tile: list, rstep_map: dict) -> Any:
            entry = self.entries[-1]
            entry["rstep"] = [plain(rstep_map[node]) for node in policy.ordered_nodes]
            ranked = list(original(policy, init_tile, rstep_map))
            self._ranked = ranked
            entry["ranked"] = [self._tiles[id(td)] for td in ranked]
            return ranked

        return dfs_smem_tile

    def _expanded(self, policy: Any) -> list:
        """The ranked tiles whose reduction step or shared memory grew on the way to a hint: [index, smem, rsteps]."""
        entry = self.entries[-1]
        changed = []
        for td in self._ranked:
            index = self._tiles[id(td)]
            rsteps = [plain(td.rstep_map.get(node)) for node in policy.ordered_nodes]
            smem = plain(td.smem_cost)
            if smem != entry["visited"][index][3] or rsteps != entry["rstep"]:
                changed.append([index, smem, rsteps])
        return changed


def plain_hints(hints: Any) -> list | None:
    """Per hint the list of its nodes' hints, in the order of the nodes (one node: a list of one)."""
    if hints is None:
        return None
    result = []
    for hint in hints:
        if isinstance(hint, dict):
            result.append([plain_hint(part) for part in hint.values()])
        else:
            result.append([plain_hint(hint)])
    return result


def record_case(backend: Backend, case: dict) -> tuple[dict, float]:
    """The record of `case` on `backend`, and the seconds it took."""
    searches = Searches(backend)
    record: dict = {}
    device = backend.make_device(case["device"])
    started = time.perf_counter()
    with searches.watching():
        try:
            hints = run_case(backend, case, device)
        except Exception as error:
            record["error"] = plain_error(error)
            hints = None
    seconds = time.perf_counter() - started
    record["searches"] = searches.entries
    if "error" not in record:
        record["hints"] = plain_hints(hints)
    return record, seconds


def time_case(backend: Backend, case: dict) -> tuple[int, float, float]:
    """Number of hints, seconds by the clock and seconds of processor time of one unwatched call.

    A case that raises counts as no hint.
    """
    device = backend.make_device(case["device"])
    processor = time.process_time()
    clock = time.perf_counter()
    try:
        hints = run_case(backend, case, device)
    except Exception:
        hints = None
    seconds = time.perf_counter() - clock
    return len(hints or ()), seconds, time.process_time() - processor


# ---------------------------------------------------------------------------------------------------------------------
# The port as a backend


def port_device(figures: dict) -> Any:
    """The port's device with exactly these figures. A figure of 0, which a constructor refuses, is set afterwards."""
    from .. import arch

    given = {name: value for name, value in figures.items() if name not in ("class", "target")}
    derived = ("sm_version", "mcpu", "rdna_generation")  # follow from the target
    build = getattr(arch, figures["class"])
    target = dict(figures["target"])
    if figures["class"] in ("CPU", "METAL"):
        return build(arch.Target(target))
    # That it is given makes a device of the target; none is looked for on this machine then.
    positive = {"compute_max_core": 1}
    positive.update((name, value) for name, value in given.items() if name not in derived and value not in (0, [0, 0]))
    device = build(target, **positive)
    for name, value in given.items():
        if name in derived and getattr(device, name) != value:
            raise arch.CarverError(f"the device's {name} is {value!r}, and {getattr(device, name)!r} by its target")
        if value in (0, [0, 0]):
            setattr(device, name, value)
    return device


def port_backend(workloads: Path | None = None) -> Backend:
    """The port. Its modules are imported here, not at the top: the other side loads this file too."""
    from ..arch.current import current_arch
    from ..policy import DefaultPolicy, TensorCorePolicy
    from ..roller import matmul_analysis, node, template, utils
    from ..roller.tir import te

    def with_attrs(func: Any, attrs: dict) -> Any:
        for name, value in attrs.items():
            func = func.with_attr(name, value)
        return func

    return Backend(
        name="port",
        te=te,
        templates={
            "matmul": template.MatmulTemplate,
            "gemv": template.GEMVTemplate,
            "conv": template.ConvTemplate,
            "elementwise": template.ElementwiseTemplate,
            "reduce": template.GeneralReductionTemplate,
            "attention": template.FlashAttentionTemplate,
        },
        default_policy=DefaultPolicy,
        tensorcore_policy=TensorCorePolicy,
        get_roller_hints_from_func=utils.get_roller_hints_from_func,
        get_roller_hints_from_output_nodes=utils.get_roller_hints_from_output_nodes,
        get_tensorized_func_and_tags=matmul_analysis.get_tensorized_func_and_tags,
        prim_func_node=node.PrimFuncNode,
        output_node=node.OutputNode,
        edge=node.Edge,
        make_device=port_device,
        current_arch=current_arch,
        with_attrs=with_attrs,
        workloads=load_workloads(workloads),
    )
