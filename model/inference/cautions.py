"""Warnings on a translation: long texts, rare words, unsure tokens and overlooked words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..config import END, PAD
from ..io import numbers
from ..text.corpus_stats import SIDES, CorpusStats, Lengths
from ..text.sentences import split
from ..trace import Trace

if TYPE_CHECKING:
    from ..text.tokenizer import Tokenizer

RARE_COUNT = 5  # a source word with a smaller training count is rare
UNSURE_PROBABILITY = 0.3  # an output token with a lower probability is unsure
OVERLOOKED_WEIGHT = 0.25  # a source word with a smaller weight at every step is overlooked
# The first two give the most warnings of which half are right, on the dev sentences of en-fr
# (model/workshop/reports/reliability_report.py). Below the third, a third of the content words is missing in the
# translation (all content words: 5%).
STEPWISE_NOTE = "Each decoder row comes from the pass that chose its token."  # where each step recomputes its prefix
_MAX_LISTED = 6  # maximum of words or tokens in a sentence


@dataclass(frozen=True)
class RareWord:
    """A source word, its training count and the positions of its tokens."""

    text: str
    count: int
    positions: tuple[int, ...]

    def describe(self) -> str:
        return f"{self.text} ({numbers.count_in_words(self.count) if self.count else 'never'})"


def rare_words(tokenizer: Tokenizer, ids: Sequence[int], words: Mapping[str, int]) -> tuple[RareWord, ...]:
    """Returns the words with a training count below `RARE_COUNT`, in text order; `ids` without control tokens."""
    rare = []
    for text, positions in tokenizer.words_with_positions(ids):
        if (count := words.get(text, 0)) < RARE_COUNT:
            visible_text = text if text.isprintable() and text else "".join(tokenizer.pieces([ids[i] for i in positions]))
            rare.append(RareWord(visible_text, count, positions))
    return tuple(rare)


def unsure_steps(trace: Trace) -> tuple[int, ...]:
    """Returns the steps, from 0, of tokens with a probability below `UNSURE_PROBABILITY`."""
    if trace.outputs is None:
        return ()
    return tuple(np.flatnonzero(trace.probabilities < UNSURE_PROBABILITY).tolist())


@dataclass(frozen=True)
class OverlookedWord:
    """A source word, the largest attention weight of its tokens at any step, and their positions."""

    text: str
    weight: float
    positions: tuple[int, ...]


def overlooked_words(trace: Trace, corpus_stats: CorpusStats | None) -> tuple[OverlookedWord, ...]:
    """Returns the source words whose cross-attention, mean of layers and heads, stays below `OVERLOOKED_WEIGHT`.

    The most frequent training words are left out where known: no step needs to attend to *the*. Empty for a model without
    cross-attention.
    """
    sites = [site for site in trace.patterns if site.kind == "cross"]
    if not sites or trace.source is None:
        return ()
    largest = np.mean([trace.patterns[site].mean(0) for site in sites], axis=0).max(0)  # [H,T,S] each, to [S]
    places: dict[int, list[int]] = {}
    for position, (token, number) in enumerate(zip(trace.source.ids, trace.source.word_numbers, strict=True)):
        if token not in (PAD, END):
            places.setdefault(number, []).append(position)
    words = []
    for own in places.values():
        text, weight = "".join(trace.source.labels[i] for i in own), float(largest[own].max())
        is_frequent = corpus_stats is not None and text in corpus_stats.frequent_words
        if weight < OVERLOOKED_WEIGHT and not is_frequent and any(map(str.isalnum, text)):
            words.append(OverlookedWord(text, weight, tuple(own)))
    return tuple(words)


def applicable_warnings(trace: Trace, tokenizer: Tokenizer, corpus_stats: CorpusStats | None) -> dict[str, bool]:
    """Returns the kinds of warning and whether each applies; kinds without training counts are left out."""
    real = [i for i in trace.source.ids if i not in (PAD, END)]
    warnings = {"unsure": bool(unsure_steps(trace)), "overlooked": bool(overlooked_words(trace, corpus_stats))}
    if corpus_stats is None:
        return warnings
    rare = bool(rare_words(tokenizer, real, corpus_stats.words))
    return {"rare": rare, "long": bool(overlong_sides(corpus_stats, len(real) + 1, len(trace.predicted_axis)))} | warnings


def overlong_sides(corpus_stats: CorpusStats | None, source: int, target: int) -> dict[str, int]:
    """Returns the sides that are longer than nearly all training texts, with their lengths in tokens."""
    sizes = dict(zip(SIDES, (source, target), strict=True))
    return {side: size for side, size in sizes.items() if corpus_stats and size > corpus_stats.lengths[side].usual_length}


def length_sentence(side: str, size: int, lengths: Lengths, text: str) -> str:
    """Returns the warning on a length, compared with training, and a remedy; `text` is the source."""
    if side == "target":
        return f"The translation is long for this model: {size} tokens; {lengths.describe()}."
    count = len(split(text))
    remedy = (
        f"It has {count} sentences. Translate them one by one."
        if count > 1
        else "Shorter sentences are closer to its training."
    )
    return f"Long for this model: {size} tokens; {lengths.describe()}. Parts may be lost. {remedy}"


def rare_sentence(rare: Sequence[RareWord]) -> str:
    """Returns the warning on rare words, with their counts."""
    return f"Rare in training: {_join_limited(list(dict.fromkeys(word.describe() for word in rare)))}."


def unsure_sentence(steps: Sequence[int], trace: Trace, prompt_length: int = 0) -> str:
    """Returns the warning on unsure tokens, with their probabilities; the prompt has `prompt_length` tokens."""
    total = len(trace.predicted_axis) - prompt_length
    named = [f"{trace.predicted_axis.labels[t]} ({_probability_text(trace, t)})" for t in steps]
    tokens, have = "token" if total == 1 else "tokens", "has" if len(steps) == 1 else "have"
    return f"{len(steps)} of {total} {tokens} {have} a probability under {UNSURE_PROBABILITY:g}: {_join_limited(named)}."


def overlooked_sentence(words: Sequence[OverlookedWord], steps: int) -> str:
    """Returns the warning on overlooked words, with their weights."""
    named = [f"{word.text} ({round_down(word.weight)})" for word in words]
    of_steps = "1 step" if steps == 1 else f"{steps} steps"
    return f"Hardly looked at: {_join_limited(named)}, the most in any of {of_steps}, mean of all heads."


def _probability_text(trace: Trace, step: int) -> str:
    return round_down(float(trace.probabilities[step]))


def round_down(value: float) -> str:
    """Returns two decimals, rounded down, so that a value below a bound stays below it; `<0.01` near 0."""
    return numbers.probability(value) if value < 0.01 else f"{math.floor(100 * value) / 100:.2f}"


def _join_limited(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _MAX_LISTED} more" if len(labels) > _MAX_LISTED else ""
    return ", ".join(labels[:_MAX_LISTED]) + more
