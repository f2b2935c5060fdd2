"""The logit lens (nostalgebraist 2020): what each layer of the stack that speaks would say, were it the last.

The residual stream after every decoder layer, of every encoder layer where there is no decoder, is sent through the last
norm and the projection. Those were trained
for the last layer alone, so what early layers "say" is a reading, not a decision (the tuned lens of Belrose et al. 2023
trains a translator for each layer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.inference.analysis import Analysis
from model.inference.passes import FLOAT, MEGABYTE
from model.inference.predictions import Candidate, Move, kl_divergence, moves
from model.inference.request import RequestError
from model.inference.source_reading import edits_of
from model.network.context import Pass, forced
from model.trace import Probe


@dataclass(frozen=True)
class Lens:
    """Row 0 is the stack's input (embedding and position), row l what layer l leaves; the last row is the model's own."""

    log_probs: np.ndarray = field(repr=False)  # [L+1,T,V], natural logarithm
    ids: tuple[int, ...]  # the token that each of the T steps emits; without a decoder the one that stands at each place

    @cached_property
    def probability(self) -> np.ndarray:
        """Of the token that the step emits, at every layer: [L+1,T]."""
        return np.exp(self._emitted)

    @cached_property
    def rank(self) -> np.ndarray:
        """Of the token that the step emits, 1 for the likeliest: [L+1,T]."""
        return 1 + (self.log_probs > self._emitted[..., None]).sum(-1)

    @cached_property
    def top(self) -> np.ndarray:
        """The likeliest token at every layer and step: ids [L+1,T]."""
        return self.log_probs.argmax(-1)

    @property
    def _emitted(self) -> np.ndarray:
        return self.log_probs[:, np.arange(len(self.ids)), list(self.ids)]

    def entropy(self, step: int) -> np.ndarray:
        """Of the distribution at each layer, in nats: [L+1]."""
        logs = self.log_probs[:, step].astype(np.float64)
        return -(np.exp(logs) * logs).sum(-1)

    def best(self, layer: int, step: int, count: int = 5) -> tuple[Candidate, ...]:
        """The likeliest `count` tokens, likeliest first."""
        row = self.log_probs[layer, step]
        return tuple(Candidate(int(i), float(np.exp(row[i]))) for i in np.argsort(-row, kind="stable")[:count])

    def change(self, step: int) -> np.ndarray:
        """KL(after || before) of each layer, in nats: [L]. How much was not known before it."""
        rows = self.log_probs[:, step]
        return kl_divergence(rows[1:], rows[:-1])

    def moves(self, layer: int, step: int, count: int = 1) -> tuple[tuple[Move, ...], tuple[Move, ...]]:
        """The tokens that gain and that lose the most by layer `layer`, counted from 1."""
        return moves(self.log_probs[layer - 1, step], self.log_probs[layer, step], count)

    @property
    def nbytes(self) -> int:
        """Bytes that the array holds."""
        return self.log_probs.nbytes


@torch.inference_mode()
def lens(checkpoint: Checkpoint, analysis: Analysis, most: int | None = None) -> Lens:
    """Reads every layer of the stack that speaks at every step, under the intervention of the analysis.

    Where each step was decoded over its own prefix, each is read over it too, so that the last row is always what chose.
    Raises RequestError where that would take more than `most` bytes.
    """
    ids, config = analysis.trace.predicted.ids, checkpoint.config
    layers = config.decoder_layers or config.encoder_layers
    found = FLOAT * (layers + 1) * len(ids) * config.target_vocab
    if most is not None and found > most:
        raise RequestError(
            f"What {layers} layers say of {config.target_vocab:,} tokens at {len(ids)} steps would take "
            f"{found / MEGABYTE:,.0f} MB; expected at most {most / MEGABYTE:,.0f}. Shorten the sentence or its translation."
        )
    if analysis.last is not None:
        each = [_read(checkpoint, analysis, ids[: t + 1], since=t) for t in range(len(ids))]
        rows = np.concatenate(each, axis=1)
    else:
        rows = _read(checkpoint, analysis, ids)
    rows.flags.writeable = False
    return Lens(rows, ids)


def _read(checkpoint: Checkpoint, analysis: Analysis, target: Sequence[int], since: int = 0) -> np.ndarray:
    """One pass over a target: log-probabilities [L+1,T,V], of the steps from `since` on."""
    model, probe, trace = checkpoint.model, Probe("full"), analysis.trace
    source = None if trace.source is None else torch.tensor([trace.source.ids], device=checkpoint.device)  # [1,S]
    outputs = None if trace.outputs is None else torch.tensor([tuple(target)], device=checkpoint.device)  # [1,T]
    edits = edits_of(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention])
    forced(model, source, outputs, Pass(edits, probe))
    stack = "encoder" if outputs is None else "decoder"
    layers = getattr(model, stack)
    streams = [probe.streams[layers[0].residuals[0].place].before]  # [1,T,D]
    streams += [probe.streams[layer.residuals[-1].place].after for layer in layers]
    hidden = getattr(model, f"{stack}_norm")(torch.cat(streams)[:, since:])  # [L+1,T,D]
    rows = None if source is None else source.expand(len(hidden), -1)
    return model.answer(hidden, rows).float().log_softmax(-1).cpu().numpy()  # [L+1,T,V], of a classifier [L+1,1,C]
