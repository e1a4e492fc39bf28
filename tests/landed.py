"""Landed cases of the recordings, run on the port with a trace of every search. Shared by the tests of the debugger."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from carver.policy import DefaultPolicy
from carver.tools import cases, check, recording
from carver.tools.trace import SearchTrace

# Cases with longer searches take the tests longer than they are worth: what they do is done by shorter ones as well.
LONGEST = 300
FILES = ("shapes", "templates", "workloads", "graphs", "amd")
STRIDE = 3


@dataclass
class Landed:
    """A case, what the real carver did, and the port's traces of the same searches."""

    case: dict
    record: dict
    traces: list[SearchTrace]

    @property
    def pairs(self) -> list[tuple[SearchTrace, dict]]:
        """Each search with its recording; those that priced no tile are left out."""
        return [(trace, search) for trace, search in zip(self.traces, self.record["searches"]) if search["visited"]]


@functools.lru_cache(maxsize=1)
def landed() -> list[Landed]:
    """Every third case of the recordings whose searches are not long."""
    backend = cases.port_backend()
    found = []
    for name in FILES:
        [path] = [path for path in check.own_recordings() if path.name == f"{name}.jsonl"]
        short = [entry for entry in recording.read(path).entries if is_short(entry[1])]
        for case, record in short[::STRIDE]:
            found.append(Landed(case, record, run_traced(backend, case)))
    return found


def is_short(record: dict) -> bool:
    return all(len(search["visited"]) <= LONGEST for search in record["searches"])


def run_traced(backend: cases.Backend, case: dict) -> list[SearchTrace]:
    """Run a case as a user's program would, with a trace in every policy that searches. Errors end it, as they do."""
    traces: list[SearchTrace] = []
    emit_config = DefaultPolicy.emit_config

    def traced(policy: DefaultPolicy, topk: int) -> list:
        policy.trace = SearchTrace(policy)
        traces.append(policy.trace)
        try:
            return emit_config(policy, topk)
        finally:
            policy.trace = None

    DefaultPolicy.emit_config = traced
    try:
        cases.run_case(backend, case, backend.make_device(case["device"]))
    except Exception:
        pass
    finally:
        DefaultPolicy.emit_config = emit_config
    return traces
