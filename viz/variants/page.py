"""Variants: what does each part buy?"""

from __future__ import annotations

from viz.shared import frame
from viz.variants import in_lecture, parts, tables

frame.show(
    "variants",
    parts.draw,
    without=in_lecture.without_sentence,
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
