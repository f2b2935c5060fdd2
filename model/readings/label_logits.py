"""Why this label: the difference of two labels' logits as an exact sum over all that wrote into what is pooled.

As `direct_logits`, with one more step on the way back: the pooler's tanh is a factor tanh(u) / u, held as it was in this
pass, as the statistics of the norms are. Where the mean of all tokens is pooled, each token's stream has its share.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.inference.analysis import Analysis
from model.inference.donors import edits_of
from model.network.context import Pass, forced
from model.network.transformer import EncoderOnly
from model.readings.direct_logits import DirectLogits, direct_logits
from model.readings.pooled_rows import pooling_weights
from model.readings.writers import Stream, Writer
from model.trace import Probe


def of_choice(checkpoint: Checkpoint, analysis: Analysis, step: int, token: int, rival: int) -> DirectLogits:
    """What wrote the difference behind a choice: of two labels where the model has any, else of two tokens at a step."""
    if analysis.trace.classes:
        return label_logits(checkpoint, analysis, token, rival)
    return direct_logits(checkpoint, analysis, step, token, rival)


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
    return DirectLogits(0, label, rival, float(logits[label] - logits[rival]), writers, added, found)


def _direction(model: EncoderOnly, hidden: Tensor, shares: Tensor, label: int, rival: int) -> tuple[Tensor, float]:
    """What makes of the pooled state the difference of the logits, [D], with tanh(u) / u held; and what is added."""
    dense, classifier = model.pooler.dense, model.classifier
    pooled = shares @ hidden.double()  # [D]
    inner = dense.weight.double() @ pooled + dense.bias.double()  # u: [D]
    held = torch.where(inner.abs() < 1e-12, torch.ones_like(inner), inner.tanh() / inner)
    toward = (classifier.weight[label] - classifier.weight[rival]).double() * held
    offset = toward @ dense.bias.double() + (classifier.bias[label] - classifier.bias[rival]).double()
    return toward @ dense.weight.double(), float(offset)
