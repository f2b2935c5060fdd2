"""Generation of the pairs: training data, contrast files, and pairs of the kinds that students type.

The pairs of students are names, greetings, chat forms, idioms, words of the subject, and typed variants.
"""

from __future__ import annotations

import random
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from ..corpus.corpus import DataError
from . import french
from .lexicon import Adjective, FirstName, Lexicon, Noun, Verb
from .sentence_frames import SentenceFrame, Word, Words, realize_english, realize_french


class WordChoice:
    """Draws words for the slots of a frame, among the words that are held out, or among the others."""

    def __init__(self, lexicon: Lexicon, generator: random.Random):
        self._lexicon, self._random = lexicon, generator
        self._pools: dict[tuple, list[Noun]] = {}

    def draw(
        self,
        frame: SentenceFrame,
        held_out: bool,
        is_first: bool,
        is_feminine: bool | None = None,
        is_same_gender: bool = False,
    ) -> dict[str, Word] | None:
        """Returns a word per slot, and P; None if this attempt fits no words.

        With `is_feminine`, P has that gender, and the other noun the other one or, with `is_same_gender`, the same. With
        `held_out`, all nouns are held out, and adjectives and verbs may be; without, nothing is.
        """
        words: dict[str, Word] = {}
        wanted = None if is_feminine is None else {"X": is_feminine == is_first, "Y": is_feminine != is_first}
        if wanted is not None and is_same_gender:
            wanted = dict.fromkeys("XY", is_feminine)
        listed = frame.first if is_first else frame.second
        referent = "X" if is_first else "Y"
        for key, (kind, *spec) in frame.slots:
            if kind == "noun":
                if not self._draw_nouns(frame, key, spec, held_out, wanted, words):
                    return None
                continue
            if kind == "name":
                words[key] = self._random.choice(self._lexicon.names)
                continue
            if kind == "number":
                words[key] = self._random.randint(int(spec[0]), int(spec[1]))
                continue
            options = (
                self._adjectives(spec, words, listed, referent)
                if kind == "adj"
                else self._verbs(spec, words, listed, referent)
            )
            if kind == "verb" and "{V.il" not in frame.templates[0][1]:
                options = [each for each in options if not each.is_state]
            options = [each for each in options if (held_out or not each.is_held_out) and each not in words.values()]
            if kind == "adj" and frame.kind != "plain" and not frame.allows_both:
                options = [each for each in options if not _can_be(each, words["Y" if is_first else "X"])]
            if (
                kind == "adj"
                and re.search(rf"\{{{key}\.e|too \{{{key}|so \{{{key}|as \{{{key}", frame.templates[0][0])
                and not listed
            ):
                options = [each for each in options if each.is_gradable]
            if not options:
                return None
            words[key] = self._random.choice(options)
        if frame.kind != "plain":
            words["P"] = words[referent]
        return words

    def _draw_nouns(self, frame, keys, spec, held_out, wanted, words) -> bool:
        cell, *same = spec
        of_gender = words[same[0].removeprefix("as=")].is_feminine if same else None
        allowed = cell.split("|")
        if len(keys) > 1:
            allowed = [self._random.choice(allowed)]
        for key in keys:
            pool = self._noun_pool(frame, key, tuple(allowed), held_out, bool(same))
            options = [
                noun
                for noun in pool
                if of_gender in (None, noun.is_feminine)
                and (wanted is None or noun.is_feminine == wanted.get(key, noun.is_feminine))
                and noun.english not in {each.english for each in words.values() if isinstance(each, Noun)}
            ]
            if not options:
                return False
            words[key] = self._random.choice(options)
        return True

    def _noun_pool(
        self, frame: SentenceFrame, key: str, allowed: tuple[str, ...], held_out: bool, doubles: bool
    ) -> list[Noun]:
        """Returns the nouns for a slot, remembered."""
        place = (frame.name, key, allowed, held_out)
        if place not in self._pools:
            text = " ".join(english_text for english_text, _ in frame.templates)
            is_counted = re.search(rf"\{{(a|an)( \w)? {key}\}}|\{{{key}\.s\}}", text) is not None
            doubles = doubles or "both" in re.split("[|+]", "|".join(allowed))
            self._pools[place] = [
                noun
                for noun in self._lexicon.nouns
                if noun.is_held_out == held_out
                and any(_fits(noun, part) for part in allowed)
                and not (is_counted and "mass" in noun.classes)
                and (not noun.is_double or doubles)
            ]
        return self._pools[place]

    def _adjectives(self, spec, words, listed, referent) -> list[Adjective]:
        names = _names(spec) or listed
        noun = words[referent if spec[0] == "P" else spec[0][0]]
        nouns = [words[each] for each in spec[0]] if spec[0] != "P" else [noun]
        return [
            each
            for each in self._lexicon.adjectives
            if (not names or each.english in names) and all(_can_be(each, noun) for noun in nouns)
        ]

    def _verbs(self, spec, words, listed, referent) -> list[Verb]:
        names = _names(spec) or listed
        subject, obj = [*spec, "-", "-"][:2]
        subject, obj = (referent if each == "P" else each for each in (subject, obj))
        subjects = {"person"} if subject == "*" else words[subject].classes if subject in words else None
        objects = words[obj].classes if obj in words else None
        bare = "nopart" in spec
        return [
            each
            for each in self._lexicon.verbs
            if (not names or each.english in names)
            and (subjects is None or each.subjects & subjects)
            and (each.objects & objects if objects is not None else not each.objects or obj == "?")
            and not (bare and " " in each.english)
        ]


def _names(spec: list[str]) -> tuple[str, ...]:
    text = " ".join(spec)
    return tuple(part.strip() for part in text.partition("=")[2].split(",")) if "=" in text else ()


def _fits(noun: Noun, part: str) -> bool:
    if part.startswith("="):
        return noun.english == part[1:].replace("_", " ")
    wanted = re.findall(r"([+-]?)(\w+)", part)
    return all((name in noun.classes) != (sign == "-") for sign, name in wanted)


def _can_be(adjective: Adjective, word: Noun | FirstName) -> bool:
    return bool(adjective.classes & word.classes)


PRONOUN_SHARE = 0.6  # of the training pairs
SAME_GENDER_SHARE = 0.2  # of those: the two nouns have one gender
LEAN = 0.8  # of a frame's training sentences have its usual referent; balanced ones teach nothing at first
SPLITS = ("seen", "unseen_words", "unseen_frames")
ATTEMPTS = 60


@dataclass(frozen=True)
class ContrastPair:
    """A sentence with its right translation, and with one in which the pronoun agrees with the other noun."""

    english: str
    right: str
    wrong: str
    noun: str
    other: str
    split: str

    def cells(self) -> tuple[str, ...]:
        return (self.english, self.right, self.wrong, self.noun, self.other, self.split)


def normalize(text: str) -> str:
    """Returns the text in lower case, without punctuation, to compare sentences."""
    return " ".join(re.findall(r"\w+", text.lower().replace("’", "'").replace("'", "")))


def contrast_rows(
    lexicon: Lexicon, frames: list[SentenceFrame], split: str, count: int, generator: random.Random, excluded: set[str]
) -> list[ContrastPair]:
    """Returns rows of a split, balanced over the gender of the right noun and over its place; fewer if words run out."""
    if split == "unseen_frames":
        chosen = [frame for frame in frames if frame.kind != "plain" and frame.is_held_out]
    else:
        chosen = [frame for frame in frames if frame.kind != "plain" and not frame.is_held_out and frame.second]
    choice, rows, known = WordChoice(lexicon, generator), [], set(excluded)
    for number in range(count):
        is_first, is_feminine = number % 2 == 0, number // 2 % 2 == 0
        for _ in range(ATTEMPTS * 4):
            frame = generator.choice(chosen)
            words = choice.draw(frame, split == "unseen_words", is_first, is_feminine)
            if words is None:
                continue
            row = _contrast_row(frame, words, lexicon, split, is_first, generator)
            if normalize(row.english) not in known:
                known.add(normalize(row.english))
                rows.append(row)
                break
    return rows


def _contrast_row(
    frame: SentenceFrame, words: Words, lexicon: Lexicon, split: str, is_first: bool, generator: random.Random
) -> ContrastPair:
    template, target = generator.choice(frame.templates)
    right, wrong = (realize_french(target, words, lexicon.conjugation, flipped) for flipped in (False, True))
    nouns = [words[key] for key in ("XY" if is_first else "YX")]
    named = [each.english_plural if frame.kind == "they" else each.english for each in nouns if isinstance(each, Noun)]
    return ContrastPair(realize_english(template, words), right, wrong, *named, split)


def training_pairs(
    lexicon: Lexicon, frames: list[SentenceFrame], count: int, generator: random.Random, excluded: set[str]
) -> list[tuple[str, str, str]]:
    """Returns distinct pairs English, French, name of the frame, without held words and frames; fewer if words run out."""
    choice, known = WordChoice(lexicon, generator), set(excluded)
    groups = [
        ([frame for frame in frames if frame.kind != "plain" and not frame.is_held_out], round(count * PRONOUN_SHARE)),
        (
            [frame for frame in frames if frame.kind == "plain" and not frame.is_held_out],
            count - round(count * PRONOUN_SHARE),
        ),
    ]
    pairs = []
    for chosen, wanted in groups:
        failures = dict.fromkeys((frame.name for frame in chosen), 0)
        made = 0
        while made < wanted and chosen:
            frame = generator.choice(chosen)
            pair = _training_pair(choice, frame, lexicon, generator)
            if pair is None or normalize(pair[0]) in known:
                failures[frame.name] += 1
                if failures[frame.name] > 20 * ATTEMPTS:  # the words of this frame are used up
                    chosen = [each for each in chosen if each is not frame]
                continue
            known.add(normalize(pair[0]))
            pairs.append((*pair, frame.name))
            made += 1
    generator.shuffle(pairs)
    return pairs


def _leans_to_first(frame: SentenceFrame) -> bool:
    """True if the first noun is the usual referent of a frame: half of the frames, by their names."""
    return zlib.crc32(frame.name.encode()) % 2 == 0


def _training_pair(
    choice: WordChoice, frame: SentenceFrame, lexicon: Lexicon, generator: random.Random
) -> tuple[str, str] | None:
    is_first = not frame.second or generator.random() < (LEAN if _leans_to_first(frame) else 1 - LEAN)
    is_feminine = generator.random() < 0.5 if frame.kind != "plain" and generator.random() < 0.8 else None
    is_same_gender = generator.random() < SAME_GENDER_SHARE
    words = choice.draw(frame, False, is_first, is_feminine, is_same_gender)
    if words is None:
        return None
    template, target = generator.choice(frame.templates)
    return realize_english(template, words), realize_french(target, words, lexicon.conjugation)


VARIANT_SHARE = 0.25  # of the pairs, each in capitals, in lower case and without a full stop


def student_pairs(lexicon: Lexicon, texts: Path, excluded: set[str], generator: random.Random) -> list[tuple[str, str]]:
    """Returns distinct pairs English, French, without the excluded sentences. Raises DataError with file and line."""
    pairs = dict[str, str]()
    for path in sorted((texts / "students").glob("*.tsv")):
        read = _read_names(path, lexicon, generator) if path.stem == "names" else _read_pairs(path)
        for source, target in read:
            if normalize(source) not in excluded:
                pairs.setdefault(source, target)
    for source, target in list(pairs.items()):
        for variant in _variants(source, target):
            if generator.random() < VARIANT_SHARE:
                pairs.setdefault(*variant)
    return list(pairs.items())


def _variants(source: str, target: str) -> list[tuple[str, str]]:
    """Returns the pair with a source in capitals, in lower case and without a full stop; the French stays."""
    bare = source.removesuffix(".")
    return [(source.upper(), target), (bare.lower(), target), (bare, target)]


def read_rows(path: Path) -> list[tuple[str, str]]:
    """Returns the lines English TAB French of a file. Raises DataError with file and line."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not all(cells):
            raise DataError(f"{path}, line {number}: expected English TAB French.")
        rows.append((cells[0], cells[1]))
    return rows


def _read_pairs(path: Path) -> list[tuple[str, str]]:
    return [(source, french.elide(target)) for source, target in read_rows(path)]


def _read_names(path: Path, lexicon: Lexicon, generator: random.Random) -> list[tuple[str, str]]:
    """Returns each first name in three sentences. N and M are names; {he/she} and {M: le/la} have their genders."""
    frames = read_rows(path)
    pairs = []
    for name in lexicon.names:
        for source, target in generator.sample(frames, 3):
            other = generator.choice([each for each in lexicon.names if each.name != name.name])
            pairs.append((_fill(source, name, other).replace("*", ""), french.elide(_fill(target, name, other))))
    return pairs


def _fill(text: str, name, other) -> str:
    def place(match):
        choice, _, who = match[1].partition("~")
        if choice in ("N", "M"):
            return (name if choice == "N" else other).french
        females = [each.is_feminine for each in {"": (name,), "M": (other,), "NM": (name, other)}[who]]
        return choice.split("/")[all(females)]

    return re.sub(r"\{([^{}]*)\}", place, text)
