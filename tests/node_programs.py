"""Small functions to look at nodes with, for the real carver as well as for the port: each takes its own ``te``."""


def matmul_bias(te):
    A = te.placeholder((256, 128), name="A", dtype="float16")
    B = te.placeholder((64, 128), name="B", dtype="float16")
    bias = te.placeholder((64,), name="bias", dtype="float16")
    k = te.reduce_axis((0, 128), name="k")
    C = te.compute((256, 64), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    D = te.compute((256, 64), lambda i, j: C[i, j] + bias[j], name="D")
    return [A, B, bias, D]


def cast_then_matmul(te):
    """A's tile is that of the stage in between."""
    A = te.placeholder((256, 128), name="A", dtype="int8")
    B = te.placeholder((64, 128), name="B", dtype="float16")
    k = te.reduce_axis((0, 128), name="k")
    W = te.compute((256, 128), lambda i, j: A[i, j].astype("float16"), name="W")
    C = te.compute((256, 64), lambda i, j: te.sum(W[i, k] * B[j, k], axis=k), name="C")
    return [A, B, C]


def stencil(te):
    A = te.placeholder((66, 40), name="A", dtype="float32")
    B = te.compute((64, 40), lambda i, j: A[i, j] + A[i + 1, j] + A[i + 2, 39 - j], name="B")
    return [A, B]


def divided(te):
    A = te.placeholder((64, 8), name="A", dtype="int8")
    B = te.compute((512,), lambda i: A[i // 8, (i * 3 + 1) % 8], name="B")
    return [A, B]


def unknown_index(te):
    """The index holds a call: anywhere along the axis."""
    A = te.placeholder((64, 32), name="A", dtype="float32")
    B = te.compute((64, 32), lambda i, j: A[i, j ^ 1], name="B")
    return [A, B]


def transposed_after(te):
    """What follows the reduction is found by inverting how it reads."""
    A = te.placeholder((48, 96), name="A", dtype="float32")
    k = te.reduce_axis((0, 96), name="k")
    B = te.compute((48,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((6, 8), lambda i, j: B[i * 8 + j], name="C")
    D = te.compute((8, 6), lambda i, j: C[j, i] * 2, name="D")
    return [A, D]


def row_max_minus(te):
    """A second reduction, and inputs used twice."""
    A = te.placeholder((32, 100), name="A", dtype="float16")
    k = te.reduce_axis((0, 100), name="k")
    r = te.reduce_axis((0, 100), name="r")
    M = te.compute((32,), lambda i: te.max(A[i, k], axis=k), name="M")
    S = te.compute((32,), lambda i: te.sum(A[i, r] - M[i], axis=r), name="S")
    return [A, S]


def batch_of_one(te):
    A = te.placeholder((1, 64, 32), name="A", dtype="float16")
    B = te.placeholder((1, 48, 32), name="B", dtype="float16")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((1, 64, 48), lambda b, i, j: te.sum(A[b, i, k] * B[b, j, k], axis=k), name="C")
    return [A, B, C]


def outer(te):
    """Broadcasts are cached."""
    x = te.placeholder((300,), name="x", dtype="float32")
    y = te.placeholder((500,), name="y", dtype="float32")
    Z = te.compute((300, 500), lambda i, j: x[i] * y[j], name="Z")
    return [x, y, Z]


PROGRAMS = {
    program.__name__: program
    for program in (
        matmul_bias,
        cast_then_matmul,
        stencil,
        divided,
        unknown_index,
        transposed_after,
        row_max_minus,
        batch_of_one,
        outer,
    )
}

# Per program: tiles to ask for, and reduction steps by variable.
QUESTIONS = {
    "matmul_bias": ([[16, 8], [256, 64], [1, 1]], {"v2": 32}),
    "cast_then_matmul": ([[16, 8]], {"v2": 16}),
    "stencil": ([[8, 4], [1, 1], [64, 40]], {}),
    "divided": ([[1], [12], [64], [512]], {}),
    "unknown_index": ([[4, 4]], {}),
    "transposed_after": ([[1], [8], [12]], {"v1": 32}),
    "row_max_minus": ([[4]], {"v1": 10}),
    "batch_of_one": ([[16, 16]], {"v2": 8}),
    "outer": ([[10, 20], [1, 500]], {}),
}


# Those that become matrix products.
TENSOR_CORE = ("matmul_bias", "batch_of_one")


def describe(node):
    """What a node of either side says about itself."""
    return {
        "space": [int(extent) for extent in node.get_space_dim()],
        "raxis": [[axis.var.name, int(axis.dom.extent)] for axis in node.raxis],
        "blocks": [str(info) for info in node.block_analyzer.block_infos],
        "dtype": str(node.get_dtype()),
        "inputs": [buffer.name for buffer in node.input_buffers],
        "outputs": [buffer.name for buffer in node.output_buffers],
        "reduce_dtypes": {name: str(dtype) for name, dtype in node.get_reduce_inputs_dtype().items()},
    }


def plain_tags(tags):
    """Tags as JSON has them."""
    return {**tags, "intrin_info": {name: str(value) for name, value in tags["intrin_info"].items()}}


def answers(node, tiles, rstep):
    """Regions, clipped and not, and the shared memory of tiles."""

    def plain(shapes):
        return [[int(extent) for extent in shape] for shape in shapes]

    def named(shapes):
        return dict(zip(shapes, plain(shapes.values())))

    result = []
    for tile in tiles:
        shapes, bind = node.propagate(tile, rstep)
        size, cached = node.footprint(tile, rstep)
        result.append(
            {
                "all": named(shapes),
                "bind": dict(bind),
                "whole": named(node.propagate(tile)[0]),
                "inputs": plain(node.propagate_inputs(tile, rstep)),
                "outputs": plain(node.propagate_outputs(tile, rstep)),
                "reduction": named(node.propagate_reduction_inputs(tile, rstep)),
                "on_reduction": plain(node.propagate_inputs_on_reduction(tile, rstep)) if node.raxis else None,
                "footprint": [int(size), list(cached)],
            }
        )
    return result
