"""Tests readings by deletion: source words are hidden in the order in which a reading ranks them, and in reverse.

If the order is right, the log-probability of the target falls at once when the most important word goes first, and stays
high when it goes last (deletion and insertion curves: Samek et al. 2017, Petsiuk et al. 2018). The measure is the area
between the two curves as a share of the total effect of all words. A random order has 0 on average, a wrong one less.

No token may attend to a hidden word, neither in the encoder nor from the decoder. The other words keep their positions, and
the target stays as it is. (Deleting words from the text would move the others.) Training has hardly such gaps. So each order
is compared with random ones, which make the same gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ..checkpoint import Checkpoint
from ..config import END, PAD, START
from ..inference.analysis import Analysis
from ..inference.source_reading import blank_positions, build_edits, filled_ids
from ..network.context import Pass, teacher_forced_states
from ..readings.logits.direct_logits import choice_logits
from ..readings.tokens.token_attribution import gradient_times_input, value_norms
from ..readings.tokens.word_readings import READINGS, Words

WordSet = frozenset[int]  # hidden words, from 0
TOKENS = 1024  # of a batch, both sides together: fits the processor's caches


class Occlusion:
    """Log-probabilities of the target's tokens with some source words hidden, each computed once.

    A model that fills in is scored on the tokens that fill the blanks, or on all words where there is no blank. Uses the
    intervention of the analysis. Raises ValueError for a model that reads no source, and where the padding mask is off: then
    hidden words would still be seen.
    """

    def __init__(self, checkpoint: Checkpoint, analysis: Analysis) -> None:
        trace = analysis.full_pass
        if trace.source is None or trace.classes:
            raise ValueError("This checkpoint has no source or writes no tokens, so there are no source words to hide.")
        if not analysis.request.intervention.padding_mask:
            raise ValueError("The padding mask is off, so hidden words would still be seen. Switch it on.")
        self._checkpoint, self._analysis, self._source = checkpoint, analysis, trace.source.ids
        mask, self.kind = None, "cross"  # the attention that carries the words to the prediction
        if trace.outputs is not None:
            self.ids, self.steps = trace.outputs.ids, list(range(len(trace.outputs)))
        else:
            mask, self.kind, places = checkpoint.source_tokenizer.mask, "encoder", blank_positions(analysis, checkpoint)
            self.ids = filled_ids(analysis, places, mask)
            self.steps = places or [n for n, token in enumerate(self._source) if token not in (PAD, START, END)]
        self.words = Words.of(trace.source, mask)
        self._known: dict[tuple[WordSet, int], float] = {}

    def __getitem__(self, key: tuple[WordSet, int]) -> float:
        """Returns the log-probability of a step's token without some words; `compute` comes first."""
        return self._known[key]

    def compute(
        self, wanted: Mapping[int, Collection[WordSet]], progress: Callable[[float], None] = lambda done: None
    ) -> None:
        """Computes the missing sets of words for each step (from 0). `progress` receives the share that is done."""
        missing = {
            step: sets for step, each in wanted.items() if (sets := {s for s in each if (s, step) not in self._known})
        }
        batches = list(self._batches(missing))
        for done, (sets, steps) in enumerate(batches, 1):
            scores = self._pass(sets, steps)
            self._known |= {
                (away, step): float(value)
                for away, row in zip(sets, scores.tolist(), strict=True)
                for step, value in zip(steps, row, strict=True)
            }
            progress(done / len(batches))

    def _batches(self, missing: Mapping[int, Collection[WordSet]]) -> Iterator[tuple[list[WordSet], list[int]]]:
        """Yields sets of words, and the steps that one pass scores for all of them."""
        if self._analysis.final_pass is None:  # one pass scores all steps
            groups = [(list(missing), set().union(*missing.values()))] if missing else []
        else:  # each step was decoded over its own prefix
            groups = [([step], sets) for step, sets in missing.items()]
        for steps, sets in groups:
            ordered = sorted(sets, key=lambda away: (len(away), sorted(away)))
            size = max(1, TOKENS // (len(self._source) + self._length(steps)))
            for first in range(0, len(ordered), size):
                yield ordered[first : first + size], steps

    def _length(self, steps: Collection[int]) -> int:
        """Returns the number of target tokens that some steps read. Later tokens count where they can be seen."""
        if self.kind == "encoder":
            return 0
        analysis = self._analysis
        causal = self._checkpoint.config.causal and analysis.request.intervention.causal_mask
        return max(steps) + 1 if causal or analysis.final_pass is not None else len(self.ids)

    @torch.inference_mode()
    def _pass(self, sets: Collection[WordSet], steps: list[int]) -> Tensor:
        """Runs one pass. Returns log-probabilities [N,steps]."""
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
        context = Pass(build_edits(checkpoint, self._source, [self._analysis.request.intervention]))
        hidden = teacher_forced_states(checkpoint.model, source, outputs, context, mask_source=seen)[:, steps]  # [N,steps,D]
        log_probs = checkpoint.model.project(hidden).log_softmax(-1)  # [N,steps,V]
        return log_probs.gather(-1, chosen[..., None])[..., 0]


Scope = Literal["step", "whole"]  # the token of one step, or the full target
ORDERS = 10  # random orders per sentence, each followed from both ends
SEED = 1
POINTS = 11  # of a curve at most: longer sentences hide several words at once
MIN_TOTAL_EFFECT = 0.5  # nats: below this total effect, orders cannot be distinguished
NEAR = 0.05  # of the area: closer readings count as equal


@dataclass(frozen=True)
class Curves:
    """Log-probabilities [K] at each point of the grid, with the most important words hidden first, and hidden last."""

    first: np.ndarray
    last: np.ndarray

    def area(self, grid: np.ndarray) -> float:
        """Returns the mean height between the two curves, in nats."""
        return float(np.trapezoid(self.last - self.first, grid / grid[-1]))


@dataclass(frozen=True)
class FaithfulnessResult:
    """Results of the test of all readings at one step, or over the full target."""

    words: Words
    grid: np.ndarray = field(repr=False)  # [K]: number of hidden words
    importance: dict[str, np.ndarray] = field(repr=False)  # of each word, by the name of the reading
    curves: dict[str, Curves] = field(repr=False)
    random: tuple[Curves, ...] = field(repr=False)
    kind: str = "cross"  # the attention that carries the words

    @property
    def full(self) -> float:
        """Returns the log-probability with all words."""
        return float(next(iter(self.curves.values())).first[0])

    @property
    def without(self) -> float:
        """Returns the log-probability without any word."""
        return float(next(iter(self.curves.values())).first[-1])

    @property
    def total_effect(self) -> float:
        """Returns the effect of all words together: the difference of the two, in nats."""
        return self.full - self.without

    @property
    def is_conclusive(self) -> bool:
        """True where the total effect is large enough to distinguish orders."""
        return self.total_effect >= MIN_TOTAL_EFFECT

    @property
    def _divisor(self) -> float:
        """Returns the divisor of a share: the total effect, or one nat where that is too small."""
        return self.total_effect if self.is_conclusive else 1.0

    @cached_property
    def shares(self) -> dict[str, float]:
        """Returns the area of each reading as a share of the total effect, the largest first; see `is_conclusive`."""
        areas = {name: curves.area(self.grid) / self._divisor for name, curves in self.curves.items()}
        return dict(sorted(areas.items(), key=lambda pair: -pair[1]))

    @cached_property
    def random_shares(self) -> np.ndarray:
        """Returns the shares of the random orders, each from both ends, [2N]. Their mean is 0 because one end reverses the
        other."""
        areas = np.array([curves.area(self.grid) / self._divisor for curves in self.random])
        return np.concatenate([areas, -areas])

    @property
    def best(self) -> str:
        """Returns the reading with the largest area."""
        return next(iter(self.shares))

    @property
    def close_to_best(self) -> tuple[str, ...]:
        """Returns the other readings whose share is close to the best one."""
        return tuple(n for n, share in self.shares.items() if n != self.best and self.shares[self.best] - share < NEAR)

    @property
    def random_as_good(self) -> int:
        """Returns the number of random orders that reach the best reading."""
        return int((self.random_shares >= self.shares[self.best]).sum())


def faithfulness_test(
    checkpoint: Checkpoint,
    analysis: Analysis,
    step: int,
    rival: int,
    scope: Scope = "step",
    progress: Callable[[float], None] = lambda done: None,
) -> FaithfulnessResult:
    """Tests all readings on the token of a step (from 0), or on the full target with the readings summed over the steps.

    In a model that fills in, a step is a position, and the full target is all blanks. `rival` is the token that the sum of
    parts compares with at that step. Over the full target it is the top other token of each step. All readings and random
    orders share their passes.

    Raises ValueError as `Occlusion` does, and for a source of fewer than two words.
    """
    away = Occlusion(checkpoint, analysis)
    check_words(away.words)
    alone = scope == "step"
    steps = [step] if alone else away.steps
    readings = importances(checkpoint, analysis, away, steps, {step: rival} if alone else {})
    importance = {name: values.sum(0) for name, values in readings.items()}
    grid = removal_counts(len(away.words))
    orders = {name: ranked_words(values) for name, values in importance.items()}
    chance = random_orders(len(away.words), ORDERS)
    sets = {each for one in (*orders.values(), *chance) for both in removal_sets(one, grid) for each in both}
    away.compute(dict.fromkeys(steps, sets), progress)
    curves = {name: curves_of(away, one, grid, steps) for name, one in orders.items()}
    random = tuple(curves_of(away, one, grid, steps) for one in chance)
    return FaithfulnessResult(away.words, grid, importance, curves, random, away.kind)


def check_words(words: Words) -> None:
    """Raises ValueError for fewer than two words, which have one order."""
    if len(words) < 2:
        raise ValueError(f"The sentence has {len(words)} word{'' if len(words) == 1 else 's'}; ranking needs at least 2.")


def importances(
    checkpoint: Checkpoint, analysis: Analysis, away: Occlusion, steps: Sequence[int], rivals: Mapping[int, int]
) -> dict[str, np.ndarray]:
    """Returns the importance of each word at some steps, [steps,W], by the name of the reading.

    A step without a rival is compared with the top other token.
    """
    material = _Material(checkpoint, analysis, away, steps, rivals)
    return {name: np.stack([reading.read(material, step) for step in steps]) for name, reading in READINGS.items()}


class _Material:
    """Inputs of the readings; see `word_readings.StepMaterial`."""

    def __init__(
        self, checkpoint: Checkpoint, analysis: Analysis, away: Occlusion, steps: Sequence[int], rivals: Mapping[int, int]
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
        return choice_logits(self._checkpoint, self._analysis, step, token, rival).by_kind[self.kind]

    def gradient(self, step: int) -> np.ndarray:
        return self._gradients[step]

    def occlusion(self, step: int) -> np.ndarray:
        without = [self._away[frozenset([word]), step] for word in range(len(self.words))]
        return self._away[frozenset(), step] - np.array(without)


def removal_counts(words: int) -> np.ndarray:
    """Returns the number of hidden words at each point of a curve, from none to all."""
    return np.unique(np.round(np.linspace(0, words, min(words + 1, POINTS))).astype(int))


def ranked_words(importance: np.ndarray) -> tuple[int, ...]:
    """Returns the words, the most important first. Ties keep the order of the sentence."""
    return tuple(np.argsort(-importance, kind="stable").tolist())


def random_orders(words: int, number: int, seed: int = SEED) -> tuple[tuple[int, ...], ...]:
    """Returns seeded random orders."""
    draw = np.random.default_rng(seed)
    return tuple(tuple(draw.permutation(words).tolist()) for _ in range(number))


def removal_sets(one: Sequence[int], grid: np.ndarray) -> tuple[list[WordSet], list[WordSet]]:
    """Returns the hidden words at each point, following an order from its front, and from its end."""
    return [frozenset(one[:k]) for k in grid], [frozenset(one[len(one) - k :]) for k in grid]


def curves_of(away: Occlusion, one: Sequence[int], grid: np.ndarray, steps: Collection[int]) -> Curves:
    """Returns both curves of an order, with the log-probabilities summed over some steps."""
    both = (np.array([sum(away[each, step] for step in steps) for each in sets]) for sets in removal_sets(one, grid))
    return Curves(*both)
