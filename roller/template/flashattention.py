"""Attention without its softmax. The port of ``carver/template/flashattention.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...arch import TileDevice
from ...arch.errors import CarverError, shown
from ..hint import Hint
from ..matmul_analysis import get_tensorized_func_and_tags
from ..node import Edge, OutputNode, PrimFuncNode
from ..tir import te
from ..tir.stmt import PrimFunc
from ..utils import get_roller_hints_from_output_nodes
from .base import BadParameter, BaseTemplate


# vendored: carver/template/flashattention.py:10-173
@dataclass
class FlashAttentionTemplate(BaseTemplate):
    """Two batched matrix products one after the other: queries by keys (MMA0), the result by values (MMA1).

    Hints are for the graph of both, a dict by node each. ``is_causal`` is not looked at. The device is needed when
    the template is made already, for the form of the products.
    """

    # Again as a field that comes first among the parameters, as in carver.
    _output_nodes: list[OutputNode] | None = None

    batch_size: int = 1
    num_heads: int = 1
    head_dim: int = 1
    seq_length: int = 1
    seq_kv_length: int = 1

    is_causal: bool = False

    in_dtype: str = "float16"
    out_dtype: str = "float16"
    accum_dtype: str = "float16"

    # vendored: carver/template/flashattention.py:27-39
    def get_hardware_aware_configs(self, arch: TileDevice = None, topk: int = 10) -> list[Hint]:
        """The best ``topk`` hints for the given device, best first, each a dict of hints by node."""
        return get_roller_hints_from_output_nodes(self.output_nodes, arch=arch, topk=topk)

    # vendored: carver/template/flashattention.py:41-132
    def initialize_function(self) -> None:
        """Build both functions and their graph.

        AssertionError (BadParameter) where a product does not suit the tensor cores of the current device.
        """
        try:
            batch = self.batch_size * self.num_heads
        except TypeError:
            raise BadParameter(
                f"batch_size and num_heads must be integers, got {shown(self.batch_size)} and {shown(self.num_heads)}"
            ) from None
        scores = self._create_matmul(batch, self.seq_length, self.seq_kv_length, self.head_dim)
        values = self._create_matmul(batch, self.seq_length, self.head_dim, self.seq_kv_length)
        self.set_function([scores, values])

        node_0 = self._create_node(scores, "MMA0")
        node_1 = self._create_node(values, "MMA1")
        edge = Edge(node_0, node_1, 0, 0)
        node_0._out_edges.append(edge)
        node_1.set_inputs(0, edge)
        self.set_output_nodes([OutputNode(node_1)])

    # vendored: carver/template/flashattention.py:134-151
    def params_as_dict(self) -> dict[str, Any]:
        """Raises AttributeError, as in carver, which asks for the parameters of a matrix product."""
        raise NoMatmulParameters("a FlashAttentionTemplate has no M, N, K, trans_A, trans_B and with_bias")

    # vendored: carver/template/flashattention.py:153-161
    @property
    def class_attributes(self) -> dict[str, Any]:
        """Raises AttributeError, like ``params_as_dict``."""
        return self.params_as_dict()

    # vendored: carver/template/flashattention.py:163-173
    # NOTE: shows the parameters; the vendored one raises an AttributeError, which debuggers do not take well.
    def __repr__(self) -> str:
        names = ("batch_size", "num_heads", "head_dim", "seq_length", "seq_kv_length", "is_causal")
        dtypes = ("in_dtype", "out_dtype", "accum_dtype")
        shown = [f"{name}={getattr(self, name)!r}" for name in names + dtypes]
        return f"{type(self).__name__}({', '.join(shown)})"

    # -- Additions to the class: the steps of `initialize_function` ---------------------------------------------------

    def _create_matmul(self, batch: int, M: int, N: int, K: int) -> PrimFunc:
        """C[b, i, j] = A[b, i, :] * B[b, j, :], cast to ``out_dtype`` where that is not the sum's."""
        accum_dtype = self.accum_dtype
        A = te.placeholder((batch, M, K), name="A", dtype=self.in_dtype)
        B = te.placeholder((batch, N, K), name="B", dtype=self.in_dtype)
        k = te.reduce_axis((0, K), name="k")

        def product(b, i, j):
            return te.sum(A[b, i, k].astype(accum_dtype) * B[b, j, k].astype(accum_dtype), axis=k)

        result = te.compute((batch, M, N), fcompute=product, name="C")
        if self.out_dtype != accum_dtype:
            summed = result
            result = te.compute((batch, M, N), lambda b, i, j: summed[b, i, j].astype(self.out_dtype), name="D")
        return te.create_prim_func([A, B, result])

    def _create_node(self, func: PrimFunc, name: str) -> PrimFuncNode:
        tensorized_func, tags = get_tensorized_func_and_tags(func, self.arch.target)
        if tags is None:
            raise BadParameter(
                f"the product {name} does not suit the tensor cores of {_device_name(self.arch)}: it needs extents of "
                "16 and more, dtypes that they take, and a device that has them (see carver.arch.current_arch)"
            )
        return PrimFuncNode(tensorized_func, name=name, tags=tags)


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


def _device_name(arch: TileDevice) -> str:
    target = arch.target
    return str(target.attrs.get("arch") or target.mcpu or target.kind.name)


class NoMatmulParameters(CarverError, AttributeError):
    """Parameters that this template does not have."""
