"""Tells the server when the visitor changes the theme: figures are coloured there."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz import state, theme

_KEY = "theme_watch"
_mount = st.components.v2.component(
    "attention_lab.theme_watch", js=(Path(__file__).parent / "theme_watch.js").read_text(encoding="utf-8")
)


def theme_watch(mode: theme.Mode) -> None:
    """Mounts the watcher; where the browser shows another theme than `mode`, the script runs again with that one."""

    def changed() -> None:
        state.set_theme(state.component_value(_KEY, "mode"))

    _mount(key=_KEY, data={"mode": mode}, default={"mode": mode}, on_mode_change=changed)
