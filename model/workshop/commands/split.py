"""python -m model split: makes the training, dev and test files from the publisher's zip."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "make the train, dev and test files of the shipped translation models from fra-eng.zip"


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Writes train.tsv.gz, dev.tsv.gz and test.tsv.gz from fra-eng.zip of 2019-04-07 (https://www.manythings.org/anki/). "
        "Each English sentence, without case and punctuation, belongs to one split by the SHA-256 lists of the lab. "
        "Sentences in no list are dropped. Rows are sorted. The scores in the model cards refer to these files."
    )
    parser.add_argument("zip", type=Path, metavar="fra-eng.zip", help="the publisher's file of 2019-04-07")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder for the three new files")


def run(args: argparse.Namespace) -> None:
    from ..corpus.tatoeba_split import SplitLists, split_zip

    for path, rows, is_equal in split_zip(args.zip, args.out, SplitLists.load()).values():
        content = "the rows of the model cards" if is_equal else "not the rows of the model cards: scores will differ"
        print(f"{path}: {rows:,} rows, {content}")
