"""Single blanks: of many sentences some whole words, each to be told from all the rest of its sentence.

Words are those that the vocabulary writes as one token, and what is told is one of all such words, at the beginning of a
sentence of those that are written without a space before them. So a model of tokens and a count of words choose among the
same, and their log-losses can be compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from model.config import END, START
from model.network.context import forced
from model.network.transformer import EncoderOnly
from model.text.corpus import pad
from model.text.tokenizer import Tokenizer

SHARE = 0.15  # of a sentence's words, at least one
ROWS = 64  # blanks that are computed at once


class Choices:
    """The words that a blank may be: those with a space before them, and those without, by the number of each."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        texts = {token: tokenizer.raw(token).decode("utf-8", errors="replace") for token in range(END + 1, tokenizer.size)}
        self.spaced = {token for token, text in texts.items() if text[:1] == " " and text[1:].isalpha()}
        self.first = {token for token, text in texts.items() if text.isalpha()}
        self.tokens = {False: sorted(self.spaced), True: sorted(self.first)}  # by whether they open a sentence
        self.number = {token: n for each in self.tokens.values() for n, token in enumerate(each)}

    def opens(self, token: int) -> bool:
        """Whether it is one of the words without a space before them."""
        return token in self.first


@dataclass(frozen=True)
class Blank:
    """The word to be told, a token, and its place: the sentence that it stands in, and where among its tokens and words."""

    token: int
    sentence: int
    place: int
    word: int


def blanks(sentences: Sequence[Sequence[int]], tokenizer: Tokenizer, choices: Choices, key: str = "") -> list[Blank]:
    """Blanks of sentences in tokens, drawn from `key`; none where no word is one token."""
    found = []
    for number, ids in enumerate(sentences):
        draw = random.Random(f"{key}/{number}")
        words = tokenizer.spelled(ids)
        known = [(at[0], word) for word, (_, at) in enumerate(words) if len(at) == 1 and ids[at[0]] in choices.number]
        for place, word in sorted(draw.sample(known, min(len(known), max(1, round(SHARE * len(words)))))):
            found.append(Blank(ids[place], number, place, word))
    return found


@dataclass(frozen=True)
class Told:
    """Of N blanks the natural log-probability of the right word among all choices, and whether it is the likeliest."""

    log_probs: np.ndarray  # [N]
    right: np.ndarray  # bool [N]


@torch.inference_mode()
def score(
    model: EncoderOnly,
    tokenizer: Tokenizer,
    sentences: Sequence[Sequence[int]],
    asked: Sequence[Blank],
    choices: Choices,
    progress: Callable[[int], object] = lambda done: None,
) -> Told:
    """What a model says of each blank, which it reads as `<mask>`, the sentence alone and all else of it as it stands."""
    assert tokenizer.mask is not None, "there is a token for a blank"
    device, start = next(model.parameters()).device, [START] if model.config.source_start else []
    log_probs, right = np.empty(len(asked)), np.empty(len(asked), bool)
    order = sorted(range(len(asked)), key=lambda n: len(sentences[asked[n].sentence]))
    tables = {opens: torch.tensor(tokens, device=device) for opens, tokens in choices.tokens.items()}
    for first in range(0, len(order), ROWS):
        chosen = order[first : first + ROWS]
        rows, places = [], []
        for n in chosen:
            row = [*start, *sentences[asked[n].sentence], END]
            places.append(len(start) + asked[n].place)
            row[places[-1]] = tokenizer.mask
            rows.append(row)
        hidden = forced(model, pad(rows).to(device), None)[torch.arange(len(rows)), places]  # [N,D]
        logits = model.project(hidden).double()  # [N,V]
        for n, row in zip(chosen, logits, strict=True):
            among = row[tables[choices.opens(asked[n].token)]].log_softmax(-1)
            wanted = choices.number[asked[n].token]
            log_probs[n], right[n] = float(among[wanted]), int(among.argmax()) == wanted
        progress(len(chosen))
    return Told(log_probs, right)
