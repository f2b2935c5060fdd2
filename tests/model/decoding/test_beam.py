"""Beam search and its tree of hypotheses; greedy decoding."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from model.config import END, MAX_TOKENS, PAD, START
from model.decoding.hypotheses import Hypothesis, Tree, length_penalty
from model.decoding.search import beam, choose_greedy, greedy
from model.edits.intervention import BASELINE, Intervention
from model.network import masks
from tests.support import tiny
from tests.support.floats import assert_same_paths

UNCAUSAL = Intervention(causal_mask=False)
UNPADDED = Intervention(padding_mask=False)
EDITS = pytest.mark.parametrize("edit", [BASELINE, UNCAUSAL, UNPADDED])
SEEDS = range(4)


def rescored(model, source: torch.Tensor, ids: tuple[int, ...], edit: Intervention = BASELINE) -> list[float]:
    """Log-probability of each token, without any of the code under test; without the causal mask, prefix by prefix."""
    found = []
    for t in range(len(ids)):
        inputs = torch.tensor([[START, *ids[:t]]])
        logits = model(source, inputs, masks.build(model.config, source, inputs, [edit]))[0, -1]
        found.append(float(logits.float().log_softmax(-1)[ids[t]]))
    return found


@EDITS
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_width_of_one_is_greedy(edit, alpha):
    for seed in SEEDS:
        model, source = tiny.lively(seed), tiny.padded([6, 4, 1], 6, seed=seed)
        found = beam(model, source, 1, alpha, [edit], max_total_tokens=10)
        assert [len(paths) for paths in found] == [1, 1, 1]
        assert_same_paths(tuple(paths[0] for paths in found), tuple(greedy(model, source, [edit], max_total_tokens=10)))


@EDITS
def test_every_score_is_that_of_teacher_forcing(edit):
    for seed in SEEDS:
        model, source = tiny.lively(seed), tiny.padded([4], 6, seed=seed)
        (paths,) = beam(model, source, 4, 0.6, [edit], max_total_tokens=7)
        assert len(paths) == len({h.ids for h in paths}) == 4
        for path in paths:
            assert path.log_probs == pytest.approx(rescored(model, source, path.ids, edit), abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_a_wide_beam_is_exhaustive_search(alpha):
    limit, vocab = 3, 7
    for seed in range(1):
        model = tiny.lively(seed, source_vocab=vocab, target_vocab=vocab)
        source = tiny.ids(1, 3, seed=seed, vocab=vocab)
        words = [i for i in range(vocab) if i not in (PAD, START, END)]
        every = [(*w, END) for n in range(limit) for w in itertools.product(words, repeat=n)]
        every += itertools.product(words, repeat=limit)
        ranked = {ids: sum(rescored(model, source, ids)) / length_penalty(len(ids), alpha) for ids in every}
        (paths,) = beam(model, source, 5 ** (limit - 1), alpha, max_total_tokens=limit)
        assert paths[0].ids == max(ranked, key=ranked.get)
        assert paths[0].normalised_score(alpha) == pytest.approx(max(ranked.values()), abs=1e-5)


@pytest.mark.parametrize("edit", [BASELINE, UNCAUSAL])
def test_a_batch_with_padding_equals_single_sentences(edit):
    for seed in SEEDS:
        model, lengths = tiny.lively(seed), [6, 3, 1, 5]
        source = tiny.padded(lengths, 6, seed=seed)
        single = [source[i : i + 1, :n] for i, n in enumerate(lengths)]
        for paths, alone in zip(beam(model, source, 3, 0.6, [edit], max_total_tokens=9), single, strict=True):
            assert_same_paths(paths, beam(model, alone, 3, 0.6, [edit], max_total_tokens=9)[0])
        together = greedy(model, source, [edit], max_total_tokens=10)
        assert_same_paths(together, [greedy(model, alone, [edit], max_total_tokens=10)[0] for alone in single])


def test_the_length_penalty_by_hand():
    assert length_penalty(1, 2.0) == 1.0
    assert length_penalty(7, 0.5) == math.sqrt(2)
    assert length_penalty(100, 0.0) == 1.0
    assert Hypothesis((5,) * 7, (-1.0,) * 7).normalised_score(1.0) == -3.5


def test_a_forced_prefix_begins_every_path():
    model, source = tiny.lively(2), tiny.padded([5, 2], 5)
    for paths in beam(model, source, 3, prefix=[7, 30], max_total_tokens=6):
        assert {h.ids[:2] for h in paths} == {(7, 30)}
        assert len(paths) == 3
    (whole,) = beam(model, source[:1], 3, prefix=[7, 30], max_total_tokens=6)
    assert whole[0].log_probs == pytest.approx(rescored(model, source[:1], whole[0].ids), abs=1e-5)


A = Hypothesis((5, 6, END), (-0.1, -0.2, -0.3))
B = Hypothesis((5, 7, END), (-0.1, -0.9, -0.4))
GIVEN_UP = Hypothesis((8,), (-3.0,))
TREE = Tree((A, B), (GIVEN_UP,))


def test_nodes_by_hand():
    found = [(n.parent, n.step, n.token, n.status, n.path) for n in TREE.nodes]
    assert found == [
        (None, 1, 5, "grown", (5,)),
        (0, 2, 6, "grown", (5, 6)),
        (1, 3, END, "finished", (5, 6, END)),
        (0, 2, 7, "grown", (5, 7)),
        (3, 3, END, "finished", (5, 7, END)),
        (None, 1, 8, "pruned", (8,)),
    ]
    assert [n.score for n in TREE.nodes] == pytest.approx([-0.1, -0.3, -0.6, -1.0, -1.4, -3.0])


def test_hypothesis_at_the_limit_is_marked():
    assert [n.status for n in Tree((Hypothesis((5, 6), (-1.0, -1.0)),)).nodes] == ["grown", "limit"]


def test_a_path_is_found_by_its_beginning():
    assert TREE.find((5, 7)) == next(h for h in TREE if h.ids[:2] == (5, 7))
    assert TREE.find((5,)) == A  # the best of those that begin so
    assert TREE.find((5, 6, END)) == A
    assert TREE.find((8,)) == GIVEN_UP
    assert TREE.find((9,)) is None


def test_a_branch_joins_beside_the_original():
    branch = Hypothesis((5, 9, END), (-0.1, -2.0, -0.1))
    joined = TREE.merge(Tree((branch, A)))
    assert joined.hypotheses == (A, B, branch)
    assert [n.path for n in joined.nodes if n.step == 2] == [(5, 6), (5, 7), (5, 9)]
    assert joined.pruned == (GIVEN_UP,)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_tree_of_a_beam_has_every_living_path(width):
    given_up = 0
    for seed in range(4):
        (tree,) = beam(tiny.lively(seed), tiny.ids(1, 5, seed=seed), width, 0.5, max_total_tokens=8)
        nodes = tree.nodes
        assert len({n.path for n in nodes}) == len(nodes)
        parents = {n.parent for n in nodes}
        for number, node in enumerate(nodes):
            before = nodes[node.parent].score if node.parent is not None else 0.0
            assert node.score == pytest.approx(before + node.log_prob)
            assert node.parent is None or (node.parent < number and nodes[node.parent].path == node.path[:-1])
            assert (node.status == "grown") == (number in parents)
        ended = {h.ids for h in tree}
        assert ended == {n.path for n in nodes if n.status in ("finished", "limit")}
        for step in range(1, 9):
            alive = sum(n.step == step and n.path not in ended for n in nodes)
            done = sum(len(h.ids) <= step for h in tree)
            assert alive + done <= width
        given_up += sum(n.status == "pruned" for n in nodes)
    assert (given_up > 0) == (width > 1)


def test_hypotheses_are_ranked_by_normalised_score():
    lengths = set()
    for seed in range(8):
        for alpha in (0.0, 1.5):
            (paths,) = beam(tiny.lively(seed), tiny.ids(1, 5, seed=seed), 5, alpha, max_total_tokens=8)
            scores = [h.score / ((5 + len(h.ids)) / 6) ** alpha for h in paths]
            assert scores == sorted(scores, reverse=True)
            lengths |= {len(h.ids) for h in paths}
            for path in paths:
                assert path.is_finished or len(path.ids) == 8
                assert END not in path.ids[:-1]
                assert not {PAD, START} & set(path.ids)
    assert len(lengths) > 2


def by_hand(model, source: torch.Tensor, edit: Intervention, limit: int) -> list[int]:
    """Greedy decoding of one sentence without any of the code under test: the whole pass again at each step."""
    chosen: list[int] = []
    while len(chosen) < limit and END not in chosen:
        target = torch.tensor([[START, *chosen]])
        logits = model(source, target, masks.build(model.config, source, target, [edit]))[0, -1]
        chosen.append(3 + int(logits[3:].argmax()) if logits[3:].max() > logits[END] else END)
    return chosen


@EDITS
def test_greedy_equals_recomputation_by_hand(edit):
    for seed in range(4):
        model, source = tiny.lively(seed), tiny.padded([4], 6, seed=seed)
        (found,) = greedy(model, source, [edit], max_total_tokens=10)
        assert list(found.ids) == by_hand(model, source, edit, 10)


def test_the_limit_stops_and_is_told():
    model = tiny.lively()
    with torch.no_grad():
        model.projection.weight[END] = 0
    for limit in (1, 2, 7):
        for found in greedy(model, tiny.ids(3, 4), max_total_tokens=limit):
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
    (found,) = greedy(model, tiny.ids(1, 4), max_total_tokens=5)
    assert not {PAD, START} & set(found.ids)
    assert max(found.log_probs) < -10  # nearly all of the probability lies on a token that may not be chosen
    log_probs = torch.tensor([[5.0, 4.0, 3.0, 2.0]])
    assert choose_greedy(log_probs).tolist() == [2]
    assert log_probs.tolist() == [[5.0, 4.0, 3.0, 2.0]]


@pytest.mark.parametrize("edit", [BASELINE, UNCAUSAL])
def test_a_forced_prefix_begins_every_row(edit):
    for seed in range(3):
        model, source, prefix = tiny.lively(seed), tiny.padded([5, 2], 5, seed=seed), [7, 30, 12]
        for found in greedy(model, source, [edit], prefix=prefix, max_total_tokens=9):
            assert found.ids[:3] == (7, 30, 12)
        (alone,) = greedy(model, source[:1], [edit], prefix=prefix, max_total_tokens=9)
        assert alone.log_probs == pytest.approx(rescored(model, source[:1], alone.ids, edit), abs=1e-5)
