"""Training: how did it learn this?"""

from __future__ import annotations

from viz.frame import show
from viz.training import in_lecture, tables, training_parts

show.show(
    "training",
    training_parts.draw,
    head=training_parts.head,
    draw_without=training_parts.without_sentence,
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
    of_sentence=lambda view: False,
)
