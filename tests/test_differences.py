"""Deliberate differences from the vendored code that no other test holds: see PORTING.md, "Deliberate differences"."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest
from carver.arch import CUDA, current_arch
from carver.roller import analysis
from carver.roller.node import OutputNode, PrimFuncNode, find_topo_sort_priority
from carver.roller.template import FlashAttentionTemplate
from carver.roller.tir import te
from carver.roller.tir.schedule import Schedule


def double(extent=64):
    A = te.placeholder((extent,), name="A", dtype="float32")
    return te.create_prim_func([A, te.compute((extent,), lambda i: A[i] + A[i], name="B")])


def test_sorting_a_graph_leaves_the_recursion_limit_alone():
    limit = sys.getrecursionlimit()
    node = PrimFuncNode(double(), name="n")
    output = OutputNode(node)
    ordered = find_topo_sort_priority([output])
    assert [entry.name for entry in ordered] == ["PlaceHolder_A", "n", "OutputNode"]
    assert sys.getrecursionlimit() == limit


def test_a_node_that_nobody_needs_is_collected():
    node = PrimFuncNode(double(), name="n")
    assert node.get_space_dim() == [64]  # what the vendored one keeps in a cache of the class, and the node with it
    gone = weakref.ref(node)
    del node
    gc.collect()
    assert gone() is None


def test_a_fault_is_not_taken_for_a_function_without_normal_form(monkeypatch):
    def fault(sch):
        raise ZeroDivisionError("a fault of the port")

    monkeypatch.setattr(analysis, "normalize_prim_func_blocks", fault)
    with pytest.raises(ZeroDivisionError):
        analysis.normalize_prim_func(Schedule(double()))


def test_an_attention_template_can_be_shown():
    with current_arch(CUDA("a100")):
        template = FlashAttentionTemplate(batch_size=1, num_heads=2, head_dim=64, seq_length=64, seq_kv_length=128)
    text = repr(template)
    assert text.startswith("FlashAttentionTemplate(batch_size=1, num_heads=2, head_dim=64, seq_length=64, ")
    with pytest.raises(AttributeError):
        template.params_as_dict()  # as in the vendored one
