"""One pass over what an analysis has shown, recording everything."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.inference.analysis import Analysis
from model.inference.donors import edits_of
from model.network import masks
from model.network.context import Pass, forced, shifted
from model.trace import Axis, Probe, Site, Streams, Sublayer


class Activations(NamedTuple):
    """Queries, keys, values, z and patterns of every site (the batch is one), the residual stream before and after every
    sub-layer, and the encoder's output."""

    records: dict[Site, dict[str, Tensor]]
    streams: dict[Sublayer, Streams]
    memory: Tensor | None  # [1,S,D]; None without an encoder
    hidden: Tensor  # [1,T,D]: what the projection reads; without a decoder [1,S,D]
    unedited: masks.Masks  # what the masks would be without the edits


@torch.inference_mode()
def activations(checkpoint: Checkpoint, analysis: Analysis) -> Activations:
    """One pass over the analysis' whole source and target, under its intervention."""
    trace, probe = analysis.whole, Probe("full")
    source, outputs = (_ids(axis, checkpoint.device) for axis in (trace.source, trace.outputs))
    edits = edits_of(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention])
    hidden = forced(checkpoint.model, source, outputs, Pass(edits, probe))
    unedited = masks.build(checkpoint.config, source, None if outputs is None else shifted(outputs))
    return Activations(probe.records, probe.streams, probe.memory, hidden, unedited)


def _ids(axis: Axis | None, device: torch.device) -> Tensor | None:
    return None if axis is None else torch.tensor([axis.ids], device=device)  # [1,S] or [1,T]
