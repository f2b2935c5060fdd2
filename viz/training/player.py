"""The slider over a training: all recorded steps of one sentence, which the browser gets once and walks by itself."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from model.trace import SITE_KINDS
from model.workshop.training.recording import ProbeSentence, Recording
from viz import theme
from viz.kit import mount
from viz.state.result_cache import cached_figure, to_json
from viz.training import histories

PARTS = ("said", "maps", "all")
WORDS = {  # how what a model makes of a sentence is told, by what it does
    "translate": ("Reads", "Translates, at this step", "Reference", "Probability of each reference token"),
    "lm": ("", "Goes on, at this step", "The whole text", "Probability of each token"),
    "mlm": ("Reads", "Fills in, at this step", "Hidden token", "Probability of the hidden token"),
    "classify": ("Reads", "Says, at this step", "", "Probability of each label"),
}
LEAST = 1e-4  # of a probability as it is sent: what is smaller is still no 0, and what is nearer to 1 no 1
TOGETHER = 8  # recorded steps: so many of a run that goes on are sent again at most when a new one comes
COMPONENT = mount.Component(__file__, '<div class="player"></div>', picture="A sentence along the training")
STORE = mount.Component(__file__, "<span hidden></span>", name="player_piece")
PLACE = mount.Component(__file__, "<span hidden></span>", name="player_place")


def does(sentence: ProbeSentence) -> str:
    """What the model of a sentence does, a key of `WORDS`."""
    if sentence.labels:
        return "classify"
    if not sentence.source:
        return "lm"
    return "mlm" if sentence.has_blanks else "translate"


def told(recording: Recording, number: int) -> tuple[tuple[str, ...], np.ndarray]:
    """The tokens, or labels, whose probabilities tell how well a sentence is known, and these at each step: [N,T]."""
    sentence = recording.sentences[number]
    found = np.exp(recording.log_probs(number))
    if sentence.labels:
        return sentence.labels, found
    return tuple(sentence.target_tokens[n] for n in sentence.scored_positions), found[:, list(sentence.scored_positions)]


def labels_of(sentence: ProbeSentence, kind: str) -> tuple[list[str], list[str]]:
    """What stands beside the rows and above the columns of a map: of a decoder `input → what it predicts`."""
    inputs = ["<s>", *sentence.target_tokens[:-1]]
    steps = [f"{read} → {written}" for read, written in zip(inputs, sentence.target_tokens, strict=False)]
    of, source = SITE_KINDS[kind], list(sentence.source_tokens)
    return (source if of.query_side == "source" else steps), (source if of.key_side == "source" else inputs)


@cached_figure
def payload(name: str, stamp: histories.Stamp, number: int, mode: theme.Mode, total: int | None = None) -> dict[str, Any]:
    """What the browser needs of a sentence (from 0) beside its recorded steps, as JSON values; `total` is the step at which
    the run ends, where it is known."""
    recording = histories.recording_of(name)
    sentence = recording.sentences[number]
    reads, makes, right, chips = WORDS[does(sentence)]
    return {
        "id": f"{name} {number}",
        "steps": list(recording.steps),
        "total": max(total or 0, recording.steps[-1]),
        "sentence": {
            "source": sentence.source_text,
            "target": sentence.target_text,
            "tokens": list(told(recording, number)[0]),
        },
        "task": {
            "reads": reads,
            "makes": makes,
            "right_is": right,
            "chips": chips,
            "each": "blank" if sentence.has_blanks else "token",
        },
        "grids": [_grid(recording, sentence, number, kind, mode) for kind in recording.kinds],
    }


def _grid(recording: Recording, sentence: ProbeSentence, number: int, kind: str, mode: theme.Mode) -> dict[str, Any]:
    _, layers, heads, *shape = recording.arrays[f"{kind}/{number}"].shape  # [N,L,H,T,S]
    queries, keys = labels_of(sentence, kind)
    return {
        "kind": kind,
        "name": theme.SITE_NAMES[kind],
        "layers": layers,
        "heads": heads,
        "shape": shape,
        "queries": queries,
        "keys": keys,
        "scale": list(theme.scale(kind, mode)),
    }


@cached_figure
def piece(name: str, stamp: histories.Stamp, number: int, first: int, end: int) -> dict[str, Any]:
    """The recorded steps of a sentence from the place `first` up to `end`, with an `id` of their content: maps as bytes,
    each step what it differs by from the one before, modulo 256. It is an element of its own, so that it is sent once: an
    unchanged element travels as a hash."""
    recording, there = histories.recording_of(name), slice(first, end)
    levels = [recording.arrays[f"{kind}/{number}"] for kind in recording.kinds]  # each [N,L,H,T,S]
    changes = [np.concatenate((each[:1], each[1:] - each[:-1]))[there] for each in levels]
    probabilities = told(recording, number)[1][there]
    losses = recording.losses()[there, number]
    is_judged = bool(recording.sentences[number].labels)
    texts = [_printed(each[number]) for each in recording.outputs[there]] if any(map(any, recording.outputs)) else []
    found = {
        "maps": [base64.b64encode(zlib.compress(each.tobytes(), 6)).decode() for each in changes],
        "written": texts,
        "probabilities": np.clip(np.round(probabilities.astype(float), 4), LEAST, 1 - LEAST).tolist(),
        "losses": [None if is_judged else round(float(loss), 4) for loss in losses],
    }
    return {"id": hashlib.blake2b(to_json(found).encode(), digest_size=12).hexdigest(), **found}


def _printed(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def parted(count: int, grows: bool) -> list[tuple[int, int]]:
    """Where the pieces of so many recorded steps begin and end: of a run that goes on the newest steps stand apart, so that
    those before them stay the piece that they are."""
    whole = count - count % TOGETHER if grows else count
    return [(first, end) for first, end in ((0, whole), (whole, count)) if end > first]


def mounted(
    data: dict[str, Any],
    pieces: Sequence[dict[str, Any]],
    at: int,
    chosen: tuple[int, int | None],
    shows: tuple[str, ...],
    on_step: Callable[[int], None],
    on_head: Callable[[str, int, int], None],
    large: bool = False,
) -> None:
    """Mounts it, and the pieces of its steps, at a place among the recorded steps, with layer and head (None: the
    mean) and the `PARTS` that are shown. Before the next run `on_step` is called with the place at which it came to rest,
    `on_head` with the kind of attention, the layer and the head that are clicked."""
    grids = data["grids"]
    most = [max(grid[of] for grid in grids) for of in ("layers", "heads")]
    cell = mount.fields(
        kind=mount.one_of([grid["kind"] for grid in grids]), layer=mount.from_one(most[0]), head=mount.from_one(most[1])
    )
    layer, head = chosen
    events = {"step": (mount.integer(0, len(data["steps"]) - 1), on_step), "head": (cell, on_head)}
    ids = [each["id"] for each in pieces]
    for number, each in enumerate(pieces):
        STORE.mount(f"player piece {number}", each, height=1)
    PLACE.mount(
        "player place",
        {"of": ",".join(ids), "at": at, "chosen": {"layer": layer + 1, "head": None if head is None else head + 1}},
        height=1,
    )
    COMPONENT.mount("player", data, events, overrides={"pieces": ids, "shows": list(shows), "large": large})
