"""The part Homework of the page Lessons: assignments to solve, to make and to open."""

from __future__ import annotations

from viz.kit.panel import Panel, where

ASSIGNMENTS = Panel(
    "homework.assignments", "Homework", file=None, is_visible=where(of_lessons="homework"), is_independent=True
)
