"""Training: how did it learn this?"""

from __future__ import annotations

from viz.shared import frame
from viz.training import in_lecture, parts, tables

frame.show(
    "training",
    parts.draw,
    head=parts.head,
    without=parts.without_sentence,
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
    of_sentence=lambda view: False,
)
