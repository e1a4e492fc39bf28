"""An explanation of a tile as text: the sections of ``carver explain``, each also for itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .blocksizes import BlockSize, NodeSplit
from .display import Column, by, can_draw, memory_bar, number, plural, table, wrapped
from .explain import Access, SharedMemory, Span, TileExplanation
from .reasons import describe

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def explanation_lines(explanation: TileExplanation, columns: int) -> Iterator[str]:
    """All sections."""
    for section in (heading, traffic, shared_memory, registers, occupancy, verdict, standing, growth, blocks, hints):
        yield from section(explanation, columns)


def heading(e: TileExplanation, columns: int) -> Iterator[str]:
    extents = ", ".join(f"{name}={part} of {whole}" for name, part, whole in zip(e.axes, e.tile, e.shape))
    verdict = "valid" if e.valid else "invalid"
    yield from wrapped(f"tile {by(e.tile)} by {e.policy} ({extents}): {verdict}", columns, 0, 2)
    if len(e.nodes) > 1:
        rsteps = dict(e.memory.rstep)
        rows = [(name, by(space), by(tile), _steps(rsteps[name])) for name, space, tile in e.nodes]
        yield from table([Column("node"), Column("space axes"), Column("its tile"), Column("steps")], rows, columns, 2)


def traffic(e: TileExplanation, columns: int) -> Iterator[str]:
    yield ""
    yield f"traffic  {number(e.traffic)} B moved from and to global memory"
    several = len(e.nodes) > 1
    titles = [
        Column("node", gives_way=1),
        Column("buffer"),
        Column("access"),
        Column("region"),
        Column("of", gives_way=5),
        Column("elements", ">", gives_way=3),
        Column("coalesced", ">"),
        Column("transaction", ">", gives_way=2),
        Column("moved", ">", gives_way=4),
        Column("bytes", ">"),
    ]
    rows = [_access_row(access, several) for access in e.accesses]
    yield from table(titles, rows, columns, 2)
    for access in e.accesses:
        for note in _access_notes(access):
            yield from wrapped(f"{access.buffer}: {note}", columns, 2, 4)


def _access_notes(access: Access) -> Iterator[str]:
    """What makes a tile cost more, or less, than one would think."""
    if 0 < access.coalesced < access.transaction:
        # Runs that are not whole transactions are paid for as whole ones.
        lie = "element lies" if access.coalesced == 1 else "elements lie"
        ratio = number(access.transaction / access.coalesced)
        short = f"only {access.coalesced} {lie} side by side"
        yield f"{short}, a transaction has {access.transaction}: {ratio} times as much"
    if access.region == access.unclipped:
        return
    if access.access == "write":
        yield f"carver clips {by(access.unclipped)} by the shape of the input of the same number"
    elif len(access.unclipped) != len(access.shape):
        yield f"carver clips {by(access.unclipped)} by the first axes of {by(access.shape)}"


def _access_row(access: Access, several: bool) -> tuple[str, ...]:
    transaction = f"{access.transaction} ({access.transaction_bytes} B)"
    elements, coalesced, moved = number(access.elements), number(access.coalesced), number(access.moved)
    lead = (access.node if several else "", access.buffer, access.access, by(access.region), by(access.shape))
    return (*lead, elements, coalesced, transaction, moved, number(access.nbytes))


def shared_memory(e: TileExplanation, columns: int) -> Iterator[str]:
    yield ""
    yield f"shared memory  {number(e.memory.demand)} B of {number(e.memory.limit)} B per block"
    yield from _memory(e, e.memory, columns)


def _memory(e: TileExplanation, memory: SharedMemory, columns: int) -> Iterator[str]:
    several = len(e.nodes) > 1
    steps = [f"{name}: {_steps(rstep)}" if several else _steps(rstep) for name, rstep in memory.rstep if rstep]
    if steps:
        yield from wrapped(f"reduction steps {'; '.join(steps)}", columns, 2, 4)
    if not memory.cached:
        yield "  nothing is cached"
    else:
        titles = [
            Column("node", gives_way=1),
            Column("buffer"),
            Column("region"),
            Column("bytes", ">"),
            Column("aligned", ">"),
            Column("why"),
        ]
        rows = []
        for item in memory.cached:
            why = {"reduction": "input of the reduction", "broadcast": "used several times"}[item.why]
            aligned = number(item.aligned) if item.counts else "0"
            note = why if item.counts else f"{why}; free of charge after the reduction"
            node = item.node if several else ""
            rows.append((node, item.buffer, by(item.region), number(item.nbytes), aligned, note))
        yield from table(titles, rows, columns, 2)
    if memory.stages > 1:
        once = sum(item.aligned for item in memory.cached)
        whole = "" if several else f": {number(once)} x {memory.stages} = {number(once * memory.stages)} B"
        yield f"  in {memory.stages} stages of the pipeline{whole}"
    yield from _bars(memory, several, columns)


def _bars(memory: SharedMemory, several: bool, columns: int) -> Iterator[str]:
    """The allocator's blocks: a line for each node, while it runs, all to the same scale."""
    spans = [span for span in memory.spans if span.end > span.start]
    if not spans:
        return
    whole = max(memory.demand, memory.limit)
    letters = {id(span): LETTERS[i % len(LETTERS)] for i, span in enumerate(spans)}
    free = "·" if can_draw() else "."
    nodes = [span.node for span in memory.spans if span.what == "cached"]
    label = max(map(len, nodes)) + 2 if several else 0
    cells = max(columns - 4 - label, 10)
    yield f"  best fit: {number(memory.demand)} B at most, {number(whole)} B shown"
    for step, node in enumerate(nodes):
        alive = [(s.start, s.end, letters[id(s)]) for s in spans if _is_alive(s, step)]
        bar = memory_bar(alive, whole, cells, free)
        yield f"  {node if several else '':<{label}}[{bar}]"
    if memory.demand > memory.limit:
        at = label + 3 + min(memory.limit * cells // whole, cells - 1)
        text = f"the limit, {number(memory.limit)} B"
        fits = at + 2 + len(text) <= columns
        yield f"{'':{at}}^ {text}" if fits else f"{text + ' ^':>{at + 1}}"
    rows = [_span_row(span, letters[id(span)], several) for span in spans]
    titles = [Column(""), Column("node", gives_way=1), Column("block"), Column("offset", ">"), Column("end", ">")]
    yield from table([*titles, Column("bytes", ">", gives_way=2)], rows, columns, 2)


def _is_alive(span: Span, step: int) -> bool:
    # What a node caches is given back when it has run; only then is its output taken.
    if span.what == "cached":
        return span.step == step
    return span.step <= step < span.until


def _span_row(span: Span, letter: str, several: bool) -> tuple[str, ...]:
    what = {"cached": "all that is cached"}.get(span.what, f"{span.what}, handed on")
    node = span.node if several else ""
    return (letter, node, what, number(span.start), number(span.end), number(span.end - span.start))


def registers(e: TileExplanation, columns: int) -> Iterator[str]:
    yield ""
    yield f"registers  {number(e.registers.demand)} of {number(e.registers.limit)} per block"
    several = len(e.nodes) > 1
    for node in e.registers.nodes:
        name = f"{node.node}: " if several else ""
        elements = f"{plural(node.elements, 'element')} of {node.bits} bits"
        text = f"{name}{by(node.tile)} = {elements}: {number(node.registers)}"
        yield from wrapped(text, columns, 2, 4)
    yield "  the most of a node, twice" if several else "  twice that"


def occupancy(e: TileExplanation, columns: int) -> Iterator[str]:
    if e.occupancy is None:
        return
    o, grid = e.occupancy, e.grid
    smem, regs = max(e.memory.demand, 1), max(e.registers.demand, 1)
    yield ""
    binding = " and ".join(filter(None, (", ".join(o.binding[:-1]), o.binding[-1])))
    yield f"blocks per multiprocessor  {o.blocks}, bound by {binding}"
    rows = [
        ("shared memory", f"{number(o.smem_per_sm)} // {number(smem)}", number(o.by_shared_memory)),
        ("registers", f"{number(o.registers_per_sm)} // {number(regs)}", number(o.by_registers)),
        ("partitions", "", number(o.by_partitions)),
    ]
    marked = [(*row, "<" if row[0] in o.binding else "") for row in rows]
    yield from table([Column("limit"), Column("", ">"), Column("blocks", ">"), Column("")], marked, columns, 2)
    yield ""
    counts = f"{' x '.join(map(number, grid.counts))} = " if len(grid.counts) > 1 else ""
    wraps = ", as the product wraps around at 64 bits" if math.prod(grid.counts) != grid.blocks else ""
    yield from wrapped(f"grid  {counts}{plural(grid.blocks, 'block')}{wraps}", columns, 0, 2)
    at_once = f"{plural(grid.at_once, 'block')} at once"
    text = f"waves  {number(grid.waves)}: {at_once}, {number(grid.last_wave)} in the last wave"
    yield from wrapped(text, columns, 0, 2)
    text = f"priority  ({number(e.traffic)} + 1) x {number(grid.waves)} = {number(e.priority)}, less is better"
    yield from wrapped(text, columns, 0, 2)


def verdict(e: TileExplanation, columns: int) -> Iterator[str]:
    if e.refusal is None:
        return
    yield ""
    kind = "no hint" if e.valid else "rejected"
    yield from wrapped(f"{kind}  {describe(e.refusal)}", columns, 0, 2)


def standing(e: TileExplanation, columns: int) -> Iterator[str]:
    s = e.standing
    yield ""
    if s.visit is not None:
        yield from wrapped(f"visited  as number {s.visit}: {s.why}", columns, 0, 2)
    else:
        lattice = "on the lattice of the search" if s.on_lattice else "not on the lattice of the search"
        yield from wrapped(f"not visited  {lattice}: {s.why}", columns, 0, 2)
    if s.rank is not None:
        kind = "rank" if s.visit is not None else "rank it would have"
        ties = f", the same priority as {plural(s.ties, 'other tile')}" if s.ties else ""
        hint = f"; hint number {s.hint}" if s.hint is not None else ""
        yield from wrapped(f"{kind}  {s.rank} of {s.of}{ties}{hint}", columns, 0, 2)
    if s.visit is not None and e.hints and s.hint is None:
        yield "no hint  carver had its hints before it came to this rank"


def growth(e: TileExplanation, columns: int) -> Iterator[str]:
    if e.growth is None:
        return
    yield ""
    g = e.growth
    if not g.is_changed:
        yield from wrapped(f"reduction steps  stay as they are (limit {number(g.limit)} B)", columns, 0, 2)
        return
    text = f"reduction steps  grown within {number(g.limit)} B: now {number(g.memory.demand)} B of shared memory"
    yield from wrapped(text, columns, 0, 2)
    if g.memory.demand > g.memory.limit:
        text = f"that is over the device's {number(g.memory.limit)} B: carver does not count stages nor check again"
        yield from wrapped(text, columns, 2)
    yield from _memory(e, g.memory, columns)


def blocks(e: TileExplanation, columns: int) -> Iterator[str]:
    if e.error is not None:
        yield ""
        yield from wrapped(f"error  {e.error}", columns, 0, 2)
    if not e.block_sizes:
        return
    yield ""
    tried = sum(size.is_tried for size in e.block_sizes)
    yield from wrapped(f"block sizes  {tried} of {len(e.block_sizes)} tried, best score first", columns, 0, 2)
    several = len(e.nodes) > 1
    score = "warps too many or too few for the partitions, then idle threads"
    if len(e.block_sizes[0].score) == 4:
        score = f"warps off the preferred number (two figures), {score}"
    yield from wrapped(f"score: {score}; less is better", columns, 2, 4)
    rows = [(number(size.threads), _score(size), _outcome(size, several)) for size in e.block_sizes]
    yield from table([Column("threads", ">"), Column("score"), Column("outcome")], rows, columns, 2)
    for size in e.block_sizes:
        for split in size.splits:
            if size.is_used or split.steps:
                yield from _split(e, size, split, several, columns)


def _score(size: BlockSize) -> str:
    return " ".join(f"{part:.4g}" for part in size.score)


def _outcome(size: BlockSize, several: bool) -> str:
    if not size.is_tried:
        return "not tried"
    last = size.splits[-1]
    if last.refusal is not None:
        return f"{last.node}: {last.refusal.text}" if several else last.refusal.text
    return "used"


def _split(e: TileExplanation, size: BlockSize, split: NodeSplit, several: bool, columns: int) -> Iterator[str]:
    name = f" of {split.node}" if several else ""
    parts = f"warps of {by(split.parts)}" if split.unit == "warp" else f"{by(split.parts)} threads"
    shared = [f"{count} along {axis}" for axis, count in split.reduce_thread if count > 1]
    also = f", {', '.join(shared)}" if shared else ""
    yield from wrapped(f"  {size.threads} threads{name}: {parts}{also}", columns, 0, 4)
    # A graph's nodes may have other axes than the output, so these go by number there.
    axes = [f"axis {i}" for i in range(len(split.parts))] if several else e.axes
    rows = []
    for step in split.steps:
        scores = ", ".join(f"{axes[axis]} {value:.4g}" for axis, value in step.scores) or "no axis takes it"
        chosen = step.reduce_axis or ("-" if step.axis is None else axes[step.axis])
        rows.append((str(step.factor), chosen, scores))
    if rows:
        yield from table([Column("factor", ">"), Column("goes to"), Column("scores")], rows, columns, 4)
    rows = []
    for vector in split.vectors:
        tried = ", ".join(f"{w.width}: {_why_width(w)}" for w in vector.widths)
        rows.append((vector.tensor, by(vector.region), str(vector.width or "none"), tried))
    if rows:
        yield from table([Column("vectors"), Column("region"), Column("width", ">"), Column("tried")], rows, columns, 4)


def _why_width(width) -> str:
    reasons = []
    if not width.is_even:
        reasons.append("not shared evenly")
    if not width.is_contiguous:
        reasons.append("not side by side")
    if width.bits > 128:
        reasons.append(f"{width.bits} bits")
    return " and ".join(reasons) or "fits"


def hints(e: TileExplanation, columns: int) -> Iterator[str]:
    if not e.hints:
        return
    yield ""
    # One that carver does not give: it was not visited, or comes after the last one asked for.
    kind = "hint" if e.standing.hint is not None else "hint it would be"
    for name, said in e.hints:
        whose = f" for {name}" if len(e.hints) > 1 else ""
        told = ", ".join(f"{key} {_value(value)}" for key, value in said.items() if value not in ([], {}, None))
        yield from wrapped(f"{kind}{whose}  {told}", columns, 0, 2)


def _value(value) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}:{item}" for key, item in value.items())
    if isinstance(value, list):
        return ",".join(value) if value and isinstance(value[0], str) else by(value)
    return str(value)


def _steps(rstep: dict[str, int]) -> str:
    return ", ".join(f"{name}={extent}" for name, extent in rstep.items())
