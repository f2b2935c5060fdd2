"""Training: a loop that can be stopped at any moment and goes on where it was."""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from model import checkpoint as checkpoints
from model import scoring
from model.checkpoint import Checkpoint
from model.config import MAX_TOKENS, ModelConfig, TrainConfig
from model.data import Batch, Corpus, DataError, by_source, file_hash, read_pairs, with_typeset_copies
from model.device import has_bfloat16
from model.loss import batch_loss, learning_rate
from model.meter import Meter
from model.tokenizer import Tokenizer
from model.transformer import EncoderDecoder

SCORED = 500  # dev sentences that are translated at each validation


def keep_freed_memory() -> None:
    """Tells glibc to keep what is freed instead of handing it back to the system at every step: 1.5 times the
    speed on two cores (benchmarks/training_tricks.py), for the large tensors of a step are otherwise paged in anew each
    time. Elsewhere it does nothing.
    """
    if sys.platform != "linux" or not hasattr(libc := ctypes.CDLL(None), "mallopt"):
        return
    trim_threshold, mmap_threshold = -1, -3  # from malloc.h
    libc.mallopt(mmap_threshold, 1 << 30)
    libc.mallopt(trim_threshold, (1 << 31) - 1)


class TrainingError(ValueError):
    """A run that cannot start or go on; the text says why and what to do."""


@dataclass
class Progress:
    """Where a run is: everything beside weights, optimiser and random state that resuming needs."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    seconds: float = 0.0
    best: dict[str, Any] = field(default_factory=dict)  # the validation with the lowest dev loss


class Run:
    """One training run in a folder: `settings.json`, `log.jsonl`, `state.pt`, and `checkpoint/` with the best weights."""

    def __init__(
        self,
        folder: Path,
        train_file: Path,
        dev_file: Path,
        model_options: dict[str, Any],
        config: TrainConfig,
        device: torch.device,
        languages: tuple[str, str],
        init: str | None = None,
    ) -> None:
        """Prepares a new run, or the one in `folder` for going on.

        Raises TrainingError where the folder holds a run with other settings or other data, and where model options are
        given beside `init`, whose model is as it is; DataError for a bad file.
        """
        if folder.exists() and not folder.is_dir():
            raise TrainingError(f"{folder} is a file; expected a folder for the run: give another --out.")
        learned = model_options.get("positions") == "learned"
        if learned and model_options.get("max_positions", ModelConfig.max_positions) < MAX_TOKENS:
            raise TrainingError(
                f"max_positions is {model_options['max_positions']}; expected at least {MAX_TOKENS} for learned positions, "
                "the longest text that is translated."
            )
        if init and model_options:
            raise TrainingError(f"--init takes the model of {init} as it is; leave out {', '.join(model_options)}.")
        self.folder, self.config, self.device, self.languages = folder, config, device, languages
        pairs, self.dev_pairs = read_pairs(train_file), read_pairs(dev_file)
        settings = {
            "model": model_options,
            "training": config.to_dict(),
            "data": {"train": file_hash(train_file), "dev": file_hash(dev_file)},
            "init": init,
        }
        folder.mkdir(parents=True, exist_ok=True)
        self._check_settings(settings)
        pairs = with_typeset_copies(pairs)
        start = checkpoints.load(init) if init else None
        self.source_tokenizer, self.target_tokenizer = self._tokenizers(pairs, model_options, start)
        self.model_config = start.config if start else self._model_config(model_options)
        self.corpus = Corpus.encode(pairs, self.source_tokenizer, self.target_tokenizer)
        self.dev = Corpus.encode(self.dev_pairs, self.source_tokenizer, self.target_tokenizer)
        if not len(self.corpus) or not len(self.dev):
            raise DataError(f"{train_file if not len(self.corpus) else dev_file}: every pair is longer than the text limit.")
        torch.manual_seed(config.seed)
        self.model = EncoderDecoder(self.model_config)
        if start:
            self.model.load_state_dict(start.model.state_dict())
        self.model.to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=config.weight_decay, fused=True
        )
        self.progress = Progress()
        self.stop = False  # set from outside: the run saves after the step that is under way, and ends
        self.total = config.epochs * len(self.corpus.batches(config.batch_tokens, config.seed, 0))
        half = config.precision == "bfloat16" or (config.precision == "auto" and has_bfloat16(device))
        self.autocast = torch.autocast(device.type, torch.bfloat16, enabled=half)
        self._restore()
        checkpoints.write_json(folder / "settings.json", settings)  # last: a run that could not be prepared leaves none

    def _check_settings(self, settings: dict[str, Any]) -> None:
        path = self.folder / "settings.json"
        if not path.exists():
            return
        try:
            old = dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            raise TrainingError(f"{path} is damaged; begin in another folder.") from None
        for part, value in settings.items():
            if old.get(part) != value:
                raise TrainingError(
                    f"{self.folder} holds a run with other settings ({part}: {old.get(part)}, now {value}); "
                    "give the same ones to go on, or another folder to begin anew."
                )

    def _tokenizers(
        self, pairs: list[tuple[str, str]], options: dict[str, Any], start: Checkpoint | None
    ) -> tuple[Tokenizer, Tokenizer]:
        if start:
            return start.source_tokenizer, start.target_tokenizer
        size = self.config.vocab_size
        if options.get("joint_vocab", True):
            both = Tokenizer.train((text for pair in pairs for text in pair), size)
            return both, both
        return Tokenizer.train((s for s, _ in pairs), size), Tokenizer.train((t for _, t in pairs), size)

    def _model_config(self, options: dict[str, Any]) -> ModelConfig:
        return ModelConfig(source_vocab=self.source_tokenizer.size, target_vocab=self.target_tokenizer.size, **options)

    # -- stopping and going on ------------------------------------------------------------------------------------

    def save(self) -> None:
        """Writes the whole state of the run at once: a run that is killed while saving keeps the state before."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "progress": vars(self.progress),
            "random": torch.get_rng_state(),
        }
        temporary = self.folder / "state.pt.new"
        torch.save(state, temporary)
        os.replace(temporary, self.folder / "state.pt")

    def _restore(self) -> None:
        path = self.folder / "state.pt"
        if not path.exists():
            return
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
        except Exception as fault:  # torch raises many kinds for a damaged file
            raise TrainingError(
                f"{path} is damaged ({type(fault).__name__}); remove it, or begin in another folder."
            ) from None
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.progress = Progress(**state["progress"])
        torch.set_rng_state(state["random"].cpu())

    def log(self, **entry: Any) -> None:
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"step": self.progress.step, "seconds": round(self.progress.seconds, 1)} | entry) + "\n")

    # -- the loop -------------------------------------------------------------------------------------------------

    def train(self, max_minutes: float | None = None) -> bool:
        """Trains to the end, or for `max_minutes`; True where the end was reached. The state is saved either way."""
        keep_freed_memory()
        began = saved = time.monotonic()
        meter = Meter(self.total, self.progress.step)
        state = self.progress
        while state.epoch < self.config.epochs:
            batches = self.corpus.batches(self.config.batch_tokens, self.config.seed, state.epoch)
            for indices in batches[state.batch :]:
                tick = time.monotonic()
                loss, tokens, rate = self._step(self.corpus.batch(indices).to(self.device))
                state.batch += 1
                state.seconds += time.monotonic() - tick
                if entry := meter.update(loss, tokens, rate, time.monotonic() - tick):
                    self.log(epoch=state.epoch, **entry)
                if state.step % self.config.validate_every == 0:
                    meter.say(self.validate())
                if time.monotonic() - saved > 60 * self.config.save_minutes:
                    self.save()
                    saved = time.monotonic()
                if self.stop or (max_minutes is not None and time.monotonic() - began > 60 * max_minutes):
                    self.save()
                    meter.close()
                    return False
            state.epoch, state.batch = state.epoch + 1, 0
        if state.step % self.config.validate_every:
            meter.say(self.validate())
        self.save()
        meter.close()
        return True

    def _step(self, batch: Batch) -> tuple[float, int, float]:
        self.progress.step += 1
        rate = learning_rate(self.config, self.progress.step, self.total)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.model.train()
        with self.autocast:
            loss, tokens = batch_loss(self.model, batch, self.config.label_smoothing)
        (loss / tokens).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        value = loss.item()
        if not math.isfinite(value):
            raise TrainingError(
                f"the loss is {value} at step {self.progress.step}; the last saved state is in {self.folder}. "
                "Begin anew with a lower learning rate."
            )
        return value, tokens, rate

    def validate(self) -> str:
        """Dev loss (without smoothing, nats a token), BLEU and chrF; keeps the weights with the lowest loss so far."""
        self.model.eval()
        total, count = 0.0, 0
        with torch.inference_mode(), self.autocast:
            for indices in self.dev.batches(4 * self.config.batch_tokens, 0, 0):
                loss, tokens = batch_loss(self.model, self.dev.batch(indices).to(self.device), 0.0)
                total, count = total + float(loss), count + tokens
        scores = scoring.evaluate(self.model, self.source_tokenizer, self.target_tokenizer, self.dev_pairs, limit=SCORED)
        entry = {"dev_loss": round(total / count, 4)} | {k: scores[k] for k in ("bleu", "chrf", "sentences", "unfinished")}
        self.log(**entry)
        best = self.progress.best
        if not best or entry["dev_loss"] <= best["dev_loss"]:
            self.progress.best = {"step": self.progress.step} | entry
            checkpoints.save(self.checkpoint(), self.folder / "checkpoint")
        return f"step {self.progress.step}: dev loss {entry['dev_loss']:.3f}, BLEU {entry['bleu']}, chrF {entry['chrf']}"

    def checkpoint(self) -> Checkpoint:
        """The model as it is now, with what is known of it."""
        counts = {
            "source": count_tokens(self.corpus.sources, self.source_tokenizer.size),
            "target": count_tokens(self.corpus.targets, self.target_tokenizer.size),
        }
        metrics = {
            "parameters": self.model.parameter_count,
            "training": self.config.to_dict()
            | {"steps": self.progress.step, "minutes": round(self.progress.seconds / 60), "pairs": len(self.corpus)},
            "dev": self.progress.best | {"distinct_sources": len(by_source(self.dev_pairs))},
        }
        return Checkpoint(
            self.folder.name,
            self.model_config,
            self.model,
            self.source_tokenizer,
            self.target_tokenizer,
            self.languages,
            metrics,
            counts,
        )


def count_tokens(rows: list[list[int]], size: int) -> tuple[int, ...]:
    """How often each of `size` tokens occurs."""
    found = Counter(token for row in rows for token in row)
    return tuple(found[token] for token in range(size))
