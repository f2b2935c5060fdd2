"""Inside in lecture mode: one part over the whole page; parts are turned by key."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz import state
from viz.inside import (
    embeddings_large,
    length_part,
    lens_part,
    map_part,
    parts,
    scale_part,
    stages_part,
    tokens_part,
    writers_part,
)
from viz.page_fields import PARTS
from viz.shared import texts
from viz.shared.lecture import lecture, letters, notes
from viz.shared.shown import Shown
from viz.view import View

_LARGE: dict[str, Callable[[Shown], None]] = {
    "stages": stages_part.large,
    "writers": writers_part.large,
    "map": map_part.large,
    "scale": scale_part.large,
    "lens": lens_part.large,
    "tokens": tokens_part.large,
    "embeddings": embeddings_large.draw_embeddings,
    "length": length_part.large,
}
_OF_A_SITE = ("stages", "writers", "map", "scale")  # parts that look at one kind of attention


def draw(shown: Shown) -> None:
    """What is shown stands in the bar, and the part below it."""
    view, kinds = shown.view, shown.page_data.loaded.config.kinds
    notes.draw(shown)
    lecture.key(letters.PICTURE, "the next part of this page", _turn, quiet=True)
    with shown.places.bar:  # type: ignore[attr-defined]
        st.button(parts.PARTS[view.part][0], key="hall_part", help=f"The next part ({letters.PICTURE.key})", on_click=_turn)
        if view.part in _OF_A_SITE:
            _site(view, kinds)
    with shown.places.body:
        _LARGE[view.part](shown)


def _site(view: View, kinds: tuple[str, ...]) -> None:
    """Which attention; its layer and head, which have keys on every page."""
    if len(kinds) > 1:
        lecture.key(letters.KIND, "the next kind of attention", lambda: _next_kind(kinds), quiet=True)
        help = f"The next kind of attention ({letters.KIND.key})"
        name = view.kind.capitalize()
        st.button(name, key="hall_kind", help=help, on_click=_next_kind, args=(kinds,))
    head = "" if view.part == "map" else f" · {_head(view)}"
    texts.write(f'<p class="lab-hall-fact">layer {view.layer}{head}</p>', inline=True)


def _head(view: View) -> str:
    """The head; a mean over heads is shown by one part alone."""
    return "mean over heads" if view.head is None and view.part == "scale" else f"head {view.head or 1}"


def _turn() -> None:
    state.change(part=PARTS[(PARTS.index(state.current().part) + 1) % len(PARTS)], large=1)


def _next_kind(kinds: tuple[str, ...]) -> None:
    state.change(kind=kinds[(kinds.index(state.current().kind) + 1) % len(kinds)])
