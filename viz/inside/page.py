"""Inside: how is one number made?"""

from __future__ import annotations

from viz.frame import show
from viz.inside import in_lecture, inside_parts, tables

show.show("inside", inside_parts.draw, tables=tables.tables, python=tables.python, in_lecture=in_lecture.draw)
