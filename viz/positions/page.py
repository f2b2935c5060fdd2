"""Positions: how does it know the order?"""

from __future__ import annotations

import dataclasses

from viz.classroom import lecture
from viz.frame import show
from viz.kit.panel import Layout
from viz.page_context import PageContext
from viz.positions.position_edits import ANSWER, EDITS, TOKENS
from viz.positions.scheme_panel import SCHEME
from viz.state.page_fields import PE_FIGURES
from viz.state.view import View


def _choose_picture(view: View, context: PageContext) -> View:
    """Returns the view with a large picture that exists: an old link had a picture of edits for each side."""
    if view.lecture and view.large == 9:
        return dataclasses.replace(view, large=8)
    return lecture.match_part(view, "pe_figure", PE_FIGURES)


LAYOUT = Layout(((ANSWER,), (SCHEME,), (TOKENS,), (EDITS,)), choose_view=_choose_picture)

if __name__ == "__main__":
    show.show("positions")
