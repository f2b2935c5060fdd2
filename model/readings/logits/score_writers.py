"""One attention score of a head as an exact sum over pairs of residual stream writers, of the query and of the key.

A score q·k / sqrt(d_k) is linear in the query and in the key. Each of them is linear in its residual stream once the norms'
statistics are constant (`residual_writers.py`), so the score is a sum over pairs of writers (Elhage et al. 2021, section
"Two-layer attention-only transformers"). A rotary scheme rotates each part like the sum. A position bias on the score
belongs to the head's own part. In cross-attention queries come from the decoder's writers, keys from the encoder's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ...checkpoint import Checkpoint
from ...edits.apply import BatchEdits, SiteEdits
from ...inference.analysis import Analysis
from ...inference.source_reading import build_edits
from ...network.attention import attention_scores
from ...network.context import Pass
from ...trace import Side, Site, Sublayer, Trace
from ..stages.layer_inputs import Activations, activations
from .residual_writers import Stream, Writer


@dataclass(frozen=True)
class FoldedScore:
    """The largest writers of both sides in the order of the stream, and the sum of a side's others as None."""

    query_writers: tuple[Writer | None, ...]
    key_writers: tuple[Writer | None, ...]
    values: np.ndarray  # [N,M]
    largest: tuple[int, int]  # row and column of the largest part


@dataclass(frozen=True)
class ScoreWriters:
    """The score of a head for one query and one key (all from 0) before the mask, split over pairs of writers.

    The last writer of each side is the head's own bias.
    """

    site: Site
    head: int
    query: int
    key: int
    score: float  # as the model computed it, after an edit of the scaling
    weight: float
    is_allowed: bool  # False where the mask hides the key
    mean: float | None  # of the scores of all allowed keys; None without any
    query_writers: tuple[Writer, ...]
    key_writers: tuple[Writer, ...]
    values: np.ndarray = field(repr=False)  # [N,M], float64: query writers by key writers

    @property
    def remainder(self) -> float:
        """The rounding error: the score minus the sum of the parts."""
        return self.score - float(self.values.sum())

    @property
    def largest(self) -> tuple[Writer, Writer, float]:
        """The pair with the largest part in the direction of the score."""
        row, column = self._largest
        return self.query_writers[row], self.key_writers[column], float(self.values[row, column])

    @property
    def _largest(self) -> tuple[int, int]:
        toward = self.values if self.score >= 0 else -self.values
        row, column = divmod(int(toward.argmax()), len(self.key_writers))
        return row, column

    def fold(self, limit: int) -> FoldedScore:
        """Returns at most `limit` writers a side, the others summed.

        They are the largest pair and the writers with the largest absolute parts.
        """
        row, column = self._largest
        rows, columns = (
            _largest_writers(np.abs(self.values).sum(axis), limit, own) for axis, own in ((1, row), (0, column))
        )
        values = _fold(_fold(self.values, rows).T, columns).T
        place = (int(np.searchsorted(rows, row)), int(np.searchsorted(columns, column)))
        return FoldedScore(_named(self.query_writers, rows), _named(self.key_writers, columns), values, place)


def _largest_writers(sizes: np.ndarray, limit: int, own: int) -> np.ndarray:
    """Returns the sorted indices of `own` and the largest sizes, or of all where only one would be left over."""
    if len(sizes) <= limit + 1:
        return np.arange(len(sizes))
    ranked = [own, *(n for n in np.argsort(-sizes, kind="stable") if n != own)]
    return np.sort(ranked[:limit])


def _fold(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    if len(rows) == len(values):
        return values
    return np.vstack([values[rows], np.delete(values, rows, axis=0).sum(0)])


def _named(writers: tuple[Writer, ...], rows: np.ndarray) -> tuple[Writer | None, ...]:
    selected = tuple(writers[n] for n in rows)
    return (*selected, None) if len(rows) < len(writers) else selected


@torch.inference_mode()
def score_writers(checkpoint: Checkpoint, analysis: Analysis, site: Site, head: int, query: int, key: int) -> ScoreWriters:
    """Splits one score under the analysis' intervention, in float64, from the pass behind its row.

    Raises:
        ValueError: The site, head, query or key does not exist, or the key was written after that pass.
    """
    trace = analysis.trace
    view = trace.view(site, head)  # raises ValueError for an unknown site or head
    for name, value, labels in (("query", query, view.queries), ("key", key, view.keys)):
        if not 0 <= value < len(labels):
            raise ValueError(f"There is no {name} {value + 1}; this site has {len(labels)} of them.")
    if key >= (count := analysis.key_count(site, query)):
        raise ValueError(f"There is no key {key + 1} at step {query + 1}; the pass that chose its token had {count}.")
    recorded = activations(checkpoint, analysis, site, query)
    context = Pass(build_edits(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention]))
    writers = _Head(checkpoint, trace, recorded, context, site, head)
    query_writers, q = writers.query(query)  # [N,K]
    key_writers, k = writers.key(key)  # [M,K]
    record = recorded.records[site]
    scaling = SiteEdits(BatchEdits([analysis.request.intervention.scores_of_head(site, head)]), site)
    scores = record["scores"][0, head, query].double().cpu().numpy()  # [S]
    seen = _mask_row(record["mask"][0], head, query).cpu().numpy()  # [S]
    mean = float(scores[seen].mean()) if seen.any() else None
    weight = float(record["pattern"][0, head, query, key])
    values = attention_scores(q[None, None], k[None, None], scaling)[0, 0].cpu().numpy()  # [N,M]
    if "position_bias" in record:
        values[-1, -1] += float(record["position_bias"][0, head, query, key])
    writers_of_both = query_writers, key_writers
    return ScoreWriters(site, head, query, key, float(scores[key]), weight, bool(seen[key]), mean, *writers_of_both, values)


def _mask_row(mask: Tensor, head: int, query: int) -> Tensor:
    return (mask[head] if mask.dim() == 3 else mask)[query]


@dataclass(frozen=True)
class _Head:
    """Splits the queries and keys of one head over the writers of the residual stream."""

    checkpoint: Checkpoint
    trace: Trace
    recorded: Activations
    context: Pass
    site: Site
    head: int

    def query(self, position: int) -> tuple[tuple[Writer, ...], Tensor]:
        """Returns the writers of the query at a position, and the part of each, [N,K]."""
        return self._parts("query", self.site.spec.query_side, position, self._reader)

    def key(self, position: int) -> tuple[tuple[Writer, ...], Tensor]:
        """Returns the writers of the key at a position, and the part of each, [N,K]. Cross-attention reads the encoder."""
        return self._parts("key", self.site.spec.key_side, position, self._reader if self.site.spec.is_self else None)

    @property
    def _reader(self) -> Sublayer:
        return Sublayer(self.site.spec.stack, self.site.layer, self.site.spec.sublayer)

    def _parts(self, name: str, side: Side, position: int, reader: Sublayer | None) -> tuple[tuple[Writer, ...], Tensor]:
        model, ids = self.checkpoint.model, self.trace.axis(side).ids
        layer = getattr(model, self.site.spec.stack)[self.site.layer]
        module = getattr(layer, f"{self.site.spec.sublayer}_attention")
        projection = getattr(module, name)
        rows = slice(self.head * self.checkpoint.config.head_dim, (self.head + 1) * self.checkpoint.config.head_dim)
        stack = "encoder" if side == "source" else "decoder"
        stream = Stream(model, self.recorded, self.context, stack, ids[position], position, tuple(ids))
        parts = stream.split(projection.weight[rows], reader)
        values = torch.cat([parts.values, projection.bias[rows].double()[None]])  # [N+1,K]; the bias is the head's own part
        positions, _ = self.context.positions(side, torch.tensor([ids], device=values.device))  # [T], or [1,T] where edited
        here = positions.flatten()[position].expand(len(values))  # [N]
        values = module.scheme.rotate(values[None, None], here)[0, 0]  # [N,K]
        return (*parts.writers, Writer("own")), values
