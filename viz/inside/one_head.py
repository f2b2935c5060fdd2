"""The kind of attention, layer, head and query of the parts of Inside that look at one head or at one layer."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from model.trace import Site
from viz.classroom import lecture
from viz.kit import button_groups, controls, site_texts
from viz.kit.button_groups import ButtonGroup
from viz.page_context import query_of
from viz.state import session

if TYPE_CHECKING:
    from viz.page_context import PageContext
    from viz.state.view import View


def site(context: PageContext) -> Site:
    """Returns the site of the view; its last layer if the view's layer does not exist."""
    view, kinds = context.view, context.loaded.config.kinds
    kind = view.kind if view.kind in kinds else kinds[-1]
    return view.site_of(context.analysis.trace.sites(kind))


def place(context: PageContext) -> tuple[Site, int, int]:
    """Returns site, head and query of the view, from 0, or the nearest that exist; of a mean over heads the first head."""
    chosen, trace = site(context), context.analysis.trace
    return chosen, context.view.head or 0, min(query_of(context.view, trace, chosen), len(trace.queries(chosen)) - 1)


def _existing(context: PageContext) -> View:
    """Returns the view with a kind and a layer that exist."""
    kind, layer = site(context)
    return context.view.with_fields(kind=kind, layer=layer)


def query_field(site: Site, number: int) -> dict[str, int]:
    """Returns the field of the view with the query of a site: a token of the source, or a step."""
    return {"token" if site.spec.query_side == "source" else "step": number}


def site_groups(context: PageContext, has_mean: bool = True) -> list[ButtonGroup]:
    """Returns the choices of kind, layer and head or the mean over heads."""
    config, view = context.loaded.config, _existing(context)
    kinds = dataclasses.replace(controls.kind_group(view, config.kinds), follows=True)
    return [kinds, controls.layer_group(view, config.layers[view.kind]), controls.head_group(view, config.heads, has_mean)]


def head_groups(context: PageContext) -> list[ButtonGroup]:
    """Returns the choices of kind, layer and a single head."""
    return site_groups(context, has_mean=False)


def draw_site_bar(context: PageContext, result: Any) -> None:
    """Draws kind, layer and head, or the mean over heads, in the bar of lecture mode."""
    _bar(context, site(context).head_name(context.view.head))
    with context.places.notes:
        draw_faults(context, False)


def draw_head_bar(context: PageContext, result: Any) -> None:
    """Draws kind, layer and head in the bar of lecture mode."""
    _bar(context, site(context).head_name(context.view.head or 0))
    with context.places.notes:
        draw_faults(context)


def draw_layer_bar(context: PageContext, result: Any) -> None:
    """Draws kind and layer in the bar of lecture mode."""
    _bar(context, f"layer {context.view.layer + 1}")


def _bar(context: PageContext, written: str) -> None:
    kinds = context.loaded.config.kinds
    place = ButtonGroup("Place", {}, note=written, is_label_hidden=True, follows=True)
    button_groups.draw("stage_picks", [controls.kind_group(context.view, kinds), place])
    if len(kinds) > 1:
        lecture.add_key(lecture.KIND, "the next kind of attention", lambda: _next_kind(kinds), quiet=True)


def _next_kind(kinds: tuple[str, ...]) -> None:
    """Shows the next kind of attention. For callbacks."""
    session.change(kind=kinds[(kinds.index(session.current_view().kind) + 1) % len(kinds)])


def draw_faults(context: PageContext, has_query: bool = True) -> None:
    """Says which choices of the view do not exist."""
    view, layers = context.view, context.loaded.config.layers[site(context).kind]
    if view.layer >= layers:
        site_texts.note(f"There is no layer {view.layer + 1} here: layer {layers} is shown.", warn=True)
    if not has_query:
        return
    if view.head is None:
        site_texts.note(f"Only a single head can be taken apart: {site(context).head_name(0)} is shown.")
    own, _, last = place(context)
    if own.spec.query_side == "source" and view.token is not None and view.token > last:
        site_texts.note(f"There is no token {view.token + 1}: this sentence has {last + 1}.", warn=True)
