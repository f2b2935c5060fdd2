"""The pattern of one head before the edits, after them, and the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from model.inference.request import Request
from model.trace import Site
from viz import cache, theme
from viz.kit import controls, sides, site_texts
from viz.kit.heatmap_figures import attention_map, difference_map
from viz.kit.step_rows import step_rows
from viz.state.result_cache import cached_figure
from viz.state.view import View
from viz.what_if import what_if_texts

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.inference.analyse import Analysis

SIZE = {"width": 164, "height": 150, "labelled": False}


def draw(view: View, analysis: Analysis, mode: theme.Mode) -> None:
    """The three maps of the chosen head; the difference only where the tokens are the same."""
    site, head = Site(view.kind, view.layer - 1), None if view.head is None else view.head - 1
    if site not in analysis.trace.patterns:
        site_texts.note(f"This checkpoint has no layer {view.layer} here.")
        return
    before, after = (a.view(site, head) for a in ((analysis.baseline or analysis).trace, analysis.trace))
    same = (before.queries, before.keys) == (after.queries, after.keys)
    for column, name in zip(st.columns(3, gap="small"), ("before", "after", "difference"), strict=True):
        with column:
            site_texts.write(f'<p class="lab-note">{what_if_texts.MAP_NAMES[name]}</p>')
            if name == "difference" and not same:
                site_texts.note("The tokens differ, so there is no difference to show.")
                continue
            figure = one_map(analysis.request, view.device, site, head, name, mode)
            config = controls.chart_config(f"Map {name} the edits" if name != "difference" else "Difference of the maps")
            alt = site_texts.map_alt(before if name == "before" else after, site, head, "attention")
            if name == "difference":
                alt = what_if_texts.difference_alt(after - before)
            st.plotly_chart(figure, theme=None, key=f"whatif-{name}", config=config, alt=f"{name}: {alt}")
    step_rows(view.step, follow=False)


@cached_figure
def one_map(request: Request, device: str, site: Site, head: int | None, name: str, mode: theme.Mode) -> go.Figure:
    """One of the maps, by its name; the head counts from 0, None is the mean."""
    analysis = cache.analyse(request, device)
    before, after = (
        sides.label_map(a.view(site, head), a, site) for a in ((analysis.baseline or analysis).trace, analysis.trace)
    )
    how = SIZE | {"step_row": site.spec.query_side == "target"}
    if name == "difference":
        change = after - before
        return difference_map(change.values, change.allowed | before.allowed, change.queries, change.keys, mode, **how)
    seen = {"before": before, "after": after}[name]
    return attention_map(seen.values, seen.allowed, seen.queries, seen.keys, site.kind, mode, **how)
