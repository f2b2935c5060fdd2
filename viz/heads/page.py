"""Heads: what does every head do on this sentence?"""

from __future__ import annotations

import streamlit as st

from model.readings.head_maps import MEASURES
from model.readings.head_metrics import orders
from viz import cache, state
from viz.heads.all_heads import heads, payload, thumbnails
from viz.shared import controls, edit_list, texts


def main() -> None:
    state.leave()
    view, faults = state.open_view("heads")
    controls.title_row(view, "Heads", "What does every head do on this sentence?", (480, 440, 96))
    body = st.container()
    try:
        with body, texts.waiting():
            page_data = cache.page_data(view)
            norms = cache.value_norms(page_data.request, view.device)
    except ValueError as fault:
        with body:
            texts.sentence_notes((), faults)
            texts.fault(str(fault))
            controls.way_out(view)
            edit_list.rescue(view)
        state.settle(view)
        return
    analysis = page_data.analysis
    view = page_data.view.within(len(analysis.trace.outputs))
    with body:
        texts.sentence_notes(analysis.notes, (*faults, *page_data.faults))
        edit_list.other_edits(view, analysis)
        with st.container(key="head_row", horizontal=True, vertical_alignment="center", gap="small"):
            texts.label(f"{page_data.loaded.languages[1]}: {analysis.translation or '(empty: it ends at once)'}")
            st.space("stretch")
            texts.label("Order by")
            _segments("Order by", orders(), "order", view.order)
            _segments("Measure", MEASURES, "measure", view.measure)
        mode = state.theme_mode()
        shown = cache.cached_figure(
            ("thumbnails", page_data.request, view.device, view.order, mode),
            lambda: thumbnails(analysis.whole, view.order, mode),
        )
        drawn = (view.order, view.kind, view.layer, view.head, view.measure, view.merge, view.hide, view.mass, view.step)
        drawn += (view.together, view.average, view.by_row)
        key = ("heads", page_data.request, view.device, drawn, mode)
        data = cache.cached_figure(key, lambda: payload(analysis.whole, norms, view, mode))
        heads(
            shown,
            data,
            on_choose=lambda kind, layer, head: state.change(kind=kind, layer=layer, head=head, average=False),
            on_set=lambda name, value: state.change(**{name: value}),
            on_unfold=unfold,
        )
    state.settle(view)


def unfold() -> None:
    """To the stages of the head that is chosen."""
    state.change(part="stages", stage=1)
    state.go_to("viz/inside/page.py")


def _segments(name: str, options: tuple[str, ...], field: str, value: str) -> None:
    st.segmented_control(
        name,
        options,
        required=True,
        format_func=str.capitalize,
        label_visibility="collapsed",
        **state.bind(field, field, value),
    )


main()
