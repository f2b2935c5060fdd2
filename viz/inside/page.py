"""Inside: how is one number made?"""

from __future__ import annotations

from viz.inside import in_lecture, parts, tables
from viz.shared import frame

frame.show("inside", parts.draw, tables=tables.tables, python=tables.python, in_lecture=in_lecture.draw)
