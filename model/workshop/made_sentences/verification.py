"""Comparison of the inflected forms with pyrealb, a realizer that the lab neither needs nor imports elsewhere."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from ..corpus.corpus import DataError
from .lexicon import Lexicon

_TENSES = {"pres": "p", "imp": "i", "fut": "f", "cond": "c", "subj": "s"}
_PERSONS = {"je": (1, "s"), "tu": (2, "s"), "il": (3, "s"), "nous": (1, "p"), "vous": (2, "p"), "ils": (3, "p")}


def compare_with_pyrealb(lexicon: Lexicon) -> list[str]:
    """Returns a line "lemma: form, pyrealb has other form" for each French form that differs, for words known there.

    Raises DataError if pyrealb is not installed.
    """
    try:
        realizer = importlib.import_module("pyrealb")
    except ImportError:
        raise DataError("pyrealb is not installed; install it apart from the lab: pip install pyrealb.") from None
    realizer.loadFr()
    pairs = [*_nominal_forms(lexicon, realizer), *_verb_forms(lexicon, realizer)]
    lines = [f"{lemma}: {form}, pyrealb has {other}" for lemma, form, other in pairs if other != form and "[" not in other]
    return sorted(set(lines))


def _nominal_forms(lexicon: Lexicon, realizer) -> Iterator[tuple[str, str, str]]:
    """Yields lemma, own form and the form of pyrealb for the plurals of nouns and the forms of adjectives."""
    for noun in lexicon.nouns:
        lemma = noun.french.removeprefix("*")
        if " " not in lemma and "-" not in lemma:
            yield lemma, noun.french_plural.removeprefix("*"), realizer.N(lemma).n("p").realize()
    for adjective in lexicon.adjectives:
        lemma = adjective.forms[0].removeprefix("*")
        for form, (gender, number) in zip(adjective.forms, ("ms", "fs", "mp", "fp"), strict=True):
            if " " not in lemma:
                yield lemma, form.removeprefix("*"), realizer.A(lemma).g(gender).n(number).realize()


def _verb_forms(lexicon: Lexicon, realizer) -> Iterator[tuple[str, str, str]]:
    """Yields lemma, own form and the form of pyrealb for five tenses, all persons, and participles."""
    for verb in sorted({each.french for each in lexicon.verbs}):
        yield verb, lexicon.conjugation.participle(verb), realizer.V(verb).t("pp").realize()
        for tense, code in _TENSES.items():
            for person, (number, count) in _PERSONS.items():
                other = realizer.V(verb).t(code).pe(number).n(count).realize()
                own = lexicon.conjugation.form(verb, person, tense)
                yield verb, own, (other.removeprefix("que ") if tense == "subj" else other)
