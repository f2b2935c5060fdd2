"""python -m model evaluate, of a decoder-only model: bits a character of a text, and what counting alone needs for it."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.decoding.strategy import Decoding

OPTIONS = ("stride", "ngrams", "dev", "continuations")


def add_text(group: argparse._ArgumentGroup) -> None:
    hint = "predicted tokens per window, the distance between windows (default: 32, with at least 96 tokens of context)"
    group.add_argument("--stride", type=int, metavar="N", help=hint)
    files: dict[str, Any] = {"type": Path, "nargs": "+", "metavar": "FILE"}
    hint = "texts for baseline n-gram models, such as the training texts; needs --dev"
    group.add_argument("--ngrams", help=hint, **files)
    hint = "texts to choose the n-gram order, or with --baseline, to tune the baselines"
    group.add_argument("--dev", help=hint, **files)
    hint = "continue the starts of N paragraphs and measure the repetition"
    group.add_argument("--continuations", type=int, metavar="N", help=hint)


def run_text(args: argparse.Namespace, loaded: Checkpoint, asked: Decoding) -> None:
    """Measures and prints; with `--record` also writes metrics.json and the model card."""
    from tqdm import tqdm

    from model import checkpoint as checkpoints
    from model.evaluation import card_parts, continuations, text_card
    from model.evaluation.text_scoring import STRIDE
    from model.experiments import text_report
    from model.text.corpus import file_hash
    from model.text.windows import read_paragraphs

    if bool(args.ngrams) != bool(args.dev):
        given, missing = ("ngrams", "dev") if args.ngrams else ("dev", "ngrams")
        raise ValueError(f"--{given} is given without --{missing}; one text counts n-grams, another chooses their order")
    paragraphs, stride = read_paragraphs(args.data), STRIDE if args.stride is None else args.stride
    texts, dev = ([read_paragraphs(path) for path in paths or ()] for paths in (args.ngrams, args.dev))
    began = time.perf_counter()
    with tqdm(unit="token", disable=args.json) as bar:
        found, costs = text_report.measure(loaded, paragraphs, stride, bar.update)
    found["seconds"] = round(time.perf_counter() - began, 2)
    if texts:
        counted = text_report.baseline(loaded.target_tokenizer, texts, dev, paragraphs, costs)
        found["ngrams"] = counted | {"same_data": _is_own_data(loaded, [file_hash(path) for path in args.ngrams])}
    if args.continuations is not None:
        with tqdm(unit="beginning", disable=args.json) as bar:
            found["continuations"] = continuations.measure(loaded, paragraphs, args.continuations, bar.update)
    if args.record:
        folder = checkpoints.find(args.checkpoint)
        entry = found | {"data_sha256": file_hash(args.data)}
        checkpoints.write_json(folder / "metrics.json", loaded.metrics | {args.record: entry})
        card_parts.begin(folder / "README.md", loaded, text_card.card)
        text_card.write(folder / "README.md", found)
    print(json.dumps(found) if args.json else text_card.scores(found))


def _is_own_data(loaded: Checkpoint, hashes: list[str]) -> bool:
    """Whether these are the files that the checkpoint was trained on."""
    known = loaded.metrics.get("training", {}).get("data_sha256", {})
    return sorted(hashes) == sorted(digest for name, digest in known.items() if name.split()[0] == "train")
