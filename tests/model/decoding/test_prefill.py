"""A forced prefix is computed in one pass, with the paths, probabilities and maps of single steps."""

from __future__ import annotations

import functools
from unittest import mock

import pytest
import torch

from model.config import END, SCHEMES, START
from model.decoding import fast, search
from model.decoding.search import beam, greedy
from model.decoding.uncached import Recorder
from model.edits.apply import BatchEdits
from model.inference.analyse import analyse
from model.inference.request import Request
from tests.support import recorded, scheme_helpers, tiny
from tests.support.edit_helpers import ONE_EACH

PREFIX = (7, 12, 9, 15)
EVERY = (*recorded.EDITS, *(code for code in ONE_EACH if code.startswith("patch")))
CODES = [code for code in EVERY if "causal-off" not in code and "enc" not in code]


def single_steps():
    """Computes each token of the prefix in a step of its own."""

    def start(steps):
        return torch.full((steps.row_count, 1), START), torch.zeros(steps.row_count, 0)

    return mock.patch.object(search._Steps, "prefill", start)


def calls_of(run) -> int:
    """Returns the number of single steps that a run takes."""
    count = mock.Mock(side_effect=fast.FastSteps.log_probs, autospec=True)
    with mock.patch.object(fast.FastSteps, "log_probs", lambda self, *args: count(self, *args)):
        run()
    return count.call_count


@pytest.mark.parametrize("positions", [*SCHEMES, scheme_helpers.NAME])
@pytest.mark.parametrize(("name", "every"), [("pre-norm", 1), ("as in 2017", 4), ("window", 5)])
@pytest.mark.every(2)
def test_every_edit_and_search_agrees_with_single_steps(name, every, positions):
    with scheme_helpers.registered():
        model, source = tiny.lively(**recorded.VARIANTS[name] | {"positions": positions}), tiny.padded([5], 6)
        means = tiny.means(model.config)
        for code in CODES[::every]:
            edited = tiny.edited(*code.split())
            edits = tiny.edits([edited], means) if edited.has_patches else BatchEdits([edited], means)
            for run in (greedy, functools.partial(beam, width=3)):
                recorders = Recorder(), Recorder()
                found = run(model, source, edits=edits, prefix=PREFIX, max_total_tokens=8, recorder=recorders[0])[0]
                with single_steps():
                    expected = run(model, source, edits=edits, prefix=PREFIX, max_total_tokens=8, recorder=recorders[1])[0]
                assert recorded.paths(found) == recorded.paths(expected), code
                one, two = (each.paths for each in recorders)
                assert list(one) == list(two)
                for ids, path in one.items():
                    for field in ("self_queries_keys", "cross_queries", "hidden"):
                        torch.testing.assert_close(getattr(path, field), getattr(two[ids], field), atol=1e-9, rtol=1e-9)


def test_rows_of_a_batch_have_their_own_edits():
    model, source = tiny.lively(), tiny.padded([6, 4], 6)
    edits = [tiny.edited("off_dec.1.1"), tiny.edited("block_cross_2-all")]
    for run in (greedy, functools.partial(beam, width=2)):
        together = run(model, source, edits=edits, prefix=PREFIX, max_total_tokens=8)
        with recorded.explicit(), single_steps():
            expected = run(model, source, edits=edits, prefix=PREFIX, max_total_tokens=8)
        assert [*map(recorded.paths, together)] == [*map(recorded.paths, expected)]


def test_a_prefix_takes_one_pass():
    model, source = tiny.lively(), tiny.padded([5], 6)
    assert (
        calls_of(lambda: greedy(model, source, prefix=PREFIX, max_total_tokens=5)) == 2
    )  # the last of the prefix, and one more
    assert calls_of(lambda: greedy(model, source, max_total_tokens=5)) == 5


def test_without_a_causal_mask_each_step_has_its_own_pass():
    model, source = tiny.lively(), tiny.padded([5], 6)
    edits = [tiny.edited("causal-off")]
    found = greedy(model, source, edits, PREFIX, 8)
    assert recorded.paths(found[0]) == recorded.paths(greedy(model, source, edits, PREFIX, 8, use_cache=False)[0])


def test_a_prefix_that_ends_ends_the_path():
    model, source = tiny.lively(), tiny.padded([5], 6)
    for run in (greedy, functools.partial(beam, width=2)):
        (found,) = run(model, source, prefix=(7, 12, END), max_total_tokens=8)
        path = found if run is greedy else found[0]
        assert path.ids == (7, 12, END)


def test_a_large_vocabulary_is_computed_in_parts(monkeypatch):
    model, source = tiny.lively(), tiny.padded([6, 4], 6)
    expected = greedy(model, source, prefix=PREFIX, max_total_tokens=8)
    monkeypatch.setattr(search, "MAX_LOGITS", 1)
    assert [*map(recorded.paths, greedy(model, source, prefix=PREFIX, max_total_tokens=8))] == [
        *map(recorded.paths, expected)
    ]


def test_a_prompt_is_computed_in_one_pass(tokenizer):
    lab = tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0)
    request = Request("The red fox sees a lamp and takes it")
    found = analyse(lab, request)
    with recorded.explicit(), single_steps():
        expected = analyse(lab, request)
    assert found.hypothesis.ids == expected.hypothesis.ids and found.prompt_length > 4
    torch.testing.assert_close(
        torch.tensor(found.trace.log_probs), torch.tensor(expected.trace.log_probs), atol=1e-4, rtol=1e-5
    )
