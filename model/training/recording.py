"""What a few sentences looked like at some steps of a training, as a file.

`probes.npz` in a checkpoint's folder holds the steps, the sentences' tokens, the log-probability of every target token
and the pattern of every site, in units of 1/255.
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

from model.arrays import form
from model.config import MAX_TOKENS
from model.files import DAMAGED, MEGABYTE, FileError, opened, parsed
from model.limits import LARGEST, is_count
from model.trace import KINDS, SITE_KINDS, Site

SENTENCES = 12  # the shortest of the file that many are kept
LEVELS = 255
TEXT_KINDS = ("decoder",)  # of attention, where there is no source
LOG_PROBS = "log_probs"
MAX_STEPS = 1000
MAX_HEADER = 16 * MEGABYTE
MAX_BYTES = 1 << 30  # of a file, and of its arrays


@dataclass(frozen=True)
class Sentence:
    """A source with a target that is held fixed through the training; ids end in `</s>`. A text for a model without an
    encoder is a target, and its source is empty."""

    name: str
    source_text: str
    target_text: str
    source: tuple[int, ...]
    target: tuple[int, ...]


def shapes(sentences: Sequence[Sentence], sizes: Mapping[str, tuple[int, int]], steps: int) -> dict[str, tuple[int, ...]]:
    """The shape of each array of a recording; `sizes` are layers and heads of each kind of attention that the model has."""
    found: dict[str, tuple[int, ...]] = {}
    for number, sentence in enumerate(sentences):
        lengths = {"source": len(sentence.source), "target": len(sentence.target)}
        found[f"{LOG_PROBS}/{number}"] = (steps, lengths["target"])
        for kind, size in sizes.items():
            of = SITE_KINDS[kind]
            found[f"{kind}/{number}"] = (steps, *size, lengths[of.queries], lengths[of.keys])
    return found


@dataclass(frozen=True)
class Recording:
    """What was kept: N steps of a training, for each sentence its log-probabilities and patterns."""

    sentences: tuple[Sentence, ...]
    steps: tuple[int, ...]
    arrays: dict[str, np.ndarray]

    def log_probs(self, sentence: int) -> np.ndarray:
        """Natural log-probability of each target token at each step: [N,T]."""
        return self.arrays[f"{LOG_PROBS}/{sentence}"]

    def losses(self) -> np.ndarray:
        """Nats a token, of each sentence at each step: [N, sentences]."""
        return np.stack([-self.log_probs(n).mean(axis=1) for n in range(len(self.sentences))], axis=1)

    def patterns(self, sentence: int, site: Site) -> np.ndarray:
        """The pattern of each head of a site at each step, to the nearest 1/255: float32 [N,H,T,S]."""
        return self.arrays[f"{site.kind}/{sentence}"][:, site.layer].astype(np.float32) / LEVELS

    def save(self, path: Path) -> None:
        """Writes the file whole, by way of a temporary one."""
        header = {"steps": list(self.steps), "sentences": [vars(s) for s in self.sentences]}
        text = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), dtype=np.uint8)
        temporary = path.with_name(path.name + ".new")
        with temporary.open("wb") as raw:
            np.savez_compressed(raw, header=text, **self.arrays)
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Reads a file of `save`; ValueError, naming it, where it is damaged or incomplete. The form of each array is
        compared with what the sentences say before it is unpacked."""
        try:
            with opened(path, MAX_BYTES) as raw, zipfile.ZipFile(raw) as archive:
                sentences, steps = _sentences(parsed(_header(archive)))
                kinds = KINDS if sentences[0].source else TEXT_KINDS
                sizes = {kind: _size(archive, kind) for kind in kinds}
                expected = shapes(sentences, sizes, len(steps))
                if sum(map(np.prod, expected.values())) > MAX_BYTES:
                    raise ValueError("its arrays are too large")
                arrays = {key: _array(archive, key, shape) for key, shape in expected.items()}
        except (FileError, FileNotFoundError) as fault:
            raise ValueError(f"{fault}; expected a recording of probes. Copy the file again.") from None
        except (*DAMAGED, TypeError, SyntaxError, TokenError, MemoryError) as fault:
            said = " ".join(str(fault).split())[:200] or type(fault).__name__
            raise ValueError(f"{path} is no readable recording of probes ({said}); copy the file again.") from None
        return cls(sentences, steps, arrays)


def _header(archive: zipfile.ZipFile) -> bytes:
    with archive.open("header.npy") as raw:
        shape, kind = form(raw)
        if kind != np.uint8 or len(shape) != 1 or shape[0] > MAX_HEADER:
            raise ValueError("its header is no text")
        return raw.read(shape[0])


def _sentences(header: Any) -> tuple[tuple[Sentence, ...], tuple[int, ...]]:
    """The sentences and the steps that a header names; ValueError, TypeError or KeyError where it is none."""
    steps = header["steps"]
    found = tuple(
        Sentence(**(s | {"source": tuple(s["source"]), "target": tuple(s["target"])})) for s in header["sentences"]
    )
    if not 0 < len(found) <= SENTENCES or not 0 < len(steps) <= MAX_STEPS or not all(map(is_count, steps)):
        raise ValueError(f"it has {len(found)} sentences and {len(steps)} steps")
    for each in found:
        if not all(isinstance(text, str) for text in (each.name, each.source_text, each.target_text)):
            raise ValueError("a sentence of it is no text")
        if bool(each.source) != bool(found[0].source):
            raise ValueError("some of its sentences have a source, and some have none")
        for ids in (each.source, each.target) if each.source else (each.target,):
            if not 0 < len(ids) <= MAX_TOKENS or not all(map(is_count, ids)):
                raise ValueError("a sentence of it has no tokens, or too many")
    return found, tuple(steps)


def _size(archive: zipfile.ZipFile, kind: str) -> tuple[int, int]:
    """Layers and heads of a kind of attention, as the array of the first sentence has them."""
    with archive.open(f"{kind}/0.npy") as raw:
        shape, _ = form(raw)
    most = LARGEST[f"{SITE_KINDS[kind].stack}_layers"], LARGEST["heads"]
    if len(shape) != 5 or not all(0 < found <= limit for found, limit in zip(shape[1:3], most, strict=True)):
        raise ValueError(f"{kind + '/0'!r} has the shape {shape}")
    return shape[1], shape[2]


def _array(archive: zipfile.ZipFile, key: str, expected: tuple[int, ...]) -> np.ndarray:
    wanted = np.dtype(np.float32 if key.startswith(LOG_PROBS) else np.uint8)
    with archive.open(f"{key}.npy") as raw:
        shape, kind = form(raw)
        if shape != expected or kind != wanted:
            raise ValueError(f"{key!r} has the shape {shape}, {kind}; expected {expected}, {wanted}")
        content = raw.read(int(np.prod(expected)) * wanted.itemsize + 1)
    found = np.frombuffer(content, wanted).reshape(expected)
    if not np.isfinite(found).all():
        raise ValueError(f"{key!r} holds a number that is not finite")
    return found
