"""The first page of a model that only reads: all places of a sentence at once, what may stand at each, and the blanks."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from model.inference.cautions import UNSURE_PROBABILITY
from model.inference.request import Request
from model.inference.source_reading import blank_positions, filled_ids
from model.io import numbers
from model.readings.heads.head_maps import step_links
from model.text import sentences
from model.trace import Site
from viz import cache, theme
from viz.decoding_steps import candidates, steps, timeline
from viz.fill import fill_texts
from viz.kit import sides, site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached_figure
from viz.state.values import MAX_WORD
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

LED = "begun with"  # session key: at which checkpoint and text the visitor was led to a step of its own
ROWS = {  # how the rows are arranged: there is one way
    "training": ("At once", "Encoder self-attention, every place at once", "")
}


def draw(view: View, context: PageContext, mode: theme.Mode, hall: dict[str, Any] | None = None) -> None:
    """The sentence place by place, and the candidates of the one that is looked at."""
    head = view.head
    data = timeline_data(context.request, view.device, view.layer, head, mode)
    left, right = steps.places(hall)
    rows = candidate_rows(context.request, view.device, data["trace"])
    reasons = [reason if is_open else None for reason, is_open in zip(candidates.reasons(rows), rows["open"], strict=True)]
    with left:
        timeline.timeline(
            data,
            {"step": view.step + 1, "rows": "training", "guess": view.guess, "hall": hall} | {"reasons": reasons},
            on_step=lambda step: session.change(step=step),
            on_rows=lambda rows: None,
            on_why=lambda kind, query, key: steps.to_heads(context.request, kind, query, key),
            on_reason=steps.to_the_reason,
        )
    with right:
        told = session.complaint("word")
        tokenizer = context.loaded.source_tokenizer
        candidates.candidates(
            rows | {"told": _asked(view, context)},
            {"step": view.step + 1, "guess": view.guess, "fault": told[1] if told else "", "hall": bool(hall)},
            on_branch=lambda step, token: _put(context, step, tokenizer.decode([token])),
            on_word=lambda step, text: _put(context, step, text),
            on_guess=lambda on: session.change(guess=on),
            on_ask=lambda step, text: session.change(blank_word=text.strip()[:MAX_WORD], step=step),
            on_reason=steps.to_the_reason,
        )


def _put(context: PageContext, step: int, word: str) -> None:
    """Puts a word into the blank at a place, to read all again; called from a callback."""
    places = blank_positions(context.analysis, context.loaded)
    try:
        source, second = fill_texts.put(context.request, places.index(step) if step in places else -1, word)
        session.change(source=source, second=second, step=step)  # where the blank was: its word can be seen there
        session.put(LED, (context.request.checkpoint, source, second))
    except ValueError as fault:
        session.set_complaint("word", word, str(fault))


def _asked(view: View, context: PageContext) -> dict[int, str]:
    """What is to be said of the word whose probability is asked for, by the place of each blank."""
    return fill_texts.asked(view.blank_word, context.analysis, context.loaded) if view.blank_word else {}


def taken_back(view: View) -> str:
    """What the last change has put into a blank, where that is what it did; empty otherwise."""
    then = session.peek_history("undo")
    if then is None:
        return ""
    for now, was in ((view.source, then.source), (view.second, then.second)):
        before, *rest = sentences.texts_around_blanks(was)
        if now != was and rest and len(sentences.texts_around_blanks(now)) == len(rest) and now.startswith(before):
            return _between(now, was)
    return ""


def _between(now: str, was: str) -> str:
    """The word that stands in `now` where a blank stood; empty where more has changed."""
    for place in sentences.BLANK.finditer(was):
        first, last = was[: place.start()], was[place.end() :]
        if now.startswith(first) and now.endswith(last) and len(now) >= len(first) + len(last):
            return now[len(first) : len(now) - len(last)]
    return ""


def _blanks(count: int) -> str:
    return "its blank" if count == 1 else "its blanks"


@cached_figure
def timeline_data(request: Request, device: str, layer: int, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """What the timeline needs; layer and head count from 0."""
    return payload(cache.analyse(request, device), cache.checkpoint(request.checkpoint, device), layer, head, mode)


def payload(analysis: Analysis, loaded: Checkpoint, layer: int, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """All that the timeline needs of a sentence that is read at once, as JSON values: its rows are the places."""
    trace, tokenizer = analysis.trace, loaded.source_tokenizer
    places = blank_positions(analysis, loaded)
    ids = filled_ids(analysis, places, tokenizer.mask)
    rows, columns = np.arange(len(ids)), list(ids)
    layer = min(layer, trace.sites("encoder")[-1].layer)
    seen = trace.view(Site("encoder", layer), head)
    before = None if analysis.baseline is None else np.exp(analysis.baseline.trace.log_probs[rows, columns])
    inputs = [{"t": t, "w": w} for t, w in zip(trace.predicted_axis.labels, trace.predicted_axis.word_numbers, strict=True)]
    chosen, of = trace.scored_rows, trace.source.sentence_numbers
    segments = tokenizer.segments(ids)
    if of:
        segments[of.index(1)] = f" {segments[of.index(1)].lstrip()}"
    return {
        "trace": hashlib.sha256(f"{analysis.request!r} {ids}".encode()).hexdigest()[:16],
        "step": 1,
        "source": [],
        "inputs": inputs,
        "target": [
            {"t": t, "w": w, "unsure": False}
            for t, w in zip(tokenizer.pieces(ids), trace.predicted_axis.word_numbers, strict=True)
        ],
        "given": 0,
        "own": "encoder",
        "at": "Place",
        "title": f"The text, over the same with {_blanks(len(places))} filled in"
        if places
        else "No blank: both rows are the text, the bars how likely each token is",
        "bar": UNSURE_PROBABILITY,
        "size": tokenizer.size,
        "start": "",
        "segments": segments,
        "blanks": places,
        "sides": [sides.NAMES[number] for number in of],
        "cross": [[]] * len(ids),
        "crossAllowed": [[]] * len(ids),
        "above": "",
        "decoder": np.round(seen.values.astype(float), 5).tolist(),
        "allowed": seen.allowed.astype(int).tolist(),
        "probability": np.round(np.exp(trace.log_probs[rows, columns]).astype(float), 5).tolist(),
        "before": None if before is None else np.round(before.astype(float), 5).tolist(),
        "score": numbers.decimal(trace.log_probs[list(chosen), [ids[i] for i in chosen]].sum()),
        "scored": "log-probability" if places else "log-probabilities (without the ends) that add up to",
        "language": "Filled in" if places else loaded.languages[0],
        "code": site_texts.language_code(loaded.languages[0]),
        "how": ("all blanks at once" if places[1:] else "the likeliest") if places else "as it stands",
        "one": "this layer" if head is None else "this head",
        "where": timeline.where(layer, head),
        "arrangements": {name: list(words) for name, words in ROWS.items()},
        "crossTints": list(theme.tints("encoder", mode)),
        "doubt": fill_texts.doubt(analysis, loaded),
        "why": timeline.links(step_links(trace)),
    }


@cached_figure
def candidate_rows(request: Request, device: str, trace: str) -> dict[str, Any]:
    """What the candidates need, of each place."""
    return rows_payload(cache.analyse(request, device), cache.checkpoint(request.checkpoint, device), trace)


def rows_payload(analysis: Analysis, loaded: Checkpoint, trace: str) -> dict[str, Any]:
    """All that the candidates need of each place, as JSON values; a click fills a blank, and does nothing elsewhere."""
    places = blank_positions(analysis, loaded)
    mask = loaded.source_tokenizer.mask
    made = candidates.payload(analysis, loaded.source_tokenizer, None, trace, filled_ids(analysis, places, mask))
    shown = {place: [row[1] for row in made["rows"][place]] for place in places}
    return made | {
        "open": [i in places for i in range(len(made["rows"]))],
        "kinds": {place: fill_texts.kinds(analysis, loaded, place, tokens) for place, tokens in shown.items()},
        "title": "Likeliest at this place",
        "act": "Click: fill this blank with it, and read all again",
        "word": ["Or type a word", "Fill in", "Put this word into the blank, and read all again"],
        "ask": ["How likely?", "Tell how likely this word is in the blank, and leave it open"],
        "comes": "Which word stands in the blank?",
        "hint": "Click a token to fill this blank with it and read all again.",
    }
