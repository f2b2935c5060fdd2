"""BERT and GPT-2 come in with the numbers that `transformers` has for them, and every reading of them stays exact."""

from __future__ import annotations

import json

import hugging_face
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from model import checkpoint as checkpoints
from model.convert.parts import ConvertError
from model.convert.registry import convert, read
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE
from model.inference.analyse import analyse, teacher_force
from model.inference.request import Request
from model.readings.blueprint import blueprint
from model.readings.logit_lens import lens
from model.readings.score_writers import score_writers
from model.trace import Site

EACH = pytest.mark.parametrize("kind", ["bert", "gpt2"])
ATTENTION = {"bert": "encoder", "gpt2": "decoder"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    home = tmp_path_factory.mktemp("hugging-face")
    return {kind: hugging_face.save(kind, home / kind) for kind in hugging_face.TEXTS}


@pytest.fixture(scope="module")
def labs(folders):
    """The checkpoints that were written, loaded again."""
    return {kind: checkpoints.load(str(convert(each, each.with_name(f"{kind}-lab")))) for kind, each in folders.items()}


def compared(lab, kind, expected):
    """Logits and all attentions beside those of `transformers`, whose rows of the vocabulary stand elsewhere."""
    tokenizer, size = lab.source_tokenizer, hugging_face.config(kind)["vocab_size"]
    text = tokenizer.encode("the red fox")
    if kind == "bert":
        found = analyse(lab, Request(hugging_face.TEXTS[kind])).trace
        assert found.source.labels[0] == "<s>" and found.source.labels[4] == "[MASK]"
        order = [0, 3, 4, *(n for n in range(size) if n not in (0, 3, 4))]
    else:
        ids = [*text, 2]
        found = teacher_force(lab, None, ids, [BASELINE])[0]
        order = [size - 1] * 3 + list(range(size - 1))
    logits = found.logits
    if kind == "gpt2":  # `<pad>` and `<s>` are the row of the end, silenced
        assert np.exp(found.log_probs[:, :2]).max() < 1e-30
        logits, order = logits[:, 2:], order[2:]
    np.testing.assert_allclose(logits, expected["logits"][:, order], atol=1e-5)
    for layer, attention in enumerate(expected["attentions"]):
        np.testing.assert_allclose(found.patterns[Site(ATTENTION[kind], layer)], attention, atol=1e-5)


@EACH
def test_its_numbers_are_those_that_transformers_has(labs, kind):
    compared(labs[kind], kind, hugging_face.recorded(kind))


@EACH
def test_its_numbers_are_those_of_the_transformers_that_is_installed(labs, kind):
    pytest.importorskip("transformers")
    compared(labs[kind], kind, hugging_face.of_transformers(kind))


@EACH
def test_it_comes_from_a_pickle_of_weights_as_well(folders, kind, tmp_path):
    folder = hugging_face.save(kind, tmp_path / kind)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    one, other = read(folder), read(folders[kind])
    assert one.config == other.config and all(one.state[name].equal(each) for name, each in other.state.items())


@EACH
def test_a_tokenizer_json_cuts_as_its_older_form_does(folders, kind, tmp_path):
    folder = hugging_face.save(kind, tmp_path / kind)
    values = json.loads((checkpoints.find(str(convert(folder, tmp_path / "lab"))) / "tokenizer.json").read_text())
    lab, older = values.pop("lab"), read(folder).source
    for name in ("vocab.txt", "vocab.json", "merges.txt"):
        (folder / name).unlink(missing_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")
    assert lab["tokens"][:3] == ["<pad>", "<s>", "</s>"]
    text = "The red fox sees an old king's boat."
    assert read(folder).source.encode(text) == older.encode(text)
    assert older.decode(older.encode("the red fox")) == "the red fox"


def test_a_blank_is_read_as_the_token_for_blanks_and_typed_text_never_is(labs):
    lab = labs["bert"]
    plain = analyse(lab, Request("The red fox [MASK] a lamp.")).trace.source
    assert plain == analyse(lab, Request("The red fox ____ a lamp.")).trace.source
    assert plain.ids.count(lab.source_tokenizer.mask) == 1
    assert lab.source_tokenizer.mask not in lab.source_tokenizer.encode("[MASK] [CLS] </s>")


@EACH
def test_every_reading_stays_exact(labs, kind):
    """What is taken apart adds up: the writers of a score, the last row of the lens, the parameters of the map."""
    lab = labs[kind]
    found = analyse(lab, Request("the red fox sees a lamp", decoding=Decoding(limit=24)))
    site = Site(ATTENTION[kind], 1)
    split = score_writers(lab, found, site, 2, 3, 1)
    assert float(split.values.sum()) == pytest.approx(split.score, abs=1e-4)
    np.testing.assert_allclose(lens(lab, found).log_probs[-1], found.trace.log_probs, atol=1e-4)
    blocks = blueprint(lab, len(found.trace.source or ()), len(found.trace.inputs or ()))
    assert sum(block.parameters for block in blocks) == lab.model.parameter_count


@EACH
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bert": {"position_embedding_type": "relative_key"}}, "'position_embedding_type' is 'relative_key'"),
        ({"bert": {"hidden_act": "mish"}, "gpt2": {"activation_function": "mish"}}, "is 'mish'; expected one of relu"),
        ({"bert": {"is_decoder": True}}, "'is_decoder' is true"),
        ({"gpt2": {"scale_attn_by_inverse_layer_idx": True}}, "'scale_attn_by_inverse_layer_idx' is True; expected false"),
        ({"gpt2": {"eos_token_id": 9999}}, "'eos_token_id' is 9999; expected 0 to"),
        ({"bert": {"num_hidden_layers": 3}, "gpt2": {"n_layer": 3}}, "is missing; expected it by config.json"),
        ({"bert": {"num_hidden_layers": 1}, "gpt2": {"n_layer": 1}}, "has no place in the format"),
    ],
)
def test_what_the_format_cannot_hold_is_refused_by_name(kind, changes, message, tmp_path):
    if kind not in changes:
        return
    folder = hugging_face.save(kind, tmp_path / kind)
    (folder / "config.json").write_text(json.dumps(hugging_face.config(kind) | changes[kind]), encoding="utf-8")
    with pytest.raises(ConvertError, match=message):
        convert(folder, tmp_path / "lab")
    assert not (tmp_path / "lab").exists()


def test_a_bert_without_a_language_model_head_says_so(tmp_path):
    folder = hugging_face.save("bert", tmp_path / "bert")
    weights = load_file(folder / "model.safetensors")
    save_file({name: each for name, each in weights.items() if "cls." not in name}, folder / "model.safetensors")
    with pytest.raises(ConvertError, match="no language-model head"):
        convert(folder, tmp_path / "lab")


@EACH
def test_a_vocabulary_of_another_model_is_refused(kind, tmp_path):
    folder = hugging_face.save(kind, tmp_path / kind)
    for name in ("vocab.txt", "vocab.json", "merges.txt"):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(ConvertError, match=r"has no tokenizer\.json and no vocab"):
        convert(folder, tmp_path / "lab")
    if kind == "bert":
        (folder / "vocab.txt").write_text("[UNK]\n[SEP]\nfox\n", encoding="utf-8")
        with pytest.raises(ConvertError, match="a vocabulary of 3 tokens; expected 68, the rows of the model's embedding"):
            convert(folder, tmp_path / "lab")
