"""What an exported analysis holds, declared once: the writer, the reader and docs/export.md go by it."""

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


FILE = {"format": f"“{FORMAT}”", "version": f"of the format: {VERSION}"}
HEADER = {
    "checkpoint": "the name of the model that answered",
    "fingerprint": "SHA-256 of its config and weights: two checkpoints of one name can be told apart",
    "request": "what was asked: checkpoint (the one that answered), source, second sentence, target, prefix, decoding, "
    "branches, path, padding, mode; edits as "
    "a link has them",
    "translation": "the text; empty for a model that writes nothing",
    "follows": "the probability that the second sentence follows the first; null for one sentence",
    "notes": "sentences that a reader of the translation should know",
    "source": "the tokens that the encoder reads: ids, labels, words (which word each belongs to); null without one",
    "inputs": "those that the decoder reads, <s> first: row t of its maps has the input t and predicts the output t",
    "outputs": "those that it predicts, the last step’s too",
    "sites": "every kind of attention with a layer, from 0, in the order of the arrays",
    "candidate_labels": "[T][N] the tokens, or the labels, of candidates.ids",
    "hypotheses": "every path that decoding found, the best first: text, ids, labels, log_probs, score (their sum), "
    "rank (the score over the length penalty), finished, given_up",
    "chosen": "which of them the arrays belong to, from 0; null for a model that decodes nothing",
    "baseline": "where something was edited: the same without the edits, as an object of all these; else null",
}
ARRAYS = {
    "pattern": Array(np.dtype(np.float32), "[H,T,S]", "the weights after the softmax and all edits"),
    "scores": Array(np.dtype(np.float32), "[H,T,S]", "q·k/√d_k before the mask"),
    "mask": Array(
        np.dtype(bool), "[T,S] or [H,T,S]", "true: may be attended to; [H,T,S] where heads have masks of their own"
    ),
}  # of each site: pattern.cross.2 is that of the third layer
STEPS = {
    "log_probs": Array(
        np.dtype(np.float32), "[T]", "natural logarithm of the probability of each token of the target, or of a label"
    ),
    "candidates.ids": Array(np.dtype(np.int32), "[T,N]", f"the {CANDIDATES} likeliest tokens of each step, likeliest first"),
    "candidates.log_probs": Array(np.dtype(np.float32), "[T,N]", "theirs"),
}  # of each step; without a decoder, of each source token; of a classifier one, of the whole text
BEFORE = "baseline."  # stands before the names of the baseline's arrays


def tables() -> str:
    """All of it as it stands in docs/export.md."""
    lines = ["| key | what it holds |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in (FILE | HEADER).items()]
    lines += ["", "| array | type | shape | what it holds |", "|---|---|---|---|"]
    arrays = {f"{name}.KIND.LAYER": array for name, array in ARRAYS.items()} | STEPS
    lines += [f"| `{name}` | {array.kind} | {array.shape} | {array.meaning} |" for name, array in arrays.items()]
    return "\n".join(lines)
