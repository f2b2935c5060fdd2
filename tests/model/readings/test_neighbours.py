"""Which tokens lie near one another in an embedding table."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from model.config import CONTROL_TOKENS
from model.readings.analogies import analogy
from model.readings.neighbours import (
    FEWEST,
    RARE,
    WITHOUT_SPACE,
    cosines,
    language_of,
    name_of,
    nearest,
    pieces_of,
    standing_out,
    survey,
)
from tests.support import tiny
from viz.inside.analogy_texts import analogy_text

FIRST = len(CONTROL_TOKENS)


def with_counts(checkpoint, source, target):
    """The same with the first tokens' counts, zero for all others."""
    size = checkpoint.config.target_vocab
    counts = {name: (*values, *[0] * (size - len(values))) for name, values in (("source", source), ("target", target))}
    return dataclasses.replace(checkpoint, counts=counts)


def test_cosines_are_symmetric_between_minus_one_and_one_and_one_with_itself(tiny_checkpoint):
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


def test_the_list_is_sorted_and_leaves_out_the_token_itself_and_control_tokens(tiny_checkpoint):
    token = 20
    for near in nearest(tiny_checkpoint, token, "source", 50).values():
        values = [n.cosine for n in near]
        assert len(near) == 50 and values == sorted(values, reverse=True)
        assert token not in [n.id for n in near] and all(n.id >= FIRST for n in near)
        alike = cosines(tiny_checkpoint, token, "source")
        assert values == [float(alike[n.id]) for n in near]
        assert values[0] == np.delete(alike, [*range(FIRST), token]).max()


def test_a_tokens_language_is_where_the_training_saw_it(tiny_checkpoint):
    """Tokens from 3 on: English alone, French alone, both, mostly English, rare, never."""
    checkpoint = with_counts(tiny_checkpoint, [9999] * 3 + [RARE, 0, 30, 90, 5, 0], [9999] * 3 + [0, 500, 30, 25, 5, 0])
    assert np.flatnonzero(language_of(checkpoint.counts, "source", True)).tolist() == [3, 5, 6]
    assert np.flatnonzero(language_of(checkpoint.counts, "target", True)).tolist() == [4, 5]
    assert np.flatnonzero(language_of(checkpoint.counts, "target", False)).tolist() == [4, 5, 6]  # no other language there
    found = nearest(checkpoint, 8, "source")
    assert {n.id: (n.count, n.shared) for n in found["source"]} == {3: (RARE, False), 5: (30, True), 6: (90, False)}
    assert {n.id: (n.count, n.shared) for n in found["target"]} == {4: (500, False), 5: (30, True)}


def test_two_tables_are_not_compared(tokenizer):
    checkpoint = tiny.checkpoint(tokenizer, joint_vocab=False)
    found = {side: nearest(checkpoint, 20, side) for side in ("source", "target")}
    assert [list(each) for each in found.values()] == [["source"], ["target"]]
    assert found["source"]["source"] != found["target"]["target"]
    assert survey(checkpoint, "source") is None


def test_without_counts_there_is_one_list(tiny_checkpoint):
    found = nearest(dataclasses.replace(tiny_checkpoint, counts={}), 20, "source")
    assert list(found) == ["unknown"] and found["unknown"][0].count is None
    assert survey(dataclasses.replace(tiny_checkpoint, counts={}), "source") is None


def test_a_token_outside_the_table_is_refused(tiny_checkpoint):
    with pytest.raises(ValueError, match="There is no token 9999; the table has tokens 0 to"):
        cosines(tiny_checkpoint, 9999, "target")


def test_the_survey_by_hand(tokenizer):
    """Four English tokens and two French ones; 3 and 4 point alike, 5 points to French 7, 6 is nearest to 3."""
    checkpoint = with_counts(tiny.checkpoint(tokenizer), [0] * 3 + [90, 80, 70, 60, 0, 0], [0] * 7 + [90, 80])
    table = checkpoint.model.source_embedding.table.weight.data
    table.zero_()
    for token, row in {3: (1, 0, 0), 4: (1, 0.1, 0), 5: (0, 0, 1), 6: (1, 1, 0), 7: (0, 0.1, 1), 8: (0, -1, 0)}.items():
        table[token, :3] = torch.tensor(row, dtype=table.dtype)
    found = survey(checkpoint, "source")
    assert (found.tokens, found.same, found.both) == (4, 3, 0)
    assert survey(checkpoint, "source", 2).tokens == 2


def test_survey_counts_tokens_of_both_languages_apart(tokenizer):
    """3 and 5 are nearest to 4, which is a token of both languages; 3 and 5 are of English alone."""
    checkpoint = with_counts(tiny.checkpoint(tokenizer), [0] * 3 + [90, 80, 70, 0, 0, 0], [0] * 4 + [80, 0, 0, 0, 0])
    table = checkpoint.model.source_embedding.table.weight.data
    table.zero_()
    for token, row in {3: (1, 0.5, 0), 4: (1, 0, 0), 5: (1, -0.5, 0)}.items():
        table[token, :3] = torch.tensor(row, dtype=table.dtype)
    found = survey(checkpoint, "source")
    assert (found.tokens, found.same, found.both) == (2, 0, 2)


# -- words -------------------------------------------------------------------------------------------------------------


def pieces(tokenizer, ids):
    return [tokenizer.piece(i) for i in ids]


def test_a_word_is_read_as_the_training_saw_it(tokenizer):
    assert pieces(tokenizer, pieces_of(tokenizer, " fox ", (), None)) == ["·fox"]
    assert pieces(tokenizer, pieces_of(tokenizer, "The", (), None)) == ["The"]
    assert len(pieces_of(tokenizer, "🦉", (), None)) == 4
    assert len(pieces_of(tokenizer, "xylophone", (), None)) > 1


def test_counts_decide_between_two_readings(shipped):
    vocabulary = shipped.source_tokenizer
    (inside,), (first,) = (vocabulary.encode(text) for text in (" Tom", "Tom"))
    assert inside != first
    for often in (inside, first):
        counts = [int(i == often) for i in range(vocabulary.size)]
        assert pieces_of(vocabulary, "Tom", (), counts) == (often,)


def test_a_word_in_small_letters_is_a_word_and_not_the_end_of_another(shipped):
    """The shipped vocabulary has “king” as the end of “making”, which training saw more often than the word."""
    vocabulary = shipped.source_tokenizer
    end, word = (vocabulary.encode(text) for text in ("king", " king"))
    assert len(end) == len(word) == 1 and shipped.counts["source"][end[0]] > shipped.counts["source"][word[0]]
    assert pieces_of(vocabulary, "king", (), shipped.counts["source"]) == tuple(word)
    assert name_of(vocabulary, end[0], (), shipped.counts["source"]) == "##king"


def test_every_token_has_a_name_that_leads_back_to_it(tokenizer):
    for token in range(FIRST, tokenizer.size):
        assert pieces_of(tokenizer, name_of(tokenizer, token, (), None), (), None) == (token,)
    fox = tokenizer.encode(" fox")[0]
    assert name_of(tokenizer, fox, (), None) == "·fox"


def test_a_token_of_the_sentence_is_meant_by_its_label(shipped):
    vocabulary = shipped.source_tokenizer
    (inside,), (first,) = (vocabulary.encode(text) for text in (" Tom", "Tom"))
    counts = [int(i == inside) for i in range(vocabulary.size)]
    assert pieces_of(vocabulary, "Tom", (first,), counts) == (first,)
    assert pieces_of(vocabulary, "Tom", (), counts) == pieces_of(vocabulary, "·Tom", (first,), counts) == (inside,)
    assert name_of(vocabulary, first, (), counts) == WITHOUT_SPACE + "Tom"
    assert pieces_of(vocabulary, WITHOUT_SPACE + "Tom", (), counts) == (first,)


@pytest.mark.parametrize("text", ["<s>", "</s>", "<pad>", "##</s>"])
def test_typed_text_never_becomes_a_control_token(tokenizer, text):
    found = pieces_of(tokenizer, text, (0, 1, 2), None)
    assert len(found) > 1 and min(found) >= FIRST


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_nothing_is_refused(tokenizer, text):
    with pytest.raises(ValueError, match="The word is empty: type one"):
        pieces_of(tokenizer, text, (), None)


def test_what_is_no_character_is_refused(tokenizer):
    with pytest.raises(ValueError, match="no character; expected valid Unicode"):
        pieces_of(tokenizer, "a\ud800", (), None)


def test_forms_of_a_word_lie_near_in_the_shipped_table(shipped):
    eat = shipped.source_tokenizer.encode(" eat")[0]
    near = [shipped.source_tokenizer.piece(n.id) for n in nearest(shipped, eat, "source")["source"]]
    assert {"·eats", "·eating", "·ate"} <= set(near)


# -- chance ------------------------------------------------------------------------------------------------------------


def test_what_is_placed_by_chance_does_not_stand_out_and_what_is_not_does():
    """Rare tokens are more alike by themselves: a frequent one of the same cosine stands out where a rare one does not."""
    drawn = np.random.default_rng(3)
    seen = np.repeat([30, 3000], 500)
    alike = np.where(seen == 30, 0.4, 0.1) + 0.05 * drawn.standard_normal(1000)
    every = np.ones(1000, dtype=bool)
    assert not standing_out(alike, every, 0, seen).any()
    alike[[100, 900]] = 0.55
    assert np.flatnonzero(standing_out(alike, every, 0, seen)).tolist() == [900]
    assert not standing_out(alike, every, 900, seen).any()
    assert standing_out(alike, every & (np.arange(1000) < FEWEST - 1), 999, seen) is None


def test_the_neighbours_say_whether_they_stand_out(shipped):
    vocabulary = shipped.source_tokenizer
    eats, king = (nearest(shipped, vocabulary.encode(word)[0], "source")["source"] for word in (" eat", " king"))
    assert vocabulary.piece(eats[0].id) == "·eats" and eats[0].stands_out
    assert not any(each.stands_out for each in king)


# -- sums of words -----------------------------------------------------------------------------------------------------


def table_of(tokenizer, rows):
    """A checkpoint in whose table these words have these beginnings of rows, all others none."""
    checkpoint = tiny.checkpoint(tokenizer)
    table = checkpoint.model.source_embedding.table.weight.data
    table.zero_()
    for word, row in rows.items():
        table[tokenizer.encode(f" {word}")[0], : len(row)] = torch.tensor(row, dtype=table.dtype)
    return checkpoint


def test_a_sum_of_words_by_hand(tokenizer):
    """Of the tests' words, each one token: fox − lamp + red is old, or it is another."""
    words = ("fox", "lamp", "red", "old")
    rows = {"fox": (1, 0, 0), "lamp": (0, 1, 0), "red": (0, 0, 1), "old": (1, -1, 1), "varun": (1, 0, 1)}
    found = analogy(table_of(tokenizer, rows), words)
    assert found.holds and found.nearest[0] == ("·old", pytest.approx(1.0)) and found.itself == "·old"
    assert [label for label, _ in found.nearest[:2]] == ["·old", "·varun"]
    missed = analogy(table_of(tokenizer, rows | {"old": (1, 0.5, 0)}), words)
    assert missed.rank == 2 and not missed.holds and missed.nearest[0][0] == "·varun"
    assert "here too. Nearest" in analogy_text(found) and "here it fails: old is number 2 of" in analogy_text(missed)


def test_a_word_without_a_row_of_its_own_is_told(tokenizer):
    checkpoint = tiny.with_seen(tiny.checkpoint(tokenizer), {"fox": 9, "old": 1})
    unasked = analogy(checkpoint, ("fox", "xylophone", "red", "old"))
    assert unasked.nearest == () and unasked.seen == (9, 0, 0, 1)
    assert "here it cannot be asked, for “xylophone” is cut into" in analogy_text(unasked)
    assert "Training had fox 9 times, xylophone never, red never and old once" in analogy_text(unasked)
    fails = analogy(checkpoint, ("fox", "lamp", "red", "xylophone"))
    assert fails.rank is None and "so no row stands for it" in analogy_text(fails)


def test_sum_of_words_says_how_many_rare_tokens_it_leaves_out(tokenizer):
    words = ("fox", "lamp", "red", "old")
    rows = {"fox": (1, 0, 0), "lamp": (0, 1, 0), "red": (0, 0, 1), "old": (1, -1, 1), "varun": (1, 0, 1)}
    checkpoint = table_of(tokenizer, rows)
    assert "without the three words: " in analogy_text(analogy(checkpoint, words))
    source = [RARE] * checkpoint.config.source_vocab
    for rare in (tokenizer.encode(" varun")[0], tokenizer.encode(" fox")[0]):
        source[rare] = RARE - 1
    found = analogy(with_counts(checkpoint, source, source), words)
    assert found.rare == 1 and "·varun" not in dict(found.nearest)
    language = checkpoint.languages[0]
    assert f"without the three words and 1 token seen fewer than {RARE} times in {language}: " in analogy_text(found)


def test_king_and_queen_fail_in_the_shipped_table(shipped):
    found = analogy(shipped)
    assert not found.holds and found.seen is not None and len(found.pieces[3]) > 1
    assert "here it fails: “queen” is cut into" in analogy_text(found)
