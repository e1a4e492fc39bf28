"""Programs of known kinds for the fuzzer: attention, normalisation, im2col, concatenation, reshapes and others.

Each function writes the stages of one kind with a `fuzz_draw.Drawing`, which chooses extents, dtypes and variants.
What these programs have and grown ones rarely: several stages that must fit each other, reads through long chains of
`//` and `%`, nested conditions, one tensor read by several stages, scalars, tensors of constants, symbolic extents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fuzz_draw import Drawing, Tensor

Expression = Any


def total(terms: list[Expression]) -> Expression:
    """A sum; of nothing it is 0."""
    result: Expression = terms[0] if terms else 0
    for term in terms[1:]:
        result = ["add", result, term]
    return result


def every(conditions: list[Expression]) -> Expression:
    result = conditions[0]
    for condition in conditions[1:]:
        result = ["and", result, condition]
    return result


def stage(
    d: Drawing, axes: list[tuple], value: Expression, dtype: str, op: str | None = None, loops: Sequence[tuple] = ()
) -> Tensor:
    """One stage with one value: axes (name, extent), reduction loops (name, extent)."""
    return stages(d, axes, [value], [dtype], op, loops)[0]


def stages(
    d: Drawing, axes: list[tuple], values: list, dtypes: list[str], op: str | None = None, loops: Sequence[tuple] = ()
) -> list[Tensor]:
    name = d.fresh()
    spec: dict = {"name": name, "axes": [list(axis) for axis in axes], "values": values}
    if op is not None:
        spec.update(op=op, reduce=[[loop, 0, extent] for loop, extent in loops])
    d.stages.append(spec)
    names = [name] if len(values) == 1 else [f"{name}.{i}" for i in range(len(values))]
    made = [d.tensor_type(each, [extent for _, extent in axes], dtype) for each, dtype in zip(names, dtypes)]
    d.made += made
    return made


def read(tensor: Tensor, *indices: Expression) -> Expression:
    return ["read", tensor.name, list(indices)]


def as_dtype(value: Expression, dtype: str, wanted: str) -> Expression:
    return value if dtype == wanted else ["cast", wanted, value]


def float_of(d: Drawing) -> str:
    return d.dtype if "float" in d.dtype else "float16"


def wide_of(d: Drawing, dtype: str) -> str:
    return "float32" if dtype == "float16" and d.chance(0.6) else dtype


# ---------------------------------------------------------------------------------------------------------------------
# Several stages that fit each other


def attention(d: Drawing) -> None:
    """Scores, mask, softmax, values; cut off after any of its stages."""
    r = d.r
    dtype = float_of(d)
    wide = wide_of(d, dtype)
    batch = [(name, r.choice((1, 2, 4, 8))) for name in "bh"[: r.choice((0, 1, 2))]]
    m, n, depth = (r.choice((1, 16, 32, 64, 128, 100)) for _ in range(3))
    group = r.choice((1, 1, 1, 2)) if batch else 1
    outer = [name for name, _ in batch]
    shared = [*outer[:-1], ["floordiv", outer[-1], group]] if batch else []
    kv = [*(extent for _, extent in batch[:-1]), -(-batch[-1][1] // group)] if batch else []
    Q = d.new_input([*(extent for _, extent in batch), m, depth], dtype)
    K = d.new_input([*kv, n, depth], dtype)
    V = d.new_input([*kv, n, depth], dtype)
    rows, scores = [*batch, ("i", m)], [*batch, ("i", m), ("j", n)]
    left = as_dtype(read(Q, *outer, "i", "k"), dtype, wide)
    right = as_dtype(read(K, *shared, "j", "k"), dtype, wide)
    S = stage(d, scores, ["mul", left, right], wide, "sum", [("k", depth)])
    if d.chance(0.5):
        mask = ["le", "j", "i"] if d.chance(0.6) else ["lt", ["sub", "i", "j"], r.choice((1, 4, 16))]
        if d.chance(0.3):
            mask = [r.choice(("and", "or")), mask, ["lt", "j", max(1, n - 3)]]
        low = ["limit", "min_value", wide] if d.chance(0.5) else ["const", -100, wide]
        kept = [r.choice(("if", "select")), mask, ["mul", read(S, *outer, "i", "j"), ["const", 0.125, wide]], low]
        S = stage(d, scores, kept, wide)
    if d.chance(0.15):
        return
    M = stage(d, rows, read(S, *outer, "i", "j"), wide, "max", [("j", n)])
    E = stage(d, scores, ["call", "exp", ["sub", read(S, *outer, "i", "j"), read(M, *outer, "i")]], wide)
    L = stage(d, rows, read(E, *outer, "i", "j"), wide, "sum", [("j", n)])
    P = E
    if d.chance(0.6):
        quotient = ["div", read(E, *outer, "i", "j"), read(L, *outer, "i")]
        P = stage(d, scores, as_dtype(quotient, wide, dtype), dtype)
    if d.chance(0.25):
        return
    value = ["mul", read(P, *outer, "i", "j"), as_dtype(read(V, *shared, "j", "k"), dtype, P.dtype)]
    out_axes = [*batch, ("i", m), ("k", depth)]
    result = stage(d, out_axes, value, P.dtype, "sum", [("j", n)])
    if P is E:
        stage(d, out_axes, ["div", read(result, *outer, "i", "k"), read(L, *outer, "i")], P.dtype)


def normalisation(d: Drawing) -> None:
    """Layers, groups or batches brought to mean 0 and variance 1; with one reduction of two values, or two of one."""
    r = d.r
    dtype = float_of(d)
    wide = wide_of(d, dtype)
    shape = d.shape(r.choice((2, 3, 3, 4)))
    names = list("nchw"[: len(shape)])
    reduced = sorted(r.sample(range(len(shape)), r.choice((1, 1, max(1, len(shape) - 1)))))
    axes = list(zip(names, shape))
    kept = [axis for place, axis in enumerate(axes) if place not in reduced] or [("one", 1)]
    back = [name for name, _ in kept] if kept != [("one", 1)] else [0]
    loops = [axes[place] for place in reduced]
    X = d.new_input(shape, dtype)
    x = as_dtype(read(X, *names), dtype, wide)
    count = ["const", float(math.prod(extent for _, extent in loops) % 1000003), wide]
    if d.chance(0.3):
        C, S, Q = stages(d, kept, [["const", 1, wide], x, x], [wide, wide, wide], "moments", loops)
        mean, variance = ["div", read(S, *back), read(C, *back)], ["div", read(Q, *back), read(C, *back)]
    else:
        S = stage(d, kept, x, wide, "sum", loops)
        mean = ["div", read(S, *back), count]
        centred = ["sub", x, mean]
        V = stage(d, kept, ["mul", centred, centred], wide, "sum", loops)
        variance = ["div", read(V, *back), count]
    if d.chance(0.2):
        return
    value = ["mul", ["sub", x, mean], ["call", "rsqrt", ["add", variance, ["const", 0.001, wide]]]]
    if d.chance(0.6):
        place = r.randrange(len(shape))
        gamma, beta = d.new_input([shape[place]], wide), d.new_input([shape[place]], wide)
        value = ["add", ["mul", value, read(gamma, names[place])], read(beta, names[place])]
    stage(d, axes, as_dtype(value, wide, dtype), dtype)


def diamond(d: Drawing) -> None:
    """One stage that two others read, each its own way, and a stage that joins them."""
    r = d.r
    dtype = d.dtype
    shape = d.shape(r.choice((1, 2, 2, 3)))
    names = list("ijlm"[: len(shape)])
    axes = list(zip(names, shape))
    A = d.new_input(shape, dtype)
    top = stage(d, axes, d.combine(read(A, *names), d.constant(dtype)), dtype)

    def side() -> tuple[Tensor, list[Expression]]:
        """A stage over the first one, and the indices by which it is read back at the full axes."""
        kind = r.choice(("map", "map", "reduce", "turned", "shifted", "same", "pooled"))
        if kind == "reduce":
            at = r.randrange(len(shape))
            kept = [axis for place, axis in enumerate(axes) if place != at] or [("one", 1)]
            small = stage(d, kept, read(top, *names), dtype, r.choice(("sum", "max")), [axes[at]])
            return small, [name for name, _ in kept] if len(axes) > 1 else [0]
        if kind == "turned":
            return stage(d, axes[::-1], read(top, *names), dtype), names[::-1]
        if kind == "shifted":
            moved = [["floormod", ["add", names[0], 1], shape[0]], *names[1:]]
            return stage(d, axes, read(top, *moved), dtype), names
        if kind == "pooled" and shape[-1] > 1:
            half = shape[-1] // 2
            inner = [*names[:-1], ["add", ["mul", names[-1], 2], "k"]]
            small = stage(d, [*axes[:-1], (names[-1], half)], read(top, *inner), dtype, "max", [("k", 2)])
            return small, [*names[:-1], ["min", ["floordiv", names[-1], 2], half - 1]]
        if kind == "same":
            return top, names
        return stage(d, axes, d.combine(read(top, *names), d.constant(dtype)), dtype), names

    left, right = side(), side()
    value = d.combine(read(left[0], *left[1]), read(right[0], *right[1]))
    if d.chance(0.3):
        value = ["select", ["gt", read(left[0], *left[1]), d.constant(dtype)], value, read(right[0], *right[1])]
    if d.chance(0.3):
        value = d.combine(value, read(top, *names))
    stage(d, axes, value, dtype)
    if d.chance(0.25):
        d.plain_stage()


def split_k(d: Drawing) -> None:
    """A product whose reduction is cut into slices that are summed by a stage of their own."""
    r = d.r
    m, n, k, slices = (r.choice(values) for values in ((16, 32, 64, 100), (16, 48, 128), (16, 32, 64), (1, 2, 4, 8)))
    A, B = d.new_input([m, slices * k], "float16"), d.new_input([n, slices * k], "float16")
    at = ["add", ["mul", "s", k], "k"] if d.chance(0.6) else ["add", ["mul", "k", slices], "s"]
    value = ["mul", ["cast", "float32", read(A, "i", at)], ["cast", "float32", read(B, "j", at)]]
    axes = [("s", slices), ("i", m), ("j", n)]
    r.shuffle(axes)
    P = stage(d, axes, value, "float32", "sum", [("k", k)])
    if d.chance(0.7):
        stage(d, [("i", m), ("j", n)], read(P, *(name for name, _ in axes)), "float32", "sum", [("s", slices)])
    if d.chance(0.4):
        d.epilogue_stage()


def winograd(d: Drawing) -> None:
    """Small tiles of an image transformed from both sides by a matrix."""
    r = d.r
    tile, step = r.choice(((4, 2), (6, 4), (3, 1)))
    tiles, channels = r.choice((2, 3, 8)), r.choice((1, 4, 16))
    dtype = float_of(d)
    X = d.new_input([channels, step * tiles + tile - step, step * tiles + tile - step], dtype)
    T = d.new_input([tile, tile], dtype)
    rows = ["add", ["mul", ["floordiv", "p", tiles], step], "u"]
    columns = ["add", ["mul", ["floormod", "p", tiles], step], "v"]
    axes = [("x", tile), ("y", tile), ("c", channels), ("p", tiles * tiles)]
    value = ["mul", ["mul", read(X, "c", rows, columns), read(T, "u", "x")], read(T, "v", "y")]
    V = stage(d, axes, value, dtype, "sum", [("u", tile), ("v", tile)])
    if d.chance(0.5):
        filters = r.choice((4, 16, 32))
        W = d.new_input([tile, tile, channels, filters], dtype)
        product = ["mul", read(W, "x", "y", "c", "f"), read(V, "x", "y", "c", "p")]
        out = [("x", tile), ("y", tile), ("f", filters), ("p", tiles * tiles)]
        stage(d, out, product, dtype, "sum", [("c", channels)])


# ---------------------------------------------------------------------------------------------------------------------
# Chains of // and %


def im2col(d: Drawing) -> None:
    """A convolution as a matrix product: rows, columns and the reduction are fused axes."""
    r = d.r
    batch, channels, kernel, filters = (r.choice(v) for v in ((1, 2, 4), (1, 3, 8, 16), (1, 3, 3, 5), (8, 32, 64)))
    stride, dilation, pad = r.choice((1, 1, 2)), r.choice((1, 1, 2)), r.choice((0, 1, 1, 2))
    size = r.choice((7, 8, 14, 16, 28))
    out = (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    if out < 1:
        out, stride, dilation, kernel = size, 1, 1, 1
    dtype = r.choice(("float16", "float16", "int8", "float32"))
    X = d.new_input([batch, size, size, channels], dtype)
    n = ["floordiv", "m", out * out]
    oh, ow = ["floormod", ["floordiv", "m", out], out], ["floormod", "m", out]
    if d.chance(0.3):
        oh = ["floordiv", ["floormod", "m", out * out], out]
    kh = ["floordiv", "k", kernel * channels]
    kw, c = ["floormod", ["floordiv", "k", channels], kernel], ["floormod", "k", channels]
    h = ["add", ["mul", oh, stride], ["mul", kh, dilation]]
    w = ["add", ["mul", ow, stride], ["mul", kw, dilation]]
    if pad:
        h, w = ["sub", h, pad], ["sub", w, pad]
    value = read(X, n, h, w, c)
    if pad:
        inside = [["ge", h, 0], ["lt", h, size], ["ge", w, 0], ["lt", w, size]]
        value = ["if", every(inside), value, ["const", 0, dtype]]
    rows, depth = batch * out * out, kernel * kernel * channels
    W = d.new_input([depth, filters], dtype)
    wide = {"float16": "float32", "int8": "int32"}.get(dtype, dtype)
    if d.chance(0.6):
        value = read(stage(d, [("m", rows), ("k", depth)], value, dtype), "m", "k")
    product = ["mul", as_dtype(value, dtype, wide), as_dtype(read(W, "k", "f"), dtype, wide)]
    stage(d, [("m", rows), ("f", filters)], product, wide, "sum", [("k", depth)])
    if d.chance(0.4):
        d.epilogue_stage()


def transposed_convolution(d: Drawing) -> None:
    """Each output is made of the inputs whose distance is a multiple of the stride."""
    r = d.r
    channels, filters, size = r.choice((1, 3, 8)), r.choice((1, 4, 16)), r.choice((4, 7, 8, 14))
    kernel, stride, pad = r.choice((1, 2, 3, 4)), r.choice((1, 2, 3)), r.choice((0, 1, 2))
    out = max(1, (size - 1) * stride - 2 * pad + kernel)
    dtype = float_of(d)
    X, W = d.new_input([channels, size], dtype), d.new_input([channels, filters, kernel], dtype)
    moved = ["sub", ["add", "h", pad], "k"] if d.chance(0.6) else ["add", ["sub", "h", "k"], pad]
    inside = [["ge", moved, 0], ["eq", ["floormod", moved, stride], 0], ["lt", ["floordiv", moved, stride], size]]
    division = r.choice(("floordiv", "floordiv", "truncdiv"))
    value = ["if", every(inside), read(X, "c", [division, moved, stride]), ["const", 0, dtype]]
    value = ["mul", value, read(W, "c", "f", "k")]
    stage(d, [("f", filters), ("h", out)], value, dtype, "sum", [("c", channels), ("k", kernel)])


def reshape(d: Drawing) -> None:
    """A tensor read through its flat index; mostly with something before or after."""
    r = d.r
    extents = [r.choice((1, 2, 2, 3, 4, 5, 8, 16)) for _ in range(r.choice((2, 3, 4)))]
    shape = grouped(d, extents)
    if d.chance(0.3):
        r.shuffle(extents)
    target = grouped(d, extents)
    dtype = d.dtype
    A = d.new_input(shape, dtype)
    if d.chance(0.4):
        names = list("xyzw"[: len(shape)])
        A = stage(d, list(zip(names, shape)), d.combine(read(A, *names), d.constant(dtype)), dtype)
    names = list("ijlmn"[: len(target)])
    flat = flat_index(names, target)
    if d.chance(0.25):
        flat = ["floormod", ["add", flat, r.choice((1, 2, 7))], math.prod(target)]
    value = read(A, *split_index(flat, shape, d.chance(0.5)))
    if d.chance(0.35) and len(target) > 1:
        at = r.randrange(len(target))
        kept = [axis for place, axis in enumerate(zip(names, target)) if place != at]
        B = stage(d, kept, value, dtype, r.choice(("sum", "max")), [(names[at], target[at])])
    else:
        B = stage(d, list(zip(names, target)), value, dtype)
    if d.chance(0.3) and B.shape:
        d.plain_stage()


def grouped(d: Drawing, extents: list[int]) -> list[int]:
    """Some neighbours become one extent."""
    result = [extents[0]]
    for extent in extents[1:]:
        if d.chance(0.45):
            result[-1] *= extent
        else:
            result.append(extent)
    return result


def flat_index(names: list[str], shape: list[int]) -> Expression:
    terms = []
    for place, name in enumerate(names):
        stride = math.prod(shape[place + 1 :])
        terms.append(["mul", name, stride] if stride > 1 else name)
    return total(terms)


def split_index(flat: Expression, shape: list[int], remainder_last: bool) -> list[Expression]:
    """The indices of a flat index: `flat // stride % extent`, or `flat % (stride * extent) // stride`."""
    found = []
    for place, extent in enumerate(shape):
        stride = math.prod(shape[place + 1 :])
        if remainder_last:
            index = ["floordiv", flat, stride] if stride > 1 else flat
            found.append(["floormod", index, extent] if place else index)
        else:
            index = ["floormod", flat, stride * extent] if place else flat
            found.append(["floordiv", index, stride] if stride > 1 else index)
    return found


def swizzle(d: Drawing) -> None:
    """Columns permuted by rows with exclusive or, remainders, and negative steps."""
    r = d.r
    rows, columns = r.choice((8, 16, 30, 64)), r.choice((8, 16, 32, 64))
    dtype = d.dtype
    A = d.new_input([rows, columns], dtype)
    kind = r.choice(("xor", "rotate", "reverse", "interleave", "blocks", "diagonal"))
    at: Expression = ["bxor", "j", ["floormod", "i", 8]]
    if kind == "rotate":
        at = ["floormod", ["sub", "j", "i"], columns]
    elif kind == "reverse":
        at = ["sub", columns - 1, ["mul", ["floordiv", "j", 2], 2]]
    elif kind == "interleave":
        at = ["add", ["mul", ["floormod", "j", 2], columns // 2], ["floordiv", "j", 2]]
    elif kind == "blocks":
        moved = ["floormod", ["add", ["floordiv", "j", 4], "i"], columns // 4]
        at = ["add", ["mul", moved, 4], ["floormod", "j", 4]]
    elif kind == "diagonal":
        at = ["floormod", ["add", ["mul", "i", r.choice((1, 3, -1))], ["mul", "j", r.choice((1, 5, -3))]], columns]
    B = stage(d, [("i", rows), ("j", columns)], read(A, "i", at), dtype)
    if d.chance(0.5):
        stage(d, [("i", rows)], read(B, "i", "k"), dtype, "sum", [("k", columns)])


# ---------------------------------------------------------------------------------------------------------------------
# Conditions


def concatenation(d: Drawing) -> None:
    """Two or three tensors one after the other along an axis, by nested conditions."""
    r = d.r
    shape = d.shape(r.choice((1, 2, 2, 3)))
    names = list("ijlm"[: len(shape)])
    at = r.randrange(len(shape))
    dtype = d.dtype
    sizes = [d.extent() for _ in range(r.choice((2, 2, 3)))]
    parts, begin = [], 0
    for size in sizes:
        X = d.new_input([*shape[:at], size, *shape[at + 1 :]], dtype)
        if d.chance(0.25):
            X = stage(d, list(zip(names, X.shape)), d.combine(read(X, *names), d.constant(dtype)), dtype)
        moved = ["sub", names[at], begin] if begin else names[at]
        parts.append(read(X, *names[:at], moved, *names[at + 1 :]))
        begin += size
    value, end = parts[-1], sum(sizes)
    kind = r.choice(("if", "if", "select"))
    for part, size in zip(parts[-2::-1], sizes[:0:-1]):
        end -= size
        condition = ["lt", names[at], end] if d.chance(0.7) else ["not", ["ge", names[at], end]]
        value = [kind, condition, part, value]
    axes = list(zip(names, [*shape[:at], sum(sizes), *shape[at + 1 :]]))
    if d.chance(0.3):
        kept = [axis for axis in axes if axis[0] != names[-1]] or [("one", 1)]
        stage(d, kept, value, dtype, "sum", [axes[-1]])
        return
    stage(d, axes, value, dtype)
    if d.chance(0.4):
        d.plain_stage()


def pooling(d: Drawing) -> None:
    """Windows of an image, padded by nested conditions or clamped; its average or greatest."""
    r = d.r
    channels, size = r.choice((1, 3, 16)), r.choice((5, 7, 8, 16, 28))
    kernel, stride, pad = r.choice((1, 2, 3, 5)), r.choice((1, 2, 3)), r.choice((0, 1, 2))
    out = max(1, (size + 2 * pad - kernel) // stride + 1)
    dtype = d.dtype
    X = d.new_input([channels, size, size], dtype)
    rows = ["sub", ["add", ["mul", "h", stride], "k"], pad]
    columns = ["sub", ["add", ["mul", "w", stride], "r"], pad]
    nothing = ["limit", "min_value", dtype] if dtype in ("float16", "float32", "int8") else ["const", 0, dtype]
    value = read(X, "c", rows, columns)
    kind = r.choice(("nested", "all", "clamped", "inner"))
    if kind == "clamped":
        value = read(X, "c", *(["max", ["min", e, size - 1], 0] for e in (rows, columns)))
    elif kind == "nested":
        value = ["if", every([["ge", columns, 0], ["lt", columns, size]]), value, nothing]
        value = ["if", ["or", ["lt", rows, 0], ["ge", rows, size]], nothing, value]
    else:
        inside = [[op, e, n] for e in (rows, columns) for op, n in (("ge", 0), ("lt", size))]
        value = ["if", every(inside), value, nothing]
    window = [("k", kernel), ("r", kernel)]
    axes = [("c", channels), ("h", out), ("w", out)]
    if kind == "inner" and d.chance(0.5):
        padded = stage(d, [*axes, *window], value, dtype)
        value = read(padded, "c", "h", "w", "k", "r")
    P = stage(d, axes, value, dtype, r.choice(("max", "sum", "min")), window)
    if d.chance(0.4):
        area = ["const", kernel * kernel, dtype] if "float" in dtype else ["const", 1, dtype]
        stage(d, axes, ["div" if "float" in dtype else "mul", read(P, "c", "h", "w"), area], dtype)


def rotary(d: Drawing) -> None:
    """Halves or pairs of a vector turned by an angle: reads of the partner element, with a sign by condition."""
    r = d.r
    tokens, heads, depth = r.choice((1, 16, 33)), r.choice((1, 4)), r.choice((8, 16, 64))
    dtype = float_of(d)
    X = d.new_input([tokens, heads, depth], dtype)
    half = depth // 2
    angles = d.new_input([tokens, half], dtype)
    if d.chance(0.5):
        partner = ["floormod", ["add", "e", half], depth]
        lower, angle = ["lt", "e", half], ["floormod", "e", half]
    else:
        partner = ["add", "e", ["sub", 1, ["mul", ["floormod", "e", 2], 2]]]
        lower, angle = ["eq", ["floormod", "e", 2], 0], ["floordiv", "e", 2]
    x, y = read(X, "t", "h", "e"), read(X, "t", "h", partner)
    signed = [r.choice(("if", "select")), lower, ["sub", ["const", 0, dtype], y], y]
    turned = read(angles, "t", angle)
    value = ["add", ["mul", x, ["call", "cos", turned]], ["mul", signed, ["call", "sin", turned]]]
    R = stage(d, [("t", tokens), ("h", heads), ("e", depth)], value, dtype)
    if d.chance(0.5):
        K = d.new_input([r.choice((16, 48)), heads, depth], dtype)
        score = ["mul", read(R, "t", "h", "e"), read(K, "s", "h", "e")]
        stage(d, [("h", heads), ("t", tokens), ("s", K.shape[0])], score, dtype, "sum", [("e", depth)])


def masked(d: Drawing) -> None:
    """A choice by a tensor of booleans or by a comparison of data; prefix sums, histograms, one-hot rows."""
    r = d.r
    n, m = d.extent(), r.choice((4, 16, 32, 100))
    dtype = d.dtype
    kind = r.choice(("where", "prefix", "histogram", "onehot", "any", "count", "bits"))
    zero = ["const", 0, dtype]
    if kind == "where":
        B, X = d.new_input([n, m], "bool"), d.new_input([n, m], dtype)
        Y = d.new_input([m], dtype)
        flag = read(B, "i", "j")
        flag = r.choice((flag, ["not", flag], ["and", flag, ["lt", "j", m // 2]]))
        value = [r.choice(("if", "select")), flag, read(X, "i", "j"), read(Y, "j")]
        stage(d, [("i", n), ("j", m)], value, dtype)
    elif kind == "prefix":
        X = d.new_input([n, m], dtype)
        condition = ["le", "k", "j"] if d.chance(0.6) else ["and", ["le", "k", "j"], ["gt", ["add", "k", 4], "j"]]
        value = [r.choice(("if", "select")), condition, read(X, "i", "k"), zero]
        stage(d, [("i", n), ("j", m)], value, dtype, "sum", [("k", m)])
    elif kind == "histogram":
        X = d.new_input([n], "int32")
        stage(d, [("b", m)], ["cast", "int32", ["eq", read(X, "k"), "b"]], "int32", "sum", [("k", n)])
    elif kind == "onehot":
        X = d.new_input([n], "int32")
        value = ["if", ["eq", read(X, "i"), "j"], d.constant(dtype), zero]
        H = stage(d, [("i", n), ("j", m)], value, dtype)
        W = d.new_input([m, 16], dtype)
        if d.chance(0.6):
            value = ["mul", read(H, "i", "k"), read(W, "k", "f")]
            stage(d, [("i", n), ("f", 16)], value, dtype, "sum", [("k", m)])
    elif kind == "any":
        X = d.new_input([n, m], r.choice(("bool", "float16", "int8")))
        value = read(X, "i", "k") if X.dtype == "bool" else ["gt", read(X, "i", "k"), ["const", 0, X.dtype]]
        stage(d, [("i", n)], value, "bool", "any", [("k", m)])
    elif kind == "count":
        X = d.new_input([n, m], dtype)
        F = stage(d, [("i", n), ("k", m)], ["gt", read(X, "i", "k"), zero], "bool")
        stage(d, [("i", n)], ["cast", "int32", read(F, "i", "k")], "int32", "sum", [("k", m)])
    else:
        X = d.new_input([n, max(1, m // 8)], "uint8")
        shifted = ["shr", read(X, "i", ["floordiv", "j", 8]), ["cast", "uint8", ["floormod", "j", 8]]]
        value = ["cast", "bool", ["band", shifted, ["const", 1, "uint8"]]]
        stage(d, [("i", n), ("j", m)], value, "bool")


# ---------------------------------------------------------------------------------------------------------------------
# Odd shapes


def scalars(d: Drawing) -> None:
    """Tensors of rank 0, stages that read nothing, reductions of everything."""
    r = d.r
    dtype = float_of(d)
    n, m = d.extent(), d.extent()
    scale = d.new_input([], dtype)
    X = d.new_input([n, m], dtype)
    kind = r.choice(("scaled", "mean", "constant", "iota", "zero", "top"))
    axes = [("i", n), ("j", m)]
    if kind == "scaled":
        stage(d, axes, ["mul", read(X, "i", "j"), read(scale)], dtype)
    elif kind == "mean":
        S = stage(d, [], read(X, "i", "j"), dtype, r.choice(("sum", "max")), axes)
        stage(d, axes, ["sub", read(X, "i", "j"), ["mul", read(S), read(scale)]], dtype)
    elif kind == "constant":
        C = stage(d, [("j", m)], ["const", 1.5, dtype], dtype)
        stage(d, axes, ["mul", ["mul", read(X, "i", "j"), read(C, "j")], read(scale)], dtype)
    elif kind == "iota":
        C = stage(d, axes, ["cast", dtype, ["add", ["mul", "i", m], "j"]], dtype)
        stage(d, axes, ["mul", ["sub", read(X, "i", "j"), read(C, "i", "j")], read(scale)], dtype)
    elif kind == "zero":
        S = stage(d, [], ["mul", read(scale), ["const", 2, dtype]], dtype)
        stage(d, axes, ["add", read(X, "i", "j"), read(S)], dtype, "sum" if d.chance(0.4) else None, [("k", 4)])
    else:
        S = stage(d, [("i", n)], read(X, "i", "k"), dtype, "sum", [("k", m)])
        stage(d, [], ["mul", read(S, "k"), read(scale)], dtype, "sum", [("k", n)])
    if d.chance(0.3):
        d.plain_stage()


def resampled(d: Drawing) -> None:
    """An image at another resolution: nearest or linear, by whole numbers or by floats."""
    r = d.r
    size, channels = r.choice((4, 7, 8, 16)), r.choice((1, 3, 8))
    up, down = r.choice((1, 2, 3, 4)), r.choice((1, 1, 2, 3))
    out = max(1, size * up // down)
    dtype = float_of(d)
    X = d.new_input([channels, size], dtype)
    if d.chance(0.2):
        half = ["mul", ["cast", "float32", "h"], ["const", 0.5, "float32"]]
        at: Expression = ["cast", "int32", ["call", "floor", half]]
    else:
        at = ["floordiv", ["mul", "h", down], up]
    if d.chance(0.3):
        at = ["sub", ["floordiv", ["add", ["mul", "h", 2 * down], down], 2 * up], r.choice((0, 1))]
    low, high = ["max", ["min", at, size - 1], 0], ["max", ["min", ["add", at, 1], size - 1], 0]
    value = read(X, "c", low)
    if d.chance(0.6):
        weight = ["cast", dtype, ["floormod", ["mul", "h", down], up]]
        value = ["add", value, ["mul", ["sub", read(X, "c", high), value], weight]]
    stage(d, [("c", channels), ("h", out)], value, dtype)


def several_outputs(d: Drawing) -> None:
    """A stage of several values, or stages of different rank, all of them outputs or read on."""
    r = d.r
    shape = d.shape(r.choice((1, 2, 3)))
    names = list("ijl"[: len(shape)])
    axes = list(zip(names, shape))
    dtype = float_of(d)
    A, B = d.new_input(shape, dtype), d.new_input(shape, dtype)
    a, b = read(A, *names), read(B, *names)
    kind = r.choice(("complex", "best", "best", "moments"))
    if kind == "complex" or len(shape) == 1:
        real, imaginary = stages(d, axes, [["sub", ["mul", a, a], ["mul", b, b]], ["mul", a, b]], [dtype, dtype])
        if d.chance(0.5):
            stage(d, axes, d.combine(read(real, *names), read(imaginary, *names)), dtype)
        return
    kept, loop = axes[:-1], axes[-1]
    if kind == "best":
        op = r.choice(("argmax", "argmin"))
        place, value = stages(d, kept, [loop[0], ["add", a, b]], ["int32", dtype], op, [loop])
        if d.chance(0.5):
            back = names[:-1]
            condition = ["eq", read(place, *back), names[-1]]
            stage(d, axes, ["if", condition, read(value, *back), ["const", 0, dtype]], dtype)
        return
    stages(d, kept, [["const", 1, "int32"], a, b], ["int32", dtype, dtype], "moments", [loop])


def symbolic(d: Drawing) -> None:
    """One or two symbolic extents, products and quotients of them; mostly with values in opt_shapes."""
    r = d.r
    dtype = float_of(d)
    kind = r.choice(("product", "product", "map", "rows", "flat", "blocks"))
    values = {"N": r.choice((1, 16, 64, 100, 256)), "M": r.choice((16, 32, 48))}
    names = ["N", "M"] if d.chance(0.4) else ["N"]
    m: Expression = "M" if "M" in names else values["M"]
    n: Expression = "N"
    if kind == "product":
        k = r.choice((32, 64, m, n))
        A, B = d.new_input([n, k], dtype), d.new_input([m, k], dtype)
        value = ["mul", read(A, "i", "k"), read(B, "j", "k")]
        stage(d, [("i", n), ("j", m)], value, dtype, "sum", [("k", k)])
        if d.chance(0.3):
            last = d.made[-1]
            stage(d, [("i", n), ("j", m)], ["call", "exp", read(last, "i", "j")], dtype)
    elif kind == "map":
        A = d.new_input([n, m], dtype)
        stage(d, [("i", n), ("j", m)], ["mul", read(A, "i", "j"), ["const", 2, dtype]], dtype)
    elif kind == "rows":
        A = d.new_input([m, n], dtype)
        S = stage(d, [("i", m)], read(A, "i", "k"), dtype, "max", [("k", n)])
        if d.chance(0.5):
            stage(d, [("i", m), ("j", n)], ["sub", read(A, "i", "j"), read(S, "i")], dtype)
    elif kind == "flat":
        A = d.new_input([["mul", n, m]], dtype)
        stage(d, [("i", n), ("j", m)], read(A, ["add", ["mul", "i", m], "j"]), dtype)
    else:
        A = d.new_input([["mul", n, 16]], dtype)
        at = ["add", ["mul", ["floordiv", "i", 16], 16], ["floormod", "i", 16]]
        stage(d, [("i", ["mul", n, 16])], read(A, at), dtype)
    d.variables = [[name, r.choice(("int32", "int32", "int32", "int64"))] for name in names]
    if d.chance(0.9):
        d.attributes["opt_shapes"] = {name: values[name] for name in names}


KERNELS = (
    *(attention, normalisation, diamond, diamond, split_k, winograd, im2col, im2col, transposed_convolution),
    *(reshape, reshape, reshape, swizzle, concatenation, pooling, rotary, masked, masked, scalars, resampled),
    *(several_outputs, symbolic, symbolic),
)


def draw_kernel(d: Drawing, with_symbols: bool = True) -> None:
    """One of them; nodes of graphs have no symbolic extents, which edges would have to agree in."""
    d.r.choice([kernel for kernel in KERNELS if with_symbols or kernel is not symbolic])(d)
