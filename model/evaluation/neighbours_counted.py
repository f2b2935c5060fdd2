"""What counting knows of a blank: which words stood between the same neighbours, up to two on either side.

For nine selections of the neighbours, from none to all four, the relative frequency of each word between them, and a mixture
of these: the weights of those selections that were seen at all are a softmax over one number each, which depends on how
often and how variously the selection was seen. The numbers are those that foretell dev best (deleted interpolation, Jelinek
and Mercer 1980, with neighbours on both sides).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from model.evaluation.single_blanks import Blank, Choices, Told
from model.text.tokenizer import Tokenizer

SELECTIONS = ((), (-1,), (1,), (-2, -1), (1, 2), (-1, 1), (-2, -1, 1), (-1, 1, 2), (-2, -1, 1, 2))
LEVELS = 8  # of how often a selection was seen: 1, 2, 4, ...; each twice, as more or fewer different words were seen
ADDED = 0.5  # to the count of each word, whatever its neighbours
SHRUNK = 1e-3  # what a squared number costs, against those that dev hardly tells of
Key = tuple[int, bool, tuple[str, ...]]
Sentences = Sequence[Sequence[int]]


class Counted:
    """Counts of the sentences of a training, for the blanks that are asked of it alone."""

    def __init__(
        self, tokenizer: Tokenizer, choices: Choices, train: Sentences, asked: Sequence[tuple[Sentences, Blank]]
    ) -> None:
        self.tokenizer, self.choices = tokenizer, choices
        self._words: dict[tuple[int, int], list[str]] = {}
        self._kept: list[Sentences] = []  # whose words are known
        self._counts: dict[Key, Counter[int]] = {
            key: Counter()
            for sentences, blank in asked
            for key in self._keys(self._spelled(sentences, blank.sentence), blank)
        }
        for ids in train:
            spelled = tokenizer.spelled(ids)
            words = [text for text, _ in spelled]
            for word, (_, at) in enumerate(spelled):
                if len(at) == 1 and (token := ids[at[0]]) in choices.number:
                    for key in self._keys(words, Blank(token, 0, at[0], word)):
                        if (own := self._counts.get(key)) is not None:
                            own[choices.number[token]] += 1

    def _spelled(self, sentences: Sentences, number: int) -> list[str]:
        which = next((n for n, each in enumerate(self._kept) if each is sentences), len(self._kept))
        if which == len(self._kept):
            self._kept.append(sentences)
        if (which, number) not in self._words:
            self._words[which, number] = [text for text, _ in self.tokenizer.spelled(sentences[number])]
        return self._words[which, number]

    def _keys(self, words: Sequence[str], blank: Blank) -> Iterator[Key]:
        """The neighbours of a blank by each selection; beyond the ends stands an empty word."""
        near = {at: words[blank.word + at] if 0 <= blank.word + at < len(words) else "" for at in (-2, -1, 1, 2)}
        for n, offsets in enumerate(SELECTIONS):
            yield n, self.choices.opens(blank.token), tuple(near[at] for at in offsets)

    def counts(self, sentences: Sentences, blank: Blank) -> list[Counter[int]]:
        """What stood between the blank's neighbours, by each selection."""
        return [self._counts[key] for key in self._keys(self._spelled(sentences, blank.sentence), blank)]

    def size(self, blank: Blank) -> int:
        """How many words a blank may be."""
        return len(self.choices.tokens[self.choices.opens(blank.token)])


def _buckets(parts: Sequence[Counter[int]]) -> list[int]:
    """Which number weights each selection; -1 for one that was never seen. Without neighbours there is always one."""
    return [_bucket(own, own.total()) if n else 0 for n, own in enumerate(parts)]


def _bucket(own: Counter[int], total: int) -> int:
    return 2 * min(LEVELS - 1, int(math.log2(total))) + (2 * len(own) > total) if total else -1


class Neighbours:
    """The mixture, tuned on blanks of dev."""

    def __init__(self, counted: Counted, sentences: Sentences, dev: Sequence[Blank]) -> None:
        self.counted = counted
        found = [counted.counts(sentences, blank) for blank in dev]
        rows = [[self._share(n, own, blank) for n, own in enumerate(each)] for each, blank in zip(found, dev, strict=True)]
        shares, buckets = (
            torch.tensor(rows, dtype=torch.float64),
            torch.tensor([_buckets(parts) for parts in found]),
        )  # [N,9]
        self.numbers = torch.zeros(len(SELECTIONS), 2 * LEVELS, dtype=torch.float64, requires_grad=True)
        search = torch.optim.LBFGS([self.numbers], max_iter=60, tolerance_change=1e-7, line_search_fn="strong_wolfe")

        def loss() -> torch.Tensor:
            search.zero_grad()
            total = SHRUNK * self.numbers.square().mean() - (self._weights(buckets) * shares).sum(-1).log().mean()
            total.backward()
            return total

        with torch.enable_grad():
            search.step(loss)
        self.numbers.requires_grad_(False)

    def _share(self, selection: int, own: Counter[int], blank: Blank) -> float:
        """The relative frequency of the right word; without neighbours no word has none."""
        count, total = own[self.counted.choices.number[blank.token]], own.total()
        if not selection:
            return (count + ADDED) / (total + ADDED * self.counted.size(blank))
        return count / total if total else 0.0

    def _weights(self, buckets: torch.Tensor) -> torch.Tensor:
        """Weights [N,9] of the selections by their buckets [N,9]."""
        known = self.numbers[torch.arange(len(SELECTIONS)), buckets.clamp(min=0)]  # [N,9]
        return known.masked_fill(buckets < 0, -torch.inf).log_softmax(-1).exp()

    def distribution(self, sentences: Sentences, blank: Blank) -> np.ndarray:
        """The probability of every word that the blank may be."""
        parts = self.counted.counts(sentences, blank)
        weights = self._weights(torch.tensor([_buckets(parts)]))[0].tolist()
        size, plain = self.counted.size(blank), parts[0].total()
        found = np.full(size, weights[0] * ADDED / (plain + ADDED * size))
        for n, (own, weight) in enumerate(zip(parts, weights, strict=True)):
            if own:
                total = own.total() if n else plain + ADDED * size
                found[np.fromiter(own, np.int64)] += weight / total * np.fromiter(own.values(), float)
        return found

    def score(self, sentences: Sentences, asked: Sequence[Blank]) -> Told:
        """What counting says of each blank."""
        rows = [(self.distribution(sentences, blank), self.counted.choices.number[blank.token]) for blank in asked]
        return Told(np.array([math.log(row[n]) for row, n in rows]), np.array([row.argmax() == n for row, n in rows]))
