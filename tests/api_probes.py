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
    if isinstance(value, str):  # a dtype
        return {"dtype": str(value)}
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
