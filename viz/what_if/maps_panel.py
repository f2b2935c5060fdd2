"""The pattern of one head before the edits, after them, and the difference."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table, map_table, site_code
from model.trace import Site
from viz.kit import file_maps, patterns, sides
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.state.view import View
from viz.what_if import lecture_controls

if TYPE_CHECKING:
    from model.export.code import Code
    from model.trace import Trace

NAMES = {"before": "Before", "after": "After", "difference": "After − before"}
PICTURES = ("Map before the edits", "Map after the edits", "Difference of the maps")  # names of saved pictures


def _place(view: View) -> tuple[Site, int | None]:
    """Returns the site and the head; None is the mean over heads."""
    return Site(view.kind, view.layer), view.head  # type: ignore[arg-type]


def _traces(context: PageContext) -> tuple[Trace, Trace]:
    """Returns the traces before and after the edits."""
    return (context.analysis.baseline or context.analysis).trace, context.analysis.trace


def has_place(context: PageContext) -> bool:
    """True if the model has the layer of the view."""
    return _place(context.view)[0] in context.analysis.trace.patterns


def payload(context: PageContext, result: None = None) -> dict[str, Any]:
    """Returns the maps of the chosen head; the difference only if the tokens are the same."""
    site, head = _place(context.view)
    before, after = (sides.label_map(trace.view(site, head), trace, site) for trace in _traces(context))
    where = f"layer {site.layer + 1}, {'mean of the heads' if head is None else f'head {head + 1}'}"
    titles = {name: f"{text}: {where}" for name, text in NAMES.items()}
    is_same = (before.queries, before.keys) == (after.queries, after.keys)
    maps = [
        patterns.pattern(before, site.kind, titles["before"]),
        patterns.pattern(after, site.kind, titles["after"], former=before.allowed if is_same else None),
    ]
    if is_same:
        change = after - before
        change = dataclasses.replace(change, allowed=change.allowed | before.allowed)
        maps.append(patterns.difference(change, site.kind, titles["difference"]))
    for each, picture in zip(maps, PICTURES, strict=False):
        each["picture"] = picture
    return file_maps.map_data(maps, 0, context.mode, alike=True)


def _tables(context: PageContext, result: None) -> tuple[Table, ...]:
    site, head = _place(context.view)
    before, after = (trace.view(site, head) for trace in _traces(context))
    name = site_code(site, head)
    tables = [map_table(f"before-{name}", before), map_table(f"after-{name}", after)]
    if (before.queries, before.keys) == (after.queries, after.keys):
        tables.append(map_table(f"difference-{name}", after - before))
    return tuple(tables)


def _code(code: Code, context: PageContext, result: None) -> None:
    site, head = _place(context.view)
    code.add(f"site, head = {code.site(site)}, {head}", "both from 0; None: the mean")
    code.add("map_before, map_after = (each.trace.view(site, head) for each in (baseline, analysis))")


def _existing(context: PageContext) -> View:
    """Returns a view with a kind of attention and a layer that exist."""
    view, kinds = context.view, context.analysis.trace.kinds
    kind = view.kind if view.kind in kinds else kinds[-1]
    return dataclasses.replace(view, kind=kind, layer=view.site_of(context.analysis.trace.sites(kind)).layer)


MAPS = Panel(
    "what_if.maps",
    "Patterns before and after",
    file_maps.COMPONENT,
    payload,
    tables=_tables,
    code=_code,
    is_visible=has_place,
    pictures=(Picture("Maps", data=lambda context, result: {"large": True}, text=lecture_controls.verdict, number=2),),
    reads=("kind", "layer", "head"),
    follow=lambda context, result: {"step": context.view.step + 1},
    file=FileOptions(default_view=_existing, rounded=file_maps.ROUNDED),
)
