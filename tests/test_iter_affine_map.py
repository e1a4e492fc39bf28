"""Iterator maps against what the real library gave (tilelang 0.1.15, tvm.arith), and inverses against the maps.

Indices are source text, so that the same text could be evaluated with the real library's operators. Results are printed
with every operator parenthesised: a mark as <source:extent>, a split as mark/lower_factor%extent*scale, a sum as
[split + ... + base]; int64 constants end in L.
"""

import pytest
from carver.roller.tir import expr as tir
from carver.roller.tir.arith import iter_affine_map
from carver.roller.tir.arith.int_operator import InternalError
from carver.roller.tir.arith.iter_affine_map import (
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
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
    "GE": ">=",
    "And": "&",
    "Or": "|",
}


def text(e):
    kind = type(e).__name__
    if kind in SYMBOLS:
        return f"({text(e.a)} {SYMBOLS[kind]} {text(e.b)})"
    if isinstance(e, tir.Var):
        return e.name
    if isinstance(e, tir.IntImm):
        return f"{e.value}L" if e.dtype == "int64" else str(e.value)
    if kind == "IterMark":
        return f"<{text(e.source)}:{text(e.extent)}>"
    if kind == "IterSplitExpr":
        return f"{text(e.source)}/{text(e.lower_factor)}%{text(e.extent)}*{text(e.scale)}"
    assert kind == "IterSumExpr", kind
    return "[" + " + ".join([*map(text, e.args), text(e.base)]) + "]"


class Setting:
    """The variables i j k l and the extents n m, and the expressions and ranges that are written with them."""

    def __init__(self, ranges):
        self.vars = {name: tir.Var(name) for name in "ijkl"} | {name: tir.SizeVar(name) for name in "nm"}
        self.ranges = {}
        for item in ranges.split():
            name, bounds = item.split(":")
            low, _, extent = bounds.rpartition(",")
            self.ranges[self.vars[name]] = tir.Range.from_min_extent(self.value(low or "0"), self.value(extent))

    def value(self, source):
        return eval(source, {}, dict(self.vars))

    def values(self, source):
        return list(self.value(f"({source},)"))

    def condition(self, source):
        """A predicate; "a & b" and "a | b" are the logical nodes."""
        for symbol, node in (("&", tir.And), ("|", tir.Or)):
            if symbol in source:
                left, right = source.split(symbol)
                return node(tir.convert(self.value(left)), tir.convert(self.value(right)))
        return self.value(source) if source else True


DETECTED = [
    dict(
        index="i",
        ranges="i:16",
        level="bijective",
        indices=["[<[<i:16>/1%16*1 + 0]:16>/1%16*1 + 0]"],
        inverse={"i": "o0"},
    ),
    dict(
        index="i, j, k",
        ranges="i:1024 j:1024 k:64",
        level="surjective",
        trivial=False,
        indices=[
            "[<[<i:1024>/1%1024*1 + 0]:1024>/1%1024*1 + 0]",
            "[<[<j:1024>/1%1024*1 + 0]:1024>/1%1024*1 + 0]",
            "[<[<k:64>/1%64*1 + 0]:64>/1%64*1 + 0]",
        ],
        inverse={"i": "o0", "j": "o1", "k": "o2"},
    ),
    dict(
        index="i // 4, i % 4",
        ranges="i:16",
        level="bijective",
        indices=["[<[<i:16>/4%4*1 + 0]:4>/1%4*1 + 0]", "[<[<i:16>/1%4*1 + 0]:4>/1%4*1 + 0]"],
        inverse={"i": "(o1 + (o0 * 4))"},
    ),
    dict(
        index="j, i",
        ranges="i:3 j:5",
        level="bijective",
        indices=["[<[<j:5>/1%5*1 + 0]:5>/1%5*1 + 0]", "[<[<i:3>/1%3*1 + 0]:3>/1%3*1 + 0]"],
        inverse={"i": "o1", "j": "o0"},
    ),
    dict(
        index="i * 8 + j",
        ranges="i:16 j:8",
        level="bijective",
        indices=["[<[<i:16>/1%16*8 + <j:8>/1%8*1 + 0]:128>/1%128*1 + 0]"],
        inverse={"i": "(o0 // 8)", "j": "(o0 % 8)"},
    ),
    dict(
        index="j + i * 8",
        ranges="i:16 j:8",
        level="surjective",
        indices=["[<[<i:16>/1%16*8 + <j:8>/1%8*1 + 0]:128>/1%128*1 + 0]"],
        inverse={"i": "(o0 // 8)", "j": "(o0 % 8)"},
    ),
    dict(index="i * 9 + j", ranges="i:16 j:8", level="surjective", indices=None, padding=None),
    dict(index="i * 9 + j", ranges="i:16 j:8", level="bijective", indices=None, padding=None),
    dict(
        index="i * 7 + j",
        ranges="i:16 j:8",
        level="nocheck",
        indices=["[<[<i:16>/1%16*7 + <j:8>/1%8*1 + 0]:113>/1%113*1 + 0]"],
        inverse="error",
    ),
    dict(
        index="i * 4",
        ranges="i:16",
        level="surjective",
        indices=["[<[<i:16>/1%16*1 + 0]:16>/1%16*4 + 0]"],
        inverse="error",
    ),
    dict(
        index="i + 3",
        ranges="i:16",
        level="bijective",
        indices=["[<[<i:16>/1%16*1 + 0]:16>/1%16*1 + 3]"],
        inverse={"i": "(o0 - 3)"},
    ),
    dict(
        index="i - 1, j",
        ranges="i:16 j:4",
        level="surjective",
        indices=["[<[<i:16>/1%16*1 + 0]:16>/1%16*1 + -1]", "[<[<j:4>/1%4*1 + 0]:4>/1%4*1 + 0]"],
        inverse={"i": "(o0 - -1)", "j": "o1"},
    ),
    dict(
        index="3 - i",
        ranges="i:4",
        level="surjective",
        indices=["[<[<i:4>/1%4*1 + 0]:4>/1%4*-1 + 3]"],
        inverse={"i": "((o0 - 3) * -1)"},
    ),
    dict(index="i, i", ranges="i:16", level="surjective", indices=None),
    dict(index="i // 4", ranges="i:16", level="bijective", indices=None),
    # A variable with a single value between the two halves of another.
    dict(
        index="(i // 2 + j) * 2 + i % 2",
        ranges="i:6 j:1",
        level="bijective",
        trivial=False,
        indices=None,
        padding=None,
    ),
    dict(
        index="i // 4",
        ranges="i:16",
        level="surjective",
        indices=["[<[<i:16>/4%4*1 + 0]:4>/1%4*1 + 0]"],
        inverse={"i": "(o0 * 4)"},
    ),
    dict(
        index="i % 4",
        ranges="i:16",
        level="surjective",
        indices=["[<[<i:16>/1%4*1 + 0]:4>/1%4*1 + 0]"],
        inverse={"i": "o0"},
    ),
    dict(
        index="i // 3",
        ranges="i:16",
        level="surjective",
        indices=["[<[<[<i:16>/1%16*1 + 0]:18>/3%6*1 + 0]:6>/1%6*1 + 0]"],
        padding="((([<i:16>/1%16*1 + 0] // 3) == 5) & (([<i:16>/1%16*1 + 0] % 3) >= 1))",
        inverse={"i": "(o0 * 3)"},
    ),
    dict(
        index="i // 3, i % 3",
        ranges="i:16",
        level="surjective",
        indices=None,
        padding="((([<i:16>/1%16*1 + 0] // 3) == 5) & (([<i:16>/1%16*1 + 0] % 3) >= 1))",
    ),
    dict(
        index="i // 3, i % 3",
        ranges="i:16",
        level="nocheck",
        indices=[
            "[<[<[<i:16>/1%16*1 + 0]:18>/3%6*1 + 0]:6>/1%6*1 + 0]",
            "[<[<[<i:16>/1%16*1 + 0]:18>/1%3*1 + 0]:3>/1%3*1 + 0]",
        ],
        padding="((([<i:16>/1%16*1 + 0] // 3) == 5) & (([<i:16>/1%16*1 + 0] % 3) >= 1))",
        inverse={"i": "(o1 + (o0 * 3))"},
    ),
    dict(
        index="(i + 1) // 4, (i + 1) % 4",
        ranges="i:14",
        level="nocheck",
        indices=[
            "[<[<[<i:14>/1%14*1 + 1]:16>/4%4*1 + 0]:4>/1%4*1 + 0]",
            "[<[<[<i:14>/1%14*1 + 1]:16>/1%4*1 + 0]:4>/1%4*1 + 0]",
        ],
        padding=(
            "(((([<i:14>/1%14*1 + 1] // 4) == 0) & (([<i:14>/1%14*1 + 1] % 4) < 1)) | "
            "((([<i:14>/1%14*1 + 1] // 4) == 3) & (([<i:14>/1%14*1 + 1] % 4) >= 3)))"
        ),
        inverse={"i": "((o1 + (o0 * 4)) - 1)"},
    ),
    dict(
        index="(i + 2) // 4",
        ranges="i:16",
        level="surjective",
        indices=["[<[<[<i:16>/1%16*1 + 2]:20>/4%5*1 + 0]:5>/1%5*1 + 0]"],
        padding=(
            "(((([<i:16>/1%16*1 + 2] // 4) == 0) & (([<i:16>/1%16*1 + 2] % 4) < 2)) | "
            "((([<i:16>/1%16*1 + 2] // 4) == 4) & (([<i:16>/1%16*1 + 2] % 4) >= 2)))"
        ),
        inverse={"i": "((o0 * 4) - 2)"},
    ),
    dict(
        index="i // 8, i // 2 % 4, i % 2",
        ranges="i:32",
        level="bijective",
        indices=[
            "[<[<i:32>/8%4*1 + 0]:4>/1%4*1 + 0]",
            "[<[<i:32>/2%4*1 + 0]:4>/1%4*1 + 0]",
            "[<[<i:32>/1%2*1 + 0]:2>/1%2*1 + 0]",
        ],
        inverse={"i": "((o2 + (o1 * 2)) + (o0 * 8))"},
    ),
    dict(
        index="i // 8, i % 2",
        ranges="i:32",
        level="surjective",
        indices=["[<[<i:32>/8%4*1 + 0]:4>/1%4*1 + 0]", "[<[<i:32>/1%2*1 + 0]:2>/1%2*1 + 0]"],
        inverse={"i": "(o1 + (o0 * 8))"},
    ),
    dict(index="i // 8, i % 2", ranges="i:32", level="bijective", indices=None),
    dict(
        index="i // 8 * 8 + i % 8",
        ranges="i:32",
        level="bijective",
        indices=["[<i:32>/1%32*1 + 0]"],
        inverse={"i": "o0"},
    ),
    dict(
        index="(i * 8 + j) // 4, (i * 8 + j) % 4",
        ranges="i:16 j:8",
        level="bijective",
        indices=[
            "[<[<[<i:16>/1%16*8 + <j:8>/1%8*1 + 0]:128>/4%32*1 + 0]:32>/1%32*1 + 0]",
            "[<[<[<i:16>/1%16*8 + <j:8>/1%8*1 + 0]:128>/1%4*1 + 0]:4>/1%4*1 + 0]",
        ],
        inverse={"i": "((o1 + (o0 * 4)) // 8)", "j": "((o1 + (o0 * 4)) % 8)"},
    ),
    dict(
        index="(i * 8 + j) // 6, (i * 8 + j) % 6",
        ranges="i:3 j:8",
        level="bijective",
        indices=[
            "[<[<[<i:3>/1%3*8 + <j:8>/1%8*1 + 0]:24>/6%4*1 + 0]:4>/1%4*1 + 0]",
            "[<[<[<i:3>/1%3*8 + <j:8>/1%8*1 + 0]:24>/1%6*1 + 0]:6>/1%6*1 + 0]",
        ],
        inverse={"i": "((o1 + (o0 * 6)) // 8)", "j": "((o1 + (o0 * 6)) % 8)"},
    ),
    dict(
        index="(i * 8 + j) // 16 * 16 + (i * 8 + j) % 16",
        ranges="i:16 j:8",
        level="surjective",
        indices=["[<[<i:16>/1%16*8 + <j:8>/1%8*1 + 0]:128>/1%128*1 + 0]"],
        inverse={"i": "(o0 // 8)", "j": "(o0 % 8)"},
    ),
    dict(
        index="i * 4 // 8, i * 4 % 8",
        ranges="i:16",
        level="surjective",
        indices=["[<[<i:16>/2%8*1 + 0]:8>/1%8*1 + 0]", "[<[<i:16>/1%2*1 + 0]:2>/1%2*4 + 0]"],
        inverse="error",
    ),
    dict(
        index="(i * 4 + 8) // 2",
        ranges="i:16",
        level="surjective",
        indices=["[<[<i:16>/1%16*1 + 0]:16>/1%16*2 + 4]"],
        inverse="error",
    ),
    dict(index="(i * 4 + 3) // 6", ranges="i:16", level="surjective", indices=None, padding=None),
    dict(
        index="i, j",
        ranges="i:1 j:4",
        level="bijective",
        indices=["[0]", "[<[<j:4>/1%4*1 + 0]:4>/1%4*1 + 0]"],
        inverse={"j": "o1"},
    ),
    dict(
        index="i, j",
        ranges="i:1 j:4",
        level="bijective",
        trivial=False,
        indices=["[<[<i:1>/1%1*1 + 0]:1>/1%1*1 + 0]", "[<[<j:4>/1%4*1 + 0]:4>/1%4*1 + 0]"],
        inverse={"i": "o0", "j": "o1"},
    ),
    dict(
        index="j",
        ranges="i:1 j:4",
        level="bijective",
        trivial=False,
        indices=["[<[<j:4>/1%4*1 + 0]:4>/1%4*1 + 0]"],
        inverse={"j": "o0"},
    ),
    dict(index="j", ranges="i:2 j:4", level="bijective", trivial=False, indices=None),
    dict(
        index="i * 4 + j",
        ranges="i:1 j:4",
        level="surjective",
        trivial=False,
        indices=["[<[<i:1>/1%1*4 + <j:4>/1%4*1 + 0]:4>/1%4*1 + 0]"],
        inverse={"i": "(o0 // 4)", "j": "(o0 % 4)"},
    ),
    dict(
        index="i // 2 + j",
        ranges="i:1 j:4",
        level="surjective",
        indices=["[<[<j:4>/1%4*1 + 0]:4>/1%4*1 + (i // 2)]"],
        inverse={"j": "(o0 - (i // 2))"},
    ),
    dict(
        index="i * 4 + j",
        ranges="i:2,16 j:4",
        level="surjective",
        indices=["[<[<(i - 2):16>/1%16*4 + <j:4>/1%4*1 + 0]:64>/1%64*1 + 8]"],
        inverse="error",
    ),
    dict(
        index="i // 4, i % 4",
        ranges="i:2,16",
        level="nocheck",
        indices=[
            "[<[<[<(i - 2):16>/1%16*1 + 2]:20>/4%5*1 + 0]:5>/1%5*1 + 0]",
            "[<[<[<(i - 2):16>/1%16*1 + 2]:20>/1%4*1 + 0]:4>/1%4*1 + 0]",
        ],
        padding=(
            "(((([<(i - 2):16>/1%16*1 + 2] // 4) == 0) & (([<(i - 2):16>/1%16*1 + 2] % 4) < 2)) | "
            "((([<(i - 2):16>/1%16*1 + 2] // 4) == 4) & (([<(i - 2):16>/1%16*1 + 2] % 4) >= 2)))"
        ),
        inverse="error",
    ),
    dict(index="i * j", ranges="i:4 j:4", level="surjective", indices=None, padding=None),
    dict(index="i // j", ranges="i:4 j:4", level="surjective", indices=None, padding=None),
    dict(index="i, j", ranges="i:4 j:i", level="surjective", indices=None, padding=None),
    dict(
        index="i", ranges="i:n", level="bijective", indices=["[<[<i:n>/1%n*1 + 0]:n>/1%n*1 + 0]"], inverse={"i": "o0"}
    ),
    dict(
        index="i * n + j",
        ranges="i:m j:n",
        level="bijective",
        indices=["[<[<i:m>/1%m*n + <j:n>/1%n*1 + 0]:(m * n)>/1%(m * n)*1 + 0]"],
        inverse={"i": "(o0 // n)", "j": "(o0 % n)"},
    ),
    dict(
        index="(i * n + j) // n, (i * n + j) % n",
        ranges="i:m j:n",
        level="bijective",
        indices=[
            "[<[<[<i:m>/1%m*n + <j:n>/1%n*1 + 0]:(m * n)>/n%m*1 + 0]:m>/1%m*1 + 0]",
            "[<[<[<i:m>/1%m*n + <j:n>/1%n*1 + 0]:(m * n)>/1%n*1 + 0]:n>/1%n*1 + 0]",
        ],
        inverse={"i": "((o1 + (o0 * n)) // n)", "j": "((o1 + (o0 * n)) % n)"},
    ),
    dict(
        index="i + n",
        ranges="i:8",
        level="surjective",
        indices=["[<[<i:8>/1%8*1 + 0]:8>/1%8*1 + n]"],
        inverse={"i": "(o0 - n)"},
    ),
    dict(
        index="i // 4, i % 4",
        ranges="i:n*4",
        level="bijective",
        indices=["[<[<i:(n * 4)>/4%n*1 + 0]:n>/1%n*1 + 0]", "[<[<i:(n * 4)>/1%4*1 + 0]:4>/1%4*1 + 0]"],
        inverse={"i": "(o1 + (o0 * 4))"},
    ),
    dict(
        index="i",
        ranges="i:16",
        predicate="i < 10",
        level="surjective",
        indices=["[<[<i:10>/1%10*1 + 0]:10>/1%10*1 + 0]"],
        inverse={"i": "o0"},
    ),
    dict(
        index="i",
        ranges="i:16",
        predicate="(i >= 3) & (i < 10)",
        level="bijective",
        indices=["[<[<(i - 3):7>/1%7*1 + 0]:7>/1%7*1 + 3]"],
        inverse="error",
    ),
    dict(
        index="i * 8 + j",
        ranges="i:16 j:8",
        predicate="i * 8 + j < 100",
        level="bijective",
        indices=["[<[<i:16>/1%16*8 + <j:8>/1%8*1 + 0]:100>/1%100*1 + 0]"],
        inverse={"i": "(o0 // 8)", "j": "(o0 % 8)"},
    ),
    dict(
        index="i * 8 + j",
        ranges="i:16 j:8",
        predicate="(i * 8 + j < 100) & (i * 8 + j >= 4)",
        level="surjective",
        indices=["[<[<i:16>/1%16*8 + <j:8>/1%8*1 + -4]:96>/1%96*1 + 4]"],
        inverse={"i": "(((o0 - 4) - -4) // 8)", "j": "(((o0 - 4) - -4) % 8)"},
    ),
    dict(
        index="i * 9 + j * 2 + k",
        ranges="i:4 j:5 k:2",
        predicate="j * 2 + k < 9",
        level="bijective",
        indices=["[<[<i:4>/1%4*9 + <[<j:5>/1%5*2 + <k:2>/1%2*1 + 0]:9>/1%9*1 + 0]:36>/1%36*1 + 0]"],
        inverse={"i": "(o0 // 9)", "j": "((o0 % 9) // 2)", "k": "((o0 % 9) % 2)"},
    ),
    dict(
        index="i * 30 + j * 15 + k * 3 + l",
        ranges="i:4 j:2 k:5 l:3",
        predicate="(i * 2 + j < 3) & (k * 3 + l < 5)",
        level="surjective",
        indices=None,
        padding=None,
    ),
    dict(
        index="i * 30 + j * 15 + k * 3 + l",
        ranges="i:4 j:2 k:5 l:3",
        predicate="(i * 2 + j < 3) & (j * 5 + k < 5)",
        level="surjective",
        indices=None,
        padding=None,
    ),
    dict(index="i * 8 + j", ranges="i:16 j:8", predicate="i + j < 5", level="surjective", indices=None, padding=None),
    dict(index="i", ranges="i:16", predicate="(i < 4) | (i > 6)", level="surjective", indices=None, padding=None),
]

SIMPLIFIED = [
    ("i // 8 * 8 + i % 8", "i:32", "", "bijective", ["i"]),
    (
        "(i * 8 + j) // 8, (i * 8 + j) % 8",
        "i:16 j:8",
        "",
        "surjective",
        ["(((i * 8) + j) // 8)", "(((i * 8) + j) % 8)"],
    ),
    ("(i * 16 + j) // 4 % 4, i // 2", "i:8 j:16", "", "surjective", ["((((i * 16) + j) // 4) % 4)", "(i // 2)"]),
    ("i * j, i", "i:8 j:16", "", "surjective", ["(i * j)", "i"]),
    ("i, j", "i:1 j:16", "", "surjective", ["0", "j"]),
    ("(i * 8 + j) // 8, j", "i:16 j:8", "i * 8 + j < 100", "surjective", ["(((i * 8) + j) // 8)", "j"]),
    (
        "(i * 8 + j) // 8, (i * 8 + j) % 8",
        "i:16 j:8",
        "(i < 3) | (j < 2)",
        "surjective",
        ["(((i * 8) + j) // 8)", "(((i * 8) + j) % 8)"],
    ),
]

NORMALIZED = [
    ("i * 4 + j * 16 + k", "i:4 j:4 k:4", "[<j:4>/1%4*16 + <i:4>/1%4*4 + <k:4>/1%4*1 + 0]"),
    ("k + i * 64 + (j % 4) * 4 + (j // 4) * 16", "i:4 j:16 k:4", "[<i:4>/1%4*64 + <j:16>/1%16*4 + <k:4>/1%4*1 + 0]"),
    ("i * n + j * 4 + i * j", "i:4 j:16", "[<j:16>/1%16*4 + <i:4>/1%4*n + (i * j)]"),
    (
        "i * n * 4 + j * n * m * 4 + k * 4 + n * 2",
        "i:4 j:16 k:8",
        "[<j:16>/1%16*((n * m) * 4) + <i:4>/1%4*(n * 4) + <k:8>/1%8*4 + (n * 2)]",
    ),
    ("(i + 3) * 5", "i:4", "[<i:4>/1%4*5 + 15]"),
]

DIVIDED = [
    (
        "i * 12 + j * 3 + k",
        "i:4 j:4 k:3",
        "k",
        "bijective",
        [["<[<i:4>/1%4*4 + <j:4>/1%4*1 + 0]:16>", "<[<k:3>/1%3*1 + 0]:3>"], ["<[0]:1>", "<[0]:1>"]],
    ),
    (
        "i * 12 + j * 3 + k",
        "i:4 j:4 k:3",
        "j k",
        "bijective",
        [["<[<i:4>/1%4*1 + 0]:4>", "<[<j:4>/1%4*3 + <k:3>/1%3*1 + 0]:12>"], ["<[0]:1>", "<[0]:1>"]],
    ),
    ("i * 12 + j * 3 + k", "i:4 j:4 k:3", "i", "bijective", []),
    (
        "i * 4 + j // 4, j % 4",
        "i:4 j:16",
        "j",
        "surjective",
        [["<[<i:4>/1%4*1 + 0]:4>", "<[<j:16>/4%4*1 + 0]:4>"], ["<[0]:1>", "<<j:16>/1%4*1:4>"], ["<[0]:1>", "<[0]:1>"]],
    ),
    ("(i * 16 + j) // 8, (i * 16 + j) % 8", "i:4 j:16", "j", "bijective", []),
    ("(i * 12 + j) // 8, (i * 12 + j) % 8", "i:4 j:12", "j", "bijective", []),
    (
        "i, j + 2",
        "i:4 j:16",
        "j",
        "surjective",
        [["<<i:4>/1%4*1:4>", "<[0]:1>"], ["<[0]:1>", "<[<j:16>/1%16*1 + 2]:16>"], ["<[0]:1>", "<[0]:1>"]],
    ),
]


@pytest.mark.parametrize("case", DETECTED, ids=lambda case: f"{case['index']} | {case['ranges']} {case['level']}")
def test_detect(case):
    """The exact sums, whether there are errors, where padding is, and the inverse (or that it is refused)."""
    setting = Setting(case["ranges"])
    indices = setting.values(case["index"])
    predicate = setting.condition(case.get("predicate", ""))
    result = detect_iter_map(indices, setting.ranges, predicate, case["level"], case.get("trivial", True))
    assert [text(index) for index in result.indices] == (case["indices"] or [])
    assert bool(result.errors) == (case["indices"] is None)
    padding = result.padding_predicate
    assert (padding if padding is None else text(padding)) == case.get("padding", "0")
    if case["indices"] is None:
        return
    outputs = [tir.Var(f"o{i}") for i in range(len(indices))]
    if case["inverse"] == "error":
        with pytest.raises(InternalError):
            inverse_affine_iter_map(result.indices, outputs)
    else:
        inverse = inverse_affine_iter_map(result.indices, outputs)
        assert {var.name: text(value) for var, value in inverse.items()} == case["inverse"]


@pytest.mark.parametrize("index, ranges, predicate, level, expected", SIMPLIFIED)
def test_simplify(index, ranges, predicate, level, expected):
    setting = Setting(ranges)
    condition = setting.condition(predicate)
    simplified = iter_map_simplify(setting.values(index), setting.ranges, condition, level)
    assert [text(value) for value in simplified] == expected


@pytest.mark.parametrize("index, ranges, expected", NORMALIZED)
def test_normalize_to_iter_sum(index, ranges, expected):
    setting = Setting(ranges)
    assert text(normalize_to_iter_sum(setting.value(index), setting.ranges)) == expected


@pytest.mark.parametrize("index, ranges, inner, level, expected", DIVIDED)
def test_subspace_divide(index, ranges, inner, level, expected):
    setting = Setting(ranges)
    sub_iters = [setting.vars[name] for name in inner.split()]
    divided = subspace_divide(setting.values(index), setting.ranges, sub_iters, True, level)
    assert [[text(mark) for mark in row] for row in divided] == expected


def test_order_of_the_inverse():
    """The order of tvm_ffi's Map: with four variables and more, one that is added to again moves to the end."""
    setting = Setting("i:4 j:24 k:5 l:6")
    result = detect_iter_map(setting.values("l // 3, k, j, l % 3, i"), setting.ranges)
    inverse = inverse_affine_iter_map(result.indices, [tir.Var(f"o{i}") for i in range(5)])
    assert [var.name for var in inverse] == ["i", "j", "k", "l"]
    setting = Setting("i:4 k:5 l:6")
    result = detect_iter_map(setting.values("l // 3, k, l % 3, i"), setting.ranges)
    inverse = inverse_affine_iter_map(result.indices, [tir.Var(f"o{i}") for i in range(4)])
    assert [var.name for var in inverse] == ["i", "l", "k"]


def test_equal_iterators_share_one_mark():
    """Sums that are the same iterator have the same mark, which is how they are seen to depend on each other."""
    setting = Setting("i:4 j:8")
    result = detect_iter_map(setting.values("i * 8 + j, j + i * 8"), setting.ranges, True, IterMapLevel.NoCheck)
    assert not result.indices
    one, other = detect_iter_map(setting.values("(i * 8 + j) // 4, (i * 8 + j) % 4"), setting.ranges).indices
    fused = one.args[0].source.source.args[0].source
    assert other.args[0].source.source.args[0].source is fused


def test_a_base_set_to_zero_keeps_the_dtype():
    """TVM writes an int32 zero into an int64 sum under a constraint; the sum stays int64 (the mark is found again)."""
    x, y = tir.Var("x", "int64"), tir.Var("y", "int64")
    extents = {
        x: tir.Range.from_min_extent(tir.IntImm("int64", 0), tir.IntImm("int64", 8)),
        y: tir.Range.from_min_extent(tir.IntImm("int64", 0), tir.IntImm("int64", 4)),
    }
    predicate = tir.And(tir.greater_equal(x, 2), tir.less(x * 4 + y, 20))
    result = detect_iter_map([x * 4 + y], extents, predicate)
    # From the real library.
    expected = "[<[<(x - 2L):6L>/1L%6L*4L + <y:4L>/1L%4L*1L + 0L]:12L>/1L%12L*1L + 8L]"
    assert [text(index) for index in result.indices] == [expected]


PLAIN = [
    ("i, j, k", ""),
    ("k, i, j", "i:1"),
    ("i, 3, j", "k:1"),
    ("j", ""),
    ("i, i", ""),
    ("i, j", "j:2,4"),
    ("n, i", ""),
]


@pytest.mark.parametrize("level", list(IterMapLevel))
@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("indices, changed", PLAIN)
def test_short_way_of_plain_indices(monkeypatch, indices, changed, trivial, level):
    """Indices that are iterators or constants give the same with and without the short way."""
    setting = Setting(" ".join(["i:8 j:4 k:6", changed]))
    arguments = (setting.values(indices), setting.ranges, True, level, trivial)

    def answers():
        result = detect_iter_map(*arguments)
        simplified = [text(index) for index in iter_map_simplify(*arguments)]
        return [text(index) for index in result.indices], bool(result.errors), simplified

    short = answers()
    monkeypatch.setattr(iter_affine_map, "_detect_plain", lambda *_: None)
    monkeypatch.setattr(iter_affine_map, "_simplify_plain", lambda *_: None)
    assert answers() == short


def test_no_short_way_under_a_predicate():
    """From the real library: a bound moves the iterator, and the simplified index says so."""
    setting = Setting("i:16")
    simplified = iter_map_simplify(setting.values("i"), setting.ranges, setting.condition("i >= 3"))
    assert [text(index) for index in simplified] == ["((i - 3) + 3)"]


def test_a_range_keeps_the_dtype_of_its_end():
    """From the real library: bounding an int64 iterator of an int32 range below by zero leaves the extent int32."""
    x = tir.Var("x", "int64")
    result = detect_iter_map([x], {x: tir.Range.from_min_extent(0, 16)}, tir.greater_equal(x, 0))
    assert [text(index) for index in result.indices] == ["[<[<x:16>/1L%16*1L + 0L]:16L>/1L%16L*1L + 0L]"]


def test_level_names():
    assert IterMapLevel.from_str("Bijective") is IterMapLevel.Bijective
    assert IterMapLevel.from_str(None) is IterMapLevel.NoCheck
    with pytest.raises(ValueError, match="unknown check level 'onto'"):
        IterMapLevel.from_str("onto")


def test_nodes():
    """Defaults and dtypes of nodes made by hand, and what they stand for."""
    x = tir.Var("x", "int64")
    mark = IterMark(x, tir.IntImm("int64", 24))
    whole = IterSplitExpr(mark)
    assert text(whole) == "<x:24L>/1L%24L*1L"
    assert whole.dtype == "int64"
    part = IterSplitExpr(mark, tir.IntImm("int64", 2), tir.IntImm("int64", 4), tir.IntImm("int64", 3))
    total = IterSumExpr([part], tir.IntImm("int64", 5))
    assert text(normalize_iter_map_to_expr(total)) == "((((x % 8L) // 2L) * 3L) + 5L)"
    assert text(normalize_iter_map_to_expr(whole)) == "x"
    assert tir.children(total) == (part, total.base)


def test_inverse_refuses():
    i = tir.Var("i")
    indices = detect_iter_map([i], {i: tir.Range.from_min_extent(0, 4)}).indices
    with pytest.raises(InternalError, match="a map of 1 indices takes that many outputs, not 2"):
        inverse_affine_iter_map(indices, [tir.Var("a"), tir.Var("b")])
    with pytest.raises(InternalError, match="ranges may not depend on each other"):
        normalize_to_iter_sum(i, {i: tir.Range.from_min_extent(0, i)})


OPERATIONS = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
}


def evaluate(e, values):
    if isinstance(e, tir.Var):
        return values[e]
    if isinstance(e, tir.IntImm):
        return e.value
    return OPERATIONS[type(e).__name__](evaluate(e.a, values), evaluate(e.b, values))


@st.composite
def bijections(draw):
    """Variables with their extents, and indices made of them by fusing neighbours, splitting evenly and permuting."""
    extents = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 30]), min_size=1, max_size=4))
    variables = [tir.Var(f"v{i}") for i in range(len(extents))]
    parts = list(zip(variables, extents))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(parts) - 1))
        action = draw(st.sampled_from(["fuse", "split", "permute"]))
        if action == "fuse" and at + 1 < len(parts):
            (outer, outer_extent), (inner, extent) = parts[at], parts[at + 1]
            # A part of extent 1 can stand in the way of the others when it is fused with them, in TVM too.
            if outer_extent > 1 and extent > 1:
                parts[at : at + 2] = [(outer * extent + inner, outer_extent * extent)]
        elif action == "split":
            value, extent = parts[at]
            # As for a split of extent 1.
            factors = [f for f in range(2, extent) if extent % f == 0]
            if factors:
                factor = draw(st.sampled_from(factors))
                parts[at : at + 1] = [(value // factor, extent // factor), (value % factor, factor)]
        elif action == "permute":
            parts = draw(st.permutations(parts))
    return variables, extents, [tir.convert(value) for value, _ in parts]


@settings(max_examples=150, deadline=None)
@given(bijections(), st.data())
def test_inverse_undoes_a_bijection(bijection, data):
    """Whatever was fused and split evenly is recognised, and its inverse leads from the outputs back to the inputs."""
    variables, extents, indices = bijection
    ranges = {var: tir.Range.from_min_extent(0, extent) for var, extent in zip(variables, extents)}
    result = detect_iter_map(indices, ranges, True, IterMapLevel.Bijective, False)
    assert not result.errors
    outputs = [tir.Var(f"o{i}") for i in range(len(indices))]
    inverse = inverse_affine_iter_map(result.indices, outputs)
    for _ in range(5):
        point = {var: data.draw(st.integers(0, extent - 1)) for var, extent in zip(variables, extents)}
        image = {output: evaluate(index, point) for output, index in zip(outputs, indices)}
        assert {var: evaluate(inverse[var], image) for var in inverse} == {var: point[var] for var in inverse}
        # A variable may only be missing when it has a single value.
        assert all(extents[i] == 1 for i, var in enumerate(variables) if var not in inverse)


@settings(max_examples=100, deadline=None)
@given(bijections(), st.data())
def test_simplification_keeps_values(bijection, data):
    variables, extents, indices = bijection
    ranges = {var: tir.Range.from_min_extent(0, extent) for var, extent in zip(variables, extents)}
    simplified = iter_map_simplify(indices, ranges)
    for _ in range(5):
        point = {var: data.draw(st.integers(0, extent - 1)) for var, extent in zip(variables, extents)}
        assert [evaluate(e, point) for e in simplified] == [evaluate(e, point) for e in indices]


def test_the_last_bad_mark_decides_how_a_map_fails():
    # From fuzzing: one of the two marks is no iterator, the other divides by zero. The real library checks the
    # mark found last first: [y, product] raises, [product, y] gives an answer with one error.
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    product = y * tir.floordiv(tir.floormod(x, 2), 2)
    ranges = {y: tir.Range.from_min_extent(0, 2)}
    with pytest.raises(tir.TirError, match="division by zero"):
        detect_iter_map([y, product], ranges, x + y <= 0, IterMapLevel.NoCheck, True)
    found = detect_iter_map([product, y], ranges, x + y <= 0, IterMapLevel.NoCheck, True)
    assert (list(found.indices), len(found.errors)) == ([], 1)


def test_module_is_where_carver_looks_for_it():
    assert iter_affine_map.IterMapLevel.Surjective == 1
