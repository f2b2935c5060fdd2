"""Inside: which head is looked at, and whose query, for the parts that show a single one."""

from __future__ import annotations

import dataclasses

import streamlit as st

from model.trace import Site, site_kind
from viz import cache, state
from viz.shared import controls, texts
from viz.view import View


def chosen(page_data: cache.PageData, view: View) -> tuple[Site, int, int]:
    """The controls, and the site, head and query of the view, from 0. What is not there is told, and the nearest shown; of a
    mean over heads the first head."""
    trace, config = page_data.analysis.whole, page_data.loaded.config
    layers, by_token = config.layers[view.kind], site_kind(view.kind).queries == "source"
    site, head = Site(view.kind, min(view.layer, layers) - 1), (view.head or 1) - 1  # type: ignore[arg-type]
    _picks(dataclasses.replace(view, layer=site.layer + 1), layers, config.heads)
    if view.layer > layers:
        texts.note(f"There is no layer {view.layer} here: layer {layers} is shown.", warn=True)
    if view.head is None:
        texts.note("Only a single head can be taken apart: head 1 is shown.")
    asked = view.token if by_token else view.step
    query = min(asked, len(trace.queries(site))) - 1
    if by_token and asked > query + 1:
        texts.note(f"There is no token {asked}: this sentence has {query + 1}.", warn=True)
    return site, head, query


def asking(site: Site, number: int) -> dict[str, int]:
    """The field of the view that says which token asks at a site: a token of the source, or a step (from 1)."""
    return {"token" if site.of.queries == "source" else "step": number}


def _picks(view: View, layers: int, heads: int) -> None:
    with st.container(key="stage_picks", horizontal=True, vertical_alignment="center", gap="small"):
        controls.kind_pick(view)
        controls.layer_pick(view, layers)
        with controls.in_one_piece("head", heads):
            texts.label("head", "head")
            st.segmented_control(
                "Head",
                range(1, heads + 1),
                required=True,
                label_visibility="collapsed",
                **state.bind("one head", "head", view.head or 1),
            )
