"""A checkpoint may come from anywhere: whatever its files hold, one sentence names the file and says what was expected,
before anything of an absurd size is made."""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from model import checkpoint_files
from model.checkpoint import CheckpointError, find, load, names
from model.config import ModelConfig
from model.network.transformer import build
from model.text.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.checkpoint_helpers import change_json, change_model, change_weights, refused

SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"
JSON_FILES = ("config.json", "tokenizer.json", "metrics.json", "counts.json", "seen.json", "faithfulness.json")


def write_raw(folder: Path, name: str, old: str, new: str) -> None:
    """Changes the text of a file, where JSON written by Python would not do."""
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")


# -- the config --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 10**30, "heads": 1}, "d_model is 1000000000000000000000000000000; expected at most 16,384"),
        ({"encoder_layers": 1_000_000}, "encoder_layers is 1000000; expected at most 48"),
        ({"decoder_layers": 10**30}, "decoder_layers is 10+; expected at most 48"),
        ({"heads": 16384, "d_model": 16384}, "heads is 16384; expected at most 64"),
        ({"norm_eps": 1e300}, r"norm_eps is 1e\+300; expected at most 1"),
        ({"window": True}, "window is True; expected None or a whole number of at least 1"),
        ({"window": 10**30}, "window is 10+; expected at most 65,536"),
        ({"family": []}, r"family is \[\]; expected one of encoder-decoder"),
        ({"positions": {"a": 1}}, r"positions is \{'a': 1\}; expected one of sinusoidal"),
        ({"positions": "x" * 100_000}, r"positions is 'x+\.\.\.x+'; expected one of sinusoidal"),
        (
            {"d_model": 16384, "d_ff": 65536, "encoder_layers": 48, "decoder_layers": 48, "source_vocab": 10**6}
            | {"target_vocab": 10**6},
            "the model would have 393,545,252,864 weights; expected at most 1,073,741,824",
        ),
    ],
    ids=lambda value: "",
)
def test_numbers_that_no_model_has(saved, changes, message):
    change_model(saved, **changes)
    refused(saved, f"config.json: 'model': {message}")


@pytest.mark.parametrize(
    ("number", "message"), [("Infinity", "Infinity is no n"), ("1e999", "1e999 is too l"), ("NaN", "NaN is")]
)
def test_a_number_that_json_does_not_have(saved, number, message):
    write_raw(saved, "config.json", "1e-05", number)
    refused(saved, rf"config.json is no valid JSON \({message}")


def test_what_a_config_counts_is_what_its_model_has():
    for changes in (
        {},
        {"joint_vocab": False, "tied_output": False, "positions": "learned"},
        {"activation": "swiglu"},
        {"family": "encoder-only", "decoder_layers": 0},
        {"family": "decoder-only", "encoder_layers": 0, "tied_output": True, "positions": "learned"},
    ):
        config = tiny.config(**changes)
        assert config.weights == sum(p.numel() for p in build(config).parameters() if p.dim() > 1)
    assert ModelConfig(8000, 8000).weights < 1e7


@pytest.mark.parametrize(
    "languages",
    [r'["\ud800", "b"]', '["a\\nb", "c"]', '["", "b"]', '[" ", "b"]', f'["{"x" * 41}", "b"]', '[{"a": 1}, "b"]'],
)
def test_languages_that_cannot_be_shown(saved, languages):
    write_raw(saved, "config.json", json.dumps(["English", "Made-up"], indent=1).replace("\n", "\n "), languages)
    message = ": 'languages' is .*; expected two names"
    if "ud800" in languages:
        message = r" is no valid JSON \(U\+D800 in it is half a character"
    refused(saved, f"config.json{message}")


# -- any file ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def whole(saved: Path) -> Path:
    """A checkpoint that has every file there may be."""
    (saved / "seen.json").write_text('{"lengths": {"source": [0, 1], "target": [0, 1]}}', encoding="utf-8")
    shutil.copy(SHIPPED / "en-fr" / "faithfulness.json", saved)
    means = {f"{site.kind}.{site.layer}": mean for site, mean in tiny.means(tiny.config()).items()}
    save_file(means, saved / "means.safetensors")
    load(str(saved))
    return saved


@pytest.mark.parametrize("name", JSON_FILES)
def test_brackets_within_brackets(whole, name):
    (whole / name).write_text("[" * 200_000, encoding="utf-8")
    refused(whole, rf"{name} (is no valid JSON|is no usable vocabulary).*more than 50 lists or objects within one another")
    (whole / name).write_text('{"a":' * 60 + "1" + "}" * 60, encoding="utf-8")
    refused(whole, f"{name} is no .*more than 50 lists or objects within one another")


@pytest.mark.parametrize("name", [*JSON_FILES, "model.safetensors", "means.safetensors"])
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_what_is_no_regular_file(whole, name, kind):
    (whole / name).unlink()
    if kind == "device":
        (whole / name).symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(whole / name)
    else:
        (whole / name).mkdir()
    refused(whole, rf"{name} (is no regular file, but a device, a pipe or the like|cannot be read: Is a directory)")


@pytest.mark.parametrize("name", [*JSON_FILES, "model.safetensors", "means.safetensors"])
def test_a_file_that_is_larger_than_it_can_be(whole, name):
    with (whole / name).open("r+b") as raw:
        raw.truncate(1 << 40)  # takes no room on the disk
    refused(whole, rf"{name} has 1,099,511,627,776 bytes; expected at most [\d,]+")


# -- weights -----------------------------------------------------------------------------------------------------------


def declare(folder: Path, key: str, shape: list[int]) -> None:
    """Lets the header of the weights say that one of them has another shape, with nothing but a hole in the file for it."""
    raw = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + size])
    entry, before = header[key], raw[8 + size :]
    end = max(e["data_offsets"][1] for k, e in header.items() if k != "__metadata__")
    moved = entry["data_offsets"][0], entry["data_offsets"][1]
    length = 2 * int(torch.tensor(shape, dtype=torch.float64).prod())
    for other in header.values():
        if "data_offsets" in other and other["data_offsets"][0] >= moved[1]:
            other["data_offsets"] = [place - (moved[1] - moved[0]) for place in other["data_offsets"]]
    start = end - moved[1] + moved[0]
    header[key] = {"dtype": "F16", "shape": shape, "data_offsets": [start, start + length]}
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + before[: moved[0]] + before[moved[1] :])
        out.truncate(out.tell() + length)


def test_a_tensor_of_fifteen_billion_zeros(saved):
    declare(saved, "encoder_norm.weight", [15_000_000_000])
    refused(saved, r"model.safetensors has 30,000,\d+,\d+ bytes; expected at most")


def test_the_shape_is_compared_before_the_numbers_are_read(saved, monkeypatch):
    declare(saved, "encoder_norm.weight", [4_000_000])
    monkeypatch.setattr("torch.Tensor.float", None)
    refused(saved, r"'encoder_norm.weight' has the shape \(4000000\); expected \(16,\) by config.json")


def test_weights_that_are_no_such_numbers(saved):
    change_weights(saved, lambda weights: weights.update({"encoder_norm.bias": torch.zeros(16, dtype=torch.int32)}))
    refused(saved, "'encoder_norm.bias' holds numbers of the kind I32; expected F16, BF16, F32, F64")


def test_finite_weights_that_are_too_large_to_be_computed_with(saved, monkeypatch):
    change_weights(saved, lambda weights: weights.update({"encoder_norm.bias": torch.full((16,), 3e38)}))
    refused(saved, r"'encoder_norm.bias' holds the value 3e\+38; expected at most 65,504, the most of float16")
    monkeypatch.setattr(checkpoint_files, "MAX_WEIGHT", 3.4e38)
    refused(
        saved, r"model.safetensors: a first pass gives a number that is NaN or infinite \(\w+\); expected finite numbers"
    )


def test_weights_that_are_divided_by_nothing(saved):
    change_model(saved, positions="rotary", norm_eps=1e-300)
    change_weights(saved, lambda weights: [weights[key].zero_() for key in weights])
    refused(saved, "model.safetensors: a first pass gives a number that is NaN or infinite")


# -- the vocabulary ----------------------------------------------------------------------------------------------------


def change_vocabulary(folder: Path, part: str, **changes) -> None:
    values = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    values = values | changes if part == "" else values | {part: values[part] | changes}
    (folder / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("model", {"type": "WordLevel"}, "its model is 'WordLevel'; expected 'BPE', byte-level byte-pair encoding"),
        ("model", {"type": "Unigram"}, "its model is 'Unigram'"),
        ("model", {"dropout": 0.5}, "its model has dropout = 0.5; expected merges alone"),
        ("model", {"ignore_merges": True}, "its model has ignore_merges = True"),
        ("model", {"unk_token": "<s>"}, "its model has unk_token = '<s>'"),
        ("model", {"merges": 3}, "its 'merges' are 3; expected a list of pairs"),
        ("model", {"merges": [["q", "nowhere"]]}, r"its 'merges' have \['q', 'nowhere'\]; expected two tokens"),
        ("model", {"merges": [["<s>", "<s>"]]}, "its 'merges' have"),
        ("model", {"vocab": {"a": 0}}, r"the first three tokens are \('a',\)"),
        ("model", {"vocab": {"<pad>": 0, "<s>": 1, "</s>": 2}}, "its 'vocab' has no token for the byte"),
        ("model", {"vocab": {"<pad>": 0, "<s>": 0}}, "its 'vocab' has 2 tokens; expected the ids from 0 on, each once"),
        ("model", {"vocab": []}, "its 'vocab' is no object with an id for each token"),
        ("", {"model": None}, "its model is None"),
        ("", {"pre_tokenizer": None}, "its 'pre_tokenizer' is None; expected .*byte-level byte-pair encoding"),
        ("", {"pre_tokenizer": {"type": "Whitespace"}}, r"its 'pre_tokenizer' is \{'type': 'Whitespace'\}"),
        ("", {"normalizer": {"type": "Lowercase"}}, "its 'normalizer' is"),
        ("", {"truncation": {"max_length": 2}}, "its 'truncation' is"),
        ("", {"added_tokens": []}, r"the added tokens are \(\)"),
    ],
)
def test_a_vocabulary_of_another_kind(saved, part, changes, message):
    change_vocabulary(saved, part, **changes)
    refused(saved, f"tokenizer.json is no usable vocabulary: {message}")


def test_an_expression_that_never_ends_is_not_run(saved):
    write_raw(saved, "tokenizer.json", r"\\s+(?!\\S)", "(a+)+b")
    refused(saved, "tokenizer.json is no usable vocabulary: its 'pre_tokenizer' is")


def test_a_token_that_is_no_bytes(saved):
    values = json.loads((saved / "tokenizer.json").read_text(encoding="utf-8"))
    last = max(values["model"]["vocab"], key=values["model"]["vocab"].get)
    for name in ("a b", "", "q" * 2000):
        vocab = {name if token == last else token: n for token, n in values["model"]["vocab"].items()}
        change_vocabulary(saved, "model", vocab=vocab, merges=[])
        refused(saved, "its 'vocab' has the token '.*'; expected 1 to 1000 bytes in their stand-ins")


def test_a_vocabulary_as_older_files_write_it_is_read(saved, tokenizer):
    values = json.loads((saved / "tokenizer.json").read_text(encoding="utf-8"))
    change_vocabulary(saved, "model", merges=[" ".join(pair) for pair in values["model"]["merges"]])
    assert Tokenizer.load(saved / "tokenizer.json").encode("Lo varun.") == tokenizer.encode("Lo varun.")


# -- what is known of it -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ([1], r"'test' is \[1\]; expected an object with the scores"),
        ({}, "'test': 'bleu' is None; expected a number from 0 to 100"),
        ({"bleu": "50"}, "'test': 'bleu' is '50'"),
        ({"bleu": 10**400}, r"'test': 'bleu' is 1\d+\.\.\."),
        ({"bleu": 50, "sentences": 0}, "'test': 'sentences' is 0; expected a whole number of at least 1"),
        ({"bleu": 50.5, "sentences": True}, "'test': 'sentences' is True"),
        ({"bleu": 50, "sentences": 3, "beam": []}, r"'test': 'beam' is \[\]"),
        ({"bits_per_character": "2"}, "'test': 'bits_per_character' is '2'; expected a number from 0 to 10000"),
        ({"bits_per_character": 2.5}, "'test': 'characters' is None; expected a whole number of at least 1"),
    ],
)
def test_scores_of_wrong_types(saved, test, message):
    change_json(saved / "metrics.json", test_all_references=test)
    refused(saved, f"metrics.json: {message.replace('test', 'test_all_references')}")
    change_json(saved / "metrics.json", test=test)
    refused(saved, f"metrics.json: {message}")


def test_counts_that_are_too_large_to_be_counted(whole):
    change_json(whole / "counts.json", source=[10**30] * 320)
    refused(whole, "counts.json: 'source' is no list of 320 counts")
    (whole / "counts.json").unlink()
    change_json(whole / "seen.json", lengths={"source": [0, 10**400], "target": [0, 10**400]})
    refused(whole, "seen.json: 'lengths': 'source' is no list of counts")
    change_json(whole / "seen.json", lengths={"source": [1] * 200, "target": [1] * 200})
    refused(whole, "seen.json: 'lengths': 'source' has sentences of 199 tokens; expected at most 128")


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["my(model)", "my model", "modèle", "模型", "a'b\"c", "100%", "x" * 80])
def test_a_name_that_can_be_shown_is_offered(saved, name):
    shutil.move(saved, saved.parent / name)
    assert names(saved.parent) == (name,)
    assert load(name, home=saved.parent).name == name


@pytest.mark.parametrize("name", ["a\nb", " a", ".a", "a\\b", "x" * 81, "\u202eabc", "\udcff"])
def test_a_name_that_cannot_be_shown_is_refused_by_name(saved, name):
    shutil.move(saved, saved.parent / name)
    assert names(saved.parent) == ()
    with pytest.raises(CheckpointError, match=r"A checkpoint cannot be called .*printable.*Rename the folder") as caught:
        find(name, saved.parent)
    assert "\n" not in str(caught.value)
    if name != "\udcff":  # a path may be anything that the file system and the libraries can say
        assert load(str(saved.parent / name)).name.isprintable()


@pytest.mark.parametrize("name", ["", "\0", "a/\0", "x" * 5000, "/" + "x" * 5000, "..", "../saved", "."])
def test_a_name_that_leads_nowhere(saved, name):
    with pytest.raises(CheckpointError, match=r"There is no checkpoint .*; expected one of saved") as caught:
        find(name, saved.parent)
    assert len(str(caught.value)) < 400
