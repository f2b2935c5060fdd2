"""Inside as a file: the stages of one head for one query."""

from __future__ import annotations

import dataclasses
from typing import Any

from model.readings.stages.unfold import Unfolded, unfold
from model.trace import site_kind
from viz import theme
from viz.inside import one_head, stages
from viz.kit.offline_parts import HtmlExport, Part
from viz.page_context import PageContext
from viz.state.view import View


def _unfolded(context: PageContext) -> Unfolded:
    return unfold(context.loaded, context.analysis, *one_head.place(context, context.view))


def parts(context: PageContext, found: Unfolded, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The stages with their numbers; another token cannot ask."""
    data = stages.payload(found, context.loaded, context.analysis.trace, mode)
    return (stages.COMPONENT.part(data, {"stage": min(view.stage + 1, len(data["stages"]))}),)


def _look(context: PageContext) -> View:
    view, kinds = context.view, context.analysis.trace.kinds
    return dataclasses.replace(view, part="stages", kind=view.kind if view.kind in kinds else kinds[-1])


def _led(context: PageContext) -> dict[str, tuple[Any, ...]]:
    """The stage; and the step, where it asks for nothing: a source token does."""
    asks = site_kind(_look(context).kind).query_side
    return {"stage": ()} | ({"step": ()} if asks == "source" else {})


TAKEN = HtmlExport(
    parts, compute=_unfolded, default_view=_look, remote_fields=_led, can_show=lambda view: view.part == "stages"
)
