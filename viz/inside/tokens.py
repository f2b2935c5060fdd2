"""The words of the sentence on their way to tokens: all as chips, one of them large with its merges, step by step.

Choosing a word and walking through its merges happens in the browser. The server gets the place where the visitor rests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.config import CONTROL_TOKENS
from model.export.csv_tables import Cell, Table
from model.readings.tokens.neighbours import name_of
from model.readings.tokens.sentence_tokens import (
    Word,
    WordLine,
    axes,
    learned_merges,
    tokenizer_of,
    tokens_of_table,
    total_counts,
)
from viz import computations, theme
from viz.classroom import lecture
from viz.inside.neighbours import counted
from viz.kit import mount, site_texts
from viz.kit.panel import FileOptions, Panel, Picture, where
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import CUTS
from viz.state.values import MAX_TRIED

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.export.code import Code
    from model.readings.tokens.neighbours import Side
    from model.text.tokenizer import Tokenizer
    from viz.state.view import View

PART = {"part": "tokens"}
Lines = tuple[WordLine, ...]


def payload(lines: Lines, loaded: Checkpoint, mode: theme.Mode) -> dict[str, Any]:
    """Returns all that the browser needs, as JSON values. Words of one text are numbered through all of its lines."""
    tables: dict[Side, TableOfTokens] = {}
    made = []
    names = dict(zip(("source", "target"), loaded.languages, strict=True))
    for line in lines:
        table = tables.setdefault(line.side, TableOfTokens(loaded, line.side))
        made.append(
            {
                "key": line.text,
                "title": _title(line, loaded, names),
                "side": line.side,
                "code": "" if line.text == "typed" else site_texts.language_code(names[line.side]),
                "words": [table.word(word) for word in line.words],
            }
        )
    name = hashlib.sha256(repr([(line.text, line.side, [word.start for word in line.words]) for line in lines]).encode())
    return {
        "id": name.hexdigest()[:16],
        "lines": made,
        "tables": {side: table.describe() for side, table in tables.items()},
        "signed": list(theme.diverging(mode)),
        "large": False,  # in a lecture: one word alone
    }


def _title(line: WordLine, loaded: Checkpoint, names: dict[str, str]) -> str:
    if line.text != "typed":
        return names[line.side]
    if line.is_spaced:
        return "after a space"
    return "Yours" if loaded.config.joint_vocab else f"Yours, in {names[line.side]}"


class TableOfTokens:
    """Describes the tokens of one embedding table that occur in words."""

    def __init__(self, loaded: Checkpoint, side: Side) -> None:
        model = loaded.model
        self.tokenizer: Tokenizer = tokenizer_of(loaded, side)
        self.values = (model.source_embedding if side == "source" else model.target_embedding).table.weight.detach()
        self.seen, self.merges = partial(counted, loaded, side=side), learned_merges(self.tokenizer)
        self.labels: dict[int, str] = {}
        self.ranks: dict[str, int] = {}  # of pairs of neighbours, "12,40"
        self.notes: dict[int, str] = {}  # of final tokens

    def word(self, word: Word) -> dict[str, Any]:
        """Returns a word from its bytes to its tokens, each merge as the index of its first piece and its token."""
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

    def describe(self) -> dict[str, Any]:
        """Returns labels by id, ranks by pair, occurrences of each token, the number of merges and the size of the table."""
        return {
            "labels": self.labels,
            "ranks": self.ranks,
            "seen": self.notes,
            "merges": len(self.merges),
            "rows": self.values.shape[0],
            "width": self.values.shape[1],
        }


def longest(words: Sequence[Word]) -> int:
    """Returns the first word of the most tokens, and among these of the most merges; there is one at least."""
    sizes = [(len(word.ids), len(word.merges)) for word in words]
    return sizes.index(max(sizes))


COMPONENT = mount.Component(__file__, '<div class="tokens"></div>')


def place(view: View, lines: Lines) -> tuple[list[Any], list[str]]:
    """Returns text, word (from 1) and merges of the view, or the nearest that exist, with a sentence for each fault."""
    words: dict[str, list[Word]] = {}
    for line in lines:
        words.setdefault(line.text, []).extend(line.words)
    text = next(text for text in (view.cut, *words) if words.get(text))
    own, faults = words[text], []
    number = view.cut_word if text == view.cut else None
    if number is not None and number >= len(own):
        faults.append(f"There is no word {number + 1} here: word {len(own)} is the last.")
    number = longest(own) if number is None else min(number, len(own) - 1)
    merges = len(own[number].merges)
    if view.cut_merges > merges and view.cut_word is not None and not faults:
        faults.append(f"There is no merge {view.cut_merges} here: this word has {merges}.")
    return [text, number + 1, min(view.cut_merges, merges)], faults


def _payload(context: PageContext, lines: Lines) -> dict[str, Any]:
    return payload(lines, context.loaded, context.mode)


def _events(context: PageContext, lines: Lines) -> dict[str, mount.Event]:
    word = mount.fields(of=mount.one_of(CUTS), word=mount.from_one(999), done=mount.integer(0, 9999))
    sides = mount.one_of(tuple({line.side for line in lines}))
    token = mount.fields(side=sides, token=mount.integer(len(CONTROL_TOKENS), 10**9))
    return {
        "at": (word, lambda text, number, done: session.change(cut=text, cut_word=number, cut_merges=done)),
        "open": (token, partial(_open, context)),
    }


def _open(context: PageContext, side: Side, token: int) -> None:
    """Shows the neighbours of a token in the embedding table. For callbacks."""
    loaded = context.loaded
    tokenizer, sentence = tokenizer_of(loaded, side), tokens_of_table(loaded, context.analysis.trace, side)
    if token < tokenizer.size:
        session.change(part="embeddings", near=name_of(tokenizer, token, sentence, total_counts(loaded, side)))


def draw_word_box(context: PageContext) -> None:
    """Draws the box of a text to tokenize."""

    def typed(text: str) -> None:
        session.change(cut_text=text, cut="typed" if text.strip() else "source", cut_word=None, cut_merges=0)

    with st.container(key="cut_row", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label("Try a word")
        st.text_input(
            "Try a word",
            placeholder="any text, in any script",
            label_visibility="collapsed",
            max_chars=MAX_TRIED,
            **session.bind("cut text", "cut_text", context.view.cut_text, str.strip, typed),
        )


def _warnings(context: PageContext, lines: Lines) -> str:
    faults = (*_own_cut(context), *place(context.view, lines)[1])
    return "".join(site_texts.note_markup(each, warn=True) for each in faults)


def _text(context: PageContext, lines: Lines) -> str:
    return site_texts.answer_markup("", " ".join(_how_to_read(context))) + _warnings(context, lines)


def _how_to_read(context: PageContext) -> tuple[str, str]:
    tables = (learned_merges(tokenizer_of(context.loaded, side)) for side in axes(context.analysis.trace))
    many = " or ".join(dict.fromkeys(f"{len(table):,}" for table in tables))
    return (
        f"Every word starts as bytes. The tokenizer then joins two neighbours at a time, by a list of {many} merges learned "
        "from the training text: each was the most frequent pair of its moment. The number between two pieces is the place "
        "of their pair in that list; the lowest goes first, and a dash means that the pair is not in it.",
        "The dot · is the space before a word, which is part of the token: a word with a space in front and the same word "
        "without are two tokens. Nothing is unknown: a character without a token of its own stays in bytes, such as ⟨F0⟩.",
    )


def _own_cut(context: PageContext) -> list[str]:
    """Returns a sentence if the model wrote its target with other tokens than the tokenizer would."""
    tokenizer, trace = context.loaded.target_tokenizer, context.analysis.trace
    if trace.outputs is None:
        return []
    ids = [token for token in trace.outputs.ids if token >= len(CONTROL_TOKENS)]
    usual = tokenizer.encode(tokenizer.decode(trace.outputs.ids).strip())
    if ids == usual:
        return []
    return [
        f"The model wrote this {context.analysis.task.output_noun} in {len(ids)} tokens of its own choice; below is how the "
        f"tokenizer cuts the same text, in {len(usual)}."
    ]


def _keys(context: PageContext, lines: Lines) -> None:
    lecture.list_component_keys("→ ←, space, Home, End", "the next merge, the one before")
    lecture.list_component_keys(lecture.WALK, "the next word, the one before")


def _tables(context: PageContext, lines: Lines) -> tuple[Table, ...]:
    rows: list[tuple[Cell, ...]] = []
    for side, axis in axes(context.analysis.trace).items():
        each = enumerate(zip(axis.labels, axis.ids, axis.word_numbers, strict=True), 1)
        rows += [(side, number, label, token, word) for number, (label, token, word) in each]
    return (Table("tokens", ("side", "position", "token", "id", "word"), tuple(rows)),)


def _code(code: Code, context: PageContext, lines: Lines) -> None:
    code.add("ids = [token for axis in axes(analysis.trace).values() for token in axis.ids]")
    code.uses(model__readings__tokens__sentence_tokens=("axes",))


TOKENS = Panel(
    "inside.tokens",
    "Tokens",
    COMPONENT,
    _payload,
    _events,
    call=lambda context: computations.SENTENCE_WORDS(context.view.cut_text),
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=where(**PART),
    pictures=(Picture("Tokens", ".main", lambda context, lines: {"large": True}, fields=PART, text=_warnings),),
    keys=_keys,
    file=FileOptions(),
    reads=("cut_text",),
    follow=lambda context, lines: {"at": place(context.view, lines)[0]},
)
