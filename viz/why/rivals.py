"""The token that a choice is compared with: one of the likeliest, or any that is typed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import streamlit as st

from model import format
from viz import state
from viz.values import MAX_WORD
from viz.why import likely

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from model.text.tokenizer import Tokenizer
    from viz.shared.shown import Shown


def choose(shown: Shown, others: Sequence[int], rival: int) -> None:
    """The box with the likeliest tokens and the one that is chosen, which takes any other word that is one token; of a
    classifier with its labels."""
    trace, loaded = shown.analysis.trace, shown.page_data.loaded
    step, own = likely.asked(shown.view, shown.page_data)
    row, piece = trace.log_probs[step], loaded.answers.piece
    before = likely.chosen_tokens(shown.page_data)[:step]
    read = int if trace.classes else reading(loaded.target_tokenizer, before, own)

    def told(token: int) -> str:
        return f"{piece(token)}  {format.probability(math.exp(row[token]))}"

    st.selectbox(
        "Rival",
        others if rival in others else [*others, rival],
        format_func=told,
        accept_new_options=not trace.classes,
        label_visibility="collapsed",
        **state.bind("rival", "rival", rival, read, text=told(rival)),
    )


def reading(tokenizer: Tokenizer, before: tuple[int, ...], own: int) -> Callable[[Any], int]:
    """Makes a token of what the box holds: itself, or the only one of a word that is typed, as it would follow `before`.
    ValueError, with a sentence, for what is no other token than `own`."""
    from model.inference.targets import word_at

    def read(held: Any) -> int:
        if not isinstance(held, str):
            return held
        if len(held) > MAX_WORD:
            raise ValueError(f"What was typed has {len(held):,} characters; expected a word of at most {MAX_WORD}.")
        pieces = word_at(tokenizer, before, held)[len(before) :]
        if len(pieces) != 1:
            cut = " ".join(tokenizer.pieces(pieces))
            raise ValueError(
                f"“{held.strip()}” is {len(pieces)} tokens, {cut}; a choice is between single tokens, so type another word."
            )
        if pieces[0] == own:
            raise ValueError(f"“{held.strip()}” is the token that was chosen: type another word.")
        return pieces[0]

    return read
