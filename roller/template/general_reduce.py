"""Sums over some axes. The port of ``carver/template/general_reduce.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...arch import TileDevice
from ...arch.errors import CarverError, shown
from ..hint import Hint
from ..tir import te
from ..utils import get_roller_hints_from_func
from .base import BadParameter, BaseTemplate, format_template


# vendored: carver/template/general_reduce.py:10-122
@dataclass
class GeneralReductionTemplate(BaseTemplate):
    """The sum of A over the axes that ``structure`` marks R; those marked S stay. "SSR" with [64, 64, 512], say."""

    structure: str | list[str] = None
    shape: list[int] = None
    dtype: str = "float16"

    # vendored: carver/template/general_reduce.py:17-19
    def get_hardware_aware_configs(self, arch: TileDevice = None, topk: int = 10) -> list[Hint]:
        """The best ``topk`` hints for the given device, best first."""
        return get_roller_hints_from_func(self._func, arch=arch, topk=topk, allow_gemv=False)

    # vendored: carver/template/general_reduce.py:21-109
    def initialize_function(self) -> None:
        """Build the function.

        AssertionError (BadParameter) for a structure that is no string, ValueError (CarverError) for letters other
        than S and R, a shape of another length, or extents that are not positive integers.
        """
        structure, shape = self.structure, self.shape
        if not isinstance(structure, str):
            raise BadParameter(f"structure must be a string of S and R, not {shown(structure)}")
        if shape is None:
            raise CarverError("shape must be given with structure")
        if not hasattr(shape, "__len__"):
            raise CarverError(f"shape must be a list of extents, not {shown(shape)}")
        if len(structure) != len(shape):
            raise CarverError(
                f"structure {shown(structure)} has {len(structure)} axes, but shape {shown(shape)} has {len(shape)}"
            )
        for extent in shape:
            if not isinstance(extent, int) or extent <= 0:
                raise CarverError(f"all extents of shape must be positive integers, {shown(extent)} is not")
        kinds = structure.upper()
        for kind in structure:
            if kind.upper() not in ("S", "R"):
                raise CarverError(f"structure {shown(structure)} has {kind!r}, only S and R are allowed")

        A = te.placeholder(shape=shape, dtype=self.dtype, name="A")
        out_shape = tuple(extent for kind, extent in zip(kinds, shape) if kind == "S")
        reduce_axes = tuple(te.reduce_axis((0, extent)) for kind, extent in zip(kinds, shape) if kind == "R")

        def sum_of(*spatial_indices):
            space, reductions = iter(spatial_indices), iter(reduce_axes)
            index = tuple(next(space) if kind == "S" else next(reductions) for kind in kinds)
            return te.sum(A[index], axis=reduce_axes)

        C = te.compute(out_shape, sum_of, name="C")
        self.set_function(te.create_prim_func([A, C]))

    # vendored: carver/template/general_reduce.py:111-112
    def params_as_dict(self) -> dict[str, Any]:
        """The shape and the dtype; the structure is not among them."""
        return dict(shape=self.shape, dtype=self.dtype)

    # vendored: carver/template/general_reduce.py:114-116
    @property
    def class_attributes(self) -> dict[str, Any]:
        """What ``params_as_dict`` gives."""
        return self.params_as_dict()

    # vendored: carver/template/general_reduce.py:118-122
    def __repr__(self) -> str:
        return format_template(self, self.class_attributes)
