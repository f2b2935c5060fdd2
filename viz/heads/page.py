"""Heads: what does every head do on this sentence?"""

from __future__ import annotations

from viz.frame import show
from viz.heads.claims_panel import CLAIMS
from viz.heads.corpus_panel import CORPUS, IS_OVER_CORPUS, draw_controls, parts
from viz.heads.grid_panel import GRID
from viz.kit import button_groups
from viz.kit.panel import Layout
from viz.kit.patterns import linking_head
from viz.page_context import PageContext
from viz.state import session
from viz.state.view import View


def _at_best_head(view: View, context: PageContext) -> View:
    """Returns the view at the head that links two tokens best, if its link names two tokens and no head."""
    if view.find is None or session.is_in_link("layer", "head"):
        return view
    return view.with_fields(**linking_head(context.request, view, view.find))


def _controls(context: PageContext) -> None:
    """Draws the choice of the part."""
    if IS_OVER_CORPUS(context):
        draw_controls(context)
    else:
        button_groups.draw("heads.over", [parts(context)])


LAYOUT = Layout(((GRID,), (CORPUS,), (CLAIMS,)), _controls, choose_view=_at_best_head, first_picture=3)

if __name__ == "__main__":
    show.show("heads")
