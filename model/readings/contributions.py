"""How much a token's value moves the output of a head: the norm of weight x value x W_O (Kobayashi et al. 2020)."""

from __future__ import annotations

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.edits.intervention import Intervention
from model.edits.kinds import Ablate, Place
from model.edits.patches import PatchZ
from model.inference.analysis import Analysis
from model.network.attention import MultiHeadAttention
from model.network.transformer import Transformer
from model.readings.activations import activations, stepwise
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
