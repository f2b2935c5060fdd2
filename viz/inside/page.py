"""Inside: how is one number made?"""

from __future__ import annotations

from viz.inside import parts, tables
from viz.shared import frame

frame.show("inside", parts.draw, tables=tables.tables, python=tables.python)
