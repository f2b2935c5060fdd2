"""The page Training: what it says is what the run's own files say."""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib

import numpy as np
import pytest
import tiny
from training_helpers import make
from viz_helpers import TRAINING, Lab, numbers

from model.experiments.grown import scores
from model.training.history import LOG, PROBES, SETTINGS, of_checkpoint, of_run
from viz.training import curves


@pytest.fixture(scope="module")
def runs(tmp_path_factory, pair_files):
    """A folder with a run, and some that are none, or damaged."""
    folder = tmp_path_factory.mktemp("runs")
    lines = [f"{n}\t{source}\t{target}\n" for n, (source, target) in enumerate(tiny.HELD_OUT[:3])]
    (folder / "probes.txt").write_text("".join(lines), encoding="utf-8")
    make(folder / "mine", (*pair_files, folder / "probes.txt"), epochs=4, log_every=2, clip=0.5).train()
    for name in ("torn", "bare", "other"):
        shutil.copytree(folder / "mine", folder / name)
    (folder / "torn" / PROBES).write_bytes(b"PK\x03\x04 nonsense")
    for path in (folder / "bare" / PROBES, folder / "bare" / "checkpoint" / PROBES, folder / "bare" / LOG):
        path.unlink()
    (folder / "other" / SETTINGS).write_text('{"training": {"clip": "tight"}, "model": 3}', encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def named(runs, monkeypatch):
    monkeypatch.setenv("RUNS", str(runs))


def unpacked(grid: dict) -> np.ndarray:
    """The maps of all steps, as the browser puts them together."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(grid["bytes"])), dtype=np.uint8)
    return np.cumsum(raw.reshape(grid["steps"], grid["layers"], grid["heads"], *grid["shape"]), axis=0, dtype=np.uint8)


def test_the_browser_gets_every_recorded_step_of_a_sentence(runs):
    recording = of_run(runs / "mine", "mine").recording
    lab = Lab(TRAINING, run="mine", probe="2", trained=str(recording.steps[3]), layer="1", head="2")
    data = lab._mounted("player")
    assert (tuple(data["steps"]), data["at"], data["chosen"]) == (recording.steps, 3, {"layer": 1, "head": 2})
    assert data["written"] == [texts[1] for texts in recording.written]
    for grid in data["grids"]:
        assert (unpacked(grid) == recording.arrays[f"{grid['kind']}/1"]).all()
        assert (len(grid["queries"]), len(grid["keys"])) == tuple(grid["shape"])
    sure = np.exp(recording.log_probs(1))
    np.testing.assert_allclose(data["probabilities"], sure, atol=1e-4)
    np.testing.assert_allclose(data["losses"], -recording.log_probs(1).mean(1), atol=1e-3)
    assert lab.link["trained"] == str(recording.steps[3])


def test_curves_are_those_of_the_log_and_the_heads_those_of_the_maps(runs):
    history = of_run(runs / "mine", "mine")
    lab = Lab(TRAINING, run="mine", grown="entropy")
    loss, _, gradients, heads, *_ = lab.charts
    assert numbers(loss["data"][0]["y"]).tolist() == [entry["loss"] for entry in history.steps]
    assert numbers(gradients["data"][1]["y"]).tolist() == [entry["gradient_norm_clipped"] for entry in history.steps]
    found = scores(history.recording, "encoder", "entropy")
    assert numbers(heads["data"][1]["y"]).tolist() == pytest.approx(found[:, 0, 1].tolist())
    for chart in (loss, gradients, heads):
        assert sum(shape.get("name") == "training step" for shape in chart["layout"]["shapes"]) == 1


@pytest.mark.parametrize("reach", ["0", "0.3", "1"])
def test_when_heads_appeared_follows_the_threshold(runs, reach):
    """By hand, from the maps: the first step whose largest score reaches it."""
    recording = of_run(runs / "mine", "mine").recording
    lab = Lab(TRAINING, run="mine", reach=reach)
    for kind, metric, name in (("encoder", "previous", "Encoder: "), ("cross", "same", "Cross: ")):
        (told,) = [text for text in lab.sentences("lab-note") if text.startswith(name)]
        most = scores(recording, kind, metric).max(axis=(1, 2))
        there = [step for step, value in zip(recording.steps, most, strict=True) if value >= float(reach)]
        assert (f"at step {there[0]:,} (" in told) if there else (f"did not appear by step {recording.steps[-1]:,};" in told)


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("torn", "is no readable recording of probes"),
        ("bare", "bare has no probes.npz, which holds the maps"),
        ("bare", "bare has no log.jsonl yet"),
        ("other", "are of another schema: its schedule is not drawn."),
        ("en-fr-learned", "en-fr-learned has no probes.npz"),
    ],
)
def test_what_a_run_lacks_is_told_and_the_rest_is_drawn(runs, run, told):
    lab = Lab(TRAINING, run=run)
    (sentence,) = [text for text in lab.sentences("lab-note") if told in text]
    assert sentence.endswith(".") and str(runs) not in sentence
    assert lab.charts and not lab.faults


def test_no_such_run_is_one_sentence_and_another_can_be_chosen():
    lab = Lab(TRAINING, run="nothing <b>")
    assert lab.faults == [
        "There is no run 'nothing <b>' here: choose another one, or name its folder by RUNS when the lab is started."
    ]
    lab.at.selectbox(key="training run").set_value("mine")
    lab.run()
    assert (lab.link["run"], lab.faults) == ("mine", [])


def test_a_run_that_grows_is_told_and_its_torn_line_is_not_taken(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS", str(tmp_path))
    shutil.copytree(runs / "mine", tmp_path / "live", ignore=shutil.ignore_patterns("checkpoint"))
    lines = (runs / "mine" / LOG).read_text(encoding="utf-8").splitlines()[:4]
    (tmp_path / "live" / LOG).write_text("\n".join([*lines, '{"step": 9999, "lo']), encoding="utf-8")
    entries = [json.loads(line) for line in lines]
    step, total = next((e["step"], e["total"]) for e in reversed(entries) if "total" in e)
    lab = Lab(TRAINING, run="live")
    (told,) = lab.sentences("lab-training-now")
    assert told.startswith(f"Step {step} of {total}, {100 * step // total} %, ")
    with (tmp_path / "live" / LOG).open("a", encoding="utf-8") as log:
        log.write("\n" + json.dumps(entries[0] | {"step": total - 1, "seconds": 99.0}) + "\n")
    assert lab.run().sentences("lab-training-now")[0].startswith(f"Step {total - 1} of {total}, ")


def test_a_recording_of_another_run_is_told_apart(root=TRAINING):
    """The shipped checkpoint was recorded over one run and went on in another one."""
    from model.folders import SHIPPED

    history = of_checkpoint(SHIPPED / "en-fr", "en-fr")
    lab = Lab(root)
    assert history.apart
    assert [text for text in lab.sentences("lab-note") if "the slider’s step is not marked in them" in text]
    assert not any("shapes" in chart["layout"] for chart in lab.charts[:1])


def test_both_smoothed_losses_are_written_out_with_their_numbers():
    lab = Lab(TRAINING, text="The dog sleeps.", step="2", eps="0.2")
    found = [text for text in lab.sentences("lab-formula") if text.startswith("ε")]
    for text in found:
        read = re.search(r"= (\S+) · (\S+) \+ (\S+) · (\S+) = (\S+) nats", text).groups()
        keeps, nats, share, others, loss = (float(number.replace(",", "")) for number in read)
        assert keeps == 0.8 and loss == pytest.approx(keeps * nats + share * others, rel=5e-3)
    assert len(found) == 2


def test_its_numbers_leave_as_tables(runs):
    from types import SimpleNamespace

    from viz.training import tables
    from viz.view import View

    history = of_run(runs / "mine", "mine")
    made = {t.name: t for t in tables.tables(SimpleNamespace(view=View(run="mine", probe=1, grown="previous")))}
    assert [row[0] for row in made["training-log"].rows] == [entry["step"] for entry in history.steps]
    assert len(made["training-heads"].rows) == 2 * 1 * 2 * len(history.recording.steps)  # two kinds, one layer, two heads
    assert [row[1] for row in made["training-sentence"].rows] == [texts[0] for texts in history.recording.written]


def test_every_large_picture_stands_in_a_lecture():
    for large in range(1, 7):
        lab = Lab(TRAINING, run="mine", lecture="on", large=str(large))
        assert not lab.faults and (lab.charts or lab._mounted("player") or lab.sentences("lab-formula"))


def test_the_share_of_steps_that_were_cut_is_that_of_the_log(runs):
    history = of_run(runs / "mine", "mine")
    share = np.mean([entry["clipped"] for entry in history.steps])
    assert curves.curve(history, "gradients").told.startswith(f"Clipping at 0.5 cut {share:.0%} of the steps; ")
