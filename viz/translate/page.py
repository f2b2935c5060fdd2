"""Translate: what does it say, and why this word?"""

from __future__ import annotations

from viz.shared import frame
from viz.translate import in_lecture, parts, tables

frame.show(
    "translate",
    parts.draw,
    head=parts.head,
    look=parts.look,
    without=parts.without_sentence,
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
