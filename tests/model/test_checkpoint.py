"""Checkpoints are saved, loaded and located."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from model import checkpoint as checkpoints
from model.checkpoint import CheckpointError, find_folder, list_names, load, save
from model.io import folders
from model.network import masks
from model.text.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.checkpoint_helpers import refused

FILES = {"config.json", "tokenizer.json", "model.safetensors", "metrics.json", "counts.json"}


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
    made = dataclasses.replace(tiny.checkpoint(tokenizer, **changes), peer="other")
    save(made, tmp_path / "one")
    found = load(str(tmp_path / "one"))
    assert found.name == "one"
    for name in ("config", "languages", "metrics", "token_counts", "peer"):
        assert getattr(found, name) == getattr(made, name)
    assert found.target_tokenizer.encode("Lo varun.") == tokenizer.encode("Lo varun.")
    assert (found.source_tokenizer is found.target_tokenizer) == made.config.joint_vocab
    for key, value in made.model.state_dict().items():
        assert found.model.state_dict()[key].equal(value.half().float()), key
    source, target = tiny.ids(1, 3), tiny.target_ids(1, 3)
    made.model.load_state_dict(found.model.state_dict())
    seen = masks.build(made.config, source, target)
    assert found.model(source, target, seen).equal(made.model(source, target, seen))
    assert not found.model.training
    assert {(p.dtype, p.requires_grad) for p in found.model.parameters()} == {(torch.float32, False)}
    save(dataclasses.replace(found, token_counts={}), tmp_path / "two")
    assert load(str(tmp_path / "two")).token_counts == {}
    assert len(repr(found)) < 100
    assert (tmp_path / "two/model.safetensors").read_bytes() == (tmp_path / "one/model.safetensors").read_bytes()


def test_ties_are_kept(tokenizer, tmp_path):
    save(tiny.checkpoint(tokenizer, tied_output=True), tmp_path / "tied")
    model = load(str(tmp_path / "tied")).model
    assert model.projection.weight is model.target_embedding.table.weight is model.source_embedding.table.weight
    assert len(load_file(tmp_path / "tied/model.safetensors")) == len(list(model.named_parameters()))


def test_two_vocabularies_are_two_files(tmp_path):
    english, made_up = (Tokenizer.train([p[n] for p in tiny.PAIRS], 270 + 5 * n) for n in range(2))
    made = tiny.checkpoint(english, joint_vocab=False, target_vocab=made_up.size)
    made = dataclasses.replace(made, target_tokenizer=made_up, token_counts={})
    save(made, tmp_path / "two")
    assert {t.dtype for t in load_file(tmp_path / "two/model.safetensors").values()} == {torch.float16}
    files = {"tokenizer.source.json", "tokenizer.target.json"}
    assert {p.name for p in (tmp_path / "two").iterdir()} == FILES - {"tokenizer.json", "counts.json"} | files
    found = load(str(tmp_path / "two"))
    assert (found.source_tokenizer.size, found.target_tokenizer.size) == (270, 275)
    (tmp_path / "two/tokenizer.target.json").unlink()
    refused(tmp_path / "two", r"tokenizer\.target\.json is missing")


def test_checkpoints_are_located_by_name_and_path(saved):
    home = saved.parent
    (home / "empty").mkdir()
    assert list_names(home) == ("saved",)
    assert find_folder("saved", home) == saved == find_folder(str(saved))
    assert load("saved", root=home).name == "saved"
    with pytest.raises(CheckpointError, match=r"expected one of \(none found\), or the path of a folder"):
        find_folder("x", home / "empty")


def test_own_folders_join_the_shipped_checkpoints(saved, monkeypatch):
    shipped, home = list_names(), saved.parent
    assert "en-fr" in shipped
    for parts in (("one", "en-fr"), ("two", "en-fr"), ("two", "deep", "en-fr"), ("run", "checkpoint"), ("empty",)):
        shutil.copytree(saved, home.joinpath(*parts))
    (home / "empty" / "config.json").write_text('{"model_type": "marian"}')
    given = [home / "one", home / "two" / "en-fr", home / "run" / "checkpoint", home / "two" / "deep", home / "one", saved]
    monkeypatch.setenv("CHECKPOINTS", os.pathsep.join(map(str, [*given, "", folders.SHIPPED])))
    assert list_names() == tuple(sorted([*shipped, "en-fr (one)", "en-fr (two)", "en-fr (deep)", "run", "saved"]))
    assert find_folder("en-fr").parent == folders.SHIPPED
    assert find_folder("en-fr (two)") == home / "two" / "en-fr"
    assert load("en-fr (one)").name == "en-fr (one)"
    assert folders.list_checkpoints().unusable == ()
    monkeypatch.setenv("CHECKPOINTS", str(home / "empty"))
    assert [str(each) for each in folders.list_checkpoints().unusable] == [
        f"CHECKPOINTS: {home / 'empty'} is a Hugging Face Marian model: python -m model convert makes a checkpoint of it."
    ]
    (home / "empty" / "config.json").write_text("{}")
    assert (
        folders.list_checkpoints().unusable[0].message()
        == "empty is no checkpoint of the lab's own: its config.json has no 'schema'."
    )


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda place: None, "is not there"),
        (lambda place: place.write_text("x"), "is no folder"),
        (lambda place: place.mkdir(), "holds no checkpoint: expected a config.json in it, or in a folder within"),
        (lambda place: (place / "a" / "b").mkdir(parents=True), "holds no checkpoint: expected a config.json"),
    ],
)
def test_unusable_folder_is_one_sentence(tmp_path, saved, monkeypatch, make, told):
    make(tmp_path / "wrong")
    monkeypatch.setenv("CHECKPOINTS", os.pathsep.join([str(tmp_path / "wrong"), str(saved)]))
    assert "saved" in list_names()
    (fault,) = folders.list_checkpoints().unusable
    assert told in str(fault)
    assert str(tmp_path) in str(fault)
    assert str(tmp_path) not in fault.message()
    with pytest.raises(CheckpointError, match="There is no checkpoint 'x'.*" + told.split(":")[0]):
        find_folder("x")


def test_what_is_saved_is_what_a_zip_may_hold(saved):
    assert {path.name for path in saved.iterdir()} == FILES <= set(folders.FILES)
    for shipped in folders.SHIPPED.glob("*/config.json"):
        assert {path.name for path in shipped.parent.iterdir()} <= set(folders.FILES)


def test_shipped_checkpoints_lie_in_the_package(tmp_path):
    place = tmp_path / "model"
    (place / "checkpoints" / "mine").mkdir(parents=True)
    (place / "checkpoints" / "mine" / "config.json").write_text("{}", encoding="utf-8")
    shutil.copytree(
        Path(folders.__file__).parents[1], place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    code = "from model.io.folders import SHIPPED; print(SHIPPED)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == place / "checkpoints"


def test_saving_leaves_no_half_written_file(saved, tiny_checkpoint, monkeypatch):
    before = {path.name: path.read_bytes() for path in saved.iterdir()}

    def full_disk(weights, path):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "save_file", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(tiny_checkpoint, saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
