"""A button that copies the link of the view."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz import theme

_CSS = """
.copy button { height: 32px; padding: 0 12px; border: 1px solid var(--lab-border); border-radius: 6px; background: var(--lab-field);
  color: var(--lab-ink); font: 14px/20px "Source Sans", system-ui, sans-serif; cursor: pointer; white-space: nowrap; }
.copy button:hover { border-color: var(--lab-ink); }
.copy button:focus-visible { outline: 2px solid var(--lab-ink); outline-offset: 2px; }
"""
_mount = st.components.v2.component(
    "attention_lab.copy_link",
    html='<div class="copy"><button type="button">Copy link</button></div>',
    css=_CSS,
    js=(Path(__file__).parent / "copy_link.js").read_text(encoding="utf-8"),
)


def copy_link(mode: theme.Mode, key: str = "copy_link") -> None:
    """Mounts the button."""
    _mount(key=key, data={"style": theme.PALETTES[mode].css_variables()})
