"""Files that the server makes of a view, beside the pictures that the browser draws: each is made when it is asked for."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NUMBERS, PAGE, PYTHON = "Numbers", "Page", "Python"  # the groups in which they are offered
FAULT = "This could not be made ({}). Nothing was saved; what you typed is kept."


@dataclass(frozen=True)
class Offer:
    """A file to be had: what its button says, the file's name and kind, and what makes its bytes, which may raise ValueError
    with one sentence. `copied`: its text goes to the clipboard instead of a file."""

    label: str
    file_name: str
    mime: str
    make: Callable[[], bytes]
    group: str = NUMBERS
    copied: bool = False


# What every page offers, each of what a page shows (`frame.Shown`): a new one is one entry here.
EVERYWHERE: tuple[Callable[[Any], tuple[Offer, ...]], ...] = ()


def listed(offers: Sequence[Offer]) -> list[dict[str, str]]:
    """What the panel shows of them."""
    return [{"group": offer.group, "label": offer.label} for offer in offers]


def made(offer: Offer, number: str) -> dict[str, Any]:
    """An offer's file for the browser, or one sentence that says why there is none; `number` tells it from all others."""
    try:
        content = offer.make()
    except (ValueError, OSError) as fault:
        return {"number": number, "fault": str(fault)}
    except Exception as fault:
        logging.getLogger(__name__).exception("A file could not be made: %s", offer.label)
        return {"number": number, "fault": FAULT.format(type(fault).__name__)}
    encoded = b64encode(content).decode()
    return {"number": number, "name": offer.file_name, "mime": offer.mime, "bytes": encoded, "copied": offer.copied}
