"""Files of probes: sentences to watch through a training, or to check a checkpoint with, and what counts as right."""

from __future__ import annotations

from pathlib import Path

from model.files import MEGABYTE, FileError, read_text
from model.text.corpus import DataError

MOST = MEGABYTE  # bytes of a file


def read_probes(path: Path) -> list[tuple[str, str, list[str]]]:
    """Name, source and the targets that count as right, of each line NAME TAB SOURCE TAB TARGET|TARGET; # comments.

    Raises DataError with the line's number, or where the file cannot be read.
    """
    form = "name TAB source TAB targets with | between them"
    return [(name, source, targets.split("|")) for name, source, targets in _rows(path, 3, form)]


def read_probe_texts(path: Path) -> list[tuple[str, str]]:
    """Name and text of each line NAME TAB TEXT, for a model without an encoder; errors as `read_probes`."""
    return [(name, text) for name, text in _rows(path, 2, "name TAB text")]


def _rows(path: Path, columns: int, form: str) -> list[list[str]]:
    try:
        lines = read_text(path, MOST).splitlines()
    except (OSError, FileError) as fault:
        reason = f"{path}: {fault.strerror}" if isinstance(fault, OSError) else str(fault)
        raise DataError(f"{reason}; expected a readable file of probes.") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != columns or not all(fields):
            raise DataError(f"{path}, line {number}: expected {form}.")
        found.append(fields)
    if not found:
        raise DataError(f"{path}: no probe in it; expected at least one line of {form}.")
    return found
