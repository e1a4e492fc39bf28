"""The arguments that several commands share: a computation (template and its parameters) and a device.

``carver COMMAND TEMPLATE --M 1024 ... --arch a100 --smem-cap 101376``
"""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass, field
from typing import Any

from ..arch.errors import CarverError, shown

DTYPE_HELP = "float16, bfloat16, float32, int8, float8_e4m3, ..."

# Above this a dimension is refused at once: TVM counts elements in signed 64 bit integers, and the factors of larger
# numbers take longer to find than anyone waits.
LARGEST = 2**40
# A whole number of sane length: Python itself refuses very long ones, and takes digits of any alphabet.
_WHOLE = re.compile(r"[+-]?[0-9](_?[0-9]){,38}")


@dataclass(frozen=True)
class Option:
    """One parameter of a template: its name there, its flag here, and how to read it."""

    name: str
    help: str
    kind: str = "size"  # size, sizes, flag, dtype, text, or count (a size that may be 0)
    default: Any = None
    required: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True)
class Template:
    """A template of carver, as the command line offers it."""

    name: str
    class_name: str
    help: str
    options: tuple[Option, ...]
    example: str
    aliases: tuple[str, ...] = field(default=())


def _dtypes(accum: str = "float16") -> tuple[Option, ...]:
    return (
        Option("in_dtype", f"dtype of the inputs ({DTYPE_HELP})", "dtype", "float16"),
        Option("accum_dtype", "dtype of the sums", "dtype", accum),
        Option("out_dtype", "dtype of the output", "dtype", "float16"),
    )


_BIAS = Option("with_bias", "add a bias", "flag", False)

TEMPLATES: tuple[Template, ...] = (
    Template(
        "matmul",
        "MatmulTemplate",
        "C[M, N] = A[M, K] x B[N, K]",
        (
            Option("M", "rows of A and C", required=True),
            Option("N", "columns of C", required=True),
            Option("K", "length of the sums", required=True),
            Option("trans_A", "A is stored [K, M]", "flag", False),
            Option("trans_B", "B is stored [N, K]", "flag", True),
            *_dtypes(),
            _BIAS,
        ),
        "matmul --M 8192 --N 8192 --K 8192 --accum-dtype float32 --arch a100",
    ),
    Template(
        "gemv",
        "GEMVTemplate",
        "C[1, N] = A[1, K] x B[N, K]",
        (
            Option("N", "columns of C", required=True),
            Option("K", "length of the sums", required=True),
            Option("trans_B", "B is stored [N, K]", "flag", True),
            *_dtypes(),
            _BIAS,
        ),
        "gemv --N 16384 --K 16384 --arch h100",
    ),
    Template(
        "conv",
        "ConvTemplate",
        "convolution, NHWC input and HWCF weight",
        (
            Option("N", "images", required=True),
            Option("C", "input channels", required=True),
            Option("H", "height of the input", required=True),
            Option("W", "width of the input", required=True),
            Option("F", "filters (output channels)", required=True),
            Option("K", "height and width of a filter", required=True),
            Option("S", "stride", default=1),
            Option("D", "dilation", default=1),
            Option("P", "padding; carver's template refuses 0", "count", 1),
            *_dtypes(),
            _BIAS,
        ),
        "conv --N 128 --C 128 --H 28 --W 28 --F 128 --K 3 --arch a100",
    ),
    Template(
        "elementwise",
        "ElementwiseTemplate",
        "B = A + 1",
        (
            Option("shape", "extents of the tensor", "sizes", required=True),
            Option("dtype", f"dtype of the tensor ({DTYPE_HELP})", "dtype", "float16"),
        ),
        "elementwise --shape 4096 4096 --dtype float32 --arch a100",
    ),
    Template(
        "reduce",
        "GeneralReductionTemplate",
        "sum over the axes marked R",
        (
            Option("structure", "one letter per axis: S spatial, R reduced", "text", required=True),
            Option("shape", "extents of the tensor", "sizes", required=True),
            Option("dtype", f"dtype of the tensor ({DTYPE_HELP})", "dtype", "float16"),
        ),
        "reduce --structure SR --shape 65536 1024 --dtype float32 --arch a100",
    ),
    Template(
        "attention",
        "FlashAttentionTemplate",
        "the two matmuls of attention as one graph",
        (
            Option("batch_size", "sequences", default=1),
            Option("num_heads", "heads", default=1),
            Option("head_dim", "length of a head's vectors", required=True),
            Option("seq_length", "length of the queries", required=True),
            Option("seq_kv_length", "length of the keys (default: of the queries)"),
            Option("is_causal", "masked attention; carver's model does not look at it", "flag", False),
            *_dtypes(),
        ),
        "attention --batch-size 1 --num-heads 16 --seq-length 512 --head-dim 64 --arch a100",
        ("flashattention",),
    ),
)

# flag -> (attribute of the device, what it is)
DEVICE_FIGURES: dict[str, tuple[str, str]] = {
    "--smem-cap": ("smem_cap", "shared memory per block in bytes, or 'optin' for the device's opt-in limit"),
    "--max-smem-usage": ("max_smem_usage", "shared memory per SM in bytes (default: twice smem-cap)"),
    "--cores": ("compute_max_core", "streaming multiprocessors, or compute units"),
    "--l2": ("l2_cache_size_bytes", "L2 cache in bytes"),
    "--regs": ("reg_cap", "32-bit registers per block"),
    "--sm-partition": ("sm_partition", "partitions of an SM"),
    "--warp-size": ("warp_size", "threads of a warp"),
}


def size(text: str) -> int:
    """A positive whole number, as an argument type."""
    return _whole(text, 1)


def count(text: str) -> int:
    """A whole number from 0."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if _WHOLE.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number")
    value = int(text.replace("_", ""))
    if value < least:
        raise argparse.ArgumentTypeError(f"{value} is too small: at least {least}")
    if value > LARGEST:
        raise argparse.ArgumentTypeError(f"{value} is too large: at most {LARGEST} (2**40)")
    return value


def dtype(text: str) -> str:
    """A dtype's name, as an argument type."""
    from ..roller.tir.dtypes import parse

    try:
        kind, _ = parse(text)
    except CarverError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if kind in ("handle", "void"):
        raise argparse.ArgumentTypeError(f"{text!r} is no dtype of a tensor; take {DTYPE_HELP}")
    return text


def add_computation(parser: argparse.ArgumentParser, more=None) -> None:
    """Add ``TEMPLATE`` and its parameters, and the device; ``more(parser)`` adds a command's own arguments."""
    commands = parser.add_subparsers(dest="template", metavar="TEMPLATE", required=True)
    parser.epilog = f"{parser.prog} TEMPLATE --help tells more. An example:\n  {parser.prog} {TEMPLATES[0].example}"
    for template in TEMPLATES:
        example = f"example:\n  {parser.prog} {template.example}"
        sub = commands.add_parser(template.name, aliases=template.aliases, help=template.help, epilog=example)
        sub.set_defaults(template=template)
        for option in template.options:
            _add_option(sub, option)
        add_device(sub)
        if more is not None:
            more(sub)


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    if option.kind == "flag":
        default = "yes" if option.default else "no"
        parser.add_argument(
            option.flag,
            dest=option.name,
            action=argparse.BooleanOptionalAction,
            default=option.default,
            help=f"{option.help} (default: {default})",
        )
        return
    kinds = {"size": size, "sizes": size, "count": count, "dtype": dtype, "text": str}
    text = option.help if option.default is None else f"{option.help} (default: {option.default})"
    parser.add_argument(
        option.flag,
        dest=option.name,
        type=kinds[option.kind],
        nargs="+" if option.kind == "sizes" else None,
        default=option.default,
        required=option.required,
        metavar="N" if option.kind in ("size", "sizes", "count") else "NAME",
        help=text,
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add ``--arch`` and the device's figures."""
    group = parser.add_argument_group("device")
    group.add_argument("--arch", metavar="NAME", help="a100, h100, rtx4090, mi300x, sm_90, ... (see carver devices)")
    for flag, (attribute, text) in DEVICE_FIGURES.items():
        kind = smem_cap if flag == "--smem-cap" else count if flag == "--l2" else size
        group.add_argument(flag, dest=attribute, type=kind, metavar="N", help=text)


def smem_cap(text: str) -> int | str:
    return "optin" if text == "optin" else size(text)


def device_of(args: argparse.Namespace) -> Any:
    """The device that the arguments name; without ``--arch`` the current one."""
    from .. import arch

    figures = {attribute: getattr(args, attribute) for attribute, _ in DEVICE_FIGURES.values()}
    figures = {attribute: value for attribute, value in figures.items() if value is not None}
    name = args.arch or os.environ.get("CARVER_ARCH")
    if name:
        return _complete(arch.get_arch(name, **figures), name)
    device = arch.auto_infer_current_arch()
    if arch.is_cpu_arch(device):
        raise CarverError("no device: give --arch NAME, or set CARVER_ARCH (carver devices lists the names)")
    if figures and arch.is_cuda_arch(device):
        device = arch.get_arch("cuda", **figures)
    return _complete(device, "this machine")


def _complete(device: Any, name: str) -> Any:
    """The device, if it has all the figures that carver's model reads."""
    missing = [flag for flag, (attribute, _) in DEVICE_FIGURES.items() if not hasattr(device, attribute)]
    if len(missing) == len(DEVICE_FIGURES):
        raise CarverError(f"carver models CUDA and AMD devices, and {shown(name)} is neither")
    if missing:
        given = " and ".join(f"{flag} N" for flag in missing)
        raise CarverError(f"{shown(name)} names no particular device: give {given} (carver devices lists those known)")
    return device


def parameters_of(args: argparse.Namespace) -> dict[str, Any]:
    """The template's parameters by name."""
    values = {option.name: getattr(args, option.name) for option in args.template.options}
    if args.template.name == "attention" and values["seq_kv_length"] is None:
        values["seq_kv_length"] = values["seq_length"]
    return values


def _check_filter(args: argparse.Namespace) -> None:
    """A filter must not cover more than there is: carver's template makes outputs of 0 or fewer pixels of that."""
    covered = args.D * (args.K - 1) + 1
    for flag, extent in (("--H", args.H), ("--W", args.W)):
        if args.P > 0 and covered > extent + 2 * args.P:
            raise CarverError(
                f"a filter of --K {args.K} with --D {args.D} covers {covered} pixels, "
                f"more than {flag} {extent} with a padding of {args.P} on each side"
            )


def template_of(args: argparse.Namespace, device: Any) -> Any:
    """The template, built for the device."""
    from .. import arch
    from ..roller import template as templates

    if args.template.name == "conv":
        _check_filter(args)
    cls = getattr(templates, args.template.class_name)
    with arch.current_arch(device):
        return cls(**parameters_of(args)).with_arch(device)
