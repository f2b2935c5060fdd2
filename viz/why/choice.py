"""The choice that the page is about: the token of the step, the one that it is compared with, and their difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from viz import readings
from viz.shared import texts as shared_texts
from viz.why import likely

if TYPE_CHECKING:
    from model.readings.direct_logits import DirectLogits
    from viz.shared.shown import Shown


@dataclass(frozen=True)
class Choice:
    """A token and its rival, at the step of the view, or in its blank; of a classifier two labels."""

    rival: int
    others: list[int]  # that may stand in the rival's place
    found: DirectLogits
    pair: tuple[str, str]  # both as they are read
    log_probs: tuple[float, float]  # of both


def choice(shown: Shown) -> Choice:
    """The choice of the view. A rival that is none is told."""
    view, page_data, trace = shown.view, shown.page_data, shown.analysis.trace
    step, token = likely.asked(view, page_data)
    row, unit = trace.log_probs[step], "label" if trace.classes else "token"
    rival, piece = likely.chosen(view, page_data), page_data.loaded.answers.piece
    if view.rival is not None and not likely.fits(view, page_data):
        is_own = view.rival == token
        what = f"the {unit} itself" if is_own else f"{view.rival}; this checkpoint has {unit}s up to {len(row) - 1}"
        shared_texts.sentence_notes((), (f"The link's rival is {what}: the likeliest other one is shown.",))
    found = readings.direct_logits(page_data.request, view.device, step, token, rival)
    both = float(row[token]), float(row[rival])
    return Choice(rival, likely.offered(view, page_data), found, (piece(token), piece(rival)), both)
