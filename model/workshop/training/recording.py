"""Recordings of a few sentences at some steps of a training, as a file, and the metrics of their heads.

`probes.npz` in the folder of a checkpoint holds the steps, the tokens of the sentences, the log-probability of every target
token, the pattern of every site in units of 1/255, and the model's output for each sentence at each step. Patterns are
stored as the first step and the differences of the other steps from the step before.

The metrics of every head at every step give the first step at which a head reaches a threshold. Imports no torch.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from ...config import FAMILIES, MAX_CLASSES, MAX_TOKENS
from ...io.files import DAMAGED, MAX_VALUES, MEGABYTE, FileError, is_count, open_file, parse_json, read_array_header
from ...readings.heads.head_metrics import METRICS, Rows, applicable_metrics
from ...trace import ATTENTION_KINDS, SITE_KINDS, Site, site_kind

MAX_SENTENCES = 12  # the shortest ones are recorded
LEVELS = 255
TEXT_KINDS = ("decoder",)  # of attention, without a source
DELTA_CODING = "delta"  # coding of patterns; files without it have no differences
MAX_OUTPUT_CHARACTERS = 300  # longer outputs are cut
LOG_PROBS = "log_probs"
MAX_STEPS = 1000
MAX_HEADER = 16 * MEGABYTE
MAX_BYTES = 1 << 30  # of the file and of its arrays


@dataclass(frozen=True)
class ProbeSentence:
    """A source with a target that stays fixed through the training; ids end in `</s>`.

    A text for a model without an encoder is a target with an empty source. For a model that fills in blanks the source has
    the blanks and the target has the words. For a classifier the target is empty, and `labels` are the choices.
    """

    name: str
    source_text: str
    target_text: str
    source: tuple[int, ...]
    target: tuple[int, ...]
    source_tokens: tuple[str, ...] = ()  # empty in older files, as below
    target_tokens: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def score_count(self) -> int:
        """The number of tokens, or labels, whose log-probabilities are recorded."""
        return len(self.labels or self.target)

    @property
    def has_blanks(self) -> bool:
        """True if source and target differ only in blanks, which are all one token of the source."""
        if self.labels or "___" not in self.source_text or len(self.source) != len(self.target):
            return False
        return len({read for read, there in zip(self.source, self.target, strict=True) if read != there}) == 1

    @property
    def scored_positions(self) -> tuple[int, ...]:
        """Positions, from 0, that training asks the model for: the blanks if there are any, else all."""
        if not self.has_blanks:
            return tuple(range(self.score_count))
        return tuple(n for n, (read, there) in enumerate(zip(self.source, self.target, strict=True)) if read != there)


def array_shapes(
    sentences: Sequence[ProbeSentence], sizes: Mapping[str, tuple[int, int]], steps: int
) -> dict[str, tuple[int, ...]]:
    """Returns the shape of each array of a recording. `sizes` has layers and heads of each kind of attention."""
    result: dict[str, tuple[int, ...]] = {}
    for number, sentence in enumerate(sentences):
        lengths = {"source": len(sentence.source), "target": len(sentence.target)}
        result[f"{LOG_PROBS}/{number}"] = (steps, sentence.score_count)
        for kind, size in sizes.items():
            info = SITE_KINDS[kind]
            result[f"{kind}/{number}"] = (steps, *size, lengths[info.query_side], lengths[info.key_side])
    return result


@dataclass(frozen=True)
class Recording:
    """N steps of a training: log-probabilities and patterns of each sentence, and the model's outputs."""

    sentences: tuple[ProbeSentence, ...]
    steps: tuple[int, ...]
    arrays: dict[str, np.ndarray]
    outputs: tuple[tuple[str, ...], ...] = ()  # of each step, for each sentence; "" if missing

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that are recorded."""
        return tuple(kind for kind in ATTENTION_KINDS if f"{kind}/0" in self.arrays)

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.arrays.values())

    def log_probs(self, sentence: int) -> np.ndarray:
        """Returns the natural log-probability of each target token, or label, at each step, shape [N,T]."""
        return self.arrays[f"{LOG_PROBS}/{sentence}"]

    def losses(self) -> np.ndarray:
        """Returns nats a token of each sentence at each step, over its `scored_positions`, shape [N, sentences]."""
        scored = (self.log_probs(n)[:, list(each.scored_positions)] for n, each in enumerate(self.sentences))
        return np.stack([-log_probs.mean(axis=1) for log_probs in scored], axis=1)

    def patterns(self, sentence: int, site: Site) -> np.ndarray:
        """Returns the pattern of each head of a site at each step, to the nearest 1/255: float32 [N,H,T,S]."""
        return self.arrays[f"{site.kind}/{sentence}"][:, site.layer].astype(np.float32) / LEVELS

    def save(self, path: Path) -> None:
        """Writes the file at once, through a temporary file."""
        header = {"steps": list(self.steps), "sentences": [vars(s) for s in self.sentences], "coding": DELTA_CODING}
        header |= {"kinds": list(self.kinds), "written": [list(texts) for texts in self.outputs]}
        text = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), dtype=np.uint8)
        temporary = path.with_name(path.name + ".new")
        with temporary.open("wb") as raw:
            np.savez_compressed(raw, header=text, **{key: _differences(key, each) for key, each in self.arrays.items()})
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Reads a file of `save`. Raises ValueError with the path if it is damaged or incomplete.

        Checks the shape of each array against the sentences before it unpacks the array.
        """
        try:
            with open_file(path, MAX_BYTES) as raw, zipfile.ZipFile(raw) as archive:
                header = parse_json(_read_header(archive))
                sentences, steps = _parse_sentences(header)
                kinds, written, coding = _parse_options(header, sentences, steps)
                sizes = {kind: _layers_and_heads(archive, kind) for kind in kinds}
                expected = array_shapes(sentences, sizes, len(steps))
                if sum(map(np.prod, expected.values())) > MAX_BYTES:
                    raise ValueError("its arrays are too large")
                arrays = {key: _read_array(archive, key, shape) for key, shape in expected.items()}
                if coding:
                    arrays = {key: _undo_differences(key, each) for key, each in arrays.items()}
        except (FileError, FileNotFoundError) as fault:
            raise ValueError(f"{fault}; expected a recording of probes; copy the file again.") from None
        except (*DAMAGED, TypeError, SyntaxError, TokenError, MemoryError) as fault:
            reason = " ".join(str(fault).split())[:200] or type(fault).__name__
            raise ValueError(f"{path} is no valid recording of probes ({reason}); copy the file again.") from None
        return cls(sentences, steps, arrays, written)


def _differences(key: str, values: np.ndarray) -> np.ndarray:
    """Returns patterns [N,...] as the first step and differences modulo 256, which compress better."""
    if key.startswith(LOG_PROBS):
        return values
    return np.concatenate((values[:1], values[1:] - values[:-1]))


def _undo_differences(key: str, values: np.ndarray) -> np.ndarray:
    """Inverse of `_differences`."""
    return values if key.startswith(LOG_PROBS) else np.cumsum(values, axis=0, dtype=np.uint8)


def _read_header(archive: zipfile.ZipFile) -> bytes:
    with archive.open("header.npy") as raw:
        shape, kind = read_array_header(raw)
        if kind != np.uint8 or len(shape) != 1 or shape[0] > MAX_HEADER:
            raise ValueError("its header is not text")
        return raw.read(shape[0])


def _parse_sentences(header: Any) -> tuple[tuple[ProbeSentence, ...], tuple[int, ...]]:
    """Returns the sentences and the steps of a header. Raises ValueError, TypeError or KeyError for a bad one."""
    steps = header["steps"]
    sentences = tuple(
        ProbeSentence(**{name: tuple(value) if isinstance(value, list) else value for name, value in dict(each).items()})
        for each in header["sentences"]
    )
    if not isinstance(steps, list) or list(steps) != sorted(set(steps)):
        raise ValueError("its steps do not rise")
    if not 0 < len(sentences) <= MAX_SENTENCES or not 0 < len(steps) <= MAX_STEPS or not all(map(is_count, steps)):
        raise ValueError(f"it has {len(sentences)} sentences and {len(steps)} steps")
    for each in sentences:
        if not all(isinstance(text, str) for text in (each.name, each.source_text, each.target_text)):
            raise ValueError("a name or text of a sentence is not text")
        if bool(each.source) != bool(sentences[0].source):
            raise ValueError("some sentences have a source and some have none")
        for ids, tokens in ((each.source, each.source_tokens), (each.target, each.target_tokens)):
            if len(ids) > MAX_TOKENS or not all(map(is_count, ids)):
                raise ValueError("a sentence has invalid or too many tokens")
            if tokens and (len(tokens) != len(ids) or not all(isinstance(token, str) for token in tokens)):
                raise ValueError("the tokens of a sentence do not match its ids")
        if not each.score_count <= max(MAX_TOKENS, MAX_CLASSES) or not (each.source or each.target) or not each.score_count:
            raise ValueError("a sentence has no tokens or too many")
        if not all(isinstance(label, str) for label in each.labels):
            raise ValueError("a label is not text")
    return sentences, tuple(steps)


def _parse_options(
    header: Any, sentences: Sequence[ProbeSentence], steps: Sequence[int]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], bool]:
    """Returns the recorded kinds, the outputs, and True if patterns are differences. Older files lack all of these."""
    kinds = tuple(header.get("kinds", ATTENTION_KINDS if sentences[0].source else TEXT_KINDS))
    if kinds not in FAMILIES.values():
        raise ValueError("no model has its kinds of attention")
    for kind in kinds:
        sides = SITE_KINDS[kind].query_side, SITE_KINDS[kind].key_side
        if not all(getattr(sentence, side) for sentence in sentences for side in sides):
            raise ValueError(f"a sentence has no tokens for {kind} attention")
    written = tuple(tuple(texts) for texts in header.get("written", ()))
    if written and ([len(texts) for texts in written] != [len(sentences)] * len(steps)):
        raise ValueError("the outputs do not match its steps and sentences")
    if not all(isinstance(text, str) and len(text) <= MAX_OUTPUT_CHARACTERS for texts in written for text in texts):
        raise ValueError("an output is not text or too long")
    if header.get("coding", "") not in ("", DELTA_CODING):
        raise ValueError("its patterns have an unknown coding")
    return kinds, written, header.get("coding") == DELTA_CODING


def _layers_and_heads(archive: zipfile.ZipFile, kind: str) -> tuple[int, int]:
    """Returns layers and heads of a kind of attention, from the array of the first sentence."""
    with archive.open(f"{kind}/0.npy") as raw:
        shape, _ = read_array_header(raw)
    limits = MAX_VALUES[f"{SITE_KINDS[kind].stack}_layers"], MAX_VALUES["heads"]
    if len(shape) != 5 or not all(0 < size <= limit for size, limit in zip(shape[1:3], limits, strict=True)):
        raise ValueError(f"{kind + '/0'!r} has the shape {shape}")
    return shape[1], shape[2]


def _read_array(archive: zipfile.ZipFile, key: str, expected: tuple[int, ...]) -> np.ndarray:
    dtype = np.dtype(np.float32 if key.startswith(LOG_PROBS) else np.uint8)
    with archive.open(f"{key}.npy") as raw:
        shape, kind = read_array_header(raw)
        if shape != expected or kind != dtype:
            raise ValueError(f"{key!r} has the shape {shape}, {kind}; expected {expected}, {dtype}")
        content = raw.read(int(np.prod(expected)) * dtype.itemsize + 1)
    values = np.frombuffer(content, dtype).reshape(expected)
    if not np.isfinite(values).all():
        raise ValueError(f"{key!r} has a number that is not finite")
    return values


MAX_BATCH_WEIGHTS = 1 << 22  # weights that are measured together
DIAGONAL_METRIC = "same"  # metric: weight on the diagonal of cross-attention, where row t predicts token t


@dataclass(frozen=True)
class HeadEmergence:
    """The first recorded step at which a head reaches a threshold. Layer and head count from 0."""

    step: int
    layer: int
    head: int
    score: float


def head_scores(recording: Recording, kind: str, name: str) -> np.ndarray:
    """Returns a metric of every head at every step, shape [N,L,H]: the mean over all rows that have a value, else nan.

    Raises KeyError for an unknown metric and ValueError for a kind of attention that is not recorded.
    """
    if kind not in recording.kinds:
        raise ValueError(f"{kind} attention is not recorded; expected one of {', '.join(recording.kinds)}")
    measure = METRICS[name].measure
    shape = recording.arrays[f"{kind}/0"].shape[:3]  # [N,L,H]
    total, counted = np.zeros(shape), np.zeros(shape)
    for number in range(len(recording.sentences)):
        levels, keys = recording.arrays[f"{kind}/{number}"], key_tokens(recording, number, kind)  # [N,L,H,T,S]
        each, mask = max(1, MAX_BATCH_WEIGHTS // levels[0].size), _mask(levels)
        for first in range(0, len(levels), each):  # in parts, because a large file as float32 would fill the memory
            part = levels[first : first + each].astype(np.float32) / LEVELS
            (sums,), (counts,) = Rows.of(part.reshape(-1, *levels.shape[3:]), keys, mask=mask).sums([measure])
            there = slice(first, first + each)
            total[there] += sums.reshape(part.shape[:3])
            counted[there] += np.broadcast_to(counts, sums.shape).reshape(part.shape[:3])
    return np.where(counted > 0, total / np.maximum(1, counted), np.nan)


def is_applicable(recording: Recording, kind: str, name: str) -> bool:
    """Returns True if the mask of a recorded map lets the metric vary, and for the diagonal of cross-attention."""
    is_self = site_kind(kind).is_self
    if name == DIAGONAL_METRIC and not is_self:
        return True
    for number in range(len(recording.sentences)):
        mask = _mask(recording.arrays[f"{kind}/{number}"])
        if name in applicable_metrics(mask, key_tokens(recording, number, kind), is_self):
            return True
    return False


def count_rows(recording: Recording, kind: str, name: str) -> tuple[int, int]:
    """Returns the number of rows that have a value of the metric, and the number of all rows."""
    counted = total = 0
    for number in range(len(recording.sentences)):
        queries, keys = recording.arrays[f"{kind}/{number}"].shape[3:]  # of [N,L,H,T,S]
        even = np.full((1, queries, keys), 1 / keys, dtype=np.float32)
        _, ((count,),) = Rows.of(even, key_tokens(recording, number, kind)).means([METRICS[name].measure])
        counted, total = counted + int(count), total + queries
    return counted, total


def _mask(levels: np.ndarray) -> np.ndarray:
    """Returns the mask [T,S] of recorded maps [N,L,H,T,S]. A cell that is 0 at every step and head counts as masked."""
    return levels.max(axis=(0, 1, 2)) > 0


def key_tokens(recording: Recording, number: int, kind: str) -> tuple[str, ...]:
    """Returns the token of each column of a map. Older files lack the tokens; these are empty strings."""
    sentence, side = recording.sentences[number], site_kind(kind).key_side
    tokens = sentence.source_tokens if side == "source" else sentence.target_tokens
    count = len(sentence.source if side == "source" else sentence.target)
    return (tokens if side == "source" else ("<s>", *tokens[:-1])) if tokens else ("",) * count


def find_emergence(values: np.ndarray, steps: tuple[int, ...], threshold: float) -> HeadEmergence | None:
    """Returns the first step at which a head's metric [N,L,H] is at least the threshold, with the highest head there.
    Returns None if no head reaches it."""
    largest = values.reshape(len(values), -1).max(axis=1)
    reached = np.flatnonzero(largest >= threshold)
    if not len(reached):
        return None
    index = int(reached[0])
    layer, head = np.unravel_index(int(values[index].argmax()), values.shape[1:])
    return HeadEmergence(steps[index], int(layer), int(head), float(values[index].max()))
