"""The marks of the port, the pinned facts of the vendored sources, and the table made of both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from carver.arch.errors import CarverError
from carver.tools import cli, porting, provenance, vendored
from carver.tools.provenance import Facts, read_port_text
from carver.tools.vendored import Tree

# A vendored file; its port would be roller/hint.py. Lines are numbered from the `import` on.
VENDORED = '''import tvm
from tvm import tirx as T

LIMIT = 3


@cached
def first(a, b=1):
    """Doc."""
    return a + b


class Thing(Base):
    """Doc."""

    size: int = 2

    def second(self, *rows, key=None, **more):
        return tvm.DataType(key), T.Var("x")

    def third(self):
        def nested():
            return 1

        return nested


def fourth():
    pass
'''

PORT = '''"""The port."""

# vendored: carver/roller/hint.py:7-10
@cached
def first(a, b=1):
    return b + a


# vendored: carver/roller/hint.py:13-25
class Thing(Base):
    size: int = 2

    # vendored: carver/roller/hint.py:18-19
    def second(self, *rows, key=None, **more):
        # NOTE: gives text.
        return str(key)

    # vendored: carver/roller/hint.py:21-25
    def third(self):
        def nested():
            return 1

        return nested


# not ported: carver/roller/hint.py:28-29 fourth: does nothing

# ---- Additions: nothing vendored below ------


def helper():
    return 0
'''


def made_up_facts(text: str = VENDORED, path: str = "carver/roller/hint.py") -> Facts:
    return provenance.facts_of(Tree("made up", "", "0.1.15", None, {path: text}))


def problems(port: str, facts: Facts | None = None) -> list[str]:
    return porting.check_port(facts or made_up_facts(), [read_port_text(port, "roller/hint.py")])


# ---------------------------------------------------------------------------------------------------------------------
# Reading


def test_definitions_of_a_source():
    entries = {entry.name: entry for entry in made_up_facts().files["carver/roller/hint.py"]}
    assert list(entries) == ["LIMIT", "first", "Thing", "Thing.second", "Thing.third", "fourth"]
    assert [entry.kind for entry in entries.values()] == [
        "constant",
        "function",
        "class",
        "method",
        "method",
        "function",
    ]
    first = entries["first"]
    assert (first.first, first.line, first.last) == (7, 8, 10)  # from the decorator on
    assert first.parameters == ("a", "b") and first.defaults == (("b", "1"),)
    second = entries["Thing.second"]
    assert second.parameters == ("self", "*rows", "key", "**more") and second.defaults == (("key", "None"),)
    assert second.tvm == ("tvm.DataType", "tvm.tirx.Var")
    assert first.tvm == ()


def digest_of(text: str) -> tuple[str, str]:
    (entry,) = provenance.read_definitions(text, "x.py")
    return entry.digest, entry.plain


def test_a_digest_ignores_what_does_not_count():
    plain = "def f(a, b=1):\n    return a + b\n"
    same = "def f(a,   b = 1):  # why\n\n    '''Doc.'''\n    # so\n    return (a +\n            b)\n"
    assert digest_of(same) == digest_of(plain)
    assert digest_of("def f():\n    '''Doc.'''\n") == digest_of("def f():\n    pass\n")


@pytest.mark.parametrize(
    "other",
    [
        "def f(a, b=2):\n    return a + b\n",
        "def f(a, c=1):\n    return a + c\n",
        "def f(a, b=1):\n    return a - b\n",
        "def f(a, b=1):\n    return a + b + 0\n",
        "@d\ndef f(a, b=1):\n    return a + b\n",
        "def f(a, b=1):\n    return 'a' + b\n",
        "def f(a, b=True):\n    return a + b\n",
        "async def f(a, b=1):\n    return a + b\n",
    ],
)
def test_a_digest_tells_what_counts(other):
    assert digest_of(other)[0] != digest_of("def f(a, b=1):\n    return a + b\n")[0]
    assert digest_of(other)[1] != digest_of("def f(a, b=1):\n    return a + b\n")[1]


def test_annotations_have_a_digest_of_their_own():
    plain = digest_of("def f(a, b=1):\n    c = a\n    return c\n")
    annotated = digest_of("def f(a: int, b: int = 1) -> int:\n    c: int = a\n    return c\n")
    assert annotated[0] != plain[0]
    assert annotated[1] == plain[1]


def test_digests_are_the_same_in_every_python():
    # ast.dump is not: 3.12 added type_params, 3.13 leaves defaults out. These were computed with 3.11.
    assert digest_of("def f(a, b=1):\n    return f'{a!r:>{b}}', None, [x for x in a if x]\n") == (
        "150f7507865fbc26",
        "150f7507865fbc26",
    )


def test_a_class_changes_by_its_fields_and_not_by_its_methods():
    def own(text):
        return provenance.read_definitions(text, "x.py")[0].digest

    plain = own("class A(B):\n    x = 1\n    def f(self):\n        return 1\n")
    assert own("class A(B):\n    x = 1\n    def f(self):\n        return 2\n") == plain
    assert own("class A(B):\n    x = 2\n    def f(self):\n        return 1\n") != plain
    assert own("class A(C):\n    x = 1\n    def f(self):\n        return 1\n") != plain


def test_names_that_are_bound_twice_are_counted_and_overloads_are_not():
    text = "class A:\n @property\n def x(self): return 1\n @x.setter\n def x(self, v): pass\n"
    assert [entry.name for entry in provenance.read_definitions(text, "x.py")] == ["A", "A.x", "A.x#2"]
    text = "@overload\ndef f(a): ...\n@typing.overload\ndef f(b): ...\ndef f(c): return c\n"
    assert [(entry.name, entry.parameters) for entry in provenance.read_definitions(text, "x.py")] == [("f", ("c",))]


def test_a_source_that_is_no_python_is_one_line():
    with pytest.raises(CarverError, match=r"^x\.py:2: not Python that can be read here: "):
        provenance.read_definitions("a = 1\nb = = 2\n", "x.py")
    with pytest.raises(CarverError, match="not Python"):
        provenance.read_definitions("a = '\0'", "x.py")
    with pytest.raises(CarverError) as error:
        provenance.read_definitions("a = " + "-" * 100_000 + "1\n", "x.py")
    assert "\n" not in str(error.value)


def test_marks_notes_and_additions_are_read():
    port = read_port_text(PORT, "roller/hint.py")
    marks = [(entry.definition.name, entry.mark and (entry.mark.first, entry.mark.last)) for entry in port.definitions]
    assert marks == [
        ("first", (7, 10)),
        ("Thing", (13, 25)),
        ("Thing.second", (18, 19)),
        ("Thing.third", (21, 25)),
        ("helper", None),
    ]
    assert {entry.definition.name: entry.notes for entry in port.definitions if entry.notes} == {
        "Thing.second": ["gives text."]
    }
    assert [entry.definition.name for entry in port.definitions if entry.addition] == ["helper"]
    assert [(mark.name, mark.reason) for mark in port.left_out] == [("fourth", "does nothing")]


def test_a_note_goes_on_over_the_comment_lines_below_it():
    text = "# vendored: carver/a.py:1-2\n# NOTE: one thing,\n# and its reason.\n# NOTE: another.\ndef f(): pass\n"
    (entry,) = read_port_text(text, "roller/a.py").definitions
    assert entry.notes == ["one thing, and its reason.", "another."]
    assert entry.mark is not None


def test_a_mark_in_a_string_is_no_mark():
    port = read_port_text('TEXT = """\n# vendored: carver/roller/hint.py:1-2\n"""\n', "roller/hint.py")
    assert port.problems == []


# ---------------------------------------------------------------------------------------------------------------------
# The check, on made-up sources


def test_a_true_port_has_no_problems():
    assert problems(PORT) == []


def test_a_missing_mark():
    port = PORT.replace("    # vendored: carver/roller/hint.py:21-25\n", "")
    assert problems(port) == [
        "roller/hint.py:18: Thing.third: mark missing, `# vendored: carver/roller/hint.py:21-25`",
    ]


def test_a_mark_that_is_not_right_above_the_decorators():
    port = PORT.replace("hint.py:7-10\n@cached\n", "hint.py:7-10\n\n@cached\n")
    assert problems(port) == [
        "roller/hint.py:3: this mark stands above no class or function",
        "roller/hint.py:6: first: mark missing, `# vendored: carver/roller/hint.py:7-10`",
    ]
    port = PORT.replace(
        "# vendored: carver/roller/hint.py:7-10\n@cached\n", "@cached\n# vendored: carver/roller/hint.py:7-10\n"
    )
    assert "roller/hint.py:4: this mark stands above no class or function" in problems(port)


@pytest.mark.parametrize("lines", ["7-9", "7-11", "8-10", "6-10"])
def test_a_wrong_range(lines):
    found = problems(PORT.replace("7-10", lines))
    assert found == [f"roller/hint.py:3: first: the mark says lines {lines}, it is 7-10"]


def test_a_wrong_range_of_what_is_left_out():
    found = problems(PORT.replace("28-29", "28-30"))
    assert found == ["roller/hint.py:26: fourth: the mark says lines 28-30, it is 28-29"]


def test_a_mark_of_another_file():
    found = problems(PORT.replace("hint.py:7-10", "rint.py:7-10"))
    assert "roller/hint.py:3: first: no pinned facts of carver/roller/rint.py" in found
    facts = made_up_facts()
    facts.files["carver/utils.py"] = facts.files["carver/roller/hint.py"]
    found = porting.check_port(
        facts, [read_port_text(PORT.replace("roller/hint.py:7-10", "utils.py:7-10"), "roller/hint.py")]
    )
    assert "roller/hint.py:3: first: the port of carver/utils.py is roller/utils.py, not here" in found


def test_a_mark_of_another_definition():
    found = problems(PORT.replace("def first", "def frist"))
    assert (
        "roller/hint.py:3: frist: carver/roller/hint.py has no definition of this name; what starts at line 7 is first"
        in found
    )


def test_a_swapped_order():
    first = PORT[
        PORT.index("# vendored: carver/roller/hint.py:7-10") : PORT.index("# vendored: carver/roller/hint.py:13-25")
    ]
    swapped = PORT.replace(first, "").replace("# not ported", first + "# not ported")
    found = problems(swapped)
    assert found == [
        "roller/hint.py:21: first: stands after Thing.third, in carver/roller/hint.py it comes before",
    ]


def test_what_is_left_out_stands_in_order_too():
    line = "# not ported: carver/roller/hint.py:28-29 fourth: does nothing\n"
    found = problems(PORT.replace(line, "").replace('"""The port."""\n\n', f'"""The port."""\n\n{line}\n'))
    assert found[0] == "roller/hint.py:6: first: stands after fourth, in carver/roller/hint.py it comes before"


def test_changed_parameters():
    found = problems(PORT.replace("def first(a, b=1)", "def first(a, c=1)"))
    assert found == ["roller/hint.py:5: first: parameters (a, b) became (a, c), and no NOTE says why"]
    found = problems(PORT.replace("def first(a, b=1)", "def first(a, b=2)"))
    assert found == ["roller/hint.py:5: first: the default b=1 became b=2, and no NOTE says why"]
    found = problems(PORT.replace("def third(self)", "def third(self, *, more=0)"))
    assert found == ["roller/hint.py:19: Thing.third: parameters (self) became (self, *, more), and no NOTE says why"]


def test_changed_parameters_with_a_note():
    assert (
        problems(PORT.replace("@cached\ndef first(a, b=1)", "# NOTE: c is clearer.\n@cached\ndef first(a, c=1)")) == []
    )
    assert problems(PORT.replace("*rows, key=None", "*rows, key=None, extra=1")) == []  # it has one inside


def test_a_missing_definition():
    found = problems(PORT.replace("# not ported: carver/roller/hint.py:28-29 fourth: does nothing\n", ""))
    assert found == [
        "roller/hint.py:31: fourth: vendored at carver/roller/hint.py:28-29, neither ported nor listed as left out"
    ]


def test_a_vendored_file_without_any_port():
    facts = made_up_facts()
    facts.files["carver/extra.py"] = provenance.read_definitions("def f(): pass\n", "x")
    assert problems(PORT, facts) == [
        "roller/extra.py:0: f: vendored at carver/extra.py:1-1, neither ported nor listed as left out"
    ]


def test_something_of_our_own_needs_a_note_or_a_place_at_the_end():
    own = "def own():\n    return 1\n\n\n# not ported"
    found = problems(PORT.replace("# not ported", own, 1))
    assert found == [
        "roller/hint.py:26: own: nothing vendored has this name: needs a NOTE or a place under `Additions`"
    ]
    assert problems(PORT.replace("# not ported", "# NOTE: for the tests.\n" + own, 1)) == []


def test_additions_of_a_class_end_with_the_class():
    heading = "\n    # -- Additions to the class -----\n\n    def own(self):\n        return 1\n"
    port = PORT.replace("        return nested\n", "        return nested\n" + heading)
    assert problems(port) == []
    assert problems(port.replace("\n\n# not ported", "\n\ndef after():\n    return 1\n\n\n# not ported")) == [
        "roller/hint.py:31: after: nothing vendored has this name: needs a NOTE or a place under `Additions`"
    ]


@pytest.mark.parametrize(
    "mark",
    [
        "#vendored: carver/roller/hint.py:7-10",
        "# Vendored: carver/roller/hint.py:7-10",
        "# vendored: carver/roller/hint.py:7",
        "# vendored: carver/roller/hint.py 7-10",
        "# vendored carver/roller/hint.py:7-10",
    ],
)
def test_something_like_a_mark(mark):
    found = problems(PORT.replace("# vendored: carver/roller/hint.py:7-10", mark))
    assert f"roller/hint.py:3: not the form of a mark: {mark}" in found


def test_left_out_without_a_reason():
    found = problems(PORT.replace(" fourth: does nothing", " fourth"))
    assert any("not the form of a mark: # not ported" in line for line in found)


# ---------------------------------------------------------------------------------------------------------------------
# The real marks, on the pinned facts


@pytest.fixture(scope="module")
def port_files():
    return provenance.read_port()


def test_the_pinned_facts_are_those_of_the_wheel():
    facts = provenance.read_facts()
    assert facts.version == vendored.PINNED_VERSION == "0.1.15"
    # As in the metadata of the recordings.
    assert facts.wheel == "sha256:2ccd5a61cb4239b402541460efd32f534e55af074f5da7959546fea97b2fc62f"
    assert len([path for path in facts.files if path.startswith("carver/")]) == 34
    footprint = facts.find("carver/roller/node.py", "PrimFuncNode.footprint")
    assert (footprint.first, footprint.last) == (447, 495)
    assert footprint.parameters == ("self", "shape", "rstep", "stride_map")


def test_all_marks_of_the_port_hold(port_files):
    assert porting.check_port(provenance.read_facts(), port_files) == []


def test_the_table_of_the_document_is_the_present_one(port_files):
    rows = provenance.table(provenance.read_facts(), port_files)
    assert porting.check_document(porting.DOCUMENT.read_text(encoding="utf-8"), rows, port_files) == []


def test_nothing_vendored_is_missing_from_the_table(port_files):
    facts = provenance.read_facts()
    rows = provenance.table(facts, port_files)
    in_table = {(row.path, row.vendored.name) for row in rows if row.status != provenance.MISSING}
    wanted = {
        (path, entry.name)
        for path, entries in facts.files.items()
        if path.startswith("carver/")
        for entry in entries
        if entry.marked
    }
    assert wanted <= in_table
    assert len(wanted) == 367


def test_ports_of_the_vendored_files():
    assert provenance.port_path("carver/arch/driver/cuda_driver.py") == "arch/driver/cuda_driver.py"
    assert provenance.port_path("carver/roller/bestfit.py") == "bestfit/__init__.py"
    assert provenance.port_path("carver/roller/policy/default.py") == "policy/default.py"
    assert provenance.port_path("carver/roller/shape_inference/tir.py") == "roller/shape_inference/tir.py"
    assert provenance.port_path("carver/template/conv.py") == "roller/template/conv.py"
    assert provenance.port_path("carver/utils.py") == "roller/utils.py"
    assert provenance.port_path("carver/__init__.py") is None
    assert provenance.port_path("rocm/target.py") == "arch/target.py"


# ---------------------------------------------------------------------------------------------------------------------
# The facts' file, the document, the command


def test_facts_survive_their_file(tmp_path):
    facts = made_up_facts()
    file = tmp_path / "facts.json"
    file.write_text(provenance.facts_to_text(facts))
    assert provenance.read_facts(file).files == facts.files
    json.loads(file.read_text())


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "files": {"a": [{}]}}', "[" * 100_000]
)
def test_a_broken_file_of_facts_is_one_line(tmp_path, text):
    file = tmp_path / "facts.json"
    file.write_text(text)
    with pytest.raises(CarverError) as error:
        provenance.read_facts(file)
    assert "\n" not in str(error.value) and str(file) in str(error.value)


def test_facts_against_the_sources():
    facts = made_up_facts()
    assert porting.check_facts(facts, Tree("t", "", "0.1.15", None, {"carver/roller/hint.py": VENDORED})) == []
    changed = VENDORED.replace("return a + b", "return a").replace("def fourth", "\ndef fifth")
    tree = Tree("t", "", "0.1.15", None, {"carver/roller/hint.py": changed})
    assert porting.check_facts(facts, tree) == [
        "carver/roller/hint.py:7: first: is not what was pinned",
        "carver/roller/hint.py:28: fourth: is pinned, and not in the sources",
        "carver/roller/hint.py:29: fifth: is in the sources, and not pinned",
    ]


def test_the_table_in_the_document():
    files = [read_port_text(PORT, "roller/hint.py")]
    rows = provenance.table(made_up_facts(), files)
    assert [(row.vendored.name, row.status) for row in rows] == [
        ("first", "ported"),
        ("Thing", "ported"),
        ("Thing.second", "adapted"),
        ("Thing.third", "ported"),
        ("fourth", "not ported"),
    ]
    text = porting.markdown_table(rows)
    assert "5 vendored classes, functions and methods: 3 ported, 1 adapted to our tir, 1 not ported; 1 with a" in text
    assert "| 18-19 | `Thing.second` | [roller/hint.py:14](roller/hint.py#L14) | adapted: gives text. |" in text
    assert "| 28-29 | `fourth` |  | not ported: does nothing |" in text
    assert "| `carver/roller/hint.py` | [roller/hint.py](roller/hint.py) | The port. | 3 | 1 | 1 |" in (
        porting.markdown_modules(rows, files)
    )


def document_of(rows, files) -> str:
    text = "before\n"
    for part in porting.PARTS:
        begin, end = porting.marker(part)
        text += f"{begin}\n\n{porting.render(part, rows, files)}\n{end}\nafter\n"
    return text


def test_a_document_that_is_out_of_date():
    files = [read_port_text(PORT, "roller/hint.py")]
    rows = provenance.table(made_up_facts(), files)
    document = document_of(rows, files)
    assert porting.check_document(document, rows, files) == []
    stale = document.replace("hint.py:14", "hint.py:15")
    line = stale[: stale.index("hint.py:15")].count("\n") + 1
    assert porting.check_document(stale, rows, files) == [
        f"PORTING.md:{line}: table out of date; carver porting --write renews it"
    ]
    assert porting.check_document(document.replace("The port.", "A port."), rows, files) == [
        "PORTING.md:6: modules out of date; carver porting --write renews it"
    ]
    with pytest.raises(CarverError, match="needs one line"):
        porting.check_document("no table", rows, files)


def test_the_command_prints_the_table(capsys, port_files, monkeypatch):
    monkeypatch.setattr(provenance, "read_port", lambda: port_files)
    assert cli.main(["porting"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("backend/target.py\n    122-134  determine_target ")
    assert "\ncarver/roller/node.py\n" in out
    assert "92-127  try_inline " in out
    assert cli.main(["porting", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    (row,) = [row for row in rows if row["name"] == "PrimFuncNode.footprint"]
    assert row["vendored"] == "carver/roller/node.py" and row["lines"] == [447, 495]
    assert row["port"] == "roller/node.py" and row["status"] == "adapted"


def test_the_command_checks(capsys, port_files, monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "read_port", lambda: port_files)
    monkeypatch.setattr(vendored, "find_tree", lambda path=None: None)
    monkeypatch.setattr(porting, "DOCUMENT", tmp_path / "none")
    assert cli.main(["porting", "--check"]) == 0
    assert "marks of " in capsys.readouterr().out
    port = read_port_text(PORT.replace("7-10", "7-9"), "roller/hint.py")
    monkeypatch.setattr(provenance, "read_facts", made_up_facts)
    monkeypatch.setattr(provenance, "read_port", lambda: [port])
    assert cli.main(["porting", "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "roller/hint.py:3: first: the mark says lines 7-9, it is 7-10",
        "1 problem in the marks of 1 files",
    ]


def test_the_command_writes_and_pins(capsys, port_files, monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "read_port", lambda: port_files)
    document = tmp_path / "PORTING.md"
    (begin, end), (begin_table, end_table) = map(porting.marker, porting.PARTS)
    old = f"# Porting\n\n{begin}\nof yesterday\n{end}\n\nmore\n{begin_table}\nof yesterday\n{end_table}\n"
    document.write_text(old)
    monkeypatch.setattr(porting, "DOCUMENT", document)
    assert cli.main(["porting", "--write"]) == 0
    text = document.read_text()
    assert text.startswith(f"# Porting\n\n{begin}\n\n") and f"\n{end}\n\nmore\n{begin_table}\n\n" in text
    assert text.endswith(f"\n{end_table}\n")
    assert cli.main(["porting", "--check"]) == 0
    assert "of yesterday" not in text and "`PrimFuncNode.footprint`" in text

    package = make_package(tmp_path / "site", "0.1.15")
    monkeypatch.setattr(provenance, "FACTS_FILE", tmp_path / "facts.json")
    assert cli.main(["porting", "--pin", str(package)]) == 0
    facts = provenance.read_facts(tmp_path / "facts.json")
    assert facts.find("carver/roller/hint.py", "first").last == 10
    capsys.readouterr()
    assert cli.main(["porting", "--pin", str(make_package(tmp_path / "other", "0.1.14"))]) == 2
    assert "is not 0.1.15" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------------------------
# Finding the vendored sources


def make_package(where: Path, version: str | None = None, text: str = VENDORED) -> Path:
    """A tilelang/ folder as an installation has it."""
    roller = where / "tilelang" / "carver" / "roller"
    roller.mkdir(parents=True)
    (roller / "hint.py").write_text(text)
    (where / "tilelang" / "__init__.py").write_text("raise SystemExit('imported')\n")
    if version:
        info = where / f"tilelang-{version}.dist-info"
        info.mkdir()
        (info / "RECORD").write_text("tilelang/__init__.py,sha256=abc,3\ntilelang/x.pyc,,\n")
    return where / "tilelang"


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No TileLang by any of the four ways."""
    monkeypatch.delenv(vendored.VARIABLE, raising=False)
    monkeypatch.setattr(vendored, "_installed", lambda: None)
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    return tmp_path


def test_no_tree_names_the_four_ways(nowhere, capsys):
    assert vendored.find_tree() is None
    assert cli.main(["compare", "footprint"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for way in ("--vendor PATH", "CARVER_VENDOR", "_vendor/tilelang*", "install tilelang"):
        assert way in error


def test_the_four_ways(nowhere, monkeypatch):
    installed = make_package(nowhere / "site", "0.1.9")
    monkeypatch.setattr(vendored, "_installed", lambda: installed)
    tree = vendored.find_tree()
    assert (tree.how, tree.version) == ("installed", "0.1.9")
    assert list(tree.files) == ["carver/roller/hint.py"]

    for version in ("0.1.14", "0.1.15", "0.1.16"):
        make_package(nowhere / "_vendor" / f"tilelang-v{version}")
    (nowhere / "_vendor" / "tilelang-v9").mkdir()
    tree = vendored.find_tree()
    assert (tree.how, tree.version) == ("_vendor", "0.1.15")

    monkeypatch.setenv(vendored.VARIABLE, str(make_package(nowhere / "env", "0.1.2")))
    assert vendored.find_tree().version == "0.1.2"
    given = make_package(nowhere / "given", "0.1.3")
    for path in (given, given / "carver", given.parent):
        assert vendored.find_tree(str(path)).version == "0.1.3"


def test_an_installed_tilelang_is_not_imported(nowhere, monkeypatch):
    package = make_package(nowhere / "site", "0.1.15")
    monkeypatch.undo()
    monkeypatch.delenv(vendored.VARIABLE, raising=False)
    monkeypatch.chdir(nowhere / "a")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.delitem(__import__("sys").modules, "tilelang", raising=False)
    tree = vendored.find_tree()  # importing it would exit
    assert tree.where == str(package) and tree.how == "installed"
    assert "tilelang" not in __import__("sys").modules


def test_a_path_that_leads_nowhere(nowhere, monkeypatch):
    with pytest.raises(CarverError, match=r"^--vendor: /nowhere: no such folder or wheel$"):
        vendored.find_tree("/nowhere")
    with pytest.raises(CarverError, match="holds no tilelang/carver"):
        vendored.find_tree(str(nowhere))
    monkeypatch.setenv(vendored.VARIABLE, "/nowhere")
    with pytest.raises(CarverError, match="^CARVER_VENDOR: /nowhere"):
        vendored.find_tree()


def test_texts_are_read_with_their_own_encoding():
    assert vendored.decode(b"\xef\xbb\xbfa = 1\r\nb = 2\rc", "x") == "a = 1\nb = 2\nc"
    assert vendored.decode(b"# coding: latin-1\na = '\xe9'", "x").endswith("'é'")
    for data in (b"a = '\xe9'", b"# coding: nonsense\n", b"# coding: utf-7\n", b"# coding: zlib\n"):
        with pytest.raises(CarverError, match="^x: not readable as text"):
            vendored.decode(data, "x")
