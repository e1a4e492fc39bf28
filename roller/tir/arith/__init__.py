"""Integer analysis (stands in for ``tvm.arith`` and TVM's ``src/arith``)."""

from .analyzer import Analyzer, ProofStrength
from .const_int_bound import ConstIntBound
from .modular_set import ModularSet

__all__ = ["Analyzer", "ConstIntBound", "ModularSet", "ProofStrength"]
