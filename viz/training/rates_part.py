"""The schedule of the learning rate, and label smoothing on a real row."""

from __future__ import annotations

import dataclasses
import html
from typing import TYPE_CHECKING

import streamlit as st

from model import format
from model.inference.reading import blank_places, likeliest
from model.inference.request import Request
from model.training.history import History
from viz import cache, state, uploads
from viz.shared import controls, texts
from viz.shared.shown import Shown
from viz.theme import Mode
from viz.training import histories, rates
from viz.training.curves_figures import target_bars
from viz.training.curves_part import legend
from viz.view import View

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.training.recording import Sentence

WIDTHS = (64, 128, 256, 512, 1024, 2048)
WARMUPS = (50, 100, 200, 400, 800, 1000, 2000, 4000, 8000, 16_000)
FACTORS = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
EPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)


def asked(view: View, history: History) -> rates.Schedule:
    """What the schedules are drawn of: the run's own where the view does not say otherwise."""
    warmup = history.config.warmup if history.config else 4000
    own = (history.width or 512, max(1, round(warmup)))
    return rates.Schedule(view.noam_width or own[0], view.noam_warmup or own[1], view.noam_factor, rates.total_of(history))


def schedule(view: View, mode: Mode, history: History, stamp: histories.Stamp, height: int = 300) -> None:
    """The schedule of 2017 beside a linear warm-up with a cosine, and the run's own rate over both."""
    found = asked(view, history)
    texts.write('<h2 class="lab-label lab-rule">The learning rate</h2>')
    with st.container(key="training_rates_row"):
        sliders(found)
    chart(view, mode, history, stamp, found, height)
    texts.write(formula(found))
    own = rates.own(history)
    if own is None:
        texts.note("The run does not say which rate it took.")
    else:
        how = "as it was logged" if own[2] else "computed from its settings by the function that training calls"
        most, step = rates.most(history)
        texts.note(f"This run’s own rate, {how}: the most is {format.rounded(most, 3)}, at step {step:,}.")


def sliders(found: rates.Schedule) -> None:
    """d_model, warm-up and factor."""
    given = (
        ("d_model", "noam d", "noam_width", WIDTHS, found.width),
        ("Warm-up, steps", "noam w", "noam_warmup", WARMUPS, found.warmup),
        ("Factor", "noam f", "noam_factor", FACTORS, found.factor),
    )
    for place, (label, key, field, options, value) in zip(st.columns(3, gap="medium"), given, strict=True):
        with place:
            st.select_slider(
                label, options=sorted({*options, value}), format_func=lambda v: f"{v:,g}", **state.bind(key, field, value)
            )


def chart(view: View, mode: Mode, history: History, stamp: histories.Stamp, found: rates.Schedule, height: int) -> None:
    """The figure, with what its lines are."""
    texts.write(legend(rates.lines(history, found)))
    figure = rates.schedule_figure(histories.chosen(view), history, stamp, found, mode, height)
    alt = (
        f"Learning rate over {found.total:,} steps; both schedules have a peak of {rates.peak(found):.3g}, {peak_at(found)}"
    )
    st.plotly_chart(figure, theme=None, key="training rates", config=controls.picture("Learning rate"), alt=alt)


def formula(found: rates.Schedule) -> str:
    """The formula of 2017 with these numbers."""
    return (
        f'<p class="lab-formula">rate = factor · d<sub>model</sub><sup>−0.5</sup> · min(step<sup>−0.5</sup>, '
        f"step · warmup<sup>−1.5</sup>) = {found.factor:g} · {found.width:,}<sup>−0.5</sup> · "
        f"min(step<sup>−0.5</sup>, step · {found.warmup:,}<sup>−1.5</sup>); the peak, {peak_at(found)}: "
        f"<b>{rates.peak(found):.3g}</b></p>"
    )


def peak_at(found: rates.Schedule) -> str:
    """The step of the peak, and whether the steps that are drawn come so far."""
    beyond = "" if found.warmup <= found.total else f", beyond the {found.total:,} steps that are drawn"
    return f"at step {found.warmup:,}{beyond}"


# -- label smoothing --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of a text: which step (from 0), which steps training asks for, and what stands there."""

    text: str
    analysis: Analysis
    step: int
    steps: tuple[int, ...]  # from 0
    right: int
    is_recorded: bool = False  # of a sentence whose words are known, not of the visitor's

    @property
    def is_taken(self) -> bool:
        """Whether nobody says what stands there, so that the likeliest token stands for it."""
        return not self.is_recorded and self.right != self.analysis.trace.predicted.ids[self.step]


def watched(view: View) -> Sentence | None:
    """The recorded sentence of a view, where blanks are filled in it; None where there is no such recording."""
    try:
        recording = histories.history(histories.chosen(view))[0].recording
    except ValueError:
        return None
    if recording is None:
        return None
    found = recording.sentences[view.probe - 1 if view.probe <= len(recording.sentences) else 0]
    return found if found.fills else None


def row(shown: Shown) -> Row | str:
    """The row that is looked at; or the sentence that says why there is none. A model that fills in is only asked for
    blanks: those of the recorded sentence, whose words are known, where its vocabulary is the checkpoint's; else of the
    view's own."""
    loaded, analysis = shown.page_data.loaded, shown.analysis
    if loaded.config.classes or not len(analysis.trace.predicted):
        return "This model labels a text and predicts no tokens: choose a checkpoint that writes or fills in to see a row."
    if analysis.task.writes:
        step = shown.view.step - 1
        return Row(shown.view.source, analysis, step, tuple(range(len(analysis.trace.predicted))), _right(shown, step))
    sentence = watched(shown.view)
    recorded = sentence and _analysed(sentence, shown.view)
    if sentence and recorded and tuple(recorded.trace.predicted.ids) == sentence.source:
        step = _asked(sentence.asked)
        return Row(sentence.source_text, recorded, step, sentence.asked, sentence.target[step], is_recorded=True)
    if not (places := tuple(blank_places(analysis, loaded))):
        return "A row is shown of a blank, and this sentence has none: write ___ in place of a word of it."
    step = _asked(places)
    return Row(shown.view.source, analysis, step, places, _right(shown, step))


def _analysed(sentence: Sentence, view: View) -> Analysis | None:
    """A recorded sentence as the checkpoint reads it now, without edits; None where it cannot."""
    try:
        return cache.analyse(Request(sentence.source_text, view.checkpoint), view.device)
    except ValueError:
        return None


def _asked(places: tuple[int, ...]) -> int:
    """The place that the link asks for, or the first of them; from 0."""
    wanted = state.current().step - 1
    return wanted if wanted in places else places[0]


def _right(shown: Shown, step: int) -> int:
    loaded = shown.page_data.loaded
    blanks = blank_places(shown.analysis, loaded)  # in which the mask stands, which is never what is to be predicted
    return likeliest(shown.analysis, blanks, loaded.source_tokenizer.mask)[step]


def smoothed(shown: Shown, found: Row) -> rates.Smoothed:
    """The row against both targets."""
    pieces = shown.page_data.loaded.target_tokenizer.pieces
    return rates.smoothed(found.analysis, found.right, pieces, found.step, shown.view.smoothing, is_taken=found.is_taken)


def by_this_run(history: History) -> str:
    """Whether the run smoothed its targets, and by how much; empty where it does not say."""
    if history.config is None:
        return ""
    eps = history.config.label_smoothing
    return f"This run smoothed its targets, with ε = {eps:g}." if eps else "This run did not smooth its targets: its ε is 0."


def smoothing(shown: Shown, history: History) -> None:
    """What label smoothing asks of a real row: of the sentence, and the step, of the other pages, or of a blank."""
    view = shown.view
    texts.write('<h2 class="lab-label lab-rule">Label smoothing, on a real row</h2>')
    if told := by_this_run(history):
        texts.note(told)
    place = row(shown)
    if isinstance(place, str):
        texts.note(place)
        return
    found = smoothed(shown, place)
    if view.run and view.run != view.checkpoint:
        texts.note(f"The row is of the checkpoint {uploads.shown(view.checkpoint)}, not of this run: “{place.text}”")
    elif not place.analysis.task.writes:
        texts.note(f"Training asks this model for some tokens of a text, here for its blanks alone: “{place.text}”")
    with st.container(key="training_eps_row", horizontal=True, vertical_alignment="center", gap="small"):
        texts.label("ε")
        st.select_slider(
            "Label smoothing",
            options=sorted({*EPS, view.smoothing}),
            format_func=lambda value: f"{value:g}",
            label_visibility="collapsed",
            **state.bind("training eps", "smoothing", view.smoothing),
        )
        texts.label("at the step of this sentence" if place.analysis.task.writes else "at the blank of this sentence")
        labels, stops = place.analysis.trace.predicted.labels, [step + 1 for step in place.steps]
        controls.step_slider(dataclasses.replace(view, step=place.step + 1), labels, stops)
    bars(shown, found)
    for line in formulas(found, view.smoothing):
        texts.write(line)


def bars(shown: Shown, found: rates.Smoothed, height: int = 232) -> None:
    """The figure."""
    texts.write(
        '<p class="lab-training-lines"><span>bars: the model’s probability</span><span>● target with ε/V (here, and in '
        "torch)</span><span>× target with ε/(V−1) (the 2017 code)</span></p>"
    )
    figure = target_bars(found.tokens, found.model, found.even, found.others, shown.mode, height)
    alt = f"Probabilities of {len(found.tokens)} tokens: the model’s and those of both smoothed targets"
    st.plotly_chart(figure, theme=None, key="training target", config=controls.picture("Smoothed target"), alt=alt)


def formulas(found: rates.Smoothed, eps: float) -> tuple[str, ...]:
    """Both losses with their numbers filled in."""
    size, hard, right = f"{found.vocabulary:,}", f"{found.hard:.5f}", html.escape(found.right)
    whole = found.mean_nats * found.vocabulary
    taken = "This is a blank: its likeliest token is taken for the right one. " if found.is_taken else ""
    return (
        f'<p class="lab-formula">{taken}“{right}” has p = {found.probability:.4f}, so without smoothing the loss is −ln p = '
        f"<b>{hard}</b> nats; the sum of −ln p over all {size} tokens is {whole:,.1f}.</p>",
        f'<p class="lab-formula">ε/V: (1 − ε) · {hard} + ε/V · {whole:,.1f} = {1 - eps:g} · {hard} + '
        f"{_exact(eps / found.vocabulary)} · {whole:,.1f} = <b>{found.even_loss:.4f}</b> nats</p>",
        f'<p class="lab-formula">ε/(V−1): (1 − ε) · {hard} + ε/(V−1) · ({whole:,.1f} − {hard}) = {1 - eps:g} · '
        f"{hard} + {_exact(eps / (found.vocabulary - 1))} · {whole - found.hard:,.1f} = "
        f"<b>{found.others_loss:.4f}</b> nats</p>",
    )


def _exact(value: float) -> str:
    """A factor with so many figures that the printed terms add up to the printed sum."""
    return format.rounded(value, 6)
