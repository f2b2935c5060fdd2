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
from model.readings.heads.head_maps import is_punctuation
from viz import theme
from viz.given_attention import head_summaries
from viz.given_attention.combined_maps import has_rollout, rollouts
from viz.given_attention.head_summaries import HeadSummary
from viz.heads import all_heads
from viz.kit import mount, patterns
from viz.offline.file_shell import html_file, json_bytes
from viz.offline.number_planes import planes
from viz.theme import Mode

Layout = Literal["heads", "head"]
Head = tuple[str, int, int]  # kind, layer and head, from 0
MAX_CELLS = 4_000_000  # weights of all heads in a file, about 10 MB; with more, thumbnails show blocks
MAX_FULL_CELLS = 32_000_000  # weights of full maps in a file
MAX_TEXT = 300  # characters of a sequence in the header
TITLE = "Attention heads"
QUESTION = "What does every head look at?"
SCRIPT = Path(__file__).with_name("attention_page.js")


@dataclass(frozen=True)
class PageOptions:
    """The content of a page, and its first view.

    Fields:
        layout: heads, all heads above one head; or head, one head large above all heads.
        head: the chosen head; None is the first head of the last kind.
        full: heads with full maps if the file is too small for all; None is the chosen head, True is all heads.
        is_served: True if a server returns the full map of any head, and means, maxima and rollouts.
    """

    layout: Layout = "heads"
    head: Head | None = None
    full: Sequence[Head] | bool | None = None
    is_served: bool = False


def page(attentions: Sequence[GivenAttention], options: PageOptions = PageOptions()) -> bytes:
    """Returns the page of one model, or of two models on the same tokens.

    Raises ValueError for a head that is not there, and for two models with different tokens, layers or heads.
    """
    check_comparable(attentions)
    chosen = _checked_head(attentions[0], options.head or (attentions[0].kinds[-1], 0, 0))
    if not isinstance(options.full, bool | list | tuple | None):
        raise ValueError(f"full is {short_repr(options.full)}; expected a list of heads, or True for all heads.")
    full = _full_heads(attentions[0], options.full is True or [chosen, *(options.full or ())])
    data: dict[str, bytes] = {}
    files, summaries = [], []
    for number, attention in enumerate(attentions):
        other = attentions[1 - number] if len(attentions) == 2 else None
        kinds, own = _kinds(number, attention, other, full, data)
        files.append({"name": attention.name or f"Model {'AB'[number]}", "kinds": kinds})
        summaries.append(own)
    first = attentions[0]
    every = head_summaries.metrics(first, len(attentions) == 2)
    kind, layer, head = chosen
    parts = {"all_heads": all_heads.COMPONENT, **({"file_maps": patterns.COMPONENT} if len(attentions) == 2 else {})}
    content = {
        "files": files,
        "metrics": every,
        "orderings": head_summaries.order_names(every),
        "answers": [head_summaries.answer(own, attention) for own, attention in zip(summaries, attentions, strict=True)],
        "parts": {name: dict(component.part(name).data) for name, component in parts.items()},
        "styles": {mode: theme.PALETTES[mode].css_variables() for mode in get_args(Mode)},
        "scales": {mode: patterns.scales(mode) for mode in get_args(Mode)},
        "state": {"kind": kind, "layer": layer + 1, "head": head + 1},
        "layout": options.layout,
        "served": options.is_served,
    }
    data["content"] = json_bytes(content)
    assets = {name: component.assets for name, component in parts.items()}
    head_markup = _head(attentions, [each.pool for each in summaries[0]])
    title = f"{TITLE}: {' and '.join(filter(None, (attention.name for attention in attentions)))}".removesuffix(": ")
    return html_file("given", title, head_markup, assets, data, SCRIPT, "'self'" if options.is_served else "")


def check_comparable(attentions: Sequence[GivenAttention]) -> None:
    """Raises ValueError unless there are one or two models with equal tokens and shapes."""
    if not 1 <= len(attentions) <= 2:
        raise ValueError(f"There are {len(attentions)} models; expected 1 or 2.")
    if len(attentions) == 1:
        return
    one, two = attentions
    for name, mine, others in (("target", one.tokens, two.tokens), ("source", one.source_tokens, two.source_tokens)):
        pairs = list(zip(labels(mine), labels(others), strict=False))
        if len(mine) != len(others):
            raise ValueError(f"The {name} tokens of both models must be equal; found {len(mine)} and {len(others)} tokens.")
        for place, (a, b) in enumerate(pairs):
            if a != b:
                values = f"{short_repr(a)} and {short_repr(b)} at position {place}"
                raise ValueError(f"The {name} tokens of both models must be equal; found {values}.")
    shapes = [{kind: attention.shape(kind) for kind in attention.kinds} for attention in attentions]
    if shapes[0] != shapes[1]:
        raise ValueError(f"The layers and heads of both models must be equal; found {shapes[0]} and {shapes[1]}.")


def is_small(attention: GivenAttention) -> bool:
    """Returns True if a file holds all heads of all kinds in full."""
    return sum(int(np.prod(attention.shape(kind))) for kind in attention.kinds) <= MAX_CELLS


def _checked_head(attention: GivenAttention, head: Head) -> Head:
    is_named = isinstance(head, list | tuple) and len(head) == 3 and isinstance(head[0], str)
    if not (is_named and all(isinstance(number, int) for number in head[1:])):
        raise ValueError(f"The head is {short_repr(head)}; expected (kind, layer, head), such as ('encoder', 0, 0).")
    kind, layer, number = head
    attention.head(kind, layer, number)
    return kind, layer, number


def _full_heads(attention: GivenAttention, full: Sequence[Head] | bool) -> list[Head]:
    """Returns the heads whose full maps a file holds. Raises ValueError if their weights exceed `MAX_FULL_CELLS`."""
    listed = [] if isinstance(full, bool) else [_checked_head(attention, each) for each in full]
    if full is True or is_small(attention):
        sizes = {kind: attention.shape(kind) for kind in attention.kinds}
        heads = [(kind, n, h) for kind, (layers, count, *_) in sizes.items() for n in range(layers) for h in range(count)]
    else:
        heads = listed
    cells = sum(int(np.prod(attention.shape(kind)[2:])) for kind, _, _ in heads)
    if cells > MAX_FULL_CELLS:
        raise ValueError(f"full has {len(heads):,} heads with {cells:,} weights; expected at most {MAX_FULL_CELLS:,}.")
    return heads


def _kinds(
    number: int, attention: GivenAttention, other: GivenAttention | None, full: Sequence[Head], data: dict[str, bytes]
) -> tuple[dict[str, Any], list[HeadSummary]]:
    """Returns the content of each kind of attention, and adds the full maps to `data`."""
    is_small_file = is_small(attention)
    kinds, summaries = {}, []
    for kind in attention.kinds:
        heads, *shape = attention.shape(kind)[1:]
        summary = head_summaries.summarize(attention, kind, not is_small_file, other)
        numbers = sorted({n * heads + h for own, n, h in full if own == kind})
        flat = np.flatnonzero(summary.allowed)
        stored = [attention.head(kind, *divmod(n, heads)).ravel()[flat] for n in numbers]
        data[f"maps-{number}-{kind}"] = planes(np.array(stored, np.float32))
        holds_rollout = _holds_rollout(attention, kind)
        if holds_rollout:
            data[f"rollout-{number}-{kind}"] = planes(rollouts(attention, kind))
        sides = {"queries": attention.queries(kind), "keys": attention.keys(kind)}
        kinds[kind] = {
            "id": f"{number}-{kind}",
            "grid": summary.grid,
            "pool": summary.pool,
            "shape": shape,
            "allowed": mount.cells(summary.allowed),
            "stored": numbers,
            "rollout": holds_rollout,
            "hasRollout": has_rollout(attention, kind),
            "hidden": [int(is_control(raw) or is_punctuation(label)) for raw, label in _with_labels(sides["keys"])],
            "words": {name: list(word_numbers(side)) for name, side in sides.items()},
            **{name: list(labels(side)) for name, side in sides.items()},
        }
        summaries.append(summary)
    return kinds, summaries


def _with_labels(tokens: Sequence[str]) -> zip[tuple[str, str]]:
    return zip(tokens, labels(tokens), strict=True)


def _holds_rollout(attention: GivenAttention, kind: str) -> bool:
    """Returns True if a file holds the rollouts of a kind, one map for each layer."""
    layers, _, rows, columns = attention.shape(kind)
    return layers * rows * columns <= MAX_CELLS and has_rollout(attention, kind)


# -- header ------------------------------------------------------------------------------------------------------------


def _head(attentions: Sequence[GivenAttention], pools: list[int]) -> str:
    """Returns the header as markup: names, sizes, tokens and notes."""
    attention = attentions[0]
    facts = [f"<b>{html.escape(each.name)}</b>" for each in attentions if each.name]
    for kind in attention.kinds:
        count, heads, rows, columns = attention.shape(kind)
        size = f"{rows} tokens" if rows == columns else f"{rows} queries, {columns} keys"
        facts.append(html.escape(f"{all_heads.TITLES[kind]}: {count} × {heads} heads, {size}"))
    notes = list(dict.fromkeys(note for each in attentions for note in each.notes))
    if max(pools) > 1:
        notes.append(f"A thumbnail cell is the largest weight of a block of {max(pools)} × {max(pools)} cells.")
    texts = {name: tokens for name, tokens in (("Source", attention.source_tokens), ("Target", attention.tokens)) if tokens}
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
<div class="line"><p class="facts">{" · ".join(facts)}</p><div class="picks" id="tools"></div></div>
</header>
<p id="status" role="alert"></p>
<div class="stage">
<dl class="sentences{" one" * (len(texts) == 1)}">{sentences}</dl>
<div class="notes">{"".join(f"<p>{html.escape(note)}</p>" for note in notes)}</div>"""


def _text(tokens: Sequence[str]) -> str:
    """Returns tokens as words with spaces between them, cut to a few lines."""
    words: dict[int, str] = {}
    for number, label, name in zip(word_numbers(tokens), labels(tokens), lab_names(tokens), strict=True):
        if name != PAD:
            words[number] = words.get(number, "") + label
    text = " ".join(words.values())
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
