"""Why as a file: a difference of two logits as a sum of all that wrote it."""

from __future__ import annotations

import dataclasses
import html

from model.readings.logits.direct_logits import DirectLogits, choice_logits
from viz import theme
from viz.cache import PageData
from viz.kit.offline_parts import HtmlExport, Part
from viz.state.view import View
from viz.why import (
    chosen_tokens,
    logit_sum,
    pieces,
    token_contributions,
    why_texts,
)


def _found(page_data: PageData) -> DirectLogits:
    view = page_data.view
    asked = *chosen_tokens.asked(view, page_data), chosen_tokens.chosen(view, page_data)
    return choice_logits(page_data.loaded, page_data.analysis, *asked)


def parts(page_data: PageData, found: DirectLogits, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The sum; its parts are not tested."""
    trace = page_data.analysis.trace
    data = logit_sum.payload(found, trace, pieces.chosen(view, found), token_contributions.chosen(view, found, trace), mode)
    return (logit_sum.COMPONENT.part(data),)


def _told(page_data: PageData, found: DirectLogits) -> tuple[str, ...]:
    """The difference in words, as on the page."""
    trace, piece = page_data.analysis.trace, page_data.loaded.output_vocabulary.piece
    row = trace.log_probs[found.step]
    log_probs, pair = (float(row[found.token]), float(row[found.rival])), (piece(found.token), piece(found.rival))
    return why_texts.answer(found, pair, log_probs), f"<p>{html.escape(why_texts.meant(found, trace, pair, log_probs))}</p>"


TAKEN = HtmlExport(
    parts,
    compute=_found,
    notes=_told,
    default_view=lambda page_data: chosen_tokens.look(dataclasses.replace(page_data.view, why="sum"), page_data),
    component_fields=(),  # of one step
    can_show=lambda view: view.why == "sum",
    lecture_pictures=(("sum", ".bars"), ("sum", ".side .grids"), ("sum", ".side")),
)
