"""What PyTorch's Ascend extension says about the NPUs of this machine. No device model of carver uses it."""

from __future__ import annotations

from typing import Any

from ..errors import NoDeviceError
from .cuda_driver import _check_format, _in_format


# vendored: carver/arch/driver/ascend_driver.py:4-16
def get_ascend_device_properties(device_id: int = 0) -> Any:
    """The properties object of torch_npu for one device; None without torch_npu or without a device."""
    try:
        import torch_npu
    except ImportError:
        return None
    return torch_npu.npu.get_device_properties(device_id) if torch_npu.npu.is_available() else None


# vendored: carver/arch/driver/ascend_driver.py:19-24
def get_device_name(device_id: int = 0) -> str | None:
    """The product name, such as "Ascend950PR_9589"; None without a device."""
    prop = get_ascend_device_properties(device_id)
    return None if prop is None else prop.name


# vendored: carver/arch/driver/ascend_driver.py:27-32
def get_num_cube_cores(device_id: int = 0) -> int | None:
    """The number of cube (matrix) cores. NoDeviceError (a RuntimeError) without a device."""
    return _required_properties(device_id).cube_core_num


# vendored: carver/arch/driver/ascend_driver.py:35-40
def get_num_vector_cores(device_id: int = 0) -> int | None:
    """The number of vector cores. NoDeviceError (a RuntimeError) without a device."""
    return _required_properties(device_id).vector_core_num


# vendored: carver/arch/driver/ascend_driver.py:43-59
def get_total_memory(device_id: int = 0, format: str = "bytes") -> int | None:
    """The device memory in bytes, or rounded down to "kb", "mb" or "gb". NoDeviceError without a device."""
    _check_format(format, ("bytes", "kb", "mb", "gb"))
    return _in_format(int(_required_properties(device_id).total_memory), format)


# vendored: carver/arch/driver/ascend_driver.py:62-76
def get_l2_cache_size(device_id: int = 0, format: str = "bytes") -> int | None:
    """The L2 cache in bytes, or rounded down to "kb" or "mb". NoDeviceError without a device."""
    _check_format(format, ("bytes", "kb", "mb"))
    return _in_format(int(_required_properties(device_id).L2_cache_size), format)


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------
# The check that the functions above share.


def _required_properties(device_id: int) -> Any:
    prop = get_ascend_device_properties(device_id)
    if prop is None:
        raise NoDeviceError(f"there is no Ascend device {device_id} on this machine to read a figure from")
    return prop
