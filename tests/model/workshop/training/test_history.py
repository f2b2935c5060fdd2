"""The history of a run and of its first weights."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import shutil

import numpy as np
import pytest

from model.workshop.evaluation import scoring
from model.workshop.training import run_listing
from model.workshop.training.history import LOG, PROBES, SETTINGS, load_checkpoint_history, load_run_history
from model.workshop.training.loss_and_validation import learning_rate
from model.workshop.training.recording import find_emergence
from model.workshop.training.saved_state import WarmStart
from model.workshop.training.snapshots import SnapshotRecorder
from tests.support import tiny
from tests.support.training_helpers import make


@pytest.fixture(scope="module")
def watched(tmp_path_factory, pair_files):
    """A run of three dozen steps that watches three sentences, with its weights at each recorded step."""
    folder = tmp_path_factory.mktemp("runs")
    lines = [f"{n}\t{source}\t{target}\n" for n, (source, target) in enumerate(tiny.HELD_OUT[:3])]
    (folder / "probes.txt").write_text("".join(lines), encoding="utf-8")
    run = make(folder / "mine", (*pair_files, folder / "probes.txt"), epochs=6, log_every=2, clip=0.5)
    weights, record = {}, run.recorder.record

    def recorded(step, model):
        weights[step] = {name: value.detach().clone() for name, value in model.state_dict().items()}
        record(step, model)

    run.recorder.record = recorded
    run.train()
    return folder / "mine", run, weights


def test_recording_equals_the_weights_at_each_step(watched):
    folder, run, weights = watched
    recording = load_run_history(folder, "mine").recording
    assert list(recording.steps) == list(weights) and len(recording.steps) > 15
    tokenizer = run.material.source_tokenizer
    for n in (0, len(recording.steps) // 2, len(recording.steps) - 1):
        model = copy.deepcopy(run.model)
        model.load_state_dict(weights[recording.steps[n]])
        model.eval()
        said = scoring.translate(model, tokenizer, [s.source_text for s in recording.sentences])
        again = SnapshotRecorder(recording.sentences)
        again.record(0, model)
        for name, values in again.recording().arrays.items():
            np.testing.assert_allclose(recording.arrays[name][n], values[0], atol=1 if values.dtype == np.uint8 else 1e-4)
        for number in range(len(recording.sentences)):
            whole = tokenizer.decode(said[number].ids)
            kept = recording.outputs[n][number]
            assert whole.startswith(kept[:40]) and bool(kept) == bool(whole)  # it ends where it gets too long
    assert recording.outputs[-1] != recording.outputs[0]


def test_a_threshold_is_reached_at_the_first_step_that_has_it():
    values = np.array([[[0.1, 0.2]], [[0.6, 0.3]], [[0.5, 0.9]]])
    reached = find_emergence(values, (0, 4, 9), 0.5)
    assert (reached.step, reached.layer, reached.head, reached.score) == (4, 0, 0, 0.6)
    assert find_emergence(values, (0, 4, 9), 0.9).step == 9
    assert find_emergence(values, (0, 4, 9), 0.91) is None


def test_gradients_are_logged_before_and_after_they_are_cut(watched):
    steps = load_run_history(watched[0], "mine").steps
    assert [entry["step"] for entry in steps] == list(range(2, watched[1].total + 1, 2))
    for entry in steps:
        assert 0 <= entry["clipped"] <= 1 and entry["total"] == watched[1].total
        assert entry["gradient_norm_clipped"] <= min(0.5, entry["gradient_norm"]) + 1e-6
        assert entry["gradient_norm_largest"] >= entry["gradient_norm"] - 1e-6
        assert (entry["clipped"] > 0) == (entry["gradient_norm_largest"] > 0.5)


def test_how_far_a_run_is_follows_from_its_own_log(watched, tmp_path):
    total = watched[1].total
    config = dataclasses.replace(watched[1].config, warmup=3)
    settings = {"training": config.to_dict(), "model": {"d_model": 8}, "data": {}, "task": "translate"}
    (tmp_path / SETTINGS).write_text(json.dumps(settings), encoding="utf-8")
    lines = [
        {"step": n, "seconds": 60.0 * n, "loss": 2.0, "learning_rate": learning_rate(config, n, total)} for n in (2, 4, 6)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / LOG).write_text(text + '{"step": 8, "seco', encoding="utf-8")  # half written
    history = load_run_history(tmp_path, "mine")
    assert history.is_running and history.total == total
    assert history.progress.describe() == f"Step 6 of {total}, {600 // total} %, about {total - 6} minutes to go."
    os.utime(tmp_path / LOG, (1, 1))
    assert not load_run_history(tmp_path, "mine").is_running
    (tmp_path / LOG).write_text(json.dumps(lines[0]) + "\n", encoding="utf-8")
    assert load_run_history(tmp_path, "mine").progress.describe() == ("Step 2. The total is known after the warm-up.")


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
    kept, run = load_checkpoint_history(first / "run" / "checkpoint", "mine"), load_run_history(first / "run", "mine")
    assert kept.steps == run.steps and kept.validations == run.validations and kept.is_over and not kept.is_of_another_run
    assert kept.total == run.total == kept.recording.steps[-1] and not [each for each in kept.notices if "log" in each]


def test_run_continues_the_history_of_its_first_weights(first, tmp_path, pair_files):
    init = first / "run" / "checkpoint"
    files = (*pair_files, probes(tmp_path, 0, 1))
    run = make(tmp_path / "run", files, {}, str(init), epochs=2, log_every=2)
    run.train()
    old, own = load_checkpoint_history(init, "old"), load_run_history(tmp_path / "run", "own")
    found = load_checkpoint_history(tmp_path / "run" / "checkpoint", "both")
    last = old.recording.steps[-1]
    assert own.recording.steps[0] == 0 and last == old.validations[-1]["step"]
    assert found.recording.steps == old.recording.steps + tuple(last + step for step in own.recording.steps[1:])
    assert found.recording.outputs == old.recording.outputs + own.recording.outputs[1:]
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
    assert WarmStart.load(tmp_path, config, config) == WarmStart()
    (tmp_path / PROBES).write_bytes(b"PK")
    (tmp_path / LOG).write_text('[1]\n{"step": "a"}\n{"step": 4, "lo', encoding="utf-8")
    assert WarmStart.load(tmp_path, config, config) == WarmStart() and WarmStart().last_step == 0


def test_runs_are_found_in_their_folders(watched, tmp_path, monkeypatch):
    home, other = watched[0].parent, tmp_path / "other"
    shutil.copytree(home / "mine", other / "mine")
    monkeypatch.delenv("RUNS", raising=False)
    assert run_listing.find_runs(home) == {"mine": home / "mine"}
    monkeypatch.setenv("RUNS", f"{other}{os.pathsep}{tmp_path / 'nowhere'}")
    assert run_listing.find_runs(home) == {"mine": other / "mine", f"mine ({home.name})": home / "mine"}
    assert run_listing.unusable_folders() == ("RUNS: nowhere is no folder.",)
    shutil.copytree(home / "mine", tmp_path / "apart" / "a" / "mine")
    monkeypatch.setenv("RUNS", str(tmp_path / "apart"))
    assert run_listing.find_runs(tmp_path / "nowhere") == {"mine": tmp_path / "apart" / "a" / "mine"}
    shutil.copytree(home / "mine", tmp_path / "apart" / "b" / "mine")  # then no place has a name that hangs on their order
    runs = {f"mine ({name})": tmp_path / "apart" / name / "mine" for name in "ab"}
    assert run_listing.find_runs(tmp_path / "nowhere") == runs
    assert run_listing.find_runs(other) == runs | {"mine": other / "mine"}
    shutil.rmtree(tmp_path / "apart")
    monkeypatch.setenv("RUNS", str(tmp_path))  # runs that were made together
    assert run_listing.find_runs(tmp_path / "nowhere") == {"mine": other / "mine"} and not run_listing.unusable_folders()
