"""Keeps the row of the step outlined in the maps of a page, in the browser: a figure's spec knows no step."""

from __future__ import annotations

from viz.kit import mount

_COMPONENT = mount.Component(__file__, '<span class="step-rows" hidden></span>')


def step_rows(step: int, follow: bool) -> None:
    """Mounts the script that moves the step rows of `heatmap_figures` to the step (from 1); with `follow` it listens
    to the timeline of the page, which tells every step at once."""
    _COMPONENT.mount("step rows", {"step": step, "follow": follow}, height=1)
