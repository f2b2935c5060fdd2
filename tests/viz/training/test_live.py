"""A run that trains while somebody looks: the page follows it, and asks no more once it has ended."""

import json
import shutil

import pytest

from model.workshop.training.history import LOG
from tests.support.viz_helpers import TRAINING, Lab
from viz.state.session_data import data
from viz.training import histories


def test_a_growing_run_ignores_its_torn_line(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS", str(tmp_path))
    entries = [json.loads(line) for line in grow(tmp_path / "live", runs / "mine", 4)]
    with (tmp_path / "live" / LOG).open("a", encoding="utf-8") as log:
        log.write('{"step": 9999, "lo')
    step, total = next((e["step"], e["total"]) for e in reversed(entries) if "total" in e)
    lab = Lab(TRAINING, run="live")
    (told,) = lab.sentences("lab-training-now")
    assert told.startswith(f"Live Step {step} of {total}, {100 * step // total} %, ")
    with (tmp_path / "live" / LOG).open("a", encoding="utf-8") as log:
        log.write("\n" + json.dumps(entries[0] | {"step": total - 1, "seconds": 99.0}) + "\n")
    assert lab.run().sentences("lab-training-now")[0].startswith(f"Live Step {total - 1} of {total}, ")


def grow(folder, source, lines: int) -> list[str]:
    """Copies a run as it was after some lines of its log, and returns these."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("checkpoint"))
    kept = (source / LOG).read_text(encoding="utf-8").splitlines(keepends=True)[:lines]
    (folder / LOG).write_text("".join(kept), encoding="utf-8")
    return kept


def test_the_page_reruns_when_a_run_has_written(runs, tmp_path, monkeypatch):
    class Rerun(Exception):
        pass

    def rerun():
        assert data().has_user_event  # an older link does not win
        raise Rerun

    monkeypatch.setattr(histories.st, "rerun", rerun)
    monkeypatch.setenv("RUNS", str(tmp_path))
    grow(tmp_path / "live", runs / "mine", 3)
    seen = histories.history("live").stamp
    histories._watch("live", seen)  # nothing is new: the sign alone is written
    with (tmp_path / "live" / LOG).open("a", encoding="utf-8") as log:
        log.write('{"step": 7')
    with pytest.raises(Rerun):
        histories._watch("live", seen)
    for name in ("mine", "is no more"):
        monkeypatch.setenv("RUNS", str(runs))
        with pytest.raises(Rerun):
            histories._watch(name, seen)


def test_what_does_not_train_is_not_asked_again(runs, monkeypatch):
    asked = []
    monkeypatch.setattr(histories, "sign", lambda *seen: asked.append(seen))
    for link in ({"run": "mine"}, {"run": "bare"}, {}, {"run": "mine", "lecture": "on"}):
        assert Lab(TRAINING, **link).sentences("lab-training-now") == []
    assert asked == []
