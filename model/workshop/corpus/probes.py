"""Files of probes: sentences to record in training, or to check a checkpoint with, and their right answers."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from pathlib import Path

from ...io.files import MEGABYTE, FileError, read_text
from .corpus import DataError

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
