"""A language model held against counting: bits a character of both on the same text, with intervals over its paragraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from model.checkpoint import Checkpoint
from model.config import END, MAX_TOKENS
from model.experiments.sweep import RESAMPLES, SEED, intervals
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.windows import characters
from model.workshop.evaluation.count_baselines import NGrams
from model.workshop.evaluation.text_scoring import (
    STRIDE,
    Scored,
    bits_per_character,
    score,
    summed,
)

LINE_END = b"\n"
Symbols = Callable[[str], Sequence[int]]  # of a paragraph, its end among them
ORDERS = {"bytes": 10, "tokens": 6}  # the highest order of each kind that is tried


def measure(
    checkpoint: Checkpoint,
    paragraphs: Sequence[str],
    stride: int = STRIDE,
    progress: Callable[[int], object] = lambda done: None,
) -> tuple[dict[str, Any], Scored]:
    """What a checkpoint's model makes of a text: the numbers that are told, and the costs behind them."""
    found = score(checkpoint.model, checkpoint.target_tokenizer, paragraphs, stride, progress)
    told = {
        "paragraphs": len(paragraphs),
        "tokens": int(found.tokens.sum()),
        "characters": int(found.characters.sum()),
        "nats_per_token": round(float(found.nats.sum() / found.tokens.sum()), 4),
        **_bits(found.nats, found.characters),
        "stride": stride,
        "context": MAX_TOKENS - stride,
        "resamples": RESAMPLES,
        "seed": SEED,
    }
    return told, found


def baseline(
    tokenizer: Tokenizer,
    texts: Sequence[Sequence[str]],
    dev: Sequence[Sequence[str]],
    paragraphs: Sequence[str],
    model: Scored,
) -> dict[str, Any]:
    """n-gram models of bytes and of tokens, counted in `texts`, on the same text: of each kind the order that foretells
    `dev` best, and what `model` spends less than the better of them, in bits a character."""
    kinds: dict[str, tuple[Symbols, int]] = {
        "bytes": (lambda text: text.encode() + LINE_END, 256),
        "tokens": (lambda text: (*tokenizer.encode(text), END), tokenizer.size),
    }
    found, nats = {}, {}
    for name, (symbols, size) in kinds.items():
        counted = NGrams([_stream(text, symbols)[0] for text in texts], size, ORDERS[name])
        on_dev = np.sum([_costs(counted, text, symbols).sum(axis=1) for text in dev], axis=0)  # [order]
        order = int(on_dev.argmin())
        nats[name] = _costs(counted, paragraphs, symbols)[order]
        length = sum(characters(text) for file in dev for text in file)
        found[name] = {"order": order + 1} | _bits(nats[name], model.characters)
        found[name]["dev"] = [round(bits_per_character(cost, length), 4) for cost in on_dev.tolist()]
    best = min(found, key=lambda name: found[name]["bits_per_character"])
    gained = _bits(nats[best] - model.nats, model.characters)
    return {"best": best, **found, "gain": gained}


def _costs(counted: NGrams, paragraphs: Sequence[str], symbols: Symbols) -> np.ndarray:
    """Nats of each paragraph by the model of each order: [order, P]."""
    stream, lengths = _stream(paragraphs, symbols)
    return np.stack([summed(-np.log(row), lengths) for row in counted.probabilities(stream)])


def _stream(paragraphs: Sequence[str], symbols: Symbols) -> tuple[np.ndarray, np.ndarray]:
    """The symbols of a text, and how many each paragraph has."""
    rows = [np.array(list(symbols(text))) for text in paragraphs]
    return np.concatenate(rows), np.array([len(row) for row in rows])


def _bits(nats: np.ndarray, counts: np.ndarray) -> dict[str, Any]:
    """Bits a character of paragraphs [P], and the middle 95% of samples of them; None for one alone."""
    mean, low, high = (round(float(each), 4) for each in intervals(nats / np.log(2), counts))
    return {"bits_per_character": mean, "interval": [low, high] if len(nats) > 1 else None}
