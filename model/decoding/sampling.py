"""Which tokens sampling may choose, and with what probability: temperature, then top-k, then top-p. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..config import PAD, START
from ..io.files import shown

NEVER_CHOSEN = (PAD, START)  # their probabilities are shown as they are, but no hypothesis contains them


@dataclass(frozen=True)
class Choices:
    """The candidates of one step, likeliest first, all of them [V]."""

    ids: np.ndarray
    tempered: np.ndarray  # probability after the temperature, before anything is cut
    kept_by_k: np.ndarray  # bool
    kept: np.ndarray  # bool: by top-k and top-p
    probability: np.ndarray  # of being drawn: what is kept, scaled up to 1

    def draw(self, number: float) -> int:
        """The token at a place from 0 to 1 of the summed probabilities."""
        place = int(np.searchsorted(np.cumsum(self.probability), number, side="right"))
        return int(self.ids[min(place, int(np.flatnonzero(self.kept)[-1]))])


def choices(log_probs: np.ndarray, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Choices:
    """What may be chosen of log-probabilities [V].

    Probabilities are those of log_probs / temperature; a temperature of 0 leaves the likeliest token alone. Top-k keeps the
    k likeliest (0: all), top-p the smallest set of these whose probability, scaled to 1 after top-k, reaches p (Holtzman
    et al. 2020).

    Raises ValueError for a negative or infinite temperature, a negative k, and a p that is not above 0 and at most 1.
    """
    check(temperature, top_k, top_p)
    values = log_probs.copy()
    values[list(NEVER_CHOSEN)] = -np.inf
    ids = likeliest(values)
    ordered = values[ids].astype(np.float64)
    if temperature == 0:
        tempered = (np.arange(len(ids)) == 0).astype(np.float64)
    else:
        tempered = np.exp((ordered - ordered[0]) / temperature)
        tempered /= tempered.sum()
    possible = np.isfinite(ordered)
    by_k = possible & (np.arange(len(ids)) < (top_k or len(ids)))
    among = np.where(by_k, tempered, 0.0)
    before = np.cumsum(among) - among  # what stands before each
    kept = by_k & (tempered > 0)
    if top_p < 1:
        kept &= before < top_p * among.sum() * (1 - 1e-12)
    drawn = np.where(kept, tempered, 0.0)
    return Choices(ids, tempered, by_k, kept, drawn / drawn.sum())


def likeliest(values: np.ndarray, most: int | None = None) -> np.ndarray:
    """The ids of values [V] from the largest to the least, equal ones in their order: a stable argsort in an eighth of its
    time. With `most` the first of them alone.

    Each float32, which orders like a whole number once its sign is taken out, is sorted together with its id.
    """
    if values.dtype != np.float32:
        return np.argsort(-values, kind="stable")[:most]
    bits = (0.0 - values).view(np.int32)  # 0 has one sign
    whole = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    keys = (whole.astype(np.int64) << 32) | np.arange(len(values))
    if most is not None and most < len(keys):
        keys = np.partition(keys, most)[:most]
    keys.sort()
    return keys & 0xFFFFFFFF


def check(temperature: float, top_k: int, top_p: float) -> None:
    """ValueError, one sentence, for a control out of range."""
    if not (MIN_TEMPERATURE <= temperature <= MAX_TEMPERATURE or temperature == 0):
        raise ValueError(f"The temperature is {temperature}; expected 0, or {MIN_TEMPERATURE} to {MAX_TEMPERATURE}.")
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise ValueError(f"Top-k is {top_k}; expected a whole number of at least 0, where 0 keeps all.")
    if top_k > MAX_TOP_K:
        raise ValueError(f"Top-k is {shown(top_k)}; expected at most {MAX_TOP_K:,}, or 0, which keeps all.")
    if not 0 < top_p <= 1:
        raise ValueError(f"Top-p is {top_p}; expected more than 0 and at most 1.")


MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 10
MAX_TOP_K = 1_000_000
