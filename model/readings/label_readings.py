"""Readings that say which words of a text its label rests on, each declared once. With numpy alone.

A reading gives every word a number; a word is all of its subwords together, and control tokens are none. What has a sign
says whether a word speaks for the label or for its rival; weights have none, and say only how much rests on a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from model.readings.head_maps import averaged, measured
from model.readings.word_readings import Words
from model.trace import Site, Trace

FEWEST = 3  # words of which a rank correlation says anything: of two it is 1 or -1


class Material(Protocol):
    """What a reading may read."""

    words: Words
    trace: Trace
    norms: Mapping[Site, np.ndarray]  # [H,S]: how large each head's value of each key is after W_O
    pooling: np.ndarray  # [S]: the share of each token in what is pooled

    def gradient(self) -> np.ndarray:
        """Gradient times embedding of each token, [S]; see `gradients`."""

    def split(self) -> np.ndarray:
        """By way of which token the heads wrote the difference of the two logits, [S]; see `label_logits`."""


@dataclass(frozen=True)
class Reading:
    """A reading: its name in files, what it is called on the screen, what it is, whether its numbers have a sign, and how it
    is read: of some material to a number for each word, [W]."""

    name: str
    label: str
    meaning: str
    signed: bool
    read: Callable[[Material], np.ndarray]


def _of_map(values: Callable[[Material], np.ndarray]) -> Callable[[Material], np.ndarray]:
    return lambda seen: seen.words.sums(seen.pooling @ values(seen))


def _last(seen: Material) -> np.ndarray:
    return measured(seen.trace, seen.norms, seen.trace.sites("encoder")[-1], None, "weights")


LABEL_READINGS: dict[str, Reading] = {
    made.name: made
    for made in (
        Reading(
            "last",
            "Weights, last layer",
            "The attention weights of the last layer, mean over its heads, pooled as the classifier pools.",
            False,
            _of_map(_last),
        ),
        Reading(
            "weights",
            "Weights, all layers",
            "The attention weights, mean over all layers and heads, pooled as the classifier pools.",
            False,
            _of_map(lambda seen: averaged(seen.trace, seen.norms, "encoder", "weights")),
        ),
        Reading(
            "rollout",
            "Rollout",
            "The weights of all layers multiplied, half of each kept in the residual stream (Abnar and Zuidema 2020).",
            False,
            _of_map(lambda seen: averaged(seen.trace, seen.norms, "encoder", "rollout")),
        ),
        Reading(
            "contribution",
            "Contribution",
            "The norm of weight times value times W_O (Kobayashi et al. 2020), mean over the layers.",
            False,
            _of_map(lambda seen: averaged(seen.trace, seen.norms, "encoder", "contribution")),
        ),
        Reading(
            "sum",
            "Sum of parts",
            "What all heads wrote into the difference of the two logits by way of a word, as the page Why splits it.",
            True,
            lambda seen: seen.words.sums(seen.split()),
        ),
        Reading(
            "gradient",
            "Gradient × input",
            "The gradient of the difference of the two logits by a word’s embedding, times that embedding.",
            True,
            lambda seen: seen.words.sums(seen.gradient()),
        ),
    )
}  # in the order in which they are shown
