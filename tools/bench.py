"""Measure how much faster the port is than the real carver: both answer the same cases in one session.

A call is: the computation built and the hints recommended. Process start and imports are outside on both sides, and
each side makes one call beforehand that does not count. The two sides take turns, case by case, so that the machine's
moods hit both. The ratio of a case is real seconds / port seconds, each the median of the repeats.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

from ..arch.errors import CarverError
from . import cases as case_module
from . import recording
from .record import RealCarver, case_lists, default_python, progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", metavar="PATH", help="an interpreter with tilelang==0.1.15")
    parser.add_argument("--cases", metavar="FILE", help="cases (JSON lines), a recording, or a list's name (all lists)")
    parser.add_argument("--n", type=int, default=200, metavar="N", help="cases to take, evenly spread; 0: all (200)")
    parser.add_argument("--repeat", type=int, default=3, metavar="R", help="calls per case and side (3)")
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
    elif source.endswith(".gz") or '"format"' in Path(source).open(encoding="utf-8", errors="replace").readline(2000):
        found = [case for case, _ in recording.read(source).entries]
    else:
        found = recording.read_cases(source)
    if count == 0 or count >= len(found):
        return found
    return [found[position * len(found) // count] for position in range(count)]


def measure(python: str, cases: list[dict], repeat: int) -> list[dict]:
    """Per case: its id, the seconds of every call on each side, and the number of hints."""
    backend = case_module.port_backend()
    results = []
    with RealCarver(python, watch=False) as real, progress(len(cases), "measuring") as show:
        real.answer(cases[0])
        case_module.time_case(backend, cases[0])
        for done, case in enumerate(cases):
            show(done)
            seconds: dict[str, list[float]] = {"real": [], "port": []}
            hints = 0
            for _ in range(repeat):
                answer = real.answer(case)
                if "failed" in answer:
                    raise CarverError(f"case {case['id']}: {answer['failed']}")
                seconds["real"].append(answer["seconds"])
                hints, spent = case_module.time_case(backend, case)
                seconds["port"].append(spent)
            results.append({"id": case["id"], "hints": hints, **seconds})
    for result in results:
        result["ratio"] = statistics.median(result["real"]) / statistics.median(result["port"])
        result["first_ratio"] = result["real"][0] / result["port"][0]
    return results


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summary(results: list[dict]) -> dict:
    ratios = [result["ratio"] for result in results]
    return {
        "cases": len(results),
        "median_ratio": statistics.median(ratios),
        "median_first_ratio": statistics.median(result["first_ratio"] for result in results),
        "quartile_ratio": quantile(ratios, 0.25),
        "least_ratio": min(ratios),
        "most_ratio": max(ratios),
        "median_real_ms": 1000 * statistics.median(statistics.median(result["real"]) for result in results),
        "median_port_ms": 1000 * statistics.median(statistics.median(result["port"]) for result in results),
        "total_real_s": sum(statistics.median(result["real"]) for result in results),
        "total_port_s": sum(statistics.median(result["port"]) for result in results),
    }


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
        for result in sorted(results, key=lambda item: item["ratio"]):
            real, port = (1000 * statistics.median(result[side]) for side in ("real", "port"))
            print(f"{result['ratio']:7.1f}x  real {real:9.2f} ms  port {port:8.2f} ms  {result['id']}")
    print(f"{figures['cases']} cases, {args.repeat} calls each: median {figures['median_ratio']:.1f}x faster")
    print(f"  first calls only: median {figures['median_first_ratio']:.1f}x")
    print(
        f"  ratios: least {figures['least_ratio']:.1f}x, lower quartile {figures['quartile_ratio']:.1f}x, "
        f"most {figures['most_ratio']:.1f}x"
    )
    print(f"  median call: real {figures['median_real_ms']:.2f} ms, port {figures['median_port_ms']:.2f} ms")
    print(f"  all calls:   real {figures['total_real_s']:.1f} s, port {figures['total_port_s']:.1f} s")
    return 0
