"""Payloads of patterns have the tokens, values and masks of their maps."""

import numpy as np
import pytest

from model.trace import MapView
from tests.support.component_helpers import unpacked
from viz.kit import patterns

CAUSAL = np.tril(np.ones((3, 3), bool))
VALUES = (CAUSAL / np.arange(1, 4)[:, None]).astype(np.float32)
VIEW = MapView(VALUES, CAUSAL, ("<s> → a", "a → b", "b → </s>"), ("<s>", "a", "b"))


def test_a_payload_has_the_values_and_labels():
    payload = patterns.pattern(VIEW, "decoder", "Decoder")
    assert np.array_equal(unpacked(payload, "values"), VALUES) and np.array_equal(unpacked(payload, "allowed"), CAUSAL)
    assert (tuple(payload["queries"]), tuple(payload["keys"]), payload["shape"]) == (VIEW.queries, VIEW.keys, [3, 3])
    assert (payload["most"], payload["scale"], payload["follows"]) == (None, "decoder", True)
    assert not patterns.pattern(VIEW, "encoder")["follows"] and "former" not in payload


def test_a_mask_has_its_cells_as_values():
    payload = patterns.pattern(VIEW, "decoder", masked=True)
    assert payload["scale"] == patterns.MASK and np.array_equal(unpacked(payload, "values"), CAUSAL)


def test_a_difference_is_symmetric():
    payload = patterns.difference(MapView(VALUES - 1, CAUSAL, VIEW.queries, VIEW.keys), "decoder")
    assert payload["most"] == 1 and payload["scale"] == patterns.DIFFERENCE
    assert patterns.difference(MapView(0 * VALUES, CAUSAL, VIEW.queries, VIEW.keys))["most"] == patterns.MIN_LIMIT


def test_marks_have_a_row_for_each_query():
    payload = patterns.pattern(VIEW, former=np.ones((3, 3), bool), candidates=[[("a", 0.123456)], [], []])
    assert payload["former"] == "1" * 9 and payload["candidates"][0] == [["a", 0.12346]]
    assert "former" not in patterns.pattern(VIEW, former=CAUSAL.copy())
    with pytest.raises(ValueError, match=r"candidates has shape \[1, 3\]; expected \[3, 3\]"):
        patterns.pattern(VIEW, candidates=[[]])


def test_labels_must_fit_the_values():
    with pytest.raises(ValueError, match=r"values has shape \[3, 3\]; expected \[2, 3\]"):
        patterns.pattern(MapView(VALUES, CAUSAL, VIEW.queries[:2], VIEW.keys))


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_scale_of_a_payload_has_colours(mode):
    colours = patterns.scales(mode)
    assert {patterns.MASK, patterns.DIFFERENCE, "encoder", "decoder", "cross"} == set(colours)
    assert all(colour.startswith("#") and len(colour) == 7 for scale in colours.values() for colour in scale)
