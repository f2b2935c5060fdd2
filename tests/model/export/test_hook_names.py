"""Maps under the hook names of TransformerLens: arrays, labels, and their files."""

from __future__ import annotations

import io

import numpy as np
import pytest

from model.__main__ import main
from model.export import Exported
from model.export.hook_names import hook_activations, hook_name, npz, read_hooks
from model.inference.analyse import analyse, load
from model.inference.request import Request
from model.io.files import FileError
from model.trace import Site
from tests.model.export.test_exported import ASKED
from tests.support import tiny
from viz.kit import patterns

STACKS = {  # names that TransformerLens's HookedTransformer, HookedEncoder and HookedEncoderDecoder have
    "plain": {"encoder": "encoder.{}.attn", "decoder": "decoder.{}.attn", "cross": "decoder.{}.cross_attn"},
    "an encoder alone": {"encoder": "blocks.{}.attn"},
    "a decoder alone": {"decoder": "blocks.{}.attn"},
}
HOOKS = ("hook_pattern", "hook_attn_scores")
TWO = "two sentences"
PAIRED = {
    "family": "encoder-only",
    "decoder_layers": 0,
    "segments": 2,
    "pooler": True,
    "source_start": True,
    "follows": True,
}
CASES = ASKED | {TWO: (PAIRED, Request("A fox.", second_sentence="A lamp."))}


def analysed(tokenizer, how):
    changes, request = CASES[how]
    checkpoint = tiny.checkpoint(tokenizer, **changes)
    analysis = analyse(checkpoint, request)
    return analysis.trace, Exported.of(checkpoint, analysis)


@pytest.mark.parametrize("how", CASES)
def test_every_array_and_label_is_that_of_the_page(tokenizer, how):
    trace, exported = analysed(tokenizer, how)
    hooks = hook_activations(exported)
    names = {(site, hook): hook_name(site, trace.kinds, hook) for site in trace.patterns for hook in HOOKS}
    assert sorted(hooks) == sorted(names.values())
    for (site, hook), name in names.items():
        found = hooks[name]
        assert found.values.dtype == np.float32
        labels = patterns.label_map(trace.view(site, 0), trace, site)
        assert (found.queries, found.keys) == (labels.queries, labels.keys)
        allowed = trace.head_masks.get(site, trace.masks[site][None])
        shown = trace.patterns[site] if hook == HOOKS[0] else np.where(allowed, trace.scores[site], -np.inf)
        np.testing.assert_array_equal(found.values, shown[None])


@pytest.mark.parametrize("how", STACKS)
def test_names_are_those_of_the_model_family(tokenizer, how):
    trace, exported = analysed(tokenizer, how)
    expected = {
        f"{place.format(site.layer)}.{hook}"
        for kind, place in STACKS[how].items()
        for site in trace.sites(kind)
        for hook in HOOKS
    }
    assert set(hook_activations(exported)) == expected


@pytest.mark.parametrize("how", STACKS)
def test_softmax_of_scores_is_the_pattern(tokenizer, how):
    hooks = hook_activations(analysed(tokenizer, how)[1])
    for name in (each for each in hooks if each.endswith(HOOKS[0])):
        scores = hooks[name.replace(*HOOKS)].values.astype(float)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(powers / powers.sum(-1, keepdims=True), hooks[name].values, atol=1e-6)


@pytest.mark.parametrize("how", ("edits, with masks of single heads", TWO))
def test_hooks_are_read_as_they_were_written(tokenizer, tmp_path, how):
    exported, path = analysed(tokenizer, how)[1], tmp_path / "x.npz"
    path.write_bytes(npz(exported))
    expected, found = hook_activations(exported), read_hooks(path)
    assert list(found) == list(expected)
    for name, each in found.items():
        np.testing.assert_array_equal(each.values, expected[name].values)
        assert (each.queries, each.keys) == (expected[name].queries, expected[name].keys)


def test_command_writes_the_names(saved, tmp_path, capsys):
    out = tmp_path / "x.npz"
    command = ["maps", "The red fox.", "--checkpoint", str(saved), "--device", "cpu", "--names", "transformer-lens", "--out"]
    assert main([*command, str(out)]) == 0
    trace = analyse(load(str(saved), "cpu"), Request("The red fox.", str(saved))).trace
    found = read_hooks(out)["decoder.1.cross_attn.hook_pattern"]
    np.testing.assert_array_equal(found.values[0], trace.patterns[Site("cross", 1)])
    assert main([*command, str(tmp_path / "x.json")]) == 2
    assert "--names transformer-lens names arrays of .npz; --out ends in '.json'" in capsys.readouterr().err


def test_other_files_are_refused(tmp_path):
    name = "blocks.0.attn.hook_pattern"
    labels = {f"{name}.queries": np.array(["a"]), f"{name}.keys": np.array(["a", "b"])}
    good = np.ones((1, 2, 1, 2), np.float32)
    for arrays, message in (
        ({"x": good}, "the array 'x' is unknown"),
        (labels, "queries' is unknown"),
        ({name: good}, "expected [1, 2, 0, 0], float32"),
        (labels | {name: good.astype(float)}, "float64; expected"),
        (labels | {name: good[0]}, "expected [1, 1, 1, 2], float32"),
    ):
        np.savez(raw := io.BytesIO(), **arrays)
        (path := tmp_path / "x.npz").write_bytes(raw.getvalue())
        with pytest.raises(FileError) as fault:
            read_hooks(path)
        assert message in str(fault.value)
