"""Readings that compute attention again give the recorded pattern, under every edit and in every scheme of positions."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
import torch

from model.config import PAD, SCHEMES
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.heads.head_maps import head_map
from model.readings.logits.score_writers import score_writers
from model.readings.stages.layer_inputs import activations, other_patterns
from model.readings.stages.scaling import site_scaling, softmax_statistics
from model.readings.stages.unfold import unfold
from model.readings.tokens.token_attribution import value_norms
from tests.support import scheme_helpers, tiny
from tests.support.edit_helpers import EXAMPLES, ONE_EACH

TEXT, TARGET = "The red fox sees a lamp.", "Lo varun mira una lumel."
GIVEN = {"target": TARGET}
AGAIN = {"mode": "again", "decoding": Decoding(limit=6)}
ALONE = ("scaling-off", "row_dec.1.1_3-1", "block_dec_3-2", "window-2", "patch_z_cross.1.2_2")
STEPWISE = ("causal-off", *(f"causal-off~{code}" for code in ALONE))
CASES = [(code, GIVEN, 2) for code in EXAMPLES] + [(code, AGAIN, 0) for code in STEPWISE]
NAMES = [f"{'given' if asked is GIVEN else 'again'} {code}" for code, asked, _ in CASES]
CHECKED = pytest.mark.parametrize(("number", "code", "asked", "pad"), [(n, *c) for n, c in enumerate(CASES)], ids=NAMES)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
WIDE = 99  # tokens: wider than each text


@pytest.fixture(scope="module")
def make(tokenizer):
    """A checkpoint for a scheme of positions, with means; one scheme is registered here alone."""
    with scheme_helpers.registered():
        yield cache(lambda scheme: tiny.with_means(tiny.checkpoint(tokenizer, positions=scheme, dtype=torch.float64)))


def found(checkpoint, code, asked, pad=0):
    return analyse(checkpoint, Request(TEXT, pad=pad, intervention=tiny.edited(*code.split("~")), **asked))


def schemes(number, code):
    """All for one code of each kind of edit and for edits of scores or pattern; else one after the other."""
    names = list(SCHEMES)
    return names if code in ONE_EACH or code.startswith(("scaling", "row")) else [names[number % len(names)]]


@CHECKED
def test_length_and_scaling_give_the_recorded_pattern(make, number, code, asked, pad):
    for checkpoint in map(make, schemes(number, code)):
        analysis = found(checkpoint, code, asked, pad)
        trace = analysis.trace
        for site, pattern in trace.patterns.items():
            allowed = np.stack([trace.mask(site, head) for head in range(len(pattern))])
            patterns = other_patterns(checkpoint, analysis, site, WIDE)
            np.testing.assert_allclose(patterns.softmax, pattern, **CLOSE)
            np.testing.assert_array_equal(patterns.allowed, allowed)
            if patterns.window is not None:  # wider than the text, it hides nothing
                np.testing.assert_allclose(patterns.window.values, pattern, **CLOSE)
                assert np.nanmax(patterns.window.distance) < 1e-5
            if site.spec.query_side == "source":
                allowed &= np.array([token != PAD for token in trace.source.ids])[:, None]
            made, own = site_scaling(checkpoint, analysis, site), softmax_statistics(trace.scores[site], pattern, allowed)
            here = made.divided if analysis.request.intervention.scaling else made.undivided
            for name in ("variance", "largest", "entropy", "gradient", "spectral"):
                np.testing.assert_allclose(getattr(here, name), getattr(own, name), err_msg=name, **CLOSE)


@CHECKED
def test_stages_and_writers_end_in_the_recorded_row(make, number, code, asked, pad):
    for checkpoint in map(make, schemes(number, code)):
        analysis = found(checkpoint, code, asked, pad)
        trace = analysis.trace
        norms = value_norms(checkpoint, analysis)
        for n, (site, pattern) in enumerate(trace.patterns.items()):
            query, head = n % len(trace.queries(site)), n % len(pattern)
            unfolded = unfold(checkpoint, analysis, site, head, query)
            count = analysis.key_count(site, query)
            weights = unfolded["softmax"].tables[0].values[:, 0]
            assert unfolded.keys == trace.keys(site)[:count]
            np.testing.assert_allclose(weights, pattern[head, query, :count], **CLOSE)
            assert not pattern[head, query, count:].any()
            assert not unfolded["softmax"].edited or "row_" in code
            key = int(pattern[head, query].argmax())
            writers = score_writers(checkpoint, analysis, site, head, query, key)
            assert writers.weight == pytest.approx(pattern[head, query, key], rel=1e-4, abs=1e-5)
            assert writers.score == pytest.approx(trace.scores[site][head, query, key], rel=1e-4, abs=1e-5)
            assert writers.remainder == pytest.approx(0, abs=1e-9)
            parts = head_map(trace, norms, site, head, "contribution")[query]
            assert parts[count:].sum() == 0 and (parts.sum() == pytest.approx(1) or not parts.any())


def test_each_step_is_read_in_the_pass_that_chose_it(make):
    checkpoint = make("rotary")
    analysis = found(checkpoint, "causal-off", AGAIN)
    trace, read = analysis.trace, partial(activations, checkpoint, analysis)
    decoder, cross = trace.sites("decoder")[-1], trace.sites("cross")[-1]
    for query in range(len(trace.outputs)):
        for site in (decoder, cross):
            record = read(site, query).records[site]
            assert record["q"].size(2) == query + 1
            row = record["pattern"][0, :, query].numpy()
            np.testing.assert_allclose(row, trace.patterns[site][:, query, : row.shape[-1]], **CLOSE)
        norms, values = value_norms(checkpoint, analysis)[decoder], read(decoder, query).records[decoder]["v"][0, 0]
        output = checkpoint.model.decoder[-1].self_attention.output.weight[:, : values.size(-1)]
        np.testing.assert_allclose(norms[0, query, : query + 1], (values @ output.T).norm(dim=-1).numpy(), **CLOSE)
    assert read().records[decoder]["q"].size(2) == len(trace.outputs)
    with pytest.raises(ValueError, match=r"^There is no key 3 at step 2; the pass that chose its token had 2\.$"):
        score_writers(checkpoint, analysis, decoder, 0, 1, 2)
