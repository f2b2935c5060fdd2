"""Variants: what does each part buy?"""

from __future__ import annotations

from viz.shared import frame
from viz.variants import in_lecture, parts, tables
from viz.variants.found import found

there = found().record is not None
frame.show(
    "variants",
    parts.draw,
    without=in_lecture.without_sentence,
    tables=tables.tables if there else None,  # without a record there are no numbers
    python=tables.python if there else None,
    in_lecture=in_lecture.draw,
    of_sentence=in_lecture.of_sentence,
)
