"""The keys and arrays of an exported analysis, declared once for the writer, the reader and docs/export.md."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FORMAT = "attention-lab analysis"
VERSION = 1
CANDIDATES = 10  # of every step


@dataclass(frozen=True)
class Array:
    """A kind of array: how it is stored, its shape in letters, and what it holds."""

    kind: np.dtype
    shape: str
    meaning: str


FILE = {"format": f"“{FORMAT}”", "version": f"version of the format: {VERSION}"}
HEADER = {
    "checkpoint": "name of the checkpoint that answered",
    "fingerprint": "SHA-256 of its config and weights, which distinguishes two checkpoints of one name",
    "request": "checkpoint (the one that answered), source, second sentence, target, prefix, decoding, branches, path, "
    "padding, mode; edits as codes of a link",
    "translation": "the text; empty for a model without a decoder",
    "follows": "probability that the second sentence follows the first; null for one sentence",
    "notes": "notes about the translation, as sentences",
    "source": "tokens of the encoder: ids, labels, words (the index of the word of each token); null without an encoder",
    "inputs": "input tokens of the decoder, <s> first: row t of its maps has the input t and predicts the output t",
    "outputs": "predicted tokens, including the last step’s",
    "sites": "every kind of attention with a layer, from 0, in the order of the arrays",
    "candidate_labels": "[T][N] tokens, or labels, of candidates.ids",
    "hypotheses": "every path of the search, best first: text, ids, labels, log_probs, score (their sum), "
    "rank (score divided by the length penalty), finished, given_up",
    "chosen": "index of the hypothesis that the arrays belong to, from 0; null for a model that decodes nothing",
    "baseline": "with edits: the same request without edits, as an object of all these keys; else null",
}
ARRAYS = {
    "pattern": Array(np.dtype(np.float32), "[H,T,S]", "attention weights after the softmax and all edits"),
    "scores": Array(np.dtype(np.float32), "[H,T,S]", "q·k/√d_k before the mask"),
    "mask": Array(np.dtype(bool), "[T,S] or [H,T,S]", "true: may attend; [H,T,S] if the masks of the heads differ"),
}  # of each site: pattern.cross.2 is that of the third layer
STEPS = {
    "log_probs": Array(
        np.dtype(np.float32), "[T]", "natural logarithm of the probability of each target token, or of a label"
    ),
    "candidates.ids": Array(np.dtype(np.int32), "[T,N]", f"the top {CANDIDATES} tokens of each step, most probable first"),
    "candidates.log_probs": Array(np.dtype(np.float32), "[T,N]", "their log-probabilities"),
}  # of each step; without a decoder, of each source token; of a classifier one, of the whole text
BEFORE = "baseline."  # stands before the names of the baseline's arrays


def tables() -> str:
    """Returns the tables of docs/export.md."""
    lines = ["| key | content |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in (FILE | HEADER).items()]
    lines += ["", "| array | type | shape | content |", "|---|---|---|---|"]
    arrays = {f"{name}.KIND.LAYER": array for name, array in ARRAYS.items()} | STEPS
    lines += [f"| `{name}` | {array.kind} | {array.shape} | {array.meaning} |" for name, array in arrays.items()]
    return "\n".join(lines)
