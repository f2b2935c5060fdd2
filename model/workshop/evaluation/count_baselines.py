"""Count baselines: a logistic regression over words, and n-gram models with smoothing.

The regression reads the words of a text and the pairs of neighbours (Wang and Manning 2012). It is fitted to the minimum,
and its penalty is chosen on other examples.

The n-gram models have interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999):

    P_k(w | h) = (c(hw) - D(c(hw))) / c(h .) + gamma(h) P_k-1(w | h')

h' is h without its first symbol. gamma(h) is the mass that the discounts D remove, so the sum over w is one. In the highest
order c counts occurrences. In lower orders it counts the different symbols before hw. The lowest order is mixed with the
uniform distribution. With n_i, the number of n-grams of an order whose count is i:

    Y = n1 / (n1 + 2 n2),  D(1) = 1 - 2 Y n2/n1,  D(2) = 2 - 3 Y n3/n2,  D(3 and more) = 3 - 4 Y n4/n3

Symbols are integers: bytes or tokens. Start symbols pad the context before a text and are never predicted.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

PENALTIES = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 1e-3, 1e-2)  # candidates
STEPS = 150  # at most, of the optimiser


@dataclass(frozen=True)
class LogisticRegression:
    """softmax(x W + b), float64: W [F,C], b [C]; `penalty` times the mean square sum of W was added to the mean loss."""

    weight: Tensor
    bias: Tensor
    penalty: float

    def log_probs(self, x: Tensor) -> Tensor:
        """Returns natural log-probabilities [N,C] of features [N,F], dense or sparse."""
        return (x.double() @ self.weight + self.bias).log_softmax(-1)


def fit(x: Tensor, labels: Tensor, classes: int, penalty: float) -> LogisticRegression:
    """Returns the minimum for features [N,F], dense or sparse, and labels [N]. It is unique, so no seed matters."""
    x = x.double()
    weight = torch.zeros(x.size(1), classes, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS(
        [weight, bias], max_iter=STEPS, tolerance_grad=1e-7, tolerance_change=1e-8, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        search.zero_grad()
        total = F.cross_entropy(x @ weight + bias, labels) + penalty * weight.square().sum()
        total.backward()
        return total

    with torch.enable_grad():
        search.step(loss)
    return LogisticRegression(weight.detach(), bias.detach(), penalty)


def tune_regression(
    train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor], classes: int, penalties: Sequence[float] = PENALTIES
) -> tuple[LogisticRegression, float]:
    """Returns the fit with the lowest loss on dev, and this loss in nats per example."""
    fits = [fit(*train, classes, penalty) for penalty in penalties]
    losses = [float(F.nll_loss(each.log_probs(dev[0]), dev[1])) for each in fits]
    best = min(range(len(fits)), key=losses.__getitem__)
    return fits[best], losses[best]


MIN_TEXTS = 2  # texts that must contain a word or pair
ORDERS = (1, 2)  # words alone; words and pairs: dev chooses
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def _terms(text: str, order: int) -> Iterator[str]:
    words = _WORD.findall(text.lower())
    yield from words
    if order > 1:
        yield from map(" ".join, itertools.pairwise(words))


class BagOfWords:
    """Columns for the words, or words and pairs, of a training set. Every row has length 1."""

    def __init__(self, texts: Sequence[str], order: int) -> None:
        self.order = order
        seen = Counter(part for text in texts for part in set(_terms(text, order)))
        self.columns = {part: n for n, part in enumerate(sorted(part for part, count in seen.items() if count >= MIN_TEXTS))}

    def features(self, texts: Sequence[str]) -> Tensor:
        """Returns the columns that each text has: sparse, float64 [N,F]."""
        rows, columns, values = [], [], []
        for number, text in enumerate(texts):
            own = sorted({self.columns[part] for part in _terms(text, self.order) if part in self.columns})
            rows += [number] * len(own)
            columns += own
            values += [max(1, len(own)) ** -0.5] * len(own)
        entries = torch.tensor(values, dtype=torch.float64)
        size = (len(texts), len(self.columns))
        return torch.sparse_coo_tensor(torch.tensor([rows, columns]).long(), entries, size, check_invariants=True).coalesce()


def tune_bag_of_words(
    train: tuple[Sequence[str], Tensor], dev: tuple[Sequence[str], Tensor], classes: int
) -> tuple[BagOfWords, LogisticRegression, float]:
    """Returns the best combination of order and penalty on dev, and its loss there in nats per example."""
    fits = []
    for order in ORDERS:
        bags = BagOfWords(train[0], order)
        fitted, loss = tune_regression((bags.features(train[0]), train[1]), (bags.features(dev[0]), dev[1]), classes)
        fits.append((bags, fitted, loss))
    return min(fits, key=lambda each: each[2])


FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)  # used where the formulas are undefined for lack of n-grams, as in KenLM


def discounts(counts: np.ndarray) -> np.ndarray:
    """Returns D of the counts 0, 1, 2, and 3 and more, [4]. A discount is positive and at most its count."""
    n = np.bincount(np.minimum(counts, 5), minlength=6).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = n[1] / (n[1] + 2 * n[2])
        estimates = np.array([i - (i + 1) * share * n[i + 1] / n[i] for i in (1, 2, 3)])
    fit = np.isfinite(estimates) & (estimates > 0) & (estimates <= (1, 2, 3))
    return np.concatenate([[0.0], np.where(fit, estimates, FALLBACK_DISCOUNTS)])


@dataclass(frozen=True)
class _NgramCounts:
    """Counts of the n-grams of an order, with their discounts and backoff weights."""

    counts: np.ndarray  # [G]
    discounts: np.ndarray  # [4]
    totals: np.ndarray  # of each context: [C]
    backoff: np.ndarray  # gamma of each context: [C]

    @classmethod
    def from_counts(cls, counts: np.ndarray, contexts: np.ndarray, size: int) -> _NgramCounts:
        """Computes the discounts of counts [G] of n-grams; `contexts` [G] numbers their contexts, of which there are
        `size`."""
        values = discounts(counts)
        totals = np.bincount(contexts, counts, size)
        return cls(counts, values, totals, np.bincount(contexts, values[np.minimum(counts, 3)], size) / totals)

    def interpolate(self, places: np.ndarray, present: np.ndarray, contexts: np.ndarray, lower: np.ndarray) -> np.ndarray:
        """Returns P_k of the n-grams at `places` (if present) in known contexts, [N]."""
        counts = np.where(present, self.counts[places], 0)
        discounted = counts - self.discounts[np.minimum(counts, 3)]
        return discounted / self.totals[contexts] + self.backoff[contexts] * lower


@dataclass(frozen=True)
class _NgramOrder:
    """N-grams of an order. A key is the context's number times the number of symbols, plus the last symbol."""

    keys: np.ndarray  # of the n-grams, sorted: [G]
    occurrences: _NgramCounts
    continuations: _NgramCounts | None  # different symbols before each; None of the highest order
    longer_contexts: (
        np.ndarray | None
    )  # keys of the contexts that are one symbol longer, sorted; their places are their numbers


class NGrams:
    """Models of all orders from 1 to the highest, with shared counts."""

    def __init__(self, texts: Sequence[np.ndarray], symbols: int, order: int) -> None:
        """Counts texts of symbols from 0 to `symbols` - 1.

        Raises ValueError where there is no symbol, or the order is below 1.
        """
        count = sum(map(len, texts))
        if order < 1 or not count:
            raise ValueError(f"the order is {order}, the texts have {count} symbols; expected at least 1 each")
        self.order, self.symbols, self._base = order, symbols, symbols + 1
        stream = np.concatenate([self._padded(text) for text in texts])
        positions = (stream < symbols).nonzero()[0]
        contexts, size = np.zeros(len(positions), np.int64), 1
        grams, longer = [], []
        for k in range(1, order + 1):
            grams.append((*np.unique(contexts * self._base + stream[positions], return_counts=True), size))
            if k < order:
                keys, contexts = np.unique(contexts * self._base + stream[positions - k], return_inverse=True)
                longer.append(keys)
                size = len(keys)
        self._orders = [self._build_order(k, grams, longer) for k in range(order)]

    def _build_order(self, k: int, grams: list[tuple[np.ndarray, np.ndarray, int]], longer: list[np.ndarray]) -> _NgramOrder:
        keys, counts, size = grams[k]
        before = None
        if k + 1 < self.order:
            above = grams[k + 1][0]  # each n-gram of the next order is one symbol before one of this
            own = longer[k][above // self._base] // self._base * self._base + above % self._base
            before = _NgramCounts.from_counts(
                np.bincount(np.searchsorted(keys, own), minlength=len(keys)), keys // self._base, size
            )
        return _NgramOrder(
            keys, _NgramCounts.from_counts(counts, keys // self._base, size), before, longer[k] if before else None
        )

    def _padded(self, text: np.ndarray) -> np.ndarray:
        return np.concatenate([np.full(self.order, self.symbols), np.asarray(text)]).astype(np.int64)

    def probabilities(self, text: np.ndarray) -> np.ndarray:
        """Returns the probability of each symbol after all before it, by the model of each order: [order, N]."""
        stream = self._padded(text)
        positions = np.arange(self.order, len(stream))
        contexts, known = np.zeros(len(positions), np.int64), np.ones(len(positions), bool)
        lower, probs = np.full(len(positions), 1 / self.symbols), np.empty((self.order, len(positions)))
        for k, level in enumerate(self._orders, 1):
            places, there = _find_keys(level.keys, contexts * self._base + stream[positions])
            there &= known
            probs[k - 1] = np.where(known, level.occurrences.interpolate(places, there, contexts, lower), lower)
            if level.continuations is not None and level.longer_contexts is not None:
                lower = np.where(known, level.continuations.interpolate(places, there, contexts, lower), lower)
                contexts, there = _find_keys(level.longer_contexts, contexts * self._base + stream[positions - k])
                known &= there
        return probs


def _find_keys(keys: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the position of each key among sorted ones, and a mask of the keys that are present."""
    places = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return places, keys[places] == queries
