"""Measured reasons: what an edit does to a token that a text explains."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """An edit that backs a text. Where the text does not name `after`, it differs from `before` by 0.1 or more."""

    edits: str  # codes of a link, with ~ between
    token: str  # of the unedited translation, where it first stands
    before: float  # its probability without the edits, two digits
    after: float  # with them

    @classmethod
    def read(cls, text: str) -> Reason:
        """Reads `EDITS TOKEN BEFORE AFTER`. Raises ValueError for anything else."""
        edits, token, before, after = text.split()
        return cls(edits, token, float(before), float(after))


def hidden(word: int) -> str:
    """Returns the edits that hide a source token, from 1: no row of the encoder or of cross-attention sees it."""
    return f"block_enc_all-{word}~block_cross_all-{word}"
