"""The widgets for the second side, for each thing that may differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import streamlit as st

from model.decoding.strategy import strategy_with_control
from model.io import numbers
from viz.compare import pair
from viz.kit import button_groups, controls, site_texts
from viz.page_context import PageContext
from viz.state import navigation, session, uploads
from viz.state.values import MAX_WORD

BEAM = 4  # wide enough for several hypotheses


def _word(context: PageContext) -> None:
    """The words of the sentence, and what stands in the place of the one that is chosen."""
    known, noun = pair.words(context.request.source), context.analysis.task.part_noun
    number, word = pair.swapped(context.view, context.request.source)
    complaint = session.complaint("swap_to")
    with st.container(key="compare_word", horizontal=True, vertical_alignment="center", gap="small"):
        st.pills(
            f"{noun.capitalize()} that gives way",
            range(len(known)),
            format_func=lambda n: controls.plain_label(known[n]) if n < len(known) else controls.from_one(n),
            label_visibility="collapsed",
            **session.bind("swap", "swap", number if number is not None and number < len(known) else None),
        )
        st.text_input(
            f"{noun.capitalize()} in its place",
            placeholder=f"another {noun}",
            label_visibility="collapsed",
            **session.bind("swap to", "swap_to", complaint[0] if complaint else word, _short),
        )
    if complaint:
        site_texts.note(f"{complaint[1]} “{word}” is kept." if word else complaint[1], warn=True)


def _short(typed: str) -> str:
    if len(typed) > MAX_WORD:
        raise ValueError(f"What was typed has {len(typed):,} characters; expected a word of at most {MAX_WORD}.")
    return typed


def _sentence(context: PageContext) -> None:
    noun = context.analysis.task.input_noun
    with st.container(key="compare_sentence", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label("with")
        st.text_input(
            f"Second {noun}",
            placeholder=f"A second {noun}",
            label_visibility="collapsed",
            **session.bind("other text", "other_text", context.view.other_text),
        )


def _checkpoint(context: PageContext) -> None:
    view, others = context.view, pair.checkpoints(context.view)
    if not others:
        return
    chosen = view.other_checkpoint or others[0]
    with st.container(key="compare_checkpoint", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label(f"{uploads.display_name(view.checkpoint)} with")
        st.selectbox(
            "Second checkpoint",
            others if chosen in others else (*others, chosen),
            format_func=uploads.display_name,
            label_visibility="collapsed",
            **session.bind("other checkpoint", "other_checkpoint", chosen),
        )


def _nothing(context: PageContext) -> None:
    """Draws nothing: the second side follows from the view."""


def _head(context: PageContext) -> None:
    """Draws kind, layer and head, and below them layer and head of the second side."""
    view, kinds, heads = context.view, context.loaded.config.kinds, range(context.loaded.config.heads)
    layer, head = pair.other_head(view, context)
    layers = {each: str(each + 1) for each in range(context.layers)}
    other = {None: controls.MEAN, **{each + 1: str(each + 1) for each in heads}}  # counts from 1
    choose = partial(button_groups.choice, is_label_hidden=False)
    second = choose("with layer", "other_layer", layers, min(layer, context.layers - 1))
    other_head = None if head is None else min(head, len(heads))
    groups = [
        controls.kind_group(view, kinds),
        controls.layer_group(view, context.layers),
        controls.head_group(view, len(heads)),
        dataclasses.replace(second, follows=False),
        choose("head", "other_head", other, other_head),
    ]
    button_groups.draw("compare.heads", groups)


def _hypothesis(context: PageContext) -> None:
    others = pair.hypotheses(context)
    if not others:
        return
    tokenizer = context.loaded.target_tokenizer
    told = {each.ids: f"{tokenizer.decode(each.ids)}  {numbers.three_digits(each.score)}" for each in others}
    chosen = context.view.other_path or others[0].ids
    with st.container(key="compare_hypothesis", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label("with")
        if context.view.other_path and chosen not in told:
            site_texts.label("(the one that was chosen is not in this tree, or is the first)")
        st.selectbox(
            "Second hypothesis",
            list(told),
            format_func=lambda ids: told.get(ids, "another"),
            label_visibility="collapsed",
            **session.bind("other path", "other_path", chosen if chosen in told else others[0].ids),
        )


def _step(context: PageContext) -> None:
    labels = context.analysis.trace.predicted_axis.labels
    if len(labels) < 2:
        return
    steps, names = len(labels), {n: f"{n + 1} {label}" for n, label in enumerate(labels)}
    other = min(pair.other_step(context.view, steps), steps - 1)
    with st.container(key="compare_step", horizontal=True, vertical_alignment="center", gap="small"):
        controls.step_slider(context.view, labels)
        site_texts.label("with")
        st.select_slider(
            "Second step",
            options=list(names),
            format_func=lambda n: names.get(n, controls.from_one(n)),
            label_visibility="collapsed",
            **session.bind("other step", "other_step", other, text=names[other]),
        )


# What is chosen for each thing that may differ.
CHOICES: dict[str, Callable[[PageContext], None]] = {
    "word": _word,
    "sentence": _sentence,
    "checkpoint": _checkpoint,
    "edits": _nothing,
    "head": _head,
    "hypothesis": _hypothesis,
    "step": _step,
    "family": _nothing,
}


def way_out(context: PageContext) -> None:
    """Draws a button that leads to a second side, if there is none, or to the usual step of patching."""
    if context.view.compared == "patching" and context.view.patched_step is not None:
        change = {"patched_step": None}
        st.button("Measure where the translations part", key="patch step", on_click=session.change, kwargs=change)
    if context.view.differs == "edits" and not context.request.intervention:
        st.button("Make an edit", key="to what if", on_click=navigation.go_to, args=("what-if",))
    elif context.view.differs == "sentence" and not context.view.other_text.strip():
        source = context.request.source
        number, word = pair.swapped(dataclasses.replace(context.view, swap=None, swap_to=""), source)
        if word:
            text = pair.with_word(source, number, word, context.analysis.task)
            st.button(f"Try “{text}”", key="try a sentence", on_click=session.change, kwargs={"other_text": text})
    elif context.view.differs == "hypothesis" and context.view.target is None and context.analysis.task.has_decoder:
        search = {"strategy": strategy_with_control("width"), "width": BEAM}
        st.button(f"Search with a beam of {BEAM}", key="search with a beam", on_click=session.change, kwargs=search)
