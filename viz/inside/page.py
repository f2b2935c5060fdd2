"""Inside: how is one number made?"""

from __future__ import annotations

from viz.inside import parts
from viz.shared import frame

frame.show("inside", parts.draw)
