"""A button that copies the link of the view."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz import theme

_HERE = Path(__file__).parent
_mount = st.components.v2.component(
    "attention_lab.copy_link",
    html='<div class="copy"><button type="button">Copy link</button></div>',
    css=(_HERE / "copy_link.css").read_text(encoding="utf-8"),
    js=(_HERE / "copy_link.js").read_text(encoding="utf-8"),
)


def copy_link(mode: theme.Mode, key: str = "copy_link") -> None:
    """Mounts the button."""
    _mount(key=key, data={"style": theme.PALETTES[mode].css_variables()})
