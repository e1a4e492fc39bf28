"""Recordings of the real carver: their format, reading, validation, writing.

A recording is UTF-8 text, one JSON object a line (gzip when the name ends in ``.gz``). The first line is metadata: the
format's version, tilelang's version and a digest of its wheel, python, the date, the command, the number of cases, and
a hash over all the bytes after it. Every other line is ``{"case": ..., "record": ...}``.

In memory a record is what `cases.record_case` returns. On disk it is the same but for two abbreviations, which
`encode_record` makes and `decode_record` undoes: trailing -1 of a visited tile (not computed, because the tile was
rejected before) are left out, and the fields all hints of a node share are written once.

Everything read is checked: a file that is cut, edited, of another version or hostile ends in one `CarverError`, and
nothing in it is executed. Errors name the file and the line.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import math
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..arch.errors import CarverError
from .cases import DEVICE_FIGURES, GRAPH_ENTRIES, HINT_FIELDS, TEMPLATES, WORKLOAD_ENTRIES

FORMAT = 1
MAX_BYTES = 256 << 20  # of a whole file, unpacked
MAX_LINE = 16 << 20
MAX_INT = 1 << 96  # larger than any figure; products of extents may pass 64 bits
MAX_DEPTH = 60  # programs given as data nest their expressions

META_FIELDS = ("format", "tilelang", "wheel", "python", "date", "command", "cases", "hash")
VISITED_FIELDS = ("tile", "valid", "traffic", "smem_cost", "grid_size", "block_per_SM", "num_wave")


@dataclass
class Recording:
    """A recording as read: where from, its metadata, and its cases with their records, in order."""

    path: str
    meta: dict
    entries: list[tuple[dict, dict]]


class Malformed(Exception):
    """What is wrong with a value; becomes a CarverError with the file and the line."""


# ---------------------------------------------------------------------------------------------------------------------
# JSON, strictly

_LONG_NUMBER = re.compile(r"[0-9]{40}")


def parse_line(text: str) -> Any:
    """JSON without what a recording never holds: NaN, infinities, huge numbers, a key twice, deep nesting."""

    def constant(name: str) -> Any:
        raise Malformed(f"{name} is not a number here")

    def pairs(items: list[tuple[str, Any]]) -> dict:
        found = dict(items)
        if len(found) != len(items):
            seen: set[str] = set()
            twice = next(key for key, _ in items if key in seen or seen.add(key))
            raise Malformed(f"key {twice[:40]!r} twice in one object")
        return found

    if _LONG_NUMBER.search(text):
        raise Malformed("a number of 40 digits or more")
    try:
        return json.loads(text, parse_constant=constant, object_pairs_hook=pairs)
    except RecursionError:
        raise Malformed("nested too deeply") from None
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise Malformed(f"not JSON ({error.msg} at {line}column {error.colno})") from None


def need(condition: bool, message: str) -> None:
    if not condition:
        raise Malformed(message)


def is_int(value: Any) -> bool:
    return type(value) is int and -MAX_INT < value < MAX_INT


def is_number(value: Any) -> bool:
    return is_int(value) or (type(value) is float and math.isfinite(value))


def is_text(value: Any, limit: int = 1000) -> bool:
    """One line at most: reports print texts as they are."""
    return type(value) is str and len(value) <= limit and value.isprintable()


def is_ints(value: Any) -> bool:
    return type(value) is list and all(map(is_int, value))


def is_count(value: Any) -> bool:
    return is_int(value) and value >= 0


def is_flag(value: Any) -> bool:
    return type(value) is bool


def is_plain(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Any JSON value of sane size: what tags and parameters may be."""
    if value is None or type(value) is bool or is_number(value) or is_text(value):
        return True
    if depth == 0:
        return False
    if type(value) is list:
        return all(is_plain(item, depth - 1) for item in value)
    return type(value) is dict and all(is_text(key) and is_plain(item, depth - 1) for key, item in value.items())


def keys_of(value: Any, what: str, required: Iterable[str], optional: Iterable[str] = ()) -> dict:
    """`value` as an object with these keys and no others."""
    need(type(value) is dict, f"{what} is not an object")
    for key in required:
        need(key in value, f"{what} lacks {key!r}")
    allowed = {*required, *optional}
    for key in value:
        need(key in allowed, f"{what} has an unknown key {str(key)[:40]!r}")
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Cases

_MCPU = re.compile(r"gfx[0-9a-f]{3,6}")
_SM = re.compile(r"sm_[0-9]{2,3}[a-z]?")


def check_device(figures: Any) -> None:
    need(type(figures) is dict, "device is not an object")
    need(type(figures.get("class")) is str, "device lacks 'class'")
    kind = figures["class"]
    need(kind in DEVICE_FIGURES, f"unknown device class {kind[:40]!r}; one of {', '.join(DEVICE_FIGURES)}")
    keys_of(figures, "device", ("class", "target", *DEVICE_FIGURES[kind]))
    expected = {"CUDA": "cuda", "CDNA": "hip", "RDNA": "hip", "CPU": "llvm", "METAL": "metal"}[kind]
    target = keys_of(figures["target"], "target", ("kind",), ("arch", "mcpu"))
    need(target["kind"] == expected, f"target kind of {kind} is not {expected!r}")
    if kind == "CUDA":
        need(is_text(target.get("arch")) and _SM.fullmatch(target["arch"]) is not None, "target arch is not sm_NN")
    elif expected == "hip":
        need(is_text(target.get("mcpu")) and _MCPU.fullmatch(target["mcpu"]) is not None, "target mcpu is not gfxNNN")
    for name in DEVICE_FIGURES[kind]:
        value = figures[name]
        if name in ("name", "platform", "compute_capability", "mcpu"):
            need(is_text(value, 100), f"device {name} is not a text")
        elif name in ("transaction_size", "bandwidth"):
            need(is_ints(value) and len(value) == 2 and min(value) >= 0, f"device {name} is not two counts")
        else:
            need(is_count(value), f"device {name} is not a count")


def check_computation(computation: Any) -> None:
    need(type(computation) is dict, "computation is not an object")
    kinds = [kind for kind in ("template", "workload", "graph") if kind in computation]
    need(len(kinds) == 1, "computation names not exactly one of template, workload, graph")
    kind = kinds[0]
    keys_of(computation, "computation", (kind, "params"), ("entry", "opt_shapes"))
    need(is_text(computation[kind], 100), f"{kind} is not a name")
    if kind == "template":
        need(computation["template"] in TEMPLATES, f"unknown template {computation['template']!r}")
        need("entry" not in computation and "opt_shapes" not in computation, "a template takes only params")
    entries = WORKLOAD_ENTRIES if kind == "workload" else GRAPH_ENTRIES
    need(computation.get("entry", entries[0]) in entries, f"entry is not one of {', '.join(entries)}")
    if "opt_shapes" in computation:
        shapes = computation["opt_shapes"]
        need(type(shapes) is dict and all(map(is_count, shapes.values())), "opt_shapes is not names with counts")
    need(type(computation["params"]) is dict and is_plain(computation["params"]), "params is not an object")


def check_case(case: Any) -> dict:
    """`case`, or Malformed. Whether its names exist in the workloads is found out when it is computed."""
    keys_of(case, "case", ("id", "computation", "device", "topk"))
    need(is_text(case["id"], 300) and case["id"] != "", "case id is not a text")
    check_computation(case["computation"])
    check_device(case["device"])
    need(is_int(case["topk"]), "topk is not a whole number")
    return case


# ---------------------------------------------------------------------------------------------------------------------
# Records


def check_error(error: Any) -> None:
    keys_of(error, "error", ("type", "message"))
    need(is_text(error["type"]) and is_text(error["message"]), "error is not two texts")


def check_node(node: Any) -> None:
    keys_of(node, "node", ("name", "tags", "space", "raxis", "inputs", "outputs"))
    need(is_text(node["name"]), "node name is not a text")
    need(type(node["tags"]) is dict and is_plain(node["tags"]), "node tags is not an object")
    need(is_ints(node["space"]), "node space is not a list of whole numbers")
    need(type(node["raxis"]) is list, "node raxis is not a list")
    for axis in node["raxis"]:
        need(type(axis) is list and len(axis) == 2 and is_text(axis[0]), "node raxis is not names with extents")
        need(is_int(axis[1]) or is_text(axis[1]), "node raxis is not names with extents")
    for side in ("inputs", "outputs"):
        need(type(node[side]) is list, f"node {side} is not a list")
        for buffer in node[side]:
            need(type(buffer) is list and len(buffer) == 3, f"node {side} is not names, shapes, dtypes")
            name, shape, dtype = buffer
            need(is_text(name) and is_text(dtype) and type(shape) is list, f"node {side} is not names, shapes, dtypes")
            need(all(is_int(extent) or is_text(extent) for extent in shape), f"node {side} has a malformed shape")


def check_rsteps(rsteps: Any, what: str) -> None:
    need(type(rsteps) is list, f"{what} is not a list")
    for rstep in rsteps:
        need(rstep is None or type(rstep) is dict and all(map(is_int, rstep.values())), f"{what} is not steps by name")


def check_visited(visited: Any) -> None:
    need(type(visited) is list, "visited is not a list")
    for index, row in enumerate(visited):
        need(type(row) is list and len(row) == len(VISITED_FIELDS), f"visited tile {index} has not 7 fields")
        tile, valid, traffic, smem, grid, blocks, waves = row
        ok = type(valid) is bool and is_number(traffic) and is_int(smem) and is_int(grid) and is_int(blocks)
        need(ok and is_int(waves) and is_ints(tile), f"visited tile {index} is malformed")


def check_search(search: Any) -> None:
    fields = ("policy", "base_tile", "rstep", "nodes", "visited", "ranked", "expanded")
    keys_of(search, "search", fields, ("error",))
    need(search["policy"] in ("DefaultPolicy", "TensorCorePolicy"), "search policy is unknown")
    need(search["base_tile"] is None or is_ints(search["base_tile"]), "base_tile is not a list of whole numbers")
    check_rsteps(search["rstep"], "rstep")
    need(type(search["nodes"]) is list, "nodes is not a list")
    for node in search["nodes"]:
        check_node(node)
    check_visited(search["visited"])
    count = len(search["visited"])
    ranked = search["ranked"]
    need(is_ints(ranked) and all(0 <= i < count for i in ranked), "ranked is not indices of visited tiles")
    need(len(set(ranked)) == len(ranked), "ranked names a tile twice")
    need(type(search["expanded"]) is list, "expanded is not a list")
    for item in search["expanded"]:
        need(type(item) is list and len(item) == 3, "expanded is not index, smem_cost, rstep")
        need(is_int(item[0]) and 0 <= item[0] < count and is_int(item[1]), "expanded is not index, smem_cost, rstep")
        check_rsteps(item[2], "expanded rstep")
    if "error" in search:
        check_error(search["error"])


def is_names(value: Any) -> bool:
    return type(value) is list and all(map(is_text, value))


def is_object(value: Any) -> bool:
    return type(value) is dict and is_plain(value)


def is_optional(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


HINT_CHECKS: dict[str, Callable[[Any], bool]] = {
    "block": is_ints,
    "thread": is_ints,
    "warp": is_ints,
    "rstep": is_ints,
    "reduce_thread": is_ints,
    "use_tc": is_optional(is_flag),
    "vectorize": lambda value: type(value) is dict and all(map(is_int, value.values())),
    "step": is_ints,
    "raxis_order": is_ints,
    "pipeline_stage": is_int,
    "use_async": is_flag,
    "rasterization_plan": is_text,
    "cached_tensors": is_names,
    "output_strides": is_object,
    "schedule_stages": is_plain,
    "block_reduction_depth": is_optional(is_int),
    "split_k_factor": is_int,
    "opt_shapes": is_optional(is_object),
    "intrin_info": is_object,
    "shared_scope": is_text,
    "pass_context": is_object,
}


def check_hints(hints: Any) -> None:
    if hints is None:
        return
    need(type(hints) is list, "hints is not a list")
    for index, parts in enumerate(hints):
        need(type(parts) is list, f"hint {index} is not a list of nodes' hints")
        for part in parts:
            keys_of(part, f"hint {index}", HINT_FIELDS)
            for name, check in HINT_CHECKS.items():
                need(check(part[name]), f"hint {index} has a malformed {name}")


def check_record(record: Any) -> dict:
    """`record` in its form in memory, or Malformed."""
    need(type(record) is dict, "record is not an object")
    outcome = "error" if "error" in record else "hints"
    keys_of(record, "record", ("searches", outcome))
    need(type(record["searches"]) is list, "searches is not a list")
    for search in record["searches"]:
        check_search(search)
    if outcome == "error":
        check_error(record["error"])
    else:
        check_hints(record["hints"])
    return record


# ---------------------------------------------------------------------------------------------------------------------
# The two abbreviations on disk


def encode_row(row: list) -> list:
    """A visited tile with `valid` as 1 or 0 and without the -1s at its end."""
    packed = [row[0], int(row[1]), *row[2:]]
    while len(packed) > 3 and packed[-1] == -1:
        packed.pop()
    return packed


def decode_row(row: Any, index: int) -> list:
    need(type(row) is list and 3 <= len(row) <= len(VISITED_FIELDS), f"visited tile {index} has not 3 to 7 fields")
    need(type(row[1]) is int and row[1] in (0, 1), f"visited tile {index}: valid is not 0 or 1")
    return [row[0], row[1] == 1, *row[2:], *[-1] * (len(VISITED_FIELDS) - len(row))]


def encode_hints(hints: list | None) -> Any:
    """`{"shared": [fields of each node], "each": [[other fields of each node] per hint]}`."""
    if not hints:
        return hints
    width = len(hints[0])
    if any(len(parts) != width for parts in hints):
        raise ValueError("hints of one search have different numbers of nodes")
    shared = []
    for position in range(width):
        first = hints[0][position]
        same = [name for name in first if all(parts[position][name] == first[name] for parts in hints)]
        shared.append({name: first[name] for name in same})
    each = [
        [{name: value for name, value in part.items() if name not in common} for part, common in zip(parts, shared)]
        for parts in hints
    ]
    return {"shared": shared, "each": each}


def decode_hints(packed: Any) -> Any:
    if packed is None or packed == []:
        return packed
    keys_of(packed, "hints", ("shared", "each"))
    shared, each = packed["shared"], packed["each"]
    need(type(shared) is list and type(each) is list and len(each) > 0, "hints is not shared and each")
    hints = []
    for parts in each:
        need(type(parts) is list and len(parts) == len(shared), "a hint has another number of nodes than the rest")
        whole = []
        for common, part in zip(shared, parts):
            need(type(common) is dict and type(part) is dict, "a node's hint is not an object")
            need(not common.keys() & part.keys(), "a field of a hint is given twice")
            merged = {**common, **part}
            whole.append({name: merged[name] for name in HINT_FIELDS if name in merged} | merged)
        hints.append(whole)
    return hints


def encode_record(record: dict) -> dict:
    packed = dict(record)
    packed["searches"] = [
        {**search, "visited": [encode_row(row) for row in search["visited"]]} for search in record["searches"]
    ]
    if "hints" in packed:
        packed["hints"] = encode_hints(packed["hints"])
    return packed


def decode_record(packed: Any) -> dict:
    """The record in memory, checked; or Malformed."""
    need(type(packed) is dict, "record is not an object")
    need(type(packed.get("searches")) is list, "record lacks 'searches'")
    record = dict(packed)
    record["searches"] = []
    for search in packed["searches"]:
        need(type(search) is dict and type(search.get("visited")) is list, "search lacks 'visited'")
        visited = [decode_row(row, index) for index, row in enumerate(search["visited"])]
        record["searches"].append({**search, "visited": visited})
    if "hints" in record:
        record["hints"] = decode_hints(record["hints"])
    return check_record(record)


# ---------------------------------------------------------------------------------------------------------------------
# Files


def content_hash(body: bytes) -> str:
    """Over every byte after the first line, so that metadata may change without it."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def read_bytes(path: Path) -> bytes:
    """The file's content, unpacked, at most MAX_BYTES of it."""
    try:
        # A pipe that nobody writes to would be waited for without end.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(descriptor, True)
        with os.fdopen(descriptor, "rb") as file:
            packed = gzip.open(file, "rb") if path.name.endswith(".gz") else file
            data = packed.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CarverError(f"{path}: no such recording; `carver record` makes one") from None
    except (OSError, EOFError, zlib.error) as error:
        # OSError's text repeats the path; gzip reports a cut file as EOFError and a foreign one as BadGzipFile.
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CarverError(f"{path}: cannot be read ({reason})") from None
    if len(data) > MAX_BYTES:
        raise CarverError(f"{path}: more than {MAX_BYTES >> 20} MB, which no recording has")
    return data


def parse_meta(line: str) -> dict:
    meta = parse_line(line)
    need(type(meta) is dict and "format" in meta, "the first line is not a recording's metadata")
    if meta["format"] != FORMAT:
        shown = json.dumps(meta["format"])[:40]
        raise Malformed(f"format version {shown}, this program reads {FORMAT}; record it again with `carver record`")
    keys_of(meta, "metadata", META_FIELDS)
    need(is_count(meta["cases"]), "number of cases is not a count")
    for name in META_FIELDS:
        if name not in ("format", "cases"):
            need(is_text(meta[name]), f"metadata {name} is not a text")
    return meta


def read(path: str | os.PathLike, meta_only: bool = False) -> Recording:
    """Read and check a recording. Raises CarverError, one line, for anything that is not one."""
    path = Path(path)
    data = read_bytes(path)
    number = 1
    try:
        head, newline, body = data.partition(b"\n")
        need(len(head) <= MAX_LINE, "the line is too long")
        meta = parse_meta(head.decode("utf-8"))
        if meta_only:
            return Recording(str(path), meta, [])
        need(newline == b"\n" and (body == b"" or body.endswith(b"\n")), "the file is cut off")
        lines = body.split(b"\n")[:-1]
        if len(lines) != meta["cases"]:
            raise Malformed(f"{len(lines)} cases where {meta['cases']} are announced: the file is cut or edited")
        if content_hash(body) != meta["hash"]:
            raise Malformed("the hash does not fit the content: the file was edited; record it again instead")
        entries: list[tuple[dict, dict]] = []
        seen: set[str] = set()
        for number, line in enumerate(lines, start=2):
            need(len(line) <= MAX_LINE, "the line is too long")
            item = keys_of(parse_line(line.decode("utf-8")), "the line", ("case", "record"))
            case = check_case(item["case"])
            need(case["id"] not in seen, f"case {case['id']} twice")
            seen.add(case["id"])
            entries.append((case, decode_record(item["record"])))
    except UnicodeDecodeError:
        raise CarverError(f"{path}, line {number}: not UTF-8 text") from None
    except Malformed as error:
        raise CarverError(f"{path}, line {number}: {error}") from None
    return Recording(str(path), meta, entries)


def read_cases(path: str | os.PathLike) -> list[dict]:
    """Cases from a file of JSON lines, checked; ids must differ."""
    path = Path(path)
    data = read_bytes(path)
    cases: list[dict] = []
    seen: set[str] = set()
    number = 0
    try:
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            need(len(line) <= MAX_LINE, "the line is too long")
            case = check_case(parse_line(line.decode("utf-8")))
            need(case["id"] not in seen, f"case {case['id']} twice")
            seen.add(case["id"])
            cases.append(case)
    except UnicodeDecodeError:
        raise CarverError(f"{path}, line {number}: not UTF-8 text") from None
    except Malformed as error:
        raise CarverError(f"{path}, line {number}: {error}") from None
    if not cases:
        raise CarverError(f"{path}: no cases in it")
    return cases


def dump_line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def to_bytes(meta: dict, entries: Iterable[tuple[dict, dict]]) -> bytes:
    """The content of a recording, unpacked. `meta` lacks the fields that follow from the content."""
    lines = [dump_line({"case": case, "record": encode_record(record)}) for case, record in entries]
    body = "".join(line + "\n" for line in lines).encode("utf-8")
    whole = {"format": FORMAT, **meta, "cases": len(lines), "hash": content_hash(body)}
    head = {name: whole[name] for name in META_FIELDS}
    return dump_line(head).encode("utf-8") + b"\n" + body


def write(path: str | os.PathLike, meta: dict, entries: Iterable[tuple[dict, dict]], update: bool = False) -> None:
    """Write a recording whole or not at all. An existing one is replaced only with `update`."""
    path = Path(path)
    if path.exists() and not update:
        raise CarverError(f"{path} exists; give --update to replace it")
    data = to_bytes(meta, entries)
    if path.name.endswith(".gz"):
        # No name and no time in the header: the same content gives the same bytes.
        packed = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=0) as file:
            file.write(data)
        data = packed.getvalue()
    write_atomically(path, data, replace=update)


def check_place(path: str | os.PathLike) -> None:
    """CarverError where no file can be written: to be asked before the work whose outcome goes there."""
    path = Path(path)
    parent = path.parent
    try:
        if path.is_dir():
            raise CarverError(f"{path}: is a folder, a file is needed")
        if not parent.is_dir():
            raise CarverError(f"{path}: cannot be written ({parent} is no folder)")
        if not os.access(path if path.exists() else parent, os.W_OK):
            raise CarverError(f"{path}: cannot be written (no permission)")
    except OSError as error:  # a name that is too long, say
        raise CarverError(f"{path}: cannot be written ({error.strerror or error})") from None


def write_atomically(path: Path, data: bytes, replace: bool = True) -> None:
    """Through a temporary file beside it, so that no reader ever sees half a file, and a failure leaves the old one.

    Without `replace` a file that is there is kept, even one that another run has made in the meantime. Where the path
    is a link, what it leads to is written; a device or a pipe is written to, and never replaced.
    """
    check_place(path)
    try:
        if path.exists() and not path.is_file():
            _write_stream(path, data)
        else:
            _write_file(Path(os.path.realpath(path)), data, replace)
    except OSError as error:
        raise CarverError(f"{path}: cannot be written ({error.strerror or error})") from None


def _write_file(target: Path, data: bytes, replace: bool) -> None:
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode_of(target))
        if replace:
            os.replace(temporary, target)
        else:
            os.link(temporary, target)  # fails where there is a file
    except FileExistsError:
        raise CarverError(f"{target} exists; give --update to replace it") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def _write_stream(path: Path, data: bytes) -> None:
    # A pipe that nobody reads would be waited for without end.
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _mode_of(target: Path) -> int:
    """The permissions of the file that is replaced, else those that a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
