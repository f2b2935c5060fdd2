"""The text of a classifier: its labels, and its tokens with the weight of each in a layer and head. Stepping sends nothing;
the server gets a step once it has settled."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from model.export.csv_tables import Table
from model.readings.tokens.word_readings import describe_pooling, pooled_row, pooling_weights
from model.trace import Site
from viz import computations, theme
from viz.decoding_steps import lecture_keys, steps
from viz.decoding_steps.timeline import trace_name
from viz.kit import mount, site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.state import session

if TYPE_CHECKING:
    from model.experiments.label_test import LabelTest
    from model.export.code import Code
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


def _payload(context: PageContext, result: Any) -> dict[str, Any]:
    """Returns the JSON values of the component: labels from the most probable on, weights with five decimals."""
    analysis, loaded, mode = context.analysis, context.loaded, context.mode
    layer, head = context.view.layer, context.view.head
    trace, axis = analysis.trace, analysis.trace.step_axis
    layer = min(layer, trace.sites("encoder")[-1].layer)
    weights = pooled_row(trace, pooling_weights(loaded.config, axis.ids), Site("encoder", layer), head)
    what, whose = describe_pooling(loaded.config, axis.labels, axis.ids)
    return {
        "trace": trace_name(analysis),
        "step": 1,
        "tokens": [{"t": t, "w": w} for t, w in zip(axis.labels, axis.word_numbers, strict=True)],
        "weights": np.round(weights, 5).tolist(),
        "tints": list(theme.tints("encoder", mode)),
        "labels": labels(analysis),
        "tie": site_texts.near_ties_of(analysis)[0] is not None,
        "pooled": f"What is judged is {what}.",
        "whose": f"{Site('encoder', layer).head_name(head)}: {whose}",
        "hall": False,
    }


def labels(analysis: Analysis) -> list[dict[str, Any]]:
    """Returns all labels, the most probable first: name, number, probability, probability before the edits, logit."""
    trace, found = analysis.trace, analysis.probability_change
    order = np.argsort(-trace.log_probs[0], kind="stable").tolist()
    was = found.before if analysis.baseline else [None] * len(order)
    return [
        {
            "name": trace.classes[n],
            "label": n,
            "p": round(float(found.after[n]), 6),
            "was": None if was[n] is None else round(float(was[n]), 6),
            "logit": round(trace.logit(0, n), 3),
        }
        for n in order
    ]


COMPONENT = mount.Component(__file__, '<div class="judged"></div>', picture="The text and its label", name="judged")


def _events(context: PageContext, result: Any) -> dict[str, mount.Event]:
    trace = context.analysis.trace
    return {
        "step": (mount.from_one(len(trace.step_axis)), lambda step: session.change(step=step)),
        "rival": (mount.integer(0, len(trace.classes) - 1), lambda label: session.change(rival=label)),
    }


def _follow(context: PageContext, result: Any) -> dict[str, Any]:
    return {"step": context.view.step + 1, "rival": chosen_rival(context.view, context.analysis)}


def _tables(context: PageContext, result: Any) -> tuple[Table, ...]:
    rows = tuple((n, each["name"], each["p"], each["logit"]) for n, each in enumerate(labels(context.analysis), 1))
    return (Table("labels", ("place", "label", "probability", "logit"), rows),)


def _code(code: Code, context: PageContext, result: Any) -> None:
    code.add("labels = analysis.to_dict()['labels']", "probability and logit of each, the likeliest first")


def verdict(context: PageContext, result: Any) -> str:
    """Returns the effect of the edits on the label as markup, for lecture mode."""
    analysis = context.analysis
    return "" if analysis.baseline is None else f'<p class="lab-note">{html.escape(site_texts.verdict_text(analysis))}.</p>'


JUDGED = Panel(
    "judge.text",
    "The text and its label",
    COMPONENT,
    _payload,
    _events,
    reads=("layer", "head"),
    follow=_follow,
    tables=_tables,
    code=_code,
    is_visible=is_classifier,
    pictures=(Picture("Text", ".judged", lambda context, result: {"hall": True}, text=verdict),),
    bar=lecture_keys.draw_fact,
    keys=lecture_keys.add_keys,
    file=FileOptions(default_view=steps.file_view, component_fields=("step",), remote_fields=lambda context: {"step": ()}),
)
