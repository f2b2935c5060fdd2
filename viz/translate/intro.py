"""What this is, in one line for who has just come; and the ways in: the tour, once, and the lessons."""

from __future__ import annotations

import streamlit as st

from model.task import Task
from viz import pages
from viz.shared import texts, tour

WAYS = {"keys": "press →", "touch": "tap Play"}  # the stylesheet shows what fits the device


def intro(page: pages.Page, task: Task) -> None:
    """The title, the line in place of a question, and the offer of the tour."""
    with st.container(key="welcome", horizontal=True, vertical_alignment="center", gap="small"):
        texts.write(f'<header class="lab-head"><h1>{page.title}</h1></header>', inline=True)
        known = WAYS | {"touch": "tap →"} if task.judges else WAYS  # what is read at once is not played
        ways = "".join(f'<span class="{name}"> {way} {task.keys}</span>' for name, way in known.items())
        texts.write(f'<p class="lab-intro">{task.line}{ways}</p>', inline=True)
        tour.invitation()
