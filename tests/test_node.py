"""Nodes and graphs, against what the real carver says (``record_nodes.py`` wrote ``data/nodes.json``)."""

import json
from pathlib import Path

import networkx
import pytest
from carver.arch import CUDA
from carver.arch.errors import CarverError
from carver.roller import Edge, OutputNode, PrimFuncNode
from carver.roller.matmul_analysis import get_tensorized_func_and_tags
from carver.roller.node import (
    Node,
    PlaceHolderNode,
    find_topo_sort,
    find_topo_sort_priority,
    node_graph,
    pre_order_traverse,
    topo_order,
)
from carver.roller.tir import te
from carver.roller.tir.dtypes import DataType
from carver.roller.tir.expr import IntImm
from node_programs import PROGRAMS, QUESTIONS, TENSOR_CORE, answers, describe, plain_tags

FACTS = json.loads((Path(__file__).parent / "data" / "nodes.json").read_text(encoding="utf-8"))


def node_of(program, **arguments):
    return PrimFuncNode(te.create_prim_func(program(te)), **arguments)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_node_says_about_itself(name):
    assert describe(node_of(PROGRAMS[name])) == FACTS[name]["facts"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_regions_and_shared_memory(name):
    node = node_of(PROGRAMS[name])
    tiles, rstep = QUESTIONS[name]
    found = answers(node, tiles, rstep)
    assert found == FACTS[name]["answers"]
    # In the order of the real one too: the inputs of a reduction are told apart by it.
    for ours, theirs in zip(found, FACTS[name]["answers"]):
        assert list(ours["reduction"]) == list(theirs["reduction"])
    # And again, now that the regions are known.
    assert answers(node, tiles, rstep) == FACTS[name]["answers"]


@pytest.mark.parametrize("name", TENSOR_CORE)
def test_tensor_core_nodes(name):
    facts = FACTS[f"{name} on tensor cores"]
    func, tags = get_tensorized_func_and_tags(te.create_prim_func(PROGRAMS[name](te)), CUDA("a100").target)
    assert plain_tags(tags) == facts["tags"]
    node = PrimFuncNode(func, tags=tags)
    assert describe(node) == facts["facts"]
    assert list(node.infer_tensorcore_axis()) == facts["axis"]
    assert node.get_tag("tensorcore_config") == facts["config"]
    assert node.get_tag("num_nvalid_regions") == facts["dropped"]
    # The tag is rewritten once only.
    assert list(node.infer_tensorcore_axis()) == facts["axis"]
    assert node.get_tag("tensorcore_config") == facts["config"]
    assert answers(node, [[16] * len(node.get_space_dim())], {"v2": 16}) == facts["answers"]


def test_output_is_clipped_by_the_input_of_its_number():
    """(M, N, K) = (1024, 4096, 64): the tile [128, 256] is taken to write [128, 64]."""
    A = te.placeholder((1024, 64), name="A", dtype="float16")
    B = te.placeholder((4096, 64), name="B", dtype="float16")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((1024, 4096), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    node = PrimFuncNode(te.create_prim_func([A, B, C]))
    assert node.propagate_outputs([128, 256]) == [[128, 64]]
    assert node.propagate_inputs([128, 256]) == [[128, 64], [256, 64]]


def test_clipped_output_that_may_wrap_around():
    """Above 2**31 elements the extents stay expressions of 32 bits, as in carver, whose product is 0 here."""
    A = te.placeholder((65536, 65536), name="A", dtype="float16")
    B = te.compute((65536, 65536), lambda i, j: A[i, j] + 1, name="B")
    node = PrimFuncNode(te.create_prim_func([A, B]))
    (region,) = node.propagate_outputs([70000, 70000])
    assert all(type(extent) is IntImm for extent in region)
    assert node.elements_of(node.input_buffers[0]) == 0
    assert node.propagate_outputs([70000, 8]) == [[65536, 8]]


def test_a_parameter_that_nothing_touches():
    A = te.placeholder((64,), name="A", dtype="float16")
    unused = te.placeholder((64,), name="unused", dtype="float16")
    B = te.compute((64,), lambda i: A[i] + 1, name="B")
    node = PrimFuncNode(te.create_prim_func([A, unused, B]))
    with pytest.raises(KeyError, match="no stage reads or writes the parameter 'unused'") as caught:
        node.propagate_inputs([8])
    assert isinstance(caught.value, CarverError)


def test_an_output_without_an_input_of_its_number():
    A = te.compute((64, 32), lambda i, j: i * j, name="A")
    node = PrimFuncNode(te.create_prim_func([A]))
    with pytest.raises(IndexError, match="has no input of the same index"):
        node.propagate_outputs([8, 8])


def symbolic():
    n = te.var("n", "int32")
    A = te.placeholder((n, 64), name="A", dtype="float16")
    B = te.compute((n, 64), lambda i, j: A[i, j] + 1, name="B")
    return te.create_prim_func([A, B, n])


def test_variable_extents():
    node = PrimFuncNode(symbolic(), tags={"opt_shapes": {"n": IntImm("int32", 96)}})
    assert node.get_space_dim() == [96, 64]
    assert node.get_opt_shape("n").value == 96
    assert node.extent_wrapper(IntImm("int64", 5)) == 5
    assert node.propagate_inputs([128, 8]) == [[96, 8]]
    with pytest.raises(TypeError, match="give its value in opt_shapes"):
        PrimFuncNode(symbolic())
    with pytest.raises(AttributeError, match="must be an integer constant"):
        PrimFuncNode(symbolic(), tags={"opt_shapes": {"n": 96}})


def test_several_outputs_without_a_reduction():
    A = te.placeholder((64,), name="A", dtype="float16")
    B = te.compute((64,), lambda i: A[i] + 1, name="B")
    C = te.compute((64,), lambda i: A[i] * 2, name="C")
    with pytest.raises(TypeError, match="must have one output block, this one has 2"):
        PrimFuncNode(te.create_prim_func([A, B, C]))


def test_tags_and_types():
    node = Node({"a": 1}, name="thing")
    node.set_tag("b")
    assert (node.get_tag("a"), node.get_tag("b"), node.get_tag("c")) == (1, True, None)
    node.set_dtype(DataType("bool"), 1)
    assert (node._dtypes, node.get_dtype(1)) == ([None, "int8"], "int8")
    node.set_dtype(DataType("int8"), 1)
    with pytest.raises(AssertionError, match="it cannot be int32 too"):
        node.set_dtype(DataType("int32"), 1)
    with pytest.raises(AssertionError, match="a node's dtype is a DataType, not a str"):
        node.set_dtype("int32")
    node.set_shape([IntImm("int32", 4), 5], 1)
    assert (node._shapes, node.num_outputs()) == ([None, [4, 5]], 0)
    with pytest.raises(AssertionError, match="has 0 input edges"):
        node.set_inputs(0, None)
    with pytest.raises(NotImplementedError):
        node.get_ir()
    assert repr(node) == "<Node, thing>"
    assert PlaceHolderNode("x").get_ir() == "placeholder"
    with pytest.raises(AttributeError):
        node_of(PROGRAMS["outer"]).get_input_buffers()
    with pytest.raises(AssertionError, match="connected to a PrimFuncNode"):
        OutputNode(node)


def chain():
    first, second = (node_of(PROGRAMS["outer"], name=name) for name in ("first", "second"))
    edge = Edge(first, second, 0, 1)
    first._out_edges.append(edge)
    second.set_inputs(1, edge)
    return first, second, edge, OutputNode(second)


def test_orders_of_a_graph():
    first, second, edge, output = chain()
    names = ["PlaceHolder_x", "PlaceHolder_x", "PlaceHolder_y", "first", "second", "OutputNode"]
    assert [node.name for node in find_topo_sort([output])] == names
    by_depth = ["PlaceHolder_x", "PlaceHolder_y", "first", "PlaceHolder_x", "second", "OutputNode"]
    assert [node.name for node in find_topo_sort_priority([output])] == by_depth
    sources = [e.src_node for e in first.inputs] + [second.inputs[0].src_node]
    breadth_first = ["PlaceHolder_x", "PlaceHolder_y", "PlaceHolder_x", "first", "second", "OutputNode"]
    assert [node.name for node in topo_order(sources)] == breadth_first
    with pytest.raises(AssertionError, match=r"never ready, .*<Node, first>"):
        topo_order([first.inputs[0].src_node])
    assert repr(edge) == "Edge(src_node=<Node, first>, dst_node=<Node, second>, src_id=0, dst_id=1)"


def test_graph_of_nodes():
    first, second, _, output = chain()
    graph = node_graph([output])
    assert list(graph) == find_topo_sort([output])
    assert graph.get_edge_data(first, second) == {0: {"src_id": 0, "dst_id": 1}}
    assert networkx.is_directed_acyclic_graph(graph)
    # The same output taken twice makes two edges.
    second.set_inputs(0, Edge(first, second, 0, 0))
    assert node_graph([output]).number_of_edges(first, second) == 2


def test_a_cycle_is_shown():
    first, second, _, output = chain()
    first.set_inputs(0, Edge(second, first, 0, 0))
    with pytest.raises(CarverError, match=r"the graph has a cycle: \w+ -> \w+ -> \w+"):
        find_topo_sort([output])


def test_traversal_calls_consumers_first():
    node = node_of(PROGRAMS["matmul_bias"])
    seen = []
    pre_order_traverse(node.block_analyzer, [node.reduction_block], seen.append)
    assert [node.block_analyzer.get_block_name(block) for block in seen] == ["D", "C"]
    # Names of blocks are new at each query: only the one that was given is found again.
    assert [block in seen for block in node.blocks] == [True, False]


def test_a_stage_that_cannot_be_told_its_tile_is_refused_when_asked_for():
    # Found by fuzzing: E reads the reduced U at two places, so E's region for a tile of U is not known. In the real
    # carver the base tile is found all the same ([1]), and the search ends in an IndexError on A, which has no axis.
    A = te.placeholder((4,), dtype="float16", name="A")
    r = te.reduce_axis((0, 2), name="r")
    U = te.compute((4,), lambda i: te.max(A[i], axis=r), name="U")
    E = te.compute((3,), lambda i: U[i] + U[i + 1], name="E")
    node = PrimFuncNode(te.create_prim_func([A, E]))
    assert node.propagate_inputs([2]) == [[2]]
    with pytest.raises(CarverError, match="the stage 'E' comes after the tiled one"):
        node.propagate_outputs([2])


def test_a_stage_read_at_places_of_which_one_is_not_known_is_refused():
    # Found by fuzzing: Z reads C at two places, which does not tell Z's region, and then Y, which does. The real
    # carver raises TypeError: 'NoneType' object is not iterable.
    E = te.placeholder((), dtype="float16", name="E")
    k = te.reduce_axis((0, 2), name="k")
    Y = te.compute((1,), lambda i: te.sum(E(), axis=k), name="Y")
    C = te.compute((2, 1), lambda j, i: Y[j], name="C")
    Z = te.compute((2, 2), lambda j, i: (C[j, i] + C[j, i + 1]) * Y[j], name="Z")
    node = PrimFuncNode(te.create_prim_func([E, Z]))
    with pytest.raises(CarverError, match="the stage 'Z' comes after the tiled one"):
        node.propagate_outputs([1])


def test_an_output_region_larger_than_any_constant_is_refused():
    """The tile has fewer axes than the output, so its last one is not bounded: as in carver (fuzzing, seed 7502)."""
    B = te.placeholder((1,), name="B", dtype="float16")
    T = te.compute((2,), lambda i: B[i], name="T")
    C = te.compute((2,), lambda i: T[i], name="C")
    node = PrimFuncNode(te.create_prim_func([B, C], index_dtype_override="int64"))
    assert node.propagate_inputs([]) == [[2**64 - 1]]
    with pytest.raises(CarverError, match="the region of 'B' has an extent of 18446744073709551615"):
        node.propagate_outputs([])
