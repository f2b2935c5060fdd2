"""The token that a choice is compared with: one of the likeliest, or any that is typed.

The choice that the page is about: the token of the step, the one that it is compared with, and their difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.io import numbers
from viz import computations
from viz.kit import site_texts
from viz.state import session
from viz.state.values import MAX_WORD
from viz.why import chosen_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from model.readings.logits.direct_logits import DirectLogits
    from model.text.tokenizer import Tokenizer
    from viz.page_context import PageContext


def choose(context: PageContext, others: Sequence[int], rival: int) -> None:
    """The box with the likeliest tokens and the one that is chosen, which takes any other word that is one token; of a
    classifier with its labels."""
    trace, loaded = context.analysis.trace, context.loaded
    step, own = chosen_tokens.asked(context.view, context)
    row, piece = trace.log_probs[step], loaded.output_vocabulary.piece
    before = chosen_tokens.chosen_tokens(context)[:step]
    read = int if trace.classes else reading(loaded.target_tokenizer, before, own)

    def told(token: int) -> str:
        return f"{piece(token)}  {numbers.probability(math.exp(row[token]))}"

    st.selectbox(
        "Rival",
        others if rival in others else [*others, rival],
        format_func=told,
        accept_new_options=not trace.classes,
        label_visibility="collapsed",
        **session.bind("rival", "rival", rival, read, text=told(rival)),
    )


def reading(tokenizer: Tokenizer, before: tuple[int, ...], own: int) -> Callable[[Any], int]:
    """Makes a token of what the box holds: itself, or the only one of a word that is typed, as it would follow `before`.
    ValueError, with a sentence, for what is no other token than `own`."""
    from model.inference.targets import append_word

    def read(held: Any) -> int:
        if not isinstance(held, str):
            return held
        if len(held) > MAX_WORD:
            raise ValueError(f"What was typed has {len(held):,} characters; expected a word of at most {MAX_WORD}.")
        pieces = append_word(tokenizer, before, held)[len(before) :]
        if len(pieces) != 1:
            cut = " ".join(tokenizer.pieces(pieces))
            raise ValueError(
                f"“{held.strip()}” is {len(pieces)} tokens, {cut}; a choice is between single tokens, so type another word."
            )
        if pieces[0] == own:
            raise ValueError(f"“{held.strip()}” is the token that was chosen: type another word.")
        return pieces[0]

    return read


@dataclass(frozen=True)
class Choice:
    """A token and its rival, at the step of the view, or in its blank; of a classifier two labels."""

    rival: int
    others: list[int]  # that may stand in the rival's place
    found: DirectLogits
    pair: tuple[str, str]  # both as they are read
    log_probs: tuple[float, float]  # of both


def choice(context: PageContext) -> Choice:
    """Returns the choice of the view. A note names a rival that this choice does not have."""
    view, trace = context.view, context.analysis.trace
    step, token = chosen_tokens.asked(view, context)
    unit = "label" if trace.classes else "token"
    if view.rival is not None and not chosen_tokens.fits(view, context):
        count = len(trace.log_probs[step])
        what = (
            f"the {unit} itself" if view.rival == token else f"{view.rival}; this checkpoint has {unit}s up to {count - 1}"
        )
        site_texts.sentence_notes((), (f"The link's rival is {what}: the likeliest other one is shown.",))
    call = computations.DIRECT_LOGITS(step, token, chosen_tokens.chosen(view, context))
    return of(context, computations.run(call, context))


def of(context: PageContext, found: DirectLogits) -> Choice:
    """Returns the choice that an attribution splits."""
    row, piece = context.analysis.trace.log_probs[found.step], context.loaded.output_vocabulary.piece
    pair, log_probs = (found.token, found.rival), (float(row[found.token]), float(row[found.rival]))
    others = chosen_tokens.offered(context.view, context)
    return Choice(found.rival, others, found, (piece(pair[0]), piece(pair[1])), log_probs)
