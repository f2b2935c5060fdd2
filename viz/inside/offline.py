"""Inside as a file: the stages of one head for one query."""

from __future__ import annotations

import dataclasses
from typing import Any

from model.readings.stages.unfold import Unfolded, unfold
from model.trace import site_kind
from viz import theme
from viz.cache import PageData
from viz.inside import one_head, stages
from viz.kit.offline_parts import HtmlExport, Part
from viz.state.view import View


def _unfolded(page_data: PageData) -> Unfolded:
    return unfold(page_data.loaded, page_data.analysis, *one_head.place(page_data, page_data.view))


def parts(page_data: PageData, found: Unfolded, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The stages with their numbers; another token cannot ask."""
    data = stages.payload(found, page_data.loaded, page_data.analysis.trace, mode)
    return (stages.COMPONENT.part(data, {"stage": min(view.stage, len(data["stages"]))}),)


def _look(page_data: PageData) -> View:
    view, kinds = page_data.view, page_data.analysis.trace.kinds
    return dataclasses.replace(view, part="stages", kind=view.kind if view.kind in kinds else kinds[-1])


def _led(page_data: PageData) -> dict[str, tuple[Any, ...]]:
    """The stage; and the step, where it asks for nothing: a source token does."""
    asks = site_kind(_look(page_data).kind).query_side
    return {"stage": ()} | ({"step": ()} if asks == "source" else {})


TAKEN = HtmlExport(
    parts, compute=_unfolded, default_view=_look, remote_fields=_led, can_show=lambda view: view.part == "stages"
)
