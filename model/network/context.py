"""What a forward call carries beside the formula's own arguments, and the one recipe of a teacher-forced pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from ..config import PAD, START, ModelConfig
from ..edits.apply import NO_EDITS, Donor, Edits, SiteEdits
from ..trace import Probe, Site, Stack, Sublayer
from . import masks


class Network(Protocol):
    """What the recipe needs of a model of any family."""

    config: ModelConfig

    def states(self, source: Tensor | None, target: Tensor | None, masks: masks.Masks, at: Pass) -> Tensor:
        """Ids to hidden states; see `model.network.transformer`."""

    def encode(self, source: Tensor, mask: Tensor, at: Pass) -> Tensor:
        """Source ids to what cross-attention reads."""

    def decode(self, target: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor, at: Pass) -> Tensor:
        """Decoder inputs to hidden states."""


@dataclass
class KeyValues:
    """Keys and values [B,H,S,K] that one attention layer has seen; empty at first."""

    key: Tensor | None = None
    value: Tensor | None = None
    positions: Tensor | None = None  # of the keys, [S] or [B,S]

    def append(self, key: Tensor, value: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns all keys and values so far, these last, and the positions of the keys."""
        if self.key is not None:
            key, value = torch.cat((self.key, key), dim=2), torch.cat((self.value, value), dim=2)  # [B,H,S,K]
            positions = join_positions(self.positions, positions)  # [S] or [B,S]
        self.key, self.value, self.positions = key, value, positions
        return key, value, positions

    def select(self, rows: Tensor) -> None:
        """Keeps some rows of the batch, in the order given; a row may come twice."""
        if self.key is not None:
            self.key, self.value = self.key[rows], self.value[rows]
            self.positions = select_positions(self.positions, rows)


def join_positions(first: Tensor, second: Tensor) -> Tensor:
    """Joins positions [S] or [B,S] and [T] or [B,T]: [S+T], or [B,S+T] where rows differ."""
    rows = torch.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    return torch.cat([each.expand(*rows, -1) for each in (first, second)], dim=-1)


def select_positions(positions: Tensor, rows: Tensor | list[int]) -> Tensor:
    """Keeps the positions [B,S] of some rows; those that all rows share, [S], stay."""
    return positions if positions.dim() == 1 else positions[rows]


class Cache:
    """What the decoder's attention layers keep between the steps of decoding."""

    def __init__(self) -> None:
        self._sites: dict[Site, KeyValues] = {}

    def __getitem__(self, site: Site) -> KeyValues:
        return self._sites.setdefault(site, KeyValues())

    def select(self, rows: Tensor) -> None:
        """Keeps some rows of the batch, in the order given; a row may come twice."""
        for entry in self._sites.values():
            entry.select(rows)


@dataclass(frozen=True)
class Pass:
    """The edits of a forward call, the probe that records it, its key-value cache, the position of its first query, and what
    the other sentence's pass has recorded, where edits take from it.

    With a cache, the decoder is given only what came after the positions that the cache has seen.
    """

    edits: Edits = NO_EDITS
    probe: Probe | None = None
    cache: Cache | None = None
    start: int = 0
    given: Probe | None = None

    def at(self, site: Site) -> SiteEdits:
        """The edits as a site applies them."""
        return SiteEdits(self.edits, site, self.start, self.given)

    def mask(self, site: Site, mask: Tensor, q: Tensor) -> Tensor:
        """The mask of a site [B,1,1|T,S] for queries q [B,H,T,K], without what is blocked there: [B,1|H,1|T,S]."""
        return masks.at_site(mask, self.edits.blocked(site), (q.size(0), q.size(1), q.size(2)), self.start)

    def key_values(self, site: Site) -> KeyValues | None:
        """What a site has kept, or None without a cache."""
        return None if self.cache is None else self.cache[site]

    def positions(self, side: str, ids: Tensor) -> tuple[Tensor, Tensor | None]:
        """Positions of ids [B,T], and factors for what is added to the embeddings; see `Edits.positions`."""
        return self.edits.positions(side, ids, self.start)

    def kept(self, place: Sublayer, x: Tensor) -> Tensor | None:
        """Factors [B,1,1], 0 for rows that skip a sub-layer, or None where none does."""
        return self.edits.keep(*place, x)

    def patched(self, stack: Stack, layers: int, x: Tensor) -> Tensor:
        """The residual stream [B,T,D] after so many layers, with what is put in of the other sentence's."""
        return self.edits.patch_stream(stack, layers, x, self.start, self.given)

    def record(self, site: Site, mask: Tensor, position_bias: Tensor | None = None, **tensors: Tensor) -> None:
        """Hands a site's tensors to the probe, if there is one; the mask as [B,T,S], or [B,H,T,S] where heads differ. A
        bias of the scores comes as [B,H,T,S], none where the scheme of positions has none."""
        if self.probe is not None:
            rows, heads, queries, keys = tensors["scores"].shape
            if position_bias is not None:
                tensors["position_bias"] = position_bias.expand(rows, heads, queries, keys)  # [B,H,T,S]
            whole = mask.expand(rows, -1, queries, keys)  # [B,1|H,T,S]
            self.probe.record(site, mask=whole[:, 0] if whole.size(1) == 1 else whole, **tensors)

    def record_stream(self, place: Sublayer, before: Tensor, after: Tensor) -> None:
        """Hands the residual stream on both sides of a sub-layer to the probe, if there is one."""
        if self.probe is not None:
            self.probe.record_stream(place, before, after)

    def record_memory(self, memory: Tensor) -> None:
        """Hands what the encoder made of the source to the probe, if there is one."""
        if self.probe is not None:
            self.probe.record_memory(memory)


PLAIN = Pass()


class Beside:
    """The other sentence's own run, beside one that takes from it: unedited, over its own source, and in the decoder over
    the very target tokens that the patched run reads."""

    def __init__(self, model: Network, donor: Donor, device: torch.device, use_cache: bool = False) -> None:
        self.model, self.encoder = model, Probe("full")
        ids = torch.tensor([donor.ids], device=device)  # [1,S]
        self.memory = model.encode(ids, masks.encoder_mask(model.config, ids), Pass(probe=self.encoder))  # [1,S,D]
        self.mask = masks.cross_mask(ids)  # [1,1,1,S]
        self.cache = Cache() if use_cache else None

    def read(self, target: Tensor, start: int = 0) -> Probe:
        """What both stacks record, the decoder of its inputs [B,T] from position `start` on; with a cache, those before it
        have been read."""
        probe, fresh = Probe("full"), target[:, start:]
        probe.records, probe.streams = dict(self.encoder.records), dict(self.encoder.streams)
        own = masks.decoder_mask(self.model.config, target, queries=fresh.size(1))
        memory = self.memory.expand(len(target), -1, -1)  # [B,S,D]
        self.model.decode(fresh, memory, own, self.mask, Pass(probe=probe, cache=self.cache, start=start))
        return probe

    def select(self, rows: Tensor) -> None:
        """Keeps some rows of the batch, in the order given; a row may come twice."""
        if self.cache is not None:
            self.cache.select(rows)


def given(model: Network, edits: Edits, inputs: Tensor | None, device: torch.device) -> Probe | None:
    """What a pass over decoder inputs [B,T] takes its patches from: one row where all inputs are equal; None without any."""
    if edits.donor is None:
        return None
    beside = Beside(model, edits.donor, device)
    if inputs is None or "target" not in edits.sides:
        return beside.encoder
    return beside.read(inputs[:1] if (inputs == inputs[:1]).all() else inputs)


def shifted(outputs: Tensor) -> Tensor:
    """What the decoder reads in order to predict ids [B,T]: `<s>` and all but the last; `<pad>` where there is padding."""
    start = torch.full_like(outputs[:, :1], START)
    return torch.cat((start, outputs[:, :-1]), dim=1).masked_fill(outputs == PAD, PAD)  # [B,T]


def forced(
    model: Network, source: Tensor | None, outputs: Tensor | None, at: Pass = PLAIN, masked_by: Tensor | None = None
) -> Tensor:
    """The teacher-forced pass: hidden states for `model.project`, [B,T,D], without a decoder [B,S,D].

    source ids [B,S] and the ids that are predicted, [B,T]; None for a side that the model does not have. Masks are those of
    the model's own config under the edits of `at`, made from the source, or from `masked_by` [B,S] instead.
    """
    inputs = None if outputs is None else shifted(outputs)
    seen = masks.build(model.config, source if masked_by is None else masked_by, inputs, at.edits.rows)
    if at.edits.donor is not None:
        at = replace(at, given=given(model, at.edits, inputs, source.device))
    return model.states(source, inputs, seen, at)
