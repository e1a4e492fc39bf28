"""Convolution of images. The port of ``carver/template/conv.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..hint import Hint
from ..tir import te
from ..tir.expr import const
from ..utils import get_roller_hints_from_func
from .base import BaseTemplate, check_positive_ints, format_template


# vendored: carver/template/conv.py:8-208
@dataclass
class ConvTemplate(BaseTemplate):
    """``N`` images of ``H`` x ``W`` pixels in ``C`` channels (NHWC) with ``F`` filters of ``K`` x ``K`` (HWCF).

    ``S`` is the stride, ``D`` the dilation and ``P`` the padding on each side, with zeros; it must be positive too.

    ``accum_dtype`` is the dtype of the sum; a last stage casts to ``out_dtype`` where that differs. ``with_bias`` adds
    a vector of F elements. As in carver, hints then fail, since both the vector and the stage that adds it are called
    Bias: write the computation with ``te`` and two names, and use ``get_roller_hints_from_func``.
    """

    N: int
    C: int
    H: int
    W: int
    F: int
    K: int
    S: int
    D: int
    P: int
    in_dtype: str = "float16"
    out_dtype: str = "float16"
    accum_dtype: str = "float16"
    with_bias: bool = False

    # vendored: carver/template/conv.py:47-59
    def get_hardware_aware_configs(self, arch=None, topk=10) -> list[Hint]:
        """The best ``topk`` hints for the given device, best first."""
        return get_roller_hints_from_func(self._func, arch=arch, topk=topk, allow_gemv=True)

    # vendored: carver/template/conv.py:61-163
    def initialize_function(self) -> None:
        """Build the function. AssertionError (BadParameter) unless all sizes, P too, are positive integers."""
        N, C, H, W, F, K, S, D, P = self.N, self.C, self.H, self.W, self.F, self.K, self.S, self.D, self.P
        check_positive_ints(N=N, C=C, H=H, W=W, F=F, K=K, S=S, D=D, P=P)
        accum_dtype = self.accum_dtype

        covered = D * (K - 1) + 1
        OH, OW = ((size + 2 * P - covered) // S + 1 for size in (H, W))
        output_shape = (N, OH, OW, F)

        A = te.placeholder((N, H, W, C), name="A", dtype=self.in_dtype)
        B = te.placeholder((K, K, C, F), name="B", dtype=self.in_dtype)
        Bias = te.placeholder((F,), name="Bias", dtype=accum_dtype)
        kh, kw = te.reduce_axis((0, K), name="kh"), te.reduce_axis((0, K), name="kw")
        c = te.reduce_axis((0, C), name="c")

        def convolution(n, h, w, f):
            h_in, w_in = h * S - P + kh * D, w * S - P + kw * D
            is_inside = te.all(h_in >= 0, h_in < H, w_in >= 0, w_in < W)
            product = A[n, h_in, w_in, c].astype(accum_dtype) * B[kh, kw, c, f].astype(accum_dtype)
            return te.sum(te.if_then_else(is_inside, product, const(0, accum_dtype)), axis=[kh, kw, c])

        result = te.compute(output_shape, fcompute=convolution, name="C")
        if self.with_bias:
            before_bias = result
            result = te.compute(output_shape, lambda n, h, w, f: before_bias[n, h, w, f] + Bias[f], name="Bias")
        if self.out_dtype != accum_dtype:
            summed = result
            result = te.compute(output_shape, lambda n, h, w, f: summed[n, h, w, f].astype(self.out_dtype), name="D")

        args = [A, B, Bias, result] if self.with_bias else [A, B, result]
        self.set_function(te.create_prim_func(args))

    # vendored: carver/template/conv.py:165-186
    def params_as_dict(self) -> dict[str, Any]:
        """The parameters by name."""
        names = ("N", "C", "H", "W", "F", "K", "S", "D", "P", "in_dtype", "out_dtype", "accum_dtype", "with_bias")
        return {name: getattr(self, name) for name in names}

    # vendored: carver/template/conv.py:188-196
    @property
    def class_attributes(self) -> dict[str, Any]:
        """The parameters by name."""
        return self.params_as_dict()

    # vendored: carver/template/conv.py:198-208
    def __repr__(self) -> str:
        return format_template(self, self.class_attributes)
