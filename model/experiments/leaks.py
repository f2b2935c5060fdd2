"""Is the mask right? What must not be seen is changed, and every residual stream that moves is told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.config import CONTROL_TOKENS, PAD, START
from model.edits.apply import Edits
from model.experiments.effects import tokens_of
from model.inference.request import PAD_WHEN_UNMASKED, Request
from model.network import masks
from model.trace import Probe, Site

SHORTEST, MADE_UP = 4, 8  # a shorter target has hardly a later token to change: one of as many other tokens takes its place
MOVED = 1e-5  # of the largest entry of the stream: more than rounding


@dataclass(frozen=True)
class LeakReport:
    """How far residual streams move, as shares of their largest entry, when something is changed that they must not see."""

    labels: tuple[str, ...]  # the decoder's inputs, `<s>` first
    source: tuple[str, ...]  # the source's tokens without padding
    later: np.ndarray  # [decoder layers, T changed, T moved]
    padding_encoder: np.ndarray  # [encoder layers, S]
    padding_decoder: np.ndarray  # [decoder layers, T]
    pads: int
    made_up: bool = False  # the decoder's inputs: the translation was too short to tell anything

    def first_layer(self, changed: int, moved: int) -> int | None:
        """The first layer, from 0, at which a changed position moves another; None where it does at none."""
        layers = np.flatnonzero(self.later[:, changed, moved] > MOVED)
        return int(layers[0]) if len(layers) else None

    @property
    def leaks(self) -> tuple[tuple[int, int, int], ...]:
        """Layer, changed position and moved position of every earlier position that a later token moves."""
        layers, changed, moved = np.nonzero(self.later > MOVED)
        found = zip(layers.tolist(), changed.tolist(), moved.tolist(), strict=True)
        return tuple((layer, j, i) for layer, j, i in found if i < j)

    @property
    def padding_leaks(self) -> tuple[tuple[str, int, int], ...]:
        """Stack, layer and position that the content of padding moves."""
        both = (("encoder", self.padding_encoder), ("decoder", self.padding_decoder))
        return tuple((name, int(n), int(i)) for name, array in both for n, i in np.argwhere(array > MOVED))


@torch.inference_mode()
def leak_test(checkpoint: Checkpoint, request: Request) -> LeakReport:
    """Changes each decoder input in turn, and then what stands at padded source positions, under the request's edits.

    With a causal mask nothing before a changed input may move at any layer; with a padding mask nothing at all.
    """
    source, target = tokens_of(checkpoint, request)
    request.intervention.check(checkpoint.config, len(source), bool(checkpoint.means))
    edits = Edits([request.intervention], checkpoint.means)
    made_up = len(target) < SHORTEST
    if made_up:
        target = [_other(len(CONTROL_TOKENS) + 40 * n, checkpoint) for n in range(MADE_UP)]
    inputs = [START, *target[:-1]]
    rows = [inputs, *([*inputs[:j], _other(inputs[j], checkpoint), *inputs[j + 1 :]] for j in range(1, len(inputs)))]
    ids = torch.tensor([source] * len(rows), device=checkpoint.device)
    streams, _ = _streams(checkpoint, ids, ids, torch.tensor(rows, device=checkpoint.device), edits)
    later = np.zeros((len(streams), len(inputs), len(inputs)), np.float32)
    later[:, 1:] = _moved(streams)

    pads = request.pad or PAD_WHEN_UNMASKED
    plain = [i for i in source if i != PAD]
    padded = torch.tensor([[*plain, *[PAD] * pads]] * 2, device=checkpoint.device)
    filled = padded.clone()  # in neither row by `<pad>`: shuffled positions count what is no padding
    filled[0, len(plain) :] = torch.tensor((plain * pads)[:pads])
    filled[1, len(plain) :] = torch.tensor([_other(i, checkpoint) for i in (plain * pads)[:pads]])
    twice = torch.tensor([inputs] * 2, device=checkpoint.device)
    decoder, encoder = _streams(checkpoint, filled, padded, twice, edits)
    return LeakReport(
        checkpoint.target_tokenizer.pieces(inputs),
        checkpoint.source_tokenizer.pieces(plain),
        later,
        _moved(encoder)[:, 0, : len(plain)],
        _moved(decoder)[:, 0],
        pads,
        made_up,
    )


def _other(token: int, checkpoint: Checkpoint) -> int:
    """Another token that is no control token."""
    first, size = len(CONTROL_TOKENS), min(checkpoint.config.source_vocab, checkpoint.config.target_vocab)
    return first + (token - first + 7) % (size - first)


def _streams(
    checkpoint: Checkpoint, source: torch.Tensor, masked_by: torch.Tensor, inputs: torch.Tensor, edits: Edits
) -> tuple[np.ndarray, np.ndarray]:
    """The residual stream after every layer of the decoder and of the encoder, [layers,B,T,D]; masks are of other ids."""
    probe = Probe("full")
    seen = masks.build(masked_by, inputs, checkpoint.config.window, edits.rows, checkpoint.config.causal)
    checkpoint.model(source, inputs, seen, probe, edits)
    decoder = [probe.records[Site("cross", n)]["residual_out"] for n in range(checkpoint.config.decoder_layers)]
    encoder = [probe.records[Site("encoder", n)]["residual_out"] for n in range(checkpoint.config.encoder_layers)]
    return torch.stack(decoder).cpu().numpy(), torch.stack(encoder).cpu().numpy()


def _moved(streams: np.ndarray) -> np.ndarray:
    """How far every row of the batch but the first is from the first, as a share: [layers,B-1,T]."""
    scale = np.abs(streams[:, :1]).max(axis=(2, 3), keepdims=True)
    return (np.abs(streams[:, 1:] - streams[:, :1]) / scale).max(axis=-1)
