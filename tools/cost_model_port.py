"""``carver cost-model --against-port``: the closed-form model's candidates, priced by carver's own policy.

Carver prices a tile (block_M, block_N) with a reduction step that it chooses once per search, so all candidates that
differ in block_K alone have the same figures there.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..arch.errors import CarverError, MissingFigureError, shown
from ..policy import DefaultPolicy, TensorCorePolicy
from . import cost_model
from .agreement import Agreement, agreement
from .cases import plain
from .cost_model import Candidate, Gemm, watched
from .display import Column, by, number, plural, table, width_of, wrapped
from .explain import count_registers
from .search import priority, search_template


@dataclass(frozen=True, slots=True)
class PortPrice:
    """What carver computes for a tile. What an invalid one does not get to is None."""

    tile: tuple[int, int]
    """(block_M, block_N)"""
    traffic: float
    """Bytes that one tile moves, in whole transactions, over the whole of K: what carver ranks by."""
    grid_traffic: float
    """The same times the grid, to be set against the model's."""
    smem: int
    registers: int | None
    rejected: str | None
    """"shared memory" or "registers"; None for a valid tile."""
    blocks_per_sm: int | None = None
    waves: int | None = None
    priority: float | None = None
    """(traffic + 1) x waves, less is better."""


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate in both models."""

    model: Candidate
    carver: PortPrice

    @property
    def is_valid_in_both(self) -> bool:
        """Whether both accept it."""
        return self.model.rejected is None and self.carver.rejected is None


@dataclass(frozen=True, slots=True)
class Figure:
    """How often, and how far, one figure differs among the candidates valid in both."""

    name: str
    differ: int
    least: float | None
    """The least of carver's figure over the model's; None where no candidate is valid in both."""
    most: float | None
    model: str
    """What the model counts."""
    carver: str
    """What carver counts."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All candidates in both models."""

    policy: str
    rstep: int
    """Carver's reduction step, the same for every tile."""
    stages: int
    """Of the pipeline; each has shared memory of its own."""
    first_hint: tuple[int, ...] | None
    """The tile of the first hint of carver's search, which takes other tiles than the candidates' too."""
    rows: list[Row]
    validity: dict[str, int]
    """How many candidates are valid in "both", in the "model" alone, in "carver" alone, in "neither"."""
    figures: tuple[Figure, ...]
    orders: dict[str, Agreement]
    """Of the candidates valid in both: an order of the model's, against carver's as the second. "model" is its own,
    "at_rstep" that of the candidates whose block_K is carver's step; "carver_traffic" and "carver_waves" have one of
    the two factors of the priority from carver, so that what is opposite is due to the other."""


def compare(gemm: Gemm, device: Any) -> Comparison:
    """Price all candidates in both models, for the limits of ``device``.

    CarverError for more tiles than carver can count.
    """
    if gemm.m * gemm.n >= 2**63:
        raise CarverError(f"carver counts tiles in 64 bits: M x N must be below 2**63, and is {gemm.m * gemm.n}")
    search = search_template(cost_model.gemm_template(gemm).with_arch(device), device, 1)
    policy = search.policy
    rstep_map = {node: policy._assign_reduce_step(node) for node in policy.ordered_nodes}
    [[rstep]] = [steps.values() for steps in rstep_map.values()]
    stages = policy.pipeline_stage if isinstance(policy, TensorCorePolicy) else 1
    prices: dict[tuple[int, int], PortPrice] = {}
    rows = []
    for candidate in watched(cost_model.candidates(gemm), cost_model.count_candidates(gemm)):
        tile = candidate.block[:2]
        if tile not in prices:
            prices[tile] = price_tile(policy, rstep_map, tile, candidate.grid)
        rows.append(Row(candidate, prices[tile]))
    both = [row for row in rows if row.is_valid_in_both]
    return Comparison(
        policy=type(policy).__name__,
        rstep=rstep,
        stages=stages,
        first_hint=tuple(search.hints[0].tile.output_tile) if search.hints else None,
        rows=rows,
        validity=_validity(rows),
        figures=tuple(_figures(gemm, policy, rstep, stages, both)),
        orders=_orders(both, rstep),
    )


def price_tile(policy: DefaultPolicy, rstep_map: dict, tile: tuple[int, int], grid: int) -> PortPrice:
    """Carver's figures of a tile. ``grid`` is the number of tiles."""
    td = policy.compute_tile_dict(list(tile), rstep_map)
    traffic, grid_traffic, smem = plain(td.traffic), plain(td.traffic * grid), int(td.smem_cost)
    if smem > policy.arch.smem_cap:
        return PortPrice(tile, traffic, grid_traffic, smem, None, "shared memory")
    registers = count_registers(policy, td).demand
    if not td.valid:
        return PortPrice(tile, traffic, grid_traffic, smem, registers, "registers")
    blocks_per_sm, waves = int(td.block_per_SM), int(td.num_wave)
    return PortPrice(tile, traffic, grid_traffic, smem, registers, None, blocks_per_sm, waves, plain(priority(td)))


def _validity(rows: list[Row]) -> dict[str, int]:
    counts = Counter((row.model.rejected is None, row.carver.rejected is None) for row in rows)
    names = {"both": (True, True), "model": (True, False), "carver": (False, True), "neither": (False, False)}
    return {name: counts[where] for name, where in names.items()}


def _figures(gemm: Gemm, policy: DefaultPolicy, rstep: int, stages: int, both: list[Row]) -> Iterator[Figure]:
    write, read = policy.arch.transaction_size
    transactions = f"whole transactions, {read} B read, {write} B written"
    if gemm.n > gemm.k:
        transactions += "; C's tile cut to K columns"  # by the shape of A, a defect of carver's
    depth = f"tiles of A and B, {rstep} deep" + (f", {stages} stages" if stages > 1 else "")
    bits, limit = policy.prim_func_node.get_dtype().bits, policy.arch.reg_cap
    registers = f"C's tile, {bits} bits" + (f", {number(limit)} allowed" if limit != cost_model.REGISTERS else "")

    def figure(name: str, pairs: list[tuple], model: str = "", carver: str = "") -> Figure:
        ratios = [theirs / ours for ours, theirs in pairs]
        differ = sum(ours != theirs for ours, theirs in pairs)
        return Figure(name, differ, min(ratios, default=None), max(ratios, default=None), model, carver)

    traffic = [(row.model.traffic, row.carver.grid_traffic) for row in both]
    yield figure("traffic, grid", traffic, "every byte once", transactions)
    for attribute, name, ours, theirs in (
        ("smem", "smem", "tiles of A and B, block_K deep", depth),
        ("registers", "registers", f"the largest of three tiles, {cost_model.ACCUMULATOR_BITS} bits", registers),
        ("blocks_per_sm", "blk/SM", "", ""),
        ("waves", "waves", "", ""),
    ):
        pairs = [(getattr(row.model, attribute), getattr(row.carver, attribute)) for row in both]
        yield figure(name, pairs, ours, theirs)


def _orders(both: list[Row], rstep: int) -> dict[str, Agreement]:
    whole = [(row.model.priority, row.carver.priority) for row in both]
    at_rstep = [prices for row, prices in zip(both, whole) if row.model.block[2] == rstep]
    with_traffic = [((row.carver.traffic + 1) * row.model.waves, row.carver.priority) for row in both]
    with_waves = [((row.model.traffic + 1) * row.carver.waves, row.carver.priority) for row in both]
    return {
        "model": agreement(Counter(whole)),
        "at_rstep": agreement(Counter(at_rstep)),
        "carver_traffic": agreement(Counter(with_traffic)),
        "carver_waves": agreement(Counter(with_waves)),
    }


# ---------------------------------------------------------------------------------------------------------------------
# As text


def run(gemm: Gemm, device: Any, args: argparse.Namespace) -> int:
    """The comparison on stdout; exit code 1 where no candidate is valid in both."""
    try:
        found = compare(gemm, device)
    except MissingFigureError:  # the size of the L2 cache, which an architecture leaves open
        name = shown(args.arch)
        raise CarverError(
            f"{name} names no particular device, and carver's policy reads more of it than its cores: "
            "name one (carver devices lists them)"
        ) from None
    if args.json:
        _print_json(found, cost_model.head_of(gemm, args))
    else:
        print(*cost_model.head_lines(gemm, args), sep="\n")
        for line in comparison_lines(found, width_of(args)):
            print(line)
    return 0 if found.validity["both"] else 1


def _print_json(found: Comparison, head: dict[str, Any]) -> None:
    """One object; its rows stand one on a line, and are encoded as they are written, for there may be many."""
    rest = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "rows"}
    text = json.dumps({**head, **rest}, indent=1, allow_nan=False, default=_plain)
    print(text.removesuffix("\n}") + ',\n "rows": [', end="")
    for position, row in enumerate(watched(iter(found.rows), len(found.rows))):
        print(",\n " if position else "\n ", json.dumps(asdict(row), allow_nan=False), end="")
    print("\n ]\n}")


def _plain(value: Any) -> dict[str, Any]:
    return value.as_dict() if isinstance(value, Agreement) else asdict(value)


def comparison_lines(found: Comparison, columns: int) -> Iterator[str]:
    """The comparison as text."""
    stages = f", {found.stages} stages" if found.stages > 1 else ""
    hint = f"; first hint {by(found.first_hint)}" if found.first_hint else "; no hint"
    yield from wrapped(f"carver: {found.policy}, reduction step {found.rstep} for any block_K{stages}{hint}", columns)
    yield ""
    yield from _validity_lines(found, columns)
    both = [row for row in found.rows if row.is_valid_in_both]
    if not both:
        yield "no candidate to compare"
        return
    yield ""
    yield from _figure_lines(found, columns)
    yield ""
    yield from _order_lines(found, columns)
    yield ""
    yield from _first_lines(both, columns)


def _validity_lines(found: Comparison, columns: int) -> Iterator[str]:
    where = {name: number(count) for name, count in found.validity.items()}
    yield from wrapped(
        f"valid  {where['both']} in both, {where['model']} in the model alone, {where['carver']} in carver alone, "
        f"{where['neither']} in neither",
        columns,
        0,
        7,
    )
    kinds: dict[tuple, list[Row]] = {}
    for row in found.rows:
        if (row.model.rejected is None) != (row.carver.rejected is None):
            kinds.setdefault((row.model.rejected, row.carver.rejected), []).append(row)
    for (by_model, by_carver), rows in kinds.items():
        reason, here, there = (by_model, "model", "carver") if by_model else (by_carver, "carver", "model")
        name = {"shared memory": "smem", "registers": "registers"}[reason]
        first = {"model": rows[0].model, "carver": rows[0].carver}
        demands = f"{number(getattr(first[here], name))} there, {number(getattr(first[there], name))} in {there}"
        text = f"{number(len(rows))} rejected on {reason} in {here} alone: {by(first['model'].block)} takes {demands}"
        yield from wrapped(text, columns, 7, 9)


def _figure_lines(found: Comparison, columns: int) -> list[str]:
    titles = [Column("figure"), Column("differs", ">"), Column("carver / model", ">"), Column("what is counted")]
    rows = []
    for figure in found.figures:
        differs = f"{number(figure.differ)} of {number(found.validity['both'])}"
        counted = f"model: {figure.model}; carver: {figure.carver}" if figure.model else ""
        rows.append((figure.name, differs, f"{figure.least:.3g} to {figure.most:.3g}", counted))
    return table(titles, rows, columns)


def _order_lines(found: Comparison, columns: int) -> list[str]:
    names = {
        "model": "as it is",
        "at_rstep": f"block_K {found.rstep}",
        "carver_traffic": "carver traffic",
        "carver_waves": "carver waves",
    }
    rows = []
    for key, order in found.orders.items():
        share = f"{order.opposite / order.pairs:.1%}" if order.pairs else "-"
        pairs, same, opposite, *ties = map(number, asdict(order).values())
        rows.append((names[key], pairs, same, opposite, share, *ties))
    # All the counts of a row add up to its pairs, so the share gives way before any of them.
    titles = [Column("model, with"), *(Column(title, ">") for title in ("pairs", "same", "opposite"))]
    titles += [Column("", ">", 2), *(Column(title, ">", 1) for title in ("model tie", "carver tie", "both tie"))]
    return table(titles, rows, columns)


def _first_lines(both: list[Row], columns: int) -> Iterator[str]:
    """The first candidate of either order, with its figures and its place in both."""
    ours = min(both, key=lambda row: row.model.priority)
    theirs = min(both, key=lambda row: row.carver.priority)
    firsts = {"first in both": ours} if ours is theirs else {"first in the model": ours, "first in carver": theirs}
    for title, row in firsts.items():
        model, carver = row.model, row.carver
        places = (
            1 + sum(other.model.priority < model.priority for other in both),
            1 + sum(other.carver.priority < carver.priority for other in both),
        )
        yield f"{title}  {by(model.block)}"
        traffic = f"{cost_model.megabytes(model.traffic)} MB by the grid"
        yield from wrapped(f"model   {traffic}, {_run_of(model)}, place {places[0]}", columns, 2, 10)
        traffic = f"{number(carver.traffic)} B by the tile"
        yield from wrapped(f"carver  {traffic}, {_run_of(carver)}, place {places[1]}", columns, 2, 10)


def _run_of(price: Candidate | PortPrice) -> str:
    return f"{price.blocks_per_sm} blk/SM, {plural(price.waves, 'wave')}, priority {price.priority:.2e}"
