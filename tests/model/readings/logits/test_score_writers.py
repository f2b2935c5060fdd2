"""One score of a head, split over pairs of writers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network.positions import position_scheme
from model.readings.logits.residual_writers import Writer
from model.readings.logits.score_writers import score_writers
from model.trace import Site
from tests.support import tiny

TEXT = "The red fox takes a lamp."
GIVEN = "Lo varun roji."
SHORT = Decoding(max_total_tokens=12)
MODELS = [
    *tiny.NORMS,
    {"norm_first": False, "positions": "rotary"},
    {"positions": "learned", "tied_output": True},
    {"window": 3, "joint_vocab": False},
    {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"},
    {"family": "encoder-only", "decoder_layers": 0},
]
ASKED = [
    {"extra_padding": 3},
    {"intervention": Intervention(causal_mask=False), "mode": "again", "target": None},
    {"intervention": Intervention(scaling=False)},
    {"intervention": tiny.edited("skip_dec.1.ff", "skip_dec.2.self", "off_cross.1.1", "off_enc.1", "skip_enc.2.self")},
    {"intervention": tiny.edited("target-positions_off", "source-positions_off")},
    {"intervention": tiny.edited("block_enc.2.2_3-1", "window-2")},
    {"intervention": replace(tiny.edited("patch_enc.0_2", "patch_dec.1_2", "patch_z_enc.2.1_all"), donor=TEXT[::-1])},
]


def adds_up(checkpoint, analysis, tolerance=1e-10):
    """Every kind of site, its last layer and its first; the last query, and all keys."""
    trace = analysis.full_pass
    for site in {site for kind in trace.kinds for site in (trace.sites(kind)[0], trace.sites(kind)[-1])}:
        query = len(trace.queries(site)) - 1
        for key in (0, len(trace.keys(site)) // 2, len(trace.keys(site)) - 1):
            found = score_writers(checkpoint, analysis, site, 1, query, key)
            assert abs(found.remainder) < tolerance, site
            assert found.score == pytest.approx(trace.scores[site][1, query, key], abs=1e-4)
            assert found.weight == pytest.approx(trace.patterns[site][1, query, key], abs=1e-6)
            assert found.is_allowed == trace.mask(site, 1)[query, key]
            folded = found.fold(3)
            assert folded.values.shape == (len(folded.query_writers), len(folded.key_writers)) <= (4, 4)
            assert folded.values.sum() == pytest.approx(found.values.sum(), abs=1e-10)


@pytest.mark.parametrize("changes", MODELS, ids=str)
def test_the_parts_add_up_in_every_variant(tokenizer, changes):
    checkpoint = tiny.doubled(tokenizer, **changes)
    adds_up(checkpoint, analyse(checkpoint, Request(TEXT, decoding=SHORT)))


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.every(2)
def test_they_add_up_under_edits(tokenizer, asked, positions):
    checkpoint = tiny.doubled(tokenizer, positions=positions)
    adds_up(checkpoint, analyse(checkpoint, Request(TEXT, decoding=SHORT, **({"target": GIVEN} | asked))))


def test_they_add_up_on_the_shipped_weights(shipped):
    adds_up(shipped, analyse(shipped, Request("The animal was too tired.")), tolerance=1e-4)


def test_by_hand(tokenizer):
    checkpoint = tiny.doubled(tokenizer, norm="rmsnorm", norm_first=False, heads=1, d_model=4, encoder_layers=2)
    first, second = checkpoint.model.encoder
    with torch.no_grad():
        for parameter in checkpoint.model.encoder.parameters():
            parameter.zero_()
        for residual in (*first.residuals, *second.residuals):
            residual.norm.weight.fill_(1)
        second.self_attention.query.weight[2, 0] = 3
        second.self_attention.key.weight[2, 1] = 5
        first.feed_forward.outer.bias[1] = 0.25
    analysis = analyse(checkpoint, Request(TEXT))
    found = score_writers(checkpoint, analysis, Site("encoder", 1), 0, 2, 4)
    table, ids = checkpoint.model.source_embedding.table.weight, analysis.trace.source.ids
    added = position_scheme(checkpoint.config.positions).encode(torch.arange(8), checkpoint.config.d_model).double()
    x, y = table[ids[2]] * 2, table[ids[4]] * 2  # times the root of the width, 4

    def scaled(total):  # what the two norms of layer 1 divide by; the feed-forward network writes between them
        once = 1 / (total.square().mean() + 1e-5).sqrt()
        bias = torch.tensor([0, 0.25, 0, 0], dtype=torch.float64)
        return once, 1 / ((total * once + bias).square().mean() + 1e-5).sqrt()

    (q1, q2), (k1, k2) = scaled(x + added[2]), scaled(y + added[4])
    place = {writer: n for n, writer in enumerate(found.query_writers)}
    part = found.values[place[Writer("token")]]
    asked = 3 * x[0] * q1 * q2
    want = {
        Writer("token"): asked * 5 * y[1] * k1 * k2 / 2,
        Writer("position"): asked * 5 * added[4, 1] * k1 * k2 / 2,
        Writer("feed-forward", layer=0): asked * 5 * 0.25 * k2 / 2,
        Writer("head", Site("encoder", 0), 0): 0.0,
        Writer("bias"): 0.0,
        Writer("own"): 0.0,
    }
    assert set(found.key_writers) == set(want)
    for writer, value in want.items():
        assert part[found.key_writers.index(writer)] == pytest.approx(float(value), abs=1e-10)
    assert found.values.sum() == pytest.approx(found.score, abs=1e-10)


def test_decoder_writers_ask_and_encoder_writers_answer(tokenizer):
    checkpoint = tiny.doubled(tokenizer)
    found = score_writers(checkpoint, analyse(checkpoint, Request(TEXT)), Site("cross", 1), 0, 1, 2)
    assert {w.site.kind for w in found.query_writers if w.site} == {"decoder", "cross"}
    assert {w.site.kind for w in found.key_writers if w.site} == {"encoder"}
    assert Writer("head", Site("decoder", 1), 1) in found.query_writers
    assert Writer("head", Site("cross", 1), 0) not in found.query_writers
    assert [w.layer for w in found.key_writers if w.kind == "feed-forward"] == [0, 1]
