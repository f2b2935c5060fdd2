"""Measurements of decoders and encoders beside count baselines on the same examples, with bootstrap intervals.

A language model is measured in bits per character, with intervals over paragraphs. An encoder is measured by accuracy and
log-loss on masked words, pairs of sentences, or labelled texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ...checkpoint import Checkpoint
from ...config import END, MAX_TOKENS
from ...experiments.sweep import RESAMPLES, SEED, intervals
from ...network.context import teacher_forced_states
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import pad
from ..corpus.sentence_pairs import IGNORE_INDEX, Books, LabelledTexts, Row
from ..corpus.windows import count_characters
from ..evaluation import count_baselines
from ..evaluation.count_baselines import NGrams
from ..evaluation.neighbour_baseline import (
    BlankVocabulary,
    ExampleScores,
    NeighbourBaseline,
    NeighbourCounts,
    WordOverlap,
    sample_blanks,
    score,
    standardize,
)
from ..evaluation.scoring import STRIDE, ParagraphCosts, bits_per_character, score_text, sum_segments
from ..sharding import ordered_map

LINE_END = b"\n"
ToSymbols = Callable[[str], Sequence[int]]  # symbols of a paragraph with its end
ORDERS = {"bytes": 10, "tokens": 6}  # highest order of each kind


def measure_text(
    checkpoint: Checkpoint,
    paragraphs: Sequence[str],
    stride: int = STRIDE,
    progress: Callable[[int], object] = lambda done: None,
) -> tuple[dict[str, Any], ParagraphCosts]:
    """Returns the scores of a model on a text, and the costs of the paragraphs."""
    costs = score_text(checkpoint.model, checkpoint.target_tokenizer, paragraphs, stride, progress)
    result = {
        "paragraphs": len(paragraphs),
        "tokens": int(costs.tokens.sum()),
        "characters": int(costs.characters.sum()),
        "nats_per_token": round(float(costs.nats.sum() / costs.tokens.sum()), 4),
        **_bits(costs.nats, costs.characters),
        "stride": stride,
        "context": MAX_TOKENS - stride,
        "resamples": RESAMPLES,
        "seed": SEED,
    }
    return result, costs


def measure_baseline(
    tokenizer: Tokenizer,
    texts: Sequence[Sequence[str]],
    dev: Sequence[Sequence[str]],
    paragraphs: Sequence[str],
    model: ParagraphCosts,
) -> dict[str, Any]:
    """Returns the scores of n-gram models of bytes and of tokens, counted in `texts`, on the same text.

    `dev` chooses the order of each kind. The gain compares `model` with the better kind, in bits per character.
    """
    kinds: dict[str, tuple[ToSymbols, int]] = {
        "bytes": (lambda text: text.encode() + LINE_END, 256),
        "tokens": (lambda text: (*tokenizer.encode(text), END), tokenizer.size),
    }
    results, nats = {}, {}
    for name, (symbols, size) in kinds.items():
        ngrams = NGrams([_concatenate(text, symbols)[0] for text in texts], size, ORDERS[name])
        on_dev = np.sum([_costs(ngrams, text, symbols).sum(axis=1) for text in dev], axis=0)  # [order]
        order = int(on_dev.argmin())
        nats[name] = _costs(ngrams, paragraphs, symbols)[order]
        length = sum(count_characters(text) for file in dev for text in file)
        results[name] = {"order": order + 1} | _bits(nats[name], model.characters)
        results[name]["dev"] = [round(bits_per_character(cost, length), 4) for cost in on_dev.tolist()]
    best = min(results, key=lambda name: results[name]["bits_per_character"])
    gained = _bits(nats[best] - model.nats, model.characters)
    return {"best": best, **results, "gain": gained}


def _costs(counted: NGrams, paragraphs: Sequence[str], symbols: ToSymbols) -> np.ndarray:
    """Returns the nats of each paragraph by the model of each order: [order, P]."""
    stream, lengths = _concatenate(paragraphs, symbols)
    return np.stack([sum_segments(-np.log(row), lengths) for row in counted.probabilities(stream)])


def _concatenate(paragraphs: Sequence[str], symbols: ToSymbols) -> tuple[np.ndarray, np.ndarray]:
    """Returns the symbols of a text, and their number per paragraph."""
    rows = [np.array(list(symbols(text))) for text in paragraphs]
    return np.concatenate(rows), np.array([len(row) for row in rows])


def _bits(nats: np.ndarray, counts: np.ndarray) -> dict[str, Any]:
    """Returns bits per character of paragraphs [P], and the middle 95% of samples; None for one paragraph."""
    mean, low, high = (round(float(each), 4) for each in intervals(nats / np.log(2), counts))
    return {"bits_per_character": mean, "interval": [low, high] if len(nats) > 1 else None}


def example_scores(log_probs: np.ndarray, labels: np.ndarray) -> ExampleScores:
    """Scores log-probabilities [N,C] against labels [N]."""
    return ExampleScores(log_probs[np.arange(len(labels)), labels], log_probs.argmax(-1) == labels)


def summarize(results: ExampleScores, groups: Sequence[int] | None = None) -> dict[str, Any]:
    """Returns accuracy and log-loss in nats, with intervals over the groups of examples (by default over examples).

    A single group has None as its interval.
    """
    return _with_intervals(results.right.astype(float), -results.log_probs, groups)


def gain(results: ExampleScores, baseline: ExampleScores, groups: Sequence[int] | None = None) -> dict[str, Any]:
    """Returns the model's gain over the baseline, in the same samples."""
    return _with_intervals(results.right.astype(float) - baseline.right, results.log_probs - baseline.log_probs, groups)


def _with_intervals(right: np.ndarray, loss: np.ndarray, groups: Sequence[int] | None) -> dict[str, Any]:
    number = np.arange(len(right)) if groups is None else np.unique(groups, return_inverse=True)[1]
    counts, result = np.bincount(number), {}
    for name, values in (("accuracy", right), ("log_loss", loss)):
        mean, low, high = (round(float(each), 4) for each in intervals(np.bincount(number, values), counts))
        result |= {name: mean, f"{name}_interval": [low, high] if len(counts) > 1 else None}
    return result | {"resamples": RESAMPLES, "seed": SEED}


SAMPLING_KEY = "evaluate"  # seed key of blanks and pairs
BATCH_PAIRS = 64  # pairs per batch
Progress = Callable[[int], object]


def measure_blanks(
    checkpoint: Checkpoint, data: Books, counted: tuple[Books, Books] | None, progress: Progress
) -> dict[str, Any]:
    """Scores single blanks of the sentences of `data`; with training and dev texts also the count baseline.

    Raises ValueError where no sentence has a word of one token.
    """
    tokenizer, choices = checkpoint.source_tokenizer, BlankVocabulary(checkpoint.source_tokenizer)
    sentences = _sentences(data)
    sampled = sample_blanks(sentences, tokenizer, choices, SAMPLING_KEY)
    if not sampled:
        raise ValueError("no sentence has a word that is one token of the vocabulary; expected some")
    own = [blank.sentence for blank in sampled]
    results = score(checkpoint.model, tokenizer, sentences, sampled, choices, progress)
    report = {"blanks": len(sampled), "choices": [len(each) for each in choices.tokens.values()], **summarize(results, own)}
    if counted is None:
        return report
    dev = _sentences(counted[1])
    tuning = sample_blanks(dev, tokenizer, choices, SAMPLING_KEY)
    if not tuning:
        raise ValueError("no sentence of --dev has a word that is one token of the vocabulary; expected some")
    counts = NeighbourCounts(
        tokenizer, choices, _sentences(counted[0]), [(dev, b) for b in tuning] + [(sentences, b) for b in sampled]
    )
    rival = NeighbourBaseline(counts, dev, tuning).score(sentences, sampled)
    return report | {"neighbours": summarize(rival, own), "gain": gain(results, rival, own)}


def measure_pairs(checkpoint: Checkpoint, data: Books, counted: tuple[Books, Books] | None) -> dict[str, Any]:
    """Scores pairs of sentences of `data`, half of which are consecutive; with training and dev texts also word overlap.

    Raises ValueError where no pair can be made.
    """
    examples = _pairs(data)
    labels = np.array([row.label for row in examples])
    if not examples:
        raise ValueError("the text has too few sentences to make pairs of; expected at least 3")
    results = _score_pairs(checkpoint, examples, labels)
    report = {"pairs": len(examples), **summarize(results)}
    if counted is None:
        return report
    train, dev = (_pairs(books) for books in counted)
    if not (train and dev):
        raise ValueError("--baseline or --dev has too few sentences to make pairs of; expected at least 3")
    overlap = WordOverlap(checkpoint.source_tokenizer, _sentences(counted[0]))
    x = standardize(*(overlap.features(rows) for rows in (train, dev, examples)))
    y = [torch.tensor([row.label for row in rows]) for rows in (train, dev)]
    regression, _ = count_baselines.tune_regression((x[0], y[0]), (x[1], y[1]), 2)
    rival = example_scores(regression.log_probs(x[2]).numpy(), labels)
    return report | {"overlap": summarize(rival) | {"penalty": regression.penalty}, "gain": gain(results, rival)}


def _sentences(books: Books) -> list[list[int]]:
    return [ids for book in books.books for ids in book]


def _pairs(books: Books) -> list[Row]:
    return [row for row in books.rows(SAMPLING_KEY, single_share=0) if row.label != IGNORE_INDEX]


@torch.inference_mode()
def _score_pairs(checkpoint: Checkpoint, rows: Sequence[Row], labels: np.ndarray) -> ExampleScores:
    model = checkpoint.model

    def log_probs(first: int) -> np.ndarray:
        source = pad([row.ids for row in rows[first : first + BATCH_PAIRS]]).to(checkpoint.device)
        logits = model.next_sentence_logits(teacher_forced_states(model, source, None), source)
        return logits.double().log_softmax(-1).cpu().numpy()

    return example_scores(np.concatenate(list(ordered_map(log_probs, range(0, len(rows), BATCH_PAIRS)))), labels)


BATCH_TOKENS = 8192  # per batch
Texts = Sequence[tuple[str, str]]  # label and text


def measure_labels(checkpoint: Checkpoint, texts: Texts, counted: tuple[Texts, Texts] | None) -> dict[str, Any]:
    """Scores the labels of the texts; with training and dev texts also a bag of words."""
    classes, model = checkpoint.config.classes, checkpoint.model
    read = LabelledTexts(texts, checkpoint.source_tokenizer, classes, checkpoint.config.source_start)
    log_probs, labels = np.empty((len(read), len(classes))), np.array(read.labels)

    def measure(rows: Sequence[int]) -> np.ndarray:
        source = read.batch(rows).source.to(checkpoint.device)
        logits = model.label_logits(teacher_forced_states(model, source, None), source)
        return logits.double().log_softmax(-1).cpu().numpy()

    with torch.inference_mode():
        batches = list(read.batches(BATCH_TOKENS, 0, 0))
        for rows, each in zip(batches, ordered_map(measure, batches), strict=True):
            log_probs[rows] = each
    results = example_scores(log_probs, labels)
    report = {"texts": len(read), "classes": list(classes), "cut": read.shortened, **summarize(results)}
    if counted is None:
        return report
    train, dev = (([text for _, text in each], _label_ids(each, classes)) for each in counted)
    bags, regression, _ = count_baselines.tune_bag_of_words(train, dev, len(classes))
    rival = example_scores(regression.log_probs(bags.features([text for _, text in texts])).numpy(), labels)
    kind = {"order": bags.order, "columns": len(bags.columns), "penalty": regression.penalty}
    return report | {"bag_of_words": summarize(rival) | kind, "gain": gain(results, rival)}


def _label_ids(texts: Texts, classes: Sequence[str]) -> torch.Tensor:
    return torch.tensor([classes.index(label) for label, _ in texts])
