"""What if: what happens when I break it?"""

from __future__ import annotations

from viz.shared import frame
from viz.what_if import parts, tables

frame.show(
    "what-if",
    parts.draw,
    steps_of=lambda analysis: (analysis.baseline or analysis).trace,
    tables=tables.tables,
    python=tables.python,
)
