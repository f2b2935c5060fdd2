"""How tokens are chosen, as a value: the strategy and its controls, checked when it is made. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.config import MAX_TOKENS
from model.decoding import sampling

LENGTH_PENALTY = 1.0  # alpha; chosen on the shipped checkpoint's dev sentences
MAX_ALPHA = 5
MAX_SEED = 999_999


class RequestError(ValueError):
    """A request that cannot be answered; the text is one sentence for the visitor."""


@dataclass(frozen=True)
class Decoding:
    """How tokens are chosen, up to a number of target tokens, `</s>` included.

    `greedy` takes the likeliest at each step; `beam` keeps `width` paths alive and ranks the finished ones by their score
    over the length penalty ((5 + length) / 6)^alpha of Wu et al. 2016; `sample` draws, by temperature, top-k and top-p (see
    `model.decoding.sampling`) from a seed. Raises RequestError for values out of range.
    """

    strategy: Literal["greedy", "beam", "sample"] = "greedy"
    limit: int = MAX_TOKENS
    width: int = 4  # of the beam
    alpha: float = LENGTH_PENALTY
    temperature: float = 1.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.strategy not in ("greedy", "beam", "sample"):
            raise RequestError(f"The decoding strategy is {self.strategy!r}; expected 'greedy', 'beam' or 'sample'.")
        try:
            sampling.check(self.temperature, self.top_k, self.top_p)
        except ValueError as fault:
            raise RequestError(str(fault)) from None
        if not 0 <= self.seed <= MAX_SEED:
            raise RequestError(f"The seed is {self.seed}; expected a whole number from 0 to {MAX_SEED}.")
        if not 1 <= self.limit <= MAX_TOKENS:
            raise RequestError(f"The limit is {self.limit} target tokens; expected 1 to {MAX_TOKENS}.")
        if self.width < 1:
            raise RequestError(f"The beam's width is {self.width}; expected at least 1.")
        if not 0 <= self.alpha <= MAX_ALPHA:
            raise RequestError(f"The length penalty's alpha is {self.alpha}; expected 0 to {MAX_ALPHA}.")
