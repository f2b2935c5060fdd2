"""The panel *Save* of every page. The browser draws pictures, the server makes the other files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import streamlit as st

from viz import pages, theme
from viz.kit import lazy, mount
from viz.save.saved_files import CHANGED, Offer, caption, fault_answer, make_file, offer_labels
from viz.state import navigation, session
from viz.state.result_cache import Payload
from viz.state.session_data import data

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from model.inference.analyse import Analysis
    from viz.state.view import View

PANEL = "save"  # key of the popover
STEPS = 65  # of a colour scale
_COMPONENT = mount.Component(__file__, '<div class="save" data-picture-skip></div>')


def mount_button() -> DeltaGenerator:
    """Mounts the button and returns the place of its panel."""
    return st.popover("Save", key=PANEL)


def mount_panel(
    where: DeltaGenerator, view: View, analysis: Analysis | None, list_offers: Callable[[], Sequence[Offer]] = tuple
) -> None:
    """Mounts the panel, once it has been open and the view is known, and makes the requested file."""
    with where:
        if not lazy.has_been_open(PANEL):
            return
    offers = list_offers()
    text = caption(view, pages.find(navigation.current_page()), analysis)
    request, data().saved_file = data().saved_file, None
    values = {
        "mode": session.theme_mode(),
        "caption": {"title": text.title, "facts": text.facts, "hasSeveral": text.has_several},
        "names": text.names,
        "offers": offer_labels(offers),
        "file": _answer(offers, *request) if request else None,
    }
    with where:
        _COMPONENT.mount("save_files", _themes(), {"make": (mount.integer(0, 99), _ask)}, overrides=values)


def _answer(offers: Sequence[Offer], which: int, number: str) -> dict[str, Any]:
    """Returns the requested file, if the current view still offers it."""
    return make_file(offers[which], number) if which < len(offers) else fault_answer(CHANGED, number)


def _ask(number: int) -> None:
    data().saved_file = number, uuid4().hex


@cache
def _themes() -> Payload:
    """Returns the colours of both themes in the same order, so that a picture can change its theme."""
    return Payload(themes={mode: _colours(mode) for mode in theme.PALETTES})


def _colours(mode: theme.Mode) -> dict[str, Any]:
    scales = [theme.scale(kind, mode, STEPS) for kind in theme.HUES]
    return {
        "palette": list(theme.PALETTES[mode].css_variables().values()),
        "scales": [*scales, theme.diverging(mode, STEPS)],
    }
