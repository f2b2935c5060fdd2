"""What a visitor asks for: frozen, hashable, checked when made; the key of every cache."""

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
PAD_WHEN_UNMASKED = 4  # with the padding mask off there is this much, where there would be none to see


class CheckpointName(str):
    """The name of a checkpoint in a request.

    It equals the plain text, so keys, links and files stay as they are. `folder` is the folder that the checkpoint was
    loaded from, None where only the name is known. `is_chosen` is False for the default of a request that names none.
    """

    folder: Path | None = None
    is_chosen: bool = True

    def __new__(cls, name: str, folder: Path | None = None, is_chosen: bool = True) -> CheckpointName:
        made = super().__new__(cls, name)
        made.folder, made.is_chosen = folder, is_chosen
        return made


@dataclass(frozen=True)
class Request:
    """A sentence, how it is decoded, and what is switched off.

    A source and a target have at most 128 tokens each, `</s>` included (`model.config.MAX_TOKENS`): `analyse` refuses a
    longer source, target or prefix, and decoding stops there. A model that continues a text has 128 for both together.

    mode `given`: the target is fixed (the one given, else the baseline's translation) and read in one pass under the
    intervention; `again`: tokens are chosen anew under it. Without an intervention both are the same.
    Raises RequestError, one sentence that says what was found and what was expected.
    """

    source: str
    checkpoint: str = CheckpointName("en-fr", is_chosen=False)  # `analyse` fills in the one that is loaded
    target: str | None = None  # None: the model's own translation
    prefix: str = ""  # text that the translation is forced to begin with
    other_sentences: tuple[str, ...] = ()  # sentences that are decoded in the same batch, padded to one length
    branches: tuple[tuple[int, ...], ...] = ()  # beginnings, as ids, from which decoding goes on beside its own choice
    path: tuple[int, ...] = ()  # the hypothesis that is looked at, or its beginning; empty: the best, or the last branch's
    second: str = ""  # a second sentence, for a model that reads two and tells whether it follows; empty: there is one
    pad: int = 0  # `<pad>` tokens after the source, beside those that make the rows of a batch even
    mode: Mode = "given"
    decoding: Decoding = field(default_factory=Decoding)
    intervention: Intervention = BASELINE

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
