"""The mean of what every head puts out: what a head may be replaced by, so that it says nothing of this sentence."""

from __future__ import annotations

import torch

from model.config import PAD
from model.network.context import Pass, forced
from model.network.transformer import Transformer
from model.text.corpus import Corpus
from model.text.sentence_pairs import Rows
from model.text.windows import Windows
from model.trace import Probe, Site


@torch.inference_mode()
def head_means(model: Transformer, corpus: Corpus | Windows | Rows, tokens: int = 4096) -> dict[Site, torch.Tensor]:
    """Mean z of every head at every site, [H,K], over the positions of a corpus that are not padding (teacher-forced)."""
    device = next(model.parameters()).device
    sums: dict[Site, torch.Tensor] = {}
    counts: dict[Site, int] = {}
    for indices in corpus.batches(tokens, 0, 0):
        batch, probe = corpus.batch(indices).to(device), Probe("full")
        outputs = batch.outputs if "decoder" in model.config.kinds else None
        forced(model, batch.source, outputs, Pass(probe=probe))
        for site, record in probe.records.items():
            real = (batch.source if site.of.queries == "source" else batch.outputs) != PAD  # [B,T]
            z = record["z"].double().transpose(1, 2)[real]  # [N,H,K]
            sums[site] = sums.get(site, 0) + z.sum(dim=0)
            counts[site] = counts.get(site, 0) + len(z)
    return {site: (total / counts[site]).float() for site, total in sums.items()}
