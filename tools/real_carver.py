"""Run the real carver on cases. Stand-alone: started in an interpreter that has tilelang, never imported by the port.

    PYTHON real_carver.py [--workloads FILE] [--limit SECONDS] [--plain] [--solver-steps N]

Cases come as JSON lines on standard input, answers go as JSON lines to standard output, in the same order. The first
line out describes the interpreter (tilelang's version, a digest of the installed wheel, python). An answer is
``{"id", "record", "seconds"}``; with ``--plain`` nothing is watched and only ``{"id", "hints", "seconds",
"processor"}`` comes back, for measuring speed. Each case is isolated: an exception is part of its record, one that
runs over the limit is answered with ``{"id", "failed": "time limit"}``.

No GPU is needed. The device models read the machine when they are built; here their ``__init__`` takes the attributes
from the case instead, and ``get_arch`` returns that device, so that what infers its device finds it. All the rest of
carver runs as it is.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import importlib.util
import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class TimeLimit(BaseException):
    """Raised by the alarm; not an Exception, so that carver's own `except Exception` lets it through."""


def load_beside(name: str) -> Any:
    """A module that lies beside this file, by path: the package it belongs to is not installed here."""
    spec = importlib.util.spec_from_file_location(f"carver_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"carver_{name}"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def wheel_digest(distribution: Any) -> str:
    """A digest of the wheel's own list of files and hashes (RECORD), less what the installer added to it."""
    lines = []
    for line in (distribution.read_text("RECORD") or "").splitlines():
        path, digest, _ = line.rsplit(",", 2)
        if digest and "__pycache__" not in path and not path.startswith("..") and not path.endswith("INSTALLER"):
            if not path.endswith(("REQUESTED", "direct_url.json")):
                lines.append(f"{path},{digest}")
    return "sha256:" + hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def describe() -> dict:
    from importlib import metadata

    distribution = metadata.distribution("tilelang")
    return {
        "tilelang": distribution.version,
        "wheel": wheel_digest(distribution),
        "python": ".".join(str(part) for part in sys.version_info[:3]),
    }


class CurrentDevice:
    """Stands in for carver's reading of the machine: builds devices from figures, and is what get_arch answers."""

    def __init__(self) -> None:
        from tilelang.carver import arch, matmul_analysis
        from tilelang.carver.arch import cdna, cpu, cuda, metal, rdna

        self.device: Any = None
        self.rdna = rdna
        self.classes = {
            "CUDA": cuda.CUDA,
            "CDNA": cdna.CDNA,
            "RDNA": rdna.RDNA,
            "CPU": cpu.CPU,
            "METAL": metal.METAL,
        }
        arch.get_arch = self.get_arch
        matmul_analysis.get_arch = self.get_arch

    def get_arch(self, target: Any = "cuda") -> Any:
        if self.device is None:
            raise RuntimeError("no current device")
        return self.device

    def make_device(self, figures: dict) -> Any:
        from tvm.target import Target

        figures = dict(figures)
        cls = self.classes[figures.pop("class")]
        target = Target(figures.pop("target"))
        device = cls.__new__(cls)
        device.target = target
        for name, value in figures.items():
            setattr(device, name, list(value) if isinstance(value, list) else value)
        if cls is self.classes["CUDA"]:
            device.available_tensor_instructions = None
        elif cls is self.classes["RDNA"]:
            device.tuning = self.rdna._get_rdna_tuning_config(device.mcpu)
            device.available_tensor_instructions = None
        self.device = device
        return device

    @contextlib.contextmanager
    def current_arch(self, device: Any) -> Any:
        self.device = device
        yield device


def real_backend(cases: Any, workloads: Path | None) -> Any:
    from tilelang.carver import matmul_analysis, utils
    from tilelang.carver import template as templates
    from tilelang.carver.roller import node, policy
    from tvm import te

    machine = CurrentDevice()

    def with_attrs(func: Any, attrs: dict) -> Any:
        for name, value in attrs.items():
            func = func.with_attr(name, value)
        return func

    return cases.Backend(
        name="real",
        te=te,
        templates={
            "matmul": templates.MatmulTemplate,
            "gemv": templates.GEMVTemplate,
            "conv": templates.ConvTemplate,
            "elementwise": templates.ElementwiseTemplate,
            "reduce": templates.GeneralReductionTemplate,
            "attention": templates.FlashAttentionTemplate,
        },
        default_policy=policy.DefaultPolicy,
        tensorcore_policy=policy.TensorCorePolicy,
        get_roller_hints_from_func=utils.get_roller_hints_from_func,
        get_roller_hints_from_output_nodes=utils.get_roller_hints_from_output_nodes,
        get_tensorized_func_and_tags=matmul_analysis.get_tensorized_func_and_tags,
        prim_func_node=node.PrimFuncNode,
        output_node=node.OutputNode,
        edge=node.Edge,
        make_device=machine.make_device,
        current_arch=machine.current_arch,
        with_attrs=with_attrs,
        workloads=cases.load_workloads(workloads),
    )


@contextlib.contextmanager
def time_limit(seconds: float) -> Any:
    """Raise TimeLimit in the block after `seconds`. A long call into C++ is interrupted only when it returns."""

    def on_alarm(*_: Any) -> None:
        raise TimeLimit

    if seconds <= 0 or not hasattr(signal, "setitimer"):
        yield
        return
    previous = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def answer(cases: Any, backend: Any, case: dict, limit: float, watch: bool) -> dict:
    try:
        with time_limit(limit):
            if watch:
                record, seconds = cases.record_case(backend, case)
                return {"id": case["id"], "record": record, "seconds": round(seconds, 6)}
            count, seconds, processor = cases.time_case(backend, case)
            return {"id": case["id"], "hints": count, "seconds": round(seconds, 6), "processor": round(processor, 6)}
    except TimeLimit:
        return {"id": case["id"], "failed": f"time limit of {limit:g} s"}


class Expressions:
    """Answers batches of expressions, ``{"id", "expressions"}`` with ``{"id", "answers", "seconds"}``."""

    def __init__(self) -> None:
        self._side: Any = None

    def answer(self, batch: dict, limit: float) -> dict:
        if self._side is None:
            self._side = load_beside("fuzz_expressions").Side(real=True)
        started = time.perf_counter()
        try:
            with time_limit(limit):
                answers = [self._side.answers(case) for case in batch["expressions"]]
        except TimeLimit:
            return {"id": batch["id"], "failed": f"time limit of {limit:g} s"}
        return {"id": batch["id"], "answers": answers, "seconds": round(time.perf_counter() - started, 6)}


def main() -> int:
    parser = argparse.ArgumentParser(description="run the real carver on cases (JSON lines in, JSON lines out)")
    parser.add_argument("--workloads", type=Path, help="the file of workloads (default: fixtures/workloads.py)")
    parser.add_argument("--limit", type=float, default=0.0, help="seconds a case may take; 0: no limit")
    parser.add_argument("--plain", action="store_true", help="time the calls, record nothing")
    parser.add_argument("--solver-steps", type=int, default=0, help="steps of Z3 for a proof; 0: as TVM has it (10000)")
    options = parser.parse_args()

    # Answers have standard output to themselves: whatever else prints (TVM's C++ side included) goes to stderr.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")

    cases = load_beside("cases")
    backend = real_backend(cases, options.workloads)
    expressions = Expressions()
    if options.solver_steps:
        load_beside("z3_budget").raise_budget(options.solver_steps)
    print(json.dumps(describe()), file=out, flush=True)
    gc.collect()
    gc.freeze()  # what was imported need not be looked through again
    before = None
    for line in sys.stdin:
        case = json.loads(line)
        if case["id"] != before:
            gc.collect()  # no case pays for what another left
            before = case["id"]
        if "expressions" in case:
            result = expressions.answer(case, options.limit)
        else:
            result = answer(cases, backend, case, options.limit, not options.plain)
        print(json.dumps(result, separators=(",", ":"), allow_nan=False), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
