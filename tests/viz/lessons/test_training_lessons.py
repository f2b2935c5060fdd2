"""The lessons in which the visitor trains: each check reads the trainings of the visit, and names their numbers."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from viz.lessons import training_lessons
from viz.lessons.lessons import LESSONS, find
from viz.state import trainings
from viz.state.links import parse
from viz.state.trainings import Training

NAMES = [lesson.name for lesson in LESSONS if lesson.trains]


@pytest.fixture
def visit(monkeypatch):
    """Adds trainings to the visit: a task, its final accuracy and loss, and what was left out."""
    every: list[Training] = []
    monkeypatch.setattr(trainings, "of_session", lambda: every)

    def add(task: str, accuracy: float, loss: float = 0.01, **parts: bool) -> Training:
        config = {"task": task, "layers": 1, "heads": 2, "d_model": 32, "positions": True, "causal": True, "seed": 1} | parts
        training = Training("one", task, task.title(), config, None, Path("nowhere"), "saved", held_out=128)
        training.reports = [{"step": 9, "seconds": 1.0, "loss": loss, "accuracy": accuracy}]
        every.append(training)
        return training

    return add


def mirror(training: Training, weight: float) -> None:
    """Gives the second head this weight on the mirrored letter; the first is uniform."""
    tokens = ["a", "b", "c", "</s>"]
    maps = np.full((2, 4, 4), 255 / 4)
    for row in range(3):
        maps[1, row] = 255 * (1 - weight) / 3
        maps[1, row, 2 - row] = 255 * weight
    training.examples = [{"source_tokens": tokens, "target_tokens": tokens}]
    training.maps = [maps.round().astype(int).ravel().tolist()]


def verdict(name: str):
    return find(name).verdict(None)


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_begins_unsolved_at_its_form(name, visit):
    lesson = find(name)
    view, faults = parse(dict(parse_qsl(urlsplit(lesson.href).query)))
    assert faults == () and view.of_training == "train_one" and lesson.page == "training"
    assert not verdict(name).solved and verdict(name).said.startswith("Train “")


def test_writing_backwards_needs_the_mirrored_letter(visit):
    training = visit("reverse", 0.99)
    mirror(training, 0.4)
    assert not verdict("mirror").solved
    mirror(training, 0.8)
    assert verdict("mirror").solved
    assert "99% of 128 new answers right. Head cross 1.2 puts 0.80 of its weight" in verdict("mirror").said
    training.reports[-1]["accuracy"] = 0.5
    assert not verdict("mirror").solved


def test_the_carry_reads_the_digits(visit):
    training = visit("add", 1.0)
    source, target = [*"12+34", "</s>"], [*"046", "</s>"]
    maps = np.zeros((2, 4, 6))
    maps[:, 0, 0] = (204, 102)  # of 255 on a digit
    maps[:, 0, 2] = (51, 153)  # on the plus
    training.examples = [{"source_tokens": source, "target_tokens": target}]
    training.maps = [maps.astype(int).ravel().tolist()]
    assert verdict("carry").solved and "puts 0.60 of its weight on the digits" in verdict("carry").said
    maps[:, 0] = maps[:, 0, ::-1]
    training.maps = [(maps * 0.7).astype(int).ravel().tolist()]
    assert not verdict("carry").solved


def test_positions_are_needed_for_one_and_not_for_the_other(visit):
    visit("copy", 1.0)  # with positions: it does not count
    assert not verdict("unordered").solved
    copied = visit("copy", 0.01, positions=False)
    assert "Copy: 1% of 128 new answers right. Train “Sort digits”" in verdict("unordered").said
    visit("sort", 0.98, positions=False)
    assert verdict("unordered").solved
    copied.reports[-1]["accuracy"] = 0.5
    assert not verdict("unordered").solved


def test_the_loss_vanishes_and_the_answers_are_wrong(visit):
    training = visit("reverse", 0.0, loss=0.5, causal=False)
    assert not verdict("cheating").solved and "below 0.05" in verdict("cheating").said
    training.reports[-1]["loss"] = 0.001
    assert verdict("cheating").solved and "0% of 128" in verdict("cheating").said
    training.reports[-1]["accuracy"] = 0.8
    assert not verdict("cheating").solved


def test_dates_are_learned(visit):
    visit("dates", 0.5)
    assert not verdict("dates").solved
    visit("dates", 0.99)
    assert verdict("dates").solved
    assert training_lessons.newest("dates").accuracy == 0.99
