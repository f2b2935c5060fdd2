"""The parts of the page Why."""

from __future__ import annotations

import numpy as np
import streamlit as st

from viz import cache, state
from viz.shared import controls
from viz.shared import texts as shared_texts
from viz.shared.frame import Shown
from viz.view import WHY
from viz.why import likely, pieces, readings_part, texts
from viz.why import sum as sums

PARTS = dict(zip(WHY, ("The sum", "Which reading is true?"), strict=True))


def draw(shown: Shown) -> None:
    """Which step and which rival; then the difference as a sum, or the readings of the source, tested."""
    view, analysis = shown.view, shown.analysis
    with shown.places.body:
        shown.notes()
        trace, step = analysis.trace, view.step - 1
        if trace.outputs is None:
            shared_texts.fault("This checkpoint has no decoder: it chooses no token over another.")
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
        log_probs = float(row[token]), float(row[rival])
        shared_texts.write(texts.answer(found, (tokenizer.piece(token), tokenizer.piece(rival)), log_probs))
        if view.why == "readings":
            readings_part.draw(shown, rival)
            return
        shared_texts.note(texts.meant(found, log_probs), "residual stream", "unembedding")
        writer = pieces.chosen(view, found)
        with st.container(key="why_piece", gap=None):
            if writer:
                pieces.draw(shown, found, writer)
            else:
                shared_texts.note(pieces.HINT)
        data = sums.payload(found, trace, writer, shown.mode)
        sums.difference(data, pieces.choose_head, pieces.choose_piece)


def _choose(shown: Shown, others: list[int], rival: int) -> None:
    trace, row = shown.analysis.trace, shown.analysis.trace.log_probs[shown.view.step - 1]
    tokenizer = shown.page_data.loaded.target_tokenizer
    assert trace.outputs is not None
    controls.step_slider(shown.view, trace.outputs.labels)
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small"):
        shared_texts.label("and not")
        options = others if rival in others else [*others, rival]
        st.selectbox(
            "Rival",
            options,
            format_func=lambda token: f"{tokenizer.piece(token)}  {np.exp(row[token]):.3f}",
            label_visibility="collapsed",
            **state.bind("rival", "rival", rival),
        )
        st.space("stretch")
        st.segmented_control(
            "Part",
            WHY,
            required=True,
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
            **state.bind("why part", "why", shown.view.why),
        )
