"""Record what the real carver answers: runs it in another interpreter, one that has tilelang==0.1.15.

Without --cases the lists of fixtures/case_lists.py are recorded again, each into fixtures/NAME.jsonl and, for its long
searches, fixtures/NAME_large.jsonl.gz. With --cases FILE (JSON lines) or --cases NAME only those are.
Existing recordings are replaced only with --update, and a file is written whole or not at all.

A case is one line: an id, the computation, the figures of the device, and how many hints to ask for.
  {"id": "mine", "computation": {"template": "matmul", "params": {"M": 512, "N": 512, "K": 512}},
   "device": {"class": "CUDA", ...}, "topk": 10}
device("a100") of fixtures/devices.py gives the figures. A function or a graph of one's own goes into the tables of
fixtures/workloads.py and is named there: "workload" or "graph" in the place of "template".

    carver record --python PATH --cases mine.cases.jsonl --out mine.jsonl
    carver record --python PATH --cases graphs --update
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ..arch.errors import CarverError
from . import recording
from .display import status_line

TILELANG = "0.1.15"
PYTHON_HELP = f"an interpreter with tilelang=={TILELANG} (or $CARVER_REAL_PYTHON)"
ROOT = Path(__file__).resolve().parent.parent
SCRIPT = Path(__file__).resolve().parent / "real_carver.py"
NO_FIXTURES = "no fixtures in this installation: install a clone of the repository with pip install -e"

# Searches longer than this go to the compressed file of a list; an ordinary matmul visits 97 tiles.
LARGE_SEARCH = 100
# Cases a process computes before a fresh one takes over: TVM never gives memory back.
CASES_PER_PROCESS = 2000


def fixtures_folder() -> Path:
    folder = ROOT / "fixtures"
    if not (folder / "case_lists.py").is_file():
        raise CarverError(NO_FIXTURES)
    return folder


def case_lists() -> ModuleType:
    """The module `fixtures/case_lists.py`, by path: that folder is no package."""
    name = "carver_case_lists"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, fixtures_folder() / "case_lists.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


# ---------------------------------------------------------------------------------------------------------------------
# The other interpreter


class RealCarver:
    """`real_carver.py` running in an interpreter that has tilelang; answers cases one at a time.

    A case that kills its process or runs over the limit is answered with ``{"id", "failed": reason}``, and the next
    one gets a fresh process. Use as a context manager.
    """

    # A long call into C++ cannot be interrupted from within: after this many seconds over the limit we kill it.
    GRACE = 20.0

    def __init__(
        self,
        python: str,
        limit: float = 0.0,
        watch: bool = True,
        workloads: Path | None = None,
        solver_steps: int = 0,  # 0: as TVM has it
    ) -> None:
        self.python = python
        self.limit = limit
        self.watch = watch
        self.workloads = workloads
        self.solver_steps = solver_steps
        self.about: dict = {}
        self._process: subprocess.Popen | None = None
        self._lines: queue.Queue = queue.Queue()
        self._complaints: list[str] = []
        self._answered = 0

    def __enter__(self) -> RealCarver:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        command = [self.python, str(SCRIPT), "--limit", str(self.limit)]
        if not self.watch:
            command.append("--plain")
        if self.solver_steps:
            command += ["--solver-steps", str(self.solver_steps)]
        if self.workloads is not None:
            command += ["--workloads", str(self.workloads)]
        # Nothing of our own environment must reach its imports.
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise CarverError(f"--python {self.python}: cannot be started ({error.strerror})") from None
        self._process = process
        self._answered = 0
        # A process that was killed leaves its readers behind; each has queues of its own, so they cannot mix.
        lines: queue.Queue = queue.Queue()
        complaints: list[str] = []
        self._lines, self._complaints = lines, complaints
        threading.Thread(target=self._read_lines, args=(process.stdout, lines), daemon=True).start()
        threading.Thread(target=self._keep_last, args=(process.stderr, complaints), daemon=True).start()
        about = self._next_line(timeout=300.0)
        if not about:
            self.close()
            raise CarverError(self._why_not_started())
        self.about = json.loads(about)
        if self.about.get("tilelang") != TILELANG:
            version = self.about.get("tilelang")
            self.close()
            raise CarverError(f"--python {self.python} has tilelang {version}; recordings are of {TILELANG}")

    @staticmethod
    def _read_lines(stream: Any, lines: queue.Queue) -> None:
        for line in stream:
            lines.put(line)
        lines.put("")  # the end, as readline gives it

    @staticmethod
    def _keep_last(stream: Any, complaints: list[str]) -> None:
        for line in stream:
            complaints.append(line)
            del complaints[:-50]

    def _next_line(self, timeout: float | None) -> str | None:
        """The next line; "" when the process has ended, None when it takes too long."""
        try:
            return self._lines.get(timeout=timeout)
        except queue.Empty:
            return None

    def _why_not_started(self) -> str:
        text = "".join(self._complaints)
        if "No module named 'tilelang'" in text or "PackageNotFoundError" in text:
            return (
                f"--python {self.python} has no tilelang; in a virtual environment of its own: "
                f"pip install tilelang=={TILELANG}"
            )
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"--python {self.python} did not start the real carver: {lines[-1] if lines else 'no reason given'}"

    def answer(self, case: dict) -> dict:
        """The answer to one case, see `real_carver.py`."""
        if self._process is None or self._answered >= CASES_PER_PROCESS:
            self.close()
            self._start()
        process = self._process
        assert process is not None and process.stdin is not None
        self._answered += 1
        try:
            process.stdin.write(json.dumps(case) + "\n")
            process.stdin.flush()
        except OSError:
            pass  # it died; the missing answer says so
        line = self._next_line(self.limit + self.GRACE if self.limit > 0 else None)
        if line:
            return json.loads(line)
        self.close()
        reason = f"time limit of {self.limit:g} s" if line is None else "the process died"
        return {"id": case["id"], "failed": reason}

    def close(self) -> None:
        """End the process (only the one started here)."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


@contextlib.contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """Calls of the given function show how far we are, on a terminal and nowhere else."""
    started = time.monotonic()
    with status_line() as put:
        yield lambda done: put(f"{what} {done}/{total}  {time.monotonic() - started:.0f} s")


def default_python(given: str | None) -> str:
    """The interpreter to ask: the one given, else $CARVER_REAL_PYTHON, else this one when it has tilelang."""
    if given:
        return given
    named = os.environ.get("CARVER_REAL_PYTHON")
    if named:
        return named
    if importlib.util.find_spec("tilelang") is not None:
        return sys.executable
    raise CarverError("give --python PATH, an interpreter that has tilelang==" + TILELANG)


# ---------------------------------------------------------------------------------------------------------------------
# Recording


def record_cases(
    real: RealCarver, cases: list[dict], times: dict[str, float] | None = None, label: str = "recording"
) -> list[tuple[dict, dict]]:
    """Case and record of each; a case without an answer ends it, because a gap would be a silent one."""
    entries = []
    with progress(len(cases), label) as show:
        for done, case in enumerate(cases):
            show(done)
            answer = real.answer(case)
            if "failed" in answer:
                raise CarverError(f"case {case['id']} was not recorded: {answer['failed']}; nothing is written")
            try:
                entries.append((case, recording.check_record(answer["record"])))
            except recording.Malformed as error:
                raise CarverError(f"case {case['id']} has an answer no recording can hold: {error}") from None
            if times is not None:
                times[case["id"]] = answer["seconds"]
    return entries


def visited_tiles(record: dict) -> int:
    return sum(len(search["visited"]) for search in record["searches"])


def metadata(real: RealCarver, command: str) -> dict:
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return {**real.about, "date": date, "command": command}


def record_list(real: RealCarver, name: str, folder: Path, update: bool, times: dict | None) -> list[str]:
    """Record one of our own lists into its one or two files; says what was written."""
    small_path, large_path = folder / f"{name}.jsonl", folder / f"{name}_large.jsonl.gz"
    for path in (small_path, large_path):
        if path.exists() and not update:
            raise CarverError(f"{path} exists; give --update to replace it")
    entries = record_cases(real, case_lists().LISTS[name](), times, label=name)
    small = [entry for entry in entries if visited_tiles(entry[1]) <= LARGE_SEARCH]
    large = [entry for entry in entries if visited_tiles(entry[1]) > LARGE_SEARCH]
    meta = metadata(real, f"carver record --cases {name} --update")
    written = []
    for path, part in ((small_path, small), (large_path, large)):
        if part:
            recording.write(path, meta, part, update)
            written.append(f"{path}: {len(part)} cases")
        elif path.exists():
            path.unlink()  # an older list had some; left behind they would be stale
            written.append(f"{path}: removed")
    return written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", metavar="PATH", help=PYTHON_HELP)
    parser.add_argument("--cases", metavar="FILE", help="a file of cases (JSON lines) or the name of one of our lists")
    parser.add_argument("--out", metavar="FILE", help="where to write; .gz compresses (needed with a file of cases)")
    parser.add_argument("--update", action="store_true", help="replace recordings that exist")
    parser.add_argument("--limit", type=float, default=600.0, metavar="S", help="seconds one case may take (600)")
    parser.add_argument("--times", metavar="FILE", help="write the seconds of each case as JSON lines")


def run(args: argparse.Namespace) -> int:
    if args.times is not None:
        recording.check_place(args.times)
    if not args.limit > 0:
        raise CarverError(f"--limit {args.limit:g}: must be positive")
    own = case_lists().LISTS if args.cases is None or not os.path.exists(args.cases) else {}
    times: dict[str, float] = {}
    if args.cases is None or args.cases in own:
        if args.out is not None:
            raise CarverError("--out goes with a file of cases; our own lists have their files")
        names = list(own) if args.cases is None else [args.cases]
        folder = fixtures_folder()
        for name in names:
            for path in (folder / f"{name}.jsonl", folder / f"{name}_large.jsonl.gz"):
                if path.exists() and not args.update:
                    raise CarverError(f"{path} exists; give --update to replace it")
        with RealCarver(default_python(args.python), args.limit) as real:
            for name in names:
                for line in record_list(real, name, folder, args.update, times):
                    print(line)
    else:
        if not os.path.exists(args.cases):
            raise CarverError(f"--cases {args.cases}: no such file, and not one of {', '.join(own)}")
        if args.out is None:
            raise CarverError("--out FILE says where to write the recording")
        out = Path(args.out)
        recording.check_place(out)
        if out.exists() and not args.update:
            raise CarverError(f"{out} exists; give --update to replace it")
        cases = recording.read_cases(args.cases)
        with RealCarver(default_python(args.python), args.limit) as real:
            entries = record_cases(real, cases, times)
            command = f"carver record --cases {Path(args.cases).name} --out {out.name}"
            recording.write(out, metadata(real, command), entries, args.update)
        print(f"{out}: {len(entries)} cases")
    if args.times:
        lines = [json.dumps({"id": name, "seconds": seconds}) + "\n" for name, seconds in times.items()]
        recording.write_atomically(Path(args.times), "".join(lines).encode())
    return 0
