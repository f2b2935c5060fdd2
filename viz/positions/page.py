"""Positions: how does it know the order?"""

from __future__ import annotations

import dataclasses

from viz.frame import show
from viz.kit.panel import Layout
from viz.page_context import PageContext
from viz.positions.position_edits import EDITS, TOKENS
from viz.positions.scheme_panel import SCHEME
from viz.state.view import View


def _one_picture_of_edits(view: View, context: PageContext) -> View:
    """Returns the view of an old link, which had a picture of edits for each side, with the picture of both."""
    return dataclasses.replace(view, large=8) if view.large == 9 else view


LAYOUT = Layout(((SCHEME,), (TOKENS,), (EDITS,)), choose_view=_one_picture_of_edits)

if __name__ == "__main__":
    show.show("positions")
