"""Training task classify: an encoder assigns one of several labels to a text, from scratch or from a pretrained encoder."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from ...config import ModelConfig, TrainConfig
from ...network.context import teacher_forced_states
from ...network.transformer import EncoderOnly
from ...text.languages import watched_texts
from ...text.tokenizer import Tokenizer
from ..corpus.sentence_pairs import EncoderBatch, LabelledTexts, read_labelled
from ..evaluation import reading_card
from ..evaluation.probes import read_probe_texts
from ..training import snapshots
from ..training.loss_and_validation import Validator, smoothed_loss
from ..training.preparation import TrainingData, TrainingSetup


def prepare(setup: TrainingSetup) -> TrainingData:
    """Prepares texts with their labels. The labels of dev must occur in training."""
    (train,), (dev,), config = setup.files.train, setup.files.dev, setup.config
    texts = read_labelled(train)
    probes = setup.files.probes
    watched = read_probe_texts(probes) if probes else watched_texts(setup.languages[0], "watched_judged")
    classes = tuple(sorted({label for label, _ in texts}))
    tokenizer, _ = setup.vocabulary(lambda: _learn_vocabulary([text for _, text in texts], config.vocab_size))
    model = _model_config(setup.model(tokenizer, tokenizer), classes)
    read = LabelledTexts(texts, tokenizer, classes, model.source_start)
    description = f"{len(read):,} texts with {len(classes)} labels"
    if read.shortened:
        description += f", {read.shortened} cut off as too long"
    return TrainingData(
        tokenizer,
        tokenizer,
        model=model,
        epochs=LabelledEpochs(read, config),
        dev=LabelValidator(
            LabelledTexts(read_labelled(dev, classes), tokenizer, classes, model.source_start), 4 * config.batch_tokens
        ),
        loss=label_loss,
        size={"texts": len(read)},
        description=description,
        counts={"source": read.counts, "target": read.counts},
        card=reading_card.card,
        watched=snapshots.encode_labelled(watched, tokenizer, classes, model.source_start),
        write_samples=snapshots.predicted_labels,
    )


def _learn_vocabulary(texts: list[str], size: int) -> tuple[Tokenizer, Tokenizer]:
    tokenizer = Tokenizer.train(texts, size)
    return tokenizer, tokenizer


def _model_config(config: ModelConfig, classes: tuple[str, ...]) -> ModelConfig:
    """Adds a head for the labels. Removes the heads of a pretrained model, because nothing would train them."""
    changes = {"follows": False, "output_transform": False, "output_bias": False, "tied_output": True}
    return dataclasses.replace(config, classes=classes, pooler=True, **changes)


class LabelledEpochs:
    """The texts in new batches for every epoch."""

    def __init__(self, texts: LabelledTexts, config: TrainConfig) -> None:
        self.texts, self.config = texts, config

    def corpus(self, epoch: int) -> LabelledTexts:
        return self.texts

    def batches(self, epoch: int) -> list[list[int]]:
        return self.texts.batches(self.config.batch_tokens, self.config.seed, epoch)


def label_loss(model: EncoderOnly, batch: EncoderBatch, smoothing: float) -> tuple[Tensor, int]:
    """Returns the summed loss of a batch in nats, and its number of texts."""
    logits = model.label_logits(teacher_forced_states(model, batch.source, None), batch.source)  # [B,C]
    return smoothed_loss(logits, batch.labels, smoothing), len(batch.labels)


class LabelValidator(Validator):
    """The dev texts."""

    corpus: LabelledTexts

    def __init__(self, corpus: LabelledTexts, tokens: int) -> None:
        """`tokens` is the size of a batch."""
        super().__init__(corpus, tokens, label_loss)

    @torch.inference_mode()
    def scores(self, model: EncoderOnly) -> dict[str, Any]:
        """Returns the share of labels that are right."""
        was_training, device, right = model.training, next(model.parameters()).device, 0
        model.eval()
        for indices in self.batches:
            batch = self.corpus.batch(indices).to(device)
            chosen = model.label_logits(teacher_forced_states(model, batch.source, None), batch.source).argmax(-1)
            right += int((chosen == batch.labels).sum())
        model.train(was_training)
        return {"labels_right": round(right / len(self.corpus), 4)}

    def sample_size(self) -> dict[str, int]:
        return {"texts": len(self.corpus)}

    def describe(self, entry: dict[str, Any]) -> str:
        return f"{super().describe(entry)}, {entry['labels_right']:.1%} of the labels right"
