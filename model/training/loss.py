"""What training minimises, and at which rate."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from model.config import PAD, TrainConfig
from model.network.context import forced
from model.network.transformer import Transformer
from model.text.corpus import Batch

Loss = Callable[[Transformer, Batch, float], tuple[Tensor, int]]  # model, batch, smoothing: summed nats, and of how many


def smoothed_loss(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """Label-smoothed cross-entropy, summed over tokens, in nats (Szegedy et al. 2016, section 7).

    logits [N,V], target [N]. The smoothed target gives eps / V to every token, the right one included; the 2017 code of
    tensor2tensor gives eps / (V - 1) to the others alone.
    """
    return F.cross_entropy(logits.float(), target, label_smoothing=smoothing, reduction="sum")


def others_loss(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """The same as the 2017 code has it: eps / (V - 1) to every token but the right one, which keeps 1 - eps."""
    nats = -logits.float().log_softmax(-1)  # [N,V]
    right = nats.gather(-1, target[:, None])[:, 0]  # [N]
    others = (nats.sum(-1) - right) / (logits.size(-1) - 1)
    return ((1 - smoothing) * right + smoothing * others).sum()


def smoothed_targets(smoothing: float, vocabulary: int) -> dict[str, tuple[float, float]]:
    """What the target gives to the right token and to each other one, by the share that the others get: `eps/V` here and in
    torch, `eps/(V-1)` in the 2017 code."""
    even, others = smoothing / vocabulary, smoothing / (vocabulary - 1)
    return {"eps/V": (1 - smoothing + even, even), "eps/(V-1)": (1 - smoothing, others)}


def batch_loss(model: Transformer, batch: Batch, smoothing: float) -> tuple[Tensor, int]:
    """Summed loss of a batch and the number of target tokens that are not padding."""
    hidden = forced(model, batch.source, batch.outputs)  # [B,T,D]
    real = batch.outputs != PAD  # [B,T]
    return smoothed_loss(model.project(hidden[real]), batch.outputs[real], smoothing), int(real.sum())


class Objective(nn.Module):
    """The model with its loss, as one module: what several processes must call to share their gradients."""

    def __init__(self, model: Transformer, smoothing: float, loss: Loss = batch_loss) -> None:
        super().__init__()
        self.model, self.smoothing, self.loss = model, smoothing, loss

    def forward(self, batch: Batch) -> Tensor:
        """Summed loss of a batch, in nats."""
        return self.loss(self.model, batch, self.smoothing)[0]


def noam_peak(d_model: int, warmup: int, factor: float) -> float:
    """The peak of the 2017 schedule, which its end of the warm-up reaches: factor * d_model^-0.5 * warmup^-0.5."""
    return factor / math.sqrt(d_model * warmup)


def learning_rate(config: TrainConfig, step: int, total: int) -> float:
    """The rate at a step from 1: linear warm-up to the peak, then cosine to zero, or 1/sqrt(step).

    `noam` is section 5.3 of Vaswani et al. 2017 with the peak named instead of a factor.
    """
    if step <= config.warmup:
        return config.learning_rate * step / config.warmup
    if config.schedule == "noam":
        return config.learning_rate * math.sqrt(config.warmup / step)
    done = min(1.0, (step - config.warmup) / max(1, total - config.warmup))
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))
