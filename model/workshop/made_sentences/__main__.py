"""Command: writes the sentences that are made by rule, `python -m model.workshop.made_sentences --out FOLDER`."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from ...io.folders import SHIPPED
from ..corpus.corpus import DataError
from ..evaluation.probes import read_probes
from . import generation
from .lexicon import TEXTS, read_lexicon
from .sentence_frames import read_frames
from .students import student_pairs
from .verification import compare_with_pyrealb

CONTRAST_ROWS = 600  # of each split
HEADER = ("english", "right", "wrong", "noun", "other", "split")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m model.workshop.made_sentences", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for train.tsv, students.tsv and contrast-*.tsv")
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


def make_files(
    count: int, seed: int, texts: Path = TEXTS, typed: Path = SHIPPED / "typed.txt"
) -> dict[str, list[tuple[str, ...]]]:
    """Returns the rows of each file by its name. Raises DataError before anything is written."""
    frames = read_frames(texts)
    lexicon = read_lexicon(texts, set().union(*(frame.literal_words for frame in frames if not frame.is_held_out)))
    excluded = {generation.normalize(source) for _, source, _ in read_probes(typed)}
    files: dict[str, list[tuple[str, ...]]] = {}
    for split in generation.SPLITS:
        generator = random.Random(f"{seed} {split}")
        rows = generation.contrast_rows(lexicon, frames, split, CONTRAST_ROWS, generator, excluded)
        excluded |= {generation.normalize(row.english) for row in rows}
        files[f"contrast-{split.replace('_', '-')}.tsv"] = [HEADER, *(row.cells() for row in rows)]
    pairs = generation.training_pairs(lexicon, frames, count, random.Random(f"{seed} train"), excluded)
    files["train.tsv"] = [pair[:2] for pair in pairs]
    files["students.tsv"] = student_pairs(lexicon, texts, excluded, random.Random(f"{seed} students"))
    return files


if __name__ == "__main__":
    sys.exit(main())
