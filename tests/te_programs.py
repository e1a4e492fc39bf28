"""Computations written in te, to run through TVM and through the port.

te is tvm.te or carver.roller.tir.te, tir is tvm.tirx or carver.roller.tir. Each function gives the arguments of
create_prim_func, or a pair: arguments and keyword arguments.
"""


def mm(te, M, N, K, ta=False, tb=True, in_dtype="float16", acc="float32", out="float16", bias=None):
    A = te.placeholder((K, M) if ta else (M, K), name="A", dtype=in_dtype)
    B = te.placeholder((N, K) if tb else (K, N), name="B", dtype=in_dtype)
    k = te.reduce_axis((0, K), name="k")

    def product(i, j):
        a = A[k, i] if ta else A[i, k]
        b = B[j, k] if tb else B[k, j]
        return te.sum(a.astype(acc) * b.astype(acc), axis=k)

    C = te.compute((M, N), product, name="C")
    last, args = C, [A, B]
    if bias:
        Bias = te.placeholder((N,), name="Bias", dtype=acc)
        last = te.compute((M, N), lambda i, j: C[i, j] + Bias[j], name=bias)
        args.append(Bias)
    if out != acc:
        wide = last
        last = te.compute((M, N), lambda i, j: wide[i, j].astype(out), name="D")
    return [*args, last]


def p_matmul(te, tir):
    return mm(te, 128, 32, 64)


def p_matmul_nn(te, tir):
    return mm(te, 128, 32, 64, tb=False)


def p_matmul_ta(te, tir):
    return mm(te, 128, 32, 64, ta=True)


def p_matmul_same(te, tir):
    return mm(te, 128, 32, 64, in_dtype="float16", acc="float16")


def p_matmul_int8(te, tir):
    return mm(te, 128, 32, 64, in_dtype="int8", acc="int32", out="int32")


def p_matmul_biasclash(te, tir):
    return mm(te, 128, 32, 64, bias="Bias")


def p_matmul_biasok(te, tir):
    return mm(te, 128, 32, 64, bias="E")


def p_matmul_m1(te, tir):
    return mm(te, 1, 32, 64)


def p_matmul_k1(te, tir):
    return mm(te, 16, 32, 1)


def p_matmul_f8(te, tir):
    return mm(te, 16, 32, 64, in_dtype="float8_e4m3fn", acc="float32", out="float8_e5m2")


def p_matmul_bf16(te, tir):
    return mm(te, 16, 32, 64, in_dtype="bfloat16", acc="float32", out="bfloat16")


def p_nested(te, tir):
    A = te.placeholder((16, 16), name="A")

    def f(i):
        k = te.reduce_axis((0, i + 1), name="k")
        return te.sum(A[i, k], axis=k)

    C = te.compute((16,), f, name="C")
    return [A, C]


def p_nested2(te, tir):
    A = te.placeholder((16, 16, 8), name="A")

    def f(i, j):
        k = te.reduce_axis((0, i * 2 + 1), name="k")
        r = te.reduce_axis((0, 8), name="r")
        return te.sum(A[i, k, r], axis=[r, k])

    C = te.compute((16, 4), f, name="C")
    return [A, C]


def p_nested3(te, tir):
    A = te.placeholder((16, 16, 8), name="A")

    def f(i, j):
        k = te.reduce_axis((0, i * 2 + 1), name="k")
        r = te.reduce_axis((0, k + j), name="r")
        return te.max(A[i, k, r], axis=[k, r])

    C = te.compute((16, 4), f, name="C")
    D = te.compute((16, 4), lambda i, j: C[i, j] + 1, name="D")
    return [A, D]


def p_rank0(te, tir):
    A = te.placeholder((16,), name="A")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((), lambda: te.sum(A[k], axis=k), name="C")
    return [A, C]


def p_rank0b(te, tir):
    A = te.placeholder((), name="A")
    C = te.compute((), lambda: A() + 1, name="C")
    return [A, C]


def p_rank0_two(te, tir):
    A = te.placeholder((), name="A")
    B = te.placeholder((4,), name="B")
    C = te.compute((), lambda: A() * 2 + B[3], name="C")
    D = te.compute((4,), lambda i: C() + B[i], name="D")
    return [A, B, D]


def conv(te, N, H, W, C, F, K, S, D, P, in_dtype="float16", acc="float16", lay="NHWC"):
    A = te.placeholder((N, H, W, C), name="A", dtype=in_dtype)
    B = te.placeholder((F, K, K, C), name="B", dtype=in_dtype)
    OH = (H + 2 * P - D * (K - 1) - 1) // S + 1
    OW = (W + 2 * P - D * (K - 1) - 1) // S + 1
    kh = te.reduce_axis((0, K), name="kh")
    kw = te.reduce_axis((0, K), name="kw")
    c = te.reduce_axis((0, C), name="c")

    def f(n, h, w, o):
        hi = h * S - P + kh * D
        wi = w * S - P + kw * D
        return te.sum(
            te.if_then_else(
                te.all(hi >= 0, hi < H, wi >= 0, wi < W),
                A[n, hi, wi, c].astype(acc) * B[o, kh, kw, c].astype(acc),
                te.const(0, acc),
            ),
            axis=[kh, kw, c],
        )

    return [A, B, te.compute((N, OH, OW, F), f, name="C")]


def p_conv(te, tir):
    return conv(te, 1, 16, 16, 8, 4, 3, 1, 1, 1)


def p_conv_s2(te, tir):
    return conv(te, 1, 16, 16, 8, 4, 3, 2, 1, 1)


def p_conv_p0(te, tir):
    return conv(te, 1, 16, 16, 8, 4, 3, 2, 2, 0)


def p_conv_f32(te, tir):
    return conv(te, 2, 16, 17, 8, 4, 1, 1, 1, 1, acc="float32")


def p_conv_padstage(te, tir):
    A = te.placeholder((1, 8, 14, 14), name="data")
    W = te.placeholder((16, 8, 3, 3), name="kernel")
    pad = te.compute(
        (1, 8, 16, 16),
        lambda n, c, h, w: te.if_then_else(te.all(h >= 1, h < 15, w >= 1, w < 15), A[n, c, h - 1, w - 1], 0.0),
        name="pad",
    )
    rc = te.reduce_axis((0, 8), name="rc")
    ry = te.reduce_axis((0, 3), name="ry")
    rx = te.reduce_axis((0, 3), name="rx")
    C = te.compute(
        (1, 16, 14, 14),
        lambda n, f, y, x: te.sum(pad[n, rc, y + ry, x + rx] * W[f, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    R = te.compute((1, 16, 14, 14), lambda *i: te.max(C(*i), te.const(0, "float32")), name="relu")
    return [A, W, R]


def p_softmax(te, tir):
    A = te.placeholder((32, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    m = te.compute((32,), lambda i: te.max(A[i, k], axis=k), name="m")
    e = te.compute((32, 64), lambda i, j: te.exp(A[i, j] - m[i]), name="e")
    k2 = te.reduce_axis((0, 64), name="k")
    s = te.compute((32,), lambda i: te.sum(e[i, k2], axis=k2), name="s")
    o = te.compute((32, 64), lambda i, j: e[i, j] / s[i], name="o")
    return [A, o]


def p_softmax_all(te, tir):
    A = te.placeholder((32, 64), name="A", dtype="float16")
    k = te.reduce_axis((0, 64), name="k")
    m = te.compute((32,), lambda i: te.max(A[i, k], axis=k), name="m")
    s = te.compute((32,), lambda i: te.sum(te.exp(A[i, k] - m[i]), axis=k), name="s")
    o = te.compute((32, 64), lambda i, j: te.exp(A[i, j] - m[i]) / s[i], name="o")
    return [A, m, s, o]


def p_layernorm(te, tir):
    A = te.placeholder((32, 64), name="A", dtype="float16")
    g = te.placeholder((64,), name="gamma", dtype="float16")
    b = te.placeholder((64,), name="beta", dtype="float16")
    k = te.reduce_axis((0, 64), name="k")
    mean = te.compute((32,), lambda i: te.sum(A[i, k].astype("float32"), axis=k), name="mean")
    var = te.compute(
        (32,),
        lambda i: te.sum(
            (A[i, k].astype("float32") - mean[i] / 64) * (A[i, k].astype("float32") - mean[i] / 64.0), axis=k
        ),
        name="var",
    )
    o = te.compute(
        (32, 64),
        lambda i, j: (
            (A[i, j].astype("float32") - mean[i] / 64) * te.rsqrt(var[i] / 64 + 1e-5) * g[j].astype("float32")
            + b[j].astype("float32")
        ).astype("float16"),
        name="o",
    )
    return [A, g, b, o]


def p_transpose(te, tir):
    A = te.placeholder((32, 64, 16), name="A")
    return [A, te.compute((16, 32, 64), lambda a, b, c: A[b, c, a], name="T")]


def p_reverse(te, tir):
    A = te.placeholder((32, 64), name="A")
    return [A, te.compute((32, 64), lambda i, j: A[31 - i, 63 - j], name="T")]


def p_stride(te, tir):
    A = te.placeholder((65, 64), name="A")
    return [A, te.compute((16, 32), lambda i, j: A[i * 4 + 1, j * 2], name="T")]


def p_reshape(te, tir):
    A = te.placeholder((32, 64), name="A")
    return [A, te.compute((2048,), lambda i: A[i // 64, i % 64], name="T")]


def p_reshape2(te, tir):
    A = te.placeholder((2048,), name="A")
    return [A, te.compute((16, 128), lambda i, j: A[i * 128 + j], name="T")]


def p_reshape3(te, tir):
    A = te.placeholder((32, 64), name="A")
    return [A, te.compute((16, 128), lambda i, j: A[(i * 128 + j) // 64, (i * 128 + j) % 64], name="T")]


def p_concat(te, tir):
    A = te.placeholder((32, 64), name="A")
    B = te.placeholder((16, 64), name="B")
    return [A, B, te.compute((48, 64), lambda i, j: te.if_then_else(i < 32, A[i, j], B[i - 32, j]), name="T")]


def p_concat_select(te, tir):
    A = te.placeholder((32, 64), name="A")
    B = te.placeholder((16, 64), name="B")
    return [A, B, te.compute((48, 64), lambda i, j: tir.Select(i < 32, A[i, j], B[i - 32, j]), name="T")]


def p_stencil(te, tir):
    A = te.placeholder((34, 66), name="A")
    return [
        A,
        te.compute((32, 64), lambda i, j: A[i, j] + A[i + 1, j] + A[i + 2, j + 2] * 0.5 - A[i + 1, j + 1], name="T"),
    ]


def p_stencil_wide(te, tir):
    A = te.placeholder((34, 66), name="A")
    return [A, te.compute((32,), lambda i: A[i, 0] + A[i + 1, 5] + A[31 - i, i] + A[i // 2, i * 2 + 1], name="T")]


def p_gather(te, tir):
    A = te.placeholder((100, 64), name="A")
    index = te.placeholder((32,), name="I", dtype="int32")
    return [A, index, te.compute((32, 64), lambda i, j: A[index[i], j], name="T")]


def p_gather64(te, tir):
    A = te.placeholder((100, 64), name="A")
    index = te.placeholder((32,), name="I", dtype="int64")
    return [A, index, te.compute((32, 64), lambda i, j: A[index[i], j] + A[index[i] + 1, 0], name="T")]


def p_broadcast(te, tir):
    A = te.placeholder((32, 1), name="A")
    B = te.placeholder((1, 64), name="B")
    return [A, B, te.compute((32, 64), lambda i, j: A[i, 0] * B[0, j], name="T")]


def p_fewer_args(te, tir):
    A = te.placeholder((32,), name="A")
    return [A, te.compute((32, 64), lambda i: A[i] * 2, name="T")]


def p_varargs(te, tir):
    A = te.placeholder((32, 64, 2), name="A")
    return [A, te.compute(A.shape, lambda *i: A(*i) * 2, name="T")]


def p_varargs_named(te, tir):
    A = te.placeholder((32, 64, 2), name="A")
    return [A, te.compute(A.shape, lambda a, *i: A(a, *i) * 2, name="T", varargs_names=["x", "y"])]


def p_varargs_idx(te, tir):
    A = te.placeholder((32, 64, 2), name="A")
    return [A, te.compute(A.shape, lambda a, *i: A[(a,) + i] * 2 + A[a][i[0]][i[1]], name="T")]


def p_argmax(te, tir):
    A = te.placeholder((32, 64), name="A")
    index = te.placeholder((32, 64), name="I", dtype="int32")
    k = te.reduce_axis((0, 64), name="k")
    argmax = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    T0, T1 = te.compute((32,), lambda i: argmax((index[i, k], A[i, k]), axis=k), name="T")
    return [A, index, T0, T1]


def p_argmax_sole(te, tir):
    A = te.placeholder((32, 64), name="A")
    index = te.placeholder((32, 64), name="I", dtype="int32")
    k = te.reduce_axis((0, 64), name="k")
    argmax = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    T0, T1 = te.compute((32,), lambda i: argmax((index[i, k], A[i, k]), axis=k), name="T")
    return [A, index, T1]


def p_tuple(te, tir):
    A = te.placeholder((32, 64), name="A")
    B = te.placeholder((32, 64), name="B", dtype="int32")
    x, y = te.compute((32, 64), lambda i, j: (A[i, j] + 1, B[i, j] * 2), name="T")
    return [A, B, x, y]


def p_tuple_rank0(te, tir):
    A = te.placeholder((), name="A")
    x, y = te.compute((), lambda: (A() + 1, A() * 2), name="T")
    return [A, x, y]


def p_tuple_used(te, tir):
    A = te.placeholder((32, 64), name="A")
    x, y = te.compute((32, 64), lambda i, j: (A[i, j] + 1, A[i, j] * 2), name="T")
    z = te.compute((32, 64), lambda i, j: x[i, j] - y[i, j], name="z")
    return [A, z]


def p_int64(te, tir):
    A = te.placeholder((2**40, 4), name="A")
    return [A, te.compute((2**40, 4), lambda i, j: A[i, j] + 1, name="T")]


def p_int64_const(te, tir):
    n = tir.IntImm("int64", 128)
    A = te.placeholder((n, n), name="A")
    k = te.reduce_axis((tir.IntImm("int64", 0), n), name="k")
    return [A, te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="T")]


def p_int64_mix(te, tir):
    n = tir.IntImm("int64", 128)
    A = te.placeholder((n, 64), name="A")
    return [A, te.compute((n, 64), lambda i, j: A[i, j] + A[j, i // 2], name="T")]


def p_int64_red(te, tir):
    n = tir.IntImm("int64", 128)
    A = te.placeholder((n, 64), name="A")
    k = te.reduce_axis((0, n), name="k")
    return [A, te.compute((64,), lambda j: te.sum(A[k, j], axis=k), name="T")]


def p_override64(te, tir):
    return mm(te, 128, 32, 64), dict(index_dtype_override="int64")


def p_override64_conv(te, tir):
    return conv(te, 1, 16, 16, 8, 4, 3, 2, 1, 1), dict(index_dtype_override="int64")


def p_override64_gather(te, tir):
    return p_gather(te, tir), dict(index_dtype_override="int64")


def p_override64_select(te, tir):
    return p_concat_select(te, tir), dict(index_dtype_override="int64")


def p_override32(te, tir):
    return p_int64_const(te, tir), dict(index_dtype_override="int32")


def p_override32_mix(te, tir):
    return p_int64_mix(te, tir), dict(index_dtype_override="int32")


def p_override64_idx(te, tir):
    A = te.placeholder((32, 64), name="A")
    return [A, te.compute((32, 64), lambda i, j: A[i, j] + (i * 64 + j).astype("float32"), name="T")], dict(
        index_dtype_override="int64"
    )


def p_override64_sym(te, tir):
    n = te.var("n")
    return mm(te, n, 32, 64), dict(index_dtype_override="int64")


def p_override64_symparam(te, tir):
    n = te.var("n")
    return mm(te, n, 32, 64) + [n], dict(index_dtype_override="int64")


def p_sym(te, tir):
    n = te.var("n")
    return mm(te, n, 32, 64)


def p_sym_param(te, tir):
    n = te.var("n")
    return mm(te, n, 32, 64) + [n]


def p_sym_param_first(te, tir):
    n = te.var("n")
    return [n] + mm(te, n, 32, 64)


def p_sym64(te, tir):
    n = te.size_var("n", "int64")
    return mm(te, n, n, n)


def p_sym_k(te, tir):
    n = te.size_var("n")
    return mm(te, 32, 32, n)


def p_sym_expr(te, tir):
    n = te.var("n")
    return mm(te, n * 2 + 1, 32, 64)


def p_idx_value(te, tir):
    return [te.compute((32, 64), lambda i, j: i * 64 + j, name="T")]


def p_const_value(te, tir):
    return [te.compute((32, 64), lambda i, j: 1.0, name="T")]


def p_const_int(te, tir):
    return [te.compute((32, 64), lambda i, j: 7, name="T")]


def p_const_bool(te, tir):
    return [te.compute((32, 64), lambda i, j: True, name="T")]


def p_cmp(te, tir):
    A = te.placeholder((32,), name="A")
    return [A, te.compute((32,), lambda i: A[i] > 0.5, name="T")]


def p_eq(te, tir):
    A = te.placeholder((32,), name="A")
    return [A, te.compute((32,), lambda i: te.if_then_else(A[i] == 0.5, 1.0, A[i]), name="T")]


def p_ne(te, tir):
    A = te.placeholder((32,), name="A")
    return [A, te.compute((32,), lambda i: te.if_then_else(i != 5, 1.0, A[i]), name="T")]


def p_unit(te, tir):
    A = te.placeholder((1, 32, 1), name="A")
    return [A, te.compute((1, 32, 1), lambda i, j, k: A[i, j, k] * 2, name="T")]


def p_unit_red(te, tir):
    A = te.placeholder((32, 1), name="A")
    k = te.reduce_axis((0, 1), name="k")
    return [A, te.compute((32,), lambda i: te.sum(A[i, k], axis=k), name="T")]


def p_red_min(te, tir):
    A = te.placeholder((32, 8), name="A", dtype="int8")
    k = te.reduce_axis((0, 8), name="k")
    return [A, te.compute((32,), lambda i: te.min(A[i, k], axis=k), name="T")]


def p_red_max_f16(te, tir):
    A = te.placeholder((32, 8), name="A", dtype="float16")
    k = te.reduce_axis((0, 8), name="k")
    return [A, te.compute((32,), lambda i: te.max(A[i, k], axis=k), name="T")]


def p_red_where(te, tir):
    A = te.placeholder((32, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    return [A, te.compute((32,), lambda i: te.sum(A[i, k], axis=k, where=(k < i)), name="T")]


def p_red_init(te, tir):
    A = te.placeholder((32, 8), name="A")
    B = te.placeholder((32,), name="B")
    k = te.reduce_axis((0, 8), name="k")
    return [A, B, te.compute((32,), lambda i: te.sum(A[i, k], axis=k, init=B[i]), name="T")]


def p_red_offset(te, tir):
    A = te.placeholder((32, 18), name="A")
    k = te.reduce_axis((2, 10), name="k")
    return [A, te.compute((32,), lambda i: te.sum(A[i, k], axis=k), name="T")]


def p_prod(te, tir):
    A = te.placeholder((32, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    prod = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, dtype=t), name="prod")
    return [A, te.compute((32,), lambda i: prod(A[i, k], axis=k), name="T")]


def p_math(te, tir):
    A = te.placeholder((32,), name="A")
    fs = [
        te.exp,
        te.erf,
        te.tanh,
        te.sigmoid,
        te.log,
        te.tan,
        te.cos,
        te.sin,
        te.sqrt,
        te.rsqrt,
        te.floor,
        te.ceil,
        te.sinh,
        te.cosh,
        te.log2,
        te.log10,
        te.asin,
        te.asinh,
        te.acos,
        te.acosh,
        te.atan,
        te.atanh,
        te.trunc,
        te.abs,
        te.round,
        te.nearbyint,
    ]

    def f(i):
        v = A[i]
        r = te.const(0.5, "float32")
        for g in fs:
            r = r + g(v)
        return (
            r
            + te.power(v, 2.0)
            + te.fmod(v, 3.0)
            + te.div(v, 2)
            + te.logaddexp(v, v)
            + te.min(v, 1.0)
            + te.max(v, 2)
            + tir.exp2(v)
            + tir.pow(v, 3)
        )

    return [A, te.compute((32,), f, name="T")]


def p_mathi(te, tir):
    A = te.placeholder((32,), name="A", dtype="int32")

    def f(i):
        v = A[i]
        return (
            te.abs(v)
            + te.floordiv(v, 3)
            + te.floormod(v, 3)
            + te.truncdiv(v, 3)
            + te.truncmod(v, 3)
            + te.indexdiv(v, 4)
            + te.indexmod(v, 4)
            + te.popcount(v)
            + (v & 3)
            + (v | 3)
            + (v ^ 3)
            + (v << 2)
            + (v >> 2)
            + ~v
            + (-v)
            + te.add(v, 1)
            + te.subtract(v, 1)
            + te.multiply(v, 2)
            + te.min(v, 3)
            + te.max(v, 3, 5)
        )

    return [A, te.compute((32,), f, name="T")]


def p_isnan(te, tir):
    A = te.placeholder((32,), name="A")
    return [
        A,
        te.compute(
            (32,),
            lambda i: te.if_then_else(te.any(te.isnan(A[i]), te.isinf(A[i]), te.isfinite(A[i])), 0.0, A[i]),
            name="T",
        ),
    ]


def p_exp_int(te, tir):
    A = te.placeholder((32,), name="A", dtype="int32")
    return [A, te.compute((32,), lambda i: te.exp(A[i]), name="T")]


def p_dupname(te, tir):
    A = te.placeholder((32,), name="A")
    B = te.compute((32,), lambda i: A[i] + 1, name="B")
    C = te.compute((32,), lambda i: B[i] + 1, name="B")
    D = te.compute((32,), lambda i: C[i] + 1, name="B")
    return [A, D]


def p_dupname_out(te, tir):
    A = te.placeholder((32,), name="A")
    B = te.compute((32,), lambda i: A[i] + 1, name="A")
    return [A, B]


def p_rootname(te, tir):
    A = te.placeholder((32,), name="root")
    B = te.compute((32,), lambda i: A[i] + 1, name="root")
    return [A, B]


def p_dotname(te, tir):
    A = te.placeholder((32,), name="a.b")
    B = te.compute((32,), lambda i: A[i] + 1, name="x.y")
    C = te.compute((32,), lambda i: B[i] + 1, name="x_y")
    return [A, C]


def p_emptyname(te, tir):
    A = te.placeholder((32,), name="")
    B = te.compute((32,), lambda i: A[i] + 1, name="")
    return [A, B]


def p_defaultnames(te, tir):
    A = te.placeholder((32,))
    k = te.reduce_axis((0, 32))
    B = te.compute((32,), lambda i: A[i] + 1)
    C = te.compute((1,), lambda i: te.sum(B[k], axis=k))
    return [A, C]


def p_dupaxis(te, tir):
    A = te.placeholder((32, 32), name="A")
    i = te.reduce_axis((0, 32), name="i")
    C = te.compute((32,), lambda i_: te.sum(A[i_, i], axis=i), name="C")
    D = te.compute((32,), lambda i: C[i], name="D")
    return [A, D]


def p_missing_arg(te, tir):
    A = te.placeholder((32,), name="A")
    B = te.compute((32,), lambda i: A[i] + 1, name="B")
    return [B]


def p_extra_arg(te, tir):
    A = te.placeholder((32,), name="A")
    X = te.placeholder((3,), name="X")
    B = te.compute((32,), lambda i: A[i] + 1, name="B")
    return [A, X, B]


def p_out_first(te, tir):
    A = te.placeholder((32,), name="A")
    B = te.compute((32,), lambda i: A[i] + 1, name="B")
    return [B, A]


def p_inter_out(te, tir):
    A = te.placeholder((32,), name="A")
    B = te.compute((32,), lambda i: A[i] + 1, name="B")
    C = te.compute((32,), lambda i: B[i] * 2, name="C")
    return [A, C, B]


def p_same_twice(te, tir):
    A = te.placeholder((32,), name="A")
    B = te.compute((32,), lambda i: A[i] + 1, name="B")
    return [A, B, B]


def p_order(te, tir):
    A = te.placeholder((32,), name="A")
    B = te.placeholder((32,), name="B")
    x = te.compute((32,), lambda i: B[i] + 1, name="x")
    y = te.compute((32,), lambda i: A[i] + 1, name="y")
    z = te.compute((32,), lambda i: y[i] * x[i] + x[31 - i], name="z")
    w = te.compute((32,), lambda i: x[i] * z[i], name="w")
    return [A, B, w, z]


def p_single(te, tir):
    A = te.compute((4,), lambda i: i, name="A")
    return A


def p_attrs(te, tir):
    A = te.placeholder((32,), name="A")
    return [
        A,
        te.compute((32,), lambda i: A[i] + 1, name="B", attrs={"a": 1, "b": "x", "c": 2.5, "workload": "w", "t": True}),
    ]


def p_attrs_tensor(te, tir):
    A = te.placeholder((32,), name="A")
    return [A, te.compute((32,), lambda i: A[i] + 1, name="B", attrs={"layout_free_placeholders": [A], "z": A})]


def p_tag(te, tir):
    A = te.placeholder((32,), name="A")
    return [A, te.compute((32,), lambda i: A[i] + 1, name="B", tag="injective")]


def p_double_sum(te, tir):
    A = te.placeholder((32, 8, 4), name="A")
    k = te.reduce_axis((0, 8), name="k")
    inner = te.reduce_axis((0, 4), name="l")
    return [A, te.compute((32,), lambda i: te.sum(A[i, k, inner], axis=(inner, k)), name="T")]


def p_zero_extent(te, tir):
    A = te.placeholder((0, 4), name="A")
    return [A, te.compute((0, 4), lambda i, j: A[i, j], name="T")]


def p_neg_extent(te, tir):
    A = te.placeholder((-3, 4), name="A")
    return [A, te.compute((-3, 4), lambda i, j: A[i, j], name="T")]


def p_float_extent(te, tir):
    A = te.placeholder((4, 4), name="A")
    return [A, te.compute((4.0, 4.5), lambda i, j: A[i, j], name="T")]


def p_float_ph(te, tir):
    A = te.placeholder((4.0, 4), name="A")
    return [A, te.compute((4, 4), lambda i, j: A[i, j], name="T")]


def p_int_shape_ph(te, tir):
    A = te.placeholder(4, name="A")
    return [A, te.compute((4,), lambda i: A[i], name="T")]


def p_int_shape_compute(te, tir):
    A = te.placeholder((4,), name="A")
    return [A, te.compute(4, lambda i: A[i], name="T")]


def p_wrong_rank(te, tir):
    A = te.placeholder((4, 4), name="A")
    return [A, te.compute((4,), lambda i: A[i], name="T")]


def p_too_many_args(te, tir):
    A = te.placeholder((4, 4), name="A")
    return [A, te.compute((4,), lambda i, j: A[i, j], name="T")]


def p_red_inside(te, tir):
    A = te.placeholder((4, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k) + 1, name="T")]


def p_div_ambig(te, tir):
    A = te.placeholder((4,), name="A", dtype="int32")
    return [A, te.compute((4,), lambda i: A[i] / 2, name="T")]


def p_bool_and(te, tir):
    A = te.placeholder((4,), name="A", dtype="int32")
    return [A, te.compute((4,), lambda i: te.if_then_else(A[i], 1, 2), name="T")]


def p_dequant(te, tir):
    B = te.placeholder((32, 8), name="B", dtype="uint8")
    S = te.placeholder((32, 2), name="S", dtype="float16")
    D = te.compute(
        (32, 16),
        lambda i, j: (
            ((B[i, j // 2] >> ((j % 2) * 4).astype("uint8")) & tir.const(15, "uint8")).astype("float16") * S[i, j // 8]
        ),
        name="D",
    )
    return [B, S, D]


def p_dequant_mm(te, tir):
    A = te.placeholder((16, 16), name="A", dtype="float16")
    B = te.placeholder((32, 8), name="B", dtype="int8")
    k = te.reduce_axis((0, 16), name="k")
    D = te.compute(
        (32, 16), lambda n, k: tir.Cast("float16", (B[n, k // 2].astype("int32") >> ((k % 2) * 4)) & 15), name="D"
    )
    C = te.compute((16, 32), lambda i, j: te.sum(A[i, k] * D[j, k], axis=k), name="C")
    return [A, B, C]


def p_simplify(te, tir):
    A = te.placeholder((32,), name="A")
    return [A, te.compute((32,), lambda i: A[i + 0] * 1 + 0 + A[(i * 4) // 4] + A[(i * 2 + i * 3) % 5 + i], name="T")]


def p_simplify_red(te, tir):
    A = te.placeholder((32, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    return [A, te.compute((32,), lambda i: te.sum(A[(i * 4 + k) // 4, (i * 4 + k) % 4] * 1.0, axis=k), name="T")]


def p_and_or(te, tir):
    A = te.placeholder((32, 4), name="A")
    return [
        A,
        te.compute(
            (32, 4),
            lambda i, j: te.if_then_else(te.any(te.all(i > 3, j < 2), i == 7, tir.Not(j == 3)), A[i, j], 0.0),
            name="T",
        ),
    ]


def p_nested_if(te, tir):
    A = te.placeholder((32, 4), name="A")
    return [
        A,
        te.compute(
            (36, 8),
            lambda i, j: te.if_then_else(
                i < 32,
                te.if_then_else(j < 4, A[i, j], 1.0),
                te.if_then_else(te.all(i * 2 + j < 70, i % 2 == 0), A[i - 32, j // 2], 2.0),
            ),
            name="T",
        ),
    ]


def p_mask(te, tir):
    A = te.placeholder((32,), name="A")
    M = te.placeholder((32,), name="M", dtype="bool")
    return [A, M, te.compute((32,), lambda i: te.if_then_else(M[i], A[i], A[31 - i]), name="T")]


def p_tril(te, tir):
    A = te.placeholder((32, 32), name="A")
    return [A, te.compute((32, 32), lambda i, j: te.if_then_else(i >= j, A[i, j], 0.0), name="T")]


def p_bool_out(te, tir):
    A = te.placeholder((32,), name="A")
    return [A, te.compute((32,), lambda i: te.all(A[i] > 0.0, A[i] < 1.0), name="T")]


def p_tensor_op(te, tir):
    A = te.placeholder((), name="A")
    B = te.placeholder((4,), name="B")
    return [A, B, te.compute((4,), lambda i: B[i] + A, name="T")]


def p_iv_const(te, tir):
    A = te.placeholder((8, 8), name="A")
    return [A, te.compute((8,), lambda i: A[3, i] + A[i, 7], name="T")]


def p_shape_use(te, tir):
    n = te.var("n")
    A = te.placeholder((n, 8), name="A")
    return [A, te.compute((A.shape[0], A.shape[1] * 2), lambda i, j: A[i, j // 2] * 2, name="T")]


def p_range_dom(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis(((0, 8)), "kk")
    return [A, te.compute((8,), lambda i: te.max(A[i, k.var], axis=[k]), name="T")]


def p_flash(te, tir):
    Q = te.placeholder((2, 4, 32, 16), name="Q", dtype="float16")
    K = te.placeholder((2, 4, 32, 16), name="K", dtype="float16")
    V = te.placeholder((2, 4, 32, 16), name="V", dtype="float16")
    d = te.reduce_axis((0, 16), name="d")
    s = te.reduce_axis((0, 32), name="s")
    S = te.compute(
        (2, 4, 32, 32),
        lambda b, h, i, j: te.sum(Q[b, h, i, d].astype("float32") * K[b, h, j, d].astype("float32"), axis=d),
        name="S",
    )
    P = te.compute((2, 4, 32, 32), lambda b, h, i, j: S[b, h, i, j].astype("float16"), name="P")
    output = te.compute(
        (2, 4, 32, 16),
        lambda b, h, i, e: te.sum(P[b, h, i, s].astype("float32") * V[b, h, s, e].astype("float32"), axis=s),
        name="O",
    )
    return [Q, K, V, output]


def conditional(f):
    def p(te, tir):
        A = te.placeholder((64, 64), name="A")
        B = te.placeholder((64,), name="I", dtype="int32")
        return [A, B, te.compute((64, 32), lambda i, j: f(te, tir, A, B, i, j), name="T")]

    return p


p_cond1 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(
        te.all(i >= 1, i < 10), te.if_then_else(te.all(i >= 20, i < 30), te.if_then_else(i < 5, A[i, j], 1.0), 2.0), 3.0
    )
)
p_cond2 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(
        te.all(i >= 1, i < 10),
        te.if_then_else(te.all(i >= 20, i < 30), te.if_then_else(te.all(i < 5, i > 3), A[i, j], 1.0), 2.0),
        3.0,
    )
)
p_cond3 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(
        te.all(i >= 1, i < 10, j >= 2, j <= 7),
        te.if_then_else(i + j < 9, te.if_then_else(i * 2 < j, A[i + j, j], 1.0), 2.0),
        3.0,
    )
)
p_cond4 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(
        te.all(i >= 5, i < 5),
        te.if_then_else(te.all(i >= 20, i < 30), te.if_then_else(te.all(i < 5, i > 3), A[i, j], 1.0), 2.0),
        3.0,
    )
)
p_cond5 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(
        te.all(i >= 6, i < 5),
        te.if_then_else(te.all(i >= 20, i < 30), te.if_then_else(te.all(i < 5, i > 3), A[i, j], 1.0), 2.0),
        3.0,
    )
)
p_cond6 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(
        i.equal(5), te.if_then_else(i.equal(6), te.if_then_else(i < 5, A[i, j], 1.0), 2.0), 3.0
    )
)
p_cond7 = conditional(lambda te, tir, A, B, i, j: te.if_then_else(i.astype("int64") < j.astype("int64"), A[i, j], 0.0))
p_cond8 = conditional(lambda te, tir, A, B, i, j: te.if_then_else(te.all(i // 4 < 3, i % 4 >= 1, i >= 0), A[i, j], 0.0))
p_cond9 = conditional(lambda te, tir, A, B, i, j: te.if_then_else(te.all(i * j < 3, i * i >= 1, i >= 0), A[i, j], 0.0))
p_cond10 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(B[i] < 3, te.if_then_else(B[i] > 5, A[i, j], 1.0), 0.0)
)
p_cond11 = conditional(lambda te, tir, A, B, i, j: te.if_then_else(i < -(2**31) + 5, A[i, j], 0.0))
p_cond12 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(te.all(i * 1000000 < 2**30, i * 1000000 > 2**29), A[i, j], 0.0)
)
p_cond13 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(
        te.any(i < 3, j < 2), te.if_then_else(tir.Not(te.any(i < 3, j < 2)), A[i, j], 1.0), 0.0
    )
)
p_cond14 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(
        te.all(i >= 0, i < 64, i - 1 >= 0, i + 1 < 64, j >= 0, j <= 31, i + j <= 40, i - j >= -3, i * 3 + j * 2 < 100),
        A[i, j],
        0.0,
    )
)
p_cond15 = conditional(
    lambda te, tir, A, B, i, j: te.if_then_else(
        te.all(i >= 1, i < 10),
        te.if_then_else(
            te.all(i >= 1, i < 10),
            te.if_then_else(te.all(i >= 10, i < 12), te.if_then_else(i < 3, A[i, j], 5.0), 1.0),
            2.0,
        ),
        3.0,
    )
)


def p_cond16(te, tir):
    A = te.placeholder((64, 64), name="A")
    n = te.var("n")
    m = te.var("m", "int64")
    return [
        A,
        te.compute(
            (64, 32), lambda i, j: te.if_then_else(te.all(i < n, j.astype("int64") < m, i >= 0), A[i, j], 0.0), name="T"
        ),
        n,
        m,
    ]


def p_cond17(te, tir):
    A = te.placeholder((64, 64), name="A")
    n = tir.IntImm("int64", 64)
    return [
        A,
        te.compute(
            (n, 32),
            lambda i, j: te.if_then_else(te.all(i < 10, i >= 0, j < 4, j >= 0, i + j < 7), A[i, j], 0.0),
            name="T",
        ),
    ]


def p_cond18(te, tir):
    A = te.placeholder((64, 64), name="A", dtype="uint8")
    return [
        A,
        te.compute(
            (64, 32),
            lambda i, j: te.if_then_else(A[i, j] < 10, te.if_then_else(A[i, j] > 3, A[i, j], A[j, i]), A[0, 0]),
            name="T",
        ),
    ]


def p_cond19(te, tir):
    x = te.var("x", "uint8")
    A = te.placeholder((64, 64), name="A", dtype="uint8")
    return [
        A,
        te.compute(
            (64, 32),
            lambda i, j: te.if_then_else(te.all(x < 10, x > 3), te.if_then_else(x < 2, A[i, j], A[j, i]), A[0, 0]),
            name="T",
        ),
        x,
    ]


def p_broadcast_add(te, tir):
    A = te.placeholder((4, 1, 8), name="A")
    B = te.placeholder((5, 8), name="B")
    return [A, B, A + B, A - B * 2]


def p_tensor_arithmetic(te, tir):
    A = te.placeholder((4, 8), name="A", dtype="float16")
    return [A, ((2 / A).astype("float32") * A + 1.5)]


def p_broadcast_symbolic(te, tir):
    n = te.var("n")
    A = te.placeholder((n, 8), name="A")
    B = te.placeholder((1, 8), name="B")
    C = te.placeholder((n, 1), name="C")
    return [A, B, C, A * B - C]


def p_broadcast_two_symbols(te, tir):
    n = te.var("n")
    m = te.var("m")
    A = te.placeholder((n, 8), name="A")
    B = te.placeholder((m, 8), name="B")
    return [A, B, A * B]


def p_broadcast_symbol_constant(te, tir):
    n = te.var("n")
    A = te.placeholder((n, 8), name="A")
    B = te.placeholder((16, 8), name="B")
    return [A, B, A * B, B / A]


def p_broadcast_refused(te, tir):
    A = te.placeholder((4, 8), name="A")
    B = te.placeholder((5, 8), name="B")
    return [A, B, A * B]


def p_tensor_int_division(te, tir):
    A = te.placeholder((4, 8), name="A", dtype="int32")
    return [A, A / 2]


def p_tensor_rank0(te, tir):
    A = te.placeholder((), name="A")
    B = te.placeholder((8,), name="B")
    return [A, B, A + B, -B, A * 2]


def p_broadcast_int64(te, tir):
    A = te.placeholder((tir.IntImm("int64", 4), 8), name="A")
    B = te.placeholder((4, 1), name="B")
    return [A, B, A + B]


def p_constant_power(te, tir):
    A = te.placeholder((4,), name="A")
    return [A, te.compute((4,), lambda i: te.exp(A[i]) + 2**3, name="T")]


def p_tag_scope(te, tir):
    A = te.placeholder((4,), name="A")
    with te.tag_scope("mytag"):
        B = te.compute((4,), lambda i: A[i] + 1, name="T")
    assert B.op.tag == "mytag"
    return [A, B]


def p_axis_twice(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    return [A, te.compute((8,), lambda i: te.sum(A[i, k] * A[k, i], axis=[k, k]), name="T")]


def p_no_axis(te, tir):
    A = te.placeholder((8, 8), name="A")
    return [A, te.compute((8,), lambda i: te.sum(A[i, 0], axis=[]), name="T")]


def p_reduce_condition(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    return [
        A,
        te.compute(
            (8,), lambda i: te.sum(te.if_then_else(k.var < i, A[i, k], te.const(0, "float32")), axis=k), name="T"
        ),
    ]


def p_axis_dtypes_refused(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((tir.IntImm("int64", 0), 8), "k")
    return [A, te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="T")]


def p_axis_dtypes(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((2, tir.IntImm("int64", 8)), "k")
    return [A, te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="T")]


def p_offset_axis_override(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((2, 8), "k")
    return [A, te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="T")], dict(index_dtype_override="int64")


def p_int8_extent(te, tir):
    A = te.placeholder((tir.const(8, "int8"), 8), name="A")
    return [A, te.compute((tir.const(8, "int8"), 4), lambda i, j: A[i, j], name="T")]


def p_pure_extern(te, tir):
    A = te.placeholder((8, 8), name="A")
    return [A, te.compute((8, 4), lambda i, j: tir.call_pure_extern("float32", "foo", A[i, j], i), name="T")]


def p_reinterpret(te, tir):
    A = te.placeholder((8, 8), name="A", dtype="int32")
    return [A, te.compute((8, 4), lambda i, j: tir.reinterpret("float32", A[i, j]), name="T")]


def p_let_value(te, tir):
    A = te.placeholder((8, 8), name="A")
    v = tir.Var("v", "float32")
    return [A, te.compute((8, 4), lambda i, j: tir.Let(v, A[i, j] * 2, v * v + A[j, i]), name="T")]


def p_let_index(te, tir):
    A = te.placeholder((8, 8), name="A")
    v = tir.Var("v", "int32")
    return [A, te.compute((8, 4), lambda i, j: tir.Let(v, i * 2 + j, A[v, v + 1]), name="T")]


def p_and_node(te, tir):
    A = te.placeholder((8, 8), name="A")
    return [A, te.compute((8, 4), lambda i, j: tir.And(i == 3, j < 2), name="T")]


def p_node_classes(te, tir):
    A = te.placeholder((8, 8), name="A")
    return [A, te.compute((8, 4), lambda i, j: tir.Add(A[i, j], A[j, i]) + tir.Max(i, 2).astype("float32"), name="T")]


def p_bool_cast_sum(te, tir):
    A = te.placeholder((8, 8), name="A", dtype="bool")
    k = te.reduce_axis((0, 8), "k")
    return [A, te.compute((8,), lambda i: te.sum(A[i, k].astype("int32"), axis=k), name="T")]


def p_bool_sum(te, tir):
    A = te.placeholder((8, 8), name="A", dtype="bool")
    k = te.reduce_axis((0, 8), "k")
    return [A, te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="T")]


def p_bool_add(te, tir):
    A = te.placeholder((8, 8), name="A", dtype="bool")
    return [A, te.compute((8, 8), lambda i, j: A[i, j] + 1, name="T")]


def p_float8_value(te, tir):
    A = te.placeholder((8, 8), name="A", dtype="float8_e4m3fn")
    return [A, te.compute((8, 8), lambda i, j: A[i, j] * 2 + 1.5, name="T")]


def p_float4_value(te, tir):
    A = te.placeholder((8, 8), name="A", dtype="float4_e2m1fn")
    B = te.placeholder((8, 8), name="B", dtype="bfloat16")
    return [A, B, te.compute((8, 8), lambda i, j: A[i, j].astype("bfloat16") * B[i, j], name="T")]


def p_int4_value(te, tir):
    A = te.placeholder((8, 8), name="A", dtype="int4")
    return [A, te.compute((8, 8), lambda i, j: A[i, j].astype("float16"), name="T")]


def p_float4_bfloat16(te, tir):
    A = te.placeholder((8, 8), name="A", dtype="float4_e2m1fn")
    B = te.placeholder((8, 8), name="B", dtype="bfloat16")
    return [A, B, te.compute((8, 8), lambda i, j: A[i, j] * B[i, j], name="T")]


def p_reduce_in_reduce(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    return [A, te.compute((8,), lambda i: te.sum(te.sum(A[i, k], axis=k), axis=te.reduce_axis((0, 4), "q")), name="T")]


def p_bits_of_unsigned_and_negative(te, tir):
    A = te.placeholder((8,), name="A", dtype="uint8")
    B = te.placeholder((8,), name="B", dtype="uint32")
    C = te.compute((8,), lambda i: (A[i] & ~3) | (-5 ^ A[i]), name="C")
    return [A, B, C, te.compute((8,), lambda i: (B[i] >> -1) + (B[i] << -(2**40)), name="D")]


def p_largest_of_uint64(te, tir):
    A = te.placeholder((8, 8), name="A", dtype="uint64")
    k = te.reduce_axis((0, 8), "k")
    R = te.compute((8,), lambda i: te.min(A[i, k], axis=k), name="R")
    return [A, te.compute((8,), lambda i: (R[i] & te.const(2**64 - 2, "uint64")) + te.const(2**63, "uint64"), name="T")]


def _reduced(te, combine, dtype, zeros=1):
    A = te.placeholder((8, 8), name="A", dtype=dtype)
    k = te.reduce_axis((0, 8), "k")
    reducer = te.comm_reducer(
        combine, lambda *dtypes: [te.const(0, d) for d in dtypes] if zeros > 1 else te.const(0, *dtypes)
    )
    sources = (lambda i: (A[i, k],) * zeros) if zeros > 1 else (lambda i: A[i, k])
    return A, lambda i: reducer(sources(i), axis=k)


def p_reducer_widens(te, tir):
    A, value = _reduced(te, lambda x, y: x + y + te.const(1, "float32"), "float16")
    return [A, te.compute((8,), value, name="T")]


def p_reducer_compares(te, tir):
    A, value = _reduced(te, lambda x, y: x > y, "int32")
    return [A, te.compute((8,), value, name="T")]


def p_reducer_adds_an_int(te, tir):
    A, value = _reduced(te, lambda x, y: te.max(x, y) + 1, "int8")
    return [A, te.compute((8,), value, name="T")]


def p_reducer_keeps_the_dtype(te, tir):
    A, value = _reduced(te, lambda x, y: te.max(x, y) + te.const(1, "int8"), "int8")
    return [A, te.compute((8,), value, name="T")]


def p_tuple_reducer_widens(te, tir):
    A, value = _reduced(te, lambda x, y: (x[0] + y[0], (x[1] + y[1]).astype("float32")), "float16", 2)
    return [A, *te.compute((8,), value, name="T")]


def p_one_component_of_two(te, tir):
    A, value = _reduced(te, lambda x, y: (x[0] + y[0], x[1] + y[1]), "float16", 2)
    return [A, te.compute((8,), lambda i: value(i)[1], name="T")]


def p_likely_of_a_number(te, tir):
    A = te.placeholder((8,), name="A", dtype="int32")
    return [A, te.compute((8,), lambda i: tir.likely(A[i]), name="T")]


def p_likely_of_a_condition(te, tir):
    A = te.placeholder((8,), name="A", dtype="int32")
    return [A, te.compute((8,), lambda i: te.if_then_else(tir.likely(i < 5), A[i], 0), name="T")]


def p_divided_by_true(te, tir):
    A = te.placeholder((8,), name="A", dtype="int32")
    return [A, te.compute((8,), lambda i: A[i] / True, name="T")]


def p_divided_by_a_condition(te, tir):
    A = te.placeholder((8,), name="A", dtype="int32")
    return [A, te.compute((8,), lambda i: A[i] / (i > 1), name="T")]


def p_axis_among_the_arguments(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    return [A, k, te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="T")]


def p_axis_without_a_name(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), None)
    return [A, te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="T")]


def p_minus_an_axis(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    return [A, te.compute((8,), lambda i: te.sum(A[i, -k], axis=k), name="T")]


def p_not_an_axis(te, tir):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    return [A, te.compute((8,), lambda i: te.sum(A[i, ~k], axis=k), name="T")]


def p_attribute_without_a_value(te, tir):
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: A[i], name="T", attrs={"e": None})]


def p_attribute_without_a_name(te, tir):
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: A[i], name="T", attrs={1: 2})]


def p_attribute_with_a_part_without_a_value(te, tir):
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: A[i], name="T", attrs={"e": [1, None]})]


def p_constants_of_their_own_dtype(te, tir):
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: A[i] + te.const(2.5, None) + te.const(3, None), name="T")]


def p_negative_fraction_as_unsigned(te, tir):
    A = te.placeholder((8,), name="A", dtype="uint8")
    return [A, te.compute((8,), lambda i: A[i] + te.const(-0.5, "uint8"), name="T")]


def p_name_in_another_script(te, tir):
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: A[i], name="\u65e5\u672c")]


def p_name_with_odd_characters(te, tir):
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: A[i], name='a"b\\c\t\n\r\u00e9', attrs={'k"': 'v"'})]


def programs():
    """The programs by name."""
    return {name: value for name, value in globals().items() if name.startswith("p_")}


def make(program, te, tir):
    """The PrimFunc of a program."""
    made = program(te, tir)
    arguments, options = made if isinstance(made, tuple) else (made, {})
    return te.create_prim_func(arguments, **options)
