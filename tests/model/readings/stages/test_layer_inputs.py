"""Patterns of linear attention and of a window from a head's own queries and keys."""

from __future__ import annotations

import numpy as np
import pytest

from model import Request, analyse
from model.network.attention_methods import feature_map
from model.readings.stages.layer_inputs import activations, distance, other_patterns
from model.trace import ATTENTION_KINDS, Site

TEXT = "The red fox sees a lamp."


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_rows_are_patterns_over_what_the_mask_allows(tiny_checkpoint, kind):
    analysis, site = analyse(tiny_checkpoint, Request(TEXT, pad=2)), Site(kind, 1)
    found = other_patterns(tiny_checkpoint, analysis, site, 2)
    assert (found.window is None) == (kind == "cross")
    for other in filter(None, (found.linear, found.window)):
        assert other.values.shape == found.softmax.shape
        assert (other.values[~found.allowed] == 0).all()
        seen = np.isfinite(other.distance)
        np.testing.assert_allclose(other.values.sum(-1)[seen], 1, atol=1e-6)
        assert ((other.distance[seen] > -1e-6) & (other.distance[seen] <= 1)).all()
        assert (~seen).sum() == (2 * 2 if kind == "encoder" else 0)  # padding asks nothing, in either head
        expected = [np.abs(a - b).sum(-1)[s].mean() / 2 for a, b, s in zip(other.values, found.softmax, seen, strict=True)]
        assert other.head_distances == pytest.approx(expected, abs=1e-6)


def test_linear_pattern_uses_the_queries_and_keys(tiny_checkpoint):
    analysis, site = analyse(tiny_checkpoint, Request(TEXT)), Site("decoder", 0)
    record = activations(tiny_checkpoint, analysis).records[site]
    q, k = (feature_map(record[name].double())[0, 1] for name in ("q", "k"))
    products = (q @ k.T) * record["mask"][0]
    expected = (products / products.sum(-1, keepdim=True)).numpy()
    np.testing.assert_allclose(other_patterns(tiny_checkpoint, analysis, site, 1).linear.values[1], expected, atol=1e-6)


def test_window_of_one_is_the_diagonal(tiny_checkpoint):
    analysis, site = analyse(tiny_checkpoint, Request(TEXT)), Site("encoder", 0)
    length, narrow = len(analysis.trace.source), other_patterns(tiny_checkpoint, analysis, site, 1).window
    np.testing.assert_allclose(narrow.values, np.broadcast_to(np.eye(length), narrow.values.shape), atol=1e-6)
    own = analysis.full_pass.patterns[site]
    np.testing.assert_allclose(narrow.distance, 1 - np.diagonal(own, axis1=1, axis2=2), atol=1e-5)


def test_distances_by_hand():
    one, other = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    assert distance(one, other, np.array([True, True])).tolist() == [0.5, 1.0]
    assert np.isnan(distance(one, other, np.array([True, False]))[1])
    assert distance(one, 0 * one, np.array([True, True])).tolist() == [1.0, 1.0]  # who sees nothing has nothing in common
