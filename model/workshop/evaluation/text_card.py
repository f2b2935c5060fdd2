"""Model card of a language model. `evaluate --record` adds its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...checkpoint import Checkpoint
from ...config import MAX_TOKENS
from ...io.package_names import COMMAND
from . import model_card
from .model_card import put

HEADING = "## Scores"


def card(checkpoint: Checkpoint) -> str:
    """Returns the full card after a training."""
    bits = checkpoint.metrics["dev"]["bits_per_character"]
    layers = f"{checkpoint.config.decoder_layers} layers"
    return model_card.join_sections(
        checkpoint,
        _purpose(),
        model_card.architecture(checkpoint, "Transformer decoder without cross-attention", layers),
        f"A text begins with `<s>`, a paragraph ends with `</s>`, and a window has {MAX_TOKENS} tokens. In training a "
        "window begins anywhere.",
        model_card.data_section(checkpoint.metrics, _sizes),
        model_card.training_section(
            checkpoint, reached=f" a token, {bits:.3f} bits a character in windows that do not overlap"
        ),
        model_card.validations_section(checkpoint.metrics),
        _limits(),
    )


def _purpose() -> str:
    return (
        "A small decoder-only model that continues a text. It is made for study, token by token and layer by layer, and not "
        "for writing."
    )


def _sizes(of: Mapping[str, Any]) -> str:
    texts = "" if "texts" not in of else ", 1 text" if of["texts"] == 1 else f", {of['texts']} texts"
    return f"{of['tokens']:,} tokens ({of['characters']:,} characters, {of['paragraphs']:,} paragraphs{texts})"


def _limits() -> str:
    return (
        f"## Limits\n\n- It knows little beyond its training texts. Do not rely on its output as facts.\n"
        f"- It sees at most {MAX_TOKENS} tokens, and nothing before them."
    )


def format_interval(interval: Sequence[float] | None, form: str) -> str:
    """Formats an interval; there is none for a single unit."""
    return "no interval (one value)" if interval is None else " to ".join(format(end, form) for end in interval)


def scores(results: dict[str, Any]) -> str:
    """Returns the results of `evaluate` as a table: the model, and n-grams where they were counted."""
    parts = [
        f"{results['characters']:,} characters in {results['paragraphs']:,} paragraphs, "
        f"{results['tokens']:,} tokens. Every token "
        f"is predicted once, with at least {results['context']} tokens before it, except at the beginning of the text. The "
        f"end of a paragraph counts as a character, which `</s>` predicts. "
        f"95% intervals: {results['resamples']:,} bootstrap samples of paragraphs.",
        "| | bits a character | 95% |\n|---|---|---|",
    ]
    parts[1] += f"\n| the model | {results['bits_per_character']:.3f} | {format_interval(results['interval'], '.3f')} |"
    for name, row in _baselines(results):
        bits = f"{row['bits_per_character']:.3f} | {format_interval(row['interval'], '.3f')}"
        parts[1] += f"\n| {row['order']}-grams of {name} | {bits} |"
    if "ngrams" in results:
        gain = results["ngrams"]["gain"]
        sign, word = (1, "less") if gain["bits_per_character"] >= 0 else (-1, "more")
        between = format_interval(gain["interval"] and sorted(sign * end for end in gain["interval"]), ".3f")
        parts.append(
            "The n-grams have modified Kneser-Ney smoothing, interpolated (Chen and Goodman 1999); dev chose their orders. "
            f"The model needs {sign * gain['bits_per_character']:.3f} bits a character {word} than the better of them "
            f"({between})."
        )
    return "\n\n".join([*parts, *_continuation_table(results)])


def _continuation_table(results: dict[str, Any]) -> list[str]:
    """Returns the table of repetition in continuations, where it was measured."""
    if "continuations" not in results:
        return []
    run = results["continuations"]
    share, loops, ended = run["repeated"], run["loops"], run["ended"]
    return [
        f"The model continued the first {run['given']} tokens of {run['beginnings']:,} paragraphs, by {run['added']} tokens "
        f"or until it ended. The first column is the share of runs of {run['size']} tokens that occurred before "
        f"(seq-rep-{run['size']} of Welleck et al. 2020). The second is the share of continuations that repeat at least "
        f"half of their runs.",
        "| | repeated runs | loops | ended before the limit |\n|---|---|---|---|"
        f"\n| greedy | {share['greedy']:.1%} | {loops['greedy']:.1%} | {ended['greedy']:.1%} |"
        f"\n| sampling, temperature 0.8, top-p 0.9 | {share['drawn']:.1%} | {loops['drawn']:.1%} | {ended['drawn']:.1%} |"
        f"\n| the text itself | {share['text']:.1%} | {loops['text']:.1%} | |",
    ]


def _baselines(results: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, results["ngrams"][name]) for name in ("bytes", "tokens")] if "ngrams" in results else []


def write(path: Path, results: dict[str, Any]) -> None:
    """Replaces the scores of a model card. Raises the errors of `model_card.put`."""
    put(path, HEADING, f"Counted by `{COMMAND} evaluate`.\n\n{scores(results)}")
