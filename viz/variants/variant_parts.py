"""The parts of the page Variants: scores, losses, one sentence in several variants, heads that come back."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.trace import SITE_KINDS
from model.variants.designs import VARIANTS
from model.variants.record import SCORES, Variants
from viz import cache, theme
from viz.kit import controls, patterns, site_texts
from viz.page_context import PageContext, Places
from viz.state import session
from viz.state.page_fields import MAX_SIDE_BY_SIDE, VARIANTS_BY
from viz.state.view import View
from viz.variants import cached_charts, head_texts, map_grid, variant_texts
from viz.variants.variant_texts import MAKE, NONE, SHIP, Found, found

if TYPE_CHECKING:
    import plotly.graph_objects as go

PARTS = {"scores": "Scores", "curves": "Learning", "maps": "One sentence", "heads": "Same heads?"}
BY = {"design": "By design", "speed": "Over speed", "parameters": "Over parameters"}
UNPAIRED = f"The heads have not been paired yet: “{MAKE} --same-heads” does it, where a design has two seeds or more."
MAP_HEIGHT, MAPS_WIDTH = 330, 1040  # px


def draw(context: PageContext) -> None:
    """The part that is chosen."""
    with context.places.body:
        _page(context.view, context.mode, context)


def without_sentence(view: View, places: Places) -> None:
    """All but the maps needs no sentence."""
    with places.body:
        _page(view, session.theme_mode(), None)


def _page(view: View, mode: theme.Mode, context: PageContext | None) -> None:
    with st.container(key="variants_row", horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            "Part",
            list(PARTS),
            required=True,
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
            **session.bind("variants part", "of_variants", view.of_variants),
        )
        known = found()
        if known.record is not None and view.of_variants == "scores":
            st.space("stretch")
            pick_score(view)
            pick_by(view)
    if context is not None and view.of_variants == "maps":
        site_texts.sentence_notes((), context.faults)
    if known.record is None:
        nothing(known)
        return
    DRAWN[view.of_variants](known.record, view, mode, context)


def nothing(known: Found) -> None:
    """Why there is no record: none was made yet, or it is damaged."""
    if known.fault == NONE:
        site_texts.write(f'<p class="lab-variants-none">{html.escape(NONE)}</p>')
    else:
        site_texts.fault(known.fault)


def pick_score(view: View) -> None:
    st.segmented_control(
        "Score",
        list(SCORES),
        required=True,
        format_func=variant_texts.NAMES.__getitem__,
        label_visibility="collapsed",
        **session.bind("variants score", "variants_score", view.variants_score),
    )


def pick_by(view: View) -> None:
    st.segmented_control(
        "Drawn over",
        list(VARIANTS_BY),
        required=True,
        format_func=BY.__getitem__,
        label_visibility="collapsed",
        **session.bind("variants by", "variants_by", view.variants_by),
    )


def verdict(sentence: str) -> None:
    site_texts.write(f'<p class="lab-verdict" role="status">{html.escape(sentence)}</p>')


def chart(title: str, key: str, figure: go.Figure, alt: str) -> None:
    st.plotly_chart(figure, theme=None, key=key, config=controls.chart_config(title), alt=alt)


def _scores(record: Variants, view: View, mode: theme.Mode, context: PageContext | None) -> None:
    score = view.variants_score
    verdict(variant_texts.verdict(record, score))
    site_texts.note(variant_texts.honest(record, score))
    figure = cached_charts.scores(record, score, view.variants_by, mode)
    with st.container(key="variants_chart"):
        if figure is None:
            site_texts.note(f"The speed was not measured yet: “{MAKE} --speed” measures it for all in turn.")
        else:
            title = f"{variant_texts.NAMES[score]} of the variants, {BY[view.variants_by].lower()}"
            chart(title, f"variants scores {view.variants_by}", figure, variant_texts.scores_alt(record, score))
    site_texts.write(variant_texts.table(record, score))
    foot(record)


def foot(record: Variants) -> None:
    """What the runs were trained on, and which are not there yet."""
    site_texts.note(variant_texts.budget(record))
    if told := variant_texts.lacking(record):
        site_texts.note(told, warn=True)


def _curves(record: Variants, view: View, mode: theme.Mode, context: PageContext | None) -> None:
    verdict(variant_texts.curves_said(record))
    site_texts.note(
        "Dev loss in nats a token over the steps of training, on one scale in all panels: a line for each seed, dashed "
        "differently; faint behind it are all runs of the other designs."
    )
    with st.container(key="variants_losses"):
        chart(
            "Dev loss of the variants",
            "variants losses",
            cached_charts.losses(record, mode),
            variant_texts.curves_said(record),
        )
    foot(record)


def _maps(record: Variants, view: View, mode: theme.Mode, context: PageContext | None) -> None:
    """The maps of some variants beside one another, each with its translation."""
    at_hand = map_grid.there(record)
    if not at_hand:
        site_texts.note(f"No variant’s weights are in this lab: “{SHIP}” puts those of one seed each beside the record.")
        return
    if context is None:
        return
    names = map_grid.chosen(record, view)
    sides = [map_grid.side(record, name, context.request.source, view) for name in names]
    pick_maps(view, list(at_hand), names, sides)
    if vain := map_grid.in_vain(record, view):
        site_texts.note(vain, warn=True)
    unedited = " Your edits are not made here." if view.intervention else ""
    site_texts.note(f"Each is one training with one seed: heads of the same number need not do the same.{unedited}")
    with st.container(key="variants_maps"):
        columns(sides, view, mode, MAPS_WIDTH // max(2, len(sides)), MAP_HEIGHT)
    if gone := map_grid.absent(record):
        site_texts.note(f"Not in this lab: {', '.join(gone)}.")


def pick_maps(view: View, at_hand: Sequence[str], names: Sequence[str], sides: Sequence[map_grid.Side]) -> None:
    """Which variants, and which kind of attention, layer and head of them."""
    with st.container(key="variants_picks", horizontal=True, vertical_alignment="center", gap="small"):
        st.pills(
            "Variants",
            at_hand,
            selection_mode="multi",
            format_func=lambda name: VARIANTS[name].title if name in VARIANTS else name,
            label_visibility="collapsed",
            **session.bind("beside", "side_by_side", list(names), partial(one_more, tuple(names))),
        )
        if len(at_hand) > MAX_SIDE_BY_SIDE:
            site_texts.label(f"up to {MAX_SIDE_BY_SIDE} at once")
    with st.container(key="variants_places", horizontal=True, vertical_alignment="center", gap="small"):
        pick_kind(view)
        layers = [len(side.analysis.trace.sites(view.beside_kind)) for side in sides if side.analysis]
        site_texts.label("layer", "layer")
        st.segmented_control(
            "Layer",
            sorted({*range(max(layers, default=1)), view.beside_layer}),
            required=True,
            format_func=controls.from_one,
            label_visibility="collapsed",
            **session.bind("beside layer", "beside_layer", view.beside_layer),
        )
        site_texts.label("head", "head")
        heads = sorted({*range(max((side.heads for side in sides), default=1)), view.beside_head or 0})
        st.segmented_control(
            "Head",
            [controls.MEAN, *heads],
            required=True,
            format_func=controls.head_name,
            label_visibility="collapsed",
            **session.bind(
                "beside head",
                "beside_head",
                controls.MEAN if view.beside_head is None else view.beside_head,
                controls.read_head,
            ),
        )


def one_more(before: tuple[str, ...], names: Any) -> tuple[str, ...]:
    """The variants that are chosen, in the order in which they are declared; of too many, the last of those before goes."""
    new = [name for name in names if name not in before]
    stay = [name for name in before if name in names][: max(0, MAX_SIDE_BY_SIDE - len(new))]
    return tuple(name for name in VARIANTS if name in (*new, *stay))[:MAX_SIDE_BY_SIDE]


def pick_kind(view: View) -> None:
    st.segmented_control(
        "Attention",
        list(SITE_KINDS),
        required=True,
        format_func=theme.SITE_NAMES.__getitem__,
        label_visibility="collapsed",
        **session.bind("beside kind", "beside_kind", view.beside_kind),
    )


def columns(
    sides: Sequence[map_grid.Side], view: View, mode: theme.Mode, width: int, height: int, draw: Callable = chart
) -> None:
    """Draws a column for each variant: its name, its translation and its map. In lecture mode, `draw` is not `chart`."""
    for column, side in zip(st.columns(max(2, len(sides)), gap="small"), sides, strict=False):
        with column:
            said = html.escape(side.analysis.translation) if side.analysis else ""
            code = site_texts.language_code(cache.declared_languages(side.folder)[1] or "")
            site_texts.write(
                f'<h3 class="lab-label">{html.escape(side.title)}</h3>'
                f'<p class="lab-beside" lang="{code}" tabindex="0">{said or (site_texts.EMPTY if side.analysis else "")}</p>'
            )
            for note in notes_of(side):
                site_texts.note(note)
            if side.fault or side.analysis is None or side.site is None:
                site_texts.note(side.fault)
                continue
            data = map_grid.map_data(side.analysis.request, view.device, side.site, side.head, mode)
            if draw is chart:
                patterns.mount_maps(data, 1, f"variants map {side.name}")
            else:
                patterns.mount_in_lecture(data, f"variants map {side.name}")


def notes_of(side: map_grid.Side) -> list[str]:
    """What is to be known of a translation, signs of doubt aside."""
    found = side.analysis
    return [] if found is None else [note for note in found.notes if note not in found.warning_sentences]


def _heads(record: Variants, view: View, mode: theme.Mode, context: PageContext | None) -> None:
    """Whether heads come back from seed to seed."""
    if not record.same_heads:
        site_texts.note(UNPAIRED)
        return
    name = paired(record, view)
    pick_paired(record, view, name)
    own = record.same_heads[name]
    verdict(head_texts.returns(own))
    site_texts.note(head_texts.how_paired(own))
    left, right = st.columns((9, 11), gap="medium")
    with left:
        drawing(own, view, mode)
        site_texts.note(
            "A line is a pair, its number their distance: the thicker, the nearer; dotted: no nearer than any two."
        )
    with right:
        site_texts.write('<h3 class="lab-label">Paired heads against any two</h3>')
        site_texts.write(head_texts.sites_table(own))
        site_texts.write('<h3 class="lab-label">Roles here, and the best head of each seed (layer.head)</h3>')
        site_texts.write(head_texts.roles_table(own, view.beside_kind))
        if told := head_texts.circles(own):
            site_texts.note(told)


def paired(record: Variants, view: View) -> str:
    """The design whose heads are shown: the first that has some, where the link's has none."""
    return view.returning if view.returning in record.same_heads else next(iter(record.same_heads))


def pick_paired(record: Variants, view: View, name: str) -> None:
    with st.container(key="variants_paired", horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            "Design",
            [each for each in variant_texts.names_of(record) if each in record.same_heads],
            required=True,
            format_func=lambda each: VARIANTS[each].title if each in VARIANTS else each,
            label_visibility="collapsed",
            **session.bind("returning", "returning", name),
        )
        st.space("stretch")
        pick_kind(view)


def drawing(own: Any, view: View, mode: theme.Mode, height: int = 0, draw: Callable = chart) -> None:
    figure = cached_charts.matching(own, view.beside_kind, mode, height)
    draw("Heads paired from seed to seed", "variants pairs", figure, head_texts.matching_alt(own, view.beside_kind))


DRAWN: dict[str, Callable[[Variants, View, theme.Mode, PageContext | None], None]] = {
    "scores": _scores,
    "curves": _curves,
    "maps": _maps,
    "heads": _heads,
}
