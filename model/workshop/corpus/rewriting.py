"""What of a pair can be another: one entry a kind, by the setting that says how many such pairs are made.

Pairs with other names or other numbers on both sides: what teaches a model to copy, piece by piece, what it never saw.

Only what stands the same on both sides is replaced, by something that the sentence around it allows. The rules are those of
English and French; a corpus of other languages has fewer pairs that allow it.

Names that a parallel corpus has on both sides, and names that are made up of their letters.

Numbers that both sides of a pair have, in digits or as words."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from model.workshop.corpus.corpus import DataError

TOKEN = re.compile(r"(?<![\w-])[^\W\d_]+(?:-[^\W\d_]+)*(?![\w-])|[0-9]+")  # a word, with its hyphens, or a run of digits


class Slot(NamedTuple):
    """What of a pair is replaced on both sides by one and the same text; `kind` says by which."""

    source: str
    target: str
    kind: object


class Kind(Protocol):
    """What is replaced."""

    def slots(self, source: str, target: str) -> list[Slot]:
        """All that can be replaced in a pair; none where the pair does not allow it."""
        ...

    def drawn(self, slot: Slot, draw: random.Random) -> str:
        """What stands there instead."""
        ...


class Rewritten:
    """The pairs that allow a kind, to draw rewritten ones from."""

    def __init__(self, pairs: Sequence[tuple[str, str]], kind: Kind) -> None:
        self.kind = kind
        found = ((source, target, kind.slots(source, target)) for source, target in pairs)
        self.allowed = [pair for pair in found if pair[2]]

    def drawn(self, count: int, draw: random.Random) -> Iterator[tuple[str, str]]:
        """`count` pairs drawn of those that allow it, each with all that can be replaced replaced; none where none does."""
        for source, target, slots in draw.choices(self.allowed, k=count) if self.allowed else ():
            new = [self.kind.drawn(slot, draw) for slot in slots]
            yield (
                replaced(source, {slot.source: text for slot, text in zip(slots, new, strict=True)}),
                replaced(target, {slot.target: text for slot, text in zip(slots, new, strict=True)}),
            )


def replaced(text: str, new: dict[str, str]) -> str:
    """The text with some of its words and runs of digits written otherwise."""
    return TOKEN.sub(lambda found: new.get(found[0], found[0]), text)


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


# A number in digits becomes one of its range, so that hours stay hours, days days and years years. 0 and 1 stay: French has
# the singular behind them.
RANGES = ((2, 12), (13, 23), (24, 31), (32, 59), (60, 99), (100, 999), (1000, 1499), (1500, 2029), (2030, 9999))
WORDS = {
    "two": ("deux", 2),
    "three": ("trois", 3),
    "four": ("quatre", 4),
    "five": ("cinq", 5),
    "six": ("six", 6),
    "seven": ("sept", 7),
    "eight": ("huit", 8),
    "nine": ("neuf", 9),
    "ten": ("dix", 10),
    "eleven": ("onze", 11),
    "twelve": ("douze", 12),
    "thirteen": ("treize", 13),
    "fourteen": ("quatorze", 14),
    "fifteen": ("quinze", 15),
    "sixteen": ("seize", 16),
    "seventeen": ("dix-sept", 17),
    "eighteen": ("dix-huit", 18),
    "nineteen": ("dix-neuf", 19),
    "twenty": ("vingt", 20),
    "thirty": ("trente", 30),
    "forty": ("quarante", 40),
    "fifty": ("cinquante", 50),
    "sixty": ("soixante", 60),
}
# Beside these a word is part of a larger number or of a choice, or English shows how its number is pronounced.
BESIDE = {
    *("a", "an", "or", "one", "and", "point", "hundred", "thousand", "million", "billion", "dozen", "thirds", "quarters"),
    *("ou", "et", "un", "une", "virgule", "cent", "cents", "mille", "millions", "milliard", "milliards", "douzaines"),
    *("tiers", "quarts", "quatre", "soixante", "of", "you", "tous", "toutes"),
}
LETTERS = re.compile(r"[0-9](?!h\b|h[0-9])[^\W\d_]|[^\W\d_]-?(?<!\bh)(?<![0-9]h)[0-9]")  # 20th, 3D, F-16; but 8h45
PRONOUNCED = re.compile(r"\ban? [^\w\s]?[0-9]", re.IGNORECASE)  # an 8
DIGITS = re.compile("[0-9]+")
ENGLISH = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
HOURS, YEARS = re.compile(r"\bheures?\b"), re.compile(r"\bans\b")


class Numbers:
    """Runs of digits that both sides have, and numbers from two to sixty that both sides write as words, which become
    digits. A time of day and an age keep their range; other words become a number of any."""

    def slots(self, source: str, target: str) -> list[Slot]:
        """What can be replaced: of digits all above 1, if both sides have the same."""
        digits = _digits(source, target) if DIGITS.search(source) else []
        return digits + (_words(source, target) if ENGLISH.search(source) else [])

    def drawn(self, slot: Slot, draw: random.Random) -> str:
        """Another number, in digits; what began with a zero still does."""
        text = str(slot.kind)
        if not text:
            return str(draw.randint(*draw.choice(RANGES[:-1])))
        if text[0] == "0":
            return "0" + "".join(draw.choice("123456789") for _ in text[1:])
        bounds = [limits for limits in RANGES if limits[0] <= int(text) <= limits[1]]
        return str(draw.randint(*(bounds[0] if bounds else (10 ** (len(text) - 1), 10 ** len(text) - 1))))


def _digits(source: str, target: str) -> list[Slot]:
    one, two = (Counter(DIGITS.findall(text)) for text in (source, target))
    if one != two or LETTERS.search(source) or LETTERS.search(target) or PRONOUNCED.search(source):
        return []
    return [Slot(text, text, text) for text in one if text not in ("0", "1")]


def _words(source: str, target: str) -> list[Slot]:
    """Number words that stand once on each side; times of day and ages keep their range."""
    found: list[Slot] = []
    keeps = HOURS.search(target) or (YEARS.search(target) and "year" not in source)  # a time of day, an age
    one, two = TOKEN.findall(source), TOKEN.findall(target)
    sides = [[word.lower() for word in side] for side in (one, two)]
    for n, word in enumerate(sides[0]):
        french, value = WORDS.get(word, ("", 0))
        if not value or sides[0].count(word) != 1 or sides[1].count(french) != 1:
            continue
        at = sides[1].index(french)
        beside = [*sides[0][max(n - 1, 0) : n + 2], *sides[1][max(at - 1, 0) : at + 2]]
        others = set(beside) - {word, french}
        if not others & BESIDE and not any(text.isdigit() for text in others):
            found.append(Slot(one[n], two[at], str(value) if keeps else ""))
    return found


# Field of TrainConfig: what the kind is called, and how it is made of the pairs and a seed.
KINDS: dict[str, tuple[str, Callable[[Sequence[tuple[str, str]], int], Kind]]] = {
    "renamed_share": ("name", Names),
    "renumbered_share": ("number", lambda pairs, seed: Numbers()),
}


def rewritten_pairs(key: str, pairs: Sequence[tuple[str, str]], seed: int) -> Rewritten:
    """The pairs that allow the kind of a setting; DataError where none does."""
    name, kind = KINDS[key]
    found = Rewritten(pairs, kind(pairs, seed))
    if not found.allowed:
        raise DataError(
            f"--{key.replace('_', '-')}: no pair has a {name} that stands the same on both sides and could be another; "
            "leave the option out."
        )
    return found
