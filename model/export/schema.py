"""An exported analysis: a value that needs no model, and its keys and arrays.

The keys and arrays are declared once for the writer, the reader and docs/export.md. Also converts a request to plain values
and back. Edits are the codes of a link. `model.export.read` returns an equal value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import MAX_TOKENS
from ..decoding.hypotheses import Hypothesis
from ..decoding.strategy import Decoding
from ..edits.intervention import BASELINE, Intervention
from ..inference.predictions import candidates
from ..inference.request import Request
from ..io.files import is_whole_number
from ..trace import Axis, MapView, Site, Trace

if TYPE_CHECKING:
    from ..checkpoint import Checkpoint
    from ..inference.analysis import Analysis

FORMAT = "attention-lab analysis"
VERSION = 2
CANDIDATES = 10  # per step


@dataclass(frozen=True)
class Array:
    """Type of an array, its shape in letters, and its meaning."""

    kind: np.dtype
    shape: str
    meaning: str


FILE = {"format": f"“{FORMAT}”", "version": f"version of the format: {VERSION}"}
HEADER = {
    "checkpoint": "name of the checkpoint that answered",
    "fingerprint": "SHA-256 of its config and weights, which distinguishes two checkpoints of one name",
    "request": "checkpoint (the one that answered), source, second_sentence, target, prefix, decoding, branches, "
    "path, extra_padding, mode; edits as codes of a link",
    "translation": "the text; empty for a model without a decoder",
    "follows": "probability that the second sentence follows the first; null for one sentence",
    "notes": "notes about the translation, as sentences",
    "source": "tokens of the encoder: ids, labels, words (the index of the word of each token); null without an encoder",
    "inputs": "input tokens of the decoder, <s> first: row t of its maps has the input t and predicts the output t",
    "outputs": "predicted tokens, including the last step’s",
    "sites": "every kind of attention with a layer, from 0, in the order of the arrays",
    "candidate_labels": "[T][N] tokens, or labels, of candidates.ids",
    "hypotheses": "every path of the search, best first: text, ids, labels, log_probs, score (their sum), "
    "rank (score divided by the length penalty), finished, given_up",
    "chosen": "index of the hypothesis that the arrays belong to, from 0; null for a model that decodes nothing",
    "baseline": "with edits: the same request without edits, as an object of all these keys; else null",
}
ARRAYS = {
    "pattern": Array(np.dtype(np.float32), "[H,T,S]", "attention weights after the softmax and all edits"),
    "scores": Array(np.dtype(np.float32), "[H,T,S]", "q·k/√d_k before the mask"),
    "mask": Array(np.dtype(bool), "[T,S] or [H,T,S]", "true: may attend; [H,T,S] if the masks of the heads differ"),
}  # of each site: pattern.cross.2 is that of the third layer
STEPS = {
    "log_probs": Array(
        np.dtype(np.float32), "[T]", "natural logarithm of the probability of each target token, or of a label"
    ),
    "candidates.ids": Array(np.dtype(np.int32), "[T,N]", f"the top {CANDIDATES} tokens of each step, most probable first"),
    "candidates.log_probs": Array(np.dtype(np.float32), "[T,N]", "their log-probabilities"),
}  # of each step; without a decoder, of each source token; of a classifier one, of the whole text
BEFORE = "baseline."  # stands before the names of the baseline's arrays


def tables() -> str:
    """Returns the tables of docs/export.md."""
    lines = ["| key | content |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in (FILE | HEADER).items()]
    lines += ["", "| array | type | shape | content |", "|---|---|---|---|"]
    arrays = {f"{name}.KIND.LAYER": array for name, array in ARRAYS.items()} | STEPS
    lines += [f"| `{name}` | {array.kind} | {array.shape} | {array.meaning} |" for name, array in arrays.items()]
    return "\n".join(lines)


def intervention(codes: Iterable[str]) -> Intervention:
    """Returns the intervention of some codes. Raises EditError for an unknown or contradicting code."""
    edits = BASELINE
    for code in codes:
        edits = edits.with_edit(code)
    return edits


def codes(intervention: Intervention) -> tuple[str, ...]:
    """Returns the codes of all edits of an intervention."""
    return tuple(code for code, _ in intervention.codes_and_texts())


_REQUEST_KEYS = (
    *("source", "checkpoint", "target", "prefix", "other_sentences", "branches", "path"),
    *("second_sentence", "extra_padding", "mode", "decoding", "edits"),
)
_IDS: dict[str, Any] = {"source_ids": [], "target_ids": [], "max_tokens": MAX_TOKENS}  # written where they differ from these
DECODING_KEYS = tuple(field.name for field in fields(Decoding))


def request_values(request: Request) -> dict[str, Any]:
    """Returns a request as lists, texts and numbers."""
    decoding = request.decoding
    given = {"source_ids": [*request.source_ids], "target_ids": [*request.target_ids], "max_tokens": request.max_tokens}
    return {
        "source": request.source,
        "checkpoint": request.checkpoint,
        "target": request.target,
        "prefix": request.prefix,
        "other_sentences": list(request.other_sentences),
        "branches": [list(ids) for ids in request.branches],
        "path": list(request.path),
        "second_sentence": request.second_sentence,
        "extra_padding": request.extra_padding,
        "mode": request.mode,
        "decoding": {name: getattr(decoding, name) for name in DECODING_KEYS},
        "edits": list(codes(request.intervention)),
        **{name: value for name, value in given.items() if value != _IDS[name]},
    }


def parse_request(values: Mapping[str, Any]) -> Request:
    """Returns the request of plain values. Raises ValueError, TypeError or KeyError for wrong values."""
    values = _IDS | dict(values)
    strings = ("checkpoint", "source", "second_sentence", "prefix", "mode")
    integers = ("extra_padding", "max_tokens")
    _check_types("request", values, (*_REQUEST_KEYS, *_IDS), strings, integers, ("target",))
    numbers = values["decoding"]
    whole = ("max_total_tokens", "width", "top_k", "seed", "max_new_tokens")
    _check_types("decoding", numbers, DECODING_KEYS, ("strategy",), whole)
    if not all(isinstance(numbers[name], float | int) for name in ("alpha", "temperature", "top_p")):
        raise ValueError("a control of the decoding is not a number")
    decoding = Decoding(**numbers)
    return Request(
        source=values["source"],
        checkpoint=values["checkpoint"],
        target=values["target"],
        prefix=values["prefix"],
        other_sentences=texts(values["other_sentences"]),
        branches=tuple(map(ids, values["branches"])),
        path=ids(values["path"]),
        second_sentence=values["second_sentence"],
        extra_padding=values["extra_padding"],
        mode=values["mode"],
        decoding=decoding,
        intervention=intervention(texts(values["edits"])),
        source_ids=ids(values["source_ids"]),
        target_ids=ids(values["target_ids"]),
        max_tokens=values["max_tokens"],
    )


def _check_types(
    record: str,
    values: Any,
    keys: Sequence[str],
    strings: Sequence[str],
    integers: Sequence[str],
    optional: Sequence[str] = (),
) -> None:
    """Raises ValueError for unknown keys, missing keys, and values of another type."""
    if not isinstance(values, Mapping) or set(values) != set(keys):
        raise ValueError(f"the {record} lacks a field or has an unknown one")
    fine = all(isinstance(values[name], str) for name in strings) and all(is_whole_number(values[name]) for name in integers)
    if not fine or not all(values[name] is None or isinstance(values[name], str) for name in optional):
        raise ValueError(f"the {record} has a value of the wrong type")


def ids(values: Any) -> tuple[int, ...]:
    """Returns token ids of a list. Raises ValueError for other values."""
    if not isinstance(values, list) or not all(is_whole_number(each) and each >= 0 for each in values):
        raise ValueError("a list of tokens has a value that is not a token id")
    return tuple(values)


def texts(values: Any) -> tuple[str, ...]:
    """Returns texts of a list. Raises ValueError for other values."""
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise ValueError("a list of texts has a value that is not a text")
    return tuple(values)


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
    def trace(self) -> Trace:
        """The maps as a trace."""
        head_masks = {site: mask for site, mask in self.masks.items() if mask.ndim == 3}
        masks = {site: mask.any(axis=0) if mask.ndim == 3 else mask for site, mask in self.masks.items()}
        parts = (self.source, self.inputs, self.outputs, dict(self.patterns), dict(self.scores), masks)
        return Trace(*parts, log_probs=self.log_probs[:, None], head_masks=head_masks)

    def pattern(self, site: Site, head: int | None = None) -> MapView:
        """Returns the pattern of one head, or the mean over heads, with labels. Raises ValueError for an unknown head."""
        return self.trace.view(site, head)


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
