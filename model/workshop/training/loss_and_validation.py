"""The loss that training minimises, the schedule of the learning rate, and the validation during training.

Validation computes loss and scores on the dev files, with averaged weights, and writes the log of the steps.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from tqdm import tqdm

from ...config import MAX_TOKENS, PAD, TrainConfig
from ...network.context import teacher_forced_states
from ...network.transformer import Transformer
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import Batch, Corpus, DataError, read_pairs, targets_by_source
from ..corpus.windows import Windows
from ..evaluation import scoring

ROWS_PER_PIECE = 64  # of logits in one piece: 8,000 columns in float32 are 2 MB
Loss = Callable[[Transformer, Batch, float], tuple[Tensor, int]]  # model, batch, smoothing: summed nats, number of terms


class _SmoothedLoss(torch.autograd.Function):
    """`smoothed_loss` in pieces that fit the processor's cache, with the gradient computed in the forward pass.

    On one core it takes 16 ms where `F.cross_entropy` takes 28 (1,800 rows of 8,000 logits). A training step is 1.03 times
    as fast (benchmarks/training_tricks.py).
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, smoothing: float, teacher_logits: Sequence[Tensor], weight: float
    ) -> Tensor:
        size, slope = logits.size(-1), torch.empty_like(logits)  # [N,V]
        nats = torch.zeros((), device=logits.device)
        for start in range(0, len(logits), ROWS_PER_PIECE):
            x, right = (
                logits[start : start + ROWS_PER_PIECE].float(),
                target[start : start + ROWS_PER_PIECE, None],
            )  # [n,V], [n,1]
            probabilities = x.softmax(-1)  # [n,V]
            logsumexp = x.amax(-1) - probabilities.amax(-1).log()  # [n]; stable, because the largest is at least 1/V
            wanted = (1 - smoothing) * x.gather(-1, right)[:, 0] + smoothing * x.mean(-1)  # [n]
            own = 1.0
            if teacher_logits:
                pieces = (each[start : start + ROWS_PER_PIECE].float() for each in teacher_logits)
                teachers = torch.stack([piece.softmax(-1) for piece in pieces]).mean(0)  # [n,V]
                own, wanted = 1 - weight, (1 - weight) * wanted + weight * (teachers * x).sum(-1)
                probabilities.sub_(teachers, alpha=weight)
            nats += (logsumexp - wanted).sum()
            probabilities -= own * smoothing / size
            probabilities.scatter_add_(-1, right, probabilities.new_full(right.shape, own * (smoothing - 1)))
            slope[start : start + ROWS_PER_PIECE] = probabilities
        ctx.save_for_backward(slope)
        return nats

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor, None, None, None, None]:
        return ctx.saved_tensors[0] * above[0], None, None, None, None


def smoothed_loss(
    logits: Tensor, target: Tensor, smoothing: float, teacher_logits: Sequence[Tensor] = (), weight: float = 0.0
) -> Tensor:
    """Returns the label-smoothed cross-entropy, summed over tokens, in nats (Szegedy et al. 2016, section 7).

    logits [N,V], target [N]; computed in float32. The smoothed target gives eps / V to every token, including the right one.
    The 2017 code of tensor2tensor gives eps / (V - 1) to the other tokens only. With the logits of teachers, [N,V]
    each, the mean of their probabilities is `weight` of the target.
    """
    return cast(Tensor, _SmoothedLoss.apply(logits, target, smoothing, teacher_logits, weight))


def batch_loss(model: Transformer, batch: Batch, smoothing: float) -> tuple[Tensor, int]:
    """Returns the summed loss of a batch and its number of target tokens without padding."""
    hidden = teacher_forced_states(model, batch.source, batch.outputs)  # [B,T,D]
    real = batch.outputs != PAD  # [B,T]
    return smoothed_loss(model.project(hidden[real]), batch.outputs[real], smoothing), int(real.sum())


class Objective(nn.Module):
    """The model and its loss as one module, because gradients are shared only through the wrapped module."""

    def __init__(self, model: Transformer, smoothing: float, loss: Loss = batch_loss) -> None:
        super().__init__()
        self.model, self.smoothing, self.loss = model, smoothing, loss

    def forward(self, batch: Batch) -> Tensor:
        """Returns the summed loss of a batch, in nats."""
        return self.loss(self.model, batch, self.smoothing)[0]


def learning_rate(config: TrainConfig, step: int, total: int) -> float:
    """Returns the rate at a step, from 1: linear warm-up to the peak, then cosine to zero, or 1/sqrt(step).

    `noam` is section 5.3 of Vaswani et al. 2017 with the peak as a parameter instead of a factor.
    """
    if step <= config.warmup:
        return config.learning_rate * step / config.warmup
    if config.schedule == "noam":
        return config.learning_rate * math.sqrt(config.warmup / step)
    done = min(1.0, (step - config.warmup) / max(1, total - config.warmup))
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


SCORED_SENTENCES = 500  # dev sentences that are translated at each validation
Weights = dict[str, Tensor]


class Validator:
    """Held-out examples, ready for measurement. A task adds its own scores."""

    def __init__(self, corpus: Corpus | Windows, tokens: int, batch_loss: Loss) -> None:
        """`tokens` is the size of a batch."""
        self.corpus, self.batch_loss = corpus, batch_loss
        self.batches = corpus.batches(max(tokens, 2 * MAX_TOKENS), 0, 0)

    def loss(self, model: Transformer, precision: AbstractContextManager) -> float:
        """Returns nats a token, without smoothing. The model keeps its mode."""
        was_training, device = model.training, next(model.parameters()).device
        model.eval()
        total, count = 0.0, 0
        with torch.inference_mode(), precision:
            for indices in self.batches:
                loss, tokens = self.batch_loss(model, self.corpus.batch(indices).to(device), 0.0)
                total, count = total + float(loss), count + tokens
        model.train(was_training)
        return total / count

    def other_units(self, loss: float) -> dict[str, float]:
        """Returns the loss in other units that people compare."""
        return {}

    def scores(self, model: Transformer) -> dict[str, Any]:
        """Returns the measurements other than the loss."""
        return {}

    def sample_size(self) -> dict[str, int]:
        """Returns the size of the held-out data."""
        return {}

    def describe(self, entry: dict[str, Any]) -> str:
        """Returns the measurements of a validation in a line."""
        return f"step {entry['step']}: dev loss {entry['dev_loss']:.3f}"


class TranslationValidator(Validator):
    """The dev pairs: each distinct source with its first target, which the scores use too."""

    def __init__(self, path: Path, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, tokens: int) -> None:
        """`tokens` is the size of a batch. Raises DataError for a bad file, or if every pair is too long."""
        self.groups = targets_by_source(read_pairs(path))
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        pairs = [(source, targets[0]) for source, targets in self.groups.items()]
        corpus = Corpus.encode(pairs, source_tokenizer, target_tokenizer)
        if not len(corpus):
            raise DataError(f"{path}: every pair is longer than the text limit.")
        self.scored = pairs[:SCORED_SENTENCES]
        super().__init__(corpus, tokens, batch_loss)

    def scores(self, model: Transformer) -> dict[str, Any]:
        """Returns BLEU and chrF of greedy translations of the first 500 sentences."""
        outputs = scoring.translate_texts(
            model, self.source_tokenizer, self.target_tokenizer, [source for source, _ in self.scored]
        )
        scores = scoring.score_translations(outputs, [[target] for _, target in self.scored])
        return {key: scores[key] for key in ("bleu", "chrf", "sentences", "unfinished")}

    def sample_size(self) -> dict[str, int]:
        return {"distinct_sources": len(self.groups)}

    def describe(self, entry: dict[str, Any]) -> str:
        return f"{super().describe(entry)}, BLEU {entry['bleu']}, chrF {entry['chrf']}"


def average_weights(model: Transformer, snapshots: Sequence[Weights]) -> Transformer:
    """Returns a copy of the model with the mean of some snapshots as its weights, computed in float32."""
    average = copy.deepcopy(model)
    average.load_state_dict({key: torch.stack([s[key] for s in snapshots]).mean(dim=0) for key in snapshots[0]})
    return average.eval()


MAX_NORM = 1e30  # limit of logged norms, because one may be infinite or nan


@dataclass(frozen=True)
class TrainingStep:
    """One step of a run: summed loss in nats and its tokens, the rate, and the norm of the gradients before clipping."""

    loss: float
    tokens: int
    rate: float
    norm: float


class Meter:
    """The progress bar and the logged averages. Its sums are saved, so that a resumed run logs at the same steps."""

    def __init__(
        self, total: int, done: int, config: TrainConfig, sums: Mapping[str, float] | None = None, silent: bool = False
    ) -> None:
        self.total, self.every, self.clip, self.silent = total, config.log_every, config.clip, silent
        self.bar = tqdm(
            total=total, initial=done, unit="step", dynamic_ncols=True, smoothing=0.05, mininterval=1.0, disable=silent
        )
        self._reset()
        self.sums |= {name: value for name, value in (sums or {}).items() if name in self.sums}

    def _reset(self) -> None:
        self.sums: dict[str, float] = dict.fromkeys(
            ("loss", "tokens", "seconds", "steps", "norm", "largest", "kept", "cut"), 0.0
        )

    def update(self, step: TrainingStep, seconds: float) -> dict[str, Any] | None:
        """Adds one step. Every `log_every` steps returns the averages since the last time."""
        sums, norm = self.sums, step.norm if step.norm < MAX_NORM else MAX_NORM  # also where it is NaN
        for name, value in {
            "loss": step.loss,
            "tokens": step.tokens,
            "seconds": seconds,
            "steps": 1,
            "norm": norm,
            "kept": min(norm, self.clip),
            "cut": norm > self.clip,
        }.items():
            sums[name] += value
        sums["largest"] = max(sums["largest"], norm)
        mean, speed = sums["loss"] / sums["tokens"], sums["tokens"] / sums["seconds"]
        self.bar.set_postfix_str(f"loss {mean:.3f}, rate {step.rate:.2e}, {speed:.0f} tok/s", refresh=False)
        self.bar.update(1)
        if sums["steps"] < self.every:
            return None
        self._reset()
        norms = {"gradient_norm": sums["norm"], "gradient_norm_clipped": sums["kept"], "clipped": sums["cut"]}
        return {
            "loss": round(mean, 6),
            "learning_rate": step.rate,
            "tokens_per_second": round(speed),
            **{name: round(value / sums["steps"], 6) for name, value in norms.items()},
            "gradient_norm_largest": round(sums["largest"], 6),
            "total": self.total,
        }

    def write(self, line: str) -> None:
        if not self.silent:
            self.bar.write(line)

    def close(self) -> None:
        self.bar.close()
