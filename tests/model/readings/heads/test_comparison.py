"""Partners among tokens, distances of patterns, word alignments, and readings that give the recorded pattern again."""

from __future__ import annotations

import dataclasses
from functools import cache, partial

import numpy as np
import pytest
import torch

from model.config import END, PAD, SCHEMES
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.heads.head_maps import head_map
from model.readings.heads.trace_comparison import (
    align,
    common_difference,
    diagonal,
    error_rate,
    head_peaks,
    hits,
    peaks,
    row_distances,
)
from model.readings.logits.score_writers import score_writers
from model.readings.stages.layer_inputs import activations, other_patterns
from model.readings.stages.scaling import site_scaling, softmax_statistics
from model.readings.stages.unfold import unfold
from model.readings.tokens.token_attribution import value_norms
from model.text.measurements import ROWS
from model.trace import Axis, MapView, Site, Trace
from tests.support import scheme_helpers, tiny
from tests.support.edit_helpers import EXAMPLES, ONE_EACH


def patterns(heads: int, rows: int, keys: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(keys), (heads, rows))


def test_alignment_is_the_longest_common_part():
    found = align(["the", "dog", "was", "tired", "."], ["the", "cat", "was", "tired", "."])
    assert found.columns == ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4))
    assert found.same == (True, False, True, True, True) and not found.is_equal
    assert found.common == ((0, 0), (2, 2), (3, 3), (4, 4)) and found.unpaired == ((), ())


@pytest.mark.parametrize(
    ("one", "other"), [("", ""), ("a", ""), ("", "b"), ("a b", "c"), ("a b a", "a"), ("a b c", "c b a")]
)
def test_every_token_has_one_column_and_one_group(one, other):
    one, other = one.split(), other.split()
    found = align(one, other)
    for side, tokens in enumerate((one, other)):
        assert [column[side] for column in found.columns if column[side] is not None] == list(range(len(tokens)))
        assert [n for group in found.groups for n in group[side]] == list(range(len(tokens)))
    assert all(one[i] == other[j] for i, j in found.common)


def test_row_distance_is_symmetric_and_bounded():
    labels = list("abcd")
    same = align(labels, labels)
    one, other = patterns(3, 4, 4, 1), patterns(3, 4, 4, 2)
    assert row_distances(one, one, same, same) == pytest.approx(np.zeros((3, 4)))
    apart = row_distances(one, other, same, same)
    assert ((apart > 0) & (apart < 1)).all()
    assert apart == pytest.approx(row_distances(other, one, same, same))
    assert apart == pytest.approx(np.abs(one - other).sum(-1) / 2)
    left, right = np.eye(4)[None], np.roll(np.eye(4), 1, axis=1)[None]
    assert row_distances(left, right, same, same) == pytest.approx(np.ones((1, 4)))


def test_row_distance_sums_the_tokens_of_a_word():
    keys = align(["was", "tired", "."], ["was", "w", "ide", "."])
    rows = align(["x"], ["x"])
    one, other = np.array([[[0.2, 0.5, 0.3]]]), np.array([[[0.2, 0.1, 0.4, 0.3]]])
    assert row_distances(one, other, rows, keys) == pytest.approx(np.zeros((1, 1)))
    longer = align(["was", "."], ["was", "very", "."])
    one, other = np.array([[[0.6, 0.4]]]), np.array([[[0.3, 0.3, 0.4]]])
    assert row_distances(one, other, rows, longer) == pytest.approx(np.full((1, 1), 0.3))


def view(values: np.ndarray, queries: str, keys: str) -> MapView:
    return MapView(values, np.ones(values.shape, bool), tuple(queries.split()), tuple(keys.split()))


def test_difference_needs_equal_tokens_on_both_axes():
    one = view(np.arange(6.0).reshape(2, 3), "q r", "a b c")
    other = view(10 + np.arange(8.0).reshape(2, 4), "q s", "a x y c")
    found = common_difference(one, other)
    assert (found.queries, found.keys) == (one.queries, one.keys)
    assert found.allowed.tolist() == [[True, False, True], [False, False, False]]
    assert found.values.tolist() == [[10.0, 0.0, 11.0], [0.0, 0.0, 0.0]]
    same = common_difference(one, view(one.values + 1, "q r", "a b c"))
    assert same.allowed.all() and (same.values == 1).all()
    assert common_difference(one, view(one.values, "u v", "a b c")) is None
    rows = [("<s> → q", "q → r", "r → s", "s → ."), ("<s> → q", "q → x", "x → s", "s → .")]  # row 2 reads q on both sides
    parted = common_difference(*(dataclasses.replace(view(np.ones((4, 1)), "q", "a"), queries=each) for each in rows))
    assert parted.allowed[:, 0].tolist() == [True, True, False, True]


def rate(found, sure, possible=()):
    told = hits(found, set(sure), set(possible))
    return float(error_rate(*map(np.array, (told.links, told.on_sure, told.on_possible, told.sure))))


def test_perfect_aligner_has_no_error():
    gold = {(0, 0), (2, 1), (1, 2)}
    weights = np.full((3, 4), 0.1)
    for source, target in gold:
        weights[target, source] = 0.7
    assert rate(peaks(weights, 3), gold) == 0
    assert rate(diagonal(3, 3), gold) == pytest.approx(2 / 3)
    assert rate(diagonal(3, 3), {(n, n) for n in range(3)}) == 0


def test_peaks_of_a_trace_are_those_of_its_rows(tiny_checkpoint):
    trace = analyse(tiny_checkpoint, Request("The red fox takes a lamp.")).full_pass
    words = ["a", "b", "c"]
    source = Axis((5, 6, 7, END), (*words, "</s>"), (0, 1, 2, 3))
    outputs = Axis((8, 9, 10, END), ("B", "C", "A", "</s>"), (0, 1, 2, 3))
    order = [1, 2, 0]
    for rows, later in ROWS.items():
        pattern = np.zeros((1, 4, 4), dtype=np.float32)
        pattern[0, :, 3] = 0.25
        for t, s in enumerate(order):
            pattern[0, t + later, s] = 0.5
        made: Trace = dataclasses.replace(
            trace,
            source=source,
            outputs=outputs,
            inputs=Axis((1, 8, 9, 10), ("<s>", "B", "C", "A"), (0, 1, 2, 3)),
            patterns={Site("cross", 0): pattern},
            masks={Site("cross", 0): np.ones((4, 4), dtype=bool)},
        )
        (found,) = head_peaks(made, rows)
        assert found.peaks == (("B", "b", 0.5), ("C", "c", 0.5), ("A", "a", 0.5))
        assert (found.mutual, found.on_diagonal, found.rows) == (3, 0, rows)
        (other,) = head_peaks(made, "reads" if rows == "predicts" else "predicts")
        assert other.peaks != found.peaks


TEXT, TARGET = "The red fox sees a lamp.", "Lo varun mira una lumel."
GIVEN = {"target": TARGET}
AGAIN = {"mode": "again", "decoding": Decoding(max_total_tokens=6)}
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
    return analyse(checkpoint, Request(TEXT, extra_padding=pad, intervention=tiny.edited(*code.split("~")), **asked))


def schemes(number, code):
    """All for one code of each kind of edit and for edits of scores or pattern; else one after the other."""
    names = list(SCHEMES)
    return names if code in ONE_EACH or code.startswith(("scaling", "row")) else [names[number % len(names)]]


@CHECKED
@pytest.mark.every(3)
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
@pytest.mark.every(3)
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
