"""What is edited, in words, with a way to take each edit back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from viz.kit import controls, site_texts
from viz.state import navigation
from viz.state.view import View

if TYPE_CHECKING:
    from model.inference.analysis import Analysis


def chips(parts: Sequence[tuple[str, str]], aside: Sequence[str] = ()) -> None:
    """A button for each edit that takes it back; `aside` holds the codes of those that cannot be made here."""
    for code, text in parts:
        label = _plain(text + " (set aside)" if code in aside else text)
        st.button(
            f"{label} ×", key=f"edit {code}", help="Take this edit back", on_click=navigation.toggle_edit, args=(code,)
        )


def _plain(text: str) -> str:
    """Text for a button's label, which is Markdown otherwise; it begins with a capital."""
    return controls.plain_label(text[:1].upper() + text[1:])


def other_edits(view: View, analysis: Analysis, masks: bool = True) -> None:
    """On a page without the editor: what is edited, with a way to take each back; without `masks` all but the two masks."""
    _listed((view.intervention if masks else view.edits).parts(analysis.labels))


def rescue(view: View) -> None:
    """Where nothing can be shown: the edits with a way to take each back, for one of them may be why."""
    _listed(view.intervention.parts())


def _listed(parts: Sequence[tuple[str, str]]) -> None:
    if not parts:
        return
    with st.container(key="edit_bar", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.write('<h2 class="lab-label">Edits</h2>', inline=True)
        chips(parts)
        st.button("Clear", key="clear", on_click=navigation.clear_edits)
