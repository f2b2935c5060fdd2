"""Heads as a file: all thumbnails, and any head, or mean, large."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from model.readings.heads.head_metrics import order_label, orders
from model.readings.tokens.token_attribution import value_norms
from model.text.alignments import read_alignment as read_aligned
from model.trace import Site
from viz import theme
from viz.heads import all_heads
from viz.kit.offline_parts import Choice, HtmlExport, Part, Pick
from viz.page_context import PageContext
from viz.state.view import View


@dataclass(frozen=True)
class Found:
    """What all views of the page share."""

    norms: Mapping[Site, np.ndarray]
    thumbnails: Callable[[theme.Mode], dict[str, Any]]


def _found(context: PageContext) -> Found:
    aligned = read_aligned(context.loaded.metrics)
    shown = cache(lambda mode: all_heads.thumbnails(context.analysis.trace, mode, aligned))
    return Found(value_norms(context.loaded, context.analysis), shown)


def parts(context: PageContext, found: Found, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The thumbnails and one head large. Heads that link two tokens are not looked for."""
    trace, shown = context.analysis.trace, found.thumbnails(mode)
    data = all_heads.payload(trace, found.norms, dataclasses.replace(view, find=None), mode)
    return all_heads.STORE.part(shown), all_heads.COMPONENT.part(data, {"grids": shown["id"]})


def _choices(context: PageContext) -> tuple[Choice, ...]:
    """Any head of any site, the mean of a layer's or of a whole site's; all sites in one picture; the colours; the order."""
    view, config = _base(context.view), context.loaded.config
    heads = [None, *range(config.heads)]
    places: dict[View, View] = {}
    for kind in context.analysis.trace.kinds:
        mean = dataclasses.replace(view, kind=kind, average=True)
        for layer in range(config.layers[kind]):
            for head in heads:
                one = dataclasses.replace(view, kind=kind, layer=layer, head=head, average=False)
                places[one] = one
                places[dataclasses.replace(one, average=True)] = mean
    alike = {name: _each(view, name, (False, True)) for name in ("by_row", "together")}
    return (
        Choice(("kind", "layer", "head", "average"), places),
        *(Choice((name,), views) for name, views in alike.items()),
        Choice(("order",), _each(view, "order", _orders(context))),
    )


def _each(view: View, name: str, values: tuple[Any, ...]) -> dict[View, View]:
    views = [dataclasses.replace(view, **{name: value}) for value in values]
    return {each: each for each in views}


def _base(view: View) -> View:
    """All sites in one picture are there at every head, though they may not be shown."""
    return dataclasses.replace(view, together=True)


def _look(context: PageContext) -> View:
    """A site and a layer that there are."""
    view, kinds = context.view, context.analysis.trace.kinds
    kind = view.kind if view.kind in kinds else kinds[-1]
    return dataclasses.replace(view, kind=kind, layer=view.site_of(context.analysis.trace.sites(kind)).layer)


def _orders(context: PageContext) -> tuple[str, ...]:
    return orders(context.analysis.trace.has_two_sentences)


def _picks(context: PageContext) -> tuple[Pick, ...]:
    return (Pick("order", "Order by", tuple((by, order_label(by)) for by in _orders(context)), "thumbnails", listed=True),)


TAKEN = HtmlExport(
    parts,
    compute=_found,
    default_view=_look,
    base=_base,
    choices=_choices,
    picks=_picks,
    extra_fields={"choose": {"average": False}},
    remote_fields=lambda context: {"step": ()},
    lecture_pictures=(("all_heads", ".map"), ("all_heads", ".lines"), ("all_heads", ".grids")),
    rounded=frozenset({"values", "readings"}),
)
