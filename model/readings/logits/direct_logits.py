"""Direct logit attribution: a difference of two logits as an exact sum over the writers of the residual stream.

See Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits". The statistics of all norms stay constant, see
`model.readings.logits.residual_writers`. The choice is a token of a target, a word in a blank or a label.

For a blank, the output transform norm(f(W x)) (Devlin et al. 2019) is linearized: the factor f(u) / u of each unit and the
norm's statistics stay constant. For a label, the pooler's tanh becomes a constant factor tanh(u) / u. With mean pooling each
token's stream has its share.

Also the logit lens (nostalgebraist 2020): the prediction of each layer, or sub-layer, as if it were the last. The lens sends
the residual stream after it through the last norm and the projection, in a decoder, or in an encoder without a decoder. With
post-norm that stream is the output of the sub-layer's own norm. Norm and projection were trained for the last layer only, so
an early prediction is a reading, not a decision (the tuned lens of Belrose et al. 2023 trains a translator for each layer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ...checkpoint import Checkpoint
from ...config import ACTIVATIONS
from ...inference.analysis import Analysis
from ...inference.passes import FLOAT_BYTES, MEGABYTE
from ...inference.predictions import Candidate, ProbabilityShift, kl_divergence, largest_shifts
from ...inference.request import RequestError
from ...inference.source_reading import build_edits
from ...network.context import Pass, shift_right, teacher_forced_states
from ...network.transformer import EncoderOnly
from ...trace import Probe, Site, Sublayer
from ..tokens.word_readings import pooling_weights
from .residual_writers import Stream, Writer, before_tanh, before_transform, linearized_norms


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
    trace, model = analysis.full_pass, checkpoint.model
    if trace.outputs is None:
        raise ValueError("this model has no decoder; expected one that writes tokens")
    check_choice("step", step, len(trace.outputs), token, rival, checkpoint.config.target_vocab)
    ids = trace.outputs.ids if analysis.final_pass is None else trace.outputs.ids[: step + 1]
    source = None if trace.source is None else torch.tensor([trace.source.ids], device=checkpoint.device)
    outputs = torch.tensor([ids], device=checkpoint.device)
    probe = Probe("full")
    context = Pass(build_edits(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention]), probe)
    hidden = teacher_forced_states(model, source, outputs, context)[0, step]  # [D]
    toward, offset = model.logit_difference(token, rival)
    direction = toward.double()  # [D]
    read = int(shift_right(outputs)[0, step])
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


@torch.inference_mode()
def blank_logits(checkpoint: Checkpoint, analysis: Analysis, place: int, token: int, rival: int) -> DirectLogits:
    """Splits the logit difference of two tokens at a place (from 0), under the analysis' intervention, in float64.

    Raises:
        ValueError: See `direct_logits`, or the model does not predict a token at each place.
    """
    trace, model = analysis.full_pass, checkpoint.model
    if trace.outputs is not None or trace.classes or trace.source is None:
        raise ValueError("this model predicts no token at each place; expected a masked language model")
    ids = trace.source.ids
    check_choice("place", place, len(ids), token, rival, checkpoint.config.source_vocab)
    source, probe = torch.tensor([ids], device=checkpoint.device), Probe("full")
    context = Pass(build_edits(checkpoint, ids, [analysis.request.intervention]), probe)
    hidden = teacher_forced_states(model, source, None, context)[0, place]  # [D]
    toward, offset = model.logit_difference(token, rival)
    direction, linearized = toward.double(), linearized_norms(checkpoint.config)  # [D]
    if checkpoint.config.output_transform:
        direction, added = before_transform(model.transform, hidden, direction)
        offset += added
        name = {"swiglu": "silu"}.get(checkpoint.config.activation, checkpoint.config.activation)
        title, *form = ACTIVATIONS[name].title.split(maxsplit=1)
        factors = " ".join([f"the factors {title}(u) / u", *form, "of the output layer"])
        linearized = f"{linearized_norms(checkpoint.config, transformed=True)} and {factors}"
    parts = Stream(model, probe, context, "encoder", ids[place], place, ids).split(direction[None])
    tokens = {site: moved[0].cpu().numpy() for site, moved in parts.tokens.items()}
    values = parts.values[:, 0].cpu().numpy()
    values[parts.writers.index(Writer("bias"))] += offset
    logits = model.project(hidden).double()  # [V]
    return DirectLogits(place, token, rival, float(logits[token] - logits[rival]), parts.writers, values, tokens, linearized)


_POOLER_FACTORS = "the factors tanh(u) / u of the pooler"


@torch.inference_mode()
def label_logits(checkpoint: Checkpoint, analysis: Analysis, label: int, rival: int) -> DirectLogits:
    """Splits the difference of two labels' logits, under the analysis' intervention, in float64.

    Raises:
        ValueError: The model has no labels, no such label or rival, or both are equal.
    """
    trace, model = analysis.full_pass, checkpoint.model
    if not trace.classes or not isinstance(model, EncoderOnly):
        raise ValueError("this model has no labels; expected a classifier")
    for name, value in (("label", label), ("rival", rival)):
        if not 0 <= value < len(trace.classes):
            raise ValueError(f"the {name} is {value}; expected a number below {len(trace.classes)}")
    if label == rival:
        raise ValueError("the rival is the label itself; expected two different labels")
    ids = trace.step_axis.ids
    source, probe = torch.tensor([ids], device=checkpoint.device), Probe("full")
    context = Pass(build_edits(checkpoint, ids, [analysis.request.intervention]), probe)
    hidden = teacher_forced_states(model, source, None, context)  # [1,S,D]
    shares = pooling_weights(checkpoint.config, ids)
    direction, offset = _direction(model, hidden[0], torch.tensor(shares, device=checkpoint.device), label, rival)
    values: Tensor | float = 0.0
    tokens: dict = {}
    writers: tuple[Writer, ...] = ()
    for place in np.flatnonzero(shares).tolist():
        parts = Stream(model, probe, context, "encoder", ids[place], place, ids).split(
            direction[None] * float(shares[place])
        )
        writers, values = parts.writers, values + parts.values[:, 0]
        tokens = {site: tokens.get(site, 0) + moved[0] for site, moved in parts.tokens.items()}
    totals = values.cpu().numpy()  # type: ignore[union-attr]
    totals[writers.index(Writer("bias"))] += offset
    logits = model.label_logits(hidden, source)[0].double()  # [C]
    moves = {site: moved.cpu().numpy() for site, moved in tokens.items()}
    difference = float(logits[label] - logits[rival])
    linearized = " and ".join(filter(None, (linearized_norms(checkpoint.config), _POOLER_FACTORS)))
    return DirectLogits(0, label, rival, difference, writers, totals, moves, linearized)


def _direction(model: EncoderOnly, hidden: Tensor, shares: Tensor, label: int, rival: int) -> tuple[Tensor, float]:
    """Returns the direction [D] from the pooled state to the logit difference, with constant tanh(u) / u, and the offset."""
    weight, bias = (parameter.double() for parameter in (model.classifier.weight, model.classifier.bias))
    direction, added = before_tanh(model.pooler.dense, shares @ hidden.double(), weight[label] - weight[rival])
    return direction, added + float(bias[label] - bias[rival])


def choice_logits(checkpoint: Checkpoint, analysis: Analysis, step: int, token: int, rival: int) -> DirectLogits:
    """Splits the logit difference of two labels for a classifier, else of two tokens at a step or place (from 0)."""
    if analysis.trace.classes:
        return label_logits(checkpoint, analysis, token, rival)
    if analysis.trace.outputs is None:
        return blank_logits(checkpoint, analysis, step, token, rival)
    return direct_logits(checkpoint, analysis, step, token, rival)


@dataclass(frozen=True)
class Lens:
    """Predictions after each layer: row 0 for the stack's input, row l for layer l. The last row is the model's own.

    The rows of `sublayer_lens` are those of its `places`: L is then the number of sub-layers.
    """

    log_probs: np.ndarray = field(repr=False)  # [L+1,T,V], natural logarithm
    ids: tuple[int, ...]  # the token of each of the T steps; without a decoder the token at each place
    places: tuple[Sublayer, ...] = ()  # the sub-layers after which the rows from 1 on are read; empty if rows are layers

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
    return Lens(_rows(checkpoint, analysis, _places(checkpoint, False), max_bytes), analysis.trace.predicted_axis.ids)


@torch.inference_mode()
def sublayer_lens(checkpoint: Checkpoint, analysis: Analysis, max_bytes: int | None = None) -> Lens:
    """Returns the predictions after every sub-layer, otherwise as `lens`. The row of a layer's last one is the layer's.

    Raises:
        RequestError: The result takes more than `max_bytes`.
    """
    places = _places(checkpoint, True)
    return Lens(_rows(checkpoint, analysis, places, max_bytes), analysis.trace.predicted_axis.ids, places)


def _places(checkpoint: Checkpoint, by_sublayer: bool) -> tuple[Sublayer, ...]:
    """Returns the sub-layers after which the lens reads: all of the stack that predicts, or the last of each layer."""
    layers = getattr(checkpoint.model, "decoder" if checkpoint.config.decoder_layers else "encoder")
    return tuple(each.place for layer in layers for each in (layer.residuals if by_sublayer else layer.residuals[-1:]))


def _rows(checkpoint: Checkpoint, analysis: Analysis, places: tuple[Sublayer, ...], max_bytes: int | None) -> np.ndarray:
    """Returns the log-probabilities of the stack's input and after each place, read-only. Raises RequestError."""
    ids, config = analysis.trace.predicted_axis.ids, checkpoint.config
    nbytes = FLOAT_BYTES * (len(places) + 1) * len(ids) * config.target_vocab
    if max_bytes is not None and nbytes > max_bytes:
        what = "layers" if len(places) in (config.decoder_layers, config.encoder_layers) else "sub-layers"
        raise RequestError(
            f"The predictions of {len(places)} {what} for {config.target_vocab:,} tokens at {len(ids)} steps take "
            f"{nbytes / MEGABYTE:,.0f} MB; expected at most {max_bytes / MEGABYTE:,.0f}. "
            "Shorten the sentence or its translation."
        )
    if analysis.final_pass is not None:
        each = [_read(checkpoint, analysis, places, ids[: t + 1], since=t) for t in range(len(ids))]
        rows = np.concatenate(each, axis=1)
    else:
        rows = _read(checkpoint, analysis, places, ids)
    rows.flags.writeable = False
    return rows


def _read(
    checkpoint: Checkpoint, analysis: Analysis, places: tuple[Sublayer, ...], target: Sequence[int], since: int = 0
) -> np.ndarray:
    """Runs one pass over a target and returns log-probabilities [L+1,T,V] of the steps from `since` on."""
    model, probe, trace = checkpoint.model, Probe("full"), analysis.trace
    source = None if trace.source is None else torch.tensor([trace.source.ids], device=checkpoint.device)  # [1,S]
    outputs = None if trace.outputs is None else torch.tensor([tuple(target)], device=checkpoint.device)  # [1,T]
    edits = build_edits(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention])
    teacher_forced_states(model, source, outputs, Pass(edits, probe))
    stack = places[0].stack
    streams = [probe.streams[getattr(model, stack)[0].residuals[0].place].before]  # [1,T,D]
    streams += [probe.streams[place].after for place in places]
    hidden = getattr(model, f"{stack}_norm")(torch.cat(streams)[:, since:])  # [L+1,T,D]
    rows = None if source is None else source.expand(len(hidden), -1)
    return model.task_logits(hidden, rows).float().log_softmax(-1).cpu().numpy()  # [L+1,T,V], for a classifier [L+1,1,C]
