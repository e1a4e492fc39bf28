"""The entry points: hints for a function, hints for a graph. The port of ``carver/utils.py``."""

from __future__ import annotations

import logging
import os

from ..arch.arch_base import TileDevice
from ..arch.errors import CarverError, NotADevice
from ..policy import DefaultPolicy, TensorCorePolicy
from .hint import Hint
from .matmul_analysis import get_tensorized_func_and_tags
from .node import OutputNode
from .rasterization import panel_walk
from .tir.schedule import IRModule
from .tir.stmt import PrimFunc

logger = logging.getLogger(__name__)


# vendored: carver/utils.py:14-26
def get_rasterization_code(pannel_width: int = 8) -> str:
    """CUDA text that walks the grid in column panels of that many blocks."""
    indent = " " * 8
    width = "MAX_BLOCK_N"
    lines = [
        f"\n{indent}const int {width} = {pannel_width};\n",
        panel_walk(width, indent),
        f"{indent}const dim3 blockIdx(bx, by, bz);\n    ",
    ]
    return "".join(lines)


# vendored: carver/utils.py:29-65
def get_roller_hints_from_func(
    func_or_module: PrimFunc | IRModule,
    arch: TileDevice,
    topk: int = 10,
    tensorcore_only: bool = False,
    allow_gemv: bool = False,
) -> list[Hint] | None:
    """The best ``topk`` hints for a function on a device, best first.

    For tensor cores if the function can be brought there and the device has them, else for CUDA cores; there is no
    falling back when tensor cores suit but no tile does: the answer is [] then.

    ``tensorcore_only`` gives None for other functions and, as in carver, a TypeError (NoTensorCoreOnly) for those it
    is meant for. ``allow_gemv`` is not looked at. CarverError for anything else than a function or a device.
    """
    func = _function_of(func_or_module)
    _check_device(arch)

    if tensorcore_only:
        tensorized_func, tags = _try_tensorize(func, arch, allow_gemv)
        if not tags or not tensorized_func:
            return None
        raise NoTensorCoreOnly(
            "tensorcore_only=True fails for every function that suits tensor cores: carver makes the policy by "
            "TensorCorePolicy(func=...), which takes no func; leave it out, or use TensorCorePolicy.from_prim_func"
        )

    policy = DefaultPolicy.from_prim_func(func=func, arch=arch)
    tensorized_func, tags = _try_tensorize(func, arch, allow_gemv)
    if tags and tensorized_func:
        policy = TensorCorePolicy.from_prim_func(func=tensorized_func, arch=arch, tags=tags)
    return policy.emit_config(topk)


# vendored: carver/utils.py:68-83
def get_roller_hints_from_output_nodes(
    output_nodes: list[OutputNode], arch: TileDevice, topk: int = 10, extra_tags: list[str] | None = None
) -> list | None:
    """The best ``topk`` hints for the graph behind some outputs, best first, each a dict of hints by node.

    For tensor cores by the nodes' tags; where that raises or finds nothing, for CUDA cores. ``extra_tags`` is not
    looked at.
    """
    if not isinstance(output_nodes, list):
        raise NotAList(f"the output nodes come in a list, not in a {type(output_nodes).__name__}")
    _check_device(arch)

    hints: list = []
    try:
        policy = TensorCorePolicy.from_output_nodes(output_nodes, arch=arch, tags=None)
        hints = policy.emit_config(topk)
    except Exception as err:
        _swallow(err, "Generate hints from output nodes failed, fallback to default policy")
    if len(hints) == 0:
        policy = DefaultPolicy.from_output_nodes(output_nodes, arch=arch, tags=None)
        hints = policy.emit_config(topk)
    return hints


# vendored: carver/utils.py:86-91
def retrieve_func_from_module(ir_module: IRModule) -> PrimFunc:
    """The only function of a module."""
    if not isinstance(ir_module, IRModule):
        raise CarverError(f"Not supported type: {type(ir_module).__name__}, an IRModule is needed")
    names = ir_module.get_global_vars()
    if len(names) != 1:
        raise NotOneFunction(f"the module must hold one function, it holds {len(names)}")
    (func,) = ir_module.functions.values()
    return func


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------

# Set to anything but 0, an exception that is no refusal but a fault of the port is not swallowed where carver
# swallows everything.
STRICT_VARIABLE = "CARVER_STRICT"


class NoTensorCoreOnly(CarverError, TypeError):
    """A call that cannot succeed in carver."""


class NotAList(CarverError, AssertionError):
    """Something else than a list of nodes."""


class NotOneFunction(CarverError, AssertionError):
    """A module of several functions, or of none."""


def _function_of(func_or_module: PrimFunc | IRModule) -> PrimFunc:
    if isinstance(func_or_module, PrimFunc):
        return func_or_module
    if isinstance(func_or_module, IRModule):
        return retrieve_func_from_module(func_or_module)
    raise CarverError(f"Not supported type: {type(func_or_module).__name__}, a PrimFunc or an IRModule is needed")


def _check_device(arch: TileDevice) -> None:
    if not isinstance(arch, TileDevice):
        raise NotADevice(arch)


def _try_tensorize(func: PrimFunc, arch: TileDevice, allow_gemv: bool) -> tuple[PrimFunc | None, dict | None]:
    """The function for tensor cores and its tags; no tags where that raises, as for devices newer than Hopper."""
    try:
        return get_tensorized_func_and_tags(func, arch.target, allow_gemv=allow_gemv)
    except Exception as err:
        _swallow(err, "Get tensorized func and tags failed")
        return None, None


def _swallow(err: Exception, what: str) -> None:
    """Let an exception pass that carver lets pass: quietly if it is a refusal, which is always a CarverError here.

    Anything else is a fault of the port. It is logged, and raised again when CARVER_STRICT is set.
    """
    if isinstance(err, CarverError):
        logger.debug("%s: %s", what, err)
        return
    if os.environ.get(STRICT_VARIABLE, "0") not in ("", "0"):
        raise err
    logger.warning("%s by an unforeseen %s: %s", what, type(err).__name__, err, exc_info=err)
