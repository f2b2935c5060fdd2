"""Command: writes the sentences that are made by rule, `python -m model.workshop.made_sentences --out FOLDER`."""

from __future__ import annotations

import argparse
import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from ...io.folders import SHIPPED
from ...io.package_names import COMMAND
from ..corpus.corpus import DataError
from ..evaluation.probes import read_probes
from . import generation
from .generation import student_pairs
from .lexicon import TEXTS, Lexicon, read_lexicon
from .sentence_frames import read_frames
from .written import written_pairs

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


CONTRAST_ROWS = 600  # of each split
HEADER = ("english", "right", "wrong", "noun", "other", "split")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=f"{COMMAND}.workshop.made_sentences", description=__doc__)
    hint = "folder for train.tsv, students.tsv, written.tsv and contrast-*.tsv"
    parser.add_argument("--out", type=Path, required=True, help=hint)
    parser.add_argument("--count", type=int, default=40_000, help="pairs of train.tsv (default 40000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=Path, default=TEXTS, help="folder of lexicon, frames and students' pairs")
    parser.add_argument("--verify", action="store_true", help="also compare all forms with pyrealb")
    options = parser.parse_args(arguments)
    try:
        files = make_files(options.count, options.seed, options.texts)
        differences = compare_with_pyrealb(read_lexicon(options.texts)) if options.verify else []
    except DataError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 2
    print("".join(line + "\n" for line in differences), end="")
    options.out.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        (options.out / name).write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
        print(f"{options.out / name}: {len(rows):,} lines")
    return 0


def make_files(count: int, seed: int, texts: Path = TEXTS) -> dict[str, list[tuple[str, ...]]]:
    """Returns the rows of each file by its name, without the sentences of `typed*.txt`, which measure a model.

    `written.tsv` is also without those of `probes*.txt`.

    Raises DataError before anything is written.
    """
    frames = read_frames(texts)
    lexicon = read_lexicon(texts, set().union(*(frame.literal_words for frame in frames if not frame.is_held_out)))
    excluded = {generation.normalize(source) for path in SHIPPED.glob("typed*.txt") for _, source, _ in read_probes(path)}
    files: dict[str, list[tuple[str, ...]]] = {}
    for split in generation.SPLITS:
        generator = random.Random(f"{seed} {split}")
        rows = generation.contrast_rows(lexicon, frames, split, CONTRAST_ROWS, generator, excluded)
        excluded |= {generation.normalize(row.english) for row in rows}
        files[f"contrast-{split.replace('_', '-')}.tsv"] = [HEADER, *(row.cells() for row in rows)]
    pairs = generation.training_pairs(lexicon, frames, count, random.Random(f"{seed} train"), excluded)
    files["train.tsv"] = [pair[:2] for pair in pairs]
    files["students.tsv"] = student_pairs(lexicon, texts, excluded, random.Random(f"{seed} students"))
    measured = [
        source for name in ("typed*.txt", "probes*.txt") for path in SHIPPED.glob(name) for _, source, _ in read_probes(path)
    ]
    files["written.tsv"] = written_pairs(texts, lexicon, frames, excluded, measured)
    return files


if __name__ == "__main__":
    sys.exit(main())
