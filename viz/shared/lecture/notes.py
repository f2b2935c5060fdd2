"""What must be known of what is shown, in few lines: signs of doubt wait for the page itself."""

from __future__ import annotations

from viz.shared import texts
from viz.shared.lecture import lecture
from viz.shared.shown import Shown


def draw(shown: Shown) -> None:
    """Faults, what is to be known of the translation, and what is edited."""
    analysis, edits = shown.analysis, shown.analysis.request.intervention
    with shown.places.notes:
        texts.sentence_notes([note for note in analysis.notes if note not in analysis.cautions], shown.faults)
        if edits:
            told = edits.describe(analysis.labels)
            texts.note(f"Edited: {told}. Esc or u takes {lecture.CHANGED} back.")
