"""Neighbours in an embedding table, and the merges of a tokenizer."""

from __future__ import annotations

import dataclasses
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
import torch

from model.checkpoint import find_folder
from model.config import CONTROL_TOKENS
from model.readings.tokens.neighbours import RARE, cosines, language_of, nearest, survey
from model.readings.tokens.sentence_tokens import cut, learned_merges
from model.text.tokenizer import Tokenizer
from tests.support import tiny

FIRST = len(CONTROL_TOKENS)


def with_counts(checkpoint, source, target):
    """The same with the first tokens' counts, zero for all others."""
    size = checkpoint.config.target_vocab
    counts = {name: (*values, *[0] * (size - len(values))) for name, values in (("source", source), ("target", target))}
    return dataclasses.replace(checkpoint, token_counts=counts)


def test_cosines_are_symmetric_and_bounded(tiny_checkpoint):
    rows = np.stack([cosines(tiny_checkpoint, token, "source") for token in range(tiny_checkpoint.config.source_vocab)])
    np.testing.assert_allclose(rows, rows.T, atol=1e-5)
    np.testing.assert_allclose(np.diag(rows), 1, atol=1e-5)
    assert rows.min() >= -1 and rows.max() <= 1 and rows.min() < 0


def test_cosines_by_hand(tokenizer):
    checkpoint = tiny.checkpoint(tokenizer)
    table = checkpoint.model.source_embedding.table.weight.data
    table[5:8] = 0.0
    table[5, 0], table[6, 0], table[6, 1], table[7, 0] = 2.0, 3.0, 4.0, -1.0
    found = cosines(checkpoint, 5, "source")
    assert found[[5, 6, 7]] == pytest.approx([1.0, 0.6, -1.0])


def test_neighbours_are_sorted_without_control_tokens(tiny_checkpoint):
    token = 20
    for near in nearest(tiny_checkpoint, token, "source", 50).values():
        values = [n.cosine for n in near]
        assert len(near) == 50 and values == sorted(values, reverse=True)
        assert token not in [n.id for n in near] and all(n.id >= FIRST for n in near)
        alike = cosines(tiny_checkpoint, token, "source")
        assert values == [float(alike[n.id]) for n in near]
        assert values[0] == np.delete(alike, [*range(FIRST), token]).max()


def test_a_tokens_language_is_where_the_training_saw_it(tiny_checkpoint):
    checkpoint = with_counts(tiny_checkpoint, [9999] * 3 + [RARE, 0, 30, 90, 5, 0], [9999] * 3 + [0, 500, 30, 25, 5, 0])
    assert np.flatnonzero(language_of(checkpoint.token_counts, "source", True)).tolist() == [3, 5, 6]
    assert np.flatnonzero(language_of(checkpoint.token_counts, "target", True)).tolist() == [4, 5]
    assert np.flatnonzero(language_of(checkpoint.token_counts, "target", False)).tolist() == [
        4,
        5,
        6,
    ]  # no other language there
    found = nearest(checkpoint, 8, "source")
    assert {n.id: (n.count, n.shared) for n in found["source"]} == {3: (RARE, False), 5: (30, True), 6: (90, False)}
    assert {n.id: (n.count, n.shared) for n in found["target"]} == {4: (500, False), 5: (30, True)}


def test_the_survey_by_hand(tokenizer):
    checkpoint = with_counts(tiny.checkpoint(tokenizer), [0] * 3 + [90, 80, 70, 60, 0, 0], [0] * 7 + [90, 80])
    table = checkpoint.model.source_embedding.table.weight.data
    table.zero_()
    for token, row in {3: (1, 0, 0), 4: (1, 0.1, 0), 5: (0, 0, 1), 6: (1, 1, 0), 7: (0, 0.1, 1), 8: (0, -1, 0)}.items():
        table[token, :3] = torch.tensor(row, dtype=table.dtype)
    found = survey(checkpoint, "source")
    assert (found.tokens, found.same, found.both) == (4, 3, 0)
    assert survey(checkpoint, "source", 2).tokens == 2


TEXTS = [
    "The animal didn't cross the street because it was too tired.",
    "L'animal n’a pas traversé la rue; qu'il, L' owl, L'L'owl, L'\n",
    "",
    " ",
    "  two  spaces\tand\r\n\nlines  ",
    "🦉👩‍🚀🏳️‍🌈👍🏽",
    "cafe\u0301 Å é",
    "3,141,592.65 € 12345678",
    "你好,世界。한국어 हिन्दी שלום",
    "</s><s> <pad> ·middle Ġ ▁ ⟨E2⟩",
    "\x00\u200b\ue000\U0010ffff",
    "a" * 5000,
    "anana " * 800,
]


@pytest.fixture(scope="module")
def shipped() -> Tokenizer:
    return Tokenizer.load(find_folder("en-fr") / "tokenizer.json")


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_the_merges_lead_to_the_tokenizers_ids(shipped, text):
    made = cut(shipped, text)
    assert list(made.ids) == shipped.encode(text)
    assert made.text == unicodedata.normalize("NFC", text)


def test_each_step_joins_the_earliest_learned_pair(shipped):
    merges = learned_merges(shipped)
    for word in cut(shipped, " unconstitutionally reconnaissants anananana l'étoile").words:
        assert all(len(shipped.bytes_of([i])[0]) == 1 for i in word.start)
        for pieces, after, merge in zip(word.steps(), list(word.steps())[1:], word.merges, strict=False):
            there = [merges[pair][0] for pair in pairwise(pieces) if pair in merges]
            assert merge.rank == min(there)
            assert (merge.rank, merge.token) == merges[pieces[merge.index], pieces[merge.index + 1]]
            assert not any(merges.get(pair, (0,))[0] == merge.rank for pair in pairwise(pieces[: merge.index + 1]))
            assert after == (*pieces[: merge.index], merge.token, *pieces[merge.index + 2 :])
            joined = b"".join(shipped._raw(i) for i in pieces[merge.index : merge.index + 2])
            assert shipped._raw(merge.token) == joined
        assert not any(pair in merges for pair in pairwise(word.ids))
