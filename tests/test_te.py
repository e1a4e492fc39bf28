"""The te front end: tensors, shapes, dtypes, operators, reducers, and what it refuses. Values are the real TVM's."""

import numpy as np
import pytest
from carver.arch.errors import CarverError
from carver.roller import tir
from carver.roller.tir import te
from carver.roller.tir.expr import TirError


def extents(tensor):
    return [(extent.dtype, int(extent)) for extent in tensor.shape]


# -- tensors -----------------------------------------------------------------------------------------------------------


def test_placeholder_shape_dtypes():
    A = te.placeholder((4, 2**31 - 1, 2**31, 2**40), name="A", dtype="float16")
    assert extents(A) == [("int32", 4), ("int32", 2**31 - 1), ("int64", 2**31), ("int64", 2**40)]
    assert (A.dtype, A.name, A.ndim, A.op.num_outputs) == ("float16", "A", 4, 1)
    assert te.placeholder(4).dtype == "float32"
    assert extents(te.placeholder(4)) == [("int32", 4)]
    assert te.placeholder((), name="S").ndim == 0
    assert te.placeholder((1,), dtype="float").dtype == "float32"
    n = te.var("n", "int64")
    assert te.placeholder((n, 2)).shape[0] is n
    assert te.placeholder(n).shape == (n,)


def test_placeholder_refuses_unknown_dtypes():
    with pytest.raises(CarverError, match="float99x"):
        te.placeholder((4,), dtype="float99x")
    with pytest.raises(TirError, match="shape of placeholder"):
        te.placeholder(None)


def test_tensor_equality_is_the_output_of_an_operation():
    A = te.placeholder((4,), name="A")
    B = te.placeholder((4,), name="A")
    assert A == A and A == A.op.output(0) and A != B and hash(A) == hash(A.op.output(0))
    assert (A == 3) is False
    x, y = te.compute((4,), lambda i: (A[i], A[i] + 1), name="T")
    assert x != y and (x.name, y.name) == ("T.v0", "T.v1") and (x.op, y.value_index) == (y.op, 1)
    with pytest.raises(TirError, match="rank 0"):
        bool(te.placeholder(()) == te.placeholder(()))


def test_indexing_by_brackets_tuples_and_calls():
    A = te.placeholder((4, 5, 6), name="A")
    i, j, k = te.var("i"), te.var("j"), te.var("k")
    for read in (A[i, j, k], A[i][j][k], A[(i, j, k)], A[i, j][k], A(i, j, k)):
        load = tir.convert(read)
        assert type(load) is tir.ProducerLoad and load.producer is A and load.indices == (i, j, k)
        assert read.dtype == "float32"
    with pytest.raises(TirError, match="3 dimensions.*2 indices"):
        A(i, j)
    with pytest.raises(TirError, match="3 dimensions.*2 indices"):
        A[i, j] + 1


def test_rank0_tensor_is_a_value():
    S = te.placeholder((), name="S")
    assert type(tir.convert(S)) is tir.ProducerLoad
    with pytest.raises(TirError, match="2 dimensions"):
        tir.convert(te.placeholder((2, 2), name="A"))


# -- compute -----------------------------------------------------------------------------------------------------------


def axis_names(tensor):
    return [iter_var.var.name for iter_var in tensor.op.axis]


def test_axis_names_come_from_the_function():
    shape = (2, 3, 4)
    assert axis_names(te.compute(shape, lambda a, b, c: a)) == ["a", "b", "c"]
    assert axis_names(te.compute(shape, lambda *i: i[0])) == ["i0", "i1", "i2"]
    assert axis_names(te.compute(shape, lambda a, *i: a)) == ["a", "i0", "i1"]
    assert axis_names(te.compute(shape, lambda a, *i: a, varargs_names=["x", "y"])) == ["a", "x", "y"]
    # A function of fewer indices makes a tensor of fewer dimensions.
    short = te.compute(shape, lambda a, b: a + b)
    assert axis_names(short) == ["a", "b"] and extents(short) == [("int32", 2), ("int32", 3)]


def test_compute_extents():
    assert extents(te.compute((4.0, 4.9), lambda i, j: i)) == [("int32", 4), ("int32", 4)]
    assert extents(te.compute((0, -3), lambda i, j: i)) == [("int32", 0), ("int32", -3)]
    wide = te.compute((2**40,), lambda i: i)
    assert extents(wide) == [("int64", 2**40)] and wide.dtype == "int64"
    # The domain begins at an int32 zero whatever the extent's dtype.
    assert (wide.op.axis[0].dom.min.dtype, wide.op.axis[0].var.dtype) == ("int32", "int64")


@pytest.mark.parametrize(
    "shape, function, message",
    [
        (4, lambda i: i, r"write \(4,\)"),
        ((4,), lambda i, j: i, "takes 2 indices"),
        ((4,), lambda i, j, *k: i, "2 or more indices"),
        ((4,), lambda: 1, "takes no index"),
        ((4,), lambda i, j=2: i, "no defaults"),
        ((4,), lambda i, **k: i, "no keywords"),
        ((4,), 3, "must be a function"),
        ((4,), lambda i: None, "gives no value"),
        ((4,), lambda i: [], "gives no value"),
        ((tir.const(4, "uint32"),), lambda i: i, "signed integer dtype"),
    ],
)
def test_compute_refuses(shape, function, message):
    with pytest.raises(TirError, match=message):
        te.compute(shape, function, name="C")


def test_varargs_names_must_match():
    with pytest.raises(TirError, match="1 names for 2"):
        te.compute((2, 3), lambda *i: i[0], varargs_names=["x"])


@pytest.mark.parametrize("value, dtype", [(7, "int32"), (2**40, "int64"), (1.5, "float32"), (True, "bool")])
def test_python_values_become_constants(value, dtype):
    assert te.compute((2,), lambda i: value).dtype == dtype


def test_tags_and_attributes():
    with te.tag_scope("mine"):
        T = te.compute((2,), lambda i: i, name="T", attrs={"a": 1})
        with pytest.raises(TirError, match="only one"):
            te.compute((2,), lambda i: i, tag="other")
    assert (T.op.tag, T.op.attrs) == ("mine", {"a": 1})
    assert te.compute((2,), lambda i: i, tag="injective").op.tag == "injective"
    with pytest.warns(UserWarning, match="unused_tag"):
        with te.tag_scope("unused_tag"):
            pass


# -- reductions --------------------------------------------------------------------------------------------------------


def test_reduce_axis_domains():
    k = te.reduce_axis((2, 10), name="k")
    assert (int(k.dom.min), int(k.dom.extent), k.iter_type, k.var.name) == (2, 8, tir.IterVar.CommReduce, "k")
    assert te.reduce_axis((0, 4)).var.name == "rv"
    # A zero begin of another dtype leaves the extent alone; any other begin draws the extent to its dtype.
    assert te.reduce_axis((tir.IntImm("int64", 0), 4)).dom.extent.dtype == "int32"
    assert te.reduce_axis((tir.IntImm("int64", 1), 4)).dom.extent.dtype == "int64"
    for dom in (4, (1, 2, 3), (0, 4.0), (tir.const(0, "uint32"), tir.const(4, "uint32"))):
        with pytest.raises(TirError):
            te.reduce_axis(dom)


def test_identities():
    A = {dtype: te.placeholder((4,), dtype=dtype) for dtype in ("float16", "float32", "int8", "uint8", "bfloat16")}
    k = te.reduce_axis((0, 4))

    def identity(reducer, dtype):
        return reducer(A[dtype][k], axis=k).combiner.identity_element[0].value

    assert [identity(te.sum, d) for d in A] == [0, 0, 0, 0, 0]
    assert [identity(te.max, d) for d in A] == [-65504.0, -3.4028234663852886e38, -128, 0, -3.4028234663852886e38]
    assert [identity(te.min, d) for d in A] == [65504.0, 3.4028234663852886e38, 127, 255, 3.4028234663852886e38]
    assert [identity(te.prod, d) for d in A] == [1, 1, 1, 1, 1]


def test_reducers_without_an_axis_combine_their_arguments():
    assert int(te.max(3, 4, 5, 6)) == 6 and int(te.min(3, 4, None)) == 3 and te.sum(3, 4, 5) == 12
    x = te.var("x")
    assert type(te.max(x, 3)) is tir.Max and type(te.min(x, 3)) is tir.Min
    assert te.max(x, 1.5).a.dtype == "float32"


def test_reduction_checks():
    A = te.placeholder((4, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    with pytest.raises(TirError, match="te.compute of its own"):
        te.compute((4,), lambda i: te.sum(A[i, k], axis=k) + 1)
    with pytest.raises(TirError, match="either every output"):
        te.compute((4,), lambda i: (te.sum(A[i, k], axis=k), A[i, 0]))
    with pytest.raises(TirError, match="combiner differ"):
        te.compute((4,), lambda i: (te.sum(A[i, k], axis=k), te.sum(A[i, k], axis=k)))
    with pytest.raises(TirError, match="te.reduce_axis"):
        te.sum(A[0, 0], axis=[tir.IterVar((0, 4), "x", tir.IterVar.DataPar)])
    with pytest.raises(TirError, match="init can only be"):
        te.sum(A[0, k], axis=k, init=te.var("x", "float32"))
    mismatched = te.comm_reducer(lambda x, y: x + y, lambda t: tir.const(0, "int32"))
    with pytest.raises(TirError, match="identity 0 has dtype int32"):
        mismatched(A[0, k], axis=k)


# -- operators ---------------------------------------------------------------------------------------------------------


def test_intrinsics():
    x = te.var("x", "float32")
    h = te.var("h", "float16")
    n = te.var("n")
    for name in (
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "tanh",
        "sigmoid",
        "erf",
        "cos",
        "sin",
        "floor",
        "ceil",
        "trunc",
        "round",
    ):
        call = getattr(te, name)(x)
        assert (type(call), call.op, call.dtype, call.args) == (tir.Call, f"tirx.{name}", "float32", (x,))
    assert te.abs(x).op == "tirx.fabs" and type(te.abs(n)) is tir.Select
    # exp of an integer is a float32's; the others keep the dtype or refuse.
    assert te.exp(n).dtype == "float32" and te.log(n).dtype == "int32"
    with pytest.raises(TirError, match="tanh takes a float"):
        te.tanh(n)
    assert te.floor(n) is n and te.round(tir.const(2.5, "float32")).value == 2.0
    assert te.isnan(h).args[0].dtype == "float32" and te.isnan(n).value == 0
    assert te.power(x, 2).op == "tirx.pow" and te.power(x, 2).args[1].dtype == "float32"
    with pytest.raises(TirError, match="pow takes float"):
        te.power(n, 2)
    assert te.fmod(n, 2.5).dtype == "int32"
    assert te.logaddexp(h, x).dtype == "float32"


def test_bit_operations_give_plain_ints_the_other_dtype():
    b = te.var("b", "uint8")
    for value in (b & 15, b >> 4, b << 1, b | 1, b ^ 1, 15 & b):
        assert value.dtype == "uint8" and {arg.dtype for arg in value.args} == {"uint8"}
    # Arithmetic does not: the int is an int32, and the wider dtype wins.
    assert (b + 1).dtype == "int32"


def test_all_any():
    i = te.var("i")
    both = te.all(i > 1, i < 3, i == 2)
    assert type(both) is tir.And and type(both.a) is tir.And and type(both.b) is tir.EQ
    assert type(te.any(i > 1, tir.Not(i == 2))) is tir.Or
    for function in (te.all, te.any):
        with pytest.raises(TirError, match="at least one"):
            function()


def test_const_and_var():
    assert (te.const(3.7).dtype, te.const(3.7).value) == ("int32", 3)
    assert te.const(3, "float16").value == 3.0 and te.const(True).value == 1
    assert tir.const(2**40).dtype == "int64"
    for value, dtype in (
        (2**40, "int32"),
        (1e39, "float32"),
        (1e6, "float16"),
        (300, "uint8"),
        (-1.0, "float8_e8m0fnu"),
    ):
        with pytest.raises(TirError, match=f"does not fit {dtype}"):
            te.const(value, dtype)
    assert type(te.size_var("n", "int64")) is tir.SizeVar and te.var("n").dtype == "int32"
    assert (te.const(2.5, None).dtype, te.const(2**40, None).dtype) == ("float32", "int64")
    assert te.const(np.float32(-0.5), "int8").value == 0
    for value in (-0.5, np.float32(-0.5)):
        with pytest.raises(TirError, match="cannot make a uint8 of the negative value -0.5"):
            te.const(value, "uint8")


def test_whole_tensor_arithmetic_broadcasts():
    A = te.placeholder((4, 1, 8), name="A", dtype="float16")
    B = te.placeholder((5, 8), name="B", dtype="float32")
    C = A + B
    assert extents(C) == [("int32", 4), ("int32", 5), ("int32", 8)] and C.dtype == "float32"
    assert (C.op.name, C.op.tag, axis_names(C)) == ("T_add", "broadcast", ["ax0", "ax1", "ax2"])
    assert ((2 / A).op.name, (A * 2).op.tag, (-A).op.name) == ("T_divide", "elemwise", "T_multiply")
    assert A.astype("float32").op.name == "compute"
    with pytest.raises(TirError, match="cannot broadcast"):
        te.placeholder((3,)) + te.placeholder((4,))


def test_unsupported_operations_say_so():
    for function in (te.scan, te.extern, te.extern_primfunc):
        with pytest.raises(TirError, match="not supported"):
            function()
    assert te.thread_axis("threadIdx.x").thread_tag == "threadIdx.x"
    with pytest.raises(TirError, match="needs a tag"):
        te.thread_axis((0, 4))
