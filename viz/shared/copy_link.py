"""A button that copies the link of the view."""

from __future__ import annotations

from viz.shared import mount

_COMPONENT = mount.Component(__file__, '<div class="copy"><button type="button">Copy link</button></div>')


def copy_link(key: str = "copy_link") -> None:
    """Mounts the button."""
    _COMPONENT.mount(key, {})
