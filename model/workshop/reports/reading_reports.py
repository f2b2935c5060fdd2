"""A model and a baseline on the same examples: what is right and what it costs, with bootstrap intervals.

A model that fills in, held against counting: single words between their neighbours, and whether a sentence follows.

A model that judges, held against a bag of words on the same texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.experiments.sweep import RESAMPLES, SEED, intervals
from model.network.context import forced
from model.workshop.corpus.corpus import pad
from model.workshop.corpus.sentence_pairs import NOTHING, Books, Labelled, Row
from model.workshop.evaluation import count_baselines
from model.workshop.evaluation.neighbour_baseline import (
    Choices,
    Counted,
    Neighbours,
    Overlap,
    Told,
    blanks,
    score,
    standardised,
)


def told_of(log_probs: np.ndarray, labels: np.ndarray) -> Told:
    """What log-probabilities [N,C] are worth for labels [N]."""
    return Told(log_probs[np.arange(len(labels)), labels], log_probs.argmax(-1) == labels)


def scores(told: Told, own: Sequence[int] | None = None) -> dict[str, Any]:
    """Accuracy and log-loss in nats, with intervals over the sentences, `own` of each example, or over the examples; None
    in place of an interval where there is one alone."""
    return _both(told.right.astype(float), -told.log_probs, own)


def gain(told: Told, rival: Told, own: Sequence[int] | None = None) -> dict[str, Any]:
    """What the model is better by, in the same samples."""
    return _both(told.right.astype(float) - rival.right, told.log_probs - rival.log_probs, own)


def _both(right: np.ndarray, loss: np.ndarray, own: Sequence[int] | None) -> dict[str, Any]:
    number = np.arange(len(right)) if own is None else np.unique(own, return_inverse=True)[1]
    counts, made = np.bincount(number), {}
    for name, values in (("accuracy", right), ("log_loss", loss)):
        mean, low, high = (round(float(each), 4) for each in intervals(np.bincount(number, values), counts))
        made |= {name: mean, f"{name}_interval": [low, high] if len(counts) > 1 else None}
    return made | {"resamples": RESAMPLES, "seed": SEED}


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
    fitted, _ = count_baselines.tuned_regression((x[0], y[0]), (x[1], y[1]), 2)
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


TOKENS = 8192  # that are computed at once
Texts = Sequence[tuple[str, str]]  # label and text


def judged(checkpoint: Checkpoint, texts: Texts, counted: tuple[Texts, Texts] | None) -> dict[str, Any]:
    """Accuracy and log-loss over the texts; with those of a training and of dev also what a bag of words makes of them."""
    classes, model = checkpoint.config.classes, checkpoint.model
    read = Labelled(texts, checkpoint.source_tokenizer, classes, checkpoint.config.source_start)
    log_probs, labels = np.empty((len(read), len(classes))), np.array(read.labels)
    with torch.inference_mode():
        for rows in read.batches(TOKENS, 0, 0):
            source = read.batch(rows).source.to(checkpoint.device)
            log_probs[rows] = model.judged(forced(model, source, None), source).double().log_softmax(-1).cpu().numpy()
    told = told_of(log_probs, labels)
    found = {"texts": len(read), "classes": list(classes), "cut": read.cut, **scores(told)}
    if counted is None:
        return found
    train, dev = (([text for _, text in each], _numbers(each, classes)) for each in counted)
    bags, fitted, _ = count_baselines.tuned(train, dev, len(classes))
    rival = told_of(fitted.log_probs(bags.features([text for _, text in texts])).numpy(), labels)
    kind = {"order": bags.order, "columns": len(bags.columns), "penalty": fitted.penalty}
    return found | {"bag_of_words": scores(rival) | kind, "gain": gain(told, rival)}


def _numbers(texts: Texts, classes: Sequence[str]) -> torch.Tensor:
    return torch.tensor([classes.index(label) for label, _ in texts])
