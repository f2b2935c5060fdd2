"""Readings that say which words of a text its label rests on, each declared once. With numpy alone.

A reading gives every word a number; a word is all of its subwords together, and control tokens are none. What has a sign
says whether a word speaks for the label or for its rival; weights have none, and say only how much rests on a word.

What a classifier's pooler reads: the state of the first token, or the mean of all. With numpy alone.

A head's output, pooled as the states are, is the pooled row of its pattern times the values: the row of the first token, or
the mean of the rows of all tokens that are no padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from model.config import PAD, ModelConfig
from model.readings.heads.head_maps import averaged, measured
from model.readings.tokens.word_readings import Words
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


POOLED = {  # what is pooled, and whose attention that makes the classifier's, by the way of pooling
    "first": ("the state of the first token, {first}, alone", "the row of {first}, the token that is read"),
    "mean": ("the mean of the states of all {count} tokens, each with a weight of {weight}", "the mean of all rows"),
}


def pooling_weights(config: ModelConfig, ids: Sequence[int]) -> np.ndarray:
    """The share that each token's state has in what is pooled, [S]: they add up to 1."""
    weights = np.array([token != PAD for token in ids], dtype=np.float64)
    if config.pooling == "first":
        weights[1:] = 0
    return weights / weights.sum()


def pooled_row(trace: Trace, weights: np.ndarray, site: Site, head: int | None = None) -> np.ndarray:
    """How the pooled vector looks at each token by way of a head, or of the mean over heads where none is named: [S]."""
    return weights @ trace.view(site, head).values


def pooling_told(config: ModelConfig, labels: Sequence[str], ids: Sequence[int]) -> tuple[str, str]:
    """What is pooled, and whose attention is shown for it: in words, of this very text."""
    count = sum(token != PAD for token in ids)
    given = {"first": labels[0], "count": count, "weight": f"1/{count}"}
    what, whose = POOLED[config.pooling]
    return what.format(**given), whose.format(**given)
