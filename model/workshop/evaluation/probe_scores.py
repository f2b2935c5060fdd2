"""How many probes a model translates in a way that counts as right: sentences of the project's own, by kind."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.checkpoint import Checkpoint
from model.decoding.strategy import Decoding
from model.workshop.corpus.probes import read_probes
from model.workshop.evaluation.scoring import GREEDY, say

_SAME = str.maketrans(
    {**dict.fromkeys("’‘ʼ‹›‚", "'"), **dict.fromkeys("“”„«»", '"'), "œ": "oe", "Œ": "Oe", "…": "...", "‐": "-", "‑": "-"}
)
_ENDS = (".", "!", "?", "…")
_CLOSING = "\"'’”»›) \u00a0\u202f"  # what may stand after a sentence's end


@dataclass(frozen=True)
class Probe:
    """A sentence, and the translations that count as right. Of a name such as "idioms: rain" the kind is what stands before
    the colon; where there is none, it is the name of the file."""

    kind: str
    source: str
    accepted: tuple[str, ...]

    def is_right(self, said: str) -> bool:
        """Whether a translation is one of those that count as right, up to `alike`."""
        return alike(said, self.source) in {alike(each, self.source) for each in self.accepted}


def read(paths: Sequence[Path]) -> list[Probe]:
    """The probes of some files; errors as `read_probes`."""
    return [
        Probe(name.partition(":")[0].strip() if ":" in name else path.name, source, tuple(accepted))
        for path in paths
        for name, source, accepted in read_probes(path)
    ]


def alike(text: str, source: str) -> str:
    """A translation without what makes no difference to its being right, nor to a reader.

    Apostrophes, hyphens and dots (... for …) are the typewriter's, quotes of every kind are its double ones, œ is oe, every
    kind of space is one space, and there is none before ? ! : ; % € or within quotes. A capital needs no accent. A source
    that does not end in . ! ? or …, quotes and brackets aside, leaves its translation's full stop open. One all in lower
    case, or with a capital at every one of its three or more words, leaves its capitals open.
    """
    text = " ".join(unicodedata.normalize("NFC", text).translate(_SAME).split())  # also at no-break spaces
    text = re.sub(r" +(?=[?!:;%€])", "", text)
    text = re.sub(r"(?<!\w)'(.+?)'(?!\w)", r'"\1"', text)
    text = re.sub(r'" ?(.*?) ?"', r'"\1"', text)
    if not source.rstrip(_CLOSING).endswith(_ENDS) and not text.endswith(".."):
        text = text.removesuffix(".")
    words = source.split()
    if source == source.lower() or (len(words) >= 3 and all(word[0].isupper() for word in words)):
        text = text[:1].upper() + text[1:].lower()
    return "".join(unicodedata.normalize("NFD", each)[0] if each.isupper() else each for each in text)


def measure(
    checkpoint: Checkpoint,
    probes: Sequence[Probe],
    decoding: Decoding = GREEDY,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Translates the probes. Returns how many are `right`, of how many `sentences`; the same of each of the `kinds`; and
    `wrong`: kind, source and what was said of those that are not."""
    model, tokenizers = checkpoint.model, (checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    said = say(model, *tokenizers, [probe.source for probe in probes], progress, decoding).texts
    told = [(probe, text, probe.is_right(text)) for probe, text in zip(probes, said, strict=True)]
    kinds = {
        kind: {"right": sum(right for each, _, right in told if each.kind == kind), "sentences": count}
        for kind, count in _counted([probe.kind for probe in probes]).items()
    }
    wrong = [{"kind": probe.kind, "source": probe.source, "said": text} for probe, text, right in told if not right]
    return {"right": len(told) - len(wrong), "sentences": len(told), "kinds": kinds, "wrong": wrong}


def _counted(names: Sequence[str]) -> dict[str, int]:
    return {name: names.count(name) for name in dict.fromkeys(names)}
