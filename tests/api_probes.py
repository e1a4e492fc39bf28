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

# Vendored modules, below tilelang.carver, that the port has under another name.
PORT_MODULES = {
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
            return importlib.import_module(f"tilelang.carver.{name}")
        for vendored, port in PORT_MODULES.items():
            if name == vendored or name.startswith(f"{vendored}."):
                name = port + name[len(vendored) :]
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
        "is_input_8bit": lambda: [make(d, d, True).is_input_8bit() for d in ("int8", "float16", "float8_e4m3", "uint8")],
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
        "repr of placeholder": lambda: repr(make(side.node.PlaceHolderNode("A"), None, "x", 1)),
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
        "name None": lambda: repr(Node(name=None)),
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
        "get_dtype id": lambda: (lambda n: (n.set_dtype(DataType("int8"), 1), n.get_dtype(id=1), n.get_dtype()))(Node()),
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
        "placeholder": lambda: (holder.name, repr(holder), holder.is_placeholder(), holder.is_output(), holder.get_ir()),
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
    O = te.compute((64, 128), lambda i, j: E[i, j] / total[i], name="O")
    return te.create_prim_func([A, O])


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
            for rstep in steps if number < 5 else steps[:1]:
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
            "stride map too small": lambda: node.footprint(tile, {}, {b.name: Stride(1, 0) for b in node.input_buffers}),
            "stride map without": lambda: node.footprint(shape=tile, rstep={}, stride_map={"zz": Stride()}),
            "footprint of None": lambda: node.footprint(tile, None),
        }
        for name, function in odd.items():
            found[f"{label}: {name}"] = answer(function)
    return {name: {"json": value} for name, value in found.items()}


@probe
def block_analyzer(side: Side):
    found = {}
    programs = {"chain": side.chain, "matmul": side.matmul, "softmax": lambda: _softmax(side), "conv": lambda: _conv(side)}
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
        found[f"{label}: prev"] = {"json": answer(lambda: [(n.name, n._prev, n._next) for n in analysis.mapping.values()])}
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
        found[f"{label}: create"] = {"json": answer(lambda: (analysis.get_or_create_node("new"), len(analysis.mapping)))}
        found[f"{label}: names of two alike"] = {
            "json": answer(lambda: list(analysis._construct_unique_name2dep(deps + deps + deps)))
        }
    found["no stages"] = {"json": answer(lambda: side.shapes.DependencyAnalysis([]).analyze())}
    return found


@probe
def statement(side: Side):
    found = {}
    programs = {"chain": side.chain, "matmul": side.matmul, "conv": lambda: _conv(side), "softmax": lambda: _softmax(side)}
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
    programs = {"chain": side.chain, "matmul": side.matmul, "conv": lambda: _conv(side), "softmax": lambda: _softmax(side)}
    programs["two outputs"] = lambda: _two_outputs(side)
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
            "target twice": lambda: ana.construct_dependency_target((target,)) is ana.construct_dependency_target((target,)),
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
        "extract": lambda: (
            lambda n: [shapes._extract_dependent_region(n.block_analyzer, b) for b in n.blocks]
        )(side.node.PrimFuncNode(_conv(side))),
    }


def _buffer_load(side: Side):
    func = side.elementwise((8,))
    node = side.node.PrimFuncNode(func)
    (block,) = node.blocks
    return node.sch.get(block).body.value.a
