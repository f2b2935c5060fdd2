"""Translate: what does it say, and why this word?"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.trace import KINDS, Site
from viz import cache, state, theme
from viz.shared import controls, edit_list, texts
from viz.shared.change_figure import change_chart
from viz.shared.heatmap_figures import attention_map, mask_map
from viz.translate import candidates
from viz.translate import controls as decoding_controls
from viz.translate import texts as translate_texts
from viz.translate.timeline import payload, timeline
from viz.view import View, unedited

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

MAP_HEIGHT = 236
CHART_HEIGHT = 210
SURPRISE_HEIGHT = 176


def main() -> None:
    view, faults = state.open_view("translate")
    texts.heading("Translate", "What does it say, and why this word?")
    with st.container(key="stage"):
        left, _ = st.columns(2, gap="medium")
        with left:
            heading, count = controls.sentence_box(view, cache.languages(view.checkpoint, view.device)[0])
            below = st.container(gap=None)
        rest = st.container()
    try:
        with rest, texts.waiting():
            page_data = cache.page_data(view)
            effects = cache.mask_effects(unedited(page_data.request), view.device)
    except ValueError as fault:
        with below:
            texts.sentence_notes((), faults)
            controls.given_target(view)
        with rest:
            texts.fault(str(fault))
            controls.way_out(view)
            edit_list.rescue(view)
        state.settle(view)
        return
    analysis, languages = page_data.analysis, page_data.loaded.languages
    view = page_data.view.within(len(analysis.trace.outputs))
    with heading:
        texts.language(languages[0])
    with count:
        translate_texts.token_count(analysis)
    with below:
        texts.sentence_notes(analysis.notes, (*faults, *page_data.faults))
        if view.show != "decoding":
            controls.given_target(view)
            decoding_controls.branch_chips(view, page_data)
        edit_list.other_edits(view, analysis, masks=False)
    mode = state.theme_mode()
    with rest:
        decoding_controls.sentences(view, page_data, languages[1])
        draw_steps(view, page_data, mode)
    if view.guess:
        decoding_controls.guessing(view)
        state.settle(view)
        return
    with st.container(key="lower"):
        left, right = st.columns([760, 240], gap="medium")
        with left:
            controls.layer_and_head(view, page_data.layers, page_data.loaded.config.heads)
            if view.show == "decoding":
                own = dataclasses.replace(page_data.request, target=None)
                decoding_controls.panel(view, page_data, lambda: cache.analyse(own, view.device), mode, SURPRISE_HEIGHT)
            else:
                with st.container(key="maps"):
                    draw_maps(analysis, view, mode)
        with right:
            if view.show == "decoding":
                decoding_controls.strategy(view)
            else:
                controls.mask_switches(view, effects)
    if analysis.baseline is not None:
        draw_changes(analysis, page_data.loaded, mode)
    state.settle(view)


def draw_steps(view: View, page_data: cache.PageData, mode: theme.Mode) -> None:
    """The timeline, and the candidates of its step."""
    analysis, layer, head = page_data.analysis, view.layer - 1, head_of(view)
    key = ("timeline", page_data.request, view.device, layer, head, mode)
    data = cache.cached_figure(key, lambda: payload(analysis, page_data.loaded, layer, head, 1, mode))
    with st.container(key="steps"):
        steps, side = st.columns([760, 240], gap="medium")
    with steps:
        follow = {"step": view.step, "rows": view.rows, "guess": view.guess}
        timeline(data | follow, lambda step: state.change(step=step), lambda rows: state.change(rows=rows))
    with side:
        drawing = view.controls
        key = ("candidates", page_data.request, drawing, view.device, mode)
        tokenizer, trace = page_data.loaded.target_tokenizer, data["trace"]
        rows = cache.cached_figure(key, lambda: candidates.payload(analysis, tokenizer, drawing, trace, mode))
        told = state.complaint("word")
        candidates.candidates(
            rows | {"step": view.step, "guess": view.guess, "fault": told[1] if told else ""},
            on_branch=lambda step, token: decoding_controls.branch(page_data, step, token),
            on_word=lambda step, text: decoding_controls.word(page_data, step, text),
            on_guess=lambda on: state.change(guess=on),
        )


def head_of(view: View) -> int | None:
    """The head that is shown, from 0; None for the mean."""
    return None if view.head is None else view.head - 1


def draw_maps(analysis: Analysis, view: View, mode: theme.Mode) -> None:
    """The three maps of one layer: over the whole target, so that they do not follow the step."""
    trace, layer, head, show = analysis.whole, view.layer - 1, head_of(view), view.show
    for column, kind in zip(st.columns(3, gap="small"), KINDS, strict=True):
        site = Site(kind, layer)
        with column:
            texts.site_title(kind)
            if site not in trace.patterns:
                texts.note(f"This checkpoint has no layer {layer + 1} here.")
                continue
            key = ("map", analysis.request, view.device, site, head, show, mode)
            figure, alt = cache.cached_figure(key, lambda site=site: draw_map(analysis, site, head, show, mode))
            which = "mean" if head is None else f"head{head + 1}"
            config = controls.picture(f"{kind}-layer{layer + 1}-{which}-{show}")
            st.plotly_chart(figure, theme=None, key=f"map-{kind}", config=config, alt=alt)
    translate_texts.map_caption(analysis, show)


def draw_map(analysis: Analysis, site: Site, head: int | None, show: str, mode: theme.Mode) -> tuple[go.Figure, str]:
    """One map, and the same in words."""
    seen = analysis.whole.view(site, head)
    labels = {"queries": seen.queries, "keys": seen.keys}
    sizes = {"mode": mode, "height": MAP_HEIGHT, "former": analysis.former_mask(site, head)}
    if show == "mask":
        figure = mask_map(seen.allowed, **labels, **sizes)
    else:
        figure = attention_map(seen.values, seen.allowed, **labels, kind=site.kind, **sizes)
    return figure, texts.map_alt(seen, site, head, show)


def draw_changes(analysis: Analysis, loaded: Checkpoint, mode: theme.Mode) -> None:
    """What the edits did: both translations where tokens were chosen anew, and the probability of every token."""
    base = analysis.baseline
    translate_texts.change_heading(analysis)
    if analysis.request.mode == "again":
        texts.both_translations(analysis, loaded)
    probabilities = base.trace.probabilities, np.exp(analysis.baseline_token_log_probs)
    chart = change_chart(base.trace.outputs.labels, *probabilities, analysis.comparable, mode, CHART_HEIGHT)
    st.plotly_chart(
        chart, theme=None, key="change", config=controls.picture("probabilities"), alt=texts.change_alt(analysis)
    )


main()
