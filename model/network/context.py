"""The context of a forward call (edits, probe, cache), and the teacher-forced pass that every caller uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ..config import PAD, START, ModelConfig
from ..edits.apply import NO_EDITS, BatchEdits, Donor, SiteEdits
from ..trace import Probe, Site, Stack, Sublayer
from . import masks


class Network(Protocol):
    """The methods of a model that a teacher-forced pass calls."""

    config: ModelConfig

    def states(self, source: Tensor | None, target: Tensor | None, masks: masks.Masks, context: Pass) -> Tensor:
        """Returns hidden states for ids; see `model.network.transformer`."""

    def encode(self, source: Tensor, mask: Tensor, context: Pass) -> Tensor:
        """Returns the encoder's output, which cross-attention reads."""

    def decode(self, target: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor, context: Pass) -> Tensor:
        """Returns hidden states for decoder inputs."""


@dataclass
class KeyValues:
    """Cached keys and values [B,H,S,K] of one attention layer; empty at first."""

    key: Tensor | None = None
    value: Tensor | None = None
    positions: Tensor | None = None  # of the keys, [S] or [B,S]

    def append(self, key: Tensor, value: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Appends keys and values. Returns all so far, and the positions of the keys."""
        if self.key is not None:
            key, value = torch.cat((self.key, key), dim=2), torch.cat((self.value, value), dim=2)  # [B,H,S,K]
            positions = join_positions(self.positions, positions)  # [S] or [B,S]
        self.key, self.value, self.positions = key, value, positions
        return key, value, positions

    def select(self, rows: Tensor) -> None:
        """Keeps these rows of the batch, in this order; a row may occur twice."""
        if self.key is not None:
            self.key, self.value = self.key[rows], self.value[rows]
            self.positions = select_positions(self.positions, rows)


def join_positions(first: Tensor, second: Tensor) -> Tensor:
    """Joins positions [S] or [B,S] and [T] or [B,T]: [S+T], or [B,S+T] where rows differ."""
    rows = torch.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    return torch.cat([each.expand(*rows, -1) for each in (first, second)], dim=-1)


def select_positions(positions: Tensor, rows: Tensor | list[int]) -> Tensor:
    """Returns the positions [B,S] of some rows; positions [S] that all rows share stay as they are."""
    return positions if positions.dim() == 1 else positions[rows]


class Cache:
    """Keys and values of the decoder's attention layers between the steps of decoding."""

    def __init__(self) -> None:
        self._sites: dict[Site, KeyValues] = {}

    def __getitem__(self, site: Site) -> KeyValues:
        return self._sites.setdefault(site, KeyValues())

    def select(self, rows: Tensor) -> None:
        """Keeps these rows of the batch, in this order; a row may occur twice."""
        for entry in self._sites.values():
            entry.select(rows)


@dataclass(frozen=True)
class Pass:
    """The context of one forward call.

    edits: applied at each site; probe: records the call; cache: keys and values of earlier steps; start: position of the
    first query; donor_probe: recorded pass of the other sentence, which patches read. With a cache, the decoder gets only
    the tokens after the cached positions.
    """

    edits: BatchEdits = NO_EDITS
    probe: Probe | None = None
    cache: Cache | None = None
    start: int = 0
    donor_probe: Probe | None = None

    def site_edits(self, site: Site) -> SiteEdits:
        """Returns the edits of a site."""
        return SiteEdits(self.edits, site, self.start, self.donor_probe)

    def site_mask(self, site: Site, mask: Tensor, q: Tensor) -> Tensor:
        """Returns a site's mask [B,1,1|T,S] for queries q [B,H,T,K] without the blocked cells: [B,1|H,1|T,S]."""
        return masks.site_mask(mask, self.edits.mask_edits(site), (q.size(0), q.size(1), q.size(2)), self.start)

    def key_values(self, site: Site) -> KeyValues | None:
        """Returns the cached keys and values of a site; None without a cache."""
        return None if self.cache is None else self.cache[site]

    def positions(self, side: str, ids: Tensor) -> tuple[Tensor, Tensor | None]:
        """Returns positions of ids [B,T], and factors of the position vectors; see `BatchEdits.positions`."""
        return self.edits.positions(side, ids, self.start)

    def sublayer_factors(self, place: Sublayer, x: Tensor) -> Tensor | None:
        """Returns factors [B,1,1], 0 for rows that skip a sub-layer; None if no row does."""
        return self.edits.sublayer_factors(*place, x)

    def patch_stream(self, stack: Stack, layers: int, x: Tensor) -> Tensor:
        """Returns the residual stream [B,T,D] after `layers` layers, with the patches from the other sentence."""
        return self.edits.patch_stream(stack, layers, x, self.start, self.donor_probe)

    def record(self, site: Site, mask: Tensor, position_bias: Tensor | None = None, **tensors: Tensor) -> None:
        """Records a site's tensors in the probe, if there is one.

        The mask is recorded as [B,T,S], or [B,H,T,S] where heads differ; a position bias as [B,H,T,S].
        """
        if self.probe is not None:
            rows, heads, queries, keys = tensors["scores"].shape
            if position_bias is not None:
                tensors["position_bias"] = position_bias.expand(rows, heads, queries, keys)  # [B,H,T,S]
            mask = mask.expand(rows, -1, queries, keys)  # [B,1|H,T,S]
            self.probe.record(site, mask=mask[:, 0] if mask.size(1) == 1 else mask, **tensors)

    def record_stream(self, place: Sublayer, before: Tensor, after: Tensor) -> None:
        """Records the residual stream before and after a sub-layer in the probe, if there is one."""
        if self.probe is not None:
            self.probe.record_stream(place, before, after)

    def record_memory(self, memory: Tensor) -> None:
        """Records the encoder's output in the probe, if there is one."""
        if self.probe is not None:
            self.probe.record_memory(memory)


EMPTY_PASS = Pass()


class DonorRun:
    """The unedited run of the other sentence, from which patches are read.

    The encoder reads the other source; the decoder reads the target tokens of the patched run.
    """

    def __init__(self, model: Network, donor: Donor, device: torch.device, use_cache: bool = False) -> None:
        self.model, self.encoder_probe = model, Probe("full")
        ids = torch.tensor([donor.ids], device=device)  # [1,S]
        self.memory = model.encode(ids, masks.encoder_mask(model.config, ids), Pass(probe=self.encoder_probe))  # [1,S,D]
        self.source_mask = masks.cross_mask(ids)  # [1,1,1,S]
        self.cache = Cache() if use_cache else None

    def run_decoder(self, target: Tensor, start: int = 0) -> Probe:
        """Returns the records of both stacks for decoder inputs [B,T] from position `start` on.

        With a cache, the positions before `start` are cached already.
        """
        probe, fresh = Probe("full"), target[:, start:]
        probe.records, probe.streams = dict(self.encoder_probe.records), dict(self.encoder_probe.streams)
        own = masks.decoder_mask(self.model.config, target, queries=fresh.size(1))
        memory = self.memory.expand(len(target), -1, -1)  # [B,S,D]
        self.model.decode(fresh, memory, own, self.source_mask, Pass(probe=probe, cache=self.cache, start=start))
        return probe

    def select(self, rows: Tensor) -> None:
        """Keeps these rows of the batch, in this order; a row may occur twice."""
        if self.cache is not None:
            self.cache.select(rows)


def donor_records(model: Network, edits: BatchEdits, inputs: Tensor | None, device: torch.device) -> Probe | None:
    """Returns the donor's records for decoder inputs [B,T], with one row if all inputs are equal; None without patches."""
    if edits.donor is None:
        return None
    donor_run = DonorRun(model, edits.donor, device)
    if inputs is None or "target" not in edits.patched_sides:
        return donor_run.encoder_probe
    return donor_run.run_decoder(inputs[:1] if (inputs == inputs[:1]).all() else inputs)


def shift_right(outputs: Tensor) -> Tensor:
    """Returns the decoder inputs for output ids [B,T]: `<s>` and all ids but the last; `<pad>` stays `<pad>`."""
    start = torch.full_like(outputs[:, :1], START)
    return torch.cat((start, outputs[:, :-1]), dim=1).masked_fill(outputs == PAD, PAD)  # [B,T]


def teacher_forced_states(
    model: Network,
    source: Tensor | None,
    outputs: Tensor | None,
    context: Pass = EMPTY_PASS,
    mask_source: Tensor | None = None,
) -> Tensor:
    """Returns the hidden states of a teacher-forced pass, [B,T,D], without a decoder [B,S,D], for `model.project`.

    source: ids [B,S]; outputs: predicted ids [B,T]; None for a side that the model lacks. Masks follow the config and the
    edits of `context`, for the source, or for `mask_source` [B,S] instead.
    """
    inputs = None if outputs is None else shift_right(outputs)
    pass_masks = masks.build(model.config, source if mask_source is None else mask_source, inputs, context.edits.rows)
    if context.edits.donor is not None:
        context = Pass(
            context.edits,
            context.probe,
            context.cache,
            context.start,
            donor_records(model, context.edits, inputs, source.device),
        )
    return model.states(source, inputs, pass_masks, context)
