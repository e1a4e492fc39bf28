"""Data types: TVM's dtype strings ("int32", "float16", "float8_e4m3", "bool", ...) and what their letters mean.

Stands in for ``tvm.DataType`` and the predicates of ``tvm/runtime/data_type.h``. There are no vectors: lanes is 1.
"""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

from ...arch.errors import CarverError

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
_PLAIN = re.compile(r"(int|uint|float|bfloat)(\d+)")
_DEFAULT_BITS = {"int": 32, "uint": 32, "float": 32, "bfloat": 16}


@lru_cache(maxsize=None)
def parse(dtype: str) -> tuple[str, int]:
    """The kind of a dtype and its width in bits: ("int", 32). Raises CarverError for a name TVM does not know."""
    if dtype in _SPECIAL_FLOATS:
        return dtype.split("_")[0], _SPECIAL_FLOATS[dtype]
    if dtype == "bool":
        return "bool", 8
    if dtype in ("handle", "void"):
        return dtype, 64 if dtype == "handle" else 0
    if dtype in _DEFAULT_BITS:
        return dtype, _DEFAULT_BITS[dtype]
    match = _PLAIN.fullmatch(dtype)
    if match and 0 < int(match.group(2)) <= 255:
        return match.group(1), int(match.group(2))
    common = ["bool", "int8", "int32", "uint8", "float16", "bfloat16", "float32", "float64", *_SPECIAL_FLOATS]
    near = difflib.get_close_matches(dtype, common, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are intN, uintN, floatN and {', '.join(common)}"
    raise CarverError(f"unknown dtype {dtype!r}: {hint}")


def bits(dtype: str) -> int:
    """Width of one element in bits."""
    return parse(dtype)[1]


def is_int(dtype: str) -> bool:
    return parse(dtype)[0] == "int"


def is_uint(dtype: str) -> bool:
    return parse(dtype)[0] == "uint"


def is_bool(dtype: str) -> bool:
    return dtype == "bool"


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
    """A dtype string that knows its width, standing in for ``tvm.DataType``."""

    __slots__ = ()

    def __new__(cls, dtype: str) -> DataType:
        kind, width = parse(dtype)
        # TVM prints the full name: DataType("int") is "int32".
        return super().__new__(cls, f"{dtype}{width}" if dtype in _DEFAULT_BITS else dtype)

    @property
    def bits(self) -> int:
        return parse(self)[1]

    @property
    def lanes(self) -> int:
        return 1

    @property
    def type_code(self) -> str:
        """The kind, as a word: "int", "uint", "float", "bfloat", "float8", ... (TVM has a number here)."""
        return parse(self)[0]

    @property
    def itemsize(self) -> int:
        """Bytes of one element, rounded up."""
        return (self.bits + 7) // 8
