"""Questions about the interface: every public name of carver called by itself, with ordinary and odd arguments.

A probe is a function of a :class:`Side`, the real carver's or the port's. Both sides answer the same probes; `describe`
puts an answer into JSON in a form that keeps what a caller could notice: int or numpy's or an expression, list or
tuple, the text of a dtype, an error. record_api_parity.py writes what the real side answers, test_api_parity.py asks
the port.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import io
import logging
from collections.abc import Callable, Mapping
from typing import Any

# Vendored modules, below tilelang.carver, that the port has under another name; "" is tilelang.carver itself.
PORT_MODULES = {
    "": "roller",
    "analysis": "roller.analysis",
    "common_schedules": "roller.common_schedules",
    "matmul_analysis": "roller.matmul_analysis",
    "utils": "roller.utils",
    "template": "roller.template",
    "roller.bestfit": "bestfit",
    "roller.policy": "policy",
}
PROBES: dict[str, Callable[[Side], Any]] = {}


def probe(function: Callable[[Side], Any]) -> Callable[[Side], Any]:
    """Register a probe that gives one answer, or, as a dict, several by name; an answer may be a function to call."""
    PROBES[function.__name__] = function
    return function


class Side:
    """Carver's modules by their vendored names, te, tirx and arith, and devices."""

    def __init__(self, real: bool):
        self.is_real = real
        if real:
            from tvm import arith, te, tirx
            from tvm.ir import IRModule
            from tvm.s_tir import Schedule
            from tvm.target import Target
        else:
            from carver.arch import Target
            from carver.roller import tir as tirx
            from carver.roller.tir import arith, te
            from carver.roller.tir.schedule import IRModule, Schedule
        self.te, self.tirx, self.arith = te, tirx, arith
        self.IRModule, self.Schedule, self.Target = IRModule, Schedule, Target

    def module(self, name: str) -> Any:
        """A module of carver by its name below tilelang.carver."""
        if self.is_real:
            return importlib.import_module(f"tilelang.carver.{name}".rstrip("."))
        for vendored, port in PORT_MODULES.items():
            if name == vendored or (vendored and name.startswith(f"{vendored}.")):
                return importlib.import_module(f"carver.{port}{name[len(vendored) :]}")
        return importlib.import_module(f"carver.{name}")

    def __getattr__(self, name: str) -> Any:
        """The last part of a module's name, as a shorthand."""
        paths = {
            "arch": "arch",
            "cuda": "arch.cuda",
            "rdna": "arch.rdna",
            "cdna": "arch.cdna",
            "node": "roller.node",
            "hint": "roller.hint",
            "rasterization": "roller.rasterization",
            "bestfit": "roller.bestfit",
            "common": "roller.policy.common",
            "policy": "roller.policy",
            "shapes": "roller.shape_inference.tir",
            "analysis": "analysis",
            "matmul_analysis": "matmul_analysis",
            "common_schedules": "common_schedules",
            "utils": "utils",
            "template": "template",
        }
        if name not in paths:
            raise AttributeError(name)
        return self.module(paths[name])

    # -- devices ------------------------------------------------------------------------------------------------------

    def _device(self, module: str, cls: str, target: dict, **figures: Any) -> Any:
        made = getattr(self.module(f"arch.{module}"), cls)
        device = made.__new__(made)
        device.target = self.Target(target)
        for name, value in figures.items():
            setattr(device, name, value)
        return device

    def cuda_device(self, version: int = 80, **figures: Any) -> Any:
        known = {
            "sm_version": version,
            "name": "a device",
            "platform": "CUDA",
            "smem_cap": 49152,
            "compute_max_core": 108,
            "warp_size": 32,
            "compute_capability": str(version),
            "reg_cap": 65536,
            "max_smem_usage": 98304,
            "sm_partition": 4,
            "l2_cache_size_bytes": 41943040,
            "transaction_size": [32, 128],
            "bandwidth": [750, 12080],
            "available_tensor_instructions": None,
        }
        return self._device("cuda", "CUDA", {"kind": "cuda", "arch": f"sm_{version}"}, **(known | figures))

    def cdna_device(self, **figures: Any) -> Any:
        known = {
            "platform": "CDNA",
            "smem_cap": 65536,
            "compute_max_core": 304,
            "warp_size": 64,
            "compute_capability": "94",
            "reg_cap": 32768,
            "max_smem_usage": 131072,
            "sm_partition": 4,
            "l2_cache_size_bytes": 4194304,
            "transaction_size": [32, 128],
            "bandwidth": [1300, 14000],
        }
        return self._device("cdna", "CDNA", {"kind": "hip", "mcpu": "gfx942"}, **(known | figures))

    def rdna_device(self, mcpu: str = "gfx1100", generation: int = 11, **figures: Any) -> Any:
        known = {
            "mcpu": mcpu,
            "rdna_generation": generation,
            "tuning": self.rdna._get_rdna_tuning_config(mcpu),
            "platform": "RDNA",
            "smem_cap": 65536,
            "compute_max_core": 48,
            "warp_size": 32,
            "compute_capability": "110",
            "reg_cap": 32768,
            "max_smem_usage": 131072,
            "sm_partition": 4,
            "l2_cache_size_bytes": 0,
            "transaction_size": [32, 128],
            "bandwidth": [750, 12080],
            "available_tensor_instructions": None,
        }
        return self._device("rdna", "RDNA", {"kind": "hip", "mcpu": mcpu}, **(known | figures))

    @contextlib.contextmanager
    def current(self, device: Any) -> Any:
        """`device` is the one that templates find when they are built."""
        if not self.is_real:
            with self.arch.current_arch(device):
                yield
            return
        import unittest.mock as mock

        with contextlib.ExitStack() as stack:
            for module in (self.arch, self.matmul_analysis):
                stack.enter_context(mock.patch.object(module, "get_arch", lambda *_: device))
            yield

    # -- programs -----------------------------------------------------------------------------------------------------

    def matmul(self, M=128, N=256, K=64, dtype="float16", accum="float32", attrs=None) -> Any:
        te = self.te
        A = te.placeholder((M, K), name="A", dtype=dtype)
        B = te.placeholder((N, K), name="B", dtype=dtype)
        k = te.reduce_axis((0, K), name="k")
        C = te.compute((M, N), lambda i, j: te.sum(A[i, k].astype(accum) * B[j, k].astype(accum), axis=k), name="C")
        func = te.create_prim_func([A, B, C])
        for name, value in (attrs or {}).items():
            func = func.with_attr(name, value)
        return func

    def elementwise(self, shape=(64, 96), dtype="float32") -> Any:
        te = self.te
        A = te.placeholder(shape, name="A", dtype=dtype)
        B = te.placeholder(shape[-1:], name="B", dtype=dtype)
        C = te.compute(shape, lambda *i: A[i] + B[i[-1]], name="C")
        return te.create_prim_func([A, B, C])

    def row_sum(self, M=64, N=128, dtype="float32") -> Any:
        te = self.te
        A = te.placeholder((M, N), name="A", dtype=dtype)
        k = te.reduce_axis((0, N), name="k")
        C = te.compute((M,), lambda i: te.sum(A[i, k], axis=k), name="C")
        return te.create_prim_func([A, C])

    def chain(self) -> Any:
        """Scale, product, bias, relu: stages before and after the reduction."""
        te = self.te
        A = te.placeholder((64, 32), name="A", dtype="float16")
        B = te.placeholder((48, 32), name="B", dtype="float16")
        D = te.placeholder((48,), name="D", dtype="float16")
        S = te.compute((64, 32), lambda i, k: A[i, k] * te.const(2, "float16"), name="S")
        k = te.reduce_axis((0, 32), name="k")
        C = te.compute((64, 48), lambda i, j: te.sum(S[i, k] * B[j, k], axis=k), name="C")
        E = te.compute((64, 48), lambda i, j: C[i, j] + D[j], name="E")
        F = te.compute((64, 48), lambda i, j: te.max(E[i, j], te.const(0, "float16")), name="F")
        return te.create_prim_func([A, B, D, F])


# ---------------------------------------------------------------------------------------------------------------------
# Answers as JSON


def describe(value: Any) -> Any:
    """The value in JSON, with its type where a caller could notice it."""
    kind = type(value).__name__
    if kind == "dict" and value.keys() == {"json"}:  # described already
        return value["json"]
    if value is None or type(value) in (bool, int):
        return value
    if type(value) is str:
        return f"'{value}"
    if type(value) is float:
        return {"float": repr(value)}
    if type(value).__module__ == "numpy":
        if hasattr(value, "tolist") and getattr(value, "ndim", 0):
            return {f"numpy.{value.dtype}": value.tolist()}
        return {f"numpy.{kind}": repr(value.item())}
    if isinstance(value, enum.Enum):
        return {"enum": str(value)}
    if kind in ("dtype", "DataType"):
        return {"dtype": str(value)}
    if isinstance(value, str):  # TVM's strings, which are Python's with something more
        return f"'{value}"
    if type(value) is list:
        return [describe(item) for item in value]
    if kind in ("tuple", "Array"):  # TVM's arrays are the port's tuples or lists
        return {kind: [describe(item) for item in value]}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((describe(item) for item in value), key=repr)}
    if isinstance(value, dict) or kind in ("Map", "DictAttrs", "mappingproxy"):
        return {"dict": [[describe(key), describe(value[key])] for key in value.keys()]}
    if kind == "ConstIntBound":
        return {kind: [value.min_value, value.max_value]}
    if kind == "ModularSet":
        return {kind: [value.coeff, value.base]}
    if kind in ("Buffer", "SBlock", "Tensor", "TensorDepNode"):
        return {kind: getattr(value, "name_hint", None) or value.name}
    if kind in ("SBlockRV", "LoopRV"):
        return {kind: None}
    if kind == "BufferRegion":
        return {kind: [value.buffer.name, [describe(part) for part in value.region]]}
    if kind == "Range":
        return {kind: [describe(value.min), describe(value.extent)]}
    if kind == "IndexMap":
        return {kind: [describe(list(value.initial_indices)), describe(list(value.final_indices))]}
    if kind == "PrimFunc":
        return {kind: value.script().splitlines()}
    if kind in ("function", "method", "type", "ABCMeta", "builtin_function_or_method"):
        return {kind: value.__name__}
    if hasattr(value, "dtype") and hasattr(value, "same_as"):  # an expression
        return {kind: [str(value.dtype), str(value)]}
    if kind in ("Hint", "TileDict", "IntrinInfo", "Stride", "TensorCoreExtraConfig", "Block", "IterTrait"):
        return {kind: {name: describe(inner) for name, inner in vars(value).items()}}
    if kind in ("Node", "PlaceHolderNode", "PrimFuncNode", "OutputNode"):
        return {kind: value.name}
    if kind == "Edge":
        return {kind: [describe(value.src_node), describe(value.dst_node), value.src_id, value.dst_id]}
    if kind in ("CUDA", "CDNA", "RDNA", "CPU", "METAL"):
        return {"device": kind}
    if kind in ("NoRasterization", "Rasterization2DRow", "Rasterization2DColumn", "Rasterization"):
        return {kind: value.panel_width_}
    if kind in ("IterInfo", "BlockInfo"):
        return {kind: str(value)}
    return {"object": kind}


def answer(function: Callable[[], Any]) -> Any:
    """What a call gives, or that it raises."""
    try:
        return describe(function())
    except Exception as error:
        return {"raises": type(error).__name__}


def ask(side: Side, name: str) -> dict[str, Any]:
    """The answers of one probe by name; "" where there is only one."""
    logging.getLogger("tilelang").setLevel(logging.ERROR)
    try:
        found = PROBES[name](side)
    except Exception as error:
        return {"": {"raises": type(error).__name__}}
    if isinstance(found, Mapping):
        return {key: answer(value if callable(value) else lambda value=value: value) for key, value in found.items()}
    return {"": answer(found if callable(found) else lambda: found)}


def printed(function: Callable[[], Any]) -> str:
    """What a call prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function()
    return out.getvalue()


def calls(function: Callable, arguments: dict[str, tuple]) -> dict[str, Callable]:
    """One call for each entry: positional arguments by name."""
    return {name: lambda args=args: function(*args) for name, args in arguments.items()}


def over(function: Callable, *values: Any) -> dict[str, Callable]:
    """One call for each value, named by it."""
    return {repr(value): lambda value=value: function(value) for value in values}


# ---------------------------------------------------------------------------------------------------------------------
# roller/bestfit.py, roller/rasterization.py


@probe
def bestfit_block(side: Side):
    block = side.bestfit.Block(start=32, end=96, is_free=True)

    def merged(*args):
        block = side.bestfit.Block(0, 32, True)
        return block.merge(side.bestfit.Block(*args)), vars(block)

    return {
        "fields": block,
        "size": block.size,
        "repr": lambda: repr(block),
        "str": lambda: str(side.bestfit.Block(5, 2, False)),
        "merge after": lambda: merged(32, 64, True),
        "merge before": lambda: merged(-32, 0, True),
        "merge inside": lambda: merged(8, 16, True),
        "merge taken": lambda: merged(32, 64, False),
        "float size": lambda: side.bestfit.Block(0.5, 2, True).size(),
    }


def _allocate(side: Side, steps, **kwargs):
    """Sizes to take, and negative numbers: which of the blocks taken to give back, counted from -1."""
    best = side.bestfit.BestFit(**kwargs)
    taken = []
    for step in steps:
        if isinstance(step, float) or step >= 0:
            taken.append(best.malloc(step))
        else:
            best.free(taken[-step - 1])
    return [repr(block) for block in taken], best.limit, [repr(block) for block in best.list], best.align


@probe
def bestfit_best_fit(side: Side):
    np = importlib.import_module("numpy")
    fresh = side.bestfit.BestFit()
    return {
        "fresh": lambda: (fresh.limit, fresh.list, fresh.align),
        "one": lambda: _allocate(side, [100]),
        "zero": lambda: _allocate(side, [0, 0, 32]),
        "zero and free": lambda: _allocate(side, [0, -1, 10]),
        "reuse": lambda: _allocate(side, [100, 64, -1, 32, 32]),
        "smallest": lambda: _allocate(side, [128, 32, 64, 32, -1, -3, 40]),
        "grow last": lambda: _allocate(side, [32, 64, -2, 256]),
        "join three": lambda: _allocate(side, [32, 32, 32, 32, -1, -3, -2, 96]),
        "free twice": lambda: _allocate(side, [32, -1, -1]),
        "align": lambda: _allocate(side, [1, 2, 3], align=1),
        "align 128": lambda: _allocate(side, [1, 129, -1, 3], align=128),
        "align 0": lambda: _allocate(side, [1], align=0),
        "float": lambda: _allocate(side, [100.0, 31.5]),
        "numpy": lambda: _allocate(side, [np.int64(100), np.int64(31)]),
        "numpy limit": lambda: side.bestfit.BestFit().malloc(np.int64(100)).end,
        "huge": lambda: _allocate(side, [2**70]),
        "negative": lambda: repr(side.bestfit.BestFit().malloc(-5)),
        "none": lambda: side.bestfit.BestFit().malloc(None),
        "foreign": lambda: side.bestfit.BestFit().free(side.bestfit.Block(0, 32, False)),
        "returns": lambda: side.bestfit.BestFit().malloc(size=7),
    }


@probe
def rasterization(side: Side):
    module = side.rasterization
    row, column, none, base = (
        module.Rasterization2DRow(),
        module.Rasterization2DColumn(panel_width=7),
        module.NoRasterization(),
        module.Rasterization(),
    )
    return {
        "row": lambda: (repr(row), str(row), row.panel_width, row.panel_width_),
        "column": lambda: (repr(column), str(column), column.panel_width, column.panel_width_),
        "default": lambda: module.Rasterization2DColumn().panel_width,
        "none": lambda: (repr(none), str(none), none.panel_width_, none.get_code()),
        "none's width": lambda: none.panel_width,
        "base": lambda: base.panel_width_,
        "base's width": lambda: base.panel_width,
        "base's code": base.get_code,
        "row's code": row.get_code,
        "width None": lambda: module.Rasterization2DRow(None).panel_width,
        "width text": lambda: module.Rasterization2DRow("x").panel_width,
        "width 0": lambda: module.Rasterization2DRow(0).panel_width,
        "column's code": column.get_code,
        "column's code for 3": lambda: column.get_code(3),
        "column's code for 0": lambda: column.get_code(panel_width=0),
        "device function": column.get_device_function,
        "subclass": lambda: [isinstance(x, module.Rasterization) for x in (row, column, none, base)],
        "set width": lambda: setattr(base, "panel_width", 3),
    }


# ---------------------------------------------------------------------------------------------------------------------
# roller/policy/common.py


@probe
def get_all_factors(side: Side):
    np = importlib.import_module("numpy")
    values = (0, 1, 2, 3, 4, 12, 97, 100, 1024, 5040, 2**20, 999983, 65537, -1, -12, 12.0, 2.5, True, None, "6")
    values += (np.int32(12), np.int64(36), np.float64(12), 10**10, [4])
    return over(side.common.get_all_factors, *values) | {"n": lambda: side.common.get_all_factors(n=6)}


@probe
def factorize(side: Side):
    np = importlib.import_module("numpy")
    values = (0, 1, 2, 3, 4, 12, 97, 100, 1024, 5040, 2**20, 999983, -12, 12.0, True, None, "6", 2**61, 1.0)
    values += (np.int32(12), np.int64(36), np.float64(12), np.int64(1))
    return over(side.common.factorize, *values) | {"n": lambda: side.common.factorize(n=6)}


_COALESCED = {
    "whole": ([4, 8], [4, 8]),
    "part": ([4, 8], [8, 8]),
    "rows": ([4, 4], [4, 8]),
    "one axis": ([5], [8]),
    "three": ([2, 4, 8], [2, 4, 8]),
    "empty": ([], []),
    "empty sub": ([], [4]),
    "empty tensor": ([4], []),
    "shorter tensor": ([2, 3, 4], [3, 4]),
    "shorter tensor, stops": ([2, 3, 4], [9]),
    "longer tensor": ([3, 4], [2, 3, 4]),
    "zero": ([0, 4], [8, 4]),
    "zero last": ([4, 0], [8, 4]),
    "negative": ([-4, 8], [8, 8]),
    "tuples": ((4, 8), (8, 8)),
    "floats": ([4.0, 8.0], [8, 8]),
    "mixed": ([4.5, 8], [8, 8.0]),
    "huge": ([2**40, 2**40], [2**40, 2**40]),
    "none": ([None, 8], [8, 8]),
    "text": (["a"], ["a"]),
}


def _coalesced_more(side: Side):
    np = importlib.import_module("numpy")
    imm = side.tirx.IntImm
    return {
        "numpy": ([np.int64(4), np.int64(8)], [8, 8]),
        "numpy array": (np.array([4, 8]), np.array([8, 8])),
        "expressions": ([4, 8], [imm("int32", 8), imm("int32", 8)]),
        "expressions both": ([imm("int32", 4), imm("int32", 8)], [imm("int32", 8), imm("int32", 8)]),
        "expression sub": ([imm("int32", 4), 8], [8, 8]),
        "int64 expressions": ([imm("int64", 4), 8], [imm("int64", 4), imm("int64", 8)]),
        "variable": ([4, 8], [8, side.te.var("n")]),
    }


@probe
def coalesced_factor(side: Side):
    found = calls(side.common.coalesced_factor, _COALESCED | _coalesced_more(side))
    return found | {"names": lambda: side.common.coalesced_factor(subtensor=[2, 2], tensor=[2, 2])}


@probe
def coalesced_tensor_shape(side: Side):
    function = side.common.coalesced_tensor_shape
    np = importlib.import_module("numpy")
    shapes = _COALESCED | _coalesced_more(side)
    found = calls(function, {f"{name} by 32": (*shape, 32) for name, shape in shapes.items()})
    found |= calls(function, {f"{name} by 8": (*shape, 8) for name, shape in shapes.items()})
    return found | {
        "by 0": lambda: function([4, 8], [8, 8], 0),
        "by 1": lambda: function([4, 8], [8, 8], 1),
        "by -4": lambda: function([4, 8], [8, 8], -4),
        "by 2.5": lambda: function([4, 8], [8, 8], 2.5),
        "by numpy": lambda: function([4, 8], [8, 8], np.int64(32)),
        "names": lambda: function(subtensor=[2, 2], tensor=[2, 2], transaction_size=4),
    }


# ---------------------------------------------------------------------------------------------------------------------
# roller/hint.py


@probe
def tensor_core_extra_config(side: Side):
    make = side.hint.TensorCoreExtraConfig
    return {
        "fields": lambda: make((1, 2), (3, 4), (5, 6), (7, 8), (0, 1, 2, 3, 4, 5)),
        "names": lambda: make(AS_shape=[1], BS_shape=None, AF_shape=(), BF_shape="b", tc_axis=(1,)),
        "too few": lambda: make((1, 2)),
    }


@probe
def stride(side: Side):
    np = importlib.import_module("numpy")
    make = side.hint.Stride
    shapes = ([], [4], [4, 8], [2, 4, 8], (2, 4, 8), [0, 4], [4.0, 8.0], [2**40, 2**40], [np.int64(4), np.int64(8)])
    found = {
        "default": make,
        "fields": lambda: make(stride=40, ax=1),
        "properties": lambda: (make(40, 1).ax, make(40, 1).stride, make(40, 1).is_valid(), make().is_valid()),
        "repr": lambda: (repr(make()), str(make(40, 1))),
        "floats": lambda: make(40.7, 1.2),
        "numpy": lambda: make(np.int64(40), np.int32(1)),
        "text": lambda: make("40", "1"),
        "none": lambda: make(None),
        "set ax": lambda: setattr(make(), "ax", 3),
        "equal": lambda: make(1, 2) == make(1, 2),
    }
    for ax, size in ((-1, 1), (0, 1), (0, 10), (0, 1000), (1, 10), (1, 16), (2, 10), (5, 10)):
        for shape in shapes:
            label = f"{size} on {ax}, {shape!r}"
            found[f"strides {label}"] = lambda ax=ax, size=size, shape=shape: make(size, ax).compute_strides_from_shape(
                shape
            )
            found[f"elements {label}"] = lambda ax=ax, size=size, shape=shape: make(
                size, ax
            ).compute_elements_from_shape(shape=shape)
    return found


@probe
def tile_dict(side: Side):
    td = side.hint.TileDict([16, 32])
    td.tile_map["node"] = [1, 2]
    td.rstep_map["node"] = {"k": 4}
    return {
        "fields": lambda: side.hint.TileDict(output_tile=[16, 32]),
        "get_tile": lambda: td.get_tile("node"),
        "get_rstep": lambda: td.get_rstep("node"),
        "get_tile missing": lambda: td.get_tile(func="other"),
        "get_rstep missing": lambda: td.get_rstep(node="other"),
        "hash": lambda: hash(td) == hash((16, 32)),
        "equal": lambda: td == side.hint.TileDict([16, 32]),
        "in a set": lambda: len({td, td, side.hint.TileDict([16, 32])}),
        "hash of None": lambda: hash(side.hint.TileDict(None)),
        "tuple": lambda: side.hint.TileDict((1, 2)).output_tile,
    }


@probe
def intrin_info(side: Side):
    make = side.hint.IntrinInfo
    found = {
        "fields": lambda: make("float16", "float32", True),
        "names": lambda: make(in_dtype="int8", out_dtype="int32", trans_b=False, input_transform_kind=1),
        "repr": lambda: repr(make("float16", "float32", True, 1, 2)),
        "str": lambda: str(make(None, None, None)),
        "trans_a": lambda: make("a", "b", False).trans_a,
        "is_input_8bit": lambda: [
            make(d, d, True).is_input_8bit() for d in ("int8", "float16", "float8_e4m3", "uint8")
        ],
        "is_input_8bit unknown": lambda: make("nothing", "", True).is_input_8bit(),
        "is_input_8bit None": lambda: make(None, "", True).is_input_8bit(),
    }
    for kind in (-1, 0, 1, 2, 3, 1.5, True):
        found[f"kinds {kind}"] = lambda kind=kind: [
            getattr(make("int8", "int32", True, kind, kind), name)
            for name in ("smooth_a", "smooth_b", "inter_transform_a", "inter_transform_b")
        ]
    found["kind None"] = lambda: make("int8", "int32", True, None).smooth_a
    return found


def _hint(side: Side, **attributes):
    hint = side.hint.Hint()
    for name, value in attributes.items():
        setattr(hint, name, value)
    return hint


@probe
def hint(side: Side):
    np = importlib.import_module("numpy")
    Hint, Stride = side.hint.Hint, side.hint.Stride
    settings = {
        "fresh": {},
        "cores": {"block": [16, 32], "thread": [4, 8], "rstep": [32]},
        "tensor": {"block": [128, 64], "warp": [64, 32], "rstep": [32], "use_tc": True, "pipeline_stage": 2},
        "use_tc 1": {"block": [128, 64], "warp": [64, 32], "use_tc": 1},
        "use_tc False": {"block": [1], "use_tc": False},
        "reduce threads": {"reduce_thread": [4, 1]},
        "reduce threads of 1": {"reduce_thread": [1, 1]},
        "reduce threads of 0": {"reduce_thread": [0]},
        "reduce threads None": {"reduce_thread": None},
        "strides": {"output_strides": {0: Stride(), 1: Stride(3, 4)}},
        "strides invalid": {"output_strides": {0: Stride()}},
        "strides None": {"output_strides": None},
        "step": {"block": [4, 4], "_step": [1, 2]},
        "step of 1": {"block": [4, 4], "_step": [1, 1]},
        "step tuple": {"_step": (2, 2)},
        "raxis order": {"rstep": [1, 2], "_raxis_order": [1, 0]},
        "raxis order tuple": {"rstep": [1, 2], "_raxis_order": ()},
        "vectorize": {"vectorize": {"A": 8}},
        "vectorize None": {"vectorize": None},
        "pipeline None": {"pipeline_stage": None},
        "depth": {"block_reduction_depth": 2},
        "depth 0": {"block_reduction_depth": 0},
        "numpy": {"block": [np.int64(4)], "reduce_thread": [np.int64(2)], "pipeline_stage": np.int64(1)},
        "split": {"split_k_factor": 4},
    }
    found = {"fields": Hint, "from_dict": lambda: Hint.from_dict({"block": [1, 2], "anything": 3})}
    for name, attributes in settings.items():
        found[f"to_dict {name}"] = lambda attributes=attributes: _hint(side, **attributes).to_dict()
        found[f"repr {name}"] = lambda attributes=attributes: repr(_hint(side, **attributes))
        found[f"str {name}"] = lambda attributes=attributes: str(_hint(side, **attributes))
        found[f"orders {name}"] = lambda attributes=attributes: (
            _hint(side, **attributes).raxis_order,
            _hint(side, **attributes).step,
        )
        found[f"round trip {name}"] = lambda attributes=attributes: Hint.from_dict(_hint(side, **attributes).to_dict())
        found[f"legalized {name}"] = lambda attributes=attributes: vars(
            _hint(side, **attributes).tensorcore_legalization()
        )["block"]
    shared = {"dyn": "shared.dyn", "static": "shared", "None": None}
    for label, scope in shared.items():
        for use_tc in (None, True, False, 1):
            for out_dtype in ("float32", "int32", "float16", None):

                def complete(scope=scope, use_tc=use_tc, out_dtype=out_dtype):
                    hint = _hint(side, shared_scope=scope, use_tc=use_tc)
                    hint.intrin_info.out_dtype = out_dtype
                    return hint.complete_config(None) is hint, hint.pass_context

                found[f"complete_config {label} {use_tc} {out_dtype}"] = complete
    return found | {
        "legalized 3": lambda: _hint(side, block=[1, 2, 3], warp=(4, 5, 6)).tensorcore_legalization(),
        "legalized returns itself": lambda: (lambda h: h.tensorcore_legalization() is h)(Hint()),
        "legalized None": lambda: _hint(side, block=None).tensorcore_legalization(),
        "from empty": lambda: Hint.from_dict({}),
        "from None": lambda: Hint.from_dict(None),
        "from read only": lambda: Hint.from_dict({"step": [1]}),
        "from list": lambda: Hint.from_dict([("block", [1])]),
        "no shared state": lambda: (Hint().block.append(1), Hint().vectorize.update(a=1), Hint()),
        "subclass": lambda: type(type("Mine", (Hint,), {}).from_dict({})).__name__,
        "node named": lambda: Hint().complete_config(node=3).pass_context,
        "thread step": lambda: _hint(side, block=[4, 4], use_tc=None).step,
        "equal": lambda: Hint() == Hint(),
    }


# ---------------------------------------------------------------------------------------------------------------------
# roller/node.py


def _linked(side: Side, *pairs):
    """Plain nodes a, b, ... connected in pairs, "ab" for an edge from a to b."""
    node = side.node
    nodes = {}
    for pair in pairs:
        for name in pair:
            nodes.setdefault(name, node.Node(name=name))
    for source, target in pairs:
        edge = node.Edge(nodes[source], nodes[target], 0, len(nodes[target].inputs))
        nodes[source]._out_edges.append(edge)
        nodes[target]._in_edges.append(edge)
    return nodes


@probe
def edge(side: Side):
    make, Node = side.node.Edge, side.node.Node
    a, b = Node(name="a"), Node(name="b")
    return {
        "fields": lambda: vars(make(a, b, 0, 1)),
        "names": lambda: make(src_node=a, dst_node=b, src_id=0, dst_id=1),
        "repr": lambda: repr(make(a, b, 0, 1)),
        "repr of a placeholder": lambda: repr(make(side.node.PlaceHolderNode("A"), None, "x", 1)),
        "equal": lambda: make(a, b, 0, 1) == make(a, b, 0, 1),
        "unequal": lambda: make(a, b, 0, 1) == make(a, b, 1, 1),
        "hash": lambda: hash(make(a, b, 0, 1)),
        "too few": lambda: make(a, b, 0),
    }


@probe
def plain_node(side: Side):
    Node, DataType = side.node.Node, _data_type(side)
    imm = side.tirx.IntImm

    def with_dtypes(*pairs):
        node = Node()
        for dtype, id in pairs:
            node.set_dtype(DataType(dtype), id)
        return node._dtypes

    def shaped(shape, *args, **kwargs):
        node = Node()
        node.set_shape(shape, *args, **kwargs)
        return node._shapes, node.get_shape(-1)

    def tagged():
        node = Node({"a": 1}, "x")
        node.set_tag("b")
        node.add_tag("c", v=[2])
        node.add_tag(k="d")
        node.update_tags({"a": None})
        return node._tag, node.get_tag("a"), node.get_tag("b"), node.get_tag("nothing")

    nodes = _linked(side, "ab", "ac", "bc")
    fresh = Node()
    return {
        "fresh": lambda: vars(fresh),
        "names": lambda: vars(Node(tags={"a": 1}, name="n")),
        "repr": lambda: (repr(fresh), str(Node(name="x"))),
        "tags": tagged,
        "kinds": lambda: (fresh.is_placeholder(), fresh.is_output()),
        "text": fresh.get_ir,
        "edges": lambda: (nodes["a"].outputs, nodes["a"].inputs, nodes["c"].inputs),
        "edges are the lists": lambda: nodes["a"].outputs is nodes["a"]._out_edges,
        "num_outputs": lambda: [nodes[name].num_outputs() for name in "abc"],
        "num_outputs by id": lambda: _node_with_out_ids(side, [3, 0]).num_outputs(),
        "num_outputs odd": lambda: _node_with_out_ids(side, [-4]).num_outputs(),
        "num_outputs below": lambda: _node_with_out_ids(side, [-1]).num_outputs(),
        "set_inputs": lambda: nodes["c"].set_inputs(1, "edge"),
        "set_inputs beyond": lambda: nodes["c"].set_inputs(2, "edge"),
        "set_inputs below": lambda: nodes["c"].set_inputs(-9, "edge"),
        "set_outputs": lambda: (nodes["b"].set_outputs(i=0, edge="edge"), nodes["b"].outputs),
        "set_outputs beyond": lambda: nodes["b"].set_outputs(1, "edge"),
        "set_outputs -1": lambda: (nodes["b"].set_outputs(-1, "last"), nodes["b"].outputs),
        "dtypes": lambda: with_dtypes(("float16", 0), ("int8", 2)),
        "dtype bool": lambda: with_dtypes(("bool", 0)),
        "dtype bool and int8": lambda: with_dtypes(("bool", 0), ("int8", 0)),
        "dtype twice": lambda: with_dtypes(("float16", 0), ("float16", 0)),
        "dtype other": lambda: with_dtypes(("float16", 0), ("float32", 0)),
        "dtype -1": lambda: with_dtypes(("float16", 0), ("float16", -1)),
        "dtype of text": lambda: Node().set_dtype("float16"),
        "dtype named": lambda: Node().set_dtype(dtype=DataType("float16"), id=0),
        "no dtype": fresh.get_dtype,
        "shape": lambda: shaped([1, 2]),
        "shape tuple": lambda: shaped((1, 2)),
        "shape of expressions": lambda: shaped([imm("int32", 4), imm("int64", 2**40)]),
        "shape of floats": lambda: shaped([4.7, -2.5]),
        "shape of texts": lambda: shaped(["4", 3]),
        "shape of variable": lambda: shaped([side.te.var("n")]),
        "shape of sum": lambda: shaped([side.te.var("n") + 1]),
        "shape id": lambda: shaped([1], 2),
        "shape overwrite": lambda: shaped(shape=[1], id=0, overwrite=True),
        "shape empty": lambda: shaped([]),
        "shape None": lambda: shaped(None),
        "no shape": fresh.get_shape,
        "get_dtype id": lambda: (lambda n: (n.set_dtype(DataType("int8"), 1), n.get_dtype(id=1), n.get_dtype()))(
            Node()
        ),
        "equal": lambda: (Node() == Node(), fresh == fresh, hash(fresh) == hash(fresh)),
    }


def _data_type(side: Side):
    if side.is_real:
        return importlib.import_module("tvm").DataType
    return side.tirx.DataType


def _node_with_out_ids(side: Side, ids):
    node = side.node.Node()
    node._out_edges.extend(side.node.Edge(node, None, id, 0) for id in ids)
    return node


@probe
def other_nodes(side: Side):
    node = side.node
    holder = node.PlaceHolderNode("A")
    prim = node.PrimFuncNode(side.matmul())
    output = node.OutputNode(prim)
    return {
        "placeholder": lambda: (
            holder.name,
            repr(holder),
            holder.is_placeholder(),
            holder.is_output(),
            holder.get_ir(),
        ),
        "placeholder unnamed": lambda: node.PlaceHolderNode().name,
        "placeholder named": lambda: vars(node.PlaceHolderNode(name="x")),
        "placeholder None": lambda: node.PlaceHolderNode(None).name,
        "output": lambda: (output.name, repr(output), output.is_placeholder(), output.is_output(), output.get_ir()),
        "output's shape": lambda: (output.get_shape(), output.get_dtype(), output._shapes, output._dtypes),
        "output's edges": lambda: (output.inputs, output.outputs, prim.outputs),
        "output 1": lambda: node.OutputNode(prim, id=1),
        "output -1": lambda: vars(node.OutputNode(prim, -1)),
        "output of a placeholder": lambda: node.OutputNode(holder),
        "output of None": lambda: node.OutputNode(node=None),
        "placeholders": lambda: [
            (e.src_node.name, e.src_node.get_shape(), e.src_node.get_dtype(), e.src_id, e.dst_id) for e in prim.inputs
        ],
        "subclasses": lambda: [issubclass(c, node.Node) for c in (node.PrimFuncNode, node.OutputNode)],
    }


_GRAPHS = {
    "one": ["ab"],
    "chain": ["ab", "bc", "cd"],
    "diamond": ["ab", "ac", "bd", "cd"],
    "diamond with a long side": ["ab", "ac", "ce", "bd", "ed"],
    "twice": ["ab", "ab"],
    "two roots": ["ac", "bc", "bd"],
    "cycle": ["ab", "bc", "cb"],
    "long sides": ["ag", "bc", "cg", "de", "ef", "fg"],
}


@probe
def orders(side: Side):
    node = side.node
    found = {}
    for label, pairs in _GRAPHS.items():
        last = sorted(set("".join(pairs)))[-1]

        def names(function, starts, pairs=pairs):
            nodes = _linked(side, *pairs)
            given = [nodes[name] for name in starts]
            ordered = function(given)
            return [n.name for n in ordered], [n.name for n in given], type(ordered).__name__

        sources = sorted(set("".join(pairs)) - {pair[1] for pair in pairs})
        found[f"topo_order {label}"] = lambda n=names, s=sources: n(node.topo_order, s)
        found[f"topo_order all {label}"] = lambda n=names, p=pairs: n(node.topo_order, sorted(set("".join(p))))
        if label != "cycle":
            found[f"priority {label}"] = lambda n=names, s=last: n(node.find_topo_sort_priority, [s])
            found[f"sort {label}"] = lambda n=names, s=last: n(node.find_topo_sort, [s])
            found[f"sort both {label}"] = lambda n=names, p=pairs: n(node.find_topo_sort, sorted(set("".join(p))))
            found[f"priority both {label}"] = lambda n=names, p=pairs: n(
                node.find_topo_sort_priority, sorted(set("".join(p)))
            )
    return found | {
        "topo_order of a target": lambda: node.topo_order([_linked(side, "ab")["b"]]),
        "topo_order empty": lambda: node.topo_order([]),
        "priority empty": lambda: node.find_topo_sort_priority([]),
        "sort empty": lambda: node.find_topo_sort([]),
        "sort named": lambda: node.find_topo_sort(output_node_list=()),
        "topo_order tuple": lambda: node.topo_order(tuple(_linked(side, "ab").values())[:1]),
        "topo_order named": lambda: node.topo_order(list_of_nodes=[]),
    }


def _tensorized(side: Side, func, device=None):
    device = device or side.cuda_device()
    with side.current(device):
        return side.matmul_analysis.get_tensorized_func_and_tags(func, device.target)


def _conv(side: Side, **changes):
    with side.current(side.cuda_device()):
        sizes = dict(N=2, C=32, H=14, W=14, F=64, K=3, S=1, D=1, P=1)
        return side.template.ConvTemplate(**(sizes | changes)).equivalent_function()


def _dynamic(side: Side, tags=None, attrs=None):
    te = side.te
    m = te.var("m")
    A = te.placeholder((m, 64), name="A", dtype="float16")
    B = te.placeholder((32, 64), name="B", dtype="float16")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((m, 32), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    func = te.create_prim_func([A, B, C, m])
    for name, value in (attrs or {}).items():
        func = func.with_attr(name, value)
    return side.node.PrimFuncNode(func, tags)


def _two_outputs(side: Side):
    te = side.te
    A = te.placeholder((32, 64), name="A")
    B = te.compute((32, 64), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((32, 64), lambda i, j: A[i, j] * 2.0, name="C")
    return te.create_prim_func([A, B, C])


def _batched(side: Side):
    te = side.te
    A = te.placeholder((4, 64, 32), name="A", dtype="float16")
    B = te.placeholder((4, 32, 48), name="B", dtype="float16")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((4, 64, 48), lambda b, i, j: te.sum(A[b, i, k] * B[b, k, j], axis=k), name="C")
    return te.create_prim_func([A, B, C])


def _softmax(side: Side):
    te = side.te
    A = te.placeholder((64, 128), name="A")
    k, r = te.reduce_axis((0, 128), name="k"), te.reduce_axis((0, 128), name="r")
    top = te.compute((64,), lambda i: te.max(A[i, k], axis=k), name="top")
    E = te.compute((64, 128), lambda i, j: te.exp(A[i, j] - top[i]), name="E")
    total = te.compute((64,), lambda i: te.sum(E[i, r], axis=r), name="total")
    D = te.compute((64, 128), lambda i, j: E[i, j] / total[i], name="D")
    return te.create_prim_func([A, D])


def _nodes(side: Side) -> dict[str, Callable]:
    make = side.node.PrimFuncNode

    def tensorized(func, **tags):
        func, found = _tensorized(side, func)
        return make(func, dict(found) | tags)

    return {
        "matmul": lambda: make(side.matmul()),
        "matmul named": lambda: make(prim_func=side.matmul(8, 16, 32, "int8", "int32"), tags={"x": 1}, name="mm"),
        "matmul tensorized": lambda: tensorized(side.matmul()),
        "matmul with a row": lambda: make(side.matmul(1, 256, 64)),
        "matmul with a column": lambda: make(side.matmul(64, 1, 64)),
        "conv": lambda: make(_conv(side)),
        "conv tensorized": lambda: tensorized(_conv(side)),
        "conv 1x1 tensorized": lambda: tensorized(_conv(side, K=1)),
        "batched tensorized": lambda: tensorized(_batched(side)),
        "elementwise": lambda: make(side.elementwise()),
        "elementwise unit": lambda: make(side.elementwise((1, 96))),
        "elementwise bool": lambda: make(side.elementwise((8,), "int8")),
        "row sum": lambda: make(side.row_sum()),
        "chain": lambda: make(side.chain()),
        "softmax": lambda: make(_softmax(side)),
        "two outputs": lambda: make(_two_outputs(side)),
        "dynamic": lambda: _dynamic(side, {"opt_shapes": {"m": side.tirx.IntImm("int32", 128)}}),
        "dynamic by attribute": lambda: _dynamic(side, None, {"opt_shapes": {"m": 128}}),
        "dynamic by int": lambda: _dynamic(side, {"opt_shapes": {"m": 128}}),
        "dynamic other name": lambda: _dynamic(side, {"opt_shapes": {"n": side.tirx.IntImm("int32", 128)}}),
        "dynamic without": lambda: _dynamic(side),
        "dynamic speclized": lambda: _dynamic(side, {"is_speclized": True}),
        "attributes": lambda: make(side.matmul(attrs={"note": "x", "number": 3})),
        "None": lambda: make(None),
    }


def _node_answers(node) -> dict[str, Callable]:
    """What a PrimFuncNode says of itself, without arguments."""
    return {
        "name": lambda: (node.name, repr(node), node.is_placeholder(), node.is_output()),
        "tags": lambda: [(k, node.get_tag(k)) for k in sorted(node._tag) if k not in ("intrin_info", "opt_shapes")],
        "intrin_info": lambda: node.get_tag("intrin_info"),
        "opt_shapes": lambda: node.get_tag("opt_shapes"),
        "buffers": lambda: (node.args, node.input_buffers, node.output_buffers, node.buffers),
        "blocks": lambda: [node.block_analyzer.get_block_name(b) for b in node.blocks],
        "stages": lambda: [node.block_analyzer.get_block_name(b) for b in node.schedule_stages],
        "outputs": lambda: [node.block_analyzer.get_block_name(b) for b in node.output_blocks],
        "types": lambda: (node.blocks, node.output_blocks, node.schedule_stages, node.reduction_block),
        "reduction": lambda: node.reduction_block and node.block_analyzer.get_block_name(node.reduction_block),
        "raxis": lambda: [(a.kind, a.var.name, str(a.var.dtype), a.dom) for a in node.raxis],
        "shapes": lambda: (node._shapes, node.get_shape(), node._dtypes, node.get_dtype()),
        "inputs": lambda: [(e.src_node.name, e.src_node.get_shape(), e.src_node.get_dtype()) for e in node.inputs],
        "space": node.get_space_dim,
        "space twice": lambda: node.get_space_dim() is node.get_space_dim(),
        "reduce dtypes": node.get_reduce_inputs_dtype,
        "buffer dtype": lambda: [node.get_buffer_dtype(buffer=b) for b in node.buffers],
        "opt shape": lambda: node.get_opt_shape("m"),
        "opt shape missing": lambda: node.get_opt_shape(name="zz"),
        "wrapper": lambda: node.extent_wrapper(3),
        "wrapper of None": lambda: node.extent_wrapper(value=None),
        "wrapper of float": lambda: node.extent_wrapper(2.5),
        "tensor core axis": node.infer_tensorcore_axis,
        "tensor core axis twice": lambda: (node.infer_tensorcore_axis(), node.get_tag("tensorcore_config")),
        "invalid regions": lambda: node.get_tag("num_nvalid_regions"),
        "input buffers": node.get_input_buffers,
        "text": node.get_ir,
        "num_outputs": node.num_outputs,
        "func": lambda: type(node.prim_func).__name__,
        "sch": lambda: type(node.sch).__name__,
        "ana": lambda: type(node.ana).__name__,
        "infos": lambda: [str(info) for info in node.block_analyzer.block_infos],
    }


@probe
def prim_func_node(side: Side):
    found = {}
    for label, make in _nodes(side).items():
        try:
            node = make()
        except Exception as error:
            found[label] = {"raises": type(error).__name__}
            continue
        for name, function in _node_answers(node).items():
            found[f"{label}: {name}"] = answer(function)
    return {name: {"json": value} for name, value in found.items()}


def _tiles(node) -> list[list[int]]:
    space = [int(extent) for extent in node.get_space_dim()]
    ones = [1] * len(space)
    tiles = [space, ones, [max(1, e // 2) for e in space], [e + 3 for e in space], [min(e, 16) for e in space], []]
    tiles.append(space[:-1])
    tiles.append([*space, 2])
    tiles.append([0] * len(space))
    tiles.append([-1] * len(space))
    return tiles


@probe
def propagation(side: Side):
    np = importlib.import_module("numpy")
    Stride = side.hint.Stride
    found = {}
    for label, make in _nodes(side).items():
        try:
            node = make()
            tiles = _tiles(node)
        except Exception:
            continue
        names = [axis.var.name for axis in node.raxis]
        steps: list[Any] = [None, {}, dict.fromkeys(names, 4), dict.fromkeys(names, 10**6), {"nothing": 3}]
        for number, tile in enumerate(tiles):
            for rstep in steps if number < 2 else steps[2:3] if number < 5 else steps[:1]:
                at = f"{label}: {tile} {rstep}"
                calls = {
                    "propagate": lambda: node.propagate(tile, rstep),
                    "inputs": lambda: node.propagate_inputs(tile, rstep=rstep),
                    "on reduction": lambda: node.propagate_inputs_on_reduction(tile, rstep),
                    "outputs": lambda: node.propagate_outputs(tile, rstep),
                    "reduction inputs": lambda: node.propagate_reduction_inputs(shape=tile, rstep=rstep),
                    "footprint": lambda: node.footprint(tile, rstep),
                }
                for name, function in calls.items():
                    found[f"{at} {name}"] = answer(function)
        tile = tiles[0]
        odd = {
            "tuple": lambda: node.propagate_inputs(tuple(tile)),
            "numpy": lambda: node.propagate_inputs([np.int64(e + 2) for e in tile]),
            "floats": lambda: node.propagate_inputs([float(e + 1) for e in tile]),
            "None": lambda: node.propagate_inputs(None),
            "numpy step": lambda: node.propagate_inputs(tile, dict.fromkeys(names, np.int64(4))),
            "float step": lambda: node.propagate_inputs(tile, dict.fromkeys(names, 4.5)),
            "step 0": lambda: node.propagate_inputs(tile, dict.fromkeys(names, 0)),
            "step -1": lambda: node.propagate_inputs(tile, dict.fromkeys(names, -1)),
            "targets": lambda: node.propagate(tile, None, [node.input_buffers[0].name]),
            "targets none": lambda: node.propagate(tile, targets=[]),
            "targets unknown": lambda: node.propagate(tile=tile, rstep={}, targets=["zz"]),
            "stride map": lambda: node.footprint(tile, {}, {b.name: Stride(4096, 0) for b in node.input_buffers}),
            "stride map too small": lambda: node.footprint(
                tile, {}, {b.name: Stride(1, 0) for b in node.input_buffers}
            ),
            "stride map without": lambda: node.footprint(shape=tile, rstep={}, stride_map={"zz": Stride()}),
            "footprint of None": lambda: node.footprint(tile, None),
        }
        for name, function in odd.items():
            found[f"{label}: {name}"] = answer(function)
    return {name: {"json": value} for name, value in found.items()}


@probe
def block_analyzer(side: Side):
    found = {}
    programs = {
        "chain": side.chain,
        "matmul": side.matmul,
        "softmax": lambda: _softmax(side),
        "conv": lambda: _conv(side),
    }
    for label, make in programs.items():
        analyzer = side.node.BlockAnalyzer(side.Schedule(make()))
        root = side.analysis.get_root_block(analyzer.sch)
        for number, block in enumerate(analyzer.sch.get_child_blocks(root)):
            questions = {
                "name": lambda: analyzer.get_block_name(block),
                "info": lambda: str(analyzer.get_block_info(block=block)),
                "space": lambda: [str(i) for i in analyzer.get_spatial_axis(block)],
                "reduce": lambda: [str(i) for i in analyzer.get_reduce_axis(block)],
                "inputs": lambda: analyzer.get_input_buffers(block),
                "outputs": lambda: analyzer.get_output_buffers(block),
                "buffers": lambda: analyzer.get_buffers(block),
                "producers": lambda: [analyzer.get_block_name(b) for b in analyzer.get_producer_blocks(block)],
                "consumers": lambda: [analyzer.get_block_name(b) for b in analyzer.get_consumer_blocks(block)],
                "types": lambda: (analyzer.get_producer_blocks(block), analyzer.get_consumer_blocks(block)),
            }
            for name, function in questions.items():
                found[f"{label} {number}: {name}"] = {"json": answer(function)}
        found[f"{label}: root"] = {"json": answer(lambda: analyzer.get_block_info(root))}
        found[f"{label}: root's axes"] = {"json": answer(lambda: analyzer.get_spatial_axis(root))}
        found[f"{label}: root's producers"] = {"json": answer(lambda: analyzer.get_producer_blocks(root))}
        seen = []
        side.node.pre_order_traverse(
            analyzer, analyzer.sch.get_child_blocks(root), lambda block: seen.append(analyzer.get_block_name(block))
        )
        found[f"{label}: traverse"] = {"json": seen}
        found[f"{label}: traverse none"] = {"json": answer(lambda: side.node.pre_order_traverse(analyzer, [], print))}
        found[f"{label}: infos"] = {"json": answer(lambda: analyzer.block_infos)}
        found[f"{label}: sch"] = {"json": type(analyzer.sch).__name__}
    return found


# ---------------------------------------------------------------------------------------------------------------------
# roller/shape_inference/tir.py


@probe
def tensor_dep_node(side: Side):
    make = side.shapes.TensorDepNode
    a, b = make("a"), make(name="b")
    for _ in range(2):
        a.add_next(b)
        b.add_prev(node=a)
    listed = [3, 1, 3, 2, 1]
    return {
        "fields": lambda: (a.name, a._next, a._prev, b._next, b._prev),
        "texts": lambda: (str(a), repr(a), f"{b}"),
        "deduplicate": lambda: (a.deduplicate(listed), listed),
        "deduplicate named": lambda: a.deduplicate(lst=[]),
        "deduplicate unhashable": lambda: a.deduplicate([[1], [1]]),
        "name 3": lambda: str(make(3)),
        "equal": lambda: make("a") == make("a"),
    }


@probe
def dependency_analysis(side: Side):
    found = {}
    programs = {"chain": side.chain, "matmul": side.matmul, "softmax": lambda: _softmax(side)}
    for label, make in programs.items():
        node = side.node.PrimFuncNode(make())
        deps = [side.shapes.Statement(node.block_analyzer, block) for block in node.blocks]
        analysis = side.shapes.DependencyAnalysis(deps)
        found[f"{label}: before"] = {"json": answer(lambda: (sorted(analysis.name2dep), analysis.mapping))}
        found[f"{label}: analyze"] = {"json": answer(analysis.analyze)}
        names = list(analysis.mapping)
        found[f"{label}: names"] = {"json": names}
        found[f"{label}: prev"] = {
            "json": answer(lambda: [(n.name, n._prev, n._next) for n in analysis.mapping.values()])
        }
        found[f"{label}: printed"] = {"json": printed(analysis.print_dependencies)}
        for start in names:
            for target in names:
                path = answer(lambda: analysis.find_path_from_source(start_name=start, target_name=target))
                found[f"{label}: {start} to {target}"] = {"json": path}
        found[f"{label}: to nowhere"] = {"json": answer(lambda: analysis.find_path_from_source(names[0], "zz"))}
        found[f"{label}: from nowhere"] = {"json": answer(lambda: analysis.find_path_from_source("zz", names[0]))}
        found[f"{label}: traverse a buffer"] = {"json": answer(lambda: analysis.traverse_dependencies(node.args[0]))}
        found[f"{label}: traverse a stage"] = {"json": answer(lambda: analysis.traverse_dependencies(deps[0]))}
        found[f"{label}: traverse None"] = {"json": answer(lambda: analysis.traverse_dependencies(None))}
        found[f"{label}: create"] = {
            "json": answer(lambda: (analysis.get_or_create_node("new"), len(analysis.mapping)))
        }
        found[f"{label}: names of two alike"] = {
            "json": answer(lambda: list(analysis._construct_unique_name2dep(deps + deps + deps)))
        }
    found["no stages"] = {"json": answer(lambda: side.shapes.DependencyAnalysis([]).analyze())}
    return found


@probe
def statement(side: Side):
    found = {}
    programs = {
        "chain": side.chain,
        "matmul": side.matmul,
        "conv": lambda: _conv(side),
        "softmax": lambda: _softmax(side),
    }
    for label, make in programs.items():
        node = side.node.PrimFuncNode(make())
        for block in node.blocks:
            stage = side.shapes.Statement(block_analyzer=node.block_analyzer, block=block)
            at = f"{label} {stage.dep_name}"
            found[f"{at}: name"] = {"json": answer(lambda: (stage.dep_name, stage.reverse_bound_inference))}
            found[f"{at}: region"] = {"json": answer(lambda: stage.dependent_region)}
            for name, regions in stage.dependent_region.items():
                for count in (len(regions[0]) if regions else 0, 1):
                    places = [side.te.var(f"p{i}") for i in range(count)]
                    found[f"{at}: reverse {name} {count}"] = {
                        "json": answer(lambda: stage.make_reverse(input_name=name, input_iter=places))
                    }
            found[f"{at}: reverse unknown"] = {"json": answer(lambda: stage.make_reverse("zz", []))}
    return found


@probe
def input_shape_inference(side: Side):
    Bound = side.arith.ConstIntBound
    found = {}
    programs = {
        "chain": side.chain,
        "matmul": side.matmul,
        "conv": lambda: _conv(side),
        "softmax": lambda: _softmax(side),
    }
    for label, make in programs.items():
        node = side.node.PrimFuncNode(make())
        ana = side.shapes.get_analyzer_by_tir(block_analyzer=node.block_analyzer, args=node.blocks)
        target = node.block_analyzer.get_output_buffers(node.schedule_stages[0])[0].name
        rank = len(node.get_space_dim())
        shape = {target: [Bound(0, 3)] * rank}
        steps = {axis.var.name: 2 for axis in node.raxis}
        questions = {
            "fresh": lambda: (type(ana.deps).__name__, ana.target_mapping, ana.buffer_mapping),
            "reduce axes": lambda: [str(axis) for axis in ana.reduce_axes],
            "target": lambda: ana.construct_dependency_target((target,)),
            "target twice": lambda: (
                ana.construct_dependency_target((target,)) is ana.construct_dependency_target((target,))
            ),
            "buffers": lambda: ana.buffer_mapping,
            "no target": lambda: ana.construct_dependency_target(targets=()),
            "unknown target": lambda: ana.construct_dependency_target(("zz",)),
            "target list": lambda: ana.construct_dependency_target([target]),
            "infer": lambda: ana.infer(shape),
            "infer steps": lambda: ana.infer(shape=shape, rstep=steps, targets=None),
            "infer some": lambda: ana.infer(shape, {}, [node.input_buffers[0].name]),
            "infer offset": lambda: ana.infer({target: [Bound(5, 9)] * rank}),
            "infer negative": lambda: ana.infer({target: [Bound(-4, -1)] * rank}),
            "infer reversed": lambda: ana.infer({target: [Bound(4, 1)] * rank}),
            "infer short": lambda: ana.infer({target: [Bound(0, 3)]}),
            "infer unbounded": lambda: ana.infer({target: []}),
            "infer nothing": lambda: ana.infer({}),
            "infer unknown": lambda: ana.infer({"zz": [Bound(0, 1)]}),
            "infer all outputs": lambda: ana.infer({b.name: [Bound(0, 1)] * len(b.shape) for b in node.output_buffers}),
            "exprs": lambda: ana.get_input_exprs({target: [side.te.var(f"p{i}") for i in range(rank)]}),
            "exprs int64": lambda: ana.get_input_exprs({target: [side.te.var(f"p{i}", "int64") for i in range(rank)]}),
            "exprs constants": lambda: ana.get_input_exprs({target: [side.tirx.IntImm("int32", 3)] * rank}),
            "exprs ints": lambda: ana.get_input_exprs({target: [3] * rank}),
            "exprs few": lambda: ana.get_input_exprs(output_exprs={target: []}),
        }
        for name, function in questions.items():
            found[f"{label}: {name}"] = {"json": answer(function)}
    found["no blocks"] = {"json": answer(lambda: side.shapes.InputShapeInference([]).infer({}))}
    module = side.module("roller.shape_inference")
    found["re-exported"] = {"json": answer(lambda: module.get_analyzer_by_tir)}
    return found


@probe
def shape_helpers(side: Side):
    te, tirx, shapes = side.te, side.tirx, side.shapes
    Bound = side.arith.ConstIntBound
    i, j = te.var("i"), te.var("j")
    one, one64 = tirx.IntImm("int32", 1), tirx.IntImm("int64", 1)
    A = te.placeholder((8,), name="A")
    buffer_load = _buffer_load(side)
    indices = {
        "var": i,
        "constant": one,
        "float": tirx.FloatImm("float32", 1.5),
        "text": tirx.StringImm("a"),
        "sum": i + j * 2,
        "floordiv": i // 3 % 2,
        "min": tirx.Min(i, j),
        "cast": tirx.Cast("int64", i),
        "cast of call": tirx.Cast("int64", te.if_then_else(i > 1, i, j)),
        "call": te.if_then_else(i > 1, i, j),
        "sum with call": i + te.if_then_else(i > 1, i, j),
        "select": tirx.Select(i > 1, i, j),
        "comparison": tirx.LT(i, j),
        "and": tirx.And(i > 1, j > 1),
        "not": tirx.Not(i > 1),
        "producer load": A[i].asobject() if hasattr(A[i], "asobject") else A(i),
        "buffer load": buffer_load,
        "sum with buffer load": lambda: i + buffer_load,
        "let": tirx.Let(i, one, i + 1),
        "int": 3,
        "None": None,
    }
    found = {}
    for name, index in indices.items():
        found[f"walk {name}"] = lambda index=index: shapes.walk_indice(index() if callable(index) else index)
    exist = shapes.region_exist_in_list
    return found | {
        "walk named": lambda: shapes.walk_indice(expr=i),
        "same object": lambda: shapes.walk_indice(i) is i,
        "merge": lambda: shapes._merge_two_bounds(Bound(0, 3), Bound(-2, 1)),
        "merge named": lambda: shapes._merge_two_bounds(x=Bound(5, 3), y=Bound(4, 4)),
        "merge infinite": lambda: shapes._merge_two_bounds(Bound(0, Bound.POS_INF), Bound(Bound.NEG_INF, 1)),
        "exists": lambda: exist([i, one], [[j, one], [i, one64]]),
        "exists not": lambda: exist([i, one], [[j, one]]),
        "exists in none": lambda: exist([i], []),
        "exists empty": lambda: exist([], [[i]]),
        "exists empty twice": lambda: exist([], [[]]),
        "exists shorter": lambda: exist([i], [[i, j]]),
        "exists structure": lambda: exist([i + 1], [[i + 1]]),
        "exists structure of others": lambda: exist([i + 1], [[j + 1]]),
        "exists int": lambda: exist([1], [[1]]),
        "exists named": lambda: exist(a=[i], list=[[i]]),
        "extract": lambda: (lambda n: [shapes._extract_dependent_region(n.block_analyzer, b) for b in n.blocks])(
            side.node.PrimFuncNode(_conv(side))
        ),
    }


def _buffer_load(side: Side):
    func = side.elementwise((8,))
    node = side.node.PrimFuncNode(func)
    (block,) = node.blocks
    return node.sch.get(block).body.value.a


# ---------------------------------------------------------------------------------------------------------------------
# roller/policy


def _graph(side: Side):
    """Two matrix products, one after the other."""
    node = side.node
    first = node.PrimFuncNode(side.matmul(64, 64, 32, "float16", "float16"), name="first")
    second = node.PrimFuncNode(side.matmul(64, 48, 64, "float16", "float16"), name="second")
    edge = node.Edge(first, second, 0, 0)
    first._out_edges.append(edge)
    second.set_inputs(0, edge)
    return [node.OutputNode(second)]


def _policies(side: Side) -> dict[str, Callable]:
    Default, TensorCore = side.policy.DefaultPolicy, side.policy.TensorCorePolicy
    device = side.cuda_device()

    def tensorcore(func, device=device, **more):
        func, tags = _tensorized(side, func, device)
        return TensorCore.from_prim_func(func, device, dict(tags or {}) | more)

    return {
        "matmul": lambda: Default.from_prim_func(side.matmul(), device),
        "matmul named": lambda: Default.from_prim_func(func=side.matmul(), arch=device, tags={"x": 1}, name="mm"),
        "elementwise": lambda: Default.from_prim_func(side.elementwise(), device),
        "row sum": lambda: Default.from_prim_func(side.row_sum(), side.cuda_device(90)),
        "chain": lambda: Default.from_prim_func(side.chain(), device),
        "int8": lambda: Default.from_prim_func(side.elementwise((32, 32), "int8"), device),
        "graph": lambda: Default.from_output_nodes(nodes=_graph(side), arch=device),
        "two outputs": lambda: Default.from_prim_func(_two_outputs(side), device),
        "tight": lambda: Default.from_prim_func(side.matmul(), side.cuda_device(smem_cap=1024, max_smem_usage=2048)),
        "cdna": lambda: Default.from_prim_func(side.matmul(), side.cdna_device()),
        "tensorcore": lambda: tensorcore(side.matmul()),
        "tensorcore small": lambda: tensorcore(side.matmul(16, 16, 32)),
        "tensorcore odd": lambda: tensorcore(side.matmul(48, 80, 144)),
        "tensorcore int8": lambda: tensorcore(side.matmul(64, 64, 64, "int8", "int32"), side.cuda_device(89)),
        "tensorcore volta": lambda: tensorcore(side.matmul(), side.cuda_device(70)),
        "tensorcore conv": lambda: tensorcore(_conv(side)),
        "tensorcore rdna": lambda: tensorcore(side.matmul(), side.rdna_device()),
        "tensorcore strix": lambda: tensorcore(side.matmul(), side.rdna_device("gfx1151")),
        "tensorcore depth": lambda: tensorcore(side.matmul(), block_reduction_depth=2),
        "tensorcore stage": lambda: tensorcore(side.matmul(), pipeline_stage=3, use_async_copy=False),
        "tensorcore without tags": lambda: TensorCore.from_prim_func(side.matmul(), device),
        "tensorcore none": lambda: TensorCore.from_prim_func(side.matmul(), device, None, None),
        "tensorcore graph": lambda: TensorCore.from_output_nodes(_graph(side), device, tags={"y": 2}),
        "None": lambda: Default.from_prim_func(None, device),
        "text": lambda: Default.from_prim_func("func", device),
        "no device": lambda: Default.from_prim_func(side.matmul(), None),
        "no nodes": lambda: Default.from_output_nodes([], device),
        "node itself": lambda: Default.from_output_nodes([side.node.PrimFuncNode(side.matmul())], device),
    }


@probe
def policy(side: Side):
    found: dict[str, Any] = {}
    for label, make in _policies(side).items():
        try:
            made = make()
        except Exception as error:
            found[label] = {"raises": type(error).__name__}
            continue
        for name, function in _policy_answers(made).items():
            found[f"{label}: {name}"] = answer(function)
    return {name: {"json": value} for name, value in found.items()}


def _policy_answers(policy) -> dict[str, Callable]:
    def tile(td):
        """All of a tile, with nodes in its maps."""
        return td

    def steps():
        return {node: policy._assign_reduce_step(node) for node in policy.ordered_nodes}

    def td_of(tile):
        return policy.compute_tile_dict(tile, steps())

    def best(number=0):
        return list(policy.dfs_smem_tile(policy.get_base_tile(), steps()))[number]

    def expanded(number=0):
        td = best(number)
        return policy._expand_reduce_axis(td), td.rstep_map, td.smem_cost, td.cached_tensors_map

    def assigned(size, number=0):
        return [policy._assign_block_size(node, best(number), size) for node in policy.ordered_nodes]

    space = [int(extent) for extent in policy.output_nodes[0].get_space_dim()] if policy.output_nodes else []
    first = policy.ordered_nodes[0] if policy.ordered_nodes else None
    half = [max(1, extent // 2) for extent in space]
    found = {
        "nodes": lambda: (policy.ordered_nodes, policy.output_nodes, type(policy).nodes, type(policy.ordered_nodes)),
        "tags": lambda: sorted(policy.tags),
        "attributes": lambda: sorted(name for name in vars(policy) if not name.startswith("_")),
        "arch": lambda: policy.arch,
        "rasterization": lambda: policy.rasterization,
        "func": lambda: type(policy.func).__name__,
        "prim_func_node": lambda: policy.prim_func_node,
        "stage": lambda: (policy.pipeline_stage, policy.use_async_copy, policy.block_reduction_depth, policy.wmma_k),
        "base tile": policy.get_base_tile,
        "emit 1": lambda: policy.emit_config(1),
        "emit 3": lambda: policy.emit_config(topk=3),
        "emit 0": lambda: len(policy.emit_config(0)),
        "emit -1": lambda: len(policy.emit_config(-1)),
        "emit 1.5": lambda: len(policy.emit_config(1.5)),
        "emit None": lambda: policy.emit_config(None),
        "search": lambda: [
            (td.output_tile, td.traffic, td.num_wave) for td in policy.dfs_smem_tile(policy.get_base_tile(), steps())
        ][:20],
        "search type": lambda: type(policy.dfs_smem_tile(policy.get_base_tile(), steps())).__name__,
        "search from whole": lambda: [
            td.output_tile for td in policy.dfs_smem_tile(init_tile=space, rstep_map=steps())
        ],
        "search from 7": lambda: policy.dfs_smem_tile([7] * len(space), steps()),
        "steps": steps,
        "candidates": lambda: [policy.get_node_reduce_step_candidates(node=node) for node in policy.ordered_nodes],
        "output map": lambda: policy._get_output_tile_map(half),
        "output map short": lambda: policy._get_output_tile_map(half[:1]),
        "output map long": lambda: policy._get_output_tile_map([*half, 1]),
        "best": lambda: tile(best()),
        "worst": lambda: tile(best(-1)),
        "expanded": expanded,
        "expanded worst": lambda: expanded(-1),
        "valid": lambda: policy.check_tile_shape_isvalid(best()),
        "valid odd": lambda: policy.check_tile_shape_isvalid(td=td_of([3] * len(space))),
        "valid of zeros": lambda: policy.check_tile_shape_isvalid(td_of([0] * len(space))),
        "recommended": lambda: policy.recommend_block_size(best()),
        "recommended worst": lambda: policy.recommend_block_size(td=best(-1)),
        "recommended half": lambda: policy.recommend_block_size(td_of(half)),
        "assigned": lambda: list(policy.assign_block_size(best())),
        "assigned 3": lambda: [list(x) for x in policy.assign_block_size(td=best(), topk=3)],
        "assigned 0": lambda: len(list(policy.assign_block_size(best(), 0))),
        "assigned type": lambda: type(policy.assign_block_size(best())).__name__,
        "assigned 128": lambda: assigned(128),
        "assigned 96": lambda: assigned(96),
        "assigned 32 worst": lambda: assigned(32, -1),
        "assigned 1": lambda: assigned(1),
        "vectorize": lambda: [policy._plan_vectorize(node, best(), 128) for node in policy.ordered_nodes],
        "vectorize 32": lambda: [
            policy._plan_vectorize(node=n, td=best(), block_size=32) for n in policy.ordered_nodes
        ],
        "raster": lambda: policy.plan_rasterization(best()),
        "raster of None": lambda: policy.plan_rasterization(td=None),
        "layout": lambda: policy._can_implement_layout(first, None),
        "strides": lambda: policy._compute_tc_strides(first, first.get_space_dim(), {}),
        "strides steps": lambda: policy._compute_tc_strides(
            first, first.get_space_dim(), policy._assign_reduce_step(first)
        ),
        "stride map": lambda: policy.compute_node_stride_map(node=first, td=best()),
        "smem of node": lambda: policy.infer_node_smem_usage(td=best(), node=first),
        "smem": lambda: policy._compute_shared_memory_usage(best()),
        "stride maps": lambda: policy._compute_stride_map(best()),
    }
    for label, size in {"whole": space, "half": half, "ones": [1] * len(space), "odd": [3] * len(space)}.items():
        found[f"workload {label}"] = lambda size=size: policy.compute_workload_per_item(output_tile=size)
        found[f"traffic {label}"] = lambda size=size: policy._compute_memory_traffic(size)
        found[f"priced {label}"] = lambda size=size: policy.compute_tile_dict(output_tile=size, rstep_map=steps())
    found["workload of zeros"] = lambda: policy.compute_workload_per_item([0] * len(space))
    found["traffic of zeros"] = lambda: policy._compute_memory_traffic([0] * len(space))
    found["priced without steps"] = lambda: policy.compute_tile_dict(half, {})
    found["traffic of beyond"] = lambda: policy._compute_memory_traffic([extent + 1 for extent in space])
    return found


@probe
def policy_by_itself(side: Side):
    found = {}
    sizes = (0, 1, 2, 3, 31, 32, 33, 64, 96, 128, 1000, 1024, 1025, 4096, -1, 2.0, 97)
    devices = {"cuda": side.cuda_device(), "cdna": side.cdna_device(), "rdna": side.rdna_device()}
    for name in ("DefaultPolicy", "TensorCorePolicy"):
        cls = getattr(side.policy, name)
        device = side.cuda_device()
        for kind, other in devices.items():
            for size in sizes:
                at = f"{name} {kind} {size}"
                found[f"{at}: score"] = lambda cls=cls, d=other, size=size: cls(d).score_block_size(size)
                found[f"{at}: block"] = lambda cls=cls, d=other, size=size: cls(d).get_block_size(n=size)
        found |= {
            f"{name}": lambda cls=cls: {n: v for n, v in vars(cls(device)).items() if not n.startswith("_")},
            f"{name} tags": lambda cls=cls: cls(arch=device, tags={"a": 1}).tags,
            f"{name} None": lambda cls=cls: cls(None, None).arch,
            f"{name} class": lambda cls=cls: [n for n in ("nodes", "wmma_k", "pipeline_stage") if hasattr(cls, n)],
            f"{name} modules": lambda cls=cls: [
                getattr(side.module("roller.policy.default"), "DefaultPolicy") is side.policy.DefaultPolicy,
                getattr(side.module("roller.policy.tensorcore"), "TensorCorePolicy") is side.policy.TensorCorePolicy,
            ],
            f"{name} same device": lambda cls=cls: cls(device).arch is device,
            f"{name} score": lambda cls=cls: cls(device).score_block_size(64),
            f"{name} block": lambda cls=cls: cls(device).get_block_size(384),
            f"{name} raster": lambda cls=cls: cls(device).plan_rasterization(None),
            f"{name} chained": lambda cls=cls: type(cls(device)._init_with_prim_func(side.matmul())).__name__,
            f"{name} nodes": lambda cls=cls: type(cls(device)._init_with_output_nodes(_graph(side))).__name__,
        }
    return found


# ---------------------------------------------------------------------------------------------------------------------
# analysis.py


def _dequantize(side: Side):
    te = side.te
    A = te.placeholder((32, 64), name="A", dtype="float16")
    Q = te.placeholder((48, 64), name="Q", dtype="uint8")
    Z = te.placeholder((48, 64), name="Z", dtype="float16")
    B = te.compute((48, 64), lambda i, j: Q[i, j].astype("float16") * Z[i, j], name="B")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((32, 48), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    return te.create_prim_func([A, Q, Z, C])


def _copies(side: Side):
    """An identity, a transposition, a slice and a product."""
    te = side.te
    A = te.placeholder((32, 64), name="A", dtype="float16")
    Same = te.compute((32, 64), lambda i, j: A[i, j], name="identity")
    T = te.compute((64, 32), lambda i, j: Same[j, i], name="turned")
    D = te.compute((64, 32), lambda i, j: T[i, j] + te.const(1, "float16"), name="added")
    U = te.compute((64, 1, 32), lambda i, u, j: D[i, j], name="unit")
    W = te.compute((64, 16), lambda i, j: U[i, 0, j * 2], name="sliced")
    return te.create_prim_func([A, W])


def _reduce_only(side: Side):
    te = side.te
    A = te.placeholder((32,), name="A")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="C")
    return te.create_prim_func([A, C])


def _programs(side: Side) -> dict[str, Callable]:
    return {
        "matmul": side.matmul,
        "matmul with a row": lambda: side.matmul(1, 64, 32),
        "elementwise": side.elementwise,
        "elementwise rank 3": lambda: side.elementwise((2, 3, 4)),
        "row sum": side.row_sum,
        "chain": side.chain,
        "softmax": lambda: _softmax(side),
        "conv": lambda: _conv(side),
        "conv strided": lambda: _conv(side, S=2, D=2),
        "batched": lambda: _batched(side),
        "dequantize": lambda: _dequantize(side),
        "copies": lambda: _copies(side),
        "reduce only": lambda: _reduce_only(side),
        "two outputs": lambda: _two_outputs(side),
        "dynamic": lambda: _dynamic_func(side),
    }


def _dynamic_func(side: Side):
    te = side.te
    m, n = te.var("m"), te.size_var("n")
    A = te.placeholder((m, 64), name="A", dtype="float16")
    B = te.placeholder((n, 64), name="B", dtype="float16")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    return te.create_prim_func([A, B, C])


@probe
def iter_info(side: Side):
    analysis, tirx, te = side.analysis, side.tirx, side.te
    i = te.var("i")
    make = analysis.IterInfo
    domains = {
        "constant": tirx.IntImm("int32", 8),
        "int": 8,
        "variable": i,
        "sum": i + 1,
        "range": te.reduce_axis((0, 8)).dom,
        "offset range": te.reduce_axis((2, 8)).dom,
        "int64": tirx.IntImm("int64", 8),
        "None": None,
    }
    found = {}
    for name, dom in domains.items():
        found[f"dom {name}"] = lambda dom=dom: make("S", i, dom, None).dom
        found[f"text {name}"] = lambda dom=dom: (
            str(make("R", i, dom, None)),
            repr(make(kind="O", var=i, dom=dom, loop_rv=3)),
        )
    return found | {
        "fields": lambda: vars(make(kind="S", var=i, dom=8, loop_rv="loop")),
        "other kind": lambda: str(make("x", None, 8, None)),
        "too few": lambda: make("S"),
    }


@probe
def block_info(side: Side):
    analysis, te = side.analysis, side.te
    i = te.var("i")

    def made(kinds, *args):
        iters = [analysis.IterInfo(kind, i, 4, None) for kind in kinds]
        return analysis.BlockInfo("name", iters, None, *args)

    found = {}
    for kinds in ("", "S", "SS", "SSR", "R", "O", "SO"):
        found[f"{kinds!r}"] = lambda kinds=kinds: (
            made(kinds).dom(),
            made(kinds).dom_kind(),
            made(kinds).is_injective(),
            made(kinds).is_reduction(),
            str(made(kinds)),
            repr(made(kinds)),
        )
    found |= {
        "fields": lambda: vars(analysis.BlockInfo(name="n", iters=[], block_rv="b", reduction_block=3)),
        "reduction": lambda: (made("S", True).is_reduction(), made("S", False).is_reduction()),
        "gemv": lambda: made("S").is_gemv(),
        "gemm": lambda: made("S").is_gemm(),
    }
    for label, make in _programs(side).items():

        def elementwise(number, make=make):
            sch = side.Schedule(make())
            infos = analysis.normalize_prim_func(sch)
            return infos[number].is_elementwise(sch)

        for number in range(3):
            found[f"elementwise {label} {number}"] = lambda f=elementwise, n=number: f(n)
    return found


@probe
def analysis_functions(side: Side):
    analysis = side.analysis
    found: dict[str, Any] = {}
    for label, make in _programs(side).items():
        try:
            func = make()
            sch = side.Schedule(func)
            root = analysis.get_root_block(sch)
            blocks = list(sch.get_child_blocks(root))
        except Exception as error:
            found[label] = {"raises": type(error).__name__}
            continue

        def name_of(block, sch=sch):
            return block if block is None else sch.get(block).name_hint

        questions = {
            "root": lambda: name_of(root),
            "reductions": lambda: analysis.get_reduction_blocks(sch, blocks),
            "reduction names": lambda: [name_of(b) for b in analysis.get_reduction_blocks(sch=sch, blocks=blocks)],
            "reductions of none": lambda: analysis.get_reduction_blocks(sch, []),
            "reductions of the first": lambda: analysis.get_reduction_blocks(sch, blocks[:1]),
            "dynamic": lambda: analysis.check_func_with_dynamic(func=func),
            "find var": lambda: analysis.find_var_from_func(func, "m"),
            "find other var": lambda: analysis.find_var_from_func(func=func, var="zz"),
            "veclen": lambda: [analysis.get_coalesced_veclen(sch.get(b)) for b in blocks],
            "veclen 64": lambda: [analysis.get_coalesced_veclen(block_stmt=sch.get(b), target_bits=64) for b in blocks],
            "veclen of root": lambda: analysis.get_coalesced_veclen(sch.get(root)),
            "dominant": lambda: [analysis.detect_dominant_read(block=sch.get(b)) for b in blocks],
            "dominant of root": lambda: analysis.detect_dominant_read(sch.get(root)),
            "used": lambda: [
                [
                    sorted(str(v) for v in analysis.collect_block_iter_vars_used_in_access_region(sch.get(b), r.region))
                    for r in sch.get(b).reads
                ]
                for b in blocks
            ],
            "used in writes": lambda: [
                analysis.collect_block_iter_vars_used_in_access_region(
                    block=sch.get(b), region=sch.get(b).writes[0].region
                )
                for b in blocks
            ],
            "vars": lambda: [
                sorted(str(v) for v in analysis.collect_vars_used_in_prim_expr(expr=r.min))
                for b in blocks
                for access in sch.get(b).reads
                for r in access.region
            ],
            "broadcast": lambda: [
                [analysis.is_broadcast_epilogue(sch=sch, block=a, epilogue=b) for b in blocks] for a in blocks
            ],
            "normalized": lambda: [str(info) for info in analysis.normalize_prim_func(sch=side.Schedule(func))],
            "normalized type": lambda: analysis.normalize_prim_func(side.Schedule(func)),
            "normalized fields": lambda: [
                (i.name, bool(i.is_reduction())) for i in analysis.normalize_prim_func(side.Schedule(func))
            ],
        }
        if label == "dynamic":  # the real text has addresses in it
            del questions["normalized"], questions["normalized type"]
        for name, question in questions.items():
            found[f"{label}: {name}"] = answer(question)
    i, j = side.te.var("i"), side.te.var("j")
    found |= {
        "vars of a sum": answer(lambda: analysis.collect_vars_used_in_prim_expr(i + j * i)),
        "vars of a constant": answer(lambda: analysis.collect_vars_used_in_prim_expr(side.tirx.IntImm("int32", 1))),
        "vars of an int": answer(lambda: analysis.collect_vars_used_in_prim_expr(1)),
        "root of another": answer(lambda: analysis.get_root_block(side.Schedule(side.matmul()), "other")),
        "root named": answer(
            lambda: type(analysis.get_root_block(sch=side.Schedule(side.matmul()), func_name="main")).__name__
        ),
        "module's root": answer(
            lambda: type(analysis.get_root_block(side.Schedule(side.IRModule({"main": side.matmul()})))).__name__
        ),
        "find var of None": answer(lambda: analysis.find_var_from_func(None, "m")),
    }
    return {name: {"json": value} for name, value in found.items()}


@probe
def target_limits(side: Side):
    analysis, Target = side.analysis, side.Target
    targets = {
        "cuda": {"kind": "cuda", "arch": "sm_80"},
        "cuda threads": {"kind": "cuda", "arch": "sm_80", "max_num_threads": 512},
        "cuda per block": {"kind": "cuda", "arch": "sm_80", "max_threads_per_block": 256},
        "cuda both": {"kind": "cuda", "arch": "sm_80", "max_threads_per_block": 256, "max_num_threads": 512},
        "cuda memory": {"kind": "cuda", "arch": "sm_80", "max_shared_memory_per_block": 12345},
        "tag": "nvidia/nvidia-a100",
        "hip": {"kind": "hip", "mcpu": "gfx942"},
        "hip threads": {"kind": "hip", "mcpu": "gfx942", "max_num_threads": 128},
        "llvm": {"kind": "llvm"},
        "metal": {"kind": "metal"},
        "c": {"kind": "c"},
    }
    found = {}
    for name, target in targets.items():
        found[f"threads {name}"] = lambda t=target: analysis.get_max_threads_per_block(target=Target(t))
        found[f"memory {name}"] = lambda t=target: analysis.get_max_shared_memory_per_block(target=Target(t))
        found[f"gpu {name}"] = lambda t=target: analysis._assert_gpu_target(target=Target(t))
    return found | {"None": lambda: analysis.get_max_threads_per_block(None)}


# ---------------------------------------------------------------------------------------------------------------------
# common_schedules.py


@probe
def blocks_of_a_schedule(side: Side):
    module, analysis = side.common_schedules, side.analysis
    found: dict[str, Any] = {}
    for label, make in _programs(side).items():
        try:
            sch = side.Schedule(make())
            infos = analysis.normalize_prim_func(sch)
        except Exception as error:
            found[label] = {"raises": type(error).__name__}
            continue
        for name in ("C", "S", "B", "nothing", "root", None):
            found[f"{label}: get {name}"] = answer(
                lambda: (lambda b: b and sch.get(b).name_hint)(module.get_block(sch=sch, blocks=infos, name=name))
            )
        found[f"{label}: outputs"] = answer(lambda: module.get_output_blocks(sch=sch, blocks=infos))
        found[f"{label}: output names"] = answer(
            lambda: [sch.get(b).name_hint for b in module.get_output_blocks(sch, infos)]
        )
        found[f"{label}: outputs of none"] = answer(lambda: module.get_output_blocks(sch, []))
    return {name: {"json": value} for name, value in found.items()}


# ---------------------------------------------------------------------------------------------------------------------
# matmul_analysis.py


@probe
def matmul_pieces(side: Side):
    module, analysis = side.matmul_analysis, side.analysis
    found: dict[str, Any] = {}
    for label, make in _programs(side).items():
        try:
            func = make()
            sch = side.Schedule(func)
            blocks = list(sch.get_child_blocks(analysis.get_root_block(sch)))
        except Exception as error:
            found[label] = {"raises": type(error).__name__}
            continue
        buffers = list(func.buffer_map.values())
        last = blocks[-1]

        def names(found, sch=sch):
            return found if found is None else [sch.get(block).name_hint for block in found]

        questions = {
            "producers": lambda: names(module._collect_producers(sch=sch, block=last)),
            "consumers": lambda: names(module._collect_consumers(sch=sch, block=blocks[0])),
            "producers' type": lambda: module._collect_producers(sch, last),
            "dequantize": lambda: module.get_dequantize_block(sch=sch, blocks=blocks),
            "dequantize of none": lambda: module.get_dequantize_block(sch, []),
            "last producer": lambda: [
                sch.get(module.find_last_producer_from_buffer(sch=sch, main_block=b, buffer=r.buffer)).name_hint
                for b in blocks
                for r in sch.get(b).reads
            ],
            "argument": lambda: [
                module.find_arg_idx_from_buffer_chain(sch=sch, main_block=b, buffer=buffer)
                for b in blocks
                for buffer in buffers
            ],
            "argument of a stage": lambda: module.find_arg_idx_from_buffer_chain(
                sch, last, sch.get(blocks[0]).writes[0].buffer
            ),
        }
        for name, question in questions.items():
            found[f"{label}: {name}"] = answer(question)
        for number, block in enumerate(blocks):
            stmt = sch.get(block)
            for name, question in _block_questions(side, stmt, buffers).items():
                found[f"{label} {number}: {name}"] = answer(question)
    return {name: {"json": value} for name, value in found.items()}


def _block_questions(side: Side, stmt, buffers) -> dict[str, Callable]:
    module = side.matmul_analysis
    questions = {
        "traits": lambda: module.detect_iter_traits(block=stmt),
        "maps": lambda: module.get_index_map(stmt),
        "dtypes": lambda: module.get_in_out_dtypes(block=stmt),
        "identity or transpose": lambda: module.is_identity_or_transpose_block(block_stmt=stmt),
        "identity": lambda: module.is_identity_block(block_stmt=stmt),
        "transpose": lambda: module.is_transpose_block(block_stmt=stmt),
        "similar region": lambda: [module.find_first_similar_region(regions=stmt.reads, buffer=b) for b in buffers],
        "similar buffer": lambda: [module.find_first_similar_buffer(regions=stmt.reads, buffer=b) for b in buffers],
        "similar of none": lambda: (
            module.find_first_similar_region([], buffers[0]),
            module.find_first_similar_buffer([], buffers[0]),
        ),
    }
    for layout in (
        ["n", "t", "n"],
        ["a", "a", "a"],
        ["t", "n", "t"],
        ["n", "n", "n"],
        ["x", "n", "n"],
        [],
        "aaa",
        ["a"],
    ):
        questions[f"maps {layout}"] = lambda layout=layout: module.get_index_map(block=stmt, layout=layout)
    return questions


@probe
def matmul_helpers(side: Side):
    module, te, tirx = side.matmul_analysis, side.te, side.tirx
    i, j = te.var("i"), te.var("j")
    imm = tirx.IntImm
    Kind, Trait = module.IterKind, module.IterTrait
    S, M, N, K, T = Kind.kIter_S, Kind.kIter_I, Kind.kIter_J, Kind.kIter_K, Kind.kIter_T
    order = [S, M, N, K]

    def fused(*traits, order=order, dtype="int32"):
        traits = [Trait(kind, imm(dtype, extent)) for kind, extent in traits]
        return module.make_iter_fusion_index_map(traits=traits, kind_order=order)

    found = {
        "vars": lambda: module.collect_vars_from_expr(prim_expr=i + j * i // 3),
        "vars of a constant": lambda: module.collect_vars_from_expr(imm("int32", 1)),
        "vars of a shared part": lambda: (lambda s: module.collect_vars_from_expr(s * s))(i + j),
        "vars of an int": lambda: module.collect_vars_from_expr(3),
        "is one": lambda: [module._is_one(x) for x in (imm("int32", 1), imm("int64", 1), imm("int32", 2), i, 1)],
        "kinds": lambda: [(kind.name, kind.value, str(kind), repr(kind)) for kind in Kind],
        "kind of 2": lambda: Kind(2),
        "trait": lambda: Trait(kind=M, extent=imm("int32", 8)),
        "trait text": lambda: repr(Trait(M, imm("int32", 8))),
        "trait equal": lambda: Trait(M, 8) == Trait(M, 8),
        "trait equal extents": lambda: bool(Trait(M, imm("int32", 8)) == Trait(M, imm("int32", 8))),
        "fused": lambda: fused((M, 4), (N, 8), (K, 16)),
        "fused twice": lambda: fused((M, 4), (M, 8), (N, 2), (M, 3)),
        "fused trivial": lambda: fused((T, 1), (M, 8)),
        "fused all trivial": lambda: fused((T, 1), (T, 1)),
        "fused int64": lambda: fused((M, 4), (M, 8), dtype="int64"),
        "fused unknown": lambda: fused((K, 4), order=[S, M]),
        "fused none": lambda: fused(),
        "fused no order": lambda: fused((T, 1), order=[]),
        "fused variable": lambda: module.make_iter_fusion_index_map([Trait(M, i), Trait(M, j)], [M]),
    }
    for dtype in ("float16", "bfloat16", "int8", "float8_e4m3", "float8_e5m2", "float32", "int4", None):
        found[f"ladder {dtype}"] = lambda dtype=dtype: module.get_ladder_stage3_map(dtype=dtype)
        found[f"ladder int64 {dtype}"] = lambda dtype=dtype: module.get_ladder_stage3_map(dtype, index_dtype="int64")
        found[f"propagate {dtype}"] = lambda dtype=dtype: module.get_propagate_map(trans=True, dtype=dtype)
    found["ladder"] = module.get_ladder_stage3_map
    return found


@probe
def layout_chain(side: Side):
    module, analysis = side.matmul_analysis, side.analysis
    IndexMap = side.tirx.IndexMap
    maps = {
        "turn": lambda i, j: [j, i],
        "split": lambda i, j: [i // 16, j // 16, i % 16, j % 16],
        "keep": lambda i, j: [i, j],
    }
    programs = {"copies": lambda: _copies(side), "chain": side.chain, "dequantize": lambda: _dequantize(side)}
    found = {}
    for program, make in programs.items():
        for label, function in maps.items():
            for end in range(2):

                def run(make=make, function=function, end=end):
                    sch = side.Schedule(make())
                    blocks = list(sch.get_child_blocks(analysis.get_root_block(sch)))
                    last = blocks[min(3, len(blocks) - 1)]
                    return module.layout_propagate_chain(
                        sch=sch,
                        start_block=last,
                        start_buffer=sch.get(last).reads[0].buffer,
                        end_block=blocks[end],
                        index_map=IndexMap.from_func(function, index_dtype="int32"),
                    )

                found[f"{program} {label} {end}"] = run
    return found


@probe
def normalize_to_matmul(side: Side):
    module, analysis = side.matmul_analysis, side.analysis
    found = {}
    layouts = {"default": None, "a": ["a", "a", "a"], "n": ["n", "n", "n"], "t": ["t", "t", "t"], "x": ["x", "n", "n"]}
    for label, make in _programs(side).items():
        for name, layout in layouts.items():

            def run(make=make, layout=layout):
                sch = side.Schedule(make())
                blocks = list(sch.get_child_blocks(analysis.get_root_block(sch)))
                main = (analysis.get_reduction_blocks(sch, blocks) or blocks)[-1]
                new = module.normalize_to_matmul(sch=sch, main_block=main, layout=layout)
                return None if new is None else (new is sch, new.mod["main"].script().splitlines())

            found[f"{label} {name}"] = run
    return found


@probe
def tensorized(side: Side):
    module = side.matmul_analysis
    devices = {
        "sm_80": side.cuda_device(),
        "sm_70": side.cuda_device(70),
        "sm_75": side.cuda_device(75),
        "sm_89": side.cuda_device(89),
        "sm_90": side.cuda_device(90),
        "sm_60": side.cuda_device(60),
        "sm_100": side.cuda_device(100),
        "gfx1100": side.rdna_device(),
        "gfx1151": side.rdna_device("gfx1151"),
        "gfx942": side.cdna_device(),
    }
    dtypes = [
        ("float16", "float32"),
        ("float16", "float16"),
        ("int8", "int32"),
        ("float32", "float32"),
        ("bfloat16", "float32"),
    ]
    found = {}
    for name, device in devices.items():
        for pair in dtypes:

            def run(device=device, pair=pair):
                with side.current(device):
                    func = side.matmul(64, 64, 64, *pair)
                    new, tags = module.get_tensorized_func_and_tags(func=func, target=device.target)
                    return new is func, tags

            found[f"{name} {pair}"] = run
    device = devices["sm_80"]

    def with_options(func, **options):
        with side.current(device):
            new, tags = module.get_tensorized_func_and_tags(func, device.target, **options)
            return new.script().splitlines(), tags

    found |= {
        "skip": lambda: with_options(side.matmul(), skip_normalize=True),
        "layout": lambda: with_options(side.matmul(), layout=["n", "t", "n"]),
        "gemv": lambda: with_options(side.matmul(1, 64, 64), allow_gemv=True),
        "small": lambda: with_options(side.matmul(8, 64, 64)),
        "small K": lambda: with_options(side.matmul(64, 64, 8)),
        "small K of int8": lambda: with_options(side.matmul(64, 64, 16, "int8", "int32")),
        "attributes": lambda: with_options(side.matmul(attrs={"input_transform_kind": 1, "weight_transform_kind": 2})),
        "dequantize info": lambda: with_options(side.matmul(attrs={"dequantize_info": {}})),
        "skip conv": lambda: with_options(_conv(side), skip_normalize=True),
        "elementwise": lambda: with_options(side.elementwise()),
        "softmax": lambda: with_options(_softmax(side)),
        "None": lambda: with_options(None),
    }
    return found


# ---------------------------------------------------------------------------------------------------------------------
# utils.py


@probe
def entry_points(side: Side):
    utils = side.utils
    device = side.cuda_device()

    def hints(func, arch=device, **options):
        with side.current(arch):
            return utils.get_roller_hints_from_func(func, arch=arch, **options)

    def graph_hints(nodes, arch=device, **options):
        with side.current(arch):
            return utils.get_roller_hints_from_output_nodes(nodes, arch=arch, **options)

    module = side.IRModule({"main": side.matmul()})
    two = side.IRModule({"main": side.matmul(), "other": side.elementwise()})
    return {
        "code": utils.get_rasterization_code,
        "code 3": lambda: utils.get_rasterization_code(pannel_width=3),
        "code of text": lambda: utils.get_rasterization_code("W"),
        "function": lambda: hints(side.matmul(), topk=2),
        "module": lambda: hints(module, topk=1),
        "two functions": lambda: hints(two),
        "default topk": lambda: len(hints(side.matmul())),
        "topk 0": lambda: len(hints(side.elementwise(), topk=0)),
        "elementwise": lambda: hints(side.elementwise(), topk=1),
        "gemv": lambda: hints(side.matmul(1, 64, 64), topk=1, allow_gemv=True),
        "tensorcore only": lambda: hints(side.matmul(), tensorcore_only=True),
        "tensorcore only elementwise": lambda: hints(side.elementwise(), tensorcore_only=True),
        "None": lambda: hints(None),
        "text": lambda: hints("matmul"),
        "list": lambda: hints([side.matmul()]),
        "no device": lambda: utils.get_roller_hints_from_func(side.matmul(), None),
        "sm_100": lambda: hints(side.matmul(), side.cuda_device(100), topk=1),
        "cdna": lambda: hints(side.matmul(), side.cdna_device(), topk=1),
        "rdna": lambda: hints(side.matmul(), side.rdna_device("gfx1151"), topk=1),
        "positional": lambda: len(utils.get_roller_hints_from_func(side.elementwise(), device, 3, False, True)),
        "named": lambda: len(utils.get_roller_hints_from_func(func_or_module=side.elementwise(), arch=device)),
        "graph": lambda: graph_hints(_graph(side), topk=1),
        "graph default": lambda: len(graph_hints(_graph(side))),
        "graph tags": lambda: len(graph_hints(_graph(side), extra_tags=["x"])),
        "graph tuple": lambda: graph_hints(tuple(_graph(side))),
        "graph empty": lambda: graph_hints([]),
        "retrieve": lambda: utils.retrieve_func_from_module(ir_module=module),
        "retrieve two": lambda: utils.retrieve_func_from_module(two),
        "retrieve none": lambda: utils.retrieve_func_from_module(side.IRModule({})),
        "retrieve function": lambda: utils.retrieve_func_from_module(side.matmul()),
    }


# ---------------------------------------------------------------------------------------------------------------------
# template


_TEMPLATES: dict[str, tuple[str, dict]] = {
    "matmul": ("MatmulTemplate", dict(M=128, N=64, K=32)),
    "matmul wide": ("MatmulTemplate", dict(M=64, N=64, K=64, accum_dtype="float32", out_dtype="float16", trans_A=True)),
    "matmul bias": ("MatmulTemplate", dict(M=64, N=64, K=64, with_bias=True)),
    "matmul 0": ("MatmulTemplate", dict(M=0, N=64, K=64)),
    "matmul none": ("MatmulTemplate", {}),
    "matmul float": ("MatmulTemplate", dict(M=64.0, N=64, K=64)),
    "matmul bool": ("MatmulTemplate", dict(M=True, N=64, K=64)),
    "matmul unknown": ("MatmulTemplate", dict(M=4, N=4, K=4, L=4)),
    "matmul dtype": ("MatmulTemplate", dict(M=4, N=4, K=4, in_dtype="nothing")),
    "gemv": ("GEMVTemplate", dict(N=64, K=128)),
    "gemv bias": ("GEMVTemplate", dict(N=64, K=128, trans_B=False, with_bias=True, out_dtype="float32")),
    "gemv none": ("GEMVTemplate", {}),
    "conv": ("ConvTemplate", dict(N=1, C=16, H=8, W=8, F=16, K=3, S=1, D=1, P=1)),
    "conv P 0": ("ConvTemplate", dict(N=1, C=16, H=8, W=8, F=16, K=3, S=1, D=1, P=0)),
    "conv bias": ("ConvTemplate", dict(N=1, C=16, H=8, W=8, F=16, K=3, S=2, D=2, P=1, with_bias=True)),
    "conv none": ("ConvTemplate", {}),
    "elementwise": ("ElementwiseTemplate", dict(shape=[64, 32])),
    "elementwise tuple": ("ElementwiseTemplate", dict(shape=(8, 4, 2), dtype="int8")),
    "elementwise none": ("ElementwiseTemplate", {}),
    "elementwise empty": ("ElementwiseTemplate", dict(shape=[])),
    "reduction": ("GeneralReductionTemplate", dict(structure="SR", shape=[64, 128], dtype="float32")),
    "reduction small": ("GeneralReductionTemplate", dict(structure="srs", shape=[8, 16, 4])),
    "reduction none": ("GeneralReductionTemplate", {}),
    "reduction list": ("GeneralReductionTemplate", dict(structure=["S", "R"], shape=[8, 16])),
    "reduction short": ("GeneralReductionTemplate", dict(structure="SR", shape=[8])),
    "reduction letter": ("GeneralReductionTemplate", dict(structure="SX", shape=[8, 16])),
    "reduction 0": ("GeneralReductionTemplate", dict(structure="SR", shape=[8, 0])),
    "reduction without R": ("GeneralReductionTemplate", dict(structure="SS", shape=[8, 16])),
    "reduction without S": ("GeneralReductionTemplate", dict(structure="RR", shape=[8, 16])),
    "attention": ("FlashAttentionTemplate", dict(num_heads=2, head_dim=64, seq_length=128, seq_kv_length=128)),
    "attention default": ("FlashAttentionTemplate", {}),
    "attention causal": (
        "FlashAttentionTemplate",
        dict(
            batch_size=2,
            num_heads=2,
            head_dim=64,
            seq_length=64,
            seq_kv_length=128,
            is_causal=True,
            accum_dtype="float32",
        ),
    ),
}


@probe
def template(side: Side):
    device = side.cuda_device()
    found: dict[str, Any] = {}
    for label, (name, fields) in _TEMPLATES.items():
        try:
            with side.current(device):
                made = getattr(side.template, name)(**fields)
        except Exception as error:
            found[label] = {"raises": type(error).__name__}
            continue
        questions = {
            "fields": lambda: [(f, getattr(made, f)) for f in sorted(type(made).__dataclass_fields__) if f[0] != "_"],
            "field names": lambda: list(type(made).__dataclass_fields__),
            "params": made.params_as_dict,
            "attributes": lambda: made.class_attributes,
            "repr": lambda: repr(made) if "Flash" not in name else "",
            "str": lambda: str(made) if "Flash" not in name else "",
            "function": made.equivalent_function,
            "output nodes": lambda: made.output_nodes,
            "arch": lambda: (made.arch, made.has_arch(), made._arch is made.arch),
            "kinds": lambda: (made.is_volta_arch(), made.is_ampere_arch(), made.is_cdna_arch(), made.is_rdna_arch()),
            "hints": lambda: made.with_arch(device).recommend_hints(1),
            "hints named": lambda: made.with_arch(arch=device).recommend_hints(topk=2),
            "configs": lambda: made.get_hardware_aware_configs(arch=device, topk=1),
            "configs default": lambda: len(made.get_hardware_aware_configs(device)),
            "configs without": lambda: made.get_hardware_aware_configs(),
            "volta": lambda: made.with_arch(side.cuda_device(70)).is_volta_arch(),
            "ampere": lambda: made.with_arch(side.cuda_device(86)).is_ampere_arch(),
            "cdna": lambda: (made.with_arch(side.cdna_device()).is_cdna_arch(), made.is_rdna_arch()),
            "rdna": lambda: (made.with_arch(side.rdna_device()).is_rdna_arch(), made.is_cdna_arch()),
            "amd is volta": lambda: made.with_arch(side.rdna_device()).is_volta_arch(),
            "no arch": lambda: (made.with_arch(None).has_arch(), made.is_volta_arch(), made.is_cdna_arch(), made.arch),
            "chained": lambda: made.with_arch(device) is made,
            "set function": lambda: (made.set_function(func=3) is made, made.equivalent_function()),
            "set nodes": lambda: (made.set_output_nodes(output_nodes=[4]) is made, made.output_nodes),
        }
        for question, function in questions.items():
            with side.current(device):
                found[f"{label}: {question}"] = answer(function)
    return {name: {"json": value} for name, value in found.items()}


@probe
def template_classes(side: Side):
    module = side.template
    device = side.cuda_device()

    def inside(function):
        with side.current(device):
            return function()

    return {
        "base": lambda: inside(module.BaseTemplate),
        "equal": lambda: inside(lambda: module.ElementwiseTemplate([4]) == module.ElementwiseTemplate([4])),
        "positional": lambda: inside(
            lambda: module.MatmulTemplate(4, 8, 16, True, False, "int8", "int32", "int32").class_attributes
        ),
        "conv positional": lambda: inside(lambda: module.ConvTemplate(1, 2, 4, 4, 2, 3, 1, 1, 1).params_as_dict()),
        "reduction positional": lambda: inside(
            lambda: module.GeneralReductionTemplate("SR", [4, 4], "int8").params_as_dict()
        ),
        "attention positional": lambda: inside(lambda: module.FlashAttentionTemplate(None, 1, 2, 16, 32, 32).num_heads),
        "without initialize": lambda: inside(
            type("Mine", (module.BaseTemplate,), {"get_hardware_aware_configs": lambda self, arch=None, topk=10: []})
        ),
        "own": lambda: inside(
            lambda: type(
                "Mine",
                (module.BaseTemplate,),
                {
                    "get_hardware_aware_configs": lambda self, arch=None, topk=10: [arch is device, topk],
                    "initialize_function": lambda self: None,
                },
            )().recommend_hints(7)
        ),
        "base's repr": lambda: inside(
            lambda: repr(
                type(
                    "Mine",
                    (module.BaseTemplate,),
                    {
                        "get_hardware_aware_configs": lambda self, arch=None, topk=10: [],
                        "initialize_function": lambda self: None,
                    },
                )()
            )
        ),
        "names": lambda: sorted(n for n in dir(module) if n.endswith("Template")),
        "modules": lambda: [
            side.module(f"template.{name}").__name__.rsplit(".", 1)[1]
            for name in ("base", "matmul", "gemv", "conv", "elementwise", "general_reduce", "flashattention")
        ],
    }


# ---------------------------------------------------------------------------------------------------------------------
# arch


@probe
def device_kinds(side: Side):
    arch = side.arch
    devices = {
        "sm_52": side.cuda_device(52),
        "sm_70": side.cuda_device(70),
        "sm_79": side.cuda_device(79),
        "sm_80": side.cuda_device(80),
        "sm_88": side.cuda_device(88),
        "sm_89": side.cuda_device(89),
        "sm_90": side.cuda_device(90),
        "sm_100": side.cuda_device(100),
        "cdna": side.cdna_device(),
        "rdna": side.rdna_device(),
        "None": None,
        "text": "cuda",
    }
    names = ["is_cpu_arch", "is_cuda_arch", "is_volta_arch", "is_ampere_arch", "is_ada_arch", "is_hopper_arch"]
    names += ["has_mma_support", "is_cdna_arch", "is_rdna_arch", "is_metal_arch"]
    dtypes = [
        ("float16", "float32"),
        ("float16", "float16"),
        ("int8", "int32"),
        ("bfloat16", "float32"),
        ("int4", "int32"),
    ]
    dtypes += [("float8_e4m3", "float32"), ("float32", "float32"), ("x", None)]
    found = {}
    for label, device in devices.items():
        for name in names:
            found[f"{name} {label}"] = lambda f=getattr(arch, name), d=device: f(arch=d)
        for pair in dtypes:
            found[f"precision {label} {pair}"] = lambda d=device, p=pair: arch.is_tensorcore_supported_precision(
                *p, arch=d
            )
        found[f"shapes {label}"] = lambda d=device: d.get_avaliable_tensorintrin_shapes()
        found[f"instructions {label}"] = lambda d=device: (
            d.get_avaliable_tensorintrin_shapes(),
            type(d.available_tensor_instructions).__name__,
            [(t.name, t.shape) for t in d.available_tensor_instructions],
        )
        if label != "cdna":  # the one that has no text of its own
            found[f"text {label}"] = lambda d=device: (str(d), repr(d))
    return found | {
        "named": lambda: arch.is_tensorcore_supported_precision(
            in_dtype="int8", accum_dtype="int32", arch=devices["sm_80"]
        ),
        "precision lists": lambda: [
            getattr(side.cuda, f"{name}_tensorcore_supported") for name in ("volta", "ampere", "ada", "hopper")
        ],
        "generation 13": lambda: side.rdna_device(generation=13).get_avaliable_tensorintrin_shapes(),
        "generation 12": lambda: side.rdna_device(generation=12).get_avaliable_tensorintrin_shapes(),
    }


@probe
def sm_versions(side: Side):
    texts = (
        "sm_80",
        "sm_90a",
        "sm_100a",
        "80",
        "sm_",
        "",
        "sm_sm_90",
        "gfx942",
        "SM_80",
        "sm_80 ",
        "sm_080",
        "sm_8x0",
        "90A",
    )
    found = over(side.cuda.check_sm_version, *texts, None, 80)
    return found | {"arch": lambda: side.cuda.check_sm_version(arch="sm_75")}


@probe
def device_base(side: Side):
    Base = side.module("arch.arch_base").TileDevice
    Instruction = side.cuda.TensorInstruction
    rdna = side.rdna
    config = rdna._RDNATuningConfig()
    return {
        "fields": lambda: {name: value for name, value in sorted(vars(Base()).items())},
        "shapes": lambda: Base().get_avaliable_tensorintrin_shapes(),
        "missing": lambda: Base().nothing,
        "instruction": lambda: vars(Instruction("mma", [16, 16])),
        "instruction named": lambda: vars(Instruction(name="x", shape=None)),
        "re-exported": lambda: side.module("roller").TileDevice is Base,
        "config": lambda: (
            config.preferred_warps_per_block,
            config.pipeline_stage,
            config.reduction_step_by_dtype_bits,
        ),
        "config text": lambda: repr(config),
        "config frozen": lambda: setattr(config, "pipeline_stage", 3),
        "config equal": lambda: (rdna._RDNATuningConfig() == config, hash(config) == hash(rdna._RDNATuningConfig())),
        "config steps": lambda: [config.reduction_step_for_dtype_bits(bits) for bits in (8, 16, 32, None)],
        "config named": lambda: rdna._RDNATuningConfig(
            preferred_warps_per_block=2, pipeline_stage=3, reduction_step_by_dtype_bits=((8, 64),)
        ).reduction_step_for_dtype_bits(bits=8),
        "tuning": lambda: [
            repr(rdna._get_rdna_tuning_config(mcpu))
            for mcpu in ("gfx1151", "gfx1151:xnack", " gfx1151 ", "gfx1100", "", None)
        ],
        "instructions": lambda: [
            (t.name, t.shape) for t in rdna._get_tensor_instructions_for_generation(rdna_generation=11)
        ],
        "instructions 10": lambda: rdna._get_tensor_instructions_for_generation(10),
        "l2": lambda: side.cdna._get_l2_cache_size_bytes(
            side.Target({"kind": "hip", "mcpu": "gfx942"}), type("Device", (), {"l2_cache_size_bytes": 77})()
        ),
        "attribute": lambda: side.cuda._get_target_attr(
            side.Target({"kind": "cuda", "arch": "sm_80"}), "max_num_threads"
        ),
        "attribute missing": lambda: side.cuda._get_target_attr(
            target=side.Target({"kind": "cuda", "arch": "sm_80"}), name="zz"
        ),
        "attribute text": lambda: side.cuda._get_target_attr(side.Target({"kind": "cuda", "arch": "sm_80"}), "arch"),
    }


@probe
def public_names(side: Side):
    """What each module must export, in the order of the vendored __all__ or import lines."""
    exports = {
        "arch": [
            *("is_cpu_arch", "is_cuda_arch", "is_volta_arch", "is_ampere_arch", "is_ada_arch", "is_hopper_arch"),
            *("is_tensorcore_supported_precision", "has_mma_support", "is_cdna_arch", "is_rdna_arch", "is_metal_arch"),
            *("CUDA", "CDNA", "RDNA", "METAL", "CPU", "TileDevice", "get_arch", "auto_infer_current_arch"),
        ],
        "arch.cuda": ["CUDA", "TensorInstruction", "check_sm_version", "cuda_driver", "hopper_tensorcore_supported"],
        "arch.driver": [
            *("get_cuda_device_properties", "get_device_name", "get_shared_memory_per_block", "get_device_attribute"),
            *("get_max_dynamic_shared_size_bytes", "get_persisting_l2_cache_max_size", "get_num_sms"),
            *(
                "get_registers_per_block",
                "get_ascend_device_properties",
                "get_ascend_device_name",
                "get_num_cube_cores",
            ),
            *("get_num_vector_cores", "get_ascend_total_memory", "get_ascend_l2_cache_size"),
        ],
        "roller": [
            *("PrimFuncNode", "OutputNode", "Edge", "NoRasterization", "Rasterization2DRow", "Rasterization2DColumn"),
            *("Hint", "DefaultPolicy", "TensorCorePolicy", "TileDevice", "CUDA"),
        ],
        "": [
            *("BlockInfo", "IterInfo", "collect_block_iter_vars_used_in_access_region", "detect_dominant_read"),
            *("collect_vars_used_in_prim_expr", "is_broadcast_epilogue", "normalize_prim_func", "get_block"),
            *("get_output_blocks", "try_inline", "try_inline_contiguous_spatial", "CUDA", "CDNA", "RDNA"),
            *("MatmulTemplate", "GEMVTemplate", "ElementwiseTemplate", "GeneralReductionTemplate"),
            *("FlashAttentionTemplate", "PrimFuncNode", "DefaultPolicy", "Hint", "TensorCorePolicy"),
        ],
        "roller.node": [
            *("pre_order_traverse", "BlockAnalyzer", "Edge", "Node", "PlaceHolderNode", "PrimFuncNode", "OutputNode"),
            *("topo_order", "find_topo_sort_priority", "find_topo_sort", "BlockInfo", "get_reduction_blocks"),
            *("normalize_prim_func", "get_analyzer_by_tir"),
        ],
        "roller.hint": [
            "TensorCoreExtraConfig",
            "Stride",
            "TileDict",
            "IntrinInfo",
            "Hint",
            "NoRasterization",
            "PrimFuncNode",
        ],
        "roller.rasterization": ["Rasterization", "NoRasterization", "Rasterization2DRow", "Rasterization2DColumn"],
        "roller.bestfit": ["Block", "BestFit"],
        "roller.policy": ["DefaultPolicy", "TensorCorePolicy"],
        "roller.policy.default": ["DefaultPolicy", "BestFit", "Hint", "Stride", "TileDict", "find_topo_sort"],
        "roller.policy.tensorcore": ["TensorCorePolicy", "DefaultPolicy", "IntrinInfo", "Rasterization2DColumn"],
        "roller.policy.common": ["get_all_factors", "factorize", "coalesced_factor", "coalesced_tensor_shape"],
        "roller.shape_inference": ["get_analyzer_by_tir"],
        "roller.shape_inference.tir": [
            *("Statement", "TensorDepNode", "DependencyAnalysis", "InputShapeInference", "region_exist_in_list"),
            *("walk_indice", "get_analyzer_by_tir"),
        ],
        "template": [
            *("BaseTemplate", "MatmulTemplate", "GEMVTemplate", "ElementwiseTemplate", "GeneralReductionTemplate"),
            *("FlashAttentionTemplate", "ConvTemplate"),
        ],
        "analysis": [
            *("IterInfo", "BlockInfo", "normalize_prim_func", "find_var_from_func", "check_func_with_dynamic"),
            *(
                "get_max_threads_per_block",
                "get_max_shared_memory_per_block",
                "get_root_block",
                "is_broadcast_epilogue",
            ),
            *(
                "collect_block_iter_vars_used_in_access_region",
                "collect_vars_used_in_prim_expr",
                "detect_dominant_read",
            ),
            *("get_reduction_blocks", "get_coalesced_veclen"),
        ],
        "matmul_analysis": [
            *("collect_vars_from_expr", "auto_inline_producers", "auto_inline_consumers", "auto_inline_consumer_chain"),
            *("find_first_similar_region", "find_first_similar_buffer", "find_last_producer_from_buffer"),
            *("find_arg_idx_from_buffer_chain", "IterKind", "IterTrait", "make_iter_fusion_index_map"),
            *("detect_iter_traits", "get_index_map", "get_in_out_dtypes", "get_dequantize_block"),
            *("is_identity_or_transpose_block", "is_identity_block", "is_transpose_block", "inline_transpose_block"),
            *("normalize_to_matmul", "get_tensorized_func_and_tags", "get_propagate_map", "get_ladder_stage3_map"),
            "layout_propagate_chain",
        ],
        "common_schedules": ["get_block", "get_output_blocks", "try_inline", "try_inline_contiguous_spatial"],
        "utils": [
            *("get_rasterization_code", "get_roller_hints_from_func", "get_roller_hints_from_output_nodes"),
            *("retrieve_func_from_module", "get_tensorized_func_and_tags", "TensorCorePolicy", "DefaultPolicy", "Hint"),
        ],
    }
    return {
        f"{module} {name}": lambda module=module, name=name: type(getattr(side.module(module), name)).__name__
        for module, names in exports.items()
        for name in names
    }


# ---------------------------------------------------------------------------------------------------------------------
# Inlining


def _residual(side: Side):
    """A product whose result is scaled and added to something that has a stage of its own, then turned."""
    te = side.te
    A = te.placeholder((32, 64), name="A", dtype="float16")
    B = te.placeholder((48, 64), name="B", dtype="float16")
    R = te.placeholder((32, 48), name="R", dtype="float16")
    S = te.compute((32, 64), lambda i, j: A[i, j] * te.const(2, "float16"), name="scaled")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((32, 48), lambda i, j: te.sum(S[i, k] * B[j, k], axis=k), name="C")
    H = te.compute((32, 48), lambda i, j: C[i, j] * te.const(3, "float16"), name="half")
    Q = te.compute((32, 48), lambda i, j: R[i, j] + te.const(1, "float16"), name="shifted")
    D = te.compute((32, 48), lambda i, j: H[i, j] + Q[i, j], name="sum")
    T = te.compute((48, 32), lambda i, j: D[j, i], name="turned")
    return te.create_prim_func([A, B, R, T])


@probe
def inlining(side: Side):
    analysis, common, matmul = side.analysis, side.common_schedules, side.matmul_analysis
    programs = {
        "chain": side.chain,
        "softmax": lambda: _softmax(side),
        "copies": lambda: _copies(side),
        "dequantize": lambda: _dequantize(side),
        "residual": lambda: _residual(side),
        "elementwise": side.elementwise,
        "tensorized": lambda: _tensorized(side, _conv(side))[0],
    }
    found = {}
    for label, make in programs.items():

        def after(change, make=make):
            sch = side.Schedule(make())
            result = change(sch)
            return result, sch.mod["main"].script().splitlines()

        def infos(sch):
            return analysis.normalize_prim_func(sch)

        def names(found, sch):
            return [sch.get(getattr(x, "block_rv", x)).name_hint for x in found]

        def blocks(sch):
            return list(sch.get_child_blocks(analysis.get_root_block(sch)))

        def main(sch):
            return (analysis.get_reduction_blocks(sch, blocks(sch)) or blocks(sch))[-1]

        def tried(sch):
            given = infos(sch)
            left = common.try_inline(sch=sch, blocks=given)
            return left is given, names(left, sch)

        changes = {
            "try_inline": tried,
            "try_inline none": lambda sch: common.try_inline(sch, []),
            "try_inline the first": lambda sch: names(common.try_inline(sch, infos(sch)[:1]), sch),
            "contiguous": lambda sch: names(common.try_inline_contiguous_spatial(sch=sch, block_infos=infos(sch)), sch),
            "contiguous None": lambda sch: common.try_inline_contiguous_spatial(sch, None),
            "contiguous none": lambda sch: common.try_inline_contiguous_spatial(sch, []),
            "producers": lambda sch: matmul.auto_inline_producers(sch=sch, block=main(sch)),
            "producers skipping": lambda sch: matmul.auto_inline_producers(sch, main(sch), skip_blocks=blocks(sch)[:1]),
            "consumers": lambda sch: matmul.auto_inline_consumers(sch=sch, block=main(sch)),
            "consumers of the first": lambda sch: matmul.auto_inline_consumers(sch, blocks(sch)[0]),
            "chain": lambda sch: matmul.auto_inline_consumer_chain(sch=sch, block=main(sch)),
            "chain of the first": lambda sch: matmul.auto_inline_consumer_chain(sch, blocks(sch)[0]),
            "transpose": lambda sch: names(matmul.inline_transpose_block(sch=sch, blocks=blocks(sch)), sch),
            "compute_inline": lambda sch: sch.compute_inline(blocks(sch)[0]),
            "reverse_compute_inline": lambda sch: sch.reverse_compute_inline(blocks(sch)[-1]),
        }
        for name, change in changes.items():
            found[f"{label}: {name}"] = lambda change=change, after=after: after(change)
    return found
