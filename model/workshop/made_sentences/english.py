"""English inflection by rule: plurals, verb forms, comparatives and the indefinite article."""

from __future__ import annotations

import re
from functools import cache

_A = ("uni", "use", "usa", "usel", "euro", "one", "ewe", "eu")
_AN = ("hour", "honest", "heir")
_NARROW = {"narrow", "shallow", "hollow", "yellow"}
_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)


@cache
def plural(word: str) -> str:
    if re.search(r"(s|x|ch|sh)$", word):
        return word + "es"
    return word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + "s"


third_person = plural  # watches, carries, sees


@cache
def past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if re.search(r"[^aeiou]y$", verb) else verb + "ed"


@cache
def gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if re.fullmatch(r"(.*[^aeiou])?[^aeiou]*[aeiou][bdgmnpt]", verb) and len(re.findall(r"[aeiou]+", verb)) == 1:
        return verb + verb[-1] + "ing" if not re.search(r"[aeiou]{2}.$", verb) else verb + "ing"
    return verb[:-1] + "ing" if re.search(r"[^eoy]e$", verb) else verb + "ing"


@cache
def comparative(adjective: str, ending: str = "er") -> str:
    """Returns the comparative ("wider", "more careful"), or the superlative if the ending is est."""
    if adjective in ("good", "bad"):
        return {"gooder": "better", "goodest": "best", "bader": "worse", "badest": "worst"}[adjective + ending]
    groups = re.findall(r"[aeiouy]+", re.sub(r"e$", "", adjective))
    if re.search(r"[^aeiou]y$", adjective) and 1 < len(groups) <= 2:
        return adjective[:-1] + "i" + ending
    if (len(groups) > 1 and adjective not in _NARROW) or " " in adjective:
        return ("more " if ending == "er" else "most ") + adjective
    if adjective == "dry":
        return "dri" + ending
    if re.search(r"[^aeiou][aeiou][bdgmnt]$", adjective):
        return adjective + adjective[-1] + ending
    return adjective.removesuffix("e") + ending


def indefinite(following: str) -> str:
    """Returns a or an before the following words."""
    word = following.lower()
    if word.startswith(_AN):
        return "an"
    return "an" if word[:1] in "aeiou" and not word.startswith(_A) else "a"


def number(value: int) -> str:
    return _NUMBERS[value]
