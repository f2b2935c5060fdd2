"""Attributions to source tokens: value norms (Kobayashi et al. 2020) and gradient x input (Shrikumar et al. 2016)."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ...checkpoint import Checkpoint
from ...edits.intervention import Intervention
from ...edits.kinds import Ablate, Place
from ...edits.patches import PatchZ
from ...inference.analysis import Analysis
from ...inference.source_reading import build_edits
from ...network.attention import MultiHeadAttention
from ...network.context import Pass, teacher_forced_states
from ...network.transformer import Embedding, Transformer
from ...trace import Site
from ..stages.layer_inputs import activations, is_stepwise


@torch.inference_mode()
def value_norms(checkpoint: Checkpoint, analysis: Analysis) -> dict[Site, np.ndarray]:
    """Returns for every site the norm of each head's value of each key after W_O, without bias, float32 [H,S].

    The pattern times these norms is the contribution, under the analysis' intervention. Where each step has its own pass,
    each row of decoder self-attention has its own values: [H,T,S], 0 for later tokens. A head that is off has norm 0 at
    every key, also under mean ablation.
    """
    norms = {site: _norms(checkpoint, site, of["v"]) for site, of in activations(checkpoint, analysis).records.items()}
    stepped = [site for site in norms if is_stepwise(analysis, site) and site.spec.key_side == "target"]
    if stepped:
        norms |= {site: np.zeros(analysis.trace.patterns[site].shape, dtype=np.float32) for site in stepped}  # [H,T,S]
        for query in range(len(analysis.trace.queries(stepped[0]))):
            records = activations(checkpoint, analysis, stepped[0], query).records
            for site in stepped:
                norms[site][:, query, : query + 1] = _norms(checkpoint, site, records[site]["v"])
    for site, values in norms.items():
        values[switched_off(analysis.request.intervention, site, len(values))] = 0
        values.flags.writeable = False
    return norms


def _norms(checkpoint: Checkpoint, site: Site, values: torch.Tensor) -> np.ndarray:
    """Returns the norms of values [1,H,S,K] after W_O, [H,S]."""
    _, heads, _, width = values.shape
    output = output_weight(checkpoint.model, site).unflatten(1, (heads, width)).permute(1, 2, 0)  # [D,H*K] to [H,K,D]
    return (values[0] @ output).norm(dim=-1).float().cpu().numpy()


def switched_off(intervention: Intervention, site: Site, heads: int) -> list[int]:
    """Returns the heads of a site, from 0, that are ablated, or whose z is patched at every target token."""
    edits = intervention.edits
    ablated = [edit.place for edit in edits if isinstance(edit, Ablate)]
    ablated += [e.place for e in edits if isinstance(e, PatchZ) and e.position is None and e.donor_side == "target"]
    return [n for n in range(heads) if any(Place(site.kind, site.layer, n).overlaps(place) for place in ablated)]


def output_weight(model: Transformer, site: Site) -> torch.Tensor:
    """Returns the weight of W_O at a site, [D,H*K]."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention) and module.site == site:
            return module.output.weight
    raise AssertionError(f"{site} is no site of this model")


BATCH_TOKENS = 2048  # of a batch, both sides together; bounds the memory of the backward pass


def gradient_times_input(
    checkpoint: Checkpoint, analysis: Analysis, steps: Sequence[int], chosen: Sequence[int] = ()
) -> np.ndarray:
    """Returns gradient x input of each step's log-probability by source token, float64 [N,S], signed, in nats.

    The input is the source embedding without its position. `chosen` has the tokens of all places for a model without a
    decoder. Automatic differentiation is exact, and the shared model stores no gradient. Where each step has its own pass,
    the step is read from that pass.
    """
    trace = analysis.full_pass
    assert trace.source is not None
    ids = chosen if trace.outputs is None else trace.outputs.ids
    rows = []
    if analysis.final_pass is None:
        batch = max(1, BATCH_TOKENS // (len(trace.source) + len(ids)))
        for first in range(0, len(steps), batch):
            rows.append(_backward(checkpoint, analysis, ids, steps[first : first + batch]))
    else:
        rows = [_backward(checkpoint, analysis, ids[: step + 1], [step]) for step in steps]
    return np.concatenate(rows)


def label_gradient(checkpoint: Checkpoint, analysis: Analysis, label: int, rival: int) -> np.ndarray:
    """Returns gradient x input of the logit difference of two labels by token, float64 [S], signed, in nats.

    The input is the embedding without its position.
    """
    ids, model = analysis.full_pass.step_axis.ids, checkpoint.model
    source = torch.tensor([ids], device=checkpoint.device)  # [1,S]
    context = Pass(build_edits(checkpoint, ids, [analysis.request.intervention]))
    with torch.inference_mode(False), torch.enable_grad():
        leaf = _Leaf(model.source_embedding)
        logits = model.task_logits(teacher_forced_states(_reading_from(model, leaf), source, None, context), source)[
            0, 0
        ]  # [C]
        (gradient,) = torch.autograd.grad(logits[label] - logits[rival], leaf.value)  # [1,S,D]
    return _times_embedding(leaf, gradient, source)[0]


def _backward(checkpoint: Checkpoint, analysis: Analysis, ids: Sequence[int], steps: Sequence[int]) -> np.ndarray:
    """Returns gradient x input over one target, with a row of the batch for each step, [N,S]."""
    rows, device = len(steps), checkpoint.device
    source = torch.tensor([analysis.full_pass.source.ids] * rows, device=device)  # [N,S]
    writes = analysis.full_pass.outputs is not None
    outputs = torch.tensor([list(ids)] * rows, device=device) if writes else None  # [N,T]
    context = Pass(build_edits(checkpoint, analysis.full_pass.source.ids, [analysis.request.intervention]))
    with torch.inference_mode(False), torch.enable_grad():
        leaf = _Leaf(checkpoint.model.source_embedding)
        hidden = teacher_forced_states(_reading_from(checkpoint.model, leaf), source, outputs, context)  # [N,T,D]
        chosen = hidden[torch.arange(rows, device=device), list(steps)]  # [N,D]
        log_probs = checkpoint.model.project(chosen).log_softmax(-1)  # [N,V]
        tokens = torch.tensor([ids[step] for step in steps], device=device)
        total = log_probs.gather(-1, tokens[:, None]).sum()
        (gradient,) = torch.autograd.grad(total, leaf.value)  # [N,S,D]
    return _times_embedding(leaf, gradient, source)


def _times_embedding(leaf: _Leaf, gradient: Tensor, source: Tensor) -> np.ndarray:
    """Returns gradients [N,S,D] times the embeddings of ids [N,S], summed over D, [N,S]."""
    embedded = leaf.embedding.table.weight[source] * leaf.embedding.scale  # [N,S,D]
    return (gradient.double() * embedded.double()).sum(-1).cpu().numpy()


class _Leaf(nn.Module):
    """Wraps an embedding and stores its output as the leaf of the backward pass."""

    def __init__(self, embedding: Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.value: Tensor | None = None

    def forward(self, ids: Tensor, positions: Tensor, present: Tensor | None = None) -> Tensor:
        self.value = self.embedding(ids, positions, present).detach().requires_grad_()
        return self.value


def _reading_from(model: Transformer, leaf: _Leaf) -> Transformer:
    """Returns a view of the model with another source embedding. All weights are shared, the model is unchanged."""
    view = copy.copy(model)
    view._modules = model._modules | {"source_embedding": leaf}
    return view
