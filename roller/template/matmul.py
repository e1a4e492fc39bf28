"""Matrix product. The port of ``carver/template/matmul.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...arch import TileDevice
from ..hint import Hint
from ..tir import te
from ..utils import get_roller_hints_from_func
from .base import BaseTemplate, check_positive_ints, format_template


# vendored: carver/template/matmul.py:9-171
@dataclass
class MatmulTemplate(BaseTemplate):
    """C[M, N] = A[M, K] * B[K, N], with A and B transposed on demand: ``trans_B`` is the default.

    ``accum_dtype`` is the dtype of the sum; a last stage casts to ``out_dtype`` where that differs.

    ``with_bias`` adds a vector of N elements. As in carver, hints then fail, since both the vector and the stage that
    adds it are called Bias: write the computation with ``te`` and two names, and use ``get_roller_hints_from_func``.
    """

    M: int = None
    N: int = None
    K: int = None
    trans_A: bool = False
    trans_B: bool = True
    in_dtype: str = "float16"
    out_dtype: str = "float16"
    accum_dtype: str = "float16"
    with_bias: bool = False

    # vendored: carver/template/matmul.py:40-52
    def get_hardware_aware_configs(self, arch: TileDevice = None, topk: int = 10) -> list[Hint]:
        """The best ``topk`` hints for the given device, best first."""
        return get_roller_hints_from_func(self._func, arch=arch, topk=topk, allow_gemv=True)

    # vendored: carver/template/matmul.py:54-130
    def initialize_function(self) -> None:
        """Build the function. AssertionError (BadParameter) unless M, N and K are positive integers."""
        M, N, K = self.M, self.N, self.K
        check_positive_ints(M=M, N=N, K=K)
        accum_dtype = self.accum_dtype

        A = te.placeholder((K, M) if self.trans_A else (M, K), name="A", dtype=self.in_dtype)
        B = te.placeholder((N, K) if self.trans_B else (K, N), name="B", dtype=self.in_dtype)
        Bias = te.placeholder((N,), name="Bias", dtype=accum_dtype)
        k = te.reduce_axis((0, K), name="k")

        def product(i, j):
            a = A[k, i] if self.trans_A else A[i, k]
            b = B[j, k] if self.trans_B else B[k, j]
            return te.sum(a.astype(accum_dtype) * b.astype(accum_dtype), axis=k)

        result = te.compute((M, N), fcompute=product, name="C")
        if self.with_bias:
            before_bias = result
            result = te.compute((M, N), lambda i, j: before_bias[i, j] + Bias[j], name="Bias")
        if self.out_dtype != accum_dtype:
            accumulated = result
            result = te.compute((M, N), lambda i, j: accumulated[i, j].astype(self.out_dtype), name="D")

        args = [A, B, Bias, result] if self.with_bias else [A, B, result]
        self.set_function(te.create_prim_func(args))

    # vendored: carver/template/matmul.py:132-149
    def params_as_dict(self) -> dict[str, Any]:
        """The parameters by name."""
        names = ("M", "N", "K", "trans_A", "trans_B", "in_dtype", "out_dtype", "accum_dtype", "with_bias")
        return {name: getattr(self, name) for name in names}

    # vendored: carver/template/matmul.py:151-159
    @property
    def class_attributes(self) -> dict[str, Any]:
        """The parameters by name."""
        return self.params_as_dict()

    # vendored: carver/template/matmul.py:161-171
    def __repr__(self) -> str:
        return format_template(self, self.class_attributes)
