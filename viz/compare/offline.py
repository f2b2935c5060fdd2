"""Compare as a file: both sides beside each other."""

from __future__ import annotations

import dataclasses
import html

from viz import theme
from viz.cache import PageData
from viz.compare import distance, side_by_side
from viz.compare.pair import Pair, pair
from viz.kit.offline_parts import HtmlExport, Part
from viz.state.view import View


def _pair(page_data: PageData) -> Pair:
    return pair(page_data.view, page_data)


def parts(page_data: PageData, found: Pair, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """Both translations, how far each head of the one is from that of the other, two maps and their difference."""
    return (side_by_side.COMPONENT.part(side_by_side.payload(found, distance.grids(found), view.step, mode)),)


def _told(page_data: PageData, found: Pair) -> tuple[str, ...]:
    """The answer in a line, and what has no partner, as on the page."""
    notes = (distance.tie(found), distance.partner_text(found))
    return distance.verdict(found), *(f"<p>{html.escape(note)}</p>" for note in notes if note)


TAKEN = HtmlExport(
    parts,
    compute=_pair,
    notes=_told,
    default_view=lambda page_data: dataclasses.replace(page_data.view, compared="maps"),
    remote_fields=lambda page_data: {"step": ()},
    can_show=lambda view: view.compared == "maps",
)
