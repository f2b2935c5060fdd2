"""The record of the variants as it is found on the disk, whole, in part or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from model.variants.record import FILE, Variants, place, read

MAKE = "python -m model variants --data TRAIN --dev DEV --test TEST --out runs/variants"
SHIP = f"{MAKE} --ship checkpoints"
NONE = f"No variants have been trained yet: “{MAKE}” trains them, and with “--ship checkpoints” they are shown here."


@dataclass(frozen=True)
class Found:
    """What was read, or the one sentence that says why there is nothing, with the command that makes it."""

    record: Variants | None
    fault: str = ""


def found() -> Found:
    """The record as it is now."""
    path = place()
    if path is None:
        return Found(None, NONE)
    try:
        stat = path.stat()
    except OSError:
        return Found(None, f"{FILE} cannot be read; make it anew: “{SHIP}”.")
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(4)
def _read(path: Path, changed: int, size: int) -> Found:
    try:
        return Found(read(path))
    except (ValueError, OSError) as fault:
        said = " ".join(str(fault).replace(f"{path}", FILE).split()).rstrip(".")
        named = said if said.startswith(FILE) else f"{FILE}: {said}"
        return Found(None, f"{named}. Make it anew: “{SHIP}”.")
