"""What a model makes of the sentences that are watched while it learns: a translation, what follows, what is filled in."""

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

ROOM = 12  # tokens that a text goes on for, or that a translation may be longer than the one that counts as right
GIVEN = 0.5  # of a text's tokens, from which a model without an encoder goes on


def translations(tokenizer: Tokenizer) -> Writes:
    """Greedy translations, not much longer than the right ones: what has learned little does not end by itself."""
    return partial(_translated, tokenizer)


def _translated(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[Sentence]) -> list[str]:
    source = pad([list(each.source) for each in sentences]).to(_device(model))
    limit = max(len(each.target) for each in sentences) + ROOM
    return [tokenizer.decode(found.ids) for found in greedy(model, source, limit=limit)]


def continuations(tokenizer: Tokenizer) -> Writes:
    """Each text's first half, and how it goes on after the dots."""
    return partial(_continued, tokenizer)


def _continued(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[Sentence]) -> list[str]:
    found = []
    for each in sentences:
        given = begun(each)
        (made,) = greedy(model, None, prefix=given, limit=len(given) + ROOM)
        found.append(f"{tokenizer.decode(given).strip()} … {tokenizer.decode(made.ids[len(given) :]).strip()}")
    return found


def begun(sentence: Sentence) -> tuple[int, ...]:
    """What of a text is given, for the model to go on with."""
    return sentence.target[: max(1, round(GIVEN * (len(sentence.target) - 1)))]


def filled(tokenizer: Tokenizer) -> Writes:
    """Each sentence with the likeliest token in every blank."""
    return partial(_filled, tokenizer)


def _filled(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[Sentence]) -> list[str]:
    found = []
    for each in sentences:
        source = torch.tensor([each.source], device=_device(model))
        likeliest = _words_alone(model.project(forced(model, source, None)), tokenizer.mask)[0].argmax(-1).tolist()
        ids = [new if old == tokenizer.mask else old for old, new in zip(each.source, likeliest, strict=True)]
        found.append(tokenizer.decode(ids))
    return found


def _words_alone(logits: torch.Tensor, mask: int | None) -> torch.Tensor:
    """Logits [...,V] that let no control token be chosen, and not the blank, wherever it stands."""
    logits[..., [*range(len(CONTROL_TOKENS)), *([] if mask is None else [mask])]] = -torch.inf
    return logits


def judgements(model: Transformer, sentences: Sequence[Sentence]) -> list[str]:
    """The likeliest label of each text."""
    found = []
    for each in sentences:
        source = torch.tensor([each.source], device=_device(model))
        found.append(each.labels[int(model.judged(forced(model, source, None), source)[0].argmax())])
    return found


def _device(model: Transformer) -> torch.device:
    return next(model.parameters()).device
