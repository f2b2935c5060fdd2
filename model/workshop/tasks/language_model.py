"""Training task lm: a decoder-only model predicts the next token of texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...config import TrainConfig
from ...text.languages import watched_texts
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import count_tokens
from ..corpus.windows import Texts, Windows, read_paragraphs
from ..evaluation import text_card
from ..evaluation.probes import read_probe_texts
from ..evaluation.scoring import bits_per_character
from ..training import snapshots
from ..training.loss_and_validation import Validator, batch_loss
from ..training.preparation import TrainingData, TrainingSetup


def prepare(setup: TrainingSetup) -> TrainingData:
    """Prepares windows of the texts, with new limits in every epoch. A paragraph ends in `</s>`."""
    files, config = setup.files, setup.config
    texts = [read_paragraphs(path) for path in files.train]
    watched = read_probe_texts(files.probes) if files.probes else watched_texts(setup.languages[0], "watched_prompts")
    tokenizer, _ = setup.vocabulary(lambda: _learn_vocabulary(texts, config.vocab_size))
    model, encoded = setup.model(tokenizer, tokenizer), Texts.encode(texts, tokenizer)
    counts = count_tokens(encoded.streams, tokenizer.size)
    size = {"texts": len(texts)} | encoded.size
    return TrainingData(
        tokenizer,
        tokenizer,
        model=model,
        epochs=ShiftedEpochs(encoded, config),
        dev=TextValidator(files.dev, tokenizer, 4 * config.batch_tokens),
        loss=batch_loss,
        size=size,
        description=f"{encoded.tokens:,} tokens of {encoded.paragraphs:,} paragraphs in {len(texts)} "
        + ("text" if len(texts) == 1 else "texts"),
        counts={"source": (0,) * tokenizer.size, "target": counts},
        watched=snapshots.encode_texts(watched, tokenizer),
        write_samples=snapshots.continuations(tokenizer),
        card=text_card.card,
    )


def _learn_vocabulary(texts: Sequence[Sequence[str]], size: int) -> tuple[Tokenizer, Tokenizer]:
    tokenizer = Tokenizer.train((paragraph for text in texts for paragraph in text), size)
    return tokenizer, tokenizer


class ShiftedEpochs:
    """The windows of every epoch: the same tokens in other windows, so that each has more or less context."""

    def __init__(self, texts: Texts, config: TrainConfig) -> None:
        self.config = config
        self.corpus = lru_cache(1)(lambda epoch: texts.shifted(config.seed, epoch))

    def batches(self, epoch: int) -> list[list[int]]:
        return self.corpus(epoch).batches(self.config.batch_tokens, self.config.seed, epoch)


class TextValidator(Validator):
    """Windows of the dev texts, without a shift."""

    corpus: Windows

    def __init__(self, paths: Sequence[Path], tokenizer: Tokenizer, tokens: int) -> None:
        """`tokens` is the size of a batch. Raises DataError for a bad file."""
        self.texts = Texts.encode([read_paragraphs(path) for path in paths], tokenizer)
        super().__init__(self.texts.windows([0] * len(paths)), tokens, batch_loss)

    def other_units(self, loss: float) -> dict[str, float]:
        """Returns bits a character. `evaluate` gives fewer, because here the start of a window has little context."""
        return {"bits_per_character": round(bits_per_character(loss * self.texts.tokens, self.texts.characters), 4)}

    def sample_size(self) -> dict[str, int]:
        return self.texts.size

    def describe(self, entry: dict[str, Any]) -> str:
        return f"{super().describe(entry)}, {entry['bits_per_character']} bits a character"
