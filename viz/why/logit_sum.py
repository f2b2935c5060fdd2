"""A difference of two logits as bars, as a grid of heads, and as two coloured sentences. Each part can be chosen.

A part is also the contribution by way of one token of the source or of the target, with the edits that hide the token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from model.io import numbers
from model.trace import SITE_KINDS, Trace
from viz import theme
from viz.kit import mount
from viz.state import session

if TYPE_CHECKING:
    from model.readings.logits.direct_logits import DirectLogits, Writer
    from viz.state.view import View

    pass

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
    return f"What each {token_name(piece, trace)} contributed (all heads of {SITE_KINDS[kind_of(piece, trace)].name})"


def token_name(piece: str, trace: Trace) -> str:
    """Returns the name of a token of a side."""
    return "token" if trace.outputs is None else "text token" if trace.source is None else f"{piece} token"


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


SHOWN = 14  # bars; the rest is one more
FEW = 6  # the same where they are seen from far away
FULL = {
    "token": "embedding of “{read}”",
    "position": "its position",
    "segment": "its segment: first sentence or second",
    "bias": "biases",
    "patch": "put in {place}",
}
JUDGED = {
    "token": "embeddings of what is pooled",
    "position": "positions of what is pooled",
    "segment": "sentences of what is pooled",
}
CHOSEN = {"token": "token", "position": "position", "feed-forward": "ff", "head": "head"}  # writer: piece of the view


def name(writer: Writer, read: str) -> str:
    """What a writer is called; `read` is the token that is read where the choice is made, empty where a text is judged."""
    if writer.kind == "head":
        assert writer.site is not None and writer.head is not None
        return writer.site.head_name(writer.head)
    if writer.kind == "feed-forward":
        assert writer.layer is not None
        return f"feed-forward, layer {writer.layer + 1}"
    return (FULL if read else FULL | JUDGED)[writer.kind].format(read=read, place=writer.place_name)


def read(found: DirectLogits, trace: Trace) -> str:
    """The token that is read where the choice is made: by the decoder, or in the text itself; nothing where a text is
    judged: all of it is read."""
    return "" if trace.classes else trace.axis("source" if trace.outputs is None else "target").labels[found.step]


def key(writer: Writer) -> list[Any] | None:
    """By what a writer is known to the browser: its piece of the view and where it is, from 1; None where it cannot be
    chosen."""
    if writer.kind == "head":
        assert writer.site is not None and writer.head is not None
        return ["head", writer.site.kind, writer.site.layer + 1, writer.head + 1]
    if writer.kind == "feed-forward":
        assert writer.layer is not None
        return ["ff", writer.layer + 1]
    return [CHOSEN[writer.kind]] if writer.kind in CHOSEN else None


def payload(
    found: DirectLogits,
    trace: Trace,
    chosen: Writer | None,
    way: Way | None,
    mode: theme.Mode,
    only: Sequence[int] = (),
    large: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """All that the browser needs, as JSON values; nats. `chosen` or `way`: the part, or the token, that
    is looked at. `only`: the steps that have a choice, where not every one has. `large`: what is said beside one picture
    that fills the screen."""
    reads = read(found, trace)
    ranked = found.ranked
    rows = [
        {
            "name": name(writer, reads),
            "value": round(value, 8),
            "hue": writer.site.kind if writer.site else None,
            "key": key(writer),
            "way": most_by(found, trace, writer),
        }
        for writer, value in ranked
    ]
    count = FEW if large else SHOWN
    kinds = [kind for kind in SITE_KINDS if kind in found.by_kind]
    sentences = [(piece, known) for piece in KINDS if (known := parts(found, trace, piece))]
    return {
        "rows": rows[:count],
        "rest": [len(rows[count:]), round(sum(value for _, value in ranked[count:]), 5)],
        "total": round(found.difference, 5),
        "remainder": numbers.scientific(found.remainder),
        "grids": [
            {
                "kind": kind,
                "title": theme.SITE_NAMES[kind],
                "values": [[round(v, 5) for v in row] for row in found.heads(kind)],
            }
            for kind in kinds
        ],
        "tokens": [
            {
                "piece": piece,
                "name": f"{token_name(piece, trace).capitalize()}s",
                "title": title(piece, trace),
                "labels": list(labels),
                "values": [round(float(v), 5) for v in values],
            }
            for piece, (labels, values) in sentences
        ],
        "chosen": [way.piece, way.place + 1] if way else key(chosen) if chosen else None,
        "count": len(found.writers),
        "unit": "label" if trace.classes else "token",
        "held": found.linearized,
        "step": found.step + 1,
        "steps": len(trace.predicted_axis),
        "only": [step + 1 for step in only],
        "scale": list(theme.diverging(mode)),
        "large": large,
    }


def most_by(found: DirectLogits, trace: Trace, writer: Writer) -> str | None:
    """The token by way of which a head brought the most; None for what is no head, and where it brought nothing."""
    if writer.site is None or writer.head is None:
        return None
    parts = found.tokens[writer.site][writer.head]
    return trace.keys(writer.site)[int(abs(parts).argmax())] if parts.any() else None


COMPONENT = mount.Component(__file__, '<div class="sum"></div>', term_names=("direct logit attribution", "bias"), name="sum")


def events(
    found: DirectLogits,
    trace: Trace,
    on_head: Callable[[str, int, int], None],
    on_piece: Callable[[str, int], None],
    on_way: Callable[[str, int], None],
    on_step: Callable[[int], None],
) -> dict[str, mount.Event]:
    """Returns the events. `on_head` gets kind, layer and head of a clicked head, `on_piece` another part and its
    layer (0 where it has none), `on_way` a side and one of its tokens (from 1), `on_step` the step of an arrow key."""
    grids = [found.heads(kind) for kind in SITE_KINDS if kind in found.by_kind]
    layers, heads = (max((len(each) for each in every), default=1) for every in (grids, [grid[0] for grid in grids]))
    names = [piece for piece in CHOSEN.values() if piece != "head"]
    lines = [known for piece in KINDS if (known := parts(found, trace, piece))]
    longest = max((len(labels) for labels, _ in lines), default=1)
    kinds = [kind for kind in SITE_KINDS if kind in found.by_kind]
    return {
        "head": (mount.fields(kind=mount.one_of(kinds), layer=mount.from_one(layers), head=mount.from_one(heads)), on_head),
        "piece": (mount.fields(piece=mount.one_of(names), layer=mount.from_one(layers)), on_piece),
        "way": (mount.fields(piece=mount.one_of(list(KINDS)), number=mount.from_one(longest)), on_way),
        "step": (mount.from_one(len(trace.predicted_axis)), on_step),
    }
