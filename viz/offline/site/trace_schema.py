"""The trace that the static site draws: an analysis as JSON values. docs/site.md documents its fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.decoding.sampling import EXCLUDED_IDS, top_ids
from viz.decoding_steps import beam_tree
from viz.decoding_steps.candidates import SHOWN
from viz.kit import mount

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer
    from model.trace import Axis, Site, Trace

LEVELS = 4095  # of a stored weight


def trace_of(analysis: Analysis, checkpoint: Checkpoint) -> dict[str, Any]:
    """Returns the trace of a translation as JSON values; `trace.js` computes the same in the browser.

    The weights are in `stored_weights`. Masks are digits, row by row, one mask for all heads.
    """
    trace, tokenizer = analysis.trace, checkpoint.target_tokenizer
    sites = {f"{site.kind} {site.layer}": site for site in trace.patterns}
    tree = None
    if analysis.tree is not None and analysis.request.decoding.has_width:
        alpha = analysis.request.decoding.alpha
        tree = beam_tree.payload(analysis.tree, analysis.hypothesis.ids, tokenizer, alpha)
        tree = {name: tree[name] for name in ("nodes", "path", "ended", "leaves")}
    return {
        "source": _axis(trace.source),
        "target": _axis(trace.outputs) | {"segments": tokenizer.segments(trace.outputs.ids)},
        "start": trace.inputs.labels[0],
        "attention": {
            name: {"shape": list(trace.patterns[site].shape), "allowed": mount.cells(trace.masks[site])}
            for name, site in sites.items()
        },
        "steps": [_step(analysis, tokenizer, step) for step in range(len(trace.outputs))],
        "tree": tree,
    }


def stored_weights(trace: Trace, sites: Sequence[Site]) -> bytes:
    """Returns the weights of some sites, head by head, without masked cells.

    Each weight is a number of parts of 1 / `LEVELS`: all high bytes come before all low bytes.
    """
    rows = [trace.patterns[site][:, trace.masks[site]].ravel() for site in sites]
    levels = np.rint(np.minimum(np.concatenate(rows), 1) * LEVELS).astype(">u2")
    return levels.view(np.uint8).reshape(-1, 2).T.tobytes()


def _axis(axis: Axis) -> dict[str, Any]:
    return {"ids": list(axis.ids), "labels": list(axis.labels), "words": list(axis.word_numbers)}


def _step(analysis: Analysis, tokenizer: Tokenizer, step: int) -> dict[str, Any]:
    """Returns the most probable tokens of a step and the written one: piece, id, logit, probability."""
    trace = analysis.trace
    possible = trace.log_probs[step].copy()
    possible[list(EXCLUDED_IDS)] = -np.inf

    def row(token: int) -> list[Any]:
        probability = float(np.exp(trace.log_probs[step, token]))
        return [tokenizer.piece(token), token, round(trace.logit(step, token), 3), float(f"{probability:.5g}")]

    return {"top": [row(int(token)) for token in top_ids(possible, SHOWN)], "chosen": row(trace.outputs.ids[step])}
