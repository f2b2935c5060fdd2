"""The list of edits, each with a button that removes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from viz.kit import button_groups, site_texts
from viz.kit.button_groups import Button, ButtonGroup
from viz.state import navigation
from viz.state.view import View

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from viz.page_context import PageContext


def buttons(parts: Sequence[tuple[str, str]], aside: Sequence[str] = ()) -> dict[str, Button]:
    """Returns a button for each edit that removes it; `aside` holds the codes of impossible edits."""
    return {
        f"edit {code}": remove_button(
            f"{text} (not possible here)" if code in aside else text, partial(navigation.toggle_edit, code)
        )
        for code, text in parts
    }


def remove_button(text: str, press: partial) -> Button:
    """Returns the button that removes an edit."""
    return Button(f"{text[:1].upper()}{text[1:]} ×", press, "Remove this edit")


def clear_button(is_disabled: bool = False) -> Mapping[str, Button]:
    return {"clear": Button("Clear", navigation.clear_edits, is_disabled=is_disabled)}


def describe_padding(count: int) -> str:
    """Returns the padding in words; empty for none."""
    return f"{count} pad{'s' if count > 1 else ''} after the source" if count else ""


def edit_bar(view: View, analysis: Analysis, masks: bool = True) -> None:
    """Draws the edits of a page without the editor; without `masks` all but the two mask switches."""
    edits = view.intervention if masks else dataclasses.replace(view.intervention, causal_mask=True, padding_mask=True)
    _draw_bar(edits.codes_and_texts(analysis.labels))


def edits_after_fault(view: View) -> None:
    """Draws the edits after a fault, since one of them may be its cause."""
    _draw_bar(view.intervention.codes_and_texts())


def _draw_bar(parts: Sequence[tuple[str, str]]) -> None:
    if parts:
        button_groups.draw("edits", [ButtonGroup("Edits", {**buttons(parts), **clear_button()})])


def draw_notes(context: PageContext) -> None:
    """Draws faults, notes on the translation, and the edits."""
    site_texts.sentence_notes(context.analysis.notes, context.faults, context.analysis.warning_sentences)
    edit_bar(context.view, context.analysis)
