"""NVIDIA devices: the device model, its generations, and the precisions their tensor cores take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .arch_base import TileDevice
from .device import FIGURES, Device, find_device, no_device, settle_figures
from .driver import cuda_driver
from .errors import CarverError, NotADevice
from .target import Target

# An SM architecture: the compute capability, with or without "sm_" before it, and the letters that CUDA puts after it
# for architecture-specific features ("sm_90a").
_SM_VERSION_PATTERN = re.compile(r"^(?:sm_)?([0-9]{1,9})[a-zA-Z]*$")


# vendored: carver/arch/cuda.py:16-24
def check_sm_version(arch: str) -> int:
    """The compute capability of an SM architecture without its dot ("sm_90a" -> 90); -1 for anything else."""
    match = _SM_VERSION_PATTERN.match(arch)
    return -1 if match is None else int(match[1])


# vendored: carver/arch/cuda.py:27-28
def is_cuda_arch(arch: TileDevice) -> bool:
    """Whether it is an NVIDIA device."""
    return isinstance(arch, CUDA)


# The predicates below read sm_version whatever the device, as the vendored ones do: they fail on an AMD device.


# vendored: carver/arch/cuda.py:31-36
def is_volta_arch(arch: TileDevice) -> bool:
    """Compute capability 7.x, which is Volta and Turing."""
    return 70 <= _sm_version_of(arch) < 80 and is_cuda_arch(arch)


# vendored: carver/arch/cuda.py:39-43
def is_ampere_arch(arch: TileDevice) -> bool:
    """Compute capability 8.0 up to, not including, 8.9."""
    return 80 <= _sm_version_of(arch) < 89 and is_cuda_arch(arch)


# vendored: carver/arch/cuda.py:46-50
def is_ada_arch(arch: TileDevice) -> bool:
    """Compute capability 8.9."""
    return _sm_version_of(arch) == 89 and is_cuda_arch(arch)


# vendored: carver/arch/cuda.py:53-57
def is_hopper_arch(arch: TileDevice) -> bool:
    """Compute capability 9.0."""
    return _sm_version_of(arch) == 90 and is_cuda_arch(arch)


# vendored: carver/arch/cuda.py:60-64
def has_mma_support(arch: TileDevice) -> bool:
    """Whether the device has the `mma` instructions that TileLang uses: compute capability 8.0 and newer."""
    return _sm_version_of(arch) >= 80 and is_cuda_arch(arch)


# vendored: carver/arch/cuda.py:67-71
def _get_target_attr(target: Target, name: str) -> int | None:
    value = getattr(target, name, None)
    if value is None:
        value = target.attrs.get(name)
    return None if value is None else int(value)


# vendored: carver/arch/cuda.py:74-84
def _get_l2_cache_size_bytes(target: Target, device: Device | None = None) -> int:
    """The size of the L2 cache in bytes: the target's own figure, else the device's."""
    # NOTE: the device is a parameter, since it need not be the one of this machine.
    target_value = _get_target_attr(target, "l2_cache_size_bytes")
    if target_value is not None:
        return target_value

    if device is not None:
        return device.l2_cache_size_bytes

    prop = cuda_driver.get_cuda_device_properties()
    if prop is not None:
        return prop.L2_cache_size

    return cuda_driver.get_persisting_l2_cache_max_size() or 0


# Pairs of the inputs' type and the accumulator's.
volta_tensorcore_supported = [("float16", "float32"), ("float16", "float16")]
ampere_tensorcore_supported = [
    ("bfloat16", "float32"),
    ("float16", "float32"),
    ("float16", "float16"),
    ("int8", "int32"),
    ("int4", "int32"),
    ("int2", "int32"),
    ("int1", "int32"),
]
ada_tensorcore_supported = [
    ("bfloat16", "float32"),
    ("float16", "float32"),
    ("float16", "float16"),
    ("int8", "int32"),
    ("float8_e5m2", "float32"),
    ("float8_e4m3", "float32"),
]
hopper_tensorcore_supported = ada_tensorcore_supported


# vendored: carver/arch/cuda.py:114-124
def is_tensorcore_supported_precision(in_dtype: str, accum_dtype: str, arch: TileDevice) -> bool:
    """Whether the tensor cores of an NVIDIA device take inputs and accumulators of these types.

    Raises ValueError for a device that is older than Volta or newer than Hopper.
    """
    precision = (in_dtype, accum_dtype)
    if is_volta_arch(arch):
        return precision in volta_tensorcore_supported
    if is_ampere_arch(arch):
        return precision in ampere_tensorcore_supported
    if is_ada_arch(arch):
        return precision in ada_tensorcore_supported
    if is_hopper_arch(arch):
        return precision in hopper_tensorcore_supported
    name = arch.target.attrs.get("arch")
    raise CarverError(f"Unsupported architecture: {name}; carver 0.1.15 knows the tensor cores of sm_70 to sm_90")


# vendored: carver/arch/cuda.py:127-135
class TensorInstruction:
    """A tensor instruction by its name and the M and N of the tile it computes."""

    # vendored: carver/arch/cuda.py:128-135
    def __init__(self, name: str, shape: list[int]):
        self.name: str = name
        self.shape: list[int] = shape

    # NOTE: no vendored counterpart; for the debugger.
    def __repr__(self) -> str:
        return f"TensorInstruction({self.name!r}, {self.shape})"


# vendored: carver/arch/cuda.py:138-180
class CUDA(TileDevice):
    """An NVIDIA device.

    `target` names it: a device of the catalogue ("h100") or one of TVM's tags ("nvidia/geforce-rtx-4090"); an
    architecture ("sm_90"), whose remaining figures are the keywords'; or a target ("cuda", {"kind": "cuda", "arch":
    "sm_90"}, a Target), which means the device of this machine, as in the real carver. Each keyword overrides the
    attribute of its name: one of `FIGURES`. `max_smem_usage` is twice `smem_cap` unless given itself, and
    `smem_cap="optin"` is the most that a kernel can ask for, in place of the static limit.

    Raises CarverError for an unknown name, an unknown keyword or a value out of range, and NoDeviceError, which is a
    RuntimeError, where the device of this machine is meant and there is none.
    """

    FIGURES = ("name", "sm_version", *FIGURES)

    # vendored: carver/arch/cuda.py:139-170
    def __init__(self, target: Target | Mapping[str, Any] | str, **figures: Any):
        # NOTE: the device need not be the one of this machine, and any figure can be overridden.
        target, device = find_device(target, "cuda", figures)
        self.target = target
        self.sm_version: int = check_sm_version(self.target.attrs["arch"])
        if not device.exist:
            raise no_device("cuda", "h100")
        self.name: str | None = device.name
        self.device: Device = device
        self.platform: str = "CUDA"
        # The static limit, not what a kernel can ask for: device.max_shared_memory_per_block_optin.
        self.smem_cap: int = device.max_shared_memory_per_block
        self.compute_max_core: int = device.multi_processor_count
        self.warp_size: int = device.warp_size
        self.compute_capability: str = device.compute_version.replace(".", "")
        self.reg_cap: int = 65536
        self.max_smem_usage: int = 2 * self.smem_cap
        self.sm_partition: int = 4
        self.l2_cache_size_bytes: int = _get_l2_cache_size_bytes(target, device)
        self.transaction_size: list[int] = [32, 128]  # bytes
        # MB/s, the same for every device: recommending tiles needs only the ratio, which differs little.
        self.bandwidth: list[int] = [750, 12080]
        # Filled in when asked for.
        self.available_tensor_instructions: tuple[TensorInstruction, ...] | None = None
        settle_figures(self, figures, self.FIGURES)

    # vendored: carver/arch/cuda.py:172-177
    def get_avaliable_tensorintrin_shapes(self) -> list[list[int]]:
        """The M and N of `mma` and of `wmma`, in this order."""
        self.available_tensor_instructions = (
            TensorInstruction("mma", [16, 16]),
            TensorInstruction("wmma", [16, 16]),
        )
        return [instruction.shape for instruction in self.available_tensor_instructions]

    # vendored: carver/arch/cuda.py:179-180
    def __repr__(self) -> str:
        return f"CUDA({self.target})"


__all__ = [
    "is_cuda_arch",
    "is_volta_arch",
    "is_ampere_arch",
    "is_ada_arch",
    "is_hopper_arch",
    "is_tensorcore_supported_precision",
    "has_mma_support",
    "CUDA",
]


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


def _sm_version_of(arch: TileDevice) -> int:
    if not isinstance(arch, TileDevice) and not hasattr(arch, "sm_version"):
        raise NotADevice(arch)
    return arch.sm_version
