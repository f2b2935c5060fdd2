"""What is measured of a model that translates, on a file of pairs: BLEU and chrF, how many translations reach the limit of
tokens, whom they address; of single sentences, of long ones, and of several that are typed as one text.

How a text addresses people: whether French says *tu* or *vous*, where English says *you*.

What is translated of a file of pairs: its distinct sentences, the long ones alone, or several of them as one text."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from model.checkpoint import Checkpoint
from model.decoding.strategy import Decoding
from model.text.languages import FRENCH
from model.workshop.corpus.corpus import by_source
from model.workshop.evaluation.scoring import (
    GREEDY,
    Said,
    say,
    scored,
)

MOST_JOINED = 10  # sentences in one text


@dataclass(frozen=True)
class Inputs:
    """Which inputs are made of the pairs of a file; ValueError for what cannot be.

    Of the distinct sentences those of `at_least` words (what spaces set apart), of these the first `limit`. With `join`
    random ones of them stand one behind the other with a space between, at least and at most so many in a text. Which ones
    follows from the sentences and `seed` alone; none stands twice, and what is left over is not used.
    """

    at_least: int = 1
    limit: int | None = None
    join: tuple[int, int] | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"--limit is {self.limit}; expected at least 1")
        if self.at_least < 1:
            raise ValueError(f"--at-least is {self.at_least}; expected at least 1 word")
        if self.join and not 2 <= self.join[0] <= self.join[1] <= MOST_JOINED:
            least, most = self.join
            raise ValueError(f"--join is {least}-{most}; expected as 3-5 or 4, with 2 to {MOST_JOINED} sentences in a text")
        if self.seed < 0:
            raise ValueError(f"--seed is {self.seed}; expected at least 0")

    def of(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
        """Each input with its references: all targets of a sentence; of a joined text one, the first targets joined.

        Raises ValueError where nothing is left.
        """
        found = [each for each in by_source(pairs).items() if len(each[0].split()) >= self.at_least][: self.limit]
        if not found:
            raise ValueError(f"no sentence has {self.at_least} words; give a smaller --at-least")
        if not self.join:
            return found
        least, most = self.join
        draw, made = random.Random(f"join/{least}-{most}/{self.seed}"), []
        draw.shuffle(found)
        while len(found) >= least:
            parts = [found.pop() for _ in range(min(draw.randint(least, most), len(found)))]
            made.append((" ".join(source for source, _ in parts), [" ".join(targets[0] for _, targets in parts)]))
        if not made:
            raise ValueError(f"there are {len(found)} sentences; expected at least {least}, to join as many")
        return made

    def to_dict(self) -> dict[str, int | list[int]]:
        """What differs from all sentences one by one, for metrics.json."""
        told: dict[str, int | list[int]] = {"at_least": self.at_least} if self.at_least > 1 else {}
        told |= {} if self.limit is None else {"limit": self.limit}
        return told | ({"join": list(self.join), "join_seed": self.seed} if self.join else {})


WORDS, LANGUAGE = FRENCH.address, FRENCH.name
_NOUNS = re.compile(r"(?<!\w)(?:rendez|garde[- ]à)-vous(?!\w)")  # *un rendez-vous*, *au garde-à-vous* address nobody
_STANDS = {
    name: re.compile("|".join(rf"(?<!\w){word}" + ("" if word[-1] == "'" else r"(?!\w)") for word in words))
    for name, words in WORDS.items()
}


def says(text: str) -> set[str]:
    """Which of *tu* and *vous* a text has a word of: none, one or both. An apostrophe may be the typographic one."""
    plain = _NOUNS.sub("", unicodedata.normalize("NFC", text).lower().replace("’", "'"))
    return {name for name, stands in _STANDS.items() if stands.search(plain)}


def shares(texts: Sequence[str]) -> dict[str, float | int | None]:
    """Of some texts the shares that say *tu* and that say *vous*, 0 to 1, and how many *vous* there are to one *tu*: None
    where there is no *tu*. A text may say both. Raises ValueError where there is no text."""
    if not texts:
        raise ValueError("there is no text to look for tu and vous in; expected at least one")
    found = [says(text) for text in texts]
    count = {name: sum(name in each for each in found) for name in WORDS}
    told: dict[str, float | int | None] = {"texts": len(texts)}
    told |= {name: round(number / len(texts), 4) for name, number in count.items()}
    return told | {"vous_to_tu": round(count["vous"] / count["tu"], 3) if count["tu"] else None}


def compared(said: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, dict[str, float | int | None]]:
    """`shares` of what a model said, of the first reference of each text, and of all references where there are more."""
    first, rows = [each[0] for each in references], [each for own in references for each in own]
    return {"said": shares(said), "first": shares(first)} | ({"all": shares(rows)} if len(rows) > len(first) else {})


REFERENCES = ("first", "all")
LONG = 15  # words of a long sentence
EVERY, JOINED = Inputs(), Inputs(join=(3, 5))
NAMES = {"first": "", "all": "_all_references", "joined": "_joined", "long": "_long"}  # what follows a key of metrics.json
Groups = Sequence[tuple[str, Sequence[str]]]  # inputs with their references
Progress = Callable[[int], None]


def measure(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    inputs: Inputs = EVERY,
    references: str = "first",
    decoding: Decoding = GREEDY,
    progress: Progress = lambda done: None,
) -> dict[str, Any]:
    """Translates what `inputs` makes of the pairs, and scores that.

    Returns what `scored` and `Inputs.to_dict` do, `references`, and of a model that writes French the `address`. Joined
    sentences have one reference: only the first ones belong together.
    """
    assert not inputs.join or references == "first"
    groups = inputs.of(pairs)
    return _row(checkpoint, groups, _said(checkpoint, groups, decoding, progress), references, inputs)


def measure_all(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    limit: int | None = None,
    decoding: Decoding = GREEDY,
    progress: Progress = lambda done: None,
) -> dict[str, dict[str, Any]]:
    """`measure` of all distinct sentences (at most `limit`) against the `first` and `all` references, of those of them that
    are `long` (with a limit they tell it as `of_first`) and of the sentences `joined`; a kind of input of which the file has
    none is left out."""
    inputs = replace(EVERY, limit=limit)
    groups = inputs.of(pairs)
    said = _said(checkpoint, groups, decoding, progress)
    found = {each: _row(checkpoint, groups, said, each, inputs) for each in REFERENCES}
    if JOINED.join and len(groups) >= JOINED.join[0]:
        found["joined"] = measure(checkpoint, pairs, replace(JOINED, limit=limit), "first", decoding, progress)
    if rows := [n for n, (source, _) in enumerate(groups) if len(source.split()) >= LONG]:
        chosen = [groups[n] for n in rows]
        found["long"] = _row(checkpoint, chosen, said.chosen(rows), "first", Inputs(at_least=LONG))
        found["long"] |= {} if limit is None else {"of_first": limit}
    return found


def _said(checkpoint: Checkpoint, groups: Groups, decoding: Decoding, progress: Progress) -> Said:
    tokenizers = checkpoint.source_tokenizer, checkpoint.target_tokenizer
    return say(checkpoint.model, *tokenizers, [source for source, _ in groups], progress, decoding)


def _row(checkpoint: Checkpoint, groups: Groups, said: Said, references: str, inputs: Inputs) -> dict[str, Any]:
    rows = [targets if references == "all" else targets[:1] for _, targets in groups]
    found: dict[str, Any] = scored(said, rows) | {"references": references} | inputs.to_dict()
    if checkpoint.languages[1] == LANGUAGE:
        found["address"] = compared(said.texts, [targets for _, targets in groups])
    return found


def reaches_limit(row: Mapping[str, Any]) -> float:
    """The share of inputs, 0 to 1, whose translation reached the limit of tokens."""
    return row["unfinished"] / row["sentences"]
