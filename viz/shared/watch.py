"""Watches on every page: tells the server when the visitor changes the theme, for figures are coloured there; fits the
labels of charts to their size; takes the keyboard into what opens over the page, and back."""

from __future__ import annotations

from viz import state, theme
from viz.shared import mount

_COMPONENT = mount.Component(__file__)


def watch(mode: theme.Mode) -> None:
    """Mounts the watcher; where the browser shows another theme than `mode`, the script runs again with that one."""
    events = {"mode": (mount.one_of(theme.PALETTES), state.set_theme)}
    _COMPONENT.mount("watch", {"mode": mode}, events, default={"mode": mode})
