"""Chooses the most probable target of each source under a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch

from ...checkpoint import Checkpoint
from ...config import PAD
from ...network.context import forced
from ..corpus.corpus import Corpus, targets_by_source
from .measures import forms_of_address

BATCH_TOKENS = 8192  # of a batch, on a side


@torch.inference_mode()
def mean_log_probs(
    checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]], progress: Callable[[int], object] = lambda done: None
) -> dict[tuple[str, str], float]:
    """Returns the mean log-probability per token, in nats, of each pair's target with `</s>`, teacher-forced.

    Pairs over the text limit are left out. `progress` gets the number of finished pairs.
    """
    model = checkpoint.model
    device = next(model.parameters()).device
    corpus = Corpus.encode(pairs, checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    scores: dict[tuple[str, str], float] = {}
    for rows in filter(len, corpus.batches(BATCH_TOKENS, 0, 0)):  # one batch of nothing where no pair is within the limit
        batch = corpus.batch(rows).to(device)
        real = batch.outputs != PAD  # [B,T]
        logits = model.project(forced(model, batch.source, batch.outputs)[real]).float()  # [N,V]
        own = logits.gather(-1, batch.outputs[real][:, None])[:, 0] - logits.logsumexp(-1)  # [N]
        each = torch.zeros(real.shape, device=device).masked_scatter_(real, own).sum(1) / real.sum(1)  # [B]
        scores |= {tuple(pairs[corpus.pair_indices[row]]): value for row, value in zip(rows, each.tolist(), strict=True)}
        progress(len(rows))
    return scores


def choose_targets(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    progress: Callable[[int], object] = lambda done: None,
    as_addressed: bool = False,
) -> list[tuple[str, str]]:
    """Returns each distinct source once, in order, with its target of the highest mean log-probability.

    A source with one target keeps it. Targets over the text limit are used only where there is no other. `as_addressed`
    preserves the ratio of *vous* to *tu* of all targets: among sources with both forms, *vous* goes to those where the
    model prefers it most. Without it the slightly more probable form wins nearly always.
    """
    groups = {source: list(dict.fromkeys(targets)) for source, targets in targets_by_source(pairs).items()}
    several = [(source, target) for source, targets in groups.items() if len(targets) > 1 for target in targets]
    values = mean_log_probs(checkpoint, several, progress)
    best = {source: _best(source, targets, values) for source, targets in groups.items()}
    if as_addressed:
        best |= _choose_by_address(groups, values, best)
    return list(best.items())


def _best(source: str, targets: Sequence[str], values: Mapping[tuple[str, str], float]) -> str:
    return max(targets, key=lambda target: values.get((source, target), -math.inf))


def _choose_by_address(
    groups: Mapping[str, Sequence[str]], values: Mapping[tuple[str, str], float], best: Mapping[str, str]
) -> dict[str, str]:
    """Chooses a target of the sources that have targets with only *tu* and with only *vous*."""
    every = [forms_of_address(target) for targets in groups.values() for target in targets]
    wanted = sum("vous" in forms for forms in every) / max(1, sum("tu" in forms for forms in every))  # vous to one tu
    leaning: list[tuple[float, str, str, str]] = []
    for source, targets in groups.items():
        tu, vous = ([target for target in targets if forms_of_address(target) == {name}] for name in ("tu", "vous"))
        if tu and vous:
            one, two = _best(source, tu, values), _best(source, vous, values)
            gap = values.get((source, two), -math.inf) - values.get((source, one), -math.inf)
            leaning.append((0.0 if math.isnan(gap) else gap, source, one, two))
    free = {source for _, source, _, _ in leaning}
    fixed = [forms_of_address(target) for source, target in best.items() if source not in free]
    has = {name: sum(name in forms for forms in fixed) for name in ("tu", "vous")}
    count = round((wanted * (has["tu"] + len(leaning)) - has["vous"]) / (1 + wanted))
    ordered = sorted(leaning, reverse=True)
    return {source: vous if place < count else tu for place, (_, source, tu, vous) in enumerate(ordered)}
