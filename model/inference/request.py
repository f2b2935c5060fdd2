"""The request of an analysis: frozen, hashable and validated; the key of every cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..config import MAX_CHARACTERS, MAX_GIVEN_TOKENS, MAX_TOKENS
from ..decoding.strategy import Decoding, RequestError
from ..edits.intervention import BASELINE, Intervention
from ..io.files import brief_repr

Mode = Literal["given", "again"]
MAX_PAD = 32
MAX_SENTENCES = 16  # of one batch
PAD_WHEN_UNMASKED = 4  # padding without a padding mask, where the request has none


class CheckpointName(str):
    """The name of a checkpoint in a request.

    It equals the plain string. `folder` is the folder that the checkpoint was
    loaded from, None where only the name is known. `is_chosen` is False for the default of a request that names none.
    """

    folder: Path | None = None
    is_chosen: bool = True

    def __new__(cls, name: str, folder: Path | None = None, is_chosen: bool = True) -> CheckpointName:
        instance = super().__new__(cls, name)
        instance.folder, instance.is_chosen = folder, is_chosen
        return instance


@dataclass(frozen=True, repr=False)
class Request:
    """A sentence with its decoding and its edits.

    `analyse` refuses a source, target or prefix of more than `max_tokens` tokens, `</s>` included. A model that continues a
    text has these for both together. Decoding stops at `decoding.max_total_tokens`.

    Ids replace a text: `source_ids` are all ids that the encoder reads, or the prompt of a model without an encoder, and
    `target_ids` all ids of the target, each with its `</s>` where one is wanted. `Checkpoint.source_ids_of` gives them for a
    converted vocabulary.

    In mode `given` one pass under the intervention reads a fixed target: `target`, or the baseline translation. In mode
    `again` the model decodes again under the intervention. Without an intervention both are equal.

    Raises RequestError with the value and the expected value.
    """

    source: str = ""  # the text to translate, to fill in, to judge or to continue
    checkpoint: str = CheckpointName("en-fr", is_chosen=False)  # `analyse` fills in the one that is loaded
    target: str | None = None  # None: the model's own translation
    prefix: str = ""  # forced beginning of the translation
    other_sentences: tuple[str, ...] = ()  # sentences of the same batch, padded to one length
    branches: tuple[tuple[int, ...], ...] = ()  # forced beginnings, as ids, that are decoded in addition
    path: tuple[int, ...] = ()  # prefix of the selected hypothesis; empty: the best, or that of the last branch
    second_sentence: str = ""  # second sentence of next-sentence prediction; empty: none
    extra_padding: int = 0  # `<pad>` tokens after the source, besides those of a batch
    mode: Mode = "given"  # `given` reads a fixed target under the intervention, `again` decodes under it
    decoding: Decoding = field(default_factory=Decoding)  # by default greedy
    intervention: Intervention = BASELINE  # by default no edits
    source_ids: tuple[int, ...] = ()  # all ids of the source instead of a text
    target_ids: tuple[int, ...] = ()  # all ids of the target instead of a text
    max_tokens: int = MAX_TOKENS  # of the source and of the target; at most 1024

    __repr__ = brief_repr

    @property
    def has_target(self) -> bool:
        """True where the target is given, as text or as ids."""
        return self.target is not None or bool(self.target_ids)

    def __post_init__(self) -> None:
        for name in ("source_ids", "target_ids"):
            if len(ids := getattr(self, name)):
                object.__setattr__(self, name, tuple(map(int, ids)))
        if not (self.source.strip() or self.source_ids or self.has_target):
            raise RequestError("The sentence is empty: type one.")
        if self.source_ids and (self.second_sentence or self.other_sentences):
            raise RequestError("Source ids and another sentence are given; expected one of the two.")
        if self.target is not None and self.target_ids:
            raise RequestError("The target is given as text and as ids; expected one of the two.")
        if not 1 <= self.max_tokens <= MAX_GIVEN_TOKENS:
            raise RequestError(f"The limit is {self.max_tokens} tokens; expected 1 to {MAX_GIVEN_TOKENS}.")
        if self.target is not None and not self.target.strip():
            raise RequestError("The target is empty: give a translation, or leave it to the model.")
        if any(not text.strip() for text in self.other_sentences):
            raise RequestError("A sentence of the batch is empty; expected text in each.")
        if len(self.other_sentences) >= MAX_SENTENCES:
            raise RequestError(f"There are {len(self.other_sentences) + 1} sentences; expected at most {MAX_SENTENCES}.")
        if any(not branch for branch in self.branches):
            raise RequestError("A branch is empty; expected at least one token.")
        if self.second_sentence and self.other_sentences:
            raise RequestError("A second sentence and a batch are given; expected one of the two.")
        if self.second_sentence and not self.second_sentence.strip():
            raise RequestError("The second sentence is empty: type one, or leave it out.")
        sentences = (("sentence", text) for text in (self.source, *self.other_sentences))
        for what, text in (
            *sentences,
            ("second sentence", self.second_sentence),
            ("target", self.target or ""),
            ("prefix", self.prefix),
        ):
            if len(text) > MAX_CHARACTERS:
                raise RequestError(
                    f"The {what} has {len(text):,} characters; expected at most {MAX_CHARACTERS:,}. Shorten it."
                )
        for char in "".join((self.source, self.second_sentence, self.target or "", self.prefix, *self.other_sentences)):
            if "\ud800" <= char <= "\udfff":
                raise RequestError(f"The text has U+{ord(char):04X} in it, which is no character; expected valid Unicode.")
        if self.mode not in ("given", "again"):
            raise RequestError(f"The mode is {self.mode!r}; expected 'given' or 'again'.")
        if not 0 <= self.extra_padding <= MAX_PAD:
            raise RequestError(f"The padding is {self.extra_padding} tokens; expected 0 to {MAX_PAD}.")
        if self.has_target and self.prefix:
            raise RequestError("Both a target and a prefix are given; expected one of the two.")
