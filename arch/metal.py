"""Apple's GPUs, which carver has no figures for."""

from __future__ import annotations

from .arch_base import TileDevice
from .target import Target, determine_target


# vendored: carver/arch/metal.py:6-7
def is_metal_arch(arch: TileDevice) -> bool:
    """Whether it is an Apple GPU."""
    return isinstance(arch, METAL)


# vendored: carver/arch/metal.py:10-16
class METAL(TileDevice):
    """An Apple GPU: nothing but its target."""

    # vendored: carver/arch/metal.py:11-16
    def __init__(self, target: Target | str):
        if isinstance(target, str):
            target = determine_target(target, return_object=True)
        self.target = target


__all__ = [
    "is_metal_arch",
    "METAL",
]
