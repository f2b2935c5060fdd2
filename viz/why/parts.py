"""The parts of the page Why."""

from __future__ import annotations

import streamlit as st

from viz import state
from viz.page_fields import WHY
from viz.shared import controls
from viz.shared import texts as shared_texts
from viz.shared.shown import Shown
from viz.why import choice, likely, pieces, readings_part, rivals, texts, ways
from viz.why import sum as sums

PARTS = dict(zip(WHY, ("The sum", "Which reading is true?"), strict=True))


def draw(shown: Shown) -> None:
    """Which step and which rival; then the difference as a sum, or the readings of the source, tested."""
    view = shown.view
    with shown.places.body:
        shown.notes()
        asked = choice.choice(shown)
        found, pair = asked.found, asked.pair
        _choose(shown, asked)
        shared_texts.write(texts.answer(found, pair, asked.log_probs))
        if likely.shows_readings(view, shown.page_data):
            readings_part.draw(shown, asked.rival)
            return
        trace = shown.analysis.trace
        if told := texts.no_blank(shown.page_data, found):
            shared_texts.note(told)
        shared_texts.note(texts.meant(found, trace, pair, asked.log_probs))
        writer, way = pieces.chosen(view, found), ways.chosen(view, found, trace)
        with st.container(key="why_piece", gap=None):
            if way:
                pieces.draw_way(shown, found, way, pair)
            elif writer:
                pieces.draw(shown, found, writer, pair)
            else:
                shared_texts.note(pieces.HINT)
        data = sums.payload(found, trace, writer, way, shown.mode, likely.only(shown.page_data))
        sums.difference(data, pieces.choose_head, pieces.choose_piece, ways.choose, pieces.choose_step)


def _choose(shown: Shown, asked: choice.Choice) -> None:
    if not shown.analysis.task.judges:
        _step(shown)
    if told := texts.elsewhere(shown.page_data, state.current().step, asked.found):
        shared_texts.note(told)
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small"):
        if told := texts.which_blank(shown.page_data, asked.found):
            shared_texts.label(told)
        shared_texts.label("and not")
        rivals.choose(shown, asked.others, asked.rival)
        if not likely.has_readings(shown.page_data):
            return
        st.space("stretch")
        st.segmented_control(
            "Part",
            WHY,
            required=True,
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
            **state.bind("why part", "why", shown.view.why),
        )
    if complaint := state.complaint("rival"):
        shared_texts.note(complaint[1], warn=True)


def _step(shown: Shown) -> None:
    """The steps that have a choice, each with what was chosen there."""
    ids, stops = likely.chosen_tokens(shown.page_data), likely.stops(shown.page_data)
    labels = shown.page_data.loaded.target_tokenizer.pieces(ids)
    controls.step_slider(shown.view, labels, stops)
