"""Data types: TVM's dtype strings ("int32", "float16", "float8_e4m3", "bool", ...) and what their letters mean.

Stands in for ``tvm.DataType`` and the predicates of ``tvm/runtime/data_type.h``. There are no vectors: lanes is 1.
"""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

from ...arch.errors import CarverError, shown

# The float formats whose name carries more than a width, and the width that TVM counts for them.
_SPECIAL_FLOATS = {
    "float8_e3m4": 8,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 8,
    "float8_e4m3fn": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float4_e2m1fn": 4,
}
# TVM reads a missing width, and a width of 0, as these.
_DEFAULT_BITS = {"int": 32, "uint": 32, "float": 32, "bfloat": 16, "bool": 8, "handle": 64}
_PLAIN = re.compile(r"(int|uint|float|bfloat|bool|handle)0*([0-9]{0,3})")
_LANES = re.compile(r"(vscalex)?0*([1-9][0-9]*)")

# DLPack's numbers of the kinds; void is a handle to it.
_HANDLE_CODE = 3
_TYPE_CODES = {"int": 0, "uint": 1, "float": 2, "handle": _HANDLE_CODE, "bfloat": 4, "bool": 6}
_TYPE_CODES |= {name: 7 + place for place, name in enumerate(_SPECIAL_FLOATS)}

# What a message names: the most used of those that there are.
_COMMON = ("bool", "int8", "int32", "uint8", "float16", "bfloat16", "float32", "float64")


# tvm: tvm_ffi src/ffi/dtype.cc (StringViewToDLDataType_)
@lru_cache(maxsize=None)
def _base_and_bits(dtype: str) -> tuple[str, int]:
    """The name without width and lanes, and the width: ("int", 32), ("float8_e4m3", 8).

    Raises CarverError for a name that TVM does not know, and for a vector dtype.
    """
    scalar, x, lanes = dtype.partition("x")
    plain = _PLAIN.fullmatch(scalar)
    if plain is not None:
        base, width = plain[1], int(plain[2] or 0) or _DEFAULT_BITS[plain[1]]
        # No handle of another width: its name, "handle" too, would not tell.
        is_known = width <= 255 and (base, width == 64) != ("handle", False)
    else:
        base, width = scalar, _SPECIAL_FLOATS.get(scalar, 0)
        is_known = scalar in _SPECIAL_FLOATS or dtype == "void"
    count = _LANES.fullmatch(lanes) if x else None
    if not is_known or (x and count is None):
        raise CarverError(_unknown(dtype))
    if count is not None and (count[1] or count[2] != "1"):
        raise CarverError(f"vector dtypes are not supported, got {shown(dtype)}: take {scalar}")
    return base, width


def _unknown(dtype: str) -> str:
    near = difflib.get_close_matches(dtype[:40], [*_COMMON, *_SPECIAL_FLOATS], n=2)
    known = f"known are intN, uintN, floatN and {', '.join(_COMMON)}, float8_e4m3, float8_e5m2 and others of TVM"
    hint = f"did you mean {' or '.join(near)}?" if near else known
    return f"unknown dtype {shown(dtype)}: {hint}"


@lru_cache(maxsize=None)
def parse(dtype: str) -> tuple[str, int]:
    """The kind of a dtype and its width in bits: ("int", 32). Raises CarverError for a name TVM does not know."""
    base, width = _base_and_bits(dtype)
    if base == "bfloat" and width != 16:
        # TVM reads the name, but counts it to no kind: it has no constants and no arithmetic.
        return "other", width
    return base.split("_")[0], width


def bits(dtype: str) -> int:
    """Width of one element in bits."""
    return parse(dtype)[1]


def is_int(dtype: str) -> bool:
    return parse(dtype)[0] == "int"


def is_uint(dtype: str) -> bool:
    return parse(dtype)[0] == "uint"


def is_bool(dtype: str) -> bool:
    return parse(dtype)[0] == "bool"


def is_float(dtype: str) -> bool:
    """Whether this is one of IEEE's: bfloat16 and the 8, 6 and 4 bit formats are kinds of their own, as in TVM."""
    return parse(dtype)[0] == "float"


def is_bfloat16(dtype: str) -> bool:
    return parse(dtype)[0] == "bfloat"


def is_float8(dtype: str) -> bool:
    return parse(dtype)[0] == "float8"


def is_float6(dtype: str) -> bool:
    return parse(dtype)[0] == "float6"


def is_float4(dtype: str) -> bool:
    return parse(dtype)[0] == "float4"


def is_handle(dtype: str) -> bool:
    return dtype == "handle"


def is_index_type(dtype: str) -> bool:
    """Whether TVM folds constants of this type in index arithmetic: the signed 32 and 64 bit integers."""
    return dtype in ("int32", "int64")


class DataType(str):
    """A dtype string that knows its width, standing in for ``tvm.DataType``.

    Attributes:
        bits: the width of one element in bits.
    """

    bits: int

    def __new__(cls, dtype: str) -> DataType:
        if type(dtype) is cls:
            return dtype
        if not isinstance(dtype, str):
            raise CarverError(f"a dtype is a string such as 'float16', got {shown(dtype)}")
        base, width = _base_and_bits(dtype)
        # TVM prints the full name: DataType("int") is "int32", and a bool of 8 bits is "bool".
        has_width = base in _DEFAULT_BITS and base != "handle" and (base, width) != ("bool", 8)
        self = super().__new__(cls, f"{base}{width}" if has_width else base)
        self.bits = width
        return self

    @property
    def lanes(self) -> int:
        return 1

    @property
    def type_code(self) -> int:
        """DLPack's number of the kind: 0 for int, 1 for uint, 2 for float, ..."""
        base, _ = _base_and_bits(self)
        return _TYPE_CODES.get(base, _HANDLE_CODE)

    @property
    def itemsize(self) -> int:
        """Bytes of one element, rounded up."""
        return (self.bits + 7) // 8

    def __repr__(self) -> str:
        return f"dtype({str(self)!r})"
