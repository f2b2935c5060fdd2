"""Training of a small model on one of the small tasks, step by step, with its held-out accuracy and a recording.

The folder that `SmallTraining.save` writes is a checkpoint with the history of its training, and `state.pt` to go on from.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ...checkpoint import Checkpoint, save
from ...config import END, PAD, ModelConfig
from ...decoding.search import greedy
from ...network.attention import MultiHeadAttention
from ...network.transformer import Transformer, build
from ...task import LANGUAGES_OF_SYMBOLS
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import Batch
from ..training import saved_state
from ..training.history import LOG, PROBES
from ..training.loss_and_validation import batch_loss
from ..training.snapshots import SnapshotRecorder, encode_probes, translations
from .small_tasks import EXAMPLES, HELD_OUT, SIZES, TASKS, Pair, examples

BATCH = 64  # pairs
HELD_OUT_PAIRS = 128
RATE, WARMUP, CLIP = 4e-3, 100, 1.0
NEARLY = 0.9  # held-out accuracy from which the rate is smaller, so that the last errors go
SLOWER = 0.25
MAX_STEPS = 6000
MAX_SECONDS = 110.0
REPORT_SECONDS = 0.5
MAX_RECORDED = 480  # reports; a longer training keeps every second one of them
STATE = "state.pt"
ENOUGH = 0.995  # held-out accuracy in two reports in a row ends the training


@dataclass(frozen=True)
class SmallConfig:
    """A training: a task or own pairs, a size, and the parts that can be left out.

    Raises ValueError for an unknown task or size.
    """

    task: str = "reverse"
    layers: int = 1
    heads: int = 2
    d_model: int = 32
    positions: bool = True
    causal: bool = True
    cross_attention: bool = True  # False: its output is 0
    scaling: bool = True  # False: scores are not divided by sqrt(d_k)
    seed: int = 1
    pairs: tuple[Pair, ...] = field(default=(), repr=False)  # own pairs, in place of a task

    def __post_init__(self) -> None:
        if not self.pairs and self.task not in TASKS:
            raise ValueError(f"there is no task {self.task!r}; expected one of {', '.join(TASKS)}")
        for name, allowed in SIZES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)}; expected one of {', '.join(map(str, allowed))}")

    @property
    def model(self) -> ModelConfig:
        """The configuration of the model."""
        size = tokenizer().size
        return ModelConfig(
            size,
            size,
            d_model=self.d_model,
            heads=self.heads,
            encoder_layers=self.layers,
            decoder_layers=self.layers,
            d_ff=4 * self.d_model,
            positions="sinusoidal" if self.positions else "none",
            causal=self.causal,
            dropout=0.0,
        )


@dataclass(frozen=True)
class SmallProgress:
    """A report of a training: mean loss in nats a token since the last one, and the share of exact held-out answers."""

    step: int
    seconds: float
    loss: float
    accuracy: float
    written: tuple[str, ...] = ()  # what the model writes for the examples
    is_done: bool = False


@cache
def tokenizer() -> Tokenizer:
    """Returns the vocabulary of all small models: one token for each byte, and the control tokens."""
    return Tokenizer.train(["a"], 260)


class SmallTraining:
    """One training. `run` yields its reports and may be called again to go on; `checkpoint` is the model so far."""

    def __init__(self, config: SmallConfig) -> None:
        self.config, self.step, self.seconds = config, 0, 0.0
        self._draw = random.Random(config.seed)
        if config.pairs:
            shuffled = sorted(config.pairs)
            _held_draw(config.seed).shuffle(shuffled)
            count = max(2, round(HELD_OUT * len(shuffled)))
            self.held_out, self._known = shuffled[:count], shuffled[count:]
            self.examples = self.held_out[:EXAMPLES]
        else:
            self._known = []
            self.held_out = held_out_pairs(config.task, config.seed)
            self.examples = examples(config.task)
        self._avoided = {source for source, _ in (*self.held_out, *self.examples)}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.model: Transformer = build(config.model)
        if not config.cross_attention:
            switch_off_cross_attention(self.model)
        if not config.scaling:
            undo_scaling(self.model)
        weights = [each for each in self.model.parameters() if each.requires_grad]
        self._optimizer = torch.optim.AdamW(weights, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
        self._is_slower = False
        self._good = 0  # reports in a row with enough accuracy
        probes = encode_probes([(source, source, [target]) for source, target in self.examples], *[tokenizer()] * 2)
        self.recorder = SnapshotRecorder(probes, translations(tokenizer()), config.model)
        self.log: list[dict[str, float]] = []

    def run(self, max_seconds: float = MAX_SECONDS, max_steps: int = MAX_STEPS) -> Iterator[SmallProgress]:
        """Trains, and yields a report every `REPORT_SECONDS`; the last one has `is_done`. Each report is recorded.

        Raises ValueError if the loss is no number any more.
        """
        self._good = 0
        if not self.recorder.steps:
            self.recorder.record(0, self.model)
        begun, told = time.monotonic() - self.seconds, time.monotonic()
        loss, tokens = 0.0, 0
        while True:
            each, count = self._one_step()
            loss, tokens = loss + each, tokens + count
            now = time.monotonic()
            self.seconds = now - begun
            is_last = self.step >= max_steps or self.seconds >= max_seconds
            if is_last or now - told >= REPORT_SECONDS:
                if not math.isfinite(loss):
                    raise ValueError("The loss is no number any more: train again with another seed or size.")
                accuracy = self.accuracy()
                self._is_slower |= accuracy >= NEARLY
                self._good = self._good + 1 if accuracy >= ENOUGH else 0
                is_done = is_last or self.has_learned
                self._record(loss / tokens, accuracy)
                written = tuple(self.recorder.outputs[-1])
                yield SmallProgress(self.step, self.seconds, loss / tokens, accuracy, written, is_done)
                if is_done:
                    return
                loss, tokens, told = 0.0, 0, time.monotonic()

    @property
    def has_learned(self) -> bool:
        """True if the last two reports had enough accuracy."""
        return self._good >= 2

    def _record(self, loss: float, accuracy: float) -> None:
        """Adds the step to the recording and to the log."""
        recorder = self.recorder
        if len(recorder.steps) >= MAX_RECORDED:
            state = recorder.state()
            arrays = {key: values[::2] for key, values in state["arrays"].items()}
            recorder.restore({"steps": state["steps"][::2], "arrays": arrays, "written": state["written"][::2]})
        recorder.record(self.step, self.model)
        rate = self._optimizer.param_groups[0]["lr"]
        entry = {"step": self.step, "loss": loss, "learning_rate": rate, "seconds": self.seconds, "answers_right": accuracy}
        self.log.append(entry)

    def _one_step(self) -> tuple[float, int]:
        self.step += 1
        for group in self._optimizer.param_groups:
            group["lr"] = RATE * min(1.0, self.step / WARMUP) * (SLOWER if self._is_slower else 1)
        self.model.train()
        loss, count = batch_loss(self.model, self._batch(self._new_pairs()), 0.0)
        self._optimizer.zero_grad(set_to_none=True)
        (loss / count).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self._optimizer.step()
        return float(loss.detach()), count

    def _new_pairs(self) -> list[Pair]:
        """Returns pairs of a batch, none of them held out."""
        if self._known:
            return self._draw.choices(self._known, k=BATCH)
        make, pairs = TASKS[self.config.task].make, []
        while len(pairs) < BATCH:
            pair = make(self._draw)
            if pair[0] not in self._avoided:
                pairs.append(pair)
        return pairs

    def _batch(self, pairs: Sequence[Pair]) -> Batch:
        return Batch(padded([source for source, _ in pairs]), padded([target for _, target in pairs]))

    def answers(self, sources: Sequence[str]) -> list[str]:
        """Returns what the model writes for texts, decoded greedily."""
        return write_answers(self.model, sources, self.held_out)

    def accuracy(self) -> float:
        """Returns the share of held-out pairs whose target the model writes exactly."""
        return share_right(self.model, self.held_out)

    def checkpoint(self, name: str) -> Checkpoint:
        """Returns the model so far, with a copy of its weights, as a checkpoint in memory."""
        model = build(self.config.model)
        with torch.no_grad():
            for name, parameter in model.named_parameters():  # by attribute: `undo_scaling` computes some of them
                owner, _, last = name.rpartition(".")
                parameter.copy_(getattr(self.model.get_submodule(owner), last))
        model.eval()
        config = self.config
        training = {"steps": self.step, "task": "own pairs" if config.pairs else config.task, "seed": config.seed}
        metrics: dict[str, Any] = {"training": training}
        if self.log:
            metrics["test"] = {"answers_right": self.log[-1]["answers_right"], "sentences": len(self.held_out)}
        return Checkpoint(name, self.config.model, model, tokenizer(), tokenizer(), LANGUAGES_OF_SYMBOLS, metrics)

    def save(self, folder: Path) -> None:
        """Writes the checkpoint, its history and the state to go on from. Raises OSError where the disk is full."""
        save(self.checkpoint(folder.name), folder)
        (folder / LOG).write_text("".join(f"{json.dumps(entry)}\n" for entry in self.log), encoding="utf-8")
        self.recorder.recording().save(folder / PROBES)
        state = {"model": self.model.state_dict(), "optimizer": self._optimizer.state_dict()}
        state |= {"snapshots": self.recorder.state(), "log": self.log, "draw": self._draw.getstate()}
        torch.save(state | {"is_slower": self._is_slower}, folder / STATE)

    def restore(self, folder: Path) -> None:
        """Goes on from a folder of `save` with the same configuration. Raises OSError, ValueError or KeyError."""
        state = saved_state.read(folder / STATE, torch.device("cpu"))
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.recorder.restore(state["snapshots"])
        self.log, self._is_slower = state["log"], state["is_slower"]
        version, inner, rest = state["draw"]
        self._draw.setstate((version, tuple(inner), rest))
        self.step, self.seconds = int(self.log[-1]["step"]), self.log[-1]["seconds"]


def _held_draw(seed: int) -> random.Random:
    return random.Random(f"held out {seed}")


def held_out_pairs(task: str, seed: int) -> list[Pair]:
    """Returns the pairs of a task that a training of this seed never trains on."""
    draw = _held_draw(seed)
    return [TASKS[task].make(draw) for _ in range(HELD_OUT_PAIRS)]


def write_answers(model: Transformer, sources: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    """Returns what a model writes for texts, decoded greedily, with a limit by the longest target of pairs."""
    model.eval()
    longest = max(len(target.encode()) for _, target in pairs) + 4
    with torch.inference_mode():
        found = greedy(model, padded(sources), max_total_tokens=longest)
    return [tokenizer().decode(path.ids) for path in found]


def share_right(model: Transformer, pairs: Sequence[Pair]) -> float:
    """Returns the share of pairs whose target the model writes exactly."""
    written = write_answers(model, [source for source, _ in pairs], pairs)
    return sum(one == target for one, (_, target) in zip(written, pairs, strict=True)) / len(pairs)


class _Times(nn.Module):
    """A parametrization: a parameter times a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


def undo_scaling(model: Transformer) -> None:
    """Multiplies all queries by sqrt(d_k), which the division of the scores by sqrt(d_k) undoes.

    The checkpoint has the product as its weights, so it is a model like every other.
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            for parameter in ("weight", "bias"):
                parametrize.register_parametrization(module.query, parameter, _Times(math.sqrt(model.config.head_dim)))


def switch_off_cross_attention(model: Transformer) -> None:
    """Sets the output of cross-attention to 0, and keeps it there: the decoder reads nothing of the source."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention) and module.site.kind == "cross":
            for parameter in module.output.parameters():
                nn.init.zeros_(parameter)
            module.requires_grad_(False)


def padded(texts: Sequence[str]) -> Tensor:
    """Returns the ids of texts, each with `</s>`, as [B,T] with `<pad>` at the ends."""
    rows = [torch.tensor([*tokenizer().encode(text), END]) for text in texts]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
