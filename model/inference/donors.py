"""The other sentence of an intervention: its tokens, and which of them each source position takes from.

Two sources are aligned by their longest common part, then by those of what is left on both sides of it. Within what differs
tokens are paired from the end, for the last token of a word has read all of it (Meng et al. 2022 patch the last token of the
subject). What is left over on one side has no partner. Target positions need none: both decoders read the same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from model.config import MAX_TOKENS, PAD
from model.decoding.strategy import RequestError
from model.edits.apply import Donor, Edits
from model.edits.intervention import Intervention
from model.inference.reading import beside

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint


def partners(own: Sequence[int], theirs: Sequence[int]) -> tuple[int | None, ...]:
    """For each position of a source that of the other which it takes from, None where there is none; `<pad>` has none."""
    real = [token for token in own if token != PAD]
    found: list[int | None] = [None] * len(own)
    for _, start, end, first, last in SequenceMatcher(None, real, list(theirs), autojunk=False).get_opcodes():
        for back in range(1, 1 + min(end - start, last - first)):
            found[end - back] = last - back
    return tuple(found)


def donor_of(checkpoint: Checkpoint, edit: Intervention, source: Sequence[int] | None) -> Donor | None:
    """The sentence that an intervention takes from, beside a source; None where it takes nothing, and where there is none.

    Raises RequestError where it is longer than the text limit.
    """
    if not edit.takes or not edit.donor or source is None:
        return None
    ids = tuple(beside(checkpoint, edit.donor, list(source)))
    if len(ids) > MAX_TOKENS:
        raise RequestError(
            f"The other sentence has {len(ids):,} tokens, </s> included; expected at most {MAX_TOKENS}. Shorten it."
        )
    return Donor(ids, partners(source, ids))


def edits_of(checkpoint: Checkpoint, source: Sequence[int] | None, rows: Sequence[Intervention]) -> Edits:
    """The interventions of a batch over a source, one for all rows or one a row, with all that they need of a checkpoint."""
    taking = next((row for row in rows if row.takes), None)
    return Edits(rows, checkpoint.means, None if taking is None else donor_of(checkpoint, taking, source))


def unpaired(checkpoint: Checkpoint, source: Sequence[int], donor: Donor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tokens without a partner: of the source, and of the other sentence."""
    pieces, theirs = checkpoint.source_tokenizer.pieces(source), checkpoint.source_tokenizer.pieces(donor.ids)
    lonely = [n for n, partner in enumerate(donor.partners) if partner is None and source[n] != PAD]
    left = [n for n in range(len(theirs)) if n not in donor.partners]
    return tuple(pieces[n] for n in lonely), tuple(theirs[n] for n in left)
