"""Gradient times input (Shrikumar et al. 2016): how a token's log-probability, or the difference of two labels' logits,
would answer to a longer source embedding."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from model.checkpoint import Checkpoint
from model.inference.analysis import Analysis
from model.inference.donors import edits_of
from model.network.context import Pass, forced
from model.network.transformer import Embedding, Transformer

TOKENS = 2048  # of a batch, both sides together: what is kept for the way back stays bounded


def gradient_times_input(
    checkpoint: Checkpoint, analysis: Analysis, steps: Sequence[int], chosen: Sequence[int] = ()
) -> np.ndarray:
    """For each of some steps (from 0) the gradient of its token's log-probability by each source embedding, times that
    embedding without its position: float64 [N,S], signed, in nats. `chosen` are the tokens of all places, of a model that
    writes none.

    Exact, by automatic differentiation; the shared model keeps no gradient. Where each step was decoded over its own prefix,
    so it is read.
    """
    trace = analysis.whole
    assert trace.source is not None
    ids, found = chosen if trace.outputs is None else trace.outputs.ids, []
    if analysis.last is None:
        batch = max(1, TOKENS // (len(trace.source) + len(ids)))
        for first in range(0, len(steps), batch):
            found.append(_backward(checkpoint, analysis, ids, steps[first : first + batch]))
    else:
        found = [_backward(checkpoint, analysis, ids[: step + 1], [step]) for step in steps]
    return np.concatenate(found)


def label_gradient(checkpoint: Checkpoint, analysis: Analysis, label: int, rival: int) -> np.ndarray:
    """The gradient of the logit of a text's label minus that of a rival by each embedding, times that embedding without its
    position: float64 [S], signed, in nats."""
    ids, model = analysis.whole.places.ids, checkpoint.model
    source = torch.tensor([ids], device=checkpoint.device)  # [1,S]
    at = Pass(edits_of(checkpoint, ids, [analysis.request.intervention]))
    with torch.inference_mode(False), torch.enable_grad():
        leaf = _Leaf(model.source_embedding)
        logits = model.answer(forced(_reading_from(model, leaf), source, None, at), source)[0, 0]  # [C]
        (gradient,) = torch.autograd.grad(logits[label] - logits[rival], leaf.value)  # [1,S,D]
    return _times_embedding(leaf, gradient, source)[0]


def _backward(checkpoint: Checkpoint, analysis: Analysis, ids: Sequence[int], steps: Sequence[int]) -> np.ndarray:
    """The same over one target, a row of the batch for each step."""
    rows, device = len(steps), checkpoint.device
    source = torch.tensor([analysis.whole.source.ids] * rows, device=device)  # [N,S]
    writes = analysis.whole.outputs is not None
    outputs = torch.tensor([list(ids)] * rows, device=device) if writes else None  # [N,T]
    at = Pass(edits_of(checkpoint, analysis.whole.source.ids, [analysis.request.intervention]))
    with torch.inference_mode(False), torch.enable_grad():
        leaf = _Leaf(checkpoint.model.source_embedding)
        hidden = forced(_reading_from(checkpoint.model, leaf), source, outputs, at)  # [N,T,D]
        chosen = hidden[torch.arange(rows, device=device), list(steps)]  # [N,D]
        log_probs = checkpoint.model.project(chosen).log_softmax(-1)  # [N,V]
        tokens = torch.tensor([ids[step] for step in steps], device=device)
        total = log_probs.gather(-1, tokens[:, None]).sum()
        (gradient,) = torch.autograd.grad(total, leaf.value)  # [N,S,D]
    return _times_embedding(leaf, gradient, source)


def _times_embedding(leaf: _Leaf, gradient: Tensor, source: Tensor) -> np.ndarray:
    """Gradients [N,S,D] times the embeddings of ids [N,S], summed over each: [N,S]."""
    embedded = leaf.embedding.table.weight[source] * leaf.embedding.scale  # [N,S,D]
    return (gradient.double() * embedded.double()).sum(-1).cpu().numpy()


class _Leaf(nn.Module):
    """Embeds as the model does, and keeps what comes of it as the place where the way back ends."""

    def __init__(self, embedding: Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.value: Tensor | None = None

    def forward(self, ids: Tensor, positions: Tensor, present: Tensor | None = None) -> Tensor:
        self.value = self.embedding(ids, positions, present).detach().requires_grad_()
        return self.value


def _reading_from(model: Transformer, leaf: _Leaf) -> Transformer:
    """The model with another source embedding; all weights are shared, and the model itself stays as it is."""
    view = copy.copy(model)
    view._modules = model._modules | {"source_embedding": leaf}
    return view
