from __future__ import annotations

import numpy as np
import pytest
import torch

from model.inference.analyse import analyse
from model.inference.request import Request
from model.network.attention import MultiHeadAttention
from model.readings.contributions import value_norms
from model.trace import KINDS, Site
from tests.support import tiny

TEXT = "The red fox takes a lamp."


def layer_of(checkpoint, site: Site):
    model = checkpoint.model
    return next(module for module in model.modules() if isinstance(module, MultiHeadAttention) and module.site == site)


@pytest.mark.parametrize("kind", KINDS)
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
