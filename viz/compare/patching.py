"""One sentence run with a piece of the other put in."""

from __future__ import annotations

from viz.compare.pair import Pair
from viz.shared import texts
from viz.shared.frame import Shown


def draw(shown: Shown, pair: Pair) -> None:
    """Says what is needed."""
    texts.note("Patching needs two sentences: choose “A word” or “Sentence” above.")
