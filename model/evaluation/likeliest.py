"""Of the targets that a source has, the one that a model finds likeliest: one target for each source, all of one habit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from model.checkpoint import Checkpoint
from model.config import PAD
from model.network.context import forced
from model.text.corpus import Corpus, by_source

TOKENS = 8192  # of a batch, on a side


@torch.inference_mode()
def mean_log_probs(
    checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]], progress: Callable[[int], object] = lambda done: None
) -> dict[tuple[str, str], float]:
    """The log-probability a token, in nats, of the target of each pair, `</s>` with it, as it is read under the causal mask;
    of pairs within the text limit. `progress` is told how many pairs are done."""
    model = checkpoint.model
    device = next(model.parameters()).device
    corpus = Corpus.encode(pairs, checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    found: dict[tuple[str, str], float] = {}
    for rows in corpus.batches(TOKENS, 0, 0):
        batch = corpus.batch(rows).to(device)
        real = batch.outputs != PAD  # [B,T]
        logits = model.project(forced(model, batch.source, batch.outputs)[real]).float()  # [N,V]
        own = logits.gather(-1, batch.outputs[real][:, None])[:, 0] - logits.logsumexp(-1)  # [N]
        each = torch.zeros(real.shape, device=device).masked_scatter_(real, own).sum(1) / real.sum(1)  # [B]
        found |= {tuple(pairs[corpus.kept[row]]): value for row, value in zip(rows, each.tolist(), strict=True)}
        progress(len(rows))
    return found


def likeliest(
    checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]], progress: Callable[[int], object] = lambda done: None
) -> list[tuple[str, str]]:
    """Each distinct source once, in the order of the pairs, with that of its targets whose mean log-probability is highest;
    a source with one target keeps it. Targets over the text limit are left out where there is another."""
    groups = {source: list(dict.fromkeys(targets)) for source, targets in by_source(pairs).items()}
    several = [(source, target) for source, targets in groups.items() if len(targets) > 1 for target in targets]
    values = mean_log_probs(checkpoint, several, progress)
    lowest = -float("inf")
    return [(source, max(targets, key=lambda t, s=source: values.get((s, t), lowest))) for source, targets in groups.items()]
