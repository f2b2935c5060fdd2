"""Training task translate: an encoder-decoder learns from pairs of sentences."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from ...config import TrainConfig
from ...text.corpus_stats import CorpusStats
from ...text.languages import PAIR, record_of
from ...text.tokenizer import Tokenizer
from ..corpus.augmentation import BpeDropout, BpeDropoutCorpus, JoinedPairs, with_typed_copies
from ..corpus.corpus import Corpus, DataError, count_tokens, read_pairs, with_typeset_copies
from ..corpus.phrases import Phrases
from ..corpus.rewriting import REWRITERS, RewrittenPairs, rewritten_pairs
from ..evaluation import translation_card
from ..evaluation.probes import read_probes
from ..training import snapshots
from ..training.loss_and_validation import TranslationValidator, batch_loss
from ..training.preparation import TrainingData, TrainingSetup, learn_vocabularies

SYNTHETIC_PAIRS = (*REWRITERS, "phrase_share")  # settings: synthetic pairs for each pair of the corpus


class TranslationEpochs:
    """The pairs of every epoch and the order of their batches. Both depend on the settings only."""

    def __init__(
        self,
        corpus: Corpus,
        pairs: Sequence[tuple[str, str]],
        source: Tokenizer,
        target: Tokenizer,
        config: TrainConfig,
        file_pairs: Sequence[tuple[str, str]] = (),
    ) -> None:
        """`pairs` are the encoded pairs of the corpus, `file_pairs` those of them that the files have.

        Raises DataError if the settings ask for rewritten pairs and no pair allows it.
        """
        self.config, self.full_corpus, self.tokenizers = config, corpus, (source, target)
        self.joins = JoinedPairs.encode(corpus, pairs, source, target) if config.joined_share else None
        self.generators = [
            (share, key, _pair_generator(key, file_pairs, config.seed))
            for key in SYNTHETIC_PAIRS
            if (share := getattr(config, key))
        ]
        share = config.bpe_dropout
        dropouts = {
            tokenizer: _bpe_dropout(tokenizer, share) for tokenizer in (source, target) if share
        }  # one if the vocabulary is joint
        self.dropouts = (dropouts[source], dropouts[target]) if share else None
        self.plain_corpus, self.corpus = lru_cache(1)(self._plain_corpus), lru_cache(1)(self._corpus)

    def _corpus(self, epoch: int) -> Corpus | BpeDropoutCorpus:
        """Returns the training pairs of an epoch."""
        usual = self.plain_corpus(epoch)
        return BpeDropoutCorpus(usual, *self.dropouts, f"dropped/{self.config.seed}/{epoch}") if self.dropouts else usual

    def _plain_corpus(self, epoch: int) -> Corpus:
        """Returns all pairs of an epoch, without BPE-dropout."""
        config = self.config
        corpus = self.joins.with_joined(config.joined_share, config.seed, epoch) if self.joins else self.full_corpus
        for share, key, generator in self.generators:
            draw = random.Random(f"{key}/{config.seed}/{epoch}")
            pairs = list(generator.sample(round(share * len(self.full_corpus)), draw))
            if key in REWRITERS:  # phrases have their own typed forms
                pairs = with_typed_copies(pairs, config.typed_copies)
            encoded = Corpus.encode(pairs, *self.tokenizers)
            corpus = corpus.with_rows(encoded.sources, encoded.targets)
        return corpus

    def batches(self, epoch: int) -> list[list[int]]:
        """Returns the rows of each batch of an epoch."""
        corpus = self.plain_corpus(epoch)
        late = epoch >= self.config.epochs - self.config.first_target_epochs
        synthetic = range(len(self.full_corpus), len(corpus))
        rows = [*self.full_corpus.first_target_rows, *synthetic] if late else None
        return corpus.batches(self.config.batch_tokens, self.config.seed, epoch, rows)


def _pair_generator(key: str, file_pairs: Sequence[tuple[str, str]], seed: int) -> RewrittenPairs | Phrases:
    """Returns the generator of pairs for a setting of `SYNTHETIC_PAIRS`. Raises DataError if it has none to draw from."""
    if key in REWRITERS:
        return rewritten_pairs(key, file_pairs, seed)
    phrases = Phrases(file_pairs)
    if not phrases.phrases:
        raise DataError("--phrase-share: no phrase has the same translation often enough; remove the option.")
    return phrases


def _bpe_dropout(tokenizer: Tokenizer, share: float) -> BpeDropout:
    """Returns the BPE-dropout of a vocabulary. Raises ValueError for a vocabulary without a list of merges."""
    try:
        return BpeDropout(tokenizer, share)
    except ValueError as fault:
        raise ValueError(
            f"--bpe-dropout is {share:g}; expected 0, because the initial vocabulary has no list of merges"
        ) from fault


def prepare(setup: TrainingSetup) -> TrainingData:
    """Prepares the pairs of all files, with copies as people type them. Dev has the first target of each source."""
    files, (dev,), config = setup.files.train, setup.files.dev, setup.config
    read = [pair for path in files for pair in read_pairs(path)]
    reads, writes = setup.languages or PAIR
    shipped = next((path for path in record_of(reads).probes.get(writes, ()) if path.exists()), None)
    probes = setup.files.probes or shipped
    watched = read_probes(probes) if probes else []
    pairs = with_typed_copies(with_typeset_copies(read), config.typed_copies)
    both = setup.vocabulary(lambda: learn_vocabularies(pairs, config.vocab_size, setup.options.get("joint_vocab", True)))
    model, corpus = setup.model(*both), Corpus.encode(pairs, *both)
    epochs = TranslationEpochs(corpus, pairs, *both, config, read)
    if not len(corpus):
        raise DataError(f"{', '.join(map(str, files))}: every pair is longer than the text limit.")
    counts = {"source": count_tokens(corpus.sources, both[0].size), "target": count_tokens(corpus.targets, both[1].size)}

    def seen(epoch: int) -> CorpusStats:
        known = epochs.plain_corpus(epoch)
        return CorpusStats.count(known.sources, known.targets, both[0], counted_sources=len(corpus))

    copies = len(pairs) - len(read)
    description = f"{len(corpus)} pairs"
    if copies:
        description += f" ({copies} of them copies as people type them)"
    if corpus.too_long:
        description += f", {corpus.too_long} left out as too long"
    return TrainingData(
        *both,
        model=model,
        epochs=epochs,
        dev=TranslationValidator(dev, *both, 4 * config.batch_tokens),
        loss=batch_loss,
        size={"pairs": len(corpus), "copies": sum(row >= len(read) for row in corpus.pair_indices)},
        description=description,
        counts=counts,
        seen=seen,
        card=translation_card.card,
        watched=snapshots.encode_probes(watched, *both),
        write_samples=snapshots.translations(both[1]),
    )
