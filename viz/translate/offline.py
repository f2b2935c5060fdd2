"""Translate as a file: the timeline with its candidates, and the maps of any layer and head."""

from __future__ import annotations

import dataclasses
import html
from typing import Any

from model.experiments.label_test import LabelTest, label_test
from model.trace import ATTENTION_KINDS, Site
from viz import theme
from viz.decoding_steps import candidates, timeline
from viz.fill import fill_in
from viz.judge import judged_text, label_view, word_table
from viz.kit import file_maps, sides
from viz.kit.offline_parts import Choice, HtmlExport, Part, Pick
from viz.page_context import PageContext
from viz.state.view import ROWS, View
from viz.translate import in_lecture

STEPS, MAPS = ("timeline", ".timeline"), ("file_maps", ".maps")
LARGE = {"steps": STEPS, "maps": MAPS, "cache": STEPS}  # of the cache the file has the steps alone
LARGE_JUDGED = (("judged", ".judged"), ("word_table", ".word-table"), MAPS)
MOST_VIEWS = 80  # of layers and heads: where there are more, those of one layer are held


def parts(context: PageContext, found: Any, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The components of a view. Nothing leads to another page, and nothing is chosen anew."""
    analysis = context.analysis
    head = view.head
    sites = [Site(kind, view.layer) for kind in ATTENTION_KINDS if Site(kind, view.layer) in analysis.trace.patterns]
    seen = [(site.kind, sides.label_map(analysis.trace.view(site, head), analysis.trace, site)) for site in sites]
    maps = [file_maps.one(theme.SITE_NAMES[kind], each, kind, view.show == "mask") for kind, each in seen]
    if analysis.task.is_classifier:
        return *_judged(context, found, view, head, mode), file_maps.map_part(maps, view.step, mode)
    shown = _timeline(context, view, head, mode)
    silent = {"why": [each | {"asked": False, "to": None} for each in shown["why"]]}
    follow = {"step": shown["step"], "guess": False}
    rows = view.rows if analysis.task.has_decoder else "training"
    steps = follow | {"rows": rows, "reasons": [None] * len(shown["target"])}
    return (
        timeline.COMPONENT.part(shown, silent, steps),
        candidates.COMPONENT.part(found | {"trace": shown["trace"]}, follow, {"fault": ""}),
        file_maps.map_part(maps, view.step, mode),
    )


def _judged(
    context: PageContext, found: LabelTest | str, view: View, head: int | None, mode: theme.Mode
) -> tuple[Part, ...]:
    """The text with its label, and the words; without these where they could not be hidden."""
    analysis, loaded, layer = context.analysis, context.loaded, view.layer
    shown, follow = judged_text.payload(analysis, loaded, layer, head, mode), {"step": view.step + 1, "hall": False}
    text = judged_text.COMPONENT.part(shown, follow | {"rival": label_view.chosen_rival(view, analysis)})
    if isinstance(found, str):
        return (text,)
    return text, word_table.COMPONENT.part(label_view.words_payload(analysis, loaded, found, layer, head, mode), follow)


def _timeline(context: PageContext, view: View, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """What the timeline needs, as on the page: of the tokens that were written, or of a sentence that is read at once."""
    analysis, loaded, layer = context.analysis, context.loaded, view.layer
    if analysis.task.has_decoder:
        return timeline.payload(analysis, loaded, layer, head, view.step, mode)
    return fill_in.payload(analysis, loaded, layer, head, mode) | {"step": view.step + 1}


def _candidates(context: PageContext) -> dict[str, Any] | LabelTest | str:
    """What the candidates need, whatever layer and head are chosen; of a classifier its words, or why they cannot be
    hidden."""
    analysis, loaded = context.analysis, context.loaded
    if analysis.task.is_classifier:
        label, rival = int(analysis.trace.log_probs[0].argmax()), label_view.chosen_rival(context.view, analysis)
        try:
            return label_test(loaded, analysis, label, rival)
        except ValueError as fault:
            return str(fault)
    if analysis.task.has_decoder:
        return candidates.payload(analysis, loaded.target_tokenizer, context.view.controls, "")
    return fill_in.rows_payload(analysis, loaded, "")


def _layers(context: PageContext) -> range:
    """The layers that can be chosen in the file."""
    one = context.layers * len(_heads(context)) > MOST_VIEWS
    return range(context.view.layer, context.view.layer + 1) if one else range(context.layers)


def _choices(context: PageContext) -> tuple[Choice, ...]:
    places = [(layer, head) for layer in _layers(context) for head in _heads(context)]
    views = [dataclasses.replace(context.view, layer=layer, head=head) for layer, head in places]
    return (Choice(("layer", "head"), {view: view for view in views}),)


def _heads(context: PageContext) -> list[int | None]:
    return [None, *range(context.loaded.config.heads)]


def _picks(context: PageContext) -> tuple[Pick, ...]:
    layers = tuple((layer + 1, str(layer + 1)) for layer in _layers(context))
    heads = tuple((None, "mean") if head is None else (head + 1, str(head + 1)) for head in _heads(context))
    if len(layers) < context.layers:
        label = f"Head of layer {context.view.layer + 1} of {context.layers}, the one that this file holds"
        return (Pick("head", label, heads, "file_maps"),)
    return Pick("layer", "Layer", layers, "file_maps"), Pick("head", "Head", heads, "file_maps")


def _told(context: PageContext, found: Any) -> tuple[str, ...]:
    return (f'<p class="lab-note">{html.escape(found)}</p>',) if isinstance(found, str) else ()


def _large(context: PageContext) -> tuple[tuple[str, str], ...]:
    """Where in the file each picture stands that a lecture on this view shows, in the order of the view's `large`."""
    view, task = dataclasses.replace(context.view, guess=False), context.analysis.task
    if task.is_classifier:
        return LARGE_JUDGED
    asked = [dataclasses.replace(view, large=number) for number in range(1, in_lecture.count(task) + 1)]
    return tuple(LARGE[in_lecture.LARGE[in_lecture.large_of(each, task) - 1]] for each in asked)


def _led(context: PageContext) -> dict[str, tuple[Any, ...]]:
    led: dict[str, tuple[Any, ...]] = {"step": (), "guess": (False, True)}
    return led | ({"rows": ROWS} if context.analysis.task.has_decoder else {})


TAKEN = HtmlExport(
    parts,
    compute=_candidates,
    choices=_choices,
    picks=_picks,
    remote_fields=_led,
    notes=_told,
    lecture_pictures=(STEPS, MAPS),
    lecture_pictures_of=_large,
    rounded=file_maps.ROUNDED,
)
