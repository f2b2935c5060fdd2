"""Why: why this word, and not that one?

The parts of the page Why."""

from __future__ import annotations

import streamlit as st

from viz.frame import show
from viz.kit import controls, site_texts
from viz.kit.page_context import PageContext
from viz.state import session
from viz.state.page_fields import WHY
from viz.why import (
    chosen_tokens,
    in_lecture,
    logit_sum,
    pieces,
    readings_part,
    rivals,
    tables,
    token_contributions,
    why_texts,
)

PARTS = dict(zip(WHY, ("The sum", "Which reading is true?"), strict=True))


def draw(shown: PageContext) -> None:
    """Which step and which rival; then the difference as a sum, or the readings of the source, tested."""
    view = shown.view
    with shown.places.body:
        shown.notes()
        asked = rivals.choice(shown)
        found, pair = asked.found, asked.pair
        _choose(shown, asked)
        site_texts.write(why_texts.answer(found, pair, asked.log_probs))
        if chosen_tokens.shows_readings(view, shown.page_data):
            readings_part.draw(shown, asked.rival)
            return
        trace = shown.analysis.trace
        if told := why_texts.no_blank(shown.page_data, found):
            site_texts.note(told)
        site_texts.note(why_texts.meant(found, trace, pair, asked.log_probs))
        writer, way = pieces.chosen(view, found), token_contributions.chosen(view, found, trace)
        with st.container(key="why_piece", gap=None):
            if way:
                pieces.draw_way(shown, found, way, pair)
            elif writer:
                pieces.draw(shown, found, writer, pair)
            else:
                site_texts.note(pieces.HINT)
        data = logit_sum.payload(found, trace, writer, way, shown.mode, chosen_tokens.only(shown.page_data))
        logit_sum.difference(data, pieces.choose_head, pieces.choose_piece, token_contributions.choose, pieces.choose_step)


def _choose(shown: PageContext, asked: rivals.Choice) -> None:
    if not shown.analysis.task.is_classifier:
        _step(shown)
    if told := why_texts.elsewhere(shown.page_data, session.current_view().step, asked.found):
        site_texts.note(told)
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small"):
        if told := why_texts.which_blank(shown.page_data, asked.found):
            site_texts.label(told)
        site_texts.label("and not")
        rivals.choose(shown, asked.others, asked.rival)
        if not chosen_tokens.has_readings(shown.page_data):
            return
        st.space("stretch")
        st.segmented_control(
            "Part",
            WHY,
            required=True,
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
            **session.bind("why part", "why", shown.view.why),
        )
    if complaint := session.complaint("rival"):
        site_texts.note(complaint[1], warn=True)


def _step(shown: PageContext) -> None:
    """The steps that have a choice, each with what was chosen there."""
    ids, stops = chosen_tokens.chosen_tokens(shown.page_data), chosen_tokens.stops(shown.page_data)
    labels = shown.page_data.loaded.target_tokenizer.pieces(ids)
    controls.step_slider(shown.view, labels, stops)


show.show(
    "why", draw, choose_view=chosen_tokens.look, tables=tables.tables, python=tables.python, in_lecture=in_lecture.draw
)
