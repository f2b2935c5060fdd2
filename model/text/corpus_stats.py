"""Statistics of the training data of a model: lengths of sentences, and counts of words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..config import MAX_TOKENS
from ..io.files import is_count

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

NEARLY_ALL = 0.99  # the share of sentences that "nearly all" means
FREQUENT = 120
SIDES = ("source", "target")


@dataclass(frozen=True)
class Lengths:
    """Counts of the sentences of one side by their number of tokens, `</s>` included. The last entry is not 0."""

    histogram: tuple[int, ...]

    @property
    def max_length(self) -> int:
        return len(self.histogram) - 1

    @property
    def sentences(self) -> int:
        return sum(self.histogram)

    @property
    def usual_length(self) -> int:
        """Returns the smallest length that 99% of the sentences do not exceed."""
        enough, total = math.ceil(NEARLY_ALL * self.sentences), 0
        for length, count in enumerate(self.histogram):
            total += count
            if total >= enough:
                return length
        return self.max_length

    def describe(self) -> str:
        """Returns `99% of its training sentences had at most 19, the longest 64`."""
        return f"{NEARLY_ALL:.0%} of its training sentences had at most {self.usual_length}, the longest {self.max_length}"


@dataclass(frozen=True)
class CorpusStats:
    """Statistics of the training pairs of a checkpoint, with its own vocabulary."""

    lengths: Mapping[str, Lengths]  # by side
    words: Mapping[str, int] = field(default_factory=dict)  # counts of the source words, as written

    @cached_property
    def frequent_words(self) -> frozenset[str]:
        """Returns the most frequent words, which hold a sentence together."""
        return frozenset(sorted(self.words, key=self.words.__getitem__, reverse=True)[:FREQUENT])

    @classmethod
    def count(
        cls,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        tokenizer: Tokenizer,
        counted_sources: int | None = None,
    ) -> CorpusStats:
        """Counts encoded pairs, each side ending in `</s>`; `tokenizer` is the source's.

        Words are counted in the first `counted_sources` sources only: later ones are made from them (joined, or with other
        names).
        """
        sides = zip(SIDES, (sources, targets), strict=True)
        words = Counter(word for row in sources[:counted_sources] for word, _ in tokenizer.words_with_positions(row[:-1]))
        return cls({side: _lengths(rows) for side, rows in sides}, dict(words.most_common()))

    def to_dict(self) -> dict[str, Any]:
        return {"lengths": {side: list(self.lengths[side].histogram) for side in SIDES}, "words": dict(self.words)}

    @classmethod
    def from_dict(cls, values: Any) -> CorpusStats:
        """Reads the values of `to_dict`; ValueError that names the key, the value and the expected value."""
        lengths = values.get("lengths") if isinstance(values, dict) else None
        histograms = [lengths.get(side) for side in SIDES] if isinstance(lengths, dict) else [None, None]
        for side, histogram in zip(SIDES, histograms, strict=True):
            if not (isinstance(histogram, list) and histogram and all(map(is_count, histogram)) and histogram[-1]):
                raise ValueError(
                    f"'lengths': {side!r} is no list of counts, one for each number of tokens from 0 on, the last above 0"
                )
            if len(histogram) > MAX_TOKENS + 1:
                raise ValueError(
                    f"'lengths': {side!r} has sentences of {len(histogram) - 1:,} tokens; expected at most {MAX_TOKENS}"
                )
        if sum(histograms[0]) != sum(histograms[1]):
            raise ValueError(
                f"'lengths' has {sum(histograms[0]):,} source and {sum(histograms[1]):,} target sentences; "
                "expected as many of both"
            )
        words = values.get("words", {})
        if not (isinstance(words, dict) and all(map(is_count, words.values()))):
            raise ValueError("'words' is no object with a count for each word")
        return cls({side: Lengths(tuple(histogram)) for side, histogram in zip(SIDES, histograms, strict=True)}, words)


def _lengths(rows: Sequence[Sequence[int]]) -> Lengths:
    counts = Counter(map(len, rows))
    return Lengths(tuple(counts[n] for n in range(max(counts) + 1)))
