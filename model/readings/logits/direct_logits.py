"""Direct logit attribution: a difference of two logits as an exact sum over the writers of the residual stream.

See Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits". The statistics of all norms stay constant, see
`model.readings.logits.residual_writers`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from ...checkpoint import Checkpoint
from ...inference.analysis import Analysis
from ...inference.source_reading import edits_of
from ...network.context import Pass, forced, shifted
from ...trace import Probe, Site
from .residual_writers import Stream, Writer, linearized_norms


@dataclass(frozen=True)
class DirectLogits:
    """The logit of `token` minus that of `rival` at a step, split into parts in nats: the logarithm of their odds."""

    step: int  # from 0
    token: int
    rival: int
    difference: float  # as the model computed it
    writers: tuple[Writer, ...]
    values: np.ndarray = field(repr=False)  # [N], float64, in the order of the writers
    tokens: dict[Site, np.ndarray] = field(repr=False)  # [H,S]: each head's part by attended token
    linearized: str = ""  # the parts of the model that stay constant, in words; empty without any

    @property
    def remainder(self) -> float:
        """The rounding error: the difference minus the sum of the parts."""
        return self.difference - float(self.values.sum())

    @property
    def ranked(self) -> list[tuple[Writer, float]]:
        """The writers with their parts, the largest absolute value first."""
        order = np.argsort(-np.abs(self.values), kind="stable")
        return [(self.writers[i], float(self.values[i])) for i in order]

    def head(self, site: Site, head: int) -> float:
        """Returns the part of one head. Raises KeyError for an unknown head."""
        return dict(zip(self.writers, map(float, self.values), strict=True))[Writer("head", site, head)]

    def heads(self, kind: str) -> np.ndarray:
        """Returns the parts of all heads of a kind of site, [L,H]."""
        sites = sorted({w.site for w in self.writers if w.site is not None and w.site.kind == kind})
        return np.array([self._row(site) for site in sites])

    def _row(self, site: Site) -> list[float]:
        return [float(v) for w, v in zip(self.writers, self.values, strict=True) if w.site == site]

    @cached_property
    def by_kind(self) -> dict[str, np.ndarray]:
        """The parts by attended token, summed over the heads of a kind of site, [S] or [T].

        They add up to the parts of those heads, except for mean-ablated heads.
        """
        kinds = sorted({site.kind for site in self.tokens})
        return {kind: sum(parts.sum(0) for site, parts in self.tokens.items() if site.kind == kind) for kind in kinds}


@torch.inference_mode()
def direct_logits(checkpoint: Checkpoint, analysis: Analysis, step: int, token: int, rival: int) -> DirectLogits:
    """Splits the logit difference of two tokens at a step (from 0), under the analysis' intervention, in float64.

    Where each step has its own pass, the step is read from that pass.

    Raises:
        ValueError: The model has no decoder, no such step, token or rival, or both tokens are equal.
    """
    trace, model = analysis.whole, checkpoint.model
    if trace.outputs is None:
        raise ValueError("this model has no decoder; expected one that writes tokens")
    check_choice("step", step, len(trace.outputs), token, rival, checkpoint.config.target_vocab)
    ids = trace.outputs.ids if analysis.last is None else trace.outputs.ids[: step + 1]
    source = None if trace.source is None else torch.tensor([trace.source.ids], device=checkpoint.device)
    outputs = torch.tensor([ids], device=checkpoint.device)
    probe = Probe("full")
    context = Pass(edits_of(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention]), probe)
    hidden = forced(model, source, outputs, context)[0, step]  # [D]
    toward, offset = model.preference(token, rival)
    direction = toward.double()  # [D]
    read = int(shifted(outputs)[0, step])
    parts = Stream(model, probe, context, "decoder", read, step).split(direction[None])
    tokens = {site: moved[0].cpu().numpy() for site, moved in parts.tokens.items()}
    values = parts.values[:, 0].cpu().numpy()
    values[parts.writers.index(Writer("bias"))] += offset
    difference, linearized = float(direction @ hidden.double()) + offset, linearized_norms(checkpoint.config)
    return DirectLogits(step, token, rival, difference, parts.writers, values, tokens, linearized)


def check_choice(name: str, row: int, rows: int, token: int, rival: int, vocabulary: int) -> None:
    """Checks a row, called `name` in messages, and two token ids.

    Raises:
        ValueError: The row or an id is out of range, or the ids are equal.
    """
    if not 0 <= row < rows:
        raise ValueError(f"the {name} is {row}; expected 0 to {rows - 1}")
    for side, value in (("token", token), ("rival", rival)):
        if not 0 <= value < vocabulary:
            raise ValueError(f"the {side} is {value}; expected an id below {vocabulary}")
    if token == rival:
        raise ValueError("the rival is the token itself; expected two different tokens")
