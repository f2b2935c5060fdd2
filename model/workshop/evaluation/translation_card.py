"""Model card of a translation model. `evaluate --record` adds its scores as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ...checkpoint import Checkpoint
from ...config import MAX_TOKENS
from ...decoding.strategy import Decoding
from ...io.files import is_count, is_number
from ...io.package_names import COMMAND
from . import model_card
from .contrast import SHARES
from .measures import WORDS, reaches_limit
from .model_card import put
from .text_card import format_interval

HEADING = "## Measures"
WHO = {"said": "the model", "first": "first references", "all": "all references"}
EXTRA_PAIR_SETTINGS = (
    "joined_share",
    "renamed_share",
    "renumbered_share",
    "phrase_share",
)  # settings that derive extra pairs
# Controls of a strategy in rows; alpha is written separately.
CONTROLS = tuple(
    field.name for field in fields(Decoding) if field.name not in ("strategy", "max_total_tokens", "alpha", "max_new_tokens")
)


def card(checkpoint: Checkpoint) -> str:
    """Returns the full card after a training."""
    config, metrics = checkpoint.config, checkpoint.metrics
    return model_card.join_sections(
        checkpoint,
        f"A small {'-to-'.join(checkpoint.languages)} encoder-decoder. It is made for study, "
        "token by token and layer by layer, and not for translating.",
        model_card.architecture(
            checkpoint, "Transformer", f"{config.encoder_layers} encoder and {config.decoder_layers} decoder layers"
        ),
        model_card.data_section(metrics, _sizes),
        model_card.training_section(checkpoint, _pairs(metrics["training"]), " a token"),
        model_card.validations_section(metrics),
        f"BLEU and chrF: the first {metrics['dev']['sentences']:,} dev sentences, greedy, against the first target of each.",
        "## Limits\n\n- It knows the sentences of its training and little else.\n- It reads and writes at most "
        f"{MAX_TOKENS} tokens.",
    )


def _sizes(of: Mapping[str, Any]) -> str:
    """Older trainings did not record copies apart from the pairs of the files."""
    if "pairs" not in of:
        return f"the first targets of {of['distinct_sources']:,} sentences"
    copies = of.get("copies", 0)
    more = f" and {copies:,} cop{'y' if copies == 1 else 'ies'} of some as people type them" if copies else ""
    return f"{of['pairs'] - copies:,} pairs{more}"


def _pairs(run: Mapping[str, Any]) -> str:
    """Describes the extra pairs of a training. Older trainings have fewer of these settings."""
    sentences = {
        "typed_copies": "{every} is repeated as people type it, if that changes it.",
        "joined_share": "For each pair {:g} more are made of 2 to 5 random ones, different ones in each epoch.",
        "renamed_share": "For each pair {:g} more have made-up names on both sides, different ones in each epoch.",
        "renumbered_share": "For each pair {:g} more have other numbers on both sides, different ones in each epoch.",
        "phrase_share": "For each pair {:g} more are a word or a phrase with its translation, different ones in each epoch.",
        "bpe_dropout": "In splitting a word, a merge is skipped with a probability of {:g}.",
        "first_target_epochs": "{last} only the first target of each source{aside}.",
    }
    every, last = run.get("typed_copies"), run.get("first_target_epochs")
    words = {
        "every": "Every pair" if every == 1 else f"One pair in {every:,}" if every else "",
        "last": "The last epoch sees" if last == 1 else f"The last {last:,} epochs see" if last else "",
        "aside": "; the extra pairs use all targets" if any(run.get(name) for name in EXTRA_PAIR_SETTINGS) else "",
    }
    return "".join(f" {text.format(run[name], **words)}" for name, text in sentences.items() if run.get(name))


def measures(metrics: Mapping[str, Any]) -> str:
    """Returns the scores in metrics.json as one table, then *tu* and *vous*, the probes and the contrasts; leaves out absent
    ones."""
    rows = {name: entry for name, entry in metrics.items() if _is_row(entry)}
    names = _names(metrics)
    parts = (_scores(rows, names), _address(rows, names), _probes(metrics.get("probes")), _contrast(metrics.get("contrast")))
    return "\n\n".join(filter(None, parts))


def section(metrics: Mapping[str, Any]) -> str:
    """Returns the text below `HEADING`."""
    intro = f"Counted by `{COMMAND} evaluate`: scores by sacrebleu, detokenised and case kept, each distinct sentence once."
    return "\n\n".join(filter(None, (intro, _commands(metrics), measures(metrics))))


def _commands(metrics: Mapping[str, Any]) -> str:
    """Returns the commands that compute the scores again, for files that a command makes from a published one."""
    files, scores = dict[str, None](), dict[str, None]()
    for row in metrics.values():
        source = model_card.source_of(row.get("data_sha256")) if _is_row(row) else None
        if source and source.command and "data" in row and "of_first" not in row:
            files[source.command] = None
            file = f"data/{_cell(row['data'])}.tsv.gz"
            scores[f"{COMMAND} evaluate --checkpoint NAME --data {file}{_options(row)}"] = None
    if not scores:
        return ""
    lines = "\n".join(("```", *files, *scores, "```"))
    return f"These commands make the files and compute the scores again. NAME is the folder of this card.\n\n{lines}"


def _options(row: Mapping[str, Any]) -> str:
    """Returns the options of `evaluate` for a row."""
    words = [] if row["references"] == "first" else [f"--references {row['references']}"]
    words += [f"--join {row['join'][0]}-{row['join'][1]} --seed {row['join_seed']}"] if row.get("join") else []
    words += [f"--{name.replace('_', '-')} {row[name]}" for name in ("at_least", "limit") if row.get(name)]
    words += [f"--beam {row['beam']}"] if row.get("beam", 1) > 1 else []
    words += [f"--strategy {row['strategy']}"] if "strategy" in row else []
    words += [f"--alpha {row['alpha']:g}"] if row.get("alpha", Decoding.alpha) != Decoding.alpha else []
    words += [f"--{name.replace('_', '-')} {_cell(row[name])}" for name in CONTROLS if name in row]
    return "".join(f" {word}" for word in words)


def write(path: Path, metrics: Mapping[str, Any]) -> None:
    """Replaces the scores of a model card. Raises the errors of `model_card.put`."""
    put(path, HEADING, section(metrics))


def _is_row(entry: Any) -> bool:
    """Returns True for an entry with scores on a file of pairs, and False for a validation of a training."""
    if not isinstance(entry, dict) or not isinstance(entry.get("references"), str):
        return False
    counts = [entry.get(name) for name in ("sentences", "unfinished", "cut") if name in entry or name != "cut"]
    join, address = entry.get("join"), entry.get("address", {})
    return (
        all(map(is_count, counts))
        and 0 < entry["sentences"] >= max(counts)
        and all(is_number(entry.get(name), 0, 100) for name in ("bleu", "chrf"))
        and all(is_count(entry[name]) for name in ("beam", "at_least", "limit", "of_first", "join_seed") if name in entry)
        and (
            join is None
            or (isinstance(join, list) and len(join) == 2 and all(map(is_count, (*join, entry.get("join_seed")))))
        )
        and is_number(entry.get("alpha", 0), 0, 100)
        and isinstance(address, dict)
        and all(who in WHO and _is_address(shares) for who, shares in address.items())
    )


def _is_address(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and is_count(entry.get("texts"))
        and all(is_number(entry.get(name), 0, 1) for name in WORDS)
        and ("vous_to_tu" in entry and (entry["vous_to_tu"] is None or is_number(entry["vous_to_tu"], 0, entry["texts"])))
    )


def _names(metrics: Mapping[str, Any]) -> dict[str, str]:
    """Returns the names of files by their SHA-256. Older scores do not name theirs."""
    training = metrics.get("training")
    learned = training.get("data_sha256") if isinstance(training, dict) else None
    by_digest = {digest: name for name, digest in learned.items()} if isinstance(learned, dict) else {}
    rows = [entry for entry in metrics.values() if _is_row(entry) and "data" in entry]
    by_digest |= {row.get("data_sha256"): row["data"] for row in rows}
    return {digest: str(name) for digest, name in by_digest.items() if isinstance(digest, str)}


def _scores(rows: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> str:
    if not rows:
        return ""
    lines = [
        f"| {_describe_input(name, row, names)} | {_cell(row['references'])} | {_decoding(row)} | {row['bleu']:.2f} | "
        f"{row['chrf']:.2f} | {reaches_limit(row):.1%} | {row['sentences']:,} |"
        for name, row in rows.items()
    ]
    heads = f"| data | references | decoding | BLEU | chrF | reaches {MAX_TOKENS} tokens | n |"
    return "\n".join([heads, "|---|---|---|---|---|---|---|", *lines])


def _cell(text: object) -> str:
    """Escapes a text for a table."""
    return " ".join(str(text).replace("|", r"\|").split())


def _describe_input(name: str, row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Describes the translated input. A file without a name gets the key of its scores."""
    text = _cell(row.get("data", names.get(str(row.get("data_sha256")), name)))
    if row.get("of_first"):
        text += f", first {row['of_first']:,}"
    if row.get("at_least"):
        text += f", sources of {row['at_least']} words and more"
    if row.get("limit"):
        text += f", first {row['limit']:,}"
    if row.get("join"):
        low, high = row["join"]
        text += f", {low} joined" if low == high else f", {low} to {high} joined"
        text += f" (seed {row['join_seed']})"
    if row.get("cut"):
        text += f", {row['cut']:,} cut at {MAX_TOKENS} tokens"
    return text


def _decoding(row: Mapping[str, Any]) -> str:
    """Describes the decoding, with the numbers that are not the default."""
    if row.get("beam") == 1:
        return "greedy"
    parts, usual = [f"beam {row['beam']}" if "beam" in row else _cell(row.get("strategy", ""))], Decoding()
    if "alpha" in row and row["alpha"] != usual.alpha:
        parts.append(f"alpha {row['alpha']:g}")
    parts += [f"{name.replace('_', '-')} {_cell(row[name])}" for name in CONTROLS if name in row]
    return ", ".join(parts)


def _address(rows: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """Returns the table of forms of address, for the model and the references. Equal rows appear once."""
    lines: dict[str, None] = {}
    for name, row in rows.items():
        for who, entry in row.get("address", {}).items():
            whose = f"{WHO[who]}, {_decoding(row)}" if who == "said" else WHO[who]
            ratio = "" if entry["vous_to_tu"] is None else f"{entry['vous_to_tu']:.2f}"
            shares = " | ".join(f"{entry[each]:.1%}" for each in WORDS)
            lines[f"| {_describe_input(name, row, names)} | {whose} | {shares} | {ratio} | {entry['texts']:,} |"] = None
    if not lines:
        return ""
    words = "; ".join(", ".join(f"*{word}*" for word in words) for words in WORDS.values())
    intro = f"Texts with a word of *tu* or *vous* ({words}). A text may have both."
    heads = ["| data | who | *tu* | *vous* | *vous* to one *tu* | texts |", "|---|---|---|---|---|---|"]
    return f"{intro}\n\n" + "\n".join([*heads, *lines])


def _has_counts(entry: Any) -> bool:
    """Returns True where an entry counts right sentences and all sentences."""
    return isinstance(entry, dict) and all(is_count(entry.get(each)) for each in ("right", "sentences"))


def _probes(probes: Any) -> str:
    """Returns the table of probes; empty for an entry that lacks the fields of `probes.measure`."""
    kinds = probes.get("kinds") if _has_counts(probes) else None
    if not isinstance(kinds, dict) or not all(map(_has_counts, kinds.values())) or not probes["sentences"]:
        return ""
    lines = [f"| {_cell(kind) or 'unnamed'} | {each['right']} | {each['sentences']} |" for kind, each in kinds.items()]
    files, count = probes.get("files"), probes["sentences"]
    named = ", ".join(f"`{name}`" for name in files) if isinstance(files, list) else ""
    whose = " of the project's own" if probes.get("own") is True else f" of {named}" if named else ""
    come = "has a translation that counts" if probes["right"] == 1 else "have a translation that counts"
    intro = (
        f"Of {count} sentence{'' if count == 1 else 's'}{whose} {probes['right']} {come} as right ({_decoding(probes)}). "
        "The comparison ignores how signs are typed (such as apostrophes, quotes, œ, and spaces before signs), a full stop "
        "where the source ends in no sign, and capitals where the source is all in lower case or a title."
    )
    return f"{intro}\n\n" + "\n".join(["| kind | right | of |", "|---|---|---|", *lines])


def _has_shares(entry: Any) -> bool:
    """Returns True for an entry with the numbers of `contrast.ContrastResult.summary`."""
    if not isinstance(entry, dict) or not is_count(entry.get("rows")):
        return False
    intervals = [entry.get(f"{name}_interval") for name in SHARES]
    return all(is_number(entry.get(name), 0, 1) for name in SHARES) and all(
        isinstance(ends, list) and len(ends) == 2 and all(is_number(end, 0, 1) for end in ends) for ends in intervals
    )


def _contrast(contrast: Any) -> str:
    """Returns the table of contrasts; empty for an entry that lacks the fields of `contrast.ContrastResult.summary`."""
    if not isinstance(contrast, dict) or not isinstance(splits := contrast.get("splits", {}), dict):
        return ""
    parts = [*splits.items(), ("total", contrast.get("total"))]
    if not all(_has_shares(part) for _, part in parts):
        return ""
    lines = [
        f"| {_cell(name)} | "
        + " | ".join(f"{part[each]:.1%} ({format_interval(part[f'{each}_interval'], '.1%')})" for each in SHARES)
        + f" | {part['rows']:,} |"
        for name, part in parts
    ]
    intro = (
        f"Contrasts of `{_cell(contrast.get('data', 'contrast'))}`, as in ContraPro (Müller et al. 2018), with 95% Wilson "
        "intervals. Likelier: the right translation has a higher log-probability than the wrong one. Written "
        f"({_decoding(contrast)}): the words that differ are the right ones. Causal: hiding the right noun in the source "
        "changes this preference more than hiding the other noun."
    )
    return f"{intro}\n\n" + "\n".join(["| split | likelier | written | causal | rows |", "|---|---|---|---|---|", *lines])
