"""The model card of a language model, written from what is known of it; its scores are put in by `evaluate --record`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from model.checkpoint import Checkpoint
from model.config import MAX_TOKENS
from model.evaluation.card import put

HEADING = "## Scores"
FALLS = {"cosine": "cosine to zero", "noam": "the inverse root of the step"}
ROWS = 10  # of the curve
NORMS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}


def card(made: Checkpoint) -> str:
    """The whole card, as a training leaves it."""
    return "\n\n".join((f"# {made.name}", _purpose(), _parts(made), _data(made.metrics), _training(made), _limits()))


def _purpose() -> str:
    return (
        "A small decoder-only model that goes on with a text, made to be looked at: token by token, layer by layer. "
        "It is no product for writing."
    )


def _parts(made: Checkpoint) -> str:
    config = made.config
    output = (
        "whose embedding is also the output projection" if config.tied_output else "with an output projection of its own"
    )
    order = "Pre-norm" if config.norm_first else "Post-norm"
    return (
        f"## What it is\n\n{order} Transformer decoder without cross-attention: {config.decoder_layers} layers, "
        f"{config.heads} heads, d_model {config.d_model}, d_ff {config.d_ff}, {config.activation}, {NORMS[config.norm]}, "
        f"{config.positions} positions, a byte-level BPE vocabulary of {config.target_vocab:,} tokens {output}. "
        f"{made.model.parameter_count:,} parameters, stored as float16 and computed in float32.\n\nA text begins with "
        f"`<s>`, a paragraph ends with `</s>`, and a window has {MAX_TOKENS} tokens. In training a window begins anywhere."
    )


def _data(metrics: dict[str, Any]) -> str:
    training, dev = metrics["training"], metrics["dev"]
    texts = "1 text" if training["texts"] == 1 else f"{training['texts']} texts"
    lines = [
        "## Data",
        f"Trained on {training['tokens']:,} tokens ({training['characters']:,} characters, {training['paragraphs']:,} "
        f"paragraphs, {texts}); chosen by {dev['tokens']:,} tokens ({dev['characters']:,} characters, {dev['paragraphs']:,} "
        f"paragraphs) of text {held_out(training, 'is')}.",
        "\n".join(f"- SHA-256 of `{name}`: `{digest}`" for name, digest in training["data_sha256"].items()),
    ]
    return "\n\n".join(lines)


def held_out(run: Mapping[str, Any], verb: str) -> str:
    """A clause about the files that chose the weights: whether they were learned from too, by their SHA-256."""
    digests = run["data_sha256"]
    learned = {digest for name, digest in digests.items() if name.split()[0] == "train"}
    chosen = [digest in learned for name, digest in digests.items() if name.split()[0] == "dev"]
    if not any(chosen):
        return f"that {verb} held out"
    return f"which {verb} also trained on" if all(chosen) else "part of which is also trained on"


def kept(metrics: Mapping[str, Any]) -> str:
    """Of which weights the kept ones are the mean: there may have been fewer validations than are averaged."""
    until = [entry for entry in metrics.get("validations", ()) if entry["step"] <= metrics["dev"]["step"]]
    count = min(metrics["training"]["average"], len(until) or metrics["training"]["average"])
    if count == 1:
        return "What is kept are the weights as they were at one validation"
    return f"What is kept is the mean of the weights at {count} validations in a row"


def _training(made: Checkpoint) -> str:
    run, dev, config = made.metrics["training"], made.metrics["dev"], made.config
    told = (
        f"## Training\n\n{run['steps']:,} steps, {run['minutes']:,} minutes. Adam (0.9, 0.98, 1e-9), linear warm-up "
        f"({run['warmup']:,} steps to {run['learning_rate']:g}), then {FALLS[run['schedule']]}; batches of at most "
        f"{run['batch_tokens']:,} tokens, {run['epochs']} epochs; label smoothing {run['label_smoothing']:g}; dropout "
        f"{config.dropout:g} on embeddings and sub-layer outputs, {config.attention_dropout:g} on attention; gradient norm "
        f"clipped at {run['clip']:g}. {kept(made.metrics)}; dev loss decides. Kept: step {dev['step']:,}, "
        f"dev loss {dev['dev_loss']:.3f} nats a token, "
        f"{dev['bits_per_character']:.3f} bits a character in windows that do not overlap."
    )
    return "\n\n".join(filter(None, (told, _curve(made.metrics.get("validations", ())))))


def _curve(validations: Sequence[dict[str, Any]]) -> str:
    """How the dev loss fell, as a table of at most `ROWS` validations, the first and the last among them."""
    if len(validations) < 2:
        return ""
    last = len(validations) - 1
    places = sorted({round(n * last / (ROWS - 1)) for n in range(ROWS)})
    rows = "".join(
        f"\n| {each['step']:,} | {each['dev_loss']:.3f} | {each['bits_per_character']:.3f} |"
        for each in (validations[n] for n in places)
    )
    return f"| step | dev loss, nats a token | bits a character |\n|---|---|---|{rows}"


def _limits() -> str:
    return (
        f"## Limits\n\n- It knows the texts of its training and little else; what it writes is no knowledge of the world.\n"
        f"- It sees at most {MAX_TOKENS} tokens; what stands before them is forgotten."
    )


def ends(interval: Sequence[float] | None, form: str) -> str:
    """An interval in words; there is none where one unit alone was measured."""
    return "no interval: one alone" if interval is None else " to ".join(format(end, form) for end in interval)


def scores(found: dict[str, Any]) -> str:
    """What `evaluate` measured, as a table: the model, and counting where it was asked for."""
    told = [
        f"{found['characters']:,} characters in {found['paragraphs']:,} paragraphs, {found['tokens']:,} tokens. Every token "
        f"is predicted once, with {found['context']} tokens or more before it but at the text's beginning; the end of a "
        f"paragraph is a character, and `</s>` what tells it. 95% intervals: {found['resamples']:,} bootstrap samples of "
        "paragraphs.",
        "| | bits a character | 95% |\n|---|---|---|",
    ]
    told[1] += f"\n| the model | {found['bits_per_character']:.3f} | {ends(found['interval'], '.3f')} |"
    for name, row in _counted(found):
        bits = f"{row['bits_per_character']:.3f} | {ends(row['interval'], '.3f')}"
        told[1] += f"\n| {row['order']}-grams of {name} | {bits} |"
    if "ngrams" in found:
        gain = found["ngrams"]["gain"]
        sign, word = (1, "less") if gain["bits_per_character"] >= 0 else (-1, "more")
        between = ends(gain["interval"] and sorted(sign * end for end in gain["interval"]), ".3f")
        told.append(
            "The n-grams have modified Kneser-Ney smoothing, interpolated (Chen and Goodman 1999); dev chose their orders. "
            f"The model needs {sign * gain['bits_per_character']:.3f} bits a character {word} than the better of them "
            f"({between})."
        )
    return "\n\n".join([*told, *_continued(found)])


def _continued(found: dict[str, Any]) -> list[str]:
    """How its continuations fail, where that was measured."""
    if "continuations" not in found:
        return []
    run = found["continuations"]
    share, loops, ended = run["repeated"], run["loops"], run["ended"]
    return [
        f"Gone on with from the first {run['given']} tokens of {run['beginnings']:,} paragraphs, by {run['added']} tokens "
        f"or to an end: of the runs of {run['size']} tokens so many had stood before (seq-rep-{run['size']} of Welleck et "
        f"al. 2020), and so many continuations repeat half of theirs or more.",
        "| | runs that repeat | go in circles | ended by itself |\n|---|---|---|---|"
        f"\n| greedy | {share['greedy']:.1%} | {loops['greedy']:.1%} | {ended['greedy']:.1%} |"
        f"\n| drawn, temperature 0.8, top-p 0.9 | {share['drawn']:.1%} | {loops['drawn']:.1%} | {ended['drawn']:.1%} |"
        f"\n| the text itself | {share['text']:.1%} | {loops['text']:.1%} | |",
    ]


def _counted(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, found["ngrams"][name]) for name in ("bytes", "tokens")] if "ngrams" in found else []


def write(path: Path, found: dict[str, Any]) -> None:
    """Puts the scores into a model card, in place of those that were there; errors as `model.evaluation.card.put`."""
    put(path, HEADING, f"Counted by `python -m model evaluate`.\n\n{scores(found)}")
