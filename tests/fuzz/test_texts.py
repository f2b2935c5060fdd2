"""Any text, damaged checkpoint or zip works, or is refused in one sentence."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import struct
import sys
import tempfile
import unicodedata
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from model import checkpoint as checkpoints
from model.__main__ import main
from model.checkpoint import Checkpoint, CheckpointError, find_folder
from model.decoding.strategy import Decoding, RequestError
from model.inference.analyse import analyse
from model.inference.request import Request
from model.io.archive import unpack
from model.io.files import MEGABYTE, FileError
from model.io.folders import FILES
from model.readings.tokens.sentence_tokens import cut
from model.text.sentences import split
from model.text.tokenizer import Tokenizer
from tests.support import strategies, tiny

DECODINGS = (Decoding(max_total_tokens=6), Decoding("beam", 6, 3), Decoding("sample", 6, seed=7))
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


WARNINGS = {"sentences": 9, "bad": 4, "rules": {"rare": {"warned": 3, "right": 2}}}
TEST = {"bleu": 50.1, "chrf": 60.2, "sentences": 500, "beam": 4}
VARIANTS = (
    {},
    {"joint_vocab": False, "positions": "learned", "max_positions": 128},
    {"positions": "rotary", "activation": "swiglu", "norm": "rmsnorm", "window": 3, "norm_first": False},
    {"final_norm": False, "causal": False, "tied_output": True},
)


@functools.cache
def whole(variant: int) -> dict[str, bytes]:
    """Returns the files of an intact checkpoint by their names."""
    made = tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 300), **VARIANTS[variant])
    object.__setattr__(made, "metrics", {"test": TEST, "warnings": WARNINGS})
    made = tiny.with_seen(made, {"fox": 3, "lamp": 2})
    with tempfile.TemporaryDirectory() as place:
        checkpoints.save(made, Path(place))
        checkpoints.save_means(tiny.means(made.config), Path(place))
        return {path.name: path.read_bytes() for path in Path(place).iterdir()}


@st.composite
def damaged_weights(draw: st.DrawFn, content: bytes) -> bytes:
    """Weights with a changed header, or with numbers that cannot be computed with."""
    if draw(st.booleans()):
        size = struct.unpack("<Q", content[:8])[0]
        header = draw(strategies.damaged_json(content[8 : 8 + size]))
        return struct.pack("<Q", draw(st.sampled_from((len(header), size, 2**63)))) + header + content[8 + size :]
    tensors = load(content)
    for name in draw(st.sets(st.sampled_from(sorted(tensors)), min_size=1, max_size=3)):
        kind = draw(st.sampled_from((np.float16, np.float32, np.float64, np.int32)))
        size = draw(st.sampled_from((0, 1e-30, 1, 6e4, 1e30, 3e38, 1e300, float("nan"))))
        with np.errstate(all="ignore"):
            tensors[name] = np.full(tensors[name].shape, size * draw(st.sampled_from((-1, 1)))).astype(kind)
    return save(tensors)


def damaged(name: str, content: bytes) -> st.SearchStrategy:
    by_kind = strategies.damaged_json if name.endswith(".json") else damaged_weights
    return strategies.damaged_bytes(content) | by_kind(content) | by_kind(content) | strategies.replacements()


@strategies.few(30)
@given(data=st.data(), variant=st.sampled_from(range(len(VARIANTS))), decoding=st.sampled_from(DECODINGS))
def test_damaged_checkpoint_works_or_is_refused(data, variant, decoding):
    files = dict(whole(variant))
    names = data.draw(st.sets(st.sampled_from(sorted(files)), min_size=1, max_size=2) | st.just({"model.safetensors"}))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "made"
        folder.mkdir()
        for name, content in files.items():
            made = data.draw(damaged(name, content)) if name in names else content
            made(folder / name) if callable(made) else (folder / name).write_bytes(made)
        try:
            loaded = checkpoints.load(str(folder))
        except CheckpointError as fault:
            strategies.is_sentence(str(fault), folder)
            return
    use(loaded, decoding)


def use(loaded: Checkpoint, decoding: Decoding) -> None:
    """Asserts that a loaded checkpoint translates with finite numbers."""
    found = analyse(loaded, Request("The red fox sees a lamp.", loaded.name, decoding=decoding))
    assert np.isfinite(found.trace.log_probs).all()
    for site, pattern in found.trace.patterns.items():
        assert np.isfinite(found.trace.scores[site]).all()
        assert np.allclose(pattern.sum(axis=-1), 1, atol=1e-3) or loaded.config.window, site
    json.dumps(found.to_dict(), ensure_ascii=False).encode("utf-8")
    repr(loaded).encode("utf-8")
    if test := loaded.metrics.get("test"):  # the sidebar shows it
        assert f"{test['bleu']:.1f} {test['sentences']:,}" and test.get("beam", 1) > 0


ODD = ("../x", "/x", "a/../../x", "C:x", "a\\x", "\0", ".", "//", "x/", "\u202ex", "a" * 300)
WAYS = st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))


@st.composite
def zips(draw: st.DrawFn) -> bytes:
    """A checkpoint in a zip beside foreign entries; most are damaged."""
    place, big, mode = (
        draw(st.sampled_from(("", "mine/", *ODD))),
        draw(st.booleans()),
        draw(st.sampled_from((0, 0, 0xA1FF0000))),
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", draw(WAYS)) as packed:
        for name, content in whole(draw(st.sampled_from(range(len(VARIANTS))))).items():
            entry = zipfile.ZipInfo(place + name)
            entry.external_attr = mode if name == "counts.json" else 0
            packed.writestr(entry, bytes(2 * MEGABYTE) if big and name == "metrics.json" else content, draw(WAYS))
        for name in draw(st.sets(st.sampled_from(ODD), max_size=2)):
            packed.writestr(zipfile.ZipInfo(name), b"x")
    content = out.getvalue()
    for at_end in draw(st.lists(st.booleans(), max_size=2)):  # the list of entries stands at the end
        start = max(0, len(content) - 2000) if at_end else 0
        content = content[:start] + draw(strategies.damaged_bytes(content[start:]))
    return content


@strategies.few(25)
@given(content=zips())
def test_zip_unpacks_into_its_folder_only_or_is_refused(content):
    with tempfile.TemporaryDirectory() as home:
        place = Path(home) / "place"
        place.mkdir()
        try:
            digest = unpack(io.BytesIO(content), place, 3 * MEGABYTE)
        except FileError as fault:
            assert 10 < len(str(fault)) < 400 and "\n" not in str(fault), str(fault)
            digest = ""
        assert list(Path(home).iterdir()) == [place]
        found = list(place.iterdir())
        assert all(path.name in FILES and path.is_file() and not path.is_symlink() for path in found), found
        assert sum(path.stat().st_size for path in found) <= 3 * MEGABYTE
        assert len(digest) in (0, 64)
