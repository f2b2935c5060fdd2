"""Tests the masks of a checkpoint: changes what must not be seen, and reports every residual stream that moves.

`model.experiments.foreign_leaks` tests a model of any framework.
"""

from __future__ import annotations

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..config import CONTROL_TOKENS, PAD, START
from ..inference.request import PAD_WHEN_UNMASKED, Request
from ..inference.source_reading import build_edits
from ..trace import Site
from .effects import tokens_of
from .leak_passes import other_token, shift_by_batch, shift_by_cache, shift_by_later, shift_by_padding
from .leak_report import LeakReport

SHORTEST, SUBSTITUTE_LENGTH = 4, 8  # a target shorter than the first is replaced by as many other tokens as the second
NO_CACHE = "without a causal mask every step changes the earlier states, so decoding computes the full text again"


@torch.inference_mode()
def leak_test(checkpoint: Checkpoint, request: Request, batch_and_cache: bool = True) -> LeakReport:
    """Changes each decoder input in turn, then the tokens at padded source positions, under the edits of the request.

    With a causal mask, no position before the changed one may move at any layer. With a padding mask, nothing may move.
    Arrays are empty for padding without an encoder, and for later tokens without a decoder.

    Then it reads the sentence in a batch with a longer one, so that source and target are padded. This must change nothing.
    Last, it compares the steps of decoding with a key-value cache with one full pass over the same tokens.

    Args:
        checkpoint: the model, as `load` returns it.
        request: its source, target and edits.
        batch_and_cache: measures the batch and the cache too. The test of a short sentence then takes about 0.1 s longer.

    Raises ValueError for a model that is not deterministic, such as one in training mode with dropout.
    """
    source, target = tokens_of(checkpoint, request)
    request.intervention.check(checkpoint.config, len(source or ()), bool(checkpoint.mean_z))
    edits = build_edits(checkpoint, source, [request.intervention])
    made_up = target is not None and len(target) < SHORTEST
    if made_up:
        target = [other_token(len(CONTROL_TOKENS) + 40 * n, checkpoint) for n in range(SUBSTITUTE_LENGTH)]
    plain = [i for i in source or () if i != PAD]
    pads = (len(source) - len(plain) or PAD_WHEN_UNMASKED) if source is not None else 0
    padding: dict[str, np.ndarray] = {}
    looks: dict[Site, np.ndarray] = {}
    noise = 0.0
    later = np.zeros((0, 0, 0), np.float32)
    if source is not None:
        padding, looks, noise = shift_by_padding(checkpoint, plain, pads, target, edits)
    if target is not None:
        later, decoder_weights, noise_of_later = shift_by_later(checkpoint, source, target, edits)
        looks |= decoder_weights
        noise = max(noise, noise_of_later)
    batch: dict[str, np.ndarray] = {}
    cache: dict[str, np.ndarray] = {}
    batch_pads, rounding = (0, 0), 0.0
    if batch_and_cache:
        batch, batch_weights, batch_pads, rounding = shift_by_batch(
            checkpoint, None if source is None else plain, target, edits
        )
        looks |= {site: np.maximum(weights, looks.get(site, 0)) for site, weights in batch_weights.items()}
    if batch_and_cache and target is not None:
        cache = shift_by_cache(checkpoint, source, target, edits)
    return LeakReport(
        () if target is None else checkpoint.target_tokenizer.pieces([START, *target[:-1]]),
        checkpoint.source_tokenizer.pieces(plain),
        later,
        padding.get("encoder", np.zeros((0, len(plain)), np.float32)),
        padding.get("decoder", np.zeros((0, len(target or ())), np.float32)),
        pads,
        made_up,
        looks,
        noise,
        shift_by_batch=batch,
        batch_pads=batch_pads,
        shift_by_cache=cache,
        no_cache=NO_CACHE if batch_and_cache and target is not None and not cache else "",
        rounding=rounding,
    )
