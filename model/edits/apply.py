"""Edits as a forward pass applies them: the interventions of a batch, one for all rows or one a row.

The order is fixed: scale, mask, softmax, rows that may see nothing become zero, rows are written over, the pattern is
recorded, dropout, mix, heads are ablated, z of the other sentence is put in, z is recorded; its residual stream is put in
after a layer, and recorded as that layer's. Masks themselves are built in `masks.py`; what an edit does is said by its kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..trace import Probe, Site, Stack, Sublayer
from .intervention import BASELINE, Intervention
from .kinds import Edit


@dataclass(frozen=True)
class Donor:
    """The other sentence: its source ids, and for each position of the patched source the one there that it takes from, None
    where it has no partner."""

    ids: tuple[int, ...]
    partners: tuple[int | None, ...]

    def aligned(self, other: Tensor, axis: int, length: int) -> tuple[Tensor, Tensor]:
        """What was recorded of the other source, along an axis in the order of `length` positions of the patched one, and
        where it is known, bool [length]; positions beyond the partners are padding."""
        found = [*self.partners, *[None] * length][:length]
        at = torch.tensor([n or 0 for n in found], device=other.device)
        return other.index_select(axis, at), torch.tensor([n is not None for n in found], device=other.device)


class Edits:
    """What a batch does differently. Without edits every method gives back what it was given, bit for bit."""

    def __init__(
        self,
        rows: Sequence[Intervention] = (BASELINE,),
        means: Mapping[Site, Tensor] | None = None,
        donor: Donor | None = None,
    ) -> None:
        """`means` holds each site's mean z of every head, [H,K], where heads may be ablated by it; `donor` is the sentence
        that patches take from, one for all rows."""
        self.rows = tuple(rows)
        self.means = means or {}
        self.located = any(row.edits for row in self.rows)
        taking = [row for row in self.rows if row.takes]
        assert len({row.donor for row in taking}) < 2, "the rows of a batch take from one sentence"
        assert donor is not None or not taking, "a patch needs the ids of the sentence that it takes from"
        self.donor = donor if taking else None
        self.sides = {edit.takes for row in taking for edit in row.edits if edit.takes}  # where something is put in
        self.unscaled = not all(row.scaling for row in self.rows)

    @property
    def causal(self) -> bool:
        """True where no row has its causal mask off."""
        return all(row.causal_mask for row in self.rows)

    def touches(self, site: Site) -> bool:
        """True where an edit has something to do at a site."""
        hooks = ("change_mask", "change_pattern", "change_z")
        return self.unscaled or any(self._found(hook, site) for hook in hooks)

    def select(self, rows: Sequence[int]) -> Edits:
        """The edits of some rows of the batch."""
        return self if len(self.rows) == 1 else Edits([self.rows[row] for row in rows], self.means, self.donor)

    def _found(self, hook: str, where: tuple[Any, ...] | None) -> list[tuple[slice, Edit]]:
        """Every edit that has something to do in a hook at a place, with the rows of the batch that it belongs to."""
        if not self.located:
            return []
        rows = [slice(None)] if len(self.rows) == 1 else [slice(n, n + 1) for n in range(len(self.rows))]
        each = ((own, edit) for own, row in zip(rows, self.rows, strict=True) for edit in row.edits)
        return [(own, edit) for own, edit in each if hook in edit.hooks and edit.acts_at(*where)]

    def scale(self, scores: Tensor, width: int) -> Tensor:
        """Scores [B,H,T,S], divided by sqrt(`width`) already, times it where the scaling is off."""
        if not self.unscaled:
            return scores
        factors = scores.new_tensor([1.0 if row.scaling else math.sqrt(width) for row in self.rows])  # [1|B]
        return scores * factors[:, None, None, None]

    def blocked(self, site: Site | None) -> list[tuple[slice, Edit]]:
        """The edits of the mask at a site, for `masks.at_site`."""
        return self._found("change_mask", site)

    def overwrite(self, site: Site | None, pattern: Tensor, mask: Tensor, start: int) -> Tensor:
        """Writes over rows of the pattern [B,H,T,S], whose first row stands at position `start`.

        Raises EditError where the mask forbids the only key that a row shall look at.
        """
        found = self._found("change_pattern", site)
        if not found:
            return pattern
        pattern, visible = pattern.clone(), mask.expand_as(pattern)
        for own, edit in found:
            edit.change_pattern(pattern[own], visible[own], start)
        return pattern

    def ablate(self, site: Site | None, z: Tensor) -> Tensor:
        """Replaces what heads put out, z [B,H,T,K], by zeros or by their means."""
        found = self._found("change_z", site)
        if not found:
            return z
        z = z.clone()
        for own, edit in found:
            edit.change_z(z[own], self.means.get(site))
        return z

    def patch_z(self, site: Site | None, z: Tensor, start: int, given: Probe | None) -> Tensor:
        """Puts z of the other sentence, as `given` has it, into z [B,H,T,K], whose first query stands at `start`."""
        found = self._found("patch_z", site)
        if not found:
            return z
        other, has = self._other(site.of.queries == "source", _recorded(given).records[site]["z"], 2, z.size(2))
        z = z.clone()
        for own, edit in found:
            edit.patch_z(z[own], other if len(other) == 1 else other[own], has, start)
        return z

    def patch_stream(self, stack: Stack, layers: int, x: Tensor, start: int, given: Probe | None) -> Tensor:
        """Puts the other sentence's residual stream after so many layers into x [B,T,D], whose first row is at `start`."""
        found = self._found("patch_stream", (stack, layers))
        if not found:
            return x
        streams = _recorded(given).streams
        other = streams[Sublayer(stack, layers - 1, "ff")].after if layers else streams[Sublayer(stack, 0, "self")].before
        other, has = self._other(stack == "encoder", other, 1, x.size(1))
        x = x.clone()
        for own, edit in found:
            edit.patch_stream(x[own], other if len(other) == 1 else other[own], has, start)
        return x

    def _other(self, is_source: bool, recorded: Tensor, axis: int, length: int) -> tuple[Tensor, Tensor]:
        """What the other sentence has, position for position, and where it is known; both decoders read the same tokens."""
        if is_source:
            return self.donor.aligned(recorded, axis, length)
        return recorded, torch.ones(length, dtype=torch.bool, device=recorded.device)

    def keep(self, stack: str, layer: int, sublayer: str, x: Tensor) -> Tensor | None:
        """Factors [B,1,1] for what a sub-layer adds: 0 where it is skipped. None where it is skipped nowhere."""
        found = self._found("sublayer_factor", (stack, layer, sublayer))
        if not found:
            return None
        factors = x.new_ones(x.size(0), 1, 1)
        for own, edit in found:
            factors[own] *= edit.sublayer_factor()
        return factors

    def positions(self, side: str, ids: Tensor, start: int = 0) -> tuple[Tensor, Tensor | None]:
        """Positions of ids [B,T] that begin at `start`: [T], or [B,T] where edited; and factors [B,1,1] for what is added
        to the embeddings, 0 where positions are off."""
        plain = torch.arange(start, start + ids.size(1), device=ids.device)  # [T]
        found = self._found("change_positions", (side,))
        if not found:
            return plain, None
        edited, present = plain.repeat(ids.size(0), 1), torch.ones(ids.size(0), 1, 1, device=ids.device)
        for own, edit in found:
            edit.change_positions(edited[own], present[own], ids[own], start)
        return edited, present


def _recorded(given: Probe | None) -> Probe:
    assert given is not None, "a patch needs the pass of the other sentence"
    return given


NO_EDITS = Edits()


@dataclass(frozen=True)
class SiteEdits:
    """The edits of a batch as one site applies them; its first query stands at position `start`."""

    edits: Edits = NO_EDITS
    site: Site | None = None
    start: int = 0
    given: Probe | None = None  # what the other sentence's pass has recorded

    def scale(self, scores: Tensor, width: int) -> Tensor:
        return self.edits.scale(scores, width)

    def overwrite(self, pattern: Tensor, mask: Tensor) -> Tensor:
        return self.edits.overwrite(self.site, pattern, mask, self.start)

    def ablate(self, z: Tensor) -> Tensor:
        return self.edits.patch_z(self.site, self.edits.ablate(self.site, z), self.start, self.given)


UNEDITED = SiteEdits()
