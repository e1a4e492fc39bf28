"""The CPU, which carver recommends nothing for: it has no figures."""

from __future__ import annotations

from .arch_base import TileDevice
from .device import Device
from .target import Target


# vendored: carver/arch/cpu.py:6-7
def is_cpu_arch(arch: TileDevice) -> bool:
    """Whether it is a CPU."""
    return isinstance(arch, CPU)


# vendored: carver/arch/cpu.py:12-19
class CPU(TileDevice):
    """The CPU. Code for LLVM is not tuned, so the class only says what kind of device it is."""

    # vendored: carver/arch/cpu.py:13-19
    def __init__(self, target: Target):
        self.target = target
        # TVM's device 0 of this kind always exists.
        self.device: Device = Device("cpu", exist=True)
        self.platform: str = "CPU"


__all__ = [
    "is_cpu_arch",
    "CPU",
]
