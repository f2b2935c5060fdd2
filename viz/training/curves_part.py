"""The curves of a training, with what they say."""

from __future__ import annotations

import html

import streamlit as st

from model.readings.heads.head_metrics import METRICS
from model.trace import site_kind
from model.workshop.training import run_listing
from model.workshop.training.history import History
from viz.kit import controls, site_texts
from viz.state import session
from viz.state.view import View
from viz.theme import SITE_NAMES, Mode
from viz.training import histories, loss_curves
from viz.training.curves_figures import DASHES, Line

DEFINITIONS = {  # what the sentences on the threshold compare, by whether it is self-attention
    True: "In self-attention, the share is a row’s weight on the token before its own.",
    False: "In cross-attention, it is the weight on the source token with the number of the predicted token.",
}
SIGNS = {"solid": "—", "dot": "···", "dash": "– –", "dashdot": "–·–"}
REACHES = [round(0.05 * n, 2) for n in range(2, 20)]


def three(name: str, history: History, stamp: histories.Stamp, mode: Mode) -> None:
    """Loss, scores and gradients beside one another."""
    with st.container(key="training_curves"):
        for column, what in zip(st.columns(3, gap="medium"), loss_curves.CURVES, strict=True):
            with column:
                one(name, history, stamp, what, mode)


def one(name: str, history: History, stamp: histories.Stamp, what: str, mode: Mode) -> None:
    """A chart with its title, what its lines are, and what they say."""
    found = loss_curves.curve(history, what)
    site_texts.write(f'<h3 class="lab-label">{html.escape(found.title)}</h3>')
    if found.lines:
        site_texts.write(legend(found.lines))
        figure = loss_curves.figure(name, history, stamp, what, mode)
        alt = f"{found.title} over the steps. {found.told}"
        st.plotly_chart(figure, theme=None, key=f"training {what}", config=controls.chart_config(found.title), alt=alt)
    site_texts.note(found.told)


def legend(lines) -> str:
    """What the lines of a chart are, each with its dashes."""
    parts = [
        f'<span><i class="{line.hue.replace("_", "-") or "ink"}" aria-hidden="true">{SIGNS[DASHES[n % len(DASHES)]]}</i> '
        f"{html.escape(line.name)}</span>"
        for n, line in enumerate(lines)
    ]
    return f'<p class="lab-training-lines">{"".join(parts)}</p>'


def kinds_legend(history: History, metric: str) -> str:
    """Which lines are heads of which kind of attention, of those that a metric is drawn of."""
    return legend([Line(SITE_NAMES[kind], (), (), f"{kind}_ink") for kind in loss_curves.kinds_of(history, metric)])


def heads(view: View, mode: Mode, history: History, stamp: histories.Stamp) -> None:
    """A number of every head over the steps, and the first recorded step at which a head reaches the threshold."""
    name = histories.chosen(view)
    site_texts.write('<h3 class="lab-label lab-rule">Every head, over the steps</h3>')
    with st.container(key="training_heads_row", horizontal=True, vertical_alignment="center", gap="small"):
        metric_pick(view)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", width=320):  # one row on a phone too
            site_texts.label("Threshold")
            st.select_slider(
                "Threshold",
                options=sorted({*REACHES, view.reach}),
                format_func=lambda value: f"{value:.2f}",
                label_visibility="collapsed",
                **session.bind("training reach", "reach", view.reach),
            )
    site_texts.write(kinds_legend(history, view.grown))
    draw_heads(view, mode, history, stamp)
    for found in loss_curves.appeared(name, stamp, view.reach):
        with st.container(key=f"training_appeared_{found.kind}", horizontal=True, vertical_alignment="center", gap="small"):
            site_texts.label(found.told)
            st.button("Show it there", key=f"show {found.kind} head", type="tertiary", on_click=_show, args=(found, history))
    site_texts.note(
        "Thin lines are heads, in the colour and dashes of their kind; the thick one is the chosen head. "
        + measured(history)
    )


def _show(found: loss_curves.Appeared, history: History) -> None:
    """The head and the step that a sentence names."""
    assert history.recording is not None
    last = history.recording.steps[-1]
    at = None if found.step == last else found.step
    session.change(kind=found.kind, layer=found.layer, head=found.head, trained=at)


def measured(history: History) -> str:
    """Defines the shares that the sentences on the threshold compare, for the kinds of attention that were recorded, and how
    many rows each mean has."""
    from model.workshop.training.recording import count_rows

    recording = history.recording
    assert recording is not None
    told, counts = {}, []
    for kind in recording.kinds:
        is_self = site_kind(kind).is_self
        told[is_self] = DEFINITIONS[is_self]
        counted, total = count_rows(recording, kind, loss_curves.PREVIOUS if is_self else loss_curves.DIAGONAL)
        counts.append(f"{SITE_NAMES[kind].lower()} {counted:,} of {total:,}")
    where = "the sentence" if len(recording.sentences) == 1 else f"all {len(recording.sentences)} sentences"
    left_out = f"Each mean leaves out rows without such a token. Rows counted, over {where}: {', '.join(counts)}."
    return " ".join([*told.values(), left_out])


def metric_pick(view: View) -> None:
    """Which number of the heads."""
    st.selectbox(
        "Number",
        list(METRICS),
        format_func=lambda n: (
            METRICS[n].label + (" (diagonal)" if n == loss_curves.DIAGONAL else "") if n in METRICS else str(n)
        ),
        label_visibility="collapsed",
        **session.bind("training metric", "grown", view.grown),
    )


def draw_heads(view: View, mode: Mode, history: History, stamp: histories.Stamp, height: int = 300) -> None:
    """The chart of all heads."""
    figure = loss_curves.heads_figure(
        histories.chosen(view),
        run_listing.recording_stamps(stamp),
        view.grown,
        chosen(view, history),
        view.reach,
        mode,
        height,
    )
    label = METRICS[view.grown].label
    alt = f"{label} of every head over the recorded steps; the chosen head is thick"
    st.plotly_chart(
        figure, theme=None, key="training heads", config=controls.chart_config(f"{label} of every head"), alt=alt
    )


def chosen(view: View, history: History) -> tuple[str, int, int | None]:
    """The head that is emphasised: of the view's kind, or the first one that is drawn; from 0."""
    kinds = loss_curves.kinds_of(history, view.grown) or history.recording.kinds
    return (view.kind if view.kind in kinds else kinds[0], view.layer, view.head)
