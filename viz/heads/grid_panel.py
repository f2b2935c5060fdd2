"""The panel of the page Heads: all heads as thumbnails, and one of them large."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from model.export.csv_tables import Cell, Table, map_table, site_code
from model.readings.heads.head_maps import COMBINATIONS, MAP_READINGS, Pair, link_weights
from model.readings.heads.head_metrics import METRICS, applicable_metrics, head_metrics, order_label, orders
from model.text.measurements import read_alignment
from model.trace import MapView, Site, Trace
from viz import computations, theme
from viz.classroom import lecture
from viz.heads import all_heads, grid_code
from viz.kit import button_groups, controls, glosses, mount, thumbnails
from viz.kit.offline_parts import Choice, Pick
from viz.kit.panel import FileOptions, Panel, Picture, where
from viz.kit.patterns import linking_head
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.page_fields import AVERAGES
from viz.state.view import View

if TYPE_CHECKING:
    from model.inference.request import Request

Norms = Mapping[Site, np.ndarray]
MAP, LINES, ALL = range(1, 4)  # the large pictures
SENTENCE = {"heads_over": "sentence"}  # fields of the view that show this panel
FLAGS = ("merge", "hide", "together", "by_row")
SETTINGS = {
    "mass": mount.integer(1, 100),
    "measure": mount.one_of(MAP_READINGS),
    "order": lambda value: mount.one_of(orders())(value),  # later metrics too
} | dict.fromkeys(FLAGS, mount.one_of((True, False)))


def _thumbnails(context: PageContext, norms: Norms) -> dict[str, Any]:
    trace, loaded = context.analysis.trace, context.loaded
    stored = read_alignment(loaded.metrics), loaded.route_heads, loaded.head_statistics
    data = all_heads.thumbnail_data(trace, context.mode, *stored)
    for grid in data["grids"]:
        grid["words"] = glosses.map_words(trace, trace.sites(grid["kind"])[0], loaded.languages[1])
    return data


def _payload(context: PageContext, norms: Norms) -> dict[str, Any]:
    return all_heads.payload(context.analysis.trace, norms, context.view, context.mode)


# -- events ------------------------------------------------------------------------------------------------------------


def _events(context: PageContext, norms: Norms) -> dict[str, mount.Event]:
    trace, request = context.analysis.trace, context.request
    return {
        "choose": (partial(thumbnails.read_head, trace), _choose),
        "set": (_read_setting, lambda name, value: session.change(**{name: value})),
        "combine": (_read_combination, lambda fields: session.change(**fields)),
        "unfold": (mount.pressed, _unfold),
        "find": (partial(_read_pair, trace), partial(find, request)),
    }


def _read_setting(event: Any) -> tuple[str, Any] | None:
    ((name, value),) = event.items()
    valid = SETTINGS[name](value)
    return valid and (name, *valid)


def _read_combination(event: Any) -> tuple[dict[str, Any]] | None:
    """Returns the fields that show several heads as one map, or a head (from 1) again."""
    average, combine = mount.one_of(AVERAGES)(event["average"]), mount.one_of(COMBINATIONS)(event["combine"])
    head = {} if "head" not in event else {"head": None if event["head"] is None else mount.from_one(999)(event["head"])}
    if average is None or combine is None or (head.get("head") is None and event.get("head") is not None):
        return None
    one = {name: value and value[0] for name, value in head.items()}
    return ({"average": average[0], "combine": combine[0]} | one,)


def _read_pair(trace: Trace, event: Any) -> tuple[str | None, int, int] | None:
    """Returns a kind of attention and two tokens whose heads are looked for; None as the kind ends the search."""
    if event == "none":
        return None, 0, 0
    rows, columns = trace.patterns[trace.sites(event["kind"])[0]].shape[1:]
    query, key = mount.from_one(rows)(event["query"]), mount.from_one(columns)(event["key"])
    return None if query is None or key is None else (event["kind"], *query, *key)


def _choose(kind: str, layer: int, head: int | None) -> None:
    view = session.current_view()
    large = {"large": MAP} if view.lecture and view.large == ALL else {}
    one = {} if view.find is None else {"together": False}  # a result of the search has a map of its own
    session.change(kind=kind, layer=layer, head=head, average="none", combine=View.combine, **large, **one)


def _unfold() -> None:
    """Goes to the stages of the chosen head."""
    session.change(part="stages", stage=View.stage)
    navigation.go_to("inside")


def find(request: Request, kind: str | None, query: int, key: int) -> None:
    """Looks for the heads that link two tokens, and shows the best one."""
    if kind is None:
        session.change(find=None)
    else:
        pair = (kind, query, key)
        session.change(find=pair, **linking_head(request, session.current_view(), pair))


# -- lecture mode ------------------------------------------------------------------------------------------------------


def _large(number: int, context: PageContext, norms: Norms) -> dict[str, Any]:
    view, kinds = context.view, context.analysis.trace.kinds
    sites = view.together and len(kinds) > 1
    return {"large": number, "sites": sites, "by": order_label(view.order), "together": None}


def _bar(context: PageContext, norms: Norms) -> None:
    button_groups.draw("heads.kind", [controls.kind_group(context.view, context.analysis.trace.kinds)])


def _keys(context: PageContext, norms: Norms) -> None:
    view, trace = context.view, context.analysis.trace
    kinds, large = trace.kinds, context.view.large
    if len(kinds) > 1:
        names = ", ".join(theme.SITE_NAMES[kind].lower() for kind in kinds)
        text = f"the attention: {names}; all at once with all heads"
        lecture.add_key(lecture.KIND, text, lambda: _next_kind(large, kinds), quiet=True)
    walk = "the next head in this order", "the head before it"
    lecture.add_walk_keys(*walk, lambda by: _walk(ranked_heads(context), by))
    following = _next_order(view, trace.has_two_sentences)
    text = f"order the heads by: {order_label(following).lower()}"
    lecture.add_key(lecture.ORDER, text, lambda: session.change(order=following))
    lecture.add_key(lecture.WORDS, "tokens, or whole words", lambda: session.change(merge=not view.merge), quiet=True)
    if view.find is not None:
        lecture.add_key(lecture.CLEAR_SEARCH, "end the search", lambda: session.change(find=None), quiet=True)


def _next_order(view: View, has_two: bool) -> str:
    names = (*dict.fromkeys((*orders(has_two), view.order)),)
    return names[(names.index(view.order) + 1) % len(names)]


def _next_kind(large: int, kinds: tuple[str, ...]) -> None:
    """Shows the next kind of attention; after the last one, all kinds at once on the picture of all heads."""
    view = session.current_view()
    choices = (*kinds, None) if large == ALL else kinds
    current = None if large == ALL and view.together else view.kind
    kind = choices[(choices.index(current) + 1) % len(choices)]
    session.change(**({"together": True} if kind is None else {"kind": kind, "together": False}))


def ranked_heads(context: PageContext) -> list[tuple[int, int]]:
    """Returns layer and head of all heads of the shown kind in the order of the page."""
    view, trace = context.view, context.analysis.trace
    grid = next(grid for grid in all_heads.grids(trace, context.mode) if grid["kind"] == view.kind)
    searched = all_heads.found(trace, view)
    if searched and searched.get("kind") == view.kind:
        order = searched["order"]
    else:
        order = grid["orders"].get(view.order, grid["orders"]["position"])
    return [(grid["places"][n][0] - 1, grid["places"][n][1] - 1) for n in order]


def _walk(ranked: list[tuple[int, int]], by: int) -> None:
    """Shows the next or previous head; after a mean, the first one. For callbacks."""
    view = session.current_view()
    place = (view.layer, view.head)
    is_head = place in ranked and not view.merges_layers
    layer, head = ranked[(ranked.index(place) + by) % len(ranked)] if is_head else ranked[0]  # type: ignore[arg-type]
    session.change(layer=layer, head=head, average="none", combine=View.combine)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _tables(context: PageContext, norms: Norms) -> tuple[Table, ...]:
    """Returns the map of the chosen head as the page draws it, and the numbers of all heads."""
    view, trace = context.view, context.analysis.trace
    kind = view.kind if view.kind in trace.kinds else trace.kinds[0]
    seen = all_heads.drawn_map(trace, norms, view, kind)[0]
    combine = "max" if all_heads.is_max(view, view.measure) else "mean"
    site = _site(trace, view, kind)
    name = site_code(site, view.head).replace("mean", combine)
    if view.merges_layers:
        name = f"{kind}-{combine}-of-{'all' if view.merged_head is None else f'head-{view.merged_head + 1}'}"
    view_of_map = MapView(seen.values, seen.allowed, seen.queries, seen.keys)
    return map_table(f"{view.measure}-{name}", view_of_map), _numbers(trace, view)


def _site(trace: Trace, view: View, kind: str) -> Site:
    """The one that is shown: a kind with fewer layers shows its last."""
    return view.site_of(trace.sites(kind))


def _numbers(trace: Trace, view: View) -> Table:
    """Every metric of every head, blank where it says nothing; the weight on the link that is looked for."""
    rows: list[tuple[Cell, ...]] = []
    names = [name for name, metric in METRICS.items() if trace.has_two_sentences or not metric.of_two]
    pair = None if view.find is None else Pair(*view.find)
    for kind in trace.kinds:
        sites = trace.sites(kind)
        real = [t for t, label in enumerate(trace.axis(sites[0].spec.query_side).labels) if label != "<pad>"]
        allowed, keys = np.any([trace.masks[site] for site in sites], axis=0), trace.keys(sites[0])
        told = applicable_metrics(allowed, keys, sites[0].spec.is_self, real)
        found = [head_metrics(trace.patterns[site], keys, real, trace.masks[site]) for site in sites]  # [H] of each metric
        weights = _linking(trace, pair, view.merge) if pair and pair.kind == kind else None
        for layer, values in enumerate(found):
            heads = len(trace.patterns[sites[layer]])
            for head in range(heads):
                numbers = (_cell(values[name][head]) if name in told else None for name in names)
                link = () if pair is None else (None if weights is None else float(weights[layer * heads + head]),)
                rows.append((kind, layer + 1, head + 1, *numbers, *link))
    columns = ("attention", "layer", "head", *names, *(("link",) if pair else ()))
    return Table("heads", columns, tuple(rows))


def _cell(value: float) -> Cell:
    return None if math.isnan(value) else float(value)


def _linking(trace: Trace, pair: Pair, merge: bool) -> np.ndarray | None:
    try:
        return link_weights(trace, pair, merge)
    except ValueError:  # a token that this sentence has not
        return None


# -- HTML file ---------------------------------------------------------------------------------------------------------


def _choices(context: PageContext) -> tuple[Choice, ...]:
    """Returns the choices: any head, mean and maximum over heads, layers or both; all sites at once; colours; order."""
    view, config = _with_all_kinds(context.view), context.loaded.config
    heads = [None, *range(config.heads)]
    places: dict[View, View] = {}
    for kind, combine in itertools.product(context.analysis.trace.kinds, COMBINATIONS):
        every = dataclasses.replace(view, kind=kind, average="layers", combine=combine)
        for layer, head in itertools.product(range(config.layers[kind]), heads):
            one = dataclasses.replace(view, kind=kind, layer=layer, head=head, average="none", combine=combine)
            places[one] = one if head is None else dataclasses.replace(one, combine=View.combine)
            places[dataclasses.replace(one, average="layers")] = every
            over_layers = dataclasses.replace(view, kind=kind, head=head, average="head", combine=combine)
            places[dataclasses.replace(one, average="head")] = every if head is None else over_layers
    alike = {name: _each(view, name, (False, True)) for name in ("by_row", "together")}
    return (
        Choice(("kind", "layer", "head", "average", "combine"), places),
        *(Choice((name,), views) for name, views in alike.items()),
        Choice(("order",), _each(view, "order", _orders(context))),
    )


def _each(view: View, name: str, values: tuple[Any, ...]) -> dict[View, View]:
    views = [dataclasses.replace(view, **{name: value}) for value in values]
    return {each: each for each in views}


def _with_all_kinds(view: View) -> View:
    """Returns the view with all kinds of attention in one picture, which every head has in the file."""
    return dataclasses.replace(view, together=True)


def _existing(context: PageContext) -> View:
    """Returns a view with a kind and a layer that exist, without a search for heads."""
    view, kinds = context.view, context.analysis.trace.kinds
    kind = view.kind if view.kind in kinds else kinds[-1]
    return view.with_fields(kind=kind, layer=view.site_of(context.analysis.trace.sites(kind)).layer, find=None)


def _orders(context: PageContext) -> tuple[str, ...]:
    return orders(context.analysis.trace.has_two_sentences)


def _picks(context: PageContext) -> tuple[Pick, ...]:
    names = tuple((by, order_label(by)) for by in _orders(context))
    return (Pick("order", "Order by", names, "all_heads", listed=True),)


GRID = Panel(
    "heads.grid",
    "All heads",
    all_heads.COMPONENT,
    _payload,
    _events,
    constant=_thumbnails,
    call=lambda context: computations.VALUE_NORMS(),
    tables=_tables,
    code=grid_code.add_code,
    pictures=(
        Picture("Map", ".map", partial(_large, MAP), fields=SENTENCE),
        Picture("Lines", ".lines", partial(_large, LINES), fields=SENTENCE),
        Picture("All heads", ".grids", partial(_large, ALL), fields=SENTENCE),
    ),
    bar=_bar,
    keys=_keys,
    is_visible=where(**SENTENCE),
    file=FileOptions(
        default_view=_existing,
        base=_with_all_kinds,
        choices=_choices,
        picks=_picks,
        event_fields={"choose": {"average": "none", "combine": View.combine}},
        component_fields=("step", "stage", "rows"),
        remote_fields=lambda context: {"step": ()},
        rounded=frozenset({"values", "readings"}),
    ),
)
