"""Maps of a head: weights, contributions and rollout. Also the roles of heads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.inference.analyse import analyse
from model.inference.request import Request
from model.network.attention import MultiHeadAttention
from model.readings.heads.corpus_roles import route_roles
from model.readings.heads.head_maps import MAP_READINGS, detail, head_map, maps_of_heads, merge_words, rollout
from model.readings.heads.head_roles import MIN_ROWS, head_roles
from model.readings.tokens.token_attribution import value_norms
from model.text.route_heads import RouteHead, RouteHeads
from model.trace import ATTENTION_KINDS, Site
from tests.support import tiny

TEXT = "The red fox takes a lamp."


@pytest.fixture(scope="module")
def read(tiny_checkpoint):
    """A trace, and the norms of its values."""
    analysis = analyse(tiny_checkpoint, Request(TEXT))
    return analysis.trace, value_norms(tiny_checkpoint, analysis)


@pytest.mark.parametrize("head", [None, 0, 1])
@pytest.mark.parametrize("kind", ATTENTION_KINDS)
@pytest.mark.parametrize("measure", MAP_READINGS)
def test_rows_sum_to_one_and_forbidden_cells_are_empty(read, kind, head, measure):
    trace, norms = read
    values = head_map(trace, norms, Site(kind, 1), head, measure)
    assert values.shape == trace.patterns[Site(kind, 1)].shape[1:]
    np.testing.assert_allclose(values.sum(-1), 1, atol=1e-5)
    assert (values[~trace.masks[Site(kind, 1)]] == 0).all()


@pytest.mark.parametrize("layer", [None, 1])
@pytest.mark.parametrize("kind", ATTENTION_KINDS)
@pytest.mark.parametrize("measure", ("weights", "contribution"))
def test_maximum_is_the_largest_of_all_heads(read, kind, layer, measure):
    trace, norms = read
    sites = trace.sites(kind) if layer is None else [Site(kind, layer)]
    maps = [head_map(trace, norms, site, head, measure) for site in sites for head in (0, 1)]
    found = maps_of_heads(trace, norms, kind, layer, measure)
    np.testing.assert_array_equal(found, np.stack(maps))
    allowed = np.any([trace.masks[site] for site in sites], axis=0)
    drawn = detail(trace, kind, found, allowed, merge=False, hide=False, mass=0.75)
    np.testing.assert_array_equal(drawn.values, np.maximum.reduce(maps))
    assert (drawn.values.sum(-1) >= 1 - 1e-6).all() and drawn.values.sum(-1).max() > 1.01  # rows do not sum to one
    assert drawn.values.max() <= 1 + 1e-6 and (drawn.values[~allowed] == 0).all()


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_maximum_of_words_is_one_heads_weight(read, kind):
    trace, norms = read
    site = Site(kind, 0)
    words = [trace.axis(side).word_numbers for side in (site.spec.query_side, site.spec.key_side)]
    merged = [merge_words(trace.patterns[site][head], *words) for head in (0, 1)]
    found = maps_of_heads(trace, norms, kind, 0, "weights")
    drawn = detail(trace, kind, found, trace.mask(site), merge=True, hide=False, mass=0.75)
    np.testing.assert_allclose(drawn.values, np.maximum(*merged), rtol=1e-6)


def test_contributions_are_weights_times_norms(read):
    trace, norms = read
    site = Site("cross", 0)
    parts = trace.patterns[site] * norms[site][:, None]
    shares = head_map(trace, norms, site, 1, "contribution")
    np.testing.assert_allclose(shares * parts[1].sum(-1, keepdims=True), parts[1], rtol=1e-5)
    summed = parts.sum(0)
    np.testing.assert_allclose(
        head_map(trace, norms, site, None, "contribution"), summed / summed.sum(-1, keepdims=True), rtol=1e-5
    )


def test_cross_rollout_goes_through_the_encoder(read):
    trace, norms = read
    encoder = rollout(np.stack([trace.patterns[Site("encoder", n)] for n in (0, 1)]))[-1]
    expected = trace.patterns[Site("cross", 1)].mean(0) @ encoder
    np.testing.assert_allclose(head_map(trace, norms, Site("cross", 1), 0, "rollout"), expected)


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_merged_words_have_labels_and_rows(read, kind):
    trace, norms = read
    site = Site(kind, 0)
    values = head_map(trace, norms, site, 0, "weights")
    found = detail(trace, site.kind, values, trace.mask(site, 0), merge=True, hide=False, mass=0.75)
    queries = trace.source if kind == "encoder" else trace.inputs
    assert len(found.queries) == len(set(queries.word_numbers)) < len(queries.word_numbers)
    assert found.values.shape == found.allowed.shape == found.lines.shape == (len(found.queries), len(found.keys))
    assert "".join(found.queries) == "".join(queries.labels)
    np.testing.assert_allclose(found.values.sum(-1), 1, atol=1e-6)
    assert len(found.rows) == len(queries)
    for row, label in zip(found.rows, queries.labels, strict=True):
        assert label in found.queries[row]


def layer_of(checkpoint, site: Site):
    model = checkpoint.model
    return next(module for module in model.modules() if isinstance(module, MultiHeadAttention) and module.site == site)


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_contributions_sum_to_the_output_of_the_layer(tiny_checkpoint, kind):
    analysis = analyse(tiny_checkpoint, Request(TEXT))
    site = Site(kind, 1)
    module = layer_of(tiny_checkpoint, site)
    caught = {}
    handle = module.register_forward_hook(lambda _, inputs, out: caught.update(memory=inputs[1], out=out))
    norms = value_norms(tiny_checkpoint, analysis)[site]
    handle.remove()
    heads, keys = norms.shape
    value = module.value(caught["memory"])[0].detach().unflatten(-1, (heads, -1))  # [S,H,K]
    weight = module.output.weight.detach().unflatten(1, (heads, -1))  # [D,H,K]
    vectors = torch.einsum("shk,dhk->hsd", value, weight)
    np.testing.assert_allclose(norms, vectors.norm(dim=-1).numpy(), rtol=1e-4)
    pattern = torch.from_numpy(np.array(analysis.trace.patterns[site])).to(vectors.dtype)  # [H,T,S]
    summed = torch.einsum("hts,hsd->td", pattern, vectors) + module.output.bias.detach()
    np.testing.assert_allclose(summed.numpy(), caught["out"][0].detach().numpy(), atol=1e-4)
    assert keys == analysis.trace.patterns[site].shape[-1]


def test_a_head_that_is_off_contributes_nothing(tiny_checkpoint):
    norms = {}
    for codes in ((), ("off_enc.1.1",), ("off_dec.2",), ("off_cross",)):
        edit = tiny.edited(*codes)
        norms[codes] = value_norms(tiny_checkpoint, analyse(tiny_checkpoint, Request(TEXT, intervention=edit)))
    off = {
        codes: {(site, head) for site, each in found.items() for head in range(len(each)) if not each[head].any()}
        for codes, found in norms.items()
    }
    heads = range(len(norms[()][Site("encoder", 0)]))
    assert off[()] == set() and off["off_enc.1.1",] == {(Site("encoder", 0), 0)}
    assert off["off_dec.2",] == {(Site("decoder", 1), head) for head in heads}
    assert off["off_cross",] == {(site, head) for site in norms[()] if site.kind == "cross" for head in heads}


N = 12
KEYS = ("<s>", *"abcdefghij", "</s>")


def names(pattern: np.ndarray, keys=KEYS, rows=None) -> list[str]:
    (found,) = head_roles(pattern[None], keys, range(len(pattern)) if rows is None else rows)
    return [role.name for role in found]


def shifted(offset: int, wrong: int = 0) -> np.ndarray:
    """All weight on the token so far behind; in so many rows half of it and more on another."""
    pattern = np.eye(N, k=offset)
    for row in range(3, 3 + wrong):
        pattern[row] *= 0.4
        pattern[row, (row + offset + 3) % N] += 0.6
    return pattern


@pytest.mark.parametrize(("offset", "name"), [(-1, "previous"), (0, "same"), (1, "next")])
def test_positional_head_needs_nine_of_ten_rows(offset, name):
    assert names(shifted(offset)) == [f"{name}-token head"]
    assert names(shifted(offset, wrong=1)) == [f"{name}-token head"]
    assert names(shifted(offset, wrong=2)) == []


@pytest.mark.parametrize(("token", "at"), [("<s>", 0), ("</s>", N - 1)])
def test_a_sink_is_one_above_three_tenths(token, at):
    for weight, expected in ((0.35, [f"attention sink on {token}"]), (0.25, [])):
        pattern = np.full((N, N), (1 - weight) / (N - 1))
        pattern[:, at] = weight
        assert names(pattern) == expected
    assert names(pattern, keys=("a",) * N) == []


def test_too_few_rows_name_no_role():
    assert names(shifted(1), rows=range(MIN_ROWS - 1)) == []
    ((role,),) = head_roles(shifted(1, wrong=1)[None], KEYS, range(N))
    assert role.share == pytest.approx(10 / 11)
    assert role.sentence.startswith("In 0.91 of 11 rows of this sentence") and "Voita et al. 2019" in role.sentence
    masked = shifted(1)
    masked[2:] = 0  # rows that may look at nothing count in no mean
    assert names(masked) == []


def test_a_carried_route_is_a_role_from_a_fifth_of_the_sentences():
    carrying, other = (
        RouteHead("decoder", 2, head, 1, share, share - 0.1, share + 0.1) for head, share in ((3, 0.2), (4, 0.19))
    )
    routes = RouteHeads(200, 5, 190, 1, "x", (carrying, other))
    (role,) = route_roles(routes, "decoder", 2, 3)
    assert role.name == "carries the choice of a pronoun: 20% of 200 sentences" and "20% (10 to 30) of 200" in role.sentence
    assert not [
        each for place in (("decoder", 2, 4), ("cross", 2, 3), ("decoder", 3, 3)) for each in route_roles(routes, *place)
    ]
    assert route_roles(None, "decoder", 2, 3) == []
