"""Takes the keyboard into a popover that opens, and back when it closes."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_mount = st.components.v2.component(
    "attention_lab.popovers", js=(Path(__file__).parent / "popovers.js").read_text(encoding="utf-8")
)


def popovers() -> None:
    """Mounts the watcher; it draws and tells nothing."""
    _mount(key="popovers")
