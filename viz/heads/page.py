"""Heads: what does every head do on this sentence?"""

from __future__ import annotations

from functools import partial

from viz.frame import show
from viz.heads import in_lecture, picture, tables

show.show(
    "heads",
    picture.draw,
    head=partial(show.title_row, widths=(480, 440, 96)),
    choose_view=picture.at_the_best,
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
