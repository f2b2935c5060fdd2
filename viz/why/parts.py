"""The parts of the page Why."""

from __future__ import annotations

import dataclasses

import numpy as np
import streamlit as st

from model.readings.direct_logits import DirectLogits
from model.trace import Site
from viz import cache, state
from viz.shared import controls
from viz.shared import texts as shared_texts
from viz.shared.frame import Shown
from viz.why import sum as sums
from viz.why import texts

RIVALS = 12  # that are offered


def draw(shown: Shown) -> None:
    """Which step and which rival; the difference as a sum; the chosen head, and what switching it off does."""
    view, analysis = shown.view, shown.analysis
    with shown.places.body:
        shown.notes()
        trace, step = analysis.trace, view.step - 1
        if trace.outputs is None:
            shared_texts.fault("This checkpoint has no decoder: it chooses no token over another.")
            return
        row, token = trace.log_probs[step], trace.outputs.ids[step]
        others = [int(i) for i in np.argsort(-row, kind="stable")[: RIVALS + 1] if i != token][:RIVALS]
        tokenizer = shown.page_data.loaded.target_tokenizer
        fits = view.rival is not None and view.rival != token and view.rival < len(row)
        rival = view.rival if fits else others[0]
        if view.rival is not None and not fits:
            is_own = view.rival == token
            what = "the token itself" if is_own else f"{view.rival}; this checkpoint has tokens up to {len(row) - 1}"
            shared_texts.sentence_notes((), (f"The link's rival is {what}: the likeliest other one is shown.",))
        _choose(shown, others, rival)
        found = cache.direct_logits(shown.page_data.request, view.device, step, token, rival)
        pieces = (tokenizer.piece(token), tokenizer.piece(rival))
        shared_texts.write(texts.answer(found, pieces, (float(row[token]), float(row[rival]))))
        site = Site(view.kind, view.layer - 1)
        chosen = site in found.tokens and view.head is not None
        place = (view.kind, view.layer, view.head) if chosen and view.head is not None else None
        sums.difference(sums.payload(found, trace, place, shown.mode), _chosen)
        if place:
            _head(shown, found, site, place[2] - 1)
        else:
            shared_texts.note(
                "Click a head, in the bars or in the grid, to see what it wrote and what switching it off does."
            )


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


def _head(shown: Shown, found: DirectLogits, site: Site, head: int) -> None:
    """The head that is chosen, tested: what the sum says of it, and what becomes of the difference without it."""
    code = f"off_{site.of.code}.{site.layer + 1}.{head + 1}"
    told = texts.head_told(found, shown.analysis.trace, site, head)
    after = _without(shown, code, found)
    if after is not None:
        predicted = float(
            next(v for w, v in zip(found.writers, found.values, strict=True) if (w.site, w.head) == (site, head))
        )
        told = f"{told} {texts.measured(predicted, found.difference, after)}"
    with st.container(key="why_head", gap="small"):
        shared_texts.note(told)
        with st.container(key="why_ways", horizontal=True, gap="small"):
            st.button("See its map", key="why heads", type="tertiary", on_click=state.go_to, args=("heads",))
            st.button("Unfold it", key="why inside", type="tertiary", on_click=state.go_to, args=("inside",))
            st.button("Switch it off", key="why off", type="tertiary", on_click=_switch, args=(code,))


def _without(shown: Shown, code: str, found: DirectLogits) -> float | None:
    """The difference where the head is off as well, over the same target; None where the target would be another one, or the
    head is off already."""
    request = shown.page_data.request
    if request.mode == "again" and request.intervention:
        return None
    if any(code == each for each, _ in request.intervention.parts()) or request.intervention.covering(code):
        return None
    edited = dataclasses.replace(request, intervention=request.intervention.with_edit(code), mode="given")
    row = cache.analyse(edited, shown.view.device).trace.log_probs[found.step]
    return float(row[found.token] - row[found.rival])


def _chosen(kind: str, layer: int, head: int) -> None:
    state.change(kind=kind, layer=layer, head=head)


def _switch(code: str) -> None:
    state.toggle_edit(code)
    state.go_to("what-if")
