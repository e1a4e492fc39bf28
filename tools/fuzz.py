"""Draw random programs, graphs and expressions, run the real carver and the port on each, and compare all they say.

A program's whole record is compared: every visited tile with its figures, the ranking, the hints, or the refusal. An
expression is compared by its bounds, simplified forms, iterator maps and inverses. Each failing program is shrunk and
printed with its first differences and its line of a case list; --save writes those lines to files that
`carver record --cases FILE --out FILE` records. Case number I of seed S is always the same one: --only runs it alone.

Where the real carver dies or runs over the limit there is nothing to compare with: such cases are counted apart, and
so are those that differ only because its solver, Z3, has a budget: given a hundred times as much, it agrees.
Exit code 0: no difference, 1: some, 2: it cannot be run.

    carver fuzz --n 100 --graphs 20 --expressions 1000 --python PATH
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import json
import logging
import multiprocessing
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from ..arch.errors import CarverError
from . import cases as case_module
from . import fuzz_draw, fuzz_expressions, fuzz_programs, recording
from .check import compare_records
from .fuzz_shrink import shrink
from .real_carver import TimeLimit, time_limit
from .record import RealCarver, default_python, fixtures_folder, progress

KINDS = ("program", "graph", "expression")
EXPRESSIONS_PER_TASK = 200
# TVM gives Z3 10,000 steps for a proof; what is not proved in these counts as not proved. The port's decision procedure
# has no such end and cannot know Z3's. Where the sides differ, the real carver is asked once more with this many steps
# and another random start: if it then says what the port says, its budget made the difference.
SOLVER_STEPS = 1_000_000

# What can come of a case, in the order of the summary; those of FAILURES make the exit code 1.
OUTCOMES = {
    "hints": "agree, with hints",
    "nothing": "agree that there is no hint",
    "refused": "refused by both",
    "equal": "agree",
    "differ": "differ",
    "fault": "the port fails by an error that is no refusal",
    "port time": "the port runs over the limit, the real carver does not",
    "gave up": "differ where the real carver's solver runs out of its budget (no failure)",
    "real died": "the real carver crashes (not compared)",
    "real time": "the real carver runs over the limit (not compared)",
}
FAILURES = ("differ", "fault", "port time")
# Of these the summary names some cases: they are no failures, but worth a look.
NAMED = ("gave up", "real died", "real time")


@dataclass
class Result:
    """What came of one task: counts by outcome, and a report of each failure."""

    kind: str
    counts: Counter = field(default_factory=Counter)
    visited: int = 0  # tiles compared
    failures: list[Failure] = field(default_factory=list)
    named: dict[str, list[str]] = field(default_factory=dict)
    seconds: tuple[float, float] = (0.0, 0.0)  # of the real carver, of the port


@dataclass
class Failure:
    """One failing case, shrunk."""

    name: str
    outcome: str
    drifts: list[str]  # as drawn
    case: dict
    shrunk: dict
    shrunk_drifts: list[str]
    tried: int


# ---------------------------------------------------------------------------------------------------------------------
# Both sides


def refusals() -> set[str]:
    """Names of the errors that are refusals: the port's own, and those of a spec that is none.

    Any other, a plain ValueError too, is Python's complaint about the port's code, even where the real carver refuses.
    """
    names = set()
    todo: list[type] = [CarverError, fuzz_programs.SpecError]
    while todo:
        cls = todo.pop()
        names.add(cls.__name__)
        todo.extend(cls.__subclasses__())
    return names


class BothSides:
    """The real carver in its interpreter and the port in this one; they work at the same time."""

    def __init__(self, python: str, limit: float) -> None:
        self.limit = limit
        self.devices = load_devices()
        self.port = case_module.port_backend()
        self.real = RealCarver(python, limit)
        self.real.__enter__()
        # Started when first asked. More steps take more time.
        self.patient = RealCarver(python, 5 * limit, solver_steps=SOLVER_STEPS)
        self._thread = ThreadPoolExecutor(1)

    def close(self) -> None:
        self.real.close()
        self.patient.close()
        self._thread.shutdown()

    def plain_device(self) -> dict:
        return self.devices.device("a100")

    def ask(self, question: dict) -> Future:
        """The real carver's answer to a case, or to a batch of expressions."""
        return self._thread.submit(self.real.answer, question)

    def ask_patiently(self, question: dict) -> dict:
        """The real carver's answer when its solver has time."""
        try:
            return self.patient.answer(question)
        except CarverError as error:  # it cannot be started here
            return {"id": question["id"], "failed": str(error)}

    def port_record(self, case: dict) -> tuple[dict, float]:
        """The port's answer in the form of `real_carver.py`'s."""
        started = time.perf_counter()
        try:
            with time_limit(self.limit):
                record, _ = case_module.record_case(self.port, case)
                answer = {"record": json.loads(json.dumps(record))}
        except TimeLimit:
            answer = {"failed": f"time limit of {self.limit:g} s"}
        return answer, time.perf_counter() - started

    def compare(self, case: dict) -> tuple[str, list[str], Any]:
        """The outcome of a case, the differences as lines, and (visited tiles, seconds of both sides)."""
        pending = self.ask(case)
        port, port_seconds = self.port_record(case)
        real = pending.result()
        figures = (0, real.get("seconds", 0.0), port_seconds)
        if "failed" in real:
            return ("real time" if "time limit" in real["failed"] else "real died"), [real["failed"]], figures
        if "failed" in port:
            return "port time", [port["failed"]], figures
        old, new = real["record"], port["record"]
        figures = (sum(len(search["visited"]) for search in old["searches"]), *figures[1:])
        fault = fault_of(new)
        if fault is not None:
            return "fault", [f"{fault['type']}: {fault['message']}"], figures
        drifts = compare_records(old, new)
        if drifts:
            patient = self.ask_patiently(case).get("record")
            gave_up = patient is not None and not compare_records(patient, new)
            return ("gave up" if gave_up else "differ"), [str(drift) for drift in drifts], figures
        return ("refused" if "error" in old else "hints" if old["hints"] else "nothing"), [], figures


def fault_of(record: dict) -> dict | None:
    """An error of the port's that is no refusal."""
    errors = [record.get("error"), *(search.get("error") for search in record["searches"])]
    known = refusals()
    for error in errors:
        if error is not None and error["type"] not in known:
            return error
    return None


def load_devices() -> ModuleType:
    """`fixtures/devices.py`, by path: that folder is no package."""
    path = fixtures_folder() / "devices.py"
    spec = importlib.util.spec_from_file_location("carver_fixture_devices", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------------------------------------------------------------
# Tasks


@dataclass(frozen=True)
class Task:
    """A case, or a stretch of expressions: the unit of work and of progress."""

    kind: str
    seed: int
    first: int
    count: int = 1
    given: str = ""  # a case as JSON instead of a drawn one


def run_task(sides: BothSides, task: Task, shrinking: float) -> Result:
    if task.kind == "expression":
        return run_expressions(sides, task, shrinking)
    if task.given:
        case = json.loads(task.given)
    else:
        # Through JSON once, so that both sides see the same lists.
        case = json.loads(json.dumps(fuzz_draw.draw_case(task.seed, task.first, task.kind, sides.devices)))
    result = Result(task.kind)
    outcome, drifts, (visited, real_seconds, port_seconds) = sides.compare(case)
    count(result, case, outcome)
    result.visited = visited
    result.seconds = (real_seconds, port_seconds)
    if outcome in FAILURES:
        smaller, tried = case, 0
        if shrinking > 0 and is_random(case):

            def fails(candidate: dict) -> bool:
                return sides.compare(candidate)[0] == outcome

            smaller, tried = shrink(case, fails, sides.plain_device(), seconds=shrinking)
            smaller = {**smaller, "id": f"fuzz-{case['id']}"}
        found = sides.compare(smaller)[1]
        result.failures.append(Failure(case["id"], outcome, drifts, case, smaller, found, tried))
    return result


def count(result: Result, case: dict, outcome: str) -> None:
    result.counts[outcome] += 1
    if outcome in NAMED:
        result.named.setdefault(outcome, []).append(case["id"])


def is_random(case: dict) -> bool:
    computation = case["computation"]
    return computation.get("workload") == "random_program" or computation.get("graph") == "random_graph"


def run_expressions(sides: BothSides, task: Task, shrinking: float = 60.0) -> Result:
    """A stretch of expressions, in one message to the real side; one by one when that crashes."""
    result = Result("expression")
    if task.given:
        batch = [json.loads(task.given)]
    else:
        batch = [fuzz_expressions.draw_case(task.seed, task.first + i) for i in range(task.count)]
    batch = json.loads(json.dumps(batch))
    pending = sides.ask({"id": f"expressions-{task.first}", "expressions": batch})
    started = time.perf_counter()
    answers: list[Any] = []
    for case in batch:
        try:
            with time_limit(sides.limit):
                answers.append(json.loads(json.dumps(fuzz_expressions.port_answers(case))))
        except TimeLimit:
            answers.append("time limit")
    port_seconds = time.perf_counter() - started
    reply = pending.result()
    if "failed" in reply:
        singles = [sides.ask({"id": "expression", "expressions": [case]}).result() for case in batch]
    else:
        singles = [{"answers": [answer]} for answer in reply["answers"]]
    for case, ours, single in zip(batch, answers, singles):
        outcome, drifts = compare_expression(sides, case, ours, single)
        count(result, case, outcome)
        if outcome in FAILURES:
            fails = functools.partial(ends_so, sides, outcome)
            smaller, tried = fuzz_expressions.shrink(case, fails, seconds=shrinking)
            found = ask_expression(sides, smaller)[1] if tried else drifts
            result.failures.append(Failure(case["id"], outcome, drifts, case, smaller, found, tried))
    result.seconds = (reply.get("seconds", 0.0), port_seconds)
    return result


def ends_so(sides: BothSides, outcome: str, case: dict) -> bool:
    return ask_expression(sides, case)[0] == outcome


def compare_expression(sides: BothSides, case: dict, ours: Any, reply: dict) -> tuple[str, list[str]]:
    outcome, lines = fuzz_expressions.compare(case, ours, reply)
    if outcome == "differ":
        places = fuzz_expressions.differing(case, ours, reply["answers"][0])
        part = {**case, "queries": [case["queries"][place] for place in places]}
        patient = sides.ask_patiently({"id": "expression", "expressions": [part]})
        if fuzz_expressions.compare(part, [ours[place] for place in places], patient)[0] in ("equal", "refused"):
            outcome = "gave up"
    return outcome, lines


def ask_expression(sides: BothSides, case: dict) -> tuple[str, list[str]]:
    pending = sides.ask({"id": "expression", "expressions": [case]})
    try:
        with time_limit(sides.limit):
            ours: Any = json.loads(json.dumps(fuzz_expressions.port_answers(case)))
    except TimeLimit:
        ours = "time limit"
    return compare_expression(sides, case, ours, pending.result())


# ---------------------------------------------------------------------------------------------------------------------
# Workers

_sides: BothSides | None = None


def start_worker(python: str, limit: float) -> None:
    """In a process of its own, or in ours when there is one job."""
    global _sides
    # Where carver swallows every error, a fault of the port must not pass for a refusal.
    os.environ["CARVER_STRICT"] = "1"
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    _sides = BothSides(python, limit)


def work(item: tuple[Task, float]) -> Result:
    assert _sides is not None
    return run_task(_sides, *item)


@contextlib.contextmanager
def workers(jobs: int, python: str, limit: float) -> Iterator[Callable[[Iterable], Iterable[Result]]]:
    """A function that maps tasks to results, as they come."""
    global _sides
    if jobs == 1:
        start_worker(python, limit)
        try:
            yield lambda items: map(work, items)
        finally:
            if _sides is not None:
                _sides.close()
                _sides = None
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, start_worker, (python, limit)) as pool:
        try:
            yield lambda items: results_of(pool, items, 4 * jobs)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def results_of(pool: ProcessPoolExecutor, items: Iterable, ahead: int) -> Iterator[Result]:
    """The results, at most `ahead` tasks being under way."""
    pending: set[Future] = set()
    for item in items:
        pending.add(pool.submit(work, item))
        if len(pending) >= ahead:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    yield from (future.result() for future in as_completed(pending))


# ---------------------------------------------------------------------------------------------------------------------
# The command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--n", type=int, default=None, metavar="N", help="programs to draw (200)")
    parser.add_argument("--graphs", type=int, default=0, metavar="N", help="graphs to draw (0)")
    parser.add_argument("--expressions", type=int, default=0, metavar="N", help="expressions to draw (0)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="what is drawn follows from it (0)")
    parser.add_argument("--only", metavar="KIND-I", help="one case alone: program-17, graph-3, expression-1200 or 17")
    parser.add_argument("--cases", metavar="FILE", help="compare the cases of this list instead of drawing any")
    parser.add_argument("--python", metavar="PATH", help="an interpreter with tilelang (or $CARVER_REAL_PYTHON)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes of either side (1)")
    parser.add_argument("--limit", type=float, default=20.0, metavar="S", help="seconds a case may take on a side (20)")
    parser.add_argument("--shrink", type=float, default=60.0, metavar="S", help="seconds to shrink one failure (60)")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="differences to print per failure (10)")
    parser.add_argument("--save", type=Path, metavar="DIR", help="write the failing cases there, as case lists")


def tasks_of(args: argparse.Namespace) -> tuple[int, Iterable[Task]]:
    """How many cases there are, and the tasks."""
    if args.cases is not None:
        given = [Task("program", 0, 0, given=json.dumps(case)) for case in recording.read_cases(args.cases)]
        return len(given), given
    if args.only is not None:
        kind, _, number = args.only.rpartition("-")
        if (kind or "program") not in KINDS or not number.isdecimal():
            raise CarverError(f"--only {args.only}: give program-I, graph-I or expression-I, I a number from 0")
        return 1, [Task(kind or "program", args.seed, int(number))]
    programs = args.n
    if programs is None:
        programs = 0 if args.graphs or args.expressions else 200
    for name, count in (("--n", programs), ("--graphs", args.graphs), ("--expressions", args.expressions)):
        if count < 0:
            raise CarverError(f"{name} {count}: a count cannot be negative")
    total = programs + args.graphs + args.expressions
    if total == 0:
        raise CarverError("nothing to do: give --n, --graphs or --expressions")
    return total, drawn_tasks(args.seed, programs, args.graphs, args.expressions)


def drawn_tasks(seed: int, programs: int, graphs: int, expressions: int) -> Iterator[Task]:
    for index in range(programs):
        yield Task("program", seed, index)
    for index in range(graphs):
        yield Task("graph", seed, index)
    for first in range(0, expressions, EXPRESSIONS_PER_TASK):
        yield Task("expression", seed, first, min(EXPRESSIONS_PER_TASK, expressions - first))


def run(args: argparse.Namespace) -> int:
    for name in ("jobs", "show"):
        if getattr(args, name) < 1:
            raise CarverError(f"--{name} {getattr(args, name)}: must be positive")
    if not args.limit > 0:
        raise CarverError(f"--limit {args.limit:g}: must be positive")
    if args.save is not None and not args.save.is_dir():
        raise CarverError(f"--save {args.save}: no such directory")
    total, tasks = tasks_of(args)
    fixtures_folder()
    python = default_python(args.python)
    started = time.monotonic()
    totals = {kind: Result(kind) for kind in KINDS}
    done = 0
    with workers(args.jobs, python, args.limit) as each, progress(total, "comparing") as show:
        show(0)
        for result in each((task, args.shrink) for task in tasks):
            done += sum(result.counts.values())
            gather(totals[result.kind], result)
            for failure in result.failures:
                if sys.stderr.isatty():
                    print("\r\x1b[K", end="", file=sys.stderr)
                print_failure(failure, args)
            show(done)
    if args.save is not None:
        save(args.save, totals.values())
    print_summary(totals, args, time.monotonic() - started)
    return 1 if any(total.counts[name] for total in totals.values() for name in FAILURES) else 0


def gather(total: Result, result: Result) -> None:
    total.counts += result.counts
    total.visited += result.visited
    total.failures += result.failures
    for outcome, names in result.named.items():
        total.named.setdefault(outcome, []).extend(names)
    total.seconds = (total.seconds[0] + result.seconds[0], total.seconds[1] + result.seconds[1])


def print_failure(failure: Failure, args: argparse.Namespace) -> None:
    print(f"{failure.name}: {OUTCOMES[failure.outcome]}")
    for line in failure.drifts[:1]:
        print(f"  {line}")
    print(f"  shrunk in {failure.tried} tries to")
    for line in show_case(failure.shrunk):
        print(f"    {line}")
    print_lines(failure.shrunk_drifts, args.show)
    print(f"  {json.dumps(failure.shrunk, separators=(',', ':'))}", flush=True)


def print_lines(lines: list[str], limit: int) -> None:
    for line in lines[:limit]:
        print(f"  {line}")
    if len(lines) > limit:
        print(f"  ... and {len(lines) - limit} more")


def show_case(case: dict) -> list[str]:
    if "computation" not in case:
        return fuzz_expressions.show_case(case)
    computation = case["computation"]
    if not is_random(case):
        return [json.dumps(computation)]
    spec = computation["params"]["spec"]
    lines = fuzz_programs.show_program(spec) if "workload" in computation else fuzz_programs.show_graph(spec)
    figures = case["device"]
    device = figures.get("name") or figures["target"].get("mcpu") or figures["class"]
    changed = [f"{name}={figures[name]}" for name in ("smem_cap", "compute_max_core") if name in figures]
    entry = f", entry {computation['entry']}" if "entry" in computation else ""
    return [*lines, f"on {device} ({', '.join(changed)}), topk {case['topk']}{entry}"]


def save(folder: Path, totals: Iterable[Result]) -> None:
    """The shrunk failing cases by kind; those of programs and graphs are case lists."""
    for total in totals:
        if total.failures:
            path = folder / f"{total.kind}s.jsonl"
            lines = [recording.dump_line(failure.shrunk) + "\n" for failure in total.failures]
            recording.write_atomically(path, "".join(lines).encode("utf-8"))
            print(f"{path}: {len(lines)} failing cases")


def print_summary(totals: dict[str, Result], args: argparse.Namespace, seconds: float) -> None:
    for kind, total in totals.items():
        cases = sum(total.counts.values())
        if not cases:
            continue
        tiles = f", {total.visited} visited tiles" if total.visited else ""
        real, port = total.seconds
        print(f"{cases} {kind}s of seed {args.seed}{tiles} (real carver {real:.0f} s, port {port:.0f} s)")
        for name, text in OUTCOMES.items():
            if total.counts[name]:
                names = sorted(total.named.get(name, []))
                examples = f": {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}" if names else ""
                print(f"  {total.counts[name]:7d}  {text}{examples}")
    print(f"{seconds:.0f} s")
