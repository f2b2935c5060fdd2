"""Inside: which head is looked at, and whose query, for the parts that show a single one."""

from __future__ import annotations

import dataclasses

import streamlit as st

from model.config import ModelConfig
from model.trace import Site, site_kind
from viz.kit import controls, site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.view import View


def chosen(context: PageContext, view: View) -> tuple[Site, int, int]:
    """The controls, and the site, head and query of the view, from 0. What is not there is told, and the nearest shown; of a
    mean over heads the first head."""
    config = context.loaded.config
    site, head, query = place(context, view)
    _picks(dataclasses.replace(view, layer=site.layer), config.layers[view.kind], config)
    told(context, view)
    return site, head, query


def told(context: PageContext, view: View) -> None:
    """What the view asks for that is not there, a sentence each."""
    layers, by_token = context.loaded.config.layers[view.kind], site_kind(view.kind).query_side == "source"
    query = place(context, view)[2]
    if view.layer >= layers:
        site_texts.note(f"There is no layer {view.layer + 1} here: layer {layers} is shown.", warn=True)
    if view.head is None:
        site_texts.note("Only a single head can be taken apart: head 1 is shown.")
    asked = view.token if by_token else view.step
    if by_token and asked > query:
        site_texts.note(f"There is no token {asked + 1}: this sentence has {query + 1}.", warn=True)


def place(context: PageContext, view: View) -> tuple[Site, int, int]:
    """The site, head and query of the view, or the nearest that there are, from 0."""
    site = view.site_of(context.analysis.trace.sites(view.kind))
    asked = view.token if site.spec.query_side == "source" else view.step
    return site, view.head or 0, min(asked, len(context.analysis.trace.queries(site)) - 1)


def asking(site: Site, number: int) -> dict[str, int]:
    """The field of the view that says which token asks at a site: a token of the source, or a step."""
    return {"token" if site.spec.query_side == "source" else "step": number}


def _picks(view: View, layers: int, config: ModelConfig) -> None:
    with st.container(key="stage_picks", horizontal=True, vertical_alignment="center", gap="small"):
        controls.kind_pick(view, config.kinds)
        controls.layer_pick(view, layers)
        with controls.unbroken_row("head", config.heads):
            site_texts.label("head", "head")
            st.segmented_control(
                "Head",
                range(config.heads),
                required=True,
                format_func=controls.from_one,
                label_visibility="collapsed",
                **session.bind("one head", "head", view.head or 0),
            )
