"""Warnings on a translation: long texts, rare words, unsure tokens and overlooked words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..config import END, PAD
from ..io import numbers
from ..text.corpus_stats import SIDES, Lengths, Seen
from ..text.sentences import split
from ..trace import Trace

if TYPE_CHECKING:
    from ..text.tokenizer import Tokenizer

RARE = 5  # a source word with a smaller training count is rare
UNSURE = 0.3  # an output token with a lower probability is unsure
LOOKED = 0.25  # a source word with a smaller weight at every step is overlooked
# The first two give the most warnings of which half are right, on the dev sentences of en-fr
# (model/workshop/reports/reliability_report.py). Below the third, a third of the content words is missing in the
# translation (all content words: 5%).
OF_EACH_STEP = "Each decoder row comes from the pass that chose its token."  # where each step recomputes its prefix
_NAMED = 6  # maximum of words or tokens in a sentence


@dataclass(frozen=True)
class RareWord:
    """A source word, its training count and the positions of its tokens."""

    text: str
    count: int
    positions: tuple[int, ...]

    def told(self) -> str:
        return f"{self.text} ({numbers.times(self.count) if self.count else 'never'})"


def rare_words(tokenizer: Tokenizer, ids: Sequence[int], words: Mapping[str, int]) -> tuple[RareWord, ...]:
    """Returns the words with a training count below `RARE`, in text order; `ids` without control tokens."""
    rare = []
    for text, positions in tokenizer.spelled(ids):
        if (count := words.get(text, 0)) < RARE:
            visible = text if text.isprintable() and text else "".join(tokenizer.pieces([ids[i] for i in positions]))
            rare.append(RareWord(visible, count, positions))
    return tuple(rare)


def unsure(trace: Trace) -> tuple[int, ...]:
    """Returns the steps, from 0, of tokens with a probability below `UNSURE`."""
    if trace.outputs is None:
        return ()
    return tuple(np.flatnonzero(trace.probabilities < UNSURE).tolist())


@dataclass(frozen=True)
class Overlooked:
    """A source word, the largest attention weight of its tokens at any step, and their positions."""

    text: str
    weight: float
    positions: tuple[int, ...]


def overlooked(trace: Trace, seen: Seen | None) -> tuple[Overlooked, ...]:
    """Returns the source words whose cross-attention, mean of layers and heads, stays below `OVERLOOKED_WEIGHT`.

    The most frequent training words are left out where known: no step needs to attend to *the*. Empty for a model without
    cross-attention.
    """
    sites = [site for site in trace.patterns if site.kind == "cross"]
    if not sites or trace.source is None:
        return ()
    largest = np.mean([trace.patterns[site].mean(0) for site in sites], axis=0).max(0)  # [H,T,S] each, to [S]
    places: dict[int, list[int]] = {}
    for position, (token, number) in enumerate(zip(trace.source.ids, trace.source.words, strict=True)):
        if token not in (PAD, END):
            places.setdefault(number, []).append(position)
    words = []
    for own in places.values():
        text, weight = "".join(trace.source.labels[i] for i in own), float(largest[own].max())
        known = seen is not None and text in seen.frequent
        if weight < LOOKED and not known and any(map(str.isalnum, text)):
            words.append(Overlooked(text, weight, tuple(own)))
    return tuple(words)


def kinds(trace: Trace, tokenizer: Tokenizer, seen: Seen | None) -> dict[str, bool]:
    """Returns the kinds of warning and whether each applies; kinds without training counts are left out."""
    real = [i for i in trace.source.ids if i not in (PAD, END)]
    warnings = {"unsure": bool(unsure(trace)), "overlooked": bool(overlooked(trace, seen))}
    if seen is None:
        return warnings
    rare = bool(rare_words(tokenizer, real, seen.words))
    return {"rare": rare, "long": bool(beyond(seen, len(real) + 1, len(trace.predicted)))} | warnings


def beyond(seen: Seen | None, source: int, target: int) -> dict[str, int]:
    """Returns the sides that are longer than nearly all training texts, with their lengths in tokens."""
    sizes = dict(zip(SIDES, (source, target), strict=True))
    return {side: size for side, size in sizes.items() if seen and size > seen.lengths[side].most}


def length_sentence(side: str, size: int, known: Lengths, text: str) -> str:
    """Returns the warning on a length, compared with training, and a remedy; `text` is the source."""
    if side == "target":
        return f"The translation is long for this model: {size} tokens; {known.told()}."
    count = len(split(text))
    remedy = (
        f"It has {count} sentences: split it into them." if count > 1 else "Shorter sentences are closer to what it learned."
    )
    return f"Long for this model: {size} tokens; {known.told()}. Parts may be lost. {remedy}"


def rare_sentence(rare: Sequence[RareWord]) -> str:
    """Returns the warning on rare words, with their counts."""
    return f"Rare in training: {_some(list(dict.fromkeys(word.told() for word in rare)))}."


def unsure_sentence(steps: Sequence[int], trace: Trace, begun: int = 0) -> str:
    """Returns the warning on unsure tokens, with their probabilities; the prompt has `prompt_length` tokens."""
    total = len(trace.predicted) - begun
    named = [f"{trace.predicted.labels[t]} ({_under(trace, t)})" for t in steps]
    tokens, have = "token" if total == 1 else "tokens", "has" if len(steps) == 1 else "have"
    return f"{len(steps)} of {total} {tokens} {have} a probability under {UNSURE:g}: {_some(named)}."


def overlooked_sentence(words: Sequence[Overlooked], steps: int) -> str:
    """Returns the warning on overlooked words, with their weights."""
    named = [f"{word.text} ({down(word.weight)})" for word in words]
    return f"Hardly looked at: {_some(named)}, the most in any of {steps} steps, mean of all heads."


def _under(trace: Trace, step: int) -> str:
    return down(float(trace.probabilities[step]))


def down(value: float) -> str:
    """Returns two decimals, rounded down, so that a value below a bound stays below it."""
    return f"{math.floor(100 * value) / 100:.2f}"


def _some(named: Sequence[str]) -> str:
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more
