"""What the page Why says, from the numbers of this very view."""

from __future__ import annotations

import html
import math

from model import format
from model.inference.decisions import NEAR_TIE, is_near
from model.readings.direct_logits import DirectLogits
from model.trace import Site, Trace
from viz.shared import terms


def answer(found: DirectLogits, pieces: tuple[str, str], log_probs: tuple[float, float]) -> str:
    """The difference and the two probabilities, as markup; `pieces` and `log_probs` of token and rival."""
    token, rival = (f'<span class="lab-mono">{html.escape(piece)}</span>' for piece in pieces)
    first, second = (f"{math.exp(each):.3f}" for each in log_probs)
    nats, logits = terms.term("nats"), terms.term("logit", "logits")
    difference = f"their {logits} differ by <b>{format.signed(found.difference, 3)}</b> {nats}"
    return f'<p class="lab-why">{token} {first} and {rival} {second}: {difference}.</p>'


def meant(found: DirectLogits, log_probs: tuple[float, float]) -> str:
    """What the difference means, and what it is the sum of, as a sentence each."""
    tie = f" This is {NEAR_TIE}." if is_near(*map(math.exp, log_probs)) else ""
    return (
        f"{_times(found.difference)}{tie} The difference is the sum of {len(found.writers)} parts, one for each that wrote "
        "into the residual stream, as the unembedding reads it; the norms scale them as they did here."
    )


def _times(difference: float) -> str:
    """How many times as likely the one is as the other."""
    times = math.exp(min(abs(difference), 50))
    more, less = ("The first", "the second") if difference >= 0 else ("The second", "the first")
    shown = f"{times:,.0f}" if times >= 10 else f"{times:.1f}"
    return f"{more} is {shown} times as likely as {less}."


def head_told(found: DirectLogits, trace: Trace, site: Site, head: int) -> str:
    """What one head wrote and by way of which token most of it came, as a sentence."""
    value = found.head(site, head)
    parts = found.tokens[site][head]
    keys = trace.keys(site)[: len(parts)]
    most = int(abs(parts).argmax())
    way = "" if not parts.any() else f", the most by way of “{keys[most]}” ({format.signed(float(parts[most]), 3)})"
    name = f"{site.of.name}, layer {site.layer + 1}, head {head + 1}"
    return f"{name[:1].upper() + name[1:]} wrote {format.signed(value, 3)}, {_sense(value)}{way}."


def part_told(name: str, value: float) -> str:
    """What another part wrote, as a sentence."""
    return f"{name[:1].upper() + name[1:]} wrote {format.signed(value, 3)}, {_sense(value)}."


def _sense(value: float) -> str:
    if abs(value) < 0.0005:
        return "neither for the token nor for its rival"
    return "for the token" if value > 0 else "for its rival"


def measured(predicted: float, before: float, after: float) -> str:
    """What switching a part off does, beside what the sum says."""
    change = after - before
    return (
        f"Without its part the difference would change by {format.signed(-predicted, 3)}; switched off, and all that "
        f"follows computed anew, it changes by {format.signed(change, 3)}, to {format.signed(after, 3)}."
    )
