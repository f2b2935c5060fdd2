"""Inside, length: what attention costs over longer and longer texts, and what cheaper ways would look at."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.experiments import length_runs
from model.experiments.length_runs import LENGTHS, Limits, Run
from model.inference.request import Request
from model.network.attention_methods import METHODS
from model.trace import Site
from viz import cache, computations, theme
from viz.classroom import lecture
from viz.inside import length_texts, one_head
from viz.inside.length_figure import Line, length_chart
from viz.inside.sizes import weighed
from viz.kit import controls, sides, site_texts
from viz.kit.heatmap_figures import attention_map
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import MAX_NEAR
from viz.state.result_cache import cached_figure
from viz.state.view import View
from viz.state.work_queue import MEASURING

if TYPE_CHECKING:
    import plotly.graph_objects as go

CHARTS = {"seconds": ("Time", length_texts.took), "bytes": ("Memory", weighed)}
TICKS = {
    "seconds": {10.0**n: length_texts.took(10.0**n) for n in range(-5, 3)},
    "bytes": {10.0**n: weighed(10**n) for n in range(4, 12)},
}
LIMITS = Limits()
MAPS = {"softmax": "Softmax, as it is", "linear": "Linear attention", "window": "Sliding window"}
MAP_SIZE = 336  # px
HALL, LEFT = 1.7, 470  # how many times as large a chart is in lecture mode, and the pixels that are left for it there
_own: dict[str, Run] = {}  # the last run that was made here, for all visitors


def own() -> Run | None:
    """What was measured last on this machine since the lab was started."""
    return _own.get("run")


def draw(context: PageContext, view: View, mode: theme.Mode) -> None:
    """Both charts and what they say; then the patterns of this sentence's head."""
    ways, run = tuple(METHODS.values()), own() or length_runs.shipped_run()
    site_texts.note(length_texts.HOW)
    with st.container(key="length_run", horizontal=True, vertical_alignment="center", gap="small"):
        _measuring()
        # as any event of the page; the stylesheet shows it in time
        st.button("Stop", key="stop measuring", type="tertiary", on_click=session.mark_user_event)
    for column, (what, (title, _)) in zip(st.columns(2, gap="medium"), CHARTS.items(), strict=True):
        with column:
            site_texts.write(f'<h2 class="lab-label">{title}</h2>')
            figure = drawn(what, own(), mode)
            alt = f"{title} against the length. {alt_of(what, run)}"
            st.plotly_chart(
                figure, theme=None, key=f"length-{what}", config=controls.chart_config(f"{title} by length"), alt=alt
            )
    if told := length_texts.growth(ways, run):
        site_texts.write(f'<div class="lab-answer">{told}</div>')
    site_texts.write(length_texts.ways_table(ways, run))
    told = (length_texts.departures(ways, run), length_texts.stops(ways, run), length_texts.SPREAD)
    site_texts.note(" ".join(filter(None, told)))
    site_texts.write('<h2 class="lab-label lab-rule">What would this head look at?</h2>')
    _patterns(context, view, mode)


def large(context: PageContext) -> None:
    """One of the charts over the whole page, and what it says."""
    lecture.add_walk_keys("memory, after time", "the one before", _walk)
    what, (title, _) = list(CHARTS.items())[lecture.picture(context.view, len(CHARTS)) - 1]
    ways, run = tuple(METHODS.values()), own() or length_runs.shipped_run()
    site_texts.write(f'<h2 class="lab-large-title">{title} against the length</h2>')
    if told := length_texts.growth(ways, run):
        site_texts.write(f'<div class="lab-large">{told}</div>')
    with lecture.chart_container(HALL):
        figure = drawn(what, own(), context.mode, lecture.chart_height(LEFT, HALL))
        lecture.draw_chart(
            f"{title} by length", f"length-{what}", figure, f"{title} against the length. {alt_of(what, run)}"
        )


def _walk(by: int) -> None:
    session.change(large=(lecture.picture(session.current_view(), len(CHARTS)) - 1 + by) % len(CHARTS) + 1)


@st.fragment
def _measuring() -> None:
    """The button, how far it is, and whose numbers are shown. Only this place runs anew: all else stays as it is."""
    with st.container(key="length_measure", horizontal=True, vertical_alignment="center", gap="small"):
        is_asked, place = st.button("Measure on this machine", key="measure lengths"), st.empty()
    if is_asked:
        try:
            _own["run"] = _measured(place)
        except ValueError as fault:
            with place:
                site_texts.fault(str(fault))
            return
        session.mark_user_event()
        st.rerun()
    with place:
        made, ready = own(), length_runs.shipped_run()
        if made is None:
            site_texts.note(f"Shown: a run that comes with the lab ({length_texts.machine(ready)}).")
        else:
            thin = length_texts.machine(ready)
            site_texts.note(
                f"Shown: measured here ({length_texts.machine(made)}); thin: the run that comes with the lab ({thin})."
            )


def _measured(bar: st.delta_generator.DeltaGenerator) -> Run:
    """The whole run, one for all visitors at a time, its progress in a place; ValueError where there is none."""

    def told(before: int) -> None:
        bar.progress(0.0, f"Another visitor measures: waiting, {before} before you")

    with MEASURING.slot(told), closing(length_runs.measure(LIMITS)) as heard:
        bar.progress(0.0, "Measuring: starts")
        run = None
        for run in heard:
            points = len(METHODS) * sum(n <= LIMITS.longest for n in LENGTHS)
            bar.progress(
                min(1.0, run.done / points), f"Measuring: {run.done} of {points} points, {LIMITS.total:.0f} s at most"
            )
    assert run is not None, "a run that says nothing raises"
    return run


@cached_figure
def drawn(what: str, made: Run | None, mode: theme.Mode, height: int = 292) -> go.Figure:
    """One chart, by what is measured: the stored run, thin where there is another."""
    stored = lines(what, length_runs.shipped_run(), is_faint=made is not None)
    return length_chart([*stored, *(lines(what, made) if made else ())], LENGTHS, TICKS[what], mode, height)


def lines(what: str, run: Run, is_faint: bool = False) -> list[Line]:
    """A line for each way of a run."""
    written = CHARTS[what][1]
    made = []
    for style, way in enumerate(METHODS.values()):
        points = run.curves[way.name].points
        values = tuple(float(getattr(point, what)) for point in points)
        told = "stored" if is_faint else "measured here" if run is own() else "stored"
        hover = tuple(
            f"<b>{way.title}</b>, {point.length:,} tokens<br>{written(value)}, {told}"
            for point, value in zip(points, values, strict=True)
        )
        made.append(Line(way.title, style, tuple(point.length for point in points), values, hover, is_faint))
    return made


def alt_of(what: str, run: Run) -> str:
    """The ends of all lines in words."""
    written = CHARTS[what][1]
    ends = [
        f"{line.title}: {written(line.values[0])} at {line.lengths[0]:,} tokens, "
        f"{written(line.values[-1])} at {line.lengths[-1]:,}"
        for line in lines(what, run)
        if line.values
    ]
    return "; ".join(ends) + "."


# -- the patterns of a head --------------------------------------------------------------------------------------------


def _patterns(context: PageContext, view: View, mode: theme.Mode) -> None:
    site, head, _ = one_head.chosen(context, view)
    if site.spec.is_self:
        with st.container(key="length_window"):
            st.slider("Width of the window", 1, MAX_NEAR, **session.bind("window width", "near_width", view.near_width))
    found = computations.other_patterns(context.request, view.device, site, view.near_width)
    name = f"{theme.SITE_NAMES[site.kind]} L{site.layer + 1}, head {head + 1}"
    site_texts.write(f'<div class="lab-answer">{length_texts.patterns(found, head, name, view.near_width)}</div>')
    shown = [how for how in MAPS if getattr(found, how) is not None]
    with st.container(key="length_patterns"):
        for column, how in zip(st.columns(len(MAPS), gap="medium"), shown, strict=False):
            with column:
                title = MAPS[how]
                site_texts.write(f'<h3 class="lab-label">{title}</h3>')
                figure = pattern_map(context.request, view.device, site, head, view.near_width, how, mode)
                alt = f"{title}: {name}, {found.softmax.shape[1]} queries by {found.softmax.shape[2]} keys."
                st.plotly_chart(figure, theme=None, key=f"length-{how}", config=controls.chart_config(title), alt=alt)
    if any("change_pattern" in edit.hooks and edit.acts_at(*site) for edit in view.intervention.edits):
        site_texts.note(length_texts.WRITTEN_OVER)
    site_texts.note(length_texts.TRAINED)


@cached_figure
def pattern_map(request: Request, device: str, site: Site, head: int, width: int, how: str, mode: theme.Mode) -> go.Figure:
    """One of the patterns of a head, from 0, as a map."""
    found, trace = computations.other_patterns(request, device, site, width), cache.analyse(request, device).trace
    values: np.ndarray = found.softmax if how == "softmax" else getattr(found, how).values
    queries, keys = sides.queries(trace, site), sides.keys(trace, site)
    return attention_map(values[head], found.allowed[head], queries, keys, site.kind, mode, MAP_SIZE, MAP_SIZE)
