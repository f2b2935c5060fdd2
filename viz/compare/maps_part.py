"""The two sides beside each other."""

from __future__ import annotations

from viz.compare import texts as compare_texts
from viz.compare.pair import Pair
from viz.shared import texts
from viz.shared.frame import Shown


def draw(shown: Shown, pair: Pair) -> None:
    """Both translations."""
    for side, said in zip((pair.first, pair.second), compare_texts.translations(pair), strict=True):
        texts.note(f"{side.name}: {said}")
