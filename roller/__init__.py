"""Graph nodes, hints and region propagation; with the policies, all of ``carver/roller`` by its vendored names.

What ``tilelang.carver`` itself exports, of its loose files and templates, can be had from here too.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..arch import CUDA, TileDevice
from .hint import Hint
from .node import Edge, OutputNode, PrimFuncNode
from .rasterization import NoRasterization, Rasterization2DColumn, Rasterization2DRow

if TYPE_CHECKING:
    from ..arch import CDNA, RDNA
    from ..policy import DefaultPolicy, TensorCorePolicy
    from .analysis import (
        BlockInfo,
        IterInfo,
        collect_block_iter_vars_used_in_access_region,
        collect_vars_used_in_prim_expr,
        detect_dominant_read,
        is_broadcast_epilogue,
        normalize_prim_func,
    )
    from .common_schedules import get_block, get_output_blocks, try_inline, try_inline_contiguous_spatial
    from .template import (
        ElementwiseTemplate,
        FlashAttentionTemplate,
        GEMVTemplate,
        GeneralReductionTemplate,
        MatmulTemplate,
    )

__all__ = [
    "PrimFuncNode",
    "OutputNode",
    "Edge",
    "NoRasterization",
    "Rasterization2DRow",
    "Rasterization2DColumn",
    "Hint",
    "DefaultPolicy",
    "TensorCorePolicy",
    "TileDevice",
    "CUDA",
    # Of ``tilelang.carver``.
    "BlockInfo",
    "IterInfo",
    "collect_block_iter_vars_used_in_access_region",
    "collect_vars_used_in_prim_expr",
    "detect_dominant_read",
    "is_broadcast_epilogue",
    "normalize_prim_func",
    "get_block",
    "get_output_blocks",
    "try_inline",
    "try_inline_contiguous_spatial",
    "CDNA",
    "RDNA",
    "MatmulTemplate",
    "GEMVTemplate",
    "ElementwiseTemplate",
    "GeneralReductionTemplate",
    "FlashAttentionTemplate",
]

# The modules of names that can only come when asked for: they import this package.
_LATE_MODULES = ("..policy", "..arch", ".analysis", ".common_schedules", ".template")


def __getattr__(name: str) -> Any:
    if name in ("bestfit", "policy"):
        return import_module(f".{name}", __name__)
    if name in __all__:
        for module in _LATE_MODULES:
            found = getattr(import_module(module, __name__), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
