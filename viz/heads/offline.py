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
from viz.cache import PageData
from viz.heads import all_heads
from viz.kit.offline_parts import (
    Choice,
    HtmlExport,
    Part,
    Pick,
)
from viz.state.view import View


@dataclass(frozen=True)
class Found:
    """What all views of the page share."""

    norms: Mapping[Site, np.ndarray]
    thumbnails: Callable[[theme.Mode], dict[str, Any]]


def _found(page_data: PageData) -> Found:
    aligned = read_aligned(page_data.loaded.metrics)
    shown = cache(lambda mode: all_heads.thumbnails(page_data.analysis.trace, mode, aligned))
    return Found(value_norms(page_data.loaded, page_data.analysis), shown)


def parts(page_data: PageData, found: Found, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The thumbnails and one head large. Heads that link two tokens are not looked for."""
    trace, shown = page_data.analysis.trace, found.thumbnails(mode)
    data = all_heads.payload(trace, found.norms, dataclasses.replace(view, find=None), mode)
    return all_heads.STORE.part(shown), all_heads.COMPONENT.part(data, {"grids": shown["id"]})


def _choices(page_data: PageData) -> tuple[Choice, ...]:
    """Any head of any site, the mean of a layer's or of a whole site's; all sites in one picture; the colours; the order."""
    view, config = _base(page_data.view), page_data.loaded.config
    heads = [None, *range(1, config.heads + 1)]
    places: dict[View, View] = {}
    for kind in page_data.analysis.trace.kinds:
        mean = dataclasses.replace(view, kind=kind, average=True)
        for layer in range(1, config.layers[kind] + 1):
            for head in heads:
                one = dataclasses.replace(view, kind=kind, layer=layer, head=head, average=False)
                places[one] = one
                places[dataclasses.replace(one, average=True)] = mean
    alike = {name: _each(view, name, (False, True)) for name in ("by_row", "together")}
    return (
        Choice(("kind", "layer", "head", "average"), places),
        *(Choice((name,), views) for name, views in alike.items()),
        Choice(("order",), _each(view, "order", _orders(page_data))),
    )


def _each(view: View, name: str, values: tuple[Any, ...]) -> dict[View, View]:
    views = [dataclasses.replace(view, **{name: value}) for value in values]
    return {each: each for each in views}


def _base(view: View) -> View:
    """All sites in one picture are there at every head, though they may not be shown."""
    return dataclasses.replace(view, together=True)


def _look(page_data: PageData) -> View:
    """A site and a layer that there are."""
    view, kinds = page_data.view, page_data.analysis.trace.kinds
    kind = view.kind if view.kind in kinds else kinds[-1]
    return dataclasses.replace(view, kind=kind, layer=min(view.layer, page_data.loaded.config.layers[kind]))


def _orders(page_data: PageData) -> tuple[str, ...]:
    return orders(page_data.analysis.trace.has_two_sentences)


def _picks(page_data: PageData) -> tuple[Pick, ...]:
    return (Pick("order", "Order by", tuple((by, order_label(by)) for by in _orders(page_data)), "thumbnails", listed=True),)


TAKEN = HtmlExport(
    parts,
    compute=_found,
    default_view=_look,
    base=_base,
    choices=_choices,
    picks=_picks,
    extra_fields={"choose": {"average": False}},
    remote_fields=lambda page_data: {"step": ()},
    lecture_pictures=(("all_heads", ".map"), ("all_heads", ".lines"), ("all_heads", ".grids")),
    rounded=frozenset({"values", "readings"}),
)
