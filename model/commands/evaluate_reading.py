"""python -m model evaluate, of an encoder-only model: what it fills in and what it says follows, or the labels that it
gives; and what counting alone makes of the same."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.decoding.strategy import Decoding

READING_OPTIONS = ("baseline",)


def add_reading(group: argparse._ArgumentGroup) -> None:
    hint = "files for a count-based baseline, such as the training files; needs --dev"
    group.add_argument("--baseline", type=Path, nargs="+", metavar="FILE", help=hint)


def run_reading(args: argparse.Namespace, loaded: Checkpoint, asked: Decoding) -> None:
    """Measures and prints; with `--record` also writes metrics.json and the model card."""
    from model import checkpoint as checkpoints
    from model.evaluation import card_parts, reading_card
    from model.text.corpus import file_hash

    if bool(args.baseline) != bool(args.dev):
        given, missing = ("baseline", "dev") if args.baseline else ("dev", "baseline")
        raise ValueError(f"--{given} is given without --{missing}; one counts the baseline, the other tunes it")
    folder = checkpoints.find(args.checkpoint) if args.record else None
    began = time.perf_counter()
    found = (_labels if loaded.config.classes else _blanks)(args, loaded)
    found["seconds"] = round(time.perf_counter() - began, 2)
    if folder:
        hashes = [file_hash(path) for path in args.data]
        entry = found | {"data_sha256": hashes[0] if len(hashes) == 1 else hashes}
        checkpoints.write_json(folder / "metrics.json", loaded.metrics | {args.record: entry})
        card_parts.begin(folder / "README.md", loaded, reading_card.card)
        reading_card.write(folder / "README.md", found)
    print(json.dumps(found) if args.json else "\n".join(_lines(found)))


def _blanks(args: argparse.Namespace, loaded: Checkpoint) -> dict[str, Any]:
    from tqdm import tqdm

    from model.experiments.filling_report import filled, followed
    from model.text.sentence_pairs import Books, read_sentences

    if loaded.source_tokenizer.mask is None:
        raise ValueError(f"{loaded.name} has no token for a blank, and no labels; expected a model that fills in or judges")

    def read(paths: list[Path]) -> Books:
        return Books.encode([read_sentences(path) for path in paths], loaded.source_tokenizer)

    data, counted = read(args.data), (read(args.baseline), read(args.dev)) if args.baseline else None
    with tqdm(unit="blank", disable=args.json) as bar:
        words = filled(loaded, data, counted, bar.update)
    found = {"sentences": data.sentences, "accuracy": words["accuracy"], "words": words}
    if loaded.config.follows:
        found["follows"] = followed(loaded, data, counted)
    return found


def _labels(args: argparse.Namespace, loaded: Checkpoint) -> dict[str, Any]:
    from model.experiments.judging_report import judged
    from model.text.labelled import read_labelled

    def read(paths: list[Path]) -> list[tuple[str, str]]:
        return [each for path in paths for each in read_labelled(path, loaded.config.classes)]

    counted = (read(args.baseline), read(args.dev)) if args.baseline else None
    texts = read(args.data)
    labels = judged(loaded, texts, counted)
    return {"sentences": len(texts), "accuracy": labels["accuracy"], "labels": labels}


def _lines(found: dict[str, Any]) -> list[str]:
    """The same for people: of each thing that is measured the model, its baseline and the difference."""
    from model.evaluation.text_card import ends

    lines = []
    for name, part in found.items():
        if not isinstance(part, dict):
            continue
        rows = {"the model": part} | {each: row for each, row in part.items() if isinstance(row, dict)}
        for who, row in rows.items():
            lines.append(
                f"{name}, {who}: accuracy {row['accuracy']:.3f} ({ends(row['accuracy_interval'], '.3f')}), "
                f"log-loss {row['log_loss']:.3f} ({ends(row['log_loss_interval'], '.3f')})"
            )
    return lines
