"""Inside, first part: one head unfolded, stage by stage."""

from __future__ import annotations

from typing import Any

from model.inference.request import Request
from model.trace import Site
from viz import cache, readings, state, theme
from viz.inside import one_head
from viz.inside.stages import payload, stages
from viz.keep import cached_figure
from viz.shared import texts
from viz.shared.lecture import lecture, letters
from viz.shared.shown import Shown
from viz.view import View

MOST_STAGES = 20  # a link may ask for the last one of another kind of site, which has more


def draw(page_data: cache.PageData, view: View, mode: theme.Mode) -> None:
    """Which head and whose query, and its stages."""
    _unfolded(page_data, view, mode, one_head.chosen(page_data, view))


def large(shown: Shown) -> None:
    """One stage over the whole page. Its keys are taken in the browser."""
    lecture.tells(letters.WALK, "the next stage, the stage before")
    lecture.tells("→ ←, space, Home, End", "the token that asks")
    view = shown.view
    with shown.places.notes:
        one_head.told(shown.page_data, view)
    _unfolded(shown.page_data, view, shown.mode, one_head.place(shown.page_data, view), large=True)


def _unfolded(
    page_data: cache.PageData, view: View, mode: theme.Mode, place: tuple[Site, int, int], large: bool = False
) -> None:
    site, head, query = place
    data = unfolded(page_data.request, view.device, site, head, query, mode)
    if view.stage > MOST_STAGES:
        texts.note(f"There is no stage {view.stage}: this head has {len(data['stages'])}, the last is shown.", warn=True)
    stages(
        data | {"stage": min(view.stage, len(data["stages"]))} | ({"large": True} if large else {}),
        on_stage=lambda stage: state.change(stage=stage),
        on_query=lambda number: state.change(**one_head.asking(site, number)),
        on_next=lambda kind, layer: state.change(kind=kind, layer=layer, stage=1),
        on_apart=lambda: state.change(part="writers", key=0),
    )


@cached_figure
def unfolded(request: Request, device: str, site: Site, head: int, query: int, mode: theme.Mode) -> dict[str, Any]:
    """What the stages need; head and query count from 0."""
    found = readings.unfold(request, device, site, head, query)
    return payload(found, cache.checkpoint(request.checkpoint, device), cache.analyse(request, device).trace, mode)
