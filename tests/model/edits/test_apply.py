"""What holds of every edit, on whole models of a few thousand float64 weights."""

from __future__ import annotations

import pytest
import tiny
import torch

from model.config import PAD
from model.decoding import search as decoding
from model.edits.apply import Edits
from model.edits.intervention import BASELINE
from model.edits.kinds import EditError
from model.network import masks
from model.network.context import Cache, Pass
from model.trace import Probe, Site

MODELS = pytest.mark.parametrize(
    "changes",
    [{}, {"norm_first": False}, {"positions": "rotary", "norm": "rmsnorm", "final_norm": False}, {"window": 3}],
    ids=str,
)
SITES = tiny.sites(tiny.config())
EACH_SITE = pytest.mark.parametrize("site", SITES, ids=str)
SHORT = {"encoder": "enc", "decoder": "dec", "cross": "cross"}
EVERY = [
    *("block_enc.1.2_2-3", "block_dec_3-2", "block_dec.1_all-1", "block_cross.2_2-all", "block_cross.1.1_all-2"),
    *("row_enc.2_2-1", "row_dec.1.1_3-1", "row_dec_3-uniform", "row_cross.1_2-3", "row_cross.2.2_4-uniform"),
    *("off_enc.1", "off_dec.2.1", "off_cross.1.2", "mean_enc.2.2", "mean_dec.1", "mean_cross"),
    *("skip_enc.1.self", "skip_enc.2.ff", "skip_dec.1.self", "skip_dec.2.cross", "skip_dec.2.ff"),
    *("source-positions_off", "source-positions_shuffled-2", "source-positions_shifted-4"),
    *("target-positions_off", "target-positions_shuffled-3", "target-positions_shifted-5"),
    *("causal-off", "padding-off", "scaling-off", "window-2"),
]
SOURCE, TARGET = tiny.padded([5], 6), tiny.target_ids(1, 5)


def recorded(model, *rows, source=SOURCE, target=TARGET, means=None) -> tuple[torch.Tensor, dict]:
    probe = Probe("full")
    return tiny.logits(model, source, target, *rows, probe=probe, means=means), tiny.records(probe)


@MODELS
def test_empty_edits_change_nothing_bit_for_bit(changes):
    model, source, target = tiny.model(**changes), tiny.padded([6, 3], 6), tiny.target_ids(2, 5)
    plain = model(source, target, masks.build(model.config, source, target))
    for rows in ((BASELINE,), (BASELINE, BASELINE)):
        seen = masks.build(model.config, source, target, rows)
        assert model(source, target, seen, Pass(Edits(rows, tiny.means(model.config)))).equal(plain)


@pytest.mark.parametrize("code", EVERY)
def test_every_edit_reaches_the_logits(code):
    model = tiny.model()
    means = tiny.means(model.config)
    moved = tiny.logits(model, SOURCE, TARGET, tiny.edited(code), means=means) - tiny.logits(model, SOURCE, TARGET)
    assert moved.abs().max() > 1e-4
    assert moved.isfinite().all()


@MODELS
@pytest.mark.parametrize(
    "code",
    ["block_dec_1-3", "block_dec.1.2_2-4", "block_dec.2_4-5", "block_cross_all-6", "block_enc.1_all-6", "block_enc_2-6"],
)
def test_blocking_what_no_query_may_see_anyway_changes_nothing_bit_for_bit(code, changes):
    model = tiny.model(**changes)
    plain, before = recorded(model)
    edited, after = recorded(model, tiny.edited(code))
    assert edited.equal(plain)
    assert all(after[site]["pattern"].equal(before[site]["pattern"]) for site in SITES)


def added(site: Site, record: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """The residual stream before and after the attention of a site."""
    return record["residual_in"], record["residual_out" if site.kind == "decoder" else "residual_mid"]


@EACH_SITE
@pytest.mark.parametrize("whole", [True, False])
def test_all_heads_of_a_site_zeroed_leave_its_output_bias(site, whole):
    model, place = tiny.model(), f"{SHORT[site.kind]}.{site.layer + 1}"
    codes = [f"off_{place}"] if whole else [f"off_{place}.1", f"off_{place}.2"]
    for edit, holds in ((tiny.edited(*codes), True), (tiny.edited(f"off_{place}.1"), False), (BASELINE, False)):
        before, after = added(site, recorded(model, edit)[1][site])
        layer = (model.encoder if site.kind == "encoder" else model.decoder)[site.layer]
        attention = layer.cross_attention if site.kind == "cross" else layer.self_attention
        error = (after - before - attention.output.bias).abs().max()
        assert (error < 1e-12) == holds


SUBLAYERS = {
    **{f"skip_enc.{n + 1}.self": (Site("encoder", n), "residual_in", "residual_mid", 0) for n in range(2)},
    **{f"skip_enc.{n + 1}.ff": (Site("encoder", n), "residual_mid", "residual_out", 1) for n in range(2)},
    **{f"skip_dec.{n + 1}.self": (Site("decoder", n), "residual_in", "residual_out", 0) for n in range(2)},
    **{f"skip_dec.{n + 1}.cross": (Site("cross", n), "residual_in", "residual_mid", 1) for n in range(2)},
    **{f"skip_dec.{n + 1}.ff": (Site("cross", n), "residual_mid", "residual_out", 2) for n in range(2)},
}


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("code", list(SUBLAYERS))
def test_a_skipped_sublayer_adds_nothing_while_its_norm_runs(code, norm_first):
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


@EACH_SITE
def test_a_head_ablated_by_its_mean_puts_out_its_mean(site):
    model = tiny.model()
    means = tiny.means(model.config)
    plain, before = recorded(model)
    edited, after = recorded(model, tiny.edited(f"mean_{SHORT[site.kind]}.{site.layer + 1}.2"), means=means)
    z = after[site]["z"]  # [1,H,T,K]
    assert (z[0, 1] == means[site][1].double()).all()
    assert z[0, 0].equal(before[site]["z"][0, 0])
    assert not edited.equal(plain)


LATER = [
    "block_dec_4-2",
    "block_dec.1.2_4-all",
    "block_dec.2_all-4",
    "block_cross_4-1",
    "row_dec_4-1",
    "row_dec.1.1_4-uniform",
]


@MODELS
@pytest.mark.parametrize("code", [*LATER, "row_cross.2_4-2", "block_dec_5-4"])
def test_an_edit_of_a_later_query_leaves_all_earlier_steps_bit_for_bit(code, changes):
    model = tiny.model(**changes)
    first = 4 if code == "block_dec_5-4" else 3
    if changes.get("window") == 3 and code == "row_dec_4-1":
        with pytest.raises(
            EditError, match="“decoder, all layers: step 4 looks at token 1 alone” looks where the mask forbids"
        ):
            tiny.logits(model, SOURCE, TARGET, tiny.edited(code))
        return
    moved = tiny.logits(model, SOURCE, TARGET, tiny.edited(code)) != tiny.logits(model, SOURCE, TARGET)
    assert not moved[:, :first].any()
    assert moved[:, first].any()


@MODELS
def test_a_batch_with_one_intervention_a_row_equals_single_runs(changes):
    model = tiny.model(**changes)
    means = tiny.means(model.config)
    codes = [c for c in EVERY if not (changes.get("window") == 3 and c == "row_dec_4-1")]
    rows = [
        BASELINE,
        *map(tiny.edited, codes),
        tiny.edited("row_dec_3-uniform", "off_cross.1", "source-positions_off", "causal-off"),
    ]
    together = tiny.logits(model, SOURCE.repeat(len(rows), 1), TARGET.repeat(len(rows), 1), *rows, means=means)
    for row, edit in zip(together, rows, strict=True):
        alone = tiny.logits(model, SOURCE, TARGET, edit, means=means)[0]
        torch.testing.assert_close(row, alone, atol=1e-10, rtol=0, msg=edit.describe())


def test_the_same_edits_hold_for_all_rows_of_a_batch():
    model, source, target = tiny.model(), tiny.padded([6, 4, 5], 6), tiny.target_ids(3, 5)
    for code in EVERY:
        edit, means = tiny.edited(code), tiny.means(model.config)
        one, each = (tiny.logits(model, source, target, *[edit] * n, means=means) for n in (1, 3))
        torch.testing.assert_close(one, each, atol=1e-10, rtol=0, msg=code)


@EACH_SITE
def test_the_order_of_edits_is_fixed(site):
    """Recorded are the scores after the scaling, the pattern after rows are written over, z after the ablation; what is
    written over takes from the mask, and the head's output is made of the pattern that was written."""
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


def test_a_row_written_over_names_visible_keys_and_sums_to_one():
    model = tiny.model()
    for site, codes in (
        (Site("encoder", 1), "row_enc_{}-{}"),
        (Site("decoder", 0), "row_dec_{}-{}"),
        (Site("cross", 1), "row_cross_{}-{}"),
    ):
        for query in range(5):
            keys = query + 1 if site.kind == "decoder" else 5
            pattern = recorded(model, tiny.edited(codes.format(query + 1, "uniform")))[1][site]["pattern"][0]
            even = torch.tensor([1 / keys] * keys + [0.0] * (pattern.size(-1) - keys), dtype=torch.float64)
            assert (pattern[:, query] == even).all()
            pattern = recorded(model, tiny.edited(codes.format(query + 1, keys)))[1][site]["pattern"][0]
            assert (pattern[:, query, keys - 1] == 1).all()
            torch.testing.assert_close(pattern.sum(-1), torch.ones_like(pattern.sum(-1)), atol=1e-12, rtol=0)


@pytest.mark.parametrize("code", ["row_dec_2-3", "row_enc.1_2-6", "row_cross.2.1_1-6"])
def test_a_row_is_not_written_onto_later_tokens_or_padding(code):
    with pytest.raises(EditError, match=r"^The edit “.* alone” looks where the mask forbids it: choose another token\.$"):
        tiny.logits(tiny.model(), SOURCE, TARGET, tiny.edited(code))
    switch = "causal-off" if code.startswith("row_dec") else "padding-off"
    assert tiny.logits(tiny.model(), SOURCE, TARGET, tiny.edited(code, switch)).isfinite().all()


@pytest.mark.parametrize("norm_first", [True, False])
def test_rows_that_see_nothing_are_zeros_and_never_nan(norm_first):
    model = tiny.model(norm_first=norm_first).requires_grad_()
    edit = tiny.edited("block_enc_2-all", "block_dec_1-all", "block_cross_3-all")
    found, records = recorded(model, edit)
    for site, row in ((Site("encoder", 0), 1), (Site("decoder", 1), 0), (Site("cross", 1), 2)):
        assert not records[site]["pattern"][:, :, row].any()
        assert not records[site]["z"][:, :, row].any()
        assert records[site]["pattern"].isfinite().all()
    assert found.isfinite().all()
    found.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


# -- windows, and models without a causal mask -----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 4, 128])
def test_a_window_by_edit_equals_a_model_with_that_window(width):
    source, target = tiny.padded([6, 4], 6), tiny.target_ids(2, 5)
    edited = tiny.logits(tiny.model(), source, target, tiny.edited(f"window-{width}"))
    assert edited.equal(tiny.logits(tiny.model(window=width), source, target))


@pytest.mark.parametrize(("own", "edit", "both"), [(2, 4, 2), (4, 2, 2)])
def test_of_two_windows_the_narrower_counts(own, edit, both):
    edited = tiny.logits(tiny.model(window=own), SOURCE, TARGET, tiny.edited(f"window-{edit}"))
    assert edited.equal(tiny.logits(tiny.model(window=both), SOURCE, TARGET))


def test_without_a_causal_mask_the_decoder_sees_all_but_padding():
    source, target = tiny.ids(2, 4), torch.tensor([[1, 7, 8, 9], [1, 7, PAD, PAD]])
    seen = masks.build(tiny.config(causal=False), source, target).decoder
    assert seen[:, 0].int().tolist() == [[[1, 1, 1, 1]] * 4, [[1, 1, 0, 0]] * 4]
    model = tiny.model(causal=False)
    assert tiny.logits(model, SOURCE, TARGET).equal(tiny.logits(tiny.model(), SOURCE, TARGET, tiny.edited("causal-off")))


@pytest.mark.parametrize("search", [decoding.greedy, lambda *a, **k: [h for p in decoding.beam(*a, 2, **k) for h in p]])
@pytest.mark.parametrize("causal", [True, False])
def test_a_model_without_a_causal_mask_decodes_without_a_cache(monkeypatch, search, causal):
    model, made = tiny.lively(causal=causal), []
    monkeypatch.setattr(decoding, "Cache", lambda: made.append(True) or Cache())
    found = search(model, tiny.ids(1, 4), limit=6)
    assert bool(made) == causal
    if not causal:
        for path in found:
            inputs = torch.tensor([[1, *path.ids[:-1]]])
            for step in range(len(path.ids)):
                last = tiny.logits(model, tiny.ids(1, 4), inputs[:, : step + 1])[0, -1].log_softmax(-1)
                assert path.log_probs[step] == pytest.approx(float(last[path.ids[step]]), abs=1e-5)
