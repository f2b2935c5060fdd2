"""Laws of every edit on whole models and in decoding."""

from __future__ import annotations

import pytest
import torch

from model.config import PAD, START
from model.decoding import search
from model.edits.apply import BatchEdits
from model.edits.intervention import BASELINE
from model.network import masks
from model.network.context import Cache, Pass, donor_records
from model.trace import Probe, Site
from tests.support import tiny
from tests.support.edit_helpers import EXAMPLES, ONE_EACH
from tests.support.floats import assert_same_paths

MODELS = pytest.mark.parametrize(
    "changes", [{}, {"norm_first": False}, tiny.MODERN | {"final_norm": False}, {"window": 3}], ids=str
)
SITES = tiny.sites(tiny.config())
EACH_SITE = pytest.mark.parametrize("site", SITES, ids=str)
SHORT = {"encoder": "enc", "decoder": "dec", "cross": "cross"}
SOURCE, TARGET = tiny.padded([5], 6), tiny.target_ids(1, 5)


def recorded(model, *rows, source=SOURCE, target=TARGET) -> tuple[torch.Tensor, dict]:
    probe, means = Probe("full"), tiny.means(model.config)
    return tiny.logits(model, source, target, *rows, probe=probe, means=means), tiny.records(probe)


@MODELS
def test_empty_edits_change_nothing_bit_for_bit(changes):
    model, source, target = tiny.model(**changes), tiny.padded([6, 3], 6), tiny.target_ids(2, 5)
    plain = model(source, target, masks.build(model.config, source, target))
    for rows in ((BASELINE,), (BASELINE, BASELINE)):
        seen = masks.build(model.config, source, target, rows)
        assert model(source, target, seen, Pass(BatchEdits(rows, tiny.means(model.config)))).equal(plain)


@MODELS
def test_every_edit_works_in_a_batch_as_alone(changes):
    model = tiny.model(**changes)
    several = tiny.edited("row_dec_3-uniform", "off_cross.1", "source-positions_off", "causal-off")
    rows = [BASELINE, *map(tiny.edited, EXAMPLES), several]
    together, _ = recorded(model, *rows, source=SOURCE.expand(len(rows), -1), target=TARGET.expand(len(rows), -1))
    for row, edit in zip(together, rows, strict=True):
        torch.testing.assert_close(row, recorded(model, edit)[0][0], atol=1e-10, rtol=0, msg=edit.describe())
        assert row.isfinite().all()
    moved = (together - together[0]).abs().amax(dim=(1, 2)) > 1e-4
    shifts = [i for i, edit in enumerate(rows) if "shifted" in edit.describe() and changes.get("positions") == "rotary"]
    assert [i for i in range(len(rows)) if not moved[i]] == [0, *shifts]  # equal shifts do not change rotary scores
    source, target = tiny.padded([6, 4, 5], 6), tiny.target_ids(3, 5)
    for code in ONE_EACH:
        one, each = (recorded(model, *[tiny.edited(code)] * n, source=source, target=target)[0] for n in (1, 3))
        torch.testing.assert_close(one, each, atol=1e-10, rtol=0, msg=code)


@EACH_SITE
def test_heads_put_out_nothing_or_their_means(site):
    model, place = tiny.model(), f"{SHORT[site.kind]}.{site.layer + 1}"
    layer = (model.encoder if site.kind == "encoder" else model.decoder)[site.layer]
    bias = (layer.cross_attention if site.kind == "cross" else layer.self_attention).output.bias
    for codes, holds in (
        ([f"off_{place}"], True),
        ([f"off_{place}.1", f"off_{place}.2"], True),
        ([f"off_{place}.1"], False),
    ):
        record = recorded(model, tiny.edited(*codes))[1][site]
        after = record["residual_out" if site.kind == "decoder" else "residual_mid"]
        assert ((after - record["residual_in"] - bias).abs().max() < 1e-12) == holds
    z, plain = (recorded(model, tiny.edited(*codes))[1][site]["z"][0] for codes in ([f"mean_{place}.2"], []))  # [H,T,K]
    assert (z[1] == tiny.means(model.config)[site][1].double()).all()
    assert z[0].equal(plain[0])


SUBLAYERS = {
    **{f"skip_enc.{n + 1}.self": (Site("encoder", n), "residual_in", "residual_mid", 0) for n in range(2)},
    **{f"skip_enc.{n + 1}.ff": (Site("encoder", n), "residual_mid", "residual_out", 1) for n in range(2)},
    **{f"skip_dec.{n + 1}.self": (Site("decoder", n), "residual_in", "residual_out", 0) for n in range(2)},
    **{f"skip_dec.{n + 1}.cross": (Site("cross", n), "residual_in", "residual_mid", 1) for n in range(2)},
    **{f"skip_dec.{n + 1}.ff": (Site("cross", n), "residual_mid", "residual_out", 2) for n in range(2)},
}


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("code", list(SUBLAYERS))
def test_skipped_sublayer_adds_nothing(code, norm_first):
    site, before, after, number = SUBLAYERS[code]
    model = tiny.model(norm_first=norm_first)
    layer = (model.encoder if code.startswith("skip_enc") else model.decoder)[site.layer]
    norm, ran = layer.residuals[number].norm, []
    norm.register_forward_hook(lambda *_: ran.append(True))
    for edit, holds in ((tiny.edited(code), True), (BASELINE, False)):
        record = recorded(model, edit)[1][site]
        expected = record[before] if norm_first else norm(record[before])
        assert record[after].equal(expected) == holds
    assert len(ran) == (2 if norm_first else 4)  # in post-norm the test itself ran it twice


@MODELS
def test_edit_of_a_later_query_keeps_earlier_steps(changes):
    model = tiny.model(**changes)
    plain, _ = recorded(model)
    codes = ("block_dec_4-2", "block_dec.1.2_4-all", "block_dec.2_all-4", "block_cross_4-1", "row_dec_4-2")
    for code in (*codes, "row_dec.1.1_4-uniform", "row_cross.2_4-2", "block_dec_5-4"):
        first = 4 if code == "block_dec_5-4" else 3
        moved = recorded(model, tiny.edited(code))[0] != plain
        assert not moved[:, :first].any(), code
        assert moved[:, first].any(), code


@EACH_SITE
def test_the_order_of_edits_is_fixed(site):
    model, place = tiny.model(), f"{SHORT[site.kind]}.{site.layer + 1}"
    codes = ("scaling-off", f"block_{place}_3-1", f"row_{place}.2_3-uniform", f"off_{place}.1")
    record = recorded(model, tiny.edited(*codes))[1][site]
    q, k, v, scores, pattern, z = (record[name] for name in ("q", "k", "v", "scores", "pattern", "z"))
    torch.testing.assert_close(scores, q @ k.transpose(-2, -1), atol=1e-12, rtol=0)
    seen = record["mask"]
    seen = seen if seen.dim() == 4 else seen[:, None]
    assert not seen[:, :, 2, 0].any()
    exponent = scores.exp() * seen
    expected = exponent / exponent.sum(-1, keepdim=True)
    expected[:, 1, 2] = seen[:, 1, 2].double() / seen[:, 1, 2].sum()
    torch.testing.assert_close(pattern, expected, atol=1e-12, rtol=0)
    assert not z[:, 0].any()
    torch.testing.assert_close(z[:, 1], (expected @ v)[:, 1], atol=1e-12, rtol=0)


def test_without_causal_mask_padding_alone_is_hidden():
    source, target = tiny.ids(2, 4), torch.tensor([[1, 7, 8, 9], [1, 7, PAD, PAD]])
    seen = masks.build(tiny.config(causal=False), source, target).decoder
    assert seen[:, 0].int().tolist() == [[[1, 1, 1, 1]] * 4, [[1, 1, 0, 0]] * 4]
    assert recorded(tiny.model(causal=False))[0].equal(recorded(tiny.model(), tiny.edited("causal-off"))[0])


@pytest.mark.parametrize("decode", [search.greedy, lambda *a, **k: [h for p in search.beam(*a, 2, **k) for h in p]])
@pytest.mark.parametrize("causal", [True, False])
def test_model_without_causal_mask_uses_no_cache(monkeypatch, decode, causal):
    model, made = tiny.lively(causal=causal), []
    monkeypatch.setattr(search, "Cache", lambda: made.append(True) or Cache())
    found = decode(model, tiny.ids(1, 4), max_total_tokens=6)
    assert bool(made) == causal
    for path in found if not causal else []:
        inputs = torch.tensor([[1, *path.ids[:-1]]])
        for step in range(len(path.ids)):
            last = tiny.logits(model, tiny.ids(1, 4), inputs[:, : step + 1])[0, -1].log_softmax(-1)
            assert path.log_probs[step] == pytest.approx(float(last[path.ids[step]]), abs=1e-5)


CACHED = [code for code in EXAMPLES if code != "causal-off"]
POSITIONS = pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
DECODING_SOURCE = tiny.padded([5], 6)
MEANS = tiny.means(tiny.config())


def rows(codes: list[str]) -> tuple[torch.Tensor, BatchEdits]:
    """One source and each of the edits as a batch, the unedited row first."""
    return DECODING_SOURCE.repeat(len(codes) + 1, 1), tiny.edits([BASELINE, *map(tiny.edited, codes)], MEANS)


@POSITIONS
def test_a_beam_with_a_cache_equals_a_beam_without(positions):
    model = tiny.lively(1, positions=positions)
    source, edits = rows(CACHED)
    cached, uncached = (
        search.beam(model, source, 3, 0.6, edits, max_total_tokens=7, use_cache=use) for use in (True, False)
    )
    for one, two in zip(cached, uncached, strict=True):
        assert_same_paths(one, two)
    assert sum(one[0].ids != cached[0][0].ids for one in cached) > 5


@POSITIONS
@pytest.mark.parametrize("codes", [CACHED, list(EXAMPLES)], ids=["cached", "uncached"])
def test_every_score_is_that_of_its_prefix(positions, codes):
    model = tiny.lively(1, positions=positions)
    source, edits = rows(codes)
    for found, edit in zip(search.greedy(model, source, edits, max_total_tokens=6), edits.rows, strict=True):
        for step, token in enumerate(found.ids):
            inputs = torch.tensor([[START, *found.ids[:step]]])
            seen = masks.build(model.config, DECODING_SOURCE, inputs, [edit])
            made = tiny.edits([edit], MEANS)
            at = Pass(made, donor_probe=donor_records(model, made, inputs, inputs.device))
            log_probs = model(DECODING_SOURCE, inputs, seen, at)[0, -1].float().log_softmax(-1)
            assert found.log_probs[step] == pytest.approx(float(log_probs[token]), abs=1e-5), edit.describe()


@pytest.mark.parametrize(("own", "edit", "both"), [(None, 1, 1), (None, 128, 128), (2, 4, 2), (4, 2, 2)])
def test_of_two_windows_the_narrower_counts(own, edit, both):
    edited, _ = recorded(tiny.model(window=own), tiny.edited(f"window-{edit}"))
    assert edited.equal(recorded(tiny.model(window=both))[0])
