"""A talk as text: in a link, packed, and as a readable file. What comes back is checked like any other outside input."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any
from urllib.parse import parse_qsl, urlencode

from viz.talks.talk import MAX_LINE, MAX_STOPS, MAX_TITLE, MAX_VIEW, Stop, Talk, TalkError, plain
from viz.values import MAX_LINK_TEXT

OWN = "~"  # begins a talk of one's own; a ready one is told by its name
SCHEMA = 1
MAX_FILE = 256 * 1024  # bytes, packed or not
_PACKED = re.compile(r"~[A-Za-z0-9_-]*")


def packed(talk: Talk) -> str:
    """The talk as text for a link, however long that is; see `too_long`."""
    text = json.dumps(_values(talk), ensure_ascii=False, separators=(",", ":")).encode()
    deflater = zlib.compressobj(9, wbits=-15)
    return OWN + base64.urlsafe_b64encode(deflater.compress(text) + deflater.flush()).decode().rstrip("=")


def too_long(text: str) -> str:
    """One sentence for a packed talk that no link holds; empty for one that a link does."""
    if len(text) <= MAX_LINK_TEXT:
        return ""
    return (
        f"This talk is too long for a link ({len(text):,} characters; at most {MAX_LINK_TEXT:,}): save it as a file, "
        "and open that file where it is to be shown."
    )


def unpacked(text: str) -> Talk:
    """The talk of a link's text; TalkError where it is none."""
    if not _PACKED.fullmatch(text) or len(text) > 2 * MAX_FILE:
        raise TalkError("The link's talk cannot be read: it has been cut off or changed on the way.")
    inflater = zlib.decompressobj(wbits=-15)
    try:
        raw = inflater.decompress(base64.urlsafe_b64decode(text[1:] + "=" * (-(len(text) - 1) % 4)), MAX_FILE + 1)
    except (ValueError, zlib.error):
        raw = b""
    if not inflater.eof or len(raw) > MAX_FILE:
        raise TalkError("The link's talk cannot be read: it has been cut off or changed on the way.")
    return read(raw, "The link's talk")


def file_of(talk: Talk) -> bytes:
    """The talk as a file that can be read and written by hand."""
    return f"{json.dumps(_values(talk), ensure_ascii=False, indent=2)}\n".encode()


def read(raw: bytes, name: str = "This file") -> Talk:
    """The talk of a file; TalkError, one sentence, where it is none. What is wrong with a view is told at its stop."""
    if len(raw) > MAX_FILE:
        raise TalkError(f"{name} has {len(raw):,} bytes; a talk has at most {MAX_FILE:,}.")
    try:
        found = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise TalkError(f"{name} is no talk: it is not JSON.") from None
    if not isinstance(found, dict) or "talk" not in found:
        raise TalkError(f"{name} is no talk: it lacks “talk”, the version of its form.")
    if type(found["talk"]) is not int or found["talk"] != SCHEMA:  # true is no number
        raise TalkError(f"{name} is a talk of version {ascii(found['talk'])[:20]}; this lab reads version {SCHEMA}.")
    stops = found.get("stops", [])
    if not isinstance(stops, list) or len(stops) > MAX_STOPS:
        raise TalkError(f"{name} has no list of at most {MAX_STOPS} stops.")
    title = _text(found.get("title", ""), MAX_TITLE, f"{name}: the title")
    return Talk(title, tuple(_stop(stop, f"{name}: stop {n}") for n, stop in enumerate(stops, 1))).titled(title)


def _values(talk: Talk) -> dict[str, Any]:
    stops = [{"line": stop.line, "page": stop.page, "view": dict(_params(stop))} for stop in talk.stops]
    return {"talk": SCHEMA, "title": talk.title, "stops": stops}


def _params(stop: Stop) -> list[tuple[str, str]]:
    return parse_qsl(stop.query, keep_blank_values=True)


def _stop(found: Any, name: str) -> Stop:
    if not isinstance(found, dict):
        raise TalkError(f"{name} is no record with line, page and view.")
    view = found.get("view", {})
    if not isinstance(view, dict) or not all(_is_plain(text) for text in view.values()):
        raise TalkError(f"{name}: its view is no record of parameters of a link.")
    page = _text(found.get("page", ""), MAX_TITLE, f"{name}: its page")
    try:
        query = urlencode({key: str(text) for key, text in view.items()})
    except UnicodeEncodeError:
        raise TalkError(f"{name}: its view is no valid text.") from None
    if len(query) > MAX_VIEW:
        raise TalkError(f"{name}: its view has {len(query):,} characters; expected at most {MAX_VIEW:,}.")
    return Stop(page, query, _text(found.get("line", ""), MAX_LINE, f"{name}: its line"))


def _text(found: Any, most: int, name: str) -> str:
    if not isinstance(found, str):
        raise TalkError(f"{name} is no text.")
    return plain(found, most, name)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
