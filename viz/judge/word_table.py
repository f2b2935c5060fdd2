"""Which words decide the label: every reading a row, every word a column, and each reading's rank correlation with what
hiding the words really does. A row is coloured up to its own largest number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from model.export.csv_tables import Cell, Table
from model.inference.predictions import is_near_tie
from model.io import numbers
from model.readings.tokens.word_readings import LABEL_READINGS, pooled_row, pooling_weights
from model.trace import Site
from viz import theme
from viz.decoding_steps import lecture_keys
from viz.decoding_steps.timeline import trace_name
from viz.judge import judged_text
from viz.judge.judged_text import verdict as edit_verdict
from viz.kit import mount
from viz.kit.panel import Panel, Picture
from viz.page_context import PageContext
from viz.state import session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from model.experiments.label_test import LabelTest
    from model.export.code import Code
    from model.inference.analysis import Analysis

LEAST = 0.005  # nats: a word that is worth less does not clearly speak for anything
OCCLUSION = "What the logit of the label minus that of its rival loses, in nats, where this word alone is hidden."
HEAD = "The attention weights of the layer and head that are chosen, pooled as the classifier pools."


def payload(analysis: Analysis, found: LabelTest, head: tuple[str, np.ndarray], mode: theme.Mode) -> dict[str, Any]:
    """All that the browser needs, as JSON values; `head` is the name of the layer and head that are chosen, and how the
    classifier looks at each token by way of it, [S]."""
    classes, words = analysis.trace.classes, found.words
    label, rival = classes[found.label], classes[found.rival]
    rows = [_row(found, "Occlusion", OCCLUSION, found.occlusion, True, None)]
    rows += [
        _row(found, LABEL_READINGS[name].label, LABEL_READINGS[name].meaning, values, LABEL_READINGS[name].signed, name)
        for name, values in found.importance.items()
    ]
    rows.insert(1, _row(found, head[0], HEAD, words.sums(head[1]), False, "head"))
    places = [-1] * len(analysis.trace.step_axis)
    for number, own in enumerate(words.places):
        for place in own:
            places[place] = number
    return {
        "step": 1,
        "words": list(words.labels),
        "places": places,
        "rows": rows,
        "label": label,
        "rival": rival,
        "before": _rounded(np.exp(found.before[:, found.label])),
        "after": _rounded(np.exp(found.after[:, found.label])),
        "turns": [classes[int(row.argmax())] for row in found.after],
        "tints": list(theme.tints("encoder", mode)),
        "diverging": list(theme.diverging(mode)),
        "verdict": verdict(found, classes),
        "care": care(found, label, rival),
    }


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 5) for value in values]


def _row(
    found: LabelTest, name: str, meaning: str, values: np.ndarray, signed: bool, compared: str | None
) -> dict[str, Any]:
    """A reading; `compared` with occlusion, unless it is that itself."""
    correlation = None if compared is None else found.correlation(values, signed)
    undefined = "" if correlation is None else found.explain_undefined(values, signed) if math.isnan(correlation) else ""
    return {
        "name": name,
        "meaning": meaning,
        "values": _rounded(values),
        "signed": signed,
        "is": compared or "occlusion",
        "rho": "" if correlation is None or undefined else numbers.signed(correlation),
        "undefined": undefined,
    }


def verdict(found: LabelTest, classes: Sequence[str]) -> str:
    """Which word's hiding changes most, for the label or against it, beside its rival, what hiding it does, and which word
    speaks most the other way: sentences."""
    if not len(found.words):
        return "There is no word to hide."
    worth, words = found.occlusion, found.words.labels
    pair = f"“{classes[found.label]}” over “{classes[found.rival]}”"
    first, *others = np.argsort(-np.abs(worth), kind="stable").tolist()
    value = float(worth[first])
    if abs(value) < LEAST:
        best = int(worth.argmax())
        lost = float(worth[best])
        most = f"“{words[best]}” is worth the most, {numbers.scientific(lost)} nats"
        clear = most if lost > 0 else "hiding any of them costs nothing"
        return f"No word clearly speaks for {pair}: {clear}. {_likelihood(found, classes)}"
    way, back = ("for", "against") if value > 0 else ("against", "for")
    told = f"Hiding “{words[first]}” changes most: it speaks {way} {pair}, {numbers.signed(value)} nats. "
    told += f"Hidden, {_becomes(found, classes, first)}."
    second = float(worth[others[0]]) if others else 0.0
    if value * second > 0 and is_near_tie(abs(value), abs(second)):
        told += f" “{words[others[0]]}” is close behind: {numbers.signed(second)}."
    other = next((n for n in others if value * float(worth[n]) < 0), None)
    if other is None or abs(float(worth[other])) < LEAST:
        told += "" if value > 0 else " No word clearly speaks for it."
    else:
        told += f" “{words[other]}” speaks most {back} it: {numbers.signed(float(worth[other]))}."
    return told


def _becomes(found: LabelTest, classes: Sequence[str], word: int) -> str:
    """What hiding a word does to the label."""
    before, after = (numbers.probability(float(np.exp(rows[word, found.label]))) for rows in (found.before, found.after))
    now = int(found.after[word].argmax())
    what = "the label stays" if now == found.label else f"the label turns to “{classes[now]}”"
    return f"“{classes[found.label]}” goes from {before} to {after}, and {what}"


def _likelihood(found: LabelTest, classes: Sequence[str]) -> str:
    """Whether hiding any word makes the label less likely, which third labels decide too: a sentence."""
    fallen = np.exp(found.before[:, found.label]) - np.exp(found.after[:, found.label])
    word = int(fallen.argmax())
    if fallen[word] <= 0:
        return f"Nor does hiding one make “{classes[found.label]}” less likely."
    return f"Without “{found.words.labels[word]}”, {_becomes(found, classes, word)}."


def care(found: LabelTest, label: str, rival: str) -> str:
    """What is measured, and how the readings are held against it: sentences."""
    count = len(found.words)
    return (
        "Occlusion hides a word: no token may look at it, and it is not pooled; the others keep their places, and the model "
        f"runs again. The numbers: the logit of “{label}” minus that of “{rival}”, in nats. ρ is Spearman’s rank "
        f"correlation with occlusion over the {count} {'word' if count == 1 else 'words'} of this text; weights have no "
        "sign, so they are held against its size. Each row is coloured up to its own largest number."
    )


COMPONENT = mount.Component(__file__, '<div class="word-table"></div>', picture="Which words decide")


def _payload(context: PageContext, result: LabelTest) -> dict[str, Any]:
    """Returns the JSON values of the component, with a row for the attention of the layer and head."""
    analysis, head = context.analysis, context.view.head
    layer = min(context.view.layer, analysis.trace.sites("encoder")[-1].layer)
    weights = pooling_weights(context.loaded.config, analysis.trace.step_axis.ids)
    site = Site("encoder", layer)
    attention = site.head_name(head), pooled_row(analysis.trace, weights, site, head)
    return payload(analysis, result, attention, context.mode) | {"trace": trace_name(analysis), "hall": False}


def _events(context: PageContext, result: LabelTest) -> dict[str, mount.Event]:
    places = len(context.analysis.trace.step_axis)
    return {"step": (mount.from_one(places), lambda step: session.change(step=step))}


def _tables(context: PageContext, result: LabelTest) -> tuple[Table, ...]:
    """Returns each word with the effect of hiding it and all readings, and the rank correlations of the readings."""
    names = tuple(result.importance)
    rows: list[tuple[Cell, ...]] = []
    for n, word in enumerate(result.words.labels):
        odds = (float(np.exp(each[n, result.label])) for each in (result.before, result.after))
        readings = (float(result.importance[name][n]) for name in names)
        rows.append((n + 1, word, *odds, float(result.occlusion[n]), *readings))
    columns = ("word_number", "word", "probability", "probability_without", "occlusion", *names)
    count, every = len(result.words), result.correlations.items()
    ranks = tuple((name, None if math.isnan(rho) else rho, count) for name, rho in every)
    correlation = Table("rank-correlation-with-occlusion", ("reading", "spearman", "words"), ranks)
    return Table("words", columns, tuple(rows)), correlation


def _code(code: Code, context: PageContext, result: LabelTest) -> None:
    code.add("hidden = dict(zip(result.words.labels, result.occlusion))", "what each word is worth to the label, in nats")
    code.add("importance, correlations = result.importance, result.correlations", "by the name of the reading")


WORDS = Panel(
    "judge.words",
    "Which words decide",
    COMPONENT,
    _payload,
    _events,
    call=judged_text.call,
    reads=("layer", "head", "rival"),
    follow=lambda context, result: {"step": context.view.step + 1},
    tables=_tables,
    code=_code,
    is_visible=judged_text.is_classifier,
    pictures=(Picture("Words", ".word-table", lambda context, result: {"hall": True}, text=edit_verdict),),
    keys=lecture_keys.add_keys,
)
