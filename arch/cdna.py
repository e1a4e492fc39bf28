"""AMD data-centre devices (CDNA)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .arch_base import TileDevice
from .device import FIGURES, Device, find_device, no_device, settle_figures
from .target import Target

# Bytes of LDS for one work-group on CDNA 4, where earlier generations have 64 KB.
_GFX950_LDS_SIZE = 160 * 1024


# vendored: carver/arch/cdna.py:11-12
def is_cdna_arch(arch: TileDevice) -> bool:
    """Whether it is an AMD data-centre device."""
    return isinstance(arch, CDNA)


# vendored: carver/arch/cdna.py:15-21
def _get_l2_cache_size_bytes(target: Target, device: Device) -> int:
    """The size of the L2 cache in bytes: the target's own figure, else the device's."""
    value = getattr(target, "l2_cache_size_bytes", None)
    if value is None:
        value = target.attrs.get("l2_cache_size_bytes")
    if value is None:
        value = device.l2_cache_size_bytes
    return int(value)


# vendored: carver/arch/cdna.py:24-56
class CDNA(TileDevice):
    """An AMD data-centre device. Parameters and errors are those of CUDA: CDNA("mi300x"), CDNA("gfx942", ...).

    A target that names no device of the catalogue means the one of this machine. It cannot be asked for its figures
    here, so the number of cores must be given with it.
    """

    FIGURES = FIGURES

    # vendored: carver/arch/cdna.py:25-56
    def __init__(self, target: Target | Mapping[str, Any] | str, **figures: Any):
        # NOTE: the device need not be the one of this machine, and any figure can be overridden.
        target, device = find_device(target, "hip", figures)
        self.target = target
        if not device.exist:
            raise no_device("HIP", "mi300x")
        self.device: Device = device
        self.platform: str = "CDNA"

        # Older drivers report the 64 KB of other devices for gfx950.
        mcpu = str(target.attrs.get("mcpu", ""))
        reported = device.max_shared_memory_per_block
        self.smem_cap: int = max(reported, _GFX950_LDS_SIZE) if "gfx950" in mcpu else reported

        self.compute_max_core: int = device.multi_processor_count
        self.warp_size: int = device.warp_size
        self.compute_capability: str = device.compute_version.replace(".", "")
        self.reg_cap: int = 32768
        self.max_smem_usage: int = 2 * self.smem_cap
        self.sm_partition: int = 4
        self.l2_cache_size_bytes: int = _get_l2_cache_size_bytes(target, device)
        self.transaction_size: list[int] = [32, 128]  # bytes

        self.bandwidth: list[int] = [1300, 14000]
        settle_figures(self, figures, self.FIGURES)

    # NOTE: no vendored counterpart, where CDNA alone has no repr.
    def __repr__(self) -> str:
        return f"CDNA({self.target})"


__all__ = [
    "is_cdna_arch",
    "CDNA",
]
