"""Translate in lecture mode: the translation with its steps, or the maps of one layer and head, as large as may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from model import format
from model.decoding.strategy import STRATEGIES
from model.inference.decisions import turns
from model.inference.predictions import changed_words
from viz import state
from viz.shared import texts
from viz.shared.lecture import lecture
from viz.shared.shown import Shown
from viz.translate import fill_in, large_maps, steps, timeline
from viz.translate import texts as translate_texts
from viz.view import View

LARGE = ("steps", "maps")  # the pictures, from 1

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

ABOVE, LINE = 44, 33  # px of the stage that a line of the translation takes, and one on what the edits changed


def draw(shown: Shown) -> None:
    """The translation, and below it the steps or the maps."""
    view, analysis = shown.view, shown.analysis
    with shown.places.notes:
        texts.sentence_notes([note for note in analysis.notes if note not in analysis.cautions], shown.faults)
    with shown.places.bar:
        texts.write(f'<p class="lab-hall-fact">{facts(view)}</p>', inline=True)
    _keys(view, analysis)
    hall = {"steps": not shows_maps(view)} | changes(analysis, shown.page_data.loaded)
    with shown.places.body:
        first = steps if analysis.task.writes else fill_in
        first.draw(view, shown.page_data, shown.mode, hall)
        if shows_maps(view):
            large_maps.draw(analysis, view, shown.mode, ABOVE + LINE * ("edits" in hall))


def shows_maps(view: View) -> bool:
    """Whether the maps stand below the translation; they would give away what is to be guessed."""
    return view.large == 2 and not view.guess


def facts(view: View) -> str:
    """What stands in the line at the top: the layer and the head whose lines are drawn."""
    head = "mean over heads" if view.head is None else f"head {view.head}"
    return f"layer {view.layer} · {head}"


def changes(analysis: Analysis, loaded: Checkpoint) -> dict[str, Any]:
    """What was edited, and what came of it: `was`, the pieces of the translation without the edits, each with whether it is
    gone, and `changed`, of each token now whether it is new; or `told`, where the same tokens were given."""
    if analysis.baseline is None:
        return {}
    before, after = analysis.baseline.trace, analysis.trace
    edits = {"edits": _capital(analysis.request.intervention.describe(analysis.labels))}
    if analysis.request.mode == "given" or after.outputs is None:
        sums = (format.decimal(trace.token_log_probs.sum()) for trace in (before, after))
        count, steps_ = len(turns(analysis)), len(before.predicted)
        return edits | {"told": translate_texts.given_change(*sums, count, steps_)}
    gone, new = changed_words(before.outputs.ids, after.outputs.ids)
    if not any(gone) and not any(new):
        return edits | {"told": f"the {analysis.task.made} does not change"}
    segments = loaded.target_tokenizer.segments(before.outputs.ids)
    return edits | {"was": [list(pair) for pair in zip(segments, gone, strict=True)], "changed": list(new)}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _keys(view: View, analysis: Analysis) -> None:
    """What keys do here; each is said as what it brings about now."""
    key, task = lecture.key, analysis.task
    lecture.tells(
        "↑ ↓, Enter", "choose another candidate, and go on with it" if task.writes else "choose a candidate for a blank"
    )
    other = 1 if view.large == 2 else 2
    key("v", f"view: the {LARGE[other - 1]}", lambda: state.change(large=other))
    if view.large == 2:
        mask = view.show == "mask"
        key(
            "w",
            "weights in the maps" if mask else "masks in the maps",
            lambda: state.change(show="attention" if mask else "mask"),
        )
    if task.writes:
        key(
            "g",
            "show the candidates" if view.guess else "predict first",
            lambda: state.change(guess=not view.guess),
        )
        key(
            "m", f"causal mask {'off' if view.causal_mask else 'on'}", lambda: state.change(causal_mask=not view.causal_mask)
        )
        again = view.mode == "given"
        key(
            "d",
            f"{'decode again' if again else 'keep the ' + task.made + ' as given'} under the edits",
            lambda: state.change(mode="again" if again else "given"),
        )
        rows = _next(tuple(timeline.ROWS), view.rows)
        key("r", f"rows: {timeline.ROWS[rows][0].lower()}", lambda: state.change(rows=rows))
        if view.target is None:
            chosen = _next(tuple(STRATEGIES), view.strategy)
            key(
                "k",
                f"tokens chosen by: {translate_texts.strategy_title(chosen).lower()}",
                lambda: state.change(strategy=chosen),
            )
    if task.reads:
        key(
            "p",
            f"padding mask {'off' if view.padding_mask else 'on'}",
            lambda: state.change(padding_mask=not view.padding_mask),
        )
    if view.split and len(view.sentences) > 1:
        number = view.sentence % len(view.sentences) + 1
        key("s", f"sentence {number} of {len(view.sentences)}", lambda: state.change(sentence=number))


def _next(names: tuple[str, ...], now: str) -> str:
    return names[(names.index(now) + 1) % len(names)] if now in names else names[0]
