"""The questions to the device drivers, asked of a stand-in for the CUDA driver library and of a machine without one."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from carver.arch import CUDA, CarverError, NoDeviceError, auto_infer_current_arch, determine_target, driver, get_arch
from carver.arch.driver import ascend_driver, cuda_driver

# An RTX 4090, by the numbers of its attributes.
ATTRIBUTES = {
    1: 1024,  # threads per block
    8: 49152,  # shared memory per block
    10: 32,  # warp size
    12: 65536,  # registers per block
    16: 128,  # multiprocessors
    38: 75497472,  # L2
    75: 8,  # compute capability, major
    76: 9,  # and minor
    81: 102400,  # shared memory per multiprocessor
    97: 101376,  # opt-in shared memory per block
    108: 51904512,  # persisting L2
}


class FakeLibrary:
    """Has one device. The arguments are ctypes objects, of which `byref` hides one in `_obj`."""

    def cuDeviceGet(self, device, ordinal):
        device._obj.value = ordinal
        return 0 if ordinal == 0 else 101

    def cuDeviceGetName(self, buffer, length, device):
        buffer.value = b"NVIDIA GeForce RTX 4090"
        return 0

    def cuDeviceTotalMem_v2(self, size, device):
        size._obj.value = 25757220864
        return 0

    def cuDeviceGetAttribute(self, value, attribute, device):
        if attribute not in ATTRIBUTES:
            return 1
        value._obj.value = ATTRIBUTES[attribute]
        return 0


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr(cuda_driver, "_load_cudart", FakeLibrary)
    monkeypatch.delenv("CARVER_ARCH", raising=False)


@pytest.fixture
def no_driver(monkeypatch):
    def load():
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(cuda_driver, "_load_cudart", load)


def test_properties(device):
    prop = driver.get_cuda_device_properties()
    assert prop == cuda_driver._CudaDeviceProperties(
        name="NVIDIA GeForce RTX 4090",
        major=8,
        minor=9,
        multi_processor_count=128,
        warp_size=32,
        total_memory=25757220864,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=101376,
        shared_memory_per_multiprocessor=102400,
        regs_per_block=65536,
        L2_cache_size=75497472,
    )
    assert driver.get_cuda_device_properties(1) is None


def test_figures(device):
    assert driver.get_device_name() == "NVIDIA GeForce RTX 4090"
    assert driver.get_num_sms() == 128
    assert driver.get_registers_per_block() == 65536
    assert driver.get_persisting_l2_cache_max_size() == 51904512
    assert [driver.get_shared_memory_per_block(0, unit) for unit in ("bytes", "kb", "mb")] == [49152, 48, 0]
    assert [driver.get_max_dynamic_shared_size_bytes(0, unit) for unit in ("bytes", "kb", "mb")] == [102400, 100, 0]
    assert driver.get_device_attribute(cuda_driver.cudaDeviceAttrNames.cudaDevAttrMaxThreadsPerBlock) == 1024


def test_attribute_that_fails_is_none_and_said_on_stderr(device, capsys):
    assert driver.get_device_attribute(9999) is None
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "Error getting device attribute: the CUDA driver's cuDeviceGetAttribute failed with error 1\n"


@pytest.mark.parametrize("ask", [driver.get_shared_memory_per_block, driver.get_max_dynamic_shared_size_bytes])
def test_unknown_format(device, ask):
    with pytest.raises(AssertionError, match="Invalid format. Must be one of: bytes, kb, mb"):
        ask(0, "gb")


def test_device_model_of_this_machine(device):
    arch = CUDA("cuda")
    assert (arch.name, arch.sm_version, arch.compute_capability) == ("NVIDIA GeForce RTX 4090", 89, "89")
    assert (arch.compute_max_core, arch.warp_size, arch.smem_cap, arch.max_smem_usage) == (128, 32, 49152, 98304)
    assert arch.l2_cache_size_bytes == 75497472
    assert arch.device.max_shared_memory_per_block_optin == 101376
    assert CUDA("cuda", smem_cap=101376).max_smem_usage == 202752


def test_a_target_means_this_machine_with_its_own_architecture(device):
    arch = get_arch({"kind": "cuda", "arch": "sm_80", "l2_cache_size_bytes": 5})
    assert (arch.sm_version, arch.compute_capability, arch.l2_cache_size_bytes) == (80, "89", 5)
    assert arch.compute_max_core == 128


def test_a_name_does_not_mean_this_machine(device):
    assert CUDA("h100").compute_max_core == 132
    assert not hasattr(CUDA("sm_90"), "compute_max_core")


def test_detection(device):
    for target in ("cuda", "auto"):
        assert determine_target(target, return_object=True).attrs["arch"] == "sm_89"
    assert auto_infer_current_arch().name == "NVIDIA GeForce RTX 4090"


def test_hopper_and_newer_are_detected_with_their_features(device, monkeypatch):
    monkeypatch.setitem(ATTRIBUTES, 75, 9)
    monkeypatch.setitem(ATTRIBUTES, 76, 0)
    assert determine_target("cuda", return_object=True).attrs["arch"] == "sm_90a"
    assert CUDA("cuda").sm_version == 90


def test_without_a_driver_nothing_fails_until_a_figure_is_needed(no_driver, capsys):
    assert driver.get_cuda_device_properties() is None
    assert driver.get_device_name() is None
    assert driver.get_registers_per_block() is None
    assert driver.get_max_dynamic_shared_size_bytes(0, "kb") is None
    assert "libcuda.so.1: cannot open shared object file" in capsys.readouterr().err
    for ask in (driver.get_num_sms, driver.get_shared_memory_per_block):
        with pytest.raises(RuntimeError, match="there is no CUDA device 0 on this machine to read a figure from"):
            ask()
    with pytest.raises(CarverError):
        driver.get_num_sms(1)


def test_driver_that_finds_no_device(monkeypatch):
    def load():
        raise NoDeviceError("the CUDA driver's cuInit failed with error 100")

    monkeypatch.setattr(cuda_driver, "_load_cudart", load)
    assert driver.get_cuda_device_properties() is None
    with pytest.raises(NoDeviceError):
        CUDA("cuda")


def test_ascend_without_torch_npu():
    assert driver.get_ascend_device_properties() is None
    assert driver.get_ascend_device_name() is None
    for ask in (
        driver.get_num_cube_cores,
        driver.get_num_vector_cores,
        driver.get_ascend_total_memory,
        driver.get_ascend_l2_cache_size,
    ):
        with pytest.raises(RuntimeError, match="there is no Ascend device 0"):
            ask()


def test_ascend_with_torch_npu(monkeypatch):
    prop = SimpleNamespace(
        name="Ascend950PR", cube_core_num=32, vector_core_num=64, total_memory=3 * 2**30 + 1, L2_cache_size=2**27
    )
    npu = SimpleNamespace(is_available=lambda: True, get_device_properties=lambda device_id: prop)
    monkeypatch.setitem(sys.modules, "torch_npu", SimpleNamespace(npu=npu))
    assert driver.get_ascend_device_name() == "Ascend950PR"
    assert (driver.get_num_cube_cores(), driver.get_num_vector_cores()) == (32, 64)
    assert [ascend_driver.get_total_memory(0, unit) for unit in ("bytes", "kb", "mb", "gb")] == [
        3221225473,
        3145728,
        3072,
        3,
    ]
    assert driver.get_ascend_l2_cache_size(0, "mb") == 128
    with pytest.raises(AssertionError):
        driver.get_ascend_l2_cache_size(0, "gb")
