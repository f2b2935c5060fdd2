"""The results of the network equal the recording of `tests/support/recorded.py` on any processor."""

from __future__ import annotations

import pytest

from tests.support import recorded
from tests.support.floats import DOUBLE, assert_close
from tests.support.recorded import VARIANTS


@pytest.fixture(scope="module")
def recording():
    return recorded.recorded()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_edit_gives_the_recorded_tensors(recording, name):
    values, names = recording
    model = recorded.tiny.model(**VARIANTS[name])
    assert {key: list(t.shape) for key, t in model.state_dict().items()} == names["weights"][name]
    for row, (codes, logits, kept) in enumerate(recorded.passes(name)):
        assert_close(logits, values[f"logits {name}"][row], DOUBLE, codes)
        assert_close(recorded.projected(kept), values[f"sums {name}"][row], DOUBLE, codes)


@pytest.mark.parametrize("name", ["pre-norm", "learned", "no causal mask", "modern"])
def test_decoding_gives_the_recorded_hypotheses(recording, name):
    _, names = recording
    for key, hypotheses in recorded.decodings(name):
        expected = names["decodings"][name][key]
        assert [list(ids) for ids, _ in hypotheses] == [ids for ids, _ in expected], key
        for (_, log_probs), (_, before) in zip(hypotheses, expected, strict=True):
            assert_close(log_probs, before, message=key)
