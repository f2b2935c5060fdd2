"""The first page of a model that only reads: all places of a sentence at once, what may stand at each, and the blanks."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from model import format
from model.inference.cautions import UNSURE
from model.inference.request import Request
from model.readings.step_links import step_links
from model.text import blanks
from model.trace import Site
from viz import cache, state, theme
from viz.keep import cached_figure
from viz.shared import texts
from viz.translate import candidates, steps, timeline
from viz.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

ROWS = {  # how the rows are arranged: there is one way
    "training": ("At once", "Encoder self-attention, every place at once", ""),
}


def draw(view: View, page_data: cache.PageData, mode: theme.Mode, hall: dict[str, Any] | None = None) -> None:
    """The sentence place by place, and the candidates of the one that is looked at."""
    head = None if view.head is None else view.head - 1
    data = timeline_data(page_data.request, view.device, view.layer - 1, head, mode)
    left, right = steps.places(hall)
    rows = candidate_rows(page_data.request, view.device, data["trace"])
    with left:
        timeline.timeline(
            data,
            {"step": view.step, "rows": "training", "guess": False, "reasons": [None] * len(data["target"]), "hall": hall},
            on_step=lambda step: state.change(step=step),
            on_rows=lambda rows: None,
            on_why=lambda kind, query, key: steps.to_heads(page_data.request, kind, query, key),
            on_reason=lambda step, rival: None,
        )
    with right:
        told = state.complaint("word")
        tokenizer = page_data.loaded.source_tokenizer
        candidates.candidates(
            rows,
            {"step": view.step, "guess": False, "fault": told[1] if told else "", "hall": bool(hall)},
            on_branch=lambda step, token: _put(view, page_data, step, tokenizer.decode([token])),
            on_word=lambda step, text: _put(view, page_data, step, text),
            on_guess=lambda on: None,
            on_reason=lambda step, rival: None,
        )


def _put(view: View, page_data: cache.PageData, step: int, word: str) -> None:
    """Puts a word into the blank at a place; called from a callback."""
    places = blank_places(page_data.analysis, page_data.loaded)
    try:
        number = places.index(step - 1) if step - 1 in places else -1
        state.change(source=blanks.filled(view.source, number, word))
    except ValueError as fault:
        state.complain("word", word, str(fault))


def blank_places(analysis: Analysis, loaded: Checkpoint) -> list[int]:
    """The positions of the blanks."""
    mask = loaded.source_tokenizer.mask
    return [i for i, token in enumerate(analysis.trace.predicted.ids) if mask is not None and token == mask]


def filled(analysis: Analysis, places: list[int]) -> tuple[int, ...]:
    """The tokens of the sentence, the likeliest in each blank."""
    ids = list(analysis.trace.predicted.ids)
    for i in places:
        ids[i] = int(analysis.trace.log_probs[i].argmax())
    return tuple(ids)


@cached_figure
def timeline_data(request: Request, device: str, layer: int, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """What the timeline needs; layer and head count from 0."""
    return payload(cache.analyse(request, device), cache.checkpoint(request.checkpoint, device), layer, head, mode)


def payload(analysis: Analysis, loaded: Checkpoint, layer: int, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """All that the timeline needs of a sentence that is read at once, as JSON values: its rows are the places."""
    trace, tokenizer = analysis.trace, loaded.source_tokenizer
    places = blank_places(analysis, loaded)
    ids = filled(analysis, places)
    rows, columns = np.arange(len(ids)), list(ids)
    layer = min(layer, trace.sites("encoder")[-1].layer)
    seen = trace.view(Site("encoder", layer), head)
    before = None if analysis.baseline is None else np.exp(analysis.baseline.trace.log_probs[rows, columns])
    inputs = [{"t": t, "w": w} for t, w in zip(trace.predicted.labels, trace.predicted.words, strict=True)]
    chosen = places or range(len(ids))
    return {
        "trace": hashlib.sha256(f"{analysis.request!r} {ids}".encode()).hexdigest()[:16],
        "step": 1,
        "source": [],
        "inputs": inputs,
        "target": [
            {"t": t, "w": w, "unsure": False} for t, w in zip(tokenizer.pieces(ids), trace.predicted.words, strict=True)
        ],
        "given": 0,
        "own": "encoder",
        "at": "Place",
        "title": "What stands there, over what the model says",
        "bar": UNSURE,
        "size": tokenizer.size,
        "start": "",
        "segments": tokenizer.segments(ids),
        "cross": [[]] * len(ids),
        "crossAllowed": [[]] * len(ids),
        "above": "",
        "decoder": np.round(seen.values.astype(float), 5).tolist(),
        "allowed": seen.allowed.astype(int).tolist(),
        "probability": np.round(np.exp(trace.log_probs[rows, columns]).astype(float), 5).tolist(),
        "before": None if before is None else np.round(before.astype(float), 5).tolist(),
        "score": format.decimal(trace.log_probs[list(chosen), [ids[i] for i in chosen]].sum()),
        "language": "Filled in" if places else loaded.languages[0],
        "code": texts.language_code(loaded.languages[0]),
        "how": "the likeliest" if places else "as it stands",
        "one": "this layer" if head is None else "this head",
        "where": timeline.where(layer, head),
        "arrangements": {name: list(words) for name, words in ROWS.items()},
        "crossTints": list(theme.tints("encoder", mode)),
        "doubt": {"verdict": _hint(loaded, places), "signs": [], "meant": ""},
        "why": timeline.links(step_links(trace)),
    }


def _hint(loaded: Checkpoint, places: list[int]) -> str:
    """What can be done with the sentence."""
    if loaded.source_tokenizer.mask is None:
        return "No token for a blank here: each place shows how likely its token is."
    return "" if places else f"Type {blanks.SIGN} where a word is to be filled in."


@cached_figure
def candidate_rows(request: Request, device: str, trace: str) -> dict[str, Any]:
    """What the candidates need, of each place."""
    return rows_payload(cache.analyse(request, device), cache.checkpoint(request.checkpoint, device), trace)


def rows_payload(analysis: Analysis, loaded: Checkpoint, trace: str) -> dict[str, Any]:
    """All that the candidates need of each place, as JSON values; a click fills a blank, and does nothing elsewhere."""
    places = blank_places(analysis, loaded)
    made = candidates.payload(analysis, loaded.source_tokenizer, None, trace, filled(analysis, places))
    return made | {
        "open": [i in places for i in range(len(made["rows"]))],
        "title": "Likeliest at this place",
        "act": "Click: put this token into the blank",
        "word": ["Or type a word", "Fill in", "Put this word into the blank"],
        "hint": "Click a token to put it into the blank.",
    }
