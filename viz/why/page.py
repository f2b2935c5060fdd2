"""Why: why this word, and not that one?

The parts of the page Why."""

from __future__ import annotations

import streamlit as st

from viz.frame import show
from viz.kit import controls, edit_list, site_texts
from viz.page_context import PageContext
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


def draw(context: PageContext) -> None:
    """Which step and which rival; then the difference as a sum, or the readings of the source, tested."""
    view = context.view
    with context.places.body:
        edit_list.draw_notes(context)
        asked = rivals.choice(context)
        found, pair = asked.found, asked.pair
        _choose(context, asked)
        site_texts.write(why_texts.answer(found, pair, asked.log_probs))
        if chosen_tokens.shows_readings(view, context):
            readings_part.draw(context, asked.rival)
            return
        trace = context.analysis.trace
        if told := why_texts.no_blank(context, found):
            site_texts.note(told)
        site_texts.note(why_texts.meant(found, trace, pair, asked.log_probs))
        writer, way = pieces.chosen(view, found), token_contributions.chosen(view, found, trace)
        with st.container(key="why_piece", gap=None):
            if way:
                pieces.draw_way(context, found, way, pair)
            elif writer:
                pieces.draw(context, found, writer, pair)
            else:
                site_texts.note(pieces.HINT)
        data = logit_sum.payload(found, trace, writer, way, context.mode, chosen_tokens.only(context))
        logit_sum.difference(data, pieces.choose_head, pieces.choose_piece, token_contributions.choose, pieces.choose_step)


def _choose(context: PageContext, asked: rivals.Choice) -> None:
    if not context.analysis.task.is_classifier:
        _step(context)
    if told := why_texts.elsewhere(context, session.current_view().step, asked.found):
        site_texts.note(told)
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small"):
        if told := why_texts.which_blank(context, asked.found):
            site_texts.label(told)
        site_texts.label("and not")
        rivals.choose(context, asked.others, asked.rival)
        if not chosen_tokens.has_readings(context):
            return
        st.space("stretch")
        st.segmented_control(
            "Part",
            WHY,
            required=True,
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
            **session.bind("why part", "why", context.view.why),
        )
    if complaint := session.complaint("rival"):
        site_texts.note(complaint[1], warn=True)


def _step(context: PageContext) -> None:
    """The steps that have a choice, each with what was chosen there."""
    ids, stops = chosen_tokens.chosen_tokens(context), chosen_tokens.stops(context)
    labels = context.loaded.target_tokenizer.pieces(ids)
    controls.step_slider(context.view, labels, stops)


show.show(
    "why", draw, choose_view=chosen_tokens.look, tables=tables.tables, python=tables.python, in_lecture=in_lecture.draw
)
