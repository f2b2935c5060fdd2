"""The pattern of one head before the edits, after them, and the difference."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from model.inference.request import Request
from model.trace import Site
from viz import cache, theme
from viz.kit import file_maps, patterns, sides, site_texts
from viz.state.result_cache import cached_figure
from viz.state.view import View
from viz.what_if import what_if_texts

if TYPE_CHECKING:
    from model.inference.analyse import Analysis


PICTURES = ("Map before the edits", "Map after the edits", "Difference of the maps")  # names of saved pictures


def draw(view: View, analysis: Analysis, mode: theme.Mode) -> None:
    """Draws the maps of the chosen head; the difference only if the tokens are the same."""
    site, head = Site(view.kind, view.layer), view.head
    if site not in analysis.trace.patterns:
        site_texts.note(f"This checkpoint has no layer {view.layer + 1} here.")
        return
    data = maps_data(analysis.request, view.device, site, head, mode)
    file_maps.mount_maps(data, view.step, "what if maps")
    if len(data["maps"]) < len(what_if_texts.MAP_NAMES):
        site_texts.note("The tokens differ, so there is no difference to show.")


@cached_figure
def maps_data(request: Request, device: str, site: Site, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """Returns the data of the maps; the head counts from 0, None is the mean."""
    analysis = cache.analyse(request, device)
    before, after = (
        sides.label_map(a.view(site, head), a, site) for a in ((analysis.baseline or analysis).trace, analysis.trace)
    )
    names, is_same = what_if_texts.MAP_NAMES, (before.queries, before.keys) == (after.queries, after.keys)
    maps = [
        patterns.pattern(before, site.kind, names["before"]),
        patterns.pattern(after, site.kind, names["after"], former=before.allowed if is_same else None),
    ]
    if is_same:
        change = after - before
        change = dataclasses.replace(change, allowed=change.allowed | before.allowed)
        maps.append(patterns.difference(change, site.kind, names["difference"]))
    for payload, picture in zip(maps, PICTURES, strict=False):
        payload["picture"] = picture
    return file_maps.map_data(maps, 0, mode, alike=True)
