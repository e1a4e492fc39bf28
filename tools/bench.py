"""Measure how much faster the port is than the real carver: both answer the same cases in one session.

A call is: the computation built and the hints recommended. Process start and imports are outside on both sides, and
each side makes one call beforehand that does not count. The two sides take turns, case by case, so that the machine's
moods hit both; a side makes its calls of a case in a row, the garbage of other cases collected beforehand. The ratio
of a case is real seconds / port seconds, each the median of the repeats; by the clock, and by processor time, which
other work on the machine does not stretch. First calls, which find the processor's caches full of the other side's
data, are compared as well.

    carver bench --python PATH --n 50
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
from pathlib import Path

from ..arch.errors import CarverError
from . import cases as case_module
from . import recording
from .record import PYTHON_HELP, RealCarver, case_lists, default_python, progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", metavar="PATH", help=PYTHON_HELP)
    parser.add_argument("--cases", metavar="FILE", help="cases (JSON lines), a recording, or a list's name (all lists)")
    parser.add_argument("--n", type=int, default=200, metavar="N", help="cases to take, evenly spread; 0: all (200)")
    parser.add_argument("--repeat", type=int, default=5, metavar="R", help="calls per case and side (5)")
    parser.add_argument("--each", action="store_true", help="print every case")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")


def chosen_cases(source: str | None, count: int) -> list[dict]:
    """`count` cases spread evenly over the source; 0 gives all."""
    lists = case_lists().LISTS if source is None or not Path(source).exists() else {}
    if source is None:
        found = [case for make in lists.values() for case in make()]
    elif source in lists:
        found = lists[source]()
    elif not Path(source).exists():
        raise CarverError(f"--cases {source}: no such file, and not one of {', '.join(lists)}")
    elif b'"format"' in recording.read_bytes(Path(source))[:2000]:
        found = [case for case, _ in recording.read(source).entries]
    else:
        found = recording.read_cases(source)
    if count == 0 or count >= len(found):
        return found
    return [found[position * len(found) // count] for position in range(count)]


SIDES = ("real", "port")
MEASURES = ("seconds", "processor")


def measure(python: str, cases: list[dict], repeat: int) -> list[dict]:
    """Per case: its id, the number of hints, every call's seconds by side and measure, and the ratios."""
    backend = case_module.port_backend()
    results = []
    gc.collect()
    gc.freeze()  # as on the other side: what was imported need not be looked through again
    with RealCarver(python, watch=False) as real, progress(len(cases), "measuring") as show:
        real.answer(cases[0])
        case_module.time_case(backend, cases[0])
        for done, case in enumerate(cases):
            show(done)
            calls: dict[str, dict[str, list[float]]] = {m: {side: [] for side in SIDES} for m in MEASURES}
            hints = 0
            for _ in range(repeat):
                answer = real.answer(case)
                if "failed" in answer:
                    raise CarverError(f"case {case['id']}: {answer['failed']}")
                for name in MEASURES:
                    calls[name]["real"].append(answer[name])
            gc.collect()
            for _ in range(repeat):
                hints, *spent = case_module.time_case(backend, case)
                for name, value in zip(MEASURES, spent):
                    calls[name]["port"].append(value)
            results.append({"id": case["id"], "hints": hints, **calls, **ratios(calls)})
    return results


def ratios(calls: dict) -> dict:
    """How many times faster, by each measure; `first` compares the first calls alone."""
    least = 1e-6  # the clocks' grain: a refused call may take less
    found = {}
    for name in MEASURES:
        real, port = (statistics.median(calls[name][side]) for side in SIDES)
        found[f"ratio_{name}"] = max(real, least) / max(port, least)
    real, port = (calls["seconds"][side][0] for side in SIDES)
    found["ratio_first"] = max(real, least) / max(port, least)
    return found


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summary(results: list[dict]) -> dict:
    figures: dict = {"cases": len(results)}
    for name in ("seconds", "processor", "first"):
        values = [result[f"ratio_{name}"] for result in results]
        figures[name] = {
            "median": statistics.median(values),
            "least": min(values),
            "lower_quartile": quantile(values, 0.25),
            "most": max(values),
        }
    for side in SIDES:
        medians = [statistics.median(result["seconds"][side]) for result in results]
        figures[f"{side}_median_ms"] = 1000 * statistics.median(medians)
        figures[f"{side}_total_s"] = sum(medians)
    return figures


def run(args: argparse.Namespace) -> int:
    if args.n < 0:
        raise CarverError(f"--n {args.n}: must not be negative")
    if args.repeat < 1:
        raise CarverError(f"--repeat {args.repeat}: must be positive")
    cases = chosen_cases(args.cases, args.n)
    results = measure(default_python(args.python), cases, args.repeat)
    figures = summary(results)
    if args.json:
        print(json.dumps({"summary": figures, "cases": results}, indent=1))
        return 0
    if args.each:
        print("  clock  processor       real ms    port ms  case")
        for result in sorted(results, key=lambda item: item["ratio_processor"]):
            real, port = (1000 * statistics.median(result["seconds"][side]) for side in SIDES)
            by_clock, by_processor = result["ratio_seconds"], result["ratio_processor"]
            print(f"{by_clock:6.1f}x    {by_processor:6.1f}x  {real:12.2f} {port:10.2f}  {result['id']}")
    names = {"seconds": "by the clock", "processor": "by processor time", "first": "first calls, by the clock"}
    print(f"{figures['cases']} cases, {args.repeat} calls each; times faster than the real carver:")
    for name, text in names.items():
        row = figures[name]
        print(
            f"  {text:<26} median {row['median']:5.1f}, lower quartile {row['lower_quartile']:5.1f}, "
            f"least {row['least']:5.1f}, most {row['most']:5.1f}"
        )
    print(f"  median call: real {figures['real_median_ms']:.2f} ms, port {figures['port_median_ms']:.2f} ms")
    print(f"  all calls:   real {figures['real_total_s']:.1f} s, port {figures['port_total_s']:.1f} s")
    return 0
