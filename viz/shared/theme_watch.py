"""Tells the server when the visitor changes the theme: figures are coloured there."""

from __future__ import annotations

from viz import state, theme
from viz.shared import mount

_COMPONENT = mount.Component(__file__)


def theme_watch(mode: theme.Mode) -> None:
    """Mounts the watcher; where the browser shows another theme than `mode`, the script runs again with that one."""
    events = {"mode": (mount.one_of(theme.PALETTES), state.set_theme)}
    _COMPONENT.mount("theme_watch", {"mode": mode}, events, default={"mode": mode})
