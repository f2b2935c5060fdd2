"""A run that begins with the weights of another goes on with their history, and a checkpoint keeps it."""

from __future__ import annotations

import itertools

import pytest

from model.training import before
from model.training.before import Before
from model.training.history import LOG, PROBES, of_checkpoint, of_run
from tests.support import tiny
from tests.support.training_helpers import make


def probes(folder, *numbers):
    path = folder / f"probes-{len(numbers)}.txt"
    path.write_text("".join(f"{n}\t{tiny.HELD_OUT[n][0]}\t{tiny.HELD_OUT[n][1]}\n" for n in numbers), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def first(tmp_path_factory, pair_files):
    folder = tmp_path_factory.mktemp("first")
    make(folder / "run", (*pair_files, probes(folder, 0, 1)), epochs=3, log_every=2).train()
    return folder


def test_the_checkpoint_of_a_run_keeps_its_log(first):
    kept, run = of_checkpoint(first / "run" / "checkpoint", "mine"), of_run(first / "run", "mine")
    assert kept.steps == run.steps and kept.validations == run.validations and kept.over and not kept.apart
    assert kept.total == run.total == kept.recording.steps[-1] and not [each for each in kept.lacks if "log" in each]


def test_run_continues_the_history_of_its_first_weights(first, tmp_path, pair_files):
    init = first / "run" / "checkpoint"
    files = (*pair_files, probes(tmp_path, 0, 1))
    run = make(tmp_path / "run", files, {}, str(init), epochs=2, log_every=2)
    run.train()
    old, own = of_checkpoint(init, "old"), of_run(tmp_path / "run", "own")
    found = of_checkpoint(tmp_path / "run" / "checkpoint", "both")
    last = old.recording.steps[-1]
    assert own.recording.steps[0] == 0 and last == old.validations[-1]["step"]
    assert found.recording.steps == old.recording.steps + tuple(last + step for step in own.recording.steps[1:])
    assert found.recording.written == old.recording.written + own.recording.written[1:]
    for key, values in found.recording.arrays.items():
        assert (values[: len(old.recording.steps)] == old.recording.arrays[key]).all()
        assert (values[len(old.recording.steps) :] == own.recording.arrays[key][1:]).all()
    assert [e["loss"] for e in found.steps] == [e["loss"] for e in (*old.steps, *own.steps)]
    assert [e["step"] for e in found.steps] == sorted(e["step"] for e in found.steps)
    assert found.steps[-1]["step"] == last + own.steps[-1]["step"] and found.total == last + own.total
    assert found.steps[-1]["seconds"] == pytest.approx(old.steps[-1]["seconds"] + own.steps[-1]["seconds"], abs=0.2)
    assert [e["step"] for e in found.validations] == [e["step"] for e in old.validations] + [
        last + e["step"] for e in own.validations
    ]


def test_missing_or_damaged_files_are_no_history(first, tmp_path, pair_files):
    config = make(tmp_path / "run", (*pair_files, probes(tmp_path, 0, 1))).model_config
    assert Before.of(tmp_path, config, config) == Before()
    (tmp_path / PROBES).write_bytes(b"PK")
    (tmp_path / LOG).write_text('[1]\n{"step": "a"}\n{"step": 4, "lo', encoding="utf-8")
    assert Before.of(tmp_path, config, config) == Before() and Before().last == 0


def test_long_log_is_thinned_and_keeps_validations(monkeypatch):
    monkeypatch.setattr(before, "KEPT", 10)
    lines = [{"step": n, "loss": 1.0} for n in range(2, 74, 2)] + [{"step": 72, "dev_loss": 2.0}]
    kept = Before(lines=({"step": 1, "loss": 2.0, "seconds": 5.0},)).with_lines(lines)
    steps = [line["step"] for line in kept if "loss" in line]
    assert 5 < len(steps) <= 10 and steps[-1] == 73 and {b - a for a, b in itertools.pairwise(steps)} == {8}
    assert kept[-1] == {"step": 73, "dev_loss": 2.0}
