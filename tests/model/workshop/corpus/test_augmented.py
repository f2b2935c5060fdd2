"""Augmented pairs: typed copies, joins, other names and numbers, BPE dropout."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from model.config import END, MAX_TOKENS, TrainConfig
from model.workshop.corpus.augmentation import APOSTROPHES, BpeDropout, BpeDropoutCorpus, JoinedPairs, with_typed_copies
from model.workshop.corpus.corpus import Corpus
from model.workshop.corpus.rewriting import RANGES, TOKEN, NameRewriter, NumberRewriter, RewrittenPairs, Slot
from model.workshop.tasks.translation import TranslationEpochs
from tests.support import tiny

PAIRS = [(f"The {noun} is {how}.", f"Le mot {noun} est {how}.") for noun in ("cat", "dog", "fox") for how in ("old", "red")]


@pytest.fixture
def joins(tokenizer) -> JoinedPairs:
    return JoinedPairs.encode(Corpus.encode(PAIRS, tokenizer, tokenizer), PAIRS, tokenizer, tokenizer)


def test_joined_pair_has_the_tokens_of_its_texts(joins, tokenizer):
    corpus = joins.with_joined(0.99, 1, 0)
    assert len(corpus) == 2 * len(PAIRS)
    whole = [[tokenizer.decode(row[:-1]) for row in side] for side in (corpus.sources, corpus.targets)]
    assert [whole[0][: len(PAIRS)], whole[1][: len(PAIRS)]] == [list(side) for side in zip(*PAIRS, strict=True)]
    for side, rows, texts in zip((0, 1), (corpus.sources, corpus.targets), whole, strict=True):
        for row, text in zip(rows, texts, strict=True):
            assert row == [*tokenizer.encode(text), END]
            parts = [part.strip() + "." for part in text.split(".") if part]
            assert 1 <= len(parts) <= 5
            assert set(parts) <= {pair[side] for pair in PAIRS}
    joined = zip(whole[0][len(PAIRS) :], whole[1][len(PAIRS) :], strict=True)
    target_of = dict(PAIRS)
    for source, target in joined:
        assert target == " ".join(target_of[part.strip() + "."] for part in source.split(".") if part)
        assert source.count(".") >= 2


def test_joined_pairs_follow_from_seed_and_epoch(joins):
    assert joins.with_joined(0.5, 1, 0) == joins.with_joined(0.5, 1, 0)
    assert joins.with_joined(0.5, 1, 0).sources != joins.with_joined(0.5, 1, 1).sources
    assert joins.with_joined(0.5, 1, 0).sources != joins.with_joined(0.5, 2, 0).sources


def test_typed_copies_take_turns_and_keep_their_targets():
    assert with_typed_copies(PAIRS, 0) == PAIRS
    added = with_typed_copies(PAIRS, 1)[len(PAIRS) :]
    assert added[:4] == [
        ("the cat is old.", PAIRS[0][1]),
        ("The cat is red", PAIRS[1][1]),
        ("THE DOG IS OLD.", PAIRS[2][1]),
        ("the dog is red", PAIRS[3][1]),
    ]
    apart = [("That's all I don't see.", "C'est tout."), ("I'm well, so we're well.", "Je vais bien.")]
    mixed = [*PAIRS[:3], apart[0], *PAIRS[:3], apart[1]]
    copies = with_typed_copies(mixed, 1)[len(mixed) :]
    assert copies[3] == ("that's all i don't see", "C'est tout.")
    assert copies[7] == ("im well, so we're well", "Je vais bien.")  # "were" would be another word
    assert with_typed_copies([("ok", "d'accord")], 1) == [("ok", "d'accord")]  # nothing to change: no copy


def test_one_short_typed_copy_in_three_is_in_capitals():
    pairs = [(f"We ate {n} pies, sir.", f"Nous avons mangé {n} gâteaux à midi.") for n in range(40)]
    copies = with_typed_copies(pairs, 2)[len(pairs) : len(pairs) + 20]
    assert copies[2] == ("WE ATE 4 PIES, SIR.", pairs[4][1])
    assert [n for n, (source, _) in enumerate(copies) if source.isupper()] == [2, 5, 8, 11, 14, 17]
    assert with_typed_copies(pairs, 2) == with_typed_copies(pairs, 2)
    assert all(target == pairs[2 * n][1] for n, (_, target) in enumerate(copies))
    long = [(f"We ate {n} pies for lunch with Tom and Mary, sir.", "Nous avons mangé.") for n in range(40)]
    assert not any(source.isupper() for source, _ in with_typed_copies(long, 2))


NAMED = [
    ("Yes, Mona told Carlotta.", "Oui, Mona l'a dit à Carlotta."),
    ("We think that Mona is late.", "Nous pensons que Mona est en retard."),
    ("This is Orlando's hat, says Mona.", "C'est le chapeau d'Orlando, dit Mona."),
    ("We saw Rimona and Lortano.", "Nous avons vu Rimona et Lortano."),
    ("So did Caramon, and Ortona too.", "Caramon aussi, et Ortona."),
]
UNNAMED = [
    ("The Mona sank.", "Le Mona a coulé."),  # its article is a man's
    ("We saw Mona and Mona.", "Nous avons vu Mona deux fois."),  # not equally often
    ("The sun rose.", "Le soleil se leva."),
    ("Mona-like.", "Comme Mona."),
]


def changes(pair: tuple[str, str], made: tuple[str, str], slots: list[Slot]) -> list[str]:
    """Returns the new text of each slot; asserts that it is the same on both sides and that nothing else changed."""
    found = []
    for side, before, after in zip(("source", "target"), pair, made, strict=True):
        assert TOKEN.split(before) == TOKEN.split(after)
        now: dict[str, set[str]] = {}
        for one, two in zip(TOKEN.findall(before), TOKEN.findall(after), strict=True):
            now.setdefault(one, set()).add(two)
        found.append([now.pop(getattr(slot, side)) for slot in slots])
        assert all(two == {one} for one, two in now.items())
    assert found[0] == found[1] and all(len(new) == 1 for new in found[0])
    return [text for (text,) in found[0]]


@pytest.fixture(scope="module")
def names() -> NameRewriter:
    return NameRewriter(NAMED, 1)


def test_names_change_equally_on_both_sides(names):
    allowed = RewrittenPairs([*NAMED, *UNNAMED], names)
    assert [(s, t) for s, t, _ in allowed.allowed] == NAMED
    for source, target, slots in allowed.allowed:
        for made in RewrittenPairs([(source, target)], names).sample(20, random.Random(2)):
            new = changes((source, target), made, slots)
            assert not set(new) & names.known


@pytest.mark.parametrize(
    ("source", "target", "kinds"),
    [
        ("It took 365 days in 1879.", "Cela a pris 365 jours en 1879.", ["365", "1879"]),
        ("The bus came at 8:05.", "Le bus est venu à 8 h 05.", ["8", "05"]),
        ("The bus came at 8:45.", "Le bus est venu à 8h45.", ["8", "45"]),
        ("I have 1 cat and 25 dogs.", "J'ai 1 chat et 25 chiens.", ["25"]),
        ("The hall holds 12,000.", "La salle en contient 12 000.", ["12", "000"]),
        ("I have Three cats.", "J'ai trois chats.", [""]),
        ("She went to school at six.", "Elle est allée à l'école à six ans.", ["6"]),
        ("The bus came at nine.", "Le bus est venu à neuf heures.", ["9"]),
        ("The bus came at 3:30.", "Le bus est venu à 15 h 30.", []),
        ("The 20th came first.", "Le 20e arriva.", []),
        ("This is an 8.", "C'est 8.", []),
        ("I ate one or two.", "J'en ai mangé un ou deux.", []),
        ("We are two hundred.", "Nous sommes deux cents.", []),
        ("It has six-packs.", "Il y en a six.", []),
        ("Two and two are nine.", "Deux fois deux font du neuf, et neuf.", []),
    ],
)
def test_numbers_that_can_be_others_keep_their_shape(source, target, kinds):
    slots = NumberRewriter().slots(source, target)
    assert [slot.kind for slot in slots] == kinds
    for made in RewrittenPairs([(source, target)], NumberRewriter()).sample(30, random.Random(4)):
        for slot, number in zip(slots, changes((source, target), made, slots), strict=True):
            if slot.kind.startswith("0"):
                assert number[0] == "0" and len(number) == len(slot.kind)
            elif slot.kind:
                assert any(low <= int(slot.kind) <= high and low <= int(number) <= high for low, high in RANGES)
            else:
                assert int(number) > 1


def test_rewritten_pairs_follow_from_seed_and_epoch(tokenizer):
    pairs = [*NAMED, ("I have 25 cats.", "J'ai 25 chats."), *tiny.PAIRS[:20]]
    corpus = Corpus.encode(pairs, tokenizer, tokenizer)
    settings = {"renamed_share": 0.5, "renumbered_share": 0.25, "joined_share": 0.2}

    def texts(epoch: int, **changes) -> list[tuple[str, str]]:
        made = TranslationEpochs(
            corpus, pairs, tokenizer, tokenizer, TrainConfig(**(settings | changes)), pairs
        ).plain_corpus(epoch)
        assert made.first_target_rows == corpus.first_target_rows
        return [tuple(tokenizer.decode(row[:-1]) for row in both) for both in zip(made.sources, made.targets, strict=True)]

    whole = texts(3)
    assert whole == texts(3) and whole != texts(4) and whole != texts(3, seed=2)
    assert whole[: len(pairs)] == pairs and len(whole) == len(pairs) + 5 + 13 + 6
    new = [re.findall("[0-9]+", source) for source, _ in whole[-6:]]
    assert all(24 <= int(number) <= 31 for (number,) in new) and len({number for (number,) in new}) > 1
    assert len(texts(3, typed_copies=1)) > len(whole)  # they too stand again as people type them


TEXTS = [*tiny.SENTENCES[:8], *(text for pair in tiny.ODD_PAIRS for text in pair), "", "’", "a 1234 “b”  c", "l'l'é"]


def test_without_dropout_a_text_is_cut_as_ever(tokenizer):
    assert [BpeDropout(tokenizer, 0.0).encode(text, random.Random(1)) for text in TEXTS] == tokenizer.encode_batch(TEXTS)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_what_is_cut_otherwise_is_the_same_text(tokenizer, share):
    dropout, draw = BpeDropout(tokenizer, share), random.Random(1)
    for text in TEXTS * 5:
        found = dropout.encode(text, draw)
        assert tokenizer.decode(found) == tokenizer.decode(tokenizer.encode(text)) == text
        if share == 1:
            pieces = tokenizer.encode_pieces(text)
            kept = [piece.printable.endswith(APOSTROPHES) for piece in pieces]
            whole = sum(len(piece.ids) if ends else len(piece.printable) for piece, ends in zip(pieces, kept, strict=True))
            assert len(found) == whole


def test_word_is_cut_as_often_as_the_algorithm_says(tokenizer):
    merges = tokenizer.merges()
    one, other = next(pair for pair in merges if max(pair) < 3 + 256)  # of two bytes
    read = "".join(tokenizer._backend.id_to_token(token) for token in (one, other))
    dropout, draw = BpeDropout(tokenizer, 0.3), random.Random(5)
    found = Counter(len(dropout._merge(dropout.path(read), draw.random)) for _ in range(4000))
    assert found[2] / 4000 == pytest.approx(0.3, abs=0.03)  # four standard errors
    assert set(found) == {1, 2}


def test_a_row_follows_from_its_number_and_the_key_alone(tokenizer):
    corpus, dropout = Corpus.encode(tiny.PAIRS, tokenizer, tokenizer), BpeDropout(tokenizer, 0.3)
    rows = [3, 1, 2, 40]
    one, two = (BpeDropoutCorpus(corpus, dropout, dropout, "1/0") for _ in range(2))
    whole = [two.row(n) for n in range(len(corpus))]
    assert [one.row(n) for n in rows] == [whole[n] for n in rows]
    assert whole != [BpeDropoutCorpus(corpus, dropout, dropout, "1/1").row(n) for n in range(len(corpus))]
    batch = one.batch(rows)
    for n, source, target in zip(rows, batch.source.tolist(), batch.outputs.tolist(), strict=True):
        assert tokenizer.decode(source) == tiny.PAIRS[n][0] and tokenizer.decode(target) == tiny.PAIRS[n][1]
        assert END in source and END in target
    assert one.tokens(rows) == sum(len(whole[n][1]) for n in rows) > corpus.tokens(rows)


def test_joined_pairs_are_cut_too_unless_too_long(tokenizer):
    joins = JoinedPairs.encode(Corpus.encode(tiny.PAIRS, tokenizer, tokenizer), tiny.PAIRS, tokenizer, tokenizer)
    corpus, dropout = joins.with_joined(0.9, 1, 0), BpeDropout(tokenizer, 0.9)
    dropped, changed = BpeDropoutCorpus(corpus, dropout, dropout, "1/0"), set()
    for n, usual in enumerate(zip(corpus.sources, corpus.targets, strict=True)):
        for row, ids in zip(dropped.row(n), usual, strict=True):
            assert tokenizer.decode(row) == tokenizer.decode(ids) and len(row) <= MAX_TOKENS
            changed.add(row != ids)
    assert changed == {True, False}
