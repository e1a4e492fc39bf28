"""Bad input: one line that says what is wrong, the value and what is allowed; nothing hangs, nothing is lost.

Where the real carver answers, so does the port: what it does with these inputs was asked of TileLang 0.1.15 and is
said at the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from carver.arch import (
    CUDA,
    CarverError,
    Target,
    auto_infer_current_arch,
    current_arch,
    get_arch,
    has_mma_support,
    is_ada_arch,
    is_ampere_arch,
    is_hopper_arch,
    is_tensorcore_supported_precision,
    is_volta_arch,
)
from carver.arch.errors import one_line, shown
from carver.policy import DefaultPolicy, TensorCorePolicy
from carver.roller.matmul_analysis import get_tensorized_func_and_tags
from carver.roller.node import Edge, Node, OutputNode, PrimFuncNode
from carver.roller.template import (
    ConvTemplate,
    ElementwiseTemplate,
    FlashAttentionTemplate,
    GEMVTemplate,
    GeneralReductionTemplate,
    MatmulTemplate,
)
from carver.roller.tir import te
from carver.roller.tir.dtypes import DataType
from carver.roller.tir.expr import IntImm
from carver.roller.tir.schedule import Schedule
from carver.roller.utils import get_roller_hints_from_func, get_roller_hints_from_output_nodes
from carver.tools import recording
from carver.tools.cli import main
from command_line import command

A100 = CUDA("a100")
MATMUL = ["recommend", "matmul", "--M", "64", "--N", "64", "--K", "64", "--arch", "a100"]
CONV = ["recommend", "conv", *"--N 1 --C 8 --H 8 --W 8 --F 8 --arch a100".split()]


def refusal(action) -> str:
    """The one line of the CarverError that it raises."""
    with pytest.raises(CarverError) as caught:
        action()
    text = str(caught.value)
    assert text and text.isprintable() and len(text) < 500
    return text


def run_shell(line: str, **environment: str) -> subprocess.CompletedProcess:
    carver = f"{sys.executable} -m carver.tools"
    line = line.replace("carver ", f"{carver} ")
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )


# ---------------------------------------------------------------------------------------------------------------------
# Values in messages


def test_values_are_shown_on_one_short_line() -> None:
    assert shown("a\x1b[31m\nb") == "'a\\x1b[31m\\nb'"
    assert shown("x" * 100_000) == "'" + "x" * 59 + "..."
    assert shown(np.array([[1, 2], [3, 4]])) == "array([[1, 2],        [3, 4]])"

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shown(Broken()) == "<Broken>"
    assert one_line("red\x1b[0m\u202eabc\ttab\r\nend") == "red\\x1b[0m\\u202eabc tab  end"


def test_every_error_is_one_line() -> None:
    assert str(CarverError("first\nsecond \x1b[2J")) == "first second \\x1b[2J"
    assert len(str(CarverError("x" * 10**6))) == 1003


# ---------------------------------------------------------------------------------------------------------------------
# The command line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*MATMUL, "--cores", "١٢"], "argument --cores: '١٢' is not a whole number"),
        ([*MATMUL, "--cores", "²"], "argument --cores: '²' is not a whole number"),
        ([*MATMUL, "--cores", "_1"], "argument --cores: '_1' is not a whole number"),
        ([*MATMUL, "--cores", "nan"], "argument --cores: 'nan' is not a whole number"),
        ([*MATMUL, "--cores", "1e3"], "argument --cores: '1e3' is not a whole number"),
        ([*MATMUL, "--cores", ""], "argument --cores: '' is not a whole number"),
        ([*MATMUL, "--topk", "2.5"], "argument --topk: '2.5' is not a whole number"),
        (
            [*MATMUL, "--in-dtype", "float16x4"],
            "argument --in-dtype: vector dtypes are not supported, got 'float16x4': take float16",
        ),
        ([*MATMUL, "--in-dtype", "void"], "argument --in-dtype: 'void' is no dtype of a tensor"),
        ([*MATMUL, "\x1b[31m\n"], "unrecognized arguments: \\x1b[31m "),
        (
            [*CONV, "--K", "100"],
            "a filter of --K 100 with --D 1 covers 100 pixels, more than --H 8 with a padding of 1 on each side",
        ),
        (
            [*CONV, "--K", "3", "--D", "1000"],
            "a filter of --K 3 with --D 1000 covers 2001 pixels, more than --H 8 with a padding of 1 on each side",
        ),
        ([*MATMUL, "--arch", "llvm"], "carver: carver models CUDA and AMD devices, and 'llvm' is neither"),
        (
            [*MATMUL, "--arch", "sm_80"],
            "carver: 'sm_80' names no particular device: give --cores N and --l2 N (carver devices lists those known)",
        ),
        ([*MATMUL, "--arch", '{"kind":{"a":1}}'], "carver: unknown target kind {'a': 1}; known kinds: llvm, c, cuda"),
        ([*MATMUL, "--arch", '{"kind":' * 5000], "carver: a target that starts with '{' must be JSON"),
        ([*MATMUL, "--arch", "x" * 100_000], "carver: unknown device 'xxxxx"),
        ([*MATMUL, "--max-smem-usage", "1"], "carver: the device runs no thread block: 0 per multiprocessor"),
        (["elementwise"], "carver: unknown command 'elementwise'"),
        (["\x1b[31m"], "carver: unknown command '\\x1b[31m'"),
        (["compare", "x" * 500, "--width", "0"], "too narrow"),
        (["cost-model", "--width", "9" * 5000], "is no number of columns from 40 to 1000"),
        (["check", "a\x1b[31m\n.jsonl"], "carver: a\\x1b[31m .jsonl: no such recording"),
        (
            ["recommend", "attention", *"--seq-length 128 --head-dim 64 --arch b200".split()],
            "carver: Unsupported architecture: sm_100a; carver 0.1.15 knows the tensor cores of sm_70 to sm_90",
        ),
    ],
)
def test_one_line_and_exit_code_2(capsys, arguments: list[str], message: str) -> None:
    code, out, err = command(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1 and err.rstrip("\n").isprintable() and len(err) < 600


HUGE = str(2**40)


@pytest.mark.parametrize(
    "line",
    [
        # The real carver gives the same answers to all of these.
        f"matmul --M {HUGE} --N {HUGE} --K {HUGE}",
        "matmul --M 1099511627689 --N 1099511627689 --K 1099511627689",
        "matmul --M 2147483647 --N 2147483629 --K 64",
        "gemv --N 2147483647 --K 2147483647",
        "elementwise --shape 2147483647",
        f"elementwise --shape {HUGE} {HUGE} {HUGE}",
        f"elementwise --shape {' '.join(map(str, range(2, 22)))}",
        f"reduce --structure {'SR' * 25} --shape {'64 ' * 50}",
        f"conv --N {HUGE} --C {HUGE} --H {HUGE} --W {HUGE} --F {HUGE} --K 3",
        f"conv --N {HUGE} --C {HUGE} --H {HUGE} --W {HUGE} --F {HUGE} --K {HUGE} --S {HUGE} --D {HUGE} --P {HUGE}",
        "matmul --M 64 --N 64 --K 64 --topk 1000000000",
        "matmul --M 64 --N 64 --K 64 --smem-cap 1",
        "matmul --M 64 --N 64 --K 64 --cores 1000000000000 --warp-size 7 --sm-partition 1000000",
    ],
)
def test_enormous_inputs_end_at_once(capsys, line: str) -> None:
    started = time.process_time()
    code, out, err = command(capsys, "recommend", *line.split(), "--arch", "a100")
    assert code in (0, 1, 2)
    assert err.count("\n") == (code == 2)
    assert time.process_time() - started < 4


def test_why_no_tile_fits_in_the_registers(capsys) -> None:
    code, out, _ = command(capsys, *MATMUL, "--regs", "1")
    assert code == 1
    assert out.splitlines()[-1].startswith("no hint: tensor-core path chosen, but no visited tile of at least 16 rows")
    assert out.splitlines()[-1].endswith("registers, the device has 1")


@pytest.mark.parametrize("arguments", ["devices", "--help", "recommend matmul --help", "--version"])
def test_output_that_cannot_be_written(arguments: str) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    full = run_shell(f"carver {arguments} >/dev/full")
    assert (full.returncode, full.stderr) == (2, "carver: cannot write the output: No space left on device\n")
    closed = run_shell(f"carver {arguments} >&-")
    assert (closed.returncode, closed.stderr) == (2, "carver: standard output is closed\n")
    gone = run_shell(f"carver {arguments} | true; echo ${{PIPESTATUS[0]}}")
    assert (gone.stdout, gone.stderr) == ("0\n", "")


def test_messages_that_cannot_be_written() -> None:
    for line in ("carver recommend matmul 2>&-", "carver nonsense 2>&-"):
        done = run_shell(line)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_ascii_terminals_and_missing_environment() -> None:
    done = run_shell("carver devices é", PYTHONIOENCODING="ascii", LC_ALL="C", COLUMNS="1", TERM="dumb")
    assert done.returncode == 2
    assert done.stderr.startswith("carver: unknown device '\\xe9':")
    trace = "carver trace matmul --M 64 --N 64 --K 64 --arch a100 --summary"
    done = run_shell(f"env -u HOME {trace}", PYTHONIOENCODING="ascii", COLUMNS="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_interruption() -> None:
    code = (
        "import os, signal, sys, time; from carver.tools import cli, devices\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs ignore it
        "devices.run = lambda args: (os.kill(os.getpid(), signal.SIGINT), time.sleep(5))\n"
        "sys.exit(cli.main(['devices']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "carver: interrupted\n")


def test_a_fault_of_our_own_is_one_line_too(capsys, monkeypatch) -> None:
    from carver.tools import devices

    def broken(args):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(devices, "run", broken)
    monkeypatch.delenv("CARVER_STRICT", raising=False)
    code, out, err = command(capsys, "devices")
    assert (code, out) == (3, "")
    assert err == (
        "carver: this should not happen (ZeroDivisionError: division by zero); with CARVER_STRICT=1 it says where\n"
    )
    monkeypatch.setenv("CARVER_STRICT", "1")
    with pytest.raises(ZeroDivisionError):
        main(["devices"])


# ---------------------------------------------------------------------------------------------------------------------
# Files


def trace_to(capsys, path: str) -> tuple[int, str, str]:
    return command(capsys, "trace", *MATMUL[1:], "--jsonl", path)


def test_places_where_no_file_can_be_written(tmp_path: Path, capsys) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "loop2", tmp_path / "loop1")
    os.symlink(tmp_path / "loop1", tmp_path / "loop2")
    for path, why in (
        (tmp_path, "is a folder, a file is needed"),
        (tmp_path / "none" / "x", f"cannot be written ({tmp_path / 'none'} is no folder)"),
        (tmp_path / "pipe", "cannot be written (No such device or address)"),
        (tmp_path / "loop1", "cannot be written (Too many levels of symbolic links)"),
        (tmp_path / ("a" * 300), "cannot be written (File name too long)"),
    ):
        code, out, err = trace_to(capsys, str(path))
        assert (code, out) == (2, "")
        assert err == f"carver: {path}: {why}\n"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["loop1", "loop2", "pipe"]


def test_devices_are_written_to_and_never_replaced(capsys) -> None:
    code, _, _ = trace_to(capsys, "/dev/null")
    assert code == 0
    assert Path("/dev/null").is_char_device()


def test_what_a_link_leads_to_is_written_and_keeps_its_mode(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    recording.write_atomically(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_two_at_once_do_not_lose_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    outcomes: list[str] = []

    def write(number: int) -> None:
        try:
            recording.write_atomically(path, str(number).encode() * 10_000, replace=False)
            outcomes.append(str(number))
        except CarverError as error:
            assert str(error) == f"{path} exists; give --update to replace it"

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [winner] = outcomes
    assert path.read_bytes() == winner.encode() * 10_000
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_keeps_the_old_file(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def full(*_) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert refusal(lambda: recording.write_atomically(path, b"new")) == (
        f"{path}: cannot be written (No space left on device)"
    )
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_place_is_looked_at_before_the_work(tmp_path: Path, capsys) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text("")
    code, _, err = command(capsys, "record", "--python", "/none", "--cases", str(cases), "--out", str(tmp_path))
    assert (code, err) == (2, f"carver: {tmp_path}: is a folder, a file is needed\n")


META = {"tilelang": "0.1.15", "wheel": "sha256:0", "python": "3.11.7", "date": "2025-01-31", "command": "carver record"}


def matmul_case(**changed) -> dict:
    figures = {name: getattr(A100, name) for name in A100.FIGURES}
    device = {"class": "CUDA", "target": {"kind": "cuda", "arch": "sm_80"}, **figures}
    computation = {"template": "matmul", "params": {"M": 64, "N": 64, "K": 64}}
    return {"id": "case", "computation": computation, "device": device, "topk": 1, **changed}


def check_case(tmp_path: Path, capsys, case: dict) -> tuple[int, str, str]:
    path = tmp_path / "a.jsonl"
    path.write_bytes(recording.to_bytes(META, [(case, {"searches": [], "hints": []})]))
    code, out, err = command(capsys, "check", str(path))
    return code, out.replace(str(tmp_path), ""), err.replace(f"{tmp_path}/", "")


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path, capsys) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, _, err = command(capsys, "check", str(tmp_path / "pipe"))
    assert (code, err) == (2, f"carver: {tmp_path / 'pipe'}, line 1: not JSON (Expecting value at column 1)\n")


def test_a_pipe_with_a_writer_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(recording.to_bytes(META, []))
    done = run_shell(f"carver check <(cat {path})")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xef\xbb\xbf{}", "not JSON (Unexpected UTF-8 BOM (decode using utf-8-sig) at column 1)"),
        (b'{"format":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"format":' + b"9" * 100_000 + b"}", "a number of 40 digits or more"),
        (b'{"format":1,"format":1}', "key 'format' twice in one object"),
        (
            b'{"format":"\\u001b[31m\\n"}',
            'format version "\\u001b[31m\\n", this program reads 1; record it again with `carver record`',
        ),
    ],
)
def test_hostile_first_lines(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data + b"\n")
    assert refusal(lambda: recording.read(path)) == f"{path}, line 1: {why}"


def test_a_key_repeated_among_many_is_found_in_one_pass(tmp_path: Path) -> None:
    """200,000 keys with the last one doubled: compared in pairs, this takes many minutes."""
    keys = [f"k{i}" for i in range(200_000)]
    path = tmp_path / "a.jsonl"
    path.write_text("{" + ",".join(f'"{key}":0' for key in [*keys, keys[-1]]) + "}\n")
    assert refusal(lambda: recording.read(path)) == f"{path}, line 1: key 'k199999' twice in one object"


def test_windows_line_ends_count_as_an_edit(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(recording.to_bytes(META, [(matmul_case(), {"searches": [], "hints": []})]).replace(b"\n", b"\r\n"))
    assert refusal(lambda: recording.read(path)).endswith("the hash does not fit the content: the file was edited; "
                                                          "record it again instead")  # fmt: skip


def test_a_case_whose_device_contradicts_itself(tmp_path: Path, capsys) -> None:
    case = matmul_case()
    case["device"]["sm_version"] = 86
    code, out, err = check_case(tmp_path, capsys, case)
    assert (code, out, err) == (2, "", "carver: the device's sm_version is 86, and 80 by its target\n")


def test_parameters_that_a_workload_does_not_take(tmp_path: Path, capsys) -> None:
    case = matmul_case(computation={"workload": "softmax", "params": {"__init__": 1}})
    code, out, err = check_case(tmp_path, capsys, case)
    assert (code, out) == (2, "")
    assert err.startswith("carver: a.jsonl: case case: workload 'softmax': ") and err.count("\n") == 1


def test_a_device_without_cores_is_a_drift_and_no_search_for_one(tmp_path: Path, capsys) -> None:
    # The real carver raises ZeroDivisionError.
    case = matmul_case()
    case["device"]["compute_max_core"] = 0
    code, out, err = check_case(tmp_path, capsys, case)
    assert (code, err) == (1, "")
    assert "NoCapacity" in out and "Cannot find" not in out


# ---------------------------------------------------------------------------------------------------------------------
# Dtypes: read as TVM reads them


@pytest.mark.parametrize(
    ("name", "read", "bits"),
    [
        ("int", "int32", 32),
        ("int0", "int32", 32),
        ("int08", "int8", 8),
        ("float", "float32", 32),
        ("float1", "float1", 1),
        ("bfloat", "bfloat16", 16),
        ("bool8", "bool", 8),
        ("bool1", "bool1", 1),
        ("int8x1", "int8", 8),
        ("float4_e2m1fnx1", "float4_e2m1fn", 4),
        ("uint255", "uint255", 255),
        ("handle64", "handle", 64),
    ],
)
def test_names_of_dtypes(name: str, read: str, bits: int) -> None:
    assert (str(DataType(name)), DataType(name).bits) == (read, bits)


@pytest.mark.parametrize(
    "name",
    ["", " ", "int256", "int-8", "int8_", "int٣", "float16x0", "float16x", "float16 ", "FLOAT16", "voidx1", "e4m3"],
)
def test_unknown_names_of_dtypes(name: str) -> None:
    assert refusal(lambda: DataType(name)).startswith(f"unknown dtype {name!r}: ")


@pytest.mark.parametrize("name", ["float16x4", "int8x016", "bfloat16x2", "float4_e2m1fnx2", "int32xvscalex4", "boolx2"])
def test_vector_dtypes_are_refused(name: str) -> None:
    scalar = name.partition("x")[0]
    for action in (
        lambda: DataType(name),
        lambda: te.placeholder((4,), dtype=name),
        lambda: ElementwiseTemplate(shape=[64, 64], dtype=name),
    ):
        assert refusal(action) == f"vector dtypes are not supported, got {name!r}: take {scalar}"


@pytest.mark.parametrize("name", ["bfloat8", "bfloat32", "void"])
def test_dtypes_without_arithmetic(name: str) -> None:
    # TVM knows the names; its constants and casts raise InternalError.
    assert refusal(lambda: MatmulTemplate(M=64, N=64, K=64, in_dtype=name, accum_dtype="float32")) == (
        f"a {name} cannot be cast to float32"
    )


@pytest.mark.parametrize("value", [None, 5, ["float16"], b"int8"])
def test_a_dtype_is_a_string(value) -> None:
    assert refusal(lambda: DataType(value)) == f"a dtype is a string such as 'float16', got {value!r}"


# ---------------------------------------------------------------------------------------------------------------------
# Devices


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ('{"kind":[1]}', "unknown target kind [1]; known kinds: llvm"),
        ({"kind": ["cuda"]}, "unknown target kind ['cuda']; known kinds: llvm"),
        ('{"tag":[]}', "unknown target tag []; a tag is one of TVM's"),
        ('{"kind":"cuda","host":{"kind":[]}}', "unknown target kind []; known kinds: llvm"),
        ('{"kind":' * 200_000 + "1" + "}" * 200_000, 'a target is nested too deeply: \'{"kind":{"kind":'),
        (None, "a target is a string, a dictionary or a Target, not NoneType: None"),
        (np.int64(3), "a target is a string, a dictionary or a Target, not int64: "),
    ],
)
def test_odd_targets(target, message: str) -> None:
    for action in (lambda: Target(target), lambda: get_arch(target), lambda: CUDA(target)):
        assert refusal(action).startswith(message)


@pytest.mark.parametrize("value", [None, True, 0, -1, 1.5, float("nan"), "5", [], np.array([1, 2]), object()])
def test_odd_figures(value) -> None:
    assert refusal(lambda: CUDA("a100", smem_cap=value)).startswith("smem_cap must be a positive integer, got ")
    assert refusal(lambda: get_arch("mi300x", warp_size=value)).startswith("warp_size must be a positive integer, got ")


def test_numpy_figures_count() -> None:
    assert CUDA("a100", compute_max_core=np.int64(7)).compute_max_core == 7


def test_architectures_with_endless_numbers() -> None:
    assert refusal(lambda: CUDA("sm_" + "9" * 5000)).startswith("unknown device 'sm_999")


def test_the_current_device_must_be_one(monkeypatch) -> None:
    message = "unknown device 'nonsense': "
    assert refusal(lambda: current_arch("nonsense").__enter__()).startswith(message)
    monkeypatch.setenv("CARVER_ARCH", "nonsense")
    expected = f"the variable CARVER_ARCH is no device: {message}"
    assert refusal(auto_infer_current_arch).startswith(expected)
    assert refusal(lambda: MatmulTemplate(M=64, N=64, K=64)).startswith(expected)


def test_devices_without_figures() -> None:
    text = refusal(lambda: get_roller_hints_from_func(MatmulTemplate(M=64, N=64, K=64)._func, arch=get_arch("llvm")))
    assert text.startswith("'CPU' object has no attribute ") and text.endswith(": carver has no such figure of it")


def test_transactions_smaller_than_an_element() -> None:
    # ZeroDivisionError in the real carver.
    device = CUDA("a100", transaction_size=[1, 1])
    template = ElementwiseTemplate(shape=[64, 64]).with_arch(device)
    assert refusal(template.recommend_hints) == "the device's transaction_size is smaller than one element"


def test_threads_have_their_own_device() -> None:
    def hints(name: str) -> list[str]:
        with current_arch(name) as device:
            template = FlashAttentionTemplate(num_heads=2, seq_length=128, seq_kv_length=128, head_dim=64)
            assert template.arch is device
            found = [repr(sorted((node.name, repr(hint)) for node, hint in each.items()))
                     for each in template.recommend_hints(2)]  # fmt: skip
            found += map(repr, MatmulTemplate(M=256, N=128, K=64).recommend_hints(3))
            assert auto_infer_current_arch() is device
        return found

    names = ["a100", "h100", "rtx4090"]
    alone = {name: hints(name) for name in names}
    together: list[tuple[str, list[str]]] = []
    threads = [threading.Thread(target=lambda n=name: together.append((n, hints(n)))) for name in names * 2]
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switching)
    assert len(together) == 6 and all(found == alone[name] for name, found in together)


# ---------------------------------------------------------------------------------------------------------------------
# Templates


@pytest.mark.parametrize(
    ("template", "axes"),
    [
        (MatmulTemplate(M=64, N=64, K=64, with_bias=True), 2),
        (MatmulTemplate(M=64, N=64, K=64, with_bias=True, accum_dtype="float32"), 2),
        (ConvTemplate(N=1, C=8, H=8, W=8, F=8, K=3, S=1, D=1, P=1, with_bias=True), 3),
    ],
)
def test_the_bias_clash_names_its_cause_and_the_way_round(template, axes: int) -> None:
    # InternalError "iter_map.size() == outputs.size()" in the real carver.
    assert refusal(template.with_arch(A100).recommend_hints) == (
        f"the stage 'Bias' reads 'Bias' along 1 axes, and it is known with {axes}: 2 tensors are called 'Bias', as "
        "with with_bias the bias and the stage that adds it, and carver tells tensors apart by their names "
        "(roller/shape_inference/tir.py); write the function with te and give each placeholder and each stage a name "
        "of its own"
    )


def test_the_way_round_the_bias_clash_works() -> None:
    A = te.placeholder((64, 64), name="A", dtype="float16")
    B = te.placeholder((64, 64), name="B", dtype="float16")
    bias = te.placeholder((64,), name="bias", dtype="float16")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    D = te.compute((64, 64), lambda i, j: C[i, j] + bias[j], name="D")
    assert get_roller_hints_from_func(te.create_prim_func([A, B, bias, D]), arch=A100, topk=1)
    # The real carver's gemv has no such clash.
    assert GEMVTemplate(N=64, K=64, with_bias=True).with_arch(A100).recommend_hints(1)


@pytest.mark.parametrize("value", [None, 1024.0, "1024", [1024], {}, np.int64(1024)])
def test_extents_are_integers(value) -> None:
    # AssertionError in the real carver, for numpy's too.
    assert refusal(lambda: MatmulTemplate(M=value, N=64, K=64)) == f"M must be an integer, not {value!r}"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MatmulTemplate(M=64, N=False, K=64), "N must be positive, not False"),
        (lambda: ConvTemplate(N=1, C=8, H=8, W=8, F=8, K=3, S=0, D=1, P=1), "S must be positive, not 0"),
        (
            lambda: GeneralReductionTemplate(structure="SR", shape=[64, 2.5]),
            "all extents of shape must be positive integers, 2.5 is not",
        ),
        (lambda: GeneralReductionTemplate(structure="SR", shape=5), "shape must be a list of extents, not 5"),
        (lambda: GeneralReductionTemplate(structure=5, shape=[4]), "structure must be a string of S and R, not 5"),
        (
            lambda: ElementwiseTemplate(shape=None),
            "the shape of placeholder A must be extents in a tuple or list, got None",
        ),
        # These two kill the real carver's process.
        (lambda: ElementwiseTemplate(shape=[None]), "cannot make an expression of None (NoneType)"),
        (
            lambda: FlashAttentionTemplate(num_heads=None, seq_length=64, head_dim=64),
            "batch_size and num_heads must be integers, got 1 and None",
        ),
    ],
)
def test_parameters_of_templates(make, message: str) -> None:
    with current_arch(A100):
        assert refusal(make) == message


@pytest.mark.parametrize(
    ("K", "message"),
    [
        # OH = OW = 0: ZeroDivisionError in the real carver; below: "cannot convert float NaN to integer".
        (11, "every extent must be at least 1, and the space axes of the output have [0, 0, 8]"),
        (100, "every extent must be at least 1, and one is -89"),
    ],
)
def test_filters_larger_than_the_image(K: int, message: str) -> None:
    template = ConvTemplate(N=1, C=8, H=8, W=8, F=8, K=K, S=1, D=1, P=1).with_arch(A100)
    assert refusal(template.recommend_hints) == message


def test_a_stage_of_negative_extents_has_no_schedule() -> None:
    # InternalError "cannot make const for type handle" in the real carver, before any policy: the cast reads C, whose
    # extents are negative. Extents of 0 fail in the policy, as without the cast.
    def conv(K: int) -> ConvTemplate:
        sizes = dict(N=1, C=8, H=8, W=8, F=8, K=K, S=1, D=1, P=1)
        return ConvTemplate(**sizes, accum_dtype="float32").with_arch(A100)

    message = "every extent must be at least 1, and one is -89"
    assert refusal(lambda: Schedule(conv(100).equivalent_function())) == message
    assert refusal(conv(100).recommend_hints) == message
    Schedule(conv(11).equivalent_function())
    assert refusal(conv(11).recommend_hints).startswith("every extent must be at least 1, and the space axes")


def test_extents_too_large_to_factor() -> None:
    # The real carver needs a minute or is killed: it tries every number up to the root, in an array of gigabytes.
    for template in (MatmulTemplate(M=10**18, N=64, K=64), ElementwiseTemplate(shape=[2**63 - 1])):
        assert "factors are found for numbers from 0 to 10000000000000000, not for " in refusal(
            template.with_arch(A100).recommend_hints
        )


@pytest.mark.parametrize("shift", [58, 60, -58])
def test_regions_beyond_64_bits(shift: int) -> None:
    # OverflowError in the real carver, which answers up to a factor of 2**57.
    def hints(factor: int) -> list:
        A = te.placeholder((1024,), name="A", dtype="float16")
        B = te.compute((64,), lambda i: A[i.astype("int64") * te.const(factor, "int64")], name="B")
        return get_roller_hints_from_func(te.create_prim_func([A, B]), arch=A100, topk=10)

    assert len(hints(2**57)) == 7
    factor = 2**shift if shift > 0 else -(2**-shift)
    assert refusal(lambda: hints(factor)).startswith("the region of 'A' has an extent of 9223372036854775808, and the")


@pytest.mark.parametrize("topk", [None, "3", []])
def test_topk_is_a_number(topk) -> None:
    template = MatmulTemplate(M=64, N=64, K=64).with_arch(A100)
    assert refusal(lambda: template.recommend_hints(topk)) == f"topk is a number of hints, got {topk!r}"


@pytest.mark.parametrize(("topk", "count"), [(0, 1), (-3, 1), (2.5, 3), (True, 1)])
def test_odd_counts_that_the_real_carver_takes(topk, count: int) -> None:
    assert len(ElementwiseTemplate(shape=[128, 128]).with_arch(A100).recommend_hints(topk)) == count


# ---------------------------------------------------------------------------------------------------------------------
# Tensor expressions


def test_a_tensor_is_no_list() -> None:
    """Python would take indices without end: so does the real carver."""
    A = te.placeholder((8, 16), name="A")
    for action in (lambda: list(A), lambda: sum(A[1]), lambda: max(A)):
        assert refusal(action).endswith(" is no list: read it with indices, or reduce it with te.sum(..., axis=...)")
    assert "must be extents in a tuple or list" in refusal(lambda: te.compute(A, lambda i: i))


A = te.placeholder((8, 16), name="A")
K = te.reduce_axis((0, 16), name="k")


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: te.compute((8,), lambda i: A[i]), "tensor A has 2 dimensions, and was read with 1 indices"),
        (lambda: te.compute((8,), lambda i: A[i, 0, 0]), "tensor A has 2 dimensions, and was read with 3 indices"),
        (lambda: te.compute((8,), lambda i: A[i, None]), "cannot make an expression of None (NoneType)"),
        (
            lambda: te.compute((8,), lambda i: A[i, np.array([1, 2])]),
            "cannot make an expression of array([1, 2]) (ndarray)",
        ),
        (lambda: te.compute((8,), lambda i: None), "the function of compute gives no value: it returned None"),
        (lambda: te.compute(8, lambda i: i), "the shape of compute must be a tuple or list, got the int 8: write (8,)"),
        (lambda: te.compute((8,), lambda i: i, name=5), "the name of an operation is a string, got 5"),
        (lambda: te.compute((8,), lambda i: i, attrs=5), "the attrs of compute are a dictionary, got 5"),
        (lambda: te.placeholder((8,), name=None), "the name of an operation is a string, got None"),
        (
            lambda: te.placeholder({2, 4}),
            "the shape of placeholder placeholder must be extents in a tuple or list, got {2, 4}",
        ),
        (lambda: te.const(float("nan")), "cannot make a int32 of nan"),
        (lambda: te.const(None), "cannot make a int32 of None"),
        (lambda: te.max_value(te.var("x")), "max_value takes a dtype, got x"),
        (lambda: te.min_value(None), "min_value takes a dtype, got None"),
        (lambda: te.trace([]), "trace takes at least one expression, got an empty list"),
        (
            lambda: te.comm_reducer(max, lambda t: te.const(0, t))(A[0, K], axis=K),
            "fcombine of the reducer reduce is a function written in Python, got <built-in function max>",
        ),
        (
            lambda: te.comm_reducer(lambda x, y: x[0] + y[0], te.const)((A[0, K], A[0, K]), axis=K),
            "fcombine of the reducer reduce gives 2 values, and gave x_0 + y_0",
        ),
        (lambda: te.compute((8,), lambda i: i, attrs={1: 2}), "the attrs of compute have names, got the key 1"),
        (
            lambda: te.compute((8,), lambda i: i, attrs={"e": [1, None]}),
            "the attribute e of compute has no value: [1, None]",
        ),
        (lambda: te.compute((8,), lambda i: A[i, -K]), "-k of an axis: write 0 - k"),
        (lambda: te.const("5", "float32"), "cannot make a float32 of '5'"),
        (lambda: te.const(te.const(3), "float32"), "cannot make a float32 of 3"),
        (lambda: te.const(300, "int8"), "the constant 300 does not fit int8 (-128 to 127)"),
        (lambda: te.floordiv(K, 0), "division by zero in an expression"),
        (
            lambda: te.create_prim_func([te.compute((8,), lambda i: A[i, 0])]),
            "the placeholder A is read, but is not among",
        ),
        (
            lambda: PrimFuncNode(te.create_prim_func([A, te.compute((8,), lambda i: A[i, K], name="D")])),
            "the variable k is used in the stage 'D' and defined nowhere around it",
        ),
        (
            lambda: te.create_prim_func([A, te.compute((8,), lambda i: A[i, 0])], index_dtype_override="float32"),
            "the dtype of indices is an integer's, got float32",
        ),
    ],
)
def test_odd_expressions(action, message: str) -> None:
    # Each raises in the real carver; a None among the indices ends its process.
    assert refusal(action).startswith(message)


def test_numpy_numbers_are_numbers() -> None:
    # As in the real carver.
    assert te.const(np.int64(3)).value == 3
    assert te.const(np.float32(2.5), "float16").value == 2.5
    assert te.placeholder(np.int64(8)).shape[0].value == 8


def test_an_axis_named_twice_still_has_hints() -> None:
    # As in the real carver, whatever it means.
    D = te.compute((8,), lambda i: te.sum(A[i, K], axis=[K, K]), name="D")
    assert len(get_roller_hints_from_func(te.create_prim_func([A, D]), arch=A100, topk=2)) == 2


# ---------------------------------------------------------------------------------------------------------------------
# Graphs


def add_one() -> PrimFuncNode:
    X = te.placeholder((128, 128), name="A", dtype="float16")
    B = te.compute((128, 128), lambda i, j: X[i, j] + te.const(1, "float16"), name="B")
    return PrimFuncNode(te.create_prim_func([X, B]))


def link(source: PrimFuncNode, target: PrimFuncNode, src_id: int = 0, dst_id: int = 0) -> None:
    edge = Edge(source, target, src_id, dst_id)
    source._out_edges.append(edge)
    target.set_inputs(dst_id, edge)


def graph_of(*links: tuple[int, int]) -> list[OutputNode]:
    """The output of the last of three nodes, linked so."""
    nodes = [add_one() for _ in range(3)]
    for source, target in links:
        link(nodes[source], nodes[target])
    return [OutputNode(nodes[-1])]


@pytest.mark.parametrize("links", [((2, 2),), ((1, 2), (2, 1)), ((0, 1), (1, 2), (2, 0))])
def test_cycles(links) -> None:
    # IndexError in the real carver.
    path = " -> ".join(["PrimFuncNode"] * (len(links) + 1))
    expected = f"the graph has a cycle: {path}"
    assert refusal(lambda: get_roller_hints_from_output_nodes(graph_of(*links), arch=A100)) == expected
    assert refusal(lambda: DefaultPolicy.from_output_nodes(graph_of(*links), arch=A100)) == expected


def with_input(edge) -> list[OutputNode]:
    node = add_one()
    node.set_inputs(0, edge)
    return [OutputNode(node)]


def half_linked() -> list[OutputNode]:
    source, target = add_one(), add_one()
    target.set_inputs(0, Edge(source, target, 0, 0))
    return [OutputNode(target)]


def linked_from_a_missing_output() -> list[OutputNode]:
    source, target = add_one(), add_one()
    link(source, target, src_id=9)
    return [OutputNode(target)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [], "the graph has no output: connect an OutputNode to its last node"),
        (lambda: None, "the output nodes come in a list, not in a NoneType"),
        (lambda: [None], "among the nodes of the graph is None, which is none"),
        (lambda: with_input(None), "among the inputs of <Node, PrimFuncNode> is None, which is no Edge"),
        (lambda: with_input(Edge(None, None, 0, 0)), "among the nodes of the graph is None, which is none"),
        (linked_from_a_missing_output, "<Node, PrimFuncNode> has 1 outputs, so none with index 9"),
        (lambda: [OutputNode(add_one(), 3)], "<Node, PrimFuncNode> has 1 outputs, so none with index 3"),
        (
            lambda: [OutputNode(OutputNode(add_one()))],
            "an OutputNode is connected to a PrimFuncNode, not to <Node, OutputNode>",
        ),
        (lambda: [OutputNode(PrimFuncNode(None))], "a PrimFuncNode computes a PrimFunc, got None"),
        (lambda: link(add_one(), add_one(), dst_id=9), "<Node, PrimFuncNode> has 1 input edges, so none with index 9"),
    ],
)
def test_graphs_that_hang_together_wrongly(make, message: str) -> None:
    # Each raises in the real carver: IndexError, AssertionError, AttributeError.
    assert refusal(lambda: get_roller_hints_from_output_nodes(make(), arch=A100)).startswith(message)


def test_an_edge_known_at_one_end_only() -> None:
    text = refusal(lambda: get_roller_hints_from_output_nodes(half_linked(), arch=A100))
    assert text.endswith("not among the outputs of <Node, PrimFuncNode>: append it there too")


def test_graphs_in_pieces_have_hints() -> None:
    # As in the real carver.
    assert len(get_roller_hints_from_output_nodes([OutputNode(add_one()), OutputNode(add_one())], A100, topk=2)) == 2


def linked(src_id) -> list[OutputNode]:
    source, target = add_one(), add_one()
    link(source, target, src_id)
    return [OutputNode(target)]


def handed_on_only() -> list[OutputNode]:
    source, target = add_one(), add_one()
    source._out_edges.append(Edge(source, target, 0, 0))
    return [OutputNode(source), OutputNode(target)]


def with_more_inputs_than_the_function() -> list[OutputNode]:
    source, target = add_one(), add_one()
    link(source, target)
    target.inputs.append(Edge(source, target, 0, 1))
    return [OutputNode(target)]


def with_output(edge) -> list[OutputNode]:
    node = add_one()
    node._out_edges.append(edge(node) if callable(edge) else edge)
    return [OutputNode(node)]


NODE = "<Node, PrimFuncNode>"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: linked(-1), f"{NODE} hands on its output -1, which it does not have"),
        (lambda: linked(-2), f"{NODE} has 1 outputs, so none with index -2"),
        (lambda: linked(None), f"{NODE} hands on its output None: outputs have numbers"),
        (lambda: linked("0"), f"{NODE} hands on its output '0': outputs have numbers"),
        (lambda: [OutputNode(add_one(), "0")], f"{NODE} has 1 outputs, so none with index '0'"),
        (lambda: [OutputNode(add_one(), None)], f"{NODE} has 1 outputs, so none with index None"),
        (lambda: [OutputNode(add_one(), 0.0)], f"{NODE} has 1 outputs, so none with index 0.0"),
        (handed_on_only, f"{NODE} hands on to nodes that do not have it among their inputs: set_inputs there too"),
        (with_more_inputs_than_the_function, f"{NODE} has 2 input edges, and its function 1 inputs"),
        (lambda: None, "the output nodes come in a list, got None"),
        (add_one, f"the output nodes come in a list, got {NODE}"),
        (lambda: [Node()], "among the nodes of the graph is <Node, Node>, which computes nothing"),
        (lambda: [[1]], "among the nodes of the graph is [1], which is none"),
        (lambda: [Edge(1, 2, 3, 4)], "among the nodes of the graph is Edge(src_node=1, dst_node=2, src_"),
        (lambda: with_output("x"), f"among the outputs of {NODE} is 'x', which is no Edge to a node"),
        (lambda: with_output(lambda node: Edge(node, None, 0, 0)), f"among the outputs of {NODE} is Edge(src_node="),
    ],
)
def test_graphs_that_name_what_is_not_there(make, message: str) -> None:
    # Each raises in the real carver: KeyError, IndexError, TypeError, AttributeError.
    for policy in (DefaultPolicy, TensorCorePolicy):
        assert refusal(lambda: policy.from_output_nodes(make(), arch=A100).emit_config(1)).startswith(message)
    if "come in a list" not in message:  # the function says that itself
        assert refusal(lambda: get_roller_hints_from_output_nodes(make(), arch=A100)).startswith(message)


def test_an_output_counted_from_the_end() -> None:
    # As in the real carver, an OutputNode may.
    assert len(DefaultPolicy.from_output_nodes([OutputNode(add_one(), -1)], arch=A100).emit_config(2)) == 2


NOT_A_DEVICE = "arch must be a device, such as CUDA(...) or get_arch(...), not "


@pytest.mark.parametrize("arch", ["a100", None, 5])
def test_a_device_is_needed(arch) -> None:
    # AttributeError in the real carver, when a figure is read.
    func = ElementwiseTemplate(shape=[64]).equivalent_function()
    for policy in (DefaultPolicy, TensorCorePolicy):
        assert refusal(lambda: policy.from_prim_func(func, arch).emit_config(1)) == f"{NOT_A_DEVICE}{arch!r}"
    for question in (is_volta_arch, is_ampere_arch, is_ada_arch, is_hopper_arch, has_mma_support):
        assert refusal(lambda: question(arch)) == f"{NOT_A_DEVICE}{arch!r}"
    precision = ("float16", "float16", arch)
    assert refusal(lambda: is_tensorcore_supported_precision(*precision)) == f"{NOT_A_DEVICE}{arch!r}"
    with current_arch(A100):
        template = MatmulTemplate(M=64, N=64, K=64).with_arch(arch)
    if arch is not None:
        assert refusal(template.is_volta_arch) == f"{NOT_A_DEVICE}{arch!r}"
    assert template.has_arch() is (arch is not None)


def test_anything_with_the_figures_is_a_device() -> None:
    # As in the real carver.
    like_a100 = SimpleNamespace(**vars(A100))
    func = ElementwiseTemplate(shape=[64, 64]).equivalent_function()
    assert len(DefaultPolicy.from_prim_func(func, like_a100).emit_config(2)) == 2


PRODUCT = MatmulTemplate(M=64, N=64, K=64, accum_dtype="float32").equivalent_function()


@pytest.mark.parametrize("layout", [["n", "t"], [], "n", 5, {"a": 1}])
def test_layouts_of_three(layout) -> None:
    # IndexError, TypeError, KeyError in the real carver.
    expected = f"layout has 'n', 't' or 'a' for each of A, B and C, got {layout!r}"
    assert refusal(lambda: get_tensorized_func_and_tags(PRODUCT, A100.target, layout=layout)) == expected


def test_layouts_that_the_real_carver_takes() -> None:
    for layout in ("ntn", ["n", "t", "n", "n"], {0: "n", 1: "t", 2: "n"}):
        _, tags = get_tensorized_func_and_tags(PRODUCT, A100.target, layout=layout)
        assert tags["tensorcore_config"] == [1, 2]


def test_what_can_be_brought_to_tensor_cores() -> None:
    # AttributeError or IndexError in the real carver.
    for func in (None, "x", 5):
        expected = f"a PrimFunc can be brought to tensor cores, not {func!r}"
        assert refusal(lambda: get_tensorized_func_and_tags(func, A100.target)) == expected
    for target in (None, "x", 5):
        expected = f"target must be a Target, such as CUDA(...).target, not {target!r}"
        assert refusal(lambda: get_tensorized_func_and_tags(PRODUCT, target)) == expected
    sums = GeneralReductionTemplate(structure="SR", shape=[64, 128], dtype="float16").equivalent_function()
    text = refusal(lambda: get_tensorized_func_and_tags(sums, A100.target, skip_normalize=True))
    assert text.endswith("is no matrix product: it has fewer than two inputs")


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ({"pipeline_stage": "x"}, "pipeline_stage is a number of stages, got 'x'"),
        ({"pipeline_stage": [1]}, "pipeline_stage is a number of stages, got [1]"),
        ({"pipeline_stage": float("nan")}, "pipeline_stage is a number of stages, got nan"),
        ({"pipeline_stage": float("inf")}, "pipeline_stage is a number of stages, got inf"),
        ({"intrin_info": "x"}, "the tag intrin_info is a dictionary of in_dtype, out_dtype, trans_b, "),
        ({"intrin_info": 5}, "the tag intrin_info is a dictionary of in_dtype, out_dtype, trans_b, "),
        ({"intrin_info": {"in_dtype": "float16"}}, "the tag intrin_info is a dictionary of in_dtype, out_dtype, "),
    ],
)
def test_tags_for_tensor_cores(tag: dict, message: str) -> None:
    # TypeError or ValueError in the real carver.
    policy = TensorCorePolicy.from_prim_func(PRODUCT, A100, tags={"tensorcore_config": [0, 1], **tag})
    assert refusal(lambda: policy.emit_config(2)).startswith(message)


def test_a_reduction_over_nothing() -> None:
    # ZeroDivisionError in the real carver.
    m = te.var("m")
    X = te.placeholder((64, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    func = te.create_prim_func([m, X, te.compute((64,), lambda i: te.sum(X[i, k], axis=k), name="C")])
    tags = {"opt_shapes": {"m": IntImm("int32", 0)}}
    for policy in (DefaultPolicy, TensorCorePolicy):
        text = refusal(lambda: policy.from_prim_func(func, A100, tags=dict(tags)).emit_config(1))
        assert text == f"every extent must be at least 1, and {NODE} has reduction steps {{'v1': 0}}"


def test_a_first_tile_that_divides_nothing() -> None:
    # ValueError "2 is not in list" in the real carver.
    class Twos(DefaultPolicy):
        def get_base_tile(self):
            return [2] * len(self.output_nodes[0].get_space_dim())

    func = ElementwiseTemplate(shape=[64, 3]).equivalent_function()
    text = refusal(lambda: Twos.from_prim_func(func, A100).emit_config(1))
    assert text == "the first tile has 2 along an axis of 3, and must divide it"
