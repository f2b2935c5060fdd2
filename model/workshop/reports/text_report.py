"""Bits per character of a language model and of n-gram baselines on the same text, with intervals over paragraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...checkpoint import Checkpoint
from ...config import END, MAX_TOKENS
from ...experiments.sweep import RESAMPLES, SEED, intervals
from ...text.tokenizer import Tokenizer
from ..corpus.windows import count_characters
from ..evaluation.count_baselines import NGrams
from ..evaluation.text_scoring import (
    STRIDE,
    ParagraphCosts,
    bits_per_character,
    score,
    sum_segments,
)

LINE_END = b"\n"
ToSymbols = Callable[[str], Sequence[int]]  # symbols of a paragraph with its end
ORDERS = {"bytes": 10, "tokens": 6}  # highest order of each kind


def measure_text(
    checkpoint: Checkpoint,
    paragraphs: Sequence[str],
    stride: int = STRIDE,
    progress: Callable[[int], object] = lambda done: None,
) -> tuple[dict[str, Any], ParagraphCosts]:
    """Returns the scores of a model on a text, and the costs of the paragraphs."""
    costs = score(checkpoint.model, checkpoint.target_tokenizer, paragraphs, stride, progress)
    result = {
        "paragraphs": len(paragraphs),
        "tokens": int(costs.tokens.sum()),
        "characters": int(costs.characters.sum()),
        "nats_per_token": round(float(costs.nats.sum() / costs.tokens.sum()), 4),
        **_bits(costs.nats, costs.characters),
        "stride": stride,
        "context": MAX_TOKENS - stride,
        "resamples": RESAMPLES,
        "seed": SEED,
    }
    return result, costs


def measure_baseline(
    tokenizer: Tokenizer,
    texts: Sequence[Sequence[str]],
    dev: Sequence[Sequence[str]],
    paragraphs: Sequence[str],
    model: ParagraphCosts,
) -> dict[str, Any]:
    """Returns the scores of n-gram models of bytes and of tokens, counted in `texts`, on the same text.

    `dev` chooses the order of each kind. The gain compares `model` with the better kind, in bits per character.
    """
    kinds: dict[str, tuple[ToSymbols, int]] = {
        "bytes": (lambda text: text.encode() + LINE_END, 256),
        "tokens": (lambda text: (*tokenizer.encode(text), END), tokenizer.size),
    }
    results, nats = {}, {}
    for name, (symbols, size) in kinds.items():
        ngrams = NGrams([_concatenate(text, symbols)[0] for text in texts], size, ORDERS[name])
        on_dev = np.sum([_costs(ngrams, text, symbols).sum(axis=1) for text in dev], axis=0)  # [order]
        order = int(on_dev.argmin())
        nats[name] = _costs(ngrams, paragraphs, symbols)[order]
        length = sum(count_characters(text) for file in dev for text in file)
        results[name] = {"order": order + 1} | _bits(nats[name], model.characters)
        results[name]["dev"] = [round(bits_per_character(cost, length), 4) for cost in on_dev.tolist()]
    best = min(results, key=lambda name: results[name]["bits_per_character"])
    gained = _bits(nats[best] - model.nats, model.characters)
    return {"best": best, **results, "gain": gained}


def _costs(counted: NGrams, paragraphs: Sequence[str], symbols: ToSymbols) -> np.ndarray:
    """Returns the nats of each paragraph by the model of each order: [order, P]."""
    stream, lengths = _concatenate(paragraphs, symbols)
    return np.stack([sum_segments(-np.log(row), lengths) for row in counted.probabilities(stream)])


def _concatenate(paragraphs: Sequence[str], symbols: ToSymbols) -> tuple[np.ndarray, np.ndarray]:
    """Returns the symbols of a text, and their number per paragraph."""
    rows = [np.array(list(symbols(text))) for text in paragraphs]
    return np.concatenate(rows), np.array([len(row) for row in rows])


def _bits(nats: np.ndarray, counts: np.ndarray) -> dict[str, Any]:
    """Returns bits per character of paragraphs [P], and the middle 95% of samples; None for one paragraph."""
    mean, low, high = (round(float(each), 4) for each in intervals(nats / np.log(2), counts))
    return {"bits_per_character": mean, "interval": [low, high] if len(nats) > 1 else None}
