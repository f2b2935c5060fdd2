"""What a run tells while it trains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from model.config import TrainConfig

LARGEST = 1e30  # of a gradient's norm, as it is logged: one may be infinite, or no number


@dataclass(frozen=True)
class Step:
    """One step of a run: summed loss in nats and its tokens, the rate, and the norm of the gradients before clipping."""

    loss: float
    tokens: int
    rate: float
    norm: float


class Meter:
    """The progress bar, and the averages that are logged. What it has summed so far can be stored and taken up again, so
    that a run which was stopped logs at the same steps as one that was not."""

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

    def update(self, step: Step, seconds: float) -> dict[str, Any] | None:
        """Adds one step; every so many steps returns the averages since the last time."""
        sums, norm = self.sums, step.norm if step.norm < LARGEST else LARGEST  # also where it is NaN
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

    def say(self, line: str) -> None:
        if not self.silent:
            self.bar.write(line)

    def close(self) -> None:
        self.bar.close()
