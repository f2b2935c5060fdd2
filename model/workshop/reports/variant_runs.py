"""Runs of the variants: their state and scores, read from the files of each run's folder, and their estimated cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from ...checkpoint import write_json
from ...checkpoint_files import read_config, read_metrics
from ...io.files import MEGABYTE, FileError, is_count, parse_json, read_bytes, read_json, short_repr
from ...variants.designs import BASE, VARIANTS, ModelVariant, Plan
from ...variants.record import MissingRun, SeedRun, VariantResult, Variants
from ...variants.same_heads import SameHeads
from ..training.run_folder import MAX_LOG

TEST_KEY = "test"  # of the scores, in metrics.json
SPEED, HEADS, WORK, FAILED = "speed.json", "same_heads.json", "work.json", "failed.json"
MAX_RECORD = 8 * MEGABYTE  # of the heads of all variants


@dataclass(frozen=True)
class VariantRun:
    """One requested run: a variant with a seed, in its folder."""

    variant: ModelVariant
    seed: int
    folder: Path

    @property
    def checkpoint(self) -> Path:
        """Folder of its best weights."""
        return self.folder / "checkpoint"

    @property
    def is_trained(self) -> bool:
        """True after the end of the training, which measures the means of the heads last."""
        return (self.checkpoint / "means.safetensors").is_file()

    @property
    def is_locked(self) -> bool:
        """True while another process trains it."""
        if not self.folder.is_dir():
            return False
        try:
            with FileLock(self.folder / "lock", timeout=0):
                return False
        except Timeout:
            return True

    def record_failure(self, reason: str) -> None:
        """Stores the reason of a failure in the folder until the next try."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / FAILED, {"why": reason})

    def clear_failure(self) -> None:
        """Removes the reason of an earlier failure."""
        (self.folder / FAILED).unlink(missing_ok=True)

    @property
    def missing(self) -> MissingRun:
        """State of a run without scores. The step is the last one in its log."""
        name, step = self.variant.name, max((entry["step"] for entry in self._log()), default=0)
        try:
            why = read_json(self.folder / FAILED, MEGABYTE)["why"]
            return MissingRun(name, self.seed, "failed", step, str(why))
        except (FileNotFoundError, FileError, KeyError, TypeError):
            state = "trained" if self.is_trained else "training" if step else "waiting"
            return MissingRun(name, self.seed, state, step)

    @property
    def losses(self) -> tuple[tuple[int, float], ...]:
        """Dev loss at each validation so far, with its step."""
        return tuple((each["step"], each["dev_loss"]) for each in self._log() if isinstance(each.get("dev_loss"), float))

    def _log(self) -> list[dict[str, Any]]:
        """Returns the complete lines of its log; none where there is no log."""
        try:
            lines = read_bytes(self.folder / "log.jsonl", MAX_LOG).splitlines()
        except (FileNotFoundError, FileError):
            return []
        entries = []
        for line in lines:
            try:
                entry = parse_json(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and is_count(entry.get("step")):
                entries.append(entry)
        return entries

    def scores(self, plan: Plan, data: Mapping[str, str], decoding: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns metrics.json of a run that is trained and scored on these data with this decoding, else None.

        Raises ValueError where the run has other settings or other data.
        """
        if not self.is_trained:
            self._check_settings(plan, data)
            return None
        metrics, trained_on = read_metrics(self.checkpoint / "metrics.json"), {k: data[k] for k in ("train", "dev")}
        config = read_config(self.checkpoint / "config.json")[0].to_dict()
        wanted = plan.model_options(self.variant)
        training = metrics.get("training", {})
        self._check_same("model", wanted, config)
        self._check_same("training", plan.train_options(self.seed), training)
        self._check_same("data", trained_on, training.get("data_sha256", {}))
        scored = metrics.get(TEST_KEY)
        if not isinstance(scored, dict) or scored.get("data_sha256") != data["test"]:
            return None
        return metrics if all(scored.get(name) == value for name, value in decoding.items()) else None

    def _check_settings(self, plan: Plan, data: Mapping[str, str]) -> None:
        """Checks the settings of an unfinished run. The trainer reports its other faults."""
        try:
            settings = read_json(self.folder / "settings.json", MEGABYTE)
            parts = [dict(settings[name]) for name in ("model", "training", "data")]
        except (FileNotFoundError, FileError, KeyError, TypeError, ValueError):
            return
        wanted = plan.model_options(self.variant), plan.train_options(self.seed), {k: data[k] for k in ("train", "dev")}
        for part, own, stored in zip(("model", "training", "data"), wanted, parts, strict=True):
            self._check_same(part, own, stored)

    def _check_same(self, part: str, expected: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
        for name, value in expected.items():
            if stored.get(name) != value:
                raise ValueError(
                    f"{self.folder} holds a run with other settings ({part}: {name} was {short_repr(stored.get(name))}, now "
                    f"{short_repr(value)}); give another --out"
                )


def runs_of(out: Path, names: Iterable[str], seeds: Iterable[int]) -> list[VariantRun]:
    """Returns all runs of variants, seed by seed, so that an early stop leaves comparable runs."""
    names = list(names)
    return [VariantRun(VARIANTS[name], seed, out / f"{name}-{seed}") for seed in seeds for name in names]


def collect(
    runs: Iterable[VariantRun], out: Path, plan: Plan, data: Mapping[str, str], decoding: Mapping[str, Any]
) -> Variants | None:
    """Returns the record of scored runs, missing runs, speeds, heads and the work of a run; None where no run is scored."""
    scored: dict[str, list[tuple[VariantRun, dict[str, Any]]]] = {}
    missing, seeds = [], []
    for run in runs:
        seeds += [run.seed] if run.seed not in seeds else []
        if (metrics := run.scores(plan, data, decoding)) is not None:
            scored.setdefault(run.variant.name, []).append((run, metrics))
        else:
            missing.append(run.missing)
    if not scored:
        return None
    speed = speed_of(out)
    speeds = speed.pop("tokens_per_second") if speed else {}
    measured = tuple(_measured_variant(VARIANTS[n], plan, scored[n], speeds.get(n)) for n in VARIANTS if n in scored)
    tests = [metrics[TEST_KEY] for each in scored.values() for _, metrics in each]
    work = work_of(out, plan, data) or {"steps": None, "target_tokens": None}
    return Variants(
        base=BASE,
        training=dict(plan.training),
        data=dict(data),
        decoding=dict(decoding),
        sentences=tests[0]["sentences"],
        sacrebleu_signature=tests[0]["sacrebleu_signature"],
        variants=measured,
        speed=speed,
        seeds=tuple(seeds),
        missing=tuple(missing),
        steps=work["steps"],
        target_tokens=work["target_tokens"],
        same_heads=heads_of(out),
    )


def speed_of(out: Path) -> dict[str, Any] | None:
    """Returns the content of `speed.json`, or None where there is none. Raises ValueError where it is damaged."""
    values = _read(out / SPEED)
    if values is not None and not isinstance(values.get("tokens_per_second"), dict):
        raise ValueError(f"{out / SPEED} has no tokens_per_second; measure again with --speed")
    return values


def heads_of(out: Path) -> dict[str, SameHeads]:
    """Returns the content of `same_heads.json` by variant. Raises ValueError where it is damaged."""
    try:
        return {name: SameHeads.from_dict(each) for name, each in (_read(out / HEADS) or {}).items()}
    except ValueError as fault:
        raise ValueError(f"{out / HEADS}: {fault}; measure again with --same-heads") from None


def work_of(out: Path, plan: Plan, data: Mapping[str, str]) -> dict[str, Any] | None:
    """Returns `work.json` where it was counted for this plan and these data, else None."""
    values = _read(out / WORK) or {}
    counts = all(is_count(values.get(name)) for name in ("steps", "target_tokens", "pairs"))
    return values if counts and values.get("of") == work_key(plan, data) else None


def work_key(plan: Plan, data: Mapping[str, str]) -> dict[str, Any]:
    """Returns the settings on which the work of a run depends."""
    return dict(plan.training) | {"train": data["train"]}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        values = read_json(path, MAX_RECORD)
    except FileNotFoundError:
        return None
    if not isinstance(values, dict):
        raise ValueError(f"{path} is damaged: expected a JSON object; remove the file")
    return values


def _measured_variant(
    variant: ModelVariant, plan: Plan, runs: list[tuple[VariantRun, dict[str, Any]]], speed: float | None
) -> VariantResult:
    seeded = [
        SeedRun(
            run.seed,
            metrics[TEST_KEY]["bleu"],
            metrics[TEST_KEY]["chrf"],
            metrics["dev"]["dev_loss"],
            metrics["training"]["steps"],
            metrics["training"]["minutes"],
            run.losses,
        )
        for run, metrics in sorted(runs, key=lambda pair: pair[0].seed)
    ]
    options, parameters = plan.model_options(variant), runs[0][1]["parameters"]
    return VariantResult(variant.name, variant.title, variant.says, options, parameters, tuple(seeded), speed)


class CostEstimate(NamedTuple):
    """Number of remaining runs, their estimated hours, and the basis of the estimate."""

    runs: int
    hours: float
    basis: str

    def describe(self) -> str:
        runs = "1 run is" if self.runs == 1 else f"{self.runs} runs are"
        return f"{runs} left: about {format_hours(self.hours)}, {self.basis}."


def format_hours(count: float) -> str:
    """Formats a duration."""
    if count < 1:
        minutes = max(1, round(60 * count))
        return f"{minutes} minute{'' if minutes == 1 else 's'}"
    return f"{count:.1f} hours"


def estimate_from_speed(left: Sequence[VariantRun], target_tokens: int, speeds: Mapping[str, float]) -> CostEstimate:
    """Estimates by the target tokens of a run and the measured tokens per second of each variant."""
    seconds = math.fsum(target_tokens / speeds[run.variant.name] for run in left)
    return CostEstimate(len(left), seconds / 3600, "from the speed measured here; validation and scoring take extra time")


def estimate_from_runs(left: Sequence[VariantRun], record: Variants) -> CostEstimate:
    """Estimates by the minutes of finished runs of the same variant, else of all."""
    minutes = {each.name: [run.minutes for run in each.runs] for each in record.variants}
    every = [each for own in minutes.values() for each in own]
    total = math.fsum(_mean(minutes.get(run.variant.name) or every) for run in left)
    ended = "the run" if len(every) == 1 else f"the {len(every)} runs"
    return CostEstimate(
        len(left), total / 60, f"from the minutes of {ended} that ended; validation and scoring take extra time"
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
