"""Computations that carver brings to a matrix product, or just fails to; each is a function of te and tirx.

Read by test_schedule.py on the port and by record_schedules.py on the real library.
"""


def _sum_of_products(te, left, right, axis):
    return te.sum(left.astype("float32") * right.astype("float32"), axis=axis)


def matmul(te, M, N, K, trans_A=False, trans_B=True, bias=False):
    A = te.placeholder((K, M) if trans_A else (M, K), dtype="float16", name="A")
    B = te.placeholder((N, K) if trans_B else (K, N), dtype="float16", name="B")
    k = te.reduce_axis((0, K), name="k")

    def product(i, j):
        return _sum_of_products(te, A[k, i] if trans_A else A[i, k], B[j, k] if trans_B else B[k, j], k)

    C = te.compute((M, N), product, name="C")
    if not bias:
        return [A, B, te.compute((M, N), lambda i, j: C[i, j].astype("float16"), name="D")]
    b = te.placeholder((N,), dtype="float32", name="bias")
    E = te.compute((M, N), lambda i, j: C[i, j] + b[j], name="E")
    return [A, B, b, te.compute((M, N), lambda i, j: E[i, j].astype("float16"), name="D")]


def p_plain(te, tirx):
    return matmul(te, 256, 512, 128)


def p_transposed(te, tirx):
    return matmul(te, 256, 512, 128, trans_A=True, trans_B=False)


def p_bias(te, tirx):
    return matmul(te, 256, 512, 128, bias=True)


def p_one_row(te, tirx):
    return matmul(te, 1, 512, 128)


def p_fifteen_rows(te, tirx):
    return matmul(te, 15, 512, 128)


def p_primes(te, tirx):
    return matmul(te, 257, 509, 131)


def p_no_reduction_left(te, tirx):
    return matmul(te, 32, 64, 1)


def p_batched(te, tirx):
    A = te.placeholder((4, 64, 32), dtype="float16", name="A")
    B = te.placeholder((4, 48, 32), dtype="float16", name="B")
    k = te.reduce_axis((0, 32), name="k")
    return [A, B, te.compute((4, 64, 48), lambda b, i, j: _sum_of_products(te, A[b, i, k], B[b, j, k], k), name="C")]


def p_grouped(te, tirx):
    A = te.placeholder((4, 64, 32), dtype="float16", name="A")
    B = te.placeholder((2, 48, 32), dtype="float16", name="B")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((4, 64, 48), lambda b, i, j: _sum_of_products(te, A[b, i, k], B[b // 2, j, k], k), name="C")
    return [A, B, C]


def convolution(te, channels, size, filters, stride, dilation, padding, pad_stage=False):
    out = (14 + 2 * padding - dilation * (size - 1) - 1) // stride + 1
    A = te.placeholder((2, 14, 14, channels), dtype="float16", name="A")
    B = te.placeholder((size, size, channels, filters), dtype="float16", name="B")
    axes = [te.reduce_axis((0, n), name=name) for n, name in ((size, "kh"), (size, "kw"), (channels, "c"))]
    kh, kw, c = axes

    def inside(h, w):
        return te.all(h >= padding, h < 14 + padding, w >= padding, w < 14 + padding)

    zero = 0.0
    if pad_stage:
        wide = 14 + 2 * padding
        P = te.compute(
            (2, wide, wide, channels),
            lambda n, h, w, ch: te.if_then_else(inside(h, w), A[n, h - padding, w - padding, ch], A[n, 0, 0, ch] * 0),
            name="P",
        )

        def element(n, h, w, f):
            read = P[n, h * stride + kh * dilation, w * stride + kw * dilation, c]
            return _sum_of_products(te, read, B[kh, kw, c, f], axes)
    else:

        def element(n, h, w, f):
            y, x = h * stride - padding + kh * dilation, w * stride - padding + kw * dilation
            product = A[n, y, x, c].astype("float32") * B[kh, kw, c, f].astype("float32")
            is_inside = te.all(y >= 0, y < 14, x >= 0, x < 14)
            return te.sum(te.if_then_else(is_inside, product, zero), axis=axes)

    return [A, B, te.compute((2, out, out, filters), element, name="C")]


def p_conv3x3(te, tirx):
    return convolution(te, 32, 3, 64, 1, 1, 1)


def p_conv3x3_strided(te, tirx):
    return convolution(te, 32, 3, 64, 2, 1, 1)


def p_conv3x3_dilated(te, tirx):
    return convolution(te, 32, 3, 64, 1, 2, 2)


def p_conv1x1(te, tirx):
    return convolution(te, 32, 1, 64, 1, 1, 0)


def p_conv_few_channels(te, tirx):
    return convolution(te, 3, 3, 64, 1, 1, 1)


def p_conv_pad_stage(te, tirx):
    return convolution(te, 32, 3, 64, 1, 1, 1, pad_stage=True)


def p_split_k(te, tirx):
    A = te.placeholder((64, 256), dtype="float16", name="A")
    B = te.placeholder((64, 256), dtype="float16", name="B")
    k = te.reduce_axis((0, 64), name="k")

    def part(s, i, j):
        return _sum_of_products(te, A[i, s * 64 + k], B[j, s * 64 + k], k)

    return [A, B, te.compute((4, 64, 64), part, name="P")]


def p_blocked(te, tirx):
    A = te.placeholder((4, 8, 16, 16), dtype="float16", name="A")
    B = te.placeholder((64, 128), dtype="float16", name="B")
    k = te.reduce_axis((0, 128), name="k")

    def element(i, j):
        return _sum_of_products(te, A[i // 16, k // 16, i % 16, k % 16], B[j, k], k)

    return [A, B, te.compute((64, 64), element, name="C")]


def p_two_reductions(te, tirx):
    A = te.placeholder((64, 8, 16), dtype="float16", name="A")
    B = te.placeholder((64, 8, 16), dtype="float16", name="B")
    k, m = te.reduce_axis((0, 8), name="k"), te.reduce_axis((0, 16), name="m")
    C = te.compute((64, 64), lambda i, j: _sum_of_products(te, A[i, k, m], B[j, k, m], [k, m]), name="C")
    return [A, B, C]


def p_reversed(te, tirx):
    A = te.placeholder((64, 128), dtype="float16", name="A")
    B = te.placeholder((64, 128), dtype="float16", name="B")
    k = te.reduce_axis((0, 128), name="k")
    return [A, B, te.compute((64, 64), lambda i, j: _sum_of_products(te, A[63 - i, k], B[j, 127 - k], k), name="C")]


def p_outer_axes(te, tirx):
    A = te.placeholder((8, 16, 128), dtype="float16", name="A")
    B = te.placeholder((4, 32, 128), dtype="float16", name="B")
    k = te.reduce_axis((0, 128), name="k")
    C = te.compute((8, 4, 16, 32), lambda a, b, i, j: _sum_of_products(te, A[a, i, k], B[b, j, k], k), name="C")
    return [A, B, C]


def p_with_itself(te, tirx):
    A = te.placeholder((64, 128), dtype="float16", name="A")
    k = te.reduce_axis((0, 128), name="k")
    return [A, te.compute((64, 64), lambda i, j: _sum_of_products(te, A[i, k], A[j, k], k), name="C")]


def programs():
    """All computations of this file by name."""
    return {name: value for name, value in sorted(globals().items()) if name.startswith("p_")}


LAYOUTS = (None, ["n", "t", "n"], ["t", "n", "n"])
