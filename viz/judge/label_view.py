"""The first page of a classifier: the text with the weights that its tokens have, its label, and which words decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from model.inference.request import Request
from model.readings.tokens.word_readings import pooled_row, pooling_weights
from model.trace import Site
from viz import cache, computations, theme
from viz.judge import judged_text, word_table
from viz.kit import site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis


def draw(view: View, context: PageContext, mode: theme.Mode, hall: dict[str, Any] | None = None) -> None:
    """The text with its label, and the words; `hall`: what the components are told in lecture mode, where `words` says
    that these are shown alone."""
    head = view.head
    asked = context.request, view.device, view.layer, head, mode
    rival = chosen_rival(view, context.analysis)
    if not (hall and hall["words"]):
        judged_text.judged(
            text_data(*asked),
            {"step": view.step + 1, "rival": rival, "hall": bool(hall)},
            on_step=lambda step: session.change(step=step),
            on_rival=lambda label: session.change(rival=label),
        )
    if hall and not hall["words"]:
        return
    try:
        data = word_data(*asked, rival)
    except ValueError as fault:
        site_texts.fault(str(fault))
        return
    word_table.word_table(data, {"step": view.step + 1, "hall": bool(hall)}, on_step=lambda step: session.change(step=step))


def chosen_rival(view: View, analysis: Analysis) -> int:
    """The label that the likeliest is held against: the one of the view, else the second likeliest."""
    row = analysis.trace.log_probs[0].copy()
    label = int(row.argmax())
    if view.rival is not None and view.rival != label and view.rival < len(row):
        return view.rival
    row[label] = -float("inf")
    return int(row.argmax())


def opens_at(view: View, context: PageContext) -> int:
    """The place that is looked at first, from 0: of the word whose hiding changes most; where none can be hidden, of the
    first."""
    analysis = context.analysis
    label, rival = int(analysis.trace.log_probs[0].argmax()), chosen_rival(view, analysis)
    try:
        found = computations.label_test(context.request, view.device, label, rival)
    except ValueError:
        return first_word(analysis)
    return found.words.places[int(np.abs(found.occlusion).argmax())][0] if len(found.words) else first_word(analysis)


def first_word(analysis: Analysis) -> int:
    """The place of the first token that is none of control, from 0."""
    words = [n for n, token in enumerate(analysis.trace.step_axis.ids) if token > 2]
    return words[0] if words else 0


@cached_figure
def text_data(request: Request, device: str, layer: int, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """What the text needs; layer and head count from 0."""
    return judged_text.payload(
        cache.analyse(request, device), cache.checkpoint(request.checkpoint, device), layer, head, mode
    )


@cached_figure
def word_data(request: Request, device: str, layer: int, head: int | None, mode: theme.Mode, rival: int) -> dict[str, Any]:
    """What the words need. Raises ValueError as `label_test`."""
    analysis, loaded = cache.analyse(request, device), cache.checkpoint(request.checkpoint, device)
    found = computations.label_test(request, device, int(analysis.trace.log_probs[0].argmax()), rival)
    return words_payload(analysis, loaded, found, layer, head, mode)


def words_payload(
    analysis: Analysis, loaded: Checkpoint, found: Any, layer: int, head: int | None, mode: theme.Mode
) -> dict[str, Any]:
    """The same of what was tested already."""
    layer = min(layer, analysis.trace.sites("encoder")[-1].layer)
    weights = pooling_weights(loaded.config, analysis.trace.step_axis.ids)
    row = pooled_row(analysis.trace, weights, Site("encoder", layer), head)
    name = f"Layer {layer + 1}, {'mean' if head is None else f'head {head + 1}'}"
    made = word_table.payload(analysis, found, (name, row), mode)
    return made | {"trace": judged_text.payload(analysis, loaded, layer, head, mode)["trace"]}


def ahead(context: PageContext, mode: theme.Mode) -> None:
    """What is shown first."""
    view, request = context.view, context.request
    asked = request, view.device, view.layer, view.head, mode
    text_data(*asked)
    if request.intervention.padding_mask:
        word_data(*asked, chosen_rival(view, context.analysis))
