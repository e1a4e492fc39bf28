"""Device models, and how to find the one for a name, a target or this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .arch_base import TileDevice
from .cdna import CDNA, is_cdna_arch
from .cpu import CPU, is_cpu_arch
from .cuda import (
    CUDA,
    check_sm_version,
    has_mma_support,
    is_ada_arch,
    is_ampere_arch,
    is_cuda_arch,
    is_hopper_arch,
    is_tensorcore_supported_precision,
    is_volta_arch,
)
from .current import chosen_arch, current_arch
from .device import parse_target
from .driver import get_cuda_device_properties
from .errors import CarverError, MissingFigureError, NoDeviceError
from .metal import METAL, is_metal_arch
from .rdna import RDNA, is_rdna_arch
from .target import (
    Target,
    check_metal_availability,
    determine_target,
    target_get_rdna_generation,
    target_is_rdna,
)


# vendored: carver/arch/__init__.py:15-32
def get_arch(target: str | Mapping[str, Any] | Target = "cuda", **figures: Any) -> TileDevice:
    """The device model for a name ("h100", "mi300x"), an architecture ("sm_90", "gfx942") or a target.

    What each of them means, the keywords and the errors are those of CUDA, CDNA and RDNA. A target of a kind that
    carver has no model for raises ValueError.
    """
    # NOTE: names and architectures are taken as well as targets, and the keywords go to the class.
    parsed = parse_target(target)
    kind = parsed.kind.name
    if figures and kind in ("llvm", "metal"):
        raise CarverError(f"a device of kind {kind} has no figures to set, got {', '.join(figures)}")

    if kind == "cuda":
        return CUDA(target, **figures)
    if kind == "llvm":
        return CPU(parsed)
    if kind == "hip":
        if target_is_rdna(parsed):
            if target_get_rdna_generation(parsed) in (11, 12):
                return RDNA(target, **figures)
            raise CarverError(f"RDNA device model currently supports gfx11/gfx12 targets only, got {parsed}.")
        return CDNA(target, **figures)
    if kind == "metal":
        return METAL(parsed)
    raise CarverError(f"Unsupported target: {kind}")


# vendored: carver/arch/__init__.py:35-45
def auto_infer_current_arch() -> TileDevice:
    """The device to work for: that of `current_arch`, else of CARVER_ARCH, else of this machine, else the CPU."""
    # NOTE: the choice of the user comes first, and without PyTorch no AMD device of this machine is found.
    chosen = chosen_arch()
    if chosen is not None:
        return chosen
    if get_cuda_device_properties() is not None:
        return get_arch("cuda")
    if check_metal_availability():
        return get_arch("metal")
    return get_arch("llvm")


__all__ = [
    "is_cpu_arch",
    "is_cuda_arch",
    "is_volta_arch",
    "is_ampere_arch",
    "is_ada_arch",
    "is_hopper_arch",
    "is_tensorcore_supported_precision",
    "has_mma_support",
    "is_cdna_arch",
    "is_rdna_arch",
    "is_metal_arch",
    "CUDA",
    "CDNA",
    "RDNA",
    "METAL",
    "CPU",
    # Not in the vendored list.
    "CarverError",
    "MissingFigureError",
    "NoDeviceError",
    "Target",
    "TileDevice",
    "auto_infer_current_arch",
    "check_sm_version",
    "current_arch",
    "determine_target",
    "get_arch",
]
