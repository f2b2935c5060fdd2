"""Reliability of what the lab says: the faithfulness of each reading, and the precision of the warnings.

The faithfulness is an area over many sentences, with bootstrap intervals over the sentences. The warnings are compared with
bad translations. A translation is bad if its chrF, against the best of the sentence's references, is under `BAD_CHRF`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sacrebleu.metrics import CHRF

from ...checkpoint import Checkpoint
from ...config import END, MAX_CHARACTERS, MAX_TOKENS
from ...decoding.hypotheses import Hypothesis
from ...decoding.strategy import Decoding
from ...edits.intervention import BASELINE
from ...experiments.faithfulness import (
    SEED,
    Curves,
    Occlusion,
    curves_of,
    importances,
    random_orders,
    ranked_words,
    removal_counts,
    removal_sets,
)
from ...inference import cautions
from ...inference.analyse import analyse
from ...inference.passes import teacher_force
from ...inference.request import Request
from ...readings.tokens.word_readings import READINGS
from ...text.measurements import RANDOM, SCOPES, FaithfulnessShares, Share
from ..corpus.corpus import targets_by_source
from ..evaluation.probes import ScoredProbe
from ..evaluation.scoring import GREEDY, translate
from ..sharding import ordered_map

ORDERS = 5  # random ones of each sentence
RESAMPLES = 2000
INTERVAL = (2.5, 97.5)  # per cent


@dataclass(frozen=True)
class _SentenceAreas:
    """Numbers of one sentence, by scope: the area of each reading, the random floor last; and the effect of all words in
    nats."""

    tokens: int
    areas: dict[str, np.ndarray]  # [N+1]
    word_effect: dict[str, float]


def measure_faithfulness(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    data: str,
    limit: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> FaithfulnessShares:
    """Tests the readings on the model's greedy translation of each distinct source, at most `limit`.

    The scope "step" tests each token with the reading of its step; "whole" tests the translation with the sum over steps.
    Sentences over the text limit, or with fewer than two words, are left out. `progress` is called after each sentence.

    Raises ValueError where no sentence is left, where the words have no effect, and for a model that does not translate.
    """
    counted = []
    for areas in ordered_map(lambda text: _measure_sentence(checkpoint, text), list(targets_by_source(pairs))[:limit]):
        if areas is not None:
            counted.append(areas)
        progress(1)
    if not counted:
        raise ValueError("there is no sentence of two words or more within the text limit; expected at least one")
    return _aggregate(counted, data)


def _measure_sentence(checkpoint: Checkpoint, text: str) -> _SentenceAreas | None:
    """Returns the areas of one sentence; None where there is nothing to rank."""
    if len(text) > MAX_CHARACTERS or len(checkpoint.source_tokenizer.encode(text.strip())) >= MAX_TOKENS:
        return None
    analysis = analyse(checkpoint, Request(source=text))
    occlusion = Occlusion(checkpoint, analysis)
    words, steps = len(occlusion.words), list(range(len(analysis.trace.outputs)))
    if words < 2:
        return None
    scores, grid = importances(checkpoint, analysis, occlusion, steps, {}), removal_counts(words)
    chance = random_orders(words, ORDERS)
    single = [[ranked_words(values[step]) for values in scores.values()] for step in steps]
    overall = [ranked_words(values.sum(0)) for values in scores.values()]
    common = _sets([*overall, *chance], grid)
    occlusion.compute({step: common | _sets(orders, grid) for step, orders in zip(steps, single, strict=True)})
    areas = {
        "step": sum(_areas(occlusion, [*orders, *chance], grid, [step]) for step, orders in zip(steps, single, strict=True)),
        "whole": _areas(occlusion, [*overall, *chance], grid, steps),
    }
    everything = sum(occlusion[frozenset(), step] - occlusion[frozenset(range(words)), step] for step in steps)
    return _SentenceAreas(len(steps), areas, dict.fromkeys(SCOPES, everything))


def _sets(orders: Sequence[Sequence[int]], grid: np.ndarray) -> set[frozenset[int]]:
    return {each for one in orders for both in removal_sets(one, grid) for each in both}


def _areas(occlusion: Occlusion, orders: Sequence[Sequence[int]], grid: np.ndarray, steps: Sequence[int]) -> np.ndarray:
    """Returns the area of each reading's order in nats; the mean of the random ones stands last: [N+1]."""
    curves: list[Curves] = [curves_of(occlusion, one, grid, steps) for one in orders]
    areas = np.array([each.area(grid) for each in curves])
    return np.append(areas[: len(READINGS)], areas[len(READINGS) :].mean())


def _aggregate(counted: Sequence[_SentenceAreas], data: str) -> FaithfulnessShares:
    """Returns the sums over all sentences and over bootstrap samples, which all readings share."""
    rng = np.random.default_rng(SEED)
    samples = rng.integers(len(counted), size=(RESAMPLES, len(counted)))
    weights = np.stack([np.bincount(row, minlength=len(counted)) for row in samples])  # [R,N]: draws of each sentence
    shares, leaders, names = {}, {}, list(READINGS)
    passive = [n for n, name in enumerate(names) if not READINGS[name].removes_words]
    for scope in SCOPES:
        areas = np.stack([each.areas[scope] for each in counted])  # [N,readings]
        worth = np.array([each.word_effect[scope] for each in counted])  # [N]
        if worth.sum() <= 0 or (weights @ worth <= 0).any():
            raise ValueError("the source's words have no effect on this model, so no order of them can be ranked")
        areas_per_nat, sampled = areas.sum(0) / worth.sum(), weights @ areas / (weights @ worth)[:, None]
        best = max(passive, key=lambda n: areas_per_nat[n])
        behind = sampled[:, [best]] - sampled
        low, high = np.percentile(sampled, INTERVAL, axis=0)
        behind_low, behind_high = np.percentile(behind, INTERVAL, axis=0)
        columns = (areas_per_nat, low, high, areas_per_nat[best] - areas_per_nat, behind_low, behind_high)
        rows = np.round(np.stack(columns, axis=1), 5).tolist()
        shares[scope] = {name: Share(*row) for name, row in zip([*names, RANDOM], rows, strict=True)}
        leaders[scope] = names[best]
    mean = {scope: round(float(np.mean([each.word_effect[scope] for each in counted])), 4) for scope in SCOPES}
    tokens = sum(each.tokens for each in counted)
    return FaithfulnessShares(len(counted), tokens, ORDERS, RESAMPLES, SEED, data, mean, leaders, shares)


BAD_CHRF = 50.0  # chrF, 0 to 100


@torch.inference_mode()
def measure_warnings(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    limit: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
    decoding: Decoding = GREEDY,
) -> dict[str, Any]:
    """Translates the distinct sources (at most `limit`), and counts each kind of warning and its hits.

    Returns `bar`, `sentences`, `bad`; `rules`: for each kind `warned` and `right`; and `signs`: the `sentences` with no,
    one, two... kinds of warning, and the number of `bad` ones. A kind whose data the checkpoint lacks is left out.
    """
    groups = list(targets_by_source(pairs).items())[:limit]
    hypotheses = translate(checkpoint.model, checkpoint.source_tokenizer, [s for s, _ in groups], 64, progress, decoding)
    chrf = CHRF()

    def judge(number: int) -> tuple[bool, dict[str, bool]]:
        (source, references), hypothesis = groups[number], hypotheses[number]
        translation = checkpoint.target_tokenizer.decode(hypothesis.ids)
        best = max(chrf.sentence_score(translation, [each]).score for each in references)
        return best < BAD_CHRF, _warnings_of(checkpoint, source, hypothesis)

    judged = list(ordered_map(judge, range(len(groups))))
    bad, kinds = [is_bad for is_bad, _ in judged], [kinds for _, kinds in judged]
    rules = {
        name: {
            "warned": sum(each[name] for each in kinds),
            "right": sum(each[name] and wrong for each, wrong in zip(kinds, bad, strict=True)),
        }
        for name in (kinds[0] if kinds else ())
    }
    numbers = [sum(each.values()) for each in kinds]
    signs = [
        {
            "sentences": numbers.count(number),
            "bad": sum(each == number and wrong for each, wrong in zip(numbers, bad, strict=True)),
        }
        for number in range(len(rules) + 1)
    ]
    return {"bar": BAD_CHRF, "sentences": len(groups), "bad": sum(bad), "rules": rules, "signs": signs}


def measure_typed(checkpoint: Checkpoint, probes: Sequence[ScoredProbe], decoding: Decoding = GREEDY) -> dict[str, Any]:
    """Translates sentences as people type them, and counts the wrong ones: not among the accepted translations.

    Returns `unwarned`, the sentences without a warning, and `kinds`, each with `sentences` and `wrong`.
    """
    sources = [probe.source for probe in probes]
    hypotheses = translate(checkpoint.model, checkpoint.source_tokenizer, sources, 64, lambda done: None, decoding)
    unwarned, kinds = Counter[str](sentences=0, wrong=0), dict[str, Counter[str]]()
    for probe, hypothesis in zip(probes, hypotheses, strict=True):
        counts = [kinds.setdefault(probe.kind, Counter(sentences=0, wrong=0))]
        if not any(_warnings_of(checkpoint, probe.source, hypothesis).values()):
            counts.append(unwarned)
        for count in counts:
            count["sentences"] += 1
            count["wrong"] += not probe.is_right(checkpoint.target_tokenizer.decode(hypothesis.ids))
    return {"unwarned": dict(unwarned), "kinds": {name: dict(count) for name, count in kinds.items()}}


def _warnings_of(checkpoint: Checkpoint, source: str, hypothesis: Hypothesis) -> dict[str, bool]:
    """Returns the kinds of warning, and which apply to a translation."""
    ids = [*checkpoint.source_tokenizer.encode(source[:MAX_CHARACTERS])[: MAX_TOKENS - 1], END]
    (trace,) = teacher_force(checkpoint, ids, hypothesis.ids, [BASELINE])
    return cautions.applicable_warnings(trace, checkpoint.source_tokenizer, checkpoint.corpus_stats)
