"""Runs that begin with what is there already, and what is refused."""

from __future__ import annotations

import re

import pytest

from model import checkpoint as checkpoints
from model.text.corpus import DataError
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


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"d_ff": 16}, {}, "d_ff was 16, now not given (default 1024)"),
        ({}, {"d_ff": 16}, "d_ff was not given (default 1024), now 16"),
        ({}, {"window": 4}, "window was not given (default none), now 4"),
        ({"causal": False}, {"heads": 1}, "heads was 2, now 1, causal was False, now not given (default True)"),
    ],
)
def test_what_differs_is_told_with_the_default(tmp_path, pair_files, before, now, told):
    plain = {k: v for k, v in SMALL.items() if k != "d_ff"}
    make(tmp_path, pair_files, plain | before)
    with pytest.raises(TrainingError, match=re.escape(f"(model: {told})")):
        make(tmp_path, pair_files, plain | now)


def test_a_default_that_is_given_is_no_other_setting(tmp_path, pair_files):
    make(tmp_path, pair_files)
    assert make(tmp_path, pair_files, SMALL | {"norm": "layernorm", "window": None}).progress.step == 0


@pytest.mark.parametrize(("first", "message"), [(True, "began with a probes file, and none"), (False, "began without a pr")])
def test_probes_that_come_or_go_are_told(tmp_path, pair_files, first, message):
    probes = tmp_path / "probes.txt"
    probes.write_text("fox\tThe fox.\tLo varun.\n", encoding="utf-8")
    make(tmp_path / "run", (*pair_files, probes) if first else pair_files)
    with pytest.raises(TrainingError, match=message):
        make(tmp_path / "run", pair_files if first else (*pair_files, probes))


def test_other_data_is_refused(tmp_path, pair_files):
    make(tmp_path, pair_files)
    with pytest.raises(TrainingError, match=r"the train file is not the one that the run in .* began with"):
        make(tmp_path, pair_files[::-1])


def test_a_run_that_could_not_begin_leaves_no_settings(tmp_path, pair_files):
    with pytest.raises(ValueError, match="the vocabulary size is 100; expected at least 260"):
        make(tmp_path, pair_files, vocab_size=100)
    assert make(tmp_path, pair_files).progress.step == 0


def test_options_of_the_model_beside_its_weights_are_refused(trained, tmp_path, pair_files):
    with pytest.raises(TrainingError, match=r"--init takes the model of .* as it is; leave out d_ff, dropout"):
        make(tmp_path, pair_files, {"d_ff": 16, "dropout": 0.1}, str(trained / "checkpoint"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("state.pt", r"state.pt is damaged \(\w+\); remove it, or begin in another"),
        ("settings.json", "is damaged; begin in"),
    ],
)
def test_damaged_files_of_a_run_are_told(tmp_path, pair_files, name, message):
    make(tmp_path, pair_files).save()
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(TrainingError, match=message):
        make(tmp_path, pair_files)


def test_pairs_that_are_all_too_long_are_told(tmp_path, pair_files):
    long = tmp_path / "long.tsv"
    long.write_text("q" * 200 + "\ta\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"long.tsv: every pair is longer than the text limit"):
        make(tmp_path / "run", (pair_files[0], long))


def test_a_loss_that_is_no_number_ends_the_run_and_is_not_saved(tmp_path, pair_files, monkeypatch):
    run = make(tmp_path, pair_files, save_minutes=1e-9)
    run.train(max_minutes=0)
    before = (tmp_path / "state.pt").read_bytes()
    plain = loss.smoothed_loss
    monkeypatch.setattr(loss, "smoothed_loss", lambda *args: plain(*args) * float("nan"))
    with pytest.raises(TrainingError, match=r"the loss is nan at step 2; .* Begin anew with a lower learning rate"):
        make(tmp_path, pair_files, save_minutes=1e-9).train()
    assert (tmp_path / "state.pt").read_bytes() == before


def test_a_run_that_is_told_to_stop_is_saved_where_it_was(tmp_path, pair_files):
    run = make(tmp_path, pair_files)
    run.stop = True
    assert run.train() is False
    assert make(tmp_path, pair_files).progress.step == run.progress.step == 1


def test_learned_positions_must_reach_the_text_limit(tmp_path, pair_files):
    with pytest.raises(TrainingError, match=r"max_positions is 64; expected at least 128 for learned positions"):
        make(tmp_path, pair_files, {"positions": "learned", "max_positions": 64})
