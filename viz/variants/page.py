"""Variants: what does each part buy?"""

from __future__ import annotations

from viz.classroom import lecture
from viz.frame import show
from viz.kit import site_texts
from viz.kit.panel import Layout
from viz.page_context import PageContext
from viz.state.page_fields import OF_VARIANTS
from viz.state.view import View
from viz.variants.paired_heads import PAIRED, PAIRS, ROLES
from viz.variants.score_panels import BUDGET, DESIGNS, LOSSES, NO_RECORD, PARTS, SCORES
from viz.variants.variant_maps import MAPS, shows_maps


def _draw_notes(context: PageContext) -> None:
    """Draws the faults of the view, if the sentence is what is shown."""
    if context.view.of_variants == "maps":
        site_texts.sentence_notes((), context.faults)


def _match_part(view: View, context: PageContext) -> View:
    return lecture.match_part(view, "of_variants", OF_VARIANTS)


LAYOUT = Layout(
    ((PARTS,), (NO_RECORD,), (SCORES,), (DESIGNS,), (LOSSES,), (BUDGET,), (MAPS,), (PAIRED,), (PAIRS, ROLES)),
    notes=_draw_notes,
    choose_view=_match_part,
    has_sentence=shows_maps,
)

if __name__ == "__main__":
    show.show("variants")
