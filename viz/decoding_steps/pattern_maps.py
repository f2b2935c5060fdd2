"""The maps of one layer and head, on the page and in lecture mode, and the effect of the edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from model.inference.request import Request
from model.trace import Site
from viz import cache, computations, theme
from viz.decoding_steps import decoding_texts
from viz.kit import controls, file_maps, patterns, sides, site_texts
from viz.kit.chart_figures import change_chart
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.trace import MapView as TraceView

CHART_HEIGHT = 210


def draw(analysis: Analysis, view: View, mode: theme.Mode) -> None:
    """Draws the maps of a layer over the whole target; their outlined row follows the step of the timeline."""
    layer, head, kinds = view.layer, view.head, analysis.trace.kinds
    sites = [site for kind in kinds if (site := Site(kind, layer)) in analysis.trace.patterns]
    if missing := [theme.SITE_NAMES[kind].lower() for kind in kinds if Site(kind, layer) not in sites]:
        site_texts.note(f"This checkpoint has no layer {layer + 1} in {' and '.join(missing)}.")
    if not sites:
        return
    file_maps.mount_maps(maps_data(analysis.request, view.device, layer, head, view.show, mode), view.step, "pattern maps")
    is_blank = any(not seen_map(analysis, view.device, site, head)[0].allowed.all() for site in sites)
    padded = computations.target_padding(analysis.request, view.device)
    decoding_texts.map_caption(analysis, view.show, is_blank, padded.pads if padded else 0)


@cached_figure
def maps_data(request: Request, device: str, layer: int, head: int | None, show: str, mode: theme.Mode) -> dict[str, Any]:
    """Returns the data of a layer's maps; layer and head count from 0, None is the mean of the heads."""
    analysis, vocabulary = cache.analyse(request, device), cache.checkpoint(request.checkpoint, device).output_vocabulary
    maps = []
    for kind in analysis.trace.kinds:
        if (site := Site(kind, layer)) not in analysis.trace.patterns:
            continue
        seen, former = seen_map(analysis, device, site, head)
        candidates = None
        if site.spec.query_side == "target":
            candidates = patterns.top_candidates(analysis.trace.log_probs, vocabulary.piece, len(seen.queries))
        title = theme.SITE_NAMES[kind]
        payload = patterns.pattern(seen, kind, title, masked=show == "mask", former=former, candidates=candidates)
        payload["picture"] = f"{site.spec.name} {'mask' if show == 'mask' else 'map'}".capitalize()
        if not analysis.task.has_decoder:  # the steps are positions of the text
            payload["follows"] = True
        maps.append(payload)
    return file_maps.map_data(maps, 0, mode, alike=True)


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


def draw_large(analysis: Analysis, view: View, mode: theme.Mode, above: int, trace: str | None = None) -> None:
    """Draws the maps in lecture mode. `trace` names the trace of the timeline that publishes the step, if there is one."""
    layer, head = view.layer, view.head
    if not any(Site(kind, layer) in analysis.trace.patterns for kind in analysis.trace.kinds):
        site_texts.note(f"This checkpoint has no layer {layer + 1}.")
        return
    data = maps_data(analysis.request, view.device, layer, head, view.show, mode)
    file_maps.mount_in_lecture(data, key="large_maps", step=view.step, trace=trace)
