"""Attention weights and tokens as torch, Hugging Face, numpy and lists hold them, read by their attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..io.files import short_repr
from ..trace import ATTENTION_KINDS

OUTPUT_FIELDS = {"encoder_attentions": "encoder", "decoder_attentions": "decoder", "cross_attentions": "cross"}
NO_WEIGHTS = (
    'Load the model with attn_implementation="eager" and call it with output_attentions=True; '
    "other implementations return no weights."
)
Layers = tuple[np.ndarray, ...]


def by_kind(patterns: Any) -> dict[str, Any]:
    """Returns the patterns by kind of attention; "" for patterns without a name."""
    get = patterns.get if isinstance(patterns, Mapping) else lambda name: getattr(patterns, name, None)
    names = OUTPUT_FIELDS | ({kind: kind for kind in ATTENTION_KINDS} if isinstance(patterns, Mapping) else {})
    is_output = isinstance(patterns, Mapping) or any(hasattr(patterns, name) for name in ("attentions", *OUTPUT_FIELDS))
    if patterns is None or (is_output and not hasattr(patterns, "shape")):
        values = {kind: get(name) for name, kind in names.items() if not _is_absent(get(name))} if is_output else {}
        if is_output and not _is_absent(own := get("attentions")):
            values["decoder" if "cross" in values else ""] = own
        if not values:
            raise ValueError(f"The output has no attention weights. {NO_WEIGHTS}")
        return values
    return {"": patterns}


def _is_absent(value: Any) -> bool:
    """Returns True for None, and for layers that are all None, as models without weights return them."""
    return value is None or (isinstance(value, list | tuple) and all(each is None for each in value))


def read_layers(value: Any, row: int) -> Layers:
    """Returns one array [H,T,S] a layer."""
    if isinstance(value, list | tuple) and any(hasattr(each, "shape") for each in value):
        if None in [each if each is None else 0 for each in value]:
            raise ValueError(f"Some layers have no attention weights (None). {NO_WEIGHTS}")
        return tuple(_heads(_array(each), row, n) for n, each in enumerate(value))
    if isinstance(value, list | tuple) and any(_holds_arrays(each) for each in value):
        raise ValueError(
            f"The patterns have {len(value)} steps of {len(value[0])} layers, as generate() returns them; expected "
            "one layer after the other. Call the model once with the full text."
        )
    whole = _array(value)
    if whole.ndim == 5:
        return tuple(_heads(layer, row, n) for n, layer in enumerate(whole))
    if whole.ndim in (2, 3, 4) and whole.size:
        return tuple(whole.reshape(-1, *whole.shape[-3:]) if whole.ndim > 2 else whole[None, None])
    raise ValueError(f"The patterns have shape {list(whole.shape)}; expected [layers, heads, T, S] with a weight or more.")


def _holds_arrays(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(hasattr(each, "shape") for each in value)


def _heads(layer: np.ndarray, row: int, number: int) -> np.ndarray:
    """Returns one row of the batch of a layer, [H,T,S]."""
    if layer.ndim == 3:
        return layer
    if layer.ndim != 4:
        raise ValueError(f"Layer {number} has shape {list(layer.shape)}; expected [batch, heads, T, S] or [heads, T, S].")
    if not isinstance(row, int) or not 0 <= row < len(layer):
        raise ValueError(f"row is {short_repr(row)}; the batch has {len(layer)} rows, from 0.")
    return layer[row]


def _array(value: Any) -> np.ndarray:
    """Returns an array or a tensor of any library as a numpy array, without a copy where that is possible."""
    try:
        if hasattr(value, "detach"):  # a torch tensor
            value = value.detach().cpu()
            value = (value.float() if "bfloat16" in str(value.dtype) else value).numpy()
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers are no weights")
        if array.dtype.kind not in "fiub":  # bfloat16 of other libraries; objects
            array = array.astype(np.float32)
    except (TypeError, ValueError, NotImplementedError):  # also sparse tensors, and tensors without data
        raise ValueError(f"The patterns hold {short_repr(value)}; expected arrays of numbers with equal lengths.") from None
    return array


def self_kind(layers: Layers) -> str:
    """Returns decoder for patterns without a weight on a later token, else encoder."""
    shapes_fit = all(layer.ndim == 3 and layer.shape[1] == layer.shape[2] > 1 for layer in layers)
    if not shapes_fit:
        return "encoder"
    count = np.arange(layers[0].shape[1])
    later = count[:, None] < count  # [T,T]
    return "encoder" if any(layer.any(axis=0)[later].any() for layer in layers) else "decoder"


def is_pair(tokens: Any) -> bool:
    """Returns True for a pair of sequences of tokens."""
    is_two = isinstance(tokens, list | tuple) and len(tokens) == 2
    return is_two and any(not isinstance(each, str | bytes) and hasattr(each, "__len__") for each in tokens)


def read_texts(argument: str, tokens: Any, count: int, side: str) -> tuple[str, ...]:
    """Returns tokens as texts. A whole number stands for numbered positions."""
    if tokens is None:
        raise ValueError(f"{argument} is missing; expected {count} texts, the {side}tokens.")
    if isinstance(tokens, int | np.integer) and not isinstance(tokens, bool):
        return tuple(str(n + 1) for n in range(min(int(tokens), count + 1)))
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Sequence | np.ndarray):
        raise ValueError(f"{argument} is {short_repr(tokens)}; expected a list of {count} texts, one for each token.")
    for n, token in enumerate(tokens):
        if not isinstance(token, str | bytes):
            raise ValueError(
                f"{argument}[{n}] is {short_repr(token)}; expected a text, as tokenizer.convert_ids_to_tokens returns it."
            )
    return tuple(token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token) for token in tokens)
