"""Packs JSON values into the text of a link, and unpacks them."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

OWN = "~"  # prefix of packed values; the name of something ready has none
_PACKED = re.compile(r"~[A-Za-z0-9_-]*")


def pack(values: Any) -> str:
    """Returns the values as text for a link, of any length."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
    deflater = zlib.compressobj(9, wbits=-15)
    return OWN + base64.urlsafe_b64encode(deflater.compress(text) + deflater.flush()).decode().rstrip("=")


def unpack(text: str, max_bytes: int) -> bytes:
    """Returns the JSON text of a link's text.

    Raises ValueError for text that is damaged or has more than `max_bytes`.
    """
    if not _PACKED.fullmatch(text) or len(text) > 2 * max_bytes:
        raise ValueError("the packed text is damaged")
    inflater = zlib.decompressobj(wbits=-15)
    try:
        raw = inflater.decompress(base64.urlsafe_b64decode(text[1:] + "=" * (-(len(text) - 1) % 4)), max_bytes + 1)
    except zlib.error:
        raise ValueError("the packed text is damaged") from None
    if not inflater.eof or len(raw) > max_bytes:
        raise ValueError("the packed text is damaged")
    return raw
