"""The parts of the page Why."""

from __future__ import annotations

import streamlit as st

from viz import cache, state
from viz.shared import controls
from viz.shared import texts as shared_texts
from viz.shared.shown import Shown
from viz.view import WHY
from viz.why import likely, pieces, readings_part, rivals, texts, ways
from viz.why import sum as sums

PARTS = dict(zip(WHY, ("The sum", "Which reading is true?"), strict=True))


def draw(shown: Shown) -> None:
    """Which step and which rival; then the difference as a sum, or the readings of the source, tested."""
    view, analysis = shown.view, shown.analysis
    with shown.places.body:
        shown.notes()
        trace, step = analysis.trace, view.step - 1
        if trace.outputs is None:
            shared_texts.fault(
                "This checkpoint has no decoder: it chooses no token over another. "
                "What if shows what each head does to its tokens."
            )
            return
        row, token = trace.log_probs[step], trace.outputs.ids[step]
        others = likely.offered(trace, step)
        tokenizer = shown.page_data.loaded.target_tokenizer
        rival = likely.chosen(view, trace)
        if view.rival is not None and not likely.fits(view, trace):
            is_own = view.rival == token
            what = "the token itself" if is_own else f"{view.rival}; this checkpoint has tokens up to {len(row) - 1}"
            shared_texts.sentence_notes((), (f"The link's rival is {what}: the likeliest other one is shown.",))
        _choose(shown, others, rival)
        found = cache.direct_logits(shown.page_data.request, view.device, step, token, rival)
        log_probs, pair = (float(row[token]), float(row[rival])), (tokenizer.piece(token), tokenizer.piece(rival))
        shared_texts.write(texts.answer(found, pair, log_probs))
        if view.why == "readings":
            readings_part.draw(shown, rival)
            return
        shared_texts.note(texts.meant(found, trace, pair, log_probs))
        writer, way = pieces.chosen(view, found), ways.chosen(view, found, trace)
        with st.container(key="why_piece", gap=None):
            if way:
                pieces.draw_way(shown, found, way, pair)
            elif writer:
                pieces.draw(shown, found, writer, pair)
            else:
                shared_texts.note(pieces.HINT)
        data = sums.payload(found, trace, writer, way, shown.mode)
        sums.difference(data, pieces.choose_head, pieces.choose_piece, ways.choose)


def _choose(shown: Shown, others: list[int], rival: int) -> None:
    outputs = shown.analysis.trace.outputs
    assert outputs is not None
    controls.step_slider(shown.view, outputs.labels)
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small"):
        shared_texts.label("and not")
        rivals.choose(shown, others, rival)
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
