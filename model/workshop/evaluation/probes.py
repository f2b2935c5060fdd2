"""Probes: sentences to record in training, or to check a checkpoint with, and the counts of correct answers by kind."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from ...checkpoint import Checkpoint
from ...decoding.strategy import Decoding
from ...io.files import MEGABYTE, FileError, read_text
from ..corpus.corpus import DataError
from .scoring import GREEDY, translate_texts

MAX_BYTES = MEGABYTE  # bytes of a file
MOST_TARGETS = 1000  # of a line with choices
_CHOICE = re.compile(r"\{([^{}]*/[^{}]*)\}")


def read_probes(path: Path) -> list[tuple[str, str, list[str]]]:
    """Returns name, source and right targets of each line NAME TAB SOURCE TAB TARGET|TARGET; # starts a comment.

    Within a target {a/b} means either: "Il {est/était} {/très }tard." gives four, the first of which is "Il est tard.".
    Raises DataError with the line number, or if the file is unreadable.
    """
    form = "name TAB source TAB targets with | between them"
    probes = []
    for number, (name, source, written) in _rows(path, 3, form):
        targets = [_CHOICE.split(target) for target in written.split("|")]
        count = sum(prod(len(options) for options in _options(parts)) for parts in targets)
        if count > max(MOST_TARGETS, len(targets)):
            raise DataError(f"{path}, line {number}: {{a/b}} gives more than {MOST_TARGETS:,} targets; use fewer choices.")
        texts = ["".join(each).strip() for parts in targets for each in product(*_options(parts))]
        if not any(texts):
            raise DataError(f"{path}, line {number}: expected {form}.")
        probes.append((name, source, [text for text in texts if text]))
    return probes


def read_probe_texts(path: Path) -> list[tuple[str, str]]:
    """Returns name and text of each line NAME TAB TEXT, for a model without an encoder; errors as `read_probes`."""
    return [(name, text) for _, (name, text) in _rows(path, 2, "name TAB text")]


def _options(parts: list[str]) -> list[list[str]]:
    """Returns the options of each part of a split target. Every second part is a choice."""
    return [part.split("/") if number % 2 else [part] for number, part in enumerate(parts)]


def _rows(path: Path, columns: int, form: str) -> list[tuple[int, list[str]]]:
    """Returns the number and the fields of each line."""
    try:
        lines = read_text(path, MAX_BYTES).splitlines()
    except (OSError, FileError) as fault:
        reason = f"{path}: {fault.strerror}" if isinstance(fault, OSError) else str(fault)
        raise DataError(f"{reason}; expected a readable file of probes.") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != columns or not all(fields):
            raise DataError(f"{path}, line {number}: expected {form}.")
        rows.append((number, fields))
    if not rows:
        raise DataError(f"{path}: no probe; expected at least one line of {form}.")
    return rows


_EQUIVALENT = str.maketrans(
    {**dict.fromkeys("’‘ʼ‹›‚", "'"), **dict.fromkeys("“”„«»", '"'), "œ": "oe", "Œ": "Oe", "…": "...", "‐": "-", "‑": "-"}
)
_ENDS = (".", "!", "?", "…")
_CLOSING = "\"'’”»›) \u00a0\u202f"  # what may stand after a sentence's end


@dataclass(frozen=True)
class ScoredProbe:
    """Sentence with its accepted translations.

    In "idioms: rain" the kind stands before the colon; without a colon it is the file's name.
    """

    kind: str
    source: str
    accepted: tuple[str, ...]

    def is_right(self, translation: str) -> bool:
        """Returns True for an accepted translation, up to `normalize`."""
        return normalize(translation, self.source) in {normalize(each, self.source) for each in self.accepted}


def read(paths: Sequence[Path]) -> list[ScoredProbe]:
    """Reads the probes of files. Raises the errors of `read_probes`."""
    return [
        ScoredProbe(name.partition(":")[0].strip() if ":" in name else path.name, source, tuple(accepted))
        for path in paths
        for name, source, accepted in read_probes(path)
    ]


def normalize(text: str, source: str) -> str:
    """Removes differences of a translation that do not make it wrong.

    Apostrophes, hyphens and dots (... for …) become plain ones, all quotes double ones, œ becomes oe. Every kind of space
    becomes one space, with none before ? ! : ; % € or inside quotes. Capitals lose their accents. Where the source lacks a
    final . ! ? or … (before quotes and brackets), the full stop is optional. Where the source is in lower case, or is a
    title of three or more words, capitals are optional.
    """
    text = " ".join(unicodedata.normalize("NFC", text).translate(_EQUIVALENT).split())  # also at no-break spaces
    text = re.sub(r" +(?=[?!:;%€])", "", text)
    text = re.sub(r"(?<!\w)'(.+?)'(?!\w)", r'"\1"', text)
    text = re.sub(r'" ?(.*?) ?"', r'"\1"', text)
    if not source.rstrip(_CLOSING).endswith(_ENDS) and not text.endswith(".."):
        text = text.removesuffix(".")
    words = source.split()
    if source == source.lower() or (len(words) >= 3 and all(word[0].isupper() for word in words)):
        text = text[:1].upper() + text[1:].lower()
    return "".join(unicodedata.normalize("NFD", each)[0] if each.isupper() else each for each in text)


def measure(
    checkpoint: Checkpoint,
    probes: Sequence[ScoredProbe],
    decoding: Decoding = GREEDY,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Translates the probes.

    Returns `right` and `sentences` in all and for each of the `kinds`; and `wrong`: kind, source and translation of the
    wrong ones.
    """
    model, tokenizers = checkpoint.model, (checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    translations = translate_texts(model, *tokenizers, [probe.source for probe in probes], progress, decoding).texts
    results = [(probe, text, probe.is_right(text)) for probe, text in zip(probes, translations, strict=True)]
    kinds = {
        kind: {"right": sum(right for each, _, right in results if each.kind == kind), "sentences": count}
        for kind, count in _count([probe.kind for probe in probes]).items()
    }
    wrong = [{"kind": probe.kind, "source": probe.source, "said": text} for probe, text, right in results if not right]
    return {"right": len(results) - len(wrong), "sentences": len(results), "kinds": kinds, "wrong": wrong}


def _count(names: Sequence[str]) -> dict[str, int]:
    return {name: names.count(name) for name in dict.fromkeys(names)}
