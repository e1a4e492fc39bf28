"""Walking a search in the terminal, and in pdb."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from carver.arch import get_arch
from carver.roller.template import MatmulTemplate
from carver.tools.cli import main
from carver.tools.search import search_template
from carver.tools.step import NotUnderstood, Walk, converse
from carver.tools.trace import Hinted, Pop, Stop, Visit

A100 = get_arch("a100")
ROOT = Path(__file__).resolve().parent.parent
SMALL = ["matmul", "--M", "1024", "--N", "1024", "--K", "1024", "--arch", "a100"]


@pytest.fixture(scope="module")
def trace():
    template = MatmulTemplate(M=1024, N=1024, K=1024).with_arch(A100)
    return search_template(template, A100, 3).trace


@pytest.fixture
def walk(trace) -> Walk:
    return Walk(trace, 100)


def do(walk: Walk, *commands: str) -> list[str]:
    """The lines of the last of some commands."""
    lines: list[str] = []
    for command in commands:
        lines = list(walk.do(command))
    return lines


def test_next_shows_one_event_each(walk: Walk) -> None:
    assert walk.event is None and walk.tile is None and walk.queue() == []
    assert do(walk, "")[0].startswith("start  TensorCorePolicy")
    [line] = do(walk, "n")
    assert line.split() == "0 1x1 traffic 4,128 smem 256 blk/SM 4 waves 2,428 priority 10,025,212".split()
    assert walk.queue() == [(10025212.0, (1, 1))]
    assert do(walk, "next") == ["take 1x1, priority 10,025,212; 0 left in the queue"]
    assert walk.queue() == []
    assert len(do(walk, "n 4")) == 4
    assert walk.event.tile == (1, 4) and walk.tile == (1, 4)


def test_the_whole_walk_shows_every_event(walk: Walk, trace) -> None:
    shown = len(do(walk, "n 100000"))
    told = [event for event in trace.events if walk.lines.of(event)]
    assert shown == sum(len(walk.lines.of(event)) for event in told)
    assert type(walk.event) is Hinted and walk.past == trace.events
    assert do(walk, "n") == ["at the end"] == do(walk, "g")
    hidden = {type(event).__name__ for event in trace.events} - {type(event).__name__ for event in told}
    assert hidden == {"Push", "Reject"}


def test_back_goes_over_the_same_events(walk: Walk) -> None:
    there = [do(walk, "n") for _ in range(30)]
    back = [do(walk, "b") for _ in range(29)]
    assert back == there[-2::-1]
    assert do(walk, "b") == ["at the beginning"]
    do(walk, "n 20")
    assert do(walk, "b 500") == there[0]


def test_run_to_the_next_rejection(walk: Walk) -> None:
    assert do(walk, "r") == [
        "... 75 events",
        "take 32x256, priority 606,209; 15 left in the queue",
        "  40  v1 32x512   rejected: smem 69,632 > 49,152  carver/roller/policy/default.py:558",
    ]
    assert do(walk, "r")[-1].startswith("  41  v0 512x32   rejected: smem 69,632 > 49,152")
    rejections = 2
    while do(walk, "r") != ["no more rejections"]:
        rejections += 1
    assert rejections == 17


def test_go_to_a_tile_forwards_and_backwards(walk: Walk) -> None:
    assert do(walk, "t 64 128") == [
        "take 64x64, priority 270,337; 12 left in the queue",
        "  25  v1 64x128   traffic 409,600  smem 24,576  blk/SM 4  waves     1  priority    409,601",
    ]
    assert do(walk, "t 8x8")[0] == "back 20 events"
    assert type(walk.event) is Visit and walk.event.tile == (8, 8)
    at = walk.at
    assert do(walk, "t 3,5") == ["3x5 was not visited: 3 is no step of v0; the nearest are 2 and 4"]
    assert do(walk, "t 1024 1024")[0].startswith("1024x1024 was not visited: none of the tiles that grow into it")
    assert walk.at == at


def test_the_queue_is_the_searchs_own(walk: Walk, trace) -> None:
    taken, waiting = [], walk.queue()
    while type(walk.event) is not Stop:
        do(walk, "n")
        if type(walk.event) is Pop:
            # What leaves is what stood first, and the rest stays.
            assert waiting[0] == (walk.event.priority, walk.event.tile)
            assert walk.queue() == waiting[1:] and len(waiting) - 1 == walk.event.queued
            taken.append(walk.event.tile)
        waiting = walk.queue()
    assert taken == [event.tile for event in trace.of(Pop)] and len(taken) == 80
    do(walk, "t 64 128")
    lines = do(walk, "u")
    assert lines[0] == "13 tiles waiting, cheapest first"
    assert lines[2].split() == ["32x128", "335,873", "335,872", "1"]
    assert do(walk, "g", "u") == ["the queue is empty"]


def test_explain_this_tile_or_another(walk: Walk) -> None:
    with pytest.raises(NotUnderstood, match="no tile yet"):
        do(walk, "e")
    do(walk, "t 64 128")
    assert do(walk, "e")[0].startswith("tile 64x128 by TensorCorePolicy")
    assert do(walk, "explain 96 96")[0].startswith("tile 96x96 by TensorCorePolicy")


def test_statistics_so_far(walk: Walk) -> None:
    do(walk, "t 64 128")
    lines = do(walk, "s")
    assert lines[1] == "visited   26 tiles, 26 valid; the search goes on"
    assert lines[3] == "queue     13 taken, 13 waiting, 13 at most; 0 times a tile came up again"
    do(walk, "g")
    assert do(walk, "s")[1] == "visited   97 tiles, 80 valid; ended with an empty queue"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("jump", "unknown command 'jump'; h lists them"),
        ("n many", "'many' is no number of events"),
        ("n 0", "'0' is no number of events"),
        ("b -1", "'-1' is no number of events"),
        ("t", "which tile? for example: 64 128"),
        ("t 64", "a tile has 2 extents here (v0=1024, v1=1024), 64 has 1"),
        ("t 64 4096", "the tile 64x4096 is larger than the output along v1: 4096 > 1024"),
        ("e 0 1", "0 is too small: the extents of a tile are at least 1"),
        ("u 3", "nothing is expected after it: '3'"),
    ],
)
def test_commands_that_are_not_understood(walk: Walk, command: str, message: str) -> None:
    do(walk, "n 3")
    with pytest.raises(NotUnderstood, match=re.escape(message)):
        do(walk, command)
    assert walk.at == 2


def test_conversation_through_a_pipe(walk: Walk) -> None:
    out = io.StringIO()
    assert converse(walk, io.StringIO("n 2\r\n\nh\nq\nn\n"), out) == 0
    lines = out.getvalue().splitlines()
    assert lines[0] == "TensorCorePolicy, 97 tiles, 247 events; h for help, q to quit"
    assert [line for line in lines if line.startswith(">")] == ["> n 2", ">", "> h", "> q"]
    assert walk.at == 2
    assert "\x1b" not in out.getvalue()
    # Without q it ends with the input. A wrong command shows in the exit code, as nobody may be looking.
    assert converse(walk, io.StringIO("n\n"), io.StringIO()) == 0
    assert converse(walk, io.StringIO("nonsense\nn"), io.StringIO()) == 2
    assert walk.at == 4


def test_the_command_reads_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("r\ne\ns\n"))
    assert main(["step", *SMALL, "--width", "80"]) == 0
    out = capsys.readouterr().out
    assert "  40  v1 32x512   rejected: smem 69,632 > 49,152  default.py:558\n" in out
    assert "rejected  needs 69,632 bytes of shared memory per block, the limit is 49,152\n" in out
    assert "rejected  1 for shared memory\n" in out
    assert max(map(len, out.splitlines())) <= 80


# ---------------------------------------------------------------------------------------------------------------------
# In pdb


def loop_line() -> int:
    """The line of the loop of ``dfs_smem_tile`` at which the README has one stop."""
    lines = (ROOT / "policy" / "default.py").read_text(encoding="utf-8").splitlines()
    [found] = [i for i, line in enumerate(lines, 1) if line.strip() == "for axis in reversed(range(len(tile))):"]
    return found


def in_pdb(commands: str) -> str:
    """What pdb prints when the README's command is run under it."""
    # Python 3.13.0 takes the options of the module for its own.
    mark = ["--"] if sys.version_info[:3] == (3, 13, 0) else []
    command = [sys.executable, "-m", "pdb", "-m", "carver.tools", *mark, "recommend", *SMALL]
    done = subprocess.run(command, input=commands, capture_output=True, text=True, cwd=ROOT, timeout=60)
    return done.stdout


def test_the_session_in_pdb_comes_out_as_shown() -> None:
    """The README's two blocks are one session; paths are shortened in it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = [block for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL) if "(Pdb) " in block]
    first, *rest = "".join(blocks).split("(Pdb) ")
    shown = ["".join(first.splitlines(True)[1:])]  # without the command itself
    commands = []
    for part in rest:
        command, _, answer = part.partition("\n")
        commands.append(command)
        shown.append(answer)
    out = in_pdb("\n".join([*commands, "q\n"])).replace(f"{ROOT}/", "").split("(Pdb) ")
    for command, want, got in zip(["to begin with", *commands], shown, out, strict=False):
        if want.startswith("Breakpoint 2"):  # from 3.13 on it is at the first statement of the function
            want, got = (re.sub(r":\d+$", "", text.strip()) for text in (want, got))
        assert got == want, f"README.md, pdb session, {command}"
    assert len(out) > len(commands)


def test_the_documents_name_the_line_of_the_loop() -> None:
    for name in ("README.md",):
        text = (ROOT / name).read_text(encoding="utf-8")
        for line in re.findall(r"policy/default\.py:(\d+), tile", text):
            assert int(line) == loop_line(), f"{name}: the loop of dfs_smem_tile is at line {loop_line()}"
