"""Drawing random programs, graphs and devices: specs of `fuzz_programs`, cases of `cases`.

Everything is a function of a `random.Random`; `case(seed, index)` is one case, the same on every machine. A program
grows stage by stage. A stage reads a tensor made before it (or a new input) through indices chosen per dimension (the
axis itself, sliced, strided, reversed, windowed, split, fused, divided, remaindered, padded ...), which gives it its
axes; further operands are read at the axes there are. Most indices stay inside their tensors, as programs that make
sense do; extents are mostly small, so that most searches are short. Some programs are of known kinds (`fuzz_kernels`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from types import ModuleType
from typing import Any

from . import fuzz_programs
from .fuzz_kernels import draw_kernel

EXTENTS = {
    "tiny": (1, 2, 3, 4, 5, 6, 7, 8, 9, 12),
    "mixed": (1, 2, 3, 4, 6, 7, 8, 12, 14, 16, 20, 24, 28, 32, 33, 48, 56, 64, 96, 100, 112, 127, 128, 192, 256),
    "powers": (1, 2, 4, 8, 16, 16, 32, 32, 64, 64, 128, 128, 256, 512),
    "blocks": (16, 16, 32, 32, 48, 64, 64, 80, 96, 128, 128, 256, 512),
    "primes": (1, 2, 3, 5, 7, 11, 13, 17, 31, 61, 97, 127, 251, 509, 1009, 1021),
    "large": (384, 500, 768, 1000, 1024, 1536, 2048, 2560, 4096, 5120, 8192, 11008, 16384, 28672, 65536),
    "huge": (10**6, 2**20, 2**24, 2**27, 10**9 + 7, 2**31 - 1, 2**31, 2**33),
}
FLOATS = ("float16",) * 8 + ("float32",) * 6 + ("bfloat16",) * 2 + ("float64", "float8_e4m3fn", "float8_e5m2")
INTEGERS = ("int8",) * 4 + ("int32",) * 3 + ("uint8", "int16", "int64", "uint32", "int4")
RARE = ("float8_e4m3fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn")
RARE += ("int1", "int2", "uint1", "uint2", "uint64")
WIDE = {"float16": "float32", "bfloat16": "float32", "int8": "int32", "uint8": "int32", "int4": "int32"}
SAME_WIDTH = {"float16": "int16", "int16": "float16", "float32": "int32", "int32": "float32", "int8": "float8_e4m3fn"}
UNARY = ("exp", "sqrt", "tanh", "sigmoid", "abs", "rsqrt", "log", "erf", "floor", "log1p", "exp2", "nearbyint")

Expression = Any


def add(a: Expression, b: Expression) -> Expression:
    return ["add", a, b]


def is_float(dtype: str) -> bool:
    return "float" in dtype


@dataclass
class Tensor:
    """A tensor that stages can read."""

    name: str
    shape: list[int]
    dtype: str


@dataclass
class Stage:
    """A stage in the making: its axes so far, and what must hold where the tensor is read."""

    axes: list[list] = field(default_factory=list)  # [name, extent]
    loops: list[list] = field(default_factory=list)  # [name, begin, extent]
    guards: list[Expression] = field(default_factory=list)

    def extents(self) -> list[tuple[str, int]]:
        return [(name, extent) for name, extent in self.axes] + [(loop[0], loop[2]) for loop in self.loops]


class Drawing:
    """Draws one program."""

    def __init__(self, r: Random, profile: str | None = None) -> None:
        self.r = r
        names = ("tiny", "mixed", "powers", "primes", "large", "huge")
        self.profile = profile or r.choices(names, (20, 40, 22, 8, 8, 2))[0]
        self.inputs: list[Tensor] = []
        self.stages: list[dict] = []
        self.made: list[Tensor] = []
        self.pending: list[Tensor] = []  # inputs that must be read yet
        self.symbolic_chance = 0.05
        self.plainness = 110  # how often an index is an axis, against about 80 for all else
        self.counter = 0
        self.variables: list[list] = []
        self.attributes: dict[str, Any] = {}
        self.tensor_type = Tensor
        self.dtype = r.choice(FLOATS) if r.random() < 0.85 else r.choice(INTEGERS + RARE)
        self.wild = r.random() < 0.12  # indices that may leave their tensors, dtypes that do not fit

    # ----- small draws

    def chance(self, probability: float) -> bool:
        return self.r.random() < probability

    def extent(self) -> int:
        r = self.r
        if self.profile == "huge":
            return r.choice(EXTENTS["huge"]) if self.chance(0.3) else r.choice(EXTENTS["tiny"])
        if self.profile == "large":
            return r.choice(EXTENTS["large"]) if self.chance(0.5) else r.choice(EXTENTS["mixed"])
        return r.choice(EXTENTS[self.profile])

    def shape(self, rank: int) -> list[int]:
        """Extents whose product stays moderate, but for the large profiles."""
        shape = [self.extent() for _ in range(rank)]
        limit = 1 << 22
        while self.profile not in ("large", "huge") and math.prod(shape) > limit:
            largest = shape.index(max(shape))
            shape[largest] = max(1, shape[largest] // self.r.choice((2, 4, 8)))
        return shape

    def rank(self) -> int:
        return self.r.choices((1, 2, 3, 4, 5), (14, 38, 24, 16, 8))[0]

    def fresh(self, letters: str = "ABCDEFGPQSTUWXYZ") -> str:
        """A name that is not taken."""
        taken = {t.name.split(".")[0] for t in (*self.inputs, *self.made)}
        name = self.r.choice(letters)
        while name in taken:
            self.counter += 1
            name = f"{self.r.choice(letters)}{self.counter}"
        return name

    def axis_name(self, stage: Stage, letters: str) -> str:
        taken = {name for name, _ in stage.extents()}
        free = [letter for letter in letters if letter not in taken]
        if free and self.chance(0.8):
            return free[0] if self.chance(0.7) else self.r.choice(free)
        name = f"{letters[0]}{len(taken)}"
        while name in taken:
            name += "_"
        return name

    def new_axis(self, stage: Stage, extent: int, reduce: bool) -> str:
        name = self.axis_name(stage, "krquv" if reduce else "ijlmnhwxyz")
        if reduce:
            stage.loops.append([name, 0, extent])
        else:
            stage.axes.append([name, extent])
        return name

    def new_input(self, shape: list[int], dtype: str | None = None) -> Tensor:
        tensor = Tensor(self.fresh(), shape, dtype or self.dtype)
        self.inputs.append(tensor)
        return tensor

    def constant(self, dtype: str) -> Expression:
        value = self.r.choice((0, 1, 2, -1, 3))
        if dtype.startswith("uint") or dtype in ("bool", "int4"):
            value = abs(value) % 2
        if is_float(dtype) and self.chance(0.3):
            return ["const", self.r.choice((0.5, 0.125, 1.5)), dtype]
        return ["const", value, dtype]

    # ----- indices into a tensor that exists

    def index(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        """An index into a dimension, with new axes for it."""
        r = self.r
        if extent == 1 and self.chance(0.5):
            return 0
        kinds = ("keep", "slice", "stride", "window", "split", "reverse", "pad", "upsample", "repeat")
        kinds += ("constant", "roll", "clamp", "compound", "choose", "shift", "truncated", "old")
        kinds += ("descend", "interleave", "signed", "widened", "two_ends", "named")
        weights = (self.plainness, 7, 6, 9, 9, 5, 9, 4, 4, 3, 4, 2, 5, 1, 1, 2, 4, 3, 3, 3, 1, 2, 1)
        kind = r.choices(kinds, weights)[0]
        handler: Callable = getattr(self, "_" + kind)
        return handler(stage, extent, reduce)

    def _keep(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        return self.new_axis(stage, extent, reduce)

    def _slice(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        begin = self.r.randrange(0, min(extent, 64))
        size = max(1, extent - begin - self.r.choice((0, 0, 1, 2)))
        axis = self.new_axis(stage, size, reduce)
        return add(axis, begin) if begin else axis

    def _stride(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        step = self.r.choice((2, 2, 3, 4, 8))
        begin = self.r.randrange(0, step)
        size = max(1, (extent - begin + step - 1) // step)
        if self.chance(0.2):
            size = max(1, size - 1)
        scaled = ["mul", self.new_axis(stage, size, reduce), step]
        return add(scaled, begin) if begin else scaled

    def _window(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        """h * stride + k * dilation, k a reduction (or, rarely, an axis)."""
        kernel = self.r.choice((1, 2, 3, 3, 5, 7))
        dilation = self.r.choice((1, 1, 1, 2, 3))
        stride = self.r.choice((1, 1, 2, 2, 3))
        size = (extent - dilation * (kernel - 1) - 1) // stride + 1
        if size < 1:
            return self._keep(stage, extent, reduce)
        h = self.new_axis(stage, size, False)
        k = self.new_axis(stage, kernel, not self.chance(0.1))
        scaled = ["mul", h, stride] if stride > 1 else h
        moved = ["mul", k, dilation] if dilation > 1 else k
        index = add(scaled, moved) if self.chance(0.8) else add(moved, scaled)
        if self.chance(0.25):  # padding inside the reduction
            pad = self.r.choice((1, 1, 2, 3))
            index = ["sub", index, pad]
            stage.guards += [["ge", index, 0], ["lt", index, extent]]
            stage.axes[[name for name, _ in stage.axes].index(h)][1] = (size * stride + 2 * pad - 1) // stride or 1
        return index

    def _split(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        inner = self.factor(extent)
        outer = extent // inner if extent % inner == 0 or self.chance(0.5) else -(-extent // inner)
        a = self.new_axis(stage, max(1, outer), reduce)
        b = self.new_axis(stage, inner, reduce if self.chance(0.6) else not reduce)
        fused = add(["mul", a, inner], b) if self.chance(0.85) else add(b, ["mul", a, inner])
        if outer * inner > extent:
            stage.guards.append(["lt", fused, extent])
        return fused

    def factor(self, extent: int) -> int:
        divisors = [d for d in range(2, min(extent, 512)) if extent % d == 0]
        if divisors and self.chance(0.8):
            return self.r.choice(divisors)
        return self.r.choice((2, 3, 4, 8, 16))

    def _reverse(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        axis = self.new_axis(stage, extent, reduce)
        if self.chance(0.3):
            return ["sub", ["sub", extent, 1], axis]
        return ["sub", extent - 1, axis]

    def _pad(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        before, after = self.r.choice((0, 1, 1, 2, 3)), self.r.choice((0, 1, 1, 2, 13))
        if self.chance(0.25):  # to a multiple
            before, multiple = 0, self.r.choice((4, 8, 16, 32))
            after = -extent % multiple
        axis = self.new_axis(stage, extent + before + after, reduce)
        index = ["sub", axis, before] if before else axis
        if before:
            stage.guards.append(["ge", axis, before] if self.chance(0.6) else ["ge", index, 0])
        if after or not before:
            bounded = self.chance(0.6)
            stage.guards.append(["lt", axis, extent + before] if bounded else ["lt", index, extent])
        return index

    def _upsample(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        scale = self.r.choice((2, 2, 3, 4))
        return ["floordiv", self.new_axis(stage, extent * scale, reduce), scale]

    def _repeat(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        times = self.r.choice((1, 2, 3, 4))
        return ["floormod", self.new_axis(stage, extent * times, reduce), extent]

    def _constant(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        return 0 if self.chance(0.5) else self.r.randrange(0, extent)

    def _roll(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        axis = self.new_axis(stage, extent, reduce)
        shift = self.r.randrange(1, 10)
        return ["floormod", add(axis, shift) if self.chance(0.7) else ["sub", add(axis, extent), shift], extent]

    def _clamp(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        axis = self.new_axis(stage, extent, reduce)
        moved = add(axis, self.r.choice((1, 2, -1, -3)))
        return ["max", ["min", moved, extent - 1], 0] if self.chance(0.7) else ["min", ["max", moved, 0], extent - 1]

    def _compound(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        """(i * 4 + j) // 8 % 3 and the like."""
        a = self.new_axis(stage, self.r.choice((2, 3, 4, 8, 16)), reduce)
        b = self.new_axis(stage, self.r.choice((2, 3, 4, 8)), reduce if self.chance(0.6) else not reduce)
        index: Expression = add(["mul", a, self.r.choice((2, 3, 4, 8))], b)
        for _ in range(self.r.choice((1, 1, 2))):
            kind = self.r.choice(("floordiv", "floormod", "floordiv", "floormod", "truncdiv", "truncmod"))
            index = [kind, index, self.r.choice((2, 3, 4, 6, 8, 12))]
            if self.chance(0.2):
                index = add(["mul", index, self.r.choice((1, 2, 3))], self.r.choice((a, b, 1)))
        return index if self.wild and self.chance(0.5) else ["floormod", index, extent]

    def _choose(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        axis = self.new_axis(stage, extent, reduce)
        kind = self.r.choice(("if", "select"))
        half = max(1, extent // 2)
        return [kind, ["lt", axis, half], axis, ["sub", axis, half]]

    def _shift(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        if self.chance(0.3):
            return ["band", self.new_axis(stage, extent, reduce), self.r.choice((1, 3, 7, 15))]
        return ["shr", self.new_axis(stage, extent * 2, reduce), 1]

    def _truncated(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        scale = self.r.choice((2, 3, 4))
        if self.chance(0.5):
            return ["truncdiv", self.new_axis(stage, extent * scale, reduce), scale]
        return ["truncmod", self.new_axis(stage, extent * scale, reduce), extent]

    def _descend(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        """From the end in steps: a negative stride, in one of the ways to write it."""
        step = self.r.choice((1, 2, 2, 3, 4))
        axis = self.new_axis(stage, max(1, -(-extent // step)), reduce)
        ways = (
            ["sub", extent - 1, ["mul", axis, step]],
            add(["mul", axis, -step], extent - 1),
            ["sub", extent - 1, ["mul", step, axis]],
        )
        return self.r.choice(ways)

    def _interleave(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        """Both the quotient and the remainder of an axis, exchanged or scaled anew."""
        inner = self.factor(extent)
        outer = max(1, extent // inner)
        axis = self.new_axis(stage, inner * outer, reduce)
        high, low = ["floordiv", axis, inner], ["floormod", axis, inner]
        if self.chance(0.25):
            return add(["mul", high, inner], low)
        if self.chance(0.3):
            low = ["sub", inner - 1, low]
            return add(["mul", high, inner], low)
        return add(["mul", low, outer], high) if self.chance(0.7) else add(high, ["mul", low, outer])

    def _signed(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        """A quotient or remainder of what may be negative."""
        kind = self.r.choice(("floordiv", "floormod", "floormod", "truncdiv", "truncmod"))
        scale = self.r.choice((2, 3, 4))
        if kind.endswith("mod"):
            axis = self.new_axis(stage, extent, reduce)
            return [kind, ["sub", self.r.choice((0, 1, extent)), axis], extent]
        axis = self.new_axis(stage, extent * scale, reduce)
        return ["max", [kind, ["sub", axis, self.r.choice((1, scale, 5))], scale], 0]

    def _widened(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        """Through another integer dtype."""
        axis = self.new_axis(stage, extent, reduce)
        if self.chance(0.5):
            return ["cast", "int64", axis]
        return ["cast", "int32", ["floormod", ["cast", "int64", axis], ["const", extent, "int64"]]]

    def _two_ends(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        """The lesser or greater of two axes, or their distance."""
        a = self.new_axis(stage, extent, reduce)
        b = self.new_axis(stage, self.r.choice((1, 2, 4, extent)), False)
        kind = self.r.choice(("min", "max", "distance"))
        if kind == "distance":
            return ["max", ["sub", a, b], 0] if self.chance(0.5) else ["floormod", ["sub", a, b], extent]
        return ["min", [kind, a, b], extent - 1]

    def _named(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        axis, name = self.new_axis(stage, extent, reduce), self.variable()
        if self.chance(0.5):
            return ["let", name, axis, name]
        return ["let", name, ["floordiv", axis, 2], ["min", add(name, name), extent - 1]]

    def _old(self, stage: Stage, extent: int, reduce: bool) -> Expression:
        """An axis there is: diagonals, and whatever fits."""
        return self.fitting(stage, extent) if stage.extents() else self._keep(stage, extent, reduce)

    def fitting(self, stage: Stage, extent: int) -> Expression:
        """An index into a dimension from the axes there are."""
        r = self.r
        axes = stage.extents()
        if not axes:
            return 0
        same = [name for name, size in axes if size == extent]
        if same and self.chance(0.85):
            return r.choice(same)
        name, size = r.choice(axes)
        if size <= extent:
            room = extent - size
            return add(name, r.randrange(1, min(room, 8) + 1)) if room and self.chance(0.3) else name
        roll = r.random()
        if roll < 0.45:
            return ["floormod", name, extent]
        if roll < 0.85:
            return ["floordiv", name, -(-size // extent)]
        return 0 if not self.wild else name

    def fused(self, stage: Stage, first: int, second: int, reduce: bool) -> list[Expression]:
        """Two dimensions read through one axis."""
        axis = self.new_axis(stage, first * second, reduce)
        high = ["floordiv", axis, second]
        if self.chance(0.3):
            high = ["floormod", high, first]
        return [high, ["floormod", axis, second]]

    def indices(self, stage: Stage, shape: list[int], reduce_chance: float) -> list[Expression]:
        """Indices into a whole tensor, all with new axes."""
        found: list[Expression] = []
        reduced = [self.chance(reduce_chance) for _ in shape]
        if all(reduced) and shape and self.chance(0.85):  # carver wants an axis that stays
            reduced[self.r.randrange(len(shape))] = False
        position = 0
        while position < len(shape):
            reduce = reduced[position]
            if position + 1 < len(shape) and self.chance(0.07) and shape[position] * shape[position + 1] < 1 << 20:
                found += self.fused(stage, shape[position], shape[position + 1], reduce)
                position += 2
                continue
            found.append(self.index(stage, shape[position], reduce))
            position += 1
        return found

    # ----- a new input made to fit the indices

    def operand(self, stage: Stage, items: list[tuple[str, int]], dtype: str | None = None) -> Expression:
        """A read of a new input whose dimensions are these axes, laid out in some way."""
        r = self.r
        dims: list[tuple[Expression, int]] = [(name, extent) for name, extent in items]
        if self.chance(0.3):
            r.shuffle(dims)
        for _ in range(r.choice((0, 0, 0, 0, 1, 1, 2))):
            if not dims or len(dims) > 6:
                break
            at = r.randrange(len(dims))
            e, extent = dims[at]
            kind = r.choice(
                ("block", "block", "fuse", "offset", "reverse", "stride", "zero", "group", "within", "sum", "drop")
            )
            if kind == "block" and extent > 2:
                inner = self.factor(extent)
                halves = [(["floordiv", e, inner], -(-extent // inner)), (["floormod", e, inner], inner)]
                if self.chance(0.3):
                    halves.reverse()
                dims[at : at + 1] = halves
                if self.chance(0.3):
                    r.shuffle(dims)
            elif kind == "fuse" and at + 1 < len(dims) and extent * dims[at + 1][1] < 1 << 24:
                other, size = dims[at + 1]
                dims[at : at + 2] = [(add(["mul", e, size], other), extent * size)]
            elif kind == "offset":
                dims[at] = (add(e, r.choice((1, 2, 3))), extent + 3)
            elif kind == "reverse":
                dims[at] = (["sub", extent - 1, e], extent)
            elif kind == "stride":
                dims[at] = (["mul", e, 2], extent * 2)
            elif kind == "zero":
                dims.insert(at, (r.choice((0, 0, 1)), r.choice((1, 2, 4))))
            elif kind == "group" and extent > 1:
                width = self.factor(extent)
                dims[at] = (["floordiv", e, width], -(-extent // width))
            elif kind == "within" and len(dims) > 1 and extent > 1:  # each group has its own stretch of another axis
                other, size = dims[at - 1]
                width = self.factor(extent)
                dims[at - 1] = (add(["mul", ["floordiv", e, width], size], other), size * -(-extent // width))
                if self.chance(0.7):
                    dims.pop(at)
            elif kind == "sum" and at + 1 < len(dims):
                other, size = dims[at + 1]
                dims[at : at + 2] = [(add(e, other), extent + size - 1)]
            elif kind == "drop" and len(dims) > 1 and self.chance(0.3):
                dims.pop(at)
        if not dims:
            dims = [(0, 1)]
        tensor = self.new_input([extent for _, extent in dims], dtype)
        return self.read(tensor, [e for e, _ in dims])

    def read(self, tensor: Tensor, indices: list[Expression]) -> Expression:
        return ["read", tensor.name, indices]

    def another(self, stage: Stage, dtype: str) -> tuple[Expression, str]:
        """A second operand: a new input over some of the axes, or a tensor there is."""
        r = self.r
        if self.pending:
            tensor = self.pending.pop()
            return self.read(tensor, [self.fitting(stage, extent) for extent in tensor.shape]), tensor.dtype
        if self.made and self.chance(0.3):
            tensor = r.choice(self.made)
            return self.read(tensor, [self.fitting(stage, extent) for extent in tensor.shape]), tensor.dtype
        if self.inputs and self.chance(0.15):
            tensor = r.choice(self.inputs)
            return self.read(tensor, [self.fitting(stage, extent) for extent in tensor.shape]), tensor.dtype
        axes = [item for item in stage.extents() if item[1] < 1 << 31]
        count = r.choice((1, 1, len(axes), len(axes))) if axes else 0
        chosen = [axes[i] for i in sorted(r.sample(range(len(axes)), min(count, len(axes), 5)))]
        other = dtype if self.chance(0.85) else r.choice(FLOATS + INTEGERS)
        return self.operand(stage, chosen, other), other

    # ----- values

    def fit(self, value: Expression, dtype: str, wanted: str) -> Expression:
        """`value` as `wanted`; left alone now and then, for the implicit conversions."""
        return value if dtype == wanted or (self.wild and self.chance(0.3)) else ["cast", wanted, value]

    def combine(self, a: Expression, b: Expression) -> Expression:
        kind = self.r.choices(("add", "mul", "sub", "max", "min"), (5, 5, 2, 1, 1))[0]
        return [kind, a, b]

    def guarded(self, stage: Stage, value: Expression, dtype: str) -> Expression:
        if not stage.guards:
            return value
        condition = stage.guards[0]
        for guard in stage.guards[1:]:
            condition = ["and", condition, guard]
        stage.guards = []
        kind = "if" if self.chance(0.9) else "select"
        other = ["const", 0, dtype] if self.chance(0.8) else self.constant(dtype)
        if condition[0] == "and" and self.chance(0.25):  # one choice within another
            inner = [self.r.choice(("if", "if", "select")), condition[2], value, other]
            return [kind, condition[1], inner, other]
        if self.chance(0.05):
            return [kind, ["not", condition], other, value]
        return [kind, condition, value, other]

    def dressed(self, stage: Stage, value: Expression, dtype: str, depth: int) -> tuple[Expression, str]:
        """`value` with some arithmetic around it."""
        r = self.r
        for _ in range(depth):
            roll = r.random()
            if roll < 0.25:
                other, other_dtype = self.another(stage, dtype)
                value = self.combine(value, self.fit(other, other_dtype, dtype))
            elif roll < 0.40:
                value = self.combine(value, self.constant(dtype))
            elif roll < 0.55 and is_float(dtype):
                value = ["call", r.choice(UNARY), value]
            elif roll < 0.65:
                value = ["max", value, ["const", 0, dtype]]
            elif roll < 0.75:
                wanted = r.choice(FLOATS) if is_float(dtype) or self.chance(0.5) else r.choice(INTEGERS)
                value, dtype = ["cast", wanted, value], wanted
            elif roll < 0.80:
                condition = [r.choice(("gt", "lt", "ge", "eq")), value, self.constant(dtype)]
                value = [r.choice(("if", "select")), condition, value, self.constant(dtype)]
            elif roll < 0.85 and stage.extents():
                name, extent = r.choice(stage.extents())
                condition = [r.choice(("lt", "le", "eq", "ge")), name, r.randrange(0, min(extent, 1 << 30) + 1)]
                if len(stage.extents()) > 1 and self.chance(0.4):
                    condition = ["le", *r.sample([item[0] for item in stage.extents()], 2)]
                value = ["if", condition, value, self.constant(dtype)]
            elif roll < 0.88 and dtype.startswith(("int", "uint")) and dtype != "int4":
                value = [r.choice(("shr", "band", "bxor")), value, self.constant(dtype)]
            elif roll < 0.90 and is_float(dtype):
                value = ["div", value, ["const", 2, dtype]]
            elif roll < 0.92 and stage.extents():
                value = add(value, ["cast", dtype, r.choice(stage.extents())[0]])
            elif roll < 0.94:
                value = self.chosen(stage, value, dtype)
            elif roll < 0.96 and is_float(dtype):
                value = ["call", r.choice(fuzz_programs.BINARY_CALLS), value, self.constant(dtype)]
            elif roll < 0.97 and dtype in SAME_WIDTH:
                value, dtype = ["reinterpret", SAME_WIDTH[dtype], value], SAME_WIDTH[dtype]
            elif roll < 0.98:
                name = self.variable()
                value = ["let", name, value, self.combine(name, name)]
        return value, dtype

    def variable(self) -> str:
        """A name for a Let; no expression has two of one name."""
        self.counter += 1
        return f"let{self.counter}"

    def chosen(self, stage: Stage, value: Expression, dtype: str) -> Expression:
        """One of two values by data: by a tensor of booleans, or by comparing them."""
        other, other_dtype = self.another(stage, dtype)
        other = self.fit(other, other_dtype, dtype)
        if self.chance(0.5):
            condition = [self.r.choice(("lt", "ge", "ne")), value, other]
        else:
            axes = [item for item in stage.extents() if item[1] < 1 << 31][:3]
            condition = self.operand(stage, axes, "bool")
        if self.chance(0.3):
            condition = ["not", condition]
        return [self.r.choice(("if", "select")), condition, value, other]

    def finish(self, stage: Stage, values: list[Expression], dtypes: list[str], op: str | None) -> list[Tensor]:
        """Write the stage down."""
        name = self.fresh()
        if self.chance(22 / self.plainness):
            self.r.shuffle(stage.axes)
        if self.chance(7 / self.plainness):
            self.new_axis(stage, self.r.choice(EXTENTS["tiny"]), False)  # broadcast
        if not stage.axes and not self.chance(0.1):
            stage.axes.append(["one", 1])
        spec: dict = {"name": name, "axes": stage.axes, "values": values}
        if op is not None:
            if self.chance(0.1):
                self.r.shuffle(stage.loops)
            spec.update(op=op, reduce=stage.loops)
        self.stages.append(spec)
        shape = [extent for _, extent in stage.axes]
        names = [name] if len(values) == 1 else [f"{name}.{i}" for i in range(len(values))]
        made = [Tensor(each, shape, dtype) for each, dtype in zip(names, dtypes)]
        self.made += made
        return made

    # ----- stages

    def source(self) -> Tensor:
        """What the next stage reads first: mostly what was made last."""
        if self.made:
            return self.made[-1] if self.chance(0.8) else self.r.choice(self.made)
        if self.inputs and self.chance(0.9):
            return self.inputs[0]
        return self.new_input(self.shape(self.rank()))

    def plain_stage(self, reduce_chance: float | None = None) -> list[Tensor]:
        """A stage over one tensor and whatever it is combined with."""
        r = self.r
        tensor = self.source()
        stage = Stage()
        if reduce_chance is None:
            reduce_chance = r.choice((0.0, 0.0, 0.0, 0.3, 0.5, 0.8))
        indices = self.indices(stage, tensor.shape, reduce_chance)
        value: Expression = self.read(tensor, indices)
        dtype = tensor.dtype
        if self.chance(0.04):
            value = self.gathered(stage, tensor, indices)
        if self.chance(0.12):
            value = self.stencil(tensor, indices, value)
        if dtype == "bool":
            value, dtype = ["cast", "float16", value], "float16"
        value = self.guarded(stage, value, dtype)
        while self.pending and self.chance(0.9):
            other, other_dtype = self.another(stage, dtype)
            value = self.combine(value, self.fit(other, other_dtype, dtype))
        value, dtype = self.dressed(stage, value, dtype, r.choice((0, 0, 1, 1, 2, 3)))
        if stage.loops:
            return self.reduced(stage, value, dtype)
        if self.chance(0.04) and not is_float(dtype) or self.chance(0.03):
            return self.finish(stage, [[r.choice(("gt", "le", "ne")), value, self.constant(dtype)]], ["bool"], None)
        if self.chance(0.03):
            return self.finish(stage, [value, add(value, self.constant(dtype))], [dtype, dtype], None)
        return self.finish(stage, [value], [dtype], None)

    def reduced(self, stage: Stage, value: Expression, dtype: str) -> list[Tensor]:
        r = self.r
        if dtype in WIDE and self.chance(0.4):
            value, dtype = ["cast", WIDE[dtype], value], WIDE[dtype]
        if self.chance(0.05):
            stage.loops[0][1] = r.choice((1, 2, -1))
        if self.chance(0.05):
            position = stage.loops[0][0]
            return self.finish(stage, [position, value], ["int32", dtype], r.choice(("argmax", "argmin")))
        op = r.choices(("sum", "max", "min", "prod"), (14, 4, 2, 1))[0]
        made = self.finish(stage, [value], [dtype], op)
        if self.chance(0.03):
            self.stages[-1]["where"] = ["lt", stage.loops[0][0], max(1, stage.loops[0][2] - 1)]
        return made

    def gathered(self, stage: Stage, tensor: Tensor, indices: list[Expression]) -> Expression:
        """One of the indices is data; the real carver refuses it."""
        axes = [item for item in stage.extents() if item[1] < 1 << 31]
        if not axes or not indices:
            return self.read(tensor, indices)
        rows = self.new_input([axes[0][1]], "int32")
        changed = list(indices)
        changed[self.r.randrange(len(changed))] = self.read(rows, [axes[0][0]])
        return self.read(tensor, changed)

    def stencil(self, tensor: Tensor, indices: list[Expression], value: Expression) -> Expression:
        """The same tensor again, some steps further on."""
        if not indices:
            return value
        for _ in range(self.r.choice((1, 2, 2, 3))):
            moved = list(indices)
            at = self.r.randrange(len(moved))
            step = self.r.choice((1, 1, 2, -1, 3))
            moved[at] = add(moved[at], step) if step > 0 else ["sub", moved[at], -step]
            value = add(value, self.read(tensor, moved))
        return value

    def product_stage(self) -> list[Tensor]:
        """A core like a matrix product: two operands, axes of each, shared ones, reductions."""
        r = self.r
        stage = Stage()
        batch = [self.new_axis(stage, r.choice((1, 2, 3, 4, 8)), False) for _ in range(r.choice((0, 0, 0, 1, 1, 2)))]
        profile = r.choice(("blocks", "blocks", "blocks", "powers", "mixed", self.profile))
        inner, self.profile = self.profile, profile
        rows = [self.new_axis(stage, self.extent(), False) for _ in range(r.choice((1, 1, 1, 1, 2)))]
        columns = [self.new_axis(stage, self.extent(), False) for _ in range(r.choice((0, 1, 1, 1, 1, 1, 1, 2)))]
        loops = [self.new_axis(stage, self.extent(), True) for _ in range(r.choice((1, 1, 1, 1, 1, 2, 3)))]
        self.profile = inner
        extents = dict(stage.extents())

        def items(*groups: list[str]) -> list[tuple[str, int]]:
            return [(name, extents[name]) for group in groups for name in group]

        dtype = r.choice(("float16",) * 8 + ("int8",) * 3 + ("bfloat16", "bfloat16", "float32", "float8_e4m3fn"))
        accum = WIDE.get(dtype, "float32") if self.chance(0.7) else dtype
        if self.made and self.chance(0.7):
            left, left_dtype = self.product_source(stage, rows, loops, extents)
        else:
            left, left_dtype = self.operand(stage, items(batch, rows, loops), dtype), dtype
        if self.chance(0.08):
            right, right_dtype = self.another(stage, dtype)
        else:
            shared = batch if self.chance(0.8) else []
            order = (columns, loops) if self.chance(0.6) else (loops, columns)
            right, right_dtype = self.operand(stage, items(shared, *order), dtype), dtype
        value = ["mul", self.fit(left, left_dtype, accum), self.fit(right, right_dtype, accum)]
        if self.chance(0.08):
            value, accum = self.dressed(stage, value, accum, 1)
        if self.chance(0.1):
            r.shuffle(stage.axes)
        return self.finish(stage, [value], [accum], "sum" if self.chance(0.95) else r.choice(("max", "min")))

    def convolution_stage(self) -> list[Tensor]:
        """Windows over one to three axes of a tensor, channels reduced or kept, weights in any order."""
        r = self.r
        stage = Stage()
        dtype = r.choice(("float16",) * 6 + ("int8", "bfloat16", "float32", "float32"))
        accum = WIDE.get(dtype, "float32") if self.chance(0.7) else dtype
        batch = self.new_axis(stage, r.choice((1, 1, 2, 4, 16)), False)
        depthwise = self.chance(0.15)
        channel = self.new_axis(stage, r.choice((3, 4, 16, 32, 64)), not depthwise)
        dims: list[tuple[Expression, int]] = [(batch, dict(stage.extents())[batch])]
        dims.append((channel, dict(stage.extents())[channel]))
        kernels: list[str] = []
        for _ in range(r.choice((1, 2, 2, 2, 2, 3))):
            extent = r.choice((7, 8, 14, 16, 28, 30, 32, 56))
            before = {name for name, _ in stage.extents()}
            index = self._window(stage, extent, True)
            kernels += [name for name, _ in stage.extents() if name not in before and name in loops_of(stage)]
            dims.append((index, extent))
        if self.chance(0.5):
            dims.append(dims.pop(1))  # channels last
        elif self.chance(0.2):
            r.shuffle(dims)
        made = [tensor for tensor in self.made if tensor.shape == [extent for _, extent in dims]]
        source = made[-1] if made else self.new_input([extent for _, extent in dims], dtype)
        value: Expression = self.read(source, [index for index, _ in dims])
        padded_outside = self.chance(0.5)
        if padded_outside:
            value = self.guarded(stage, value, source.dtype)
        extents = dict(stage.extents())
        filters = [] if depthwise else [self.new_axis(stage, r.choice((1, 8, 16, 32, 64, 128)), False)]
        weights = [*filters, channel, *kernels] if self.chance(0.5) else [*kernels, channel, *filters]
        if self.chance(0.1):
            r.shuffle(weights)
        extents = dict(stage.extents())
        weight = self.new_input([extents[name] for name in weights], dtype)
        value = self.fit(value, source.dtype, accum)
        value = ["mul", value, self.fit(self.read(weight, weights), dtype, accum)]
        value = self.guarded(stage, value, accum)
        if not stage.loops:
            return self.finish(stage, [value], [accum], None)
        return self.finish(stage, [value], [accum], "sum")

    def product_source(self, stage: Stage, rows: list[str], loops: list[str], extents: dict) -> tuple[Expression, str]:
        """The left operand is what was made last, with the extents of the axes changed to its own."""
        tensor = self.made[-1]
        free = [*rows, *loops]
        self.r.shuffle(free)
        indices: list[Expression] = []
        for extent in tensor.shape:
            if free:
                name = free.pop()
                for axis in (*stage.axes, *stage.loops):
                    if axis[0] == name:
                        axis[-1] = extent
                extents[name] = extent
                indices.append(name)
            else:
                indices.append(self.fitting(stage, extent))
        return self.read(tensor, indices), tensor.dtype

    def epilogue_stage(self) -> list[Tensor]:
        """Elementwise over what was made last: bias, activation, residual, cast."""
        r = self.r
        tensor = self.made[-1]
        stage = Stage()
        indices = [self.new_axis(stage, extent, False) for extent in tensor.shape]
        value, dtype = self.read(tensor, indices), tensor.dtype
        while self.pending:
            other, other_dtype = self.another(stage, dtype)
            value = self.combine(value, self.fit(other, other_dtype, dtype))
        value, dtype = self.dressed(stage, value, dtype, r.choice((1, 1, 2)))
        if self.chance(0.15):
            r.shuffle(stage.axes)
        return self.finish(stage, [value], [dtype], None)

    def layer_product(self, width: int) -> list[Tensor]:
        """Rows times a new matrix."""
        tensor = self.made[-1]
        stage = Stage()
        rows = [self.new_axis(stage, extent, False) for extent in tensor.shape[:-1]]
        column = self.new_axis(stage, width, False)
        loop = self.new_axis(stage, tensor.shape[-1], True)
        turned = self.chance(0.7)
        order = [column, loop] if turned else [loop, column]
        extents = dict(stage.extents())
        weight = self.new_input([extents[name] for name in order], tensor.dtype)
        accum = WIDE.get(tensor.dtype, tensor.dtype) if self.chance(0.7) else tensor.dtype
        left = self.fit(self.read(tensor, [*rows, loop]), tensor.dtype, accum)
        value = ["mul", left, self.fit(self.read(weight, order), tensor.dtype, accum)]
        name = self.fresh()
        self.stages.append({"name": name, "axes": stage.axes, "op": "sum", "reduce": stage.loops, "values": [value]})
        self.made.append(Tensor(name, [extent for _, extent in stage.axes], accum))
        return self.made[-1:]

    def layer_reduction(self) -> list[Tensor]:
        """The last axis reduced."""
        tensor = self.made[-1]
        stage = Stage()
        rows = [self.new_axis(stage, extent, False) for extent in tensor.shape[:-1]]
        loop = self.new_axis(stage, tensor.shape[-1], True)
        value = self.read(tensor, [*rows, loop])
        return [self.finish_quiet(stage, value, tensor.dtype, self.r.choice(("sum", "max")))]

    def producer_stage(self) -> list[Tensor]:
        """A stage before a product: scaled, padded, unpacked, transposed input."""
        if self.chance(0.25):
            return self.unpacking_stage()
        if not self.made and not self.inputs:
            self.inputs.append(Tensor(self.fresh(), self.shape(self.r.choice((2, 2, 3, 4))), self.dtype))
        return self.plain_stage(reduce_chance=0.0)

    def unpacking_stage(self) -> list[Tensor]:
        """Packed low-bit numbers, unpacked with shifts, scaled by group."""
        r = self.r
        stage = Stage()
        per = r.choice((2, 2, 4, 8))
        storage = r.choice(("int8", "uint8", "int32"))
        n = self.new_axis(stage, self.extent(), False)
        size = r.choice((16, 32, 64, 128, 256, 30))
        k = self.new_axis(stage, size, False)
        packed = self.new_input([dict(stage.extents())[n], max(1, size // per)], storage)
        word = self.read(packed, [n, ["floordiv", k, per]])
        bits = 8 // per
        shifted = ["shr", word, ["cast", storage, ["mul", ["floormod", k, per], bits]]]
        value: Expression = ["cast", "float16", ["band", shifted, ["const", (1 << bits) - 1, storage]]]
        if self.chance(0.6):
            group = r.choice((8, 16, 32))
            shape = [dict(stage.extents())[n], max(1, size // group)]
            value = ["mul", value, self.read(self.new_input(shape, "float16"), [n, ["floordiv", k, group]])]
        return self.finish(stage, [value], ["float16"], None)

    def normal_stages(self) -> None:
        """Softmax and its like: reduce, broadcast back, reduce again, broadcast again."""
        r = self.r
        tensor = self.source()
        kept = r.sample(range(len(tensor.shape)), max(0, len(tensor.shape) - r.choice((1, 1, 2))))

        def reduce(source: Tensor, op: str, function: str | None) -> Tensor:
            stage = Stage()
            indices = [self.new_axis(stage, extent, d not in kept) for d, extent in enumerate(source.shape)]
            value: Expression = self.read(source, indices)
            if function and is_float(source.dtype):
                value = ["call", function, value]
            elif self.chance(0.3):
                value = ["mul", value, value]
            return self.finish_quiet(stage, value, source.dtype, op)

        def spread(source: Tensor, small: Tensor) -> Tensor:
            stage = Stage()
            indices = [self.new_axis(stage, extent, False) for extent in source.shape]
            back = [indices[d] for d in sorted(kept)] if kept else [0]
            value = self.combine(self.read(source, indices), self.read(small, back))
            if is_float(source.dtype) and self.chance(0.5):
                value = ["call", r.choice(UNARY), value]
            return self.finish_quiet(stage, value, source.dtype, None)

        first = reduce(tensor, r.choice(("max", "sum", "min")), None)
        middle = spread(tensor, first)
        if self.chance(0.7):
            second = reduce(middle, "sum", "exp" if self.chance(0.3) else None)
            if self.chance(0.8):
                spread(middle, second)

    def finish_quiet(self, stage: Stage, value: Expression, dtype: str, op: str | None) -> Tensor:
        """`finish` without its permutations: the stages that follow count on the order of the axes."""
        name = self.fresh()
        if not stage.axes:
            stage.axes.append(["one", 1])
        spec: dict = {"name": name, "axes": stage.axes, "values": [value]}
        if op is not None and stage.loops:
            spec.update(op=op, reduce=stage.loops)
        self.stages.append(spec)
        tensor = Tensor(name, [extent for _, extent in stage.axes], dtype)
        self.made.append(tensor)
        return tensor

    # ----- whole programs

    def draw(self, kind: str | None = None) -> dict:
        """The spec of a program."""
        r = self.r
        kind = kind or r.choices(("free", "product", "convolution", "normal", "kernel"), (41, 25, 7, 5, 22))[0]
        if kind == "kernel":
            draw_kernel(self)
        elif kind == "free":
            for _ in range(r.choice((1, 1, 2, 2, 3, 4))):
                self.plain_stage()
        elif kind == "product":
            for _ in range(r.choice((0, 0, 0, 1, 1, 2))):
                self.producer_stage()
            self.product_stage()
            for _ in range(r.choice((0, 0, 1, 1, 2))):
                self.epilogue_stage()
            if self.chance(0.08):
                self.plain_stage()
            if self.chance(0.05):
                self.product_stage()
        elif kind == "convolution":
            self.convolution_stage()
            for _ in range(r.choice((0, 0, 1, 2))):
                self.epilogue_stage()
        else:
            self.normal_stages()
        return self.spec()

    def spec(self) -> dict:
        """The program as data, with its outputs, and its last touches: 64-bit extents, a symbolic one, attributes."""
        r = self.r
        outputs = [self.made[-1].name]
        if "." in outputs[0]:
            base = outputs[0].split(".")[0]
            outputs = [tensor.name for tensor in self.made if tensor.name.split(".")[0] == base]
            if self.chance(0.2):
                outputs = outputs[:1]
        for tensor in self.made[:-1]:
            read_later = tensor.name.split(".")[0] in read_names([stage["values"] for stage in self.stages])
            if tensor.name not in outputs and self.chance(0.04 if read_later else 0.15):
                outputs.insert(0, tensor.name)
        inputs = [[tensor.name, list(tensor.shape), tensor.dtype] for tensor in self.inputs]
        spec: dict = {"inputs": inputs, "stages": self.stages, "outputs": outputs}
        if self.chance(0.97):
            spec = without_unread(spec)
        if self.variables:
            spec["variables"] = self.variables
            if self.attributes:
                spec["attrs"] = self.attributes
        elif self.chance(0.04):
            spec = replace_extents(spec, lambda extent: ["int64", extent])
        elif self.chance(self.symbolic_chance):
            spec = self.symbolic(spec)
        if self.chance(0.02):
            spec["index_dtype"] = r.choice(("int64", "int64", "int32"))
        if self.chance(0.02):
            side = r.choice(("input", "weight"))
            spec.setdefault("attrs", {})[f"{side}_transform_kind"] = r.choice((0, 1, 2))
        if self.chance(0.04):
            spec.setdefault("attrs", {}).update(draw_tags(r))
        return spec

    def symbolic(self, spec: dict) -> dict:
        """One extent becomes a variable wherever it occurs; its value is known to carver in most cases."""
        extents = [extent for _, shape, _ in spec["inputs"] for extent in shape if isinstance(extent, int)]
        if not extents:
            return spec
        chosen = self.r.choice(extents)
        spec = replace_extents(spec, lambda extent: "N" if extent == chosen else extent)
        spec["variables"] = [["N", "int32"]]
        if self.chance(0.85) and chosen < 1 << 31:
            spec["attrs"] = {"opt_shapes": {"N": chosen}}
        return spec


def draw_tags(r: Random) -> dict:
    """Some of the tags that carver looks at; they need not suit the function."""
    choices: dict[str, tuple] = {
        "tensorcore_config": ([0, 1], [0, 1], [0, 1], [1, 0], [1, 2], [0, 0], [-1, -2], [0, 5], [0], [0, 1, 2], []),
        "pipeline_stage": (0, 1, 2, 3, 4, -1),
        "use_async_copy": (0, 1, True, False),
        "block_reduction_depth": (0, 1, 2, 4),
        "intrin_info": (
            {"in_dtype": "float16", "out_dtype": "float32", "trans_b": True},
            {"in_dtype": "int8", "out_dtype": "int32", "trans_b": False},
            {"trans_b": True},
            {},
        ),
        "dequantize_info": ({"B": {"source_bits": 4}}, {"A_reindex": {"source_bits": 2}}),
        "is_speclized": (True, False),
        "opt_shapes": ({"N": 64}, {}),
    }
    names = r.sample(sorted(choices), r.choice((1, 1, 2, 3)))
    if r.random() < 0.4 and "tensorcore_config" not in names:
        names.append("tensorcore_config")
    return {name: r.choice(choices[name]) for name in names}


def loops_of(stage: Stage) -> set[str]:
    return {loop[0] for loop in stage.loops}


def without_unread(spec: dict) -> dict:
    """The program without the stages and inputs that its outputs do not need; carver refuses inputs nobody reads."""
    needed = {name.split(".")[0] for name in spec["outputs"]}
    stages = []
    for stage in reversed(spec["stages"]):
        if stage["name"] in needed:
            stages.insert(0, stage)
            needed |= read_names(stage["values"])
    inputs = [item for item in spec["inputs"] if item[0] in needed]
    return {**spec, "inputs": inputs, "stages": stages}


def read_names(e: Expression) -> set[str]:
    """Names of the tensors read in an expression or a list of them, without the numbers of the outputs."""
    if not isinstance(e, list):
        return set()
    found = {e[1].split(".")[0]} if e[:1] == ["read"] else set()
    return found.union(*map(read_names, e))


def replace_extents(spec: dict, change: Callable[[int], Any]) -> dict:
    """The spec with every extent that is a number changed."""

    def changed(extent: Any) -> Any:
        return change(extent) if isinstance(extent, int) else extent

    inputs = [[name, [changed(extent) for extent in shape], dtype] for name, shape, dtype in spec["inputs"]]
    stages = []
    for stage in spec["stages"]:
        stage = {**stage, "axes": [[name, changed(extent)] for name, extent in stage["axes"]]}
        if "reduce" in stage:
            stage["reduce"] = [[name, begin, changed(extent)] for name, begin, extent in stage["reduce"]]
        stages.append(stage)
    return {**spec, "inputs": inputs, "stages": stages}


# ---------------------------------------------------------------------------------------------------------------------
# Graphs


def draw_graph(r: Random) -> dict:
    """A graph of one to five functions, each reading some of the outputs of those before it."""
    if r.random() < 0.45:
        return draw_layers(r)
    nodes: list[dict] = []
    edges: list[list[int]] = []
    results: list[list[Tensor]] = []
    profiles = ("tiny", "mixed", "powers", "blocks", "primes", "large", "huge")
    profile = r.choices(profiles, (12, 30, 20, 25, 8, 5, 2))[0]
    plainness = r.choice((110, 500, 2000, 2000))
    size = r.choice((1, 2, 2, 2, 3, 3, 3, 4, 5))
    for position in range(size):
        drawing = Drawing(r, profile)
        drawing.symbolic_chance = 0.005
        drawing.plainness = plainness
        # Carver has no tile for outputs of different ranks: the last node mostly joins what nobody has read.
        unread = [index for index in range(position) if not any(edge[0] == index for edge in edges)]
        joins = position == size - 1 and r.random() < 0.8
        links = draw_sources(r, drawing, results, unread if joins else [])
        product = r.random() < 0.4
        if product:
            if drawing.inputs:
                drawing.made.append(drawing.inputs[0])
                drawing.product_stage()
                drawing.made.pop(0)
            else:
                drawing.product_stage()
            if r.random() < 0.4 or drawing.pending:
                drawing.epilogue_stage()
        elif not drawing.inputs and r.random() < 0.25:
            draw_kernel(drawing, with_symbols=False)
        else:
            for _ in range(r.choice((1, 1, 1, 2))):
                drawing.plain_stage(r.choice((0.0, 0.0, 0.0, 0.4)))
        spec = drawing.spec()
        nodes.append(
            {"name": r.choice((f"node_{position}",) * 9 + ("node",)), "program": spec}
            | {"tensor_cores": product and r.random() < 0.6}
            | ({"tags": draw_tags(r)} if r.random() < 0.06 else {})
        )
        names = [item[0] for item in spec["inputs"]]
        edges += [[source, position, index, names.index(name)] for source, index, name in links if name in names]
        made = {tensor.name: tensor for tensor in drawing.made}
        results.append([made[name] for name in spec["outputs"]])
    read = {edge[0] for edge in edges}
    outputs = [position for position in range(len(nodes)) if position not in read or r.random() < 0.07]
    if len(outputs) > 1 and r.random() < 0.3:
        r.shuffle(outputs)
    return {"nodes": nodes, "edges": edges, "outputs": outputs}


def draw_layers(r: Random) -> dict:
    """A graph over matrices of the same rows: maps, sums of two, products, reductions, as networks are made of."""
    profile = r.choice(("blocks", "blocks", "mixed", "powers", "primes"))
    dtype = r.choice(("float16",) * 4 + ("float32", "int8", "bfloat16"))
    rows = Drawing(r, profile).shape(r.choice((1, 1, 1, 2)))
    width = r.choice(EXTENTS[profile])
    nodes: list[dict] = []
    edges: list[list[int]] = []
    results: list[Tensor] = []
    read: set[int] = set()
    size = r.choice((1, 2, 3, 3, 4, 5))
    for position in range(size):
        drawing = Drawing(r, profile)
        drawing.symbolic_chance, drawing.dtype, drawing.wild = 0.0, dtype, False
        free = [index for index in range(position) if index not in read]
        wanted = free[-2:] if position == size - 1 else free[-1:] if r.random() < 0.8 else []
        if position and r.random() < 0.2:
            wanted = [*wanted, r.randrange(position)]
        sources = [results[index] for index in dict.fromkeys(wanted)]
        links = list(dict.fromkeys(wanted))
        drawing.inputs = [Tensor("ABCD"[i], list(t.shape), t.dtype) for i, t in enumerate(sources)]
        read.update(links)
        if not drawing.inputs:
            drawing.new_input([*rows, width])
        drawing.made, drawing.pending = [drawing.inputs[0]], drawing.inputs[1:]
        product = r.random() < 0.35 and len(drawing.inputs[0].shape) == len(rows) + 1
        if product:
            drawing.layer_product(r.choice(EXTENTS[profile]))
        elif position == size - 1 and r.random() < 0.2:
            drawing.layer_reduction()
        if not product or drawing.pending or r.random() < 0.3:
            drawing.epilogue_stage()
        drawing.made.pop(0)
        spec = drawing.spec()
        names = [item[0] for item in spec["inputs"]]
        program = {"name": f"node_{position}", "program": spec, "tensor_cores": product and r.random() < 0.7}
        nodes.append(program | ({"tags": draw_tags(r)} if r.random() < 0.04 else {}))
        for index, name in zip(links, "ABCD"):
            if name in names:
                edges.append([index, position, outputs_of(nodes[index]).index(results[index].name), names.index(name)])
        results.append(drawing.made[-1])
    read = {edge[0] for edge in edges}
    outputs = [position for position in range(size) if position not in read or r.random() < 0.05]
    return {"nodes": nodes, "edges": edges, "outputs": outputs}


def outputs_of(node: dict) -> list[str]:
    return node["program"]["outputs"]


def draw_sources(
    r: Random, drawing: Drawing, results: list[list[Tensor]], unread: list[int]
) -> list[tuple[int, int, str]]:
    """Inputs of the next node that are outputs of earlier ones: (source, its output, name of the input) each."""
    links: list[tuple[int, int, str]] = []
    if not results:
        return links
    wanted = unread[-3:] or [
        len(results) - 1 if r.random() < 0.7 else r.randrange(len(results)) for _ in range(r.choice((1, 1, 1, 2, 2, 0)))
    ]
    for name, source in zip("ABC", wanted):
        if source in [link[0] for link in links] and r.random() < 0.8:
            continue  # carver frees what is taken twice twice
        source_id = r.randrange(len(results[source]))
        tensor = results[source][source_id]
        shape = list(tensor.shape)
        if r.random() < 0.03 and shape:
            shape[0] += 1
        drawing.inputs.append(Tensor(name, shape, tensor.dtype))
        links.append((source, source_id, name))
    drawing.pending = drawing.inputs[1:]
    return links


# ---------------------------------------------------------------------------------------------------------------------
# Cases

CUDA = ("a100", "h100", "rtx4090", "v100", "t4", "rtx3090", "orin", "h20", "l4", "xavier", "rtx2080ti")
OTHERS = ("b200", "rtx5090", "mi300x", "mi210", "mi355x", "rx7900xtx", "strixhalo", "rx9070xt")


def draw_device(r: Random, devices: ModuleType) -> dict:
    """A device of `fixtures/devices.py`, some of its figures changed now and then."""
    overrides: dict[str, Any] = {}
    if r.random() < 0.3:
        choices: dict[str, tuple] = {
            "smem_cap": (4096, 16384, 32768, 65536, 101376, 166912, 232448, 1, 1000, 49153),
            "compute_max_core": (1, 2, 7, 16, 64, 200),
            "l2_cache_size_bytes": (0, 1 << 16, 1 << 20, 1 << 26, 12345),
            "reg_cap": (4096, 16384, 32768, 1, 1000),
            "sm_partition": (1, 2, 4, 8, 3),
            "transaction_size": ([16, 64], [32, 32], [64, 128], [128, 256], [1, 2], [24, 96], [256, 16]),
            "bandwidth": ([100, 1000], [2000, 20000], [1000, 1000], [7, 3], [1, 10**9]),
            "warp_size": (16, 32, 48, 64, 128),
            "max_smem_usage": (1000, 65536, 10**6),
        }
        for name in r.sample(sorted(choices), r.choice((1, 1, 2, 3))):
            overrides[name] = r.choice(choices[name])
    name = r.choice(CUDA if r.random() < 0.75 else OTHERS)
    if r.random() < 0.01:  # carver has no figures of these
        name, overrides = r.choice(("cpu", "metal")), {}
    return devices.device(name, **overrides)


def draw_case(seed: int, index: int, kind: str, devices: ModuleType) -> dict:
    """Case `index` of the run with this seed; `kind` is program or graph."""
    r = Random(f"{kind}/{seed}/{index}")
    topk = r.choice((10, 10, 10, 1, 5, 20))
    device = draw_device(r, devices)
    if kind == "program":
        computation: dict = {"workload": "random_program", "params": {"spec": Drawing(r).draw()}}
        entry = r.choices(("func", "default", "tensorcore", "tensorcore_only"), (80, 10, 8, 2))[0]
        usual = "func"
    else:
        computation = {"graph": "random_graph", "params": {"spec": draw_graph(r)}}
        entry = r.choices(("output_nodes", "default", "tensorcore"), (70, 12, 18))[0]
        usual = "output_nodes"
    if entry != usual:
        computation["entry"] = entry
    return {"id": f"{kind}-{seed}-{index}", "computation": computation, "device": device, "topk": topk}
