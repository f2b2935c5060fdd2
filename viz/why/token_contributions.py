"""What came by way of one token of the source or of the target, and the edits that hide the token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.trace import SITE_KINDS, Trace
from viz.state import session

if TYPE_CHECKING:
    from model.readings.logits.direct_logits import DirectLogits
    from viz.state.view import View

KINDS = {"source": "cross", "target": "decoder"}  # piece of the view: the attention that brings it
_HIDDEN = {"source": ("enc", "cross"), "target": ("dec",)}  # where nobody may look at it


@dataclass(frozen=True)
class Way:
    """A token of the source or of the target, from 0, and the sum of what heads brought from it."""

    piece: str
    place: int
    label: str
    value: float
    at_once: bool = False  # it is of a text that is read at once: judged, or filled in
    is_alone: bool = False  # there is one text, which is no target

    @property
    def codes(self) -> tuple[str, ...]:
        """The edits under which nobody looks at the token."""
        hidden = ("enc",) if self.at_once else _HIDDEN[self.piece]
        return tuple(f"block_{place}_all-{self.place + 1}" for place in hidden)


def kind_of(piece: str, trace: Trace) -> str:
    """The kind of attention that brings what comes by way of a side's tokens."""
    return "encoder" if trace.outputs is None and piece == "source" else KINDS[piece]


def title(piece: str, trace: Trace) -> str:
    """What is shown of a side's tokens."""
    token = "token" if trace.outputs is None else "text token" if trace.source is None else f"{piece} token"
    return f"What each {token} contributed (all heads of {SITE_KINDS[kind_of(piece, trace)].name})"


def parts(found: DirectLogits, trace: Trace, piece: str) -> tuple[tuple[str, ...], np.ndarray] | None:
    """The tokens that can have brought something, and what each did; None where there is no such attention. Of the target
    those that had not been written yet are left out, unless they were seen all the same."""
    axis, values = trace.source if piece == "source" else trace.inputs, found.by_kind.get(kind_of(piece, trace))
    if axis is None or values is None:
        return None
    count = len(values)
    if piece == "target":
        count = max(found.step + 1, *(int(n) + 1 for n in np.flatnonzero(np.abs(values) > 1e-9)), 1)
    return axis.labels[:count], values[:count]


def chosen(view: View, found: DirectLogits, trace: Trace) -> Way | None:
    """The token that the view looks at, where this sum has it."""
    known = parts(found, trace, view.piece) if view.piece in KINDS else None
    if known is None or view.key is None or view.key >= len(known[0]):
        return None
    label, value = known[0][view.key], float(known[1][view.key])
    return Way(view.piece, view.key, label, value, trace.outputs is None, trace.source is None)


def choose(piece: str, number: int) -> None:
    """A token; called from callbacks."""
    session.change(piece=piece, key=number)
