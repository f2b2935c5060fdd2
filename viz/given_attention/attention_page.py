"""One HTML page of a `GivenAttention`: all heads, one head large, and the comparison of two models.

The page chooses heads in the browser, so one file serves the notebook, the HTML file and the command `open`.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from model.export.given_attention import GivenAttention
from model.export.token_labels import PAD, is_control, lab_names, labels, word_numbers
from model.io.files import short_repr
from model.readings.heads.head_maps import is_punctuation, rollout
from viz import theme
from viz.given_attention import head_summaries
from viz.given_attention.head_summaries import HeadSummary
from viz.heads import all_heads
from viz.kit import mount, patterns
from viz.offline.file_shell import html_file, json_bytes
from viz.offline.number_planes import planes
from viz.theme import Mode

Layout = Literal["heads", "head"]
Head = tuple[str, int, int]  # kind, layer and head, from 0
MAX_CELLS = 4_000_000  # weights of all heads in a file, about 10 MB; with more, thumbnails show blocks
MAX_TEXT = 300  # characters of a sequence in the header
TITLE = "Given attention"
QUESTION = "What does every head look at?"
SCRIPT = Path(__file__).with_name("attention_page.js")


@dataclass(frozen=True)
class PageOptions:
    """What a page shows first, and what it holds.

    Fields:
        layout: heads, all heads above one head; or head, one head large above all heads.
        head: the chosen head; None is the first head of the last kind.
        full: heads with full maps if the file is too small for all; None is the chosen head, True is all heads.
        is_served: True if a server returns the full map of any head.
    """

    layout: Layout = "heads"
    head: Head | None = None
    full: Sequence[Head] | bool | None = None
    is_served: bool = False


def page(givens: Sequence[GivenAttention], options: PageOptions = PageOptions()) -> bytes:
    """Returns the page of one model, or of two models on the same tokens.

    Raises ValueError for a head that is not there, and for two models with different tokens, layers or heads.
    """
    check_comparable(givens)
    chosen = _checked_head(givens[0], options.head or (givens[0].kinds[-1], 0, 0))
    full = [options.full] if options.full is True else [_checked_head(givens[0], each) for each in options.full or [chosen]]
    data: dict[str, bytes] = {}
    files, summaries = [], []
    for number, given in enumerate(givens):
        other = givens[1 - number] if len(givens) == 2 else None
        kinds, own = _kinds(number, given, other, full, data)
        files.append({"name": given.name or f"Model {'AB'[number]}", "kinds": kinds})
        summaries.append(own)
    first = givens[0]
    every = head_summaries.metrics(first, len(givens) == 2)
    kind, layer, head = chosen
    parts = {"all_heads": all_heads.COMPONENT, **({"file_maps": patterns.COMPONENT} if len(givens) == 2 else {})}
    content = {
        "files": files,
        "metrics": every,
        "orderings": head_summaries.order_names(every),
        "answers": [head_summaries.answer(own, given) for own, given in zip(summaries, givens, strict=True)],
        "parts": {name: dict(component.part(name).data) for name, component in parts.items()},
        "styles": {mode: theme.PALETTES[mode].css_variables() for mode in get_args(Mode)},
        "scales": {mode: patterns.scales(mode) for mode in get_args(Mode)},
        "state": {"kind": kind, "layer": layer + 1, "head": head + 1},
        "layout": options.layout,
        "served": options.is_served,
    }
    data["content"] = json_bytes(content)
    assets = {name: component.assets for name, component in parts.items()}
    head_markup = _head(givens, [each.pool for each in summaries[0]])
    title = f"{TITLE}: {' and '.join(filter(None, (given.name for given in givens)))}".removesuffix(": ")
    return html_file("given", title, head_markup, assets, data, SCRIPT, "'self'" if options.is_served else "")


def check_comparable(givens: Sequence[GivenAttention]) -> None:
    """Raises ValueError unless there are one or two models with equal tokens and shapes."""
    if not 1 <= len(givens) <= 2:
        raise ValueError(f"There are {len(givens)} models; expected 1 or 2.")
    if len(givens) == 1:
        return
    one, two = givens
    for name, mine, others in (("target", one.tokens, two.tokens), ("source", one.source_tokens, two.source_tokens)):
        if labels(mine) != labels(others):
            place = next((n for n, (a, b) in enumerate(zip(labels(mine), labels(others))) if a != b), None)
            differs = f"{len(mine)} and {len(others)}" if place is None else f"token {place + 1} differs: "
            if place is not None:
                differs += f"{short_repr(mine[place])} and {short_repr(others[place])}"
            raise ValueError(f"The {name} tokens of both files must be equal; found {differs}.")
    shapes = [{kind: given.shape(kind) for kind in given.kinds} for given in givens]
    if shapes[0] != shapes[1]:
        raise ValueError(f"The layers and heads of both files must be equal; found {shapes[0]} and {shapes[1]}.")


def is_small(given: GivenAttention) -> bool:
    """Returns True if a file holds all heads of all kinds in full."""
    return sum(int(np.prod(given.shape(kind))) for kind in given.kinds) <= MAX_CELLS


def _checked_head(given: GivenAttention, head: Head) -> Head:
    if len(head) != 3:
        raise ValueError(f"The head is {short_repr(head)}; expected (kind, layer, head), such as ('encoder', 0, 0).")
    kind, layer, number = head
    given.head(kind, layer, number)
    return kind, layer, number


def _kinds(
    number: int, given: GivenAttention, other: GivenAttention | None, full: list[Any], data: dict[str, bytes]
) -> tuple[dict[str, Any], list[HeadSummary]]:
    """Returns the content of each kind of attention, and adds the full maps to `data`."""
    is_whole = full == [True] or is_small(given)
    kinds, summaries = {}, []
    for kind in given.kinds:
        count, heads, *shape = given.shape(kind)
        summary = head_summaries.summarize(given, kind, not is_small(given), other)
        numbers = range(count * heads) if is_whole else sorted({n * heads + h for own, n, h in full if own == kind})
        flat = np.flatnonzero(summary.allowed)
        stored = [given.head(kind, *divmod(n, heads)).ravel()[flat] for n in numbers]
        data[f"maps-{number}-{kind}"] = planes(np.array(stored, np.float32))
        has_rollout = is_whole and (kind != "cross" or "encoder" in given.kinds)
        if has_rollout:
            data[f"rollout-{number}-{kind}"] = planes(rollouts(given, kind))
        sides = {"queries": given.queries(kind), "keys": given.keys(kind)}
        kinds[kind] = {
            "id": f"{number}-{kind}",
            "grid": summary.grid,
            "pool": summary.pool,
            "shape": shape,
            "allowed": mount.cells(summary.allowed),
            "stored": list(numbers),
            "rollout": has_rollout,
            "hidden": [int(is_control(raw) or is_punctuation(label)) for raw, label in _with_labels(sides["keys"])],
            "words": {name: list(word_numbers(side)) for name, side in sides.items()},
            **{name: list(labels(side)) for name, side in sides.items()},
        }
        summaries.append(summary)
    return kinds, summaries


def _with_labels(tokens: Sequence[str]) -> zip[tuple[str, str]]:
    return zip(tokens, labels(tokens), strict=True)


def rollouts(given: GivenAttention, kind: str) -> np.ndarray:
    """Returns the attention rollout after each layer of a kind, [L,T,S]; of cross-attention, through the encoder."""
    means = np.stack([given.layer(kind, n).mean(0) for n in range(given.shape(kind)[0])])  # [L,T,S]
    if kind != "cross":
        return rollout(means[:, None])
    return means @ rollouts(given, "encoder")[-1]


# -- header ------------------------------------------------------------------------------------------------------------


def _head(givens: Sequence[GivenAttention], pools: list[int]) -> str:
    """Returns the header as markup: names, sizes, tokens and notes."""
    given = givens[0]
    facts = [f"<b>{html.escape(each.name)}</b>" for each in givens if each.name]
    for kind in given.kinds:
        count, heads, rows, columns = given.shape(kind)
        size = f"{rows} tokens" if rows == columns else f"{rows} queries, {columns} keys"
        facts.append(html.escape(f"{all_heads.TITLES[kind]}: {count} × {heads} heads, {size}"))
    notes = list(dict.fromkeys(note for each in givens for note in each.notes))
    if max(pools) > 1:
        notes.append(f"A thumbnail cell is the largest weight of a block of {max(pools)} × {max(pools)} cells.")
    texts = {name: tokens for name, tokens in (("Source", given.source_tokens), ("Target", given.tokens)) if tokens}
    names = dict.fromkeys(texts, "") if len(texts) == 1 else texts
    sentences = "".join(
        f"<div><dt>{html.escape(name if names[name] else 'Tokens')}</dt><dd>{html.escape(_text(tokens))}</dd></div>"
        for name, tokens in texts.items()
    )
    return f"""<header>
<div class="top">
<h1>{html.escape(TITLE)}</h1><p>{html.escape(QUESTION)}</p>
<button type="button" id="print" hidden>Print</button><button type="button" id="theme" hidden></button>
</div>
<p class="facts">{" · ".join(facts)}</p>
</header>
<p id="status" role="alert"></p>
<div class="stage">
<dl class="sentences">{sentences}</dl>
<div class="notes">{"".join(f"<p>{html.escape(note)}</p>" for note in notes)}</div>
<div class="picks" id="tools"></div>"""


def _text(tokens: Sequence[str]) -> str:
    """Returns tokens as words with spaces between them, cut to a few lines."""
    words: dict[int, str] = {}
    for number, label, name in zip(word_numbers(tokens), labels(tokens), lab_names(tokens), strict=True):
        if name != PAD:
            words[number] = words.get(number, "") + label
    text = " ".join(words.values())
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
