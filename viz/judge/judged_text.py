"""A text that is judged: its label and all others, and its tokens with the weight that the classifier has for each by way of
a layer and a head. Stepping sends nothing; the server hears of a step when it has settled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from model.inference.decisions import near_ties
from model.readings.tokens.word_readings import describe_pooling, pooled_row, pooling_weights
from model.trace import Site
from viz import theme
from viz.kit import mount

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis


def payload(analysis: Analysis, loaded: Checkpoint, layer: int, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """All that the browser needs, as JSON values; layer and head count from 0. Labels stand from the likeliest on, weights
    are rounded to five decimals."""
    trace, axis = analysis.trace, analysis.trace.step_axis
    layer = min(layer, trace.sites("encoder")[-1].layer)
    weights = pooled_row(trace, pooling_weights(loaded.config, axis.ids), Site("encoder", layer), head)
    what, whose = describe_pooling(loaded.config, axis.labels, axis.ids)
    place = f"layer {layer + 1}, {'mean over heads' if head is None else f'head {head + 1}'}"
    return {
        "trace": hashlib.sha256(f"{analysis.request!r}".encode()).hexdigest()[:16],
        "step": 1,
        "tokens": [{"t": t, "w": w} for t, w in zip(axis.labels, axis.word_numbers, strict=True)],
        "weights": np.round(weights, 5).tolist(),
        "tints": list(theme.tints("encoder", mode)),
        "labels": labels(analysis),
        "tie": near_ties(trace.log_probs)[0] is not None,
        "pooled": f"What is judged is {what}.",
        "whose": f"{place}: {whose}",
    }


def labels(analysis: Analysis) -> list[dict[str, Any]]:
    """Every label, the likeliest first: its name, its number, its probability, what that was before the edits, its logit."""
    trace, found = analysis.trace, analysis.probability_change
    order = np.argsort(-trace.log_probs[0], kind="stable").tolist()
    was = found.before if analysis.baseline else [None] * len(order)
    return [
        {
            "name": trace.classes[n],
            "label": n,
            "p": round(float(found.after[n]), 6),
            "was": None if was[n] is None else round(float(was[n]), 6),
            "logit": round(trace.logit(0, n), 3),
        }
        for n in order
    ]


COMPONENT = mount.Component(__file__, '<div class="judged"></div>', picture="The text and its label", name="judged")


def judged(
    data: dict[str, Any],
    follow: dict[str, Any],
    on_step: Callable[[int], None],
    on_rival: Callable[[int], None],
    key: str = "judged",
) -> None:
    """Mounts the component with the payload and what follows the view: `step` (from 1), `rival`, the label that the
    likeliest is held against, and `hall`.

    Before the next run `on_step` is called with the place at which the visitor rests, `on_rival` with another label.
    """
    events = {
        "step": (mount.from_one(len(data["tokens"])), on_step),
        "rival": (mount.integer(0, len(data["labels"]) - 1), on_rival),
    }
    COMPONENT.mount(key, data, events, default={"step": follow["step"]}, overrides=follow)
