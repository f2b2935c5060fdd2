"""The line that says what this is: true of the checkpoint that is loaded, and of any before one is."""

from __future__ import annotations

import dataclasses

import pytest
import tiny
from viz_helpers import Lab

from viz import cache
from viz.shared.tour import STOPS
from viz.translate import intro


def test_the_line_tells_the_size_and_the_languages_of_what_is_loaded():
    loaded = cache.checkpoint("en-fr", "auto")
    (line,) = Lab(text="I love you.").sentences("lab-intro")
    assert line == intro.what_it_is(loaded)
    count = sum(p.numel() for p in loaded.model.parameters())
    assert f"{count / 1e6:.1f}-million-parameter translator from English to French" in line
    other = dataclasses.replace(loaded, languages=("Dutch", "<b>"))
    assert "from Dutch to <b>" in intro.what_it_is(other)


def test_before_anything_is_loaded_and_where_nothing_can_be_it_names_no_number():
    (line,) = Lab(checkpoint="nothere").sentences("lab-intro")
    assert line == intro.what_it_is(None) and not any(sign.isdigit() for sign in line)


@pytest.mark.parametrize(("family", "lacks"), [("encoder-only", "decoder_layers"), ("decoder-only", "encoder_layers")])
def test_what_does_not_translate_is_no_translator(tokenizer, family, lacks):
    line = intro.what_it_is(tiny.checkpoint(tokenizer, family=family, **{lacks: 0}))
    assert "translat" not in line and "-parameter Transformer" in line


def test_a_click_leads_to_the_lessons():
    lab = Lab(text="I love you.").click("to the lessons")
    assert any("<h1>Lessons</h1>" in text for text in lab.html)


def test_the_tour_has_five_stops_and_can_be_begun_on_every_page():
    assert len(STOPS) == 5 and all(stop.text and stop.at for stop in STOPS)
    assert Lab(text="I love you.")._mounted(".tour")["here"] is True
    lab = Lab("viz/lessons/page.py", text="I love you.")
    assert lab._mounted(".tour")["here"] is False and lab._mounted(".tour_invitation") is None
