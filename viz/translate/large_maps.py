"""The maps of one layer and head in lecture mode: all of them on one canvas, as large as the window lets them be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.trace import Site
from viz import theme
from viz.shared import file_maps, mount, texts
from viz.translate import maps
from viz.view import View

if TYPE_CHECKING:
    from model.inference.analysis import Analysis

_COMPONENT = mount.Component(__file__, '<div class="large"></div>', picture="Maps of a layer and head")


def draw_large(analysis: Analysis, view: View, mode: theme.Mode, above: int, trace: str | None = None) -> None:
    """Weights, or masks, with the row of the step outlined; `above`: px of the stage that stand above them; `trace`: of the
    timeline that tells the step, None where the view does."""
    layer, head = view.layer - 1, None if view.head is None else view.head - 1
    sites = [site for kind in analysis.trace.kinds if (site := Site(kind, layer)) in analysis.trace.patterns]
    if not sites:
        texts.note(f"This checkpoint has no layer {layer + 1}.")
        return
    seen = [(site.kind, maps.seen_map(analysis, view.device, site, head)[0]) for site in sites]
    drawn = [file_maps.one(theme.SITE_NAMES[kind], each, kind, view.show == "mask") for kind, each in seen]
    if not analysis.task.writes:  # the steps are the places of the text
        drawn = [each | {"follows": True} for each in drawn]
    _COMPONENT.mount("large_maps", {**file_maps.part(drawn, view.step, mode).data, "above": above, "trace": trace})
