"""One operation on every element. The port of ``carver/template/elementwise.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...arch import TileDevice
from ..hint import Hint
from ..tir import te
from ..utils import get_roller_hints_from_func
from .base import BaseTemplate, format_template


# vendored: carver/template/elementwise.py:10-96
@dataclass
class ElementwiseTemplate(BaseTemplate):
    """B = A + 1, of any shape and dtype."""

    shape: list[int] = None
    dtype: str = "float16"

    # vendored: carver/template/elementwise.py:24-36
    def get_hardware_aware_configs(self, arch: TileDevice = None, topk: int = 10) -> list[Hint]:
        """The best ``topk`` hints for the given device, best first."""
        return get_roller_hints_from_func(self._func, arch=arch, topk=topk, allow_gemv=True)

    # vendored: carver/template/elementwise.py:38-65
    def initialize_function(self) -> None:
        """Build the function."""
        A = te.placeholder(self.shape, name="A", dtype=self.dtype)

        def add_one(*indices):
            return A[indices] + 1

        B = te.compute(self.shape, fcompute=add_one, name="B")
        self.set_function(te.create_prim_func([A, B]))

    # vendored: carver/template/elementwise.py:67-74
    def params_as_dict(self) -> dict[str, Any]:
        """The parameters by name."""
        return dict(shape=self.shape, dtype=self.dtype)

    # vendored: carver/template/elementwise.py:76-84
    @property
    def class_attributes(self) -> dict[str, Any]:
        """The parameters by name."""
        return self.params_as_dict()

    # vendored: carver/template/elementwise.py:86-96
    def __repr__(self) -> str:
        return format_template(self, self.class_attributes)
