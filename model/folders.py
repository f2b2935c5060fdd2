"""Where checkpoints are looked for by name, and which names are offered. No torch here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_INSTALLED = _HERE / "checkpoints"
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _HERE.parent / "checkpoints"
"""The folder of the shipped checkpoints: in the package where it is installed, beside it in the project."""
LONGEST = 80  # characters of a name
NAME = f"1 to {LONGEST} printable characters, no slash or backslash, no dot before and no space around them"


def homes() -> tuple[Path, ...]:
    """The folder that the environment names as CHECKPOINTS, if it does, then that of the shipped checkpoints."""
    own = os.environ.get("CHECKPOINTS")
    return (Path(own).expanduser().resolve(), SHIPPED) if own else (SHIPPED,)


def is_name(text: str) -> bool:
    """True for what a checkpoint may be called, as `NAME` says: it can be shown and linked to, and leads nowhere else."""
    plain = text.isprintable() and text == text.strip() and not set("/\\") & set(text)
    return plain and 0 < len(text) <= LONGEST and not text.startswith(".")


def offered(places: Sequence[Path]) -> tuple[str, ...]:
    """The checkpoints that lie in some folders, in alphabetical order: folders with a config.json, of a fit name."""
    found = {path.parent.name for place in places for path in place.glob("*/config.json")}
    return tuple(sorted(filter(is_name, found)))
