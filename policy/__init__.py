"""The search for tiles: :class:`DefaultPolicy` for CUDA cores, :class:`TensorCorePolicy` for tensor cores."""

from .default import DefaultPolicy
from .tensorcore import TensorCorePolicy

__all__ = ["DefaultPolicy", "TensorCorePolicy"]
