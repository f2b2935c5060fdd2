"""Tasks mlm, classify and lm: tiny runs learn, resume and save checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import END, MAX_TOKENS, PAD, START
from model.device import has_bfloat16
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.context import teacher_forced_states
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.sentence_pairs import FOLLOWS, IGNORE_INDEX, Books, LabelledTexts
from model.workshop.corpus.windows import Masking, Texts, Windows
from model.workshop.tasks.filling import blank_loss, epoch_rows, losses
from model.workshop.training.loss_and_validation import batch_loss
from model.workshop.training.recording import Recording
from model.workshop.training.tasks import TRAINING_TASKS, TrainingTask
from tests.support import tiny
from tests.support.training_helpers import BRIEF as WRITER_BRIEF

SIZES = {"d_model": 32, "heads": 2, "encoder_layers": 2, "d_ff": 64, "dropout": 0.0}
BRIEF = {"vocab_size": 400, "batch_tokens": 200, "warmup": 20, "learning_rate": 1e-2, "masked": 0.2}
BRIEF |= {"validate_every": 100, "average": 1, "log_every": 50}


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """Two books in which the same sentences follow one another, in the same order."""
    folder = tmp_path_factory.mktemp("books")
    lines = ["The fox sees me. A lamp takes you. My boat paints him. Our king finds them."] * 24
    for name, own in (("one", lines), ("two", lines), ("dev", lines[:12])):
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
    return folder


def words(folder, out, *more, **changes):
    files = ["--data", str(folder / "one.txt"), str(folder / "two.txt"), "--dev", str(folder / "dev.txt"), "--out", str(out)]
    return ["train", "--task", "mlm", *files, "--device", "cpu", *tiny.options(**(SIZES | BRIEF | changes)), *more]


@pytest.mark.long
def test_run_learns_to_fill_in_blanks(books, tmp_path):
    assert main(words(books, tmp_path / "run", epochs=26)) == 0
    lab = checkpoints.load(str(tmp_path / "run" / "checkpoint"))
    first, last = (lab.metrics["validations"][n] for n in (0, -1))
    assert last["blanks_right"] > 0.8 and last["pairs_right"] > 0.8 and last["blank_loss"] < first["blank_loss"]
    near = 5e-3 if has_bfloat16(torch.device("cpu")) else 2e-4  # the loss is measured as the run trains
    assert last["dev_loss"] == pytest.approx(last["blank_loss"] + last["pair_loss"], abs=near)
    assert {"pairs_right", "pair_loss"} <= set(last)
    assert (lab.config.segments, lab.config.pooler, lab.config.follows, lab.source_tokenizer.mask) == (2, True, True, 3)
    assert set(lab.mean_z) == set(tiny.sites(lab.config))
    watched = Recording.load(tmp_path / "run" / "checkpoint" / "probes.npz")  # sentences of the project's own
    for sentence in watched.sentences:
        blanks = [n for n, token in enumerate(sentence.source) if token == lab.source_tokenizer.mask]
        other = [n for n, (read, told) in enumerate(zip(sentence.source, sentence.target, strict=True)) if read != told]
        assert blanks and other == blanks
    found = analyse(lab, Request("The fox ___ me.")).trace
    place = found.source.ids.index(3)
    assert found.source.labels[place - 1] == "fox"  # the blank has taken the space before it
    assert lab.source_tokenizer.piece(int(found.log_probs[place].argmax())) == "·sees"
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert any("blank_loss" in entry and "pair_loss" in entry for entry in log)
    card = (tmp_path / "run" / "checkpoint" / "README.md").read_text(encoding="utf-8")
    assert f"Kept: step {lab.metrics['dev']['step']:,}" in card and "Trained from scratch" in card


def test_losses_of_blanks_and_pairs_are_added(books):
    tokenizer = Tokenizer.train(tiny.SENTENCES, 300, blanks=True)
    pairs = epoch_rows(Books.encode([tiny.SENTENCES], tokenizer), Masking(tokenizer, 0.15), "key", True)
    batch = pairs.batch(range(12))
    sizes = {"source_vocab": 300, "target_vocab": 300, "family": "encoder-only", "decoder_layers": 0, "source_start": True}
    model = tiny.model(**sizes, segments=2, pooler=True, follows=True)
    model.requires_grad_(False)
    each = pairs.blanks_a_pair
    total, count = blank_loss(model, batch, 0.0, each)
    assert count == pairs.tokens(range(12)) == int((batch.outputs != PAD).sum())
    hidden = teacher_forced_states(model, batch.source, None)
    real, judged = batch.outputs != PAD, batch.labels != IGNORE_INDEX
    assert judged.any() and not judged.all()
    blanks = F.cross_entropy(model.project(hidden)[real], batch.outputs[real], reduction="sum")
    following = F.cross_entropy(
        model.next_sentence_logits(hidden, batch.source)[judged], batch.labels[judged], reduction="sum"
    )
    assert float(total) == pytest.approx(float(blanks + each * following), rel=1e-6)
    shares = [blank_loss(model, pairs.batch(rows), 0.0, each) for rows in (range(0, 12, 2), range(1, 12, 2))]
    assert float(sum(loss for loss, _ in shares)) == pytest.approx(float(total), rel=1e-6)  # however many processes
    all_of_it, judging = range(len(pairs)), sum(row.label != IGNORE_INDEX for row in pairs.rows)
    assert each == pytest.approx(pairs.tokens(all_of_it) / judging)
    batch.labels[:] = IGNORE_INDEX
    assert float(losses(model, batch)[3]) == 0 and FOLLOWS == 0


JUDGING_SIZES = {"d_model": 16, "heads": 2, "encoder_layers": 1, "d_ff": 32, "dropout": 0.0}
JUDGING_BRIEF = {"vocab_size": 320, "batch_tokens": 400, "warmup": 10, "learning_rate": 1e-2}
JUDGING_BRIEF |= {"validate_every": 100, "average": 1}
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


def judging_words(files, out, *more, **changes):
    named = ["--data", str(files[0]), "--dev", str(files[1]), "--out", str(out)]
    return ["train", "--task", "classify", *named, "--device", "cpu", *tiny.options(**(JUDGING_BRIEF | changes)), *more]


def test_run_learns_labels_and_beats_a_bag_of_words(files, tmp_path, capsys):
    assert main(judging_words(files, tmp_path / "run", "--pooling", "mean", epochs=12, **JUDGING_SIZES)) == 0
    lab = checkpoints.load(str(tmp_path / "run" / "checkpoint"))
    assert lab.config.classes == ("brush", "eyes", "hands") and lab.config.pooling == "mean"
    assert lab.metrics["validations"][-1]["labels_right"] > 0.9
    watched = Recording.load(tmp_path / "run" / "checkpoint" / "probes.npz")  # sentences of the project's own
    assert len(watched.sentences) == 12 and {s.labels for s in watched.sentences} == {lab.config.classes}
    for number, sentence in enumerate(watched.sentences):
        likeliest = watched.log_probs(number).argmax(1)
        assert [sentence.labels[n] for n in likeliest] == [texts[number] for texts in watched.outputs]
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
    run = judging_words(files, tmp_path / "run", "--init", str(tmp_path / "first"), epochs=1)
    assert main([*run, "--learning-rate", "1e-9"]) == 0
    lab = checkpoints.load(str(tmp_path / "run" / "checkpoint"))
    assert lab.config.classes == ("brush", "eyes", "hands")
    assert not lab.config.follows and not lab.config.output_transform
    old, new = (dict(each.model.named_parameters()) for each in (checkpoints.load(str(tmp_path / "first")), lab))
    kept = set(old) & set(new)
    assert "pooler.dense.weight" in kept and "encoder.1.self_attention.query.weight" in kept
    assert all((old[name] - new[name]).abs().max() < 2e-3 for name in kept)  # float16 rounds
    assert set(new) - kept == {"classifier.weight", "classifier.bias"}


def test_texts_are_read_as_an_encoder_reads_them(tokenizer):
    read = LabelledTexts([("b", "The fox."), ("a", "lamp " * 400)], tokenizer, ("a", "b"))
    assert read.rows[0] == [START, *tokenizer.encode("The fox."), END] and read.labels == [1, 0]
    assert len(read.rows[1]) == MAX_TOKENS and read.rows[1][-1] == END and read.shortened == 1
    assert read.batch([1, 0]).labels.tolist() == [0, 1] and read.tokens([0, 1]) == 2


SENTENCES = ("The red fox sees a lamp.", "An old king paints his boat.", "Every morning the boat finds two lamps.")
DECODER = {"family": "decoder-only", "encoder_layers": 0}
OPTIONS = {name: value for name, value in tiny.MODEL.items() if name != "encoder_layers"}


@pytest.fixture(scope="module")
def text_files(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("texts")
    for name, lines in (("train.txt", [s for s, _ in tiny.PAIRS]), ("dev.txt", [t for _, t in tiny.HELD_OUT])):
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return folder / "train.txt", folder / "dev.txt"


@pytest.fixture(scope="module")
def learned(tmp_path_factory) -> Path:
    """The folder of a finished run on three sentences, made by the command line, with one of them watched."""
    folder = tmp_path_factory.mktemp("memory")
    (folder / "a.txt").write_text("\n".join(SENTENCES[:2]), encoding="utf-8")
    (folder / "b.txt").write_text(SENTENCES[2], encoding="utf-8")
    (folder / "probes.txt").write_text(f"fox\t{SENTENCES[0]}\n", encoding="utf-8")
    both = [str(folder / "a.txt"), str(folder / "b.txt")]
    files = ["--data", *both, "--dev", *both, "--out", str(folder / "run"), "--probes", str(folder / "probes.txt")]
    training = {**tiny.TRAINING, "epochs": 40, "average": 1, "vocab_size": 300}
    assert main(["train", "--task", "lm", *files, "--device", "cpu", *tiny.options(**OPTIONS, **training)]) == 0
    return folder / "run"


@torch.inference_mode()
def test_each_token_is_predicted_from_those_before():
    model = tiny.model(**DECODER)
    rows = [[5, 6, END, 7, 8], [9, 4, 30]]
    loss, count = batch_loss(model, Windows(rows).batch([0, 1]), 0.0)
    expected = 0.0
    for row in rows:
        for at, token in enumerate(row):
            inputs = torch.tensor([[START, *row[:at]]])
            logits = model(None, inputs, masks.build(model.config, None, inputs))[0, -1]
            expected -= float(logits.log_softmax(-1)[token])
    assert count == 8
    assert float(loss) == pytest.approx(expected, rel=1e-6)


def test_sentences_are_learned_and_counted(learned):
    loaded = checkpoints.load(str(learned / "checkpoint"))
    assert (loaded.config.family, loaded.config.kinds, loaded.config.tied_output) == ("decoder-only", ("decoder",), True)
    assert loaded.metrics["dev"]["dev_loss"] < 0.2
    for begins, whole in (("The red", SENTENCES[0]), ("Every", SENTENCES[2])):
        found = analyse(loaded, Request(begins))
        assert found.translation == whole
        assert found.hypothesis.ids[-1] == END

    texts = Texts.encode([SENTENCES[:2], SENTENCES[2:]], loaded.target_tokenizer)
    training, dev = loaded.metrics["training"], loaded.metrics["dev"]
    assert [training[name] for name in ("texts", "paragraphs", "tokens")] == [2, 3, texts.tokens]
    assert set(training["data_sha256"]) == {"train", "train 2", "dev", "dev 2", "probes"}
    nats = dev["bits_per_character"] * texts.characters * 0.6931471805599453
    assert nats == pytest.approx(dev["dev_loss"] * texts.tokens, abs=0.02)
    assert sum(loaded.token_counts["target"]) == texts.tokens
    assert sum(loaded.token_counts["source"]) == 0
    assert loaded.corpus_stats is None
    assert set(loaded.mean_z) == set(tiny.sites(loaded.config))
    card = (learned / "checkpoint" / "README.md").read_text(encoding="utf-8")
    assert f"Trained on {texts.tokens:,} tokens ({texts.characters:,} characters, 3 paragraphs, 2 texts)" in card
    assert f"{loaded.model.parameter_count:,} parameters" in card


@pytest.mark.parametrize("task", ["mlm", "classify", "lm"])
def test_a_stopped_run_ends_as_one_that_was_not(books, files, text_files, tmp_path, task):
    data = ["--data", str(text_files[0]), "--dev", str(text_files[1]), "--out", "{}", "--device", "cpu"]
    words_of = {
        "mlm": words(books, "{}", epochs=2),
        "classify": judging_words(files, "{}", epochs=1, **JUDGING_SIZES),
        "lm": ["train", "--task", "lm", *data, *tiny.options(**OPTIONS, **WRITER_BRIEF)],
    }
    whole, halved = ([word.format(tmp_path / name) for word in words_of[task]] for name in ("whole", "halved"))
    assert [main(each) for each in (whole, [*halved, "--max-minutes", "0"], halved)] == [0, 0, 0]
    one, other = (checkpoints.load(str(tmp_path / name / "checkpoint")).model.state_dict() for name in ("whole", "halved"))
    assert all(one[name].equal(value) for name, value in other.items())


def test_declared_task_is_an_option_and_runs(tmp_path, text_files, monkeypatch):
    place, sizes = "model.workshop.tasks.language_model", {"encoder_layers": 0}
    made = TrainingTask("echo", place, "decoder-only", "an echo", "text", ("A", "B"), model=sizes)
    monkeypatch.setitem(TRAINING_TASKS, "echo", made)
    words = ["--data", str(text_files[0]), "--dev", str(text_files[1]), "--out", str(tmp_path), "--device", "cpu"]
    options = tiny.options(**{**OPTIONS, **WRITER_BRIEF})
    assert main(["train", "--task", "echo", *words, *options, "--epochs", "1"]) == 0
    assert checkpoints.load(str(tmp_path / "checkpoint")).languages == ("A", "B")


def test_evaluate_compares_bits_with_ngrams(learned, text_files, capsys):
    folder = learned / "checkpoint"
    words = ["evaluate", "--checkpoint", str(folder), "--data", str(text_files[0]), "--json", "--device", "cpu"]
    counts = ["--ngrams", str(text_files[1]), "--dev", str(text_files[0])]
    assert main([*words, *counts, "--record", "test"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ngrams"]["same_data"] is False
    loaded = checkpoints.load(str(folder))
    assert loaded.metrics["test"].items() >= found.items()
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.count("## Scores") == 1
    assert f"| the model | {found['bits_per_character']:.3f} |" in card
    assert main([*words[:-3], "--record", "test"]) == 0
    assert capsys.readouterr().out.startswith(f"{found['characters']:,} characters in")
    assert "grams of bytes" not in (folder / "README.md").read_text(encoding="utf-8")
