"""Tensor expressions: describe a computation by what each element of its output is.

Stands in for ``tvm.te`` (python/tvm/te, src/te), with the same names, so that a te program moves over by changing its
import to ``from carver.roller.tir import te``::

    A = te.placeholder((M, K), name="A", dtype="float16")
    B = te.placeholder((N, K), name="B", dtype="float16")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    func = te.create_prim_func([A, B, C])

Extents are in elements. ``te.scan`` and ``te.extern`` make operations that carver has no use for (a scan is refused by
create_prim_func, an extern has no iterators to tile), and are refused here at once.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType

from ...arch.errors import shown
from . import dtypes
from .dtypes import DataType
from .expr import (  # noqa: F401  (a part of these are te's own names)
    EqualOp,
    ExprOp,
    IntImm,
    IterVar,
    PrimExpr,
    ProducerLoad,
    Range,
    Reduce,
    SizeVar,
    TirError,
    Var,
    add,
    cast,
    ceildiv,
    children,
    convert,
    deep_equal,
    div,
    floordiv,
    floormod,
    if_then_else,
    indexdiv,
    indexmod,
    is_one,
    is_zero,
    make_const,
    map_children,
    max_,
    max_value,
    min_value,
    post_order_visit,
    sub,
    truncdiv,
    truncmod,
)
from .expr import const as constant
from .op import (  # noqa: F401  (te's own names)
    abs,
    acos,
    acosh,
    all,
    any,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    comm_reducer,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    exp10,
    floor,
    fmod,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    max,
    min,
    multiply,
    nearbyint,
    popcount,
    pow,
    power,
    prod,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    subtract,
    sum,
    tan,
    tanh,
    trace,
    trunc,
)

# --------------------------------------------------------------------------------------------------------------------
# Tags (python/tvm/te/tag.py)
# --------------------------------------------------------------------------------------------------------------------


# tvm: python/tvm/te/tag.py (TagScope)
class TagScope:
    """The tag of every operation made inside the ``with`` block, or inside the decorated function."""

    _current: TagScope | None = None

    def __init__(self, tag: str):
        self.tag = tag
        self.accessed = False

    @classmethod
    def get_current(cls) -> TagScope | None:
        if cls._current is not None:
            cls._current.accessed = True
        return cls._current

    def __enter__(self) -> TagScope:
        if TagScope._current is not None:
            raise TirError(f"tag scopes do not nest: {self.tag!r} inside {TagScope._current.tag!r}")
        TagScope._current = self
        return self

    def __exit__(self, *exception) -> None:
        if not self.accessed:
            warnings.warn(f"no operation was made under the tag {self.tag!r}", stacklevel=2)
        TagScope._current = None

    def __call__(self, fdecl: Callable) -> Callable:
        @functools.wraps(fdecl)
        def tagged_fdecl(*args, **kwargs):
            with self:
                return fdecl(*args, **kwargs)

        return tagged_fdecl


def tag_scope(tag: str) -> TagScope:
    """A scope whose operations get this tag: a context manager and a decorator."""
    return TagScope(tag)


def _effective_tag(tag: str) -> str:
    scope = TagScope.get_current()
    if scope is None:
        return tag
    if tag != "":
        raise TirError(f"the tag {tag!r} is given inside the tag scope {scope.tag!r}; only one of them can hold")
    return scope.tag


# --------------------------------------------------------------------------------------------------------------------
# Tensors and operations (python/tvm/te/tensor.py, src/te/tensor.cc)
# --------------------------------------------------------------------------------------------------------------------


class NotIterable(TirError, TypeError):
    """A tensor where a list is needed."""


def _tensor_operator(name: str, plain: Callable, reflected: bool = False) -> Callable:
    """The expression operator ``plain``, or a new tensor when an operand is one (topi's overloads)."""

    def operate(self, other):
        if not isinstance(self, Tensor) and not isinstance(other, Tensor):
            return plain(self, other)
        lhs, rhs = (other, self) if reflected else (self, other)
        if name == "divide" and _is_integer(lhs) and _is_integer(rhs):
            raise TirError("/ on integers is ambiguous: call floordiv, floormod, truncdiv or truncmod")
        return _broadcast(name, lhs, rhs)

    return operate


def _is_integer(operand) -> bool:
    return isinstance(operand, int) or (isinstance(operand, ExprOp) and dtypes.is_int(operand.dtype))


class _TensorOperand(ExprOp):
    """The arithmetic of tensors and slices."""

    __slots__ = ()

    def __iter__(self):
        # Python would count up indices without end: a tensor does not know which of them are in range.
        raise NotIterable(f"{self!r} is no list: read it with indices, or reduce it with te.sum(..., axis=...)")

    __add__ = _tensor_operator("add", ExprOp.__add__)
    __radd__ = _tensor_operator("add", ExprOp.__radd__, reflected=True)
    __sub__ = _tensor_operator("subtract", ExprOp.__sub__)
    __rsub__ = _tensor_operator("subtract", ExprOp.__rsub__, reflected=True)
    __mul__ = _tensor_operator("multiply", ExprOp.__mul__)
    __rmul__ = _tensor_operator("multiply", ExprOp.__rmul__, reflected=True)
    __truediv__ = _tensor_operator("divide", ExprOp.__truediv__)
    __rtruediv__ = _tensor_operator("divide", ExprOp.__rtruediv__, reflected=True)

    def __neg__(self):
        return self * make_const(self.dtype, -1)


# tvm: python/tvm/te/tensor.py (TensorSlice)
class TensorSlice(_TensorOperand):
    """``A[i]`` or ``A[i, j]``: a tensor with its first indices fixed; an expression once all of them are."""

    __slots__ = ("tensor", "indices")

    def __init__(self, tensor: Tensor, indices):
        self.tensor = tensor
        self.indices = indices if isinstance(indices, tuple) else (indices,)

    def __getitem__(self, indices) -> TensorSlice:
        more = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self.tensor, self.indices + more)

    def asobject(self) -> ProducerLoad:
        return self.tensor(*self.indices)

    @property
    def dtype(self) -> DataType:
        return self.tensor.dtype

    def __repr__(self) -> str:
        return f"{self.tensor.name}[{', '.join(map(str, self.indices))}]"


# tvm: python/tvm/te/tensor.py (Tensor), src/te/tensor.cc
class Tensor(_TensorOperand):
    """One output of an operation. Two tensors are equal when they are the same output of the same operation."""

    __slots__ = ("shape", "dtype", "op", "value_index")

    def __init__(self, shape: Sequence, dtype: str, op: Operation, value_index: int):
        self.shape = tuple(convert(extent) for extent in shape)
        self.dtype = DataType(dtype)
        self.op = op
        self.value_index = value_index

    def __call__(self, *indices) -> ProducerLoad:
        if len(indices) != self.ndim:
            raise TirError(f"tensor {self.name} has {self.ndim} dimensions, and was read with {len(indices)} indices")
        return ProducerLoad(self, indices)

    def __getitem__(self, indices) -> TensorSlice:
        return TensorSlice(self, indices)

    def __hash__(self) -> int:
        return hash(self.op)

    def __eq__(self, other):
        if not isinstance(other, Tensor):
            return EqualOp(self, other) if isinstance(other, ExprOp) else False
        if self.ndim == 0 and other.ndim == 0:
            raise TirError(
                "== between two tensors of rank 0 is ambiguous: write A.equal(B) to compare the values, "
                "A.same_as(B) to ask whether it is one tensor"
            )
        return self.is_output_of(other.op, other.value_index)

    def __ne__(self, other):
        result = self == other
        return not result if isinstance(result, bool) else super().__ne__(other)

    def is_output_of(self, op: Operation, value_index: int) -> bool:
        """Whether this is that output of that operation: equality without its special cases."""
        return self.op is op and self.value_index == value_index

    def same_as(self, other) -> bool:
        return self is other

    def asobject(self) -> ProducerLoad:
        """The tensor as an expression: its value, if it has no dimensions."""
        if self.ndim:
            raise TirError(f"tensor {self.name} has {self.ndim} dimensions: read it with indices, {self.name}[...]")
        return ProducerLoad(self, ())

    def astype(self, dtype: str) -> Tensor:
        """A tensor of every element cast (topi's cast)."""
        return compute(self.shape, lambda *i: cast(dtype, self(*i)), tag="elemwise")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def name(self) -> str:
        """The operation's name; with ``.v0``, ``.v1`` ... when the operation has several outputs."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}.v{self.value_index}"

    def __repr__(self) -> str:
        return f"<Tensor {self.name}[{', '.join(map(str, self.shape))}] {self.dtype}>"


class Operation:
    """What gives tensors: a placeholder or a compute."""

    __slots__ = ("name", "tag", "attrs", "_outputs")

    def __init__(self, name: str, tag: str, attrs: Mapping | None):
        self.name = name
        self.tag = tag
        self.attrs = dict(attrs or {})
        self._outputs: tuple[Tensor, ...] = ()

    @property
    def num_outputs(self) -> int:
        return len(self._outputs)

    def output(self, index: int) -> Tensor:
        return self._outputs[index]

    @property
    def input_tensors(self) -> list[Tensor]:
        raise NotImplementedError

    def same_as(self, other) -> bool:
        return self is other


# tvm: src/te/operation/placeholder_op.cc (PlaceholderOp)
class PlaceholderOp(Operation):
    """An input."""

    __slots__ = ("shape", "dtype")

    def __init__(self, name: str, shape: Sequence, dtype: str):
        super().__init__(name, "", None)
        self.shape = tuple(convert(extent) for extent in shape)
        self.dtype = DataType(dtype)
        self._outputs = (Tensor(self.shape, self.dtype, self, 0),)

    @property
    def input_tensors(self) -> list[Tensor]:
        return []

    def __repr__(self) -> str:
        return f"<placeholder {self.name}>"


class BaseComputeOp(Operation):
    """An operation over a domain."""

    __slots__ = ("axis", "reduce_axis")


# tvm: src/te/operation/compute_op.cc (ComputeOp)
class ComputeOp(BaseComputeOp):
    """A computation over ``axis`` (and ``reduce_axis``, for a reduction), with one body per output."""

    __slots__ = ("body",)

    def __init__(self, name: str, tag: str, attrs: Mapping | None, axis: Sequence[IterVar], body: Sequence[PrimExpr]):
        super().__init__(name, tag, attrs)
        self.axis = tuple(axis)
        self.body = tuple(body)
        self.reduce_axis = self.body[0].axis if type(self.body[0]) is Reduce else ()
        _verify_compute(self)
        # All outputs have the domain's shape.
        shape = [iter_var.dom.extent for iter_var in self.axis]
        self._outputs = tuple(Tensor(shape, value.dtype, self, i) for i, value in enumerate(self.body))

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors that the bodies read, in the order of their first read."""
        found: list[Tensor] = []
        seen: set[tuple[int, int]] = set()

        def collect(node):
            if type(node) is ProducerLoad:
                tensor = node.producer
                key = (id(tensor.op), tensor.value_index)
                if key not in seen:
                    seen.add(key)
                    found.append(tensor)

        for value in self.body:
            post_order_visit(value, collect)
        return found

    def __repr__(self) -> str:
        return f"<compute {self.name}>"


# tvm: src/te/operation/compute_op.cc (ComputeVerifier)
def _verify_compute(op: ComputeOp) -> None:
    """Reductions stand alone, and all outputs of one operation are parts of one reduction, or none is."""
    first = op.body[0]
    for value in op.body:
        if (type(value) is Reduce) != (type(first) is Reduce):
            raise TirError(f"{op.name}: either every output of a compute is a reduction, or none is")
        if type(value) is Reduce:
            _assert_reduce_equal(op.name, value, first)
        elif _contains_reduce(value):
            raise TirError(
                f"{op.name}: a reduction must be the whole value of a compute, and here it is a part of {value}; "
                "give the reduction a te.compute of its own"
            )


def _contains_reduce(value: PrimExpr) -> bool:
    return type(value) is Reduce or builtins.any(_contains_reduce(child) for child in children(value))


# tvm: src/te/operation/compute_op.cc (AssertReduceEqual)
def _assert_reduce_equal(name: str, a: Reduce, b: Reduce) -> None:
    for part in ("combiner", "source", "axis", "condition", "init"):
        left, right = getattr(a, part), getattr(b, part)
        if left is right:
            continue
        if part in ("combiner", "source") or not _same_parts(left, right):
            raise TirError(
                f"{name}: the outputs of one compute must be the components of one reduction, and their {part} differ: "
                "make them with one call of a reducer from te.comm_reducer"
            )


def _same_parts(left, right) -> bool:
    # The components of one reducer call share their parts: only empty tuples and equal constants come here otherwise.
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and builtins.all(a is b for a, b in zip(left, right))
    return type(left) is IntImm and type(right) is IntImm and left.value == right.value


# --------------------------------------------------------------------------------------------------------------------
# Making operations (python/tvm/te/operation.py)
# --------------------------------------------------------------------------------------------------------------------


def _shape_tuple(what: str, shape) -> tuple:
    try:
        return tuple(shape)
    except TypeError:
        raise TirError(f"the shape of {what} must be extents in a tuple or list, got {shown(shape)}") from None


def _check_text(what: str, text) -> None:
    if not isinstance(text, str):
        raise TirError(f"the {what} of an operation is a string, got {shown(text)}")


def placeholder(shape, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """An input tensor.

    ``shape``: extents (ints, or expressions such as ``te.var("n")``), or one extent; an int beyond 32 bits is int64.
    ``dtype``: float32 when not given. Raises TirError for an unknown dtype.
    """
    _check_text("name", name)
    if not isinstance(shape, (list, tuple)):
        # One extent, then; not all that Python can go through is a list for TVM.
        if isinstance(shape, Tensor) or not isinstance(shape, (ExprOp, str)) and not hasattr(shape, "__index__"):
            raise TirError(f"the shape of placeholder {name} must be extents in a tuple or list, got {shown(shape)}")
        shape = (shape,)
    return PlaceholderOp(name, shape, "float32" if dtype is None else str(dtype)).output(0)


# tvm: python/tvm/te/operation.py (compute)
def compute(
    shape,
    fcompute: Callable,
    name: str = "compute",
    tag: str = "",
    attrs: Mapping | None = None,
    varargs_names: list[str] | None = None,
):
    """A tensor whose element at an index is ``fcompute(*index)``.

    ``fcompute`` gives one expression, or a tuple of them for several outputs (then a tuple of tensors is returned).
    Its parameter names become the axes' names; with fewer parameters than extents the further extents are dropped,
    and a function without parameters gets i0, i1, ... Raises TirError for a shape or a function that TVM refuses.
    """
    tag = _effective_tag(tag)
    for what, text in (("name", name), ("tag", tag)):
        _check_text(what, text)
    if not isinstance(attrs, (Mapping, type(None))):
        raise TirError(f"the attrs of {name} are a dictionary, got {shown(attrs)}")
    for key, value in (attrs or {}).items():
        _check_attr(name, key, value)
    if isinstance(shape, int):
        raise TirError(f"the shape of {name} must be a tuple or list, got the int {shape}: write ({shape},)")
    extents = [int(s) if isinstance(s, float) else s for s in _shape_tuple(name, shape)]
    arg_names = _axis_names(name, fcompute, len(extents), varargs_names)
    axis = [
        _iter_var(make_range(0, extent), arg_name, IterVar.DataPar, f"axis {arg_name} of {name}")
        for arg_name, extent in zip(arg_names, extents)
    ]
    body = fcompute(*[iter_var.var for iter_var in axis])
    values = body if isinstance(body, (list, tuple)) else [body]
    if not values or builtins.any(value is None for value in values):
        raise TirError(f"the function of {name} gives no value: it returned {body!r}")
    op = ComputeOp(name, tag, attrs, axis, [_materialize(value) for value in values])
    return op.output(0) if op.num_outputs == 1 else op._outputs


def _check_attr(name: str, key, value) -> None:
    if not isinstance(key, str):
        raise TirError(f"the attrs of {name} have names, got the key {shown(key)}")
    if value is None or isinstance(value, (list, tuple)) and builtins.any(part is None for part in value):
        raise TirError(f"the attribute {key} of {name} has no value: {shown(value)}")


def _materialize(value) -> PrimExpr:
    """The value as an expression, with slices and undecided equalities inside it turned into expressions too."""
    if not isinstance(value, PrimExpr):
        value = convert(value)
    return map_children(value, _materialize)


_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _axis_names(name: str, fcompute: Callable, ndim: int, varargs_names: list[str] | None) -> list[str]:
    """What the axes of a compute are called, after its function's parameters."""
    code = fcompute.__code__ if type(fcompute) is FunctionType else None
    if code is not None and not code.co_kwonlyargcount and not code.co_flags & _VARIADIC and not fcompute.__defaults__:
        # Most are plain functions, whose code says the same in a fraction of the time.
        names = list(code.co_varnames[: code.co_argcount])
        if len(names) == ndim > 0:
            return names
    try:
        spec = inspect.getfullargspec(fcompute)
    except TypeError:
        raise TirError(f"the second argument of te.compute ({name}) must be a function, got {fcompute!r}") from None
    if spec.varkw is not None or spec.defaults is not None or spec.kwonlyargs:
        raise TirError(f"the function of {name} can only take plain parameters and *args: no defaults, no keywords")
    if not spec.args and spec.varargs is None:
        # TVM would now call the function with ndim arguments, which it does not take.
        if ndim:
            raise TirError(f"the function of {name} takes no index, but its shape has {ndim} extents")
        return []
    if spec.varargs is None:
        if len(spec.args) > ndim:
            raise TirError(
                f"the function of {name} takes {len(spec.args)} indices ({', '.join(spec.args)}), "
                f"but its shape has {ndim} extents"
            )
        return spec.args
    num_remaining = ndim - len(spec.args)
    if num_remaining < 0:
        raise TirError(f"the function of {name} takes {len(spec.args)} or more indices, its shape has {ndim} extents")
    if varargs_names is None:
        return spec.args + [f"i{i}" for i in range(num_remaining)]
    if len(varargs_names) != num_remaining:
        raise TirError(f"{name}: varargs_names has {len(varargs_names)} names for {num_remaining} further indices")
    return spec.args + list(varargs_names)


# tvm: src/ir/expr.cc (Range::Range)
def make_range(begin, end) -> Range:
    """The range from begin up to end; a zero begin keeps its dtype whatever the end's is, as in TVM."""
    return Range(begin, end)


# tvm: python/tvm/tirx/expr.py (IterVar), src/tirx/ir/expr.cc (IterVar::IterVar)
def _iter_var(dom: Range, name: str | Var, iter_type: int, what: str, thread_tag: str = "") -> IterVar:
    extent = dom.extent
    if dtypes.parse(extent.dtype)[0] != "int":
        raise TirError(f"the extent of {what} must have a signed integer dtype, got {extent} of dtype {extent.dtype}")
    var = name if isinstance(name, Var) else Var(name, extent.dtype)
    if var.dtype != extent.dtype:
        raise TirError(f"{what}: its variable has dtype {var.dtype}, its extent {extent.dtype}")
    return IterVar(dom, var, iter_type, thread_tag)


def var(name: str = "tindex", dtype: str = "int32") -> Var:
    """A variable: a symbolic extent, for instance."""
    return Var(name, DataType(dtype))


def const(value, dtype: str | None = "int32") -> PrimExpr:
    """A constant, int32 unless told otherwise; with None its dtype follows from the value."""
    return constant(value, None if dtype is None else DataType(dtype))


def size_var(name: str = "size", dtype: str = "int32") -> SizeVar:
    """A variable that is not negative."""
    return SizeVar(name, DataType(dtype))


def _domain(dom) -> Range:
    if isinstance(dom, (list, tuple)):
        if len(dom) != 2:
            raise TirError(f"a domain is two numbers, its begin and its end; got {dom!r}")
        return make_range(dom[0], dom[1])
    if isinstance(dom, Range):
        return dom
    raise TirError(f"a domain is (begin, end) or a Range, got {dom!r}")


def thread_axis(dom=None, tag: str = "", name: str = "") -> IterVar:
    """An axis that stands for a thread index."""
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise TirError("a thread axis needs a tag, such as threadIdx.x")
    name = name if name else tag
    if dom is None:
        return IterVar(None, Var(name), IterVar.ThreadIndex, tag)
    return _iter_var(_domain(dom), name, IterVar.ThreadIndex, f"thread axis {name}", tag)


def reduce_axis(dom, name: str | None = "rv", thread_tag: str = "") -> IterVar:
    """An axis to reduce over: from ``dom[0]`` up to ``dom[1]``."""
    name = "iter" if name is None else name
    return _iter_var(_domain(dom), name, IterVar.CommReduce, f"reduce axis {name}", thread_tag)


def create_prim_func(ops, index_dtype_override: str | None = None):
    """The PrimFunc of a computation: a block per operation, in a root block.

    ``ops``: the tensors that are the function's arguments, inputs and outputs in any order, and variables that are
    parameters too (symbolic extents). ``index_dtype_override``: "int32" or "int64", the dtype to give to every extent
    and index. Raises TirError for an input that is not among the arguments.
    """
    from .create_prim_func import create_prim_func as create

    return create(ops if isinstance(ops, (list, tuple)) else [ops], index_dtype_override)


def scan(*args, **kwargs):
    """Refused: TVM's create_prim_func takes no scan either."""
    raise TirError("te.scan is not supported: create_prim_func takes placeholders and computes only, in TVM too")


def extern(*args, **kwargs):
    """Refused: an external function has no iterators, and carver tiles iterators."""
    raise TirError("te.extern is not supported: carver cannot tile a block without iterators; write it as te.compute")


def extern_primfunc(*args, **kwargs):
    """Refused, as extern is."""
    raise TirError("te.extern_primfunc is not supported: write the computation as te.compute")


# The modules of tvm.te, all in this one.
tensor = operation = tag = sys.modules[__name__]


# --------------------------------------------------------------------------------------------------------------------
# Arithmetic on whole tensors (topi: python/tvm/topi/generic_op_impl.py, include/tvm/topi/broadcast.h)
# --------------------------------------------------------------------------------------------------------------------

_ELEMENT_OPERATORS = {
    "add": ExprOp.__add__,
    "subtract": ExprOp.__sub__,
    "multiply": ExprOp.__mul__,
    # C++'s operator/ divides integers too, truncating.
    "divide": div,
}


# tvm: src/te/operation/compute_op.cc (compute)
def _cpp_compute(shape: Sequence[PrimExpr], value_at: Callable, name: str, tag: str) -> Tensor:
    """A compute as C++ code makes it: axes ax0, ax1, ..., whose domains begin at a zero of the extent's dtype."""
    axis = [
        _iter_var(make_range(IntImm(extent.dtype, 0), extent), f"ax{i}", IterVar.DataPar, f"axis {i} of {name}")
        for i, extent in enumerate(shape)
    ]
    value = value_at(*[iter_var.var for iter_var in axis])
    return ComputeOp(name, tag, None, axis, [convert(value)]).output(0)


# tvm: include/tvm/topi/broadcast.h (TOPI_DEFINE_BCAST_OP)
def _broadcast(name: str, lhs, rhs) -> Tensor:
    """``lhs op rhs`` for tensors, and for a tensor with a number; shapes are matched as numpy does."""
    operator = _ELEMENT_OPERATORS[name]
    if not isinstance(lhs, Tensor):
        scalar = convert(lhs)
        return _cpp_compute(rhs.shape, lambda *i: operator(scalar, rhs(*i)), f"T_{name}", "elemwise")
    if not isinstance(rhs, Tensor):
        scalar = convert(rhs)
        return _cpp_compute(lhs.shape, lambda *i: operator(lhs(*i), scalar), f"T_{name}", "elemwise")
    shape, from_left, from_right = _broadcast_shape(lhs, rhs)

    def value_at(*index):
        return operator(_read_broadcast(lhs, index, from_left), _read_broadcast(rhs, index, from_right))

    return _cpp_compute(shape, value_at, f"T_{name}", "broadcast")


# tvm: include/tvm/topi/detail/broadcast.h (BroadcastShape)
def _broadcast_shape(lhs: Tensor, rhs: Tensor) -> tuple[list[PrimExpr], list[bool], list[bool]]:
    """The common shape of two tensors, and for each of its dimensions whether lhs, rhs is indexed by it."""
    size = builtins.max(lhs.ndim, rhs.ndim)
    shape: list[PrimExpr] = []
    from_left: list[bool] = []
    from_right: list[bool] = []
    for position in range(size):
        in_left, in_right = position >= size - lhs.ndim, position >= size - rhs.ndim
        if not in_left or not in_right:
            shape.append((lhs if in_left else rhs).shape[position])
            from_left.append(in_left)
            from_right.append(in_right)
            continue
        a, b = lhs.shape[position - (size - lhs.ndim)], rhs.shape[position - (size - rhs.ndim)]
        extent, left, right = _common_extent(lhs, rhs, a, b)
        shape.append(cast(a.dtype if dtypes.bits(a.dtype) >= dtypes.bits(b.dtype) else b.dtype, extent))
        from_left.append(left)
        from_right.append(right)
    return shape, from_left, from_right


def _common_extent(lhs: Tensor, rhs: Tensor, a: PrimExpr, b: PrimExpr) -> tuple[PrimExpr, bool, bool]:
    if _equal_extents(a, b):
        return a, True, True
    if is_one(a):
        return b, False, True
    if is_one(b):
        return a, True, False
    a_static, b_static = type(a) is IntImm, type(b) is IntImm
    if a_static and b_static:
        raise TirError(f"cannot broadcast {lhs} with {rhs}: the extents {a} and {b} differ, and neither is 1")
    if not a_static and not b_static:
        return max_(a, b), True, True
    # A symbolic extent is taken to be the constant one.
    return (b if not a_static else a), True, True


# tvm: include/tvm/topi/detail/constant_utils.h (EqualCheck)
def _equal_extents(a: PrimExpr, b: PrimExpr) -> bool:
    if deep_equal(a, b):
        return True
    if type(a) is IntImm and type(b) is IntImm:
        return a.value == b.value
    from .arith import Analyzer

    return is_zero(Analyzer().simplify(sub(a, b)))


# tvm: include/tvm/topi/detail/broadcast.h (InputIndexFromBroadcast)
def _read_broadcast(tensor: Tensor, index: Sequence[Var], used: Sequence[bool]) -> PrimExpr:
    """The tensor's element for an index of the common shape: 0 where its own extent is 1."""
    own = []
    for position, (variable, is_used) in enumerate(zip(index, used)):
        if is_used:
            own.append(variable)
        elif len(index) - position <= tensor.ndim:
            own.append(IntImm(variable.dtype, 0))
    return tensor(*own)
