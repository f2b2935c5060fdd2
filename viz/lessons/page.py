"""Lessons: where do I begin?"""

from __future__ import annotations

from viz.lessons import parts
from viz.shared import frame

frame.show("lessons", parts.draw, head=parts.head, without=parts.without_sentence, in_lecture=parts.in_lecture)
