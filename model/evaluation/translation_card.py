"""The model card of a model that translates, written from what is known of it; what was measured is put in by
`evaluate --record`, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.checkpoint import Checkpoint
from model.config import MAX_TOKENS
from model.evaluation import card_parts
from model.evaluation.address import WORDS
from model.evaluation.card import put
from model.evaluation.measures import never_ends

HEADING = "## Measures"
SAID = {"said": "the model", "first": "first references", "all": "all references"}
NUMBERS = ("bleu", "chrf", "sentences", "unfinished")  # that a row of the table has


def card(made: Checkpoint) -> str:
    """The whole card, as a training leaves it."""
    config, metrics = made.config, made.metrics
    return card_parts.whole(
        made,
        f"A small {'-to-'.join(made.languages)} encoder-decoder, made to be looked at: token by token, layer by layer. "
        "It is no product for translating.",
        card_parts.what_it_is(
            made, "Transformer", f"{config.encoder_layers} encoder and {config.decoder_layers} decoder layers"
        ),
        card_parts.data(metrics, _sizes),
        card_parts.training(made, _pairs(metrics["training"]), " a token"),
        card_parts.validations(metrics),
        f"BLEU and chrF: the first {metrics['dev']['sentences']:,} dev sentences, greedy, against the first target of each.",
        "## Limits\n\n- It knows the sentences of its training and little else.\n- It reads and writes at most "
        f"{MAX_TOKENS} tokens.",
    )


def _sizes(of: Mapping[str, Any]) -> str:
    return f"{of['pairs']:,} pairs" if "pairs" in of else f"the first targets of {of['distinct_sources']:,} sentences"


def _pairs(run: Mapping[str, Any]) -> str:
    """What is made of the pairs of the files, and when; older trainings knew less."""
    told = {
        "typed_copies": "One pair in {:,} stands again as people type it.",
        "joined_share": "For each pair {:g} more are made of 2 to 5 random ones, others in every epoch.",
        "renamed_share": "For each pair {:g} more have made-up names on both sides, others in every epoch.",
        "renumbered_share": "For each pair {:g} more have other numbers on both sides, others in every epoch.",
        "bpe_dropout": "Where a word is cut, a merge is passed over with a probability of {:g}.",
        "first_target_epochs": "The last {:,} epochs see only the first target of each source.",
    }
    return "".join(f" {text.format(run[name])}" for name, text in told.items() if run.get(name))


def measures(metrics: Mapping[str, Any]) -> str:
    """The scores among the entries of metrics.json as one table, then *tu* and *vous*, then the probes; what was not
    measured is left out."""
    rows = {name: entry for name, entry in metrics.items() if _is_row(entry)}
    return "\n\n".join(filter(None, (_scores(rows), _address(rows), _probes(metrics.get("probes")))))


def write(path: Path, metrics: Mapping[str, Any]) -> None:
    """Puts them into a model card, in place of those that were there; errors as `model.evaluation.card.put`."""
    told = (
        "Counted by `python -m model evaluate`: scores by sacrebleu, detokenised and case kept, each distinct sentence once."
    )
    put(path, HEADING, f"{told}\n\n{measures(metrics)}")


def _is_row(entry: Any) -> bool:
    """Whether an entry holds scores on a file of pairs, and not what was measured in between of a training."""
    return isinstance(entry, dict) and "references" in entry and all(name in entry for name in NUMBERS)


def _scores(rows: Mapping[str, Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    lines = [
        f"| {_data(name, row)} | {row['references']} | {_decoding(row)} | {row['bleu']:.2f} | {row['chrf']:.2f} | "
        f"{never_ends(row):.1%} | {row['sentences']:,} |"
        for name, row in rows.items()
    ]
    heads = ["| data | references | decoding | BLEU | chrF | never ends | n |", "|---|---|---|---|---|---|---|"]
    return "\n".join([*heads, *lines])


def _data(name: str, row: Mapping[str, Any]) -> str:
    """What was translated; older entries do not tell the file, and have the name that they were recorded under."""
    told = str(row.get("data", name)).replace("|", r"\|")
    if row.get("at_least"):
        told += f", {row['at_least']} words and more"
    if row.get("join"):
        least, most = row["join"]
        told += f", {least} joined" if least == most else f", {least} to {most} joined"
        told += f" (seed {row['join_seed']})"
    return told


def _decoding(row: Mapping[str, Any]) -> str:
    if row.get("beam") == 1:
        return "greedy"
    return f"beam {row['beam']}" if "beam" in row else str(row.get("strategy", ""))


def _address(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Whom the model addresses and how, beside the references; once where the same was scored against several references."""
    lines: dict[str, None] = {}
    for name, row in rows.items():
        for who, found in row.get("address", {}).items():
            whose = f"{SAID[who]}, {_decoding(row)}" if who == "said" else SAID[who]
            ratio = "" if found["vous_to_tu"] is None else f"{found['vous_to_tu']:.2f}"
            shares = " | ".join(f"{found[each]:.1%}" for each in WORDS)
            lines[f"| {_data(name, row)} | {whose} | {shares} | {ratio} | {found['texts']:,} |"] = None
    if not lines:
        return ""
    words = "; ".join(", ".join(f"*{word}*" for word in words) for words in WORDS.values())
    told = f"Which texts say *tu* and which *vous*: have one of their words in them ({words}). A text may have of both."
    heads = ["| data | who | *tu* | *vous* | *vous* to one *tu* | texts |", "|---|---|---|---|---|---|"]
    return f"{told}\n\n" + "\n".join([*heads, *lines])


def _probes(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    lines = [f"| {kind} | {each['right']} | {each['sentences']} |" for kind, each in found["kinds"].items()]
    told = (
        f"Of {found['sentences']} sentences of the project's own {found['right']} come out as a translation that counts as "
        f"right ({_decoding(found)}; apostrophes, quotes, spaces before signs aside)."
    )
    return f"{told}\n\n" + "\n".join(["| kind | right | of |", "|---|---|---|", *lines])
