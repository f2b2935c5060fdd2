"""Options shared by several commands: help texts of config fields, the machine, decoding, a request."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...config import CHOICES, ModelConfig
from ...decoding.strategy import LENGTH_PENALTY, STRATEGIES, Decoding, strategy_with_control
from ...edits.intervention import SEPARATOR
from ...edits.kinds import EditError
from ...io.files import short_repr
from ...io.numbers import device_name

if TYPE_CHECKING:
    import torch
    from tqdm import tqdm


@dataclass(frozen=True)
class Command:
    """A command of `python -m model`: its line of help, and functions that add its options and run it.

    `run` returns the exit status, or None for 0.
    """

    help: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]


HELP = {
    "joint_vocab": "one table embeds both languages",
    "tied_output": "the output projection is the target embedding, transposed",
    "d_model": "width of the residual stream, in numbers per token",
    "heads": "attention heads per layer; they share the width",
    "encoder_layers": "layers of the encoder",
    "decoder_layers": "layers of the decoder",
    "d_ff": "inner width of the feed-forward layers",
    "positions": "scheme of positions",
    "max_positions": "rows of a learned position table",
    "activation": "activation between the two products of a feed-forward layer",
    "norm": "kind of normalisation",
    "norm_first": "normalise before each sub-layer (pre-norm), not after it (post-norm, as in 2017)",
    "final_norm": "norm after the last layer of each stack",
    "norm_eps": "epsilon inside the square root of the norm",
    "causal": "train the decoder with its causal mask; without it, the decoder sees the tokens that it must predict",
    "window": "width of sliding-window self-attention, in tokens; none: no limit",
    "dropout": "dropout of embeddings and sub-layer outputs",
    "attention_dropout": "dropout of attention weights",
    "embedding_scale": "multiply embeddings by the square root of d_model before positions are added",
    "output_bias": "add a bias to each token's logit",
    "pooling": "input of a classifier head: the state of the first token, or the mean of all",
    "follows": "also learn if one sentence follows another (mlm: yes by default)",
    "vocab_size": "maximum size of a learned vocabulary, in tokens",
    "epochs": "passes over the data",
    "batch_tokens": "batch size, in tokens per side with padding",
    "learning_rate": "peak learning rate, at the end of the warm-up",
    "warmup": "steps during which the learning rate rises",
    "schedule": "decay of the learning rate: with the square root of the step (noam), or to 0 at the end (cosine)",
    "label_smoothing": "probability that is spread over all tokens",
    "clip": "maximum norm of the gradient",
    "weight_decay": "weight decay of the optimizer",
    "seed": "seed of the weights, the order of the data, and dropout",
    "precision": "precision of matrix products; auto: bfloat16 where it is fast",
    "joined_share": "extra pairs per pair that join 2 to 5 random ones: teaches longer texts",
    "renamed_share": "extra pairs per pair with invented names on both sides, new in each epoch: teaches copying",
    "renumbered_share": "extra pairs per pair with other numbers, in digits",
    "phrase_share": "extra pairs per pair that hold a word or phrase and its translation",
    "bpe_dropout": "probability of skipping a merge when training splits a word; 0: none",
    "masked": "share of tokens to predict: 80%% of them as <mask>, 10%% as random tokens, 10%% unchanged",
    "whole_words": "predict all tokens of a word, or none",
    "typed_copies": "one pair in N is repeated as people type it (lower case, capitals, no full stop, a title); 0: none",
    "first_target_epochs": "number of last epochs with only the first target of each source; extra pairs use all targets",
    "validate_every": "steps between validations on the dev files",
    "average": "number of last validations whose weights are averaged",
    "keep": "validation to keep: the lowest dev loss, or the last if the dev files differ in style from the training files",
    "patience": "validations without a lower dev loss before the run stops; 0: never",
    "log_every": "steps between lines of log.jsonl",
    "save_minutes": "minutes between saves of the run",
}


MAX_THREADS = 1024
CONTROLS = {  # option: type, help
    "temperature": (float, "divides the log-probabilities; 0 takes the most probable token"),
    "top_k": (int, "sample from the N most probable tokens; 0: from all"),
    "top_p": (float, "sample from the most probable tokens that together reach this probability"),
    "seed": (int, "seed of the sampling"),
}


def add_checkpoint(parser: argparse.ArgumentParser, default: str = "en-fr") -> None:
    hint = "name in checkpoints/ or in a folder of the variable CHECKPOINTS, or a path (default: %(default)s)"
    parser.add_argument("--checkpoint", default=default, metavar="NAME", help=hint)


def add_second(parser: argparse.ArgumentParser) -> None:
    hint = "second sentence, for a checkpoint that predicts if it follows the first"
    parser.add_argument("--second-sentence", default="", metavar="TEXT", help=hint)


def add_machine(parser: argparse.ArgumentParser) -> None:
    hint = "auto (the best device), cpu, mps, cuda, or cuda:1 for the second GPU (default: %(default)s)"
    parser.add_argument("--device", default="auto", type=_device, metavar="NAME", help=hint)
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: that of torch)")


def _device(text: str) -> str:
    try:
        return device_name(text)
    except ValueError as expected:
        raise argparse.ArgumentTypeError(f"the device is {text!r}; expected {expected}") from None


def machine(args: argparse.Namespace) -> torch.device:
    """Returns the device of the options, and sets the number of threads.

    Raises ValueError for an invalid option.
    """
    import torch

    from ... import device
    from .. import sharding

    if args.threads is not None:
        if not 1 <= args.threads <= MAX_THREADS:
            bound = "at least 1" if args.threads < 1 else f"at most {MAX_THREADS:,}"
            raise ValueError(f"--threads is {short_repr(args.threads)}; expected {bound}")
        torch.set_num_threads(args.threads)
    return sharding.own_card(device.choose(args.device))


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Adds the option that every command has."""
    parser.add_argument("--quiet", action="store_true", help="no progress and no notes on standard error")


def progress(args: argparse.Namespace, **values: Any) -> tqdm[Any]:
    """Returns a progress bar on standard error, which --quiet and --json leave out."""
    from tqdm import tqdm

    return tqdm(disable=args.quiet or getattr(args, "json", False), **values)


def add_decoding(parser: argparse.ArgumentParser) -> None:
    hint = "decoding strategy (default: greedy, or beam if --beam is more than 1)"
    parser.add_argument("--strategy", choices=tuple(STRATEGIES), help=hint)
    hint = f"width of the beam, in paths; 1 is greedy (default: 1, with --strategy beam {Decoding.width})"
    parser.add_argument("--beam", type=int, metavar="N", help=hint)
    hint = "exponent of the length penalty (default: %(default)s)"
    parser.add_argument("--alpha", type=float, default=LENGTH_PENALTY, metavar="A", help=hint)
    sampling = parser.add_argument_group("for --strategy sample, or another that samples")
    for name, (kind, does) in CONTROLS.items():
        default = getattr(Decoding, name)
        sampling.add_argument(_option(name), type=kind, metavar="N", help=f"{does} (default: {default})")


def decoding(args: argparse.Namespace) -> Decoding:
    """Returns the decoding of the options.

    Raises RequestError for values out of range, ValueError for options that exclude each other.
    """
    strategy = args.strategy or (Decoding.strategy if args.beam in (None, 1) else strategy_with_control("width"))
    reads, sampling = STRATEGIES[strategy].controls, explicit_options(args, CONTROLS)
    if unused := [name for name in sampling if name not in reads]:
        other = strategy_with_control(unused[0])
        raise ValueError(f"{_option(unused[0])} does not apply to the strategy {strategy}; give --strategy {other}")
    has_width = STRATEGIES[strategy].has_width
    if not has_width and args.beam is not None and (strategy, args.beam) != (Decoding.strategy, 1):
        other = strategy_with_control("width")
        raise ValueError(
            f"--beam is {args.beam}, and the strategy is {strategy}; give --strategy {other}, or leave out --beam"
        )
    width = {"width": args.beam} if has_width and args.beam is not None else {}
    return Decoding(strategy, alpha=args.alpha, **width, **sampling)


def add_fields(group: argparse._ArgumentGroup, record: type, skip: tuple[str, ...] = ()) -> None:
    """Adds one option for each field of a config record, named after it. The record has the defaults."""
    kinds: dict[str, Any] = {"int": int, "float": float, "int | None": int}
    for field in dataclasses.fields(record):
        if field.name in skip:
            continue
        default = {"None": "none", "True": "yes", "False": "no"}.get(str(field.default), field.default)
        hint = f"{HELP[field.name]} (default: {default})"
        if field.type == "bool":
            group.add_argument(_option(field.name), action=argparse.BooleanOptionalAction, default=None, help=hint)
        elif field.type in kinds:
            group.add_argument(_option(field.name), type=kinds[field.type], help=hint, metavar="N")
        else:
            group.add_argument(_option(field.name), choices=tuple(CHOICES[field.name]), help=hint)


def add_choices(group: argparse._ArgumentGroup, names: tuple[str, ...]) -> None:
    """Adds options without defaults for some fields of a model's config."""
    for field in dataclasses.fields(ModelConfig):
        if field.name not in names:
            continue
        hint: dict[str, Any] = {"default": None, "help": HELP[field.name]}
        if field.type == "bool":
            group.add_argument(_option(field.name), action=argparse.BooleanOptionalAction, **hint)
        elif field.name in CHOICES:
            group.add_argument(_option(field.name), choices=tuple(CHOICES[field.name]), **hint)
        else:
            group.add_argument(_option(field.name), type={"int": int, "float": float}[field.type], metavar="N", **hint)


def explicit_options(args: argparse.Namespace, names: Any) -> dict[str, Any]:
    """Returns the options of these names that the command line sets."""
    return {name: value for name in names if (value := getattr(args, name, None)) is not None}


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def add_request(parser: argparse.ArgumentParser) -> None:
    add_second(parser)
    add_decoding(parser)
    group = parser.add_argument_group("request")
    group.add_argument("--target", metavar="TEXT", help="translation to read instead of the model’s own")
    group.add_argument("--prefix", default="", metavar="TEXT", help="forced prefix of the translation")
    hint = "edit codes, joined as in a link: off_cross.3.5~causal-off"
    group.add_argument("--edits", default="", metavar="CODES", help=hint)
    group.add_argument("--again", action="store_true", help="decode again under the edits (default: keep the target)")


def request_fields(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the fields of a request, besides its text, from the options.

    Raises ValueError, one sentence, for invalid options.
    """
    from ...export import schema

    try:
        edits = schema.intervention(filter(None, args.edits.split(SEPARATOR)))
    except EditError as fault:
        raise ValueError(f"--edits: {fault}") from None
    return {
        "checkpoint": args.checkpoint,
        "target": args.target,
        "prefix": args.prefix,
        "second_sentence": args.second_sentence,
        "mode": "again" if args.again else "given",
        "decoding": decoding(args),
        "intervention": edits,
    }
