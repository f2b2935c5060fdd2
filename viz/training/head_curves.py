"""A metric of every head over the recorded steps, and the first step at which a head reaches a threshold."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from model.export.csv_tables import Table
from model.io import numbers
from model.readings.heads.corpus_roles import corpus_roles
from model.readings.heads.head_metrics import METRICS
from model.text.route_heads import CARRIES, ROLE
from model.trace import SITE_KINDS, Site, site_kind
from viz import theme
from viz.kit import charts, site_texts
from viz.kit.panel import Panel, Picture
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached, cached_figure
from viz.state.view import View
from viz.training import histories
from viz.training.curves_figures import heads_chart
from viz.training.histories import OpenHistory
from viz.training.player import PLAYER, list_keys

if TYPE_CHECKING:
    from model.export.code import Code
    from model.text.route_heads import RouteHead, RouteHeads
    from model.workshop.training.recording import Recording

TITLE = "Every head, over the training steps"
PREVIOUS, DIAGONAL = "previous", "same"
# Rows that have a share, by whether it is self-attention.
SHARE_ROWS = {True: "a previous token", False: "a source token on the diagonal"}
DEFINITIONS = {  # shares that the sentences on the threshold compare, by whether it is self-attention
    True: "In self-attention, the share is a row’s weight on the token before its own.",
    False: "In cross-attention, it is the weight on the source token with the number of the predicted token.",
}
THRESHOLDS = [round(0.05 * n, 2) for n in range(2, 20)]


def kinds_of(opened: OpenHistory, metric: str) -> tuple[str, ...]:
    """Returns the kinds of attention with this metric."""
    return _kinds(opened.recording_key, metric, opened.recording)


@cached(256, ignore=("recording",))
def _kinds(key: tuple[Hashable, ...], metric: str, recording: Recording) -> tuple[str, ...]:
    from model.workshop.training.recording import is_applicable

    return tuple(kind for kind in recording.kinds if is_applicable(recording, kind, metric))


class Appeared(NamedTuple):
    """A sentence on the first head of a kind that reaches the threshold, with that head and step. If no head reaches it,
    the sentence names the head with the largest number. Layer and head from 0."""

    sentence: str
    kind: str
    layer: int
    head: int
    step: int


def appeared(opened: OpenHistory, threshold: float) -> tuple[Appeared, ...]:
    """Returns a sentence for each kind of attention: the first recorded step at which a head reaches the threshold, by its
    weight on the previous token (self-attention) or on the diagonal (cross-attention)."""
    return _appeared(opened.recording_key, threshold, opened)


@cached(256, ignore=("opened",))
def _appeared(key: tuple[Hashable, ...], threshold: float, opened: OpenHistory) -> tuple[Appeared, ...]:
    from model.workshop.training.recording import find_emergence

    steps, every = opened.recording.steps, []
    for kind in opened.recording.kinds:
        is_self = SITE_KINDS[kind].is_self
        values = np.nan_to_num(histories.scores(opened, kind, PREVIOUS if is_self else DIAGONAL))
        first = find_emergence(values, steps, threshold)
        best = first or find_emergence(values, steps, float(values.max()))
        assert best is not None
        mean, head = f"the mean over rows that have {SHARE_ROWS[is_self]}", Site(kind, best.layer).head_name(best.head)
        step, score = f"{best.step:,}", numbers.probability(best.score)
        sentence = f"{head} first reaches {threshold:.2f} at recorded training step {step} ({score}, {mean})."
        if first is None:
            largest = "just below it" if score == f"{threshold:.2f}" else score
            sentence = (
                f"{theme.SITE_NAMES[kind]}: no head reaches {threshold:.2f} at a recorded training step; the largest is "
                f"{largest}, at training step {step} ({head}; {mean})."
            )
        every.append(Appeared(sentence, kind, best.layer, best.head, best.step))
    return tuple(every)


@cached(64, ignore=("recording",))
def _measured(key: tuple[Hashable, ...], recording: Recording) -> str:
    """Defines the shares that the sentences on the threshold compare, and counts the rows of each mean."""
    from model.workshop.training.recording import count_rows

    definitions, counts = {}, []
    for kind in recording.kinds:
        is_self = site_kind(kind).is_self
        definitions[is_self] = DEFINITIONS[is_self]
        counted, total = count_rows(recording, kind, PREVIOUS if is_self else DIAGONAL)
        counts.append(f"{theme.SITE_NAMES[kind].lower()} {counted:,} of {total:,}")
    where = "the sentence" if len(recording.sentences) == 1 else f"all {len(recording.sentences)} sentences"
    left_out = f"Each mean leaves out rows without such a token. Rows counted, over {where}: {', '.join(counts)}."
    return " ".join([*definitions.values(), left_out])


def _chosen(view: View, opened: OpenHistory) -> tuple[str, int, int | None]:
    """Returns the emphasised head: of the view's kind, or of the first one that is drawn; from 0."""
    kinds = kinds_of(opened, view.grown) or opened.recording.kinds
    return (view.kind if view.kind in kinds else kinds[0], view.layer, view.head)


@partial(cached_figure, ignore=("opened",))
def _chart_data(
    key: tuple[Hashable, ...],
    metric: str,
    chosen: tuple[str, int, int | None],
    threshold: float | None,
    mode: theme.Mode,
    opened: OpenHistory,
) -> dict[str, Any]:
    values = {kind: histories.scores(opened, kind, metric) for kind in kinds_of(opened, metric)}
    of, steps = METRICS[metric], opened.recording.steps
    title = of.label + (f", {of.unit}" if of.unit else "")
    figure = heads_chart(values, steps, chosen, theme.SITE_NAMES, title, mode, threshold)
    return charts.payload([charts.Chart(TITLE, "The thick line is the chosen head.", figure)], columns=1)


def _payload(context: PageContext, opened: OpenHistory) -> dict[str, Any]:
    view = context.view
    threshold = view.reach if view.grown in (PREVIOUS, DIAGONAL) else None
    return _chart_data(opened.recording_key, view.grown, _chosen(view, opened), threshold, context.mode, opened)


def _controls(context: PageContext, opened: OpenHistory) -> None:
    """Draws the choice of metric and threshold."""
    view = context.view
    with st.container(key="training_heads_row", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox(
            "Metric of every head",
            list(METRICS),
            format_func=lambda n: (METRICS[n].label if n in METRICS else str(n)) + (" (diagonal)" if n == DIAGONAL else ""),
            width=230,
            **session.bind("training metric", "grown", view.grown),
        )
        st.select_slider(
            "Threshold",
            options=sorted({*THRESHOLDS, view.reach}),
            format_func=lambda value: f"{value:.2f}",
            width=180,
            **session.bind("training reach", "reach", view.reach),
        )
        for each in appeared(opened, view.reach):
            text = f"Show {Site(each.kind, each.layer).head_name(each.head)}, training step {each.step:,}"
            st.button(text, key=f"show {each.kind} head", on_click=_show, args=(each, opened.recording.steps))


def _show(each: Appeared, steps: tuple[int, ...]) -> None:
    """Shows the head and the step that a sentence names. For callbacks."""
    step = None if each.step == steps[-1] else each.step
    session.change(kind=each.kind, layer=each.layer, head=each.head, trained=step)


def _text(context: PageContext, opened: OpenHistory) -> str:
    """Returns the first step at the threshold of each kind of attention, the head's role after training, and definitions."""
    sentences = [each.sentence + _trained_role(context, opened, each) for each in appeared(opened, context.view.reach)]
    notes = (*sentences, _measured(opened.recording_key, opened.recording), _route_text(context, opened))
    return "".join(map(site_texts.note_markup, filter(None, notes)))


def _is_own(context: PageContext, opened: OpenHistory) -> bool:
    """Returns True for the history of the chosen checkpoint; the heads of another history are those of another model."""
    return not opened.is_run and opened.name == context.view.checkpoint


def _route_text(context: PageContext, opened: OpenHistory) -> str:
    """Returns the shares of the heads with the role of the route, at each measured step; empty without earlier steps."""
    measured = context.loaded.route_heads if _is_own(context, opened) else None
    if measured is None or measured.step is None or not measured.earlier:
        return ""
    every = (*measured.earlier, measured)
    heads = [head for head in measured.heads if head.share >= CARRIES]
    steps = ", ".join(f"{each.sentences:,} at training step {each.step:,}" for each in every)
    shares = [f"{head.name}: {', then '.join(_share(each, head) for each in every)}" for head in heads]
    if not heads:
        return ""
    return (
        f"Each of these heads {ROLE}, in a share of the sentences where the right one leads ({steps}). {'; '.join(shares)}."
    )


def _share(measured: RouteHeads, head: RouteHead) -> str:
    own = measured.find(head.site, head.layer, head.head)
    share, (low, high) = (own.share, (own.low, own.high)) if own else (0.0, numbers.wilson_interval(0, measured.sentences))
    return f"{share:.0%} ({100 * low:.0f} to {100 * high:.0f})"


def _trained_role(context: PageContext, opened: OpenHistory, each: Appeared) -> str:
    """Returns the role of a head of this checkpoint over its corpus; empty for another history, or without statistics."""
    statistics = context.loaded.head_statistics if _is_own(context, opened) else None
    if statistics is None:
        return ""
    found = corpus_roles(statistics.head(each.kind, each.layer, each.head), context.loaded.route_heads)
    if not found:
        return f" After training it has no named role over {statistics.summary.sentences:,} sentences."
    return "".join(f" After training: {role.name}. {role.sentence}" for role in found)


def _first_text(context: PageContext, opened: OpenHistory) -> str:
    return site_texts.note_markup(appeared(opened, context.view.reach)[0].sentence)


def _tables(context: PageContext, opened: OpenHistory) -> tuple[Table, ...]:
    """Returns a row for every head and step."""
    rows, metric = [], context.view.grown
    for kind in kinds_of(opened, metric):
        for (n, layer, head), value in np.ndenumerate(histories.scores(opened, kind, metric)):
            number = None if np.isnan(value) else float(value)
            rows.append((kind, layer + 1, head + 1, opened.recording.steps[n], number))
    return (Table("training-heads", ("kind", "layer", "head", "step", metric), tuple(rows)),) if rows else ()


def _code(code: Code, context: PageContext, opened: OpenHistory) -> None:
    metric = context.view.grown
    code.add(
        f"by_head = {{kind: head_scores(history.recording, kind, {metric!r}) for kind in {kinds_of(opened, metric)!r}}}",
        "steps, layers, heads",
        model__workshop__training__recording=("head_scores",),
    )


def _is_visible(context: PageContext) -> bool:
    opened = histories.find_history(context)
    return opened is not None and opened.history.recording is not None


HEADS = Panel(
    "training.heads",
    TITLE,
    charts.COMPONENT,
    _payload,
    compute=histories.open_history,
    controls=_controls,
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=_is_visible,
    pictures=(Picture("Heads", ".chart", lambda context, opened: {"large": 0}, (PLAYER.name,), text=_first_text, number=4),),
    keys=lambda context, opened: list_keys(),
    is_independent=True,
    is_cached=False,  # the files of a run change; `_chart_data` caches by their times
    seen_key=lambda context: (),
)
