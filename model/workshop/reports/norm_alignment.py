"""Alignment error rate of whole cross-attention layers, by weights and by norms of weighted values (Kobayashi et al. 2020).

The weight map of a layer is the mean over its heads. The norm map has the length of the vector that a key adds to a row: the
sum over heads of weight times value, after W_O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ...checkpoint import Checkpoint
from ...readings.heads.trace_comparison import error_rate
from ...readings.tokens.token_attribution import output_weight
from ...text.measurements import ROWS
from ...trace import Site
from .alignment_report import RESAMPLES, SEED, AlignedPass, GoldAlignment, count_hits, require_cross, run_pair

READINGS = ("weights", "norms")


@dataclass(frozen=True)
class NormComparison:
    """Error rates of the best layer for each of `ROWS` over `sentences` pairs, and norms minus weights with its interval."""

    sentences: int
    layers: dict[str, dict[str, tuple[int, float]]]  # rows -> reading -> layer from 0, rate
    differences: dict[str, tuple[float, float, float]]  # rows -> difference of the rates, ends of its 95% interval


@torch.inference_mode()
def layer_maps(checkpoint: Checkpoint, run: AlignedPass, layer: int) -> np.ndarray:
    """Returns the mean weights and the norms of a cross-attention layer, [2,T,S]."""
    site = Site("cross", layer)
    pattern, values = (run.probe.records[site][name][0].float().cpu() for name in ("pattern", "v"))  # [H,T,S], [H,S,K]
    heads, _, width = values.shape
    output = output_weight(checkpoint.model, site).float().cpu().unflatten(1, (heads, width)).permute(1, 2, 0)
    written = torch.einsum("hts,hsd->tsd", pattern, values @ output)
    return torch.stack([pattern.mean(0), written.norm(dim=-1)]).numpy()


def compare_norms(
    checkpoint: Checkpoint, pairs: Sequence[GoldAlignment], progress: Callable[[int], None] = lambda done: None
) -> NormComparison:
    """Compares the two maps of every layer over the pairs within the text limit.

    Raises ValueError for a model without cross-attention, and where no pair is left.
    """
    require_cross(checkpoint)
    counts: dict[str, list[np.ndarray]] = {name: [] for name in ROWS}  # of each pair [4,L,2]
    for gold in pairs:
        progress(1)
        run = run_pair(checkpoint, gold, "full")
        if run is None:
            continue
        maps = np.stack(
            [layer_maps(checkpoint, run, layer) for layer in range(checkpoint.config.decoder_layers)]
        )  # [L,2,T,S]
        for name, later in ROWS.items():
            links = run.links(maps, later)
            each = [count_hits(row, gold) for row in links.reshape(-1, run.words)]
            counts[name].append(np.array(each).T.reshape(4, *links.shape[:2]))
    number = len(counts["predicts"])
    if not number:
        raise ValueError("no pair is within the text limit; expected at least one")
    draws = np.random.default_rng(SEED).multinomial(number, np.full(number, 1 / number), RESAMPLES)  # [R,N]
    layers, differences = {}, {}
    for name, each in counts.items():
        stacked = np.array(each, dtype=float)  # [N,4,L,2]
        rates = error_rate(*stacked.sum(0))  # [L,2]
        samples = error_rate(*np.moveaxis(np.tensordot(draws, stacked, 1), 1, 0))  # [R,L,2]
        best = rates.argmin(0)
        layers[name] = {reading: (int(best[n]), float(rates[best[n], n])) for n, reading in enumerate(READINGS)}
        change = samples[:, best[1], 1] - samples[:, best[0], 0]
        low, high = np.percentile(change, (2.5, 97.5))
        differences[name] = float(rates[best[1], 1] - rates[best[0], 0]), float(low), float(high)
    return NormComparison(number, layers, differences)
