"""--task lm: what is predicted from what, runs that stop and go on, and a checkpoint that the lab goes on with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import END, MAX_TOKENS, PAD, START, TrainConfig
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.context import forced
from model.text.corpus import Batch
from model.text.windows import Texts, Windows
from model.training.loss import batch_loss
from model.training.recording import Recording
from model.training.run import Run
from model.training.run_folder import Files, TrainingError
from model.training.tasks import TRAINING_TASKS, TrainingTask, task_named
from tests.support import tiny
from tests.support.command_line_helpers import fails
from tests.support.training_helpers import BRIEF, SMALL, make

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


def lm(folder: Path, files: tuple[Path, Path], **changes) -> Run:
    options = {name: value for name, value in SMALL.items() if name != "encoder_layers"}
    config = TrainConfig(**(BRIEF | {"label_smoothing": 0.0} | changes))
    return Run(folder, Files.single(*files), options, config, torch.device("cpu"), ("Text", "Continuation"), task="lm")


# -- what is predicted from what ---------------------------------------------------------------------------------------


@torch.inference_mode()
def test_each_token_is_predicted_from_the_start_and_those_before_it():
    """The loss of a padded batch is that of its tokens one by one, each after `<s>` and the tokens of its own window."""
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


@torch.inference_mode()
def test_a_later_token_never_changes_an_earlier_loss():
    """Of each place alone, in float64; together they are the loss."""
    model, row = tiny.model(**DECODER), tiny.ids(1, 12)

    def losses(ids: torch.Tensor) -> list[float]:
        log_probs = model.project(forced(model, None, ids)).log_softmax(-1)  # [1,T,V]
        return (-log_probs.gather(-1, ids[..., None])[0, :, 0]).tolist()

    before = losses(row)
    assert float(batch_loss(model, Batch(None, row), 0.0)[0]) == pytest.approx(sum(before), rel=1e-6)
    for at in range(1, 12):
        other = row.clone()
        other[0, at:] = 3 + (other[0, at:] - 2) % (tiny.VOCAB - 3)
        after = losses(other)
        assert after[:at] == pytest.approx(before[:at], abs=1e-10)
        assert after[at] != before[at]


# -- a run -------------------------------------------------------------------------------------------------------------


def test_three_sentences_are_learned_by_heart(learned):
    loaded = checkpoints.load(str(learned / "checkpoint"))
    assert (loaded.config.family, loaded.config.kinds, loaded.config.tied_output) == ("decoder-only", ("decoder",), True)
    assert loaded.metrics["dev"]["dev_loss"] < 0.2
    for begins, whole in (("The red", SENTENCES[0]), ("Every", SENTENCES[2])):
        found = analyse(loaded, Request(begins))
        assert found.translation == whole
        assert found.hypothesis.ids[-1] == END


def test_the_checkpoint_tells_what_it_was_made_of(learned):
    loaded = checkpoints.load(str(learned / "checkpoint"))
    texts = Texts.encode([SENTENCES[:2], SENTENCES[2:]], loaded.target_tokenizer)
    training, dev = loaded.metrics["training"], loaded.metrics["dev"]
    assert {name: training[name] for name in ("texts", "paragraphs", "tokens")} == {
        "texts": 2,
        "paragraphs": 3,
        "tokens": texts.tokens,
    }
    assert set(training["data_sha256"]) == {"train", "train 2", "dev", "dev 2", "probes"}
    nats = dev["bits_per_character"] * texts.characters * 0.6931471805599453
    assert nats == pytest.approx(dev["dev_loss"] * texts.tokens, abs=0.02)
    assert sum(loaded.counts["target"]) == texts.tokens
    assert sum(loaded.counts["source"]) == 0
    assert loaded.seen is None
    assert set(loaded.means) == set(tiny.sites(loaded.config))
    card = (learned / "checkpoint" / "README.md").read_text(encoding="utf-8")
    assert f"Trained on {texts.tokens:,} tokens ({texts.characters:,} characters, 3 paragraphs, 2 texts)" in card
    assert f"{loaded.model.parameter_count:,} parameters" in card


def test_what_is_watched_is_recorded_without_a_source(learned):
    found = Recording.load(learned / "checkpoint" / "probes.npz")
    assert [(each.name, each.source, each.target_text) for each in found.sentences] == [("fox", (), SENTENCES[0])]
    length = len(found.sentences[0].target)
    assert {name: array.shape[1:] for name, array in found.arrays.items()} == {
        "log_probs/0": (length,),
        "decoder/0": (1, 2, length, length),
    }
    assert found.losses()[-1, 0] < 0.5 < 3 < found.losses()[0, 0]


def test_interrupted_and_resumed_is_uninterrupted(tmp_path, text_files):
    """Windows are cut elsewhere in every epoch: a run that goes on cuts them where it would have; with dropout."""
    whole = lm(tmp_path / "whole", text_files)
    assert whole.train() is True
    while not lm(tmp_path / "parts", text_files).train(max_minutes=0):
        pass
    last = lm(tmp_path / "parts", text_files)
    assert last.progress.step == whole.total >= 6
    assert all(value.equal(whole.model.state_dict()[key]) for key, value in last.model.state_dict().items())
    kept = [(tmp_path / name / "checkpoint" / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert kept[0] == kept[1]


def test_a_run_of_before_there_were_tasks_is_one_that_translates(tmp_path, pair_files, text_files):
    make(tmp_path, pair_files)
    path = tmp_path / "settings.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    assert settings.pop("task") == "translate"
    path.write_text(json.dumps(settings), encoding="utf-8")
    assert make(tmp_path, pair_files).progress.step == 0
    lm(tmp_path / "lm", text_files)
    with pytest.raises(TrainingError, match=r"other settings \(task: was lm, now translate\)"):
        config = TrainConfig(**(BRIEF | {"label_smoothing": 0.0}))
        options = {name: value for name, value in SMALL.items() if name != "encoder_layers"}
        Run(tmp_path / "lm", Files.single(*text_files), options, config, torch.device("cpu"), ("a", "b"))


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "dance"], "invalid choice: 'dance'"),
        (["--task", "lm", "--joined-share", "0.5"], "--joined-share says nothing to --task lm; leave it out"),
        (["--task", "lm", "--encoder-layers", "2"], "--encoder-layers says nothing to --task lm; leave it out"),
        (["--dev", "a", "b"], "--dev names 2 files; --task translate reads one: pairs: .tsv"),
        (["--task", "lm", "--bpe-dropout", "0.1"], "--bpe-dropout says nothing to --task lm; leave it out"),
        (["--task", "lm", "--heads", "3"], "d_model is 256; expected a multiple"),
    ],
)
def test_options_that_do_not_go_with_a_task(capsys, words, message):
    assert message in fails(capsys, "train", "--data", "x", "--dev", "x", "--out", "x", *words)


def test_files_that_are_no_text(tmp_path, text_files, capsys):
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9")
    good = str(text_files[0])
    for data, dev in ((str(tmp_path / "bad.txt"), good), (good, str(tmp_path / "bad.txt"))):
        line = fails(capsys, "train", "--task", "lm", "--data", data, "--dev", dev, "--out", str(tmp_path / "run"))
        assert "bad.txt, line 1: the byte 0xe9 is no UTF-8" in line


def test_a_run_cannot_begin_with_a_model_of_another_family(tmp_path, text_files, saved):
    with pytest.raises(TrainingError, match=r"saved is encoder-decoder; --task lm trains a model that is decoder-only\.$"):
        config = TrainConfig(**BRIEF)
        files = Files.single(*text_files)
        Run(tmp_path / "run", files, {}, config, torch.device("cpu"), ("a", "b"), str(saved), "lm")


def test_a_task_that_is_not_declared_is_refused():
    declared = ", ".join(TRAINING_TASKS)
    with pytest.raises(ValueError, match=rf"^the task is 'dance'; expected one of {declared}$"):
        task_named("dance")


def test_a_task_that_is_made_up_is_an_option_and_runs(tmp_path, text_files, monkeypatch):
    """One entry is enough: the loop knows no task."""
    made = TrainingTask("echo", "language_model", "decoder-only", "an echo", "text", ("A", "B"), model={"encoder_layers": 0})
    monkeypatch.setitem(TRAINING_TASKS, "echo", made)
    words = ["--data", str(text_files[0]), "--dev", str(text_files[1]), "--out", str(tmp_path), "--device", "cpu"]
    options = tiny.options(**{**OPTIONS, **BRIEF})
    assert main(["train", "--task", "echo", *words, *options, "--epochs", "1"]) == 0
    assert checkpoints.load(str(tmp_path / "checkpoint")).languages == ("A", "B")


# -- scores ------------------------------------------------------------------------------------------------------------


def test_evaluate_tells_bits_beside_counting_and_writes_them_down(learned, text_files, capsys):
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--beam", "4"], "--beam says nothing to run, which is decoder-only"),
        (["--limit", "4"], "--limit says nothing to run, which is decoder-only"),
        (["--ngrams", "x"], "--ngrams is given without --dev"),
        (["--stride", "0"], "the stride is 0; expected 1 to 128"),
    ],
)
def test_options_that_a_text_has_no_use_for(learned, text_files, capsys, words, message):
    base = ["evaluate", "--checkpoint", str(learned / "checkpoint"), "--data", str(text_files[0]), "--json"]
    assert message in fails(capsys, *base, *words)


def test_a_stride_says_nothing_to_a_model_that_translates(saved, pair_files, capsys):
    words = ["evaluate", "--checkpoint", str(saved), "--data", str(pair_files[0]), "--stride", "4"]
    assert "--stride says nothing to saved, which is encoder-decoder" in fails(capsys, *words)


def test_windows_are_no_longer_than_what_the_lab_reads():
    assert TRAINING_TASKS["lm"].family == "decoder-only"
    assert max(map(len, Texts([[4] * 1000], 1, 1).windows([5]).targets)) == MAX_TOKENS
    assert PAD not in Texts([[4] * 10], 1, 1).windows([0]).batch([0]).outputs
