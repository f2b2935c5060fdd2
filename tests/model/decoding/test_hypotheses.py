from __future__ import annotations

import pytest

from model.config import END
from model.decoding.hypotheses import Hypothesis, Tree
from model.decoding.search import beam
from tests.support import tiny

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
    joined = TREE.joined(Tree((branch, A)))
    assert joined.hypotheses == (A, B, branch)
    assert [n.path for n in joined.nodes if n.step == 2] == [(5, 6), (5, 7), (5, 9)]
    assert joined.pruned == (GIVEN_UP,)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_tree_of_a_beam_has_every_living_path(width):
    given_up = 0
    for seed in range(4):
        (tree,) = beam(tiny.lively(seed), tiny.ids(1, 5, seed=seed), width, 0.5, limit=8)
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
