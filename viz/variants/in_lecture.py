"""Variants in lecture mode: scores, losses, one sentence in several variants, or paired heads, over the whole page."""

from __future__ import annotations

import html

import streamlit as st

from model.trace import SITE_KINDS
from model.variants.record import SCORES, Variants
from viz import theme
from viz.classroom import lecture
from viz.kit import site_texts
from viz.page_context import LecturePlaces, PageContext, Places
from viz.state import session
from viz.state.view import View
from viz.variants import cached_charts, head_texts, map_grid, variant_parts, variant_texts
from viz.variants.variant_texts import found

LARGE = ("Scores", "Learning", "One sentence", "Same heads?")  # the pictures, from 1
HALL = 1.9  # how many times as large a chart is drawn
LEFT, MAPS_LEFT = 560, 470  # px at 720 lines for a chart below its title


def of_sentence(view: View) -> bool:
    """Whether the visitor's sentence is what is shown."""
    return LARGE[lecture.picture(view, len(LARGE)) - 1] == "One sentence"


def draw(context: PageContext) -> None:
    """One picture, and its keys."""
    lecture.draw(context)
    _draw(context.view, context.mode, context.places, context)


def without_sentence(view: View, places: Places) -> None:
    """What needs no sentence is shown without one."""
    if view.lecture:
        _draw(view, session.theme_mode(), places, None)
    else:
        variant_parts.without_sentence(view, places)


def _draw(view: View, mode: theme.Mode, places: Places, context: PageContext | None) -> None:
    large, record = lecture.picture(view, len(LARGE)), found().record
    if isinstance(places, LecturePlaces):
        with places.bar:
            lecture.picture_buttons(LARGE, large)
            if large == 1:
                variant_parts.pick_score(view)
            elif large > 2:  # one button: the bar has no room for three
                help = f"The next kind of attention ({lecture.KIND.key})"
                st.button(theme.SITE_NAMES[view.beside_kind], key="variants_kind", help=help, on_click=_turn_kind)
    named = ", ".join(name.lower() for name in LARGE)
    lecture.add_key(lecture.PICTURE, f"the picture: {named}", lambda: lecture.next_picture(len(LARGE)), quiet=True)
    with places.body:
        if record is None:
            variant_parts.nothing(found())
            return
        (_scores, _losses, _maps, _heads)[large - 1](record, view, mode, context)


def _scores(record: Variants, view: View, mode: theme.Mode, context: PageContext | None) -> None:
    lecture.add_key(
        lecture.INNER, "BLEU, chrF or dev loss", lambda: session.change(variants_score=_next_score()), quiet=True
    )
    _title(variant_texts.verdict(record, view.variants_score))
    figure = cached_charts.scores(record, view.variants_score, "design", mode, lecture.chart_height(LEFT, HALL))
    with lecture.chart_container(HALL):
        lecture.draw_chart(
            "Scores of the variants", "variants scores", figure, variant_texts.scores_alt(record, view.variants_score)
        )


def _losses(record: Variants, view: View, mode: theme.Mode, context: PageContext | None) -> None:
    _title(variant_texts.curves_said(record))
    with lecture.chart_container(HALL):
        figure = cached_charts.losses(record, mode, lecture.chart_height(LEFT, HALL))
        lecture.draw_chart("Dev loss of the variants", "variants losses", figure, variant_texts.curves_said(record))


def _maps(record: Variants, view: View, mode: theme.Mode, context: PageContext | None) -> None:
    if not (names := map_grid.chosen(record, view)):
        site_texts.note("No variant’s weights are in this lab.")
        return
    if context is None:
        return
    lecture.add_key(lecture.KIND, "the next kind of attention", _turn_kind, quiet=True)
    sides = [map_grid.side(record, name, context.request.source, view) for name in names]
    most = max([1, *(side.heads for side in sides)])
    lecture.add_walk_keys("the next head", "the head before it", lambda by: session.change(beside_head=_next_head(most, by)))
    which = "mean of the heads" if view.beside_head is None else f"head {view.beside_head + 1}"
    _title(f"{theme.SITE_NAMES[view.beside_kind]}, layer {view.beside_layer + 1}, {which}")
    with lecture.chart_container(HALL):
        width = lecture.chart_width(HALL, max(2, len(sides)))
        variant_parts.columns(sides, view, mode, width, lecture.chart_height(MAPS_LEFT, HALL), lecture.draw_chart)


def _heads(record: Variants, view: View, mode: theme.Mode, context: PageContext | None) -> None:
    if not record.same_heads:
        site_texts.note(variant_parts.UNPAIRED)
        return
    lecture.add_key(lecture.KIND, "the next kind of attention", _turn_kind, quiet=True)
    own = record.same_heads[variant_parts.paired(record, view)]
    _title(head_texts.returns(own))
    with lecture.chart_container(HALL):
        variant_parts.drawing(own, view, mode, lecture.chart_height(LEFT, HALL), lecture.draw_chart)


def _title(text: str) -> None:
    site_texts.write(f'<h2 class="lab-large-title">{html.escape(text)}</h2>')


def _next_score() -> str:
    names = list(SCORES)
    return names[(names.index(session.current_view().variants_score) + 1) % len(names)]


def _turn_kind() -> None:
    """To the next kind of attention; called from callbacks."""
    kinds = list(SITE_KINDS)
    session.change(beside_kind=kinds[(kinds.index(session.current_view().beside_kind) + 1) % len(kinds)])


def _next_head(most: int, by: int) -> int:
    return ((session.current_view().beside_head or 0) + by) % most
