"""AMD consumer and workstation devices (RDNA 3 and newer), with the heuristics of their WMMA instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .arch_base import TileDevice
from .cuda import TensorInstruction
from .device import FIGURES, Device, find_device, no_device, settle_figures
from .errors import CarverError
from .target import Target, target_get_mcpu, target_get_rdna_generation

_RDNA_DEFAULT_LDS_SIZE = 64 * 1024  # bytes
_RDNA_TENSOR_INSTRUCTIONS = {
    11: (TensorInstruction("wmma", [16, 16]),),
    12: (TensorInstruction("wmma", [16, 16]),),
}


# vendored: carver/arch/rdna.py:16-30
@dataclass(frozen=True)
class _RDNATuningConfig:
    """What the tensor-core policy prefers on an RDNA device. Choices of scheduling, not limits of the hardware."""

    preferred_warps_per_block: int = 4
    pipeline_stage: int = 1
    # Bits of the inputs' type -> elements of one reduction step, as pairs, so that the dataclass stays hashable.
    reduction_step_by_dtype_bits: tuple[tuple[int, int], ...] = ((16, 32),)

    # vendored: carver/arch/rdna.py:29-30
    def reduction_step_for_dtype_bits(self, bits: int) -> int | None:
        """Elements of one reduction step for inputs of that many bits; None where there is no preference."""
        return dict(self.reduction_step_by_dtype_bits).get(bits)


_RDNA_DEFAULT_TUNING = _RDNATuningConfig()
_RDNA_TUNING_OVERRIDES: dict[str, _RDNATuningConfig] = {
    # Strix Halo: TileLang measured its best large fp16 matrix products with two pipeline stages.
    "gfx1151": _RDNATuningConfig(
        preferred_warps_per_block=4,
        pipeline_stage=2,
        reduction_step_by_dtype_bits=((16, 32),),
    ),
}


# vendored: carver/arch/rdna.py:45-47
def _get_rdna_tuning_config(mcpu: str | None) -> _RDNATuningConfig:
    """The preferences for a gfx name, with or without feature suffixes."""
    name = str(mcpu).strip().partition(":")[0] if mcpu else ""
    return _RDNA_TUNING_OVERRIDES.get(name, _RDNA_DEFAULT_TUNING)


# vendored: carver/arch/rdna.py:50-54
def _get_tensor_instructions_for_generation(rdna_generation: int) -> tuple[TensorInstruction, ...]:
    """The tensor instructions of RDNA 11 or 12. ValueError for any other generation."""
    if rdna_generation not in _RDNA_TENSOR_INSTRUCTIONS:
        raise CarverError(f"Unsupported RDNA generation for tensor instructions: {rdna_generation}")
    return _RDNA_TENSOR_INSTRUCTIONS[rdna_generation]


# vendored: carver/arch/rdna.py:57-58
def is_rdna_arch(arch: TileDevice) -> bool:
    """Whether it is an AMD device of RDNA 3 or newer."""
    return isinstance(arch, RDNA)


# vendored: carver/arch/rdna.py:61-101
class RDNA(TileDevice):
    """An AMD consumer or workstation device. Parameters and errors are those of CDNA: RDNA("rx7900xtx").

    Its architecture must be gfx11 or gfx12. `l2_cache_size_bytes` is 0 unless given: the real carver reads it from an
    attribute that no target has.
    """

    FIGURES = FIGURES

    # vendored: carver/arch/rdna.py:62-94
    def __init__(self, target: Target | Mapping[str, Any] | str, **figures: Any):
        # NOTE: the device need not be the one of this machine, and any figure can be overridden.
        target, device = find_device(target, "hip", figures)
        self.target = target
        self.mcpu: str | None = target_get_mcpu(target)
        self.rdna_generation: int = target_get_rdna_generation(target)
        self.tuning: _RDNATuningConfig = _get_rdna_tuning_config(self.mcpu)
        if self.rdna_generation not in (11, 12):
            arch = self.mcpu or str(target)
            raise CarverError(f"RDNA device model currently supports gfx11/gfx12 targets only, got {arch}.")
        if not device.exist:
            raise no_device("HIP", "rx7900xtx")
        self.device: Device = device
        self.platform: str = "RDNA"

        reported_smem = device.max_shared_memory_per_block
        self.smem_cap: int = reported_smem if reported_smem > 0 else _RDNA_DEFAULT_LDS_SIZE
        self.compute_max_core: int = device.multi_processor_count
        self.warp_size: int = 32
        self.compute_capability: str = device.compute_version.replace(".", "")
        self.reg_cap: int = 32768
        self.max_smem_usage: int = 2 * self.smem_cap
        self.sm_partition: int = 4
        self.l2_cache_size_bytes: int = getattr(target, "l2_cache_size_bytes", 0)
        self.transaction_size: list[int] = [32, 128]  # bytes

        # MB/s, in the units of the other devices. Low for the larger ones: it was set for a device without memory of
        # its own.
        self.bandwidth: list[int] = [750, 12080]
        self.available_tensor_instructions: list[TensorInstruction] | None = None
        settle_figures(self, figures, self.FIGURES)

    # vendored: carver/arch/rdna.py:96-98
    def get_avaliable_tensorintrin_shapes(self) -> list[list[int]]:
        """The M and N of `wmma`."""
        self.available_tensor_instructions = list(_get_tensor_instructions_for_generation(self.rdna_generation))
        return [instruction.shape for instruction in self.available_tensor_instructions]

    # vendored: carver/arch/rdna.py:100-101
    def __repr__(self) -> str:
        return f"RDNA({self.target})"


__all__ = [
    "is_rdna_arch",
    "RDNA",
]
