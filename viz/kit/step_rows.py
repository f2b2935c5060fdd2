"""Outlines the row of the step in the maps of a page, in the browser, so that figures do not depend on the step."""

from __future__ import annotations

from viz.kit import mount

_COMPONENT = mount.Component(__file__, '<span class="step-rows" hidden></span>')


def step_rows(step: int, follow: bool) -> None:
    """Mounts the script that moves the step rows of `heatmap_figures` to the step (from 1); `follow` makes it
    follow the timeline of the page."""
    _COMPONENT.mount("step rows", {"step": step, "follow": follow}, height=1)
