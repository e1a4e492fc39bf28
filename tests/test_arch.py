"""The device models, targets and the choice of the current device. Expected values are the real library's (0.1.15)."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
import threading

import carver.arch as arch_package
import pytest
from carver.arch import (
    CDNA,
    CPU,
    CUDA,
    METAL,
    RDNA,
    CarverError,
    MissingFigureError,
    NoDeviceError,
    Target,
    TileDevice,
    auto_infer_current_arch,
    current_arch,
    determine_target,
    get_arch,
    is_tensorcore_supported_precision,
)
from carver.arch import target as targets
from carver.arch.cuda import _get_l2_cache_size_bytes, check_sm_version
from carver.arch.driver import cuda_driver
from carver.arch.rdna import _get_rdna_tuning_config, _get_tensor_instructions_for_generation


@pytest.fixture(autouse=True)
def no_device_of_this_machine(monkeypatch):
    """The tests say the same on a machine with a GPU, and with CARVER_ARCH set."""

    def no_library():
        raise OSError("no libcuda here")

    monkeypatch.setattr(cuda_driver, "_load_cudart", no_library)
    monkeypatch.setattr(arch_package, "check_metal_availability", lambda: False)
    monkeypatch.delenv("CARVER_ARCH", raising=False)


def figures_of(arch: TileDevice) -> dict:
    return {name: value for name, value in vars(arch).items() if name not in ("target", "device", "name", "tuning")}


# --- what the constructors make of a device's figures: attributes as the real constructors set them ---


def test_cuda_attributes():
    arch = CUDA("a100")
    assert figures_of(arch) == {
        "sm_version": 80,
        "platform": "CUDA",
        "smem_cap": 49152,
        "compute_max_core": 108,
        "warp_size": 32,
        "compute_capability": "80",
        "reg_cap": 65536,
        "max_smem_usage": 98304,
        "sm_partition": 4,
        "l2_cache_size_bytes": 41943040,
        "transaction_size": [32, 128],
        "bandwidth": [750, 12080],
        "available_tensor_instructions": None,
    }
    assert arch.get_avaliable_tensorintrin_shapes() == [[16, 16], [16, 16]]
    assert [instruction.name for instruction in arch.available_tensor_instructions] == ["mma", "wmma"]


@pytest.mark.parametrize(("name", "smem_cap"), [("mi300x", 65536), ("mi355x", 163840)])
def test_cdna_attributes(name, smem_cap):
    arch = CDNA(name)
    assert figures_of(arch) == {
        "platform": "CDNA",
        "smem_cap": smem_cap,
        "compute_max_core": 304 if name == "mi300x" else 256,
        "warp_size": 64,
        "compute_capability": "94" if name == "mi300x" else "95",
        "reg_cap": 32768,
        "max_smem_usage": 2 * smem_cap,
        "sm_partition": 4,
        "l2_cache_size_bytes": 4194304,
        "transaction_size": [32, 128],
        "bandwidth": [1300, 14000],
    }
    with pytest.raises(NotImplementedError):
        arch.get_avaliable_tensorintrin_shapes()


def test_cdna_corrects_a_driver_that_reports_64_kb_for_gfx950():
    assert CDNA(Target({"kind": "hip", "mcpu": "gfx950"}), compute_max_core=256).smem_cap == 163840


def test_rdna_attributes():
    arch = RDNA("rx7900xtx")
    assert figures_of(arch) == {
        "mcpu": "gfx1100",
        "rdna_generation": 11,
        "platform": "RDNA",
        "smem_cap": 65536,
        "compute_max_core": 48,
        "warp_size": 32,
        "compute_capability": "110",
        "reg_cap": 32768,
        "max_smem_usage": 131072,
        "sm_partition": 4,
        # The real constructor reads an attribute that a Target never has.
        "l2_cache_size_bytes": 0,
        "transaction_size": [32, 128],
        "bandwidth": [750, 12080],
        "available_tensor_instructions": None,
    }
    assert arch.get_avaliable_tensorintrin_shapes() == [[16, 16]]


def test_cpu_and_metal_have_no_figures():
    cpu, metal = get_arch("llvm"), get_arch("metal")
    assert type(cpu) is CPU and figures_of(cpu) == {"platform": "CPU"}
    assert type(metal) is METAL and figures_of(metal) == {}
    with pytest.raises(AttributeError, match="'METAL' object has no attribute 'smem_cap'"):
        _ = metal.smem_cap
    with pytest.raises(CarverError, match="a device of kind llvm has no figures to set, got smem_cap"):
        get_arch("llvm", smem_cap=1)


def test_base_class_defaults():
    base = TileDevice()
    assert vars(base) == {
        "reg_cap": 0,
        "smem_cap": 0,
        "compute_max_core": 0,
        "warp_size": 0,
        "sm_partition": 0,
        "transaction_size": [0, 0],
        "max_smem_usage": 0,
        "bandwidth": [0, 0],
        "platform": "unknown",
        "compute_capability": "unknown",
        "l2_cache_size_bytes": 0,
    }


# --- predicates and precisions ---

ALL_DTYPES = (
    "float16 bfloat16 float32 float64 int8 int32 int4 int2 int1 int64 uint8 bool tfloat32 "
    "float8_e4m3 float8_e5m2 float8_e4m3fn e4m3_float8"
).split()
VOLTA = {("float16", "float32"), ("float16", "float16")}
AMPERE = VOLTA | {("bfloat16", "float32"), ("int8", "int32"), ("int4", "int32"), ("int2", "int32"), ("int1", "int32")}
ADA = VOLTA | {
    ("bfloat16", "float32"),
    ("int8", "int32"),
    ("float8_e5m2", "float32"),
    ("float8_e4m3", "float32"),
}


@pytest.mark.parametrize(
    ("sm", "generation", "precisions"),
    [
        (70, "volta", VOLTA),
        (72, "volta", VOLTA),
        (75, "volta", VOLTA),
        (80, "ampere", AMPERE),
        (86, "ampere", AMPERE),
        (87, "ampere", AMPERE),
        (88, "ampere", AMPERE),
        (89, "ada", ADA),
        (90, "hopper", ADA),
    ],
)
def test_generations_and_their_precisions(sm, generation, precisions):
    for name in (f"sm_{sm}", f"sm_{sm}a"):
        arch = CUDA(name)
        assert arch.sm_version == sm
        found = [g for g in ("volta", "ampere", "ada", "hopper") if getattr(arch_package, f"is_{g}_arch")(arch)]
        assert found == [generation]
        assert arch_package.has_mma_support(arch) is (sm >= 80)
        pairs = itertools.product(ALL_DTYPES, ALL_DTYPES)
        assert {pair for pair in pairs if is_tensorcore_supported_precision(*pair, arch)} == precisions


@pytest.mark.parametrize("name", ["sm_61", "sm_100", "sm_100a", "sm_103", "sm_120"])
def test_generations_without_a_precision_table_raise(name):
    arch = get_arch(name)
    message = f"Unsupported architecture: {name}; carver 0.1.15 knows the tensor cores of sm_70 to sm_90"
    with pytest.raises(ValueError) as caught:
        is_tensorcore_supported_precision("float16", "float32", arch)
    assert str(caught.value) == message
    assert arch_package.has_mma_support(arch) is (name != "sm_61")


def test_predicates_tell_the_classes_apart():
    devices = {"cuda": CUDA("h100"), "cdna": CDNA("mi210"), "rdna": RDNA("9070xt"), "cpu": get_arch("llvm")}
    devices["metal"] = METAL("metal")
    for kind, device in devices.items():
        found = [name for name in devices if getattr(arch_package, f"is_{name}_arch")(device)]
        assert found == [kind]


def test_nvidia_predicates_fail_on_amd_devices_as_in_the_real_carver():
    with pytest.raises(AttributeError, match="'CDNA' object has no attribute 'sm_version'"):
        is_tensorcore_supported_precision("float16", "float32", CDNA("mi300x"))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("sm_90", 90),
        ("sm_90a", 90),
        ("90a", 90),
        ("sm_100f", 100),
        ("sm_90\n", 90),
        ("sm_sm_90", -1),
        ("gfx942", -1),
        ("", -1),
        ("sm_", -1),
        ("SM_90", -1),
        ("sm_90 ", -1),
        ("sm_9x0", -1),
    ],
)
def test_check_sm_version(text, version):
    assert check_sm_version(text) == version


def test_rdna_tuning():
    default = (
        "_RDNATuningConfig(preferred_warps_per_block=4, pipeline_stage=1, reduction_step_by_dtype_bits=((16, 32),))"
    )
    for name in (None, "", "gfx1100", "gfx1150", "gfx1201"):
        assert repr(_get_rdna_tuning_config(name)) == default
    for name in ("gfx1151", "gfx1151:xnack-", " gfx1151 "):
        assert _get_rdna_tuning_config(name).pipeline_stage == 2
    assert RDNA("strix-halo").tuning.pipeline_stage == 2
    assert RDNA("gfx1151:xnack-", compute_max_core=20).tuning.pipeline_stage == 2
    tuning = _get_rdna_tuning_config("gfx1100")
    assert [tuning.reduction_step_for_dtype_bits(bits) for bits in (8, 16, 32)] == [None, 32, None]


def test_tensor_instructions_of_rdna_generations():
    assert [i.shape for i in _get_tensor_instructions_for_generation(12)] == [[16, 16]]
    with pytest.raises(ValueError, match="Unsupported RDNA generation for tensor instructions: 10"):
        _get_tensor_instructions_for_generation(10)


# --- naming a device ---


def test_architecture_with_figures():
    arch = CUDA("sm_90", compute_max_core=132, smem_cap=49152, l2_cache_size_bytes=52428800)
    named = CUDA("h100")
    assert figures_of(arch) == figures_of(named)
    assert str(arch.target.attrs["arch"]) == "sm_90" and named.target.attrs["arch"] == "sm_90a"


def test_get_arch_finds_the_class():
    assert type(get_arch("h100")) is CUDA
    assert type(get_arch("sm_90a")) is CUDA
    assert type(get_arch("gfx942")) is CDNA
    # gfx10 is no RDNA to TileLang.
    assert type(get_arch("gfx1030")) is CDNA and get_arch("gfx1030").warp_size == 32
    assert type(get_arch("gfx1201")) is RDNA
    assert type(get_arch({"kind": "hip", "mcpu": "gfx1100:sramecc-"}, compute_max_core=48)) is RDNA
    assert type(get_arch("mi250x", smem_cap=1024)) is CDNA


def test_tvm_tags_are_names_and_keep_tvms_target_and_l2():
    arch = CUDA("nvidia/geforce-rtx-4090")
    assert arch.compute_max_core == 128 and arch.l2_cache_size_bytes == 75497472
    assert str(arch.target) == (
        '{"kind":"cuda","tag":"","keys":["cuda","gpu"],"max_num_threads":1024,"registers_per_block":65536,'
        '"thread_warp_size":32,"max_shared_memory_per_block":49152,"l2_cache_size_bytes":75497472,'
        '"max_threads_per_block":1024,"arch":"sm_89"}'
    )


def test_l2_of_the_target_comes_first():
    config = {"kind": "cuda", "arch": "sm_80", "l2_cache_size_bytes": 5}
    assert CUDA(config, compute_max_core=108).l2_cache_size_bytes == 5
    assert CUDA(config, compute_max_core=108, l2_cache_size_bytes=7).l2_cache_size_bytes == 7
    # Neither the target nor a driver knows: 0, as in the real carver.
    assert _get_l2_cache_size_bytes(Target("cuda")) == 0


def test_the_device_of_this_machine_is_wanted_and_missing():
    for build in (
        lambda: CUDA("cuda"),
        lambda: get_arch(),
        lambda: get_arch({"kind": "cuda", "arch": "sm_80"}),
        lambda: CUDA(Target("cuda")),
        lambda: CUDA("cuda", compute_max_core=4),
    ):
        with pytest.raises(
            NoDeviceError, match=r"^Cannot find cuda device 0\. Name a device of the catalogue"
        ) as caught:
            build()
        assert isinstance(caught.value, RuntimeError) and isinstance(caught.value, CarverError)
    for build in (lambda: get_arch("hip"), lambda: RDNA({"kind": "hip", "mcpu": "gfx1100"})):
        with pytest.raises(NoDeviceError, match=r"^Cannot find HIP device 0\."):
            build()


def test_target_with_enough_figures_needs_no_device():
    arch = get_arch({"kind": "cuda", "arch": "sm_86"}, compute_max_core=84, l2_cache_size_bytes=0)
    assert (arch.sm_version, arch.smem_cap, arch.compute_max_core, arch.l2_cache_size_bytes) == (86, 49152, 84, 0)
    assert arch.device.max_shared_memory_per_block_optin == 101376


def test_a_figure_that_nobody_gave_fails_when_it_is_read():
    arch = CUDA("sm_90")
    assert arch.smem_cap == 49152 and arch.reg_cap == 65536
    with pytest.raises(MissingFigureError, match=r"has no compute_max_core, .* pass compute_max_core=\.\.\."):
        _ = arch.compute_max_core
    assert not hasattr(arch, "l2_cache_size_bytes")
    with pytest.raises(CarverError):
        _ = CDNA("gfx942").l2_cache_size_bytes


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: CUDA("h10"),
            "unknown device 'h10': did you mean 'h100', 'h100-nvl' or 'h100-pcie'? An architecture such as ",
        ),
        (lambda: get_arch("gtx"), "unknown device 'gtx': no name is near it among the "),
        (
            lambda: CUDA("mi300x"),
            "AMD Instinct MI300X (gfx942) is not a CUDA device; get_arch finds the class that fits",
        ),
        (lambda: CDNA("h100"), "NVIDIA H100 SXM5 80 GB (sm_90) is not an AMD device; get_arch finds"),
        (lambda: CUDA("gfx942"), "gfx942 is not a CUDA device; get_arch finds the class that fits"),
        (lambda: CUDA("llvm"), 'the target {"kind":"llvm","tag":"","keys":["cpu"],"mtriple":""} is not a CUDA device'),
        (lambda: RDNA("gfx942"), "RDNA device model currently supports gfx11/gfx12 targets only, got gfx942."),
        (lambda: RDNA("mi300x"), "RDNA device model currently supports gfx11/gfx12 targets only, got gfx942."),
        (lambda: get_arch("opencl"), "Unsupported target: opencl"),
        (lambda: get_arch(""), "unknown target kind ''; known kinds: llvm, c, cuda, "),
        (lambda: get_arch(90), "a target is a string, a dictionary or a Target, not int: 90"),
        (
            lambda: CUDA("h100", smem_cpa=1),
            "CUDA has no figure 'smem_cpa': did you mean 'smem_cap'? Allowed: name, sm_",
        ),
        (lambda: RDNA("9070xt", sm_version=1), "RDNA has no figure 'sm_version': "),
        (lambda: CUDA("h100", smem_cap=-3), "smem_cap must be a positive integer, got -3"),
        (lambda: CUDA("h100", smem_cap=True), "smem_cap must be a positive integer, got True"),
        (lambda: CUDA("h100", smem_cap=48.0), "smem_cap must be a positive integer, got 48.0"),
        (lambda: CUDA("h100", warp_size="32"), "warp_size must be a positive integer, got '32'"),
        (lambda: CUDA("h100", compute_max_core=0), "compute_max_core must be a positive integer, got 0"),
        (lambda: CUDA("h100", l2_cache_size_bytes=-1), "l2_cache_size_bytes must be an integer of at least 0, got -1"),
        (lambda: CUDA("h100", bandwidth=5), "bandwidth must be a list of two positive integers, got 5"),
        (lambda: CUDA("h100", transaction_size=[32, 0]), "transaction_size must be a positive integer, got 0"),
        (lambda: CUDA("h100", name=""), "name must be a non-empty string, got ''"),
    ],
)
def test_mistakes_are_said_in_one_line(build, message):
    with pytest.raises(CarverError) as caught:
        build()
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_every_figure_can_be_overridden():
    values = {
        "name": "mine",
        "sm_version": 89,
        "platform": "X",
        "smem_cap": 1,
        "compute_max_core": 2,
        "warp_size": 3,
        "compute_capability": "99",
        "reg_cap": 4,
        "max_smem_usage": 5,
        "sm_partition": 6,
        "l2_cache_size_bytes": 0,
        "transaction_size": [7, 8],
        "bandwidth": [9, 10],
    }
    assert set(values) == set(CUDA.FIGURES)
    arch = CUDA("a100", **values)
    assert {name: getattr(arch, name) for name in values} == values
    for build in (CDNA, RDNA):
        figures = {name: value for name, value in values.items() if name in build.FIGURES}
        arch = build("gfx1100", **figures)
        assert {name: getattr(arch, name) for name in figures} == figures


def test_max_smem_usage_follows_smem_cap():
    assert CUDA("h100", smem_cap=101376).max_smem_usage == 202752
    assert CUDA("h100", smem_cap=101376, max_smem_usage=101376).max_smem_usage == 101376
    assert CUDA("h100", max_smem_usage=5).smem_cap == 49152


def test_smem_cap_can_be_the_opt_in_limit():
    arch = CUDA("h100", smem_cap="optin")
    assert (arch.smem_cap, arch.max_smem_usage) == (232448, 464896)
    assert CUDA("sm_86", smem_cap="optin").smem_cap == 101376
    assert RDNA("9070xt", smem_cap="optin").smem_cap == 65536
    with pytest.raises(CarverError, match=r"^the opt-in limit of shared memory is not known for CUDA\("):
        CUDA("sm_199", smem_cap="optin")
    with pytest.raises(CarverError, match="^smem_cap must be a positive integer, got 'opt-in'"):
        CUDA("h100", smem_cap="opt-in")


def test_lists_of_two_devices_are_their_own():
    first, second = CUDA("h100"), CUDA("h100")
    first.bandwidth[0] = 1
    assert second.bandwidth == [750, 12080]


def test_copies():
    arch = CUDA("h100", smem_cap=1024)
    for other in (copy.copy(arch), copy.deepcopy(arch), pickle.loads(pickle.dumps(arch))):
        assert vars(other) == vars(arch)
    assert repr(copy.deepcopy(CUDA("sm_90"))) == repr(CUDA("sm_90"))


# --- targets ---


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ("llvm", '{"kind":"llvm","tag":"","keys":["cpu"],"mtriple":""}'),
        (
            "cuda",
            '{"kind":"cuda","tag":"","keys":["cuda","gpu"],"arch":"sm_50","max_num_threads":1024,"thread_warp_size":32}',
        ),
        (
            "metal",
            '{"kind":"metal","tag":"","keys":["metal","gpu"],"max_function_args":31,"thread_warp_size":16,'
            '"max_shared_memory_per_block":32768,"max_threads_per_block":256,"max_num_threads":256}',
        ),
        (
            {"kind": "cuda", "arch": "sm_80", "host": "llvm"},
            '{"kind":"cuda","tag":"","keys":["cuda","gpu"],"host":{"kind":"llvm","tag":"","keys":["cpu"],"mtriple":""},'
            '"max_num_threads":1024,"thread_warp_size":32,"arch":"sm_80"}',
        ),
        (
            {"tag": "nvidia/nvidia-a100", "arch": "sm_86"},
            '{"kind":"cuda","tag":"nvidia\\/nvidia-a100","keys":["cuda","gpu"],"max_num_threads":1024,'
            '"registers_per_block":65536,"thread_warp_size":32,"max_shared_memory_per_block":49152,'
            '"l2_cache_size_bytes":41943040,"max_threads_per_block":1024,"arch":"sm_86"}',
        ),
        (
            "nvidia/jetson-agx-xavier",
            '{"kind":"cuda","tag":"","keys":["cuda","gpu"],"host":{"kind":"llvm","tag":"","keys":["arm_cpu","cpu"],'
            '"num-cores":8,"mtriple":"aarch64-linux-gnu","mcpu":"carmel"},"max_num_threads":1024,'
            '"registers_per_block":65536,"thread_warp_size":32,"max_shared_memory_per_block":49152,'
            '"max_threads_per_block":1024,"arch":"sm_72"}',
        ),
        (
            {"kind": "hip", "mcpu": "gfx1151:xnack-"},
            '{"kind":"hip","tag":"","keys":["hip","gpu"],"mtriple":"amdgcn-amd-amdhsa-hcc","mcpu":"gfx1151:xnack-"}',
        ),
        # The order of attributes is that of a C++ hash table, collisions and all.
        (
            {"kind": "cuda", "code": ["sm_90a"], "max_threads_per_block": 512, "thread_warp_size": 64},
            '{"kind":"cuda","tag":"","keys":["cuda","gpu"],"max_num_threads":1024,"thread_warp_size":64,"arch":"sm_50",'
            '"max_threads_per_block":512,"code":["sm_90a"]}',
        ),
    ],
)
def test_target_text(config, text):
    target = Target(config)
    assert str(target) == text
    assert Target(target.export()) == Target(text) == Target(target) == target
    assert hash(Target(text)) == hash(target)


def test_target_parts():
    target = Target({"kind": "hip", "mcpu": "gfx942:xnack-", "device": "mine"})
    assert target.kind.name == "hip" and target.mcpu == "gfx942:xnack-" and target.attrs["mcpu"] == "gfx942:xnack-"
    assert target.keys == ("mine", "hip", "gpu") and target.host is None
    assert Target("cuda", host="llvm").host == Target("llvm")
    assert Target("cuda -arch=sm_80 -max_num_threads=512") == Target(
        {"kind": "cuda", "arch": "sm_80", "max_num_threads": 512}
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"arch": "sm_80"}, "a target needs a 'kind'"),
        ({"kind": "cuba"}, "unknown target kind 'cuba'; known kinds: llvm, c, cuda"),
        ({"kind": "cuda", "arch": "80"}, "the arch of a cuda target must start with 'sm_', got '80'"),
        ({"kind": "cuda", "arch": 80}, "target option 'arch' must be str, got int: 80"),
        ({"kind": "cuda", "foo": 1}, "unknown option 'foo' of a cuda target; known options: kind, keys, tag"),
        ({"kind": "hip", "mcpu": "sm_80"}, "the mcpu of a hip target must be a gfx name such as 'gfx942', got 'sm_80'"),
        ({"kind": "hip", "mcpu": " gfx942"}, "the mcpu of a hip target must be a gfx name"),
        ({"tag": "nvidia/h101"}, "unknown target tag 'nvidia/h101'"),
        ("{kind", "a target that starts with '{' must be JSON"),
        ("cuda arch=sm_80", "in the target 'cuda arch=sm_80', 'arch=sm_80' is not an option of the form -name=value"),
        ("auto", "no CUDA or Metal device was found for the target 'auto'"),
    ],
)
def test_bad_targets(config, message):
    with pytest.raises(CarverError) as caught:
        determine_target(config, return_object=True)
    assert str(caught.value).startswith(message)


def test_determine_target_adds_the_warp_size_of_hip():
    for mcpu, warp_size in [("gfx90a", 64), ("gfx1030", 32), ("gfx1201", 32), ("gfx803", None), ("gfx13", None)]:
        target = determine_target({"kind": "hip", "mcpu": mcpu}, return_object=True)
        assert target.attrs.get("thread_warp_size") == warp_size
    assert "thread_warp_size" not in determine_target("hip", return_object=True).attrs
    assert determine_target("llvm") == "llvm"


@pytest.mark.parametrize(
    # mcpu; bare name, CDNA, RDNA, gfx950, warp size, generation
    ("mcpu", "expected"),
    [
        ("gfx803", ("gfx803", False, False, False, 32, 0)),
        ("gfx900", ("gfx900", True, False, False, 64, 0)),
        ("gfx90a:sramecc+:xnack-", ("gfx90a", True, False, False, 64, 0)),
        ("gfx942", ("gfx942", True, False, False, 64, 0)),
        ("gfx950", ("gfx950", True, False, True, 64, 0)),
        ("gfx9-generic", ("gfx9-generic", True, False, False, 64, 0)),
        ("gfx1030", ("gfx1030", False, False, False, 32, 0)),
        ("gfx1100", ("gfx1100", False, True, False, 32, 11)),
        ("gfx1151:xnack-", ("gfx1151", False, True, False, 32, 11)),
        ("gfx11-generic", ("gfx11-generic", False, True, False, 32, 11)),
        ("gfx1201", ("gfx1201", False, True, False, 32, 12)),
        ("gfx1250", ("gfx1250", False, True, False, 32, 12)),
        ("gfx12", ("gfx12", False, True, False, 32, 12)),
        ("gfx13", ("gfx13", False, False, False, 32, 0)),
    ],
)
def test_rocm_questions(mcpu, expected):
    for kind in ("hip", "rocm"):
        target = Target({"kind": kind, "mcpu": mcpu})
        assert targets.target_is_hip(target)
        assert (
            targets.target_get_mcpu(target),
            targets.target_is_cdna(target),
            targets.target_is_rdna(target),
            targets.target_is_gfx950(target),
            targets.target_get_warp_size(target),
            targets.target_get_rdna_generation(target),
        ) == expected


def test_rocm_questions_of_other_targets():
    cpu = Target({"kind": "llvm", "mcpu": "gfx1100"})
    assert not targets.target_is_hip(cpu) and not targets.target_is_rdna(cpu)
    assert targets.target_get_warp_size(cpu) == 32 and targets.target_get_rdna_generation(cpu) == 0
    assert targets.target_get_mcpu(None) is None and targets.target_get_mcpu(Target("llvm")) is None


# --- the current device ---


def test_current_arch_nests_and_ends():
    assert type(auto_infer_current_arch()) is CPU
    outer = CUDA("h100")
    with current_arch(outer) as entered:
        assert entered is outer and auto_infer_current_arch() is outer
        with current_arch("mi300x") as inner:
            assert auto_infer_current_arch() is inner and type(inner) is CDNA
        assert auto_infer_current_arch() is outer
        with pytest.raises(KeyError), current_arch("a100"):
            raise KeyError("leaves the block")
        assert auto_infer_current_arch() is outer
    assert type(auto_infer_current_arch()) is CPU


def test_current_arch_is_per_thread():
    seen = []
    with current_arch("h100"):
        thread = threading.Thread(target=lambda: seen.append(type(auto_infer_current_arch())))
        thread.start()
        thread.join()
    assert seen == [CPU]


def test_carver_arch_variable(monkeypatch):
    monkeypatch.setenv("CARVER_ARCH", "rtx4090")
    assert auto_infer_current_arch().compute_max_core == 128
    with current_arch("h100"):
        assert auto_infer_current_arch().compute_max_core == 132
    monkeypatch.setenv("CARVER_ARCH", "h1oo")
    with pytest.raises(
        CarverError, match=r"^the variable CARVER_ARCH is no device: unknown device 'h1oo': did you mean 'h100'"
    ):
        auto_infer_current_arch()
    monkeypatch.setenv("CARVER_ARCH", "")
    assert type(auto_infer_current_arch()) is CPU


def test_metal_machine(monkeypatch):
    monkeypatch.setattr(arch_package, "check_metal_availability", lambda: True)
    assert type(auto_infer_current_arch()) is METAL


def test_import_is_light():
    code = "import sys, carver.arch; print([m for m in ('numpy', 'networkx', 'ctypes', 'torch') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
