"""The numbers of a text that is judged: its labels, its words by every reading; and the same as Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from model.export.csv_tables import Cell, Table
from viz import computations
from viz.judge import judged_text, label_view
from viz.save.number_tables import change_table

if TYPE_CHECKING:
    from model.export.code import Code
    from viz.page_context import PageContext


def tables(context: PageContext) -> tuple[Table, ...]:
    """All labels; every word with what hiding it does and what the readings say; their rank correlations; what edits did."""
    analysis = context.analysis
    rows = tuple((n, each["name"], each["p"], each["logit"]) for n, each in enumerate(judged_text.labels(analysis), 1))
    found = [Table("labels", ("place", "label", "probability", "logit"), rows), *_words(context)]
    return tuple(found) if analysis.baseline is None else (*found, change_table(analysis))


def _pair(context: PageContext) -> tuple[int, int]:
    return int(context.analysis.trace.log_probs[0].argmax()), label_view.chosen_rival(context.view, context.analysis)


def _words(context: PageContext) -> tuple[Table, ...]:
    """Nothing where no word can be hidden."""
    label, rival = _pair(context)
    try:
        found = computations.label_test(context.request, context.view.device, label, rival)
    except ValueError:
        return ()
    names = tuple(found.importance)
    rows: list[tuple[Cell, ...]] = []
    for n, word in enumerate(found.words.labels):
        odds = (float(np.exp(each[n, label])) for each in (found.before, found.after))
        rows.append((n + 1, word, *odds, float(found.occlusion[n]), *(float(found.importance[name][n]) for name in names)))
    columns = ("word_number", "word", "probability", "probability_without", "occlusion", *names)
    ranks = tuple((name, None if math.isnan(rho) else rho, len(found.words)) for name, rho in found.correlations.items())
    made = Table("words", columns, tuple(rows))
    return made, Table("rank-correlation-with-occlusion", ("reading", "spearman", "words"), ranks)


def code(context: PageContext, code: Code) -> str:
    """The same as Python."""
    label, rival = _pair(context)
    code.add("labels = analysis.to_dict()['labels']", "probability and logit of each, the likeliest first")
    code.add(
        f"found = label_test(checkpoint, analysis, {label}, {rival})",
        "numbers of the label and of the one that it is held against",
        model__experiments__label_test=("label_test",),
    )
    code.add("hidden = dict(zip(found.words.labels, found.occlusion))", "what each word is worth to the label, in nats")
    code.add("importance, correlations = found.importance, found.correlations", "by the name of the reading")
    code.add("print(labels)")
    return code.text
