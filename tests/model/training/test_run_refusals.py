"""Runs that begin with what is there already, and what is refused."""

from __future__ import annotations

import pytest

from model import checkpoint as checkpoints
from model.training import loss
from model.training.run_folder import TrainingError
from tests.support.training_helpers import SMALL, assert_equal, entries, make, state


def test_a_run_can_begin_with_the_weights_of_another(trained, tmp_path, pair_files):
    init = str(trained / "checkpoint")
    run = make(tmp_path, pair_files, {}, init, epochs=1)
    assert_equal(state(run), checkpoints.load(init).model.state_dict())
    assert all(p.requires_grad for p in run.model.parameters())
    run.train()
    assert entries(tmp_path)[-1]["dev_loss"] < 1


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "changes", "part"),
    [({}, {"epochs": 3}, "training"), ({}, {"seed": 9}, "training"), ({"d_ff": 16}, {}, "model")],
)
def test_other_settings_are_refused(tmp_path, pair_files, model, changes, part):
    make(tmp_path, pair_files)
    with pytest.raises(TrainingError, match=rf"holds a run with other settings \({part}: .*give the same ones to go on"):
        make(tmp_path, pair_files, SMALL | model, **changes)


def test_a_default_that_is_given_is_no_other_setting(tmp_path, pair_files):
    make(tmp_path, pair_files)
    assert make(tmp_path, pair_files, SMALL | {"norm": "layernorm", "window": None}).progress.step == 0


def test_other_data_is_refused(tmp_path, pair_files):
    make(tmp_path, pair_files)
    with pytest.raises(TrainingError, match=r"the train file is not the one that the run in .* began with"):
        make(tmp_path, pair_files[::-1])


def test_a_run_that_could_not_begin_leaves_no_settings(tmp_path, pair_files):
    with pytest.raises(ValueError, match="the vocabulary size is 100; expected at least 260"):
        make(tmp_path, pair_files, vocab_size=100)
    assert make(tmp_path, pair_files).progress.step == 0


def test_loss_of_nan_ends_the_run_unsaved(tmp_path, pair_files, monkeypatch):
    run = make(tmp_path, pair_files, save_minutes=1e-9)
    run.train(max_minutes=0)
    before = (tmp_path / "state.pt").read_bytes()
    plain = loss.smoothed_loss
    monkeypatch.setattr(loss, "smoothed_loss", lambda *args: plain(*args) * float("nan"))
    with pytest.raises(TrainingError, match=r"the loss is nan at step 2; .* Begin anew with a lower learning rate"):
        make(tmp_path, pair_files, save_minutes=1e-9).train()
    assert (tmp_path / "state.pt").read_bytes() == before
