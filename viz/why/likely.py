"""What the token of a step is compared with: the likeliest others, and the one that the view asks for."""

from __future__ import annotations

import numpy as np

from model.trace import Trace
from viz.view import View

RIVALS = 12  # that are offered


def offered(trace: Trace, step: int) -> list[int]:
    """The likeliest other tokens of a step (from 0), the first of them first."""
    assert trace.outputs is not None
    likeliest = np.argsort(-trace.log_probs[step], kind="stable")[: RIVALS + 1]
    return [int(i) for i in likeliest if i != trace.outputs.ids[step]][:RIVALS]


def fits(view: View, trace: Trace) -> bool:
    """Whether the view names a rival that this step has."""
    assert trace.outputs is not None
    step = view.step - 1
    return view.rival is not None and view.rival != trace.outputs.ids[step] and view.rival < len(trace.log_probs[step])


def chosen(view: View, trace: Trace) -> int:
    """The rival of the view, or the likeliest."""
    if fits(view, trace):
        assert view.rival is not None
        return view.rival
    return offered(trace, view.step - 1)[0]
