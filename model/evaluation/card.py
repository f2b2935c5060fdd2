"""The parts of a model card that are written by what was measured: how often the lab's warnings are right."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from model.files import MEGABYTE, read_text
from model.text.worth import Worth, read

MOST = MEGABYTE  # bytes of a model card
HEADING = "## How often the warnings are right"
KINDS = {
    "rare": "a source word that training had fewer than 5 times",
    "unsure": "a token of a probability under 0.3",
    "overlooked": "a source word that no step gives a weight of 0.25",
    "long": "source or translation longer than 99% of the training's",
}


def table(warnings: dict[str, Any]) -> str:
    """The numbers of `model.experiments.warnings.measure`, as a table; the last row is warning always."""
    found = read({"warnings": warnings})
    always = Worth(warnings["sentences"], warnings["bad"], warnings["sentences"], warnings["bad"])
    rows = [(KINDS.get(name, name), worth) for name, worth in found.items()]
    lines = [
        f"| {name} | {worth.warned:,} | {worth.right:,} | {worth.precision:.2f} | {worth.recall:.2f} |"
        for name, worth in [*rows, ("warning always", always)]
    ]
    return "\n".join(["| warning | stands at | right | precision | recall |", "|---|---|---|---|---|", *lines])


def signs_table(warnings: dict[str, Any]) -> str:
    """The same by the number of kinds of warning that stand at a sentence."""
    lines = [
        f"| {number} | {row['sentences']:,} | {row['bad']:,} | {row['bad'] / max(1, row['sentences']):.2f} |"
        for number, row in enumerate(warnings.get("signs", ()))
    ]
    return "\n".join(["| kinds of warning | sentences | bad | share |", "|---|---|---|---|", *lines]) if lines else ""


def write(path: Path, warnings: dict[str, Any]) -> None:
    """Puts the section into a model card; errors as `put`."""
    section = (
        f"Of {warnings['sentences']:,} sentences {warnings['bad']:,} came out badly: chrF under "
        f"{warnings['bar']:g} against the best of their references. Counted by `python -m model evaluate --warnings`.\n\n"
        f"{table(warnings)}\n\n{signs_table(warnings)}"
    )
    put(path, HEADING, section)


def rename(path: Path, name: str) -> None:
    """Makes a name the heading of a model card, where the card has a heading; errors as `put`."""
    text = read_text(path, MOST)
    path.write_text(re.sub(r"\A# .*", lambda _: f"# {name}", text), encoding="utf-8")


def put(path: Path, heading: str, section: str) -> None:
    """Puts a section into a model card, in place of the one that was there; the rest stays as it is.

    Raises FileError where the card is no text, too large, or no regular file.
    """
    text = read_text(path, MOST) if os.path.lexists(path) else ""
    before, found, after = text.partition(heading)
    following = re.search(r"^## ", after, re.MULTILINE) if found else None
    rest = after[following.start() :] if following else ""
    parts = (before, f"{heading}\n\n{section}", rest)
    path.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")
