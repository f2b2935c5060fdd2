"""The tokens of a sentence in the embedding tables: its words with their merges, and the neighbours of one token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...checkpoint import Checkpoint
from ...inference.analysis import Analysis
from ...text.tokenizer import Tokenizer
from ...trace import Axis, Trace
from .merges import Word, cut
from .neighbours import SIDES, Neighbour, Side, nearest, pieces_of


def tokenizer_of(checkpoint: Checkpoint, side: Side) -> Tokenizer:
    """Returns the tokenizer of a side."""
    return checkpoint.source_tokenizer if side == "source" else checkpoint.target_tokenizer


def axes(trace: Trace) -> dict[Side, Axis]:
    """Returns the tokens of each side that a trace has: of the source, and of the written target."""
    both: dict[Side, Axis | None] = {"source": trace.source, "target": trace.outputs}
    return {side: axis for side, axis in both.items() if axis is not None}


def tokens_of_table(checkpoint: Checkpoint, trace: Trace, side: Side) -> tuple[int, ...]:
    """Returns the tokens of the sentence in the table of a side: those of both sides in a joint vocabulary."""
    ids = {each: axis.ids for each, axis in axes(trace).items()}
    return sum(ids.values(), ()) if checkpoint.config.joint_vocab else ids.get(side, ())


def total_counts(checkpoint: Checkpoint, side: Side) -> Sequence[int] | None:
    """Returns the training occurrences of each token of a side's vocabulary, on both sides if the table is shared."""
    if not checkpoint.token_counts:
        return None
    sides = SIDES if checkpoint.config.has_shared_embedding else (side,)
    return [sum(each) for each in zip(*(checkpoint.token_counts[each] for each in sides), strict=True)]


@dataclass(frozen=True)
class WordLine:
    """Words of one text in one table: of the source, of the target, or of a typed text."""

    text: Literal["source", "target", "typed"]
    side: Side  # of the table
    words: tuple[Word, ...]
    is_spaced: bool = False  # True for a typed text after a space


def sentence_words(checkpoint: Checkpoint, analysis: Analysis, typed: str = "") -> tuple[WordLine, ...]:
    """Returns the words of both texts, and of a typed text in each vocabulary, alone and after a space.

    Raises:
        ValueError: A tokenizer is no byte-level BPE, or there is no word.
    """
    lines = []
    for side, axis in axes(analysis.trace).items():
        tokenizer = tokenizer_of(checkpoint, side)
        lines.append(WordLine(side, side, cut(tokenizer, tokenizer.decode(axis.ids).strip()).words))
    typed = typed.strip()
    for line in lines[: 1 if checkpoint.config.joint_vocab else 2] if typed else ():
        for is_spaced in (False, True):
            words = cut(tokenizer_of(checkpoint, line.side), f" {typed}" if is_spaced else typed).words
            lines.append(WordLine("typed", line.side, words, is_spaced))
    if not any(line.words for line in lines):
        raise ValueError("There is no word here: the text is empty.")
    return tuple(lines)


@dataclass(frozen=True)
class FoundToken:
    """A token of a side's table with its neighbours in each language, and the pieces of the word that it begins."""

    side: Side
    token: int
    pieces: tuple[int, ...]
    neighbours: dict[Side | Literal["unknown"], tuple[Neighbour, ...]]


def look_up(checkpoint: Checkpoint, analysis: Analysis, word: str, step: int) -> tuple[FoundToken, ...]:
    """Returns the first token of a word in each table, or without a word the predicted token of a step (from 0).

    Raises:
        ValueError: The word is not valid Unicode.
    """
    trace, sides = analysis.trace, tuple(axes(analysis.trace))
    pieces: dict[Side, tuple[int, ...]] = {}
    for side in sides if word and not checkpoint.config.joint_vocab else sides[-1:]:
        sentence = tokens_of_table(checkpoint, trace, side)
        counts, tokenizer = total_counts(checkpoint, side), tokenizer_of(checkpoint, side)
        pieces[side] = pieces_of(tokenizer, word, sentence, counts) if word else (trace.step_axis.ids[step],)
    return tuple(FoundToken(side, own[0], own, nearest(checkpoint, own[0], side)) for side, own in pieces.items())
