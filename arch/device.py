"""Where a device model's figures come from: the catalogue, the CUDA driver, or the architecture's name alone.

No vendored counterpart. `Device` stands in TVM's runtime device's place and has its attributes' names, so that the
constructors of CUDA, CDNA and RDNA read it as the vendored ones read TVM's. `find_device` decides which one it is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import catalogue
from .errors import CarverError, NoDeviceError, shown
from .target import (
    _CUDA_TAGS,
    ROCM_MTRIPLE,
    Target,
    cuda_arch_of,
    determine_target,
    rocm_warp_size_for_arch,
)

if TYPE_CHECKING:
    from .arch_base import TileDevice

# Stands for a figure that nobody knows.
UNKNOWN = -1

# The attributes of a device model that a keyword of its constructor overrides.
FIGURES = (
    "platform",
    "smem_cap",
    "compute_max_core",
    "warp_size",
    "compute_capability",
    "reg_cap",
    "max_smem_usage",
    "sm_partition",
    "l2_cache_size_bytes",
    "transaction_size",
    "bandwidth",
)

_SM_NAME = re.compile(r"sm_([0-9]{1,9})[a-z]?")
_GFX_NAME = re.compile(r"gfx[0-9a-f]+(-generic)?(:[a-z0-9+:-]+)?")


@dataclass(frozen=True, slots=True)
class Device:
    """The figures of one device, some of them perhaps UNKNOWN. Sizes are in bytes."""

    name: str | None
    exist: bool  # whether there is such a device: on this machine, in the catalogue, or by the user's word
    multi_processor_count: int = UNKNOWN
    warp_size: int = UNKNOWN  # threads
    compute_version: str = ""  # "9.0"
    max_shared_memory_per_block: int = UNKNOWN  # the static limit
    max_shared_memory_per_block_optin: int = UNKNOWN
    l2_cache_size_bytes: int = UNKNOWN


def find_device(
    target: Target | Mapping[str, Any] | str, kind: str, figures: Mapping[str, Any]
) -> tuple[Target, Device]:
    """The target and the device that a constructor of the given kind ("cuda" or "hip") was asked for.

    A name of the catalogue or one of TVM's tags gives that device; "sm_90" or "gfx942" a device of which no more is
    known than the architecture fixes; anything else is a target, and means the device of this machine. Where there is
    none, a target that names its architecture will do as well if `figures`, the keywords of the constructor, hold the
    number of cores.

    Raises CarverError for an unknown name, and for a name or target of the other kind.
    """
    if isinstance(target, str):
        spec = catalogue.find(target)
        if spec is not None:
            if spec.kind != kind:
                raise CarverError(_wrong_kind(f"{spec.title} ({spec.arch})", kind))
            return _target_of_spec(spec, target), _device_of_spec(spec)
        if is_arch_name(target):
            parsed = target_of_arch(target.strip())
            if parsed.kind.name != kind:
                raise CarverError(_wrong_kind(target, kind))
            return parsed, device_of_arch(target.strip())
    parsed = parse_target(target)
    if parsed.kind.name != kind:
        raise CarverError(_wrong_kind(f"the target {parsed}", kind))

    device = _cuda_device() if kind == "cuda" else Device(None, exist=False)
    # The bare kind names no architecture, so no figure could be right for it.
    if not device.exist and "compute_max_core" in figures and not (isinstance(target, str) and target.strip() == kind):
        device = device_of_arch(parsed.attrs["arch"] if kind == "cuda" else parsed.attrs["mcpu"])
    return parsed, device


def is_arch_name(text: str) -> bool:
    """Whether it has the form of an architecture's name, such as "sm_90a" or "gfx942:sramecc+:xnack-"."""
    return bool(_SM_NAME.fullmatch(text.strip()) or _GFX_NAME.fullmatch(text.strip()))


def parse_target(target: Target | Mapping[str, Any] | str) -> Target:
    """The target that decides which device class fits, for anything that `get_arch` takes.

    Raises CarverError for what is neither a device's name nor a target; for a single word with the nearest names.
    """
    if not isinstance(target, str):
        return determine_target(target, return_object=True)
    spec = catalogue.find(target)
    if spec is not None:
        return _target_of_spec(spec, target)
    if is_arch_name(target):
        return target_of_arch(target.strip())
    try:
        return determine_target(target, return_object=True)
    except CarverError:
        if re.search(r"[{=]", target) or target.strip() in ("", "auto"):
            raise
        raise CarverError(catalogue.unknown_device(target)) from None


def target_of_arch(arch: str) -> Target:
    """The target that TileLang makes of an architecture: "sm_90", or "gfx942" with its warp size."""
    if arch.startswith("sm_"):
        return Target({"kind": "cuda", "arch": arch})
    return determine_target({"kind": "hip", "mcpu": arch, "mtriple": ROCM_MTRIPLE}, return_object=True)


def device_of_arch(arch: str) -> Device:
    """What the name of an architecture fixes of a device: limits, warp size and version."""
    static, optin = catalogue.shared_memory_limits(arch)
    if arch.startswith("gfx"):
        # TVM's warp size of a ROCm device is what HIP reports; 64 is the one of all that are neither gfx10 nor newer.
        warp_size = rocm_warp_size_for_arch(arch) or 64
        return Device(None, True, UNKNOWN, warp_size, _gfx_version(arch), static, optin or UNKNOWN)
    digits = _SM_NAME.fullmatch(arch)
    version = f"{digits[1][:-1] or 0}.{digits[1][-1]}" if digits else ""
    return Device(None, True, UNKNOWN, 32, version, static, optin or UNKNOWN)


def settle_figures(arch: TileDevice, figures: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    """Let the keywords of a constructor override what it set, and drop the figures that nobody knows.

    `smem_cap="optin"` is the most that a kernel can ask for. `max_smem_usage` is set again to twice `smem_cap` where
    the latter is given and the former is not. A dropped figure raises MissingFigureError when it is read
    (TileDevice.__getattr__).

    Raises CarverError for a keyword that is not in `allowed` and for a value that cannot be right.
    """
    for name, value in figures.items():
        if name not in allowed:
            from difflib import get_close_matches

            near = get_close_matches(name, allowed, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise CarverError(f"{type(arch).__name__} has no figure {shown(name)}: {hint}Allowed: {', '.join(allowed)}")
        if name == "smem_cap" and isinstance(value, str) and value == "optin":
            value = _optin_limit(arch)
        setattr(arch, name, _checked_figure(name, value))
    if "smem_cap" in figures and "max_smem_usage" not in figures:
        arch.max_smem_usage = 2 * arch.smem_cap
    for name in ("compute_max_core", "l2_cache_size_bytes"):
        if getattr(arch, name) == UNKNOWN:
            delattr(arch, name)


def _optin_limit(arch: TileDevice) -> int:
    limit = arch.device.max_shared_memory_per_block_optin
    if limit == UNKNOWN:
        raise CarverError(f"the opt-in limit of shared memory is not known for {arch}: give smem_cap in bytes")
    return limit


def _checked_figure(name: str, value: Any) -> Any:
    """A figure in the type that the device classes use; CarverError where it cannot be one."""
    if name in ("name", "platform", "compute_capability"):
        if not isinstance(value, str) or not value:
            raise CarverError(f"{name} must be a non-empty string, got {shown(value)}")
        return value
    if name in ("transaction_size", "bandwidth"):
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            raise CarverError(f"{name} must be a list of two positive integers, got {shown(value)}")
        return [_checked_int(name, item, 1) for item in value]
    return _checked_int(name, value, 0 if name == "l2_cache_size_bytes" else 1)


def _checked_int(name: str, value: Any, least: int) -> int:
    # Integers of numpy count too; a bool is an int in Python but surely a mistake here.
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < least:
        allowed = "a positive integer" if least else "an integer of at least 0"
        raise CarverError(f"{name} must be {allowed}, got {shown(value)}")
    return number


def _wrong_kind(what: str, kind: str) -> str:
    wanted = "a CUDA device" if kind == "cuda" else "an AMD device"
    return f"{what} is not {wanted}; get_arch finds the class that fits"


def _target_of_spec(spec: catalogue.DeviceSpec, name: str) -> Target:
    """The target of a device of the catalogue: TVM's own for a tag, else the one TileLang would detect."""
    if name in _CUDA_TAGS:
        return Target(name)
    if spec.kind == "hip":
        return target_of_arch(spec.arch)
    major, minor = divmod(int(spec.arch.removeprefix("sm_")), 10)
    return target_of_arch(cuda_arch_of(major, minor))


def _device_of_spec(spec: catalogue.DeviceSpec) -> Device:
    return Device(
        spec.title,
        True,
        spec.compute_max_core,
        spec.warp_size,
        device_of_arch(spec.arch).compute_version,
        spec.smem_cap,
        spec.smem_optin,
        spec.l2_cache_size_bytes,
    )


def _cuda_device() -> Device:
    """The first CUDA device of this machine, by its driver."""
    from .driver import get_cuda_device_properties

    prop = get_cuda_device_properties()
    if prop is None:
        return Device(None, exist=False)
    return Device(
        prop.name,
        True,
        prop.multi_processor_count,
        prop.warp_size,
        f"{prop.major}.{prop.minor}",
        prop.shared_memory_per_block,
        prop.shared_memory_per_block_optin,
        prop.L2_cache_size,
    )


def _gfx_version(arch: str) -> str:
    """HIP's compute capability of a gfx name: major and minor version, without the stepping ("gfx90a" -> "9.0")."""
    digits = re.match(r"gfx(\d+)([0-9a-f])[0-9a-f](?![0-9a-f])", arch)
    return f"{digits[1]}.{int(digits[2], 16)}" if digits else ""


def no_device(what: str, example: str) -> NoDeviceError:
    """The error of a constructor that needs the device of this machine, where there is none."""
    return NoDeviceError(
        f"Cannot find {what} device 0. Name a device of the catalogue, such as {example!r} (`carver devices` lists "
        f"them), or give an architecture and its figures."
    )


__all__ = [
    "FIGURES",
    "UNKNOWN",
    "Device",
    "device_of_arch",
    "find_device",
    "is_arch_name",
    "parse_target",
    "settle_figures",
    "target_of_arch",
]
