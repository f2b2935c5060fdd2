import itertools

import numpy as np
import pytest

from model.inference import cautions
from model.inference.request import MAX_PAD
from tests.support.component_helpers import cells_of
from tests.support.viz_helpers import Lab, numbers
from viz.examples import examples, lesson
from viz.state.view import FIRST_SENTENCE

SENTENCE = "Seven owls sat on the roof and sang."


def source_letters(lab: Lab) -> str:
    """Returns the source tokens as one text without spaces."""
    return "".join(token["t"] for token in lab.timeline["source"]).replace("·", "").removesuffix("</s>")


def test_the_maps_are_those_of_the_sentence():
    lab = Lab(text=SENTENCE)
    source = [token["t"] for token in lab.timeline["source"]]
    outputs = [token["t"] for token in lab.timeline["target"]]
    inputs = [lab.timeline["start"], *outputs[:-1]]
    maps = _, decoder, cross = [Lab(text=SENTENCE, map=kind).maps[0] for kind in ("encoder", "decoder", "cross")]
    m, n = len(outputs), len(source)
    assert [cells_of(each).shape for each in maps] == [(n, n), (m, m), (m, n)]
    for chart in maps:
        np.testing.assert_allclose(np.nansum(cells_of(chart), axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(np.isnan(cells_of(decoder)), ~np.tril(np.ones((m, m), bool)))
    np.testing.assert_allclose(cells_of(cross), np.array(lab.timeline["cross"]), rtol=0, atol=1e-5)
    assert [each["keys"] for each in maps] == [source, inputs, source] and cross["queries"][0].startswith("<s> → ")


def test_typing_a_sentence_changes_all_that_is_seen_of_it():
    lab = Lab(step="3", head="3")
    before, maps = lab.timeline, lab.maps
    lab.type(SENTENCE)
    assert lab.timeline["trace"] != before["trace"]
    assert source_letters(lab) == SENTENCE.replace(" ", "")
    assert lab.timeline["step"] == np.argmin(lab.timeline["probability"][:-1]) + 1  # the least sure
    assert cells_of(lab.maps[0]).shape != cells_of(maps[0]).shape
    assert lab.link == {"text": SENTENCE, "head": "3"}
    lab.type(FIRST_SENTENCE)
    assert (lab.timeline, lab.link) == (before | {"step": 11}, {"head": "3"})


@pytest.mark.parametrize("sentence", [each.sentence for each in examples()][::4])
def test_an_example_fills_the_box_and_is_translated(sentence):
    lab = Lab(text="Seven.").click(f"example {sentence}")
    assert lab.box == sentence
    assert lab.translation.strip()
    assert source_letters(lab) == sentence.replace(" ", "")
    assert not lab.warnings
    assert lab.timeline["finding"][0].lower() == f"{lesson(sentence)}.".lower()


def test_the_causal_mask_off_shows_the_change():
    lab = Lab(show="mask")
    before = lab.timeline
    lab.switch("causal", False)
    assert lab.link == {"causal": "off", "show": "mask"}
    assert lab.timeline["segments"] == before["segments"]  # the target is given
    np.testing.assert_allclose(lab.timeline["before"], before["probability"], atol=1e-4)
    assert lab.timeline["probability"] != before["probability"]
    assert np.array(lab.timeline["allowed"]).all()
    maps, (change,) = lab.maps, lab.charts
    assert not np.isnan(cells_of(maps[1])).any()
    assert ["former" in each for each in maps] == [False, True, False]  # only the decoder's mask has changed
    hollow, filled = (numbers(t["y"]) for t in change["data"] if t["mode"] == "markers")
    np.testing.assert_allclose(hollow, lab.timeline["before"], atol=1e-5)
    np.testing.assert_allclose(filled, lab.timeline["probability"], atol=1e-5)
    lab.switch("causal", True)
    assert (lab.timeline, lab.link, len(lab.maps)) == (before, {"show": "mask"}, 3)


def test_decoding_again_shows_both_translations():
    lab = Lab(causal="off", show="mask")
    given = lab.translation
    assert lab.sentences("lab-both") == []
    assert lab.pick("mode", "again").link == {"causal": "off", "mode": "again", "show": "mask"}
    (both,) = lab.sentences("lab-both")
    assert " ".join(both.split()) == " ".join(f"Baseline{given}Edited{lab.translation}".split())
    assert (len(lab.maps), len(lab.charts)) == (3, 1)
    attention = Lab(causal="off", mode="again", map="decoder")
    assert any(cautions.STEPWISE_NOTE in text for text in attention.html)
    shown = cells_of(attention.maps[0])
    np.testing.assert_array_equal(np.isnan(shown), np.triu(np.ones_like(shown), 1) == 1)  # each row of its own step
    np.testing.assert_allclose(np.nan_to_num(shown), lab.timeline["decoder"], atol=1e-5)


def test_the_mask_can_be_seen_instead_of_the_attention():
    lab = Lab(text=SENTENCE, pad="2").pick("show", "mask")
    assert lab.link == {"text": SENTENCE, "show": "mask", "pad": "2"}
    assert [set(cells_of(chart)[~np.isnan(cells_of(chart))]) for chart in lab.maps] == [{1}, {1}, {1}]
    encoder, decoder, cross = (np.isnan(cells_of(chart)) for chart in lab.maps)
    real = [not token["pad"] for token in lab.timeline["source"]]
    np.testing.assert_array_equal(~encoder, np.tile(real, (len(real), 1)))
    np.testing.assert_array_equal(~cross, np.tile(real, (len(decoder), 1)))
    np.testing.assert_array_equal(~decoder, np.tril(np.ones_like(decoder)))


@pytest.mark.parametrize("count", [1, MAX_PAD])
def test_padding_is_added_and_changes_no_word(count):
    lab = Lab(show="mask")
    before = lab.timeline
    lab.app_test.number_input(key="pad").set_value(count)
    assert lab.run().link == {"pad": str(count), "show": "mask"}
    assert [token["t"] for token in lab.timeline["source"]][-count - 1 :] == ["</s>", *["<pad>"] * count]
    assert lab.timeline["segments"] == before["segments"]
    np.testing.assert_allclose(lab.timeline["probability"], before["probability"], atol=1e-4)
    np.testing.assert_array_equal(np.array(lab.timeline["cross"])[:, -count:], 0)


def test_thumbnails_choose_the_map_and_the_rows():
    lab = Lab()
    (proto,) = [c.proto for c in lab.app_test.get("bidi_component") if c.proto.component_name.endswith(".head_map")]
    seen = [lab.maps[0]]
    for head, name in ((2, ".2"), (None, ", mean over heads"), (2, ".2")):
        lab.report(proto, "choose", {"kind": "cross", "layer": 1, "head": head})
        assert lab.timeline["where"] == {"cross": f"cross 1{name}", "decoder": f"decoder 1{name}"}
        np.testing.assert_allclose(np.array(lab.timeline["cross"]), cells_of(lab.maps[0]), rtol=0, atol=1e-5)
        seen.append(lab.maps[0])
    assert lab.link == {"layer": "1"}
    for one, two in itertools.pairwise(seen):
        assert np.abs(cells_of(one) - cells_of(two)).max() > 1e-3
    assert cells_of(seen[1]).tobytes() == cells_of(seen[3]).tobytes()
    for wrong in ({"kind": "cross", "layer": 99, "head": 1}, {"kind": "none", "layer": 1, "head": 1}, None):
        assert lab.report(proto, "choose", wrong).link == {"layer": "1"}
    decoder = cells_of(lab.report(proto, "kind", "decoder").maps[0])
    np.testing.assert_allclose(np.nan_to_num(decoder), np.array(lab.timeline["decoder"]), rtol=0, atol=1e-5)
    assert lab.link == {"layer": "1", "map": "decoder"}
    view = lab.report(proto, "compute", {"query": 3, "key": 2}).view  # of the chosen cell, on the page Inside
    assert (view.kind, view.step, view.key, view.part) == ("decoder", 2, 1, "stages")
