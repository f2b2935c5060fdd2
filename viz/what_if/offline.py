"""What if as a file: what every head costs, and what the edits changed, token by token and head by head."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from model.experiments.effects import HeadEffect, head_effects
from model.trace import Site
from viz import cache, computations, theme
from viz.kit import file_maps, sides, site_texts
from viz.kit.offline_parts import HtmlExport, Part
from viz.page_context import PageContext
from viz.state.view import View, without_edits
from viz.what_if import switchboard, what_if_texts


def _costs(context: PageContext) -> Sequence[HeadEffect]:
    """What every head costs, as on the page: without the edits. Where the page knows it, nothing is measured again."""
    loaded, asked, device = context.loaded, without_edits(context.request), context.view.device
    if cache.is_current(loaded, device):
        return computations.head_effects(asked, device, lambda share: None)
    base = context.analysis.baseline or context.analysis
    ids = None if base.trace.outputs is None else base.trace.outputs.ids
    return head_effects(loaded, asked, lambda share: None, ids)


def parts(context: PageContext, costs: Sequence[HeadEffect], view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The switchboard, every token's probability, and the maps of one head before the edits, after them and their
    difference."""
    analysis = context.analysis
    board = switchboard.payload(analysis.trace, costs, view.place, context.request.intervention, mode)
    site, head = Site(view.kind, view.layer), view.head  # type: ignore[arg-type]
    place = f"layer {view.layer + 1}, {'mean of the heads' if head is None else f'head {view.head + 1}'}"
    both = (analysis.baseline or analysis).trace, analysis.trace
    before, after = (sides.label_map(each.view(site, head), each, site) for each in both)
    shown = switchboard.COMPONENT.part(board), _change(context, view)
    if analysis.baseline is None:
        return *shown, file_maps.map_part([file_maps.one(place, after, site.kind)], view.step, mode)
    titles = {name: f"{text}: {place}" for name, text in what_if_texts.MAP_NAMES.items()}
    maps = [file_maps.one(titles["before"], before, site.kind), file_maps.one(titles["after"], after, site.kind)]
    if (before.queries, before.keys) == (after.queries, after.keys):
        change = after - before
        change = dataclasses.replace(change, allowed=change.allowed | before.allowed)
        maps.append(file_maps.change(titles["difference"], change, site.kind))
    return *shown, file_maps.map_part(maps, view.step, mode, alike=True)


def _change(context: PageContext, view: View) -> Part:
    return file_maps.change_part(context.analysis, view.step)


def _look(context: PageContext) -> View:
    view, kinds = context.view, context.analysis.trace.kinds
    kind = view.kind if view.kind in kinds else kinds[-1]
    return dataclasses.replace(view, kind=kind, layer=view.site_of(context.analysis.trace.sites(kind)).layer)


def _told(context: PageContext, costs: Sequence[HeadEffect]) -> tuple[str, ...]:
    return (site_texts.verdict_line(context.analysis),)


TAKEN = HtmlExport(
    parts,
    compute=_costs,
    notes=_told,
    default_view=_look,
    remote_fields=lambda context: {"step": ()},
    rounded=file_maps.ROUNDED,
)
