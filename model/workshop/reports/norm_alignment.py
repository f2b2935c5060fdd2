"""Alignment error rate of cross-attention layers and their heads, by weights and by norms (Kobayashi et al. 2020).

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
INTERVAL = (2.5, 97.5)  # percentiles
Measured = tuple[float, float, float]  # a value and the ends of its 95% interval


@dataclass(frozen=True)
class NormComparison:
    """Error rates for each of `ROWS` over `sentences` pairs: of the best layer, norms minus weights, and means over heads.

    `head_means` has the mean rate of a layer's heads, by layer, and `shifts` that of the word read minus the word written.
    """

    sentences: int
    layers: dict[str, dict[str, tuple[int, float]]]  # rows -> reading -> layer from 0, rate
    differences: dict[str, Measured]  # rows -> difference of the rates
    head_means: dict[str, tuple[Measured, ...]]  # rows -> by layer
    shifts: tuple[Measured, ...]  # by layer


@torch.inference_mode()
def layer_maps(checkpoint: Checkpoint, run: AlignedPass, layer: int) -> np.ndarray:
    """Returns the mean weights, the norms, and the weights of each head of a cross-attention layer, [2+H,T,S]."""
    site = Site("cross", layer)
    pattern, values = (run.probe.records[site][name][0].float().cpu() for name in ("pattern", "v"))  # [H,T,S], [H,S,K]
    heads, _, width = values.shape
    output = output_weight(checkpoint.model, site).float().cpu().unflatten(1, (heads, width)).permute(1, 2, 0)
    written = torch.einsum("hts,hsd->tsd", pattern, values @ output)
    return torch.cat([pattern.mean(0, keepdim=True), written.norm(dim=-1)[None], pattern]).numpy()


def compare_norms(
    checkpoint: Checkpoint, pairs: Sequence[GoldAlignment], progress: Callable[[int], None] = lambda done: None
) -> NormComparison:
    """Compares the two maps of every layer over the pairs within the text limit.

    Raises ValueError for a model without cross-attention, and where no pair is left.
    """
    require_cross(checkpoint)
    counts: dict[str, list[np.ndarray]] = {name: [] for name in ROWS}  # of each pair [4,L,2+H]
    for gold in pairs:
        progress(1)
        run = run_pair(checkpoint, gold, "full")
        if run is None:
            continue
        maps = np.stack(
            [layer_maps(checkpoint, run, layer) for layer in range(checkpoint.config.decoder_layers)]
        )  # [L,2+H,T,S]
        for name, later in ROWS.items():
            links = run.links(maps, later)
            each = [count_hits(row, gold) for row in links.reshape(-1, run.words)]
            counts[name].append(np.array(each).T.reshape(4, *links.shape[:2]))
    number = len(counts["predicts"])
    if not number:
        raise ValueError("no pair is within the text limit; expected at least one")
    draws = np.random.default_rng(SEED).multinomial(number, np.full(number, 1 / number), RESAMPLES)  # [R,N]
    layers, differences, means = {}, {}, {}
    for name, each in counts.items():
        stacked = np.array(each, dtype=float)  # [N,4,L,2+H]
        rates = error_rate(*stacked.sum(0))  # [L,2+H]
        samples = error_rate(*np.moveaxis(np.tensordot(draws, stacked, 1), 1, 0))  # [R,L,2+H]
        means[name] = rates[:, 2:].mean(1), samples[..., 2:].mean(2)  # [L], [R,L]
        best = rates[:, :2].argmin(0)
        layers[name] = {reading: (int(best[n]), float(rates[best[n], n])) for n, reading in enumerate(READINGS)}
        change = samples[:, best[1], 1] - samples[:, best[0], 0]
        (differences[name],) = _measured(rates[best[1], 1] - rates[best[0], 0], change)
    read, written = means["reads"], means["predicts"]
    heads = {name: _measured(*each) for name, each in means.items()}
    return NormComparison(number, layers, differences, heads, _measured(read[0] - written[0], read[1] - written[1]))


def _measured(values: np.ndarray, samples: np.ndarray) -> tuple[Measured, ...]:
    """Returns values [N] with their intervals over samples [R,N]."""
    low, high = np.percentile(samples, INTERVAL, axis=0)
    columns = (np.atleast_1d(each).tolist() for each in (values, low, high))
    return tuple(zip(*columns, strict=True))
