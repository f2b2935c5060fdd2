"""What the runs of the variants have come to: each in a folder of its own, read from the files that training and scoring
have left there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.checkpoint_files import read_config, read_metrics
from model.files import MEGABYTE, read_json, shown
from model.variants.declared import BASE, VARIANTS, Plan, Variant
from model.variants.record import Measured, Seeded, Variants

KEY = "test"  # of the scores, in metrics.json
SPEED = "speed.json"


@dataclass(frozen=True)
class VariantRun:
    """One run that is asked for: a variant with a seed, in a folder of its own."""

    variant: Variant
    seed: int
    folder: Path

    @property
    def checkpoint(self) -> Path:
        """Where its best weights are."""
        return self.folder / "checkpoint"

    @property
    def is_trained(self) -> bool:
        """Whether it has been trained to its end: the means of the heads are measured last."""
        return (self.checkpoint / "means.safetensors").is_file()

    def scores(self, plan: Plan, data: Mapping[str, str], decoding: Mapping[str, Any]) -> dict[str, Any] | None:
        """What its metrics.json says, if it is trained and scored on these data, decoded in this way; else None.

        Raises ValueError where the run was made with other settings or other data.
        """
        if not self.is_trained:
            return None
        metrics, trained_on = read_metrics(self.checkpoint / "metrics.json"), {k: data[k] for k in ("train", "dev")}
        config = read_config(self.checkpoint / "config.json")[0].to_dict()
        wanted = plan.model_options(self.variant)
        training = metrics.get("training", {})
        self._same("model", wanted, config)
        self._same("training", plan.train_options(self.seed), training)
        self._same("data", trained_on, training.get("data_sha256", {}))
        scored = metrics.get(KEY)
        if not isinstance(scored, dict) or scored.get("data_sha256") != data["test"]:
            return None
        return metrics if all(scored.get(name) == value for name, value in decoding.items()) else None

    def _same(self, part: str, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        for name, value in wanted.items():
            if found.get(name) != value:
                raise ValueError(
                    f"{self.folder} holds a run with other settings ({part}: {name} was {shown(found.get(name))}, now "
                    f"{shown(value)}); give another --out"
                )


def runs_of(out: Path, names: Iterable[str], seeds: Iterable[int]) -> list[VariantRun]:
    """All runs of some variants, seed by seed: where this is stopped early, what is there can be compared."""
    names = list(names)
    return [VariantRun(VARIANTS[name], seed, out / f"{name}-{seed}") for seed in seeds for name in names]


def collect(
    runs: Iterable[VariantRun], out: Path, plan: Plan, data: Mapping[str, str], decoding: Mapping[str, Any]
) -> Variants | None:
    """The record of those that are trained and scored, with the speeds that were measured beside them; None for none."""
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for run in runs:
        if (metrics := run.scores(plan, data, decoding)) is not None:
            found.setdefault(run.variant.name, []).append((run.seed, metrics))
    if not found:
        return None
    speed = speed_of(out)
    speeds = speed.pop("tokens_per_second") if speed else {}
    measured = tuple(_measured(VARIANTS[n], plan, found[n], speeds.get(n)) for n in VARIANTS if n in found)
    tests = [metrics[KEY] for each in found.values() for _, metrics in each]
    signature, sentences = tests[0]["sacrebleu_signature"], tests[0]["sentences"]
    return Variants(BASE, dict(plan.training), dict(data), dict(decoding), sentences, signature, measured, speed)


def speed_of(out: Path) -> dict[str, Any] | None:
    """What `speed.json` holds; None where there is none. ValueError where it is damaged."""
    try:
        found = read_json(out / SPEED, MEGABYTE)
    except FileNotFoundError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("tokens_per_second"), dict):
        raise ValueError(f"{out / SPEED} has no tokens_per_second; measure again with --speed")
    return found


def _measured(variant: Variant, plan: Plan, runs: list[tuple[int, dict[str, Any]]], speed: float | None) -> Measured:
    seeded = [
        Seeded(
            seed,
            metrics[KEY]["bleu"],
            metrics[KEY]["chrf"],
            metrics["dev"]["dev_loss"],
            metrics["training"]["steps"],
            metrics["training"]["minutes"],
        )
        for seed, metrics in sorted(runs, key=lambda pair: pair[0])
    ]
    options, parameters = plan.model_options(variant), runs[0][1]["parameters"]
    return Measured(variant.name, variant.title, variant.says, options, parameters, tuple(seeded), speed)
