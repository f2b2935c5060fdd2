"""The difference of two logits at a place of a model that fills in, split over all that wrote there and through its head."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.reading import blank_places
from model.inference.request import Request
from model.network.layers import FUNCTIONS
from model.readings.choices import of_choice
from model.readings.direct_logits import Writer
from model.readings.held import AT_ZERO, factor
from model.text.tokenizer import Tokenizer
from model.trace import Site
from tests.support import tiny

ONE, TWO = "The red ___ sees a ___.", "The ___ takes it."
READS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True, "follows": True}
BERT = {"norm_first": False, "final_norm": False, "embedding_norm": True, "output_transform": True, "output_bias": True}
MODELS = [
    *({"output_transform": True, "embedding_norm": True} | norms for norms in tiny.NORMS),
    *({"output_transform": True, "activation": name} for name in FUNCTIONS),
    BERT | {"activation": "gelu", "positions": "learned", "tied_output": True, "embedding_scale": False},
    {},
    {"output_bias": True, "norm": "rmsnorm"},
    {"output_transform": True, "window": 3},
]
ASKED = [
    {"pad": 3},
    {"intervention": tiny.edited("skip_enc.2.ff", "skip_enc.1.self", "off_enc.2.1")},
    {"intervention": tiny.edited("source-positions_off", "block_enc_all-3")},
    {"intervention": Intervention(padding_mask=False, scaling=False)},
]


@pytest.fixture(scope="module")
def made():
    """A model in float64 with drawn biases and gains, so that a forgotten one is seen."""
    tokenizer = Tokenizer.train(tiny.SENTENCES, 400, blanks=True)

    def made(**changes):
        found = tiny.checkpoint(tokenizer, **(READS | changes))
        found.model.double()
        drawn = torch.Generator().manual_seed(3)
        for parameter in found.model.parameters():
            if parameter.dim() == 1:
                parameter += 0.3 * torch.randn(parameter.shape, generator=drawn)
        return found

    return made


def checked(checkpoint, analysis, place, token, rival):
    """The split, which adds up to what the pass gave, and whose heads add up over the tokens."""
    found, logits = of_choice(checkpoint, analysis, place, token, rival), analysis.trace.logits[place]
    assert abs(found.remainder) < 1e-9 and np.abs(found.values).max() > 1e-3
    assert found.difference == pytest.approx(logits[token] - logits[rival], abs=1e-4)
    assert found.by_kind["encoder"].sum() == pytest.approx(found.heads("encoder").sum(), abs=1e-9)
    return found


@pytest.mark.parametrize("changes", MODELS, ids=str)
def test_parts_add_up_through_every_head(made, changes):
    checkpoint = made(**changes)
    analysis = analyse(checkpoint, Request(ONE, second=TWO))
    blanks = blank_places(analysis, checkpoint)
    assert len(blanks) == 3
    for place in (*blanks, 0):
        found = checked(checkpoint, analysis, place, 17, 23)
    assert ("the factors " in found.held) is checkpoint.config.output_transform


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_they_add_up_under_edits(made, asked):
    checkpoint = made(**BERT)
    analysis = analyse(checkpoint, Request(ONE, **asked))
    parts = dict(checked(checkpoint, analysis, blank_places(analysis, checkpoint)[1], 17, 23).ranked)
    if "off_enc.2.1" in str(asked.get("intervention", "")):
        off = [Writer("feed-forward", layer=1), Writer("head", Site("encoder", 1), 0), Writer("head", Site("encoder", 0), 1)]
        assert [parts[writer] for writer in off] == pytest.approx([0, 0, 0], abs=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gate_factor_times_input_is_the_function(name):
    inner = torch.tensor([-40.0, -1.0, -1e-13, 0.0, 1e-13, 1.0, 40.0], dtype=torch.float64)
    gates = factor(FUNCTIONS[name], inner, AT_ZERO)
    np.testing.assert_allclose(gates * inner, FUNCTIONS[name](inner), rtol=1e-12, atol=1e-12)
    if name != "relu":  # smooth: what is taken for the limit is one
        assert gates[3] == pytest.approx(float(factor(FUNCTIONS[name], torch.tensor(1e-8).double(), 0)), abs=1e-7)
