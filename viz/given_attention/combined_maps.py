"""Maps of several heads of a `GivenAttention`: mean, maximum and rollout."""

from __future__ import annotations

import threading

import numpy as np

from model.export.given_attention import GivenAttention
from model.io.files import short_repr
from model.readings.heads.head_maps import rollout_products

COMBINATIONS = ("mean", "max", "rollout")


def has_rollout(attention: GivenAttention, kind: str) -> bool:
    """Returns True if the rollout of a kind is defined: that of cross-attention goes through the encoder."""
    return kind != "cross" or "encoder" in attention.kinds


def rollouts(attention: GivenAttention, kind: str) -> np.ndarray:
    """Returns the attention rollout after each layer of a kind, float32 [L,T,S]; of cross-attention, through the encoder."""
    means = (attention.layer(kind, n).mean(0) for n in range(attention.shape(kind)[0]))
    if kind == "cross":
        encoder = rollouts(attention, "encoder")[-1]
        return np.stack([mean @ encoder for mean in means])
    return np.stack([product.astype(np.float32) for product in rollout_products(means)])


class CombinedMaps:
    """The maps of several heads of one model. The rollouts of a kind are computed once. Threads may share it."""

    def __init__(self, attention: GivenAttention) -> None:
        self._attention = attention
        self._rollouts: dict[str, np.ndarray] = {}
        self._lock = threading.Lock()

    def map(self, kind: str, combine: str, layer: int | None = None, head: int | None = None) -> np.ndarray:
        """Returns a map as float32 [T,S].

        Args:
            combine: mean or max over the heads, or the rollout after `layer`.
            layer: from 0; None for all layers.
            head: from 0; None for all heads of a layer.

        Raises ValueError for a kind, a layer or a head that is not there, another `combine`, and a rollout without a layer.
        """
        if combine not in COMBINATIONS:
            raise ValueError(f"combine is {short_repr(combine)}; expected {', '.join(COMBINATIONS)}.")
        layers = self._attention.shape(kind)[0]
        if head is not None:
            self._attention.head(kind, 0, head)
        if combine == "rollout":
            return self._rollout(kind, layer)
        chosen = slice(None) if head is None else slice(head, head + 1)
        maps = (self._attention.layer(kind, n, chosen) for n in (range(layers) if layer is None else [layer]))
        if combine == "max":
            return np.maximum.reduce([each.max(0) for each in maps])
        means = [each.mean(0) for each in maps]
        return np.mean(means, axis=0, dtype=np.float32)

    def _rollout(self, kind: str, layer: int | None) -> np.ndarray:
        if layer is None or not has_rollout(self._attention, kind):
            raise ValueError(f"There is no rollout of {kind} for layer {layer}.")
        with self._lock:
            if kind not in self._rollouts:
                self._rollouts[kind] = rollouts(self._attention, kind)
        if not 0 <= layer < len(self._rollouts[kind]):
            raise ValueError(f"There is no {kind} layer {layer}; expected 0 to {len(self._rollouts[kind]) - 1}.")
        return self._rollouts[kind][layer]
