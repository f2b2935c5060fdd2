"""Which choices there are, what was chosen at one, and what that is compared with: the likeliest others, and the one that
the view asks for. A choice is a token at a step, a word in a blank, or the label of a text."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.config import END, PAD, START
from model.decoding.sampling import top_ids
from model.inference.source_reading import blank_positions, filled_ids
from model.io import numbers
from viz import computations
from viz.kit import site_texts
from viz.state import session
from viz.state.page_fields import WHY
from viz.state.result_cache import kept_with
from viz.state.values import MAX_WORD
from viz.state.view import without_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from model.readings.logits.direct_logits import DirectLogits
    from model.text.tokenizer import Tokenizer
    from model.trace import Trace
    from viz.page_context import PageContext
    from viz.state.view import View

RIVALS = 12  # that are offered


def baseline_context(context: PageContext) -> PageContext:
    """Returns the context of the request without edits."""
    if context.analysis.baseline is None:
        return context
    request, recall = without_edits(context.request), context.recall
    return dataclasses.replace(context, request=request, recall=lambda: recall().baseline)


def fills_in(context: PageContext) -> bool:
    """Returns True if the model predicts the token of each place of a text."""
    task = context.analysis.task
    return not (task.has_decoder or task.is_classifier)


def has_readings(context: PageContext) -> bool:
    """Returns True if the page has the tested readings of the source. Those of a classifier are on its first page."""
    return not context.analysis.task.is_classifier and context.analysis.trace.source is not None


def shows_readings(view: View, context: PageContext) -> bool:
    """Returns True if the page shows these readings."""
    return view.why == "readings" and has_readings(context)


def blanks(context: PageContext) -> list[int]:
    """The places of the blanks, from 0; none of a model that fills in none."""
    return blank_positions(context.analysis, context.loaded) if fills_in(context) else []


def only(context: PageContext) -> list[int]:
    """The steps of the view that have a choice, where not every one has: the blanks of a text; without any all but
    its control tokens."""
    if not fills_in(context):
        return []
    ids = context.analysis.trace.predicted_axis.ids
    places = blanks(context) or [place for place, token in enumerate(ids) if token not in (PAD, START, END)]
    return places


def stops(context: PageContext) -> list[int]:
    """All steps of the view that have a choice."""
    return only(context) or list(range(len(context.analysis.trace.step_axis)))


def tested(view: View, context: PageContext) -> str:
    """Returns what readings are tested on, of `TESTED`; where one step has a choice, that step is the whole."""
    return view.tested if len(stops(context)) > 1 else "step"


def parts(context: PageContext) -> list[str]:
    """Returns the parts of the page that the model has."""
    missing = {
        "readings": not has_readings(context),
        "patching": not {"encoder", "cross"} <= set(context.analysis.trace.kinds),
    }
    return [name for name in WHY if not missing.get(name)]


def look(view: View, context: PageContext) -> View:
    """Returns the view with a part that the model has, at the nearest step that has a choice."""
    if view.why not in parts(context):
        view = dataclasses.replace(view, why="route")
    known = stops(context if view.why != "route" else baseline_context(context))
    return view if view.step in known else view.at_step(min(known, key=lambda step: abs(step - view.step)))


def chosen_tokens(context: PageContext) -> tuple[int, ...]:
    """Returns the chosen token of each place: the written or given one; in a blank the likeliest; of a text its label."""
    trace = context.analysis.trace
    if places := blanks(context):
        return filled_ids(context.analysis, places, context.loaded.source_tokenizer.mask)
    return trace.predicted_axis.ids


def row_and_token(view: View, context: PageContext) -> tuple[int, int]:
    """The row of the choice, from 0, and what was chosen there."""
    row = 0 if context.analysis.task.is_classifier else view.step
    return row, chosen_tokens(context)[row]


def offered(view: View, context: PageContext) -> list[int]:
    """The likeliest others, the first of them first; in a blank no control token, which nobody would put there."""
    row, own = row_and_token(view, context)
    never = {own}
    if fills_in(context):
        never |= {PAD, START, END, context.loaded.source_tokenizer.mask or PAD}
    return list(_likeliest(context.analysis.trace, row, frozenset(never)))


@kept_with
def _likeliest(trace: Trace, row: int, never: frozenset[int]) -> tuple[int, ...]:
    """Returns the likeliest tokens of a row, from 0, without some."""
    order = top_ids(trace.log_probs[row], RIVALS + len(never)).tolist()
    return tuple(token for token in order if token not in never)[:RIVALS]


def fits(view: View, context: PageContext) -> bool:
    """Returns True if the view names a rival that this choice has."""
    row, own = row_and_token(view, context)
    return view.rival is not None and view.rival != own and view.rival < len(context.analysis.trace.log_probs[row])


def chosen(view: View, context: PageContext) -> int:
    """The rival of the view, or the likeliest."""
    if fits(view, context):
        assert view.rival is not None
        return view.rival
    return offered(view, context)[0]


def choose(context: PageContext, others: Sequence[int], rival: int) -> None:
    """The box with the likeliest tokens and the one that is chosen, which takes any other word that is one token; of a
    classifier with its labels."""
    trace, loaded = context.analysis.trace, context.loaded
    step, own = row_and_token(context.view, context)
    row, piece = trace.log_probs[step], loaded.output_vocabulary.piece
    before = chosen_tokens(context)[:step]
    read = int if trace.classes else reading(loaded.target_tokenizer, before, own)

    def option_text(token: int) -> str:
        value = math.exp(row[token])  # a list shows no value on hover, so a small one is exact
        return f"{piece(token)}  {(numbers.probability if value >= 0.01 else numbers.exact_probability)(value)}"

    st.selectbox(
        "Rival",
        others if rival in others else [*others, rival],
        format_func=option_text,
        accept_new_options=not trace.classes,
        label_visibility="collapsed",
        **session.bind("rival", "rival", rival, read, text=option_text(rival)),
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
    step, token = row_and_token(view, context)
    unit = "label" if trace.classes else "token"
    if view.rival is not None and not fits(view, context):
        count = len(trace.log_probs[step])
        what = (
            f"the {unit} itself" if view.rival == token else f"{view.rival}; this checkpoint has {unit}s up to {count - 1}"
        )
        site_texts.sentence_notes((), (f"The link's rival is {what}: the likeliest other one is shown.",))
    call = computations.DIRECT_LOGITS(step, token, chosen(view, context))
    return of(context, computations.run(call, context))


def of(context: PageContext, found: DirectLogits) -> Choice:
    """Returns the choice that an attribution splits."""
    row, piece = context.analysis.trace.log_probs[found.step], context.loaded.output_vocabulary.piece
    pair, log_probs = (found.token, found.rival), (float(row[found.token]), float(row[found.rival]))
    others = offered(context.view, context)
    return Choice(found.rival, others, found, (piece(pair[0]), piece(pair[1])), log_probs)
