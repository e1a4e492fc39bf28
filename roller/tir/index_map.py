"""Index maps: how the indices of one layout become those of another (stands in for TVM's ``src/tirx/ir/index_map.cc``).

``IndexMap.from_func(lambda i, j: [i // 16, j // 16, i % 16, j % 16])`` is the layout of 16 x 16 tiles.

Left out are variables renamed and text made for TVM's traces (``RenameVariables``, ``ToPythonString``): there are none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .arith.analyzer import Analyzer
from .arith.int_operator import InternalError
from .arith.iter_affine_map import (
    IterMapLevel,
    detect_iter_map,
    inverse_affine_iter_map,
    normalize_iter_map_to_expr,
)
from .dtypes import bits
from .expr import (
    EQ,
    FALSE,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    Call,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    PrimExpr,
    Range,
    Select,
    Sub,
    TirError,
    Var,
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    cast,
    convert,
    if_then_else,
    is_one,
    is_zero,
    left_shift,
    logical_not,
    make_zero,
    map_children,
    match_types,
    max_,
    mul,
    right_shift,
    sub,
    substitute,
    try_const_fold,
)
from .printer import mapping

if TYPE_CHECKING:
    import numpy as np

# The nodes whose operands are matched again after a substitution. "and" and "or" have bools on either side.
_MATCHED_NODES = frozenset((Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, EQ, NE, LE, LT, GT, GE))

# The calls that are built anew after a substitution, which matches the dtypes of their arguments. ``pow``, too, in TVM;
# but it takes floats only, and those are no indices.
_REBUILT_CALLS: dict[str, Callable[..., PrimExpr]] = {
    "tirx.shift_right": right_shift,
    "tirx.shift_left": left_shift,
    "tirx.bitwise_and": bitwise_and,
    "tirx.bitwise_or": bitwise_or,
    "tirx.bitwise_xor": bitwise_xor,
    "tirx.if_then_else": if_then_else,
}


# tvm: src/tirx/ir/stmt_functor.cc (IRSubstituteWithDataTypeLegalization), data_type_rewriter.cc (DataTypeLegalizer)
def substitute_with_data_type_legalization(expr: PrimExpr, vmap: Mapping[Var, PrimExpr]) -> PrimExpr:
    """The expression with variables replaced by expressions of any integer dtype.

    Unlike :func:`~.expr.substitute` this casts operands until they match, and folds the nodes that change.
    """
    return _Legalization(vmap)(expr)


class _Legalization:
    """Puts expressions in the place of variables and matches the dtypes of what was around them, node by node."""

    __slots__ = ("vmap",)

    def __init__(self, vmap: Mapping[Var, PrimExpr]) -> None:
        self.vmap = vmap

    def __call__(self, expr: PrimExpr) -> PrimExpr:
        kind = type(expr)
        if kind in _MATCHED_NODES:
            a, b = self(expr.a), self(expr.b)
            if a is expr.a and b is expr.b:
                return expr
            a, b = match_types(a, b)
            folded = try_const_fold(kind, a, b)
            return folded if folded is not None else kind(a, b)
        if isinstance(expr, Var):
            return self.vmap.get(expr, expr)
        if kind is Call:
            return _rebuild_call(expr, map_children(expr, self))
        if kind is Select:
            return _rebuild_select(expr, self)
        if kind is Let:
            return _rebuild_let(expr, self)
        return map_children(expr, self)


def _rebuild_call(before: Call, after: Call) -> PrimExpr:
    rebuild = _REBUILT_CALLS.get(after.op)
    if rebuild is not None:
        return rebuild(*after.args)
    if after.op == "tirx.clz":
        # Leading zeros of the original width.
        return add(sub(after, bits(after.args[0].dtype)), bits(before.args[0].dtype))
    return after


def _rebuild_select(current: Select, visit: Callable[[PrimExpr], PrimExpr]) -> PrimExpr:
    condition = visit(current.condition)
    true_value, false_value = visit(current.true_value), visit(current.false_value)
    if condition is current.condition and true_value is current.true_value and false_value is current.false_value:
        return current
    # Of two integers of one kind the wider dtype.
    dtype = max(true_value.dtype, false_value.dtype, key=bits)
    return Select(condition, cast(dtype, true_value), cast(dtype, false_value))


def _rebuild_let(current: Let, visit: Callable[[PrimExpr], PrimExpr]) -> PrimExpr:
    value = visit(current.value)
    var = current.var if value.dtype == current.var.dtype else Var(current.var.name, value.dtype)
    body = visit(current.body)
    return current if value is current.value and body is current.body else Let(var, value, body)


def _as_ranges(shape: Sequence) -> list[Range]:
    """Ranges as they are, extents as ranges from zero."""
    ranges = []
    for dim in shape:
        if not isinstance(dim, Range):
            dim = convert(dim)
            dim = Range.from_min_extent(make_zero(dim.dtype), dim)
        ranges.append(dim)
    return ranges


def _check_rank(what: str, values: Sequence, index_map: IndexMap) -> None:
    if len(values) != len(index_map.initial_indices):
        raise InternalError(f"the index map takes {len(index_map.initial_indices)} {what}, got {len(values)}")


# tvm: include/tvm/tirx/index_map.h (IndexMapNode), python/tvm/tirx/function.py (IndexMap)
class IndexMap:
    """A map from one set of indices to another.

    Attributes:
        initial_indices: the variables that stand for the indices before the map.
        final_indices: the indices after it, expressions of those variables.
        inverse_index_map: the inverse as the user gave it, taken to be right; without it :meth:`inverse` finds one.
    """

    __slots__ = ("initial_indices", "final_indices", "inverse_index_map")

    # In what the function of from_func_with_separators returns: where axes are kept apart when a buffer is flattened.
    AXIS_SEPARATOR = "axis_separator"

    def __init__(
        self,
        initial_indices: Sequence[Var],
        final_indices: Sequence,
        inverse_index_map: IndexMap | Callable | None = None,
    ):
        if callable(inverse_index_map):
            inverse_index_map = IndexMap.from_func(inverse_index_map)
        self.initial_indices = tuple(initial_indices)
        self.final_indices = tuple(convert(index) for index in final_indices)
        self.inverse_index_map = inverse_index_map

    @staticmethod
    def from_func(
        mapping_function: Callable,
        ndim: int | None = None,
        inverse_index_map: IndexMap | Callable | None = None,
        *,
        index_dtype: str = "int64",
    ) -> IndexMap:
        """The map that a function of variables computes: it takes indices, and returns an index or a list of them.

        Args:
            ndim: the number of indices; needed when the function takes ``*args``.
            index_dtype: the dtype of the variables.
        """
        index_map, axis_separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if axis_separators:
            raise AssertionError("IndexMap.from_func takes no AXIS_SEPARATOR: use IndexMap.from_func_with_separators")
        return index_map

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable,
        ndim: int | None = None,
        inverse_index_map: IndexMap | Callable | None = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[IndexMap, list[int]]:
        """:meth:`from_func` of a function that may return AXIS_SEPARATOR between indices, and where it did."""
        args: list[Var] = []
        kwargs: dict[str, Var] = {}
        var_arg_name = None
        for name, parameter in inspect.signature(mapping_function).parameters.items():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                args.append(Var(name, index_dtype))
            elif parameter.kind == parameter.VAR_POSITIONAL:
                var_arg_name = name
            elif parameter.kind == parameter.KEYWORD_ONLY:
                kwargs[name] = Var(name, index_dtype)
            else:
                raise TirError(f"the function of an index map may not take **{name}")
        if var_arg_name is not None:
            if ndim is None:
                raise AssertionError(f"ndim is needed for a function that takes *{var_arg_name}")
            for i in range(ndim - len(args) - len(kwargs)):
                args.append(Var(f"{var_arg_name}_{i}", index_dtype))

        mapping = mapping_function(*args, **kwargs)
        initial_indices = [*args, *kwargs.values()]
        final_indices = []
        axis_separators = []
        try:
            values = iter(mapping)
        except TypeError:
            final_indices.append(mapping)
        else:
            for value in values:
                if isinstance(value, PrimExpr):
                    final_indices.append(value)
                elif value is IndexMap.AXIS_SEPARATOR:
                    axis_separators.append(len(final_indices))
                else:
                    raise TypeError(
                        "the function of an index map returns expressions or IndexMap.AXIS_SEPARATOR, "
                        f"got {value!r} ({type(value).__name__})"
                    )
        return IndexMap(initial_indices, final_indices, inverse_index_map), axis_separators

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """Whether both maps provably give the same indices."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        if len(self.final_indices) != len(other_map.final_indices):
            return False
        analyzer = Analyzer()
        theirs = other_map.map_indices(self.initial_indices)
        return all(analyzer.can_prove_equal(a, b) for a, b in zip(self.final_indices, theirs))

    # tvm: src/tirx/ir/index_map.cc (IndexMapNode::MapIndices)
    def map_indices(self, indices: Sequence, analyzer: Analyzer | None = None) -> list[PrimExpr]:
        """The final indices of given initial ones, simplified. Raises InternalError for a wrong number of indices."""
        _check_rank("indices", indices, self)
        analyzer = analyzer or Analyzer()
        vmap = {var: convert(index) for var, index in zip(self.initial_indices, indices)}
        return [analyzer.simplify(substitute_with_data_type_legalization(index, vmap)) for index in self.final_indices]

    # tvm: src/tirx/ir/index_map.cc (IndexMapNode::MapRanges)
    def map_ranges(self, ranges: Sequence[Range], analyzer: Analyzer | None = None) -> list[Range]:
        """The smallest range of each final index that has all indices of the initial ranges."""
        _check_rank("ranges", ranges, self)
        analyzer = analyzer or Analyzer()
        input_iters = dict(zip(self.initial_indices, ranges))
        iter_map = detect_iter_map(
            self.final_indices,
            input_iters,
            check_level=IterMapLevel.NoCheck,
            simplify_trivial_iterators=False,
            analyzer=analyzer,
        )
        output: list[Range] = []
        if iter_map.indices:
            # The terms of a sum are independent: its extent is that of the largest term.
            for index in iter_map.indices:
                extent: PrimExpr | None = None
                for term in index.args:
                    term_extent = mul(term.extent, term.scale)
                    extent = term_extent if extent is None else max_(extent, term_extent)
                output.append(Range.from_min_extent(index.base, IntImm("int32", 1) if extent is None else extent))
        else:
            output = self._map_ranges_by_int_set(ranges, analyzer)
        width = max((bits(dom.extent.dtype) for dom in ranges), default=32)
        dtype = f"int{width}"
        return [Range.from_min_extent(cast(dtype, dom.min), cast(dtype, dom.extent)) for dom in output]

    def _map_ranges_by_int_set(self, ranges: Sequence[Range], analyzer: Analyzer) -> list[Range]:
        """The ranges by interval arithmetic. It holds for any map, but knows nothing of padding: [N] under
        i -> [i // 4, i % 4] is [ceil(N / 4), 4], and for N < 4 this says [1, N]."""
        from .arith.int_set import IntervalSet, eval_set

        dom_map = {var: IntervalSet.from_range(dom) for var, dom in zip(self.initial_indices, ranges)}
        output = []
        for index in self.final_indices:
            int_set = eval_set(index, dom_map)
            low, high = int_set.min(), int_set.max()
            output.append(Range.from_min_extent(analyzer.simplify(low), analyzer.simplify(add(sub(high, low), 1))))
        return output

    # tvm: src/tirx/ir/index_map.cc (IndexMapNode::MapShape)
    def map_shape(self, shape: Sequence, analyzer: Analyzer | None = None) -> list[PrimExpr]:
        """The shape of a buffer after the map. Raises InternalError if an index would not start at zero."""
        _check_rank("extents", shape, self)
        mapped = self.map_ranges(_as_ranges(shape), analyzer)
        for dom in mapped:
            if not is_zero(dom.min):
                raise InternalError(f"an index of the mapped shape starts at {dom.min} instead of 0")
        return [dom.extent for dom in mapped]

    # tvm: src/tirx/ir/index_map.cc (IndexMapNode::MapTensor)
    def map_tensor(self, arr_src: np.ndarray) -> np.ndarray:
        """An array with its elements moved to the places that the map gives them."""
        import numpy as np  # only here: importing it takes longer than most searches

        _check_rank("dimensions", arr_src.shape, self)
        analyzer = Analyzer()
        shape = [int(extent) for extent in self.map_shape(arr_src.shape, analyzer)]
        if int(np.prod(shape)) != arr_src.size:
            raise InternalError(f"the mapped shape {shape} has another number of elements than {arr_src.shape}")
        arr_dst = np.empty(shape, arr_src.dtype)
        for place in np.ndindex(*arr_src.shape):
            final = self.map_indices([int(index) for index in place], analyzer)
            arr_dst[tuple(int(index) for index in final)] = arr_src[place]
        return arr_dst

    # tvm: src/tirx/ir/index_map.cc (IndexMap::Inverse)
    def inverse(self, shape: Sequence, analyzer: Analyzer | None = None) -> IndexMap:
        """The inverse over ranges (or extents) of the initial indices. Raises InternalError if there is none."""
        analyzer = analyzer or Analyzer()
        ranges = _as_ranges(shape)
        inverse, padding_predicate = self._inverse_impl(ranges, IterMapLevel.Bijective, analyzer)
        if not analyzer.can_prove(logical_not(padding_predicate)):
            raise InternalError(f"the inverse of {self} over {ranges} has padding where {padding_predicate}")
        return inverse

    # tvm: src/tirx/ir/index_map.cc (IndexMap::NonSurjectiveInverse)
    def non_surjective_inverse(self, shape: Sequence, analyzer: Analyzer | None = None) -> tuple[IndexMap, PrimExpr]:
        """The inverse of a map that may introduce padding, and where in terms of the final indices the padding is."""
        return self._inverse_impl(_as_ranges(shape), IterMapLevel.NoCheck, analyzer or Analyzer())

    # tvm: src/tirx/ir/index_map.cc (IndexMapInverseImpl)
    def _inverse_impl(
        self, initial_ranges: Sequence[Range], check_level: IterMapLevel, analyzer: Analyzer
    ) -> tuple[IndexMap, PrimExpr]:
        if self.inverse_index_map is not None:
            return self.inverse_index_map, FALSE
        output_vars = [Var(f"axis{i}", index.dtype) for i, index in enumerate(self.final_indices)]
        _check_rank("ranges", initial_ranges, self)
        iter_map = detect_iter_map(
            self.final_indices,
            dict(zip(self.initial_indices, initial_ranges)),
            check_level=check_level,
            simplify_trivial_iterators=False,
            analyzer=analyzer,
        )
        if iter_map.errors:
            raise InternalError(f"{self} is not a map of iterators: {iter_map.errors[0]}")
        inverse_exprs_map = inverse_affine_iter_map(iter_map.indices, output_vars)

        inverse_exprs = []
        for index, dom in zip(self.initial_indices, initial_ranges):
            if index in inverse_exprs_map:
                expr = inverse_exprs_map[index]
            elif is_one(dom.extent):
                expr = dom.min
            else:
                raise InternalError(f"{self} does not use {index}")
            inverse_exprs.append(analyzer.simplify(expr))

        padding_predicate = normalize_iter_map_to_expr(iter_map.padding_predicate)
        padding_predicate = substitute(padding_predicate, inverse_exprs_map)
        if type(padding_predicate) is not IntImm:
            output_analyzer = Analyzer()
            for var, dom in zip(output_vars, self.map_ranges(initial_ranges, analyzer)):
                output_analyzer.bind(var, dom)
            # It takes that many steps to unwrap nested divisions.
            padding_predicate = output_analyzer.simplify(padding_predicate, 10)
        return IndexMap(output_vars, inverse_exprs), padding_predicate

    def __repr__(self) -> str:
        return mapping(self.initial_indices, self.final_indices)


# tvm: src/tirx/ir/index_map.cc (Substitute)
def substitute_index_map(
    index_map: IndexMap, vmap: Mapping[Var, PrimExpr] | Callable[[Var], PrimExpr | None]
) -> IndexMap:
    """The index map with variables other than its own replaced, in its inverse as well."""
    final_indices = [substitute(index, vmap) for index in index_map.final_indices]
    inverse = index_map.inverse_index_map
    if inverse is not None:
        inverse = substitute_index_map(inverse, vmap)
    return IndexMap(index_map.initial_indices, final_indices, inverse)
