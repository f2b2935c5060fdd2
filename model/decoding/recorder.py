"""What decoding recorded as it went, as the pass over the whole target would have: so that this pass is not needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from model.config import START, ModelConfig
from model.decoding.fast import Recorded
from model.network import masks
from model.trace import Probe


@dataclass(frozen=True)
class Recorder:
    """Asks decoding to record: the encoder's pass, and the paths of the first row that ended, by their ids: none where
    decoding took the explicit path."""

    encoder: Probe = field(default_factory=Probe)
    paths: dict[tuple[int, ...], Recorded] = field(default_factory=dict)

    def read(
        self, config: ModelConfig, source: Sequence[int] | None, target: tuple[int, ...]
    ) -> tuple[Probe, Tensor] | None:
        """The maps of every site over a path, and its logits [1,T,V]; None for a path that was not recorded."""
        kept = self.paths.get(target)
        if kept is None:
            return None
        device = kept.hidden.device
        inputs = torch.tensor([[START, *target[:-1]]], device=device)  # [1,T]
        ids = None if source is None else torch.tensor([list(source)], device=device)
        probe = Probe()
        probe.records.update(self.encoder.records)
        kept.record(inputs, masks.build(config, ids, inputs, kept.edits.rows), probe)
        return probe, kept.logits()[None]
