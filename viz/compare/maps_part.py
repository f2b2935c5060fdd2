"""The two sides beside each other: both translations, where they differ, and one head of each."""

from __future__ import annotations

from typing import Any

import streamlit as st

from model.inference.decisions import NEAR_TIE
from viz import state
from viz.compare import distance, side_by_side
from viz.compare import texts as compare_texts
from viz.compare.pair import Pair
from viz.shared import texts
from viz.shared.shown import Shown


def draw(shown: Shown, pair: Pair) -> None:
    """The answer in a line, where it differs most with the way there, and the component."""
    grids = distance.grids(pair)
    most = distance.most(grids)
    with st.container(key="compare_verdict", horizontal=True, vertical_alignment="bottom", gap="small"):
        texts.write(compare_texts.verdict(pair), inline=True)
        if told := compare_texts.tie(pair):
            texts.label(told, title=f"{NEAR_TIE[:1].upper()}{NEAR_TIE[1:]}.")
    with st.container(key="compare_most", horizontal=True, vertical_alignment="center", gap="small"):
        lead, measured = compare_texts.unlike(pair, most)
        texts.label(lead)
        if most is not None and measured:
            place = most.site.kind, most.site.layer + 1, most.head + 1
            name = compare_texts.place(most.site, most.head)
            st.button(name, key="largest difference", type="tertiary", on_click=state.change, kwargs=chosen(pair, *place))
            texts.label(measured, "total variation distance")
    side_by_side.side_by_side(
        side_by_side.payload(pair, grids, shown.view.step, shown.mode),
        on_step=lambda step: state.change(step=step),
        on_place=lambda *place: state.change(**chosen(pair, *place)),
    )
    if told := compare_texts.partner_text(pair):
        texts.note(told)


def picture(shown: Shown, pair: Pair, name: str) -> None:
    """One picture over the whole screen, by its name: the maps, their difference, or how far apart all heads are."""
    grids = distance.grids(pair)
    told = (*pair.faults, compare_texts.tie(pair) if name == "maps" else "")
    most = " ".join(filter(None, told)) or compare_texts.most_unlike(distance.most(grids))
    large = {"picture": name, "answer": compare_texts.said(pair), "most": most}
    side_by_side.side_by_side(
        side_by_side.payload(pair, grids, shown.view.step, shown.mode, large),
        on_step=lambda step: state.change(step=step),
        on_place=lambda *place: state.change(**chosen(pair, *place)),
    )


def furthest(pair: Pair) -> None:
    """To the head at which both sides differ most; called from callbacks."""
    most = distance.most(distance.grids(pair))
    if most is not None:
        state.change(**chosen(pair, most.site.kind, most.site.layer + 1, most.head + 1))


def chosen(pair: Pair, kind: str, layer: int, head: int | None) -> dict[str, Any]:
    """The fields of a view that looks at a head: of two heads the second one."""
    if pair.differs == "head":
        return {"other_layer": layer, "other_head": head}
    place = {"kind": kind, "layer": layer, "head": head}
    return place | {"other_layer": 0, "other_head": 0} if pair.differs == "checkpoint" else place
