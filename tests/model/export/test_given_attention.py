"""Attention of any model: arrays, tensors and outputs are read with their tokens, and faults are one sentence."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from model import GivenAttention, Request, Site, analyse
from model.export import Exported, write
from model.export.token_labels import labels, word_numbers
from model.io.files import FileError
from tests.support.attention_helpers import patterns

TOKENS = ["[CLS]", "the", "dog", "##s", "[SEP]"]
TARGET = ["<s>", "les", "chiens"]


def output(**attentions) -> SimpleNamespace:
    """Returns an output of a model: attributes with one tensor [B,H,T,S] a layer."""
    every = {name: tuple(torch.from_numpy(layer)[None] for layer in each) for name, each in attentions.items()}
    return SimpleNamespace(logits=None, **every)


@pytest.fixture
def encoder() -> np.ndarray:
    return patterns(2, 3, 5, 5)


def test_arrays_tuples_and_outputs_are_equal(encoder):
    layers = tuple(torch.from_numpy(layer)[None].requires_grad_() for layer in encoder)
    for value in (encoder, torch.from_numpy(encoder), layers, output(attentions=encoder), {"attentions": layers}):
        attention = GivenAttention.of(value, TOKENS)
        assert attention.kinds == ("encoder",) and attention.shape("encoder") == (2, 3, 5, 5)
        np.testing.assert_array_equal(attention.array("encoder"), encoder)
        assert attention.queries("encoder") == attention.keys("encoder") == tuple(TOKENS) and attention.notes == ()


def test_a_long_text_prints_short():
    attention = GivenAttention.of(np.full((1, 1, 500, 500), 1 / 500), 500)
    assert len(repr(attention)) < 300 and "..." in repr(attention)


def test_bfloat16_is_read_without_a_note(encoder):
    attention = GivenAttention.of(torch.from_numpy(encoder).bfloat16(), TOKENS)
    np.testing.assert_allclose(attention.array("encoder"), encoder, atol=0.005)
    assert attention.notes == ()


def test_kind_follows_from_the_mask_and_the_tokens(encoder):
    causal = patterns(2, 3, 5, 5, causal=True)
    assert GivenAttention.of(causal, TOKENS).kinds == ("decoder",)
    assert GivenAttention.of(causal, TOKENS, kind="encoder").kinds == ("encoder",)
    assert GivenAttention.of(patterns(1, 1, 3, 5), (TARGET, TOKENS)).kinds == ("cross",)


def test_encoder_decoder_output_has_three_kinds(encoder):
    both = output(
        encoder_attentions=encoder,
        decoder_attentions=patterns(2, 3, 3, 3, causal=True),
        cross_attentions=patterns(2, 3, 3, 5),
    )
    attention = GivenAttention.of(both, TARGET, source_tokens=TOKENS)
    assert attention.kinds == ("encoder", "decoder", "cross")
    assert attention.queries("cross") == tuple(TARGET) and attention.keys("cross") == tuple(TOKENS)


def test_row_of_the_batch_is_chosen(encoder):
    batch = tuple(torch.from_numpy(np.stack([layer, layer[::-1]])) for layer in encoder)
    np.testing.assert_array_equal(GivenAttention.of(batch, TOKENS, row=1).array("encoder"), encoder[:, ::-1])
    for row in (2, "first"):
        with pytest.raises(ValueError, match=f"row is {row!r}; the batch has 2 rows, from 0"):
            GivenAttention.of(batch, TOKENS, row=row)


def changed(encoder: np.ndarray, value: float) -> np.ndarray:
    copy = encoder.copy()
    copy[1, 2, 3, 4] = value
    return copy


@pytest.mark.parametrize(
    ("change", "tokens", "message"),
    [
        (lambda given: changed(given, np.nan), TOKENS, "layer 1, head 2, query 3, key 4 is nan; expected a finite number"),
        (lambda given: changed(given, -1), TOKENS, "key 4 is -1; expected 0 or more. Pass the weights after the softmax"),
        (lambda given: given, TOKENS[:4], "There are 4 query tokens for encoder; expected 5"),
        (lambda given: given, None, "tokens is missing; expected 5 texts"),
        (lambda given: given, "the dog", "tokens is 'the dog'; expected a list of 5 texts"),
        (lambda given: given, [1, 2, 3, 4, 5], r"tokens\[0\] is 1; expected a text, as tokenizer.convert_ids_to_tokens"),
        (lambda given: given[0, 0, 0], TOKENS, r"shape \[5\]; expected \[layers, heads, T, S\]"),
        (lambda given: given[:0], TOKENS, r"shape \[0, 3, 5, 5\]; expected"),
        (
            lambda given: SimpleNamespace(attentions=None, logits=1),
            TOKENS,
            "no attention weights. Load the model with attn_",
        ),
        (lambda given: SimpleNamespace(attentions=(None, None)), TOKENS, "no attention weights"),
        (lambda given: {}, TOKENS, "no attention weights"),
        (lambda given: None, TOKENS, "no attention weights"),
        (lambda given: ((given, given), (given, given)), TOKENS, "2 steps of 2 layers, as generate"),
        (lambda given: [given[0], given[1][:, :4]], TOKENS, r"Layer 1 of the encoder patterns has shape \[3, 4, 5\]"),
        (lambda given: [["a"]], TOKENS, "expected arrays of numbers"),
        (lambda given: given * 1j, TOKENS, "expected arrays of numbers"),
        (lambda given: torch.from_numpy(given).to_sparse(), TOKENS, "expected arrays of numbers"),
        (lambda given: torch.from_numpy(given).to("meta"), TOKENS, "expected arrays of numbers"),
    ],
)
def test_wrong_values_are_one_sentence(encoder, change, tokens, message):
    with pytest.raises(ValueError, match=message):
        GivenAttention.of(change(encoder), tokens)


def test_rows_of_another_sum_are_a_note_and_zeros_are_not(encoder):
    encoder[0, 0, 1] = 0
    assert GivenAttention.of(encoder, TOKENS).notes == ()
    encoder[1, 1, 2] *= 1.5
    (note,) = GivenAttention.of(encoder, TOKENS).notes[:1]
    assert note.startswith("1 of 30 encoder rows do not add up to 1. First: layer 2, head 2, row 3, sum 1.5.")


def test_saved_file_is_read_without_a_pickle(encoder, tmp_path):
    attention = GivenAttention.of(encoder.astype(np.float16), TOKENS)
    attention.save(tmp_path / "a.npz")
    again = GivenAttention.read(tmp_path / "a.npz")
    assert again.name == "a" and again.source_tokens == tuple(TOKENS)
    np.testing.assert_array_equal(again.array("encoder"), attention.array("encoder"))
    with np.load(tmp_path / "a.npz", allow_pickle=False) as stored:
        assert sorted(stored.files) == ["encoder", "source_tokens"] and stored["encoder"].dtype == np.float16
    np.savez_compressed(tmp_path / "own.npz", encoder=encoder, tokens=np.array(TOKENS))
    np.testing.assert_array_equal(GivenAttention.read(tmp_path / "own.npz").array("encoder"), encoder)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"attention": np.ones(1)}, "the array 'attention' is unknown; expected encoder, decoder, cross, tokens"),
        ({"encoder": np.array([None, "x"])}, "expected numbers or texts"),
        ({"tokens": np.array(TOKENS)}, "no attention weights"),
    ],
)
def test_wrong_files_are_one_sentence(arrays, message, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FileError, match=message):
        GivenAttention.read(tmp_path / "a.npz")


def test_file_that_is_no_archive_is_named(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"text")
    with pytest.raises(FileError, match=r"a\.npz is no readable \.npz file"):
        GivenAttention.read(tmp_path / "a.npz")


def test_exported_analysis_is_read(tiny_checkpoint, tmp_path):
    analysis = analyse(tiny_checkpoint, Request("The red fox sees a lamp."))
    write(Exported.of(tiny_checkpoint, analysis), tmp_path / "analysis.npz")
    attention = GivenAttention.read(tmp_path / "analysis.npz")
    assert attention.kinds == ("encoder", "decoder", "cross")
    site = Site("cross", 1)
    np.testing.assert_allclose(attention.layer("cross", 1), analysis.trace.patterns[site], atol=1e-6)


@pytest.mark.parametrize(
    ("tokens", "expected", "words"),
    [
        (["[CLS]", "un", "##happy", ".", "[SEP]"], ("[CLS]", "un", "happy", ".", "[SEP]"), (0, 1, 1, 2, 3)),
        (["The", "Ġdog", "s", "Ġran", "<|endoftext|>"], ("The", "dog", "s", "ran", "<|endoftext|>"), (0, 1, 1, 2, 3)),
        (["▁The", "▁dog", "s", "</s>"], ("The", "dog", "s", "</s>"), (0, 1, 1, 2)),
    ],
)
def test_tokens_of_all_tokenizers_have_labels_and_words(tokens, expected, words):
    assert labels(tokens) == expected
    assert word_numbers(tokens) == words
