"""Pairs of the kinds that students type: names, greetings, chat forms, idioms, words of the subject, and typed variants."""

from __future__ import annotations

import random
import re
from pathlib import Path

from ..corpus.corpus import DataError
from . import french
from .generation import normalize
from .lexicon import Lexicon

VARIANT_SHARE = 0.25  # of the pairs, each in capitals, in lower case and without a full stop


def student_pairs(lexicon: Lexicon, texts: Path, excluded: set[str], generator: random.Random) -> list[tuple[str, str]]:
    """Returns distinct pairs English, French, without the excluded sentences. Raises DataError with file and line."""
    pairs = dict[str, str]()
    for path in sorted((texts / "students").glob("*.tsv")):
        read = _read_names(path, lexicon, generator) if path.stem == "names" else _read_pairs(path)
        for source, target in read:
            if normalize(source) not in excluded:
                pairs.setdefault(source, target)
    for source, target in list(pairs.items()):
        for variant in _variants(source, target):
            if generator.random() < VARIANT_SHARE:
                pairs.setdefault(*variant)
    return list(pairs.items())


def _variants(source: str, target: str) -> list[tuple[str, str]]:
    """Returns the pair in capitals, and with a source in lower case and one without a full stop; their French stays."""
    bare = source.removesuffix(".")
    return [(source.upper(), target.upper()), (bare.lower(), target), (bare, target)]


def _rows(path: Path) -> list[tuple[str, str]]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not all(cells):
            raise DataError(f"{path}, line {number}: expected English TAB French.")
        rows.append((cells[0], cells[1]))
    return rows


def _read_pairs(path: Path) -> list[tuple[str, str]]:
    return [(source, french.elide(target)) for source, target in _rows(path)]


def _read_names(path: Path, lexicon: Lexicon, generator: random.Random) -> list[tuple[str, str]]:
    """Returns each first name in three sentences. N and M are names; {he/she} and {M: le/la} have their genders."""
    frames = _rows(path)
    pairs = []
    for name in lexicon.names:
        for source, target in generator.sample(frames, 3):
            other = generator.choice([each for each in lexicon.names if each.name != name.name])
            pairs.append((_fill(source, name, other).replace("*", ""), french.elide(_fill(target, name, other))))
    return pairs


def _fill(text: str, name, other) -> str:
    def place(match):
        choice, _, who = match[1].partition("~")
        if choice in ("N", "M"):
            return (name if choice == "N" else other).french
        females = [each.is_feminine for each in {"": (name,), "M": (other,), "NM": (name, other)}[who]]
        return choice.split("/")[all(females)]

    return re.sub(r"\{([^{}]*)\}", place, text)
