"""The normaliser of SentencePiece (Kudo and Richardson 2018): a table of rewrites, the longest match first, and spaces made
visible.

Its `precompiled_charsmap` holds a double-array trie (Aoe 1989, as darts-clone lays it out) from UTF-8 bytes to places in a
list of texts, each ending in a zero byte.
"""

from __future__ import annotations

import struct
from array import array

SPACE = "▁"  # what SentencePiece writes for a space
MOST_BYTES = 64  # that are rewritten as one: a damaged trie may go round in circles
LONGER = 16  # times: no honest rewrite makes a text so much longer


class Charsmap:
    """A compiled table of rewrites."""

    def __init__(self, blob: bytes) -> None:
        """ValueError where the bytes are no such table. Empty bytes rewrite nothing."""
        self._units, self._texts = array("I"), b""
        if not blob:
            return
        size = struct.unpack_from("<I", blob)[0] if len(blob) >= 4 else 0
        if size % 4 or not 0 < size <= len(blob) - 4:
            raise ValueError(f"a table of rewrites says it has {size:,} bytes of {len(blob):,}; it is damaged")
        self._units = array("I", struct.unpack_from(f"<{size // 4}I", blob, 4))
        self._texts = blob[4 + size :]

    def blanked(self, text: str) -> str:
        """The text rewritten, runs of spaces as one, none at either end, a `▁` for each and one before the first word; a `▁`
        that was typed stays, but not at the end."""
        words = self.rewritten(text).split(" ")
        return "".join(SPACE + word for word in words if word).rstrip(SPACE)

    def rewritten(self, text: str) -> str:
        """The text with the longest match at each place rewritten; a character that none begins at stays.

        Raises ValueError where that makes it far too long.
        """
        raw, made, at = text.encode("utf-8", errors="replace"), bytearray(), 0
        while at < len(raw):
            length, place = self._longest(raw, at)
            if length:
                end = self._texts.find(b"\0", place)
                made += self._texts[place : end if end >= 0 else len(self._texts)]
            else:
                length = _width(raw[at])
                made += raw[at : at + length]
            if len(made) > LONGER * len(raw) + 1000:
                raise ValueError("its table of rewrites makes texts too long")
            at += length
        return made.decode("utf-8", errors="replace")

    def _longest(self, raw: bytes, at: int) -> tuple[int, int]:
        """How many bytes from a place on are rewritten, and where the text for them begins; 0 for none."""
        units, found = self._units, (0, 0)
        if not units:
            return found
        node = _offset(units[0])
        for n in range(at, min(at + MOST_BYTES, len(raw))):
            node ^= raw[n]
            unit = units[node] if node < len(units) else 0
            if unit & 0x800000FF != raw[n]:
                break
            node ^= _offset(unit)
            if unit >> 8 & 1 and node < len(units):
                found = (n + 1 - at, units[node] & 0x7FFFFFFF)
        return found


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)


def _width(first: int) -> int:
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
