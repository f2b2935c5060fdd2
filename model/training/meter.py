"""What a run tells while it trains."""

from __future__ import annotations

from typing import Any

from tqdm import tqdm


class Meter:
    """The progress bar, and the averages that are logged."""

    def __init__(self, total: int, done: int, every: int, silent: bool = False) -> None:
        self.every, self.silent = every, silent
        self.bar = tqdm(
            total=total, initial=done, unit="step", dynamic_ncols=True, smoothing=0.05, mininterval=1.0, disable=silent
        )
        self._reset()

    def _reset(self) -> None:
        self.loss, self.tokens, self.seconds, self.steps = 0.0, 0, 0.0, 0

    def update(self, loss: float, tokens: int, rate: float, seconds: float) -> dict[str, Any] | None:
        """Adds one step; every so many steps returns the averages since the last time."""
        self.loss, self.tokens = self.loss + loss, self.tokens + tokens
        self.seconds, self.steps = self.seconds + seconds, self.steps + 1
        mean, speed = self.loss / self.tokens, self.tokens / self.seconds
        self.bar.set_postfix_str(f"loss {mean:.3f}, rate {rate:.2e}, {speed:.0f} tok/s", refresh=False)
        self.bar.update(1)
        if self.steps < self.every:
            return None
        self._reset()
        return {"loss": round(mean, 6), "learning_rate": rate, "tokens_per_second": round(speed)}

    def say(self, line: str) -> None:
        if not self.silent:
            self.bar.write(line)

    def close(self) -> None:
        self.bar.close()
