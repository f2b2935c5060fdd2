"""Task lm: predictions, runs that resume, and a checkpoint that continues texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import END, START, TrainConfig
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.workshop.corpus.windows import Texts, Windows
from model.workshop.training.loss_and_validation import batch_loss
from model.workshop.training.run import TrainingRun
from model.workshop.training.run_folder import RunFiles
from model.workshop.training.tasks import TRAINING_TASKS, TrainingTask
from tests.support import tiny
from tests.support.training_helpers import BRIEF, SMALL

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


def lm(folder: Path, files: tuple[Path, Path], **changes) -> TrainingRun:
    options = {name: value for name, value in SMALL.items() if name != "encoder_layers"}
    config = TrainConfig(**(BRIEF | {"label_smoothing": 0.0} | changes))
    return TrainingRun(
        folder, RunFiles.single(*files), options, config, torch.device("cpu"), ("Text", "Continuation"), task="lm"
    )


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


def test_interrupted_and_resumed_is_uninterrupted(tmp_path, text_files):
    whole = lm(tmp_path / "whole", text_files)
    assert whole.train() is True
    while not lm(tmp_path / "parts", text_files).train(max_minutes=0):
        pass
    last = lm(tmp_path / "parts", text_files)
    assert last.progress.step == whole.total >= 6
    assert all(value.equal(whole.model.state_dict()[key]) for key, value in last.model.state_dict().items())
    kept = [(tmp_path / name / "checkpoint" / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert kept[0] == kept[1]


def test_declared_task_is_an_option_and_runs(tmp_path, text_files, monkeypatch):
    place, sizes = "model.workshop.tasks.language_model", {"encoder_layers": 0}
    made = TrainingTask("echo", place, "decoder-only", "an echo", "text", ("A", "B"), model=sizes)
    monkeypatch.setitem(TRAINING_TASKS, "echo", made)
    words = ["--data", str(text_files[0]), "--dev", str(text_files[1]), "--out", str(tmp_path), "--device", "cpu"]
    options = tiny.options(**{**OPTIONS, **BRIEF})
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
