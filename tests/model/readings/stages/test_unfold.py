"""One head unfolded, also under edits: every stage follows from the one before by the formula."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch

from model.config import END
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.analysis import Analysis
from model.inference.request import Request
from model.readings.stages.unfold import StageTable, unfold
from model.trace import ATTENTION_KINDS, Site
from tests.support import tiny, unfold_helpers
from tests.support.unfold_helpers import (
    CLOSE,
    MODELS,
    TARGET,
    TEXT,
    analyse_edited,
    everywhere,
    follow,
    last_row,
    norm,
    recorded,
    some,
    tables,
)

EACH = pytest.mark.parametrize("name", MODELS)
BEFORE = ["qkv", "products", "scale", "mask", "softmax", "mix", "concatenate", "project", "residual"]
FF = ["ff_inner", "ff_active", "ff_output", "ff_residual"]


@pytest.fixture(scope="module")
def make(tokenizer):
    """Checkpoints of the models by name."""
    return partial(unfold_helpers.make, tokenizer)


@EACH
def test_stages_stand_in_the_order_of_the_formula(make, name):
    checkpoint = make(name)
    config, analysis = checkpoint.config, analyse_edited(checkpoint)
    for kind in ATTENTION_KINDS:
        attended = ["input", *(["norm"] * config.norm_first), *BEFORE, *(["residual_norm"] * (not config.norm_first))]
        if config.positions == "rotary" and kind != "cross":
            attended.insert(attended.index("qkv") + 1, "rotate")
        fed = [*(["ff_norm"] * config.norm_first), *FF, *(["ff_residual_norm"] * (not config.norm_first))]
        found = [stage.name for stage in unfold(checkpoint, analysis, Site(kind, 0), 0, 1).stages]
        assert found == attended + fed * (kind != "decoder")


@EACH
def test_stages_equal_the_recorded_pass(make, name):
    checkpoint = make(name)
    analysis = analyse_edited(checkpoint)
    records, trace = recorded(checkpoint, analysis), analysis.trace
    for u in everywhere(checkpoint, analysis):
        record, h, t = records[u.site], u.head, u.query
        rotated = u["rotate" if "rotate" in [s.name for s in u.stages] else "qkv"]
        np.testing.assert_allclose(rotated.tables[0].values[0], record["q"][h, t], **CLOSE)
        np.testing.assert_allclose(rotated.tables[1].values, record["k"][h], **CLOSE)
        np.testing.assert_allclose(u["qkv"].tables[2].values, record["v"][h], **CLOSE)
        np.testing.assert_allclose(u["scale"].tables[0].values[:, 1], record["scores"][h, t], **CLOSE)
        np.testing.assert_allclose(u["mask"].tables[0].values[:, 0], trace.scores[u.site][h, t], **CLOSE)
        np.testing.assert_array_equal(u["mask"].tables[0].allowed, trace.mask(u.site, h)[t])
        np.testing.assert_allclose(u["softmax"].tables[0].values[:, 0], trace.patterns[u.site][h, t], atol=1e-6)
        np.testing.assert_allclose(u["mix"].tables[0].foot, record["z"][h, t], **CLOSE)
        np.testing.assert_allclose(u["input"].tables[0].values[0], record["residual_in"][t], **CLOSE)
        if u.site.kind == "encoder":
            np.testing.assert_allclose(u["input"].tables[1].values, record["residual_in"], **CLOSE)
        if u.site.kind != "decoder":
            middle = u["residual"].tables[0].foot if checkpoint.config.norm_first else tables(u, "residual_norm")[1][0]
            np.testing.assert_allclose(middle, record["residual_mid"][t], **CLOSE)
        np.testing.assert_allclose(last_row(u), record["residual_out"][t], **CLOSE)
        assert not any(stage.edited for stage in u.stages)
        if some(u):
            follow(checkpoint, u)


@EACH
def test_stream_reaches_the_prediction(make, name):
    checkpoint = make(name)
    config, model, analysis = checkpoint.config, checkpoint.model, analyse_edited(checkpoint)
    up = [Site("encoder", n) for n in range(config.encoder_layers)]
    for t in (0, len(analysis.trace.source) - 1):
        rows = [unfold(checkpoint, analysis, site, 0, t) for site in up]
        for below, above in pairwise(rows):
            np.testing.assert_allclose(last_row(below), above["input"].tables[0].values[0], **CLOSE)
        offered = unfold(checkpoint, analysis, Site("cross", 0), 0, 0)["input"].tables[1].values[t]
        end = last_row(rows[-1])
        np.testing.assert_allclose(
            offered, norm(checkpoint, model.encoder_norm, end) if config.final_norm else end, rtol=1e-4, atol=1e-4
        )
    down = [Site(kind, n) for n in range(config.decoder_layers) for kind in ("decoder", "cross")]
    for t in (0, len(analysis.trace.outputs) - 1):
        rows = [unfold(checkpoint, analysis, site, config.heads - 1, t) for site in down]
        for below, above in pairwise(rows):
            np.testing.assert_allclose(last_row(below), above["input"].tables[0].values[0], **CLOSE)
        end = last_row(rows[-1]).astype(float)
        end = norm(checkpoint, model.decoder_norm, end) if config.final_norm else end
        logits = end @ model.projection.weight.numpy().T + (model.projection.bias.numpy() if config.output_bias else 0)
        expected = logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
        np.testing.assert_allclose(analysis.trace.log_probs[t], expected, rtol=1e-3, atol=1e-3)


def test_two_tokens_by_hand(tokenizer):
    sizes = {"d_model": 2, "heads": 1, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 2, "norm_eps": 1e-12}
    checkpoint = tiny.checkpoint(tokenizer, dtype=torch.float64, positions="learned", norm_first=False, **sizes)
    model = checkpoint.model
    (word,) = tokenizer.encode("a")
    model.source_embedding.positional.table.weight.zero_()
    model.source_embedding.table.weight[word] = torch.tensor([1.0, 0.0]) / math.sqrt(2)
    model.source_embedding.table.weight[END] = torch.tensor([0.0, 2.0]) / math.sqrt(2)
    layer = model.encoder[0]
    own = layer.self_attention
    for module, weight, bias in (
        (own.query, [[1, 0], [0, math.sqrt(2) / 2]], [0, 0]),  # the second asks (0, √2)
        (own.key, [[5, 0], [0, math.log(3) / 2]], [0, 0]),  # keys (5, 0) and (0, ln 3)
        (own.value, [[4, 0], [0, 4]], [0, 0]),  # values (4, 0) and (0, 8)
        (own.output, [[0, 1], [1, 0]], [0.5, -1]),
        (layer.feed_forward.inner, [[1, 0], [0, 1]], [0, 0]),
        (layer.feed_forward.outer, [[3, 0], [0, 3]], [0, 0.5]),
    ):
        module.weight.copy_(torch.tensor(weight))
        module.bias.copy_(torch.tensor(bias))
    for residual, gain, bias in zip(layer.residuals, ([2, 2], [1, 1]), ([0, 1], [0, 0]), strict=True):
        residual.norm.weight.copy_(torch.tensor(gain))
        residual.norm.bias.copy_(torch.tensor(bias))

    u = unfold(checkpoint, analyse(checkpoint, Request("a", target="a")), Site("encoder", 0), 0, 1)
    assert (u.query_label, u.keys[1]) == ("</s>", "</s>") and len(u.keys) == 2
    root = math.sqrt(2) * math.log(3)
    expected = {
        "input": [[[0, 2]], [[1, 0], [0, 2]]],
        "qkv": [[[0, math.sqrt(2)]], [[5, 0], [0, math.log(3)]], [[4, 0], [0, 8]]],
        "products": [[[0, 0], [0, root]]],
        "scale": [[[0, 0], [root, math.log(3)]]],
        "mask": [[[0], [math.log(3)]]],
        "softmax": [[[1 / 4], [3 / 4]]],
        "mix": [[[1, 0], [0, 6]]],
        "concatenate": [[[1, 6]]],
        "project": [[[6, 1], [0.5, -1]]],
        "residual": [[[0, 2], [6.5, 0]]],
        "residual_norm": [[[6.5, 2]], [[2, -1]]],  # mean 4.25, spread 2.25: (1, -1); twice it, plus (0, 1)
        "ff_inner": [[[2, -1]]],
        "ff_active": [[[2, 0]]],
        "ff_output": [[[6, 0.5]]],
        "ff_residual": [[[2, -1], [6, 0.5]]],
        "ff_residual_norm": [[[8, -0.5]], [[1, -1]]],
    }
    assert [stage.name for stage in u.stages] == list(expected)
    for name, values in expected.items():
        for table, value in zip(u[name].tables, values, strict=True):
            np.testing.assert_allclose(table.values, value, atol=1e-6, err_msg=f"{name}: {table.name}")
    feet = {"mix": [1, 6], "project": [6.5, 0], "residual": [6.5, 2], "ff_residual": [8, -0.5]}
    assert {stage.name for stage in u.stages if stage.tables[0].foot is not None} == set(feet)
    for name, foot in feet.items():
        np.testing.assert_allclose(u[name].tables[0].foot, foot, atol=1e-6, err_msg=name)


@EACH
def test_names_shapes_and_lines(make, name):
    checkpoint = make(name)
    config, analysis = checkpoint.config, analyse_edited(checkpoint)
    for kind in ATTENTION_KINDS:
        site = Site(kind, 0)
        u = unfold(checkpoint, analysis, site, config.heads - 1, 2)
        trace = analysis.trace
        assert (u.site, u.head, u.query) == (site, config.heads - 1, 2)
        assert (u.query_label, u.keys) == (trace.queries(site)[2], trace.keys(site))
        sizes = {"B": 1, "H": config.heads, "T": len(trace.queries(site)), "S": len(u.keys), "1": 1}
        sizes |= {"D": config.d_model, "K": config.head_dim, "F": config.d_ff}
        for stage in u.stages:
            assert stage.code and stage.shapes and stage.tables
            for shape in stage.shapes:
                assert shape.numbers == tuple(sizes[letter] for letter in shape.letters.strip("[]").split(",")), stage.name
            for table in stage.tables:
                check(table, len(u.keys))
        marked = {table.marked for stage in u.stages for table in stage.tables if table.rows == u.keys and table.name != "v"}
        assert marked == {None if kind == "cross" else 2}


def check(table: StageTable, keys: int) -> None:
    rows, columns = table.values.shape
    assert len(table.rows) == rows and table.values.dtype == np.float32 and np.isfinite(table.values).all()
    assert not table.values.flags.writeable
    assert table.totals is None or table.totals.shape == (rows,)
    assert table.foot is None or (table.foot.shape == (columns,) and table.foot_name)
    assert table.allowed is None or len(table.allowed) == rows == keys
    assert table.marked is None or 0 <= table.marked < rows


def test_chosen_hypothesis_is_unfolded(make):
    checkpoint = make("pre-norm")
    beam = Request(TEXT, decoding=Decoding("beam", max_total_tokens=6, width=3), extra_padding=2)
    best = analyse(checkpoint, beam)
    other = analyse(checkpoint, dataclasses.replace(beam, path=list(best.tree)[1].ids))
    assert best.trace.outputs != other.trace.outputs
    for analysis in (best, other):
        for u in everywhere(checkpoint, analysis):
            found = u["softmax"].tables[0].values[:, 0]
            np.testing.assert_allclose(found, analysis.trace.patterns[u.site][u.head, u.query], atol=1e-6)


LONG = range(99)  # all queries
FLAGS = {  # the stage that an edit changes, and the sites, heads and queries where it does
    "scaling-off": {"scale": [(kind, layer, LONG, LONG) for kind in ATTENTION_KINDS for layer in (0, 1)]},
    "off_cross.2.1": {"mix": [("cross", 1, [0], LONG)]},
    "off_enc.1": {"mix": [("encoder", 0, LONG, LONG)]},
    "mean_dec.1.2": {"mix": [("decoder", 0, [1], LONG)]},
    "row_cross.1.1_2-uniform": {"softmax": [("cross", 0, [0], [1])]},
    "row_dec.2_4-2": {"softmax": [("decoder", 1, LONG, [3])]},
    "row_dec_1-1": {},  # the first row sees itself alone: it is written over by what it is
    "skip_enc.1.self": {"residual": [("encoder", 0, LONG, LONG)]},
    "skip_dec.1.self": {"residual": [("decoder", 0, LONG, LONG)]},
    "skip_dec.2.cross": {"residual": [("cross", 1, LONG, LONG)]},
    "skip_dec.2.ff": {"ff_residual": [("cross", 1, LONG, LONG)]},
    "skip_enc.2.ff": {"ff_residual": [("encoder", 1, LONG, LONG)]},
}
MASKED = {
    "block_dec.1_3-2": [("decoder", 0, LONG, [2])],
    "block_cross.1.2_2-all": [("cross", 0, [1], [1])],
    "block_enc_all-2": [("encoder", layer, LONG, LONG) for layer in (0, 1)],
    "block_dec_2-4": [],  # the causal mask hides it already
    "causal-off": [("decoder", layer, LONG, "all but the last") for layer in (0, 1)],
    "window-2": [("encoder", layer, LONG, LONG) for layer in (0, 1)]
    + [("decoder", layer, LONG, range(2, 99)) for layer in (0, 1)],
    "padding-off": [(kind, layer, LONG, LONG) for kind in ("encoder", "cross") for layer in (0, 1)],
}
POSITIONS = {  # how an edit of the source's positions changes the position of a token there
    "source-positions_off": lambda position: 0,
    "source-positions_shifted-5": lambda position: position + 5,
}
TARGETS = {"given": {"target": TARGET}, "again": {"target": None, "decoding": Decoding(max_total_tokens=6)}}


def expected(analysis: Analysis, stages) -> set[tuple[str, str, int, int, int]]:
    last = len(analysis.full_pass.outputs) - 1
    return {
        (name, *site, h, t)
        for name, places in stages.items()
        for kind, layer, heads, queries in places
        for site in analysis.full_pass.patterns
        if site == (kind, layer)
        for h in range(2)
        for t in range(len(analysis.full_pass.queries(site)))
        if h in heads and (t < last if isinstance(queries, str) else t in queries)
    }


STAGES = FLAGS | {code: {"mask": places} for code, places in MASKED.items()}
MADE = [("pre-norm", "again"), ("post-norm, modern", "given")]  # by turns
CODES = [(code, *MADE[n % 2]) for n, code in enumerate([*STAGES, *POSITIONS])]


@pytest.mark.parametrize(("code", "name", "mode"), CODES)
@pytest.mark.every(3)
def test_edit_marks_only_the_stage_that_it_changes(make, code, name, mode):
    checkpoint = make(name)
    analysis = analyse_edited(checkpoint, code, mode=mode, extra_padding=2, **TARGETS[mode])
    records, whole, flagged = recorded(checkpoint, analysis), analysis.full_pass, set()
    for u in everywhere(checkpoint, analysis):
        flagged |= {(stage.name, *u.site, u.head, u.query) for stage in u.stages if stage.edited}
        found = u["softmax"].tables[0].values[:, 0]
        np.testing.assert_allclose(found, whole.patterns[u.site][u.head, u.query], atol=1e-6)
        np.testing.assert_array_equal(u["mask"].tables[0].allowed, whole.mask(u.site, u.head)[u.query])
        np.testing.assert_allclose(u["mix"].tables[0].foot, records[u.site]["z"][u.head, u.query], **CLOSE)
        np.testing.assert_allclose(last_row(u), records[u.site]["residual_out"][u.query], **CLOSE)
        if some(u):
            follow(checkpoint, u, scaling=code != "scaling-off", turn=POSITIONS.get(code, int))
    if code in STAGES:
        assert flagged == expected(analysis, STAGES[code])
        assert any(STAGES[code].values()) == bool(flagged)


def test_a_row_that_sees_nothing_mixes_nothing(make):
    checkpoint = make("pre-norm")
    u = unfold(checkpoint, analyse_edited(checkpoint, "block_cross.1.2_2-all"), Site("cross", 0), 1, 1)
    assert not any(u["mask"].tables[0].allowed)
    assert not u["softmax"].tables[0].values.any() and not u["mix"].tables[0].foot.any()
    assert not u["softmax"].edited and not u["mix"].edited
