"""Words on their way to tokens: all words of the sentence as chips, one of them large with its merges, step by step.

Choosing a word and walking through its merges happens in the browser; the server hears of where the visitor rests.

Inside, tokens: how does text become tokens?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.config import CONTROL_TOKENS
from model.inference.request import Request
from model.readings.tokens.merges import Word, cut, learned_merges
from viz import cache, theme
from viz.classroom import lecture
from viz.inside.embeddings_part import SIDES, counted, sentence_tokens, sides_of, tokenizer_of, total_counts
from viz.kit import mount, site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import CUTS
from viz.state.result_cache import cached_figure
from viz.state.values import MAX_TRIED
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.text.tokenizer import Tokenizer

BYTES = 256
Seen = Callable[[int], str]  # how often the training data has a token, in words


@dataclass(frozen=True)
class Line:
    """Words that stand in a line, of one table: those of the sentence's source, of its target, or of what was typed."""

    key: str  # one of CUTS
    title: str
    side: str  # whose table: source or target
    words: tuple[Word, ...]
    code: str = ""  # of their language


def payload(lines: list[Line], loaded: Checkpoint, seen: dict[str, Seen], mode: theme.Mode) -> dict[str, Any]:
    """All that the browser needs, as JSON values. Words of one key are numbered through all of its lines."""
    tables = {line.side: Table(loaded, line.side, seen[line.side]) for line in lines}
    made = [
        {
            "key": line.key,
            "title": line.title,
            "side": line.side,
            "code": line.code,
            "words": [tables[line.side].word(word) for word in line.words],
        }
        for line in lines
    ]
    name = hashlib.sha256(repr([(line.key, line.side, [word.start for word in line.words]) for line in lines]).encode())
    return {
        "id": name.hexdigest()[:16],
        "lines": made,
        "tables": {side: table.told() for side, table in tables.items()},
        "signed": list(theme.diverging(mode)),
        "large": False,  # in a lecture: one word alone
    }


class Table:
    """What is told of the tokens of one embedding table, as far as words have met them."""

    def __init__(self, loaded: Checkpoint, side: str, seen: Seen) -> None:
        model = loaded.model
        self.tokenizer: Tokenizer = loaded.source_tokenizer if side == "source" else loaded.target_tokenizer
        self.values = (model.source_embedding if side == "source" else model.target_embedding).table.weight.detach()
        self.seen, self.merges = seen, learned_merges(self.tokenizer)
        self.labels: dict[int, str] = {}
        self.ranks: dict[str, int] = {}  # of pairs of neighbours, "12,40"
        self.notes: dict[int, str] = {}  # of final tokens

    def word(self, word: Word) -> dict[str, Any]:
        """A word from its bytes to its tokens, each merge as `at`, `token`."""
        for pieces in word.steps():
            self.labels |= {token: self.tokenizer.piece(token) for token in pieces if token not in self.labels}
            for pair in pairwise(pieces):
                if pair in self.merges:
                    self.ranks[f"{pair[0]},{pair[1]}"] = self.merges[pair][0]
        self.notes |= {token: self.seen(token) for token in word.ids if token not in self.notes}
        rows = self.values[list(word.ids)].float().cpu().numpy()  # [T,D]
        return {
            "lent": word.has_added_space,
            "start": list(word.start),
            "merges": [[merge.index, merge.token] for merge in word.merges],
            "ids": list(word.ids),
            "values": mount.floats(rows),
        }

    def told(self) -> dict[str, Any]:
        """Labels by id, ranks by pair, how often each token was seen; how many merges there are, and how wide a row is."""
        return {
            "labels": self.labels,
            "ranks": self.ranks,
            "seen": self.notes,
            "merges": len(self.merges),
            "rows": self.values.shape[0],
            "width": self.values.shape[1],
        }


def longest(words: list[dict[str, Any]]) -> int:
    """The word of the most tokens, and among these of the most merges; the first of them. There is one at least."""
    sizes = [(len(word["ids"]), len(word["merges"])) for word in words]
    return sizes.index(max(sizes))


_COMPONENT = mount.Component(__file__, '<div class="tokens"></div>', picture="Tokens")


def tokens(
    data: dict[str, Any], on_at: Callable[[str, int, int], None], on_open: Callable[[str, int], None], key: str = "tokens"
) -> None:
    """Mounts the component with the payload and `at`: whose word, which (from 1), and how many of its merges are made.
    Before the next run `on_at` is called with where the visitor rests, `on_open` with the side and the id of a token whose
    neighbours are asked for."""
    whose = mount.fields(of=mount.one_of(CUTS), word=mount.from_one(999), done=mount.integer(0, 9999))
    which = mount.fields(side=mount.one_of(tuple(data["tables"])), token=mount.integer(len(CONTROL_TOKENS), 10**9))
    _COMPONENT.mount(key, data, {"at": (whose, on_at), "open": (which, on_open)})


def draw(context: PageContext, view: View, mode: theme.Mode) -> None:
    """The words of the sentence and of what is typed, and the merges of one."""
    try:
        data = picture(context.request, view.device, view.cut_text, mode)
    except ValueError as fault:
        site_texts.fault(str(fault))
        return
    for sentence in how_to_read(data):
        site_texts.note(sentence)
    _box(view)
    for sentence in other_way(context):
        site_texts.note(sentence, warn=True)
    _mounted(context, view, data)


def large(context: PageContext) -> None:
    """One word and its merges. Its keys are taken in the browser."""
    lecture.list_component_keys("→ ←, space, Home, End", "the next merge, the one before")
    lecture.list_component_keys(lecture.WALK, "the next word, the one before")
    view, context = context.view, context
    try:
        data = picture(context.request, view.device, view.cut_text, context.mode)
    except ValueError as fault:
        site_texts.fault(str(fault))
        return
    with context.places.notes:
        for sentence in other_way(context):
            site_texts.note(sentence, warn=True)
    _mounted(context, view, data | {"large": True}, context.places.notes)


def _mounted(context: PageContext, view: View, data: dict[str, Any], notes: Any = None) -> None:
    """The words and the merges of one; what is not there is told in the place for notes, or here."""
    at, faults = where(view, data)
    with notes or nullcontext():
        for sentence in faults:
            site_texts.note(sentence, warn=True)
    if at is None:
        site_texts.note("There is no word here: the text is empty.")
        return
    tokens(
        data | {"at": at},
        on_at=lambda of, word, done: session.change(cut=of, cut_word=word, cut_merges=done),
        on_open=lambda side, token: _open(context, side, token),
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
        lines.append(Line(side, names[side], side, words, site_texts.language_code(names[side])))
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


def other_way(context: PageContext) -> list[str]:
    """A sentence where the model wrote its translation with other tokens than the tokenizer would."""
    loaded, trace = context.loaded, context.analysis.trace
    if trace.outputs is None:
        return []
    ids = [token for token in trace.outputs.ids if token >= len(CONTROL_TOKENS)]
    usual = loaded.target_tokenizer.encode(written(loaded, trace).strip())
    if ids == usual:
        return []
    return [
        f"The model wrote this {context.analysis.task.output_noun} in {len(ids)} tokens of its own choice; below is "
        f"how the "
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
    number = view.cut_word if of == view.cut else None
    if number is not None and number >= len(there):
        faults.append(f"There is no word {number + 1} here: word {len(there)} is the last.")
    number = longest(there) if number is None else min(number, len(there) - 1)
    merges = len(there[number]["merges"])
    if view.cut_merges > merges and view.cut_word is not None and not faults:
        faults.append(f"There is no merge {view.cut_merges} here: this word has {merges}.")
    return [of, number + 1, min(view.cut_merges, merges)], faults


def _box(view: View) -> None:
    def typed(text: str) -> None:
        session.change(cut_text=text, cut="typed" if text.strip() else "source", cut_word=None, cut_merges=0)

    with st.container(key="cut_row", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label("Try a word")
        st.text_input(
            "Try a word",
            placeholder="any text, in any script",
            label_visibility="collapsed",
            max_chars=MAX_TRIED,
            **session.bind("cut text", "cut_text", view.cut_text, str.strip, typed),
        )


def _open(context: PageContext, side: str, token: int) -> None:
    """To the neighbours of a token in the embedding table."""
    from model.readings.tokens.neighbours import name_of

    loaded = context.loaded
    tokenizer = tokenizer_of(loaded, side)  # type: ignore[arg-type]
    if token < tokenizer.size:
        sentence = sentence_tokens(loaded, context.analysis.trace)[side]  # type: ignore[index]
        name = name_of(tokenizer, token, sentence, total_counts(loaded, side))  # type: ignore[arg-type]
        session.change(part="embeddings", near=name)
