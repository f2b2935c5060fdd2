"""What a step of decoding rests on, as far as attention tells: the source token that it looks at most, and the one that this
token looks at in the encoder. With numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.config import END, PAD
from model.trace import Trace

STRONG = 0.5  # the weight from which on a head links two tokens


@dataclass(frozen=True)
class Link:
    """Of a step: the source token that it looks at most, and the weight, the mean of all heads of all layers. `to` is the
    token to which some encoder head links that one most, with this head's weight; None where none gives `STRONG`."""

    source: int
    weight: float
    to: int | None
    linked: float


def step_links(trace: Trace) -> tuple[Link | None, ...]:
    """One link for each step, its positions from 0; None where the step looks at no word. Padding, the end and punctuation
    are no words. What lies beside a token is not linked to it: most heads that look there look at whatever stands there.

    Empty for a model without cross-attention.
    """
    cross, encoder = trace.sites("cross"), trace.sites("encoder")
    if not cross or trace.source is None:
        return ()
    looked = np.mean([trace.patterns[site].mean(0) for site in cross], axis=0)  # [T,S]
    most = np.max([trace.patterns[site].max(0) for site in encoder], axis=0) if encoder else None  # [S,S]
    words = _words(trace.source.ids, trace.source.labels)
    return tuple(_link(row, most, words, trace.source.words) for row in looked)


def _words(ids: Sequence[int], labels: Sequence[str]) -> np.ndarray:
    pairs = zip(ids, labels, strict=True)
    return np.array([token not in (PAD, END) and any(map(str.isalnum, text)) for token, text in pairs])


def _link(row: np.ndarray, most: np.ndarray | None, words: np.ndarray, groups: Sequence[int]) -> Link | None:
    seen = np.where(words, row, 0.0)
    at = int(seen.argmax())
    if not seen[at]:
        return None
    if most is None:
        return Link(at, float(row[at]), None, 0.0)
    far = np.array([words[j] and abs(j - at) > 1 and groups[j] != groups[at] for j in range(len(row))])
    linked = np.where(far, most[at], 0.0)
    to = int(linked.argmax())
    found = float(linked[to])
    return Link(at, float(row[at]), to if found >= STRONG else None, found if found >= STRONG else 0.0)
