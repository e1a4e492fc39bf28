"""Carver's model on the configurations of a tuning space: their price, and which of its hints the space covers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..arch import CarverError, TileDevice
from ..policy import TensorCorePolicy
from ..policy.default import NoCapacity
from ..roller.node import shape_product
from ..roller.template import MatmulTemplate
from .search import search_template, why_no_hint
from .space_rules import Group, LegalListed, LegalProduct, Problem, reason_against
from .trace import priority


class Pricing:
    """Carver's price of a configuration: its own function for a tile, with the configuration's figures put in.

    The tile of the output is block_M x block_N, block_K is the step of the reduction, and num_stages the stages of the
    pipeline, which carver knows on tensor cores only. For the steps and stages that carver itself takes, the price is
    that of `carver explain`. CarverError where the template or the search fails, and for more tiles than carver can
    count.
    """

    def __init__(self, problem: Problem, device: TileDevice, accum_dtype: str, out_dtype: str, topk: int) -> None:
        if problem.M * problem.N >= 2**63:
            # Its count wraps around, and no tile would cost anything.
            raise CarverError(
                f"carver counts tiles in 64 bits: M x N must be below 2**63, and is {problem.M * problem.N}"
            )
        template = MatmulTemplate(
            M=problem.M, N=problem.N, K=problem.K, in_dtype=problem.dtype, accum_dtype=accum_dtype, out_dtype=out_dtype
        )
        self.search = search_template(template.with_arch(device), device, topk)
        self.policy = self.search.policy
        self.policy.trace = None
        (self._node,) = self.policy.ordered_nodes

    def price(self, group: Group) -> tuple[float, str | None]:
        """(traffic + 1) x waves, less is better; infinite, with the reason, where the model refuses a legal group."""
        block_m, block_n, block_k, num_stages = group
        if isinstance(self.policy, TensorCorePolicy):
            self.policy.pipeline_stage = num_stages
        rstep = {axis.var.name: block_k for axis in self._node.raxis}
        try:
            td = self.policy.compute_tile_dict([block_m, block_n], {self._node: rstep})
        except NoCapacity:  # a block may have it, and a multiprocessor has less
            return math.inf, "shared memory of an SM"
        if td.valid:
            return float(priority(td)), None
        # The grid is only counted once the shared memory has passed.
        return math.inf, "shared memory" if td.grid_size == -1 else "registers"


# ---------------------------------------------------------------------------------------------------------------------
# Coverage


@dataclass(frozen=True, slots=True)
class Wanted:
    """One of carver's hints, held against a space."""

    block_M: int
    block_N: int
    block_K: int
    """The hint's step of the reduction."""
    num_stages: int
    threads: int
    missing: str | None
    """What the space lacks of its blocks; None if a legal configuration has them. Stages and threads are not asked."""


def coverage(pricing: Pricing, problem: Problem, legal: LegalProduct | LegalListed) -> tuple[list[Wanted], str | None]:
    """Carver's hints, best first, with what the space lacks of each; and why there are none, if there are none."""
    hints = [found.hint for found in pricing.search.hints]
    wanted = [_wanted(hint, problem, legal) for hint in hints]
    return wanted, None if hints else why_no_hint(pricing.search)


def _wanted(hint: Any, problem: Problem, legal: LegalProduct | LegalListed) -> Wanted:
    # An axis of extent 1 is none in a hint.
    block = iter(hint.block)
    block_m, block_n = (next(block) if extent > 1 else 1 for extent in (problem.M, problem.N))
    block_k = hint.rstep[0] if hint.rstep else 1
    if hint.use_tc:
        warps = shape_product([extent // step for extent, step in zip(hint.block, hint.warp)])
        threads = int(warps) * hint.arch.warp_size
    else:
        threads = int(shape_product([*hint.thread, *hint.reduce_thread]))
    num_stages = hint.pipeline_stage
    missing = _missing(problem, legal, (block_m, block_n, block_k))
    return Wanted(block_m, block_n, block_k, num_stages, threads, missing)


def _missing(problem: Problem, legal: LegalProduct | LegalListed, blocks: tuple[int, int, int]) -> str | None:
    names = ("block_M", "block_N", "block_K")
    absent = [f"{name} {value}" for name, value in zip(names, blocks) if not legal.space.offers(name, value)]
    if not absent:
        return legal.why_missing(blocks)
    # What no space can offer is said too: carver has no rule that blocks divide the extents, or are multiples of 16.
    illegal = reason_against(problem, (*blocks, 1), 32)
    return f"{', '.join(absent)} not offered" + (f" (illegal: {illegal})" if illegal else "")
