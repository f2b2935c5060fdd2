"""python -m model evaluate for translation: BLEU, chrF, form of address, unfinished translations, probes and contrasts."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...decoding.strategy import Decoding, strategy
from ...io.files import short_repr
from ...text.languages import LANGUAGES, record_of
from .. import sharding
from . import options

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint
    from ..evaluation.measures import InputSelection

BEAM = 4  # default width of --measures
OPTIONS = ("limit", "references", "join", "at_least", "probes", "contrast", "measures", "warnings", "typed")
SELECTION_OPTIONS = ("references", "join", "at_least", "warnings", "typed")  # options that --measures sets or excludes


def add(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--limit", type=int, metavar="N", help="only the first N distinct sentences (default: all)")
    hint = "references of a repeated sentence (default: first)"
    group.add_argument("--references", choices=("first", "all"), help=hint)
    hint = "join random sentences into texts of N to M sentences (3-5, or 4), with their first references; uses each "
    hint += "sentence once, in an order from --seed (default: 1)"
    group.add_argument("--join", type=_join_range, metavar="N-M", help=hint)
    hint = "only sentences of at least N words, separated by spaces"
    group.add_argument("--at-least", type=int, metavar="N", help=hint)
    hint = "translate the project's own sentences, or those of FILE, and list the wrong ones; needs no --data"
    group.add_argument("--probes", type=Path, nargs="*", metavar="FILE", help=hint)
    hint = "share of rows where the right translation is likelier than the wrong one, is written, and depends on the right "
    hint += "noun; a .tsv with a first line english, right, wrong, noun, other and optionally split; needs no --data"
    group.add_argument("--contrast", type=Path, metavar="FILE", help=hint)
    hint = (
        "all measures, with a beam of 4: first and all references, 3 to 5 joined sentences, sentences of 15 words or more, "
    )
    hint += "tu and vous, probes; --record KEY writes KEY, KEY_joined and so on"
    group.add_argument("--measures", action="store_true", default=None, help=hint)
    hint = "measure how often the lab's warnings are right; --record stores the result for the lab"
    group.add_argument("--warnings", action="store_true", default=None, help=hint)
    hint = "with --warnings: also count sentences as people type them, in the format of --probes"
    group.add_argument("--typed", type=Path, nargs="+", metavar="FILE", help=hint)


def _join_range(text: str) -> tuple[int, int]:
    """3-5, or 4 for 4-4."""
    ends = text.split("-")
    if not 1 <= len(ends) <= 2 or not all(end.isdecimal() and len(end) < 10 for end in ends):
        raise argparse.ArgumentTypeError(f"it is {short_repr(text)}; expected how many sentences a text has, as 3-5 or 4")
    return int(ends[0]), int(ends[-1])


def decoding_options(args: argparse.Namespace) -> Decoding:
    """Returns the decoding of the options.

    A seed may also belong to --join only, and --measures uses a beam by default.
    """
    if args.measures and args.strategy is None and args.beam is None:
        args.beam = BEAM
    draws = args.strategy is not None and strategy(args.strategy).is_random
    known = argparse.Namespace(**vars(args) | ({} if draws or not args.join else {"seed": None}))
    return options.decoding(known)


def run(args: argparse.Namespace, loaded: Checkpoint, decoding: Decoding) -> None:
    """Scores a translation model and prints the result; with `--record` also writes metrics.json and the model card."""
    from ..corpus.corpus import file_hash
    from ..evaluation import contrast, probes

    reads, writes = loaded.languages
    own = record_of(reads).probes.get(writes, ())
    if args.probes == [] and not own:
        raise ValueError(f"{loaded.name} is {' to '.join(loaded.languages)}; give --probes a FILE with sentences for it")
    files = args.probes or (own if args.measures or args.probes == [] else ())
    scored = probes.read(files)  # before anything is translated
    contrasts = contrast.read_contrast(args.contrast) if args.contrast else []
    results = _measure(args, loaded, decoding)
    if scored:
        shipped = [paths for known in LANGUAGES.values() for paths in known.probes.values()]
        is_own = {path.resolve() for path in files} in [{path.resolve() for path in paths} for paths in shipped]
        source = {"files": [path.name for path in files], "own": is_own}
        results["probes"] = probes.measure(loaded, scored, decoding) | decoding_settings(decoding) | source
    if contrasts:
        source = {"data": dataset_name(args.contrast), "data_sha256": file_hash(args.contrast)}
        with options.progress(args, total=4 * len(contrasts), unit="row") as bar:
            measured = contrast.measure_contrast(loaded, contrasts, decoding, bar.update)
        results["contrast"] = measured.summary() | decoding_settings(decoding) | source
    sharding.leave_to_first()
    if args.record:
        _record(args, loaded, results)
    if args.json:
        print(json.dumps(results if args.measures or args.data is None else results.pop(args.record or "test") | results))
    else:
        print("\n\n".join(_format_results(results)))


def input_selection(args: argparse.Namespace) -> InputSelection:
    """Returns the selection of inputs; raises ValueError for options that exclude each other."""
    from ..evaluation.measures import InputSelection

    if args.measures and (unused := list(options.explicit_options(args, SELECTION_OPTIONS))):
        raise ValueError(f"--measures sets its own inputs; leave out --{unused[0].replace('_', '-')}")
    if args.data is None and (unused := list(options.explicit_options(args, (*SELECTION_OPTIONS, "limit")))):
        raise ValueError(f"--{unused[0].replace('_', '-')} is given without --data; give both")
    if args.join and args.references == "all":
        raise ValueError("--join joins the first reference of each sentence; leave out --references all")
    if args.warnings and (unused := list(options.explicit_options(args, ("join", "at_least")))):
        raise ValueError(f"--warnings counts all sentences one by one; leave out --{unused[0].replace('_', '-')}")
    if args.typed and not args.warnings:
        raise ValueError("--typed is given without --warnings; give both")
    alone = "contrast" if args.probes is None else "probes"
    if args.data is None and args.record not in (None, alone):
        raise ValueError(f"--record is {short_repr(args.record)}; of {alone} alone expected {alone}")
    seed = {} if args.seed is None else {"seed": args.seed}
    return InputSelection(at_least=1 if args.at_least is None else args.at_least, limit=args.limit, join=args.join, **seed)


def _measure(args: argparse.Namespace, loaded: Checkpoint, decoding: Decoding) -> dict[str, Any]:
    """Returns the entries of metrics.json by key. The key is that of --record, or `test`."""
    from ..corpus.corpus import file_hash, read_pairs
    from ..evaluation import measures, probes
    from ..reports import reliability_report

    if args.data is None:
        return {}
    pairs, key = read_pairs(args.data), args.record or "test"
    settings = decoding_settings(decoding) | {"data": dataset_name(args.data), "data_sha256": file_hash(args.data)}
    with options.progress(args, unit="sentence") as bar:
        if args.measures:
            measured = measures.measure_all(loaded, pairs, args.limit, decoding, bar.update)
            return {key + measures.KEY_SUFFIXES[name]: entry | settings for name, entry in measured.items()}
        chosen = input_selection(args)
        bar.total = len(chosen.select(pairs))
        entry = measures.measure(loaded, pairs, chosen, args.references or "first", decoding, bar.update)
    entries = {key: entry | settings}
    if args.warnings:
        entries["warnings"] = reliability_report.measure_warnings(
            loaded, pairs, args.limit, decoding=decoding
        ) | decoding_settings(decoding)
        entries["warnings"]["data_sha256"] = settings["data_sha256"]
        if args.typed:
            typed = reliability_report.measure_typed(loaded, probes.read(args.typed), decoding)
            entries["warnings"]["typed"] = typed | {"files": [path.name for path in args.typed]}
    return entries


def _record(args: argparse.Namespace, loaded: Checkpoint, results: dict[str, Any]) -> None:
    from ... import checkpoint as checkpoints
    from ..evaluation import measures, model_card, translation_card

    old = {args.record + name for name in measures.KEY_SUFFIXES.values()} if args.measures else set()
    metrics = {name: entry for name, entry in loaded.metrics.items() if name not in old} | results
    translation_card.section(metrics)  # entries that the card cannot show are not written
    folder = checkpoints.find_folder(args.checkpoint)
    checkpoints.write_json(folder / "metrics.json", metrics)
    model_card.write_if_absent(folder / "README.md", loaded, translation_card.card)
    if "warnings" in results:
        model_card.write(folder / "README.md", metrics["warnings"])
    translation_card.write(folder / "README.md", metrics)


def dataset_name(path: Path) -> str:
    """Returns the name of a file of pairs without the suffix of its format."""
    return re.sub(r"\.(?:tsv(?:\.gz)?|zip)$", "", path.name)


def _format_results(results: dict[str, Any]) -> list[str]:
    """Formats the results as in the card, and adds the wrong probes."""
    from ..evaluation import model_card, translation_card

    parts = [translation_card.measures(results)]
    parts += [entry["sacrebleu_signature"] for entry in results.values() if "sacrebleu_signature" in entry][:1]
    if "warnings" in results:
        tables = (model_card.table, model_card.signs_table, model_card.typed_table)
        parts += filter(None, (table(results["warnings"]) for table in tables))
    if "probes" in results:
        rows = [f"{each['kind']}: {each['source']}\n    {each['said']}" for each in results["probes"]["wrong"]]
        parts += ["\n".join(["wrong:", *rows])] if rows else []
    return parts


def decoding_settings(decoding: Decoding) -> dict[str, Any]:
    """Returns the settings of decoding that affect the scores. Greedy decoding is a beam of one."""
    if strategy(decoding.strategy).is_beam:
        return {"beam": decoding.paths} | ({"alpha": decoding.alpha} if decoding.paths > 1 else {})
    return {"strategy": decoding.strategy} | decoding.settings
