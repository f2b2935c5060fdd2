"""The logit lens (nostalgebraist 2020): the prediction of each layer as if it were the last.

The lens sends the residual stream after every decoder layer, or every encoder layer without a decoder, through the last norm
and the projection. Both were trained for the last layer only, so an early prediction is a reading, not a decision (the tuned
lens of Belrose et al. 2023 trains a translator for each layer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from ...checkpoint import Checkpoint
from ...inference.analysis import Analysis
from ...inference.passes import FLOAT_BYTES, MEGABYTE
from ...inference.predictions import Candidate, ProbabilityShift, kl_divergence, largest_shifts
from ...inference.request import RequestError
from ...inference.source_reading import build_edits
from ...network.context import Pass, teacher_forced_states
from ...trace import Probe


@dataclass(frozen=True)
class Lens:
    """Predictions after each layer: row 0 for the stack's input, row l for layer l. The last row is the model's own."""

    log_probs: np.ndarray = field(repr=False)  # [L+1,T,V], natural logarithm
    ids: tuple[int, ...]  # the token of each of the T steps; without a decoder the token at each place

    @cached_property
    def probability(self) -> np.ndarray:
        """The probability of each step's token at every layer, [L+1,T]."""
        return np.exp(self._emitted)

    @cached_property
    def rank(self) -> np.ndarray:
        """The rank of each step's token at every layer, from 1, [L+1,T]."""
        return 1 + (self.log_probs > self._emitted[..., None]).sum(-1)

    @cached_property
    def top(self) -> np.ndarray:
        """The most probable token at every layer and step, ids [L+1,T]."""
        return self.log_probs.argmax(-1)

    @property
    def _emitted(self) -> np.ndarray:
        return self.log_probs[:, np.arange(len(self.ids)), list(self.ids)]

    def entropy(self, step: int) -> np.ndarray:
        """Returns the entropy of the distribution at each layer in nats, [L+1]."""
        logs = self.log_probs[:, step].astype(np.float64)
        return -(np.exp(logs) * logs).sum(-1)

    def best(self, layer: int, step: int, count: int = 5) -> tuple[Candidate, ...]:
        """Returns the `count` most probable tokens, in descending order."""
        row = self.log_probs[layer, step]
        return tuple(Candidate(int(i), float(np.exp(row[i]))) for i in np.argsort(-row, kind="stable")[:count])

    def change(self, step: int) -> np.ndarray:
        """Returns KL(after || before) of each layer in nats, [L]."""
        rows = self.log_probs[:, step]
        return kl_divergence(rows[1:], rows[:-1])

    def moves(
        self, layer: int, step: int, count: int = 1
    ) -> tuple[tuple[ProbabilityShift, ...], tuple[ProbabilityShift, ...]]:
        """The tokens that gain and that lose the most by layer `layer`, counted from 1."""
        return largest_shifts(self.log_probs[layer - 1, step], self.log_probs[layer, step], count)

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        return self.log_probs.nbytes


@torch.inference_mode()
def lens(checkpoint: Checkpoint, analysis: Analysis, max_bytes: int | None = None) -> Lens:
    """Returns the predictions of every layer at every step, under the analysis' intervention.

    Where each step has its own pass, the lens reads that pass, so the last row always made the choice.

    Raises:
        RequestError: The result takes more than `max_bytes`.
    """
    ids, config = analysis.trace.predicted_axis.ids, checkpoint.config
    layers = config.decoder_layers or config.encoder_layers
    nbytes = FLOAT_BYTES * (layers + 1) * len(ids) * config.target_vocab
    if max_bytes is not None and nbytes > max_bytes:
        raise RequestError(
            f"The predictions of {layers} layers for {config.target_vocab:,} tokens at {len(ids)} steps take "
            f"{nbytes / MEGABYTE:,.0f} MB; expected at most {max_bytes / MEGABYTE:,.0f}. "
            "Shorten the sentence or its translation."
        )
    if analysis.final_pass is not None:
        each = [_read(checkpoint, analysis, ids[: t + 1], since=t) for t in range(len(ids))]
        rows = np.concatenate(each, axis=1)
    else:
        rows = _read(checkpoint, analysis, ids)
    rows.flags.writeable = False
    return Lens(rows, ids)


def _read(checkpoint: Checkpoint, analysis: Analysis, target: Sequence[int], since: int = 0) -> np.ndarray:
    """Runs one pass over a target and returns log-probabilities [L+1,T,V] of the steps from `since` on."""
    model, probe, trace = checkpoint.model, Probe("full"), analysis.trace
    source = None if trace.source is None else torch.tensor([trace.source.ids], device=checkpoint.device)  # [1,S]
    outputs = None if trace.outputs is None else torch.tensor([tuple(target)], device=checkpoint.device)  # [1,T]
    edits = build_edits(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention])
    teacher_forced_states(model, source, outputs, Pass(edits, probe))
    stack = "encoder" if outputs is None else "decoder"
    layers = getattr(model, stack)
    streams = [probe.streams[layers[0].residuals[0].place].before]  # [1,T,D]
    streams += [probe.streams[layer.residuals[-1].place].after for layer in layers]
    hidden = getattr(model, f"{stack}_norm")(torch.cat(streams)[:, since:])  # [L+1,T,D]
    rows = None if source is None else source.expand(len(hidden), -1)
    return model.task_logits(hidden, rows).float().log_softmax(-1).cpu().numpy()  # [L+1,T,V], for a classifier [L+1,1,C]
