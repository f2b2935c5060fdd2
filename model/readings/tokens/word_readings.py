"""Attributions of a choice to source words, each declared once. The choice is a token, a word in a blank or a label.

A reading gives every word, the sum of its subwords, a number. Control tokens are no words. For a label, a signed number is
positive for the label and negative for its rival. Weights have no sign.

A pooled head output is the pooled row of its pattern times the values: the first token's row, or the mean over all rows
without padding. The module uses numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...config import END, PAD, START, ModelConfig
from ...trace import Axis, Site, Trace
from ..heads.head_maps import head_map, mean_map


@dataclass(frozen=True)
class Words:
    """The words of a source, and the positions of each word's tokens."""

    labels: tuple[str, ...]
    places: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, source: Axis, mask: int | None = None) -> Words:
        """Returns the words of a source axis without control tokens, and without blanks, whose token is `mask`."""
        words: dict[int, list[int]] = {}
        for place, (token, word) in enumerate(zip(source.ids, source.word_numbers, strict=True)):
            if token not in (PAD, START, END, mask):
                words.setdefault(word, []).append(place)
        labels = ("".join(source.labels[place] for place in places) for places in words.values())
        return cls(tuple(labels), tuple(map(tuple, words.values())))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Returns the sums of token values [S] by word, [W]."""
        return np.array([values[list(places)].sum() for places in self.places], dtype=np.float64)


class StepMaterial(Protocol):
    """Input of a reading. Steps count from 0."""

    words: Words
    trace: Trace
    kind: str  # of the attention from the choice to the words
    norms: Mapping[Site, np.ndarray]  # [H,S]: norm of each head's value of each key after W_O

    def split(self, step: int) -> np.ndarray:
        """Returns the heads' part of the logit difference by source token, [S], see `direct_logits`."""

    def gradient(self, step: int) -> np.ndarray:
        """Returns gradient times embedding of each source token, [S], see `gradient_times_input`."""

    def occlusion(self, step: int) -> np.ndarray:
        """Returns the loss in log-probability of the step's token without each single word, [W]."""


@dataclass(frozen=True)
class StepReading:
    """A reading: its name in links and files, and its label and meaning in the interface.

    `read` returns a number for each word at a step, [W]. A reading with `takes_away` removes words itself, so it knows part
    of a removal test's answers.
    """

    name: str
    label: str
    meaning: str
    read: Callable[[StepMaterial, int], np.ndarray]
    removes_words: bool = False
    at_once: str = ""  # meaning for a model that reads the text at once, if it differs

    def describe(self, kind: str) -> str:
        """Returns the meaning for words reached by attention of a kind."""
        return self.at_once if self.at_once and kind == "encoder" else self.meaning


def _of_maps(maps: Callable[[StepMaterial], np.ndarray]) -> Callable[[StepMaterial, int], np.ndarray]:
    return lambda material, step: material.words.sums(maps(material)[step])


def _last(material: StepMaterial) -> np.ndarray:
    return material.trace.patterns[material.trace.sites(material.kind)[-1]].mean(axis=0)  # [T,S]


READINGS: dict[str, StepReading] = {
    reading.name: reading
    for reading in (
        StepReading(
            "last",
            "Weights, last layer",
            "The cross-attention weights of the last layer, mean over its heads.",
            _of_maps(_last),
            at_once="The attention weights of the last layer at this place, mean over its heads.",
        ),
        StepReading(
            "weights",
            "Weights, all layers",
            "The cross-attention weights, mean over all layers and heads.",
            _of_maps(lambda material: mean_map(material.trace, material.norms, material.kind, "weights")),
            at_once="The attention weights at this place, mean over all layers and heads.",
        ),
        StepReading(
            "rollout",
            "Rollout",
            "The cross-attention weights times the rollout of the encoder (Abnar and Zuidema 2020).",
            _of_maps(lambda material: mean_map(material.trace, material.norms, material.kind, "rollout")),
            at_once="The product of all layers’ weights, each averaged with the identity (Abnar and Zuidema 2020).",
        ),
        StepReading(
            "contribution",
            "Contribution",
            "The norm of weight times value times W_O (Kobayashi et al. 2020), mean over the layers.",
            _of_maps(lambda material: mean_map(material.trace, material.norms, material.kind, "contribution")),
        ),
        StepReading(
            "sum",
            "Sum of parts",
            "The part of all cross-attention heads in the logit difference, by attended word.",
            lambda material, step: material.words.sums(material.split(step)),
            at_once="The part of all heads in the logit difference, by attended word.",
        ),
        StepReading(
            "gradient",
            "Gradient × input",
            "The gradient of the token's log-probability by a word's embedding, times that embedding.",
            lambda material, step: material.words.sums(material.gradient(step)),
        ),
        StepReading(
            "occlusion",
            "Occlusion",
            "The loss in the token's log-probability without this word.",
            lambda material, step: material.occlusion(step),
            removes_words=True,
        ),
    )
}  # in the default order of the page

MIN_WORDS = 3  # words for a rank correlation; of two words it is always 1 or -1


class LabelMaterial(Protocol):
    """Input of a reading of a label."""

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
    """A reading of a label: its name in files, its label and meaning in the interface, and whether its numbers have a sign.

    `read` returns a number for each word, [W].
    """

    name: str
    label: str
    meaning: str
    signed: bool
    read: Callable[[LabelMaterial], np.ndarray]


def _of_map(values: Callable[[LabelMaterial], np.ndarray]) -> Callable[[LabelMaterial], np.ndarray]:
    return lambda material: material.words.sums(material.pooling @ values(material))


def _last_map(material: LabelMaterial) -> np.ndarray:
    return head_map(material.trace, material.norms, material.trace.sites("encoder")[-1], None, "weights")


LABEL_READINGS: dict[str, LabelReading] = {
    reading.name: reading
    for reading in (
        LabelReading(
            "last",
            "Weights, last layer",
            "The attention weights of the last layer, mean over its heads, pooled as the classifier pools.",
            False,
            _of_map(_last_map),
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
