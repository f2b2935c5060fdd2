"""The strip of an assignment at the foot of a page, for students or for its author."""

from __future__ import annotations

import streamlit as st

from viz.homework import author_strip, student_strip
from viz.state import session


def homework_strip() -> None:
    """Mounts the strip while an assignment is on, once the page is drawn; not in lecture mode."""
    view = session.current_view()
    if not view.assignment or view.lecture:
        return
    with st.container(key="homework"):
        (author_strip if view.author else student_strip).mount_strip(view)
