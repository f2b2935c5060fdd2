"""Compare as a file: both sides beside each other."""

from __future__ import annotations

import dataclasses
import html

from viz import theme
from viz.compare import distance, side_by_side
from viz.compare.pair import Pair, pair
from viz.kit.offline_parts import HtmlExport, Part
from viz.page_context import PageContext
from viz.state.view import View


def _pair(context: PageContext) -> Pair:
    return pair(context.view, context)


def parts(context: PageContext, found: Pair, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """Both translations, how far each head of the one is from that of the other, two maps and their difference."""
    return (side_by_side.COMPONENT.part(side_by_side.payload(found, distance.grids(found), view.step, mode)),)


def _told(context: PageContext, found: Pair) -> tuple[str, ...]:
    """The answer in a line, and what has no partner, as on the page."""
    notes = (distance.tie(found), distance.partner_text(found))
    return distance.verdict(found), *(f"<p>{html.escape(note)}</p>" for note in notes if note)


TAKEN = HtmlExport(
    parts,
    compute=_pair,
    notes=_told,
    default_view=lambda context: dataclasses.replace(context.view, compared="maps"),
    remote_fields=lambda context: {"step": ()},
    can_show=lambda view: view.compared == "maps",
)
