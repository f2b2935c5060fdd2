"""The frame around all pages: page configuration, stylesheet, navigation, sidebar."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz import state, theme
from viz.shared import controls
from viz.shared.popovers import popovers
from viz.shared.theme_watch import theme_watch

HERE = Path(__file__).parent

st.set_page_config(page_title="Attention Lab", page_icon=str(HERE / "viz" / "mark.svg"), layout="wide")
mode = state.theme_mode()
st.html(theme.stylesheet(mode))
st.logo(str(HERE / "viz" / "mark.svg"), size="large")  # the stylesheet sets the name beside it
page = st.navigation(
    [
        st.Page(HERE / "viz" / "translate" / "page.py", title="Translate", url_path="translate", default=True),
        st.Page(HERE / "viz" / "heads" / "page.py", title="Heads", url_path="heads"),
        st.Page(HERE / "viz" / "inside" / "page.py", title="Inside", url_path="inside"),
        st.Page(HERE / "viz" / "positions" / "page.py", title="Positions", url_path="positions"),
        st.Page(HERE / "viz" / "what_if" / "page.py", title="What if", url_path="what-if"),
    ]
)
with st.sidebar:
    below = st.container()
page.run()
with below:
    controls.sidebar()
    theme_watch(mode)
    popovers()
