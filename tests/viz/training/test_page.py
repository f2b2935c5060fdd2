"""The page Training: what it says is what the run's own files say."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import os
import re
import shutil
import zlib

import numpy as np
import pytest

from model.config import TrainConfig
from model.experiments.grown import count_rows, scores
from model.folders import SHIPPED
from model.training.history import History, of_checkpoint, of_run
from model.training.loss import learning_rate
from tests.support.viz_helpers import TRAINING, Lab, numbers
from viz import state
from viz.links import parse
from viz.training import curves, curves_figures, curves_part, histories, player, rates
from viz.view import View


def unpacked(grid: dict, maps: list[str]) -> np.ndarray:
    """The maps of all steps, as the browser puts them together of their pieces."""
    raw = np.frombuffer(b"".join(zlib.decompress(base64.b64decode(text)) for text in maps), dtype=np.uint8)
    return np.cumsum(raw.reshape(-1, grid["layers"], grid["heads"], *grid["shape"]), axis=0, dtype=np.uint8)


def test_the_browser_gets_every_recorded_step_of_a_sentence(runs):
    recording = of_run(runs / "mine", "mine").recording
    lab = Lab(TRAINING, run="mine", probe="2", trained=str(recording.steps[3]), layer="1", head="2")
    data, place, piece = (lab._mounted(f".{name}") for name in ("player", "player_place", "player_piece"))
    assert (tuple(data["steps"]), place["at"], place["chosen"]) == (recording.steps, 3, {"layer": 1, "head": 2})
    assert data["pieces"] == [piece["id"]] and place["of"] == piece["id"]
    assert piece["written"] == [texts[1] for texts in recording.written]
    for grid, maps in zip(data["grids"], piece["maps"], strict=True):
        assert (unpacked(grid, [maps]) == recording.arrays[f"{grid['kind']}/1"]).all()
        assert (len(grid["queries"]), len(grid["keys"])) == tuple(grid["shape"])
    sure = np.exp(recording.log_probs(1))
    np.testing.assert_allclose(piece["probabilities"], sure, atol=1e-4)
    np.testing.assert_allclose(piece["losses"], -recording.log_probs(1).mean(1), atol=1e-3)
    assert lab.link["trained"] == str(recording.steps[3])


def test_of_blanks_the_loss_is_a_blank_s_and_no_probability_is_sent_as_0():
    lab = Lab(TRAINING, checkpoint="bert-mini")
    data, piece = lab._mounted(".player"), lab._mounted(".player_piece")
    recording = of_checkpoint(SHIPPED / "bert-mini", "bert-mini").recording
    (place,) = recording.sentences[0].asked
    np.testing.assert_allclose(piece["losses"], -recording.log_probs(0)[:, place], atol=1e-3)
    assert (data["sentence"]["tokens"], data["task"]["each"]) == ([recording.sentences[0].target_tokens[place]], "blank")
    assert np.exp(recording.log_probs(0)[0, place]) < 5e-5 and piece["probabilities"][0] == [player.LEAST]


def test_from_step_to_step_the_place_alone_is_sent_anew(runs):
    """All else of the slider stays the same to the byte, so that it travels as a hash."""

    def sent(trained):
        lab = Lab(TRAINING, run="mine", trained=str(trained))
        found = [c.proto for c in lab.at.get("bidi_component") if ".player" in c.proto.component_name]
        return {each.component_name.rpartition(".")[2]: each.SerializeToString(deterministic=True) for each in found}

    steps = of_run(runs / "mine", "mine").recording.steps
    one, other = sent(steps[2]), sent(steps[5])
    assert {name for name in one if one[name] != other[name]} == {"player_place"}


def test_of_a_run_that_goes_on_a_new_step_leaves_the_older_ones_the_piece_that_they_are(runs):
    recording = of_run(runs / "mine", "mine").recording
    stamp = histories.history("mine")[1][:2]
    for count in range(1, len(recording.steps) + 1):
        ends = player.parted(count, grows=True)
        assert [first for first, _ in ends] == [0, *(end for _, end in ends[:-1])] and ends[-1][1] == count
        assert count - ends[-1][0] < player.TOGETHER or ends[-1][0] == 0
    pieces = [player.piece("mine", stamp, 1, *ends) for ends in player.parted(13, grows=True)]
    assert len(pieces) == 2 and pieces[0] == player.piece("mine", stamp, 1, *player.parted(10, grows=True)[0])
    grid = player.payload("mine", stamp, 1, "light")["grids"][2]
    maps = [piece["maps"][2] for piece in pieces]
    assert (unpacked(grid, maps) == recording.arrays["cross/1"][:13]).all()


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
def test_first_step_at_the_threshold_follows_the_slider(runs, reach):
    """By hand, from the maps: the first step whose largest score reaches it."""
    recording = of_run(runs / "mine", "mine").recording
    lab = Lab(TRAINING, run="mine", reach=reach)
    for kind, metric, name in (("encoder", "previous", "Encoder: "), ("cross", "same", "Cross: ")):
        (told,) = [text for text in lab.sentences("lab-note") if text.startswith(name)]
        most = scores(recording, kind, metric).max(axis=(1, 2))
        there = [step for step, value in zip(recording.steps, most, strict=True) if value >= float(reach)]
        wanted = f"at recorded step {there[0]:,} (" if there else f"no head reaches {float(reach):.2f} at a recorded step;"
        assert wanted in told and "the mean over rows that have a" in told
    lab.click("show cross head")
    layer, head = map(int, re.search(r"layer (\d+), head (\d+)", told).groups())
    step = int(re.search(r"at recorded step ([\d,]+)", told)[1].replace(",", "")) if there else None
    view, faults = parse(lab.link)
    assert not faults and (view.kind, view.layer, view.head) == ("cross", layer, head)
    assert not there or recording.steps[-1 if view.trained is None else recording.steps.index(view.trained)] == step


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("torn", "is no readable recording of probes"),
        ("bare", "bare has no probes.npz, which holds the maps"),
        ("bare", "bare has no log.jsonl yet"),
        ("other", "are of another schema: its schedule is not drawn."),
        ("en-fr-peek", "en-fr-peek has no probes.npz"),
    ],
)
def test_what_a_run_lacks_is_told_and_the_rest_is_drawn(runs, run, told):
    lab = Lab(TRAINING, run=run)
    (sentence,) = [text for text in lab.sentences("lab-note") if told in text]
    assert sentence.endswith(".") and str(runs) not in sentence
    assert lab.charts and not lab.faults


def test_no_such_checkpoint_is_told_once():
    (fault,) = Lab(TRAINING, checkpoint="nonsense").faults
    assert fault.startswith("There is no checkpoint 'nonsense'")


def test_no_such_run_is_one_sentence_and_another_can_be_chosen():
    lab = Lab(TRAINING, run="nothing <b>")
    assert lab.faults == [
        "There is no run 'nothing <b>' here: choose another one, or name its folder by RUNS when the lab is started."
    ]
    lab.at.selectbox(key="training run").set_value("mine")
    lab.run()
    assert (lab.link["run"], lab.faults) == ("mine", [])


def test_a_run_is_called_one_unless_its_name_says_the_folder_that_it_lies_in(runs, tmp_path, monkeypatch):
    for path in (tmp_path / "here" / "again (2)", tmp_path / "there" / "again (2)"):
        shutil.copytree(runs / "bare", path)
    monkeypatch.setenv("RUNS", os.pathsep.join(str(tmp_path / name) for name in ("here", "there")))
    options = Lab(TRAINING, run="again (2)").at.selectbox(key="training run").options
    assert {"again (2) (run)", "again (2) (there)"} <= set(options)


def test_what_is_looked_at_of_a_training_goes_with_the_checkpoint():
    old = View(run="mine", trained=763, probe=2, size_layers=6)
    new = dataclasses.replace(old, **state._completed(old, {"checkpoint": "another"}))
    assert (new.run, new.trained, new.probe, new.size_layers) == ("", None, 1, 0)
    assert state._completed(old, {"step": 2}) == {"step": 2, "rival": View.rival}


def test_a_log_without_what_clipping_left_is_drawn_and_tells_no_share():
    log = tuple({"step": n, "loss": 1.0, "gradient_norm": 2.0 * n} | ({"clipped": 1} if n > 1 else {}) for n in (1, 2))
    found = curves.curve(History("x", log, (), None, None, None), "gradients")
    assert [line.values for line in found.lines] == [[2.0, 4.0]] and found.told.startswith("Before clipping: 2 at step 1, 4")
    assert "the steps" not in found.told


def test_a_number_just_below_the_threshold_is_not_written_as_the_threshold():
    values = np.full((2, 1, 1), 0.497)
    assert "the largest is 0.497, at" in curves._appeared("encoder", None, values, (0, 5), 0.5)
    assert "the largest is 0.50, at" in curves._appeared("encoder", None, values, (0, 5), 0.6)


def test_page_says_how_many_rows_each_mean_has(runs):
    """The first row of self-attention has no previous token, so no such mean has all rows."""
    history = of_run(runs / "mine", "mine")
    recording = history.recording
    for kind in ("encoder", "decoder"):
        rows = [recording.arrays[f"{kind}/{n}"].shape[3] for n in range(len(recording.sentences))]
        assert f"{kind} {sum(rows) - len(rows)} of {sum(rows)}" in curves_part.measured(history)
        assert count_rows(recording, kind, "entropy") == (sum(rows), sum(rows))
    assert "all rows" not in curves_part.measured(history)


def test_what_the_heads_are_measured_by_and_the_dashes_are_of_the_kinds_that_were_recorded(runs):
    history = of_run(runs / "mine", "mine")
    both = curves_part.measured(history)
    assert "In self-attention" in both and "In cross-attention" in both
    arrays = {name: each for name, each in history.recording.arrays.items() if not name.startswith("cross")}
    own = dataclasses.replace(history, recording=dataclasses.replace(history.recording, arrays=arrays))
    assert "In self-attention" in curves_part.measured(own) and "cross" not in curves_part.measured(own)
    chart = Lab(TRAINING, run="mine", grown="entropy").charts[3]
    dashes = {(t["name"].partition(",")[0], t["line"]["dash"]) for t in chart["data"] if ", head " in t["name"]}
    assert len(dashes) == len({dash for _, dash in dashes}) == len(history.recording.kinds)


def test_learning_rate_that_is_drawn_is_that_of_the_run(runs):
    """As it was logged, as its settings say, and of a run that goes on to its end."""
    history = of_run(runs / "mine", "mine")
    highest = max((learning_rate(history.config, step, history.total), -step) for step in range(1, history.total + 1))
    for each in (history, dataclasses.replace(history, steps=[])):  # as logged, every few steps, and as its settings say
        rate, step = rates.most(each)
        assert (rate, -step) == pytest.approx(highest)
    assert rates.planned(history) is None
    half = dataclasses.replace(history, going=True, steps=history.steps[: len(history.steps) // 2])
    steps, ahead = rates.planned(half)
    assert (steps[0], steps[-1]) == (half.steps[-1]["step"], history.total)
    logged = {entry["step"]: entry["learning_rate"] for entry in history.steps}
    both = [(rate, logged[step]) for step, rate in zip(steps.tolist(), ahead.tolist(), strict=True) if step in logged]
    assert len(both) > 3 and all(rate == pytest.approx(taken, abs=1e-9) for rate, taken in both)


def test_learning_rate_of_the_settings_is_that_of_the_trainer(runs):
    history = dataclasses.replace(of_run(runs / "mine", "mine"), steps=())
    (line,) = rates.lines(history)
    drawn = [learning_rate(history.config, int(step), rates.total_of(history)) for step in line.steps]
    assert line.values.tolist() == pytest.approx(drawn)
    assert rates.lines(dataclasses.replace(history, config=None)) == []


def test_links_with_retired_parameters_open_without_a_fault():
    """The schedule and the label smoothing had controls once."""
    retired = {"noam_d": "512", "noam_w": "4000", "noam_f": "2", "eps": "0.2"}
    assert parse(retired | {"probe": "2"}) == (View(probe=2), ())
    lab = Lab(TRAINING, run="mine", **retired)
    assert not lab.faults and not set(retired) & set(lab.link)
    assert not Lab(TRAINING, run="mine", lecture="on", large="6").faults  # a picture that is no longer there


@pytest.mark.parametrize("last", [1, 3, 9, 10, 57, 200, 3030, 9000, 10_000, 24_110, 100_000])
def test_a_chart_names_its_last_step_and_no_two_steps_meet(last):
    linear, log = (curves_figures._ticks(last, kind) for kind in (False, True))
    assert linear[-1] == log[-1] == last and len(linear) <= 6
    assert all(b - a >= 0.1 * last for a, b in itertools.pairwise([0, *linear]))
    assert all(b >= 2.5 * a for a, b in itertools.pairwise(log))


def test_a_recording_of_another_run_is_told_apart(tmp_path, monkeypatch):
    """A checkpoint that was recorded over several runs, of which the validations of the last are all that is kept."""
    shutil.copytree(SHIPPED / "en-fr-learned", tmp_path / "unlogged", ignore=shutil.ignore_patterns("log.jsonl"))
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    lab = Lab(TRAINING, checkpoint="unlogged")
    assert of_checkpoint(tmp_path / "unlogged", "unlogged").apart
    assert [text for text in lab.sentences("lab-note") if "the slider’s step is not marked in them" in text]
    assert not any("shapes" in chart["layout"] for chart in lab.charts[:1])


def test_a_lecture_has_no_box_for_the_visitor_s_sentence():
    boxes = {}
    for checkpoint, large in (("bert-mini", "1"), ("en-fr", "3"), ("en-fr", "5")):
        lab = Lab(TRAINING, checkpoint=checkpoint, lecture="on", large=large)
        boxes[checkpoint, large] = len(lab.at.text_input)
        if large == "1":
            assert lab.at.selectbox(key="training sentence").options[0] == "He opened the ___ and went into the room."
    assert boxes == {("bert-mini", "1"): 0, ("en-fr", "3"): 0, ("en-fr", "5"): 0}


def test_a_run_of_the_checkpoint_s_name_is_offered_where_it_tells_something_else(runs, tmp_path, monkeypatch):
    own, home = tmp_path / "mine", tmp_path / "runs"
    shutil.copytree(runs / "mine" / "checkpoint", own)
    shutil.copytree(runs / "mine", home / "mine")
    known = {"mine": (own, False), "mine (runs)": (home / "mine", True)}
    monkeypatch.setattr(histories, "places", lambda: known)
    same = histories.differs("mine", "mine (runs)")
    log = (own / "log.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    assert same == ""
    (own / "log.jsonl").write_text("".join(line for line in log if "dev_loss" in line), encoding="utf-8")
    assert histories.differs("mine", "mine (runs)") == "and the steps of its log are not those that the checkpoint kept"


def test_scores_are_said_to_be_of_the_dev_text_and_what_its_blanks_are():
    found = curves.curve(of_checkpoint(SHIPPED / "bert-mini", "bert-mini"), "scores")
    assert found.title == "Right on the dev text"
    assert "on the dev text and not on that of a test. Its blanks are those of a training: 80% of them" in found.told
    other = curves.curve(of_checkpoint(SHIPPED / "en-fr", "en-fr"), "scores")
    assert other.told.endswith("on the first 500 sentences of the dev text and not on that of a test.")
    assert "first 500" not in found.told


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ((1.0, 1.0), "cut 100% of the steps: every step’s gradient was longer than 1, so that only its direction counted; "),
        ((0.5, 0.0), "cut 25% of the steps: there the gradient was longer than 1, so that only its direction counted; "),
        ((1.0, 0.998), "cut over 99% of the steps: there the gradient was longer"),
        ((0.0, 0.0), "cut 0% of the steps; over all steps"),
    ],
)
def test_what_clipping_means_follows_how_often_it_cut(shares, told):
    norms = {"loss": 1.0, "gradient_norm": 2.0, "gradient_norm_clipped": 1.0}
    log = tuple({"step": n, "clipped": share} | norms for n, share in enumerate(shares))
    found = curves.curve(History("x", log, (), None, TrainConfig(clip=1.0), None), "gradients")
    assert f"Clipping at 1 {told}" in found.told


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
    for large in range(1, 6):
        lab = Lab(TRAINING, run="mine", lecture="on", large=str(large))
        assert not lab.faults and (lab.charts or lab._mounted("player"))


def test_the_share_of_steps_that_were_cut_is_that_of_the_log(runs):
    history = of_run(runs / "mine", "mine")
    share = np.mean([entry["clipped"] for entry in history.steps])
    assert curves.curve(history, "gradients").told.startswith(f"Clipping at 0.5 cut {curves._share(share)} of the steps")
