"""What the words of a text alone tell of its label, whatever their order: a logistic regression over the words and the pairs
of neighbours that it has (Wang and Manning 2012 find such bags hard to beat on short reviews)."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from model.evaluation import logistic
from model.evaluation.logistic import Logistic

LEAST = 2  # texts that a word or a pair must stand in
ORDERS = (1, 2)  # words alone; words and pairs: dev chooses
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def _parts(text: str, order: int) -> Iterator[str]:
    words = _WORD.findall(text.lower())
    yield from words
    if order > 1:
        yield from map(" ".join, itertools.pairwise(words))


class Bags:
    """The words, or words and pairs, of a training, as columns; every row has the length 1."""

    def __init__(self, texts: Sequence[str], order: int) -> None:
        self.order = order
        seen = Counter(part for text in texts for part in set(_parts(text, order)))
        self.columns = {part: n for n, part in enumerate(sorted(part for part, count in seen.items() if count >= LEAST))}

    def features(self, texts: Sequence[str]) -> Tensor:
        """Which of them a text has: sparse, float64 [N,F]."""
        rows, columns, values = [], [], []
        for number, text in enumerate(texts):
            own = sorted({self.columns[part] for part in _parts(text, self.order) if part in self.columns})
            rows += [number] * len(own)
            columns += own
            values += [max(1, len(own)) ** -0.5] * len(own)
        made = torch.tensor(values, dtype=torch.float64)
        size = (len(texts), len(self.columns))
        return torch.sparse_coo_tensor(torch.tensor([rows, columns]).long(), made, size, check_invariants=True).coalesce()


def tuned(
    train: tuple[Sequence[str], Tensor], dev: tuple[Sequence[str], Tensor], classes: int
) -> tuple[Bags, Logistic, float]:
    """Of both kinds of bags and all penalties the fit to texts and labels that foretells dev best, and its loss there."""
    found = []
    for order in ORDERS:
        bags = Bags(train[0], order)
        fitted, loss = logistic.tuned_regression(
            (bags.features(train[0]), train[1]), (bags.features(dev[0]), dev[1]), classes
        )
        found.append((bags, fitted, loss))
    return min(found, key=lambda each: each[2])
