"""One sentence run with a piece of the other put in: what each piece does, and the translation under a chosen one."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Edit, TokenLabels, parse
from model.inference.request import Request
from viz import cache, computations
from viz.compare import patch_grids
from viz.compare.pair import Pair
from viz.kit import site_texts
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.view import without_edits

if TYPE_CHECKING:
    from model.experiments.patching import Patching, PatchingRequest
    from model.inference.analysis import Analysis

SENTENCES = ("word", "sentence")  # what differs where there are two sentences
NEEDS = "Patching needs two sentences: choose “A word” or “Sentence” above."


def draw(context: PageContext, pair: Pair) -> None:
    """What is measured and where; both translations, and below them the patched one; what every piece does."""
    if pair.differs not in SENTENCES:
        site_texts.note(NEEDS)
        return
    view, loaded = context.view, pair.first.loaded
    requests = without_edits(pair.first.request), without_edits(pair.second.request)
    try:
        question = computations.patch_question(*requests, view.device, view.patched_step)
    except ValueError as fault:
        site_texts.fault(str(fault))
        if view.patched_step is not None:
            st.button(
                "Measure where the translations part",
                key="patch step",
                on_click=session.change,
                kwargs={"patched_step": None},
            )
        return
    first, second = (cache.analyse(request, view.device) for request in requests)
    if pair.first.request.intervention:
        site_texts.note(patch_grids.WITHOUT)
    tokens = patch_grids.names(question, loaded.target_tokenizer)
    why = "" if view.patched_step is not None else patch_grids.why_here(first.translation == second.translation)
    _step(question, first.labels, why)
    if told := patch_grids.alignment(question, first.labels.source, second.labels.source):
        site_texts.note(told)
    with st.container(key="patched"):
        answer, three, effect = st.container(key="patch_answer"), st.empty(), st.container(key="patch_effect")
    show = partial(patch_grids.compared, first, second, tokenizer=loaded.target_tokenizer, code=_language(pair))
    with three:
        site_texts.write(show(None))
    cells = st.container(key="patch_cells")
    with cells:
        found = measured(requests, view.device, view.patched_step)
    if found is None:
        return
    edits = view.patched.edits or found.best
    with answer:
        probabilities = np.exp(first.trace.log_probs[question.step, list(question.tokens)])
        told = patch_grids.answer(found, tokens, first.labels, patch_grids.tie(*probabilities))
        site_texts.write(f'<div class="lab-answer" role="status">{"<br>".join(map(html.escape, told))}</div>')
    with cells:
        data = patch_grids.payload(found, first.labels, tuple(edit.code for edit in edits), context.mode)
        patch_grids.grids(data, choose)
    try:
        request, aside, patched = put_in(requests, edits, view.device)
        cache.analyse(dataclasses.replace(request, mode="given"), view.device)
    except ValueError as fault:
        with effect:
            site_texts.fault(str(fault))
        return
    with three:
        site_texts.write(show(patched))
    with effect:
        _effect(context, found, request, patched.translation, second.translation, [reason for _, reason in aside])


def put_in(
    requests: tuple[Request, Request], edits: Sequence[Edit], device: str
) -> tuple[Request, Sequence[tuple[str, str]], Analysis]:
    """The first sentence with pieces of the other: its request, what of them does not fit and why, and what comes of it.
    Raises ValueError as `cache.analyse`."""
    donor = dataclasses.replace(BASELINE, donor=requests[1].source, edits=tuple(edits))
    request, aside = cache.fit_request(dataclasses.replace(requests[0], intervention=donor, mode="again"), device)
    return request, aside, cache.analyse(request, device)


def _language(pair: Pair) -> str:
    return site_texts.language_code(pair.first.loaded.languages[1])


def _effect(context: PageContext, found: Patching, request: Request, said: str, other: str, aside: Sequence[str]) -> None:
    """What is put in and what it does, and the way to where it can be looked into."""
    given = cache.analyse(dataclasses.replace(request, mode="given"), context.view.device)
    first, second = (given.trace.logit(found.request.step, token) for token in found.request.tokens)
    turned = given.baseline is not None and said != given.baseline.translation
    for reason in aside:
        site_texts.note(reason, warn=True)
    if not (edits := request.intervention.edits):
        return
    with st.container(key="patch_effect_row", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label(patch_grids.effect(found, edits, first - second, given.labels, turned and said == other, turned))
        args = request.intervention, found.request.step
        st.button("Open in What if", key="patch what if", on_click=_open, args=args, type="tertiary")
        if context.view.patched.edits:
            st.button("Take it out", key="patch out", on_click=session.change, kwargs={"patched": BASELINE}, type="tertiary")
        else:
            site_texts.label("Click a cell to put in another piece.")


def _step(question: PatchingRequest, labels: TokenLabels, why: str) -> None:
    """The step at which is measured, and why there."""

    def told(step: int) -> str:
        return f"{step + 1}  {labels.query('decoder', step)}"

    with st.container(key="patch_step_row", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label("Measured at step")
        st.selectbox(
            "Measured at step",
            list(range(len(question.target))),
            format_func=told,
            label_visibility="collapsed",
            width=208,
            **session.bind("patched step", "patched_step", question.step, text=told(question.step)),
        )
        site_texts.label(why)


def measured(requests: tuple[Request, Request], device: str, step: int | None) -> Patching | None:
    """What every piece does; its progress is shown in the place of the grids. None, and a sentence, where it cannot be."""
    place = st.empty()

    def show(share: float) -> None:
        if share < 1:
            place.progress(share, "Every piece of the other sentence is put in, one after the other")

    try:
        found = computations.patching(*requests, device, step, show)
    except ValueError as fault:
        with place:
            site_texts.fault(str(fault))
        return None
    place.empty()
    return found


def choose(code: str) -> None:
    """Puts a piece in, or takes it out where it is in by a click before; called from callbacks."""
    edits = (parse(code),)
    taken = session.current_view().patched.edits == edits
    session.change(patched=BASELINE if taken else dataclasses.replace(BASELINE, edits=edits))


def _open(intervention: Intervention, step: int) -> None:
    session.change(intervention=intervention, mode="again", step=step)
    navigation.go_to("what-if")
