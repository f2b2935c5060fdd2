"""Takes the keyboard into a popover that opens, and back when it closes."""

from __future__ import annotations

from viz.shared import mount

_COMPONENT = mount.Component(__file__)


def popovers() -> None:
    """Mounts the watcher; it draws and tells nothing."""
    _COMPONENT.mount("popovers", {})
