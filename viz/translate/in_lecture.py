"""Translate in lecture mode: the translation with its steps, the maps of one layer and head, or the cache as it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from model.decoding.strategy import STRATEGIES
from model.inference.decisions import token_changes
from model.inference.predictions import changed_words
from model.inference.source_reading import blank_positions
from model.io import numbers
from viz.classroom import lecture
from viz.decoding_steps import decoding_controls, decoding_texts, pattern_maps, steps, timeline
from viz.fill import fill_in, fill_texts
from viz.judge import judge_in_lecture
from viz.kit import site_texts
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.view import View
from viz.translate import kv_cache

LARGE = ("steps", "maps", "cache")  # the pictures, from 1; the last is of a model that writes
CACHE = len(LARGE)

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.task import Task

ABOVE, LINE, MORE = 44, 33, 26  # px of the stage: a line of the translation, one on what the edits changed, its second


def draw(context: PageContext) -> None:
    """The translation, and below it the steps or the maps."""
    view, analysis = context.view, context.analysis
    if analysis.task.is_classifier:
        judge_in_lecture.draw(context)
        return
    notes = [note for note in analysis.notes if note not in analysis.warning_sentences]
    if large_of(view, analysis.task) == 1:  # the lines of a step: no map of several passes, and no room
        notes = [note for note in notes if note != analysis.row_note]
    with context.places.notes:
        site_texts.sentence_notes(notes, context.faults)
    with context.places.bar:
        site_texts.write(f'<p class="lab-hall-fact">{facts(view, analysis, context.loaded)}</p>', inline=True)
    places = [] if analysis.task.has_decoder else blank_positions(analysis, context.loaded)
    _keys(view, analysis, context.loaded.config.causal, places)
    large = large_of(view, analysis.task)
    hall = {"steps": large == 1} | changes(analysis, context.loaded)
    with context.places.body:
        first = steps if analysis.task.has_decoder else fill_in
        first.draw(view, context, context.mode, hall)
        if large == 1:
            return
        above = ABOVE + LINE * ("edits" in hall) + MORE * ("was" in hall)
        head = view.head
        told = first.timeline_data(context.request, view.device, view.layer, head, context.mode)
        if large == CACHE:
            kv_cache.held(view, context, told["trace"], context.mode, above)
        else:
            pattern_maps.draw_large(analysis, view, context.mode, above, told["trace"])


def large_of(view: View, task: Task) -> int:
    """Which picture stands below the translation: of the cache also where the page shows it outside of lectures. The steps
    alone while one guesses: the others would give away what is to be guessed."""
    large = lecture.picture(view, count(task))
    if view.guess:
        return 1
    return CACHE if large == 1 and view.show == "cache" and task.has_decoder else large


def count(task: Task) -> int:
    """How many pictures there are."""
    return CACHE if task.has_decoder else CACHE - 1


def facts(view: View, analysis: Analysis, loaded: Checkpoint) -> str:
    """What stands in the line at the top: the layer and the head whose lines are drawn; of two sentences, whether the second
    follows, and how often such a verdict is right."""
    if large_of(view, analysis.task) == CACHE:
        return "all layers and heads"
    follows = ""
    if analysis.next_sentence_probability is not None:
        follows = (
            f" · B follows A: "
            f"{numbers.probability(analysis.next_sentence_probability)}<br>{fill_texts.right(loaded.metrics)}"
        )
    head = "mean over heads" if view.head is None else f"head {view.head + 1}"
    return f"layer {view.layer + 1} · {head}{follows}"


def changes(analysis: Analysis, loaded: Checkpoint) -> dict[str, Any]:
    """What was edited, and what came of it: `was`, the pieces of the translation without the edits, each with whether it is
    gone, and `changed`, of each token now whether it is new; or `told`, where the same tokens were given."""
    if analysis.baseline is None:
        return {}
    before, after = analysis.baseline.trace, analysis.trace
    edits = {"edits": _capital(analysis.request.intervention.describe(analysis.labels))}
    if analysis.request.mode == "given" or after.outputs is None:
        sums = (numbers.decimal(each.log_prob) for each in (analysis.baseline, analysis))
        count, steps_ = len(token_changes(analysis)), len(before.scorable_rows)
        return edits | {"told": decoding_texts.given_change(analysis.score_label, *sums, count, steps_)}
    gone, new = changed_words(before.outputs.ids, after.outputs.ids)
    if not any(gone) and not any(new):
        return edits | {"told": f"the {analysis.task.output_noun} does not change"}
    segments = loaded.target_tokenizer.segments(before.outputs.ids)
    return edits | {"was": [list(pair) for pair in zip(segments, gone, strict=True)], "changed": list(new)}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _keys(view: View, analysis: Analysis, causal: bool, places: list[int]) -> None:
    """What keys do here; each is said as what it brings about now. `places`: of the blanks of a model that reads."""
    key, task, change = lecture.add_key, analysis.task, session.change
    takes = "choose another candidate, and go on with it" if task.has_decoder else "choose a candidate for a blank"
    lecture.list_component_keys("↑ ↓, Enter", takes)
    lecture.list_component_keys("space", "play the steps, and stop")
    if not view.guess:  # then the steps stand alone
        key(lecture.PICTURE, f"view: the {LARGE[_next_large(view, task) - 1]}", lambda: _turn(task), quiet=True)
    if large_of(view, task) == 2:
        shows = "attention" if view.show == "mask" else "mask"
        key(
            lecture.SHOWS,
            f"the maps show {'masks' if shows == 'mask' else 'weights'}",
            lambda: change(show=shows),
            quiet=True,
        )
    if places:
        hidden = "show the words" if view.guess else "guess first"
        key(lecture.PREDICT, hidden, lambda: _switch("guess"), quiet=True)
    if task.has_decoder:
        _decoding_keys(view, analysis, causal)
    if task.has_encoder:
        key(
            lecture.PADDING,
            f"padding mask {_switched(view.intervention.padding_mask)}",
            lambda: navigation.toggle_mask("padding_mask"),
        )
    if view.split and len(view.sentences) > 1:
        number = (view.sentence + 1) % len(view.sentences)
        key(lecture.SENTENCE, f"sentence {number + 1} of {len(view.sentences)}", lambda: change(sentence=number), quiet=True)


def _decoding_keys(view: View, analysis: Analysis, causal: bool) -> None:
    """Those of a model that writes; `causal`: whether it has a mask to switch."""
    key, change = lecture.add_key, session.change
    key(lecture.PREDICT, "show the candidates" if view.guess else "predict first", lambda: _switch("guess"), quiet=True)
    if causal or not view.intervention.causal_mask:
        key(
            lecture.CAUSAL,
            f"causal mask {_switched(view.intervention.causal_mask)}",
            lambda: navigation.toggle_mask("causal_mask"),
        )
    mode = "again" if view.mode == "given" else "given"
    how = "decode again" if mode == "again" else f"keep the {analysis.task.output_noun} as given"
    key(lecture.MODE, f"{how} under the edits", lambda: change(mode=mode))
    rows = _next(tuple(timeline.ROWS), view.rows)
    key(lecture.ROWS, f"rows: {timeline.ROWS[rows][0].lower()}", lambda: change(rows=rows), quiet=True)
    if view.target is None:
        chosen = _next(tuple(STRATEGIES), view.strategy)
        title = decoding_texts.strategy_title(chosen).lower()
        if view.controls is not None:
            key(
                lecture.AGAIN,
                f"draw again, with seed {decoding_controls.next_seed(view)}",
                decoding_controls.draw_again,
                quiet=True,
            )
        key(lecture.CHOSEN_BY, f"tokens chosen by: {title}", lambda: change(strategy=chosen))


def _next_large(view: View, task: Task) -> int:
    """The picture after the one that is context."""
    return large_of(view, task) % count(task) + 1


def _turn(task: Task) -> None:
    """To the next picture; called from callbacks. The page shows the cache with the picture of it, and no more once that is
    left."""
    view = session.current_view()
    large, kept = _next_large(view, task), View.show if view.show == "cache" else view.show
    session.change(large=large, show="cache" if large == CACHE else kept)


def _switch(name: str) -> None:
    """Turns a switch of the view; called from callbacks."""
    session.change(**{name: not getattr(session.current_view(), name)})


def _switched(on: bool) -> str:
    return "off" if on else "on"


def _next(names: tuple[str, ...], now: str) -> str:
    return names[(names.index(now) + 1) % len(names)] if now in names else names[0]
