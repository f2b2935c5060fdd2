"""A model that fills in, held against counting: single words between their neighbours, and whether a sentence follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.evaluation import logistic
from model.evaluation.neighbours_counted import Counted, Neighbours
from model.evaluation.overlap import Overlap, standardised
from model.evaluation.single_blanks import Choices, Told, blanks, score
from model.experiments.against import gain, scores, told_of
from model.network.context import forced
from model.text.corpus import pad
from model.text.sentence_pairs import NOTHING, Books, Row

DRAWN = "evaluate"  # what blanks and pairs are drawn from
ROWS = 64  # pairs that are computed at once
Progress = Callable[[int], object]


def filled(checkpoint: Checkpoint, data: Books, counted: tuple[Books, Books] | None, progress: Progress) -> dict[str, Any]:
    """Single blanks of the sentences of `data`; with the texts of a training and of dev also what counting makes of them.

    Raises ValueError where no sentence has a word that is one token.
    """
    tokenizer, choices = checkpoint.source_tokenizer, Choices(checkpoint.source_tokenizer)
    sentences = _sentences(data)
    asked = blanks(sentences, tokenizer, choices, DRAWN)
    if not asked:
        raise ValueError("no sentence has a word that is one token of the vocabulary; expected some")
    own = [blank.sentence for blank in asked]
    told = score(checkpoint.model, tokenizer, sentences, asked, choices, progress)
    found = {"blanks": len(asked), "choices": [len(each) for each in choices.tokens.values()], **scores(told, own)}
    if counted is None:
        return found
    dev = _sentences(counted[1])
    tuning = blanks(dev, tokenizer, choices, DRAWN)
    if not tuning:
        raise ValueError("no sentence of --dev has a word that is one token of the vocabulary; expected some")
    known = Counted(tokenizer, choices, _sentences(counted[0]), [(dev, b) for b in tuning] + [(sentences, b) for b in asked])
    rival = Neighbours(known, dev, tuning).score(sentences, asked)
    return found | {"neighbours": scores(rival, own), "gain": gain(told, rival, own)}


def followed(checkpoint: Checkpoint, data: Books, counted: tuple[Books, Books] | None) -> dict[str, Any]:
    """Pairs of sentences of `data`, half of which follow one another; the same beside what their words have in common.

    Raises ValueError where no pair can be made.
    """
    asked = _pairs(data)
    labels = np.array([row.label for row in asked])
    if not asked:
        raise ValueError("the text has too few sentences to make pairs of; expected at least 3")
    told = _judged(checkpoint, asked, labels)
    found = {"pairs": len(asked), **scores(told)}
    if counted is None:
        return found
    train, dev = (_pairs(books) for books in counted)
    if not (train and dev):
        raise ValueError("--baseline or --dev has too few sentences to make pairs of; expected at least 3")
    overlap = Overlap(checkpoint.source_tokenizer, _sentences(counted[0]))
    x = standardised(*(overlap.features(rows) for rows in (train, dev, asked)))
    y = [torch.tensor([row.label for row in rows]) for rows in (train, dev)]
    fitted, _ = logistic.tuned_regression((x[0], y[0]), (x[1], y[1]), 2)
    rival = told_of(fitted.log_probs(x[2]).numpy(), labels)
    return found | {"overlap": scores(rival) | {"penalty": fitted.penalty}, "gain": gain(told, rival)}


def _sentences(books: Books) -> list[list[int]]:
    return [ids for book in books.books for ids in book]


def _pairs(books: Books) -> list[Row]:
    return [row for row in books.rows(DRAWN, alone=0) if row.label != NOTHING]


@torch.inference_mode()
def _judged(checkpoint: Checkpoint, rows: Sequence[Row], labels: np.ndarray) -> Told:
    model, found = checkpoint.model, []
    for first in range(0, len(rows), ROWS):
        source = pad([row.ids for row in rows[first : first + ROWS]]).to(checkpoint.device)
        found.append(model.following(forced(model, source, None), source).double().log_softmax(-1).cpu().numpy())
    return told_of(np.concatenate(found), labels)
