"""The port against everything recorded from the real carver: each visited tile in order, the ranking, the hints."""

from __future__ import annotations

import collections
import copy
import os

import pytest
from carver.tools import cases, check, recording
from carver.tools.record import RealCarver, case_lists

# A missing or unreadable recording fails here, at collection.
RECORDINGS = [recording.read(path) for path in check.own_recordings()]
ENTRIES = [entry for item in RECORDINGS for entry in item.entries]
BACKEND = cases.port_backend()


@pytest.mark.parametrize(("case", "record"), [pytest.param(case, record, id=case["id"]) for case, record in ENTRIES])
def test_replay(case: dict, record: dict) -> None:
    drifts = check.replay(BACKEND, case, record)
    assert not drifts, "\n".join(map(str, drifts[:20]))


def test_recordings_fit_the_case_lists() -> None:
    assert check.stale(RECORDINGS) == []


def recorded(*lists: str) -> list[tuple[dict, dict]]:
    chosen = []
    for item in RECORDINGS:
        name = item.path.replace("\\", "/").rsplit("/", 1)[-1].split(".")[0].removesuffix("_large")
        if name in lists:
            chosen += item.entries
    return chosen


def test_enough_is_recorded() -> None:
    assert len(recorded("shapes", "templates")) >= 600
    assert len(recorded("workloads", "graphs", "amd")) >= 250
    assert all(item.meta["tilelang"] == "0.1.15" for item in RECORDINGS)


def test_recordings_are_small_enough() -> None:
    folder = check.fixtures_folder()
    total = sum(path.stat().st_size for path in folder.iterdir() if ".jsonl" in path.name)
    assert total <= 10_000_000


def test_every_workload_and_graph_is_recorded() -> None:
    used = collections.Counter()
    for case, _ in ENTRIES:
        computation = case["computation"]
        used[computation.get("workload"), computation.get("graph"), computation.get("template")] += 1
    own = BACKEND.workloads.__name__  # others, made from data, are added to the tables when they are loaded
    for name, function in BACKEND.workloads.WORKLOADS.items():
        assert used[name, None, None] or function.__module__ != own, name
    for name, function in BACKEND.workloads.GRAPHS.items():
        assert used[None, name, None] or function.__module__ != own, name
    for name in cases.TEMPLATES:
        assert used[None, None, name] >= 20, name


def test_every_device_generation_is_recorded() -> None:
    arches = set()
    for case, _ in ENTRIES:
        target = case["device"]["target"]
        arches.add(target.get("arch") or target.get("mcpu"))
    assert {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100a", "sm_120"} <= arches
    assert {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201"} <= arches


def test_searches_that_stop_at_the_cap_are_recorded() -> None:
    longest = [max((len(search["visited"]) for search in record["searches"]), default=0) for _, record in ENTRIES]
    assert sum(count > 2000 for count in longest) >= 10
    assert max(longest) < 2010


def test_cases_without_an_answer_are_recorded() -> None:
    errors = [record for _, record in ENTRIES if "error" in record]
    empty = [record for _, record in ENTRIES if record.get("hints") == []]
    assert len(errors) >= 50
    assert len(empty) >= 20


def test_both_policies_answered_and_fell_back() -> None:
    answers = collections.Counter(tuple(s["policy"] for s in record["searches"]) for _, record in ENTRIES)
    assert answers["TensorCorePolicy",] >= 200
    assert answers["DefaultPolicy",] >= 200
    assert answers["TensorCorePolicy", "DefaultPolicy"] >= 5


def test_the_regression_value_others_keep() -> None:
    """sm_80, 32768 B, 1 SM, L2 0, a row reduction of 1024x1024 float32, one hint."""
    wanted = (
        "reduce-structureSR-shape1024x1024-dtypef32-a100-smem_cap=32768-compute_max_core=1-l2_cache_size_bytes=0-top1"
    )
    [(case, record)] = [entry for entry in ENTRIES if entry[0]["id"] == wanted]
    [hint] = cases.run_case(BACKEND, case, BACKEND.make_device(case["device"]))
    assert (hint.block, hint.thread, hint.rstep, hint.reduce_thread) == ([128], [128], [32], [1])
    assert record["hints"][0][0]["block"] == [128]


def test_hints_hold_plain_integers() -> None:
    """No numpy scalar leaks into a hint: `repr` and JSON would show it."""
    backend = BACKEND
    for case, record in recorded("graphs"):
        if not record.get("hints"):
            continue
        for hint in cases.run_case(backend, case, backend.make_device(case["device"])):
            for part in hint.values() if isinstance(hint, dict) else [hint]:
                for name in ("block", "thread", "warp", "rstep", "reduce_thread", "step"):
                    assert all(type(value) is int for value in getattr(part, name)), (case["id"], name)


def test_stale_recordings_are_noticed() -> None:
    """A case less, one more, one defined otherwise, and a list that is not there at all."""
    recordings = copy.copy(RECORDINGS)
    graphs = next(item for item in recordings if item.path.endswith("graphs.jsonl"))
    first, second, *rest = graphs.entries
    other = ({**second[0], "topk": 77}, second[1])
    more = ({**first[0], "id": "more"}, first[1])
    recordings[recordings.index(graphs)] = recording.Recording(graphs.path, graphs.meta, [other, more, *rest])
    assert check.stale(recordings) == [
        f"list graphs: 1 cases not recorded, the first is {first[0]['id']}",
        "list graphs: 1 cases not in the list, the first is more",
        f"list graphs: 1 cases recorded otherwise, the first is {second[0]['id']}",
    ]
    assert len(check.stale([])) == len(case_lists().LISTS)


@pytest.mark.skipif(
    "CARVER_REAL_PYTHON" not in os.environ, reason="CARVER_REAL_PYTHON names no interpreter with tilelang"
)
def test_the_real_carver_still_answers_so() -> None:
    chosen = recorded("graphs")[::10] + recorded("amd")[::20]
    with RealCarver(os.environ["CARVER_REAL_PYTHON"], limit=120) as real:
        for case, old in chosen:
            assert check.compare_records(old, real.answer(case)["record"]) == [], case["id"]
