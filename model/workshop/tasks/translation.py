"""Training task translate: an encoder-decoder learns from pairs of sentences."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from model.config import TrainConfig
from model.text.corpus_stats import Seen
from model.text.languages import PAIR, record_of
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.bpe_dropout import Dropout, Dropped
from model.workshop.corpus.corpus import (
    Corpus,
    DataError,
    count_tokens,
    read_pairs,
    with_typeset_copies,
)
from model.workshop.corpus.phrases import Phrases
from model.workshop.corpus.probes import read_probes
from model.workshop.corpus.rewriting import KINDS, Rewritten, rewritten_pairs
from model.workshop.corpus.typed_copies import Joins, with_typed_copies
from model.workshop.evaluation import translation_card
from model.workshop.training import sample_outputs, snapshots
from model.workshop.training.loss import batch_loss
from model.workshop.training.preparation import Material, Order, vocabularies
from model.workshop.training.validation import Translations

MADE = (*KINDS, "phrase_share")  # settings: synthetic pairs for each pair of the corpus


class Epochs:
    """The pairs of every epoch and the order of their batches. Both depend on the settings only."""

    def __init__(
        self,
        corpus: Corpus,
        pairs: Sequence[tuple[str, str]],
        source: Tokenizer,
        target: Tokenizer,
        config: TrainConfig,
        read: Sequence[tuple[str, str]] = (),
    ) -> None:
        """`pairs` are the encoded pairs of the corpus, `file_pairs` those of them that the files have.

        Raises DataError if the settings ask for rewritten pairs and no pair allows it.
        """
        self.config, self.whole, self.tokenizers = config, corpus, (source, target)
        self.joins = Joins.encode(corpus, pairs, source, target) if config.joined_share else None
        self.made = [(share, key, _made(key, read, config.seed)) for key in MADE if (share := getattr(config, key))]
        share = config.bpe_dropout
        dropouts = {
            tokenizer: _dropout(tokenizer, share) for tokenizer in (source, target) if share
        }  # one if the vocabulary is joint
        self.dropouts = (dropouts[source], dropouts[target]) if share else None
        self.usual, self.corpus = lru_cache(1)(self._usual), lru_cache(1)(self._corpus)

    def _corpus(self, epoch: int) -> Corpus | Dropped:
        """Returns the training pairs of an epoch."""
        usual = self.usual(epoch)
        return Dropped(usual, *self.dropouts, f"dropped/{self.config.seed}/{epoch}") if self.dropouts else usual

    def _usual(self, epoch: int) -> Corpus:
        """Returns all pairs of an epoch, without BPE-dropout."""
        config = self.config
        corpus = self.joins.with_joined(config.joined_share, config.seed, epoch) if self.joins else self.whole
        for share, key, generator in self.made:
            draw = random.Random(f"{key}/{config.seed}/{epoch}")
            pairs = list(generator.drawn(round(share * len(self.whole)), draw))
            if key in KINDS:  # phrases have their own typed forms
                pairs = with_typed_copies(pairs, config.typed_copies)
            encoded = Corpus.encode(pairs, *self.tokenizers)
            corpus = corpus.with_rows(encoded.sources, encoded.targets)
        return corpus

    def batches(self, epoch: int) -> list[list[int]]:
        """Returns the rows of each batch of an epoch."""
        corpus = self.usual(epoch)
        late = epoch >= self.config.epochs - self.config.first_target_epochs
        synthetic = range(len(self.whole), len(corpus))
        rows = [*self.whole.first, *synthetic] if late else None
        return corpus.batches(self.config.batch_tokens, self.config.seed, epoch, rows)


def _made(key: str, read: Sequence[tuple[str, str]], seed: int) -> Rewritten | Phrases:
    """Returns the generator of pairs for a setting of `SYNTHETIC_PAIRS`. Raises DataError if it has none to draw from."""
    if key in KINDS:
        return rewritten_pairs(key, read, seed)
    phrases = Phrases(read)
    if not phrases.found:
        raise DataError("--phrase-share: no phrase has the same translation often enough; remove the option.")
    return phrases


def _dropout(tokenizer: Tokenizer, share: float) -> Dropout:
    """Returns the BPE-dropout of a vocabulary. Raises ValueError for a vocabulary without a list of merges."""
    try:
        return Dropout(tokenizer, share)
    except ValueError as fault:
        raise ValueError(
            f"--bpe-dropout is {share:g}; expected 0, because the initial vocabulary has no list of merges"
        ) from fault


def prepare(order: Order) -> Material:
    """Prepares the pairs of all files, with copies as people type them. Dev has the first target of each source."""
    files, (dev,), config = order.files.train, order.files.dev, order.config
    read = [pair for path in files for pair in read_pairs(path)]
    reads, writes = order.languages or PAIR
    shipped = next((path for path in record_of(reads).probes.get(writes, ()) if path.exists()), None)
    probes = order.files.probes or shipped
    watched = read_probes(probes) if probes else []
    pairs = with_typed_copies(with_typeset_copies(read), config.typed_copies)
    both = order.vocabulary(lambda: vocabularies(pairs, config.vocab_size, order.options.get("joint_vocab", True)))
    model, corpus = order.model(*both), Corpus.encode(pairs, *both)
    epochs = Epochs(corpus, pairs, *both, config, read)
    if not len(corpus):
        raise DataError(f"{', '.join(map(str, files))}: every pair is longer than the text limit.")
    counts = {
        "source": count_tokens(corpus.sources, both[0].size),
        "target": count_tokens(corpus.targets, both[1].size),
    }

    def seen(epoch: int) -> Seen:
        known = epochs.usual(epoch)
        return Seen.count(known.sources, known.targets, both[0], written=len(corpus))

    copies = len(pairs) - len(read)
    description = f"{len(corpus)} pairs"
    if copies:
        description += f" ({copies} of them copies as people type them)"
    if corpus.dropped:
        description += f", {corpus.dropped} left out as too long"
    return Material(
        *both,
        model=model,
        epochs=epochs,
        dev=Translations(dev, *both, 4 * config.batch_tokens),
        loss=batch_loss,
        size={"pairs": len(corpus), "copies": sum(row >= len(read) for row in corpus.kept)},
        told=description,
        counts=counts,
        seen=seen,
        card=translation_card.card,
        watched=snapshots.encode(watched, *both),
        writes=sample_outputs.translations(both[1]),
    )
