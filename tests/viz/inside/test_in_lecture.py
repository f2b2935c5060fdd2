"""Inside in lecture mode: each part over the whole page, for every kind of model; keys turn what it shows."""

import dataclasses

import pytest
import torch

from model import checkpoint as checkpoints
from tests.support import tiny
from tests.support.viz_helpers import INSIDE, POSITIONS, Lab
from viz.inside import lens_part
from viz.state.page_fields import PARTS

SENTENCE = "The dog sleeps under the table."
COMPONENTS = ("stages", "writers", "tokens")


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_drawn_large(part):
    page = Lab(INSIDE, text=SENTENCE, lecture="on", part=part, kind="cross")
    assert not page.faults and not page.warnings
    assert "part" not in page.keys and [box.key for box in page.app_test.text_input] == ["source"]
    if part in COMPONENTS:
        assert getattr(page, part)["large"] is True
    assert Lab(INSIDE, text=SENTENCE, part="stages").stages["large"] is False


def test_the_button_shows_the_next_picture():
    page = Lab(INSIDE, text=SENTENCE, lecture="on", part="scale", large="3")
    assert page.click("next_picture").link["large"] == "4" and not page.charts
    page.click("next_picture")
    assert page.link["part"] == "length" and "large" not in page.link and len(page.charts) == 1
    page = Lab(INSIDE, text=SENTENCE, lecture="on", kind="cross")
    assert "kind" not in page.pick("kind", "encoder").link  # the default, which no link needs to name


@pytest.mark.parametrize(
    ("steps", "step", "seen"), [(3, 2, (0, 3)), (10, 9, (0, 10)), (16, 0, (0, 10)), (16, 12, (6, 16)), (31, 30, (21, 31))]
)
def test_the_lens_window_contains_the_step(steps, step, seen):
    first, end = lens_part.window(steps, step)
    assert (first, end) == seen and first <= step < end


def test_positions_turn_pictures_and_schemes():
    page = Lab(POSITIONS, text=SENTENCE, lecture="on", large="9")
    assert "large" not in page.click("hall_picture").link
    assert page.click("hall_scheme").link["scheme"] == "learned"
    page = Lab(POSITIONS, text="", lecture="on", large="8")
    assert page.faults and len(page.charts) == 1  # the last that needs none


@pytest.mark.parametrize(("family", "lacking"), [("encoder-only", "decoder_layers"), ("decoder-only", "encoder_layers")])
def test_a_model_of_one_stack_has_all_of_it(tokenizer, tmp_path, monkeypatch, family, lacking):
    made = tiny.checkpoint(tokenizer, dtype=torch.float32, family=family, **{lacking: 0})
    checkpoints.save(dataclasses.replace(made, languages=("Danish", "Danish"), token_counts={}), tmp_path / family)
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    for part in PARTS:
        assert not Lab(INSIDE, checkpoint=family, text="The red fox sees a lamp.", lecture="on", part=part).faults, part
    for large in (1, 7, 8):
        assert not Lab(POSITIONS, checkpoint=family, text="The red fox sees a lamp.", lecture="on", large=str(large)).faults
