"""What another TileLang changed in carver: on made-up sources and wheels, and on the pinned facts."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from carver.arch.errors import CarverError
from carver.tools import cli, drift, provenance, vendored
from carver.tools.vendored import Tree

BESTFIT = '''
class Block:
    """Doc."""

    def __init__(self, start, end):
        self.start = start

    def size(self):
        return self.end - self.start


class BestFit:
    def malloc(self, size):
        return size

    def free(self, block):
        block.is_free = True


def one(a: int) -> int:
    return a


def two():
    return 2


LIMIT = 3
'''
OTHER = "def away(x):\n    return x\n"
PATH, OTHER_PATH = "carver/roller/bestfit.py", "carver/utils.py"


def facts_of(text: str, other: str = OTHER, version: str = "0.1.15") -> provenance.Facts:
    return provenance.facts_of(Tree("made up", "", version, None, {PATH: text, OTHER_PATH: other}))


PORT = provenance.read_port_text(
    """
# vendored: carver/roller/bestfit.py:2-9
class Block:
    # vendored: carver/roller/bestfit.py:8-9
    def size(self):
        return 0


# not ported: carver/roller/bestfit.py:20-21 one: no use

LIMIT = 3
""",
    "bestfit/__init__.py",
)


def told(text: str, other: str = OTHER) -> list[tuple[str, str, str]]:
    found = drift.find_drift(facts_of(BESTFIT), facts_of(text, other), [PORT])
    return [(entry.kind, entry.name, ", ".join(entry.what)) for entry in found]


def test_nothing_changed():
    assert told(BESTFIT) == []
    commented = BESTFIT.replace('"""Doc."""', '"""Another."""').replace("return 2", "return (  # why\n        2\n    )")
    assert told(f"# A licence.\nimport os\n\n{commented}") == []


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("return 2", "return 3", ("changed", "two", "body")),
        ("def two()", "def two(a=1)", ("changed", "two", "parameters () became (a=1), body")),
        ("self.end - self.start", "self.end", ("changed", "Block.size", "body")),
        ("a: int", "a: str", ("changed", "one", "annotations only")),
        ("class BestFit:", "class BestFit(Block):", ("changed", "BestFit", "decorators, bases or fields")),
        ("class BestFit:", "class BestFit:\n    x = 1\n", ("changed", "BestFit", "decorators, bases or fields")),
        ("LIMIT = 3", "LIMIT = 4", ("changed", "LIMIT", "value")),
        ("LIMIT = 3", "LIMIT = 3\nprint(LIMIT)", ("appeared", "(module level)", "")),
        ("LIMIT = 3", "LIMIT = 3\n\n\ndef three(): pass", ("appeared", "three", "")),
        ("LIMIT = 3\n", "", ("gone", "LIMIT", "")),
        ("def two():\n    return 2\n", "", ("gone", "two", "")),
        ("    def size(self):\n        return self.end - self.start\n", "", ("gone", "Block.size", "")),
        (
            "\n\nLIMIT",
            "\n\nclass New:\n    def f(self): pass\n    def g(self): pass\nLIMIT",
            ("appeared", "New", "with 2 methods"),
        ),
    ],
)
def test_one_change(old, new, expected):
    assert BESTFIT.count(old) == 1
    assert told(BESTFIT.replace(old, new)) == [expected]


def test_a_class_that_went():
    text = BESTFIT[: BESTFIT.index("class BestFit")] + BESTFIT[BESTFIT.index("def one") :]
    assert told(text) == [("gone", "BestFit", "with 2 methods")]


def test_moves():
    assert told(BESTFIT + OTHER, "") == [("moved", "away", f"to {PATH} away")]
    changed = OTHER.replace("return x", "return -x")
    assert told(BESTFIT + changed, "") == [("moved", "away", f"to {PATH} away, body")]
    inside = BESTFIT.replace("def two():\n    return 2\n", "").replace(
        "def one", "def two():\n    return 2\n\n\ndef one"
    )
    assert told(inside) == [("moved", "one", "within the file, after two")]
    size = "    def size(self):\n        return self.end - self.start\n"
    to_class = BESTFIT.replace(size, "").replace("class BestFit:\n", f"class BestFit:\n{size}\n")
    assert told(to_class) == [("moved", "Block.size", f"to {PATH} BestFit.size")]


def test_the_longest_rising_subsequence():
    assert drift._longest_rising([3, 1, 2, 5, 4]) == {1, 2, 4}
    assert drift._longest_rising([]) == set()
    assert len(drift._longest_rising([5, 4, 3])) == 1


def test_the_port_concerned():
    text = BESTFIT.replace("self.end - self.start", "self.end").replace("return a\n", "return -a\n")
    text = text.replace("LIMIT = 3", "LIMIT = 4").replace(
        "        self.start = start\n", "        pass\n\n    def new(self): pass\n"
    )
    found = drift.find_drift(facts_of(BESTFIT), facts_of(text), [PORT])
    assert [(entry.name, str(entry.port)) for entry in found] == [
        ("Block.__init__", "bestfit/__init__.py"),  # without a mark in this port
        ("Block.size", "bestfit/__init__.py:5"),
        ("one", "not ported"),
        ("LIMIT", "bestfit/__init__.py:11"),
        ("Block.new", "bestfit/__init__.py:3"),  # where it would go: to the port of its class
    ]
    assert drift.concerned_ports(found) == 2


# ---------------------------------------------------------------------------------------------------------------------
# Wheels


def wheel(path: Path, files: dict[str, str | bytes], version: str = "0.1.16") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"tilelang-{version}.dist-info/METADATA", f"Metadata-Version: 2.4\nVersion: {version}\n")
        archive.writestr(f"tilelang-{version}.dist-info/RECORD", "tilelang/a.py,sha256=abc,1\n")
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def pinned(monkeypatch):
    monkeypatch.setattr(provenance, "read_facts", lambda: facts_of(BESTFIT))
    monkeypatch.setattr(provenance, "read_port", lambda: [PORT])


def test_a_wheel(tmp_path, capsys, pinned):
    same = {f"tilelang/{PATH}": BESTFIT, f"tilelang/{OTHER_PATH}": OTHER, "tilelang/lib/x.so": b"\x7fELF"}
    file = wheel(tmp_path / "same.whl", same)
    assert cli.main(["drift", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "nothing has changed in 10 definitions"

    file = wheel(tmp_path / "other.whl", {**same, f"tilelang/{PATH}": BESTFIT.replace("return 2", "return 3")})
    assert cli.main(["drift", str(file)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"TileLang 0.1.16 ({file}) against the pinned 0.1.15"
    assert lines[1:] == [
        PATH,
        "  changed   two  24-25 -> 24-25  port bestfit/__init__.py: body",
        "1 changed, 0 moved, 0 appeared, 0 gone; 0 definitions of the port concerned",
    ]


def test_json(tmp_path, capsys, pinned):
    file = wheel(tmp_path / "a.whl", {f"tilelang/{PATH}": BESTFIT.replace("self.end - self.start", "1")})
    assert cli.main(["drift", "--json", str(file)]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["pinned"], data["tilelang"], data["where"]) == ("0.1.15", "0.1.16", str(file))
    assert data["wheel"].startswith("sha256:")
    assert data["counts"] == {"changed": 1, "moved": 0, "appeared": 0, "gone": 1}
    assert data["drift"] == [
        {
            "kind": "changed",
            "path": PATH,
            "name": "Block.size",
            "definition": "method",
            "lines": [8, 9],
            "there": {"path": PATH, "lines": [8, 9]},
            "what": ["body"],
            "port": {"file": "bestfit/__init__.py", "name": "Block.size", "line": 5},
        },
        {
            "kind": "gone",
            "path": OTHER_PATH,
            "name": "away",
            "definition": "function",
            "lines": [1, 2],
            "there": None,
            "what": [],
            "port": None,
        },
    ]


def one_line(path: Path) -> str:
    with pytest.raises(CarverError) as error:
        vendored.open_tree(path)
    assert "\n" not in str(error.value) and str(path) in str(error.value)
    return str(error.value)


def test_hostile_wheels(tmp_path, monkeypatch):
    file = tmp_path / "x.whl"
    file.write_bytes(b"no zip at all")
    assert "not a readable wheel" in one_line(file)
    file.write_bytes(b"")
    assert "not a readable wheel" in one_line(file)

    for name in ("tilelang/carver/../../evil.py", "/tilelang/carver/evil.py", "tilelang\\carver\\evil.py"):
        assert "points out of the wheel" in one_line(wheel(file, {name: "x"}))
    assert "holds no tilelang/carver" in one_line(wheel(file, {"other/carver/a.py": "x"}))

    # A bomb: unpacked only up to the limit.
    assert "is larger than" in one_line(wheel(file, {"tilelang/carver/a.py": b" " * (vendored.MAX_FILE + 1)}))
    monkeypatch.setattr(vendored, "MAX_TOTAL", 1000)
    assert "more sources than" in one_line(wheel(file, {f"tilelang/carver/a{i}.py": "#" * 400 for i in range(3)}))
    monkeypatch.setattr(vendored, "MAX_MEMBERS", 3)
    assert "entries, more than any wheel" in one_line(wheel(file, {f"a{i}": "" for i in range(3)}))


def test_a_wheel_that_lies_about_its_sizes(tmp_path):
    file = wheel(tmp_path / "x.whl", {"tilelang/carver/a.py": b"a = 1\n" * 1000})
    data = bytearray(file.read_bytes())
    size = (6000).to_bytes(4, "little")
    assert data.count(size) == 2  # in the entry and in the directory
    file.write_bytes(bytes(data.replace(size, (10).to_bytes(4, "little"))))
    assert "not a readable wheel" in one_line(file)


def test_a_wheel_with_an_encrypted_or_a_doubled_source(tmp_path):
    file = wheel(tmp_path / "x.whl", {"tilelang/carver/a.py": "a = 1\n"})
    data = file.read_bytes()
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(b"tilelang/carver/a.py"))
    file.write_bytes(data[: at + 8] + b"\x01" + data[at + 9 :])
    assert "is encrypted" in one_line(file)

    buffer = io.BytesIO(wheel(file, {"tilelang/carver/a.py": "a = 1\n"}).read_bytes())
    with pytest.warns(UserWarning), zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("tilelang/carver/a.py", "a = 2\n")
    file.write_bytes(buffer.getvalue())
    assert "twice" in one_line(file)


def test_a_source_that_cannot_be_parsed(tmp_path, capsys, pinned):
    file = wheel(tmp_path / "x.whl", {f"tilelang/{PATH}": "def f(:\n"})
    assert cli.main(["drift", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"{PATH}:1: not Python that can be read here" in error


def test_names_that_would_steer_the_terminal(tmp_path, capsys, pinned):
    file = wheel(tmp_path / "x.whl", {"tilelang/carver/\x1b[31m.py": "def f(): pass\n"}, version="1\x1b[2J")
    assert cli.main(["drift", str(file)]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_a_folder_with_links_and_odd_files(tmp_path):
    package = tmp_path / "tilelang"
    roller = package / "carver" / "roller"
    roller.mkdir(parents=True)
    (roller / "a.py").write_text("def f(): pass\n")
    (roller / "loop").symlink_to(roller, target_is_directory=True)
    (roller / "gone.py").symlink_to(tmp_path / "nothing.py")
    (roller / "folder.py").mkdir()
    assert list(vendored.open_tree(package).files) == ["carver/roller/a.py"]


# ---------------------------------------------------------------------------------------------------------------------
# The pinned facts


def test_the_pinned_facts_do_not_drift_from_themselves():
    facts = provenance.read_facts()
    assert drift.find_drift(facts, facts, provenance.read_port()) == []


def test_drift_of_0_1_14_as_its_wheel_has_it():
    """0.1.14 lacks one file of 0.1.15 and has two other functions; all else is the same, syntactically."""
    facts = provenance.read_facts()
    names = ("TensorCorePolicy._legalize_info", "TensorCorePolicy.plan_rasterization")
    # The digests of these two in the wheel of 0.1.14.
    digests = dict(zip(names, ("26f2c149a2ac0c31", "f06ba5fbd83afd42")))
    files = {path: list(entries) for path, entries in facts.files.items()}
    del files["carver/arch/driver/ascend_driver.py"]
    tensorcore = files["carver/roller/policy/tensorcore.py"]
    for index, entry in enumerate(tensorcore):
        if entry.name in names:
            values = {slot: getattr(entry, slot) for slot in provenance.Definition.__slots__}
            changed = {"digest": digests[entry.name], "plain": digests[entry.name]}
            tensorcore[index] = provenance.Definition(**{**values, **changed})
    found = drift.find_drift(facts, provenance.Facts("0.1.14", None, files), provenance.read_port())
    assert [entry.name for entry in found if entry.kind == "changed"] == list(names)
    assert [entry.kind for entry in found].count("gone") == 6
    assert all(entry.port.line for entry in found)
