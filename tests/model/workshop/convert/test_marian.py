"""A Marian model that was brought in computes what `transformers` computes: live where it is installed, else as recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from model import checkpoint as checkpoints
from model.checkpoint import Checkpoint
from model.config import CONTROL_TOKENS, END, PAD, START
from model.decoding.search import beam, greedy
from model.io import foreign_checkpoints
from model.network import positions
from model.network.context import Pass, teacher_forced_states
from model.trace import Probe
from model.workshop.convert.conversion import ConversionOptions, ConvertError
from model.workshop.convert.registry import convert
from tests.support import marian

CLOSE = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture
def folder(tmp_path) -> Path:
    """A Marian model's folder."""
    (tmp_path / "opus-mt-en-fr").mkdir()
    marian.unpack(tmp_path / "opus-mt-en-fr")
    return tmp_path / "opus-mt-en-fr"


def ours(loaded: Checkpoint, folder: Path) -> np.ndarray:
    """For each id of theirs the one here."""
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    table = {"<pad>": START, "</s>": END}
    tokens = loaded.source_tokenizer._tokens
    return np.array([table[token] if token in table else tokens.index(token) for token in ids])


def assert_equal(loaded: Checkpoint, folder: Path, peer: dict[str, np.ndarray]) -> None:
    to, model = ours(loaded, folder), loaded.model
    for n, text in enumerate(marian.TEXTS):
        assert [*loaded.source_tokenizer.encode(text), END] == to[peer[f"ids {n}"]].tolist(), text
    for n, text in enumerate(marian.TARGET):
        outputs = to[peer[f"outputs {n}"]]
        assert [*loaded.target_tokenizer.encode(text), END] == outputs.tolist()
        source, probe = torch.tensor(to[peer[f"ids {n}"]])[None], Probe("full")
        logits = model.project(teacher_forced_states(model, source, torch.tensor(outputs)[None], Pass(probe=probe)))[0]
        np.testing.assert_allclose(logits[:, to].numpy(), peer[f"logits {n}"], **CLOSE)
        assert logits.softmax(-1)[:, PAD].max() == 0
        for site, record in probe.records.items():
            np.testing.assert_allclose(record["pattern"][0].numpy(), peer[f"{site.kind} {site.layer} {n}"], **CLOSE)
        assert len(probe.records) == sum(loaded.config.layers.values())
        found = {
            1: greedy(model, source, max_total_tokens=marian.LIMIT)[0],
            3: beam(model, source, 3, max_total_tokens=marian.LIMIT)[0][0],
        }
        for width, path in found.items():
            assert list(path.ids) == to[peer[f"beam {width} {n}"]].tolist()


def test_it_computes_what_was_recorded(folder, tmp_path):
    peer = marian.unpack(folder)
    loaded = checkpoints.load(str(convert(folder, tmp_path / "made")))
    assert_equal(loaded, folder, peer)
    assert loaded.languages == ("English", "German")
    assert loaded.source_tokenizer.pieces([PAD, START, END]) == CONTROL_TOKENS
    card = (tmp_path / "made" / "README.md").read_text(encoding="utf-8")
    assert "a Hugging Face Marian model: `opus-mt-en-fr`" in card and "SHA-256 of `model.safetensors`" in card
    assert "- Activation: SiLU" in card and "one table for both sides, multiplied by the square root of d_model" in card
    assert "`<pad>` is a new row of zeros, never predicted (bias -100); `<s>` is the model's `<pad>`" in card
    assert "`python -m model evaluate --checkpoint FOLDER/made --data FILE.tsv` measures them" in card


def test_the_card_of_a_marian_follows_its_config(folder, tmp_path):
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    change(folder, activation_function="gelu", scale_embedding=False, decoder_start_token_id=ids["</s>"])
    card = (convert(folder, tmp_path / "made") / "README.md").read_text(encoding="utf-8")
    assert "- Post-norm (LayerNorm, epsilon 1e-05), no norm after the last layer\n" in card
    assert "- Activation: GELU\n- Positions: sinusoidal-halves\n" in card and "SiLU" not in card
    assert "- Embeddings: one table for both sides, not scaled\n- Output: the embedding table, with a bias\n" in card
    assert "`<pad>` is the model's `<pad>`; `<s>` is the model's `</s>`, never predicted (bias -100)" in card


def test_it_computes_what_transformers_computes(tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("sentencepiece")
    folder = tmp_path / "live"
    folder.mkdir()
    marian.make(folder, seed=3)
    assert_equal(checkpoints.load(str(convert(folder, tmp_path / "made"))), folder, marian.peer(folder))


def test_torch_weights_and_two_tables_are_read(folder, tmp_path):
    state = load_file(folder / "model.safetensors")
    kinds = {name: each for name, each in state.items() if "shared" not in name}
    for side in ("encoder", "decoder"):
        kinds[f"model.{side}.embed_tokens.weight"] = state["model.shared.weight"] + (side == "encoder")
    kinds["lm_head.weight"] = state["model.shared.weight"]
    change(folder, share_encoder_decoder_embeddings=False)
    (folder / "target_vocab.json").write_bytes((folder / "vocab.json").read_bytes())
    (folder / "model.safetensors").unlink()
    torch.save(kinds, folder / "pytorch_model.bin")
    loaded = checkpoints.load(
        str(convert(folder, tmp_path / "made", options=ConversionOptions(languages=("Elvish", "Latin"))))
    )
    assert not loaded.config.joint_vocab and loaded.config.tied_output and loaded.languages == ("Elvish", "Latin")
    rows = [table.weight for table in (loaded.model.source_embedding.table, loaded.model.target_embedding.table)]
    assert torch.allclose(rows[0][1:], rows[1][1:] + 1)


def change(folder: Path, **changes) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation_function": "gelu_10"}, "'activation_function' is 'gelu_10'; expected one of relu, gelu, gelu_new"),
        ({"decoder_ffn_dim": 8}, "'encoder_ffn_dim' is 24 and 'decoder_ffn_dim' 8; expected the same"),
        ({"normalize_before": True}, "'normalize_before' is True; expected false"),
        (
            {"static_position_embeddings": False},
            "'static_position_embeddings' is false; expected true, sinusoidal positions",
        ),
        ({"d_model": 10**9}, r"config\.json: d_model is 1000000000; expected a multiple of heads|at most 16,384"),
        ({"encoder_layers": "6"}, "'encoder_layers' is '6'; expected a value of the type int"),
        ({"encoder_layers": 3}, "'model.encoder.layers.1.self_attn.q_proj.weight' is missing"),
        ({"decoder_layers": 1}, "'model.decoder.layers.1.*' has no place in the format|has no place"),
        ({"eos_token_id": 10**6}, "'eos_token_id' is 1000000; expected 0 to"),
        ({"pad_token_id": 999}, "'pad_token_id' is 999; expected 0 to"),
        ({"pad_token_id": "x"}, "'pad_token_id' is 'x'; expected a value of the type int"),
        ({"model_type": "t5"}, "kind 't5', which has relative positions, added to the scores: the format cannot hold that"),
    ],
)
def test_unsupported_config_is_refused_by_name(folder, tmp_path, changes, message):
    change(folder, **changes)
    with pytest.raises(ConvertError, match=message) as caught:
        convert(folder, tmp_path / "made")
    assert "\n" not in str(caught.value) and sorted(path.name for path in tmp_path.iterdir()) == ["opus-mt-en-fr"]


def test_foreign_folder_names_its_conversion(folder, tmp_path):
    with pytest.raises(checkpoints.CheckpointError) as caught:
        checkpoints.load(str(folder))
    command = f"python -m model convert {folder} --kind marian --to {folder}-lab"
    assert str(caught.value) == f"{folder} is a Hugging Face Marian model. Convert it: {command}"
    checkpoints.load(str(convert(folder, tmp_path / "made")))
    with pytest.raises(ConvertError, match="made is there already; name a new folder"):
        convert(folder, tmp_path / "made")
    with pytest.raises(ConvertError, match="made is a checkpoint of this program already; it needs no conversion"):
        convert(tmp_path / "made", tmp_path / "again")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("source.spm", b"\x0a\x05\x0a\xff", "source.spm is truncated or damaged"),
        ("source.spm", b"\x0a\x02\x18\x01", "source.spm is truncated or damaged"),
        ("target.spm", None, "target.spm is missing; expected a file of SentencePiece"),
        ("vocab.json", b"[1]", "vocab.json is no object with an id for each token"),
        ("vocab.json", b'{"a": 99}', "vocab.json: 'a' has the id 99; expected 0 to"),
        ("model.safetensors", b"\x08\0\0\0\0\0\0\0{", "model.safetensors is truncated or damaged"),
    ],
)
def test_damaged_files_are_named(folder, tmp_path, name, content, message):
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(ConvertError, match=message):
        convert(folder, tmp_path / "made")
    assert [path.name for path in tmp_path.iterdir()] == ["opus-mt-en-fr"]


LLAMA = {"hidden_size": 64, "num_attention_heads": 8, "rope_theta": 10000.0, "rms_norm_eps": 1e-6, "hidden_act": "silu"}


OTHERS = [  # what config.json says, and the reasons that the refusal names
    ("llama", LLAMA | {"num_key_value_heads": 8}, None),
    ("llama", LLAMA | {"num_key_value_heads": 2}, "2 heads of keys for 8 of queries"),
    ("llama", LLAMA | {"rope_theta": 5e5}, "rotary positions with the base 500000.0"),
    ("llama", LLAMA | {"rope_scaling": {"type": "linear"}}, "rotary positions with the scaling 'linear'"),
    ("llama", LLAMA | {"rope_parameters": {"rope_theta": 1e4, "rope_type": "default"}}, None),
    ("gemma", LLAMA | {"head_dim": 16}, "8 heads of width 16 for states of width 64"),
    ("t5", {"d_model": 64, "num_heads": 8, "d_kv": 8}, "relative positions, added to the scores"),
    ("bart", {"activation_function": "gelu"}, "a norm after the embeddings of encoder and decoder"),
    ("m2m_100", {"d_model": 64}, "sinusoidal positions that begin at 2"),
    ("blenderbot", {"d_model": 64}, None),
    ("mpt", {"attn_config": {"alibi": True}}, "ALiBi positions, added to the scores"),
    ("mpt", {"attn_config": {"alibi": False}}, None),
]


@pytest.mark.parametrize(("kind", "values", "reason"), OTHERS, ids=str)
def test_another_kind_is_refused_with_its_reason(tmp_path, kind, values, reason):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind} | values), encoding="utf-8")
    has = f"which has {reason}: the format cannot hold that" if reason else "for which there is no converter"
    for given in (None, "bert"):
        with pytest.raises(ConvertError) as caught:
            convert(tmp_path, tmp_path / "made", given)
        said = f"{tmp_path} is a Hugging Face model of the kind '{kind}', {has}"
        assert str(caught.value) == f"{said}; supported are marian, bert, gpt2, torch"
    assert foreign_checkpoints.ROTARY_BASE == positions.BASE
