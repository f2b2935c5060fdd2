"""*Save*: one control at the same place on every page. The browser draws the pictures; the server makes what is offered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import streamlit as st

from viz import pages, theme
from viz.kit import mount
from viz.save.saved_files import (
    CHANGED,
    Offer,
    caption,
    failed,
    listed,
    made,
)
from viz.state import navigation, session
from viz.state.result_cache import Payload

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from model.inference.analyse import Analysis
    from viz.state.view import View

ASKED = "save asked"
STEPS = 65  # of a scale: a colour between two is as good as either
_COMPONENT = mount.Component(__file__, '<div class="save" data-picture-skip></div>')


def place() -> DeltaGenerator:
    """Mounts the button, in a place that moves nothing; returns where its panel goes."""
    with st.container(key="save"):
        return st.popover("Save", key="save panel")


def fill(where: DeltaGenerator, view: View, analysis: Analysis | None, offers: Sequence[Offer] = ()) -> None:
    """The panel, once the view is known; what was asked for of its offers is made now."""
    said = caption(view, pages.find(navigation.page()), analysis)
    asked = session.kept(ASKED)
    session.keep(ASKED, None)
    data = {
        "mode": session.theme_mode(),
        "caption": said.lines,
        "names": said.names,
        "offers": listed(offers),
        "made": _answer(offers, *asked) if asked else None,
    }
    with where:
        _COMPONENT.mount("save_files", _themes(), {"make": (mount.whole(0, 99), _ask)}, beside=data)


def _answer(offers: Sequence[Offer], which: int, number: str) -> dict[str, Any]:
    """What was asked for, where the view that is shown by now offers as much."""
    return made(offers[which], number) if which < len(offers) else failed(CHANGED, number)


def _ask(number: int) -> None:
    session.keep(ASKED, (number, uuid4().hex))


@cache
def _themes() -> Payload:
    """The colours of both themes, each in the same order: by which a picture changes from one to the other."""
    return Payload(themes={mode: _colours(mode) for mode in theme.PALETTES})


def _colours(mode: theme.Mode) -> dict[str, Any]:
    scales = [theme.scale(kind, mode, STEPS) for kind in theme.HUES]
    return {
        "palette": list(theme.PALETTES[mode].css_variables().values()),
        "scales": [*scales, theme.diverging(mode, STEPS)],
    }
