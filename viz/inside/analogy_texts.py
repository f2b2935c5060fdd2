"""The famous sum of words, told as what it is in this table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model import format
from model.readings.neighbours import RARE

if TYPE_CHECKING:
    from model.readings.analogies import Analogy


def analogy_text(found: Analogy) -> str:
    """Whether the sum gives the fourth word, and what may be why, in a few sentences."""
    a, b, c, d = found.words
    asked = f"{a} − {b} + {c}, which in other tables gives {d} (Mikolov, Yih and Zweig 2013): "
    cut = [
        f"“{word}” is cut into {' + '.join(own)}"
        for word, own in zip(found.words, found.pieces, strict=True)
        if len(own) > 1
    ]
    if not found.nearest:
        return (
            f"{asked}here it cannot be asked, for {' and '.join(cut)}, and such a word has no row of its own.{_seen(found)}"
        )
    nearest = ", ".join(f"{label} {format.decimal(cosine)}" for label, cosine in found.nearest)
    if found.holds:
        return f"{asked}here too. {_left_out(found)}: {nearest}.{_seen(found)}"
    why = f"{d} is number {found.rank:,} of {found.of:,}" if found.rank else f"{cut[0]}, so no row stands for it"
    own = f" With the three, the nearest would be {found.itself}." if found.itself not in dict(found.nearest) else ""
    return f"{asked}here it fails: {why}. {_left_out(found)}: {nearest}.{own}{_seen(found)}"


def _left_out(found: Analogy) -> str:
    """Introduces the list of the nearest tokens, and says which tokens it leaves out."""
    three = "Nearest to the sum, without the three words"
    if not found.rare:
        return three
    tokens = "1 token" if found.rare == 1 else f"{found.rare:,} tokens"
    return f"{three} and {tokens} seen fewer than {RARE} times in {found.language}"


def _seen(found: Analogy) -> str:
    """How often training had the words."""
    if found.seen is None:
        return ""
    each = [f"{word} {format.times(count)}" for word, count in zip(found.words, found.seen, strict=True)]
    return f" Training had {', '.join(each[:-1])} and {each[-1]}; those tables had read hundreds of millions of words."
