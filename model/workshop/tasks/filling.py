"""Training task mlm: an encoder fills in blanks and predicts whether a sentence follows another (Devlin et al. 2019)."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ...config import PAD, ModelConfig, TrainConfig
from ...network.context import teacher_forced_states
from ...network.transformer import EncoderOnly
from ...text.languages import watched_texts
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import count_tokens
from ..corpus.sentence_pairs import IGNORE_INDEX, Books, EncoderBatch, MaskedRows, read_sentences
from ..corpus.windows import Masking
from ..evaluation import reading_card
from ..evaluation.probes import read_probe_texts
from ..training import snapshots
from ..training.loss_and_validation import Validator, smoothed_loss
from ..training.preparation import TrainingData, TrainingSetup
from ..training.run_folder import TrainingError


def prepare(setup: TrainingSetup) -> TrainingData:
    """Prepares pairs of sentences. Every epoch has new pairs and new blanks."""
    config = setup.config
    texts = [read_sentences(path) for path in setup.files.train]
    probes = setup.files.probes
    watched = read_probe_texts(probes) if probes else watched_texts(setup.languages[0], "watched_blanks")
    tokenizer, _ = setup.vocabulary(lambda: _learn_vocabulary(texts, config.vocab_size))
    if tokenizer.mask is None:
        raise TrainingError("the vocabulary of --init has no blank token; use a checkpoint that has one.")
    model, books = _model_config(setup.model(tokenizer, tokenizer), setup.start is None), Books.encode(texts, tokenizer)
    masking = Masking(tokenizer, config.masked, config.whole_words)
    epochs = FillingEpochs(books, masking, config, model.follows)
    counts = count_tokens([ids for book in books.books for ids in book], tokenizer.size)
    description = f"{books.sentences:,} sentences, {books.tokens:,} tokens, in {len(texts)} " + (
        "text" if len(texts) == 1 else "texts"
    )
    return TrainingData(
        tokenizer,
        tokenizer,
        model=model,
        epochs=epochs,
        dev=FillingValidator(setup.files.dev, masking, 4 * config.batch_tokens, model.follows),
        loss=partial(blank_loss, each_pair=epochs.corpus(0).blanks_a_pair),
        size={"texts": len(texts), "sentences": books.sentences, "tokens": books.tokens},
        description=description + (f", {books.shortened} cut off as too long" if books.shortened else ""),
        counts={"source": counts, "target": counts},
        card=reading_card.card,
        watched=snapshots.encode_blanks(watched, tokenizer, model.source_start),
        write_samples=snapshots.filled_blanks(tokenizer),
    )


def _learn_vocabulary(texts: Sequence[Sequence[str]], size: int) -> tuple[Tokenizer, Tokenizer]:
    tokenizer = Tokenizer.train((sentence for text in texts for sentence in text), size, blanks=True)
    return tokenizer, tokenizer


def _model_config(config: ModelConfig, is_new: bool) -> ModelConfig:
    """Removes segments and pooler from a new model that does not predict whether a sentence follows."""
    return config if config.follows or not is_new else dataclasses.replace(config, segments=0, pooler=False)


class FillingEpochs:
    """The pairs and the blanks of every epoch."""

    def __init__(self, books: Books, masking: Masking, config: TrainConfig, pairs: bool) -> None:
        self.config = config
        self.corpus = lru_cache(1)(lambda epoch: epoch_rows(books, masking, f"{config.seed}/{epoch}", pairs))

    def batches(self, epoch: int) -> list[list[int]]:
        return self.corpus(epoch).batches(self.config.batch_tokens, self.config.seed, epoch)


def epoch_rows(books: Books, masking: Masking, key: str, pairs: bool) -> MaskedRows:
    """Returns the rows of an epoch with their blanks."""
    return MaskedRows(books.rows(f"{key}/pairs", pairs), masking, f"{key}/blanks")


def losses(model: EncoderOnly, batch: EncoderBatch, smoothing: float = 0.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns logits of the blanks [N,V] and their summed loss, then logits of the pairs [P,2] and their summed loss, in
    nats."""
    hidden, real = teacher_forced_states(model, batch.source, None), batch.outputs != PAD  # [B,S,D], [B,S]
    logits = model.project(hidden[real])
    filled = smoothed_loss(logits, batch.outputs[real], smoothing)
    if not model.config.follows:
        return logits, filled, hidden.new_zeros(0, 2), hidden.new_zeros(())
    pairs = model.next_sentence_logits(hidden, batch.source).float()  # [B,2]
    followed = F.cross_entropy(pairs, batch.labels, ignore_index=IGNORE_INDEX, reduction="sum")
    return logits, filled, pairs[batch.labels != IGNORE_INDEX], followed


def blank_loss(model: EncoderOnly, batch: EncoderBatch, smoothing: float, each_pair: float) -> tuple[Tensor, int]:
    """Returns the summed loss of the blanks plus `each_pair` times that of the pairs, and the number of blanks.

    With `MaskedRows.blanks_a_pair` both losses have equal weight over an epoch, and a pair has the same weight in every
    batch.
    """
    logits, filled, _, followed = losses(model, batch, smoothing)
    return filled + each_pair * followed, len(logits)


class FillingValidator(Validator):
    """Pairs of the dev texts with the same blanks at every validation."""

    corpus: MaskedRows

    def __init__(self, paths: Sequence[Path], masking: Masking, tokens: int, pairs: bool) -> None:
        """`tokens` is the size of a batch. Raises DataError for a bad file."""
        self.books = Books.encode([read_sentences(path) for path in paths], masking.tokenizer)
        corpus = epoch_rows(self.books, masking, "dev", pairs)
        super().__init__(corpus, tokens, partial(blank_loss, each_pair=corpus.blanks_a_pair))

    @torch.inference_mode()
    def _measure(self, model: EncoderOnly, precision: AbstractContextManager) -> dict[str, float]:
        """Returns both losses and the shares of correct predictions."""
        was_training, device = model.training, next(model.parameters()).device
        model.eval()
        sums = dict.fromkeys(("blanks", "blank_loss", "blanks_right", "pairs", "pair_loss", "pairs_right"), 0.0)
        with precision:
            for indices in self.batches:
                batch = self.corpus.batch(indices).to(device)
                logits, filled, pairs, followed = losses(model, batch)
                targets, labels = batch.outputs[batch.outputs != PAD], batch.labels[batch.labels != IGNORE_INDEX]
                right = (logits.argmax(-1) == targets).sum(), (pairs.argmax(-1) == labels[: len(pairs)]).sum()
                values = (len(logits), filled, right[0], len(pairs), followed, right[1])
                sums = {name: total + float(each) for (name, total), each in zip(sums.items(), values, strict=True)}
        model.train(was_training)
        parts = {name: sums[name] / sums["blanks"] for name in ("blank_loss", "blanks_right")}
        if sums["pairs"]:
            parts |= {name: sums[name] / sums["pairs"] for name in ("pair_loss", "pairs_right")}
        return parts

    def loss(self, model: EncoderOnly, precision: AbstractContextManager) -> float:
        """Returns nats a blank plus nats a pair. The model keeps its mode."""
        parts = self._measure(model, precision)
        return parts["blank_loss"] + parts.get("pair_loss", 0.0)

    def scores(self, model: EncoderOnly) -> dict[str, Any]:
        """Returns both losses, and the shares of blanks and of pairs that are right."""
        return {name: round(value, 4) for name, value in self._measure(model, contextlib.nullcontext()).items()}

    def sample_size(self) -> dict[str, int]:
        return {"sentences": self.books.sentences, "tokens": self.books.tokens}

    def describe(self, entry: dict[str, Any]) -> str:
        pairs = f", {entry['pairs_right']:.1%} of the pairs" if "pairs_right" in entry else ""
        return f"{super().describe(entry)}, {entry['blanks_right']:.1%} of the blanks right{pairs}"
