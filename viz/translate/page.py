"""Translate: what does it say, and why this word? Fill in, Continue and Judge take its place for other tasks."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from viz import pages
from viz.decoding_steps import decoding_controls
from viz.decoding_steps.beam_tree import TREE
from viz.decoding_steps.decoding_controls import GUESSING, OWN_TARGET, STRATEGY, SURPRISE
from viz.decoding_steps.head_map import HEAD_MAP
from viz.decoding_steps.pattern_maps import CAPTION, CHANGE, MAPS
from viz.decoding_steps.steps import CANDIDATES, STEPS
from viz.fill import fill_in
from viz.fill.fill_in import BLANKS, PLACES
from viz.frame import show
from viz.judge import judged_text
from viz.judge.judged_text import JUDGED
from viz.judge.word_table import WORDS
from viz.kit import button_groups, controls, site_texts
from viz.kit.panel import Layout, Panel
from viz.page_context import PageContext, Places
from viz.state import session
from viz.state.view import View
from viz.translate.kv_cache import CACHE, NO_CACHE, SAVING, TIMES
from viz.translate.mask_charts import MASKS

CACHE_PICTURE = CACHE.pictures[0].number


def _head(view: View, page: pages.Page) -> Places:
    """Draws question, sentence and examples."""
    show.title_row(view, page)
    controls.example_line(view)
    body = st.container(key="stage")
    return Places(body, body)


def _choose_view(view: View, context: PageContext) -> View:
    """Returns the view: a lecture on the cache shows the picture of the cache, an opening classifier the deciding word."""
    if view.lecture and view.show == "cache" and view.large == 1:
        view = dataclasses.replace(view, large=CACHE_PICTURE)
    if context.is_opening and context.analysis.task.is_classifier:
        view = view.at_step(judged_text.first_place(dataclasses.replace(context, view=view)))
    return view


def _draw_text_choices(context: PageContext) -> None:
    """Draws the choice of one sentence of several, and of the number of new tokens."""
    if context.analysis.task.can_split:
        decoding_controls.sentences(context.view, context, context.loaded.languages[1])
    if context.analysis.prompt_length:
        decoding_controls.more(context.view, context.analysis)


def _draw_notes(context: PageContext, result: Any) -> None:
    """Draws notes about the text, branches and edits, below the steps, which they do not move."""
    view, analysis, task = context.view, context.analysis, context.analysis.task
    elsewhere = {*analysis.warning_sentences, analysis.row_note}  # the timeline and the caption of the maps show these
    if analysis.prompt_length:
        elsewhere.add(analysis.stop_reason)  # the control shows it
    notes = [note for note in analysis.notes if note not in elsewhere]
    site_texts.sentence_notes(notes, context.faults)
    if view.show != "decoding":
        controls.target_note(view)
        decoding_controls.branch_chips(view, context)
    if word := "" if task.has_decoder else fill_in.taken_back(view):
        label = controls.plain_label(f"Take “{word}” back: open the blank again")
        st.button(label, key="take back", type="tertiary", on_click=session.undo_or_redo, args=("undo",))
    button_groups.edit_bar(view, analysis, masks=view.show != "mask")  # beside their switches


def _draw_picks(context: PageContext, result: Any) -> None:
    """Draws the tabs of the lower part, and for masks and cache the choices of layer and head."""
    button_groups.draw(
        "picks", controls.picture_groups(context.view, context.layers, context.loaded.config, context.analysis.task)
    )


GIVEN_TARGET = Panel(  # which may be the cause of a fault
    "translate.given",
    "Given target",
    controls=lambda context, result: controls.target_note(context.view),
    is_visible=lambda context: not context.has_checkpoint,
    is_independent=True,
)
NOTES = Panel(
    "translate.notes", "Notes, branches and edits", controls=_draw_notes, is_visible=lambda context: context.has_checkpoint
)
PICKS = Panel(
    "translate.picks",
    "Picture, layer and head",
    controls=_draw_picks,
    is_visible=lambda context: not decoding_controls.hides_tokens(context),
)
LAYOUT = Layout(
    (
        (GIVEN_TARGET,),
        ((STEPS, PLACES), (CANDIDATES, BLANKS)),
        (NOTES,),
        (JUDGED,),
        (WORDS,),
        (GUESSING,),
        ((PICKS, HEAD_MAP, MAPS, CAPTION, OWN_TARGET, TREE, SURPRISE, CACHE, NO_CACHE, TIMES), (MASKS, STRATEGY, SAVING)),
        (CHANGE,),
    ),
    notes=_draw_text_choices,
    head=_head,
    choose_view=_choose_view,
)

if __name__ == "__main__":
    show.show("translate")
