"""--task classify: a tiny run learns to tell labels, from scratch and from a model that fills in; files that have none."""

from __future__ import annotations

import json

import pytest

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import END, MAX_TOKENS, START
from model.evaluation.word_bags import Bags
from model.text.corpus import DataError
from model.text.labelled import Labelled, read_labelled
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


def test_a_run_learns_the_labels_and_is_measured_beside_a_bag_of_words(files, tmp_path, capsys):
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "good\tA film.\ngood\tA play.\n",
            "every text has the label 'good'; expected 2 to 100 different ones, label TAB text",
        ),
        ("A film.\n", "line 1: no tab; expected label TAB text on every line"),
        ("good\tA film.\nbad\t\n", r"line 2: the text \(column 2\) is empty; expected label TAB text"),
        ("good\tA film.\n\tA play.\n", r"line 2: the label \(column 1\) is empty"),
        (f"{'long' * 20}\tA film.\nbad\tB\n", "line 1: the label is .*; expected label TAB text, a label of at most 40"),
        ("".join(f"{n}\tA film.\n" for n in range(200)), "there are 200 labels; expected 2 to 100"),
    ],
)
def test_a_file_without_labels_is_refused_in_a_sentence(tmp_path, text, message):
    (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_labelled(tmp_path / "pairs.tsv")


def test_a_label_that_training_had_not_is_refused(tmp_path):
    (tmp_path / "dev.tsv").write_text("good\tA film.\n", encoding="utf-8")
    assert read_labelled(tmp_path / "dev.tsv", ("bad", "good")) == [("good", "A film.")]
    with pytest.raises(DataError, match="line 1: the label is 'good'; expected one of bad, dull"):
        read_labelled(tmp_path / "dev.tsv", ("dull", "bad"))


def test_texts_are_read_as_an_encoder_reads_them(tokenizer):
    read = Labelled([("b", "The fox."), ("a", "lamp " * 400)], tokenizer, ("a", "b"))
    assert read.rows[0] == [START, *tokenizer.encode("The fox."), END] and read.labels == [1, 0]
    assert len(read.rows[1]) == MAX_TOKENS and read.rows[1][-1] == END and read.cut == 1
    assert read.batch([1, 0]).labels.tolist() == [0, 1] and read.tokens([0, 1]) == 2


def test_a_bag_holds_words_and_pairs_that_stand_in_two_texts():
    bags = Bags(["A dull film", "a dull play", "so dull"], 2)
    assert sorted(bags.columns) == ["a", "a dull", "dull"]
    rows = bags.features(["Dull DULL so", "A dull film", "none"]).to_dense()
    assert rows.square().sum(1).tolist() == pytest.approx([1, 1, 0])
    assert rows[0].tolist() == [0, 0, 1]
