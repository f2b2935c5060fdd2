"""A damaged checkpoint is refused in one line that names the file, the key and what was expected."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from model import checkpoint_files
from model.checkpoint import CheckpointError, find_folder, list_names, load
from model.io import folders
from model.network.transformer import build
from model.text.measurements import KEY
from model.text.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.checkpoint_helpers import change_json, change_model, change_weights, refused

JSON_FILES = (
    "config.json",
    "tokenizer.json",
    "metrics.json",
    "counts.json",
    "seen.json",
    "faithfulness.json",
    "routes.json",
)
SEEN = {"lengths": {"source": [0, 0, 3, 1], "target": [0, 4]}, "words": {"fox": 2}}
ROUTE_HEAD = {"site": "cross", "layer": 1, "head": 1, "hop": 1, "share": 0.5, "low": 0.4, "high": 0.6}
ROUTES = {"schema": 1, "sentences": 3, "left_out": 0, "linked": 3, "seed": 1, "data": "", "heads": [ROUTE_HEAD]}
Damage = Callable[[Path], object]


@pytest.fixture
def whole(saved: Path) -> Path:
    """A checkpoint with every file that a checkpoint may have."""
    (saved / "seen.json").write_text(json.dumps(SEEN), encoding="utf-8")
    shutil.copy(folders.SHIPPED / "en-fr" / "faithfulness.json", saved)
    means = {f"{site.kind}.{site.layer}": mean for site, mean in tiny.means(tiny.config()).items()}
    save_file(means, saved / "means.safetensors")
    (saved / "routes.json").write_text(json.dumps(ROUTES), encoding="utf-8")
    assert load(str(saved)).route_heads.to_dict() == ROUTES
    assert load(str(saved)).corpus_stats.to_dict() == SEEN
    return saved


def entries(name: str, **changes) -> Damage:
    return lambda folder: change_json(folder / name, **changes)


def model(**changes) -> Damage:
    return lambda folder: change_model(folder, **changes)


def weights(change: Callable[[dict], object]) -> Damage:
    return lambda folder: change_weights(folder, change)


def means(change: Callable[[dict], object]) -> Damage:
    def damage(folder: Path) -> None:
        stored = load_file(folder / "means.safetensors")
        change(stored)
        save_file(stored, folder / "means.safetensors")

    return damage


def content(name: str, text: str | bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def values(name: str, made: object) -> Damage:
    return content(name, json.dumps(made))


def replaced(name: str, old: str, new: str) -> Damage:
    def damage(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")

    return damage


def vocabulary(part: str = "model", **changes) -> Damage:
    return in_json("tokenizer.json", lambda found: (found[part] if part else found).update(changes))


def in_json(name: str, change: Callable[[dict], object]) -> Damage:
    def damage(folder: Path) -> None:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
        change(found)
        (folder / name).write_text(json.dumps(found), encoding="utf-8")

    return damage


config, metrics = partial(entries, "config.json"), partial(entries, "metrics.json")
report = partial(in_json, "faithfulness.json")
HUGE = {"d_model": 16384, "d_ff": 65536, "encoder_layers": 48, "decoder_layers": 48, "source_vocab": 10**6}
WARNED = {"bar": 50.0, "sentences": 20, "bad": 4, "rules": {"rare": {"warned": 5, "right": 3}}, "signs": []}
RATES = {"sentences": 1, "left_out": 0, "sure": 1, "resamples": 9, "seed": 1, "diagonal": [0.5] * 5}
REFUSALS: list[tuple[Damage, str]] = [
    (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors is missing; a checkpoint needs it"),
    (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json is missing; a checkpoint needs it"),
    (content("config.json", b""), "config.json is no valid JSON"),
    (content("config.json", "[1]"), "config.json: 'schema' is None; expected 1"),
    (config(schema=2), "config.json: 'schema' is 2; expected 1. The checkpoint belongs to another version"),
    (config(languages=["English"]), "config.json: 'languages' is .*; expected two names, source and target"),
    (config(languages=["a\nb", "c"]), "config.json: 'languages' is .*; expected two names"),
    (config(peer="../other"), "config.json: 'peer' is .*; expected the name of a checkpoint, or no such entry"),
    (model(heads=3), "config.json: 'model': d_model is 16; expected a multiple of heads, which is 3"),
    (model(d_model=10**30, heads=1), "d_model is 1000000000000000000000000000000; expected at most 16,384"),
    (model(norm_eps=1e300), r"norm_eps is 1e\+300; expected at most 1"),
    (model(positions={"a": 1}), r"positions is \{'a': 1\}; expected one of sinusoidal"),
    (model(target_vocab=10**6, **HUGE), "the model would have 393,545,252,864 weights; expected at most 1,073,741,824"),
    (content("model.safetensors", b"short"), "model.safetensors is truncated or damaged"),
    (model(d_ff=40), r"model.safetensors: 'encoder\.0\.feed_forward\.inner\.\w+' has the shape .*32.*; expected .*40"),
    (model(decoder_layers=1), r"'decoder\.1\.[\w.]+' is not a parameter of the model"),
    (weights(lambda w: w.pop("encoder_norm.bias")), r"'encoder_norm.bias' is missing; expected \(16,\) by config.json"),
    (weights(lambda w: w.update(surplus=torch.zeros(2))), "'surplus' is not a parameter of the model that config.json"),
    (weights(lambda w: w["decoder_norm.weight"][:3].fill_(torch.nan)), "'decoder_norm.weight' holds 3 values that are NaN"),
    (weights(lambda w: w.update({"encoder_norm.bias": torch.full((16,), 3e38)})), r"the value 3e\+38; expected at most"),
    (weights(lambda w: w.update({"encoder_norm.bias": torch.ones(16, dtype=torch.int32)})), "of the kind I32; expected F16"),
    (content("tokenizer.json", "[]"), "tokenizer.json is no usable vocabulary"),
    (lambda folder: Tokenizer.train(tiny.SENTENCES, 300).save(folder / "tokenizer.json"), "has 300 tokens; expected 320"),
    (vocabulary(type="Unigram"), "its model is 'Unigram'; expected 'BPE', byte-level byte-pair encoding"),
    (vocabulary(dropout=0.5), "its model has dropout = 0.5; expected merges alone"),
    (vocabulary(merges=[["q", "nowhere"]]), r"its 'merges' have \['q', 'nowhere'\]; expected two tokens"),
    (vocabulary(merges=[["<s>", "<s>"]]), "its 'merges' have"),
    (vocabulary(vocab={"<pad>": 0, "<s>": 1, "</s>": 2}), "its 'vocab' has no token for the byte"),
    (vocabulary(vocab={"<pad>": 0, "<s>": 0}), "its 'vocab' has 2 tokens; expected the ids from 0 on, each once"),
    (vocabulary("", pre_tokenizer={"type": "Whitespace"}), r"its 'pre_tokenizer' is \{'type': 'Whitespace'\}"),
    (vocabulary("", normalizer={"type": "Lowercase"}), "its 'normalizer' is"),
    (vocabulary("", added_tokens=[]), r"the added tokens are \(\)"),
    (replaced("tokenizer.json", r"\\s+(?!\\S)", "(a+)+b"), "tokenizer.json is no usable vocabulary: its 'pre_tokenizer' is"),
    (values("counts.json", {"source": [1] * 319, "target": [1] * 320}), "counts.json: 'source' is no list of 320 counts"),
    (values("counts.json", {"source": [-1] * 320, "target": [1] * 320}), "counts.json: 'source' is no list of 320 counts"),
    (values("counts.json", {"source": [10**30] * 320, "target": [1] * 320}), "counts.json: 'source' is no list of 320"),
    (values("metrics.json", [1, 2]), "metrics.json: the content is a list; expected an object"),
    (metrics(test=[1]), r"metrics.json: 'test' is \[1\]; expected an object with the scores"),
    (metrics(test={"bleu": 10**400}), r"metrics.json: 'test': 'bleu' is 1\d+\.\.\."),
    (metrics(test={"bleu": 50, "sentences": 0}), "'test': 'sentences' is 0; expected a whole number of at least 1"),
    (metrics(test_all_references={"bleu": 50, "sentences": 3, "beam": []}), r"'test_all_references': 'beam' is \[\]"),
    (metrics(test={"bits_per_character": 2.5}), "'test': 'characters' is None; expected a whole number of at least 1"),
    (metrics(warnings=WARNED | {"rules": []}), "metrics.json: 'warnings' has no object 'rules'"),
    (metrics(warnings=WARNED | {"bad": 40}), "metrics.json: .*'rare' has .*; expected counts that fit"),
    (metrics(warnings=WARNED | {"signs": [{"sentences": 2}]}), "metrics.json: .*'signs' is"),
    (metrics(**{KEY: RATES | {"rates": {}}}), "metrics.json: .*alignment"),
    (metrics(**{KEY: 3}), "metrics.json: .*alignment"),
    (values("seen.json", []), "seen.json: 'lengths': 'source' is no list of counts, one for each number of tokens from 0"),
    (values("seen.json", SEEN | {"words": {"fox": "2"}}), "seen.json: 'words' is no object with a count for each word"),
    (values("seen.json", {"lengths": {"source": [0, 5], "target": [0, 4]}}), "'lengths' has 5 source and 4 target"),
    (values("seen.json", {"lengths": {"source": [1] * 200, "target": [1] * 200}}), "sentences of 199 tokens; expected"),
    (content("means.safetensors", b"short"), r"means.safetensors is truncated or damaged \(.*\); copy the file again\.$"),
    (means(lambda s: s.pop("cross.1")), r"means.safetensors: 'cross\.1' is missing; expected \(2, 8\) by config\.json\.$"),
    (means(lambda s: s.update({"cross.2": torch.zeros(2, 8)})), r"'cross\.2' is not a parameter of the model"),
    (means(lambda s: s["decoder.1"][0, :3].fill_(torch.nan)), r"'decoder\.1' holds 3 values that are NaN or infinite"),
    (entries("routes.json", heads=[ROUTE_HEAD | {"head": 2}]), "routes.json: 'heads' has cross 2.3, which the model of"),
    (
        entries("routes.json", earlier=[ROUTES | {"step": 3, "heads": [ROUTE_HEAD | {"head": 2}]}]),
        "routes.json: 'heads' has cross 2.3, which the model of",
    ),
    (entries("routes.json", sentences=0), "routes.json: 'sentences' is 0; expected a whole number"),
    (report(lambda v: v.update(schema=2)), "faithfulness.json: 'schema' is 2; expected 1"),
    (report(lambda v: v["leaders"].update(step="luck")), "faithfulness.json: 'leaders' is .*; expected a reading"),
    (report(lambda v: v["shares"]["step"]["sum"].update(low="x")), "'shares': 'step': 'sum' is .*; expected numbers share"),
]


@pytest.mark.parametrize(("damage", "message"), REFUSALS, ids=[message[:50] for _, message in REFUSALS])
@pytest.mark.every(3)
def test_damage_is_refused_by_file_and_key(whole, damage, message):
    damage(whole)
    refused(whole, message)


@pytest.mark.parametrize("name", [*JSON_FILES, "model.safetensors", "means.safetensors"])
def test_only_regular_files_of_a_possible_size_are_read(whole, name):
    with (whole / name).open("r+b") as raw:
        raw.truncate(1 << 40)  # takes no room on the disk
    refused(whole, rf"{name} has 1,099,511,627,776 bytes; expected at most [\d,]+")
    for make in (lambda path: path.symlink_to("/dev/zero"), os.mkfifo, Path.mkdir):
        (whole / name).unlink()
        make(whole / name)
        refused(whole, rf"{name} (is no regular file, but a device, a pipe or the like|cannot be read: Is a directory)")
        if (whole / name).is_dir():
            (whole / name).rmdir()
            (whole / name).touch()


@pytest.mark.parametrize("name", JSON_FILES)
def test_nested_brackets_are_refused(whole, name):
    (whole / name).write_text("[" * 200_000, encoding="utf-8")
    refused(whole, rf"{name} (is no valid JSON|is no usable vocabulary).*more than 50 lists or objects within one another")


def declare(folder: Path, key: str, count: int) -> None:
    """Declares a larger float16 tensor in the header of the weights, with a hole in the file for it."""
    path = folder / "model.safetensors"
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8 : 8 + size]), raw[8 + size :]
    first, last = header[key]["data_offsets"]
    for entry in header.values():
        if "data_offsets" in entry and entry["data_offsets"][0] >= last:
            entry["data_offsets"] = [place - last + first for place in entry["data_offsets"]]
    start = len(data) - last + first
    header[key] = {"dtype": "F16", "shape": [count], "data_offsets": [start, start + 2 * count]}
    text = json.dumps(header).encode()
    with path.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data[:first] + data[last:])
        out.truncate(out.tell() + 2 * count)


def test_declared_size_and_shape_are_checked_before_reading(saved, monkeypatch):
    before = (saved / "model.safetensors").read_bytes()
    declare(saved, "encoder_norm.weight", 15_000_000_000)
    refused(saved, r"model.safetensors has 30,000,\d+,\d+ bytes; expected at most")
    (saved / "model.safetensors").write_bytes(before)
    declare(saved, "encoder_norm.weight", 4_000_000)
    monkeypatch.setattr("torch.Tensor.float", None)
    refused(saved, r"'encoder_norm.weight' has the shape \(4000000\); expected \(16,\) by config.json")


def test_weights_of_an_infinite_first_pass_are_refused(saved, monkeypatch):
    message = r"model.safetensors: a first pass gives a number that is NaN or infinite"
    monkeypatch.setattr(checkpoint_files, "MAX_WEIGHT", 3.4e38)
    before = (saved / "model.safetensors").read_bytes()
    change_weights(saved, lambda stored: stored.update({"encoder_norm.bias": torch.full((16,), 3e38)}))
    refused(saved, message)
    (saved / "model.safetensors").write_bytes(before)
    change_model(saved, positions="rotary", norm_eps=1e-300)
    change_weights(saved, lambda stored: [stored[key].zero_() for key in stored])
    refused(saved, message)


def test_config_counts_the_weights_of_its_model():
    for changes in (
        {},
        {"joint_vocab": False, "tied_output": False, "positions": "learned"},
        {"activation": "swiglu"},
        {"family": "encoder-only", "decoder_layers": 0},
        {"family": "decoder-only", "encoder_layers": 0, "tied_output": True, "positions": "learned"},
    ):
        made = tiny.config(**changes)
        assert made.weight_count == sum(p.numel() for p in build(made).parameters() if p.dim() > 1)


def test_vocabulary_with_joined_merges_is_read(saved, tokenizer):
    stored = json.loads((saved / "tokenizer.json").read_text(encoding="utf-8"))["model"]["merges"]
    vocabulary(merges=[" ".join(pair) for pair in stored])(saved)
    assert Tokenizer.load(saved / "tokenizer.json").encode("Lo varun.") == tokenizer.encode("Lo varun.")


@pytest.mark.parametrize("name", ["my(model)", "modèle", "模型", "a'b\"c", "100%", "x" * 80])
def test_printable_name_is_offered(saved, name):
    shutil.move(saved, saved.parent / name)
    assert list_names(saved.parent) == (name,)
    assert load(name, root=saved.parent).name == name


@pytest.mark.parametrize("name", ["a\nb", " a", ".a", "a\\b", "x" * 81, "\u202eabc", "\udcff"])
def test_unprintable_name_is_refused(saved, name):
    shutil.move(saved, saved.parent / name)
    assert list_names(saved.parent) == ()
    with pytest.raises(CheckpointError, match=r"A checkpoint cannot be called .*printable.*Rename the folder") as caught:
        find_folder(name, saved.parent)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "\0", "x" * 5000, "/" + "x" * 5000, "..", "../saved", ".", "empty", "/nowhere"])
def test_name_that_leads_nowhere_is_refused(saved, name):
    (saved.parent / "empty").mkdir()
    message = r"There is no checkpoint '.*'; expected one of saved, or the path"
    with pytest.raises(CheckpointError, match=message) as caught:
        find_folder(name, saved.parent)
    assert len(str(caught.value)) < 400
