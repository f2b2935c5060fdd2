"""Measures the `<pad>` tokens after a translation that is shorter than others of its batch, in one pass."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ..checkpoint import Checkpoint
from ..config import PAD
from ..edits.intervention import BASELINE
from ..inference.analysis import Analysis
from ..inference.passes import teacher_force
from ..trace import Trace


@dataclass(frozen=True)
class TargetPadding:
    """A target in its batch: T real tokens, and `pads` after them."""

    pads: int
    before: Trace  # without edits, over T + pads tokens
    trace: Trace  # under the edits
    change: float  # of the summed log-probability of the T tokens by the pads without the padding mask, in nats

    @property
    def nbytes(self) -> int:
        """Returns the bytes of the arrays."""
        return self.before.nbytes + self.trace.nbytes


def target_padding(checkpoint: Checkpoint, analysis: Analysis) -> TargetPadding | None:
    """Reads the target of an analysis with the padding of its batch in one pass, as in training.

    `change` is measured with the other edits unchanged. Returns None without such padding, and where tokens are decoded one
    by one.
    """
    pads, edit = analysis.target_padding, analysis.request.intervention
    if not pads or (analysis.baseline is not None and analysis.request.mode == "again") or analysis.last is not None:
        return None
    source, ids = analysis.trace.source.ids, analysis.trace.outputs.ids
    seen = dataclasses.replace(edit, padding_mask=False)
    before, trace, padded = teacher_force(checkpoint, source, [*ids, *[PAD] * pads], [BASELINE, edit, seen])
    (plain,) = teacher_force(checkpoint, source, ids, [seen])
    change = padded.token_log_probs[: len(ids)].sum(dtype=float) - plain.token_log_probs.sum(dtype=float)
    return TargetPadding(pads, before, trace, float(change))
