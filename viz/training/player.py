"""The slider over a training: all recorded steps of one sentence, which the browser walks through by itself."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from model.trace import SITE_KINDS
from model.training.recording import Recording, Sentence
from viz import theme
from viz.keep import cached_figure
from viz.shared import mount
from viz.training import histories

PARTS = ("said", "maps", "all")
WORDS = {  # how what a model makes of a sentence is told, by what it does
    "translate": ("Reads", "Translates, at this step", "Counts as right", "How likely it finds each right token"),
    "lm": ("", "Goes on, at this step", "The whole text", "How likely it finds each token"),
    "mlm": ("Reads", "Fills in, at this step", "Stands there", "How likely it finds what stands there"),
    "classify": ("Reads", "Says, at this step", "", "How likely it finds each label"),
}
COMPONENT = mount.Component(__file__, '<div class="player"></div>', picture="A sentence along the training")


def does(sentence: Sentence) -> str:
    """What the model of a sentence does, a key of `WORDS`."""
    if sentence.labels:
        return "classify"
    if not sentence.source:
        return "lm"
    return "mlm" if len(sentence.source) == len(sentence.target) and _blanked(sentence) else "translate"


def _blanked(sentence: Sentence) -> bool:
    """Whether source and target are the same but for blanks."""
    return "___" in sentence.source_text


def told(recording: Recording, number: int) -> tuple[tuple[str, ...], np.ndarray]:
    """The tokens, or labels, whose probabilities tell how well a sentence is known, and these at each step: [N,T]."""
    sentence = recording.sentences[number]
    found = np.exp(recording.log_probs(number))
    if sentence.labels:
        return sentence.labels, found
    kept = list(range(len(sentence.target)))
    if does(sentence) == "mlm":
        kept = [n for n in kept if sentence.source[n] != sentence.target[n]]
    return tuple(sentence.target_tokens[n] for n in kept), found[:, kept]


def labels_of(sentence: Sentence, kind: str) -> tuple[list[str], list[str]]:
    """What stands beside the rows and above the columns of a map: of a decoder `input → what it predicts`."""
    inputs = ["<s>", *sentence.target_tokens[:-1]]
    steps = [f"{read} → {written}" for read, written in zip(inputs, sentence.target_tokens, strict=False)]
    of, source = SITE_KINDS[kind], list(sentence.source_tokens)
    return (source if of.queries == "source" else steps), (source if of.keys == "source" else inputs)


@cached_figure
def payload(name: str, stamp: histories.Stamp, number: int, mode: theme.Mode) -> dict[str, Any]:
    """All recorded steps of a sentence (from 0), as JSON values: maps as bytes, each step what it differs by."""
    recording = histories.recording_of(name)
    sentence = recording.sentences[number]
    tokens, probabilities = told(recording, number)
    reads, makes, right, chips = WORDS[does(sentence)]
    written = ["".join(c if c.isprintable() else "\ufffd" for c in texts[number]) for texts in recording.written]
    losses = -np.log(np.maximum(probabilities, 1e-30)).mean(axis=1)
    return {
        "id": f"{name} {number} {stamp}",
        "steps": list(recording.steps),
        "sentence": {"source": sentence.source_text, "target": sentence.target_text, "tokens": list(tokens)},
        "written": written if any(written) else None,
        "probabilities": np.round(probabilities.astype(float), 4).tolist(),
        "losses": [None if sentence.labels else round(float(loss), 4) for loss in losses],
        "task": {"reads": reads, "makes": makes, "right_is": right, "chips": chips},
        "grids": [_grid(recording, sentence, number, kind, mode) for kind in recording.kinds],
    }


def _grid(recording: Recording, sentence: Sentence, number: int, kind: str, mode: theme.Mode) -> dict[str, Any]:
    levels = recording.arrays[f"{kind}/{number}"]  # [N,L,H,T,S]
    steps, layers, heads, *shape = levels.shape
    differences = np.concatenate((levels[:1], levels[1:] - levels[:-1]))
    queries, keys = labels_of(sentence, kind)
    return {
        "kind": kind,
        "name": theme.SITE_NAMES[kind],
        "steps": steps,
        "layers": layers,
        "heads": heads,
        "shape": shape,
        "bytes": base64.b64encode(zlib.compress(differences.tobytes(), 6)).decode(),
        "queries": queries,
        "keys": keys,
        "scale": list(theme.scale(kind, mode)),
    }


def mounted(
    data: dict[str, Any],
    at: int,
    chosen: tuple[int, int | None],
    shows: tuple[str, ...],
    on_step: Callable[[int], None],
    on_head: Callable[[str, int, int], None],
    large: bool = False,
) -> None:
    """Mounts it at a place among the recorded steps, with layer and head (from 1; None: the mean) and the `PARTS` that are
    shown. Before the next run `on_step` is called with the place at which it came to rest, `on_head` with the kind of
    attention, the layer and the head that are clicked."""
    grids = data["grids"]
    most = [max(grid[of] for grid in grids) for of in ("layers", "heads")]
    place = mount.fields(
        kind=mount.one_of([grid["kind"] for grid in grids]), layer=mount.whole(1, most[0]), head=mount.whole(1, most[1])
    )
    events = {"step": (mount.whole(0, len(data["steps"]) - 1), on_step), "head": (place, on_head)}
    beside = {"at": at, "chosen": {"layer": chosen[0], "head": chosen[1]}, "shows": list(shows), "large": large}
    COMPONENT.mount("player", data, events, default={"step": at}, beside=beside)
