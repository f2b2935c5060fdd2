"""Outputs of a model for the recorded sentences: translations, continuations, filled blanks and labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch

from model.config import CONTROL_TOKENS
from model.decoding.search import greedy
from model.network.context import forced
from model.network.transformer import Transformer
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.corpus import pad
from model.workshop.training.recording import Sentence
from model.workshop.training.snapshots import Writes

ROOM = 12  # of a continuation, or of a translation beyond its target
GIVEN = 0.5  # share of a text's tokens that a decoder continues


def translations(tokenizer: Tokenizer) -> Writes:
    """Returns a writer of greedy translations. Their length is limited, because an untrained model does not end."""
    return partial(_translated, tokenizer)


def _translated(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[Sentence]) -> list[str]:
    source = pad([list(each.source) for each in sentences]).to(_device(model))
    limit = max(len(each.target) for each in sentences) + ROOM
    return [tokenizer.decode(path.ids) for path in greedy(model, source, limit=limit)]


def continuations(tokenizer: Tokenizer) -> Writes:
    """Returns a writer of the first half of each text and its continuation after the dots."""
    return partial(_continued, tokenizer)


def _continued(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[Sentence]) -> list[str]:
    texts = []
    for each in sentences:
        prompt = begun(each)
        (path,) = greedy(model, None, prefix=prompt, limit=len(prompt) + ROOM)
        texts.append(f"{tokenizer.decode(prompt).strip()} … {tokenizer.decode(path.ids[len(prompt) :]).strip()}")
    return texts


def begun(sentence: Sentence) -> tuple[int, ...]:
    """Returns the ids of a text that the model continues."""
    return sentence.target[: max(1, round(GIVEN * (len(sentence.target) - 1)))]


def filled(tokenizer: Tokenizer) -> Writes:
    """Returns a writer of each sentence with the most probable token in every blank."""
    return partial(_filled, tokenizer)


def _filled(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[Sentence]) -> list[str]:
    texts = []
    for each in sentences:
        source = torch.tensor([each.source], device=_device(model))
        likeliest = _words_alone(model.project(forced(model, source, None)), tokenizer.mask)[0].argmax(-1).tolist()
        ids = [new if old == tokenizer.mask else old for old, new in zip(each.source, likeliest, strict=True)]
        texts.append(tokenizer.decode(ids))
    return texts


def _words_alone(logits: torch.Tensor, mask: int | None) -> torch.Tensor:
    """Sets the logits [...,V] of control tokens and of the blank to minus infinity, in place."""
    logits[..., [*range(len(CONTROL_TOKENS)), *([] if mask is None else [mask])]] = -torch.inf
    return logits


def judgements(model: Transformer, sentences: Sequence[Sentence]) -> list[str]:
    """Returns the most probable label of each text."""
    predicted = []
    for each in sentences:
        source = torch.tensor([each.source], device=_device(model))
        predicted.append(each.labels[int(model.judged(forced(model, source, None), source)[0].argmax())])
    return predicted


def _device(model: Transformer) -> torch.device:
    return next(model.parameters()).device
