"""The command line: what it prints, and what it says to bad input (one line, exit code 2, no traceback)."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from carver.arch import CUDA, catalogue
from carver.roller.template import FlashAttentionTemplate, MatmulTemplate
from carver.tools.cli import COMMANDS, HelpFormatter
from carver.tools.options import TEMPLATES
from carver.tools.search import padded_sizes, search_template
from command_line import command

MATMUL = ["recommend", "matmul", "--M", "1024", "--N", "1024", "--K", "1024"]


def test_hints_of_a_matmul(capsys):
    # The figures are those of the recording of this case (fixtures), the layout is ours.
    code, out, err = command(capsys, *MATMUL, "--arch", "a100", "--topk", "2")
    assert (code, err) == (0, "")
    first, header, one, two = out.splitlines()
    assert first.startswith("TensorCorePolicy on sm_80, 108 cores, 49152 B shared memory per block")
    assert first.endswith("97 tiles visited")
    assert header.split()[:5] == ["#", "tile", "block", "warp", "rstep"]
    assert one.split() == ("1 64x64 64x64 32x32 32 2 A_reindex:8,B_reindex:8 270336 16384 4 1 270337".split())
    assert two.split()[1] == "32x128"


def test_json_has_the_same_figures(capsys):
    code, out, _ = command(capsys, *MATMUL, "--arch", "a100", "--topk", "1", "--json")
    answer = json.loads(out)
    assert code == 0
    assert (answer["policy"], answer["visited"], answer["stopped"]) == ("TensorCorePolicy", 97, "exhausted")
    (hint,) = answer["hints"]
    assert (hint["tile"], hint["traffic"], hint["smem_bytes"], hint["waves"]) == ([64, 64], 270336.0, 16384, 1)
    assert hint["hint"][0]["block"] == [64, 64]
    assert hint["hint"][0]["pipeline_stage"] == 2


@pytest.mark.parametrize("topk", [1, 3, 10])
def test_watched_search_is_the_search(topk):
    device = CUDA("a100")
    template = MatmulTemplate(M=512, N=768, K=256).with_arch(device)
    watched = [repr(found.hint) for found in search_template(template, device, topk).hints]
    assert watched == [repr(hint) for hint in template.recommend_hints(topk)]


def test_watched_graph_search_is_the_search():
    from carver.arch import current_arch

    device = CUDA("a100")
    with current_arch(device):
        template = FlashAttentionTemplate(num_heads=2, seq_length=128, seq_kv_length=128, head_dim=64)
    template.with_arch(device)
    watched = search_template(template, device, 3).hints
    hints = template.recommend_hints(3)
    assert len(hints) == len(watched) > 0
    assert [list(map(repr, found.hint.values())) for found in watched] == [
        list(map(repr, hint.values())) for hint in hints
    ]


def test_no_hint_says_why_and_what_helps(capsys):
    code, out, _ = command(capsys, "recommend", "matmul", "--M", "2048", "--N", "7133", "--K", "2048", "--arch", "a100")
    assert code == 1
    assert out.splitlines()[-1] == (
        "no hint: tensor-core path chosen, but no visited tile with at least 16 rows and columns divides 2048x7133; "
        "pad N to 7136 or 7168"
    )


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["--M", "8"], "as a matrix product it is 8 x 1024 x 1024: space axes need 16, the reduction 16"),
        (["--in-dtype", "float32"], "no instruction for float32 inputs and float16 sums on sm_80"),
        (["--arch", "b200"], "carver 0.1.15 has no tensor-core table for sm_100a, only up to sm_90"),
    ],
)
def test_cuda_core_hints_say_why(capsys, arguments, reason):
    code, out, _ = command(capsys, *MATMUL, "--arch", "a100", *arguments, "--topk", "1")
    assert code == 0
    assert out.startswith("DefaultPolicy on ")
    assert out.splitlines()[-1] == f"no tensor cores: {reason}"


def test_figures_can_be_overridden(capsys):
    _, out, _ = command(
        capsys, *MATMUL, "--arch", "a100", "--smem-cap", "optin", "--cores", "20", "--l2", "0", "--topk", "1"
    )
    assert "sm_80, 20 cores, 166912 B shared memory per block, 0 B L2" in out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["recomend"], "carver: unknown command 'recomend'; did you mean recommend"),
        (["recommend", "matmull"], "carver recommend: unknown template 'matmull'; did you mean matmul?"),
        ([*MATMUL, "--arch", "h10"], "carver: unknown device 'h10': did you mean 'h100'"),
        ([*MATMUL, "--arch", "a100", "--in-dtype", "flot16"], "unknown dtype 'flot16': did you mean float16"),
        ([*MATMUL[:-2], "--arch", "a100"], "the following arguments are required: --K"),
        ([*MATMUL, "--M", "0"], "argument --M: 0 is too small: at least 1"),
        ([*MATMUL, "--M", "-4"], "argument --M: -4 is too small: at least 1"),
        ([*MATMUL, "--M", "1.5"], "argument --M: '1.5' is not a whole number"),
        ([*MATMUL, "--M", str(10**18)], "argument --M: 1000000000000000000 is too large: at most 1099511627776"),
        ([*MATMUL, "--M", "9" * 5000], "is not a whole number"),
        ([*MATMUL, "--arch", "a100", "--topk", "0"], "argument --topk: 0 is too small: at least 1"),
        ([*MATMUL, "--arch", "a100", "--smem-cap", "lots"], "argument --smem-cap: 'lots' is not a whole number"),
        ([*MATMUL, "--arch", "a100", "--cores", "0"], "argument --cores: 0 is too small: at least 1"),
        ([*MATMUL, "--colour"], "unrecognized arguments: --colour"),
        (["recommend", "reduce", "--structure", "SX", "--shape", "8", "8", "--arch", "a100"], "only S and R"),
        (["recommend", "reduce", "--structure", "SR", "--shape", "8", "--arch", "a100"], "structure"),
        (["recommend", "conv", *"--N 1 --C 8 --H 8 --W 8 --F 8 --K 3 --P 0 --arch a100".split()], "P must be positive"),
        (["devices", "hopper9000"], "unknown device 'hopper9000'"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, message):
    code, out, err = command(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1 and len(err) < 400


def test_no_device(capsys, monkeypatch):
    monkeypatch.delenv("CARVER_ARCH", raising=False)
    code, _, err = command(capsys, *MATMUL)
    assert code == 2
    assert err == "carver: no device: give --arch NAME, or set CARVER_ARCH (carver devices lists the names)\n"


def test_device_from_the_environment(capsys, monkeypatch):
    monkeypatch.setenv("CARVER_ARCH", "a100")
    assert command(capsys, *MATMUL, "--topk", "1") == command(capsys, *MATMUL, "--topk", "1", "--arch", "a100")


def test_bias_fails_as_in_carver(capsys):
    code, _, err = command(capsys, *MATMUL, "--arch", "a100", "--with-bias")
    assert code == 2
    assert "Bias" in err and err.count("\n") == 1


def test_devices(capsys):
    code, out, _ = command(capsys, "devices")
    lines = out.splitlines()
    assert code == 0 and len(lines) >= 36
    (h100,) = [line.split() for line in lines if line.startswith("h100 ")]
    assert h100[:7] == ["h100", "sm_90", "132", "48", "227", "50", "32"]
    code, out, _ = command(capsys, "devices", "h100", "--json")
    assert json.loads(out)[0]["l2_cache_size_bytes"] == 52428800


@pytest.mark.parametrize("columns", [40, 80, 120, 300])
def test_the_prose_of_every_help_fits(capsys, monkeypatch, columns):
    """Examples are for copying: they stay in one line."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for name, (module_name, _) in COMMANDS.items():
        code, out, _ = command(capsys, name, "--help")
        assert code == 0
        doc = importlib.import_module(f"carver.tools.{module_name}").__doc__.strip()
        text = HelpFormatter("carver")._fill_text(doc, columns - 2, "")
        assert f"\n\n{text}\n" in out and text.split() == doc.split(), name
        assert all(len(line) <= min(columns, 120) or line.startswith(" ") for line in text.splitlines()), name
        assert all(line in text.splitlines() for line in doc.splitlines() if line.startswith(" "))


@pytest.mark.parametrize("columns", [80, 120])
def test_devices_fit_and_lose_no_name(capsys, columns):
    code, out, _ = command(capsys, "devices", "--width", str(columns))
    assert code == 0 and max(map(len, out.splitlines())) <= columns
    text = " ".join(out.split())
    assert all(name in text for row in catalogue.DEVICES for name in (row.name, *row.aliases) if " " not in name)
    note = "RDNA (gfx11, gfx12): carver's model takes the L2 as 0 (PORTING.md)"
    assert out.splitlines()[-1] == note
    _, out, _ = command(capsys, "devices", "h100", "8060s", "--width", str(columns))
    assert note in out.splitlines() and max(map(len, out.splitlines())) <= columns
    assert "RDNA" not in command(capsys, "devices", "h100")[1]


def test_help_has_an_example(capsys):
    code, out, _ = command(capsys, "--help")
    assert code == 0
    for name in COMMANDS:
        assert f"  {name} " in out
        code, text, _ = command(capsys, name, "--help")
        assert code == 0 and "carver" in text
    code, out, _ = command(capsys, "recommend", "conv", "--help")
    assert "example:\n  carver recommend conv --N 128" in out


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_the_examples_of_recommend_give_hints(capsys, template):
    code, out, err = command(capsys, "recommend", *template.example.split(), "--topk", "1")
    assert (code, err) == (0, "")
    assert any(line.startswith("1  ") for line in out.splitlines())


@pytest.mark.parametrize("name, arch", [("mi100", "gfx908"), ("mi300x", "gfx942"), ("mi355x", "gfx950")])
def test_a_device_whose_matrix_cores_carver_does_not_use(capsys, name, arch):
    for dtype in "float16", "float32":
        code, out, _ = command(capsys, *MATMUL, "--arch", name, "--accum-dtype", dtype, "--topk", "1")
        assert code == 0 and out.startswith(f"DefaultPolicy on {arch}, ")
        why = f"carver does not tensorize on {arch}, of AMD only on RDNA 3 and 4"
        assert out.splitlines()[-1] == f"no tensor cores: {why}"


def test_the_readme_names_every_command():
    text = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"carver {name}" not in text] == []


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m carver.tools devices | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("name")


def test_networkx_is_not_imported_for_a_hint():
    code = (
        "import sys; from carver.tools.cli import main; "
        "main('recommend matmul --M 64 --N 64 --K 64 --arch a100'.split()); "
        "sys.exit('networkx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_padded_sizes():
    assert padded_sizes(7133) == [7136, 7168]
    assert padded_sizes(1009) == [1024]
    assert padded_sizes(64) == [128, 256]
