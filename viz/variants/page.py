"""Variants: what does each part buy?"""

from __future__ import annotations

from viz.frame import show
from viz.variants import in_lecture, tables, variant_parts
from viz.variants.variant_texts import found

there = found().record is not None
show.show(
    "variants",
    variant_parts.draw,
    draw_without=in_lecture.without_sentence,
    tables=tables.tables if there else None,  # without a record there are no numbers
    python=tables.python if there else None,
    in_lecture=in_lecture.draw,
    of_sentence=in_lecture.of_sentence,
)
