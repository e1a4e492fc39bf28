"""The recordings' format: what is read back is what was written, and nothing malformed passes."""

from __future__ import annotations

import copy
import gzip
import json
import statistics
import sys
from pathlib import Path

import pytest
from carver.arch.errors import CarverError
from carver.tools import check, recording
from carver.tools.cli import main
from carver.tools.record import RealCarver

META = {"tilelang": "0.1.15", "wheel": "sha256:0", "python": "3.11.7", "date": "2025-01-31", "command": "carver record"}


def recorded_entry() -> tuple[dict, dict]:
    """A real case with several nodes and hints."""
    path = check.fixtures_folder() / "graphs.jsonl"
    for case, record in recording.read(path).entries:
        if len(record.get("hints") or ()) >= 3 and len(record["hints"][0]) >= 2:
            return case, record
    raise AssertionError("no such case")


ENTRY = recorded_entry()


@pytest.fixture
def entry() -> tuple[dict, dict]:
    return copy.deepcopy(ENTRY)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def rewritten(path: Path, change) -> Path:
    """A recording whose only line was changed and whose hash fits again."""
    line = json.loads(recording.to_bytes(META, [ENTRY]).split(b"\n")[1])
    body = change(line)
    if not isinstance(body, bytes):
        body = recording.dump_line(line if body is None else body).encode() + b"\n"
    head = {"format": recording.FORMAT, **META, "cases": body.count(b"\n"), "hash": recording.content_hash(body)}
    return write(path, json.dumps(head).encode() + b"\n" + body)


def refused(path: Path) -> str:
    with pytest.raises(CarverError) as caught:
        recording.read(path)
    text = str(caught.value)
    assert text.startswith(str(path)), text
    assert "\n" not in text and len(text) < 400
    return text.removeprefix(str(path))


# ---------------------------------------------------------------------------------------------------------------------
# Round trips


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_round_trip(tmp_path: Path, name: str, entry) -> None:
    failed = ({**entry[0], "id": "failed"}, {"error": {"type": "KeyError", "message": "'x'"}, "searches": []})
    none = ({**entry[0], "id": "none"}, {"searches": [], "hints": None})
    empty = ({**entry[0], "id": "empty"}, {"searches": [], "hints": []})
    entries = [entry, failed, none, empty]
    recording.write(tmp_path / name, META, entries)
    back = recording.read(tmp_path / name)
    assert back.entries == entries
    assert back.meta["cases"] == 4
    assert {key: back.meta[key] for key in META} == META


def test_an_entry_is_read_with_the_order_of_its_keys(tmp_path: Path, entry) -> None:
    recording.write(tmp_path / "a.jsonl", META, [entry])
    [(_, record)] = recording.read(tmp_path / "a.jsonl").entries
    assert json.dumps(record) == json.dumps(entry[1])


def test_a_row_is_cut_and_filled() -> None:
    rejected = [[1, 2], False, 10.5, 7, -1, -1, -1]
    late = [[1, 2], False, 10.0, 7, 3, -1, -1]
    whole = [[1, 2], True, 10.0, 7, 3, 4, 1]
    assert recording.encode_row(rejected) == [[1, 2], 0, 10.5, 7]
    assert recording.encode_row(late) == [[1, 2], 0, 10.0, 7, 3]
    assert recording.encode_row(whole) == [[1, 2], 1, 10.0, 7, 3, 4, 1]
    for row in (rejected, late, whole):
        assert recording.decode_row(recording.encode_row(row), 0) == row


def test_writing_twice_gives_the_same_bytes(tmp_path: Path, entry) -> None:
    for name in ("a.jsonl", "a.jsonl.gz"):
        recording.write(tmp_path / name, META, [entry])
        first = (tmp_path / name).read_bytes()
        recording.write(tmp_path / name, META, [entry], update=True)
        assert (tmp_path / name).read_bytes() == first


def test_an_existing_recording_is_kept_without_update(tmp_path: Path, entry) -> None:
    path = tmp_path / "a.jsonl"
    recording.write(path, META, [entry])
    before = path.read_bytes()
    with pytest.raises(CarverError, match="--update"):
        recording.write(path, META, [])
    assert path.read_bytes() == before


def test_a_failed_write_leaves_nothing(tmp_path: Path, entry) -> None:
    entry[1]["searches"][0]["visited"][0][2] = float("nan")
    with pytest.raises(ValueError):
        recording.write(tmp_path / "a.jsonl", META, [entry])
    assert list(tmp_path.iterdir()) == []


def test_writing_where_no_folder_is(tmp_path: Path, entry) -> None:
    with pytest.raises(CarverError, match="cannot be written"):
        recording.write(tmp_path / "none" / "a.jsonl", META, [entry])


def test_infinity_is_not_written(entry) -> None:
    entry[1]["searches"][0]["visited"][0][2] = float("inf")
    with pytest.raises(ValueError):
        recording.to_bytes(META, [entry])


# ---------------------------------------------------------------------------------------------------------------------
# Whole files


def test_missing_file(tmp_path: Path) -> None:
    assert "no such recording" in refused(tmp_path / "none.jsonl")


def test_a_folder(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"hello\n", b"{}\n", b"[1]\n", b"null", b'{"format": "1"}\n', b"\x00" * 99]
)
def test_no_recording_at_all(tmp_path: Path, data: bytes) -> None:
    assert ", line 1: " in refused(write(tmp_path / "a.jsonl", data))


def test_every_truncation_is_noticed(tmp_path: Path, entry) -> None:
    data = recording.to_bytes(META, [entry, ({**entry[0], "id": "second"}, entry[1])])
    end_of_head = data.index(b"\n")
    cuts = {0, 1, end_of_head - 1, end_of_head, end_of_head + 1, len(data) - 2, len(data) - 1}
    cuts.update(range(0, len(data), 997))
    cuts.add(data.index(b"\n", end_of_head + 1) + 1)  # after a whole case
    for cut in cuts:
        refused(write(tmp_path / "a.jsonl", data[:cut]))


def test_a_cut_gzip(tmp_path: Path, entry) -> None:
    path = tmp_path / "a.jsonl.gz"
    recording.write(path, META, [entry])
    data = path.read_bytes()
    for cut in (0, 5, 20, len(data) // 2, len(data) - 1):
        refused(write(path, data[:cut]))


def test_no_gzip_and_a_damaged_one(tmp_path: Path, entry) -> None:
    path = tmp_path / "a.jsonl.gz"
    refused(write(path, recording.to_bytes(META, [entry])))
    data = bytearray(gzip.compress(recording.to_bytes(META, [entry])))
    data[len(data) // 2] ^= 0xFF
    refused(write(path, bytes(data)))


def test_a_gzip_that_unpacks_without_end(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(recording, "MAX_BYTES", 1 << 20)
    bomb = write(tmp_path / "a.jsonl.gz", gzip.compress(b"0" * (8 << 20)))
    assert "more than 1 MB" in refused(bomb)


def test_not_text(tmp_path: Path, entry) -> None:
    data = recording.to_bytes(META, [entry])
    assert "not UTF-8" in refused(write(tmp_path / "a.jsonl", b"\xff\xfe" + data))
    line = data.split(b"\n")[1].replace(b'"id":"', b'"id":"\xff', 1)
    head = json.loads(data.split(b"\n")[0])
    head["hash"] = recording.content_hash(line + b"\n")
    both = json.dumps(head).encode() + b"\n" + line + b"\n"
    assert "line 2: not UTF-8" in refused(write(tmp_path / "b.jsonl", both))


def test_another_version(tmp_path: Path, entry) -> None:
    data = recording.to_bytes(META, [entry]).replace(b'"format":1', b'"format":2', 1)
    assert "format version 2" in refused(write(tmp_path / "a.jsonl", data))


@pytest.mark.parametrize("field", recording.META_FIELDS)
def test_metadata_is_complete(tmp_path: Path, entry, field: str) -> None:
    head, _, body = recording.to_bytes(META, [entry]).partition(b"\n")
    meta = json.loads(head)
    del meta[field]
    refused(write(tmp_path / "a.jsonl", json.dumps(meta).encode() + b"\n" + body))
    meta = json.loads(head)
    meta[field] = [1]
    refused(write(tmp_path / "b.jsonl", json.dumps(meta).encode() + b"\n" + body))


def test_an_edited_figure(tmp_path: Path, entry) -> None:
    data = recording.to_bytes(META, [entry])
    edited = data.replace(b'"topk":10', b'"topk":11', 1)
    assert edited != data
    assert "hash" in refused(write(tmp_path / "a.jsonl", edited))


def test_added_and_removed_cases(tmp_path: Path, entry) -> None:
    data = recording.to_bytes(META, [entry, ({**entry[0], "id": "second"}, entry[1])])
    lines = data.split(b"\n")
    assert "1 cases where 2" in refused(write(tmp_path / "a.jsonl", b"\n".join(lines[:2]) + b"\n"))
    assert "3 cases where 2" in refused(write(tmp_path / "b.jsonl", data + lines[1] + b"\n"))


def test_one_id_twice(tmp_path: Path, entry) -> None:
    data = recording.to_bytes(META, [entry, entry])
    assert "twice" in refused(write(tmp_path / "a.jsonl", data))


# ---------------------------------------------------------------------------------------------------------------------
# Hostile lines


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[" * 200_000 + b"]" * 200_000, "nested too deeply"),
        (b'{"case":' * 50_000 + b"1" + b"}" * 50_000, "nested too deeply"),
        (b'{"case":{},"case":{},"record":{}}', "twice"),
        (b'{"case":NaN,"record":{}}', "NaN"),
        (b'{"case":-Infinity,"record":{}}', "Infinity"),
        (b'{"case":' + b"9" * 5000 + b',"record":{}}', "40 digits"),
        (b'{"case":1e999,"record":{}}', "not an object"),
        (b'{"case":"__import__(\'os\')","record":{}}', "not an object"),
        (b'"text"', "not an object"),
        (b'{"case":{},"record":{},"more":1}', "unknown key 'more'"),
        (b"{", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_hostile_lines(tmp_path: Path, line: bytes, reason: str) -> None:
    text = refused(rewritten(tmp_path / "a.jsonl", lambda _: line + b"\n"))
    assert reason in text


def leaves(value, path=()):
    """Every place in a JSON value, with its path; of long lists the first places."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:7] if len(value) <= 7 else value[:2]):
            yield from leaves(item, (*path, index))


def put(value, path, new) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new


# Free in form: any JSON will do there.
FREE = ("params", "tags", "schedule_stages", "intrin_info", "pass_context", "output_strides", "opt_shapes")


def packed_line() -> dict:
    return json.loads(recording.to_bytes(META, [ENTRY]).split(b"\n")[1])


def tolerated(path: tuple, wrong) -> bool:
    """A traffic is any number, and use_tc is a flag or null."""
    return ("visited" in path and path[-1] == 2 and wrong == 1.5) or (path[-1] == "use_tc" and wrong is True)


def test_every_field_is_checked() -> None:
    """A value of the wrong type in each place of a line: every one is refused."""
    passed = []
    count = 0
    for path, value in leaves(packed_line()):
        if path == () or any(part in FREE for part in path):
            continue
        for wrong in ({"__class__": "x"}, [[[]]], "\x00", 1.5, True):
            if type(wrong) is type(value) and wrong != "\x00" or tolerated(path, wrong):
                continue
            line = packed_line()
            put(line, path, wrong)
            count += 1
            try:
                recording.check_case(line["case"])
                recording.decode_record(line["record"])
            except recording.Malformed:
                continue
            passed.append((path, wrong))
    assert count > 1000
    assert passed == []


def test_every_field_is_needed() -> None:
    line = packed_line()
    for path, value in list(leaves(line)):
        if not isinstance(value, dict) or any(part in FREE for part in path) or path == ():
            continue
        if path[-1] in ("arguments", "rstep", "vectorize") or path[-2:-1] == ("rstep",) or "expanded" in path:
            continue
        for key in value:
            changed = copy.deepcopy(line)
            target = changed
            for part in path:
                target = target[part]
            del target[key]
            with pytest.raises(recording.Malformed):
                recording.check_case(changed["case"])
                recording.decode_record(changed["record"])


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("computation",), {"template": "os.system", "params": {}}, "unknown template"),
        (("computation",), {"template": "matmul", "workload": "softmax", "params": {}}, "exactly one"),
        (("computation",), {"params": {}}, "exactly one"),
        (("computation",), {"template": "matmul", "params": {}, "entry": "func"}, "only params"),
        (("computation",), {"workload": "softmax", "params": {}, "entry": "eval"}, "entry is not one of"),
        (("computation",), {"workload": "softmax", "params": {"x": json.loads("[" * 99 + "]" * 99)}}, "params"),
        (("device", "class"), "TPU", "unknown device class"),
        (("device", "smem_cap"), -1, "not a count"),
        (("device", "smem_cap"), 1 << 100, "not a count"),
        (("device", "bandwidth"), [1], "not two counts"),
        (("device", "target", "arch"), "sm_80; rm", "not sm_NN"),
        (("device", "target", "kind"), "hip", "target kind"),
        (("topk",), "10", "topk"),
        (("id",), "", "case id"),
        (("id",), "a\x1b[2J", "case id"),
    ],
)
def test_malformed_cases(path: tuple, value, reason: str) -> None:
    case = copy.deepcopy(ENTRY[0])
    put(case, path, value)
    with pytest.raises(recording.Malformed, match=reason):
        recording.check_case(case)


def test_ranked_names_visited_tiles_once() -> None:
    record = copy.deepcopy(ENTRY[1])
    search = record["searches"][0]
    for ranked in ([len(search["visited"])], [-1], [0, 0]):
        search["ranked"] = ranked
        with pytest.raises(recording.Malformed):
            recording.check_record(record)


# ---------------------------------------------------------------------------------------------------------------------
# The commands


def command(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def one_line(code: int, out: str, err: str) -> str:
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1 and "Traceback" not in err
    return err


def test_check_is_silent_about_an_exact_replay(tmp_path: Path, capsys, entry) -> None:
    path = tmp_path / "a.jsonl"
    recording.write(path, META, [entry])
    code, out, err = command(capsys, "check", str(path))
    assert (code, out, err) == (0, f"{path}: 1 cases, 0 drifted\n", "")


def test_check_reports_drift(tmp_path: Path, capsys, entry) -> None:
    path = tmp_path / "a.jsonl"
    search = entry[1]["searches"][0]
    smem = search["visited"][1][3]
    search["visited"][1][3] = smem + 1
    recording.write(path, META, [entry])
    code, out, _ = command(capsys, "check", str(path))
    assert code == 1
    assert f"smem_cost: {smem + 1} -> {smem}" in out
    code, out, _ = command(capsys, "check", "--json", str(path))
    assert code == 1
    [file] = json.loads(out)["files"]
    [drift] = file["drifted"][entry[0]["id"]]
    assert drift["kind"] == "changed" and (drift["old"], drift["new"]) == (smem + 1, smem)


def test_check_refuses_what_is_no_recording(tmp_path: Path, capsys) -> None:
    path = write(tmp_path / "a.jsonl", b"hello\n")
    assert "not JSON" in one_line(*command(capsys, "check", str(path)))
    assert "no such recording" in one_line(*command(capsys, "check", str(tmp_path / "none")))


def test_check_refuses_unknown_workloads(tmp_path: Path, capsys, entry) -> None:
    path = tmp_path / "a.jsonl"
    for computation in ({"workload": "eval", "params": {}}, {"graph": "__doc__", "params": {}}):
        entry[0]["computation"] = computation
        recording.write(path, META, [entry], update=True)
        assert "not known" in one_line(*command(capsys, "check", str(path)))


def test_check_of_one_case(capsys) -> None:
    path = str(check.fixtures_folder() / "graphs.jsonl")
    assert "no recorded case" in one_line(*command(capsys, "check", "--case", "no such thing", path))
    code, out, _ = command(capsys, "check", "--case", ENTRY[0]["id"], path)
    assert code == 0 and "1 cases, 0 drifted" in out


def test_record_needs_tilelang(tmp_path: Path, capsys, entry) -> None:
    """This interpreter, with nothing but the standard library, is one that lacks it."""
    cases = write(tmp_path / "cases.jsonl", json.dumps(entry[0]).encode() + b"\n")
    python = tmp_path / "bare.sh"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    arguments = ["record", "--python", str(python), "--cases", str(cases), "--out", str(tmp_path / "out.jsonl")]
    assert "pip install tilelang==0.1.15" in one_line(*command(capsys, *arguments))
    assert not (tmp_path / "out.jsonl").exists()


def test_record_refuses(tmp_path: Path, capsys, entry) -> None:
    cases = write(tmp_path / "cases.jsonl", json.dumps(entry[0]).encode() + b"\n")
    out = write(tmp_path / "out.jsonl", b"kept")
    base = ["record", "--python", str(tmp_path / "no-python"), "--cases"]
    assert "--update" in one_line(*command(capsys, *base, str(cases), "--out", str(out)))
    assert "cannot be started" in one_line(*command(capsys, *base, str(cases), "--out", str(tmp_path / "new.jsonl")))
    assert "no such file" in one_line(*command(capsys, *base, str(tmp_path / "none"), "--out", str(out)))
    assert "--out FILE" in one_line(*command(capsys, *base, str(cases)))
    assert "--update" in one_line(*command(capsys, *base, "graphs"))
    broken = write(tmp_path / "broken.jsonl", b'{"id": 1}\n')
    assert "line 1: case lacks" in one_line(*command(capsys, *base, str(broken), "--out", str(out), "--update"))
    assert out.read_bytes() == b"kept"


FAKE = """#!/bin/sh
exec "{python}" -c '
import json, os, sys, time
print(json.dumps({{"tilelang": "{version}", "wheel": "w", "python": "3"}}), flush=True)
for line in sys.stdin:
    case = json.loads(line)
    if case["id"] == "dies":
        os._exit(3)
    if case["id"] == "hangs":
        time.sleep(60)
    record = {{"searches": [], "hints": []}}
    print(json.dumps({{"id": case["id"], "record": record, "seconds": 0.5, "processor": 0.4}}), flush=True)
'
"""


def fake_python(tmp_path: Path, version: str) -> str:
    """Stands in for the other interpreter: answers every case with no hints."""
    path = tmp_path / f"fake-{version}.sh"
    path.write_text(FAKE.format(python=sys.executable, version=version))
    path.chmod(0o755)
    return str(path)


def test_record_refuses_another_tilelang(tmp_path: Path, capsys, entry) -> None:
    cases = write(tmp_path / "cases.jsonl", json.dumps(entry[0]).encode() + b"\n")
    arguments = ["--python", fake_python(tmp_path, "0.1.16"), "--cases", str(cases), "--out", str(tmp_path / "o.jsonl")]
    assert "has tilelang 0.1.16" in one_line(*command(capsys, "record", *arguments))


def test_record_writes_a_file(tmp_path: Path, capsys, entry) -> None:
    cases = write(tmp_path / "cases.jsonl", json.dumps(entry[0]).encode() + b"\n")
    out, times = tmp_path / "o.jsonl", tmp_path / "times.jsonl"
    arguments = ["--python", fake_python(tmp_path, "0.1.15"), "--cases", str(cases), "--out", str(out)]
    code, text, err = command(capsys, "record", *arguments, "--times", str(times))
    assert (code, err) == (0, "") and text == f"{out}: 1 cases\n"
    back = recording.read(out)
    assert back.entries == [(entry[0], {"searches": [], "hints": []})]
    assert back.meta["command"] == "carver record --cases cases.jsonl --out o.jsonl"
    assert json.loads(times.read_text()) == {"id": entry[0]["id"], "seconds": 0.5}


def test_a_case_that_kills_or_hangs_the_process(tmp_path: Path, capsys, monkeypatch, entry) -> None:
    monkeypatch.setattr(RealCarver, "GRACE", 2.8)
    with RealCarver(fake_python(tmp_path, "0.1.15"), limit=0.2) as real:
        assert real.answer({"id": "fine"})["record"] == {"searches": [], "hints": []}
        assert real.answer({"id": "dies"}) == {"id": "dies", "failed": "the process died"}
        assert real.answer({"id": "hangs"}) == {"id": "hangs", "failed": "time limit of 0.2 s"}
        assert real.answer({"id": "fine"})["record"] == {"searches": [], "hints": []}
    lines = json.dumps({**entry[0], "id": "dies"}).encode() + b"\n"
    cases = write(tmp_path / "cases.jsonl", lines)
    arguments = ["--python", fake_python(tmp_path, "0.1.15"), "--cases", str(cases), "--out", str(tmp_path / "o.jsonl")]
    assert "nothing is written" in one_line(*command(capsys, "record", *arguments))
    assert not (tmp_path / "o.jsonl").exists()


def test_bench_compares_both_sides(tmp_path: Path, capsys, entry) -> None:
    cases = write(tmp_path / "cases.jsonl", json.dumps(entry[0]).encode() + b"\n")
    arguments = ["--python", fake_python(tmp_path, "0.1.15"), "--cases", str(cases), "--repeat", "2"]
    code, out, err = command(capsys, "bench", *arguments)
    assert (code, err) == (0, "")
    assert out.startswith("1 cases, 2 calls each") and "median call: real 500.00 ms" in out
    code, out, _ = command(capsys, "bench", *arguments, "--json")
    [case] = json.loads(out)["cases"]
    assert case["id"] == entry[0]["id"] and case["hints"] == len(ENTRY[1]["hints"])
    assert case["seconds"]["real"] == [0.5, 0.5] and case["processor"]["real"] == [0.4, 0.4]
    assert case["ratio_seconds"] == 0.5 / statistics.median(case["seconds"]["port"])
    assert "must be positive" in one_line(*command(capsys, "bench", *arguments, "--repeat", "0"))
    assert "no such file" in one_line(*command(capsys, "bench", "--cases", "none", "--python", "x"))


# ---------------------------------------------------------------------------------------------------------------------
# The drift report


def kinds(change) -> list[str]:
    record = copy.deepcopy(ENTRY[1])
    change(record)
    return [str(drift) for drift in check.compare_records(ENTRY[1], record)]


def test_no_drift() -> None:
    assert kinds(lambda record: None) == []


def test_a_swap_of_two_ranks_is_one_move() -> None:
    def swap(record):
        ranked = record["searches"][0]["ranked"]
        ranked[0], ranked[1] = ranked[1], ranked[0]

    [text] = kinds(swap)
    assert text.startswith("moved") and text.endswith("rank 2 -> 1")


def test_a_tile_that_went() -> None:
    def drop(record):
        search = record["searches"][0]
        last = len(search["visited"]) - 1
        del search["visited"][last]
        search["ranked"] = [index for index in search["ranked"] if index != last]
        search["expanded"] = [item for item in search["expanded"] if item[0] != last]

    assert all(text.startswith("went") for text in kinds(drop))


def test_the_first_visit_that_differs_comes_first() -> None:
    def change(record):
        for index in (5, 3):
            record["searches"][0]["visited"][index][2] += 1

    texts = kinds(change)
    assert [text.split("visit ")[1].split(" ")[0] for text in texts] == ["3", "5"]
    assert all(text.startswith("changed") and "traffic" in text for text in texts)


def test_another_order_of_visits_is_drift() -> None:
    def change(record):
        visited = record["searches"][0]["visited"]
        visited[1], visited[2] = visited[2], visited[1]
        turn = {1: 2, 2: 1}
        search = record["searches"][0]
        search["ranked"] = [turn.get(index, index) for index in search["ranked"]]
        search["expanded"] = [[turn.get(item[0], item[0]), *item[1:]] for item in search["expanded"]]

    [text] = kinds(change)
    assert text.startswith("changed   search visit 1 tile")


def test_hints_that_moved_changed_and_appeared() -> None:
    def change(record):
        hints = record["hints"]
        hints.insert(0, hints.pop(1))
        hints[2][0]["rstep"] = [12345]
        extra = copy.deepcopy(hints[0])
        extra[0]["block"] = [77, 77]
        hints.append(extra)

    texts = kinds(change)
    assert sum(text.startswith("moved     hint") for text in texts) == 1
    assert sum(text.startswith("appeared  hint") for text in texts) == 1
    assert sum("rstep" in text and text.endswith("-> [12345]") for text in texts) == 1
    assert len(texts) == 3


def test_errors_are_the_same_when_the_ports_own_or_of_one_type() -> None:
    real = {"type": "InternalError", "message": "Check failed"}
    assert check.same_error(real, {"type": "CarverError", "message": "another text"})
    assert check.same_error(real, {"type": "InternalError", "message": ""})
    assert not check.same_error(real, {"type": "IndexError", "message": "list index out of range"})
    assert not check.same_error(real, None)
    assert not check.same_error(None, real)
