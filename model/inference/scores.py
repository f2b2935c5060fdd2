"""The tokens whose log-probabilities are summed: one definition for effects, sweeps and checks.

A score is None for the default of the model (`Task.scored_tokens`), or

- `target`: the given target, or the translation of an encoder-decoder;
- `continuation`: the tokens after the prompt of a model without an encoder;
- `all`: these and the prompt;
- a span `(start, end)` of all tokens, from 0, without the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..checkpoint import Checkpoint
from ..decoding.strategy import RequestError
from ..edits.intervention import BASELINE
from ..task import task_of_kinds
from .passes import log_probs, scored_rows_and_tokens
from .request import Request
from .targets import prompt_ids

Score = Literal["target", "continuation", "all"] | tuple[int, int]
NAMES = ("target", "continuation", "all")


@dataclass(frozen=True)
class ScoredTokens:
    """The scored tokens of one text: their name, and their places among all T predicted tokens."""

    name: str
    places: slice
    labels: tuple[str, ...]
    unit: str = "token"  # has the probability: each token, or the label of the text


def scored_tokens(
    checkpoint: Checkpoint,
    request: Request,
    source: Sequence[int] | None,
    target: Sequence[int] | None,
    score: Score | None = None,
) -> ScoredTokens:
    """Returns the scored tokens of a request with these source and target ids.

    Raises RequestError for an unknown score, for one that the model does not have, and for a span outside the tokens.
    """
    prompt = len(prompt_ids(checkpoint, request))
    name = scored_name(checkpoint, source, bool(prompt))
    if score is None or checkpoint.config.classes or target is None:
        if score is not None:
            raise RequestError(f"This model has no decoder. It is scored on the {name}; leave out score={score!r}.")
        places = slice(prompt, None)
    else:
        name, places = _chosen(checkpoint, request, len(target), prompt, score)
    labels = _labels(checkpoint, source, target)[places]
    return ScoredTokens(name, places, labels, "label" if checkpoint.config.classes else "token")


def scored_name(checkpoint: Checkpoint, source: Sequence[int] | None, has_prompt: bool = True) -> str:
    """Names the tokens of the default score, as `Analysis.scored_tokens` does."""
    task = task_of_kinds(checkpoint.config.kinds, checkpoint.config.classes)
    return task.scored_tokens(checkpoint.source_tokenizer.mask in (source or ()), has_prompt)


def _chosen(checkpoint: Checkpoint, request: Request, length: int, prompt: int, score: Score) -> tuple[str, slice]:
    """Returns name and places of a score among `length` tokens, of which the first are the prompt."""
    if not isinstance(score, str):
        start, end = score
        if not 0 <= start < end <= length:
            raise RequestError(f"The span is ({start}, {end}); expected 0 <= start < end <= {length}, the number of tokens.")
        return f"tokens {start}:{end}", slice(start, end)
    if score not in NAMES:
        raise RequestError(f"The score is {score!r}; expected {', '.join(map(repr, NAMES))} or a span (start, end).")
    has_encoder = "encoder" in checkpoint.config.kinds
    if score == "continuation" and has_encoder:
        raise RequestError("This model has no prompt; expected score='target', 'all' or a span (start, end).")
    if score == "target" and not (has_encoder or request.has_target):
        raise RequestError("No target is given; expected one, or score='continuation', 'all' or a span (start, end).")
    return score, slice(0 if score == "all" else prompt, None)


def _labels(checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None) -> tuple[str, ...]:
    """Returns the labels of all predicted tokens, or for a classifier the label of the source."""
    if checkpoint.config.classes:
        return checkpoint.output_vocabulary.pieces(log_probs(checkpoint, source, target, [BASELINE])[0].argmax(-1).tolist())
    if target is None:
        return checkpoint.source_tokenizer.pieces(scored_rows_and_tokens(checkpoint, source)[1])
    return checkpoint.target_tokenizer.pieces(target)
