"""Vocabularies of other programs cut text as their own programs do; every text of a language is in its record."""

from __future__ import annotations

import dataclasses
import json
import random
import re
import struct

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from model.config import CONTROL_TOKENS, END
from model.experiments.ready_questions import EXPERIMENTS
from model.text import languages
from model.text.foreign_tokenizer import (
    MAX_MATCH_BYTES,
    SPELLINGS,
    Charsmap,
    ForeignTokenizer,
    foreign_values,
    load_tokenizer,
)
from model.text.languages import CODES, ENGLISH, FRENCH, LANGUAGES, PAIR, Language, code_of, record_of, watched_texts
from model.workshop.convert import vocabulary
from model.workshop.convert.conversion import ConvertError
from model.workshop.convert.marian import read_pieces
from model.workshop.convert.vocabulary import order_rows
from tests.support import marian, tiny
from tests.support.viz_helpers import Lab
from viz.examples import examples, language_of, lesson
from viz.kit.controls import opening_text
from viz.state.view import View

TEXTS = [
    "",
    "  two  ",
    "Café déjà  vu 🦉🦉 x",
    "▁ a▁b",
    "</s><pad> <unk>",
    "ﬁne Ⅷ ½ e\u0301\u00a0là\tb\nc",
    "日本語 の",
    "ａｂ ㍿",
]
TEXTS += ["a\u0300\u0301\u0302b", "\u200bzero\u200dwidth\ufeff", "\0\x01 ctl", "👩‍👩‍👧", "हिन्दी", "กำ", "각한국어", "👍🏽"]


def texts() -> list[str]:
    draw = random.Random(1)
    letters = [*"aeioutrnsl  .,'éàç🦉日\u0301 \t▁</s>THEFOX", *"ﬁ½\u1112\u1161\u11ab\u00a8"]
    return [*TEXTS, *tiny.SENTENCES[:20], *("".join(draw.choices(letters, k=draw.randint(0, 30))) for _ in range(600))]


@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity", "nfkc_cf"])
def test_pieces_are_those_of_sentencepiece(tmp_path, rule):
    package = pytest.importorskip("sentencepiece")
    marian.train(tmp_path / "s.spm", tiny.SENTENCES, rule)
    peer = package.SentencePieceProcessor(model_file=str(tmp_path / "s.spm"))
    pieces = read_pieces(tmp_path / "s.spm")
    tokens = [*CONTROL_TOKENS, "<unk>", *pieces.scores]
    made = ForeignTokenizer(foreign_values(pieces.backend(), tokens, "sentencepiece", "<unk>", pieces.charsmap))
    made.save(tmp_path / "tokenizer.json")
    again = load_tokenizer(tmp_path / "tokenizer.json")
    for text in texts():
        expected = [tokens.index(piece) if piece in tokens[3:] else 3 for piece in peer.encode(text, out_type=str)]
        assert made.encode(text) == again.encode(text) == expected, text
        known = [n for n in expected if n > 3]
        assert made.decode([*known, END]) == peer.decode([tokens[n] for n in known]), text
        assert "".join(made.segments(expected)) == made.decode(expected)


def test_circular_table_of_rewrites_is_bounded():
    def unit(label: int, jump: int, leaf: bool = False) -> int:
        return jump << 10 | leaf << 8 | label

    units = [0] * 256
    units[0], units[ord("a")] = unit(0, 0), unit(ord("a"), ord("a"), leaf=True)  # from each "a" to the same node again
    units[ord("a") ^ ord("a")] = unit(0, 0)
    table = Charsmap(struct.pack("<257I", 1024, *units) + b"x" * 5000 + b"\0")
    assert table._longest_match(b"a" * 5000, 0)[0] <= MAX_MATCH_BYTES
    with pytest.raises(ValueError, match="makes texts too long"):
        table.rewrite("a")


SLOW = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
REGEX = r"the regular expression '\(a\+\)\+\$'; expected one"


def replaced(string: str, content: str) -> dict:
    return {"type": "Replace", "pattern": {"String": string}, "content": content}


def word_pieces() -> dict:
    backend = Backend(models.WordPiece({"[UNK]": 0, "the": 1, "fox": 2, "##es": 3, ".": 4}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return json.loads(backend.to_str())


def test_word_pieces_are_shown_as_words():
    made = ForeignTokenizer(
        foreign_values(word_pieces(), [*CONTROL_TOKENS, "the", "fox", "##es", ".", "[UNK]"], "wordpiece", "[UNK]")
    )
    ids = made.encode("the foxes.")
    assert (made.pieces(ids), made.word_numbers(ids), made.decode(ids)) == (
        ("the", "fox", "es", "."),
        (0, 1, 1, 2),
        "the foxes .",
    )
    assert made.encode("</s> fox") == [7, 7, 4] or END not in made.encode("</s> fox")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pre_tokenizer": SLOW}, REGEX),
        ({"normalizer": {"type": "Precompiled"}}, "'Precompiled'; expected an object whose type is one of Sequence"),
        ({"normalizer": "NFC"}, "its normalizer is 'NFC'; expected an object whose type"),
        ({"normalizer": {"type": "Sequence", "normalizers": 5}}, "a sequence with normalizers = 5; expected a list"),
        ({"pre_tokenizer": {"type": "Sequence", "pre_tokenizers": [], "pretokenizers": [SLOW]}}, REGEX),
        ({"normalizer": replaced("", "x")}, "replaces ''; expected a text of at least one"),
        ({"normalizer": replaced("a", "aa")}, "replaces 'a' by 'aa'; expected nothing longer"),
        ({"added_tokens": [{"content": "</s>"}]}, "it has added_tokens = .*; expected none"),
        ({"model": {"type": "Magic"}}, "its model is 'Magic'; expected one of Unigram"),
        ({"lab": {"spelling": "runes"}}, f"its 'spelling' is 'runes'; expected one of {', '.join(SPELLINGS)}"),
        ({"lab": {"spelling": "words", "tokens": ["a"]}}, "the first three tokens are"),
        ({"lab": {"spelling": "words", "tokens": [*CONTROL_TOKENS, "a", "a"]}}, "have one of them twice"),
        ({"lab": {"spelling": "words", "tokens": [*CONTROL_TOKENS, "a"], "unknown": "</s>"}}, "its 'unknown' is '</s>'"),
    ],
)
def test_a_file_that_could_do_harm_is_refused(tmp_path, change, message):
    values = foreign_values(word_pieces(), [*CONTROL_TOKENS, "the", "[UNK]"], "wordpiece", "[UNK]") | change
    (tmp_path / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_tokenizer(tmp_path / "tokenizer.json")


def test_library_vocabulary_takes_new_ids(tmp_path):
    backend = Backend(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2, "</s>": 3}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(["</s>", "[PAD]"])
    backend.save(str(tmp_path / "t.json"))
    read = vocabulary.read_vocabulary(tmp_path / "t.json", 5)
    made = read.tokenizer(order_rows(5, 4, None, 3))
    assert made.encode("a </s> b c") == [4, 3, 5, 3]
    with pytest.raises(ConvertError, match=r"t.json has 5 tokens; expected 4, the rows of the model's embedding"):
        vocabulary.read_vocabulary(tmp_path / "t.json", 4)


def test_a_panic_of_the_library_is_a_sentence(capfd):
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], "continuing_subword_prefix": "####"}
    with pytest.raises(ValueError, match="the tokenizers library cannot read it: "):
        ForeignTokenizer(foreign_values({"version": "1.0", "model": model}, [*CONTROL_TOKENS, "a"], "bytes"))


def test_every_record_has_a_code_and_its_files_are_there():
    for name, known in LANGUAGES.items():
        assert name == known.name in CODES and code_of(name) == known.code
        of_pairs = [path for paths in known.probes.values() for path in paths]
        for path in filter(None, (known.prompts, known.classifier_texts, *known.examples.values(), *of_pairs)):
            assert path.is_file(), path
        assert not known.experiments or set(known.experiments) == {each.name for each in EXPERIMENTS}
    assert set(PAIR) <= set(LANGUAGES)
    assert (ENGLISH.code, FRENCH.code, code_of("Japanese"), code_of("Klingon")) == ("en", "fr", "ja", "")


def test_languages_without_a_record_have_no_texts():
    assert record_of(None) is ENGLISH
    assert record_of("Klingon") == Language("Klingon")
    assert watched_texts("Klingon", "watched_prompts") == ENGLISH.watched_prompts != ()


def test_a_registered_language_brings_its_texts(monkeypatch, tmp_path, saved):
    path = tmp_path / "owls.txt"
    path.write_text("owls\tDie Eule schläft.\tnames a bird\tOwl\tThe owl sleeps.\n", encoding="utf-8")
    german = Language("German", first_sentence="Die Eule schläft.", examples={"English": path}, experiments={"peek": "Ja."})
    monkeypatch.setitem(languages.LANGUAGES, "German", german)
    examples.cache_clear()
    try:
        assert [each.sentence for each in examples("German", "English")] == ["Die Eule schläft."]
        assert (lesson("Die Eule schläft."), language_of("Die Eule schläft.")) == ("names a bird", "German")
        (peek,) = [each for each in EXPERIMENTS if each.name == "peek"]
        assert peek.sentence_in("German") == "Ja."
        monkeypatch.setattr("viz.kit.controls.cache.declared_languages", lambda name: ("German", "English"))
        assert opening_text(View()) == "Die Eule schläft."
        page = Lab(text="Die Eule schläft.")
        assert not page.faults and "example Die Eule schläft." in page.grouped
        other = dataclasses.replace(View(), source="Eine andere.")
        assert opening_text(other) == other.source
    finally:
        examples.cache_clear()


@pytest.mark.parametrize(
    "text", [ENGLISH.first_sentence, ENGLISH.repeated_token_example, ENGLISH.other_sentence, *ENGLISH.analogy[:1]]
)
def test_no_text_of_a_language_stands_elsewhere(text):
    from tests.test_imports import ALL

    homes = {name for name, path in ALL.items() if re.search(rf'"{re.escape(text)}"', path.read_text(encoding="utf-8"))}
    assert homes <= {"model.text.languages", "viz.lessons.lessons"}


def test_ids_of_the_publisher_are_mapped_both_ways():
    tokens = [*CONTROL_TOKENS, "the", "fox", "##es", "[UNK]"]
    controls = [(0, "[PAD]"), None, (4, "[SEP]")]  # the publisher's order: [PAD] the fox ##es [SEP] [UNK]
    made = ForeignTokenizer(foreign_values(word_pieces(), tokens, "wordpiece", "[UNK]", controls=controls))
    assert made.from_publisher_ids([1, 2, 3, 5, 4, 0]) == [3, 4, 5, 6, 2, 0]
    assert made.to_publisher_ids([3, 4, 5, 6, 2, 0]) == [1, 2, 3, 5, 4, 0]
    assert made.publisher_tokens([2, 0, 1, 5]) == ("[SEP]", "[PAD]", "<s>", "##es")
    with pytest.raises(ValueError, match="no id 6; expected 0 to 5"):
        made.from_publisher_ids([6])
    with pytest.raises(ValueError, match="no token for the id 1"):
        made.to_publisher_ids([1])


def test_a_vocabulary_without_publisher_ids_says_so():
    made = ForeignTokenizer(foreign_values(word_pieces(), [*CONTROL_TOKENS, "the", "[UNK]"], "wordpiece", "[UNK]"))
    with pytest.raises(ValueError, match="convert it again"):
        made.from_publisher_ids([3])
