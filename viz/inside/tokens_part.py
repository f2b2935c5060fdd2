"""Inside, tokens: how does text become tokens?"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

import streamlit as st

from model.config import CONTROL_TOKENS
from model.inference.request import Request
from model.readings.merges import cut
from viz import cache, state, theme
from viz.inside.embeddings_part import SIDES, counted, sentence_tokens, sides_of, tokenizer_of, total_counts
from viz.inside.tokens import Line, longest, payload, tokens
from viz.keep import cached_figure
from viz.shared import texts
from viz.shared.lecture import lecture, letters
from viz.shared.shown import Shown
from viz.values import MAX_TRIED
from viz.view import View


def draw(page_data: cache.PageData, view: View, mode: theme.Mode) -> None:
    """The words of the sentence and of what is typed, and the merges of one."""
    try:
        data = picture(page_data.request, view.device, view.cut_text, mode)
    except ValueError as fault:
        texts.fault(str(fault))
        return
    for sentence in how_to_read(data):
        texts.note(sentence)
    _box(view)
    for sentence in other_way(page_data):
        texts.note(sentence, warn=True)
    _mounted(page_data, view, data)


def large(shown: Shown) -> None:
    """One word and its merges. Its keys are taken in the browser."""
    lecture.tells("→ ←, space, Home, End", "the next merge, the one before")
    lecture.tells(letters.WALK, "the next word, the one before")
    view, page_data = shown.view, shown.page_data
    try:
        data = picture(page_data.request, view.device, view.cut_text, shown.mode)
    except ValueError as fault:
        texts.fault(str(fault))
        return
    with shown.places.notes:
        for sentence in other_way(page_data):
            texts.note(sentence, warn=True)
    _mounted(page_data, view, data | {"large": True}, shown.places.notes)


def _mounted(page_data: cache.PageData, view: View, data: dict[str, Any], notes: Any = None) -> None:
    """The words and the merges of one; what is not there is told in the place for notes, or here."""
    at, faults = where(view, data)
    with notes or nullcontext():
        for sentence in faults:
            texts.note(sentence, warn=True)
    if at is None:
        texts.note("There is no word here: the text is empty.")
        return
    tokens(
        data | {"at": at},
        on_at=lambda of, word, done: state.change(cut=of, cut_word=word, cut_merges=done),
        on_open=lambda side, token: _open(page_data, side, token),
    )


@cached_figure
def picture(request: Request, device: str, typed: str, mode: theme.Mode) -> dict[str, Any]:
    """What the browser needs; ValueError where a tokenizer has no merges."""
    loaded, trace = cache.checkpoint(request.checkpoint, device), cache.analyse(request, device).trace
    sentence = {side: tokenizer_of(loaded, side).decode(ids) for side, ids in sides_of(trace).items()}
    names = dict(zip(SIDES, loaded.languages, strict=True))
    lines = []
    for side, text in sentence.items():
        words = cut(tokenizer_of(loaded, side), text.strip()).words
        lines.append(Line(side, names[side], side, words, texts.language_code(names[side])))
    joint = loaded.config.joint_vocab
    for side in tuple(sentence)[: 1 if joint else 2] if typed.strip() else ():
        of = "Yours" if joint else f"Yours, in {names[side]}"
        for title, text in ((of, typed.strip()), ("after a space", f" {typed.strip()}")):
            lines.append(Line("typed", title, side, cut(tokenizer_of(loaded, side), text).words))
    return payload(lines, loaded, {side: partial(counted, loaded, side=side) for side in sentence}, mode)


def written(loaded: Any, trace: Any) -> str:
    """The text of the target that is shown."""
    return loaded.target_tokenizer.decode(trace.outputs.ids)


def how_to_read(data: dict[str, Any]) -> list[str]:
    """What is seen and how to read it."""
    many = " or ".join(dict.fromkeys(f"{table['merges']:,}" for table in data["tables"].values()))
    return [
        f"Every word starts as bytes. The tokenizer then joins two neighbours at a time, by a list of {many} merges learned "
        "from the training text: each was the most frequent pair of its moment. The number between two pieces is the place "
        "of their pair in that list; the lowest goes first, and a dash means that the pair is not in it.",
        "The dot · is the space before a word, which is part of the token: a word with a space in front and the same word "
        "without are two tokens. Nothing is unknown: a character without a token of its own stays in bytes, such as ⟨F0⟩.",
    ]


def other_way(page_data: cache.PageData) -> list[str]:
    """A sentence where the model wrote its translation with other tokens than the tokenizer would."""
    loaded, trace = page_data.loaded, page_data.analysis.trace
    if trace.outputs is None:
        return []
    ids = [token for token in trace.outputs.ids if token >= len(CONTROL_TOKENS)]
    usual = loaded.target_tokenizer.encode(written(loaded, trace).strip())
    if ids == usual:
        return []
    return [
        f"The model wrote this {page_data.analysis.task.made} in {len(ids)} tokens of its own choice; below is how the "
        f"tokenizer cuts the same text, in {len(usual)}."
    ]


def where(view: View, data: dict[str, Any]) -> tuple[list[Any] | None, list[str]]:
    """Whose word, which and after how many merges, as near to what the view asks for as there is; and a sentence each for
    what there is not. None where there are no words at all."""
    words: dict[str, list[dict[str, Any]]] = {}
    for line in data["lines"]:
        words.setdefault(line["key"], []).extend(line["words"])
    of = next((key for key in (view.cut, *words) if words.get(key)), None)
    if of is None:
        return None, []
    there, faults = words[of], []
    number = view.cut_word if of == view.cut else 0
    if number > len(there):
        faults.append(f"There is no word {number} here: word {len(there)} is the last.")
    number = min(number, len(there)) or longest(there)
    merges = len(there[number - 1]["merges"])
    if view.cut_merges > merges and view.cut_word and not faults:
        faults.append(f"There is no merge {view.cut_merges} here: this word has {merges}.")
    return [of, number, min(view.cut_merges, merges)], faults


def _box(view: View) -> None:
    def typed(text: str) -> None:
        state.change(cut_text=text, cut="typed" if text.strip() else "source", cut_word=0, cut_merges=0)

    with st.container(key="cut_row", horizontal=True, vertical_alignment="center", gap="small"):
        texts.label("Try a word")
        st.text_input(
            "Try a word",
            placeholder="any text, in any script",
            label_visibility="collapsed",
            max_chars=MAX_TRIED,
            **state.bind("cut text", "cut_text", view.cut_text, str.strip, typed),
        )


def _open(page_data: cache.PageData, side: str, token: int) -> None:
    """To the neighbours of a token in the embedding table."""
    from model.readings.neighbours import name_of

    loaded = page_data.loaded
    tokenizer = tokenizer_of(loaded, side)  # type: ignore[arg-type]
    if token < tokenizer.size:
        sentence = sentence_tokens(loaded, page_data.analysis.trace)[side]  # type: ignore[index]
        name = name_of(tokenizer, token, sentence, total_counts(loaded, side))  # type: ignore[arg-type]
        state.change(part="embeddings", near=name)
