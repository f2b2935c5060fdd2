"""Heads: what does every head do on this sentence?"""

from __future__ import annotations

from functools import partial

from viz import computations
from viz.frame import show
from viz.heads import in_lecture, picture, tables

show.show(
    "heads",
    picture.draw,
    head=partial(show.title_row, widths=(480, 440, 96)),
    choose_view=picture.at_the_best,
    compute=lambda page_data: computations.value_norms(page_data.request, page_data.view.device),
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
