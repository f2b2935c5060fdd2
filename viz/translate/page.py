"""Translate: what does it say, and why this word?

The parts of the page Translate, from the sentence to what the edits changed.

What this is, in one line for who has just come; and the ways in: the tour, once, and the lessons."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import streamlit as st

from model.inference.source_reading import blank_positions
from model.task import Task
from viz import cache, computations, pages, theme
from viz.decoding_steps import decoding_controls, decoding_texts, pattern_maps, steps
from viz.fill import fill_in
from viz.frame import show, tour
from viz.judge import label_view
from viz.kit import controls, edit_list, site_texts
from viz.page_context import PageContext, Places
from viz.state import navigation, session
from viz.state.view import View, without_edits
from viz.translate import in_lecture, kv_cache, mask_charts, tables

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

WAYS = {"keys": "press →", "touch": "tap Play"}  # the stylesheet shows what fits the device


def intro(page: pages.Page, task: Task) -> None:
    """The title, the line in place of a question, and the offer of the tour."""
    with st.container(key="welcome", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.write(f'<header class="lab-head"><h1>{page.title}</h1></header>', inline=True)
        known = WAYS | {"touch": "tap →"} if task.is_classifier else WAYS  # what is read at once is not played
        ways = "".join(f'<span class="{name}"> {way} {task.key_hint}</span>' for name, way in known.items())
        site_texts.write(f'<p class="lab-intro">{task.summary}{ways}</p>', inline=True)
        tour.invitation()


SURPRISE_HEIGHT = 176


@dataclasses.dataclass(frozen=True)
class Stage(Places):
    """The places beside the sentence, which are filled once it is known."""

    language: DeltaGenerator
    count: DeltaGenerator


def head(view: View, page: pages.Page) -> Stage:
    """The title, the sentence with its examples, and a place for all that belongs to it."""
    intro(page, cache.task(view.checkpoint, view.device))
    with st.container(key="stage"):
        left, _ = st.columns(2, gap="medium")  # the timeline writes into the other half
        with left:
            language, count = controls.sentence_box(view, _heading(view))
            with st.container(key="under_sentence", gap=None):
                controls.lesson_note(view)
                notes = st.container(gap=None)
        return Stage(notes, st.container(), language, count)


def _heading(view: View) -> str:
    """What stands above the text, as far as it is known before the checkpoint is loaded."""
    named = cache.declared_languages(view.checkpoint)[0] or "Text"
    task = cache.task(view.checkpoint, view.device)
    return cache.languages(view.checkpoint, view.device)[0] if task.can_split else decoding_texts.heading(task, named)


def look(view: View, context: PageContext) -> View:
    """What is looked at first where the link leaves it open: of a sentence with blanks the first of them, without blanks its
    first word, of a text that is gone on with the first token that the model adds, of one that is judged the word whose
    hiding changes most."""
    text, analysis, loaded = (view.checkpoint, view.source, view.second), context.analysis, context.loaded
    if analysis.task.can_split or session.get(fill_in.LED) == text:
        return view
    session.put(fill_in.LED, text)
    if analysis.task.is_classifier:
        places = [label_view.opens_at(view, context)]
    elif analysis.task.has_decoder:
        places = [analysis.prompt_length]
    else:
        places = blank_positions(analysis, loaded) or [label_view.first_word(analysis)]
    is_open = not session.is_in_link("step") or (session.is_new_text() and view.step == View.step)
    return view.at_step(places[0]) if places and is_open else view


def without_sentence(view: View, places: Places) -> None:
    """A target that is given may be why nothing can be shown."""
    with places.notes:
        controls.target_note(view)


def draw(context: PageContext) -> None:
    """The sentence with its translation, the steps, the maps or how tokens are chosen, and what the edits changed."""
    view, places = context.view, context.places
    analysis, languages = context.analysis, context.loaded.languages
    with places.language:
        site_texts.language(decoding_texts.heading(analysis.task, languages[0]))
    with places.count:
        count, known = decoding_texts.token_count(analysis, analysis.prompt_length)
        how = f"{known}How does text become tokens?"
        st.button(count, key="token count", type="tertiary", help=how, on_click=_to_tokens)
    with places.notes:
        if analysis.task.can_split:
            decoding_controls.sentences(view, context, languages[1])
        notes = [note for note in analysis.notes if note not in analysis.warning_sentences]
        if analysis.prompt_length:
            decoding_controls.more(view, analysis)
            notes = [note for note in notes if note != analysis.stop_reason]  # the control says so
        notes = [note for note in notes if note != analysis.row_note]  # the maps' caption says so
        site_texts.sentence_notes(notes, context.faults, in_a_box=True)
        if view.show != "decoding":
            controls.target_note(view)
            decoding_controls.branch_chips(view, context)
        if word := "" if analysis.task.has_decoder else fill_in.taken_back(view):
            label = controls.plain_label(f"Take “{word}” back: open the blank again")
            st.button(label, key="take back", type="tertiary", on_click=session.undo_or_redo, args=("undo",))
        edit_list.edit_bar(view, analysis, masks=False)
    with places.body:
        first = label_view if analysis.task.is_classifier else steps if analysis.task.has_decoder else fill_in
        first.draw(view, context, context.mode)
    if view.guess and analysis.task.has_decoder:
        decoding_controls.guessing(view)
        return
    with st.container(key="lower"):
        _lower(context)
    if analysis.baseline is not None:
        pattern_maps.draw_changes(analysis, context.loaded, context.mode)


def _to_tokens() -> None:
    """To the words of the sentence and their merges."""
    session.change(part="tokens")
    navigation.go_to("inside")


def trace_of(view: View, context: PageContext, mode: theme.Mode) -> str:
    """The timeline's name for what it draws: who follows its step asks for it."""
    head = view.head
    return steps.timeline_data(context.request, view.device, view.layer, head, mode)["trace"]


def _lower(context: PageContext) -> None:
    """The maps beside the masks, or what decoding found beside how it chooses."""
    view, context = context.view, context
    left, right = st.columns([760, 240], gap="medium")
    with left:
        controls.layer_and_head(view, context.layers, context.loaded.config, context.analysis.task)
        if view.show == "decoding":
            own = dataclasses.replace(context.request, target=None)
            decoding_controls.panel(view, context, lambda: cache.analyse(own, view.device), context.mode, SURPRISE_HEIGHT)
        elif view.show == "cache":
            kv_cache.growth(view, context, trace_of(view, context, context.mode), context.mode)
        else:
            with st.container(key="maps"):
                pattern_maps.draw(context.analysis, view, context.mode)
    with right:
        if view.show == "decoding":
            decoding_controls.strategy(view, context.analysis.task)
        elif view.show == "cache":
            kv_cache.saving(view, context)
        else:
            target = computations.target_padding(context.request, view.device)
            try:
                # once the maps are on their way
                effects = computations.mask_effects(without_edits(context.request), view.device)
            except ValueError as fault:  # padding that is added to be seen may go beyond a learned table
                site_texts.fault(str(fault))
                return
            mask_charts.switches(view, effects, target, context.analysis, context.loaded)


show.show(
    "translate",
    draw,
    head=head,
    choose_view=look,
    draw_without=without_sentence,
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
