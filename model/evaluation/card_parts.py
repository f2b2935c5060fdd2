"""Sections that the model cards of all tasks have, written from what a checkpoint knows of itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from model.checkpoint import Checkpoint
from model.evaluation.data_sources import describe_sources

FALLS = {"cosine": "cosine to zero", "noam": "the inverse root of the step"}
NORMS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
CURVE = 8  # rows of the table of validations, one more where what is kept lies between
MEASURED = {  # what a validation holds: its column, and how it is written
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


def what_it_is(made: Checkpoint, kind: str, layers: str, more: str = "") -> str:
    """`kind`: what sort of model; `layers`: how many; `more`: what it has beside, from a comma on."""
    config = made.config
    output = (
        "whose embedding is also the output projection" if config.tied_output else "with an output projection of its own"
    )
    if not config.joint_vocab:
        words = f"byte-level BPE vocabularies of {config.source_vocab:,} and {config.target_vocab:,} tokens"
    else:
        words = f"a {'joint ' if config.two_in_one else ''}byte-level BPE vocabulary of {config.target_vocab:,} tokens"
    written = f" {output}" if "decoder" in config.kinds else ""
    return (
        f"## What it is\n\n{'Pre' if config.norm_first else 'Post'}-norm {kind}: {layers}, {config.heads} heads, "
        f"d_model {config.d_model}, d_ff {config.d_ff}, {config.activation}, {NORMS[config.norm]}, {config.positions} "
        f"positions, {words}{written}{more}. {made.model.parameter_count:,} parameters, stored as float16 and computed in "
        "float32."
    )


def data(metrics: Mapping[str, Any], sizes: Callable[[Mapping[str, Any]], str]) -> str:
    """`sizes` says how much a part of the metrics is, the training and the dev files, in words of several things."""
    run, dev = metrics["training"], metrics["dev"]
    hashes = "\n".join(f"- SHA-256 of `{name}`: `{digest}`" for name, digest in run["data_sha256"].items())
    told = f"Trained on {sizes(run)}; chosen by {sizes(dev)}{_chosen_by(run)}."
    return f"## Data\n\n{told}\n\n{describe_sources(run['data_sha256'])}\n\n{hashes}"


def _chosen_by(run: Mapping[str, Any]) -> str:
    """A clause about the files that chose the weights: whether they were learned from too, by their SHA-256. What two
    different files share is not looked for."""
    digests = run["data_sha256"]
    learned = {digest for name, digest in digests.items() if name.split()[0] == "train"}
    chosen = [digest in learned for name, digest in digests.items() if name.split()[0] == "dev"]
    if not chosen:
        return ""
    if not any(chosen):
        return ", from a file of its own" if len(chosen) == 1 else ", from files of their own"
    return ", which are also trained on" if all(chosen) else ", part of which is also trained on"


def training(made: Checkpoint, more: str = "", reached: str = "") -> str:
    """How it was trained; `more`: sentences of the task's own, each with a space before it, `reached`: what the dev loss is
    beside nats."""
    run, dev, config = made.metrics["training"], made.metrics["dev"], made.config
    begun = ""
    if "init" in run:
        begun = (
            f"Fine-tuned from `{run['init']}`. " if run["init"] else "Trained from scratch: all weights were drawn anew. "
        )
    decides = "the last is kept" if run.get("keep") == "last" else "dev loss decides"
    return (
        f"## Training\n\n{begun}{run['steps']:,} steps, {run['minutes']:,} minutes. Adam (0.9, 0.98, 1e-9), linear warm-up "
        f"({run['warmup']:,} steps to {run['learning_rate']:g}), then {FALLS[run['schedule']]}; batches of at most "
        f"{run['batch_tokens']:,} tokens{_cut(run)}, {_several(run['epochs'], 'epoch')}; label smoothing "
        f"{run['label_smoothing']:g}; weight decay "
        f"{run['weight_decay']:g}; dropout {config.dropout:g} on embeddings and sub-layer outputs, "
        f"{config.attention_dropout:g} on attention; gradient norm clipped at {run['clip']:g}; seed {run['seed']}.{more} "
        f"{_kept(made.metrics)}; {decides}. Kept: step {dev['step']:,}, dev loss {dev['dev_loss']:.3f} nats{reached}."
    )


def _cut(run: Mapping[str, Any]) -> str:
    """A batch keeps its rows where words are cut anew."""
    return " as the vocabulary cuts them" if run.get("bpe_dropout") else ""


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _kept(metrics: Mapping[str, Any]) -> str:
    """Of which weights the kept ones are the mean: there may have been fewer validations than are averaged."""
    until = [entry for entry in metrics.get("validations", ()) if entry["step"] <= metrics["dev"]["step"]]
    count = min(metrics["training"]["average"], len(until) or metrics["training"]["average"])
    if count == 1:
        return "What is kept are the weights as they were at one validation"
    return f"What is kept is the mean of the weights at {count} validations in a row"


def validations(metrics: Mapping[str, Any]) -> str:
    """The first, the last, the one that is kept, and as many between them as fit; empty for fewer than two."""
    found, best = metrics.get("validations", ()), metrics["dev"]["step"]
    if len(found) < 2:
        return ""
    names = [name for name in MEASURED if name in found[-1]]
    last = len(found) - 1
    chosen = {round(n * last / (CURVE - 1)) for n in range(CURVE)} | {n for n, e in enumerate(found) if e["step"] == best}
    rows = [
        f"| {entry['step']:,}{' (kept)' if entry['step'] == best else ''} | "
        + " | ".join(MEASURED[name][1].format(entry[name]) if name in entry else "" for name in names)
        + " |"
        for entry in (found[n] for n in sorted(chosen))
    ]
    heads = " | ".join(MEASURED[name][0] for name in names)
    return "\n".join(["## Validations\n", f"| step | {heads} |", "|---" * (len(names) + 1) + "|", *rows])


def whole(made: Checkpoint, *sections: str) -> str:
    """A card of these sections; empty ones are left out."""
    return "\n\n".join((f"# {made.name}", *filter(None, sections)))


def begin(path: Path, made: Checkpoint, card: Callable[[Checkpoint], str]) -> None:
    """Writes the whole card where there is none yet, and where the checkpoint tells how it was trained: one from elsewhere
    does not."""
    if path.exists():
        return
    with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError, IndexError):
        path.write_text(card(made), encoding="utf-8")
