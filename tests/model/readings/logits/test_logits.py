"""Direct logits, the logit lens and logits of blanks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.config import START
from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.request import Request
from model.inference.source_reading import blank_positions
from model.network import masks
from model.network.context import Pass
from model.network.layers import ACTIVATION_FUNCTIONS
from model.readings.logits.direct_logits import Lens, Writer, choice_logits, direct_logits, lens, sublayer_lens
from model.readings.logits.residual_writers import AT_ZERO, factor
from model.text.tokenizer import Tokenizer
from model.trace import Probe, Site
from tests.support import tiny
from tests.support.floats import assert_close

TEXT = "The red fox takes a lamp."
MODELS = [*tiny.NORMS, {"positions": "learned", "tied_output": True}]
ASKED = [
    {},
    {"extra_padding": 3},
    {"target": "Lo varun roji."},
    {"intervention": Intervention(causal_mask=False), "mode": "again"},
    {"intervention": Intervention(scaling=False)},
    {"intervention": tiny.edited("skip_dec.2.ff", "skip_dec.1.cross", "off_cross.1.1"), "mode": "again"},
    {"intervention": tiny.edited("target-positions_off")},
]


@pytest.mark.parametrize("changes", MODELS, ids=str)
def test_the_parts_add_up_in_every_variant(tokenizer, changes):
    checkpoint = tiny.doubled(tokenizer, **changes)
    analysis = analyse(checkpoint, Request(TEXT))
    for step in (0, len(analysis.trace.outputs) // 2, len(analysis.trace.outputs) - 1):
        found = direct_logits(checkpoint, analysis, step, analysis.trace.outputs.ids[step], 7)
        logits = analysis.trace.logits[step]
        assert abs(found.remainder) < 1e-10
        assert found.difference == pytest.approx(logits[found.token] - logits[7], abs=1e-4)
        for site, parts in found.tokens.items():
            np.testing.assert_allclose(parts.sum(-1), found.heads(site.kind)[site.layer], atol=1e-10)


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({}, "the scale of the final norm"),
        ({"norm": "rmsnorm"}, "the scale of the final norm"),
        ({"norm_first": False, "final_norm": False}, "the scales of the norms"),
        ({"final_norm": False}, ""),
    ],
    ids=str,
)
def test_sum_names_the_norms_whose_scales_it_holds(tokenizer, changes, held):
    checkpoint = tiny.doubled(tokenizer, **changes)
    analysis = analyse(checkpoint, Request(TEXT))
    assert direct_logits(checkpoint, analysis, 0, analysis.trace.outputs.ids[0], 7).linearized == held


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_parts_add_up_under_edits(tokenizer, asked):
    checkpoint = tiny.doubled(tokenizer)
    analysis = analyse(checkpoint, Request(TEXT, **asked))
    step = min(3, len(analysis.trace.outputs) - 1)
    token, rival = analysis.trace.outputs.ids[step], 9
    found = direct_logits(checkpoint, analysis, step, token, rival)
    assert abs(found.remainder) < 1e-10
    told = analysis.trace.log_probs[step]
    assert found.difference == pytest.approx(told[token] - told[rival], abs=1e-4)


def test_part_of_the_last_layer_equals_its_ablation(tokenizer):
    checkpoint = tiny.doubled(tokenizer, final_norm=False)
    request = Request(TEXT, target="Lo varun roji.")
    analysis = analyse(checkpoint, request)
    found = direct_logits(checkpoint, analysis, 2, 5, 6)
    without = analyse(checkpoint, Request(TEXT, target="Lo varun roji.", intervention=tiny.edited("skip_dec.2.ff")))
    rows = (analysis.trace.log_probs[2], without.trace.log_probs[2])
    before, after = (row[5] - row[6] for row in rows)
    assert dict(found.ranked)[Writer("feed-forward", layer=1)] == pytest.approx(before - after, abs=1e-5)


@pytest.mark.parametrize("changes", [*tiny.NORMS[:4], {"tied_output": True}], ids=str)
def test_the_last_row_is_what_the_model_says(tokenizer, changes):
    checkpoint = tiny.checkpoint(tokenizer, **changes)
    analysis = analyse(checkpoint, Request(TEXT))
    found = lens(checkpoint, analysis)
    assert found.log_probs.shape == (3, *analysis.trace.log_probs.shape)
    assert_close(found.log_probs[-1], analysis.trace.log_probs)
    np.testing.assert_allclose(np.exp(found.log_probs[-1]), np.exp(analysis.trace.log_probs), atol=1e-5)
    np.testing.assert_allclose(np.exp(found.log_probs).sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("asked", [*ASKED[1:], {"intervention": Intervention(causal_mask=False)}], ids=str)
def test_last_row_is_the_output_under_edits(tiny_checkpoint, asked):
    analysis = analyse(tiny_checkpoint, Request(TEXT, **asked))
    assert_close(lens(tiny_checkpoint, analysis).log_probs[-1], analysis.trace.log_probs)


def test_other_rows_are_the_stream_through_the_head(tiny_checkpoint):
    analysis, model = analyse(tiny_checkpoint, Request(TEXT)), tiny_checkpoint.model
    source, target = (torch.tensor([ids]) for ids in (analysis.trace.source.ids, analysis.trace.outputs.ids))
    inputs = torch.cat((torch.tensor([[START]]), target[:, :-1]), dim=1)
    embedded = model.target_embedding(inputs, torch.arange(inputs.size(1)))
    probe = Probe("full")
    model(source, inputs, masks.build(model.config, source, inputs), Pass(probe=probe))
    between = tiny.records(probe)[Site("decoder", 1)]["residual_in"]  # what the first layer leaves, the second one reads
    found = lens(tiny_checkpoint, analysis).log_probs
    for row, stream in ((0, embedded), (1, between)):
        expected = model.projection(model.decoder_norm(stream)).log_softmax(-1)[0]
        np.testing.assert_allclose(found[row], expected.detach().numpy(), atol=1e-5)


ENCODER, DECODER = {"family": "encoder-only", "decoder_layers": 0}, {"family": "decoder-only", "encoder_layers": 0}
FAMILIES = [
    *tiny.NORMS[:5],
    ENCODER,
    ENCODER | {"output_transform": True, "norm_first": False, "final_norm": False},
    DECODER,
]
FAMILIES += [DECODER | {"norm_first": False}, {"tied_output": True}]


def streams_by_hand(checkpoint, analysis) -> list[tuple[str, torch.Tensor]]:
    """Returns the residual stream of the stack that predicts, at its input and after each sub-layer, from its formulas."""
    model, trace, config = checkpoint.model, analysis.trace, checkpoint.config
    source = None if trace.source is None else torch.tensor([trace.source.ids])
    inputs = None if trace.inputs is None else torch.tensor([trace.inputs.ids])
    masked, ids = masks.build(config, source, inputs), source if inputs is None else inputs
    memory = None if source is None or inputs is None else model.encode(source, masked.encoder)
    positions = torch.arange(ids.size(1))
    embedding, layers, mask = (
        (model.source_embedding, model.encoder, masked.encoder)
        if inputs is None
        else (model.target_embedding, model.decoder, masked.decoder)
    )
    stream = embedding(ids, positions)
    streams = [("embedding", stream)]
    for number, layer in enumerate(layers, 1):
        computed = {"self": lambda y, layer=layer: layer.self_attention(y, y, mask, positions)}
        if memory is not None:
            computed["cross"] = lambda y, layer=layer: layer.cross_attention(y, memory, masked.cross, positions)
        computed["ff"] = layer.feed_forward
        for residual, (part, added) in zip(layer.residuals, computed.items(), strict=True):
            norm = residual.norm
            stream = stream + added(norm(stream)) if config.norm_first else norm(stream + added(stream))
            streams.append((f"{number} {part}", stream))
    return streams


def check_sublayers(checkpoint, request: Request) -> None:
    analysis, model = analyse(checkpoint, request), checkpoint.model
    found, by_layer = sublayer_lens(checkpoint, analysis), lens(checkpoint, analysis)
    with torch.inference_mode():
        streams = streams_by_hand(checkpoint, analysis)
    assert ["embedding", *(f"{place.layer + 1} {place.part}" for place in found.places)] == [name for name, _ in streams]
    final = model.encoder_norm if analysis.trace.inputs is None else model.decoder_norm
    source = None if analysis.trace.source is None else torch.tensor([analysis.trace.source.ids])
    for row, (_, stream) in zip(found.log_probs, streams, strict=True):
        with torch.inference_mode():
            expected = model.task_logits(final(stream), source).log_softmax(-1)[0].numpy()
        np.testing.assert_allclose(row, expected, atol=2e-5)
    assert_close(found.log_probs[-1], analysis.trace.log_probs)
    ends = [0, *(n for n, place in enumerate(found.places, 1) if place.part == "ff")]
    assert_close(found.log_probs[ends], by_layer.log_probs)
    assert found.ids == by_layer.ids and not by_layer.places


@pytest.mark.parametrize("changes", FAMILIES, ids=str)
def test_sublayer_rows_are_the_stream_through_the_head(tokenizer, changes):
    check_sublayers(tiny.checkpoint(tokenizer, **changes), Request(TEXT))


@pytest.mark.parametrize("pooling", ("mean", "first"))
def test_sublayer_rows_of_a_classifier(tokenizer, pooling):
    check_sublayers(tiny.classifier(tokenizer, pooling=pooling), Request(TEXT))


@pytest.mark.parametrize("asked", ASKED[1:], ids=str)
def test_last_sublayer_row_is_the_output_under_edits(tiny_checkpoint, asked):
    analysis = analyse(tiny_checkpoint, Request(TEXT, **asked))
    found = sublayer_lens(tiny_checkpoint, analysis)
    assert_close(found.log_probs[-1], analysis.trace.log_probs)
    assert_close(found.log_probs[[0, 3, 6]], lens(tiny_checkpoint, analysis).log_probs)


def made() -> Lens:
    """Two layers over three tokens at two steps, by hand."""
    rows = [[[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], [[0.1, 0.8, 0.1], [0.25, 0.5, 0.25]]]
    return Lens(np.log(np.array(rows, np.float32)), (1, 2))


def test_numbers_by_hand():
    found = made()
    np.testing.assert_allclose(found.probability, [[0.3, 0.6], [0.8, 0.25]], rtol=1e-5)
    assert found.rank.tolist() == [[2, 1], [1, 2]]
    assert found.top.tolist() == [[0, 2], [1, 1]]
    np.testing.assert_allclose(found.entropy(1)[1], 1.5 * np.log(2), rtol=1e-5)
    expected = 0.1 * np.log(0.1 / 0.5) + 0.8 * np.log(0.8 / 0.3) + 0.1 * np.log(0.1 / 0.2)  # KL(after || before)
    np.testing.assert_allclose(found.change(0), [expected], rtol=1e-5)
    assert [(c.id, round(c.probability, 5)) for c in found.best(0, 0, 2)] == [(0, 0.5), (1, 0.3)]
    gains, losses = found.moves(1, 0)
    assert (gains[0].id, losses[0].id) == (1, 0)
    assert (gains[0].before, gains[0].after) == pytest.approx((0.3, 0.8))
    assert found.nbytes == 2 * 2 * 3 * 4


ONE, TWO = "The red ___ sees a ___.", "The ___ takes it."
READS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True, "follows": True}
BERT = {"norm_first": False, "final_norm": False, "embedding_norm": True, "output_transform": True, "output_bias": True}
BLANK_MODELS = [
    *({"output_transform": True, "embedding_norm": True} | norms for norms in tiny.NORMS),
    *({"output_transform": True, "activation": name} for name in ACTIVATION_FUNCTIONS),
    BERT | {"activation": "gelu", "positions": "learned", "tied_output": True, "embedding_scale": False},
    {},
    {"output_bias": True, "norm": "rmsnorm"},
    {"output_transform": True, "window": 3},
]
BLANK_ASKED = [
    {"extra_padding": 3},
    {"intervention": tiny.edited("skip_enc.2.ff", "skip_enc.1.self", "off_enc.2.1")},
    {"intervention": tiny.edited("source-positions_off", "block_enc_all-3")},
    {"intervention": Intervention(padding_mask=False, scaling=False)},
]


@pytest.fixture(scope="module")
def blank_made():
    """A model in float64 with drawn biases and gains, so that a forgotten one is seen."""
    tokenizer = Tokenizer.train(tiny.SENTENCES, 400, blanks=True)
    return lambda **changes: tiny.doubled(tokenizer, **(READS | changes))


def checked(checkpoint, analysis, place, token, rival):
    """The split, which adds up to what the pass gave, and whose heads add up over the tokens."""
    found, logits = choice_logits(checkpoint, analysis, place, token, rival), analysis.trace.logits[place]
    assert abs(found.remainder) < 1e-9 and np.abs(found.values).max() > 1e-3
    assert found.difference == pytest.approx(logits[token] - logits[rival], abs=1e-4)
    assert found.by_kind["encoder"].sum() == pytest.approx(found.heads("encoder").sum(), abs=1e-9)
    return found


@pytest.mark.parametrize("changes", BLANK_MODELS, ids=str)
def test_parts_add_up_through_every_head(blank_made, changes):
    checkpoint = blank_made(**changes)
    analysis = analyse(checkpoint, Request(ONE, second_sentence=TWO))
    blanks = blank_positions(analysis, checkpoint)
    assert len(blanks) == 3
    for place in (*blanks, 0):
        found = checked(checkpoint, analysis, place, 17, 23)
    assert ("the factors " in found.linearized) is checkpoint.config.output_transform


@pytest.mark.parametrize("asked", BLANK_ASKED, ids=str)
def test_they_add_up_under_edits(blank_made, asked):
    checkpoint = blank_made(**BERT)
    analysis = analyse(checkpoint, Request(ONE, **asked))
    parts = dict(checked(checkpoint, analysis, blank_positions(analysis, checkpoint)[1], 17, 23).ranked)
    if "off_enc.2.1" in str(asked.get("intervention", "")):
        off = [Writer("feed-forward", layer=1), Writer("head", Site("encoder", 1), 0), Writer("head", Site("encoder", 0), 1)]
        assert [parts[writer] for writer in off] == pytest.approx([0, 0, 0], abs=1e-12)


@pytest.mark.parametrize("name", ACTIVATION_FUNCTIONS)
def test_gate_factor_times_input_is_the_function(name):
    inner = torch.tensor([-40.0, -1.0, -1e-13, 0.0, 1e-13, 1.0, 40.0], dtype=torch.float64)
    gates = factor(ACTIVATION_FUNCTIONS[name], inner, AT_ZERO)
    np.testing.assert_allclose(gates * inner, ACTIVATION_FUNCTIONS[name](inner), rtol=1e-12, atol=1e-12)
    if name != "relu":  # smooth: what is taken for the limit is one
        assert gates[3] == pytest.approx(float(factor(ACTIVATION_FUNCTIONS[name], torch.tensor(1e-8).double(), 0)), abs=1e-7)
