"""What wrote the difference behind a choice, whatever the model chooses: a token of a target, a label, a word in a blank."""

from __future__ import annotations

from model.checkpoint import Checkpoint
from model.inference.analysis import Analysis
from model.readings.blank_logits import blank_logits
from model.readings.direct_logits import DirectLogits, direct_logits
from model.readings.label_logits import label_logits


def of_choice(checkpoint: Checkpoint, analysis: Analysis, step: int, token: int, rival: int) -> DirectLogits:
    """Of two labels where the model has any, else of two tokens at a step, or at a place of what is read (from 0)."""
    if analysis.trace.classes:
        return label_logits(checkpoint, analysis, token, rival)
    if analysis.trace.outputs is None:
        return blank_logits(checkpoint, analysis, step, token, rival)
    return direct_logits(checkpoint, analysis, step, token, rival)
