"""Why as a file: a difference of two logits as a sum of all that wrote it."""

from __future__ import annotations

import dataclasses
import html

from model.readings.logits.direct_logits import DirectLogits, choice_logits
from viz import theme
from viz.kit.offline_parts import HtmlExport, Part
from viz.page_context import PageContext
from viz.state.view import View
from viz.why import chosen_tokens, logit_sum, pieces, token_contributions, why_texts


def _found(context: PageContext) -> DirectLogits:
    view = context.view
    asked = *chosen_tokens.asked(view, context), chosen_tokens.chosen(view, context)
    return choice_logits(context.loaded, context.analysis, *asked)


def parts(context: PageContext, found: DirectLogits, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The sum; its parts are not tested."""
    trace = context.analysis.trace
    data = logit_sum.payload(found, trace, pieces.chosen(view, found), token_contributions.chosen(view, found, trace), mode)
    return (logit_sum.COMPONENT.part(data),)


def _told(context: PageContext, found: DirectLogits) -> tuple[str, ...]:
    """The difference in words, as on the page."""
    trace, piece = context.analysis.trace, context.loaded.output_vocabulary.piece
    row = trace.log_probs[found.step]
    log_probs, pair = (float(row[found.token]), float(row[found.rival])), (piece(found.token), piece(found.rival))
    return why_texts.answer(found, pair, log_probs), f"<p>{html.escape(why_texts.meant(found, trace, pair, log_probs))}</p>"


TAKEN = HtmlExport(
    parts,
    compute=_found,
    notes=_told,
    default_view=lambda context: chosen_tokens.look(dataclasses.replace(context.view, why="sum"), context),
    component_fields=(),  # of one step
    can_show=lambda view: view.why == "sum",
    lecture_pictures=(("sum", ".bars"), ("sum", ".side .grids"), ("sum", ".side")),
)
