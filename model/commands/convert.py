"""python -m model convert: a model of another program becomes a checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path

from model.commands import options
from model.foreign import FOREIGN

HELP = "make a checkpoint of another program's model"
FIELDS = ("heads", "norm_first", "activation", "embedding_scale", "positions", "norm_eps")  # what a state dict does not tell
CONTROLS = {"pad": "fills up a batch", "start": "a target starts with", "end": "ends a sentence"}
TABLES = ("source_embedding", "target_embedding", "output", "positions")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, help="the folder or the file that the model lies in")
    hint = "the new checkpoint's folder; or with --name the folder that it is made in"
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help=hint)
    parser.add_argument("--name", help="what the checkpoint is called (default: as the folder)")
    kinds = "; ".join(f"{made.name}: {made.title}" for made in FOREIGN.values())
    parser.add_argument("--kind", choices=tuple(FOREIGN), help=f"what it is (default: as it looks). {kinds}")
    parser.add_argument(
        "--languages", nargs=2, metavar=("SOURCE", "TARGET"), help="of what it translates (default: as its files say)"
    )
    vocabulary = parser.add_argument_group("the vocabulary, where the model does not bring it")
    hint = "a tokenizer.json of the tokenizers library, or a list of words, one a line, in the order of the ids"
    vocabulary.add_argument("--tokenizer", type=Path, metavar="FILE", help=hint)
    vocabulary.add_argument("--target-tokenizer", type=Path, metavar="FILE", help="that of the target, where it has its own")
    for role, does in CONTROLS.items():
        hint = f"the token that {does} (default: by its usual names)"
        vocabulary.add_argument(f"--{role}-token", metavar="TOKEN", help=hint)
    told = parser.add_argument_group("what a state dict does not tell")
    told.add_argument("--config", type=Path, metavar="FILE", help="a JSON file that tells it")
    options.add_choices(told, FIELDS)
    for part in TABLES:
        name = "position-table" if part == "positions" else part.replace("_", "-")
        told.add_argument(
            f"--{name}",
            dest=f"{part}_name",
            metavar="TENSOR",
            help="the name of its tensor (default: found by shape and name)",
        )


def run(args: argparse.Namespace) -> None:
    from model.convert.parts import Options
    from model.convert.registry import convert

    given = Options(
        tokenizer=args.tokenizer,
        target_tokenizer=args.target_tokenizer,
        config=args.config,
        fields=options.given(args, FIELDS),
        names={part: name for part in TABLES if (name := getattr(args, f"{part}_name"))},
        controls={role: name for role in CONTROLS if (name := getattr(args, f"{role}_token"))},
        languages=None if args.languages is None else tuple(args.languages),
    )
    folder = convert(args.source, args.to / args.name if args.name else args.to, args.kind, given)
    print(folder)
