"""Product of a vector and a matrix. The port of ``carver/template/gemv.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...arch import TileDevice
from ..hint import Hint
from ..tir import te
from ..utils import get_roller_hints_from_func
from .base import BaseTemplate, check_positive_ints, format_template


# vendored: carver/template/gemv.py:9-154
@dataclass
class GEMVTemplate(BaseTemplate):
    """C[1, N] = A[1, K] * B[K, N], with B transposed by default, and a vector of N elements added on demand.

    ``accum_dtype`` is the dtype of the sum; a last stage casts to ``out_dtype`` where that differs.
    """

    N: int = None
    K: int = None
    trans_B: bool = True
    in_dtype: str = "float16"
    out_dtype: str = "float16"
    accum_dtype: str = "float16"
    with_bias: bool = False

    # vendored: carver/template/gemv.py:27-39
    def get_hardware_aware_configs(self, arch: TileDevice = None, topk: int = 10) -> list[Hint]:
        """The best ``topk`` hints for the given device, best first."""
        return get_roller_hints_from_func(self._func, arch=arch, topk=topk)

    # vendored: carver/template/gemv.py:41-115
    def initialize_function(self) -> None:
        """Build the function. AssertionError (BadParameter) unless N and K are positive integers."""
        M = 1
        N, K = self.N, self.K
        check_positive_ints(M=M, N=N, K=K)
        accum_dtype = self.accum_dtype

        A = te.placeholder((M, K), name="A", dtype=self.in_dtype)
        B = te.placeholder((N, K) if self.trans_B else (K, N), name="B", dtype=self.in_dtype)
        Bias = te.placeholder((N,), name="Bias", dtype=accum_dtype)
        k = te.reduce_axis((0, K), name="k")

        def product(i, j):
            b = B[j, k] if self.trans_B else B[k, j]
            return te.sum(A[i, k].astype(accum_dtype) * b.astype(accum_dtype), axis=k)

        result = te.compute((M, N), fcompute=product, name="C")
        if self.with_bias:
            before_bias = result
            result = te.compute((M, N), lambda i, j: before_bias[i, j] + Bias[j], name="Bias")
        if self.out_dtype != accum_dtype:
            accumulated = result
            result = te.compute((M, N), lambda i, j: accumulated[i, j].astype(self.out_dtype), name="D")

        args = [A, B, Bias, result] if self.with_bias else [A, B, result]
        self.set_function(te.create_prim_func(args))

    # vendored: carver/template/gemv.py:117-132
    def params_as_dict(self) -> dict[str, Any]:
        """The parameters by name."""
        names = ("N", "K", "trans_B", "in_dtype", "out_dtype", "accum_dtype", "with_bias")
        return {name: getattr(self, name) for name in names}

    # vendored: carver/template/gemv.py:134-142
    @property
    def class_attributes(self) -> dict[str, Any]:
        """The parameters by name."""
        return self.params_as_dict()

    # vendored: carver/template/gemv.py:144-154
    def __repr__(self) -> str:
        return format_template(self, self.class_attributes)
