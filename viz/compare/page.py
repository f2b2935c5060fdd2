"""Compare: what is different, and where does it travel?"""

from __future__ import annotations

from viz.compare import parts
from viz.shared import frame

frame.show("compare", parts.draw)
