"""Rewriting index expressions as quasi-affine maps of iterators (first half of TVM's ``src/arith/iter_affine_map.cc``).

An iterator map writes an index as a sum of *splits* of *marks*::

    IterMark(source, extent)                              an iterator that runs over [0, extent)
    IterSplitExpr(mark, lower_factor, extent, scale)      ((source // lower_factor) % extent) * scale
    IterSumExpr(args, base)                               args[0] + args[1] + ... + base

A mark's source is a variable, or again a sum (iterators fused into one). Here are the nodes, the rewriter that finds
such a form, and the way back to ordinary expressions; ``iter_affine_map.py`` has the functions that callers use.

The nodes are immutable. TVM copies on write; where it would write to a node that others can see, this makes a new one,
so that "the same mark" means the same object here as there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from functools import cache

from ..dtypes import is_index_type
from ..expr import (
    FALSE,
    Add,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    PrimExpr,
    Range,
    SizeVar,
    Sub,
    TirError,
    Var,
    add,
    ceildiv,
    convert,
    deep_equal,
    div,
    equal,
    floordiv,
    floormod,
    greater_equal,
    is_const_int,
    is_one,
    is_zero,
    less,
    less_equal,
    logical_and,
    logical_or,
    make_const,
    map_children,
    max_,
    min_,
    mul,
    neg,
    not_equal,
    sub,
    try_const_fold,
)
from .analyzer import Analyzer
from .int_operator import InternalError, least_common_multiple, wrap_int32

# --------------------------------------------------------------------------------------------------------------------
# Nodes (include/tvm/arith/iter_affine_map.h)
# --------------------------------------------------------------------------------------------------------------------


@cache
def _zero(dtype: str) -> PrimExpr:
    return make_const(dtype, 0)


@cache
def _one(dtype: str) -> PrimExpr:
    return make_const(dtype, 1)


class IterMapLevel(IntEnum):
    """What is asked of a map besides having the form: one to one (Bijective), onto (Surjective), nothing."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str | None) -> IterMapLevel:
        """The level called "bijective", "surjective" or "nocheck" in any case; None is NoCheck."""
        if name is None:
            return IterMapLevel.NoCheck
        for level in IterMapLevel:
            if level.name.lower() == name.lower():
                return level
        raise TirError(f"unknown check level {name!r}; known are bijective, surjective, nocheck")


# tvm: include/tvm/arith/iter_affine_map.h (IterMarkNode)
class IterMark:
    """``source`` taken as an iterator over [0, extent). Two marks are the same only when they are one object."""

    __slots__ = ("source", "extent")

    def __init__(self, source, extent):
        self.source = convert(source)
        self.extent = convert(extent)

    def same_as(self, other) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"IterMark({self.source}, extent={self.extent})"


# tvm: include/tvm/arith/iter_affine_map.h (IterMapExprNode)
class IterMapExpr(PrimExpr):
    """What splits and sums have in common: they stand for an expression, but never occur in a program."""

    __slots__ = ()


# tvm: include/tvm/arith/iter_affine_map.h (IterSplitExprNode)
class IterSplitExpr(IterMapExpr):
    """A part of an iterator: ``((source // lower_factor) % extent) * scale``; by default all of it, scale 1."""

    __slots__ = ("source", "lower_factor", "extent", "scale")

    def __init__(self, source: IterMark, lower_factor=None, extent=None, scale=None):
        self.dtype = source.source.dtype
        self.source = source
        self.lower_factor = _one(self.dtype) if lower_factor is None else convert(lower_factor)
        self.extent = source.extent if extent is None else convert(extent)
        self.scale = _one(self.dtype) if scale is None else convert(scale)

    def children(self) -> tuple:
        return (self.source.source, self.source.extent, self.lower_factor, self.extent, self.scale)

    def replace(
        self,
        source: IterMark | None = None,
        lower_factor: PrimExpr | None = None,
        extent: PrimExpr | None = None,
        scale: PrimExpr | None = None,
    ) -> IterSplitExpr:
        """A copy with some fields changed. It keeps its dtype, whatever the new source has."""
        new = IterSplitExpr.__new__(IterSplitExpr)
        new.dtype = self.dtype
        new.source = self.source if source is None else source
        new.lower_factor = self.lower_factor if lower_factor is None else lower_factor
        new.extent = self.extent if extent is None else extent
        new.scale = self.scale if scale is None else scale
        return new

    def __repr__(self) -> str:
        return f"IterSplit({self.source}, lower_factor={self.lower_factor}, extent={self.extent}, scale={self.scale})"


# tvm: include/tvm/arith/iter_affine_map.h (IterSumExprNode)
class IterSumExpr(IterMapExpr):
    """Splits added up: ``sum(args) + base``."""

    __slots__ = ("args", "base")

    def __init__(self, args: Iterable[IterSplitExpr], base):
        self.args = tuple(args)
        self.base = convert(base)
        self.dtype = self.base.dtype

    def children(self) -> tuple:
        return (*self.args, self.base)

    def replace(self, args: Iterable[IterSplitExpr] | None = None, base: PrimExpr | None = None) -> IterSumExpr:
        """A copy with some fields changed. It keeps its dtype, whatever the new base has."""
        new = IterSumExpr.__new__(IterSumExpr)
        new.dtype = self.dtype
        new.args = self.args if args is None else tuple(args)
        new.base = self.base if base is None else base
        return new

    def __repr__(self) -> str:
        return f"IterSum([{', '.join(map(repr, self.args))}], base={self.base})"


# tvm: include/tvm/arith/iter_affine_map.h (IterMapResultNode)
class IterMapResult:
    """What detection found.

    ``indices``: one IterSumExpr per index, empty when there is no such map. ``errors``: why not, empty on success.
    ``padding_predicate``: true where the map runs outside the input iterators' domains (None if detection stopped
    before it looked at the indices).
    """

    __slots__ = ("indices", "errors", "padding_predicate")

    def __init__(self):
        self.indices: list[IterSumExpr] = []
        self.errors: list[str] = []
        self.padding_predicate: PrimExpr | None = None

    def __repr__(self) -> str:
        return f"<IterMapResult {self.indices} errors={self.errors} padding={self.padding_predicate}>"


# --------------------------------------------------------------------------------------------------------------------
# Products (src/arith/product_normal_form.h)
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/product_normal_form.h (UnpackReduction)
def unpack_product(value: PrimExpr) -> list[PrimExpr]:
    """The factors of a product, from left to right."""
    if type(value) is Mul:
        return unpack_product(value.a) + unpack_product(value.b)
    return [value]


# tvm: src/arith/product_normal_form.h (MulAndNormalize)
def mul_and_normalize(lhs: PrimExpr, rhs: PrimExpr) -> PrimExpr:
    """``lhs * rhs`` with the constants gathered in one last factor."""
    constant = 1
    result = _one(lhs.dtype)
    for factor in unpack_product(lhs) + unpack_product(rhs):
        if type(factor) is IntImm:
            constant *= factor.value
        else:
            result = mul(result, factor)
    if constant != 1:
        result = mul(result, make_const(result.dtype, constant))
    return result


# --------------------------------------------------------------------------------------------------------------------
# Equality and tables
# --------------------------------------------------------------------------------------------------------------------


def _split_equal(lhs: IterSplitExpr, rhs: IterSplitExpr, check_scale: bool = True) -> bool:
    """Whether two splits take the same part of one and the same mark (and scale it alike)."""
    return (
        lhs.source is rhs.source
        and deep_equal(lhs.lower_factor, rhs.lower_factor)
        and (not check_scale or deep_equal(lhs.scale, rhs.scale))
        and deep_equal(lhs.extent, rhs.extent)
    )


# tvm: src/arith/iter_affine_map.cc (IterMapRewriter::IterSumEqual)
def _sum_equal(lhs: IterSumExpr, rhs: IterSumExpr) -> bool:
    return (
        len(lhs.args) == len(rhs.args)
        and deep_equal(lhs.base, rhs.base)
        and all(_split_equal(a, b) for a, b in zip(lhs.args, rhs.args))
    )


class _SumTable:
    """A map whose keys are sums, equal by ``_sum_equal``; hashed by the marks they take apart."""

    __slots__ = ("_buckets",)

    def __init__(self):
        self._buckets: dict[tuple[int, ...], list[list]] = {}

    def _bucket(self, key: IterSumExpr) -> list[list]:
        # The entries keep their marks alive, so an id never stands for another mark.
        return self._buckets.setdefault(tuple([id(arg.source) for arg in key.args]), [])

    def get(self, key: IterSumExpr):
        for known, value in self._bucket(key):
            if _sum_equal(known, key):
                return value
        return None

    def set(self, key: IterSumExpr, value) -> None:
        bucket = self._bucket(key)
        for entry in bucket:
            if _sum_equal(entry[0], key):
                entry[1] = value
                return
        bucket.append([key, value])

    def erase(self, key: IterSumExpr) -> None:
        bucket = self._bucket(key)
        bucket[:] = [entry for entry in bucket if not _sum_equal(entry[0], key)]


class _MarkMatcher:
    """Structural equality of marks (tvm_ffi's StructuralEqual). Marks are nodes of a graph: sharing must agree too."""

    __slots__ = ("_forward", "_backward")

    def __init__(self):
        self._forward: dict[int, IterMark] = {}
        self._backward: set[int] = set()

    def marks(self, lhs: IterMark, rhs: IterMark) -> bool:
        if id(lhs) in self._forward:
            return self._forward[id(lhs)] is rhs
        if id(rhs) in self._backward:
            return False
        if not self.exprs(lhs.source, rhs.source) or not self.exprs(lhs.extent, rhs.extent):
            return False
        self._forward[id(lhs)] = rhs
        self._backward.add(id(rhs))
        return True

    def exprs(self, lhs: PrimExpr, rhs: PrimExpr) -> bool:
        kind = type(lhs)
        if kind is not type(rhs):
            return False
        if kind is IterSplitExpr:
            return (
                lhs.dtype == rhs.dtype
                and self.marks(lhs.source, rhs.source)
                and self.exprs(lhs.lower_factor, rhs.lower_factor)
                and self.exprs(lhs.extent, rhs.extent)
                and self.exprs(lhs.scale, rhs.scale)
            )
        if kind is IterSumExpr:
            return (
                lhs.dtype == rhs.dtype
                and len(lhs.args) == len(rhs.args)
                and all(self.exprs(a, b) for a, b in zip(lhs.args, rhs.args))
                and self.exprs(lhs.base, rhs.base)
            )
        # Ordinary expressions have no iterator nodes below them: the rewriter refuses to build those.
        return deep_equal(lhs, rhs)


class _MarkTable:
    """A map whose keys are marks, equal by structure. There are few, so it is a list."""

    __slots__ = ("_entries",)

    def __init__(self):
        self._entries: list[tuple[IterMark, object]] = []

    def get(self, mark: IterMark):
        for known, value in self._entries:
            if known is mark:
                return value
        for known, value in self._entries:
            if _MarkMatcher().marks(known, mark):
                return value
        return None

    def set(self, mark: IterMark, value) -> None:
        """Add an entry; the caller has seen that there is none."""
        self._entries.append((mark, value))


# --------------------------------------------------------------------------------------------------------------------
# Collecting the splits of every mark
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/iter_affine_map.cc (IterMarkSplitCollector)
class IterMarkSplitCollector:
    """The splits that refer to each mark, to check that they are independent.

    ``visited`` has the marks in the order in which they were met. TVM iterates over a hash set of addresses, which
    gives small sets last in, first out; only which error comes first can depend on it.
    """

    __slots__ = ("visited", "_splits")

    def __init__(self):
        self.visited: dict[int, IterMark] = {}
        self._splits: dict[int, list[IterSplitExpr]] = {}

    def collect(self, indices: Iterable[IterSumExpr]) -> None:
        for sum_expr in indices:
            self._collect_sum(sum_expr)

    def _collect_sum(self, sum_expr: IterSumExpr) -> None:
        for split in sum_expr.args:
            self._collect_mark(split.source)
            self._splits.setdefault(id(split.source), []).append(split)

    def _collect_mark(self, mark: IterMark) -> None:
        if id(mark) in self.visited:
            return
        self.visited[id(mark)] = mark
        if type(mark.source) is IterSumExpr:
            self._collect_sum(mark.source)

    def splits_of(self, mark: IterMark) -> list[IterSplitExpr]:
        return self._splits.get(id(mark), [])


# --------------------------------------------------------------------------------------------------------------------
# The rewriter
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/iter_affine_map.cc (IterMarkWithOffset)
class _IterMarkWithOffset:
    """``IterMark(x, extent) + offset``"""

    __slots__ = ("mark", "offset")

    def __init__(self, mark: IterMark, offset: PrimExpr):
        self.mark = mark
        self.offset = offset


# tvm: src/arith/iter_affine_map.cc (IterMapRewriter::IterPaddingInfo)
class _IterPaddingInfo:
    """How a mark is padded: the first pass gathers factor and left pad, the second makes the padded mark."""

    __slots__ = ("padding_factor", "left_pad", "right_pad", "padded")

    def __init__(self):
        self.padding_factor: PrimExpr = _one("int32")
        self.left_pad: PrimExpr = _zero("int32")
        self.right_pad: PrimExpr = _zero("int32")
        self.padded: IterMark | None = None


def _to_iter_sum(expr: PrimExpr) -> IterSumExpr:
    if type(expr) is IterSumExpr:
        return expr
    if type(expr) is IterSplitExpr:
        return IterSumExpr((expr,), _zero(expr.dtype))
    return IterSumExpr((), expr)


def _add_split(args: list[IterSplitExpr], rhs: IterSplitExpr, sign: int) -> None:
    """Add a split (or subtract it, for a negative sign): into the one that takes the same part, if there is one."""
    for i, known in enumerate(args):
        if (
            known.source is rhs.source
            and deep_equal(known.lower_factor, rhs.lower_factor)
            and deep_equal(known.extent, rhs.extent)
        ):
            combine = add if sign > 0 else sub
            args[i] = rhs.replace(scale=combine(known.scale, rhs.scale))
            return
    if sign > 0:
        args.append(rhs)
    else:
        args.append(rhs.replace(scale=sub(_zero(rhs.scale.dtype), rhs.scale)))


# tvm: src/arith/iter_affine_map.cc (ApproxLeastCommonMultiple)
def approx_least_common_multiple(a: PrimExpr, b: PrimExpr, analyzer) -> PrimExpr:
    """A common multiple of two expressions, the least one as far as can be proved."""

    def split(e: PrimExpr) -> tuple[PrimExpr, int]:
        if type(e) is IntImm:
            return _one("int32"), e.value
        if type(e) is Mul and type(e.b) is IntImm:
            return e.a, e.b.value
        if type(e) is Mul and type(e.a) is IntImm:
            return e.b, e.a.value
        return e, 1

    symbol_a, factor_a = split(a)
    symbol_b, factor_b = split(b)
    # TVM keeps it in an Integer, which is 32 bits wide.
    factor = IntImm("int32", wrap_int32(least_common_multiple(factor_a, factor_b)))
    if analyzer.can_prove_equal(symbol_a, symbol_b):
        return mul(symbol_a, factor)
    if analyzer.can_prove_equal(floormod(symbol_a, symbol_b), 0):
        return mul(symbol_a, factor)
    if analyzer.can_prove_equal(floormod(symbol_b, symbol_a), 0):
        return mul(symbol_b, factor)
    return mul(mul(symbol_a, symbol_b), factor)


# tvm: src/arith/iter_affine_map.cc (IterMapRewriter)
class IterMapRewriter:
    """Rewrites expressions over input iterators as iterator maps, as far as possible.

    What does not fit stays an ordinary expression, and ``errors`` says why.
    """

    def __init__(
        self,
        analyzer,
        input_iters: Mapping[Var, Range],
        check_level: IterMapLevel,
        simplify_trivial_iterators: bool,
        errors: list[str],
    ):
        self.analyzer = analyzer
        self.check_level = check_level
        self.errors = errors
        # True where an index is outside the domain of the input iterators: in the padding.
        self.padding_predicate: PrimExpr = FALSE
        # Whether the first pass found an iterator that has to be padded.
        self.requires_padding = False
        # Blocks know many more iterators than an index uses: what stands for one is made when it is met.
        self._input_iters = input_iters
        self._simplify_trivial_iterators = simplify_trivial_iterators
        self._var_map: dict[Var, IterMapExpr] = {}
        self._input_marks: dict[Var, IterMark] = {}
        # Marks that are equal get the same padding: (i-1) in [(i-1)%8, ((i-1)//8)%4, (i-1)//32] is left-padded by 31
        # each time.
        self._padded_iter_map = _MarkTable()  # mark -> _IterPaddingInfo
        self._padded_origin_map = _MarkTable()  # padded mark -> mark
        # On during the first pass over the indices, which only gathers what has to be padded.
        self._update_iterator_padding = False
        # A sum is known in two forms. Flattened: all its splits side by side. Structured: those under a constraint
        # fused into a mark of their own, and the minimum moved to zero. Example: i*8 + j*2 + k with 1 <= j*2 + k < 9
        # is flattened [i*8, j*2, k], structured [i*8, mark([j*2, k] - 1, extent 8)], offset 1.
        self._sum_fuse_map = _SumTable()  # flattened -> _IterMarkWithOffset of the structured form
        self._flattened_map = _SumTable()  # structured -> flattened
        self._constrained_iters_flattened: list[IterSumExpr] = []

    # ---- entry points

    def rewrite(self, expr: PrimExpr) -> IterSumExpr:
        return self._normalize_to_iter_with_offset(_to_iter_sum(self._mutate(expr)))

    def rewrite_and_update_padding(self, expr: PrimExpr) -> IterSumExpr:
        self._update_iterator_padding = True
        result = self.rewrite(expr)
        self._update_iterator_padding = False
        return result

    def rewrite_iter_constraint(
        self, expr: PrimExpr, induced_min: PrimExpr | None, induced_max: PrimExpr | None
    ) -> IterSumExpr:
        """Take note that ``induced_min <= expr < induced_max`` (either end may be None)."""
        return self._normalize_to_iter_on_bound_expr(_to_iter_sum(self._mutate(expr)), induced_min, induced_max)

    def rewrite_to_normalized_iter_sum(self, expr: PrimExpr) -> IterSumExpr:
        """The sum sorted by scale; what is not an iterator ends up in its base."""
        return self._normalize_to_iter_sum(_to_iter_sum(self._mutate(expr)))

    # ---- checks

    def check_mapping(self, bindings: list[IterSumExpr], check_level: IterMapLevel) -> bool:
        """Whether the splits of every mark are independent.

        Bijective: they cover the mark without overlap, and every input iterator is used (x // 4, x % 4 of x in 0..8
        do; x and x + 1 do not). Otherwise: some splits that cover it could be added (x // 4 alone is fine, x // 3 is
        not).
        """
        collector = IterMarkSplitCollector()
        collector.collect(bindings)
        # The last mark found first, as TVM's hash set gives them: which bad mark comes first decides between an answer
        # with errors and a division by zero.
        for mark in reversed(collector.visited.values()):
            if not self._try_normalize_splits(mark, collector.splits_of(mark), check_level):
                return False
        if check_level == IterMapLevel.Bijective:
            for var, dom in self._input_iters.items():
                if not is_one(dom.extent):
                    mark = self._input_marks.get(var)
                    if mark is None or id(mark) not in collector.visited:
                        return False
        return True

    def check_constraints(self) -> bool:
        """Whether any two constraints are on nested or on disjoint sets of splits.

        With x = i0*30 + i1*15 + i2*3 + i3: [i0*2 + i1 < 3, i2*3 + i3 < 5] are disjoint and fine;
        [i0*2 + i1 < 3, i1*5 + i2 < 5] share i1 alone and are not.
        """
        # From shorter to longer: that is the order in which the constraints were taken.
        constrained = self._constrained_iters_flattened
        for i, inner in enumerate(constrained):
            for outer in constrained[i + 1 :]:
                found = [any(_split_equal(arg, other) for other in outer.args) for arg in inner.args]
                if any(found) and not all(found):
                    return False
        return True

    # ---- mutation

    def _visit(self, expr: PrimExpr) -> PrimExpr:
        """Mutate the child of a node that cannot hold an iterator map."""
        result = self._mutate(expr)
        if isinstance(result, IterMapExpr):
            self.errors.append(
                f"an iterator may only be added, scaled, divided or taken modulo; found {expr} elsewhere"
            )
            return expr
        return result

    def _mutate(self, expr: PrimExpr) -> PrimExpr:
        """Mutate without normalising (DirectMutate)."""
        kind = type(expr)
        if kind is IntImm:
            return expr
        visit = _VISITORS.get(kind)
        if visit is not None:
            return visit(self, expr)
        return map_children(expr, self._visit)

    def _visit_var(self, op: Var) -> PrimExpr:
        known = self._var_map.get(op)
        if known is not None:
            return known
        dom = self._input_iters.get(op)
        if dom is None:
            return op
        iterator = self._make_iterator(op, dom)
        self._var_map[op] = iterator
        return iterator

    def _make_iterator(self, var: Var, dom: Range) -> IterMapExpr:
        """What stands for an input iterator: its value if that is a single one, else all of its mark."""
        if self._simplify_trivial_iterators and is_one(dom.extent):
            return IterSumExpr((), dom.min)
        if is_zero(dom.min):
            mark = IterMark(var, dom.extent)
            self._input_marks[var] = mark
            return IterSplitExpr(mark)
        mark = IterMark(sub(var, dom.min), dom.extent)
        self._input_marks[var] = mark
        return _to_iter_sum(IterSplitExpr(mark)).replace(base=dom.min)

    def _mutate_operands(self, op) -> tuple[PrimExpr, PrimExpr, PrimExpr | None]:
        """The mutated operands, and the result if it takes nothing of iterator maps to find it."""
        a = self._mutate(op.a)
        b = self._mutate(op.b)
        folded = try_const_fold(type(op), a, b)
        if folded is None and not isinstance(a, IterMapExpr) and not isinstance(b, IterMapExpr):
            folded = op if a is op.a and b is op.b else type(op)(a, b)
        return a, b, folded

    def _visit_add(self, op: Add) -> PrimExpr:
        return self._visit_sum(op, 1)

    def _visit_sub(self, op: Sub) -> PrimExpr:
        return self._visit_sum(op, -1)

    def _visit_sum(self, op: Add | Sub, sign: int) -> PrimExpr:
        if not is_index_type(op.dtype):
            return map_children(op, self._visit)
        a, b, result = self._mutate_operands(op)
        if result is not None:
            return result
        lhs = _to_iter_sum(a)
        combine = add if sign > 0 else sub
        if not isinstance(b, IterMapExpr):
            return lhs.replace(base=combine(lhs.base, b))
        args = list(lhs.args)
        base = lhs.base
        if type(b) is IterSplitExpr:
            _add_split(args, b, sign)
        else:
            for arg in b.args:
                _add_split(args, arg, sign)
            base = combine(base, b.base)
        return lhs.replace(args, base)

    def _visit_mul(self, op: Mul) -> PrimExpr:
        if not is_index_type(op.dtype):
            return map_children(op, self._visit)
        a, b, result = self._mutate_operands(op)
        if result is not None:
            return result
        if isinstance(a, IterMapExpr) and isinstance(b, IterMapExpr):
            self.errors.append(f"the product of two iterators is not an iterator map: {op}")
            return op
        if not isinstance(a, IterMapExpr):
            a, b = b, a
        if type(a) is IterSumExpr:
            return a.replace([arg.replace(scale=mul(arg.scale, b)) for arg in a.args], mul(a.base, b))
        return a.replace(scale=mul(a.scale, b))

    def _visit_floordiv(self, op: FloorDiv) -> PrimExpr:
        return self._visit_division(op, self._split_floordiv_const)

    def _visit_floormod(self, op: FloorMod) -> PrimExpr:
        return self._visit_division(op, self._split_floormod_const)

    def _visit_division(self, op: FloorDiv | FloorMod, divide: Callable) -> PrimExpr:
        if not is_index_type(op.dtype):
            return map_children(op, self._visit)
        a, b, result = self._mutate_operands(op)
        if result is not None:
            return result
        if isinstance(b, IterMapExpr):
            self.errors.append(f"the divisor may not be an iterator: {op}")
            return op
        preprocessed = self._preprocess_dividend(a, op.a)
        if preprocessed is None:
            return op
        divided = divide(preprocessed.args[0], preprocessed.base, b)
        return op if divided is None else divided

    def _preprocess_dividend(self, dividend: IterMapExpr, original: PrimExpr) -> IterSumExpr | None:
        """The dividend as one split plus a base; None when it has no split or cannot be fused into one."""
        if type(dividend) is IterSplitExpr:
            return IterSumExpr((dividend,), _zero(dividend.dtype))
        if not dividend.args:
            return None
        if len(dividend.args) == 1:
            return dividend
        fused = self._try_fuse_iters(dividend, self.check_level, True)
        if fused is None:
            self.errors.append(f"the dividend {original} cannot be written as one fused iterator")
            return None
        if len(fused.args) != 1:
            raise InternalError(f"the dividend {original} was fused into {len(fused.args)} iterators instead of one")
        return fused

    # ---- division

    # tvm: src/arith/iter_affine_map.cc (IterMapRewriter::CanProveDivisible)
    def _can_prove_divisible(self, lhs: PrimExpr, rhs: PrimExpr) -> bool:
        if type(rhs) is IntImm:
            if rhs.value == 0:
                return False
            if type(lhs) is IntImm:
                return lhs.value % rhs.value == 0
        normalizer = IterMapToExprNormalizer(self.analyzer)
        dividend = normalizer.convert(lhs)
        divisor = normalizer.convert(rhs)
        return self.analyzer.can_prove_equal(dividend, divisor) or self.analyzer.can_prove(
            equal(floormod(dividend, divisor), 0)
        )

    # tvm: src/arith/iter_affine_map.cc (IterMapRewriter::PadDividendToDivisor)
    def _pad_dividend_to_divisor(
        self, split: IterSplitExpr, base: PrimExpr, divisor: PrimExpr
    ) -> tuple[IterSplitExpr | None, PrimExpr | None]:
        """``split + base`` padded to multiples of ``divisor``: the padded split, and how much it is padded below.

        In the first pass the divisors are gathered, so that in the second all splits of a mark share its padding.
        (None, None) when the paddings of a mark do not go together.
        """
        analyzer = self.analyzer
        # So much below that the padded iterator starts at a multiple of the divisor, ...
        left_pad = analyzer.simplify(floormod(base, divisor))
        # ... and so much above that it ends at one.
        right_edge = add(left_pad, split.extent)
        if self._can_prove_divisible(right_edge, divisor):
            right_pad: PrimExpr = _zero("int32")
        else:
            right_pad = analyzer.simplify(floormod(neg(right_edge), divisor))

        mark = split.source
        info = self._padded_iter_map.get(mark)
        if self._update_iterator_padding:
            if info is None:
                info = _IterPaddingInfo()
                self._padded_iter_map.set(mark, info)
            info.padding_factor = approx_least_common_multiple(
                info.padding_factor, mul(divisor, split.lower_factor), analyzer
            )
            if is_zero(left_pad) and is_zero(right_pad):
                return split, _zero("int32")
            self.requires_padding = True
            info.left_pad = max_(info.left_pad, mul(left_pad, split.lower_factor))
            # Only the extent matters in this pass; how padded iterators relate is left to the second.
            padded_extent = analyzer.simplify(add(add(left_pad, split.extent), right_pad))
            return split.replace(extent=padded_extent), left_pad

        if info is None:
            return split, left_pad
        if is_zero(info.left_pad) and self._can_prove_divisible(mark.extent, info.padding_factor):
            return split, left_pad  # nothing to pad

        for factor in (split.lower_factor, divisor):
            if not self._can_prove_divisible(info.padding_factor, factor):
                raise InternalError(f"the padding factor {info.padding_factor} is not divisible by {factor} in {split}")

        if info.padded is None:
            mark_left_pad = info.left_pad
            if not self._can_prove_divisible(mark_left_pad, split.lower_factor):
                self.errors.append(
                    f"incompatible left padding on {normalize_iter_map_to_expr(split)}: "
                    f"the iterator is padded by {mark_left_pad}"
                )
                return None, None
            # The split's extent covers the padding, so the padding comes out of its division and modulo.
            left_pad = floordiv(mark_left_pad, split.lower_factor)
            self._make_padded_mark(mark, info)
        padded_extent = floordiv(info.padded.extent, split.lower_factor)
        return split.replace(source=info.padded, extent=padded_extent), left_pad

    def _make_padded_mark(self, mark: IterMark, info: _IterPaddingInfo) -> None:
        """Make the padded form of a mark, and add to the predicate where it leaves the mark's own domain."""
        left_pad, factor = info.left_pad, info.padding_factor
        right_edge = add(mark.extent, left_pad)
        if self._can_prove_divisible(right_edge, factor):
            right_pad: PrimExpr = _zero("int32")
        else:
            right_pad = floormod(neg(right_edge), factor)
        padded_extent = self.analyzer.simplify(add(right_edge, right_pad))
        info.right_pad = right_pad
        source = IterSumExpr((IterSplitExpr(mark),), left_pad)
        info.padded = IterMark(source, padded_extent)
        self._padded_origin_map.set(info.padded, mark)

        # 0 <= source < left_pad and right_edge <= source < right_edge + right_pad, in terms of block and place in it:
        # that is easier to simplify in terms of the transformed variables.
        block, place = floordiv(source, factor), floormod(source, factor)
        left_predicate = logical_and(
            not_equal(left_pad, 0),
            logical_and(equal(block, 0), less(place, left_pad)),
        )
        right_predicate = logical_and(
            not_equal(right_pad, 0),
            logical_and(
                equal(block, floordiv(right_edge, factor)),
                greater_equal(place, floormod(right_edge, factor)),
            ),
        )
        self.padding_predicate = logical_or(self.padding_predicate, logical_or(left_predicate, right_predicate))

    # tvm: src/arith/iter_affine_map.cc (IterMapRewriter::SplitFloorDivConst)
    def _split_floordiv_const(self, lhs: IterSplitExpr, base: PrimExpr, rhs: PrimExpr) -> PrimExpr | None:
        """``(lhs + base) // rhs``, or None when it is no iterator map."""
        if is_one(rhs):
            return lhs if is_zero(base) else IterSumExpr((lhs,), base)

        if not is_one(lhs.scale):
            divisible = self._can_prove_divisible
            if divisible(lhs.scale, rhs) and is_zero(base):
                return lhs.replace(scale=floordiv(lhs.scale, rhs))
            if divisible(lhs.scale, rhs) and divisible(base, rhs):
                return IterSumExpr((lhs.replace(scale=floordiv(lhs.scale, rhs)),), floordiv(base, rhs))
            if divisible(rhs, lhs.scale) and is_zero(base):
                rhs = floordiv(rhs, lhs.scale)
                lhs = lhs.replace(scale=_one(rhs.dtype))
            elif divisible(rhs, lhs.scale) and divisible(base, lhs.scale):
                base = floordiv(base, lhs.scale)
                rhs = floordiv(rhs, lhs.scale)
                lhs = lhs.replace(scale=_one(rhs.dtype))
            else:
                self.errors.append(f"no iterator map: neither of scale {lhs.scale} and divisor {rhs} divides the other")
                return None

        # The scale is 1 from here on: ((source // lower_factor) % extent + base) // rhs
        padded, left_pad = self._pad_dividend_to_divisor(lhs, base, rhs)
        if padded is None:
            return None

        analyzer = self.analyzer
        if self._can_prove_divisible(padded.extent, rhs):
            # ((source // lower_factor) % (rhs * n)) // rhs == (source // (lower_factor * rhs)) % n
            new_split = IterSplitExpr(
                padded.source,
                mul(padded.lower_factor, rhs),
                analyzer.simplify(floordiv(padded.extent, rhs)),
                padded.scale,
            )
        elif is_one(padded.lower_factor) and analyzer.can_prove_equal(padded.extent, padded.source.extent):
            # The split is the whole mark: (source % extent) // rhs == source // rhs
            new_split = IterSplitExpr(padded.source, rhs, analyzer.simplify(ceildiv(padded.extent, rhs)), padded.scale)
        else:
            new_split = IterSplitExpr(
                IterMark(padded, padded.extent),
                rhs,
                analyzer.simplify(ceildiv(padded.extent, rhs)),
                _one(rhs.dtype),
            )

        new_base = analyzer.simplify(floordiv(sub(base, left_pad), rhs), 6)
        return new_split if is_zero(new_base) else IterSumExpr((new_split,), new_base)

    # tvm: src/arith/iter_affine_map.cc (IterMapRewriter::SplitFloorModConst)
    def _split_floormod_const(self, lhs: IterSplitExpr, base: PrimExpr, rhs: PrimExpr) -> PrimExpr | None:
        """``(lhs + base) % rhs``, or None when it is no iterator map."""
        if is_one(rhs):
            return _zero(lhs.dtype)

        if not is_one(lhs.scale):
            divisible = self._can_prove_divisible
            if divisible(lhs.scale, rhs) and divisible(base, rhs):
                return _zero(lhs.dtype)
            if divisible(rhs, lhs.scale) and is_zero(base):
                rhs = floordiv(rhs, lhs.scale)
            elif divisible(rhs, lhs.scale) and divisible(base, lhs.scale):
                rhs = floordiv(rhs, lhs.scale)
                base = floordiv(base, lhs.scale)
            else:
                self.errors.append(f"no iterator map: neither of scale {lhs.scale} and modulus {rhs} divides the other")
                return None

        # The scale is left out from here on: ((source // lower_factor) % extent + base) % rhs
        source_upper_bound = lhs.source.extent
        origin = self._padded_origin_map.get(lhs.source)
        if origin is not None:
            padding = self._padded_iter_map.get(origin)
            if padding is None:
                raise InternalError(f"no padding is known for the padded iterator {origin}")
            # What lies in the padding above is excluded by the predicate, so it cannot make the inner modulo wrap.
            # Padding below moves the values themselves.
            if is_zero(padding.left_pad):
                source_upper_bound = origin.extent
        can_wrap = not self.analyzer.can_prove(less_equal(source_upper_bound, mul(lhs.lower_factor, lhs.extent)))
        if can_wrap and not self._can_prove_divisible(lhs.extent, rhs):
            return None
        padded, _ = self._pad_dividend_to_divisor(lhs, base, rhs)
        if padded is None:
            return None
        # ((source // lower_factor) % (rhs * n)) % rhs == (source // lower_factor) % rhs
        return IterSplitExpr(padded.source, padded.lower_factor, rhs, padded.scale)

    # ---- splits of one mark

    def _search_skip_lower_factor(
        self, splits: list[IterSplitExpr], used: list[bool], expected_lower_factor: PrimExpr
    ) -> int | None:
        """The unused split with the smallest lower factor; None unless all of those are divisible by the expected."""
        result = None
        for i, split in enumerate(splits):
            if used[i]:
                continue
            if not self._can_prove_divisible(split.lower_factor, expected_lower_factor):
                return None
            if result is None or self._can_prove_divisible(splits[result].lower_factor, split.lower_factor):
                result = i
        return result

    def _try_normalize_splits(
        self, mark: IterMark, splits: list[IterSplitExpr], check_level: IterMapLevel
    ) -> list[IterSplitExpr]:
        """The splits from outermost to innermost if they fit the mark, else nothing."""
        can_prove_equal = self.analyzer.can_prove_equal
        used = [False] * len(splits)
        iters: list[IterSplitExpr] = []
        expected_lower_factor = _one(mark.source.dtype)
        for _ in splits:
            found = None
            for j, split in enumerate(splits):
                if not used[j] and can_prove_equal(split.lower_factor, expected_lower_factor):
                    found = j
                    break
            if found is None:
                if check_level == IterMapLevel.Bijective:
                    return []
                # A part may be missing: of y // 6, (y // 2) % 6 and y % 2 the one in the middle, say.
                found = self._search_skip_lower_factor(splits, used, expected_lower_factor)
                if found is None:
                    return []
            used[found] = True
            iters.append(splits[found])
            expected_lower_factor = mul(splits[found].lower_factor, splits[found].extent)

        origin = self._padded_origin_map.get(mark)
        match_full_iter = can_prove_equal(expected_lower_factor, mark.extent)
        match_iter_divisor = match_full_iter or self._can_prove_divisible(mark.extent, expected_lower_factor)
        error = self._split_error(
            splits, check_level, origin, expected_lower_factor, match_full_iter, match_iter_divisor
        )
        if error is not None:
            self.errors.append(error)
            return []
        return iters[::-1]

    def _split_error(
        self,
        splits: list[IterSplitExpr],
        check_level: IterMapLevel,
        origin: IterMark | None,
        covered: PrimExpr,
        match_full_iter: bool,
        match_iter_divisor: bool,
    ) -> str | None:
        """Why splits that cover ``covered`` of a mark do not fit it; ``origin`` is what the mark pads, if it does."""
        not_divisible = "the splits do not divide the iterator's extent"
        if check_level == IterMapLevel.Bijective:
            if origin is not None:
                return "a bijective map takes no padding"
            return None if match_full_iter else "the iterators do not traverse the full space"
        if origin is None:
            # y in 0..24 may have [(y // 2) % 6, y % 2], y in 0..25 may not.
            return None if match_iter_divisor else not_divisible
        if check_level != IterMapLevel.Surjective:
            return None
        can_prove = self.analyzer.can_prove
        if match_full_iter:
            # The one split of a padded iterator: p // 12 for p in 0..24 is onto because of how it was padded.
            if len(splits) != 1:
                return "dependent iterators on a padded space"
            if self.analyzer.can_prove_equal(splits[0].extent, covered) and not can_prove(
                greater_equal(origin.extent, covered)
            ):
                return "a split that is the whole padded iterator is not onto"
            return None
        if match_iter_divisor:
            # 14 values padded to 24: p % 12 is onto.
            if not can_prove(greater_equal(origin.extent, covered)):
                return "the extent before padding is less than the part that the splits cover"
            return None
        return not_divisible

    # ---- normalisation

    def _normalize_to_iter_on_bound_expr(
        self, expr: IterSumExpr, induced_min: PrimExpr | None, induced_max: PrimExpr | None
    ) -> IterSumExpr:
        """Fuse the iterators of a constraint ``induced_min <= expr < induced_max`` into a mark of that extent."""
        base = expr.base
        if not is_zero(base):
            expr = expr.replace(base=_zero("int32"))
            if induced_min is not None:
                induced_min = sub(induced_min, base)
            if induced_max is not None:
                induced_max = sub(induced_max, base)
        fused = self._try_fuse_iters(expr, self.check_level, False)
        if fused is None or not is_one(fused.args[0].scale):
            self.errors.append("the iterators of a constraint cannot be fused into one")
            return expr
        split = fused.args[0]
        structured_form = split.source.source
        if type(structured_form) is not IterSumExpr:
            raise InternalError(f"expected a fused iterator, got {split.source}")
        flattened_form = self._flattened_map.get(structured_form)
        if flattened_form is None:
            raise InternalError(f"no flattened form is known of {structured_form}")
        known = self._sum_fuse_map.get(flattened_form)
        if known is None:
            raise InternalError(f"no fused form is known of {flattened_form}")
        iter_min = known.offset
        iter_max = add(iter_min, known.mark.extent)
        iter_min_delta = _zero(iter_min.dtype)
        if induced_min is not None:
            iter_min_delta = sub(max_(induced_min, iter_min), iter_min)
            iter_min = max_(induced_min, iter_min)
        if induced_max is not None:
            # Most predicates do constrain. Proving it keeps symbolic extents simple:
            # x * 32 + y < n * 16 with x in 0..(n + 1) // 2 and y in 0..32
            if self.analyzer.can_prove(less_equal(induced_max, iter_max)):
                iter_max = induced_max
            else:
                iter_max = min_(induced_max, iter_max)
        source = known.mark.source
        if not is_zero(iter_min_delta):
            # The structured form keeps a minimum of zero; the difference goes to the offset.
            self._flattened_map.erase(structured_form)
            structured_form = structured_form.replace(base=sub(structured_form.base, iter_min_delta))
            source = structured_form
            self._flattened_map.set(structured_form, flattened_form)
        mark = IterMark(source, sub(iter_max, iter_min))
        self._sum_fuse_map.set(flattened_form, _IterMarkWithOffset(mark, iter_min))
        self._constrained_iters_flattened.append(flattened_form)
        return expr.replace((split,), base)

    def _normalize_to_iter_with_offset(self, expr: IterSumExpr) -> IterSumExpr:
        """One iterator and an offset."""
        if not expr.args:
            return expr
        fused = self._try_fuse_iters(expr, self.check_level, True)
        if fused is not None:
            return fused
        self.errors.append("the iterators cannot be fused into one")
        return expr

    def _normalize_to_iter_sum(self, expr: IterSumExpr) -> IterSumExpr:
        """The splits by descending constant factor of their scale, then by the number of its symbols.

        A best effort: how symbolic scales compare is unknown.
        """
        if not expr.args:
            return expr
        combined = self._try_combine_split_from_same_source(expr)
        if combined is not None:
            expr = combined
        items: list[tuple[int, int, IterSplitExpr]] = []
        for split in expr.args:
            symbols = 0
            constant = 1
            scale = _one(split.dtype)
            for factor in unpack_product(split.scale):
                if type(factor) is IntImm:
                    constant *= factor.value
                else:
                    scale = mul(scale, factor)
                    symbols += 1
            if constant != 1:
                scale = mul(scale, make_const(scale.dtype, constant))
            items.append((-constant, -symbols, split.replace(scale=scale)))
        items.sort(key=lambda item: item[:2])
        return expr.replace([split for _, _, split in items], normalize_iter_map_to_expr(expr.base))

    # ---- fusing

    @staticmethod
    def _find_base_iter(
        expr: IterSumExpr, skip: list[bool], match_source: IterMark | None, rbegin: int | None = None
    ) -> int | None:
        """The split with the smallest scale, looked for from the right up to ``rbegin``; None if all are skipped.

        Constant scales come first. Among equal ones a split of extent 1 is taken, as it does not change the scale.
        Without any constant scale it is the product with the fewest factors: x < x * y.
        """
        last = len(expr.args) - 1 if rbegin is None else rbegin
        candidates = [
            i
            for i in range(last, -1, -1)
            if not skip[i] and (match_source is None or match_source is expr.args[i].source)
        ]
        base_index = None
        min_scale = 0
        for i in candidates:
            scale = expr.args[i].scale
            if type(scale) is not IntImm:
                continue
            if base_index is None or scale.value < min_scale:
                min_scale = scale.value
                base_index = i
            elif scale.value == min_scale:
                if is_one(expr.args[i].extent) and not is_one(expr.args[base_index].extent):
                    base_index = i
        if base_index is not None:
            return base_index
        min_size = 0
        for i in candidates:
            size = len(unpack_product(expr.args[i].scale))
            if base_index is None or size < min_size:
                min_size = size
                base_index = i
        return base_index

    @staticmethod
    def _find_first_possible_unit_extent_index(expr: IterSumExpr) -> int:
        """Where the first split of extent 1 is. There rarely is one, and then a search for a scale can stop early."""
        for i, arg in enumerate(expr.args):
            if is_one(arg.extent):
                return i
        return len(expr.args)

    def _find_iter_with_exact_scale(
        self,
        expr: IterSumExpr,
        skip: list[bool],
        expected_scale: PrimExpr,
        match_source: IterMark | None,
        rbegin: int | None,
        first_possible_unit_extent_pos: int,
    ) -> int | None:
        """The first split from the right with that scale; one of extent 1 further left goes before it."""
        last = len(expr.args) - 1 if rbegin is None else rbegin
        matched = None
        for j in range(last, -1, -1):
            arg = expr.args[j]
            if skip[j] or (match_source is not None and match_source is not arg.source):
                continue
            if self.analyzer.can_prove_equal(arg.scale, expected_scale):
                if is_one(arg.extent):
                    return j
                if matched is None:
                    matched = j
                if j <= first_possible_unit_extent_pos:
                    return matched
        return matched

    def _find_iter_smaller_closest_to_scale(
        self, expr: IterSumExpr, skip: list[bool], expected_scale: PrimExpr
    ) -> tuple[int | None, PrimExpr | None]:
        """The split whose scale is the largest not above the expected one, and that scale."""
        analyzer = self.analyzer
        matched = None
        matched_scale = None
        for j in range(len(expr.args) - 1, -1, -1):
            if skip[j]:
                continue
            scale = expr.args[j].scale
            if analyzer.can_prove_greater_equal(sub(expected_scale, scale), 0) and analyzer.can_prove_greater_equal(
                scale, 0
            ):
                if matched is None or analyzer.can_prove_less(sub(matched_scale, scale), 0):
                    matched = j
                    matched_scale = scale
        return matched, matched_scale

    def _try_combine_split_from_same_source(self, expr: IterSumExpr) -> IterSumExpr | None:
        """Join neighbouring splits of one mark::

            ((x // (c * s)) % m) * (s * t) + ((x // c) % s) * t  =>  ((x // c) % (m * s)) * t

        None when no two splits have a mark in common.
        """
        if len(expr.args) <= 1:
            return None
        hit_count: dict[int, int] = {}
        for arg in expr.args:
            hit_count[id(arg.source)] = hit_count.get(id(arg.source), 0) + 1
        if len(hit_count) == len(expr.args):
            return None

        visited = [False] * len(expr.args)
        reverse_flattened: list[IterSplitExpr] = []
        first_unit = self._find_first_possible_unit_extent_index(expr)
        rend = len(expr.args) - 1
        while rend >= 0:
            if visited[rend]:
                rend -= 1
                continue
            arg = expr.args[rend]
            if hit_count[id(arg.source)] == 1:
                reverse_flattened.append(arg)
                visited[rend] = True
                rend -= 1
                continue
            matched = self._find_base_iter(expr, visited, arg.source, rend)
            visited[matched] = True
            rhs_iter = expr.args[matched]
            while True:
                lhs_scale = mul_and_normalize(rhs_iter.extent, rhs_iter.scale)
                matched = self._find_iter_with_exact_scale(expr, visited, lhs_scale, rhs_iter.source, rend, first_unit)
                if matched is None:
                    break
                lhs_iter = expr.args[matched]
                lhs_lower_factor = mul_and_normalize(rhs_iter.lower_factor, rhs_iter.extent)
                if not self.analyzer.can_prove_equal(lhs_iter.lower_factor, lhs_lower_factor):
                    break
                visited[matched] = True
                rhs_iter = rhs_iter.replace(extent=mul_and_normalize(lhs_iter.extent, rhs_iter.extent))
            reverse_flattened.append(rhs_iter)
        return expr.replace(reverse_flattened[::-1])

    def _try_fuse_iters(
        self, expr: IterSumExpr, check_level: IterMapLevel, allow_early_skip: bool
    ) -> IterSumExpr | None:
        """Fuse all splits into one::

            x1*c1 + x2*c2 + ... + xn*cn + base  =  (x1*s1 + x2*s2 + ... + xn) * cn + base  =  mark * cn + base

        None when the scales leave gaps or overlap. With ``allow_early_skip`` a sum that joins into a single split is
        returned as it is.
        """
        combined = self._try_combine_split_from_same_source(expr)
        if combined is not None:
            expr = combined
            if len(expr.args) <= 1 and allow_early_skip:
                return expr
        analyzer = self.analyzer
        visited = [False] * len(expr.args)
        base_index = self._find_base_iter(expr, visited, None)
        if base_index is None:
            return None
        base_scale = expr.args[base_index].scale

        flattened_iters: list[IterSplitExpr] = []
        grouped_iters: list[IterSplitExpr] = []
        zero = _zero(expr.dtype)
        expected_extra_base = zero
        tail_extent = zero
        expected_scale = base_scale
        first_unit = self._find_first_possible_unit_extent_index(expr)

        taken = 0
        while taken < len(expr.args):
            # From the innermost outwards: the next split has the scale that the ones so far fill.
            if taken == 0:
                matched = base_index
            else:
                matched = self._find_iter_with_exact_scale(expr, visited, expected_scale, None, None, first_unit)
            is_exact_match = matched is not None
            matched_scale: PrimExpr | None = expected_scale
            if matched is None and check_level != IterMapLevel.Bijective and is_const_int(base_scale, 1):
                # A smaller scale will do: the splits below it overlap then, and the extent says so.
                matched, matched_scale = self._find_iter_smaller_closest_to_scale(expr, visited, expected_scale)
            if matched is None:
                return None

            # The longest constraint that starts here: i*9 + j*2 + k with j in 0..5 and k in 0..2 has a gap, unless it
            # is known that j*2 + k < 9.
            constraint: IterSumExpr | None = None
            for constrained in self._constrained_iters_flattened:
                if _split_equal(expr.args[matched], constrained.args[-1], False):
                    if constraint is None or len(constraint.args) < len(constrained.args):
                        constraint = constrained
            if not is_exact_match:
                tail_extent = add(tail_extent, sub(expected_scale, matched_scale))
            if constraint is not None:
                for part in reversed(constraint.args):
                    k = self._find_constrained(expr, visited, part, matched_scale)
                    if k is None:
                        return None
                    visited[k] = True
                    flattened_iters.append(expr.args[k])
                fused = self._sum_fuse_map.get(constraint)
                if fused is None:
                    raise InternalError(f"no fused form is known of the constrained iterators {constraint}")
                grouped_iters.append(IterSplitExpr(fused.mark, scale=floordiv(matched_scale, base_scale)))
                expected_extra_base = add(expected_extra_base, mul(fused.offset, matched_scale))
                expected_scale = mul_and_normalize(fused.mark.extent, matched_scale)
                taken += len(constraint.args)
            else:
                visited[matched] = True
                arg = expr.args[matched]
                arg = arg.replace(scale=analyzer.simplify(floordiv(arg.scale, base_scale)))
                flattened_iters.append(arg)
                grouped_iters.append(arg)
                expected_scale = mul_and_normalize(expr.args[matched].extent, matched_scale)
                taken += 1

        # Both forms from outermost to innermost.
        structured_form = expr.replace(grouped_iters[::-1], zero)
        flattened_form = expr.replace(flattened_iters[::-1], zero)
        known = self._sum_fuse_map.get(flattened_form)
        if known is not None:
            if not analyzer.can_prove_equal(expected_extra_base, mul(known.offset, base_scale)):
                return None
            mark = known.mark
        else:
            mark = IterMark(structured_form, add(div(expected_scale, base_scale), tail_extent))
            self._sum_fuse_map.set(flattened_form, _IterMarkWithOffset(mark, expected_extra_base))
            self._flattened_map.set(structured_form, flattened_form)
        return IterSumExpr((IterSplitExpr(mark, scale=base_scale),), add(expr.base, expected_extra_base))

    def _find_constrained(
        self, expr: IterSumExpr, visited: list[bool], part: IterSplitExpr, matched_scale: PrimExpr
    ) -> int | None:
        """Where the sum has a part of a constraint, scaled by ``matched_scale``."""
        for k, arg in enumerate(expr.args):
            if not visited[k] and _split_equal(arg, part, False):
                if self.analyzer.can_prove_equal(mul(part.scale, matched_scale), arg.scale):
                    return k
        return None


_VISITORS: dict[type, Callable[[IterMapRewriter, PrimExpr], PrimExpr]] = {
    Var: IterMapRewriter._visit_var,
    SizeVar: IterMapRewriter._visit_var,
    Add: IterMapRewriter._visit_add,
    Sub: IterMapRewriter._visit_sub,
    Mul: IterMapRewriter._visit_mul,
    FloorDiv: IterMapRewriter._visit_floordiv,
    FloorMod: IterMapRewriter._visit_floormod,
}


# --------------------------------------------------------------------------------------------------------------------
# Back to ordinary expressions
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/iter_affine_map.cc (IterMapToExprNormalizer)
class IterMapToExprNormalizer:
    """Turns the iterator nodes of an expression into the arithmetic they stand for."""

    __slots__ = ("analyzer",)

    def __init__(self, analyzer):
        self.analyzer = analyzer

    def convert(self, expr: PrimExpr) -> PrimExpr:
        kind = type(expr)
        if kind is IntImm or kind is Var:
            return expr
        if kind is IterSplitExpr:
            return self._convert_split(expr)
        if kind is IterSumExpr:
            return self._convert_sum(expr)
        return map_children(expr, self.convert)

    def _convert_sum(self, expr: IterSumExpr) -> PrimExpr:
        result: PrimExpr = _zero("int32")
        for arg in expr.args:
            result = add(result, self._convert_split(arg))
        return add(result, expr.base)

    def _convert_split(self, expr: IterSplitExpr) -> PrimExpr:
        can_prove = self.analyzer.can_prove
        mark = expr.source
        source = self.convert(mark.source)
        if can_prove(equal(expr.extent, mark.extent)) and is_one(expr.lower_factor):
            return mul(source, expr.scale)
        if can_prove(equal(mark.extent, mul(expr.lower_factor, expr.extent))) or can_prove(
            equal(mark.extent, mul(expr.extent, expr.lower_factor))
        ):
            # Always 0. An iterator that was trivial to begin with is kept: tensorization looks for it.
            if is_one(expr.extent) and not is_one(mark.extent):
                return _zero(expr.extent.dtype)
            return mul(floordiv(source, expr.lower_factor), expr.scale)
        full_extent = self.analyzer.canonical_simplify(mul(expr.extent, expr.lower_factor))
        return mul(floordiv(floormod(source, full_extent), expr.lower_factor), expr.scale)


# tvm: src/arith/iter_affine_map.cc (NormalizeIterMapToExpr)
def normalize_iter_map_to_expr(expr: PrimExpr) -> PrimExpr:
    """The ordinary expression that an expression with iterator nodes stands for."""
    return IterMapToExprNormalizer(Analyzer()).convert(expr)
