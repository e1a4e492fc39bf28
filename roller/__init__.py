"""Graph nodes, hints and region propagation; with the policies, all of ``carver/roller`` by its vendored names."""

from typing import TYPE_CHECKING, Any

from ..arch import CUDA, TileDevice
from .hint import Hint
from .node import Edge, OutputNode, PrimFuncNode
from .rasterization import NoRasterization, Rasterization2DColumn, Rasterization2DRow

if TYPE_CHECKING:
    from ..policy import DefaultPolicy, TensorCorePolicy

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
]


def __getattr__(name: str) -> Any:
    # The policies are in a package of their own that imports this one, so they can only come when asked for.
    if name in ("DefaultPolicy", "TensorCorePolicy"):
        from .. import policy

        return getattr(policy, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
