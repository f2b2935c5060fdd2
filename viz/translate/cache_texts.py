"""What the key-value cache and its measurement say in words."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from model.experiments.caching import Caching

NOTHING_KEPT = (
    "Nothing can be kept here: without the causal mask each new token changes what was computed of those before it, so the "
    "whole text goes through all layers at every step."
)
WHAT = (
    "Writes {} tokens with the cache and without, in turn, three times, on the machine that runs the lab: the fastest of "
    "each step counts. Twenty seconds at most; nobody else waits for it."
)
HOW = (
    "Both begin with this text and take the likeliest token; an end ends nothing. Without the cache the last layer still "
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
    return (
        f'<p class="lab-answer"><b class="lab-times">{times:.1f} ×</b> as long {way}: {count} tokens take {with_} with it, '
        f"{without} without.</p>"
    )


def same(run: Caching) -> str:
    """Whether both ways chose the same tokens, and how far their probabilities are apart."""
    count, parted = len(run.ids), run.parted
    chosen = f"Both chose the same {count} tokens" if parted is None else f"They chose differently at token {parted}"
    return f"{chosen}; no probability differs by more than {_power(run.off)}."


def _power(value: float) -> str:
    return "0" if not value else f"{value:.0e}".replace("e-0", "e-")


def early(run: Caching) -> str:
    """That the time was over before all was written; nothing where it was not."""
    count = len(run.cached)
    return f"Stopped after {count} of {run.limit} tokens: the time was over." if count < run.limit else ""


def last_step(run: Caching) -> str:
    """What the last token took in both ways."""
    with_, without = 1000 * run.cached[-1], 1000 * run.whole[-1]
    return f"Token {len(run.cached)} alone: {with_:.2f} ms with it, {without:.2f} ms without."


def alt(run: Caching) -> str:
    """The chart in words."""
    ends = f"{span(sum(run.cached))} with the cache, {span(sum(run.whole))} without"
    return html.escape(f"Time against the length: after {len(run.cached)} tokens {ends}.")
