"""The arithmetic is what was recorded (`tests/recorded.py`, which also compares bit for bit)."""

from __future__ import annotations

import numpy as np
import pytest
import recorded
import torch
from recorded import VARIANTS


@pytest.fixture(scope="module")
def then():
    return recorded.recorded()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_edit_of_every_variant_gives_what_was_recorded(then, name):
    values, told = then
    model = recorded.tiny.model(**VARIANTS[name])
    assert {key: list(t.shape) for key, t in model.state_dict().items()} == told["weights"][name]
    for row, (codes, logits, kept) in enumerate(recorded.passes(name)):
        np.testing.assert_allclose(logits, values[f"logits {name}"][row], atol=1e-10, rtol=0, err_msg=codes)
        np.testing.assert_allclose(recorded.projected(kept), values[f"sums {name}"][row], atol=1e-8, rtol=0, err_msg=codes)


@pytest.mark.parametrize("name", ["pre-norm", "learned", "no causal mask", "modern"])
def test_decoding_finds_what_was_recorded(then, name):
    _, told = then
    for key, found in recorded.decodings(name):
        ids, log_probs = zip(*found, strict=True)
        assert [list(each) for each in ids] == [each for each, _ in told["decodings"][name][key]], key
        for now, (_, before) in zip(log_probs, told["decodings"][name][key], strict=True):
            torch.testing.assert_close(torch.tensor(now), torch.tensor(before), atol=1e-5, rtol=0)
