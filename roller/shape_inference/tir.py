"""Region propagation over the blocks of a function. The port of ``carver/roller/shape_inference/tir.py``.

Every block says, as expressions of its space axes, where it reads each input. From the block whose output is tiled the
expressions are put into one another: backwards to its inputs, and, where an access can be inverted, forwards to what
follows it. Once that is done (``construct_dependency_target``), a tile is only bounds put on variables (``infer``).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...arch.errors import CarverError, shown
from ..tir.arith import Analyzer, ConstIntBound, IterMapLevel, detect_iter_map, inverse_affine_iter_map
from ..tir.arith.const_int_bound import compile_bound
from ..tir.arith.int_operator import InternalError
from ..tir.expr import (
    BinaryOpExpr,
    BufferLoad,
    Call,
    Cast,
    CmpExpr,
    FloatImm,
    IntImm,
    PrimExpr,
    ProducerLoad,
    StringImm,
    Var,
    post_order_visit,
    structural_equal,
    substitute,
    undefined_vars,
)
from ..tir.schedule import SBlockRV
from ..tir.stmt import Buffer

if TYPE_CHECKING:
    import networkx

    from ..analysis import IterInfo
    from ..node import BlockAnalyzer

    # One place in a buffer: an index per axis. A region is what it covers while the variables run over their bounds.
    Region = list[PrimExpr]
    # The least and the greatest value.
    Bound = tuple[int, int]


# vendored: carver/roller/shape_inference/tir.py:7-40
class Statement:
    """A block as region propagation sees it.

    ``dep_name`` is the buffer it writes (a block has one output), ``dependent_region`` where it reads: for each input
    buffer the places, as expressions of the block's iterators, without those axes whose index is the constant 0.
    """

    # vendored: carver/roller/shape_inference/tir.py:8-15
    def __init__(self, block_analyzer: BlockAnalyzer, block: SBlockRV) -> None:
        self.block_analyzer = block_analyzer
        self.block = block
        self.dep_name: str = block_analyzer.get_output_buffers(block)[0].name
        self.dependent_region: dict[str, list[Region]] = _extract_dependent_region(block_analyzer, block)
        self.reverse_bound_inference: dict = {}

    # vendored: carver/roller/shape_inference/tir.py:17-40
    def make_reverse(self, input_name: str, input_iter: Sequence[PrimExpr] | None) -> Region | None:
        """The place the block writes when it reads ``input_name`` at ``input_iter``.

        None where the read does not tell: the block reduces, reads the buffer at several places, or at a place that
        its space axes do not map onto. An axis that the read leaves open may be anywhere.
        """
        if self.block_analyzer.get_reduce_axis(self.block):
            return None
        places = self.dependent_region[input_name]
        if len(places) != 1:
            return None
        space = self.block_analyzer.get_spatial_axis(self.block)
        found = detect_iter_map(
            places[0],
            {axis.var: axis.dom for axis in space},
            check_level=IterMapLevel.Surjective,
            simplify_trivial_iterators=False,
        )
        if found.errors:
            return None
        if input_iter is None:
            raise NotInvertible(f"where {input_name!r} is read could not be told from what it is computed from")
        if len(found.indices) != len(input_iter):
            raise InternalError(_why_ranks_differ(self, input_name, len(found.indices), len(input_iter)))
        axis_values = inverse_affine_iter_map(found.indices, input_iter)
        return [_value_or_anywhere(axis, axis_values) for axis in space]

    # -- Addition to the class -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        reads = ", ".join(self.dependent_region)
        return f"<Statement, {self.dep_name} of {reads or 'nothing'}>"


# vendored: carver/roller/shape_inference/tir.py:43-44
def _merge_two_bounds(x: ConstIntBound, y: ConstIntBound) -> ConstIntBound:
    """The least bound that covers both."""
    lowest = y.min_value if y.min_value < x.min_value else x.min_value
    highest = y.max_value if y.max_value > x.max_value else x.max_value
    return ConstIntBound(lowest, highest)


# vendored: carver/roller/shape_inference/tir.py:47-73
class TensorDepNode:
    """A tensor in the dependency graph, with its direct consumers (``_next``) and producers (``_prev``), each once."""

    # vendored: carver/roller/shape_inference/tir.py:52-55
    def __init__(self, name: str) -> None:
        self.name = name
        self._next: list[TensorDepNode] = []
        self._prev: list[TensorDepNode] = []

    # vendored: carver/roller/shape_inference/tir.py:57-59
    def add_next(self, node: TensorDepNode) -> None:
        self._next.append(node)
        self.deduplicate(self._next)

    # vendored: carver/roller/shape_inference/tir.py:61-63
    def add_prev(self, node: TensorDepNode) -> None:
        self._prev.append(node)
        self.deduplicate(self._prev)

    # vendored: carver/roller/shape_inference/tir.py:65-67
    def deduplicate(self, lst: list[TensorDepNode]) -> None:
        """Keep the first of each, in place."""
        lst[:] = dict.fromkeys(lst)

    # vendored: carver/roller/shape_inference/tir.py:69-70
    def __str__(self) -> str:
        return self.name

    # vendored: carver/roller/shape_inference/tir.py:72-73
    def __repr__(self) -> str:
        return self.name


# vendored: carver/roller/shape_inference/tir.py:76-161
class DependencyAnalysis:
    """Which tensor is computed from which, over the given statements."""

    # vendored: carver/roller/shape_inference/tir.py:77-81
    def __init__(self, deps: Sequence[Statement]) -> None:
        self.deps = deps
        # Two stages may write buffers of one name.
        self.name2dep = self._construct_unique_name2dep(deps)
        self.mapping: dict[str, TensorDepNode] = {}

    # vendored: carver/roller/shape_inference/tir.py:83-102
    def _construct_unique_name2dep(self, deps: Sequence[Statement]) -> dict[str, Statement]:
        """The statements by the buffer they write; later ones of a name get _1, _2, ... (apache/tvm issue 16433)."""
        name2dep: dict[str, Statement] = {}
        for dep in deps:
            name = base_name = _written_buffer(dep).name
            suffix = 0
            while name in name2dep:
                suffix += 1
                name = f"{base_name}_{suffix}"
            name2dep[name] = dep
        return name2dep

    # vendored: carver/roller/shape_inference/tir.py:104-107
    def get_or_create_node(self, name: str) -> TensorDepNode:
        node = self.mapping.get(name)
        if node is None:
            node = self.mapping[name] = TensorDepNode(name)
        return node

    # vendored: carver/roller/shape_inference/tir.py:109-120
    def traverse_dependencies(self, compute: Statement | Buffer) -> TensorDepNode:
        """The node of a statement's output, connected with its inputs, or of a buffer."""
        if isinstance(compute, Buffer):
            return self.get_or_create_node(compute.name)
        node = self.get_or_create_node(_written_buffer(compute).name)
        for buffer in compute.block_analyzer.get_input_buffers(compute.block):
            source = self.traverse_dependencies(buffer)
            source.add_next(node)
            node.add_prev(source)
        return node

    # vendored: carver/roller/shape_inference/tir.py:122-125
    def analyze(self) -> None:
        """Connect all statements."""
        for compute in self.name2dep.values():
            self.traverse_dependencies(compute)

    # vendored: carver/roller/shape_inference/tir.py:127-129
    def print_dependencies(self) -> None:
        for name, node in self.mapping.items():
            producers = ", ".join(producer.name for producer in node._prev)
            print(f"{name} depends on {producers}")

    # vendored: carver/roller/shape_inference/tir.py:131-140
    def find_path_from_source(self, start_name: str, target_name: str) -> list[TensorDepNode]:
        """The tensors from one to another along consumers, both ends included; [] if there is no way.

        The first way found depth first.
        """
        path: list[TensorDepNode] = []
        found = self._find_path_recursive(self.mapping[start_name], target_name, set(), path)
        return path if found else []

    # vendored: carver/roller/shape_inference/tir.py:142-161
    def _find_path_recursive(
        self, current_node: TensorDepNode, target_name: str, visited: set[str], path: list[TensorDepNode]
    ) -> bool:
        """Whether the target can be reached from here; ``path`` is then extended by the way."""
        name = current_node.name
        if name != target_name and name in visited:
            return False
        path.append(current_node)
        if name == target_name:
            return True
        visited.add(name)
        for consumer in current_node._next:
            if self._find_path_recursive(consumer, target_name, visited, path):
                return True
        path.pop()
        return False

    # -- Addition to the class -------------------------------------------------------------------------------------

    @property
    def graph(self) -> networkx.DiGraph:
        """The tensors by name, with an edge from each producer to each consumer, in the order of the analysis.

        Built when asked: the search does not need it, and importing networkx takes longer than most searches.
        """
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.mapping)
        for name, node in self.mapping.items():
            graph.add_edges_from((name, consumer.name) for consumer in node._next)
        return graph


# vendored: carver/roller/shape_inference/tir.py:164-296
class InputShapeInference:
    """Region propagation for one function. ``deps`` are its blocks in program order."""

    # vendored: carver/roller/shape_inference/tir.py:165-174
    def __init__(self, deps: Sequence[Statement]) -> None:
        self.deps = deps
        self.target_mapping: dict[tuple[str, ...], tuple[list[list[Var]], dict[str, list[Region]]]] = {}
        self.buffer_mapping: dict[str, Buffer] = {}
        self.reduce_axes: list[IterInfo] = []
        for dep in self.deps:
            self.reduce_axes += dep.block_analyzer.get_reduce_axis(dep.block)
        self.dep_analysis = DependencyAnalysis(self.deps)
        self.dep_analysis.analyze()
        # Additions: what `infer` finds out once, by outputs, and by reduction steps.
        self._places: dict[tuple[str, ...], Places] = {}
        self._known_reduce_extents: dict[tuple[tuple[str, int], ...], list[int]] = {}

    # vendored: carver/roller/shape_inference/tir.py:176-226
    def construct_dependency_target(
        self, targets: tuple[str, ...]
    ) -> tuple[list[list[Var]], dict[str, list[Region]]]:
        """The variables that stand for an element of each target, and the places of all buffers in terms of them.

        ``targets`` are names of buffers that the blocks write. A buffer may have several places: its region covers all.
        """
        if targets in self.target_mapping:
            return self.target_mapping[targets]

        name2dep = {_written_buffer(dep).name: dep for dep in self.deps}
        input_vars = [_axis_vars(name2dep[target]) for target in targets]
        mapping: dict[str, list[Region]] = {}
        for target, variables in zip(targets, input_vars):
            mapping[target] = [variables]
        ana = Analyzer()

        # Forwards: what follows the targets is written where it reads what is known already.
        for dep in self.deps:
            for name in dep.dependent_region:
                if name not in mapping:
                    continue
                output_indices = dep.make_reverse(name, mapping[name][0])
                if dep.dep_name in targets:
                    continue
                known = mapping.get(dep.dep_name)
                if known is None:
                    mapping[dep.dep_name] = [output_indices]
                elif not _is_known(output_indices, known, dep.dep_name):
                    known.append(output_indices)

        # Backwards: each block reads its inputs where its iterators take it.
        for dep in reversed(self.deps):
            if dep.dep_name not in mapping:
                raise NotConnected(f"the stage {dep.dep_name!r} neither feeds nor follows {', '.join(targets)}")
            axes = _axis_vars(dep)
            for input_name, places in dep.dependent_region.items():
                if input_name in targets:
                    continue
                known = mapping.setdefault(input_name, [])
                for indices in mapping[dep.dep_name]:
                    for place in places:
                        vmap = {axis: _cast_to(axis, index) for axis, index in zip(axes, _told(indices, dep.dep_name))}
                        region = [ana.simplify(substitute(index, vmap)) for index in place]
                        if not _is_known(region, known, input_name):
                            known.append(region)

        for dep in self.deps:
            for buffer in dep.block_analyzer.get_buffers(dep.block):
                self.buffer_mapping[buffer.name] = buffer

        self.target_mapping[targets] = input_vars, mapping
        return input_vars, mapping

    # vendored: carver/roller/shape_inference/tir.py:228-278
    def infer(
        self,
        shape: dict[str, Sequence[ConstIntBound]],
        rstep: dict[str, int] | None = None,
        targets: Iterable[str] | None = None,
    ) -> tuple[dict[str, list[int]], dict[str, str]]:
        """The extents of every buffer's region when an output's element runs over ``shape``.

        ``shape`` gives, by name of the output, bounds for each axis; ``rstep`` by name of variable the steps of those
        reduction axes that do not run over their whole domain; ``targets`` the buffers asked for, all if None.
        Extents span from the least to the greatest index. The second dict has the buffers whose region was taken
        from a stage on the way to the only output, with the output's name.
        """
        extents = [[bound.max_value - bound.min_value + 1 for bound in bounds] for bounds in shape.values()]
        starts = [[bound.min_value for bound in bounds] for bounds in shape.values()]
        regions = self.regions(tuple(shape), extents, rstep or {}, starts)
        results: dict[str, list[int]] = {}
        intermediate_bind: dict[str, str] = {}
        for name in regions.places.mapping:
            if targets is not None and name not in targets:
                continue
            if regions.places.is_taken_from_between(name):
                intermediate_bind[name] = next(iter(shape))
            if regions.places.of(name):
                results[name] = regions[name].copy()
        return results, intermediate_bind

    # vendored: carver/roller/shape_inference/tir.py:280-296
    def get_input_exprs(self, output_exprs: dict[str, Sequence[PrimExpr]]) -> dict[str, list[PrimExpr]]:
        """Where every buffer is first touched when each output is computed at the given place, reductions at 0."""
        input_vars, mapping = self.construct_dependency_target(tuple(output_exprs))
        ana = Analyzer()
        for axis in self.reduce_axes:
            ana.bind(axis.var, IntImm(axis.var.dtype, 0))
        vmap: dict[Var, PrimExpr] = {}
        for variables, exprs in zip(input_vars, output_exprs.values()):
            vmap.update((var, _cast_to(var, expr)) for var, expr in zip(variables, exprs))
        result = {}
        for name, regions in mapping.items():
            result[name] = [ana.simplify(substitute(index, vmap)) for index in regions[0]]
        return result

    # -- Additions to the class: the parts of `infer` ------------------------------------------------------------------

    def regions(
        self,
        compute_targets: tuple[str, ...],
        tiles: Sequence[Sequence[int]],
        rstep: dict[str, int],
        starts: Sequence[Sequence[int]] | None = None,
    ) -> Regions:
        """The extents of every buffer's region, each to be worked out when it is asked for.

        ``tiles`` gives, for each output, the extent along each axis; ``starts`` where it starts, all 0 if None.
        """
        places = self.places(compute_targets)
        extents: list[int | None] = []
        for variables, tile in zip(places.input_vars, tiles):
            extents += tile if len(tile) == len(variables) else _fit(tile, len(variables))
        extents += self.reduce_extents(rstep)
        if starts is None or not any(any(values) for values in starts):
            return Regions(places, extents, places.starts)
        given: list[int | None] = []
        for variables, values in zip(places.input_vars, starts):
            given += _fit(values, len(variables))
        return Regions(places, extents, [*given, *places.starts[len(given) :]])

    def places(self, compute_targets: tuple[str, ...]) -> Places:
        """Where every buffer is accessed, in terms of the axes of these outputs."""
        places = self._places.get(compute_targets)
        if places is None:
            places = self._places[compute_targets] = Places(self, compute_targets)
        return places

    def reduce_extents(self, rstep: dict[str, int] | None) -> list[int]:
        """How far each reduction axis runs: its steps where these are fewer than its extent."""
        try:
            key = tuple(rstep.items()) if rstep else ()
        except AttributeError:
            return self.reduce_extents(self.steps_in(rstep))
        extents = self._known_reduce_extents.get(key)
        if extents is None:
            extents = []
            for axis in self.reduce_axes:
                _, extent = _constant_domain(axis)
                wanted = (rstep or {}).get(axis.var.name, extent)
                try:
                    steps = operator.index(min(extent, wanted))
                except TypeError:
                    message = f"the steps of the axis {axis.var.name} must be an integer, not {shown(wanted)}"
                    raise NotAConstantDomain(message) from None
                extents.append(int(steps))
            self._known_reduce_extents[key] = extents
        return extents

    def steps_in(self, rstep: Any) -> dict[str, int]:
        """The steps in anything that is no dict: carver only looks axes up in it, so a text or a list may do."""
        names = [axis.var.name for axis in self.reduce_axes]
        try:
            return {name: rstep[name] for name in names if name in rstep}
        except (TypeError, LookupError):
            raise NotAConstantDomain(f"reduction steps are a dictionary by axis, not {shown(rstep)}") from None


# vendored: carver/roller/shape_inference/tir.py:299-308
def region_exist_in_list(a: Region, list: Sequence[Region]) -> bool:
    """Whether a place is among others: index by index the same constant or structure, over the shorter of the two."""
    for region in list:
        if all(_is_same_index(index, other) for index, other in zip(a, region)):
            return True
    return False


# vendored: carver/roller/shape_inference/tir.py:311-331
def walk_indice(expr: PrimExpr) -> PrimExpr | None:
    """The index itself, if it is made of variables, constants, arithmetic and casts; None if it holds a call or a load
    of a tensor. CarverError for anything else, as a load from a buffer."""
    if isinstance(expr, (Call, ProducerLoad)):
        return None
    if isinstance(expr, (Var, IntImm, FloatImm, StringImm)):
        return expr
    if isinstance(expr, Cast):
        parts = [expr.value]
    elif isinstance(expr, BinaryOpExpr) and not isinstance(expr, CmpExpr):
        parts = [expr.a, expr.b]
    else:
        raise UnhandledIndex(
            f"Unhandled node type in walk_indice(): {expr} ({type(expr).__name__}); an index is made of variables, "
            "constants, arithmetic, casts and calls"
        )
    # All parts are looked at, even after one is unknown: a later one may have to be refused.
    are_known = [walk_indice(part) is not None for part in parts]
    return expr if all(are_known) else None


# vendored: carver/roller/shape_inference/tir.py:334-367
def _extract_dependent_region(block_analyzer: BlockAnalyzer, block: SBlockRV) -> dict[str, list[Region]]:
    """For each input buffer of a block the different places where it is read, in the order of a walk."""
    dependent_region: dict[str, list[Region]] = {
        buffer.name: [] for buffer in block_analyzer.get_input_buffers(block)
    }

    def visit(node: Any) -> None:
        if not isinstance(node, BufferLoad) or node.buffer.name not in dependent_region:
            return
        place: Region = []
        for index, extent in zip(node.indices, node.buffer.shape):
            known = walk_indice(index)
            if known is None:
                # It may be anywhere along the axis; a new variable each time, so that no two such places are one.
                known = Var("undefined", dtype="int8") % extent
            if isinstance(known, IntImm) and known.value == 0:
                # After a rewrite to matmul the batch axis is gone from the loops but still there in the buffers
                # (A_reindex[0, v0, v2]): it is no axis of the place.
                continue
            place.append(known)
        places = dependent_region[node.buffer.name]
        if not region_exist_in_list(place, places):
            places.append(place)

    post_order_visit(block_analyzer.sch.get(block), visit)
    return dependent_region


# vendored: carver/roller/shape_inference/tir.py:370-373
def get_analyzer_by_tir(block_analyzer: BlockAnalyzer, args: Iterable[SBlockRV]) -> InputShapeInference:
    """The region propagation over the given blocks, in program order."""
    return InputShapeInference([Statement(block_analyzer, block) for block in args])


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


class UnhandledIndex(CarverError):
    """A block reads a buffer at a place that region propagation cannot follow."""


class NotInvertible(CarverError, TypeError):
    """A stage after the tiled one reads it so that its own tile is not told."""


class NotConnected(CarverError, KeyError):
    """A stage has no part in the tiled output."""


class Index:
    """An index of a place, to be bounded for many tiles.

    Its bound depends on the extents of its own variables only, and these take few values over a search, so every
    answer is kept. ``positions`` are the places of its variables among all, ``plain`` the one of the variable where
    the index is nothing else.
    """

    __slots__ = ("expr", "positions", "plain", "_variables", "_evaluate", "_known")

    def __init__(self, expr: PrimExpr, position_of: dict[Var, int]) -> None:
        # A variable that is neither an output's axis nor a reduction axis may be anything its dtype holds.
        self._variables = [var for var in undefined_vars(expr) if var in position_of]
        self.expr = expr
        self.positions = [position_of[var] for var in self._variables]
        self.plain: int | None = position_of.get(expr) if isinstance(expr, Var) else None
        self._evaluate: Callable[[Sequence[Bound | None]], Bound] | None = None
        self._known: dict[tuple[int | None, ...], Bound] = {}

    def bound(self, regions: Regions) -> Bound:
        """The least and the greatest value."""
        extents = regions.extents
        key = tuple([extents[position] for position in self.positions])
        if regions.starts is not regions.places.starts:
            return self._analyze(key, regions.starts)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._analyze(key, regions.starts)
        return found

    def _analyze(self, extents: tuple[int | None, ...], starts: Sequence[int]) -> Bound:
        if self._evaluate is None:
            self._evaluate = compile_bound(self.expr, self._variables)
        bounds: list[Bound | None] = []
        for position, extent in zip(self.positions, extents):
            start = starts[position]
            bounds.append(None if extent is None else (start, start + extent - 1))
        return self._evaluate(bounds)

    def __repr__(self) -> str:
        return f"<Index {self.expr}>"


class Places:
    """Where every buffer is accessed, in terms of the axes of some outputs, ready to be bounded.

    ``input_vars`` are the axes of each output, ``mapping`` the places of each buffer, ``starts`` the first value of
    each variable: the outputs' axes, then the reduction axes.
    """

    def __init__(self, inference: InputShapeInference, compute_targets: tuple[str, ...]) -> None:
        self.input_vars, self.mapping = inference.construct_dependency_target(compute_targets)
        self._compute_targets = compute_targets
        self._dep_analysis = inference.dep_analysis
        axes = [var for variables in self.input_vars for var in variables]
        reductions = inference.reduce_axes
        # No variable is both an output's axis and a reduction axis.
        variables = [*axes, *(axis.var for axis in reductions)]
        self._position_of = {var: position for position, var in enumerate(variables)}
        self.starts: list[int] = [0] * len(axes) + [_constant_domain(axis)[0] for axis in reductions]
        self._indices: dict[str, list[list[Index]]] = {}
        self._plain: dict[str, list[int]] = {}
        self._known_regions: dict[str, tuple[dict[tuple[int | None, ...], list[int]], list[int]]] = {}
        self._taken_from_between: set[str] = set()

    def of(self, name: str) -> list[list[Index]]:
        """The places of a buffer. KeyError for one that the outputs have nothing to do with."""
        indices = self._indices.get(name)
        if indices is None:
            places = [_told(place, name) for place in self.mapping[name]]
            if len(self._compute_targets) == 1:
                places = self._replace_by_stage_between(name, self._compute_targets[0])
            indices = self._indices[name] = [[Index(index, self._position_of) for index in place] for place in places]
            if len(indices) == 1 and all(index.plain is not None for index in indices[0]):
                self._plain[name] = [index.plain for index in indices[0]]
        return indices

    @functools.cached_property
    def are_all_plain(self) -> bool:
        """Whether every buffer has one place, and each index there is a variable."""
        if any(None in places for places in self.mapping.values()):
            return False
        return all(len(self.of(name)) == 1 and self.plain(name) is not None for name in self.mapping)

    def plain(self, name: str) -> list[int] | None:
        """The positions of the variables where a buffer has one place and each index is a variable, else None."""
        return self._plain.get(name)

    def known_regions(self, name: str) -> tuple[dict[tuple[int | None, ...], list[int]], list[int]]:
        """The regions of a buffer that were worked out, by extents of the variables at the given positions."""
        known = self._known_regions.get(name)
        if known is None:
            positions = {position for place in self.of(name) for index in place for position in index.positions}
            known = self._known_regions[name] = {}, sorted(positions)
        return known

    def rank(self, name: str) -> int:
        """The number of extents that the buffer's region has."""
        return min((len(place) for place in self.of(name)), default=0)

    def is_taken_from_between(self, name: str) -> bool:
        """Whether the buffer's place is that of a stage on the way to the output."""
        if name not in self._indices:
            self.of(name)
        return name in self._taken_from_between

    def _replace_by_stage_between(self, name: str, compute_target: str) -> list[Region]:
        """A buffer that reaches the output through stages of as many axes takes the place of the last such stage.

        What is cached is then laid out as the stage in between has it, in one place, whatever the buffer's own.
        """
        places = self.mapping[name]
        path = self._dep_analysis.find_path_from_source(name, compute_target)
        for node in path[1:-1]:
            others = self.mapping[node.name]
            if len(others) != len(places) or len(others) != 1:
                continue
            if len(others[0]) != len(places[0]):
                break
            places = others
            self._taken_from_between.add(name)
        return places


class Regions(dict):
    """The extents of each buffer's region by name, for one tile: worked out when first asked for.

    ``extents`` are those of the variables, in the order of ``places.starts``, None for one without a bound. KeyError
    for a buffer that has no place.
    """

    __slots__ = ("places", "extents", "starts")

    def __init__(self, places: Places, extents: list[int | None], starts: list[int]) -> None:
        self.places = places
        self.extents = extents
        self.starts = starts

    def is_taken_from_between(self, name: str) -> bool:
        return self.places.is_taken_from_between(name)

    def __missing__(self, name: str) -> list[int]:
        extents = self.extents
        plain = self.places.plain(name)
        if plain is not None:
            region = [extents[position] for position in plain]
            if None not in region:
                self[name] = region
                return region
        if self.starts is not self.places.starts:
            region = self._cover_all_places(name)
        else:
            # Mostly the region depends on few of the variables, and is known from another tile.
            known, positions = self.places.known_regions(name)
            key = tuple([extents[position] for position in positions])
            region = known.get(key)
            if region is None:
                region = known[key] = self._cover_all_places(name)
        self[name] = region
        return region

    def _cover_all_places(self, name: str) -> list[int]:
        places = self.places.of(name)
        if not places:
            raise KeyError(name)
        merged = [index.bound(self) for index in places[0]]
        for place in places[1:]:
            # Over the shorter of the two.
            merged = [_merge(x, index.bound(self)) for x, index in zip(merged, place)]
        return [highest - lowest + 1 for lowest, highest in merged]


def _merge(x: Bound, y: Bound) -> Bound:
    """The least bound that covers both: ``_merge_two_bounds``, for pairs of numbers."""
    return min(x[0], y[0]), max(x[1], y[1])


def _fit(values: Sequence[int], count: int) -> list[int | None]:
    """The first ``count`` values; None for those that are missing."""
    return [*values[:count], *[None] * (count - len(values))]


def _why_ranks_differ(dep: Statement, name: str, reads: int, known: int) -> str:
    """Mostly because two tensors have one name, as with the templates' ``with_bias``."""
    text = f"the stage {dep.dep_name!r} reads {name!r} along {reads} axes, and it is known with {known}"
    analyzer, sch = dep.block_analyzer, dep.block_analyzer.sch
    blocks = sch.get_child_blocks(sch.get_sblock("root"))
    named_so = {buffer for block in blocks for buffer in analyzer.get_buffers(block) if buffer.name == name}
    if len(named_so) == 1:
        return (
            f"{text}: an index that is always 0 counts as no axis in one place and as one in the other, "
            "as with an extent of 1 beside one of 2**31 or more"
        )
    example = ", as with with_bias the bias and the stage that adds it" if name == "Bias" else ""
    return (
        f"{text}: {len(named_so)} tensors are called {name!r}{example}, and carver tells tensors apart by their names "
        "(roller/shape_inference/tir.py); write the function with te and give each placeholder and each stage a name "
        "of its own"
    )


def _written_buffer(dep: Statement) -> Buffer:
    return dep.block_analyzer.get_output_buffers(dep.block)[0]


def _axis_vars(dep: Statement) -> list[Var]:
    return [axis.var for axis in dep.block_analyzer.get_spatial_axis(dep.block)]


def _value_or_anywhere(axis: IterInfo, values: dict[Var, PrimExpr]) -> PrimExpr:
    """The axis's value; where the map is not one to one and has none, a new variable within the axis."""
    if axis.var in values:
        return values[axis.var]
    return Var("undefined", dtype="int32") % int(axis.dom.extent)


def _told(indices: Region | None, name: str) -> Region:
    if indices is None:
        raise NotInvertible(
            f"the stage {name!r} comes after the tiled one and reads it so that its own tile is not told: "
            "it reduces, reads one tensor at several places, or at a place its axes do not map onto"
        )
    return indices


def _is_known(indices: Region | None, known: Sequence[Region | None], name: str) -> bool:
    return region_exist_in_list(_told(indices, name), [_told(place, name) for place in known])


def _cast_to(var: Var, expr: PrimExpr) -> PrimExpr:
    return expr if expr.dtype == var.dtype else Cast(var.dtype, expr)


def _is_same_index(a: PrimExpr, b: PrimExpr) -> bool:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value
    return structural_equal(a, b)


def _constant_domain(axis: IterInfo) -> tuple[int, int]:
    domain = axis.dom
    for end in (domain.min, domain.extent):
        if not isinstance(end, IntImm):
            raise NotAConstantDomain(f"the reduction axis {axis.var.name} has the domain {domain}, not a constant one")
    return domain.min.value, domain.extent.value


class NotAConstantDomain(CarverError, TypeError):
    """A reduction axis runs over a domain that is not constant."""
