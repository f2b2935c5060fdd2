"""Model card of an encoder that fills in blanks or gives labels. `evaluate --record` adds its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...checkpoint import Checkpoint
from ...config import MAX_TOKENS, ModelConfig
from ...io.package_names import COMMAND
from . import model_card
from .model_card import put
from .text_card import HEADING, format_interval

BASELINES = {  # measured task: heading, key of the baseline, its description
    "words": (
        "Single words in a blank",
        "neighbours",
        "counts of words between the same neighbours, up to two on each side",
    ),
    "follows": ("Does the second sentence follow?", "overlap", "the words that both sentences share"),
    "labels": ("Labels", "bag_of_words", "a bag of words, without their order"),
}


def card(checkpoint: Checkpoint) -> str:
    """Returns the full card after a training."""
    return model_card.join_sections(
        checkpoint,
        _purpose(checkpoint),
        model_card.architecture(
            checkpoint, "Transformer encoder", f"{checkpoint.config.encoder_layers} layers", _heads(checkpoint.config)
        ),
        model_card.data_section(checkpoint.metrics, _sizes),
        model_card.training_section(checkpoint, _blanks(checkpoint)),
        model_card.validations_section(checkpoint.metrics),
        _limits(checkpoint),
    )


def _purpose(checkpoint: Checkpoint) -> str:
    if checkpoint.config.classes:
        does = f"gives a text one of {len(checkpoint.config.classes)} labels ({', '.join(checkpoint.config.classes)})"
    else:
        does = "fills in blanks"
        if checkpoint.config.follows:
            does += " and predicts if one sentence follows another"
    return f"A small encoder that {does}. It is made for study, token by token and layer by layer."


def _heads(config: ModelConfig) -> str:
    pooled = {"first": "the first token's state", "mean": "the mean of all states"}[config.pooling]
    heads = []
    if config.pooler:
        heads.append(f"a pooler of {pooled}")
    if config.follows:
        heads.append("a head for two sentences")
    if config.classes:
        heads.append(f"a head for {len(config.classes)} labels")
    return "".join(f", {head}" for head in heads)


def _sizes(of: Mapping[str, Any]) -> str:
    there = [(name, of[name]) for name in ("texts", "sentences", "tokens") if name in of]
    return ", ".join(f"{count:,} {name if count != 1 else name[:-1]}" for name, count in there)


def _blanks(checkpoint: Checkpoint) -> str:
    if checkpoint.config.classes:
        return ""
    run = checkpoint.metrics["training"]
    whole_words = ", whole words" if run["whole_words"] else ""
    return f" {run['masked']:.0%} of the tokens are masked{whole_words}, different ones in each epoch."


def _limits(checkpoint: Checkpoint) -> str:
    lines = ["It knows little beyond its training texts. Do not rely on its output as facts."]
    if not checkpoint.config.classes:
        lines.append("All blanks of a text are predicted at once, independently of one another.")
        lines.append("A blank is one token. It cannot hold a word of several tokens.")
    lines.append(f"It reads at most {MAX_TOKENS} tokens.")
    return "## Limits\n\n" + "\n".join(f"- {line}" for line in lines)


def scores(results: Mapping[str, Any]) -> str:
    """Returns tables of the results of `evaluate`: the model, and a baseline where there is one."""
    parts = []
    for name, (title, rival, what) in BASELINES.items():
        if name in results:
            parts.append(_section(f"### {title}", results[name], rival, what, _task_summary(name, results[name])))
    return "\n\n".join(parts)


def _task_summary(name: str, result: Mapping[str, Any]) -> str:
    """Describes the examples of a task in a sentence."""
    if name == "words":
        return (
            f"{result['blanks']:,} blanks, each a whole word of one token, predicted from the rest of its sentence. The "
            f"candidates are all {result['choices'][0]:,} tokens of a space and letters (for a word without a space before "
            f"it, all {result['choices'][1]:,} of letters alone)."
        )
    if name == "follows":
        chance = f"Chance: 50%, {math.log(2):.3f} nats."
        pairs = f"{result['pairs']:,} pairs of one book each, about half of which follow each other"
        return f"{pairs}; the intervals treat pairs as independent. {chance}"
    cut = f" {result['cut']:,} are cut off as too long." if result["cut"] else ""
    return f"{result['texts']:,} texts with {len(result['classes'])} labels.{cut}"


def _section(title: str, result: Mapping[str, Any], rival: str, what: str, summary: str) -> str:
    lines = ["| | right | 95% | log-loss, nats | 95% |", "|---|---|---|---|---|", _row("the model", result)]
    if rival in result:
        lines.append(_row(what, result[rival]))
    parts = [title, f"{summary} 95% intervals: {result['resamples']:,} bootstrap samples.", "\n".join(lines)]
    return "\n\n".join([*parts, *([_gain_text(result["gain"])] if "gain" in result else [])])


def _row(name: str, row: Mapping[str, Any]) -> str:
    right, cost = format_interval(row["accuracy_interval"], ".1%"), format_interval(row["log_loss_interval"], ".3f")
    return f"| {name} | {row['accuracy']:.1%} | {right} | {row['log_loss']:.3f} | {cost} |"


def _gain_text(gain: Mapping[str, Any]) -> str:
    """Compares the model with the baseline on the same examples, and names the unclear differences."""
    points, nats = 100 * gain["accuracy"], gain["log_loss"]
    if not (gain["accuracy_interval"] and gain["log_loss_interval"]):
        return f"Against the baseline: accuracy {points:+.1f} points, log-loss {-nats:+.3f} nats (one sentence)."
    (low, high), (below, above) = (100 * end for end in gain["accuracy_interval"]), gain["log_loss_interval"]
    right = f"{abs(points):.1f} points {'more' if points >= 0 else 'fewer'} are right ({low:+.1f} to {high:+.1f})"
    cost = f"the log-loss is {abs(nats):.3f} nats {'lower' if nats >= 0 else 'higher'} ({below:+.3f} to {above:+.3f} saved)"
    open_ = [what for what, ends in (("accuracy", (low, high)), ("log-loss", (below, above))) if ends[0] <= 0 <= ends[1]]
    unclear = f" The interval of the {' and of the '.join(open_)} contains 0: no clear difference." if open_ else ""
    return f"Against the baseline, in the same samples: {right}; {cost}.{unclear}"


def write(path: Path, results: Mapping[str, Any]) -> None:
    """Replaces the scores of a model card. Raises the errors of `model_card.put`."""
    put(path, HEADING, f"Counted by `{COMMAND} evaluate`.\n\n{scores(results)}")
