"""Pages of given attention: one offline file with all heads, and the numbers of each."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np
import pytest

from model import GivenAttention
from model.io.files import FileError
from model.readings.heads.head_maps import rollout
from model.readings.heads.head_metrics import head_metrics
from tests.support.attention_helpers import patterns
from viz.given_attention import attention_page, heads, save_html, show
from viz.notebook import Frame

TOKENS = ["[CLS]", "the", "dog", "##s", "</script><b>", "[SEP]"]
SIZE = len(TOKENS)


def stored(file: bytes, name: str) -> bytes:
    """Returns the uncompressed data of a file by id."""
    text = re.search(f'<script type="text/plain" id="{name}">([^<]*)</script>', file.decode())
    return zlib.decompress(base64.b64decode(text[1]))


def content(file: bytes) -> dict:
    return json.loads(stored(file, "content"))


def numbers(file: bytes, name: str) -> np.ndarray:
    planes = np.frombuffer(stored(file, name), np.uint8).reshape(4, -1)
    return planes.T.copy().view("<i4").ravel() / 1e5


@pytest.fixture
def encoder() -> np.ndarray:
    return patterns(2, 3, SIZE, SIZE)


def test_file_holds_all_weights_metrics_and_the_rollout(encoder):
    file = heads(encoder, TOKENS, name="bert").file
    kind = content(file)["files"][0]["kinds"]["encoder"]
    np.testing.assert_allclose(numbers(file, "maps-0-encoder").reshape(encoder.shape), encoder, atol=6e-6)
    np.testing.assert_allclose(numbers(file, "rollout-0-encoder").reshape(2, SIZE, SIZE), rollout(encoder), atol=6e-6)
    expected = np.concatenate([head_metrics(layer, TOKENS)["previous"] for layer in encoder])
    np.testing.assert_allclose(kind["grid"]["numbers"]["previous"], expected, atol=6e-6)
    assert sorted(kind["grid"]["orders"]["previous"]) == list(range(6)) and kind["stored"] == list(range(6))
    assert kind["keys"][3:] == ["s", "</script><b>", "[SEP]"] and kind["words"]["keys"] == [0, 1, 2, 2, 3, 4]


def test_file_is_offline_and_its_texts_are_no_markup(encoder):
    text = heads(encoder, TOKENS, name="<img src=x>").file.decode()
    assert "<b>dog" not in text and "<img" not in text and "</script><b>" not in text
    assert "default-src 'none'" in text and "connect-src" not in text and not re.search(r"(src|href)=\"https?:", text)


def test_show_and_heads_are_frames_for_a_notebook(encoder):
    for frame, layout in ((show(encoder, TOKENS, head=("encoder", 1, 2)), "head"), (heads(encoder, TOKENS), "heads")):
        assert isinstance(frame, Frame) and "<iframe" in frame._repr_html_()
        assert content(frame.file)["layout"] == layout
    assert content(show(encoder, TOKENS, head=("encoder", 1, 2)).file)["state"] == {"kind": "encoder", "layer": 2, "head": 3}


def test_html_is_written_to_a_new_file(encoder, tmp_path):
    path = save_html(encoder, TOKENS, tmp_path / "a.html")
    assert path.read_bytes() == heads(encoder, TOKENS).file
    with pytest.raises(FileError, match="is there already"):
        save_html(encoder, TOKENS, path)


def test_two_models_are_compared_on_equal_tokens(encoder):
    other = patterns(2, 3, SIZE, SIZE, seed=1)
    first, second = content(heads(encoder, TOKENS, compare=other, name="one").file)["files"]
    assert (first["name"], second["name"]) == ("one", "Model B")
    change = 0.5 * np.abs(encoder - other).sum(-1).mean(-1).ravel()
    np.testing.assert_allclose(first["kinds"]["encoder"]["grid"]["numbers"]["change"], change, atol=6e-6)
    assert first["kinds"]["encoder"]["grid"]["orders"]["change"][0] == change.argmax()


@pytest.mark.parametrize(
    ("shape", "tokens", "message"),
    [
        (
            (2, 3, SIZE, SIZE),
            [*TOKENS[:2], "cat", *TOKENS[3:]],
            "source tokens of both models must be equal; found 'dog' and",
        ),
        ((2, 3, 2, 2), TOKENS[:2], "found 6 and 2 tokens"),
        ((3, 3, SIZE, SIZE), TOKENS, r"layers and heads of both models must be equal; found \{'encoder': \(2, 3, 6, 6\)\}"),
    ],
)
def test_different_models_are_one_sentence(encoder, shape, tokens, message):
    with pytest.raises(ValueError, match=message):
        heads(encoder, TOKENS, compare=GivenAttention.of(patterns(*shape), tokens))


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (("cross", 0, 0), "no cross-attention"),
        (("encoder", 0, 3), "expected layer 0 to 1 and head 0 to 2"),
        ((1,), "such as"),
    ],
)
def test_head_that_is_not_there_is_one_sentence(encoder, head, message):
    with pytest.raises(ValueError, match=message):
        show(encoder, TOKENS, head=head)


def test_long_file_has_blocks_and_the_chosen_heads_in_full(monkeypatch):
    monkeypatch.setattr(attention_page, "MAX_CELLS", 1000)
    long = patterns(2, 3, 100, 100, causal=True)
    tokens = [f"t{n}" for n in range(100)]
    file = heads(long, tokens, head=("decoder", 1, 2), full=[("decoder", 0, 1)]).file
    kind = content(file)["files"][0]["kinds"]["decoder"]
    assert kind["stored"] == [1, 5] and kind["pool"] == 2 and kind["grid"]["shape"] == [50, 50]
    assert kind["grid"]["keys"][0] == "t0 … t1" and not kind["rollout"]
    lower = np.tri(100, dtype=bool)
    np.testing.assert_allclose(numbers(file, "maps-0-decoder")[lower.sum() :], long[1, 2][lower], atol=6e-6)
    blocks = long.reshape(6, 50, 2, 50, 2).max((2, 4))
    raw = base64.b64decode(kind["grid"]["bytes"])
    levels = np.frombuffer(zlib.decompress(raw) if kind["grid"]["deflated"] else raw, np.uint8).reshape(6, -1)
    np.testing.assert_allclose(levels / 255, blocks[:, np.tri(50, dtype=bool)], atol=0.003)
    whole = heads(long, tokens, full=True).file
    assert content(whole)["files"][0]["kinds"]["decoder"]["stored"] == list(range(6))
    monkeypatch.setattr(attention_page, "MAX_FULL_CELLS", 10_000)
    with pytest.raises(ValueError, match="full has 6 heads with 60,000 weights; expected at most 10,000"):
        heads(long, tokens, full=True)


def test_heads_without_any_weight_are_shown():
    kind = content(heads(np.zeros((1, 2, 3, 3)), list("abc"), kind="encoder").file)["files"][0]["kinds"]["encoder"]
    assert kind["allowed"] == "0" * 9 and kind["grid"]["places"] == [[1, 1], [1, 2]] and kind["grid"]["roles"] == [[], []]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"head": 3}, "The head is 3; expected"),
        ({"head": ("encoder", "1", 0)}, "expected .kind, layer, head."),
        ({"full": 3}, "full is 3; expected a list of heads"),
        ({"full": [("encoder", 9, 0)]}, "There is no encoder head 9.0"),
        ({"full": [3]}, "The head is 3; expected"),
    ],
)
def test_wrong_heads_are_one_sentence(encoder, options, message):
    with pytest.raises(ValueError, match=message):
        heads(encoder, TOKENS, **options)
