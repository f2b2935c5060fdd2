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
from model.readings.direct_logits import DirectLogits
from model.readings.held import before_tanh, held_norms
from model.readings.pooled_rows import pooling_weights
from model.readings.writers import Stream, Writer
from model.trace import Probe

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
