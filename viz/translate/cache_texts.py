"""What the key-value cache and its measurement say in words."""

from __future__ import annotations

import html
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from model.experiments.caching import Caching

EVEN = 1.05  # times as long: what is less rounds to nothing
NOTHING_KEPT = (
    "Nothing can be kept here: without the causal mask each new token changes what was computed of those before it, so the "
    "whole text goes through all layers at every step."
)
WHAT = (
    "Writes {} tokens with the cache and without, in turn, up to three times, on the machine that runs the lab: the fastest "
    "of each step counts. Twenty seconds at most; one visitor measures at a time."
)
HOW = (
    "Both begin with this text and take the likeliest token; neither stops at </s>. Without the cache the last layer still "
    "computes the newest token alone, as decoding without the causal mask does here."
)


def span(seconds: float) -> str:
    """A time as a person says it."""
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def headline(run: Caching) -> str:
    """How many times as long it takes without the cache, as markup."""
    count = len(run.cached)
    with_, without = span(sum(run.cached)), span(sum(run.whole))
    longer = run.ratio >= 1
    times = run.ratio if longer else 1 / run.ratio
    way = "without the cache" if longer else "with the cache"
    many = f'<b class="lab-times">{times:.1f} ×</b> as long {way}' if times >= EVEN else "As long either way"
    return f'<p class="lab-answer">{many}: {count} tokens take {with_} with it, {without} without.</p>'


def same(run: Caching, begun: int = 0) -> str:
    """Whether both ways chose the same tokens, and how far their probabilities are apart; `begun` tokens were given."""
    count, parted = max(0, len(run.ids) - begun), run.parted
    chosen = (
        f"Both chose the same {count} {'token' if count == 1 else 'tokens'}"
        if parted is None
        else f"They chose differently at token {parted}"
    )
    return f"{chosen}; no probability differs by more than {_at_most(run.off)}."


def _at_most(value: float) -> str:
    """One figure, rounded up."""
    shown = Context(prec=1, rounding=ROUND_CEILING).create_decimal_from_float(value)
    return "0" if not value else f"{shown:.0e}".replace("e-0", "e-")


def early(run: Caching) -> str:
    """That the time ran out before all was written, or before it was written three times; nothing where it did not."""
    from model.experiments.caching import ROUNDS

    count = len(run.cached)
    if count < run.limit:
        return f"Stopped after {count} of {run.limit} tokens: time ran out."
    rounds = max(1, run.done // run.limit)
    return f"Written {'once' if rounds == 1 else 'twice'}, then time ran out." if rounds < ROUNDS else ""


def last_step(run: Caching) -> str:
    """What the last token took in both ways."""
    with_, without = 1000 * run.cached[-1], 1000 * run.whole[-1]
    return f"Token {len(run.cached)} alone: {with_:.2f} ms with it, {without:.2f} ms without."


def alt(run: Caching) -> str:
    """The chart in words."""
    ends = f"{span(sum(run.cached))} with the cache, {span(sum(run.whole))} without"
    return html.escape(f"Time against the length: after {len(run.cached)} tokens {ends}.")
