"""The fast path is the explicit one: what decoding finds, every map and every probability that it records."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

from model.config import SCHEMES
from model.decoding import fast, fast_layers, uncached
from model.decoding.search import beam, greedy
from model.decoding.strategy import Decoding
from model.decoding.uncached import Recorder
from model.edits.apply import NO_EDITS, BatchEdits
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network.context import Pass, teacher_forced_states
from model.trace import Probe
from tests.support import recorded, scheme_helpers, tiny
from tests.support.edit_helpers import ONE_EACH

VARIANTS = recorded.VARIANTS | {"marian": tiny.MARIAN, "unscaled": tiny.UNSCALED}
STRATEGIES = [
    Decoding(max_total_tokens=12),
    Decoding("beam", max_total_tokens=12, width=3),
    Decoding("sample", max_total_tokens=12),
]
OTHERS = ("The old lamp finds the red boat and takes it.", "A king.")


def assert_same(found, expected) -> None:
    """Ids, and within 1e-5 every map and probability; log-probabilities, which may be -100, to 1e-5 of their size."""
    assert [h.ids for h in (*found.tree, *found.tree.pruned)] == [h.ids for h in (*expected.tree, *expected.tree.pruned)]
    one, two = found.trace, expected.trace
    assert (one.source, one.inputs, one.outputs) == (two.source, two.inputs, two.outputs)
    for name in ("patterns", "scores", "masks", "head_masks"):
        mine, theirs = getattr(one, name), getattr(two, name)
        assert list(mine) == list(theirs)
        for site, array in mine.items():
            assert (array.shape, array.dtype, array.flags.writeable) == (theirs[site].shape, theirs[site].dtype, False)
            scale = max(1.0, np.abs(np.nan_to_num(theirs[site], neginf=0)).max())
            np.testing.assert_allclose(array, theirs[site], atol=1e-5 * scale, rtol=1e-5, err_msg=f"{name} {site}")
    np.testing.assert_allclose(np.exp(one.log_probs), np.exp(two.log_probs), atol=1e-5, rtol=0)
    np.testing.assert_allclose(one.log_probs, two.log_probs, atol=1e-4, rtol=1e-5)
    np.testing.assert_allclose(one.logit_normalizers, two.logit_normalizers, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_decodes_and_records_the_same(tokenizer, name, monkeypatch):
    lab = tiny.checkpoint(tokenizer, **VARIANTS[name])
    passes = []
    monkeypatch.setattr(
        fast.FastSteps, "recorded_path", lambda *a, own=fast.FastSteps.recorded_path: passes.append(0) or own(*a)
    )
    requests = ({"extra_padding": 2, "prefix": "The"}, {"other_sentences": OTHERS}, {})
    for decoding, more in zip(STRATEGIES, requests[: 3 if lab.config.causal else 1], strict=False):
        request = Request("The red fox sees a lamp.", decoding=decoding, **more)
        found = analyse(lab, request)
        with recorded.explicit():
            assert_same(found, analyse(lab, request))
    assert bool(passes) == lab.config.causal


def test_decoder_only_records_the_same(tokenizer):
    lab = tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0)
    found = analyse(lab, Request("The red", decoding=STRATEGIES[0]))
    with recorded.explicit():
        assert_same(found, analyse(lab, Request("The red", decoding=STRATEGIES[0])))


def test_every_finished_path_is_recorded():
    model, source = tiny.lively(), tiny.padded([6, 4], 6)
    recorder = Recorder()
    first, _ = beam(model, source, 4, max_total_tokens=9, recorder=recorder)
    assert first.pruned
    assert set(recorder.paths) == {path.ids for path in first}
    assert all(kept.hidden.size(0) == len(ids) for ids, kept in recorder.paths.items())
    assert Recorder().recorded_pass(model.config, source[0].tolist(), first[0].ids) is None


@pytest.mark.parametrize(
    ("name", "every"), [("pre-norm", 1), ("as in 2017", 3), ("rotary", 2), ("window", 3), ("marian", 9)]
)
def test_under_every_edit_it_decodes_and_records_the_same(name, every):
    codes = [codes for codes in recorded.EDITS[::every] if "causal-off" not in codes]
    changed = assert_same_under(tiny.lively(**VARIANTS[name]), codes)
    assert changed > len(codes) - 4  # nearly every edit reached the decoding: some see to cells that are masked anyway


@pytest.mark.parametrize("positions", [*SCHEMES, scheme_helpers.NAME])
def test_each_kind_of_edit_is_the_same_in_every_scheme(positions):
    with scheme_helpers.registered():
        model = tiny.lively(positions=positions)
        patches = [code for code in ONE_EACH if code.startswith("patch")]
        assert patches and not any(fast.can_decode(model, tiny.edits([tiny.edited(code)])) for code in patches)
        assert_same_under(model, [code for code in ("", *ONE_EACH) if code not in (*patches, "causal-off")])


def assert_same_under(model, codes: list[str]) -> int:
    """Compares both paths under each edit alone, and with each edit in a row of one batch; to the precision of float64.
    Returns the number of different results."""
    source, means = tiny.padded([5], 6), tiny.means(model.config)
    each = [tiny.edited(*code.split()) for code in codes]
    changed = set()
    for edit in each:
        edits, recorder, probe = BatchEdits([edit], means), Recorder(), Probe()
        (found,) = greedy(model, source, edits, max_total_tokens=7, recorder=recorder)
        kept, logits = recorder.recorded_pass(model.config, source[0].tolist(), found.ids)
        hidden = teacher_forced_states(model, source, torch.tensor([found.ids]), Pass(edits, probe))
        torch.testing.assert_close(logits, model.project(hidden).float(), atol=1e-6, rtol=1e-6)
        assert list(kept.records) == list(probe.records)
        for site, maps in probe.records.items():
            for what in ("scores", "pattern", "mask"):
                torch.testing.assert_close(kept.records[site][what], maps[what], atol=1e-10, rtol=1e-10)
        changed.add(found.log_probs)
    rows, edits = source.expand(len(each), -1), BatchEdits(each, means)
    for search in (greedy, functools.partial(beam, width=3)):
        together = search(model, rows, edits=edits, max_total_tokens=7)
        with recorded.explicit():
            expected = search(model, rows, edits=edits, max_total_tokens=7)
        assert [recorded.paths(one) for one in together] == [recorded.paths(one) for one in expected]
    return len(changed)


@pytest.mark.parametrize(
    ("name", "every"), [("pre-norm", 1), ("as in 2017", 4), ("rotary", 3), ("no causal mask", 4), ("marian", 12)]
)
def test_every_edit_without_causal_mask_records_the_same(name, every):
    model, source = tiny.lively(**VARIANTS[name]), tiny.padded([5], 6)
    means = tiny.means(model.config)
    off = ("causal-off",) * model.config.causal
    for codes in recorded.EDITS[::every]:
        edits, recorder = BatchEdits([tiny.edited(*off, *codes.split())], means), Recorder()
        (found,) = greedy(model, source, edits, max_total_tokens=5, recorder=recorder)
        assert recorder.paths == {}
        assert recorded.paths(found) == recorded.paths(greedy(model, source, edits, max_total_tokens=5, use_cache=False)[0])
        for length, (probe, logits) in enumerate(uncached.prefix_passes(model, source, found.ids, edits), 1):
            every = Probe()
            hidden = teacher_forced_states(model, source, torch.tensor([found.ids[:length]]), Pass(edits, every))
            torch.testing.assert_close(logits, model.project(hidden)[0, -1].float(), atol=1e-6, rtol=1e-6)
            for site, maps in probe.records.items():
                for what, array in maps.items():
                    torch.testing.assert_close(array[..., -1, :], every.records[site][what][..., -1, :])
    rows, edits = tiny.padded([6, 4], 6), [tiny.edited(*off), tiny.edited(*off, "off_cross.1")]
    together, expected = (
        beam(model, rows, 3, edits=edits, max_total_tokens=6, use_cache=cached) for cached in (True, False)
    )
    assert [*map(recorded.paths, together)] == [*map(recorded.paths, expected)]


@pytest.mark.parametrize("exact", [True, False])
def test_float16_weights_are_multiplied_exactly(exact):
    torch.manual_seed(3)
    layers = [torch.nn.Linear(48, 20), torch.nn.Linear(48, 12)]
    with torch.no_grad():
        for layer in layers:
            layer.weight.copy_(layer.weight.half()) if exact else layer.weight.mul_(1 + 1e-4)
        x = torch.randn(5, 48)
        expected = torch.cat([layer.double()(x.double()) for layer in layers], dim=1)
        for layer in layers:
            layer.float()
        assert fast_layers.is_half(layers[0].weight) == exact
        torch.testing.assert_close(fast_layers.combined_linear(*layers)(x).double(), expected, atol=1e-5, rtol=1e-5)


def test_weights_that_change_are_laid_out_anew():
    model, source = tiny.lively().requires_grad_(False), tiny.padded([6], 6)
    assert fast.can_decode(model, NO_EDITS) and not fast.can_decode(model.train(), NO_EDITS)
    model.eval()
    before = greedy(model, source, max_total_tokens=7)
    known = fast.prepare(model)
    assert fast.prepare(model) is known
    with torch.no_grad():
        model.decoder[0].self_attention.query.weight.mul_(-1.5)
        model.projection.weight.neg_()
    after = greedy(model, source, max_total_tokens=7)
    assert after != before
    with recorded.explicit():
        expected = greedy(model, source, max_total_tokens=7)
    assert after[0].ids == expected[0].ids
    assert after[0].log_probs == pytest.approx(expected[0].log_probs, abs=1e-5)
    assert fast.prepare(model) is not known


def test_weights_in_training_are_never_remembered():
    model, source = tiny.lively().requires_grad_(True), tiny.padded([6], 6)
    greedy(model, source, max_total_tokens=7)
    adam = torch.optim.Adam(model.parameters(), lr=0.05, fused=True)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    adam.step()
    after = greedy(model, source, max_total_tokens=7)
    with recorded.explicit():
        expected = greedy(model, source, max_total_tokens=7)
    assert after[0].ids == expected[0].ids
    assert after[0].log_probs == pytest.approx(expected[0].log_probs, abs=1e-4)
