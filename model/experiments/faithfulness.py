"""Which reading is true? Source words are taken away in the order in which a reading ranks them, and in reverse.

Where the order is right, the target's log-probability falls at once if the most important word goes first, and stays if it
goes last (deletion and insertion curves: Samek et al. 2017, Petsiuk et al. 2018; read from its end, the second is the
insertion of words into nothing). The area between the two curves, as a share of what all words together are worth, is the
measure: 0 for a random order on average, negative for a wrong one.

Source words taken away: no token may look at them any more, neither in the encoder nor from the decoder.

The others keep their places, and the target is read as it is: what changes is what can be known of the words, and nothing
else. (To delete them from the text would move the others.) A model has hardly met such gaps in training: that is why an
order is compared with random ones, which make the same gaps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.config import END, PAD, START
from model.inference.analysis import Analysis
from model.inference.source_reading import blank_places, edits_of, likeliest
from model.network.context import Pass, forced
from model.readings.logits.choice_logits import of_choice
from model.readings.tokens.token_attribution import gradient_times_input, value_norms
from model.readings.tokens.word_readings import READINGS, Words

Away = frozenset[int]  # words, from 0
TOKENS = 1024  # of a batch, both sides together: what is computed at once stays in the processor's caches


class TakenAway:
    """Log-probabilities of the target's tokens where some of the source words are away; nothing is computed twice. Of a
    model that fills in they are those of what the blanks are filled with, or of all words where there is no blank.

    Under the intervention of the analysis. Raises ValueError for a model that reads no source, and where the padding mask is
    off: then what is masked would be seen all the same.
    """

    def __init__(self, checkpoint: Checkpoint, analysis: Analysis) -> None:
        trace = analysis.whole
        if trace.source is None or trace.classes:
            raise ValueError("This checkpoint chooses no token from a source: there are no source words to take away.")
        if not analysis.request.intervention.padding_mask:
            raise ValueError("The padding mask is off, so words that are taken away would still be seen: switch it on.")
        self._checkpoint, self._analysis, self._source = checkpoint, analysis, trace.source.ids
        mask, self.kind = None, "cross"  # the kind of attention that brings the words to where a token is chosen
        if trace.outputs is not None:
            self.ids, self.steps = trace.outputs.ids, list(range(len(trace.outputs)))
        else:
            mask, self.kind, places = checkpoint.source_tokenizer.mask, "encoder", blank_places(analysis, checkpoint)
            self.ids = likeliest(analysis, places, mask)
            self.steps = places or [n for n, token in enumerate(self._source) if token not in (PAD, START, END)]
        self.words = Words.of(trace.source, mask)
        self._known: dict[tuple[Away, int], float] = {}

    def __getitem__(self, asked: tuple[Away, int]) -> float:
        """The log-probability of a step's token without some words, once it has been computed."""
        return self._known[asked]

    def compute(self, wanted: Mapping[int, Collection[Away]], progress: Callable[[float], None] = lambda done: None) -> None:
        """Computes what is not known of the sets of words that are wanted at each step (from 0); `progress` hears the share
        that is done."""
        missing = {
            step: sets for step, each in wanted.items() if (sets := {s for s in each if (s, step) not in self._known})
        }
        batches = list(self._batches(missing))
        for done, (sets, steps) in enumerate(batches, 1):
            found = self._pass(sets, steps)
            self._known |= {
                (away, step): float(value)
                for away, row in zip(sets, found.tolist(), strict=True)
                for step, value in zip(steps, row, strict=True)
            }
            progress(done / len(batches))

    def _batches(self, missing: Mapping[int, Collection[Away]]) -> Iterator[tuple[list[Away], list[int]]]:
        """Sets of words and the steps that one pass reads of all of them."""
        if self._analysis.last is None:  # one pass tells all steps
            groups = [(list(missing), set().union(*missing.values()))] if missing else []
        else:  # each step was decoded over its own prefix
            groups = [([step], sets) for step, sets in missing.items()]
        for steps, sets in groups:
            ordered = sorted(sets, key=lambda away: (len(away), sorted(away)))
            most = max(1, TOKENS // (len(self._source) + self._length(steps)))
            for first in range(0, len(ordered), most):
                yield ordered[first : first + most], steps

    def _length(self, steps: Collection[int]) -> int:
        """How many target tokens are read for some steps: what follows them is, where it can be seen."""
        if self.kind == "encoder":
            return 0
        analysis = self._analysis
        causal = self._checkpoint.config.causal and analysis.request.intervention.causal_mask
        return max(steps) + 1 if causal or analysis.last is not None else len(self.ids)

    @torch.inference_mode()
    def _pass(self, sets: Collection[Away], steps: list[int]) -> Tensor:
        """One pass: [N,steps]."""
        checkpoint, device = self._checkpoint, self._checkpoint.device
        source = torch.tensor([self._source] * len(sets), device=device)  # [N,S]
        chosen = torch.tensor([[self.ids[step] for step in steps]] * len(sets), device=device)  # [N,steps]
        outputs = None
        if length := self._length(steps):
            outputs = torch.tensor([self.ids[:length]] * len(sets), device=device)  # [N,T]
        places = [[place for word in away for place in self.words.places[word]] for away in sets]
        seen = source.clone()
        for row, own in enumerate(places):
            seen[row, own] = PAD
        at = Pass(edits_of(checkpoint, self._source, [self._analysis.request.intervention]))
        hidden = forced(checkpoint.model, source, outputs, at, masked_by=seen)[:, steps]  # [N,steps,D]
        log_probs = checkpoint.model.project(hidden).log_softmax(-1)  # [N,steps,V]
        return log_probs.gather(-1, chosen[..., None])[..., 0]


Scope = Literal["step", "whole"]  # the token of one step, or the whole target
ORDERS = 10  # random ones that a sentence is compared with, each from both ends
SEED = 1
POINTS = 11  # of a curve, at most: of longer sentences several words go at once
LEAST_RANGE = 0.5  # nats: where all words together are worth less, no order can be told from another
NEAR = 0.05  # of the area: nearer readings are told to be no different


@dataclass(frozen=True)
class Curves:
    """Log-probabilities [K] where so many words are away as the grid says: the most important first, and the least."""

    first: np.ndarray
    last: np.ndarray

    def area(self, grid: np.ndarray) -> float:
        """The mean height between the two, in nats."""
        return float(np.trapezoid(self.last - self.first, grid / grid[-1]))


@dataclass(frozen=True)
class Tested:
    """What came of the readings at one step, or over the whole target."""

    words: Words
    grid: np.ndarray = field(repr=False)  # [K]: how many words are away
    importance: dict[str, np.ndarray] = field(repr=False)  # of each word, by the name of the reading
    curves: dict[str, Curves] = field(repr=False)
    random: tuple[Curves, ...] = field(repr=False)
    kind: str = "cross"  # of the attention that brings the words

    @property
    def full(self) -> float:
        """The log-probability with all words."""
        return float(next(iter(self.curves.values())).first[0])

    @property
    def without(self) -> float:
        """The log-probability without any."""
        return float(next(iter(self.curves.values())).first[-1])

    @property
    def worth(self) -> float:
        """What all words together are worth: how much the two differ, in nats."""
        return self.full - self.without

    @property
    def is_told(self) -> bool:
        """Whether the words are worth enough for an order to be told from another."""
        return self.worth >= LEAST_RANGE

    @property
    def _whole(self) -> float:
        """What a share is a share of: the words' worth, or one nat where they are worth too little for any."""
        return self.worth if self.is_told else 1.0

    @cached_property
    def shares(self) -> dict[str, float]:
        """The area of each reading as a share of the words' worth, the largest first; see `is_told`."""
        found = {name: curves.area(self.grid) / self._whole for name, curves in self.curves.items()}
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    @cached_property
    def random_shares(self) -> np.ndarray:
        """The same of the random orders, each from both ends: [2N]. Their mean is 0, for one end is the other reversed."""
        found = np.array([curves.area(self.grid) / self._whole for curves in self.random])
        return np.concatenate([found, -found])

    @property
    def best(self) -> str:
        """The reading with the largest area."""
        return next(iter(self.shares))

    @property
    def near(self) -> tuple[str, ...]:
        """The other readings that are hardly behind it."""
        return tuple(n for n, share in self.shares.items() if n != self.best and self.shares[self.best] - share < NEAR)

    @property
    def as_good(self) -> int:
        """How many random orders are at least as good as the best reading."""
        return int((self.random_shares >= self.shares[self.best]).sum())


def tested(
    checkpoint: Checkpoint,
    analysis: Analysis,
    step: int,
    rival: int,
    scope: Scope = "step",
    progress: Callable[[float], None] = lambda done: None,
) -> Tested:
    """All readings tested on the token of a step (from 0), or on the whole target; then each reading's numbers are added up
    over the steps. Of a model that fills in a step is a place, and the whole target are all blanks. `rival` is the token
    that the sum of parts compares that of the step with; over the whole target it is the likeliest other one at each.

    All readings and random orders are computed together. Raises ValueError as `TakenAway` does, and for a source of fewer
    than two words, which has one order.
    """
    away = TakenAway(checkpoint, analysis)
    check_words(away.words)
    alone = scope == "step"
    steps = [step] if alone else away.steps
    found = importances(checkpoint, analysis, away, steps, {step: rival} if alone else {})
    importance = {name: values.sum(0) for name, values in found.items()}
    grid = points(len(away.words))
    orders = {name: order(values) for name, values in importance.items()}
    chance = random_orders(len(away.words), ORDERS)
    sets = {each for one in (*orders.values(), *chance) for both in ends(one, grid) for each in both}
    away.compute(dict.fromkeys(steps, sets), progress)
    curves = {name: curves_of(away, one, grid, steps) for name, one in orders.items()}
    random = tuple(curves_of(away, one, grid, steps) for one in chance)
    return Tested(away.words, grid, importance, curves, random, away.kind)


def check_words(words: Words) -> None:
    """Raises ValueError where there is nothing to rank."""
    if len(words) < 2:
        raise ValueError(f"The sentence has {len(words)} word{'' if len(words) == 1 else 's'}: there is nothing to rank.")


def importances(
    checkpoint: Checkpoint, analysis: Analysis, away: TakenAway, steps: Sequence[int], rivals: Mapping[int, int]
) -> dict[str, np.ndarray]:
    """What each reading says of each word at some steps: [steps,W] by its name. A step without a rival is compared with the
    likeliest other token."""
    material = _Material(checkpoint, analysis, away, steps, rivals)
    return {name: np.stack([reading.read(material, step) for step in steps]) for name, reading in READINGS.items()}


class _Material:
    """What the readings read; see `word_readings.Material`."""

    def __init__(
        self, checkpoint: Checkpoint, analysis: Analysis, away: TakenAway, steps: Sequence[int], rivals: Mapping[int, int]
    ) -> None:
        self.words, self.trace, self.kind = away.words, analysis.trace, away.kind
        self.norms = value_norms(checkpoint, analysis)
        self._checkpoint, self._analysis, self._away, self._rivals = checkpoint, analysis, away, rivals
        self._gradients = dict(zip(steps, gradient_times_input(checkpoint, analysis, steps, away.ids), strict=True))
        alone = [frozenset[int](), *(frozenset([word]) for word in range(len(away.words)))]
        away.compute(dict.fromkeys(steps, alone))

    def split(self, step: int) -> np.ndarray:
        token = self._away.ids[step]
        rival = self._rivals.get(step)
        if rival is None:
            row = self.trace.log_probs[step].copy()
            row[token] = -np.inf
            rival = int(row.argmax())
        return of_choice(self._checkpoint, self._analysis, step, token, rival).by_kind[self.kind]

    def gradient(self, step: int) -> np.ndarray:
        return self._gradients[step]

    def occlusion(self, step: int) -> np.ndarray:
        without = [self._away[frozenset([word]), step] for word in range(len(self.words))]
        return self._away[frozenset(), step] - np.array(without)


def points(words: int) -> np.ndarray:
    """How many words are away at each point of a curve, from none to all."""
    return np.unique(np.round(np.linspace(0, words, min(words + 1, POINTS))).astype(int))


def order(importance: np.ndarray) -> tuple[int, ...]:
    """The words from the most important one; equal ones as they stand in the sentence."""
    return tuple(np.argsort(-importance, kind="stable").tolist())


def random_orders(words: int, number: int, seed: int = SEED) -> tuple[tuple[int, ...], ...]:
    """Seeded random orders."""
    draw = np.random.default_rng(seed)
    return tuple(tuple(draw.permutation(words).tolist()) for _ in range(number))


def ends(one: Sequence[int], grid: np.ndarray) -> tuple[list[Away], list[Away]]:
    """Which words are away at each point where an order is followed from its front, and from its end."""
    return [frozenset(one[:k]) for k in grid], [frozenset(one[len(one) - k :]) for k in grid]


def curves_of(away: TakenAway, one: Sequence[int], grid: np.ndarray, steps: Collection[int]) -> Curves:
    """Both curves of an order, the log-probabilities of some steps added up."""
    both = (np.array([sum(away[each, step] for step in steps) for each in sets]) for sets in ends(one, grid))
    return Curves(*both)
