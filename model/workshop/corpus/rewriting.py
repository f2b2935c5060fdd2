"""Pairs with other names or numbers on both sides. They teach a model to copy unseen words piece by piece.

Only a text that both sides share is replaced, by one that the sentence around it allows. The rules are those of English and
French. In other languages fewer pairs allow a replacement.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from .corpus import DataError

TOKEN = re.compile(r"(?<![\w-])[^\W\d_]+(?:-[^\W\d_]+)*(?![\w-])|[0-9]+")  # a word, with its hyphens, or a run of digits


class Slot(NamedTuple):
    """A text of a pair that is replaced by the same text on both sides. `kind` limits the replacement."""

    source: str
    target: str
    kind: object


class Rewriter(Protocol):
    """A way to rewrite pairs."""

    def slots(self, source: str, target: str) -> list[Slot]:
        """Returns everything that can be replaced in a pair, or an empty list."""
        ...

    def replacement(self, slot: Slot, draw: random.Random) -> str:
        """Returns a random replacement."""
        ...


class RewrittenPairs:
    """The pairs that a rewriter can change, and a generator of changed pairs."""

    def __init__(self, pairs: Sequence[tuple[str, str]], rewriter: Rewriter) -> None:
        self.rewriter = rewriter
        rewritable = ((source, target, rewriter.slots(source, target)) for source, target in pairs)
        self.allowed = [pair for pair in rewritable if pair[2]]

    def sample(self, count: int, draw: random.Random) -> Iterator[tuple[str, str]]:
        """Yields `count` random pairs with every slot replaced; none if no pair allows it."""
        for source, target, slots in draw.choices(self.allowed, k=count) if self.allowed else ():
            new = [self.rewriter.replacement(slot, draw) for slot in slots]
            yield (
                replace_words(source, {slot.source: text for slot, text in zip(slots, new, strict=True)}),
                replace_words(target, {slot.target: text for slot, text in zip(slots, new, strict=True)}),
            )


def replace_words(text: str, new: dict[str, str]) -> str:
    """Returns the text with some of its words and runs of digits replaced."""
    return TOKEN.sub(lambda match: new.get(match[0], match[0]), text)


MIN_LETTERS = 3  # letters of a name
MAX_LETTERS = 10  # letters of an invented name
POOL_SIZE = 8000  # invented names of each kind, before words of the corpus are removed
FREQUENT = 4000  # words whose letters serve as a model
INSIDE_WORD = re.compile(r"(?<=[^\W\d_] )[^\W\d_]+")  # a word that begins no sentence
WORD_BEFORE = re.compile(r"([^\W\d_]+)(\s+|['’])$")
# French words in front of a name that determine how the name begins.
BEFORE_VOWELS = {"d", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu"}
BEFORE_CONSONANTS = {"de", "que", "jusque", "lorsque", "puisque", "quoique"}
# Words that show gender, number or kind of the name after them; such names stay.
ARTICLES = {
    *("le", "la", "les", "l", "un", "une", "des", "du", "au", "aux", "en", "ce", "cet", "cette", "ces"),
    *("mon", "ma", "mes", "ton", "ta", "tes", "son", "sa", "ses", "notre", "nos", "votre", "vos", "leur", "leurs"),
    *("beau", "bel", "belle", "vieux", "vieil", "vieille", "nouveau", "nouvel", "nouvelle", "saint", "sainte"),
}
ENGLISH_ARTICLES = {"a", "an", "the"}  # in English
VOWELS, CONSONANTS = set("aeiou"), set("bcdfgjklmnpqrstvwxz")  # h and y may be both


def _is_title(word: str) -> bool:
    return len(word) >= MIN_LETTERS and word[0].isupper() and word[1:].islower() and word.isascii()


class NameRewriter:
    """Replaces names: capitalised words inside sentences that mostly occur on both sides, and hardly ever in lower case.

    Replacements are invented. A real name could be a woman's where the French speaks of a man, or a country's, which has an
    article in French.
    """

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
                inside.update(INSIDE_WORD.findall(source))
        self.known = {
            word
            for word, count in both_have.items()
            if word in inside and 2 * count > source_has[word] and 20 * words[word.lower()] <= count
        }
        pool = _make_pool(self.known, words, random.Random(f"names/{seed}"))
        self.pools = {begins: [name for name in pool if fit(name)] for begins, fit in BEGINNINGS.items()}

    def slots(self, source: str, target: str) -> list[Slot]:
        """Returns the names that occur equally often on both sides, if the words in front of them allow another name."""
        one, two = TOKEN.findall(source), TOKEN.findall(target)
        names = [name for name in dict.fromkeys(one) if name in self.known and one.count(name) == two.count(name)]
        slots = [Slot(name, name, _beginning(name, source, target)) for name in names]
        return [slot for slot in slots if self.pools.get(slot.kind)]

    def replacement(self, slot: Slot, draw: random.Random) -> str:
        """Returns an invented name with the required beginning."""
        return draw.choice(self.pools[slot.kind])


BEGINNINGS = {
    "any": lambda name: True,
    "vowel": lambda name: name[0].lower() in VOWELS,
    "consonant": lambda name: name[0].lower() in CONSONANTS,
}


def _beginning(name: str, source: str, target: str) -> str:
    """Returns the required beginning of another name in its place: one of `BEGINNINGS`, or `no`."""
    required = {_required_beginning(before) for before in _words_before(name, target)} | {
        "no"
        for before in _words_before(name, source)
        if before and (before[1].lower() in ENGLISH_ARTICLES or before[2] in ("'", "’"))
    }
    required -= {"any"}
    return "any" if not required else required.pop() if len(required) == 1 else "no"


def _words_before(name: str, text: str) -> list[re.Match[str] | None]:
    """Returns the word in front of each occurrence of a name, if no punctuation separates them."""
    return [WORD_BEFORE.search(text[: match.start()]) for match in TOKEN.finditer(text) if match[0] == name]


def _required_beginning(before: re.Match[str] | None) -> str:
    if not before:
        return "any"
    word = before[1].lower()
    if not before[2].isspace():
        return "vowel" if word in BEFORE_VOWELS else "no"
    return "consonant" if word in BEFORE_CONSONANTS else "no" if word in ARTICLES else "any"


def _make_pool(names: set[str], words: Counter[str], draw: random.Random) -> list[str]:
    """Returns invented names that are no words of the corpus: half from its names, half from its frequent words."""
    lower = {word.lower() for word in words}
    frequent = [
        word
        for word, _ in words.most_common(FREQUENT)
        if word.isalpha() and word.islower() and len(word) > MIN_LETTERS and word.isascii()
    ]
    pool: dict[str, None] = {}  # an ordered set
    for like in (sorted(names), sorted(frequent) if names else []):
        pool |= dict.fromkeys(name for name in _make_names(like, POOL_SIZE, draw) if name.lower() not in lower)
    return list(pool)


def _make_names(like: list[str], count: int, draw: random.Random) -> Iterator[str]:
    """Yields up to `count` capitalised words of a limited length. Each letter follows the two before it as in a word of
    `like`."""
    after: dict[str, list[str]] = {}
    for word in like:
        letters = f"  {word.lower()} "
        for n in range(len(letters) - 2):
            after.setdefault(letters[n : n + 2], []).append(letters[n + 2])
    for _ in range(count if like else 0):
        name = "  " + draw.choice(after["  "])
        while name[-1] != " " and len(name) < MAX_LETTERS + 3:
            name += draw.choice(after[name[-2:]])
        if MIN_LETTERS <= len(name.strip()) <= MAX_LETTERS and name[-1] == " ":
            yield name.strip().capitalize()


# A number in digits becomes another of its range, so that hours, days and years stay plausible. 0 and 1 stay, because they
# take the singular in French.
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
# Next to these a word is part of a larger number or of a choice, or English depends on its pronunciation.
NUMBER_NEIGHBOURS = {
    *("a", "an", "or", "one", "and", "point", "hundred", "thousand", "million", "billion", "dozen", "thirds", "quarters"),
    *("ou", "et", "un", "une", "virgule", "cent", "cents", "mille", "millions", "milliard", "milliards", "douzaines"),
    *("tiers", "quarts", "quatre", "soixante", "of", "you", "tous", "toutes"),
}
LETTERS = re.compile(r"[0-9](?!h\b|h[0-9])[^\W\d_]|[^\W\d_]-?(?<!\bh)(?<![0-9]h)[0-9]")  # 20th, 3D, F-16; but 8h45
PRONOUNCED = re.compile(r"\ban? [^\w\s]?[0-9]", re.IGNORECASE)  # an 8
DIGITS = re.compile("[0-9]+")
ENGLISH = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
HOURS, YEARS = re.compile(r"\bheures?\b"), re.compile(r"\bans\b")


class NumberRewriter:
    """Replaces digits that both sides share, and numbers from two to sixty that both sides write as words.

    Words become digits. Times of day and ages keep their range; other words become any number.
    """

    def slots(self, source: str, target: str) -> list[Slot]:
        """Returns the numbers that can be replaced. Digits must be above 1 and the same on both sides."""
        digits = _digits(source, target) if DIGITS.search(source) else []
        return digits + (_words(source, target) if ENGLISH.search(source) else [])

    def replacement(self, slot: Slot, draw: random.Random) -> str:
        """Returns another number, in digits. A leading zero stays."""
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
    """Returns number words that occur once on each side. Times of day and ages keep their range."""
    slots: list[Slot] = []
    keeps = HOURS.search(target) or (YEARS.search(target) and "year" not in source)  # a time of day, an age
    one, two = TOKEN.findall(source), TOKEN.findall(target)
    sides = [[word.lower() for word in side] for side in (one, two)]
    for n, word in enumerate(sides[0]):
        french, value = WORDS.get(word, ("", 0))
        if not value or sides[0].count(word) != 1 or sides[1].count(french) != 1:
            continue
        position = sides[1].index(french)
        near = [*sides[0][max(n - 1, 0) : n + 2], *sides[1][max(position - 1, 0) : position + 2]]
        others = set(near) - {word, french}
        if not others & NUMBER_NEIGHBOURS and not any(text.isdigit() for text in others):
            slots.append(Slot(one[n], two[position], str(value) if keeps else ""))
    return slots


# Field of TrainConfig: noun for messages, and constructor from the pairs and a seed.
REWRITERS: dict[str, tuple[str, Callable[[Sequence[tuple[str, str]], int], Rewriter]]] = {
    "renamed_share": ("name", NameRewriter),
    "renumbered_share": ("number", lambda pairs, seed: NumberRewriter()),
}


def rewritten_pairs(key: str, pairs: Sequence[tuple[str, str]], seed: int) -> RewrittenPairs:
    """Returns the pairs that the rewriter of a setting can change. Raises DataError if there is none."""
    name, kind = REWRITERS[key]
    rewritten = RewrittenPairs(pairs, kind(pairs, seed))
    if not rewritten.allowed:
        raise DataError(f"--{key.replace('_', '-')}: no pair has a replaceable {name} on both sides; remove the option.")
    return rewritten
