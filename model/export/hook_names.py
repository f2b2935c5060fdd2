"""Attention maps under the hook names of TransformerLens, with the labels of both axes, and their .npz files.

Models with one stack have the names of HookedTransformer and HookedEncoder, `blocks.0.attn.hook_pattern`. Encoder-decoders
have those of HookedEncoderDecoder: `encoder.0.attn`, `decoder.0.attn` and `decoder.0.cross_attn`. Layers count from 0. As in
TransformerLens, scores of masked cells are -inf and arrays have a batch axis.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..io.array_zip import read_arrays
from ..io.files import FileError, brief_repr, short_repr
from ..trace import Side, Site
from .schema import Exported
from .token_labels import label_sentences

PATTERN, SCORES = "hook_pattern", "hook_attn_scores"
QUERIES, KEYS = ".queries", ".keys"  # after the name of an array: the labels of its axes
NAME = re.compile(rf"(blocks|encoder|decoder)\.\d+\.(attn|cross_attn)\.({PATTERN}|{SCORES})")


@dataclass(frozen=True, repr=False)
class HookActivation:
    """The array [1,H,T,S] of a hook, float32, with the labels of queries and keys that the pages show."""

    values: np.ndarray = field(repr=False)
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    __repr__ = brief_repr


def hook_name(site: Site, kinds: Collection[str], hook: str = PATTERN) -> str:
    """Returns the name of a site's hook in a model with these kinds of attention."""
    stack = site.spec.stack if "cross" in kinds else "blocks"
    return f"{stack}.{site.layer}.{'attn' if site.spec.is_self else 'cross_attn'}.{hook}"


def hook_activations(exported: Exported) -> dict[str, HookActivation]:
    """Returns patterns and scores of all sites by hook name. Edits are included; the baseline is not."""
    kinds = {site.kind for site in exported.patterns}
    activations = {}
    for site, pattern in exported.patterns.items():
        masked = np.where(exported.masks[site], exported.scores[site], np.float32(-np.inf))  # [H,T,S]
        queries = exported.trace.queries(site), site.spec.query_side
        labels = _labelled(exported, *queries), _labelled(exported, exported.trace.keys(site), site.spec.key_side)
        for hook, array in ((PATTERN, pattern), (SCORES, masked)):
            activations[hook_name(site, kinds, hook)] = HookActivation(array[None].astype(np.float32), *labels)
    return activations


def _labelled(exported: Exported, labels: Sequence[str], side: Side) -> tuple[str, ...]:
    return tuple(label_sentences(labels, exported.source if side == "source" else None))


def npz(exported: Exported) -> bytes:
    """Returns the content of a .npz file: each array under its hook name, and the labels of its axes as texts."""
    arrays: dict[str, np.ndarray] = {}
    for name, activation in hook_activations(exported).items():
        labels = {name + QUERIES: np.array(activation.queries, str), name + KEYS: np.array(activation.keys, str)}
        arrays |= {name: activation.values} | labels
    raw = io.BytesIO()
    np.savez_compressed(raw, allow_pickle=False, **arrays)
    return raw.getvalue()


def read_hooks(path: Path | str) -> dict[str, HookActivation]:
    """Reads a file of `npz`. Loads no model and unpickles nothing.

    Raises FileNotFoundError, and FileError for a damaged file, an unknown array, and labels that do not fit.
    """
    arrays = read_arrays(path := Path(path))
    activations = {}
    for name in arrays:
        base = name.removesuffix(QUERIES).removesuffix(KEYS)
        if not NAME.fullmatch(base) or base not in arrays:
            raise FileError(f"{path}: the array {short_repr(name)} is unknown; expected names as blocks.0.attn.{PATTERN}")
        if name != base:
            continue
        values = arrays[name]
        texts = [tuple(map(str, arrays.get(name + end, np.array([], str)))) for end in (QUERIES, KEYS)]
        expected = (1, values.shape[1] if values.ndim == 4 else 1, *map(len, texts))
        if values.dtype != np.float32 or values.shape != expected:
            raise FileError(
                f"{path}: {name} has shape {list(values.shape)}, {values.dtype}; expected {list(expected)}, float32"
            )
        activations[name] = HookActivation(values, *texts)
    return activations
