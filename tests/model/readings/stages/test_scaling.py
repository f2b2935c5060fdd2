"""Why scores are divided by sqrt(d_k), measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.stages.scaling import jacobian_norm, site_scaling, softmax_statistics, spectral_norm
from model.trace import ATTENTION_KINDS, Site


def test_two_keys_by_hand():
    scores = np.array([[[0.0, math.log(3)]]])
    found = softmax_statistics(scores, np.array([[[0.25, 0.75]]]), np.ones((1, 1, 2), bool))
    assert found.variance[0] == pytest.approx(math.log(3) ** 2 / 2)  # over n - 1
    assert found.largest[0] == pytest.approx(0.75)
    assert found.entropy[0] == pytest.approx(0.25 * math.log(4) + 0.75 * math.log(4 / 3))
    assert found.gradient[0] == pytest.approx(3 / 8)


def test_the_norm_is_that_of_the_whole_jacobian():
    rows = np.random.default_rng(3).dirichlet(np.ones(6), size=(2, 5))
    for row, found in zip(rows.reshape(-1, 6), jacobian_norm(rows).ravel(), strict=True):
        assert found == pytest.approx(np.linalg.norm(np.diag(row) - np.outer(row, row)))


@pytest.mark.parametrize("keys", [2, 3, 14, 128])
def test_spectral_norm_is_the_largest_eigenvalue(keys):
    rows = np.random.default_rng(4).dirichlet(np.full(keys, 0.3), size=20)
    rows = np.vstack([rows, np.full(keys, 1 / keys), np.eye(keys)[0], [0.5, 0.5, *[0.0] * (keys - 2)]])
    eigenvalues = [np.linalg.eigvalsh(np.diag(row) - np.outer(row, row))[-1] for row in rows]
    np.testing.assert_allclose(spectral_norm(rows), eigenvalues, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_undivided_scores_vary_by_the_width(tiny_checkpoint, kind):
    analysis, site = analyse(tiny_checkpoint, Request("The red fox takes a lamp.", pad=2)), Site(kind, 1)
    found, width = site_scaling(tiny_checkpoint, analysis, site), tiny_checkpoint.config.head_dim
    assert found.widths == (width, width)
    np.testing.assert_allclose(found.undivided.variance, found.divided.variance * width, rtol=1e-9)
    assert (found.undivided.largest >= found.divided.largest).all()
    allowed = analysis.trace.masks[site].sum(-1)[: len(analysis.trace.queries(site)) - 2 * (kind == "encoder")]
    assert (found.keys, found.queries) == (allowed.max(), (allowed > 1).sum())


def test_frobenius_and_spectral_norm_can_differ(shipped):
    analysis = analyse(shipped, Request("The dog didn't cross the street because it was too shy."))
    found = site_scaling(shipped, analysis, Site("encoder", 2))
    assert found.undivided.gradient[1] / found.divided.gradient[1] == pytest.approx(0.85, abs=0.01)
    assert found.undivided.spectral[1] / found.divided.spectral[1] == pytest.approx(1.19, abs=0.01)


def test_what_is_not_allowed_does_not_count():
    scores = np.array([[[5.0, 9.0, 9.0], [1.0, 3.0, 100.0]]])
    pattern = np.array([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]])
    allowed = np.array([[[True, False, False], [True, True, False]]])
    found = softmax_statistics(scores, pattern, allowed)
    assert (found.variance[0], found.largest[0], found.gradient[0]) == pytest.approx((2.0, 0.5, 0.5))
    lonely = softmax_statistics(scores[:, :1], pattern[:, :1], allowed[:, :1])
    assert all(
        np.isnan(values).all()
        for values in (lonely.variance, lonely.largest, lonely.entropy, lonely.gradient, lonely.spectral)
    )
