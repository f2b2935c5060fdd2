"""Outputs of a model for the recorded sentences: translations, continuations, filled blanks and labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch

from ...config import CONTROL_TOKENS
from ...decoding.search import greedy
from ...network.context import forced
from ...network.transformer import Transformer
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import pad
from .recording import ProbeSentence
from .snapshots import SampleWriter

EXTRA_TOKENS = 12  # of a continuation, or of a translation beyond its target
PROMPT_SHARE = 0.5  # share of a text's tokens that a decoder continues


def translations(tokenizer: Tokenizer) -> SampleWriter:
    """Returns a writer of greedy translations. Their length is limited, because an untrained model does not end."""
    return partial(_translate, tokenizer)


def _translate(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[ProbeSentence]) -> list[str]:
    source = pad([list(each.source) for each in sentences]).to(_device(model))
    limit = max(len(each.target) for each in sentences) + EXTRA_TOKENS
    return [tokenizer.decode(path.ids) for path in greedy(model, source, limit=limit)]


def continuations(tokenizer: Tokenizer) -> SampleWriter:
    """Returns a writer of the first half of each text and its continuation after the dots."""
    return partial(_continue, tokenizer)


def _continue(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[ProbeSentence]) -> list[str]:
    texts = []
    for each in sentences:
        prompt = prompt_ids(each)
        (path,) = greedy(model, None, prefix=prompt, limit=len(prompt) + EXTRA_TOKENS)
        texts.append(f"{tokenizer.decode(prompt).strip()} … {tokenizer.decode(path.ids[len(prompt) :]).strip()}")
    return texts


def prompt_ids(sentence: ProbeSentence) -> tuple[int, ...]:
    """Returns the ids of a text that the model continues."""
    return sentence.target[: max(1, round(PROMPT_SHARE * (len(sentence.target) - 1)))]


def filled_blanks(tokenizer: Tokenizer) -> SampleWriter:
    """Returns a writer of each sentence with the most probable token in every blank."""
    return partial(_fill_blanks, tokenizer)


def _fill_blanks(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[ProbeSentence]) -> list[str]:
    texts = []
    for each in sentences:
        source = torch.tensor([each.source], device=_device(model))
        likeliest = (
            _exclude_control_tokens(model.project(forced(model, source, None)), tokenizer.mask)[0].argmax(-1).tolist()
        )
        ids = [new if old == tokenizer.mask else old for old, new in zip(each.source, likeliest, strict=True)]
        texts.append(tokenizer.decode(ids))
    return texts


def _exclude_control_tokens(logits: torch.Tensor, mask: int | None) -> torch.Tensor:
    """Sets the logits [...,V] of control tokens and of the blank to minus infinity, in place."""
    logits[..., [*range(len(CONTROL_TOKENS)), *([] if mask is None else [mask])]] = -torch.inf
    return logits


def predicted_labels(model: Transformer, sentences: Sequence[ProbeSentence]) -> list[str]:
    """Returns the most probable label of each text."""
    predicted = []
    for each in sentences:
        source = torch.tensor([each.source], device=_device(model))
        predicted.append(each.labels[int(model.judged(forced(model, source, None), source)[0].argmax())])
    return predicted


def _device(model: Transformer) -> torch.device:
    return next(model.parameters()).device
