"""Tasks with a small training: the evidence in the result file is decoded again."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
import torch

from model.workshop.small.small_training import SmallConfig, SmallTraining
from tests.support.homework_helpers import SEEN
from viz.homework.assignment import AssignmentTask
from viz.homework.training_results import EXAMPLE, judge_evidence, judge_live, training_check_fault
from viz.state import trainings
from viz.state.trainings import Training

CONFIG = {"task": "sort", "layers": 1, "heads": 2, "d_model": 32, "positions": True, "causal": True, "scaling": False}
CONFIG |= {"cross_attention": True, "seed": 3}


def task(percent: int, name: str = "sort") -> AssignmentTask:
    return AssignmentTask("training", "Train.", SEEN, check=f"training {name} reaches {percent}%")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A training that has learned a part of its task, and its checkpoint."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    training = SmallTraining(SmallConfig(**CONFIG))
    for report in training.run(1e6, 2500):
        if report.accuracy >= 0.3:
            break
    assert report.accuracy >= 0.3
    folder = tmp_path_factory.mktemp("small") / "sort"
    training.save(folder)
    torch.set_num_threads(before)
    visited = Training("one", "Sort", "Sort digits", CONFIG, None, folder, "saved", held_out=128)
    visited.reports = [{"step": training.step, "seconds": 1.0, "loss": 0.1, "accuracy": report.accuracy}]
    return visited


@pytest.fixture
def evidence(small, monkeypatch):
    monkeypatch.setattr(trainings, "of_session", lambda: [small])
    verdict, evidence = judge_live(task(25))
    assert verdict.solved and evidence is not None
    return json.loads(json.dumps(evidence))


def test_the_evidence_has_the_share_of_the_training(small, evidence):
    right = round(small.accuracy * 128)
    verdict = judge_evidence(task(25), evidence)
    assert verdict.solved and verdict == judge_live(task(25))[0]
    measured = int(verdict.said.split()[2])
    assert abs(measured - right) <= 2 and verdict.said.startswith(f"Sort digits: {measured} of 128 new answers right")
    above = judge_evidence(task(99), evidence)
    assert not above.solved and above.said.endswith("Needed: 99%.")
    assert evidence["config"] == {"task": "sort", "layers": 1, "heads": 2, "d_model": 32, "seed": 3}
    assert len(json.dumps(evidence)) < 150_000 and evidence["steps"] == small.reports[-1]["step"]


def test_the_live_verdict_follows_the_training(small, monkeypatch):
    every = []
    monkeypatch.setattr(trainings, "of_session", lambda: every)
    verdict, evidence = judge_live(task(25))
    assert not verdict.solved and evidence is None and verdict.said == "Train “Sort digits” first."
    every.append(small)
    assert judge_live(task(25, "copy"))[0].said == "Train “Copy” first."
    verdict, evidence = judge_live(task(100))
    assert not verdict.solved and evidence is None and "Needed: 100%." in verdict.said
    running = Training("one", "Sort", "Sort digits", CONFIG, None, small.folder / "new", "running", held_out=128)
    running.reports = [dict(small.reports[0], accuracy=0.99)]
    every.append(running)
    verdict, evidence = judge_live(task(95))
    assert not verdict.solved and evidence is None and verdict.said.endswith("It counts once the training has ended.")
    running.reports = [dict(small.reports[0], accuracy=0.5)]
    assert judge_live(task(95))[0].said == "Sort digits: 64 of 128 new answers right, 50.0%. Needed: 95%."


def changed(evidence, **more):
    return evidence | {"config": evidence["config"] | more}


def test_other_weights_do_not_help(evidence):
    count = len(base64.b64decode(evidence["weights"])) // 2
    zeros = base64.b64encode(np.zeros(count, "<f2").tobytes()).decode()
    drawn = base64.b64encode(np.random.default_rng(1).normal(0, 0.2, count).astype("<f2").tobytes()).decode()
    for weights in (zeros, drawn):
        verdict = judge_evidence(task(25), evidence | {"weights": weights})
        assert not verdict.solved and verdict.said.startswith("Sort digits: 0 of 128 new answers right")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda each: None, "The file has no training for this task."),
        (lambda each: {"weights": each["weights"]}, "The file has no training for this task."),
        (lambda each: changed(each, task="reverse"), "The training is of 'reverse'; expected 'sort'."),
        (lambda each: changed(each, layers=9), "The training's layers is 9; expected one of 1, 2."),
        (lambda each: changed(each, layers=True), "The training's layers is no whole number."),
        (lambda each: changed(each, d_model=10**9), "The training's d_model is 1000000000; expected one of 16, 32, 64."),
        (lambda each: changed(each, d_model=64), "The training's weights are not 133,568 numbers"),
        (lambda each: changed(each, seed=-1), "The training's seed is not within 0 and 10,000."),
        (lambda each: changed(each, seed="1"), "The training's seed is no whole number."),
        (lambda each: each | {"weights": None}, "The training's weights are not 38,112 numbers"),
        (lambda each: each | {"weights": "A" * 10_000_000}, "The training's weights are not 38,112 numbers"),
        (lambda each: each | {"weights": "*" * len(each["weights"])}, "The training's weights are damaged."),
        (lambda each: each | {"weights": "é" * len(each["weights"])}, "The training's weights are damaged."),
        (lambda each: each | {"weights": "/3//" * (len(each["weights"]) // 4)}, "The training's weights are damaged."),
    ],
)
def test_bad_evidence_gets_one_sentence(change, sentence, evidence):
    verdict = judge_evidence(task(1), change(evidence))
    assert not verdict.solved and verdict.said.startswith(sentence)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (EXAMPLE, ""),
        ("training dates reaches 1%", ""),
        ("training fly reaches 95%", "There is no small task “fly”; expected one of copy, reverse, sort, add, dates."),
        ("training sort reaches 0%", "A training cannot reach 0%; expected 1% to 100%."),
        ("training sort reaches 101%", "A training cannot reach 101%; expected 1% to 100%."),
        ("lesson cell", f"“lesson cell” is no check of a training; expected one such as “{EXAMPLE}”."),
    ],
)
def test_lines_of_checks(line, sentence):
    assert training_check_fault(line) == sentence
    if sentence:
        assert judge_evidence(AssignmentTask("training", "Train.", SEEN, check=line), {}).said == sentence
