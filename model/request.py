"""What a visitor asks for: frozen, hashable, checked when made; the key of every cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from model import sampling
from model.config import MAX_TOKENS
from model.intervention import BASELINE, Intervention

Mode = Literal["given", "again"]
MAX_PAD = 32
LENGTH_PENALTY = 1.0  # alpha; chosen on the shipped checkpoint's dev sentences
MAX_ALPHA = 5
MAX_SEED = 999_999
MAX_SENTENCES = 16  # of one batch
PAD_WHEN_UNMASKED = 4  # with the padding mask off and no padding asked for, there is this much


class RequestError(ValueError):
    """A request that cannot be answered; the text is one sentence for the visitor."""


@dataclass(frozen=True)
class Decoding:
    """How tokens are chosen, up to a number of target tokens, `</s>` included.

    `greedy` takes the likeliest at each step; `beam` keeps `width` paths alive and ranks the finished ones by their score
    over the length penalty ((5 + length) / 6)^alpha of Wu et al. 2016; `sample` draws, by temperature, top-k and top-p (see
    `model.sampling`) from a seed. Raises RequestError for values out of range.
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


@dataclass(frozen=True)
class Request:
    """A sentence, how it is decoded, and what is switched off.

    mode `given`: the target is fixed (the one given, else the baseline's translation) and read in one pass under the
    intervention; `again`: tokens are chosen anew under it. Without an intervention both are the same.
    Raises RequestError, one sentence that says what was found and what was expected.
    """

    source: str
    checkpoint: str = "en-fr"
    target: str | None = None  # None: the model's own translation
    prefix: str = ""  # text that the translation is forced to begin with
    beside: tuple[str, ...] = ()  # sentences that are decoded in the same batch, padded to one length
    branches: tuple[tuple[int, ...], ...] = ()  # beginnings, as ids, from which decoding goes on beside its own choice
    path: tuple[int, ...] = ()  # the hypothesis that is looked at, or its beginning; empty: the best, or the last branch's
    pad: int = 0  # `<pad>` tokens after the source
    mode: Mode = "given"
    decoding: Decoding = field(default_factory=Decoding)
    intervention: Intervention = BASELINE

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise RequestError("The sentence is empty: type one.")
        if self.target is not None and not self.target.strip():
            raise RequestError("The target is empty: give a translation, or leave it to the model.")
        if any(not text.strip() for text in self.beside):
            raise RequestError("A sentence of the batch is empty; expected text in each.")
        if len(self.beside) >= MAX_SENTENCES:
            raise RequestError(f"There are {len(self.beside) + 1} sentences; expected at most {MAX_SENTENCES}.")
        if any(not branch for branch in self.branches):
            raise RequestError("A branch is empty; expected at least one token.")
        for char in "".join((self.source, self.target or "", self.prefix, *self.beside)):
            if "\ud800" <= char <= "\udfff":
                raise RequestError(f"The text has U+{ord(char):04X} in it, which is no character; expected valid Unicode.")
        if self.mode not in ("given", "again"):
            raise RequestError(f"The mode is {self.mode!r}; expected 'given' or 'again'.")
        if not 0 <= self.pad <= MAX_PAD:
            raise RequestError(f"The padding is {self.pad} tokens; expected 0 to {MAX_PAD}.")
        if self.target is not None and self.prefix:
            raise RequestError("Both a target and a prefix are given; expected one of the two.")

    @property
    def padding(self) -> int:
        """`<pad>` tokens in the source: `pad`, or 4 where the padding mask is off and there would be none to see."""
        return self.pad if self.pad or self.intervention.padding_mask else PAD_WHEN_UNMASKED
