from __future__ import annotations

import dataclasses
import json
import os
import runpy
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from model import checkpoint as checkpoints
from model import folders
from model.checkpoint import CheckpointError, find, load, names, save
from model.network import masks
from model.text.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.checkpoint_helpers import change_json, change_model, change_weights, refused

FILES = {"config.json", "tokenizer.json", "model.safetensors", "metrics.json", "counts.json"}


# -- saving and loading ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tied_output": True},
        {"joint_vocab": False},
        {"joint_vocab": False, "tied_output": True, "positions": "learned", "final_norm": False},
        {"activation": "swiglu", "norm": "rmsnorm", "positions": "rotary", "window": 3, "norm_first": False},
    ],
    ids=str,
)
def test_what_is_saved_is_loaded(tokenizer, tmp_path, changes):
    made = tiny.checkpoint(tokenizer, **changes)
    save(made, tmp_path / "one")
    found = load(str(tmp_path / "one"))
    assert found.name == "one"
    for name in ("config", "languages", "metrics", "counts"):
        assert getattr(found, name) == getattr(made, name)
    assert found.target_tokenizer.encode("Lo varun.") == tokenizer.encode("Lo varun.")
    assert (found.source_tokenizer is found.target_tokenizer) == made.config.joint_vocab
    for key, value in made.model.state_dict().items():
        assert found.model.state_dict()[key].equal(value.half().float()), key
    source, target = tiny.ids(1, 3), tiny.target_ids(1, 3)
    made.model.load_state_dict(found.model.state_dict())
    seen = masks.build(made.config, source, target)
    assert found.model(source, target, seen).equal(made.model(source, target, seen))
    save(found, tmp_path / "two")
    assert len(repr(found)) < 100
    assert (tmp_path / "two/model.safetensors").read_bytes() == (tmp_path / "one/model.safetensors").read_bytes()


def test_a_loaded_model_is_ready_for_use(saved):
    model = load(str(saved)).model
    assert not model.training
    assert {(p.dtype, p.requires_grad) for p in model.parameters()} == {(torch.float32, False)}


def test_ties_are_kept(tokenizer, tmp_path):
    save(tiny.checkpoint(tokenizer, tied_output=True), tmp_path / "tied")
    model = load(str(tmp_path / "tied")).model
    assert model.projection.weight is model.target_embedding.table.weight is model.source_embedding.table.weight
    assert len(load_file(tmp_path / "tied/model.safetensors")) == len(list(model.named_parameters()))


def test_the_folder_holds_the_files_and_float16(saved):
    assert {p.name for p in saved.iterdir()} == FILES
    assert {t.dtype for t in load_file(saved / "model.safetensors").values()} == {torch.float16}
    assert json.loads((saved / "config.json").read_text(encoding="utf-8"))["schema"] == checkpoints.SCHEMA


def test_two_vocabularies_are_two_files(tmp_path):
    english, made_up = (Tokenizer.train([p[n] for p in tiny.PAIRS], 270 + 5 * n) for n in range(2))
    made = tiny.checkpoint(english, joint_vocab=False, target_vocab=made_up.size)
    made = dataclasses.replace(made, target_tokenizer=made_up, counts={})
    save(made, tmp_path / "two")
    files = {"tokenizer.source.json", "tokenizer.target.json"}
    assert {p.name for p in (tmp_path / "two").iterdir()} == FILES - {"tokenizer.json", "counts.json"} | files
    found = load(str(tmp_path / "two"))
    assert (found.source_tokenizer.size, found.target_tokenizer.size) == (270, 275)
    (tmp_path / "two/tokenizer.target.json").unlink()
    refused(tmp_path / "two", r"tokenizer\.target\.json is missing")


def test_typed_text_stays_text_after_loading(saved):
    tokenizer = load(str(saved)).source_tokenizer
    assert min(tokenizer.encode("<pad><s></s>")) > 2


def test_checkpoints_are_found_by_name_and_by_path(saved):
    home = saved.parent
    (home / "empty").mkdir()
    assert names(home) == ("saved",)
    assert find("saved", home) == saved == find(str(saved))
    assert load("saved", home=home).name == "saved"
    for name in ("empty", "nothing", "", str(home / "nowhere")):
        with pytest.raises(CheckpointError, match=f"There is no checkpoint {name!r}; expected one of saved, or the path"):
            find(name, home)
    with pytest.raises(CheckpointError, match=r"expected one of \(none found\), or the path of a folder"):
        find("x", home / "empty")


def test_a_model_without_counts_leaves_none_of_another(saved, tiny_checkpoint):
    save(dataclasses.replace(tiny_checkpoint, counts={}), saved)
    assert load(str(saved)).counts == {}


def test_folders_of_ones_own_stand_beside_the_shipped_ones_and_equal_names_are_told_apart(saved, monkeypatch):
    shipped, home = names(), saved.parent
    assert "en-fr" in shipped
    for parts in (("one", "en-fr"), ("two", "en-fr"), ("two", "deep", "en-fr"), ("run", "checkpoint"), ("empty",)):
        shutil.copytree(saved, home.joinpath(*parts))
    (home / "empty" / "config.json").write_text('{"model_type": "marian"}')
    given = [home / "one", home / "two" / "en-fr", home / "run" / "checkpoint", home / "two" / "deep", home / "one", saved]
    monkeypatch.setenv("CHECKPOINTS", os.pathsep.join(map(str, [*given, "", folders.SHIPPED])))
    assert names() == tuple(sorted([*shipped, "en-fr (one)", "en-fr (two)", "en-fr (deep)", "run", "saved"]))
    assert find("en-fr").parent == folders.SHIPPED
    assert find("en-fr (two)") == home / "two" / "en-fr"
    assert load("en-fr (one)").name == "en-fr (one)"
    assert folders.survey().unusable == ()
    monkeypatch.setenv("CHECKPOINTS", str(home / "empty"))
    assert [str(each) for each in folders.survey().unusable] == [
        f"CHECKPOINTS: {home / 'empty'} is a Hugging Face Marian model: python -m model convert makes a checkpoint of it."
    ]
    (home / "empty" / "config.json").write_text("{}")
    assert folders.survey().unusable[0].told() == "empty is no checkpoint of the lab's own: its config.json has no 'schema'."


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda place: None, "is not there"),
        (lambda place: place.write_text("x"), "is no folder"),
        (lambda place: place.mkdir(), "holds no checkpoint: expected a config.json in it, or in a folder within"),
        (lambda place: (place / "a" / "b").mkdir(parents=True), "holds no checkpoint: expected a config.json"),
    ],
)
def test_a_folder_that_cannot_be_used_is_one_sentence_and_the_others_hold(tmp_path, saved, monkeypatch, make, told):
    make(tmp_path / "wrong")
    monkeypatch.setenv("CHECKPOINTS", os.pathsep.join([str(tmp_path / "wrong"), str(saved)]))
    assert "saved" in names()
    (fault,) = folders.survey().unusable
    assert told in str(fault)
    assert str(tmp_path) in str(fault)
    assert str(tmp_path) not in fault.told()
    with pytest.raises(CheckpointError, match="There is no checkpoint 'x'.*" + told.split(":")[0]):
        find("x")


def test_what_is_saved_is_what_a_zip_may_hold(saved):
    assert {path.name for path in saved.iterdir()} <= set(folders.FILES)
    for shipped in folders.SHIPPED.glob("*/config.json"):
        assert {path.name for path in shipped.parent.iterdir()} <= set(folders.FILES)


def test_the_shipped_ones_lie_in_the_package_where_it_is_installed(tmp_path):
    """A copy of the program's files, laid out as pip lays them out."""
    place = tmp_path / "model"
    (place / "checkpoints" / "mine").mkdir(parents=True)
    (place / "checkpoints" / "mine" / "config.json").write_text("{}", encoding="utf-8")
    path = Path(folders.__file__)
    (place / path.name).write_bytes(path.read_bytes())
    assert runpy.run_path(str(place / path.name))["SHIPPED"] == place / "checkpoints"


def test_a_peer_is_kept(tiny_checkpoint, tmp_path):
    save(dataclasses.replace(tiny_checkpoint, peer="other"), tmp_path / "one")
    assert load(str(tmp_path / "one")).peer == "other"


@pytest.mark.parametrize("peer", [3, "", "../other", ["other"]])
def test_a_peer_that_is_no_name(saved, peer):
    change_json(saved / "config.json", peer=peer)
    refused(saved, "config.json: 'peer' is .*; expected the name of a checkpoint, or no such entry")


@pytest.mark.parametrize("name", ["metrics.json", "counts.json"])
def test_what_is_known_of_a_model_may_be_absent(saved, name):
    (saved / name).unlink()
    assert getattr(load(str(saved)), name.removesuffix(".json")) == {}


# -- faults: each names the file, the key, what was found and what was expected ------------------------------------------


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file(saved, name):
    (saved / name).unlink()
    expected = rf"{name} is missing; a checkpoint needs it. Copy the folder again"
    with pytest.raises(CheckpointError, match=expected):
        load(str(saved))


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("kept", [0, 0.5])
def test_a_truncated_file(saved, name, kept):
    whole = (saved / name).read_bytes()
    (saved / name).write_bytes(whole[: int(kept * len(whole))])
    problem = {"tokenizer.json": "is no usable vocabulary", "model.safetensors": "is truncated or damaged"}
    refused(saved, rf"{saved / name} {problem.get(name, 'is no valid JSON')}")


@pytest.mark.parametrize("name", sorted(FILES - {"model.safetensors"}))
def test_a_file_that_is_no_text(saved, name):
    (saved / name).write_bytes(b"\xff\xfe{}")
    refused(saved, rf"{name} is no (valid JSON|usable vocabulary)")


@pytest.mark.parametrize("schema", [0, 2, "1", None])
def test_another_schema(saved, schema):
    change_json(saved / "config.json", schema=schema)
    refused(saved, rf"config.json: 'schema' is {schema!r}; expected 1. The checkpoint belongs to another version")


def test_a_config_that_is_no_object(saved):
    (saved / "config.json").write_text("[1]", encoding="utf-8")
    refused(saved, r"config.json: 'schema' is None; expected 1")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heads": 3}, "'model': d_model is 16; expected a multiple of heads, which is 3"),
        ({"colour": "red"}, "'model': unknown field 'colour'"),
        ({"positions": "none"}, "'model': positions is 'none'; expected one of"),
        ({"d_ff": "32"}, "'model': d_ff is '32'; expected a whole number"),
    ],
)
def test_a_config_that_does_not_fit(saved, changes, message):
    change_model(saved, **changes)
    refused(saved, rf"config.json: {message}")


@pytest.mark.parametrize("languages", ["English", ["English"], [1, 2], None])
def test_bad_languages(saved, languages):
    change_json(saved / "config.json", languages=languages)
    refused(saved, "config.json: 'languages' is .*; expected two names, source and target")


def test_a_vocabulary_that_does_not_fit_the_embedding(saved):
    Tokenizer.train(tiny.SENTENCES, 300).save(saved / "tokenizer.json")
    refused(saved, r"tokenizer.json: the vocabulary has 300 tokens; expected 320, the rows of the embedding in config")


@pytest.mark.parametrize("content", ['{"model": {}}', "[]", "3"])
def test_a_tokenizer_that_is_none(saved, content):
    (saved / "tokenizer.json").write_text(content, encoding="utf-8")
    refused(saved, r"tokenizer.json is no usable vocabulary")


def test_a_wrong_shape(saved):
    change_model(saved, d_ff=40)
    message = refused(saved, r"model.safetensors: 'encoder\.0\.feed_forward\.inner\.\w+' has the shape")
    assert "(32" in message.split("expected")[0]
    assert "(40" in message.split("expected")[1]


def test_a_missing_key(saved):
    change_weights(saved, lambda weights: weights.pop("encoder_norm.bias"))
    refused(saved, r"model.safetensors: 'encoder_norm.bias' is missing; expected \(16,\) by config.json")


def test_an_extra_key(saved):
    change_weights(saved, lambda weights: weights.update(surplus=torch.zeros(2)))
    refused(saved, r"model.safetensors: 'surplus' is not a parameter of the model that config.json describes")


def test_fewer_layers_than_weights(saved):
    change_model(saved, decoder_layers=1)
    refused(saved, r"'decoder\.1\.[\w.]+' is not a parameter of the model")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite(saved, bad):
    change_weights(saved, lambda weights: weights["decoder_norm.weight"][:3].fill_(bad))
    refused(saved, r"'decoder_norm.weight' holds 3 values that are NaN or infinite; expected finite numbers")


@pytest.mark.parametrize("values", [[], {"source": [1] * 320}, {"source": [1] * 319, "target": [1] * 320}])
def test_counts_that_do_not_fit(saved, values):
    (saved / "counts.json").write_text(json.dumps(values), encoding="utf-8")
    refused(saved, r"counts.json: '(source|target)' is no list of 320 counts, one a token of the vocabulary")


@pytest.mark.parametrize("count", [-1, 1.5, "1", None])
def test_counts_that_are_none(saved, count):
    change_json(saved / "counts.json", target=[count] * 320)
    refused(saved, r"counts.json: 'target' is no list of 320 counts")


def test_metrics_that_are_no_object(saved):
    (saved / "metrics.json").write_text("[1, 2]", encoding="utf-8")
    refused(saved, r"metrics.json: the content is a list; expected an object")


def test_saving_leaves_no_half_written_file(saved, tiny_checkpoint, monkeypatch):
    """A disk that is full while the weights are written keeps those before."""
    before = (saved / "model.safetensors").read_bytes()

    def full_disk(weights, path):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "save_file", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(tiny_checkpoint, saved)
    assert (saved / "model.safetensors").read_bytes() == before
