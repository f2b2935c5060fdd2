"""Files that the server makes of a view, beside the pictures that the browser draws: each is made when it is asked for."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

NUMBERS, PAGE, COPIED = "Numbers", "Page", "Lines to copy"  # the groups in which they are offered
CHANGED = "This view has changed: ask again."
FAULT = "This could not be made ({}). Nothing was saved; what you typed is kept."


class File(NamedTuple):
    """A file as the browser saves it."""

    name: str
    mime: str
    content: bytes


@dataclass(frozen=True)
class Offer:
    """A file to be had: what its button says, and what makes it, which may raise ValueError with one sentence. `copied`: its
    text goes to the clipboard instead of a file."""

    label: str
    make: Callable[[], File]
    group: str = NUMBERS
    copied: bool = False


def listed(offers: Sequence[Offer]) -> list[dict[str, str]]:
    """What the panel shows of them."""
    return [{"group": offer.group, "label": offer.label} for offer in offers]


def made(offer: Offer, number: str) -> dict[str, Any]:
    """An offer's file for the browser, or one sentence that says why there is none; `number` tells it from all others."""
    try:
        file = offer.make()
    except (ValueError, OSError) as fault:
        return failed(getattr(fault, "strerror", None) or str(fault), number)
    except Exception as fault:
        logging.getLogger(__name__).exception("A file could not be made: %s", offer.label)
        return failed(FAULT.format(type(fault).__name__), number)
    encoded = b64encode(file.content).decode()
    return {"number": number, "name": file.name, "mime": file.mime, "bytes": encoded, "copied": offer.copied}


def failed(fault: str, number: str) -> dict[str, str]:
    """What is answered in place of a file: a sentence, with a large letter first and one full stop at its end."""
    told = fault.strip().rstrip(".") or "This could not be made"
    return {"number": number, "fault": f"{told[0].upper()}{told[1:]}."}
