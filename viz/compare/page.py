"""Compare: what is different, and where does it travel?"""

from __future__ import annotations

from functools import partial

from viz.compare import in_lecture, parts, tables
from viz.shared import frame

frame.show(
    "compare",
    parts.draw,
    head=partial(frame.title_row, widths=(480, 440, 96)),
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
