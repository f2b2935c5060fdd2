"""Why this word in a blank: the difference of two tokens' logits at a place, as an exact sum over all that wrote there.

As `direct_logits`, of a model that reads all at once. Where its head has a transform, norm(f(W x)) (Devlin et al. 2019),
the way back goes through it: the factor f(u) / u of each unit and the statistics of the norm are held as they were in this
pass.
"""

from __future__ import annotations

import torch

from model.activations import ACTIVATIONS
from model.checkpoint import Checkpoint
from model.inference.analysis import Analysis
from model.inference.donors import edits_of
from model.network.context import Pass, forced
from model.readings.direct_logits import DirectLogits, check
from model.readings.held import before_transform, held_norms
from model.readings.writers import Stream, Writer
from model.trace import Probe


@torch.inference_mode()
def blank_logits(checkpoint: Checkpoint, analysis: Analysis, place: int, token: int, rival: int) -> DirectLogits:
    """The difference at a place (from 0), a blank or not, under the intervention of the analysis, in float64 from what the
    pass recorded. ValueError as `direct_logits`, and for a model that does not say at each place which token stands there.
    """
    trace, model = analysis.whole, checkpoint.model
    if trace.outputs is not None or trace.classes or trace.source is None:
        raise ValueError("this model does not say of each place which token stands there")
    ids = trace.source.ids
    check("place", place, len(ids), token, rival, checkpoint.config.source_vocab)
    source, probe = torch.tensor([ids], device=checkpoint.device), Probe("full")
    at = Pass(edits_of(checkpoint, ids, [analysis.request.intervention]), probe)
    hidden = forced(model, source, None, at)[0, place]  # [D]
    toward, offset = model.preference(token, rival)
    direction, held = toward.double(), held_norms(checkpoint.config)  # [D]
    if checkpoint.config.output_transform:
        direction, added = before_transform(model.transform, hidden, direction)
        offset += added
        name = {"swiglu": "silu"}.get(checkpoint.config.activation, checkpoint.config.activation)
        title, *form = ACTIVATIONS[name].title.split(maxsplit=1)
        factors = " ".join([f"the factors {title}(u) / u", *form, "of the output layer"])
        held = f"{held_norms(checkpoint.config, transformed=True)} and {factors}"
    parts = Stream(model, probe, at, "encoder", ids[place], place, ids).split(direction[None])
    tokens = {site: moved[0].cpu().numpy() for site, moved in parts.tokens.items()}
    values = parts.values[:, 0].cpu().numpy()
    values[parts.writers.index(Writer("bias"))] += offset
    logits = model.project(hidden).double()  # [V]
    return DirectLogits(place, token, rival, float(logits[token] - logits[rival]), parts.writers, values, tokens, held)
