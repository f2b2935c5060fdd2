"""Exported analysis: a value that needs no model. `model.export.read` returns an equal one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..decoding.hypotheses import Hypothesis
from ..inference.predictions import candidates
from ..inference.request import Request
from ..trace import Axis, MapView, Site, Trace
from .schema import CANDIDATES

if TYPE_CHECKING:
    from ..checkpoint import Checkpoint
    from ..inference.analysis import Analysis


@dataclass(frozen=True)
class ExportedPath:
    """One hypothesis: tokens, the log-probability of each in nats, their sum, and the score that ranks it."""

    text: str
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    log_probs: tuple[float, ...]
    score: float
    rank: float
    finished: bool  # it ended with `</s>`
    given_up: bool  # the beam dropped it


@dataclass(frozen=True, eq=False)
class Exported:
    """An analysis without its model, with the fields of `model.export.schema`. Layers and heads count from 0.

    Two are equal where all fields are, including every number of every array.
    """

    checkpoint: str
    fingerprint: str
    request: Request
    translation: str
    follows: float | None
    notes: tuple[str, ...]
    source: Axis | None
    inputs: Axis | None
    outputs: Axis | None
    patterns: Mapping[Site, np.ndarray]  # [H,T,S]
    scores: Mapping[Site, np.ndarray]  # [H,T,S]
    masks: Mapping[Site, np.ndarray]  # bool [T,S], or [H,T,S] where the masks of the heads differ
    log_probs: np.ndarray  # [T]
    candidate_ids: np.ndarray  # [T,N]
    candidate_log_probs: np.ndarray  # [T,N]
    candidate_labels: tuple[tuple[str, ...], ...]
    hypotheses: tuple[ExportedPath, ...]
    chosen: int | None
    baseline: Exported | None = None

    @classmethod
    def of(cls, checkpoint: Checkpoint, analysis: Analysis) -> Exported:
        """Exports an analysis. Raises ValueError where its scores were dropped."""
        return _exported(checkpoint, analysis, fingerprint(checkpoint))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Exported):
            return NotImplemented
        return all(_same(getattr(self, each.name), getattr(other, each.name)) for each in fields(self))

    @property
    def nbytes(self) -> int:
        """Returns the bytes of the maps, the baseline included."""
        maps = (self.patterns, self.scores, self.masks)
        return sum(array.nbytes for each in maps for array in each.values()) + (self.baseline.nbytes if self.baseline else 0)

    @cached_property
    def _trace(self) -> Trace:
        """Returns the maps as a trace."""
        head_masks = {site: mask for site, mask in self.masks.items() if mask.ndim == 3}
        masks = {site: mask.any(axis=0) if mask.ndim == 3 else mask for site, mask in self.masks.items()}
        parts = (self.source, self.inputs, self.outputs, dict(self.patterns), dict(self.scores), masks)
        return Trace(*parts, log_probs=self.log_probs[:, None], head_masks=head_masks)

    def pattern(self, site: Site, head: int | None = None) -> MapView:
        """Returns the pattern of one head, or the mean over heads, with labels. Raises ValueError for an unknown head."""
        return self._trace.view(site, head)


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(two, np.ndarray) and one.dtype == two.dtype and np.array_equal(one, two)
    if isinstance(one, Mapping):
        return isinstance(two, Mapping) and list(one) == list(two) and all(_same(one[key], two[key]) for key in one)
    return bool(one == two)


def _exported(checkpoint: Checkpoint, analysis: Analysis, print_: str) -> Exported:
    trace = analysis.trace
    if trace.scores.keys() != trace.patterns.keys():
        raise ValueError("the analysis has no scores; expected one as `analyse` returns it")
    likeliest = candidates(trace.log_probs, CANDIDATES)
    ids = np.array([[each.id for each in step] for step in likeliest], np.int32)  # [T,N]
    order = sorted(trace.patterns, key=lambda site: (trace.kinds.index(site.kind), site.layer))
    paths = tuple(_path(checkpoint, analysis, each, False) for each in analysis.tree or ())
    paths += tuple(_path(checkpoint, analysis, each, True) for each in (analysis.tree.pruned if analysis.tree else ()))
    chosen = analysis.hypothesis and analysis.hypothesis.ids
    return Exported(
        analysis.checkpoint,
        print_,
        analysis.request,
        analysis.translation,
        analysis.next_sentence_probability,
        analysis.notes,
        trace.source,
        trace.inputs,
        trace.outputs,
        {site: trace.patterns[site] for site in order},
        {site: trace.scores[site] for site in order},
        {site: trace.head_masks.get(site, trace.masks[site]) for site in order},
        trace.token_log_probs,
        ids,
        np.take_along_axis(trace.log_probs, ids, axis=-1),
        tuple(checkpoint.output_vocabulary.pieces(row) for row in ids.tolist()),
        paths,
        next((number for number, path in enumerate(paths) if path.ids == chosen), None),
        analysis.baseline and _exported(checkpoint, analysis.baseline, print_),
    )


def _path(checkpoint: Checkpoint, analysis: Analysis, hypothesis: Hypothesis, given_up: bool) -> ExportedPath:
    tokenizer, alpha = checkpoint.target_tokenizer, analysis.request.decoding.alpha
    tokens = (
        tokenizer.decode(hypothesis.ids),
        hypothesis.ids,
        tokenizer.pieces(hypothesis.ids),
        tuple(map(float, hypothesis.log_probs)),
    )
    return ExportedPath(
        *tokens, float(hypothesis.score), float(hypothesis.normalised_score(alpha)), hypothesis.is_finished, given_up
    )


def fingerprint(checkpoint: Checkpoint) -> str:
    """Returns the SHA-256 of the config and all weights, in hexadecimal. It is equal on every device."""
    digest = hashlib.sha256(json.dumps(checkpoint.config.to_dict(), sort_keys=True).encode())
    for name, weights in sorted(checkpoint.model.named_parameters()):
        digest.update(name.encode() + b"\0")
        digest.update(weights.detach().cpu().float().contiguous().numpy().data)
    return digest.hexdigest()
