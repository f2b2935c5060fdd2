"""Frames: one structure in both languages, with slots for words of the lexicon. Also its sentences with chosen words.

A frame is a block of lines KEY: VALUE. Keys of one capital letter are slots, such as

    X: noun land                  a noun of a class; a|b is either class, a+b both, -a not a, =word the word itself
    X: noun job as=N              a noun of the gender of N
    XY: noun garment|vehicle      two different nouns of one of the classes
    A: adj X, or A: adj X =old    an adjective that can describe X, or one of a list (commas between)
    V: verb X Y                   a verb with X as its subject and Y as its object (- for none; * for a person)
    V: verb * P nopart            a verb of one word with P as its object
    N: name                       a first name
    K: number 2 12                a number in words

`held: yes` keeps a frame out of training. `both: yes` admits adjectives that could describe X and Y.
`first` and `second` list the adjectives or verbs for slot A or V that make P the first noun, X, or the second, Y.
English places: {X}, {X.s}, {a X}, {a A X}, {A}, {A.er}, {A.est}, {V}, {V.s}, {V.ed}, {V.en}, {V.ing}, {he/she~N}.
French places: {le X}, {de le X A}, {les X}, {X.p}, {A~X}, {A~X.p}, {V.il}, {V.il.fut}, {V.pp~X}, {il/elle~P}.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..corpus.corpus import DataError
from . import english, french
from .lexicon import TEXTS, Adjective, FirstName, Noun, Verb

KINDS = ("it", "they", "plain")  # it and they have a pronoun with two possible nouns
PLACE = re.compile(r"\{([^{}]*)\}")
Word = Noun | Adjective | Verb | FirstName | int
Words = Mapping[str, Word]


@dataclass(frozen=True)
class SentenceFrame:
    name: str
    kind: str
    is_held_out: bool
    allows_both: bool  # an adjective may describe both nouns; the sentence says which
    slots: tuple[tuple[str, tuple[str, ...]], ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    templates: tuple[tuple[str, str], ...]
    place: str

    @property
    def literal_words(self) -> set[str]:
        """Returns the English words that the frame itself writes."""
        return {word for text, _ in self.templates for word in re.findall(r"[a-z]+", PLACE.sub(" ", text).lower())}


def read_frames(folder: Path = TEXTS) -> list[SentenceFrame]:
    """Returns the frames of the files frames-*.txt. Raises DataError with file and line."""
    frames = []
    for path in sorted(folder.glob("frames-*.txt")):
        number = 1
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = [line for line in block.split("\n") if line.strip() and not line.startswith("#")]
            if lines:
                frames.append(_frame(lines, f"{path}, line {number}"))
            number += block.count("\n") + 2
    return frames


def _frame(lines: list[str], place: str) -> SentenceFrame:
    values: dict[str, str] = {}
    slots, english_texts, french_texts = [], [], []
    for line in lines:
        key, mark, value = line.partition(": ")
        if not mark:
            raise DataError(f"{place}: expected KEY: VALUE, not {line!r}.")
        if key.isupper():
            slots.append((key, tuple(value.split())))
        elif key in ("en", "fr"):
            (english_texts if key == "en" else french_texts).append(value.strip())
        else:
            values[key] = value.strip()
    if values.get("kind") not in KINDS or "name" not in values:
        raise DataError(f"{place}: expected a name and a kind, one of {', '.join(KINDS)}.")
    if not english_texts or len(english_texts) != len(french_texts):
        raise DataError(f"{place}: expected as many lines with en as with fr.")
    lists = [tuple(part.strip() for part in values.get(key, "").split(",") if part.strip()) for key in ("first", "second")]
    pairs = tuple(zip(english_texts, french_texts, strict=True))
    return SentenceFrame(
        values["name"],
        values["kind"],
        *(values.get(key) == "yes" for key in ("held", "both")),
        tuple(slots),
        *lists,
        pairs,
        place,
    )


_PLURALS = {"les": "le", "des": "un", "ces": "ce", "mes": "mon", "tes": "ton", "ses": "son", "nos": "notre", "vos": "votre"}
_PLURALS |= {"leurs": "leur", "tous": "tout", "quels": "quel"}
_FRENCH_NUMBERS = (
    *("zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze", "treize"),
    *("quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf", "vingt"),
)


def realize_english(template: str, words: Words) -> str:
    """Returns the English sentence of a template."""

    def place(match: re.Match[str]) -> str:
        text = match[1]
        if "~" in text:
            options, _, key = text.partition("~")
            return options.split("/")[_is_feminine(words, key)]
        *article, last = text.split(" ")
        if article and article[0] == "a":
            rest = " ".join(_english(part, words) for part in [*article[1:], last])
            return f"{english.indefinite(rest)} {rest}"
        return " ".join(_english(part, words) for part in [*article, last])

    return _sentence(PLACE.sub(place, template))


def _english(part: str, words: Words) -> str:
    key, _, form = part.partition(".")
    word = words[key]
    if isinstance(word, Noun):
        return word.english_plural if form == "s" else word.english
    if isinstance(word, Adjective):
        return {"er": word.comparative, "est": word.superlative}.get(form, word.english)
    if isinstance(word, Verb):
        return {"": word.english, **dict(zip(("s", "ed", "en", "ing"), word.forms, strict=True))}[form]
    return english.number(word) if isinstance(word, int) else word.name


def realize_french(template: str, words: Words, conjugation: french.Conjugation, flipped: bool = False) -> str:
    """Returns the French sentence; `flipped` gives all that agrees with the pronoun the other gender."""

    def place(match: re.Match[str]) -> str:
        text, _, agreed = match[1].partition("~")
        key, _, number = agreed.partition(".")
        is_feminine = _is_feminine(words, key) if key else False
        if flipped and key == "P":
            is_feminine = not is_feminine
        if "/" in text:
            return text.split("/")[is_feminine]
        last = text.split(" ")[-1].split(".")[0]
        if key and isinstance(words.get(last), Adjective):
            return words[last].forms[2 * (number == "p") + is_feminine]
        if isinstance(words.get(last), Verb):
            return _verb_form(words[last], text, conjugation, is_feminine if key else None, number == "p")
        return _noun_phrase(text.split(" "), words)

    return _sentence(french.elide(PLACE.sub(place, template)))


def _is_feminine(words: Words, keys: str) -> bool:
    """Returns the gender of a word, or of several together."""
    return all(words[key].is_feminine for key in keys)


def _verb_form(verb: Verb, text: str, conjugation: french.Conjugation, is_feminine: bool | None, is_plural: bool) -> str:
    _, form, *tense = (text + ".inf").split(".")
    if form == "inf":
        return verb.french
    if form in ("pp", "part"):
        agrees = is_feminine is not None and (form == "pp" or conjugation.auxiliary(verb.french) == "être")
        participle = conjugation.participle(verb.french)
        return participle + ("e" * bool(is_feminine) + "s" * (is_plural and participle[-1] != "s")) * agrees
    if form == "aux":
        person, *tense = tense
        return conjugation.form(conjugation.auxiliary(verb.french), person, *[each for each in tense if each != "inf"])
    return conjugation.form(verb.french, form, *[each for each in tense if each != "inf"])


def _noun_phrase(parts: list[str], words: Words) -> str:
    """Returns a noun with determiner, preposition and adjectives, such as "à le X A"."""
    keys = [part for part in parts if part[:1].isupper() and part.split(".")[0] in words]
    before = [part.lower() for part in parts[: len(parts) - len(keys)]]
    (noun_key,) = [key for key in keys if isinstance(words[key.split(".")[0]], Noun | FirstName | int)]
    noun = words[noun_key.split(".")[0]]
    if not isinstance(noun, Noun):
        return " ".join([*before, _FRENCH_NUMBERS[noun] if isinstance(noun, int) else noun.french])
    preposition, name = "", before[-1] if before else ""
    if len(before) > 1:
        preposition = before[0]
    is_plural = noun_key.endswith(".p") or name in _PLURALS or name == "d'"
    adjectives = [words[key] for key in keys if key != noun_key]
    masculine = not noun.is_feminine
    texts = [noun.french_plural if is_plural else noun.french]
    for each in adjectives:
        form = each.forms[2 * is_plural + noun.is_feminine]
        if each.is_before:
            if masculine and not is_plural and french.starts_with_vowel(texts[0]):
                form = each.before_vowel
            texts.insert(0, form)
        else:
            texts.append(form)
    phrase = " ".join(texts)
    if not name:
        return phrase
    if name == "de" and not preposition:
        return f"de {phrase}"
    if name == "des" and any(each.is_before for each in adjectives):
        return f"de {phrase}"
    article = french.determiner(_PLURALS.get(name, name), noun.is_feminine, is_plural, phrase, preposition)
    return f"{article} {phrase}"


def _sentence(text: str) -> str:
    """Returns the text with capitals at the beginnings of sentences."""
    return re.sub(r"(^|[.?!] |« )([a-zà-ÿœ])", lambda match: match[1] + match[2].upper(), re.sub(r"  +", " ", text).strip())
