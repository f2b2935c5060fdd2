"""The key-value cache: how it grows with the steps, and what it saves on this machine."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING
from weakref import ref

import streamlit as st

from viz import cache, readings, state, theme
from viz.keep import cached_figure
from viz.shared import controls, texts
from viz.translate import cache_texts, key_values
from viz.translate.cache_figure import cache_chart
from viz.turns import MEASURING

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.experiments.caching import Caching
    from viz.view import View

MEASURED = "cache measured"  # session key: whose, and the run
TOLD_EVERY = 0.2  # seconds between two words on how far it is


def held(view: View, page_data: cache.PageData, trace: str, mode: theme.Mode, above: int | None = None) -> bool:
    """What every layer holds after the step that the timeline tells; False, and a sentence, where nothing can be kept.
    `above`: in lecture mode, px of the stage that stand above it."""
    from model.readings.key_values import keeps

    if not keeps(page_data.loaded, page_data.analysis):
        texts.note(cache_texts.NOTHING_KEPT)
        return False
    found = readings.key_values(page_data.request, view.device)
    data = key_values.payload(found, page_data.analysis, trace, page_data.loaded.config.window)
    hues = {"style": {"--hue": theme.HUES["decoder"], "--tint": theme.scale("decoder", mode, 101)[30]}}
    key_values.key_values(data | hues, view.step, above)
    return True


def growth(view: View, page_data: cache.PageData, trace: str, mode: theme.Mode) -> None:
    """What every layer holds after the step that the timeline tells; below it what was measured."""
    if held(view, page_data, trace, mode) and (run := _measured(page_data)):
        texts.write('<h2 class="lab-label lab-rule">Time to write so many tokens</h2>')
        config = controls.picture("Time with the cache and without")
        st.plotly_chart(drawn(run, mode), theme=None, key="cache-time", config=config, alt=cache_texts.alt(run))


def saving(view: View, page_data: cache.PageData) -> None:
    """What the cache saves here, once it was asked for."""
    from model.experiments.caching import longest
    from model.readings.key_values import keeps

    if not keeps(page_data.loaded, page_data.analysis):
        return
    texts.write('<h2 class="lab-label">What does it save?</h2>')
    if run := _measured(page_data):
        texts.write(cache_texts.headline(run))
        for told in (cache_texts.last_step(run), cache_texts.same(run, page_data.analysis.begun), cache_texts.early(run)):
            if told:
                texts.note(told)
        texts.note(cache_texts.HOW)
    else:
        texts.note(cache_texts.WHAT.format(longest(page_data.loaded)))
    _measuring(page_data)


def _whose(page_data: cache.PageData) -> tuple[object, ...]:
    """What a run belongs to; a checkpoint that was read anew is another one, also where it got the place of the old one in
    memory."""
    analysis = page_data.analysis
    source = analysis.trace.source and analysis.trace.source.ids
    return ref(page_data.loaded), source, analysis.trace.outputs.ids[: analysis.begun]


def _measured(page_data: cache.PageData) -> Caching | None:
    kept = state.kept(MEASURED)
    return kept[1] if kept and kept[0] == _whose(page_data) else None


@st.fragment
def _measuring(page_data: cache.PageData) -> None:
    """The buttons, and how far it is. Only this place runs anew while it is measured; any event of the page ends it."""
    with st.container(key="cache_measure", gap="small"):
        is_asked = st.button("Measure on this machine", key="measure cache", width="stretch")
        place = st.empty()
        st.button("Stop", key="stop measuring", type="tertiary")
    if is_asked:
        state.keep(MEASURED, (_whose(page_data), _run(page_data, place)))
        state.hear()
        st.rerun()


def _run(page_data: cache.PageData, bar: st.delta_generator.DeltaGenerator) -> Caching:
    from model.experiments.caching import ROUNDS, longest, measure

    loaded, (_, source, begun) = page_data.loaded, _whose(page_data)
    limit, told = longest(loaded), 0.0

    def waits(before: int) -> None:
        bar.progress(0.0, f"Another visitor measures: waiting, {before} before you")

    with MEASURING.turn(waits), closing(measure(loaded, source, begun, limit)) as heard:
        bar.progress(0.0, "Measuring: starts")
        for run in heard:
            if time.monotonic() > told + TOLD_EVERY:
                told = time.monotonic()
                bar.progress(run.done / (ROUNDS * limit), f"Measuring: {run.done} of {ROUNDS * limit} steps")
    return run


@cached_figure
def drawn(run: Caching, mode: theme.Mode) -> go.Figure:
    """Both curves."""
    return cache_chart(run.cached, run.whole, mode)
