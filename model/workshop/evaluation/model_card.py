"""Model cards: sections of all tasks, and the sources and licences of the shipped training data."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...checkpoint import Checkpoint
from ...io.files import MEGABYTE, read_text
from ...io.package_names import COMMAND
from ...text.warning_calibration import WarningCounts, read_warnings

MAX_BYTES = MEGABYTE  # bytes of a model card
HEADING = "## How often the warnings are right"
KINDS = {
    "rare": "a source word that training had fewer than 5 times",
    "unsure": "a token of a probability under 0.3",
    "overlooked": "a source word that no step gives a weight of 0.25",
    "long": "source or translation longer than 99% of the training's",
}


def table(warnings: dict[str, Any]) -> str:
    """Returns the numbers of `reliability_report.measure_warnings` as a table. Its last row always warns."""
    calibration = read_warnings({"warnings": warnings})
    always = WarningCounts(warnings["sentences"], warnings["bad"], warnings["sentences"], warnings["bad"])
    rows = [(KINDS.get(name, name), worth) for name, worth in calibration.items()]
    lines = [
        f"| {name} | {worth.warned:,} | {worth.right:,} | {worth.precision:.2f} | {worth.recall:.2f} |"
        for name, worth in [*rows, ("warning always", always)]
    ]
    return "\n".join(["| warning | threshold | right | precision | recall |", "|---|---|---|---|---|", *lines])


def signs_table(warnings: dict[str, Any]) -> str:
    """Returns a table of bad translations by the number of kinds of warning of a sentence."""
    lines = [
        f"| {number} | {row['sentences']:,} | {row['bad']:,} | {row['bad'] / max(1, row['sentences']):.2f} |"
        for number, row in enumerate(warnings.get("signs", ()))
    ]
    return "\n".join(["| kinds of warning | sentences | bad | share |", "|---|---|---|---|", *lines]) if lines else ""


def typed_table(warnings: dict[str, Any]) -> str:
    """Returns a table of wrong translations of sentences as people type them, by kind; empty without such sentences."""
    typed = warnings.get("typed")
    if not typed:
        return ""
    rows = [*typed["kinds"].items(), ("all without a warning", typed["unwarned"])]
    lines = [f"| {name} | {row['sentences']} | {row['wrong']} |" for name, row in rows]
    source = f"Sentences as people type them ({', '.join(typed['files'])}), wrong if no accepted translation:"
    return "\n".join([source, "", "| kind | sentences | wrong |", "|---|---|---|", *lines])


def write(path: Path, warnings: dict[str, Any]) -> None:
    """Writes the section on warnings into a model card. Raises the errors of `put`."""
    section = (
        f"Of {warnings['sentences']:,} sentences {warnings['bad']:,} had a bad translation: chrF under "
        f"{warnings['bar']:g} against the best of their references. Counted by `{COMMAND} evaluate --warnings`.\n\n"
        f"{table(warnings)}\n\n{signs_table(warnings)}"
    )
    section = "\n\n".join(filter(None, (section, typed_table(warnings))))
    put(path, HEADING, section)


def rename(path: Path, name: str) -> None:
    """Replaces the heading of a model card by a name, where the card has one. Raises the errors of `put`."""
    text = read_text(path, MAX_BYTES)
    path.write_text(re.sub(r"\A# .*", lambda _: f"# {name}", text), encoding="utf-8")


def put(path: Path, heading: str, section: str) -> None:
    """Writes a section into a model card and replaces an older one. The rest of the card stays.

    Raises FileError where the card is no text, too large, or no regular file.
    """
    text = read_text(path, MAX_BYTES) if os.path.lexists(path) else ""
    before, match, after = text.partition(heading)
    following = re.search(r"^## ", after, re.MULTILINE) if match else None
    rest = after[following.start() :] if following else ""
    parts = (before, f"{heading}\n\n{section}", rest)
    path.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")


UNKNOWN = "title, author and licence are not recorded: write them here"


@dataclass(frozen=True)
class DataSource:
    """A published text or corpus."""

    title: str
    authors: str
    licence: str
    origin: str = ""  # how it was obtained
    command: str = ""  # makes the files of the splits from the published one

    def describe(self) -> str:
        """Returns title, authors, licence, origin and command in one line."""
        files = self.command and f" Files: `{self.command}`."
        return f"{self.title}, {self.authors}{self.origin and f', {self.origin}'}. Licence: {self.licence}.{files}"


def _book(title: str, authors: str) -> DataSource:
    return DataSource(f"*{title}*", authors, "public domain")


_TATOEBA = DataSource(
    "English-French sentence pairs of **Tatoeba** (https://tatoeba.org)",
    "by its contributors",
    "CC BY 2.0 FR",
    "selected by **manythings.org/anki** (https://www.manythings.org/anki/, `fra-eng.zip` of 7 April 2019)",
    f"{COMMAND} split fra-eng.zip --out data",
)
_POLARITY = DataSource("Sentence polarity dataset v1.0", "Bo Pang and Lillian Lee (ACL 2005)", "CC BY 4.0")
SOURCES: Mapping[str, DataSource] = {  # by the first 16 hexadecimal digits of a file's SHA-256
    "fa7308e6cd3fab9c": _TATOEBA,
    "546882cb9867b516": _TATOEBA,
    "8554e6cba019e865": _TATOEBA,
    "66d8c58929637943": _POLARITY,
    "fbfe372edc69297d": _POLARITY,
    "655f67e22568813f": _POLARITY,
    "7c6c97dd3ee21ccd": _POLARITY,
    "5963cd1569be353d": _book("Fairy Tales", "the Brothers Grimm, translated by Edgar Taylor and Marian Edwardes"),
    "79be6b380fe4e0f6": _book("The Jungle Book", "Rudyard Kipling"),
    "de5703dd4ca2a5fb": _book("Pride and Prejudice", "Jane Austen"),
    "4692c3ec740a9f4b": _book("The Adventures of Sherlock Holmes", "Arthur Conan Doyle"),
    "9a72466b54516f4f": _book("The Return of Sherlock Holmes", "Arthur Conan Doyle"),
    "c5df920b2e14a9fe": _book("The Adventures of Tom Sawyer", "Mark Twain"),
    "ccc705f1205f0082": _book("The Wonderful Wizard of Oz", "L. Frank Baum"),
    "c7a31daa7cb0f307": _book("Alice’s Adventures in Wonderland", "Lewis Carroll"),
}


def source_of(digest: Any) -> DataSource | None:
    """Returns the source of a file by its SHA-256 in hex; None for an unknown one."""
    return SOURCES.get(digest[:16]) if isinstance(digest, str) else None


def describe_sources(digests: Mapping[str, str]) -> str:
    """Returns one line per source of the training files, given as names and SHA-256. Files of one source share a line."""
    names: dict[str, list[str]] = {}
    for name, digest in digests.items():
        if name != "probes":  # probes are not trained on
            source = source_of(digest)
            names.setdefault(source.describe() if source else f"{UNKNOWN}.", []).append(f"`{name}`")
    return "\n".join(f"- {', '.join(files)}: {source}" for source, files in names.items())


SCHEDULES = {"cosine": "cosine to zero", "noam": "the inverse root of the step"}
NORMS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
MAX_ROWS = 8  # rows of the table of validations; the kept one is always among them
COLUMNS = {  # field of a validation: column title, number format
    "dev_loss": ("dev loss", "{:.3f}"),
    "bits_per_character": ("bits a character", "{:.3f}"),
    "blank_loss": ("nats a blank", "{:.3f}"),
    "blanks_right": ("blanks right", "{:.1%}"),
    "pair_loss": ("nats a pair", "{:.3f}"),
    "pairs_right": ("pairs right", "{:.1%}"),
    "labels_right": ("labels right", "{:.1%}"),
    "bleu": ("BLEU", "{:.2f}"),
    "chrf": ("chrF", "{:.2f}"),
}


def architecture(checkpoint: Checkpoint, kind: str, layers: str, more: str = "") -> str:
    """Returns the section on the architecture.

    `kind`: type of model; `layers`: its layers; `more`: further parts, beginning with a comma.
    """
    config = checkpoint.config
    output = (
        "whose embedding is also the output projection" if config.tied_output else "with an output projection of its own"
    )
    if not config.joint_vocab:
        words = f"byte-level BPE vocabularies of {config.source_vocab:,} and {config.target_vocab:,} tokens"
    else:
        words = (
            f"a {'joint ' if config.has_shared_embedding else ''}byte-level BPE vocabulary of {config.target_vocab:,} tokens"
        )
    written = f" {output}" if "decoder" in config.kinds else ""
    return (
        f"## What it is\n\n{'Pre' if config.norm_first else 'Post'}-norm {kind}: {layers}, {config.heads} heads, "
        f"d_model {config.d_model}, d_ff {config.d_ff}, {config.activation}, {NORMS[config.norm]}, {config.positions} "
        f"positions, {words}{written}{more}. {checkpoint.model.parameter_count:,} "
        "parameters, stored as float16 and computed in "
        "float32."
    )


def data_section(metrics: Mapping[str, Any], sizes: Callable[[Mapping[str, Any]], str]) -> str:
    """Returns the section on the data. `sizes` describes the size of a part of the metrics in words."""
    run, dev = metrics["training"], metrics["dev"]
    hashes = "\n".join(f"- SHA-256 of `{name}`: `{digest}`" for name, digest in run["data_sha256"].items())
    text = f"Trained on {sizes(run)}; chosen by {sizes(dev)}{_dev_overlap(run)}."
    return f"## Data\n\n{text}\n\n{describe_sources(run['data_sha256'])}\n\n{hashes}"


def _dev_overlap(run: Mapping[str, Any]) -> str:
    """Returns a clause that says whether the dev files, by SHA-256, are also training files.

    Overlap of different files is not checked.
    """
    digests = run["data_sha256"]
    learned = {digest for name, digest in digests.items() if name.split()[0] == "train"}
    chosen = [digest in learned for name, digest in digests.items() if name.split()[0] == "dev"]
    if not chosen:
        return ""
    if not any(chosen):
        return ", from a separate file" if len(chosen) == 1 else ", from separate files"
    return ", which are also trained on" if all(chosen) else ", part of which is also trained on"


def training_section(checkpoint: Checkpoint, more: str = "", reached: str = "") -> str:
    """Returns the section on the training.

    `more`: sentences of the task, each after a space; `reached`: the dev loss in further units.
    """
    run, dev, config = checkpoint.metrics["training"], checkpoint.metrics["dev"], checkpoint.config
    origin = ""
    if "init" in run:
        origin = f"Fine-tuned from `{run['init']}`. " if run["init"] else "Trained from scratch: all weights were random. "
    if names := run.get("teachers"):
        taught = " and ".join(f"`{name}`" for name in names)
        origin += f"At each target token it also learned the mean of the probabilities of {taught}. "
    decides = "the last is kept" if run.get("keep") == "last" else "dev loss decides"
    return (
        f"## Training\n\n{origin}{run['steps']:,} steps, {run['minutes']:,} minutes. Adam (0.9, 0.98, 1e-9), linear warm-up "
        f"({run['warmup']:,} steps to {run['learning_rate']:g}), then {SCHEDULES[run['schedule']]}; batches of at most "
        f"{run['batch_tokens']:,} tokens{_cut(run)}, {_plural(run['epochs'], 'epoch')}; label smoothing "
        f"{run['label_smoothing']:g}; weight decay "
        f"{run['weight_decay']:g}; dropout {config.dropout:g} on embeddings and sub-layer outputs, "
        f"{config.attention_dropout:g} on attention; gradient norm clipped at {run['clip']:g}; seed {run['seed']}.{more} "
        f"{_averaged_weights(checkpoint.metrics)}; {decides}. Kept: step {dev['step']:,}, "
        f"dev loss {dev['dev_loss']:.3f} nats{reached}."
    )


def _cut(run: Mapping[str, Any]) -> str:
    """A batch keeps its rows where BPE dropout changes the segmentation."""
    return " as the vocabulary cuts them" if run.get("bpe_dropout") else ""


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _averaged_weights(metrics: Mapping[str, Any]) -> str:
    """Describes the averaging of the kept weights. There may have been fewer validations than are averaged."""
    until = [entry for entry in metrics.get("validations", ()) if entry["step"] <= metrics["dev"]["step"]]
    count = min(metrics["training"]["average"], len(until) or metrics["training"]["average"])
    if count == 1:
        return "The checkpoint has the weights of one validation"
    return f"The checkpoint is the mean of the weights at {count} validations in a row"


def validations_section(metrics: Mapping[str, Any]) -> str:
    """Returns a table of the first, last, kept and evenly spaced validations; empty for fewer than two."""
    entries, best = metrics.get("validations", ()), metrics["dev"]["step"]
    if len(entries) < 2:
        return ""
    names = [name for name in COLUMNS if name in entries[-1]]
    last = len(entries) - 1
    chosen = {round(n * last / (MAX_ROWS - 1)) for n in range(MAX_ROWS)} | {
        n for n, e in enumerate(entries) if e["step"] == best
    }
    rows = [
        f"| {entry['step']:,}{' (kept)' if entry['step'] == best else ''} | "
        + " | ".join(COLUMNS[name][1].format(entry[name]) if name in entry else "" for name in names)
        + " |"
        for entry in (entries[n] for n in sorted(chosen))
    ]
    heads = " | ".join(COLUMNS[name][0] for name in names)
    return "\n".join(["## Validations\n", f"| step | {heads} |", "|---" * (len(names) + 1) + "|", *rows])


def join_sections(checkpoint: Checkpoint, *sections: str) -> str:
    """Returns a card of the sections that are not empty."""
    return "\n\n".join((f"# {checkpoint.name}", *filter(None, sections)))


def write_if_absent(path: Path, checkpoint: Checkpoint, card: Callable[[Checkpoint], str]) -> None:
    """Writes a card where there is none, and where the checkpoint records its training."""
    if path.exists():
        return
    with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError, IndexError):
        path.write_text(card(checkpoint), encoding="utf-8")
