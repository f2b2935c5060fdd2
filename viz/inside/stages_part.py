"""Inside, first part: one head unfolded, stage by stage."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from model.inference.request import Request
from model.trace import Site, site_kind
from viz import cache, state, theme
from viz.inside.stages import payload, stages
from viz.keep import cached_figure
from viz.shared import controls, texts
from viz.view import View

MOST_STAGES = 20  # a link may ask for the last one of another kind of site, which has more


def draw(page_data: cache.PageData, view: View, mode: theme.Mode) -> None:
    """Which head and whose query, and its stages. A mean over heads has no stages: the first head is shown, and said."""
    trace, config = page_data.analysis.whole, page_data.loaded.config
    layers, by_token = config.layers[view.kind], site_kind(view.kind).queries == "source"
    site, head = Site(view.kind, min(view.layer, layers) - 1), (view.head or 1) - 1  # type: ignore[arg-type]
    _picks(dataclasses.replace(view, layer=site.layer + 1), layers, config.heads)
    if view.layer > layers:
        texts.note(f"There is no layer {view.layer} here: layer {layers} is shown.", warn=True)
    if view.head is None:
        texts.note("The stages are those of a single head: head 1 is shown.")
    asked = view.token if by_token else view.step
    query = min(asked, len(trace.queries(site))) - 1
    if by_token and asked > query + 1:
        texts.note(f"There is no token {asked}: this sentence has {query + 1}.", warn=True)
    data = unfolded(page_data.request, view.device, site, head, query, mode)
    if view.stage > MOST_STAGES:
        texts.note(f"There is no stage {view.stage}: this head has {len(data['stages'])}, the last is shown.", warn=True)
    stages(
        data | {"stage": min(view.stage, len(data["stages"]))},
        on_stage=lambda stage: state.change(stage=stage),
        on_query=lambda number: state.change(**{"token" if by_token else "step": number}),
        on_next=lambda kind, layer: state.change(kind=kind, layer=layer, stage=1),
    )


@cached_figure
def unfolded(request: Request, device: str, site: Site, head: int, query: int, mode: theme.Mode) -> dict[str, Any]:
    """What the stages need; head and query count from 0."""
    found = cache.unfold(request, device, site, head, query)
    return payload(found, cache.checkpoint(request.checkpoint, device), cache.analyse(request, device).whole, mode)


def _picks(view: View, layers: int, heads: int) -> None:
    with st.container(key="stage_picks", horizontal=True, vertical_alignment="center", gap="small"):
        controls.kind_pick(view)
        controls.layer_pick(view, layers)
        texts.label("head", "head")
        st.segmented_control(
            "Head",
            range(1, heads + 1),
            required=True,
            label_visibility="collapsed",
            **state.bind("one head", "head", view.head or 1),
        )
