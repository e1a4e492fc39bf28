"""Quasi-affine iterator maps (stands in for ``tvm.arith.iter_affine_map`` and TVM's ``src/arith/iter_affine_map.cc``).

:func:`detect_iter_map` asks whether indices are an iterator map of loop variables, :func:`inverse_affine_iter_map`
solves such a map for the variables. The nodes and the rewriting itself are in ``iter_map_rewriter.py``.

Arguments are expressions (or Python numbers) and ``{Var: Range}`` for the iterators, whose order is kept. The optional
``analyzer`` at the end of each function is what C++ callers hand over; without it a fresh one is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..dtypes import is_index_type, is_int, is_uint
from ..expr import (
    FALSE,
    GE,
    GT,
    LE,
    LT,
    TRUE,
    Add,
    And,
    IntImm,
    PrimExpr,
    Range,
    Sub,
    Var,
    abs_,
    add,
    children,
    convert,
    floordiv,
    floormod,
    is_one,
    is_zero,
    less,
    logical_and,
    make_const,
    max_,
    min_,
    mul,
    sub,
)
from .analyzer import Analyzer
from .int_operator import InternalError
from .iter_map_rewriter import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMapRewriter,
    IterMapToExprNormalizer,
    IterMark,
    IterMarkSplitCollector,
    IterSplitExpr,
    IterSumExpr,
    normalize_iter_map_to_expr,
)

# --------------------------------------------------------------------------------------------------------------------
# Constraints
# --------------------------------------------------------------------------------------------------------------------


# tvm: src/arith/iter_affine_map.cc (IterConstraint)
class IterConstraint:
    """``lower_bound <= iter < upper_bound``; either bound may be missing."""

    __slots__ = ("iter", "lower_bound", "upper_bound")

    def __init__(self, iter: PrimExpr, lower_bound: PrimExpr | None, upper_bound: PrimExpr | None):
        self.iter = iter
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


# tvm: src/tirx/analysis/var_touch.cc (UsesVar)
def uses_var(expr: PrimExpr, variables: Mapping[Var, object]) -> bool:
    """Whether an expression has one of the variables in it."""
    # A BufferLoad also reads the buffer's data pointer in TVM. Pointers are not iterators, so that cannot matter.
    if isinstance(expr, Var):
        return expr in variables
    return any(uses_var(child, variables) for child in children(expr))


# tvm: src/tirx/analysis/expr_complexity.cc (CalculateExprComplexity)
def calculate_expr_complexity(expr: PrimExpr) -> int:
    """The number of nodes of an expression."""
    return 1 + sum(calculate_expr_complexity(child) for child in children(expr))


# The comparisons in the order in which TVM looks for them; is it "greater", does it hold when the sides are equal?
_COMPARISONS = ((LT, False, False), (LE, False, True), (GT, True, False), (GE, True, True))


def _next_comparison(pred: PrimExpr) -> tuple[PrimExpr, bool, bool, PrimExpr | None] | None:
    """A comparison of a conjunction, what kind it is, and the rest of the conjunction (None when that was all)."""
    for node, is_greater, is_equal in _COMPARISONS:
        if type(pred) is And:
            if type(pred.b) is node:
                return pred.b, is_greater, is_equal, pred.a
            if type(pred.a) is node:
                return pred.a, is_greater, is_equal, pred.b
        elif type(pred) is node:
            return pred, is_greater, is_equal, None
    return None


def _separate(lhs: PrimExpr, rhs: PrimExpr, input_iters: Mapping[Var, Range]) -> tuple[PrimExpr, PrimExpr]:
    """``lhs - rhs`` as the terms with an iterator on the left and the others, negated, on the right."""
    left: PrimExpr = IntImm("int32", 0)
    right: PrimExpr = IntImm("int32", 0)

    def extract(part: PrimExpr, positive: bool) -> None:
        nonlocal left, right
        if type(part) is Add:
            extract(part.a, positive)
            extract(part.b, positive)
        elif type(part) is Sub:
            extract(part.a, positive)
            extract(part.b, not positive)
        elif uses_var(part, input_iters):
            left = add(left, part) if positive else sub(left, part)
        else:
            right = sub(right, part) if positive else add(right, part)

    extract(sub(lhs, rhs), True)
    analyzer = Analyzer()
    return analyzer.simplify(left), analyzer.simplify(right)


# tvm: src/arith/iter_affine_map.cc (MatchBoundConstraints)
def match_bound_constraints(pred: PrimExpr, input_iters: dict[Var, Range], result: list[IterConstraint]) -> bool:
    """Take ``(a < b) and (c <= d) and ...`` apart; False if it is something else.

    A bound on a single iterator narrows its range in ``input_iters``, the others are added to ``result``. Comparisons
    without any iterator are dropped.
    """
    rest: PrimExpr | None = pred
    while rest is not None:
        found = _next_comparison(rest)
        if found is None:
            return False
        comparison, is_greater, is_equal, rest = found
        lhs, rhs = comparison.a, comparison.b
        if not ((is_int(lhs.dtype) or is_uint(lhs.dtype)) and (is_int(rhs.dtype) or is_uint(rhs.dtype))):
            return False
        uses_left, uses_right = uses_var(lhs, input_iters), uses_var(rhs, input_iters)
        if not uses_left and not uses_right:
            continue
        bound_at_left = not uses_left
        if uses_left and uses_right:
            lhs, rhs = _separate(lhs, rhs, input_iters)
        iter_expr, bound = (rhs, lhs) if bound_at_left else (lhs, rhs)
        # bound > iter and iter < bound give an upper bound, the others a lower one.
        is_upper = is_greater == bound_at_left
        if is_upper:
            lower, upper = None, add(bound, 1) if is_equal else bound
        else:
            lower, upper = bound if is_equal else add(bound, 1), None
        if not isinstance(iter_expr, Var):
            result.append(IterConstraint(iter_expr, lower, upper))
        elif iter_expr in input_iters:
            dom = input_iters[iter_expr]
            iter_min, iter_max = dom.min, add(dom.min, dom.extent)
            if lower is not None:
                iter_min = max_(iter_min, lower)
            if upper is not None:
                iter_max = min_(iter_max, upper)
            # Not iter_max - 0, which would take the wider dtype of the two.
            extent = iter_max if is_zero(iter_min) else sub(iter_max, iter_min)
            input_iters[iter_expr] = Range.from_min_extent(iter_min, extent)
    return True


# tvm: src/arith/iter_affine_map.cc (IterRangeSanityCheck)
def iter_range_sanity_check(iter_ranges: Mapping[Var, Range]) -> bool:
    """Whether no iterator's range depends on another iterator."""
    for dom in iter_ranges.values():
        if type(dom.min) is not IntImm and uses_var(dom.min, iter_ranges):
            return False
        if type(dom.extent) is not IntImm and uses_var(dom.extent, iter_ranges):
            return False
    return True


# --------------------------------------------------------------------------------------------------------------------
# Detection and simplification
# --------------------------------------------------------------------------------------------------------------------


def _level(check_level: IterMapLevel | int | str | None) -> IterMapLevel:
    if type(check_level) is IterMapLevel:
        return check_level
    if isinstance(check_level, str) or check_level is None:
        return IterMapLevel.from_str(check_level)
    return IterMapLevel(check_level)


# tvm: src/arith/iter_affine_map.cc (DetectIterMap)
def detect_iter_map(
    indices: Sequence,
    input_iters: Mapping[Var, Range],
    predicate=True,
    check_level: IterMapLevel | int | str | None = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> IterMapResult:
    """Write indices as ``[y_0 + c_0, y_1 + c_1, ...]``, each y an iterator of its own made of the input iterators.

    Args:
        indices: the index expressions.
        input_iters: the domain of each input iterator; domains may be symbolic, but not depend on iterators.
        predicate: a condition on the iterators: a conjunction of comparisons.
        check_level: what is asked of the map as a whole. Padding is allowed unless it is Bijective.
        simplify_trivial_iterators: put the value of an iterator of extent 1 in its place.

    Returns:
        The indices as sums, each of at most one iterator, and the padding predicate; or no indices, and why.
    """
    check_level = _level(check_level)
    indices = [convert(index) for index in indices]
    predicate = convert(predicate)
    result = IterMapResult()
    if is_one(predicate):
        plain = _detect_plain(indices, input_iters, check_level, simplify_trivial_iterators)
        if plain is not None:
            result.indices = plain
            result.padding_predicate = FALSE
            return result
    if analyzer is None:
        analyzer = Analyzer()
    if not iter_range_sanity_check(input_iters):
        result.errors.append("invalid iterators: their ranges may not depend on each other")
        return result
    constrained_input_iters = dict(input_iters)
    constraints: list[IterConstraint] = []
    if not is_one(predicate) and not match_bound_constraints(predicate, constrained_input_iters, constraints):
        result.errors.append("the predicate is not a conjunction of bounds on the input iterators")
        return result
    # The constraint on an iterator that others are made of comes before theirs.
    constraints.sort(key=lambda constraint: calculate_expr_complexity(constraint.iter))

    rewriter = IterMapRewriter(
        analyzer, constrained_input_iters, check_level, simplify_trivial_iterators, result.errors
    )
    for constraint in constraints:
        rewriter.rewrite_iter_constraint(constraint.iter, constraint.lower_bound, constraint.upper_bound)
        if result.errors:
            return result
    if not rewriter.check_constraints():
        result.errors.append("invalid constraints: two of them overlap in part")
        return result

    # First pass: find out what has to be padded. Without padding that is the result already.
    rewritten: list[IterSumExpr] = []
    allow_padding = check_level != IterMapLevel.Bijective
    if allow_padding:
        for index in indices:
            rewritten.append(rewriter.rewrite_and_update_padding(index))
            if result.errors:
                return result
    if not allow_padding or rewriter.requires_padding:
        rewritten = []
        for index in indices:
            rewritten.append(rewriter.rewrite(index))
            if result.errors:
                return result
    result.padding_predicate = rewriter.padding_predicate

    if not rewriter.check_mapping(rewritten, check_level):
        if check_level == IterMapLevel.Bijective:
            result.errors.append("the index map is not bijective")
        else:
            result.errors.append("the mapped indices are not independent")
        return result
    result.indices = rewritten
    return result


def _is_trivial(dom: Range) -> bool:
    return type(dom.min) is IntImm and is_one(dom.extent)


def _is_whole(index: Var, dom: Range) -> bool:
    """Whether an iterator runs over [0, c) with a constant c, all in one dtype."""
    return is_zero(dom.min) and type(dom.extent) is IntImm and dom.extent.dtype == index.dtype


def _detect_plain(
    indices: list[PrimExpr],
    input_iters: Mapping[Var, Range],
    check_level: IterMapLevel,
    simplify_trivial_iterators: bool,
) -> list[IterSumExpr] | None:
    """The map of indices that are constants or distinct iterators, which is what the rewriter makes of them.

    None for others. Most indices are so plain that this saves most of the time that schedules take.
    """
    for index in indices:
        if type(index) is not Var and type(index) is not IntImm:
            return None
    for dom in input_iters.values():
        if type(dom.min) is not IntImm or type(dom.extent) is not IntImm:
            return None
    used: set[Var] = set()
    found: list[IterSumExpr] = []
    for index in indices:
        if type(index) is IntImm:
            found.append(IterSumExpr((), index))
            continue
        dom = input_iters.get(index)
        if dom is None or index in used:
            return None
        if simplify_trivial_iterators and _is_trivial(dom):
            found.append(IterSumExpr((), dom.min))
            continue
        if not _is_whole(index, dom):
            return None
        used.add(index)
        zero = make_const(index.dtype, 0)
        fused = IterSumExpr((IterSplitExpr(IterMark(index, dom.extent)),), zero)
        found.append(IterSumExpr((IterSplitExpr(IterMark(fused, dom.extent)),), zero))
    if check_level == IterMapLevel.Bijective:
        for var, dom in input_iters.items():
            if var not in used and not is_one(dom.extent):
                return None
    return found


def _simplify_plain(
    indices: list[PrimExpr], input_iters: Mapping[Var, Range], simplify_trivial_iterators: bool
) -> list[PrimExpr] | None:
    """Iterators and constants that come back as they are, whether or not they form a map; None for other indices."""
    for index in indices:
        if type(index) is IntImm and is_index_type(index.dtype):
            continue
        if type(index) is not Var:
            return None
        dom = input_iters.get(index)
        if dom is None or not _is_whole(index, dom) or (simplify_trivial_iterators and _is_trivial(dom)):
            return None
    return indices


# tvm: src/arith/iter_affine_map.cc (NormalizeToIterSum)
def normalize_to_iter_sum(index, input_iters: Mapping[Var, Range], analyzer: Analyzer | None = None) -> IterSumExpr:
    """An index as a sum of splits, sorted by descending constant of their scale, then by its number of symbols.

    A best effort: what is not an iterator ends up in the base. Raises InternalError if the ranges depend on iterators.
    """
    if not iter_range_sanity_check(input_iters):
        raise InternalError("invalid iterators: their ranges may not depend on each other")
    errors: list[str] = []
    rewriter = IterMapRewriter(analyzer or Analyzer(), input_iters, IterMapLevel.NoCheck, True, errors)
    return rewriter.rewrite_to_normalized_iter_sum(convert(index))


# tvm: src/arith/iter_affine_map.cc (IterMapSimplify)
def iter_map_simplify(
    indices: Sequence,
    input_iters: Mapping[Var, Range],
    predicate=True,
    check_level: IterMapLevel | int | str | None = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> list[PrimExpr]:
    """The indices simplified by way of an iterator map; as they are when there is none."""
    check_level = _level(check_level)
    indices = [convert(index) for index in indices]
    predicate = convert(predicate)
    # A predicate may narrow the ranges of iterators, so this is for maps without one.
    plain = _simplify_plain(indices, input_iters, simplify_trivial_iterators) if is_one(predicate) else None
    if plain is not None:
        return plain
    if analyzer is None:
        analyzer = Analyzer()
    if not iter_range_sanity_check(input_iters):
        return indices
    rewritten = detect_iter_map(
        indices, input_iters, predicate, check_level, simplify_trivial_iterators, analyzer
    ).indices
    if not rewritten and not is_one(predicate) and check_level != IterMapLevel.Bijective:
        # The predicate may be what is in the way, and a map found without it holds as well.
        rewritten = detect_iter_map(
            indices, input_iters, TRUE, check_level, simplify_trivial_iterators, analyzer
        ).indices
    if not rewritten:
        return indices
    normalizer = IterMapToExprNormalizer(analyzer)
    return [normalizer.convert(sum_expr) for sum_expr in rewritten]


# --------------------------------------------------------------------------------------------------------------------
# Dividing a space in two
# --------------------------------------------------------------------------------------------------------------------


def _empty_sum(dtype: str = "int32") -> IterSumExpr:
    return IterSumExpr((), make_const(dtype, 0))


# tvm: src/arith/iter_affine_map.cc (SubspaceDivider::DivisionResult)
class DivisionResult:
    """``outer * inner_extent + inner``; ``kind`` tells whether one of the two is all there is."""

    __slots__ = ("outer", "outer_extent", "inner", "inner_extent", "kind")

    INNER = "inner"
    OUTER = "outer"
    MIXED = "mixed"

    def __init__(
        self, outer: IterMapExpr, outer_extent: PrimExpr, inner: IterMapExpr, inner_extent: PrimExpr, kind: str = MIXED
    ):
        self.outer = outer
        self.outer_extent = outer_extent
        self.inner = inner
        self.inner_extent = inner_extent
        self.kind = kind

    @staticmethod
    def all_inner(iter_expr: IterMapExpr, extent: PrimExpr) -> DivisionResult:
        one = make_const(iter_expr.dtype, 1)
        return DivisionResult(_empty_sum(iter_expr.dtype), one, iter_expr, extent, DivisionResult.INNER)

    @staticmethod
    def all_outer(iter_expr: IterMapExpr, extent: PrimExpr) -> DivisionResult:
        one = make_const(iter_expr.dtype, 1)
        return DivisionResult(iter_expr, extent, _empty_sum(iter_expr.dtype), one, DivisionResult.OUTER)

    @staticmethod
    def failure() -> DivisionResult:
        zero = IntImm("int32", 0)
        return DivisionResult(_empty_sum(), zero, _empty_sum(), zero)

    @property
    def is_inner(self) -> bool:
        return self.kind == DivisionResult.INNER

    @property
    def is_outer(self) -> bool:
        return self.kind == DivisionResult.OUTER

    def outer_as_split(self) -> IterSplitExpr:
        return _as_split(self.outer, self.outer_extent)

    def inner_as_split(self) -> IterSplitExpr:
        return _as_split(self.inner, self.inner_extent)


def _as_split(expr: IterMapExpr, extent: PrimExpr) -> IterSplitExpr:
    return expr if type(expr) is IterSplitExpr else IterSplitExpr(IterMark(expr, extent))


def _mark_from_args_and_base(args: Iterable[IterSplitExpr], base: PrimExpr) -> IterMark:
    """The splits (from inner to outer) fused without gaps."""
    fused = []
    extent = make_const(base.dtype, 1)
    for arg in args:
        arg = arg.replace(scale=extent)
        extent = mul(extent, arg.extent)
        fused.append(arg)
    return IterMark(IterSumExpr(fused[::-1], base), extent)


def _mark_of_sum(source: IterMapExpr, extent: PrimExpr) -> IterMark:
    if type(source) is not IterSumExpr:
        raise InternalError(f"expected a sum of iterators, got {source}")
    return IterMark(source, extent)


# tvm: src/arith/iter_affine_map.cc (SubspaceDivider)
class SubspaceDivider:
    """Divides iterators into an outer and an inner part: ``binding = outer * extent(inner) + inner``.

    The parts of a sum i*10 + j*5 + k follow from those of i, j and k: with i outer, j and k inner, outer is i and inner
    is j*5 + k. A split (i // 2) % 4 of i = outer*E + inner can be divided if E is where i's splits meet.
    ``unresolved_count`` counts what could not be divided.
    """

    def __init__(self, analyzer: Analyzer, collector: IterMarkSplitCollector, sub_iters: Mapping[Var, object]):
        self.unresolved_count = 0
        self.outer_preds: PrimExpr = TRUE
        self.inner_preds: PrimExpr = TRUE
        self._analyzer = analyzer
        self._collector = collector
        self._sub_iters = sub_iters
        # All splits of a mark are divided when the first of them is met. By identity.
        self._split_map: dict[IterSplitExpr, DivisionResult] = {}

    def _fail(self) -> DivisionResult:
        self.unresolved_count += 1
        return DivisionResult.failure()

    def divide_iter_sum_expr(self, expr: IterSumExpr, mark_extent: PrimExpr) -> DivisionResult:
        dtype = expr.dtype
        if not expr.args:
            one = make_const(dtype, 1)
            return DivisionResult(_empty_sum(dtype), one, IterSumExpr((), expr.base), one)
        if len(expr.args) == 1:
            if not is_one(expr.args[0].scale):
                return self._fail()
            division = self._divide_iter_split_expr(expr.args[0])
            return division if is_zero(expr.base) else self._add_base(division, expr.base)

        # Outer splits have to come first and inner ones last; from the right, that is inner to outer.
        extent = make_const(dtype, 1)
        outer_args: list[IterSplitExpr] = []
        inner_args: list[IterSplitExpr] = []
        scale_is_one = False
        for arg in reversed(expr.args):
            if is_one(arg.scale):
                scale_is_one = True
            division = self._divide_iter_split_expr(arg)
            if division.is_inner:
                if outer_args:
                    return self._fail()
                new_arg = division.inner_as_split()
                inner_args.append(new_arg)
            elif division.is_outer:
                new_arg = division.outer_as_split()
                outer_args.append(new_arg)
            else:
                return self._fail()
            extent = mul(extent, new_arg.extent)
        if not scale_is_one:
            return self._fail()
        need_predicate = not self._analyzer.can_prove_equal(extent, mark_extent)
        outer_mark = _mark_from_args_and_base(outer_args, make_const(dtype, 0))
        inner_mark = _mark_from_args_and_base(inner_args, expr.base)
        if not need_predicate:
            return DivisionResult(outer_mark.source, outer_mark.extent, inner_mark.source, inner_mark.extent)
        # A predicate on the sum cannot be divided: it has to be all outer or all inner.
        normalizer = IterMapToExprNormalizer(self._analyzer)
        if not inner_args:
            bound = less(normalizer.convert(outer_mark.source), mark_extent)
            self.outer_preds = logical_and(self.outer_preds, bound)
            return DivisionResult.all_outer(outer_mark.source, mark_extent)
        if not outer_args:
            bound = less(normalizer.convert(inner_mark.source), mark_extent)
            self.inner_preds = logical_and(self.inner_preds, bound)
            return DivisionResult.all_inner(inner_mark.source, mark_extent)
        return self._fail()

    @staticmethod
    def _add_base(division: DivisionResult, base: PrimExpr) -> DivisionResult:
        inner = division.inner
        if type(inner) is IterSplitExpr:
            inner = IterSumExpr((inner,), base)
        else:
            inner = IterSumExpr(inner.args, add(inner.base, base))
        return DivisionResult(division.outer, division.outer_extent, inner, division.inner_extent, division.kind)

    def _divide_iter_split_expr(self, expr: IterSplitExpr) -> DivisionResult:
        known = self._split_map.get(expr)
        if known is not None:
            return known
        splits = self._collector.splits_of(expr.source)
        source = expr.source.source
        if isinstance(source, Var):
            divide = DivisionResult.all_inner if source in self._sub_iters else DivisionResult.all_outer
            for split in splits:
                self._split_map.setdefault(split, divide(split, split.extent))
        elif type(source) is IterSumExpr:
            mark_division = self.divide_iter_sum_expr(source, expr.source.extent)
            if len(splits) == 1:
                return mark_division
            if not self._divide_splits_of_sum(expr, splits, mark_division):
                return self._fail()
        else:
            return self._fail()
        if expr not in self._split_map:
            raise InternalError(f"{expr} is not among the splits that were collected")
        return self._split_map[expr]

    def _divide_splits_of_sum(
        self, expr: IterSplitExpr, splits: list[IterSplitExpr], mark_division: DivisionResult
    ) -> bool:
        """Divide the splits of a fused mark where their extents meet the boundary of outer and inner.

        source = Y*3 + X over 12 with X in 0..3: source // 6, (source // 3) % 2 | source % 3 can be divided at |, and
        source // 4, (source // 2) % 2, source % 2 cannot.
        """
        can_prove_equal = self._analyzer.can_prove_equal
        outer_mark = _mark_of_sum(mark_division.outer, mark_division.outer_extent)
        inner_mark = _mark_of_sum(mark_division.inner, mark_division.inner_extent)
        encountered_boundary = mark_division.is_outer
        used = [False] * len(splits)
        inner_iters: list[IterSplitExpr] = []
        outer_iters: list[IterSplitExpr] = []
        expected_lower_factor = make_const(expr.source.source.dtype, 1)
        for _ in splits:
            found = None
            for j, split in enumerate(splits):
                if not used[j] and can_prove_equal(split.lower_factor, expected_lower_factor):
                    found = j
                    break
            if found is None:
                return False
            used[found] = True
            (outer_iters if encountered_boundary else inner_iters).append(splits[found])
            expected_lower_factor = mul(expected_lower_factor, splits[found].extent)
            if can_prove_equal(expected_lower_factor, mark_division.inner_extent):
                encountered_boundary = True
        if not encountered_boundary:
            return False
        for split in inner_iters:
            division = DivisionResult.all_inner(split.replace(source=inner_mark), split.extent)
            self._split_map.setdefault(split, division)
        for split in outer_iters:
            lower_factor = floordiv(split.lower_factor, outer_iters[0].lower_factor)
            new_split = split.replace(source=outer_mark, lower_factor=lower_factor)
            self._split_map.setdefault(split, DivisionResult.all_outer(new_split, split.extent))
        return True


# tvm: src/arith/iter_affine_map.cc (SubspaceDivide)
def subspace_divide(
    bindings: Sequence,
    input_iters: Mapping[Var, Range],
    sub_iters: Sequence[Var],
    predicate=True,
    check_level: IterMapLevel | int | str | None = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> list[list[IterMark]]:
    """Divide bindings into a map of the other iterators and one of ``sub_iters``: ``binding = outer * E + inner``.

    Returns:
        Per binding [outer mark, inner mark], and last the two predicates as extents of marks of nothing; an empty list
        when the bindings cannot be divided.
    """
    if analyzer is None:
        analyzer = Analyzer()
    if not iter_range_sanity_check(input_iters):
        return []
    maps = detect_iter_map(bindings, input_iters, predicate, check_level, simplify_trivial_iterators, analyzer).indices
    if not maps:
        return []
    collector = IterMarkSplitCollector()
    collector.collect(maps)
    divider = SubspaceDivider(analyzer, collector, dict.fromkeys(sub_iters))
    results = []
    for sum_expr in maps:
        division = divider.divide_iter_sum_expr(sum_expr, IntImm("int32", 0))
        if divider.unresolved_count:
            return []
        results.append(
            [IterMark(division.outer, division.outer_extent), IterMark(division.inner, division.inner_extent)]
        )
    results.append([IterMark(_empty_sum(), divider.outer_preds), IterMark(_empty_sum(), divider.inner_preds)])
    return results


# --------------------------------------------------------------------------------------------------------------------
# Inverse
# --------------------------------------------------------------------------------------------------------------------


# A tvm_ffi Map keeps the order in which keys were added. From so many on, a key that gets a new value moves to its end.
_SMALL_MAP_SIZE = 4


# tvm: src/arith/iter_affine_map.cc (InverseAffineIterMapTransformer)
class InverseAffineIterMapTransformer:
    """Solves an iterator map for its input iterators, from the outputs back to the inputs."""

    def __init__(self, analyzer: Analyzer):
        self._analyzer = analyzer
        self._backprop: dict[IterMapExpr, PrimExpr] = {}  # by identity: what has arrived at each node
        self._inverse: dict[Var, PrimExpr] = {}

    def __call__(self, iter_map: Sequence[IterSumExpr], outputs: Sequence[PrimExpr]) -> dict[Var, PrimExpr]:
        if len(iter_map) != len(outputs):
            raise InternalError(f"a map of {len(iter_map)} indices takes that many outputs, not {len(outputs)}")
        order = self._reverse_topology_order(iter_map)
        for node in order:
            self._backprop[node] = IntImm("int32", 0)
        for sum_expr, output in zip(iter_map, outputs):
            self._backprop[sum_expr] = output
        for node in order:
            if type(node) is IterSumExpr:
                self._visit_sum(node)
            else:
                self._visit_split(node)
        return self._inverse

    def _visit_sum(self, expr: IterSumExpr) -> None:
        value = sub(self._backprop[expr], expr.base)
        if len(expr.args) == 1:
            source = expr.args[0]
            if not self._analyzer.can_prove_equal(abs_(source.scale), 1):
                raise InternalError(f"an iterator with the scale {source.scale} has no inverse")
            self._backprop[source] = mul(add(self._backprop[source], value), source.scale)
            return
        # Several iterators were fused: take the value apart again. (0, 16) and (0, 8) fused to (0, 128) come out as
        # value // 8 and value % 8.
        self._check_fuse_pattern(expr)
        for i in range(len(expr.args) - 1, -1, -1):
            split = expr.args[i]
            part = floordiv(value, split.scale)
            # The outermost has what is left over, which is within its extent.
            if i > 0:
                part = floormod(part, split.extent)
            self._backprop[split] = add(self._backprop[split], part)

    def _visit_split(self, expr: IterSplitExpr) -> None:
        value = mul(self._backprop[expr], expr.lower_factor)
        source = expr.source.source
        if type(source) is IterSumExpr:
            self._backprop[source] = add(self._backprop[source], value)
        elif not isinstance(source, Var):
            raise InternalError(f"an iterator that is not a variable, {source}, has no inverse")
        elif source not in self._inverse:
            self._inverse[source] = value
        elif len(self._inverse) < _SMALL_MAP_SIZE:
            self._inverse[source] = add(self._inverse[source], value)
        else:
            self._inverse[source] = add(self._inverse.pop(source), value)

    @staticmethod
    def _reverse_topology_order(iter_map: Sequence[IterSumExpr]) -> list[IterMapExpr]:
        """All nodes below the map, every one before what it is made of."""
        order: list[IterMapExpr] = []
        visited: set[int] = set()
        for sum_expr in iter_map:
            _post_order(sum_expr, visited, order)
        return order[::-1]

    def _check_fuse_pattern(self, expr: IterSumExpr) -> None:
        """Raise InternalError unless the splits, sorted by descending scale, are fused without gaps."""
        if not expr.args:
            return
        expected_scale = expr.args[-1].scale
        for split in reversed(expr.args):
            if not self._analyzer.can_prove_equal(split.scale, expected_scale):
                raise InternalError(f"iterators fused with the scale {split.scale} instead of {expected_scale}")
            expected_scale = mul(expected_scale, split.extent)


def _post_order(expr: IterMapExpr, visited: set[int], order: list[IterMapExpr]) -> None:
    """Append an iterator expression to the order after all that it is made of, each object once."""
    if id(expr) in visited:
        return
    visited.add(id(expr))
    if type(expr) is IterSumExpr:
        for child in expr.args:
            _post_order(child, visited, order)
    elif isinstance(expr.source.source, IterMapExpr):
        _post_order(expr.source.source, visited, order)
    order.append(expr)


# tvm: src/arith/iter_affine_map.cc (InverseAffineIterMap)
def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence) -> dict[Var, PrimExpr]:
    """The input iterators of a bijective map in terms of its outputs.

    With iter_map = [l0 // 16, l0 % 16] as detected and outputs = [o0, o1] this is {l0: o0*16 + o1}. Iterators that the
    map does not use are missing. Raises InternalError for a map that is scaled or has gaps, or whose iterators do not
    start at zero.
    """
    return InverseAffineIterMapTransformer(Analyzer())(iter_map, [convert(output) for output in outputs])


__all__ = [
    "IterMapExpr",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "detect_iter_map",
    "inverse_affine_iter_map",
    "iter_map_simplify",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "subspace_divide",
]
