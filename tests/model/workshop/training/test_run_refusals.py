"""Damaged or foreign files of a run are refused in one sentence that names the file."""

from __future__ import annotations

import pickle
import zipfile
from functools import partial

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model.network.attention import Dropout
from model.workshop.corpus.corpus import DataError
from model.workshop.training import loss_and_validation, saved_state
from model.workshop.training.loss_and_validation import MAX_NORM, Meter, TrainingStep
from model.workshop.training.recording import ProbeSentence, Recording
from model.workshop.training.run import TrainingRun
from model.workshop.training.run_folder import RunFolder, TrainingError
from tests.support.training_helpers import SMALL, assert_equal, entries, make, state


def refused(folder, files, message: str) -> None:
    with pytest.raises(TrainingError, match=message) as caught:
        make(folder, files)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 600


def far(value: torch.Tensor) -> torch.Tensor:
    return torch.full_like(value, float("nan"))


def put(*way, value):
    """Puts a value into a state at a place, or what a function makes of the value there."""

    def change(state):
        for name in way[:-1]:
            state = state[name]
        state[way[-1]] = value(state[way[-1]]) if callable(value) else value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("model"), "it holds"),
        (put("more", value=1), "it holds"),
        (put("model", value={}), "'model' has other parameters"),
        (put("model", value=3), "'model' has other parameters"),
        (put("model", "encoder_norm.bias", value=torch.zeros(15)), r"bias' is not a float tensor of the shape \(8,\)"),
        (put("model", "encoder_norm.bias", value=far), "'model', 'encoder_norm.bias' has a number that is nan"),
        (put("model", "encoder_norm.bias", value="weights"), "'encoder_norm.bias' is not a float tensor"),
        (put("snapshots", value=[{}]), "'snapshots' has other parameters"),
        (put("snapshots", value=lambda found: 9 * [*found, {}]), "'snapshots' is not a list of at most 5"),
        (put("optimizer", value=[]), "'optimizer' has other parameters"),
        (put("optimizer", "state", value={0: {}}), "'optimizer' has other parameters"),
        (put("optimizer", "state", 0, value={}), "'optimizer' has other entries for parameter 0"),
        (put("optimizer", "state", 0, "step", value=torch.tensor(-1.0)), "'optimizer', step 0 has a number that is"),
        (put("optimizer", "state", 0, "exp_avg", value=far), "'optimizer', exp_avg 0 has a number that is nan"),
        (put("progress", value={"step": 1}), "'progress' is"),
        (put("progress", "step", value=-1), "'progress': 'step' is -1"),
        (put("progress", "batch", value="2"), "'progress': 'batch' is '2'"),
        (put("progress", "seconds", value=float("inf")), "'progress': 'seconds' and 'ended' are"),
        (put("progress", "validations", value=[{"step": 3}]), "'validations' is not a list of measurements"),
        (put("progress", "best", value={"dev_loss": 1}), "'best' is not one of the validations"),
        (put("random", value=[]), "'random' does not have 1 processes"),
        (put("random", value=[{}]), "'random' is not a random state"),
        (put("random", 0, "cpu", value=torch.zeros_like), "'random' is not a random state"),
        (put("random", 0, "cpu", value=lambda found: found[:9]), "'random' is not a random state"),
        (put("probes", value=None), "'probes' is not a recording"),
        (put("probes", "steps", value=["a"]), "'probes' is not a recording"),
        (put("probes", "arrays", value={"a": 1}), "'probes' has other sentences"),
        (put("probes", "arrays", "cross/0", value=lambda found: found[:, :, :, :2]), "'cross/0' does not have the shape"),
        (put("probes", "arrays", "cross/0", value=lambda found: found.float()), "'cross/0' does not have the shape"),
    ],
)
def test_a_state_of_something_else(stopped, change, message):
    state = torch.load(stopped.files.path / "state.pt", weights_only=True)
    fits = partial(saved_state.check, stopped.model, stopped.recorder, stopped.config.average, 1)
    fits(state)
    change(state)
    with pytest.raises(ValueError, match=message) as caught:
        fits(state)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_sums_of_the_meter_fit_a_state(stopped):
    meter = Meter(9, 0, stopped.config, silent=True)
    for norm in (1e20, float("inf"), float("nan")):
        meter.update(TrainingStep(1.0, 2, 0.1, norm), 0.5)
    state = torch.load(stopped.files.path / "state.pt", weights_only=True)
    fits = partial(saved_state.check, stopped.model, stopped.recorder, stopped.config.average, 1)
    fits(state | {"meter": meter.sums})
    assert meter.sums["largest"] == MAX_NORM and meter.sums["cut"] == 3
    for wrong in (-1.0, float("nan"), "3", True):
        with pytest.raises(ValueError, match="'meter' has no sums"):
            fits(state | {"meter": meter.sums | {"norm": wrong}})


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, pair_files) -> TrainingRun:
    """A run that was stopped after a validation, with a probe."""
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "probes.txt").write_text("fox\tThe fox.\tLo varun.\n", encoding="utf-8")
    run = make(folder / "run", (*pair_files, folder / "probes.txt"), validate_every=1)
    assert not run.train(max_minutes=0)
    assert run.progress.validations
    return run


def test_state_neither_runs_code_nor_fills_memory(tmp_path, pair_files):
    class Harm:
        def __reduce__(self):
            return (open, (str(tmp_path / "harm"), "w"))

    make(tmp_path, pair_files)
    path = tmp_path / "state.pt"
    for write in (lambda: torch.save({"model": Harm()}, path), lambda: path.write_bytes(pickle.dumps(Harm()))):
        write()
        refused(tmp_path, pair_files, r"state.pt is damaged \(\w+\); remove it or choose another folder")
    torch.save({"model": torch.zeros(1000)}, tmp_path / "plain")
    with zipfile.ZipFile(tmp_path / "plain") as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    refused(tmp_path, pair_files, r"state.pt is damaged \(ValueError\)")
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(tmp_path, pair_files, "state.pt is no regular file, but a device, a pipe or the like; remove it")
    assert not (tmp_path / "harm").exists()


def test_foreign_lines_of_a_log_are_dropped(tmp_path):
    whole = b'{"step": 3}\n'
    lines = [b"\xff\xfe", b'{"step": "x"}', b'{"step": [[]]}', b"[" * 100_000, b'{"step": NaN}', b"3", b'{"step": 4}']
    (tmp_path / "log.jsonl").write_bytes(whole + b"\n".join(lines) + b"\n" + whole)
    RunFolder(tmp_path).cut_log(3)
    assert (tmp_path / "log.jsonl").read_bytes() == whole + whole


def recording(tmp_path) -> Recording:
    """A recording of one sentence at two steps, by hand."""
    arrays = {"log_probs/0": np.zeros((2, 2), np.float32)}
    arrays |= {f"{kind}/0": np.zeros((2, 1, 1, 2, 2), np.uint8) for kind in ("encoder", "decoder", "cross")}
    made = Recording((ProbeSentence("fox", "a", "b", (5, 2), (6, 2)),), (0, 1), arrays)
    made.save(tmp_path / "probes.npz")
    return made


def test_recording_larger_than_declared_is_refused(tmp_path):
    recording(tmp_path)
    form = b"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 48, 64, 90000, 90000), }".ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "probes.npz") as stored:
        kept = {name: stored.read(name) for name in stored.namelist()}
    kept["cross/0.npy"] = b"\x93NUMPY\x01\x00\x76\x00" + form
    with zipfile.ZipFile(tmp_path / "probes.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in kept.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=r"'cross/0' has the shape \(2, 48, 64, 90000, 90000\), uint8; expected"):
        Recording.load(tmp_path / "probes.npz")


def test_a_run_can_begin_with_the_weights_of_another(trained, tmp_path, pair_files):
    init = str(trained / "checkpoint")
    run = make(tmp_path, pair_files, {}, init, epochs=1)
    assert_equal(state(run), checkpoints.load(init).model.state_dict())
    assert all(p.requires_grad for p in run.model.parameters())
    run.train()
    assert entries(tmp_path)[-1]["dev_loss"] < 1


def test_only_dropout_differs_from_the_first_weights(trained, tmp_path, pair_files):
    init = str(trained / "checkpoint")
    run = make(tmp_path / "run", pair_files, {"dropout": 0.3, "attention_dropout": 0.2}, init, epochs=1)
    assert_equal(state(run), checkpoints.load(init).model.state_dict())
    run.train()
    config = checkpoints.load(str(tmp_path / "run" / "checkpoint")).config
    assert (config.dropout, config.attention_dropout) == (0.3, 0.2)
    assert {module.p for module in run.model.modules() if isinstance(module, Dropout)} == {0.3, 0.2}
    with pytest.raises(TrainingError, match=r"of which only dropout can change; remove d_ff\.") as caught:
        make(tmp_path / "other", pair_files, {"dropout": 0.3, "d_ff": 16}, init)
    assert "\n" not in str(caught.value)


def test_other_settings_and_data_are_refused(tmp_path, pair_files):
    make(tmp_path, pair_files)
    others = (({}, {"epochs": 3}, "training"), ({}, {"seed": 9}, "training"), ({"d_ff": 16}, {}, "model"))
    for model, changes, part in others:
        told = rf"holds a run with other settings \({part}: .*use the same settings to resume"
        with pytest.raises(TrainingError, match=told):
            make(tmp_path, pair_files, SMALL | model, **changes)
    refused(tmp_path, pair_files[::-1], r"the train file changed since the run in .* started")
    assert make(tmp_path, pair_files, SMALL | {"norm": "layernorm", "window": None}).progress.step == 0


def test_a_contrast_over_the_limit_begins_no_run(tmp_path, pair_files):
    (tmp_path / "long.tsv").write_text(f"english\tright\twrong\tnoun\tother\n{'A fox. ' * 100}\ta\tb\tfox\tA\n")
    with pytest.raises(DataError, match="is too long; expected at most 128 tokens"):
        make(tmp_path / "run", (*pair_files, None, tmp_path / "long.tsv"))


def test_a_run_that_could_not_begin_leaves_no_settings(tmp_path, pair_files):
    with pytest.raises(ValueError, match="the vocabulary size is 100; expected at least 260"):
        make(tmp_path, pair_files, vocab_size=100)
    assert make(tmp_path, pair_files).progress.step == 0


def test_loss_of_nan_ends_the_run_unsaved(tmp_path, pair_files, monkeypatch):
    run = make(tmp_path, pair_files, save_minutes=1e-9)
    run.train(max_minutes=0)
    before = (tmp_path / "state.pt").read_bytes()
    plain = loss_and_validation.smoothed_loss
    monkeypatch.setattr(loss_and_validation, "smoothed_loss", lambda *args: plain(*args) * float("nan"))
    with pytest.raises(TrainingError, match=r"the loss is nan at step 2; .* Start a new run with a lower learning rate"):
        make(tmp_path, pair_files, save_minutes=1e-9).train()
    assert (tmp_path / "state.pt").read_bytes() == before
