"""The three maps of one layer, and what the edits changed.

The maps of one layer and head in lecture mode: all of them on one canvas, as large as the window lets them be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.inference.request import Request
from model.trace import Site
from viz import cache, computations, theme
from viz.decoding_steps import decoding_texts
from viz.kit import controls, file_maps, mount, sides, site_texts
from viz.kit.chart_figures import change_chart
from viz.kit.heatmap_figures import attention_map, mask_map
from viz.kit.step_rows import step_rows
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.trace import MapView as TraceView

MAP_HEIGHT = 236
CHART_HEIGHT = 210


def draw(analysis: Analysis, view: View, mode: theme.Mode) -> None:
    """The maps of a layer: over the whole target, so that they do not follow the step."""
    layer, head = view.layer - 1, None if view.head is None else view.head - 1
    blank = False
    kinds = analysis.trace.kinds
    for column, kind in zip(st.columns(max(2, len(kinds)), gap="small"), kinds, strict=False):
        site = Site(kind, layer)
        with column:
            site_texts.site_title(kind)
            if site not in analysis.trace.patterns:
                site_texts.note(f"This checkpoint has no layer {layer + 1} here.")
                continue
            blank |= not seen_map(analysis, view.device, site, head)[0].allowed.all()
            figure, alt = one_map(analysis.request, view.device, site, head, view.show, mode)
            config = controls.chart_config(f"{site.spec.name} {'mask' if view.show == 'mask' else 'map'}".capitalize())
            st.plotly_chart(figure, theme=None, height="stretch", key=f"map-{kind}", config=config, alt=alt)
    step_rows(view.step, follow=True)
    padded = computations.target_padding(analysis.request, view.device)
    decoding_texts.map_caption(analysis, view.show, blank, padded.pads if padded else 0)


@cached_figure
def one_map(
    request: Request, device: str, site: Site, head: int | None, show: str, mode: theme.Mode
) -> tuple[go.Figure, str]:
    """One map, and the same in words; the head counts from 0, None is the mean."""
    analysis = cache.analyse(request, device)
    seen, former = seen_map(analysis, device, site, head)
    labels = {"queries": seen.queries, "keys": seen.keys}
    sizes = {"mode": mode, "height": MAP_HEIGHT, "former": former, "step_row": site.spec.query_side == "target"}
    if show == "mask":
        figure = mask_map(seen.allowed, **labels, **sizes)
    else:
        figure = attention_map(seen.values, seen.allowed, **labels, kind=site.kind, **sizes)
    return figure, site_texts.map_alt(seen, site, head, show)


def seen_map(analysis: Analysis, device: str, site: Site, head: int | None) -> tuple[TraceView, np.ndarray | None]:
    """A map, and the mask there without the edits; with the padding that follows the target in its batch, if any."""
    padded = computations.target_padding(analysis.request, device) if site.spec.query_side == "target" else None
    if padded is None:
        return sides.label_map(analysis.trace.view(site, head), analysis.trace, site), analysis.baseline_mask(site, head)
    return padded.trace.view(site, head), None if analysis.baseline is None else padded.before.mask(site, head)


def draw_changes(analysis: Analysis, loaded: Checkpoint, mode: theme.Mode) -> None:
    """What the edits did: both translations where tokens were chosen anew, and the probability of every token."""
    decoding_texts.change_heading(analysis)
    site_texts.changed_decisions(analysis, loaded.output_vocabulary)
    if analysis.request.mode == "again":
        site_texts.both_translations(analysis, loaded)
    found = analysis.probability_change
    chart = change_chart(found.labels, found.before, found.after, len(found.after), mode, CHART_HEIGHT)
    st.plotly_chart(
        chart,
        theme=None,
        key="change",
        config=controls.chart_config("Probability of each token before and after"),
        alt=site_texts.change_alt(analysis),
    )


_COMPONENT = mount.Component(__file__, '<div class="large"></div>', picture="Maps of a layer and head", name="large_maps")


def draw_large(analysis: Analysis, view: View, mode: theme.Mode, above: int, trace: str | None = None) -> None:
    """Weights, or masks, with the row of the step outlined; `above`: px of the stage that stand above them; `trace`: of the
    timeline that tells the step, None where the view does."""
    layer, head = view.layer - 1, None if view.head is None else view.head - 1
    sites = [site for kind in analysis.trace.kinds if (site := Site(kind, layer)) in analysis.trace.patterns]
    if not sites:
        site_texts.note(f"This checkpoint has no layer {layer + 1}.")
        return
    seen = [(site.kind, seen_map(analysis, view.device, site, head)[0]) for site in sites]
    drawn = [file_maps.one(theme.SITE_NAMES[kind], each, kind, view.show == "mask") for kind, each in seen]
    if not analysis.task.has_decoder:  # the steps are the places of the text
        drawn = [each | {"follows": True} for each in drawn]
    _COMPONENT.mount("large_maps", {**file_maps.map_part(drawn, view.step, mode).data, "above": above, "trace": trace})
