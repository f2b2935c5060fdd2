"""Edits as a forward pass applies them: the interventions of a batch, one for all rows or one a row.

The order is fixed: scale, mask, softmax, rows that may see nothing become zero, rows are written over, the pattern is
recorded, dropout, mix, heads are ablated, z is recorded. Masks themselves are built in `masks.py`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.config import PAD
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Ablate, Block, EditError, Labels, PatchRow, Positions, Skip
from model.trace import Site

SHUFFLED_BLOCK = 16  # target positions change places within blocks of so many


class Edits:
    """What a batch does differently. Without edits every method gives back what it was given, bit for bit."""

    def __init__(self, rows: Sequence[Intervention] = (BASELINE,), means: Mapping[Site, Tensor] | None = None) -> None:
        """`means` holds each site's mean z of every head, [H,K], where heads may be ablated by it."""
        self.rows = tuple(rows)
        self.means = means or {}
        self._located = any(row.edits for row in self.rows)
        self._unscaled = not all(row.scaling for row in self.rows)

    @property
    def causal(self) -> bool:
        """True where no row has its causal mask off."""
        return all(row.causal_mask for row in self.rows)

    def select(self, rows: Sequence[int]) -> Edits:
        """The edits of some rows of the batch."""
        return self if len(self.rows) == 1 else Edits([self.rows[row] for row in rows], self.means)

    def _found(self, kind: type) -> Iterator[tuple[slice, object]]:
        """Every edit of a kind, with the rows of the batch that it belongs to."""
        if self._located:
            for number, row in enumerate(self.rows):
                where = slice(None) if len(self.rows) == 1 else slice(number, number + 1)
                yield from ((where, edit) for edit in row.edits if isinstance(edit, kind))

    def scale(self, scores: Tensor, width: int) -> Tensor:
        """Scores [B,H,T,S], divided by sqrt(`width`) already, times it where the scaling is off."""
        if not self._unscaled:
            return scores
        factors = scores.new_tensor([1.0 if row.scaling else math.sqrt(width) for row in self.rows])  # [1|B]
        return scores * factors[:, None, None, None]

    def blocked(self, site: Site | None) -> list[tuple[slice, Block]]:
        """The blocks at a site, for `masks.at_site`."""
        return [(where, edit) for where, edit in self._found(Block) if edit.place.covers(*site)]

    def overwrite(self, site: Site | None, pattern: Tensor, mask: Tensor, start: int) -> Tensor:
        """Writes over rows of the pattern [B,H,T,S], whose first row stands at position `start`.

        Raises EditError where the mask forbids the only key that a row shall look at.
        """
        found = [(w, e) for w, e in self._found(PatchRow) if e.place.covers(*site)]
        if not found:
            return pattern
        pattern, visible = pattern.clone(), mask.expand_as(pattern)
        for where, edit in found:
            row = edit.query - start
            if not 0 <= row < pattern.size(2):
                continue
            seen = visible[where, edit.place.heads, row]  # [b,h,S]
            if edit.key is None:
                pattern[where, edit.place.heads, row] = seen.to(pattern) / seen.sum(-1, keepdim=True).clamp(min=1)
                continue
            if edit.place.kind == "decoder" and edit.key >= seen.size(-1):
                continue  # it waits for a token that is not there yet
            if edit.key >= seen.size(-1) or not seen[..., edit.key].all():
                raise EditError(f"The edit “{edit.text(Labels())}” looks where the mask forbids it: choose another token.")
            pattern[where, edit.place.heads, row] = 0.0
            pattern[where, edit.place.heads, row, edit.key] = 1.0
        return pattern

    def ablate(self, site: Site | None, z: Tensor) -> Tensor:
        """Replaces what heads put out, z [B,H,T,K], by zeros or by their means."""
        found = [(w, e) for w, e in self._found(Ablate) if e.place.covers(*site)]
        if not found:
            return z
        z = z.clone()
        for where, edit in found:
            heads = edit.place.heads
            if edit.how == "zero":
                z[where, heads] = 0.0
            elif site in self.means:
                z[where, heads] = self.means[site].to(z)[heads, None]  # [h,1,K]
            else:
                raise EditError("This checkpoint has no means of its heads; switch the head off instead.")
        return z

    def keep(self, stack: str, layer: int, sublayer: str, x: Tensor) -> Tensor | None:
        """Factors [B,1,1] for what a sub-layer adds: 0 where it is skipped. None where it is skipped nowhere."""
        found = [(w, e) for w, e in self._found(Skip) if (e.stack, e.layer, e.sublayer) == (stack, layer, sublayer)]
        if not found:
            return None
        factors = x.new_ones(x.size(0), 1, 1)
        for where, _ in found:
            factors[where] = 0.0
        return factors

    def positions(self, side: str, ids: Tensor, start: int = 0) -> tuple[Tensor, Tensor | None]:
        """Positions of ids [B,T] that begin at `start`: [T], or [B,T] where edited; and factors [B,1,1] for what is added
        to the embeddings, 0 where positions are off."""
        plain = torch.arange(start, start + ids.size(1), device=ids.device)  # [T]
        found = [(w, e) for w, e in self._found(Positions) if e.side == side]
        if not found:
            return plain, None
        edited, present = plain.repeat(ids.size(0), 1), torch.ones(ids.size(0), 1, 1, device=ids.device)
        for where, edit in found:
            if edit.how == "off":
                edited[where], present[where] = 0, 0.0
            elif edit.how == "shifted":
                edited[where] += edit.amount
            elif side == "source":
                for row in range(*where.indices(ids.size(0))):
                    length = int((ids[row] != PAD).sum())
                    edited[row, :length] = _shuffled(length, str(edit.amount)).to(ids.device)
            else:
                edited[where] = shuffled_target(start + ids.size(1), edit.amount)[start:].to(ids.device)
        return edited, present


def _shuffled(count: int, seed: str) -> Tensor:
    return torch.tensor(random.Random(seed).sample(range(count), count), dtype=torch.long)


def shuffled_target(count: int, seed: int) -> Tensor:
    """The first `count` target positions, shuffled in blocks of 16: what stands early does not depend on what follows."""
    blocks = range(0, count, SHUFFLED_BLOCK)
    return torch.cat([_shuffled(SHUFFLED_BLOCK, f"{seed}/{first}") + first for first in blocks])[:count]


NO_EDITS = Edits()


@dataclass(frozen=True)
class SiteEdits:
    """The edits of a batch as one site applies them; its first query stands at position `start`."""

    edits: Edits = NO_EDITS
    site: Site | None = None
    start: int = 0

    def scale(self, scores: Tensor, width: int) -> Tensor:
        return self.edits.scale(scores, width)

    def overwrite(self, pattern: Tensor, mask: Tensor) -> Tensor:
        return self.edits.overwrite(self.site, pattern, mask, self.start)

    def ablate(self, z: Tensor) -> Tensor:
        return self.edits.ablate(self.site, z)


UNEDITED = SiteEdits()
