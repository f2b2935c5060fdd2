"""Train one: predict first, train, see the result, open it on every page."""

from __future__ import annotations

import dataclasses
import json
import re
import zipfile
from io import BytesIO

import pytest

from model.io.folders import FILES
from model.workshop.small.small_process import describe
from model.workshop.small.small_tasks import examples
from model.workshop.small.small_training import SmallConfig, SmallTraining
from tests.support.viz_helpers import COMPARE, HEADS, INSIDE, POSITIONS, TRAINING, TRANSLATE, WHAT_IF, WHY, Lab
from viz import theme
from viz.state import trainings, uploads, visits
from viz.state.trainings import Training
from viz.training import train_one, train_one_result

VISIT = "test session id"  # of Streamlit's tests without a browser


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A training of some steps, with its folder."""
    config = {"task": "copy", "layers": 1, "heads": 2, "d_model": 16, "positions": True, "causal": True, "seed": 1}
    training = SmallTraining(SmallConfig(**config))
    (report,) = training.run(max_steps=2)
    folder = tmp_path_factory.mktemp("small") / "copy"
    training.save(folder)
    message = describe(training, report)
    made = Training(VISIT, uploads.trained_name("Copy"), "Copy", config, (True, 70), folder, "saved", held_out=128)
    made.examples = json.loads(json.dumps([vars(each) for each in training.recorder.sentences]))
    made.written, made.maps = list(message["written"]), message["maps"]
    made.reports = [{name: message[name] for name in ("step", "seconds", "loss", "accuracy")}]
    return made


@pytest.fixture
def trained(small, monkeypatch):
    """The training belongs to the visit of the test."""
    monkeypatch.setattr(trainings, "_trainings", [small])
    monkeypatch.setattr(trainings, "_watch", lambda: None)
    monkeypatch.setattr(visits, "session_id", lambda: VISIT)
    monkeypatch.setattr(uploads, "_watch", lambda: None)
    uploads.add_trained(VISIT, small.name, small.folder)
    yield small
    uploads._uploads.clear()


def test_the_prediction_comes_first(monkeypatch):
    begun = []
    monkeypatch.setattr(trainings, "start", lambda *arguments: begun.append(arguments))
    lab = Lab(TRAINING, training="train_one", train_task="sort", train_positions="off", train_h="4", train_scaling="off")
    assert lab.app_test.button(key="train").disabled
    assert "Will it learn to sort digits?" in lab.app_test.button_group(key="train guess 0").label
    lab.app_test.button_group(key="train guess 0").set_value(False)
    lab.run()
    assert lab.app_test.button(key="train").disabled
    lab.app_test.button_group(key="train sure 0").set_value(99)
    lab.run().click("train")
    ((config, title, guess),) = begun
    assert config["task"] == "sort" and not config["positions"] and config["causal"] and config["heads"] == 4
    assert (title, guess) == ("Sort digits, 4 heads, no positions, no scaling", (False, 99))
    assert lab.data.training.guess is None  # the next one is predicted anew


@pytest.mark.parametrize("typed", ["a = b", "<script>alert(1)</script>", "", "x\ty\n" * 50])
def test_wrong_own_pairs_are_one_sentence_and_stay(typed, monkeypatch):
    lab = Lab(TRAINING, training="train_one", train_task="pairs")
    lab.app_test.text_area(key="own pairs").set_value(typed)
    lab.app_test.button_group(key="train guess 0").set_value(True)
    lab.app_test.button_group(key="train sure 0").set_value(50)
    lab.run().click("train")
    (fault,) = lab.faults
    assert "expected" in fault and lab.data.training.pairs == typed
    assert lab.go(TRANSLATE).go(TRAINING).app_test.text_area(key="own pairs").value == typed


def test_the_result_carries_its_numbers(trained):
    lab = Lab(TRAINING, training="train_one")
    share, step = trained.accuracy, trained.reports[-1]["step"]
    (said,) = lab.sentences("lab-training-now")
    assert f"{share:.0%} of 128 new answers are exactly right" in said and f"{step:,.0f} steps" in said
    assert "You predicted “yes”, 70% sure, and were wrong: fewer than 90% are right." in lab.text
    values = train_one.payload(trained, "light")
    assert values["examples"][0]["grid"]["scale"] == list(theme.scale("cross", "light"))
    for example, levels in zip(values["examples"], trained.maps, strict=True):
        rows, columns = example["grid"]["shape"]
        assert len(levels) == 2 * rows * columns
        assert len(example["grid"]["queries"]) == rows and len(example["grid"]["keys"]) == columns


def test_it_opens_on_every_page(trained):
    source = trained.examples[0]["source_text"]
    for page in (TRANSLATE, HEADS, INSIDE, POSITIONS, WHAT_IF, WHY, COMPARE):
        assert Lab(page, checkpoint=trained.name, text=source).faults == []
    lab = Lab(TRAINING, checkpoint=trained.name, text=source)
    assert lab.faults == [] and "training-player" in str(lab.keys).replace(".", "-")


LANGUAGE = re.compile(r"translat|sentence|\bwords?\b|French|English", re.IGNORECASE)
OF_SYMBOLS = {
    "translate": (TRANSLATE, {"show": "mask"}),
    "heads": (HEADS, {}),
    "positions": (POSITIONS, {}),
    "why": (WHY, {}),
    "compare": (COMPARE, {"differs": "sentence"}),
    "training": (TRAINING, {}),
}


@pytest.mark.parametrize("name", OF_SYMBOLS)
def test_texts_of_symbols_are_called_input_and_output(trained, name):
    page, link = OF_SYMBOLS[name]
    lab = Lab(page, checkpoint=trained.name, **link)
    boxes = [*lab.app_test.text_input, *lab.app_test.button, *lab.app_test.selectbox, *lab.app_test.toggle]
    texts = [*lab.text.split("\n"), *(text for box in boxes for text in (box.label, box.help))]
    assert [text for text in texts if LANGUAGE.search(text or "")] == []


def test_own_pairs_say_what_was_held_out(small, monkeypatch):
    monkeypatch.setattr(small, "config", small.config | {"pairs": [("a", "b")] * 30})
    monkeypatch.setattr(small, "held_out", 3)
    monkeypatch.setattr(small, "reports", [{"step": 9, "seconds": 2.0, "loss": 0.02, "accuracy": 1 / 3}])
    assert train_one.result(small).startswith("1 of the 3 pairs that it does not train on are exactly right after 2 s")
    assert "Loss on the other 27: 0.020" in train_one.result(small) and "by heart" in train_one.ending(small)
    monkeypatch.setattr(small, "was_stopped", True)
    assert train_one.ending(small) == "You stopped it." and "stopped before its end" in train_one.verdict(small)
    monkeypatch.setattr(small, "has_learned", True)
    assert "ended by itself" in train_one.ending(small)


def test_only_the_same_task_is_compared(trained, monkeypatch):
    other = dataclasses.replace(trained, name="Sort (trained 0123456789ab)", config=trained.config | {"task": "sort"})
    monkeypatch.setattr(trainings, "_trainings", [other, trained])
    assert "compare small" not in {button.key for button in Lab(TRAINING, training="train_one").app_test.button}
    other.config = trained.config | {"positions": False}
    assert "compare small" in {button.key for button in Lab(TRAINING, training="train_one").app_test.button}


def test_its_buttons(trained, monkeypatch):
    lab = Lab(TRAINING, training="train_one").click("open small")
    assert lab.view.checkpoint == trained.name and lab.view.source == trained.examples[0]["source_text"]
    lab = Lab(TRAINING, training="train_one").click("film of small")
    assert lab.view.of_training == "history" and lab.faults == []
    with zipfile.ZipFile(BytesIO(train_one_result._zip(trained))) as archive:
        assert set(archive.namelist()) <= set(FILES) and "model.safetensors" in archive.namelist()


def test_a_new_session_waits_for_the_key_of_its_tab(trained):
    name = "Copy (trained 0123456789ab)"
    lab = Lab(TRANSLATE, checkpoint=name)
    assert lab.faults == [] and "Looking for this checkpoint" in lab.text
    (frame,) = [
        each.proto for each in lab.app_test.get("bidi_component") if each.proto.component_name.endswith(".frame_component")
    ]
    lab.report(frame, "visit", {"key": ""})
    (fault,) = lab.faults
    assert "was trained in another visit" in fault and lab.view.checkpoint == name


def test_a_deletion_can_be_undone(trained):
    lab = Lab(TRAINING, training="train_one", checkpoint=trained.name).click("delete small")
    assert lab.view.checkpoint != trained.name and "“Copy” is deleted." in lab.text
    assert trained.name not in uploads.session_uploads() and "open small" not in {each.key for each in lab.app_test.button}
    lab.click("undo delete")
    assert trained.name in uploads.session_uploads() and "“Copy” is deleted." not in lab.text
    assert lab.click("open small").view.checkpoint == trained.name


def test_a_server_may_train_nothing(monkeypatch):
    monkeypatch.setenv("TRAINING", "0")
    lab = Lab(TRAINING, training="train_one")
    assert "train-small" in lab.text and "train" not in {button.key for button in lab.app_test.button}


def test_the_progress_says_the_place_in_the_queue(trained, monkeypatch):
    monkeypatch.setattr(trained, "state", "waiting")
    monkeypatch.setattr(trained, "ahead", 2)
    (said,) = Lab(TRAINING, training="train_one").sentences("lab-training-now")
    assert said == "It waits: 2 before you, at most 4 minutes."


def test_other_pages_show_a_training_in_progress(trained, monkeypatch):
    key = "running training"
    assert key not in {button.key for button in Lab(HEADS).app_test.button}
    monkeypatch.setattr(trained, "state", "running")
    assert key not in {button.key for button in Lab(TRAINING, training="train_one").app_test.button}
    lab = Lab(HEADS)
    assert lab.app_test.button(key=key).label.startswith(f"Training: Copy, step {trained.reports[-1]['step']}, ")
    lab.click(key)
    assert lab.view.of_training == "train_one" and "stop training" in {button.key for button in lab.app_test.button}


def test_python_trains_the_same(trained):
    lab = Lab(TRAINING, training="train_one", train_task="sort", train_positions="off")
    values = train_one.config_of(lab.view)
    assert SmallConfig(**values).model.positions == "none"


def test_a_small_checkpoint_brings_its_own_examples(trained):
    lab = Lab(TRANSLATE, checkpoint=trained.name)
    sources = [source for source, _ in examples("copy")]
    assert lab.box == sources[0]
    assert all(source in str(lab.groups) for source in sources) and "exist only in" not in str(lab.groups)
