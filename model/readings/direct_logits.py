"""Why this token: a difference of two logits as an exact sum over all that wrote into the residual stream.

Direct logit attribution (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"). The statistics of every
norm on the way to the logits (mean and standard deviation, or root mean square) are held as they were in this pass: then
all that follows a writer is linear, and the parts add up to the difference. In post-norm (Vaswani et al. 2017) a writer
passes the norms of all later sub-layers, in pre-norm the last one alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from model.checkpoint import Checkpoint
from model.inference.analysis import Analysis
from model.inference.donors import edits_of
from model.network.attention import MultiHeadAttention
from model.network.context import Pass, forced, shifted
from model.network.layers import DecoderLayer, EncoderLayer, Residual
from model.network.transformer import Transformer
from model.trace import Probe, Site

Kind = Literal["token", "position", "head", "feed-forward", "bias", "patch"]


class Writer(NamedTuple):
    """What wrote into the residual stream: the token's embedding, its position, a head (of a site, from 0), a feed-forward
    network (of a layer, from 0), all biases of attention outputs and norms together, or what an edit has put into the stream
    after a layer in the place of what stood there."""

    kind: Kind
    site: Site | None = None
    head: int | None = None
    layer: int | None = None


@dataclass(frozen=True)
class DirectLogits:
    """The logit of `token` minus that of `rival` at a step, split. Nats: it is the logarithm of their odds."""

    step: int  # from 0
    token: int
    rival: int
    difference: float  # as the model computed it
    writers: tuple[Writer, ...]
    values: np.ndarray = field(repr=False)  # [N], float64, in the order of the writers
    tokens: dict[Site, np.ndarray] = field(repr=False)  # [H,S]: each head's part over the tokens it looks at

    @property
    def remainder(self) -> float:
        """What the parts miss: rounding."""
        return self.difference - float(self.values.sum())

    @property
    def ranked(self) -> list[tuple[Writer, float]]:
        """The writers, the largest first, whatever their sign."""
        order = np.argsort(-np.abs(self.values), kind="stable")
        return [(self.writers[i], float(self.values[i])) for i in order]

    def head(self, site: Site, head: int) -> float:
        """The part of one head; KeyError for one that there is not."""
        return dict(zip(self.writers, map(float, self.values), strict=True))[Writer("head", site, head)]

    def heads(self, kind: str) -> np.ndarray:
        """The parts of all heads of a kind of site: [L,H]."""
        sites = sorted({w.site for w in self.writers if w.site is not None and w.site.kind == kind})
        return np.array([self._row(site) for site in sites])

    def _row(self, site: Site) -> list[float]:
        return [float(v) for w, v in zip(self.writers, self.values, strict=True) if w.site == site]

    @cached_property
    def by_kind(self) -> dict[str, np.ndarray]:
        """What came by way of each token, all heads of a kind of site together: [S] of the cross-attention, [T] of the
        decoder's own. They add up to the parts of those heads, but for a head that was made to give its mean."""
        kinds = sorted({site.kind for site in self.tokens})
        return {kind: sum(parts.sum(0) for site, parts in self.tokens.items() if site.kind == kind) for kind in kinds}


@torch.inference_mode()
def direct_logits(checkpoint: Checkpoint, analysis: Analysis, step: int, token: int, rival: int) -> DirectLogits:
    """The difference at a step (from 0), under the intervention of the analysis, in float64 from what the pass recorded.

    Where each step was decoded over its own prefix, so it is read. ValueError for a step, a token or a rival that there is
    not, for a token that is its own rival, and for a model without a decoder.
    """
    trace, model = analysis.whole, checkpoint.model
    if trace.outputs is None:
        raise ValueError("this model has no decoder: no token is chosen over another")
    if not 0 <= step < len(trace.outputs):
        raise ValueError(f"the step is {step}; expected 0 to {len(trace.outputs) - 1}")
    for name, value in (("token", token), ("rival", rival)):
        if not 0 <= value < checkpoint.config.target_vocab:
            raise ValueError(f"the {name} is {value}; expected an id below {checkpoint.config.target_vocab}")
    if token == rival:
        raise ValueError("the rival is the token itself; expected two different tokens")
    ids = trace.outputs.ids if analysis.last is None else trace.outputs.ids[: step + 1]
    source = None if trace.source is None else torch.tensor([trace.source.ids], device=checkpoint.device)
    outputs = torch.tensor([ids], device=checkpoint.device)
    probe = Probe("full")
    at = Pass(edits_of(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention]), probe)
    hidden = forced(model, source, outputs, at)[0, step]  # [D]
    direction = (model.projection.weight[token] - model.projection.weight[rival]).double()  # [D]
    back = _Back(model, probe, at, shifted(outputs), step, direction)
    return DirectLogits(step, token, rival, float(direction @ hidden.double()), *back.split())


class _Back:
    """Walks back from the logits to the embeddings; `direction` is what a vector added there would do to the difference."""

    def __init__(self, model: Transformer, probe: Probe, at: Pass, inputs: Tensor, step: int, direction: Tensor) -> None:
        self._model, self._probe, self._at, self._inputs, self._step = model, probe, at, inputs, step
        self._direction = direction
        self._parts: dict[Writer, float] = {}
        self._tokens: dict[Site, np.ndarray] = {}
        self._bias = 0.0
        edits = [edit for row in at.edits.rows for edit in row.edits if "patch_stream" in edit.hooks]
        ends = [layer.residuals[-1].place for layer in model.decoder]
        self._patched = {end for end in ends if any(edit.acts_at(end.stack, end.layer + 1) for edit in edits)}

    def split(self) -> tuple[tuple[Writer, ...], np.ndarray, dict[Site, np.ndarray]]:
        layers = list(self._model.decoder)
        last = layers[-1].residuals[-1].place
        self._through(self._model.decoder_norm, self._probe.streams[last].after[0, self._step])
        for layer in reversed(layers):
            for residual in reversed(layer.residuals):
                self._sublayer(layer, residual)
        self._embedding(self._probe.streams[layers[0].residuals[0].place].before[0, self._step])
        parts = dict(reversed(self._parts.items())) | {Writer("bias"): self._bias}
        return tuple(parts), np.array(list(parts.values())), dict(reversed(self._tokens.items()))

    def _through(self, norm: nn.Module, x: Tensor) -> None:
        """Back through a norm at what it read, x [D], its statistics held: its bias is a part of its own."""
        if isinstance(norm, nn.Identity):
            return
        x = x.double()
        if isinstance(norm, nn.LayerNorm):
            self._bias += float(self._direction @ norm.bias.double())
            scaled = self._direction * norm.weight.double() / (x.var(unbiased=False) + norm.eps).sqrt()
            self._direction = scaled - scaled.mean()
        else:
            self._direction = self._direction * norm.weight.double() / (x.square().mean() + norm.eps).sqrt()

    def _sublayer(self, layer: DecoderLayer | EncoderLayer, residual: Residual) -> None:
        before = self._probe.streams[residual.place].before  # [1,T,D]
        read = residual.norm(before) if residual.norm_first else before
        kept = self._at.kept(residual.place, before)
        factor = 1.0 if kept is None else float(kept.flatten()[0])
        if residual.place.part == "ff":
            written = layer.feed_forward(read)[0, self._step] * factor  # [D]
        else:
            module = layer.cross_attention if residual.place.part == "cross" else layer.self_attention
            z = self._probe.records[module.site]["z"]  # [1,H,T,K]
            written = module.output(z.transpose(1, 2).flatten(2))[0, self._step] * factor
        total = before[0, self._step] + written
        if residual.place in self._patched:
            made = total if residual.norm_first else residual.norm(total)
            put_in = self._probe.streams[residual.place].after[0, self._step] - made
            self._parts[Writer("patch", layer=residual.place.layer)] = float(self._direction @ put_in.double())
        if not residual.norm_first:
            self._through(residual.norm, total)
        if residual.place.part == "ff":
            self._parts[Writer("feed-forward", layer=residual.place.layer)] = float(self._direction @ written.double())
        else:
            self._attention(module, factor)

    def _attention(self, module: MultiHeadAttention, factor: float) -> None:
        record = {name: tensor[0].double() for name, tensor in self._probe.records[module.site].items() if name in "zv"}
        pattern = self._probe.records[module.site]["pattern"][0, :, self._step].double()  # [H,S]
        z, v = record["z"][:, self._step], record["v"]  # [H,K], [H,S,K]
        toward = (module.output.weight.double().T @ self._direction * factor).view_as(z)  # [H,K]
        self._bias += factor * float(self._direction @ module.output.bias.double())
        heads = (z * toward).sum(-1)  # [H]
        for head in reversed(range(len(heads))):
            self._parts[Writer("head", module.site, head)] = float(heads[head])
        moved = pattern * (v @ toward[..., None]).squeeze(-1)  # [H,S]
        given = (pattern[..., None, :] @ v).squeeze(-2)  # [H,K]: what the head gives unless it is switched off
        moved[~torch.isclose(given, z, rtol=1e-4, atol=1e-5).all(-1)] = 0
        self._tokens[module.site] = moved.cpu().numpy()

    def _embedding(self, x: Tensor) -> None:
        embedding = self._model.target_embedding
        token = (embedding.table.weight[self._inputs[0, self._step]] * embedding.scale).double()  # [D]
        self._parts[Writer("position")] = float(self._direction @ (x.double() - token))
        self._parts[Writer("token")] = float(self._direction @ token)
