"""A run that trains while somebody looks: the page follows it, and asks no more once it has ended."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil

import pytest

from model.training.history import LOG, SETTINGS
from tests.support.viz_helpers import TRAINING, Lab
from viz.training import curves, histories, live


def test_a_run_that_grows_is_told_and_its_torn_line_is_not_taken(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS", str(tmp_path))
    shutil.copytree(runs / "mine", tmp_path / "live", ignore=shutil.ignore_patterns("checkpoint"))
    lines = (runs / "mine" / LOG).read_text(encoding="utf-8").splitlines()[:4]
    (tmp_path / "live" / LOG).write_text("\n".join([*lines, '{"step": 9999, "lo']), encoding="utf-8")
    entries = [json.loads(line) for line in lines]
    step, total = next((e["step"], e["total"]) for e in reversed(entries) if "total" in e)
    lab = Lab(TRAINING, run="live")
    (told,) = lab.sentences("lab-training-now")
    assert told.startswith(f"Live Step {step} of {total}, {100 * step // total} %, ")
    with (tmp_path / "live" / LOG).open("a", encoding="utf-8") as log:
        log.write("\n" + json.dumps(entries[0] | {"step": total - 1, "seconds": 99.0}) + "\n")
    assert lab.run().sentences("lab-training-now")[0].startswith(f"Live Step {total - 1} of {total}, ")


def test_of_a_run_that_grows_the_newest_log_alone_is_kept_and_none_of_its_charts(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS", str(tmp_path))
    shutil.copytree(runs / "mine", tmp_path / "live", ignore=shutil.ignore_patterns("checkpoint"))
    log = tmp_path / "live" / LOG
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    stamps, drawn = [], []
    for count in (3, 4):
        log.write_text("".join(lines[:count]), encoding="utf-8")
        history, stamp = histories.history("live")
        assert history.going
        stamps.append(stamp)
        drawn += [curves.figure("live", history, stamp, "loss", "light") for _ in range(2)]
    known = [histories._history.known(str(tmp_path / "live"), "live", True, stamp) for stamp in stamps]
    assert known[0] is None and known[1] is not None
    assert len(set(map(id, drawn))) == 4
    over = dataclasses.replace(history, going=False)
    assert len({id(curves.figure("live", over, stamp, "loss", "light")) for _ in range(2)}) == 1


class Rerun(Exception):
    pass


@pytest.fixture
def rerun(monkeypatch):
    def asked():
        assert live.st.session_state.pop("touched")  # an older link does not win
        raise Rerun

    monkeypatch.setattr(live.st, "rerun", asked)


def grows(folder, source, lines: int):
    """A copy of a run as it was after so many lines of its log."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("checkpoint"))
    kept = (source / LOG).read_text(encoding="utf-8").splitlines(keepends=True)[:lines]
    (folder / LOG).write_text("".join(kept), encoding="utf-8")


def test_the_page_is_run_again_once_a_run_has_written_or_ended(runs, tmp_path, monkeypatch, rerun):
    monkeypatch.setenv("RUNS", str(tmp_path))
    grows(tmp_path / "live", runs / "mine", 3)
    seen = histories.history("live")[1]
    live._watch("live", seen)  # nothing is new: the sign alone is written
    with (tmp_path / "live" / LOG).open("a", encoding="utf-8") as log:
        log.write('{"step": 7')
    with pytest.raises(Rerun):
        live._watch("live", seen)
    for name in ("mine", "is no more"):
        monkeypatch.setenv("RUNS", str(runs))
        with pytest.raises(Rerun):
            live._watch(name, seen)


def test_what_does_not_train_is_not_asked_again(runs, monkeypatch):
    asked = []
    monkeypatch.setattr(live, "sign", lambda *seen: asked.append(seen))
    for link in ({"run": "mine"}, {"run": "bare"}, {}, {"run": "mine", "lecture": "on"}):
        assert Lab(TRAINING, **link).sentences("lab-training-now") == []
    assert asked == []


def test_a_run_before_its_first_line_is_live_too(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS", str(tmp_path))
    grows(tmp_path / "set" / "live", runs / "mine", 0)
    (told,) = Lab(TRAINING, run="live").sentences("lab-training-now")
    assert told.startswith("Live It has begun")
    os.utime(tmp_path / "set" / "live" / SETTINGS, (1, 1))
    assert not histories.history("live")[0].going


def test_when_something_was_last_written_is_told_as_time_goes_by():
    told = [live.told_ago(seconds) for seconds in (-1, 4, 12.4, 89, 91, 600)]
    assert told == [
        *["Written just now."] * 2,
        "Written 12 seconds ago.",
        "Written 89 seconds ago.",
        "Written 2 minutes ago.",
        "Written 10 minutes ago.",
    ]
