"""Which choices there are, what was chosen at one, and what that is compared with: the likeliest others, and the one that
the view asks for. A choice is a token at a step, a word in a blank, or the label of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from model.config import END, PAD, START
from model.inference.source_reading import blank_positions, filled_ids

if TYPE_CHECKING:
    from viz.page_context import PageContext
    from viz.state.view import View

RIVALS = 12  # that are offered


def fills_in(context: PageContext) -> bool:
    """Whether the model says of each place of a text what may stand there."""
    task = context.analysis.task
    return not (task.has_decoder or task.is_classifier)


def has_readings(context: PageContext) -> bool:
    """Whether the page has the readings of the source, tested: where a source is read. Those of a classifier stand on its
    first page."""
    return not context.analysis.task.is_classifier and context.analysis.trace.source is not None


def shows_readings(view: View, context: PageContext) -> bool:
    """Whether they are shown."""
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
    """What readings are tested on, of `TESTED`; where one step has a choice, that step is the whole."""
    return view.tested if len(stops(context)) > 1 else "step"


def look(view: View, context: PageContext) -> View:
    """The view at a step that has a choice: its own, or the one that is nearest."""
    known = stops(context)
    return view if view.step in known else view.at_step(min(known, key=lambda step: abs(step - view.step)))


def chosen_tokens(context: PageContext) -> tuple[int, ...]:
    """What was chosen at each place: what was written, or stands there; in a blank the likeliest; of a text its label."""
    trace = context.analysis.trace
    if places := blanks(context):
        return filled_ids(context.analysis, places, context.loaded.source_tokenizer.mask)
    return trace.predicted_axis.ids


def asked(view: View, context: PageContext) -> tuple[int, int]:
    """The row of the choice, from 0, and what was chosen there."""
    row = 0 if context.analysis.task.is_classifier else view.step
    return row, chosen_tokens(context)[row]


def offered(view: View, context: PageContext) -> list[int]:
    """The likeliest others, the first of them first; in a blank no control token, which nobody would put there."""
    row, own = asked(view, context)
    log_probs = context.analysis.trace.log_probs[row]
    never = {own}
    if fills_in(context):
        never |= {PAD, START, END, context.loaded.source_tokenizer.mask or PAD}
    order = np.argsort(-log_probs, kind="stable")[: RIVALS + len(never)].tolist()
    return [token for token in order if token not in never][:RIVALS]


def fits(view: View, context: PageContext) -> bool:
    """Whether the view names a rival that this choice has."""
    row, own = asked(view, context)
    return view.rival is not None and view.rival != own and view.rival < len(context.analysis.trace.log_probs[row])


def chosen(view: View, context: PageContext) -> int:
    """The rival of the view, or the likeliest."""
    if fits(view, context):
        assert view.rival is not None
        return view.rival
    return offered(view, context)[0]
