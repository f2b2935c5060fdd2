"""Commands that answer a text, or each line of standard input: translate, continue and judge."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...decoding.strategy import strategy_with_control
from ...inference.request import Request
from ...io.numbers import probability
from ...io.package_names import COMMAND
from ...text.sentences import BLANK, BLANK_SIGN
from . import options, text_input
from .options import Command

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint
    from ...inference.analysis import Analysis

TRANSLATE_HELP = "translate a sentence, or fill in its blanks"
EMPTY_TRANSLATE_ROW = {  # output for an empty line, with the fields of every other line
    "checkpoint": "",
    "source": "",
    "translation": "",
    "log_prob": 0.0,
    "scored_tokens": "target",
    "finished": True,
    "source_tokens": [],
    "tokens": [],
    "notes": [],
}


def add_translate(parser: argparse.ArgumentParser) -> None:
    text_input.add(parser)
    options.add_second(parser)
    options.add_checkpoint(parser)
    options.add_decoding(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per sentence: its tokens with their log-probabilities in nats",
    )
    options.add_machine(parser)


def run_translate(args: argparse.Namespace) -> None:
    from ... import checkpoint as checkpoints

    text_input.check(args)
    decoding = options.decoding(args)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    if loaded.config.classes:
        raise ValueError(f"{loaded.name} gives a text a label and writes none; use {COMMAND} judge")
    if loaded.config.kinds == ("decoder",):
        raise ValueError(f"{loaded.name} continues a text and translates none; use {COMMAND} continue")
    empty = (
        EMPTY_TRANSLATE_ROW
        | {"checkpoint": loaded.name}
        | ({"second_sentence": "", "follows": None} if args.second_sentence else {})
    )
    if loaded.config.kinds == ("encoder",):
        empty = _replace_translation(empty | {"scored_tokens": "text"}, {"filled": "", "blanks": []})

    def answer(text: str, line: int) -> None:
        _check_blanks(loaded, text, args.second_sentence)
        request = Request(text, args.checkpoint, second_sentence=args.second_sentence, decoding=decoding)
        _print_translation(loaded, request, args, line)

    text_input.for_each(args, answer, json.dumps(empty) if args.json else "")


def _check_blanks(loaded: Checkpoint, text: str, second: str) -> None:
    """Raises ValueError for a text on which an encoder has no output."""
    if loaded.config.kinds != ("encoder",) or second or not text.strip():
        return
    if loaded.source_tokenizer.mask is None:
        other = "; give it two, with --second-sentence" if loaded.config.follows else ""
        raise ValueError(f"{loaded.name} writes no text and fills in no blanks{other}")
    if not BLANK.search(text):
        raise ValueError(f"{loaded.name} fills in blanks, and this sentence has none; write {BLANK_SIGN} in place of a word")


def _print_translation(loaded: Checkpoint, request: Request, args: argparse.Namespace, line: int) -> None:
    from ...inference.analyse import analyse

    analysis = analyse(loaded, request)
    if args.json:
        result = analysis.to_dict() if analysis.task.has_decoder else _filled_row(loaded, analysis)
        print(json.dumps(result, ensure_ascii=False), flush=True)
        return
    print("\n".join([analysis.translation, *_reading_lines(loaded, analysis)]).strip("\n"), flush=True)
    _print_notes(analysis.notes, args, line)


def _print_notes(notes: Iterable[str], args: argparse.Namespace, line: int) -> None:
    for note in () if args.quiet else notes:
        print(f"line {line}: {note}" if line else note, file=sys.stderr)


def _filled_row(loaded: Checkpoint, analysis: Analysis) -> dict[str, Any]:
    """Returns the JSON row of an encoder: the filled text, one line per sentence, and each blank."""
    from ...inference.source_reading import fill_mask_results, filled_sentences

    own = {"filled": "\n".join(filled_sentences(analysis, loaded)), "blanks": fill_mask_results(analysis, loaded)}
    return _replace_translation(analysis.to_dict(), own)


def _replace_translation(row: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with other fields in place of the translation."""
    replaced: dict[str, Any] = {}
    for name, value in row.items():
        replaced |= own if name == "translation" else {name: value}
    return replaced


def _reading_lines(loaded: Checkpoint, analysis: Analysis) -> list[str]:
    """Returns the filled text of an encoder, and the probability that the second sentence follows the first."""
    from ...inference.source_reading import filled_sentences

    lines = filled_sentences(analysis, loaded)
    if analysis.next_sentence_probability is not None:
        label = (
            f"the second sentence follows the first: {probability(analysis.next_sentence_probability)}; the other way round"
        )
        lines.append(f"{label}: {probability(analysis.swapped_probability)}")
    return lines


TRANSLATE = Command(TRANSLATE_HELP, add_translate, run_translate)


CONTINUE_HELP = "continue a text"
CONTINUE_CHECKPOINT, DEFAULT_NEW_TOKENS = "gpt-mini", 40
EMPTY_CONTINUE_ROW: dict[str, Any] = {
    "checkpoint": "",
    "text": "",
    "continuation": "",
    "log_prob": 0.0,
    "scored_tokens": "continuation",
    "finished": True,
    "text_tokens": [],
    "tokens": [],
    "notes": [],
}


def add_continue(parser: argparse.ArgumentParser) -> None:
    text_input.add(parser, "text")
    options.add_checkpoint(parser, CONTINUE_CHECKPOINT)
    hint = "maximum number of new tokens; 0: to the end of the window (default: %(default)s)"
    parser.add_argument("--max-new-tokens", type=int, default=DEFAULT_NEW_TOKENS, metavar="N", help=hint)
    options.add_decoding(parser)
    hint = "print one JSON object per text: the new tokens with their log-probabilities in nats"
    parser.add_argument("--json", action="store_true", help=hint)
    options.add_machine(parser)


def run_continue(args: argparse.Namespace) -> None:
    from ... import checkpoint as checkpoints
    from ...task import task_of_kinds

    text_input.check(args)
    sampling = options.explicit_options(args, options.CONTROLS)
    if args.strategy is None and args.beam is None and sampling:
        args.strategy = strategy_with_control(next(iter(sampling)))  # a temperature implies sampling
    decoding = dataclasses.replace(options.decoding(args), max_new_tokens=args.max_new_tokens)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    task = task_of_kinds(loaded.config.kinds, loaded.config.classes)
    if task.has_encoder or not task.has_decoder:
        raise ValueError(f"the checkpoint {loaded.name} is {task.family}; expected one that is decoder-only")

    def answer(text: str, line: int) -> None:
        _print_continuation(loaded, Request(text, args.checkpoint, decoding=decoding), args, line)

    text_input.for_each(args, answer, json.dumps(EMPTY_CONTINUE_ROW | {"checkpoint": loaded.name}) if args.json else "")


def _print_continuation(loaded: Checkpoint, request: Request, args: argparse.Namespace, line: int) -> None:
    from ...inference.analyse import analyse

    analysis = analyse(loaded, request)
    stop_notes = () if analysis.hypothesis.is_finished or not analysis.has_all_requested_tokens else (analysis.stop_reason,)
    if not args.json:
        print(analysis.translation, flush=True)
        warnings = analysis.warning_sentences  # sampled tokens are improbable by nature
        _print_notes((note for note in (*stop_notes, *analysis.notes) if note not in warnings), args, line)
        return
    result, ids = analysis.to_dict(), analysis.trace.outputs.ids
    prompt, added = result["tokens"][: analysis.prompt_length], result["tokens"][analysis.prompt_length :]
    before = loaded.target_tokenizer.decode(ids[: analysis.prompt_length])
    fields = {
        "text": request.source,
        "continuation": analysis.translation.removeprefix(before),
        "log_prob": round(sum(each["log_prob"] for each in added), 6),
        "text_tokens": [each["token"] for each in prompt],
        "tokens": added,
        "notes": [*stop_notes, *analysis.notes],
    }
    row = EMPTY_CONTINUE_ROW | {name: result[name] for name in ("checkpoint", "finished")} | fields
    print(json.dumps(row, ensure_ascii=False), flush=True)


CONTINUE = Command(CONTINUE_HELP, add_continue, run_continue)


JUDGE_HELP = "label a text with one of the checkpoint's labels"
JUDGE_CHECKPOINT = "sentiment"
MAX_LABELS = 5  # labels that are printed
EMPTY_JUDGE_ROW = {  # output for an empty line, with the fields of every other line
    "checkpoint": "",
    "source": "",
    "label": "",
    "probability": 0.0,
    "labels": {},
    "source_tokens": [],
    "notes": [],
}


def add_judge(parser: argparse.ArgumentParser) -> None:
    text_input.add(parser, "text")
    options.add_checkpoint(parser, JUDGE_CHECKPOINT)
    hint = "print one JSON object per text: its label, and the probability and logit of each label"
    parser.add_argument("--json", action="store_true", help=hint)
    options.add_machine(parser)


def run_judge(args: argparse.Namespace) -> None:
    from ... import checkpoint as checkpoints

    text_input.check(args)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    if not loaded.config.classes:
        known = f"expected one that has, as {JUDGE_CHECKPOINT}, or one that was trained with --task classify"
        raise ValueError(f"{loaded.name} has no labels; {known}")

    def answer(text: str, _: int) -> None:
        _print_label(loaded, Request(text, args.checkpoint), args.json)

    text_input.for_each(args, answer, json.dumps(EMPTY_JUDGE_ROW | {"checkpoint": loaded.name}) if args.json else "")


def _print_label(loaded: Checkpoint, request: Request, as_json: bool) -> None:
    """Prints the most probable labels with their probabilities in one line, or all as JSON."""
    from ...inference.analyse import analyse

    result = analyse(loaded, request).to_dict()
    if as_json:
        print(json.dumps(result, ensure_ascii=False), flush=True)
        return
    named = list(result["labels"].items())[:MAX_LABELS]
    print("\t".join(f"{label}\t{odds['probability']:.4f}" for label, odds in named), flush=True)


JUDGE = Command(JUDGE_HELP, add_judge, run_judge)
