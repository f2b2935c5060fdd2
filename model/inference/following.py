"""Of two sentences: whether the second follows the first, as a model with such a head says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from model.config import END, PAD, START
from model.edits.intervention import BASELINE, Intervention
from model.inference.donors import edits_of
from model.network.context import Pass, forced

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint


@torch.inference_mode()
def following(checkpoint: Checkpoint, source: Sequence[int], edits: Sequence[Intervention] = (BASELINE,)) -> list[float]:
    """The probability that the second of two sentences follows the first, under each of some interventions; `source` are
    the ids of both, and may end in padding."""
    ids = torch.tensor([list(source)] * len(edits), device=checkpoint.device)  # [N,S]
    hidden = forced(checkpoint.model, ids, None, Pass(edits_of(checkpoint, source, edits)))  # [N,S,D]
    return checkpoint.model.following(hidden, ids).double().log_softmax(-1).exp()[:, 0].tolist()


def turned(source: Sequence[int]) -> list[int]:
    """The ids of two sentences with the second one first; padding is left out."""
    real = [token for token in source if token != PAD]
    middle, last = (n for n, token in enumerate(real) if token == END)
    start = int(real[0] == START)
    return [*real[:start], *real[middle + 1 : last], END, *real[start:middle], END]
