"""The command line: python -m model translate | evaluate | train."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from model.arguments import Parser
from model.config import ModelConfig, TrainConfig
from model.decoding.strategy import LENGTH_PENALTY, Decoding
from model.inference.request import Request

if TYPE_CHECKING:
    from model.training.run import Run

WHERE_FROM = (
    "Pairs of many languages: https://www.manythings.org/anki/ (sentences of tatoeba.org; the .zip is read as it is). "
    "Hold some lines back as a dev file: they choose which weights are kept."
)


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda", "mps"), help="default: %(default)s")


def _add_beam(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--beam", type=int, default=1, metavar="N", help="width of the beam; 1 is greedy (default)")
    hint = "length penalty's exponent (default: %(default)s)"
    parser.add_argument("--alpha", type=float, default=LENGTH_PENALTY, metavar="A", help=hint)


def _decoding(args: argparse.Namespace) -> Decoding:
    return Decoding("greedy" if args.beam == 1 else "beam", width=args.beam, alpha=args.alpha)


def build_parser() -> Parser:
    parser = Parser(prog="python -m model", description="A Transformer that translates, and what is known of it.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)

    p = commands.add_parser("translate", help="translate one sentence")
    p.add_argument("text", help="the sentence; - reads it from standard input")
    p.add_argument("--checkpoint", default="en-fr", help="name in checkpoints/, or a folder (default: %(default)s)")
    _add_beam(p)
    p.add_argument("--json", action="store_true", help="print tokens and probabilities as one JSON object")
    _add_device(p)

    p = commands.add_parser("evaluate", help="BLEU and chrF on a file of pairs")
    p.add_argument("--checkpoint", default="en-fr", help="name in checkpoints/, or a folder (default: %(default)s)")
    p.add_argument("--data", type=Path, required=True, help=".tsv, .tsv.gz or .zip: source TAB target")
    p.add_argument("--limit", type=int, help="only the first N distinct sentences")
    p.add_argument("--references", choices=("first", "all"), default="first", help="default: %(default)s")
    _add_beam(p)
    p.add_argument("--record", metavar="KEY", help="also write the scores into the checkpoint's metrics.json, under KEY")
    p.add_argument("--json", action="store_true", help="print one JSON object and no progress")
    _add_device(p)

    p = commands.add_parser(
        "train", help="train a checkpoint, or go on with a run", epilog=WHERE_FROM, description=f"Trains. {WHERE_FROM}"
    )
    p.add_argument("--data", type=Path, required=True, help="training pairs: .tsv, .tsv.gz or .zip, source TAB target")
    p.add_argument("--dev", type=Path, required=True, help="dev pairs, in the same form")
    p.add_argument("--out", type=Path, required=True, help="folder of the run; the same command goes on with it")
    p.add_argument("--probes", type=Path, help="sentences to watch through the training: name TAB source TAB target")
    p.add_argument("--init", metavar="CHECKPOINT", help="begin with these weights and this vocabulary")
    p.add_argument("--languages", default="English,French", help="two names, for display (default: %(default)s)")
    p.add_argument("--max-minutes", type=float, help="stop, resumably, after this time")
    _add_device(p)
    _add_fields(p.add_argument_group("model"), ModelConfig, skip=("source_vocab", "target_vocab"))
    _add_fields(p.add_argument_group("training"), TrainConfig)
    return parser


def _add_fields(group: argparse._ArgumentGroup, record: type, skip: tuple[str, ...] = ()) -> None:
    """One option for each field of a config record, named after it; left out, the record's default holds."""
    kinds: dict[str, Any] = {"int": int, "float": float, "int | None": int}
    for name, field in record.__dataclass_fields__.items():
        if name in skip:
            continue
        option, hint = "--" + name.replace("_", "-"), f"default: {field.default}"
        if field.type == "bool":
            group.add_argument(option, action=argparse.BooleanOptionalAction, default=None, help=hint)
        elif field.type in kinds:
            group.add_argument(option, type=kinds[field.type], help=hint, metavar="N")
        else:
            group.add_argument(option, choices=get_args(get_type_hints(record)[name]), help=hint)


def _given(args: argparse.Namespace, record: type) -> dict[str, Any]:
    return {n: v for n in record.__dataclass_fields__ if (v := getattr(args, n, None)) is not None}


def translate(args: argparse.Namespace) -> None:
    from model.inference.analyse import analyse, load

    text = sys.stdin.read() if args.text == "-" else args.text
    request = Request(checkpoint=args.checkpoint, source=text, decoding=_decoding(args))
    analysis = analyse(load(args.checkpoint, device=args.device), request)
    if args.json:
        print(json.dumps(analysis.to_dict(), ensure_ascii=False))
        return
    print(analysis.translation)
    for note in analysis.notes:
        print(note, file=sys.stderr)


def evaluate(args: argparse.Namespace) -> None:
    from tqdm import tqdm

    from model import checkpoint as checkpoints
    from model import device
    from model.evaluation import scoring
    from model.text.corpus import by_source, file_hash, read_pairs

    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is {args.limit}; expected at least 1")
    asked, pairs = _decoding(args), read_pairs(args.data)
    loaded = checkpoints.load(args.checkpoint, device.choose(args.device))
    total = min(len(by_source(pairs)), args.limit or len(pairs))
    with tqdm(total=total, unit="sentence", disable=args.json) as bar:
        scores = scoring.evaluate(
            loaded.model,
            loaded.source_tokenizer,
            loaded.target_tokenizer,
            pairs,
            args.references == "all",
            args.limit,
            bar.update,
            asked,
        )
    scores |= {"references": args.references, "beam": args.beam} | ({"alpha": asked.alpha} if args.beam > 1 else {})
    if args.record:
        folder = checkpoints.find(args.checkpoint)
        entry = scores | {"data_sha256": file_hash(args.data)}
        checkpoints.write_json(folder / "metrics.json", loaded.metrics | {args.record: entry})
    if args.json:
        print(json.dumps(scores))
    else:
        print(f"BLEU {scores['bleu']}  chrF {scores['chrf']}  ({scores['sentences']} sentences, {scores['seconds']} s)")
        print(scores["sacrebleu_signature"])


def train(args: argparse.Namespace) -> None:
    from model import device
    from model.training.run import Files, Run

    languages = tuple(args.languages.split(","))
    if len(languages) != 2:
        raise ValueError(
            f"--languages is {args.languages!r}; expected two names with a comma between, such as English,French"
        )
    options = {k: v for k, v in _given(args, ModelConfig).items() if k not in ("source_vocab", "target_vocab")}
    config = TrainConfig(**_given(args, TrainConfig))
    ModelConfig(source_vocab=260, target_vocab=260, **options)  # faults are told before the data is read
    chosen = device.choose(args.device)
    files = Files(args.data, args.dev, args.probes)
    run = Run(args.out, files, options, config, chosen, languages, args.init)
    say = print if run.group.first else lambda line: None
    dropped = f", {run.corpus.dropped} left out as too long" if run.corpus.dropped else ""
    where = f"{run.device}" + f", {run.group.size} processes" * (run.group.size > 1)
    say(f"{len(run.corpus)} pairs{dropped}; {run.model.parameter_count:,} parameters; on {where}; {run.total} steps")
    if run.progress.step:
        say(f"going on at step {run.progress.step}")
    with _stopping(run):
        ended = run.train(args.max_minutes)
    if ended:
        say(f"finished: the best weights are in {args.out / 'checkpoint'}")
    else:
        say(f"saved at step {run.progress.step} of {run.total}: the same command goes on")
    run.leave()


@contextlib.contextmanager
def _stopping(run: Run) -> Iterator[None]:
    """Ctrl+C and a polite kill let the step under way end and the run be saved."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: setattr(run, "stop", True)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def main(argv: list[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, or 2 after one line that says what is wrong."""
    args = build_parser().parse_args(argv)
    try:
        {"translate": translate, "evaluate": evaluate, "train": train}[args.command](args)
    except (ValueError, OSError) as fault:
        print(f"python -m model {args.command}: {' '.join(str(fault).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
