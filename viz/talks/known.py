"""Which talk a view names: a ready one, or one's own."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from viz.talks.talk import Talk, TalkError
from viz.talks.written import OWN, read, unpacked

READY = ("20-minutes", "masks", "tokens-to-translation")  # in the order in which they are offered; each a file in ready/
HOME = Path(__file__).with_name("ready")


@cache
def ready() -> dict[str, Talk]:
    """The talks that the lab brings along, by their names."""
    return {name: read((HOME / f"{name}.json").read_bytes(), name) for name in READY}


@lru_cache(64)
def found(text: str) -> tuple[Talk | None, str]:
    """The talk of a view's `talk`, or None, and one sentence where it cannot be had."""
    if not text:
        return None, ""
    if not text.startswith(OWN):
        if talk := ready().get(text):
            return talk, ""
        return None, f"There is no talk “{text[:40]}”; expected one of {', '.join(READY)}, or a link that holds one."
    try:
        return unpacked(text), ""
    except TalkError as fault:
        return None, str(fault)
