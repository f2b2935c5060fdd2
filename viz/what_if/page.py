"""What if: what happens when I break it?"""

from __future__ import annotations

from viz.shared import frame
from viz.what_if import in_lecture, parts, tables

frame.show(
    "what-if",
    parts.draw,
    steps_of=lambda analysis: (analysis.baseline or analysis).trace,
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
