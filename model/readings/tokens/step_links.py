"""What a step of decoding rests on, as far as attention tells: the source token that it looks at most, the word among them,
and the word that this one looks at in the encoder. With numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.config import END, PAD, START
from model.trace import Trace

WORTH = 0.1  # the mean weight from which on a word is worth a question
CLEAR = 1.5  # how many times the weight of any other word one has that stands out


@dataclass(frozen=True)
class Link:
    """Of a step: the token that it looks at most, of the source or of the only text, whatever it is, and the `word` that it
    looks at most, None where it looks at none; weights are means of all heads of all layers. `to` is the word that stands
    out among those that `word` looks at in the encoder, with its weight; None where none does."""

    source: int
    weight: float
    word: int | None
    on_word: float
    to: int | None
    linked: float

    @property
    def asked(self) -> bool:
        """Whether the step looks at its word enough to ask which heads do."""
        return self.word is not None and self.on_word >= WORTH


def step_links(trace: Trace) -> tuple[Link, ...]:
    """One link for each step, its positions from 0. Control tokens and punctuation are no words. What lies beside a token is
    not linked to it: most heads that look there look at whatever stands there.

    A model without cross-attention looks at its own text: a link for each row of its self-attention, without `to`.
    """
    cross, encoder = trace.sites("cross"), trace.sites("encoder")
    if not cross or trace.source is None:
        (kind,), axis = trace.kinds, trace.inputs or trace.source
        assert axis is not None
        own = np.mean([trace.patterns[site].mean(0) for site in trace.sites(kind)], axis=0)  # [T,T]
        words = _words(axis.ids, axis.labels)
        return tuple(_link(row, None, words, np.array(axis.words)) for row in own)
    looked = np.mean([trace.patterns[site].mean(0) for site in cross], axis=0)  # [T,S]
    among = np.mean([trace.patterns[site].mean(0) for site in encoder], axis=0) if encoder else None  # [S,S]
    words = _words(trace.source.ids, trace.source.labels)
    return tuple(_link(row, among, words, np.array(trace.source.words)) for row in looked)


def _words(ids: Sequence[int], labels: Sequence[str]) -> np.ndarray:
    pairs = zip(ids, labels, strict=True)
    return np.array([token not in (PAD, START, END) and any(map(str.isalnum, text)) for token, text in pairs])


def _link(row: np.ndarray, among: np.ndarray | None, words: np.ndarray, groups: np.ndarray) -> Link:
    most = int(row.argmax())
    seen = np.where(words, row, 0.0)
    at = int(seen.argmax())
    if not seen[at]:
        return Link(most, float(row[most]), None, 0.0, None, 0.0)
    to = None if among is None or seen[at] < WORTH else _standing_out(among[at], at, words, groups)
    linked = 0.0 if to is None else float(among[at, to])
    return Link(most, float(row[most]), at, float(row[at]), to, linked)


def _standing_out(row: np.ndarray, at: int, words: np.ndarray, groups: np.ndarray) -> int | None:
    """The other word, not beside `at`, that has `CLEAR` times the weight of any third one; None where there is none."""
    others = np.where(words & (groups != groups[at]), row, 0.0)
    to = int(others.argmax())
    third = others[groups != groups[to]].max(initial=0.0)
    return to if abs(to - at) > 1 and others[to] >= max(WORTH, CLEAR * third) else None
