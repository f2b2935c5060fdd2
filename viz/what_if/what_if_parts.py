"""The parts of the page What if: what can be changed, what happens then, and the leak test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from model.edits.kinds import Place
from model.inference.request import Request
from model.task import Task
from viz import cache, computations, theme
from viz.kit import controls, lazy, site_texts
from viz.kit.chart_figures import change_chart
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.result_cache import cached_figure
from viz.state.view import View, without_edits
from viz.what_if import edit_controls, ready_answers, switchboard, what_if_maps, what_if_texts

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from model.experiments.effects import HeadEffect

CHART_HEIGHT = 220


def costs(context: PageContext, place: DeltaGenerator) -> tuple[HeadEffect, ...] | None:
    """What each head costs when it is off; None until somebody looks. Its progress is shown in a place."""
    asked, device = without_edits(context.request), context.view.device
    found = computations.head_effects.known(asked, device, None)
    if found is None and lazy.has_been_seen("costs", asked, device):
        found = computations.head_effects(asked, device, lambda share: place.progress(share, what_if_texts.IN_TURN))
        place.empty()
    elif found is None:
        with place:
            site_texts.note(what_if_texts.IN_TURN)
    return found


def draw(context: PageContext) -> None:
    """The list of edits and the ready experiments; left what can be changed, right what happens then."""
    view, context = context.view, context
    with context.places.body:
        edit_controls.edit_bar(view, context.analysis, context.loaded, tuple(code for code, _ in context.skipped_edits))
        ready_answers.questions(view, context.loaded.languages[0], context.loaded.config.kinds)
        controls.target_note(view)
        try:
            ready_answers.answer(view)
        except ValueError as fault:
            site_texts.fault(str(fault))
    with st.container(key="whatif"):
        left, right = st.columns([504, 520], gap="medium")
        with right:
            _what_happens(context)
            costs_place = st.container(key="costs")
            site_texts.near_tie_note(context.analysis.baseline or context.analysis, context.loaded.output_vocabulary)
        with left:
            board_place = _change_it(context)
        with costs_place:
            edit_controls.largest_changes_head(context.analysis)
            progress = st.empty()
        with board_place:  # what was asked for stands: what every head costs takes a while
            known = costs(context, progress)
            _board(context, known)
        if known is not None:
            with costs_place:
                edit_controls.largest_changes(known)
    _leaks(view, context.request, context.analysis.task)


def _change_it(context: PageContext) -> DeltaGenerator:
    """The place of the switchboard, and the maps of one head before and after."""
    edit_controls.matrix_picks(context.view, context.analysis.trace.kinds)
    place = st.container(key="board")
    edit_controls.head_picks(context.view, context.loaded)
    with st.container(key="three_maps"):
        what_if_maps.draw(context.view, context.analysis, context.mode)
    return place


def _board(context: PageContext, costs: tuple[HeadEffect, ...] | None) -> None:
    """The switchboard, with what each head costs where that is known."""
    view, analysis = context.view, context.analysis
    if any(view.place.covers_layer(*site) for site in analysis.trace.patterns):  # else the maps say what is not there
        data = board(analysis.request, view.device, view.place, context.mode, costs)
        switchboard.switchboard(data, on_toggle=navigation.toggle_edit)


@cached_figure
def board(
    request: Request, device: str, place: Place, mode: theme.Mode, costs: tuple[HeadEffect, ...] | None
) -> dict[str, Any]:
    """What the switchboard needs."""
    return switchboard.payload(cache.analyse(request, device).trace, costs, place, request.intervention, mode)


def _what_happens(context: PageContext) -> None:
    """Both translations, the probability of every token, and the step that is looked at; what could not be done."""
    view, analysis, loaded = context.view, context.analysis, context.loaded
    edit_controls.mode_picks(view, loaded.config.causal, analysis.task)
    base = analysis.baseline or analysis
    branched = what_if_texts.branched(base, loaded.target_tokenizer)
    site_texts.verdict(
        analysis, f"{branched[:1].upper()}{branched[1:]}; nothing else is edited" if branched else "Nothing is edited"
    )
    site_texts.changed_decisions(analysis, loaded.output_vocabulary)
    site_texts.sentence_notes(analysis.notes, context.faults, analysis.warning_sentences)
    if branched and analysis.baseline:
        site_texts.note(f"The baseline is {branched}.", "baseline")
    if analysis.baseline is not None:
        site_texts.both_translations(analysis, loaded, same_target=view.mode == "given" and analysis.task.has_decoder)
    elif analysis.task.has_decoder:
        what_if_texts.translation(base.translation, loaded.languages[1])
    found, judges = analysis.probability_change, analysis.task.is_classifier
    chosen = base.trace.predicted_axis.ids[0] if judges else view.step
    chart = change_chart(
        found.labels, found.before, found.after, len(found.after), context.mode, CHART_HEIGHT, chosen=chosen
    )
    whose = "the baseline’s token" if analysis.task.has_decoder else "the token that stands there"
    whose = "each label" if judges else f"{whose}{', in a blank of the one filled in' * bool(base.trace.blank_positions)}"
    site_texts.write(f'<h3 class="lab-label">Probability of {whose}</h3>')
    site_texts.note("Hollow: before. Filled: after.")
    st.plotly_chart(
        chart,
        theme=None,
        key="change",
        config=controls.chart_config(f"Probability of each {'label' if judges else 'token'} before and after"),
        alt=site_texts.change_alt(analysis),
    )
    if not judges:
        controls.step_slider(view, base.trace.predicted_axis.labels)
        edit_controls.largest_step(analysis, view)
    what_if_texts.step_changes(analysis, 0 if judges else view.step, loaded.output_vocabulary)


def _leaks(view: View, request: Request, task: Task) -> None:
    """The leak test, where it was asked for."""
    with st.container(key="leaks"):
        site_texts.write('<h2 class="lab-label lab-rule">Is the mask right?</h2>')
        site_texts.note(what_if_texts.LEAKS[task.family], "residual stream")
        if not st.toggle("Test it, under the edits above", key="leak test", on_change=session.mark_user_event):
            return
        try:
            what_if_texts.leak_report(computations.leak_test(request, view.device))
        except ValueError as fault:
            site_texts.fault(str(fault))
