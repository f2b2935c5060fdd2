"""What if: what happens when I break it?"""

from __future__ import annotations

from viz.frame import show
from viz.what_if import in_lecture, tables, what_if_parts

show.show(
    "what-if",
    what_if_parts.draw,
    steps_of=lambda analysis: (analysis.baseline or analysis).trace,
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
