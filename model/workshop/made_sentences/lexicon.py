"""The lexicon: pairs of English and French lemmas, with their classes; 15% of it never occurs in training."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ..corpus.corpus import DataError
from . import english, french

TEXTS = Path(__file__).parent / "texts"
HELD_SHARE = 0.15  # of each kind of words, never in a made sentence of the training data
EntryT = TypeVar("EntryT", "Noun", "Adjective", "Verb")
ALWAYS_HELD = frozenset({"animal", "street"})
# Each line: the parents of classes, and the classes.
_FAMILIES = """
animal animate: land pet predator prey bird insect sea farm
person animate: adult child job family both person
place: way slope building room region
thing: vehicle boat aircraft furniture surface container vessel item fragile metal cutter tool toy device machine
thing: instrument heavy garment document cloth strip small impact
"""
_LINES = [line.split(": ") for line in _FAMILIES.strip().split("\n")]
PARENTS = {each: tuple(parents.split()) for parents, classes in _LINES for each in classes.split()}
_OTHERS = "water linear paved soil shelter seat storage opening barrier cover text bell food dish fruit veg chew drink mass"
CLASSES = {
    *PARENTS,
    *_OTHERS.split(" "),
    "plant",
    "body",
    "abstract",
    *(parent for parents in PARENTS.values() for parent in parents),
}
WORDS = {"statue", "sentence", "story", "problem", "course", "project", "film", "battery"}  # classes of one noun


@dataclass(frozen=True)
class Noun:
    english: str
    french: str
    is_feminine: bool
    classes: frozenset[str]
    english_plural: str
    french_plural: str
    is_held_out: bool = False

    @property
    def is_double(self) -> bool:
        """True for the feminine of a person whose English word has no gender ("la voisine")."""
        return "both" in self.classes and self.is_feminine


@dataclass(frozen=True)
class Adjective:
    english: str
    classes: frozenset[str]
    forms: tuple[str, str, str, str]  # masculine, feminine, masculine plural, feminine plural
    before_vowel: str
    is_before: bool
    is_gradable: bool
    comparative: str
    superlative: str
    is_held_out: bool = False


@dataclass(frozen=True)
class Verb:
    english: str
    french: str
    subjects: frozenset[str]
    objects: frozenset[str]  # empty for an intransitive verb
    forms: tuple[str, str, str, str]  # third person, past, participle, gerund
    is_state: bool = False  # its past is no single event (know, love)
    is_held_out: bool = False


@dataclass(frozen=True)
class FirstName:
    """A first name, the same in both languages; `french` marks an aspirated h with *."""

    french: str
    is_feminine: bool
    classes = frozenset({"person", "animate"})

    @property
    def name(self) -> str:
        return self.french.removeprefix("*")


@dataclass(frozen=True)
class Lexicon:
    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    verbs: tuple[Verb, ...]
    names: tuple[FirstName, ...]
    conjugation: french.Conjugation = field(repr=False)

    def words(self, held_out: bool) -> set[str]:
        """Returns the English forms of all words that are held out, or of all that are not."""
        found = {form for noun in self.nouns if noun.is_held_out == held_out for form in (noun.english, noun.english_plural)}
        found |= {
            form
            for each in self.adjectives
            if each.is_held_out == held_out
            for form in (each.english, each.comparative.removeprefix("more "), each.superlative.removeprefix("most "))
        }
        return found | {form for verb in self.verbs if verb.is_held_out == held_out for form in (verb.english, *verb.forms)}


def read_lexicon(folder: Path = TEXTS, frame_words: Iterable[str] = ()) -> Lexicon:
    """Reads the lexicon; words of `frame_words` are never held out, because the frames write them themselves.

    Raises DataError with file and line for a row without a gender, an unknown class or a missing column.
    """
    conjugation = french.Conjugation(_read_irregular(folder / "irregular-verbs.tsv"))
    nouns = [noun for path in sorted(folder.glob("nouns-*.tsv")) for noun in _read_nouns(path)]
    adjectives = _read_adjectives(folder / "adjectives.tsv")
    verbs = _read_verbs(folder / "verbs.tsv", conjugation)
    names = []
    for place, row in _rows(folder / "names.tsv", 2):
        names.append(FirstName(row[0], _feminine(row[1], place)))
    words = set(frame_words)
    for noun in nouns:
        words |= {noun.english, noun.english_plural} & _forms(verbs, adjectives)
    words |= _forms([], adjectives) & _forms(verbs, [])
    texts = [form for verb in verbs for form in (verb.english, *verb.forms)] + [noun.english for noun in nouns]
    words |= {word for text in texts if " " in text for word in text.split()}
    held = _choose_held_out_nouns(nouns, words) | _choose_held_out(
        adjectives, words, lambda each: (each.english, each.comparative)
    )
    held |= _choose_held_out(verbs, words, lambda each: (each.english, *each.forms))
    held_french = {noun.french for noun in nouns if noun.english in held}
    return Lexicon(
        tuple(_mark(each, each.english in held or each.french in held_french) for each in nouns),
        tuple(_mark(each, each.english in held) for each in adjectives),
        tuple(_mark(each, each.english in held) for each in verbs),
        tuple(names),
        conjugation,
    )


def _forms(verbs: Iterable[Verb], adjectives: Iterable[Adjective]) -> set[str]:
    """Returns the English forms of verbs and of adjectives."""
    return {form for verb in verbs for form in (verb.english, *verb.forms)} | {each.english for each in adjectives}


def _mark(word: EntryT, is_held_out: bool) -> EntryT:
    return dataclasses.replace(word, is_held_out=is_held_out)


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()


def _choose_held_out(words, free: set[str], forms) -> set[str]:
    """Returns the words with the smallest digests, without those that occur in free text."""
    candidates = sorted({each.english for each in words if not free & set(forms(each))}, key=_digest)
    return set(candidates[: round(HELD_SHARE * len(words))])


def _choose_held_out_nouns(nouns: list[Noun], free: set[str]) -> set[str]:
    """Returns held nouns, with a share of each first class and gender."""
    groups = defaultdict(set)
    for noun in nouns:
        if not free & {noun.english, noun.english_plural}:
            groups[min(noun.classes & {"animal", "person"} or {sorted(noun.classes)[0]}), noun.is_feminine].add(noun.english)
    held = {each for group in groups.values() for each in sorted(group, key=_digest)[: round(HELD_SHARE * len(group) + 0.2)]}
    return held | (ALWAYS_HELD & {noun.english for noun in nouns})


def _rows(path: Path, minimum: int) -> list[tuple[str, list[str]]]:
    """Returns the place "file, line n" and the cells of each row after the header."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path}: expected a readable text of the lexicon in UTF-8.") from None
    width = len(lines[0].split("\t")) if lines else 0
    rows = []
    for number, line in enumerate(lines[1:], 2):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) > width or len(cells) < minimum or not all(cells[:2]):
            raise DataError(f"{path}, line {number}: expected {minimum} to {width} cells, the first two not empty.")
        rows.append((f"{path}, line {number}", cells + [""] * (width - len(cells))))
    return rows


def _feminine(cell: str, place: str) -> bool:
    if cell not in ("m", "f"):
        raise DataError(f"{place}: the gender is {cell!r}; expected m or f.")
    return cell == "f"


def _classes(cell: str, place: str) -> frozenset[str]:
    classes = set(cell.split())
    for each in classes:
        if each not in CLASSES | WORDS:
            raise DataError(f"{place}: the class {each!r} is unknown; expected one of {', '.join(sorted(CLASSES))}.")
    return frozenset(classes)


def _options(cell: str) -> dict[str, str]:
    return {
        name.strip(): value.strip() for name, _, value in (part.partition("=") for part in cell.split(";")) if name.strip()
    }


def _read_nouns(path: Path) -> list[Noun]:
    nouns = []
    for place, (word, lemma, gender, cell, many, lemmas) in _rows(path, 3):
        is_feminine = _feminine(gender, place)
        classes = _classes(cell, place)
        if not classes:
            raise DataError(f"{place}: {word!r} has no class; expected one of {', '.join(sorted(CLASSES))}.")
        classes |= {parent for each in classes for parent in PARENTS.get(each, ())} | ({word} & WORDS)
        nouns.append(Noun(word, lemma, is_feminine, classes, many or english.plural(word), lemmas or french.plural(lemma)))
    return nouns


def _read_adjectives(path: Path) -> list[Adjective]:
    adjectives = []
    for place, (word, lemma, cell, forms) in _rows(path, 3):
        own = _options(forms)
        female = own.get("f") or french.feminine(lemma)
        many = own.get("pl") or french.plural(lemma)
        compare = own.get("er") or english.comparative(word)
        highest = english.comparative(word, "est") if "er" not in own else _superlative(compare)
        all_forms = (lemma, female, many, own.get("fpl") or french.plural(female))
        adjectives.append(
            Adjective(
                word,
                _classes(cell, place),
                all_forms,
                own.get("v", lemma),
                "pre" in own,
                "nongrad" not in own,
                compare,
                highest,
            )
        )
    return adjectives


def _superlative(comparative: str) -> str:
    return {"better": "best", "worse": "worst"}.get(comparative, comparative.removesuffix("er") + "est")


def _read_verbs(path: Path, conjugation: french.Conjugation) -> list[Verb]:
    verbs = []
    for place, (word, lemma, subjects, objects, forms) in _rows(path, 3):
        own = _options(forms)
        if lemma[-2:] not in ("er", "ir", "re"):
            raise DataError(f"{place}: {lemma!r} is no infinitive; expected one in -er, -ir or -re.")
        conjugation.present(lemma)
        past = own.get("past") or english.past(word)
        every = (
            own.get("s") or english.third_person(word),
            past,
            own.get("pp") or past,
            own.get("ing") or english.gerund(word),
        )
        verbs.append(Verb(word, lemma, _classes(subjects, place), _classes(objects, place), every, "state" in own))
    return verbs


def _read_irregular(path: Path) -> dict[str, tuple[tuple[str, ...], str, str, tuple[str, ...]]]:
    return {row[0]: (tuple(row[1].split()), row[2], row[3], tuple(row[4].split())) for _, row in _rows(path, 4)}
