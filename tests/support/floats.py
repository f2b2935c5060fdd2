"""Comparison of floats that were computed on different processors, or in a different order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
import torch

from model.decoding.hypotheses import Hypothesis

DOUBLE = 1e-9  # float64: processors differ by about 1e-14
SINGLE = 1e-4  # float32: by about 1e-6


def assert_same_paths(one: Iterable[Hypothesis], two: Iterable[Hypothesis]) -> None:
    """Compares tokens, and log-probabilities, which are float32."""
    for a, b in zip(one, two, strict=True):
        assert a.ids == b.ids
        assert a.log_probs == pytest.approx(b.log_probs, abs=1e-5)


def assert_close(actual: object, expected: object, precision: float = SINGLE, message: str = "") -> None:
    """Compares arrays. The tolerance is `precision` of each value, and a tenth of it of the largest. NaN equals NaN."""
    actual, expected = (
        np.asarray(each.detach().cpu() if isinstance(each, torch.Tensor) else each) for each in (actual, expected)
    )
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 0.0
    assert actual.shape == expected.shape, f"{message}: shape {actual.shape}; expected {expected.shape}"
    np.testing.assert_allclose(actual, expected, rtol=precision, atol=precision / 10 * scale, err_msg=message)
