"""Index maps against what the real library gave (tilelang 0.1.15, tvm.tirx.IndexMap), and inverses against the maps.

Results are printed with every operator parenthesised; int64 constants end in L.
"""

import numpy as np
import pytest
from carver.roller.tir import expr as tir
from carver.roller.tir.arith.int_operator import InternalError
from carver.roller.tir.index_map import IndexMap, substitute_index_map, substitute_with_data_type_legalization
from hypothesis import given, settings
from hypothesis import strategies as st

SYMBOLS = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "FloorDiv": "//",
    "FloorMod": "%",
    "EQ": "==",
    "LT": "<",
    "LE": "<=",
    "And": "&",
    "Or": "|",
}


def text(e):
    kind = type(e).__name__
    if kind in SYMBOLS:
        return f"({text(e.a)} {SYMBOLS[kind]} {text(e.b)})"
    if kind == "Cast":
        return f"{e.dtype}({text(e.value)})"
    if kind == "Select":
        return f"select({text(e.condition)}, {text(e.true_value)}, {text(e.false_value)})"
    if kind == "Call":
        return f"{e.op}({', '.join(map(text, e.args))})"
    if isinstance(e, tir.Var):
        return e.name
    assert kind == "IntImm", kind
    return f"{e.value}L" if e.dtype == "int64" else str(e.value)


def text_of_map(index_map):
    initial = ", ".join(var.name for var in index_map.initial_indices)
    return f"({initial}) -> ({', '.join(map(text, index_map.final_indices))})"


# The map, the shape and the dtype of the indices; the mapped shape, the inverse, and the inverse with its padding.
MAPS = [
    (
        "lambda i, j: [j, i]",
        "16 8",
        "int32",
        ["8", "16"],
        "(axis0, axis1) -> (axis1, axis0)",
        ("(axis0, axis1) -> (axis1, axis0)", "0"),
    ),
    (
        "lambda i, j: [i // 16, j // 16, i % 16, j % 16]",
        "64 32",
        "int32",
        ["4", "2", "16", "16"],
        "(axis0, axis1, axis2, axis3) -> (((axis0 * 16) + axis2), ((axis1 * 16) + axis3))",
        ("(axis0, axis1, axis2, axis3) -> (((axis0 * 16) + axis2), ((axis1 * 16) + axis3))", "0"),
    ),
    (
        "lambda i, j: [i // 16, j // 16, i % 16, j % 16]",
        "64 32",
        "int64",
        ["4", "2", "16", "16"],
        "(axis0, axis1, axis2, axis3) -> (((axis0 * 16L) + axis2), ((axis1 * 16L) + axis3))",
        ("(axis0, axis1, axis2, axis3) -> (((axis0 * 16L) + axis2), ((axis1 * 16L) + axis3))", "0"),
    ),
    (
        "lambda i, j: [i // 16, j // 16, i % 16, j % 16]",
        "60 40",
        "int32",
        ["4", "3", "16", "16"],
        "error",
        (
            "(axis0, axis1, axis2, axis3) -> (((axis0 * 16) + axis2), ((axis1 * 16) + axis3))",
            "(((axis0 == 3) & (12 <= axis2)) | ((axis1 == 2) & (8 <= axis3)))",
        ),
    ),
    (
        "lambda i: [i // 4, i % 4]",
        "14",
        "int32",
        ["4", "4"],
        "error",
        ("(axis0, axis1) -> (((axis0 * 4) + axis1))", "((axis0 == 3) & (2 <= axis1))"),
    ),
    (
        "lambda i: [i // 4, i % 4]",
        "3",
        "int32",
        ["1", "4"],
        "error",
        ("(axis0, axis1) -> (((axis0 * 4) + axis1))", "(axis1 == 3)"),
    ),
    (
        "lambda i, j: [i * 8 + j]",
        "4 8",
        "int32",
        ["32"],
        "(axis0) -> ((axis0 // 8), (axis0 % 8))",
        ("(axis0) -> ((axis0 // 8), (axis0 % 8))", "0"),
    ),
    ("lambda i, j: [i * 9 + j]", "4 8", "int32", ["35"], "error", "error"),
    ("lambda i, j: [j]", "1 8", "int32", ["8"], "(axis0) -> (0, axis0)", ("(axis0) -> (0, axis0)", "0")),
    ("lambda i, j: [j]", "2 8", "int32", ["8"], "error", "error"),
    (
        "lambda i, j: [0, i, j]",
        "4 8",
        "int32",
        ["1", "4", "8"],
        "(axis0, axis1, axis2) -> (axis1, axis2)",
        ("(axis0, axis1, axis2) -> (axis1, axis2)", "0"),
    ),
    (
        "lambda i: [(i + 1) // 4, (i + 1) % 4]",
        "14",
        "int32",
        ["4", "4"],
        "error",
        (
            "(axis0, axis1) -> ((((axis0 * 4) + axis1) - 1))",
            "(((axis0 == 0) & (axis1 < 1)) | ((axis0 == 3) & (axis1 == 3)))",
        ),
    ),
    ("lambda i, j: [(i + j) % 4, j]", "4 4", "int32", ["4", "4"], "error", "error"),
]


def attempt(function, *args):
    try:
        return function(*args)
    except InternalError:
        return "error"


@pytest.mark.parametrize("source, shape, dtype, mapped_shape, inverse, non_surjective", MAPS)
def test_shapes_and_inverses(source, shape, dtype, mapped_shape, inverse, non_surjective):
    function = eval(source.replace("[0,", "[zero,"), {"zero": tir.IntImm(dtype, 0)})
    index_map = IndexMap.from_func(function, index_dtype=dtype)
    shape = [int(extent) for extent in shape.split()]
    assert [text(extent) for extent in index_map.map_shape(shape)] == mapped_shape
    found = attempt(index_map.inverse, shape)
    assert (found if found == "error" else text_of_map(found)) == inverse
    found = attempt(index_map.non_surjective_inverse, shape)
    assert (found if found == "error" else (text_of_map(found[0]), text(found[1]))) == non_surjective


def test_map_indices():
    tiles = IndexMap.from_func(lambda i, j: [i // 16, j // 16, i % 16, j % 16])
    x = tir.Var("x")
    # From the real library: int32 indices meet int64 constants.
    assert [text(e) for e in tiles.map_indices([x, 3])] == [
        "(int64(x) // 16L)",
        "0L",
        "(int64(x) % 16L)",
        "3L",
    ]
    with pytest.raises(InternalError, match="takes 2 indices, got 1"):
        tiles.map_indices([x])


def test_shapes_without_an_iterator_map():
    """A map that is none of iterators is mapped by interval arithmetic. From the real library."""
    i, j = tir.Var("i"), tir.Var("j")
    assert [text(e) for e in IndexMap([i, j], [(i + j) % 4, i + j * 2]).map_shape([4, 5])] == ["4", "12"]
    assert [text(e) for e in IndexMap([i, j], [(i * 2 + j) // 3, tir.max_(i, j)]).map_shape([4, 5])] == ["4", "5"]
    # Nothing is known of a product of two intervals, and the real library fails as well.
    with pytest.raises(tir.TirError):
        IndexMap([i, j], [i * j]).map_shape([4, 5])


def test_from_func():
    index_map, separators = IndexMap.from_func_with_separators(
        lambda a, *rest, last: [a, IndexMap.AXIS_SEPARATOR, *rest, last], ndim=4, index_dtype="int32"
    )
    assert text_of_map(index_map) == "(a, rest_0, rest_1, last) -> (a, rest_0, rest_1, last)"
    assert separators == [1]
    assert [var.dtype for var in index_map.initial_indices] == ["int32"] * 4
    assert text_of_map(IndexMap.from_func(lambda i: i * 2)) == "(i) -> ((i * 2L))"
    with pytest.raises(AssertionError, match="ndim is needed"):
        IndexMap.from_func(lambda *args: list(args))
    with pytest.raises(TypeError, match="got 1"):
        IndexMap.from_func(lambda i: [i, 1])
    with pytest.raises(AssertionError, match="AXIS_SEPARATOR"):
        IndexMap.from_func(lambda i, j: [i, IndexMap.AXIS_SEPARATOR, j])
    with pytest.raises(ValueError, match="may not take"):
        IndexMap.from_func(lambda **kwargs: [])


def test_given_inverse_is_taken():
    index_map = IndexMap.from_func(lambda i: [i + 1], inverse_index_map=lambda o: [o - 1])
    inverse, padding = index_map.non_surjective_inverse([8])
    assert text_of_map(inverse) == "(o) -> ((o - 1L))"
    assert text(padding) == "0"
    assert index_map.inverse([8]) is inverse


def test_is_equivalent_to():
    tiles = IndexMap.from_func(lambda i: [i // 4, i % 4])
    assert tiles.is_equivalent_to(IndexMap.from_func(lambda x: [x // 4, x - x // 4 * 4]))
    assert not tiles.is_equivalent_to(IndexMap.from_func(lambda x: [x // 4, x % 8]))
    assert not tiles.is_equivalent_to(IndexMap.from_func(lambda x: [x // 4]))


def test_substitute_index_map():
    n = tir.Var("n", "int64")
    index_map = IndexMap.from_func(lambda i: [i + n], inverse_index_map=lambda o: [o - n])
    replaced = substitute_index_map(index_map, {n: tir.IntImm("int64", 3)})
    assert text_of_map(replaced) == "(i) -> ((i + 3L))"
    assert text_of_map(replaced.inverse_index_map) == "(o) -> ((o - 3L))"


def test_map_tensor():
    array = np.arange(24).reshape(4, 6)
    mapped = IndexMap.from_func(lambda i, j: [j // 3, i, j % 3]).map_tensor(array)
    assert mapped.tolist() == array.reshape(4, 2, 3).transpose(1, 0, 2).tolist()
    with pytest.raises(InternalError, match="another number of elements"):
        IndexMap.from_func(lambda i: [i // 4, i % 4]).map_tensor(np.arange(6))


def test_legalizing_substitution():
    """Operands are cast to match and changed nodes folded; what does not change stays the same object."""
    x, wide, other = tir.Var("x"), tir.Var("wide", "int64"), tir.Var("other")
    vmap = {x: wide}

    def put(e):
        return text(substitute_with_data_type_legalization(e, vmap))

    assert put(tir.Add(x, other)) == "(wide + int64(other))"
    assert put(tir.LT(x, tir.IntImm("int32", 4))) == "(wide < 4L)"
    assert put(tir.Cast("int64", x)) == "int64(wide)"
    assert put(tir.Select(tir.LT(other, x), x, other)) == "select((int64(other) < wide), wide, int64(other))"
    assert put(tir.Call("int32", "tirx.shift_left", [x, other])) == "tirx.shift_left(wide, int64(other))"
    assert put(tir.Call("int32", "tirx.if_then_else", [tir.LT(x, other), x, other])) == (
        "tirx.if_then_else((wide < int64(other)), wide, int64(other))"
    )
    assert put(tir.Call("int32", "tirx.clz", [x])) == "((tirx.clz(wide) - 64) + 32)"
    unchanged = tir.Select(tir.LT(other, tir.IntImm("int32", 4)), other, tir.Add(other, other))
    assert substitute_with_data_type_legalization(unchanged, vmap) is unchanged
    folded = substitute_with_data_type_legalization(tir.Mul(tir.Add(x, other), other), {x: tir.IntImm("int32", 0)})
    assert text(folded) == "(other * other)"


OPERATIONS = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Min": min,
    "Max": max,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
}


def evaluate(e, values):
    if isinstance(e, tir.Var):
        return values[e]
    if isinstance(e, tir.IntImm):
        return e.value
    if isinstance(e, tir.Not):
        return not evaluate(e.a, values)
    return OPERATIONS[type(e).__name__](evaluate(e.a, values), evaluate(e.b, values))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(1, 20), st.integers(1, 9), st.integers(1, 9), st.integers(0, 3))
def test_padding_is_exactly_what_no_index_maps_to(rows, columns, row_tile, column_tile, offset):
    """Every index comes back from its place, and the predicate is true only at the other places of the mapped shape."""
    offset = min(offset, row_tile - 1)  # the mapped indices start at zero
    index_map = IndexMap.from_func(
        lambda i, j: [(i + offset) // row_tile, j // column_tile, (i + offset) % row_tile, j % column_tile],
        index_dtype="int32",
    )
    initial = index_map.initial_indices
    inverse, padding = index_map.non_surjective_inverse([rows, columns])
    taken = {}
    for i in range(rows):
        for j in range(columns):
            point = dict(zip(initial, (i, j)))
            place = tuple(evaluate(index, point) for index in index_map.final_indices)
            taken[place] = (i, j)
    for place in np.ndindex(*map(int, index_map.map_shape([rows, columns]))):
        values = dict(zip(inverse.initial_indices, place))
        assert bool(evaluate(padding, values)) == (place not in taken)
        if place in taken:
            assert tuple(evaluate(index, values) for index in inverse.final_indices) == taken[place]
