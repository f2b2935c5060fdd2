"""A text as the ids that an encoder reads: with its ends, its blanks, and a second sentence where there is one.

The other sentence of an intervention: its tokens, and which of them each source position takes from.

Two sources are aligned by their longest common part, then by those of what is left on both sides of it. Within what differs
tokens are paired from the end, for the last token of a word has read all of it (Meng et al. 2022 patch the last token of the
subject). What is left over on one side has no partner. Target positions need none: both decoders read the same tokens."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import END, MAX_TOKENS, PAD, START
from ..decoding.strategy import RequestError
from ..edits.apply import Donor, Edits
from ..edits.intervention import Intervention
from ..text import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..checkpoint import Checkpoint
    from ..config import ModelConfig
    from .analysis import Analysis

ONE_ALONE = "This model reads one sentence at a time: leave the second one out."


def reads_two(config: ModelConfig) -> bool:
    """Whether a model reads two sentences, and tells whether the second follows the first."""
    return config.follows


def source_ids(checkpoint: Checkpoint, text: str, second: str = "") -> list[int]:
    """The ids of a text as the encoder reads it, whatever its length: with its end, its start where the model has one, and
    each blank as the token for blanks where the vocabulary has one; a second sentence stands behind the first's end, with
    an end of its own. Of a model without an encoder the text's own, and its end.

    Raises RequestError for a second sentence where the model reads one.
    """
    if second and not reads_two(checkpoint.config):
        raise RequestError(ONE_ALONE)
    start = [START] if checkpoint.config.source_start else []
    ids = [*start, *_own_ids(checkpoint, text), END]
    return [*ids, *_own_ids(checkpoint, second), END] if second else ids


def _own_ids(checkpoint: Checkpoint, text: str) -> list[int]:
    """Those of a sentence alone."""
    tokenizer = checkpoint.source_tokenizer
    if tokenizer.mask is None:
        return tokenizer.encode(text.strip())
    *before, last = sentences.parts(text.strip())
    parts = [part.removesuffix(" ") for part in before]  # the space before a word belongs to its token
    first, *others = (tokenizer.encode(part) for part in (*parts, last))
    return [*first, *(token for part in others for token in (tokenizer.mask, *part))]


def beside(checkpoint: Checkpoint, text: str, source: list[int]) -> list[int]:
    """The ids of another first sentence, with the second one that stands in `source`, if there is one."""
    first = source.index(END) if source.count(END) == 2 else None
    return source_ids(checkpoint, text) + ([] if first is None else [*source[first + 1 : source.index(END, first + 1)], END])


def blank_places(analysis: Analysis, loaded: Checkpoint) -> list[int]:
    """The positions of the blanks; none of a model that fills in none."""
    mask = loaded.source_tokenizer.mask
    return [] if mask is None else [n for n, token in enumerate(analysis.trace.predicted.ids) if token == mask]


def likeliest(analysis: Analysis, places: Sequence[int], mask: int | None) -> tuple[int, ...]:
    """The tokens of the text, the likeliest in each blank that is no control token; all are predicted at once."""
    return filled(analysis.trace.predicted.ids, analysis.trace.log_probs, mask, places)


def filled(
    ids: Sequence[int], log_probs: np.ndarray, mask: int | None, places: Sequence[int] | None = None
) -> tuple[int, ...]:
    """The same of ids and their log-probabilities [S,V]; of all blanks where no places are named."""
    made = list(ids)
    for place in (n for n, token in enumerate(ids) if token == mask) if places is None else places:
        row = log_probs[place].copy()
        row[[PAD, START, END, *filter(None, [mask])]] = -np.inf
        made[place] = int(row.argmax())
    return tuple(made)


def fillings(analysis: Analysis, loaded: Checkpoint) -> list[dict[str, Any]]:
    """Of each blank its place among the tokens, which counts from 1, the likeliest word there, and its probability."""
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
    """The sentences with the likeliest token in each blank, where there is any."""
    if analysis.task.writes or not (places := blank_places(analysis, loaded)):
        return []
    ids = likeliest(analysis, places, loaded.source_tokenizer.mask)
    sides = analysis.trace.source.sentences or (0,) * len(ids)
    own = ([token for token, of in zip(ids, sides, strict=True) if of == side] for side in dict.fromkeys(sides))
    return [loaded.source_tokenizer.decode(each).strip() for each in own]


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
