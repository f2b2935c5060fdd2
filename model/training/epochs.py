"""What each epoch of a run is trained on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from model.config import TrainConfig
from model.text.augmented import Joins, with_typed_copies
from model.text.bpe_dropout import Dropout, Dropped
from model.text.corpus import Corpus, DataError
from model.text.phrases import Phrases
from model.text.rewritten import Rewritten
from model.text.rewritten_kinds import KINDS, rewritten_pairs
from model.text.tokenizer import Tokenizer

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
