"""python -m model evaluate: scores a checkpoint.

BLEU and chrF for translation, bits per character for a language model, accuracy for blanks and labels; the last two also
with count baselines.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...io.files import short_repr
from ...io.folders import is_name
from .. import sharding
from . import evaluate_pairs, options

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint
    from ...decoding.strategy import Decoding

BASELINE_OPTIONS = ("baseline",)


def add_reading(group: argparse._ArgumentGroup) -> None:
    hint = "files for a count-based baseline, such as the training files; needs --dev"
    group.add_argument("--baseline", type=Path, nargs="+", metavar="FILE", help=hint)


def run_reading(args: argparse.Namespace, loaded: Checkpoint, decoding: Decoding) -> None:
    """Scores an encoder and prints the result; with `--record` also writes metrics.json and the model card."""
    from ... import checkpoint as checkpoints
    from ..corpus.corpus import file_hash
    from ..evaluation import model_card, reading_card

    if bool(args.baseline) != bool(args.dev):
        present, missing = ("baseline", "dev") if args.baseline else ("dev", "baseline")
        raise ValueError(f"--{present} is given without --{missing}; one counts the baseline, the other tunes it")
    folder = checkpoints.find_folder(args.checkpoint) if args.record else None
    began = time.perf_counter()
    results = (_measure_labels if loaded.config.classes else _measure_blanks)(args, loaded)
    results["seconds"] = round(time.perf_counter() - began, 2)
    sharding.leave_to_first()
    if folder:
        hashes = [file_hash(path) for path in args.data]
        entry = results | {"data_sha256": hashes[0] if len(hashes) == 1 else hashes}
        checkpoints.write_json(folder / "metrics.json", loaded.metrics | {args.record: entry})
        model_card.write_if_absent(folder / "README.md", loaded, reading_card.card)
        reading_card.write(folder / "README.md", results)
    print(json.dumps(results) if args.json else "\n".join(_format_lines(results)))


def _measure_blanks(args: argparse.Namespace, loaded: Checkpoint) -> dict[str, Any]:
    from ..corpus.sentence_pairs import Books, read_sentences
    from ..reports.reading_reports import measure_blanks, measure_pairs

    if loaded.source_tokenizer.mask is None:
        raise ValueError(f"{loaded.name} has no token for a blank, and no labels; expected a model that fills in or judges")

    def read(paths: list[Path]) -> Books:
        return Books.encode([read_sentences(path) for path in paths], loaded.source_tokenizer)

    data, baseline = read(args.data), (read(args.baseline), read(args.dev)) if args.baseline else None
    with options.progress(args, unit="blank") as bar:
        words = measure_blanks(loaded, data, baseline, bar.update)
    results = {"sentences": data.sentences, "accuracy": words["accuracy"], "words": words}
    if loaded.config.follows:
        results["follows"] = measure_pairs(loaded, data, baseline)
    return results


def _measure_labels(args: argparse.Namespace, loaded: Checkpoint) -> dict[str, Any]:
    from ..corpus.sentence_pairs import read_labelled
    from ..reports.reading_reports import measure_labels

    def read(paths: list[Path]) -> list[tuple[str, str]]:
        return [each for path in paths for each in read_labelled(path, loaded.config.classes)]

    baseline = (read(args.baseline), read(args.dev)) if args.baseline else None
    texts = read(args.data)
    labels = measure_labels(loaded, texts, baseline)
    return {"sentences": len(texts), "accuracy": labels["accuracy"], "labels": labels}


def _format_lines(results: dict[str, Any]) -> list[str]:
    """Formats the results: each task with the model, its baseline and the difference."""
    from ..evaluation.text_card import format_interval

    lines = []
    for name, part in results.items():
        if not isinstance(part, dict):
            continue
        rows = {"the model": part} | {each: row for each, row in part.items() if isinstance(row, dict)}
        for who, row in rows.items():
            lines.append(
                f"{name}, {who}: accuracy {row['accuracy']:.3f} ({format_interval(row['accuracy_interval'], '.3f')}), "
                f"log-loss {row['log_loss']:.3f} ({format_interval(row['log_loss_interval'], '.3f')})"
            )
    return lines


TEXT_OPTIONS = ("stride", "ngrams", "dev", "continuations")


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


def run_text(args: argparse.Namespace, loaded: Checkpoint, decoding: Decoding) -> None:
    """Scores a language model and prints the result; with `--record` also writes metrics.json and the model card."""
    from ... import checkpoint as checkpoints
    from ..corpus.corpus import file_hash
    from ..corpus.windows import read_paragraphs
    from ..evaluation import model_card, scoring, text_card
    from ..evaluation.scoring import STRIDE
    from ..reports import reading_reports

    if bool(args.ngrams) != bool(args.dev):
        present, missing = ("ngrams", "dev") if args.ngrams else ("dev", "ngrams")
        raise ValueError(f"--{present} is given without --{missing}; one text counts n-grams, another chooses their order")
    paragraphs, stride = read_paragraphs(args.data), STRIDE if args.stride is None else args.stride
    texts, dev = ([read_paragraphs(path) for path in paths or ()] for paths in (args.ngrams, args.dev))
    began = time.perf_counter()
    with options.progress(args, unit="token") as bar:
        results, costs = reading_reports.measure_text(loaded, paragraphs, stride, bar.update)
    results["seconds"] = round(time.perf_counter() - began, 2)
    if texts:
        baseline = reading_reports.measure_baseline(loaded.target_tokenizer, texts, dev, paragraphs, costs)
        results["ngrams"] = baseline | {"same_data": _is_own_data(loaded, [file_hash(path) for path in args.ngrams])}
    if args.continuations is not None:
        with options.progress(args, unit="beginning") as bar:
            results["continuations"] = scoring.measure_continuations(loaded, paragraphs, args.continuations, bar.update)
    sharding.leave_to_first()
    if args.record:
        folder = checkpoints.find_folder(args.checkpoint)
        entry = results | {"data_sha256": file_hash(args.data)}
        checkpoints.write_json(folder / "metrics.json", loaded.metrics | {args.record: entry})
        model_card.write_if_absent(folder / "README.md", loaded, text_card.card)
        text_card.write(folder / "README.md", results)
    print(json.dumps(results) if args.json else text_card.scores(results))


def _is_own_data(loaded: Checkpoint, hashes: list[str]) -> bool:
    """Returns True for the files that the checkpoint was trained on."""
    known = loaded.metrics.get("training", {}).get("data_sha256", {})
    return sorted(hashes) == sorted(digest for name, digest in known.items() if name.split()[0] == "train")


# Keys of metrics.json that are not scores.
RESERVED_KEYS = ("parameters", "training", "dev", "validations", "warnings", "alignment", "probes", "contrast")
HELP = "BLEU and chrF on pairs, bits per character on a text, or accuracy on blanks or labels"
PAIR_OPTIONS = (*evaluate_pairs.OPTIONS, "strategy", "beam", *options.CONTROLS)  # options for pairs only


def add(parser: argparse.ArgumentParser) -> None:
    options.add_checkpoint(parser)
    hint = "translate: .tsv, .tsv.gz or .zip, source TAB target; continue: .txt or .txt.gz, one paragraph per line"
    hint += "; fill in: the same, one or several files; judge: label TAB text"
    parser.add_argument("--data", type=Path, nargs="+", metavar="FILE", help=hint)
    evaluate_pairs.add(parser.add_argument_group("for translation"))
    options.add_decoding(parser)
    add_text(parser.add_argument_group("for a language model"))
    add_reading(parser.add_argument_group("for a model that fills blanks or judges"))
    hint = "write the scores to KEY in the checkpoint's metrics.json"
    parser.add_argument("--record", metavar="KEY", help=hint)
    parser.add_argument("--json", action="store_true", help="print one JSON object and no progress")
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from ... import checkpoint as checkpoints

    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is {args.limit}; expected at least 1")
    if args.data is None and ((args.probes is None and args.contrast is None) or args.measures):
        raise ValueError("the following arguments are required: --data")
    is_reserved = args.record in RESERVED_KEYS and not (args.record in ("probes", "contrast") and args.data is None)
    if args.record is not None and (not is_name(args.record) or is_reserved):
        raise ValueError(
            f"--record is {short_repr(args.record)}; expected a key such as test, and none of {', '.join(RESERVED_KEYS)}"
        )
    evaluate_pairs.input_selection(args)  # reports faults before any work
    decoding = evaluate_pairs.decoding_options(args)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    known = {
        "encoder-decoder": (evaluate_pairs.run, (*TEXT_OPTIONS, *BASELINE_OPTIONS)),
        "decoder-only": (run_text, (*PAIR_OPTIONS, *BASELINE_OPTIONS)),
        "encoder-only": (run_reading, (*PAIR_OPTIONS, *(o for o in TEXT_OPTIONS if o != "dev"))),
    }
    measure, others = known[loaded.config.family]
    if unused := list(options.explicit_options(args, others)):
        raise ValueError(f"--{unused[0].replace('_', '-')} does not apply to {loaded.name}, which is {loaded.config.family}")
    if loaded.config.family != "encoder-only" and args.data is not None:
        if len(args.data) > 1:
            raise ValueError(
                f"--data names {len(args.data)} files; expected one, because {loaded.name} is {loaded.config.family}"
            )
        (args.data,) = args.data
    measure(args, loaded, decoding)
