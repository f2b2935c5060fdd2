"""A handout: one HTML file to be printed, a page of A4 for each stop of a talk: its line, what is seen there, and its link.

The pictures are the lab's own components, which the browser draws in the light theme. As in `viz.offline.document`, the file
lets nothing in but what it holds."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from viz import theme
from viz.offline import fonts
from viz.offline.document import HERE, head_of, held, markup, script_of
from viz.offline.packing import Packing, written
from viz.offline.parts import Drawn, Part

MOST = 7 * 1024 * 1024  # characters of all pictures' data, deflated: what comes after them has its link alone
TOO_MUCH = "The pictures before it fill this handout: open its link to see it."


@dataclass(frozen=True)
class Leaf:
    """One stop as it is printed. `parts` are its picture, or `told` is a sentence that stands in its place; `facts` is what
    is seen, in a few words each; `name` and `title` are of its page; `code` is a picture of the address, SVG of ours."""

    name: str
    title: str
    line: str
    address: str
    facts: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    told: str = ""
    rounded: frozenset[str] = frozenset()
    code: str = ""


def handout(title: str, leaves: Sequence[Leaf]) -> bytes:
    """The file, in UTF-8: the same leaves give the same bytes."""
    texts, pages, letters = [], [], set(title)
    drawn: dict[str, Drawn] = {}
    for number, leaf in enumerate(leaves, 1):
        data = _data(number, leaf) if leaf.parts else {}
        text = held(data)
        fits = sum(map(len, [*texts, text])) <= MOST
        if fits:
            texts.append(text)
            drawn |= {part.drawn.name: part.drawn for part in leaf.parts}
            letters.update(*(raw.decode() for name, raw in data.items() if name.startswith("view")))
        pages.append(_page(title, number, len(leaves), leaf, leaf.told if fits else TOO_MUCH))
    return _html(title, "".join(pages), tuple(drawn.values()), "".join(texts), "".join(sorted(letters))).encode()


def _data(number: int, leaf: Leaf) -> dict[str, bytes]:
    """What a stop's components draw, by the ids of its data. Traces are told apart by the stop: what follows a step there
    follows it nowhere else."""
    packing = Packing(leaf.rounded)
    parts = {part.drawn.name: _plain(part, number) for part in leaf.parts}
    packed = packing.packed(parts)
    counts, numbers = packing.numbers()
    return {
        f"view-{number}": written({"parts": packed, "counts": counts, "texts": packing.texts()}),
        f"numbers-{number}": numbers,
    }


def _plain(part: Part, number: int) -> dict[str, Any]:
    data = dict(part.data)
    if "trace" in data:
        data["trace"] = f"{data['trace']} {number}".replace(" ", "-")
    return json.loads(json.dumps(data))


def _page(title: str, number: int, count: int, leaf: Leaf, told: str) -> str:
    places = "".join(f'<div class="part-{part.drawn.name}"></div>' for part in leaf.parts) if not told else ""
    picture = f'<div class="frame"><div class="picture page-{leaf.name}" data-stop="{number}" inert>{places}</div></div>'
    facts = "".join(f"<span>{html.escape(fact)}</span>" for fact in leaf.facts)
    address = html.escape(leaf.address)
    there = html.escape(f"{leaf.title}, in the lab")
    return f"""<section>
<p class="place"><span>{html.escape(title)}</span><span>{html.escape(leaf.title)}</span><span>{number} of {count}</span></p>
{f'<div class="code">{leaf.code}</div>' if leaf.code else ""}<h2>{html.escape(leaf.line) or html.escape(leaf.title)}</h2>
<p class="facts">{facts}</p>
{f'<p class="told">{html.escape(told)}</p>' if told else picture}
<p class="link"><a href="{address}">{there}</a> <code>{address}</code></p>
</section>
"""


def _html(title: str, pages: str, parts: tuple[Drawn, ...], data: str, letters: str) -> str:
    script = script_of(parts, "handout.js", "startHandout")
    colours = theme.PALETTES["light"].css_variables()
    variables = ";".join(f"{name}:{value}" for name, value in colours.items())
    style = f":root{{{variables}}}{fonts.rules(pages + letters)}{(HERE / 'handout.css').read_text(encoding='utf-8')}"
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light">
{head_of(title, script, style, "width=1068")}
<body>
<header><h1>{html.escape(title)}</h1><button type="button" id="print" hidden>Print</button>
<p id="said" role="status"></p></header>
<noscript><p>The pictures are drawn by a script that this file holds; scripts are switched off here.</p></noscript>
{pages}{markup(parts)}{data}{held({"style": written(colours)})}<script>{script}</script>
</body>
</html>
"""
