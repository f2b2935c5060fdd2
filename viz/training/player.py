"""The player: one sentence at all recorded steps of a training. The browser gets the steps once."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from model.export.csv_tables import Table
from model.io import numbers
from model.trace import SITE_KINDS
from model.workshop.training.recording import ProbeSentence, Recording
from viz import theme
from viz.classroom import lecture
from viz.kit import mount, site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached_figure, to_json
from viz.state.view import View
from viz.training import histories
from viz.training.histories import OpenHistory

PARTS = ("said", "maps", "all")
WORDS = {  # texts about a sentence, by the task of its model
    "translate": ("Reads", "Writes", "Reference", "Probability"),
    "lm": ("", "Goes on", "The whole text", "Probability"),
    "mlm": ("Reads", "Fills in", "Hidden token", "Probability"),
    "classify": ("Reads", "Says", "", "Probability"),
}
RIGHT = {"translate": "written like the reference", "lm": "written as it is", "mlm": "filled in right"}  # of WORDS
LEAST = 1e-4  # smaller probabilities are rounded to it, so that none is 0 or 1
TOGETHER = 8  # recorded steps of a running training that are sent again for a new one, at most


def task_of(sentence: ProbeSentence) -> str:
    """Returns the task of the model of a sentence, a key of `WORDS`."""
    if sentence.labels:
        return "classify"
    if not sentence.source:
        return "lm"
    return "mlm" if sentence.has_blanks else "translate"


def target_probabilities(recording: Recording, number: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Returns the tokens, or labels, that the model should predict, and their probability at each step: [N,T]."""
    sentence = recording.sentences[number]
    probabilities = np.exp(recording.log_probs(number))
    if sentence.labels:
        return sentence.labels, probabilities
    places = list(sentence.scored_positions)
    return tuple(sentence.target_tokens[n] for n in places), probabilities[:, places]


def labels_of(sentence: ProbeSentence, kind: str) -> tuple[list[str], list[str]]:
    """Returns the labels of the rows and columns of a map; in a decoder `input → predicted token`."""
    inputs = ["<s>", *sentence.target_tokens[:-1]]
    steps = [f"{read} → {written}" for read, written in zip(inputs, sentence.target_tokens, strict=False)]
    of, source = SITE_KINDS[kind], list(sentence.source_tokens)
    return (source if of.query_side == "source" else steps), (source if of.key_side == "source" else inputs)


def answer(recording: Recording, number: int) -> str:
    """Returns one sentence with the step at which a sentence was first right, if it was, and how far training came."""
    sentence, steps = recording.sentences[number], recording.steps
    first, last = f"at training step {steps[0]:,}", f"at training step {steps[-1]:,}"
    if sentence.labels:
        labels, probabilities = target_probabilities(recording, number)
        best = int(probabilities[-1].argmax())
        before, after = (numbers.probability(float(row[best])) for row in (probabilities[0], probabilities[-1]))
        return f"Probability of “{labels[best]}”: {before} {first}, {after} {last}."
    losses, nats, unit = recording.losses()[:, number], numbers.three_digits, "blank" if sentence.has_blanks else "token"
    same = [n for n, texts in enumerate(recording.outputs) if texts[number] and texts[number] == sentence.target_text]
    if same:
        word, at = RIGHT[task_of(sentence)], f"at training step {steps[same[0]]:,}"
        return f"First {word} {at}: loss {nats(losses[same[0]])} nats a {unit} then, {nats(losses[-1])} nats {last}."
    return f"Loss of this text: {nats(losses[0])} nats a {unit} {first}, {nats(losses[-1])} nats {last}."


# -- data for the browser ----------------------------------------------------------------------------------------------


@partial(cached_figure, ignore=("recording",))
def _sentence(
    key: tuple[Hashable, ...], number: int, mode: theme.Mode, total: int | None, is_running: bool, recording: Recording
) -> dict[str, Any]:
    """Returns a sentence (from 0) and its newest steps. `total` is the last step of the run, if it is known."""
    sentence, count = recording.sentences[number], len(recording.steps)
    reads, makes, right, chips = WORDS[task_of(sentence)]
    return {
        "id": f"{key[0]} {number}",
        "steps": list(recording.steps),
        "total": max(total or 0, recording.steps[-1]),
        "sentence": {
            "source": sentence.source_text,
            "target": sentence.target_text,
            "tokens": list(target_probabilities(recording, number)[0]),
        },
        "task": {
            "reads": reads,
            "makes": makes,
            "right_is": right,
            "chips": chips,
            "each": "blank" if sentence.has_blanks else "token",
        },
        "answer": answer(recording, number),
        "grids": [_grid(recording, sentence, number, kind, mode) for kind in recording.kinds],
        "recent": _piece(key, number, _earlier(count, is_running), count, recording),
        "shows": PARTS,
        "large": False,
        "step": None,  # no row of the thumbnails is outlined
        "together": True,  # one head is chosen in all kinds of attention
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
        "allowed": "1" * (shape[0] * shape[1]),
        "places": [[layer + 1, head + 1] for layer in range(layers) for head in range(heads)],
        "scale": list(theme.scale(kind, mode)),
    }


def _earlier(count: int, is_running: bool) -> int:
    """Returns the number of steps in the first piece, which a new step of a running training does not change."""
    return count - count % TOGETHER if is_running else count


@partial(cached_figure, ignore=("recording",))
def _piece(key: tuple[Hashable, ...], number: int, first: int, end: int, recording: Recording) -> dict[str, Any]:
    """Returns the recorded steps of a sentence from `first` up to `end`, with an `id` of their content. Maps are bytes: each
    step is its difference from the one before, modulo 256."""
    there = slice(first, end)
    levels = [recording.arrays[f"{kind}/{number}"] for kind in recording.kinds]  # each [N,L,H,T,S]
    changes = [np.concatenate((each[:1], each[1:] - each[:-1]))[there] for each in levels]
    probabilities = target_probabilities(recording, number)[1][there]
    losses = recording.losses()[there, number]
    is_judged = bool(recording.sentences[number].labels)
    texts = [_printed(each[number]) for each in recording.outputs[there]] if any(map(any, recording.outputs)) else []
    values = {
        "maps": [base64.b64encode(zlib.compress(each.tobytes(), 6)).decode() for each in changes],
        "written": texts,
        "probabilities": np.clip(np.round(probabilities.astype(float), 4), LEAST, 1 - LEAST).tolist(),
        "losses": [None if is_judged else round(float(loss), 4) for loss in losses],
    }
    return {"id": hashlib.blake2b(to_json(values).encode(), digest_size=12).hexdigest(), **values}


@partial(cached_figure, ignore=("recording",))
def _earlier_steps(key: tuple[Hashable, ...], number: int, end: int, recording: Recording) -> dict[str, Any]:
    return {"earlier": _piece(key, number, 0, end, recording)}


def _printed(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _constant(context: PageContext, opened: OpenHistory) -> Mapping[str, Any]:
    """Returns the first piece of the steps, which travels by itself."""
    recording, history = opened.recording, opened.history
    end = _earlier(len(recording.steps), history.is_running)
    return _earlier_steps(opened.recording_key, _number(context.view, recording), end, recording)


def _payload(context: PageContext, opened: OpenHistory) -> Mapping[str, Any]:
    recording, history = opened.recording, opened.history
    total = None if history.is_of_another_run else history.total
    number = _number(context.view, recording)
    return _sentence(opened.recording_key, number, context.mode, total, history.is_running, recording)


def _follow(context: PageContext, opened: OpenHistory) -> Mapping[str, Any]:
    """Returns the place among the recorded steps, and the chosen head."""
    view, steps = context.view, opened.recording.steps
    head = None if view.head is None else view.head + 1
    return {
        "at": histories.nearest(steps, view.trained, opened.history.is_running),
        "chosen": {"layer": view.layer + 1, "head": head},
    }


def _events(context: PageContext, opened: OpenHistory) -> Mapping[str, mount.Event]:
    recording, number = opened.recording, _number(context.view, opened.recording)
    shapes = [recording.arrays[f"{kind}/{number}"].shape[1:3] for kind in recording.kinds]
    layers, heads = (max(sizes) for sizes in zip(*shapes, strict=True))
    head = mount.fields(kind=mount.one_of(recording.kinds), layer=mount.from_one(layers), head=mount.from_one(heads))
    return {
        "step": (
            mount.integer(0, len(recording.steps) - 1),
            partial(_choose_step, recording.steps, opened.history.is_running),
        ),
        "head": (head, lambda kind, layer, head: session.change(kind=kind, layer=layer, head=head)),
    }


def _choose_step(steps: tuple[int, ...], is_running: bool, place: int) -> None:
    """Shows a recorded step, in a running training after the last one always the newest. For callbacks."""
    session.change(trained=None if is_running and place == len(steps) - 1 else steps[place])


# -- the sentence ------------------------------------------------------------------------------------------------------


def _number(view: View, recording: Recording) -> int:
    """Returns the number of the view's sentence, from 0; the first if the recording has fewer."""
    return view.probe if view.probe < len(recording.sentences) else 0


def _controls(context: PageContext, opened: OpenHistory) -> None:
    """Draws the choice of the sentence."""
    number = _number(context.view, opened.recording)
    names = [each.source_text or each.target_text for each in opened.recording.sentences]
    st.selectbox(
        "Text",
        range(len(names)),
        label_visibility="collapsed",
        format_func=lambda n: names[n] if n in range(len(names)) else "",
        **session.bind("training sentence", "probe", number, text=names[number]),
    )


def _text(context: PageContext, opened: OpenHistory) -> str:
    steps, wanted = opened.recording.steps, context.view.trained
    if wanted is None or wanted in steps:
        return ""
    return site_texts.note_markup(
        f"Training step {wanted:,} was not recorded. The nearest is {steps[histories.nearest(steps, wanted)]:,}."
    )


def _bar(context: PageContext, opened: OpenHistory) -> None:
    """Draws the button of the next sentence."""
    count, number = len(opened.recording.sentences), _number(context.view, opened.recording)
    if count > 1:
        text, help = f"Sentence {number + 1} of {count}", f"The next sentence ({lecture.SENTENCE.key})"
        st.button(text, key="next sentence", help=help, on_click=_choose_sentence, args=((number + 1) % count,))


def _choose_sentence(number: int) -> None:
    session.change(probe=number)


def _keys(context: PageContext, opened: OpenHistory) -> None:
    list_keys()
    count, number = len(opened.recording.sentences), _number(context.view, opened.recording)
    lecture.add_key(lecture.SENTENCE, "the next sentence", lambda: _choose_sentence((number + 1) % count), quiet=True)


def list_keys() -> None:
    """Lists the keys of the player in lecture mode."""
    lecture.list_component_keys("←, →, Home, End", "one recorded training step back or on, the first, the last")
    lecture.list_component_keys("space", "play, and stop")


def _tables(context: PageContext, opened: OpenHistory) -> tuple[Table, ...]:
    """Returns the sentence at every recorded step."""
    recording, number = opened.recording, _number(context.view, opened.recording)
    tokens, probabilities = target_probabilities(recording, number)
    written = [texts[number] for texts in recording.outputs] or [""] * len(recording.steps)
    columns = ("step", "written", *(f"p {n} {token}" for n, token in enumerate(tokens, 1)))
    rows = zip(recording.steps, written, probabilities, strict=True)
    return (Table("training-sentence", columns, tuple((step, text, *map(float, p)) for step, text, p in rows)),)


def _is_visible(context: PageContext) -> bool:
    """True with a recording, and for an unknown run, so that the page says so once."""
    opened = histories.find_history(context)
    if opened is None:
        return context.has_checkpoint or bool(context.view.run)
    return opened.history.recording is not None


def _shows(*parts: str) -> Any:
    return lambda context, opened: {"shows": parts, "large": True}


PLAYER = Panel(
    "training.player",
    "A text along the training",
    mount.Component(__file__, '<div class="player"></div>'),
    _payload,
    _events,
    _constant,
    compute=histories.open_history,
    controls=_controls,
    text=_text,
    tables=_tables,
    is_visible=_is_visible,
    pictures=(  # the first stands with the pictures of other panels
        Picture("", data=_shows()),
        Picture("Maps", ".maps", _shows("said", "maps"), number=1),
        Picture("All heads", ".all", _shows("said", "all"), number=2),
    ),
    bar=_bar,
    keys=_keys,
    file=FileOptions(component_fields=("kind", "layer", "head", "trained")),
    is_independent=True,
    is_cached=False,  # the files of a run change; the functions above cache by their times
    follow=_follow,
)
