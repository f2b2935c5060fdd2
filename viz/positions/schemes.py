"""A scheme of positions by itself: its controls, and the figures of its numbers.

Which positions the view asks for, whose they are, and how long the sentences of their training were."""

from __future__ import annotations

import dataclasses
import html
from typing import TYPE_CHECKING

import streamlit as st

from model.config import FAMILIES, SCHEMES
from model.trace import SITE_KINDS, site_kind
from viz import cache, theme
from viz.kit import controls, site_texts
from viz.positions import position_texts
from viz.positions.cached_figures import Scheme, scheme_figure
from viz.state import session
from viz.state.page_fields import MAX_PE_SHIFT, MAX_PE_WIDTH
from viz.state.view import View

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.text.corpus_stats import Lengths


def side_of(view: View) -> str:
    """Whose tokens and whose learned table are shown: the source's, or the target's with the decoder."""
    own = FAMILIES[cache.task(view.checkpoint, view.device).family]
    return site_kind(view.kind if view.kind in own else own[0]).key_side


def of_formula(view: View) -> Scheme:
    """The positions of a formula, as the view asks for them."""
    known = {"longest": lengths.max_length} if (lengths := lengths_seen(view)) else {}
    return Scheme(view.scheme, view.pe_count, view.pe_shift, view.pe_width or own_width(view), view.pe_base, **known)


def own_scheme(view: View) -> str:
    """The checkpoint's own positions; the paper's where it cannot be read."""
    try:
        return cache.checkpoint(view.checkpoint, view.device).config.positions
    except ValueError:
        return next(iter(SCHEMES))


def own_width(view: View) -> int:
    """How wide the positions of a formula would be in the checkpoint: a head's width where they turn queries and keys, else
    d_model. That of the paper's base model, 64 or 512, where the checkpoint cannot be read."""
    scheme = SCHEMES[view.scheme]
    try:
        config = cache.checkpoint(view.checkpoint, view.device).config
    except ValueError:
        return scheme.width(512, 64)
    width = scheme.width(config.d_model, config.head_dim)
    return max(2, min(MAX_PE_WIDTH, width - width % 2))


def lengths_seen(view: View, learned: str = "") -> Lengths | None:
    """How long the training sentences were: of the side of the checkpoint whose table is shown, else of the longer side of
    the one that answers; None where it does not say so, or cannot be loaded."""
    try:
        seen = cache.checkpoint(learned or view.checkpoint, view.device).corpus_stats
    except ValueError:
        return None
    if seen is None:
        return None
    return seen.lengths[side_of(view)] if learned else max(seen.lengths.values(), key=lambda known: known.max_length)


def learned(view: View) -> Scheme | None:
    """The learned table that is shown, once it is measured; None, and a sentence, where there is none."""
    from model.readings.positions.sentence_positions import learned_checkpoint

    name = learned_checkpoint(view.checkpoint)
    if name is None:
        site_texts.note("No checkpoint here has learned positions; sinusoidal and rotary ones need none, they are formulas.")
        return None
    try:
        if name != view.checkpoint:
            cache.refresh(name)
        scheme = Scheme(view.scheme, view.pe_count, view.pe_shift, checkpoint=name, device=view.device, side=side_of(view))
        scheme.numbers()
    except ValueError as fault:
        site_texts.fault(str(fault))
        return None
    return scheme


def followed(view: View, width: int) -> int:
    """The pair that is followed, or the last where the width has fewer."""
    return min(view.pe_pair, width // 2 - 1)


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
            [name for name, made in SCHEMES.items() if not made.has_split_halves or name in (own, view.scheme)],
            required=True,
            format_func=lambda name: name.capitalize() + (" (this checkpoint)" if name == own else ""),
            label_visibility="collapsed",
            **session.bind("scheme", "scheme", view.scheme),
        )
        site_texts.write(position_texts.formula(view.scheme), inline=True)
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
        site_texts.note(sentence, warn=warn)
    _six(view, scheme, mode)


def side_pick(key: str, view: View, label: str = "") -> None:
    """Whose tokens, or whose table, after a label; nothing where the checkpoint has one side only."""
    own = FAMILIES[cache.task(view.checkpoint, view.device).family]
    kinds = {of.query_side: kind for kind, of in SITE_KINDS.items() if of.is_self and kind in own}
    if len(kinds) == 1:  # there is nothing to choose
        return
    if label:
        site_texts.label(label)
    st.segmented_control(
        "Side",
        list(kinds),
        required=True,
        format_func=str.capitalize,
        label_visibility="collapsed",
        **session.bind(key, "kind", side_of(view), kinds.__getitem__),
    )


def _sliders(view: View, width: int, learned: bool = False) -> None:
    """Width and base of a formula (a learned table has its own width, and no base), number of positions, shift, and the
    pair of dimensions that is followed."""
    name = "Width d_model" if SCHEMES[view.scheme].embedding_effect else "Head width d_k"
    formula = ((name, "pe width", "pe_width", WIDTHS, width), ("Base", "pe base", "pe_base", BASES, view.pe_base))
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
                    st.select_slider(label, options=choices, format_func=_number, **session.bind(key, field, value))


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
                    site_texts.write(f'<h2 class="lab-label">{html.escape(title)}</h2>')
                    site_texts.note(reading)
                    if what in ("shift", "residual") and not len(found.residual):
                        continue
                    chart(title, f"pe figure {what}", scheme_figure(what, scheme, pair, mode), f"{title}. {reading}")


def chart(title: str, key: str, figure: go.Figure, alt: str) -> None:
    st.plotly_chart(figure, theme=None, key=key, config=controls.chart_config(title), alt=alt)
