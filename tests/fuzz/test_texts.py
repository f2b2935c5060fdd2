"""Any text is split, tokenised and translated, or refused in one sentence."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unicodedata
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model import checkpoint as checkpoints
from model.__main__ import main
from model.checkpoint import find_folder
from model.decoding.strategy import Decoding, RequestError
from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.tokens.sentence_tokens import cut
from model.text.sentences import split
from model.text.tokenizer import Tokenizer
from tests.support import strategies, tiny

DECODINGS = (Decoding(limit=6), Decoding("beam", 6, 3), Decoding("sample", 6, seed=7))
ELISIONS = ["L'owl un owl qu'il un il l’étoile une étoile aujourd'hui"] * 20
WHOLE = st.integers(0, 4).flatmap(lambda n: st.lists(st.sampled_from(strategies.PARTS), min_size=n, max_size=n + 8))


@strategies.few(60)
@given(typed=strategies.texts(), decoding=st.sampled_from(DECODINGS))
def test_any_text_is_translated_or_refused(tiny_checkpoint, typed, decoding):
    try:
        found = analyse(tiny_checkpoint, Request(typed, "tiny", decoding=decoding))
    except RequestError as refusal:
        assert 10 < len(str(refusal)) < 300 and "\n" not in str(refusal)
        return
    tokenizer = tiny_checkpoint.source_tokenizer
    assert found.trace.source.ids[:-1] == tuple(tokenizer.encode(typed.strip()))


@pytest.fixture(scope="module")
def vocabularies(tokenizer) -> list[Tokenizer]:
    """The vocabulary of the made-up language, one with elisions, one with a blank, and the shipped one."""
    blanks = Tokenizer.train([*tiny.SENTENCES, *["a <mask> and <mask>"] * 50], 320, blanks=True)
    shipped = Tokenizer.load(find_folder("en-fr") / "tokenizer.json")
    return [tokenizer, Tokenizer.train(ELISIONS, 330), blanks, shipped]


@strategies.few(80)
@given(parts=WHOLE, more=strategies.texts(halves=False))
def test_any_text_comes_back_from_its_tokens(vocabularies, parts, more):
    for text in ("".join(parts), more[:2000]):
        for tokenizer in vocabularies:
            ids = tokenizer.encode(text)
            assert min(ids, default=9) > 2 and tokenizer.mask not in ids, "typed text became a control token"
            assert tokenizer.decode(ids) == unicodedata.normalize("NFC", text)
            assert list(cut(tokenizer, text).ids) == ids
            assert "".join("".join(word.split()) for word, _ in tokenizer.words_with_positions(ids)) == "".join(
                unicodedata.normalize("NFC", text).split()
            )


@strategies.few(100)
@given(text=strategies.texts(), language=st.sampled_from(("en", "fr", "de", "xx", "")))
def test_sentences_of_a_text_contain_all_of_it(text, language):
    found = split(text, language)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(part and part == part.strip() for part in found)


NUMBERS = ("0", "1", "2", "3", "-1", "0.5", "nan", "inf", "-inf", "1e400", "9" * 25, "9" * 5000, "1e-320", "", " ", "a\nb")
WORDS = (*NUMBERS, "x", "<b>", "\0", "\udcff", "..", "/", "/dev/null", "a,b", "a,b,c", "-", "--", "=", "yes", "x" * 9000)
DECODING = ("--beam", "--alpha", "--temperature", "--top-k", "--top-p", "--seed", "--strategy", "--device")
TRAINING = ("--epochs", "--batch-tokens", "--learning-rate", "--warmup", "--clip", "--seed", "--average", "--window")
TRAINING += ("--heads", "--d-model", "--d-ff", "--dropout", "--norm-eps", "--vocab-size", "--max-minutes", "--languages")
SMALL = ("--d-model", "8", "--d-ff", "8", "--heads", "2", "--encoder-layers", "1", "--decoder-layers", "1", "--epochs", "1")


@pytest.fixture(scope="module")
def place(tiny_checkpoint, tmp_path_factory) -> Path:
    """A folder with a checkpoint and pairs."""
    folder = tmp_path_factory.mktemp("fuzz")
    checkpoints.save(tiny_checkpoint, folder / "made")
    lines = "".join(f"{source}\t{target}\n" for source, target in tiny.PAIRS[:12])
    (folder / "pairs.tsv").write_text(lines, encoding="utf-8")
    return folder


def options(names: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    one = st.tuples(st.sampled_from(names), st.sampled_from((*NUMBERS, *WORDS, "greedy", "beam", "sample", "cpu")))
    return st.lists(one, max_size=2, unique_by=lambda each: each[0]).map(
        lambda each: [word for pair in each for word in pair]
    )


@strategies.few(12)
@given(
    command=st.sampled_from(("translate", "translate", "evaluate", "train", "other")),
    decoding=options(DECODING),
    training=options(TRAINING),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    typed=strategies.texts(),
)
def test_any_command_line_ends_with_0_or_2_and_one_line(place, command, decoding, training, words, typed):
    own, pairs = ["--checkpoint", str(place / "made")], str(place / "pairs.tsv")
    data = ["--data", pairs]
    with tempfile.TemporaryDirectory() as out:
        lines = {
            "translate": ["translate", *words[:1], *own, "--device", "cpu", *decoding],
            "evaluate": ["evaluate", *data, *own, "--limit", words[0], *decoding],
            "train": ["train", *data, "--dev", pairs, "--out", f"{out}/run", *SMALL, "--max-minutes", "0", *training],
            "other": words,
        }
        said, told = io.StringIO(), io.StringIO()
        stdin = io.TextIOWrapper(io.BytesIO(typed.encode("utf-8", "surrogatepass")), encoding="utf-8")
        with mock.patch.object(sys, "stdin", stdin), contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            try:
                status = main(lines[command])
            except SystemExit as left:
                status = left.code
    assert status in (0, 2), f"{lines[command]}: {status}"
    if status == 2:
        last = told.getvalue().splitlines()[-1]
        assert last.startswith("python -m model"), f"{lines[command]}: {last}"
        assert len(last) < 2000, f"a line of {len(last)} characters"
