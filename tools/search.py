"""One search with what it saw: which policy answered, the tile behind each hint, and why others gave none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..arch import TileDevice
from ..arch.cuda import check_sm_version, is_tensorcore_supported_precision
from ..arch.target import target_is_rdna
from ..policy import DefaultPolicy, TensorCorePolicy
from ..roller.analysis import get_reduction_blocks, get_root_block
from ..roller.hint import TileDict
from ..roller.matmul_analysis import get_in_out_dtypes, get_tensorized_func_and_tags, normalize_to_matmul
from ..roller.tir.schedule import Schedule
from ..roller.tir.stmt import PrimFunc
from .trace import SearchTrace, trace_search
from .trace import priority as priority


@dataclass
class Found:
    """A hint, and the tile it was made of. For a graph the hint is a dict of hints by node."""

    hint: Any
    tile: TileDict
    rank: int


@dataclass
class Search:
    """What a search found."""

    policy: DefaultPolicy
    hints: list[Found] = field(default_factory=list)
    ranked: list[TileDict] = field(default_factory=list)
    visited: int = 0
    stopped: str = "not started"
    refused: list[tuple[TileDict, str]] = field(default_factory=list)
    rejected: list[tuple[TileDict, str, float, float]] = field(default_factory=list)
    # Why no tensor cores are used; None where they are, or where an NVIDIA device has none.
    why_no_tensor_core: str | None = None
    # Everything that happened, event by event.
    trace: SearchTrace | None = None
    # The search for tensor cores that found nothing, so that this one was made.
    before: Search | None = None

    def searches(self) -> list[Search]:
        """This search after the one that came before it, if any."""
        return [self] if self.before is None else [self.before, self]


def search_template(template: Any, device: TileDevice, topk: int) -> Search:
    """The search behind ``template.recommend_hints(topk)``: the same steps, watched."""
    if template.output_nodes is not None:
        return search_graph(template.output_nodes, device, topk)
    return search_func(template.equivalent_function(), device, topk)


def search_func(func: PrimFunc, device: TileDevice, topk: int) -> Search:
    """The search behind ``get_roller_hints_from_func(func, device, topk)``, watched."""
    policy = DefaultPolicy.from_prim_func(func=func, arch=device)
    why = None
    try:
        tensorized, tags = get_tensorized_func_and_tags(func, device.target)
        if not tags:
            why = explain_no_tensor_core(func, device)
    except ValueError as error:
        tensorized, tags, why = None, None, _why_refused(device, error)
    if tags and tensorized:
        policy = TensorCorePolicy.from_prim_func(func=tensorized, arch=device, tags=tags)
    search = _run(policy, topk)
    search.why_no_tensor_core = why
    return search


def search_graph(output_nodes: list, device: TileDevice, topk: int) -> Search:
    """The search behind ``get_roller_hints_from_output_nodes(output_nodes, device, topk)``, watched."""
    why = before = None
    try:
        search = _run(TensorCorePolicy.from_output_nodes(output_nodes, arch=device), topk)
        if search.hints:
            return search
        why, before = why_no_hint(search), search
    except ValueError as error:
        why = str(error)
    search = _run(DefaultPolicy.from_output_nodes(output_nodes, arch=device), topk)
    search.why_no_tensor_core, search.before = why, before
    return search


def _run(policy: DefaultPolicy, topk: int) -> Search:
    trace = trace_search(policy, topk)
    search = Search(policy, trace=trace, ranked=trace.ranking, refused=trace.refused, rejected=trace.rejected)
    search.hints = [Found(hint, td, rank) for rank, td, hint in trace.found]
    search.visited = len(trace.tiles)
    search.stopped = trace.stopped or search.stopped
    return search


# --------------------------------------------------------------------------------------------------------------------
# Reasons
# --------------------------------------------------------------------------------------------------------------------


def has_tensor_cores(device: TileDevice) -> bool:
    """Whether carver looks for tensor cores on this device: NVIDIA from sm_70, AMD RDNA."""
    target = device.target
    if target.kind.name == "cuda":
        return check_sm_version(target.attrs.get("arch", "")) >= 70
    return target.kind.name == "hip" and target_is_rdna(target)


def explain_no_tensor_core(func: PrimFunc, device: TileDevice) -> str | None:
    """Why ``get_tensorized_func_and_tags`` gives no tags, in its own order of questions; None without tensor cores."""
    if not has_tensor_cores(device):
        # An old NVIDIA device has none. AMD's CDNA has, but carver asks no further there.
        is_amd = device.target.kind.name == "hip"
        return f"carver does not tensorize on {_arch_name(device)}, of AMD only on RDNA 3 and 4" if is_amd else None
    sch = Schedule(func)
    reductions = get_reduction_blocks(sch, sch.get_child_blocks(get_root_block(sch)))
    if not reductions:
        return "no stage has both space and reduction axes"
    if len(reductions) != 1:
        return f"{len(reductions)} stages are reductions; tensor cores take functions with one"
    in_dtype, out_dtype = get_in_out_dtypes(sch.get(reductions[0]))
    if device.target.kind.name == "cuda":
        supported = is_tensorcore_supported_precision(in_dtype, out_dtype, arch=device)
    else:
        supported = (str(in_dtype), str(out_dtype)) == ("float16", "float32")
    if not supported:
        return f"no instruction for {in_dtype} inputs and {out_dtype} sums on {_arch_name(device)}"
    if normalize_to_matmul(sch, reductions[0], ["a", "a", "a"]) is None:
        return "the reduction is no matrix product C[i, j] += A[i, k] * B[j, k]"
    least = 16 if in_dtype in ("bfloat16", "float16") else 32
    block = sch.get(reductions[0])
    extents = [int(iter_var.dom.extent) for iter_var in block.iter_vars[1:]]
    return f"as a matrix product it is {' x '.join(map(str, extents))}: space axes need 16, the reduction {least}"


def _arch_name(device: TileDevice) -> str:
    return str(device.target.attrs.get("arch") or device.target.mcpu or device.target.kind.name)


def _why_refused(device: TileDevice, error: ValueError) -> str:
    """Why carver's look for tensor cores ends in an error; it answers for CUDA cores then."""
    if device.target.kind.name == "cuda" and check_sm_version(_arch_name(device)) > 90:
        return f"carver 0.1.15 has no tensor-core table for {_arch_name(device)}, only up to sm_90"
    return str(error)


def why_no_hint(search: Search) -> str:
    """One line that says why a search gave no hint."""
    policy = search.policy
    if search.stopped == "not started":
        return "the outputs have different numbers of space axes, and carver's search takes one tile for all"
    if not search.ranked:
        return _why_none_valid(search)
    reasons = Counter(reason for _, reason in search.refused)
    extents = policy.output_nodes[0].get_space_dim()
    shape = "x".join(map(str, extents))
    on_tensor_cores = [node for node in policy.ordered_nodes if node.get_tag("tensorcore_config")]
    tensor_core = isinstance(policy, TensorCorePolicy) and len(on_tensor_cores) > 0
    path = "tensor-core path chosen, but " if tensor_core else ""
    if reasons.get("block size", 0) == 0:
        if tensor_core and search.rejected and all(extent % 16 == 0 for extent in extents):
            return f"{path}{_why_none_valid(search)}"
        least = " with at least 16 rows and columns" if tensor_core else ""
        return f"{path}no visited tile{least} divides {shape}"
    return f"{path}no tile of {len(search.ranked)} for {shape} can be split among the threads of a block"


def _why_none_valid(search: Search) -> str:
    """What the cheapest rejected tile asked for, and the limit."""
    names = {"smem": "bytes of shared memory", "shared memory": "bytes of shared memory", "registers": "registers"}
    _, reason, demand, limit = min(search.rejected, key=lambda row: row[2])
    what = names.get(reason, reason)
    fits = "of at least 16 rows and columns fits" if search.ranked else "fits"
    return f"no visited tile {fits}: the smallest needs {_number(demand)} {what}, the device has {_number(limit)}"


def _number(value: float) -> str:
    return str(int(value)) if math.isfinite(value) else str(value)


def padded_sizes(size: int, granules: Sequence[int] = (16, 64, 128, 256)) -> list[int]:
    """The next sizes that are multiples of tensor-core tiles, smallest first."""
    return sorted({-(-size // granule) * granule for granule in granules} - {size})
