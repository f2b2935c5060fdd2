"""The map: the whole model as a picture, every block with what it does, its shapes and its parameters."""

from __future__ import annotations

from typing import Any

from model.inference.request import Request
from model.readings.blueprint import blueprint as plan
from viz import cache, state, theme, visit
from viz.inside import sizes_panel
from viz.inside.blueprint import blueprint, payload
from viz.keep import cached_figure
from viz.page_fields import PARTS
from viz.shared.lecture import lecture, letters
from viz.shared.shown import Shown
from viz.view import View


def draw(page_data: cache.PageData, view: View, mode: theme.Mode) -> None:
    """The architecture of this checkpoint, with this sentence's shapes."""
    _mounted(page_data, view, mode)
    sizes_panel.draw(view, page_data.loaded)


def large(shown: Shown) -> None:
    """The same as large as the window."""
    lecture.tells(letters.WALK, "the next block of the stream, the one before")
    _mounted(shown.page_data, shown.view, shown.mode, {"large": True})


def _mounted(page_data: cache.PageData, view: View, mode: theme.Mode, more: dict[str, Any] | None = None) -> None:
    data = picture(page_data.request, view.device, view, mode)
    blueprint(data | (more or {}), on_choose=lambda kind, layer: state.change(kind=kind, layer=layer), on_open=_open)


@cached_figure
def picture(request: Request, device: str, view: View, mode: theme.Mode) -> dict[str, Any]:
    """What the picture needs."""
    loaded, trace = cache.checkpoint(request.checkpoint, device), cache.analyse(request, device).trace
    blocks = plan(loaded, len(trace.source or ()), len(trace.inputs or ()))
    return payload(blocks, trace, view, mode, rotary=bool(loaded.config.scheme.attends))


def _open(place: str, kind: str | None, layer: int | None) -> None:
    """To another part of this page, or to another page, with the site that the block stands for."""
    site = {name: value for name, value in (("kind", kind), ("layer", layer)) if value is not None}
    if place in PARTS:
        state.change(part=place, **site)
    else:
        state.change(**site)
        visit.go_to(place)
