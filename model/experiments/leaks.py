"""Is the mask right? What must not be seen is changed, and every residual stream that moves is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.config import CONTROL_TOKENS, PAD, START
from model.edits.apply import Edits
from model.experiments.effects import tokens_of
from model.inference.donors import edits_of
from model.inference.request import PAD_WHEN_UNMASKED, Request
from model.network.context import Pass, forced
from model.trace import Probe, Site

SHORTEST, MADE_UP = 4, 8  # a shorter target has hardly a later token to change: one of as many other tokens takes its place
LEAST = 1e-30  # of a stream's largest entry: it may be all zeros
MOVED = 1e-5  # of the largest entry of the stream: more than rounding
MARGIN = 10  # a leak is larger than the noise of repeated inputs by this factor
MAX_NOISE = 0.01  # of the largest entry: larger noise than this is dropout, and no rounding


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
    looks: dict[Site, np.ndarray] = field(default_factory=dict)  # [H]: the largest weight on what must not be seen
    noise: float = 0.0  # how far streams of the same input differ: 0 where the model is deterministic

    @property
    def threshold(self) -> float:
        """The share above which a stream counts as moved: above rounding, and above the noise of the model."""
        return max(MOVED, MARGIN * self.noise)

    def first_layer(self, changed: int, moved: int) -> int | None:
        """The first layer, from 0, at which a changed position moves another; None where it does at none."""
        layers = np.flatnonzero(self.later[:, changed, moved] > self.threshold)
        return int(layers[0]) if len(layers) else None

    @property
    def leaks(self) -> tuple[tuple[int, int, int], ...]:
        """Layer, changed position and moved position of every earlier position that a later token moves."""
        layers, changed, moved = np.nonzero(self.later > self.threshold)
        found = zip(layers.tolist(), changed.tolist(), moved.tolist(), strict=True)
        return tuple((layer, j, i) for layer, j, i in found if i < j)

    @property
    def heads(self) -> tuple[tuple[Site, int, float], ...]:
        """Where it leaks, the heads that let it through: site, head from 0, and the largest weight that it gives to a later
        token (in the decoder) or to padding (in the other two); the first layers first."""
        kinds = {"decoder"} if self.leaks else set()
        kinds |= {"encoder", "cross"} if self.padding_leaks else set()
        order = sorted((site for site in self.looks if site.kind in kinds), key=lambda site: (site.layer, site.kind))
        return tuple((site, n, float(w)) for site in order for n, w in enumerate(self.looks[site]) if w > 0)

    @property
    def padding_leaks(self) -> tuple[tuple[str, int, int], ...]:
        """Stack, layer and position that the content of padding moves."""
        both = (("encoder", self.padding_encoder), ("decoder", self.padding_decoder))
        return tuple((name, int(n), int(i)) for name, array in both for n, i in np.argwhere(array > self.threshold))


@torch.inference_mode()
def leak_test(checkpoint: Checkpoint, request: Request) -> LeakReport:
    """Changes each decoder input in turn, and then what stands at padded source positions, under the request's edits.

    With a causal mask nothing before a changed input may move at any layer; with a padding mask nothing at all. A model
    without an encoder has no padding to test, one without a decoder no later token: these arrays are empty.

    Raises ValueError for a model that is not deterministic, as one in training mode with dropout.
    """
    source, target = tokens_of(checkpoint, request)
    request.intervention.check(checkpoint.config, len(source or ()), bool(checkpoint.means))
    edits = edits_of(checkpoint, source, [request.intervention])
    made_up = target is not None and len(target) < SHORTEST
    if made_up:
        target = [_other(len(CONTROL_TOKENS) + 40 * n, checkpoint) for n in range(MADE_UP)]
    plain = [i for i in source or () if i != PAD]
    pads = (len(source) - len(plain) or PAD_WHEN_UNMASKED) if source is not None else 0
    padding, looks, noise = {}, {}, 0.0
    later = np.zeros((0, 0, 0), np.float32)
    if source is not None:
        padding, looks, noise = _moved_by_padding(checkpoint, plain, pads, target, edits)
    if target is not None:
        later, ahead, noise_of_later = _moved_by_later(checkpoint, source, target, edits)
        looks |= ahead
        noise = max(noise, noise_of_later)
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
    )


def _moved_by_later(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int], edits: Edits
) -> tuple[np.ndarray, dict[Site, np.ndarray], float]:
    """How far each decoder input that is changed moves every position: [layers,T changed,T moved], how much each head
    looks at later ones, and the noise. Rows 0 and 1 of the batch are the same input, row j + 1 has another token at input j;
    input 0 is `<s>`, and stays."""
    rows = [[*target[:j], _other(target[j], checkpoint), *target[j + 1 :]] for j in range(len(target) - 1)]
    outputs = torch.tensor([list(target), list(target), *rows], device=checkpoint.device)
    ids = None if source is None else torch.tensor([list(source)] * len(outputs), device=checkpoint.device)
    probe = _recorded(checkpoint, ids, ids, outputs, edits)
    streams = _streams(probe)["decoder"]
    later = moved(streams).astype(np.float32)  # [layers,T,T]
    noise = check_noise(later[:, 0])
    later[:, 0] = 0
    places = torch.arange(len(target), device=checkpoint.device)
    return later, _looks(probe, {"decoder": places > places[:, None]}), noise


def _moved_by_padding(
    checkpoint: Checkpoint, plain: list[int], pads: int, target: Sequence[int] | None, edits: Edits
) -> tuple[dict[str, np.ndarray], dict[Site, np.ndarray], float]:
    """How far what stands in the padding moves every position of each stack, [layers,S] and [layers,T], how much each
    head looks at it, and the noise. Rows 0 and 1 of the batch are the same input."""
    padded = torch.tensor([[*plain, *[PAD] * pads]] * 3, device=checkpoint.device)
    filled = padded.clone()  # in no row by `<pad>`: shuffled positions count what is no padding
    filled[:2, len(plain) :] = torch.tensor((plain * pads)[:pads])
    filled[2, len(plain) :] = torch.tensor([_other(i, checkpoint) for i in (plain * pads)[:pads]])
    targets = None if target is None else torch.tensor([list(target)] * 3, device=checkpoint.device)
    probe = _recorded(checkpoint, filled, padded, targets, edits)
    differences = {stack: moved(x) for stack, x in _streams(probe).items()}
    noise = max(check_noise(each[:, 0]) for each in differences.values())
    found = {stack: each[:, 1] for stack, each in differences.items()}
    padding = torch.arange(padded.size(1), device=checkpoint.device) >= len(plain)  # [S]
    looks = _looks(probe, {"encoder": padding & ~padding[:, None], "cross": padding[None]})
    return found | {"encoder": found["encoder"][:, : len(plain)]}, looks, noise


def check_noise(differences: np.ndarray) -> float:
    """The largest difference, as a share of the largest entry, between two results of one input.

    Raises ValueError where that is more than rounding can be: every comparison would then find a leak.
    """
    noise = float(differences.max())
    if noise > MAX_NOISE:
        raise ValueError(
            f"the model is not deterministic: two results of the same input differ by {noise:.0%} of the largest entry, "
            f"expected at most {MAX_NOISE:.0%}; switch dropout off, call model.eval() first"
        )
    return noise


def _other(token: int, checkpoint: Checkpoint) -> int:
    """Another token that is no control token."""
    first, size = len(CONTROL_TOKENS), min(checkpoint.config.source_vocab, checkpoint.config.target_vocab)
    return first + (token - first + 7) % (size - first)


def _recorded(
    checkpoint: Checkpoint,
    source: torch.Tensor | None,
    masked_by: torch.Tensor | None,
    outputs: torch.Tensor | None,
    edits: Edits,
) -> Probe:
    """A pass whose masks are of other ids."""
    probe = Probe("full")
    forced(checkpoint.model, source, outputs, Pass(edits, probe), masked_by)
    return probe


def _looks(probe: Probe, forbidden: dict[str, torch.Tensor]) -> dict[Site, np.ndarray]:
    """The largest weight [H] that each head of a kind of site gives to a forbidden cell [T,S], where its z is used."""
    found = {}
    for site, record in probe.records.items():
        if site.kind in forbidden:
            used = (record["z"][0] != 0).any(-1, keepdim=True)  # [H,T,1]
            weight = record["pattern"][0] * (used & forbidden[site.kind])  # [H,T,S]
            found[site] = weight.amax((1, 2)).float().cpu().numpy()
    return found


def _streams(probe: Probe) -> dict[str, np.ndarray]:
    """The residual stream after every layer of each stack, [layers,B,T,D]."""
    last = {place: streams.after for place, streams in probe.streams.items() if place.part == "ff"}
    stacks = dict.fromkeys(place.stack for place in last)
    found = {stack: torch.stack([last[place] for place in sorted(last) if place.stack == stack]).cpu() for stack in stacks}
    return {stack: (x if x.dtype == torch.float64 else x.float()).numpy() for stack, x in found.items()}  # no bfloat16 there


def moved(streams: np.ndarray) -> np.ndarray:
    """How far every row of the batch but the first is from the first, as a share: [layers,B-1,T]."""
    scale = np.abs(streams[:, :1]).max(axis=(2, 3), keepdims=True)
    return (np.abs(streams[:, 1:] - streams[:, :1]) / np.maximum(scale, LEAST)).max(axis=-1)
