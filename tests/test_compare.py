"""The vendored source and the port side by side: what faces what, in a terminal and on a page."""

from __future__ import annotations

import html.parser
import re

import pytest
from carver.arch.errors import CarverError
from carver.tools import cli, compare, provenance, side_by_side, vendored
from carver.tools import html as html_page
from carver.tools.side_by_side import BESIDE, CHANGED, EQUAL, RIGHT, Line
from carver.tools.vendored import Tree

VENDORED = '''"""Vendored."""
import tvm

LIMIT = 3


class Block:
    """A block.

    Parameters
    ----------
    start : int
        Its start.
    """

    start: int

    # what it spans
    def size(self, unit=1):
        """Its size."""
        size_ = self.end - self.start
        print("one")
        print("two")
        print("three")
        print("four")
        print("five")
        print("six")
        print("seven")
        print("eight")
        print("nine")
        return size_ // unit

    def odd(self, flag):
        if flag:
            return tvm.DataType("int8")
        return None


def left_out(a):
    return a + 1
'''

PORT = '''"""Port."""

LIMIT = 4


# vendored: carver/roller/bestfit.py:7-36
class Block:
    """A span <of> memory."""

    start: int

    # vendored: carver/roller/bestfit.py:19-31
    # NOTE: units are counted from zero,
    # as they should be.
    def size(self, unit=1):
        extent = self.end - self.start
        print("one")
        print("two")
        print("three")
        print("four")
        print("five")
        print("six")
        print("seven")
        print("eight")
        print("nine")
        return extent // unit

    # vendored: carver/roller/bestfit.py:33-36
    def odd(self, flag):
        return _helper(flag)


# not ported: carver/roller/bestfit.py:39-40 left_out: nobody calls it

# ---- Additions: nothing vendored below ------


def _helper(flag):
    if flag:
        return DataType("int8")
    return None
'''

PATH = "carver/roller/bestfit.py"


def made_up_tree(version: str = "0.1.15") -> Tree:
    return Tree("made up", "test", version, None, {PATH: VENDORED})


@pytest.fixture
def pages():
    tree = made_up_tree()
    port = provenance.read_port_text(PORT, "bestfit/__init__.py")
    return side_by_side.pages(provenance.facts_of(tree), tree, [port])


@pytest.fixture
def pairs(pages):
    return {pair.name: pair for pair in pages[0].pairs}


def shown(pages, **options) -> list[str]:
    return list(compare.Terminal(options.pop("width", 100), **options).show(pages, made_up_tree()))


# ---------------------------------------------------------------------------------------------------------------------
# Pairs


def test_pairs_in_the_vendored_order_and_additions_last(pages):
    (page,) = pages
    assert [(pair.name, pair.status) for pair in page.pairs] == [
        ("(module level)", "module level"),
        ("Block", "ported"),
        ("Block.size", "ported"),
        ("Block.odd", "adapted"),
        ("left_out", "not ported"),
        ("_helper", "addition"),
    ]


def test_places_notes_and_reasons(pairs):
    size = pairs["Block.size"]
    assert size.left_place() == "carver/roller/bestfit.py:19-31"
    assert size.right_place() == "bestfit/__init__.py:15-26"
    assert size.notes == ["units are counted from zero, as they should be."]
    assert pairs["left_out"].reason == "nobody calls it"
    assert pairs["Block.odd"].uses == ["_helper"]


def test_a_class_is_shown_without_its_methods(pairs):
    assert [line.number for line in pairs["Block"].left] == [7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    assert [line.number for line in pairs["Block"].right] == [7, 8, 9, 10]


def test_lines_keep_their_numbers_and_lose_their_margin(pairs):
    size = pairs["Block.size"]
    # The comment above belongs to the vendored definition; the mark and the note above the port's do not.
    assert (size.left[0].number, size.left[0].text, size.left[0].margin) == (18, "# what it spans", 4)
    assert (size.right[0].number, size.right[0].text) == (15, "def size(self, unit=1):")
    assert (size.left[-1].number, size.left[-1].text) == (31, "    return size_ // unit")


def test_module_level_leaves_out_imports(pairs):
    level = pairs["(module level)"]
    assert [line.text for line in level.left if not line.blank] == ['"""Vendored."""', "LIMIT = 3"]
    assert [line.text for line in level.right if not line.blank] == ['"""Port."""', "LIMIT = 4"]


# ---------------------------------------------------------------------------------------------------------------------
# Rows


def lines(text: str) -> list[Line]:
    return [Line(number, line) for number, line in enumerate(text.split("\n"), 1)]


def rows(left: str, right: str) -> list[tuple[str, int | None, int | None]]:
    found = side_by_side.align(lines(left), lines(right))
    return [(row.kind, row.left and row.left.number, row.right and row.right.number) for row in found]


def test_lines_face_each_other_by_what_they_have_in_common():
    left = "shape = node.propagate(tile)\nfor i, edge in enumerate(node.inputs):\n    result.append(shape[i])"
    right = (
        "trace = 1\nshape = node.propagate_inputs(tile, rstep)\nfor edge in node.inputs:\n    results.append(shape[i])"
    )
    assert rows(left, right) == [(RIGHT, None, 1), (CHANGED, 1, 2), (CHANGED, 2, 3), (CHANGED, 3, 4)]


def test_lines_without_anything_in_common_stand_beside_each_other():
    assert rows("alpha = beta\nreturn 1", "gamma(delta)\nepsilon()\nreturn 1") == [
        (BESIDE, 1, 1),
        (RIGHT, None, 2),
        (EQUAL, 2, 3),
    ]


def test_pairs_never_cross():
    found = rows("first(a)\nsecond(b)", "second(b)\nfirst(a)")
    assert len(found) == 3 and [row[0] for row in found].count(EQUAL) == 1


def test_assignments_to_the_same_name_face_each_other():
    left = "steps = [step[step.index(t) :] for step, t in zip(_steps, init_tile)]"
    assert rows(left, "trace = self.trace\nsteps = self._tile_steps(init_tile)") == [(RIGHT, None, 1), (CHANGED, 1, 2)]


def test_every_line_is_there_once(pairs):
    for pair in pairs.values():
        shown_rows = [row for stretch in pair.stretches for row in stretch.rows]
        left = [row.left.number for row in shown_rows if row.left]
        right = [row.right.number for row in shown_rows if row.right]
        assert left == [line.number for line in pair.left if not line.blank or line.number in left]
        assert right == [line.number for line in pair.right if not line.blank or line.number in right]


def marked(left: str, right: str) -> tuple[list[str], list[str]]:
    spans = side_by_side.differing_spans(left, right)
    return [left[a:b] for a, b in spans[0]], [right[a:b] for a, b in spans[1]]


def test_what_differs_within_a_line():
    assert marked("visited[tuple(tile)] = td", "visited[key] = td") == (["tuple(tile)"], ["key"])
    assert marked("a = b", "a = b") == ([], [])
    assert marked("x = f(a)", "x = f(a, b + 1)") == ([], [", b + 1"])  # one mark, its blanks inside it
    assert marked("return  a", "return a") == ([], [])  # white space alone is no difference


def test_long_equal_stretches_are_folded(pairs):
    stretches = pairs["Block.size"].stretches
    # The nine lines that print are equal; two at each end stay.
    assert [(stretch.folded, len(stretch.rows)) for stretch in stretches] == [("", 6), ("5 equal lines", 5), ("", 3)]


def test_the_longer_docstring_is_folded(pairs):
    folded = [stretch.folded for stretch in pairs["Block"].stretches if stretch.folded]
    assert folded == ["6 more lines of the vendored docstring"]


# ---------------------------------------------------------------------------------------------------------------------
# In a terminal


def test_the_terminal_shows_both_sides(pages):
    text = shown(pages, width=100)
    assert all(len(line) <= 100 for line in text)
    assert "\033" not in "".join(text)
    heading = next(index for index, line in enumerate(text) if line.startswith("── Block.size ─"))
    assert text[heading + 1].split() == ["carver/roller/bestfit.py:19-31", "bestfit/__init__.py:15-26", "ported"]
    assert text[heading + 2] == "NOTE: units are counted from zero, as they should be."
    assert text[heading + 3].split() == ["18", "#", "what", "it", "spans", "<"]
    assert text[heading + 4].split() == "19 def size(self, unit=1): 15 def size(self, unit=1):".split()
    assert any(
        re.fullmatch(r"  21     size_ = self.end - self.start +~   16     extent = self.end - self.start", line)
        for line in text
    )
    assert "     ⋯ 5 equal lines" in text
    assert "     ⋯ 2 vendored lines" in text  # what is not ported, in a whole file
    assert text[-1] == "  _helper (38)"


def test_the_head_says_what_stands_where(pages):
    assert shown(pages, width=120)[1:2] == ["   ".join(compare.LEGEND)]
    first, *others = compare.LEGEND
    narrow = shown(pages, width=60)
    assert narrow[1:3] == ["   ".join([first, *others[:2]]), "   ".join(others[2:])]
    sides = ["left: " + "x" * 60, "right: the port"]
    assert list(compare._items(sides, 70)) == sides


def test_unfolded(pages):
    text = shown(pages, unfold=True)
    assert not any("⋯" in line for line in text)
    assert any('print("five")' in line for line in text)


def test_colors_mark_what_differs_and_change_nothing_else(pages):
    plain, colored = shown(pages), shown(pages, colors=True)
    assert [re.sub(r"\033\[\d+m", "", line).rstrip() for line in colored] == plain
    line = next(line for line in colored if "extent = " in re.sub(r"\033\[\d+m", "", line))
    assert f"{compare.RED}size_{compare.RESET}" in line and f"{compare.GREEN}extent{compare.RESET}" in line


def test_carets_stand_below_what_differs(pages):
    text = shown(pages, carets=True)
    at = next(index for index, line in enumerate(text) if "extent = self.end" in line)
    left, right = text[at].index("size_"), text[at].index("extent")
    assert text[at + 1] == " " * left + "^^^^^" + " " * (right - left - 5) + "^^^^^^"


def test_a_terminal_that_cannot_draw(pages):
    text = shown(pages, lines=False)
    assert "".join(text).isascii()


@pytest.mark.parametrize("width", [60, 79, 120, 200])
def test_no_line_is_wider_than_the_terminal(pages, width):
    assert all(len(line) <= width for line in shown(pages, width=width, carets=True))


def test_long_lines_are_cut_and_nothing_of_them_is_lost():
    text = "        value = first_function(argument, another_argument) + second.attribute.of_something(long_name)"
    pieces = compare.cut(text, [(16, 30), (60, 90)], 40)
    assert all(len(piece.text) <= 40 for piece in pieces)
    assert "".join(piece.text.strip() for piece in pieces).replace(" ", "") == text.replace(" ", "")
    marked_text = "".join(piece.text[a:b] for piece in pieces for a, b in piece.marks)
    assert marked_text.replace(" ", "") == (text[16:30] + text[60:90]).replace(" ", "")
    assert [piece.text for piece in compare.cut("a" * 50, [], 20)] == [
        "a" * 20,
        "      " + "a" * 14,
        "      " + "a" * 14,
        "      aa",
    ]
    assert [piece.text for piece in compare.cut("", [], 20)] == [""]


def test_control_characters_of_a_foreign_source_do_not_reach_the_terminal():
    tree = Tree("x", "", "0.1.15", None, {PATH: "def f():\n    return '\x1b[2J'\n"})
    port = provenance.read_port_text(
        "# vendored: carver/roller/bestfit.py:1-2\ndef f():\n    return 1\n", "bestfit/__init__.py"
    )
    pages = side_by_side.pages(provenance.facts_of(tree), tree, [port])
    assert not any("\x1b" in line for line in shown(pages))


# ---------------------------------------------------------------------------------------------------------------------
# As a page


class Reader(html.parser.HTMLParser):
    """Checks that tags are closed in order, and collects ids, links and the text of rows."""

    VOID = {"meta", "input", "br", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.text, self.outside = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if "href" in attrs else []
        self.outside += [attrs[name] for name in ("src", "srcset") if name in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def read_page(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_is_whole_and_stands_alone(pages):
    text = html_page.page(pages, made_up_tree())
    reader = read_page(text)
    assert len(set(reader.ids)) == len(reader.ids)
    # Nothing is loaded; every link leads to a place on the page.
    assert reader.outside == [] and "url(" not in text and "@import" not in text and "http" not in text
    assert {link[1:] for link in reader.links} <= set(reader.ids)
    assert "prefers-color-scheme: dark" in text and 'data-theme="light"' in text


def test_the_page_has_everything(pages):
    reader = read_page(html_page.page(pages, made_up_tree()))
    text = "".join(reader.text)
    for part in ("units are counted from zero", "not ported: nobody calls it", "5 equal lines", "A span <of> memory."):
        assert part in text
    for pair in pages[0].pairs:
        for line in [*pair.left, *pair.right]:
            assert line.text in text


def test_the_page_marks_what_differs(pages):
    text = html_page.page(pages, made_up_tree())
    assert "<mark>size_</mark> = <b class=e>self</b>.end" in text
    assert '<i data-n="21"></i>' in text


def test_hostile_text_is_escaped():
    name = '"><script>alert(1)</script>'
    source = f"def f():\n    return '''{name}'''\n"
    tree = Tree("x", "", "</title><script>", None, {PATH: source})
    port = provenance.read_port_text(
        f"# vendored: carver/roller/bestfit.py:1-2\n# NOTE: {name}\n{source}", "bestfit/__init__.py"
    )
    text = html_page.page(side_by_side.pages(provenance.facts_of(tree), tree, [port]), tree, name)
    assert text.count("<script>") == 1
    read_page(text)


# ---------------------------------------------------------------------------------------------------------------------
# Choosing, and the command


def test_choosing(pages):
    def names(what):
        return [pair.name for page in compare.select(pages, what) for pair in page.pairs]

    everything = [pair.name for pair in pages[0].pairs]
    for file in (
        "bestfit/__init__.py",
        PATH,
        f"tilelang/{PATH}",
        f"/x/tilelang/{PATH}",
        "bestfit.py",
        "./bestfit/__init__.py",
    ):
        assert names(file) == everything
    assert names("size") == names("Block.size") == names("bestfit.py::size") == ["Block.size"]
    assert names("Block") == ["Block", "Block.size", "Block.odd", "_helper"]
    assert names("odd") == ["Block.odd", "_helper"]  # with what it uses
    assert names("left_out") == ["left_out"]


@pytest.mark.parametrize(
    "what, message",
    [
        ("sise", "unknown function 'sise'; did you mean size"),
        ("nothing_like_it", "unknown function 'nothing_like_it'; carver porting lists all"),
        ("bestfit/init.py", "did you mean bestfit/__init__.py"),
        ("roller/tir/expr.py", "part of the stand-in for TVM"),
        ("arch/catalogue.py", "has no vendored counterpart"),
        ("bestfit.py::nothing", "unknown"),
    ],
)
def test_choosing_what_is_not_there(pages, what, message):
    with pytest.raises(CarverError) as error:
        compare.select(pages, what)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.fixture
def made_up(monkeypatch):
    monkeypatch.setattr(vendored, "find_tree", lambda path=None: made_up_tree("0.1.14" if path else "0.1.15"))
    monkeypatch.setattr(provenance, "read_port", lambda: [provenance.read_port_text(PORT, "bestfit/__init__.py")])


def test_the_command(made_up, capsys, tmp_path):
    assert cli.main(["compare", "odd", "--width", "90"]) == 0
    captured = capsys.readouterr()
    assert "── Block.odd ──" in captured.out and captured.err == ""
    assert "\033" not in captured.out  # plain when piped
    page = tmp_path / "page.html"
    assert cli.main(["compare", "--all", "--html", str(page)]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {page}: 6 pairs of 1 file, ")
    read_page(page.read_text(encoding="utf-8"))
    assert cli.main(["compare", "size", "--html", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")
    assert cli.main(["compare", "odd", "--vendor", "x"]) == 0
    assert "TileLang 0.1.14 (made up) is not the pinned 0.1.15" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [[], ["size", "--all"], ["size", "--width", "20"], ["nope"], ["size", "--html", "/nowhere/at/all.html"]],
)
def test_the_command_refuses(made_up, capsys, arguments):
    assert cli.main(["compare", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# ---------------------------------------------------------------------------------------------------------------------
# The real files, where the vendored sources are at hand


def test_the_real_port_beside_the_real_source():
    tree = vendored.find_tree()
    if tree is None or tree.version != vendored.PINNED_VERSION:
        pytest.skip("no TileLang 0.1.15 at hand")
    files = provenance.read_port()
    pages = side_by_side.pages(provenance.facts_of(tree), tree, files)
    assert len(pages) == 29
    paired = sum(1 for page in pages for pair in page.pairs if pair.vendored)
    assert paired == 379
    text = list(compare.Terminal(120).show(pages, tree))
    assert all(len(line) <= 120 for line in text)
    read_page(html_page.page(pages, tree))
