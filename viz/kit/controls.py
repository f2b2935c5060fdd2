"""Widgets and texts of several pages: sentence box, examples, choices of layer, head and step, and the copied link."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache as cache_once
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import streamlit as st

from model.config import MAX_TOKENS, ModelConfig
from model.inference.request import MAX_SENTENCES
from model.text.languages import ENGLISH, LANGUAGES, Language, record_of
from model.workshop.small.small_tasks import examples as small_examples
from viz import cache, page_context, theme
from viz.examples import Example, examples, judged_examples, language_of, lesson, prompts, token_of
from viz.kit import button_groups, site_texts
from viz.kit.button_groups import Button, ButtonGroup, choice
from viz.state import session
from viz.state.view import FIRST_PROMPT, FIRST_SENTENCE, View

if TYPE_CHECKING:
    from model.task import Task
    from viz.page_context import PageContext


VISIBLE_EXAMPLES = 3
MEAN = "mean"
PICTURES = {"attention": "Attention", "mask": "Masks", "decoding": "Beam search", "cache": "Key-value cache"}
OF_DECODING, OF_ONE_HEAD = ("decoding", "cache"), ("mask", "cache")  # names of pictures
BLANK_FIRST = next(iter(ENGLISH.with_blanks.values()))[0]  # the opening text of a masked model


def opening_text(view: View) -> str:
    """Returns the text of a view, or the opening text of its checkpoint if the view has any opening text."""
    if view.source not in _openings():
        return view.source
    if small := cache.small_task(view.checkpoint):
        return small_examples(small)[0][0]
    task, reads = cache.task(view.checkpoint, view.device), record_of(cache.declared_languages(view.checkpoint)[0])
    if task.has_decoder and not task.has_encoder:
        return reads.first_prompt or FIRST_PROMPT
    if task.is_classifier and reads.classifier_texts:
        return judged_examples(reads.name)[0].sentence
    if reads.with_blanks and cache.reads_two(view.checkpoint, view.device):
        return next(iter(reads.with_blanks.values()))[0]
    return reads.first_sentence or FIRST_SENTENCE


@cache_once
def _openings() -> set[str]:
    """Returns the opening texts of all languages."""
    texts = set()
    for each in LANGUAGES.values():
        texts |= {each.first_sentence, each.first_prompt, *(text for text, _ in list(each.with_blanks.values())[:1])}
        texts |= {example.sentence for example in judged_examples(each.name)[:1]}
    return texts - {""}


def example_line(view: View) -> None:
    """Draws the examples of a checkpoint in one line."""
    languages, task = cache.declared_languages(view.checkpoint), cache.task(view.checkpoint, view.device)
    goes_on = task.has_decoder and not task.has_encoder
    reads = record_of(languages[0])
    if task.is_classifier:
        ready = judged_examples(reads.name)
    else:
        ready = prompts(reads.name) if goes_on else examples(reads.name, languages[1])
    if small := cache.small_task(view.checkpoint):
        buttons = {
            f"example {text}": Button(text, partial(session.change, source=text)) for text, _ in small_examples(small)
        }
        groups = [ButtonGroup("Try", buttons, "links")]
    elif reads.with_blanks and cache.reads_two(view.checkpoint, view.device):
        groups = _blank_groups(reads)
    elif ready:
        groups = _example_groups(tuple(ready), task.is_classifier or goes_on or languages[1] in (None, *reads.examples))
    else:
        has_examples = " and ".join(name for name in LANGUAGES if examples(name))
        groups = [ButtonGroup("Try", {}, note=f"Examples exist only in {has_examples}.")]
    button_groups.draw("examples", groups)


def _blank_groups(reads: Language) -> list[ButtonGroup]:
    """Returns the examples of a masked model."""
    changes = {name: {"source": source, "second": second} for name, (source, second) in reads.with_blanks.items()}
    return [
        ButtonGroup(
            "Try",
            {
                f"example {name}": Button(name, partial(session.change, **change), change["source"])
                for name, change in changes.items()
            },
            "links",
        )
    ]


@lru_cache(32)
def _example_groups(ready: tuple[Example, ...], with_lessons: bool) -> list[ButtonGroup]:
    """Returns the first examples, and a menu of the others. `with_lessons` adds the lesson of each."""

    def buttons(examples: Sequence[Example], are_named: bool) -> dict[str, Button]:
        return {
            f"example {each.sentence}": Button(
                each.name if are_named else each.sentence,
                partial(session.change, source=each.sentence, second=""),
                each.lesson if with_lessons else "",
            )
            for each in examples
        }

    return [
        ButtonGroup("Try", buttons(ready[:VISIBLE_EXAMPLES], True), "links"),
        ButtonGroup(f"{len(ready) - VISIBLE_EXAMPLES} more", buttons(ready[VISIBLE_EXAMPLES:], False), "menu", follows=True),
    ]


def finding(context: PageContext) -> tuple[str | float, ...]:
    """Returns what the page shows on this sentence, in parts: the lesson of an example, else the least sure token.

    A probability is a part, which the script formats.

    A lesson holds for the shipped model without edits. A guess and a task hide both.
    """
    view, analysis = context.view, context.analysis
    known, reads = lesson(view.source), cache.declared_languages(view.checkpoint)[0]
    if known and reads not in (None, written := language_of(view.source)):
        return (f"This sentence is {written}. The checkpoint was trained on {reads}.",)
    if view.guess or view.exercise or not analysis.task.has_decoder:
        return ()
    changed = view.intervention or view.branches or view.path or view.target is not None or view.is_random
    if known and view.checkpoint == View.checkpoint and not changed:
        begins_with_token = known.startswith(f"{token_of(view.source)} ")  # Elle is another token than elle
        return (f"{known if begins_with_token else known[:1].upper() + known[1:]}.",)
    step = page_context.least_sure_step(analysis)
    label, probability = analysis.trace.outputs.labels[step], analysis.trace.probabilities[step]
    return (f"Least sure: “{label}”, ", round(float(probability), 7), ".")


def plain_box(view: View) -> None:
    """Draws the sentence box and its button."""
    with st.container(key="input_row", horizontal=True, gap=None):
        usual, task = cache.usual_length(view.checkpoint, view.device), cache.task(view.checkpoint, view.device)
        hint = f"A {task.input_noun} of up to {MAX_TOKENS} tokens" + (f" (trained mostly on up to {usual})" if usual else "")
        st.text_input(
            task.input_label, placeholder=hint, label_visibility="collapsed", **session.bind("source", "source", view.source)
        )
        st.button(task.action_label, key="translate", on_click=session.mark_user_event)  # the box sends its text itself
    if cache.reads_two(view.checkpoint, view.device) and (view.second or not view.lecture):
        with st.container(key="second_row"):
            st.text_input(
                "Second sentence",
                placeholder="Optional second sentence: does it follow?",
                label_visibility="collapsed",
                **session.bind("second", "second", view.second),
            )
    elif view.second.strip() and not view.lecture:  # kept for a checkpoint that reads two sentences
        change = {"second": ""}
        st.button("Remove the second sentence", key="without second", on_click=session.change, kwargs=change)


def title_row(view: View, question: str) -> None:
    """Draws the head of a page: its question and the sentence."""
    with st.container(key="title_row", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.heading(question)
        has_second = cache.reads_two(view.checkpoint, view.device) or view.second.strip()
        with st.container() if has_second else nullcontext():
            plain_box(view)
    if len(view.sentences) > 1:
        _sentence_pick(view)


def _sentence_pick(view: View) -> None:
    """Draws the choice of one sentence of the text."""
    with st.container(key="sentence_pick", horizontal=True, vertical_alignment="center", gap="small"):
        count, chosen = len(view.sentences), min(view.sentence, len(view.sentences) - 1)
        site_texts.label("sentence")
        st.segmented_control(
            "Sentence",
            range(count),
            required=True,
            format_func=from_one,
            label_visibility="collapsed",
            **session.bind("sentence pick", "sentence", chosen),
        )
        site_texts.label(view.sentences[chosen])


def plain_label(text: str) -> str:
    """Escapes a text for a button's label, which is Markdown."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()<>#+-.!|$~:&" else c for c in text)


def target_note(view: View) -> None:
    """Says that the target is given, and offers to return to the model's own."""
    if view.target is not None:
        with st.container(key="given", horizontal=True, vertical_alignment="center"):
            site_texts.label("The target is given.")
            st.button(
                cache.task(view.checkpoint, view.device).run_label,
                type="tertiary",
                on_click=session.change,
                kwargs={"target": None, "strategy": View.strategy},
            )


def picture_groups(view: View, layers: int, config: ModelConfig, task: Task) -> list[ButtonGroup]:
    """Returns the choice of picture, and of layer and head for a picture without thumbnails of the heads."""
    pictures = {name: title for name, title in PICTURES.items() if task.has_decoder or name not in OF_DECODING}
    groups = [choice("Show", "show", pictures, view.show)]
    return [*groups, layer_group(view, layers), head_group(view, config.heads)] if view.show in OF_ONE_HEAD else groups


def from_one(number: int) -> str:
    """Returns the label of an option that Python counts from 0."""
    return str(number + 1)


def kind_group(view: View, kinds: Sequence[str]) -> ButtonGroup:
    """Returns the choice of the kind of attention, or the name of the only one."""
    if len(kinds) == 1:
        return ButtonGroup("Attention", {}, is_label_hidden=True, note=theme.SITE_NAMES[kinds[0]])
    return choice("Attention", "kind", {each: theme.SITE_NAMES[each] for each in kinds}, view.kind)


def layer_group(view: View, layers: int) -> ButtonGroup:
    """Returns the choice of the layer."""
    return choice("layer", "layer", {n: str(n + 1) for n in range(layers)}, view.layer, is_label_hidden=False)


def head_group(view: View, heads: int, has_mean: bool = True) -> ButtonGroup:
    """Returns the choice of the head, or of the mean over heads. Without it the first head stands for the mean."""
    options = {**({None: MEAN} if has_mean else {}), **{n: str(n + 1) for n in range(heads)}}
    return choice("head", "head", options, view.head if has_mean else view.head or 0, is_label_hidden=False)


def mode_choice(view: View) -> ButtonGroup:
    """Returns the choice of the mode: given target or decode again."""
    return choice("Mode", "mode", {"given": "Given target", "again": "Decode again"}, view.mode)


def recovery_buttons(view: View) -> None:
    """Draws buttons that recover from faults: read a text of too many sentences as one, or remove branches."""
    if view.split and len(view.sentences) > MAX_SENTENCES and _fits_as_one(view):
        st.button("Read the text as one sentence", on_click=session.change, kwargs={"split": False})
    if view.branches:
        back = {"branches": (), "path": ()}
        st.button("Remove the branches", key="without branches", on_click=session.change, kwargs=back)


def _fits_as_one(view: View) -> bool:
    """True if a model that reads sentence by sentence can read the text as one."""
    if not cache.task(view.checkpoint, view.device).can_split:
        return False
    from model.inference.source_reading import source_ids  # imports torch

    return len(source_ids(cache.checkpoint(view.checkpoint, view.device), view.source)) <= MAX_TOKENS


def step_slider(view: View, labels: Sequence[str], stops: Sequence[int] = ()) -> None:
    """Draws a slider over all labelled steps, or over `stops`, which include the view's step."""
    names = {n: f"{n + 1} {labels[n]}" for n in stops or range(len(labels))}
    step = view.within(len(labels)).step
    if len(names) > 1:
        st.select_slider(
            "Step",
            options=list(names),
            format_func=lambda n: names.get(n, from_one(n)),
            label_visibility="collapsed",
            **session.bind("what if step", "step", step, text=names[step]),
        )


def chart_config(name: str) -> dict[str, object]:
    """Returns the settings of a chart. The panel *Save* shows its name and alone saves it."""
    return {"displaylogo": False, "modeBarButtonsToRemove": ["toImage"], "toImageButtonOptions": {"filename": name}}
