"""Inside in lecture mode: one part over the whole page; parts are turned by key.

Inside, embeddings, in lecture mode: the tokens nearest to one, a list for each language."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

import streamlit as st

from model.config import CONTROL_TOKENS
from model.readings.tokens.neighbours import RARE
from viz import computations
from viz.classroom import lecture
from viz.inside import embeddings_part, inside_parts, length_part, lens_part, model_map, scale_part, stages, tokens, writers
from viz.kit import site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import PARTS
from viz.state.view import View

HALL = 1.7  # how many times as large a chart is drawn


def draw_embeddings(context: PageContext) -> None:
    """The token, how often it was seen, and its neighbours; the tokens of the sentence are turned by key."""
    view, loaded, trace = context.view, context.loaded, context.analysis.trace
    side = list(embeddings_part.sides_of(trace))[-1]
    labels, tokenizer = _labels(context, side), embeddings_part.tokenizer_of(loaded, side)
    fault, token = "", trace.step_axis.ids[view.step]
    try:
        token = _token(context, side)
    except ValueError as wrong:
        fault = str(wrong)
    name = tokenizer.piece(token)
    lecture.add_walk_keys(
        "the next token of the sentence", "the token before", lambda by: _turn_embeddings(labels, name, by)
    )
    lecture.add_key(
        lecture.CLEAR_SEARCH, f"back to {embeddings_part.here(trace)}", lambda: session.change(near=""), quiet=True
    )
    if fault:
        site_texts.fault(fault)
        return
    seen = embeddings_part.seen(loaded, token, side)
    site_texts.write(
        f'<h2 class="lab-large-title"><span class="lab-mono lab-chosen">{html.escape(name)}</span>'
        f"<small>{html.escape(seen)}</small></h2>"
    )
    near = computations.neighbours(view.checkpoint, view.device, token, side)
    listed = [each for one in near.values() for each in one]
    counts = embeddings_part.total_counts(loaded, side)
    rare = bool(counts) and token >= len(CONTROL_TOKENS) and counts[token] < RARE  # type: ignore[index]
    few = "This token was rare in training, so its neighbours mean little."
    site_texts.note(
        few if rare else embeddings_part.chance(listed) or "Each bar is the cosine between two rows of the table."
    )
    with lecture.chart_container(HALL):
        for column, language in zip(st.columns(max(1, len(near)), gap="small"), near, strict=True):
            with column:
                _list(context, token, side, language)


def _list(context: PageContext, token: int, side: embeddings_part.Side, language: str) -> None:
    view, loaded = context.view, context.loaded
    name = embeddings_part.language_name(loaded, language)
    site_texts.site_title(embeddings_part.HUES[language], html.escape(name))
    near = computations.neighbours(view.checkpoint, view.device, token, side)[language]
    if not near:
        site_texts.note(f"No other token was seen {RARE} times here.")
        return
    figure = embeddings_part.drawn(view.checkpoint, view.device, token, side, language, context.mode)
    tokenizer = embeddings_part.tokenizer_of(loaded, side)
    told = ", ".join(f"{tokenizer.piece(each.id)} {each.cosine:.2f}" for each in near)
    lecture.draw_chart(f"Nearest embeddings, {name}", f"near-{side}-{language}", figure, f"{name}: {told}")


def _token(context: PageContext, side: embeddings_part.Side) -> int:
    """The token of the word that is looked up, else the one predicted at the step; ValueError for what is no word."""
    from model.readings.tokens.neighbours import pieces_of

    view, loaded, trace = context.view, context.loaded, context.analysis.trace
    if not view.near:
        return trace.step_axis.ids[view.step]
    counts, sentence = embeddings_part.total_counts(loaded, side), embeddings_part.sentence_tokens(loaded, trace)[side]
    return pieces_of(embeddings_part.tokenizer_of(loaded, side), view.near, sentence, counts)[0]


def _labels(context: PageContext, side: embeddings_part.Side) -> list[str]:
    """The tokens that stand in the sentence and are in a side's table, each once."""
    loaded = context.loaded
    ids = embeddings_part.sentence_tokens(loaded, context.analysis.trace)[side]
    tokenizer = embeddings_part.tokenizer_of(loaded, side)
    return list(dict.fromkeys(tokenizer.piece(token) for token in ids if token >= len(CONTROL_TOKENS)))


def _turn_embeddings(labels: Sequence[str], now: str, by: int) -> None:
    if labels:
        at = labels.index(now) + by if now in labels else 0
        session.change(near=labels[at % len(labels)])


_LARGE: dict[str, Callable[[PageContext], None]] = {
    "stages": stages.large,
    "writers": writers.large,
    "map": model_map.large,
    "scale": scale_part.large,
    "lens": lens_part.large,
    "tokens": tokens.large,
    "embeddings": draw_embeddings,
    "length": length_part.large,
}
_OF_A_SITE = ("stages", "writers", "map", "scale")  # parts that look at one kind of attention


def draw(context: PageContext) -> None:
    """What is shown stands in the bar, and the part below it."""
    view, kinds = context.view, context.loaded.config.kinds
    lecture.draw(context)
    lecture.add_key(lecture.PICTURE, "the next part of this page", _turn, quiet=True)
    with context.places.bar:  # type: ignore[attr-defined]
        st.button(
            inside_parts.PARTS[view.part][0], key="hall_part", help=f"The next part ({lecture.PICTURE.key})", on_click=_turn
        )
        if view.part in _OF_A_SITE:
            _site(view, kinds)
    with context.places.body:
        _LARGE[view.part](context)


def _site(view: View, kinds: tuple[str, ...]) -> None:
    """Which attention; its layer and head, which have keys on every page."""
    if len(kinds) > 1:
        lecture.add_key(lecture.KIND, "the next kind of attention", lambda: _next_kind(kinds), quiet=True)
        help = f"The next kind of attention ({lecture.KIND.key})"
        name = view.kind.capitalize()
        st.button(name, key="hall_kind", help=help, on_click=_next_kind, args=(kinds,))
    head = "" if view.part == "map" else f" · {_head(view)}"
    site_texts.write(f'<p class="lab-hall-fact">layer {view.layer + 1}{head}</p>', inline=True)


def _head(view: View) -> str:
    """The head; a mean over heads is shown by one part alone."""
    return "mean over heads" if view.head is None and view.part == "scale" else f"head {(view.head or 0) + 1}"


def _turn() -> None:
    session.change(part=PARTS[(PARTS.index(session.current_view().part) + 1) % len(PARTS)], large=1)


def _next_kind(kinds: tuple[str, ...]) -> None:
    session.change(kind=kinds[(kinds.index(session.current_view().kind) + 1) % len(kinds)])
