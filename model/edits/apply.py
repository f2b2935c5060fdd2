"""Applies the edits of a batch in a forward pass: one intervention for all rows, or one per row.

The order is fixed: scale, mask, softmax, zero rows that see nothing, patch rows, record the pattern, dropout, mix, ablate
heads, patch z from the other sentence, record z. The residual stream of the other sentence is patched in after a layer, and
recorded as the output of that layer. `masks.py` builds masks; each kind of edit defines its own effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..trace import Probe, Site, Stack, Sublayer
from .intervention import BASELINE, Intervention
from .kinds import Edit, EditError

ActivationEdit = Callable[[Site | Sublayer, str, Tensor], Tensor | None]
"""Receives the place, the name and a copy of an activation without the batch axis; returns another one, or None.

At a `Site` the names are q [H,T,K], k and v [H,S,K], scores and pattern [H,T,S], and z [H,T,K]. At a `Sublayer` the name is
stream, the residual stream [T,D] after it.
"""


@dataclass(frozen=True)
class Donor:
    """The other sentence: its source ids, and the partner of each position of the patched source.

    A partner is a position of the other source, or None.
    """

    ids: tuple[int, ...]
    partners: tuple[int | None, ...]

    def align(self, other: Tensor, axis: int, length: int) -> tuple[Tensor, Tensor]:
        """Returns what was recorded of the other source in the order of the patched one, and where it is known.

        The first tensor has `length` positions along `axis`, the second is bool [length]. Positions beyond the partners are
        padding.
        """
        partners = [*self.partners, *[None] * length][:length]
        index = torch.tensor([n or 0 for n in partners], device=other.device)
        return other.index_select(axis, index), torch.tensor([n is not None for n in partners], device=other.device)


class BatchEdits:
    """The edits of a batch. Without edits every method returns its input, bit for bit."""

    def __init__(
        self,
        rows: Sequence[Intervention] = (BASELINE,),
        means: Mapping[Site, Tensor] | None = None,
        donor: Donor | None = None,
        callback: ActivationEdit | None = None,
    ) -> None:
        """Takes one intervention, or one per row.

        `means` holds each site's mean z, [H,K], for mean ablation. `donor` is the sentence that patches take from, one for
        all rows. `callback` may replace any activation, in a batch of one row.
        """
        self.callback = callback
        self.rows = tuple(rows)
        self.means = means or {}
        self.has_edits = any(row.edits for row in self.rows)
        patching_rows = [row for row in self.rows if row.has_patches]
        assert len({row.donor for row in patching_rows}) < 2, "the rows of a batch take from one sentence"
        assert donor is not None or not patching_rows, "a patch needs the ids of the sentence that it takes from"
        self.donor = donor if patching_rows else None
        self.patched_sides = {
            edit.donor_side for row in patching_rows for edit in row.edits if edit.donor_side
        }  # sides with patches
        self.has_unscaled_rows = not all(row.scaling for row in self.rows)

    @property
    def causal(self) -> bool:
        """Returns True where no row has its causal mask off."""
        return all(row.causal_mask for row in self.rows)

    def touches(self, site: Site) -> bool:
        """Returns True where an edit changes something at a site."""
        hooks = ("change_scores", "change_mask", "change_pattern", "change_z")
        return self.has_unscaled_rows or any(self._edits_at(hook, site) for hook in hooks)

    def select(self, rows: Sequence[int]) -> BatchEdits:
        """Returns the edits of some rows of the batch."""
        return self if len(self.rows) == 1 else BatchEdits([self.rows[row] for row in rows], self.means, self.donor)

    def transform(self, place: Site | Sublayer | None, name: str, activation: Tensor) -> Tensor:
        """Returns what the callback makes of an activation [1,...]; without a callback the activation itself.

        Raises EditError where the callback returns another shape.
        """
        if self.callback is None or place is None:
            return activation
        assert len(activation) == 1, "a callback edits one row"
        edited = self.callback(place, name, activation[0].clone())
        if edited is None:
            return activation
        if not isinstance(edited, Tensor) or edited.shape != activation.shape[1:]:
            found = tuple(edited.shape) if isinstance(edited, Tensor) else type(edited).__name__
            raise EditError(
                f"The edit of {name} returns {found}; expected a tensor of shape {tuple(activation.shape[1:])}, or None."
            )
        return edited.to(activation)[None]

    def _edits_at(self, hook: str, where: tuple[Any, ...] | None) -> list[tuple[slice, Edit]]:
        """Returns the edits with this hook at a place, each with its rows of the batch."""
        if not self.has_edits:
            return []
        rows = [slice(None)] if len(self.rows) == 1 else [slice(n, n + 1) for n in range(len(self.rows))]
        each = ((own, edit) for own, row in zip(rows, self.rows, strict=True) for edit in row.edits)
        return [(own, edit) for own, edit in each if hook in edit.hooks and edit.acts_at(*where)]

    def scale(self, site: Site | None, scores: Tensor, width: int) -> Tensor:
        """Returns scores [B,H,T,S], scaled by the edits of a site. Where the scaling is off, the division by sqrt(`width`)
        is undone.
        """
        if self.has_unscaled_rows:
            factors = scores.new_tensor([1.0 if row.scaling else math.sqrt(width) for row in self.rows])  # [1|B]
            scores = scores * factors[:, None, None, None]
        if edits := self._edits_at("change_scores", site):
            scores = scores.clone()
            for own, edit in edits:
                edit.change_scores(scores[own])
        return scores

    def mask_edits(self, site: Site | None) -> list[tuple[slice, Edit]]:
        """Returns the edits of the mask at a site, for `masks.site_mask`."""
        return self._edits_at("change_mask", site)

    def overwrite(self, site: Site | None, pattern: Tensor, mask: Tensor, start: int) -> Tensor:
        """Patches rows of the pattern [B,H,T,S], whose first row is at position `start`.

        Raises EditError where the mask forbids the only key of a row.
        """
        edits = self._edits_at("change_pattern", site)
        if not edits:
            return pattern
        pattern, visible = pattern.clone(), mask.expand_as(pattern)
        for own, edit in edits:
            edit.change_pattern(pattern[own], visible[own], start)
        return pattern

    def ablate(self, site: Site | None, z: Tensor) -> Tensor:
        """Replaces the output of heads, z [B,H,T,K], by zeros or by their means."""
        edits = self._edits_at("change_z", site)
        if not edits:
            return z
        z = z.clone()
        for own, edit in edits:
            edit.change_z(z[own], self.means.get(site))
        return z

    def patch_z(self, site: Site | None, z: Tensor, start: int, donor_probe: Probe | None) -> Tensor:
        """Patches z [B,H,T,K], whose first query is at `start`, with z of the other sentence from `donor_probe`."""
        edits = self._edits_at("patch_z", site)
        if not edits:
            return z
        other, is_known = self._donor_values(
            site.spec.query_side == "source", _require_probe(donor_probe).records[site]["z"], 2, z.size(2)
        )
        z = z.clone()
        for own, edit in edits:
            edit.patch_z(z[own], other if len(other) == 1 else other[own], is_known, start)
        return z

    def patch_stream(self, stack: Stack, layers: int, x: Tensor, start: int, donor_probe: Probe | None) -> Tensor:
        """Patches x [B,T,D], whose first row is at `start`, with the other sentence's residual stream after `layers`
        layers.
        """
        edits = self._edits_at("patch_stream", (stack, layers))
        if not edits:
            return x
        streams = _require_probe(donor_probe).streams
        other = streams[Sublayer(stack, layers - 1, "ff")].after if layers else streams[Sublayer(stack, 0, "self")].before
        other, is_known = self._donor_values(stack == "encoder", other, 1, x.size(1))
        x = x.clone()
        for own, edit in edits:
            edit.patch_stream(x[own], other if len(other) == 1 else other[own], is_known, start)
        return x

    def _donor_values(self, is_source: bool, recorded: Tensor, axis: int, length: int) -> tuple[Tensor, Tensor]:
        """Returns the other sentence's values by position, and where they are known; both decoders read the same tokens."""
        if is_source:
            return self.donor.align(recorded, axis, length)
        return recorded, torch.ones(length, dtype=torch.bool, device=recorded.device)

    def sublayer_factors(self, stack: str, layer: int, sublayer: str, x: Tensor) -> Tensor | None:
        """Returns factors [B,1,1] of a sub-layer's output, 0 where it is skipped; None where no row skips it."""
        edits = self._edits_at("sublayer_factor", (stack, layer, sublayer))
        if not edits:
            return None
        factors = x.new_ones(x.size(0), 1, 1)
        for own, edit in edits:
            factors[own] *= edit.sublayer_factor()
        return factors

    def positions(self, side: str, ids: Tensor, start: int = 0) -> tuple[Tensor, Tensor | None]:
        """Returns positions of ids [B,T] from `start`: [T], or [B,T] where edited; and factors [B,1,1] or None.

        The factors multiply what is added to the embeddings: 0 where positions are off.
        """
        plain = torch.arange(start, start + ids.size(1), device=ids.device)  # [T]
        edits = self._edits_at("change_positions", (side,))
        if not edits:
            return plain, None
        edited, present = plain.repeat(ids.size(0), 1), torch.ones(ids.size(0), 1, 1, device=ids.device)
        for own, edit in edits:
            edit.change_positions(edited[own], present[own], ids[own], start)
        return edited, present


def _require_probe(donor_probe: Probe | None) -> Probe:
    assert donor_probe is not None, "a patch needs the pass of the other sentence"
    return donor_probe


NO_EDITS = BatchEdits()


@dataclass(frozen=True)
class SiteEdits:
    """The edits of a batch at one site, whose first query is at position `start`."""

    edits: BatchEdits = NO_EDITS
    site: Site | None = None
    start: int = 0
    donor_probe: Probe | None = None  # the recorded pass of the other sentence

    def scale(self, scores: Tensor, width: int) -> Tensor:
        return self.edits.scale(self.site, scores, width)

    def transform(self, name: str, activation: Tensor) -> Tensor:
        return self.edits.transform(self.site, name, activation)

    def overwrite(self, pattern: Tensor, mask: Tensor) -> Tensor:
        return self.edits.overwrite(self.site, pattern, mask, self.start)

    def ablate(self, z: Tensor) -> Tensor:
        return self.edits.patch_z(self.site, self.edits.ablate(self.site, z), self.start, self.donor_probe)


UNEDITED = SiteEdits()
