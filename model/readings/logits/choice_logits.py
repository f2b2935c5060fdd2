"""What wrote the difference behind a choice, whatever the model chooses: a token of a target, a label, a word in a blank.

Why this word in a blank: the difference of two tokens' logits at a place, as an exact sum over all that wrote there.

As `direct_logits`, of a model that reads all at once. Where its head has a transform, norm(f(W x)) (Devlin et al. 2019),
the way back goes through it: the factor f(u) / u of each unit and the statistics of the norm are held as they were in this
pass.

Why this label: the difference of two labels' logits as an exact sum over all that wrote into what is pooled.

As `direct_logits`, with one more step on the way back: the pooler's tanh is a factor tanh(u) / u, held as it was in this
pass, as the statistics of the norms are. Where the mean of all tokens is pooled, each token's stream has its share."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.config import ACTIVATIONS
from model.inference.analysis import Analysis
from model.inference.source_reading import edits_of
from model.network.context import Pass, forced
from model.network.transformer import EncoderOnly
from model.readings.logits.direct_logits import DirectLogits, check, direct_logits
from model.readings.logits.residual_writers import Stream, Writer, before_tanh, before_transform, held_norms
from model.readings.tokens.label_readings import pooling_weights
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


HELD = "the factors tanh(u) / u of the pooler"


@torch.inference_mode()
def label_logits(checkpoint: Checkpoint, analysis: Analysis, label: int, rival: int) -> DirectLogits:
    """The difference of two labels' logits, under the intervention of the analysis, in float64 from what the pass recorded.

    ValueError for a model without labels, for a label or a rival that there is not, and for a label that is its own rival.
    """
    trace, model = analysis.whole, checkpoint.model
    if not trace.classes or not isinstance(model, EncoderOnly):
        raise ValueError("this model has no labels: none is chosen over another")
    for name, value in (("label", label), ("rival", rival)):
        if not 0 <= value < len(trace.classes):
            raise ValueError(f"the {name} is {value}; expected a number below {len(trace.classes)}")
    if label == rival:
        raise ValueError("the rival is the label itself; expected two different labels")
    ids = trace.places.ids
    source, probe = torch.tensor([ids], device=checkpoint.device), Probe("full")
    at = Pass(edits_of(checkpoint, ids, [analysis.request.intervention]), probe)
    hidden = forced(model, source, None, at)  # [1,S,D]
    shares = pooling_weights(checkpoint.config, ids)
    direction, offset = _direction(model, hidden[0], torch.tensor(shares, device=checkpoint.device), label, rival)
    values: Tensor | float = 0.0
    tokens: dict = {}
    writers: tuple[Writer, ...] = ()
    for place in np.flatnonzero(shares).tolist():
        parts = Stream(model, probe, at, "encoder", ids[place], place, ids).split(direction[None] * float(shares[place]))
        writers, values = parts.writers, values + parts.values[:, 0]
        tokens = {site: tokens.get(site, 0) + moved[0] for site, moved in parts.tokens.items()}
    added = values.cpu().numpy()  # type: ignore[union-attr]
    added[writers.index(Writer("bias"))] += offset
    logits = model.judged(hidden, source)[0].double()  # [C]
    found = {site: moved.cpu().numpy() for site, moved in tokens.items()}
    difference = float(logits[label] - logits[rival])
    held = " and ".join(filter(None, (held_norms(checkpoint.config), HELD)))
    return DirectLogits(0, label, rival, difference, writers, added, found, held)


def _direction(model: EncoderOnly, hidden: Tensor, shares: Tensor, label: int, rival: int) -> tuple[Tensor, float]:
    """What makes of the pooled state the difference of the logits, [D], with tanh(u) / u held; and what is added."""
    weight, bias = (parameter.double() for parameter in (model.classifier.weight, model.classifier.bias))
    direction, added = before_tanh(model.pooler.dense, shares @ hidden.double(), weight[label] - weight[rival])
    return direction, added + float(bias[label] - bias[rival])


def of_choice(checkpoint: Checkpoint, analysis: Analysis, step: int, token: int, rival: int) -> DirectLogits:
    """Of two labels where the model has any, else of two tokens at a step, or at a place of what is read (from 0)."""
    if analysis.trace.classes:
        return label_logits(checkpoint, analysis, token, rival)
    if analysis.trace.outputs is None:
        return blank_logits(checkpoint, analysis, step, token, rival)
    return direct_logits(checkpoint, analysis, step, token, rival)
