from __future__ import annotations

import json

import numpy as np

from model.config import END
from model.text.corpus import Corpus
from model.text.seen import Lengths, Seen


def test_lengths_are_those_that_numpy_finds():
    rows = np.random.default_rng(3).integers(2, 60, 5000)
    known = Lengths(tuple(np.bincount(rows).tolist()))
    assert (known.sentences, known.longest) == (5000, rows.max())
    assert known.most == np.quantile(rows, 0.99, method="inverted_cdf")
    assert known.told() == f"99% of its training sentences had at most {known.most}, the longest {rows.max()}"
    assert Lengths((0, 0, 3)).most == 2


def test_pairs_are_counted_with_their_own_vocabulary(tokenizer):
    pairs = [("The old king's café.", "Lo roda."), ("The king", "Lo roda vechu mira una lumel.")]
    corpus = Corpus.encode(pairs, tokenizer, tokenizer)
    seen = Seen.count(corpus.sources, corpus.targets, tokenizer)
    assert seen.words == {"The": 2, "old": 1, "king's": 1, "café": 1, ".": 1, "king": 1}
    for side, texts in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        lengths = [len([*tokenizer.encode(text), END]) for text in texts]
        assert seen.lengths[side].histogram == tuple(np.bincount(lengths).tolist())
    assert Seen.from_dict(json.loads(json.dumps(seen.to_dict()))) == seen
    part = Seen.count(corpus.sources, corpus.targets, tokenizer, written=1)
    assert part.lengths == seen.lengths and part.words == {"The": 1, "old": 1, "king's": 1, "café": 1, ".": 1}
