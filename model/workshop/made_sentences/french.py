"""French inflection: nouns, adjectives, verbs, determiners and elision, by rules of the written language.

A leading * marks an aspirated h ("le héros"). `elide` removes the marks at the end.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

PERSONS = ("je", "tu", "il", "nous", "vous", "ils")
_PRESENT = {
    "er": ("e", "es", "e", "ons", "ez", "ent"),
    "ir": ("is", "is", "it", "issons", "issez", "issent"),
    "re": ("s", "s", "", "ons", "ez", "ent"),
}
_ENDINGS = {
    "imp": ("ais", "ais", "ait", "ions", "iez", "aient"),
    "fut": ("ai", "as", "a", "ons", "ez", "ont"),
    "cond": ("ais", "ais", "ait", "ions", "iez", "aient"),
}
_WITH_BE = {"aller", "venir", "revenir", "arriver", "partir", "sortir", "entrer", "rentrer", "tomber", "rester"}
_IMPERATIVES = {"être": "sois", "avoir": "aie", "aller": "va", "savoir": "sache"}
_NO_ELISION = {"onze", "onzième", "huit", "huitième", "oui", "yaourt", "yaourts"}
_ELIDED = re.compile(r"(?<![-\w*'])(je|me|te|se|le|la|ne|de|que|jusque|lorsque|puisque) (?=([\w*]+))", re.IGNORECASE)
_SI = re.compile(r"(?<![-\w])(s)i (?=ils?\b)", re.IGNORECASE)
DETERMINERS = {  # masculine, feminine, before a vowel, plural
    "le": ("le", "la", "", "les"),
    "un": ("un", "une", "", "des"),
    "ce": ("ce", "cette", "cet", "ces"),
    "mon": ("mon", "ma", "mon", "mes"),
    "ton": ("ton", "ta", "ton", "tes"),
    "son": ("son", "sa", "son", "ses"),
    "notre": ("notre", "notre", "", "nos"),
    "votre": ("votre", "votre", "", "vos"),
    "leur": ("leur", "leur", "", "leurs"),
    "chaque": ("chaque", "chaque", "", ""),
    "aucun": ("aucun", "aucune", "", ""),
    "quel": ("quel", "quelle", "", "quels/quelles"),
    "tout": ("tout le", "toute la", "", "tous les/toutes les"),
}


class Conjugation:
    """The forms of verbs; `irregular` maps an infinitive to present, future stem, participle and subjunctive."""

    def __init__(self, irregular: dict[str, tuple[tuple[str, ...], str, str, tuple[str, ...]]]):
        self._irregular = irregular

    def present(self, verb: str) -> tuple[str, ...]:
        if verb in self._irregular:
            return self._irregular[verb][0]
        stem, ending = verb[:-2], verb[-2:]
        forms = [stem + each for each in _PRESENT[ending]]
        if ending != "er":
            return tuple(forms)
        silent = _silent_stem(stem)
        forms = [(silent if n in (0, 1, 2, 5) else stem) + end for n, end in enumerate(_PRESENT["er"])]
        if stem.endswith("g"):
            forms[3] = stem + "eons"
        if stem.endswith("c"):
            forms[3] = stem[:-1] + "çons"
        return tuple(forms)

    def form(self, verb: str, person: str, tense: str = "pres") -> str:
        """Returns a finite form; tenses are pres, imp, fut, cond, subj and impv (imperative)."""
        number = PERSONS.index(person)
        present = self.present(verb)
        if tense == "pres":
            return present[number]
        if tense == "impv":
            if number == 1 and verb in _IMPERATIVES:
                return _IMPERATIVES[verb]
            return present[1][:-1] if number == 1 and present[1].endswith("es") else present[number]
        if tense == "imp" and verb != "être":
            return self._imperfect(verb, number)
        if tense == "imp":
            return "ét" + _ENDINGS["imp"][number]
        if tense in ("fut", "cond"):
            return self._future_stem(verb) + _ENDINGS[tense][number]
        if tense == "subj":
            own = self._irregular[verb][3] if verb in self._irregular else ()
            if own:
                return own[number]
            if number in (3, 4):
                return self._imperfect(verb, number)
            return present[5].removesuffix("ent") + ("e", "es", "e", "", "", "ent")[number]
        raise ValueError(f"the tense is {tense!r}; expected pres, imp, fut, cond, subj or impv")

    def participle(self, verb: str) -> str:
        if verb in self._irregular:
            return self._irregular[verb][2]
        return verb[:-2] + {"er": "é", "ir": "i", "re": "u"}[verb[-2:]]

    def auxiliary(self, verb: str) -> str:
        return "être" if verb in _WITH_BE else "avoir"

    def _imperfect(self, verb: str, number: int) -> str:
        stem = self.present(verb)[3].removesuffix("ons")
        ending = _ENDINGS["imp"][number]
        if ending.startswith("i"):  # nous mangions, nous lancions
            stem = re.sub("ge$", "g", re.sub("ç$", "c", stem)) if verb.endswith(("ger", "cer")) else stem
        return stem + ending

    def _future_stem(self, verb: str) -> str:
        if verb in self._irregular:
            return self._irregular[verb][1]
        stem, ending = verb[:-2], verb[-2:]
        if ending == "re":
            return stem + "r"
        if ending == "er" and (stem.endswith("y") or _has_mute_e(stem)):
            return _silent_stem(stem) + "er"
        return verb


def _has_mute_e(stem: str) -> bool:
    return re.search(r"[^aeiouéèq]?e[bcdfglmnprstv]$", stem) is not None and not re.search(r"e(ll|tt|ss|nn|rr)$", stem)


def _silent_stem(stem: str) -> str:
    """Returns the stem before a silent ending: achèt-e, préfèr-e, nettoi-e."""
    if stem.endswith("y"):
        return stem[:-1] + "i"
    if _has_mute_e(stem):
        return re.sub(r"e(.)$", r"è\1", stem)
    return re.sub(r"é([bcdfglmnprstv]|ch|gn|gu|qu|t?r|bl|br)$", r"è\1", stem)


@cache
def plural(word: str) -> str:
    """Returns the plural of a noun or of a masculine adjective by rule."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("au", "eu")) and word != "bleu":
        return word + "x"
    return word[:-2] + "aux" if word.endswith("al") and not word.endswith("bal") else word + "s"


@cache
def feminine(word: str) -> str:
    """Returns the feminine of an adjective by rule."""
    for end, other in (
        ("e", "e"),
        ("eux", "euse"),
        ("f", "ve"),
        ("er", "ère"),
        ("el", "elle"),
        ("en", "enne"),
        ("on", "onne"),
    ):
        if word.endswith(end):
            return word.removesuffix(end) + other
    return {"beau": "belle", "nouveau": "nouvelle"}.get(word, word + "e")


def starts_with_vowel(word: str) -> bool:
    """Returns True if *le* before the word becomes *l'*."""
    first = unicodedata.normalize("NFD", word.lower())[:1]
    if word.lower() in _NO_ELISION:
        return False
    return first in "aeiouhœ" or word.lower() == "y"


def determiner(name: str, is_feminine: bool, is_plural: bool, following: str, preposition: str = "") -> str:
    """Returns the determiner before the word `following`, contracted with the preposition de or à."""
    masculine, female, vowel, many = DETERMINERS[name]
    first = following.split(" ", 1)[0]
    if is_plural:
        form = many.split("/")[-1 if is_feminine else 0]
    elif vowel and starts_with_vowel(first) and not (name == "ce" and is_feminine):
        form = vowel
    else:
        form = female if is_feminine else masculine
    if not preposition:
        return form
    contracted = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
    if (preposition, form) in contracted and not (form == "le" and starts_with_vowel(first)):
        return contracted[preposition, form]
    return f"{preposition} {form}"


def elide(text: str) -> str:
    """Returns the text with elisions ("l'animal", "qu'il", "s'il") and without the marks of an aspirated h."""

    def shorten(match: re.Match[str]) -> str:
        word, following = match.groups()
        return f"{word[:-1]}'" if starts_with_vowel(following) else match[0]

    for _ in range(2):  # "de le un" has two in a row
        text = _ELIDED.sub(shorten, text)
    return _SI.sub(r"\1'", text).replace("*", "")
