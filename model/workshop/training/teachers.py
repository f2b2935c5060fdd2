"""Training on the probabilities of other checkpoints: word-level distillation (Kim and Rush 2016, section 3.1).

At each token of the target the trained model learns a mixture of two: the token itself, and the mean of the probabilities
that the teachers give to all tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ...checkpoint import Checkpoint
from ...config import PAD
from ...network.context import teacher_forced_states
from ...network.transformer import Transformer
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import Batch
from .loss_and_validation import smoothed_loss
from .run_folder import TrainingError

WEIGHT = 0.6  # of the teachers' probabilities in the mixture


class DistillationLoss:
    """The loss of a batch under teachers, which stay as they are."""

    def __init__(self, teachers: Sequence[Transformer]) -> None:
        self.teachers = [teacher.eval().requires_grad_(False) for teacher in teachers]

    def __call__(self, model: Transformer, batch: Batch, smoothing: float) -> tuple[Tensor, int]:
        """Returns the summed loss of a batch in nats, and its number of target tokens without padding."""
        real = batch.outputs != PAD  # [B,T]
        with torch.no_grad():
            teacher_logits = [self._logits(teacher, batch, real) for teacher in self.teachers]
        logits = self._logits(model, batch, real)
        return smoothed_loss(logits, batch.outputs[real], smoothing, teacher_logits, WEIGHT), int(real.sum())

    @staticmethod
    def _logits(model: Transformer, batch: Batch, real: Tensor) -> Tensor:
        return model.project(teacher_forced_states(model, batch.source, batch.outputs)[real])  # [N,V]


def check_teachers(teachers: Sequence[Checkpoint], source: Tokenizer, target: Tokenizer) -> None:
    """Raises TrainingError for a teacher that does not translate, or whose tokens are not those of the trained model."""
    own = _tokens(source), _tokens(target)
    for teacher in teachers:
        if teacher.config.family != "encoder-decoder":
            raise TrainingError(
                f"the teacher {teacher.name} is {teacher.config.family}; expected encoder-decoder. "
                "Give checkpoints that translate."
            )
        if (_tokens(teacher.source_tokenizer), _tokens(teacher.target_tokenizer)) != own:
            raise TrainingError(
                f"the teacher {teacher.name} has another vocabulary than the model; expected the same tokens on both sides. "
                "Give teachers that were trained with --init of one checkpoint."
            )


def _tokens(tokenizer: Tokenizer) -> list[bytes]:
    return [tokenizer.token_bytes(token) for token in range(tokenizer.size)]
