from __future__ import annotations

import pytest
import torch

from model.config import END, MAX_TOKENS, PAD, START
from model.decoding.search import choose_greedy, greedy
from model.edits.intervention import BASELINE, Intervention
from model.network import masks
from tests.support import tiny
from tests.support.floats import assert_same_paths

UNCAUSAL = Intervention(causal_mask=False)
UNPADDED = Intervention(padding_mask=False)


def by_hand(model, source: torch.Tensor, edit: Intervention, limit: int) -> list[int]:
    """Greedy decoding of one sentence without any of the code under test: the whole pass again at each step."""
    chosen: list[int] = []
    while len(chosen) < limit and END not in chosen:
        target = torch.tensor([[START, *chosen]])
        logits = model(source, target, masks.build(model.config, source, target, [edit]))[0, -1]
        chosen.append(3 + int(logits[3:].argmax()) if logits[3:].max() > logits[END] else END)
    return chosen


@pytest.mark.parametrize("edit", [BASELINE, UNCAUSAL, UNPADDED])
def test_greedy_equals_recomputation_by_hand(edit):
    for seed in range(4):
        model, source = tiny.lively(seed), tiny.padded([4], 6, seed=seed)
        (found,) = greedy(model, source, [edit], limit=10)
        assert list(found.ids) == by_hand(model, source, edit, 10)


@pytest.mark.parametrize("edit", [BASELINE, UNCAUSAL])
def test_a_batch_with_padding_equals_single_sentences(edit):
    for seed in range(4):
        model, lengths = tiny.lively(seed), [6, 3, 1, 5]
        source = tiny.padded(lengths, 6, seed=seed)
        together = greedy(model, source, [edit], limit=10)
        alone = [greedy(model, source[i : i + 1, :n], [edit], limit=10)[0] for i, n in enumerate(lengths)]
        assert_same_paths(together, alone)


def test_the_limit_stops_and_is_told():
    model = tiny.lively()
    with torch.no_grad():
        model.projection.weight[END] = 0
    for limit in (1, 2, 7):
        for found in greedy(model, tiny.ids(3, 4), limit=limit):
            assert len(found.ids) == len(found.log_probs) == limit
            assert not found.is_finished
    assert len(greedy(model, tiny.ids(1, 4))[0].ids) == MAX_TOKENS == 128


def favouring(token: int):
    """A model that finds one token likeliest at every step."""
    model = tiny.model(tied_output=False)
    with torch.no_grad():
        model.decoder_norm.weight.zero_()
        model.decoder_norm.bias.fill_(1.0)
        model.projection.weight[token] = 5.0
    return model


def test_the_end_token_ends():
    (found,) = greedy(favouring(END), tiny.ids(1, 4))
    assert found.ids == (END,)
    assert found.is_finished


@pytest.mark.parametrize("token", [PAD, START])
def test_pad_and_start_are_never_chosen(token):
    model = favouring(token)
    (found,) = greedy(model, tiny.ids(1, 4), limit=5)
    assert not {PAD, START} & set(found.ids)
    assert max(found.log_probs) < -10  # nearly all of the probability lies on a token that may not be chosen
    log_probs = torch.tensor([[5.0, 4.0, 3.0, 2.0]])
    assert choose_greedy(log_probs).tolist() == [2]
    assert log_probs.tolist() == [[5.0, 4.0, 3.0, 2.0]]


@pytest.mark.parametrize("edit", [BASELINE, UNCAUSAL])
def test_a_forced_prefix_begins_every_row(edit):
    for seed in range(3):
        model, source, prefix = tiny.lively(seed), tiny.padded([5, 2], 5, seed=seed), [7, 30, 12]
        for found in greedy(model, source, [edit], prefix=prefix, limit=9):
            assert found.ids[:3] == (7, 30, 12)
            assert len(found.log_probs) == len(found.ids)
        (alone,) = greedy(model, source[:1], [edit], prefix=prefix, limit=9)
        inputs = torch.tensor([[START, *alone.ids[:-1]]])
        seen = masks.build(model.config, source[:1], inputs[:, :4], [edit])
        log_probs = model(source[:1], inputs[:, :4], seen)[0, -1].log_softmax(-1)
        assert alone.log_probs[3] == pytest.approx(float(log_probs[alone.ids[3]]), abs=1e-5)
