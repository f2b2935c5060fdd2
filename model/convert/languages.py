"""Reads the languages of a model from the codes in its folder."""

from __future__ import annotations

import re
from typing import Any

from model.text.languages import BY_CODE

_PAIR = re.compile(r"opus-mt-([a-zA-Z_]+)-([a-zA-Z_]+)$")


def of(code: Any) -> str | None:
    """The name for a code; the code itself where it is another one, None where it is none."""
    if not isinstance(code, str) or not re.fullmatch(r"[a-zA-Z_]{2,12}", code):
        return None
    return BY_CODE.get(code.lower(), code)


def pair(name: Any) -> tuple[str | None, str | None]:
    """The two languages of a model that is called `opus-mt-en-fr`, or something that ends in it."""
    found = _PAIR.search(name) if isinstance(name, str) else None
    return (None, None) if found is None else (of(found[1]), of(found[2]))
