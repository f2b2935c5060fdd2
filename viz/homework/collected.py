"""Results of a class: the files of the students, each check computed again."""

from __future__ import annotations

from viz.kit.panel import Panel, where

COLLECTED = Panel("homework.collected", "Results", file=None, is_visible=where(of_lessons="homework"), is_independent=True)
