"""Names that a parallel corpus has on both sides, and names that are made up of their letters."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from model.text.rewritten import TOKEN, Slot

LEAST = 3  # letters of a name
MOST = 10  # letters of one that is made up
POOL = 8000  # names that are made up of each kind, before those are left out that are words
FREQUENT = 4000  # words whose letters are taken
INSIDE = re.compile(r"(?<=[^\W\d_] )[^\W\d_]+")  # words that begin no sentence
BEFORE = re.compile(r"([^\W\d_]+)(\s+|['’])$")
# What may stand in front of a name in French, and asks for how the name begins.
BEFORE_VOWELS = {"d", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu"}
BEFORE_CONSONANTS = {"de", "que", "jusque", "lorsque", "puisque", "quoique"}
# What tells the gender or number of the name behind it, or what kind of place it is: left alone.
ARTICLES = {
    *("le", "la", "les", "l", "un", "une", "des", "du", "au", "aux", "en", "ce", "cet", "cette", "ces"),
    *("mon", "ma", "mes", "ton", "ta", "tes", "son", "sa", "ses", "notre", "nos", "votre", "vos", "leur", "leurs"),
    *("beau", "bel", "belle", "vieux", "vieil", "vieille", "nouveau", "nouvel", "nouvelle", "saint", "sainte"),
}
BARRED = {"a", "an", "the"}  # the same in English
VOWELS, CONSONANTS = set("aeiou"), set("bcdfgjklmnpqrstvwxz")  # h and y may be either


def _is_title(word: str) -> bool:
    return len(word) >= LEAST and word[0].isupper() and word[1:].islower() and word.isascii()


class Names:
    """A name is a capitalised word inside a sentence that the corpus writes the same on both sides, mostly, and hardly ever
    in lower case. It is replaced by a made-up one: a real one might be a woman's where the French speaks of a man, or a
    country's, which French gives an article."""

    def __init__(self, pairs: Sequence[tuple[str, str]], seed: int) -> None:
        words: Counter[str] = Counter()
        source_has: Counter[str] = Counter()
        both_have: Counter[str] = Counter()
        inside: set[str] = set()
        for source, target in pairs:
            one, two = TOKEN.findall(source), TOKEN.findall(target)
            words.update(one)
            words.update(two)
            titles = {word for word in one if _is_title(word)}
            source_has.update(titles)
            if same := [word for word in titles if one.count(word) == two.count(word)]:
                both_have.update(same)
                inside.update(INSIDE.findall(source))
        self.known = {
            word
            for word, count in both_have.items()
            if word in inside and 2 * count > source_has[word] and 20 * words[word.lower()] <= count
        }
        pool = _pool(self.known, words, random.Random(f"names/{seed}"))
        self.pools = {begins: [name for name in pool if fit(name)] for begins, fit in BEGINNINGS.items()}

    def slots(self, source: str, target: str) -> list[Slot]:
        """The names that both sides have equally often, where what stands in front of them allows another."""
        one, two = TOKEN.findall(source), TOKEN.findall(target)
        names = [name for name in dict.fromkeys(one) if name in self.known and one.count(name) == two.count(name)]
        found = [Slot(name, name, _begins(name, source, target)) for name in names]
        return [slot for slot in found if self.pools.get(slot.kind)]

    def drawn(self, slot: Slot, draw: random.Random) -> str:
        """A made-up name that begins as it must."""
        return draw.choice(self.pools[slot.kind])


BEGINNINGS = {
    "any": lambda name: True,
    "vowel": lambda name: name[0].lower() in VOWELS,
    "consonant": lambda name: name[0].lower() in CONSONANTS,
}


def _begins(name: str, source: str, target: str) -> str:
    """How another name must begin in its place: one of `BEGINNINGS`, or `no`."""
    asked = {_asked(before) for before in _before(name, target)} | {
        "no" for before in _before(name, source) if before and (before[1].lower() in BARRED or before[2] in ("'", "’"))
    }
    asked -= {"any"}
    return "any" if not asked else asked.pop() if len(asked) == 1 else "no"


def _before(name: str, text: str) -> list[re.Match[str] | None]:
    """The word in front of a name, wherever it stands, if no sign stands between them."""
    return [BEFORE.search(text[: found.start()]) for found in TOKEN.finditer(text) if found[0] == name]


def _asked(before: re.Match[str] | None) -> str:
    if not before:
        return "any"
    word = before[1].lower()
    if not before[2].isspace():
        return "vowel" if word in BEFORE_VOWELS else "no"
    return "consonant" if word in BEFORE_CONSONANTS else "no" if word in ARTICLES else "any"


def _pool(names: set[str], words: Counter[str], draw: random.Random) -> list[str]:
    """Made-up names none of which is a word of the corpus: half are like its names, half like its frequent words."""
    lower = {word.lower() for word in words}
    frequent = [
        word
        for word, _ in words.most_common(FREQUENT)
        if word.isalpha() and word.islower() and len(word) > LEAST and word.isascii()
    ]
    found: dict[str, None] = {}  # a set that keeps its order
    for like in (sorted(names), sorted(frequent) if names else []):
        found |= dict.fromkeys(name for name in _made_up(like, POOL, draw) if name.lower() not in lower)
    return list(found)


def _made_up(like: list[str], count: int, draw: random.Random) -> Iterator[str]:
    """So many capitalised words, less those that are too short or long: each letter follows the two before it as in some
    word of `like`."""
    after: dict[str, list[str]] = {}
    for word in like:
        letters = f"  {word.lower()} "
        for n in range(len(letters) - 2):
            after.setdefault(letters[n : n + 2], []).append(letters[n + 2])
    for _ in range(count if like else 0):
        made = "  " + draw.choice(after["  "])
        while made[-1] != " " and len(made) < MOST + 3:
            made += draw.choice(after[made[-2:]])
        if LEAST <= len(made.strip()) <= MOST and made[-1] == " ":
            yield made.strip().capitalize()
