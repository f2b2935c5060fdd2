"""The first page of a masked model: all places of a sentence at once, the candidates of each place, and the blanks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from model.export.csv_tables import Table
from model.export.token_labels import SENTENCE_NAMES
from model.inference.cautions import UNSURE_PROBABILITY
from model.inference.source_reading import blank_positions, filled_ids
from model.io import numbers
from model.readings.heads.head_maps import step_links
from model.text import sentences
from model.trace import Site
from viz import theme
from viz.decoding_steps import candidates, lecture_keys, steps, timeline
from viz.fill import fill_texts
from viz.kit import site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.state import session
from viz.state.values import MAX_WORD
from viz.state.view import View

if TYPE_CHECKING:
    from model.export.code import Code
    from model.inference.analysis import Analysis
    from viz.kit.mount import Event

ROWS = {  # how the rows are arranged: there is one way
    "training": ("At once", "Encoder self-attention, every token at once", "")
}


def _put(context: PageContext, step: int, word: str) -> None:
    """Puts a word into the blank at a place, to read all again; called from a callback."""
    places = blank_positions(context.analysis, context.loaded)
    try:
        source, second = fill_texts.put(context.request, places.index(step) if step in places else -1, word)
        session.change(source=source, second=second, step=step)  # where the blank was: its word can be seen there
    except ValueError as fault:
        session.set_complaint("word", word, str(fault))


def taken_back(view: View) -> str:
    """Returns the words that the last change put into a blank; empty for another change."""
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


def _payload(context: PageContext, result: Any) -> dict[str, Any]:
    """Returns the JSON values of the timeline; its steps are the places of the text."""
    analysis, loaded, head, mode = context.analysis, context.loaded, context.view.head, context.mode
    layer = context.view.layer
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
        "trace": timeline.trace_name(analysis),
        "step": 1,
        "source": [],
        "inputs": inputs,
        "target": [
            {"t": t, "w": w, "unsure": False}
            for t, w in zip(tokenizer.pieces(ids), trace.predicted_axis.word_numbers, strict=True)
        ],
        "given": 0,
        "own": "encoder",
        "at": "Token",
        "title": f"The text, over the same with {'its blank' if len(places) == 1 else 'its blanks'} filled in"
        if places
        else "No blank: both rows are the text, the bars how likely each token is",
        "bar": UNSURE_PROBABILITY,
        "size": tokenizer.size,
        "start": "",
        "segments": segments,
        "blanks": places,
        "sides": [SENTENCE_NAMES[number] for number in of],
        "cross": [[]] * len(ids),
        "crossAllowed": [[]] * len(ids),
        "above": "",
        "decoder": np.round(seen.values.astype(float), 5).tolist(),
        "allowed": seen.allowed.astype(int).tolist(),
        "probability": np.round(np.exp(trace.log_probs[rows, columns]).astype(float), 5).tolist(),
        "before": None if before is None else np.round(before.astype(float), 5).tolist(),
        "score": numbers.three_digits(trace.log_probs[list(chosen), [ids[i] for i in chosen]].sum()),
        "scored": "log-probability" if places else "log-probabilities (without the ends) that add up to",
        "language": "Filled in" if places else loaded.languages[0],
        "code": site_texts.language_code(loaded.languages[0]),
        "how": ("all blanks at once" if places[1:] else "the likeliest") if places else "as it stands",
        "one": "this layer" if head is None else "this head",
        "where": {"encoder": Site("encoder", layer).head_name(head)},
        "arrangements": {name: list(words) for name, words in ROWS.items()},
        "crossTints": list(theme.tints("encoder", mode)),
        "doubt": fill_texts.doubt(analysis, loaded),
        "why": timeline.links(step_links(trace)),
        "reasons": [
            each if place in places else None for place, each in enumerate(timeline.reasons(analysis, ids, tokenizer))
        ],
        "hall": None,
    }


def _candidates_payload(context: PageContext, result: Any) -> dict[str, Any]:
    """Returns the JSON values of the candidates of each place; a click fills a blank, and does nothing elsewhere."""
    analysis, loaded = context.analysis, context.loaded
    places, tokenizer = blank_positions(analysis, loaded), loaded.source_tokenizer
    made = candidates.payload(analysis, tokenizer, filled_ids(analysis, places, tokenizer.mask))
    shown = {place: [row[1] for row in made["rows"][place]] for place in places}
    return made | {
        "open": [i in places for i in range(len(made["rows"]))],
        "kinds": {place: fill_texts.kinds(analysis, loaded, place, tokens) for place, tokens in shown.items()},
        "title": "Likeliest for this token",
        "act": "Click: fill this blank with it, and read all again",
        "word": ["Or type a word", "Fill in", "Put this word into the blank, and read all again"],
        "ask": ["How likely?", "Tell how likely this word is in the blank, and leave it open"],
        "comes": "Which word stands in the blank?",
    }


def _candidates_follow(context: PageContext, result: Any) -> dict[str, Any]:
    """Returns the step, and the probability of a requested word at each blank."""
    word = context.view.blank_word
    told = fill_texts.asked(word, context.analysis, context.loaded) if word else {}
    return candidates.follow(context) | {"told": told}


def _candidates_events(context: PageContext, result: Any) -> dict[str, Event]:
    tokenizer = context.loaded.source_tokenizer
    return candidates.events(
        steps.candidate_sizes(context),
        on_branch=lambda step, token: _put(context, step, tokenizer.decode([token])),
        on_word=lambda step, text: _put(context, step, text),
        on_reason=steps.to_the_reason,
        on_ask=lambda step, text: session.change(blank_word=text.strip()[:MAX_WORD], step=step),
    )


def _tables(context: PageContext, result: Any) -> tuple[Table, ...]:
    follows = context.analysis.next_sentence_probability is not None
    return (steps.steps_table(context), *([_follows_table(context.analysis)] if follows else []))


def _follows_table(analysis: Analysis) -> Table:
    """Returns the probability that the second sentence follows the first: as shown, swapped, and without the edits."""
    rows = [
        ("as shown", analysis.next_sentence_probability),
        ("the other way round, without edits", analysis.swapped_probability),
    ]
    rows += [("without the edits", analysis.baseline.next_sentence_probability)] if analysis.baseline else []
    return Table("second-follows-first", ("which", "probability"), tuple(rows))


def _code(code: Code, context: PageContext, result: Any) -> None:
    steps.add_step_code(code, context, result)
    if context.analysis.next_sentence_probability is not None:
        both = "analysis.next_sentence_probability, analysis.swapped_probability"
        code.add(f"print({both})", "that B follows A; that A follows B")


def _candidates_tables(context: PageContext, result: Any) -> tuple[Table, ...]:
    is_blank = context.view.step in blank_positions(context.analysis, context.loaded)
    return (steps.candidates_table(context),) if is_blank else ()


def _bar(context: PageContext, result: Any) -> None:
    """Draws layer and head, and whether the second sentence follows the first."""
    follows, more = context.analysis.next_sentence_probability, ""
    if follows is not None:
        right = fill_texts.right(context.loaded.metrics)
        more = f" · B follows A: {numbers.probability(follows)}<br>{right}"
    lecture_keys.draw_fact(context, result, more)


def _fills_in(context: PageContext) -> bool:
    return not (context.analysis.task.has_decoder or context.analysis.task.is_classifier)


PLACES = Panel(
    steps.TIMELINE_NAMES[1],
    "The text, token by token",
    timeline.COMPONENT,
    _payload,
    steps.timeline_events,
    reads=("layer", "head"),
    follow=lambda context, result: steps.follow(context, result) | {"rows": "training"},
    tables=_tables,
    code=_code,
    is_visible=_fills_in,
    pictures=(Picture("Steps", ".timeline", steps.lecture_data, others=("fill.candidates",), fields={"show": "attention"}),),
    bar=_bar,
    keys=lecture_keys.add_step_keys,
    file=FileOptions(
        default_view=steps.file_view,
        component_fields=("step",),
        remote_fields=lambda context: {"step": (), "guess": (False, True)},
    ),
)
BLANKS = Panel(
    "fill.candidates",
    "Likeliest for this token",
    candidates.COMPONENT,
    _candidates_payload,
    _candidates_events,
    reads=(),
    follow=_candidates_follow,
    tables=_candidates_tables,
    code=steps.add_candidates_code,
    is_visible=_fills_in,
    pictures=(Picture("", data=lambda context, result: {"hall": True}),),
)
