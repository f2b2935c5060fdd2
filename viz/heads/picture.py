"""All heads as they are drawn for a view, and the choices above them."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from model.inference.request import Request
from model.readings.heads.head_maps import MAP_READINGS
from model.readings.heads.head_metrics import order_label, orders
from model.text.alignments import read_alignment as read_aligned
from viz import cache, computations, theme
from viz.heads import all_heads
from viz.kit import edit_list, site_texts
from viz.kit.found_head import linking_head
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.result_cache import cached_figure
from viz.state.view import View


def draw(context: PageContext) -> None:
    """The translation, the choices, the thumbnails of all heads and one of them large."""
    view = context.view
    with context.places.body:
        edit_list.draw_notes(context)
        with st.container(key="head_row", horizontal=True, vertical_alignment="center", gap="small"):
            if context.analysis.task.has_decoder:  # else the sentence in the box is all that there is
                said = context.analysis.translation or "(empty: it ends at once)"
                site_texts.label(f"{context.loaded.languages[1]}: {said}")
            st.space("stretch")
            found = view.find is not None and linking_head(context.request, view, view.find)
            site_texts.label("Order the others by" if found else "Order by")  # what is found stands most first
            st.selectbox(
                "Order by",
                dict.fromkeys((*orders(context.analysis.trace.has_two_sentences), view.order)),
                format_func=order_label,
                label_visibility="collapsed",
                **session.bind("order", "order", view.order),
            )
            st.segmented_control(
                "Measure",
                MAP_READINGS,
                required=True,
                format_func=str.capitalize,
                label_visibility="collapsed",
                **session.bind("measure", "measure", view.measure),
            )
        all_heads.heads(
            thumbnails(context.request, view.device, context.mode),
            payload(context.request, view.device, view, context.mode),
            on_choose=lambda kind, layer, head: session.change(kind=kind, layer=layer, head=head, average=False),
            on_set=lambda name, value: session.change(**{name: value}),
            on_unfold=_unfold,
            on_find=lambda kind, query, key: find(context.request, kind, query, key),
        )


@cached_figure
def thumbnails(request: Request, device: str, mode: theme.Mode) -> dict[str, Any]:
    aligned = read_aligned(cache.checkpoint(request.checkpoint, device).metrics)
    return all_heads.thumbnails(cache.analyse(request, device).trace, mode, aligned)


@cached_figure
def payload(request: Request, device: str, view: View, mode: theme.Mode) -> dict[str, Any]:
    return all_heads.payload(cache.analyse(request, device).trace, computations.value_norms(request, device), view, mode)


def _unfold() -> None:
    """To the stages of the head that is chosen."""
    session.change(part="stages", stage=View.stage)
    navigation.go_to("inside")


def at_the_best(view: View, context: PageContext) -> View:
    """The view at the head that links the two tokens best, where its link names two tokens and no head."""
    if view.find is None or session.is_in_link("layer", "head"):
        return view
    return dataclasses.replace(view, **linking_head(context.request, view, view.find))


def find(request: Request, kind: str | None, query: int, key: int) -> None:
    """The heads that link two tokens; the best of them is shown large."""
    if kind is None:
        session.change(find=None)
    else:
        find = (kind, query, key)
        session.change(find=find, **linking_head(request, session.current_view(), find))
