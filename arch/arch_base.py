"""The base of the device models: the figures that the policies compute with."""

from __future__ import annotations

from typing import NoReturn

from .errors import MissingFigureError, NoInstructions

# The figures that an architecture's name leaves open: see settle_figures.
_OPEN_FIGURES = frozenset({"compute_max_core", "l2_cache_size_bytes"})
# What is asked of any device, though the CPU and Metal have none of it and only CUDA has the last.
_FIGURES = frozenset(
    "reg_cap smem_cap compute_max_core warp_size sm_partition transaction_size max_smem_usage bandwidth "
    "compute_capability l2_cache_size_bytes sm_version".split()
)


# vendored: carver/arch/arch_base.py:1-30
class TileDevice:
    """A device as carver models it. The subclasses fill in the figures; none of them calls this constructor."""

    # vendored: carver/arch/arch_base.py:6-27
    def __init__(self) -> None:
        self.reg_cap: int = 0  # 32-bit registers that the blocks on one core share
        self.smem_cap: int = 0  # bytes of shared memory for one block: the static limit
        self.compute_max_core: int = 0  # SMs, compute units or work-group processors
        self.warp_size: int = 0  # threads that run in lockstep
        self.sm_partition: int = 0  # partitions of a core, each with a scheduler of its own
        self.transaction_size: list[int] = [0, 0]  # bytes of a write and of a read transaction
        self.max_smem_usage: int = 0  # bytes of shared memory for all blocks on one core
        self.bandwidth: list[int] = [0, 0]  # MB/s of global and of shared memory; only the ratio of the two matters
        self.platform: str = "unknown"
        self.compute_capability: str = "unknown"  # version of the device, without its dot: "80"
        self.l2_cache_size_bytes: int = 0

    # vendored: carver/arch/arch_base.py:29-30
    def get_avaliable_tensorintrin_shapes(self) -> list[list[int]]:
        """The M and N of each tensor instruction, best last. Only devices that have some implement it."""
        raise NoInstructions(f"carver knows no tensor instructions of {type(self).__name__} devices")

    # NOTE: no vendored counterpart; it says clearly which figure a device built from "sm_90" alone lacks.
    def __getattr__(self, name: str) -> NoReturn:
        kind = type(self).__name__
        target = self.__dict__.get("target")
        if name in _OPEN_FIGURES and target is not None:
            raise MissingFigureError(
                f"{kind}({target}) has no {name}, which the architecture does not fix: pass {name}=... when building "
                f"it, or name a device of the catalogue"
            )
        if name in _FIGURES:
            raise MissingFigureError(f"{kind!r} object has no attribute {name!r}: carver has no such figure of it")
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")
