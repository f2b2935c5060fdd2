"""The panel of the switchboard: the mask as a clickable matrix, and all heads with the effect of their ablation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table
from viz import computations
from viz.kit import mount
from viz.kit.panel import Panel, Picture
from viz.page_context import PageContext
from viz.state import navigation
from viz.what_if import lecture_controls, switchboard

if TYPE_CHECKING:
    from model.experiments.effects import HeadEffect
    from model.export.code import Code
    from viz.kit.mount import Event

Effects = Sequence["HeadEffect"]


def _payload(context: PageContext, effects: Effects | None) -> dict[str, Any]:
    view, analysis = context.view, context.analysis
    return switchboard.payload(analysis.trace, effects, view.place, analysis.request.intervention, context.mode)


def _events(context: PageContext, effects: Effects | None) -> dict[str, Event]:
    return {"toggle": (mount.text, navigation.toggle_edit)}


def _large(context: PageContext, effects: Effects | None) -> dict[str, Any]:
    """Returns the heads of the shown kind of attention alone."""
    grids = _payload(context, effects)["grids"]
    name = switchboard.NAMES[context.view.kind]
    return {"large": True, "grids": [grid for grid in grids if grid["name"] == name]}


def _tables(context: PageContext, effects: Effects) -> tuple[Table, ...]:
    rows = tuple((e.site.kind, e.site.layer + 1, e.head + 1, e.change, e.scored_tokens) for e in effects)
    return (Table("heads-off", ("attention", "layer", "head", "change_of_log_probability", "scored_tokens"), rows),)


def _code(code: Code, context: PageContext, effects: Effects) -> None:
    code.add("costs = result")


BOARD = Panel(
    "what_if.board",
    "Mask and heads",
    switchboard.COMPONENT,
    _payload,
    _events,
    call=lambda context: computations.HEAD_EFFECTS(),
    tables=_tables,
    code=_code,
    is_visible=lambda context: any(context.view.place.covers_layer(*site) for site in context.analysis.trace.patterns),
    pictures=(Picture("Switches", data=_large, text=lecture_controls.verdict, number=3),),
    is_lazy=True,
    reads=("kind", "layer", "head", "scope"),
)
