"""The request of an analysis: frozen, hashable and validated; the key of every cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..config import MAX_CHARACTERS
from ..decoding.strategy import Decoding, RequestError
from ..edits.intervention import BASELINE, Intervention

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


@dataclass(frozen=True)
class Request:
    """A sentence with its decoding and its edits.

    A source and a target have at most 128 tokens each, `</s>` included (`model.config.MAX_TOKENS`): `analyse` refuses a
    longer source, target or prefix, and decoding stops there. A model that continues a text has 128 for both together.

    In mode `given` one pass under the intervention reads a fixed target: `target`, or the baseline translation. In mode
    `again` the model decodes again under the intervention. Without an intervention both are equal.

    Raises RequestError with the value and the expected value.
    """

    source: str  # the text to translate, to fill in, to judge or to continue
    checkpoint: str = CheckpointName("en-fr", is_chosen=False)  # `analyse` fills in the one that is loaded
    target: str | None = None  # None: the model's own translation
    prefix: str = ""  # forced beginning of the translation
    other_sentences: tuple[str, ...] = ()  # sentences of the same batch, padded to one length
    branches: tuple[tuple[int, ...], ...] = ()  # forced beginnings, as ids, that are decoded in addition
    path: tuple[int, ...] = ()  # prefix of the selected hypothesis; empty: the best, or that of the last branch
    second: str = ""  # second sentence of next-sentence prediction; empty: none
    pad: int = 0  # `<pad>` tokens after the source, besides those of a batch
    mode: Mode = "given"  # `given` reads a fixed target under the intervention, `again` decodes under it
    decoding: Decoding = field(default_factory=Decoding)  # by default greedy
    intervention: Intervention = BASELINE  # by default no edits

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise RequestError("The sentence is empty: type one.")
        if self.target is not None and not self.target.strip():
            raise RequestError("The target is empty: give a translation, or leave it to the model.")
        if any(not text.strip() for text in self.other_sentences):
            raise RequestError("A sentence of the batch is empty; expected text in each.")
        if len(self.other_sentences) >= MAX_SENTENCES:
            raise RequestError(f"There are {len(self.other_sentences) + 1} sentences; expected at most {MAX_SENTENCES}.")
        if any(not branch for branch in self.branches):
            raise RequestError("A branch is empty; expected at least one token.")
        if self.second and self.other_sentences:
            raise RequestError("A second sentence and a batch are given; expected one of the two.")
        if self.second and not self.second.strip():
            raise RequestError("The second sentence is empty: type one, or leave it out.")
        sentences = (("sentence", text) for text in (self.source, *self.other_sentences))
        for what, text in (
            *sentences,
            ("second sentence", self.second),
            ("target", self.target or ""),
            ("prefix", self.prefix),
        ):
            if len(text) > MAX_CHARACTERS:
                raise RequestError(
                    f"The {what} has {len(text):,} characters; expected at most {MAX_CHARACTERS:,}. Shorten it."
                )
        for char in "".join((self.source, self.second, self.target or "", self.prefix, *self.other_sentences)):
            if "\ud800" <= char <= "\udfff":
                raise RequestError(f"The text has U+{ord(char):04X} in it, which is no character; expected valid Unicode.")
        if self.mode not in ("given", "again"):
            raise RequestError(f"The mode is {self.mode!r}; expected 'given' or 'again'.")
        if not 0 <= self.pad <= MAX_PAD:
            raise RequestError(f"The padding is {self.pad} tokens; expected 0 to {MAX_PAD}.")
        if self.target is not None and self.prefix:
            raise RequestError("Both a target and a prefix are given; expected one of the two.")
