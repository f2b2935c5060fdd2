"""Numbers that both sides of a pair have, in digits or as words."""

from __future__ import annotations

import random
import re
from collections import Counter

from model.text.rewritten import TOKEN, Slot

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
