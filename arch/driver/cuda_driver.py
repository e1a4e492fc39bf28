"""What the CUDA driver library says about the devices of this machine.

The vendored file asks PyTorch and the CUDA runtime; this one asks the driver library (`libcuda`) itself through ctypes,
because that is there wherever a CUDA device is, and nothing else is needed. Nothing is loaded before a figure is asked.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import NoDeviceError

# ctypes is imported where it is used: it would be a third of the time that importing carver.arch takes.

_FORMATS = ("bytes", "kb", "mb")


# NOTE: stands in for PyTorch's class of this name and has the names of its attributes.
@dataclass(frozen=True, slots=True)
class _CudaDeviceProperties:
    name: str
    major: int  # compute capability, major.minor
    minor: int
    multi_processor_count: int
    warp_size: int  # threads
    total_memory: int  # bytes
    shared_memory_per_block: int  # bytes, the static limit
    shared_memory_per_block_optin: int  # bytes, what a kernel may ask for
    shared_memory_per_multiprocessor: int  # bytes
    regs_per_block: int  # 32-bit registers
    L2_cache_size: int  # bytes


# vendored: carver/arch/driver/cuda_driver.py:11-19
class cudaDeviceAttrNames:
    """Numbers of device attributes, the same in `cudaDeviceAttr` and in the driver's `CUdevice_attribute`.

    Source: the enumerations' pages in NVIDIA's CUDA Runtime and CUDA Driver API references.
    """

    cudaDevAttrMaxThreadsPerBlock: int = 1
    cudaDevAttrMaxRegistersPerBlock: int = 12
    cudaDevAttrMaxSharedMemoryPerMultiprocessor: int = 81
    cudaDevAttrMaxPersistingL2CacheSize: int = 108
    # NOTE: the rest are what PyTorch reads for its properties.
    cudaDevAttrMaxSharedMemoryPerBlock: int = 8
    cudaDevAttrWarpSize: int = 10
    cudaDevAttrMultiProcessorCount: int = 16
    cudaDevAttrL2CacheSize: int = 38
    cudaDevAttrComputeCapabilityMajor: int = 75
    cudaDevAttrComputeCapabilityMinor: int = 76
    cudaDevAttrMaxSharedMemoryPerBlockOptin: int = 97


# vendored: carver/arch/driver/cuda_driver.py:22-30
def get_cuda_device_properties(device_id: int = 0) -> _CudaDeviceProperties | None:
    """The properties of one CUDA device; None where there is no driver or no such device."""
    import ctypes

    try:
        device = _get_device(device_id)
        libcuda = _load_cudart()
        name = ctypes.create_string_buffer(256)
        _check(libcuda.cuDeviceGetName(name, len(name), device), "cuDeviceGetName")
        total_memory = ctypes.c_size_t()
        _check(libcuda.cuDeviceTotalMem_v2(ctypes.byref(total_memory), device), "cuDeviceTotalMem")
    except (OSError, RuntimeError):
        return None
    names = cudaDeviceAttrNames
    return _CudaDeviceProperties(
        name=name.value.decode(errors="replace"),
        major=_get_attribute(names.cudaDevAttrComputeCapabilityMajor, device),
        minor=_get_attribute(names.cudaDevAttrComputeCapabilityMinor, device),
        multi_processor_count=_get_attribute(names.cudaDevAttrMultiProcessorCount, device),
        warp_size=_get_attribute(names.cudaDevAttrWarpSize, device),
        total_memory=total_memory.value,
        shared_memory_per_block=_get_attribute(names.cudaDevAttrMaxSharedMemoryPerBlock, device),
        shared_memory_per_block_optin=_get_attribute(names.cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        shared_memory_per_multiprocessor=_get_attribute(names.cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
        regs_per_block=_get_attribute(names.cudaDevAttrMaxRegistersPerBlock, device),
        L2_cache_size=_get_attribute(names.cudaDevAttrL2CacheSize, device),
    )


# vendored: carver/arch/driver/cuda_driver.py:33-36
def get_device_name(device_id: int = 0) -> str | None:
    """The product name, such as "NVIDIA H100 80GB HBM3"; None without a device."""
    prop = get_cuda_device_properties(device_id)
    return None if prop is None else prop.name


# vendored: carver/arch/driver/cuda_driver.py:39-52
def get_shared_memory_per_block(device_id: int = 0, format: str = "bytes") -> int | None:
    """The static limit of shared memory for one block, in bytes, or rounded down to "kb" or "mb"."""
    _check_format(format, _FORMATS)
    return _in_format(_required_properties(device_id).shared_memory_per_block, format)


# vendored: carver/arch/driver/cuda_driver.py:55-64
def _load_cudart() -> Any:
    """The CUDA driver library, initialised. OSError without it, NoDeviceError where it refuses."""
    # NOTE: the driver library in place of the runtime, which need not be installed and has a version in its name.
    loaded = _load_once()
    if isinstance(loaded, Exception):
        raise loaded
    return loaded


# vendored: carver/arch/driver/cuda_driver.py:67-87
def get_device_attribute(attr: int, device_id: int = 0) -> int | None:
    """The device attribute of that number (see `cudaDeviceAttrNames`); None, and a line on stderr, if it fails."""
    # NOTE: the line goes to stderr, not to stdout, which may carry JSON.
    try:
        return _get_attribute(attr, _get_device(device_id))
    except (OSError, RuntimeError) as err:
        print(f"Error getting device attribute: {err}", file=sys.stderr)
        return None


# vendored: carver/arch/driver/cuda_driver.py:90-103
def get_max_dynamic_shared_size_bytes(device_id: int = 0, format: str = "bytes") -> int | None:
    """The shared memory of one multiprocessor, in bytes, or rounded down to "kb" or "mb".

    Not what one block may ask for, in spite of the name: that is `shared_memory_per_block_optin` of the properties.
    """
    _check_format(format, _FORMATS)
    shared_mem = get_device_attribute(cudaDeviceAttrNames.cudaDevAttrMaxSharedMemoryPerMultiprocessor, device_id)
    # NOTE: without a device None in any format; the original divides None where the format is not "bytes".
    return None if shared_mem is None else _in_format(shared_mem, format)


# vendored: carver/arch/driver/cuda_driver.py:106-108
def get_persisting_l2_cache_max_size(device_id: int = 0) -> int | None:
    """How much of the L2 cache can be set aside for persisting accesses, in bytes; None without a device."""
    return get_device_attribute(cudaDeviceAttrNames.cudaDevAttrMaxPersistingL2CacheSize, device_id)


# vendored: carver/arch/driver/cuda_driver.py:111-127
def get_num_sms(device_id: int = 0) -> int:
    """The number of streaming multiprocessors. NoDeviceError (a RuntimeError) without a device."""
    return _required_properties(device_id).multi_processor_count


# vendored: carver/arch/driver/cuda_driver.py:130-138
def get_registers_per_block(device_id: int = 0) -> int | None:
    """How many 32-bit registers a block can have; None without a device."""
    return get_device_attribute(cudaDeviceAttrNames.cudaDevAttrMaxRegistersPerBlock, device_id)


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------
# The calls into the driver library that the functions above share.


@cache
def _load_once() -> Any:
    """The driver library, or the exception that loading it ended with: looking for one that is not there is slow."""
    import ctypes

    try:
        if sys.platform == "win32":
            libcuda = ctypes.WinDLL("nvcuda.dll")
        else:
            try:
                libcuda = ctypes.CDLL("libcuda.so.1")
            except OSError:
                libcuda = ctypes.CDLL("libcuda.so")
        _check(libcuda.cuInit(0), "cuInit")
    except (OSError, NoDeviceError) as err:
        return err
    return libcuda


def _check(code: int, call: str) -> None:
    if code != 0:
        raise NoDeviceError(f"the CUDA driver's {call} failed with error {code}")


def _get_device(device_id: int) -> Any:
    import ctypes

    device = ctypes.c_int()
    _check(_load_cudart().cuDeviceGet(ctypes.byref(device), device_id), "cuDeviceGet")
    return device


def _get_attribute(attr: int, device: Any) -> int:
    import ctypes

    value = ctypes.c_int()
    _check(_load_cudart().cuDeviceGetAttribute(ctypes.byref(value), attr, device), "cuDeviceGetAttribute")
    return value.value


def _required_properties(device_id: int) -> _CudaDeviceProperties:
    prop = get_cuda_device_properties(device_id)
    if prop is None:
        raise NoDeviceError(f"there is no CUDA device {device_id} on this machine to read a figure from")
    return prop


def _check_format(format: str, formats: tuple[str, ...]) -> None:
    assert format in formats, f"Invalid format. Must be one of: {', '.join(formats)}"


def _in_format(size: int, format: str) -> int:
    return size // {"bytes": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}[format]
