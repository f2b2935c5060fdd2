"""Attention links of a step of decoding: its main source token and word, and the word linked to that word in the encoder.

The module uses numpy only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...config import END, PAD, START
from ...trace import Trace

MIN_WEIGHT = 0.1  # smallest mean weight of a word worth a question
CLEAR = 1.5  # ratio of a standout word's weight to that of any other word


@dataclass(frozen=True)
class Link:
    """The token with a step's largest weight, in the source or the only text, and the `word` with the largest weight.

    `word` is None without a word. Weights are means over all heads and layers. `to` is the word with a standout encoder
    weight from `word`, `linked` that weight. `to` is None without one.
    """

    source: int
    weight: float
    word: int | None
    on_word: float
    to: int | None
    linked: float

    @property
    def is_clear(self) -> bool:
        """True where the weight on the word is large enough for a question about its heads."""
        return self.word is not None and self.on_word >= MIN_WEIGHT


def step_links(trace: Trace) -> tuple[Link, ...]:
    """Returns one link for each step, with positions from 0. Control tokens and punctuation are no words.

    Adjacent tokens are never linked, because heads often look there regardless of the token. Without cross-attention there
    is a link for each row of self-attention, without `to`.
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
    token = int(row.argmax())
    on_words = np.where(words, row, 0.0)
    word = int(on_words.argmax())
    if not on_words[word]:
        return Link(token, float(row[token]), None, 0.0, None, 0.0)
    to = None if among is None or on_words[word] < MIN_WEIGHT else _standing_out(among[word], word, words, groups)
    linked = 0.0 if to is None else float(among[word, to])
    return Link(token, float(row[token]), word, float(row[word]), to, linked)


def _standing_out(row: np.ndarray, word: int, words: np.ndarray, groups: np.ndarray) -> int | None:
    """Returns the word, not adjacent to `word`, with `CLEAR` times the weight of any third one, else None."""
    others = np.where(words & (groups != groups[word]), row, 0.0)
    to = int(others.argmax())
    third = others[groups != groups[to]].max(initial=0.0)
    return to if abs(to - word) > 1 and others[to] >= max(MIN_WEIGHT, CLEAR * third) else None
