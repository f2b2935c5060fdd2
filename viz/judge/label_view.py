"""The choices of a classifier's first page: the rival of the label, and the place that it opens with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viz import computations
from viz.page_context import PageContext

if TYPE_CHECKING:
    from model.experiments.label_test import LabelTest
    from model.inference.analysis import Analysis
    from viz.computations import Call
    from viz.state.view import View


def best_label(analysis: Analysis) -> int:
    """Returns the most probable label."""
    return int(analysis.trace.log_probs[0].argmax())


def chosen_rival(view: View, analysis: Analysis) -> int:
    """Returns the label that the best one is compared with: that of the view, else the second best."""
    row = analysis.trace.log_probs[0].copy()
    label = int(row.argmax())
    if view.rival is not None and view.rival != label and view.rival < len(row):
        return view.rival
    row[label] = -float("inf")
    return int(row.argmax())


def call(context: PageContext) -> Call:
    """Returns the test that hides each word."""
    return computations.LABEL_TEST(best_label(context.analysis), chosen_rival(context.view, context.analysis))


def first_place(context: PageContext) -> int:
    """Returns the place of the word whose hiding changes most, from 0; if no word can be hidden, of the first word."""
    try:
        result: LabelTest = computations.run(call(context), context)
    except ValueError:
        return first_word(context.analysis)
    if not len(result.words):
        return first_word(context.analysis)
    return result.words.places[int(np.abs(result.occlusion).argmax())][0]


def first_word(analysis: Analysis) -> int:
    """Returns the place of the first token that is no control token, from 0."""
    words = [n for n, token in enumerate(analysis.trace.step_axis.ids) if token > 2]
    return words[0] if words else 0


def is_classifier(context: PageContext) -> bool:
    """True if the model gives the text one label."""
    return context.analysis.task.is_classifier
