"""Why as a file: a difference of two logits as a sum of all that wrote it."""

from __future__ import annotations

import html

from model.readings.direct_logits import DirectLogits, direct_logits
from viz import theme
from viz.cache import PageData
from viz.offline.parts import Part, Taken
from viz.view import View
from viz.why import likely, pieces, texts
from viz.why import sum as sums


def _found(page_data: PageData) -> DirectLogits:
    analysis, step = page_data.analysis, page_data.view.step - 1
    if analysis.trace.outputs is None:
        raise ValueError("This checkpoint has no decoder: it chooses no token over another.")
    rival = likely.chosen(page_data.view, analysis.trace)
    return direct_logits(page_data.loaded, analysis, step, analysis.trace.outputs.ids[step], rival)


def parts(page_data: PageData, found: DirectLogits, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The sum; its parts are not tested."""
    return (sums.COMPONENT.part(sums.payload(found, page_data.analysis.trace, pieces.chosen(view, found), mode)),)


def _told(page_data: PageData, found: DirectLogits) -> tuple[str, ...]:
    """The difference in words, as on the page."""
    row, piece = page_data.analysis.trace.log_probs[found.step], page_data.loaded.target_tokenizer.piece
    log_probs = float(row[found.token]), float(row[found.rival])
    answer = texts.answer(found, (piece(found.token), piece(found.rival)), log_probs)
    return answer, f"<p>{html.escape(texts.meant(found, log_probs))}</p>"


TAKEN = Taken(parts, compute=_found, told=_told)
