"""Attributions of a text's label to its words, each declared once, and the pooling of a classifier.

A reading gives every word, the sum of its subwords, a number. Control tokens are no words. A signed number is positive for
the label and negative for its rival. Weights have no sign.

A pooled head output is the pooled row of its pattern times the values: the first token's row, or the mean over all rows
without padding. The module uses numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...config import PAD, ModelConfig
from ...trace import Site, Trace
from ..heads.head_maps import head_map, mean_map
from .word_readings import Words

MIN_WORDS = 3  # words for a rank correlation; of two words it is always 1 or -1


class LabelMaterial(Protocol):
    """Input of a reading."""

    words: Words
    trace: Trace
    norms: Mapping[Site, np.ndarray]  # [H,S]: norm of each head's value of each key after W_O
    pooling: np.ndarray  # [S]: the share of each token in the pooled vector

    def gradient(self) -> np.ndarray:
        """Returns gradient times embedding of each token, [S], see `label_gradient`."""

    def split(self) -> np.ndarray:
        """Returns the heads' part of the logit difference by attended token, [S], see `label_logits`."""


@dataclass(frozen=True)
class LabelReading:
    """A reading: its name in files, its label and meaning in the interface, and whether its numbers have a sign.

    `read` returns a number for each word, [W].
    """

    name: str
    label: str
    meaning: str
    signed: bool
    read: Callable[[LabelMaterial], np.ndarray]


def _of_map(values: Callable[[LabelMaterial], np.ndarray]) -> Callable[[LabelMaterial], np.ndarray]:
    return lambda material: material.words.sums(material.pooling @ values(material))


def _last(material: LabelMaterial) -> np.ndarray:
    return head_map(material.trace, material.norms, material.trace.sites("encoder")[-1], None, "weights")


LABEL_READINGS: dict[str, LabelReading] = {
    reading.name: reading
    for reading in (
        LabelReading(
            "last",
            "Weights, last layer",
            "The attention weights of the last layer, mean over its heads, pooled as the classifier pools.",
            False,
            _of_map(_last),
        ),
        LabelReading(
            "weights",
            "Weights, all layers",
            "The attention weights, mean over all layers and heads, pooled as the classifier pools.",
            False,
            _of_map(lambda material: mean_map(material.trace, material.norms, "encoder", "weights")),
        ),
        LabelReading(
            "rollout",
            "Rollout",
            "The product of all layers’ weights, each averaged with the identity (Abnar and Zuidema 2020).",
            False,
            _of_map(lambda material: mean_map(material.trace, material.norms, "encoder", "rollout")),
        ),
        LabelReading(
            "contribution",
            "Contribution",
            "The norm of weight times value times W_O (Kobayashi et al. 2020), mean over the layers.",
            False,
            _of_map(lambda material: mean_map(material.trace, material.norms, "encoder", "contribution")),
        ),
        LabelReading(
            "sum",
            "Sum of parts",
            "The heads’ part of the logit difference by attended word, as on the page Why.",
            True,
            lambda material: material.words.sums(material.split()),
        ),
        LabelReading(
            "gradient",
            "Gradient × input",
            "The gradient of the logit difference by a word’s embedding, times that embedding.",
            True,
            lambda material: material.words.sums(material.gradient()),
        ),
    )
}  # in the order of the page


POOLED = {  # by pooling: a description of the pooled vector, and of its attention row
    "first": ("the state of the first token, {first}", "the row of {first}"),
    "mean": ("the mean of the states of all {count} tokens, each with weight {weight}", "the mean of all rows"),
}


def pooling_weights(config: ModelConfig, ids: Sequence[int]) -> np.ndarray:
    """Returns the share of each token's state in the pooled vector, [S]. The shares add up to 1."""
    weights = np.array([token != PAD for token in ids], dtype=np.float64)
    if config.pooling == "first":
        weights[1:] = 0
    return weights / weights.sum()


def pooled_row(trace: Trace, weights: np.ndarray, site: Site, head: int | None = None) -> np.ndarray:
    """Returns the pooled vector's attention to each token, [S], in one head or in the mean over heads."""
    return weights @ trace.view(site, head).values


def describe_pooling(config: ModelConfig, labels: Sequence[str], ids: Sequence[int]) -> tuple[str, str]:
    """Returns a description of the pooled vector of this text, and one of its attention row."""
    count = sum(token != PAD for token in ids)
    values = {"first": labels[0], "count": count, "weight": f"1/{count}"}
    vector, row = POOLED[config.pooling]
    return vector.format(**values), row.format(**values)
