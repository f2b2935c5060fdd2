"""Two checkpoints on the same ids: the first step and the first head that differ are named."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch

from model import compare
from model.trace import Site
from tests.support import tiny

SOURCE, TARGET = "The red fox sees a lamp.", "Lo varun roji mira una lumel."
FAMILIES = [{}, {"family": "decoder-only", "encoder_layers": 0}, {"family": "encoder-only", "decoder_layers": 0}]


@pytest.fixture(scope="module")
def lab(tokenizer):
    return tiny.checkpoint(tokenizer)


def changed(lab, change):
    """A copy of a checkpoint with other weights."""
    model = copy.deepcopy(lab.model)
    with torch.no_grad():
        change(model)
    return dataclasses.replace(lab, model=model, name="changed")


def scale_head(attention, part: str, head: int, width: int) -> None:
    getattr(attention, part).weight[head * width : (head + 1) * width] *= 1.5


@pytest.mark.parametrize("family", FAMILIES, ids=["encoder-decoder", "decoder-only", "encoder-only"])
def test_equal_checkpoints_have_no_difference(tokenizer, family):
    lab = tiny.checkpoint(tokenizer, **family)
    found = compare(lab, changed(lab, lambda model: None), SOURCE, target=None if family else TARGET)
    assert found.first is found.first_head is None
    assert found.log_probs == 0 == max(step.largest for step in found.steps)
    assert str(found).startswith("No step differs by more than 0.0001.")


@pytest.mark.parametrize("part", ["query", "value"])
@pytest.mark.parametrize("site", [Site("encoder", 1), Site("decoder", 0), Site("cross", 1)])
def test_a_changed_head_is_named(lab, site, part):
    def change(model):
        layers = model.encoder if site.kind == "encoder" else model.decoder
        attention = layers[site.layer].cross_attention if site.kind == "cross" else layers[site.layer].self_attention
        scale_head(attention, part, 1, lab.config.head_dim)

    found = compare(lab, changed(lab, change), SOURCE, target=TARGET)
    assert found.first.site == site and found.first_head[:2] == (site, 1)
    values = found.first.pattern if part == "query" else found.first.z
    assert values[1] > 1e-3 and values[0] < 1e-6
    assert (found.first.pattern.max() < 1e-6) == (part == "value")
    assert found.log_probs > 0 and site.head_name(1) in str(found)


def test_a_feed_forward_network_and_an_embedding_are_named(lab):
    def forward(model):
        model.encoder[0].feed_forward.outer.weight *= 1.5

    found = compare(lab, changed(lab, forward), SOURCE, target=TARGET)
    assert found.first.name == "encoder layer 1, feed-forward network" and found.first.site is None
    assert found.first_head[0].layer == 1 or found.first_head[0].kind != "encoder"

    def embed(model):
        model.target_embedding.table.weight *= 1.1

    two = changed(lab, embed)
    assert compare(lab, two, SOURCE, target=TARGET).first.layer is None


def test_steps_are_in_the_order_of_the_computation(lab):
    names = [step.name for step in compare(lab, lab, SOURCE, target=TARGET).steps]
    assert names[:3] == ["encoder embedding", "encoder layer 1, self-attention", "encoder layer 1, feed-forward network"]
    first = names.index("decoder embedding")
    assert names[first + 1 : first + 4] == [
        "decoder layer 1, self-attention",
        "decoder layer 1, cross-attention",
        "decoder layer 1, feed-forward network",
    ]


def test_checkpoints_that_do_not_fit_are_refused(lab, tokenizer):
    with pytest.raises(ValueError, match="heads is 2 in tiny and 4 in tiny; expected the same"):
        compare(lab, tiny.checkpoint(tokenizer, heads=4), SOURCE, target=TARGET)
    with pytest.raises(ValueError, match="kinds is"):
        compare(lab, tiny.checkpoint(tokenizer, **FAMILIES[1]), SOURCE, target=TARGET)

    class Turned(type(tokenizer)):
        def pieces(self, ids):
            return super().pieces([*ids][::-1])

    other = copy.copy(tokenizer)
    other.__class__ = Turned
    with pytest.raises(ValueError, match="expected one vocabulary"):
        compare(lab, dataclasses.replace(lab, source_tokenizer=other), SOURCE, target=TARGET)
