"""What if: what happens when I break it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.trace import Site
from viz import cache, state, theme
from viz.shared import controls, edit_list, texts
from viz.shared.change_figure import change_chart
from viz.shared.heatmap_figures import attention_map, difference_map
from viz.view import View, unedited
from viz.what_if import controls as what_if_controls
from viz.what_if import editor
from viz.what_if import texts as what_if_texts
from viz.what_if.switchboard import payload, switchboard

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.checkpoint import Checkpoint
    from model.experiments.effects import HeadEffect
    from model.inference.analysis import Analysis
    from model.inference.request import Request

CHART_HEIGHT = 220
MAP = {"width": 164, "height": 150, "labelled": False}


def main() -> None:
    view, faults = state.open_view("what if")
    controls.title_row(view, "What if", "What happens when I break it?", (300, 560, 96))
    body = st.container()
    try:
        with body, texts.waiting():
            page_data = cache.page_data(view)
        with body:
            effects = ranking(page_data.view)
    except ValueError as fault:
        with body:
            texts.sentence_notes((), faults)
            texts.fault(str(fault))
            controls.way_out(view)
            edit_list.rescue(view)
        state.settle(view)
        return
    analysis, loaded, aside = page_data.analysis, page_data.loaded, page_data.aside
    view = page_data.view.within(len((analysis.baseline or analysis).trace.outputs))
    mode = state.theme_mode()
    with body:
        editor.edit_bar(view, analysis, loaded, tuple(code for code, _ in aside))
        editor.questions(view)
        controls.given_target(view)
        try:
            editor.answer(view)
        except ValueError as fault:
            texts.fault(str(fault))
    with st.container(key="whatif"):
        left, right = st.columns([504, 520], gap="medium")
        with left:
            change_it(view, analysis, loaded, effects, mode)
        with right:
            what_happens(view, analysis, loaded, mode, (*faults, *page_data.faults))
            what_if_controls.largest_changes(effects, view)
    leaks(view, page_data.request)
    state.settle(view)


def ranking(view: View) -> tuple[HeadEffect, ...]:
    """What each head costs when it is off; its progress is shown where it takes a while."""
    place = st.empty()

    def show(share: float) -> None:
        if share < 1:
            place.progress(share, "Every head is switched off in turn")

    found = cache.head_effects(unedited(view.request()), view.device, show)
    place.empty()
    return found


def change_it(view: View, analysis: Analysis, loaded: Checkpoint, effects: tuple[HeadEffect, ...], mode: theme.Mode) -> None:
    """The switchboard, and the maps of one head before and after."""
    what_if_controls.matrix_picks(view)
    if any(view.place.covers(*site) for site in analysis.whole.patterns):  # else the maps below say what is not there
        key = ("switchboard", analysis.request, view.device, view.place, mode)
        data = cache.cached_figure(
            key, lambda: payload(analysis.whole, effects, view.place, analysis.request.intervention, mode)
        )
        switchboard(data, on_toggle=state.toggle_edit)
    what_if_controls.head_picks(view, loaded)
    with st.container(key="three_maps"):
        three_maps(view, analysis, mode)


def three_maps(view: View, analysis: Analysis, mode: theme.Mode) -> None:
    """The pattern of the chosen head before, after, and the difference where the tokens are the same."""
    site, head = Site(view.kind, view.layer - 1), None if view.head is None else view.head - 1
    if site not in analysis.whole.patterns:
        texts.note(f"This checkpoint has no layer {view.layer} here.")
        return
    before = (analysis.baseline or analysis).trace.view(site, head)
    after = analysis.whole.view(site, head)
    which = "mean" if head is None else f"head{head + 1}"

    def drawn(name: str) -> go.Figure:
        if name == "difference":
            change = after - before
            return difference_map(change.values, change.allowed | before.allowed, change.queries, change.keys, mode, **MAP)
        seen = before if name == "before" else after
        return attention_map(seen.values, seen.allowed, seen.queries, seen.keys, site.kind, mode, **MAP)

    same = (before.queries, before.keys) == (after.queries, after.keys)
    for column, name in zip(st.columns(3, gap="small"), ("before", "after", "difference"), strict=True):
        with column:
            texts.write(f'<p class="lab-note">{what_if_texts.MAP_NAMES[name]}</p>')
            if name == "difference" and not same:
                texts.note("The tokens differ: nothing to subtract.")
                continue
            key = ("whatif map", analysis.request, view.device, site, head, name, mode)
            figure = cache.cached_figure(key, lambda name=name: drawn(name))
            config = controls.picture(f"{site.kind}-layer{site.layer + 1}-{which}-{name}")
            alt = texts.map_alt(before if name == "before" else after, site, head, "attention")
            if name == "difference":
                alt = what_if_texts.difference_alt(after - before)
            st.plotly_chart(figure, theme=None, key=f"whatif-{name}", config=config, alt=f"{name}: {alt}")


def what_happens(view: View, analysis: Analysis, loaded: Checkpoint, mode: theme.Mode, faults: tuple[str, ...]) -> None:
    """Both translations, the probability of every token, and the step that is looked at; what could not be done."""
    what_if_controls.mode_picks(view)
    base = analysis.baseline or analysis
    texts.verdict(analysis)
    texts.sentence_notes(analysis.notes, faults)
    if analysis.baseline is None:
        what_if_texts.translation(base.translation, loaded.languages[1])
    else:
        texts.both_translations(analysis, loaded, given=view.mode == "given")
    probabilities = base.trace.probabilities, np.exp(analysis.baseline_token_log_probs)
    chart = change_chart(
        base.trace.outputs.labels, *probabilities, analysis.comparable, mode, CHART_HEIGHT, chosen=view.step - 1
    )
    texts.write('<h3 class="lab-label">Probability of the baseline’s token</h3>')
    texts.note("Hollow: before. Filled: after.")
    st.plotly_chart(
        chart, theme=None, key="change", config=controls.picture("probabilities"), alt=texts.change_alt(analysis)
    )
    controls.step_slider(view, base.trace.outputs.labels)
    what_if_controls.largest_step(analysis, view)
    what_if_texts.step_changes(analysis, view.step - 1, loaded.target_tokenizer)


def leaks(view: View, request: Request) -> None:
    """The leak test, where it was asked for."""
    with st.container(key="leaks"):
        texts.write('<h2 class="lab-label lab-rule">Is the mask right?</h2>')
        texts.note(
            "Changes each token that the decoder reads, and then what stands in the padding, and looks at every residual "
            "stream: what lies before a changed token, and every real token beside padding, must not move."
        )
        if not st.toggle("Test it, under the edits above", key="leak test"):
            return
        try:
            what_if_texts.leak_report(cache.leak_test(request, view.device))
        except ValueError as fault:
            texts.fault(str(fault))


main()
