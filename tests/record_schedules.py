"""Write tests/data/schedules.json: what the real library makes of the programs of te_programs and matmul_programs.

Run it with an interpreter that has tilelang 0.1.15 (no GPU needed): python tests/record_schedules.py
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def main() -> None:
    import matmul_programs
    import te_programs
    import tilelang  # noqa: F401  (puts its own tvm on the path)
    import tilelang.carver.arch.cuda as cuda
    import tilelang.carver.matmul_analysis as matmul_analysis
    from tvm import te, tirx
    from tvm.ffi import get_global_func
    from tvm.s_tir import Schedule
    from tvm.target import Target

    def without_a_device(self, target):
        self.target, self.sm_version = target, cuda.check_sm_version(target.attrs["arch"])

    cuda.CUDA.__init__ = without_a_device
    matmul_analysis.get_arch = cuda.CUDA
    normalize = get_global_func("s_tir.schedule.NormalizePrimFunc")
    target = Target({"kind": "cuda", "arch": "sm_80"})

    def normal_form(func):
        sch = Schedule(func)
        found = normalize(sch)
        if found is None:
            return None
        kinds = ["".join("SxR"[int(i.iter_type)] for i in iters) for iters in found[2]]
        return {"kinds": kinds, "reductions": [bool(x) for x in found[3]], "script": sch.mod["main"].script()}

    def tensorized(func, layout):
        new, tags = matmul_analysis.get_tensorized_func_and_tags(func, target, layout=layout)
        return {"script": new.script(), "tags": plain(tags)}

    def plain(value):
        if hasattr(value, "items"):
            return {str(key): plain(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(inner) for inner in value]
        return value if isinstance(value, (bool, int)) or value is None else str(value)

    def attempt(step, *args):
        try:
            return step(*args)
        except Exception as error:  # that it is refused is what is recorded
            return {"error": type(error).__name__}

    record = {"tilelang": version("tilelang"), "command": "python tests/record_schedules.py"}
    record["normal_form"], record["tensorized"] = {}, {}
    for name, program in te_programs.programs().items():
        try:
            func = te_programs.make(program, te, tirx)
        except Exception:
            continue
        if "rank0" not in name:  # normalising some of these ends the process
            record["normal_form"][name] = attempt(normal_form, func)
    for name, program in matmul_programs.programs().items():
        func = te.create_prim_func(program(te, tirx))
        record["tensorized"][name] = [attempt(tensorized, func, layout) for layout in matmul_programs.LAYOUTS]
    path = HERE / "data" / "schedules.json"
    path.write_text(json.dumps(record, indent=0, sort_keys=True) + "\n")
    print(f"{path}: {len(record['normal_form'])} normal forms, {len(record['tensorized'])} matrix products")


if __name__ == "__main__":
    main()
