"""The functions of expressions that have a Python body in TVM: intrinsics, all/any, reductions.

Stands in for ``python/tvm/tirx/op.py`` (and, where that calls C++, ``src/tirx/op/op.cc``). The operators proper (add,
floordiv, ...) are in :mod:`.expr`. Every function takes expressions or plain Python numbers, and gives an expression;
TVM's last parameter ``span`` (a source position) is left out.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable

from ...arch.errors import shown
from . import dtypes
from .expr import (
    FALSE,
    TRUE,
    Call,
    Cast,
    CommReducer,
    FloatImm,
    IntImm,
    IterVar,
    PrimExpr,
    ProducerLoad,
    Reduce,
    TirError,
    Var,
    abs_,
    add,
    cast,
    const,
    convert,
    equal,
    left_shift,
    logical_and,
    logical_not,
    logical_or,
    match_types,
    max_,
    max_value,
    min_,
    min_value,
    mul,
    right_shift,
    sub,
)

subtract = sub
multiply = mul
shift_left = left_shift
shift_right = right_shift


# tvm: python/tvm/tirx/op.py (call_intrin)
def call_intrin(dtype: str, func_name: str, *args) -> PrimExpr:
    """A call of an intrinsic by its name, "tirx.exp"."""
    return Call(dtype, func_name, args)


def call_pure_extern(dtype: str, func_name: str, *args) -> PrimExpr:
    """A call of an external function without side effects."""
    return Call(dtype, "tirx.call_pure_extern", (func_name, *args))


def call_extern(dtype: str, func_name: str, *args) -> PrimExpr:
    """A call of an external function."""
    return Call(dtype, "tirx.call_extern", (func_name, *args))


def _require_float(name: str, x) -> PrimExpr:
    x = convert(x)
    if "float" not in x.dtype:
        raise TirError(f"{name} takes a float expression, got {x} of dtype {x.dtype}")
    return x


def any(*args) -> PrimExpr:
    """The disjunction of one or more conditions, nested from the left."""
    if not args:
        raise TirError("any takes at least one condition")
    result = args[0]
    for arg in args[1:]:
        result = logical_or(result, arg)
    return result


def all(*args) -> PrimExpr:
    """The conjunction of one or more conditions, nested from the left."""
    if not args:
        raise TirError("all takes at least one condition")
    result = args[0]
    for arg in args[1:]:
        result = logical_and(result, arg)
    return result


def trace(args: list, trace_action: str = "tvm.default_trace_action") -> PrimExpr:
    """A call that hands its arguments to a tracing function and gives the last one."""
    if not isinstance(args, list):
        raise TirError(f"trace takes a list, got {type(args).__name__}")
    if not args:
        raise TirError("trace takes at least one expression, got an empty list")
    return Call(convert(args[-1]).dtype, "tirx.tvm_call_trace_packed", (trace_action, *args))


def infinity(dtype: str) -> PrimExpr:
    """Infinity, for the 16, 32 and 64 bit floats."""
    if dtypes.is_float(dtype) and dtypes.bits(dtype) in (16, 32, 64):
        return FloatImm(dtype, math.inf)
    raise TirError(f"no infinity for dtype {dtype}")


def reinterpret(dtype: str, value) -> PrimExpr:
    """The bits of a value read as another dtype of the same width."""
    value = convert(value)
    if value.dtype == dtype:
        return value
    if dtypes.bits(value.dtype) != dtypes.bits(dtype):
        raise TirError(f"reinterpret takes two dtypes of one width, got {value.dtype} and {dtype}")
    return Call(dtype, "tirx.reinterpret", (value,))


# --------------------------------------------------------------------------------------------------------------------
# Intrinsics of one argument
# --------------------------------------------------------------------------------------------------------------------


def _unary(name: str, x) -> PrimExpr:
    x = convert(x)
    return Call(x.dtype, "tirx." + name, (x,))


def _float_unary(name: str, x) -> PrimExpr:
    x = _require_float(name, x)
    return Call(x.dtype, "tirx." + name, (x,))


def exp(x) -> PrimExpr:
    x = convert(x)
    if "int" in x.dtype:
        x = Cast("float32", x)
    return Call(x.dtype, "tirx.exp", (x,))


def exp2(x) -> PrimExpr:
    return _unary("exp2", x)


def exp10(x) -> PrimExpr:
    return _unary("exp10", x)


def erf(x) -> PrimExpr:
    return _unary("erf", x)


def tanh(x) -> PrimExpr:
    return _float_unary("tanh", x)


def sigmoid(x) -> PrimExpr:
    return _unary("sigmoid", x)


def log(x) -> PrimExpr:
    return _unary("log", x)


def log2(x) -> PrimExpr:
    return _unary("log2", x)


def log10(x) -> PrimExpr:
    return _unary("log10", x)


def log1p(x) -> PrimExpr:
    return _unary("log1p", x)


def tan(x) -> PrimExpr:
    return _float_unary("tan", x)


def cos(x) -> PrimExpr:
    return _float_unary("cos", x)


def cosh(x) -> PrimExpr:
    return _float_unary("cosh", x)


def acos(x) -> PrimExpr:
    return _float_unary("acos", x)


def acosh(x) -> PrimExpr:
    return _float_unary("acosh", x)


def sin(x) -> PrimExpr:
    return _float_unary("sin", x)


def sinh(x) -> PrimExpr:
    return _float_unary("sinh", x)


def asin(x) -> PrimExpr:
    return _float_unary("asin", x)


def asinh(x) -> PrimExpr:
    return _float_unary("asinh", x)


def atan(x) -> PrimExpr:
    return _float_unary("atan", x)


def atanh(x) -> PrimExpr:
    return _float_unary("atanh", x)


def sqrt(x) -> PrimExpr:
    return _unary("sqrt", x)


def rsqrt(x) -> PrimExpr:
    return _unary("rsqrt", x)


def popcount(x) -> PrimExpr:
    return _unary("popcount", x)


def clz(x) -> PrimExpr:
    """The number of leading zero bits, always int32."""
    return Call("int32", "tirx.clz", (x,))


def isnullptr(x) -> PrimExpr:
    return Call("bool", "tirx.isnullptr", (x,))


def abs(x) -> PrimExpr:
    """A Select on signed integers, a call of fabs on floats, the value itself on unsigned integers."""
    x = convert(x)
    kind = dtypes.parse(x.dtype)[0]
    if kind in ("int", "uint", "float", "bfloat"):
        return abs_(x)
    raise TirError(f"abs takes an int, uint, float or bfloat expression, got {x} of dtype {x.dtype}")


def _rounding(name: str, x, fold: Callable[[float], float]) -> PrimExpr:
    """A rounding function: integers are round already, float constants are folded."""
    x = convert(x)
    if dtypes.parse(x.dtype)[0] in ("int", "uint", "bool"):
        return x
    if type(x) is FloatImm:
        # What rounds to zero keeps its sign.
        folded = math.copysign(fold(x.value), x.value) if math.isfinite(x.value) else x.value
        return FloatImm(x.dtype, folded)
    return Call(x.dtype, "tirx." + name, (x,))


def floor(x) -> PrimExpr:
    return _rounding("floor", x, math.floor)


def ceil(x) -> PrimExpr:
    return _rounding("ceil", x, math.ceil)


def trunc(x) -> PrimExpr:
    return _rounding("trunc", x, math.trunc)


def round(x) -> PrimExpr:
    # Constants are rounded half to even (std::nearbyint), as Python's round does.
    return _rounding("round", x, builtins.round)


def nearbyint(x) -> PrimExpr:
    return _rounding("nearbyint", x, builtins.round)


def isnan(x) -> PrimExpr:
    x = convert(x)
    kind, width = dtypes.parse(x.dtype)
    if kind in ("int", "uint"):
        return FALSE
    if kind != "float":
        raise TirError(f"isnan takes an int, uint or float expression, got {x} of dtype {x.dtype}")
    if type(x) is FloatImm:
        return TRUE if math.isnan(x.value) else FALSE
    if width == 16:
        return Call("bool", "tirx.isnan", (cast("float32", x),))
    return Call("bool", "tirx.isnan", (x,))


def isinf(x) -> PrimExpr:
    x = convert(x)
    kind = dtypes.parse(x.dtype)[0]
    if kind in ("int", "uint"):
        return FALSE
    if kind != "float":
        raise TirError(f"isinf takes an int, uint or float expression, got {x} of dtype {x.dtype}")
    return logical_and(equal(abs(x), infinity(x.dtype)), logical_not(isnan(x)))


def isfinite(x) -> PrimExpr:
    x = convert(x)
    kind, width = dtypes.parse(x.dtype)
    if kind in ("int", "uint"):
        return TRUE
    if kind != "float":
        raise TirError(f"isfinite takes an int, uint or float expression, got {x} of dtype {x.dtype}")
    if type(x) is FloatImm:
        return TRUE if math.isfinite(x.value) else FALSE
    if width in (32, 64):
        return Call("bool", "tirx.isfinite", (x,))
    return logical_and(logical_not(isinf(x)), logical_not(isnan(x)))


# --------------------------------------------------------------------------------------------------------------------
# Intrinsics of two arguments
# --------------------------------------------------------------------------------------------------------------------


def _binary_intrinsic(name: str, x1, x2) -> PrimExpr:
    # The operands' dtypes are not matched: the call has the first one's.
    x1, x2 = convert(x1), convert(x2)
    return Call(x1.dtype, "tirx." + name, (x1, x2))


def atan2(x1, x2) -> PrimExpr:
    return _binary_intrinsic("atan2", x1, x2)


def nextafter(x1, x2) -> PrimExpr:
    return _binary_intrinsic("nextafter", x1, x2)


def hypot(x1, x2) -> PrimExpr:
    return _binary_intrinsic("hypot", x1, x2)


def copysign(x1, x2) -> PrimExpr:
    return _binary_intrinsic("copysign", x1, x2)


def ldexp(x1, x2) -> PrimExpr:
    return _binary_intrinsic("ldexp", x1, x2)


def fmod(x, y) -> PrimExpr:
    return _binary_intrinsic("fmod", x, y)


def power(x, y) -> PrimExpr:
    """x to the power of y; the base must be a float."""
    x, y = match_types(convert(x), convert(y))
    if not dtypes.is_float(x.dtype):
        raise TirError(f"pow takes float expressions, got {x} of dtype {x.dtype}")
    return Call(x.dtype, "tirx.pow", (x, y))


pow = power


def logaddexp(a, b) -> PrimExpr:
    """log(exp(a) + exp(b))"""
    a, b = convert(a), convert(b)
    for operand in (a, b):
        if not dtypes.is_float(operand.dtype):
            raise TirError(f"logaddexp takes float expressions, got {operand} of dtype {operand.dtype}")
    a, b = match_types(a, b)
    return log(add(exp(a), exp(b)))


def q_multiply_shift(x, y, q, s) -> PrimExpr:
    """A multiplication of fixed-point numbers, always int32."""
    return Call("int32", "tirx.q_multiply_shift", (x, y, q, s))


# --------------------------------------------------------------------------------------------------------------------
# Reductions
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/tirx/ir/expr.cc (CommReducer::CommReducer)
def make_comm_reducer(lhs: list[Var], rhs: list[Var], result: list, identity_element: list) -> CommReducer:
    """A reducer whose variables have the dtypes of the identities."""
    result = [convert(value) for value in result]
    identity_element = [convert(value) for value in identity_element]
    if not len(lhs) == len(rhs) == len(result) == len(identity_element):
        raise TirError(
            f"a reducer needs as many results and identities as values: {len(lhs)} values, {len(result)} results, "
            f"{len(identity_element)} identities"
        )
    for left, identity in zip(lhs, identity_element):
        if left.dtype != identity.dtype:
            # TVM renames the variables to the identity's dtype, and its substitution refuses that.
            raise TirError(f"the identity {identity} has dtype {identity.dtype}, the reduced value {left.dtype}")
    return CommReducer(lhs, rhs, result, identity_element)


# tvm: src/tirx/ir/expr.cc (Reduce::Reduce)
def make_reduce(combiner: CommReducer, source: tuple, axis, condition, value_index: int, init: tuple) -> Reduce:
    """A Reduce node after its checks: axes made by reduce_axis, one plain initial value per source."""
    for iter_var in axis:
        if not isinstance(iter_var, IterVar) or iter_var.iter_type != IterVar.CommReduce:
            raise TirError(f"can only reduce over an axis made by te.reduce_axis, got {iter_var}")
    if init:
        if len(init) != len(source):
            raise TirError(f"a reduction of {len(source)} values needs as many initial values, got {len(init)}")
        for value in init:
            if type(value) not in (ProducerLoad, IntImm, FloatImm):
                raise TirError(f"init can only be a constant or a read of a tensor, got {value}")
    return Reduce(combiner, source, axis, condition, value_index, init)


# tvm: python/tvm/tirx/op.py (comm_reducer)
def comm_reducer(fcombine: Callable, fidentity: Callable, name: str = "reduce") -> Callable:
    """A function that reduces an expression over axes, or combines its arguments when there is no axis.

    ``fcombine(x, y)`` gives the combined value and ``fidentity(dtype)`` where a reduction starts; for tuples x and y
    are lists, and fidentity takes one dtype per component. The result is called as ``f(expr, axis, where, init)`` to
    make a reduction (create_prim_func ignores ``where`` and ``init``, as in TVM), or as ``f(a, b, ...)``.
    """

    def reduce_directly(*args):
        num = len(args)
        # An explicit None as third argument counts as absent.
        if num == 3 and args[2] is None:
            num = 2
        result = args[0]
        for i in range(num - 1):
            result = fcombine(result, args[i + 1])
        return result

    def make(expr, axis, where=None, init=None):
        code = getattr(fcombine, "__code__", None)
        if code is None:
            raise TirError(f"fcombine of the reducer {name} is a function written in Python, got {shown(fcombine)}")
        if code.co_argcount != 2:
            raise TirError(f"fcombine of the reducer {name} takes {code.co_argcount} arguments, and must take 2")
        left_name, right_name = code.co_varnames[:2]
        if isinstance(expr, (list, tuple)):
            source = tuple(convert(value) for value in expr)
            lhs = [Var(f"{left_name}_{i}", value.dtype) for i, value in enumerate(source)]
            rhs = [Var(f"{right_name}_{i}", value.dtype) for i, value in enumerate(source)]
            result = fcombine(lhs, rhs)
            if not isinstance(result, (list, tuple)):
                raise TirError(f"fcombine of the reducer {name} gives {len(source)} values, and gave {shown(result)}")
            identity = fidentity(*[value.dtype for value in source])
            init = tuple(convert(value) for value in init) if init is not None else ()
        else:
            source = (convert(expr),)
            lhs = [Var(left_name, source[0].dtype)]
            rhs = [Var(right_name, source[0].dtype)]
            result = [fcombine(lhs[0], rhs[0])]
            identity = [fidentity(source[0].dtype)]
            init = (convert(init),) if init is not None else ()
        combiner = make_comm_reducer(lhs, rhs, result, identity)
        axes = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
        condition = TRUE if where is None else convert(where)
        outputs = tuple(make_reduce(combiner, source, axes, condition, i, init) for i in range(len(source)))
        return outputs[0] if len(outputs) == 1 else outputs

    def reducer(expr, axis, where=None, init=None, *args):
        if isinstance(axis, (IterVar, list, tuple)):
            if args:
                raise TirError(f"{name} over an axis takes expr, axis, where and init, got {len(args)} more arguments")
            return make(expr, axis, where, init)
        if where is None:
            if args or init is not None:
                raise TirError(f"{name} of several values got None among them")
            return reduce_directly(expr, axis)
        if init is None:
            if args:
                raise TirError(f"{name} of several values got None among them")
            return reduce_directly(expr, axis, where)
        return reduce_directly(expr, axis, where, init, *args)

    reducer.__name__ = name
    reducer.__doc__ = f"The {name} of an expression over ``axis``, or of two or more values when there is no axis."
    return reducer


sum = comm_reducer(lambda x, y: x + y, lambda t: const(0, t), name="sum")
min = comm_reducer(lambda x, y: min_(x, y), max_value, name="min")
max = comm_reducer(lambda x, y: max_(x, y), min_value, name="max")
# Not in tvm.te, which leaves products to comm_reducer; C++ has it (op.cc, prod).
prod = comm_reducer(lambda x, y: x * y, lambda t: const(1, t), name="prod")
