"""Tokenizers and sentence splitting."""

from __future__ import annotations

import json
import random
import unicodedata

import pytest

from model.config import CONTROL_TOKENS, END, PAD, START
from model.inference.request import RequestError
from model.text.sentences import split
from model.text.tokenizer import Tokenizer
from tests.support import tiny
from viz.state.view import View

TEXTS = [
    "The red fox sees a lamp.",
    "",
    " ",
    "  two  spaces, then a tab\tand\r\n\nlines  ",
    "L'animal qu'il n’a pas vu; aujourd'hui, didn't they're I’ve",
    "3,141,592.65 € at 50 % – “quoted” « guillemets »…",
    "emoji 🦊👩‍🚀🏳️‍🌈👍🏽 together",
    "שלום עולם, مرحبا بالعالم‏!",
    "你好,世界。こんにちは ｶﾅ 한국어 हिन्दी ไทย",
    "control \x00\x01\x07\x1b\x7f\x85 characters",
    "bom \ufeff, replacement \ufffd, private \ue000, last \U0010ffff",
    "combining e\u0301 a\u0308o\u0302 Å Ångström",
    "zero\u200bwidth\u200djoiners\u00a0and\u202fspaces\u2028lines",
    "</s><s><pad> <pad></s>",
    "·middle· dots ·· Ġ ▁ ⟨U+0041⟩",
]


@pytest.mark.parametrize("typed", [*CONTROL_TOKENS, "a</s>b", "<s> <pad>", "</s></s>", "< /s>", "<PAD>"])
def test_typed_text_never_becomes_a_control_token(tokenizer, tmp_path, typed):
    tokenizer.save(tmp_path / "tokenizer.json")
    for each in (tokenizer, Tokenizer.load(tmp_path / "tokenizer.json")):
        ids = each.encode(typed)
        assert not {PAD, START, END} & set(ids)
        assert each.encode_batch([typed]) == [ids]
        assert each.decode(ids) == typed


@pytest.mark.parametrize("typed", ["<mask>", "a <mask> b", "<mask></s>", "[MASK]", "___"])
def test_typed_text_never_becomes_a_blank(tmp_path, typed):
    made = Tokenizer.train([*tiny.SENTENCES, *["a <mask> and <mask>"] * 50], 320, blanks=True)
    made.save(tmp_path / "tokenizer.json")
    for each in (made, Tokenizer.load(tmp_path / "tokenizer.json")):
        assert (each.mask, each.piece(3), each.size) == (3, "<mask>", 320)
        ids = each.encode(typed)
        assert min(ids) > 3 and each.decode(ids) == typed
        assert each.decode([3]) == "" and each.word_numbers([5, 3, 3]) == (0, 1, 2)


def test_merges_that_make_a_control_token_are_refused(tmp_path):
    Tokenizer.train(tiny.SENTENCES, 320, blanks=True).save(tmp_path / "tokenizer.json")
    values = json.loads((tmp_path / "tokenizer.json").read_text())
    values["model"]["vocab"] |= {"<mas": 320, "k>": 321}
    values["model"]["merges"].append(["<mas", "k>"])
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"its 'merges' have .*; expected two tokens of the vocabulary"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_save_and_load_keep_every_id(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "t.json")
    again = Tokenizer.load(tmp_path / "t.json")
    assert again.size == tokenizer.size
    assert again.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS) == [tokenizer.encode(t) for t in TEXTS]
    assert [again.piece(i) for i in range(again.size)] == [tokenizer.piece(i) for i in range(tokenizer.size)]


@pytest.mark.parametrize("token", [-1, 320, 10**6])
def test_an_id_outside_the_vocabulary_is_refused(tokenizer, token):
    for use in (lambda i: tokenizer.bytes_of([i]), tokenizer.piece, lambda i: tokenizer.decode([i])):
        with pytest.raises(ValueError, match=f"token id {token} is outside the vocabulary of 320"):
            use(token)


def test_labels_show_what_cannot_be_seen(tokenizer):
    def labels(text):
        return tokenizer.pieces(tokenizer.encode(text))

    assert labels(" ") == ("·",)
    assert labels("\n") == ("⟨U+000A⟩",)
    assert labels("\x00\x7f") == ("⟨U+0000⟩", "⟨U+007F⟩")
    assert labels("🦊") == ("⟨F0⟩", "⟨9F⟩", "⟨A6⟩", "⟨8A⟩")
    assert "".join(labels("</s>")) == "</s>"


def test_every_token_has_a_visible_label(tokenizer):
    for i in range(tokenizer.size):
        label = tokenizer.piece(i)
        assert label and not any(c.isspace() or unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") for c in label)


def test_words_group_the_pieces_of_a_word(tokenizer):
    def words(text):
        ids = tokenizer.encode(text)
        groups: dict[int, list[int]] = {}
        for token, word in zip(ids, tokenizer.word_numbers(ids), strict=True):
            groups.setdefault(word, []).append(token)
        assert list(groups) == list(range(len(groups)))
        return [tokenizer.decode(g).strip() for g in groups.values()]

    assert words("The zebra qwxyz sees.") == ["The", "zebra", "qwxyz", "sees", "."]
    assert words("Don't, well-known!") == ["Don't", ",", "well-known", "!"]
    assert words("qu'il, l’étoile") == ["qu'il", ",", "l’étoile"]
    assert words("the 🦊 fox !") == ["the", "🦊", "fox", "!"]
    assert words("हिन्दी है") == ["हिन्दी", "है"]


def test_an_elided_word_is_split_from_the_next(tokenizer):
    backend = tokenizer._backend.pre_tokenizer

    def parts(text):
        return [piece.replace("Ġ", " ") for piece, _ in backend.pre_tokenize_str(text)]

    assert parts("l'ami qu'il") == ["l'", "ami", " qu'", "il"]
    assert parts("didn't I'm") == ["didn", "'t", " I", "'m"]


def test_word_after_an_elision_keeps_its_tokens():
    owls = Tokenizer.train(["L'owl un owl un owl qu'il un il aujourd'hui aujourd'hui aujourd'hui"] * 20, 330)
    elided, owl = owls.encode("L'owl")
    assert owl == owls.encode("un owl")[-1]
    assert owls.piece(owl) == "·owl"
    assert owls.bytes_of([elided, owl]) == [b"L'", b"owl"]
    assert owls.pieces([elided, owl]) == ("L'", "owl") and owls.word_numbers([elided, owl]) == (0, 0)
    assert len(owls.encode(" aujourd'hui")) == 2  # "hui" has a token of its own, " hui" has none: the shorter way
    for text in ("L'owl", "L' owl", "L'  owl", "L'L'owl", "L'\n", "L'", "the owls' owl", "L'e\u0301", "L'🦊"):
        assert owls.decode(owls.encode(text)) == unicodedata.normalize("NFC", text)
    draw = random.Random(3)
    for _ in range(2000):
        text = "".join(draw.choice("L'’ owlqui\n.é") for _ in range(draw.randrange(10)))
        assert owls.decode(owls.encode(text)) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One sentence.", ["One sentence."]),
        ("without a full stop", ["without a full stop"]),
        ("The fox sleeps. The king sees it!  Does he?", ["The fox sleeps.", "The king sees it!", "Does he?"]),
        ("Wait... what?! Really?", ["Wait... what?!", "Really?"]),
        ('"Go." He went.', ['"Go."', "He went."]),
        ("He said: “No.” She left.", ["He said: “No.”", "She left."]),
        ("日本。東京。", ["日本。", "東京。"]),
        ("Dr. Smith came. He left.", ["Dr. Smith came.", "He left."]),
        ("Mr. and Mrs. Fox met Prof. King. It rained.", ["Mr. and Mrs. Fox met Prof. King.", "It rained."]),
        ("Some birds, e.g. owls, see at night. Others sleep.", ["Some birds, e.g. owls, see at night.", "Others sleep."]),
        ("The U.S. policy changed. So what?", ["The U.S. policy changed.", "So what?"]),
        ("It costs 3.14 euros. Fine.", ["It costs 3.14 euros.", "Fine."]),
        ("No. 5 is here. Good.", ["No. 5 is here.", "Good."]),
    ],
)
def test_a_text_falls_into_its_sentences(text, expected):
    assert list(split(text)) == expected


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\n\n\n", "\n \t\n", "\u2028", "\x85"])
def test_a_line_break_always_ends_a_sentence(line_break):
    assert split(f"a title{line_break}and, in small letters, a line") == ("a title", "and, in small letters, a line")
    assert split(f"{line_break}Dr.{line_break}Smith{line_break}") == ("Dr.", "Smith")


@pytest.mark.parametrize("whole", [True, False])
def test_half_a_character_is_refused_in_one_sentence(whole):
    with pytest.raises(RequestError, match=r"^The text has U\+D800 in it, which is no character"):
        View(source="The fox \ud800 sleeps.", split=not whole).request()


def test_text_over_the_limit_is_not_split():
    text = "”" * 1_000_000
    assert split(text) == View(source=text).sentences == (text,)
    with pytest.raises(RequestError, match=r"^The sentence has 1,000,000 characters; expected at most 20,000. Shorten it.$"):
        View(source=text).request()


def test_abbreviations_follow_the_language():
    text = "Am 3. Mai kam der Fuchs. Gut."
    assert split(text, "de") == ("Am 3. Mai kam der Fuchs.", "Gut.")
    assert split(text, "en") == ("Am 3.", "Mai kam der Fuchs.", "Gut.")
