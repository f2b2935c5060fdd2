"""The training loop: it can stop at any step and resume, on one process or on several."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn

from ... import checkpoint as checkpoints
from ...checkpoint import Checkpoint
from ...config import TrainConfig
from ...device import Group, keep_freed_memory, random_state, set_random_state
from ...io.folders import own_name
from ...network.transformer import Transformer, build
from ...text.corpus_stats import CorpusStats
from ..evaluation.contrast import likelier_shares, read_contrast
from ..evaluation.scoring import mean_head_outputs
from . import saved_state, snapshots
from .loss_and_validation import Meter, Objective, TrainingStep, Weights, average_weights, learning_rate
from .preparation import TrainingSetup, autocast_context, build_optimizer, check_options, copy_parameters, prepare
from .run_folder import RunFiles, RunFolder, RunProgress, TrainingError
from .saved_state import WarmStart
from .tasks import get_task
from .teachers import DistillationLoss, check_teachers


class TrainingRun:
    """One training run in a folder (`RunFolder`), with the best weights in its `checkpoint/`."""

    def __init__(
        self,
        folder: Path,
        files: RunFiles,
        model_options: dict[str, Any],
        config: TrainConfig,
        device: torch.device,
        languages: tuple[str, str],
        init: str | None = None,
        task: str = "translate",
        teachers: Sequence[str] = (),
    ) -> None:
        """Prepares a new run of a task (`TRAINING_TASKS`), or resumes the run in `folder`.

        Raises TrainingError if the folder holds a run with other settings or data, if `init` comes with model options
        other than dropout, and for a teacher that does not translate or has another vocabulary. Raises DataError for a bad
        file.
        """
        check_options(model_options, init)
        self.files = RunFolder(folder)
        self.group = Group(device)
        self.config, self.device, self.languages = config, self.group.device, languages
        self.settings = {
            "model": model_options,
            "training": config.to_dict(),
            "data": files.hashes(),
            "init": init,
            "processes": self.group.size,
            "task": task,
            "teachers": list(teachers),
        }
        self.files.check(self.settings)
        start, declared = checkpoints.load(init) if init else None, get_task(task)
        self.material = prepare(TrainingSetup(declared, files, model_options, config, start, languages))
        self.model_config, self.epochs, self.dev = self.material.model, self.material.epochs, self.material.dev
        self.contrast = read_contrast(files.contrast) if files.contrast else []
        for row in self.contrast:  # a text over the limit must not stop the run at its first validation
            row.check_lengths(self.material.source_tokenizer, self.material.target_tokenizer)
        self.recorder = snapshots.SnapshotRecorder(self.material.watched, self.material.write_samples, self.model_config)
        self.warm_start = (
            WarmStart.load(checkpoints.find_folder(init), start.config, self.model_config) if init else WarmStart()
        )
        torch.manual_seed(config.seed)
        self.model = build(self.model_config)
        if start:
            copy_parameters(self.model, start.model)
        self.model.to(self.device)
        loss = self._teachers_loss(teachers) if teachers else self.material.loss
        self.objective = self.group.wrap(Objective(self.model, config.label_smoothing, loss))
        if self.group.size > 1:
            torch.manual_seed(config.seed + self.group.rank)  # each process needs its own dropout
        self.optimizer = build_optimizer(self.model, config)
        self.snapshots: list[Weights] = []  # weights of the last validations, float32, newest last
        self.progress, self.meter_sums = RunProgress(), dict[str, float]()  # sums since the last log line
        self.stop_requested = False  # set by the caller: the run saves after its current step and ends
        self.settings["watched"] = snapshots.digest(self.recorder.sentences)
        counted = (len(self.epochs.batches(epoch)) for epoch in range(config.epochs))  # slow: it samples every epoch
        self.total = self.settings["total"] = self.files.total_steps(self.settings["watched"]) or sum(counted)
        self.autocast = autocast_context(config, self.device)
        with self.files.locked(self.group.is_first):
            self._restore()
            if self.group.is_first:
                self.files.write_settings(self.settings)  # last, so that a failed start leaves none

    def _teachers_loss(self, names: Sequence[str]) -> DistillationLoss:
        found = [checkpoints.load(name, self.device) for name in names]
        check_teachers(found, self.material.source_tokenizer, self.material.target_tokenizer)
        return DistillationLoss([teacher.model for teacher in found])

    # -- stopping and going on ------------------------------------------------------------------------------------

    def save(self) -> None:
        """Writes the state of the run at once. A run that is killed while saving keeps the previous state."""
        random = self.group.all_gather(random_state(self.device))
        if not self.group.is_first:
            return
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "snapshots": self.snapshots,
            "progress": vars(self.progress),
            "random": random,
            "probes": self.recorder.state(),
            "meter": dict(self.meter_sums),
        }
        self.files.save_state(state, self.progress.step)
        if self.recorder.steps:
            self.files.save_probes(self.recorder.recording(), self.files.path, self.progress.step)

    def _restore(self) -> None:
        fits = partial(saved_state.check, self.model, self.recorder, self.config.average, self.group.size)
        state = self.files.load_state(torch.device("cpu"), fits)
        if state is None:
            return
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": state["optimizer"]["state"]})
        self.snapshots = state["snapshots"]
        self.progress = RunProgress(**state["progress"])
        self.recorder.restore(state["probes"])
        self.meter_sums = state.get("meter", {})
        set_random_state(self.device, state["random"][self.group.rank])
        if self.group.is_first:
            self.files.cut_log(self.progress.step)

    def log(self, **entry: Any) -> None:
        self.files.log(**({"step": self.progress.step, "seconds": round(self.progress.seconds, 1)} | entry))

    # -- the loop -------------------------------------------------------------------------------------------------

    def train(self, max_minutes: float | None = None, quiet: bool = False) -> bool:
        """Trains to the end, or for `max_minutes`; returns True at the end. Saves the state in both cases.

        Saves the current weights if the time is up before the first validation, so that a checkpoint exists. `quiet` shows
        no progress. Raises TrainingError if the loss is not finite, if the disk is full, and if another run uses the folder.
        """
        keep_freed_memory()
        with self.files.locked(self.group.is_first):
            silent = quiet or not self.group.is_first
            meter = Meter(self.total, self.progress.step, self.config, self.meter_sums, silent)
            try:
                return self._loop(meter, max_minutes)
            finally:
                meter.close()

    def _loop(self, meter: Meter, max_minutes: float | None) -> bool:
        began = saved = time.monotonic()
        state, due = self.progress, snapshots.snapshot_steps(self.total)
        if not state.step:
            self._record_probes()
        while state.epoch < self.config.epochs and not state.ended:
            for indices in self.epochs.batches(state.epoch)[state.batch :]:
                tick = time.monotonic()
                step = self._step(indices)
                state.batch += 1
                state.seconds += time.monotonic() - tick
                if (entry := meter.update(step, time.monotonic() - tick)) and self.group.is_first:
                    self.log(epoch=state.epoch, **entry)
                self.meter_sums = meter.sums
                if state.step in due:
                    self._record_probes()
                if state.step % self.config.validate_every == 0:
                    meter.write(self.validate())
                out_of_time = max_minutes is not None and time.monotonic() - began > 60 * max_minutes
                overdue = time.monotonic() - saved > 60 * self.config.save_minutes
                stop, save, late = self.group.all_reduce([self.stop_requested or out_of_time, overdue, out_of_time])
                if late and not state.best:
                    self._save_early_checkpoint(meter)
                if stop or save:
                    self.save()
                    saved = time.monotonic()
                if stop:
                    return False
                if state.ended:
                    break
            else:
                state.epoch, state.batch = state.epoch + 1, 0
        if not state.validations or state.validations[-1]["step"] != state.step:
            meter.write(self.validate())
        self._finish()
        return True

    def _step(self, indices: Sequence[int]) -> TrainingStep:
        """Trains one step on a batch. Process r of n takes every n-th example from r on."""
        self.progress.step += 1
        rate = learning_rate(self.config, self.progress.step, self.total)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        share = indices[self.group.rank :: self.group.size]
        corpus = self.epochs.corpus(self.progress.epoch)
        batch = corpus.batch(share or indices[:1]).to(self.device)
        tokens = int(self.group.all_reduce([corpus.tokens(share)])[0])
        self.model.train()
        with self.autocast:
            loss = self.objective(batch) * bool(share)  # a process without a share computes zeros
        (loss * self.group.size / tokens).backward()  # gradients are averaged over the processes
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        value = self.group.all_reduce([loss.item()])[0]
        self._check_loss("loss", value)
        return TrainingStep(value, tokens, rate, float(norm))

    def _check_loss(self, name: str, value: float) -> None:
        if not math.isfinite(value):
            raise TrainingError(
                f"the {name} is {value} at step {self.progress.step}; the last saved state is in {self.files.path}. "
                "Start a new run with a lower learning rate."
            )

    def _record_probes(self) -> None:
        if self.group.is_first and self.recorder.sentences:
            self.recorder.record(self.progress.step, self.model)

    # -- measuring and keeping ------------------------------------------------------------------------------------

    def validate(self) -> str:
        """Returns dev loss (no smoothing, nats a token) and scores of the averaged weights, in a line.

        Saves these weights if the loss is the lowest so far, or always (`keep`). Ends the run after `patience` other
        validations.
        """
        state = self.progress
        if self.group.is_first:
            self.snapshots.append({k: v.detach().float().cpu().clone() for k, v in self.model.state_dict().items()})
            del self.snapshots[: -self.config.average]
            model = average_weights(self.model, self.snapshots)
            entry = self._measure(model)
            self.log(**entry)
            state.validations.append(entry)
            lowest = min(range(len(state.validations)), key=lambda n: (state.validations[n]["dev_loss"], -n))
            late = len(state.validations) - 1 - lowest
            if not late or self.config.keep == "last":
                state.best = entry
                self._save_checkpoint(model, entry)
            state.ended = bool(self.config.patience) and late >= self.config.patience
        state.validations, state.best, state.ended = self.group.broadcast((state.validations, state.best, state.ended))
        return self.dev.describe(state.validations[-1])

    def _measure(self, model: Transformer) -> dict[str, Any]:
        """Returns loss and scores of a model on the dev files. Averaged weights add the loss of the current weights."""
        loss = self.dev.loss(model, self.autocast)
        entry: dict[str, Any] = {"step": self.progress.step, "dev_loss": round(loss, 4)}
        if model is not self.model and self.config.average > 1:
            entry["dev_loss_unaveraged"] = round(self.dev.loss(self.model, self.autocast), 4)
        self._check_loss("dev loss", loss)
        tokenizers = (self.material.source_tokenizer, self.material.target_tokenizer)
        contrast = likelier_shares(model, *tokenizers, self.contrast) if self.contrast else {}
        return entry | self.dev.other_units(loss) | self.dev.scores(model) | contrast

    def _save_early_checkpoint(self, meter: Meter) -> None:
        """Measures and saves the current weights. The run itself does not change."""
        if self.group.is_first:
            entry = self._measure(self.model)
            meter.write(self.dev.describe(entry))
            self._save_checkpoint(self.model, entry)

    def _save_checkpoint(self, model: Transformer, entry: dict[str, Any]) -> None:
        try:
            checkpoints.save(self.checkpoint(model, entry), self.files.path / "checkpoint")
        except (OSError, SafetensorError) as fault:
            raise self.files.save_error(fault, self.progress.step) from None

    def leave(self) -> None:
        """Leaves the group of processes. The run takes no step afterwards."""
        del self.objective  # it refers to the group
        self.group.leave()

    def _finish(self) -> None:
        """Saves the head means, the last probes, the metrics of the run and its last state."""
        if self.recorder.sentences and self.progress.step not in self.recorder.steps:
            self._record_probes()
        if self.group.is_first:
            checkpoint = checkpoints.load(str(folder := self.files.path / "checkpoint"), self.device)
            try:
                checkpoints.save_means(mean_head_outputs(checkpoint.model, self.dev.corpus), folder)
                self.files.save_history(self.warm_start, self.recorder.recording() if self.recorder.steps else None)
                self.files.write_metrics(checkpoint, self.progress, self.material.card)
            except (OSError, SafetensorError) as fault:
                raise self.files.save_error(fault, self.progress.step) from None
        self.save()

    @cached_property
    def seen(self) -> CorpusStats | None:
        """Statistics of the examples of an epoch, computed once a run."""
        return self.material.seen(self.progress.epoch)

    def checkpoint(self, model: Transformer, entry: dict[str, Any]) -> Checkpoint:
        """Returns a checkpoint of a model of this run. `entry` has its dev measurements."""
        state, data = self.progress, self.material
        init = self.settings["init"] and own_name(Path(self.settings["init"]).resolve())
        facts = state.duration | {"init": init} | data.size
        if teachers := self.settings["teachers"]:
            facts["teachers"] = [own_name(Path(name).resolve()) for name in teachers]
        metrics = {
            "parameters": model.parameter_count,
            "training": self.config.to_dict() | facts | {"data_sha256": self.settings["data"]},
            "dev": entry | self.dev.sample_size(),
            "validations": state.validations or [entry],
        }
        tokenizers = data.source_tokenizer, data.target_tokenizer
        known = (self.languages, metrics, data.counts)
        return Checkpoint(self.files.path.name, self.model_config, model, *tokenizers, *known, corpus_stats=self.seen)
