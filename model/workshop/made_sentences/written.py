"""Pairs written for this project, of the kinds that students type: everyday, chat, names, idioms, the subject, pronouns.

`texts/written/` has them in files of English TAB French. The files it-*.tsv are sentences with a pronoun that could mean two
nouns before it. Those with a noun that training does not have in made sentences are left out. Sentences in the words of a
frame that it does not have are left out of all files. So both still measure what is new to a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..corpus.tatoeba_split import SplitLists, group_prefix
from .generation import normalize, read_rows
from .lexicon import Lexicon
from .sentence_frames import PLACE, SentenceFrame

FOLDER = "written"
PRONOUNS = "it-*.tsv"
NEAR = 0.75  # of the words of two sentences together that both have
_FORMS = {"n't": "not", "'s": "is", "'m": "am", "'re": "are", "'ll": "will", "'ve": "have", "'d": "would"}
_FULL = re.compile(r"(n't|'(?:s|m|re|ll|ve|d))\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


def written_pairs(
    texts: Path, lexicon: Lexicon, frames: Iterable[SentenceFrame], excluded: set[str], typed: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Returns distinct pairs English, French, in the order of the files, without those that measure a model.

    Args:
        texts: folder that has the folder `written`; without it there are no pairs.
        lexicon: its held-out nouns are in no sentence of `PRONOUNS`.
        frames: the held-out ones are left out in every file.
        excluded: sentences, as `normalize` returns them.
        typed: sentences that measure a model, as typed; sentences of nearly the same words are left out too (`NEAR`).

    Raises:
        DataError: a line that is no pair, with file and line.
    """
    lists = SplitLists.load().groups
    measured = {int(prefix) for name in ("dev", "test") for prefix in lists[name]}
    held_nouns = {form for noun in lexicon.nouns if noun.is_held_out for form in (noun.english, noun.english_plural)}
    held_frame = re.compile("|".join(_pattern(text) for frame in frames if frame.is_held_out for text, _ in frame.templates))
    near = [_words(source) for source in typed]
    pronouns = set((texts / FOLDER).glob(PRONOUNS))
    pairs = dict[str, str]()
    for path in sorted((texts / FOLDER).glob("*.tsv")):
        for source, target in read_rows(path):
            known = normalize(source) in excluded or group_prefix(source) in measured
            held = path in pronouns and held_nouns & set(_WORD.findall(source.lower()))
            if not (known or held or held_frame.fullmatch(source) or _is_near(source, near)):
                pairs.setdefault(source, target)
    return list(pairs.items())


def _words(source: str) -> frozenset[str]:
    """Returns the words of a sentence, with `not`, `is` and others written out."""
    return frozenset(normalize(_FULL.sub(lambda match: f" {_FORMS[match[1].lower()]}", source)).split())


def _is_near(source: str, others: Iterable[frozenset[str]]) -> bool:
    words = _words(source)
    return any(len(words & other) >= NEAR * len(words | other) for other in others)


def _pattern(template: str) -> str:
    """Returns a pattern of all sentences of an English template."""
    literal = [re.escape(text) for text in PLACE.split(template)[::2]]
    return "(?:" + r"[\w' -]+".join(literal) + ")"
