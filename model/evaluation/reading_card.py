"""The model card of an encoder that fills in blanks, or gives labels, written from what is known of it; its scores are put
in by `evaluate --record`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from model.checkpoint import Checkpoint
from model.config import MAX_TOKENS
from model.evaluation.card import put
from model.evaluation.text_card import FALLS, HEADING, NORMS, ends, held_out, kept

CURVE = 8  # rows of the table of validations
MEASURED = {  # what a validation holds: its column, and how it is written
    "dev_loss": ("dev loss", "{:.3f}"),
    "blank_loss": ("nats a blank", "{:.3f}"),
    "blanks_right": ("blanks right", "{:.1%}"),
    "pair_loss": ("nats a pair", "{:.3f}"),
    "pairs_right": ("pairs right", "{:.1%}"),
    "labels_right": ("labels right", "{:.1%}"),
}
RIVALS = {  # of each thing that is measured: its heading, the baseline, and what that is
    "words": (
        "Single words in a blank",
        "neighbours",
        "counts of the words between the same neighbours, up to two on either side",
    ),
    "follows": ("Does the second sentence follow?", "overlap", "what the words of both sentences have in common"),
    "labels": ("Labels", "bag_of_words", "a bag of the words, in whatever order"),
}


def card(made: Checkpoint) -> str:
    """The whole card, as a training leaves it."""
    return "\n\n".join(
        (f"# {made.name}", _purpose(made), _parts(made), _data(made.metrics), _training(made), _curve(made), _limits(made))
    )


def _purpose(made: Checkpoint) -> str:
    if made.config.classes:
        does = f"gives a text one of {len(made.config.classes)} labels ({', '.join(made.config.classes)})"
    else:
        does = "fills in blanks" + ", and tells whether a sentence follows another" * made.config.follows
    return f"A small encoder that {does}, made to be looked at: token by token, layer by layer. It is no product."


def _parts(made: Checkpoint) -> str:
    config = made.config
    order = "Pre-norm" if config.norm_first else "Post-norm"
    pooled = {"first": "the first token's state", "mean": "the mean of all states"}[config.pooling]
    heads = [f"a pooler of {pooled}"] * config.pooler + ["a head for two sentences"] * config.follows
    heads += [f"a head for {len(config.classes)} labels"] * bool(config.classes)
    return (
        f"## What it is\n\n{order} Transformer encoder: {config.encoder_layers} layers, {config.heads} heads, d_model "
        f"{config.d_model}, d_ff {config.d_ff}, {config.activation}, {NORMS[config.norm]}, {config.positions} positions, a "
        f"byte-level BPE vocabulary of {config.source_vocab:,} tokens{''.join(f', {head}' for head in heads)}. "
        f"{made.model.parameter_count:,} parameters, stored as float16 and computed in float32."
    )


def _data(metrics: Mapping[str, Any]) -> str:
    run, dev = metrics["training"], metrics["dev"]
    held = f", {clause}" if (clause := held_out(run, "are")).startswith(("which", "part")) else f" {clause}"
    lines = [
        f"Trained on {_sizes(run)}; chosen by {_sizes(dev)}{held}.",
        "\n".join(f"- SHA-256 of `{name}`: `{digest}`" for name, digest in run["data_sha256"].items()),
    ]
    return "\n\n".join(["## Data", *filter(None, lines)])


def _sizes(of: Mapping[str, Any]) -> str:
    there = [(name, of[name]) for name in ("texts", "sentences", "tokens") if name in of]
    return ", ".join(f"{count:,} {name if count != 1 else name[:-1]}" for name, count in there)


def _training(made: Checkpoint) -> str:
    run, dev, config = made.metrics["training"], made.metrics["dev"], made.config
    begun = f"Fine-tuned from `{run['init']}`. " if run.get("init") else ""
    if "init" in run and not begun:
        begun = "Trained from scratch: all weights were drawn anew. "
    blanks = ""
    if not config.classes:
        whole = ", whole words" if run["whole_words"] else ""
        blanks = f" {run['masked']:.0%} of the tokens are to be told{whole}, others in every epoch."
    return (
        f"## Training\n\n{begun}{run['steps']:,} steps, {run['minutes']:,} minutes. Adam (0.9, 0.98, 1e-9), linear warm-up "
        f"({run['warmup']:,} steps to {run['learning_rate']:g}), then {FALLS[run['schedule']]}; batches of at most "
        f"{run['batch_tokens']:,} tokens, {run['epochs']} epochs; label smoothing {run['label_smoothing']:g}; weight decay "
        f"{run['weight_decay']:g}; dropout {config.dropout:g} on embeddings and sub-layer outputs, "
        f"{config.attention_dropout:g} on attention; gradient norm clipped at {run['clip']:g}; seed {run['seed']}.{blanks} "
        f"{kept(made.metrics)}; dev loss decides. "
        f"Kept: step {dev['step']:,}, dev loss {dev['dev_loss']:.3f} nats."
    )


def _curve(made: Checkpoint) -> str:
    """The validations, some of them spread over the run; what is kept is marked."""
    found, best = made.metrics["validations"], made.metrics["dev"]["step"]
    names = [name for name in MEASURED if name in found[-1]]
    rows = [
        f"| {entry['step']:,}{' (kept)' * (entry['step'] == best)} | "
        + " | ".join(MEASURED[name][1].format(entry[name]) if name in entry else "" for name in names)
        + " |"
        for entry in _spread(found, best)
    ]
    heads = " | ".join(MEASURED[name][0] for name in names)
    return "\n".join(["## Validations\n", f"| step | {heads} |", "|---" * (len(names) + 1) + "|", *rows])


def _spread(found: Sequence[Mapping[str, Any]], best: int) -> list[Mapping[str, Any]]:
    """The first, the last, the one that is kept, and as many between them as fit."""
    last = len(found) - 1
    chosen = {round(n * last / max(1, CURVE - 1)) for n in range(CURVE)}
    chosen |= {n for n, entry in enumerate(found) if entry["step"] == best}
    return [found[n] for n in sorted(chosen)]


def _limits(made: Checkpoint) -> str:
    lines = ["It knows the texts of its training and little else; what it says is no knowledge of the world."]
    if not made.config.classes:
        lines.append("All blanks of a text are predicted at once: none knows what another is filled with.")
        lines.append("A blank is one token: a word that the vocabulary cuts into pieces is never told whole.")
    lines.append(f"It reads at most {MAX_TOKENS} tokens.")
    return "## Limits\n\n" + "\n".join(f"- {line}" for line in lines)


def scores(found: Mapping[str, Any]) -> str:
    """What `evaluate` measured of each thing, as tables: the model, and a baseline where it was asked for."""
    told = []
    for name, (title, rival, what) in RIVALS.items():
        if name in found:
            told.append(_measured(f"### {title}", found[name], rival, what, _told(name, found[name])))
    return "\n\n".join(told)


def _told(name: str, found: Mapping[str, Any]) -> str:
    """What was asked, in a sentence."""
    if name == "words":
        return (
            f"{found['blanks']:,} blanks, each a whole word that is one token, told from all the rest of its sentence; the "
            f"choice is among all {found['choices'][0]:,} tokens of a space and letters (for a word without a space before "
            f"it, all {found['choices'][1]:,} of letters alone)."
        )
    if name == "follows":
        chance = f"Chance: 50%, {math.log(2):.3f} nats."
        pairs = f"{found['pairs']:,} pairs of one book each, about half of which follow one another"
        return f"{pairs}; the intervals take the pairs as independent. {chance}"
    cut = f" {found['cut']:,} are cut off as too long." if found["cut"] else ""
    return f"{found['texts']:,} texts with {len(found['classes'])} labels.{cut}"


def _measured(title: str, found: Mapping[str, Any], rival: str, what: str, told: str) -> str:
    lines = ["| | right | 95% | log-loss, nats | 95% |", "|---|---|---|---|---|", _row("the model", found)]
    if rival in found:
        lines.append(_row(what, found[rival]))
    parts = [title, f"{told} 95% intervals: {found['resamples']:,} bootstrap samples.", "\n".join(lines)]
    return "\n\n".join([*parts, *([_better(found["gain"])] if "gain" in found else [])])


def _row(name: str, row: Mapping[str, Any]) -> str:
    right, cost = ends(row["accuracy_interval"], ".1%"), ends(row["log_loss_interval"], ".3f")
    return f"| {name} | {row['accuracy']:.1%} | {right} | {row['log_loss']:.3f} | {cost} |"


def _better(gain: Mapping[str, Any]) -> str:
    """By how much the model is better or worse than the baseline, on the same examples; and where that is not clear."""
    points, nats = 100 * gain["accuracy"], gain["log_loss"]
    if not (gain["accuracy_interval"] and gain["log_loss_interval"]):
        return f"Against the baseline: accuracy {points:+.1f} points, log-loss {-nats:+.3f} nats, of one sentence alone."
    (low, high), (least, most) = (100 * end for end in gain["accuracy_interval"]), gain["log_loss_interval"]
    right = f"{abs(points):.1f} points {'more' if points >= 0 else 'fewer'} are right ({low:+.1f} to {high:+.1f})"
    cost = f"the log-loss is {abs(nats):.3f} nats {'lower' if nats >= 0 else 'higher'} ({least:+.3f} to {most:+.3f} saved)"
    open_ = [what for what, ends in (("accuracy", (low, high)), ("log-loss", (least, most))) if ends[0] <= 0 <= ends[1]]
    unclear = f" The interval of the {' and of the '.join(open_)} holds 0: no difference was shown." if open_ else ""
    return f"Against the baseline, in the same samples: {right}; {cost}.{unclear}"


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Puts the scores into a model card, in place of those that were there; errors as `model.evaluation.card.put`."""
    put(path, HEADING, f"Counted by `python -m model evaluate`.\n\n{scores(found)}")
