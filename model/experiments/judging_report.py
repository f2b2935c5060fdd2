"""A model that judges, held against a bag of words on the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.evaluation import word_bags
from model.experiments.against import gain, scores, told_of
from model.network.context import forced
from model.text.labelled import Labelled

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
    bags, fitted, _ = word_bags.tuned(train, dev, len(classes))
    rival = told_of(fitted.log_probs(bags.features([text for _, text in texts])).numpy(), labels)
    kind = {"order": bags.order, "columns": len(bags.columns), "penalty": fitted.penalty}
    return found | {"bag_of_words": scores(rival) | kind, "gain": gain(told, rival)}


def _numbers(texts: Texts, classes: Sequence[str]) -> torch.Tensor:
    return torch.tensor([classes.index(label) for label, _ in texts])
