"""A run that goes on while somebody looks: a sign of it, and the page again whenever it has written something.

Nothing is asked of a run that is over, nor of a checkpoint.
"""

from __future__ import annotations

import html
import time

import streamlit as st

from model.training import found_runs
from viz import state
from viz.shared import texts
from viz.training import histories

EVERY = "4s"  # how often its files are looked at: at their times and sizes alone


def sign(name: str, seen: histories.Stamp) -> None:
    """How far the run of a name is, and when it last wrote. Once its files are no longer those that the page was drawn of
    (`seen`), or it goes on no more, the whole page is run."""
    st.fragment(run_every=EVERY)(_watch)(name, seen)


def _watch(name: str, seen: histories.Stamp) -> None:
    try:
        history, stamp = histories.history(name)
    except ValueError:
        _again()
    if not history.going or stamp != seen:
        _again()
    progress = history.progress
    far = "It has begun: the first line of its log comes after the first steps." if progress is None else progress.told()
    texts.write(
        f'<p class="lab-training-now" aria-live="off"><i>Live</i> {html.escape(far)} '
        f"<small>{told_ago(time.time() - found_runs.written(stamp))}</small></p>"
    )


def _again() -> None:
    """The whole page; the browser may not have heard of the last link yet."""
    state.hear()
    st.rerun()


def told_ago(seconds: float) -> str:
    """When something was last written, so many seconds ago."""
    if seconds < 5:
        return "Written just now."
    if seconds < 90:
        return f"Written {round(seconds)} seconds ago."
    return f"Written {round(seconds / 60)} minutes ago."
