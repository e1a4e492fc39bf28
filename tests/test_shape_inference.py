"""Region propagation, against what the real carver says (``record_nodes.py`` wrote ``data/nodes.json``)."""

import json
from pathlib import Path

import networkx
import pytest
from carver.arch.errors import CarverError
from carver.roller.node import PrimFuncNode
from carver.roller.shape_inference.tir import region_exist_in_list, walk_indice
from carver.roller.tir import te
from carver.roller.tir.arith import ConstIntBound
from carver.roller.tir.expr import Cast, IntImm, Select, Var, bitwise_xor
from node_programs import PROGRAMS

FACTS = json.loads((Path(__file__).parent / "data" / "nodes.json").read_text(encoding="utf-8"))


def node_of(program):
    return PrimFuncNode(te.create_prim_func(program(te)))


def target_of(node):
    return node.block_analyzer.get_output_buffers(node.schedule_stages[0])[0].name


@pytest.mark.parametrize("name", PROGRAMS)
def test_places_of_all_buffers(name):
    node = node_of(PROGRAMS[name])
    _, mapping = node.ana.construct_dependency_target((target_of(node),))
    places = {key: [[str(index) for index in place] for place in places] for key, places in mapping.items()}
    assert places == FACTS[name]["mapping"]
    assert list(places) == list(FACTS[name]["mapping"])
    assert node.ana.buffer_mapping.keys() >= mapping.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_dependency_graph(name):
    analysis = node_of(PROGRAMS[name]).ana.dep_analysis
    assert {key: [n.name for n in tensor._next] for key, tensor in analysis.mapping.items()} == FACTS[name]["next"]
    graph = analysis.graph
    assert list(graph) == list(analysis.mapping)
    assert set(graph.edges) == {(key, n) for key, after in FACTS[name]["next"].items() for n in after}
    assert networkx.is_directed_acyclic_graph(graph)
    for start in graph:
        for end in graph:
            path = [tensor.name for tensor in analysis.find_path_from_source(start, end)]
            assert bool(path) == networkx.has_path(graph, start, end)
            assert not path or networkx.is_path(graph, path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_expressions_of_all_buffers(name):
    node = node_of(PROGRAMS[name])
    target = target_of(node)
    rank = len(FACTS[name]["mapping"][target][0])
    axes = [Var(f"x{i}", "int64" if i else "int32") for i in range(rank)]
    exprs = node.ana.get_input_exprs({target: axes})
    # The real library's text of a cast has T. before it.
    expected = {key: [text.replace("T.Cast", "Cast") for text in place] for key, place in FACTS[name]["exprs"].items()}
    found = {key: [str(index).replace("T.Cast", "Cast") for index in place] for key, place in exprs.items()}
    assert found == expected


def test_bounds_that_do_not_start_at_zero():
    """A box in the middle: `divided` reads A[i // 8, (i * 3 + 1) % 8]. Values of the real library."""
    node = node_of(PROGRAMS["divided"])
    shapes, bind = node.ana.infer({"B": [ConstIntBound(12, 21)]})
    assert (shapes, bind) == ({"B": [10], "A": [2, 8]}, {})
    shapes, _ = node.ana.infer({"B": [ConstIntBound(3, 3)]}, targets=["A"])
    assert shapes == {"A": [1, 8]}


def test_fewer_bounds_than_axes():
    """An axis without a bound may be anything an int32 holds."""
    node = node_of(PROGRAMS["outer"])
    shapes, _ = node.ana.infer({"Z": [ConstIntBound(0, 9)]})
    assert shapes == {"Z": [10, 2**32], "x": [10], "y": [2**32]}


def test_steps_beyond_the_domain_are_the_domain():
    node = node_of(PROGRAMS["matmul_bias"])
    assert node.propagate([16, 16], {"v2": 1000})[0]["A"] == [16, 128]
    assert node.propagate([16, 16], {"unknown": 1})[0]["A"] == [16, 128]
    assert node.propagate([16, 16], {"v2": 1})[0]["A"] == [16, 1]


def test_answers_are_the_callers():
    for name, tile in (("matmul_bias", [16, 16]), ("divided", [12]), ("cast_then_matmul", [16, 16])):
        node = node_of(PROGRAMS[name])
        questions = (
            node.propagate_inputs,
            node.propagate_outputs,
            node.propagate_reduction_inputs,
            lambda tile, node=node: node.propagate(tile)[0],
        )
        for question in questions:
            first = question(tile)
            expected = json.dumps(first)
            for region in first.values() if isinstance(first, dict) else first:
                region.clear()
            assert json.dumps(question(tile)) == expected


def test_index_that_cannot_be_followed():
    with pytest.raises(CarverError, match=r"Unhandled node type in walk_indice\(\)"):
        A = te.placeholder((64,), name="A", dtype="float32")
        where = te.placeholder((64,), name="where", dtype="int32")
        B = te.compute((64,), lambda i: A[where[i]], name="B")
        PrimFuncNode(te.create_prim_func([A, where, B]))


def test_walk_indice():
    i, j = Var("i"), Var("j")
    known = [i, IntImm("int32", 3), i * 4 + j // 2, Cast("int64", i % 8)]
    assert all(walk_indice(expr) is expr for expr in known)
    unknown = [bitwise_xor(i, j), i + bitwise_xor(i, j), Cast("int64", bitwise_xor(i, j))]
    assert [walk_indice(expr) for expr in unknown] == [None, None, None]
    for refused in (i < j, Select(i < j, i, j), Cast("int32", i < j), bitwise_xor(i, j) + Select(i < j, i, j)):
        with pytest.raises(CarverError):
            walk_indice(refused)


def test_regions_are_compared_over_the_shorter():
    i, j = Var("i"), Var("j")
    assert region_exist_in_list([i, j], [[j, i], [i]])
    assert region_exist_in_list([IntImm("int32", 2)], [[IntImm("int64", 2)]])
    assert not region_exist_in_list([i + 1], [[i], [j + 1]])
    assert not region_exist_in_list([Var("i")], [[i]])


@pytest.mark.parametrize("last", ["C", "D"])
def test_a_stage_whose_tile_is_not_told(last):
    """After the reduction comes a stage that reads it twice. The real carver raises a TypeError in both cases."""
    A = te.placeholder((64, 32), name="A", dtype="float32")
    k = te.reduce_axis((0, 32), name="k")
    B = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((63,), lambda i: B[i] + B[i + 1], name="C")
    D = te.compute((63,), lambda i: C[i] * 2, name="D")
    node = PrimFuncNode(te.create_prim_func([A, {"C": C, "D": D}[last]]))
    message = {"C": "the stage 'C' comes after the tiled one", "D": "where 'C' is read could not be told"}[last]
    with pytest.raises(TypeError, match=message) as caught:
        node.propagate([1])
    assert isinstance(caught.value, CarverError)


def test_two_tensors_of_one_name():
    A = te.placeholder((64, 32), name="A", dtype="float32")
    bias = te.placeholder((64,), name="Bias", dtype="float32")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * A[j, k], axis=k), name="C")
    D = te.compute((64, 64), lambda i, j: C[i, j] + bias[j], name="Bias")
    node = PrimFuncNode(te.create_prim_func([A, bias, D]))
    with pytest.raises(CarverError, match="give each placeholder and each stage a name of its own"):
        node.propagate([1, 1])
