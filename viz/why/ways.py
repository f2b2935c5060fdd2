"""What came by way of one token of the source or of the target, and the edits that hide the token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from viz import state

if TYPE_CHECKING:
    from model.readings.direct_logits import DirectLogits
    from model.trace import Trace
    from viz.view import View

KINDS = {"source": "cross", "target": "decoder"}  # piece of the view: the attention that brings it
_HIDDEN = {"source": ("enc", "cross"), "target": ("dec",)}  # where nobody may look at it


@dataclass(frozen=True)
class Way:
    """A token of the source or of the target, from 0, and the sum of what heads brought from it."""

    piece: str
    place: int
    label: str
    value: float

    @property
    def codes(self) -> tuple[str, ...]:
        """The edits under which nobody looks at the token."""
        return tuple(f"block_{place}_all-{self.place + 1}" for place in _HIDDEN[self.piece])


def parts(found: DirectLogits, trace: Trace, piece: str) -> tuple[tuple[str, ...], np.ndarray] | None:
    """The tokens that can have brought something, and what each did; None where there is no such attention. Of the target
    those that had not been written yet are left out, unless they were seen all the same."""
    axis, values = trace.source if piece == "source" else trace.inputs, found.by_kind.get(KINDS[piece])
    if axis is None or values is None:
        return None
    count = len(values)
    if piece == "target":
        count = max(found.step + 1, *(int(n) + 1 for n in np.flatnonzero(np.abs(values) > 1e-9)), 1)
    return axis.labels[:count], values[:count]


def chosen(view: View, found: DirectLogits, trace: Trace) -> Way | None:
    """The token that the view looks at, where this sum has it."""
    known = parts(found, trace, view.piece) if view.piece in KINDS else None
    if known is None or not 0 < view.key <= len(known[0]):
        return None
    return Way(view.piece, view.key - 1, known[0][view.key - 1], float(known[1][view.key - 1]))


def choose(piece: str, number: int) -> None:
    """A token, from 1; called from callbacks."""
    state.change(piece=piece, key=number)
