"""A function can edit any recorded activation of a given text; typed edits are special cases of it."""

from __future__ import annotations

import numpy as np
import pytest

from model import Intervention, Site, run
from model.edits.place import EditError
from model.trace import Sublayer
from tests.support import tiny

SOURCE, TARGET = "The red fox sees a lamp.", "Lo varun roji mira una lumel."
FAMILIES = [{}, {"family": "decoder-only", "encoder_layers": 0}, {"family": "encoder-only", "decoder_layers": 0}]


@pytest.fixture(params=FAMILIES, ids=["encoder-decoder", "decoder-only", "encoder-only"])
def lab(request, tokenizer):
    return tiny.checkpoint(tokenizer, **request.param)


def reads(lab, **options):
    return run(lab, SOURCE, target=TARGET if "cross" in lab.config.kinds else None, **options)


def assert_same(one, two) -> None:
    np.testing.assert_allclose(one.trace.log_probs, two.trace.log_probs, atol=1e-5, rtol=1e-5)
    for site, pattern in one.trace.patterns.items():
        np.testing.assert_allclose(pattern, two.trace.patterns[site], atol=1e-5, rtol=1e-5)


def test_every_activation_is_offered_with_its_shape(lab):
    shapes: dict[tuple, tuple[int, ...]] = {}
    found = reads(lab, edit=lambda place, name, x: shapes.setdefault((place, name), tuple(x.shape)) and None)
    assert_same(found, found.baseline)
    config = lab.config
    for site, pattern in found.trace.patterns.items():
        assert shapes[site, "scores"] == shapes[site, "pattern"] == pattern.shape
        heads, queries, keys = pattern.shape
        assert shapes[site, "q"] == shapes[site, "z"] == (heads, queries, config.head_dim)
        assert shapes[site, "k"] == shapes[site, "v"] == (heads, keys, config.head_dim)
    streams = [place for place, name in shapes if name == "stream"]
    assert all(isinstance(place, Sublayer) for place in streams) and len(streams) == len(set(streams))
    assert len(shapes) == 6 * len(found.trace.patterns) + len(streams)


def test_it_equals_the_typed_edit_that_does_the_same(lab):
    site = next(iter(reads(lab).trace.patterns))

    def off(place, name, x):
        if (place, name) == (site, "z"):
            x[1] = 0.0
            return x
        return None

    found = reads(lab, edit=off)
    assert_same(found, reads(lab, intervention=Intervention().off(site, head=1)))
    assert found.log_prob != found.baseline.log_prob
    unscaled = reads(lab, edit=lambda place, name, x: x * lab.config.head_dim**0.5 if name == "scores" else None)
    assert_same(unscaled, reads(lab, intervention=Intervention(scaling=False)))


def test_a_copy_that_is_not_returned_changes_nothing(lab):
    def erase(place, name, x):
        x.zero_()

    found = reads(lab, edit=erase)
    assert_same(found, found.baseline)


def test_typed_edits_come_first(lab):
    site = next(iter(reads(lab).trace.patterns))
    edits, seen = Intervention().off(site, head=0), []
    found = reads(
        lab, intervention=edits, edit=lambda place, name, x: seen.append(x) if (place, name) == (site, "z") else None
    )
    assert seen[0][0].abs().max() == 0 < seen[0][1].abs().max()
    assert_same(found, reads(lab, intervention=edits))
    assert found.baseline.request.intervention == Intervention()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda place, name, x: x[..., :1] if name == "scores" else None, r"The edit of scores returns \(2, "),
        (lambda place, name, x: 0.5 if name == "z" else None, "The edit of z returns float; expected a tensor of shape"),
    ],
)
def test_another_shape_is_refused(lab, edit, message):
    with pytest.raises(EditError, match=message):
        reads(lab, edit=edit)


def test_a_stream_reaches_what_follows(lab):
    place = Sublayer("encoder" if "encoder" in lab.config.kinds else "decoder", 0, "ff")
    found = reads(lab, edit=lambda where, name, x: x * 2 if where == place else None)
    before, after = (each.trace.patterns for each in (found.baseline, found))
    np.testing.assert_array_equal(before[Site(place.stack, 0)], after[Site(place.stack, 0)])
    assert found.trace.log_probs.tobytes() != found.baseline.trace.log_probs.tobytes()
