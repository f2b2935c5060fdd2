"""Why: why this word, and not that one?"""

from __future__ import annotations

from viz.shared import frame
from viz.why import in_lecture, likely, parts, tables

frame.show("why", parts.draw, look=likely.look, tables=tables.tables, python=tables.python, in_lecture=in_lecture.draw)
