"""Why: why this word, and not that one?"""

from __future__ import annotations

from viz.shared import frame
from viz.why import parts

frame.show("why", parts.draw)
