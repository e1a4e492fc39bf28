"""Expressions: the nodes of TVM's tirx, the operators that build them, and the walks over them.

Stands in for ``tvm.tirx`` expressions (include/tvm/tirx/expr.h, src/tirx/op/op.cc, src/arith/const_fold.h). Two ways
to build a node, as in TVM:

* the class itself, ``Add(a, b)``, makes the node as it is;
* the functions ``add``, ``floordiv``, ... and Python's operators match the operands' dtypes and fold constants.

``==`` on expressions gives an ``EqualOp``: as a truth value it asks whether both are the same object, as an operand it
becomes an ``EQ`` node. Analysis code uses ``is`` and :func:`structural_equal`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...arch.errors import CarverError, shown
from . import dtypes
from .dtypes import is_index_type


class TirError(CarverError):
    """What TVM refuses in an expression, a block or a schedule."""


# --------------------------------------------------------------------------------------------------------------------
# Nodes
# --------------------------------------------------------------------------------------------------------------------


class ExprOp:
    """The operators of expressions, as Python writes them."""

    __slots__ = ()

    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return sub(self, other)

    def __rsub__(self, other):
        return sub(other, self)

    def __mul__(self, other):
        return mul(self, other)

    def __rmul__(self, other):
        return mul(other, self)

    def __truediv__(self, other):
        return _true_divide(self, other)

    def __rtruediv__(self, other):
        return _true_divide(other, self)

    def __floordiv__(self, other):
        return floordiv(self, other)

    def __rfloordiv__(self, other):
        return floordiv(other, self)

    def __mod__(self, other):
        return floormod(self, other)

    def __rmod__(self, other):
        return floormod(other, self)

    def __neg__(self):
        return mul(self, const(-1, convert(self).dtype))

    def __lshift__(self, other):
        return left_shift(self, other)

    def __rlshift__(self, other):
        return left_shift(other, self)

    def __rshift__(self, other):
        return right_shift(self, other)

    def __rrshift__(self, other):
        return right_shift(other, self)

    def __and__(self, other):
        return bitwise_and(self, other)

    def __rand__(self, other):
        return bitwise_and(other, self)

    def __or__(self, other):
        return bitwise_or(self, other)

    def __ror__(self, other):
        return bitwise_or(other, self)

    def __xor__(self, other):
        return bitwise_xor(self, other)

    def __rxor__(self, other):
        return bitwise_xor(other, self)

    def __invert__(self):
        if dtypes.is_float(convert(self).dtype):
            raise TirError("the operator ~ takes an integer or a bool, not a float expression")
        return bitwise_not(self)

    def __lt__(self, other):
        return less(self, other)

    def __le__(self, other):
        return less_equal(self, other)

    def __gt__(self, other):
        return greater(self, other)

    def __ge__(self, other):
        return greater_equal(self, other)

    def __eq__(self, other):
        return EqualOp(self, other)

    def __ne__(self, other):
        return NotEqualOp(self, other)

    __hash__ = object.__hash__

    def __bool__(self):
        raise TirError("an expression has no truth value: write te.all(...), te.any(...) instead of and, or, not")

    def equal(self, other):
        """The node that compares with another expression (``==`` is lazy)."""
        return equal(self, other)

    def astype(self, dtype: str):
        """Cast to another dtype; constants are folded."""
        return cast(dtype, self)


class EqualOp(ExprOp):
    """``a == b``, undecided: a truth value (the same object?) or an operand (an EQ node)."""

    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __bool__(self):
        return self.a is self.b

    def asobject(self):
        return equal(self.a, self.b)

    @property
    def dtype(self):
        return "bool"


class NotEqualOp(ExprOp):
    """``a != b``, undecided: a truth value (another object?) or an operand (an NE node)."""

    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __bool__(self):
        return self.a is not self.b

    def asobject(self):
        return not_equal(self.a, self.b)

    @property
    def dtype(self):
        return "bool"


class PrimExpr(ExprOp):
    """An expression. Immutable; ``dtype`` is a string."""

    __slots__ = ("dtype",)

    def same_as(self, other) -> bool:
        return self is other

    def __repr__(self) -> str:
        return to_string(self)


# TVM has a class between for the expressions that Python's operators apply to, which are all of them here.
PrimExprWithOp = PrimExpr


class ConstExpr(PrimExpr):
    """A constant."""

    __slots__ = ()


class IntImm(ConstExpr):
    """An integer or bool constant."""

    __slots__ = ("value",)

    def __init__(self, dtype: str, value: int):
        if type(value) is not int:
            value = int(value)
        if dtype == "int32":
            if not -2147483648 <= value <= 2147483647:
                raise TirError(f"the constant {value} does not fit int32 (-2147483648 to 2147483647)")
        else:
            _check_int_range(dtype, value)
        self.dtype = dtype
        self.value = value

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __bool__(self) -> bool:
        return self.value != 0

    def __eq__(self, other):
        return equal(self, other)

    def __ne__(self, other):
        return not_equal(self, other)

    def __hash__(self) -> int:
        return hash(self.value)


class FloatImm(ConstExpr):
    """A float constant."""

    __slots__ = ("value",)

    def __init__(self, dtype: str, value: float):
        value = float(value)
        limit = _FLOAT_MAX.get(dtype, math.inf)
        if limit == math.inf and dtypes.parse(dtype)[0] not in _FLOAT_KINDS:
            raise TirError(f"cannot make a constant of dtype {dtype}")
        if not -limit <= value <= limit or (value < 0 and dtype in _FLOAT_NOT_NEGATIVE):
            _check_float_range(dtype, value)
        self.dtype = dtype
        self.value = value

    def __float__(self) -> float:
        return self.value


class StringImm(ConstExpr):
    """A string constant."""

    __slots__ = ("value",)

    def __init__(self, value: str):
        self.dtype = "handle"
        self.value = value


class Var(PrimExpr):
    """A variable; two variables are the same only when they are one object."""

    __slots__ = ("name",)

    def __init__(self, name: str, dtype: str = "int32"):
        if not isinstance(name, str):
            raise TirError(f"the name of a variable is a string, got {name!r}")
        self.dtype = dtype
        self.name = name


class SizeVar(Var):
    """A variable that is not negative: a symbolic extent."""

    __slots__ = ()


class BinaryOpExpr(PrimExpr):
    """A node with operands a and b of one dtype."""

    __slots__ = ("a", "b")

    def __init__(self, a: PrimExpr, b: PrimExpr):
        try:
            same = a.dtype == b.dtype
        except AttributeError:  # a plain number
            a, b = convert(a), convert(b)
            same = a.dtype == b.dtype
        if not same:
            raise TirError(f"{type(self).__name__} takes operands of one dtype, got {a.dtype} and {b.dtype}")
        self.dtype = a.dtype
        self.a = a
        self.b = b


class CmpExpr(BinaryOpExpr):
    """A comparison: a binary node whose value is bool."""

    __slots__ = ()

    def __init__(self, a: PrimExpr, b: PrimExpr):
        try:
            same = a.dtype == b.dtype
        except AttributeError:  # a plain number
            a, b = convert(a), convert(b)
            same = a.dtype == b.dtype
        if not same:
            raise TirError(f"{type(self).__name__} takes operands of one dtype, got {a.dtype} and {b.dtype}")
        self.dtype = "bool"
        self.a = a
        self.b = b


class Add(BinaryOpExpr):
    __slots__ = ()


class Sub(BinaryOpExpr):
    __slots__ = ()


class Mul(BinaryOpExpr):
    __slots__ = ()


class Div(BinaryOpExpr):
    """Division that truncates towards zero on integers."""

    __slots__ = ()


class Mod(BinaryOpExpr):
    """The remainder of the truncating division."""

    __slots__ = ()


class FloorDiv(BinaryOpExpr):
    __slots__ = ()


class FloorMod(BinaryOpExpr):
    __slots__ = ()


class Min(BinaryOpExpr):
    __slots__ = ()


class Max(BinaryOpExpr):
    __slots__ = ()


class EQ(CmpExpr):
    __slots__ = ()


class NE(CmpExpr):
    __slots__ = ()


class LT(CmpExpr):
    __slots__ = ()


class LE(CmpExpr):
    __slots__ = ()


class GT(CmpExpr):
    __slots__ = ()


class GE(CmpExpr):
    __slots__ = ()


class LogicalExpr(CmpExpr):
    """A binary node on bools."""

    __slots__ = ()

    def __init__(self, a: PrimExpr, b: PrimExpr):
        super().__init__(a, b)
        if self.a.dtype != "bool" and not dtypes.is_bool(self.a.dtype):
            raise TirError(f"{type(self).__name__} takes bools, got operands of dtype {self.a.dtype}")


class And(LogicalExpr):
    __slots__ = ()


class Or(LogicalExpr):
    __slots__ = ()


class Not(PrimExpr):
    __slots__ = ("a",)

    def __init__(self, a: PrimExpr):
        self.dtype = "bool"
        self.a = a if isinstance(a, PrimExpr) else convert(a)
        if self.a.dtype != "bool" and not dtypes.is_bool(self.a.dtype):
            raise TirError(f"Not takes a bool, got {self.a} of dtype {self.a.dtype}")


class Select(PrimExpr):
    """A choice that evaluates both values; ``if_then_else`` (a Call) evaluates one."""

    __slots__ = ("condition", "true_value", "false_value")

    def __init__(self, condition, true_value, false_value):
        condition, true_value, false_value = convert(condition), convert(true_value), convert(false_value)
        if not dtypes.is_bool(condition.dtype):
            raise TirError(f"Select takes a bool condition, got {condition} of dtype {condition.dtype}")
        if true_value.dtype != false_value.dtype:
            raise TirError(f"Select takes values of one dtype, got {true_value.dtype} and {false_value.dtype}")
        self.dtype = true_value.dtype
        self.condition = condition
        self.true_value = true_value
        self.false_value = false_value


class Cast(PrimExpr):
    __slots__ = ("value",)

    def __init__(self, dtype: str, value):
        if type(dtype) is not str:
            dtype = str(dtypes.DataType(dtype))
        dtypes.parse(dtype)
        self.dtype = dtype
        self.value = convert(value)


class Call(PrimExpr):
    """A call of an operator by name: "tirx.if_then_else", "tirx.exp", "tirx.shift_right", ..."""

    __slots__ = ("op", "args")

    def __init__(self, dtype: str, op: str, args: Iterable):
        self.dtype = dtype
        self.op = op
        self.args = tuple(convert(arg) for arg in args)


class Let(PrimExpr):
    __slots__ = ("var", "value", "body")

    def __init__(self, var: Var, value, body):
        self.var = var
        self.value = convert(value)
        self.body = convert(body)
        self.dtype = self.body.dtype
        if self.value.dtype != var.dtype:
            raise TirError(f"Let gives {var.name} of dtype {var.dtype} a value of dtype {self.value.dtype}")


class Range:
    """``extent`` values from ``min``: ``Range(begin, end)`` up to ``end``, ``Range(end)`` from 0 up to ``end``."""

    __slots__ = ("min", "extent")

    def __init__(self, begin, end=None):
        if end is None:
            end = convert(begin)
            begin = make_zero(end.dtype)
        self.min = convert(begin)
        self.extent = convert(end) if is_zero(self.min) else sub(end, self.min)

    @classmethod
    def from_min_extent(cls, min, extent) -> Range:
        """``extent`` values from ``min`` on."""
        made = cls.__new__(cls)
        made.min = convert(min)
        made.extent = convert(extent)
        return made

    def __repr__(self) -> str:
        return f"I.Range({self.min}, {add(self.min, self.extent)})"


class IterVar(ExprOp):
    """An iterator: a variable, its domain, and its kind (spatial: DataPar; reduction: CommReduce)."""

    __slots__ = ("dom", "var", "iter_type", "thread_tag")

    DataPar = 0
    ThreadIndex = 1
    CommReduce = 2
    Ordered = 3
    Opaque = 4
    Unrolled = 5
    Vectorized = 6
    Parallelized = 7
    Tensorized = 8

    def __init__(self, dom: Range | tuple | None, var: Var | str, iter_type: int, thread_tag: str = ""):
        if isinstance(dom, (tuple, list)):
            dom = Range(dom[0], dom[1])
        if isinstance(var, str):
            var = Var(var, dom.extent.dtype if dom is not None else "int32")
        self.dom = dom
        self.var = var
        self.iter_type = iter_type
        self.thread_tag = thread_tag

    @property
    def dtype(self) -> str:
        return self.var.dtype

    def asobject(self) -> Var:
        return self.var

    # An axis has no dtype of its own in TVM, which these two ask for.
    def __neg__(self):
        raise TirError(f"-{self.var.name} of an axis: write 0 - {self.var.name}")

    def __invert__(self):
        raise TirError(f"~{self.var.name} of an axis: write -1 - {self.var.name}")

    def same_as(self, other) -> bool:
        return self is other

    def __repr__(self) -> str:
        kind = {0: "S", 2: "R", 3: "O"}.get(self.iter_type, str(self.iter_type))
        extent = self.dom.extent if self.dom is not None else "?"
        return f'<IterVar {self.var.name} "{kind}" {extent}>'


class CommReducer:
    """A commutative reduction: result(lhs, rhs) per component, and where each starts."""

    __slots__ = ("lhs", "rhs", "result", "identity_element")

    def __init__(self, lhs, rhs, result, identity_element):
        self.lhs = tuple(lhs)
        self.rhs = tuple(rhs)
        self.result = tuple(result)
        self.identity_element = tuple(identity_element)

    def __call__(self, lhs: Sequence[PrimExpr], rhs: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """The combined values, one per component."""
        vmap = dict(zip(self.lhs, lhs)) | dict(zip(self.rhs, rhs))
        return tuple(substitute(result, vmap) for result in self.result)


class Reduce(PrimExpr):
    """A reduction of ``source`` over ``axis``; ``value_index`` is the component of a tuple reduction."""

    __slots__ = ("combiner", "source", "init", "axis", "condition", "value_index")

    def __init__(self, combiner, source, axis, condition, value_index, init=()):
        self.combiner = combiner
        self.source = tuple(source)
        self.init = tuple(init)
        self.axis = tuple(axis)
        self.condition = condition
        self.value_index = value_index
        self.dtype = self.source[value_index].dtype


class ProducerLoad(PrimExpr):
    """A read of a te tensor."""

    __slots__ = ("producer", "indices")

    def __init__(self, producer, indices):
        self.dtype = producer.dtype
        self.producer = producer
        self.indices = tuple(convert(index) for index in indices)


class BufferLoad(PrimExpr):
    """A read of one element of a buffer."""

    __slots__ = ("buffer", "indices")

    def __init__(self, buffer, indices):
        self.dtype = buffer.dtype
        self.buffer = buffer
        self.indices = tuple(convert(index) for index in indices)


BINARY_OPS = (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, EQ, NE, LT, LE, GT, GE, And, Or)

# For walks, which meet these most.
_BINARY = frozenset(BINARY_OPS)
_LEAVES = frozenset((IntImm, FloatImm, StringImm, Var, SizeVar))


# --------------------------------------------------------------------------------------------------------------------
# Constants and conversion
# --------------------------------------------------------------------------------------------------------------------


def _check_int_range(dtype: str, value: int) -> None:
    kind, width = dtypes.parse(dtype)
    if kind == "bool" or (kind == "int" and width == 1):
        low, high = 0, 1
    elif kind == "uint":
        # TVM stores every constant in a signed 64 bit integer.
        low, high = 0, min(2**width, 2**63) - 1
    elif kind == "int":
        low, high = -(2 ** (min(width, 64) - 1)), 2 ** (min(width, 64) - 1) - 1
    else:
        raise TirError(f"an integer constant needs an int, uint or bool dtype, not {dtype}")
    if not low <= value <= high:
        raise TirError(f"the constant {value} does not fit {dtype} ({low} to {high})")


def _check_float_range(dtype: str, value: float) -> None:
    """Refuse a literal beyond its dtype. Infinities and not-a-number are literals of every dtype."""
    # TVM's bound for literals of bfloat16 is beyond the largest one it gives for the dtype.
    limit = 3.895313892515354759047080037148786688e38 if dtype == "bfloat16" else _FLOAT_MAX.get(dtype, math.inf)
    low = 0.0 if dtype in _FLOAT_NOT_NEGATIVE else -limit
    if math.isfinite(value) and not low <= value <= limit:
        raise TirError(f"the constant {value} does not fit {dtype} ({low} to {limit})")


def convert(value) -> PrimExpr:
    """A Python value as an expression: bool, int (int32 when it fits, else int64), float (float32), string."""
    if isinstance(value, PrimExpr):
        return value
    as_object = getattr(value, "asobject", None)
    if as_object is not None:
        return as_object()
    if isinstance(value, bool):
        return IntImm("bool", int(value))
    if isinstance(value, int):
        return IntImm("int32" if -2147483648 <= value <= 2147483647 else "int64", value)
    if isinstance(value, float):
        return FloatImm("float32", value)
    if isinstance(value, str):
        return StringImm(value)
    number = getattr(value, "item", None)  # numpy's scalars
    if number is not None and not getattr(value, "shape", ()):
        return convert(number())
    raise TirError(f"cannot make an expression of {shown(value)} ({type(value).__name__})")


def const(value, dtype: str | None = None) -> PrimExpr:
    """A constant; without a dtype a bool is bool, an int int32 (int64 when large), a float float32."""
    if dtype is None:
        return convert(value)
    if dtype == "uint64" and isinstance(value, int) and 2**63 <= value < 2**64:
        return large_uint_imm(dtype, value)
    return make_const(dtype, value)


# tvm: src/tirx/op/op.cc (LargeUIntImm)
def large_uint_imm(dtype: str, value: int) -> PrimExpr:
    """What stands for an unsigned constant of 64 bits that an IntImm, which is signed, cannot hold: its two halves."""
    return Call(dtype, "tirx.large_uint_imm", (IntImm("uint32", value % 2**32), IntImm("uint32", value // 2**32)))


def make_const(dtype: str, value) -> PrimExpr:
    if type(value) is int and is_index_type(dtype):
        return IntImm(dtype, value)
    kind = dtypes.parse(dtype)[0]
    if isinstance(value, (str, bytes, ExprOp)):
        raise TirError(f"cannot make a {dtype} of {shown(value)}")
    try:
        if kind not in ("int", "uint", "bool"):
            return FloatImm(dtype, value)
        # numpy's integers have an index, its floats a whole part; -0.5 is negative though its whole part is not.
        whole = value.__index__() if hasattr(value, "__index__") else int(value)
        is_negative = bool(value < 0)
    except TirError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise TirError(f"cannot make a {dtype} of {shown(value)}") from None
    if kind == "uint" and is_negative:
        raise TirError(f"cannot make a {dtype} of the negative value {value}")
    return IntImm(dtype, whole)


def make_zero(dtype: str) -> PrimExpr:
    return make_const(dtype, 0)


TRUE = IntImm("bool", 1)
FALSE = IntImm("bool", 0)

# Opaque values for the ends of an unbounded interval: arguments of min_ and max_ only, as in src/arith/const_fold.h.
POS_INF = Var("pos_inf", "handle")
NEG_INF = Var("neg_inf", "handle")


def is_const_int(expr: PrimExpr, value: int | None = None) -> bool:
    """Whether this is an integer constant (with that value, if one is given)."""
    return type(expr) is IntImm and (value is None or expr.value == value)


def as_const_int(expr: PrimExpr) -> int | None:
    return expr.value if type(expr) is IntImm else None


def is_zero(expr: PrimExpr) -> bool:
    return type(expr) is IntImm and expr.value == 0


def is_one(expr: PrimExpr) -> bool:
    return type(expr) is IntImm and expr.value == 1


_FLOAT_MAX = {
    "float64": 1.7976931348623157e308,
    "float32": 3.4028234663852886e38,
    "float16": 65504.0,
    # TVM gives bfloat16 the limits of float32.
    "bfloat16": 3.4028234663852886e38,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 448.0,
    "float8_e4m3": 448.0,
    "float8_e4m3b11fnuz": 30.0,
    "float8_e3m4": 31.0,
    "float8_e8m0fnu": 3.4028236692093846e38,
    "float6_e2m3fn": 7.5,
    "float6_e3m2fn": 28.0,
    "float4_e2m1fn": 6.0,
}
_FLOAT_KINDS = ("float", "bfloat", "float8", "float6", "float4")
_FLOAT_NOT_NEGATIVE = ("float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e8m0fnu")


def max_value(dtype: str) -> PrimExpr:
    """The largest value of a dtype."""
    if not isinstance(dtype, str):
        raise TirError(f"max_value takes a dtype, got {shown(dtype)}")
    kind, width = dtypes.parse(dtype)
    if kind == "int" and width <= 64:
        return IntImm(dtype, 2 ** (width - 1) - 1)
    if kind == "uint" and width < 64:
        return IntImm(dtype, 2**width - 1)
    if dtype == "uint64":
        return large_uint_imm(dtype, 2**64 - 1)
    if dtype in _FLOAT_MAX:
        return FloatImm(dtype, _FLOAT_MAX[dtype])
    raise TirError(f"no largest value for dtype {dtype}")


def min_value(dtype: str) -> PrimExpr:
    """The smallest value of a dtype."""
    if not isinstance(dtype, str):
        raise TirError(f"min_value takes a dtype, got {shown(dtype)}")
    kind, width = dtypes.parse(dtype)
    if kind == "int" and width <= 64:
        return IntImm(dtype, -(2 ** (width - 1)))
    if kind == "uint":
        return IntImm(dtype, 0)
    if dtype in _FLOAT_NOT_NEGATIVE:
        return FloatImm(dtype, 0.0)
    if dtype in _FLOAT_MAX:
        return FloatImm(dtype, -_FLOAT_MAX[dtype])
    raise TirError(f"no smallest value for dtype {dtype}")


# --------------------------------------------------------------------------------------------------------------------
# Constant folding (src/arith/const_fold.h)
# --------------------------------------------------------------------------------------------------------------------


def _wrap(value: int, dtype: str) -> int:
    """The value as TVM keeps it: cut to the dtype's width, with the sign of a signed type."""
    kind, width = dtypes.parse(dtype)
    width = min(width, 64)
    value &= (1 << width) - 1
    # A 64 bit result always comes back as int64.
    if (kind == "int" or width == 64) and value >> (width - 1):
        value -= 1 << width
    return value


def _int_imm(dtype: str, value: int) -> IntImm:
    if dtype == "int32" and -2147483648 <= value <= 2147483647:
        return IntImm(dtype, value)
    return IntImm(dtype, _wrap(value, dtype))


def _f32(value: float) -> float:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _fold_float(dtype: str, a: float, b: float, operation: Callable[[float, float], float]) -> FloatImm | None:
    """Only 32 and 64 bit floats are folded; 32 bit ones in their own precision."""
    width = dtypes.bits(dtype)
    if width == 32:
        return FloatImm(dtype, _f32(operation(_f32(a), _f32(b))))
    if width == 64:
        return FloatImm(dtype, operation(a, b))
    return None


def _trunc_div(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _check_divisor(value: float) -> None:
    if value == 0:
        raise TirError("division by zero in an expression")


def _fold_add(a, b):
    ta, tb = type(a), type(b)
    if ta is IntImm:
        if tb is IntImm:
            return _int_imm(a.dtype, a.value + b.value)
        if a.value == 0:
            return b
    elif tb is IntImm:
        if b.value == 0:
            return a
    else:
        if ta is FloatImm and tb is FloatImm:
            folded = _fold_float(a.dtype, a.value, b.value, float.__add__)
            if folded is not None:
                return folded
        if ta is FloatImm and a.value == 0:
            return b
        if tb is FloatImm and b.value == 0:
            return a
    return None


def _fold_sub(a, b):
    ta, tb = type(a), type(b)
    if tb is IntImm:
        if ta is IntImm:
            if dtypes.is_uint(a.dtype) and a.value == 0 and b.value > 0:
                raise TirError(f"0 - {b.value} is negative, and the dtype is {a.dtype}")
            return _int_imm(a.dtype, a.value - b.value)
        if b.value == 0:
            return a
    elif tb is FloatImm:
        if ta is FloatImm:
            folded = _fold_float(a.dtype, a.value, b.value, float.__sub__)
            if folded is not None:
                return folded
        if b.value == 0:
            return a
    return None


def _fold_mul(a, b):
    ta, tb = type(a), type(b)
    if ta is IntImm and tb is IntImm:
        return _int_imm(a.dtype, a.value * b.value)
    if ta is FloatImm and tb is FloatImm:
        folded = _fold_float(a.dtype, a.value, b.value, float.__mul__)
        if folded is not None:
            return folded
    if ta is IntImm or ta is FloatImm:
        if a.value == 1:
            return b
        if a.value == 0:
            return a
    if tb is IntImm or tb is FloatImm:
        if b.value == 1:
            return a
        if b.value == 0:
            return b
    return None


def _fold_div(a, b):
    ta, tb = type(a), type(b)
    if ta is IntImm and tb is IntImm:
        _check_divisor(b.value)
        return _int_imm(a.dtype, _trunc_div(a.value, b.value))
    if ta is IntImm and a.value == 0:
        return a
    if tb is IntImm:
        if b.value == 1:
            return a
        _check_divisor(b.value)
    if ta is FloatImm and tb is FloatImm:
        _check_divisor(b.value)
        folded = _fold_float(a.dtype, a.value, b.value, float.__truediv__)
        if folded is not None:
            return folded
    if ta is FloatImm and a.value == 0:
        return a
    if tb is FloatImm:
        if b.value == 1:
            return a
        _check_divisor(b.value)
    return None


def _fold_mod(a, b):
    if not is_index_type(a.dtype):
        return None
    if type(a) is IntImm and type(b) is IntImm:
        _check_divisor(b.value)
        return _int_imm(a.dtype, a.value - b.value * _trunc_div(a.value, b.value))
    return _fold_remainder(a, b)


def _fold_remainder(a, b):
    if type(a) is IntImm and a.value == 0:
        return a
    if type(b) is IntImm:
        if b.value == 1:
            return make_zero(a.dtype)
        _check_divisor(b.value)
    return None


def _fold_floordiv(a, b):
    ta, tb = type(a), type(b)
    if ta is IntImm and tb is IntImm:
        _check_divisor(b.value)
        return _int_imm(a.dtype, a.value // b.value)
    if ta is IntImm and a.value == 0:
        return a
    if tb is IntImm:
        if b.value == 1:
            return a
        _check_divisor(b.value)
    if ta is FloatImm and tb is FloatImm and b.value != 0:
        # In the operands' own precision, before it is floored.
        rounded = _f32 if dtypes.bits(a.dtype) == 32 else float
        return _fold_float(a.dtype, a.value, b.value, lambda x, y: float(math.floor(rounded(x / y))))
    if ta is FloatImm and a.value == 0:
        return a
    if tb is FloatImm:
        if b.value == 1:
            return a
        _check_divisor(b.value)
    return None


def _fold_floormod(a, b):
    if not is_index_type(a.dtype):
        return None
    if type(a) is IntImm and type(b) is IntImm:
        _check_divisor(b.value)
        return _int_imm(a.dtype, a.value % b.value)
    return _fold_remainder(a, b)


def _fold_min(a, b):
    if type(a) is type(b) and type(a) in (IntImm, FloatImm):
        return type(a)(a.dtype, min(a.value, b.value))
    return a if a is b else None


def _fold_max(a, b):
    if type(a) is type(b) and type(a) in (IntImm, FloatImm):
        return type(a)(a.dtype, max(a.value, b.value))
    return a if a is b else None


def _fold_compare(compare: Callable[[Any, Any], bool]):
    def fold(a, b):
        if type(a) is type(b) and type(a) in (IntImm, FloatImm):
            return TRUE if compare(a.value, b.value) else FALSE
        return None

    return fold


def _fold_and(a, b):
    if type(a) is IntImm:
        return b if a.value else a
    if type(b) is IntImm:
        return a if b.value else b
    return None


def _fold_or(a, b):
    if type(a) is IntImm:
        return a if a.value else b
    if type(b) is IntImm:
        return b if b.value else a
    return None


# What becomes of a node when its operands are constants: the folded expression, or None to keep the node.
FOLD: dict[type, Callable[[PrimExpr, PrimExpr], PrimExpr | None]] = {
    Add: _fold_add,
    Sub: _fold_sub,
    Mul: _fold_mul,
    Div: _fold_div,
    Mod: _fold_mod,
    FloorDiv: _fold_floordiv,
    FloorMod: _fold_floormod,
    Min: _fold_min,
    Max: _fold_max,
    EQ: _fold_compare(lambda a, b: a == b),
    NE: _fold_compare(lambda a, b: a != b),
    LT: _fold_compare(lambda a, b: a < b),
    LE: _fold_compare(lambda a, b: a <= b),
    GT: _fold_compare(lambda a, b: a > b),
    GE: _fold_compare(lambda a, b: a >= b),
    And: _fold_and,
    Or: _fold_or,
}


def try_const_fold(op: type, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """``TryConstFold<op>(a, b)``: operands of one dtype; None when nothing folds."""
    return FOLD[op](a, b)


# --------------------------------------------------------------------------------------------------------------------
# Operators (src/tirx/op/op.cc)
# --------------------------------------------------------------------------------------------------------------------


def match_types(a: PrimExpr, b: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """``BinaryOpMatchTypes``: cast one operand so that both have one dtype."""
    ta, tb = a.dtype, b.dtype
    if ta == tb:
        return a, b
    kind_a, bits_a = dtypes.parse(ta)
    kind_b, bits_b = dtypes.parse(tb)
    if kind_a == "float" and kind_b == "float":
        return (cast(tb, a), b) if bits_a < bits_b else (a, cast(ta, b))
    # From the widest claim to the narrowest: whichever operand is of the kind draws the other to its dtype.
    for kind in ("float", "bfloat", "float8", "float6", "float4"):
        if kind_a != kind and kind_b == kind:
            return cast(tb, a), b
        if kind_a == kind and kind_b != kind:
            return a, cast(ta, b)
    integers = ("int", "uint")
    if kind_a == "bool" and kind_b in integers:
        return cast(tb, a), b
    if kind_a in integers and kind_b == "bool":
        return a, cast(ta, b)
    if kind_a == kind_b and kind_a in integers:
        return (cast(tb, a), b) if bits_a < bits_b else (a, cast(ta, b))
    if kind_a in integers and kind_b in integers:
        if bits_a != bits_b:
            return (cast(tb, a), b) if bits_a < bits_b else (a, cast(ta, b))
        return (a, cast(ta, b)) if kind_a == "uint" else (cast(tb, a), b)
    raise TirError(f"cannot combine operands of dtypes {ta} and {tb}")


def _binary(op: type, a, b) -> PrimExpr:
    if not isinstance(a, PrimExpr):
        a = convert(a)
    if not isinstance(b, PrimExpr):
        b = convert(b)
    if a.dtype != b.dtype:
        a, b = match_types(a, b)
    folded = FOLD[op](a, b)
    return folded if folded is not None else op(a, b)


def add(lhs, rhs) -> PrimExpr:
    return _binary(Add, lhs, rhs)


def sub(lhs, rhs) -> PrimExpr:
    return _binary(Sub, lhs, rhs)


def neg(a: PrimExpr) -> PrimExpr:
    """``-a`` as C++ writes it: 0 - a (Python's operator multiplies by -1)."""
    if type(a) in (IntImm, FloatImm):
        return type(a)(a.dtype, -a.value)
    return sub(make_zero(a.dtype), a)


def mul(lhs, rhs) -> PrimExpr:
    return _binary(Mul, lhs, rhs)


def div(a, b) -> PrimExpr:
    return _binary(Div, a, b)


def _true_divide(a, b) -> PrimExpr:
    given = (a, b)
    a, b = convert(a), convert(b)
    # Python's True is an int.
    if all(isinstance(raw, int) or dtypes.parse(x.dtype)[0] == "int" for raw, x in zip(given, (a, b))):
        raise TirError("/ on integers is ambiguous: call floordiv, floormod, truncdiv or truncmod")
    return div(a, b)


def _check_integers(name: str, *operands) -> list[PrimExpr]:
    converted = [convert(operand) for operand in operands]
    for operand in converted:
        if dtypes.parse(operand.dtype)[0] not in ("int", "uint"):
            raise TirError(f"{name} takes integers, got {operand} of dtype {operand.dtype}")
    return converted


def _check_integers_or_bools(name: str, *operands) -> list[PrimExpr]:
    converted = [convert(operand) for operand in operands]
    for operand in converted:
        if dtypes.parse(operand.dtype)[0] not in ("int", "uint", "bool"):
            raise TirError(f"{name} takes integers or bools, got {operand} of dtype {operand.dtype}")
    return converted


def _check_bools(name: str, *operands) -> list[PrimExpr]:
    converted = [convert(operand) for operand in operands]
    for operand in converted:
        if not dtypes.is_bool(operand.dtype):
            raise TirError(f"{name} takes bools, got {operand} of dtype {operand.dtype}")
    return converted


def truncdiv(a, b) -> PrimExpr:
    a, b = _check_integers("truncdiv", a, b)
    return div(a, b)


def truncmod(a, b) -> PrimExpr:
    return _binary(Mod, a, b)


def floordiv(a, b) -> PrimExpr:
    a, b = _check_integers("floordiv", a, b)
    return _binary(FloorDiv, a, b)


def ceildiv(lhs, rhs) -> PrimExpr:
    a, b = _check_integers("ceildiv", lhs, rhs)
    a, b = match_types(a, b)
    return _binary(FloorDiv, sub(add(a, b), make_const(a.dtype, 1)), b)


def floormod(a, b) -> PrimExpr:
    a, b = _check_integers("floormod", a, b)
    return _binary(FloorMod, a, b)


indexdiv = floordiv
indexmod = floormod


def min_(a, b) -> PrimExpr:
    a, b = convert(a), convert(b)
    if a is POS_INF:
        return b
    if a is NEG_INF:
        return a
    if b is POS_INF:
        return a
    if b is NEG_INF:
        return b
    return _binary(Min, a, b)


def max_(a, b) -> PrimExpr:
    a, b = convert(a), convert(b)
    if a is POS_INF:
        return a
    if a is NEG_INF:
        return b
    if b is POS_INF:
        return b
    if b is NEG_INF:
        return a
    return _binary(Max, a, b)


def if_then_else(cond, t, f) -> PrimExpr:
    """The value that the condition picks; a constant condition picks at once."""
    condition = convert(cond)
    if not dtypes.is_bool(condition.dtype):
        raise TirError(f"if_then_else takes a bool condition, got {condition} of dtype {condition.dtype}")
    true_value, false_value = match_types(convert(t), convert(f))
    if type(condition) is IntImm:
        return true_value if condition.value else false_value
    return Call(true_value.dtype, "tirx.if_then_else", (condition, true_value, false_value))


def likely(cond) -> PrimExpr:
    cond = convert(cond)
    if type(cond) is IntImm:
        return cond
    return Call(cond.dtype, "tirx.likely", (cond,))


def greater(a, b) -> PrimExpr:
    return _binary(GT, a, b)


def greater_equal(a, b) -> PrimExpr:
    return _binary(GE, a, b)


def less(a, b) -> PrimExpr:
    return _binary(LT, a, b)


def less_equal(a, b) -> PrimExpr:
    return _binary(LE, a, b)


def equal(a, b) -> PrimExpr:
    return _binary(EQ, a, b)


def not_equal(a, b) -> PrimExpr:
    return _binary(NE, a, b)


def logical_and(a, b) -> PrimExpr:
    a, b = _check_bools("and", a, b)
    folded = _fold_and(a, b)
    return folded if folded is not None else And(a, b)


def logical_or(a, b) -> PrimExpr:
    a, b = _check_bools("or", a, b)
    folded = _fold_or(a, b)
    return folded if folded is not None else Or(a, b)


def logical_not(a) -> PrimExpr:
    (a,) = _check_bools("not", a)
    if type(a) is IntImm:
        return FALSE if a.value else TRUE
    return Not(a)


def _index_constants(a: PrimExpr, b: PrimExpr) -> tuple[int | None, int | None]:
    """The operands' values where TVM folds bit operations: on int32 and int64 only."""
    if is_index_type(a.dtype) and is_index_type(b.dtype):
        return as_const_int(a), as_const_int(b)
    return None, None


def _with_plain_int(a, b) -> tuple[PrimExpr, PrimExpr]:
    """The operands of a bit operation as expressions: a Python int takes the other operand's dtype."""
    if type(a) is int:
        b = convert(b)
        return _bit_pattern(b.dtype, a), b
    a = convert(a)
    return a, _bit_pattern(a.dtype, b) if type(b) is int else convert(b)


def _bit_pattern(dtype: str, value: int) -> PrimExpr:
    """A constant of which the bits count: of ``~3`` these are, as in TVM, 64 whatever the unsigned dtype."""
    if -(2**63) <= value < 0 and dtypes.parse(dtype)[0] == "uint":
        return large_uint_imm(dtype, value % 2**64)
    return make_const(dtype, value)


def _shift(name: str, op: str, a, b, operation: Callable[[int, int], int]) -> PrimExpr:
    a, b = _with_plain_int(a, b)
    a, b = match_types(*_check_integers(name, a, b))
    value, amount = _index_constants(a, b)
    if amount is not None:
        width = dtypes.bits(a.dtype)
        if not 0 <= amount < width:
            raise TirError(f"{name} by {amount}: a {a.dtype} is shifted by 0 to {width - 1}")
        if value is not None:
            return IntImm(a.dtype, _wrap(operation(value, amount), "int64"))
        if amount == 0:
            return a
    return Call(a.dtype, op, (a, b))


def right_shift(x, y) -> PrimExpr:
    return _shift(">>", "tirx.shift_right", x, y, int.__rshift__)


def left_shift(x, y) -> PrimExpr:
    return _shift("<<", "tirx.shift_left", x, y, int.__lshift__)


def _bitwise(name: str, op: str, a, b, operation: Callable[[int, int], int]) -> PrimExpr:
    a, b = _with_plain_int(a, b)
    a, b = match_types(*_check_integers_or_bools(name, a, b))
    left, right = _index_constants(a, b)
    if left is not None and right is not None:
        return IntImm(a.dtype, operation(left, right))
    return Call(a.dtype, op, (a, b))


def bitwise_and(x, y) -> PrimExpr:
    return _bitwise("&", "tirx.bitwise_and", x, y, int.__and__)


def bitwise_or(x, y) -> PrimExpr:
    return _bitwise("|", "tirx.bitwise_or", x, y, int.__or__)


def bitwise_xor(x, y) -> PrimExpr:
    return _bitwise("^", "tirx.bitwise_xor", x, y, int.__xor__)


def bitwise_not(x) -> PrimExpr:
    (x,) = _check_integers_or_bools("~", x)
    return Call(x.dtype, "tirx.bitwise_not", (x,))


def cast(dtype: str, value) -> PrimExpr:
    """The value in another dtype; the same object when it has it already, constants folded."""
    value = convert(value)
    dtype = str(dtypes.DataType(dtype))
    if value.dtype == dtype:
        return value
    if type(value) in (IntImm, FloatImm):
        return make_const(dtype, value.value)
    if dtypes.parse(value.dtype)[0] in ("handle", "void", "other") or dtypes.parse(dtype)[0] in ("void", "other"):
        raise TirError(f"a {value.dtype} cannot be cast to {dtype}")
    return Cast(dtype, value)


def abs_(x) -> PrimExpr:
    """``abs`` of op.cc: a Select on integers, the call fabs on floats."""
    x = convert(x)
    kind = dtypes.parse(x.dtype)[0]
    if kind == "int":
        if type(x) is IntImm:
            return IntImm(x.dtype, abs(x.value))
        return Select(greater_equal(x, make_zero(x.dtype)), x, neg(x))
    if kind == "uint":
        return x
    if type(x) is FloatImm:
        return FloatImm(x.dtype, abs(x.value))
    return Call(x.dtype, "tirx.fabs", (x,))


# --------------------------------------------------------------------------------------------------------------------
# Walks (src/tirx/ir/stmt_functor.cc, expr_functor.cc)
# --------------------------------------------------------------------------------------------------------------------


def children(node) -> tuple:
    """The sub-expressions of an expression, in the order in which TVM visits them."""
    kind = type(node)
    if kind in _LEAVES:
        return ()
    if kind in _BINARY:
        return (node.a, node.b)
    if kind is Call:
        return node.args
    if kind is Cast:
        return (node.value,)
    if kind in (BufferLoad, ProducerLoad):
        return node.indices
    if kind is Not:
        return (node.a,)
    if kind is Select:
        return (node.condition, node.true_value, node.false_value)
    if kind is Let:
        return (node.value, node.body)
    if kind is Reduce:
        domains = tuple(end for axis in node.axis for end in (axis.dom.min, axis.dom.extent))
        return domains + node.source + node.init + (node.condition,)
    own = getattr(node, "children", None)  # statements, and the iterator expressions of arith
    if own is not None:
        return own()
    raise TirError(f"cannot walk into {type(node).__name__}")


# A nested function that calls itself is a cycle of references, which only the garbage collector frees: the walks below
# pass on what they have found instead.


def post_order_visit(node, fvisit: Callable[[Any], None]) -> None:
    """Call ``fvisit`` on every node, children first, each object once."""
    _post_order_visit(node, fvisit, set())


def _post_order_visit(node, fvisit: Callable[[Any], None], seen: set[int]) -> None:
    if id(node) in seen:
        return
    seen.add(id(node))
    for child in children(node):
        _post_order_visit(child, fvisit, seen)
    fvisit(node)


def pre_order_visit(node, fvisit: Callable[[Any], bool]) -> None:
    """Call ``fvisit`` on every node, parents first, each object once; below a node only if it answers True."""
    _pre_order_visit(node, fvisit, set())


def _pre_order_visit(node, fvisit: Callable[[Any], bool], seen: set[int]) -> None:
    if id(node) in seen:
        return
    seen.add(id(node))
    if fvisit(node):
        for child in children(node):
            _pre_order_visit(child, fvisit, seen)


def map_children(expr: PrimExpr, f: Callable[[PrimExpr], PrimExpr]) -> PrimExpr:
    """The expression with ``f`` applied to its children; itself when none changed. Nothing is folded."""
    kind = type(expr)
    if kind in _LEAVES:
        return expr
    if kind in _BINARY:
        a, b = f(expr.a), f(expr.b)
        return expr if a is expr.a and b is expr.b else kind(a, b)
    if kind is Call:
        args = tuple(f(arg) for arg in expr.args)
        return expr if _all_same(args, expr.args) else Call(expr.dtype, expr.op, args)
    if kind is Cast:
        value = f(expr.value)
        return expr if value is expr.value else Cast(expr.dtype, value)
    if kind is BufferLoad:
        indices = tuple(f(index) for index in expr.indices)
        return expr if _all_same(indices, expr.indices) else BufferLoad(expr.buffer, indices)
    if kind is ProducerLoad:
        indices = tuple(f(index) for index in expr.indices)
        return expr if _all_same(indices, expr.indices) else ProducerLoad(expr.producer, indices)
    if kind is Not:
        a = f(expr.a)
        return expr if a is expr.a else Not(a)
    if kind is Select:
        parts = tuple(f(part) for part in children(expr))
        return expr if _all_same(parts, children(expr)) else Select(*parts)
    if kind is Let:
        value, body = f(expr.value), f(expr.body)
        return expr if value is expr.value and body is expr.body else Let(expr.var, value, body)
    if kind is Reduce:
        return _map_reduce(expr, f)
    own = getattr(expr, "map_children", None)
    if own is not None:
        return own(f)
    raise TirError(f"cannot rebuild {type(expr).__name__}")


def _map_reduce(expr: Reduce, f: Callable[[PrimExpr], PrimExpr]) -> Reduce:
    axis = []
    for iter_var in expr.axis:
        low, extent = f(iter_var.dom.min), f(iter_var.dom.extent)
        same = low is iter_var.dom.min and extent is iter_var.dom.extent
        axis.append(iter_var if same else IterVar(Range.from_min_extent(low, extent), iter_var.var, iter_var.iter_type))
    source = tuple(f(value) for value in expr.source)
    init = tuple(f(value) for value in expr.init)
    condition = f(expr.condition)
    unchanged = (
        _all_same(axis, expr.axis)
        and _all_same(source, expr.source)
        and _all_same(init, expr.init)
        and condition is expr.condition
    )
    return expr if unchanged else Reduce(expr.combiner, source, axis, condition, expr.value_index, init)


def _all_same(new: Sequence, old: Sequence) -> bool:
    return all(a is b for a, b in zip(new, old))


def substitute(node, vmap: Mapping[Var, PrimExpr] | Callable[[Var], PrimExpr | None]):
    """The node with variables replaced. Changed nodes are rebuilt as they were: nothing is folded, as in TVM."""
    lookup = vmap if callable(vmap) else vmap.get
    if isinstance(node, PrimExpr):
        return _Substitution(lookup)(node)
    return node.map_exprs(_Substitution(lookup))  # a statement


class _Substitution:
    """Puts expressions in the place of variables, called on each node."""

    __slots__ = ("lookup",)

    def __init__(self, lookup: Callable[[Var], PrimExpr | None]) -> None:
        self.lookup = lookup

    def __call__(self, expr: PrimExpr) -> PrimExpr:
        if not isinstance(expr, Var):
            return map_children(expr, self)
        new = self.lookup(expr)
        if new is None:
            return expr
        new = convert(new)
        if new.dtype != expr.dtype:
            raise TirError(f"cannot put {new} ({new.dtype}) for {expr.name} ({expr.dtype})")
        return new


def undefined_vars(expr: PrimExpr, defs: Iterable[Var] = ()) -> list[Var]:
    """The free variables of an expression in the order of their first use."""
    found: list[Var] = []
    _find_undefined(expr, set(defs), found)
    return found


def _find_undefined(expr: PrimExpr, defined: set[Var], found: list[Var]) -> None:
    kind = type(expr)
    if kind in _LEAVES:
        if isinstance(expr, Var) and expr not in defined:
            defined.add(expr)
            found.append(expr)
        return
    if kind is Let:
        _find_undefined(expr.value, defined, found)
        defined.add(expr.var)
        _find_undefined(expr.body, defined, found)
        return
    if kind is Reduce:
        defined.update(axis.var for axis in expr.axis)
    for child in children(expr):
        _find_undefined(child, defined, found)


# --------------------------------------------------------------------------------------------------------------------
# Equality
# --------------------------------------------------------------------------------------------------------------------


def deep_equal(a, b) -> bool:
    """``ExprDeepEqual``: the same tree, dtypes and constants included; variables must be the same objects."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b) or a.dtype != b.dtype:
        return False
    if isinstance(a, BinaryOpExpr):
        return deep_equal(a.a, b.a) and deep_equal(a.b, b.b)
    if kind is IntImm or kind is FloatImm or kind is StringImm:
        return a.value == b.value
    if isinstance(a, Var):
        return False
    if kind is Call and a.op != b.op:
        return False
    if kind is BufferLoad and a.buffer is not b.buffer:
        return False
    if kind is ProducerLoad and a.producer is not b.producer:
        return False
    if kind is Let and a.var is not b.var:
        return False
    if kind is Reduce and not _same_reduction(a, b):
        return False
    left, right = children(a), children(b)
    return len(left) == len(right) and all(deep_equal(x, y) for x, y in zip(left, right))


def _same_reduction(a: Reduce, b: Reduce) -> bool:
    return (
        a.combiner is b.combiner
        and a.value_index == b.value_index
        and len(a.axis) == len(b.axis)
        and all(x.var is y.var for x, y in zip(a.axis, b.axis))
    )


def structural_equal(a, b) -> bool:
    """``tvm.ir.structural_equal`` on index expressions: free variables must be the same objects."""
    return deep_equal(a, b)


def all_of(*conditions) -> PrimExpr:
    """``te.all`` of one or more conditions: their conjunction, nested from the left."""
    result = convert(conditions[0])
    for condition in conditions[1:]:
        result = logical_and(result, condition)
    return result


def any_of(*conditions) -> PrimExpr:
    """``te.any``: the disjunction, nested from the left."""
    result = convert(conditions[0])
    for condition in conditions[1:]:
        result = logical_or(result, condition)
    return result


# --------------------------------------------------------------------------------------------------------------------
# Printing
# --------------------------------------------------------------------------------------------------------------------

def to_string(expr: PrimExpr) -> str:
    """The expression as TVMScript writes it: ``i * 4 + T.Cast("int32", j)``."""
    from .printer import expression

    return expression(expr)
