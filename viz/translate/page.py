"""Translate: what does it say, and why this word? Fill in, Continue and Judge take its place for other tasks."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from viz import cache, pages
from viz.decoding_steps import decoding_controls, decoding_texts
from viz.decoding_steps.beam_tree import TREE
from viz.decoding_steps.decoding_controls import GUESSING, OWN_TARGET, STRATEGY, SURPRISE, Stage
from viz.decoding_steps.head_map import HEAD_MAP
from viz.decoding_steps.pattern_maps import CAPTION, CHANGE, MAPS
from viz.decoding_steps.steps import CANDIDATES, STEPS
from viz.fill import fill_in
from viz.fill.fill_in import BLANKS, PLACES
from viz.frame import show, tour
from viz.judge import judged_text
from viz.judge.judged_text import JUDGED
from viz.judge.word_table import WORDS
from viz.kit import button_groups, controls, site_texts
from viz.kit.panel import Layout, Panel
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.view import View
from viz.translate.kv_cache import CACHE, NO_CACHE, SAVING, TIMES
from viz.translate.mask_charts import MASKS

CACHE_PICTURE = CACHE.pictures[0].number


def _head(view: View, page: pages.Page) -> Stage:
    """Draws the title and the sentence with its examples. The timeline draws the translation into the free half."""
    task = cache.task(view.checkpoint, view.device)
    title = f'<header class="lab-head"><h1>{page.title}</h1></header>'
    site_texts.write(f'<div class="lab-welcome">{title}<p class="lab-intro">{page.question}</p>{tour.INVITATION}</div>')
    named = cache.declared_languages(view.checkpoint)[0] or "Text"
    heading = decoding_texts.heading(task, named)
    body = st.container(key="stage")
    with body, st.container(key="text"):
        if task.can_split:
            heading = cache.languages(view.checkpoint, view.device)[0]
        language, count = controls.sentence_box(view, heading)
        notes = st.container(key="under_sentence", gap=None)
        with notes:
            controls.lesson_note(view)
    return Stage(notes, body, language, count)


def _choose_view(view: View, context: PageContext) -> View:
    """Returns the view: a lecture on the cache shows the picture of the cache, an opening classifier the deciding word."""
    if view.lecture and view.show == "cache" and view.large == 1:
        view = dataclasses.replace(view, large=CACHE_PICTURE)
    if context.is_opening and context.analysis.task.is_classifier:
        view = view.at_step(judged_text.first_place(dataclasses.replace(context, view=view)))
    return view


def _draw_notes(context: PageContext) -> None:
    """Draws language and length of the text, notes about it, its sentences, branches and edits."""
    view, places, analysis, task = context.view, context.places, context.analysis, context.analysis.task
    languages = context.loaded.languages
    with places.language:
        site_texts.language(decoding_texts.heading(task, languages[0]))
    with places.count:
        count, known = decoding_texts.token_count(analysis, analysis.prompt_length)
        how = f"{known}How does text become tokens?"
        st.button(count, key="token count", type="tertiary", help=how, on_click=_go_to_tokens)
    with places.notes:
        if task.can_split:
            decoding_controls.sentences(view, context, languages[1])
        elsewhere = {*analysis.warning_sentences, analysis.row_note}  # the timeline and the caption of the maps show these
        if analysis.prompt_length:
            decoding_controls.more(view, analysis)
            elsewhere.add(analysis.stop_reason)  # the control shows it
        notes = [note for note in analysis.notes if note not in elsewhere]
        site_texts.sentence_notes(notes, context.faults, in_a_box=True)
        if view.show != "decoding":
            controls.target_note(view)
            decoding_controls.branch_chips(view, context)
        if word := "" if task.has_decoder else fill_in.taken_back(view):
            label = controls.plain_label(f"Take “{word}” back: open the blank again")
            st.button(label, key="take back", type="tertiary", on_click=session.undo_or_redo, args=("undo",))
        button_groups.edit_bar(view, analysis, masks=view.show != "mask")  # beside their switches


def _go_to_tokens() -> None:
    """Goes to the words of the sentence and their merges."""
    session.change(part="tokens")
    navigation.go_to("inside")


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
        (JUDGED,),
        (WORDS,),
        (GUESSING,),
        ((PICKS, HEAD_MAP, MAPS, CAPTION, OWN_TARGET, TREE, SURPRISE, CACHE, NO_CACHE, TIMES), (MASKS, STRATEGY, SAVING)),
        (CHANGE,),
    ),
    notes=_draw_notes,
    head=_head,
    choose_view=_choose_view,
)

if __name__ == "__main__":
    show.show("translate")
