"""Record what the real carver says about the functions of ``node_programs.py``: run with an interpreter that has it.

    PYTHON tests/record_nodes.py

writes ``tests/data/nodes.json``, which ``test_node.py`` and ``test_shape_inference.py`` compare with. No GPU is needed.
"""

import json
from pathlib import Path

from node_programs import PROGRAMS, QUESTIONS, TENSOR_CORE, answers, describe, plain_tags


def record():
    import tilelang  # noqa: F401  (brings its TVM)
    from tilelang.carver import matmul_analysis
    from tilelang.carver.arch.cuda import CUDA
    from tilelang.carver.matmul_analysis import get_tensorized_func_and_tags
    from tilelang.carver.roller.node import PrimFuncNode
    from tvm import te, tirx
    from tvm.target import Target

    def device(target):
        made = CUDA.__new__(CUDA)
        made.target, made.sm_version = target, 80
        return made

    matmul_analysis.get_arch = device
    facts = {}
    for name, program in PROGRAMS.items():
        node = PrimFuncNode(te.create_prim_func(program(te)))
        tiles, rstep = QUESTIONS[name]
        target = node.block_analyzer.get_output_buffers(node.schedule_stages[0])[0].name
        _, mapping = node.ana.construct_dependency_target((target,))
        axes = [tirx.Var(f"x{i}", "int64" if i else "int32") for i in range(len(mapping[target][0]))]
        exprs = node.ana.get_input_exprs({target: axes})
        facts[name] = {
            "facts": describe(node),
            "answers": answers(node, tiles, rstep),
            "mapping": {key: [[str(index) for index in place] for place in places] for key, places in mapping.items()},
            "next": {key: [n.name for n in tensor._next] for key, tensor in node.ana.dep_analysis.mapping.items()},
            "exprs": {key: [str(index) for index in place] for key, place in exprs.items()},
        }
    for name in TENSOR_CORE:
        func = te.create_prim_func(PROGRAMS[name](te))
        func, tags = get_tensorized_func_and_tags(func, Target({"kind": "cuda", "arch": "sm_80"}))
        node = PrimFuncNode(func, tags=tags)
        tile = [16] * len(node.get_space_dim())
        facts[f"{name} on tensor cores"] = {
            "facts": describe(node),
            "tags": plain_tags(tags),
            "axis": list(node.infer_tensorcore_axis()),
            "config": list(node.get_tag("tensorcore_config")),
            "dropped": node.get_tag("num_nvalid_regions"),
            "answers": answers(node, [tile], {"v2": 16}),
        }
    return facts


if __name__ == "__main__":
    path = Path(__file__).resolve().parent / "data" / "nodes.json"
    path.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path}")
