"""The page Training: what it says is what the run's own files say."""

import base64
import dataclasses
import re
import zlib

import cachetools
import numpy as np
import pytest

from model.checkpoint import load
from model.io.folders import SHIPPED
from model.io.numbers import three_digits
from model.readings.heads.corpus_roles import corpus_roles
from model.text.route_heads import CARRIES, ROLE
from model.workshop.training import recording as head_metrics
from model.workshop.training.history import load_checkpoint_history, load_run_history
from model.workshop.training.loss_and_validation import learning_rate
from model.workshop.training.recording import head_scores
from tests.support.viz_helpers import TRAINING, Lab, numbers
from viz import cache
from viz.state import session
from viz.state.links import parse
from viz.state.view import View
from viz.training import histories, player, rates


def unpacked(grid: dict, maps: list[str]) -> np.ndarray:
    """The maps of all steps, as the browser puts them together of their pieces."""
    raw = np.frombuffer(b"".join(zlib.decompress(base64.b64decode(text)) for text in maps), dtype=np.uint8)
    return np.cumsum(raw.reshape(-1, grid["layers"], grid["heads"], *grid["shape"]), axis=0, dtype=np.uint8)


def charts(lab: Lab) -> list[dict]:
    """The figures of all charts of the page."""
    lab.look().look()
    mounted = [c.proto for c in lab.app_test.get("bidi_component") if c.proto.component_name.endswith(".charts")]
    return [chart["figure"] for proto in mounted for chart in lab.payload(proto)["charts"]]


def test_the_browser_gets_every_recorded_step_of_a_sentence(runs):
    recording = load_run_history(runs / "mine", "mine").recording
    lab = Lab(TRAINING, run="mine", probe="2", trained=str(recording.steps[3]), layer="1", head="2")
    data = lab._mounted(".player")
    piece = data["earlier"]
    assert (tuple(data["steps"]), data["at"], data["chosen"]) == (recording.steps, 3, {"layer": 1, "head": 2})
    assert data["recent"]["probabilities"] == []
    assert piece["written"] == [texts[1] for texts in recording.outputs]
    for grid, maps in zip(data["grids"], piece["maps"], strict=True):
        assert (unpacked(grid, [maps]) == recording.arrays[f"{grid['kind']}/1"]).all()
        assert (len(grid["queries"]), len(grid["keys"])) == tuple(grid["shape"])
    sure = np.exp(recording.log_probs(1))
    np.testing.assert_allclose(piece["probabilities"], sure, atol=1e-4)
    np.testing.assert_allclose(piece["losses"], -recording.log_probs(1).mean(1), atol=1e-3)
    assert lab.link["trained"] == str(recording.steps[3])
    loss = three_digits(-recording.log_probs(1)[-1].mean())
    assert data["answer"].endswith(f"{loss} nats at training step {recording.steps[-1]:,}.")


def test_blanks_have_their_own_loss():
    lab = Lab(TRAINING, checkpoint="bert-mini")
    data = lab._mounted(".player")
    piece = data["earlier"]
    recording = load_checkpoint_history(SHIPPED / "bert-mini", "bert-mini").recording
    (place,) = recording.sentences[0].scored_positions
    np.testing.assert_allclose(piece["losses"], -recording.log_probs(0)[:, place], atol=1e-3)
    assert (data["sentence"]["tokens"], data["task"]["each"]) == ([recording.sentences[0].target_tokens[place]], "blank")
    assert np.exp(recording.log_probs(0)[0, place]) < 5e-5 and piece["probabilities"][0] == [player.LEAST]


def test_stepping_sends_only_the_place(runs):
    steps = load_run_history(runs / "mine", "mine").recording.steps
    lab = Lab(TRAINING, run="mine", trained=str(steps[2]))
    (proto,) = (c.proto for c in lab.app_test.get("bidi_component") if c.proto.component_name.endswith(".player"))
    assert lab._mounted(".player")["at"] == 2
    lab.report(proto, "step", 5)
    assert (lab._mounted(".player")["at"], lab.link["trained"]) == (5, str(steps[5]))
    sent = [c.proto for c in lab.app_test.get("bidi_component") if c.proto.component_name.endswith(".stored_part")]
    assert sent == []


def test_curves_equal_log_and_maps(runs):
    history = load_run_history(runs / "mine", "mine")
    loss, _, gradients, contrasts, heads, rate = charts(Lab(TRAINING, run="mine", grown="entropy"))
    assert numbers(loss["data"][0]["y"]).tolist() == [entry["loss"] for entry in history.steps]
    assert numbers(gradients["data"][1]["y"]).tolist() == [entry["gradient_norm_clipped"] for entry in history.steps]
    shares = [[100 * entry[f"contrast_{split}"] for entry in history.validations] for split in "ab"]
    assert [numbers(line["y"]).tolist() for line in contrasts["data"]] == shares
    found = head_scores(history.recording, "encoder", "entropy")
    assert numbers(heads["data"][1]["y"]).tolist() == pytest.approx(found[:, 0, 1].tolist())
    for chart in (loss, gradients, heads, rate):
        assert sum(shape.get("name") == "training" for shape in chart["layout"]["shapes"]) == 1


def test_a_head_of_a_checkpoint_has_its_role_over_many_sentences(runs):
    loaded = load("en-fr")
    statistics, routes = loaded.head_statistics, loaded.route_heads
    told = [text for text in Lab(TRAINING).look().look().sentences("lab-note") if "recorded training step" in text]
    assert len(told) == 3
    for text in told:
        kind, layer, head = re.search(r"(encoder|decoder|cross) (\d+)\.(\d+)", text).groups()
        roles = corpus_roles(statistics.head(kind, int(layer) - 1, int(head) - 1), routes)
        assert [role.sentence in text for role in roles] == [True] * len(roles)
        assert ("no named role over 2,004 sentences" in text) == (not roles)
    for other in ("mine", "en-fr-learned"):  # a run, and the training of another checkpoint
        notes = Lab(TRAINING, run=other).look().look().sentences("lab-note")
        assert any("recorded training step" in text for text in notes)
        assert not any("After training" in text for text in notes)


def test_heads_of_the_route_have_their_shares_before_and_after(runs):
    routes = load("en-fr").route_heads
    (told,) = [text for text in Lab(TRAINING).look().look().sentences("lab-note") if ROLE in text]
    named = [head for head in routes.heads if head.share >= CARRIES]
    assert routes.step > routes.earlier[0].step and len(re.findall(r"\d+\.\d: ", told)) == len(named)
    for head in named:
        before = routes.earlier[0].find(head.site, head.layer, head.head)
        shares = f"{before.share if before else 0:.0%} \\(\\d+ to \\d+\\), then {head.share:.0%} "
        assert re.search(f"{head.name}: {shares}", told), (head.name, told)
    for other in ("mine", "en-fr-learned"):
        assert not any(ROLE in text for text in Lab(TRAINING, run=other).look().look().sentences("lab-note"))


@pytest.mark.parametrize("reach", ["0", "0.3", "1"])
def test_first_step_at_the_threshold_follows_the_slider(runs, reach):
    recording = load_run_history(runs / "mine", "mine").recording
    lab = Lab(TRAINING, run="mine", reach=reach).look().look()
    for kind, metric, name in (("encoder", "previous", "encoder"), ("cross", "same", "cross")):
        (told,) = [text for text in lab.sentences("lab-note") if text.lower().startswith(name)]
        most = head_scores(recording, kind, metric).max(axis=(1, 2))
        there = [step for step, value in zip(recording.steps, most, strict=True) if value >= float(reach)]
        none = f"no head reaches {float(reach):.2f} at a recorded training step;"
        wanted = f"at recorded training step {there[0]:,} (" if there else none
        assert wanted in told and "the mean over rows that have a" in told
    lab.click("show cross head")
    layer, head = map(int, re.search(r"cross (\d+)\.(\d+)", told).groups())
    step = int(re.search(r"at recorded training step ([\d,]+)", told)[1].replace(",", "")) if there else None
    view, faults = parse(lab.link)
    assert not faults and (view.kind, view.layer + 1, view.head + 1) == ("cross", layer, head)
    assert not there or recording.steps[-1 if view.trained is None else recording.steps.index(view.trained)] == step


def test_a_missing_run_is_one_fault():
    lab = Lab(TRAINING, run="nothing <b>")
    (fault,) = lab.faults
    assert (
        fault
        == "There is no run 'nothing <b>' here: choose another one, or name its folder by RUNS when the lab is started."
    )
    lab.app_test.selectbox(key="training run").set_value("mine")
    lab.run()
    assert (lab.link["run"], lab.faults) == ("mine", [])


def test_a_new_checkpoint_resets_the_training():
    old = View(run="mine", trained=763, probe=1, size_layers=6)
    new = dataclasses.replace(old, **session._with_dependents(old, {"checkpoint": "another"}))
    assert (new.run, new.trained, new.probe, new.size_layers) == ("", None, 0, 0)
    assert session._with_dependents(old, {"step": 2}) == {"step": 2, "rival": View.rival}


def test_the_schedule_of_a_run_is_that_of_the_trainer(runs):
    history = load_run_history(runs / "mine", "mine")
    highest = max((learning_rate(history.config, step, history.total), -step) for step in range(1, history.total + 1))
    for each in (history, dataclasses.replace(history, steps=[])):  # as logged, every few steps, and as its settings say
        rate, step = rates.most(each)
        assert (rate, -step) == pytest.approx(highest)
    assert rates.planned(history) is None
    half = dataclasses.replace(history, is_running=True, steps=history.steps[: len(history.steps) // 2])
    steps, ahead = rates.planned(half)
    assert (steps[0], steps[-1]) == (half.steps[-1]["step"], history.total)
    logged = {entry["step"]: entry["learning_rate"] for entry in history.steps}
    both = [(rate, logged[step]) for step, rate in zip(steps.tolist(), ahead.tolist(), strict=True) if step in logged]
    assert len(both) > 3 and all(rate == pytest.approx(taken, abs=1e-9) for rate, taken in both)


def test_every_large_picture_stands_in_a_lecture():
    for large in range(1, 6):
        lab = Lab(TRAINING, run="mine", lecture="on", large=str(large))
        assert not lab.faults and lab._mounted(".player")["large"] and (large < 3) == (lab._mounted(".charts") is None)


def test_an_unchanged_rerun_reads_no_file_of_a_training(monkeypatch):
    monkeypatch.setattr(cache, "_recent", cachetools.TTLCache(1000, 600))
    lab = Lab(TRAINING).look().look()
    for name in ("load_checkpoint_history", "load_run_history"):
        monkeypatch.setattr(histories, name, lambda *_: pytest.fail("a history is read"))
    for name in ("_file_stamp", "_runs_in"):
        monkeypatch.setattr(histories.run_listing, name, lambda *_: pytest.fail("a folder is read"))
    monkeypatch.setattr(head_metrics, "applicable_metrics", lambda *_: pytest.fail("metrics are selected"))
    lab.run()
