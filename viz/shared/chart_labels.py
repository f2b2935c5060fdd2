"""Fits the labels of every chart to the size that it has in the browser."""

from __future__ import annotations

from viz.shared import mount

_COMPONENT = mount.Component(__file__)


def chart_labels() -> None:
    """Mounts the watcher; it draws and tells nothing."""
    _COMPONENT.mount("chart_labels", {})
