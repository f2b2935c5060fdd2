"""Length: the cost of attention over longer and longer texts, and the patterns of cheaper ways."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.experiments import length_runs
from model.experiments.length_runs import LENGTHS, Limits, Run
from model.export.csv_tables import Cell, Table, grid_table, site_code
from model.network.attention_methods import METHODS
from model.trace import MapView
from viz import computations, theme
from viz.inside import length_texts, one_head
from viz.inside.inside_figures import Line, length_chart
from viz.inside.sizes import weighed
from viz.kit import button_groups, patterns, site_texts
from viz.kit.panel import FileOptions, Panel, Picture, where
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import MAX_NEAR
from viz.state.result_cache import cached_figure
from viz.state.work_queue import MEASURING

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.export.code import Code
    from model.readings.stages.layer_inputs import OtherPatterns

PART = {"part": "length"}
CHARTS = {"seconds": ("Time", length_texts.took), "bytes": ("Memory", weighed)}
TICKS = {
    "seconds": {10.0**n: length_texts.took(10.0**n) for n in range(-5, 3)},
    "bytes": {10.0**n: weighed(10**n) for n in range(4, 12)},
}
LIMITS = Limits()
MAPS = {"softmax": "Softmax, as it is", "linear": "Linear attention", "window": "Sliding window"}
_own: dict[str, Run] = {}  # the last run that was made here, for all visitors


def own() -> Run | None:
    """Returns the last run on this machine since the lab was started."""
    return _own.get("run")


def _run(context: PageContext) -> Run:
    """Returns the own run, or the one that comes with the lab."""
    return own() or length_runs.shipped_run()


# -- the cost of a text ------------------------------------------------------------------------------------------------


def _measuring_row(context: PageContext, run: Run) -> None:
    with st.container(key="length_run", horizontal=True, vertical_alignment="center", gap="small"):
        _measuring()
        # as any event of the page; the stylesheet shows it in time
        st.button("Stop", key="stop measuring", type="tertiary", on_click=session.mark_user_event)


@st.fragment
def _measuring() -> None:
    """Draws the button, the progress and the origin of the numbers. Only this fragment runs again."""
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
    """Returns a full run, one for all visitors at a time. Raises ValueError with one sentence."""

    def show_waiting(before: int) -> None:
        bar.progress(0.0, f"Another visitor measures: waiting, {before} before you")

    with MEASURING.slot(show_waiting), closing(length_runs.measure(LIMITS)) as runs:
        bar.progress(0.0, "Measuring: starts")
        run = None
        for run in runs:
            points = len(METHODS) * sum(n <= LIMITS.longest for n in LENGTHS)
            bar.progress(
                min(1.0, run.done / points), f"Measuring: {run.done} of {points} points, {LIMITS.total:.0f} s at most"
            )
    assert run is not None, "a run that says nothing raises"
    return run


@cached_figure
def _chart(what: str, made: Run | None, mode: theme.Mode) -> go.Figure:
    """Draws seconds or bytes: the stored run, thin if there is another."""
    stored = lines(what, length_runs.shipped_run(), is_faint=made is not None)
    return length_chart([*stored, *(lines(what, made) if made else ())], LENGTHS, TICKS[what], mode)


def lines(what: str, run: Run, is_faint: bool = False) -> list[Line]:
    """Returns a line for each way of a run."""
    written = CHARTS[what][1]
    made = []
    for style, way in enumerate(METHODS.values()):
        points = run.curves[way.name].points
        values = tuple(float(getattr(point, what)) for point in points)
        origin = "stored" if is_faint else "measured here" if run is own() else "stored"
        hover = tuple(
            f"<b>{way.title}</b>, {point.length:,} tokens<br>{written(value)}, {origin}"
            for point, value in zip(points, values, strict=True)
        )
        made.append(Line(way.title, style, tuple(point.length for point in points), values, hover, is_faint))
    return made


def alt_of(what: str, run: Run) -> str:
    """Describes the ends of all lines."""
    written = CHARTS[what][1]
    ends = [
        f"{line.title}: {written(line.values[0])} at {line.lengths[0]:,} tokens, "
        f"{written(line.values[-1])} at {line.lengths[-1]:,}"
        for line in lines(what, run)
        if line.values
    ]
    return "; ".join(ends) + "."


def _ways(context: PageContext, run: Run) -> str:
    """Returns the growth of each way, and where and why a way ends."""
    ways = tuple(METHODS.values())
    notes = (length_texts.departures(ways, run), length_texts.stops(ways, run), length_texts.SPREAD)
    growth = f'<div class="lab-answer">{text}</div>' if (text := length_texts.growth(ways, run)) else ""
    return growth + length_texts.ways_table(ways, run) + site_texts.note_markup(" ".join(filter(None, notes)))


def _large_text(title: str, context: PageContext, run: Run) -> str:
    growth = length_texts.growth(tuple(METHODS.values()), run)
    return f'<h2 class="lab-large-title">{title} against the length</h2><div class="lab-large">{growth}</div>'


def _run_tables(context: PageContext, run: Run) -> tuple[Table, ...]:
    rows: list[tuple[Cell, ...]] = []
    for source, each in (("stored", length_runs.shipped_run()), ("here", own())):
        for way, curve in each.curves.items() if each else ():
            rows += [(source, way, p.length, p.seconds, p.bytes, p.off) for p in curve.points]
    return (Table("lengths", ("run", "way", "tokens", "seconds", "bytes", "off"), tuple(rows)),)


def _run_code(code: Code, context: PageContext, run: Run) -> None:
    note = "time and memory; `measure(Limits())` measures again"
    code.add("run = shipped_run()", note, model__experiments__length_runs=("shipped_run",))


def _chart_panel(what: str) -> Panel:
    title = CHARTS[what][0]
    return Panel(
        f"inside.{what}",
        f"{title} by length",
        figure=lambda context, run: _chart(what, own(), context.mode),
        alt=lambda context, run: f"{title} against the length. {alt_of(what, run)}",
        compute=_run,
        text=lambda context, run: f'<h2 class="lab-label">{title}</h2>',
        is_visible=where(**PART),
        pictures=(Picture(title, fields=PART, text=partial(_large_text, title), height=470),),
        is_cached=False,
    )


MEASURE = Panel(
    "inside.measure",
    "Measured lengths",
    compute=_run,
    text=lambda context, run: site_texts.answer_markup("", length_texts.HOW),
    details=_measuring_row,
    tables=_run_tables,
    code=_run_code,
    is_visible=where(**PART),
)
SECONDS, MEMORY = map(_chart_panel, CHARTS)
WAYS = Panel("inside.ways", "Ways to compute attention", compute=_run, text=_ways, is_visible=where(**PART))


# -- the patterns of a head --------------------------------------------------------------------------------------------


def _maps(context: PageContext, found: OtherPatterns) -> dict[str, Any]:
    trace, (site, head, _) = context.analysis.trace, one_head.place(context)
    values = {"softmax": found.softmax, "linear": found.linear.values}
    if found.window is not None:
        values["window"] = found.window.values
    queries, keys = tuple(patterns.queries(trace, site)), tuple(patterns.keys(trace, site))
    made = [
        patterns.pattern(MapView(each[head], found.allowed[head], queries, keys), site.kind, MAPS[how])
        for how, each in values.items()
    ]
    return patterns.map_data(made, 1, context.mode)


def _window_slider(context: PageContext, found: OtherPatterns) -> None:
    site_texts.write('<h2 class="lab-label lab-rule">What would this head look at?</h2>')
    button_groups.draw("window_picks", one_head.head_groups(context))
    one_head.draw_faults(context)
    if one_head.site(context).spec.is_self:
        width = session.bind("window width", "near_width", context.view.near_width)
        st.slider("Width of the window", 1, MAX_NEAR, **width)


def _answer(context: PageContext, found: OtherPatterns) -> str:
    site, head, _ = one_head.place(context)
    text = length_texts.patterns(found, head, site.head_name(head), context.view.near_width)
    return f'<div class="lab-answer">{text}</div>'


def _patterns_text(context: PageContext, found: OtherPatterns) -> str:
    site, edits = one_head.site(context), context.view.intervention.edits
    is_overwritten = any("change_pattern" in edit.hooks and edit.acts_at(*site) for edit in edits)
    notes = (length_texts.WRITTEN_OVER if is_overwritten else "", length_texts.TRAINED)
    return _answer(context, found) + "".join(map(site_texts.note_markup, notes))


def _pattern_tables(context: PageContext, found: OtherPatterns) -> tuple[Table, ...]:
    trace, (site, head, _) = context.analysis.trace, one_head.place(context)
    maps = {"linear": found.linear, "window": found.window}
    return tuple(
        grid_table(
            f"{how}-{site_code(site, head)}", "query \\ key", trace.queries(site), trace.keys(site), each.values[head]
        )
        for how, each in maps.items()
        if each is not None
    )


def _pattern_code(code: Code, context: PageContext, found: OtherPatterns) -> None:
    head = one_head.place(context)[1]
    code.add(f"linear = result.linear.values[{head}]")
    if found.window is not None:
        code.add(f"window = result.window.values[{head}]")


PATTERNS = Panel(
    "inside.patterns",
    "Cheaper patterns of a head",
    patterns.COMPONENT,
    _maps,
    lambda context, found: {},
    call=lambda context: computations.OTHER_PATTERNS(one_head.site(context), context.view.near_width),
    controls=_window_slider,
    text=_patterns_text,
    tables=_pattern_tables,
    code=_pattern_code,
    is_visible=where(**PART),
    pictures=(Picture("Patterns", ".map", lambda context, found: {"large": True}, fields=PART, text=_answer),),
    bar=one_head.draw_head_bar,
    file=FileOptions(rounded=patterns.ROUNDED),
    reads=("kind", "layer", "head", "near_width"),
    follow=lambda context, found: {"step": context.view.step + 1},
)
