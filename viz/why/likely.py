"""What the token of a step, or the label of a text, is compared with: the likeliest others, and the one that the view asks
for."""

from __future__ import annotations

import numpy as np

from model.trace import Trace
from viz.view import View

RIVALS = 12  # that are offered


def is_made(trace: Trace) -> bool:
    """Whether the model chooses anything over another: a token that it writes, or a label."""
    return bool(trace.classes) or trace.outputs is not None


def asked(view: View, trace: Trace) -> tuple[int, int]:
    """The row of the choice, from 0, and what was chosen: the token of the step, or the label of the text."""
    if trace.classes:
        return 0, trace.predicted.ids[0]
    assert trace.outputs is not None
    return view.step - 1, trace.outputs.ids[view.step - 1]


def offered(view: View, trace: Trace) -> list[int]:
    """The likeliest others, the first of them first."""
    row, own = asked(view, trace)
    likeliest = np.argsort(-trace.log_probs[row], kind="stable")[: RIVALS + 1]
    return [int(i) for i in likeliest if i != own][:RIVALS]


def fits(view: View, trace: Trace) -> bool:
    """Whether the view names a rival that this choice has."""
    row, own = asked(view, trace)
    return view.rival is not None and view.rival != own and view.rival < len(trace.log_probs[row])


def chosen(view: View, trace: Trace) -> int:
    """The rival of the view, or the likeliest."""
    if fits(view, trace):
        assert view.rival is not None
        return view.rival
    return offered(view, trace)[0]
