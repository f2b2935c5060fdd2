"""The timeline: translation, steps, both sentences, where the row looks, and the likeliest next tokens, over one trace.

Everything that follows the step is drawn in the browser; the server hears of it once, when the step has settled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.decoding.sampling import EXCLUDED_IDS, top_ids
from model.inference.cautions import UNSURE_PROBABILITY, round_down
from model.io import numbers
from model.readings.heads.head_maps import Link, step_links
from model.trace import ATTENTION_KINDS, Axis, Site, Trace
from viz import theme
from viz.kit import glosses, mount, site_texts
from viz.state import session
from viz.state.result_cache import kept_with

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer

ROWS = {  # how the target's rows are arranged: the word on the switch, what the rows are then, and what the word means
    "steps": (
        "As it writes",
        "Decoder self-attention",
        "One row: each written token is the next one that the decoder reads.",
    ),
    "shifted": (
        "Input above output",
        "Step by step: the next column reads what this column writes",
        "Upper row: what the decoder reads. Lower row: what it predicts, shifted by one.",
    ),
    "training": (
        "As in training",
        "All at once: every column reads the target, shifted right by one",
        "Training gives the correct target at once, and every column predicts its next token.",
    ),
}


SWITCHED_OFF = " (switched off)"  # behind the name of a head whose output is zeros


def payload(analysis: Analysis, checkpoint: Checkpoint, layer: int, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """Returns the JSON values of the component. `layer` and `head` count from 0.

    If the decoder has fewer layers than the encoder, its last layer replaces those that it lacks. Without an encoder there
    is no source and no cross-attention, and the first `given` tokens of the target are the visitor's text. Weights and
    probabilities have five decimals.
    """
    trace, baseline, tokenizer = analysis.trace, analysis.baseline, checkpoint.target_tokenizer
    ids = trace.outputs.ids
    layer = min(layer, trace.sites("decoder")[-1].layer)
    decoder = trace.view(Site("decoder", layer), head)
    sites = {kind: Site(kind, layer) for kind in ("cross", "decoder") if kind in trace.kinds}
    cross = trace.view(sites["cross"], head) if "cross" in sites else None
    doubts, unsure = _doubts(analysis), set(analysis.unsure_steps)
    same = analysis.comparable_steps if baseline is not None else 0
    before = np.exp(baseline.trace.token_log_probs) if baseline is not None and ids == baseline.trace.outputs.ids else None
    if baseline is not None and before is None:  # only the shared prefix may be compared
        before = np.exp(baseline.trace.token_log_probs)[: max(0, same - 1)]
    return {
        "trace": trace_name(analysis),
        "step": 1,
        "source": [
            {"t": label, "w": word, "pad": label == "<pad>"} | SURE | doubts.get(i, {})
            for i, (label, word) in enumerate(_tokens(trace.source))
        ],
        "target": [
            {"t": label, "w": word, "unsure": t in unsure}
            for t, (label, word) in enumerate(zip(trace.outputs.labels, trace.outputs.word_numbers, strict=True))
        ],
        "words": glosses.words(trace.outputs, checkpoint.languages[1]),
        "inputs": [{"t": label, "w": word} for label, word in _tokens(trace.inputs)],
        "blanks": [],
        "sides": [],
        "own": "decoder",
        "at": "Step",
        "title": "Inputs over outputs",
        "given": analysis.prompt_length,
        "bar": UNSURE_PROBABILITY,
        "size": tokenizer.size,
        "start": trace.inputs.labels[0],
        "segments": tokenizer.segments(ids),
        "cross": [[]] * len(ids) if cross is None else _rows(cross.values),
        "crossAllowed": [[]] * len(ids) if cross is None else cross.allowed.astype(int).tolist(),
        "above": "" if cross is None else _above(analysis, checkpoint, sites["cross"], head),
        "decoder": _rows(decoder.values),
        "allowed": decoder.allowed.astype(int).tolist(),
        "probability": _rows(np.exp(trace.token_log_probs)),
        "before": None if before is None else _rows(before),
        "score": numbers.three_digits(analysis.log_prob),
        "scored": analysis.score_label,
        "language": checkpoint.languages[1],
        "code": site_texts.language_code(checkpoint.languages[1]),
        "how": analysis.decoding_label,
        "draws": analysis.request.decoding.is_random and analysis.request.target is None,
        "one": "this layer" if head is None else "this head",
        "where": {kind: site.head_name(head) for kind, site in sites.items()},
        "arrangements": {name: list(words) for name, words in ROWS.items()},
        "crossTints": list(theme.tints("cross", mode)),
        "doubt": _doubt(analysis),
        "why": links(step_links(trace)),
        "reasons": reasons(analysis, ids, tokenizer),
        "hall": None,
    }


def _above(analysis: Analysis, checkpoint: Checkpoint, site: Site, head: int | None) -> str:
    off = SWITCHED_OFF if analysis.request.intervention.is_off(site, head) else ""
    return f"{checkpoint.languages[0]}: where {site.head_name(head)} looks{off}"


def trace_name(analysis: Analysis) -> str:
    """Returns the name under which components publish and follow the step of an analysis."""
    return hashlib.sha256(f"{analysis.request!r} {analysis.trace.predicted_axis.ids}".encode()).hexdigest()[:16]


SHOWN = 16  # candidates of a step


def _top_tokens(trace: Trace) -> np.ndarray:
    """Returns the ids of the most probable tokens at each step, [T,16], without those that are never written."""
    possible = trace.log_probs.copy()
    possible[:, list(EXCLUDED_IDS)] = -np.inf
    return top_ids(possible, SHOWN)


top_tokens = kept_with(_top_tokens)


def reasons(analysis: Analysis, chosen: Sequence[int], tokenizer: Tokenizer) -> list[list[Any] | None]:
    """Returns for each step the pieces of its token and of the most probable other token, and the id of this one.

    None where tokens are drawn, since the model's probabilities alone do not explain them.
    """
    if analysis.request.decoding.is_random and analysis.request.target is None:
        return [None] * len(chosen)
    pairs = zip(top_tokens(analysis.trace)[:, :2].tolist(), chosen, strict=True)
    rivals = [next(each for each in top if each != own) for top, own in pairs]
    return [[tokenizer.piece(own), tokenizer.piece(each), each] for own, each in zip(chosen, rivals, strict=True)]


def links(found: Sequence[Link]) -> list[dict[str, Any]]:
    """Where each row looks most, and what may be asked of it."""
    return [
        {"source": link.source, "weight": round(link.weight, 5), "word": link.word, "onWord": round(link.on_word, 5)}
        | {"asked": link.is_clear, "to": link.to}
        for link in found
    ]


def _tokens(axis: Axis | None) -> list[tuple[str, int]]:
    """The labels and word numbers of one side; none where the model does not have it."""
    return [] if axis is None else list(zip(axis.labels, axis.word_numbers, strict=True))


SURE = {"rare": False, "overlooked": False, "note": ""}


def _doubt(analysis: Analysis) -> dict[str, Any]:
    """Returns how far the translation can be trusted, in one line, with its reasons and what was counted."""
    meant = (
        analysis.warning_calibration.describe_sample()
        if analysis.has_measured_rate and analysis.warning_calibration.describe(len(analysis.warnings))
        else ""
    )
    return {"verdict": analysis.doubt_summary, "signs": list(analysis.warnings.values()), "meant": meant}


def _doubts(analysis: Analysis) -> dict[int, dict[str, Any]]:
    """By position: what makes a source token doubtful, as marks, and `note` in words."""
    found: dict[int, dict[str, Any]] = {}
    for word in analysis.rare_words:
        found |= {i: {"rare": True, "note": f"Rare in training: {word.describe()}."} for i in word.positions}
    for word in analysis.overlooked_words:
        told = f"{word.text} is hardly looked at: {round_down(word.weight)} at most in any step, mean of all heads."
        for i in word.positions:
            before = found.get(i, {})
            found[i] = before | {"overlooked": True, "note": f"{before.get('note', '')} {told}".strip()}
    return found


def _rows(values: np.ndarray) -> Any:
    return numbers.round_probabilities(values.astype(float)).tolist()


COMPONENT = mount.Component(__file__, '<div class="timeline"></div>')


def events(
    data: dict[str, Any],
    on_why: Callable[[str, int, int], None],
    on_reason: Callable[[int, int], None],
    on_again: Callable[[], None] = lambda: None,
) -> dict[str, mount.Event]:
    """Returns the events. `on_why` gets a kind of attention and two tokens, `on_reason` a step and the rival of its
    token, `on_again` nothing."""
    source, target, size = data["source"], data["target"], data["size"]
    step, token = mount.from_one(len(target)), mount.from_one(max(len(source), len(target)))
    return {
        "step": (step, lambda step: session.change(step=step)),
        "rows": (mount.one_of(data["arrangements"]), lambda rows: session.change(rows=rows)),
        "why": (mount.fields(kind=mount.one_of(ATTENTION_KINDS), query=token, key=token), on_why),
        "reason": (mount.fields(step=step, token=mount.integer(0, size - 1)), on_reason),
        "again": (mount.pressed, on_again),
    }
