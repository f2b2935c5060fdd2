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
from ..edits.apply import ActivationEdit, BatchEdits, Donor
from ..edits.intervention import Intervention
from ..text import sentences

if TYPE_CHECKING:
    from ..checkpoint import Checkpoint
    from .analysis import Analysis

ONE_SENTENCE_MESSAGE = "This model reads one sentence at a time: leave the second one out."


def can_read_pairs(config: ModelConfig) -> bool:
    """True for a model with next-sentence prediction."""
    return config.follows


def source_ids(checkpoint: Checkpoint, text: str, second: str = "") -> list[int]:
    """Returns the ids of a text as the encoder reads it, of any length, with `</s>` after each sentence.

    `<s>` comes first where the model has it. Blanks become the mask token where the vocabulary has one.

    Raises RequestError for a second sentence where the model reads one.
    """
    if second and not can_read_pairs(checkpoint.config):
        raise RequestError(ONE_SENTENCE_MESSAGE)
    start = [START] if checkpoint.config.source_start else []
    ids = [*start, *_sentence_ids(checkpoint, text), END]
    return [*ids, *_sentence_ids(checkpoint, second), END] if second else ids


def _sentence_ids(checkpoint: Checkpoint, text: str) -> list[int]:
    """Returns the ids of a sentence without control tokens; blanks become the mask token."""
    tokenizer = checkpoint.source_tokenizer
    if tokenizer.mask is None:
        return tokenizer.encode(text.strip())
    *before, last = sentences.texts_around_blanks(text.strip())
    parts = [part.removesuffix(" ") for part in before]  # the space before a word belongs to its token
    first, *others = (tokenizer.encode(part) for part in (*parts, last))
    return [*first, *(token for part in others for token in (tokenizer.mask, *part))]


def donor_ids(checkpoint: Checkpoint, text: str, source: list[int]) -> list[int]:
    """Returns the ids of another first sentence, followed by the second sentence of `source`, if any."""
    first = source.index(END) if source.count(END) == 2 else None
    return source_ids(checkpoint, text) + ([] if first is None else [*source[first + 1 : source.index(END, first + 1)], END])


def blank_positions(analysis: Analysis, checkpoint: Checkpoint) -> list[int]:
    """Returns the positions of the blanks; empty unless the model is a masked language model."""
    mask = checkpoint.source_tokenizer.mask
    return [] if mask is None else [n for n, token in enumerate(analysis.trace.predicted_axis.ids) if token == mask]


def filled_ids(analysis: Analysis, positions: Sequence[int], mask: int | None) -> tuple[int, ...]:
    """Returns the tokens of the text with the top token in each blank; all blanks are predicted at once."""
    return fill_mask(analysis.trace.predicted_axis.ids, analysis.trace.log_probs, mask, positions)


def fill_mask(
    ids: Sequence[int], log_probs: np.ndarray, mask: int | None, positions: Sequence[int] | None = None
) -> tuple[int, ...]:
    """Returns the ids with the top token, without control tokens, in the given blanks or in all; log_probs [S,V]."""
    result = list(ids)
    for place in (n for n, token in enumerate(ids) if token == mask) if positions is None else positions:
        row = log_probs[place].copy()
        row[[PAD, START, END, *filter(None, [mask])]] = -np.inf
        result[place] = int(row.argmax())
    return tuple(result)


def fill_mask_results(analysis: Analysis, checkpoint: Checkpoint) -> list[dict[str, Any]]:
    """Returns position (from 1), top word and probability of each blank, as JSON values."""
    places = blank_positions(analysis, checkpoint)
    ids = filled_ids(analysis, places, checkpoint.source_tokenizer.mask)
    return [
        {
            "place": place + 1,
            "word": checkpoint.source_tokenizer.decode([ids[place]]).strip(),
            "probability": round(float(np.exp(analysis.trace.log_probs[place][ids[place]].astype(float))), 6),
        }
        for place in places
    ]


def filled_sentences(analysis: Analysis, checkpoint: Checkpoint) -> list[str]:
    """Returns the sentences with the top token in each blank; empty without blanks."""
    if analysis.task.has_decoder or not (places := blank_positions(analysis, checkpoint)):
        return []
    ids = filled_ids(analysis, places, checkpoint.source_tokenizer.mask)
    sides = analysis.trace.source.sentence_numbers or (0,) * len(ids)
    own = ([token for token, of in zip(ids, sides, strict=True) if of == side] for side in dict.fromkeys(sides))
    return [checkpoint.source_tokenizer.decode(each).strip() for each in own]


def align_positions(ids: Sequence[int], other_ids: Sequence[int]) -> tuple[int | None, ...]:
    """Returns the partner position in the other source of each source position; None without one, as for `<pad>`."""
    real = [token for token in ids if token != PAD]
    aligned: list[int | None] = [None] * len(ids)
    for _, start, end, first, last in SequenceMatcher(None, real, list(other_ids), autojunk=False).get_opcodes():
        for back in range(1, 1 + min(end - start, last - first)):
            aligned[end - back] = last - back
    return tuple(aligned)


def build_donor(checkpoint: Checkpoint, edit: Intervention, source: Sequence[int] | None) -> Donor | None:
    """Returns the donor sentence of an intervention, aligned with a source; None without a donor.

    Raises RequestError where the donor exceeds the text limit.
    """
    if not edit.has_patches or not edit.donor or source is None:
        return None
    ids = tuple(donor_ids(checkpoint, edit.donor, list(source)))
    if len(ids) > MAX_TOKENS:
        raise RequestError(
            f"The other sentence has {len(ids):,} tokens, </s> included; expected at most {MAX_TOKENS}. Shorten it."
        )
    return Donor(ids, align_positions(source, ids))


def build_edits(
    checkpoint: Checkpoint,
    source: Sequence[int] | None,
    rows: Sequence[Intervention],
    callback: ActivationEdit | None = None,
) -> BatchEdits:
    """Returns the edits of a batch over a source, one intervention for all rows or one a row."""
    taking = next((row for row in rows if row.has_patches), None)
    donor = None if taking is None else build_donor(checkpoint, taking, source)
    return BatchEdits(rows, checkpoint.mean_z, donor, callback)


def unpaired_tokens(checkpoint: Checkpoint, source: Sequence[int], donor: Donor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the tokens without a partner, of the source and of the other sentence."""
    pieces, donor_pieces = checkpoint.source_tokenizer.pieces(source), checkpoint.source_tokenizer.pieces(donor.ids)
    unpaired_source = [n for n, partner in enumerate(donor.partners) if partner is None and source[n] != PAD]
    unpaired_donor = [n for n in range(len(donor_pieces)) if n not in donor.partners]
    return tuple(pieces[n] for n in unpaired_source), tuple(donor_pieces[n] for n in unpaired_donor)
