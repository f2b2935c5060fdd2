"""What a reader of a translation should be careful about: its length, rare words, unsure tokens. Numbers, then sentences."""

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

RARE = 5  # a source word that occurs less often than this in the training data is rare
UNSURE = 0.3  # an output token of a lower probability is unsure
LOOKED = 0.25  # a source word that no step gives this weight is overlooked
# The first two were chosen on the dev sentences of en-fr: the most warnings of which half are right
# (model/workshop/reports/warning_report.py). The third: a third of the content words under it is missing in the translation,
# against 5% of all.
OF_EACH_STEP = "Each decoder row comes from the pass that chose its token."  # where each prefix is computed anew
_NAMED = 6  # words or tokens that a sentence names


@dataclass(frozen=True)
class RareWord:
    """A word of the source, how often training had it, and the positions of its tokens."""

    text: str
    count: int
    positions: tuple[int, ...]

    def told(self) -> str:
        return f"{self.text} ({numbers.times(self.count) if self.count else 'never'})"


def rare_words(tokenizer: Tokenizer, ids: Sequence[int], words: Mapping[str, int]) -> tuple[RareWord, ...]:
    """The words that training had fewer than `RARE` times, in their order; `ids` without control tokens."""
    found = []
    for text, positions in tokenizer.spelled(ids):
        if (count := words.get(text, 0)) < RARE:
            visible = text if text.isprintable() and text else "".join(tokenizer.pieces([ids[i] for i in positions]))
            found.append(RareWord(visible, count, positions))
    return tuple(found)


def unsure(trace: Trace) -> tuple[int, ...]:
    """The steps, from 0, whose token had a probability under `UNSURE`."""
    if trace.outputs is None:
        return ()
    return tuple(np.flatnonzero(trace.probabilities < UNSURE).tolist())


@dataclass(frozen=True)
class Overlooked:
    """A source word at which no step looked, the largest weight that any gave to one of its tokens, and its positions."""

    text: str
    weight: float
    positions: tuple[int, ...]


def overlooked(trace: Trace, seen: Seen | None) -> tuple[Overlooked, ...]:
    """The source words whose cross-attention, mean of all layers and heads, stays under `LOOKED` at every step.

    The words that training had most often are left out, where they are known: no step needs to look at *the*. None for a
    model without cross-attention.
    """
    sites = [site for site in trace.patterns if site.kind == "cross"]
    if not sites or trace.source is None:
        return ()
    most = np.mean([trace.patterns[site].mean(0) for site in sites], axis=0).max(0)  # [H,T,S] each, to [S]
    places: dict[int, list[int]] = {}
    for position, (token, number) in enumerate(zip(trace.source.ids, trace.source.words, strict=True)):
        if token not in (PAD, END):
            places.setdefault(number, []).append(position)
    found = []
    for own in places.values():
        text, weight = "".join(trace.source.labels[i] for i in own), float(most[own].max())
        known = seen is not None and text in seen.frequent
        if weight < LOOKED and not known and any(map(str.isalnum, text)):
            found.append(Overlooked(text, weight, tuple(own)))
    return tuple(found)


def kinds(trace: Trace, tokenizer: Tokenizer, seen: Seen | None) -> dict[str, bool]:
    """Which kinds of warning stand at a translation; those that need what is not known are left out."""
    real = [i for i in trace.source.ids if i not in (PAD, END)]
    told = {"unsure": bool(unsure(trace)), "overlooked": bool(overlooked(trace, seen))}
    if seen is None:
        return told
    rare = bool(rare_words(tokenizer, real, seen.words))
    return {"rare": rare, "long": bool(beyond(seen, len(real) + 1, len(trace.predicted)))} | told


def beyond(seen: Seen | None, source: int, target: int) -> dict[str, int]:
    """The sides, with their lengths in tokens, that are longer than nearly all that training had."""
    sizes = dict(zip(SIDES, (source, target), strict=True))
    return {side: size for side, size in sizes.items() if seen and size > seen.lengths[side].most}


def length_sentence(side: str, size: int, known: Lengths, text: str) -> str:
    """How a length stands to the training's, and what can be done; `text` is the source."""
    if side == "target":
        return f"The translation is long for this model: {size} tokens; {known.told()}."
    count = len(split(text))
    way = (
        f"It has {count} sentences: split it into them." if count > 1 else "Shorter sentences are closer to what it learned."
    )
    return f"Long for this model: {size} tokens; {known.told()}. Parts may be lost. {way}"


def rare_sentence(rare: Sequence[RareWord]) -> str:
    """Which words are rare, and how rare."""
    return f"Rare in training: {_some(list(dict.fromkeys(word.told() for word in rare)))}."


def unsure_sentence(steps: Sequence[int], trace: Trace, begun: int = 0) -> str:
    """Which tokens are unsure, and how unsure; the first `begun` were given."""
    total = len(trace.predicted) - begun
    named = [f"{trace.predicted.labels[t]} ({_under(trace, t)})" for t in steps]
    tokens, have = "token" if total == 1 else "tokens", "has" if len(steps) == 1 else "have"
    return f"{len(steps)} of {total} {tokens} {have} a probability under {UNSURE:g}: {_some(named)}."


def overlooked_sentence(words: Sequence[Overlooked], steps: int) -> str:
    """At which words no step looked, and how little."""
    named = [f"{word.text} ({down(word.weight)})" for word in words]
    return f"Hardly looked at: {_some(named)}, the most in any of {steps} steps, mean of all heads."


def _under(trace: Trace, step: int) -> str:
    return down(float(trace.probabilities[step]))


def down(value: float) -> str:
    """Two decimals, rounded down, so that what is under a bound is told as that."""
    return f"{math.floor(100 * value) / 100:.2f}"


def _some(named: Sequence[str]) -> str:
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more
