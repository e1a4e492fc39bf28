"""The page of `carver compare --html`: one file that stands alone, with its style and its script inside.

Readable without the script too: what is folded is a `details` element, the outline is links. The script adds the filter
of the outline, the choice between dark and light, folding all at once, and the keys j and k.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import lru_cache

from . import side_by_side
from .provenance import ADAPTED, MISSING, NOT_PORTED, PORTED
from .side_by_side import ADDITION, MODULE_LEVEL, Line, Page, Pair, Row, Stretch
from .vendored import PINNED_VERSION, Tree

STATUS_TEXT = {
    PORTED: "ported",
    ADAPTED: "adapted to our tir",
    NOT_PORTED: "not ported",
    MISSING: "missing",
    ADDITION: "only in the port",
    MODULE_LEVEL: "module level",
}


def page(pages: list[Page], tree: Tree, what: str = "") -> str:
    """The whole page as text."""
    title = f"{what or 'carver'}: TileLang {tree.version or ''} and the port"
    spans = _Syntax(pages, tree)
    body = "".join(_file_section(entry, spans) for entry in pages)
    counts = _counts(pages)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the code</a>
<header>
<button id="menu" class="only-narrow" aria-expanded="false" aria-controls="outline">Outline</button>
<h1>{html.escape(what or "carver")}</h1>
<p class="sides"><b>left</b> TileLang {html.escape(tree.version or "of unknown version")}
<b>right</b> the port of {PINNED_VERSION}</p>
<p class="legend"><span class="swatch c"></span>differs <span class="swatch l"></span>vendored only
<span class="swatch a"></span>port only <span class="swatch b"></span>little in common</p>
<p class="tools"><button id="unfold" data-open="no">Unfold all</button>
<button id="theme" title="Automatic, light or dark">Theme: auto</button></p>
</header>
<nav id="outline" aria-label="Outline">
<p><input id="filter" type="search" placeholder="Filter by name ( / )" aria-label="Filter the outline">
<select id="only" aria-label="Which definitions">
<option value="">all</option>
<option value="noted">with a noted difference</option>
<option value="adapted">adapted to our tir</option>
<option value="left-out">not ported</option>
<option value="addition">only in the port</option>
</select></p>
<p class="count">{counts}</p>
{"".join(_outline(entry) for entry in pages)}
</nav>
<main id="main" tabindex="-1">
{body}
</main>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _counts(pages: list[Page]) -> str:
    pairs = [pair for entry in pages for pair in entry.pairs if pair.status != MODULE_LEVEL]
    vendored = [pair for pair in pairs if pair.status != ADDITION]
    noted = sum(1 for pair in vendored if pair.notes)
    return f"{len(vendored)} vendored definitions, {noted} with a noted difference; j and k go from one to the next"


def _anchor(pair: Pair) -> str:
    """What a link names a pair by. Two vendored files may stand beside one file of the port."""
    path = pair.path or pair.port_file
    return f"{path}:{pair.name}".replace(" ", "-").replace("(", "").replace(")", "")


def _class_of(pair: Pair) -> str:
    names = {
        PORTED: "ported",
        ADAPTED: "adapted",
        NOT_PORTED: "left-out",
        MISSING: "left-out",
        ADDITION: "addition",
        MODULE_LEVEL: "level",
    }
    return names[pair.status] + (" noted" if pair.notes and pair.status != ADDITION else "")


def _outline(entry: Page) -> str:
    links = []
    for pair in entry.pairs:
        inside = pair.status != ADDITION  # additions do not stand below their class
        name = pair.name.rpartition(".")[2] if inside else pair.name
        depth = min(pair.depth, 3) if inside else 0
        title = STATUS_TEXT[pair.status] + (", with a noted difference" if pair.notes else "")
        links.append(
            f'<li class="{_class_of(pair)} d{depth}" data-name="{html.escape(pair.name.lower())}">'
            f'<a href="#{html.escape(_anchor(pair))}" title="{title}">{html.escape(name)}</a></li>'
        )
    return f"<details open><summary>{html.escape(entry.port_file)}</summary><ul>{''.join(links)}</ul></details>\n"


def _file_section(entry: Page, spans: _Syntax) -> str:
    paths = ", ".join(entry.paths)
    pairs = "".join(_pair_section(pair, spans) for pair in entry.pairs)
    heading = f"<h2><span>{html.escape(paths)}</span> <span>{html.escape(entry.port_file)}</span></h2>"
    return f'<section class="file">{heading}\n{pairs}</section>\n'


def _pair_section(pair: Pair, spans: _Syntax) -> str:
    left = html.escape(pair.left_place()) if pair.path else "nothing vendored"
    right = html.escape(pair.right_place()) if pair.port or pair.status == MODULE_LEVEL else ""
    status = STATUS_TEXT[pair.status] + (f": {html.escape(pair.reason)}" if pair.reason else "")
    parts = [
        f'<article id="{html.escape(_anchor(pair))}" class="{_class_of(pair)}">',
        f'<h3><a href="#{html.escape(_anchor(pair))}">{html.escape(pair.name)}</a>'
        f' <span class="status">{status}</span></h3>',
        f'<div class="places"><span>{left}</span><span>{right}</span></div>',
    ]
    if pair.uses:
        links = ", ".join(
            f'<a href="#{html.escape(f"{pair.port_file}:{name}")}">{html.escape(name)}</a>' for name in pair.uses
        )
        parts.append(f'<p class="uses">uses {links}</p>')
    parts += [f'<p class="note"><b>NOTE</b> {html.escape(note)}</p>' for note in pair.notes]
    if not pair.left and not pair.right:
        return "".join(parts) + "</article>\n"
    code = "".join(_stretch(stretch, pair, spans) for stretch in pair.stretches)
    alone = "" if pair.left and pair.right else " alone"
    if pair.status in (NOT_PORTED, ADDITION, MODULE_LEVEL):
        count = max(len(pair.left), len(pair.right))
        what = f"{count} lines"
        code = f'<details class="whole"><summary>{what}</summary>{code}</details>'
    parts.append(f'<div class="code{alone}">{code}</div></article>\n')
    return "".join(parts)


def _stretch(stretch: Stretch, pair: Pair, spans: _Syntax) -> str:
    rows = "".join(_row(row, pair, spans) for row in stretch.rows)
    if not stretch.folded:
        return rows
    return f'<details class="fold"><summary>{html.escape(stretch.folded)}</summary>{rows}</details>'


# Short class names: a page of all files has some 10,000 rows.
_ROW_CLASS = {
    side_by_side.EQUAL: "r",
    side_by_side.CHANGED: "r c",
    side_by_side.LEFT: "r l",
    side_by_side.RIGHT: "r a",
    side_by_side.BESIDE: "r b",
}


def _row(row: Row, pair: Pair, spans: _Syntax) -> str:
    left = _side(row.left, row.left_marks, spans.vendored(pair.path))
    right = _side(row.right, row.right_marks, spans.port(pair.port_file))
    return f'<div class="{_ROW_CLASS[row.kind]}">{left}{right}</div>'


def _side(line: Line | None, marks: tuple[tuple[int, int], ...], spans: dict[int, list[tuple[int, int, str]]]) -> str:
    if line is None:
        return "<i></i><pre></pre>"
    # A line that may have to wrap goes on further in than it begins.
    indent = len(line.text) - len(line.text.lstrip()) + 4
    hanging = f' style="--i:{indent}"' if len(line.text) > 40 else ""
    return f'<i data-n="{line.number}"></i><pre{hanging}>{_colored(line, marks, spans.get(line.number, ()))}</pre>'


def _colored(line: Line, marks: Iterable[tuple[int, int]], spans: Iterable[tuple[int, int, str]]) -> str:
    """A line with its syntax coloured and with what differs marked."""
    text = line.text
    classes = [""] * len(text)
    for start, end, name in spans:
        for at in range(max(start - line.margin, 0), min(end - line.margin, len(text))):
            classes[at] = name
    marked = [False] * len(text)
    for start, end in marks:
        marked[start:end] = [True] * (end - start)
    parts = []
    at = 0
    while at < len(text):
        end = at + 1
        while end < len(text) and classes[end] == classes[at] and marked[end] == marked[at]:
            end += 1
        piece = html.escape(text[at:end], quote=False).replace("-&gt;", "<u>-&gt;</u>")  # not to be broken in two
        if classes[at]:
            piece = f"<b class={classes[at]}>{piece}</b>"
        parts.append(f"<mark>{piece}</mark>" if marked[at] else piece)
        at = end
    return "".join(parts)


class _Syntax:
    """The colours of every source, found once for each."""

    def __init__(self, pages: list[Page], tree: Tree) -> None:
        self._tree = tree
        self._port_texts = {entry.port_file: entry.port_text for entry in pages}
        self.vendored = lru_cache(maxsize=None)(self._vendored)
        self.port = lru_cache(maxsize=None)(self._port)

    def _vendored(self, path: str | None) -> dict[int, list[tuple[int, int, str]]]:
        return side_by_side.syntax(self._tree.files[path]) if path else {}

    def _port(self, path: str) -> dict[int, list[tuple[int, int, str]]]:
        return side_by_side.syntax(self._port_texts[path])


STYLE = """
:root {
  --bg: #ffffff; --fg: #1f2328; --dim: #656d76; --line: #d1d9e0; --panel: #f6f8fa; --link: #0550ae;
  --changed: #fff8e5; --mark-l: #ffd0cc; --mark-r: #b4ecc0; --left: #fff0ee; --right: #ebfaee; --beside: #f3f4f6;
  --note: #fff3c4; --note-fg: #5c4400; --kw: #a40e26; --str: #0a3069; --num: #0550ae; --com: #5b646e; --def: #6639ba;
  --adapted: #0969da; --noted: #9a6700; --out: #cf222e; --add: #1a7f37;
}
:root[data-theme="dark"] { color-scheme: dark; }
:root[data-theme="light"] { color-scheme: light; }
@media (prefers-color-scheme: dark) {
  :root:not([data-theme="light"]) { DARK }
}
:root[data-theme="dark"] { DARK }
* { box-sizing: border-box; }
html { scroll-padding-top: 5.5rem; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.45 system-ui, sans-serif;
  display: grid; grid-template: auto 1fr / 19rem minmax(0, 1fr); }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
a:focus-visible, button:focus-visible, summary:focus-visible, input:focus-visible, select:focus-visible {
  outline: 2px solid var(--link); outline-offset: 1px; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .5rem; z-index: 9; background: var(--bg); }
header { grid-column: 1 / -1; position: sticky; top: 0; z-index: 3; background: var(--panel);
  border-bottom: 1px solid var(--line); padding: .4rem 1rem; display: flex; flex-wrap: wrap; gap: .2rem 1.5rem;
  align-items: center; }
header h1 { font-size: 1.05rem; margin: 0; } header p { margin: 0; font-size: .85rem; color: var(--dim); }
header b { color: var(--fg); } header .tools { margin-left: auto; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: center; }
.swatch { width: 1rem; height: 1rem; border: 1px solid var(--line); margin-right: -.4rem; }
.swatch.c { background: var(--changed); } .swatch.l { background: var(--left); }
.swatch.a { background: var(--right); } .swatch.b { background: var(--beside); }
button, select, input { font: inherit; font-size: .85rem; color: var(--fg); background: var(--bg);
  border: 1px solid var(--line); border-radius: 6px; padding: .15rem .6rem; }
button { cursor: pointer; } .only-narrow { display: none; }
nav { position: sticky; top: 3rem; align-self: start; height: calc(100vh - 3rem); overflow-y: auto;
  border-right: 1px solid var(--line); padding: .7rem .8rem 3rem; font-size: .85rem; }
nav p { margin: 0 0 .5rem; display: flex; gap: .4rem; flex-wrap: wrap; } nav input { flex: 1 1 8rem; min-width: 0; }
nav select { max-width: 100%; } nav .count { color: var(--dim); }
nav summary { font-weight: 600; cursor: pointer; padding: .15rem 0; overflow-wrap: anywhere; }
nav ul { list-style: none; margin: 0 0 .3rem; padding: 0; }
nav li { padding-left: .9rem; } nav li.d1 { padding-left: 1.9rem; } nav li.d2, nav li.d3 { padding-left: 2.9rem; }
nav li a { color: var(--fg); display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  border-radius: 4px; padding: 0 .3rem; }
nav li a::before { content: "\\25CF"; font-size: .6rem; margin-right: .4rem; vertical-align: middle;
  color: var(--dim); }
nav li.adapted a::before { color: var(--adapted); } nav li.noted a::before { color: var(--noted); content: "\\25C6"; }
nav li.left-out a::before { color: var(--out); content: "\\25CB"; }
nav li.addition a::before { color: var(--add); content: "+"; }
nav li a.here { background: var(--beside); font-weight: 600; } nav [hidden] { display: none; }
main { padding: .5rem 1rem 40vh; min-width: 0; } main:focus { outline: none; }
h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; padding-bottom: .2rem; border-bottom: 2px solid var(--line);
  display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; } h2 span { overflow-wrap: anywhere; }
article { margin: 1rem 0; border: 1px solid var(--line); border-radius: 6px; }
article:target { border-color: var(--link); box-shadow: 0 0 0 1px var(--link); }
h3 { font: 600 .95rem ui-monospace, monospace; margin: 0; padding: .35rem .7rem; background: var(--panel);
  border-radius: 6px 6px 0 0; display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: baseline; }
h3 a { color: var(--fg); } .status { font: .8rem system-ui, sans-serif; color: var(--dim); }
.adapted .status { color: var(--adapted); } .left-out .status { color: var(--out); }
.addition .status { color: var(--add); }
.places { display: grid; grid-template-columns: 1fr 1fr; font: .78rem ui-monospace, monospace; color: var(--dim);
  background: var(--panel); padding: 0 .7rem .3rem; border-bottom: 1px solid var(--line); }
.uses { margin: 0; padding: .25rem .7rem; font-size: .82rem; color: var(--dim); }
.note { margin: 0; padding: .3rem .7rem; font-size: .88rem; background: var(--note); color: var(--note-fg);
  border-bottom: 1px solid var(--line); }
.code { font: 13px/1.42 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow: hidden;
  border-radius: 0 0 6px 6px; }
.r { display: grid; grid-template-columns: 3.2rem minmax(0, 1fr) 3.2rem minmax(0, 1fr); }
.r > i { font-style: normal; color: var(--dim); text-align: right; padding-right: .7rem; user-select: none;
  font-size: .85em; line-height: 1.67; }
.r > i::before { content: attr(data-n); } .r > i:nth-of-type(2) { border-left: 1px solid var(--line); }
pre { margin: 0; font: inherit; white-space: pre-wrap; overflow-wrap: anywhere;
  padding: 0 .5rem 0 calc(var(--i, 0) * 1ch); text-indent: calc(var(--i, 0) * -1ch); min-height: 1.42em; tab-size: 4; }
u { text-decoration: none; white-space: nowrap; }
.c > * { background: var(--changed); } .b > * { background: var(--beside); }
.l > :nth-child(-n+2) { background: var(--left); } .a > :nth-child(n+3) { background: var(--right); }
mark { color: inherit; border-radius: 2px; } .r > pre:nth-of-type(1) mark { background: var(--mark-l); }
.r > pre:nth-of-type(2) mark { background: var(--mark-r); }
.code.alone .r { grid-template-columns: 3.2rem minmax(0, 1fr); }
.left-out .code.alone .r > :nth-child(n+3), .addition .code.alone .r > :nth-child(-n+2) { display: none; }
.addition .code.alone .r > i:nth-of-type(2) { border: 0; }
details.fold > summary, details.whole > summary { cursor: pointer; color: var(--dim); background: var(--panel);
  padding: .1rem .7rem; font: .8rem system-ui, sans-serif; border-block: 1px dashed var(--line); }
b { font-weight: inherit; } p b, header b { font-weight: 600; }
b.k { color: var(--kw); } b.s { color: var(--str); } b.n { color: var(--num); } b.c { color: var(--com); }
b.d { color: var(--def); font-weight: 600; } b.e { color: var(--dim); }
@media (max-width: 62rem) {
  body { grid-template-columns: minmax(0, 1fr); } .only-narrow { display: inline-block; }
  nav { display: none; position: fixed; inset: 3rem 0 0; z-index: 2; background: var(--bg); width: min(22rem, 100%);
    height: auto; } nav.open { display: block; }
  .legend { display: none; } .code { font-size: 11.5px; } main { padding-inline: .3rem; }
  .r { grid-template-columns: 2.4rem minmax(0, 1fr) 2.4rem minmax(0, 1fr); } .r > i { padding-right: .3rem; }
}
@media print { header, nav { display: none; } body { display: block; } article { break-inside: avoid-page; } }
""".replace(
    "DARK",
    """--bg: #0d1117; --fg: #e6edf3; --dim: #8d96a0; --line: #30363d; --panel: #161b22; --link: #79b8ff;
  --changed: #201d13; --mark-l: #6b2b2b; --mark-r: #1d5030; --left: #2a1719; --right: #12261a; --beside: #171c24;
  --note: #3a2f10; --note-fg: #f2d58a; --kw: #ff8f87; --str: #a5d6ff; --num: #79c0ff; --com: #97a1ab; --def: #d2a8ff;
  --adapted: #58a6ff; --noted: #e3b341; --out: #ff7b72; --add: #56d364;""",
)

SCRIPT = """
(() => {
  const root = document.documentElement, $ = id => document.getElementById(id);
  const store = (key, value) => { try { return value === undefined ? localStorage.getItem(key)
    : localStorage.setItem(key, value); } catch (error) { return null; } };
  const themes = ["auto", "light", "dark"];
  const setTheme = theme => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    $("theme").textContent = "Theme: " + theme;
  };
  let theme = themes.includes(store("carver-theme")) ? store("carver-theme") : "auto";
  setTheme(theme);
  $("theme").onclick = () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    store("carver-theme", theme); setTheme(theme);
  };
  $("unfold").onclick = () => {
    const open = $("unfold").dataset.open === "no";
    document.querySelectorAll("main details").forEach(entry => { entry.open = open; });
    $("unfold").dataset.open = open ? "yes" : "no";
    $("unfold").textContent = open ? "Fold all" : "Unfold all";
  };
  const menu = open => { $("outline").classList.toggle("open", open);
    $("menu").setAttribute("aria-expanded", $("outline").classList.contains("open")); };
  $("menu").onclick = () => menu();
  const items = [...document.querySelectorAll("nav li")];
  const filter = () => {
    const text = $("filter").value.trim().toLowerCase(), only = $("only").value;
    for (const item of items)
      item.hidden = !item.dataset.name.includes(text) || (only !== "" && !item.classList.contains(only));
    for (const group of document.querySelectorAll("nav details"))
      group.hidden = ![...group.querySelectorAll("li")].some(item => !item.hidden);
  };
  $("filter").oninput = filter; $("only").onchange = filter; filter();
  const articles = [...document.querySelectorAll("article")];
  const openFor = id => {
    const article = id && document.getElementById(id), whole = article && article.querySelector("details.whole");
    if (whole) whole.open = true;
  };
  const target = () => { try { return decodeURIComponent(location.hash.slice(1)); } catch (error) { return ""; } };
  addEventListener("hashchange", () => openFor(target()));
  openFor(target());
  document.querySelector("nav").addEventListener("click", event => { if (event.target.closest("a")) menu(false); });
  const links = new Map(items.map(item => [decodeURIComponent(item.firstChild.hash.slice(1)), item.firstChild]));
  let here = null;
  const current = () => {
    const top = 110;
    let low = 0, high = articles.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (articles[middle].getBoundingClientRect().top <= top) low = middle; else high = middle - 1;
    }
    return low;
  };
  const follow = () => {
    const article = articles[current()], link = article && links.get(article.id);
    if (link === here) return;
    if (here) here.classList.remove("here");
    if (link) {
      link.classList.add("here");
      if (matchMedia("(min-width: 62rem)").matches) {
        const nav = $("outline"), box = link.getBoundingClientRect(), frame = nav.getBoundingClientRect();
        if (box.top < frame.top + 40 || box.bottom > frame.bottom - 20)
          nav.scrollTop += box.top - frame.top - frame.height / 3;
      }
    }
    here = link || null;
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; follow(); });
  }, { passive: true });
  follow();
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "/") { event.preventDefault(); menu(true); $("filter").focus(); }
    if (event.key === "j" || event.key === "k") {
      const next = articles[current() + (event.key === "j" ? 1 : -1)];
      if (next) next.scrollIntoView();
    }
  });
})();
"""
