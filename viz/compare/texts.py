"""What the page Compare says, from the numbers of this very pair."""

from __future__ import annotations

from viz.compare.pair import Pair


def translations(pair: Pair) -> tuple[str, str]:
    """What both sides say."""
    return pair.first.analysis.translation, pair.second.analysis.translation
