"""--task classify: a tiny run learns to tell labels, from scratch and from a model that fills in; files that have none."""

from __future__ import annotations

import json

import pytest

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import END, MAX_TOKENS, START
from model.text.labelled import Labelled
from model.training.recording import Recording
from tests.support import tiny

SIZES = {"d_model": 16, "heads": 2, "encoder_layers": 1, "d_ff": 32, "dropout": 0.0}
BRIEF = {"vocab_size": 320, "batch_tokens": 400, "warmup": 10, "learning_rate": 1e-2, "validate_every": 100, "average": 1}
LABELS = {"sees": "eyes", "takes": "hands", "finds": "hands", "paints": "brush"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Sentences of the made-up language, labelled by their verb."""
    folder = tmp_path_factory.mktemp("labelled")
    texts = [text for text, _ in tiny.PAIRS]
    verbs = [next(word for word in text.split() if word in LABELS) for text in texts]
    lines = [f"{LABELS[verb]}\t{text}\n" for verb, text in zip(verbs, texts, strict=True)]
    for name, part in (("train", lines), ("dev", lines[::3])):
        (folder / f"{name}.tsv").write_text("".join(part), encoding="utf-8")
    return folder / "train.tsv", folder / "dev.tsv"


def words(files, out, *more, **changes):
    named = ["--data", str(files[0]), "--dev", str(files[1]), "--out", str(out)]
    return ["train", "--task", "classify", *named, "--device", "cpu", *tiny.options(**(BRIEF | changes)), *more]


def test_run_learns_labels_and_beats_a_bag_of_words(files, tmp_path, capsys):
    assert main(words(files, tmp_path / "run", "--pooling", "mean", epochs=12, **SIZES)) == 0
    lab = checkpoints.load(str(tmp_path / "run" / "checkpoint"))
    assert lab.config.classes == ("brush", "eyes", "hands") and lab.config.pooling == "mean"
    assert lab.metrics["validations"][-1]["labels_right"] > 0.9
    watched = Recording.load(tmp_path / "run" / "checkpoint" / "probes.npz")  # sentences of the project's own
    assert len(watched.sentences) == 12 and {s.labels for s in watched.sentences} == {lab.config.classes}
    for number, sentence in enumerate(watched.sentences):
        likeliest = watched.log_probs(number).argmax(1)
        assert [sentence.labels[n] for n in likeliest] == [texts[number] for texts in watched.written]
    capsys.readouterr()
    measured = ["--data", str(files[1]), "--baseline", str(files[0]), "--dev", str(files[1]), "--device", "cpu"]
    name = str(tmp_path / "run" / "checkpoint")
    assert main(["evaluate", "--checkpoint", name, *measured, "--record", "test", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == found["labels"]["accuracy"] > 0.9
    assert found["labels"]["bag_of_words"]["accuracy"] > 0.9
    gain = found["labels"]["gain"]
    assert gain["accuracy_interval"][0] <= gain["accuracy"] <= gain["accuracy_interval"][1]
    assert checkpoints.load(name).metrics["test"]["accuracy"] == found["accuracy"]
    assert main(["judge", "The red fox sees a lamp.", "--checkpoint", name, "--device", "cpu"]) == 0
    first = capsys.readouterr().out.split("\t")
    assert first[::2] == ["eyes", *first[2::2]] and sum(map(float, first[1::2])) == pytest.approx(1, abs=1e-3)
    assert main(["judge", "The red fox sees a lamp.", "--checkpoint", name, "--device", "cpu", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["label"] == "eyes" == next(iter(told["labels"])) and len(told["labels"]) == 3
    for wrong, message in ((["translate", "A lamp."], "use python -m model judge"), (["judge", " "], "is empty")):
        assert main([*wrong, "--checkpoint", name, "--device", "cpu"]) == 2
        assert message in capsys.readouterr().err


def test_it_begins_with_a_model_that_fills_in(files, tmp_path, tokenizer):
    reads = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True}
    first = tiny.checkpoint(tokenizer, follows=True, output_transform=True, output_bias=True, **reads)
    checkpoints.save(first, tmp_path / "first")
    run = words(files, tmp_path / "run", "--init", str(tmp_path / "first"), epochs=1)
    assert main([*run, "--learning-rate", "1e-9"]) == 0
    lab = checkpoints.load(str(tmp_path / "run" / "checkpoint"))
    assert (lab.config.classes, lab.config.follows, lab.config.output_transform) == (
        ("brush", "eyes", "hands"),
        False,
        False,
    )
    old, new = (dict(each.model.named_parameters()) for each in (checkpoints.load(str(tmp_path / "first")), lab))
    kept = set(old) & set(new)
    assert "pooler.dense.weight" in kept and "encoder.1.self_attention.query.weight" in kept
    assert all((old[name] - new[name]).abs().max() < 2e-3 for name in kept)  # float16 rounds
    assert set(new) - kept == {"classifier.weight", "classifier.bias"}
    whole, halved = tmp_path / "run", tmp_path / "halved"
    stopped = words(files, halved, "--init", str(tmp_path / "first"), "--learning-rate", "1e-9", epochs=1)
    assert main([*stopped, "--max-minutes", "0"]) == 0 and main(stopped) == 0
    one, other = (checkpoints.load(str(each / "checkpoint")).model.state_dict() for each in (whole, halved))
    assert all(one[name].equal(value) for name, value in other.items())


def test_texts_are_read_as_an_encoder_reads_them(tokenizer):
    read = Labelled([("b", "The fox."), ("a", "lamp " * 400)], tokenizer, ("a", "b"))
    assert read.rows[0] == [START, *tokenizer.encode("The fox."), END] and read.labels == [1, 0]
    assert len(read.rows[1]) == MAX_TOKENS and read.rows[1][-1] == END and read.cut == 1
    assert read.batch([1, 0]).labels.tolist() == [0, 1] and read.tokens([0, 1]) == 2
