"""A small Target in TVM's place: a kind with attributes, and the questions carver asks of one.

No counterpart in carver itself. It follows `tvm.target.Target` (3rdparty/tvm/src/target/target.cc, target_kind.cc),
`tilelang.backend.target.determine_target` and `tilelang.rocm.target` as far as carver and its users can see them: the
attributes that a kind fills in, the checks on them, and the text of a target, which ends up in `repr` and in errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from .errors import CarverError, shown

ROCM_MTRIPLE = "amdgcn-amd-amdhsa-hcc"

# Options that every kind knows. "host" and "keys" are kept apart from the attributes.
_COMMON_OPTIONS: dict[str, type] = {
    "kind": str,
    "keys": list,
    "tag": str,
    "device": str,
    "model": str,
    "libs": list,
    "host": object,
    "from_device": int,
    "target_device_type": int,
}

# Per kind: default keys, then option -> type or default value, in TVM's order of declaration, which decides the order
# of the attributes. An option given as a type has no default. Only the kinds that a device model or a message of
# carver can meet; the others of TVM (hexagon, ascend, composite, ...) would only ever be refused by get_arch.
_KINDS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "llvm": (
        ("cpu",),
        {
            "mattr": list,
            "mcpu": str,
            "mtriple": str,
            "mfloat-abi": str,
            "mabi": str,
            "num-cores": int,
            "fast-math": bool,
            "fast-math-nnan": bool,
            "fast-math-ninf": bool,
            "fast-math-nsz": bool,
            "fast-math-arcp": bool,
            "fast-math-contract": bool,
            "fast-math-reassoc": bool,
            "opt-level": int,
            "cl-opt": list,
            "jit": str,
            "vector-width": int,
        },
    ),
    "c": (
        ("cpu",),
        {"mcpu": str, "march": str, "workspace-byte-alignment": int, "constants-byte-alignment": int},
    ),
    "cuda": (
        ("cuda", "gpu"),
        {
            "mcpu": str,
            "arch": str,
            "code": list,
            "max_shared_memory_per_block": int,
            "max_threads_per_block": int,
            "thread_warp_size": 32,
            "registers_per_block": int,
            "l2_cache_size_bytes": int,
            "max_num_threads": 1024,
        },
    ),
    "nvptx": (
        ("cuda", "gpu"),
        {"mcpu": str, "mtriple": str, "max_num_threads": 1024, "thread_warp_size": 32},
    ),
    "rocm": (
        ("rocm", "gpu"),
        {
            "mcpu": str,
            "mtriple": str,
            "mattr": list,
            "max_num_threads": 256,
            "max_threads_per_block": 256,
            "max_shared_memory_per_block": 65536,
            "thread_warp_size": 64,
        },
    ),
    # TVM means the numbers of "hip" as defaults too, but hands them over in a way that is ignored: a hip target has
    # neither a thread limit nor a warp size until determine_target adds the latter.
    "hip": (
        ("hip", "gpu"),
        {
            "mcpu": str,
            "mtriple": str,
            "mattr": list,
            "max_num_threads": int,
            "max_threads_per_block": int,
            "max_shared_memory_per_block": int,
            "thread_warp_size": int,
        },
    ),
    "opencl": (
        ("opencl", "gpu"),
        {
            "max_threads_per_block": 256,
            "max_shared_memory_per_block": 16384,
            "max_num_threads": 256,
            "thread_warp_size": 1,
            "texture_spatial_limit": 16384,
            "texture_depth_limit": 2048,
            "max_function_args": 128,
            "image_base_address_alignment": 64,
        },
    ),
    "metal": (
        ("metal", "gpu"),
        {
            "max_num_threads": 256,
            "max_threads_per_block": 256,
            "max_shared_memory_per_block": 32768,
            "thread_warp_size": 16,
            "max_function_args": 31,
        },
    ),
    "vulkan": (
        ("vulkan", "gpu"),
        {
            "mattr": list,
            "supports_float16": bool,
            "supports_float32": True,
            "supports_float64": bool,
            "supports_int8": bool,
            "supports_int16": bool,
            "supports_int32": True,
            "supports_int64": bool,
            "supports_8bit_buffer": bool,
            "supports_16bit_buffer": bool,
            "supports_storage_buffer_storage_class": bool,
            "supports_push_descriptor": bool,
            "supports_dedicated_allocation": bool,
            "supports_integer_dot_product": bool,
            "supports_cooperative_matrix": bool,
            "supported_subgroup_operations": int,
            "max_num_threads": 256,
            "max_threads_per_block": 256,
            "thread_warp_size": 1,
            "max_block_size_x": int,
            "max_block_size_y": int,
            "max_block_size_z": int,
            "max_push_constants_size": int,
            "max_uniform_buffer_range": int,
            "max_storage_buffer_range": int,
            "max_per_stage_descriptor_storage_buffer": int,
            "max_shared_memory_per_block": int,
            "device_type": str,
            "device_name": str,
            "driver_name": str,
            "driver_version": int,
            "vulkan_api_version": int,
            "max_spirv_version": int,
        },
    ),
    "webgpu": (
        ("webgpu", "gpu"),
        {"max_num_threads": 256, "supports_subgroups": False, "thread_warp_size": 1},
    ),
}

# TVM's tags (python/tvm/target/tag_registry/cuda.py) for the architectures from Volta on: what a tag adds to the four
# limits all of them state. A tag's L2 size is TVM's figure and wins over a device's own, as in the real carver.
_CUDA_TAGS: dict[str, dict[str, Any]] = {
    "nvidia/nvidia-a100": {"arch": "sm_80", "l2_cache_size_bytes": 41943040},
    "nvidia/nvidia-h100": {"arch": "sm_90a", "l2_cache_size_bytes": 52428800},
    "nvidia/nvidia-b100": {"arch": "sm_100a", "l2_cache_size_bytes": 52428800},
    "nvidia/nvidia-a40": {"arch": "sm_86"},
    "nvidia/nvidia-a30": {"arch": "sm_80"},
    "nvidia/nvidia-a10": {"arch": "sm_86"},
    "nvidia/nvidia-a10g": {"arch": "sm_86"},
    "nvidia/nvidia-a16": {"arch": "sm_86"},
    "nvidia/nvidia-a2": {"arch": "sm_86"},
    "nvidia/nvidia-t4": {"arch": "sm_75"},
    "nvidia/nvidia-v100": {"arch": "sm_70"},
    "nvidia/rtx-a6000": {"arch": "sm_86"},
    "nvidia/quadro-rtx-8000": {"arch": "sm_75"},
    "nvidia/quadro-rtx-6000": {"arch": "sm_75"},
    "nvidia/quadro-rtx-5000": {"arch": "sm_75"},
    "nvidia/quadro-rtx-4000": {"arch": "sm_75"},
    "nvidia/quadro-gv100": {"arch": "sm_70"},
    "nvidia/rtx-5000": {"arch": "sm_75"},
    "nvidia/rtx-4000": {"arch": "sm_75"},
    "nvidia/rtx-3000": {"arch": "sm_75"},
    "nvidia/t2000": {"arch": "sm_75"},
    "nvidia/t1000": {"arch": "sm_75"},
    "nvidia/geforce-rtx-5060-ti": {"arch": "sm_120", "l2_cache_size_bytes": 33554432},
    "nvidia/geforce-rtx-4090": {"arch": "sm_89", "l2_cache_size_bytes": 75497472},
    "nvidia/geforce-rtx-3090-ti": {"arch": "sm_86"},
    "nvidia/geforce-rtx-3090": {"arch": "sm_86"},
    "nvidia/geforce-rtx-3080-ti": {"arch": "sm_86"},
    "nvidia/geforce-rtx-3080": {"arch": "sm_86"},
    "nvidia/geforce-rtx-3070-ti": {"arch": "sm_86"},
    "nvidia/geforce-rtx-3070": {"arch": "sm_86"},
    "nvidia/geforce-rtx-3060": {"arch": "sm_86"},
    "nvidia/nvidia-titan-rtx": {"arch": "sm_75"},
    "nvidia/geforce-rtx-2080-ti": {"arch": "sm_75"},
    "nvidia/geforce-rtx-2080": {"arch": "sm_75"},
    "nvidia/geforce-rtx-2070": {"arch": "sm_75"},
    "nvidia/geforce-rtx-2060": {"arch": "sm_75"},
    "nvidia/nvidia-titan-v": {"arch": "sm_70"},
    "nvidia/jetson-agx-xavier": {"arch": "sm_72", "host": ("carmel", 8)},
    "nvidia/jetson-orin-nano": {"arch": "sm_87", "host": ("carmel", 6)},
    "nvidia/jetson-agx-orin-32gb": {"arch": "sm_87", "host": ("cortex-a78", 8)},
    "nvidia/jetson-agx-orin-64gb": {"arch": "sm_87", "host": ("cortex-a78", 12)},
}


class TargetKind:
    """What a target compiles for, by name: "cuda", "hip", "llvm", "metal", ..."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TargetKind) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class Target:
    """A compilation target: `kind`, `attrs`, `keys`, `tag` and an optional `host`. Treat it as immutable.

    Built from a kind ("cuda", "hip", "llvm", "metal", ...), from one of TVM's tags ("nvidia/geforce-rtx-4090"), from a
    dictionary ({"kind": "cuda", "arch": "sm_80"}, or {"tag": ..., overrides}), from that dictionary as JSON, or from
    another Target. The form "cuda -arch=sm_80", which older versions of TVM read, is understood as well.

    Raises CarverError for an unknown kind or option, a value of the wrong type, a CUDA `arch` that does not start
    with "sm_", and an AMD `mcpu` that does not start with "gfx".
    """

    __slots__ = ("kind", "tag", "keys", "attrs", "host")

    kind: TargetKind
    tag: str
    keys: tuple[str, ...]
    attrs: dict[str, Any]
    host: Target | None

    def __init__(self, target: str | Mapping[str, Any] | Target, host: str | Mapping[str, Any] | Target | None = None):
        if isinstance(target, Target):
            self.kind, self.tag, self.keys, self.attrs, self.host = (
                target.kind,
                target.tag,
                target.keys,
                target.attrs,
                target.host,
            )
        elif isinstance(target, (str, Mapping)):
            try:
                self._read_config(_config_of_string(target) if isinstance(target, str) else dict(target))
            except RecursionError:
                raise CarverError(f"a target is nested too deeply: {shown(target)}") from None
        else:
            raise CarverError(
                f"a target is a string, a dictionary or a Target, not {type(target).__name__}: {shown(target)}"
            )
        if host is not None:
            self.host = Target(host)

    def _read_config(self, config: dict[str, Any]) -> None:
        """Fill in this target from a dictionary, in the steps of TVM's `TargetInternal::FromConfig`."""
        if "kind" not in config and "tag" in config:
            tag = config["tag"]
            if not isinstance(tag, str) or tag not in _CUDA_TAGS:
                known = "a tag is one of TVM's, such as 'nvidia/nvidia-a100'"
                raise CarverError(f"unknown target tag {shown(tag)}; {known}")
            config = {**_config_of_tag(tag), **config}

        kind = config.get("kind")
        if kind is None:
            raise CarverError(f"a target needs a 'kind', one of {', '.join(_KINDS)}; got {shown(config)}")
        if not isinstance(kind, str) or kind not in _KINDS:
            raise CarverError(f"unknown target kind {shown(kind)}; known kinds: {', '.join(_KINDS)}")
        default_keys, options = _KINDS[kind]

        host = config.pop("host", None)
        attrs: dict[str, Any] = {}
        for name, expected in (*_COMMON_OPTIONS.items(), *options.items()):
            has_default = not isinstance(expected, type)
            if name in config:
                attrs[name] = _checked_option(name, config[name], type(expected) if has_default else expected)
            elif has_default:
                attrs[name] = expected
        for name in config:
            if name not in _COMMON_OPTIONS and name not in options:
                known = ", ".join((*_COMMON_OPTIONS, *options))
                raise CarverError(f"unknown option {shown(name)} of a {kind} target; known options: {known}")
        _canonicalize(kind, attrs)

        del attrs["kind"]
        keys = [str(key) for key in attrs.pop("keys", ())]
        keys_given = bool(keys) or "keys" in config
        if "device" in attrs:
            keys.append(attrs["device"])
        if not keys_given:
            keys.extend(default_keys)
        self.kind = TargetKind(kind)
        self.tag = attrs.pop("tag", "")
        self.keys = tuple(dict.fromkeys(keys))
        self.attrs = {name: attrs[name] for name in _hash_order(attrs)}
        self.host = None if host is None else Target(host)

    @property
    def mcpu(self) -> str | None:
        """The AMD or CPU model, such as "gfx942", as it was given; None where the target has none."""
        return self.attrs.get("mcpu")

    def export(self) -> dict[str, Any]:
        """This target as a dictionary, from which `Target(...)` builds an equal one."""
        result: dict[str, Any] = {"kind": self.kind.name, "tag": self.tag, "keys": self.keys}
        if self.host is not None:
            result["host"] = self.host.export()
        result.update(self.attrs)
        return result

    def __str__(self) -> str:
        import json

        # TVM's writer of JSON escapes slashes.
        return json.dumps(self.export(), separators=(",", ":")).replace("/", "\\/")

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.export() == other.export()

    def __hash__(self) -> int:
        return hash((self.kind, self.tag, self.keys, frozenset(self.attrs)))


def _config_of_string(text: str) -> dict[str, Any]:
    """The dictionary that a target string stands for: a tag, JSON, a kind, or a kind with "-name=value" options."""
    if text in _CUDA_TAGS:
        return _config_of_tag(text)
    if text.startswith("{"):
        import json

        try:
            config = json.loads(text)
        except ValueError as err:
            raise CarverError(f"a target that starts with '{{' must be JSON, but {shown(text)} is not: {err}") from err
        if not isinstance(config, dict):
            raise CarverError(f"a target in JSON must be an object, got {shown(text)}")
        return config
    kind, *words = text.split() if text.strip() else [text]
    config: dict[str, Any] = {"kind": kind}
    options = _KINDS[kind][1] if kind in _KINDS else {}
    for word in words:
        name, separator, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not separator:
            raise CarverError(f"in the target {shown(text)}, {shown(word)} is not an option of the form -name=value")
        expected = options.get(name, str)
        wants_int = expected is int or type(expected) is int
        config[name] = int(value) if wants_int and value.isdecimal() else value
    return config


def _config_of_tag(tag: str) -> dict[str, Any]:
    """What TVM's registry of tags holds for one of its CUDA tags."""
    config: dict[str, Any] = {"kind": "cuda", "keys": ["cuda", "gpu"]}
    config.update(
        max_shared_memory_per_block=49152, max_threads_per_block=1024, thread_warp_size=32, registers_per_block=65536
    )
    config.update(_CUDA_TAGS[tag])
    if "host" in config:
        mcpu, cores = config["host"]
        # TVM works out the keys of an LLVM host from its triple.
        keys = ["arm_cpu", "cpu"]
        config["host"] = {
            "kind": "llvm",
            "keys": keys,
            "mtriple": "aarch64-linux-gnu",
            "mcpu": mcpu,
            "num-cores": cores,
        }
    return config


def _checked_option(name: str, value: Any, expected: type) -> Any:
    """`value` as an option of type `expected`; CarverError where it is not one."""
    if expected is object:
        return value
    if expected is list and isinstance(value, (list, tuple)):
        return list(value)
    if expected is int and isinstance(value, int):
        return int(value)
    if expected is not int and isinstance(value, expected):
        return value
    raise CarverError(f"target option {name!r} must be {expected.__name__}, got {type(value).__name__}: {shown(value)}")


def _canonicalize(kind: str, attrs: dict[str, Any]) -> None:
    """What the kind makes of its attributes once all are there (the `Update...Attrs` functions of target_kind.cc)."""
    if kind == "cuda":
        # Without a device TVM falls back on this architecture. determine_target asks the driver before it comes here.
        if not attrs.setdefault("arch", "sm_50").startswith("sm_"):
            raise CarverError(f"the arch of a cuda target must start with 'sm_', got {shown(attrs['arch'])}")
    elif kind in ("hip", "rocm"):
        attrs.setdefault("mtriple", ROCM_MTRIPLE)
        mcpu = attrs.setdefault("mcpu", "gfx900")
        if not mcpu.startswith("gfx") or not mcpu[3:4].isalnum():
            raise CarverError(f"the mcpu of a {kind} target must be a gfx name such as 'gfx942', got {shown(mcpu)}")
    elif kind == "nvptx":
        attrs.setdefault("mtriple", "nvptx64-nvidia-cuda")
        if not attrs.setdefault("mcpu", "sm_50").startswith("sm_"):
            raise CarverError(f"the mcpu of an nvptx target must start with 'sm_', got {shown(attrs['mcpu'])}")
    elif kind == "llvm" and "mtriple" not in attrs and "mcpu" not in attrs:
        attrs["mtriple"] = ""
    elif kind == "webgpu" and attrs["supports_subgroups"]:
        attrs["thread_warp_size"] = 32


def _murmur_hash(text: str) -> int:
    """GNU C++'s `std::hash` of a string: 64-bit MurmurHash2 with the library's own seed."""
    mask, multiplier = 2**64 - 1, 0xC6A4A7935BD1E995
    data = text.encode()
    whole = len(data) - len(data) % 8
    result = 0xC70F6907 ^ (len(data) * multiplier & mask)
    for start in range(0, whole, 8):
        word = int.from_bytes(data[start : start + 8], "little") * multiplier & mask
        word = (word ^ word >> 47) * multiplier & mask
        result = (result ^ word) * multiplier & mask
    if whole < len(data):
        result = (result ^ int.from_bytes(data[whole:], "little")) * multiplier & mask
    result = (result ^ result >> 47) * multiplier & mask
    return result ^ result >> 47


def _hash_order(names: Mapping[str, Any]) -> list[str]:
    """The order in which TVM lists a target's attributes: that of the C++ `unordered_map` they pass through.

    The map has 13 buckets (it would grow at the fourteenth attribute; no target here comes to that). A name goes
    before the others of its bucket, and a new bucket goes before all others.
    """
    order: list[str] = []
    buckets: list[int] = []
    for name in names:
        bucket = _murmur_hash(name) % 13
        position = buckets.index(bucket) if bucket in buckets else 0
        order.insert(position, name)
        buckets.insert(position, bucket)
    return order


@overload
def determine_target(target: str | Mapping[str, Any] | Target, return_object: Literal[True]) -> Target: ...
@overload
def determine_target(
    target: str | Mapping[str, Any] | Target = "auto", return_object: bool = False
) -> str | Mapping[str, Any] | Target: ...
# vendored: backend/target.py:122-134
def determine_target(
    target: str | Mapping[str, Any] | Target = "auto", return_object: bool = False
) -> str | Mapping[str, Any] | Target:
    """Check a target, and fill in what only the machine or the architecture name can tell.

    "cuda" takes its architecture from the CUDA device, where there is one, and a hip target gets its warp size. "auto"
    is the CUDA device, or Metal on an Apple machine. With `return_object` the result is always a Target; without, a
    target that needed nothing filled in comes back as it was given.
    """
    # NOTE: no scope of current targets (TVM's `with Target(...)`) and no detector for ROCm, WebGPU or Ascend.
    if isinstance(target, str):
        target = target.strip()
        if target == "auto":
            target = _detect_target()
        if target == "cuda":
            arch = _detect_cuda_arch()
            target = Target("cuda" if arch is None else {"kind": "cuda", "arch": arch})
    checked = Target(target)
    if checked.kind.name == "hip" and not isinstance(target, str):
        return with_rocm_target_attrs(checked)
    return checked if return_object or isinstance(target, Target) else target


def _detect_target() -> str:
    """The kind of the device of this machine, for the target "auto"."""
    if _detect_cuda_arch() is not None:
        return "cuda"
    if check_metal_availability():
        return "metal"
    raise CarverError(
        "no CUDA or Metal device was found for the target 'auto'; name a target, such as 'cuda' or 'llvm'"
    )


def _detect_cuda_arch() -> str | None:
    """The SM architecture of the first CUDA device, such as "sm_90a"; None where there is none."""
    from .driver import get_cuda_device_properties

    properties = get_cuda_device_properties()
    return None if properties is None else cuda_arch_of(properties.major, properties.minor)


def cuda_arch_of(major: int, minor: int) -> str:
    """The architecture TileLang names for a compute capability: with the feature suffix "a" from Hopper on.

    Source: tilelang/contrib/nvcc.py, get_target_arch.
    """
    return f"sm_{major * 10 + minor}{'a' if major >= 9 else ''}"


# vendored: metal/target.py:18-23
def check_metal_availability() -> bool:
    """Whether this is an Apple machine with a GPU of Apple's own."""
    from platform import mac_ver

    release, _, machine = mac_ver()
    return bool(release) and machine == "arm64"


# vendored: rocm/target.py:16-20
def normalize_rocm_arch(arch: str | None) -> str | None:
    """A gfx name without its feature suffixes ("gfx942:sramecc+" -> "gfx942"); None for anything else."""
    name = "" if arch is None else str(arch).strip().partition(":")[0]
    return name if name.startswith("gfx") else None


# vendored: rocm/target.py:23-28
def target_get_mcpu(target: str | Target | None) -> str | None:
    """The bare gfx name of a target; None without a target or without a gfx name."""
    if target is None:
        return None
    parsed = Target(target) if isinstance(target, str) else target
    return normalize_rocm_arch(parsed.attrs.get("mcpu"))


# vendored: rocm/target.py:31-38
def rocm_warp_size_for_arch(arch: str | None) -> int | None:
    """Threads in a wavefront: 64 for gfx9, 32 for gfx10 to gfx12, None for an architecture older or newer."""
    if arch is None:
        return None
    if arch.startswith("gfx9"):
        return 64
    return 32 if arch.startswith(("gfx10", "gfx11", "gfx12")) else None


# vendored: rocm/target.py:41-55
def with_rocm_target_attrs(target: Target) -> Target:
    """A hip target with the warp size of its architecture; any other target unchanged."""
    if target.kind.name != "hip":
        return target
    arch = target_get_mcpu(target)
    if arch is None:
        return target
    config = target.export()
    config.setdefault("mtriple", ROCM_MTRIPLE)
    warp_size = rocm_warp_size_for_arch(arch)
    if warp_size is None:
        config.pop("thread_warp_size", None)
    else:
        config["thread_warp_size"] = warp_size
    return Target(config)


def _rocm_mcpu(target: Target) -> str:
    """The `mcpu` of a target that runs on ROCm, suffixes and all; empty for any other target."""
    # TVM asks for the device type, which "rocm" and "hip" share.
    return target.attrs.get("mcpu", "") if target.kind.name in ("hip", "rocm") else ""


# vendored: rocm/target.py:125-126
def target_is_hip(target: Target) -> bool:
    """Whether the target runs on ROCm."""
    return target.kind.name in ("hip", "rocm")


# vendored: rocm/target.py:129-130
# tilelang: src/rocm/target_utils.cc (TargetIsCDNA)
def target_is_cdna(target: Target) -> bool:
    """Whether the architecture is gfx9, which TileLang takes for CDNA (Vega, gfx900, included)."""
    return _rocm_mcpu(target).startswith("gfx9")


# vendored: rocm/target.py:133-134
# tilelang: src/rocm/target_utils.cc (TargetIsRDNA)
def target_is_rdna(target: Target) -> bool:
    """Whether the architecture is gfx11 or gfx12. RDNA 1 and 2, gfx10, do not count."""
    return _rocm_mcpu(target).startswith(("gfx11", "gfx12"))


# vendored: rocm/target.py:137-138
# tilelang: src/rocm/target_utils.cc (TargetIsGfx950)
def target_is_gfx950(target: Target) -> bool:
    """Whether the architecture is gfx950 (CDNA 4)."""
    return "gfx950" in _rocm_mcpu(target)


# vendored: rocm/target.py:141-142
# tilelang: src/rocm/target_utils.cc (TargetRocmGetWarpSize)
def target_get_warp_size(target: Target) -> int:
    """Threads in a wavefront: 64 on CDNA, 32 on everything else."""
    return 64 if target_is_cdna(target) else 32


# vendored: rocm/target.py:145-146
# tilelang: src/rocm/target_utils.cc (TargetGetRDNAGeneration)
def target_get_rdna_generation(target: Target) -> int:
    """11 for gfx11, 12 for gfx12, 0 for anything else."""
    if not target_is_rdna(target):
        return 0
    return 11 if _rocm_mcpu(target).startswith("gfx11") else 12


__all__ = [
    "Target",
    "TargetKind",
    "determine_target",
    "normalize_rocm_arch",
    "rocm_warp_size_for_arch",
    "target_get_mcpu",
    "target_get_rdna_generation",
    "target_get_warp_size",
    "target_is_cdna",
    "target_is_gfx950",
    "target_is_hip",
    "target_is_rdna",
    "with_rocm_target_attrs",
]
