"""Choice of words for the slots of a frame: what can be said of what, and which words are held out of training."""

from __future__ import annotations

import random
import re

from .lexicon import Adjective, FirstName, Lexicon, Noun, Verb
from .sentence_frames import SentenceFrame, Word


class WordChoice:
    """Draws words for the slots of a frame, among the words that are held out, or among the others."""

    def __init__(self, lexicon: Lexicon, generator: random.Random):
        self._lexicon, self._random = lexicon, generator
        self._pools: dict[tuple, list[Noun]] = {}

    def draw(
        self, frame: SentenceFrame, held_out: bool, is_first: bool, is_feminine: bool | None = None
    ) -> dict[str, Word] | None:
        """Returns a word per slot, and P; None if this attempt fits no words.

        With `is_feminine`, P has that gender and the other noun the other one. With `held_out`, all nouns are held out, and
        adjectives and verbs may be; without, nothing is.
        """
        words: dict[str, Word] = {}
        wanted = None if is_feminine is None else {"X": is_feminine == is_first, "Y": is_feminine != is_first}
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
        if subject == "P":
            subject = referent
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
