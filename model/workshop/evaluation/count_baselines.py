"""What the words of a text alone tell of its label, whatever their order: a logistic regression over the words and the pairs
of neighbours that it has (Wang and Manning 2012 find such bags hard to beat on short reviews).

Logistic regression, what simple features are worth: fitted to the end, its penalty chosen on other examples.

What counting can tell of a text: n-gram models with interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999).

    P_k(w | h) = (c(hw) - D(c(hw))) / c(h .) + gamma(h) P_k-1(w | h')

where h' is h without its first symbol, and gamma(h) hands on just what the discounts D took, so that the sum over w is one.
Of the highest order c counts occurrences; of each lower one it counts the different symbols that stand before hw, as Kneser
and Ney have it. Under the lowest lies the uniform distribution. With n_i, how many n-grams of an order have the count i:

    Y = n1 / (n1 + 2 n2),  D(1) = 1 - 2 Y n2/n1,  D(2) = 2 - 3 Y n3/n2,  D(3 and more) = 3 - 4 Y n4/n3

Symbols are whole numbers: bytes, tokens. Before a text stand as many start symbols as a context is long; none is predicted.
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

PENALTIES = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 1e-3, 1e-2)  # that are tried
STEPS = 150  # of the search, at most


@dataclass(frozen=True)
class Logistic:
    """softmax(x W + b), float64: W [F,C], b [C]; `penalty` times the mean square sum of W was added to the mean loss."""

    weight: Tensor
    bias: Tensor
    penalty: float

    def log_probs(self, x: Tensor) -> Tensor:
        """Features [N,F], dense or sparse, to natural log-probabilities [N,C]."""
        return (x.double() @ self.weight + self.bias).log_softmax(-1)


def fit(x: Tensor, labels: Tensor, classes: int, penalty: float) -> Logistic:
    """The minimum for features [N,F], dense or sparse, and labels [N]; it is the only one, so no seed matters."""
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
    return Logistic(weight.detach(), bias.detach(), penalty)


def tuned_regression(
    train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor], classes: int, penalties: Sequence[float] = PENALTIES
) -> tuple[Logistic, float]:
    """Of the fits to features and labels the one that foretells dev best, and its loss there in nats an example."""
    fits = [fit(*train, classes, penalty) for penalty in penalties]
    losses = [float(F.nll_loss(made.log_probs(dev[0]), dev[1])) for made in fits]
    best = min(range(len(fits)), key=losses.__getitem__)
    return fits[best], losses[best]


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
        fitted, loss = tuned_regression((bags.features(train[0]), train[1]), (bags.features(dev[0]), dev[1]), classes)
        found.append((bags, fitted, loss))
    return min(found, key=lambda each: each[2])


INSTEAD = (0.5, 1.0, 1.5)  # the discounts where the formulas have none, too few n-grams being there; KenLM takes the same


def discounts(counts: np.ndarray) -> np.ndarray:
    """D of the counts 0, 1, 2, and 3 and more; a discount is more than 0 and no more than its count: [4]."""
    n = np.bincount(np.minimum(counts, 5), minlength=6).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = n[1] / (n[1] + 2 * n[2])
        found = np.array([i - (i + 1) * share * n[i + 1] / n[i] for i in (1, 2, 3)])
    fit = np.isfinite(found) & (found > 0) & (found <= (1, 2, 3))
    return np.concatenate([[0.0], np.where(fit, found, INSTEAD)])


@dataclass(frozen=True)
class _Counts:
    """Counts of the n-grams of an order, by one way of counting, with what follows from them."""

    counts: np.ndarray  # [G]
    discounts: np.ndarray  # [4]
    totals: np.ndarray  # of each context: [C]
    left: np.ndarray  # gamma of each context: [C]

    @classmethod
    def of(cls, counts: np.ndarray, contexts: np.ndarray, size: int) -> _Counts:
        """Counts [G] of n-grams with the numbers of their contexts [G], of which there are `size`."""
        taken = discounts(counts)
        totals = np.bincount(contexts, counts, size)
        return cls(counts, taken, totals, np.bincount(contexts, taken[np.minimum(counts, 3)], size) / totals)

    def mixed(self, places: np.ndarray, found: np.ndarray, contexts: np.ndarray, lower: np.ndarray) -> np.ndarray:
        """P_k of n-grams at `places`, if they are there, in contexts that are known, [N]."""
        counts = np.where(found, self.counts[places], 0)
        kept = counts - self.discounts[np.minimum(counts, 3)]
        return kept / self.totals[contexts] + self.left[contexts] * lower


@dataclass(frozen=True)
class _Order:
    """The n-grams of an order: a key is the number of the context times the number of symbols, plus the last symbol."""

    keys: np.ndarray  # of the n-grams, sorted: [G]
    occurrences: _Counts
    before: _Counts | None  # different symbols before each; None of the highest order
    longer: np.ndarray | None  # keys of the contexts that are one symbol longer, sorted; their places are their numbers


class NGrams:
    """The models of all orders from 1 to the highest, which have their counts in common."""

    def __init__(self, texts: Sequence[np.ndarray], symbols: int, order: int) -> None:
        """Counts texts of symbols from 0 to `symbols` - 1. ValueError where there is no symbol, or no order."""
        count = sum(map(len, texts))
        if order < 1 or not count:
            raise ValueError(f"the order is {order}, the texts have {count} symbols; expected at least 1 each")
        self.order, self.symbols, self._base = order, symbols, symbols + 1
        stream = np.concatenate([self._padded(text) for text in texts])
        at = (stream < symbols).nonzero()[0]
        contexts, size = np.zeros(len(at), np.int64), 1
        grams, longer = [], []
        for k in range(1, order + 1):
            grams.append((*np.unique(contexts * self._base + stream[at], return_counts=True), size))
            if k < order:
                keys, contexts = np.unique(contexts * self._base + stream[at - k], return_inverse=True)
                longer.append(keys)
                size = len(keys)
        self._orders = [self._made(k, grams, longer) for k in range(order)]

    def _made(self, k: int, grams: list[tuple[np.ndarray, np.ndarray, int]], longer: list[np.ndarray]) -> _Order:
        keys, counts, size = grams[k]
        before = None
        if k + 1 < self.order:
            above = grams[k + 1][0]  # each n-gram of the next order is one symbol before one of this
            own = longer[k][above // self._base] // self._base * self._base + above % self._base
            before = _Counts.of(np.bincount(np.searchsorted(keys, own), minlength=len(keys)), keys // self._base, size)
        return _Order(keys, _Counts.of(counts, keys // self._base, size), before, longer[k] if before else None)

    def _padded(self, text: np.ndarray) -> np.ndarray:
        return np.concatenate([np.full(self.order, self.symbols), np.asarray(text)]).astype(np.int64)

    def probabilities(self, text: np.ndarray) -> np.ndarray:
        """Of each symbol of a text after all before it, by the model of each order: [order, N]."""
        stream = self._padded(text)
        at = np.arange(self.order, len(stream))
        contexts, known = np.zeros(len(at), np.int64), np.ones(len(at), bool)
        lower, found = np.full(len(at), 1 / self.symbols), np.empty((self.order, len(at)))
        for k, level in enumerate(self._orders, 1):
            places, there = _looked_up(level.keys, contexts * self._base + stream[at])
            there &= known
            found[k - 1] = np.where(known, level.occurrences.mixed(places, there, contexts, lower), lower)
            if level.before is not None and level.longer is not None:
                lower = np.where(known, level.before.mixed(places, there, contexts, lower), lower)
                contexts, there = _looked_up(level.longer, contexts * self._base + stream[at - k])
                known &= there
        return found


def _looked_up(keys: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each key stands among sorted ones, and whether it is there; a place where it is not."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places, keys[places] == wanted
