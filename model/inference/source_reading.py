"""Source texts as encoder ids, with blanks and second sentences, and the aligned donor sentence of an intervention.

Two sources are aligned by their longest common part, then recursively on both sides of it. Different parts are paired from
the end, because the last token of a word has read all of it (Meng et al. 2022 patch the last token of the subject). Other
tokens have no partner. Target positions need none: both decoders read the same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import END, MAX_TOKENS, PAD, START, ModelConfig
from ..decoding.strategy import RequestError
from ..edits.apply import Donor, Edits
from ..edits.intervention import Intervention
from ..text import sentences

if TYPE_CHECKING:
    from ..checkpoint import Checkpoint
    from .analysis import Analysis

ONE_ALONE = "This model reads one sentence at a time: leave the second one out."


def reads_two(config: ModelConfig) -> bool:
    """True for a model with next-sentence prediction."""
    return config.follows


def source_ids(checkpoint: Checkpoint, text: str, second: str = "") -> list[int]:
    """Returns the ids of a text as the encoder reads it, of any length, with `</s>` after each sentence.

    `<s>` comes first where the model has it. Blanks become the mask token where the vocabulary has one.

    Raises RequestError for a second sentence where the model reads one.
    """
    if second and not reads_two(checkpoint.config):
        raise RequestError(ONE_ALONE)
    start = [START] if checkpoint.config.source_start else []
    ids = [*start, *_own_ids(checkpoint, text), END]
    return [*ids, *_own_ids(checkpoint, second), END] if second else ids


def _own_ids(checkpoint: Checkpoint, text: str) -> list[int]:
    """Returns the ids of a sentence without control tokens; blanks become the mask token."""
    tokenizer = checkpoint.source_tokenizer
    if tokenizer.mask is None:
        return tokenizer.encode(text.strip())
    *before, last = sentences.parts(text.strip())
    parts = [part.removesuffix(" ") for part in before]  # the space before a word belongs to its token
    first, *others = (tokenizer.encode(part) for part in (*parts, last))
    return [*first, *(token for part in others for token in (tokenizer.mask, *part))]


def beside(checkpoint: Checkpoint, text: str, source: list[int]) -> list[int]:
    """Returns the ids of another first sentence, followed by the second sentence of `source`, if any."""
    first = source.index(END) if source.count(END) == 2 else None
    return source_ids(checkpoint, text) + ([] if first is None else [*source[first + 1 : source.index(END, first + 1)], END])


def blank_places(analysis: Analysis, loaded: Checkpoint) -> list[int]:
    """Returns the positions of the blanks; empty unless the model is a masked language model."""
    mask = loaded.source_tokenizer.mask
    return [] if mask is None else [n for n, token in enumerate(analysis.trace.predicted.ids) if token == mask]


def likeliest(analysis: Analysis, places: Sequence[int], mask: int | None) -> tuple[int, ...]:
    """Returns the tokens of the text with the top token in each blank; all blanks are predicted at once."""
    return filled(analysis.trace.predicted.ids, analysis.trace.log_probs, mask, places)


def filled(
    ids: Sequence[int], log_probs: np.ndarray, mask: int | None, places: Sequence[int] | None = None
) -> tuple[int, ...]:
    """Returns the ids with the top token, without control tokens, in the given blanks or in all; log_probs [S,V]."""
    result = list(ids)
    for place in (n for n, token in enumerate(ids) if token == mask) if places is None else places:
        row = log_probs[place].copy()
        row[[PAD, START, END, *filter(None, [mask])]] = -np.inf
        result[place] = int(row.argmax())
    return tuple(result)


def fillings(analysis: Analysis, loaded: Checkpoint) -> list[dict[str, Any]]:
    """Returns position (from 1), top word and probability of each blank, as JSON values."""
    places = blank_places(analysis, loaded)
    ids = likeliest(analysis, places, loaded.source_tokenizer.mask)
    return [
        {
            "place": place + 1,
            "word": loaded.source_tokenizer.decode([ids[place]]).strip(),
            "probability": round(float(np.exp(analysis.trace.log_probs[place][ids[place]].astype(float))), 6),
        }
        for place in places
    ]


def likeliest_text(analysis: Analysis, loaded: Checkpoint) -> list[str]:
    """Returns the sentences with the top token in each blank; empty without blanks."""
    if analysis.task.writes or not (places := blank_places(analysis, loaded)):
        return []
    ids = likeliest(analysis, places, loaded.source_tokenizer.mask)
    sides = analysis.trace.source.sentences or (0,) * len(ids)
    own = ([token for token, of in zip(ids, sides, strict=True) if of == side] for side in dict.fromkeys(sides))
    return [loaded.source_tokenizer.decode(each).strip() for each in own]


def partners(own: Sequence[int], theirs: Sequence[int]) -> tuple[int | None, ...]:
    """Returns the partner position in the other source of each source position; None without one, as for `<pad>`."""
    real = [token for token in own if token != PAD]
    aligned: list[int | None] = [None] * len(own)
    for _, start, end, first, last in SequenceMatcher(None, real, list(theirs), autojunk=False).get_opcodes():
        for back in range(1, 1 + min(end - start, last - first)):
            aligned[end - back] = last - back
    return tuple(aligned)


def donor_of(checkpoint: Checkpoint, edit: Intervention, source: Sequence[int] | None) -> Donor | None:
    """Returns the donor sentence of an intervention, aligned with a source; None without a donor.

    Raises RequestError where the donor exceeds the text limit.
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
    """Returns the edits of a batch over a source, one intervention for all rows or one a row."""
    taking = next((row for row in rows if row.takes), None)
    return Edits(rows, checkpoint.means, None if taking is None else donor_of(checkpoint, taking, source))


def unpaired(checkpoint: Checkpoint, source: Sequence[int], donor: Donor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the tokens without a partner, of the source and of the other sentence."""
    pieces, theirs = checkpoint.source_tokenizer.pieces(source), checkpoint.source_tokenizer.pieces(donor.ids)
    lonely = [n for n, partner in enumerate(donor.partners) if partner is None and source[n] != PAD]
    left = [n for n in range(len(theirs)) if n not in donor.partners]
    return tuple(pieces[n] for n in lonely), tuple(theirs[n] for n in left)
