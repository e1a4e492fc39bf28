"""The catalogue of devices: its range, each row's consistency, names, and figures known from device queries."""

from __future__ import annotations

import dataclasses
import json

import pytest
from carver.arch import CDNA, CUDA, RDNA, CarverError, get_arch
from carver.arch.catalogue import CUDA_SHARED_MEMORY, DEVICES, as_dict, find, lookup, shared_memory_limits, suggestions
from carver.arch.target import _CUDA_TAGS

KIB, MIB = 1024, 1024 * 1024


def test_range_of_the_catalogue():
    archs = {spec.arch for spec in DEVICES}
    assert len(DEVICES) >= 35
    assert archs >= {
        "sm_70",
        "sm_72",
        "sm_75",
        "sm_80",
        "sm_86",
        "sm_87",
        "sm_89",
        "sm_90",
        "sm_100",
        "sm_120",
        "sm_121",
    }
    # CDNA 2, 3 and 4; RDNA 3, 3.5 and 4.
    assert archs >= {
        "gfx90a",
        "gfx942",
        "gfx950",
        "gfx1100",
        "gfx1101",
        "gfx1102",
        "gfx1150",
        "gfx1151",
        "gfx1200",
        "gfx1201",
    }


@pytest.mark.parametrize("spec", DEVICES, ids=lambda spec: spec.name)
def test_row(spec):
    arch = get_arch(spec.name)
    assert type(arch) is (CUDA if spec.kind == "cuda" else RDNA if spec.arch.startswith(("gfx11", "gfx12")) else CDNA)
    assert arch.compute_max_core == spec.compute_max_core > 0
    assert arch.smem_cap == spec.smem_cap and arch.max_smem_usage == 2 * spec.smem_cap
    assert arch.device.max_shared_memory_per_block_optin == spec.smem_optin >= spec.smem_cap
    assert arch.reg_cap == spec.reg_cap and arch.warp_size == spec.warp_size
    assert arch.device.l2_cache_size_bytes == spec.l2_cache_size_bytes > 0
    if type(arch) is not RDNA:
        assert arch.l2_cache_size_bytes == spec.l2_cache_size_bytes
    if spec.kind == "cuda":
        assert f"sm_{arch.sm_version}" == spec.arch and arch.compute_capability == spec.arch.removeprefix("sm_")
        assert spec.smem_cap == 48 * KIB and arch.name == spec.title
    # Every row says where its figures are from, with at least one address.
    assert "https://" in spec.source and len(spec.source) > 60
    for name in (spec.name, spec.title, *spec.aliases):
        assert find(name) is spec
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.smem_cap = 1
    assert not hasattr(spec, "__dict__")


def test_row_as_a_dictionary():
    row = as_dict(lookup("h100"))
    assert (row["name"], row["arch"], row["compute_max_core"], row["smem_optin"]) == ("h100", "sm_90", 132, 232448)
    assert json.loads(json.dumps(row))["aliases"][0] == "h100-sxm"


def test_names_are_unique():
    names = [spec.name for spec in DEVICES]
    assert len(set(names)) == len(names)
    assert len({spec.title for spec in DEVICES}) == len(names)


@pytest.mark.parametrize(
    # cores, L2 in bytes, opt-in shared memory: as device queries print them
    ("name", "expected"),
    [
        ("v100", (80, 6291456, 98304)),
        ("titan v", (80, 4718592, 98304)),
        ("t4", (40, 4194304, 65536)),
        ("rtx 2080 ti", (68, 5767168, 65536)),
        ("a100", (108, 41943040, 166912)),
        ("a100-pcie-80gb", (108, 41943040, 166912)),
        ("a10", (72, 6291456, 101376)),
        ("a10g", (80, 6291456, 101376)),
        ("rtx3060", (28, 2359296, 101376)),
        ("rtx3060ti", (38, 3145728, 101376)),
        ("rtx3080", (68, 5242880, 101376)),
        ("rtx3090", (82, 6291456, 101376)),
        ("agx-orin", (16, 4194304, 166912)),
        ("l4", (58, 50331648, 101376)),
        ("l40s", (142, 100663296, 101376)),
        ("rtx4090", (128, 75497472, 101376)),
        ("h100", (132, 52428800, 232448)),
        ("h100-pcie", (114, 52428800, 232448)),
        ("h100-nvl", (132, 62914560, 232448)),
        ("h200", (132, 62914560, 232448)),
        ("h20", (78, 62914560, 232448)),
        ("gh200", (132, 62914560, 232448)),
        ("b200", (148, 132644864, 232448)),
        ("thor", (20, 33554432, 232448)),
        ("gb10", (48, 25165824, 101376)),
        ("rtx5090", (170, 100663296, 101376)),
        ("mi210", (104, 8388608, 65536)),
        ("mi250x", (110, 8388608, 65536)),
        ("mi300x", (304, 4194304, 65536)),
        ("mi300a", (228, 4194304, 65536)),
        ("mi355x", (256, 4194304, 163840)),
        ("rx7900xtx", (48, 6291456, 65536)),
        ("rx7900xt", (42, 6291456, 65536)),
        ("8060s", (20, 2097152, 65536)),
        ("780m", (6, 2097152, 65536)),
    ],
)
def test_figures(name, expected):
    spec = lookup(name)
    assert (spec.compute_max_core, spec.l2_cache_size_bytes, spec.smem_optin) == expected


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("H100", "h100"),
        (" h100 ", "h100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A100-SXM4-40GB", "a100"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("RTX-4090", "rtx4090"),
        ("geforce_rtx_2080_ti", "rtx2080ti"),
        ("AMD Instinct MI300X", "mi300x"),
        ("Radeon RX 7900 XTX", "rx7900xtx"),
        ("Tesla T4", "t4"),
        ("DGX Spark", "gb10"),
        ("Jetson AGX Orin 64GB", "agx-orin"),
        ("nvidia/rtx-5000", "quadro-rtx5000-mobile"),
        ("nvidia/nvidia-h100", "h100"),
    ],
)
def test_spellings(given, name):
    assert lookup(given).name == name


def test_every_tag_but_one_is_a_name():
    missing = [tag for tag in _CUDA_TAGS if find(tag) is None]
    assert missing == ["nvidia/nvidia-b100"]
    for tag in _CUDA_TAGS.keys() - set(missing):
        arch = CUDA(tag)
        assert arch.target.attrs["arch"] == _CUDA_TAGS[tag]["arch"]
        assert f"sm_{arch.sm_version}" == find(tag).arch


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("h10", ["h100", "h100-nvl", "h100-pcie"]),
        ("mi300", ["mi300a", "mi300x", "mi100"]),
        ("xavier", ["xavier-nx", "agx-xavier"]),
        ("hl00", ["h100", "h100-nvl", "h100-pcie"]),
        ("rtx4090ti", ["rtx4090", "rtx4070ti", "rtx4060ti"]),
        ("zzzz", []),
    ],
)
def test_suggestions(given, near):
    assert suggestions(given) == near
    with pytest.raises(CarverError, match=f"^unknown device '{given}': "):
        lookup(given)


def test_shared_memory_by_architecture():
    assert shared_memory_limits("sm_90a") == (49152, 232448)
    assert shared_memory_limits("sm_75") == (49152, 65536)
    assert shared_memory_limits("sm_101") == (49152, None)
    assert shared_memory_limits("gfx950:sramecc+") == (163840, 163840)
    assert shared_memory_limits("gfx1100") == (65536, 65536)
    assert {static for static, _ in CUDA_SHARED_MEMORY.values()} == {49152}
