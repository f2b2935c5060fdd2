from __future__ import annotations

import numpy as np
import pytest

from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.contributions import value_norms
from model.readings.head_maps import MEASURES, agreement, detail, measured
from model.readings.patterns import rollout
from model.trace import KINDS, Site

TEXT = "The red fox takes a lamp."


@pytest.fixture(scope="module")
def read(tiny_checkpoint):
    """A trace, and the norms of its values."""
    analysis = analyse(tiny_checkpoint, Request(TEXT))
    return analysis.trace, value_norms(tiny_checkpoint, analysis)


@pytest.mark.parametrize("head", [None, 0, 1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure", MEASURES)
def test_rows_sum_to_one_and_forbidden_cells_are_empty(read, kind, head, measure):
    trace, norms = read
    values = measured(trace, norms, Site(kind, 1), head, measure)
    assert values.shape == trace.patterns[Site(kind, 1)].shape[1:]
    np.testing.assert_allclose(values.sum(-1), 1, atol=1e-5)
    assert (values[~trace.masks[Site(kind, 1)]] == 0).all()


def test_contributions_are_weights_times_norms(read):
    trace, norms = read
    site = Site("cross", 0)
    parts = trace.patterns[site] * norms[site][:, None]
    shares = measured(trace, norms, site, 1, "contribution")
    np.testing.assert_allclose(shares * parts[1].sum(-1, keepdims=True), parts[1], rtol=1e-5)
    summed = parts.sum(0)
    np.testing.assert_allclose(
        measured(trace, norms, site, None, "contribution"), summed / summed.sum(-1, keepdims=True), rtol=1e-5
    )


def test_equal_norms_make_contributions_the_weights(read):
    trace, norms = read
    even = {site: np.ones_like(values) for site, values in norms.items()}
    for site in trace.patterns:
        np.testing.assert_allclose(
            measured(trace, even, site, 0, "contribution"), measured(trace, even, site, 0, "weights"), atol=1e-6
        )
        maps = {name: measured(trace, even, site, 0, name) for name in MEASURES}
        assert agreement(maps, trace.mask(site, 0))["contribution"] == pytest.approx(1)


def test_cross_rollout_goes_through_the_encoder(read):
    trace, norms = read
    encoder = rollout(np.stack([trace.patterns[Site("encoder", n)] for n in (0, 1)]))[-1]
    expected = trace.patterns[Site("cross", 1)].mean(0) @ encoder
    np.testing.assert_allclose(measured(trace, norms, Site("cross", 1), 0, "rollout"), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_merged_words_have_labels_and_rows(read, kind):
    trace, norms = read
    site = Site(kind, 0)
    values = measured(trace, norms, site, 0, "weights")
    found = detail(trace, site.kind, values, trace.mask(site, 0), merge=True, hide=False, mass=0.75)
    queries = trace.source if kind == "encoder" else trace.inputs
    assert len(found.queries) == len(set(queries.words)) < len(queries.words)
    assert found.values.shape == found.allowed.shape == found.kept.shape == (len(found.queries), len(found.keys))
    assert "".join(found.queries) == "".join(queries.labels)
    np.testing.assert_allclose(found.values.sum(-1), 1, atol=1e-6)
    assert len(found.rows) == len(queries)
    for row, label in zip(found.rows, queries.labels, strict=True):
        assert label in found.queries[row]


def test_hiding_takes_lines_away_and_changes_no_value(read):
    trace, norms = read
    site = Site("cross", 0)
    values = measured(trace, norms, site, 0, "weights")
    plain = detail(trace, site.kind, values, trace.mask(site, 0), merge=False, hide=False, mass=1.0)
    hidden = detail(trace, site.kind, values, trace.mask(site, 0), merge=False, hide=True, mass=1.0)
    np.testing.assert_array_equal(plain.values, hidden.values)
    gone = [
        key for key, before, after in zip(plain.keys, plain.kept.T, hidden.kept.T, strict=True) if (before & ~after).any()
    ]
    assert gone == [".", "</s>"]
    assert hidden.kept.any()
