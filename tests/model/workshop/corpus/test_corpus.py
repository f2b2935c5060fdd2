"""Pairs as groups, copies, counts and batches of tokens."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from model.config import END, MAX_CHARACTERS, MAX_TOKENS
from model.text.corpus_stats import CorpusStats
from model.workshop.corpus.corpus import Corpus, targets_by_source, with_typeset_copies


def test_targets_are_grouped_by_source_in_order():
    groups = targets_by_source([("b", "1"), ("a", "2"), ("b", "3"), ("b", "1")])
    assert list(groups.items()) == [("b", ["1", "3", "1"]), ("a", ["2"])]


def test_pairs_over_the_limit_are_left_out_and_counted(tokenizer):
    fits, over = "q" * (MAX_TOKENS - 1), "q" * MAX_TOKENS
    corpus = Corpus.encode([(fits, "a"), (over, "a"), ("a", fits), ("a", over)], tokenizer, tokenizer)
    assert (len(corpus), corpus.too_long) == (2, 2)
    assert max(map(len, corpus.sources + corpus.targets)) == MAX_TOKENS
    huge = Corpus.encode([("q" * (MAX_CHARACTERS + 1), "a"), ("a", "b")], tokenizer, tokenizer)  # never tokenised
    assert (len(huge), huge.too_long) == (1, 1)
    with pytest.raises(ValueError, match=r"^a text has 20,001 characters; expected at most 20,000$"):
        tokenizer.encode("q" * (MAX_CHARACTERS + 1))


def uneven_corpus(count: int = 200) -> Corpus:
    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 40, (count, 2), generator=draw).tolist()
    return Corpus([[5] * (s - 1) + [END] for s, _ in lengths], [[6] * (t - 1) + [END] for _, t in lengths], 0)


@pytest.mark.parametrize("tokens", [40, 64, 300, 10**6])
def test_batches_cover_every_pair_once_within_the_budget(tokens):
    corpus = uneven_corpus()
    batches = corpus.batches(tokens, seed=1, epoch=0)
    assert sorted(i for batch in batches for i in batch) == list(range(200))
    for indices in batches:
        batch = corpus.batch(indices)
        assert max(batch.source.numel(), batch.outputs.numel()) <= tokens


def test_batches_depend_on_seed_and_epoch_alone():
    corpus = uneven_corpus()
    first = corpus.batches(100, seed=1, epoch=0)
    assert corpus.batches(100, seed=1, epoch=0) == first == uneven_corpus().batches(100, seed=1, epoch=0)
    others = [corpus.batches(100, seed=s, epoch=e) for s, e in ((1, 1), (2, 0))]
    assert len({str(b) for b in (first, *others)}) == 3
    assert {len(b) for b in others} == {len(first)}  # so that the number of steps is known before training


def test_a_sentence_over_the_budget_is_refused():
    corpus = Corpus([[5] * 9], [[5] * 3], 0)
    with pytest.raises(ValueError, match="a batch holds 8 tokens, a sentence has 9; give a larger batch_tokens"):
        corpus.batches(8, seed=1, epoch=0)


def test_pairs_are_counted_with_their_own_vocabulary(tokenizer):
    pairs = [("The old king's café.", "Lo roda."), ("The king", "Lo roda vechu mira una lumel.")]
    corpus = Corpus.encode(pairs, tokenizer, tokenizer)
    seen = CorpusStats.count(corpus.sources, corpus.targets, tokenizer)
    assert seen.words == {"The": 2, "old": 1, "king's": 1, "café": 1, ".": 1, "king": 1}
    for side, texts in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        lengths = [len([*tokenizer.encode(text), END]) for text in texts]
        assert seen.lengths[side].histogram == tuple(np.bincount(lengths).tolist())
    assert CorpusStats.from_dict(json.loads(json.dumps(seen.to_dict()))) == seen
    part = CorpusStats.count(corpus.sources, corpus.targets, tokenizer, counted_sources=1)
    assert part.lengths == seen.lengths and part.words == {"The": 1, "old": 1, "king's": 1, "café": 1, ".": 1}


def test_typeset_copies_follow_the_pairs():
    pairs = [(f"It's {n}.", f"L'es {n}.") for n in range(41)] + [("No mark.", "L'x.")]
    copies = with_typeset_copies(pairs)
    assert copies[:42] == pairs
    assert copies[42:] == [("It’s 0.", "L'es 0."), ("It’s 20.", "L'es 20."), ("It’s 40.", "L'es 40.")]
    assert len(with_typeset_copies(pairs, share=1)) == 42 + 41
    assert with_typeset_copies([("a", "b")]) == [("a", "b")]
