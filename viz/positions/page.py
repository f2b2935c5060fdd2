"""Positions: how does it know the order?"""

from __future__ import annotations

from viz.positions import in_lecture, parts, tables
from viz.shared import frame

frame.show(
    "positions",
    parts.draw,
    without=parts.without_sentence,
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
