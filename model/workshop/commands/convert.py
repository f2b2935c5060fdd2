"""python -m model convert: converts a model of another program to a checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...io.foreign_checkpoints import FOREIGN
from . import options

HELP = "convert another program's model to a checkpoint"
FIELDS = ("heads", "norm_first", "activation", "embedding_scale", "positions", "norm_eps")  # a state dict does not hold them
CONTROLS = {"pad": "pads a batch", "start": "starts a target", "end": "ends a sentence"}
TABLES = ("source_embedding", "target_embedding", "output", "positions")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, help="folder or file of the model")
    hint = "folder of the new checkpoint; with --name, its parent folder"
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help=hint)
    parser.add_argument("--name", help="name of the checkpoint (default: name of the folder)")
    kinds = "; ".join(f"{each.name}: {each.title}" for each in FOREIGN.values())
    parser.add_argument("--kind", choices=tuple(FOREIGN), help=f"format of the model (default: detected). {kinds}")
    parser.add_argument(
        "--languages", nargs=2, metavar=("SOURCE", "TARGET"), help="languages of the model (default: from its files)"
    )
    vocabulary = parser.add_argument_group("vocabulary, if the model has none")
    hint = "tokenizer.json of the tokenizers library, or a list of words, one per line, ordered by id"
    vocabulary.add_argument("--tokenizer", type=Path, metavar="FILE", help=hint)
    vocabulary.add_argument("--target-tokenizer", type=Path, metavar="FILE", help="vocabulary of the target, if it differs")
    for role, does in CONTROLS.items():
        hint = f"token that {does} (default: detected by usual names)"
        vocabulary.add_argument(f"--{role}-token", metavar="TOKEN", help=hint)
    settings = parser.add_argument_group("settings that a state dict lacks")
    settings.add_argument("--config", type=Path, metavar="FILE", help="JSON file with these settings")
    options.add_choices(settings, FIELDS)
    for part in TABLES:
        name = "position-table" if part == "positions" else part.replace("_", "-")
        settings.add_argument(
            f"--{name}",
            dest=f"{part}_name",
            metavar="TENSOR",
            help="name of the tensor (default: detected by shape and name)",
        )


def run(args: argparse.Namespace) -> None:
    from ..convert.conversion import ConversionOptions
    from ..convert.registry import convert

    settings = ConversionOptions(
        tokenizer=args.tokenizer,
        target_tokenizer=args.target_tokenizer,
        config=args.config,
        fields=options.explicit_options(args, FIELDS),
        names={part: name for part in TABLES if (name := getattr(args, f"{part}_name"))},
        controls={role: name for role in CONTROLS if (name := getattr(args, f"{role}_token"))},
        languages=None if args.languages is None else tuple(args.languages),
    )
    folder = convert(args.source, args.to / args.name if args.name else args.to, args.kind, settings)
    print(folder)
