"""A scheme of positions by itself: its controls, and the figures of its numbers."""

from __future__ import annotations

import dataclasses
import html
from typing import TYPE_CHECKING

import streamlit as st

from model.config import FAMILIES, SCHEMES
from model.trace import SITE_KINDS
from viz import cache, state, theme
from viz.page_fields import MAX_PE_SHIFT
from viz.positions import texts as position_texts
from viz.positions.drawn import Scheme, scheme_figure
from viz.positions.schemes import followed, learned, lengths_seen, of_formula, own_scheme, side_of
from viz.shared import controls, texts
from viz.view import View

if TYPE_CHECKING:
    import plotly.graph_objects as go


WIDTHS = (8, 16, 32, 64, 128, 256, 512, 1024)


BASES = (2.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0, 1_000_000.0)


COUNTS = (8, 16, 32, 64, 128, 256, 512)


def scheme_part(view: View, mode: theme.Mode) -> None:
    """A scheme of positions by itself: its controls, and six figures."""
    own = own_scheme(view)
    view = dataclasses.replace(view, scheme=view.scheme or own)
    has_table = SCHEMES[view.scheme].has_table
    with st.container(key="pe_scheme_row", horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            "Kind of positions",
            [name for name, made in SCHEMES.items() if not made.halves or name in (own, view.scheme)],
            required=True,
            format_func=lambda name: name.capitalize() + (" (this checkpoint)" if name == own else ""),
            label_visibility="collapsed",
            **state.bind("scheme", "scheme", view.scheme),
        )
        texts.write(position_texts.formula(view.scheme), inline=True)
        if has_table:
            st.space("stretch")
            side_pick("table side", view, "table of the")
    if has_table:
        scheme = learned(view)
        if scheme is None:
            return
        _sliders(view, scheme.numbers().values.shape[1], learned=True)
        name = scheme.checkpoint
    else:
        scheme = of_formula(view)
        _sliders(view, scheme.width)
        name = view.scheme
    for sentence, warn in position_texts.limits(view, scheme.numbers(), name, lengths_seen(view, scheme.checkpoint)):
        texts.note(sentence, warn=warn)
    _six(view, scheme, mode)


def side_pick(key: str, view: View, label: str = "") -> None:
    """Whose tokens, or whose table, after a label; nothing where the checkpoint has one side only."""
    own = FAMILIES[cache.task(view.checkpoint, view.device).family]
    kinds = {of.queries: kind for kind, of in SITE_KINDS.items() if of.is_self and kind in own}
    if len(kinds) == 1:  # there is nothing to choose
        return
    if label:
        texts.label(label)
    st.segmented_control(
        "Side",
        list(kinds),
        required=True,
        format_func=str.capitalize,
        label_visibility="collapsed",
        **state.bind(key, "kind", side_of(view), kinds.__getitem__),
    )


def _sliders(view: View, width: int, learned: bool = False) -> None:
    """Width and base of a formula (a learned table has its own width, and no base), number of positions, shift, and the
    pair of dimensions that is followed."""
    name = "Width d_model" if SCHEMES[view.scheme].adds else "Head width d_k"
    formula = (
        (name, "pe width", "pe_width", WIDTHS, width),
        ("Base", "pe base", "pe_base", BASES, view.pe_base),
    )
    sliders = (
        *(() if learned else formula),
        ("Positions", "pe count", "pe_count", COUNTS, view.pe_count),
        ("Shift k", "pe shift", "pe_shift", range(MAX_PE_SHIFT + 1), view.pe_shift),
        ("Pair of dimensions i", "pe pair", "pe_pair", range(width // 2), followed(view, width)),
    )
    with st.container(key="pe_sliders"):
        for place, (label, key, field, options, value) in zip(st.columns(5, gap="medium"), sliders, strict=False):
            choices = sorted({*options, value})
            if len(choices) > 1:
                with place:
                    st.select_slider(label, options=choices, format_func=_number, **state.bind(key, field, value))


def _number(value: float) -> str:
    return f"{value:,g}"


def _six(view: View, scheme: Scheme, mode: theme.Mode) -> None:
    found = scheme.numbers()
    pair = followed(view, found.values.shape[1])
    told = position_texts.readings(view, found, pair)
    with st.container(key="pe_grid"):
        for row in (("table", "curves", "distance"), ("similarity", "shift", "residual")):
            for column, what in zip(st.columns(3, gap="medium"), row, strict=True):
                title, reading = told[what]
                with column:
                    texts.write(f'<h2 class="lab-label">{html.escape(title)}</h2>')
                    texts.note(reading)
                    if what in ("shift", "residual") and not len(found.residual):
                        continue
                    chart(title, f"pe figure {what}", scheme_figure(what, scheme, pair, mode), f"{title}. {reading}")


def chart(title: str, key: str, figure: go.Figure, alt: str) -> None:
    st.plotly_chart(figure, theme=None, key=key, config=controls.picture(title), alt=alt)
