"""A small training is recorded, saved and continued, and runs in a process that stops when its input ends."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from model import load
from model.workshop.small import small_training
from model.workshop.small.small_tasks import examples
from model.workshop.small.small_training import SmallConfig, SmallTraining
from model.workshop.training.history import load_checkpoint_history

CONFIG = {"task": "copy", "layers": 1, "heads": 1, "d_model": 16, "positions": True, "causal": True, "seed": 1}


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(small_training, "REPORT_SECONDS", 0)


@pytest.mark.parametrize("left_out", [{}, {"scaling": False}, {"cross_attention": False}])
def test_what_is_saved_goes_on_as_if_it_had_not_stopped(tmp_path, left_out):
    config = CONFIG | left_out
    whole = SmallTraining(SmallConfig(**config))
    straight = [report.loss for report in whole.run(max_steps=6)]
    first = SmallTraining(SmallConfig(**config))
    begun = [report.loss for report in first.run(max_steps=3)]
    first.save(tmp_path / "small")
    later = SmallTraining(SmallConfig(**config))
    later.restore(tmp_path / "small")
    assert later.step == 3
    assert begun + [report.loss for report in later.run(max_steps=6)] == pytest.approx(straight, rel=1e-5)
    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(later.model.state_dict()[name], weight, rtol=1e-4, atol=1e-5)


def test_the_folder_has_the_history_of_the_training(tmp_path):
    training = SmallTraining(SmallConfig(**CONFIG))
    reports = [*training.run(max_steps=4)]
    training.save(tmp_path / "small")
    history = load_checkpoint_history(tmp_path / "small", "small")
    recording = history.recording
    assert [entry["loss"] for entry in history.steps] == [report.loss for report in reports]
    assert recording.steps == (0, 1, 2, 3, 4)
    assert [(each.source_text, each.target_text) for each in recording.sentences] == examples("copy")
    assert recording.outputs[-1] == reports[-1].written
    assert load(str(tmp_path / "small")).metrics["test"] == {"answers_right": reports[-1].accuracy, "sentences": 128}


def test_a_long_training_keeps_every_second_report(monkeypatch):
    monkeypatch.setattr(small_training, "MAX_RECORDED", 6)
    training = SmallTraining(SmallConfig(**CONFIG))
    assert len([*training.run(max_steps=14)]) == 14
    steps = training.recorder.steps
    assert len(steps) <= 6 and steps[0] == 0 and steps[-1] == 14


def test_examples_are_never_trained_on():
    training = SmallTraining(SmallConfig(**CONFIG))
    training._avoided |= {pair[0] for pair in training._new_pairs()}
    assert {source for source, _ in examples("copy")} <= training._avoided


def _begin(folder, **more) -> subprocess.Popen:
    command = [sys.executable, "-m", "model.workshop.small.small_process"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wanted = {"folder": str(folder), "resume": False, "seconds": 600, "steps": 100_000, "config": CONFIG} | more
    process.stdin.write(json.dumps(wanted) + "\n")
    process.stdin.flush()
    return process


def test_a_process_reports_and_saves_once_its_input_ends(tmp_path):
    process = _begin(tmp_path / "small")
    ready, first = (json.loads(process.stdout.readline()) for _ in range(2))
    assert ready["held_out"] == 128 and [each["source_text"] for each in ready["examples"]] == [
        s for s, _ in examples("copy")
    ]
    sizes = [len(each["source_tokens"]) * len(each["target_tokens"]) for each in ready["examples"]]
    assert [len(levels) for levels in first["maps"]] == sizes and first["step"] > 0
    process.stdin.close()
    rest = [json.loads(line) for line in process.stdout]
    assert process.wait() == 0 and rest[-1] == {"saved": True}
    assert load(str(tmp_path / "small")).config.d_model == 16


def test_a_process_says_why_it_cannot_train(tmp_path):
    process = _begin(tmp_path / "small", config=CONFIG | {"layers": 7})
    assert json.loads(process.communicate()[0])["fault"] == "layers is 7; expected one of 1, 2"
