"""--task translate: an encoder-decoder learns from pairs of sentences.

What each epoch of a run is trained on."""

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

MADE = (*KINDS, "phrase_share")  # settings: how many pairs are made besides, to one of the corpus


class Epochs:
    """The pairs of every epoch and the order of their batches: both follow from the settings, so that a run that goes on
    finds what it left."""

    def __init__(
        self,
        corpus: Corpus,
        pairs: Sequence[tuple[str, str]],
        source: Tokenizer,
        target: Tokenizer,
        config: TrainConfig,
        read: Sequence[tuple[str, str]] = (),
    ) -> None:
        """`pairs` are those that the corpus was encoded from, `read` those of them that the files have. DataError where
        none of these has a name or a number that could be another, though the settings ask for it."""
        self.config, self.whole, self.tokenizers = config, corpus, (source, target)
        self.joins = Joins.encode(corpus, pairs, source, target) if config.joined_share else None
        self.made = [(share, key, _made(key, read, config.seed)) for key in MADE if (share := getattr(config, key))]
        share = config.bpe_dropout
        found = {tokenizer: _dropout(tokenizer, share) for tokenizer in (source, target) if share}  # one where both are one
        self.dropouts = (found[source], found[target]) if share else None
        self.usual, self.corpus = lru_cache(1)(self._usual), lru_cache(1)(self._corpus)

    def _corpus(self, epoch: int) -> Corpus | Dropped:
        """What an epoch is trained on."""
        usual = self.usual(epoch)
        return Dropped(usual, *self.dropouts, f"dropped/{self.config.seed}/{epoch}") if self.dropouts else usual

    def _usual(self, epoch: int) -> Corpus:
        """All pairs of an epoch, cut as the vocabulary has it."""
        config = self.config
        found = self.joins.with_joined(config.joined_share, config.seed, epoch) if self.joins else self.whole
        for share, key, made in self.made:
            draw = random.Random(f"{key}/{config.seed}/{epoch}")
            pairs = list(made.drawn(round(share * len(self.whole)), draw))
            if key in KINDS:  # phrases come typed, each in one of the ways of its own
                pairs = with_typed_copies(pairs, config.typed_copies)
            encoded = Corpus.encode(pairs, *self.tokenizers)
            found = found.with_rows(encoded.sources, encoded.targets)
        return found

    def batches(self, epoch: int) -> list[list[int]]:
        """Rows of that epoch's corpus, batch by batch."""
        corpus = self.usual(epoch)
        late = epoch >= self.config.epochs - self.config.first_target_epochs
        made = range(len(self.whole), len(corpus))
        rows = [*self.whole.first, *made] if late else None
        return corpus.batches(self.config.batch_tokens, self.config.seed, epoch, rows)


def _made(key: str, read: Sequence[tuple[str, str]], seed: int) -> Rewritten | Phrases:
    """What draws the pairs of a setting of `MADE`; DataError where there is nothing to draw."""
    if key in KINDS:
        return rewritten_pairs(key, read, seed)
    found = Phrases(read)
    if not found.found:
        raise DataError(
            "--phrase-share: no word or phrase of the pairs is translated alike often enough; leave the option out."
        )
    return found


def _dropout(tokenizer: Tokenizer, share: float) -> Dropout:
    """ValueError for a vocabulary that is no list of merges, as those of other programs."""
    try:
        return Dropout(tokenizer, share)
    except ValueError as fault:
        raise ValueError(
            f"--bpe-dropout is {share:g}; expected 0, for the vocabulary that this run begins with has no list of merges"
        ) from fault


def prepare(order: Order) -> Material:
    """Pairs of all files, with copies as people type them; of dev the first target of each source."""
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
    told = f"{len(corpus)} pairs"
    if copies:
        told += f" ({copies} of them copies as people type them)"
    if corpus.dropped:
        told += f", {corpus.dropped} left out as too long"
    return Material(
        *both,
        model=model,
        epochs=epochs,
        dev=Translations(dev, *both, 4 * config.batch_tokens),
        loss=batch_loss,
        size={"pairs": len(corpus), "copies": sum(row >= len(read) for row in corpus.kept)},
        told=told,
        counts=counts,
        seen=seen,
        card=translation_card.card,
        watched=snapshots.encode(watched, *both),
        writes=sample_outputs.translations(both[1]),
    )
