"""Inside, why there: one score of one head, split over who wrote what asks and who wrote what answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from model.inference.request import Request
from model.trace import Site, Trace
from viz import cache, readings, state, theme
from viz.inside import one_head
from viz.inside.writers import payload, writers
from viz.inside.writers_texts import answer, beside, missed
from viz.keep import cached_figure
from viz.shared import texts
from viz.shared.lecture import lecture, letters
from viz.shared.shown import Shown
from viz.view import View

if TYPE_CHECKING:
    from model.readings.score_writers import ScoreWriters


def draw(page_data: cache.PageData, view: View, mode: theme.Mode) -> None:
    """Which head, whose query and which key; the score in a sentence, and the writers of both."""
    site, head, query = one_head.chosen(page_data, view)
    found = _found(page_data, view, (site, head, query))
    trace = page_data.analysis.trace
    texts.write(answer(found, trace))
    texts.note(beside(found, trace, page_data.request.intervention.scaling), "score", "mask", "writer", "residual stream")
    if told := missed(found):
        texts.note(told, warn=True)
    _mounted(page_data, view, mode, found)


def large(shown: Shown) -> None:
    """The same over the whole page. Its keys are taken in the browser."""
    lecture.tells("→ ←, space, Home, End", "the token that asks")
    lecture.tells(letters.WALK, "the next token that answers, the one before")
    view, page_data = shown.view, shown.page_data
    with shown.places.notes:
        one_head.told(page_data, view)
        found = _found(page_data, view, one_head.place(page_data, view))
        if told := missed(found):
            texts.note(told, warn=True)
    texts.write(answer(found, page_data.analysis.trace))
    _mounted(page_data, view, shown.mode, found, {"large": True})


def _found(page_data: cache.PageData, view: View, place: tuple[Site, int, int]) -> ScoreWriters:
    """The score of the key that the view asks for, or of the one looked at most, split over its writers."""
    trace, (site, head, query) = page_data.analysis.trace, place
    keys = page_data.analysis.key_count(site, query)
    if view.key > keys:
        texts.note(f"There is no token {view.key} to look at: there are {keys}; the one looked at most is shown.", warn=True)
    key = view.key - 1 if 0 < view.key <= keys else looked_at(trace, site, head, query)
    return readings.score_writers(page_data.request, view.device, site, head, query, key)


def _mounted(
    page_data: cache.PageData, view: View, mode: theme.Mode, found: ScoreWriters, more: dict[str, Any] | None = None
) -> None:
    site, head, query, key = found.site, found.head, found.query, found.key
    data = drawn(page_data.request, view.device, site, head, query, key, mode)
    writers(
        data | (more or {}),
        on_query=lambda number: state.change(**one_head.asking(site, number)),
        on_key=lambda number: state.change(key=number),
        on_writer=lambda kind, layer, number, side: state.change(**leads_to(query, key, side, kind, layer, number)),
    )


def leads_to(query: int, key: int, side: str, kind: str, layer: int, head: int) -> dict[str, Any]:
    """The fields of the view that show a writer of one side (layer and head from 1) at the token where it wrote."""
    place = query if side == "asks" else key
    asks = one_head.asking(Site(kind, layer - 1), place + 1)  # type: ignore[arg-type]
    return {"kind": kind, "layer": layer, "head": head, "key": 0, **asks}


def looked_at(trace: Trace, site: Site, head: int, query: int) -> int:
    """The key of the largest weight, from 0."""
    return int(np.argmax(trace.patterns[site][head, query]))


@cached_figure
def drawn(request: Request, device: str, site: Site, head: int, query: int, key: int, mode: theme.Mode) -> dict[str, Any]:
    """What the matrix needs; all numbers count from 0."""
    found = readings.score_writers(request, device, site, head, query, key)
    analysis = cache.analyse(request, device)
    return payload(found, analysis.trace, mode, analysis.key_count(site, query))
