"""The map: the whole model as a picture, every block with what it does, its shapes and its parameters."""

from __future__ import annotations

from model.readings.blueprint import blueprint as plan
from viz import cache, state, theme
from viz.inside.blueprint import blueprint, payload
from viz.view import PARTS, View

_PAGES = {place: f"viz/{place.replace('-', '_')}/page.py" for place in ("heads", "positions", "what-if", "translate")}


def draw(page_data: cache.PageData, view: View, mode: theme.Mode) -> None:
    """The architecture of this checkpoint, with this sentence's shapes."""
    trace = page_data.analysis.trace
    drawn = (view.kind, view.layer, view.step, mode)

    def made() -> dict:
        blocks = plan(page_data.loaded, len(trace.source), len(trace.inputs))
        return payload(blocks, trace, view, mode, rotary=page_data.loaded.config.positions == "rotary")

    data = cache.cached_figure(("map", page_data.request, view.device, drawn), made)
    blueprint(data, on_choose=lambda kind, layer: state.change(kind=kind, layer=layer), on_open=_open)


def _open(place: str, kind: str | None, layer: int | None) -> None:
    """To another part of this page, or to another page, with the site that the block stands for."""
    site = {name: value for name, value in (("kind", kind), ("layer", layer)) if value is not None}
    if place in PARTS:
        state.change(part=place, **site)
    else:
        state.change(**site)
        state.go_to(_PAGES[place])
