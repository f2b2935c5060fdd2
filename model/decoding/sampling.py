"""Sampling: the candidate tokens and their probabilities after temperature, top-k and top-p. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..config import PAD, START
from ..io.files import short_repr

EXCLUDED_IDS = (PAD, START)  # shown with their probabilities, but in no hypothesis


@dataclass(frozen=True)
class Choices:
    """The tokens of one step, most probable first; every array has the shape [V]."""

    ids: np.ndarray
    tempered_probability: np.ndarray  # probability after the temperature, before top-k and top-p
    is_in_top_k: np.ndarray  # bool: within top-k
    is_candidate: np.ndarray  # bool: within top-k and top-p
    probability: np.ndarray  # of the candidates, scaled to a sum of 1; 0 for other tokens

    def draw(self, number: float) -> int:
        """Returns the token whose interval of the cumulative probabilities contains a number from 0 to 1."""
        place = int(np.searchsorted(np.cumsum(self.probability), number, side="right"))
        return int(self.ids[min(place, int(np.flatnonzero(self.is_candidate)[-1]))])


def choices(log_probs: np.ndarray, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Choices:
    """Returns the candidates for log-probabilities [V].

    Probabilities are those of log_probs / temperature; a temperature of 0 leaves the most probable token alone. Top-k keeps
    the k most probable tokens (0: all). Top-p keeps the smallest set of these whose probability, scaled to 1 after top-k,
    reaches p (Holtzman et al. 2020).

    Raises ValueError for a negative or infinite temperature, a negative k, and a p outside (0, 1].
    """
    check_settings(temperature, top_k, top_p)
    values = log_probs.copy()
    values[list(EXCLUDED_IDS)] = -np.inf
    ids = top_ids(values)
    ordered = values[ids].astype(np.float64)
    if temperature == 0:
        tempered = (np.arange(len(ids)) == 0).astype(np.float64)
    else:
        tempered = np.exp((ordered - ordered[0]) / temperature)
        tempered /= tempered.sum()
    possible = np.isfinite(ordered)
    is_in_top_k = possible & (np.arange(len(ids)) < (top_k or len(ids)))
    top_k_probability = np.where(is_in_top_k, tempered, 0.0)
    before = np.cumsum(top_k_probability) - top_k_probability  # probability before each token
    is_candidate = is_in_top_k & (tempered > 0)
    if top_p < 1:
        is_candidate &= before < top_p * top_k_probability.sum() * (1 - 1e-12)
    selected_probs = np.where(is_candidate, tempered, 0.0)
    return Choices(ids, tempered, is_in_top_k, is_candidate, selected_probs / selected_probs.sum())


def top_ids(values: np.ndarray, count: int | None = None) -> np.ndarray:
    """Returns the first `count` ids (default all) of values [...,V] in descending order, ties by id.

    It is a stable argsort, 8 times as fast for float32: bits that sort as integers are sorted together with the id.
    """
    if values.dtype != np.float32:
        return np.argsort(-values, axis=-1, kind="stable")[..., :count]
    bits = (0.0 - values).view(np.int32)  # 0 has one sign
    ordinals = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    keys = (ordinals.astype(np.int64) << 32) | np.arange(values.shape[-1])
    if count is not None and count < values.shape[-1]:
        keys = np.partition(keys, count, axis=-1)[..., :count]
    keys.sort(axis=-1)
    return keys & 0xFFFFFFFF


def check_settings(temperature: float, top_k: int, top_p: float) -> None:
    """Raises ValueError, with one sentence, for a setting out of range."""
    if not (MIN_TEMPERATURE <= temperature <= MAX_TEMPERATURE or temperature == 0):
        raise ValueError(f"The temperature is {temperature}; expected 0, or {MIN_TEMPERATURE} to {MAX_TEMPERATURE}.")
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise ValueError(f"Top-k is {top_k}; expected a whole number of at least 0, where 0 keeps all.")
    if top_k > MAX_TOP_K:
        raise ValueError(f"Top-k is {short_repr(top_k)}; expected at most {MAX_TOP_K:,}, or 0, which keeps all.")
    if not 0 < top_p <= 1:
        raise ValueError(f"Top-p is {top_p}; expected more than 0 and at most 1.")


MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 10
MAX_TOP_K = 1_000_000
