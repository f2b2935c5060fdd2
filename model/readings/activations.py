"""One pass over what an analysis has shown, recording everything."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.config import START
from model.edits.apply import Edits
from model.inference.analyse import Analysis
from model.network import masks
from model.trace import Probe, Site


class Activations(NamedTuple):
    """Queries, keys, values, z and residual streams of every site (the batch is one), and the encoder's output."""

    records: dict[Site, dict[str, Tensor]]
    memory: Tensor  # [1,S,D]
    unedited: masks.Masks  # what the masks would be without the edits


@torch.inference_mode()
def activations(checkpoint: Checkpoint, analysis: Analysis) -> Activations:
    """One pass over the analysis' whole target, under its intervention."""
    model, trace = checkpoint.model, analysis.whole
    source = torch.tensor([trace.source.ids], device=checkpoint.device)  # [1,S]
    inputs = torch.tensor([(START, *trace.outputs.ids[:-1])], device=checkpoint.device)  # [1,T]
    asked = [analysis.request.intervention]
    seen = masks.build(source, inputs, checkpoint.config.window, asked, checkpoint.config.causal)
    edits, probe = Edits(asked, checkpoint.means), Probe("full")
    memory = model.encode(source, seen.encoder, probe, edits)
    model.decode(inputs, memory, seen.decoder, seen.cross, probe=probe, edits=edits)
    unedited = masks.build(source, inputs, checkpoint.config.window, trained_causal=checkpoint.config.causal)
    return Activations(probe.records, memory, unedited)
