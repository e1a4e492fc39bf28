"""Ready-made computations: give sizes and dtypes, get hints."""

from .base import BaseTemplate
from .conv import ConvTemplate
from .elementwise import ElementwiseTemplate
from .flashattention import FlashAttentionTemplate
from .gemv import GEMVTemplate
from .general_reduce import GeneralReductionTemplate
from .matmul import MatmulTemplate

__all__ = [
    "BaseTemplate",
    "MatmulTemplate",
    "GEMVTemplate",
    "ElementwiseTemplate",
    "GeneralReductionTemplate",
    "FlashAttentionTemplate",
    "ConvTemplate",
]
