"""How much a token's value moves the output of a head: the norm of weight x value x W_O (Kobayashi et al. 2020).

Gradient times input (Shrikumar et al. 2016): how a token's log-probability, or the difference of two labels' logits,
would answer to a longer source embedding."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from model.checkpoint import Checkpoint
from model.edits.intervention import Intervention
from model.edits.kinds import Ablate, Place
from model.edits.patches import PatchZ
from model.inference.analysis import Analysis
from model.inference.source_reading import edits_of
from model.network.attention import MultiHeadAttention
from model.network.context import Pass, forced
from model.network.transformer import Embedding, Transformer
from model.readings.stages.layer_inputs import activations, stepwise
from model.trace import Site


@torch.inference_mode()
def value_norms(checkpoint: Checkpoint, analysis: Analysis) -> dict[Site, np.ndarray]:
    """For every site the norm of each head's value of each key after W_O, without biases of W_O: float32 [H,S].

    Under the analysis' intervention; times the pattern it is the contribution. Where each step was decoded over its own
    prefix, each row of decoder self-attention has values of its own: [H,T,S], 0 for tokens that are written later. A head
    that is switched off passes no value on: 0 at every key, or where its mean stands in for it.
    """
    found = {site: _norms(checkpoint, site, of["v"]) for site, of in activations(checkpoint, analysis).records.items()}
    alone = [site for site in found if stepwise(analysis, site) and site.of.keys == "target"]
    if alone:
        found |= {site: np.zeros(analysis.trace.patterns[site].shape, dtype=np.float32) for site in alone}  # [H,T,S]
        for query in range(len(analysis.trace.queries(alone[0]))):
            records = activations(checkpoint, analysis, alone[0], query).records
            for site in alone:
                found[site][:, query, : query + 1] = _norms(checkpoint, site, records[site]["v"])
    for site, norms in found.items():
        norms[switched_off(analysis.request.intervention, site, len(norms))] = 0
        norms.flags.writeable = False
    return found


def _norms(checkpoint: Checkpoint, site: Site, values: torch.Tensor) -> np.ndarray:
    """Those of values [1,H,S,K]: [H,S]."""
    _, heads, _, width = values.shape
    output = _output(checkpoint.model, site).unflatten(1, (heads, width)).permute(1, 2, 0)  # [D,H*K] to [H,K,D]
    return (values[0] @ output).norm(dim=-1).float().cpu().numpy()


def switched_off(intervention: Intervention, site: Site, heads: int) -> list[int]:
    """The heads of a site, from 0, that are ablated, or whose z is another sentence's at every target token."""
    edits = intervention.edits
    ablated = [edit.place for edit in edits if isinstance(edit, Ablate)]
    ablated += [e.place for e in edits if isinstance(e, PatchZ) and e.position is None and e.takes == "target"]
    return [n for n in range(heads) if any(Place(site.kind, site.layer, n).meets(place) for place in ablated)]


def _output(model: Transformer, site: Site) -> torch.Tensor:
    """The weight of W_O at a site, [D,H*K]."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention) and module.site == site:
            return module.output.weight
    raise AssertionError(f"{site} is no site of this model")


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
