"""Readings that say which source words a step of decoding, or a blank, rests on, each declared once. With numpy alone.

A reading gives every source word a number: the larger, the more the step is said to rest on it. A word is all of its
subwords together; `<s>`, `</s>` and `<pad>` are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from model.config import END, PAD, START
from model.readings.heads.head_maps import averaged
from model.trace import Axis, Site, Trace


@dataclass(frozen=True)
class Words:
    """The words of a source, as they are shown, and the positions of the tokens of each."""

    labels: tuple[str, ...]
    places: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, source: Axis, mask: int | None = None) -> Words:
        """The words of a source axis, without its control tokens, and without blanks where `mask` is the token of one."""
        found: dict[int, list[int]] = {}
        for place, (token, word) in enumerate(zip(source.ids, source.words, strict=True)):
            if token not in (PAD, START, END, mask):
                found.setdefault(word, []).append(place)
        labels = ("".join(source.labels[place] for place in places) for places in found.values())
        return cls(tuple(labels), tuple(map(tuple, found.values())))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """What tokens [S] have, by words: [W]."""
        return np.array([values[list(places)].sum() for places in self.places], dtype=np.float64)


class Material(Protocol):
    """What a reading may read; steps count from 0."""

    words: Words
    trace: Trace
    kind: str  # of the attention that brings the words to where the choice is made
    norms: Mapping[Site, np.ndarray]  # [H,S]: how large each head's value of each key is after W_O

    def split(self, step: int) -> np.ndarray:
        """By way of which source token the difference of two logits came, [S]; see `direct_logits`."""

    def gradient(self, step: int) -> np.ndarray:
        """Gradient times embedding of each source token, [S]; see `gradients`."""

    def occlusion(self, step: int) -> np.ndarray:
        """What the log-probability of the step's token loses where a word alone is taken away, [W]."""


@dataclass(frozen=True)
class Reading:
    """A reading: its name in links and files, what it is called on the screen, what it is, and how it is read: of some
    material and a step to a number for each word, [W]. With `takes_away` it takes words away itself, as a test of readings
    does: it knows some of the answers beforehand."""

    name: str
    label: str
    meaning: str
    read: Callable[[Material, int], np.ndarray]
    takes_away: bool = False
    at_once: str = ""  # what it is where the text is read at once, if that is another thing

    def told(self, kind: str) -> str:
        """What it is where attention of a kind brings the words."""
        return self.at_once if self.at_once and kind == "encoder" else self.meaning


def _of_maps(maps: Callable[[Material], np.ndarray]) -> Callable[[Material, int], np.ndarray]:
    return lambda seen, step: seen.words.sums(maps(seen)[step])


def _last(seen: Material) -> np.ndarray:
    return seen.trace.patterns[seen.trace.sites(seen.kind)[-1]].mean(axis=0)  # [T,S]


READINGS: dict[str, Reading] = {
    made.name: made
    for made in (
        Reading(
            "last",
            "Weights, last layer",
            "The cross-attention weights of the last layer, mean over its heads.",
            _of_maps(_last),
            at_once="The attention weights of the last layer at this place, mean over its heads.",
        ),
        Reading(
            "weights",
            "Weights, all layers",
            "The cross-attention weights, mean over all layers and heads.",
            _of_maps(lambda seen: averaged(seen.trace, seen.norms, seen.kind, "weights")),
            at_once="The attention weights at this place, mean over all layers and heads.",
        ),
        Reading(
            "rollout",
            "Rollout",
            "The cross-attention weights times the rollout of the encoder (Abnar and Zuidema 2020).",
            _of_maps(lambda seen: averaged(seen.trace, seen.norms, seen.kind, "rollout")),
            at_once="The weights of all layers multiplied, half of each kept in the stream (Abnar and Zuidema 2020).",
        ),
        Reading(
            "contribution",
            "Contribution",
            "The norm of weight times value times W_O (Kobayashi et al. 2020), mean over the layers.",
            _of_maps(lambda seen: averaged(seen.trace, seen.norms, seen.kind, "contribution")),
        ),
        Reading(
            "sum",
            "Sum of parts",
            "What all heads of cross-attention wrote into the difference of the two logits by way of a word (the other part "
            "of this page).",
            lambda seen, step: seen.words.sums(seen.split(step)),
            at_once="What all heads wrote into the difference of the two logits by way of a word (the other part of this "
            "page).",
        ),
        Reading(
            "gradient",
            "Gradient × input",
            "The gradient of the token's log-probability by a word's embedding, times that embedding.",
            lambda seen, step: seen.words.sums(seen.gradient(step)),
        ),
        Reading(
            "occlusion",
            "Occlusion",
            "What the token's log-probability loses where this word alone is taken away.",
            lambda seen, step: seen.occlusion(step),
            takes_away=True,
        ),
    )
}  # in the order in which they are shown where nothing else orders them
